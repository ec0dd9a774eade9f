"""A lean towards yes or no: acquiescence, excess of yes, coherence of item pairs, bias-cancelling
scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, normal_quantile, shaped_alike
from hqm.psychometrics.clusters import cluster_sums, labels_of, mean_with_error
from hqm.psychometrics.correlation import paired
from hqm.psychometrics.intraclass import icc
from hqm.psychometrics.length import spearman_brown
from hqm.psychometrics.result import Bounds, Coefficient


@dataclass(frozen=True, slots=True)
class ResponseBias:
    """A bias of every respondent with its mean and spread.

    - `respondents`: One coefficient a respondent; the interval is over items (`fixed`) where items
      were given.
    - `mean`: Over respondents, with Student's interval; its `status` speaks for the whole.
    - `deviation`: Standard deviation over respondents; NaN below 2.
    """

    respondents: tuple[Coefficient, ...]
    mean: Coefficient
    deviation: float = math.nan


def acquiescence(
    yes_first: npt.ArrayLike,
    yes_second: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> ResponseBias:
    """How far the share of yes over two opposite forms lies above or below one half: (yes_A +
    yes_B) / 2 - 1/2.

    A respondent who attends to the question says yes to exactly one of a question and its opposite.
    What is left over is a habit of saying yes (above 0) or no. It is invalid where the second
    form's truths are not the opposite ones.

    - `yes_first, yes_second`: (respondents,) yes rates, or (respondents, items) answers: 1 yes, 0
      no, NaN neither.
    - `clusters`: (items,): labels of what items share. Intervals of single respondents exist only
      for answers.
    The status is `insufficient` without a respondent on both forms, `not_applicable` for a rate
    outside 0 to 1.
    >>> [round(c.value, 4) for c in acquiescence([0.783, 0.251], [0.706, 0.217]).respondents]
    [0.2445, -0.266]
    """
    a, b = np.asarray(yes_first, dtype=np.float64), np.asarray(yes_second, dtype=np.float64)
    if a.shape != b.shape or a.ndim not in (1, 2):
        raise ValueError(
            f"two vectors of rates or two matrices of answers are needed, got {a.shape} and"
            f" {b.shape}"
        )
    return _bias((a + b) / 2 - 0.5, (a, b), clusters, level)


def _bias(
    values: Array, sources: tuple[Array, Array], clusters: npt.ArrayLike | None, level: float
) -> ResponseBias:
    known = np.concatenate([np.ravel(s) for s in sources])
    known = known[np.isfinite(known)]
    if (known < 0).any() or (known > 1).any():
        none = Coefficient.absent("not_applicable", "a rate of yes is outside 0 to 1")
        return ResponseBias((), none)
    if values.ndim == 1:
        each = tuple(
            (
                Coefficient(float(v), n=1)
                if math.isfinite(v)
                else Coefficient.absent("insufficient", "no rate of yes")
            )
            for v in values
        )
        means = values
    else:
        means, error = _clustered(values, clusters)
        each = tuple(
            _normal(float(m), float(e), level, "no answered item")
            for m, e in zip(means, error, strict=True)
        )
    return ResponseBias(each, *_over_respondents(means, level))


def _clustered(values: Array, clusters: npt.ArrayLike | None) -> tuple[Array, Array]:
    labels = labels_of(clusters, values.shape[1])
    scored = np.isfinite(values)
    if not scored.any():
        none = np.full(len(values), np.nan)
        return none, none
    return mean_with_error(*cluster_sums(np.where(scored, values, 0.0), scored, labels))


def _normal(value: float, error: float, level: float, reason: str) -> Coefficient:

    if not math.isfinite(value):
        return Coefficient.absent("insufficient", reason)
    half = normal_quantile(level) * error
    # an interval without width claims a certainty that few items do not give
    if not half > 0:
        return Coefficient(value, n=1, level=level)
    return Coefficient(
        value,
        n=1,
        level=level,
        fixed=Bounds(value - half, value + half, "cluster normal", level),
        se=error,
    )


def _over_respondents(values: Array, level: float) -> tuple[Coefficient, float]:
    known = values[np.isfinite(values)]
    n = len(known)
    if n == 0:
        return Coefficient.absent("insufficient", "no respondent has answers"), math.nan
    mean = float(known.mean())
    if n < 2:
        return Coefficient(mean, n=n, level=level), math.nan
    from scipy.special import stdtrit

    deviation = float(known.std(ddof=1))
    half = float(stdtrit(n - 1, 0.5 + level / 2)) * deviation / math.sqrt(n)
    return Coefficient(mean, mean - half, mean + half, n, level, "t"), deviation


@dataclass(frozen=True, slots=True)
class PairCoherence:
    """How often a respondent answers the two opposite forms of an item coherently.

    `coherent`, `chance` and `corrected` have one entry a respondent: the share of pairs with
    exactly one yes (interval over items in `fixed`), what a respondent who ignores the question
    would reach at the same rates of yes, and the share beyond chance, (coherent - chance) / (1 -
    chance), NaN where chance is 1.
    """

    coherent: tuple[Coefficient, ...]
    chance: tuple[float, ...]
    corrected: tuple[float, ...]
    mean: Coefficient


def pair_coherence(
    yes_first: npt.ArrayLike,
    yes_second: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> PairCoherence:
    """The share of item pairs answered without contradiction: yes to exactly one of an item and its
    opposite.

    A contradiction needs no truth to be seen as one. Scores on one form can be high by luck of the
    base rate; coherence cannot. Saying yes at random with rate y is coherent with 2 y (1 - y), at
    most one half.

        coherent = mean(yes_A != yes_B),   chance = y_A (1 - y_B) + (1 - y_A) y_B

    - `yes_first, yes_second`: (respondents, items): 1 for yes, 0 for no, NaN for neither (the pair
      is left out).
    - `clusters`: (items,): labels of what items share.

    `mean` is `insufficient` without any pair, `not_applicable` when an answer is not 0 or 1.

    >>> result = pair_coherence([[1, 1, 0, 1]], [[0, 0, 1, 1]])
    >>> result.coherent[0].value, result.chance[0]
    (0.75, 0.5)
    """
    a, b = shaped_alike(yes_first, yes_second, "respondents, items")
    both = np.isfinite(a) & np.isfinite(b)
    if not np.isin(np.concatenate([a[both], b[both]]), (0.0, 1.0)).all():
        return PairCoherence(
            (), (), (), Coefficient.absent("not_applicable", "an answer is not 0 or 1")
        )
    mean, error = _clustered(np.where(both, a != b, np.nan), clusters)
    n = both.sum(axis=1)
    rates = [
        np.divide(np.where(both, x, 0).sum(axis=1), n, out=np.full(len(a), np.nan), where=n > 0)
        for x in (a, b)
    ]
    chance = rates[0] * (1 - rates[1]) + (1 - rates[0]) * rates[1]
    corrected = np.divide(mean - chance, 1 - chance, out=np.full(len(a), np.nan), where=chance < 1)
    return PairCoherence(
        tuple(
            _normal(float(m), float(e), level, "no pair is answered")
            for m, e in zip(mean, error, strict=True)
        ),
        tuple(chance.tolist()),
        tuple(corrected.tolist()),
        _over_respondents(mean, level)[0],
    )


@dataclass(frozen=True, slots=True)
class BalancedScore:
    """The mean of two opposite forms: a score in which a lean towards yes cancels.

    `scores` has one entry a respondent (NaN without both forms); `reliability` is that of the mean
    for absolute values, ICC(A,2), with the single form's ICC(A,1) stepped up.
    """

    scores: tuple[float, ...]
    reliability: Coefficient


def balanced_score(
    first: npt.ArrayLike, second: npt.ArrayLike, *, level: float = 0.95
) -> BalancedScore:
    """The mean score over two opposite forms, in which a habit of saying yes cancels, and its
    reliability.

        score = (S_A + S_B) / 2,   reliability = 2 ICC(A,1) / (1 + ICC(A,1))

    A respondent who always says yes gets one half. The reliability has the status of `icc`; it is
    `not_applicable` where the ICC is -1 or less.

    - `first, second`: (respondents,): scores on each form.

    >>> [round(s, 4) for s in balanced_score([0.461, 0.595, 0.622, 0.761], [0.538, 0.438, 0.398, 0.440]).scores]
    [0.4995, 0.5165, 0.51, 0.6005]
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    x, y = paired(a, b)
    scores = tuple(((a + b) / 2).tolist())
    single = icc(np.stack([x, y], axis=1), level=level).a1
    if single.status != "ok":
        return BalancedScore(scores, single)
    value, low, high = (spearman_brown(v, 2) for v in (single.value, single.low, single.high))
    if math.isnan(value):
        reason = f"an ICC(A,1) of {single.value:.4g} cannot be stepped up"
        return BalancedScore(scores, Coefficient.absent("not_applicable", reason, single.n))
    return BalancedScore(
        scores, Coefficient(value, low, high, single.n, level, f"{single.method}, Spearman-Brown")
    )
