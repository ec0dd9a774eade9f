"""How wide a table is in print, and its pieces that fit one column of a two-column paper without
being scaled down.

The rule: letters as wide as Computer Modern's (cmr10, The Computer Modern Typefaces), 8 pt for what
stands in a table and 7 pt for its intervals, 4 pt to either side of a column. Papers have columns
of 3.03 in (ACL), 3.25 in (CVPR, ICML), 3.33 in (ACM) and 3.5 in (IEEE); a piece fits the narrowest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, takewhile

from hqm.reports.layout import Column, Entry, PaperTable

POINTS = 72.27
"""TeX's points in an inch."""
NARROWEST = 3.03 * POINTS
"""The narrowest column, in points."""
GAP = 8.0
"""Between two columns: LaTeX's `tabcolsep` on both sides, set to 4 pt."""
SPAN_GAP = 3.0
"""Between a number and its interval."""
TABLE, INTERVAL = 8.0, 7.0
"""Sizes of letters."""
_LARGER = {8.0: 0.850, 7.0: 0.798}
"""Widths at a size as parts of those at 10 pt: cmr8 and cmr7 are drawn wider than cmr10 shrunk."""
_WIDTHS = {
    **dict.fromkeys("bdghnpkquvxy", 556),
    **dict.fromkeys("il,.;:'!|[]", 278),
    **dict.fromkeys("cefjrstz", 444),
    **dict.fromkeys("ao0123456789–", 500),
    **dict.fromkeys("ABCDEFGHKLNOPQRTUVXYZ", 778),
    **dict.fromkeys("IJS", 556),
    **dict.fromkeys("()-", 389),
    **dict.fromkeys("+=−<>→↑↓×%", 833),
    "m": 833,
    "w": 722,
    "M": 917,
    "W": 1028,
    " ": 333,
}
"""In thousandths of 10 pt, rounded up within groups of alike letters."""
PAGE = 46
"""Lines of a table, its notes among them, that the shortest page holds beside heading and
caption.
"""
_UNKNOWN = 778
_LONGEST = 64.0
"""What a long word needs at least: LaTeX may break it after its eleventh letter."""


def width_of(text: str, size: float = TABLE) -> float:
    """How wide a text is in print, in points; never less than TeX makes it.

    >>> width_of("0.950") < width_of("[0.900, 0.980]", INTERVAL)
    True
    """
    return sum(_WIDTHS.get(c, _UNKNOWN) for c in text) / 100 * _LARGER[size]


def words_of(text: str) -> list[str]:
    """The parts of a text between which a line can end.

    >>> words_of("llava-1.5 of_them")
    ['llava-', '1.5', 'of_', 'them']
    """
    return [part for part in re.split(r"\s+|(?<=[-_/:])", text) if part]


def lines_of(title: str, room: float) -> list[str]:
    """A heading in lines that are as wide as the column's numbers, or as the heading's longest
    word.
    """
    room = max([room, *(width_of(word) for word in title.split())])
    lines: list[str] = []
    for word in title.split():
        if lines and width_of(f"{lines[-1]} {word}") <= room:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines or [""]


def width_of_column(table: PaperTable, index: int) -> float:
    """How wide a column is: its numbers, their intervals and its heading; for text, which is
    wrapped, its longest word.
    """
    column, entries = table.columns[index], [row[index] for row in table.rows]
    if column.kind == "text":
        words = [
            word for text in (column.title, *(e.text for e in entries)) for word in words_of(text)
        ]
        return min(max((width_of(word) for word in words), default=0.0), _LONGEST)
    numbers = max((width_of(e.text) for e in entries), default=0.0)
    if column.kind == "interval":
        spans = max((width_of(e.span, INTERVAL) for e in entries), default=0.0)
        numbers += SPAN_GAP + spans if spans else 0.0
    return max([numbers, *(width_of(line) for line in lines_of(column.title, numbers))])


def _keys(table: PaperTable) -> list[int]:
    """The leading columns of text that tell the rows apart, as few as it takes: every piece repeats
    them.
    """
    texts = list(takewhile(lambda i: table.columns[i].kind == "text", range(len(table.columns))))
    tries = [
        texts[:1],
        *([texts[0], i] for i in texts[1:]),
        *(texts[:k] for k in range(3, len(texts))),
    ]
    for keys in tries:
        if len({tuple(row[k].text for k in keys) for row in table.rows}) == len(table.rows):
            return keys
    return texts


def width_needed(table: PaperTable) -> float:
    """The least width that a table can be set in."""
    return sum(width_of_column(table, i) for i in range(len(table.columns))) + GAP * (
        len(table.columns) - 1
    )


def pieces(table: PaperTable, room: float = NARROWEST) -> tuple[PaperTable, ...]:
    """The table, or where it is wider than the room its pieces, each with the columns that name the
    rows.

    Columns of one group stay together where they fit. The first piece has the notes.
    """
    keys = _keys(table)
    rest = [i for i in range(len(table.columns)) if i not in keys]
    if not rest or width_needed(table) <= room:
        return (table,)
    # as wide as names need to be readable
    names = max(sum(width_of_column(table, k) + GAP for k in keys), 60.0 + GAP)
    # a column that is parted from its group says the group in its own title
    heads = {
        i: max((width_of(word) for word in f"{table.columns[i].group}:".split()), default=0.0)
        for i in rest
    }
    cost = {i: max(width_of_column(table, i), heads[i]) + GAP for i in rest}

    def fits(columns: Sequence[int]) -> bool:
        return names + sum(cost[i] for i in columns) - GAP <= room

    parts: list[list[int]] = [[]]
    for _, members in groupby(rest, key=lambda i: table.columns[i].group or i):
        block = list(members)
        if parts[-1] and fits(block) and not fits([*parts[-1], *block]):
            parts.append([])
        for i in block:
            if parts[-1] and not fits([*parts[-1], i]):
                parts.append([])
            parts[-1].append(i)
    return tuple(_piece(table, [*keys, *part], n) for n, part in enumerate(filter(None, parts)))


def pages(table: PaperTable, most: int = PAGE) -> tuple[PaperTable, ...]:
    """The table, or where it is taller than a page its rows in parts; the first part has the
    notes.
    """
    texts = [i for i, column in enumerate(table.columns) if column.kind == "text"]
    others = sum(
        width_of_column(table, i) + GAP for i in range(len(table.columns)) if i not in texts
    )
    room = max((NARROWEST - others) / max(len(texts), 1) - GAP, _LONGEST)
    parts: list[list[tuple[Entry, ...]]] = [[]]
    left = most - sum(len(lines_of(note, NARROWEST)) for note in table.notes)
    for row in table.rows:
        height = max((len(lines_of(row[i].text, room)) for i in texts), default=1)
        if parts[-1] and left < height:
            parts.append([])
            left = most
        parts[-1].append(row)
        left -= height
    if len(parts) == 1:
        return (table,)
    return tuple(
        replace(
            table,
            name=table.name if not n else f"{table.name}-part-{n + 1}",
            caption=f"{table.caption.rstrip('.?')} ({n + 1} of {len(parts)}).",
            rows=tuple(rows),
            notes=table.notes if n == 0 else (),
        )
        for n, rows in enumerate(parts)
    )


def _piece(table: PaperTable, columns: Sequence[int], n: int) -> PaperTable:
    own = [table.columns[i] for i in columns if i not in _keys(table)]
    about = dict.fromkeys(c.group or c.title for c in own)
    title = f"{table.caption.rstrip('.?')}: {', '.join(filter(None, about))}."
    return replace(
        table,
        name=table.name if not n else f"{table.name}-{n + 1}",
        caption=title,
        columns=tuple(
            _alone(table.columns[i], [table.columns[k] for k in columns]) for i in columns
        ),
        rows=tuple(tuple(row[i] for i in columns) for row in table.rows),
        notes=table.notes if n == 0 else (),
    )


def _alone(column: Column, all_of_it: Sequence[Column]) -> Column:
    """A column of a group of which nothing else is in this piece says the group in its own
    title.
    """
    if column.group and sum(other.group == column.group for other in all_of_it) == 1:
        title = column.group if column.title in column.group else f"{column.group}: {column.title}"
        return replace(column, title=title, group="")
    return column
