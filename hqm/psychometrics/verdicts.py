"""Repeated verdicts of yes or no: agreement by outcome, flips, panels of judges."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.form_effect import mean_with_error
from hqm.psychometrics.generalized_retest import cluster_sums
from hqm.psychometrics.result import Bounds, Coefficient

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SpecificAgreement:
    """Agreement of two raters overall and for each outcome.

    Parameters
    ----------
    observed
        Share of units rated alike.
    positive, negative
        Given that one rater says yes (no), the probability that the other does, too.
    table
        Units with yes/yes, yes/no, no/yes, no/no.
    """

    observed: Coefficient
    positive: Coefficient
    negative: Coefficient
    table: tuple[int, int, int, int] = (0, 0, 0, 0)


def specific_agreement(x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95) -> SpecificAgreement:
    """Overall, positive and negative agreement of two raters of yes and no.

    One number hides which outcome the raters disagree about: with 90 of 95 yes agreed and no no ever agreed, overall
    agreement is .90, positive .95, negative 0. COSMIN asks for the specific ones.

        observed (a + d) / n     positive 2a / (2a + b + c)     negative 2d / (2d + b + c)

    Parameters
    ----------
    x, y
        (units,): 1 for yes, 0 for no; pairs with a missing rating are left out.
    level
        Confidence level of the intervals over units (`fixed`): each unit left out once; Wilson's for the overall one.

    Returns
    -------
    SpecificAgreement
        `n` counts units. `insufficient` without a pair, `not_applicable` when a rating is not 0 or 1; a specific
        agreement is `degenerate` when nobody gave that rating.

    Raises
    ------
    ValueError
        The vectors differ in length.

    Notes
    -----
    Cicchetti, D. V. and Feinstein, A. R. (1990). High agreement but low kappa: II. Resolving the paradoxes. Journal of
    Clinical Epidemiology, 43, 551-558.

    Examples
    --------
    >>> found = specific_agreement([1] * 95 + [0] * 5, [1] * 90 + [0] * 5 + [1] * 5)
    >>> found.observed.value, round(found.positive.value, 3), found.negative.value
    (0.9, 0.947, 0.0)
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two vectors of one length are needed, got shapes {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    n = int(both.sum())
    if n == 0:
        none = Coefficient.absent("insufficient", "no unit is rated by both")
        return SpecificAgreement(none, none, none)
    a, b = a[both], b[both]
    if not np.isin(np.concatenate([a, b]), (0.0, 1.0)).all():
        none = Coefficient.absent("not_applicable", "a rating is not 0 or 1", n)
        return SpecificAgreement(none, none, none)
    code = (2 * (1 - a) + (1 - b)).astype(np.int64)
    yes, first, second, no = (int(v) for v in np.bincount(code, minlength=4))
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    share = (yes + no) / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    ends = Bounds(max(0.0, centre - half), min(1.0, centre + half), "Wilson", level)
    return SpecificAgreement(
        Coefficient(share, n=n, level=level, fixed=ends),
        _specific(yes, first + second, no, level, z, "yes"),
        _specific(no, first + second, yes, level, z, "no"),
        (yes, first, second, no),
    )


def _specific(agreed: int, apart: int, other: int, level: float, z: float, word: str) -> Coefficient:
    n = agreed + apart + other
    if agreed + apart == 0:
        return Coefficient.absent("degenerate", f"nobody said {word}", n)
    value = 2 * agreed / (2 * agreed + apart)
    # the leave-one-out values of units of one kind are equal
    cells = [(agreed, agreed - 1, apart), (apart, agreed, apart - 1), (other, agreed, apart)]
    left = [(w, 2 * p / (2 * p + q)) for w, p, q in cells if w and p + q > 0]
    if n < 3 or len(left) < sum(w > 0 for w, _, _ in cells):
        return Coefficient(value, n=n, level=level)
    mean = sum(w * v for w, v in left) / n
    error = math.sqrt((n - 1) / n * sum(w * (v - mean) ** 2 for w, v in left))
    if not error > 0:
        return Coefficient(value, n=n, level=level)
    ends = Bounds(max(0.0, value - z * error), min(1.0, value + z * error), "unit jackknife", level)
    return Coefficient(value, n=n, level=level, fixed=ends, se=error)


def flip_rate(verdicts: npt.ArrayLike, clusters: npt.ArrayLike | None = None, *, level: float = 0.95) -> Coefficient:
    """The probability that two verdicts on the same response differ.

        mean over items of the share of pairs of verdicts that differ

    Parameters
    ----------
    verdicts
        (verdicts, items): category codes; NaN where a verdict is missing. Items with one verdict are left out.
    clusters
        (items,): labels of what items share.
    level
        Confidence level of the normal interval over items (`fixed`).

    Returns
    -------
    Coefficient
        `n` counts items. `insufficient` without an item judged twice.

    Raises
    ------
    ValueError
        Shapes do not fit.

    Examples
    --------
    >>> flip_rate([[1, 1, 0, 0], [1, 0, 0, 0]]).value
    0.25
    """
    x = np.asarray(verdicts, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"verdicts must have shape (verdicts, items), got {x.shape}")
    labels = np.arange(x.shape[1]) if clusters is None else np.asarray(clusters)
    if labels.shape != x.shape[1:]:
        raise ValueError(f"clusters must have one label an item ({x.shape[1]}), got shape {labels.shape}")
    there = np.isfinite(x)
    judged = there.sum(axis=0)
    used = judged >= 2
    n = int(used.sum())
    if n == 0:
        return Coefficient.absent("insufficient", "no item has two verdicts")
    alike = np.zeros(x.shape[1])
    for value in np.unique(x[there]):
        times = (x == value).sum(axis=0)
        alike += times * (times - 1)
    apart = np.where(used, 1 - alike / np.maximum(judged * (judged - 1), 1), 0.0)
    mean, error = mean_with_error(*cluster_sums(apart[None], used[None], labels))
    value, spread = float(mean[0]), float(error[0])
    if not spread > 0:
        return Coefficient(value, n=n, level=level)
    from scipy.special import ndtri

    half = float(ndtri(0.5 + level / 2)) * spread
    ends = Bounds(max(0.0, value - half), min(1.0, value + half), "cluster normal", level)
    return Coefficient(value, n=n, level=level, fixed=ends, se=spread)


def majority_flip(passing: npt.ArrayLike, judges: int) -> Coefficient:
    """The probability that the majority of a panel decides otherwise when the panel judges again.

    A panel of verdicts by the same judge steadies the outcome of doubtful responses; it cannot correct what the judge
    gets wrong every time.

        G_i = P(more than J / 2 of J verdicts pass),  each with g_i;    flip = mean of 2 G (1 - G)

    Parameters
    ----------
    passing
        (items,): the judge's probability of passing each response. Shares out of a few verdicts in their place make the
        flips too rare, as they lie too near 0 and 1.
    judges
        J, odd, so that there is a majority.

    Returns
    -------
    Coefficient
        `n` counts items. `insufficient` without items, `not_applicable` for an even panel or a number that is no
        probability.

    Raises
    ------
    ValueError
        `passing` is no vector.

    Examples
    --------
    A judge who passes with .7 is overruled by herself in 42 % of cases; three of her in 34 %:

    >>> round(majority_flip([0.7], 1).value, 4), round(majority_flip([0.7], 3).value, 4)
    (0.42, 0.3387)
    """
    g = np.asarray(passing, dtype=np.float64)
    if g.ndim != 1:
        raise ValueError(f"passing must have shape (items,), got {g.shape}")
    g = g[np.isfinite(g)]
    if judges < 1 or judges % 2 == 0:
        return Coefficient.absent("not_applicable", f"an odd number of judges is needed, got {judges}", len(g))
    if len(g) == 0:
        return Coefficient.absent("insufficient", "no item has a probability of passing")
    if (g < 0).any() or (g > 1).any():
        return Coefficient.absent("not_applicable", "a number is outside 0 to 1 and no probability", len(g))
    from scipy.special import bdtrc

    upheld = bdtrc(judges // 2, judges, g)
    return Coefficient(float((2 * upheld * (1 - upheld)).mean()), n=len(g), method="binomial")


def averaged_judge_share(share: float, judges: int) -> Coefficient:
    """The judge's share of the noise when each response's verdict is the mean of several.

        share_J = (s / J) / (s / J + 1 - s)

    Parameters
    ----------
    share
        The share with one verdict (`judge_share`), between 0 and 1.
    judges
        J, the number of verdicts averaged.

    Returns
    -------
    Coefficient
        `not_applicable` for a share outside 0 to 1 or fewer than 1 judge.

    Examples
    --------
    >>> round(averaged_judge_share(0.8, 4).value, 6)
    0.5
    """
    if not 0 <= share <= 1 or judges < 1:
        reason = f"a share of 0 to 1 and a judge are needed, got {share:.4g} and {judges}"
        return Coefficient.absent("not_applicable", reason)
    return Coefficient(share / judges / (share / judges + 1 - share), method="Spearman-Brown")
