"""Join recorded answers to questions by what the rows say of themselves; by their order only where
they say nothing.

A released answer file may have other questions than the benchmark's, in another order: an older
copy, another split. Joined by row, its answers would be scored against questions that nobody asked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from hqm.errors import AnswerError, HQMError
from hqm.files.records import read_records
from hqm.logs.row import first_text
from hqm.types import Item

_SHOWN = 3
_IMAGES = ("image", "image_id", "image_source", "image_path")
_IDS = ("question_id", "id", "item")
_QUESTIONS = ("question", "prompt", "query", "instruction")
_ANSWERS = ("answer", "response", "prediction", "model_answer", "text")
_PARTS = ("category", "split", "part")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow:
    """A row of an answer file: the answer, and what the row says of its question; empty where it
    says nothing.
    """

    place: str
    answer: Any
    id: str = ""
    image: str = ""
    question: str = ""
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any], place: str) -> AnswerRow:
        """Read a row, whatever its fields are called; `text` is the question where another field
        has the answer.

        Raises
        ------
        AnswerError
            No field holds an answer.
        """
        named = [name for name in _ANSWERS if name in record]
        if not named:
            there = ", ".join(map(repr, record)) or "none"
            what = (
                f"none of the fields {', '.join(map(repr, _ANSWERS))} is there (there are {there})"
            )
            raise AnswerError(what, place=place)
        questions = (*_QUESTIONS, *(("text",) if named[0] != "text" else ()))
        parts = first_text(record, _PARTS).split(",")
        return cls(
            place=place,
            answer=record[named[0]],
            id=first_text(record, _IDS),
            image=first_text(record, _IMAGES),
            question=first_text(record, questions),
            parts=tuple(part.strip() for part in parts if part.strip()),
        )


def normalised(text: str) -> str:
    """A question's text as it is compared: without differences of case, spaces and typographic
    forms.

    >>> normalised("Is there a  DOG in the image?")
    'is there a dog in the image?'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def asks_same(said: str, item: Item, spelling: Callable[[str], str] = str) -> bool:
    """Whether a row's question is an item's: equal, or the item's with an instruction before or
    after it.

    >>> asks_same("Is there a dog?\\nAnswer yes or no.", Item("1", "Is there a dog?", "yes_no"))
    True
    """
    return normalised(spelling(item.prompt)) in normalised(spelling(said))


def picture_key(name: str) -> str:
    """A picture's name as it is compared: its number, without zeros in front, folder and suffix;
    else its stem.

    >>> picture_key("val2014/COCO_val2014_000000310196.jpg"), picture_key("310196")
    ('310196', '310196')
    """
    stem = PurePosixPath(name.replace("\\", "/")).name
    stem = re.sub(r"\.(?:jpe?g|png|webp|gif|bmp)$", "", stem, flags=re.IGNORECASE).lower()
    number = re.fullmatch(r"(?:[a-z]+_[a-z]+\d*_)?0*(\d+)", stem)
    return number[1] if number else stem


def contradict(wrong: Sequence[str], many: int, path: Path, remedy: str) -> NoReturn:
    """Refuse a file whose rows contradict the questions; the first three are named."""
    more = f" (and {len(wrong) - _SHOWN} more)" if len(wrong) > _SHOWN else ""
    what = (
        f"{len(wrong)} of {many} rows are about other questions: {'; '.join(wrong[:_SHOWN])}{more}"
    )
    raise AnswerError(what, place=str(path), remedy=remedy)


def check_questions(
    rows: Iterable[tuple[str, str, Item]], path: Path, spelling: Callable[[str], str] = str
) -> None:
    """Refuse rows whose own text is not the question of the item that they are joined to: (place,
    text, item).
    """
    rows = list(rows)
    wrong = [
        f"{_row(place)} asks {said!r:.80}, and {item.id} asks {item.prompt!r:.80}"
        for place, said, item in rows
        if said.strip() and not asks_same(said, item, spelling)
    ]
    if wrong:
        contradict(wrong, len(rows), path, "Name the file, part or release that was answered.")


def join_by_picture(
    rows: Sequence[AnswerRow],
    items: Sequence[Item],
    path: Path,
    spelling: Callable[[str], str] = str,
) -> dict[str, AnswerRow]:
    """Item id -> the row about the same picture with the same question.

    Raises
    ------
    AnswerError
        A row is about no item, or two rows are about one.
    """
    by_picture: dict[str, list[tuple[str, Item]]] = {}
    for item in items:
        by_picture.setdefault(picture_key(item.image or ""), []).append(
            (normalised(spelling(item.prompt)), item)
        )
    joined: dict[str, AnswerRow] = {}
    wrong = []
    for row in rows:
        said = normalised(spelling(row.question))
        near = by_picture.get(picture_key(row.image), [])
        longest = max((text for text, _ in near if text and text in said), key=len, default=None)
        same = [item for text, item in near if text == longest]
        if row.parts:
            same = [item for item in same if any(_in_part(item, part) for part in row.parts)]
        if not same:
            wrong.append(f"{_row(row.place)} asks {row.question!r:.80} about {row.image}")
        for item in same:
            if item.id in joined:
                first = _row(joined[item.id].place)
                raise AnswerError(
                    f"{item.id} is answered twice, first in {first}",
                    place=row.place,
                    remedy="Keep one.",
                )
            joined[item.id] = row
    if wrong:
        contradict(wrong, len(rows), path, "Name the file, part or release that was answered.")
    return joined


def _in_part(item: Item, part: str) -> bool:
    return part in (item.part, item.part.rpartition("_")[2])


def of_parts(rows: Sequence[AnswerRow], items: Sequence[Item]) -> list[AnswerRow]:
    """The rows about the parts of these items, where the rows name their parts; all of them
    otherwise.
    """
    if not all(row.parts for row in rows):
        return list(rows)
    parts = {item.part for item in items}
    named = {name for part in parts for name in (part, part.rpartition("_")[2])}
    return [row for row in rows if named.intersection(row.parts)]


def with_questions_beside(rows: Sequence[AnswerRow], path: Path) -> list[AnswerRow] | None:
    """The rows with the pictures of the question file that lies beside the answers, or one folder
    above; None without one.

    It is the file whose rows have the ids of all answers, and pictures (LLaVA:
    `llava_pope_test.jsonl`).

    Raises
    ------
    AnswerError
        It gives an id another question than the answers do.
    """
    above = path.resolve().parent.parent
    for other in sorted(
        [*path.parent.glob("*.json*"), *above.glob("*question*.json*"), *above.glob("*test*.json*")]
    ):
        asked = _questions(other) if other != path else {}
        if asked and all(row.id in asked for row in rows):
            joined = [
                AnswerRow.of({**asked[row.id], "answer": row.answer}, row.place) for row in rows
            ]
            wrong = [
                f"{_row(row.place)} asks {row.question!r:.80}, and {other.name} asks"
                f" {own.question!r:.80}"
                for row, own in zip(rows, joined, strict=True)
                if row.question and normalised(row.question) != normalised(own.question)
            ]
            if wrong:
                contradict(
                    wrong,
                    len(rows),
                    path,
                    f"Put the answers beside the questions that were asked, not {other.name}.",
                )
            return joined
    return None


def _questions(path: Path) -> dict[str, Mapping[str, Any]]:
    """Id -> record of a file of questions with pictures; empty for any other file."""
    try:
        records = read_records(path)
    except HQMError:
        return {}
    if not records or not all(
        first_text(r, _IMAGES) and first_text(r, _IDS) and first_text(r, ("text", *_QUESTIONS))
        for r in records
    ):
        return {}
    ids = [first_text(record, _IDS) for record in records]
    return dict(zip(ids, records, strict=True)) if len(set(ids)) == len(ids) else {}


def _row(place: str) -> str:
    return place.rpartition(": ")[2]
