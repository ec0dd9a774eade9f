"""Read the cells of a published table: strip marks and units, and parse the numbers."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path

from hqm.errors import DataError
from hqm.files.dialect import COMMA_NUMBER, GROUPED_NUMBER, POINT_NUMBER, delimiter_of
from hqm.files.records import read_text
from hqm.text import visible_text

_MAX_SCORE = 1e9
"""No score is printed that is larger, or, if not 0, smaller than its inverse; sums of squares stay
exact far below.
"""
MISSING = frozenset(("", "-", "--", "---", "–", "—", "n/a", "N/A", "NA"))
"""What is printed where there is no score."""
_FOOTNOTE_MARKS = "*†‡§¶∗⋆★"
_THIN = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_MARKDOWN_LINK = re.compile(r"\[([^\[\]]+)\]\([^()\s]*\)")
_PLUS_MINUS = re.compile(r"(.*?)\s*(?:±|\+/-|\+-)\s*(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """The content of one cell.

    Parameters
    ----------
    text
        The number as printed, trailing zeros kept, without marks, separators of thousands and
        units; empty where there is no score.
    value
        The number; NaN where there is none.
    percent
        Whether a per cent sign stands behind it.
    spread
        What stands behind "±", empty where nothing does. Whether it is a standard deviation, a
        standard error or half an interval is not printed, so nothing is computed from it.
    """

    text: str
    value: float
    percent: bool = False
    uncertainty: str = ""


def strip_marks(cell: str) -> str:
    """Strip marks from a cell: bold, italics, code, footnote signs, and characters that are not
    seen.

    >>> list(map(strip_marks, ("**0.75**", "__a__", " `b` ", "85.3†", "<b>1</b>", "<u>2</u>")))
    ['0.75', 'a', 'b', '85.3', '1', '2']
    """
    text = re.sub(
        r"<(sup|sub)>[^<>±+-]*</\1>|</?(?:b|i|u|em|strong|sup|sub|code|br)\s*/?>",
        "",
        cell,
        flags=re.IGNORECASE,
    ).strip()
    text = _MARKDOWN_LINK.sub(r"\1", text)
    # the longest marks first, so that bold italics leave no asterisk
    for mark in ("***", "**", "__", "*", "_", "`", "~~"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip()
    return visible_text(text).rstrip(_FOOTNOTE_MARKS).strip()


def number_text(cell: str) -> str:
    """Return the number of a cell as it is printed, without marks, units and what follows "±"."""
    plain = _PLUS_MINUS.fullmatch(cell)
    return strip_marks(plain[1] if plain else cell).rstrip("%").strip()


def parse_cell(cell: str, location: str, comma: bool = False) -> PrintedCell:
    """Parse a cell.

    Parameters
    ----------
    comma
        Whether a comma is the decimal point.

    Raises
    ------
    DataError
        It prints something else than one number, or than one number with a spread.
    """
    text = strip_marks(cell).replace("\u2212", "-")
    if text in MISSING:
        return PrintedCell("", math.nan)
    uncertainty = ""
    match = _PLUS_MINUS.fullmatch(text)
    if match is not None:
        text = strip_marks(match[1])
        uncertainty = match[2].strip()
    percent = text.endswith("%") or uncertainty.endswith("%")
    number = _THIN.sub("", text.rstrip("%").strip())
    if comma and COMMA_NUMBER.fullmatch(number):
        number = number.replace(",", ".")
    elif not comma and GROUPED_NUMBER.fullmatch(number):
        number = number.replace(",", "")
    if not POINT_NUMBER.fullmatch(number):
        raise DataError(f"{cell[:40]!r} is no number", location=location, remedy=_remedy(text))
    value = float(number)
    if value and not 1 / _MAX_SCORE <= abs(value) <= _MAX_SCORE:
        raise DataError(
            f"{cell[:40]!r} is no score",
            location=location,
            remedy=(
                f"A score lies between {1 / _MAX_SCORE:g} and {_MAX_SCORE:g}; leave the cell empty"
                " if"
                " there is none."
            ),
        )
    return PrintedCell(number, value, percent, uncertainty)


def _remedy(text: str) -> str:
    if re.fullmatch(r"[^()]*\d\s*\([^()]*\)%?", text):
        return (
            "What stands in parentheses may be an error, a rank or a change: write the score alone,"
            " or score ± error."
        )
    if re.fullmatch(r"\d+\s*/\s*\d+", text):
        return "Write the share, or the count alone."
    return "Write a number, or nothing."


def is_score(cell: str) -> bool:
    """Return whether a cell is a number, with or without commas, or empty."""
    try:
        return math.isfinite(
            parse_cell(
                cell, "", comma="," in cell and not GROUPED_NUMBER.fullmatch(strip_marks(cell))
            ).value
        )
    except DataError:
        return False


# ----------------------------------------------------------------------
# A published table on the disk: CSV, tab-separated, Markdown or LaTeX, as rows of cells with
# their lines.
# ----------------------------------------------------------------------

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
    """Read the rows of a table; its format is recognised by its content.

    Raises
    ------
    DataError
        The file cannot be read, or holds two LaTeX tables.
    """
    text = read_text(path)
    if r"\begin{tabular" in text or r"\begin{longtable" in text or re.search(r"&[^\n]*\\\\", text):
        rows = _parse_latex(text, str(path))
        typeset = True
    elif _is_markdown(text):
        rows = _parse_markdown(text)
        typeset = True
    else:
        rows = _parse_csv(text, str(path))
        typeset = False
    rows = [(line, list(map(_without_nan, row))) for line, row in rows]
    return Sheet([(line, row) for line, row in rows if any(map(str.strip, row))], typeset)


def _without_nan(cell: str) -> str:
    """The cell, empty where it holds what pandas writes for no number."""
    if cell.strip() in ("nan", "NaN"):
        return ""
    return cell


# --- CSV ---


def _parse_csv(text: str, location: str) -> Rows:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), strict=True)
    rows: Rows = []
    try:
        rows.extend((reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise DataError(
            f"it is no CSV: {error}", location=f"{location}:{reader.line_num}"
        ) from None
    return rows


# --- Markdown ---

_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?")


def _is_markdown(text: str) -> bool:
    return any("|" in line and _RULE.fullmatch(line.strip()) for line in text.splitlines()[:200])


def _parse_markdown(text: str) -> Rows:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if "|" not in stripped or (_RULE.fullmatch(stripped) and "-" in stripped):
            continue
        stripped = stripped.removeprefix("|")
        if not stripped.endswith(r"\|"):
            stripped = stripped.removesuffix("|")
        else:
            stripped = stripped
        rows.append(
            (
                number,
                [cell.replace(r"\|", "|").strip() for cell in re.split(r"(?<!\\)\|", stripped)],
            )
        )
    return rows


# --- LaTeX ---

_TABULAR = re.compile(r"\\begin\{(tabular[xy*]?|longtable|array)\}(.*?)\\end\{\1\}", re.DOTALL)
_LINES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|hdashline|endhead|endfirsthead|endfoot|endlastfoot"
    r"|noalign\{[^}]*\}"
    r"|(?:cmidrule|cline|cdashline|specialrule"
    r"|addlinespace)(?:\([^)]*\))?(?:\[[^\]]*\])?(?:\{[^}]*\})*)(?:\[[^\]]*\])?"
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
    r"\Delta": "\u0394",
    r"\delta": "\u03b4",
    r"\sigma": "\u03c3",
}


_SWITCHED_OFF = re.compile(r"\\iffalse\b.*?\\fi\b", re.DOTALL)
_CITATION = re.compile(r"[~\s]*\\[cC]ite[a-zA-Z]*\*?(?:\[[^\]]*\])*\{[^{}]*\}")
_RAISED = re.compile(
    r"\\(?:textsuperscript|textsubscript|tnote|footnote|footnotemark)(?:\[[^\]]*\]|\{[^{}±]*\})+"
    r"|(?<=[\d}$])\s*\$?\^(?:\{[\w\s,*]*\}|\w)\$?"
)
"""Marks of footnotes: raised numbers and letters behind a score."""


def _parse_latex(text: str, location: str) -> Rows:
    tables = list(_TABULAR.finditer(text))
    if len(tables) > 1:
        raise DataError(
            f"it holds {len(tables)} tables", location=location, remedy="Keep one table in a file."
        )
    start = tables[0].start(2) if tables else 0
    body = tables[0][2] if tables else text
    body = re.sub(r"(?<!\\)%[^\n]*", "", body)
    # what is switched off is not printed; its line ends are kept, for the numbers of the lines
    body = _SWITCHED_OFF.sub(lambda match: "\n" * match[0].count("\n"), body)
    if tables:
        remaining = _drop_arguments(body)
        start = start + len(body) - len(remaining)
        body = remaining
    rows: Rows = []
    line = text.count("\n", 0, start) + 1
    for row in re.split(r"\\\\(?:\[[^\]]*\])?", body):
        line += row.count("\n")
        cells: list[str] = []
        for cell in re.split(r"(?<!\\)&", _LINES.sub("", row)):
            cells += _repeat_spanned(cell)
        rows.append((line, cells))
    return rows


def _drop_arguments(body: str) -> str:
    """Return the text behind the width and the columns of a tabular."""
    body = body.lstrip()
    while body.startswith(("{", "[")):
        close = {"{": "}", "[": "]"}[body[0]]
        depth = 0
        end = len(body)
        for i, character in enumerate(body):
            depth += (character == body[0]) - (character == close)
            if depth == 0:
                end = i + 1
                break
        body = body[end:]
    return body


def _repeat_spanned(cell: str) -> list[str]:
    """Repeat a cell that spans several columns in each of them."""
    span_match = re.match(r"\s*\\multicolumn\{(\d+)\}", cell)
    text = latex_text(cell)
    return [text] * (min(int(span_match[1]), 200) if span_match else 1)


def latex_text(cell: str) -> str:
    r"""The text of a LaTeX cell.

    >>> latex_text(r"\textbf{85.3}$_{\pm 0.4}$"), latex_text(r"\multirow{2}{*}{LLaVA}")
    ('85.3± 0.4', 'LLaVA')
    >>> latex_text(r"56.7\textsuperscript{2}"), latex_text(r"56.7$^{2}$")
    ('56.7', '56.7')
    >>> latex_text(r"Yes (\%) $\uparrow$"), latex_text(r"$\Delta$ vs. base")
    ('Yes (%) ↑', 'Δ vs. base')
    """
    text = re.sub(
        r"\\(?:multicolumn|multirow)\*?(?:\[[^\]]*\])?\{[^{}]*\}(?:\[[^\]]*\])?\{[^{}]*\}", "", cell
    )
    text = re.sub(
        r"\\(?:cellcolor|rowcolor|color|textcolor|rotatebox|makebox|vspace"
        r"|hspace)(?:\[[^\]]*\])*\{[^{}]*\}",
        "",
        text,
    )
    text = _RAISED.sub("", _CITATION.sub("", text))
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
