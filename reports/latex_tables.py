"""Tables in LaTeX that fit one column of a paper: text is escaped, numbers are aligned, every
signature stands in a comment.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby

from hqm.reports.column_width import INTERVAL, lines_of, pages, pieces, width_of
from hqm.reports.layout import Column, Entry, PaperTable, signatures

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


def latex(tables: Sequence[PaperTable], *, siunitx: bool = True) -> str:
    r"""Tables as a file for \input: each is a float with caption and label, and the signatures
    follow as comments.

    Nothing is scaled: a table that is wider than a column of a paper, or taller than its page,
    becomes several.

    Parameters
    ----------
    tables
        The tables to write.
    siunitx
        Align numbers at the decimal point with siunitx's `S` columns; without it they are
        right-aligned.
    """
    head = HEAD + ("%   \\usepackage{siunitx}\n" if siunitx else "")
    blocks = [
        _float(page, siunitx)
        for table in tables
        for piece in pieces(table)
        for page in pages(piece)
    ]
    comments = [f"% {_comment(place)}: {_comment(line)}\n" for place, line in signatures(tables)]
    signed = (
        "% Signatures: equal lines mean equal numbers.\n" + "".join(comments) if comments else ""
    )
    return "\n".join([head, *blocks, signed])


def _comment(text: str) -> str:
    """Text that stays on one line, so that it does not end a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


def _float(table: PaperTable, siunitx: bool) -> str:
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape(table.caption)}}}",
    ]
    lines.append(
        rf"\label{{tab:{''.join(c if c.isascii() and c.isalnum() else '-' for c in table.name)}}}"
    )
    specs = "".join(_spec(table, i, siunitx) for i in range(len(table.columns)))
    lines.append(rf"\begin{{tabularx}}{{\linewidth}}{{@{{}}{specs}@{{}}}}")
    lines += [r"\toprule", *_heading(table), r"\midrule"]
    lines += [" & ".join(_cells(table, row, siunitx)) + r" \\" for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabularx}"]
    if table.notes:
        notes = " ".join(escape(note) for note in table.notes)
        lines += [
            r"\par\smallskip",
            rf"\begin{{minipage}}{{\linewidth}}\raggedright\footnotesize {notes}\end{{minipage}}",
        ]
    return "\n".join([*lines, r"\end{table}", ""])


def _spec(table: PaperTable, index: int, siunitx: bool) -> str:
    column = table.columns[index]
    if column.kind == "text":
        return r">{\raggedright\arraybackslash}X"
    wide = r"@{\hspace{3pt}}l" if column.kind == "interval" else ""
    return (_decimal(table, index) if siunitx else "r") + wide


def _decimal(table: PaperTable, index: int) -> str:
    """An S column as wide as its widest number."""
    shown = [row[index].text for row in table.rows if row[index].value is not None]
    bare = [text.replace("−", "").replace(",", "").removeprefix("< ") for text in shown]
    whole = max((len(text.partition(".")[0]) for text in bare), default=1)
    part = max((len(text.partition(".")[2]) for text in bare), default=0)
    sign = (
        "<"
        if any(text.startswith("<") for text in shown)
        else "-"
        if any("−" in text for text in shown)
        else ""
    )
    return rf"S[table-format={sign}{whole}.{part},detect-weight]"


def _heading(table: PaperTable) -> list[str]:
    columns, lines = table.columns, []
    if any(c.group for c in columns):
        over, rules, at = [], [], 1
        for group, members in groupby(columns, key=lambda c: c.group):
            each = list(members)
            width = sum(_width(c) for c in each)
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
        place = "c" if column.kind == "interval" else "r"
        # the table has no margin at its edges, and a spanning cell would add one
        place = f"{'@{}' if i == 0 else ''}{place}{'@{}' if i == len(columns) - 1 else ''}"
        heads.append(
            rf"\multicolumn{{{_width(column)}}}{{{place}}}{{{_stacked(column.title, _room(table, i))}}}"
        )
    return [*lines, " & ".join(heads) + r" \\"]


def _room(table: PaperTable, index: int) -> float:
    """How wide the numbers of a column are, with their intervals, in points."""
    wide = table.columns[index].kind == "interval"
    entries = [row[index] for row in table.rows]
    return max(
        (width_of(e.text) + (width_of(e.span, INTERVAL) if wide else 0.0) for e in entries),
        default=0.0,
    )


def _stacked(title: str, room: float) -> str:
    """A heading in as many lines as it takes to be no wider than the numbers below it."""
    lines = [escape(line) for line in lines_of(title, room)]
    return (
        lines[0]
        if len(lines) == 1
        else rf"\begin{{tabular}}[b]{{@{{}}c@{{}}}}{(chr(92) * 2).join(lines)}\end{{tabular}}"
    )


def _width(column: Column) -> int:
    return 2 if column.kind == "interval" else 1


def _cells(table: PaperTable, row: Sequence[Entry], siunitx: bool) -> list[str]:
    shown = []
    for column, entry in zip(table.columns, row, strict=True):
        if column.kind == "text":
            shown.append(_breakable(entry.text))
            continue
        shown.append(_number(entry, siunitx))
        if column.kind == "interval":
            shown.append(rf"{{\scriptsize {escape(entry.span)}}}" if entry.span else "")
    return shown


def _breakable(text: str) -> str:
    """Text that may end a line after each hyphen, underscore, slash and colon, and within what is
    longer than a column.
    """
    escaped = [escape(part) for part in re.split(r"(?<=[-_/:])|(?<=\S{11})(?=\S{3})", text)]
    return r"\allowbreak{}".join(escaped)


def _number(entry: Entry, siunitx: bool) -> str:
    text = escape(entry.text)
    if siunitx and entry.value is not None:
        bare = entry.text.replace("−", "-").replace(",", "")
        return {"best": rf"\bfseries {bare}", "second": rf"{{\underline{{{text}}}}}"}.get(
            entry.mark, bare
        )
    shown = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}.get(
        entry.mark, text
    )
    return f"{{{shown}}}" if siunitx else shown
