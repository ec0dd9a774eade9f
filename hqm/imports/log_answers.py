"""Recorded administrations from the logs of other tools: read, matched to the items, and put into
forms and runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast

from hqm.errors import AnswerError, HQMError, UsageError
from hqm.files.records import located_records, read_records, whole_number
from hqm.imports.detect import TABLE, read_logs, written_by_tool
from hqm.imports.match import (
    MAX_SHOWN_ROWS,
    Matched,
    MatchReport,
    check_rows,
    has_other_key,
    join_once,
    match_rows,
    with_questions_beside,
)
from hqm.imports.row import (
    ANSWERS,
    IMAGES,
    KEYS,
    OF_A_MODEL,
    QUESTIONS,
    Log,
    Row,
    answer_text,
    count_in,
    first_field,
    first_text,
    form_of,
    percentage,
    require_choice,
)
from hqm.signature import canonical_json, sha256_file
from hqm.text import SHORT, check_name, plain_name, storable
from hqm.types import ORIGINAL, STATES, Form, Item, Response, State

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How logs are taken."""

    source: str = "auto"
    """Which tool wrote the files; recognised unless given."""
    respondent: str | None = None
    """The name to store under, in place of the logs' own."""
    run: int | None = None
    """The first run to store under, in place of the logs' own."""
    partial: bool = False
    """Take the rows that match and leave the others out."""
    judged: bool = False
    """Whether judgements of the answers come beside the logs."""


@dataclass(frozen=True, slots=True)
class ImportedLogs:
    """What logs gave: the administrations, how their rows were matched, and what a reader should
    know.
    """

    recordings: tuple[Recording, ...]
    matchings: tuple[MatchReport, ...]
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """How many rows found their items, and how many answers are missing."""
        reports = self.matchings
        missing = sum(report.n_items - report.items for report in reports)
        keys = sum(report.other_keys for report in reports)
        parts = [
            f"{sum(report.matched for report in reports)} of"
            f" {sum(report.rows for report in reports)} rows matched",
            f"{sum(len(report.contradicting) for report in reports)} contradicting",
            f"{sum(len(report.unmatched) for report in reports)} unmatched",
            f"{missing} of {sum(report.n_items for report in reports)} answers missing",
            *([f"{keys} with another key"] if keys else []),
        ]
        return ", ".join(parts)

    @property
    def other_keys(self) -> list[str]:
        """A sentence on each log whose rows name other right answers than the benchmark."""
        return [
            other_keys_note(report.path, report.other_keys, report.matched)
            for report in self.matchings
            if report.other_keys
        ]

    def select_items(self, forms: Mapping[str, Form]) -> ImportedLogs:
        """The administrations with the items of these forms alone, as where one part is audited."""
        recordings = []
        for recording in self.recordings:
            if recording.form in forms:
                answers = _answers_to(forms[recording.form], recording)
                if answers:
                    recordings.append(replace(recording, answers=answers))
        reports = (replace(report, n_items=len(forms[report.form])) for report in self.matchings)
        return replace(self, recordings=tuple(recordings), matchings=tuple(reports))


def take_logs(
    forms: Mapping[str, Form],
    paths: Sequence[Path],
    settings: LogSettings = LogSettings(),
    spelling: Callable[[str], str] = str,
) -> ImportedLogs:
    """Read logs as recorded administrations of a benchmark.

    `forms` are those that may have been asked, by name; a log that names none answers the original
    one. `spelling` maps a text to how the benchmark's copies agree on it (`Benchmark.spelled`).

    A file that equals another byte for byte, about the same respondent, is left out: it is a copy,
    not a second run. Files of
    one respondent become runs one after another where they answer the same items, and one run where
    they answer different ones.

    Raises
    ------
    AnswerError
        A row matches no item or several, and `settings.partial` is not set; or a form is unknown.
    """
    return match_logs(forms, read_logs(paths, settings.source), settings, spelling)


def match_logs(
    forms: Mapping[str, Form],
    logs: Sequence[Log],
    settings: LogSettings = LogSettings(),
    spelling: Callable[[str], str] = str,
) -> ImportedLogs:
    """Match the rows of logs to the items of a benchmark, as `take_logs` does with files.

    Of several files, one that answers no item at all is left out with a note.

    Raises
    ------
    AnswerError
        As `take_logs`.
    """
    logs, notes = _without_copies(logs, settings.respondent)
    _check_name(logs, settings.respondent)
    paths = [Path(log.path) for log in logs]
    recorded: dict[Key, dict[str, Response]] = {}
    origin: dict[Key, list[str]] = defaultdict(list)
    reports = []
    for log in logs:
        notes += [f"{log.path}: {note}" for note in log.notes]
        for key, rows in _administrations(log, settings.respondent, settings.run or 0).items():
            form = form_of(forms, key[1], log.path)
            rows = _with_pictures(rows, log, paths)
            matched = match_rows(rows, form, spelling)
            answers = _answers(rows, matched, form, log)
            # a second file about the same items is another run
            run = _free_run(recorded, key, answers)
            key = (*key[:2], run)
            recorded.setdefault(key, {}).update(answers)
            origin[key].append(log.path)
            reports.append(_match_report(log, key, rows, matched, form, len(answers)))
    reports, notes_on_files = _without_foreign_files(reports)
    refused = [report for report in reports if not report.complete]
    if refused and not settings.partial:
        hint = _ADD_QUESTION_FILE if refused[0].tool == "LLaVA" else ""
        raise AnswerError(
            refused[0].counts,
            location=refused[0].path,
            remedy=f"{hint}Name the benchmark, part or release that was answered, or take what"
            " matches with --partial.",
        )
    recordings = [
        Recording(*key, answers, ", ".join(origin[key]))
        for key, answers in recorded.items()
        if answers
    ]
    if not recordings:
        raise AnswerError(
            "no row answers an item",
            location=", ".join(log.path for log in logs),
            remedy="Check the benchmark.",
        )
    notes += [*notes_on_files, *_same_answers(recordings)]
    return ImportedLogs(tuple(recordings), tuple(reports), tuple(notes))


def _match_report(
    log: Log, key: Key, rows: Sequence[Row], matched: Matched, form: Form, n_answered: int
) -> MatchReport:
    """How the rows of a log about one administration found their items."""
    other_keys = 0
    for i, item_ids in matched.items.items():
        other_keys += has_other_key(rows[i], form.by_id[item_ids[0]])
    return MatchReport(
        path=log.path,
        tool=log.tool,
        respondent=key[0],
        form=key[1],
        run=key[2],
        rows=len(rows),
        matched=len(matched.items),
        items=n_answered,
        n_items=len(form),
        cue_counts=matched.cue_counts,
        other_keys=other_keys,
        contradicting=tuple(rows[i].described for i in matched.contradicting),
        unmatched=tuple(rows[i].described for i in matched.unmatched),
        ambiguous=tuple(rows[i].described for i in matched.ambiguous),
    )


def _without_foreign_files(
    reports: list[MatchReport],
) -> tuple[list[MatchReport], list[str]]:
    """The reports without those on files that answer no item, with a note on each such file; all
    where no file answers one.
    """
    matched_by_path: dict[str, int] = defaultdict(int)
    for report in reports:
        matched_by_path[report.path] += report.matched
    foreign = [path for path, matched in matched_by_path.items() if not matched]
    if len(foreign) == len(matched_by_path):
        return reports, []
    notes = [f"{path} is left out: none of its rows is about an item" for path in foreign]
    return [report for report in reports if report.path not in foreign], notes


_ADD_QUESTION_FILE = "Put the file of its questions, with their pictures, beside it. "


def _without_copies(logs: Sequence[Log], respondent: str | None) -> tuple[list[Log], list[str]]:
    """The logs without a second file of the same content about the same respondents: two equal
    files of two respondents are two respondents.
    """
    first: dict[tuple[str, ...], str] = {}
    distinct_logs, notes = [], []
    for log in logs:
        names = {respondent or row.respondent for row in log.rows}
        content = (
            sha256_file(Path(log.path)) if Path(log.path).is_file() else log.path,
            *sorted(names),
        )
        if content in first:
            notes.append(
                f"{log.path} is left out: it equals {first[content]} byte for byte, so it is a copy"
            )
        else:
            first[content] = log.path
            distinct_logs.append(log)
    return distinct_logs, notes


def _same_answers(recordings: Sequence[Recording]) -> list[str]:
    """A note on every two administrations of which all answers are the same."""
    first: dict[tuple[tuple[str, str], ...], Recording] = {}
    notes = []
    for recording in recordings:
        content = tuple(sorted((key, answer.text) for key, answer in recording.answers.items()))
        if not any(text for _, text in content):  # of tables of scores no answer is known
            continue
        earlier = first.setdefault(content, recording)
        if earlier is recording:
            continue
        if earlier.respondent == recording.respondent:
            subject = f"runs {earlier.run} and {recording.run} of {recording.respondent}"
            explanation = "a copy, or a respondent that answers without chance"
        else:
            subject, explanation = (
                f"{earlier.respondent} and {recording.respondent}",
                "one respondent under two names?",
            )
        notes.append(
            f"{subject} hold the same {len(content)} answers ({earlier.source},"
            f" {recording.source}): {explanation}"
        )
    return notes


def _check_name(logs: Sequence[Log], respondent: str | None) -> None:
    names = {row.respondent for log in logs for row in log.rows}
    if respondent is not None and len(names) > 1:
        raise UsageError(
            (
                f"the logs hold {len(names)} respondents"
                f" ({', '.join(sorted(names)[:MAX_SHOWN_ROWS])}), and --respondent gives one name"
            ),
            remedy="Import the files of one respondent, or leave out --respondent.",
        )


def _administrations(log: Log, respondent: str | None, run: int) -> dict[Key, list[Row]]:
    rows: dict[Key, list[Row]] = {}
    for row in log.rows:
        rows.setdefault(
            (respondent or row.respondent, row.form or ORIGINAL, row.run + run), []
        ).append(row)
    return rows


def _with_pictures(rows: list[Row], log: Log, neighbours: Sequence[Path]) -> list[Row]:
    """The rows with the pictures of the question file beside them, where the log has ids but no
    pictures (LLaVA).
    """
    if log.tool != "LLaVA" or any(row.image for row in rows) or not all(row.ids for row in rows):
        return rows
    question_rows = with_questions_beside(rows, Path(log.path), neighbours)
    if question_rows is None:
        return rows
    return [
        replace(row, image=question_row.image, parts=question_row.parts)
        for row, question_row in zip(rows, question_rows, strict=True)
    ]


def _answers(rows: Sequence[Row], matched: Matched, form: Form, log: Log) -> dict[str, Response]:
    """Item id -> the answer of the row that was matched to it, with the tool's score."""
    joined: dict[str, Row] = {}
    for i, keys in sorted(matched.items.items()):
        for key in keys:
            join_once(joined, key, rows[i], "Keep one answer for each item and run.")
    return {key: _scored(row, form.by_id[key], log) for key, row in joined.items()}


def _scored(row: Row, item: Item, log: Log) -> Response:
    """The answer, with the tool's own score beside it."""
    answer = row.answer or Response("", "missing")
    if answer.state == "missing":
        answer = _from_score(row, item)
    recorded = {"tool": log.tool, "score": row.score, "read": row.read}
    recorded = {name: value for name, value in recorded.items() if value not in (None, "")}
    return (
        answer._replace(detail={**answer.detail, "recorded": recorded})
        if len(recorded) > 1
        else answer
    )


def _from_score(row: Row, item: Item) -> Response:
    """The answer that a score alone leaves: to a yes/no question, right is the key and wrong is its
    opposite.
    """
    if item.task != "yes_no" or row.score not in (0.0, 1.0) or item.target not in ("yes", "no"):
        raise AnswerError(
            "only a score is recorded, from which no answer follows",
            location=row.place,
            remedy=(
                "Scores of 0 and 1 are read for yes/no questions; take other scores with `hqm table"
                " FILE`."
            ),
        )
    opposite = {"yes": "no", "no": "yes"}
    text = item.target if row.score == 1.0 else opposite[item.target]
    return Response(text, "ok", "", {"from_score": True})


def _free_run(
    recorded: Mapping[Key, Mapping[str, Response]], key: Key, answers: Mapping[str, Response]
) -> int:
    run = key[2]
    while recorded.get((*key[:2], run), {}).keys() & answers.keys():
        run += 1
    return run


# --- files of answers, whoever wrote them ---


class AnsweredBenchmark(Protocol):
    """What a benchmark says of its release's files of answers."""

    @property
    def has_own_answer_files(self) -> bool:
        """Whether `read_answers` reads a format of the release's own."""

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """Recorded administrations in a release's own format; None for any other file."""

    def read_answers(self, path: Path, form: Form) -> tuple[Form, Mapping[str, Response]]:
        """The answers of one respondent in a release's own format."""

    def spelled(self, text: str) -> str:
        """A question's text as all copies of the benchmark agree on it."""


def read_recorded(
    benchmark: AnsweredBenchmark,
    paths: Sequence[Path],
    forms: Mapping[str, Form],
    settings: LogSettings,
) -> ImportedLogs:
    """The recorded administrations in files, each read by the first format that it fits.

    Parameters
    ----------
    benchmark
        Whose release may have formats of its own.
    forms
        Those that may have been asked, by name.

    Raises
    ------
    HQMError
        A file fits no format; the sentence is that of the likeliest one.
    """
    recordings: list[Recording] = []
    logs = []
    for path in paths:
        released = benchmark.recordings(path)
        if released is not None:
            recordings += released
        elif path.exists() and written_by_tool(path):
            logs.append(path)
        else:
            recordings += _plain_or_released(benchmark, path, forms)
    if recordings and (
        settings.source not in ("auto", TABLE)
        or (settings.respondent, settings.run) != (None, None)
    ):
        raise UsageError(
            "--from, --respondent and --run are for logs of other tools",
            location=recordings[0].source,
            remedy="The rows of HQM's own format name their respondent and run.",
        )
    of_files = [
        MatchReport(
            path=recording.source,
            respondent=recording.respondent,
            form=recording.form,
            run=recording.run,
            rows=len(recording.answers),
            matched=len(recording.answers),
            items=len(recording.answers),
            n_items=len(forms[recording.form]),
            cue_counts={"id": len(recording.answers)},
            other_keys=recording.other_keys,
        )
        for recording in recordings
        if recording.form in forms
    ]
    imported = ImportedLogs((), ())
    if logs:
        imported = take_logs(forms, logs, settings, benchmark.spelled)
    return ImportedLogs(
        (*recordings, *imported.recordings), (*of_files, *imported.matchings), imported.notes
    )


def _plain_or_released(
    benchmark: AnsweredBenchmark, path: Path, forms: Mapping[str, Form]
) -> Sequence[Recording]:
    """The answers of a file in HQM's format, else in that which the release scores."""

    def released() -> Sequence[Recording]:
        _, answers = benchmark.read_answers(path, forms[ORIGINAL])
        return [Recording(path.stem, ORIGINAL, 0, answers, str(path))]

    readers: list[Callable[[], Sequence[Recording]]] = [
        lambda: read_recordings(path, forms, benchmark.spelled)
    ]
    if benchmark.has_own_answer_files and not path.is_dir():
        readers.append(released)
    faults = []
    for read in readers:
        try:
            return read()
        except HQMError as fault:
            faults.append(fault)
    raise faults[0]


# --- recorded answers in HQM's own files ---


_IDS = ("item", "id", "question_id")
_ASKS = OF_A_MODEL.union(QUESTIONS, KEYS, IMAGES)
_UNUSUAL = _ASKS.union(("resolution", "sight"))
"""Fields that few records have, so that most are read in the short way."""


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
    other_keys: int = field(default=0, compare=False)
    """Rows that name another right answer than the benchmark."""

    def __post_init__(self) -> None:
        # a log may name its model by an address that holds a key, and a name is stored and printed
        check_name(self.respondent, "respondent's name", self.source)


def _name(value: Any, field: str, location: str) -> str:
    """An id or a name: a text that is not empty, or a number."""
    if isinstance(value, (dict, list, bool, float)) or value is None or not str(value).strip():
        raise AnswerError(
            f"the {field} is {value!r:.60}",
            location=location,
            remedy="Write a text or a whole number.",
        )
    return str(value)


def _response(record: Mapping[str, Any], location: str) -> Response:
    """The answer of a record in HQM's format."""
    # beside what a model wrote, the field `answer` has the right answer
    names = ANSWERS if OF_A_MODEL.isdisjoint(record) else ANSWERS[1:]
    text = answer_text(first_field(record, names, location), location)
    state = require_choice(record.get("state", "ok"), STATES, "state", location)
    detail, reason = record.get("detail") or {}, record.get("reason")
    if not isinstance(detail, dict):
        raise AnswerError(f"the detail is {detail!r:.60}, which is no object", location=location)
    if detail:
        try:
            canonical_json(detail)
        except ValueError:
            raise AnswerError(
                "its detail has a number that is none (NaN, infinity)", location=location
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
        self.other_keys = 0
        """Rows that name another right answer than their item has."""

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
            raise AnswerError(
                f"the item {key!r} is answered twice",
                location=location,
                remedy="Keep one answer for each item.",
            )
        self[key] = answer


def other_keys_note(path: str | Path, n_other: int, matched: int) -> str:
    """Say how many rows name another right answer than the benchmark."""
    return (
        f"{path}: {n_other} of {matched} rows name another right answer than the benchmark; they"
        " are scored by the benchmark's."
    )


def _answers_to(form: Form, recording: Recording) -> dict[str, Response]:
    """The answers of a recording to the items of a form."""
    return {key: answer for key, answer in recording.answers.items() if key in form.by_id}


def read_answers(
    path: Path, form: Form, spelling: Callable[[str], str] = str
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
    for location, record in located_records(path):
        run = count_in(record, "run", location) or 0
        _check_sight(record, location)
        administration = (record.get("respondent"), record.get("form") or form.name, run)
        first = first or administration
        if administration != first or administration[1] != form.name:
            raise AnswerError(
                f"the record is of the form {administration[1]}, run {run}, by"
                f" {administration[0] or path.stem}",
                location=location,
                remedy=f"Keep one respondent's answers to one run of the form {form.name}.",
            )
        key = storable(_name(first_field(record, _IDS, location), "item", location))
        answers.put(key, _response(record, location), location)
        if not _ASKS.isdisjoint(record):
            questions.append((_row(record, location), form.by_id[key]))
    check_rows(questions, path, spelling)
    answers.other_keys = sum(has_other_key(row, item) for row, item in questions)
    return answers


def _row(record: Mapping[str, Any], location: str) -> Row:
    """What a record says of its item beside the id."""
    keys = KEYS if OF_A_MODEL.isdisjoint(record) else (*KEYS, "answer")
    return Row(
        place=location,
        question=first_text(record, QUESTIONS),
        image=first_text(record, IMAGES),
        key=first_text(record, keys),
    )


def _check_sight(record: Mapping[str, Any], location: str) -> None:
    """Refuse an answer to a question without its picture."""
    if record.get("sight"):
        raise AnswerError(
            f"it was asked otherwise: the record's sight is {record['sight']!r:.40}",
            location=location,
            remedy="Leave such records out; --blind asks without pictures.",
        )


def read_recordings(
    path: Path, forms: Mapping[str, Form], spelling: Callable[[str], str] = str
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
        raise AnswerError("the folder has no .json, .jsonl or .csv file", location=str(path))
    reader = _Reader(forms)
    for file in files:
        records = enumerate(read_records(file), 1)
        reader.asked.clear()
        for i, record in reader.not_plain(records, file.stem):
            reader.take(record, file.stem, f"{file}: record {i}")
        check_rows([(row, item) for row, item, _ in reader.asked], file, spelling)
        for row, item, answers in reader.asked:
            answers.other_keys += has_other_key(row, item)
    return [
        Recording(name, form, run, answers, str(path), scale, answers.other_keys)
        for (name, form, run, scale), answers in reader.recorded.items()
    ]


class _Reader:
    """Collects recorded administrations from the records of one or several files."""

    def __init__(self, forms: Mapping[str, Form]) -> None:
        self.known = forms
        self._looks: dict[str, str] = {}
        self.recorded: dict[tuple[str, str, int, str], ItemAnswers] = {}
        self.asked: list[tuple[Row, Item, ItemAnswers]] = []
        """The rows of a file that say something of their items, with the item and the answers of
        the administration.
        """
        # most files name their few administrations in every record, and give the same few answers
        # again and again
        self._of_names: dict[tuple[str, str, int], tuple[dict[str, Item], dict[str, Response]]] = {}
        self._same: dict[tuple[str, str], Response] = {}
        self._items = {
            name: {key: i for key, i in form.by_id.items() if key.strip()}
            for name, form in forms.items()
        }

    def not_plain(
        self, records: Iterable[tuple[int, Mapping[str, Any]]], stem: str
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Take in the records whose administration and answer were met before, and give the others
        back with their numbers.
        """
        of_names, seen_answers = self._of_names, self._same
        for i, record in records:
            get = record.get
            respondent, form, run = get("respondent", stem), get("form", ORIGINAL), get("run", 0)
            key: Any = record["item"] if "item" in record else get("id")
            text: Any = record["answer"] if "answer" in record else get("response")
            try:
                items, answers = of_names[respondent, form, run]
                item, answer = items[key], seen_answers[text, get("state", "ok")]
            except (KeyError, TypeError):  # what has no hash is none of them
                yield i, record
                continue
            # True is no run, though it equals 1
            is_unusual = key in answers or type(run) is not int
            if (
                is_unusual
                or not _UNUSUAL.isdisjoint(record)
                or get("detail")
                or get("reason", "") not in ("", None)
            ):
                yield i, record
                continue
            # the item's own id, so that one text serves all administrations
            answers[item.id] = answer

    def take(self, record: Mapping[str, Any], stem: str, location: str) -> None:
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
        key = storable(_name(first_field(record, _IDS, location), "item", location))
        item = items.get(key)
        if item is None:
            if key in self.known[ORIGINAL].by_id:
                return  # left out of this form: the answer belongs to no question that is asked
            raise AnswerError(f"the benchmark has no item {key!r}", location=location)
        respondent, run = record.get("respondent", stem), record.get("run", 0)
        name = storable(_name(respondent, "respondent", location))
        earlier_name = self._looks.setdefault(plain_name(name), name)
        if earlier_name != name:
            raise AnswerError(
                f"the respondents {earlier_name!r} and {name!r} look the same",
                location=location,
                remedy="Write the name of one in one way.",
            )
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
        if type(respondent) is str and type(run) is int and "resolution" not in record:
            self._of_names[respondent, form, run] = self._items[form], answers
        answer = _response(record, location)
        if not _ASKS.isdisjoint(record):
            self.asked.append((_row(record, location), item, answers))
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
    for recording in recordings:
        answers = recording.answers
        if recording.form != form.name or len(answers) < _MIN_ANSWERS:
            continue
        if all(answers[item].text.casefold().strip(" .\n") == keys[item] for item in answers):
            yield (
                f"{recording.respondent} answers all {len(answers):,} questions with their keys: if"
                f" {recording.source} holds the benchmark's own questions, leave it out."
            )
