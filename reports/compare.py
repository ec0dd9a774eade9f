"""A comparison as tables, and as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hqm.reports.layout import Column, Entry, Mark, PaperTable, measured, plain
from hqm.reports.names import FAMILIES, statistic_name
from hqm.reports.plots import indicators_drawn
from hqm.reports.tables import number, short

from hqm import Comparison
from hqm.psychometrics import Coefficient

_SHOWN_PAIRS = 12


def comparison_tables(comparison: Comparison) -> tuple[PaperTable, ...]:
    """A table for everything that was compared; tables without rows are left out."""
    makers = (_indicators, _differences, _leaderboard, _agreement, _closer, _separation, _types, _distinct, _growth)
    tables = (make(comparison) for make in makers)
    return tuple(table for table in tables if table.rows)


def indicator_name(indicator: str) -> str:
    """An indicator in words.

    >>> indicator_name("test_retest.icc_a1")
    'Test-retest, ICC(A,1), agreement'
    """
    family, _, statistic = indicator.partition(".")
    return f"{FAMILIES.get(family, family)}, {statistic_name(statistic)}"


def p_value(p: float) -> Entry:
    """A p-value, with a bound where three digits would say 0.

    >>> p_value(0.00004).text, p_value(0.0421).text
    ('< 0.001', '0.042')
    """
    shown = measured(p)
    return replace(shown, text="< 0.001") if shown.value is not None and shown.value < 0.001 else shown


def _coefficient(coefficient: Coefficient | None) -> Entry:
    return measured(None) if coefficient is None else measured(coefficient.value, coefficient.low, coefficient.high)


def _respondents(comparison: Comparison) -> str:
    families = len(set(comparison.families.values()))
    related = f" of {families} families" if families < len(comparison.respondents) else ""
    return f"{len(comparison.respondents)} respondents{related}"


def _indicators(comparison: Comparison) -> PaperTable:
    rows = []
    for indicator, by in comparison.indicators.items():
        numbers = [_coefficient(by.get(m.label)) for m in comparison.measures]
        rows.append((plain(indicator_name(indicator)), *_marked(comparison, indicator, numbers)))
    caption = (
        f"Indicators side by side, over the same {_respondents(comparison)}. "
        + ". ".join(comparison.protocol)
        + ". Intervals: 95%, resampled "
        "respondents. Bold and underlined: best and second best, where the tests for other respondents separate them from all the rest (Holm)."
    )
    columns = (Column("Indicator", "text"), *(Column(m.label, "interval") for m in comparison.measures))
    notes = (
        "Do not compare measures by whether their intervals overlap: the respondents are the same, so read the tests of the differences.",
    )
    return PaperTable("indicators", caption, columns, tuple(rows), notes)


def _marked(comparison: Comparison, indicator: str, numbers: Sequence[Entry]) -> list[Entry]:
    labels = [m.label for m in comparison.measures]
    known = sorted((i for i, e in enumerate(numbers) if e.value is not None), key=lambda i: -(numbers[i].value or 0.0))

    def apart(i: int, others: Sequence[int]) -> bool:
        return bool(others) and all(
            comparison.adjusted_for_others(indicator, labels[i], labels[k]) < 0.05 for k in others
        )

    marked = list(numbers)
    if known and apart(known[0], known[1:]):
        marked[known[0]] = replace(marked[known[0]], mark="best")
        if apart(known[1], known[2:]):
            marked[known[1]] = replace(marked[known[1]], mark="second")
    return marked


def _differences(comparison: Comparison) -> PaperTable:
    rows = tuple(
        (
            plain(indicator_name(d.indicator)), plain("own" if d.length is None else f"{number(d.length, 0)} items"),
            plain(d.first), plain(d.second), measured(d.others.first), measured(d.others.second),
            measured(d.others.difference, d.these.low, d.these.high), p_value(d.adjusted_these),
            measured(d.others.difference, d.others.low, d.others.high), p_value(d.adjusted_others),
        )
        for d in comparison.differences
    )  # fmt: skip
    these, others = "These respondents (fixed facet)", "Other respondents (random facet)"
    columns = (
        Column("Indicator", "text"), Column("Length", "text"), Column("First", "text"), Column("Second", "text"),
        Column("first value"), Column("second value"), Column("difference", "interval", these), Column("p (Holm)", "number", these),
        Column("difference", "interval", others), Column("p (Holm)", "number", others),
    )  # fmt: skip
    caption = (
        f"Tests of the differences over the same {_respondents(comparison)}. These respondents: each picture is left out of both measures; "
        "what other pictures would give. Other respondents: each replicate draws the same respondents for both measures, and relatives "
        "together. Intervals: 95%. One adjustment (Holm) over every test of this page that compares measures; a difference is asked of these "
        "respondents first, and of others only if these differ. A common length assumes equally good items (Spearman-Brown)."
    )
    return PaperTable("differences", caption, columns, rows, tests_said(comparison) if rows else ())


_POPULATIONS = {
    "fixed_models": "For these respondents over other pictures (fixed facet)",
    "model_population": "For other respondents (random facet)",
}


def tests_said(comparison: Comparison) -> tuple[str, ...]:
    """How many tests of each population were made, how many differences are more than chance, and what was not tested."""
    sentences = []
    for population, words in _POPULATIONS.items():
        count = comparison.tests[population]
        if not count.made and not count.not_made:
            continue
        if count.made:
            beyond = "1 is" if count.beyond == 1 else f"{count.beyond or 'none'} {'are' if count.beyond else 'is'}"
            said = f"{words}: of {_tests(count.made)} made, {beyond} more than chance (Holm, 5%)."
        else:
            said = f"{words}: no test was made."
        missing = sum(count.not_made.values())
        reasons = "; ".join(
            reason if n == missing else f"{reason} ({n} of them)" for reason, n in count.not_made.items()
        )
        sentences.append(f"{said} Not made: {_tests(missing)} ({reasons})." if missing else said)
    return tuple(sentences)


def _tests(n: int) -> str:
    return "1 test" if n == 1 else f"{n} tests"


def beyond_chance(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for every difference that is more than chance, with the population that its test is about."""
    sentences = []
    for d in comparison.differences:
        if not d.adjusted_these < 0.05 and not d.adjusted_others < 0.05:
            continue
        at = "" if d.length is None else f" at {number(d.length, 0)} items"
        whom = "for these respondents and for others" if d.adjusted_others < 0.05 else "for these respondents"
        if not d.adjusted_these < 0.05:
            whom = "for other respondents"
        pair = f"{d.first} {number(d.others.first)}, {d.second} {number(d.others.second)}"
        sentences.append(f"{indicator_name(d.indicator)}{at}: {pair}; they differ {whom}.")
    for c in comparison.closer:
        if c.adjusted < 0.05:
            nearer, farther = (c.first, c.second) if c.test.difference > 0 else (c.second, c.first)
            sentences.append(f"{c.criterion} goes more with {nearer} than with {farther}, for other respondents.")
    return tuple(sentences)


def _leaderboard(comparison: Comparison) -> PaperTable:
    ranks = [comparison.ranks.get(m.label, {}) for m in comparison.measures]
    order = sorted(
        range(len(comparison.respondents)),
        key=lambda i: comparison.measures[0].sign * -comparison.measures[0].scores[comparison.respondents[i]],
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
                "best" if (low, high) == (1, 1) else "second" if (low, high) == (2, 2) and len(order) > 2 else ""
            )
            entries += [
                replace(score, mark=mark),
                plain("–" if not low else str(low) if low == high else f"{low}–{high}"),
            ]
        rows.append(tuple(entries))
    caption = (
        f"Leaderboards side by side, sorted by {comparison.measures[0].label}. Intervals: 95%, over pictures. Ranks: those that are "
        "compatible with tests of all pairs of respondents (Holm over the pairs of all measures). Bold and underlined: first and second, where no other rank is."
    )
    return PaperTable("leaderboards", caption, tuple(columns), tuple(rows))


def _agreement(comparison: Comparison) -> PaperTable:
    rows = []
    for agreement in comparison.agreements:
        every, half = agreement.subsets.all, agreement.subsets.top_half
        overlap = measured(None) if every is None else measured(every.top_k, digits=1)
        chance = measured(None) if every is None else measured(every.chance, digits=1)
        rows.append((
            plain(agreement.first), plain(agreement.second), _coefficient(agreement.pearson), _coefficient(agreement.spearman), _coefficient(agreement.tau),
            overlap, chance, measured(half.tau if half else None), measured(agreement.subsets.tau_range[0]),
            measured(agreement.subsets.tau_range[1]), measured(agreement.corrected),
        ))  # fmt: skip
    k = next((a.subsets.all.k for a in comparison.agreements if a.subsets.all is not None), 3)
    columns = (
        Column("First", "text"), Column("Second", "text"), Column("Pearson r", "interval"), Column("Spearman", "interval"),
        Column("tau-b", "interval"), Column("shared", "number", f"Best {k}"), Column("by chance", "number", f"Best {k}"),
        Column("best half", "number", "tau-b among"), Column("halves, low", "number", "tau-b among"),
        Column("high", "number", "tau-b among"), Column("r without noise"),
    )  # fmt: skip
    caption = (
        f"Do the measures order the same {_respondents(comparison)} alike? Higher is better after reversal where needed. Intervals: 95%, over "
        "respondents. Halves: the middle 95% of random halves of the respondents."
    )
    notes = ("r without noise: r divided by the root of both test-retest reliabilities; it exceeds 1 where they are underestimated. "
             "A dash means that both measures were scored from the same answers.",)  # fmt: skip
    return PaperTable("agreement", caption, columns, tuple(rows), notes)


def _closer(comparison: Comparison) -> PaperTable:
    rows = tuple(
        (plain(c.criterion), plain(c.first), plain(c.second), measured(c.test.difference), measured(c.test.t, digits=2),
         measured(c.test.df, digits=0), p_value(c.test.p), p_value(c.adjusted))
        for c in comparison.closer
    )  # fmt: skip
    columns = (Column("Goes with", "text"), Column("First", "text"), Column("Second", "text"),
               Column("r, first minus second"), Column("t"), Column("df"), Column("p"), Column("p (Holm)"))  # fmt: skip
    caption = "Does a measure, or people's judgement of the same answers, correlate more with one measure than with another? Williams' test, for other "
    caption += "respondents (random facet), relatives counted as the independent respondents they amount to; adjusted together with the differences."
    reasons = tuple(
        dict.fromkeys(f"{c.test.reason[:1].upper()}{c.test.reason[1:]}." for c in comparison.closer if c.test.reason)
    )
    return PaperTable("closer", caption, columns, rows, reasons)


def _separation(comparison: Comparison) -> PaperTable:
    def in_words(pairs: Sequence[tuple[str, str]]) -> str:
        shown = ", ".join(f"{short(a)} > {short(b)}" for a, b in pairs[:_SHOWN_PAIRS])
        return shown + (f" and {len(pairs) - _SHOWN_PAIRS} more" if len(pairs) > _SHOWN_PAIRS else "")

    rows = tuple(
        (plain(s.first), plain(s.second), measured(s.both, digits=0), measured(len(s.opposed), digits=0),
         measured(len(s.only_first), digits=0), measured(len(s.only_second), digits=0), measured(s.neither, digits=0))
        for s in comparison.separations
    )  # fmt: skip
    columns = (Column("First", "text"), Column("Second", "text"), Column("both"), Column("in opposite orders"),
               Column("only first"), Column("only second"), Column("neither"))  # fmt: skip
    notes = []
    for s in comparison.separations:
        for words, pairs in ((f"Only {s.first}", s.only_first), (f"Only {s.second}", s.only_second),
                             (f"{s.first} against {s.second}", s.opposed)):  # fmt: skip
            notes += [f"{words}: {in_words(pairs)}."] if pairs else []
    caption = (
        "How many pairs of respondents each measure tells apart, from the scores' intervals (Holm over the pairs of all measures). This is cautious, because "
        "paired answers would tell more."
    )
    return PaperTable("separation", caption, columns, rows, tuple(notes))


def _types(comparison: Comparison) -> PaperTable:
    table = comparison.types
    if table is None or not table.correlations:
        return PaperTable("types", "", (), ())
    names = [f"{trait}, {method}" for trait, method in zip(table.traits, table.methods, strict=True)]
    rows = [
        (plain(f"{i + 1} {name}"), *(measured(r, digits=2) if k < i else plain("") for k, r in enumerate(line)))
        for i, (name, line) in enumerate(zip(names, table.correlations, strict=True))
    ]
    columns = (Column("Type, measure", "text"), *(Column(str(i + 1)) for i in range(len(names))))
    caption = "Correlations of the scores by type: one type in several measures should correlate more than different types do."
    notes = [table.reason] if table.reason else [
        f"Correlations of one type over two measures lie above those of other types over the same measures in {table.over_hetero_method[0]} of {table.over_hetero_method[1]}, above those of other "
        f"types within a measure in {table.over_hetero_trait[0]} of {table.over_hetero_trait[1]} comparisons."
    ]  # fmt: skip
    return PaperTable("types", caption, columns, tuple(rows), tuple(notes))


def _distinct(comparison: Comparison) -> PaperTable:
    rows = tuple((plain(pair), _coefficient(ratio), plain(ratio.reason)) for pair, ratio in comparison.distinct.items())
    caption = "Are two types distinct? Heterotrait-monotrait ratio of their correlations (HTMT); from .85 (or .90) upwards they measure one thing."
    return PaperTable(
        "distinct", caption, (Column("Types", "text"), Column("HTMT", "interval"), Column("Note", "text")), rows
    )


def _growth(comparison: Comparison) -> PaperTable:
    rows = []
    for forecast in comparison.growth:
        grown = [_coefficient(c) for _, c in (*forecast.items, *forecast.seeds)]
        needed = [measured(c.value, digits=0) for _, c in forecast.needed]
        rows.append(
            (plain(forecast.measure), measured(forecast.length, digits=0), _coefficient(forecast.now), *grown, *needed)
        )
    if not rows:
        return PaperTable("growth", "", (), ())
    first = comparison.growth[0]
    more = [f"+{number(length - first.length, 0)}" for length, _ in first.items]
    columns = (
        Column("Measure", "text"), Column("items"), Column("now", "interval"),
        *(Column(text, "interval", "With further items") for text in more),
        *(Column(str(k), "interval", "Mean of seeds") for k, _ in first.seeds),
        *(Column(number(t, 2), "number", "Items for") for t, _ in first.needed),
    )  # fmt: skip
    caption = (
        f"What more items or seeds would bring: {indicator_name(first.indicator)}, by the Spearman-Brown formula. Intervals: 95%, over "
        "respondents. The further items are assumed to be as good as the present ones."
    )
    return PaperTable("growth", caption, columns, tuple(rows))


def render(comparison: Comparison) -> str:
    """The comparison as one HTML page without scripts or requests; the same audits give the same bytes."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = {indicator: indicator_name(indicator) for indicator in comparison.indicators}
    alternative = "; ".join(
        f"{names[indicator]}: " + ", ".join(f"{label} {number(c.value)}" for label, c in by.items())
        for indicator, by in comparison.indicators.items()
    )
    return environment.get_template("compare.html").render(
        comparison=comparison,
        tables=comparison_tables(comparison),
        figure=indicators_drawn(comparison, names),
        alternative=alternative,
        respondents=_respondents(comparison),
        effective="" if comparison.n_effective is None else number(comparison.n_effective, 1),
    )
