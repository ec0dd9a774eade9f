"""Tables for papers, written as LaTeX, Markdown, CSV and JSON.

In LaTeX they fit one column of a paper: text is escaped, numbers are aligned, and every signature
stands in a comment.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from hqm.reports.tables import Column, Table, Text, anchor, bracketed, number, withheld_note

from hqm import Estimate, UsageError

# --- tables for papers, and their Markdown, CSV and JSON ---


def measured(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    digits: int = 3,
    signature: str = "",
) -> Text:
    """A cell with a number and, where there is one, its interval.

    >>> measured(0.5, 0.4, 0.6).text, measured(0.5, 0.4, 0.6).small, measured(None).text
    ('0.500', '[0.400, 0.600]', '–')
    """
    value, low, high = (_exact(v) for v in (value, low, high))
    return Text(
        number(value, digits),
        signature,
        link=anchor(signature) if signature else "",
        small="" if value is None else bracketed(low, high, digits),
        value=value,
        low=low,
        high=high,
    )


def _exact(value: float | None) -> float | None:
    """A number without the rounding error that arithmetic leaves next to a whole number."""
    if value is None or not math.isfinite(value):
        return None
    return float(round(value)) if abs(value - round(value)) < 1e-12 else float(value)


def estimated(
    estimate: Estimate | None, *, digits: int = 3, over: Sequence[str] = ("model_population",)
) -> Text:
    """A cell with an estimate and the first of the named intervals that it has."""
    if estimate is None:
        return measured(None)
    spans = [estimate.interval(name) for name in over]
    span = next((s for s in spans if s is not None), None)
    ends = (None, None) if span is None else (span.low, span.high)
    entry = measured(estimate.value, *ends, digits=digits, signature=estimate.signature)
    return replace(entry, small=f"{entry.small}{withheld_note(estimate)}".strip())


def markdown(tables: Sequence[Table]) -> str:
    """Tables as Markdown: best in bold, second best underlined; signatures at the end of the
    file.
    """
    signed = [f"    {place}: {line}" for place, line in signatures(tables)]
    after = ["Signatures:\n", *signed, ""] if signed else []
    return "\n".join([*map(_as_markdown, tables), *after])


def _as_markdown(table: Table) -> str:
    rule = ("---" if column.kind == "text" else "---:" for column in table.columns)
    lines = [
        f"**{_cell(table.name)}.** {_cell(table.caption)}",
        "",
        f"| {' | '.join(_cell(heading(column)) for column in table.columns)} |",
        f"|{'|'.join(rule)}|",
        *(f"| {' | '.join(map(_marked, row))} |" for row in table.rows),
        "",
        *(f"{_cell(note)}\n" for note in table.notes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _cell(text: str) -> str:
    """Text escaped so that Markdown shows it as it is and it does not end a cell."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    for character in "|*_`[]~#$":
        text = text.replace(character, "\\" + character)
    return text


def _marked(entry: Text) -> str:
    text = _cell(entry.text)
    text = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(entry.mark, text)
    return f"{text} {_cell(entry.small)}".rstrip()


def comma_separated(tables: Sequence[Table]) -> str:
    """Tables as one long CSV with a line per cell; the number and its interval are not rounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        (
            "table",
            "line",
            "row",
            "group",
            "column",
            "shown",
            "value",
            "low",
            "high",
            "mark",
            "signature",
        )
    )
    for table in tables:
        for i, row in enumerate(table.rows):
            for column, entry in zip(table.columns, row, strict=True):
                numbers = [
                    "" if v is None else repr(v) for v in (entry.value, entry.low, entry.high)
                ]
                words = (row[0].text, column.group, column.title, entry.text)
                writer.writerow(
                    (
                        table.name,
                        i,
                        *map(_harmless, words),
                        *numbers,
                        entry.mark,
                        _harmless(entry.behind),
                    )
                )
    return out.getvalue()


def _harmless(text: str) -> str:
    """Text with an apostrophe in front where a spreadsheet would take it for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "@", "\t", "\r") else text


def as_json(tables: Sequence[Table]) -> str:
    """Tables as JSON, without rounding."""
    written: list[Mapping[str, Any]] = [
        {
            "name": table.name,
            "caption": table.caption,
            "columns": [
                {"title": c.title, "group": c.group, "kind": c.kind} for c in table.columns
            ],
            "rows": [
                [
                    {
                        "shown": e.text,
                        "value": e.value,
                        "low": e.low,
                        "high": e.high,
                        "mark": e.mark,
                        "signature": e.behind,
                    }
                    for e in row
                ]
                for row in table.rows
            ],
            "notes": list(table.notes),
        }
        for table in tables
    ]
    return json.dumps({"tables": written}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def signatures(tables: Sequence[Table]) -> list[tuple[str, str]]:
    """The place of every number that has a signature, with the signature."""
    return [
        (
            f"{table.name}, {' '.join(row[0].text.split())}, {column.title}",
            " ".join(entry.behind.split()),
        )
        for table in tables
        for row in table.rows
        for column, entry in zip(table.columns, row, strict=True)
        if entry.behind
    ]


# --- fitting a table into a column ---

# The rule: letters as wide as Computer Modern's (cmr10, The Computer Modern Typefaces), 8 pt for
# what stands in a table and 7 pt for its intervals, 4 pt to either side of a column. Papers have
# columns of 3.03 in (ACL), 3.25 in (CVPR, ICML), 3.33 in (ACM) and 3.5 in (IEEE), and are 5.5 in
# (NeurIPS) to 7 in wide: a table fits the narrowest column, or else stands over both (`table*`).

POINTS = 72.27
"""TeX's points in an inch."""
NARROWEST, ACROSS = 3.03 * POINTS, 5.5 * POINTS
"""The narrowest column, and the narrowest page without its margins, in points."""
GAP = 8.0
"""Between two columns: LaTeX's `tabcolsep` on both sides, set to 4 pt."""
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


def width_of_column(table: Table, index: int) -> float:
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
        numbers = max([numbers, *(width_of(e.small, INTERVAL) for e in entries)])
    return max([numbers, *(width_of(line) for line in lines_of(column.title, numbers))])


def width_needed(table: Table) -> float:
    """The least width that a table can be set in."""
    return sum(width_of_column(table, i) for i in range(len(table.columns))) + GAP * (
        len(table.columns) - 1
    )


def fitted(table: Table) -> Table:
    """The table, or where it is wider than a page the same numbers with a row for each."""
    if width_needed(table) <= ACROSS:
        return table
    names = [i for i, column in enumerate(table.columns) if column.kind == "text"]
    rows = [
        (*(row[i] for i in names), Text(heading(column)), entry)
        for row in table.rows
        for column, entry in zip(table.columns, row, strict=True)
        if column.kind != "text" and entry.value is not None
    ]
    return replace(
        table,
        columns=(
            *(table.columns[i] for i in names),
            Column("What", "text"),
            Column("", "interval"),
        ),
        rows=tuple(rows),
    )


def heading(column: Column) -> str:
    """What a column is called where its group stands nowhere else."""
    return f"{column.group}: {column.title}" if column.group else column.title


def pages(table: Table, most: int = PAGE) -> tuple[Table, ...]:
    """The table, or where it is taller than a page its rows in parts; the first part has the
    notes.
    """
    texts = [i for i, column in enumerate(table.columns) if column.kind == "text"]
    others = sum(
        width_of_column(table, i) + GAP for i in range(len(table.columns)) if i not in texts
    )
    width = NARROWEST if width_needed(table) <= NARROWEST else ACROSS
    room = max((width - others) / max(len(texts), 1) - GAP, _LONGEST)
    parts: list[list[tuple[Text, ...]]] = [[]]
    left = most - sum(len(lines_of(note, width)) for note in table.notes)
    for row in table.rows:
        # an interval stands beneath its number
        lines = [2 if entry.small else 1 for entry in row]
        height = max([*lines, *(len(lines_of(row[i].text, room)) for i in texts)])
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


_WRITTEN = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "-": "-{}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "÷": r"$\div$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "✓": r"$\checkmark$",
    "°": r"\textdegree{}",
    "∞": r"$\infty$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "κ": r"$\kappa$",
    "λ": r"$\lambda$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "ω": r"$\omega$",
    "Φ": r"$\Phi$",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
}
_T1 = frozenset("ĂăĄąĆćČčĎďĐđĘęĚěĞğİıĹĺĽľŁłŃńŇňŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž")
"""Letters beyond Latin-1 that the font encoding T1 has."""
HEAD = r"""% Made by HQM. Needs in the preamble:
%   \usepackage[T1]{fontenc} \usepackage{textcomp,amssymb,booktabs,tabularx,array}
"""
STACKED = r"""\providecommand{\hqminterval}[2]{\begin{tabular}[t]{@{}r@{}}#1\\[-1pt]\scriptsize #2\end{tabular}}
"""
"""A number with its interval beneath it."""


def escape(text: str) -> str:
    r"""Text escaped so that LaTeX shows it as it is; a letter without a glyph in pdflatex is shown
    as its code point.

    >>> print(escape(r"50% of a_b & \input{x}"), escape("中"))
    50\% of a\_b \& \textbackslash{}input\{x\} \texttt{U+4E2D}
    """
    shown = []
    for character in unicodedata.normalize("NFC", text):
        if character in _WRITTEN:
            shown.append(_WRITTEN[character])
        elif character.isspace():
            shown.append(" ")
        elif " " <= character <= "~" or "À" <= character <= "ÿ" or character in _T1:
            shown.append(character)
        elif unicodedata.category(character) not in ("Cc", "Cf"):
            shown.append(rf"\texttt{{U+{ord(character):04X}}}")
    return "".join(shown)


def latex(tables: Sequence[Table]) -> str:
    r"""Tables as a file for \input: each is a float with caption and label, and the signatures
    follow as comments.

    Nothing is scaled: a table that is wider than a column of a paper stands over both, and one that
    is taller than its page becomes several. Numbers of a column have the same decimals and stand to
    the right, so that their points are aligned.
    """
    blocks = [_float(page) for table in tables for page in pages(fitted(table))]
    comments = [f"% {_comment(place)}: {_comment(line)}\n" for place, line in signatures(tables)]
    return "\n".join(
        [
            HEAD + STACKED,
            *blocks,
            (
                "% Signatures: equal lines mean equal numbers.\n" + "".join(comments)
                if comments
                else ""
            ),
        ]
    )


def _comment(text: str) -> str:
    """Text that stays on one line, so that it does not end a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


def _float(table: Table) -> str:
    place = "table" if width_needed(table) <= NARROWEST else "table*"
    name = table.name or table.caption.lower()
    label = "".join(c if c.isascii() and c.isalnum() else "-" for c in name)
    text = r">{\raggedright\arraybackslash}X"
    specs = "".join(text if column.kind == "text" else "r" for column in table.columns)
    notes = " ".join(escape(note) for note in table.notes)
    below = [
        r"\par\smallskip",
        rf"\begin{{minipage}}{{\linewidth}}\raggedright\footnotesize {notes}\end{{minipage}}",
    ]
    lines = [
        rf"\begin{{{place}}}",
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape(table.caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabularx}}{{\linewidth}}{{@{{}}{specs}@{{}}}}",
        r"\toprule",
        *_heading(table),
        r"\midrule",
        *(" & ".join(_cells(table, row)) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabularx}",
        *(below if notes else []),
        rf"\end{{{place}}}",
        "",
    ]
    return "\n".join(lines)


def _heading(table: Table) -> list[str]:
    columns, lines = table.columns, []
    if any(c.group for c in columns):
        over, rules, at = [], [], 1
        for group, members in groupby(columns, key=lambda c: c.group):
            each = list(members)
            width = len(each)
            room = sum(_room(table, columns.index(c)) for c in each)
            over.append(
                rf"\multicolumn{{{width}}}{{c}}{{{_stacked(group, room)}}}"
                if group
                else " & " * (width - 1)
            )
            rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
            at += width
        lines += [" & ".join(over) + r" \\", " ".join(rules)]
    heads = []
    for i, column in enumerate(columns):
        if column.kind == "text":
            heads.append(escape(column.title))
            continue
        # the table has no margin at its edges, and a spanning cell would add one
        place = f"{'@{}' if i == 0 else ''}r{'@{}' if i == len(columns) - 1 else ''}"
        heads.append(rf"\multicolumn{{1}}{{{place}}}{{{_stacked(column.title, _room(table, i))}}}")
    return [*lines, " & ".join(heads) + r" \\"]


def _room(table: Table, index: int) -> float:
    """How wide the numbers of a column are, or the intervals beneath them, in points."""
    entries = [row[index] for row in table.rows]
    return max((max(width_of(e.text), width_of(e.small, INTERVAL)) for e in entries), default=0.0)


def _stacked(title: str, room: float) -> str:
    """A heading in as many lines as it takes to be no wider than the numbers below it."""
    lines = [escape(line) for line in lines_of(title, room)]
    return (
        lines[0]
        if len(lines) == 1
        else rf"\begin{{tabular}}[b]{{@{{}}c@{{}}}}{(chr(92) * 2).join(lines)}\end{{tabular}}"
    )


def _cells(table: Table, row: Sequence[Text]) -> list[str]:
    shown = []
    for column, entry in zip(table.columns, row, strict=True):
        if column.kind == "text":
            shown.append(_breakable(entry.text))
            continue
        text = _number(entry)
        if column.kind == "interval" and entry.small:
            text = rf"\hqminterval{{{text}}}{{{escape(entry.small)}}}"
        shown.append(text)
    return shown


def _breakable(text: str) -> str:
    """Text that may end a line after each hyphen, underscore, slash and colon, and within what is
    longer than a column.
    """
    escaped = [escape(part) for part in re.split(r"(?<=[-_/:])|(?<=\S{11})(?=\S{3})", text)]
    return r"\allowbreak{}".join(escaped)


def _number(entry: Text) -> str:
    text = escape(entry.text)
    marked = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}
    return marked.get(entry.mark, text)


# --- the format of a file ---

FORMATS: Mapping[str, Callable[[Sequence[Table]], str]] = {
    ".tex": latex,
    ".csv": comma_separated,
    ".md": markdown,
    ".json": as_json,
}
"""Suffix -> the function that writes tables."""


def formatted(tables: Sequence[Table], suffix: str) -> str:
    """Tables as the text of a file with this suffix.

    Raises
    ------
    UsageError
        No format has this suffix.
    """
    if suffix not in FORMATS:
        raise UsageError(
            f"tables cannot be written as {suffix!r}",
            remedy=f"Name a file that ends in {', '.join(FORMATS)}.",
        )
    return FORMATS[suffix](tables)
