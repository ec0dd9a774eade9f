"""Criterion validity: do the benchmark's scores agree with people's judgement of the same
answers?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from hqm.psychometrics.consistency import relative_error
from hqm.psychometrics.correlation import pearson
from hqm.psychometrics.families import (
    Influence,
    Relatives,
    leave_one_out,
    never_narrower,
    stretched,
)
from hqm.psychometrics.resampling import FEWEST, jackknife_error, labels_of, left_out_bounds
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Bounds,
    Coefficient,
    Flags,
    Labels,
    Numbers,
    Outcome,
    is_constant,
    normal_quantile,
    shaped,
    shaped_alike,
)
from hqm.psychometrics.significance import holm
from hqm.psychometrics.variance_components import linear_bounds


@dataclass(frozen=True, slots=True)
class CriterionValidity:
    """How the automatic scores of respondents agree with human ones.

    - `full`: Pearson's correlation of the automatic score over all items with the human score over
      the labelled items.
    - `same`: The same with both scores over the labelled items.
    - `disattenuated`: What `full` would be without the sampling error of the items, beside its
      `raw` value where it was cut at 1.
    - `ceiling`: The largest `full` that the two reliabilities allow: sqrt(rel_A rel_H).
    - `reliability_automatic, reliability_human`: Generalizability over items of both scores.
    - `influence`: `full` without each respondent in turn.
    - `n_labelled, n_cells`: labelled items a respondent (their mean where respondents have other
      items), and pairs of an automatic score and a label that were used.
    - `residual_human, true_human`: Variance of a human item score within, and of human scores
      between respondents; `labels_needed` uses them.
    """

    full: Coefficient
    same: Coefficient
    disattenuated: Coefficient
    ceiling: float
    reliability_automatic: float
    reliability_human: float
    influence: Influence
    n: int
    n_items: int
    n_labelled: int
    residual_human: float = math.nan
    true_human: float = math.nan
    flags: tuple[str, ...] = ()
    n_cells: int = 0


def criterion_validity(
    automatic: ArrayLike,
    human: ArrayLike,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    n_eff: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> CriterionValidity:
    """Agreement of automatic and human scores over respondents: raw, at its ceiling, and without
    attenuation.

    Over the same labelled items the luck of these items flatters; with the full automatic score the
    few labels weaken. The third value takes the items' sampling error out of both and the shared
    error out of the covariance:

        (s_AH - c_AH) / sqrt((s2_A - v_A)(s2_H - v_H)),   v_A = MS_A / n,   v_H = MS_H / h,
        c_AH = MP_AH / n

    with MS and MP residual mean squares and products, summed within pictures (`relative_error`).
    For these respondents every cluster of items is left out; for others Pearson's lower end is
    stretched as the value is.

    Spearman (1904). American Journal of Psychology, 15, 72-101; Zimmerman and Williams (1977).
    BJMSP, 30, 135-147.

    - `automatic`: (respondents, items): NaN items are left out for all.
    - `human`: The same shape: NaN where no person judged; a random sample. Other items for each
      respondent count as error.
    - `weights`: The same shape: 1 / probability of being labelled; human means are then Hajek's.
    - `clusters`: (items,): labels of what items share.
    - `families, n_eff`: (respondents,): labels of relatives, and how many respondents are
      independent.

    A part is `insufficient` below 3 respondents, 2 items or 2 labelled pictures; `degenerate` where
    a score is all sampling error. Flags:
    `ATTENUATION` (human reliability below .95), `DOMINANT_MODEL`, `CAPPED`.

    >>> rng = np.random.default_rng(0)
    >>> human = (rng.uniform(size=(12, 400)) < np.linspace(0.2, 0.9, 12)[:, None]).astype(float)
    >>> judge = np.where(rng.uniform(size=human.shape) < 0.9, human, 1 - human)
    >>> human[:, 60:] = np.nan
    >>> result = criterion_validity(judge, human)
    >>> result.full.value < result.disattenuated.value, result.n_labelled
    (True, 60)
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    known = np.isfinite(a).all(axis=0)
    labels = labels_of(clusters, a.shape[1])[known]
    a, h = a[:, known], h[:, known]
    relatives = Relatives(tuple(families), n_eff)
    labelled: Flags = np.asarray(np.isfinite(h).all(axis=0))
    paired = np.isfinite(h)
    if weights is not None or (paired != labelled).any():
        w = np.ones(h.shape) if weights is None else np.asarray(weights, dtype=np.float64)[:, known]
        return _own_items(a, h, np.where(paired, w, 0.0), labels, relatives, level)
    m, n, size = a.shape[0], a.shape[1], int(labelled.sum())
    if m < 3 or n < 2 or len(np.unique(labels[labelled])) < 2:
        return _none(
            "criterion validity needs 3 respondents and 2 items that are scored and labelled for"
            f" all of them, there are {m} respondents, {n} scored and {size} labelled items",
            m,
            n,
            size,
        )
    part, judged = a[:, labelled], h[:, labelled]
    moments = _moments(a, judged, labels, labelled)
    return _study(moments, part.mean(axis=1), (m, n, size, m * size), relatives, level)


def _none(reason: str, m: int, n: int, size: int) -> CriterionValidity:
    none, nan = Coefficient.absent("insufficient", reason, m), math.nan
    return CriterionValidity(
        none,
        none,
        none,
        nan,
        nan,
        nan,
        Influence(nan, status="insufficient", reason=reason),
        m,
        n,
        size,
    )


def _study(
    moments: _Moments,
    same_items: Array,
    counts: tuple[int, int, int, int],
    relatives: Relatives,
    level: float,
) -> CriterionValidity:
    """The study of scores whose error variances are known; `counts` are respondents, items, labels
    of each, and pairs.
    """
    m, n, size, cells = counts
    x, y = moments.x[:, -1], moments.y[:, -1]
    related: dict[str, Any] = {"families": relatives.families, "n_effective": relatives.independent}
    full = replace(pearson(x, y, level=level, **related), n_items=n)
    influence = leave_one_out(lambda i: _plain(x[i], y[i]), m, scores=x)
    if full.status == "ok":
        full = never_narrower(
            replace(full, fixed=left_out_bounds(full.value, moments.correlations(), level=level))
        )
    s_a, s_h = float(x.var(ddof=1)), float(y.var(ddof=1))
    rel_a, rel_h = (
        1 - v / s if s > 1e-15 else math.nan for s, v in ((s_a, moments.v_a), (s_h, moments.v_h))
    )
    corrected = _disattenuated(moments, full, level)
    flags = tuple(influence.flags) + corrected.flags
    if math.isfinite(rel_h) and rel_h < 0.95:
        flags = ("ATTENUATION", *flags)
    ceiling = (
        math.sqrt(max(0.0, rel_a) * max(0.0, rel_h)) if math.isfinite(rel_a + rel_h) else math.nan
    )
    same = replace(pearson(same_items, y, level=level, **related), n_items=size)
    return CriterionValidity(
        full,
        same,
        corrected,
        ceiling,
        rel_a,
        rel_h,
        influence,
        m,
        n,
        size,
        moments.v_h * size,
        s_h - moments.v_h,
        flags,
        cells,
    )


def _own_items(
    a: Array,
    h: Array,
    w: Array,
    labels: Labels,
    relatives: Relatives,
    level: float,
) -> CriterionValidity:
    """The study where respondents have other labelled items, or labels other weights: what is
    paired is used.
    """
    names, number = np.unique(labels, return_inverse=True)
    count = len(names)

    def by_cluster(values: Array) -> Array:
        return np.array(
            [np.bincount(number, weights=row, minlength=count) for row in values]
        ).reshape(len(values), count)

    enough = (by_cluster(w) > 0).sum(axis=1) >= 2
    a, h, w, relatives = a[enough], h[enough], w[enough], relatives.of(enough)
    m, n, cells = a.shape[0], a.shape[1], int((w > 0).sum())
    size = round(cells / m) if m else 0
    if m < 3:
        return _none(
            "criterion validity needs 3 respondents with labels on two pictures each, "
            f"there are {m}, with {n} items that are scored for all of them",
            m,
            n,
            size,
        )
    share = w / w.sum(axis=1, keepdims=True)
    human = np.nan_to_num(h)  # without a label, and so without weight
    means = (share * human).sum(axis=1, keepdims=True)
    errors = by_cluster(share * (human - means))
    pictures = (by_cluster(w) > 0).sum(axis=1)
    unbiased = pictures / (pictures - 1)
    automatic = relative_error(a, number)
    v_a = automatic.factor * float((automatic.residuals**2).sum(axis=1).mean()) / n**2
    v_h = float((unbiased * (errors**2).sum(axis=1)).mean())
    shared = float((unbiased * (automatic.residuals / n * errors).sum(axis=1)).mean())
    x = (automatic.sums.sum(axis=1, keepdims=True) - automatic.sums) / (n - automatic.sizes)
    sums, weights = by_cluster(w * human), by_cluster(w)
    y = (sums.sum(axis=1, keepdims=True) - sums) / (weights.sum(axis=1, keepdims=True) - weights)
    moments = _Moments(
        np.hstack([x, a.mean(axis=1, keepdims=True)]), np.hstack([y, means]), v_a, v_h, shared
    )
    return _study(
        moments,
        (share * a).sum(axis=1),
        (m, n, size, cells),
        relatives,
        level,
    )


def _plain(x: Array, y: Array) -> float:
    return math.nan if is_constant(x) or is_constant(y) else float(np.corrcoef(x, y)[0, 1])


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Scores of respondents with each cluster left out (the last column: with none), and the error
    variances of scores.

    `shared` is the error that both scores have in common, because the labelled items are among
    those scored.
    """

    x: Array
    y: Array
    v_a: float
    v_h: float
    shared: float

    def correlations(self) -> Array:
        """(clusters,): Pearson's correlation with each cluster left out."""
        return self._over(0.0, 0.0, 0.0)[:-1]

    def disattenuated(self) -> Array:
        """(clusters + 1,): the corrected correlation; NaN where a true variance is not positive."""
        return self._over(self.v_a, self.v_h, self.shared)

    def _over(self, v_a: float, v_h: float, shared: float) -> Array:
        return _corrected(self.x, self.y, v_a, v_h, shared)


def _corrected(x: Array, y: Array, v_a: float, v_h: float, shared: float) -> Array:
    """Correlations of (respondents, sets) scores, the error variances and the shared error taken
    off.
    """
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    s_a, s_h, s_ah = ((u * v).sum(axis=0) / (len(x) - 1) for u, v in ((x, x), (y, y), (x, y)))
    product = np.where((s_a > v_a) & (s_h > v_h), (s_a - v_a) * (s_h - v_h), np.nan)
    return np.asarray((s_ah - shared) / np.sqrt(product))


def _moments(a: Array, judged: Array, labels: Labels, labelled: Flags) -> _Moments:
    number = np.unique(labels, return_inverse=True)[1]
    automatic, human = relative_error(a, number), relative_error(judged, number[labelled])
    where = np.unique(number[labelled])
    n, size = a.shape[1], judged.shape[1]
    v_a = automatic.factor * float((automatic.residuals**2).sum(axis=1).mean()) / n**2
    v_h = human.factor * float((human.residuals**2).sum(axis=1).mean()) / size**2
    # a labelled picture's other items share its error; the products have as many degrees of freedom
    # as labelled pictures
    count, many = len(where), automatic.sums.shape[1]
    unbiased = math.sqrt(count / (count - 1) * (many - 1) / many)
    product = unbiased * float((automatic.residuals[:, where] * human.residuals).sum(axis=1).mean())
    sums, sizes = np.zeros((2, *automatic.sums.shape))
    sums[:, where], sizes[:, where] = human.sums, human.sizes
    x = (automatic.sums.sum(axis=1, keepdims=True) - automatic.sums) / (n - automatic.sizes)
    y = (sums.sum(axis=1, keepdims=True) - sums) / (size - sizes)
    every = a.mean(axis=1, keepdims=True), judged.mean(axis=1, keepdims=True)
    return _Moments(
        np.hstack([x, every[0]]),
        np.hstack([y, every[1]]),
        v_a,
        v_h,
        automatic.factor * product / (n * size),
    )


def _disattenuated(moments: _Moments, full: Coefficient, level: float) -> Coefficient:
    if full.status != "ok":
        return full
    values = moments.disattenuated()
    value, m = float(values[-1]), full.n
    if not math.isfinite(value):
        return Coefficient.absent(
            "degenerate",
            "a score varies no more between respondents than its items' sampling error: nothing"
            " true is left",
            m,
        )
    over = abs(value) > 1
    bare = Coefficient(
        math.copysign(1.0, value) if over else value,
        n=m,
        level=level,
        raw=value if over else math.nan,
        fixed=linear_bounds(value, values[:-1], level) if m >= FEWEST else None,
        flags=("CAPPED",) if over else (),
        n_items=full.n_items,
    )
    return stretched(bare, full)


def labels_needed(target: float, residual: float, true: float) -> float:
    """How many labelled items give human scores a reliability of `target`: h = t / (1 - t) residual
    / true.

    - `residual, true`: Variance of a human item score within respondents, and of true human scores
      between them.

    The number is not rounded, and infinite where the respondents do not differ.
    >>> round(labels_needed(0.9, 0.2, 0.02))
    90
    """
    if not 0 < target < 1:
        raise ValueError(f"the target lies between 0 and 1, got {target}")
    return target / (1 - target) * residual / true if true > 0 else math.inf


_GROUPS = 100
_MOST = 20_000
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class AnswerCorrelations:
    """Correlations over answers, each with its interval over pictures (`fixed`)."""

    pearson: Coefficient
    spearman: Coefficient
    tau_b: Coefficient


def answer_correlations(
    automatic: ArrayLike,
    human: ArrayLike,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> AnswerCorrelations:
    """Pearson's, Spearman's and Kendall's correlation (tau-b) over single answers, as FaithScore
    and Hal-Eval print them.

    Answers about one picture are not independent: pictures are left out, one by one or in 100
    groups, and the spread of the correlation on Fisher's scale makes the interval, by Student's
    distribution. Differences between respondents' means count in it: with many respondents it is no
    measure of agreement within one.

    - `automatic, human`: (answers,): NaN where there is none. `clusters`: (answers,): the picture
      of each.
    - `weights`: (answers,): 1 / probability of being labelled; ranks and pairs are weighted too.

    `insufficient` below 3 pairs; no interval below 4 pictures; `degenerate` where one side does not
    vary.

    >>> study = answer_correlations([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
    >>> round(study.pearson.value, 2), round(study.spearman.value, 2), round(study.tau_b.value, 2)
    (0.9, 0.9, 0.8)
    """
    a, h = shaped_alike(automatic, human, "answers")
    w = np.ones(len(a)) if weights is None else shaped_alike(a, weights, "answers")[1]
    labels = labels_of(clusters, len(a))
    both: Flags = np.isfinite(a) & np.isfinite(h) & np.isfinite(w)
    a, h, w, labels = a[both], h[both], w[both], labels[both]
    n = len(a)
    if n < 3 or n > _MOST:
        reason = (
            f"a correlation over answers is made of 3 to {_MOST:,} labelled answers, there are"
            f" {n:,}"
        )
        none = Coefficient.absent("insufficient", reason, n)
        return AnswerCorrelations(none, none, none)
    if np.ptp(a) <= 1e-12 or np.ptp(h) <= 1e-12:
        none = Coefficient.absent(
            "degenerate", "all labelled answers have one score, or one label", n
        )
        return AnswerCorrelations(none, none, none)
    values = _with_left_out(a, h, w, labels)
    return AnswerCorrelations(*(_with_interval(value, left, n, level) for value, left in values))


def _with_left_out(a: Array, h: Array, w: Array, labels: Labels) -> list[tuple[float, Array]]:
    """Pearson's, Spearman's and Kendall's correlation, each with its values where pictures are left
    out.
    """
    _, member = np.unique(labels, return_inverse=True)
    pictures = int(member.max()) + 1
    groups = min(pictures, _GROUPS)
    group = member * groups // pictures
    masks = [group != g for g in range(groups)] if groups >= _FEWEST else []

    def over(statistic: Callable[[Array, Array, Array], float]) -> tuple[float, Array]:
        left = [statistic(a[included], h[included], w[included]) for included in masks]
        return statistic(a, h, w), np.array(left)

    ranked = over(lambda x, y, v: _pearson(_ranks(x, v), _ranks(y, v), v))
    return [over(_pearson), ranked, _kendall(a, h, w, group, groups)]


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """How much closer to people one metric is than another, by one correlation; `p` by Holm over
    all pairs of this correlation.
    """

    statistic: str
    first: str
    other: str
    difference: Coefficient
    p: float


@dataclass(frozen=True, slots=True)
class MetricsBesidePeople(Outcome):
    """Several metrics' correlations with people over the same answers, and their differences."""

    correlations: Mapping[str, AnswerCorrelations]
    differences: tuple[MetricDifference, ...] = ()
    n: int = 0
    pictures: int = 0


def metrics_beside_people(
    metrics: Mapping[str, ArrayLike],
    human: ArrayLike,
    clusters: ArrayLike | None = None,
) -> MetricsBesidePeople:
    """Which of several metrics follows people best over single answers.

        z = atanh r_1 - atanh r_2,    t = z / SE(z) with pictures left out, G - 1 degrees of freedom

    The correlations share people's labels and the answers, so that their difference is tested, and
    intervals are not laid side by side. Answers that a metric lacks are left out for all. Steiger,
    J. H. (1980). Psychological Bulletin, 87, 245-251 (one correlation, answers independent).

    - `metrics`: Name -> (answers,). `human`: (answers,). `clusters`: (answers,): the picture of
      each.

    The status is `insufficient` below 3 answers that all have, as in `answer_correlations`.

    >>> good, bad = [1, 2, 3, 4, 6, 5], [3, 6, 1, 5, 2, 4]
    >>> study = metrics_beside_people({"good": good, "bad": bad}, [1, 2, 3, 4, 5, 6])
    >>> study.differences[0].first, round(study.differences[0].difference.value, 2)
    ('good', 1.03)
    """
    h = shaped(human, "answers")
    columns = {name: shaped_alike(values, h, "answers")[0] for name, values in metrics.items()}
    both = np.isfinite(np.stack([h, *columns.values()])).all(axis=0)
    labels = labels_of(clusters, len(h))[both]
    shared = {name: values[both] for name, values in columns.items()}
    h, w = h[both], np.ones(int(both.sum()))
    made = {name: answer_correlations(values, h, labels) for name, values in shared.items()}
    pictures = len(np.unique(labels))
    lacking = next((c.pearson for c in made.values() if c.pearson.status != "ok"), None)
    if lacking is not None:
        return MetricsBesidePeople(
            made, (), len(h), pictures, status=lacking.status, reason=lacking.reason
        )
    left = {name: _with_left_out(values, h, w, labels) for name, values in shared.items()}
    rows: list[MetricDifference] = []
    for k, statistic in enumerate(("pearson", "spearman", "tau_b")):
        order = sorted(left, key=lambda name: -left[name][k][0])
        pairs = [
            _closer_by(statistic, first, other, left[first][k], left[other][k])
            for first, other in combinations(order, 2)
        ]
        adjusted = holm([pair.p for pair in pairs]).tolist()
        rows += [replace(pair, p=p) for pair, p in zip(pairs, adjusted, strict=True)]
    return MetricsBesidePeople(made, tuple(rows), len(h), pictures)


def _closer_by(
    statistic: str,
    first: str,
    other: str,
    near: tuple[float, Array],
    far: tuple[float, Array],
) -> MetricDifference:
    """The difference of two correlations with its test on Fisher's scale."""
    value, groups = near[0] - far[0], len(near[1])
    ends = np.clip(np.array([near[0], far[0]]), -1 + 1e-12, 1 - 1e-12)
    left = [np.arctanh(np.clip(each[1], -1 + 1e-12, 1 - 1e-12)) for each in (near, far)]
    apart = left[0] - left[1]
    error = jackknife_error(apart) if groups >= _FEWEST and np.isfinite(apart).all() else 0.0
    if error == 0:
        return MetricDifference(statistic, first, other, Coefficient(value), math.nan)
    z = float(np.arctanh(ends[0]) - np.arctanh(ends[1]))
    spread = jackknife_error(near[1] - far[1])
    half = float(stdtrit(groups - 1, 0.975)) * spread
    p = 2 * float(stdtr(groups - 1, -abs(z) / error))
    bounds = Coefficient(value, value - half, value + half, method="pictures left out")
    return MetricDifference(statistic, first, other, bounds, p)


def _pearson(x: Array, y: Array, w: Array) -> float:
    x, y = x - np.average(x, weights=w), y - np.average(y, weights=w)
    squares = float((w * x * x).sum()) * float((w * y * y).sum())
    return (
        float(np.clip(float((w * x * y).sum()) / math.sqrt(squares), -1, 1))
        if squares > 1e-24
        else math.nan
    )


def _ranks(x: Array, w: Array) -> Array:
    """Ranks in the middle of each value's weight."""
    _, member = np.unique(x, return_inverse=True)
    weight = np.bincount(member, weights=w)
    return np.asarray((np.cumsum(weight) - weight / 2)[member])


def _kendall(a: Array, h: Array, w: Array, group: Numbers, groups: int) -> tuple[float, Array]:
    """tau-b, and tau-b with each group left out, from sums over pairs of groups."""
    onto = np.zeros((len(a), groups))
    onto[np.arange(len(a)), group] = w
    blocks = np.zeros((3, groups, groups))
    rows = 4_000_000 // len(a)
    for start in range(0, len(a), rows):
        part = slice(start, start + rows)
        x, y = np.sign(a[part, None] - a), np.sign(h[part, None] - h)
        for k, product in enumerate((x * y, x * x, y * y)):
            blocks[k] += onto[part].T @ (product @ onto)
    whole = blocks.sum(axis=(1, 2))
    without = (
        whole[:, None]
        - blocks.sum(axis=1)
        - blocks.sum(axis=2)
        + np.diagonal(blocks, axis1=1, axis2=2)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        taus = without[0] / np.sqrt(without[1] * without[2])
    return float(whole[0] / math.sqrt(whole[1] * whole[2])), np.asarray(taus)


def _with_interval(value: float, without: Array, n: int, level: float) -> Coefficient:
    groups = len(without)
    if not math.isfinite(value):
        return Coefficient.absent("degenerate", "scores or labels hardly vary", n)
    if groups < _FEWEST or not np.isfinite(without).all() or abs(value) >= 1:
        return Coefficient(value, level=level)
    z = np.arctanh(np.clip(without, -1 + 1e-12, 1 - 1e-12))
    half = float(stdtrit(groups - 1, 0.5 + level / 2)) * jackknife_error(z)
    centre = math.atanh(value)
    ends = Bounds(math.tanh(centre - half), math.tanh(centre + half), "pictures left out", level)
    return Coefficient(value, level=level, fixed=ends)


def with_raters(coefficient: Coefficient, replicates: ArrayLike) -> Coefficient:
    """A coefficient whose intervals also hold what the raters' own errors do to it.

        half^2 = half^2 over items + (z sd)^2,     sd: of the values that `rater_replicates` give

    - `replicates`: (replicates,): the coefficient with other raters; those that are NaN are left
      out.
    """
    values = np.asarray(replicates, dtype=np.float64)
    values = values[np.isfinite(values)]
    if coefficient.status != "ok" or len(values) < 20 or not float(values.std()) > 0:
        return coefficient
    value, bounds = coefficient.value, coefficient.fixed
    extra = normal_quantile(coefficient.level) * float(values.std(ddof=1))

    def wider(low: float, high: float) -> tuple[float, float]:
        far = value + math.hypot(high - value, extra)
        # an open end stays open
        above = min(1.0, far) if math.isfinite(high) else high
        return max(-1.0, value - math.hypot(value - low, extra)), above

    low, high = coefficient.low, coefficient.high
    if math.isfinite(low):
        low, high = wider(low, high)
    fixed = None
    if bounds is not None:
        fixed = Bounds(
            *wider(bounds.low, bounds.high), f"{bounds.method}, raters' errors", bounds.level
        )
    return replace(coefficient, low=low, high=high, fixed=fixed)
