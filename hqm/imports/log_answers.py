"""Recorded administrations from the logs of other tools: read, matched to the items, and put into
forms and runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from hqm.errors import AnswerError, HQMError, UsageError
from hqm.imports.detect import read_logs, written_by_tool
from hqm.imports.match import (
    SHOWN,
    Matched,
    MatchReport,
    has_other_key,
    match_rows,
    with_questions_beside,
)
from hqm.imports.recordings import Recording, read_recordings
from hqm.imports.row import Log, Row, form_of
from hqm.signature import sha256_file
from hqm.types import ORIGINAL, Form, Item, Response

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
        )
        return replace(self, recordings=tuple(recording for recording in cut if recording.answers))


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
            place=refused[0].path,
            remedy=(
                "Name the benchmark, part or release that was answered, or take what matches with"
                " --partial."
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
            place=", ".join(log.path for log in logs),
            remedy="Check the benchmark.",
        )
    return Taken(tuple(recordings), tuple(matchings), (*notes, *_same_answers(recordings)))


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
    answers: dict[str, Response] = {}
    first: dict[str, Row] = {}
    for i, keys in sorted(matched.items.items()):
        for key in keys:
            if key in answers:
                raise AnswerError(
                    f"{key} is answered twice, first in {first[key].record}",
                    place=rows[i].place,
                    remedy="Keep one answer for each item and run.",
                )
            answers[key], first[key] = _scored(rows[i], form.by_id[key], log), rows[i]
    return answers


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
            place=row.place,
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


@dataclass(frozen=True, slots=True)
class Recorded:
    """What files of answers gave."""

    recordings: tuple[Recording, ...]
    taken: Taken | None = None
    """How the rows of logs were matched, where there were logs."""


def read_recorded(
    benchmark: AnsweredBenchmark,
    paths: Sequence[Path],
    forms: Mapping[str, Form],
    settings: LogSettings,
) -> Recorded:
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
    taken = take_logs(forms, logs, settings, benchmark.spelled) if logs else None
    return Recorded((*recordings, *(taken.recordings if taken else ())), taken)


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
