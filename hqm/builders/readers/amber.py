"""AMBER: `annotations.json` and `query/query_all.json` of its release.

A generative annotation lists the objects that are there (`truth`) and those that a model may make
up (`hallu`). The discriminative questions say more, by their answers: states, numbers, actions,
contact, and objects that are not there. A word that is listed both as true and as made up (63 in
the release) says nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from hqm.builders.graph import Attribute, Image, Object, Relation, SceneGraph
from hqm.builders.lexicon import NUMBERS, kind_of_attribute, singular
from hqm.builders.source import Reader, Source, digest_of, rows, text, words
from hqm.errors import DataError
from hqm.files.records import read_json

_CITATION = "Wang et al. (2023), AMBER (arXiv 2311.07397)"
_ACTION = re.compile(r"^Does the (?P<name>\w+) (?P<value>.+) in this image\?$")
_STATE = re.compile(r"^Is the (?P<both>.+) in this image\?$")
_NUMBER = re.compile(r"^(?:Are|Is) there (?P<number>\w+) (?P<name>.+) in this image\?$")
_THERE = re.compile(r"^Is there an? (?P<name>.+) in this image\?$")
_CONTACT = re.compile(
    r"^Is there direct contact between the (?P<a>.+) and (?:the )?(?P<b>.+?)(?: in this image)?\?$"
)


@dataclass
class _Facts:
    """What the questions and annotations say of one picture."""

    present: list[str] = field(default_factory=list)
    made_up: set[str] = field(default_factory=set)
    states: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    actions: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    denied: set[tuple[str, str]] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    contact: dict[tuple[str, str], bool] = field(default_factory=dict)


def is_amber(path: Path) -> bool:
    """Whether a folder has the two files."""
    return (path / "annotations.json").is_file() and (path / "query" / "query_all.json").is_file()


def read_amber(path: Path) -> Source:
    """A scene graph for each picture of the release."""
    files = [path / "annotations.json", path / "query" / "query_all.json"]
    truth, asked = (rows(read_json(file), file.name, file) for file in files)
    answers = {text(row, "id", "an annotation", files[0]): row for row in truth}
    facts: dict[str, _Facts] = defaultdict(_Facts)
    for row in asked:
        key = text(row, "id", "a query", files[1])
        image, query = (
            text(row, "image", "a query", files[1]),
            text(row, "query", "a query", files[1]),
        )
        if key not in answers:
            raise DataError(
                f"the query {key} has no annotation",
                place=str(files[0]),
                remedy="Take both files from one release.",
            )
        answer = answers[key]
        if answer.get("type") == "generative":
            true, made_up = (
                words(answer.get(name), f"{name} of the annotation {key} is", files[0])
                for name in ("truth", "hallu")
            )
            facts[image].present += true
            facts[image].made_up |= set(made_up)
            continue
        answered = str(answer.get("truth")).lower()
        if answered not in ("yes", "no"):
            raise DataError(
                f"the truth of the annotation {key} is {answer.get('truth')!r:.40}",
                place=str(files[0]),
                remedy="Write yes or no.",
            )
        _note(facts[image], query, answered == "yes", str(answer.get("type")))
    return Source(
        name=str(path),
        reader="amber",
        digest=digest_of(files),
        graphs=tuple(_graph(image, held) for image, held in facts.items()),
        licence="Apache-2.0 (annotations)",
        citation=_CITATION,
    )


def _note(held: _Facts, query: str, holds: bool, kind: str) -> None:
    if (answered := _CONTACT.match(query)) is not None:
        held.contact[answered["a"], answered["b"]] = holds
    elif (answered := _THERE.match(query)) is not None:
        if not holds:
            held.made_up.add(answered["name"])
    elif (answered := _NUMBER.match(query)) is not None and answered["number"] in NUMBERS:
        if holds:
            held.numbers[singular(answered["name"])] = NUMBERS.index(answered["number"])
    elif (answered := _ACTION.match(query)) is not None:
        if holds:
            held.actions[answered["name"]].append(answered["value"])
        else:
            held.denied.add((answered["name"], answered["value"]))
    elif (answered := _STATE.match(query)) is not None and "state" in kind:
        # the object is the longest name that is known to be there
        known = [name for name in held.present if answered["both"].startswith(f"{name} ")]
        name = max(known, key=len, default=answered["both"].partition(" ")[0])
        value = answered["both"].removeprefix(name).strip()
        if value and holds:
            held.states[name].append(value)
        elif value:
            held.denied.add((name, value))


def _graph(image: str, held: _Facts) -> SceneGraph:
    names = dict.fromkeys(
        [
            *held.present,
            *held.states,
            *held.actions,
            *held.numbers,
            *(n for pair in held.contact for n in pair),
        ]
    )
    doubtful = held.made_up & set(names)
    objects = []
    for name in names:
        attributes = [
            Attribute(value=v, kind=kind_of_attribute(v) or "state")
            for v in dict.fromkeys(held.states.get(name, ()))
        ]
        attributes += [
            Attribute(value=v, kind="action") for v in dict.fromkeys(held.actions.get(name, ()))
        ]
        many = max(held.numbers.get(name, 1), 1)
        objects += [
            Object(id=f"{name}-{i}", names=(name,), attributes=tuple(attributes))
            for i in range(many)
        ]
    relations = [
        Relation(
            id=f"contact-{a}-{b}",
            subject=f"{a}-0",
            predicate="in direct contact with",
            object=f"{b}-0",
            symmetric=True,
            holds=holds,
        )
        for (a, b), holds in held.contact.items()
        if a != b
    ]
    return SceneGraph(
        image=Image(
            id=image,
            file=image,
            source="AMBER",
            exhaustive=frozenset({*names, *held.made_up} - doubtful),
            counted=frozenset(held.numbers),
        ),
        objects=tuple(objects),
        relations=tuple(relations),
        denied=frozenset(held.denied),
    )


READER = Reader(
    "amber", "a folder with annotations.json and query/query_all.json", is_amber, read_amber
)
