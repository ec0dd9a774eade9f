"""A table of scores as printed: its rows, its columns, and the numbers with their digits."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from hqm.errors import DataError, UsageError
from hqm.files.dialect import uses_decimal_comma
from hqm.files.records import name_fields
from hqm.imports.intake import find_alike, is_heading, refuse_alike, refuse_heading
from hqm.psychometrics import Array
from hqm.signature import digest_file
from hqm.text import check_name
from hqm_tables.plausibility import (
    check_far_cells,
    check_orientation,
    check_printed_scale,
    check_row_scales,
    choose_scores,
    choose_systems,
    is_summary_name,
    split_summaries,
)
from hqm_tables.table_cells import (
    MISSING,
    PrintedCell,
    Rows,
    is_score,
    number_text,
    parse_cell,
    read_sheet,
    strip_marks,
)

Direction = Literal["higher", "lower"]
_RESPONDENT = re.compile(
    r"^(models?|respondents?|methods?|systems?|l?v?lms?|mllms?|names?|checkpoints?)$", re.IGNORECASE
)
_COUNT = re.compile(r"^(freq(uency)?|counts?|weights?|obs(erved)?|n)$", re.IGNORECASE)
_MAX_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of scores.

    Parameters
    ----------
    name
        Its heading, without arrows.
    scale
        What a perfect score is: 1 for shares, 100 for per cent; None for points, whose end is not
        printed.
    better
        Which way is good; empty where neither an arrow nor the user says it.
    decimals
        The most digits that its numbers have after the point.
    items
        The number of items behind each of its scores, where it is known.
    """

    name: str
    scale: float | None
    better: Direction | Literal[""] = ""
    decimals: int = 0
    items: int | None = None

    @property
    def lower_is_better(self) -> bool:
        """Whether lower scores are better; unknown directions count as higher."""
        return self.better == "lower"


@dataclass(frozen=True)
class Published:
    """A table of scores as it was printed.

    Parameters
    ----------
    name
        The file's name without its ending.
    label_names, labels
        The headings of the columns that name a row, and what is there: one text for each such
        column.
    respondents
        The name of each row: its labels joined.
    column_specs
        The columns of scores.
    values
        (respondents, columns): the scores; NaN where nothing is printed.
    printed
        The same as text, trailing zeros kept: how many digits were printed matters to the
        consistency checks.
    summaries
        Rows that are the mean or the sum of the others: name -> what they print.
    digest
        Content hash of the file.
    notes
        What a reader must know of how the table was read.
    """

    name: str
    label_names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    respondents: tuple[str, ...]
    column_specs: tuple[Column, ...]
    values: Array
    printed: tuple[tuple[str, ...], ...]
    summaries: tuple[tuple[str, tuple[str, ...]], ...]
    digest: str
    notes: tuple[str, ...] = ()
    has_names: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.column_specs)

    def index_of(self, name: str) -> int:
        """Return the position of a column.

        Raises
        ------
        UsageError
            There is no such column.
        """
        if name not in self.columns:
            raise UsageError(
                f"the table has no column {name!r}",
                location=self.name,
                remedy=f"It has {', '.join(self.columns[:40])}.",
            )
        return self.columns.index(name)

    def column(self, name: str) -> Array:
        """One column's scores, as printed."""
        scores: Array = self.values[:, self.index_of(name)]
        return scores

    def oriented_scores(self, name: str) -> Array:
        """Return a column's scores, reversed if lower ones are better."""
        spec, scores = self.column_specs[self.index_of(name)], self.column(name)
        if not spec.lower_is_better:
            return scores
        return -scores if spec.scale is None else spec.scale - scores

    @property
    def is_binary(self) -> bool:
        """Whether every score is 0 or 1, so that the columns are single items."""
        finite = self.values[np.isfinite(self.values)]
        return len(self.columns) > 1 and bool(np.isin(finite, (0, 1)).all())

    @property
    def repeated_label(self) -> int | None:
        """Return which label names the respondents, if each has several rows."""
        if len(self.label_names) < 2:
            return None
        candidates = [
            j for j, name in enumerate(self.label_names) if _RESPONDENT.match(name.strip())
        ]
        column = candidates[-1] if candidates else len(self.label_names) - 1
        names = [row[column] for row in self.labels]
        return column if len(set(names)) < len(names) else None


def read_table(path: Path, *, names: bool = True) -> Published:
    """Read a table: CSV, tab-separated, Markdown or LaTeX. The leading columns of text name the
    rows, the others are scores.

    Parameters
    ----------
    names
        Whether the first column names the respondents; without names, rows are numbered.

    Raises
    ------
    DataError
        The file has no scores, a cell is no number or may be two, or a respondent stands twice.
    """
    location = str(path)
    head, body, header_line = _read_head_and_body(path, n_labels=int(names))
    head, body = _drop_index(head, body, names=names)
    head, body, expansion = _expand_counts(head, body, location)
    notes = [expansion] if expansion else []
    n_labels = 0
    if names and not expansion:
        n_labels = _count_label_columns(head, body)
    lines = [line for line, _ in body]
    labels = [list(map(_on_one_line, row[:n_labels])) for _, row in body]
    labels = _fill_labels(labels, lines, location)
    head, body, labels, omissions = _keep_scores(head, body, labels, f"{location}:{header_line}")
    notes += omissions
    headings = [_parse_heading(cell) for cell in head[n_labels:]]
    _check_headings([heading.name for heading in headings], f"{location}:{header_line}")
    cells = _parse_cells([(line, row[n_labels:]) for line, row in body], location)
    row_names = [" / ".join(filter(None, label)) for label in labels]
    if not n_labels:
        row_names = [str(i + 1) for i in range(len(body))]
    summaries, scores = split_summaries(row_names, has_names=n_labels == 1)
    respondents = tuple(row_names[i] for i in scores)
    _check_names(respondents, location, unnamed=n_labels == 0)
    printed = [cells[i] for i in scores]
    values, column_specs = _read_columns(headings, printed, location)
    rates = values[:, [column.scale == 100 for column in column_specs]]
    check_row_scales(rates, respondents, location)
    _check_cells(column_specs, printed, location)
    notes += [
        f"the row {row_names[i]!r} is taken as the mean or the sum of the others, not as a"
        " respondent"
        for i in summaries
    ]
    return Published(
        name=path.stem,
        label_names=tuple(map(strip_marks, head[:n_labels])),
        labels=tuple(tuple(labels[i]) for i in scores),
        respondents=respondents,
        column_specs=column_specs,
        values=values,
        printed=tuple(map(_texts, printed)),
        summaries=tuple((row_names[i], _texts(cells[i])) for i in summaries),
        digest=digest_file(path),
        notes=(*notes, *_reading_notes(column_specs, cells)),
        has_names=n_labels > 0,
    )


def _check_cells(
    column_specs: Sequence[Column], printed: Sequence[Sequence[PrintedCell]], location: str
) -> None:
    """Refuse a cell far outside its column, and a share in a column of percentages."""
    for j, column in enumerate(column_specs):
        check_far_cells(column.name, [row[j] for row in printed], location)
        if column.scale == 100:
            check_printed_scale(column.name, [row[j] for row in printed], location)


def _read_head_and_body(path: Path, n_labels: int) -> tuple[list[str], Rows, int]:
    """Return the heading of each column, the rows below, and the line of the headings."""
    sheet = read_sheet(path)
    rows = sheet.rows
    if len(rows) < 2 or len(rows[0][1]) < 1 + n_labels:
        raise DataError(
            "it is no table of scores",
            location=str(path),
            remedy="Write a header, then a respondent and its scores a row.",
        )
    depth = _header_rows(rows)
    head = _join_headers([row for _, row in rows[:depth]])
    body = []
    for line, row in rows[depth:]:
        n_texts = sum(bool(cell.strip()) for cell in row)
        # in a typeset table a row with one text is a heading between rows
        if sheet.typeset and (n_texts < 2 or len(set(row)) < 2):
            continue
        if len(row) != len(head):
            raise DataError(
                f"the row has {len(row)} fields, the header {len(head)}", location=f"{path}:{line}"
            )
        # a table that goes on over the page repeats its heading
        if is_heading(dict(zip(map(strip_marks, head), map(strip_marks, row), strict=True))):
            if sheet.typeset:
                continue
            refuse_heading(f"{path}:{line}")
        body.append((line, row))
    return head, body, rows[depth - 1][0]


def _keep_scores(
    head: list[str], body: Rows, labels: list[list[str]], location: str
) -> tuple[list[str], Rows, list[list[str]], list[str]]:
    """Return the table without the rows that are no systems and the columns that are no scores, and
    a note on each kind.
    """
    n_labels = len(labels[0]) if labels else 0
    notes: list[str] = []
    if n_labels == 1:
        row_names = [label[0] for label in labels]
        check_orientation(strip_marks(head[0]), [*map(strip_marks, head[1:])], row_names, location)
        systems, notes = choose_systems(row_names, [row[1:] for _, row in body])
        body, labels = [body[i] for i in systems], [labels[i] for i in systems]
    names = [_parse_heading(cell).name for cell in head]
    columns = list(zip(*[row for _, row in body], strict=True))
    scores, notes_on_columns = choose_scores(names, n_labels, columns)
    rows = []
    for line, row in body:
        rows.append((line, [row[j] for j in scores]))
    return [head[j] for j in scores], rows, labels, [*notes, *notes_on_columns]


def _parse_cells(rows: Rows, location: str) -> list[list[PrintedCell]]:
    """Return the cells of scores; whether a comma is a decimal point is told from all of them."""
    texts = [(number_text(cell), f"{location}:{line}") for line, row in rows for cell in row]
    comma = uses_decimal_comma(texts)

    def parse_row(line: int, row: Sequence[str]) -> list[PrintedCell]:
        return [parse_cell(cell, f"{location}:{line}", comma) for cell in row]

    return list(starmap(parse_row, rows))


def _read_columns(
    headings: Sequence[_Heading], printed: Sequence[Sequence[PrintedCell]], location: str
) -> tuple[Array, tuple[Column, ...]]:
    """Return the scores, and what each of their columns is."""
    values = np.array([cell.value for row in printed for cell in row], dtype=np.float64)
    if not np.isfinite(values).any():
        raise DataError("it has no score", location=location, remedy="Write the scores as numbers.")
    columns = []
    for j, heading in enumerate(headings):
        columns.append(_describe_column(heading, [row[j] for row in printed], location))
    return values.reshape(len(printed), len(headings)), tuple(columns)


def _texts(cells: Sequence[PrintedCell]) -> tuple[str, ...]:
    """Return the cells as they are printed."""
    return tuple(cell.text for cell in cells)


def _reading_notes(
    columns: Sequence[Column], cells: Sequence[Sequence[PrintedCell]]
) -> Iterator[str]:
    """Yield what a reader must know of how the numbers were taken."""
    for column in columns:
        if "%" in column.name and column.scale == 1:
            yield f"the heading {column.name!r} says per cent, its numbers are read as shares of 1"
    if any(cell.uncertainty for row in cells for cell in row):
        yield (
            "what stands behind ± is left out: the table does not say whether it is a deviation, an"
            " error or an interval"
        )


# --- header ---


def _header_rows(rows: Rows) -> int:
    """Return the number of header rows. Rows below the first one hold no number."""
    depth = 1
    for _, row in rows[1:3]:
        upper_row = [cell.strip() for cell in rows[depth - 1][1][1:]]
        grouped = len(set(upper_row)) < len(upper_row) or "" in upper_row
        words = [cell for cell in row[1:] if cell.strip()]
        scored = any(is_score(cell) or strip_marks(cell) in MISSING for cell in row[1:])
        if not grouped or scored or len(set(words)) < 2:
            break
        depth += 1
    return depth if len(rows) > depth else 1


def _join_headers(rows: Sequence[Sequence[str]]) -> list[str]:
    """Join the header rows into one heading for each column, such as `existence F1`."""
    if len(rows) == 1:
        return list(rows[0])
    width = max(map(len, rows))
    filled = []
    for depth, row in enumerate(rows):
        cells = [cell.strip() for cell in row] + [""] * (width - len(row))
        if depth < len(rows) - 1:
            # a group's name stands over its first column only
            for j in range(2, width):
                cells[j] = cells[j] or (cells[j - 1] if rows[-1][j].strip() else "")
        filled.append(cells)
    # a column's titles from top to bottom, each once
    return [" ".join(filter(None, dict.fromkeys(titles))) for titles in zip(*filled, strict=True)]


class _Heading(NamedTuple):
    """A column's name, the direction that an arrow says, and whether it is in per cent."""

    name: str
    better: Direction | Literal[""]
    percent: bool


def _parse_heading(cell: str) -> _Heading:
    better: Direction | Literal[""] = ""
    if "↑" in cell:
        better = "higher"
    elif "↓" in cell:
        better = "lower"
    name = re.sub(r"\s+", " ", re.sub(r"\(\s*[↑↓]\s*\)|[↑↓]", "", strip_marks(cell))).strip()
    return _Heading(name, better, "%" in name)


def _on_one_line(cell: str) -> str:
    """The name in a cell, whose lines may be broken."""
    return " ".join(strip_marks(cell).split())


def _check_headings(names: Sequence[str], location: str) -> None:
    counts = Counter(names)
    for name in names:
        check_name(name, "column's name", location)
        if not name or counts[name] > 1:
            reason = f"the column {name!r} stands twice" if name else "a column has no name"
            raise DataError(
                reason, location=location, remedy="Give every column a name of its own."
            )
    for first, second in find_alike(set(names)):
        refuse_alike("columns", first, second, location)


def _check_names(names: Sequence[str], location: str, *, unnamed: bool) -> None:
    for name in names:
        check_name(name, "respondent's name", location)
    counts = Counter(names)
    duplicate = next((name for name in names if counts[name] > 1), None)
    if duplicate is not None and not unnamed:
        number = re.fullmatch(r"[+-]?[\d.]+", duplicate)
        remedy = (
            "Keep one row each."
            if not number
            else "If the first column is a score too, add --no-names."
        )
        raise DataError(
            f"the respondent {duplicate!r} stands twice", location=location, remedy=remedy
        )
    for first, second in [] if unnamed else find_alike(set(names)):
        refuse_alike("respondents", first, second, location)


# --- rows ---


def _drop_index(head: list[str], body: Rows, *, names: bool) -> tuple[list[str], Rows]:
    """Drop a first column of row numbers or ranks."""
    first = head[0].strip().lower()
    if len(head) < 2 or first not in ("", "unnamed: 0", "rank", "#", "no", "no.", "index"):
        return head, body
    numbers = [row[0].strip() for _, row in body]
    texts = all(not is_score(row[1]) and strip_marks(row[1]) not in MISSING for _, row in body)
    if not all(number.isdecimal() for number in numbers) or (names and not texts):
        return head, body
    if first not in ("", "unnamed: 0") and not texts:
        return head, body
    if not texts and numbers != [str(i) for i in range(len(body))]:
        return head, body
    return head[1:], [(line, row[1:]) for line, row in body]


def _count_label_columns(head: Sequence[str], body: Rows) -> int:
    """Return how many leading columns name the row: the first, and later ones without numbers."""
    n_labels = 1
    while n_labels < len(head) - 1:
        cells = [strip_marks(row[n_labels]) for _, row in body]
        words = [cell for cell in cells if cell and cell not in MISSING]
        if not words or not all(
            re.search(r"[^\W\d_]", cell) and not is_score(cell) for cell in words
        ):
            break
        if not any(is_score(row[j]) for _, row in body for j in range(n_labels + 1, len(head))):
            break
        n_labels += 1
    return n_labels


def _fill_labels(labels: list[list[str]], lines: Sequence[int], location: str) -> list[list[str]]:
    """Repeat labels that are printed once for several rows."""
    previous: list[str] = []
    for line, row in zip(lines, labels, strict=True):
        blank = not any(row)
        for j in range(len(row) - 1):
            row[j] = row[j] or (previous[j] if previous else "")
        if row and blank:
            raise DataError(
                "the respondent has no name",
                location=f"{location}:{line}",
                remedy="Write it in the first column, or add --no-names.",
            )
        previous = row
    return labels


def _expand_counts(head: list[str], body: Rows, location: str) -> tuple[list[str], Rows, str]:
    """Expand a table of answer patterns with counts to one row for each respondent."""
    counts = [row[-1].strip() for _, row in body]
    if not all(re.fullmatch(r"\d{1,7}", count) for count in counts):
        return head, body, ""
    items, patterns = _answer_patterns(head, body)
    if not items:
        return head, body, ""
    total = sum(map(int, counts))
    if total > _MAX_ROWS:
        raise DataError(
            f"its counts add up to {total:,} respondents",
            location=location,
            remedy=f"Keep {_MAX_ROWS:,} at most.",
        )
    rows: Rows = []
    for pattern, count in zip(patterns, counts, strict=True):
        rows += [pattern] * int(count)
    note = f"{len(patterns)} patterns of answers were counted out to {total:,} respondents"
    return items, rows, note


def _answer_patterns(head: Sequence[str], body: Rows) -> tuple[list[str], Rows]:
    """Return the items and the answers of each row before its count, as one text ("0110") or as a
    cell for each item; nothing of a table that holds none.
    """
    first = [row[0].strip() for _, row in body]
    n_items = len(first[0]) if first else 0
    if (
        len(head) == 2
        and n_items > 1
        and all(re.fullmatch(rf"[01]{{{n_items}}}", t) for t in first)
    ):
        return [str(i + 1) for i in range(n_items)], [(i, list(row[0].strip())) for i, row in body]
    if len(head) < 3 or not _COUNT.match(head[-1].strip()):
        return [], []
    start = 0 if all(text in ("0", "1") for text in first) else 1
    items = list(head[start:-1])
    patterns = [(line, row[start:-1]) for line, row in body]
    answers = {cell.strip() for _, row in patterns for cell in row}
    if len(items) < 2 or not answers <= {"0", "1"}:
        return [], []
    return items, patterns


# --- columns ---


def _describe_column(heading: _Heading, cells: Sequence[PrintedCell], location: str) -> Column:
    """Return the scale, the direction and the decimals of a column."""
    name = heading.name
    scores = [cell for cell in cells if math.isfinite(cell.value)]
    values = np.array([cell.value for cell in scores])
    marked = [cell.value for cell in cells if cell.percent]
    plain = [cell for cell in scores if not cell.percent]
    if max(marked, default=0.0) > 1.5 and plain and all(abs(cell.value) <= 1 for cell in plain):
        raise DataError(
            f"{plain[0].text!r} stands in the column {name!r} beside numbers with a per cent sign",
            location=location,
            remedy="Write all of them in per cent, or none.",
        )
    largest = values.max(initial=0.0)
    # a heading may say per cent over numbers that are shares, as tables of yes ratios do
    says_percent = heading.percent and largest > 1
    # a rate above 1 is in per cent, however many cells hold what no rate is
    is_rate = len(name) > 1 and bool(metric_of(name)[0]) and largest > 1.5
    scale = _infer_scale(values, percent=bool(says_percent or is_rate or marked))
    return Column(name, scale, heading.better, _printed_decimals(cells))


def _printed_decimals(cells: Sequence[PrintedCell]) -> int:
    """Return the most digits after the point in a column."""
    fractions = [cell.text.partition(".")[2] for cell in cells if "e" not in cell.text.lower()]
    decimals = max(map(len, fractions), default=0)
    if decimals < 5:
        return decimals
    # a program's default format writes zeros that nobody measured
    return max(len(fraction.rstrip("0")) for fraction in fractions)


def _infer_scale(finite: Array, *, percent: bool) -> float | None:
    if percent:
        return 100.0
    if not len(finite) or finite.max() <= 1.5:
        # shares of 1; where many are negative they are differences, or points
        return 1.0 if not len(finite) or (finite >= 0).mean() >= 0.8 else None
    return 100.0 if ((finite >= 0) & (finite <= 100)).mean() >= 0.8 else None


# --- columns that are metrics of the same answers, such as precision and F1 ---


_METRICS = {
    "accuracy": r"acc(?:uracy|\.)?",
    "precision": r"prec(?:ision|\.)?|ppv|p\.?",
    "recall": r"rec(?:all|\.)?|sensitivity|tpr|r\.?",
    "f1": r"f[-_ ]?1(?:[-_ ]?score)?|f[-_ ]score|f[-_ ]?measure",
    "yes": r"yes(?:[-_ ]?(?:ratio|rate|share))?",
}


def metric_of(name: str) -> tuple[str, str]:
    """Return a column's metric of a confusion table and its group of questions; ("", "") for
    others.

    >>> metric_of("Existence F1"), metric_of("Yes (%)"), metric_of("object/P")
    (('f1', 'existence'), ('yes', ''), ('precision', 'object'))
    >>> metric_of("Recall@5")
    ('', '')
    """
    plain = re.sub(r"\(\s*%?\s*\)|%", "", name).strip().lower()
    for metric, words in _METRICS.items():
        tail = re.fullmatch(rf"(?:(.*?)[\s/:|._>-]+)?(?:{words})", plain)
        if tail:
            return metric, (tail[1] or "").strip(" ()")
        start = re.fullmatch(rf"(?:{words})[\s/:|_>-]+(.+)", plain)
        if start and len(plain.split()[0]) > 2:
            return metric, start[1].strip(" ()")
    return "", ""


def metric_groups(columns: Iterable[Column]) -> dict[str, dict[str, int]]:
    """Return group of questions -> metric -> column. Skip groups with two columns of one metric."""
    groups: dict[str, dict[str, int]] = {}
    ambiguous = set()
    for j, column in enumerate(columns):
        metric, group = metric_of(column.name)
        if metric and column.scale is not None:
            if metric in groups.setdefault(group, {}):
                ambiguous.add(group)
            groups[group][metric] = j
    return {group: indices for group, indices in groups.items() if group not in ambiguous}


def confusion_groups(table: Published) -> dict[str, dict[str, int]]:
    """Return group -> metric -> position of its column, for groups with two metrics or more."""
    return {
        group: indices
        for group, indices in metric_groups(table.column_specs).items()
        if len(indices) > 1
    }


def is_summary(column: Column) -> bool:
    """Whether a column is called the mean or the sum of the others, of one metric or of all."""
    metric, group = metric_of(column.name)
    return is_summary_name(group if metric else column.name)


# ----------------------------------------------------------------------
# Which columns of a published table are parts of one test, and a long table brought to one row
# for each respondent.
# ----------------------------------------------------------------------

_METRIC_PREFERENCE = ("accuracy", "f1", "recall", "precision")


@dataclass(frozen=True)
class Subscales:
    """The columns that are parts of one test.

    Parameters
    ----------
    columns, column_specs
        Their names, and what each is.
    scores
        (respondents, columns): higher is better, on one scale.
    rates
        (respondents, columns): the scores as shares between 0 and 1, as printed; None where they
        are none.
    notes
        What was left out or supposed.
    """

    columns: tuple[str, ...]
    column_specs: tuple[Column, ...]
    scores: Array
    rates: Array | None
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """How many columns there are."""
        n_columns = len(self.columns)
        return f"{n_columns} column{'s' * (n_columns != 1)}"

    @property
    def total(self) -> Array:
        """(respondents,): the mean over the columns; NaN for a respondent that lacks one."""
        return self.scores.mean(axis=1) if self.columns else np.full(len(self.scores), np.nan)


def pivot_respondents(table: Published) -> Published:
    """Reshape a table with several rows for each respondent to one row for each."""
    repeated = table.repeated_label
    if repeated is None:
        return table
    names = list(dict.fromkeys(row[repeated] for row in table.labels))
    sets = list(dict.fromkeys((*row[:repeated], *row[repeated + 1 :]) for row in table.labels))
    width = len(table.column_specs)
    values = np.full((len(names), len(sets) * width), np.nan)
    printed = [[""] * values.shape[1] for _ in names]
    for i, row in enumerate(table.labels):
        m, s = names.index(row[repeated]), sets.index((*row[:repeated], *row[repeated + 1 :]))
        values[m, s * width : (s + 1) * width] = table.values[i]
        printed[m][s * width : (s + 1) * width] = table.printed[i]
    column_specs = [
        replace(column, name=f"{' / '.join(labels)} {column.name}")
        for labels in sets
        for column in table.column_specs
    ]
    return replace(
        table,
        label_names=(table.label_names[repeated],),
        labels=tuple((name,) for name in names),
        respondents=tuple(names),
        column_specs=tuple(column_specs),
        values=values,
        printed=tuple(tuple(row) for row in printed),
        summaries=(),
    )


def _preferred_metric(metrics: Collection[str]) -> str:
    """Return the metric that stands for others of the same answers; empty where none can."""
    return next((name for name in _METRIC_PREFERENCE if name in metrics), "")


def _is_undirected(column: Column) -> bool:
    """Whether nothing says which way of a column is good."""
    return not column.better and not metric_of(column.name)[0]


def _standardised(scores: Array) -> Array:
    """Return columns with a mean of 0 and a standard deviation of 1; constant ones stay at 0."""
    deviations = np.nanstd(scores, axis=0, ddof=1)
    centred: Array = scores - np.nanmean(scores, axis=0)
    return centred / np.where(deviations > 0, deviations, 1.0)


def _rates(raw: Array, scales: Sequence[float | None]) -> Array | None:
    """Return printed scores as shares between 0 and 1; None where they are none."""
    if not scales or None in scales:
        return None
    rates: Array = raw / np.array(scales)
    valid = (rates >= 0) & (rates <= 1) | np.isnan(rates)
    return rates if valid.all() else None


def _notes_on_metric(table: Published, metric: str, metrics: Mapping[int, str]) -> list[str]:
    """Say which metric of the same answers is taken, and which columns are none of them."""
    notes = [
        f"of the metrics of the same answers, {metric or 'none'} is taken: the others are made"
        " from the same counts"
    ]
    unrelated = [table.column_specs[j].name for j, name in metrics.items() if not name]
    if unrelated and metric:
        notes.append(f"columns that are no {metric} are left out: {name_fields(unrelated)}")
    return notes


def subscales_of(table: Published) -> Subscales:
    """The columns that are parts of one test.

    Columns that are means of others are left out. Of several metrics of the same answers
    (precision, recall, F1) one is taken, of every group of questions: the others say the same
    answers again.
    """
    notes = []
    metrics = {
        j: metric_of(column.name)[0]
        for j, column in enumerate(table.column_specs)
        if not is_summary(column)
    }
    indices = list(metrics)
    if confusion_groups(table):
        metric = _preferred_metric(set(metrics.values()))
        indices = [j for j in indices if metrics[j] == metric]
        notes += _notes_on_metric(table, metric, metrics)
    column_specs = tuple(table.column_specs[j] for j in indices)
    columns = tuple(column.name for column in column_specs)
    raw = table.values[:, indices]
    scales = [column.scale for column in column_specs]
    # in row order, as `raw` is not: sums over columns depend on it in their last digit
    scores = np.empty(raw.shape)
    for k, name in enumerate(columns):
        scores[:, k] = table.oriented_scores(name)
    if len(set(scales)) > 1 and None not in scales:
        scores = scores / np.array(scales)
        notes.append("columns in per cent are brought to shares of 1")
    elif len(set(scales)) > 1:
        scores = _standardised(scores)
        notes.append(
            "columns are on different scales, so each is standardised before they are added"
        )
    undirected = [column.name for column in column_specs if _is_undirected(column)]
    if undirected and not table.is_binary:
        names = ", ".join(undirected[:10])
        if len(undirected) == len(column_specs):
            names = "all columns"
        notes.append(
            f"higher is taken as better in {names}: say so, or the contrary, with --direction"
        )
    return Subscales(columns, column_specs, scores, _rates(raw, scales), tuple(notes))
