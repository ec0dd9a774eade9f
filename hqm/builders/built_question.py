"""A question that a recipe makes, before and after it is chosen, and what a recipe promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hqm.builders.graph import Object, SceneGraph


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
    notes: tuple[str, ...] = ()
    """Sentences to print: what fell short of its number, what was left out."""
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
