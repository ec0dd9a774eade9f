"""Answer files of releases and of people: LLaVA's `answers/*.jsonl`, caption files, and plain
tables of answers or scores, a row an answer or a row a respondent.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import filterfalse, repeat
from operator import attrgetter
from pathlib import PurePath
from typing import NoReturn

from hqm.errors import AnswerError, UsageError
from hqm.files.records import file_stem, name_fields
from hqm.imports import row as fields
from hqm.imports.intake import (
    COLUMNS,
    KNOWN_COLUMNS,
    Intake,
    describe_reading,
    find_repeated,
    plain_heading,
    refuse_twice,
    take_rows,
)
from hqm.imports.layouts import (
    Record,
    cell_texts,
    cells_of,
    first_row,
    heading_words,
    headings_of,
    lay_out,
    scores_in,
)
from hqm.imports.row import RUN_LABEL, Log, Row, answers_in
from hqm.imports.score_cells import SCORES, number
from hqm.types import LETTERS

TABLE = "a table of answers"
"""What a table calls its tool."""
# A wide table of fewer items is more likely one of results, a column a benchmark.
_MIN_ITEMS = 5
_MAX_BARE_FIELDS = 3
"""So many fields has a row that is no more than an answer."""


def holds_answers(records: Sequence[Mapping[str, object]]) -> bool:
    """Whether these rows answer questions; a file of questions has `text` and `image`, and nothing
    that is an answer.
    """
    if not records:
        return False
    first = records[0]
    if not headings_of(first).isdisjoint(SCORES):
        return True
    answers = set(answers_in(first))
    if first.keys().isdisjoint(fields.RESPONDENTS):
        has_question = not first.keys().isdisjoint((*fields.QUESTIONS, "image"))
        if has_question and not _has_further_key(records):
            # beside a question, and with nobody who gave it, an answer is the right one
            answers.discard("answer")
        if answers <= {"text", "caption"} and len(first) > _MAX_BARE_FIELDS:
            # nobody is named of a data set's own texts; a picture's caption stands beside its id
            return bool(answers) and "image_id" in first
    return bool(answers)


def _has_further_key(records: Sequence[Mapping[str, object]]) -> bool:
    """Whether a column beside `answer` holds the right answers; a label may also be a topic."""
    names = set(fields.names_in(records[0], fields.KEYS))
    if names == {"label"}:
        return all(_SHORT_KEY.fullmatch(str(record.get("label"))) for record in records)
    return bool(names)


_SHORT_KEY = re.compile(r"yes|no|true|false|[01]|[A-J]", re.I)
"""What right answers of closed questions look like."""
_KEY_FILE = re.compile(
    r"(?:^|[\W_])(?:keys?|gold|gt|truth|ground_?truth|labels?|targets?|solutions?)(?:$|[\W_])"
    r"|^(?:val|validation|test|dev|train)_answers$",
    re.I,
)
"""How a file is called that holds right answers, item by item, and says nothing else."""


def only_asks(records: Sequence[Mapping[str, object]], path: str = "") -> bool:
    """Whether these rows are questions with their right answers: each has an id and a right answer,
    and none a respondent, an answer of one, or a score.

    Beside a question, the field `answer` has the right answer.
    """
    names = headings_of(first_row(records))
    if names.isdisjoint(fields.IDS) or not names.isdisjoint(
        (*fields.RESPONDENTS, *fields.OF_A_MODEL, *SCORES)
    ):
        return False
    if not names.isdisjoint(fields.KEYS):
        return names.isdisjoint(fields.ANSWERS)
    asks = not names.isdisjoint((*fields.QUESTIONS, "options", "choices"))
    # nothing but the file's name tells answers of a model from right ones
    if names == {"item", "answer"}:
        asks = _KEY_FILE.search(PurePath(path).stem) is not None
    return asks and names.intersection(fields.ANSWERS) == {"answer"}


def names_models_and_keys(records: Sequence[Mapping[str, object]]) -> bool:
    """Whether these rows name who answered which question, the answer, and the right one."""
    names = headings_of(first_row(records))
    columns = (fields.RESPONDENTS, fields.QUESTIONS, fields.ANSWERS, fields.KEYS)
    return not any(map(names.isdisjoint, columns))


def read_questions(path: str, records: list[Record]) -> Log:
    """The rows of a file of questions and their right answers."""
    intake = take_rows(path, records, names=("item",))
    rows = []
    # The right answers stand in `answer`; Row.of would take them for a model's.
    for location, record in intake.located():
        if "answer" in record:
            record = {**record, "target": record["answer"]}
        row = Row.of({**record, "answer": None}, location)
        rows.append(replace(row, answer=None))
    return Log(path=path, tool=TABLE, rows=tuple(rows), notes=intake.notes, asks=True)


def is_foreign(records: Sequence[Mapping[str, object]]) -> bool:
    """Whether these rows are LLaVA's, captions by picture, or scores alone: rows that HQM's own
    format does not have.
    """
    first = first_row(records)
    captions = "image_id" in first and first.keys().isdisjoint(("item", "id", "question_id"))
    scores = "item" in first and "score" in first and not answers_in(first)
    return _is_llava(first) or captions or scores


def _is_llava(record: Mapping[str, object]) -> bool:
    return {"question_id", "text", "model_id"} <= record.keys()


def parse_table_columns(texts: Sequence[str]) -> dict[str, str]:
    """What `--columns` says of a table of answers or scores: field -> column.

    >>> parse_table_columns(["model=LLM,score=f1"])
    {'model': 'LLM', 'score': 'f1'}

    Raises
    ------
    UsageError
        A part names no field.
    """
    return columns_by_field(texts, dict.fromkeys(COLUMNS))


def columns_by_field(texts: Sequence[str], fields: Mapping[str, str | None]) -> dict[str, str]:
    """Field -> column, as `--columns FIELD=COLUMN,...` says.

    Parameters
    ----------
    fields
        What may be written for a field -> the field, where that has another name.

    Raises
    ------
    UsageError
        A part names no field, or a field stands twice.
    """
    columns: dict[str, str] = {}
    for text in texts:
        # a comma separates only where a field follows, since a column's name may hold one
        for pair in re.split(rf",(?=\s*(?:{'|'.join(fields)})\s*=)", text):
            name, equals, column = pair.partition("=")
            if not equals or name.strip() not in fields:
                raise UsageError(
                    f"--columns {pair.strip()!r} names no field",
                    remedy=f"Write FIELD=COLUMN; the fields are {', '.join(fields)}.",
                )
            field = fields[name.strip()] or name.strip()
            if field in columns:
                raise UsageError(
                    f"--columns names the field {field!r} twice", remedy="Keep one of the two."
                )
            columns[field] = column.strip()
    return columns


def read_table(path: str, records: list[Record], columns: Mapping[str, str] | None = None) -> Log:
    """The rows of a table of answers or scores, whatever its columns are called.

    Every column of numbers that is no other field is a score of that name. A table without any
    field of an answer has a row a respondent and a column an item, or vice versa.

    Parameters
    ----------
    columns
        Field -> column, where the names do not say it.

    Raises
    ------
    AnswerError
        A row has neither an answer nor a score, or there is no such column.
    """
    chosen_columns = dict(columns or {})
    layout = lay_out(records, path, chosen_columns)
    records = layout.records
    chosen_columns = _find_columns(path, records, chosen_columns)
    # Whoever names columns says that a row is an answer.
    long_records = [] if chosen_columns else _of_wide(records)
    intake = take_rows(
        path, long_records or records, names=("model", "judge", "item"), columns=chosen_columns
    )
    records, run_column = _numbered_runs(intake, chosen_columns)
    records, turn_note = _with_turns(records, intake, chosen_columns)
    # before anything is asked of its scores, of which a table of results has several
    if _names_no_items(intake):
        refuse_no_items(path)
    records, scores = _with_scores(records, chosen_columns, intake)
    is_llava = bool(records) and _is_llava(records[0])
    rows = []
    for i, (record_number, record) in enumerate(zip(intake.numbers, records, strict=True)):
        rows.append(_row(record, scores, chosen_columns, f"{path}: record {record_number}", i))
    respondents = _check_names(rows)
    if not respondents:
        # A file for each model is how most people keep answers: its name says whose they are.
        rows = [replace(row, respondent=file_stem(path)) for row in rows]
    item_note = _check_items(
        rows, len(respondents), intake, records, {*scores, *chosen_columns.values()}
    )
    from hqm.imports.score_columns import has_labels, is_lower_better

    lower = frozenset(filter(is_lower_better, scores))
    notes = [*intake.notes, *_notes_on_scores(rows, scores, lower, path)]
    has_ids = any(map(attrgetter("ids"), rows))
    reading = _describe(intake, run_column, scores, has_ids=has_ids)
    if long_records:
        reading = "a respondent and an item in each row or column, and a score in each cell"
    notes += [f"read as {reading}", *item_note, *turn_note]
    if layout.note:
        notes.insert(0, f"its rows are {layout.note}")
    read_columns = {*scores, *chosen_columns.values()}
    unread = {} if long_records else _unread_columns(records, rows, read_columns)
    labels = list(filter(has_labels, unread))
    if labels:
        notes.append(f"people's labels in the column {labels[0]!r}: --criterion {path} reads them")
    if len(labels) < len(unread):
        other_columns = [name for name in unread if name not in labels]
        notes.append(f"columns that are not read: {name_fields(other_columns)}")
    return Log(
        path=path,
        tool="LLaVA" if is_llava else TABLE,
        rows=tuple(rows),
        notes=tuple(notes),
        lower=lower,
        names_respondents=bool(respondents),
        unread=unread,
    )


_OTHER_COLUMNS = frozenset(
    (*fields.PICTURES, *fields.VIDEOS, *fields.TURNS, "text", "error", "finish_reason", "index2ans")
)
"""The columns that a row is read from beside those that a user may name."""


def _unread_columns(
    records: Sequence[Record], rows: Sequence[Row], columns: Collection[str]
) -> dict[str, str]:
    """The columns that no field of a row was read from, each with the field that its cells suggest:
    several items with one value are a cluster or of one category.
    """
    read_columns = KNOWN_COLUMNS.union(columns, _OTHER_COLUMNS)
    if any(map(attrgetter("options"), rows)):
        read_columns |= set(LETTERS)
    has_parts = any(map(attrgetter("parts"), rows))
    if has_parts:
        read_columns |= set(fields.TYPES)
    free_fields = set() if has_parts else {"category"}
    if not any(row.cluster or row.image for row in rows):
        free_fields.add("cluster")
    items = [row.id or row.question for row in rows]
    unread = {}
    for column in first_row(records):
        cells = cell_texts(records, column)
        if column not in read_columns and any(cells):
            field = _grouping_field(items, cells)
            unread[column] = field if field in free_fields else ""
            free_fields.discard(field)
    return unread


def _grouping_field(items: Sequence[str], cells: Sequence[str]) -> str:
    """The field that the cells of a column suggest: `cluster` for many groups of few items,
    `category` for few groups of many; empty where an item has several cells, or items none alike.
    """
    n_items = len(set(items))
    n_groups = len(set(cells))
    is_grouping = len(set(zip(items, cells, strict=True))) == n_items and all(cells)
    if not is_grouping or not 1 < n_groups <= n_items / 2:
        return ""
    return "cluster" if n_groups**2 > n_items else "category"


def _with_scores(
    records: list[Record], chosen_columns: Mapping[str, str], intake: Intake
) -> tuple[list[Record], list[str]]:
    """Return the records with their scores as plain numbers, and the columns of scores."""
    # few commands read scores, and the others need not load what checks them
    from hqm.imports.scales import check_marks, with_plain_numbers
    from hqm.imports.score_columns import find_scores

    scores = find_scores(records, chosen_columns, intake)
    records = with_plain_numbers(records, scores, intake.path)
    check_marks(records, scores, intake.path)
    return records, scores


def _notes_on_scores(
    rows: Sequence[Row], scores: Sequence[str], lower: Collection[str], path: str
) -> list[str]:
    """Refuse columns of two scales, or that say the opposite of another one, and return what a
    reader should know of the others.
    """
    from hqm.imports.rival_columns import check_opposites
    from hqm.imports.scales import check_scales

    columns: dict[str, list[float | None]] = {}
    notes: list[str] = []
    for name in scores:
        # An error rate is rightly the opposite of an accuracy: only scores of one direction are
        # compared.
        if name not in lower:
            columns[name] = [row.scores.get(name) for row in rows]
        scored = [(row.respondent, row.scores[name]) for row in rows if name in row.scores]
        notes += check_scales(name, scored, path)
    check_opposites(columns, path)
    return notes


def _row(
    record: Mapping[str, object],
    scores: Sequence[str],
    chosen_columns: Mapping[str, str],
    location: str,
    position: int,
) -> Row:
    """The row of a record, with its scores."""
    fields_by_name = dict(record)
    # what the user says of a field holds for every row, also where its cell is empty
    for field, column in chosen_columns.items():
        # Runs are counted from 0 by now (`_numbered_runs`), and their column stays.
        for name in () if field == "run" else COLUMNS[field]:
            fields_by_name.pop(name, None)
        if field == "score":
            fields_by_name.pop(column, None)
    for field, column in chosen_columns.items():
        if field not in ("score", "run"):
            fields_by_name[COLUMNS[field][0]] = record.get(column)
    known_scores = scores_in(record, scores)
    if scores:
        fields_by_name["score"] = next(iter(known_scores.values()), None)
    return Row.of(
        fields_by_name, location, position=position, score_alone=True, scores=known_scores
    )


def _check_items(
    rows: Sequence[Row],
    n_respondents: int,
    intake: Intake,
    records: Sequence[Mapping[str, object]],
    taken: Collection[str],
) -> list[str]:
    """Refuse ids that are none, and rows that say nothing of their items where several respondents,
    as in a table of results, or columns that nothing is taken from, show that there is more to
    say; note where rows are counted.

    Raises
    ------
    AnswerError
        Counted by their place in the file, no two respondents would have an item in common.
    """
    from hqm.imports.scales import is_missing

    column = intake.plain_columns.get("item", "")
    if column and not any(map(attrgetter("ids"), rows)):
        odd = next(filterfalse(is_missing, cells_of(records, column)), None)
        if odd is not None:
            raise AnswerError(
                f"{odd!r:.60} in the column {column!r} is no id",
                location=intake.path,
                remedy="Write a text or a number, or leave the column out.",
            )
    if len(rows) < 2 or any(row.ids or row.question for row in rows):
        return []
    pictures = [(row.respondent, row.form, row.run, row.image) for row in rows if row.image]
    if pictures and find_repeated(pictures) is None:
        return []
    if n_respondents > 1 or len({row.run for row in rows}) > 1:
        refuse_no_items(intake.path)
    untaken = [name for name in first_row(records) if name not in KNOWN_COLUMNS.union(taken)]
    candidates = [name for name in untaken if _may_name(records, name)]
    if candidates:
        raise AnswerError(
            f"no column is called as items are, and {name_fields(candidates)} may name them, or the"
            " respondents",
            location=intake.path,
            remedy=f"Say which: --columns item={candidates[0]}; --columns item=row counts the"
            " rows.",
        )
    return ["no column names the items: each row is one, by its number"]


def _names_no_items(intake: Intake) -> bool:
    """Whether rows are of several respondents, and no column may say what they answered."""
    telling_fields = ("item", "question", "image", "answer", "target", "run")
    if not intake.plain_columns.keys().isdisjoint(telling_fields):
        return False
    return len(set(intake.cells("model", intake.records)) - {""}) > 1


def refuse_no_items(path: str) -> NoReturn:
    """Raise that rows name respondents or runs, and say nothing of the items."""
    raise AnswerError(
        "its rows name respondents or runs, and no items",
        location=path,
        remedy="If it is a table of results, read it with `hqm table FILE`; else say which column"
        " names the items: --columns item=NAME.",
    )


_MAX_LABEL_CHARS = 60


def _may_name(records: Sequence[Mapping[str, object]], column: str) -> bool:
    """Whether the cells of a column may be the names or numbers of items or respondents."""
    from hqm.imports.score_columns import NO_SCORE

    words = heading_words(column)
    if NO_SCORE.search(words) and not words.endswith("id"):
        return False
    cells = cells_of(records, column)
    labels = cell_texts(records, column)
    if bool in set(map(type, cells)) or not all(labels) or len(set(labels)) < 2:
        return False
    values = [value for label in labels if (value := number(label)) is not None]
    if len(values) < len(labels):
        return max(map(len, labels)) <= _MAX_LABEL_CHARS
    # two numbers are no list of items or respondents
    return all(map(float.is_integer, values)) and len(set(labels)) > 2


def _check_names(rows: Sequence[Row]) -> set[str]:
    """Refuse rows that say no respondent or no item where others do: that of the file's name, or of
    the row's number, would be another; and return the respondents.

    Raises
    ------
    AnswerError
        A row has an empty cell where others have a name.
    """
    respondents = [row.respondent for row in rows]
    for subject, names in (("respondent", respondents), ("item", [row.id for row in rows])):
        if any(names) and not all(names):
            raise AnswerError(
                f"it names no {subject}, and other rows do",
                location=rows[names.index("")].place,
                remedy="Fill the empty cell, or remove the row.",
            )
    return set(filter(None, respondents))


def _describe(intake: Intake, run_column: str, scores: Sequence[str], *, has_ids: bool) -> str:
    """Say which column of a table was read as which field."""
    columns = dict(intake.columns)
    # a rater's labels are read by --criterion
    for field in ("run", "score", "rater"):
        columns.pop(field, None)
    if not has_ids:
        columns.pop("item", None)
    if run_column:
        columns["run"] = run_column
    if scores:
        columns["score"] = " and ".join(scores)
    return describe_reading(columns)


def _run_column(intake: Intake, chosen_columns: Mapping[str, str]) -> str:
    """Return the column that says the run; empty where none does.

    Raises
    ------
    AnswerError
        Several columns may say it.
    """
    if "run" in chosen_columns:
        return chosen_columns["run"]
    candidates = fields.names_in(first_row(intake.records), fields.RUNS)
    columns = []
    varying = []
    n_values = 0
    for name in candidates:
        cells = cell_texts(intake.records, name)
        columns.append(cells)
        n_values = max(n_values, len(set(cells)))
        if len(set(cells)) > 1:
            varying.append(name)
    # columns that say the same of every row are one reading
    if len(varying) > 1 and len(set(zip(*columns, strict=True))) > n_values:
        raise AnswerError(
            f"the columns {name_fields(varying)} may each say the run",
            location=intake.path,
            remedy=f"Say which: --columns run={varying[0]}.",
        )
    return next(iter(varying or candidates), "")


def _numbered_runs(intake: Intake, chosen_columns: Mapping[str, str]) -> tuple[list[Record], str]:
    """Return the records with their runs counted from 0, and the column that says them; empty
    where none does.
    """
    records = intake.records
    column = _run_column(intake, chosen_columns)
    if column in ("", "run"):
        return records, column
    cells = cell_texts(records, column)
    units = intake.units(("model", "item", "form"), records)
    if "run" not in chosen_columns:
        _check_runs(intake, units, cells, column)
    if find_repeated(units) is None:
        # every answer was drawn once, with a seed of its own
        return _with_runs(records, repeat(0, len(records)), cells), column
    # run 10 comes behind run 9
    labels = sorted(set(cells), key=_natural_order)
    if len(labels) > MAX_RUNS:
        raise AnswerError(
            f"the column {column!r} would be {len(labels):,} runs",
            location=intake.path,
            remedy="Remove it, or say which column is the run: --columns run=NAME.",
        )
    numbers = dict(zip(labels, range(len(labels)), strict=True))
    return _with_runs(records, (numbers[cell] for cell in cells), cells), column


def _with_runs(
    records: Iterable[Record], runs: Iterable[int], labels: Iterable[str]
) -> list[Record]:
    """Return the records with the number of their run, and what their row calls it."""
    rows = zip(records, runs, labels, strict=True)
    return [{**record, "run": run, RUN_LABEL: label} for record, run, label in rows]


def _check_runs(
    intake: Intake, units: Sequence[tuple[str, ...]], labels: Sequence[str], column: str
) -> None:
    """Refuse an answer that stands twice where every answer has a seed of its own: its seeds are no
    runs, of which each would have one item.

    Raises
    ------
    AnswerError
        An item is answered twice, and a respondent has over twice as many labels as answers to any
        item.
    """
    repeated = find_repeated(units)
    if repeated is None:
        return
    labels_of: dict[str, set[str]] = {}
    n_answers: dict[str, int] = {}
    for unit, n in Counter(units).items():
        n_answers[unit[0]] = max(n, n_answers.get(unit[0], 0))
    for unit, label in zip(units, labels, strict=True):
        labels_of.setdefault(unit[0], set()).add(label)
    if any(len(texts) > 2 * n_answers[name] for name, texts in labels_of.items()):
        first, second = repeated
        refuse_twice(
            f"{units[first][1]} of {units[first][0]} is answered",
            f"{intake.path}: record {intake.numbers[second]}",
            f"record {intake.numbers[first]}",
            f"Keep one of the two; the column {column!r} differs within a run. If it does say the"
            f" run: --columns run={column}.",
        )


def _with_turns(
    records: list[Record], intake: Intake, chosen_columns: Mapping[str, str]
) -> tuple[list[Record], list[str]]:
    """Return the records with the turn in the item's id, and a note, where one id has several
    turns; all turns of an id are one cluster.
    """
    first = first_row(records)
    turn = next(iter(fields.names_in(first, fields.TURNS)), "")
    item = chosen_columns.get("item") or next(iter(fields.names_in(first, fields.IDS)), "")
    if not turn or not item or turn in chosen_columns.values():
        return records, []
    units = intake.units(("model", "form", "judge"), records)
    answers = zip(units, cell_texts(records, item), cells_of(records, "run"), strict=True)
    if find_repeated(answers) is None:
        return records, []
    has_clusters = not first.keys().isdisjoint(fields.CLUSTERS)
    with_turns: list[Record] = []
    for record in records:
        # Turns of one conversation depend on each other, as questions about one picture do.
        cluster: Record = {} if has_clusters else {"cluster": str(record.get(item))}
        name = f"{record.get(item)}/turn{record.get(turn)}"
        with_turns.append({**record, **cluster, item: name})
    return with_turns, [f"an id has several turns ({turn}): each turn is an item of its own"]


MAX_RUNS = 1000
"""More runs than anybody records; a column with more values is a number of another kind."""


def _natural_order(label: str) -> tuple[float, str]:
    value = number(label)
    # Labels that are no numbers stand behind, in the order of their letters.
    return (math.inf if value is None else value, label)


def _find_columns(
    path: str, records: Sequence[Mapping[str, object]], chosen_columns: Mapping[str, str]
) -> dict[str, str]:
    """Return field -> the column that the user says, named as the rows have it.

    Raises
    ------
    AnswerError
        The table does not have the column.
    """
    columns = dict(chosen_columns)
    for field, column in columns.items():
        if records and column not in records[0]:
            # the user writes the heading of the file, and the rows have plain ones
            columns[field] = plain_heading(column)
            if columns[field] not in records[0]:
                raise AnswerError(
                    f"there is no column {column!r} for the field {field!r}",
                    location=path,
                    remedy=f"The columns are {name_fields(records[0])}.",
                )
    return columns


def fields_lacking(
    records: Sequence[Record], columns: Mapping[str, str] | None = None
) -> list[str]:
    """Which of model, item and score no column of a table has; a wide table lacks none.

    >>> fields_lacking([{"model": "a", "question_no": 1, "score": 1.0}])
    ['item']
    """
    from hqm.imports.score_columns import numeric_columns

    chosen_columns = dict(columns or {})
    if not chosen_columns and _of_wide(records):
        return []
    first = first_row(records)
    lacking = []
    if first.keys().isdisjoint(fields.RESPONDENTS):
        lacking.append("model")
    if first.keys().isdisjoint((*fields.IDS, *fields.QUESTIONS, *fields.IMAGES)):
        lacking.append("item")
    # a column `score` with a cell that is no number is not lacking: the reader names the cell
    has_scores = "score" in first or bool(numeric_columns(records, chosen_columns))
    if not answers_in(first) and not has_scores:
        lacking.append("score")
    return [field for field in lacking if field not in chosen_columns]


def _of_wide(records: Sequence[Mapping[str, object]]) -> list[Record]:
    """The rows of a table with a row a respondent and a column an item; empty where it is none.

    The heading of the first column says which way it lies: the name of an item's field makes the
    rows items. With fewer columns it is a table of results, whose columns are no items.
    """
    from hqm.imports.score_columns import is_numeric

    # with a row an item, two models are enough
    has_item_rows = heading_words(str(next(iter(first_row(records)), ""))) in fields.IDS
    min_columns = 3 if has_item_rows else _MIN_ITEMS + 1
    if len(first_row(records)) < min_columns or (len(records) < _MIN_ITEMS and has_item_rows):
        return []
    first, *item_columns = records[0]
    if not KNOWN_COLUMNS.isdisjoint(item_columns):
        return []
    names = cell_texts(records, first)
    # a row a respondent and a column an item: no name stands twice
    if len(set(names)) < len(names) or not all(names):
        return []
    if not all(map(partial(is_numeric, records), item_columns)):
        return []
    rows: list[Record] = []
    for record, name in zip(records, names, strict=True):
        for column in item_columns:
            cell = record.get(column)
            if cell in (None, ""):
                # An empty cell is an item without an answer: a row of its own would have no score.
                continue
            item, model = (name, column) if has_item_rows else (column, name)
            rows.append({"item": item, "model": model, "score": cell})
    return rows
