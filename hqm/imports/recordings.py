"""Recorded administrations in HQM's own files: an answer a record, with its respondent, form and
run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import cast

from hqm.errors import AnswerError
from hqm.files.records import file_stem, whole_number
from hqm.imports.intake import (
    Intake,
    check_benchmark,
    find_alike,
    refuse_alike,
    refuse_twice,
    take_rows,
)
from hqm.imports.layouts import cells_of, with_column
from hqm.imports.match import check_keys, check_rows, count_other_keys, has_other_key
from hqm.imports.row import (
    ANSWERS,
    IMAGES,
    KEYS,
    OF_A_MODEL,
    QUESTIONS,
    Row,
    answer_text,
    count_in,
    ended,
    error_in,
    first_field,
    first_text,
    form_of,
    names_in,
    no_field,
    require_choice,
)
from hqm.signature import canonical_json
from hqm.text import SHORT, check_name, storable
from hqm.types import ORIGINAL, STATES, Form, Item, Response, State, is_scale

PLAIN_IDS = ("item", "id", "question_id")
"""What an item's id is called in HQM's formats of answers."""
_UNUSUAL = frozenset(("resolution", "sight", "finish_reason", "error"))
"""Fields that few records have, so that most are read in the short way."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a record: found once for all records that have the same.

    Attributes
    ----------
    item, answer
        The column of the item's id, and that of the answer; empty where there is none.
    questions, images, keys
        Those that may say what was asked, in the order in which they are preferred.
    is_usual
        Whether it has both, and nothing that few records have.
    """

    item: str
    answer: str
    questions: tuple[str, ...]
    images: tuple[str, ...]
    keys: tuple[str, ...]
    is_usual: bool

    @property
    def has_claims(self) -> bool:
        """Whether a record may say what was asked."""
        return bool(self.questions or self.images or self.keys)


@functools.lru_cache(maxsize=256)
def _columns_of(names: tuple[str, ...]) -> _Columns:
    """Find the columns that are read among the names of a record's fields."""
    answers, keys = ANSWERS, KEYS
    if not OF_A_MODEL.isdisjoint(names):
        # beside what a model wrote, the field `answer` has the right answer
        answers, keys = ANSWERS[1:], (*KEYS, "answer")
    item, answer = (next(iter(names_in(names, fields)), "") for fields in (PLAIN_IDS, answers))
    questions, images, present_keys = (
        tuple(names_in(names, fields)) for fields in (QUESTIONS, IMAGES, keys)
    )
    is_usual = bool(item and answer) and _UNUSUAL.isdisjoint(names)
    return _Columns(item, answer, questions, images, present_keys, is_usual)


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded administration: the respondent, the form, the run, and the answers.

    Parameters
    ----------
    respondent, form, run
        Who answered what, and in which run.
    answers
        Item id -> response.
    source
        The file.
    resolution
        The percentage of their size to which pictures were scaled; empty where they were shown as
        they are.
    other_keys
        Rows that name another right answer than the benchmark.
    notes
        What a reader should know of how the rows were taken.
    """

    respondent: str
    form: str
    run: int
    answers: Mapping[str, Response]
    source: str = field(default="", compare=False)
    resolution: str = ""
    other_keys: int = field(default=0, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        # a log may name its model by an address that holds a key, and a name is stored and printed
        check_name(self.respondent, "respondent's name", self.source)


def _name(value: object, field: str, location: str) -> str:
    """An id or a name: a text that is not empty, or a number."""
    if isinstance(value, (dict, list, bool, float)) or value is None or not str(value).strip():
        raise AnswerError(
            f"the {field} is {value!r:.60}",
            location=location,
            remedy="Write a text or a whole number.",
        )
    return str(value)


def _response(record: Mapping[str, object], location: str) -> Response:
    """The answer of a record in HQM's format."""
    name = _columns_of(tuple(record)).answer
    if name:
        text = answer_text(record[name], location)
    elif error_in(record):
        text = ""
    else:
        raise AnswerError(no_field(ANSWERS, record), location=location)
    answer = ended(record, text)
    state = require_choice(record.get("state", answer.state), STATES, "state", location)
    detail = record.get("detail") or {}
    reason = record.get("reason")
    if not isinstance(detail, dict):
        raise AnswerError(f"the detail is {detail!r:.60}, which is no object", location=location)
    if detail:
        try:
            # The store keeps a detail as canonical JSON, which has no NaN.
            canonical_json(detail)
        except ValueError:
            raise AnswerError(
                "its detail has a number that is none (NaN, infinity)", location=location
            ) from None
    if reason is None and state == answer.state:
        reason = answer.reason
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
        self.other_keys = 0
        """Rows that name another right answer than their item has."""
        self.notes: tuple[str, ...] = ()
        """What a reader should know of how the rows were taken."""

    def put(self, key: str, answer: Response, location: str) -> None:
        """Add the answer to an item.

        Raises
        ------
        AnswerError
            The form has no such item, or the item is answered already.
        """
        if key not in self.form.by_id:
            raise AnswerError(
                f"the benchmark has no item {key!r}",
                location=location,
                remedy="Check that the file belongs to it.",
            )
        if key in self:
            # Refused even where both say the same: one of two rows may belong to another item.
            refuse_twice(f"the item {key!r} is answered", location)
        self[key] = answer


def other_keys_note(path: str | Path, n_other: int, matched: int) -> str:
    """Say how many rows name another right answer than the benchmark."""
    return (
        f"{path}: {n_other} of {matched} rows name another right answer than the benchmark; they"
        " are scored by the benchmark's."
    )


def answers_to(form: Form, recording: Recording) -> dict[str, Response]:
    """The answers of a recording to the items of a form."""
    return {key: answer for key, answer in recording.answers.items() if key in form.by_id}


def read_answers(
    path: Path, form: Form, spelling: Callable[[str], str] = str, benchmark: str = ""
) -> dict[str, Response]:
    """Answers in HQM's format: records with `item` (or `id`, `question_id`) and `answer` (or
    `response`, `text`).

    Raises
    ------
    AnswerError
        An id is unknown or is answered twice, a field is missing, the records' questions are others
        than those of their items, or they belong to several administrations or to another form.
    """
    answers = ItemAnswers(form)
    questions = []
    first = None
    intake = take_rows(path)
    check_own_benchmark(intake, benchmark)
    name_column = intake.plain_columns.get("model", "respondent")
    for location, record in intake.located():
        run = count_in(record, "run", location) or 0
        _check_sight(record, location)
        administration = (record.get(name_column), record.get("form") or form.name, run)
        # the first record says whose answers to which form and run the file has
        first = first or administration
        if administration != first or administration[1] != form.name:
            raise AnswerError(
                f"the record is of the form {administration[1]}, run {run}, by"
                f" {administration[0] or path.stem}",
                location=location,
                remedy=f"Keep one respondent's answers to one run of the form {form.name}.",
            )
        key = storable(_name(first_field(record, PLAIN_IDS, location), "item", location))
        answers.put(key, _response(record, location), location)
        if _columns_of(tuple(record)).has_claims:
            questions.append((claims_of(record, location), form.by_id[key]))
    check_rows(questions, path, spelling)
    answers.notes = tuple(intake.located_notes)
    answers.other_keys = count_other_keys(questions)
    return answers


def percentage(value: object, location: str = "") -> str:
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
            location=location,
            remedy="Write a whole number from 1 to 100.",
        )
    return text


def _check_sight(record: Mapping[str, object], location: str) -> None:
    """Refuse an answer to a question without its picture."""
    if record.get("sight"):
        raise AnswerError(
            f"it was asked otherwise: the record's sight is {record['sight']!r:.40}",
            location=location,
            remedy="Leave such records out; --blind asks without pictures.",
        )


def read_recordings(
    path: Path,
    forms: Mapping[str, Form],
    spelling: Callable[[str], str] = str,
    benchmark: str = "",
) -> list[Recording]:
    """Administrations in HQM's export format: records with `respondent`, `form`, `run`, `item` and
    `answer`.

    A file without the first three of them holds one respondent, named after the file, that answered
    the original form once. A field `resolution` says to what percentage of their width and height
    the pictures were scaled.
    """
    files = [path]
    if path.is_dir():
        # a single file of answers is read without what looks into folders
        from hqm.imports.log_file import files_in

        files = files_in(path)
    if not files:
        raise AnswerError("the folder has no file of answers", location=str(path))
    reader = _Reader(forms)
    notes: list[str] = []
    for file in files:
        intake = take_rows(file)
        notes += intake.located_notes
        if len(files) > 1 and _only_asks(intake, file):
            notes.append(f"{file}: it holds right answers, and is left out")
            continue
        check_own_benchmark(intake, benchmark)
        rows = intake.records
        name_column = intake.plain_columns.get("model", "respondent")
        if name_column != "respondent":
            rows = with_column(rows, "respondent", cells_of(rows, name_column))
        # Questions are checked file by file, so that an error names the right one.
        reader.asked.clear()
        stem = file_stem(file)
        for i, record in reader.not_seen(zip(intake.numbers, rows, strict=True), stem, file):
            reader.take(record, stem, f"{file}: record {i}")
        check_rows([(row, item) for row, item, _ in reader.asked], file, spelling)
        for row, item, answers in reader.asked:
            answers.other_keys += has_other_key(row, item)
    for first, second in find_alike(set(map(itemgetter(0), reader.recorded))):
        refuse_alike("respondents", first, second, str(path))
    return [
        Recording(name, form, run, answers, str(path), scale, answers.other_keys, tuple(notes))
        for (name, form, run, scale), answers in reader.recorded.items()
    ]


# --- what rows say of their items beside the ids: every command that joins by ids asks here ---

_NO_KEYS = ("label", "gold")
"""Columns of labels and of scores that hold what a person said of an answer."""
_CLAIMS = frozenset((*QUESTIONS, *KEYS, *IMAGES))


def claims_of(record: Mapping[str, object], location: str, ignored: Collection[str] = ()) -> Row:
    """Return what a record says of its item beside the id, but for some columns."""
    columns = _columns_of(tuple(record))
    return Row(
        place=location,
        question=first_text(record, columns.questions),
        image=first_text(record, columns.images),
        key=first_text(record, [name for name in columns.keys if name not in ignored]),
    )


def check_own_benchmark(intake: Intake, benchmark: str) -> None:
    """Refuse rows that say that they answer another benchmark."""
    if "benchmark" in intake.plain_columns.values():
        check_benchmark(benchmark, intake.cells("benchmark", intake.records), intake.path)


def check_claims(
    intake: Intake,
    form: Form,
    benchmark: str,
    spelling: Callable[[str], str] = str,
    ignored: Collection[str] = _NO_KEYS,
) -> None:
    """Refuse rows about a form's items that say of themselves that they are about something else.

    Rows whose ids are none of the form's are left to whoever matches them.

    Parameters
    ----------
    ignored
        Columns that are no right answers of the benchmark.

    Raises
    ------
    AnswerError
        They answer another benchmark, ask another question, show the picture of another item, or
        more than a few have other right answers.
    """
    check_own_benchmark(intake, benchmark)
    check_rows(_claims(intake, form, ignored), Path(intake.path), spelling)


def check_stated_keys(intake: Intake, form: Form) -> None:
    """Refuse rows of which more than a few name other right answers than the items of their ids;
    what else they say is left to whoever matches them.
    """
    check_keys(_claims(intake, form, _NO_KEYS), intake.path)


def _claims(intake: Intake, form: Form, ignored: Collection[str]) -> list[tuple[Row, Item]]:
    """Return what each row about an item of a form says of it."""
    if "item" not in intake.plain_columns or _CLAIMS.isdisjoint(intake.records[0]):
        return []
    claims = []
    ids = intake.cells("item", intake.records)
    for key, (location, record) in zip(ids, intake.located(), strict=True):
        item = form.by_id.get(key)
        if item is not None and record.get("form") in (None, "", form.name):
            claims.append((claims_of(record, location, ignored), item))
    return claims


def _only_asks(intake: Intake, file: Path) -> bool:
    """Whether a file beside others holds questions with their right answers."""
    # a single file of answers is read without the reader of tables
    from hqm.imports.answer_table import only_asks

    return only_asks(intake.records, str(file))


def _with_ids(form: Form) -> dict[object, Item]:
    return {key: item for key, item in form.by_id.items() if key.strip()}


class _Reader:
    """Collects recorded administrations from the records of one or several files."""

    def __init__(self, forms: Mapping[str, Form]) -> None:
        self.known = forms
        self.recorded: dict[tuple[str, str, int, str], ItemAnswers] = {}
        self.asked: list[tuple[Row, Item, ItemAnswers]] = []
        """The rows of a file that say something of their items, with the item and the answers of
        the administration.
        """
        # most files name their few administrations in every record, and give the same few answers
        # again and again
        self._of_names: dict[
            tuple[object, object, object], tuple[dict[object, Item], ItemAnswers]
        ] = {}
        self._same: dict[tuple[object, object], Response] = {}
        self._items = dict(zip(forms, map(_with_ids, forms.values()), strict=True))

    def not_seen(
        self, records: Iterable[tuple[int, Mapping[str, object]]], stem: str, file: Path
    ) -> Iterator[tuple[int, Mapping[str, object]]]:
        """Take in the records whose administration and answer were met before, and give the others
        back with their numbers.
        """
        # Local names and few calls: this loop runs once a record, and a file may have millions.
        of_names = self._of_names
        seen_answers = self._same
        for i, record in records:
            get = record.get
            columns = _columns_of(tuple(record))
            run = get("run", 0)
            try:
                items, answers = of_names[get("respondent", stem), get("form", ORIGINAL), run]
                item = items[record[columns.item]]
                answer = seen_answers[record[columns.answer], get("state", "ok")]
            except (KeyError, TypeError):  # what has no hash is none of them
                yield i, record
                continue
            # True is no run, though it equals 1
            is_unusual = item.id in answers or type(run) is not int or not columns.is_usual
            if is_unusual or get("detail") or get("reason", "") not in ("", None):
                yield i, record
                continue
            # the item's own id, so that one text serves all administrations
            answers[item.id] = answer
            if columns.has_claims:
                self.asked.append((claims_of(record, f"{file}: record {i}"), item, answers))

    def take(self, record: Mapping[str, object], stem: str, location: str) -> None:
        """Take in a record, whatever it holds.

        Raises
        ------
        AnswerError
            It is no answer to one of the items, or the second one.
        """
        form = record.get("form", ORIGINAL)
        if type(form) is not str:
            form = _name(form, "form", location)
        items = form_of(self.known, form, location).by_id
        key = storable(_name(first_field(record, PLAIN_IDS, location), "item", location))
        item = items.get(key)
        if item is None:
            if key in self.known[ORIGINAL].by_id:
                return  # left out of this form: the answer belongs to no question that is asked
            raise AnswerError(f"the benchmark has no item {key!r}", location=location)
        respondent = record.get("respondent", stem)
        run = record.get("run", 0)
        name = storable(_name(respondent, "respondent", location))
        _check_sight(record, location)
        scale = percentage(record.get("resolution"), location)
        if scale and form != ORIGINAL:
            raise AnswerError(
                f"the form {form!r} has the resolution {scale}",
                location=location,
                remedy="Scale pictures of the original form.",
            )
        administration = (name, form, whole_number(run, "run", location), scale)
        answers = self.recorded.setdefault(administration, ItemAnswers(self.known[form]))
        # A resolution makes another administration, which the short way does not know.
        if type(respondent) is str and type(run) is int and "resolution" not in record:
            self._of_names[respondent, form, run] = self._items[form], answers
        answer = _response(record, location)
        if _columns_of(tuple(record)).has_claims:
            self.asked.append((claims_of(record, location), item, answers))
        # one `Yes` serves all records that say so: a store of millions has few different answers
        if len(answer.text) <= SHORT and not answer.reason and not answer.detail:
            answer = self._same.setdefault((answer.text, answer.state), answer)
        answers.put(item.id, answer, location)


_MIN_ANSWERS = 20
"""Answers from which on a respondent without an error is worth a note."""


def perfect_respondents(form: Form, recordings: Iterable[Recording]) -> Iterator[str]:
    """Name the recorded respondents whose answers are the keys, word for word.

    A benchmark's own file of questions, given as recorded answers, reads like this.
    """
    keys = {item.id: str(item.target).casefold().strip() for item in form.items}
    reported: set[str] = set()
    for recording in recordings:
        answers = recording.answers
        if recording.form != form.name or len(answers) < _MIN_ANSWERS:
            continue
        if recording.respondent in reported:
            continue
        # `Yes.` is the key `yes` as well.
        if all(answers[item].text.casefold().strip(" .\n") == keys[item] for item in answers):
            reported.add(recording.respondent)
            yield (
                f"{recording.respondent} answers all {len(answers):,} questions with their keys: if"
                f" {recording.source} holds the benchmark's own questions, leave it out."
            )
