"""Tables as text in the format that the suffix of a file asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hqm.reports.latex_tables import latex
from hqm.reports.layout import PaperTable, as_json, comma_separated, markdown

from hqm import UsageError

FORMATS: Mapping[str, Callable[[Sequence[PaperTable]], str]] = {
    ".tex": latex,
    ".csv": comma_separated,
    ".md": markdown,
    ".json": as_json,
}
"""Suffix -> the function that writes tables."""


def formatted(tables: Sequence[PaperTable], suffix: str, *, siunitx: bool = True) -> str:
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
    return latex(tables, siunitx=siunitx) if suffix == ".tex" else FORMATS[suffix](tables)
