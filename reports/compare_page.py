"""A comparison as tables, and as one self-contained page that answers first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hqm.reports.comparison_answers import (
    difference_in_words,
    forecast_table,
    forecasts_said,
    indicator_name,
    largest_difference,
    not_known,
    reversed_pairs,
    strongest,
    tests_said,
    to_report,
)
from hqm.reports.evidence_page import Part, environment
from hqm.reports.latex_tables import measured
from hqm.reports.paper import arrow, quality, with_rank
from hqm.reports.phrases import Points, counted
from hqm.reports.report_figures import (
    axis_end,
    budget_strip,
    coefficients_figure,
    measured_sources,
    measures_figure,
)
from hqm.reports.sentences import SOURCES, largest
from hqm.reports.side_tables import TOOLS_TITLE, harness_tables
from hqm.reports.tables import Column, Table, Text, number, short

from hqm import Comparison, Measure
from hqm.psychometrics import Coefficient, MetricsBesidePeople


def comparison_tables(comparison: Comparison, *, every: bool = True) -> tuple[Table, ...]:
    """Table 1 of a paper, and with `every` a table for everything else that was compared; tables
    without rows are left out.
    """
    first = quality(comparison.measures, comparison, _protocol(comparison))
    if not every:
        return (first,)
    makers = (_differences, _leaderboard, _agreement, forecast_table)
    tables = (first, *(make(comparison) for make in makers), *harness_tables(comparison.tools))
    return tuple(table for table in tables if table.rows)


def p_value(p: float) -> Text:
    """A p-value, with a bound where three digits would say 0.

    >>> p_value(0.00004).text, p_value(0.0421).text
    ('< 0.001', '0.042')
    """
    shown = measured(p)
    return (
        replace(shown, text="< 0.001") if shown.value is not None and shown.value < 0.001 else shown
    )


def _coefficient(coefficient: Coefficient | None) -> Text:
    return (
        measured(None)
        if coefficient is None
        else measured(coefficient.value, coefficient.low, coefficient.high)
    )


def _protocol(comparison: Comparison) -> tuple[str, ...]:
    many, families = len(comparison.respondents), len(set(comparison.families.values()))
    related = f" of {families} families" if families < many else ""
    tested = f"Tested over the same {counted(many, 'respondent')}{related}."
    if not comparison.respondents:
        tested = "The respondents differ: nothing is tested."
    return (tested, *(f"{line}." for line in comparison.protocol))


def _differences(comparison: Comparison) -> Table:
    rows = tuple(
        (
            Text(indicator_name(d.indicator)),
            Text("own" if d.length is None else f"{number(d.length, 0)} items"),
            Text(d.first),
            Text(d.second),
            measured(d.others.first),
            measured(d.others.second),
            measured(d.others.difference, d.these.low, d.these.high),
            p_value(d.adjusted_these),
            measured(d.others.difference, d.others.low, d.others.high),
            p_value(d.adjusted_others),
        )
        for d in comparison.differences
    )
    these, others = "These respondents (fixed facet)", "Other respondents (random facet)"
    return Table(
        "differences",
        "Tests of the differences between measures.",
        columns=(
            Column("Indicator", "text"),
            Column("Length", "text"),
            Column("First", "text"),
            Column("Second", "text"),
            Column("first value"),
            Column("second value"),
            Column("difference", "interval", these),
            Column("p (Holm)", "number", these),
            Column("difference", "interval", others),
            Column("p (Holm)", "number", others),
        ),
        rows=rows,
        notes=(
            (
                "These respondents: each cluster of items is left out of both measures, which says"
                " what other items would give. Other respondents: each replicate draws the same"
                " respondents for both measures, and relatives together. Intervals: 95%. One"
                " adjustment (Holm) over every test of measures; a difference is asked of these"
                " respondents first, and of others only if these differ. A common length assumes"
                " equally good items (Spearman-Brown)."
            ),
            *(tests_said(comparison) if rows else ()),
        ),
    )


def beyond_chance(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for every difference that is more than chance, the largest first, with the
    population that its test is about.
    """
    whom = {
        (True, True): "for these respondents and for others",
        (True, False): "for these respondents",
        (False, True): "for other respondents",
    }
    sentences = []
    for d in sorted(comparison.differences, key=lambda d: -abs(d.others.difference)):
        shown = d.adjusted_these < 0.05, d.adjusted_others < 0.05
        if shown not in whom:
            continue
        at = "" if d.length is None else f" at {number(d.length, 0)} items"
        pair = f"{d.first} {number(d.others.first)}, {d.second} {number(d.others.second)}"
        sentences.append(f"{indicator_name(d.indicator)}{at}: {pair}; they differ {whom[shown]}.")
    for c in comparison.closer:
        if c.adjusted < 0.05:
            nearer, farther = (c.first, c.second) if c.test.difference > 0 else (c.second, c.first)
            sentences.append(
                f"{c.criterion} goes more with {nearer} than with {farther}, for other respondents."
            )
    return tuple(sentences)


def _leaderboard(comparison: Comparison) -> Table:
    first = comparison.measures[0]
    order = sorted(comparison.respondents, key=lambda name: first.sign * -first.scores[name])
    columns = [Column("Respondent", "text")]
    for m in comparison.measures:
        score = Column(f"score{arrow(m.better)}", "interval", m.label)
        columns += [score, Column("ranks", "text", m.label)]
    rows = []
    for name in order:
        entries = [Text(short(name))]
        for m in comparison.measures:
            low, high = comparison.ranks.get(m.label, {}).get(name, (0, 0))
            shown = measured(m.scores[name], *m.intervals.get(name, (None, None)))
            entries += [
                with_rank(shown, (low, high), len(order)),
                Text("–" if not low else str(low) if low == high else f"{low}–{high}"),
            ]
        rows.append(tuple(entries))
    return Table(
        "leaderboards",
        "Leaderboards side by side.",
        tuple(columns),
        tuple(rows),
        notes=(
            (
                f"Sorted by {first.label}. Intervals: 95%, over clusters of items. Ranks:"
                " those that are compatible with tests of all pairs of respondents (Holm over the"
                " pairs of all measures). Bold and underlined: first and second, where no other"
                " rank is."
            ),
        ),
    )


def _agreement(comparison: Comparison) -> Table:
    apart = {(s.first, s.second): s for s in comparison.separations}
    rows = []
    for agreement in comparison.agreements:
        pair = apart.get((agreement.first, agreement.second))
        rows.append(
            (
                Text(agreement.first),
                Text(agreement.second),
                _coefficient(agreement.pearson),
                _coefficient(agreement.tau),
                measured(agreement.corrected),
                measured(None if pair is None else pair.both, digits=0),
                measured(None if pair is None else len(pair.opposed), digits=0),
                measured(None if pair is None else len(pair.only_first), digits=0),
                measured(None if pair is None else len(pair.only_second), digits=0),
            )
        )
    separated = "Pairs of respondents separated"
    return Table(
        "agreement",
        "Do the measures order the respondents alike?",
        columns=(
            Column("First", "text"),
            Column("Second", "text"),
            Column("Pearson r", "interval"),
            Column("tau-b", "interval"),
            Column("r without noise"),
            Column("by both", "number", separated),
            Column("in opposite orders", "number", separated),
            Column("only by first", "number", separated),
            Column("only by second", "number", separated),
        ),
        rows=tuple(rows),
        notes=(
            "Higher is better after reversal where needed. Intervals: 95%, over respondents.",
            "r without noise: r divided by the root of both test-retest reliabilities; it exceeds 1"
            " where they are underestimated. A dash means that both measures were scored from the"
            " same answers.",
            "Separated: by the scores' intervals (Holm over the pairs of all measures). This is"
            " cautious, because paired answers would tell more.",
        ),
    )


_PARTS: dict[str, tuple[tuple[str, ...], Callable[[Comparison], Sequence[str]]]] = {
    "Pairs of measures, tested": (("differences",), lambda made: tests_said(made)),
    "Which to trust for whom, at equal cost": (("forecast",), lambda made: forecasts_said(made)),
    "Leaderboards, and do they agree?": (
        ("leaderboards", "agreement"),
        lambda made: [reversed_pairs(made)] if made.separations else [],
    ),
    TOOLS_TITLE: (("harness", "harness_rows"), lambda made: []),
}


def parts(comparison: Comparison) -> tuple[Part, ...]:
    """The evidence, in the order of the questions."""
    made = {table.name: table for table in comparison_tables(comparison)}
    every = []
    for title, (names, shows) in _PARTS.items():
        tables = tuple(made[name] for name in names if name in made)
        if tables:
            every.append(Part(title, tables, remarks=shows(comparison)))
    return tuple(every)


def budget_heading(measures: Sequence[Measure]) -> str:
    """The largest band of all measures, in one line."""
    bands = {}
    for measure in measures:
        points, budget = Points.of_scores([*measure.scores.values()]), measure.budget
        top = largest(budget.rows) if budget else None
        if top is not None and top.half is not None:
            what = f"{SOURCES[top.source][0].lower()} can move one model of {measure.label}"
            bands[f"{what} by {points.said(top.half)} points"] = top.half * points.factor
    if not bands:
        return "What could move the scores was not measured"
    return f"The largest error: {max(bands, key=lambda words: bands[words])}"


def strips(comparison: Comparison) -> dict[str, str]:
    """The error budget of every measure that has one, by its name, on one axis, for a narrow
    page.
    """
    known = [(m, m.budget) for m in comparison.measures if m.budget is not None]
    points = {m.label: Points.of_scores([*m.scores.values()]) for m, _ in known}
    end = max((axis_end(own, points[m.label].factor) for m, own in known), default=1.0)
    return {m.label: budget_strip(m.label, own, points[m.label], end) for m, own in known}


def render(comparison: Comparison) -> str:
    """The comparison as one HTML page without scripts or requests; the same audits give the same
    bytes.
    """
    title, measures = budget_heading(comparison.measures), comparison.measures
    largest = largest_difference(comparison)
    first = comparison_tables(comparison, every=False)[0]
    return (
        environment("report.css")
        .get_template("compare.html")
        .render(
            comparison=comparison,
            strongest=strongest(comparison),
            in_full="" if largest is None else difference_in_words(largest, comparison),
            advice=to_report(comparison) if comparison.differences else None,
            budget_title=title,
            budgets=measures_figure(measures, title) if measured_sources(measures) else "",
            strips=strips(comparison),
            coefficients=coefficients_figure(measures, "The same as coefficients"),
            table=first,
            parts=parts(comparison),
            not_known=not_known(comparison),
            effective="" if comparison.n_effective is None else number(comparison.n_effective, 1),
        )
    )


# --- metrics of a file beside people ---

_STATISTICS = {"pearson": "Pearson", "spearman": "Spearman", "tau_b": "Kendall"}


def people_tables(study: MetricsBesidePeople) -> tuple[Table, ...]:
    """How metrics correlate with people over answers, and which differences are shown."""
    order = sorted(study.correlations, key=lambda name: -study.correlations[name].pearson.value)
    first = Table.of(
        "Metrics beside people",
        ("Metric", *_STATISTICS.values()),
        [
            (
                Text(name),
                *(_over_pictures(getattr(study.correlations[name], s)) for s in _STATISTICS),
            )
            for name in order
        ],
        (1, 2, 3),
        (
            f"{counted(study.n, 'answer')} that every metric and people scored, about"
            f" {counted(study.pictures, 'picture')}; 95% intervals over pictures."
            + (f" {study.reason}." if study.reason else ""),
        ),
    )
    rows = [
        (
            Text(f"{row.first} − {row.other}"),
            Text(_STATISTICS[row.statistic]),
            _over_pictures(row.difference),
            p_value(row.p),
        )
        for row in study.differences
    ]
    if not rows:
        return (first,)
    note = "The same answers and labels; pictures left out, p adjusted over the pairs (Holm)."
    columns = ("Difference", "Correlation", "Value", "p")
    return first, Table.of("Which metric is closer to people", columns, rows, (2, 3), (note,))


def _over_pictures(value: Coefficient) -> Text:
    ends = value.fixed
    low, high = (value.low, value.high) if ends is None else (ends.low, ends.high)
    return measured(value.value, low, high)
