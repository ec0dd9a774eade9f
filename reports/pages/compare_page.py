"""A comparison as tables, and as one self-contained page that answers first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hqm.reports.figures.report_figures import (
    axis_end,
    budget_strip,
    coefficients_figure,
    measures_figure,
)
from hqm.reports.latex.latex_tables import number_cell
from hqm.reports.latex.paper import arrow, quality_table, with_rank
from hqm.reports.pages.comparison_answers import (
    difference_in_words,
    forecast_sentences,
    forecast_table,
    indicator_name,
    largest_difference,
    measure_to_report,
    reversed_pairs,
    strongest_claim,
    test_sentences,
    unknown_answers,
)
from hqm.reports.pages.error_picture import MeasuresPicture
from hqm.reports.pages.evidence_page import Subsection, environment
from hqm.reports.pages.phrases import pluralise
from hqm.reports.tables.side_tables import TOOLS_TITLE, harness_tables
from hqm.reports.tables.table import Column, Table, Text, number, short_name

from hqm import Comparison
from hqm.auditing.score_points import Points
from hqm.psychometrics import Coefficient
from hqm.psychometrics.validity.criterion import MetricsBesidePeople


def comparison_tables(comparison: Comparison, *, include_all: bool = True) -> tuple[Table, ...]:
    """Table 1 of a paper, and with `include_all` a table for everything else that was compared;
    tables without rows are left out.
    """
    table = quality_table(comparison.measures, comparison, _protocol(comparison))
    if not include_all:
        return (table,)
    makers = (_differences, _leaderboard, _agreement, forecast_table)
    tables = (table, *(make(comparison) for make in makers), *harness_tables(comparison.tools))
    return tuple(table for table in tables if table.rows)


def p_value_cell(p: float) -> Text:
    """A p-value, with a bound where three digits would say 0.

    >>> p_value_cell(0.00095).text, p_value_cell(0.0421).text
    ('< 0.001', '0.042')
    """
    cell = number_cell(p)
    if cell.value is not None and cell.value < 0.001:
        return replace(cell, text="< 0.001")
    return cell


def _coefficient_cell(coefficient: Coefficient | None) -> Text:
    if coefficient is None:
        return number_cell(None)
    return number_cell(coefficient.value, coefficient.low, coefficient.high)


def _protocol(comparison: Comparison) -> tuple[str, ...]:
    n_respondents = len(comparison.respondents)
    families = len(set(comparison.families.values()))
    # Where every respondent is its own family, the count of families would only repeat their
    # number.
    related = f" of {families} families" if families < n_respondents else ""
    test_note = f"Tested over the same {pluralise(n_respondents, 'respondent')}{related}."
    if not comparison.respondents:
        test_note = "The respondents differ: nothing is tested."
    return (test_note, *(f"{line}." for line in comparison.protocol))


def _differences(comparison: Comparison) -> Table:
    rows = tuple(
        (
            Text(indicator_name(d.indicator)),
            Text("own" if d.length is None else f"{number(d.length, 0)} items"),
            Text(d.first),
            Text(d.second),
            number_cell(d.others.first),
            number_cell(d.others.second),
            number_cell(d.others.difference, d.these.low, d.these.high),
            p_value_cell(d.adjusted_these),
            number_cell(d.others.difference, d.others.low, d.others.high),
            p_value_cell(d.adjusted_others),
        )
        for d in comparison.differences
    )
    fixed_heading = "These respondents (fixed facet)"
    random_heading = "Other respondents (random facet)"
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
            Column("difference", "interval", fixed_heading),
            Column("p (Holm)", "number", fixed_heading),
            Column("difference", "interval", random_heading),
            Column("p (Holm)", "number", random_heading),
        ),
        rows=rows,
        notes=(
            (
                "These respondents: each cluster of items is left out of both measures, which says"
                " what other items would give. Other respondents: each replicate draws the same"
                " respondents for both measures, and relatives together. Intervals: 95%. One"
                " adjustment (Holm) over every test of measures; a difference is tested for these"
                " respondents first, and for others only if it is shown for these. A common length"
                " assumes equally good items (Spearman-Brown)."
            ),
            *(test_sentences(comparison) if rows else ()),
        ),
    )


def beyond_chance(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for every difference that is more than chance, the largest first, with the
    population of its test.
    """
    population_words = {
        (True, True): "for these respondents and for others",
        (True, False): "for these respondents",
        (False, True): "for other respondents",
    }
    sentences = []
    for d in sorted(comparison.differences, key=lambda d: -abs(d.others.difference)):
        # The same level for both, after Holm over all tests, so that no column shows more than the
        # text.
        outcome = d.adjusted_these < 0.05, d.adjusted_others < 0.05
        if outcome not in population_words:
            continue
        if d.length is None:
            length_note = ""
        else:
            length_note = f" at {number(d.length, 0)} items"
        pair = f"{d.first} {number(d.others.first)}, {d.second} {number(d.others.second)}"
        sentences.append(
            f"{indicator_name(d.indicator)}{length_note}: {pair}; they differ"
            f" {population_words[outcome]}."
        )
    for c in comparison.closer:
        if c.adjusted < 0.05:
            # The sign of the difference says which of both is nearer, whichever was named first.
            nearer, farther = (c.first, c.second) if c.test.difference > 0 else (c.second, c.first)
            sentences.append(
                f"{c.criterion} correlates more with {nearer} than with {farther}, for other"
                " respondents."
            )
    return tuple(sentences)


def _leaderboard(comparison: Comparison) -> Table:
    first = comparison.measures[0]
    # By the first measure in every column: other orders are read from their ranks.
    order = sorted(comparison.respondents, key=lambda name: first.sign * -first.scores[name])
    columns = [Column("Respondent", "text")]
    for m in comparison.measures:
        score = Column(f"score{arrow(m.better)}", "interval", m.label)
        columns += [score, Column("ranks", "text", m.label)]
    rows = []
    for name in order:
        entries = [Text(short_name(name))]
        for m in comparison.measures:
            low, high = comparison.ranks.get(m.label, {}).get(name, (0, 0))
            score_cell = number_cell(m.scores[name], *m.intervals.get(name, (None, None)))
            entries += [
                with_rank(score_cell, (low, high), len(order)),
                Text(_rank_range(low, high)),
            ]
        rows.append(tuple(entries))
    return Table(
        "leaderboards",
        "Leaderboards side by side.",
        tuple(columns),
        tuple(rows),
        notes=(
            (
                f"Sorted by {first.label}. Intervals: 95%, over clusters of items. Ranks: those"
                " compatible with tests of all pairs of respondents (Holm over the pairs of all"
                " measures). Bold: no other rank than the first is compatible; underlined: none"
                " but the second."
            ),
        ),
    )


def _rank_range(low: int, high: int) -> str:
    """The ranks that a respondent may have; 0 stands for none."""
    if low < high:
        return f"{low}–{high}"
    return str(low or "–")


def _agreement(comparison: Comparison) -> Table:
    separations = {(s.first, s.second): s for s in comparison.separations}
    rows = []
    for agreement in comparison.agreements:
        pair = separations.get((agreement.first, agreement.second))
        rows.append(
            (
                Text(agreement.first),
                Text(agreement.second),
                _coefficient_cell(agreement.pearson),
                _coefficient_cell(agreement.tau),
                number_cell(agreement.corrected),
                number_cell(None if pair is None else pair.n_both, digits=0),
                number_cell(None if pair is None else len(pair.opposed), digits=0),
                number_cell(None if pair is None else len(pair.only_first), digits=0),
                number_cell(None if pair is None else len(pair.only_second), digits=0),
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
            "r corrected for attenuation: r divided by the root of both test-retest"
            " reliabilities; it exceeds 1 where they are underestimated. A dash means that both"
            " measures were scored from the same answers.",
            "Separated: by the scores' intervals (Holm over the pairs of all measures). This is"
            " cautious, because paired answers would tell more.",
        ),
    )


def _reversed_pair_sentences(comparison: Comparison) -> Sequence[str]:
    """The sentence about pairs in opposite orders, where pairs were tested."""
    if comparison.separations:
        return [reversed_pairs(comparison)]
    return []


def _no_sentences(_comparison: Comparison) -> Sequence[str]:
    return ()


_SECTIONS: dict[str, tuple[tuple[str, ...], Callable[[Comparison], Sequence[str]]]] = {
    "Pairs of measures, tested": (("differences",), test_sentences),
    "Which to trust for whom, at equal cost": (("forecast",), forecast_sentences),
    "Leaderboards, and do they agree?": (("leaderboards", "agreement"), _reversed_pair_sentences),
    TOOLS_TITLE: (("harness", "harness_rows"), _no_sentences),
}
"""Section -> the names of its tables, and what writes its remarks."""


def sections(comparison: Comparison) -> tuple[Subsection, ...]:
    """The evidence, in the order of the questions."""
    tables_by_name = {table.name: table for table in comparison_tables(comparison)}
    subsections = []
    for title, (names, write_remarks) in _SECTIONS.items():
        tables = tuple(tables_by_name[name] for name in names if name in tables_by_name)
        if tables:
            subsections.append(Subsection(title, tables, remarks=write_remarks(comparison)))
    return tuple(subsections)


def strips(comparison: Comparison) -> dict[str, str]:
    """The error budget of every measure that has one, by its name, on one axis, for a narrow
    page.
    """
    budgeted = [(m, m.budget) for m in comparison.measures if m.budget is not None]
    points = {m.label: Points.for_scores(m.scale, m.scores.values()) for m, _ in budgeted}
    # One axis, so that the strips of all measures can be compared.
    end = max((axis_end(budget, points[m.label].factor) for m, budget in budgeted), default=1.0)
    return {m.label: budget_strip(m.label, budget, points[m.label], end) for m, budget in budgeted}


def render(comparison: Comparison) -> str:
    """The comparison as one HTML page without scripts or requests; the same audits give the same
    bytes.
    """
    measures = comparison.measures
    picture = MeasuresPicture.of_measures(measures)
    largest = largest_difference(comparison)
    table = comparison_tables(comparison, include_all=False)[0]
    return (
        environment("report.css")
        .get_template("compare.html")
        .render(
            comparison=comparison,
            strongest=strongest_claim(comparison),
            in_full="" if largest is None else difference_in_words(largest, comparison),
            advice=measure_to_report(comparison) if comparison.differences else None,
            budget_title=picture.title,
            budgets=measures_figure(measures, picture) if picture.sources else "",
            strips=strips(comparison),
            coefficients=coefficients_figure(measures, "The same as coefficients"),
            table=table,
            sections=sections(comparison),
            unknown=unknown_answers(comparison),
            effective="" if comparison.n_effective is None else number(comparison.n_effective, 1),
        )
    )


# --- metrics of a file beside people ---

_STATISTICS = {"pearson": "Pearson", "spearman": "Spearman", "tau_b": "Kendall"}


def people_tables(study: MetricsBesidePeople, unit: str = "picture") -> tuple[Table, ...]:
    """How metrics correlate with people over answers, and which differences are shown.

    Parameters
    ----------
    unit
        What answers belong together by: their picture, or their item where none has a picture.
    """
    order = sorted(study.correlations, key=lambda name: -study.correlations[name].pearson.value)

    def row(name: str) -> tuple[Text, ...]:
        correlations = study.correlations[name]
        return (Text(name), *(_over_pictures(getattr(correlations, s)) for s in _STATISTICS))

    first = Table.for_page(
        "Metrics beside people",
        ("Metric", *_STATISTICS.values()),
        list(map(row, order)),
        (1, 2, 3),
        (
            f"{pluralise(study.n, 'answer')} that every metric and people scored, about"
            f" {pluralise(study.pictures, unit)}; 95% intervals over {unit}s."
            + (f" {study.reason}." if study.reason else ""),
        ),
    )
    rows = [
        (
            Text(f"{row.first} − {row.second}"),
            Text(_STATISTICS[row.statistic]),
            _over_pictures(row.difference),
            p_value_cell(row.p),
        )
        for row in study.differences
    ]
    if not rows:
        return (first,)
    note = f"The same answers and labels; {unit}s left out, p adjusted over the pairs (Holm)."
    columns = ("Difference", "Correlation", "Value", "p")
    return first, Table.for_page("Which metric is closer to people", columns, rows, (2, 3), (note,))


def _over_pictures(value: Coefficient) -> Text:
    interval = value.fixed
    low, high = (value.low, value.high) if interval is None else (interval.low, interval.high)
    return number_cell(value.value, low, high)
