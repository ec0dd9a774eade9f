"""A published table on the disk: CSV, tab-separated, Markdown or LaTeX, as rows of cells with their
lines.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from hqm.errors import DataError
from hqm.files.records import read_text

Rows = list[tuple[int, list[str]]]
"""The cells of each row, with the line of the file that the row ends on."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a table that hold anything.

    `typeset` is True of Markdown and LaTeX, where a row with one cell is a heading between rows.
    """

    rows: Rows
    typeset: bool


def read_sheet(path: Path) -> Sheet:
    """Read the rows of a table; its format is told from what stands in the file.

    Raises
    ------
    DataError
        The file cannot be read, or holds two LaTeX tables.
    """
    text = read_text(path)
    if r"\begin{tabular" in text or r"\begin{longtable" in text or re.search(r"&[^\n]*\\\\", text):
        rows, typeset = _latex(text, str(path)), True
    elif _is_markdown(text):
        rows, typeset = _markdown(text), True
    else:
        rows, typeset = _separated(text, str(path)), False
    if typeset:
        # what pandas writes there for no number
        rows = [
            (line, ["" if cell.strip() in ("nan", "NaN") else cell for cell in row])
            for line, row in rows
        ]
    return Sheet([(line, row) for line, row in rows if any(cell.strip() for cell in row)], typeset)


# --- CSV ---


def _separated(text: str, place: str) -> Rows:
    first = next((line for line in text.splitlines() if line.strip()), "")
    unquoted = re.sub(r'"[^"]*"', "", first)
    # a decimal comma may stand in a table with tabs or semicolons, hardly a tab or semicolon in one
    # with commas
    mark = next((mark for mark in "\t;" if mark in unquoted), ",")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
    rows: Rows = []
    try:
        rows.extend((reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise DataError(f"it is no CSV: {error}", place=f"{place}:{reader.line_num}") from None
    return rows


# --- Markdown ---

_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?")


def _is_markdown(text: str) -> bool:
    return any("|" in line and _RULE.fullmatch(line.strip()) for line in text.splitlines()[:200])


def _markdown(text: str) -> Rows:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if "|" not in bare or (_RULE.fullmatch(bare) and "-" in bare):
            continue
        bare = bare.removeprefix("|")
        bare = bare.removesuffix("|") if not bare.endswith(r"\|") else bare
        rows.append(
            (number, [cell.replace(r"\|", "|").strip() for cell in re.split(r"(?<!\\)\|", bare)])
        )
    return rows


# --- LaTeX ---

_TABULAR = re.compile(r"\\begin\{(tabular[xy*]?|longtable|array)\}(.*?)\\end\{\1\}", re.DOTALL)
_LINES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|hdashline|endhead|endfirsthead|endfoot|endlastfoot|noalign\{[^}]*\}"
    r"|(?:cmidrule|cline|cdashline|specialrule|addlinespace)(?:\([^)]*\))?(?:\[[^\]]*\])?(?:\{[^}]*\})*)(?:\[[^\]]*\])?"
)
_SIGNS = {
    r"\%": "%",
    r"\&": "&",
    r"\_": "_",
    r"\#": "#",
    r"\$": "",
    r"\pm": "±",
    r"\uparrow": "↑",
    r"\downarrow": "↓",
    r"\dagger": "†",
    r"\ddagger": "‡",
    r"\dag": "†",
    r"\ddag": "‡",
    r"\ast": "*",
    r"\star": "★",
    r"\textendash": "–",
    r"\textemdash": "—",
    r"\,": "",
    r"\;": "",
    r"\!": "",
    r"\ ": " ",
    r"\quad": " ",
    r"\xspace": "",
    r"\tau": "tau",
}


def _latex(text: str, place: str) -> Rows:
    tables = list(_TABULAR.finditer(text))
    if len(tables) > 1:
        raise DataError(
            f"it holds {len(tables)} tables", place=place, remedy="Keep one table in a file."
        )
    start = tables[0].start(2) if tables else 0
    body = tables[0][2] if tables else text
    body = re.sub(r"(?<!\\)%[^\n]*", "", body)
    if tables:
        kept = _without_arguments(body)
        start, body = start + len(body) - len(kept), kept
    rows: Rows = []
    place_of = text.count("\n", 0, start) + 1
    for row in re.split(r"\\\\(?:\[[^\]]*\])?", body):
        place_of += row.count("\n")
        cells: list[str] = []
        for cell in re.split(r"(?<!\\)&", _LINES.sub("", row)):
            cells += _spanned(cell)
        rows.append((place_of, cells))
    return rows


def _without_arguments(body: str) -> str:
    """What follows the width and the columns of a tabular."""
    body = body.lstrip()
    while body.startswith(("{", "[")):
        close = {"{": "}", "[": "]"}[body[0]]
        depth, end = 0, len(body)
        for i, character in enumerate(body):
            depth += (character == body[0]) - (character == close)
            if depth == 0:
                end = i + 1
                break
        body = body[end:]
    return body


def _spanned(cell: str) -> list[str]:
    """A cell that spans columns, as so many cells: its text stands in each."""
    wide = re.match(r"\s*\\multicolumn\{(\d+)\}", cell)
    text = plain(cell)
    return [text] * (min(int(wide[1]), 200) if wide else 1)


def plain(cell: str) -> str:
    r"""The text of a LaTeX cell.

    >>> plain(r"\textbf{85.3}$_{\pm 0.4}$"), plain(r"\multirow{2}{*}{LLaVA}"), plain(r"Yes (\%) $\uparrow$")
    ('85.3± 0.4', 'LLaVA', 'Yes (%) ↑')
    """
    text = re.sub(
        r"\\(?:multicolumn|multirow)\*?(?:\[[^\]]*\])?\{[^{}]*\}(?:\[[^\]]*\])?\{[^{}]*\}", "", cell
    )
    text = re.sub(
        r"\\(?:cellcolor|rowcolor|color|textcolor|rotatebox|makebox|vspace|hspace)(?:\[[^\]]*\])*\{[^{}]*\}",
        "",
        text,
    )
    for sign, meaning in _SIGNS.items():
        tail = r"(?![a-zA-Z])" if sign[-1].isalpha() else ""
        text = re.sub(re.escape(sign) + tail, meaning.replace("\\", r"\\"), text)
    text = re.sub(r"\\[a-zA-Z]+\*?", "", text)
    text = re.sub(
        r"(?<!\\)[{}$^]|(?<=[\d}$])_(?=[±{])|_(?=\{)",
        "",
        text.replace("$_", "_").replace("_{", "{"),
    )
    return re.sub(r"\s+", " ", text.replace("~", " ")).strip()
