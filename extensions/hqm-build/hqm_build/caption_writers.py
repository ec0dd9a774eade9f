"""The offline writer: true captions, and the words that can be exchanged in them.

A caption comes from the annotation, where it has captions; otherwise it is written from the scene
graph by a template. A span is exchanged for a word of its own kind that another picture has, so
that the sentence stays one. The offline filter leaves an exchange out where the new word, or a name
near to it, is in another caption of the picture or among its objects.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hqm.administration.rewriter import stored_replies
from hqm.benchmark.judge_api import fill
from hqm.respondents.base import Respondent
from hqm.scoring.parsers import refuses
from hqm.store.database import Store, ask
from hqm.types import Response
from hqm_build.graph import (
    Object,
    Relation,
    SceneGraph,
    Values,
    phrase_for,
    values_of,
    wrong_values,
)
from hqm_build.lexicon import KINDS as ATTRIBUTES
from hqm_build.lexicon import (
    POSTURES,
    excludes,
    first_mention,
    near_names,
    singular,
    verb_for,
    well_formed,
    with_article,
)

KINDS = ("object", "attribute", "relation", "event")
MAX_LENGTH_DIFFERENCE = 2
"""Words that a wrong caption may have more or fewer than the true one."""
ATTRIBUTE_KINDS = ("color", "size", "state", "material", "weather", "action")
# without colors that are names of things, or that viewers confuse with others
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
"""Kind -> groups of words that can replace each other in a sentence; a word is only exchanged
within its group.
"""
_LISTED_WORD = re.compile(
    rf"\b(?:{'|'.join(word for groups in _WORDS.values() for group in groups for word in group)})"
    r"\b",
    re.IGNORECASE,
)
_COMPATIBLE = frozenset(
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
"""Pairs of words that may both be true of one object, or that viewers confuse: neither replaces the
other.
"""
_LIVING = frozenset(
    "man men woman women person people boy boys girl girls child children kid kids guy lady player"
    " players rider surfer skier skateboarder baby dog dogs cat cats horse horses cow"
    " cows sheep elephant elephants bear bears zebra zebras giraffe giraffes bird birds animal"
    " animals puppy kitten duck ducks he she".split()
)
"""Nouns that can be the subject of an action: a table stands, but it cannot sit."""
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
"""What may follow a word of this kind, so that it has the sense of its list."""
_SPOT = re.compile(
    r" (?P<preposition>\w+)(?: \w+){0,3}?"
    r" (?P<place>grass|field|bench|bed|couch|chair|table|street|road|toilet|snow|water)\b"
)
"""A place in which only a few actions are likely, with its preposition."""
_NOUN_PREDECESSORS = frozenset(
    "a an the one two three his her their its large small big little old young new white black red"
    " blue green yellow brown gray dirty clean open empty wooden".split()
)
"""Words that may precede a noun of the list: behind "teddy" a bear is no bear."""
_NO_OPPOSITE = {
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
"""Word -> nouns for which the opposite position makes no sense, or may hold as well."""
_NO_OPPOSITE["behind"] = _NO_OPPOSITE["in front of"]
_NO_OPPOSITE["next to"] = (
    f"{_NO_OPPOSITE['on top of']} river man woman boy girl person people fence tree"
)
_COMPOUND_TAIL = re.compile(
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
    alternatives: tuple[str, ...]
    start: int = 0
    subject: str = ""
    """The object or context of the word, where its answer may depend on it."""
    objects: tuple[str, ...] = ()
    reason: str = ""


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
    names = sorted({obj.name for graph in graphs for obj in graph.objects})
    value_counts = values_of(graphs)
    colored = frozenset(name for name, kind in value_counts if kind == "color")
    for graph in graphs:
        if graph.captions:
            yield from _annotated_captions(graph)
        else:
            yield from _template_captions(graph, names, colored, value_counts)


def changes_of(caption: Caption) -> tuple[Change, ...]:
    """Return every wrong caption of similar length that one replacement makes of a true one."""
    changes = []
    for slot in caption.slots:
        for alternative in slot.alternatives:
            if abs(len(alternative.split()) - len(slot.text.split())) > MAX_LENGTH_DIFFERENCE:
                continue
            before = caption.text[: slot.start]
            after = caption.text[slot.start + len(slot.text) :]
            text, start = _join(before, alternative, after)
            changes.append(
                Change(
                    slot=slot, after=text[start : start + len(alternative)], start=start, text=text
                )
            )
    return tuple(changes)


def _join(before: str, value: str, after: str) -> tuple[str, int]:
    """Replace a word in a sentence, and adapt its article and its capital."""
    article = re.search(r"\b(an?) $", before, re.IGNORECASE)
    if article is not None:
        new_article = "an" if with_article(value).startswith("an ") else "a"
        if article[1][0].isupper():
            new_article = new_article.capitalize()
        else:
            new_article = new_article
        before = f"{before[: article.start()]}{new_article} "
    return before + (value if before else f"{value[0].upper()}{value[1:]}") + after, len(before)


def _annotated_captions(graph: SceneGraph) -> Iterator[Caption]:
    """The captions of an annotation, with the listed words that can be exchanged in them."""
    present = _present_words(graph)
    for text in graph.captions:
        clean = " ".join(text.split()).rstrip(" .")
        if not 4 <= len(clean.split()) <= 40 or not well_formed(clean):
            continue
        clean = f"{clean[0].upper()}{clean[1:]}."
        slots = []
        for match in _LISTED_WORD.finditer(clean):
            for kind in _WORDS:
                alternatives = _alternatives(kind, match[0], present)
                if alternatives and _fits(kind, clean, match):
                    slots.append(
                        Slot(
                            kind=kind,
                            start=match.start(),
                            text=match[0],
                            alternatives=alternatives,
                            subject=_event_context(clean[match.end() :]) if kind == "event" else "",
                            reason="no caption and no object of the picture has it",
                        )
                    )
        yield Caption(image=graph.image.id, file=graph.image.file, text=clean, slots=tuple(slots))


def _present_words(graph: SceneGraph) -> set[str]:
    """The words of a picture's captions, and the names of its objects with those near to them."""
    words = {singular(word) for word in re.findall(r"[a-z]+", " ".join(graph.captions).lower())}
    for name in graph.present:
        words |= {name, *near_names(name)}
    return words


def _alternatives(kind: str, text: str, present: set[str]) -> tuple[str, ...]:
    """The words that can stand for a listed word and are false of the picture."""
    word = text.lower()
    candidates: dict[str, None] = {}
    for group in _WORDS[kind]:
        if word in group:
            candidates |= dict.fromkeys(group)
    alternatives = []
    for candidate in candidates:
        pair = {word, candidate}
        if (
            candidate != word
            and candidate not in present
            and not near_names(candidate) & present
            and pair not in _COMPATIBLE
            and (not pair <= _EXCLUSIVE or excludes(word, candidate))
        ):
            capital = not text[0].islower()
            alternatives.append(f"{candidate[0].upper()}{candidate[1:]}" if capital else candidate)
    return tuple(alternatives)


def _event_context(following: str) -> str:
    """The words behind an action that hint at it: people walk through, and sit on."""
    spot = _SPOT.match(following)
    if spot is None:
        return " ".join(following.split()[:1])
    return f"{spot['preposition']} {spot['place']}"


def _fits(kind: str, text: str, match: re.Match[str]) -> bool:
    """Whether a word is used in the sense of its list: a position, an action, or a thing and no
    brand or part of a name.
    """
    before = text[: match.start()].lower().split()
    following = text[match.end() :]
    word = match[0].lower()
    previous = before[-1] if before else ""
    if kind == "relation":
        follows = _FOLLOWS[kind].match(following)
        if follows is None or previous == "the" or following[follows.end() :].startswith("'"):
            return False
        return _noun_phrase_words(follows["thing"]).isdisjoint(_NO_OPPOSITE[word].split())
    if kind == "event":
        # with a second verb in the sentence, the wrong action may be that of somebody else
        transitive = word in _WORDS["event"][1]
        follows = _FOLLOWS["transitive" if transitive else "event"].match(following)
        verbs = re.findall(r"\b[a-z]{2,}ing\b", text.lower())
        has_one_verb = len(verbs) == 1 and not re.search(r"\bair\b", text)
        return follows is not None and has_one_verb and bool(_LIVING & set(before[-4:]))
    if kind == "object":
        # what flies may be a bird or a plane, and "another dog" speaks of two
        flies = re.search(r"\b(?:fl(?:y|ies|ying|ew)|another|other)\b", text.lower())
        return (
            (not before or (match[0].islower() and previous in _NOUN_PREDECESSORS))
            and _FOLLOWS[kind].match(following) is not None
            and flies is None
        )
    neighbours = {*before[-2:], *re.findall("[a-z]+", following.lower())[:2]}
    # "old man" is an age; "old car" is none that a picture shows
    if word in _AGES:
        return bool(_ADULT & set(following.split()[:1]))
    return (
        _COMPOUND_TAIL.match(following) is None
        and previous not in ("year", "month", "one", "each")
        and neighbours.isdisjoint(ATTRIBUTES["color"].split())
    )


def _noun_phrase_words(words: str) -> set[str]:
    """The words of the noun phrase that a text begins with."""
    return set(
        re.split(r" (?:with|and|in|on|at|near|of|to|next|that|which|while) ", f"{words} ")[
            0
        ].split()
    )


def _template_captions(
    graph: SceneGraph, names: Sequence[str], colored: frozenset[str], value_counts: Values
) -> Iterator[Caption]:
    """Captions from a scene graph: the position of an object, its attributes, and its actions."""
    absent = tuple(
        name for name in names if name in graph.absent and not near_names(name) & graph.present
    )

    def object_phrase(obj: Object) -> list[str | Slot]:
        return _noun_phrase(graph, obj, absent, colored)

    for relation in graph.relations:
        position = _position_slot(relation)
        a = graph.by_id[relation.subject]
        b = graph.by_id[relation.object]
        if position is not None and phrase_for(graph, a) and phrase_for(graph, b):
            verb = verb_for(a.name)
            yield _sentence(graph, *object_phrase(a), f" {verb} ", position, " ", *object_phrase(b))
    for number, obj in enumerate(graph.objects):
        if graph.unique_object(obj.name) is not obj or obj.name in graph.image.doubtful:
            continue
        # the next object that a phrase can name is mentioned too, so that captions differ in length
        neighbour: list[str | Slot] = []
        for candidate in (*graph.objects[number + 1 :], *graph.objects[:number]):
            if candidate.name != obj.name and phrase_for(graph, candidate):
                neighbour = [*object_phrase(candidate), " can be seen"]
                break
        for slot in _attribute_slots(graph, obj, value_counts):
            tail = [", and ", *neighbour] if neighbour else []
            yield _sentence(graph, f"The {obj.name} {verb_for(obj.name)} ", slot, *tail)
        if neighbour:
            yield _sentence(graph, *object_phrase(obj), " and ", *neighbour)


def _position_slot(relation: Relation) -> Slot | None:
    """The span of a position that holds and has an opposite; None of any other relation."""
    for pair in _OPPOSITES:
        if relation.holds and relation.predicate in pair:
            return Slot(
                kind="relation",
                text=relation.predicate,
                alternatives=tuple(word for word in pair if word != relation.predicate),
                objects=(relation.subject, relation.object),
                reason="the annotation says the opposite",
            )
    return None


def _attribute_slots(graph: SceneGraph, obj: Object, value_counts: Values) -> Iterator[Slot]:
    """The attributes and actions of an object, with the values that are wrong of it."""
    for kind in ATTRIBUTE_KINDS:
        wrong = wrong_values(graph, obj, kind, value_counts.get((obj.name, kind), ()))
        for value in obj.values(kind):
            yield Slot(
                kind="event" if kind == "action" else "attribute",
                text=value,
                alternatives=wrong,
                subject=obj.name,
                objects=(obj.id,),
                reason=f"the only {obj.name} is not so by the annotation",
            )


def _sentence(graph: SceneGraph, *pieces: str | Slot) -> Caption:
    """Put words and spans together, and note where the spans are."""
    text = ""
    slots = []
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
            continue
        if piece.alternatives:
            slots.append(replace(piece, start=len(text)))
        text += piece.text
    text = f"{text[0].upper()}{text[1:]}."
    return Caption(
        image=graph.image.id,
        file=graph.image.file,
        text=text,
        slots=tuple(replace(s, text=text[s.start : s.start + len(s.text)]) for s in slots),
    )


def _noun_phrase(
    graph: SceneGraph, obj: Object, absent: tuple[str, ...], colored: frozenset[str]
) -> list[str | Slot]:
    """An object by its name, or by its color and name where several have the name."""
    reason = "the annotation is complete about it and has none"
    if graph.unique_object(obj.name) is obj:
        alternatives = tuple(first_mention(name) for name in absent)
        text = first_mention(obj.name)
        return [
            Slot(
                kind="object",
                text=text,
                alternatives=alternatives,
                objects=(obj.id,),
                reason=reason,
            )
        ]
    color_word = obj.values("color")[0]
    present_colors: set[str] = set()
    for namesake in graph.objects:
        if namesake.name == obj.name:
            present_colors |= set(namesake.values("color"))

    def is_absent(color: str) -> bool:
        return all(excludes(color, value) for value in present_colors)

    wrong = tuple(filter(is_absent, COLORS))
    color = Slot(
        kind="attribute",
        text=color_word,
        alternatives=wrong,
        subject=obj.name,
        objects=(obj.id,),
        reason=f"no {obj.name} of the picture has it",
    )
    alternatives = tuple(name for name in absent if name in colored)
    name = Slot(
        kind="object",
        text=obj.name,
        alternatives=alternatives,
        subject=color_word,
        objects=(obj.id,),
        reason=reason,
    )
    article = with_article(color_word).partition(" ")[0]
    return [f"{article} ", color, " ", name]


# --- captions that a model writes, and a model that checks them ---

# Hal-Eval (Jiang et al. 2024, arXiv 2402.15721) has both roles. The prompts are ours. What the
# writer says is taken only where it changed one span of the true caption, within two words of its
# length; what the filter does not clearly call false is left out.

MAX_SPAN_WORDS = 5
"""Words that the changed span may have."""
WRITE_PROMPT = """The sentence below is true of a picture. Write it again with one thing changed, so that it becomes false of the
picture: {what}. Change those words only, keep all others to the letter, and change no more than two or three words.
Reply with the changed sentence alone, on one line.

Sentence: {text}"""
CHANGE_INSTRUCTIONS = {
    "object": "put another thing in the place of one that it names",
    "attribute": "give one thing another color, size, material or state",
    "relation": "let one thing lie in another place, as seen from another thing",
    "event": "let somebody or something do something else",
}
CHECK_PROMPT = """The first sentence is true of a picture that you do not see. Is the second one a sensible sentence, and false of every
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
    """Have the writer change each caption once in each way; notes count the rejected replies."""
    writer = roles.writer
    if writer is None:
        return captions, ()
    asks = {
        (i, kind): ask(fill(WRITE_PROMPT, what=CHANGE_INSTRUCTIONS[kind], text=caption.text))
        for i, (caption, _) in enumerate(captions)
        for kind in KINDS
    }
    replies = stored_replies(asks.values(), writer, roles.store)
    reason = f"{writer.name} wrote it to be false"
    changes_by_caption: list[list[Change]] = [[] for _ in captions]
    rejections: Counter[str] = Counter()
    for (i, kind), question in asks.items():
        read = _change(captions[i][0].text, replies.get(question.digest), kind, reason)
        if isinstance(read, str):
            rejections[read] += 1
        else:
            changes_by_caption[i].append(read)
    changed = [
        (caption, tuple(changes))
        for (caption, _), changes in zip(captions, changes_by_caption, strict=True)
    ]
    return changed, _notes(f"the writer {writer.name}", len(asks), rejections)


def changes_passed(captions: Captions, roles: Roles) -> tuple[Captions, tuple[str, ...]]:
    """Select the changes that the filter calls false; notes count the others."""
    checker = roles.checker
    if checker is None:
        return captions, ()
    asks = {
        (i, j): ask(fill(CHECK_PROMPT, true=caption.text, wrong=change.text))
        for i, (caption, changes) in enumerate(captions)
        for j, change in enumerate(changes)
    }
    replies = stored_replies(asks.values(), checker, roles.store)
    reasons = {key: _objection(replies.get(question.digest)) for key, question in asks.items()}
    accepted = []
    for i, (caption, changes) in enumerate(captions):
        passed = [
            _with_reason(change, f"{change.slot.reason}; {checker.name} calls it false")
            for j, change in enumerate(changes)
            if not reasons[i, j]
        ]
        accepted.append((caption, tuple(passed)))
    return accepted, _notes(
        f"the filter {checker.name}", len(asks), Counter(filter(None, reasons.values()))
    )


def _with_reason(change: Change, reason: str) -> Change:
    return replace(change, slot=replace(change.slot, reason=reason))


def _notes(model: str, n_asked: int, rejections: Counter[str]) -> tuple[str, ...]:
    reasons = "; ".join(f"{count}: {reason}" for reason, count in rejections.most_common())
    summary = (
        f"{model} was asked {n_asked} times, and {n_asked - rejections.total()} replies are used"
    )
    if reasons:
        summary += f" ({reasons})"
    return (summary,)


def _objection(response: Response | None) -> str:
    """Return why a wrong caption is left out; empty where the filter calls it false."""
    if response is None or response.state != "ok" or refuses(response.text):
        return "no reply, or a refusal"
    if _FALSE.search(response.text):
        return ""
    if _UNCLEAR.search(response.text):
        return "it may be true as well"
    return "neither false nor unclear was said"


def _change(text: str, response: Response | None, kind: str, reason: str) -> Change | str:
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
    old = text.split()
    new = wrong.split()
    if old == new:
        return "it is the true caption"
    if abs(len(old) - len(new)) > MAX_LENGTH_DIFFERENCE:
        return f"it is over {MAX_LENGTH_DIFFERENCE} words longer or shorter"
    first = _common_prefix_length(old, new)
    last = _common_prefix_length(old[first:][::-1], new[first:][::-1])
    before = old[first : len(old) - last]
    after = new[first : len(new) - last]
    if not before or not after:
        return "words were only added or left out"
    if max(len(before), len(after)) > MAX_SPAN_WORDS or set(before[1:-1]) & set(after[1:-1]):
        return "more than one span was changed"
    values = [" ".join(words).rstrip(".,;") for words in (before, after)]
    start = len(" ".join(new[:first])) + (first > 0)
    slot = Slot(kind=kind, start=start, text=values[0], alternatives=(values[1],), reason=reason)
    return Change(slot=slot, after=values[1], start=start, text=" ".join(new))


def _common_prefix_length(old: list[str], new: list[str]) -> int:
    """The number of words at the beginning that are the same."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
