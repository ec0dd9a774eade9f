"""A comparison as tables, and as one self-contained page that answers first.

Tables and the sentences above them stand in one module because each sentence says what its table
shows, from the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hqm.reports.comparison_answers import (
    answers,
    forecast_table,
    forecasts_said,
    indicator_name,
    mark_apart,
    separated,
    strongest,
    tests_said,
)
from hqm.reports.drawings import difference_rows, spans
from hqm.reports.evidence_page import environment
from hqm.reports.latex_tables import Column, Entry, Mark, PaperTable, measured, plain
from hqm.reports.phrases import counted, listed
from hqm.reports.report_figures import axis_end, budget_strip
from hqm.reports.sentences import Points
from hqm.reports.side_tables import harness_tables
from hqm.reports.tables import number, short

from hqm import Comparison
from hqm.psychometrics import Coefficient

_SHOWN_PAIRS = 12


def comparison_tables(comparison: Comparison) -> tuple[PaperTable, ...]:
    """A table for everything that was compared; tables without rows are left out."""
    makers = (
        _indicators,
        _differences,
        _leaderboard,
        _agreement,
        _closer,
        _separation,
        _types,
        _distinct,
        _growth,
        forecast_table,
    )
    tables = (*(make(comparison) for make in makers), *harness_tables(comparison.tools))
    return tuple(table for table in tables if table.rows)


def p_value(p: float) -> Entry:
    """A p-value, with a bound where three digits would say 0.

    >>> p_value(0.00004).text, p_value(0.0421).text
    ('< 0.001', '0.042')
    """
    shown = measured(p)
    return (
        replace(shown, text="< 0.001") if shown.value is not None and shown.value < 0.001 else shown
    )


def _coefficient(coefficient: Coefficient | None) -> Entry:
    return (
        measured(None)
        if coefficient is None
        else measured(coefficient.value, coefficient.low, coefficient.high)
    )


def _respondents(comparison: Comparison) -> str:
    families = len(set(comparison.families.values()))
    related = f" of {families} families" if families < len(comparison.respondents) else ""
    return f"{len(comparison.respondents)} respondents{related}"


def _indicators(comparison: Comparison) -> PaperTable:
    rows = []
    for indicator, by in comparison.indicators.items():
        rows.append(
            (
                plain(indicator_name(indicator)),
                *mark_apart(
                    comparison,
                    indicator,
                    numbers=[_coefficient(by.get(m.label)) for m in comparison.measures],
                ),
            )
        )
    return PaperTable(
        "indicators",
        "Reliability and agreement, side by side.",
        columns=(
            Column("Indicator", "text"),
            *(Column(m.label, "interval") for m in comparison.measures),
        ),
        rows=tuple(rows),
        notes=(
            (
                "Intervals: 95%, resampled respondents. Bold and underlined: best and second best,"
                " where the tests for other respondents separate them from all the rest (Holm)."
                " Whether two intervals overlap is not a test: the respondents are the same."
            ),
            *_protocol(comparison),
        ),
    )


def _protocol(comparison: Comparison) -> tuple[str, ...]:
    return (
        f"The same {_respondents(comparison)} in every measure.",
        *(f"{line}." for line in comparison.protocol),
    )


def _differences(comparison: Comparison) -> PaperTable:
    rows = tuple(
        (
            plain(indicator_name(d.indicator)),
            plain("own" if d.length is None else f"{number(d.length, 0)} items"),
            plain(d.first),
            plain(d.second),
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
    return PaperTable(
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
                "These respondents: each picture is left out of both measures, which says what"
                " other pictures would give. Other respondents: each replicate draws the same"
                " respondents for both measures, and relatives together. Intervals: 95%. One"
                " adjustment (Holm) over every test of measures; a difference is asked of these"
                " respondents first, and of others only if these differ. A common length assumes"
                " equally good items (Spearman-Brown)."
            ),
            *(tests_said(comparison) if rows else ()),
        ),
    )


def beyond_chance(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for every difference that is more than chance, with the population that its test
    is about.
    """
    sentences = []
    for d in comparison.differences:
        if not d.adjusted_these < 0.05 and not d.adjusted_others < 0.05:
            continue
        at = "" if d.length is None else f" at {number(d.length, 0)} items"
        whom = (
            "for these respondents and for others"
            if d.adjusted_others < 0.05
            else "for these respondents"
        )
        if not d.adjusted_these < 0.05:
            whom = "for other respondents"
        pair = f"{d.first} {number(d.others.first)}, {d.second} {number(d.others.second)}"
        sentences.append(f"{indicator_name(d.indicator)}{at}: {pair}; they differ {whom}.")
    for c in comparison.closer:
        if c.adjusted < 0.05:
            nearer, farther = (c.first, c.second) if c.test.difference > 0 else (c.second, c.first)
            sentences.append(
                f"{c.criterion} goes more with {nearer} than with {farther}, for other respondents."
            )
    return tuple(sentences)


def _leaderboard(comparison: Comparison) -> PaperTable:
    ranks = [comparison.ranks.get(m.label, {}) for m in comparison.measures]
    order = sorted(
        range(len(comparison.respondents)),
        key=lambda i: (
            comparison.measures[0].sign * -comparison.measures[0].scores[comparison.respondents[i]]
        ),
    )
    columns = [Column("Respondent", "text")]
    for m in comparison.measures:
        arrow = {"lower": " ↓", "higher": " ↑"}.get(m.better, "")
        columns += [Column("score" + arrow, "interval", m.label), Column("ranks", "text", m.label)]
    rows = []
    for i in order:
        name = comparison.respondents[i]
        entries = [plain(short(name))]
        for m, sure in zip(comparison.measures, ranks, strict=True):
            score = measured(m.scores[name], *m.intervals.get(name, (None, None)))
            low, high = sure.get(name, (0, 0))
            mark: Mark = (
                "best"
                if (low, high) == (1, 1)
                else "second"
                if (low, high) == (2, 2) and len(order) > 2
                else ""
            )
            entries += [
                replace(score, mark=mark),
                plain("–" if not low else str(low) if low == high else f"{low}–{high}"),
            ]
        rows.append(tuple(entries))
    return PaperTable(
        "leaderboards",
        "Leaderboards side by side.",
        tuple(columns),
        tuple(rows),
        notes=(
            (
                f"Sorted by {comparison.measures[0].label}. Intervals: 95%, over pictures. Ranks:"
                " those that are compatible with tests of all pairs of respondents (Holm over the"
                " pairs of all measures). Bold and underlined: first and second, where no other"
                " rank is."
            ),
        ),
    )


def _agreement(comparison: Comparison) -> PaperTable:
    rows = []
    for agreement in comparison.agreements:
        every, half = agreement.subsets.all, agreement.subsets.top_half
        rows.append(
            (
                plain(agreement.first),
                plain(agreement.second),
                _coefficient(agreement.pearson),
                _coefficient(agreement.spearman),
                _coefficient(agreement.tau),
                measured(None) if every is None else measured(every.top_k, digits=1),
                measured(None) if every is None else measured(every.chance, digits=1),
                measured(half.tau if half else None),
                measured(agreement.subsets.tau_range[0]),
                measured(agreement.subsets.tau_range[1]),
                measured(agreement.corrected),
            )
        )
    k = next((a.subsets.all.k for a in comparison.agreements if a.subsets.all is not None), 3)
    return PaperTable(
        "agreement",
        "Do the measures order the respondents alike?",
        columns=(
            Column("First", "text"),
            Column("Second", "text"),
            Column("Pearson r", "interval"),
            Column("Spearman", "interval"),
            Column("tau-b", "interval"),
            Column("shared", "number", f"Best {k}"),
            Column("by chance", "number", f"Best {k}"),
            Column("best half", "number", "tau-b among"),
            Column("halves, low", "number", "tau-b among"),
            Column("high", "number", "tau-b among"),
            Column("r without noise"),
        ),
        rows=tuple(rows),
        notes=(
            (
                f"The same {_respondents(comparison)}. Higher is better after reversal where"
                " needed. Intervals: 95%, over respondents. Halves: the middle 95% of random"
                " halves of the respondents."
            ),
            (
                "r without noise: r divided by the root of both test-retest reliabilities; it"
                " exceeds 1 where they are underestimated. A dash means that both measures were"
                " scored from the same answers."
            ),
        ),
    )


def _closer(comparison: Comparison) -> PaperTable:
    rows = tuple(
        (
            plain(c.criterion),
            plain(c.first),
            plain(c.second),
            measured(c.test.difference),
            measured(c.test.t, digits=2),
            measured(c.test.df, digits=0),
            p_value(c.test.p),
            p_value(c.adjusted),
        )
        for c in comparison.closer
    )
    reasons = tuple(
        dict.fromkeys(
            f"{c.test.reason[:1].upper()}{c.test.reason[1:]}."
            for c in comparison.closer
            if c.test.reason
        )
    )
    return PaperTable(
        "closer",
        "What goes more with one measure than with another?",
        columns=(
            Column("Goes with", "text"),
            Column("First", "text"),
            Column("Second", "text"),
            Column("r, first minus second"),
            Column("t"),
            Column("df"),
            Column("p"),
            Column("p (Holm)"),
        ),
        rows=rows,
        notes=(
            (
                "Williams' test, for other respondents (random facet), relatives counted as the"
                " independent respondents they amount to; adjusted together with the differences."
            ),
            *reasons,
        ),
    )


def _separation(comparison: Comparison) -> PaperTable:
    def in_words(pairs: Sequence[tuple[str, str]]) -> str:
        shown = ", ".join(f"{short(a)} > {short(b)}" for a, b in pairs[:_SHOWN_PAIRS])
        return shown + (
            f" and {len(pairs) - _SHOWN_PAIRS} more" if len(pairs) > _SHOWN_PAIRS else ""
        )

    rows = tuple(
        (
            plain(s.first),
            plain(s.second),
            measured(s.both, digits=0),
            measured(len(s.opposed), digits=0),
            measured(len(s.only_first), digits=0),
            measured(len(s.only_second), digits=0),
            measured(s.neither, digits=0),
        )
        for s in comparison.separations
    )
    notes = []
    for s in comparison.separations:
        for words, pairs in (
            (f"Only {s.first}", s.only_first),
            (f"Only {s.second}", s.only_second),
            (f"{s.first} against {s.second}", s.opposed),
        ):
            notes += [f"{words}: {in_words(pairs)}."] if pairs else []
    notes.append(
        "From the scores' intervals (Holm over the pairs of all measures). This is cautious,"
        " because paired answers would tell more."
    )
    return PaperTable(
        "separation",
        "Pairs of respondents that the measures separate.",
        columns=(
            Column("First", "text"),
            Column("Second", "text"),
            Column("both"),
            Column("in opposite orders"),
            Column("only first"),
            Column("only second"),
            Column("neither"),
        ),
        rows=rows,
        notes=tuple(notes),
    )


def _types(comparison: Comparison) -> PaperTable:
    table = comparison.types
    if table is None or not table.correlations:
        return PaperTable("types", "", (), ())
    names = [
        f"{trait}, {method}" for trait, method in zip(table.traits, table.methods, strict=True)
    ]
    return PaperTable(
        "types",
        "Correlations of the scores by type.",
        columns=(Column("Type, measure", "text"), *(Column(str(i + 1)) for i in range(len(names)))),
        rows=tuple(
            (
                plain(f"{i + 1} {name}"),
                *(measured(r, digits=2) if k < i else plain("") for k, r in enumerate(line)),
            )
            for i, (name, line) in enumerate(zip(names, table.correlations, strict=True))
        ),
        notes=tuple(
            [table.reason]
            if table.reason
            else [
                "Correlations of one type over two measures lie above those of other types"
                f" over the same measures in {table.over_hetero_method[0]} of"
                f" {table.over_hetero_method[1]}, above those of other types within a measure"
                f" in {table.over_hetero_trait[0]} of {table.over_hetero_trait[1]} comparisons."
            ]
        ),
    )


def _distinct(comparison: Comparison) -> PaperTable:
    return PaperTable(
        "distinct",
        "Are two types distinct?",
        columns=(Column("Types", "text"), Column("HTMT", "interval"), Column("Note", "text")),
        rows=tuple(
            (plain(pair), _coefficient(ratio), plain(ratio.reason))
            for pair, ratio in comparison.distinct.items()
        ),
        notes=(
            (
                "Heterotrait-monotrait ratio of the correlations (HTMT); from .85 (or .90) upwards"
                " two types measure one thing."
            ),
        ),
    )


def _growth(comparison: Comparison) -> PaperTable:
    rows = []
    for forecast in comparison.growth:
        grown = [_coefficient(c) for _, c in (*forecast.items, *forecast.seeds)]
        needed = [measured(c.value, digits=0) for _, c in forecast.needed]
        rows.append(
            (
                plain(forecast.measure),
                measured(forecast.length, digits=0),
                _coefficient(forecast.now),
                *grown,
                *needed,
            )
        )
    if not rows:
        return PaperTable("growth", "", (), ())
    first = comparison.growth[0]
    more = [f"+{number(length - first.length, 0)}" for length, _ in first.items]
    return PaperTable(
        "growth",
        "What more items or seeds would bring.",
        columns=(
            Column("Measure", "text"),
            Column("items"),
            Column("now", "interval"),
            *(Column(text, "interval", "With further items") for text in more),
            *(Column(str(k), "interval", "Mean of seeds") for k, _ in first.seeds),
            *(Column(number(t, 2), "number", "Items for") for t, _ in first.needed),
        ),
        rows=tuple(rows),
        notes=(
            (
                f"{indicator_name(first.indicator)}, by the Spearman-Brown formula. Intervals: 95%,"
                " over respondents. The further items are assumed to be as good as the present"
                " ones."
            ),
        ),
    )


_ROWS = 12
"""Tests that one table for a paper has at most: more would not fit a page."""


def printed_tables(comparison: Comparison) -> tuple[PaperTable, ...]:
    """The tables for a paper: a row for each coefficient and each test, so that they fit one
    column, and one question a table.
    """
    made = {table.name: table for table in comparison_tables(comparison)}
    printed: list[PaperTable] = []
    for name, table in made.items():
        if name == "indicators":
            printed.append(_melted(table))
        elif name == "differences":
            printed += _by_population(comparison, table)
        else:
            printed.append(table)
    return tuple(table for table in printed if not table.fold)


def _melted(table: PaperTable) -> PaperTable:
    return replace(
        table,
        columns=(
            Column("Indicator", "text"),
            Column("Measure", "text"),
            Column("value", "interval"),
        ),
        rows=tuple(
            (row[0], plain(column.title), entry)
            for row in table.rows
            for column, entry in zip(table.columns[1:], row[1:], strict=True)
            if entry.value is not None
        ),
    )


def _by_population(comparison: Comparison, table: PaperTable) -> list[PaperTable]:
    """A table for these respondents, and one for others; one for each indicator where all would not
    fit a page.
    """
    labels = [m.label for m in comparison.measures]
    short = dict(zip(labels, without_shared_beginning(labels), strict=True))
    tests = list(zip(comparison.differences, table.rows, strict=True))
    indicators = list(dict.fromkeys(d.indicator for d in comparison.differences))
    groups = [[name] for name in indicators] if len(tests) > _ROWS else [indicators]
    columns = (Column("Difference", "text"), Column("", "interval"), Column("p (Holm)"))
    tables = []
    for name, words, first in (
        ("these", "these respondents, on other pictures", 6),
        ("others", "other respondents", 8),
    ):
        for n, group in enumerate(groups):
            alone = f" in {indicator_name(group[0])}" if len(groups) > 1 else ""
            tables.append(
                PaperTable(
                    name=f"differences-{name}{f'-{n + 1}' if alone else ''}",
                    caption=f"Differences between measures{alone}, for {words}.",
                    columns=columns,
                    rows=tuple(
                        (
                            plain(
                                f"{'' if alone else f'{indicator_name(d.indicator)}: '}{short[d.first]} −"
                                f" {short[d.second]}{'' if d.length is None else f' (at {number(d.length, 0)} items)'}"
                            ),
                            *row[first : first + 2],
                        )
                        for d, row in tests
                        if d.indicator in group
                    ),
                    notes=table.notes if name == "these" and not n else (),
                )
            )
    return tables


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the evidence: a heading, drawings, and tables, each with a sentence that says what
    it shows.
    """

    title: str
    tables: tuple[tuple[PaperTable, str], ...]
    figures: tuple[tuple[str, str], ...] = ()
    """A drawing, and its caption."""


_PARTS: Mapping[str, tuple[str, ...]] = {
    "Reliability": ("differences", "indicators"),
    "Respondents": ("leaderboards", "separation"),
    "Agreement of the measures": ("agreement", "closer"),
    "Types of hallucination": ("types", "distinct"),
    "What more items or seeds would bring": ("growth",),
    "Which to trust for whom, at equal cost": ("forecast",),
}


def parts(comparison: Comparison) -> tuple[Part, ...]:
    """The evidence, in the order of the questions."""
    made = {table.name: table for table in comparison_tables(comparison)}
    known = {name for names in _PARTS.values() for name in names}
    grouped = {**_PARTS, "Scores of other tools": tuple(name for name in made if name not in known)}
    every = []
    for title, names in grouped.items():
        tables = tuple((made[name], shows(comparison, name)) for name in names if name in made)
        if tables:
            every.append(
                Part(title, tables, _figures(comparison) if title == "Reliability" else ())
            )
    return tuple(every)


def _figures(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    labels = [m.label for m in comparison.measures]
    short = dict(zip(labels, without_shared_beginning(labels), strict=True))
    figures = []
    for indicator in dict.fromkeys(d.indicator for d in comparison.differences):
        rows = [
            (
                f"{short[d.first]} − {short[d.second]}",
                d.others.difference,
                (d.these.low, d.these.high),
                (d.others.low, d.others.high),
            )
            for d in comparison.differences
            if d.length is None and d.indicator == indicator
        ]
        name = indicator_name(indicator)
        svg = difference_rows(
            rows,
            "difference of the coefficients (right of 0: the first is higher)",
            f"Differences: {name}",
        )
        if svg:
            caption = (
                f"Differences in {name}. Strong bar: 95% interval for these respondents on other"
                " pictures; thin line: for others like them."
            )
            figures.append((svg, caption))
    for indicator, by in comparison.indicators.items():
        values = [
            (label, by[label]) for label in labels if label in by and math.isfinite(by[label].value)
        ]
        shown = [(short[label], c.value, _finite(c.low), _finite(c.high)) for label, c in values]
        if len(shown) > 1:
            bare = [label for label, _, low, _ in shown if low is None]
            without = (
                f" No interval for {listed(bare)}: too few respondents or families." if bare else ""
            )
            name = indicator_name(indicator)
            figures.append(
                (
                    spans(shown, "coefficient, 95% interval over respondents", name, least=-0.25),
                    f"{name}.{without}",
                )
            )
    return tuple(figures)


def without_shared_beginning(names: Sequence[str]) -> list[str]:
    """Names without what stands before the colon in all of them, so that a drawing has room for
    what tells them apart.

    >>> without_shared_beginning(["Shapes: captions chair_i", "Shapes: yes/no accuracy"])
    ['captions chair_i', 'yes/no accuracy']
    >>> without_shared_beginning(["POPE accuracy", "Shapes: yes/no accuracy"])
    ['POPE accuracy', 'Shapes: yes/no accuracy']
    """
    beginnings = {name.partition(": ")[0] for name in names}
    shared = len(beginnings) == 1 and all(": " in name for name in names)
    return [name.partition(": ")[2] if shared else name for name in names]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def shows(comparison: Comparison, name: str) -> str:
    """What a table shows, in a sentence made from its numbers; empty where there is none to say."""
    return _SHOWN[name](comparison) if name in _SHOWN else ""


def _indicators_show(comparison: Comparison) -> str:
    said = []
    for indicator, by in comparison.indicators.items():
        known = {label: c.value for label, c in by.items() if math.isfinite(c.value)}
        if len(known) > 1:
            best = max(known, key=lambda label: known[label])
            said.append(
                f"{best} has the highest {indicator_name(indicator)} ({number(known[best])})."
            )
    return (
        " ".join(
            [*said[:3], "Whether that is more than chance stands in the table of differences."]
        )
        if said
        else ""
    )


def _leaderboards_show(comparison: Comparison) -> str:
    fixed = {
        label: sum(low == high for low, high in ranks.values())
        for label, ranks in comparison.ranks.items()
    }
    many = len(comparison.respondents)
    said = [
        f"{label} fixes the place of {n} of {counted(many, 'respondent')}"
        for label, n in fixed.items()
    ]
    return (
        f"{'; '.join(said)}; of the others several places remain."
        if said and any(n < many for n in fixed.values())
        else f"{'; '.join(said)}."
        if said
        else ""
    )


def _agreement_shows(comparison: Comparison) -> str:
    known = [a for a in comparison.agreements if math.isfinite(a.tau.value)]
    if not known:
        return ""
    least = min(known, key=lambda a: a.tau.value)
    share = number((1 + least.tau.value) / 2, 2)
    return (
        f"The least alike are {least.first} and {least.second}: tau-b {number(least.tau.value)}, so"
        f" that about {share} of the pairs of respondents stand in the same order."
    )


def _closer_shows(comparison: Comparison) -> str:
    shown = [c for c in comparison.closer if c.adjusted < 0.05]
    tested = sum(math.isfinite(c.adjusted) for c in comparison.closer)
    if not tested:
        return "No test could be made."
    first = [
        f"{c.criterion} goes more with {c.first if c.test.difference > 0 else c.second} than with"
        f" {c.second if c.test.difference > 0 else c.first}"
        for c in shown[:2]
    ]
    return (
        f"{len(shown) or 'None'} of {counted(tested, 'test')} {'is' if len(shown) == 1 else 'are'}"
        f" more than chance{': ' + '; '.join(first) if first else ''}."
    )


def _separation_shows(comparison: Comparison) -> str:
    counts = separated(comparison)
    if not counts:
        return ""
    pairs = next(iter(counts.values()))[1]
    return (
        f"Of {pairs} pairs of respondents,"
        f" {listed([f'{label} separates {n}' for label, (n, _) in counts.items()])}."
    )


def _distinct_shows(comparison: Comparison) -> str:
    known = [c for c in comparison.distinct.values() if math.isfinite(c.value)]
    below = sum(c.high < 0.85 for c in known)
    return (
        f"{below or 'None'} of {counted(len(known), 'pair')} of types"
        f" {'is' if below == 1 else 'are'} shown to be distinct (the whole interval below .85)."
        if known
        else ""
    )


def _growth_shows(comparison: Comparison) -> str:
    said = []
    for forecast in comparison.growth:
        target, items = forecast.needed[0]
        if math.isfinite(items.value):
            said.append(
                f"{forecast.measure} takes about {number(math.ceil(items.value), 0)} items for"
                f" {number(target, 2)} (it has {forecast.length:,})"
            )
    return f"{'; '.join(said)}." if said else ""


_SHOWN: Mapping[str, Callable[[Comparison], str]] = {
    "indicators": _indicators_show,
    "differences": lambda comparison: " ".join(tests_said(comparison)),
    "leaderboards": _leaderboards_show,
    "agreement": _agreement_shows,
    "closer": _closer_shows,
    "separation": _separation_shows,
    "types": lambda comparison: (
        "One type in several measures should correlate more than different types do."
    ),
    "distinct": _distinct_shows,
    "growth": _growth_shows,
    "forecast": lambda comparison: " ".join(forecasts_said(comparison)),
}


def strips(comparison: Comparison) -> list[tuple[str, str]]:
    """The error budget of every measure that has one, on one axis: its name, and the drawing."""
    known = [(m, m.budget) for m in comparison.measures if m.budget is not None]
    points = {m.label: Points.of_scores([*m.scores.values()]) for m, _ in known}
    end = max((axis_end(own, points[m.label].factor) for m, own in known), default=1.0)
    return [(m.label, budget_strip(m.label, own, points[m.label], end)) for m, own in known]


def render(comparison: Comparison) -> str:
    """The comparison as one HTML page without scripts or requests; the same audits give the same
    bytes.
    """
    return (
        environment()
        .get_template("compare.html")
        .render(
            comparison=comparison,
            strongest=strongest(comparison),
            strips=strips(comparison),
            answers=answers(comparison),
            parts=parts(comparison),
            respondents=_respondents(comparison),
            effective="" if comparison.n_effective is None else number(comparison.n_effective, 1),
        )
    )
