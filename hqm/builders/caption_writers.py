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
from hqm.builders.graph import Object, SceneGraph, phrase_for
from hqm.builders.lexicon import KINDS as ATTRIBUTES
from hqm.builders.lexicon import near_names, singular, with_article
from hqm.respondents.base import Respondent
from hqm.scoring.parsers import refuses
from hqm.store.database import Store, ask
from hqm.types import Response

KINDS = ("object", "attribute", "relation", "event")
WORDS = 2
"""So many words more or fewer than the true caption has, at most."""
_OPPOSITES = (("to the left of", "to the right of"), ("above", "below"))
_WORDS = {
    "object": (
        "dog cat horse cow sheep elephant bear zebra giraffe bird".split(),
        "car bus truck train boat bicycle motorcycle airplane".split(),
        "pizza cake sandwich banana apple broccoli".split(),
        "chair couch bed bench toilet sink refrigerator".split(),
        "skateboard surfboard snowboard kite frisbee".split(),
        "laptop phone keyboard clock vase umbrella".split(),
    ),
    "attribute": (
        [
            color
            for color in ATTRIBUTES["color"].split()
            if color not in ("orange", "gold", "silver", "tan", "beige", "gray", "grey")
        ],
        ["wooden", "metal", "plastic", "brick", "stone"],
        ["young", "old"],
        ["two", "three", "four", "five"],
    ),
    "relation": (["above", "below", "under"], ["left", "right"], ["inside", "outside"]),
    "event": (
        "sitting standing running lying jumping walking sleeping".split(),
        "eating holding watching carrying".split(),
        "flying swimming".split(),
    ),
}
"""Kind -> groups of words that can stand for each other in a sentence; what is exchanged stays in
its group.
"""
_BOTH = frozenset(
    frozenset(pair.split())
    for pair in (
        "below under",
        "eating holding",
        "eating watching",
        "holding watching",
        "carrying holding",
        "carrying watching",
        "carrying eating",
        "sitting sleeping",
        "lying sleeping",
        "lying sitting",
        "standing sleeping",
        "running walking",
        "standing walking",
        "keyboard laptop",
        "bench chair",
        "brick stone",
        "pink red",
    )
)
"""Pairs of words that may both be true of one thing, or that viewers take for each other: neither
is put for the other.
"""
_LIVING = frozenset(
    "man men woman women person people boy boys girl girls child children kid kids guy lady player"
    " players rider surfer skier skateboarder couple group baby dog dogs cat cats horse horses cow"
    " cows sheep elephant elephants bear bears zebra zebras giraffe giraffes bird birds animal"
    " animals puppy kitten duck ducks he she".split()
)
"""What can do something: a table stands, and nobody can say that it sits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A span of a caption that can be replaced, with its replacements."""

    kind: str
    start: int
    text: str
    others: tuple[str, ...]
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

    kind: str
    text: str
    start: int
    before: str
    after: str
    others: tuple[str, ...]
    objects: tuple[str, ...]
    why: str


def captions_of(graphs: Sequence[SceneGraph]) -> Iterator[Caption]:
    """Return each picture's captions: the annotated ones, or one made from the scene graph."""
    names = sorted({thing.name for graph in graphs for thing in graph.objects})
    colors = sorted(
        {value for graph in graphs for thing in graph.objects for value in thing.values("color")}
    )
    actions = sorted(
        {
            (thing.name, v)
            for graph in graphs
            for thing in graph.objects
            for v in thing.values("action")
        }
    )
    for graph in graphs:
        if graph.captions:
            yield from _annotated(graph)
        else:
            yield from _described(graph, names, colors, actions)


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
                Change(
                    kind=slot.kind,
                    text=text,
                    start=start,
                    before=slot.text,
                    after=other,
                    others=slot.others,
                    objects=slot.objects,
                    why=slot.why,
                )
            )
    return tuple(made)


def _joined(before: str, value: str, after: str) -> tuple[str, int]:
    """Replace a word in a sentence, and adapt its article."""
    article = re.search(r"\b(an?) $", before, re.IGNORECASE)
    if article is not None:
        right = with_article(value).split()[0]
        right = right if right in ("a", "an") else "a"
        right = right.capitalize() if article[1][0].isupper() else right
        before = f"{before[: article.start()]}{right} "
    return before + value + after, len(before)


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
        if not 4 <= len(clean.split()) <= 40:
            continue
        clean = f"{clean[0].upper()}{clean[1:]}."
        slots = []
        for match in re.finditer(r"[A-Za-z]+", clean):
            word = match[0].lower()
            for kind, groups in _WORDS.items():
                group = next((group for group in groups if word in group), None)
                if group is None or not _fits(kind, clean, match):
                    continue
                others = tuple(
                    other if match[0].islower() else other.capitalize()
                    for other in group
                    if other != word
                    and other not in there
                    and not near_names(other) & there
                    and frozenset((word, other)) not in _BOTH
                )
                if others:
                    slots.append(
                        Slot(
                            kind=kind,
                            start=match.start(),
                            text=match[0],
                            others=others,
                            why="no caption and no object of the picture has it",
                        )
                    )
        yield Caption(image=graph.image.id, file=graph.image.file, text=clean, slots=tuple(slots))


def _fits(kind: str, text: str, match: re.Match[str]) -> bool:
    """Whether a word is used in the sense of its list: a position, an action, or a thing and no
    brand.
    """
    before = text[: match.start()].lower().split()
    if kind == "relation":
        # a preposition with nothing behind it is an adverb
        behind = r" (?:of |the |a |an |his |her |their |its |some |two )"
        return re.match(behind, text[match.end() :]) is not None
    if kind == "event":
        return bool(_LIVING & set(before[-4:]))
    if kind == "object":
        return not match[0][0].isupper() or not before
    return not text[match.end() :].startswith((" fashioned", "-fashioned"))


def _described(
    graph: SceneGraph,
    names: Sequence[str],
    colors: Sequence[str],
    actions: Sequence[tuple[str, str]],
) -> Iterator[Caption]:
    """Captions from a scene graph: where one thing lies, what a thing looks like, and what somebody
    does.
    """
    missing = tuple(
        name for name in names if name in graph.absent and not near_names(name) & graph.present
    )
    actor = next(
        (t for t in graph.objects if len(t.values("action")) == 1 and graph.only(t.name) is t), None
    )
    for relation in graph.relations:
        a, b = graph.by_id[relation.subject], graph.by_id[relation.object]
        pair = next((pair for pair in _OPPOSITES if relation.predicate in pair), None)
        first, second = phrase_for(graph, a), phrase_for(graph, b)
        if pair is None or not relation.holds or not first or not second:
            continue
        builder = _Builder()
        _named(builder, graph, a, missing, colors, capital=True)
        builder.add(" is ")
        other = tuple(word for word in pair if word != relation.predicate)
        builder.slot(
            "relation", relation.predicate, other, (a.id, b.id), "the annotation says the opposite"
        )
        builder.add(" ")
        _named(builder, graph, b, missing, colors)
        if actor is not None and actor is not a and actor is not b:
            builder.add(" and the ")
            _acting(builder, actor, actions)
        builder.add(".")
        yield Caption(
            image=graph.image.id,
            file=graph.image.file,
            text=builder.text,
            slots=tuple(builder.slots),
        )
    if actor is not None:
        others = [
            thing
            for thing in graph.objects
            if thing is not actor and thing.name != actor.name and phrase_for(graph, thing)
        ]
        for thing in others[:2]:
            builder = _Builder()
            builder.add("The ")
            _acting(builder, actor, actions)
            builder.add(" and there is ")
            _named(builder, graph, thing, missing, colors)
            builder.add(".")
            yield Caption(
                image=graph.image.id,
                file=graph.image.file,
                text=builder.text,
                slots=tuple(builder.slots),
            )


class _Builder:
    """A sentence that remembers where its spans are."""

    def __init__(self) -> None:
        self.text = ""
        self.slots: list[Slot] = []

    def add(self, text: str) -> None:
        self.text += text

    def slot(
        self, kind: str, text: str, others: tuple[str, ...], objects: tuple[str, ...], why: str
    ) -> None:
        """Add a span, which can be exchanged where there are others."""
        if others:
            self.slots.append(
                Slot(
                    kind=kind,
                    start=len(self.text),
                    text=text,
                    others=others,
                    objects=objects,
                    why=why,
                )
            )
        self.text += text


def _named(
    builder: _Builder,
    graph: SceneGraph,
    thing: Object,
    missing: tuple[str, ...],
    colors: Sequence[str],
    capital: bool = False,
) -> None:
    own = thing.values("color")
    article = with_article(own[0] if len(own) == 1 else thing.name).split()[0]
    builder.add(f"{article.capitalize() if capital else article} ")
    if len(own) == 1:
        # wrong is a color that no object of the class has
        taken = {
            value
            for other in graph.objects
            if other.name == thing.name
            for value in other.values("color")
        }
        wrong = tuple(color for color in colors if color not in taken)
        builder.slot(
            "attribute", own[0], wrong, (thing.id,), f"no {thing.name} of the picture has it"
        )
        builder.add(" ")
    builder.slot(
        "object",
        thing.name,
        missing,
        (thing.id,),
        "the annotation is complete about it and has none",
    )


def _acting(builder: _Builder, actor: Object, actions: Sequence[tuple[str, str]]) -> None:
    own = actor.values("action")[0]
    builder.add(f"{actor.name} is ")
    others = tuple(value for name, value in actions if name == actor.name and value != own)
    builder.slot(
        "event", own, others, (actor.id,), f"the only {actor.name} does one thing by the annotation"
    )


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
                replace(c, why=f"{c.why}; {checker.name} calls it false")
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

    >>> _change("A red cup is on a box.", Response("A red cup is under a box."), "relation", "w").after
    'under'
    >>> _change("A red cup is on a box.", Response("A blue cup is on a bed."), "attribute", "w")
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
    return Change(
        kind=kind,
        text=" ".join(new),
        start=len(" ".join(new[:first])) + (first > 0),
        before=values[0],
        after=values[1],
        others=(values[1],),
        objects=(),
        why=why,
    )


def _shared(old: list[str], new: list[str]) -> int:
    """How many words are the same from the beginning."""
    return next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
