"""What gives right answers away without the pictures: one study for `hqm check`, the indicators and
the gate.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from hqm.benchmark.findings import Finding, group_by_type, row_of
from hqm.files.studies import kept_study
from hqm.psychometrics import (
    blind_solvability,
    items_for_error,
    leakage_cues,
    length_cue,
    stream,
)
from hqm.psychometrics.inference.distributions import binomial_above
from hqm.psychometrics.items.cues import compares_with_chance
from hqm.psychometrics.items.guessing import Candidates, Mode, find_candidates
from hqm.psychometrics.items.leaks import Giveaway, Leakage, Stratum, leaking_strata
from hqm.psychometrics.items.solvability import LengthCue, Solvability, unshared_word_counts
from hqm.types import LETTERS, Form, Item, group_by, types_in

MAX_SAMPLED_ITEMS = 12_000
"""The most items that are guessed, drawn at random.

Places in the file are tried on all items.
"""
LEAK_ALPHA = 0.02
"""The chance that any cue which respondents see is called a leak although none is."""
MAX_ORDERED_ANSWERS = 60
"""Different open answers up to which the order of the file is tried."""
OTHER_TYPES = "all other types"
"""The types together that do not leak by themselves, where others do."""
_FOLDS = 5
_SOURCES = (__name__, "hqm.types", "hqm.text")
"""The modules of the study beside psychometrics."""
WORDS = "words"
"""The cue of a stratum that everything beside the picture was tried on."""
_TASK_MODES: Mapping[str, Mode] = {"yes_no": "label", "choice": "choice", "vqa": "open"}


@dataclass(frozen=True, slots=True)
class Leaks:
    """What an item gives away beside its picture, and what its place and number do, in every type
    and part.
    """

    words: Solvability
    """What words, options and the frequencies of answers give away together."""
    cues: Leakage
    """What single cues give away that a respondent sees."""
    order: Leakage
    """What the order of the file and the numbers of its items give away, which none sees."""
    lengths: LengthCue
    """What counting words gives away; compared with items of no type where all others of a type
    have one label.
    """
    sampled: int
    """How many items were guessed."""

    @property
    def leaking(self) -> tuple[Stratum, ...]:
        """Every type and part in which the words, or a cue, predict more than chance explains; the
        largest gain first.
        """
        return leaking_strata((*self.words.strata, *self.cues.strata))


def can_leak(items: Sequence[Item]) -> bool:
    """Whether there are answers to predict: yes or no, an option, or a short answer."""
    return bool(items) and items[0].task in _TASK_MODES


def leaks_in(form: Form, seed: int = 0) -> Leaks:
    """The study of a form's questions and right answers; asked twice about the same items, it is
    made once.
    """
    return _study(_Key(form, form.digest), seed)


class _Key:
    """A form that is looked up by its content."""

    def __init__(self, form: Form, digest: str) -> None:
        self.form = form
        self.digest = digest

    # A form of thousands of items is hashed by its digest, which it has computed once.
    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.digest == self.digest


@lru_cache(maxsize=8)
def _study(key: _Key, seed: int) -> Leaks:
    make = partial(_make_study, key.form, seed)
    sources = [Path(str(sys.modules[name].__file__)) for name in _SOURCES]
    n_items = len(key.form.items)
    return kept_study(Leaks, "leaks", [key.digest, seed], make, n_items=n_items, sources=sources)


def _make_study(form: Form, seed: int) -> Leaks:
    in_file_order = [item for item in form.items if item.task in _TASK_MODES]
    # by content, so that no order of the file changes what is found
    items = sorted(in_file_order, key=_content)
    if len(items) > MAX_SAMPLED_ITEMS:
        indices = stream(seed, "solvability.sample").choice(
            len(items), MAX_SAMPLED_ITEMS, replace=False
        )
        items = [items[index] for index in np.sort(indices)]
    words, cues = _search(items, seed)
    unleaking_items = _unleaking_types(items, (*words.strata, *cues.strata))
    if unleaking_items:
        words_of_others, cues_of_others = _search(unleaking_items, seed)
        words = replace(words, strata=(*words.strata, *_joint_leaks(words_of_others.strata)))
        cues = replace(cues, strata=(*cues.strata, *_joint_leaks(cues_of_others.strata)))
    # on all items: a sample would lose the very order that is looked for
    order = _search_order(in_file_order, seed)
    unleaking_items = _unleaking_types(in_file_order, order.strata)
    if unleaking_items:
        joint = _joint_leaks(_search_order(unleaking_items, seed).strata)
        order = replace(order, strata=(*order.strata, *joint))
    lengths = length_cue(
        unshared_word_counts(list(map(attrgetter("prompt"), items))),
        list(map(_answer, items)),
        rng=stream(seed, "solvability.length"),
        clusters=_pictures(items),
        types=list(map(attrgetter("type"), items)),
        parts=list(map(attrgetter("part"), items)),
        folds=_FOLDS,
    )
    return Leaks(words, cues, order, lengths, len(items))


def _content(item: Item) -> tuple[str, ...]:
    return (
        item.cluster or item.image or "",
        item.prompt,
        "\n".join(item.options),
        _answer(item),
        item.type or "",
        item.part,
    )


def _answer(item: Item) -> str:
    """The right answer; where several things have to be named, all of them."""
    if isinstance(item.target, (list, tuple)):
        # Several things that have to be named are a set: their order in the file is no other
        # answer.
        return ", ".join(sorted(map(str, item.target)))
    return str(item.target)


def _pictures(items: Sequence[Item]) -> list[str]:
    """What each item shares with others: its picture, or else what it says.

    An id may be the number of a row, by which the order of the file would decide.
    """
    return [item.cluster or item.image or "\n".join(_content(item)) for item in items]


def answers_of(items: Sequence[Item]) -> Candidates:
    """The answers between which a guesser of each item chooses."""
    answers: list[str] = []
    options: list[Sequence[str]] = []
    for item in items:
        answer = _answer(item)
        offered: Sequence[str] = item.options
        if item.task == "yes_no":
            offered = ("no", "yes")
        elif item.task == "choice":
            # of a target that is no letter, the text itself is the answer
            answer = dict(zip(LETTERS, offered, strict=False)).get(answer, answer)
        elif isinstance(item.target, str) and (rivals := item.meta.get("rivals")):
            offered = sorted({answer, *map(str, rivals)})
        answers.append(answer)
        options.append(offered)
    return find_candidates(
        answers,
        [_TASK_MODES[item.task] for item in items],
        options,
        list(map(attrgetter("prompt"), items)),
        list(map(attrgetter("type"), items)),
    )


def _search(items: Sequence[Item], seed: int) -> tuple[Solvability, Leakage]:
    """Return what all that respondents see gives away, and single cues of it."""
    questions = list(map(attrgetter("prompt"), items))
    answers = list(map(_answer, items))
    clusters = _pictures(items)
    types = list(map(attrgetter("type"), items))
    parts = list(map(attrgetter("part"), items))
    # found once for both searches
    candidates = answers_of(items)
    words = blind_solvability(
        questions,
        answers,
        rng=stream(seed, "solvability"),
        clusters=clusters,
        types=types,
        parts=parts,
        folds=_FOLDS,
        alpha=LEAK_ALPHA,
        candidates=candidates,
    )
    cues = leakage_cues(
        answers,
        rng=stream(seed, "leakage"),
        questions=questions,
        clusters=clusters,
        types=types,
        parts=parts,
        alpha=LEAK_ALPHA,
        candidates=candidates,
        in_file_order=False,
    )
    return words, cues


def _search_order(items: Sequence[Item], seed: int) -> Leakage:
    """Return what places and numbers give away, of items with few different answers."""
    answers = list(map(_answer, items))
    # positions cannot predict what nearly every item has for itself
    if len(set(answers)) > MAX_ORDERED_ANSWERS:
        reason = f"the items have more than {MAX_ORDERED_ANSWERS} different answers"
        return Leakage((), (), (), status="not_applicable", reason=reason)
    return leakage_cues(
        answers,
        rng=stream(seed, "leakage.order"),
        ids=list(map(attrgetter("id"), items)),
        clusters=clusters_of(items),
        types=list(map(attrgetter("type"), items)),
        parts=list(map(attrgetter("part"), items)),
        alpha=LEAK_ALPHA,
    )


def _unleaking_types(items: Sequence[Item], strata: Iterable[Stratum]) -> list[Item]:
    """Return the items of the types that do not leak by themselves, where there are several and
    others do: what all of them share may be hidden beneath.
    """
    leaking = {s.type for s in strata if s.shown and s.type and not s.part}
    unleaking_items = [item for item in items if (item.type or "untyped") not in leaking]
    several_types = len(set(map(attrgetter("type"), unleaking_items))) > 1
    if leaking and several_types:
        return unleaking_items
    return []


def _joint_leaks(strata: Iterable[Stratum]) -> list[Stratum]:
    """Return the leaks of the pooled remaining types, under their names."""
    return [replace(s, type=OTHER_TYPES) for s in strata if s.shown and not s.type and not s.part]


def clusters_of(items: Sequence[Item]) -> list[str]:
    """What each item shares with others (its picture, unless the card says otherwise)."""
    return [item.cluster or item.id for item in items]


# --- findings about leaks and types ---

LARGEST_ERROR = 0.03
"""The standard error up to which a type's score is worth reading by itself."""
TYPE_NOT_MEASURABLE = "type-not-measurable"
_MAX_EXAMPLES = 5
_MIN_ITEMS = 20
_MIN_SURPLUS = 0.1
"""How much more often than chance the right option must stand in one place to be named."""


def check_leaks(form: Form) -> Iterable[Finding]:
    """Cues, phrases and words that predict the right answers, with the types and parts in which
    they do.

    Only questions with a right answer are checked, from 20 items on 5 pictures; fewer prove
    nothing.
    """
    if not can_leak(form.items):
        return
    leaks = leaks_in(form)
    task = form.items[0].task
    yield from _cue_findings(leaks, task)
    yield from _length_findings(leaks)
    yield from _order_findings(leaks)
    yield from _phrase_findings(leaks)
    if leaks.words.leaks:
        first = leaks.words.leaks[0]
        yield Finding(
            "blind-solvable",
            sentence=(
                "guessing without the picture, from words, options and the frequencies of answers,"
                f" gets {first.accuracy:.3f} right in {first.name}, where"
                f" {_baseline(first, task)}; a language model will do better"
                f"{_elsewhere(leaks.words.leaks)}"
            ),
            count=_count_items(leaks.words.leaks),
            examples=tuple(
                f"{s.name}: {s.accuracy:.3f} of {s.items} items, where {_baseline(s, task)}, gain"
                f" at least {s.low:.3f}"
                for s in leaks.words.leaks[:_MAX_EXAMPLES]
            ),
            rows=tuple(map(_leak_row, leaks.words.leaks)),
        )


def _baseline(stratum: Stratum, task: str) -> str:
    """What a prediction is compared with, in words."""
    if compares_with_chance(stratum.cue, task):
        return f"chance is {stratum.baseline:.3f}"
    return f"the commonest answer gets {stratum.baseline:.3f}"


def _elsewhere(strata: Sequence[Stratum]) -> str:
    """Where else, after the first."""
    later_strata = [stratum for stratum in strata if stratum.name != strata[0].name]
    if later_strata:
        return f"; also in {_stratum_names(later_strata)}"
    return ""


def _cue_findings(leaks: Leaks, task: str) -> Iterable[Finding]:
    """The single cues that respondents see."""
    cues = leaking_strata(leaks.cues.strata)
    if not cues:
        return
    first = cues[0]
    n_cues = len(set(map(attrgetter("cue"), cues)))
    subject = "one cue predicts"
    if n_cues != 1:
        subject = f"{n_cues} cues predict"
    yield _cue_finding(
        "leakage-cue",
        cues,
        sentence=(
            f"{subject} the right answers of unseen items in {_stratum_names(cues)}; the"
            f" strongest, {first.cue} in {first.name}, gets {first.accuracy:.3f} right where"
            f" {_baseline(first, task)}"
        ),
    )


def _cue_finding(name: str, cues: Sequence[Stratum], *, sentence: str) -> Finding:
    """A finding on cues, the clearest first, with the items that they concern."""
    return Finding(
        name,
        sentence=sentence,
        count=_count_items(cues),
        examples=tuple(map(_cue_example, cues[:_MAX_EXAMPLES])),
        rows=tuple(map(_leak_row, cues)),
    )


def _cue_example(cue: Stratum) -> str:
    return f"{cue.cue} in {cue.name}: {cue.accuracy:.3f} right, gain at least {cue.low:.3f}"


def _order_findings(leaks: Leaks) -> Iterable[Finding]:
    """Places and numbers: no respondent sees them, but a sample from the file's beginning does not
    stand for the file.
    """
    cues = leaking_strata(leaks.order.strata)
    if cues:
        first = cues[0]
        yield _cue_finding(
            "order-cue",
            cues,
            sentence=(
                f"{first.cue} predicts the right answers in {first.name} ({first.accuracy:.3f}"
                " right). Respondents that are asked item by item do not see it, but the first"
                " items of the file (--limit) are not a representative sample"
            ),
        )


def _phrase_findings(leaks: Leaks) -> Iterable[Finding]:
    """Words and beginnings that go with one answer."""
    giveaways = leaks.cues.giveaways
    if giveaways:
        n = len(giveaways)
        yield Finding(
            "giveaway-phrase",
            sentence=(
                f"{n} {'phrase goes' if n == 1 else 'phrases go'} almost always with one right"
                " answer"
            ),
            count=giveaways[0].items,
            examples=tuple(map(_phrase_example, giveaways[:_MAX_EXAMPLES])),
            rows=tuple(map(_giveaway_row, giveaways)),
        )


def _phrase_example(giveaway: Giveaway) -> str:
    subject = f"{giveaway.share:.0%} of {giveaway.items} {giveaway.type} items"
    return f"{giveaway.phrase!r}: {subject} have the answer {giveaway.label!r}"


def _giveaway_row(giveaway: Giveaway) -> dict[str, object]:
    return {
        "phrase": giveaway.phrase,
        "type": giveaway.type,
        "answer": str(giveaway.label),
        "share": float(giveaway.share),
        "items in all": giveaway.items,
    }


def _leak_row(stratum: Stratum) -> dict[str, object]:
    return {
        "where": stratum.name,
        "by": stratum.cue,
        "right": float(stratum.accuracy),
        "commonest answer": float(stratum.baseline),
        "gain at least": float(stratum.low),
        "items in all": stratum.items,
    }


def check_option_positions(form: Form) -> Iterable[Finding]:
    """Types and parts of a multiple choice whose right option has one position more often than
    chance explains.

    An exact binomial test of the commonest place against one in as many as there are options, with
    Bonferroni's correction over places, types and parts at 1%, from 20 items and a surplus of .1
    on.
    """
    groups: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for item in form.items:
        # only questions with as many options have the same chance for a place
        n_options = len(item.options)
        if item.task == "choice" and n_options > 1:
            groups["type", item.type or "", n_options].append(str(item.target))
            if item.part:
                groups["part", item.part, n_options].append(str(item.target))
    large_groups = {key: group for key, group in groups.items() if len(group) >= _MIN_ITEMS}
    rows: list[dict[str, Any]] = []
    examples: list[str] = []
    for (grouping, name, options), letters in large_groups.items():
        letter, n = Counter(letters).most_common(1)[0]
        # Bonferroni's correction: as many tests as positions in all groups
        tests = options * len(large_groups)
        if (
            n / len(letters) - 1 / options >= _MIN_SURPLUS
            and tests * float(binomial_above(n - 1, len(letters), 1 / options)) < 0.01
        ):
            rows.append(
                {
                    grouping: name or "no type",
                    "answer": letter,
                    "items with it": n,
                    "items in all": len(letters),
                    "options": options,
                }
            )
            position = f"{name or 'no type'}: {letter} in {n} of {len(letters)} items"
            examples.append(position)
    if rows:
        first = rows[0]
        has_types = any("type" in row for row in rows)
        sentence = (
            "the right option has one position significantly more often than the others in"
            f" {len(rows)} {'type or part' if len(rows) == 1 else 'types and parts'}; in"
            f" {next(iter(first.values()))} it is {first['answer']} in {first['items with it']} of"
            f" {first['items in all']} items with {first['options']} options"
        )
        yield Finding(
            "option-position",
            sentence,
            # Parts overlap with types: they are counted where no type has the fault, so that no
            # item counts twice.
            sum(int(row["items in all"]) for row in rows if ("type" in row) == has_types),
            tuple(examples[:_MAX_EXAMPLES]),
            rows=tuple(rows),
        )


def _length_findings(leaks: Leaks) -> Iterable[Finding]:
    """The number of words, where each type has one label and is compared with items of no type: no
    other cue is tried there.
    """
    rules = list(filter(attrgetter("stratum.shown"), leaks.lengths.rules))
    # where other cues were tried, counting words is one of them
    if not rules or leaks.cues.status != "not_informative":
        return
    rules.sort(key=lambda rule: -rule.stratum.gain)
    first = rules[0]
    examples = []
    strata = []
    for rule in rules:
        strata.append(rule.stratum)
        right = f"{rule.accuracy.value:.3f} right"
        examples.append(f"{rule.stratum.name}: {right}, {rule.sentence}")
    yield Finding(
        "leakage-cue",
        sentence=(
            "the number of words predicts the right answers of unseen items; in"
            f" {first.stratum.name}, {first.sentence} gets {first.accuracy.value:.3f} right where"
            f" the commonest answer gets {first.baseline:.3f}"
        ),
        count=first.stratum.items,
        examples=tuple(examples[:_MAX_EXAMPLES]),
        rows=tuple(map(_leak_row, strata)),
    )


def _stratum_names(strata: Iterable[Stratum]) -> str:
    names = list(dict.fromkeys(map(attrgetter("name"), strata)))
    text = ", ".join(names[:_MAX_EXAMPLES])
    if len(names) > _MAX_EXAMPLES:
        text += f" and {len(names) - _MAX_EXAMPLES} more"
    return text


def _count_items(strata: Sequence[Stratum]) -> int:
    """How many items strata concern, none of them counted twice."""
    return sum(map(attrgetter("items"), _disjoint_strata(strata)))


def _disjoint_strata(strata: Sequence[Stratum]) -> list[Stratum]:
    """All items, or else types, or where none leaks the parts, each once: how many items are
    concerned is not counted twice.
    """
    by_scope = group_by(strata, lambda stratum: (bool(stratum.type), bool(stratum.part)))
    by_type = {stratum.type: stratum for stratum in by_scope.get((True, False), [])}
    by_part = {stratum.part: stratum for stratum in by_scope.get((False, True), [])}
    return (
        by_scope.get((False, False), [])[:1]
        or list(by_type.values())
        or list(by_part.values())
        or list(strata[:1])
    )


@dataclass(frozen=True, slots=True)
class UnmeasurableType:
    """A type whose score is not known well enough."""

    items: int
    error: float
    missing: int
    """How many more items it needs."""
    measured: bool = False
    """Whether the error was estimated from answers; otherwise it is a forecast."""


def check_types(form: Form, claimed: Iterable[str], labelled: bool) -> Iterable[Finding]:
    """Types that are claimed but not there, there but not claimed, or that have too few items to be
    measured.
    """
    groups = group_by_type(form)
    claimed = tuple(claimed)
    empty = [kind for kind in claimed if kind not in groups]
    if empty:
        yield Finding(
            "type-without-items",
            sentence=f"the card claims {', '.join(empty)}, but no item has this type",
            count=len(empty),
            rows=tuple({"type": kind} for kind in empty),
        )
    # at a rate of .5, where the standard error of a share is largest
    min_items = items_for_error(LARGEST_ERROR)
    small: dict[str, UnmeasurableType] = {}
    extra = []
    extra_rows = []
    n_extra = 0
    for kind in types_in(form.items):
        if kind not in groups:
            continue
        n = len(groups[kind])
        if n < min_items:
            # The standard error of a share of .5, sqrt(.5 * .5 / n).
            small[kind] = UnmeasurableType(n, 0.5 / n**0.5, min_items - n)
        if kind not in claimed:
            extra.append(kind)
            extra_rows.append({"type": kind, "items in all": n})
            n_extra += n
    yield from unmeasurable_types(small)
    if extra:
        kinds = ", ".join(extra)
        yield Finding(
            "type-not-claimed",
            sentence=f"{n_extra} items are labelled {kinds}, which the card does not claim",
            count=n_extra,
            rows=tuple(extra_rows),
        )
    untyped = groups.get("", [])
    if untyped and (labelled or len(groups) > 1):
        yield Finding(
            "items-unlabelled",
            f"{len(untyped)} of {len(form)} items have no type",
            len(untyped),
            examples=tuple(f"{item.id}: {item.prompt}" for item in untyped[:3]),
            rows=tuple(map(row_of, untyped)),
        )


def unmeasurable_types(
    types: Mapping[str, UnmeasurableType], limit: float = LARGEST_ERROR
) -> Iterable[Finding]:
    """The finding about types whose score is not known well enough.

    The limit is in the unit of the errors.
    """
    if not types:
        return
    examples = []
    rows = []
    for kind, row in types.items():
        # measured in answers it is the high end of an interval
        error = f"{row.error:.3f}"
        if row.measured:
            error = f"up to {error} in this audit"
        examples.append(
            f"{kind}: {row.items} items, standard error {error}, {row.missing} more needed"
        )
        rows.append(
            {
                "type": kind,
                "items in all": row.items,
                "standard error": row.error,
                "more items needed": row.missing,
            }
        )
    subject = "1 type has" if len(types) == 1 else f"{len(types)} types have"
    basis = "from the number of items, without answers"
    if any(map(attrgetter("measured"), types.values())):
        basis = "confirmed by the answers"
    yield Finding(
        TYPE_NOT_MEASURABLE,
        sentence=(
            f"{subject} a standard error above {limit:g} ({basis}): do not report it as a score"
        ),
        count=sum(map(attrgetter("items"), types.values())),
        examples=tuple(examples),
        rows=tuple(rows),
    )
