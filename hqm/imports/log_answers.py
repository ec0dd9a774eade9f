"""Recorded administrations from the logs of other tools: read, matched to the items, and put into
forms and runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Protocol

from hqm.errors import AnswerError, HQMError, UsageError
from hqm.files.records import file_stem, first_record
from hqm.imports.administrations import (
    describe_files,
    describe_parts,
    describe_runs,
    join_runs,
    list_names,
    name_files,
    name_respondents,
    say_runs,
)
from hqm.imports.detect import TABLE, is_other_table, read_logs, written_by_tool
from hqm.imports.intake import check_benchmark
from hqm.imports.match import (
    MAX_SHOWN_ROWS,
    FormIndex,
    Matched,
    MatchReport,
    ReadBenchmark,
    check_keys,
    check_options,
    count_other_keys,
    describe_rows,
    join_once,
    match_indexed,
    with_questions_beside,
)
from hqm.imports.recordings import Recording, answers_to, other_keys_note, read_recordings
from hqm.imports.row import RECORDED_SCORES, SCORE_ALONE, Log, Row, form_of
from hqm.signature import sha256_file
from hqm.types import ORIGINAL, FileRole, Form, Item, Response

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
    files: FileRole = "respondents"
    """What several files of one model about the same items are, where they do not say it."""
    benchmark: str = ""
    """The benchmark that was answered; rows that name another one are refused."""
    title: str = ""
    """What the benchmark is called, in place of the logs' own name for it."""


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
        # several files may be parts of one administration
        n_items: Counter[Key] = Counter()
        answered: Counter[Key] = Counter()
        totals: Counter[str] = Counter()
        for report in self.matchings:
            key = (report.respondent, report.form, report.run)
            # Set and not added: parts of one administration share its items.
            n_items[key] = report.n_items
            totals.update(
                rows=report.rows,
                matched=report.matched,
                contradicting=len(report.contradicting),
                unmatched=len(report.unmatched),
                other_keys=report.other_keys,
            )
        # of the items that are audited, as where a part of the benchmark is
        for recording in self.recordings:
            key = (recording.respondent, recording.form, recording.run)
            answered[key] += sum(map(_has_answer, recording.answers.values()))
        # the difference of counters has no number below 0: pictures may be scaled in several ways
        missing = (n_items - answered).total()
        sentence = (
            f"{totals['matched']} of {totals['rows']} rows matched,"
            f" {totals['contradicting']} contradicting, {totals['unmatched']} unmatched,"
            f" {missing} of {n_items.total()} answers missing"
        )
        if totals["other_keys"]:
            sentence += f", {totals['other_keys']} with another key"
        return sentence

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
                answers = answers_to(forms[recording.form], recording)
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
    one respondent become runs one after another where they answer the same items and say that they
    are runs, respondents of their own where they do not, and one run where they answer different
    items.

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
    notes += chain.from_iterable(map(attrgetter("located_notes"), logs))
    matched_files = _match_files(forms, logs, settings, spelling)
    # with a name or with runs, the user has said what the files are
    if settings.files == "respondents" and settings.respondent is None:
        matched_files, notes_on_names = _name_by_file(matched_files)
        notes += notes_on_names
    recorded: dict[Key, dict[str, Response]] = {}
    origin: dict[Key, list[str]] = defaultdict(list)
    reports = []
    for file in matched_files:
        # a second file about the same items is another run
        key = (*file.key[:2], _free_run(recorded, file.key, file.answers))
        recorded.setdefault(key, {}).update(file.answers)
        origin[key].append(file.log.path)
        reports.append(
            _match_report(file.log, key, file.rows, file.matched, file.form, len(file.answers))
        )
    reports, notes_on_files = _without_foreign_files(reports)
    refused = [report for report in reports if not report.complete]
    if refused and not settings.partial:
        # its rows have no pictures, and POPE asks the same of many
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
            location=", ".join(map(attrgetter("path"), logs)),
            remedy="Check the benchmark.",
        )
    notes += [*notes_on_files, *_same_answers(recordings)]
    return ImportedLogs(tuple(recordings), tuple(reports), tuple(notes))


def _match_files(
    forms: Mapping[str, Form],
    logs: Sequence[Log],
    settings: LogSettings,
    spelling: Callable[[str], str],
) -> list[_MatchedFile]:
    """The rows of logs by administration, with the items that they answer."""
    paths = [Path(log.path) for log in logs]
    matched_files = []
    # a form has thousands of items, and a release a file for each part and model
    indices: dict[str, FormIndex] = {}
    for log in logs:
        check_benchmark(settings.benchmark, map(attrgetter("benchmark"), log.rows), log.path)
        for key, rows in _administrations(log, settings.respondent, settings.run or 0).items():
            form = form_of(forms, key[1], log.path)
            rows = _with_pictures(rows, log, paths)
            if form.name not in indices:
                indices[form.name] = FormIndex(form, spelling)
            matched = match_indexed(rows, indices[form.name])
            answers = _answers(rows, matched, form, log)
            check_keys(matched.pairs(rows, form), log.path)
            matched_files.append(_MatchedFile(log, key, rows, matched, form, answers))
    return matched_files


@dataclass(frozen=True, slots=True)
class _MatchedFile:
    """The rows of a log about one administration, with the items that they answer."""

    log: Log
    key: Key
    rows: Sequence[Row]
    matched: Matched
    form: Form
    answers: dict[str, Response]

    @property
    def answered_items(self) -> list[tuple[str, int, str]]:
        """The form, the run and the id of every item that is answered."""
        return [(*self.key[1:], item) for item in self.answers]

    @property
    def run_labels(self) -> frozenset[str]:
        """What the rows call their run; empty where they say nothing of runs."""
        labels = (row.run_label or (str(row.run) if row.run else "") for row in self.rows)
        return frozenset(filter(None, labels))


def _name_by_file(files: Sequence[_MatchedFile]) -> tuple[list[_MatchedFile], list[str]]:
    """The files with respondents named by them, where one answers the same items in several that
    say nothing of runs; and a note on each such respondent.
    """
    by_respondent: dict[str, list[_MatchedFile]] = defaultdict(list)
    answered: dict[str, list[Hashable]] = defaultdict(list)
    for file in files:
        if file.log.names_respondents:
            by_respondent[file.key[0]].append(file)
        elif file.answers:
            answered[file.log.path] += file.answered_items
    names: dict[tuple[str, str], str] = {}
    notes = []
    if len(answered) > 1:
        names_of_files = name_files(answered)
        runs_of_files = join_runs(names_of_files)
        for file in files:
            if file.log.path in runs_of_files:
                names[file.key[0], file.log.path] = runs_of_files[file.log.path]
        n_answers = dict(zip(answered, map(len, answered.values()), strict=True))
        notes += describe_parts(names_of_files, n_answers)
        notes += describe_runs(names_of_files, runs_of_files)
    for respondent, of_respondent in by_respondent.items():
        paths = list(dict.fromkeys(file.log.path for file in of_respondent))
        # files that differ in the number of a run are runs, whatever their rows say
        if len(paths) < 2 or say_runs(paths):
            continue
        if not _are_repeated(of_respondent):
            notes += _describe_joined(respondent, of_respondent)
            continue
        of_paths = name_respondents(respondent, paths)
        for path, name in of_paths.items():
            names[respondent, path] = name
        notes.append(describe_files(respondent, list(of_paths.values())))
    named_files = []
    for file in files:
        name = names.get((file.key[0], file.log.path), file.key[0])
        named_files.append(replace(file, key=(name, *file.key[1:])))
    return named_files, notes


def _describe_joined(respondent: str, files: Sequence[_MatchedFile]) -> list[str]:
    """Say that files whose rows name one model answer different items of one run."""
    items: dict[str, set[Hashable]] = defaultdict(set)
    for file in files:
        items[file.log.path].update(file.answered_items)
    n_items = {path: len(answered) for path, answered in items.items() if answered}
    is_disjoint = sum(n_items.values()) == len(set().union(*items.values()))
    is_one_run = len(set(map(attrgetter("key"), files))) == 1
    if not is_disjoint or not is_one_run:
        return []
    return describe_parts(dict.fromkeys(n_items, respondent), n_items)


def _are_repeated(files: Sequence[_MatchedFile]) -> bool:
    """Whether two files answer the same items in one administration, and no row says in which run
    that was.
    """
    first: dict[tuple[str, int, str], _MatchedFile] = {}
    for file in files:
        for item in file.answered_items:
            earlier = first.setdefault(item, file)
            is_other_file = earlier.log.path != file.log.path
            if is_other_file and (not file.run_labels or earlier.run_labels == file.run_labels):
                return True
    return False


def _match_report(
    log: Log, key: Key, rows: Sequence[Row], matched: Matched, form: Form, n_answered: int
) -> MatchReport:
    """How the rows of a log about one administration found their items."""
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
        other_keys=count_other_keys(matched.pairs(rows, form)),
        contradicting=describe_rows(rows, matched.contradicting),
        unmatched=describe_rows(rows, matched.unmatched),
        ambiguous=describe_rows(rows, matched.ambiguous),
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
    foreign = []
    notes = []
    for path, matched in matched_by_path.items():
        if not matched:
            foreign.append(path)
            notes.append(f"{path} is left out: none of its rows is about an item")
    if len(foreign) == len(matched_by_path):
        return reports, []
    return [report for report in reports if report.path not in foreign], notes


_ADD_QUESTION_FILE = "Put the file of its questions, with their pictures, beside it. "


def _without_copies(logs: Sequence[Log], respondent: str | None) -> tuple[list[Log], list[str]]:
    """The logs without a second file of the same content about the same respondents: two equal
    files of two respondents are two respondents.
    """
    first: dict[tuple[str, ...], str] = {}
    distinct_logs = []
    notes = []
    for log in logs:
        names = {respondent or row.respondent for row in log.rows}
        if not log.names_respondents:
            names.add(str(Path(log.path).parent))  # the folder may say who answered
        # By content, since a copy often has another name.
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
    """Two notes at most: on equal answers of two respondents, and of several runs."""
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Recording]] = defaultdict(list)
    for recording in recordings:
        content = tuple(sorted((key, answer.text) for key, answer in recording.answers.items()))
        if any(map(itemgetter(1), content)):  # of tables of scores no answer is known
            groups[recording.form, content].append(recording)
    twins: dict[str, None] = {}
    unchanged: dict[str, None] = {}
    for group in groups.values():
        n_runs = Counter(map(attrgetter("respondent"), group))
        if len(n_runs) > 1:
            twins[list_names(list(n_runs), MAX_SHOWN_ROWS)] = None
        unchanged |= dict.fromkeys(name for name in n_runs if n_runs[name] > 1)
    notes = []
    if twins:
        notes.append(f"{'; '.join(twins)} gave the same answers: one respondent under two names?")
    if unchanged:
        listed = list_names(list(unchanged), MAX_SHOWN_ROWS)
        notes.append(
            f"{listed} gave the same answers in several runs: copies, or answers without chance"
        )
    return notes


def _has_answer(answer: Response) -> bool:
    """Whether a row has an answer or a score: a cell of a table of scores may be empty."""
    if answer.reason == SCORE_ALONE:
        return RECORDED_SCORES in answer.detail
    return answer.state != "missing"


def _check_name(logs: Sequence[Log], respondent: str | None) -> None:
    names = set(chain.from_iterable(map(attrgetter("respondents"), logs)))
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
        # `--run` moves all runs of a log, which may hold several.
        rows.setdefault(
            (respondent or row.respondent, row.form or ORIGINAL, row.run + run), []
        ).append(row)
    return rows


def _with_pictures(rows: list[Row], log: Log, neighbours: Sequence[Path]) -> list[Row]:
    """The rows with the pictures of the question file beside them, where the log has ids but no
    pictures (LLaVA).
    """
    image_of = attrgetter("image")
    if log.tool != "LLaVA" or any(map(image_of, rows)) or not all(map(attrgetter("ids"), rows)):
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
    # In the order of the file, so that a second answer is refused at its own place, and not at that
    # of the first.
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
    # beside the tool's name, its score or what it read
    if len(recorded) > 1:
        return answer._replace(detail={**answer.detail, "recorded": recorded})
    return answer


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
    # The detail says that the text follows from a score, and that nobody said it.
    return Response(text, "ok", "", {"from_score": True})


def _free_run(
    recorded: Mapping[Key, Mapping[str, Response]], key: Key, answers: Mapping[str, Response]
) -> int:
    run = key[2]
    # files about different items are parts of one run
    # The next free run, so that no answer takes the place of another.
    while recorded.get((*key[:2], run), {}).keys() & answers.keys():
        run += 1
    return run


# --- files of answers, whoever wrote them ---


class AnsweredBenchmark(ReadBenchmark, Protocol):
    """What a benchmark says of its release's files of answers."""

    @property
    def name(self) -> str:
        """What the benchmark is called."""

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
        # The release's own format first: its files may pass for tables.
        released = benchmark.recordings(path)
        if released is not None:
            recordings += released
        elif path.exists() and (written_by_tool(path) or takes_table(benchmark, path)):
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
        report_of(recording, len(forms[recording.form]))
        for recording in recordings
        if recording.form in forms
    ]
    imported = ImportedLogs((), ())
    # rows that name another benchmark are refused, whatever tool wrote them
    settings = replace(settings, benchmark=benchmark.name)
    if logs:
        imported = take_logs(forms, logs, settings, benchmark.spelled)
    notes = dict.fromkeys(chain.from_iterable(map(attrgetter("notes"), recordings)))
    return ImportedLogs(
        (*recordings, *imported.recordings),
        (*of_files, *imported.matchings),
        (*notes, *imported.notes),
    )


def takes_table(benchmark: AnsweredBenchmark, path: Path) -> bool:
    """Whether a file is a table whose rows are matched to the items, as those of tools are; a
    release may have such files of its own.
    """
    return not benchmark.has_own_answer_files and is_other_table(path)


def report_of(recording: Recording, n_items: int) -> MatchReport:
    """The report on an administration whose file names its items."""
    n_answers = len(recording.answers)
    return MatchReport(
        path=recording.source,
        respondent=recording.respondent,
        form=recording.form,
        run=recording.run,
        rows=n_answers,
        matched=n_answers,
        items=n_answers,
        n_items=n_items,
        cue_counts={"id": n_answers},
        other_keys=recording.other_keys,
    )


def _plain_or_released(
    benchmark: AnsweredBenchmark, path: Path, forms: Mapping[str, Form]
) -> Sequence[Recording]:
    """The answers of a file in HQM's format, else in that which the release scores."""

    def released() -> Sequence[Recording]:
        _, answers = benchmark.read_answers(path, forms[ORIGINAL])
        return [Recording(file_stem(path), ORIGINAL, 0, answers, str(path))]

    readers: list[Callable[[], Sequence[Recording]]] = [
        lambda: read_recordings(path, forms, benchmark.spelled, benchmark.name)
    ]
    if benchmark.has_own_answer_files and not path.is_dir():
        readers.append(released)
    faults = []
    for read in readers:
        try:
            recordings = read()
        except HQMError as fault:
            faults.append(fault)
            continue
        if path.is_file() and not any("form" in record for record in first_record(path)):
            for recording in recordings:
                check_options(benchmark, recording.answers, forms[ORIGINAL], str(path))
        return recordings
    # HQM's own format is tried first, and its fault is the one to be mended
    raise faults[0]
