"""Which hallucination types a benchmark measures, and which it names without measuring them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hqm.psychometrics.inference.resampling import jackknife_standard_error
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Indices,
    Outcome,
    Status,
    normal_quantile,
)

_FORECAST = "rate .5, independent items"
MIN_CLUSTERS = 10
"""With fewer pictures a type's error is forecast from the number of items, not estimated."""

State = Literal["measurable", "labelled, not measurable", "claimed, no evidence", "absent"]


@dataclass(frozen=True, slots=True)
class TypeCoverage:
    """One type of the taxonomy.

    Attributes
    ----------
    items, images, wordings
        Items labelled with it, distinct pictures and distinct questions (letter case, spaces
        and punctuation apart).
    share
        Share of all labels.
    sem
        Standard error of a respondent's score on this type, over other items of the kind.
    sem_high
        Its one-sided 95 % upper end, which decides; of a forecast, which is the worst case, the
        error itself.
    measured
        Whether that error is of answers, and no forecast from the number of items.
    missing_items
        How many more items the type needs to be measurable, by the root-n law.
    state
        `measurable`; `labelled, not measurable` (the error is too large); `claimed, no
        evidence` (named by the benchmark, on no item); `absent`.
    """

    name: str
    items: int
    images: int
    wordings: int
    share: float
    sem: float
    sem_high: float
    missing_items: int
    state: State
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Coverage(Outcome):
    """The types of a benchmark against a taxonomy.

    Attributes
    ----------
    index
        Share of the taxonomy's types that are measurable.
    evenness, effective
        Entropy over ln of the number of types, and exp(entropy).
    unlabelled
        Items without a label.
    """

    types: tuple[TypeCoverage, ...]
    index: Coefficient
    evenness: Coefficient
    effective: Coefficient
    n_items: int
    n_min: int
    unlabelled: int


def items_for_error(sem: float, rate: float = 0.5) -> int:
    """Compute how many independent items give a score this standard error.

    Parameters
    ----------
    sem : float
        The standard error wanted.
    rate : float, default 0.5
        The expected score p, of which .5 is the worst case.

    Returns
    -------
    int
        n = p (1 - p) / sem^2, rounded up.

    Raises
    ------
    ValueError
        The error is not positive, or the rate is no share.

    Examples
    --------
    >>> items_for_error(0.03)
    278
    """
    if not sem > 0 or not 0 <= rate <= 1:
        raise ValueError(
            f"a positive error and a rate between 0 and 1 are needed, got {sem}, {rate}"
        )
    # p (1 - p) / n = SE^2, solved for n; without 1e-9 rounding could ask for one item more
    return math.ceil(rate * (1 - rate) / sem**2 - 1e-9)


def type_coverage(
    labels: Sequence[str | Collection[str] | None],
    taxonomy: Sequence[str],
    *,
    images: Sequence[Hashable] | None = None,
    questions: Sequence[str] | None = None,
    claimed: Collection[str] = (),
    scores: ArrayLike | None = None,
    errors: Mapping[str, StandardError] | None = None,
    sem: float = 0.03,
    n_min: int | None = None,
) -> Coverage:
    """Count the items, pictures and wordings of every type, and decide which types are measurable.

    A type that a paper names but no item carries counts 0. A type is measurable when the standard
    error of its score, in these answers, is at most `sem` at its upper end. Without answers the
    number of items forecasts it: a dozen items have an error of .14. Five hundred copies of one
    sentence are one wording.

    Parameters
    ----------
    labels : sequence of str or collection of str or None, shape (items,)
        A type, several types, or None.
    taxonomy : sequence of str
        The types asked for, distinct.
    images : sequence of hashable, shape (items,), optional
        What each item shows. Items of one picture count as one cluster in the standard error.
    questions : sequence of str, shape (items,), optional
        What each item asks.
    claimed : collection of str, optional
        Types the benchmark says it covers.
    scores : array_like, shape (respondents, items), optional
        Binary or between 0 and 1: the standard error is then that of these respondents, root mean
        square over them; else it is that of a rate of .5 with independent items. A respondent with
        fewer than five right or wrong answers of a type counts with Agresti and Coull's error where
        that is larger (1998, The American Statistician, 52, 119-126): the plain one is 0 when all
        are right.
    errors : mapping of str to StandardError, optional
        Type -> its standard error in these answers and the upper end of that, where its score is no
        mean of item scores (`cluster_standard_error`).
    sem : float, default 0.03
        The standard error that makes a type measurable.
    n_min : int, optional
        A number of items that makes a type measurable, in place of `sem`.

    Returns
    -------
    Coverage
        The index is 0 when nothing is labelled (claims are no evidence); evenness and its relatives
        are then `insufficient`.

    Raises
    ------
    ValueError
        The taxonomy is empty or repeats a type, or the lengths do not fit.

    Notes
    -----
        index = #(types with error <= sem) / |T|        H = -sum p ln p,   evenness = H / ln |T|,
        effective = exp(H)

    Examples
    --------
    >>> result = type_coverage(["color"] * 300 + ["count"] * 12, ["color", "count", "text"],
    ...     claimed=["text"])
    >>> [kind.state for kind in result.types]
    ['measurable', 'labelled, not measurable', 'claimed, no evidence']
    >>> round(result.index.value, 3), round(result.types[1].sem, 2), result.types[1].missing_items
    (0.333, 0.14, 266)
    """
    count = len(labels)
    names = list(taxonomy)
    if len(set(names)) < len(names) or not names:
        raise ValueError("the taxonomy must have types, each once")
    _check_length("pictures", images, count)
    _check_length("questions", questions, count)
    x = None
    if scores is not None:
        x = np.asarray(scores, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != count:
            raise ValueError(f"scores must have shape (respondents, {count}), got {x.shape}")
    min_items = items_for_error(sem) if n_min is None else n_min
    item_types = [_type_set(label) for label in labels]
    wordings = None
    if questions is not None:
        wordings = list(map(normalised_wording, questions))
    # an item may have several types, so that shares are of labels, not of items
    n_labels = sum(map(len, item_types))
    rows = []
    for name in names:
        members = [i for i, types in enumerate(item_types) if name in types]
        n = len(members)
        error = _type_error(x, members, images)
        if errors and n:
            error = errors.get(name, error)
        is_measured = n > 0 and error.method != _FORECAST and n_min is None
        n_needed = min_items
        if is_measured:
            # the squared error shrinks with the number of items; 1e-9 is rounding
            n_needed = math.ceil(n * (error.high / sem) ** 2 - 1e-9)
        n_missing = max(0, n_needed - n)
        rows.append(
            TypeCoverage(
                name,
                n,
                _count_distinct(images, members),
                _count_distinct(wordings, members),
                n / max(n_labels, 1),
                error.value,
                error.high,
                n_missing,
                _type_state(n, n_missing, name in claimed),
                is_measured,
            )
        )
    index = Coefficient(sum(row.state == "measurable" for row in rows) / len(rows), n=count)
    unlabelled = sum(not types for types in item_types)
    evenness, effective = _indices(rows, count)
    return Coverage(
        tuple(rows),
        index,
        evenness,
        effective,
        count,
        min_items,
        unlabelled,
        status=effective.status,
        reason=effective.reason,
    )


def _check_length(name: str, column: Sequence[Hashable] | None, count: int) -> None:
    if column is not None and len(column) != count:
        raise ValueError(f"{count} items have {len(column)} {name}")


def _type_state(n: int, n_missing: int, is_claimed: bool) -> State:
    """The state of a type with `n` items that needs `n_missing` more."""
    if n:
        if n_missing:
            return "labelled, not measurable"
        return "measurable"
    if is_claimed:
        return "claimed, no evidence"
    return "absent"


def _count_distinct(column: Sequence[Hashable] | None, members: Sequence[int]) -> int:
    """The number of distinct values of some items; without a column every item has its own."""
    if column is None:
        return len(members)
    return len({column[i] for i in members})


def normalised_wording(text: str) -> str:
    """A question without letter case, punctuation and spare spaces, so that equal wordings are
    equal.

    >>> normalised_wording("Is  the sky sunny?") == normalised_wording("is the sky sunny")
    True
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def _type_set(label: str | Collection[str] | None) -> frozenset[str]:
    if label is None:
        return frozenset()
    if isinstance(label, str):
        return frozenset([label])
    return frozenset(label)


@dataclass(frozen=True, slots=True)
class StandardError:
    """A standard error, its one-sided 95 % upper end, and how it was computed."""

    value: float
    high: float
    method: str


def cluster_standard_error(
    contributions: ArrayLike, method: str, *, squared: float | None = None
) -> StandardError:
    """A standard error from what each cluster adds to its square, with the upper end of it.

        SE^2 = sum_c q_c,   upper end: SE^2 exp(1.645 s(q) sqrt(C) / sum_c q_c)

    - `contributions`: (clusters,): q. `squared`: Another SE^2, with the same relative uncertainty.

    >>> error = cluster_standard_error([0.0001, 0.0002, 0.0003, 0.0002], "clusters left out")
    >>> round(error.value, 4), round(error.high, 4)
    (0.0283, 0.0335)
    """
    q = np.asarray(contributions, dtype=np.float64)
    total = float(q.sum())
    value = total if squared is None else squared
    if len(q) > 1 and total > 0:
        # the error of a sum of C contributions, relative to the sum
        relative_error = float(q.std(ddof=1)) * math.sqrt(len(q)) / total
    else:
        relative_error = 0.0
    return StandardError(
        # on the log scale, since a variance is skewed; one-sided 95 %
        math.sqrt(value),
        math.sqrt(value * math.exp(normal_quantile(0.9) * relative_error)),
        method,
    )


def _type_error(
    x: Array | None, members: list[int], images: Sequence[Hashable] | None
) -> StandardError:
    """The standard error of a type's mean score, from its items' scores; the largest possible one
    where too few pictures were answered.
    """
    if not members:
        return StandardError(math.nan, math.nan, "no items")
    # p (1 - p) is at most .25
    size = math.sqrt(0.25 / len(members))
    largest_error = StandardError(size, size, _FORECAST)
    if x is None or len(x) == 0:
        return largest_error
    type_scores = x[:, members]
    scored = np.isfinite(type_scores)
    item_images: Sequence[Hashable] = (
        [images[i] for i in members] if images is not None else members
    )
    position = {image: c for c, image in enumerate(dict.fromkeys(item_images))}
    cluster = np.array([position[image] for image in item_images])

    def image_sums(values: Array) -> Array:
        """(respondents, images): the sum over each image's items."""
        return np.stack(
            [np.bincount(cluster, weights=row, minlength=len(position)) for row in values]
        )

    n = image_sums(scored.astype(np.float64))
    n_scored = n.sum(axis=1)
    clusters = (n > 0).sum(axis=1)
    usable = clusters >= MIN_CLUSTERS
    if not usable.any():
        return largest_error
    tally = image_sums(np.where(scored, type_scores, 0.0))[usable]
    n = n[usable]
    n_scored = n_scored[usable]
    clusters = clusters[usable]
    total = tally.sum(axis=1)

    # a mean is a ratio of sums over pictures; each picture's deviation from it is squared
    weight = clusters / (clusters - 1) / n_scored**2
    contributions = (tally - (total / n_scored)[:, None] * n) ** 2 * weight[:, None]
    squared = contributions.sum(axis=1)

    # nearly all right or wrong answers show too little of their error: then at least that of two
    # more right and two more wrong ones (Agresti and Coull 1998)
    extreme = np.minimum(total, n_scored - total) < 5
    shrunk = (total + 2) / (n_scored + 4)
    squared = np.where(
        extreme, np.maximum(squared, shrunk * (1 - shrunk) / (n_scored + 4)), squared
    )
    return cluster_standard_error(
        contributions.mean(axis=0),
        "clustered by picture, root mean square over respondents",
        squared=float(squared.mean()),
    )


def _indices(rows: Sequence[TypeCoverage], count: int) -> tuple[Coefficient, Coefficient]:
    """Evenness of the items over the types, and the effective number of types; both from Shannon's
    entropy.
    """
    n = sum(row.items for row in rows)
    if n == 0:
        absent = Coefficient.absent(
            "insufficient", "no item is labelled with a type of the taxonomy", count
        )
        return absent, absent
    # types without items add 0 to the entropy, whose logarithm does not exist
    p = np.array([row.items / n for row in rows])
    entropy = float(-(p[p > 0] * np.log(p[p > 0])).sum())
    if len(p) > 1:
        evenness = Coefficient(entropy / math.log(len(p)), n=n)
    else:
        evenness = None
    return (
        # the effective number of equally frequent types (Hill's number of order 1)
        evenness or Coefficient.absent("degenerate", "one type cannot be uneven", n),
        Coefficient(math.exp(entropy), n=n),
    )


@dataclass(frozen=True, slots=True)
class Subscore(Outcome):
    """One subscore against the total.

    Attributes
    ----------
    by_subscore, by_total
        Share of the true subscore's variance that the observed subscore, or the observed total,
        explains (PRMSE).
    gain
        Their difference, with a jackknife interval over respondents.
    adds
        Whether the subscore is worth reporting: the gain is positive. `certain` when its whole
        interval is.
    """

    name: str
    items: int
    by_subscore: float
    by_total: float
    gain: Coefficient
    adds: bool
    certain: bool


def prmse(covariance: ArrayLike, reliability: ArrayLike) -> tuple[tuple[float, float], ...]:
    """Compute Haberman's proportional reductions of mean squared error, by subscore and by total.

    Parameters
    ----------
    covariance : array_like, shape (subscores, subscores)
        Observed; the total is the sum of the subscores.
    reliability : array_like, shape (subscores,)
        Each subscore's reliability.

    Returns
    -------
    tuple of pairs of float
        A pair (by subscore, by total) for each subscore; NaN where the true subscore has no
        variance.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        rel_j  and  cov(tau_j, x)^2 / (var tau_j var x),
        cov(tau_j, x) = cov(s_j, x) - var s_j (1 - rel_j)

    The total of a test is more reliable than a subscore but measures other things too. Errors of
    different subscores are taken as uncorrelated. A pair is NaN where the true subscore has no
    variance.

    References
    ----------
    .. [1] Haberman, S. J. (2008). When can subscores have value? Journal of Educational and
       Behavioral Statistics, 33, 204-229.

    Examples
    --------
    >>> [tuple(round(v, 4) for v in pair) for pair in prmse([[4, 3], [3, 9]], [0.8, 0.9])]
    [(0.8, 0.6322), (0.9, 0.8006)]
    """
    c = np.asarray(covariance, dtype=np.float64)
    rel = np.asarray(reliability, dtype=np.float64)
    if c.ndim != 2 or c.shape[0] != c.shape[1] or rel.shape != (len(c),):
        raise ValueError(
            f"a square covariance and one reliability each are needed, got {c.shape}, {rel.shape}"
        )
    variance = np.diag(c)
    total = float(c.sum())
    true_variance = variance * rel
    # errors of different subscores are uncorrelated: the covariance with the total lacks only the
    # own error
    true_covariance = c.sum(axis=1) - variance * (1 - rel)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_total = np.where(
            (true_variance > 0) & (total > 0), true_covariance**2 / (true_variance * total), np.nan
        )
    by_sub = np.where(true_variance > 0, rel, np.nan)
    return tuple(
        (float(a), min(1.0, float(b)) if not math.isnan(b) else math.nan)
        # rounding may lift the reduction above 1
        for a, b in zip(by_sub, by_total, strict=True)
    )


def subscore_value(
    scores: ArrayLike, labels: Sequence[Hashable], *, level: float = 0.95
) -> tuple[Subscore, ...]:
    """Decide whether each type's score adds to the total score.

    Types that rank the respondents as the total does are better estimated from the total: their own
    score is the total with more noise. Printing it as a profile of strengths invites reading noise.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        An item that a respondent lacks is left out for all.
    labels : sequence of hashable, shape (items,)
        Each item's type.
    level : float, default 0.95
        Confidence level of the gain.

    Returns
    -------
    tuple of Subscore
        There is one entry for each type, in the order of first appearance. The status is
        `insufficient` for fewer than 4 respondents, fewer than 2 types or fewer than 2 items of the
        type; `degenerate` when a type's scores do not vary, or vary less than their noise.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
    Reliability is Cronbach's alpha of the type's items (a lower bound: types of mixed content are
    judged strictly).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=(200, 2))[:, [0] * 30 + [1] * 30]
    >>> result = subscore_value((rng.random((200, 60)) < 1 / (1 + np.exp(-ability))).astype(float),
    ...     ["a"] * 30 + ["b"] * 30)
    >>> [(kind.name, kind.adds) for kind in result]
    [('a', True), ('b', True)]
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or len(labels) != x.shape[1]:
        raise ValueError(
            f"scores (respondents, items) and one label an item are needed, got {x.shape},"
            f" {len(labels)}"
        )
    names = list(dict.fromkeys(labels))
    if len(x):
        usable = np.isfinite(x).all(axis=0)
    else:
        usable = np.zeros(x.shape[1], dtype=bool)
    members = []
    for name in names:
        has_type = np.array([label == name for label in labels], dtype=bool)
        members.append(np.flatnonzero(usable & has_type))
    n = len(x)

    def absent(i: int, status: Status, reason: str) -> Subscore:
        gain = Coefficient.absent(status, reason, n)
        return Subscore(
            str(names[i]),
            len(members[i]),
            math.nan,
            math.nan,
            gain,
            False,
            False,
            status=status,
            reason=reason,
        )

    if n < 4 or len(names) < 2:
        reason = (
            f"a subscore's value needs 4 respondents and 2 types, there are {n} and {len(names)}"
        )
        return tuple(absent(i, "insufficient", reason) for i in range(len(names)))
    sums = np.stack([x[:, m].sum(axis=1) for m in members], axis=1)
    squares = [(x[:, m].sum(axis=0), (x[:, m] ** 2).sum(axis=0)) for m in members]
    estimates = _type_prmse(
        # leaving a respondent out subtracts from sums and squares, which spares the items'
        # variances
        sums,
        np.array([_item_variance_sum(s, q, n) for s, q in squares]),
        members,
    )
    replicates = np.full((n, len(names), 2), np.nan)
    for m in range(n):
        item_variances = [
            _item_variance_sum(s - x[m, k], q - x[m, k] ** 2, n - 1)
            for (s, q), k in zip(squares, members, strict=True)
        ]
        replicates[m] = _type_prmse(np.delete(sums, m, axis=0), np.array(item_variances), members)

    z = normal_quantile(level)
    subscores = []
    for i, name in enumerate(names):
        if len(members[i]) < 2:
            subscores.append(
                absent(
                    i,
                    "insufficient",
                    f"a subscore needs 2 items without a gap, there are {len(members[i])}",
                )
            )
            continue
        by_sub, by_total = (float(v) for v in estimates[i])
        if math.isnan(by_sub) or math.isnan(by_total):
            reason = "the respondents' scores on this type vary no more than noise does"
            subscores.append(absent(i, "degenerate", reason))
            continue
        value = by_sub - by_total
        gain_replicates = replicates[:, i, 0] - replicates[:, i, 1]
        low = high = math.nan
        if np.isfinite(gain_replicates).all():
            half_width = z * jackknife_standard_error(gain_replicates)
            low = value - half_width
            high = value + half_width
        gain = Coefficient(value, low, high, n, level, "jackknife over respondents")
        subscores.append(
            Subscore(str(name), len(members[i]), by_sub, by_total, gain, value > 0, low > 0)
        )
    return tuple(subscores)


def _item_variance_sum(sums: Array, squares: Array, n: int) -> float:
    """Sum of the items' sample variances, from their sums."""
    return float(((squares - sums**2 / n) / (n - 1)).sum())


def _type_prmse(sums: Array, item_variances: Array, members: Sequence[Indices]) -> Array:
    """Haberman's two reductions of every type, from (respondents, types) sums of item scores and
    each type's sum of item variances.
    """
    c = np.cov(sums, rowvar=False)
    size = np.array([len(m) for m in members], dtype=np.float64)
    variance = np.diag(c)
    # Cronbach's alpha; a type that does not vary between respondents has none
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha = np.where(variance > 1e-12, size / (size - 1) * (1 - item_variances / variance), 0.0)
    return np.array(prmse(c, alpha))
