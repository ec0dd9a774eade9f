"""AMBER: `annotations.json` and `query/query_all.json` of its release.

A generative annotation lists the objects that are there (`truth`) and those that a model may make
up (`hallu`). The discriminative questions say more, by their answers: states, numbers, actions,
contact, and objects that are not there. A word that is listed both as true and as made up (63 in
the release) says nothing. An action is what somebody is doing ("run" becomes "running"), and a
state how a thing looks; what is neither ("Is the sea rolling waves?") is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from hqm.builders.graph import Attribute, Image, Object, Relation, SceneGraph
from hqm.builders.lexicon import (
    NUMBERS,
    POSTURES,
    is_state,
    kind_of_attribute,
    participle,
    singular,
)
from hqm.builders.source import Reader, Source, digest_of, rows, text, words
from hqm.errors import DataError
from hqm.files.records import read_json

_NAMES = {
    "leave": "leaf",
    "earing": "earring",
    "seegull": "seagull",
    "scoon": "spoon",
    "motorbike": "motorcycle",
    "electrombile": "electric scooter",
    "stair": "staircase",
    "tap": "faucet",
    "court": "sports court",
}
"""What AMBER's release misspells, or names as nobody does."""
_NO_NAMES = frozenset(
    "hot baconic doghole showerpuff core support sound tennis line signal holder pulp cable cream"
    " sailing note pad spray alarm file sheet goal bar opener drain lounge bath can rugby"
    " earphone cowpea".split()
)
"""Names of the release that leave open what is meant, such as half of a name."""
_SWITCHES = frozenset(
    "streetlamp lamp light faucet phone television monitor computer motorcycle car socket".split()
)
_SWITCHED = {"open": "turned on", "closed": "turned off", "close": "turned off"}
"""What the release calls open and closed of things that are switched."""
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
    attributes: dict[str, dict[str, Attribute]] = field(default_factory=lambda: defaultdict(dict))
    denied: set[tuple[str, str]] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    contact: dict[tuple[str, str], bool] = field(default_factory=dict)

    def note(self, name: str, words: str, holds: bool, *, state: bool) -> None:
        """Take a state or an action of an object, where the words are either."""
        words = _SWITCHED.get(words, words) if name in _SWITCHES else words
        doing = participle(words)
        if state and doing.partition(" ")[0] not in POSTURES:
            doing = ""
        if not name or not (doing or is_state(words) or words in _SWITCHED.values()):
            return
        value, kind = doing or words, "action" if doing else kind_of_attribute(words) or "state"
        if holds:
            self.attributes[name][value] = Attribute(value=value, kind=kind)
        else:
            self.denied.add((name, value))


def _named(word: str) -> str:
    """An object's name as people spell it; empty where it leaves open what is meant."""
    return "" if word in _NO_NAMES else _NAMES.get(word, word)


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
                location=str(files[0]),
                remedy="Take both files from one release.",
            )
        answer = answers[key]
        if answer.get("type") == "generative":
            true, made_up = (
                words(answer.get(name), f"{name} of the annotation {key} is", files[0])
                for name in ("truth", "hallu")
            )
            facts[image].present += filter(None, map(_named, true))
            facts[image].made_up |= set(filter(None, map(_named, made_up)))
            continue
        answered = str(answer.get("truth")).lower()
        if answered not in ("yes", "no"):
            raise DataError(
                f"the truth of the annotation {key} is {answer.get('truth')!r:.40}",
                location=str(files[0]),
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
        a, b = _named(answered["a"]), _named(answered["b"])
        if a and b and a != b:
            held.contact[a, b] = holds
    elif (answered := _THERE.match(query)) is not None:
        name = _named(answered["name"])
        if name and not holds:
            held.made_up.add(name)
    elif (answered := _NUMBER.match(query)) is not None and answered["number"] in NUMBERS:
        name = _named(singular(answered["name"]))
        if name and holds:
            held.numbers[name] = NUMBERS.index(answered["number"])
    elif (answered := _ACTION.match(query)) is not None:
        held.note(_named(answered["name"]), answered["value"], holds, state=False)
    elif (answered := _STATE.match(query)) is not None and "state" in kind:
        # the object is the longest name that is known to be there
        known = [name for name in held.present if answered["both"].startswith(f"{name} ")]
        word = max(known, key=len, default=answered["both"].partition(" ")[0])
        if value := answered["both"].removeprefix(word).strip():
            held.note(_named(word), value, holds, state=True)


def _graph(image: str, held: _Facts) -> SceneGraph:
    names = dict.fromkeys(
        [
            *held.present,
            *held.attributes,
            *held.numbers,
            *(n for pair in held.contact for n in pair),
        ]
    )
    names.pop("", None)
    doubtful = held.made_up & set(names)
    objects = [
        Object(
            id=f"{name}-{i}",
            names=(name,),
            attributes=tuple(held.attributes.get(name, {}).values()),
        )
        for name in names
        for i in range(max(held.numbers.get(name, 1), 1))
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
    ]
    return SceneGraph(
        image=Image(
            id=image,
            file=image,
            exhaustive=frozenset({*names, *held.made_up} - doubtful),
            doubtful=frozenset(doubtful),
            counted=frozenset(held.numbers),
        ),
        objects=tuple(objects),
        relations=tuple(relations),
        denied=frozenset(held.denied),
    )


READER = Reader(
    "amber", "a folder with annotations.json and query/query_all.json", is_amber, read_amber
)
