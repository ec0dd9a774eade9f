"""The scene graph: what an annotation says of a picture, in one shape for every source.

What is checked on reading: boxes are finite and not negative, a relation names objects that there
are, and a picture's name does not leave the folder of pictures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hqm.builders.lexicon import excludes


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Box(_Part):
    """A rectangle in pixels: left, top, width and height.

    >>> Box(x=0, y=0, width=2, height=2).overlap(Box(x=1, y=0, width=2, height=2))
    0.3333333333333333
    """

    x: float
    y: float
    width: float = Field(ge=0)
    height: float = Field(ge=0)

    @property
    def area(self) -> float:
        return self.width * self.height

    @property
    def center(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2

    def overlap(self, other: Box) -> float:
        """Intersection over union of two boxes."""
        wide = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        high = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        shared = max(wide, 0.0) * max(high, 0.0)
        union = self.area + other.area - shared
        return shared / union if union > 0 else 0.0


class Attribute(_Part):
    """A property of an object and its kind (color, size, action, state; empty if unknown)."""

    value: str = Field(min_length=1)
    kind: str = ""


class Object(_Part):
    """A thing in the picture.

    The first of its names is its class; the others are synonyms or wider words.
    """

    id: str
    names: tuple[str, ...] = Field(min_length=1)
    box: Box | None = None
    attributes: tuple[Attribute, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0]

    def values(self, kind: str) -> tuple[str, ...]:
        """The values of its attributes of one kind."""
        return tuple(attribute.value for attribute in self.attributes if attribute.kind == kind)


class Relation(_Part):
    """A relation between two objects, by their ids; `holds` is False where the annotation says that
    it does not hold.
    """

    id: str
    subject: str
    predicate: str = Field(min_length=1)
    object: str
    symmetric: bool = False
    holds: bool = True


class Text(_Part):
    """A text that can be read in the picture, and on what it stands."""

    id: str
    string: str = Field(min_length=1)
    carrier: str = "sign"


class Setting(_Part):
    """A property of the whole picture: its kind (time of day, ground, weather) and value."""

    kind: str
    value: str = Field(min_length=1)


class Image(_Part):
    """A picture and what its annotation is complete about."""

    id: str
    file: str = ""
    address: str = ""
    """Where the picture is on the web."""
    width: int = Field(default=0, ge=0)
    height: int = Field(default=0, ge=0)
    exhaustive: frozenset[str] = frozenset()
    """The classes of which the annotation says whether they are there: one that is not among the
    objects is absent.
    """
    doubtful: frozenset[str] = frozenset()
    """The classes of which it says both that they are there and that they are not."""
    counted: frozenset[str] = frozenset()
    """The classes of which every single instance is annotated."""
    complete: frozenset[str] = frozenset()
    """The kinds of attributes of which no object has a value that is not listed."""


class SceneGraph(_Part):
    """One picture with its objects, relations, texts, settings and captions."""

    image: Image
    objects: tuple[Object, ...] = ()
    relations: tuple[Relation, ...] = ()
    texts: tuple[Text, ...] = ()
    settings: tuple[Setting, ...] = ()
    captions: tuple[str, ...] = ()
    denied: frozenset[tuple[str, str]] = frozenset()
    """(class, value of an attribute): what the annotation says is not so."""

    @model_validator(mode="after")
    def _known_objects(self) -> Self:
        known = {thing.id for thing in self.objects}
        if len(known) < len(self.objects):
            raise ValueError(f"two objects of the picture {self.image.id} have one id")
        for relation in self.relations:
            if not {relation.subject, relation.object} <= known:
                raise ValueError(
                    f"the relation {relation.id} of the picture {self.image.id} names no object"
                    " of it"
                )
        return self

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Class -> how many objects."""
        return Counter(thing.name for thing in self.objects)

    @cached_property
    def by_id(self) -> Mapping[str, Object]:
        return {thing.id: thing for thing in self.objects}

    @cached_property
    def present(self) -> frozenset[str]:
        """Every name of every object, wider words and synonyms too."""
        return frozenset(name for thing in self.objects for name in thing.names)

    @property
    def absent(self) -> frozenset[str]:
        """The classes that are not there, by an annotation that is complete about them."""
        return self.image.exhaustive - self.present

    def only(self, name: str) -> Object | None:
        """Return the only object that a name can mean, or None."""
        named = [thing for thing in self.objects if name in thing.names]
        return named[0] if len(named) == 1 else None


# --- a question that is built from a graph ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A property that the result of a recipe promises, with its measured value."""

    name: str
    sentence: str
    """What was measured, in words."""
    value: float
    limit: float
    kept: bool

    @property
    def excess(self) -> float:
        """By how much it is broken; 0 where it is kept."""
        return 0.0 if self.kept else abs(self.value - self.limit)


# --- questions ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One candidate for an item."""

    image: str
    """The id of the picture in its source."""
    file: str
    part: str
    """What the recipe calls its kind: an item's part."""
    type: str
    """The hallucination type."""
    prompts: tuple[str, ...]
    """The same question in several wordings; two questions with one key have theirs in the same
    order.
    """
    target: Any
    key: str
    """What is asked: questions with one key differ in their pictures alone.

    Each key is answered yes as often as no.
    """
    rule: str
    """Why the answer is right, in words."""
    statistic: str = ""
    value: float | None = None
    """The number that it was chosen by, and what it is."""
    objects: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    competing: tuple[str, ...] = ()
    """What else could have been asked at this place."""
    rivals: tuple[str, ...] = ()
    """The answers that the question has, the right one among them."""
    frequency: float = 0.0
    """The share of pictures with what is asked about, by which matched items are looked for."""
    size: float = 0.0
    """The share of the picture that it takes up; 0 where that is not known."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the item."""

    @property
    def place(self) -> tuple[str, str, str]:
        """Picture, part and key: asked at most once."""
        return self.image, self.part, self.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A question that became an item."""

    question: Question
    wording: int
    matched: Question | None = None
    """Another question about the same picture with an equally frequent thing: item B beside item
    A.
    """

    @property
    def prompt(self) -> str:
        return self.question.prompts[self.wording % len(self.question.prompts)]

    @property
    def reworded(self) -> str:
        """The question in the next wording."""
        return self.question.prompts[(self.wording + 1) % len(self.question.prompts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The result of a recipe: items in any order, with notes and measures."""

    chosen: tuple[Chosen, ...]
    wanted: Mapping[str, int] = field(default_factory=dict)
    """Part -> how many of its items were wanted; of all items under an empty name."""
    notes: tuple[str, ...] = ()
    """Sentences to print: what was left out, and how much there is to choose from."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """Numbers that only the recipe knows, by their names."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files of the folder: name -> text."""


def share_of_picture(graph: SceneGraph, thing: Object) -> float:
    """The share of the picture that an object's box takes up; 0 where it is not known."""
    whole = graph.image.width * graph.image.height
    return thing.box.area / whole if thing.box is not None and whole else 0.0


def phrase_for(graph: SceneGraph, thing: Object) -> str:
    """Return words that name only this object: its name, or its color and name, else empty."""
    if graph.only(thing.name) is thing:
        return thing.name
    colors = thing.values("color")
    if len(colors) != 1:
        return ""
    same = [
        other
        for other in graph.objects
        if thing.name in other.names
        and (colors[0] in other.values("color") or not other.values("color"))
    ]
    return f"{colors[0]} {thing.name}" if same == [thing] else ""


Values = Mapping[tuple[str, str], Mapping[str, int]]
"""(class, kind of attribute) -> value -> in how many pictures an object of the class has it."""


def values_of(graphs: Sequence[SceneGraph]) -> Values:
    """Count the attribute values of each class, from which wrong values are chosen."""
    held: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for graph in graphs:
        for name, kind, value in {
            (t.name, a.kind, a.value) for t in graph.objects for a in t.attributes if a.kind
        }:
            held[name, kind][value] += 1
    return held


def wrong_values(
    graph: SceneGraph, thing: Object, kind: str, values: Iterable[str]
) -> tuple[str, ...]:
    """Of the values that objects of a class have, those that this object does not have.

    The annotation denies them, or is complete about their kind, or the one value that it gives
    leaves no room for them.
    """
    own = thing.values(kind)
    single = own[0] if len(own) == 1 else ""
    return tuple(
        value
        for value in sorted(values)
        if value not in own
        and (
            (thing.name, value) in graph.denied
            or (single and kind in graph.image.complete)
            or (single and not graph.denied and excludes(single, value))
        )
    )
