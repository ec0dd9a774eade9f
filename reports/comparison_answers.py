"""What a comparison says, question by question: which measure has the higher reliability, by how
much, for whom, and which to report.

A difference is called shown where the adjusted test and the interval of the difference agree on it;
each claim names the respondents that its test is about.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hqm.reports.latex_tables import measured
from hqm.reports.phrases import counted, listed
from hqm.reports.tables import (
    FAMILIES,
    Column,
    Table,
    Text,
    bracketed,
    number,
    short,
    statistic_name,
)

from hqm import Comparison, Difference, ForecastPair
from hqm.psychometrics import Coefficient, Contest, ReliabilityDifference

Outcome = Literal["first", "second", "not shown", "not tested"]
_CHANCE = 0.05
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
    return any(
        {d.first, d.second} == {label, other}
        and for_whom(d)[1 if others else 0] == ("first" if d.first == label else "second")
        for d in _of(comparison, family)
    )


def most_reliable(comparison: Comparison, *, others: bool = False) -> str:
    """The measure that is shown to repeat better than every other with another seed; empty where
    there is none.
    """
    labels = [m.label for m in comparison.measures]
    best = (
        label
        for label in labels
        if all(
            _higher(comparison, "test_retest", label, other, others=others)
            for other in labels
            if other != label
        )
    )
    return next(best, "")


def largest_difference(comparison: Comparison) -> Difference | None:
    """The largest difference that is shown, whatever source of error it belongs to."""
    own = [d for d in comparison.differences if d.length is None and _shown(d)]
    return max(own, key=lambda d: abs(d.others.difference), default=None)


def strongest(comparison: Comparison) -> str:
    """The largest difference that is shown, in one line."""
    if not comparison.respondents:
        return "These measures have different respondents: they stand side by side, untested."
    d = largest_difference(comparison)
    if d is None:
        return "It is not shown that any of these measures repeats better than another."
    these, others = for_whom(d)
    winner = these if these in _WON else others
    step = 1 if winner == "first" else -1
    more, less = (d.first, d.second)[::step]
    high, low = (d.others.first, d.others.second)[::step]
    family, _, statistic = d.indicator.partition(".")
    claim = f"{less} agrees less with people's labels than {more}"
    if family in _REPEATED:
        claim = f"{_REPEATED[family]}, {less} repeats less well than {more}"
    whom = f"for these {len(comparison.respondents)} respondents"
    if these not in _WON:
        whom = "for other respondents"
    elif these == others:
        whom += " and for others like them"
    name = _BRIEF.get(statistic, statistic)
    said = f"{claim}: {name} {number(low)} against {number(high)}, {whom}."
    return " ".join([said, *_the_other_way(comparison, d, less)])


def _the_other_way(comparison: Comparison, d: Difference, less: str) -> Iterator[str]:
    """The coefficients of the same source of error that are higher for the lesser measure."""
    family = d.indicator.partition(".")[0]
    for other in _of(comparison, family):
        if {other.first, other.second} != {d.first, d.second}:
            continue
        label = {"first": other.first, "second": other.second}
        if less in {label.get(outcome) for outcome in for_whom(other)}:
            statistic = other.indicator.partition(".")[2]
            high, low = sorted((other.others.first, other.others.second), reverse=True)
            name = _BRIEF.get(statistic, statistic)
            yield f"By {name} it is the other way round: {number(high)} against {number(low)}."


_WON: tuple[Outcome, ...] = ("first", "second")


def _shown(difference: Difference) -> bool:
    return any(outcome in _WON for outcome in for_whom(difference))


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
            "not shown": f"; for others like them {_why_not_shown(d.others)}",
            "not tested": "; for others it was not tested",
        }
        whom = also.get(others, " and for others like them")
        claim = f"{name[these]} is higher than {less[these]} for these respondents{whom}"
    elif others in name:
        also = {
            "not shown": f"; for these {_why_not_shown(d.these)}",
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
        f"{bracketed(test.low, test.high, digits)} for {whom}"
        for test, whom in (
            (d.these, f"these {len(comparison.respondents)} on other items"),
            (d.others, "others like them"),
        )
        if math.isfinite(test.low)
    ]
    interval = f"; 95% interval {', '.join(spans)}" if spans else "; no interval"
    return (
        f"{varied}{at}, {claim} ({numbers}, difference"
        f" {number(d.others.difference, digits)}{interval})."
    )


def _why_not_shown(test: ReliabilityDifference) -> str:
    # an interval without 0 beside "not shown" would read like a contradiction
    if test.low <= 0 <= test.high:
        return "that is not shown"
    return "it is not, once all tests are adjusted for (Holm)"


def _digits(test: ReliabilityDifference) -> int:
    """How many decimals show the ends of the interval apart."""
    width = test.high - test.low
    return min(6, math.ceil(-math.log10(width / 2))) if math.isfinite(width) and width > 0 else 3


_CAVEAT = (
    "Reliability is not validity: that a score repeats does not show that it measures hallucination"
)


def to_report(comparison: Comparison) -> Answer:
    """The measure that is shown to repeat best, unless a test shows another to be better in
    something else.
    """
    what = compared(comparison)
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
        return Answer(question, best, tuple(kept))
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
        )
    advice = (
        f"Choose the {what} by what it measures and by what earlier work reports, before looking at"
        " the scores, and report the others beside it."
    )
    return Answer(question, "These tests do not decide", (advice, caveat))


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


def not_known(comparison: Comparison) -> tuple[str, ...]:
    """What was not tested, with its reason, and what limits every sentence before."""
    sentences = []
    for population, whom in (
        ("fixed_models", "For these respondents"),
        ("model_population", "For other respondents"),
    ):
        if missing := comparison.tests[population].not_made:
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


def reversed_pairs(comparison: Comparison) -> str:
    """How many pairs of respondents two measures separate in opposite orders."""
    opposed = [(s, pair) for s in comparison.separations for pair in s.opposed]
    if not opposed:
        return "No pair of respondents that two measures both separate stands in opposite orders."
    s, (better, worse) = opposed[0]
    pairs = {frozenset(pair) for _, pair in opposed}
    verb, them = ("stands", "it") if len(pairs) == 1 else ("stand", "them")
    return (
        f"{counted(len(pairs), 'pair')} of respondents {verb} in opposite orders by two measures"
        f" that both separate {them}; the first: {short(better)} is better than {short(worse)} by"
        f" {s.first}, and worse by {s.second}."
    )


def mark_apart(comparison: Comparison, indicator: str, numbers: Sequence[Text]) -> list[Text]:
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
    "fixed_models": "For these respondents over other items (fixed facet)",
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

_WHOM = {"these": "For these respondents over other items", "others": "For other respondents"}


def forecast_table(comparison: Comparison) -> Table:
    """A row for each pair of measures: both studies at one cost, and whom to trust each for."""
    rows = []
    for pair in comparison.forecasts:
        for i, label in enumerate((pair.first, pair.second)):
            rows.append(
                (
                    Text(label),
                    Text(f"{pair.first}, {pair.second}"),
                    measured(pair.cost, digits=0 if pair.unit == "answers" else 2),
                    measured(pair.items[i], digits=0),
                    measured(pair.pictures[i], digits=0),
                    _figure(pair.g[i]),
                    _figure(pair.mdd[i]),
                    *(
                        Text(_verdict(pair, label, contest))
                        for contest in (pair.these, pair.others)
                    ),
                )
            )
    unit = comparison.forecasts[0].unit if comparison.forecasts else "answers"
    return Table(
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


def _figure(figure: Coefficient) -> Text:
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
            values = (
                f"forecast G {number(pair.g[0].value)} and {number(pair.g[1].value)} at {cost} each"
            )
            said = {
                pair.first: f"trust {pair.first} rather than {pair.second}",
                pair.second: f"trust {pair.second} rather than {pair.first}",
                "": f"it is not shown which of {pair.first} and {pair.second} to trust",
            }[pair.trusted(contest)]
            sentences.append(f"{whom}, {said} ({values}).")
    return tuple(sentences)
