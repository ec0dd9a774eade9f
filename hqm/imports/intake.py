"""The way in of rows that somebody else wrote: every command takes the rows of a file from here.

`take_rows` reads a file, plans its columns once, and settles what is the same for answers, scores,
judgements, labels and keys: which column is which field, names that look the same, a heading that
stands again among the rows, and rows that sum up others; `scales` does so for columns of scores.
`Intake.notes` says what was decided, in one line each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, count, takewhile
from operator import itemgetter
from pathlib import Path
from typing import NoReturn

from hqm.errors import AnswerError
from hqm.files.datasets import names_picture
from hqm.files.records import MAX_NAMED_FIELDS, read_records
from hqm.imports import row as fields
from hqm.imports.layouts import (
    ROW,
    Record,
    cell_texts,
    cells_of,
    first_row,
    heading_words,
    lay_out,
    rename_columns,
    renamed,
    with_column,
)
from hqm.imports.score_cells import SCORES
from hqm.text import (
    MAX_ADDRESSED_CHARS,
    MAX_NAME_CHARS,
    check_name,
    look_of,
    look_of_id,
    plain_name,
)

FIELDS: Mapping[str, tuple[str, ...]] = {
    "model": fields.RESPONDENTS,
    "item": fields.IDS,
    "score": ("score",),
    "run": fields.RUNS,
    "form": ("form",),
    "judge": fields.JUDGES,
    "rater": ("rater", "annotator"),
    "cluster": fields.CLUSTERS,
    "category": fields.PARTS,
    "answer": fields.ANSWERS,
    "target": fields.KEYS,
    "question": fields.QUESTIONS,
    "image": fields.IMAGES,
    "options": ("options", "choices"),
    "benchmark": fields.TASKS,
}
"""The fields of a row, and the names of columns that are taken for each, the most telling first."""
SUMMARY_NAMES = re.compile(
    r"^((macro|micro|grand|weighted|overall)?[ _-]?(average|avg\.?|mean|total|sum)|overall|all"
    r"|gesamt|summe|mittelwert|durchschnitt|moyenne|somme|total g\u00e9n\u00e9ral|promedio|media"
    r"|totale?|gemiddelde|totaal|\u5e73\u5747|\u5408\u8ba1|\u603b\u8ba1)"
    r"([ _-](scores?|acc(uracy)?|points))?$",
    re.IGNORECASE,
)
"""Names of columns and rows that are the mean or the sum of the others."""
_MEANINGS = {
    "model": "respondents",
    "item": "items",
    "rater": "raters",
    "judge": "judges",
}
_OTHER_COLUMNS = frozenset(
    "label verdict rating judgement judgment reply review role mark uid options choices answer_run"
    " asking state".split()
)
_PATH = "path"
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
HEADINGS = _OTHER_COLUMNS.union(fields.TYPES, *FIELDS.values())
"""The names of columns that mean the same in other cases, such as `Question ID`."""
COLUMNS: Mapping[str, tuple[str, ...]] = {
    field: names for field, names in FIELDS.items() if field != "rater"
}
"""The fields of a row of a table, and the names of columns that are taken for each."""
KNOWN_COLUMNS = frozenset(chain.from_iterable(COLUMNS.values())) | {
    "answer_id",
    "metadata",
    "state",
    "reason",
    "detail",
    "resolution",
    *fields.RUNS,
    fields.RUN_LABEL,
}
"""The columns that are no scores, by their names."""
_READING_FIELDS = ("item", "model", "run", "form", "judge", "rater", "answer", "target", "score")


@dataclass(frozen=True, slots=True)
class Intake:
    """The rows of a file as every command takes them."""

    path: str
    records: list[Record]
    """The rows, their columns named as `FIELDS` names them where they were written otherwise."""
    columns: Mapping[str, str]
    """Field -> the column that holds it, as the file writes it."""
    plain_columns: Mapping[str, str]
    """Field -> the column that holds it, as `records` name it."""
    notes: tuple[str, ...] = ()
    """What a reader should know of how the rows were taken."""
    numbers: tuple[int, ...] = ()
    """The number of each row in the file, from 1, those that were left out counted too."""

    def cells(self, field: str, records: Iterable[Mapping[str, object]]) -> list[str]:
        """Return the texts of a field in these records; all empty where no column holds it."""
        return cell_texts(records, self.plain_columns.get(field, ""))

    def units(
        self, fields: Iterable[str], records: Sequence[Mapping[str, object]]
    ) -> list[tuple[str, ...]]:
        """Return the texts of several fields together, record by record."""
        return list(zip(*[self.cells(field, records) for field in fields], strict=True))

    def with_names(self, names: Mapping[str, str]) -> Intake:
        """Return the rows with these names of the columns that hold these fields."""
        columns = {}
        plain_columns = dict(self.plain_columns)
        for field, name in names.items():
            columns[self.plain_columns.get(field, name)] = name
            if field in plain_columns:
                plain_columns[field] = name
        records = rename_columns(self.records, columns)
        return replace(self, records=records, plain_columns=plain_columns)

    def with_note(self, note: str) -> Intake:
        """Return the rows with a further note."""
        return replace(self, notes=(*self.notes, note))

    def located(self) -> Iterator[tuple[str, Record]]:
        """Each row with its place for messages: `answers.json: record 3`."""
        for number, record in zip(self.numbers, self.records, strict=True):
            yield f"{self.path}: record {number}", record

    @property
    def located_notes(self) -> list[str]:
        """The notes, each behind the path of the file."""
        return [f"{self.path}: {note}" for note in self.notes]

    @property
    def reading(self) -> str:
        """Which column was read as which field, such as `item=question_id, run=seed`."""
        return describe_reading(self.columns)


def describe_reading(columns: Mapping[str, str]) -> str:
    """Say which column was read as which field.

    >>> describe_reading({"run": "seed", "item": "question_id", "image": "picture"})
    'item=question_id, run=seed'
    >>> describe_reading({"model": "model", "question": "question", "image": "path"})
    'item=path and question, model=model'
    """
    if "item" not in columns and "image" in columns and "question" in columns:
        columns = {**columns, "item": f"{columns['image']} and {columns['question']}"}
    return ", ".join(f"{name}={columns[name]}" for name in _READING_FIELDS if name in columns)


def take_rows(
    path: Path | str,
    records: list[Record] | None = None,
    *,
    encoding: str = "utf-8",
    names: Sequence[str] = ("model", "judge", "rater"),
    columns: Mapping[str, str] | None = None,
    headings: Collection[str] = HEADINGS,
    other_columns: Collection[str] = (),
) -> Intake:
    """Take the rows of a file.

    Parameters
    ----------
    records
        The rows, where they are read already.
    names
        The fields whose names must not look alike. Where the items are those of a benchmark, an id
        that is written otherwise is none of them, and need not be compared.
    columns
        Field -> column, where the user says it.
    headings
        The names of columns that are also taken in other cases.
    other_columns
        Columns of this kind of file that hold neither answers nor right answers, whatever such a
        column holds elsewhere.

    Raises
    ------
    DataError
        The file cannot be read; the heading stands again among the rows; or two names look the
        same.
    """
    rows = read_rows(path, encoding) if records is None else records
    layout = lay_out(rows, str(path), columns)
    # a row of empty cells, as spreadsheets leave them, would be a respondent without a name
    filled = [not all(map(_is_blank, row.values())) for row in layout.records]
    rows = list(compress(layout.records, filled))
    numbers = list(compress(count(1), filled))
    n_blank = len(layout.records) - len(rows)
    if not rows:
        return Intake(str(path), rows, {}, {})
    columns = dict(columns or {})
    # Fields that only some records have are found too: the first record alone does not name all
    # columns.
    present = _present_names(rows)
    rows, written_names = _plain_headings(rows, present, columns.values(), headings, str(path))
    present = renamed(present, written_names)
    if _names_pictures(rows, present, columns.values()):
        picture = {_PATH: fields.IMAGES[0]}
        rows = rename_columns(rows, picture)
        present = renamed(present, picture)
        written_names = {**written_names, **picture}
    _check_heading(rows, numbers, list(present), str(path))
    # A user wrote the heading of the file, and must find it in what is said of the reading.
    original_names = dict(zip(written_names.values(), written_names, strict=True))
    planned = _plan_columns(present, columns)
    rivals = set(present).difference(other_columns)
    rival_notes = _check_columns(planned, rivals, columns, rows, numbers, str(path))
    is_kept, notes = _without_summaries(rows, planned, names)
    rows = list(compress(rows, is_kept))
    numbers = list(compress(numbers, is_kept))
    notes += rival_notes
    # before names are compared: 100 and 100.0 are one item
    rows = _with_whole_ids(rows, planned.get("item", ""), notes)
    rows = _without_row_ids(rows, planned, columns, notes)
    for field in names:
        if field in planned:
            _check_lengths(rows, numbers, planned[field], _MEANINGS[field], str(path))
            _check_looks(rows, planned[field], field, planned, str(path))
    for field in ("item", *names):
        rows = _with_trimmed(rows, planned.get(field, ""))
    named_columns = {field: original_names.get(name, name) for field, name in planned.items()}
    if n_blank:
        notes.append(f"rows of empty cells, left out: {n_blank}")
    if layout.note:
        notes.insert(0, f"its rows are {layout.note}")
    return Intake(str(path), rows, named_columns, planned, tuple(notes), tuple(numbers))


def _with_whole_ids(records: list[Record], column: str, notes: list[str]) -> list[Record]:
    """Return the records with ids such as 100.0 as 100, and note it; pandas writes them so where a
    cell of the column was empty once.
    """
    ids = whole_ids(cells_of(records, column))
    if ids is None:
        return records
    notes.append(f"ids such as {records[0][column]} are taken as whole numbers")
    return with_column(records, column, ids)


def whole_ids(ids: Sequence[object]) -> list[str] | None:
    """Return ids such as 100.0 as 100; None where one of them is no such number.

    >>> whole_ids(["1.0", "2.0"]), whole_ids(["1.0", "2"])
    (['1', '2'], None)
    """
    names = map(str, ids)
    integers = list(takewhile(_WHOLE_ID.fullmatch, names))
    if not integers or len(integers) < len(ids):
        return None
    return [name.removesuffix(".0") for name in integers]


def _without_row_ids(
    records: list[Record],
    planned: dict[str, str],
    chosen: Mapping[str, str],
    notes: list[str],
) -> list[Record]:
    """Return the records without ids that number the rows, where another column has ids that
    respondents share, and note it.
    """
    column = planned.get("item", "")
    if column not in fields.IDS or "model" not in planned or "item" in chosen:
        return records
    models = cell_texts(records, planned["model"])
    ids = cell_texts(records, column)
    # Respondents share items: an id that differs in every row of several respondents numbers the
    # rows.
    if len(set(models)) < 2 or len(set(ids)) < len(ids):
        return records
    for name in fields.names_in(first_row(records), fields.IDS):
        cells = cell_texts(records, name)
        n_models = Counter(map(itemgetter(0), set(zip(cells, models, strict=True))))
        if name != column and all(cells) and max(n_models.values()) > 1:
            notes.append(f"{column!r} differs in every row, and is taken as no id of an item")
            planned["item"] = name
            records = list(map(dict, records))
            for record in records:
                record.pop(column, None)
            return records
    return records


def _with_trimmed(records: list[Record], column: str) -> list[Record]:
    """Return the records with the names of a column without white space around them, where no two
    differ by it alone.
    """
    names = _cells(records, column)
    trimmed_names = set(map(str.strip, names))
    if trimmed_names == names or len(trimmed_names) < len(names):
        return records
    cells = cells_of(records, column)
    return with_column(
        records, column, [cell.strip() if isinstance(cell, str) else cell for cell in cells]
    )


_WHOLE_ID = re.compile(r"\d+\.0", re.ASCII)


def _plan_columns(present: Collection[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return field -> column: those that the user says, and those whose names say it."""
    planned = dict(columns)
    for field, aliases in FIELDS.items():
        candidates = fields.names_in(present, aliases)
        if candidates:
            planned.setdefault(field, candidates[0])
    of_model = fields.names_in(fields.OF_A_MODEL, fields.names_in(present, fields.ANSWERS))
    if of_model and planned["answer"] == "answer" and "answer" not in columns:
        # beside what a model wrote, the field `answer` has the right answer
        planned["answer"] = of_model[0]
        planned.setdefault("target", "answer")
    return planned


def _present_names(records: Sequence[Mapping[str, object]]) -> Record:
    """Return a record of empty cells with every name that a field of the records has."""
    # of many records, few differ in their names
    shapes = dict.fromkeys(map(tuple, records))
    return dict.fromkeys(chain.from_iterable(shapes))


def _check_columns(
    planned: Mapping[str, str],
    present: Collection[str],
    columns: Mapping[str, str],
    records: Sequence[Mapping[str, object]],
    numbers: Sequence[int],
    location: str,
) -> list[str]:
    """Refuse columns of answers, or of right answers, that differ, unless the user names one."""
    notes = []
    for field, aliases, unmistakable in (
        ("answer", fields.ANSWERS, fields.OF_A_MODEL),
        ("target", fields.KEYS, fields.KEYS),
    ):
        read = planned.get(field, "")
        if field in columns or read not in aliases:
            continue
        candidates = fields.names_in(set(present).difference(planned.values()), aliases)
        rivals = fields.names_in(unmistakable, candidates)
        if rivals and field == "answer" and _has_verdicts(records):
            from hqm.imports.rival_columns import rivals_note

            # what a harness judged already is not read out of the answer again
            notes.append(rivals_note(field, read, rivals))
        elif rivals:
            from hqm.imports.rival_columns import check_rivals

            cells = {name: cell_texts(records, name) for name in (read, *rivals)}
            are_keys = field == "target"
            notes += check_rivals(field, cells, location, are_keys=are_keys, numbers=numbers)
    for field, aliases in (("model", fields.RESPONDENTS), ("item", fields.IDS)):
        read = planned.get(field, "")
        candidates = fields.names_in(present, aliases)
        if field not in columns and read in candidates and len(candidates) > 1:
            from hqm.imports.rival_columns import check_rival_names

            ordered = dict.fromkeys((read, *candidates))
            cells = {name: cell_texts(records, name) for name in ordered}
            notes += check_rival_names(field, cells, location, numbers)
    return notes


def _has_verdicts(records: Sequence[Mapping[str, object]]) -> bool:
    """Whether a column says true or false of each answer."""
    for name, value in first_row(records).items():
        if isinstance(value, bool) and {*map(type, cells_of(records, name))} == {bool}:
            return True
    return False


def read_rows(path: Path | str, encoding: str = "utf-8") -> list[Record]:
    """Return the records of a file, those of Parquet without their numbers, which its reader
    counted.
    """
    records = read_records(path, encoding)
    # the reader counts from 0, as texts; a column of the file's own may be anything
    numbers = map(str, range(len(records)))
    if not str(path).lower().endswith(".parquet") or cells_of(records, ROW) != list(numbers):
        return records
    records = list(map(dict, records))
    for record in records:
        del record[ROW]
    return records


def _is_blank(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


# --- columns ---


def plain_heading(name: str, headings: Collection[str] = HEADINGS) -> str:
    """Return the name of a column as rows have it: that of a field in lower case, others as they
    look.

    >>> plain_heading("Question ID"), plain_heading("ModelName"), plain_heading(" Score A")
    ('question_id', 'model_name', 'Score A')
    """
    for spelling in (name, _CAPITAL.sub("_", name)):  # questionId, ModelName
        plain = heading_words(spelling)
        if plain in headings:
            return plain
    return name.strip() if name.isascii() else plain_name(name)


def _plain_headings(
    records: list[Record],
    present: Iterable[str],
    chosen: Iterable[str],
    headings: Collection[str],
    location: str = "",
) -> tuple[list[Record], dict[str, str]]:
    """Return the records with plain headings (known fields in lower case, other columns without
    invisible characters), and plain heading -> heading as written, where they differ.

    Raises
    ------
    DataError
        Two columns have the name of one field in other cases, and differ.
    """
    names = set(present)
    kept = set(chosen)
    written_names: dict[str, str] = {}
    first_names: dict[str, str] = {}
    for name in sorted(names - kept, key=str):
        plain = plain_heading(str(name), headings)
        if plain == name:
            continue
        same_heading = plain if plain in names else first_names.get(plain)
        if same_heading is None:
            first_names[plain] = name
            written_names[name] = plain
        # JSON records may each have one of the two; whoever reads them says which is misspelt
        elif plain in headings and all({same_heading, name} <= record.keys() for record in records):
            from hqm.imports.rival_columns import check_same_column

            cells = {column: cell_texts(records, column) for column in (same_heading, name)}
            check_same_column(cells, location)
    if not written_names:
        return records, {}
    return rename_columns(records, written_names), written_names


def _names_pictures(
    records: Sequence[Mapping[str, object]], present: Collection[str], chosen: Collection[str]
) -> bool:
    """Return whether a column `path` says the picture of every row, and no other column does. A
    path may also be that of a log, or of a value in an object.
    """
    if _PATH not in present or _PATH in chosen or not set(present).isdisjoint(fields.IMAGES):
        return False
    return all(map(names_picture, cell_texts(records, _PATH)))


def rename_headings(
    records: list[Record], headings: Collection[str] = HEADINGS, location: str = ""
) -> list[Record]:
    """Return records with the names of fields in lower case, such as `question_id` for
    `Question ID`.
    """
    return _plain_headings(records, _present_names(records), (), headings, location)[0]


def _check_heading(
    records: Sequence[Mapping[str, object]],
    numbers: Sequence[int],
    present: Sequence[str],
    location: str,
) -> None:
    """Refuse a heading that stands again among the rows, as where files were put together."""
    for number, record in zip(numbers, records[:_MAX_LEGEND_ROWS], strict=False):
        if is_legend(record):
            refuse_legend(f"{location}: record {number}")
    # A heading that stands again has the name of the first column in the first column, or that of
    # the second behind a number that counts rows.
    if not any(_holds_own_name(records, name) for name in present[:2]):
        return
    for number, record in zip(numbers, records, strict=True):
        if is_heading(record):
            refuse_heading(f"{location}: record {number}")


def _holds_own_name(records: Sequence[Mapping[str, object]], column: str) -> bool:
    """Whether a cell of a column is the column's name, or another name of its field."""
    names = _names_of_column(column)
    # only texts as long as a name can be it, which spares the look at most cells
    lengths = set(map(len, names))
    texts = [text for text in _cells(records, column) if len(text.strip()) in lengths]
    return not names.isdisjoint(map(heading_words, texts))


# --- identity ---


def _cells(records: Iterable[Mapping[str, object]], column: str) -> set[str]:
    """Return the texts that stand in a column."""
    return {cell for record in records if type(cell := record.get(column)) is str}


def _check_lengths(
    records: Sequence[Mapping[str, object]],
    numbers: Sequence[int],
    column: str,
    subject: str,
    location: str,
) -> None:
    """Refuse names that are longer than a name may be, or than one with its address."""
    for number, record in zip(numbers, records, strict=True):
        name = record.get(column)
        if type(name) is not str or len(name) <= MAX_NAME_CHARS:
            continue
        # A name may carry the address that the model was asked at.
        if "@" not in name or len(name) > MAX_ADDRESSED_CHARS:
            check_name(name, f"name of one of the {subject}", f"{location}: record {number}")


def _check_looks(
    records: Sequence[Mapping[str, object]],
    column: str,
    field: str,
    columns: Mapping[str, str],
    location: str,
) -> None:
    """Refuse two names of a column that look the same.

    Ids of items may differ by their case alone where the same respondents answered both: then they
    are two items, and not one that is written in two ways.
    """
    alike = find_alike(_cells(records, column), look_of_id if field == "item" else look_of)
    for first, second in alike:
        is_spacing = plain_name(first) == plain_name(second)
        if field == "item" and not is_spacing:
            model = columns.get("model", "")
            first_models = _cells_beside(records, model, column, first)
            second_models = _cells_beside(records, model, column, second)
            if first_models == second_models and len(first_models) > 1:
                continue
        refuse_alike(_MEANINGS[field], first, second, location)


def _cells_beside(
    records: Iterable[Mapping[str, object]], column: str, key_column: str, key: str
) -> set[str]:
    """Return the texts of a column in the records that have this key in another one."""
    return {str(record.get(column)) for record in records if record.get(key_column) == key}


def find_alike(names: Iterable[str], look: Callable[[str], str] = look_of) -> list[tuple[str, str]]:
    """Return every pair of names that look the same, as `look_of` or `look_of_id` says.

    >>> find_alike(["m0", "m1", "M0 "])
    [('M0 ', 'm0')]
    """
    looks: dict[str, str] = {}
    alike = []
    for name in sorted(names):
        first = looks.setdefault(look(name), name)
        if first != name:
            alike.append((first, name))
    return alike


def refuse_alike(subject: str, first: str, second: str, location: str) -> NoReturn:
    """Raise that two names look the same."""
    raise AnswerError(
        f"the {subject} {first!r} and {second!r} look the same",
        location=location,
        remedy="Write the name of one in one way.",
    )


def refuse_twice(
    unit: str, location: str, first: str = "", remedy: str = "Keep one of the two."
) -> NoReturn:
    """Raise that something stands twice, such as `q0 of m0 is answered`."""
    first_phrase = f", first in {first.rpartition(': ')[2]}" if first else ""
    raise AnswerError(f"{unit} twice{first_phrase}", location=location, remedy=remedy)


def find_repeated(units: Iterable[Hashable]) -> tuple[int, int] | None:
    """Return the positions of the first unit that stands twice; None where each stands once.

    >>> find_repeated(["a", "b", "a"]), find_repeated("ab")
    ((0, 2), None)
    """
    first: dict[Hashable, int] = {}
    for index, unit in enumerate(units):
        if first.setdefault(unit, index) != index:
            return first[unit], index
    return None


def _without_summaries(
    records: Sequence[Mapping[str, object]], columns: Mapping[str, str], names: Sequence[str]
) -> tuple[list[bool], list[str]]:
    """Return which records are of no respondent, and of no item, that is a mean or a sum of the
    others, and a note on each.
    """
    is_kept = [True] * len(records)
    notes = []
    for field in ("model", "item"):
        if field not in columns or field not in names:
            continue
        labels = cells_of(records, columns[field])
        texts = {cell for cell in compress(labels, is_kept) if type(cell) is str}
        summaries = {text for text in texts if SUMMARY_NAMES.match(text.strip())}
        if field == "item":
            summaries |= {text for text in texts if heading_words(text) in SCORES}
        # where all are called so, they are no summaries of others
        if not summaries or summaries == texts:
            continue
        n_before = sum(is_kept)
        # a list or an object is no name, and cannot be looked up
        is_summary = [type(cell) is str and cell in summaries for cell in labels]
        is_kept = [was and not summary for was, summary in zip(is_kept, is_summary, strict=True)]
        n_rows = n_before - sum(is_kept)
        listed = ", ".join(map(repr, sorted(summaries)[:MAX_NAMED_FIELDS]))
        verb = "row of {} is" if n_rows == 1 else "rows of {} are"
        notes.append(
            f"{n_rows} {verb.format(listed)} left out: a mean or a sum of others is none of the"
            f" {_MEANINGS[field]}"
        )
    return is_kept, notes


def check_benchmark(benchmark: str, row_benchmarks: Iterable[str], location: str) -> None:
    """Refuse rows that say of themselves that they answer another benchmark.

    A tool may name it with more words, a part or a version, so that one name may hold the other.

    Raises
    ------
    AnswerError
        Neither name holds the other.
    """
    own = plain_letters(benchmark)
    for name in sorted(set(row_benchmarks)):
        letters = plain_letters(name)
        # MMBench is also MMBench_DEV_EN: tools add a part, a version or a language
        if letters and own and letters not in own and own not in letters:
            raise AnswerError(
                f"its rows say that they answer {name!r:.80}, and not {benchmark!r}",
                location=location,
                remedy="Name the benchmark that was answered, or correct the column benchmark.",
            )


def plain_letters(name: str) -> str:
    """Return the letters and digits of a name, as it looks.

    >>> plain_letters("MM-Bench_EN")
    'mmbenchen'
    """
    return re.sub(r"[\W_]+", "", look_of(name))


# --- headings ---


def is_heading(cells: Mapping[str, object]) -> bool:
    """Whether every cell of a row is the name of its column, or another name of its field; of a row
    of several known fields, the cells of these alone.

    >>> is_heading({"item": "Item", "run": "run"}), is_heading({"item": "1", "run": "run"})
    (True, False)
    >>> is_heading({"model_name": "model", "item": "Question ID", "cost": "12"})
    True
    """
    # An empty cell says nothing either way; one name alone may be an answer that equals its
    # heading.
    texts = [(name, str(cell)) for name, cell in cells.items() if cell not in (None, "")]
    known_fields = [(name, text) for name, text in texts if heading_words(name) in HEADINGS]
    words = known_fields if len(known_fields) > 1 else texts
    return len(words) > 1 and all(
        heading_words(text) in _names_of_column(name) for name, text in words
    )


_TYPE_WORDS = frozenset(
    "string str text char character int integer int64 long float float64 double number numeric"
    " decimal bool boolean logical object category factor date datetime".split()
)
# Qualtrics writes a row of {"ImportId": ...} below its heading, and others one of units.
_LEGEND_CELL = re.compile(r"[(\[<].*[)\]>]|\{\s*\"ImportId\".*", re.DOTALL)


def is_legend(cells: Mapping[str, object]) -> bool:
    """Whether a row says what its columns hold: their types, or their units in brackets.

    >>> is_legend({"model": "string", "score": "float"}), is_legend({"model": "(name)", "s": "(%)"})
    (True, True)
    """
    filled = [cell for cell in cells.values() if cell not in (None, "")]
    texts = [cell.strip() for cell in filled if isinstance(cell, str)]
    if len(texts) < max(2, len(filled)):
        return False
    return {text.lower() for text in texts} <= _TYPE_WORDS or all(
        map(_LEGEND_CELL.fullmatch, texts)
    )


def refuse_legend(location: str) -> NoReturn:
    """Raise that a row says what the columns hold."""
    raise AnswerError(
        "the row says what the columns hold, and is none of data",
        location=location,
        remedy="Keep the heading, and remove the rows between it and the data.",
    )


_MAX_LEGEND_ROWS = 3


def _names_of_column(name: str) -> set[str]:
    """The name of a column, and those of the same field."""
    plain = heading_words(name)
    return {plain}.union(*(aliases for aliases in FIELDS.values() if plain in aliases))


def refuse_heading(location: str) -> NoReturn:
    """Raise that a heading stands again among the rows."""
    raise AnswerError(
        "the heading stands again among the rows",
        location=location,
        remedy="Remove that row; where files were put together, keep one heading.",
    )
