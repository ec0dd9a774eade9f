"""What an audit is: every estimate of a benchmark, as one value that reports are made from.

The classes say what an audit holds, what `audit.json` holds, and which values are possible: a file
is read through them (`Audit.load`) and written from them (`Audit.to_json`), and the JSON schema is
theirs (`Audit.json_schema`). A file that somebody edited, cut or merged is refused with the path of
the first wrong value (`audits[0].respondents[2].scores.accuracy`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from hqm.auditing import frames
from hqm.auditing.audit_rows import (
    EXACT_FIELDS,
    MAX_INTERVAL_RANGES,
    STORED_ESTIMATE,
    AddressedName,
    Ends,
    FindingRow,
    FlagRow,
    FormRow,
    LeftOutRows,
    MappingOf,
    MetricRow,
    Name,
    NoRow,
    PairRow,
    ReadingRow,
    RespondentScores,
    Row,
    StoppedRow,
    Summary,
    VerdictRow,
    check_analysis,
    check_components,
    check_ends,
    check_equal,
    check_estimate,
    check_scale,
    check_values,
    estimate_fields,
    respondent_values,
    wrong,
)
from hqm.auditing.budget import AnswerCode, ErrorBudget, Question, Remedy, Statement
from hqm.auditing.disagreements import Example, ExampleRow
from hqm.auditing.score_differences import ScoreComparison, ToolRow
from hqm.benchmark.analyses import Analysis, AnalysisRow
from hqm.errors import DataError, DesignError, UsageError
from hqm.files.records import read_json
from hqm.indicators.flags import FLAGS
from hqm.indicators.indicator import ITEM_COUNT, SCORE_WIDTH, TYPE_COUNT, Unit, indicator_named
from hqm.indicators.item_coverage import CoverageRow, TypeCoverage
from hqm.indicators.separation import contrast_detail
from hqm.moved_names import with_renamed_keywords
from hqm.types import (
    Administration,
    Cell,
    Count,
    Estimate,
    Share,
    Task,
    finite,
)
from hqm.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def check_no_duplicates(audits: Sequence[BenchmarkAudit]) -> None:
    """Refuse one audit that is given twice, under whatever file's name."""
    for index, audit in enumerate(audits):
        # By content: a copy under another file's name is the same audit.
        if audit in audits[:index]:
            raise DataError(
                "one audit is given twice", location=audit.title, remedy="Give each audit once."
            )


def _check_respondent(audit: BenchmarkAudit, row: int) -> None:
    respondent = audit.respondents[row]
    path = ("respondents", row)
    if respondent.name in audit.names[:row]:
        raise wrong(f"the respondent {respondent.name!r} stands twice", *path, "name")
    for cell in audit.cells:
        if cell not in respondent.states:
            raise wrong("it is missing", *path, "states", cell)
        if cell not in respondent.cells:
            raise wrong("it is missing", *path, "cells", cell)
    for cell, states in respondent.states.items():
        form = audit.forms.get(Cell.parse(cell).form)
        if form is not None and sum(states.values()) > form["items"]:
            reason = f"{sum(states.values()):,} answers to {form['items']:,} items"
            raise wrong(reason, *path, "states", cell)
        # An answer that is missing has a state of its own, so that states add up to the items; in
        # an audit of an earlier version, which has no scales, they need not.
        if form is not None and audit.scales and not audit.stopped:
            check_equal(sum(states.values()), form["items"], *path, "states", cell)
    for kind, score in respondent.by_type.items():
        check_scale(score, *audit.scale(next(iter(audit.metrics))), *path, "by_type", kind)
    for metric, score in respondent.scores.items():
        check_scale(score, *audit.scale(metric), *path, "scores", metric)
    for cell, scores in respondent.cells.items():
        for metric, score in scores.items():
            check_scale(score, *audit.scale(metric), *path, "cells", cell, metric)
    for metric, score in respondent.cells[audit.reference].items():
        check_equal(score, respondent.scores.get(metric), *path, "cells", audit.reference, metric)
    for metric, (low, high) in respondent.intervals.items():
        check_ends(respondent.scores.get(metric), low, high, *path, "intervals", metric)
        for end in (low, high):
            _check_reach(
                audit, metric, end, *path, "intervals", metric, max_ranges=MAX_INTERVAL_RANGES
            )


def _check_reach(
    audit: BenchmarkAudit, metric: str, value: float | None, *path: str | int, max_ranges: float = 1
) -> None:
    """Refuse a move, an error or an end of an interval that no scores of this scale have."""
    minimum, maximum = audit.scale(metric)
    if minimum is not None and maximum is not None:
        margin = max_ranges * (maximum - minimum)
        check_scale(value, minimum - margin, maximum + margin, *path)


def _check_budget(audit: BenchmarkAudit, metric: str) -> None:
    budget = audit.budget[metric]
    path = ("budget", metric)
    scores = audit.scores_by_name(metric)
    present_scores = audit.present_scores(metric)
    if present_scores and budget.mean is not None:
        check_equal(budget.mean, sum(present_scores) / len(present_scores), *path, "mean")
    _check_reach(audit, metric, budget.mean_error, *path, "mean_error")
    for index, row in enumerate(budget.rows):
        row_path = (*path, "rows", index)
        check_scale(row.respondents, 0, len(scores), *row_path, "respondents")
        check_ends(row.shift, row.low, row.high, *row_path, "shift")
        for name in ("half", "any_wording", "low", "high"):
            _check_reach(
                audit, metric, getattr(row, name), *row_path, name, max_ranges=MAX_INTERVAL_RANGES
            )
        _check_reach(audit, metric, row.shift, *row_path, "shift")
        for name, move in row.moves.items():
            # Of items, a move is half of the respondent's own interval; another metric is scaled to
            # the spread of this one, whose range does not bound it.
            max_ranges = MAX_INTERVAL_RANGES if row.source in ("items", "metric") else 1
            _check_reach(audit, metric, move, *row_path, "moves", name, max_ranges=max_ranges)
    detail = contrast_detail(audit.select_estimates(metric=metric))
    differences = {
        (row["first"], row["second"]): row["difference"] for row in detail.get("contrasts") or ()
    }
    for index, gap in enumerate(budget.gaps):
        first = scores.get(gap.first)
        second = scores.get(gap.other)
        if first is None or second is None:
            raise wrong("these respondents have no scores", *path, "gaps", index)
        # of what both answered, where that is less than all items
        if gap.gap != differences.get((gap.first, gap.other)):
            check_equal(gap.gap, abs(first - second), *path, "gaps", index, "gap")
        # The gap of an earlier version is that of their scores, and may lie beside the interval of
        # what both answered.
        check_ends(None, gap.low, gap.high, *path, "gaps", index)
        for name in ("low", "high"):
            end = getattr(gap, name)
            _check_reach(
                audit, metric, end, *path, "gaps", index, name, max_ranges=MAX_INTERVAL_RANGES
            )


def _check_range(audit: BenchmarkAudit, estimate: Estimate, *path: str | int) -> None:
    """Refuse an estimate that is outside of its indicator's range, or of its metric's scale."""
    indicator = indicator_named(estimate.indicator)
    metric = estimate.metric
    unit = Unit("") if indicator is None else indicator.unit
    # An earlier version, which wrote no scales, let agreement and its ends fall below -1.
    minimum = unit.minimum if audit.scales or unit.minimum >= 0 else -math.inf
    numbers: list[tuple[float, tuple[str, ...]]] = []
    for i in estimate.intervals:
        path_in_estimate = ("intervals", i.inference)
        numbers += [(i.low, path_in_estimate), (i.high, path_in_estimate)]
    # The standard errors beside a reliability are in the unit of the scores, and not in its own.
    for name, own_value in respondent_values(estimate).items():
        if isinstance(own_value, (int, float)):
            numbers.append((own_value, ("by_respondent", name)))
    check_scale(estimate.value, minimum, unit.maximum, *path, "value")
    for i in estimate.intervals:
        ends = finite(i.low), finite(i.high)
        check_ends(estimate.value, *ends, *path, "intervals", i.inference)
    for number, value_path in numbers:
        check_scale(finite(number), minimum, unit.maximum, *path, *value_path)
    if unit.kind == "score":
        # A difference that is shown after a test of every pair may be many errors: with one degree
        # of freedom, t at a level divided by k is less than k times t at the level.
        pairs = max(1, math.comb(len(audit.respondents), 2))
        max_ranges = MAX_INTERVAL_RANGES * pairs if unit is SCORE_WIDTH else 1
        _check_reach(audit, metric, estimate.value, *path, "value", max_ranges=max_ranges)
        for number, value_path in numbers:
            _check_reach(
                audit, metric, finite(number), *path, *value_path, max_ranges=MAX_INTERVAL_RANGES
            )


_SCORE_FACETS = ("run", "form", "resolution", "sight")


def _check_recomputed(audit: BenchmarkAudit, estimate: Estimate, *path: str | int) -> None:
    """Refuse a shift or a correlation of scores that is not that of the scores in the audit.

    It is computed again where both administrations are of all items and every respondent has a
    score in both.
    """
    name = estimate.indicator.rpartition(".")[2]
    cells = (estimate.first, estimate.other)
    if name not in ("mean_shift", "pearson") or estimate.facet not in _SCORE_FACETS:
        return
    if estimate.value is None or not set(cells) <= set(audit.cells) or audit.stopped:
        return
    rows = []
    for cell in cells:
        if not _has_all_items(audit, cell, audit.n_items):
            return
        rows.append(
            [respondent.cells[cell].get(estimate.metric) for respondent in audit.respondents]
        )
    # A score that does not exist is NaN, and so is then the value.
    first, second = np.array(rows, dtype=np.float64)
    if len(first) != estimate.n_respondents:
        return
    value = float((second - first).mean())
    if name == "pearson":
        with np.errstate(invalid="ignore", divide="ignore"):
            value = float(np.corrcoef(first, second)[0, 1]) if len(first) > 1 else math.nan
    if math.isfinite(value):
        check_equal(float(estimate.value), value, *path, "value")


def _check_left_out(audit: BenchmarkAudit) -> None:
    """Refuse scores without a picture that are none, or no scores of this audit."""
    cells = {respondent.name: respondent.cells for respondent in audit.respondents}
    for index, record in enumerate(audit.left_out.get("records", ())):
        metric = record["metric"]
        if record["clusters"] not in audit.left_out.get("clusters", {}):
            raise wrong("there are no such clusters", "left_out", "records", index, "clusters")
        n_shared = sum(audit.left_out["clusters"][record["clusters"]]["sizes"])
        for name, cell_rows in record["respondents"].items():
            for cell, cell_row in zip(record["cells"], cell_rows, strict=False):
                path = ("left_out", "records", index, "respondents", name)
                score = cells.get(name, {}).get(cell, {}).get(metric, cell_row["score"])
                if _has_all_items(audit, cell, n_shared):
                    check_equal(cell_row["score"], score, *path, "score")
                for score in (cell_row["score"], *cell_row["values"]):
                    check_scale(score, *audit.scale(metric), *path, "values")


def _has_all_items(audit: BenchmarkAudit, cell: str, n_shared: int) -> bool:
    """Return whether the items that several administrations share are all those of this one.

    Only then a score over the shared items is the score of the administration: a question that is
    absent from a parallel form is left out of both where the two are compared.
    """
    form = audit.forms.get(Cell.parse(cell).form)
    return form is not None and form["items"] == n_shared


def _check_counts(audit: BenchmarkAudit) -> None:
    """Refuse a part that is larger than its whole."""
    n = audit.n_items
    m = len(audit.respondents)
    leading = next(iter(audit.metrics))
    totals = {ITEM_COUNT: n, TYPE_COUNT: len(audit.coverage)}
    bounded_counts: list[tuple[float, float, tuple[str | int, ...]]] = [
        (audit.images, n, ("images",))
    ]
    for name, form in audit.forms.items():
        bounded_counts.append((form["items"] + form["left_out"], n, ("forms", name, "items")))
        for rule, count in form["rules"].items():
            bounded_counts.append((count, form["items"], ("forms", name, "rules", rule)))
    in_types = sum(covered["items"] for covered in audit.coverage.values())
    bounded_counts.append((in_types, n, ("coverage",)))
    for kind, covered in audit.coverage.items():
        bounded_counts.append((covered["items"], n, ("coverage", kind, "items")))
        for name, count in (("images", covered["images"]), ("wordings", covered["wordings"])):
            bounded_counts.append((count, covered["items"], ("coverage", kind, name)))
    for row, estimate in enumerate(audit.all_estimates):
        bounded_counts.append((estimate.n_items, n, ("estimates", row, "n_items")))
        bounded_counts.append((estimate.n_respondents, m, ("estimates", row, "n_respondents")))
        indicator = indicator_named(estimate.indicator)
        total = None if indicator is None else totals.get(indicator.unit)
        if total is not None and estimate.value is not None:
            bounded_counts.append((estimate.value, total, ("estimates", row, "value")))
    for row, example in enumerate(audit.examples):
        bounded_counts.append((example["respondents"], m, ("examples", row, "respondents")))
        for facet, difference in example["facets"].items():
            _check_reach(audit, leading, difference, "examples", row, "facets", facet)
        for k, answer in enumerate(example["answers"]):
            value = answer["value"]
            check_scale(value, *audit.scale(leading), "examples", row, "answers", k, "value")
    for cell, record in audit.verdicts.items():
        for index, score in enumerate(record["values"]):
            check_scale(score, *audit.scale(leading), "verdicts", cell, "values", index)
    for row, tool in enumerate(audit.tools):
        bounded_counts.append((tool["compared"], n, ("tools", row, "compared")))
        bounded_counts.append((tool["hqm_scored"], tool["compared"], ("tools", row, "hqm_scored")))
    for number, maximum, value_path in bounded_counts:
        check_scale(number, 0, maximum, *value_path)


def check_benchmark(audit: BenchmarkAudit) -> BenchmarkAudit:
    """Hold what stands in one place of an audit against what stands in another."""
    if audit.reference not in audit.cells:
        raise wrong("it is none of the administrations in cells", "reference")
    # Respondents first, since the checks that follow read their scores in every administration.
    for row in range(len(audit.respondents)):
        _check_respondent(audit, row)
    unknown_names = audit.families.keys() - set(audit.names)
    if unknown_names:
        raise wrong("it is none of the respondents", "families", min(unknown_names))
    for metric in audit.budget:
        _check_budget(audit, metric)
    for metric, metric_row in audit.metrics.items():
        scale = audit.scale(metric)
        check_equal([*metric_row.get("scale", scale)], [*scale], "metrics", metric, "scale")
    for row, estimate in enumerate(audit.all_estimates):
        _check_range(audit, estimate, "estimates", row)
        _check_recomputed(audit, estimate, "estimates", row)
    _check_left_out(audit)
    _check_counts(audit)
    return audit


# --- The audit ---


@dataclass(frozen=True)
class BenchmarkAudit(frames.AsFrames):
    """All that was estimated of one benchmark."""

    __pydantic_config__ = EXACT_FIELDS
    benchmark: Name
    title: Name
    version: Name
    task: Task
    scoring: AddressedName
    parser: AddressedName
    summary: Summary
    reference: Administration
    n_items: Annotated[Count, Field(alias="items")]
    images: Count
    metrics: Annotated[
        Mapping[str, Annotated[Mapping[str, Any], MappingOf(MetricRow)]], Field(min_length=1)
    ]
    """Audited metric -> what it is, which direction is better, and its scale."""
    forms: Mapping[str, Annotated[FormRow, MappingOf(FormRow)]]
    truth_yes: Mapping[str, Share]
    """Form -> the share of questions whose right answer is yes; empty for other tasks."""
    cells: Annotated[tuple[Administration, ...], Field(min_length=1)]
    respondents: tuple[RespondentScores, ...]
    all_estimates: Annotated[
        tuple[
            Annotated[
                Estimate,
                BeforeValidator(estimate_fields),
                AfterValidator(check_estimate),
                PlainSerializer(Estimate.to_dict),
            ],
            ...,
        ],
        Field(alias="estimates"),
    ]
    coverage: Mapping[str, Annotated[CoverageRow, MappingOf(TypeCoverage, "state")]]
    findings: tuple[Annotated[FindingRow, MappingOf(FindingRow)], ...]
    flags: tuple[Annotated[Mapping[str, object], MappingOf(FlagRow)], ...] = ()
    """What the audit warns of by itself: flag, metric, what it concerns, a sentence, and what to
    do.
    """
    families: Mapping[str, str] = field(default_factory=dict)
    """Respondent -> family, where some are relatives."""
    examples: tuple[Annotated[ExampleRow, MappingOf(Example)], ...] = ()
    """The items on which administrations, judges or labellers disagree most, with all answers."""
    to_read: tuple[Annotated[ReadingRow, MappingOf(ReadingRow)], ...] = ()
    """The items that a person should read first, with picture, question, key, who fails them, and
    the chance of a fault.
    """
    shown_items: Annotated[
        tuple[Annotated[PairRow, MappingOf(PairRow)], ...], Field(alias="pairs")
    ] = ()
    """One item of each type as it is asked: picture, question, options and key."""
    release: Mapping[str, str] = field(default_factory=dict)
    """What the card says of the release: `citation`, `url`, `licence`."""
    left_out: Annotated[Mapping[str, Any], MappingOf(LeftOutRows)] = field(default_factory=dict)
    """The scores with each picture left out, for `hqm compare`; `auditor.read` reads them."""
    components: Mapping[str, Annotated[Row, AfterValidator(check_components)]] = field(
        default_factory=dict
    )
    """Audited metric -> variance components, for `hqm design` (`study_records.read_components`)."""
    stopped: Annotated[Mapping[str, Any], MappingOf(StoppedRow | NoRow)] = field(
        default_factory=dict
    )
    """Where a rule stopped the asking (`--until`): rule, pictures and items used, and a row for
    each respondent.
    """
    verdicts: Mapping[Administration, Annotated[VerdictRow, MappingOf(VerdictRow)]] = field(
        default_factory=dict
    )
    """Administration -> verdicts (`verdict_records.unpack_verdicts`); empty before 0.3.0."""
    tools: tuple[Annotated[ToolRow, MappingOf(ScoreComparison)], ...] = ()
    """Where the tools that recorded answers score them differently from HQM
    (`ScoreComparison.to_dict`).
    """
    analyses: tuple[
        Annotated[AnalysisRow, MappingOf(Analysis, "drawn"), AfterValidator(check_analysis)],
        ...,
    ] = ()
    """The benchmark's own further tables (`Analysis.to_dict`)."""
    budget: Mapping[str, ErrorBudget] = field(default_factory=dict)
    """Audited metric -> its error budget; empty in an audit of an earlier version."""
    mend: tuple[Remedy, ...] = ()
    """What is to be mended, the gravest first; by the default policy, as `answers` is."""
    answers: Mapping[Question, AnswerCode] = field(default_factory=dict)
    """The answers to the seven questions, as codes."""
    scales: Mapping[str, Ends] = field(default_factory=dict)
    """Metric -> the least and the greatest score, where it has them, of every metric."""
    procedure: AddressedName = ""
    """What made all numbers but the estimates, with its version."""

    def scale(self, metric: str) -> Ends:
        """Return the least and the greatest score of a metric; None where there is no end."""
        audited_scale: Ends = self.metrics.get(metric, {}).get("scale", (None, None))
        return self.scales.get(metric, audited_scale)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the respondents, in their order."""
        return tuple(respondent.name for respondent in self.respondents)

    def scores_by_name(self, metric: str) -> dict[str, float | None]:
        """Return respondent -> its score in the reference administration, or None."""
        return {respondent.name: respondent.scores.get(metric) for respondent in self.respondents}

    def present_scores(self, metric: str) -> list[float]:
        """Return the scores in the reference administration, of respondents that have one."""
        return [score for score in self.scores_by_name(metric).values() if score is not None]

    def select_estimates(
        self,
        indicator: str | None = None,
        metric: str | None = None,
        administration: str | None = None,
    ) -> list[Estimate]:
        """Return the estimates of an indicator, metric and other administration; None is any."""
        return [
            estimate
            for estimate in self.all_estimates
            if indicator in (None, estimate.indicator)
            and metric in (None, estimate.metric)
            and administration in (None, estimate.other)
        ]

    @property
    def items_used(self) -> int:
        """Number of items that the estimates use: all, unless a rule stopped the asking."""
        return int(self.stopped.get("items", self.n_items))

    @property
    def state_counts(self) -> dict[str, dict[str, int]]:
        """Administration -> state -> number of answers of all respondents."""
        counts: dict[str, Counter[str]] = {cell: Counter() for cell in self.cells}
        for respondent in self.respondents:
            for cell, states in respondent.states.items():
                counts.setdefault(cell, Counter()).update(states)
        return {cell: dict(states) for cell, states in counts.items()}

    def estimate(self, indicator: str, metric: str | None = None) -> Estimate:
        """Return the first estimate of this indicator (and metric).

        Raises
        ------
        DesignError
            There is no such estimate; or an average over error sources is asked for, which does not
            exist.
        """
        # Errors of reruns, wordings, items and people have other causes and other remedies: no
        # average of their coefficients exists, and no grade.
        if indicator.rpartition(".")[2] in ("average", "reliability_average", "overall", "grade"):
            raise DesignError(
                f"{indicator!r} would average different things",
                remedy=f"AVERAGED_COEFFICIENTS: {FLAGS['AVERAGED_COEFFICIENTS']}.",
            )
        for estimate in self.all_estimates:
            if estimate.indicator == indicator and metric in (None, estimate.metric):
                return estimate
        raise DesignError(
            f"{self.benchmark} has no estimate {indicator!r}",
            remedy="Its `estimates` is a frame of those that it has.",
        )

    def error_budget(self, metric: str | None = None) -> ErrorBudget:
        """Return all sources of error on one scale, and the gaps of the leaderboard beside them.

        Parameters
        ----------
        metric
            An audited metric; the leading one unless given.

        Raises
        ------
        DesignError
            An earlier version made the audit, or the metric is none of its own.
        """
        metric = metric or next(iter(self.metrics))
        if metric not in self.budget:
            raise DesignError(
                f"this audit of {self.benchmark} has no error budget of {metric!r}",
                remedy=f"It has those of: {', '.join(self.budget) or 'none'}. Make it again with"
                " `hqm audit NAME`.",
            )
        return self.budget[metric]

    def plot(self, name: str = "error_budget") -> Figure:
        """Return a figure for a paper, as an object of matplotlib, a column wide.

        Parameters
        ----------
        name
            `error_budget`, `leaderboard`, `types`, `rank_flips` or `items`.

        Raises
        ------
        UsageError
            There is no such figure, or matplotlib is not installed.
        DesignError
            The audit has nothing of what the figure shows.
        """
        return Audit((self,)).plot(name)

    @property
    def statement(self) -> Statement:
        """The line that a table's caption says of the reliability of these scores."""
        # Reports stand above audits, which reach them by name and import none of them.
        statement: Statement = import_module("hqm.reports.pages.sentences").statement(self)
        return statement

    @property
    def verdict(self) -> str:
        """What the audit comes to, in one sentence."""
        text: str = import_module("hqm.reports.pages.sentences").headline(self).text
        return text

    def __repr__(self) -> str:
        text: str = import_module("hqm.reports.pages.benchmark_card").brief(self, 80)
        return text

    def __dir__(self) -> Iterable[str]:
        return frames.ASKED_NAMES

    @property
    def evidence(self) -> frames.AuditEvidence:
        """All that the audit holds, by the names that `audit.json` has."""
        return frames.AuditEvidence(self)

    def _repr_html_(self) -> str:
        """Return the report, as a notebook shows it."""
        return Audit((self,))._repr_html_()

    @with_renamed_keywords(what="table")
    def to_frame(self, table: frames.Table = "estimates") -> pd.DataFrame:
        """Return the audit as a tidy pandas frame.

        Parameters
        ----------
        table
            `estimates`: one row an estimate and kind of interval (`inference`); one that has no
            interval stands once, with an empty `inference`. `group` is `all`, or the respondent
            where the estimate has a value for each. `scores`: one row a respondent, administration
            and metric. `states`: one row a respondent, administration and state, with the number of
            answers. `items`: one row an item whose answers vary, and one that a person should
            read, with the reason (`why`). `reliability` and `wording`: the estimates of reruns and
            internal consistency, and of other wordings. `pairs`: one row a pair of neighbours on
            the leaderboard, with whether they differ on new items. `types`: one row a respondent
            and type, with its score.

        Numbers are as they were computed, never rounded; one that does not exist is NaN, and
        `status` and `reason` say why.
        """
        if table not in frames.TABLES:
            raise UsageError(
                f"there is no table {table!r} of an audit",
                remedy=f"It has {', '.join(frames.TABLES)}.",
            )
        rows: Iterable[Mapping[str, object]]
        if table == "estimates" or table in frames.ESTIMATE_GROUPS:
            # Every indicator begins with the empty text.
            prefixes = frames.ESTIMATE_GROUPS.get(table, "")
            estimate_rows: list[Mapping[str, object]] = []
            for estimate in self.all_estimates:
                if estimate.indicator.startswith(prefixes):
                    estimate_rows += frames.estimate_rows(self.benchmark, estimate)
            rows = estimate_rows
        elif table == "items":
            rows = frames.item_map_rows(self.benchmark, self.all_estimates, self.to_read)
        elif table == "pairs":
            metric = next(iter(self.metrics))
            rows = frames.pair_rows(self.benchmark, metric, self.scale(metric), self.all_estimates)
        elif table == "types":
            rows = frames.type_rows(self.benchmark, self.respondents)
        elif table == "scores":
            rows = frames.score_rows(
                self.benchmark, self.reference, self.families, self.respondents
            )
        else:
            rows = frames.state_rows(self.benchmark, self.respondents)
        return frames.frame(rows, frames.TABLES[table])

    def to_dict(self) -> dict[str, object]:
        """Return the audit as `audit.json` has it."""
        data = _AUDIT.dump_python(Audit((self,)), by_alias=True, warnings=False)
        return dict(data["audits"][0])

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> BenchmarkAudit:
        """Read one benchmark's part of an `audit.json`."""
        return _read(TypeAdapter(cls), data)


@dataclass(frozen=True)
class Audit(frames.AsFrames):
    """The audits of one command, with the record of how they were made."""

    __pydantic_config__ = EXACT_FIELDS
    audits: Annotated[
        tuple[Annotated[BenchmarkAudit, AfterValidator(check_benchmark)], ...], Field(min_length=1)
    ]
    command: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    hqm_version: str = __version__

    def __post_init__(self) -> None:
        check_no_duplicates(self.audits)

    @property
    def verdict(self) -> str:
        """What each benchmark comes to, a line each."""
        return "\n".join(audit.verdict for audit in self.audits)

    @property
    def statement(self) -> str:
        """The reliability statement of each benchmark, a line each."""
        return "\n".join(str(audit.statement) for audit in self.audits)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.audits))

    def _repr_html_(self) -> str:
        """Return the report, as a notebook shows it."""
        page: str = import_module("hqm.reports.pages.report_page").in_a_notebook(self)
        return page

    def plot(self, name: str = "error_budget") -> Figure:
        """Return a figure with a panel for each benchmark; see `BenchmarkAudit.plot`."""
        figure: Figure = import_module("hqm.reports.figures.plots").plot(self.audits, name)
        return figure

    @with_renamed_keywords(what="table")
    def to_frame(self, table: frames.Table = "estimates") -> pd.DataFrame:
        """All benchmarks of the audit as one tidy pandas frame; see `BenchmarkAudit.to_frame`."""
        import pandas as pd

        return pd.concat([audit.to_frame(table) for audit in self.audits], ignore_index=True)

    def to_json(self) -> str:
        """Return the text of `audit.json`."""
        data = _AUDIT.dump_python(self, by_alias=True, warnings=False)
        for audit in data["audits"]:
            for name in ("verdicts", "procedure"):
                # An empty record is one that an earlier version did not write.
                if not audit[name]:
                    del audit[name]
            if not audit["budget"]:
                # an earlier version made it: it is written as it was read
                del audit["budget"], audit["mend"], audit["answers"], audit["scales"]
        # What made the file stands before what is in it, so that the first lines of a large one say
        # it.
        ordered = {name: data[name] for name in ("hqm_version", "command", "record", "audits")}
        return json.dumps(ordered, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def json_schema(cls) -> dict[str, object]:
        """Return the JSON schema of `audit.json`."""
        schema = _AUDIT.json_schema()
        stored = STORED_ESTIMATE.json_schema()
        # The file writes an estimate's intervals, methods and details in another shape than the
        # class has them.
        schema["$defs"] |= stored["$defs"]
        estimate = schema["$defs"]["Estimate"]
        estimate["properties"] |= stored["properties"]
        estimate["required"] = list(estimate["properties"])
        return schema

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Audit:
        """Read the data of an `audit.json`."""
        return _read(_AUDIT, data)

    @classmethod
    def load(cls, path: Path | str) -> Audit:
        """Read an `audit.json`.

        Raises
        ------
        DataError
            The file is no audit, a later version wrote it, or a value is wrong; the sentence has
            its path.
        """
        return _read(_AUDIT, read_json(path), str(path))


_AUDIT = TypeAdapter(Audit)
_Value = TypeVar("_Value")
REMAKE_ADVICE = "Make it again with `hqm audit NAME`; an audit is not meant to be edited."


def _read(tree: TypeAdapter[_Value], data: object, location: str = "") -> _Value:
    """Return the value that the data holds, or raise a `DataError` that names the first fault."""
    try:
        if tree is _AUDIT:
            _check_file(data, location)
        check_values(data, ())
        return tree.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = (*first["loc"], *first.get("ctx", {}).get("path", ()))
        reason = _PLAIN_WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
    except PydanticCustomError as error:
        context = error.context or {}
        path = context["path"]
        reason = context["what"]
    except DataError as error:
        if error.location.startswith(location):
            raise
        reason = f"{error.location}: {error.message}"
        raise DataError(reason, location=location, remedy=error.remedy) from None
    remedy = REMAKE_ADVICE
    version = data.get("hqm_version") if isinstance(data, dict) else None
    if isinstance(version, str) and version != __version__:
        remedy = (
            f"HQM {version:.40} wrote it: make it again with `hqm audit NAME`, which asks nothing"
            " that its store holds."
        )
    raise DataError(f"the key {_path(path)!r} is wrong: {reason}", location=location, remedy=remedy)


_PLAIN_WORDS = {
    "missing": "it is missing",
    "unexpected_keyword_argument": "no audit has it",
    "extra_forbidden": "no audit has it",
}


def _path(keys: Sequence[str | int]) -> str:
    """Write the path of a value as in Python.

    >>> _path(("audits", 0, "estimates", 12, "value"))
    'audits[0].estimates[12].value'
    """
    # Pydantic names the members of a union and the keys of a mapping by types that no file has.
    path_keys = [p for p in keys if isinstance(p, int) or not re.search(r"\[|^_|^NoneType$", p)]
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path_keys).removeprefix(".")


def _check_file(data: object, location: str) -> None:
    """Refuse what is no audit of answers, and what a later version wrote."""
    if not isinstance(data, dict) or "audits" not in data:
        raise DataError("it is no audit of HQM", location=location, remedy=REMAKE_ADVICE)
    audits = data["audits"] if isinstance(data["audits"], list) else []
    if any(isinstance(audit, dict) and "read_as" in audit for audit in audits):
        raise DataError(
            "it is the audit of a published table, which holds no answers",
            location=location,
            remedy="Its own report is made by `hqm table FILE --out FOLDER`.",
        )
    if any(isinstance(audit, dict) and "preferences" in audit for audit in audits):
        raise DataError(
            "it is the audit of pairwise preferences, which holds no answers",
            location=location,
            remedy="Its own report is made by `hqm audit FILE --out FOLDER`.",
        )
    for name in ("hqm_version", "command", "record"):
        if name not in data:
            raise wrong("it is missing", name)
    version = data["hqm_version"]
    if isinstance(version, str) and _numbers(version) > _numbers(__version__):
        raise DataError(
            f"the key 'hqm_version' is wrong: HQM {version:.40} wrote it, which is later than this"
            f" {__version__}",
            location=location,
            remedy='Update with `pip install --upgrade "hqm-audit"`.',
        )


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare it with another."""
    # A file may hold any text here, and Python converts no numbers of more than 4,300 digits.
    return tuple(map(int, re.findall(r"\d{1,9}", version)[:3]))
