"""The error budget of an audit: by how much each change moves the scores, which gaps of the
leaderboard are larger, and what each thing to mend costs.

All numbers are in the unit of the score; reports show those of shares in points, times 100. The
rows of `Answers` stand here too, because an audit holds both, and the line that sums it up for the
caption of a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, cast

import numpy as np
from pydantic import AfterValidator, ConfigDict

from hqm.auditing.audit_rows import wrong
from hqm.errors import UsageError
from hqm.imports.human_labels import labelled_by
from hqm.indicators import Case, Protocol, case, family_of, is_negating
from hqm.indicators.labelled import (
    answer_weights,
    beside_people,
    has_other_scale,
    is_graded,
    label_clusters,
)
from hqm.indicators.separation import contrasts_in
from hqm.labels.people_labels import FAITHFUL
from hqm.moved_names import RenamedAttributes
from hqm.psychometrics import mean_shift
from hqm.psychometrics.inference.families import FamilyDependence
from hqm.psychometrics.inference.resampling import cluster_sums
from hqm.psychometrics.variance.error_budget import (
    ErrorBand,
    change_band,
    item_band,
    metric_band,
    rerun_band,
    wording_band,
)
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array, Metric
from hqm.types import Count, Estimate, Number, Share, Width, finite

if TYPE_CHECKING:
    from hqm.auditing.evidence import Evidence

ErrorSource = Literal[
    "seed",
    "items",
    "wording",
    "negation",
    "judge",
    "people",
    "resolution",
    "blind",
    "metric",
]
"""What can be changed of an audit, in the order in which reports show it."""
ERROR_OPTIONS: Mapping[str, str] = {
    "seed": "--runs 2",
    "wording": "--forms original,parallel",
    "negation": "--forms original,parallel",
    "judge": "--judge NAME",
    "people": "--criterion FILE",
    "resolution": "--resolution 50",
    "blind": "--blind",
}
"""The option of `hqm audit` that measures a source."""
_EXACT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    """What one source of error does to the scores of one metric.

    Parameters
    ----------
    source
        What was changed.
    status
        `ok`; `few` where too few respondents allow a band and only their moves are shown;
        `not_measured`; `not_applicable` where the benchmark does not know this source.
    other
        The administrations, labels or metric that the reference is compared with.
    half
        95 % of the moves of one respondent against the others are smaller, and a larger gap lies
        above this source. There is none without the picture, where a drop is wanted.
    any_wording
        95 % of the moves to a wording that nobody asked, shift included; of wordings alone.
    shift, low, high
        The mean move, with its 95 % interval.
    inference
        What the interval generalises to: `fixed_models` is these respondents on new items,
        `model_population` other respondents like them; empty in an audit of version 0.2.0.
    moves
        Respondent -> its observed move; of seeds and items, its own half-width.
    respondents, factor
        How many respondents moved, and the quantile in `half`.
    answers
        How many answers people labelled.
    reason
        Why there is no band.
    """

    __pydantic_config__ = _EXACT
    source: ErrorSource
    status: Literal["ok", "few", "not_measured", "not_applicable"] = "not_measured"
    other: tuple[str, ...] = ()
    half: Width = None
    any_wording: Width = None
    shift: Number = None
    low: Number = None
    high: Number = None
    inference: Literal["", "fixed_models", "model_population"] = ""
    moves: Mapping[str, Number] = field(default_factory=dict)
    respondents: Count = 0
    factor: Width = None
    answers: Count = 0
    reason: str = ""

    @property
    def is_identical(self) -> bool:
        """Whether every score was repeated exactly, so that no variance is left for an interval."""
        return all(value == 0 for value in (self.half, self.shift, self.low, self.high))

    @property
    def compares_levels(self) -> bool:
        """Whether the means are on one scale: those of another metric are not, nor are grades."""
        may_differ = self.source in ("metric", "judge", "people")
        return not may_differ or self.half is None or self.shift is not None

    @property
    def excludes_zero(self) -> bool:
        """Whether the shift is more than chance: its interval leaves out 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def _check_row(row: BudgetRow) -> BudgetRow:
    """Refuse a row of a file that no report can print."""
    is_measured = row.status in ("ok", "few")
    if row.source == "wording" and is_measured and not row.other:
        raise wrong("it is empty, and there are moves", "other")
    if row.moves and not is_measured:
        raise wrong(f"it is {row.status}, and there are moves", "status")
    # of the other sources, reports say by which option they are measured
    if row.source not in ERROR_OPTIONS and row.status == "not_measured":
        raise wrong("no option measures this source", "status")
    if row.source not in ERROR_OPTIONS and not row.moves and not row.reason:
        raise wrong("it is missing, and there are no moves", "reason")
    return row


Question = Literal["repeat", "wording", "people", "separate", "faulty", "more", "quote"]
"""The seven questions of a report."""
AnswerCode = Literal["fine", "look", "wrong", "not_shown", "not_measured"]
"""The answer to a question: shown to lie within its limit, look at it, shown to lie outside,
neither shown, or nobody measured it.
"""
RemedySeverity = Literal["fault", "doubt", "note"]
"""How grave a thing to mend is: it is shown, it is suspected, or it makes no score wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing to mend.

    Parameters
    ----------
    what, severity
        Its kind, and how grave it is.
    count, names
        How many there are, and which: items, types, pictures, or the name of a finding.
    cost
        By how much it can move the score of a respondent that is right, as a share of the items.
    by, accuracy, baseline
        Of leaks: what predicts the right answers best, how many of them, and how many always giving
        the most frequent answer.
    sentence, remedy
        Of findings: what was found, and what to do.
    """

    __pydantic_config__ = _EXACT
    what: Literal[
        "keys",
        "two_keys",
        "reversed",
        "leaks",
        "pictures",
        "repeats",
        "unscored",
        "empty_types",
        "balance",
        "finding",
    ]
    severity: RemedySeverity
    count: Count = 0
    names: tuple[str, ...] = ()
    cost: Share = None
    by: str = ""
    accuracy: Share = None
    baseline: Share = None
    sentence: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The gap between two neighbours of the leaderboard.

    Parameters
    ----------
    first, other
        The better one and the next.
    gap
        How far the first leads on the items that both answered; below 0 where it does not.
    low, high
        The 95 % interval of these models' difference over other items, from those that both
        answered.
    clear, not_clear
        The measured sources that the gap is larger than, and the others.
    """

    __pydantic_config__ = _EXACT
    first: str
    other: str
    gap: Number
    low: Number
    high: Number
    clear: tuple[ErrorSource, ...]
    not_clear: tuple[ErrorSource, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBudget:
    """All sources of error of one metric on one scale, and the gaps of its leaderboard.

    Parameters
    ----------
    rows
        A row for each source, measured or not.
    gaps
        Neighbours of the leaderboard from the first place on.
    mean, mean_error
        The mean score of the respondents, and its standard error over pictures.
    """

    __pydantic_config__ = _EXACT
    metric: str
    rows: tuple[Annotated[BudgetRow, AfterValidator(_check_row)], ...]
    gaps: tuple[Gap, ...] = ()
    mean: Number = None
    mean_error: Width = None

    @property
    def unmeasured(self) -> tuple[BudgetRow, ...]:
        """Return the sources that were not measured."""
        return tuple(row for row in self.rows if row.status == "not_measured")

    def row(self, source: str) -> BudgetRow:
        """Return the row of a source; one that says `not_measured` where there is none."""
        for row in self.rows:
            if row.source == source:
                return row
        return BudgetRow(source=cast("ErrorSource", source))


def error_budgets(
    evidence: Evidence,
    estimates: Sequence[Estimate],
    protocol: Protocol,
    dependence: Mapping[str, FamilyDependence],
) -> dict[str, ErrorBudget]:
    """Return the error budget of every audited metric."""
    budgets = {}
    for metric in evidence.metrics:
        n_effective = dependence[metric.name].n_eff
        # An effective number that is not known counts all respondents.
        independent = n_effective if math.isfinite(n_effective) else None
        budgets[metric.name] = error_budget(evidence, metric, estimates, protocol, independent)
    return budgets


def error_budget(
    evidence: Evidence,
    metric: Metric,
    estimates: Sequence[Estimate],
    protocol: Protocol,
    n_effective: float | None = None,
) -> ErrorBudget:
    """Return the error budget of a metric.

    Parameters
    ----------
    estimates
        Those of the audit, where shifts and the noise of reruns are read, so that it holds one
        number for each.
    protocol, n_effective
        As for the cases that the estimates come from.
    """
    reference_case = case("", "", (evidence.first,), metric, protocol)
    estimates = [estimate for estimate in estimates if estimate.metric == metric.name]
    rows = [
        _seed(evidence, reference_case, estimates),
        _items(reference_case),
        *_wordings(evidence, metric, protocol, estimates, n_effective),
        *_single_facet_rows(evidence, metric, protocol, estimates, n_effective),
        _metric_row(evidence, metric),
    ]
    scores = reference_case.scores[0]
    jackknife_scores = reference_case.jackknife_scores[0]
    scored = np.isfinite(scores)
    error = item_band(
        # Respondents are averaged first: the error of their mean over other pictures.
        jackknife_scores[scored].mean(axis=0, keepdims=True) if scored.any() else jackknife_scores
    )
    return ErrorBudget(
        metric=metric.name,
        rows=tuple(rows),
        gaps=tuple(_gaps(reference_case, rows, estimates)),
        mean=finite(float(scores[scored].mean())) if scored.any() else None,
        # The band is t sqrt(2) SE, as of a difference of two sets of items; here SE alone is
        # wanted.
        mean_error=finite(error.half / error.factor / math.sqrt(2)),
    )


def _estimate(estimates: Sequence[Estimate], indicator: str, compared: str = "") -> Estimate | None:
    """Return the first estimate of an indicator; of a comparison with `compared`, where given."""
    for estimate in estimates:
        if estimate.indicator == indicator and compared in ("", estimate.other):
            return estimate
    return None


def _row(
    source: ErrorSource,
    respondents: Sequence[str],
    band: ErrorBand,
    *,
    shift: _Shift | None = None,
    compared: tuple[str, ...] = (),
    answers: int = 0,
) -> BudgetRow:
    """Return a row from its band and its shift; of other items, the band has the shift."""
    if band.shift is not None:
        shift = _Shift(0.0, band.shift.low, band.shift.high, "fixed_models")
    elif shift is None:
        shift = _Shift(math.nan)
    # a respondent without a move is left out, and not counted as one that did not move
    moves = dict(zip(respondents, band.moves.tolist(), strict=True))
    moves = {name: float(move) for name, move in moves.items() if math.isfinite(move)}
    return BudgetRow(
        source=source,
        status="ok" if band.status == "ok" else "few",
        other=compared,
        half=finite(band.half),
        any_wording=finite(band.any_wording),
        shift=finite(shift.value),
        low=finite(shift.low),
        high=finite(shift.high),
        inference=shift.inference if math.isfinite(shift.low) else "",
        moves=moves,
        respondents=len(moves),
        factor=finite(band.factor),
        answers=answers,
        reason=band.reason,
    )


@dataclass(frozen=True, slots=True)
class _Shift:
    """A mean move, with its interval and what that generalises to."""

    value: float
    low: float = math.nan
    high: float = math.nan
    inference: Literal["", "fixed_models", "model_population"] = ""


def _shift_in(estimates: Sequence[Estimate], indicator: str, compared: str = "") -> _Shift | None:
    """Return the shift that the audit estimates elsewhere, so that it holds one number for it.

    The question is how far these models' scores hold on new items, as the gate asks; other models
    answer it where there is no such interval.
    """
    estimate = _estimate(estimates, indicator, compared)
    if estimate is None or estimate.value is None:
        return None
    for inference in _SHIFT_INFERENCES:
        interval = estimate.interval(inference)
        if interval is not None:
            return _Shift(estimate.value, interval.low, interval.high, inference)
    return _Shift(estimate.value)


# The first that an estimate has is taken.
_SHIFT_INFERENCES: tuple[Literal["fixed_models", "model_population"], ...] = (
    "fixed_models",
    "model_population",
)


def _mean_move(moves: Array, n_effective: float | None, replicates: Array | None = None) -> _Shift:
    """Return the mean of moves; `replicates` are the moves with each cluster of items left out."""
    # A one-sample interval, as the shift of scores from 0.
    pair = None if replicates is None else (np.zeros_like(replicates), replicates)
    shift = mean_shift(np.zeros(len(moves)), moves, replicates=pair, n_effective=n_effective)
    # All respondents answered the same items, so that how much their moves differ says nothing of
    # what other items would move.
    if shift.fixed is not None:
        return _Shift(shift.value, shift.fixed.low, shift.fixed.high, "fixed_models")
    return _Shift(shift.value, shift.low, shift.high, "model_population")


def _seed(evidence: Evidence, reference_case: Case, estimates: Sequence[Estimate]) -> BudgetRow:
    """Return the row of reruns, from each respondent's own standard error of measurement."""
    sem = _estimate(estimates, "test_retest.sem")
    if sem is None or sem.value is None:
        reason = "" if sem is None else sem.reason
        return BudgetRow(source="seed", reason=reason)
    sem_by_respondent = sem.detail.get("by_respondent") or {}
    # SEM^2 is the variance of one run's score over seeds
    noise = (
        np.array([_number(sem_by_respondent.get(name)) for name in reference_case.respondents]) ** 2
    )
    n_scored = reference_case.units[0].scored.sum(axis=1).astype(np.float64)
    # Of answers that repeat by construction, no term replaces reruns that happened to agree.
    if reference_case.metric.share and np.nansum(noise) > 0:
        items = n_scored
    else:
        items = None
    shift = _shift_in(estimates, "test_retest.mean_shift")
    runs = tuple(map(str, evidence.differing_in("run")))
    return _row(
        "seed", reference_case.respondents, rerun_band(noise, items), shift=shift, compared=runs
    )


def _number(value: object) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    return math.nan


def _items(reference_case: Case) -> BudgetRow:
    return _row("items", reference_case.respondents, item_band(reference_case.jackknife_scores[0]))


def _wordings(
    evidence: Evidence,
    metric: Metric,
    protocol: Protocol,
    estimates: Sequence[Estimate],
    n_effective: float | None,
) -> Iterator[BudgetRow]:
    """Yield the rows of other wordings and of negated questions, which are never mixed."""
    first = evidence.first
    rewordings = evidence.differing_in("form").values()
    kinds: dict[ErrorSource, list[ScoreMatrix]] = {"wording": [], "negation": []}
    # a negation reverses the lean to yes, which another wording does not
    for matrix in rewordings:
        kinds["negation" if is_negating(matrix, first) else "wording"].append(matrix)
    for source, matrices in kinds.items():
        if not matrices:
            if not rewordings and source == "wording":
                yield BudgetRow(source=source)
            continue
        wording_case = case("parallel_forms", "form", (first, *matrices), metric, protocol)
        band = wording_band(wording_case.scores, n_effective=n_effective)
        names = tuple(str(matrix.cell) for matrix in matrices)
        # an estimate has the shift to one other wording; to several, the mean move says it
        shift = _shift_in(estimates, "parallel_forms.mean_shift", names[0])
        if len(names) > 1:
            left_out = wording_case.jackknife_scores
            replicates = left_out[1:].mean(axis=0) - left_out[0]
            shift = _mean_move(band.moves, n_effective, replicates)
        row = _row(source, wording_case.respondents, band, shift=shift, compared=names)
        # a negation is no draw from a population of wordings
        yield replace(row, any_wording=None) if source == "negation" else row


_SINGLE_FACET_SOURCES: tuple[ErrorSource, ...] = ("judge", "people", "resolution", "blind")
_FACET_SOURCES: Mapping[str, ErrorSource] = {
    "judge": "judge",
    "resolution": "resolution",
    "sight": "blind",
}


def _single_facet_rows(
    evidence: Evidence,
    metric: Metric,
    protocol: Protocol,
    estimates: Sequence[Estimate],
    n_effective: float | None,
) -> Iterator[BudgetRow]:
    """Yield the rows of another judge, people, smaller pictures and no picture."""
    measured: dict[ErrorSource, BudgetRow] = {}
    for cell, matrix in evidence.matrices.items():
        facets = evidence.reference.differing(cell)
        # Two facets at once would mix two sources.
        source = _FACET_SOURCES.get(facets[0]) if len(facets) == 1 else None
        # The first administration stands for its source, where several judges or sizes were tried.
        if source is None or source in measured:
            continue
        family = family_of(facets[0], evidence.first, matrix)
        facet_case = case(family, facets[0], (evidence.first, matrix), metric, protocol)
        compared = (str(cell),)
        if source == "judge" and is_graded(matrix.values) and not is_graded(evidence.first.values):
            first, second = facet_case.scores
            names = facet_case.respondents
            measured[source] = _rescaled_row(source, names, first, second, compared)
            continue
        band = change_band(facet_case.scores[1] - facet_case.scores[0], n_effective=n_effective)
        shift = _shift_in(estimates, f"{family}.mean_shift", str(cell))
        shift = shift or _mean_move(band.moves, n_effective)
        row = _row(source, facet_case.respondents, band, shift=shift, compared=compared)
        # without the picture a drop is wanted, and no gap can be above it
        measured[source] = replace(row, half=None, factor=None) if source == "blind" else row
    labelled = _people(evidence, metric, protocol, n_effective)
    if labelled is not None:
        measured["people"] = labelled
    inapplicable = set()
    # A rule reads an answer alike each time; of a benchmark without pictures none can be left out.
    if not evidence.benchmark.roles:
        inapplicable.add("judge")
    if not any(item.image for item in evidence.benchmark.original.items):
        inapplicable.update(("resolution", "blind"))
    for source in _SINGLE_FACET_SOURCES:
        if source in measured:
            yield measured[source]
        elif source in inapplicable:
            yield BudgetRow(source=source, status="not_applicable")
        else:
            yield BudgetRow(source=source)


def _people(
    evidence: Evidence, metric: Metric, protocol: Protocol, n_effective: float | None
) -> BudgetRow | None:
    """Return the row of people's labels in place of the scorer, over the answers with a label."""
    for label_matrix in evidence.labelled:
        if labelled_by(label_matrix.cell.judge) != "people" or not metric.share:
            continue
        labels_case = case(
            "criterion",
            "judge",
            (evidence.first, label_matrix),
            metric,
            protocol,
            second_metric=FAITHFUL,
            sample=evidence.samples.get(label_matrix.cell.judge),
        )
        automatic, human = beside_people(labels_case)
        weights = answer_weights(labels_case)
        # answers without a label have weight 0, and NaN times 0 would be NaN
        differences = np.nan_to_num(human - automatic)
        labelled = weights.any(axis=0)
        answers = int(np.isfinite(human - automatic).sum())
        compared = (str(label_matrix.cell),)
        if has_other_scale(labels_case):
            totals = (weights * np.nan_to_num([automatic, human])).sum(axis=-1)
            scores, grades = totals / weights.sum(axis=1)
            row = _rescaled_row("people", labels_case.respondents, scores, grades, compared)
            return replace(row, answers=answers)
        columns = np.stack([weights * differences, weights])[:, :, labelled]
        clusters = label_clusters(labels_case)[labelled]
        sums, _ = cluster_sums(columns, np.ones(columns.shape[1:], dtype=bool), clusters)
        total, total_weight = columns.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            moves: Array = (total / total_weight)[:, 0]
            replicates = (total - sums[0]) / (total_weight - sums[1])
        band = change_band(moves, n_effective=n_effective)
        return _row(
            "people",
            labels_case.respondents,
            band,
            shift=_mean_move(band.moves, n_effective, replicates),
            compared=compared,
            answers=answers,
        )
    return None


def _rescaled_row(
    source: ErrorSource,
    respondents: Sequence[str],
    scores: Array,
    grades: Array,
    compared: tuple[str, ...],
) -> BudgetRow:
    """Return the row of grades in place of right and wrong, at one mean and standard deviation:
    on their scale, a middling grade of a right answer would be a shift.
    """
    band = metric_band(scores, grades)
    if band.status == "ok":
        return _row(source, respondents, band, compared=compared)
    n_compared = int(np.isfinite(scores + grades).sum())
    return BudgetRow(
        source=source, status="few", other=compared, respondents=n_compared, reason=band.reason
    )


def _metric_row(evidence: Evidence, metric: Metric) -> BudgetRow:
    """Return the row of the benchmark's next metric over all items, at the same mean and standard
    deviation.
    """
    first = evidence.first
    scores = first.score(metric)
    # F1 first, which yes/no benchmarks report beside accuracy (POPE, Li et al. 2023); the sort is
    # stable, and the others keep the release's order.
    release_metrics = sorted(evidence.benchmark.metrics, key=lambda m: m.name != "f1")
    for second_metric in (*evidence.metrics, *release_metrics):
        if second_metric.name == metric.name or second_metric.group:
            continue
        # A metric over other items would move by the items, and not by the metric.
        if second_metric.subset != metric.subset:
            continue
        # Both are oriented as the audited metric is.
        second_scores = first.score(second_metric) * second_metric.sign * metric.sign
        if not np.isfinite(second_scores).any():
            continue
        # The same scores under another name are no second metric.
        if np.allclose(second_scores, scores, equal_nan=True):
            continue
        band = metric_band(scores, second_scores)
        if band.status == "ok":
            return _row("metric", first.respondents, band, compared=(second_metric.name,))
    return BudgetRow(source="metric", status="not_applicable", reason="it has no second metric")


def _gaps(
    reference_case: Case, rows: Sequence[BudgetRow], estimates: Sequence[Estimate]
) -> Iterator[Gap]:
    """Yield the neighbours of the leaderboard, with what each gap is larger than.

    A gap is above other items where the two differ in their planned contrast, whose interval is
    that of the items which both answered.
    """
    scores = reference_case.scores[0]
    sign = reference_case.metric.sign
    pairs = {(row.first, row.second): row for row in contrasts_in(estimates)}
    n_items = int(reference_case.units[0].scored.any(axis=0).sum())
    # Respondents without a score have no neighbour. Stable, so that equal scores keep the order of
    # the rows, as in the contrasts.
    order = [i for i in np.argsort(-sign * scores, kind="stable") if math.isfinite(scores[i])]
    for a, b in pairwise(order):
        first = reference_case.respondents[a]
        second = reference_case.respondents[b]
        gap = sign * float(scores[a] - scores[b])
        neighbours = pairs.get((first, second))
        contrast = None if neighbours is None else neighbours.contrast
        # Scores of unequal items differ by the items too, which the interval leaves out.
        if neighbours is not None and neighbours.items < n_items:
            gap = neighbours.contrast.difference
        # Each source by itself: errors of several sources are not added, since nobody measured them
        # together.
        clear: list[ErrorSource] = []
        not_clear: list[ErrorSource] = []
        for row in rows:
            if row.half is None:
                # What was not measured, or has no band, says nothing about a gap.
                continue
            is_clear = abs(gap) > _min_clear_gap(row, first, second)
            if row.source == "items":
                is_clear = contrast is not None and contrast.outcome == "differ"
            (clear if is_clear else not_clear).append(row.source)
        yield Gap(
            first=first,
            other=second,
            gap=finite(gap),
            low=None if contrast is None else finite(contrast.low),
            high=None if contrast is None else finite(contrast.high),
            clear=tuple(clear),
            not_clear=tuple(not_clear),
        )


def _min_clear_gap(row: BudgetRow, first: str, second: str) -> float:
    """Return the least gap that is clear: of reruns, never less than these two's own noise."""
    half = row.half or 0.0
    if row.source != "seed":
        return half
    # each move is 1.96 sqrt(2) times the standard error of one respondent, so that their root sum
    # of squares is sqrt(2) too large
    noise = math.hypot(row.moves.get(first) or 0.0, row.moves.get(second) or 0.0)
    return max(half, noise / math.sqrt(2))


# --- the reliability statement ---

# Intervals have commas too, so that each measure is found by the word that it begins with.
_LINE = re.compile(
    r"(?P<repeat>rho_G \S.*?|reruns not measured|reruns identical),"
    r" (?P<wording>(?:wording|negation) \S.*?),"
    r" (?P<labels>people \S.*?),"
    r"(?: (?P<shifts>(?:seed|judge|picture size|wording|negation) \S.*?),)?"
    r" (?P<order>ranks \S.*?|no neighbours differ\S?.*?|\d+ of \d+ pairs differ|order not measured"
    r"|no ties|ties \S.*?)"
    r" \| hqm:(?P<version>\d+(?:\.\w+)*)(?: (?P<signature>[0-9a-f]{12}))?"
)
_LATEX = {"rho_G": r"$\rho_G$", "−": "$-$", "–": "--", " | ": " $|$ "}
"""What the line has -> what LaTeX has in its place."""


@dataclass(frozen=True, slots=True)
class Statement(RenamedAttributes):
    r"""What a table's caption says of the reliability of its scores, in one line.

    Parameters
    ----------
    repeat, wording, labels, order
        Reliability over reruns, the shift by another wording, the shift where people judge, and the
        ranks of the leaderboard that differ from the next; each says so where it was not measured.
    version
        The version of HQM that made the numbers.
    signature
        Twelve characters that stand for the first number.
    shifts
        The shifts by another seed, judge or picture size that are larger than what counts as equal;
        empty where there are none.

    Examples
    --------
    >>> line = "rho_G .986 [.98, .99], wording −5.8 points, people not measured, no ties"
    >>> made = Statement.parse(f"{line} | hqm:0.2.0 e5c69a572e5f")
    >>> made.latex.partition(", people ")[0]
    '$\\rho_G$ .986 [.98, .99], wording $-$5.8 points'
    >>> Statement.parse(made.latex) == Statement.parse(made.markdown) == made
    True
    """

    repeat: str
    wording: str
    labels: str
    order: str
    version: str
    signature: str = ""
    shifts: str = ""

    def __str__(self) -> str:
        measures = (self.repeat, self.wording, self.labels, self.shifts, self.order)
        text = ", ".join(filter(None, measures))
        return f"{text} | hqm:{self.version} {self.signature}".strip()

    @property
    def latex(self) -> str:
        """The line as LaTeX sets it."""
        text = str(self)
        for ours, theirs in _LATEX.items():
            text = text.replace(ours, theirs)
        return text

    @property
    def markdown(self) -> str:
        """The line as Markdown shows it."""
        return f"`{self}`"

    @classmethod
    def parse(cls, text: str) -> Statement:
        """Read a statement from a caption: as it was printed, as LaTeX, or as Markdown.

        Raises
        ------
        UsageError
            The text holds no statement.
        """
        plain = " ".join(text.split())
        for ours, theirs in _LATEX.items():
            plain = plain.replace(theirs, ours)
        # whoever types it has one dash for all: between numbers it is a range, elsewhere a sign
        plain = re.sub(r"(?<=\d)-(?=\d)", "–", plain)
        plain = re.sub(r"(?<![\w–-])-(?=[.\d])", "−", plain)
        match = _LINE.search(plain)
        if match is None:
            raise UsageError(
                f"{text[:60]!r} is no reliability statement",
                remedy="Copy the whole line, from “rho_G” or “reruns” to the last character.",
            )
        return cls(**{name: value or "" for name, value in match.groupdict().items()})

    def differences(self, reference: Statement) -> tuple[str, ...]:
        """Say where this statement differs from the audit's; nothing where the two are equal."""
        return tuple(
            f"{field.name}: “{ours}”, and the audit has “{theirs}”"
            for field in fields(self)
            if (ours := getattr(self, field.name)) != (theirs := getattr(reference, field.name))
        )
