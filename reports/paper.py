"""The tables of a paper on benchmarks: Tables 1 to 5 of the HQM paper (arXiv 2406.17115),
reliability, and the judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from hqm.reports.comparison_answers import mark_apart
from hqm.reports.latex_tables import estimated, measured
from hqm.reports.phrases import Points
from hqm.reports.score_tables import in_order
from hqm.reports.tables import Column, Table, Text, cell, clusters, find, leading, short

from hqm import (
    HALLUCINATION_TYPES,
    Audit,
    BenchmarkAudit,
    Cell,
    Comparison,
    DesignError,
    Estimate,
    Measure,
    RespondentScores,
    compare_audits,
    measures_of,
)
from hqm.psychometrics import independent_differences

_Z = 1.959963984540054
_MARKS = (
    "Bold and underlined: best and second best, marked only where every difference from the rest is"
    " more than chance"
)
_LONGEST_TITLE = 50
Tagged = tuple[Text, ...]


def paper_tables(audits: Sequence[Audit], *, every: bool = False) -> tuple[Table, ...]:
    """The table of a paper, or every table that these audits have the numbers for.

    Table 1 has the quality of the benchmarks. With `every`, Table 2 has the yes-ratios of each
    yes/no benchmark, Table 3 length and hallucination of each captioning benchmark, Table 4 the
    types covered, and Table 5 the scores by type of each benchmark with type labels; the tables on
    reliability and on the judge asked again follow.
    """
    own = [benchmark for audit in audits for benchmark in audit.audits]
    first = quality(measures_of(own), _compared(own), _noted(own))
    return (first, *_further(own)) if every else (first,)


def _further(audits: Sequence[BenchmarkAudit]) -> Iterator[Table]:
    for audit in audits:
        if audit.task == "yes_no" and audit.truth_yes:
            yield _yes_ratios(audit)
        if audit.task == "caption":
            yield _lengths(audit)
    yield _types(audits)
    yield from filter(None, (*map(_by_type, audits), reliability(audits), _judge(audits)))


def protocol(audit: BenchmarkAudit) -> str:
    """What was administered, how it was asked and how it was scored."""
    asked = {
        key: sorted(
            {str(r.identity[key]) for r in audit.respondents if r.identity.get(key) is not None}
        )
        for key in ("temperature", "top_p", "max_tokens", "seed")
    }
    sampling = "".join(
        f", {key.replace('_', ' ')} {' and '.join(values)}"
        for key, values in asked.items()
        if values
    )
    judge = Cell.parse(audit.reference).judge
    parts = (
        f"{audit.title} {audit.version}: {len(audit.respondents)} models, {audit.items_used:,}"
        " items",
        "administered as " + ", ".join(cell(name) for name in audit.cells) + sampling,
        f"{audit.scoring} scoring" + (f", answers read by {audit.parser}" if audit.parser else ""),
        f"judged by {judge}" if judge != "rule" else "",
    )
    return "; ".join(filter(None, parts))


def _titled(what: str, audit: BenchmarkAudit) -> str:
    """A caption that names the benchmark, with its title cut where a caption would take more than
    three lines.
    """
    title = (
        audit.title
        if len(audit.title) <= _LONGEST_TITLE
        else f"{audit.title[: _LONGEST_TITLE - 1]}…"
    )
    return f"{what} {title}."


def _noted(audits: Iterable[BenchmarkAudit], *more: str) -> tuple[str, ...]:
    """What stands below a table: how it is read, then what was administered."""
    return (*more, *(f"{protocol(audit)}." for audit in audits))


def _compared(audits: Sequence[BenchmarkAudit]) -> Comparison | None:
    try:
        return compare_audits(audits)
    except DesignError:  # one measure, or no shared respondents: nothing to compare
        return None


TESTED = {
    "test_retest.rho_g": Column("Test-retest rho_G", "interval", "Reliability"),
    "parallel_forms.icc_a1": Column("Parallel forms ICC", "interval", "Reliability"),
    "criterion.pearson": Column("People r", "interval", "Validity"),
}
"""The coefficients of Table 1, with their columns."""


def quality(
    measures: Sequence[Measure], comparison: Comparison | None, notes: Sequence[str] = ()
) -> Table:
    """Table 1, a row a measure: reliability with another seed and another wording, the shift by the
    wording, agreement with people, and the types that may be scored alone.

    Every number is the audit's own, over the respondents of that audit.
    """
    columns = {
        name: [_coefficient(measure.estimate(name)) for measure in measures] for name in TESTED
    }
    marks: tuple[str, ...] = ()
    if comparison is not None and comparison.differences:
        columns = {name: mark_apart(comparison, name, of) for name, of in columns.items()}
        marks = (
            f"{_MARKS} (for other models: at least ten independent shared models, paired resampling"
            " of models, one Holm adjustment over all columns).",
        )
    retest, forms, criterion = columns.values()
    rows = [
        (
            Text(measure.label),
            measured(measure.items, digits=0),
            measured(len(measure.scores), digits=0),
            retest[i],
            forms[i],
            _shift(measure),
            criterion[i],
            Text("–" if measure.types_alone is None else "{} of {}".format(*measure.types_alone)),
        )
        for i, measure in enumerate(measures)
    ]
    of_retest, of_forms, of_people = TESTED.values()
    return Table(
        "table1",
        "Quality of the measures.",
        columns=(
            Column("Measure", "text"),
            Column("Items"),
            Column("Models"),
            of_retest,
            of_forms,
            Column("Shift, points", "interval", "Reliability"),
            of_people,
            Column("Types alone"),
        ),
        rows=tuple(rows),
        notes=(
            "Intervals: 95%, over models, with an asterisk over items for these models alone; “at"
            " least” is a one-sided 95% bound.",
            "rho_G: reliability of one run. ICC: ICC(A,1), agreement. Shift: of the mean score by"
            " the other wording. Types alone: how many have a standard error of .03 or less, are"
            " above chance and leak no answers.",
            *marks,
            "There is no column of averages, because test-retest and parallel forms measure"
            " different errors and their mean measures neither.",
            *notes,
        ),
    )


def _coefficient(estimate: Estimate | None) -> Text:
    """A coefficient with its interval for other models, or else with the one for these alone."""
    if estimate is None:
        return measured(None)
    entry = estimated(estimate, over=("model_population", "fixed_models", "items"))
    alone = estimate.interval("model_population") is None and entry.small
    return replace(entry, small=f"{entry.small}*") if alone else entry


def _shift(measure: Measure) -> Text:
    """The shift of the mean by another wording, or by negated questions where nothing else was
    asked.
    """
    rows = [measure.budget.row(name) for name in ("wording", "negation")] if measure.budget else []
    row = next((row for row in rows if row.shift is not None), None)
    if row is None:
        return measured(None)
    points = Points.of_scores([*measure.scores.values()])
    values = [None if v is None else v * points.factor for v in (row.shift, row.low, row.high)]
    signature = measure.estimate("parallel_forms.mean_shift")
    return measured(
        *values, digits=points.digits, signature=signature.signature if signature else ""
    )


def ranks(audit: BenchmarkAudit, metric: str) -> Mapping[str, tuple[int, int]]:
    """Respondent -> the best and the worst rank that is compatible with tests of the differences.

    The ranks come from the audit's paired tests where it has them, else from the scores' intervals,
    which is more cautious.
    """
    tested = find(audit, "discriminability.separable_pairs", metric)
    if tested is not None and tested.detail.get("ranks"):
        return {name: (int(low), int(high)) for name, (low, high) in tested.detail["ranks"].items()}
    return _ranked(
        {r.name: r.scores.get(metric) for r in audit.respondents},
        errors=_errors(audit, metric),
        better=audit.metrics[metric]["better"],
    )


def _errors(audit: BenchmarkAudit, metric: str) -> dict[str, float]:
    spans = {row.name: row.intervals.get(metric, (None, None)) for row in audit.respondents}
    return {
        name: (high - low) / (2 * _Z)
        for name, (low, high) in spans.items()
        if low is not None and high is not None
    }


def _ranked(
    scores: Mapping[str, float | None], errors: Mapping[str, float], better: str
) -> dict[str, tuple[int, int]]:
    known = {name: score for name, score in scores.items() if score is not None and name in errors}
    # a respondent without an interval could be anywhere, so no rank is certain
    if (
        len(known) < 2
        or len(known) < sum(score is not None for score in scores.values())
        or better == "neither"
    ):
        return {}
    tested = independent_differences(
        list(known.values()), [errors[name] for name in known], higher_is_better=better != "lower"
    )
    return dict(zip(known, tested.rank_intervals, strict=True))


def with_rank(entry: Text, rank: tuple[int, int] | None, many: int) -> Text:
    """A number, marked where it is sure to be the best or the second best of so many."""
    if rank == (1, 1):
        return replace(entry, mark="best")
    # the second of only two respondents is the last, so it is not marked
    return replace(entry, mark="second") if rank == (2, 2) and many > 2 else entry


def _first_other_form(audit: BenchmarkAudit) -> str | None:
    reference = Cell.parse(audit.reference)
    return next(
        (name for name in audit.cells if reference.differing(Cell.parse(name)) == ("form",)), None
    )


def _score_column(audit: BenchmarkAudit, metric: str) -> dict[str, Text]:
    """Every respondent's score in the reference administration, with interval and mark."""
    sure, many = ranks(audit, metric), len(audit.respondents)
    entries = {}
    for r in audit.respondents:
        entry = measured(r.scores.get(metric), *r.intervals.get(metric, (None, None)))
        shown = replace(entry, text=r.printed.get(metric) or entry.text)
        entries[r.name] = with_rank(shown, sure.get(r.name), many)
    return entries


def _by_form(
    audit: BenchmarkAudit,
    title: str,
    second: str,
    values: Callable[[RespondentScores], Mapping[str, float | None]],
    digits: int = 3,
    suffix: str = "",
) -> tuple[list[Column], list[Tagged]]:
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
    metric, other = leading(audit), _first_other_form(audit)
    scores, rows = _score_column(audit, metric), []
    columns = [Column("Model", "text")]
    for name in filter(None, (audit.reference, other)):
        first = name == audit.reference
        group = f"{'Original' if first else cell(name).capitalize()}{suffix}"
        columns += [
            Column(title, "interval" if first else "number", group),
            Column(second, "number", group),
        ]
    for row in in_order(audit):
        beside = values(row)
        entries = [
            Text(short(row.name)),
            scores[row.name],
            measured(beside.get(audit.reference), digits=digits),
        ]
        if other:
            entries += [
                measured(row.cells.get(other, {}).get(metric)),
                measured(beside.get(other), digits=digits),
            ]
        rows.append(tuple(entries))
    return columns, rows


def _yes_ratios(audit: BenchmarkAudit) -> Table:
    """Table 2: does accuracy depend on what is seen, or on a habit of saying yes or no?"""
    columns, rows = _by_form(
        audit, leading(audit), "yes", lambda row: row.yes_ratio, suffix=" form"
    )
    truth = [Text("Ground truth")]
    for name in filter(None, (audit.reference, _first_other_form(audit))):
        truth += [measured(None), measured(audit.truth_yes.get(Cell.parse(name).form))]
    return Table(
        f"table2-{audit.benchmark}",
        _titled("Yes bias on", audit),
        tuple(columns),
        (tuple(truth), *rows),
        notes=_noted(
            [audit],
            "A share of yes above the ground truth is more yes than is right, as a habit of saying"
            " yes (acquiescence) gives; a share below it is more no than is right.",
            f"Intervals: 95%, over {clusters(audit)}.",
            f"{_MARKS} (Holm).",
        ),
    )


def _lengths(audit: BenchmarkAudit) -> Table:
    """Table 3: how much another instruction changes the length of captions, and hallucination with
    it.
    """
    metric = leading(audit)
    title = f"{metric}{arrow(audit.metrics[metric]['better'])}"
    columns, rows = _by_form(audit, title, "words", lambda row: row.words, digits=1)
    return Table(
        f"table3-{audit.benchmark}",
        _titled("Caption length and hallucination under two instructions on", audit),
        tuple(columns),
        tuple(rows),
        notes=_noted(
            [audit],
            "Words: mean length of a caption.",
            f"Intervals: 95%, over {clusters(audit)}.",
            f"{_MARKS} (Holm).",
        ),
    )


def arrow(better: str) -> str:
    """The direction in which a score is better, behind its heading."""
    return {"lower": " ↓", "higher": " ↑"}.get(better, "")


def _types(audits: Sequence[BenchmarkAudit]) -> Table:
    """Table 4: items by hallucination type, and whether the release labels them."""
    return Table(
        "table4",
        "Coverage of hallucination types, in items.",
        columns=(
            Column("Benchmark", "text"),
            *(Column(kind, "number") for kind in HALLUCINATION_TYPES),
        ),
        rows=tuple(
            (
                Text(audit.title),
                *(_items(audit.coverage.get(kind, {})) for kind in HALLUCINATION_TYPES),
            )
            for audit in audits
        ),
        notes=(
            (
                "Number of items known to be of each type. A dash means none; “claimed” means that"
                " the benchmark says it covers the type but labels no item."
            ),
        ),
    )


def _items(kind: Mapping[str, object]) -> Text:
    count = kind.get("items")
    if isinstance(count, int) and count:
        return measured(count, digits=0)
    return Text("claimed") if kind.get("claimed") else measured(None)


def _by_type(audit: BenchmarkAudit) -> Table | None:
    """Table 5: the leaderboard by hallucination type."""
    kinds = [
        kind
        for kind in audit.coverage
        if any(r.by_type.get(kind) is not None for r in audit.respondents)
    ]
    if len(kinds) < 2:
        return None
    metric, many = leading(audit), len(audit.respondents)
    better, errors = audit.metrics[metric]["better"], _errors(audit, metric)
    columns: list[Mapping[str, Text]] = []
    for kind in kinds:
        # fewer items have a larger standard error
        widen = math.sqrt(audit.n_items / max(audit.coverage[kind]["items"], 1))
        scores = {r.name: r.by_type.get(kind) for r in audit.respondents}
        sure = _ranked(scores, {name: error * widen for name, error in errors.items()}, better)
        columns.append(
            {name: with_rank(measured(s), sure.get(name), many) for name, s in scores.items()}
        )
    columns.append(_score_column(audit, metric))
    group = metric + arrow(better)
    heads = (Column("Model", "text"), *(Column(kind, "number", group) for kind in kinds))
    return Table(
        f"table5-{audit.benchmark}",
        _titled(f"{metric} by type on", audit),
        (*heads, Column("overall", "interval", group)),
        tuple(
            (Text(short(r.name)), *(column[r.name] for column in columns)) for r in in_order(audit)
        ),
        notes=_noted(
            [audit],
            f"Overall interval: 95%, over {clusters(audit)}.",
            f"{_MARKS} (Holm; the standard error of a type is that of all items divided by the root"
            " of its share of the items).",
        ),
    )


def reliability(audits: Sequence[BenchmarkAudit]) -> Table:
    """Reliability of one run from the noise of its items, at a common length, with agreement and
    errors in score units.
    """
    retest, parallel = "Test-retest", "Parallel forms"
    wanted = {
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
    return _without_empty(
        Table(
            "reliability",
            "Reliability of the benchmarks.",
            (Column("Benchmark", "text"), Column("Metric", "text"), *wanted.values()),
            rows=tuple(
                (
                    Text(audit.title),
                    Text(metric),
                    *(estimated(find(audit, name, metric)) for name in wanted),
                )
                for audit in audits
                for metric in audit.metrics
            ),
            notes=_noted(
                audits,
                "Intervals: 95%, over models.",
                "Noise floor: the correlation that independent coin flips at each model's own rate"
                " would reach.",
                "SEM: standard error of one run, and MDC95: the difference between two runs that"
                " noise exceeds in 5 of 100 pairs; both pooled over models, of which each has its"
                " own.",
            ),
        )
    )


def _without_empty(table: Table) -> Table:
    """The table without columns of numbers that nobody measured."""
    kept = [
        i
        for i, column in enumerate(table.columns)
        if column.kind == "text" or any(row[i].value is not None for row in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[i] for i in kept),
        rows=tuple(tuple(row[i] for i in kept) for row in table.rows),
    )


def _judge(audits: Sequence[BenchmarkAudit]) -> Table | None:
    """The judge asked again about the same answers: how much of the noise between runs comes from
    the judge.
    """
    wanted = (
        ("r", "judge_consistency.pearson"),
        ("ICC(A,1)", "judge_consistency.icc_a1"),
        ("flips", "judge_consistency.flip_rate"),
        ("judge's share of noise", "judge_consistency.judge_share"),
    )
    rows = []
    for audit in audits:
        for metric in audit.metrics:
            estimates = [find(audit, indicator, metric) for _, indicator in wanted]
            if any(e is not None for e in estimates):
                judge = Cell.parse(audit.reference).judge
                rows.append(
                    (Text(audit.title), Text(metric), Text(judge), *map(estimated, estimates))
                )
    if not rows:
        return None
    judged = [
        audit
        for audit in audits
        if any(e.indicator.startswith("judge_consistency.") for e in audit.all_estimates)
    ]
    return _without_empty(
        Table(
            "judge",
            "The judge asked again about the same answers.",
            columns=(
                Column("Benchmark", "text"),
                Column("Metric", "text"),
                Column("Judge", "text"),
                *(Column(title, "interval") for title, _ in wanted),
            ),
            rows=tuple(rows),
            notes=_noted(judged, "Intervals: 95%, over models."),
        )
    )
