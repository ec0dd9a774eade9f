"""A benchmark that is made from logs: its questions, respondents and scores are those of the rows.

The score of an answer is the tool's own. Where a log has none, the answers are read as those of any
benchmark whose card names no reader.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, filterfalse
from operator import attrgetter
from os.path import commonpath
from pathlib import Path
from statistics import mode
from typing import ClassVar

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.card import Card
from hqm.benchmark.judge_api import judge_name
from hqm.benchmark.log_items import (
    are_tables,
    check_targets,
    form_name,
    items_of,
    logs_of_same_questions,
    row_with,
    rows_of,
    with_item_ids,
    with_questions,
    with_written_options,
)
from hqm.benchmark.new_sources import Source
from hqm.errors import AnswerError, DataError, UsageError
from hqm.files.records import file_stem, name_fields
from hqm.imports.detect import answers_of, holds_logs, read_logs
from hqm.imports.log_answers import ImportedLogs, LogSettings, match_logs
from hqm.imports.match import summarize_rows
from hqm.imports.row import RECORDED_SCORES, SCORE_ALONE, Log, Row
from hqm.scoring.metrics import PER_CENT, UNIT, Metric, mean_of
from hqm.types import (
    ORIGINAL,
    PARALLEL,
    VIDEO,
    Form,
    Item,
    Response,
    Task,
    Verdict,
    group_by,
    names_of,
)

_POOLED = "score"
_MOST_AUDITED = 3
_GROUPINGS: Mapping[str, str] = {"cluster": "clusters of items", "category": "types"}
"""Column that groups items -> what it adds."""


class LogBenchmark(Benchmark):
    """The benchmark of logs.

    Parameters
    ----------
    card, forms
        What is known of it, and its questions in every form that was asked, the original first.
    matched
        The recorded administrations, and how the rows were matched.
    metrics
        The tool's scores; empty where it gave none, so that HQM's readers score the answers.
    notes
        Where the tool's totals are no means of its rows.
    suggested
        Field -> the unread column whose cells suggest it.
    """

    has_card: ClassVar[bool] = False
    scoring_files = ()

    def __init__(
        self,
        card: Card,
        forms: Sequence[Form],
        matched: ImportedLogs,
        metrics: Sequence[Metric],
        notes: Sequence[str] = (),
        suggested: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(card, Path())
        self.suggested = suggested or {}
        self.forms = tuple(forms)
        self.matched = matched
        self.notes = tuple(notes)
        self.tool_scored = bool(metrics)
        self.included_recordings = matched.recordings
        items = chain.from_iterable(form.items for form in forms)
        # with neither scores nor right answers, only judgements in files can say what is right
        unknown = not metrics and not any(map(attrgetter("target"), items))
        self._roles = ("judge",) if unknown else ()
        judged = [_metric(_POOLED, {}, set(), "the judge", partial=False)] if unknown else ()
        self._metrics = tuple(metrics or judged)

    def read(self) -> Form:
        """The questions of the original form."""
        return self.forms[0]

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        """The other forms of the logs."""
        return self.forms[1:]

    def parallel(self, form: Form) -> Form:
        """The form that rules make; an empty one where the log's answers are audited, as no
        respondent was asked it.
        """
        if self.included_recordings:
            return Form(PARALLEL, ())
        return super().parallel(form)

    @property
    def design(self) -> str:
        """What the log's columns allow to be measured, and what would be added for more."""
        recordings = self.included_recordings
        n_respondents = len(set(map(attrgetter("respondent"), recordings)))
        has_runs = any(map(attrgetter("run"), recordings))
        # a column, whether the rows have it, and what it allows
        rows = (
            ("model", n_respondents > 1, "ranks and ties"),
            ("item", True, "items"),
            ("run", has_runs, "reruns"),
            ("form", len(self.forms) > 1, "wordings"),
            ("category", bool(self.original.types), "types"),
        )
        present = {column: aim for column, is_present, aim in rows if is_present}
        results = "score" if self.tool_scored else "answers"
        added = [
            f"`{column}` for {aim}"
            for column, is_present, aim in rows
            if not is_present and column not in self.suggested
        ]
        columns = f"columns {', '.join(added)}; " if added else ""
        if self.suggested:
            choices = ",".join(f"{column}={name}" for column, name in self.suggested.items())
            aims = " and ".join(_GROUPINGS[column] for column in self.suggested)
            columns += f"--columns {choices} for {aims}; "
        return (
            f"with {', '.join([*present, results])}: {', '.join(present.values())}"
            f" (to add: {columns}--criterion FILE for people)"
        )

    def to_ask(self) -> LogBenchmark:
        """The same questions without the log's answers, so that other models can be asked them.

        Raises
        ------
        DataError
            The log does not hold the questions.
        """
        self.refuse_other_material("asks about")
        # some tools log the answer and its score, and the question by its number alone
        silent = sum(not item.prompt for item in self.original.items)
        if silent:
            raise DataError(
                f"the log leaves out {silent} of {len(self.original.items)} questions",
                location=self.name,
                remedy="Log them, or make a benchmark of them: `hqm new NAME`.",
            )
        self.included_recordings = ()
        return self

    def refuse_other_material(self, verb: str) -> None:
        """Refuse what takes one picture an item, where items have several or a video."""
        n = sum(len(item.pictures) > 1 or VIDEO in item.meta for item in self.original.items)
        if n:
            raise DataError(
                f"{n} of {len(self.original.items)} questions have several pictures or a video,"
                f" and HQM {verb} one picture",
                location=self.name,
                remedy="Audit the answers that the log has: `hqm audit FILE`.",
            )

    @property
    def roles(self) -> tuple[str, ...]:
        """The judge whose judgements come in files, where the log has neither scores nor keys."""
        return self._roles

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The tool's scores, else those of HQM's readers."""
        return self._metrics or super().metrics

    @property
    def audited(self) -> tuple[Metric, ...]:
        """The first few scores over all questions."""
        # The readers' metrics have an order of their own; of a tool's scores no order is known.
        if not self._metrics:
            return super().audited
        return tuple(filterfalse(attrgetter("subset"), self._metrics))[:_MOST_AUDITED]

    def subsets(self, item: Item) -> Sequence[str]:
        """The item's type and part, and the scores that only some questions have."""
        return [*super().subsets(item), *item.meta.get(RECORDED_SCORES, ())]

    def score(self, item: Item, response: Response) -> Verdict:
        """HQM's own reading of an answer, where the log has a right answer that it can read."""
        if item.target in (None, ""):
            return Verdict.unscored("unparsed", "the log has no right answer")
        return super().score(item, response)

    def verdict_of_scores(self, scores: Mapping[str, float], read: str) -> Verdict:
        """The verdict that the tool's scores of an answer are; unscored where it gave none."""
        tally: dict[str, float] = {}
        for metric in self._metrics:
            if metric.name in scores:
                tally |= {metric.name: scores[metric.name], _count(metric.name): 1.0}
        if not tally:
            return Verdict.unscored("missing", "the tool recorded no score of this answer")
        first = next(iter(tally.values()))
        return Verdict(first, {_POOLED: first, _count(_POOLED): 1.0, **tally}, "ok", read)


def _count(name: str) -> str:
    return f"answers with {name}"


def benchmarks_of_logs(
    logs: Sequence[Log], settings: LogSettings | None = None
) -> list[LogBenchmark]:
    """A benchmark for everything that the logs call one, with its respondents and scores.

    Raises
    ------
    AnswerError
        No row has an answer or score, or rows of one id ask different questions.
    """
    settings = settings or LogSettings()
    logs = with_questions(logs)
    logs_by_task = _logs_by_task(logs)
    if settings.title and len(logs_by_task) > 1:
        raise UsageError(
            f"the logs hold {len(logs_by_task)} benchmarks ({name_fields(logs_by_task)})",
            remedy="Name the files of one, or leave out --set title.",
        )
    if settings.title:
        # the title replaces whatever name the tool gave its task
        logs_by_task = dict(zip([settings.title], logs_by_task.values(), strict=False))
    if not logs_by_task:
        raise AnswerError(
            "no row has an answer or a score",
            location=str(logs[0].path) if len(logs) == 1 else "",
            remedy="Name the files that a tool wrote.",
        )
    names: dict[str, str] = {}
    benchmarks: list[LogBenchmark] = []
    errors: list[AnswerError] = []
    notes: list[str] = []
    for task, task_logs in logs_by_task.items():
        name = _free_name(task, names)
        try:
            benchmarks.append(_benchmark(name, task, task_logs, settings))
        except AnswerError as error:
            errors.append(error)
            notes.append(f"left out: {error}")
    if not benchmarks:
        raise errors[0]
    for log in logs:
        if not log.rows:
            notes += [f"{log.path}: {note}" for note in log.notes]
    benchmarks[0].notes += tuple(notes)
    return benchmarks


def _logs_by_task(logs: Sequence[Log]) -> dict[str, list[Log]]:
    """Name of a benchmark -> the logs, each with the rows of that benchmark."""
    tasks = {_plain_name(row.task) for row in rows_of(logs) if row.task}
    tables = []
    for log in logs:
        # a file that is named like a tool's task is of that task
        names_task = _plain_name(file_stem(log.path)) in tasks
        if log.rows and not names_task and not any(map(attrgetter("task"), log.rows)):
            tables.append(log)
    groups = logs_of_same_questions(tables)
    candidates = list(map(_common_names, groups))
    n_groups = Counter(chain.from_iterable(candidates))
    names: dict[str, str] = {}
    for group, group_names in zip(groups, candidates, strict=True):
        name = next((name for name in group_names if n_groups[name] == 1), group_names[-1])
        names |= dict.fromkeys(map(attrgetter("path"), group), name)
    logs_by_task: dict[str, list[Log]] = defaultdict(list)
    for log in logs:
        stem = names.get(log.path) or file_stem(log.path)
        for task, rows in group_by(log.rows, partial(_task_name, stem=stem)).items():
            # `hqm export` writes the plain name: its logs belong to the task that has it
            same_task = next((name for name in logs_by_task if _plain_name(name) == task), task)
            logs_by_task[same_task].append(replace(log, rows=tuple(rows)))
    return logs_by_task


@dataclass(frozen=True)
class _Questions:
    """The questions of a log, as the rows of a source."""

    label: str
    records: Sequence[Mapping[str, object]]
    pictures: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields that any question has."""
        fields: dict[str, None] = {}
        for row in self.records:
            fields |= dict.fromkeys(name for name, value in row.items() if value)
        return tuple(fields)

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, object]]]:
        """Each question with its place."""
        for record in self.records:
            yield f"{self.label}: {record['id']}", {name: record[name] for name in columns}


def questions_of_logs(text: str, *, with_pictures: bool, also_tables: bool = True) -> Source | None:
    """The questions of a log, or of a folder of logs, as a source for a new benchmark; None where
    the text names no log.

    Parameters
    ----------
    with_pictures
        Whether the pictures that the log names are at hand; questions about one of them stay a
        cluster without it.
    also_tables
        Whether a table in which models answer questions with right answers is a log too.

    Raises
    ------
    UsageError
        The logs hold several benchmarks.
    """
    path = Path(text)
    if (
        not path.exists()
        or path.suffix == ".parquet"
        or not holds_logs(path, also_tables=also_tables)
    ):
        return None
    first, *further_benchmarks = benchmarks_of_logs(read_logs([path], with_questions=True))
    if further_benchmarks:
        names = ", ".join(names_of((first, *further_benchmarks)))
        raise UsageError(
            f"the logs hold {1 + len(further_benchmarks)} benchmarks ({names})",
            location=text,
            remedy="Name the files of one.",
        )
    first.refuse_other_material("writes items with")
    records = [
        {
            "id": item.id,
            "question": item.prompt,
            "answer": item.target,
            "options": item.options,
            "image": item.image if with_pictures else None,
            "type": item.type,
            "part": item.part,
            "cluster": item.cluster,
        }
        for item in first.original.items
    ]
    folder = path if path.is_dir() else path.parent
    return Source.of_table(text, _Questions(text, records), folder)


def _task_name(row: Row, stem: str) -> str:
    """A tool's name of the benchmark, without the form that `hqm export` appends."""
    name = row.task or stem
    if row.form:
        return name.removesuffix(f"_{row.form}")
    return name


def _plain_name(task: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", task.lower()).strip("_")[:90] or "log"


def _common_names(logs: Sequence[Log]) -> list[str]:
    """Names for files, each once: that of all files, or of the folder of all; the words that all
    files have in their names; the folder with those above it; and the first file.
    """
    stems: dict[str, None] = {}
    for log in logs:
        stems |= dict.fromkeys(map(partial(_task_name, stem=file_stem(log.path)), log.rows))
    folders = list(map(attrgetter("folder"), logs))
    # folders on two drives have none in common
    one_drive = len(set(map(attrgetter("drive"), folders))) == 1
    path = Path(commonpath(folders)) if one_drive else folders[0]
    if len(stems) == 1:
        path /= next(iter(stems))
    words = [re.split(r"[\W_]+", stem) for stem in stems]
    common_words = filter(set.intersection(*map(set, words)).__contains__, words[0])
    parts = path.parts[1:]
    paths = ["/".join(parts[-size:]) for size in range(1, len(parts) + 1)]
    names = [path.name, "_".join(common_words) or path.name, *paths, logs[0].path]
    return list(dict.fromkeys(names))


def _free_name(task: str, names: dict[str, str]) -> str:
    """A name for commands and signatures, which no other task of these logs has."""
    plain = _plain_name(task)
    name = plain
    number = 1
    # Two tasks may differ in characters that a name cannot have.
    while name in names:
        number += 1
        name = f"{plain}_{number}"
    names[name] = task
    return name


def _benchmark(name: str, title: str, logs: Sequence[Log], settings: LogSettings) -> LogBenchmark:
    # The order matters: judges of one answer are put together before runs are counted, as a judge
    # that was asked again looks like a run; and ids are given when each answer has one row.
    share_logs, notes_on_shares = _with_shares(logs)
    joined = _merge_judges(share_logs)
    numbered, notes_on_runs = _without_rare_runs(_number_runs_from_zero(joined))
    keyed, notes_on_keys = with_item_ids(
        [replace(log, rows=_merge_judge_rows(rows)) for log, rows in numbered]
    )
    keyed = with_written_options(keyed)
    first_form = _first_form(keyed)
    items_by_form, notes_on_items = items_of(keyed, first_form)
    forms = [Form(form or ORIGINAL, items) for form, items in items_by_form.items()]
    unread = dict(chain.from_iterable(log.unread.items() for log in keyed))
    card = _card(name, title, forms[0], keyed, unread)
    rows = list(rows_of(keyed))
    lower = set(chain.from_iterable(map(attrgetter("lower"), keyed)))
    # The metrics need the scores as `_merge_judge_rows` keeps them: judge by judge.
    metrics, equal = _metrics(rows, lower, keyed[0].tool)
    logs_of_form = []
    for log in keyed:
        rows_of_form = [row_with(row, form=form_name(row, first_form)) for row in log.rows]
        logs_of_form.append(replace(log, rows=tuple(rows_of_form)))
    matched = match_logs({form.name: form for form in forms}, logs_of_form, settings)
    notes = (
        *notes_on_shares,
        *notes_on_runs,
        *notes_on_keys,
        *notes_on_items,
        *_notes(keyed),
        *equal,
        *_notes_on_targets(forms[0], metrics),
    )
    suggested = {field: column for column, field in unread.items() if field}
    benchmark = LogBenchmark(card, forms, matched, metrics, notes, suggested)
    # Where the tool scored, its reading of the right answers counts, and not ours.
    if not metrics:
        check_targets(forms[0], rows)
    if benchmark.roles and not settings.judged:
        raise AnswerError(
            "it has neither a score nor a right answer for any answer",
            location=", ".join(map(attrgetter("path"), logs[:3])),
            remedy="If HQM knows the benchmark (`hqm list`), name it: `hqm audit NAME --recorded"
            " LOG`. Else name the file of questions and right answers beside it (one that has"
            " nothing but answers is called key.json), the column of scores with --columns"
            " score=NAME, or bring judgements with --judgements.",
        )
    return benchmark


def _first_form(logs: Sequence[Log]) -> str:
    """The form that is taken as the original one: the form without a name, else the first."""
    names: dict[str, None] = dict.fromkeys(map(attrgetter("form"), rows_of(logs)))
    # Some logs name every form: then the first one is the original.
    if "" in names or ORIGINAL in names:
        return ""
    return next(iter(names))


# --- the rows of one answer, and the question that each is about ---


_NumberedLogs = list[tuple[Log, list[Row]]]


def _without_rare_runs(logs: _NumberedLogs) -> tuple[_NumberedLogs, list[str]]:
    """The rows of each log without the further runs that fewer than half of the respondents have,
    and a note on them: to the others they would be answers that are missing.
    """
    respondents_by_run: dict[int, set[str]] = defaultdict(set)
    for _, rows in logs:
        for row in rows:
            respondents_by_run[row.run].add(row.respondent)
    respondents = set().union(*respondents_by_run.values())
    n_common = len(respondents) / 2
    rare_runs = {run for run, names in respondents_by_run.items() if len(names) < n_common}
    # the first run is what is audited, whoever has it
    rare_runs.discard(0)
    if not rare_runs:
        return logs, []
    names = sorted(set().union(*(respondents_by_run[run] for run in rare_runs)))
    common_logs: _NumberedLogs = []
    n_rows = 0
    for log, rows in logs:
        common_rows = [row for row in rows if row.run not in rare_runs]
        common_logs.append((log, common_rows))
        n_rows += len(rows) - len(common_rows)
    note = (
        f"{n_rows} answers of {name_fields(names)} are left out: they are runs that fewer than half"
        f" of the {len(respondents)} respondents have"
    )
    return common_logs, [note]


def _number_runs_from_zero(logs: Sequence[Log]) -> _NumberedLogs:
    """The rows of each log, its runs counted from 0, as some tools count them from 1.

    Where every graded answer of a table is the same in all runs, the judge was asked again, not
    the respondent; a tool's epochs are runs, whatever comes out.
    """
    rows = list(rows_of(logs))
    first = min(map(attrgetter("run"), rows))
    question_texts: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for row in rows:
        question_texts[row.respondent, row.form, row.ids, row.question, row.image].add(
            row.answer.text if row.answer and row.judge else ""
        )
    is_judge_repeated = are_tables(logs) and all(
        len(texts) == 1 and "" not in texts for texts in question_texts.values()
    )
    renumbered = []
    for log in logs:
        log_rows = []
        for row in log.rows:
            run = row.run - first
            # A table that says which asking it was is believed.
            if is_judge_repeated and row.asking is None:
                log_rows.append(row_with(row, run=0, asking=run))
            else:
                log_rows.append(row_with(row, run=run))
        renumbered.append((log, log_rows))
    return renumbered


def _with_shares(logs: Sequence[Log]) -> tuple[list[Log], list[str]]:
    """The logs with right answers scored 1 where all scores are 0 or 100, and a note for each such
    score.
    """
    values: dict[str, set[float]] = defaultdict(set)
    for log in logs:
        for row in log.rows:
            for name, score in row.scores.items():
                values[name].add(score)
    per_cents = {name for name, scores in values.items() if scores == set(PER_CENT)}
    if not per_cents:
        return list(logs), []
    share_logs = []
    for log in logs:
        rows = []
        for row in log.rows:
            shares = {name: row.scores[name] / 100 for name in per_cents & row.scores.keys()}
            # other scores of the row keep their scale: only those of 0 and 100 are shares
            rows.append(replace(row, scores={**row.scores, **shares}))
        share_logs.append(replace(log, rows=tuple(rows)))
    notes = [f"{name}: its scores are 0 and 100, taken as 0 and 1" for name in sorted(per_cents)]
    return share_logs, notes


def _merge_judges(logs: Sequence[Log]) -> list[Log]:
    """The logs, those of several judges about the same answers as one."""
    joined: list[Log] = []
    indices: dict[frozenset[tuple[object, ...]], int] = {}
    for log in logs:
        index = len(joined)
        if all(map(attrgetter("judge"), log.rows)):
            index = indices.setdefault(answers_of(log), index)
        if index < len(joined):
            joined[index] = replace(joined[index], rows=(*joined[index].rows, *log.rows))
        else:
            joined.append(log)
    return joined


def _merge_judge_rows(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with all scores of an answer in its detail: one row for the judges of an answer and
    their repetitions.
    """
    joined: dict[tuple[object, ...], Row] = {}
    scores: dict[tuple[object, ...], dict[str, Mapping[str, float]]] = defaultdict(dict)
    for i, row in enumerate(rows):
        text = row.answer.text if row.answer else ""
        identity = (row.respondent, row.form, row.run, row.ids, row.question, row.image, text)
        # without a judge every row is an answer of its own, even one with the same text
        key = identity if row.judge else (*identity, i)
        judge = judge_name(row.judge, row.asking or 0) if row.judge else ""
        if judge in scores[key]:
            key = (*key, i)
        # The first row gives the answer; of the others only the scores are kept.
        joined.setdefault(key, row)
        scores[key][judge] = row.scores
    return tuple(
        row_with(row, answer=_with_scores(row, scores[key])) for key, row in joined.items()
    )


def _with_scores(row: Row, scores: Mapping[str, Mapping[str, float]]) -> Response:
    answer = row.answer or Response("", "missing")
    # A tool may record the score alone: the answer was given, or there would be no score.
    if answer.state == "missing":
        answer = Response("", "ok", SCORE_ALONE, answer.detail)
    recorded_scores = {
        judge: dict(judge_scores) for judge, judge_scores in scores.items() if judge_scores
    }
    if not recorded_scores:
        return answer
    return answer._replace(detail={**answer.detail, RECORDED_SCORES: recorded_scores})


# --- items, card and metrics ---


def _card(name: str, title: str, form: Form, logs: Sequence[Log], unread: Collection[str]) -> Card:
    tools = ", ".join(dict.fromkeys(filter(None, map(attrgetter("tool"), logs))))
    common: Task = mode(map(attrgetter("task"), form.items))
    summary = f"From {tools}." + (
        f" Columns that are not read: {name_fields(unread)}." if unread else ""
    )
    card = Card(name=name, title=title, version="log", task=common, summary=summary)
    # its own words for its types, however near they are to those of hallucination
    return card.model_copy(update={"types": form.types, "labelled": bool(form.types)})


def _metrics(
    rows: Sequence[Row], lower: set[str], tool: str
) -> tuple[tuple[Metric, ...], list[str]]:
    """A metric for each score that differs from those before it, one over all questions first; and
    a note for each that equals one of them.
    """
    columns: dict[str, dict[tuple[int, str], float]] = defaultdict(dict)
    scored = 0
    for i, row in enumerate(rows):
        judge_scores = row.answer.detail.get(RECORDED_SCORES, {}) if row.answer else {}
        scored += bool(judge_scores)
        for judge, scores in judge_scores.items():
            for name, score in scores.items():
                columns[name][i, judge] = score
    different: dict[str, dict[tuple[int, str], float]] = {}
    equal: dict[str, list[str]] = defaultdict(list)
    # a score that every answer has stands for an equal one that only some have
    for name, values in sorted(columns.items(), key=lambda column: -len(column[1])):
        before = next(
            (first for first, earlier_values in different.items() if values == earlier_values), ""
        )
        if before:
            equal[before].append(name)
        else:
            different[name] = values
    metrics = []
    for name, values in different.items():
        # A column is keyed by row and judge, and `dict` keeps each row once.
        is_partial = len(dict(values.keys())) < scored
        metrics.append(_metric(name, values, lower, tool, partial=is_partial))
    if metrics and all(map(attrgetter("subset"), metrics)):
        values = {}
        # from the rarest: where an answer has several scores, the commonest one stands
        for column in reversed(different.values()):
            values |= column
        metrics.insert(0, _metric(_POOLED, values, set(), tool, partial=False))
    notes = []
    for first, names in equal.items():
        notes.append(f"{first} stands for {', '.join(names)}: the rows have equal scores")
    for metric in metrics:
        low, high = metric.ends
        # The scale is a guess from the values, so that a reader is told of it.
        if low is not None and high is not None and (low, high) != UNIT:
            notes.append(f"{metric.name}: its scale is taken to go from {low:g} to {high:g}")
    return tuple(metrics), notes


def _metric(
    name: str,
    values: Mapping[tuple[int, str], float],
    lower: set[str],
    tool: str,
    *,
    partial: bool,
) -> Metric:
    return Metric(
        name,
        mean_of(name, _count(name)),
        "lower" if name in lower else "higher",
        subset=name if partial else "",
        share=set(values.values()) <= {0.0, 1.0},
        about=f"Mean of {name}, as {tool} scored each answer.",
        scale=scale_of_scores(values.values(), name),
        count=_count(name),
    )


_MAX_LEVEL = 10
"""The end of the longest scale of whole levels."""


_PER_CENT_NAME = re.compile(r"%|(?<![a-z])(?:percent(?:age)?|per[ _-]cent|pct)(?![a-z])", re.I)
"""In the name of a score that is in per cent, whatever ends its values reach."""


def scale_of_scores(scores: Collection[float], name: str = "") -> tuple[float | None, float | None]:
    """Return the ends of the scale that scores show; none where they show no end.

    Shares end at 0 and 1, per cents that reach both ends or are called so at 0 and 100, and whole
    levels up to 10 at the highest that was given; they begin at 1, or lower where a score is lower.

    >>> scale_of_scores([0.2, 1.0]), scale_of_scores([2, 3, 5]), scale_of_scores([0, 55.5, 100])
    ((0.0, 1.0), (1.0, 5.0), (0.0, 100.0))
    >>> scale_of_scores([12.5, 80.0]), scale_of_scores([12.5, 80.0], "overlap_percent")
    ((None, None), (0.0, 100.0))
    """
    low = min(scores, default=0.0)
    high = max(scores, default=0.0)
    # also all 1 or all 0: what is not known to be more is taken for a share
    if low >= 0 and high <= 1:
        return UNIT
    has_per_cent_name = bool(_PER_CENT_NAME.search(name)) and low >= 0 and high <= 100
    if has_per_cent_name or (low, high) == PER_CENT:
        return PER_CENT
    # a mean of judges is no level, and its scale is not known
    are_levels = all(float(score).is_integer() for score in set(scores))
    if are_levels and -_MAX_LEVEL <= low < high <= _MAX_LEVEL:
        return (min(1.0, float(low)), float(high))
    return (None, None)


def _notes_on_targets(form: Form, metrics: Sequence[Metric]) -> Iterator[str]:
    """A note on the items without a right answer, where others have one and it is asked for."""
    unkeyed = [item.id for item in form.items if item.target in (None, "")]
    if not metrics and 0 < len(unkeyed) < len(form):
        count = "1 item has"
        if len(unkeyed) != 1:
            count = f"{len(unkeyed)} items have"
        yield f"{count} no right answer and no score: {summarize_rows(unkeyed)}"


def _notes(logs: Sequence[Log]) -> Iterator[str]:
    """A note for each total that a tool printed and that is not the mean of its rows."""
    n_equal = 0
    for log in logs:
        for name, total in log.totals.items():
            scores = [row.scores[name] for row in log.rows if name in row.scores]
            if not scores:
                continue
            mean = sum(scores) / len(scores)
            # tools print shares with three decimals, or percentages with one
            is_equal = abs(mean - total) < 5e-4 or abs(100 * mean - total) < 5e-2
            n_equal += is_equal
            if not is_equal:
                yield (
                    f"{log.path}: the tool prints {name} {total:g}, and the mean of its"
                    f" {len(scores)} rows is {mean:g}"
                )
    if n_equal:
        yield f"{n_equal} totals that the tool prints equal the means of its rows"
