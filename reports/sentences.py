"""The sentences of the report: the verdict, the findings above its figures, what to mend, and the
answers to seven questions.

Every number is one of the audit's. Scores are said in points, coefficients with the digits that
tell the ends of their intervals apart, and names stand for themselves. They stand in one module
because one thing is said in one way, wherever it is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from hqm.reports.phrases import (
    Points,
    Sentence,
    coefficient,
    counted,
    in_letters,
    listed,
    say,
    several,
    so_many,
    without_zero,
)
from hqm.reports.score_tables import (
    budget_row,
    first_place,
    order_in,
    pairs_apart,
    pairs_changed,
    scored_by_people,
    ties_in_order,
    top_together,
    what_forbids_a_total,
    who_answered_a_part,
)
from hqm.reports.tables import (
    Text,
    capital,
    default_policy,
    detail_of,
    estimate_text,
    find,
    goal,
    known,
    leading,
    percent,
    short,
    threshold,
)

from hqm import (
    ERROR_OPTIONS,
    Audit,
    BenchmarkAudit,
    BudgetRow,
    ErrorBudget,
    Gap,
    Gate,
    Mend,
    Policy,
    SevenAnswers,
    Statement,
    __version__,
    answered_in_part,
    by_people,
    hold_against,
    more_items,
    seven_answers,
    short_signature,
    types_measured,
)
from hqm.psychometrics.error_budget import change_band

MARKS: Mapping[str, str] = {"fine": "✓", "look": "◐", "wrong": "✕", "not_measured": "–"}
"""What stands beside a colour, so that no colour is needed."""
OF_STATE: Mapping[str, tuple[str, str]] = {
    "not_ready": ("Not ready", "wrong"),
    "check": ("Check first", "look"),
    "nothing": ("Nothing to mend in the items", "fine"),
    "too_little": ("Too little measured", "not_measured"),
}
LONGEST = 35
"""Words of the verdict at most."""
_LONG = 180
"""Characters of a finding at most; the evidence has the whole."""
_MOST_NAMES = 4
"""Models of a tied set that are named; of a larger one the first and the last."""
QUESTIONS: Mapping[str, str] = {
    "repeat": "Do the scores repeat?",
    "wording": "Does the wording change them?",
    "people": "Do people agree?",
    "separate": "Which models are separated?",
    "faulty": "Are items faulty?",
    "more": "How many more items?",
    "quote": "Can I quote it?",
}
SOURCES: Mapping[str, tuple[str, str]] = {
    "seed": ("Another seed", "same questions, asked again"),
    "items": ("Other items", "as many again, drawn anew"),
    "wording": ("Another wording", "the same questions in other words"),
    "negation": ("Negated questions", "the same questions turned round"),
    "judge": ("Another judge", "the same answers, judged again"),
    "people": ("People instead of the scorer", "labels for the same answers"),
    "resolution": ("Smaller pictures", "the same questions"),
    "blind": ("Without the picture", "the drop should be large"),
    "metric": ("Another metric", "scaled alike"),
}
"""str -> what a row of the error budget is called, and what changes."""
IN_A_LINE: Mapping[str, str] = {
    "seed": "seed",
    "items": "items",
    "wording": "wording",
    "negation": "negation",
    "judge": "judge",
    "people": "people",
    "resolution": "picture size",
    "blind": "picture",
    "metric": "metric",
}
_RECORDED: Mapping[str, str] = {
    "seed": "record a second run",
    "wording": "record another wording",
    "resolution": "record such answers",
    "blind": "record such answers",
}
"""What measures a source of error where nobody can be asked: all answers are recorded."""
_FEW_LABELS = 200
"""Labels a model below which people's band is wide because of them."""


# --- the verdict ---


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict: what the audit comes to, its code, and the sentences behind it."""

    state: str
    code: str
    rest: str

    @property
    def text(self) -> str:
        """The whole verdict."""
        return f"{self.state}{'.' if self.code in ('fine', 'not_measured') else ':'} {self.rest}"


def headline(audit: BenchmarkAudit, policy: Policy | None = None) -> Headline:
    """The verdict of at most 35 words: state, items, order, wording, types."""
    answered = seven_answers(audit, policy)
    state, code = OF_STATE[answered.state]
    sentences = []
    if answered.state == "too_little":
        sentences.append(_too_little(audit))
    elif answered.state != "nothing":
        sentences.append(f"{_faults(answered.mend) or 'the scores do not repeat'}.")
    sentences += filter(None, (_order(audit), _moved(audit), _types(audit)))
    rest: list[str] = []
    for sentence in sentences:
        if len(f"{state} {' '.join((*rest, sentence))}".split()) <= LONGEST:
            rest.append(sentence)
    return Headline(state, code, " ".join(rest))


def _too_little(audit: BenchmarkAudit) -> str:
    if len(audit.respondents) < 10:
        return f"{several(len(audit.respondents), 'model')}: read items, not ranks.".capitalize()
    return "No search for faulty items was possible."


def _faults(mend: Sequence[Mend]) -> str:
    """What is shown or suspected of the items, in a few words."""
    grave = [each for each in mend if each.severity == "fault"]
    wanted = grave or [each for each in mend if each.severity == "doubt"]
    keys = [each for each in mend if each.what == "keys" and each not in wanted]
    return ", ".join(_fault(each) for each in (keys + wanted)[:3])


def _fault(mend: Mend) -> str:
    count, name = mend.count, "".join(mend.names[:1])
    leaking = [each for each in mend.names if each != "all items"] or ["all items"]
    leaks = leaking[0] if len(leaking) == 1 else several(len(leaking), "part")
    words = {
        "keys": f"{several(count, 'key')} to check" if count else "a list of keys to check",
        "two_keys": f"{several(count, 'question')} with two keys",
        "leaks": f"answers leak in {leaks}",
        "pictures": f"{several(count, 'picture')} missing or broken",
        "repeats": f"{several(count, 'item')} asked again",
        "unscored": f"{percent(mend.cost, 1)} of the answers unscored",
        "empty_types": f"{several(count, 'type')} without items",
    }
    return words.get(mend.what, _finding(name or mend.what))


def _finding(name: str) -> str:
    """The name of a finding in words."""
    return {"mojibake": "garbled text"}.get(name, name.replace("-", " "))


def _order(audit: BenchmarkAudit) -> str:
    apart, pairs = pairs_apart(audit)
    if not pairs:
        return ""
    holders = first_place(audit)
    if len(holders) == len(audit.respondents):
        return "All models are tied."
    if len(holders) > 1:
        return f"The top {in_letters(len(holders))} models are tied."
    if apart == pairs:
        return "The two models are told apart." if pairs == 1 else "All models are told apart."
    return f"{apart} of {pairs} pairs of models are told apart."


def largest(rows: Iterable[BudgetRow]) -> BudgetRow | None:
    """The measured row with the longest bar, but for that of another metric."""
    measured = [row for row in rows if row.half is not None and row.source != "metric"]
    return max(measured, key=lambda row: row.half or 0.0, default=None)


def rows_of(audit: BenchmarkAudit) -> tuple[BudgetRow, ...]:
    """The rows of the leading metric's error budget; none in an audit of an earlier version."""
    budget = audit.budget.get(leading(audit))
    return budget.rows if budget is not None else ()


def of_wording(audit: BenchmarkAudit) -> BudgetRow | None:
    """The row of other wordings, or of negated questions where those move more; None without."""
    sources = ("wording", "negation")
    moved = [row for row in rows_of(audit) if row.source in sources and row.moves]
    return max(moved, key=lambda row: row.half or 0.0, default=None)


def _moved(audit: BenchmarkAudit) -> str:
    row = of_wording(audit)
    if row is None:
        return "Other wordings were not measured."
    points = Points.of(audit)
    what = "Negating the questions" if row.source == "negation" else "Another wording"
    changed = pairs_changed(audit, row.other[0])
    if row.shown:
        verb = "lowers" if (row.shift or 0) < 0 else "raises"
        order = " and reorders models" if changed > 1 else ""
        return f"{what} {verb} scores by {points.said(abs(row.shift or 0))} points{order}."
    if not row.half and row.status == "ok":
        return f"{what} moves no score."
    if row.half is None:
        return f"That {what[0].lower()}{what[1:]} shifts the scores is not shown."
    return f"{what} can move one model by {points.said(row.half)} points."


def _types(audit: BenchmarkAudit) -> str:
    measured = [row for row in types_measured(audit) if row.items]
    if (why := what_forbids_a_total(audit)) or len(measured) < 2:
        return why
    alone = sum(row.stands_alone for row in measured)
    if alone == len(measured):
        return "Every type can be scored alone."
    many = "No type" if not alone else f"{capital(in_letters(alone))} of {len(measured)} types"
    return f"{many} can be scored alone."


# --- the error budget ---


def budget_title(audit: BenchmarkAudit, budget: ErrorBudget) -> str:
    """What the error budget shows, in one line."""
    points, top = Points.of(audit, budget.metric), largest(budget.rows)
    if top is None:
        return "What could move the scores was not measured"
    what = {"negation": "Negating the questions", "people": "Scoring by people"}.get(
        top.source, SOURCES[top.source][0]
    )
    said = f"{what} can move one model by {points.said(top.half)} points against the others"
    if not budget.gaps:
        return said
    clear = [gap for gap in budget.gaps if not gap.not_clear]
    if len(budget.gaps) == 1:
        stands = "clear" if clear else "not clear"
        return f"The only gap is {stands} of every measured error; {said[0].lower()}{said[1:]}"
    # other items are tested in pairs: a gap that is smaller than their bar may stand clear of them
    if top.source != "items" and max(gap.gap or 0.0 for gap in budget.gaps) <= (top.half or 0.0):
        return f"{said}; no model leads the next one by as much"
    if not clear:
        return f"No gap is clear of every error: {said[0].lower()}{said[1:]}"
    if len(clear) == len(budget.gaps):
        return "Every gap stands clear of every measured error"
    verb = "stands" if len(clear) == 1 else "stand"
    return (
        f"{capital(several(len(clear), 'gap'))} of {len(budget.gaps)} {verb} clear of every"
        f" measured error; {said[0].lower()}{said[1:]}"
    )


def budget_notes(audit: BenchmarkAudit, budget: ErrorBudget) -> Iterator[str]:
    """What a reader of the error budget must know beside it."""
    points = Points.of(audit, budget.metric)
    for row in budget.rows:
        end, shift = row.half, row.shift or 0.0
        far = [n for n, move in row.moves.items() if end and abs((move or shift) - shift) > end]
        if far and row.source not in ("seed", "items", "metric", "blind") and len(row.moves) > 4:
            rest = [move or 0.0 for name, move in row.moves.items() if name != far[0]]
            band = change_band(rest).half
            yield (
                f"Without {short(far[0])}, the bar of {SOURCES[row.source][0].lower()} would end at"
                f" {points.said(band)} points."
            )
    labels = budget.row("people")
    if labels.half is not None and labels.answers < _FEW_LABELS * labels.respondents:
        many = round(labels.answers / max(labels.respondents, 1))
        if labels == largest(budget.rows):
            yield (
                f"The bar of people is wide because each model has about {many:,} labels; four"
                " times as many would halve it."
            )
    wording = budget.row("wording")
    wide = 1.3 * (wording.half or 0.0)
    if wording.any_wording is not None and len(wording.other) == 1 and wording.any_wording > wide:
        yield (
            "The bar of wording is about these two wordings; from two alone, any other could move"
            f" a model by up to {points.said(wording.any_wording)} points."
        )


def gap_in_words(gap: Gap) -> str:
    """What a gap stands clear of."""
    if not gap.not_clear:
        return "clear of all measured"
    if not gap.clear:
        return "clear of none"
    clear, rest = ([IN_A_LINE[s] for s in some] for some in (gap.clear, gap.not_clear))
    return f"not clear of {', '.join(rest)}" if len(rest) <= 2 else f"clear of {', '.join(clear)}"


def gap_code(gap: Gap) -> str:
    """The code of a gap: clear of all, of some, or of none."""
    return "fine" if not gap.not_clear else "look" if gap.clear else "not_measured"


# --- the leaderboard ---


def board_title(audit: BenchmarkAudit) -> str:
    """Who leads, and whether a rerun leaves it so."""
    holders = [short(name) for name in first_place(audit)]
    again = find(audit, "test_retest.same_winner")
    rerun = ""
    if again is not None and again.value is not None:
        rerun = f"; the same model wins in {percent(again.value)} of reruns"
    rerun += "; not over the same items" if answered_in_part(audit) else ""
    if not holders:
        return "The leaderboard"
    if len(audit.respondents) == 1:
        return f"{holders[0]} alone answered"
    if len(holders) == 1:
        return f"{holders[0]} leads alone{rerun}"
    if len(holders) > 3:
        return f"{capital(in_letters(len(holders)))} models share the first place{rerun}"
    return f"{listed(holders)} share the first place{rerun}"


# --- what to mend ---


@dataclass(frozen=True, slots=True)
class MendLine:
    """One thing to mend, as a page shows it."""

    code: str
    title: str
    sentence: str
    remedy: str
    link: str
    target: str
    """The part of the evidence that it opens: `read`, `lists`, `blind`, ..."""


def mend_lines(audit: BenchmarkAudit, mend: Sequence[Mend]) -> list[MendLine]:
    """What to mend, a line each; notes that say the same of several types are one line."""
    lines: dict[str, list[MendLine]] = {}
    for each in mend:
        line = _mend_line(audit, each)
        lines.setdefault(line.title, []).append(line)
    return [
        replace(
            same[0],
            sentence=f"{same[0].sentence} {capital(in_letters(len(same) - 1))} more like it.",
        )
        if len(same) > 1
        else same[0]
        for same in lines.values()
    ]


_MENDS: Mapping[str, tuple[str, str, str, str, str]] = {
    "keys": (
        "{keys} to check",
        "The answers speak against them{of_one_type}; a weakness that strong models share looks"
        " alike.{cost}",
        "{to_read} to read",
        "read",
        "Read them, and correct only the keys that you find wrong.",
    ),
    "two_keys": (
        "{questions} with two keys",
        "One question has different right answers, as in {first_two}.{cost}",
        "{of_groups}",
        "lists",
        "Correct one of each.",
    ),
    "leaks": (
        "{leaks} in {named}",
        "{leak}",
        "all leaks",
        "blind",
        "Balance the wordings, shuffle items and options, and number them anew.",
    ),
    "pictures": (
        "{pictures} broken or missing",
        "{found}: nobody who looks can answer what is asked about {named}.{cost}",
        "{counted_pictures}",
        "lists",
        "Put the files back, or take their items out.",
    ),
    "repeats": (
        "{items} asked again",
        "Their questions weigh more than once: {named}.",
        "{counted_items}",
        "lists",
        "Keep one of each.",
    ),
    "unscored": (
        "{share} of the answers unscored",
        "{answers} could not be read, or were not given.",
        "states",
        "states",
        "Read them; then make the parser accept them, or ask again.",
    ),
    "empty_types": (
        "No items of {named}",
        "The card claims them.",
        "types",
        "types",
        "Add items, or take the claim back.",
    ),
}
"""What is to be mended -> title, sentence, link, the part of the evidence behind it, and remedy."""
_FOUND = ("{finding}", "{found}", "the check", "fix", "")


def _mend_line(audit: BenchmarkAudit, mend: Mend) -> MendLine:
    points, count = Points.of(audit), mend.count
    cost = ""
    if mend.cost is not None and mend.cost >= 0.0005 and points.factor == 100:
        cost = f" That costs a model that answers right up to {points.said(mend.cost)} points."
    keys = f"About {count:,} keys" if count > 1 else "One key" if count else "Keys"
    words = {
        "cost": cost,
        "keys": keys,
        "of_one_type": _one_type(audit),
        "to_read": counted(len(audit.to_read), "item"),
        "questions": several(count, "question"),
        "first_two": listed(mend.names[:2]),
        "of_groups": counted(len(mend.names), "item"),
        "leaks": "A leak" if count == 1 else "Leaks",
        "leak": _leak(mend),
        "named": listed([*mend.names[:3], *([f"{count - 3:,} more"] if count > 3 else [])]),
        "pictures": several(count, "picture"),
        "counted_pictures": counted(count, "picture"),
        "items": several(count, "item"),
        "counted_items": counted(count, "item"),
        "share": percent(mend.cost, 1),
        "answers": counted(count, "answer"),
        "finding": _finding("".join(mend.names[:1])) or "unbalanced keys",
        "found": shorten(f"{capital(mend.sentence)}.", _LONG, placeholder=" ..."),
    }
    title, sentence, link, target, remedy = _MENDS.get(mend.what, _FOUND)
    return MendLine(
        "wrong" if mend.severity == "fault" else "look",
        capital(title.format(**words)),
        sentence.format(**words),
        mend.remedy or remedy,
        link.format(**words),
        target,
    )


def _leak(mend: Mend) -> str:
    """What gives answers away, and how many it gives away alone where that was measured."""
    if mend.accuracy is None:
        return f"{capital(mend.by)} gives the answers away."
    first = next((part for part in mend.by.split(", ") if part != "words"), "words")
    cue = capital(first) if first.startswith("the ") else f"The {first}"
    alone = f"{percent(mend.accuracy)} right in {mend.names[0]}"
    return f"{cue} alone: {alone}; the most frequent answer has {percent(mend.baseline)}."


def _one_type(audit: BenchmarkAudit) -> str:
    """That the first items to read are of one type, where as many of it are no chance."""
    first = [row for row in audit.to_read if row.get("why") == "answers"][:10]
    kinds = {str(row.get("type") or "") for row in first}
    name = kinds.pop() if len(kinds) == 1 else ""
    share = (audit.coverage.get(name) or {}).get("items", 0) / max(audit.n_items, 1)
    if not name or len(first) < 3 or share ** len(first) >= 0.01:
        return ""
    return f", the first {in_letters(len(first))} all in {name}"


def reading_note(audit: BenchmarkAudit) -> str:
    """How many of the items to read are expected to be faulty, by planted faults."""
    power = detail_of(audit, "items.reading_list", "power")
    if not isinstance(power, Mapping) or known(power.get("true_among_first")) is None:
        return "Contradictory keys first, then what strong models fail and weak ones pass."
    planted = int(power.get("planted") or 0)
    return (
        f"A trial of this list: of {several(planted, 'key')} turned in a copy of these answers,"
        f" {percent(known(power['true_among_first']))} stood among the first {in_letters(planted)}."
        " A sound benchmark has such a list too."
    )


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
    def asked(self) -> str:
        """The question in words."""
        return QUESTIONS[self.question]


def seven(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Answer, ...]:
    """The answers to the seven questions, a line each."""
    policy = policy or default_policy()
    answered = seven_answers(audit, policy)
    gate = hold_against(Audit((audit,)), policy)
    written: Mapping[str, tuple[tuple[Sentence, ...], str]] = {
        "repeat": (_repeat(audit, answered, policy), "Reliability by source of error"),
        "wording": (_wording(audit), "First and other administrations compared"),
        "people": (_people(audit), "People"),
        "separate": (_separate(audit), "Leaderboard and tied sets"),
        "faulty": (_faulty(audit, answered), "Items"),
        "more": (_more(audit, policy), "Where the variance comes from, and what you would need"),
        "quote": (_quote(gate, answered), "Quote this"),
    }
    return tuple(
        Answer(question, code, *written[question]) for question, code in answered.codes.items()
    )


def how_to_measure(audit: BenchmarkAudit, source: str) -> str:
    """What measures a source of error: an option, or answers that somebody else has to record."""
    if source in _RECORDED and all(who.name.startswith("recorded/") for who in audit.respondents):
        return _RECORDED[source]
    return ERROR_OPTIONS[source]


def _not_measured(audit: BenchmarkAudit, source: str) -> tuple[Sentence, ...]:
    way = how_to_measure(audit, source)
    return (say(f"Not measured: {way}{' adds it' if way.startswith('-') else ''}."),)


def _repeat(audit: BenchmarkAudit, answered: SevenAnswers, policy: Policy) -> tuple[Sentence, ...]:
    rho = find(audit, "test_retest.rho_g")
    if rho is None:
        return _not_measured(audit, "seed")
    if rho.value is None:
        alone = len(audit.respondents) == 1
        return (say(f"Not known: {'one model answered' if alone else rho.reason}."),)
    least, inference = goal("test_retest.rho_g", policy)
    opened = {
        "fine": "Yes.",
        "wrong": f"No, the goal of {without_zero(threshold(least))} is missed.",
        "look": f"Not shown to reach {without_zero(threshold(least))}.",
        "not_measured": "This audit does not say.",
    }[answered.codes["repeat"]]
    sentences = [say(f"{opened} Reliability {{rho}}.", rho=coefficient(rho, inference))]
    half = budget_row(audit, "seed").half
    if half is not None:
        moved = Points.of(audit).said(half)
        sentences.append(
            say(f"A rerun moves a typical model by less than {moved} points (95%).")
            if half
            else say("Reruns gave the same answers.")
        )
    return tuple(sentences)


def _wording(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    row, points = of_wording(audit), Points.of(audit)
    if row is None:
        return _not_measured(audit, "wording")
    shift = find(audit, "parallel_forms.mean_shift", other=row.other[0])
    shown = f"{points.said(row.shift, sign=True)} {points.ends(row.low, row.high)}".strip()
    of_shift: Text | str = shown
    if shift is not None and len(row.other) == 1:
        of_shift = replace(estimate_text(shift), text=shown, muted=False)
    what = "Negated questions" if row.source == "negation" else "Another wording"
    changed, pairs = pairs_changed(audit, row.other[0]), math.comb(len(audit.respondents), 2)
    template = f"{what}: {{shift}} points{'' if row.shown else ', not shown'}"
    order = (
        f"; {changed} of {pairs} pairs change places" if changed else "; the order does not change"
    )
    far = max(row.moves, key=lambda name: abs((row.moves[name] or 0.0) - (row.shift or 0.0)))
    moved = points.said(row.moves[far], sign=True)
    most = f", {short(far)} moves most ({moved})" if row.moves[far] else ""
    return (say(f"{template}{order}{most}.", shift=of_shift), *wordings_to_average(audit))


def wordings_to_average(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """How many wordings it takes where the mean over those asked does not stand for others."""
    mean = find(audit, "parallel_forms.phi_of_forms")
    if mean is None or mean.detail.get("wording_variance_high") is None:
        return
    low = mean.interval("model_population")
    if low is None or low.low >= mean.detail["goal"]:
        return
    needed = mean.detail.get("wordings_needed")
    yield say(
        f"Scores that stand for other wordings take a mean over {needed} of them (now {{phi}})."
        if needed
        else "No number of wordings up to 20 is shown to give scores that stand for others (now"
        " {phi}).",
        phi=mean,
    )


def _people(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    points, row = Points.of(audit), budget_row(audit, "people")
    if by_themselves := scored_by_people(audit):
        return (say(by_themselves),)
    r, kappa, alike = (
        find(audit, f"criterion.{name}") for name in ("pearson", "kappa", "accuracy")
    )
    if row.status == "not_measured" and (r is None or not by_people(r)):
        return _not_measured(audit, "people")
    sentences = []
    if alike is not None and alike.value is not None:
        share = replace(estimate_text(alike), text=percent(alike.value), muted=False)
        said = f"In {{alike}} of {row.answers:,} labelled answers"
        if kappa is None or kappa.value is None:
            sentences.append(say(f"{said}.", alike=share))
        else:
            of_kappa = coefficient(kappa)
            sentences.append(say(f"{said}; kappa {{kappa}}.", alike=share, kappa=of_kappa))
        if alike.value < 0.5 and kappa is not None and (kappa.value or 0.0) < 0:
            sentences.append(say("Are the labels turned round? 1 says that an answer is right."))
    if r is not None and r.value is not None:
        sentences.append(say("Models' scores correlate {r}.", r=coefficient(r, "model_population")))
    elif r is not None and not sentences:
        sentences.append(say(f"Not told: {r.reason}."))
    if row.shift is not None:
        moved = f"{points.said(row.shift, sign=True)} points {points.ends(row.low, row.high)}"
        sentences.append(say(f"By people, scores move {moved.strip()}."))
    return tuple(sentences)


def _separate(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    apart, pairs = pairs_apart(audit)
    estimate = find(audit, "discriminability.separable_pairs")
    if estimate is None or not pairs:
        return (say("Not measured: it takes two models."),)
    shown = replace(estimate_text(estimate), text=f"{apart} of {pairs}", muted=False)
    sets = [
        "–".join(map(short, group))
        if len(group) <= _MOST_NAMES
        else f"{short(group[0])} to {short(group[-1])} ({len(group)})"
        for group in ties_in_order(audit)
    ]
    tied = f" Tied: {'; '.join(sets[:4])}" + (
        f"; {counted(len(sets) - 4, 'more set')}" if len(sets) > 4 else ""
    )
    # a terminal's line is cut at its end
    said = "{shown} pairs." + who_answered_a_part(audit) + (f"{tied}." if sets else "")
    return (say(said + top_together(audit), shown=shown),)


def _faulty(audit: BenchmarkAudit, answered: SevenAnswers) -> tuple[Sentence, ...]:
    every = [_fault(each) for each in answered.mend if each.severity != "note"]
    if every:
        return (say(f"{capital(', '.join(every[:4]))}."),)
    if audit.task == "caption" and answered.codes["faulty"] == "fine":
        return (say("The check of the data finds none; there are no keys to hold answers to."),)
    if answered.codes["faulty"] == "fine":
        return (say(f"None shown. {reading_note(audit)}"),)
    reason = find(audit, "items.label_errors")
    why = f": {reason.reason}" if reason is not None and reason.reason else ""
    return (say(f"The check of the data finds none; the answers do not say{why}."),)


def _more(audit: BenchmarkAudit, policy: Policy) -> tuple[Sentence, ...]:
    more = more_items(audit, policy)
    if not more.measured:
        return (say("Not known: nothing was repeated, and there are no types."),)
    parts = []
    if more.items == 0:
        parts.append("None for the total")
    elif more.items is not None:
        parts.append(f"{so_many(more.items)} for the total (or the mean of {more.runs:,} runs)")
    else:
        parts.append("Not known for the total")
    if more.types:
        most = max(more.types, key=lambda kind: more.types[kind])
        count = f"{so_many(more.for_types)} for scores by type"
        parts.append(
            count
            + (f", most in {most} ({so_many(more.types[most])})" if len(more.types) > 1 else "")
        )
    elif any(row.measurable for row in types_measured(audit)):
        parts.append("none for scores by type")
    return (say(f"{capital('; '.join(parts))}."),)


def _quote(gate: Gate, answered: SevenAnswers) -> tuple[Sentence, ...]:
    if gate.passed:
        return (say("Yes, the total with its interval and wording."),)
    failed, missing = (
        sum(test.outcome == outcome for test in gate.tests) for outcome in ("FAIL", "NOT MEASURED")
    )
    opened = (
        "Not before the items are mended"
        if answered.state == "not_ready"
        else "With intervals and the wording named"
    )
    fail = "fails" if failed == 1 else "fail"
    of = f"{failed} of {len(gate.tests)} tests of the policy “{gate.policy}” {fail}"
    return (say(f"{opened}: {of}, {missing} are not measured."),)


def statement(audit: BenchmarkAudit) -> Statement:
    """One line for a table's caption; its signature stands for its first number."""
    points, repeat = Points.of(audit), "reruns not measured"
    signed = rho = find(audit, "test_retest.rho_g")
    if rho is not None and rho.value is not None:
        repeat = f"rho_G {coefficient(rho, 'fixed_models').text}"
    row, wording = of_wording(audit), "wording not measured"
    if row is not None:
        ends = points.ends(row.low, row.high)
        moved = f"{points.said(row.shift, sign=True)} points {ends}".strip()
        wording = f"{IN_A_LINE[row.source]} {moved}"
        signed = signed or find(audit, "parallel_forms.mean_shift", other=row.other[0])
    labelled, labels = budget_row(audit, "people"), "people not measured"
    if audit.scoring == "people":
        labels = "people scored"
    elif labelled.shift is not None:
        labels = f"people {points.said(labelled.shift, sign=True)} points"
    place = {name: i for i, name in enumerate(order_in(audit, audit.reference), 1)}
    ties = ", ".join(f"{place[group[0]]}–{place[group[-1]]}" for group in ties_in_order(audit))
    signed = signed or find(audit, "discriminability.separable_pairs")
    line = signed.signature if signed is not None else ""
    _, _, version = line.rpartition("|hqm:")
    mark = short_signature(line) if line else ""
    made_by = version if "|hqm:" in line else __version__
    shared = f"ties {ties}" if ties else "no ties"
    return Statement(repeat, wording, labels, shared, made_by, mark)


def several_benchmarks(audits: Sequence[BenchmarkAudit], heads: Sequence[Headline]) -> str:
    """What the benchmarks of one audit come to, in one sentence."""
    sound = sum(head.code == "fine" for head in heads)
    shared = sum(len(first_place(audit)) > 1 for audit in audits)
    named = [row.source for audit in audits if (row := largest(rows_of(audit))) is not None]
    many = capital(in_letters(sound)) if sound else "None"
    verb = "have" if sound > 1 else "has"
    said = f"{many} of {in_letters(len(audits))} {verb} nothing to mend in the items."
    if named:
        most = max(dict.fromkeys(named), key=named.count)
        said += (
            f" The largest error is most often {SOURCES[most][0].lower()}"
            f" ({named.count(most)} of {len(named)}); the first place is shared in"
            f" {'all' if shared == len(audits) else in_letters(shared)}."
        )
    return said
