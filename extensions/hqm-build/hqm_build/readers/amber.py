"""AMBER: `annotations.json` and `query/query_all.json` of its release.

A generative annotation lists the objects that are there (`truth`) and those that a model may make
up (`hallu`). The discriminative questions say more, by their answers: states, numbers, actions,
contact, and objects that are not there. A word that is listed both as true and as made up (63 in
the release) says nothing. An action is what somebody is doing ("run" becomes "running"), and a
state how a thing looks; what is neither ("Is the sea rolling waves?") is left out.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from hqm.errors import DataError
from hqm.files.records import read_json
from hqm_build.graph import Attribute, Image, Object, Relation, SceneGraph
from hqm_build.lexicon import (
    NUMBERS,
    POSTURES,
    is_state,
    kind_of_attribute,
    participle,
    singular,
)
from hqm_build.source import Reader, Source, digest_of, rows, text, words

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
"""Misspelt or unusual names of AMBER's release -> the usual ones."""
_NO_NAMES = frozenset(
    "hot baconic doghole showerpuff core support sound tennis line signal holder pulp cable cream"
    " sailing note pad spray alarm file sheet goal bar opener drain lounge bath can rugby"
    " earphone cowpea".split()
)
"""Ambiguous names of the release, such as half of a name."""
_SWITCHES = frozenset(
    "streetlamp lamp light faucet phone television monitor computer motorcycle car socket".split()
)
_SWITCHED = {"open": "turned on", "closed": "turned off", "close": "turned off"}
"""The release's words for the states of switches -> the usual ones."""
_CITATION = "Wang et al. (2023), AMBER (arXiv 2311.07397)"
_ACTION = re.compile(r"^Does the (?P<name>\w+) (?P<value>.+) in this image\?$")
_STATE = re.compile(r"^Is the (?P<both>.+) in this image\?$")
_NUMBER = re.compile(r"^(?:Are|Is) there (?P<number>\w+) (?P<name>.+) in this image\?$")
_EXISTENCE = re.compile(r"^Is there an? (?P<name>.+) in this image\?$")
_CONTACT = re.compile(
    r"^Is there direct contact between the (?P<a>.+) and (?:the )?(?P<b>.+?)(?: in this image)?\?$"
)


@dataclass
class _Facts:
    """The facts about one picture in the questions and annotations."""

    present: list[str] = field(default_factory=list)
    hallucinated: set[str] = field(default_factory=set)
    attributes: dict[str, dict[str, Attribute]] = field(default_factory=lambda: defaultdict(dict))
    denied: set[tuple[str, str]] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    contact: dict[tuple[str, str], bool] = field(default_factory=dict)

    def note(self, name: str, words: str, holds: bool, *, state: bool) -> None:
        """Record a state or an action of an object; words that are neither are ignored."""
        if name in _SWITCHES:
            words = _SWITCHED.get(words, words)
        action = participle(words)
        if state and action.partition(" ")[0] not in POSTURES:
            action = ""
        if not name or not (action or is_state(words) or words in _SWITCHED.values()):
            return
        value = action or words
        if holds:
            kind = "action" if action else kind_of_attribute(words) or "state"
            self.attributes[name][value] = Attribute(value=value, kind=kind)
        else:
            self.denied.add((name, value))


def _object_name(word: str) -> str:
    """An object's usual name; empty where the release's name is ambiguous."""
    if word in _NO_NAMES:
        return ""
    return _NAMES.get(word, word)


def is_amber(path: Path) -> bool:
    """Whether a folder has the two files."""
    return (path / "annotations.json").is_file() and (path / "query" / "query_all.json").is_file()


def read_amber(path: Path) -> Source:
    """A scene graph for each picture of the release."""
    files = [path / "annotations.json", path / "query" / "query_all.json"]
    truth, queries = (rows(read_json(file), file.name, file) for file in files)
    answers = {text(row, "id", "an annotation", files[0]): row for row in truth}
    facts: dict[str, _Facts] = defaultdict(_Facts)
    for row in queries:
        key = text(row, "id", "a query", files[1])
        image = text(row, "image", "a query", files[1])
        query = text(row, "query", "a query", files[1])
        if key not in answers:
            raise DataError(
                f"the query {key} has no annotation",
                location=str(files[0]),
                remedy="Take both files from one release.",
            )
        answer = answers[key]
        if answer.get("type") == "generative":
            true, hallucinated = (
                words(answer.get(name), f"{name} of the annotation {key} is", files[0])
                for name in ("truth", "hallu")
            )
            facts[image].present += filter(None, map(_object_name, true))
            facts[image].hallucinated |= set(filter(None, map(_object_name, hallucinated)))
            continue
        truth_value = str(answer.get("truth")).lower()
        if truth_value not in ("yes", "no"):
            raise DataError(
                f"the truth of the annotation {key} is {answer.get('truth')!r:.40}",
                location=str(files[0]),
                remedy="Write yes or no.",
            )
        _record_answer(facts[image], query, truth_value == "yes", str(answer.get("type")))
    return Source(
        name=str(path),
        reader="amber",
        digest=digest_of(files),
        graphs=tuple(_graph(image, image_facts) for image, image_facts in facts.items()),
        licence="Apache-2.0 (annotations)",
        citation=_CITATION,
    )


def _record_answer(facts: _Facts, query: str, holds: bool, kind: str) -> None:
    if (match := _CONTACT.match(query)) is not None:
        a, b = _object_name(match["a"]), _object_name(match["b"])
        if a and b and a != b:
            facts.contact[a, b] = holds
    elif (match := _EXISTENCE.match(query)) is not None:
        name = _object_name(match["name"])
        if name and not holds:
            facts.hallucinated.add(name)
    elif (match := _NUMBER.match(query)) is not None and match["number"] in NUMBERS:
        name = _object_name(singular(match["name"]))
        if name and holds:
            facts.numbers[name] = NUMBERS.index(match["number"])
    elif (match := _ACTION.match(query)) is not None:
        facts.note(_object_name(match["name"]), match["value"], holds, state=False)
    elif (match := _STATE.match(query)) is not None and "state" in kind:
        # "the green traffic light red": the object is the longest present name that fits
        present_names = [name for name in facts.present if match["both"].startswith(f"{name} ")]
        word = max(present_names, key=len, default=match["both"].partition(" ")[0])
        if value := match["both"].removeprefix(word).strip():
            facts.note(_object_name(word), value, holds, state=True)


def _graph(image: str, facts: _Facts) -> SceneGraph:
    contact_names = itertools.chain.from_iterable(facts.contact)
    names = dict.fromkeys([*facts.present, *facts.attributes, *facts.numbers, *contact_names])
    names.pop("", None)
    doubtful = facts.hallucinated & set(names)
    objects = [
        Object(
            id=f"{name}-{i}",
            names=(name,),
            attributes=tuple(facts.attributes.get(name, {}).values()),
        )
        for name in names
        for i in range(max(facts.numbers.get(name, 1), 1))
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
        for (a, b), holds in facts.contact.items()
    ]
    return SceneGraph(
        image=Image(
            id=image,
            file=image,
            exhaustive=frozenset({*names, *facts.hallucinated} - doubtful),
            doubtful=frozenset(doubtful),
            counted=frozenset(facts.numbers),
        ),
        objects=tuple(objects),
        relations=tuple(relations),
        denied=frozenset(facts.denied),
    )


READER = Reader(
    "amber", "a folder with annotations.json and query/query_all.json", is_amber, read_amber
)
