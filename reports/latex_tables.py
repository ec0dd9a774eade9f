"""Tables in LaTeX with booktabs; text is escaped, numbers are aligned, and every signature stands in a comment."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby

from hqm.reports.layout import Column, Entry, PaperTable, signatures

_WRITTEN = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "[": "{[}", "]": "{]}", "*": "{*}", "-": "-{}", "−": "$-$", "–": "--", "—": "---", "…": r"\ldots{}", "×": r"$\times$",
    "÷": r"$\div$", "±": r"$\pm$", "·": r"$\cdot$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$", "✓": r"$\checkmark$", "°": r"\textdegree{}", "∞": r"$\infty$",
    "α": r"$\alpha$", "β": r"$\beta$", "κ": r"$\kappa$", "λ": r"$\lambda$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "ω": r"$\omega$", "Φ": r"$\Phi$", "“": "``", "”": "''", "‘": "`", "’": "'",
}  # fmt: skip
_T1 = frozenset("ĂăĄąĆćČčĎďĐđĘęĚěĞğİıĹĺĽľŁłŃńŇňŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž")
"""Letters beyond Latin-1 that the font encoding T1 has."""
HEAD = r"""% Made by HQM. Needs in the preamble:
%   \usepackage[T1]{fontenc} \usepackage{textcomp,amssymb,booktabs,graphicx}
"""


def escape(text: str) -> str:
    r"""Text escaped so that LaTeX shows it as it is; a letter without a glyph in pdflatex is shown as its code point.

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


def latex(tables: Sequence[PaperTable], *, siunitx: bool = False) -> str:
    r"""Tables as a file for \input: each is a float with caption and label, and the signatures follow as comments.

    Parameters
    ----------
    tables
        The tables to write.
    siunitx
        Align numbers at the decimal point with siunitx's `S` columns, in place of right-aligned ones.
    """
    head = HEAD + ("%   \\usepackage{siunitx}\n" if siunitx else "")
    blocks = [_float(table, siunitx) for table in tables]
    comments = [f"% {_comment(place)}: {_comment(line)}\n" for place, line in signatures(tables)]
    signed = "% Signatures: equal lines mean equal numbers.\n" + "".join(comments) if comments else ""
    return "\n".join([head, *blocks, signed])


def _comment(text: str) -> str:
    """Text that stays on one line, so that it does not end a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


def _float(table: PaperTable, siunitx: bool) -> str:
    lines = [r"\begin{table}", r"\centering", r"\small", rf"\caption{{{escape(table.caption)}}}"]
    lines.append(rf"\label{{tab:{''.join(c if c.isascii() and c.isalnum() else '-' for c in table.name)}}}")
    # its natural width, but never wider than the line
    lines.append(r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%")
    lines.append(
        rf"\begin{{tabular}}{{@{{}}{''.join(_spec(table, i, siunitx) for i in range(len(table.columns)))}@{{}}}}"
    )
    lines += [r"\toprule", *_heading(table.columns), r"\midrule"]
    lines += [" & ".join(_cells(table, row, siunitx)) + r" \\" for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if table.notes:
        notes = " ".join(escape(note) for note in table.notes)
        lines += [r"\par\smallskip", rf"\begin{{minipage}}{{\linewidth}}\footnotesize {notes}\end{{minipage}}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _spec(table: PaperTable, index: int, siunitx: bool) -> str:
    column = table.columns[index]
    if column.kind == "text":
        return "l"
    wide = "@{~}l" if column.kind == "interval" else ""
    return (_decimal(table, index) if siunitx else "r") + wide


def _decimal(table: PaperTable, index: int) -> str:
    """An S column as wide as its widest number."""
    shown = [row[index].text for row in table.rows if row[index].value is not None]
    whole = max((len(text.replace("−", "").replace(",", "").partition(".")[0]) for text in shown), default=1)
    part = max((len(text.partition(".")[2]) for text in shown), default=0)
    sign = "-" if any("−" in text for text in shown) else ""
    return rf"S[table-format={sign}{whole}.{part},detect-weight]"


def _heading(columns: Sequence[Column]) -> list[str]:
    lines = []
    if any(c.group for c in columns):
        over, rules, at = [], [], 1
        for group, members in groupby(columns, key=lambda c: c.group):
            width = sum(_width(c) for c in members)
            over.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(group)}}}" if group else " & " * (width - 1))
            rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
            at += width
        lines += [" & ".join(over) + r" \\", " ".join(rules)]
    heads = []
    for i, column in enumerate(columns):
        place = "l" if column.kind == "text" else "c" if column.kind == "interval" else "r"
        # the table has no margin at its edges, and a spanning cell would add one
        place = f"{'@{}' if i == 0 else ''}{place}{'@{}' if i == len(columns) - 1 else ''}"
        heads.append(rf"\multicolumn{{{_width(column)}}}{{{place}}}{{{escape(column.title)}}}")
    return [*lines, " & ".join(heads) + r" \\"]


def _width(column: Column) -> int:
    return 2 if column.kind == "interval" else 1


def _cells(table: PaperTable, row: Sequence[Entry], siunitx: bool) -> list[str]:
    shown = []
    for column, entry in zip(table.columns, row, strict=True):
        if column.kind == "text":
            shown.append(escape(entry.text))
            continue
        shown.append(_number(entry, siunitx))
        if column.kind == "interval":
            shown.append(rf"{{\footnotesize {escape(entry.span)}}}" if entry.span else "")
    return shown


def _number(entry: Entry, siunitx: bool) -> str:
    text = escape(entry.text)
    if siunitx and entry.value is not None:
        bare = entry.text.replace("−", "-").replace(",", "")
        return {"best": rf"\bfseries {bare}", "second": rf"{{\underline{{{text}}}}}"}.get(entry.mark, bare)
    shown = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}.get(entry.mark, text)
    return f"{{{shown}}}" if siunitx else shown
