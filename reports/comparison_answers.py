"""What a comparison says, question by question: which measure has the higher reliability, by how
much, for whom, and which to report.

A difference is called shown where the adjusted test and the interval of the difference agree on it;
each claim names the respondents that its test is about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hqm.reports.latex_tables import Column, Entry, PaperTable, measured, plain
from hqm.reports.phrases import counted, listed
from hqm.reports.tables import FAMILIES, number, short, statistic_name

from hqm import Comparison, Difference, ForecastPair
from hqm.psychometrics import Coefficient, Contest, ReliabilityDifference

Outcome = Literal["first", "second", "not shown", "not tested"]
_CHANCE = 0.05
_PAIRS = 3
"""How many pairs of measures have a sentence of their own; the tables have all."""
_REPEATED = {
    "test_retest": "With another seed",
    "parallel_forms": "With another wording",
    "judge_consistency": "With the judge asked again",
}
"""Families that ask whether a score repeats: where what varies stands in a sentence."""
_BRIEF = {"rho_g": "rho_G", "icc_a1": "ICC(A,1)", "pearson": "r"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A question that a reader of a comparison has, with the answer in a few words and in full."""

    question: str
    verdict: str
    sentences: tuple[str, ...]
    evidence: str = ""
    """The name of the table that has the evidence."""


def answers(comparison: Comparison) -> tuple[Answer, ...]:
    """The first screen of the page."""
    what = compared(comparison)
    return (
        _more_reliable(comparison, what),
        _to_report(comparison, what),
        _closer_to_people(comparison),
        _same_order(comparison),
        _separates(comparison),
        Answer("What is not known?", "", not_known(comparison), "differences"),
    )


def compared(comparison: Comparison) -> str:
    """What the measures are: benchmarks, metrics, parsers, judges or scorings of one benchmark;
    `measure` for a mixture.
    """
    if len({m.benchmark for m in comparison.measures}) > 1:
        return "benchmark" if len({m.metric for m in comparison.measures}) == 1 else "measure"
    words = ("metric", "scoring", "parser", "judge", "version")
    differ = [
        word for word in words if len({m.words.get(word, "") for m in comparison.measures}) > 1
    ]
    return differ[0] if len(differ) == 1 else "measure"


def outcome(test: ReliabilityDifference, adjusted: float) -> Outcome:
    """Which of two measures a test shows to be higher: after adjustment, and with an interval that
    leaves 0 out.
    """
    if not math.isfinite(adjusted):
        return "not tested"
    if adjusted >= _CHANCE or not (test.low > 0 or test.high < 0):
        return "not shown"
    return "first" if test.low > 0 else "second"


def for_whom(difference: Difference) -> tuple[Outcome, Outcome]:
    """What is shown of a difference for these respondents, and for others like them."""
    return outcome(difference.these, difference.adjusted_these), outcome(
        difference.others, difference.adjusted_others
    )


def _of(comparison: Comparison, family: str, *, own: bool = True) -> list[Difference]:
    """The tests of a family at the measures' own lengths, or at a common one."""
    return [
        d
        for d in comparison.differences
        if d.indicator.partition(".")[0] == family and (d.length is None) == own
    ]


def _higher(
    comparison: Comparison, family: str, label: str, other: str, *, others: bool = False
) -> bool:
    """Whether a family shows a measure to be higher than another, for these respondents or for
    others.
    """
    for d in _of(comparison, family):
        if {d.first, d.second} == {label, other}:
            shown = for_whom(d)[1 if others else 0]
            if shown == ("first" if d.first == label else "second"):
                return True
    return False


def most_reliable(comparison: Comparison, *, others: bool = False) -> str:
    """The measure that is shown to repeat better than every other with another seed; empty where
    there is none.
    """
    labels = [m.label for m in comparison.measures]
    for label in labels:
        if all(
            _higher(comparison, "test_retest", label, other, others=others)
            for other in labels
            if other != label
        ):
            return label
    return ""


def _more_reliable(comparison: Comparison, what: str) -> Answer:
    question = f"Which {what} has the higher reliability?"
    retests = _of(comparison, "test_retest")
    these, others = most_reliable(comparison), most_reliable(comparison, others=True)
    if not retests:
        verdict = "Not tested with another seed"
    elif these and these == others:
        verdict = f"{these}, for these respondents and for others like them"
    elif these:
        verdict = f"{these}, for these respondents; for others it is not shown"
    elif others:
        verdict = f"{others}, for other respondents; for these it is not shown"
    else:
        verdict = (
            "Not shown with another seed"
            if any(set(for_whom(d)) != {"not tested"} for d in retests)
            else "Not tested"
        )
    apart = [family for family in _REPEATED if any(map(_shown, _of(comparison, family)))]
    if not (these or others):
        where = [
            varied.lower()
            for family, varied in _REPEATED.items()
            if family in apart and family != "test_retest"
        ]
        verdict += f"; {listed(where)}, differences are shown" if where else ""
    sentences = [_range(comparison)] if len(comparison.measures) > 2 else []
    # what is shown stands before what is not
    for family in sorted(_REPEATED, key=lambda family: family not in apart):
        sentences += _pairs(_of(comparison, family), comparison)
    sentences += _pairs(_of(comparison, "test_retest", own=False), comparison)
    return Answer(question, verdict, tuple(filter(None, sentences)), "differences")


def _range(comparison: Comparison) -> str:
    """The reliability of every measure, where there are more than two."""
    for statistic in ("rho_g", "icc_a1", "pearson"):
        by = comparison.indicators.get(f"test_retest.{statistic}", {})
        known = {label: c for label, c in by.items() if math.isfinite(c.value)}
        if len(known) == len(comparison.measures):
            order = sorted(known, key=lambda label: -known[label].value)
            return (
                f"With another seed, {_BRIEF[statistic]} is"
                f" {listed([f'{number(known[label].value)} ({label})' for label in order])}."
            )
    return ""


def _pairs(tests: Sequence[Difference], comparison: Comparison) -> list[str]:
    """A sentence for each pair of which something is shown, and for the widest apart where nothing
    is; then how many remain.
    """
    if not tests:
        return []
    order = sorted(tests, key=lambda d: (not _shown(d), -abs(d.others.difference)))
    said = max(1, min(_PAIRS, sum(map(_shown, order))))
    sentences = [difference_in_words(d, comparison) for d in order[:said]]
    rest = order[said:]
    if rest:
        shown, pairs = sum(map(_shown, rest)), counted(len(rest), "further pair")
        sentences.append(
            f"Of the {pairs}, {shown} {'differs' if shown == 1 else 'differ'} beyond chance."
            if shown
            else f"Of the {pairs}, a difference is shown for none."
        )
    return sentences


def strongest(comparison: Comparison) -> str:
    """The largest difference that is shown, whatever source of error it belongs to."""
    own = [d for d in comparison.differences if d.length is None and _shown(d)]
    if not own:
        return "No difference between these measures is shown."
    return difference_in_words(max(own, key=lambda d: abs(d.others.difference)), comparison)


def _shown(difference: Difference) -> bool:
    return any(o in ("first", "second") for o in for_whom(difference))


def difference_in_words(d: Difference, comparison: Comparison) -> str:
    """A tested difference: what is shown and for whom, both coefficients, and the difference with
    both intervals.
    """
    family, _, statistic = d.indicator.partition(".")
    varied = _REPEATED.get(family, "In agreement with people's labels")
    at = (
        ""
        if d.length is None
        else f", both brought to {number(d.length, 0)} items (Spearman-Brown)"
    )
    these, others = for_whom(d)
    name = {"first": d.first, "second": d.second}
    less = {"first": d.second, "second": d.first}
    if these in name and others in name and these != others:
        claim = (
            f"{name[these]} is higher for these respondents, {name[others]} for others like them"
        )
    elif these in name:
        also = {
            "not shown": "; for others like them that is not shown",
            "not tested": "; for others it was not tested",
        }
        whom = also.get(others, " and for others like them")
        claim = f"{name[these]} is higher than {less[these]} for these respondents{whom}"
    elif others in name:
        also = {
            "not shown": "; for these that is not shown",
            "not tested": "; for these it was not tested",
        }
        claim = f"{name[others]} is higher than {less[others]} for other respondents{also[these]}"
    elif {these, others} == {"not tested"}:
        claim = f"{d.first} and {d.second} were not tested against each other"
    else:
        claim = f"it is not shown which of {d.first} and {d.second} is higher"
    digits = max(3, _digits(d.these), _digits(d.others))
    numbers = (
        f"{_BRIEF.get(statistic, statistic)} {number(d.others.first, digits)} and"
        f" {number(d.others.second, digits)}"
    )
    spans = [
        f"{_span(test, digits)} for {whom}"
        for test, whom in (
            (d.these, f"these {len(comparison.respondents)} on other pictures"),
            (d.others, "others like them"),
        )
        if math.isfinite(test.low)
    ]
    interval = f"; 95% interval {', '.join(spans)}" if spans else "; no interval"
    return (
        f"{varied}{at}, {claim} ({numbers}, difference"
        f" {number(d.others.difference, digits)}{interval})."
    )


def _digits(test: ReliabilityDifference) -> int:
    """How many decimals show the ends of the interval apart."""
    width = test.high - test.low
    return min(6, math.ceil(-math.log10(width / 2))) if math.isfinite(width) and width > 0 else 3


def _span(test: ReliabilityDifference | Coefficient, digits: int = 3) -> str:
    return f"[{number(test.low, digits)}, {number(test.high, digits)}]"


_CAVEAT = (
    "Reliability is not validity: that a score repeats does not show that it measures hallucination"
)


def _to_report(comparison: Comparison, what: str) -> Answer:
    """The measure that is shown to repeat best, unless a test shows another to be better in
    something else.
    """
    question, best = f"Which {what} to report?", most_reliable(comparison)
    against = [
        (family, other.label)
        for family in ("criterion", "parallel_forms", "judge_consistency")
        for other in comparison.measures
        if best
        and other.label != best
        and any(
            _higher(comparison, family, other.label, best, others=others)
            for others in (False, True)
        )
    ]
    rest = [m.label for m in comparison.measures if m.label != best]
    judged = any("criterion" in d.indicator for d in comparison.differences)
    caveat = f"{_CAVEAT}{'' if judged else ', and no people judged these answers'}."
    if best and not against:
        first = (
            f"It is shown to repeat better than {listed(rest)}, and no test shows"
            f" {listed(rest) if len(rest) == 1 else 'another'} to be better in anything else."
        )
        kept = [first, *_by_length(comparison, best), caveat]
        return Answer(question, best, tuple(kept), "differences")
    if best:
        words = {
            "criterion": "agrees more with people's labels",
            "parallel_forms": "withstands another wording better",
            "judge_consistency": "repeats better when the judge is asked again",
        }
        better = listed([f"{label} {words[family]}" for family, label in against])
        verdict = listed([best, *dict.fromkeys(label for _, label in against)])
        tail = (
            "Agreement with people weighs more than repeating."
            if any(f == "criterion" for f, _ in against)
            else "Which error matters depends on the use."
        )
        return Answer(
            question,
            f"{verdict}, side by side",
            (f"{best} repeats better, but {better}. {tail}", caveat),
            "differences",
        )
    advice = (
        f"Choose the {what} by what it measures and by what earlier work reports, before looking at"
        " the scores, and report the others beside it."
    )
    return Answer(question, "These tests do not decide", (advice, caveat), "differences")


def _by_length(comparison: Comparison, best: str) -> list[str]:
    """Where the advantage is that of a longer test, which other items could have too."""
    tests = [d for d in _of(comparison, "test_retest", own=False) if best in (d.first, d.second)]
    items = next(m.items for m in comparison.measures if m.label == best)
    lost = [d for d in tests if for_whom(d)[0] != ("first" if d.first == best else "second")]
    longer = [d.second if d.first == best else d.first for d in lost]
    longer = [
        label
        for label in longer
        if next(m.items for m in comparison.measures if m.label == label) < items
    ]
    if not longer:
        return []
    return [
        f"At {number(comparison.length, 0)} items each it is not shown to have a higher reliability"
        f" than {listed(longer)}: the advantage may be that of its {items:,} items."
    ]


def _closer_to_people(comparison: Comparison) -> Answer:
    question = "Which agrees more with people?"
    tests = _of(comparison, "criterion")
    if not tests:
        known = [m.label for m in comparison.measures if "criterion" in m.pairs]
        reason = (
            f"People's labels are at hand for {listed(known)} alone."
            if known
            else (
                "No people judged the answers of these audits; --criterion FILE brings their"
                " labels."
            )
        )
        return Answer(question, "Not measured", (reason,), "")
    labels = [m.label for m in comparison.measures]
    best = next(
        (
            a
            for a in labels
            if all(_higher(comparison, "criterion", a, b) for b in labels if b != a)
        ),
        "",
    )
    verdict = f"{best}, for these respondents" if best else "Not shown"
    return Answer(question, verdict, tuple(_pairs(tests, comparison)), "differences")


def _same_order(comparison: Comparison) -> Answer:
    question = "Do they put the respondents in the same order?"
    opposed = [(s, pair) for s in comparison.separations for pair in s.opposed]
    known = [a for a in comparison.agreements if math.isfinite(a.pearson.value)]
    sentences = []
    for a in sorted(known, key=lambda a: a.pearson.value)[:_PAIRS]:
        span = (
            f", 95% interval {_span(a.pearson)} for others like them"
            if math.isfinite(a.pearson.low)
            else ", no interval"
        )
        same = (
            "; both were scored from the same answers, which alone makes them alike"
            if a.same_answers
            else ""
        )
        sentences.append(
            f"{a.first} and {a.second} correlate r {number(a.pearson.value)}{span}{same}."
        )
    if len(known) > _PAIRS:
        sentences.append(
            f"Those are the lowest of {len(known)} correlations; the highest is"
            f" {number(max(a.pearson.value for a in known))}."
        )
    if opposed:
        s, (better, worse) = opposed[0]
        count = counted(len(opposed), "pair")
        sentences.append(
            f"{count} of respondents {'stands' if len(opposed) == 1 else 'stand'} in opposite"
            f" orders, separated by both measures; the first: {short(better)} is better than"
            f" {short(worse)} by {s.first}, and worse by {s.second}."
        )
        verdict = f"Not all: {count} {'is' if len(opposed) == 1 else 'are'} reversed beyond chance"
    elif comparison.separations:
        sentences.append(
            "No pair of respondents that two measures both separate stands in opposite orders."
        )
        verdict = "No reversal is shown"
    else:
        verdict = "Not tested"
    return Answer(question, verdict, tuple(sentences), "agreement")


def separated(comparison: Comparison) -> dict[str, tuple[int, int]]:
    """Measure -> how many pairs of respondents it separates, of how many."""
    counts: dict[str, tuple[int, int]] = {}
    for s in comparison.separations:
        counts[s.first] = (s.both + len(s.only_first), s.pairs)
        counts[s.second] = (s.both + len(s.only_second), s.pairs)
    return counts


def _separates(comparison: Comparison) -> Answer:
    question, counts = "Which separates more respondents?", separated(comparison)
    if not counts:
        return Answer(
            question,
            "Not measured",
            ("The scores have no intervals over pictures for every respondent.",),
            "",
        )
    order = sorted(counts, key=lambda label: -counts[label][0])
    pairs = counts[order[0]][1]
    said = listed([f"{counts[label][0]} of {pairs} pairs by {label}" for label in order])
    most = counts[order[0]][0]
    leading = [label for label in order if counts[label][0] == most]
    verdict = (
        f"{leading[0]}, in this audit" if len(leading) == 1 else "As many by " + listed(leading)
    )
    return Answer(
        question,
        verdict,
        (
            (
                f"Separated beyond chance: {said}. The counts are of these respondents; no test"
                " compares them."
            ),
        ),
        "separation",
    )


def not_known(comparison: Comparison) -> tuple[str, ...]:
    """What was not tested, with its reason, and what limits every sentence before."""
    sentences = []
    for population, whom in (
        ("fixed_models", "For these respondents"),
        ("model_population", "For other respondents"),
    ):
        missing = comparison.tests[population].not_made
        if missing:
            reasons = "; ".join(missing)
            sentences.append(
                f"{whom}, {counted(sum(missing.values()), 'test')} could not be made: {reasons}."
            )
    families = {
        "parallel_forms": "another wording",
        "criterion": "people's labels",
        "test_retest": "another seed",
    }
    labels = [m.label for m in comparison.measures]
    for family, words in families.items():
        there = {
            label
            for indicator, by in comparison.indicators.items()
            if indicator.startswith(f"{family}.")
            for label in by
        }
        lacking = [label for label in labels if label not in there]
        if lacking:
            sentences.append(
                f"Not measured with {words}:"
                f" {'none of them' if len(lacking) == len(labels) else listed(lacking)}."
            )
    return (*sentences, *(_plain(note) for note in comparison.notes))


def _plain(note: str) -> str:
    """A note without the constant that names it."""
    return (
        note.partition(": ")[2][:1].upper() + note.partition(": ")[2][1:]
        if note.startswith("LENGTH_CONFOUND")
        else note
    )


def mark_apart(comparison: Comparison, indicator: str, numbers: Sequence[Entry]) -> list[Entry]:
    """Mark the best and the second best number where tests set them apart from all the rest."""
    labels = [m.label for m in comparison.measures]
    known = sorted(
        (i for i, e in enumerate(numbers) if e.value is not None),
        key=lambda i: -(numbers[i].value or 0.0),
    )

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


# --- tests in words ---


def indicator_name(indicator: str) -> str:
    """An indicator in words.

    >>> indicator_name("test_retest.icc_a1")
    'Test-retest, ICC(A,1), agreement'
    """
    family, _, statistic = indicator.partition(".")
    return f"{FAMILIES.get(family, family)}, {statistic_name(statistic)}"


_POPULATIONS = {
    "fixed_models": "For these respondents over other pictures (fixed facet)",
    "model_population": "For other respondents (random facet)",
}


def tests_said(comparison: Comparison) -> tuple[str, ...]:
    """How many tests of each population were made, how many differences are more than chance, and
    what was not tested.
    """
    sentences = []
    for population, words in _POPULATIONS.items():
        count = comparison.tests[population]
        if not count.made and not count.not_made:
            continue
        if count.made:
            beyond = (
                "1 is"
                if count.beyond == 1
                else f"{count.beyond or 'none'} {'are' if count.beyond else 'is'}"
            )
            said = (
                f"{words}: of {counted(count.made, 'test')} made, {beyond} more than chance (Holm,"
                " 5%)."
            )
        else:
            said = f"{words}: no test was made."
        missing = sum(count.not_made.values())
        reasons = "; ".join(
            reason if n == missing else f"{reason} ({n} of them)"
            for reason, n in count.not_made.items()
        )
        sentences.append(
            f"{said} Not made: {counted(missing, 'test')} ({reasons})." if missing else said
        )
    return tuple(sentences)


# --- whom to trust each of two measures for, at equal cost ---

_WHOM = {"these": "For these respondents over other pictures", "others": "For other respondents"}


def forecast_table(comparison: Comparison) -> PaperTable:
    """A row for each pair of measures: both studies at one cost, and whom to trust each for."""
    rows = []
    for pair in comparison.forecasts:
        for i, label in enumerate((pair.first, pair.second)):
            rows.append(
                (
                    plain(label),
                    plain(f"{pair.first}, {pair.second}"),
                    measured(pair.cost, digits=0 if pair.unit == "answers" else 2),
                    measured(pair.items[i], digits=0),
                    measured(pair.pictures[i], digits=0),
                    _figure(pair.g[i]),
                    _figure(pair.mdd[i]),
                    *(
                        plain(_verdict(pair, label, contest))
                        for contest in (pair.these, pair.others)
                    ),
                )
            )
    unit = comparison.forecasts[0].unit if comparison.forecasts else "answers"
    return PaperTable(
        "forecast",
        "Which measure to trust for whom, at equal cost.",
        columns=(
            Column("Measure", "text"),
            Column("Pair", "text"),
            Column(f"cost ({unit})"),
            Column("items"),
            Column("pictures"),
            Column("G", "interval"),
            Column("smallest difference", "interval"),
            Column("these respondents", "text"),
            Column("other respondents", "text"),
        ),
        rows=tuple(rows),
        notes=(
            (
                "Each measure in one run of one wording, with as many pictures as its share of one"
                " cost buys; new pictures are assumed to be like the audited ones. G: how far"
                " differences between these respondents come back on other pictures and runs."
                " Intervals: 95%, over pictures. Shown: the forecasts differ by more than chance,"
                " all pairs and both populations tested together (Holm)."
            ),
        ),
    )


def _figure(figure: Coefficient) -> Entry:
    low, high = (figure.fixed.low, figure.fixed.high) if figure.fixed is not None else (None, None)
    return measured(figure.value, low, high) if math.isfinite(figure.value) else measured(None)


def _verdict(pair: ForecastPair, label: str, contest: Contest) -> str:
    if contest.reason:
        return "–"
    if pair.trusted(contest) == label:
        return "shown"
    return "" if pair.trusted(contest) else "not shown"


def forecasts_said(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for each pair and population: which measure to trust, or why neither."""
    sentences = []
    for pair in comparison.forecasts:
        cost = f"{number(pair.cost, 0 if pair.unit == 'answers' else 2)} {pair.unit}"
        for population, contest in (("these", pair.these), ("others", pair.others)):
            whom = _WHOM[population]
            if contest.reason:
                sentences.append(
                    f"{whom}, {pair.first} and {pair.second} cannot be forecast: {contest.reason}."
                )
                continue
            better = pair.trusted(contest)
            values = (
                f"forecast G {number(pair.g[0].value)} and {number(pair.g[1].value)} at {cost} each"
            )
            if not better:
                said = (
                    f"it is not shown which of {pair.first} and {pair.second} to trust ({values})"
                )
            else:
                other = pair.second if better == pair.first else pair.first
                said = f"trust {better} rather than {other} ({values})"
            sentences.append(f"{whom}, {said}.")
    return tuple(sentences)
