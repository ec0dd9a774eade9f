"""The tables of a paper on benchmarks: Tables 1 to 5 of the HQM paper (arXiv 2406.17115),
reliability, and the judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress
from operator import attrgetter, itemgetter

from hqm.reports.figures.drawings import truncate
from hqm.reports.latex.latex_tables import estimate_cell, number_cell
from hqm.reports.pages.comparison_answers import mark_separated
from hqm.reports.tables.score_tables import respondents_in_order
from hqm.reports.tables.table import (
    Column,
    Table,
    Text,
    administration_name,
    clause,
    cluster_noun,
    drop_none,
    find_estimate,
    leading_metric,
    raised_flags,
    short_name,
)

from hqm import HALLUCINATION_TYPES, Audit, BenchmarkAudit, Cell, Comparison, DesignError
from hqm.auditing.audit_rows import RespondentScores
from hqm.auditing.definitions import scored_types, type_scores_by_name
from hqm.auditing.precision import standard_error
from hqm.auditing.score_points import Points
from hqm.comparison.compare import compare_audits
from hqm.comparison.measures import Measure, measures_of
from hqm.indicators.item_coverage import CoverageRow
from hqm.psychometrics import independent_differences
from hqm.scoring.rules import withheld
from hqm.text import DASH

# the 97.5% quantile of the normal distribution
_Z = 1.959963984540054
_MARK_NOTE = (
    "Bold and underlined: best and second best, marked only where every difference from the rest is"
    " more than chance"
)
_TARGET_NOTE = "Intervals: 95%, for these models on new items, with an asterisk for other models."
_MAX_TITLE_CHARS = 50
Cells = tuple[Text, ...]


def paper_tables(audits: Sequence[Audit], *, include_all: bool = False) -> tuple[Table, ...]:
    """The two tables of a paper, or every table that these audits have the numbers for.

    Table 1 has the quality of the benchmarks, and a second one its errors and intervals. With
    `include_all`, Table 2 has the yes-ratios of
    each yes/no benchmark, Table 3 length and hallucination of each captioning benchmark, Table 4
    the types covered, and Table 5 the scores by type of each benchmark with type labels; the tables
    on reliability and on the judge asked a second time follow.
    """
    benchmark_audits = list(chain.from_iterable(map(attrgetter("audits"), audits)))
    measures = measures_of(benchmark_audits)
    errors = quality_table(
        measures,
        _compare_if_possible(benchmark_audits),
        _notes_below(benchmark_audits),
        has_errors=True,
    )
    tables = (
        paper_quality_table(measures, benchmark_audits),
        replace(errors, name="table1-errors", caption="Errors and intervals of the measures."),
    )
    if include_all:
        return (*tables, *_further_tables(benchmark_audits))
    return tables


def _further_tables(audits: Sequence[BenchmarkAudit]) -> Iterator[Table]:
    for audit in audits:
        if audit.task == "yes_no" and audit.truth_yes:
            yield _yes_ratios(audit)
        if audit.task == "caption" and _has_words(audit):
            yield _lengths(audit)
    yield _types(audits)
    yield from filter(None, (*map(_by_type, audits), reliability(audits), _judge(audits)))


def protocol(audit: BenchmarkAudit) -> str:
    """What was administered, how it was asked and how it was scored."""
    sampling = ""
    for key in ("temperature", "top_p", "max_tokens", "seed"):
        settings = drop_none(respondent.identity.get(key) for respondent in audit.respondents)
        values = " and ".join(sorted(set(map(str, settings))))
        sampling += clause(f", {key.replace('_', ' ')} {{}}", values)
    judge = Cell.parse(audit.reference).judge
    parts = [
        f"{audit.title} {audit.version}: {len(audit.respondents)} models, {audit.items_used:,}"
        " items",
        f"administered as {', '.join(map(administration_name, audit.cells))}{sampling}",
        f"{audit.scoring} scoring{clause(', answers read by {}', audit.parser)}",
    ]
    if judge != "rule":
        parts.append(f"judged by {judge}")
    return "; ".join(parts)


def _caption(subject: str, audit: BenchmarkAudit) -> str:
    """A caption that names the benchmark, with its title cut where a caption would take more than
    three lines.
    """
    return f"{subject} {truncate(audit.title, _MAX_TITLE_CHARS)}."


def _notes_below(audits: Iterable[BenchmarkAudit], *leading_notes: str) -> tuple[str, ...]:
    """What stands below a table: how it is read, then what was administered."""
    audits = list(audits)
    return (
        *leading_notes,
        *(f"{protocol(audit)}." for audit in audits),
        *filter(None, map(_withheld_note, audits)),
    )


def _withheld_note(audit: BenchmarkAudit) -> str:
    """How many refused or empty answers are scored, where the audit scores them."""
    if "WITHHELD" not in raised_flags(audit):
        return ""
    n_withheld = sum(withheld(row.states.get(audit.reference, {})) for row in audit.respondents)
    return (
        f"{audit.title}: {n_withheld:,} refused or empty answers are scored, as its release scores"
        " them (WITHHELD)."
    )


def _compare_if_possible(audits: Sequence[BenchmarkAudit]) -> Comparison | None:
    try:
        return compare_audits(audits)
    except DesignError:  # one measure, or no shared respondents: nothing to compare
        return None


PAPER_COLUMNS = {
    "test_retest.pearson": Column("test-retest", "number", "Pearson's r"),
    "parallel_forms.pearson": Column("parallel forms", "number", "Pearson's r"),
    "criterion.pearson": Column("criterion", "number", "Pearson's r"),
}
"""The coefficients of the paper's Table 1, with their columns."""


def paper_quality_table(measures: Sequence[Measure], audits: Sequence[BenchmarkAudit]) -> Table:
    """Table 1 as in the paper, a row a measure: three correlations and the number of hallucination
    types; beside them what this audit adds, the reliability of one run, the agreement of forms and
    the shift by another wording.

    Every row takes one line, so that any number of measures stands in one float; intervals and
    standard errors are in the table of errors.
    """
    counts = {}
    people_notes = []
    for audit in audits:
        counts[audit.benchmark] = _count_types(audit)
        if audit.scoring == "people":
            reason = "scored by people alone, so that no scorer can be compared with them"
            people_notes.append(f"{audit.title}: {reason}.")
    rows = []
    open_marks: dict[str, str] = {}
    for measure in measures:
        criterion, mark = _criterion_cell(measure)
        if mark:
            open_marks[mark] = _CRITERION_MARKS[mark]
        rows.append(
            (
                Text(measure.label),
                _without_interval(estimate_cell(measure.estimate("test_retest.pearson"))),
                _without_interval(estimate_cell(measure.estimate("parallel_forms.pearson"))),
                criterion,
                number_cell(counts.get(measure.benchmark), digits=0),
                _without_interval(estimate_cell(measure.estimate("test_retest.rho_g"))),
                _without_interval(estimate_cell(measure.estimate("parallel_forms.icc_a1"))),
                _without_interval(_shift(measure)),
            )
        )
    addition = "This audit"
    return Table(
        "table1",
        "Quality of the measures.",
        columns=(
            Column("Measure", "text"),
            *PAPER_COLUMNS.values(),
            Column("Types"),
            Column("rho_G", "number", addition),
            Column("ICC(A,1)", "number", addition),
            Column("shift, points", "number", addition),
        ),
        rows=tuple(rows),
        notes=(
            "Pearson's r over models: between two runs, between two wordings, and between scores"
            " and people's labels. Types: hallucination types that items are labelled with. rho_G:"
            " reliability of one run. ICC(A,1): agreement of the wordings. Shift: of the mean score"
            " by the other wording, in points.",
            *open_marks.values(),
            *people_notes,
        ),
        is_single_float=True,
    )


_CRITERION_MARKS = {
    "a": "a: over single answers, as too few models are labelled.",
    "i": "i: over items' means, as too few models are labelled.",
}
"""What stands behind a correlation with people that is not over models, and what it means."""


def _criterion_cell(measure: Measure) -> tuple[Text, str]:
    """The correlation with people over models; where none is known, that over single answers or
    items, with its mark.
    """
    for indicator, mark in (
        ("criterion.pearson", ""),
        ("criterion.answers_pearson", "a"),
        ("criterion.items_pearson", "i"),
    ):
        estimate = measure.estimate(indicator)
        if estimate is not None and estimate.value is not None:
            cell = _without_interval(estimate_cell(estimate))
            return replace(cell, text=f"{cell.text} {mark}".rstrip()), mark
    return number_cell(None), ""


def _without_interval(cell: Text) -> Text:
    return replace(cell, small="")


def _count_types(audit: BenchmarkAudit) -> int | None:
    """The number of hallucination types that items are labelled with."""
    # A benchmark without labels of types has none to count: a dash, and not 0.
    labelled = [kind for kind, row in audit.coverage.items() if row["items"]]
    return len(set(HALLUCINATION_TYPES).intersection(labelled)) or None


_ERROR_COLUMNS = (
    Column("SE of a run, points", "number", "Errors"),
    Column("SE over new items, points", "number", "Errors"),
)
COEFFICIENT_COLUMNS = {
    "test_retest.rho_g": Column("Test-retest rho_G", "interval", "Reliability"),
    "parallel_forms.icc_a1": Column("Parallel forms ICC", "interval", "Reliability"),
    "criterion.pearson": Column("People r", "interval", "Validity"),
}
"""The coefficients of Table 1, with their columns."""


def quality_table(
    measures: Sequence[Measure],
    comparison: Comparison | None,
    notes: Sequence[str] = (),
    *,
    has_errors: bool = False,
) -> Table:
    """The table of errors, a row a measure: reliability with another seed and another wording, the
    shift by the wording, agreement with people, and the types that may be scored alone. With
    `has_errors`, standard errors in points too.

    Every number is the audit's own, over the respondents of that audit.
    """
    columns = {}
    for name in COEFFICIENT_COLUMNS:
        estimates = [measure.estimate(name) for measure in measures]
        columns[name] = list(map(estimate_cell, estimates))
    mark_notes: tuple[str, ...] = ()
    if comparison is not None and comparison.differences:
        for name, entries in columns.items():
            columns[name] = mark_separated(comparison, name, entries)
        mark_notes = (
            f"{_MARK_NOTE} (for other models: at least ten independent shared models, paired"
            " resampling"
            " of models, one Holm adjustment over all columns).",
        )
    rows = []
    error_columns: tuple[Column, ...] = ()
    error_cells: tuple[Text, ...] = ()
    for measure, *coefficients in zip(measures, *columns.values(), strict=True):
        retest, forms, criterion = coefficients
        types_alone = Text(DASH)
        if measure.types_alone is not None:
            types_alone = Text("{} of {}".format(*measure.types_alone))
        if has_errors:
            error_columns = _ERROR_COLUMNS
            error_cells = _points(measure)
        row = (
            Text(measure.label),
            number_cell(measure.items, digits=0),
            number_cell(len(measure.scores), digits=0),
            retest,
            forms,
            _shift(measure),
            *error_cells,
            criterion,
            types_alone,
        )
        rows.append(row)
    retest_column, forms_column, people_column = COEFFICIENT_COLUMNS.values()
    return Table(
        "table1",
        "Quality of the measures.",
        columns=(
            Column("Measure", "text"),
            Column("Items"),
            Column("Models"),
            retest_column,
            forms_column,
            Column("Shift, points", "interval", "Reliability"),
            *error_columns,
            people_column,
            Column("Types alone"),
        ),
        rows=tuple(rows),
        notes=(
            "Intervals: 95%, of reliability and shift for these models on new items, of people for"
            " other models like these, with an asterisk the reverse; “at least” is a"
            " one-sided 95% bound.",
            "rho_G: reliability of one run. ICC: ICC(A,1), agreement. Shift: of the mean score by"
            " the other wording. Types alone: how many are shown to say more than the"
            " total (Haberman 2008), with an error of at most .03 of the scale, above chance and"
            " without a leak.",
            *mark_notes,
            "There is no column of averages, because test-retest and parallel forms measure"
            " different errors and their mean measures neither.",
            *notes,
        ),
    )


def _points(measure: Measure) -> tuple[Text, Text]:
    """The standard error of one run, and that of a score over new items, in points."""
    factor = Points.for_scores(measure.scale, measure.scores.values())
    digits = max(factor.digits, 1)
    sem = measure.estimate("test_retest.sem")
    run_error = number_cell(None)
    if sem is not None and sem.value is not None:
        error = sem.value * factor.factor
        run_error = number_cell(error, digits=digits, signature=sem.signature)
    item_error = standard_error(measure.budget)
    if item_error is None:
        return (run_error, number_cell(None))
    return (run_error, number_cell(item_error * factor.factor, digits=digits))


def _shift(measure: Measure) -> Text:
    """The shift of the mean by another wording, or by negated questions where nothing else was
    asked.
    """
    if not measure.budget:
        return number_cell(None)
    # Negated questions measure another thing than reworded ones, and stand in only where no
    # rewording was asked.
    row = measure.budget.row("wording")
    if row.shift is None:
        row = measure.budget.row("negation")
    if row.shift is None:
        return number_cell(None)
    points = Points.for_scores(measure.scale, measure.scores.values())
    values = [None if v is None else v * points.factor for v in (row.shift, row.low, row.high)]
    signature = ""
    if signed := measure.estimate("parallel_forms.mean_shift"):
        signature = signed.signature
    cell = number_cell(*values, digits=points.digits, signature=signature)
    # The note below the table says that an asterisk means other models.
    if row.inference == "model_population" and cell.small:
        return replace(cell, small=f"{cell.small}*")
    return cell


def ranks(audit: BenchmarkAudit, metric: str) -> Mapping[str, tuple[int, int]]:
    """Respondent -> the best and the worst rank that is compatible with tests of the differences.

    The ranks come from the audit's paired tests where it has them, else from the scores' intervals,
    which is more cautious.
    """
    estimate = find_estimate(audit, "discriminability.separable_pairs", metric)
    if estimate is not None and estimate.detail.get("ranks"):
        return {
            name: (int(low), int(high)) for name, (low, high) in estimate.detail["ranks"].items()
        }
    return _test_ranks(
        audit.scores_by_name(metric),
        errors=_errors(audit, metric),
        better=audit.metrics[metric]["better"],
    )


def _errors(audit: BenchmarkAudit, metric: str) -> dict[str, float]:
    errors = {}
    for respondent in audit.respondents:
        low, high = respondent.intervals.get(metric, (None, None))
        if low is not None and high is not None:
            errors[respondent.name] = (high - low) / (2 * _Z)
    return errors


def _test_ranks(
    scores: Mapping[str, float | None], errors: Mapping[str, float], better: str
) -> dict[str, tuple[int, int]]:
    scored = {name: score for name, score in scores.items() if score is not None and name in errors}
    # a respondent without an interval could be anywhere, so no rank is certain
    if len(scored) < max(2, len(drop_none(scores.values()))) or better == "neither":
        return {}
    # Without verdicts by item the differences cannot be paired, and are taken as those of
    # independent samples.
    comparison = independent_differences(
        list(scored.values()),
        [errors[index] for index in scored],
        higher_is_better=better != "lower",
    )
    return dict(zip(scored, comparison.rank_intervals, strict=True))


def with_rank(entry: Text, rank: tuple[int, int] | None, n_models: int) -> Text:
    """A number, marked where it is certain to be the best or the second best of all respondents."""
    if rank == (1, 1):
        return replace(entry, mark="best")
    # the second of only two respondents is the last, so it is not marked
    if rank == (2, 2) and n_models > 2:
        return replace(entry, mark="second")
    return entry


def _first_other_form(audit: BenchmarkAudit) -> str | None:
    reference = Cell.parse(audit.reference)
    for name in audit.cells:
        # Forms of another run or another judge differ in two facets, and show neither alone.
        if reference.differing(Cell.parse(name)) == ("form",):
            return name
    return None


def _score_column(audit: BenchmarkAudit, metric: str) -> dict[str, Text]:
    """Every respondent's score in the reference administration, with interval and mark."""
    rank_by_name = ranks(audit, metric)
    n_models = len(audit.respondents)
    entries = {}
    for r in audit.respondents:
        entry = number_cell(r.scores.get(metric), *r.intervals.get(metric, (None, None)))
        # A release that rounds has its own digits in its papers: these are kept, the value behind
        # the cell is exact.
        printed = replace(entry, text=r.printed.get(metric) or entry.text)
        entries[r.name] = with_rank(printed, rank_by_name.get(r.name), n_models)
    return entries


def _by_form(
    audit: BenchmarkAudit,
    title: str,
    second: str,
    values: Callable[[RespondentScores], Mapping[str, float | None]],
    digits: int = 3,
    suffix: str = "",
) -> tuple[list[Column], list[Cells]]:
    """Columns and rows of a table that holds two forms side by side.

    Parameters
    ----------
    title
        The heading of the scores.
    second, values, digits
        The heading of what stands beside each score, its values by administration, and its
        decimals.
    suffix
        What the headings of the forms end in.
    """
    metric = leading_metric(audit)
    other_form = _first_other_form(audit)
    scores = _score_column(audit, metric)
    rows = []
    group = f"Original{suffix}"
    columns = [
        Column("Model", "text"),
        Column(title, "interval", group),
        Column(second, "number", group),
    ]
    if other_form:
        group = f"{administration_name(other_form).capitalize()}{suffix}"
        columns += (Column(title, "number", group), Column(second, "number", group))
    for row in respondents_in_order(audit):
        companions = values(row)
        entries = [
            Text(short_name(row.name)),
            scores[row.name],
            number_cell(companions.get(audit.reference), digits=digits),
        ]
        if other_form:
            entries += [
                number_cell(row.cells.get(other_form, {}).get(metric)),
                number_cell(companions.get(other_form), digits=digits),
            ]
        rows.append(tuple(entries))
    return columns, rows


def _yes_ratios(audit: BenchmarkAudit) -> Table:
    """Table 2: does accuracy depend on what is seen, or on a habit of saying yes or no?"""
    columns, rows = _by_form(
        audit, leading_metric(audit), "yes", lambda row: row.yes_ratio, suffix=" form"
    )
    truth = [Text("Ground truth")]
    # The row above the models holds what a respondent that sees everything would show.
    for name in filter(None, (audit.reference, _first_other_form(audit))):
        truth += [number_cell(None), number_cell(audit.truth_yes.get(Cell.parse(name).form))]
    return Table(
        f"table2-{audit.benchmark}",
        _caption("Yes bias on", audit),
        tuple(columns),
        (tuple(truth), *rows),
        notes=_notes_below(
            [audit],
            "A share of yes above the ground truth is more yes than is right, as a habit of saying"
            " yes (acquiescence) gives; a share below it is more no than is right.",
            f"Intervals: 95%, for these models on new items, over {cluster_noun(audit)}.",
            f"{_MARK_NOTE} (Holm over all pairs).",
        ),
    )


def _has_words(audit: BenchmarkAudit) -> bool:
    """Whether captions were recorded, and not their scores alone."""
    return any(row.words.get(audit.reference) for row in audit.respondents)


def _lengths(audit: BenchmarkAudit) -> Table:
    """Table 3: how much another instruction changes the length of captions, and hallucination with
    it.
    """
    metric = leading_metric(audit)
    title = f"{metric}{arrow(audit.metrics[metric]['better'])}"
    columns, rows = _by_form(audit, title, "words", lambda row: row.words, digits=1)
    instructions = " under two instructions" if _first_other_form(audit) else ""
    return Table(
        f"table3-{audit.benchmark}",
        _caption(f"Caption length and hallucination{instructions} on", audit),
        tuple(columns),
        tuple(rows),
        notes=_notes_below(
            [audit],
            "Words: mean length of a caption.",
            f"Intervals: 95%, for these models on new items, over {cluster_noun(audit)}.",
            f"{_MARK_NOTE} (Holm over all pairs).",
        ),
    )


def arrow(better: str) -> str:
    """An arrow in the direction in which a score is better, to stand after its heading."""
    return {"lower": " ↓", "higher": " ↑"}.get(better, "")


def _types(audits: Sequence[BenchmarkAudit]) -> Table:
    """Table 4: items by hallucination type, and whether the release labels them."""
    return Table(
        "table4",
        "Coverage of hallucination types, in items.",
        columns=(Column("Benchmark", "text"), *map(Column, HALLUCINATION_TYPES)),
        rows=tuple(map(_type_counts, audits)),
        notes=(
            (
                "Number of items known to be of each type. A dash means none; “claimed” means that"
                " the benchmark says it covers the type but labels no item."
            ),
        ),
    )


def _type_counts(audit: BenchmarkAudit) -> tuple[Text, ...]:
    counts = [_items(audit.coverage.get(kind)) for kind in HALLUCINATION_TYPES]
    return (Text(audit.title), *counts)


def _items(kind: CoverageRow | None) -> Text:
    if kind is not None and kind["items"]:
        return number_cell(kind["items"], digits=0)
    if kind is not None and kind["claimed"]:
        return Text("claimed")
    return number_cell(None)


def _by_type(audit: BenchmarkAudit) -> Table | None:
    """Table 5: the leaderboard by hallucination type."""
    kinds = scored_types(audit)
    if len(kinds) < 2:
        return None
    metric = leading_metric(audit)
    n_models = len(audit.respondents)
    better = audit.metrics[metric]["better"]
    errors = _errors(audit, metric)
    columns: list[Mapping[str, Text]] = []
    for kind in kinds:
        # fewer items have a larger standard error
        error_factor = math.sqrt(audit.n_items / max(audit.coverage[kind]["items"], 1))
        type_errors = {name: error * error_factor for name, error in errors.items()}
        scores = type_scores_by_name(audit, kind)
        rank_by_name = _test_ranks(scores, type_errors, better)
        cells = {}
        for name, score in scores.items():
            cells[name] = with_rank(number_cell(score), rank_by_name.get(name), n_models)
        columns.append(cells)
    columns.append(_score_column(audit, metric))
    group = metric + arrow(better)
    heads = (Column("Model", "text"), *(Column(kind, "number", group) for kind in kinds))
    rows = []
    for respondent in respondents_in_order(audit):
        cells_of_respondent = map(itemgetter(respondent.name), columns)
        rows.append((Text(short_name(respondent.name)), *cells_of_respondent))
    return Table(
        f"table5-{audit.benchmark}",
        _caption(f"{metric} by type on", audit),
        (*heads, Column("overall", "interval", group)),
        tuple(rows),
        notes=_notes_below(
            [audit],
            f"Overall interval: 95%, for these models on new items, over {cluster_noun(audit)}.",
            f"{_MARK_NOTE} (Holm over all pairs; the standard error of a type is that of all items"
            " divided by the root"
            " of its share of the items).",
        ),
    )


def reliability(audits: Sequence[BenchmarkAudit]) -> Table:
    """Reliability of one run from the noise of its items, at a common length, with agreement and
    errors in score units.
    """
    retest = "Test-retest"
    parallel = "Parallel forms"
    columns = {
        "test_retest.pearson": Column("r", "interval", retest),
        "test_retest.noise_floor": Column("noise floor", "number", retest),
        "test_retest.rho_g": Column("rho_G", "interval", retest),
        "test_retest.rho_g_1000": Column("at 1,000 items", "interval", retest),
        "test_retest.icc_a1": Column("ICC(A,1)", "interval", retest),
        "test_retest.sem": Column("SEM", "number", retest),
        "test_retest.mdc95": Column("MDC95", "number", retest),
        "parallel_forms.pearson": Column("r", "interval", parallel),
        "parallel_forms.icc_a1": Column("ICC(A,1)", "interval", parallel),
        "parallel_forms.mean_shift": Column("shift", "number", parallel),
        "consistency.alpha": Column("alpha", "interval", "Items"),
    }
    rows = []
    for audit in audits:
        for metric in audit.metrics:
            cells = [estimate_cell(find_estimate(audit, name, metric)) for name in columns]
            rows.append((Text(audit.title), Text(metric), *cells))
    return _drop_empty_columns(
        Table(
            "reliability",
            "Reliability of the benchmarks.",
            (Column("Benchmark", "text"), Column("Metric", "text"), *columns.values()),
            rows=tuple(rows),
            notes=_notes_below(
                audits,
                _TARGET_NOTE,
                "Noise floor: the correlation that independent coin flips at each model's own rate"
                " would reach.",
                "SEM: standard error of one run, and MDC95: the difference between two runs that"
                " chance exceeds in 5 of 100 pairs; both pooled over models, of which each has"
                " its own.",
            ),
        )
    )


def _drop_empty_columns(table: Table) -> Table:
    """The table without columns of numbers that hold no value."""
    is_filled = []
    for i, column in enumerate(table.columns):
        values = drop_none(map(attrgetter("value"), table.entries(i)))
        is_filled.append(column.is_text or bool(values))
    return replace(
        table,
        columns=tuple(compress(table.columns, is_filled)),
        rows=tuple(tuple(compress(row, is_filled)) for row in table.rows),
    )


def _judge(audits: Sequence[BenchmarkAudit]) -> Table | None:
    """The judge asked a second time about the same answers: how much of the noise between runs
    comes from the judge.
    """
    statistics = (
        ("r", "judge_consistency.pearson"),
        ("ICC(A,1)", "judge_consistency.icc_a1"),
        ("flips", "judge_consistency.flip_rate"),
        ("judge's share of rerun variance", "judge_consistency.judge_share"),
    )
    rows = []
    judged_audits = []
    for audit in audits:
        if any(e.indicator.startswith("judge_consistency.") for e in audit.all_estimates):
            judged_audits.append(audit)
        for metric in audit.metrics:
            estimates = [find_estimate(audit, name, metric) for _, name in statistics]
            if any(estimates):
                judge = Cell.parse(audit.reference).judge
                rows.append(
                    (Text(audit.title), Text(metric), Text(judge), *map(estimate_cell, estimates))
                )
    if not rows:
        return None
    return _drop_empty_columns(
        Table(
            "judge",
            "The judge asked a second time about the same answers.",
            columns=(
                Column("Benchmark", "text"),
                Column("Metric", "text"),
                Column("Judge", "text"),
                *(Column(title, "interval") for title, _ in statistics),
            ),
            rows=tuple(rows),
            notes=_notes_below(judged_audits, _TARGET_NOTE),
        )
    )
