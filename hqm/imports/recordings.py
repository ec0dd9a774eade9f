"""Recorded answers, read from files in HQM's own formats."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hqm.errors import AnswerError
from hqm.files.records import placed_records, read_records, whole_number
from hqm.imports.match import check_questions
from hqm.imports.row import (
    ANSWERS,
    QUESTIONS,
    answer_text,
    first_field,
    first_text,
    form_of,
    one_of,
)
from hqm.signature import canonical_json
from hqm.text import SHORT, storable
from hqm.types import ORIGINAL, STATES, Form, Item, Response, State, is_scale

_IDS = ("item", "id", "question_id")
_ASKS = frozenset(QUESTIONS)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded administration: the respondent, the form, the run, and the answers."""

    respondent: str
    form: str
    run: int
    answers: Mapping[str, Response]
    """Item id -> response."""
    source: str = field(default="", compare=False)
    resolution: str = ""
    """The percentage of their size to which the pictures were scaled; empty where they were shown
    as they are.
    """


def _name(value: Any, what: str, place: str) -> str:
    """An id or a name: a text that is not empty, or a number."""
    if isinstance(value, (dict, list, bool, float)) or value is None or not str(value).strip():
        raise AnswerError(
            f"the {what} is {value!r:.60}", place=place, remedy="Write a text or a whole number."
        )
    return str(value)


def _response(record: Mapping[str, Any], place: str) -> Response:
    text = answer_text(first_field(record, ANSWERS, place), place)
    state = one_of(record.get("state", "ok"), STATES, "state", place)
    detail, reason = record.get("detail") or {}, record.get("reason")
    if not isinstance(detail, dict):
        raise AnswerError(f"the detail is {detail!r:.60}, which is no object", place=place)
    if detail:
        try:
            canonical_json(detail)
        except ValueError:
            raise AnswerError(
                "its detail has a number that is none (NaN, infinity)", place=place
            ) from None
    return Response(text, cast(State, state), "" if reason is None else str(reason), detail)


class ItemAnswers(dict[str, Response]):
    """The answers in a file: each item of a form has at most one.

    Parameters
    ----------
    form
        Whose items are answered.
    """

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form

    def put(self, key: str, answer: Response, place: str) -> None:
        """Add the answer to an item.

        Raises
        ------
        AnswerError
            The form has no such item, or the item is answered already.
        """
        if key not in self.form.by_id:
            raise AnswerError(
                f"the benchmark has no item {key!r}",
                place=place,
                remedy="Check that the file belongs to it.",
            )
        if key in self:
            raise AnswerError(
                f"the item {key!r} is answered twice",
                place=place,
                remedy="Keep one answer for each item.",
            )
        self[key] = answer


def read_answers(
    path: Path, form: Form, spelling: Callable[[str], str] = str
) -> dict[str, Response]:
    """Answers in HQM's format: records with `item` (or `id`, `question_id`) and `answer` (or
    `response`, `text`).

    Raises
    ------
    AnswerError
        An id is unknown or is answered twice, a field is missing, or the records' questions are
        others than those of their items.
    """
    answers = ItemAnswers(form)
    asked = []
    for place, record in placed_records(path):
        key = storable(_name(first_field(record, _IDS, place), "item", place))
        answers.put(key, _response(record, place), place)
        asked += _question(record, form.by_id[key], place)
    check_questions(asked, path, spelling)
    return answers


def _question(record: Mapping[str, Any], item: Item, place: str) -> list[tuple[str, str, Item]]:
    """What a record says that its item asks, for the check; empty where it does not say it."""
    question = first_text(record, QUESTIONS)
    return [(place, question, item)] if question and item.prompt else []


def percentage(value: Any, place: str = "") -> str:
    """To what percentage of their width and height pictures were scaled, as a cell writes it; empty
    for 100 and for nothing.

    >>> percentage(50), percentage("25 %"), percentage(100), percentage(None)
    ('50', '25', '', '')

    Raises
    ------
    AnswerError
        It is no whole number from 1 to 100.
    """
    text = "" if value is None else str(value).strip().removesuffix("%").strip()
    if text in ("", "100"):
        return ""
    if isinstance(value, bool) or not is_scale(text):
        raise AnswerError(
            f"the resolution {value!r:.40} is no percentage of the pictures' width and height",
            place=place,
            remedy="Write a whole number from 1 to 100.",
        )
    return text


def read_recordings(
    path: Path, known: Mapping[str, Form], spelling: Callable[[str], str] = str
) -> list[Recording]:
    """Administrations in HQM's export format: records with `respondent`, `form`, `run`, `item` and
    `answer`.

    A file without the first three of them holds one respondent, named after the file, that answered
    the original form once. A field `resolution` says to what percentage of their width and height
    the pictures were scaled.
    """
    files = (
        sorted(p for p in path.iterdir() if p.suffix in {".json", ".jsonl", ".csv"})
        if path.is_dir()
        else [path]
    )
    if not files:
        raise AnswerError("the folder has no .json, .jsonl or .csv file", place=str(path))
    reader = _Reader(known)
    for file in files:
        records = enumerate(read_records(file), 1)
        reader.asked.clear()
        for i, record in reader.not_plain(records, file.stem):
            reader.take(record, file.stem, f"{file}: record {i}")
        check_questions(reader.asked, file, spelling)
    return [
        Recording(name, form, run, answers, str(path), scale)
        for (name, form, run, scale), answers in reader.recorded.items()
    ]


class _Reader:
    """Takes in record by record what several files hold."""

    def __init__(self, known: Mapping[str, Form]) -> None:
        self.known = known
        self._looks: dict[str, str] = {}
        self.recorded: dict[tuple[str, str, int, str], ItemAnswers] = {}
        self.asked: list[tuple[str, str, Item]] = []
        """What the records of a file say that their items ask: place, text, item."""
        # most files name their few administrations in every record, and give the same few answers
        # again and again
        self._of_names: dict[tuple[str, str, int], tuple[dict[str, Item], dict[str, Response]]] = {}
        self._same: dict[tuple[str, str], Response] = {}
        self._items = {
            name: {key: i for key, i in form.by_id.items() if key.strip()}
            for name, form in known.items()
        }

    def not_plain(
        self, records: Iterable[tuple[int, Mapping[str, Any]]], stem: str
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Take in the records whose administration and answer were met before, and give the others
        back with their numbers.
        """
        of_names, same = self._of_names, self._same
        for i, record in records:
            get = record.get
            named, form, run = get("respondent", stem), get("form", ORIGINAL), get("run", 0)
            key: Any = record["item"] if "item" in record else get("id")
            text: Any = record["answer"] if "answer" in record else get("response")
            try:
                items, answers = of_names[named, form, run]
                item, answer = items[key], same[text, get("state", "ok")]
            except (KeyError, TypeError):  # what has no hash is none of them
                yield i, record
                continue
            # True is no run, though it equals 1
            other = key in answers or type(run) is not int or "resolution" in record
            other = other or not _ASKS.isdisjoint(record)
            if other or get("detail") or get("reason", "") not in ("", None):
                yield i, record
                continue
            # the item's own id, so that one text serves all administrations
            answers[item.id] = answer

    def take(self, record: Mapping[str, Any], stem: str, place: str) -> None:
        """Take in a record, whatever it holds.

        Raises
        ------
        AnswerError
            It is no answer to one of the items, or the second one.
        """
        form = record.get("form", ORIGINAL)
        if type(form) is not str:
            form = _name(form, "form", place)
        items = form_of(self.known, form, place).by_id
        key = storable(_name(first_field(record, _IDS, place), "item", place))
        item = items.get(key)
        if item is None:
            if key in self.known[ORIGINAL].by_id:
                return  # left out of this form: the answer belongs to no question that is asked
            raise AnswerError(f"the benchmark has no item {key!r}", place=place)
        named, run = record.get("respondent", stem), record.get("run", 0)
        name = storable(_name(named, "respondent", place))
        same = self._looks.setdefault(unicodedata.normalize("NFC", name).strip(), name)
        if same != name:
            raise AnswerError(
                f"the respondents {same!r} and {name!r} look the same",
                place=place,
                remedy="Write the name of one in one way.",
            )
        scale = percentage(record.get("resolution"), place)
        if scale and form != ORIGINAL:
            raise AnswerError(
                f"the form {form!r} has the resolution {scale}",
                place=place,
                remedy="Scale pictures of the original form.",
            )
        administration = (name, form, whole_number(run, "run", place), scale)
        answers = self.recorded.setdefault(administration, ItemAnswers(self.known[form]))
        if type(named) is str and type(run) is int and "resolution" not in record:
            self._of_names[named, form, run] = self._items[form], answers
        answer = _response(record, place)
        self.asked += _question(record, item, place)
        if len(answer.text) <= SHORT and not answer.reason and not answer.detail:
            answer = self._same.setdefault((answer.text, answer.state), answer)
        answers.put(item.id, answer, place)


_FEWEST = 20
"""Answers from which on a respondent without an error is worth a note."""


def perfect_respondents(form: Form, recordings: Iterable[Recording]) -> Iterator[str]:
    """Name the recorded respondents whose answers are the keys, word for word.

    A benchmark's own file of questions, given as recorded answers, reads like this.
    """
    keys = {item.id: str(item.target).casefold().strip() for item in form.items}
    for recording in recordings:
        answers = recording.answers
        if recording.form != form.name or len(answers) < _FEWEST:
            continue
        if all(answers[item].text.casefold().strip(" .\n") == keys[item] for item in answers):
            yield (
                f"{recording.respondent} answers all {len(answers):,} questions with their keys: if"
                f" {recording.source} holds the benchmark's own questions, leave it out."
            )
