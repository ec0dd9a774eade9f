"""The scene graph: the annotation of a picture, in one structure for every source.

Checked on reading: boxes are finite and not negative, a relation names objects of its picture, and
a picture's name does not leave the folder of pictures.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hqm_build.lexicon import excludes


class _GraphModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Box(_GraphModel):
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

    def overlap(self, second: Box) -> float:
        """Intersection over union of two boxes."""
        wide = min(self.x + self.width, second.x + second.width) - max(self.x, second.x)
        high = min(self.y + self.height, second.y + second.height) - max(self.y, second.y)
        shared = max(wide, 0.0) * max(high, 0.0)
        union = self.area + second.area - shared
        if union > 0:
            return shared / union
        return 0.0


class Attribute(_GraphModel):
    """A property of an object and its kind (color, size, action, state; empty if unknown)."""

    value: str = Field(min_length=1)
    kind: str = ""


class Object(_GraphModel):
    """An object in the picture.

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


class Relation(_GraphModel):
    """A relation between two objects, by their ids; `holds` is False where the annotation says that
    it does not hold.
    """

    id: str
    subject: str
    predicate: str = Field(min_length=1)
    object: str
    symmetric: bool = False
    holds: bool = True


class Text(_GraphModel):
    """A legible text in the picture, and the object that bears it."""

    id: str
    string: str = Field(min_length=1)
    carrier: str = "sign"


class Setting(_GraphModel):
    """A property of the whole picture: its kind (time of day, ground, weather) and value."""

    kind: str
    value: str = Field(min_length=1)


class Image(_GraphModel):
    """A picture, and the classes and attributes about which its annotation is complete."""

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


class SceneGraph(_GraphModel):
    """One picture with its objects, relations, texts, settings and captions."""

    image: Image
    objects: tuple[Object, ...] = ()
    relations: tuple[Relation, ...] = ()
    texts: tuple[Text, ...] = ()
    settings: tuple[Setting, ...] = ()
    captions: tuple[str, ...] = ()
    denied: frozenset[tuple[str, str]] = frozenset()
    """(class, value of an attribute): what the annotation denies."""

    @model_validator(mode="after")
    def _check_relations(self) -> Self:
        object_ids = {obj.id for obj in self.objects}
        if len(object_ids) < len(self.objects):
            raise ValueError(f"two objects of the picture {self.image.id} have one id")
        for relation in self.relations:
            if not {relation.subject, relation.object} <= object_ids:
                raise ValueError(
                    f"the relation {relation.id} of the picture {self.image.id} names no object"
                    " of it"
                )
        return self

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Class -> how many objects."""
        return Counter(obj.name for obj in self.objects)

    @cached_property
    def by_id(self) -> Mapping[str, Object]:
        return {obj.id: obj for obj in self.objects}

    @cached_property
    def present(self) -> frozenset[str]:
        """Every name of every object, wider words and synonyms too."""
        return frozenset(name for obj in self.objects for name in obj.names)

    @property
    def absent(self) -> frozenset[str]:
        """The classes that are not there, by an annotation that is complete about them."""
        return self.image.exhaustive - self.present

    def unique_object(self, name: str) -> Object | None:
        """Return the only object that a name can mean, or None."""
        candidates = [obj for obj in self.objects if name in obj.names]
        if len(candidates) == 1:
            return candidates[0]
        return None


# --- a question that is built from a graph ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A property that the result of a recipe promises, with its measured value."""

    name: str
    sentence: str
    """What was measured, in words."""
    value: float
    limit: float
    relation: Literal["at most", "at least", "as chance"] = "at most"
    """What the value must be of the limit; as chance, an interval must reach a half give or take
    the limit's distance from it.
    """
    interval: tuple[float, float] = (math.nan, math.nan)

    @property
    def required(self) -> str:
        """What the value must be, in words."""
        if self.relation == "as chance":
            return f"an interval that reaches {1 - self.limit:.2f} to {self.limit:.2f}"
        return f"{self.relation} {self.limit:g}"

    @property
    def kept(self) -> bool:
        """Whether the value is what was promised."""
        if self.relation == "as chance":
            return self.interval[0] <= self.limit and self.interval[1] >= 1 - self.limit
        if self.relation == "at least":
            return self.value >= self.limit
        return self.value <= self.limit

    @property
    def excess(self) -> float:
        """The distance from the limit; 0 where the promise is kept."""
        if self.kept:
            return 0.0
        if self.relation == "as chance" and self.interval[1] < 1 - self.limit:
            return 1 - self.limit - self.value
        return abs(self.value - self.limit)


# --- questions ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One candidate for an item."""

    image: str
    """The id of the picture in its source."""
    file: str
    part: str
    """The item's part."""
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
    """The statistic by which it was chosen, and its value."""
    objects: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    competing: tuple[str, ...] = ()
    """The alternatives that could have been asked instead."""
    rivals: tuple[str, ...] = ()
    """The answers between which the question decides, the right one among them."""
    frequency: float = 0.0
    """The share of pictures with what is asked about; matched items are near in it."""
    size: float = 0.0
    """The share of the picture's area that the object covers; 0 where it is not known."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the item."""

    @property
    def identity(self) -> tuple[str, str, str]:
        """Picture, part and key: asked at most once."""
        return self.image, self.part, self.key

    @property
    def marks(self) -> frozenset[tuple[str, str]]:
        """(picture, key) and (picture, words): two questions that share one are the same."""
        return frozenset({(self.image, self.key), (self.image, self.prompts[0])})


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedQuestion:
    """A question that became an item."""

    question: Question
    wording: int
    matched: Question | None = None
    """Another question about the same picture, with an equally frequent object."""

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

    selected: tuple[SelectedQuestion, ...]
    requested: Mapping[str, int] = field(default_factory=dict)
    """Part -> how many of its items were wanted; of all items under an empty name."""
    notes: tuple[str, ...] = ()
    """Sentences to print about left-out items and the number of candidates."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """Numbers that only the recipe knows, by their names."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files of the folder: name -> text."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Picture -> the first one of its group, which answer its questions the other way."""


def share_of_picture(graph: SceneGraph, obj: Object) -> float:
    """The share of the picture that an object's box takes up; 0 where it is not known."""
    picture_area = graph.image.width * graph.image.height
    if obj.box is not None and picture_area:
        return obj.box.area / picture_area
    return 0.0


def phrase_for(graph: SceneGraph, obj: Object) -> str:
    """Return words that name only this object: its name, or its color and name, else empty."""
    if graph.unique_object(obj.name) is obj:
        return obj.name
    colors = obj.values("color")
    if len(colors) != 1:
        return ""
    namesakes = [
        candidate
        for candidate in graph.objects
        if obj.name in candidate.names
        and (colors[0] in candidate.values("color") or not candidate.values("color"))
    ]
    if namesakes == [obj]:
        return f"{colors[0]} {obj.name}"
    return ""


Values = Mapping[tuple[str, str], Mapping[str, int]]
"""(class, kind of attribute) -> value -> in how many pictures an object of the class has it."""


def values_of(graphs: Sequence[SceneGraph]) -> Values:
    """Count the attribute values of each class, from which wrong values are chosen."""
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for graph in graphs:
        for name, kind, value in {
            (t.name, a.kind, a.value) for t in graph.objects for a in t.attributes if a.kind
        }:
            counts[name, kind][value] += 1
    return counts


def wrong_values(
    graph: SceneGraph, obj: Object, kind: str, values: Iterable[str]
) -> tuple[str, ...]:
    """The values of a class that are wrong of this object.

    The annotation denies them, or is complete about their kind, or the one value that it gives
    excludes them.
    """
    object_values = obj.values(kind)
    single = object_values[0] if len(object_values) == 1 else ""
    return tuple(
        value
        for value in sorted(values)
        if value not in object_values
        and (
            (obj.name, value) in graph.denied
            or (single and kind in graph.image.complete)
            or (single and not graph.denied and excludes(single, value))
        )
    )
