"""What a comparison says, question by question: which measure has the higher reliability, by how
much, for whom, and which to report.

A difference is called shown where the adjusted test and the interval of the difference agree on it;
each claim names the respondents that its test is about.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter, itemgetter
from typing import Literal

from hqm.reports.latex.latex_tables import number_cell
from hqm.reports.pages.phrases import join_names, pluralise, verb_form
from hqm.reports.tables.table import (
    FAMILIES,
    Column,
    Table,
    Text,
    bracket_text,
    capital,
    clause,
    number,
    short_name,
    statistic_name,
)

from hqm import Comparison
from hqm.comparison.measures import Difference, ForecastPair
from hqm.psychometrics import Coefficient
from hqm.psychometrics.reliability.compare_reliability import ReliabilityDifference
from hqm.psychometrics.variance.study_forecast import Contest

Outcome = Literal["first", "second", "not shown", "not tested"]
_ALPHA = 0.05
_REPEATED = {
    "test_retest": "With another seed",
    "parallel_forms": "With another wording",
    "judge_consistency": "When the same judge judges a second time",
}
"""Families that ask whether a score repeats: where what varies stands in a sentence."""
_STATISTIC_SYMBOLS = {"rho_g": "rho_G", "icc_a1": "ICC(A,1)", "pearson": "r"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A question that a reader of a comparison has, with the answer in a few words and in full."""

    question: str
    verdict: str
    sentences: tuple[str, ...]


def measure_noun(comparison: Comparison) -> str:
    """What kind of measures are compared: benchmarks, metrics, parsers, judges or scorings of one
    benchmark; `measure` for a mixture.
    """
    if len(set(map(attrgetter("benchmark"), comparison.measures))) > 1:
        if len(set(map(attrgetter("metric"), comparison.measures))) == 1:
            return "benchmark"
        return "measure"

    def differs(word: str) -> bool:
        return len({m.words.get(word, "") for m in comparison.measures}) > 1

    # One difference gives the noun; measures that differ in two respects are compared as wholes.
    differ = list(filter(differs, ("metric", "scoring", "parser", "judge", "version")))
    if len(differ) == 1:
        return differ[0]
    return "measure"


def outcome(test: ReliabilityDifference, adjusted: float) -> Outcome:
    """Which of two measures a test shows to be higher: after adjustment, and with an interval that
    leaves 0 out.
    """
    # A test that could not be made is no test that showed nothing.
    if not math.isfinite(adjusted):
        return "not tested"
    # the adjusted test and the interval must agree
    if adjusted >= _ALPHA or not (test.low > 0 or test.high < 0):
        return "not shown"
    if test.low > 0:
        return "first"
    return "second"


def outcomes_by_population(difference: Difference) -> tuple[Outcome, Outcome]:
    """The outcome of a difference's two tests: for these respondents, and for other ones."""
    return outcome(difference.these, difference.adjusted_these), outcome(
        difference.others, difference.adjusted_others
    )


def _winners(difference: Difference) -> tuple[str, str]:
    """The measure that is shown to be higher for these respondents, and that for other ones; empty
    where none is.
    """
    labels: Mapping[str, str] = {"first": difference.first, "second": difference.second}
    fixed_outcome, random_outcome = outcomes_by_population(difference)
    return labels.get(fixed_outcome, ""), labels.get(random_outcome, "")


def _family_differences(
    comparison: Comparison, family: str, *, own_length: bool = True
) -> list[Difference]:
    """The tests of a family at the measures' own lengths, or at a common one."""
    return [
        d
        for d in comparison.differences
        if d.indicator.partition(".")[0] == family and (d.length is None) == own_length
    ]


def _is_higher(
    comparison: Comparison, family: str, label: str, rival: str, *, use_random: bool = False
) -> bool:
    """Whether a family's test shows one measure to be higher than another, for these respondents
    or, with `use_random`, for other ones.
    """
    for d in _family_differences(comparison, family):
        if {d.first, d.second} == {label, rival} and _winners(d)[use_random] == label:
            return True
    return False


def most_reliable(comparison: Comparison, *, use_random: bool = False) -> str:
    """The measure that is shown to repeat better than every other with another seed; empty where
    there is none.
    """
    for label in comparison.labels:
        rivals = set(comparison.labels) - {label}
        if all(
            _is_higher(comparison, "test_retest", label, rival, use_random=use_random)
            for rival in rivals
        ):
            return label
    return ""


def largest_difference(comparison: Comparison) -> Difference | None:
    """The largest significant difference over all sources of error."""
    differences = [d for d in comparison.differences if d.length is None and any(_winners(d))]
    # The order of the differences is fixed, so that of equal ones the same is named each time.
    return max(differences, key=lambda d: abs(d.others.difference), default=None)


def strongest_claim(comparison: Comparison) -> str:
    """The largest difference that a test shows, in one line."""
    if not comparison.respondents:
        return (
            "These measures have different respondents, so that their differences are not tested."
        )
    d = largest_difference(comparison)
    if d is None:
        return "No measure is shown to repeat better than another."
    fixed_winner, random_winner = _winners(d)
    higher_label = fixed_winner or random_winner
    lower_label = d.second
    high = d.others.first
    low = d.others.second
    if higher_label == d.second:
        lower_label = d.first
        low, high = high, low
    family, _, statistic = d.indicator.partition(".")
    # The weaker measure is the subject: that it repeats worse is what the test shows.
    claim = f"{lower_label} agrees less with people's labels than {higher_label}"
    if family in _REPEATED:
        claim = f"{_REPEATED[family]}, {lower_label} repeats less well than {higher_label}"
    population = f"for these {len(comparison.respondents)} respondents"
    if not fixed_winner:
        population = "for other respondents"
    elif fixed_winner == random_winner:
        population += " and for other models like them"
    name = _STATISTIC_SYMBOLS.get(statistic, statistic)
    sentence = f"{claim}: {name} {number(low)} against {number(high)}, {population}."
    notes = [*_opposite_coefficients(comparison, d, lower_label)]
    reversed_rivals, undecided_rivals = _shorter_rivals(comparison, family, higher_label)
    common_length = f"At {number(comparison.length, 0)} items each"
    if lower_label in reversed_rivals:
        notes.append(f"{common_length} the order is reversed.")
    elif lower_label in undecided_rivals:
        notes.append(f"{common_length} that is not shown.")
    return " ".join([sentence, *notes])


def _opposite_coefficients(
    comparison: Comparison, d: Difference, lower_label: str
) -> Iterator[str]:
    """The coefficients of the same source of error on which the weaker measure is higher."""
    family = d.indicator.partition(".")[0]
    for difference in _family_differences(comparison, family):
        if {difference.first, difference.second} != {d.first, d.second}:
            continue
        if lower_label in _winners(difference):
            statistic = difference.indicator.partition(".")[2]
            high, low = sorted((difference.others.first, difference.others.second), reverse=True)
            name = _STATISTIC_SYMBOLS.get(statistic, statistic)
            yield f"By {name} the order is reversed: {number(high)} against {number(low)}."


def difference_in_words(d: Difference, comparison: Comparison) -> str:
    """A tested difference: what is shown and for whom, both coefficients, and the difference with
    both intervals.
    """
    family, _, statistic = d.indicator.partition(".")
    varied = _REPEATED.get(family, "In agreement with people's labels")
    length_note = ""
    if d.length is not None:
        length_note = f", both converted to {number(d.length, 0)} items (Spearman-Brown)"
    fixed_outcome, random_outcome = outcomes_by_population(d)
    name = {"first": d.first, "second": d.second}
    lower_label = {"first": d.second, "second": d.first}
    if fixed_outcome in name and random_outcome in name and fixed_outcome != random_outcome:
        claim = (
            f"{name[fixed_outcome]} is higher for these respondents, {name[random_outcome]} for"
            " others like them"
        )
    elif fixed_outcome in name:
        qualifiers = {
            "not shown": f"; for others like them {_why_not_shown(d.others)}",
            "not tested": "; for others it was not tested",
        }
        qualifier = qualifiers.get(random_outcome, " and for other models like them")
        claim = (
            f"{name[fixed_outcome]} is higher than {lower_label[fixed_outcome]} for these"
            f" respondents{qualifier}"
        )
    elif random_outcome in name:
        qualifiers = {
            "not shown": f"; for these {_why_not_shown(d.these)}",
            "not tested": "; for these it was not tested",
        }
        # Only two outcomes are left: the others were answered above.
        qualifier = qualifiers[fixed_outcome]
        claim = (
            f"{name[random_outcome]} is higher than {lower_label[random_outcome]} for other"
            f" respondents{qualifier}"
        )
    elif {fixed_outcome, random_outcome} == {"not tested"}:
        claim = f"{d.first} and {d.second} were not tested against each other"
    else:
        claim = f"it is not shown which of {d.first} and {d.second} is higher"
    # An interval whose ends are printed alike would seem to have no width.
    digits = max(3, _digits(d.these), _digits(d.others))
    numbers = (
        f"{_STATISTIC_SYMBOLS.get(statistic, statistic)} {number(d.others.first, digits)} and"
        f" {number(d.others.second, digits)}"
    )
    intervals = []
    for test, population in (
        (d.these, f"these {len(comparison.respondents)} on other items"),
        (d.others, "others like them"),
    ):
        if math.isfinite(test.low):
            intervals.append(f"{bracket_text(test.low, test.high, digits)} for {population}")
    interval = clause("95% interval {}", ", ".join(intervals)) or "no interval"
    return (
        f"{varied}{length_note}, {claim}. {numbers}: difference"
        f" {number(d.others.difference, digits)}, {interval}."
    )


def _why_not_shown(test: ReliabilityDifference) -> str:
    # an interval without 0 beside "not shown" would read like a contradiction
    if test.low <= 0 <= test.high:
        return "that is not shown"
    return "it is not after adjusting for all tests (Holm)"


def _digits(test: ReliabilityDifference) -> int:
    """How many decimals it takes to print the two ends of the interval differently."""
    width = test.high - test.low
    if math.isfinite(width) and width > 0:
        return min(6, math.ceil(-math.log10(width / 2)))
    return 3


_CAVEAT = (
    "Reliability is not validity: that a score repeats does not show that it measures hallucination"
)


def measure_to_report(comparison: Comparison) -> Answer:
    """The measure that is shown to repeat best, unless a test shows another to be better in
    something else.
    """
    noun = measure_noun(comparison)
    question = f"Which {noun} to report?"
    # Shown for these respondents. A rival may be better in something else, for these or for others.
    best = most_reliable(comparison)
    families = ("criterion", "parallel_forms", "judge_consistency")
    rivals = []
    for family, label in product(families, comparison.labels):
        if _is_higher(comparison, family, label, best) or _is_higher(
            comparison, family, label, best, use_random=True
        ):
            rivals.append((family, label))
    judged = any("criterion" in d.indicator for d in comparison.differences)
    caveat = f"{_CAVEAT}{'' if judged else ', and no people judged these answers'}."
    # A measure is recommended only where no test speaks for another one.
    if best and not rivals:
        other_labels = [label for label in comparison.labels if label != best]
        names = join_names(other_labels)
        rival = names if len(other_labels) == 1 else "another"
        first = (
            f"It is shown to repeat better than {names}, and no test shows {rival} to be better in"
            " anything else."
        )
        sentences = [first, *_by_length(comparison, best), caveat]
        return Answer(question, best, tuple(sentences))
    if best:
        words = {
            "criterion": "agrees more with people's labels",
            "parallel_forms": "withstands another wording better",
            "judge_consistency": "repeats better when the same judge judges a second time",
        }
        claims = join_names([f"{label} {words[family]}" for family, label in rivals])
        verdict = join_names([best, *dict.fromkeys(map(itemgetter(1), rivals))])
        tail = "Which error matters depends on the use."
        if "criterion" in map(itemgetter(0), rivals):
            tail = "Agreement with people weighs more than repeating."
        return Answer(
            question,
            f"{verdict}, side by side",
            (f"{best} repeats better, but {claims}. {tail}", caveat),
        )
    advice = (
        f"Choose the {noun} by what it measures and by what earlier work reports, before looking at"
        " the scores, and report the others beside it."
    )
    return Answer(question, "These tests do not decide", (advice, caveat))


def _shorter_rivals(comparison: Comparison, family: str, best: str) -> tuple[list[str], list[str]]:
    """The shorter measures that tests at a common length show to be higher than one that is higher
    as it is, and those that they show to be neither.
    """
    n_items = {measure.label: measure.items for measure in comparison.measures}
    higher_rivals: list[str] = []
    undecided_rivals: list[str] = []
    # Brought to a common length, an advantage that remains is one of the items, and not of their
    # number.
    for d in _family_differences(comparison, family, own_length=False):
        labels = {d.first, d.second}
        winner = _winners(d)[0]
        if best not in labels or winner == best:
            continue
        (rival,) = labels - {best}
        if n_items[rival] < n_items[best]:
            rivals = higher_rivals if winner == rival else undecided_rivals
            rivals.append(rival)
    return higher_rivals, undecided_rivals


def _by_length(comparison: Comparison, best: str) -> list[str]:
    """Where the advantage is that of a longer test, which other items could have too."""
    higher_rivals, undecided_rivals = _shorter_rivals(comparison, "test_retest", best)
    common_length = f"At {number(comparison.length, 0)} items each"
    items = f"its {dict(map(attrgetter('label', 'items'), comparison.measures))[best]:,} items"
    sentences = []
    if higher_rivals:
        verb = verb_form(len(higher_rivals), "is", "are")
        sentences.append(
            f"{common_length} {join_names(higher_rivals)} {verb} shown to have a higher reliability"
            f" than {best}: the advantage is that of {items}."
        )
    if undecided_rivals:
        sentences.append(
            f"{common_length} it is not shown to have a higher reliability than"
            f" {join_names(undecided_rivals)}: the advantage may be that of {items}."
        )
    return sentences


def unknown_answers(comparison: Comparison) -> tuple[str, ...]:
    """Which tests could not be made and why, what was not measured, and the comparison's notes."""
    sentences = []
    for population, population_words in (
        ("fixed_models", "For these respondents"),
        ("model_population", "For other respondents"),
    ):
        if missing := comparison.tests[population].not_made:
            reasons = "; ".join(missing)
            sentences.append(
                f"{population_words}, {pluralise(sum(missing.values()), 'test')} could not be"
                f" made: {reasons}."
            )
    families = {
        "parallel_forms": "another wording",
        "criterion": "people's labels",
        "test_retest": "another seed",
    }
    for family, words in families.items():
        measured_labels: set[str] = set()
        for indicator, coefficients in comparison.indicators.items():
            if indicator.startswith(f"{family}."):
                measured_labels.update(coefficients)
        lacking = [label for label in comparison.labels if label not in measured_labels]
        if len(lacking) == len(comparison.labels):
            sentences.append(f"Not measured with {words}: none of them.")
        elif lacking:
            sentences.append(f"Not measured with {words}: {join_names(lacking)}.")
    return (*sentences, *map(_plain, comparison.notes))


def _plain(note: str) -> str:
    """A note without the constant that names it."""
    if note.startswith("LENGTH_CONFOUND"):
        return capital(note.partition(": ")[2])
    return note


def reversed_pairs(comparison: Comparison) -> str:
    """How many pairs of respondents two measures separate in opposite orders."""
    # Two measures that disagree within their errors contradict nothing.
    separations = list(filter(attrgetter("opposed"), comparison.separations))
    if not separations:
        return "No two measures separate a pair of respondents in opposite orders."
    s = separations[0]
    higher, lower = s.opposed[0]
    # A pair may be reversed between several measures; it is counted once, whichever of both is
    # named first.
    pairs = {frozenset(pair) for separation in separations for pair in separation.opposed}
    verb = verb_form(len(pairs), "stands", "stand")
    them = verb_form(len(pairs), "it", "them")
    return (
        f"{pluralise(len(pairs), 'pair')} of respondents {verb} in opposite orders by two measures"
        f" that both separate {them}; the first: {short_name(higher)} is better than"
        f" {short_name(lower)} by"
        f" {s.first}, and worse by {s.second}."
    )


def mark_separated(comparison: Comparison, indicator: str, numbers: Sequence[Text]) -> list[Text]:
    """Mark the best and the second best number where tests separate them from all others."""
    labels = comparison.labels
    valued = [i for i, entry in enumerate(numbers) if entry.value is not None]
    # Bold by a test and not by the number: the largest of equal ones is chance.
    ranked = sorted(valued, key=lambda i: -(numbers[i].value or 0.0))

    def is_separated(i: int, rivals: Sequence[int]) -> bool:
        return bool(rivals) and all(
            comparison.adjusted_for_others(indicator, labels[i], labels[k]) < 0.05 for k in rivals
        )

    marked = list(numbers)
    if ranked and is_separated(ranked[0], ranked[1:]):
        marked[ranked[0]] = replace(marked[ranked[0]], mark="best")
        # Where the best is not separated from the rest, no second place means anything.
        if is_separated(ranked[1], ranked[2:]):
            marked[ranked[1]] = replace(marked[ranked[1]], mark="second")
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


def test_sentences(comparison: Comparison) -> tuple[str, ...]:
    """For each population: how many tests were made, how many show a difference, and
    which tests could not be made.
    """
    sentences = []
    for population, words in _POPULATIONS.items():
        count = comparison.tests[population]
        if not count.n_tests and not count.not_made:
            continue
        sentence = f"{words}: no test was made."
        if count.n_tests:
            verb = verb_form(max(count.beyond, 1), "shows", "show")
            sentence = (
                f"{words}: {count.beyond or 'none'} of {pluralise(count.n_tests, 'test')} {verb} a"
                " difference (Holm, 5%)."
            )
        if len(count.not_made) > 1:
            reasons = "; ".join(f"{reason} ({n} of them)" for reason, n in count.not_made.items())
        else:
            reasons = "".join(count.not_made)
        if missing := sum(count.not_made.values()):
            verb = verb_form(missing, "was", "were")
            sentence += f" {pluralise(missing, 'test')} {verb} not made: {reasons}."
        sentences.append(sentence)
    return tuple(sentences)


# --- whom to trust each of two measures for, at equal cost ---

_POPULATION_WORDS = {
    "these": "For these respondents over other items",
    "others": "For other respondents",
}


def forecast_table(comparison: Comparison) -> Table:
    """A row for each pair of measures: both studies at one cost, and whom to trust each for."""
    rows = []
    unit = "answers"
    if comparison.forecasts:
        unit = comparison.forecasts[0].unit
    for pair in comparison.forecasts:
        for i, label in enumerate((pair.first, pair.second)):
            row = (
                Text(label),
                Text(f"{pair.first}, {pair.second}"),
                number_cell(pair.cost, digits=_cost_digits(pair)),
                number_cell(pair.items[i], digits=0),
                number_cell(pair.pictures[i], digits=0),
                _figure(pair.g[i]),
                _figure(pair.mdd[i]),
                Text(_verdict(pair, label, pair.these)),
                Text(_verdict(pair, label, pair.others)),
            )
            rows.append(row)
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
                " differences between these respondents repeat on other pictures and runs."
                " Intervals: 95%, over pictures. Shown: the forecasts differ by more than chance,"
                " all pairs and both populations tested together (Holm)."
            ),
        ),
    )


def _cost_digits(pair: ForecastPair) -> int:
    """The decimals of a cost: money has cents, answers are counted."""
    if pair.unit == "answers":
        return 0
    return 2


def _figure(figure: Coefficient) -> Text:
    if not math.isfinite(figure.value):
        return number_cell(None)
    if figure.fixed is None:
        return number_cell(figure.value)
    return number_cell(figure.value, figure.fixed.low, figure.fixed.high)


def _verdict(pair: ForecastPair, label: str, contest: Contest) -> str:
    if contest.reason:
        return "–"
    if pair.trusted(contest) == label:
        return "shown"
    if pair.trusted(contest):
        return ""
    return "not shown"


def forecast_sentences(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for each pair and population: which measure to trust, or why neither."""
    sentences = []
    for pair in comparison.forecasts:
        cost = f"{number(pair.cost, _cost_digits(pair))} {pair.unit}"
        for population, contest in (("these", pair.these), ("others", pair.others)):
            population_words = _POPULATION_WORDS[population]
            if contest.reason:
                sentences.append(
                    f"{population_words}, {pair.first} and {pair.second} cannot be forecast:"
                    f" {contest.reason}."
                )
                continue
            values = (
                f"forecast G {number(pair.g[0].value)} and {number(pair.g[1].value)} at {cost} each"
            )
            verdict = {
                pair.first: f"trust {pair.first} rather than {pair.second}",
                pair.second: f"trust {pair.second} rather than {pair.first}",
                "": f"it is not shown which of {pair.first} and {pair.second} to trust",
            }[pair.trusted(contest)]
            sentences.append(f"{population_words}, {verdict} ({values}).")
    return tuple(sentences)
