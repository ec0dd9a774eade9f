"""The sentences of the report: the verdict, the findings above its figures, what to mend, and the
answers to seven questions.

Every number is one of the audit's. Scores are said in points, coefficients with the digits that
tell the ends of their intervals apart, and names stand for themselves. They stand in one module
because one thing is said in one way, wherever it is said.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import mean, stdev
from textwrap import shorten

from hqm.reports.pages.error_picture import (
    SOURCE_SHORT_NAMES,
    SOURCES,
    change_of,
    far_moves_sentence,
    largest_row,
    limit_sentence,
    mean_change,
    outlying_model,
    shift_claim,
    shift_text,
)
from hqm.reports.pages.leaderboard_sentences import (
    alike_sentence,
    imprecision_sentence,
    is_first_shown,
    more_items_answer,
    order_sentence,
    order_statement,
    run_error_sentences,
    search_sentence,
    separate_answer,
    without_far_respondents,
)
from hqm.reports.pages.phrases import (
    Sentence,
    as_sentence,
    coefficient,
    compose,
    finding_in_words,
    join_names,
    number_word,
    pluralise,
    pluralise_in_words,
    verb_form,
)
from hqm.reports.pages.remedy_templates import FINDING_TEMPLATE, REMEDY_TEMPLATES
from hqm.reports.tables.score_tables import (
    budget_row,
    count_above_guessing,
    count_reordered_pairs,
    people_scores_note,
    reason_against_total,
)
from hqm.reports.tables.table import (
    Text,
    capital,
    clause,
    default_policy,
    detail_of,
    estimate_text,
    find_estimate,
    finite_number,
    goal,
    leading_metric,
    percent,
    short_name,
    spelled_out,
)
from hqm.reports.tables.type_tables import none_alone

from hqm import (
    Audit,
    BenchmarkAudit,
    ErrorBudget,
    Estimate,
    Gate,
    Policy,
    Statement,
    __version__,
)
from hqm.auditing.budget import ERROR_OPTIONS, BudgetRow, Remedy
from hqm.auditing.definitions import (
    guessing_level,
    has_graded_items,
    scale_width,
    types_measured,
    wrong_keys,
)
from hqm.auditing.gate import PASSING, check_against
from hqm.auditing.precision import total_precision
from hqm.auditing.score_points import Points
from hqm.auditing.seven_questions import SevenAnswers, is_unread, seven_answers, shifts_scores
from hqm.imports.human_labels import by_people
from hqm.psychometrics.items.cues import compares_with_chance
from hqm.psychometrics.variance.error_budget import change_band
from hqm.signature import short_signature, statement_signature

STATUS_SYMBOLS: Mapping[str, str] = {
    "fine": "✓",
    "look": "◐",
    "wrong": "✕",
    "not_shown": "○",
    "not_measured": "–",
}
"""What stands beside a colour, so that no colour is needed. A tick is a demonstration: the interval
lies within the limit.
"""
STATE_LABELS: Mapping[str, tuple[str, str]] = {
    "not_ready": ("Not ready", "wrong"),
    "check": ("Check first", "look"),
    "too_little": ("Too little measured", "not_measured"),
    "imprecise": ("Imprecise", "look"),
    "unseparated": ("No two models are separated", "look"),
    "nothing": ("No fault found in the items", "fine"),
}
MAX_VERDICT_WORDS = 35
"""Words of the verdict at most."""
_MAX_FINDING_CHARS = 180
"""Characters of a finding at most; the evidence has the whole."""
QUESTIONS: Mapping[str, str] = {
    "repeat": "Do the scores repeat?",
    "wording": "Does the wording change them?",
    "people": "Do people agree?",
    "separate": "Which models differ?",
    "faulty": "Are items faulty?",
    "more": "How many more items?",
    "quote": "Can I quote it?",
}
_RECORDING_HINTS: Mapping[str, str] = {
    "seed": "record a second run",
    "wording": "record another wording",
    "resolution": "record such answers",
    "blind": "record such answers",
}
"""What measures a source of error where nobody can be asked: all answers are recorded."""
_WORDING_SOURCES = ("wording", "negation")
_MAX_ITEMS = 12
"""Reversed items that a sentence names."""
_MIN_LABELS = 200
"""Labels a model below which people's band is wide because of them."""


# --- the verdict ---


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict: its state in words, the code of the state, and sentences that explain it."""

    state: str
    code: str
    explanation: str

    @property
    def text(self) -> str:
        """The whole verdict."""
        # A colon announces a fault; where nothing is wrong none follows.
        mark = "." if self.code in ("fine", "not_measured") else ":"
        return f"{self.state}{mark} {self.explanation}"


def headline(audit: BenchmarkAudit, policy: Policy | None = None) -> Headline:
    """The verdict of at most 35 words: state, items, order, wording, types."""
    policy = policy or default_policy()
    answers = seven_answers(audit, policy)
    state, code = STATE_LABELS[answers.state]
    # Where no answer could be read, nothing else that the audit says is of any weight.
    if any(map(is_unread, answers.mend)):
        return Headline(state, code, f"{_fault_list(audit, answers.mend)}.")
    sentences = []
    if answers.state == "too_little":
        sentences.append(_too_little_sentence(audit))
    elif answers.state == "imprecise":
        sentences.append(imprecision_sentence(audit, policy))
    elif answers.state == "unseparated":
        sentences.append(alike_sentence(audit))
    elif answers.state == "nothing":
        sentences.append(search_sentence(audit))
    else:
        sentences.append(f"{_fault_list(audit, answers.mend)}.")
    # Ranks of models that do no better than guessing are no ranks.
    guessing = guessing_level(audit)
    if guessing is not None and count_above_guessing(audit) == 0:
        sentences.append(f"No model is shown to score above guessing ({percent(guessing.share)}).")
    # That sentence says already that no two models differ.
    if answers.state != "unseparated":
        sentences.append(order_sentence(audit, policy))
    # A shift that was measured says more than that another source was not.
    sentences += [shift_claim(audit, row) for row in _other_shifts(audit, policy)]
    sentences += [_wording_sentence(audit), _types_sentence(audit, policy)]
    # a sentence that makes the verdict too long is left out, and a shorter one may follow
    verdict_sentences: list[str] = []
    for sentence in filter(None, sentences):
        if len(f"{state} {' '.join((*verdict_sentences, sentence))}".split()) <= MAX_VERDICT_WORDS:
            verdict_sentences.append(sentence)
    return Headline(state, code, " ".join(verdict_sentences))


def _too_little_sentence(audit: BenchmarkAudit) -> str:
    if len(audit.respondents) < 10:
        count = pluralise_in_words(len(audit.respondents), "model")
        return f"{capital(count)}, too few for ranks."
    if audit.task == "caption" and not audit.to_read:
        return "The data were checked. There are no keys, so answers cannot show faulty items."
    if has_graded_items(audit) or not _has_keys(audit):
        return "A search for reversed items would miss most of them."
    return "A search for wrong keys would miss most of them."


def _fault_list(audit: BenchmarkAudit, remedies: Sequence[Remedy]) -> str:
    """What is shown or suspected of the items, in a few words."""
    unread = list(filter(is_unread, remedies))
    # Doubts are named only where no fault is shown: a verdict has room for the worst.
    faults = unread or [remedy for remedy in remedies if remedy.severity == "fault"]
    urgent = faults or [remedy for remedy in remedies if remedy.severity == "doubt"]
    # Keys to check go before other faults, since a wrong key makes right answers wrong.
    key_checks = [remedy for remedy in remedies if remedy.what == "keys" and remedy not in urgent]
    listed = unread or (key_checks + urgent)[:3]
    return ", ".join(dict.fromkeys(_fault_words(audit, remedy) for remedy in listed))


def _fault_words(audit: BenchmarkAudit, remedy: Remedy) -> str:
    count = remedy.count
    name = "".join(remedy.names[:1])
    # `all items` beside parts would count the benchmark as one of its parts.
    leaking = [name for name in remedy.names if name != "all items"] or ["all items"]
    if len(leaking) == 1:
        leaks = leaking[0]
    else:
        leaks = pluralise_in_words(len(leaking), "part")
    # a table of scores has no keys
    checked = "key" if _has_keys(audit) else "item"
    words = {
        "keys": f"{_counted(count, checked) or f'a list of {checked}s'} to check"
        f"{_sure(audit, remedy)}",
        "two_keys": f"{pluralise_in_words(count, 'question')} with two keys",
        "reversed": f"{_reversed_items(remedy)}{_sure(audit, remedy)}",
        "leaks": f"answers leak in {leaks}",
        "pictures": f"{pluralise_in_words(count, 'picture')} missing or broken",
        "repeats": f"{pluralise_in_words(count, 'duplicate item')}",
        "unscored": "no answer could be read"
        if is_unread(remedy)
        else f"{percent(remedy.cost, 1)} of the answers unscored",
        "empty_types": f"{pluralise_in_words(count, 'type')} without items",
    }
    return words.get(remedy.what, finding_in_words(name or remedy.what))


def _reversed_items(remedy: Remedy) -> str:
    """Reversed items, by name as far as a line has room."""
    if not remedy.count:
        return "a list of items to check"
    return f"{pluralise_in_words(remedy.count, 'possibly reversed item')}"


def _sure(audit: BenchmarkAudit, remedy: Remedy) -> str:
    """How many of the faults that are expected are named, which is what a gate counts; empty where
    these are one number.
    """
    keys = wrong_keys(audit)
    if keys.contradicted or not 0 < keys.count < remedy.count:
        return ""
    return f", {number_word(keys.count)} of them almost surely"


def _counted(count: int, noun: str) -> str:
    """A count with its noun; empty where nothing was counted."""
    if count:
        return pluralise_in_words(count, noun)
    return ""


def budget_rows(audit: BenchmarkAudit) -> tuple[BudgetRow, ...]:
    """The rows of the leading metric's error budget; none in an audit of an earlier version."""
    budget = audit.budget.get(leading_metric(audit))
    if budget is not None:
        return budget.rows
    return ()


def wording_row(audit: BenchmarkAudit) -> BudgetRow | None:
    """The row of other wordings, or of negated questions where those move more; None without."""
    moved = [row for row in budget_rows(audit) if row.source in _WORDING_SOURCES and row.moves]
    # The worst of the two answers for wordings, as a tick must hold for both.
    return max(moved, key=lambda row: row.half or 0.0, default=None)


def _other_shifts(audit: BenchmarkAudit, policy: Policy) -> list[BudgetRow]:
    """The sources that shift scores by more than what the policy calls equal, the largest first,
    without the wording that has an answer of its own.
    """
    precision = total_precision(audit)
    # Without the picture a drop is wanted, and seeds are exchangeable: which run came first is an
    # accident, and what it moves is run error, in the answer about repeating.
    exempt = {"blind", "seed", getattr(wording_row(audit), "source", "")}
    shifted = [
        row
        for row in budget_rows(audit)
        if row.source not in exempt and shifts_scores(row, precision, policy)
    ]
    return sorted(shifted, key=lambda row: -abs(row.shift or 0.0))


def _opposite_shifts(audit: BenchmarkAudit, row: BudgetRow) -> str:
    """The lowest and the highest shift of several wordings that move scores in both directions;
    their mean would hide both. Empty otherwise.
    """
    estimates = [
        find_estimate(audit, "parallel_forms.mean_shift", administration=other)
        for other in row.other
    ]
    shifts = [e.value for e in estimates if e is not None and e.value is not None]
    low, high = min(shifts, default=0.0), max(shifts, default=0.0)
    if not low < 0 < high:
        return ""
    points = Points.for_metric(audit)
    return f"{points.format(low, sign=True)} to {points.format(high, sign=True)}"


def _wording_sentence(audit: BenchmarkAudit) -> str:
    row = wording_row(audit)
    if row is None:
        return "Other wordings were not measured."
    points = Points.for_metric(audit)
    change = change_of(row.source)
    if opposite := _opposite_shifts(audit, row):
        order = " and reorder models" if count_reordered_pairs(audit, row.other) > 1 else ""
        return f"Other wordings shift scores by {opposite} points{order}."
    outlying = outlying_model(row)
    further_moves = [move or 0.0 for name, move in row.moves.items() if name != outlying]
    # The mean would spread over all models what one of them does, where the others move less than
    # half as far.
    if outlying and abs(mean(further_moves)) < abs(row.shift or 0.0) / 2:
        return shift_claim(audit, row, outlying)
    if row.excludes_zero:
        return shift_claim(audit, row)
    if not row.half and row.status == "ok":
        return f"{change} changes no score."
    if row.half is None:
        return f"No effect of {change[0].lower()}{change[1:]} on the scores is shown."
    return f"{change} can shift one model by {points.format(row.half)} points."


def _types_sentence(audit: BenchmarkAudit, policy: Policy) -> str:
    measured = list(filter(attrgetter("items"), types_measured(audit, policy.coverage.error)))
    if (reason := reason_against_total(audit)) or len(measured) < 2:
        return reason
    n_alone = sum(map(attrgetter("stands_alone"), measured))
    if not n_alone:
        return f"{none_alone(measured)}."
    subject = f"{capital(number_word(n_alone))} of {number_word(len(measured))} types"
    if n_alone == len(measured):
        subject = "Every type"
    verb = verb_form(n_alone if n_alone < len(measured) else 1, "adds", "add")
    return f"{subject} {verb} information to the total score."


# --- the error budget ---


def budget_notes(audit: BenchmarkAudit, budget: ErrorBudget) -> Iterator[str]:
    """What a reader of the error budget must know beside it."""
    points = Points.for_metric(audit, budget.metric)
    for row in budget.rows:
        # Seeds and items have bands of their own; without the picture a drop is wanted.
        if not row.half or row.source in ("seed", "items", "metric", "blind"):
            continue
        outlying = outlying_model(row)
        if outlying:
            # One model far from the others makes the band by itself, which a reader of the bar
            # must know.
            moves = [
                move for name, move in row.moves.items() if name != outlying and move is not None
            ]
            yield (
                f"Without {short_name(outlying)}, the bar “{SOURCES[row.source][0]}” would end"
                f" at {points.format(change_band(moves).half)} points."
            )
    labels = budget.row("people")
    if labels.half is not None and labels.answers < _MIN_LABELS * labels.respondents:
        # An error goes with the root of the labels, so that four times as many halve it.
        labels_per_model = round(labels.answers / max(labels.respondents, 1))
        if labels == largest_row(budget.rows):
            yield (
                "The bar “People instead of the scorer” is long because each model has only about"
                f" {labels_per_model:,} labels. Four times as many labels would halve it."
            )
    wording = budget.row("wording")
    # a band that is wider by less than 30% is not worth a sentence
    wide = 1.3 * (wording.half or 0.0)
    if wording.any_wording is not None and len(wording.other) == 1 and wording.any_wording > wide:
        yield (
            "The bar “Another wording” compares the two wordings that were asked. A wording that"
            " was"
            f" not asked could shift a model by up to {points.format(wording.any_wording)} points."
        )


# --- what to mend ---


@dataclass(frozen=True, slots=True)
class RemedyLine:
    """A remedy as a page shows it: what is wrong, and what to do about it."""

    code: str
    title: str
    sentence: str
    remedy: str
    link: str
    target: str
    """The part of the evidence that it opens: `read`, `lists`, `blind`, ..."""


def remedy_lines(audit: BenchmarkAudit, remedies: Sequence[Remedy]) -> list[RemedyLine]:
    """The remedies, a line each; remedies of several types with one title become one line."""
    similar: dict[str, list[RemedyLine]] = {}
    for remedy in remedies:
        line = _remedy_line(audit, remedy)
        # Ten lines of one kind would push the others off the page.
        similar.setdefault(line.title, []).append(line)
    lines = []
    for line, *further_lines in similar.values():
        if further_lines:
            n_further = capital(number_word(len(further_lines)))
            line = replace(line, sentence=f"{line.sentence} {n_further} more of this kind.")
        lines.append(line)
    return lines


def _remedy_line(audit: BenchmarkAudit, remedy: Remedy) -> RemedyLine:
    points = Points.for_metric(audit)
    count = remedy.count
    cost = ""
    width = scale_width(audit)
    # Below .0005 the loss would be printed as 0.0 points.
    if remedy.cost is not None and remedy.cost >= 0.0005 and width is not None:
        # A cost is a share of the scale, as all limits are, and is printed in points.
        lost = points.format(remedy.cost * width)
        cost = f" A model that is always right can lose {lost} points."
    keys = {0: "Keys", 1: "One key"}.get(count, f"About {count:,} keys")
    words = {
        "cost": cost,
        "keys": keys,
        "reversed_items": {0: "Items", 1: "One item"}.get(count, f"About {count:,} items"),
        "all_named": join_names([*remedy.names[:_MAX_ITEMS]]) or "them",
        "of_one_type": _type_note(audit),
        "to_read": pluralise(len(audit.to_read), "item"),
        "questions": pluralise_in_words(count, "question"),
        "first_two": join_names(remedy.names[:2]),
        "of_groups": pluralise(len(remedy.names), "item"),
        "leaks": verb_form(count, "A leak", "Leaks"),
        "leak": _leak_sentence(audit, remedy),
        "named": join_names([*remedy.names[:3], *([f"{count - 3:,} more"] if count > 3 else [])]),
        "pictures": pluralise_in_words(count, "picture"),
        "counted_pictures": pluralise(count, "picture"),
        "duplicates": pluralise_in_words(count, "duplicate item"),
        "counted_items": pluralise(count, "item"),
        "share": percent(remedy.cost, 1),
        "answers": pluralise(count, "answer"),
        "finding": finding_in_words("".join(remedy.names[:1])) or "unbalanced keys",
        "found": shorten(f"{capital(remedy.sentence)}.", _MAX_FINDING_CHARS, placeholder=" ..."),
    }
    # Every template takes its words from one table, whether or not it uses all of them.
    title, sentence, link, target, advice = REMEDY_TEMPLATES.get(remedy.what, FINDING_TEMPLATE)
    return RemedyLine(
        "wrong" if remedy.severity == "fault" else "look",
        capital(title.format(**words)),
        sentence.format(**words),
        remedy.remedy or advice,
        link.format(**words),
        target,
    )


def _leak_sentence(audit: BenchmarkAudit, remedy: Remedy) -> str:
    """The cue that gives answers away, and how many it gives away alone."""
    if remedy.accuracy is None:
        return f"{capital(remedy.by)} predicts the right answers."
    cue = remedy.by.partition(", ")[0]
    if cue == "words":
        subject = "Words and options"
    else:
        subject = f"The {cue.removeprefix('the ')}"
    accuracy = f"{percent(remedy.accuracy)} right in {remedy.names[0]}"
    reference = "the most frequent answer"
    if compares_with_chance(cue, audit.task):
        reference = "chance"
    return f"{subject} alone: {accuracy}; {reference}: {percent(remedy.baseline)}."


def _type_note(audit: BenchmarkAudit) -> str:
    """That the first items to read are of one type, where as many of it are no chance."""
    first = [row for row in audit.to_read if row.get("why") != "contradiction"][:10]
    kinds = {row.get("type") for row in first}
    name = str(kinds.pop() or "") if len(kinds) == 1 else ""
    # as many items drawn at random would all be of this type with a chance below 1 in 100
    n_of_type = audit.coverage[name]["items"] if name in audit.coverage else 0
    share = n_of_type / max(audit.n_items, 1)
    if not name or len(first) < 3 or share ** len(first) >= 0.01:
        return ""
    return f", the first {number_word(len(first))} all in {name}"


def reading_notes(audit: BenchmarkAudit, subject: str = "this list") -> tuple[str, ...]:
    """How many of the items to read are expected to be faulty, by planted faults."""
    power = detail_of(audit, "items.reading_list", "power")
    if not isinstance(power, Mapping) or finite_number(power.get("true_among_first")) is None:
        return ("Contradictory keys come first, then what strong models fail and weak ones pass.",)
    # The list is tried on a copy with known faults, since nobody knows those of the data.
    planted = int(power.get("planted") or 0)
    faults = f"flipped {pluralise_in_words(planted, 'key')} in a copy of these answers"
    if has_graded_items(audit) or not _has_keys(audit):
        faults = f"reversed {pluralise_in_words(planted, 'item')} in a copy of these scores"
    share = percent(finite_number(power["true_among_first"]))
    ranked = "first"
    if planted != 1:
        ranked = f"among the first {number_word(planted)}"
    return (
        f"Test of {subject}: we {faults}; {share} ranked {ranked}.",
        "Being listed does not mean that an item is wrong.",
    )


def _has_keys(audit: BenchmarkAudit) -> bool:
    """Whether items have right answers; captions and tables of scores have none."""
    return audit.task != "caption"


# --- the seven questions ---


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one of the seven questions."""

    question: str
    code: str
    sentences: tuple[Sentence, ...]
    evidence: str
    """The title of the part of the evidence that it opens."""

    @property
    def question_text(self) -> str:
        """The question in words."""
        return QUESTIONS[self.question]


def answer_questions(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Answer, ...]:
    """The answers to the seven questions, a line each."""
    policy = policy or default_policy()
    answers = seven_answers(audit, policy)
    gate = check_against(Audit((audit,)), policy)
    contents: Mapping[str, tuple[tuple[Sentence, ...], str]] = {
        "repeat": (_repeat_answer(audit, answers, policy), "Reliability by source of error"),
        "wording": (
            _wording_answer(audit, answers.codes["wording"], policy),
            "First and other administrations compared",
        ),
        "people": (_people_answer(audit), "People"),
        "separate": (separate_answer(audit, policy), "Leaderboard"),
        "faulty": (_faulty_answer(audit, answers), "Items"),
        "more": (
            more_items_answer(audit, policy),
            "Where the variance comes from, and what you would need",
        ),
        "quote": (_quote_answer(gate, answers), "Quote this"),
    }
    shifts: Mapping[str, list[Sentence]] = {question: [] for question in answers.codes}
    shifted = _other_shifts(audit, policy)
    # A judge that shifts scores by little is the only answer where nothing was asked again.
    if answers.codes["repeat"] == "not_shown" and find_estimate(audit, "test_retest.rho_g") is None:
        shifted.append(budget_row(audit, "judge"))
    for row in shifted:
        if row.source != "people":
            question = "wording" if row.source in _WORDING_SOURCES else "repeat"
            shifts[question].append(as_sentence(mean_change(audit, row)))
    return tuple(
        Answer(question, code, (*contents[question][0], *shifts[question]), contents[question][1])
        for question, code in answers.codes.items()
    )


def how_to_measure(audit: BenchmarkAudit, source: str) -> str:
    """The option that measures a source of error, or what must be recorded where all answers are
    recorded.
    """
    # The option of a command helps nobody whose answers are files.
    if source in _RECORDING_HINTS and all(name.startswith("recorded/") for name in audit.names):
        return _RECORDING_HINTS[source]
    return ERROR_OPTIONS[source]


def _not_measured(audit: BenchmarkAudit, source: str) -> tuple[Sentence, ...]:
    instruction = how_to_measure(audit, source)
    return (
        as_sentence(
            f"Not measured: {instruction}{' adds it' if instruction.startswith('-') else ''}."
        ),
    )


def _repeat_answer(
    audit: BenchmarkAudit, answers: SevenAnswers, policy: Policy
) -> tuple[Sentence, ...]:
    rho = find_estimate(audit, "test_retest.rho_g")
    if rho is None:
        return _not_measured(audit, "seed")
    if rho.value is None:
        is_single = len(audit.respondents) == 1
        return (as_sentence(f"Not known: {'one model answered' if is_single else rho.reason}."),)
    half = budget_row(audit, "seed").half
    if rho.status == "not_informative" and not half:
        return (as_sentence("Not known: reruns gave the same answers, as at temperature 0."),)
    points = Points.for_metric(audit)
    sentences = [*run_error_sentences(audit, answers.codes["repeat"], policy)]
    if half is not None:
        moved = (
            f"In 95% of reruns a model's score changes by less than {points.format(half)} points."
        )
        sentences.append(as_sentence(moved if half else "Reruns gave the same answers."))
    _, inference = goal("test_retest.rho_g", policy)
    # A reliability is relative to how much these models differ, so the standard deviation stands
    # beside it.
    scores = _scores_of_rerun(audit, rho)
    spread = ""
    if len(scores) > 1:
        count = number_word(len(scores))
        spread = f" among these {count} models (sd {points.format(stdev(scores))} points)"
    reliability = coefficient(rho, inference)
    sentences.append(compose("Reliability {rho}{spread}.", rho=reliability, spread=spread))
    sentences += without_far_respondents(rho)
    return tuple(sentences)


def _scores_of_rerun(audit: BenchmarkAudit, rho: Estimate) -> list[float]:
    """The scores of the models that were asked again, whose reliability it is."""
    # Without errors by respondent the audit is older, and all its models count as rerun.
    errors = rho.detail.get("by_respondent") or {}
    metric = leading_metric(audit)
    scores = []
    for name, score in audit.scores_by_name(metric).items():
        is_rerun = not errors or errors.get(name) is not None
        if is_rerun and score is not None and math.isfinite(score):
            scores.append(score)
    return scores


def _wording_answer(audit: BenchmarkAudit, code: str, policy: Policy) -> tuple[Sentence, ...]:
    row = wording_row(audit)
    points = Points.for_metric(audit)
    if row is None:
        return _not_measured(audit, "wording")
    shift = find_estimate(audit, "parallel_forms.mean_shift", administration=row.other[0])
    shown_shift = shift_text(audit, row)
    shift_value: Text | str = shown_shift
    # A shift over several wordings is none of the estimates, and links to none of them.
    if shift is not None and len(row.other) == 1:
        shift_value = replace(estimate_text(shift), text=shown_shift, muted=False)
    change = "Negated" if row.source == "negation" else "Reworded"
    # What keeps the answer from being fine stands first, since a terminal may have no second line.
    sentences: list[Sentence] = []
    if code == "look":
        sentences += map(as_sentence, far_moves_sentence(audit, row, policy))
    sentences.append(compose("{change}: {shift}.", change=change, shift=shift_value))
    if opposite := _opposite_shifts(audit, row):
        sentences.append(as_sentence(f"That is the mean of shifts from {opposite} points."))
    sentences += map(as_sentence, limit_sentence(audit, row, policy))
    n_changed = count_reordered_pairs(audit, row.other)
    # Places, and not only points: a reader of a leaderboard asks for the order.
    n_pairs = math.comb(len(audit.respondents), 2)
    order = "The order of the models does not change."
    if n_changed:
        verb = verb_form(n_changed, "changes", "change")
        n_wordings = len(row.other)
        wordings = (
            f" in at least one of {number_word(n_wordings)} wordings" if n_wordings > 1 else ""
        )
        order = f"{n_changed} of {n_pairs} pairs of models {verb} ranks{wordings}."
    sentences.append(as_sentence(order))
    # By its own move and not by that against the others: who stays while all others move changes
    # least.
    farthest = max(row.moves, key=lambda name: abs(row.moves[name] or 0.0))
    moved = points.format(row.moves[farthest], sign=True)
    if row.moves[farthest]:
        sentences.append(as_sentence(f"{short_name(farthest)} changes most: {moved} points."))
    return (*sentences, *wordings_to_average(audit))


def wordings_to_average(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """How many wordings a mean must be over, where the mean over those asked does not generalise to
    others.
    """
    phi = find_estimate(audit, "parallel_forms.phi_of_forms")
    if phi is None or phi.detail.get("wording_variance_high") is None:
        return
    interval = phi.interval("model_population")
    # It is reached for other wordings, or nothing is known of them: there is no advice to give.
    if interval is None or interval.low >= phi.detail["goal"]:
        return
    n_wordings = phi.detail.get("wordings_needed")
    yield compose(
        "To generalise to other wordings, average over {n} of them (Phi is now {phi})."
        if n_wordings
        else "Averaging over up to 20 wordings is not shown to generalise to others (Phi is now"
        " {phi}).",
        n=n_wordings,
        phi=phi,
    )


def _agreement_sentences(
    audit: BenchmarkAudit, accuracy: Estimate | None, kappa: Estimate | None, n_answers: int
) -> Iterator[Sentence]:
    """How often scorer and people agree on single answers, and what is left out of that."""
    if accuracy is None or accuracy.value is None:
        return
    # The estimate's signature and link stay with the number, which is printed as a percentage here.
    share = replace(estimate_text(accuracy), text=percent(accuracy.value), muted=False)
    # The share's own answers: an audit without an error budget has no other number of them.
    counted = int(accuracy.detail.get("answers") or n_answers)
    agreement: dict[str, Text | int] = {"alike": share, "n": counted}
    if kappa is None or kappa.value is None:
        yield compose("Scorer and people agree on {alike} of {n} labelled answers.", **agreement)
    else:
        yield compose(
            "Scorer and people agree on {alike} of {n} labelled answers. Kappa is {kappa}.",
            kappa=coefficient(kappa),
            **agreement,
        )
    if n_split := detail_of(audit, "criterion.labelled_answers", "unresolved"):
        # without them the agreement is higher than that of a rater with the scorer
        answers = pluralise(int(n_split), "further answer")
        yield as_sentence(f"Raters disagree on {answers}, which are left out.")
    # agreement below chance means that the labels are probably coded in reverse
    if accuracy.value < 0.5 and kappa is not None and (kappa.value or 0.0) < 0:
        yield compose("The labels may be reversed: 1 must mean that an answer is right.")


def _people_answer(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    row = budget_row(audit, "people")
    if note := people_scores_note(audit):
        return (as_sentence(note),)
    r = find_estimate(audit, "criterion.pearson")
    kappa = find_estimate(audit, "criterion.kappa")
    accuracy = find_estimate(audit, "criterion.accuracy")
    # An oracle of the benchmark is not people, whatever its agreement is.
    if row.status == "not_measured" and (r is None or not by_people(r)):
        return _not_measured(audit, "people")
    sentences = [*_agreement_sentences(audit, accuracy, kappa, row.answers)]
    if r is not None and r.value is not None:
        sentences.append(
            compose(
                "Scores of models by scorer and by people correlate {r}.",
                r=coefficient(r, "model_population"),
            )
        )
        sentences += without_far_respondents(r)
    elif r is not None and not sentences:
        sentences.append(as_sentence(f"Not known: {r.reason}."))
    if row.shift is not None:
        sentences.append(as_sentence(mean_change(audit, row)))
    return tuple(sentences)


def _faulty_answer(audit: BenchmarkAudit, answers: SevenAnswers) -> tuple[Sentence, ...]:
    remedies = [remedy for remedy in answers.mend if remedy.severity != "note"][:4]
    if remedies:
        faults: list[str] = []
        names: list[str] = []
        for remedy in remedies:
            if remedy.what == "reversed":
                # names take the room of how many are sure, which the verdict says
                faults.append(_reversed_items(remedy))
                names += remedy.names
            else:
                faults.append(_fault_words(audit, remedy))
        sentences = [as_sentence(f"{capital(', '.join(dict.fromkeys(faults)))}.")]
        if names:
            items = join_names(names[:_MAX_ITEMS])
            sentences.append(compose("Read {items} first.", items=items))
        return tuple(sentences)
    if audit.task == "caption" and not audit.to_read:
        return (compose("None in the data. There are no keys to check answers against."),)
    if answers.codes["faulty"] == "fine":
        # a page without faults hides the list, which the evidence has
        notes = reading_notes(audit, "the reading list")
        return (as_sentence("None shown."), *map(as_sentence, notes))
    reason = find_estimate(audit, "items.label_errors")
    doubt, kind = "items are reversed", "reversed items"
    if _has_keys(audit):
        doubt, kind = "keys are wrong", "wrong keys"
    unknown = f"The answers do not show whether {doubt}"
    explanation = ""
    if reason is not None:
        explanation = clause(": {}", reason.reason)
    power = detail_of(audit, "items.label_errors", "power")
    if isinstance(power, Mapping) and power.get("found") is not None:
        # what the gate prints in full
        explanation = f": a test would find {percent(power['found'])} of {kind}"
    sentences = [as_sentence("None in the data."), as_sentence(f"{unknown}{explanation}.")]
    # On the same page the list may rank nearly all wrong keys among its first.
    if audit.to_read:
        sentences.append(as_sentence("The reading list ranks items and tests none."))
    return tuple(sentences)


_MAX_FAILURES = 2
"""Failed tests of a policy that are named; the evidence has all."""


def _quote_answer(gate: Gate, answers: SevenAnswers) -> tuple[Sentence, ...]:
    decisions = tuple(
        as_sentence(f"{test.sentence}.") for test in gate.tests if test.what == PASSING
    )
    if gate.passed:
        return (
            compose("Yes: the total with its interval and the wording of the questions."),
            *decisions,
        )
    # Failed and not measured are counted apart: what nobody measured is no fault of the items.
    outcomes = Counter(map(attrgetter("outcome"), gate.tests))
    failed = outcomes["FAIL"]
    missing = outcomes["NOT MEASURED"]
    if answers.state == "not_ready":
        opening = "Not before the items are corrected."
    else:
        opening = "Yes, if you also give its interval and the wording of the questions."
    fail = verb_form(failed, "fails", "fail")
    be = verb_form(missing, "is", "are")
    failures = f"Of {len(gate.tests)} tests of the policy “{gate.policy}”, {failed} {fail}"
    names = [test.what.partition(" (")[0] for test in gate.tests if test.outcome == "FAIL"]
    if 0 < len(names) <= _MAX_FAILURES:
        failures += f" ({spelled_out('; '.join(names))})"
    if undecided := outcomes["UNDECIDED"]:
        failures += f", {undecided} {verb_form(undecided, 'is', 'are')} undecided"
    failures += f" and {missing} {be} not measured."
    return (as_sentence(opening), as_sentence(failures), *decisions)


def statement(audit: BenchmarkAudit) -> Statement:
    """One line for a table's caption, with the signature of its first number."""
    repeat = "reruns not measured"
    signed = rho = find_estimate(audit, "test_retest.rho_g")
    if rho is not None and rho.status == "not_informative":
        repeat = "reruns identical"  # a coefficient of 1 would be one of the settings
    elif rho is not None and rho.value is not None:
        repeat = f"rho_G {coefficient(rho, 'fixed_models').text}"
    row = wording_row(audit)
    wording = "wording not measured"
    if row is not None:
        wording = f"{SOURCE_SHORT_NAMES[row.source]} {shift_text(audit, row)}"
        # The line bears the signature of the first number that it quotes.
        signed = signed or find_estimate(
            audit, "parallel_forms.mean_shift", administration=row.other[0]
        )
    labelled = budget_row(audit, "people")
    pearson = find_estimate(audit, "criterion.pearson")
    labels = "people not measured"
    if audit.scoring == "people":
        labels = "people scored"
    elif labelled.shift is not None:
        labels = f"people {shift_text(audit, labelled)}"
    elif labelled.other and pearson is not None:
        labels = f"people r {coefficient(pearson, 'model_population').text}"
    # A line without a signature could not be verified (`hqm report --verify`).
    signed = signed or find_estimate(audit, "discriminability.separable_pairs")
    line = statement_signature(signed.signature, audit.procedure) if signed is not None else ""
    # the last field of a signature is the version that made the number
    _, _, version = line.rpartition("|hqm:")
    mark = short_signature(line) if line else ""
    hqm_version = version if "|hqm:" in line else __version__
    shifts = ", ".join(
        f"{SOURCE_SHORT_NAMES[row.source]} {shift_text(audit, row)}"
        for row in _other_shifts(audit, default_policy())
        if row.source != "people"
    )
    return Statement(repeat, wording, labels, order_statement(audit), hqm_version, mark, shifts)


def joint_sentence(audits: Sequence[BenchmarkAudit]) -> str:
    """How many benchmarks have no faulty items, and which source of error is most often the
    largest.
    """
    # By the answer about faults and not by the verdict: imprecise scores passed the search too.
    codes = [seven_answers(audit).codes["faulty"] for audit in audits]
    sound = codes.count("fine")
    n_first = sum(map(is_first_shown, audits))
    sources = []
    for audit in audits:
        row = largest_row(budget_rows(audit))
        if row is not None:
            sources.append(row.source)
    n_words = number_word(sound) if sound else "none"
    sentence = f"Of {number_word(len(audits))} benchmarks, {n_words} passed the search for faults"
    if n_unsearched := codes.count("not_measured"):
        # captions have no keys that answers could contradict
        sentence += f"; in {number_word(n_unsearched)}, answers cannot show faults"
    sentence += "."
    if sources:
        ((commonest, count), *further) = Counter(sources).most_common(2)
        if further and further[0][1] == count:
            sentence += " Which error is the largest differs between them."
        else:
            largest = SOURCES[commonest][0].lower()
            sentence += f" The largest error is most often {largest} ({count} of {len(sources)})."
        sentence += (
            " The lead of the first model is shown in"
            f" {number_word(n_first) if n_first else 'none'}."
        )
    return sentence
