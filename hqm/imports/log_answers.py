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
from hqm.files.records import placed_records, read_records, whole_number
from hqm.imports.detect import TABLE, read_logs, written_by_tool
from hqm.imports.match import (
    SHOWN,
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
    one_of,
)
from hqm.signature import canonical_json, sha256_file
from hqm.text import KEY, SHORT, plain_name, storable
from hqm.types import ORIGINAL, STATES, Form, Item, Response, State, is_scale

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
class Taken:
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
        missing = sum(report.of - report.items for report in reports)
        keys = sum(report.other_keys for report in reports)
        parts = [
            f"{sum(report.matched for report in reports)} of"
            f" {sum(report.rows for report in reports)} rows matched",
            f"{sum(len(report.contradicting) for report in reports)} contradicting",
            f"{sum(len(report.unmatched) for report in reports)} unmatched",
            f"{missing} of {sum(report.of for report in reports)} answers missing",
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

    def only(self, forms: Mapping[str, Form]) -> Taken:
        """The administrations with the items of these forms alone, as where one part is audited."""
        cut = (
            replace(
                r,
                answers={
                    key: answer for key, answer in r.answers.items() if key in forms[r.form].by_id
                },
            )
            for r in self.recordings
            if r.form in forms
        )
        reports = (replace(report, of=len(forms[report.form])) for report in self.matchings)
        return replace(
            self,
            recordings=tuple(recording for recording in cut if recording.answers),
            matchings=tuple(reports),
        )


def take_logs(
    forms: Mapping[str, Form],
    paths: Sequence[Path],
    settings: LogSettings = LogSettings(),
    spelling: Callable[[str], str] = str,
) -> Taken:
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
) -> Taken:
    """Match the rows of logs to the items of a benchmark, as `take_logs` does with files.

    Of several files, one that answers no item at all is left out with a note.

    Raises
    ------
    AnswerError
        As `take_logs`.
    """
    logs, notes = _without_copies(logs, settings.respondent)
    _check_name(logs, settings.respondent)
    recorded: dict[Key, dict[str, Response]] = {}
    origin: dict[Key, list[str]] = defaultdict(list)
    matchings = []
    for log in logs:
        notes += [f"{log.path}: {note}" for note in log.notes]
        for key, rows in _administrations(log, settings.respondent, settings.run or 0).items():
            form = form_of(forms, key[1], log.path)
            rows = _with_pictures(rows, log, [Path(each.path) for each in logs])
            matched = match_rows(rows, form, spelling)
            answers = _answers(rows, matched, form, log)
            at = _free_run(recorded, key, answers)
            recorded.setdefault((*key[:2], at), {}).update(answers)
            origin[*key[:2], at].append(log.path)
            matchings.append(
                MatchReport(
                    path=log.path,
                    tool=log.tool,
                    respondent=key[0],
                    form=key[1],
                    run=at,
                    rows=len(rows),
                    matched=len(matched.items),
                    items=len(answers),
                    of=len(form),
                    how=matched.how,
                    other_keys=sum(
                        has_other_key(rows[i], form.by_id[keys[0]])
                        for i, keys in matched.items.items()
                    ),
                    contradicting=tuple(rows[i].described for i in matched.contradicting),
                    unmatched=tuple(rows[i].described for i in matched.unmatched),
                    ambiguous=tuple(rows[i].described for i in matched.ambiguous),
                )
            )
    of_file: dict[str, int] = defaultdict(int)
    for matching in matchings:
        of_file[matching.path] += matching.matched
    foreign = [path for path, matched in of_file.items() if not matched]
    if len(foreign) < len(of_file):
        notes += [f"{path} is left out: none of its rows is about an item" for path in foreign]
        matchings = [matching for matching in matchings if matching.path not in foreign]
    refused = [matching for matching in matchings if not matching.complete]
    if refused and not settings.partial:
        raise AnswerError(
            refused[0].counts,
            location=refused[0].path,
            remedy=(
                f"{_BESIDE if refused[0].tool == 'LLaVA' else ''}Name the benchmark, part or"
                " release that was answered, or take what matches with --partial."
            ),
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
    return Taken(tuple(recordings), tuple(matchings), (*notes, *_same_answers(recordings)))


_BESIDE = "Put the file of its questions, with their pictures, beside it. "


def _without_copies(logs: Sequence[Log], respondent: str | None) -> tuple[list[Log], list[str]]:
    """The logs without a second file of the same content about the same respondents: two equal
    files of two respondents are two respondents.
    """
    first: dict[tuple[str, ...], str] = {}
    kept, notes = [], []
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
            kept.append(log)
    return kept, notes


def _same_answers(recordings: Sequence[Recording]) -> list[str]:
    """A note on every two administrations of which all answers are the same."""
    first: dict[tuple[tuple[str, str], ...], Recording] = {}
    notes = []
    for recording in recordings:
        content = tuple(sorted((key, answer.text) for key, answer in recording.answers.items()))
        if not any(text for _, text in content):  # of tables of scores no answer is known
            continue
        other = first.setdefault(content, recording)
        if other is recording:
            continue
        if other.respondent == recording.respondent:
            who = f"runs {other.run} and {recording.run} of {recording.respondent}"
            why = "a copy, or a respondent that answers without chance"
        else:
            who, why = (
                f"{other.respondent} and {recording.respondent}",
                "one respondent under two names?",
            )
        notes.append(
            f"{who} hold the same {len(content)} answers ({other.source}, {recording.source}):"
            f" {why}"
        )
    return notes


def _check_name(logs: Sequence[Log], respondent: str | None) -> None:
    names = {row.respondent for log in logs for row in log.rows}
    if respondent is not None and len(names) > 1:
        raise UsageError(
            (
                f"the logs hold {len(names)} respondents ({', '.join(sorted(names)[:SHOWN])}), and"
                " --respondent gives one name"
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


def _with_pictures(rows: list[Row], log: Log, others: Sequence[Path]) -> list[Row]:
    """The rows with the pictures of the question file beside them, where the log has ids but no
    pictures (LLaVA).
    """
    if log.tool != "LLaVA" or any(row.image for row in rows) or not all(row.ids for row in rows):
        return rows
    beside = with_questions_beside(rows, Path(log.path), others)
    if beside is None:
        return rows
    return [
        replace(row, image=asked.image, parts=asked.parts)
        for row, asked in zip(rows, beside, strict=True)
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
) -> Taken:
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
            path=each.source,
            respondent=each.respondent,
            form=each.form,
            run=each.run,
            rows=len(each.answers),
            matched=len(each.answers),
            items=len(each.answers),
            of=len(forms[each.form]),
            how={"id": len(each.answers)},
            other_keys=each.other_keys,
        )
        for each in recordings
        if each.form in forms
    ]
    taken = Taken((), ())
    if logs:
        taken = take_logs(forms, logs, settings, benchmark.spelled)
    return Taken((*recordings, *taken.recordings), (*of_files, *taken.matchings), taken.notes)


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
        object.__setattr__(self, "respondent", KEY.sub("<key>", self.respondent))


def _name(value: Any, what: str, place: str) -> str:
    """An id or a name: a text that is not empty, or a number."""
    if isinstance(value, (dict, list, bool, float)) or value is None or not str(value).strip():
        raise AnswerError(
            f"the {what} is {value!r:.60}", location=place, remedy="Write a text or a whole number."
        )
    return str(value)


def _response(record: Mapping[str, Any], place: str) -> Response:
    """The answer of a record in HQM's format."""
    # beside what a model wrote, the field `answer` has the right answer
    names = ANSWERS if OF_A_MODEL.isdisjoint(record) else ANSWERS[1:]
    text = answer_text(first_field(record, names, place), place)
    state = one_of(record.get("state", "ok"), STATES, "state", place)
    detail, reason = record.get("detail") or {}, record.get("reason")
    if not isinstance(detail, dict):
        raise AnswerError(f"the detail is {detail!r:.60}, which is no object", location=place)
    if detail:
        try:
            canonical_json(detail)
        except ValueError:
            raise AnswerError(
                "its detail has a number that is none (NaN, infinity)", location=place
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
                location=place,
                remedy="Check that the file belongs to it.",
            )
        if key in self:
            raise AnswerError(
                f"the item {key!r} is answered twice",
                location=place,
                remedy="Keep one answer for each item.",
            )
        self[key] = answer


def other_keys_note(path: str | Path, other: int, matched: int) -> str:
    """Say how many rows name another right answer than the benchmark."""
    return (
        f"{path}: {other} of {matched} rows name another right answer than the benchmark; they are"
        " scored by the benchmark's."
    )


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
    asked = []
    first = None
    for place, record in placed_records(path):
        run = count_in(record, "run", place) or 0
        _check_sight(record, place)
        own = (record.get("respondent"), record.get("form") or form.name, run)
        first = first or own
        if own != first or own[1] != form.name:
            raise AnswerError(
                f"the record is of the form {own[1]}, run {run}, by {own[0] or path.stem}",
                location=place,
                remedy=f"Keep one respondent's answers to one run of the form {form.name}.",
            )
        key = storable(_name(first_field(record, _IDS, place), "item", place))
        answers.put(key, _response(record, place), place)
        if not _ASKS.isdisjoint(record):
            asked.append((_row(record, place), form.by_id[key]))
    check_rows(asked, path, spelling)
    answers.other_keys = sum(has_other_key(row, item) for row, item in asked)
    return answers


def _row(record: Mapping[str, Any], place: str) -> Row:
    """What a record says of its item beside the id."""
    keys = KEYS if OF_A_MODEL.isdisjoint(record) else (*KEYS, "answer")
    return Row(
        place=place,
        question=first_text(record, QUESTIONS),
        image=first_text(record, IMAGES),
        key=first_text(record, keys),
    )


def _check_sight(record: Mapping[str, Any], place: str) -> None:
    """Refuse an answer to a question without its picture."""
    if record.get("sight"):
        raise AnswerError(
            f"it was asked otherwise: the record's sight is {record['sight']!r:.40}",
            location=place,
            remedy="Leave such records out; --blind asks without pictures.",
        )


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
            location=place,
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
        raise AnswerError("the folder has no .json, .jsonl or .csv file", location=str(path))
    reader = _Reader(known)
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

    def __init__(self, known: Mapping[str, Form]) -> None:
        self.known = known
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
            other = key in answers or type(run) is not int
            if (
                other
                or not _UNUSUAL.isdisjoint(record)
                or get("detail")
                or get("reason", "") not in ("", None)
            ):
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
            raise AnswerError(f"the benchmark has no item {key!r}", location=place)
        named, run = record.get("respondent", stem), record.get("run", 0)
        name = storable(_name(named, "respondent", place))
        same = self._looks.setdefault(plain_name(name), name)
        if same != name:
            raise AnswerError(
                f"the respondents {same!r} and {name!r} look the same",
                location=place,
                remedy="Write the name of one in one way.",
            )
        _check_sight(record, place)
        scale = percentage(record.get("resolution"), place)
        if scale and form != ORIGINAL:
            raise AnswerError(
                f"the form {form!r} has the resolution {scale}",
                location=place,
                remedy="Scale pictures of the original form.",
            )
        administration = (name, form, whole_number(run, "run", place), scale)
        answers = self.recorded.setdefault(administration, ItemAnswers(self.known[form]))
        if type(named) is str and type(run) is int and "resolution" not in record:
            self._of_names[named, form, run] = self._items[form], answers
        answer = _response(record, place)
        if not _ASKS.isdisjoint(record):
            self.asked.append((_row(record, place), item, answers))
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
