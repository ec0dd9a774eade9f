"""Statistics of single items: difficulty, discrimination, wrong keys."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from hqm.psychometrics.inference.distributions import rank_sum_p
from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    IntArray,
    Outcome,
    float_array,
    ratio,
)


@dataclass(frozen=True, slots=True, eq=False)
class ItemAnalysis(Outcome):
    """The items of one administration, each array with an entry for every item.

    Attributes
    ----------
    difficulty
        Mean score (the classical p value; a high one is an easy item).
    item_rest, q
        Correlation with the mean of the other items, and its two-sided p-value after Benjamini
        and Hochberg over all items of the call; NaN where the scores, or the rest, do not vary.
    n
        Respondents with a score.
    reversed
        The numbers of the items whose correlation is below 0 with q below alpha, where the
        exact test of ranks agrees.
    """

    difficulty: Array
    item_rest: Array
    q: Array
    n: IntArray
    reversed: tuple[int, ...] = ()


def to_unit_range(scores: ArrayLike) -> Array:
    """Return the scores with the least one at 0 and the greatest at 1; those from 0 to 1 as is.

    >>> to_unit_range([[1, 3, 5]]), to_unit_range([[0.25, 0.75]])
    (array([[0. , 0.5, 1. ]]), array([[0.25, 0.75]]))
    """
    x = np.asarray(scores, dtype=np.float64)
    finite_scores = x[np.isfinite(x)]
    if not finite_scores.size:
        return x
    low = float(finite_scores.min())
    high = float(finite_scores.max())
    if (low >= 0 and high <= 1) or low == high:
        return x
    return np.asarray((x - low) / (high - low))


def item_rest(scores: ArrayLike) -> Array:
    """(items,): the correlation of each item with the mean of the other items, over respondents;
    NaN where it is undefined.

    >>> item_rest([[1, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1]]).round(2)
    array([ 0.5 ,  0.5 ,  0.5 , -0.94])
    """
    x = float_array(scores, "respondents, items")
    return correlate_with_rest(x, mean_of_other_items(x))[0]


def effective_runs(scores: ArrayLike) -> float:
    """How many independent answers the mean of an item's runs is worth (Kish's design effect).

    A rerun repeats what a respondent and an item have between them, and so says less than the
    answer to a new item. The correlation of runs is taken around what the respondent's and the
    item's mean let expect.

    Parameters
    ----------
    scores : array_like, shape (runs, respondents, items)
        0 or 1; NaN where an answer was not scored.

    Returns
    -------
    float
        r / (1 + (r - 1) rho) of r runs; 1 where they repeat each other, or nothing varies.

    Notes
    -----
        rho = 1 - variance within a respondent's runs of an item / variance around expected scores

    References
    ----------
    .. [1] Kish, L. (1965). Survey sampling, section 5.4. Wiley.

    Examples
    --------
    >>> once = np.array([[1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 0, 1], [0, 1, 1, 1, 1, 0]])
    >>> effective_runs([once, once])
    1.0
    """
    x = float_array(scores, "runs, respondents, items")
    scored = np.isfinite(x)
    n = scored.sum(axis=0)
    means = ratio(np.where(scored, x, 0.0).sum(axis=0), n)
    repeated = n > 1
    runs = float(n[repeated].mean()) if repeated.any() else 1.0
    squares = np.where(scored, (x - means) ** 2, 0.0).sum(axis=0)
    if runs <= 1 or not squares.any():
        return 1.0
    variance_within = float((squares[repeated] / (n[repeated] - 1)).mean())
    residual = np.where(scored, (x - _expected_of_margins(means)) ** 2, 0.0).sum() / n.sum()
    # each item's mean is fitted to the respondents' scores, which are so much nearer to it
    residual *= x.shape[1] / max(x.shape[1] - 1, 1)
    rho = min(max(1 - variance_within / residual, 0.0), 1.0)
    return float(runs / (1 + (runs - 1) * rho))


_MIN_ALIKE_Z = 3.0
"""From how many standard errors on a correlation of two respondents' residuals is no chance."""


def respondent_weights(scores: ArrayLike) -> Array:
    """How much each respondent's answers say, beside those of respondents who answer alike.

    Two copies of one model have a half each. What counts is the correlation of what respondents
    score beyond what their means and the items' let expect, where it is no chance. Items that go
    against the rest do not count: able respondents fail a wrong key together.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        From 0 to 1; NaN where an answer was not scored.

    Returns
    -------
    Array
        (respondents,): 1 / (1 + sum of correlations with others); 1 of who is like nobody.

    Examples
    --------
    >>> x = np.random.default_rng(0).integers(0, 2, (3, 200))
    >>> respondent_weights([x[0], x[0], x[1], x[2]])
    array([0.5, 0.5, 1. , 1. ])
    """
    x = float_array(scores, "respondents, items")
    x = x[:, ~(item_rest(x) < 0)]
    scored = np.isfinite(x)
    expected = _expected_of_margins(x)
    residuals = np.where(scored, x - expected, 0.0)
    variances = np.where(scored, expected * (1 - expected), 0.0)
    covariances = residuals @ residuals.T
    norms = np.sqrt((residuals**2).sum(axis=1))
    correlations = ratio(covariances, np.outer(norms, norms))
    # by the variance of right and wrong answers: two who pass all items are alike by ability
    is_alike = covariances > _MIN_ALIKE_Z * np.sqrt(variances @ variances.T)
    np.fill_diagonal(is_alike, False)
    return np.asarray(1 / (1 + np.where(is_alike, correlations, 0.0).sum(axis=1)))


def _expected_of_margins(means: Array) -> Array:
    """(respondents, items): the chance of a right answer by a respondent's and an item's mean,
    which add up on the scale of logits.
    """
    scored = np.isfinite(means)
    filled = np.where(scored, means, 0.0)

    def logit_of_mean(axis: int | None) -> Array:
        # half an answer either way, so that no mean is 0 or 1
        share = (filled.sum(axis=axis) + 0.5) / (scored.sum(axis=axis) + 1)
        return np.asarray(np.log(share / (1 - share)))

    logit = logit_of_mean(1)[:, None] + logit_of_mean(0) - logit_of_mean(None)
    return np.asarray(1 / (1 + np.exp(-logit)))


def mean_of_other_items(x: Array) -> Array:
    """(respondents, items): the mean of a respondent's other items; NaN where there is none."""
    scored = np.isfinite(x)
    filled = np.where(scored, x, 0.0)
    n_others = scored.sum(axis=1, keepdims=True) - scored
    total = filled.sum(axis=1, keepdims=True) - filled
    return ratio(total, n_others)


def correlate_with_rest(x: Array, rest_scores: Array) -> tuple[Array, IntArray]:
    """(items,) twice: each item's correlation with its rest scores, and respondents with both."""
    paired = np.isfinite(x) & np.isfinite(rest_scores)
    n = paired.sum(axis=0)
    size = np.maximum(n, 1)

    def centred(v: Array) -> Array:
        filled = np.where(paired, v, 0.0)
        return np.where(paired, filled - filled.sum(axis=0) / size, 0.0)

    a = centred(x)
    b = centred(rest_scores)
    va = (a * a).sum(axis=0)
    vb = (b * b).sum(axis=0)
    defined = (va > 1e-12) & (vb > 1e-15) & (n >= 3)
    r = np.full(x.shape[1], np.nan)
    r[defined] = np.clip((a * b).sum(axis=0)[defined] / np.sqrt(va[defined] * vb[defined]), -1, 1)
    return r, n


def _two_sided(r: Array, n: ArrayLike) -> Array:
    """Student's test of a correlation."""
    df = np.asarray(n, dtype=np.float64) - 2
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.abs(r) * np.sqrt(df / (1 - r * r))
        return np.asarray(2 * stdtr(df, -quotient))


def item_analysis(
    scores: ArrayLike, *, alpha: float = 0.05, n_eff: float | None = None
) -> ItemAnalysis:
    """Compute a classical item analysis, naming an item as reversed only on evidence.

    The item-rest correlation asks whether the respondents that do well elsewhere do well here. With
    few respondents it is mostly noise: with 20, a few in a hundred perfectly good items come out
    negative. So an item is named only when the correlation differs from 0 after correction for the
    number of items. Student's test of r is fooled by a few outlying respondents, so that the rank
    sum test of `label_error_candidates` must agree.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        NaN where an answer was not scored. Binary or graded.
    alpha : float, default 0.05
        False discovery rate of the items named.
    n_eff : float, optional
        The number of independent respondents, where some are relatives.

    Returns
    -------
    ItemAnalysis
        The status is `insufficient` for fewer than 3 respondents or 2 items.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        p_i = mean_m x_mi        r_i = cor(x_.i, mean of the other items)

    References
    ----------
    .. [1] Ebel, R. L. and Frisbie, D. A. (1991). Essentials of educational measurement, 5th ed.

    Examples
    --------
    >>> result = item_analysis([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1], [1, 0, 0, 1]])
    >>> result.difficulty, result.reversed
    (array([1.  , 0.5 , 0.25, 0.5 ]), ())
    """
    x = float_array(scores, "respondents, items")
    respondents, count = x.shape
    if respondents < 3 or count < 2:
        empty = np.zeros(0)
        return ItemAnalysis.absent(
            "insufficient",
            f"an item analysis needs 3 respondents and 2 items, there are {respondents}"
            f" and {count}",
            difficulty=empty,
            item_rest=empty,
            q=empty,
            n=empty.astype(np.int64),
        )
    rest_scores = mean_of_other_items(x)
    scored = np.isfinite(x)
    r, n = correlate_with_rest(x, rest_scores)
    if n_eff is None:
        size = float(respondents)
    else:
        size = min(float(respondents), n_eff)
    q = benjamini_hochberg(_two_sided(r, n * size / respondents))
    rank_test_agrees = _reversed_q(x, rest_scores, r, n_eff) < alpha
    # a row for each item, side by side in memory: the same sums as item by item, in one call
    totals = np.ascontiguousarray(np.where(scored, x, 0.0).T).sum(axis=1)
    reversed_items = np.flatnonzero((q < alpha) & (r < 0) & rank_test_agrees)
    return ItemAnalysis(
        ratio(totals, scored.sum(axis=0)), r, q, scored.sum(axis=0), tuple(reversed_items.tolist())
    )


@dataclass(frozen=True, slots=True)
class LabelError:
    """An item to read first: its key may be wrong.

    Attributes
    ----------
    item
        Its number.
    item_rest
        The negative correlation.
    reversals
        Of all pairs of a passing and a failing respondent, the share in which the failing one
        is the better elsewhere; .5 for an item that has nothing to do with the rest.
    q
        One-sided p after Benjamini and Hochberg over all items.
    """

    item: int
    item_rest: float
    reversals: float
    q: float


_MIN_GROUP_ITEMS = 20
"""The fewest items of a group that is tested within itself."""


@dataclass(frozen=True, slots=True)
class LabelErrors(Outcome):
    """Candidates for a wrong key, worst first; an empty tuple means that none stands out."""

    candidates: tuple[LabelError, ...] = ()


def label_error_candidates(
    scores: ArrayLike,
    *,
    rng: np.random.Generator,
    alpha: float = 0.05,
    permutations: int = 9999,
    n_eff: float | None = None,
    groups: Sequence[Hashable] | None = None,
) -> LabelErrors:
    """Find items that strong respondents fail and weak ones pass.

    A wrong key reverses an item: its item-rest correlation becomes negative. By chance many good
    items are negative too, so an item is named only if an exact test survives Benjamini and
    Hochberg over all items: that the passing respondents rank so low elsewhere (Wilcoxon 1945). No
    p is below 1 / C(n, k): with 12 respondents .001. Graded scores: Student's test of r, and a
    permutation test must agree. An item can also be reversed by its wording.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        NaN where an answer was not scored.
    rng : numpy.random.Generator
        Source of the random numbers.
    alpha : float, default 0.05
        False discovery rate, and level of the permutation test.
    permutations : int, default 9999
        For graded scores.
    n_eff : float, optional
        Independent respondents, where some are relatives; the deviate of p shrinks by sqrt(n_eff /
        n).
    groups : sequence of hashable, shape (items,), optional
        "elsewhere" is the same group, where that has 20 items: a type that strong respondents
        cannot do, or a side of the key that they lean from, accuses no item.

    Returns
    -------
    LabelErrors
        The status is `insufficient` for fewer than 5 respondents or 3 items.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        p = P(rank sum of k of n respondents drawn at random <= that of the k who pass)

    Examples
    --------
    Thirty respondents of rising ability; the key of item 3 is wrong:

    >>> passed = (np.arange(30)[:, None] + np.arange(8) % 3 > 14).astype(float)
    >>> passed[:, 3] = 1 - passed[:, 3]
    >>> result = label_error_candidates(passed, rng=np.random.default_rng(0))
    >>> [candidate.item for candidate in result.candidates]
    [3]
    """
    x = float_array(scores, "respondents, items")
    respondents, count = x.shape
    if respondents < 5 or count < 3:
        return LabelErrors.absent(
            "insufficient",
            f"wrong keys need 5 respondents and 3 items, there are {respondents} and {count}",
        )
    rest_scores = mean_of_other_items(x)
    names = np.array([hash(group) for group in groups or ()])
    for name, size in zip(*np.unique(names, return_counts=True), strict=True):
        if size >= _MIN_GROUP_ITEMS:
            rest_scores[:, names == name] = mean_of_other_items(x[:, names == name])
    r, _ = correlate_with_rest(x, rest_scores)
    has_binary_scores = is_binary(x)
    q = _reversed_q(x, rest_scores, r, n_eff)
    candidates = []
    for i in np.flatnonzero(q < alpha):
        scored = np.isfinite(x[:, i])
        item_scores = x[scored, i]
        rest_of_item = rest_scores[scored, i]
        if (
            has_binary_scores
            or _permutation_p(item_scores, rest_of_item, permutations, rng) < alpha
        ):
            candidates.append(
                LabelError(
                    int(i), float(r[i]), _reversal_share(item_scores, rest_of_item), float(q[i])
                )
            )
    candidates.sort(key=lambda error: error.item_rest)
    return LabelErrors(tuple(candidates))


def is_binary(x: Array) -> bool:
    """Return whether every score is 0 or 1."""
    return bool(((x == 0) | (x == 1) | ~np.isfinite(x)).all())


def _reversed_q(x: Array, rest_scores: Array, r: Array, n_eff: float | None) -> Array:
    """(items,): one-sided p of a negative correlation after Benjamini and Hochberg."""
    shrinkage = 1.0 if n_eff is None else min(1.0, n_eff / len(x))
    if not is_binary(x):
        both_sides = _two_sided(r, np.isfinite(x).sum(axis=0) * shrinkage)
        return benjamini_hochberg(np.where(r < 0, both_sides / 2, 1 - both_sides / 2))
    p = rank_sum_p(x == 1, np.where(np.isfinite(x), rest_scores, np.nan))
    return benjamini_hochberg(
        np.where(np.isfinite(r), ndtr(ndtri(p) * math.sqrt(shrinkage)), np.nan)
    )


def _permutation_p(
    item_scores: Array, rest_scores: Array, permutations: int, rng: np.random.Generator
) -> float:
    centred = rest_scores - rest_scores.mean()
    shuffled = rng.permuted(np.tile(item_scores, (permutations, 1)), axis=1) @ centred
    return (1 + int((shuffled <= float(item_scores @ centred) + 1e-12).sum())) / (permutations + 1)


def _reversal_share(item_scores: Array, rest_scores: Array) -> float:
    higher = item_scores[:, None] > item_scores[None, :]
    weaker = (rest_scores[:, None] < rest_scores[None, :]) + 0.5 * (
        rest_scores[:, None] == rest_scores[None, :]
    )
    return float(weaker[higher].mean())


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Groups of items that ask the same.

    Attributes
    ----------
    by_key
        Items with equal keys (the same picture and question).
    contradictory
        Groups of equal keys with different targets.
    """

    by_key: tuple[tuple[int, ...], ...]
    contradictory: tuple[tuple[int, ...], ...]


def duplicate_items(keys: Sequence[Hashable], targets: Sequence[Hashable]) -> Duplicates:
    """Find items that ask the same question, and those whose targets contradict each other.

    Parameters
    ----------
    keys : sequence of hashable, shape (items,)
        What identifies an item's question: (picture, text), or a hash of it.
    targets : sequence of hashable, shape (items,)
        The right answers; another number of them than of keys is a ValueError.

    Returns
    -------
    Duplicates
        Groups of items with equal keys, and those of them with different targets.

    Raises
    ------
    ValueError
        There are not as many targets as keys.

    Examples
    --------
    >>> duplicate_items(["a", "b", "a", "c"], ["yes", "no", "no", "no"])
    Duplicates(by_key=((0, 2),), contradictory=((0, 2),))
    """
    if len(targets) != len(keys):
        raise ValueError(f"one target a key is needed, got {len(targets)} for {len(keys)}")
    items_by_key: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        items_by_key.setdefault(key, []).append(i)
    groups = []
    contradictory = []
    for items in items_by_key.values():
        if len(items) < 2:
            continue
        groups.append(tuple(items))
        if len({targets[i] for i in items}) > 1:
            contradictory.append(tuple(items))
    return Duplicates(tuple(groups), tuple(contradictory))
