"""The offline writer: true captions, and what can be exchanged in them.

A caption comes from the annotation, where it has captions; otherwise it is written from the scene
graph by a template. A span is exchanged for a word of its own kind that another picture has, so
that the sentence stays one. The offline filter leaves an exchange out where the new word, or a name
near to it, is in another caption of the picture or among its objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hqm.administration.rewriter import stored_replies
from hqm.benchmark.judge_api import fill
from hqm.builders.graph import Object, SceneGraph, Values, phrase_for, values_of, wrong_values
from hqm.builders.lexicon import KINDS as ATTRIBUTES
from hqm.builders.lexicon import (
    POSTURES,
    be,
    brought_in,
    excludes,
    near_names,
    singular,
    well_formed,
    with_article,
)
from hqm.respondents.base import Respondent
from hqm.scoring.parsers import refuses
from hqm.store.database import Store, ask
from hqm.types import Response

KINDS = ("object", "attribute", "relation", "event")
WORDS = 2
"""So many words more or fewer than the true caption has, at most."""
ATTRIBUTE_KINDS = ("color", "size", "state", "material", "weather", "action")
COLORS = tuple(
    color
    for color in ATTRIBUTES["color"].split()
    if color not in ("orange", "gold", "silver", "tan", "beige", "gray", "grey")
)
_EXCLUSIVE = frozenset((*ATTRIBUTES["color"].split(), *POSTURES))
_OPPOSITES = (("to the left of", "to the right of"), ("above", "below"))
_ADULT = frozenset("man men woman women people person lady couple guy".split())
_AGES = ("young", "old")
_WORDS = {
    "object": (
        "dog cat horse cow sheep elephant bear zebra giraffe bird".split(),
        "car bus truck train boat bicycle motorcycle airplane".split(),
        "pizza cake sandwich banana apple".split(),
        "chair couch bed bench toilet sink refrigerator".split(),
        "skateboard surfboard snowboard".split(),
        "laptop phone keyboard clock vase umbrella".split(),
    ),
    "attribute": (
        list(COLORS),
        ["wooden", "metal", "plastic", "brick", "stone"],
        list(_AGES),
        ["two", "three", "four", "five"],
    ),
    "relation": (
        ["above", "below", "under"],
        ["on top of", "under", "next to"],
        ["in front of", "behind"],
        ["inside", "outside"],
    ),
    "event": (
        "sitting standing walking lying sleeping running".split(),
        "eating holding watching carrying".split(),
        "flying swimming".split(),
    ),
}
"""Kind -> groups of words that can stand for each other in a sentence; what is exchanged stays in
its group.
"""
_SAID = re.compile(
    rf"\b(?:{'|'.join(word for of_kind in _WORDS.values() for group in of_kind for word in group)})"
    r"\b",
    re.IGNORECASE,
)
_BOTH = frozenset(
    frozenset(pair.split(" / "))
    for pair in (
        "below / under",
        "next to / under",
        "eating / holding",
        "eating / watching",
        "holding / watching",
        "carrying / holding",
        "carrying / watching",
        "carrying / eating",
        "keyboard / laptop",
        "bench / chair",
        "brick / stone",
        "sink / toilet",
    )
)
"""Pairs of words that may both be true of one thing, or that viewers take for each other: neither
is put for the other.
"""
_LIVING = frozenset(
    "man men woman women person people boy boys girl girls child children kid kids guy lady player"
    " players rider surfer skier skateboarder baby dog dogs cat cats horse horses cow"
    " cows sheep elephant elephants bear bears zebra zebras giraffe giraffes bird birds animal"
    " animals puppy kitten duck ducks he she".split()
)
"""What can do something: a table stands, and nobody can say that it sits."""
_DETERMINER = r"(?:the|a|an|his|her|their|its|some|two|three)"
_FOLLOWS = {
    "relation": re.compile(rf" (?:of )?{_DETERMINER} (?!while|as|and)(?P<thing>[a-z ]+)"),
    "transitive": re.compile(rf" {_DETERMINER} "),
    "event": re.compile(
        r"[.,]$| (?:in|on|at|near|next to|beside|by|along|behind|under|together|outside|inside"
        r"|through|across|against|alone|among|between) "
    ),
    "object": re.compile(
        r"[.,]| (?:in|on|at|near|next|beside|by|with|and|or|is|are|that|which|under|behind|inside"
        r"|outside|of|to|for|from|while|sitting|standing|lying|parked|sits|stands) "
    ),
}
"""What may stand behind a word of this kind, so that it has the sense of its list."""
_SPOT = re.compile(
    r" (?P<how>\w+)(?: \w+){0,3}? (?P<what>grass|field|bench|bed|couch|chair|table|street|road"
    r"|toilet|snow|water)\b"
)
"""Where something is done, by the places that leave few things to do there."""
_BEFORE_THING = frozenset(
    "a an the one two three his her their its large small big little old young new white black red"
    " blue green yellow brown gray dirty clean open empty wooden".split()
)
"""What may stand before a thing: behind "teddy" a bear is no bear."""
_NO_PLACE = {
    "above": "umbrella umbrellas",
    "below": "",
    "inside": "",
    "outside": "",
    "on top of": (
        "hill mountain park runway field ground floor water snow grass road street beach slope"
        " ocean lake sand track tracks court wave waves other tower"
    ),
    "under": (
        "umbrella umbrellas tree trees sky sun light lights roof canopy awning water snow clouds"
        " supervision blanket blankets"
    ),
    "in front of": (
        "camera computer laptop tv television screen monitor desk counter table keyboard cake pizza"
        " plate food bar car bus truck train van motorcycle bike bicycle vehicle plane airplane"
        " other crowd"
    ),
}
"""Word -> things for which the opposite place makes no sense, or may hold as well."""
_NO_PLACE["behind"] = _NO_PLACE["in front of"]
_NO_PLACE["next to"] = f"{_NO_PLACE['on top of']} river man woman boy girl person people fence tree"
_FIXED = re.compile(
    r"^(?: fashioned|-fashioned| way| tone| wine| bear| board| box| onions?| beans?| peppers?| tea"
    r"| rice| sauce| meat| story| level| piece| part| decker| sky| skies"
    r"|\.)"
)
"""Words behind an attribute with which it is one name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A span of a caption that can be replaced, with its replacements."""

    kind: str
    text: str
    others: tuple[str, ...]
    start: int = 0
    about: str = ""
    """Of what it is said, where the words say no more than that."""
    objects: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """A true caption of a picture, with its spans."""

    image: str
    file: str
    text: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A caption in which one span was exchanged."""

    slot: Slot
    after: str
    start: int
    text: str


def captions_of(graphs: Sequence[SceneGraph]) -> Iterator[Caption]:
    """Return each picture's captions: the annotated ones, or some made from the scene graph."""
    names = sorted({thing.name for graph in graphs for thing in graph.objects})
    known = values_of(graphs)
    colored = frozenset(name for name, kind in known if kind == "color")
    for graph in graphs:
        if graph.captions:
            yield from _annotated(graph)
        else:
            yield from _described(graph, names, colored, known)


def changes_of(caption: Caption) -> tuple[Change, ...]:
    """Return every wrong caption of similar length that one replacement makes of a true one."""
    made = []
    for slot in caption.slots:
        for other in slot.others:
            if abs(len(other.split()) - len(slot.text.split())) > WORDS:
                continue
            before, after = caption.text[: slot.start], caption.text[slot.start + len(slot.text) :]
            text, start = _joined(before, other, after)
            made.append(
                Change(slot=slot, after=text[start : start + len(other)], start=start, text=text)
            )
    return tuple(made)


def _joined(before: str, value: str, after: str) -> tuple[str, int]:
    """Replace a word in a sentence, and adapt its article and its capital."""
    article = re.search(r"\b(an?) $", before, re.IGNORECASE)
    if article is not None:
        right = "an" if with_article(value).startswith("an ") else "a"
        right = right.capitalize() if article[1][0].isupper() else right
        before = f"{before[: article.start()]}{right} "
    return before + (value if before else f"{value[0].upper()}{value[1:]}") + after, len(before)


def _annotated(graph: SceneGraph) -> Iterator[Caption]:
    """The captions of an annotation, with the words that lists know."""
    everything = {
        singular(word)
        for caption in graph.captions
        for word in re.findall(r"[a-z]+", caption.lower())
    }
    there = everything | {word for name in graph.present for word in (name, *near_names(name))}
    for text in graph.captions:
        clean = " ".join(text.split()).rstrip(" .")
        if not 4 <= len(clean.split()) <= 40 or not well_formed(clean):
            continue
        clean = f"{clean[0].upper()}{clean[1:]}."
        slots = []
        for match in _SAID.finditer(clean):
            word = match[0].lower()
            for kind, groups in _WORDS.items():
                own = [group for group in groups if word in group]
                if not own or not _fits(kind, clean, match):
                    continue
                others = tuple(
                    other if match[0][0].islower() else f"{other[0].upper()}{other[1:]}"
                    for other in dict.fromkeys(other for group in own for other in group)
                    if other != word
                    and other not in there
                    and not near_names(other) & there
                    and frozenset((word, other)) not in _BOTH
                    and (not {word, other} <= _EXCLUSIVE or excludes(word, other))
                )
                if others:
                    why = "no caption and no object of the picture has it"
                    # who walks walks through, and who sits sits on: the place says what is done
                    spot = _SPOT.match(clean[match.end() :])
                    where = (
                        clean[match.end() :].split()[:1]
                        if spot is None
                        else [spot["how"], spot["what"]]
                    )
                    slots.append(
                        Slot(
                            kind=kind,
                            start=match.start(),
                            text=match[0],
                            others=others,
                            about=" ".join(where) if kind == "event" else "",
                            why=why,
                        )
                    )
        yield Caption(image=graph.image.id, file=graph.image.file, text=clean, slots=tuple(slots))


def _fits(kind: str, text: str, match: re.Match[str]) -> bool:
    """Whether a word is used in the sense of its list: a position, an action, or a thing and no
    brand or part of a name.
    """
    before, behind = text[: match.start()].lower().split(), text[match.end() :]
    word, last = match[0].lower(), before[-1] if before else ""
    if kind == "relation":
        follows = _FOLLOWS[kind].match(behind)
        if follows is None or last == "the" or behind[follows.end() :].startswith("'"):
            return False
        return _thing_in(follows["thing"]).isdisjoint(_NO_PLACE[word].split())
    if kind == "event":
        transitive = word in _WORDS["event"][1]
        follows = _FOLLOWS["transitive" if transitive else "event"].match(behind)
        verbs = re.findall(r"\b[a-z]{2,}ing\b", text.lower())
        alone = len(verbs) == 1 and not re.search(r"\bair\b", text)
        return follows is not None and alone and bool(_LIVING & set(before[-4:]))
    if kind == "object":
        flies = re.search(r"\b(?:fl(?:y|ies|ying|ew)|another|other)\b", text.lower())
        return (
            (not before or (match[0].islower() and last in _BEFORE_THING))
            and _FOLLOWS[kind].match(behind) is not None
            and flies is None
        )
    near = {*before[-2:], *re.findall("[a-z]+", behind.lower())[:2]}
    if word in _AGES:
        return bool(_ADULT & set(behind.split()[:1]))
    return (
        _FIXED.match(behind) is None
        and last not in ("year", "month", "one", "each")
        and near.isdisjoint(ATTRIBUTES["color"].split())
    )


def _thing_in(words: str) -> set[str]:
    """The words of the noun phrase that a text begins with."""
    return set(
        re.split(r" (?:with|and|in|on|at|near|of|to|next|that|which|while) ", f"{words} ")[
            0
        ].split()
    )


def _described(
    graph: SceneGraph, names: Sequence[str], colored: frozenset[str], known: Values
) -> Iterator[Caption]:
    """Captions from a scene graph: where one thing lies, what a thing looks like, and what somebody
    does.
    """
    missing = tuple(
        name for name in names if name in graph.absent and not near_names(name) & graph.present
    )

    def named(thing: Object) -> list[str | Slot]:
        return _named(graph, thing, missing, colored)

    for relation in graph.relations:
        a, b = graph.by_id[relation.subject], graph.by_id[relation.object]
        pair = next((pair for pair in _OPPOSITES if relation.predicate in pair), None)
        first, second = phrase_for(graph, a), phrase_for(graph, b)
        if pair is None or not relation.holds or not first or not second:
            continue
        lies = Slot(
            kind="relation",
            text=relation.predicate,
            others=tuple(word for word in pair if word != relation.predicate),
            objects=(a.id, b.id),
            why="the annotation says the opposite",
        )
        yield _sentence(graph, *named(a), f" {be(a.name)} ", lies, " ", *named(b))
    for number, thing in enumerate(graph.objects):
        if graph.only(thing.name) is not thing or thing.name in graph.image.doubtful:
            continue
        others = [
            other
            for other in (*graph.objects[number + 1 :], *graph.objects[:number])
            if other.name != thing.name and phrase_for(graph, other)
        ]
        for kind in ATTRIBUTE_KINDS:
            wrong = wrong_values(graph, thing, kind, known.get((thing.name, kind), ()))
            for value in thing.values(kind):
                slot = Slot(
                    kind="event" if kind == "action" else "attribute",
                    text=value,
                    others=wrong,
                    about=thing.name,
                    objects=(thing.id,),
                    why=f"the only {thing.name} is not so by the annotation",
                )
                beside = [", and ", *named(others[0]), " can be seen"] if others else []
                yield _sentence(graph, f"The {thing.name} {be(thing.name)} ", slot, *beside)
        if others:
            yield _sentence(graph, *named(thing), " and ", *named(others[0]), " can be seen")


def _sentence(graph: SceneGraph, *pieces: str | Slot) -> Caption:
    """Put words and spans together, and note where the spans are."""
    text, slots = "", []
    for piece in pieces:
        if isinstance(piece, Slot) and piece.others:
            slots.append(replace(piece, start=len(text)))
        text += piece.text if isinstance(piece, Slot) else piece
    text = f"{text[0].upper()}{text[1:]}."
    return Caption(
        image=graph.image.id,
        file=graph.image.file,
        text=text,
        slots=tuple(replace(s, text=text[s.start : s.start + len(s.text)]) for s in slots),
    )


def _named(
    graph: SceneGraph, thing: Object, missing: tuple[str, ...], colored: frozenset[str]
) -> list[str | Slot]:
    """A thing by its name, or by its color and name where several have the name."""
    why = "the annotation is complete about it and has none"
    if graph.only(thing.name) is thing:
        others = tuple(brought_in(name) for name in missing)
        text = brought_in(thing.name)
        return [Slot(kind="object", text=text, others=others, objects=(thing.id,), why=why)]
    own = thing.values("color")[0]
    taken = {v for o in graph.objects if o.name == thing.name for v in o.values("color")}
    wrong = tuple(color for color in COLORS if all(excludes(color, value) for value in taken))
    color = Slot(
        kind="attribute",
        text=own,
        others=wrong,
        about=thing.name,
        objects=(thing.id,),
        why=f"no {thing.name} of the picture has it",
    )
    others = tuple(name for name in missing if name in colored)
    name = Slot(
        kind="object", text=thing.name, others=others, about=own, objects=(thing.id,), why=why
    )
    return [f"{with_article(own).partition(' ')[0]} ", color, " ", name]


# --- captions that a model writes, and a model that checks them ---

# Hal-Eval (Jiang et al. 2024, arXiv 2402.15721) has both roles. The prompts are ours. What the
# writer says is taken only where it changed one span of the true caption, within two words of its
# length; what the filter does not clearly call false is left out.

LONGEST = 5
"""Words that the changed span may have."""
WRITE = """The sentence below is true of a picture. Write it again with one thing changed, so that it becomes false of the
picture: {what}. Change those words only, keep all others to the letter, and change no more than two or three words.
Reply with the changed sentence alone, on one line.

Sentence: {text}"""
WHAT = {
    "object": "put another thing in the place of one that it names",
    "attribute": "give one thing another color, size, material or state",
    "relation": "let one thing lie in another place, as seen from another thing",
    "event": "let somebody or something do something else",
}
CHECK = """The first sentence is true of a picture that you do not see. Is the second one a sensible sentence, and false of every
picture of which the first is true?
Reply with one word: "false" if it is; "unclear" if it may be true as well, or makes no sense.

First: {true}
Second: {wrong}"""
_FALSE, _UNCLEAR = (
    re.compile(r"^\W*false\b", re.IGNORECASE),
    re.compile(r"^\W*unclear\b", re.IGNORECASE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The models that write and check captions, and the store of their replies; None for rules."""

    store: Store
    writer: Respondent | None = None
    checker: Respondent | None = None


Captions = Sequence[tuple[Caption, tuple[Change, ...]]]


def changes_written(captions: Captions, roles: Roles) -> tuple[Captions, tuple[str, ...]]:
    """Have the writer change each caption once in each way; notes say what was left out."""
    writer = roles.writer
    if writer is None:
        return captions, ()
    asks = {
        (i, kind): ask(fill(WRITE, what=WHAT[kind], text=caption.text))
        for i, (caption, _) in enumerate(captions)
        for kind in KINDS
    }
    replies = stored_replies(asks.values(), writer, roles.store)
    why = f"{writer.name} wrote it to be false"
    made: list[list[Change]] = [[] for _ in captions]
    left_out: Counter[str] = Counter()
    for (i, kind), question in asks.items():
        read = _change(captions[i][0].text, replies.get(question.digest), kind, why)
        if isinstance(read, str):
            left_out[read] += 1
        else:
            made[i].append(read)
    written = [
        (caption, tuple(changes)) for (caption, _), changes in zip(captions, made, strict=True)
    ]
    return written, _notes(f"the writer {writer.name}", len(asks), left_out)


def changes_passed(captions: Captions, roles: Roles) -> tuple[Captions, tuple[str, ...]]:
    """Select the changes that the filter calls false; notes say what was left out."""
    checker = roles.checker
    if checker is None:
        return captions, ()
    asks = {
        (i, j): ask(fill(CHECK, true=caption.text, wrong=change.text))
        for i, (caption, changes) in enumerate(captions)
        for j, change in enumerate(changes)
    }
    replies = stored_replies(asks.values(), checker, roles.store)
    reasons = {place: _objection(replies.get(question.digest)) for place, question in asks.items()}
    accepted = [
        (
            caption,
            tuple(
                replace(c, slot=replace(c.slot, why=f"{c.slot.why}; {checker.name} calls it false"))
                for j, c in enumerate(changes)
                if not reasons[i, j]
            ),
        )
        for i, (caption, changes) in enumerate(captions)
    ]
    return accepted, _notes(
        f"the filter {checker.name}", len(asks), Counter(filter(None, reasons.values()))
    )


def _notes(who: str, asked: int, left_out: Counter[str]) -> tuple[str, ...]:
    reasons = "; ".join(f"{count}: {reason}" for reason, count in left_out.most_common())
    summary = f"{who} was asked {asked} times, and {asked - left_out.total()} replies are used"
    return (f"{summary} ({reasons})" if reasons else summary,)


def _objection(response: Response | None) -> str:
    """Return why a wrong caption is left out; empty where the filter calls it false."""
    if response is None or response.state != "ok" or refuses(response.text):
        return "no reply, or a refusal"
    if _FALSE.search(response.text):
        return ""
    return (
        "it may be true as well"
        if _UNCLEAR.search(response.text)
        else "neither false nor unclear was said"
    )


def _change(text: str, response: Response | None, kind: str, why: str) -> Change | str:
    """Return the single span that a reply changed, or why the reply is left out.

    >>> text = "A red cup is on a box."
    >>> _change(text, Response("A red cup is under a box."), "relation", "w").after
    'under'
    >>> _change(text, Response("A blue cup is on a bed."), "attribute", "w")
    'more than one span was changed'
    """
    if response is None or response.state != "ok" or refuses(response.text):
        return "no reply, or a refusal"
    wrong = response.text.strip().strip("\"'“”").strip()
    wrong = f"{wrong.rstrip('.')}." if text.endswith(".") else wrong
    if "\n" in wrong:
        return "it has several lines"
    old, new = text.split(), wrong.split()
    if old == new:
        return "it is the true caption"
    if abs(len(old) - len(new)) > WORDS:
        return f"it is over {WORDS} words longer or shorter"
    first = _shared(old, new)
    last = _shared(old[first:][::-1], new[first:][::-1])
    before, after = old[first : len(old) - last], new[first : len(new) - last]
    if not before or not after:
        return "words were only added or left out"
    if max(len(before), len(after)) > LONGEST or set(before[1:-1]) & set(after[1:-1]):
        return "more than one span was changed"
    values = [" ".join(words).rstrip(".,;") for words in (before, after)]
    start = len(" ".join(new[:first])) + (first > 0)
    slot = Slot(kind=kind, start=start, text=values[0], others=(values[1],), why=why)
    return Change(slot=slot, after=values[1], start=start, text=" ".join(new))


def _shared(old: list[str], new: list[str]) -> int:
    """How many words are the same from the beginning."""
    return next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
