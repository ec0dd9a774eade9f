"""The words of pages, the terminal and the documentation: none that a reader has to read twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHRASES = (
    r"clear of (?:none|\w+)",
    r"\bid odd\b",
    r"promise[sd]? kept",
    r"typical model",
    r"by as much",
    r"set equal",
    r"\bhollow\b",
    r"told apart|tells? apart",
    r"(?:drawn|drew|written|made) anew",
    r"turned round|the other way round",
    r"stands? in for",
    r"say otherwise|otherwise than",
    r"steadiest|least steady",
    r"speaks? against",
    r"as many again|as much again",
    r"who answers",
    r"goes more with",
    r"weigh more than once",
    r"held against|hold against",
    r"stands? there",
    r"hold their right",
    r"items? asked again|judge asked again",
)
FORBIDDEN = re.compile("|".join(PHRASES), re.IGNORECASE)
SOURCES = [
    path
    for package in ("hqm", "adapters", "benchmarks", "reports", "extensions")
    for path in sorted((ROOT / package).rglob("*"))
    if path.suffix in (".py", ".toml", ".html") and "__pycache__" not in path.parts
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a file with their lines: string constants of Python, lines of any other."""
    source = path.read_text("utf-8")
    if path.suffix != ".py":
        yield from enumerate(source.splitlines(), 1)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, " ".join(node.value.split())


@pytest.mark.parametrize("paths", [SOURCES, PAGES], ids=["product", "documentation"])
def test_no_text_has_to_be_read_twice(paths: list[Path]) -> None:
    findings = []
    for path in paths:
        for line, text in texts_of(path):
            if (match := FORBIDDEN.search(text)) is not None:
                findings.append(f"{path.relative_to(ROOT)}:{line}: {match[0]}")
    assert not findings, "\n".join(findings)


def test_a_phrase_is_found_where_it_is() -> None:
    assert FORBIDDEN.search("All gaps are clear of none.")
    assert not FORBIDDEN.search("Labels are promised and kept.")
