"""How the rows of a file may lie: a record a row, or an object or a sheet that holds them
otherwise.

`lay_out` turns what people leave into a record a row: an object from item to answer, an object of
columns, rows below a heading such as `results` or a split, and sheets whose columns carry the
model's name. Where two readings are possible, it refuses and says what to type.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count, product
from pathlib import PurePath
from typing import TypeGuard, cast

from hqm.errors import AnswerError
from hqm.files.records import file_stem, name_fields
from hqm.imports import row as fields
from hqm.imports.score_cells import SCORES, score_of
from hqm.text import plain_name

Record = dict[str, object]
"""A row of a file, its cells by the names of their columns."""
MIN_ITEMS = 5
"""An object of so few texts, or of one more, may as well be one record with unknown fields."""
KEY = "key"
NAME = "name"
VALUE = "value"
PATH = "path"
"""What the names and the values of an object of objects are called in `--columns`; the path of a
row is its names and its number below them, such as `video 3/order/1`.
"""
ROW = "row"
FILE = "file"
FOLDERS = ("folder", "folder2", "folder3")
"""What the number of a row in its file, from 1, the file's name and those of the folders around it
are called in `--columns`, where no column is called so.
"""
_CONTAINERS = frozenset(
    "results samples predictions outputs answers responses data records rows items examples"
    " instances details logs entries generations annotations".split()
)
"""Names below which a file keeps its rows."""
_SPLITS = frozenset("train training val valid validation dev test testmini".split())
_SETTINGS = ("config", "args", "settings", "metadata", "info", "model_args", "parameters")
_OF_ALL_ROWS = frozenset(
    (*fields.RESPONDENTS, *fields.TASKS, *fields.JUDGES, *fields.RUNS, "form", "split")
)
"""Fields that a file may say once for all its rows."""
_FIELD_NAMES = frozenset(
    (
        *fields.IDS,
        *fields.ANSWERS,
        *fields.KEYS,
        *fields.QUESTIONS,
        *fields.IMAGES,
        *fields.RESPONDENTS,
        *SCORES,
        *fields.PARTS,
        *fields.TASKS,
        *fields.RUNS,
        *fields.JUDGES,
        "options",
        "choices",
        "form",
        "state",
    )
)
_TELLING = frozenset(
    (*fields.ANSWERS, *fields.KEYS, *fields.QUESTIONS, *fields.RESPONDENTS, *SCORES)
)
"""Fields of which a row has one: an answer, a key, a question, a respondent or a score."""
_ROW_FIELDS = frozenset((*fields.IDS, *fields.ANSWERS, *fields.KEYS, *fields.QUESTIONS))
_SAYING = frozenset((*fields.ANSWERS, *fields.KEYS, *fields.QUESTIONS))
_RESPONSES = fields.OF_A_MODEL.union(SCORES)
_PARTS_OF_ROWS = frozenset("choices options messages conversations".split())
"""Lists of objects that a row has, and that are no rows."""
_RESULT = re.compile(r"[-+\d.,/%=\s]*\d[-+\d.,/%=\s]*")
"""A number, a share, or how many of how many: what a table of results holds, and no answer."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The rows of a file, and how they lay in it."""

    records: list[Record]
    note: str = ""
    """What was made of the file, in one line; empty where it has a record a row."""


def lay_out(
    records: list[Record], location: str, columns: Mapping[str, str] | None = None
) -> Layout:
    """Return the rows of a file, however they lie.

    Parameters
    ----------
    records
        What was read from it: rows, or the one object that it holds.
    columns
        Field -> column, where the user says it.

    Raises
    ------
    AnswerError
        The file may be read in two ways, or its columns are of different lengths.
    """
    layout = _of_file(records, location, columns or {})
    rows = _with_location(layout.records, (columns or {}).values(), location)
    rows = _with_inner_cells(rows, (columns or {}).values(), records)
    return replace(layout, records=rows)


def _of_file(records: list[Record], location: str, columns: Mapping[str, str]) -> Layout:
    """The rows of a file, without the cells that lie inside others."""
    if len(records) == 1 and not _is_row(records[0]):
        layout = _of_document(records[0], location, columns)
        if layout is not None:
            return layout
    headings = headings_of(records[0]) if records else set()
    # the Item Response Warehouse calls the respondent `id`, which elsewhere is the item
    if headings >= _RESPONSE_COLUMNS.keys() and headings.isdisjoint(fields.ANSWERS):
        return _of_responses(records)
    return _of_sheet(records, location, columns)


def _with_location(rows: list[Record], names: Collection[str], location: str) -> list[Record]:
    """The rows with where they lie, as far as the user names it."""
    path = PurePath(location.replace("\\", "/"))
    # The folder next to the file is FOLDERS[0], since only that end is the same on every machine.
    cells = {FILE: file_stem(path), **dict(zip(FOLDERS, reversed(path.parent.parts), strict=False))}
    laid: list[Record] = []
    for number, row in enumerate(rows, 1):
        cells[ROW] = str(number)
        added_cells = {}
        for name in names:
            parts = name.split("+")
            if name not in row and cells.keys() >= set(parts):
                added_cells[name] = "/".join(cells[part] for part in parts)
        # A column of the file's own goes before what HQM would call so.
        laid.append({**added_cells, **row})
    return laid


def _with_inner_cells(
    rows: list[Record], names: Collection[str], records: Sequence[Record]
) -> list[Record]:
    """The rows with the cells that the user names by a path, such as `stars.correctness`; one that
    no row has is that of the file's one object, such as `meta.model.name`.
    """
    for name in names:
        if "." not in name or not rows or name in rows[0]:
            continue
        cells = [inner_cell(row, name) for row in rows]
        # said once for the file, beside its rows
        if len(records) == 1 and cells.count(None) == len(cells):
            cells = [inner_cell(records[0], name)] * len(rows)
        if cells.count(None) < len(cells):
            rows = with_column(rows, name, cells)
    return rows


def inner_cell(value: object, path: str) -> object:
    """What lies at a path in objects and lists; None where nothing does.

    >>> inner_cell({"log": [{"v1.5": 3}]}, "log.0.v1.5")
    3
    """
    if isinstance(value, list):
        # A member of a list is named by its number, from 0, as in JSON paths.
        value = dict(zip(map(str, count()), value, strict=False))
    if not isinstance(value, Mapping):
        return None
    if path in value:
        return value[path]
    # a name may have dots of its own
    for dot in re.finditer(r"\.", path):
        name = path[: dot.start()]
        remainder = path[dot.end() :]
        if name in value and (cell := inner_cell(value[name], remainder)) is not None:
            return cell
    return None


def heading_words(name: str) -> str:
    """A heading in lower case, its words joined with `_`, without invisible characters.

    >>> heading_words(" Question ID"), heading_words("match?"), heading_words("judge\\u200b")
    ('question_id', 'match', 'judge')
    """
    return re.sub(r"[\s-]+", "_", plain_name(name).strip(" ?:").lower())


def headings_of(names: Iterable[object]) -> set[str]:
    """Return the names of fields as `heading_words` writes them."""
    return {heading_words(str(name)) for name in names}


def _is_row(record: Record) -> bool:
    """Whether an object is a row itself, and holds no rows of its own."""
    scalars = set()
    has_rows = has_container = False
    for name, value in record.items():
        plain = heading_words(str(name))
        if not isinstance(value, (dict, list)):
            scalars.add(plain)
        elif plain not in _PARTS_OF_ROWS:
            has_rows = has_rows or _holds_rows(value)
            has_container = has_container or (plain in _CONTAINERS and isinstance(value, dict))
    if has_rows or (has_container and scalars.isdisjoint(fields.ANSWERS)):
        return False
    return not scalars.isdisjoint(_ROW_FIELDS)


def _is_object(value: object) -> TypeGuard[Record]:
    return isinstance(value, dict)


def _is_nested(value: object) -> bool:
    return isinstance(value, (dict, list))


def _holds_rows(value: object, column_names: Collection[str] = ()) -> bool:
    """Whether a value is a list of objects, or an object of objects, that say what a row says, or
    what the user chose.
    """
    members = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(members, list) or not members:
        return False
    if not all(map(_is_object, members)):
        return False
    return not headings_of(members[0]).isdisjoint(_TELLING) or any(
        inner_cell(members[0], name) is not None for name in column_names
    )


# --- one object ---


def _of_document(record: Record, location: str, columns: Mapping[str, str]) -> Layout | None:
    """The rows of a file that is one object; None where it is laid out in no known way."""
    if not record:
        return None
    # In this order: a split frame is also an object of lists, and lists of cells are no rows.
    for read in (
        _of_split_frame,
        partial(_of_lists, column_names=frozenset(columns.values())),
        _of_keyed_columns,
        partial(_of_wrapper, column_names=frozenset(columns.values())),
        _of_keyed_rows,
        _of_texts,
    ):
        layout = read(record, location)
        if layout is not None:
            return layout
    return _of_objects(record, location, columns)


def _of_split_frame(record: Record, location: str) -> Layout | None:
    """The rows of `{"columns": [...], "data": [[...], ...]}`, as pandas writes with `split`."""
    names = record.get("columns")
    rows = record.get("data")
    if not isinstance(names, list) or not isinstance(rows, list) or not rows:
        return None
    if not all(isinstance(cells, list) for cells in rows):
        return None
    if set(map(len, rows)) != {len(names)}:
        _refuse_lengths({"columns": names, "data": max(rows, key=len)}, location)
    return Layout(_rows_of(map(str, names), rows), "a list of columns, and a list of rows")


def _rows_of(names: Iterable[str], rows: Iterable[Iterable[object]]) -> list[Record]:
    """The rows of lists of cells, below these names."""
    columns = tuple(names)
    return [dict(zip(columns, cells, strict=True)) for cells in rows]


def _of_lists(record: Record, location: str, column_names: Collection[str]) -> Layout | None:
    """The rows of an object of columns, each a list; every row has what the user chose beside
    them.
    """
    lists: dict[str, list[object]] = {}
    # As `DataFrame.to_dict("list")` of pandas and `Dataset.to_dict` of the datasets library write
    # it.
    columns: dict[str, list[object]] = {}
    for name, cells in record.items():
        column = str(name) if name in column_names else _field_name(str(name))
        # a list of objects is rows, but where each is part of a row, such as its options
        is_part = heading_words(column) in _PARTS_OF_ROWS
        if isinstance(cells, list) and cells and (is_part or not isinstance(cells[0], dict)):
            lists[column] = cells
            if heading_words(column) in _FIELD_NAMES or name in column_names:
                columns[column] = cells
    if not columns or len(lists) < 2:
        return None
    n_rows, *other_lengths = dict.fromkeys(map(len, columns.values()))
    if other_lengths:
        _refuse_lengths(columns, location)
    # a list of another length says something of the file, such as the ids of examples
    full = {name: cells for name, cells in lists.items() if len(cells) == n_rows}
    laid = _rows_of(full, zip(*full.values(), strict=True))
    shared = {name: cell for name, cell in record.items() if name in column_names - lists.keys()}
    rows = _with_shared(shared, _with_settings(laid, record))
    return Layout(rows, "an object of columns, each a list")


def _of_keyed_columns(record: Record, location: str) -> Layout | None:
    """The rows of an object of columns, each an object from item to cell."""
    # As pandas writes a frame by default: column -> row -> cell.
    objects: dict[str, Record] = {}
    for name, cells in record.items():
        if _is_keyed_column(cells):
            objects[_field_name(str(name))] = cells
    columns = [name for name in objects if heading_words(name) in _FIELD_NAMES - _SPLITS]
    if not columns:
        return None
    first = objects[columns[0]]
    # columns about the same items; an object of settings has names of its own
    full = {name: cells for name, cells in objects.items() if not first.keys().isdisjoint(cells)}
    if len(full) < 2:
        return None
    has_ids = not headings_of(full).isdisjoint(fields.IDS)
    laid: list[Record] = []
    for item in dict.fromkeys(chain.from_iterable(full.values())):
        row: Record = {} if has_ids else {"item": item}
        for name, cells in full.items():
            row[name] = cells.get(item)
        laid.append(row)
    note = f"the columns {name_fields(full)}, each an object from item to cell"
    return Layout(_with_settings(laid, record), note)


def _is_keyed_column(value: object) -> TypeGuard[Record]:
    if not isinstance(value, dict) or not value:
        return False
    if any(map(_is_object, value.values())):
        return False
    return headings_of(value).isdisjoint(_FIELD_NAMES)


def _field_name(name: str) -> str:
    """A column's name as a row's field has it: `answers` is `answer`."""
    plain = heading_words(name)
    singular = plain.removesuffix("s")
    if plain not in _FIELD_NAMES and singular in _FIELD_NAMES:
        return singular
    return name


def _refuse_lengths(columns: Mapping[str, Sequence[object]], location: str) -> None:
    lengths = ", ".join(f"{name!r} {len(cells)}" for name, cells in columns.items())
    raise AnswerError(
        f"its columns have different lengths: {lengths}",
        location=location,
        remedy="Write a cell for every row, null where there is none.",
    )


def _of_wrapper(record: Record, location: str, column_names: Collection[str]) -> Layout | None:
    """The rows below one heading such as `results`, or below the names of splits."""
    splits = record.get("splits")
    if isinstance(splits, dict) and splits and all(map(_is_object, splits.values())):
        laid = []
        for name, value in splits.items():
            laid += _with_shared({"split": name}, _rows_below(name, value, location))
        return Layout(_with_settings(laid, record), f"the rows below {name_fields(splits)}")
    lists: dict[str, object] = {}
    for name, value in record.items():
        is_container = heading_words(str(name)) in _CONTAINERS | _SPLITS
        is_rows = isinstance(value, list) and _holds_rows(value) and name not in _PARTS_OF_ROWS
        is_rows = is_rows or (is_container and _holds_rows(value, column_names))
        if is_rows or (is_container and isinstance(value, dict) and value):
            lists[str(name)] = value
    if not lists:
        return None
    if headings_of(lists) <= _SPLITS:
        laid = []
        for name, value in lists.items():
            laid += _with_shared({"split": name}, _rows_below(name, value, location))
        note = f"the rows below {name_fields(lists)}"
        return Layout(_with_settings(laid, record), note)
    lists = _with_chosen_cells(lists, column_names)
    # splits hold rows of one kind, and others need not
    if len(lists) > 1:
        names = list(lists)
        raise AnswerError(
            f"it has rows below {' and below '.join(map(repr, names[:5]))}",
            location=location,
            remedy=f"Write what is below {names[0]!r} into a file of its own; or name columns that"
            " one of them has: --columns answer=NAME.",
        )
    ((name, value),) = lists.items()
    laid = _rows_below(name, value, location, column_names)
    if laid:
        return Layout(_with_settings(laid, record), f"the rows below {name!r}")
    return None


def _with_chosen_cells(lists: dict[str, object], names: Collection[str]) -> dict[str, object]:
    """The lists of rows whose first row has a cell that the user names; all where none has."""

    def has_chosen_cell(name: str) -> bool:
        return any(inner_cell(lists[name], f"0.{column}") is not None for column in names)

    return {name: lists[name] for name in filter(has_chosen_cell, lists)} or lists


def _rows_below(name: str, value: object, location: str, names: Iterable[str] = ()) -> list[Record]:
    if isinstance(value, list):
        # Copies, since later steps add cells to the rows.
        return list(map(dict, value))
    columns = dict(zip(names, names, strict=True))
    layout = _of_document(value, f"{location}: {name}", columns) if _is_object(value) else None
    return layout.records if layout else []


def _with_shared(cells: Mapping[str, object], rows: Iterable[Record]) -> list[Record]:
    """The rows with cells that they share, behind their own of the same name."""
    # What a row says of itself goes before what the file says of all.
    return [{**cells, **row} for row in rows]


def _with_settings(rows: list[Record], record: Record) -> list[Record]:
    """The rows with what the file says once for all of them, such as its model."""
    settings = {}
    for name, value in record.items():
        plain = heading_words(str(name))
        if plain in _OF_ALL_ROWS and isinstance(value, (str, int)) and value != "":
            settings["respondent" if plain in fields.RESPONDENTS else plain] = value
    for name in _SETTINGS:
        nested = record.get(name)
        # an object may describe the model at length: no name is made of it
        if isinstance(nested, dict) and isinstance(nested.get("model"), str):
            # A field beside the rows goes before one inside the settings.
            settings.setdefault("respondent", nested["model"])
    if rows and not headings_of(rows[0]).isdisjoint(fields.RESPONDENTS):
        settings.pop("respondent", None)
    return _with_shared(settings, rows)


def _of_keyed_rows(record: Record, location: str) -> Layout | None:
    """The rows of an object from item to row."""
    rows = list(filter(_is_object, filter(None, record.values())))
    if len(rows) < len(record):
        return None
    # names of fields are no items: such an object is a row, or holds columns
    if not headings_of(record).isdisjoint(_FIELD_NAMES | _SPLITS):
        return None
    # scores alone may be those of an item or of a model
    if any(headings_of(row).isdisjoint(_SAYING) for row in rows):
        return None
    names = list(map(str, record))
    id_name = next(iter(fields.names_in(rows[0], fields.IDS)), "")
    # Where the rows have ids too, names that only count them are no ids.
    own_ids = list(map(str, cells_of(rows, id_name))) if id_name else names
    if own_ids != names and not _are_counts(own_ids):
        if not _are_counts(names):
            raise AnswerError(
                f"each of its rows has two names, such as {names[0]!r} and {id_name}"
                f" {own_ids[0]!r}",
                location=location,
                remedy=f"Write a list of the rows, or leave out {id_name}.",
            )
        return Layout(list(map(dict, rows)), "an object from number to row")
    return Layout(with_column(rows, "item", names), "an object from item to row")


def _are_counts(names: Sequence[str]) -> bool:
    """Whether names only count the rows, from 0 or from 1."""
    numbers = list(map(str, range(len(names) + 1)))
    return names in (numbers[:-1], numbers[1:])


def _of_texts(record: Record, location: str) -> Layout | None:
    """The rows of an object from item to answer."""
    texts = [value for value in record.values() if value is not None]
    # few texts may be one record with unknown fields
    if len(record) <= MIN_ITEMS or any(map(_is_nested, texts)):
        return None
    if not headings_of(record).isdisjoint(_FIELD_NAMES) or all(map(_is_result, texts)):
        return None
    rows = zip(map(str, record), record.values(), strict=True)
    return Layout(_rows_of(("item", "answer"), rows), "an object from item to answer")


def _of_objects(record: Record, location: str, columns: Mapping[str, str]) -> Layout | None:
    """The rows of an object of objects, or of lists of rows, once the user says what its names are.

    `{"a": {"b": "yes"}}` may be a model's answer to an item, or an item's answer by a model.
    """
    column_names = frozenset(columns.values())
    laid: list[Record] = []
    for key, value in record.items():
        rows = _rows_of_object(value, column_names)
        if not rows and value not in ({}, []):
            return None
        laid += _with_shared({KEY: str(key)}, rows)
    if len(record) < 2 or not laid:
        return None
    if not column_names.isdisjoint((KEY, PATH)):
        return Layout(_with_counts(laid, columns), f"objects below {len(record)} names")
    # an object of few numbers is a table of results, and no log
    cells = [row[VALUE] for row in laid if VALUE in row]
    if cells and all(map(_is_result, cells)):
        return None
    remedy = f"--columns model={KEY}"
    subject = f"{KEY} {next(iter(record))!r}"
    if NAME in laid[0]:
        remedy += f",item={NAME}"
        subject += f", {NAME} {laid[0][NAME]!r}"
    if cells:
        remedy += f",answer={VALUE}"
    raise AnswerError(
        f"it is an object of objects, whose names may be models, items or parts ({subject})",
        location=location,
        remedy=f"Say what they are, such as {remedy}.",
    )


def _rows_of_object(value: object, column_names: Collection[str]) -> list[Record]:
    """The rows of one object of several: itself, its list of rows, or the rows of each name in it;
    none where it is laid out otherwise.
    """
    rows = _rows_of_leaf(value, column_names)
    if rows or not isinstance(value, dict):
        return rows
    if not any(map(_is_nested, value.values())):
        return _rows_of((NAME, VALUE), zip(map(str, value), value.values(), strict=True))
    for name, cell in value.items():
        cell_rows = _rows_of_leaf(cell, column_names)
        if not cell_rows:
            return []
        rows += _with_shared({NAME: str(name)}, cell_rows)
    return rows


def _rows_of_leaf(value: object, column_names: Collection[str]) -> list[Record]:
    """A row, or a list of rows; else none."""
    if _is_object(value) and _holds_rows([value], column_names):
        return [value]
    if isinstance(value, list) and _holds_rows(value, column_names):
        return list(value)
    return []


def _with_counts(laid: list[Record], columns: Mapping[str, str]) -> list[Record]:
    """The rows of objects with their path; and with the run, where the names say the model and the
    item.
    """
    # Where the names say model and item, a second row of the same pair is another run.
    has_runs = {columns.get("model"), columns.get("item")} == {KEY, NAME}
    counts: Counter[tuple[object, object]] = Counter()
    records: list[Record] = []
    for row in laid:
        key = row[KEY]
        name = row.get(NAME)
        counts[key, name] += 1
        number = counts[key, name]
        levels = [str(level) for level in (key, name, number) if level is not None]
        row = {**row, PATH: "/".join(levels)}
        records.append({"run": number, **row} if has_runs else row)
    return records


def _is_result(cell: object) -> bool:
    return not isinstance(cell, str) or bool(_RESULT.fullmatch(cell.strip()))


# --- sheets whose columns carry the model's name ---

_ROLES: Mapping[str, re.Pattern[str]] = {
    "read": re.compile(
        r"^(?P<name>.*?)_?(?:answer_|response_)?(?:extracted|parsed)(?:_(?:answer|response))?$"
    ),
    "response": re.compile(
        r"^(?P<name>.*?)_?(?:raw_(?:answer|response|output)|(?:answer|response|output)_raw"
        r"|answer|response|output|prediction|pred|reply|completion|raw)$"
    ),
    "score": re.compile(
        r"^(?P<name>.*?)_?(?:(?:answer|response)_)?"
        r"(?:is_)?(?:correct|right|match|score|acc|accuracy|hit|grade)$"
    ),
}
"""What a column is of one model, by how its heading ends; the model's name goes before."""
_GENERIC = frozenset(
    "model predicted pred llm vlm full final system student ai assistant generated".split()
)
"""Words before `answer` and the like that say whose it is without a name."""
_NO_ANSWERS = frozenset(
    "true right correct gold gt ground_truth reference expected target label human user short long"
    " multiple_choice multi_choice wrong incorrect distractor best alternative other candidate"
    " actual first last raw parsed extracted normalized is exact my question image type".split()
)
"""Words before `answer` and the like of a text that no model wrote."""


def _of_sheet(records: list[Record], location: str, columns: Mapping[str, str]) -> Layout:
    """The rows of a sheet, a row for each model that its columns name."""
    index_name = _index_column(records)
    if index_name is not None:
        records = list(map(dict, records))
        for record in records:
            record.pop(index_name, None)
    first = first_row(records)
    # what the user says of a column is not guessed from the headings
    if not {"model", "answer"}.isdisjoint(columns):
        return Layout(records)
    plain_names = headings_of(first)
    models = _model_cells(records)
    if models:
        return _of_model_cells(records, models)
    answer_names = plain_names.intersection(fields.ANSWERS)
    if answer_names - {"answer"} or not plain_names.isdisjoint(fields.RESPONDENTS):
        return Layout(records)
    by_model: dict[str, dict[str, str]] = defaultdict(dict)
    for column in map(str, first):
        role, model = _model_of(column)
        if role:
            by_model[model].setdefault(role, column)
    answering = {model: roles for model, roles in by_model.items() if "response" in roles}
    # `answer` beside `response`: two columns that may hold the answer, and neither names a model
    if not answering or (answer_names and "" in answering):
        return Layout(records)
    return _by_model(records, answering, by_model[""], location)


def _of_model_cells(records: Sequence[Record], models: Sequence[str]) -> Layout:
    """A row for each cell of a model."""
    laid: list[Record] = []
    for record in records:
        # The question and the right answer stand once, beside the cells of all models.
        shared = _without_columns(record, models)
        for model in models:
            cells = record[model]
            if _is_object(cells):
                laid.append({"respondent": model, **shared, **cells})
    return Layout(laid, f"those of {name_fields(models)}, whom the columns name")


def _without_columns(record: Record, names: Container[str]) -> Record:
    return {name: cell for name, cell in record.items() if name not in names}


def _model_cells(records: Sequence[Record]) -> list[str]:
    """The columns, two or more, whose cells are each an object that says what a model answered or
    how it scored; none where the rows name their respondent.
    """
    first = first_row(records)
    if not headings_of(first).isdisjoint(_RESPONSES | set(fields.RESPONDENTS)):
        return []
    shapes = {}
    for name, cell in first.items():
        if _is_object(cell) and not headings_of(cell).isdisjoint(_RESPONSES):
            shapes[name] = cell.keys()
    names = list(shapes)
    if len(names) < 2 or not headings_of(names).isdisjoint(_FIELD_NAMES):
        return []
    if all(map(str.isdecimal, names)):
        return []  # places in a list, and no models
    for record, name in product(records, names):
        cell = record.get(name)
        # Cells of different shapes are no answers to one question.
        if not _is_object(cell) or cell.keys() != shapes[names[0]]:
            return []
    return names


_RESPONSE_COLUMNS = {"id": "respondent", "item": "item", "resp": "score"}
"""What the columns of item responses in long format are called in a table of scores."""
_RESPONSE_FACETS = {
    "wave": "epoch",
    "rater": "judge",
    "itemcov_picture": "cluster",
    "itemcov_type": "category",
}


def _of_responses(records: list[Record]) -> Layout:
    """The rows of item responses as the Item Response Warehouse keeps them.

    Times (`rt`) and further covariates (`cov_`, `itemcov_`) say nothing of how good an answer is.
    """
    names = {**_RESPONSE_COLUMNS, **_RESPONSE_FACETS}
    present = {}
    for column in records[0]:
        plain = heading_words(str(column))
        if plain in names:
            present[column] = names[plain]
    # one rater of all rows is no facet
    rater = next((column for column, name in present.items() if name == "judge"), None)
    if rater is not None and len(set(map(str, cells_of(records, rater)))) == 1:
        del present[rater]
    laid = []
    for record in records:
        row = {name: record.get(column) for column, name in present.items()}
        # R writes a missing value as NA
        if row["score"] not in (None, "", "NA"):
            laid.append(row)
    taken = ", ".join(map("=".join, zip(present.values(), present, strict=True)))
    n_missing = len(records) - len(laid)
    if n_missing:
        missing = f"; rows without a response, left out: {n_missing:,}"
    else:
        missing = ""
    return Layout(laid, f"item responses in long format, {taken}{missing}")


def _by_model(
    records: list[Record],
    answering: Mapping[str, dict[str, str]],
    unnamed: Mapping[str, str],
    location: str,
) -> Layout:
    """A row for each record and model, its columns named as those of one respondent."""
    models = list(filter(None, answering))
    if len(models) > 1 and "score" in unnamed:
        raise AnswerError(
            f"the column {unnamed['score']!r} does not say which of {len(models)} models it is of",
            location=location,
            remedy="Write the model's name before it, or leave it out.",
        )
    used = set(chain.from_iterable(map(dict.values, answering.values())))
    laid = []
    for record in records:
        shared = _without_columns(record, used)
        for name in list(shared):
            if heading_words(name) == "answer":
                # beside what models wrote, the column `answer` has the right answer
                shared["target"] = shared.pop(name)
        for model, roles in answering.items():
            row = {"respondent": model, **shared} if model else dict(shared)
            for role, column in roles.items():
                row[role] = record.get(column)
            laid.append(row)
    if not models:
        return Layout(laid)
    columns = name_fields(answering[models[0]].values())
    return Layout(laid, f"those of {name_fields(models)}, whom the columns {columns} name")


def _model_of(column: str) -> tuple[str, str]:
    """What a column is of a model, and the model's name as written; empty where it is none."""
    plain = heading_words(column)
    # a column of a known name is nobody's in particular; `score` may be the one model's
    if plain in _FIELD_NAMES:
        if plain in SCORES:
            return ("score", "")
        return ("", "")
    for role, pattern in _ROLES.items():
        match = pattern.match(plain)
        if match is None:
            continue
        name = match["name"].strip("_")
        if not name or name in _NO_ANSWERS:
            return "", ""
        if name in _GENERIC:
            return role, ""
        # The name as written: `plain` is in lower case, and names of models are shown as they are.
        return role, column.strip()[: len(name)].strip(" _-")
    return "", ""


def _index_column(records: Sequence[Record]) -> str | None:
    """The column without a name in which pandas counts the rows; None where there is none."""
    for name in first_row(records):
        if name == "" or re.fullmatch(r"Unnamed: \d+", str(name)):
            numbers = map(str, range(len(records)))
            if list(map(str, cells_of(records, name))) == list(numbers):
                return name
    return None


# --- columns of records ---


def first_row(records: Iterable[Mapping[str, object]]) -> Mapping[str, object]:
    """Return the first of several records; an empty one where there is none."""
    return next(iter(records), {})


def cells_of(records: Iterable[Mapping[str, object]], column: str) -> list[object]:
    """Return every cell of a column; None where a row has none."""
    return [record.get(column) for record in records]


def cell_texts(records: Iterable[Mapping[str, object]], column: str) -> list[str]:
    """Return every cell of a column as a text; empty where a row has none.

    >>> cell_texts([{"a": 1}, {"a": "b"}, {}], "a")
    ['1', 'b', '']
    """
    return ["" if cell is None else str(cell) for cell in cells_of(records, column)]


def with_column(
    records: Iterable[Mapping[str, object]], name: str, cells: Iterable[object]
) -> list[Record]:
    """Return records with these cells in one column, in its place where they have it."""
    return [{**record, name: cell} for record, cell in zip(records, cells, strict=True)]


def renamed(record: Mapping[str, object], names: Mapping[str, str]) -> Record:
    """Return a record with other names of its fields."""
    return {names.get(name, name): cell for name, cell in record.items()}


def rename_columns(
    records: Sequence[Mapping[str, object]], names: Mapping[str, str]
) -> list[Record]:
    """Return records with other names of their fields."""
    return [renamed(record, names) for record in records]


def objects_in(value: object) -> list[Mapping[str, object]]:
    """Return the objects among the members of a list; none where there is none."""
    members = cast(Iterable[object], value or ())
    return [member for member in members if isinstance(member, Mapping)]


def scores_in(
    record: Mapping[str, object],
    names: Iterable[str],
    read: Callable[[object], float | None] = score_of,
) -> dict[str, float]:
    """The scores in these fields of a record by their names, without those that are no score."""
    scores = {}
    for name in names:
        score = read(record.get(name))
        if score is not None:
            scores[name] = score
    return scores
