"""A case: administrations cut to what they share, under one metric, with all that their indicators
look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from itertools import chain, compress
from typing import Any, TypedDict, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hqm.benchmark.adapter import Calibration
from hqm.benchmark.judge_api import parse_judge
from hqm.imports.human_labels import labelled_by
from hqm.labels.people_labels import PooledLabels, StageEvidence
from hqm.psychometrics import Coefficient, agreement_coefficients
from hqm.psychometrics.inference.resampling import label_order
from hqm.psychometrics.items.item_statistics import effective_runs, is_binary
from hqm.scoring.matrix import (
    ScoreMatrix,
    Sums,
    Units,
    align,
    reason_no_mean,
    unit_scores,
)
from hqm.scoring.metrics import Array, Metric, ratio
from hqm.types import Form, Item, finite

T = TypeVar("T")


class Dependence(TypedDict):
    """What an estimator is told of relatives among the respondents."""

    n_effective: float | None
    families: tuple[str, ...]


_BY_FACET = {
    "run": "test_retest",
    "form": "parallel_forms",
    "sight": "blindness",
    "resolution": "resolution",
}


@dataclass(frozen=True, slots=True)
class Protocol:
    """What was decided before the administrations were looked at: benchmark, data, scorer, and the
    margin if any.

    `margin` is the largest mean difference that does not matter, in score units, where one was
    declared. `rules` names the rules that made the compared forms, with their versions.
    """

    benchmark: str
    data: str
    scorer: str
    margin: float | None = None
    rules: str = ""


def _shared_property(compute: Callable[[Case], T]) -> T:
    """A property that is computed once for all families that look at the same administrations.

    `dataclasses.replace` hands `Case.cache` on, so that the copy of a case for another family has
    it too.
    """
    name = compute.__name__

    @wraps(compute)
    def value(case: Case) -> T:
        if name not in case.cache:
            case.cache[name] = compute(case)
        return cast("T", case.cache[name])

    return cast("T", property(value))


@dataclass(frozen=True)
class Case:
    """Administrations under one metric each.

    Parameters
    ----------
    family
        What the estimates' names begin with.
    facet
        The facet that differs; empty for one administration.
    matrices
        The administrations, the reference first, aligned to the same respondents and items.
    metrics
        The metric of each.
    protocol
        What stands in the signature beside them.
    deterministic
        Whether the answers were drawn without chance, so that a repetition repeats by construction.
    is_reversed
        Whether the other administrations' metric points the other way (a hallucination rate against
        a human's share of faithful answers); their scores are then reversed, and the estimates
        carry the flag `REVERSED`.
    unsampled
        The reference on all its items, where the others judged a sample of them.
    n_effective
        The number of independent respondents, where some are of one family.
    is_joint
        Whether all runs of a form are looked at together, not one pair of administrations.
    seed
        What the streams of random numbers begin from.
    families
        The family of every respondent.
    families_from_names
        Whether relatives are told from their names alone.
    repeats
        The runs of the reference form, which show how much of a difference the seeds alone make,
        and over which graded item scores are averaged.
    blind
        The reference without pictures.
    form, claimed
        The form that was asked, and the hallucination types that its card claims.
    probabilities
        (respondents, items): the probability that the answer is right, as it was drawn; NaN where
        it is not known.
    temperature
        The one temperature at which all respondents answered; None where they differ.
    raters
        Person who labelled -> (respondent, item) -> label.
    copies
        Picture -> the first name under which the same picture stands, where it stands under
        several.
    sample
        The labels of the other administration, where people gave them: their raters, and how the
        answers were chosen.
    levels
        Over what agreement with people is correlated: `model`, `answer`, `item`.
    stage
        A stage of a judge with people's labels on the units that it decides, where it is looked at
        by itself.
    calibration
        How answers become scores on the scale of the benchmark that the items are a short form of.
    cache
        What was computed of the administrations so far.
    """

    family: str
    facet: str
    matrices: tuple[ScoreMatrix, ...]
    metrics: tuple[Metric, ...]
    protocol: Protocol
    deterministic: bool = False
    is_reversed: bool = False
    unsampled: ScoreMatrix | None = None
    n_effective: float | None = None
    is_joint: bool = False
    seed: int = 0
    families: tuple[str, ...] = ()
    families_from_names: bool = False
    repeats: Case | None = None
    blind: ScoreMatrix | None = None
    form: Form | None = None
    claimed: frozenset[str] = frozenset()
    probabilities: Array | None = None
    temperature: float | None = None
    raters: Mapping[str, Mapping[tuple[str, str], float]] | None = None
    copies: Mapping[str, str] = field(default_factory=dict)
    sample: PooledLabels | None = None
    levels: tuple[str, ...] = ("model",)
    stage: StageEvidence | None = None
    calibration: Calibration | None = None
    cache: dict[str, object] = field(default_factory=dict, repr=False, compare=False)

    @property
    def first(self) -> ScoreMatrix:
        return self.matrices[0]

    @property
    def second(self) -> ScoreMatrix:
        return self.matrices[-1]

    @property
    def metric(self) -> Metric:
        return self.metrics[0]

    @_shared_property
    def mask(self) -> npt.NDArray[np.bool_]:
        """(items,): the items that the metric looks at."""
        return self.first.mask(self.metric)

    @property
    def dependence(self) -> Dependence:
        """What an estimator is told of relatives among the respondents."""
        return Dependence(n_effective=self.n_effective, families=self.families)

    @property
    def n_items(self) -> int:
        return int(self.mask.sum())

    @_shared_property
    def items(self) -> tuple[Item, ...]:
        """The items that the metric looks at."""
        return tuple(compress(self.first.items, self.mask))

    @_shared_property
    def types(self) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        """(items,): the type of each item; empty where it has none."""
        return np.array([item.type or "" for item in self.items], dtype=np.str_)

    @_shared_property
    def keys(self) -> list[str]:
        """The key of each item, as text."""
        return [str(item.target) for item in self.items]

    def names(self, rows: Iterable[int]) -> list[str]:
        """Return the respondents in these rows."""
        return [self.respondents[row] for row in rows]

    @property
    def respondents(self) -> tuple[str, ...]:
        return self.first.respondents

    @_shared_property
    def scores(self) -> Array:
        """(administrations, respondents): the scores, all oriented like the first."""
        rows = []
        for k, (matrix, metric) in enumerate(zip(self.matrices, self.metrics, strict=True)):
            # the reference is scored on all its items, the others on the sample that they judged
            row = (matrix if k else self.full_matrix).score(metric)
            # 1 - score: the other metric points the other way, on a scale from 0 to 1
            rows.append(1 - row if self.is_reversed and k else row)
        return np.stack(rows)

    @_shared_property
    def units(self) -> tuple[Units, ...]:
        """What the metrics sum, administration by administration: items, or groups of items."""
        # people's labels know neither subsets nor groups: they are looked at as the metric looks at
        # the first
        units = []
        for matrix, metric in zip(self.matrices, self.metrics, strict=True):
            view = replace(matrix, subsets=self.first.subsets, groups=self.first.groups)
            vars(view)["clusters"] = matrix.clusters  # computed before: the items are the same
            units.append(
                view.units(replace(metric, subset=self.metric.subset, group=self.metric.group))
            )
        return tuple(units)

    @property
    def clusters(self) -> npt.NDArray[np.int64]:
        """(units,): the number of each unit's cluster, 0 to C - 1."""
        return self.units[0].clusters

    @_shared_property
    def jackknife_scores(self) -> Array:
        """(administrations, respondents, clusters): the scores with each cluster of items left
        out.
        """
        rows = []
        for k, (units, metric) in enumerate(zip(self.units, self.metrics, strict=True)):
            # (respondents, clusters)
            left = leave_one_out_scores(units, metric)
            rows.append(1 - left if self.is_reversed and k else left)
        return np.stack(rows)

    @_shared_property
    def agreement_jackknife(self) -> Mapping[str, Array]:
        """Coefficient of agreement -> (clusters,): between the first and the last administration,
        each cluster left out.
        """
        # scores over a sample and over all items do not leave out the same clusters
        if self.unsampled is not None:
            return {}
        return agreement_coefficients(*self.jackknife_pair)

    @_shared_property
    def item_scores(self) -> Array:
        """(administrations, respondents, units): the metric of every single answer; NaN where it
        was not scored.
        """
        scores = np.empty((len(self.units), *self.units[0].scored.shape))
        for k, (units, metric) in enumerate(zip(self.units, self.metrics, strict=True)):
            row = unit_scores(units, metric)
            scores[k] = 1 - row if self.is_reversed and k else row
        return scores

    @property
    def first_scores(self) -> Array:
        """(respondents, units): the metric of every single answer of the reference."""
        return cast("Array", self.item_scores[0])

    @property
    def oriented(self) -> Array:
        """(respondents, units): `first_scores`, higher being better."""
        return self._orient(self.first_scores)

    def _orient(self, scores: Array) -> Array:
        if self.metric.better != "lower":
            return scores
        low, width = self.scale
        # mirrored within its scale, so that widths and errors stay
        return 2 * low + width - scores

    @property
    def scale(self) -> tuple[float, float]:
        """Where the metric's scale begins and how wide it is; 0 and 1 where it has no two ends."""
        low, high = self.metric.ends
        if low is None or high is None:
            return (0.0, 1.0)
        return (low, high - low)

    def shares(self, scores: Array) -> Array:
        """Scores of the metric as shares of its scale; unchanged where it has no two ends."""
        low, width = self.scale
        return (scores - low) / width

    @property
    def run_matrices(self) -> tuple[ScoreMatrix, ...]:
        """All runs of the same items by the same respondents, which make item scores more precise;
        else the administrations.
        """
        runs = self.repeats
        if runs is None:
            return self.matrices
        # runs of other items or respondents would give other means
        same_design = (runs.respondents, runs.n_items) == (self.respondents, self.n_items)
        if same_design:
            return runs.matrices
        return self.matrices

    @_shared_property
    def effective_runs(self) -> float:
        """For how many independent answers a mean of right and wrong answers over `run_matrices`
        counts; 1 for graded scores, whose correlations need no such number.
        """
        if self.repeats is None or self.run_matrices is self.matrices:
            return 1.0
        if not is_binary(self.first_scores):
            return 1.0
        return effective_runs(self.repeats.item_scores)

    @_shared_property
    def run_means(self) -> Array:
        """(respondents, units): the mean of each item score over `run_matrices`, higher being
        better.
        """
        if self.repeats is None or self.run_matrices is self.matrices:
            return self.oriented
        scores = self.repeats.item_scores
        counts = np.isfinite(scores).sum(axis=0)
        # an answer that no run scored stays NaN
        return self._orient(ratio(np.nansum(scores, axis=0), counts))

    @property
    def full_matrix(self) -> ScoreMatrix:
        """The reference on all its items, also where the others judged a sample of them."""
        if self.unsampled is None:
            return self.first
        return self.unsampled

    @property
    def jackknife_pair(self) -> tuple[Array, Array]:
        """The leave-one-out scores of two administrations."""
        first, second = self.jackknife_scores
        return first, second

    @_shared_property
    def reason_no_mean(self) -> str:
        """Why the score is no mean of item scores (a ratio such as F1); empty where it is one."""
        return reason_no_mean(self.units[0], self.metric)

    @property
    def additive(self) -> bool:
        """Whether the score is a mean of item scores, whatever their range."""
        return not self.reason_no_mean

    @_shared_property
    def unscored(self) -> int:
        """How many answers the metrics could not score."""
        # what nobody labelled is no answer that could not be scored
        if self.sample is not None:
            counted = self.matrices[:1]
        else:
            counted = self.matrices
        pairs = zip(counted, self.metrics, strict=False)
        return sum(matrix.unscored(metric) for matrix, metric in pairs)

    @_shared_property
    def withheld(self) -> int:
        """How many withheld answers the metrics score all the same, as the release does."""
        pairs = zip(self.matrices, self.metrics, strict=True)
        return sum(int(matrix.withheld[:, matrix.mask(metric)].sum()) for matrix, metric in pairs)

    @cached_property
    def _studies(self) -> dict[Callable[[Case], object], object]:
        return {}

    def cached(self, study: Callable[[Case], T]) -> T:
        """A study that several indicators are read from, made once for this case."""
        if study not in self._studies:
            # No field, unlike `cache`: a copy by `replace` may have other labels or probabilities,
            # and makes its own studies.
            self._studies[study] = study(self)
        return cast("T", self._studies[study])

    def cached_across_cases(self, study: Callable[[Case], T]) -> T:
        """A study that is read from the administrations alone, made once for all cases that look at
        the same ones.
        """
        # matrices are compared by identity: equal contents would have to be compared entry by entry
        key = (study, self.metrics, self.is_reversed, self.n_effective)
        studies: list[tuple[tuple[ScoreMatrix, ...], object]] = self.first.studies.setdefault(
            key, []
        )
        for matrices, outcome in studies:
            pairs = zip(matrices, self.matrices, strict=False)
            if len(matrices) == len(self.matrices) and all(a is b for a, b in pairs):
                return cast("T", outcome)
        studies.append((self.matrices, study(self)))
        return cast("T", studies[-1][1])

    def by_respondent(self, *columns: Iterable[float]) -> Mapping[str, object]:
        """Respondent -> its number, or its list of numbers, for a detail."""
        rows = zip(*(map(finite, column) for column in columns), strict=True)
        if len(columns) == 1:
            return dict(zip(self.respondents, chain.from_iterable(rows), strict=False))
        return dict(zip(self.respondents, map(list, rows), strict=False))

    def table(self, **columns: Iterable[float]) -> dict[str, dict[str, float | None]]:
        """Respondent -> column -> its number, for a detail; empty where the columns are."""
        rows = zip(*columns.values(), strict=True)
        cells = [dict(zip(columns, map(finite, row), strict=True)) for row in rows]
        # a study that has no value has none of single respondents
        return dict(zip(self.respondents, cells, strict=False))


def is_negating(matrix: ScoreMatrix, first: ScoreMatrix) -> bool:
    """Return whether a form inverts the question: most of its keys are the other answer."""
    keys = {item.id: item.target for item in first.items}
    # keys that are the other answer, of the items that both forms have
    pairs = [{str(keys[i.id]), str(i.target)} for i in matrix.items if i.id in keys]
    return pairs.count({"yes", "no"}) > len(pairs) / 2


def case(
    family: str,
    facet: str,
    matrices: Sequence[ScoreMatrix],
    metric: Metric,
    protocol: Protocol,
    *,
    second_metric: Metric | None = None,
    **settings: Any,
) -> Case:
    """Cut administrations to the respondents and items they share, and put them under their
    metrics.
    """
    first, *compared = matrices
    reference = first
    for matrix in compared:
        first, _ = align(first, matrix)
    # twice: only the last alignment of the first has what all of them share
    aligned = [align(first, matrix)[1] for matrix in compared]
    unsampled = None
    if facet == "judge" and len(first.items) < len(reference.items):
        # the judge's sample is compared on its own items, the reference keeps all of its own
        unsampled = reference.take(first.respondents, reference.ids)
    family_by_name = dict(zip(reference.respondents, settings.pop("families", ()), strict=False))
    second_metric = second_metric or metric
    return Case(
        family,
        facet,
        (first, *aligned),
        (metric, *[second_metric] * len(aligned)),
        protocol,
        is_reversed={metric.better, second_metric.better} == {"higher", "lower"},
        unsampled=unsampled,
        # Without families each respondent is a family of its own.
        families=tuple(family_by_name.get(name, name) for name in first.respondents),
        **settings,
    )


def family_of(facet: str, first: ScoreMatrix, second: ScoreMatrix) -> str:
    """What the comparison of two administrations is called."""
    if facet != "judge":
        return _BY_FACET[facet]
    if "faithful" in second.tallies:
        if labelled_by(second.cell.judge) == "people":
            return "criterion"
        return "oracle"
    # The number behind the label is that of the asking, which is what differs here.
    is_same_judge = parse_judge(first.cell.judge)[0] == parse_judge(second.cell.judge)[0]
    if is_same_judge:
        return "judge_consistency"
    return "judge_agreement"


def leave_one_out_scores(units: Units, metric: Metric) -> Array:
    """(respondents, clusters): the metric with each cluster of units left out."""
    clusters = units.clusters
    count = int(clusters.max(initial=-1)) + 1
    # clusters adjacent, so that one reduceat sums each
    order = label_order(clusters)
    starts = np.searchsorted(clusters[order], np.arange(count))
    sums = {}
    for key, values in units.tallies.items():
        if count:
            by_cluster = np.add.reduceat(values[:, order], starts, axis=1)
        else:
            by_cluster = values[:, :0]
        # total less the cluster's own: the sums of everything else
        sums[key] = by_cluster.sum(axis=1, keepdims=True) - by_cluster
    return metric(Sums(sums, len(units.scored), count))


def values_and_ends(coefficients: Iterable[Coefficient]) -> list[list[float]]:
    """The values of coefficients, their lower ends and their upper ends, for the columns of a
    table.
    """
    rows = [(coefficient.value, coefficient.low, coefficient.high) for coefficient in coefficients]
    # Of no coefficient there are three columns too.
    columns: list[list[float]] = np.array(rows, dtype=np.float64).reshape(-1, 3).T.tolist()
    return columns


def numbers(values: Array) -> list[float | None]:
    """Numbers for a detail, None for what is not finite."""
    return list(map(finite, values.tolist()))
