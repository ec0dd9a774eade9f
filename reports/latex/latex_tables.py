"""Tables for papers, written as LaTeX, Markdown, CSV and JSON.

In LaTeX they fit one column of a paper: text is escaped, numbers are aligned, and every signature
stands in a comment.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress, groupby, repeat
from operator import attrgetter

from hqm.reports.figures.drawings import printable
from hqm.reports.tables.table import (
    Column,
    Table,
    Text,
    anchor,
    bracket_text,
    goal,
    number,
)

from hqm import Estimate, UsageError
from hqm.files.dialect import csv_text

# --- tables for papers, and their Markdown, CSV and JSON ---


def number_cell(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    digits: int = 3,
    signature: str = "",
) -> Text:
    """A cell with a number and, where there is one, its interval.

    >>> number_cell(0.5, 0.4, 0.6).text, number_cell(0.5, 0.4, 0.6).small, number_cell(None).text
    ('0.500', '[0.400, 0.600]', '–')
    """
    value, low, high = map(_exact, (value, low, high))
    entry = Text(number(value, digits), signature, value=value, low=low, high=high)
    if value is not None:
        entry = replace(entry, small=bracket_text(low, high, digits))
    if signature:
        entry = replace(entry, link=anchor(signature))
    return entry


def _exact(value: float | None) -> float | None:
    """A number without the rounding error that arithmetic leaves next to a whole number."""
    if value is None or not math.isfinite(value):
        return None
    # 0.1 * 3 - 0.3 and its like would stand in CSV and JSON with 17 digits.
    if abs(value - round(value)) < 1e-12:
        return float(round(value))
    return float(value)


def estimate_cell(estimate: Estimate | None, *, digits: int = 3) -> Text:
    """A cell with an estimate and the interval that its question asks for, as the page and the gate
    have it, or else with another one, marked with an asterisk.
    """
    if estimate is None:
        return number_cell(None)
    _, inference = goal(estimate.indicator)
    kinds = (inference, "fixed_models", "model_population", "items")
    intervals = list(map(estimate.interval, kinds))
    # The first interval is the one that the goal of the indicator asks for; another says something
    # else, and is marked.
    interval = next(filter(None, intervals), None)
    ends = (None, None) if interval is None else (interval.low, interval.high)
    entry = number_cell(estimate.value, *ends, digits=digits, signature=estimate.signature)
    if entry.small and intervals[0] is None:
        return replace(entry, small=f"{entry.small}*")
    return entry


def markdown(tables: Sequence[Table]) -> str:
    """Tables as Markdown: best in bold, second best underlined; signatures at the end of the
    file.
    """
    blocks = list(map(_as_markdown, tables))
    # Indented by four spaces they are code, so that Markdown leaves the bars and stars of a
    # signature as they are.
    signed = [f"    {location}: {line}" for location, line in signatures(tables)]
    if signed:
        blocks += ["Signatures:\n", *signed, ""]
    return "\n".join(blocks)


def _as_markdown(table: Table) -> str:
    rule = ("---" if column.is_text else "---:" for column in table.columns)
    lines = [
        f"**{_cell(table.name)}.** {_cell(table.caption)}",
        "",
        f"| {' | '.join(map(_cell, table.headings))} |",
        f"|{'|'.join(rule)}|",
        *(f"| {' | '.join(map(_marked, row))} |" for row in table.rows),
        "",
        *(f"{_cell(note)}\n" for note in table.notes),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _cell(text: str) -> str:
    """Text escaped so that Markdown shows it as it is and it does not end a cell."""
    # An entity for what would begin HTML, a backslash for what is Markdown's own.
    text = " ".join(text.split()).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    for character in "|*_`[]~#$":
        text = text.replace(character, "\\" + character)
    return text


def _marked(entry: Text) -> str:
    content = _cell(entry.text)
    # Markdown has no underlining of its own.
    content = {"best": f"**{content}**", "second": f"<u>{content}</u>"}.get(entry.mark, content)
    return f"{content} {_cell(entry.small)}".rstrip()


_CSV_COLUMNS = (
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


def comma_separated(tables: Sequence[Table]) -> str:
    """Tables as one long CSV with a line per cell; the number and its interval are not rounded."""
    # Long form reads into a data frame without parsing headings, whatever the tables are.
    lines: list[tuple[object, ...]] = [_CSV_COLUMNS]
    for table, i, column, entry in _entries(tables):
        numbers = (entry.value, entry.low, entry.high)
        words = (table.rows[i][0].text, column.group, column.title, entry.text)
        lines.append((table.name, i, *words, *numbers, entry.mark, entry.tooltip))
    return csv_text(lines)


def _entries(tables: Sequence[Table]) -> Iterator[tuple[Table, int, Column, Text]]:
    """Every cell, with its table, the index of its row and its column."""
    for table in tables:
        for i, row in enumerate(table.rows):
            for column, entry in zip(table.columns, row, strict=True):
                yield table, i, column, entry


def _json_table(table: Table) -> Mapping[str, object]:
    return {
        "name": table.name,
        "caption": table.caption,
        "columns": [{"title": c.title, "group": c.group, "kind": c.kind} for c in table.columns],
        "rows": [list(map(_json_cell, row)) for row in table.rows],
        "notes": list(table.notes),
    }


def as_json(tables: Sequence[Table]) -> str:
    """Tables as JSON, without rounding."""
    entries = list(map(_json_table, tables))
    # NaN and infinity are no JSON; `_exact` has made None of them.
    return json.dumps({"tables": entries}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _json_cell(entry: Text) -> Mapping[str, str | float | None]:
    return {
        "shown": entry.text,
        "value": entry.value,
        "low": entry.low,
        "high": entry.high,
        "mark": entry.mark,
        "signature": entry.tooltip,
    }


def signatures(tables: Sequence[Table]) -> list[tuple[str, str]]:
    """The table, row and column of every number that has a signature, with the signature."""
    signed = []
    for table, i, column, entry in _entries(tables):
        row_name = " ".join(table.rows[i][0].text.split())
        if entry.tooltip:
            location = f"{table.name}, {row_name}, {column.title}"
            signed.append((location, " ".join(entry.tooltip.split())))
    return signed


# --- fitting a table into a column ---

# The rule: letters as wide as Computer Modern's (cmr10, The Computer Modern Typefaces), 8 pt for
# what stands in a table and 7 pt for its intervals, 4 pt to either side of a column. Papers have
# columns of 3.03 in (ACL), 3.25 in (CVPR, ICML), 3.33 in (ACM) and 3.5 in (IEEE), and are 5.5 in
# (NeurIPS) to 7 in wide: a table fits the narrowest column, or else stands over both (`table*`).

POINTS = 72.27
"""TeX's points in an inch."""
MIN_COLUMN_WIDTH = 3.03 * POINTS
MIN_PAGE_WIDTH = 5.5 * POINTS
"""The narrowest column, and the narrowest page without its margins, in points."""
GAP = 8.0
"""Between two columns: LaTeX's `tabcolsep` on both sides, set to 4 pt."""
TABLE_SIZE = 8.0
INTERVAL_SIZE = 7.0
"""Sizes of letters."""
_OPTICAL_SCALE = {8.0: 0.850, 7.0: 0.798}
"""Widths at a size as parts of those at 10 pt: cmr8 and cmr7 are drawn wider than cmr10 shrunk."""
_WIDTHS = {
    **dict.fromkeys("bdghnpkquvxy", 556),
    **dict.fromkeys("il,.;:'!|[]", 278),
    **dict.fromkeys("cefjrstz", 444),
    **dict.fromkeys("ao0123456789–", 500),
    **dict.fromkeys("ABCDEFHKLNOPQRTUVXYZ", 778),
    **dict.fromkeys("IJS", 556),
    **dict.fromkeys("()-", 389),
    **dict.fromkeys("+=−<>→↑↓×%", 833),
    "G": 785,
    "m": 833,
    "w": 722,
    "M": 917,
    "W": 1028,
    " ": 333,
}
"""In thousandths of 10 pt; in a group of alike letters that of the widest."""
MAX_PAGE_LINES = 46
"""Lines of a table, its notes among them, that the shortest page holds beside heading and
caption.
"""
_DEFAULT_WIDTH = 778
_MAX_WORD_WIDTH = 64.0
"""What a long word needs at least: LaTeX may break it after its eleventh letter."""


def width_of(text: str, size: float = TABLE_SIZE) -> float:
    """How wide a text is in print, in points; never less than TeX makes it.

    >>> width_of("0.950") < width_of("[0.900, 0.980]", INTERVAL_SIZE)
    True
    """
    # thousandths of 10 pt, divided by 100, are points
    return sum(map(_WIDTHS.get, text, repeat(_DEFAULT_WIDTH))) / 100 * _OPTICAL_SCALE[size]


def words_of(text: str) -> list[str]:
    """The pieces of a text between which a line may end.

    >>> words_of("llava-1.5 of_them")
    ['llava-', '1.5', 'of_', 'them']
    """
    return list(filter(None, re.split(r"\s+|(?<=[-_/:])", text)))


def lines_of(title: str, width: float) -> list[str]:
    """A heading in lines that are as wide as the column's numbers, or as the heading's longest
    word.
    """
    # A heading never forces a column wider than its longest word.
    width = max([width, *map(width_of, title.split())])
    lines: list[str] = []
    for word in title.split():
        if lines and width_of(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines or [""]


def width_of_column(table: Table, index: int) -> float:
    """How wide a column is: its numbers, their intervals and its heading; for text, which is
    wrapped, its longest word.
    """
    column = table.columns[index]
    texts = list(map(attrgetter("text"), table.entries(index)))
    if column.is_text:
        words = words_of(" ".join([column.title, *texts]))
        return min(max(map(width_of, words), default=0.0), _MAX_WORD_WIDTH)
    numbers = max(map(width_of, texts), default=0.0)
    if column.kind == "interval":
        numbers = _numbers_width(table, index)
    return max([numbers, *map(width_of, lines_of(column.title, numbers))])


def _numbers_width(table: Table, index: int) -> float:
    """How wide the numbers of a column are, or the intervals beneath them, in points."""
    widest = 0.0
    for entry in table.entries(index):
        widest = max(widest, width_of(entry.text), width_of(entry.small, INTERVAL_SIZE))
    return widest


def width_needed(table: Table) -> float:
    """The minimum width that a table can be set in."""
    n_columns = len(table.columns)
    return sum(width_of_column(table, i) for i in range(n_columns)) + GAP * (n_columns - 1)


def fit_to_page(table: Table) -> Table:
    """The table, or where it is wider than a page the same numbers with a row for each."""
    if width_needed(table) <= MIN_PAGE_WIDTH:
        return table
    # a table in long form: the texts of a row are repeated beside each of its numbers
    is_text = list(map(attrgetter("is_text"), table.columns))
    rows: list[tuple[Text, ...]] = []
    for _, i, column, entry in _entries([table]):
        if not column.is_text and entry.value is not None:
            texts = compress(table.rows[i], is_text)
            rows.append((*texts, Text(column.heading), entry))
    names = compress(table.columns, is_text)
    columns = (*names, Column("What", "text"), Column("", "interval"))
    return replace(table, columns=columns, rows=tuple(rows))


def pages(table: Table, max_lines: int = MAX_PAGE_LINES) -> tuple[Table, ...]:
    """The table, or where it is taller than a page its rows in several tables; the first one has
    the notes.
    """
    text_columns = table.text_columns
    fixed_width = sum(width_of_column(table, i) + GAP for i in table.right)
    if width_needed(table) <= MIN_COLUMN_WIDTH:
        width = MIN_COLUMN_WIDTH
    else:
        width = MIN_PAGE_WIDTH
    # What the numbers leave is shared by the columns of text, as tabularx shares it by its X
    # columns.
    text_width = max((width - fixed_width) / max(len(text_columns), 1) - GAP, _MAX_WORD_WIDTH)
    page_rows: list[list[tuple[Text, ...]]] = [[]]
    lines_left = max_lines - sum(len(lines_of(note, width)) for note in table.notes)
    for row in table.rows:
        # an interval stands beneath its number
        n_lines = 1 + any(map(attrgetter("small"), row))
        height = max([n_lines, *(len(lines_of(row[i].text, text_width)) for i in text_columns)])
        # A row that is taller than a page alone still gets one.
        if page_rows[-1] and lines_left < height:
            page_rows.append([])
            lines_left = max_lines
        page_rows[-1].append(row)
        lines_left -= height
    if len(page_rows) == 1:
        return (table,)
    parts = []
    for n, rows in enumerate(page_rows, 1):
        caption = f"{table.caption.rstrip('.?')} ({n} of {len(page_rows)})."
        part = replace(table, name=f"{table.name}-part-{n}", caption=caption, rows=tuple(rows))
        parts.append(replace(part, notes=()))
    # a reference to the table finds the first part
    parts[0] = replace(parts[0], name=table.name, notes=table.notes)
    return tuple(parts)


_LATEX_CHARACTERS = {
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
    # A bracket at the start of a row is read as the optional argument of the row end before it, and
    # so is a star.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # Two hyphens in a row would be set as a dash.
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
STACKED = (
    r"\providecommand{\hqminterval}[2]{\begin{tabular}[t]{@{}r@{}}#1\\[-1pt]"
    r"\scriptsize #2\end{tabular}}"
    "\n"
)
"""A number with its interval beneath it."""


def escape(text: str) -> str:
    r"""Text escaped so that LaTeX shows it as it is; a letter without a glyph in pdflatex is shown
    as its code point.

    >>> print(escape(r"50% of a_b & \input{x}"), escape("中"))
    50\% of a\_b \& \textbackslash{}input\{x\} \texttt{U+4E2D}
    """
    pieces = []
    # Composed letters have glyphs in T1; a base letter and a combining accent have none.
    for character in unicodedata.normalize("NFC", text):
        if character in _LATEX_CHARACTERS:
            pieces.append(_LATEX_CHARACTERS[character])
        elif character.isspace():
            pieces.append(" ")
        elif " " <= character <= "~" or "À" <= character <= "ÿ" or character in _T1:
            pieces.append(character)
        # Characters that steer the direction or the device would act in an editor, and are dropped.
        elif unicodedata.category(character) not in ("Cc", "Cf"):
            pieces.append(rf"\texttt{{U+{ord(character):04X}}}")
    return "".join(pieces)


def latex(tables: Sequence[Table]) -> str:
    r"""Tables as a file for \input: each is a float with caption and label, and the signatures
    follow as comments.

    Nothing is scaled: a table that is wider than a column of a paper stands over both, and one that
    is taller than its page becomes several. Numbers of a column have the same decimals and stand to
    the right, so that their points are aligned.
    """
    blocks: list[str] = []
    for table in tables:
        blocks += map(_float, _floats(table))
    # a line end would end the comment
    comments = [
        f"% {printable(location)}: {printable(line)}\n" for location, line in signatures(tables)
    ]
    if comments:
        comments.insert(0, "% Signatures: equal lines mean equal numbers.\n")
    return "\n".join([HEAD + STACKED, *blocks, "".join(comments)])


def _floats(table: Table) -> Sequence[Table]:
    """The floats of a table: one, or as many as its width and height take."""
    if table.is_single_float:
        return (table,)
    return pages(fit_to_page(table))


def _font_size(table: Table) -> str:
    """The size of a float's letters: smaller where a float with many rows would leave its page."""
    if not table.is_single_float or len(table.rows) <= 40:
        return "footnotesize"
    if len(table.rows) <= 52:
        return "scriptsize"
    return "tiny"


def _float(table: Table) -> str:
    if width_needed(table) <= MIN_COLUMN_WIDTH:
        environment = "table"
    else:
        environment = "table*"
    # A label may not hold what TeX reads as a command or a comma-separated list.
    label = re.sub("[^0-9A-Za-z]", "-", table.name or table.caption.lower())
    text = r">{\raggedright\arraybackslash}X"
    specs = "".join(text if column.is_text else "r" for column in table.columns)
    notes = " ".join(map(escape, table.notes))
    if notes:
        notes = (
            r"\par\smallskip" + "\n"
            rf"\begin{{minipage}}{{\linewidth}}\raggedright\footnotesize {notes}\end{{minipage}}"
            "\n"
        )
    lines = [
        rf"\begin{{{environment}}}",
        r"\centering",
        "\\" + _font_size(table),
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape(table.caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabularx}}{{\linewidth}}{{@{{}}{specs}@{{}}}}",
        r"\toprule",
        *_heading(table),
        r"\midrule",
        *(_row(_cells(table, row)) for row in table.rows),
        r"\bottomrule",
        r"\end{tabularx}",
        rf"{notes}\end{{{environment}}}",
        "",
    ]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    """A row of a table."""
    return " & ".join(cells) + r" \\"


def _heading(table: Table) -> list[str]:
    columns = table.columns
    lines = []
    if any(map(attrgetter("group"), columns)):
        group_cells = []
        rules = []
        first_column = 1
        # Columns of a group stand side by side, so that runs of equal headings are the groups.
        for group, members in groupby(columns, key=attrgetter("group")):
            group_columns = list(members)
            n_columns = len(group_columns)
            group_width = sum(_numbers_width(table, columns.index(c)) for c in group_columns)
            last_column = first_column + n_columns - 1
            if group:
                stacked = _stacked(group, group_width)
                group_cells.append(rf"\multicolumn{{{n_columns}}}{{c}}{{{stacked}}}")
                rules.append(rf"\cmidrule(lr){{{first_column}-{last_column}}}")
            else:
                group_cells.append(" & " * (n_columns - 1))
            first_column += n_columns
        lines += [_row(group_cells), " ".join(rules)]
    heads = []
    for i, column in enumerate(columns):
        if column.is_text:
            heads.append(escape(column.title))
            continue
        # the table has no margin at its edges, and a spanning cell would add one
        alignment = f"{'@{}' if i == 0 else ''}r{'@{}' if i == len(columns) - 1 else ''}"
        title = _stacked(column.title, _numbers_width(table, i))
        heads.append(rf"\multicolumn{{1}}{{{alignment}}}{{{title}}}")
    return [*lines, _row(heads)]


def _stacked(title: str, width: float) -> str:
    """A heading in as many lines as it takes to be no wider than the numbers below it."""
    lines = list(map(escape, lines_of(title, width)))
    if len(lines) == 1:
        return lines[0]
    # chr(92) is a backslash, which an f-string could not hold before Python 3.12.
    return rf"\begin{{tabular}}[b]{{@{{}}c@{{}}}}{(chr(92) * 2).join(lines)}\end{{tabular}}"


def _cells(table: Table, row: Sequence[Text]) -> list[str]:
    cells = []
    for column, entry in zip(table.columns, row, strict=True):
        if column.is_text:
            cells.append(_breakable(entry.text))
            continue
        text = _number(entry)
        if column.kind == "interval" and entry.small:
            text = rf"\hqminterval{{{text}}}{{{escape(entry.small)}}}"
        cells.append(text)
    return cells


def _breakable(text: str) -> str:
    """Text that may end a line after each hyphen, underscore, slash and colon, and within what is
    longer than a column.
    """
    # A word of more than eleven letters may be broken after each letter from there on, but never
    # with fewer than three left.
    fragments = re.split(r"(?<=[-_/:])|(?<=\S{11})(?=\S{3})", text)
    return r"\allowbreak{}".join(map(escape, fragments))


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


def format_tables(tables: Sequence[Table], suffix: str) -> str:
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
