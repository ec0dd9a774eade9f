"""A table of scores as printed: its rows, its columns, and the numbers with their digits."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from hqm.errors import DataError, UsageError
from hqm.psychometrics import Array
from hqm.published.table_cells import (
    MISSING,
    PrintedCell,
    Rows,
    bare,
    cell_of,
    decimal_comma,
    is_score,
    read_sheet,
)
from hqm.signature import digest_file

Direction = Literal["higher", "lower"]
SUMMARY = re.compile(r"^(overall|average|avg\.?|mean|total|sum|all)$", re.IGNORECASE)
"""Names of columns and rows that are the mean or the sum of the others."""
_RESPONDENT = re.compile(
    r"^(models?|respondents?|methods?|systems?|l?v?lms?|mllms?|names?|checkpoints?)$", re.IGNORECASE
)
_COUNT = re.compile(r"^(freq(uency)?|counts?|weights?|obs(erved)?|n)$", re.IGNORECASE)
_MOST_ROWS = 1_000_000


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
        The headings of the columns that name a row, and what stands there: one text for each such
        column.
    respondents
        The name of each row: its labels joined.
    about
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
    about: tuple[Column, ...]
    values: Array
    printed: tuple[tuple[str, ...], ...]
    summaries: tuple[tuple[str, tuple[str, ...]], ...]
    digest: str
    notes: tuple[str, ...] = ()
    named: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.about)

    def place(self, name: str) -> int:
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
        scores: Array = self.values[:, self.place(name)]
        return scores

    def turned(self, name: str) -> Array:
        """Return a column's scores, reversed if lower ones are better."""
        about, scores = self.about[self.place(name)], self.column(name)
        if not about.lower_is_better:
            return scores
        return -scores if about.scale is None else about.scale - scores

    @property
    def binary(self) -> bool:
        """Whether every score is 0 or 1, so that the columns are single items."""
        known = self.values[np.isfinite(self.values)]
        return len(self.columns) > 1 and bool(np.isin(known, (0, 1)).all())

    @property
    def repeated(self) -> int | None:
        """Return which label names the respondents, if each has several rows."""
        if len(self.label_names) < 2:
            return None
        known = [j for j, name in enumerate(self.label_names) if _RESPONDENT.match(name.strip())]
        column = known[-1] if known else len(self.label_names) - 1
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
    sheet = read_sheet(path)
    rows, place = sheet.rows, str(path)
    if len(rows) < 2 or len(rows[0][1]) < (2 if names else 1):
        raise DataError(
            "it is no table of scores",
            location=place,
            remedy="Write a header, then a respondent and its scores a row.",
        )
    depth = _header_rows(rows)
    head = _joined([row for _, row in rows[:depth]])
    body = rows[depth:]
    if sheet.typeset:
        body = [
            (line, row)
            for line, row in body
            if sum(bool(cell.strip()) for cell in row) > 1 and len(set(row)) > 1
        ]
    for line, row in body:
        if len(row) != len(head):
            raise DataError(
                f"the row has {len(row)} fields, the header {len(head)}", location=f"{place}:{line}"
            )
    notes: list[str] = []
    head, body = _without_index(head, body, names=names)
    head, body, expanded = _expanded(head, body, place)
    if expanded:
        names = False
        notes.append(expanded)
    wide = _label_columns(head, body) if names else 0
    labels = _filled(
        [[bare(cell) for cell in row[:wide]] for _, row in body], [line for line, _ in body], place
    )
    columns = [_heading(cell) for cell in head[wide:]]
    _check_columns([name for name, _, _ in columns], f"{place}:{rows[depth - 1][0]}")
    comma = decimal_comma(
        (bare(cell), f"{place}:{line}") for line, row in body for cell in row[wide:]
    )
    cells = [[cell_of(cell, f"{place}:{line}", comma) for cell in row[wide:]] for line, row in body]
    rows_named = (
        [" / ".join(filter(None, label)) for label in labels]
        if wide
        else [str(i + 1) for i in range(len(body))]
    )
    summaries, kept = [], list(range(len(body)))
    if wide == 1:
        # a last row "average" is no respondent
        kept = [i for i in kept if not SUMMARY.match(rows_named[i])] or kept
        left = [i for i in range(len(body)) if i not in set(kept)]
        summaries = [(rows_named[i], tuple(cell.text for cell in cells[i])) for i in left]
        notes += [
            f"the row {rows_named[i]!r} is taken as the mean or the sum of the others, not as a"
            " respondent"
            for i in left
        ]
    _check_names([rows_named[i] for i in kept], place, unnamed=wide == 0)
    values = np.array([[cell.value for cell in cells[i]] for i in kept], dtype=np.float64).reshape(
        len(kept), len(columns)
    )
    if not np.isfinite(values).any():
        raise DataError("it has no score", location=place, remedy="Write the scores as numbers.")
    about = tuple(
        _column(name, better, percent, [cells[i][j] for i in kept], place)
        for j, (name, better, percent) in enumerate(columns)
    )
    _check_rows(values, about, [rows_named[i] for i in kept], place)
    for j, column in enumerate(about):
        if column.scale == 100:
            _check_scale(column.name, [cells[i][j] for i in kept], place)
    shares = [column.name for column in about if "%" in column.name and column.scale == 1]
    notes += [
        f"the heading {name!r} says per cent, its numbers are read as shares of 1"
        for name in shares
    ]
    if any(cell.spread for row in cells for cell in row):
        notes.append(
            "what stands behind ± is left out: the table does not say whether it is a deviation, an"
            " error or an interval"
        )
    return Published(
        name=path.stem,
        label_names=tuple(bare(cell) for cell in head[:wide]),
        labels=tuple(tuple(labels[i]) for i in kept),
        respondents=tuple(rows_named[i] for i in kept),
        about=about,
        values=values,
        printed=tuple(tuple(cell.text for cell in cells[i]) for i in kept),
        summaries=tuple(summaries),
        digest=digest_file(path),
        notes=tuple(notes),
        named=wide > 0,
    )


# --- header ---


def _header_rows(rows: Rows) -> int:
    """Return the number of header rows. Rows below the first one hold no number."""
    depth = 1
    for _, row in rows[1:3]:
        above = [cell.strip() for cell in rows[depth - 1][1][1:]]
        grouped = len(set(above)) < len(above) or "" in above
        words = [cell for cell in row[1:] if cell.strip()]
        scored = any(is_score(cell) or bare(cell) in MISSING for cell in row[1:])
        if not grouped or scored or len(set(words)) < 2:
            break
        depth += 1
    return depth if len(rows) > depth else 1


def _joined(rows: Sequence[Sequence[str]]) -> list[str]:
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
    return [" ".join(dict.fromkeys(row[j] for row in filled if row[j])) for j in range(width)]


def _heading(cell: str) -> tuple[str, Direction | Literal[""], bool]:
    """A column's name, the direction that an arrow says, and whether it is in per cent."""
    better: Direction | Literal[""] = ""
    if "↑" in cell:
        better = "higher"
    elif "↓" in cell:
        better = "lower"
    name = re.sub(r"\s+", " ", re.sub(r"\(\s*[↑↓]\s*\)|[↑↓]", "", bare(cell))).strip()
    return name, better, "%" in name


def _check_columns(names: Sequence[str], place: str) -> None:
    counts = Counter(names)
    for name in names:
        if not name or counts[name] > 1:
            what = f"the column {name!r} stands twice" if name else "a column has no name"
            raise DataError(what, location=place, remedy="Give every column a name of its own.")


def _check_names(names: Sequence[str], place: str, *, unnamed: bool) -> None:
    counts = Counter(names)
    twice = next((name for name in names if counts[name] > 1), None)
    if twice is not None and not unnamed:
        number = re.fullmatch(r"[+-]?[\d.]+", twice)
        remedy = (
            "Keep one row each."
            if not number
            else "If the first column is a score too, add --no-names."
        )
        raise DataError(f"the respondent {twice!r} stands twice", location=place, remedy=remedy)


# --- rows ---


def _without_index(head: list[str], body: Rows, *, names: bool) -> tuple[list[str], Rows]:
    """Drop a first column of row numbers or ranks."""
    first = head[0].strip().lower()
    if len(head) < 2 or first not in ("", "unnamed: 0", "rank", "#", "no", "no.", "index"):
        return head, body
    numbers = [row[0].strip() for _, row in body]
    texts = all(not is_score(row[1]) and bare(row[1]) not in MISSING for _, row in body)
    if not all(number.isdecimal() for number in numbers) or (names and not texts):
        return head, body
    if first not in ("", "unnamed: 0") and not texts:
        return head, body
    if not texts and numbers != [str(i) for i in range(len(body))]:
        return head, body
    return head[1:], [(line, row[1:]) for line, row in body]


def _label_columns(head: Sequence[str], body: Rows) -> int:
    """Return how many leading columns name the row: the first, and later ones without numbers."""
    wide = 1
    while wide < len(head) - 1:
        cells = [bare(row[wide]) for _, row in body]
        words = [cell for cell in cells if cell and cell not in MISSING]
        if not words or not all(
            re.search(r"[^\W\d_]", cell) and not is_score(cell) for cell in words
        ):
            break
        if not any(is_score(row[j]) for _, row in body for j in range(wide + 1, len(head))):
            break
        wide += 1
    return wide


def _filled(labels: list[list[str]], lines: Sequence[int], place: str) -> list[list[str]]:
    """Repeat labels that are printed once for several rows."""
    above: list[str] = []
    for line, row in zip(lines, labels, strict=True):
        blank = not any(row)
        for j in range(len(row) - 1):
            row[j] = row[j] or (above[j] if above else "")
        if row and blank:
            raise DataError(
                "the respondent has no name",
                location=f"{place}:{line}",
                remedy="Write it in the first column, or add --no-names.",
            )
        above = row
    return labels


def _expanded(head: list[str], body: Rows, place: str) -> tuple[list[str], Rows, str]:
    """Expand a table of answer patterns with counts to one row for each respondent."""
    first = [row[0].strip() for _, row in body]
    digits = {len(text) for text in first}
    patterns = (
        len(head) == 2
        and len(digits) == 1
        and digits.pop() > 1
        and all(re.fullmatch("[01]+", t) for t in first)
    )
    last = [row[-1].strip() for _, row in body]
    counted = all(re.fullmatch(r"\d{1,7}", text) for text in last)
    if patterns and counted:
        items = [str(i + 1) for i in range(len(first[0]))]
        split = [(line, list(row[0].strip())) for line, row in body]
    elif _COUNT.match(head[-1].strip()) and counted and len(head) > 2:
        start = 0 if all(text in ("0", "1") for text in first) else 1
        items, split = head[start:-1], [(line, row[start:-1]) for line, row in body]
        if len(items) < 2 or not all(
            cell.strip() in ("0", "1") for _, row in split for cell in row
        ):
            return head, body, ""
    else:
        return head, body, ""
    total = sum(map(int, last))
    if total > _MOST_ROWS:
        raise DataError(
            f"its counts add up to {total:,} respondents",
            location=place,
            remedy=f"Keep {_MOST_ROWS:,} at most.",
        )
    rows = [row for row, count in zip(split, last, strict=True) for _ in range(int(count))]
    return (
        items,
        rows,
        f"{len(split)} patterns of answers were counted out to {total:,} respondents",
    )


# --- columns ---


def _column(
    name: str,
    better: Direction | Literal[""],
    percent: bool,
    cells: Sequence[PrintedCell],
    place: str,
) -> Column:
    known = np.array([cell.value for cell in cells if math.isfinite(cell.value)])
    marked = [cell for cell in cells if cell.percent]
    plain = [cell for cell in cells if not cell.percent and math.isfinite(cell.value)]
    if (
        marked
        and plain
        and all(abs(cell.value) <= 1 for cell in plain)
        and any(cell.value > 1.5 for cell in marked)
    ):
        raise DataError(
            f"{plain[0].text!r} stands in the column {name!r} beside numbers with a per cent sign",
            location=place,
            remedy="Write all of them in per cent, or none.",
        )
    fractions = [cell.text.partition(".")[2] for cell in cells if "e" not in cell.text.lower()]
    decimals = max(map(len, fractions), default=0)
    if decimals >= 5:
        # a program's default format writes zeros that nobody measured
        decimals = max(len(fraction.rstrip("0")) for fraction in fractions)
    # a heading may say per cent over numbers that are shares, as tables of yes ratios do
    said = percent and bool(len(known)) and known.max() > 1
    # a rate above 1 is in per cent, however many cells hold what no rate is
    rate = len(name) > 1 and bool(metric_of(name)[0]) and bool(len(known)) and known.max() > 1.5
    return Column(name, _scale(known, percent=said or rate or bool(marked)), better, decimals)


def _check_scale(name: str, cells: Sequence[PrintedCell], place: str) -> None:
    """Check that no shares of 1 stand among the percents of a column: times 100 they would be as
    large as the others, and they have more decimals, or are a third of the column.

    Raises
    ------
    DataError
        Some do.
    """
    large = [cell for cell in cells if cell.value > 1.5]
    small = [cell for cell in cells if 0 < cell.value < 1 and not cell.percent]
    if not small or len(large) < 2:
        return
    values = [cell.value for cell in large]
    as_large = all(min(values) / 2 <= 100 * cell.value <= 2 * max(values) for cell in small)
    finer = min(map(_decimals, small)) > max(map(_decimals, large))
    several = len(small) >= max(2, len(large) / 2)
    if as_large and np.median(values) >= 20 and (finer or several):
        raise DataError(
            f"{small[0].text!r} stands in the column {name!r} beside {large[0].text!r}: one is a"
            " share of 1, the other a percent",
            location=place,
            remedy="Write all of them on one scale.",
        )


def _decimals(cell: PrintedCell) -> int:
    return len(cell.text.partition(".")[2])


def _check_rows(values: Array, about: Sequence[Column], names: Sequence[str], place: str) -> None:
    """Check that no row has shares where the others have percents: at most 1 in each of two columns
    or more, and a twentieth of their medians.

    Raises
    ------
    DataError
        Some have.
    """
    rates = values[:, [column.scale == 100 for column in about]]
    if rates.shape[1] < 2 or len(rates) < 3:
        return
    small = [bool(((row > 0) & (row <= 1) | np.isnan(row)).all()) for row in rates]
    if not any(small) or all(small):
        return
    most = np.nan_to_num(np.nanmedian(rates[[not each for each in small]], axis=0))
    if (most >= 20).all():
        odd = [name for name, is_small in zip(names, small, strict=True) if is_small]
        raise DataError(
            f"{len(odd)} of {len(names)} rows have shares of 1 where the others have percents:"
            f" {', '.join(odd[:3])}",
            location=place,
            remedy="Write all rows on one scale.",
        )


def _scale(known: Array, *, percent: bool) -> float | None:
    if percent:
        return 100.0
    if not len(known) or known.max() <= 1.5:
        # shares of 1; where many are negative they are differences, or points
        return 1.0 if not len(known) or (known >= 0).mean() >= 0.8 else None
    return 100.0 if ((known >= 0) & (known <= 100)).mean() >= 0.8 else None


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


def groups_of(columns: Iterable[Column]) -> dict[str, dict[str, int]]:
    """Return group of questions -> metric -> column. Skip groups with two columns of one metric."""
    groups: dict[str, dict[str, int]] = {}
    doubtful = set()
    for j, column in enumerate(columns):
        metric, group = metric_of(column.name)
        if metric and column.scale is not None:
            if metric in groups.setdefault(group, {}):
                doubtful.add(group)
            groups[group][metric] = j
    return {group: places for group, places in groups.items() if group not in doubtful}


def confusion_groups(table: Published) -> dict[str, dict[str, int]]:
    """Return group -> metric -> position of its column, for groups with two metrics or more."""
    return {group: places for group, places in groups_of(table.about).items() if len(places) > 1}


def is_summary(column: Column) -> bool:
    """Whether a column is called the mean or the sum of the others, of one metric or of all."""
    metric, group = metric_of(column.name)
    return bool(SUMMARY.match((group if metric else column.name).strip()))


# ----------------------------------------------------------------------
# Which columns of a published table are parts of one test, and a long table brought to one row
# for each respondent.
# ----------------------------------------------------------------------

_LEADING = ("accuracy", "f1", "recall", "precision")


@dataclass(frozen=True)
class Subscales:
    """The columns that are parts of one test.

    Parameters
    ----------
    columns, about
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
    about: tuple[Column, ...]
    scores: Array
    rates: Array | None
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> Array:
        """(respondents,): the mean over the columns; NaN for a respondent that lacks one."""
        return self.scores.mean(axis=1) if self.columns else np.full(len(self.scores), np.nan)


def pivoted(table: Published) -> Published:
    """Reshape a table with several rows for each respondent to one row for each."""
    repeated = table.repeated
    if repeated is None:
        return table
    names = list(dict.fromkeys(row[repeated] for row in table.labels))
    sets = list(dict.fromkeys((*row[:repeated], *row[repeated + 1 :]) for row in table.labels))
    width = len(table.about)
    values = np.full((len(names), len(sets) * width), np.nan)
    printed = [[""] * values.shape[1] for _ in names]
    for i, row in enumerate(table.labels):
        m, s = names.index(row[repeated]), sets.index((*row[:repeated], *row[repeated + 1 :]))
        values[m, s * width : (s + 1) * width] = table.values[i]
        printed[m][s * width : (s + 1) * width] = table.printed[i]
    about = [
        replace(column, name=f"{' / '.join(each)} {column.name}")
        for each in sets
        for column in table.about
    ]
    return replace(
        table,
        label_names=(table.label_names[repeated],),
        labels=tuple((name,) for name in names),
        respondents=tuple(names),
        about=tuple(about),
        values=values,
        printed=tuple(tuple(row) for row in printed),
        summaries=(),
    )


def subscales_of(table: Published) -> Subscales:
    """The columns that are parts of one test.

    Columns that are means of others are left out. Of several metrics of the same answers
    (precision, recall, F1) one is taken, of every group of questions: the others say the same
    answers again.
    """
    notes = []
    chosen = [j for j, column in enumerate(table.about) if not is_summary(column)]
    if confusion_groups(table):
        have = {metric_of(table.about[j].name)[0] for j in chosen}
        metric = next((name for name in _LEADING if name in have), "")
        chosen = [j for j in chosen if metric_of(table.about[j].name)[0] == metric]
        notes.append(
            f"of the metrics of the same answers, {metric or 'none'} is taken: the others are made"
            " from the same counts"
        )
    about = tuple(table.about[j] for j in chosen)
    columns = tuple(column.name for column in about)
    raw = table.values[:, chosen]
    scales = {column.scale for column in about}
    scores = np.stack([table.turned(name) for name in columns], axis=1) if columns else raw
    if len(scales) > 1 and None not in scales:
        scores = scores / np.array([column.scale for column in about])
        notes.append("columns in per cent are brought to shares of 1")
    elif len(scales) > 1:
        spread = np.nanstd(scores, axis=0, ddof=1)
        scores = (scores - np.nanmean(scores, axis=0)) / np.where(spread > 0, spread, 1.0)
        notes.append(
            "columns are on different scales, so each is standardised before they are added"
        )
    unknown = [
        column.name for column in about if not column.better and not metric_of(column.name)[0]
    ]
    if unknown and not table.binary:
        which = "all columns" if len(unknown) == len(about) else ", ".join(unknown[:10])
        notes.append(
            f"higher is taken as better in {which}: say so, or the contrary, with --direction"
        )
    rates = (
        raw / np.array([column.scale for column in about])
        if None not in scales and columns
        else None
    )
    if rates is not None and not ((rates >= 0) & (rates <= 1) | np.isnan(rates)).all():
        rates = None
    return Subscales(columns, about, scores, rates, tuple(notes))
