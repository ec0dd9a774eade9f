"""Docstrings as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

_SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)


def prose(text: str) -> str:
    """Text for a page: no word of it is taken for HTML; what stands in backticks stays as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if i % 2 else re.sub(r"<(?=[A-Za-z/])", "&lt;", part) for i, part in enumerate(parts)
    )


def cell(text: object) -> str:
    """Text for a cell of a table."""
    return prose(" ".join(str(text).split())).replace("|", "\\|")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """A table, with an empty line behind it."""
    titles = list(head)
    yield "| " + " | ".join(titles) + " |"
    yield "|" + "---|" * len(titles)
    yield from ("| " + " | ".join(map(cell, row)) + " |" for row in rows)
    yield ""


def sections(docstring: str) -> dict[str, str]:
    """A NumPy docstring by its headings; what stands before the first has none.

    >>> sections("One line.\\n\\nNotes\\n-----\\nMore.")
    {'': 'One line.', 'Notes': 'More.'}
    """
    text = inspect.cleandoc(docstring)
    parts = _SECTION.split(text)
    return {
        "": parts[0].strip(),
        **{name: body.strip("\n") for name, body in zip(parts[1::2], parts[2::2], strict=True)},
    }


def described(docstring: str) -> Iterator[str]:
    """A docstring as Markdown: formulas as blocks, parameters as a list, examples as code.

    >>> list(described("Half of it.\\n>>> half(2)\\n1"))
    ['Half of it.\\n', '```python\\n>>> half(2)\\n1\\n```\\n', '']
    """
    for name, body in sections(docstring).items():
        if name:
            yield f"**{name}**\n"
        if name in ("Parameters", "Returns", "Raises"):
            yield from _entries(body)
        elif name == "Examples":
            yield from _examples(body)
        else:
            yield from _paragraphs(body)
        yield ""


def _entries(body: str) -> Iterator[str]:
    for entry in re.split(r"\n(?=\S)", body):
        head, _, rest = entry.partition("\n")
        yield f"- `{head.strip()}`: {prose(' '.join(rest.split()))}"


def _paragraphs(body: str) -> Iterator[str]:
    """Prose, formulas and lists as they are, and examples as code, which need no empty line above
    them.
    """
    for part in re.split(r"(^>>> (?:.+\n?)+)", body, flags=re.MULTILINE):
        if part.strip():
            yield (
                f"```python\n{part.rstrip()}\n```\n"
                if part.startswith(">>> ")
                else f"{prose(part.rstrip())}\n"
            )


def _examples(body: str) -> Iterator[str]:
    for part in re.split(r"\n\s*\n", body):
        yield f"```python\n{part}\n```\n" if part.lstrip().startswith(">>>") else f"{prose(part)}\n"
