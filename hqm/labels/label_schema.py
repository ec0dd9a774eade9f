"""Facts of an answer, as the FaithScore paper has them: parts that describe the picture, their
facts, and the grade that follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from hqm.errors import DataError, UsageError
from hqm.files.records import fault_of, parse_toml

_MOST = 4_000
"""The most characters of a part or a fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that an answer states about the picture."""

    text: str
    holds: int | None = None
    """1 if it holds, 0 if it does not, None where it is not or cannot be decided."""
    undecided: bool = False
    """Whether a rater said that the picture does not decide it."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "holds": self.holds,
            **({"undecided": True} if self.undecided else {}),
        }


@dataclass(frozen=True, slots=True)
class Sentence:
    """A part of an answer, whether it describes the picture, and the facts that it states."""

    text: str
    descriptive: bool = True
    facts: tuple[Fact, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "descriptive": self.descriptive,
            "facts": [fact.to_dict() for fact in self.facts],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sentence:
        """Read a part; facts may be texts alone, as a decomposer gives them.

        Raises
        ------
        UsageError
            It is none.
        """
        facts = data.get("facts", [])
        if not isinstance(data.get("text"), str) or not isinstance(facts, list):
            raise UsageError(
                f"{str(dict(data))[:200]} is no part of an answer",
                remedy="It has a text and facts.",
            )
        descriptive = bool(data.get("descriptive", True))
        read = tuple(fact for each in facts if (fact := _fact(each)).text) if descriptive else ()
        return cls(str(data["text"])[:_MOST], descriptive, read)


def _fact(data: object) -> Fact:
    if isinstance(data, str):
        return Fact(data.strip()[:_MOST])
    if isinstance(data, Mapping) and isinstance(data.get("text"), str):
        holds = data.get("holds")
        if holds is None or holds in (0, 1):
            return Fact(
                data["text"].strip()[:_MOST],
                None if holds is None else int(holds),
                bool(data.get("undecided")),
            )
    raise UsageError(
        f"{str(data)[:200]} is no fact", remedy="A fact has a text, and holds is 1, 0 or null."
    )


def derived_grade(sentences: Sequence[Sentence]) -> int | None:
    """The grade from 1 to 5 that the FaithScore paper derives from the share of facts that do not
    hold.

    1: all are wrong; 2: more than half; 3: between a third and a half; 4: fewer than a third; 5:
    none. The paper does not say what exactly half is; it is 3 here. None where no fact was decided.

    >>> [derived_grade([Sentence("", facts=tuple(Fact("", holds) for holds in facts))])
    ...  for facts in ((0, 0), (0, 0, 1), (0, 1), (0, 1, 1), (0, 1, 1, 1), (1, 1), ())]
    [1, 2, 3, 3, 4, 5, None]
    """
    decided = [
        fact.holds for sentence in sentences for fact in sentence.facts if fact.holds is not None
    ]
    if not decided:
        return None
    wrong, count = decided.count(0), len(decided)
    if wrong == count:
        return 1
    if wrong == 0:
        return 5
    if 2 * wrong > count:
        return 2
    return 4 if 3 * wrong < count else 3


def stage_labels(sentences: Sequence[Sentence]) -> dict[str, dict[str, int]]:
    """Return a rater's labels of parts and facts, by the judge's role that decides them.

    Undecided facts are left out.

    >>> sits = Sentence("A dog sits.", facts=(Fact("There is a dog.", 1),))
    >>> stage_labels([sits, Sentence("How nice!", False)])
    {'recognizer': {'A dog sits.': 1, 'How nice!': 0}, 'verifier': {'There is a dog.': 1}}
    """
    facts = {
        fact.text: fact.holds for each in sentences for fact in each.facts if fact.holds is not None
    }
    stages = {
        "recognizer": {each.text: int(each.descriptive) for each in sentences},
        "verifier": facts,
    }
    return {role: units for role, units in stages.items() if units}


def parts_of(answer: str) -> tuple[str, ...]:
    """The parts between full stops, commas and the like in which an answer is read, as FaithScore
    cuts it.

    >>> parts_of("A dog sits on a mat, and 3.5 cats watch. Nice!")
    ('A dog sits on a mat,', 'and 3.5 cats watch.', 'Nice!')
    """
    pieces = re.split(r"(?<=[.!?,;:。！？，；])\s+|\n+", answer)
    return tuple(piece.strip() for piece in pieces if piece.strip())


# --- what raters are asked, as a toml file says it ---
#
# The question, the choices with their keys, and what a reply may hold.

Kind = Literal["choice", "facts", "spans", "review"]
CANNOT_SAY = "?"
"""The key, and on the page the value, of the choice that every schema has."""
RESERVED = frozenset({"u", "n", "z", CANNOT_SAY})
"""The page's own keys: undo, note, zoom, cannot say."""
LONGEST = 20_000
"""The most characters that a rater may write in a field."""
_FOLDER = Path(__file__).with_name("schemas")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Choice(_Section):
    """One thing that a rater may say."""

    value: int | str
    """What is stored."""
    key: str
    """The key on the keyboard."""
    text: str
    """What the button says."""
    tone: Literal["good", "bad", ""] = ""
    """Its colour; the words and the key say the same."""
    asks: Literal["target", "prompt", ""] = ""
    """What the rater has to write with it: the right key, or the corrected text."""


class Schema(_Section):
    """A schema of labels: `[name]`, `[kind]`, the question, and what may be said."""

    name: str
    """The name under which labels are exported."""
    kind: Kind
    """`choice`, `facts`, `spans` or `review`: what the page lets a rater do."""
    title: str = ""
    """What the page is called."""
    question: str
    """What every answer is asked."""
    guide: tuple[str, ...] = ()
    """How to decide, in sentences; raters see it before they begin, and whenever they want."""
    choices: tuple[Choice, ...] = ()
    """What may be said; `cannot say` is always there."""
    types: tuple[Choice, ...] = ()
    """The types that a marked span may have."""

    @model_validator(mode="after")
    def _usable(self) -> Schema:
        if not self.choices and self.kind != "spans":
            raise ValueError("it needs [[choices]]")
        if not self.types and self.kind == "spans":
            raise ValueError("it needs [[types]]")
        for options in (self.choices, self.types):
            for name in ("key", "value"):
                values_given = [str(getattr(option, name)) for option in options]
                if twice := next(
                    (each for each in values_given if values_given.count(each) > 1), ""
                ):
                    raise ValueError(f"the {name} {twice!r} stands twice")
            if taken := next(
                (
                    option.key
                    for option in options
                    if option.key in RESERVED or len(option.key) != 1
                ),
                "",
            ):
                raise ValueError(f"the key {taken!r} is the page's own, or no single character")
        return self

    @property
    def reviews_items(self) -> bool:
        """Whether a benchmark's own items are judged, and not what respondents answered."""
        return self.kind == "review"

    @property
    def values(self) -> tuple[int | str, ...]:
        """The labels that a reply can have, `cannot say` (None) apart."""
        if self.kind == "facts":
            return (1, 2, 3, 4, 5)
        return (1, 0) if self.kind == "spans" else tuple(choice.value for choice in self.choices)

    def in_words(self, label: Any) -> str:
        """What a label says.

        >>> read_schema("binary").in_words(0), read_schema("binary").in_words(None)
        ('Hallucinated', 'Cannot say')
        """
        if label is None:
            return "Cannot say"
        if self.kind == "spans":
            return "Nothing is hallucinated" if label == 1 else "Something is hallucinated"
        if self.kind == "facts":
            return f"Grade {label}"
        return next((choice.text for choice in self.choices if choice.value == label), str(label))

    def share(self, label: Any) -> float | None:
        """Convert a label to a share from 0 (hallucinated) to 1 (faithful); None in a review.

        >>> read_schema("likert").share(4), read_schema("binary").share(1)
        (0.75, 1.0)
        >>> read_schema("review").share("keep")
        """
        numbers = [value for value in self.values if isinstance(value, int)]
        if not isinstance(label, (int, float)) or len(numbers) < 2:
            return None
        return (label - min(numbers)) / (max(numbers) - min(numbers))


def schema_names() -> tuple[str, ...]:
    """The schemas that come with HQM.

    >>> schema_names()
    ('binary', 'facts', 'likert', 'review', 'review_form', 'spans')
    """
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def read_schema(name: str, folder: Path | None = None) -> Schema:
    """Read a schema by its name, or from a toml file; relative paths start at `folder`.

    Raises
    ------
    UsageError
        There is none of this name.
    DataError
        The file cannot be used; the sentence names the key.
    """
    path = _FOLDER / f"{name}.toml"
    if name not in schema_names():
        path = (folder or Path()) / name
        if not path.is_file():
            known = schema_names()
            raise UsageError(
                f"there is no schema {name!r}",
                remedy=f"There are {', '.join(known)}; or name a toml file.",
                name=name,
                choices=known,
            )
    try:
        return Schema.model_validate(parse_toml(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise DataError(fault_of(Schema, error.errors()[0]), location=str(path)) from None
    except DataError as error:
        raise DataError(error.message, location=str(path), remedy=error.remedy) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"it cannot be read: {error}", location=str(path)) from None


def read_reply(
    schema: Schema, choice: str, detail: str, text: str, note: str, answer: str = ""
) -> dict[str, Any]:
    """Check the page's form, and return the values of a label by field.

    Parameters
    ----------
    choice
        The value of the choice, `?`, or for facts and spans `save`.
    detail
        JSON: the spans or sentences that the rater marked.
    text
        What the choice asks for: the right key or the corrected wording.
    answer
        The answer that spans lie in.

    Raises
    ------
    UsageError
        It is nothing that this schema lets a rater say.
    """
    if max(map(len, (text, note))) > LONGEST:
        raise UsageError(
            f"a text has more than {LONGEST:,} characters", remedy="Write a shorter one."
        )
    values: dict[str, Any] = {"label": None}
    if schema.kind == "spans":
        spans = _spans(schema, _parsed(detail), answer)
        names = ("start", "end", "type")
        values = {
            "label": 0 if spans else 1,
            "spans": [dict(zip(names, span, strict=True)) for span in spans],
        }
    elif schema.kind == "facts":
        sentences = [Sentence.from_dict(part) for part in _parsed(detail)]
        open_facts = sum(
            fact.holds is None and not fact.undecided for s in sentences for fact in s.facts
        )
        if open_facts and choice != CANNOT_SAY:
            raise UsageError(
                f"{open_facts} facts are not decided yet", remedy="Say of each whether it holds."
            )
        values = {
            "label": derived_grade(sentences),
            "sentences": [sentence.to_dict() for sentence in sentences],
        }
    if choice == CANNOT_SAY:
        values["label"] = None
    elif schema.kind in ("choice", "review"):
        chosen = next((each for each in schema.choices if str(each.value) == choice), None)
        if chosen is None:
            known = ", ".join(str(each.value) for each in schema.choices)
            raise UsageError(
                f"{choice!r} is no choice of the schema {schema.name}", remedy=f"It has {known}."
            )
        values["label"] = chosen.value
        if chosen.asks:
            if not text.strip():
                what = "the right answer" if chosen.asks == "target" else "the corrected text"
                raise UsageError(f"{chosen.text!r} needs {what}", remedy="Write it into the field.")
            values[chosen.asks] = text.strip()
    elif choice != "save":
        raise UsageError(f"{choice!r} is no way to save", remedy="Reload the page.")
    return {**values, "note": note.strip()} if note.strip() else values


def _parsed(detail: str) -> Sequence[Mapping[str, Any]]:
    try:
        parts = json.loads(detail or "[]")
    except (ValueError, RecursionError):
        parts = None
    if (
        not isinstance(parts, list)
        or not all(isinstance(part, dict) for part in parts)
        or len(parts) > 2_000
    ):
        raise UsageError("what the page sent cannot be read", remedy="Reload the page.")
    return parts


def _spans(
    schema: Schema, parts: Sequence[Mapping[str, Any]], answer: str
) -> list[tuple[int, int, str]]:
    """The marked characters of an answer, from one place up to another, and what is wrong there."""
    known = {str(each.value) for each in schema.types}
    spans = []
    for part in parts:
        start, end, kind = part.get("start"), part.get("end"), part.get("type")
        whole = type(start) is int and type(end) is int
        if (
            not whole
            or kind not in known
            or not 0 <= int(str(start)) < int(str(end)) <= len(answer)
        ):
            raise UsageError(
                f"{json.dumps(part)[:200]} is no span of the answer", remedy="Reload the page."
            )
        spans.append((int(str(start)), int(str(end)), str(kind)))
    return sorted(spans)
