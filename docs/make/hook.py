"""What MkDocs calls while it builds the site: it adds the generated pages, orders the menu and
repairs links.

The generated pages are not kept in the repository, so they cannot become outdated. The menu
contains every page in `docs`: `tutorial_*` and `extend_*` by their names, `audits/` and `theory/`
by their folders, and all others under Reference; indicators are grouped by the question that they
answer.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

DOCS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DOCS))

from make import (  # noqa: E402 - found beside this file
    index_table,
    indicators,
    ledger_table,
    pages,
    questions,
)

GROUPS = (
    ("Tutorials", "tutorial_"),
    ("Audits", "audits/"),
    ("Extending", "extend_"),
    ("Theory", "theory/"),
    ("Decisions", "decisions/"),
    ("Benchmarks", "benchmarks/"),
    ("Indicators", "indicators/"),
)
"""The groups of the menu: a title, and how the paths of its pages begin."""


def on_files(files: Files, *, config: Any, **_: Any) -> Files:
    """Add the generated pages and write the menu."""
    for path, text in pages.made().items():
        files.append(File.generated(config, path, content=text))
    config["nav"] = menu([file.src_uri for file in files.documentation_pages()])
    return files


def menu(paths: Sequence[str]) -> list[Any]:
    """The menu, in which each of these pages occurs once."""
    entries: list[Any] = [{"Home": "index.md"}]
    rest = sorted(path for path in paths if path != "index.md")
    for title, start in GROUPS:
        members = [path for path in rest if path.startswith(start)]
        # the index of a section comes first
        members.sort(key=lambda path: (not path.endswith("/index.md"), path))
        rest = [path for path in rest if path not in members]
        entries += (
            [{title: _by_question(members) if title == "Indicators" else members}]
            if members
            else []
        )
    return [*entries, {"Reference": rest}] if rest else entries


def _by_question(members: Sequence[str]) -> list[Any]:
    """The pages of indicators below the question that they answer, behind the pages that answer
    none.
    """
    groups = {
        title: [indicators.path(name) for name in names]
        for title, names in questions.grouped().items()
    }
    placed = {page for names in groups.values() for page in names}
    return [
        *(page for page in members if page not in placed),
        *(
            {title: [page for page in names if page in members]}
            for title, names in groups.items()
            if set(names) & set(members)
        ),
    ]


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put the index into its page, and replace links to files of the repository that are not pages
    by the name of the file.
    """
    if index_table.MARKER in markdown:
        markdown = markdown.replace(index_table.MARKER, index_table.table())
    if index_table.RANKING_MARKER in markdown:
        markdown = markdown.replace(index_table.RANKING_MARKER, index_table.ranking())
    if ledger_table.LEDGER_MARKER in markdown:
        markdown = markdown.replace(ledger_table.LEDGER_MARKER, ledger_table.ledger())
    folder = (DOCS / page.file.src_uri).parent

    def named(link: re.Match[str]) -> str:
        target = (folder / link[2].partition("#")[0]).resolve()
        inside = target.is_relative_to(DOCS)
        if (inside and target.suffix != ".py") or not target.exists():
            return link[0]
        return f"{link[1]} (`{target.relative_to(DOCS.parent)}` in the repository)"

    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)\s]+)\)", named, markdown)
