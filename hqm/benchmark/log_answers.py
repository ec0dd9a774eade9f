"""Recorded administrations from the logs of other tools: read, matched to the items, and put into
forms and runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.matching import AnswerRow, How, Matched, match_rows, with_questions_beside
from hqm.benchmark.recordings import Recording
from hqm.errors import AnswerError, UsageError
from hqm.logs.reading import read_logs
from hqm.logs.row import Log, LogRow
from hqm.signature import sha256_file
from hqm.types import ORIGINAL, Form, Item, Response

_SHOWN = 3
Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How the rows of one log found their items, for one respondent, form and run."""

    path: str
    tool: str
    respondent: str
    form: str
    run: int
    rows: int
    matched: int
    items: int
    """Items that the matched rows answer; more than rows where a row stands for a question of
    several parts.
    """
    how: Mapping[How, int]
    unmatched: tuple[str, ...] = ()
    """The rows that fit no item: place and question."""
    ambiguous: tuple[str, ...] = ()
    """The rows that fit several different questions."""

    @property
    def complete(self) -> bool:
        return self.matched == self.rows


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
    matchings: tuple[Matching, ...]
    notes: tuple[str, ...] = ()

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
    benchmark: Benchmark,
    forms: Mapping[str, Form],
    paths: Sequence[Path],
    settings: LogSettings = LogSettings(),
) -> Taken:
    """Read logs as recorded administrations of a benchmark.

    `forms` are those that may have been asked, by name; a log that names none answers the original
    one.

    A file that equals another byte for byte is left out: it is a copy, not a second run. Files of
    one respondent become runs one after another where they answer the same items, and one run where
    they answer different ones.

    Raises
    ------
    AnswerError
        A row matches no item or several, and `settings.partial` is not set; or a form is unknown.
    """
    logs, notes = _without_copies(read_logs(paths, settings.source))
    _check_name(logs, settings.respondent)
    recorded: dict[Key, dict[str, Response]] = {}
    origin: dict[Key, list[str]] = defaultdict(list)
    matchings = []
    for log in logs:
        notes += [f"{log.path}: {note}" for note in log.notes]
        placed: dict[Key, int] = {}
        for key, rows in _administrations(log, settings.respondent, settings.run or 0).items():
            form = _form(forms, key[1], log)
            rows = _with_pictures(rows, log)
            matched = match_rows(rows, form, benchmark.spelled)
            answers = _answers(rows, matched, form, log)
            placed[key] = at = _free_run(recorded, key, answers)
            recorded.setdefault((*key[:2], at), {}).update(answers)
            origin[*key[:2], at].append(log.path)
            matchings.append(_matching(log, (*key[:2], at), rows, matched, answers))
    refused = [matching for matching in matchings if not matching.complete]
    if refused and not settings.partial:
        raise AnswerError(
            _refusal(refused[0]),
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
            place=", ".join(map(str, paths)),
            remedy="Check the benchmark.",
        )
    return Taken(tuple(recordings), tuple(matchings), (*notes, *_same_answers(recordings)))


def _without_copies(logs: Sequence[Log]) -> tuple[list[Log], list[str]]:
    first: dict[str, str] = {}
    kept, notes = [], []
    for log in logs:
        content = sha256_file(Path(log.path))
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
        what = (
            f"the logs hold {len(names)} respondents ({', '.join(sorted(names)[:_SHOWN])}), and"
            " --respondent gives one name"
        )
        raise UsageError(
            what, remedy="Import the files of one respondent, or leave out --respondent."
        )


def _administrations(log: Log, respondent: str | None, run: int) -> dict[Key, list[LogRow]]:
    rows: dict[Key, list[LogRow]] = {}
    for row in log.rows:
        rows.setdefault(
            (respondent or row.respondent, row.form or ORIGINAL, row.run + run), []
        ).append(row)
    return rows


def _form(forms: Mapping[str, Form], name: str, log: Log) -> Form:
    if name not in forms:
        raise AnswerError(
            f"there is no form {name!r}",
            place=log.path,
            remedy=f"The forms are {', '.join(forms)}.",
            given=name,
            known=forms,
        )
    return forms[name]


def _with_pictures(rows: list[LogRow], log: Log) -> list[LogRow]:
    """The rows with the pictures of the question file beside them, where the log has ids but no
    pictures (LLaVA).
    """
    if log.tool != "LLaVA" or any(row.image for row in rows) or not all(row.ids for row in rows):
        return rows
    plain = [
        AnswerRow(place=r.place, answer=r.answer.text, id=r.ids[0], question=r.question)
        for r in rows
    ]
    beside = with_questions_beside(plain, Path(log.path))
    if beside is None:
        return rows
    return [
        replace(row, image=said.image, parts=said.parts)
        for row, said in zip(rows, beside, strict=True)
    ]


def _answers(rows: Sequence[LogRow], matched: Matched, form: Form, log: Log) -> dict[str, Response]:
    answers: dict[str, Response] = {}
    places: dict[str, str] = {}
    for i, keys in sorted(matched.items.items()):
        for key in keys:
            if key in answers:
                what = f"{key} is answered twice, first in {places[key].rpartition(': ')[2]}"
                raise AnswerError(
                    what, place=rows[i].place, remedy="Keep one answer for each item and run."
                )
            answers[key], places[key] = _kept(rows[i], form.by_id[key], log), rows[i].place
    return answers


def _kept(row: LogRow, item: Item, log: Log) -> Response:
    """The answer, with the tool's own score beside it."""
    answer = _from_score(row, item) if row.answer.state == "missing" else row.answer
    recorded = {"tool": log.tool, "score": row.score, "read": row.read}
    recorded = {name: value for name, value in recorded.items() if value not in (None, "")}
    return (
        answer._replace(detail={**answer.detail, "recorded": recorded})
        if len(recorded) > 1
        else answer
    )


def _from_score(row: LogRow, item: Item) -> Response:
    """The answer that a score alone leaves: to a yes/no question, right is the key and wrong is its
    opposite.
    """
    if item.task != "yes_no" or row.score not in (0.0, 1.0) or item.target not in ("yes", "no"):
        what = "only a score is recorded, from which no answer follows"
        remedy = (
            "Scores of 0 and 1 are read for yes/no questions; take other scores with `hqm audit"
            " --table FILE`."
        )
        raise AnswerError(what, place=row.place, remedy=remedy)
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


def _matching(
    log: Log, key: Key, rows: Sequence[LogRow], matched: Matched, answers: Mapping[str, Response]
) -> Matching:
    def places(numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(
            f"{rows[i].place.rpartition(': ')[2]} asks {rows[i].question!r:.80}"
            + (f" about {rows[i].image}" if rows[i].image else "")
            for i in numbers
        )

    return Matching(
        path=log.path,
        tool=log.tool,
        respondent=key[0],
        form=key[1],
        run=key[2],
        rows=len(rows),
        matched=len(matched.items),
        items=len(answers),
        how=matched.how,
        unmatched=places(matched.unmatched),
        ambiguous=places(matched.ambiguous),
    )


def _refusal(matching: Matching) -> str:
    said = [f"{matching.matched} of {matching.rows} rows match an item"]
    for what, places in (
        ("match none", matching.unmatched),
        ("match several different questions", matching.ambiguous),
    ):
        if places:
            more = f", and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
            said.append(f"{len(places)} {what}: {'; '.join(places[:_SHOWN])}{more}")
    return ". ".join(said)
