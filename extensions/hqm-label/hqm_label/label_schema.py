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
from hqm.files.records import parse_toml
from hqm.files.toml_files import fault_of

_MAX_UNIT_CHARS = 4_000
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
        if descriptive:
            stated_facts = tuple(fact for fact_data in facts if (fact := _fact(fact_data)).text)
        else:
            stated_facts = ()
        return cls(str(data["text"])[:_MAX_UNIT_CHARS], descriptive, stated_facts)


def _fact(data: object) -> Fact:
    if isinstance(data, str):
        return Fact(data.strip()[:_MAX_UNIT_CHARS])
    if isinstance(data, Mapping) and isinstance(data.get("text"), str):
        holds = data.get("holds")
        # True and False equal 1 and 0 here, and are stored as numbers
        if holds is None or holds in (0, 1):
            return Fact(
                data["text"].strip()[:_MAX_UNIT_CHARS],
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
    wrong = decided.count(0)
    count = len(decided)
    if wrong == count:
        return 1
    if wrong == 0:
        return 5
    if 2 * wrong > count:
        return 2
    if 3 * wrong < count:
        return 4
    return 3


def stage_labels(sentences: Sequence[Sentence]) -> dict[str, dict[str, int]]:
    """Return a rater's labels of parts and facts, by the judge's role that decides them.

    Undecided facts are left out.

    >>> sits = Sentence("A dog sits.", facts=(Fact("There is a dog.", 1),))
    >>> stage_labels([sits, Sentence("How nice!", False)])
    {'recognizer': {'A dog sits.': 1, 'How nice!': 0}, 'verifier': {'There is a dog.': 1}}
    """
    facts = {
        fact.text: fact.holds
        for sentence in sentences
        for fact in sentence.facts
        if fact.holds is not None
    }
    stages = {
        "recognizer": {sentence.text: int(sentence.descriptive) for sentence in sentences},
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
MAX_FIELD_CHARS = 20_000
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
                if repeated := next(
                    (value for value in values_given if values_given.count(value) > 1), ""
                ):
                    raise ValueError(f"the {name} {repeated!r} stands twice")
            if invalid_key := next(
                (
                    option.key
                    for option in options
                    if option.key in RESERVED or len(option.key) != 1
                ),
                "",
            ):
                raise ValueError(
                    f"the key {invalid_key!r} is the page's own, or no single character"
                )
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
        if self.kind == "spans":
            return (1, 0)
        return tuple(choice.value for choice in self.choices)

    def in_words(self, label: Any) -> str:
        """What a label says.

        >>> read_schema("binary").in_words(0), read_schema("binary").in_words(None)
        ('Hallucinated', 'Cannot say')
        """
        if label is None:
            return "Cannot say"
        if self.kind == "spans":
            if label == 1:
                return "Nothing is hallucinated"
            return "Something is hallucinated"
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
        # linear: grade 1 of 5 is share 0, grade 5 is share 1
        return (label - min(numbers)) / (max(numbers) - min(numbers))

    def has_share(self, label: Any, share: float | None) -> bool:
        """Whether a label is this share, as far as two digits say it.

        >>> read_schema("likert").has_share(5, 1.0), read_schema("likert").has_share(1, 1.0)
        (True, False)
        """
        own_share = self.share(label)
        return own_share is not None and share is not None and abs(own_share - share) < 0.01


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
            names = schema_names()
            raise UsageError(
                f"there is no schema {name!r}",
                remedy=f"There are {', '.join(names)}; or name a toml file.",
                name=name,
                choices=names,
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
    if max(map(len, (text, note))) > MAX_FIELD_CHARS:
        raise UsageError(
            f"a text has more than {MAX_FIELD_CHARS:,} characters", remedy="Write a shorter one."
        )
    values: dict[str, Any] = {"label": None}
    if schema.kind == "spans":
        values = _span_values(schema, detail, answer)
    elif schema.kind == "facts":
        values = _fact_values(detail, may_be_open=choice == CANNOT_SAY)
    if choice == CANNOT_SAY:
        values["label"] = None
    elif schema.kind in ("choice", "review"):
        values |= _choice_values(schema, choice, text.strip())
    elif choice != "save":
        raise UsageError(f"{choice!r} is no way to save", remedy="Reload the page.")
    if note.strip():
        return {**values, "note": note.strip()}
    return values


def _span_values(schema: Schema, detail: str, answer: str) -> dict[str, Any]:
    """Return the marked spans, and the label that they make: 1 where nothing is marked."""
    spans = _read_spans(schema, _parse_detail(detail), answer)
    names = ("start", "end", "type")
    return {
        "label": 0 if spans else 1,
        "spans": [dict(zip(names, span, strict=True)) for span in spans],
    }


def _fact_values(detail: str, *, may_be_open: bool) -> dict[str, Any]:
    """Return the labelled sentences with the grade that follows from them.

    Raises
    ------
    UsageError
        A fact is not decided, unless facts may be left open.
    """
    sentences = [Sentence.from_dict(sentence_data) for sentence_data in _parse_detail(detail)]
    n_open = 0
    for sentence in sentences:
        n_open += sum(fact.holds is None and not fact.undecided for fact in sentence.facts)
    if n_open and not may_be_open:
        raise UsageError(
            f"{n_open} facts are not decided yet", remedy="Say of each whether it holds."
        )
    return {
        "label": derived_grade(sentences),
        "sentences": [sentence.to_dict() for sentence in sentences],
    }


def _choice_values(schema: Schema, choice: str, text: str) -> dict[str, Any]:
    """Return the label of a choice, with the text that it asks for.

    Raises
    ------
    UsageError
        The schema has no such choice, or the text is empty.
    """
    by_value = {str(option.value): option for option in schema.choices}
    if choice not in by_value:
        raise UsageError(
            f"{choice!r} is no choice of the schema {schema.name}",
            remedy=f"It has {', '.join(by_value)}.",
        )
    selected = by_value[choice]
    if not selected.asks:
        return {"label": selected.value}
    if not text:
        if selected.asks == "target":
            required = "the right answer"
        else:
            required = "the corrected text"
        raise UsageError(f"{selected.text!r} needs {required}", remedy="Write it into the field.")
    return {"label": selected.value, selected.asks: text}


def _parse_detail(detail: str) -> Sequence[Mapping[str, Any]]:
    try:
        records = json.loads(detail or "[]")
    except (ValueError, RecursionError):
        records = None
    if (
        not isinstance(records, list)
        or not all(isinstance(record, dict) for record in records)
        or len(records) > 2_000
    ):
        raise UsageError("what the page sent cannot be read", remedy="Reload the page.")
    return records


def _read_spans(
    schema: Schema, records: Sequence[Mapping[str, Any]], answer: str
) -> list[tuple[int, int, str]]:
    """The marked characters of an answer, from one place up to another, and what is wrong there."""
    span_types = {str(span_type.value) for span_type in schema.types}
    spans = []
    for record in records:
        start, end, kind = record.get("start"), record.get("end"), record.get("type")
        are_integers = type(start) is int and type(end) is int
        if (
            not are_integers
            or kind not in span_types
            or not 0 <= int(str(start)) < int(str(end)) <= len(answer)
        ):
            raise UsageError(
                f"{json.dumps(record)[:200]} is no span of the answer", remedy="Reload the page."
            )
        spans.append((int(str(start)), int(str(end)), str(kind)))
    return sorted(spans)
