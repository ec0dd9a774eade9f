"""A lean towards a place in a list of options."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.form_effect import mean_with_error
from hqm.psychometrics.generalized_retest import cluster_sums
from hqm.psychometrics.result import Bounds, Coefficient
from hqm.psychometrics.significance import SignificanceTest, chi_square_test

NAME = "uniform choice of position"


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How unevenly one respondent chooses among positions.

    Parameters
    ----------
    shares
        Share of choices that fell on each position.
    test
        Chi-square of equal shares (or of the expected ones); its `status` speaks for the whole.
    cramer_v
        Effect size: 0 for equal shares, 1 when one position takes all.
    """

    shares: tuple[float, ...]
    test: SignificanceTest
    cramer_v: float


def position_bias(counts: npt.ArrayLike, expected: npt.ArrayLike | None = None) -> PositionBias:
    """Whether a respondent prefers a position among the options of multiple-choice items.

    When right options are spread evenly over the positions, choices should be too. A preference shows as accuracy that
    depends on where the right option stands; shuffling the options is the parallel form that cancels it.

        chi2 = sum (n_p - e_p)^2 / e_p,  df P - 1,   V = sqrt(chi2 / (n (1 / min share - 1)))

    Parameters
    ----------
    counts
        (positions,): how often each position was chosen.
    expected
        (positions,): shares expected without a preference (the shares of right options); equal by default.

    Returns
    -------
    PositionBias
        `insufficient` for fewer than 2 positions or fewer than 5 expected choices on one of them, `not_applicable` for
        negative counts or shares that are not positive.

    Raises
    ------
    ValueError
        `counts` is no vector, or `expected` has another length.

    Notes
    -----
    Pearson, K. (1900). Philosophical Magazine, 50, 157-175. Items must be independent. With equal shares V is the usual
    sqrt(chi2 / (n (P - 1))).

    Examples
    --------
    >>> found = position_bias([40, 20, 20, 20])
    >>> found.test.statistic, found.test.df, round(found.cramer_v, 4)
    (12.0, 3, 0.2)
    """
    n = np.asarray(counts, dtype=np.float64)
    if n.ndim != 1:
        raise ValueError(f"counts must have shape (positions,), got {n.shape}")
    p = np.full(len(n), 1 / max(1, len(n))) if expected is None else np.asarray(expected, dtype=np.float64)
    if p.shape != n.shape:
        raise ValueError(f"expected must have shape {n.shape}, got {p.shape}")
    if len(n) < 2:
        reason = f"a preference needs 2 positions, there are {len(n)}"
        return PositionBias((), SignificanceTest.absent("insufficient", reason, name=NAME), math.nan)
    if not (np.isfinite(n).all() and (n >= 0).all() and np.isfinite(p).all() and (p > 0).all()):
        reason = "counts must be 0 or more and expected shares above 0"
        return PositionBias((), SignificanceTest.absent("not_applicable", reason, name=NAME), math.nan)
    p, total = p / p.sum(), float(n.sum())
    shares = tuple((n / total).tolist()) if total else ()
    if total * float(p.min()) < 5:
        reason = f"chi-square needs 5 expected choices of every position, {total:g} choices give {total * p.min():.3g}"
        return PositionBias(shares, SignificanceTest.absent("insufficient", reason, int(total), NAME), math.nan)
    chi2 = float(((n - total * p) ** 2 / (total * p)).sum())
    return PositionBias(
        shares,
        chi_square_test(chi2, len(n) - 1, NAME, int(total)),
        math.sqrt(chi2 / (total * (1 / float(p.min()) - 1))),
    )


def recall_deviation(choice: npt.ArrayLike, truth: npt.ArrayLike, positions: int) -> Coefficient:
    """RStd: how much the share answered rightly depends on where the right option stands.

    Choices may be uneven because right options are; recall by position is free of that.

        recall_p = share right among items whose right option stands at p;  RStd = standard deviation over positions

    Parameters
    ----------
    choice, truth
        (items,): chosen and right position, 0 to positions - 1; NaN where nothing was chosen (counts as not right).
    positions
        How many options an item has.

    Returns
    -------
    Coefficient
        With divisor P, without an interval. `insufficient` for fewer than 2 positions or a position that is never right.

    Raises
    ------
    ValueError
        The vectors differ in length.

    Notes
    -----
    Zheng, C. et al. (2024). Large language models are not robust multiple choice selectors. ICLR.

    Examples
    --------
    Right on every first option, on half of the second ones:

    >>> recall_deviation([0, 0, 1, 0], [0, 0, 1, 1], 2).value
    0.25
    """
    c, t = np.asarray(choice, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if c.shape != t.shape or c.ndim != 1:
        raise ValueError(f"two vectors of one length are needed, got shapes {c.shape} and {t.shape}")
    known = np.isin(t, np.arange(positions))
    c, t = c[known], t[known].astype(np.int64)
    per = np.bincount(t, minlength=positions) if positions > 0 else np.zeros(0)
    if positions < 2 or (per == 0).any():
        reason = f"recall by position needs 2 positions that are each right somewhere, there are {int((per > 0).sum())}"
        return Coefficient.absent("insufficient", reason, len(t))
    recall = np.bincount(t, weights=(c == t).astype(np.float64), minlength=positions) / per
    return Coefficient(float(recall.std()), n=len(t))


@dataclass(frozen=True, slots=True)
class CircularAccuracy:
    """(respondents,): the share of items right in every rotation of the options, and in a single one on average."""

    circular: tuple[Coefficient, ...]
    single: tuple[float, ...]


def circular_accuracy(
    right: npt.ArrayLike, clusters: npt.ArrayLike | None = None, *, level: float = 0.95
) -> CircularAccuracy:
    """The share of items answered rightly in all rotations of their options.

    A guess seldom survives every rotation; a gap to the accuracy of single rotations is what position and guessing
    contribute.

    Parameters
    ----------
    right
        (rotations, respondents, items): 1 right, 0 not; an item with a NaN in some rotation is left out.
    clusters
        (items,): labels of what items share.
    level
        Confidence level of the normal interval over items (`fixed`); `n` counts items.

    Returns
    -------
    CircularAccuracy
        Each coefficient `insufficient` without items or below 2 rotations.

    Raises
    ------
    ValueError
        Shapes do not fit.

    Notes
    -----
    Liu, Y. et al. (2024). MMBench: is your multi-modal model an all-around player? ECCV (CircularEval).

    Examples
    --------
    >>> found = circular_accuracy([[[1, 1, 0, 1]], [[1, 0, 0, 1]]])
    >>> found.circular[0].value, found.single[0]
    (0.5, 0.625)
    """
    x = np.asarray(right, dtype=np.float64)
    if x.ndim != 3:
        raise ValueError(f"right must have shape (rotations, respondents, items), got {x.shape}")
    labels = np.arange(x.shape[2]) if clusters is None else np.asarray(clusters)
    if labels.shape != x.shape[2:]:
        raise ValueError(f"clusters must have one label an item ({x.shape[2]}), got shape {labels.shape}")
    scored = np.asarray(np.isfinite(x).all(axis=0))
    if x.shape[0] < 2 or not scored.any():
        reason = f"circular accuracy needs 2 rotations and a scored item, there are {x.shape[0]} rotations"
        none = Coefficient.absent("insufficient", reason)
        return CircularAccuracy((none,) * x.shape[1], (math.nan,) * x.shape[1])
    from scipy.special import ndtri

    every = np.where(scored, (x == 1).all(axis=0), 0.0)
    mean, error = mean_with_error(*cluster_sums(every, scored, labels))
    single, _ = mean_with_error(*cluster_sums(np.where(scored, x.mean(axis=0), 0.0), scored, labels))
    z, found = float(ndtri(0.5 + level / 2)), []
    for m, e, n in zip(mean.tolist(), error.tolist(), scored.sum(axis=1).tolist(), strict=True):
        if not n:
            found.append(Coefficient.absent("insufficient", "no item is scored in every rotation"))
        elif e > 0:
            ends = Bounds(max(0.0, m - z * e), min(1.0, m + z * e), "cluster normal", level)
            found.append(Coefficient(m, n=n, level=level, fixed=ends, se=e))
        else:
            found.append(Coefficient(m, n=n, level=level))
    return CircularAccuracy(tuple(found), tuple(single.tolist()))
