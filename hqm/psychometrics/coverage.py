"""Which hallucination types a benchmark measures, and which it only names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hqm.psychometrics.resampling import jackknife_error
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Outcome,
    Places,
    Status,
    normal_quantile,
)

_FORECAST = "rate .5, independent items"
FEWEST_CLUSTERS = 10
"""Below so many pictures a type's error cannot be told from its answers; the number of items
forecasts it.
"""

State = Literal["measurable", "labelled, not measurable", "claimed, no evidence", "absent"]


@dataclass(frozen=True, slots=True)
class TypeCoverage:
    """One type of the taxonomy.

    - `items, images, wordings`: Items labelled with it, distinct pictures and distinct questions
      (letter case, spaces and punctuation apart).
    - `share`: Share of all labels.
    - `sem`: Standard error of a respondent's score on this type, over other items of the kind.
    - `sem_high`: Its one-sided 95 % upper end, which decides; of a forecast, which is the worst
      case, the error itself.
    - `measured`: Whether that error is of answers, and no forecast from the number of items.
    - `missing_items`: How many more items the type needs to be measurable, by the root-n law.
    - `state`: `measurable`; `labelled, not measurable` (the error is too large); `claimed, no
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

    - `index`: Share of the taxonomy's types that are measurable.
    - `evenness, effective`: Entropy over ln of the number of types, and exp(entropy).
    - `unlabelled`: Items without a label.
    """

    types: tuple[TypeCoverage, ...]
    index: Coefficient
    evenness: Coefficient
    effective: Coefficient
    n_items: int
    n_min: int
    unlabelled: int


def items_for_error(sem: float, rate: float = 0.5) -> int:
    """How many independent items give a score this standard error: n = p (1 - p) / sem^2.

    - `sem, rate`: The standard error, and the expected score p, of which .5 is the worst case.

    >>> items_for_error(0.03)
    278
    """
    if not sem > 0 or not 0 <= rate <= 1:
        raise ValueError(
            f"a positive error and a rate between 0 and 1 are needed, got {sem}, {rate}"
        )
    return math.ceil(rate * (1 - rate) / sem**2 - 1e-9)


def type_coverage(
    labels: Sequence[str | Collection[str] | None],
    taxonomy: Sequence[str],
    *,
    images: Sequence[Hashable] | None = None,
    questions: Sequence[str] | None = None,
    claimed: Collection[str] = (),
    scores: ArrayLike | None = None,
    errors: Mapping[str, ErrorOfType] | None = None,
    sem: float = 0.03,
    n_min: int | None = None,
) -> Coverage:
    """How many items, pictures and wordings stand behind every type, and whether that measures it.

    A type that a paper names but no item carries counts 0. A type is measurable when the standard
    error of its score, in these answers, is at most `sem` at its upper end. Without answers the
    number of items forecasts it: a dozen items have an error of .14. Five hundred copies of one
    sentence are one wording.

        index = #(types with error <= sem) / |T|        H = -sum p ln p,   evenness = H / ln |T|,
        effective = exp(H)

    - `labels`: (items,): a type, several types, or None.
    - `taxonomy`: The types asked for, distinct.
    - `images, questions`: (items,): what each item shows and asks. Items of one picture count as
      one cluster in the standard error.
    - `claimed`: Types the benchmark says it covers.
    - `scores`: (respondents, items), binary or between 0 and 1: the standard error is then that of
      these respondents, root mean square over them; else it is that of a rate of .5 with
      independent items. A respondent with fewer than five right or wrong answers of a type counts
      with Agresti and Coull's error where that is larger (1998, The American Statistician, 52,
      119-126): the plain one is 0 when all are right.
    - `errors`: Type -> its standard error in these answers and the upper end of that, where its
      score is no mean of item scores (`error_of_parts`).
    - `sem`: The standard error that makes a type measurable; `n_min` is a number of items in its
      place.

    The index is 0 when nothing is labelled (claims are no evidence); evenness and its relatives are
    then `insufficient`.

    >>> result = type_coverage(["color"] * 300 + ["count"] * 12, ["color", "count", "text"],
    ...     claimed=["text"])
    >>> [kind.state for kind in result.types]
    ['measurable', 'labelled, not measurable', 'claimed, no evidence']
    >>> round(result.index.value, 3), round(result.types[1].sem, 2), result.types[1].missing_items
    (0.333, 0.14, 266)
    """
    count, names = len(labels), list(taxonomy)
    if len(set(names)) < len(names) or not names:
        raise ValueError("the taxonomy must have types, each once")
    for what, column in (("pictures", images), ("questions", questions)):
        if column is not None and len(column) != count:
            raise ValueError(f"{count} items have {len(column)} {what}")
    x = None if scores is None else np.asarray(scores, dtype=np.float64)
    if x is not None and (x.ndim != 2 or x.shape[1] != count):
        raise ValueError(f"scores must have shape (respondents, {count}), got {x.shape}")
    least = items_for_error(sem) if n_min is None else n_min
    of_item = [_set(label) for label in labels]
    asked = [normal(question) for question in questions] if questions is not None else None
    total = sum(len(types) for types in of_item)
    rows = []
    for name in names:
        members = [i for i, types in enumerate(of_item) if name in types]
        n = len(members)
        error = _error(x, members, images)
        if errors and n and name in errors:
            error = errors[name]
        method = error.method
        measured = n > 0 and method != _FORECAST and n_min is None
        missing = (
            max(0, math.ceil(n * (error.high / sem) ** 2 - 1e-9) - n)
            if measured
            else max(0, least - n)
        )
        state: State = "measurable" if missing == 0 else "labelled, not measurable"
        if n == 0:
            state = "claimed, no evidence" if name in claimed else "absent"
        rows.append(
            TypeCoverage(
                name,
                n,
                len({images[i] for i in members}) if images is not None else n,
                len({asked[i] for i in members}) if asked is not None else n,
                n / total if total else 0.0,
                error.value,
                error.high,
                missing,
                state,
                measured,
            )
        )
    index = Coefficient(sum(row.state == "measurable" for row in rows) / len(rows), n=count)
    unlabelled = sum(not types for types in of_item)
    evenness, effective = _indices(rows, count)
    return Coverage(
        tuple(rows),
        index,
        evenness,
        effective,
        count,
        least,
        unlabelled,
        status=effective.status,
        reason=effective.reason,
    )


def normal(text: str) -> str:
    """A question without letter case, punctuation and spare spaces, so that equal wordings are
    equal.

    >>> normal("Is  the sky sunny?") == normal("is the sky sunny")
    True
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def _set(label: str | Collection[str] | None) -> frozenset[str]:
    if label is None:
        return frozenset()
    return frozenset([label]) if isinstance(label, str) else frozenset(label)


@dataclass(frozen=True, slots=True)
class ErrorOfType:
    """A standard error, its one-sided 95 % upper end, and how it was computed."""

    value: float
    high: float
    method: str


def error_of_parts(parts: ArrayLike, method: str, *, squared: float | None = None) -> ErrorOfType:
    """A standard error from what each cluster adds to its square, with the upper end of it.

        SE^2 = sum_c q_c,   upper end: SE^2 exp(1.645 s(q) sqrt(C) / sum_c q_c)

    - `parts`: (clusters,): q. `squared`: Another SE^2, with the same relative uncertainty.

    >>> error = error_of_parts([0.0001, 0.0002, 0.0003, 0.0002], "clusters left out")
    >>> round(error.value, 4), round(error.high, 4)
    (0.0283, 0.0335)
    """
    q = np.asarray(parts, dtype=np.float64)
    total = float(q.sum())
    value = total if squared is None else squared
    relative = float(q.std(ddof=1)) * math.sqrt(len(q)) / total if len(q) > 1 and total > 0 else 0.0
    return ErrorOfType(
        math.sqrt(value), math.sqrt(value * math.exp(normal_quantile(0.9) * relative)), method
    )


def _error(x: Array | None, members: list[int], images: Sequence[Hashable] | None) -> ErrorOfType:
    """The standard error of a type's mean score, from its items' scores; the largest possible one
    where too few pictures were answered.
    """
    if not members:
        return ErrorOfType(math.nan, math.nan, "no items")
    size = math.sqrt(0.25 / len(members))
    worst = ErrorOfType(size, size, _FORECAST)
    if x is None or len(x) == 0:
        return worst
    part = x[:, members]
    seen = np.isfinite(part)
    shown: Sequence[Hashable] = [images[i] for i in members] if images is not None else members
    position = {image: c for c, image in enumerate(dict.fromkeys(shown))}
    cluster = np.array([position[image] for image in shown])

    def by_image(values: Array) -> Array:
        """(respondents, images): the sum over each image's items."""
        return np.stack(
            [np.bincount(cluster, weights=row, minlength=len(position)) for row in values]
        )

    n = by_image(seen.astype(np.float64))
    asked, clusters = n.sum(axis=1), (n > 0).sum(axis=1)
    usable = clusters >= FEWEST_CLUSTERS
    if not usable.any():
        return worst
    tally, n = by_image(np.where(seen, part, 0.0))[usable], n[usable]
    asked, clusters, total = asked[usable], clusters[usable], tally.sum(axis=1)

    # a mean is a ratio of sums over pictures; each picture's deviation from it is squared
    weight = clusters / (clusters - 1) / asked**2
    parts = (tally - (total / asked)[:, None] * n) ** 2 * weight[:, None]
    squared = parts.sum(axis=1)

    # nearly all right or wrong answers show too little of their error: then at least that of two
    # more right and two more wrong ones (Agresti and Coull 1998)
    extreme = np.minimum(total, asked - total) < 5
    shrunk = (total + 2) / (asked + 4)
    squared = np.where(extreme, np.maximum(squared, shrunk * (1 - shrunk) / (asked + 4)), squared)
    return error_of_parts(
        parts.mean(axis=0),
        "clustered by picture, root mean square over respondents",
        squared=float(squared.mean()),
    )


def _indices(rows: Sequence[TypeCoverage], count: int) -> tuple[Coefficient, Coefficient]:
    """How evenly the items are spread over the types, and how many equally frequent types would be
    spread alike; both from Shannon's entropy.
    """
    n = sum(row.items for row in rows)
    if n == 0:
        none = Coefficient.absent(
            "insufficient", "no item is labelled with a type of the taxonomy", count
        )
        return none, none
    p = np.array([row.items / n for row in rows])
    entropy = float(-(p[p > 0] * np.log(p[p > 0])).sum())
    even = Coefficient(entropy / math.log(len(p)), n=n) if len(p) > 1 else None
    return (
        even or Coefficient.absent("degenerate", "one type cannot be uneven", n),
        Coefficient(math.exp(entropy), n=n),
    )


@dataclass(frozen=True, slots=True)
class Subscore(Outcome):
    """One subscore against the total.

    - `by_subscore, by_total`: Share of the true subscore's variance that the observed subscore, or
      the observed total, explains (PRMSE).
    - `gain`: Their difference, with a jackknife interval over respondents.
    - `adds`: Whether the subscore is worth reporting: the gain is positive. `certain` when its
      whole interval is.
    """

    name: str
    items: int
    by_subscore: float
    by_total: float
    gain: Coefficient
    adds: bool
    certain: bool


def prmse(covariance: ArrayLike, reliability: ArrayLike) -> tuple[tuple[float, float], ...]:
    """Haberman's (2008) proportional reductions of mean squared error, as pairs (by subscore, by
    total).

        rel_j  and  cov(tau_j, x)^2 / (var tau_j var x),
        cov(tau_j, x) = cov(s_j, x) - var s_j (1 - rel_j)

    The total of a test is more reliable than a subscore but measures other things too. Errors of
    different subscores are taken as uncorrelated. A pair is NaN where the true subscore has no
    variance.

    - `covariance`: (subscores, subscores): observed; the total is the sum of the subscores.
    - `reliability`: (subscores,): each subscore's reliability.
    >>> [tuple(round(v, 4) for v in pair) for pair in prmse([[4, 3], [3, 9]], [0.8, 0.9])]
    [(0.8, 0.6322), (0.9, 0.8006)]
    """
    c, rel = np.asarray(covariance, dtype=np.float64), np.asarray(reliability, dtype=np.float64)
    if c.ndim != 2 or c.shape[0] != c.shape[1] or rel.shape != (len(c),):
        raise ValueError(
            f"a square covariance and one reliability each are needed, got {c.shape}, {rel.shape}"
        )
    variance, total = np.diag(c), float(c.sum())
    true = variance * rel
    shared = c.sum(axis=1) - variance * (1 - rel)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_total = np.where((true > 0) & (total > 0), shared**2 / (true * total), np.nan)
    by_sub = np.where(true > 0, rel, np.nan)
    return tuple(
        (float(a), min(1.0, float(b)) if not math.isnan(b) else math.nan)
        for a, b in zip(by_sub, by_total, strict=True)
    )


def subscore_value(
    scores: ArrayLike, labels: Sequence[Hashable], *, level: float = 0.95
) -> tuple[Subscore, ...]:
    """Whether each type's score adds to the total score.

    Types that rank the respondents as the total does are better estimated from the total: their own
    score is the total with more noise. Printing it as a profile of strengths invites reading noise.

    Reliability is Cronbach's alpha of the type's items (a lower bound: types of mixed content are
    judged strictly).

    - `scores`: (respondents, items); an item that a respondent lacks is left out for all.
    - `labels`: (items,): each item's type.
    - `level`: Confidence level of the gain.

    There is one entry for each type, in the order of first appearance. The status is `insufficient`
    for fewer than 4 respondents, fewer than 2 types or fewer than 2 items of the type; `degenerate`
    when a type's scores do not vary, or vary less than their noise.

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
    usable = np.isfinite(x).all(axis=0) if len(x) else np.zeros(x.shape[1], dtype=bool)
    members = [
        np.flatnonzero(usable & np.array([label == name for label in labels], dtype=bool))
        for name in names
    ]
    n = len(x)

    def absent(i: int, status: Status, reason: str) -> Subscore:
        none = Coefficient.absent(status, reason, n)
        return Subscore(
            str(names[i]),
            len(members[i]),
            math.nan,
            math.nan,
            none,
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
    whole = _both(sums, np.array([_within(s, q, n) for s, q in squares]), members)
    left = np.full((n, len(names), 2), np.nan)
    for m in range(n):
        within = [
            _within(s - x[m, k], q - x[m, k] ** 2, n - 1)
            for (s, q), k in zip(squares, members, strict=True)
        ]
        left[m] = _both(np.delete(sums, m, axis=0), np.array(within), members)

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
        by_sub, by_total = (float(v) for v in whole[i])
        if math.isnan(by_sub) or math.isnan(by_total):
            reason = "the respondents' scores on this type vary no more than noise does"
            subscores.append(absent(i, "degenerate", reason))
            continue
        value = by_sub - by_total
        without = left[:, i, 0] - left[:, i, 1]
        low = high = math.nan
        if np.isfinite(without).all():
            half = z * jackknife_error(without)
            low, high = value - half, value + half
        gain = Coefficient(value, low, high, n, level, "jackknife over respondents")
        subscores.append(
            Subscore(str(name), len(members[i]), by_sub, by_total, gain, value > 0, low > 0)
        )
    return tuple(subscores)


def _within(sums: Array, squares: Array, n: int) -> float:
    """Sum of the items' sample variances, from their sums."""
    return float(((squares - sums**2 / n) / (n - 1)).sum())


def _both(sums: Array, within: Array, members: Sequence[Places]) -> Array:
    """Haberman's two reductions of every type, from (respondents, types) sums of item scores and
    each type's sum of item variances.
    """
    c = np.cov(sums, rowvar=False)
    size = np.array([len(m) for m in members], dtype=np.float64)
    variance = np.diag(c)
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha = np.where(variance > 1e-12, size / (size - 1) * (1 - within / variance), 0.0)
    return np.array(prmse(c, alpha))
