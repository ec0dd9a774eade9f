"""The gallery of audits: its commands run, print what the pages show and draw their figures, and
every number comes from there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, nightly, write_command
from tests.test_site import blocks, lines

GALLERY = ROOT / "docs" / "audits"
PAGES = sorted(path.name for path in GALLERY.glob("*.md") if path.name != "index.md")
NIGHTLY_PAGES = ("hal_eval_words.md", "captions.md")
"""One negates 50,000 questions, as another page does 9,000; one audits the answers that README.md
audits.
"""
Shell = Callable[[str], str]


def text(page: str) -> str:
    return (GALLERY / page).read_text("utf-8")


def quoted(page: str) -> str:
    """The paragraph for a paper, in one line."""
    return " ".join(
        line.removeprefix(">").strip() for line in text(page).splitlines() if line.startswith(">")
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder that looks like a clone of the repository."""
    for name in ("docs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.fixture
def shell(clone: Path, forked_program: Path) -> Shell:
    """Run a block of shell there, with `hqm` and `python` those under test."""
    tools = write_command(clone / "tools", forked_program).parent
    python = tools / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "200",
    }
    environment |= {"PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"}

    def run(block: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", block]
        process = subprocess.run(
            command, cwd=clone, env=environment, capture_output=True, text=True, check=False
        )
        assert process.returncode == 0, f"{block}\n{process.stdout}\n{process.stderr}"
        return process.stdout

    return run


@pytest.mark.data
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=nightly) if page in NIGHTLY_PAGES else page for page in PAGES],
)
def test_a_page_is_what_its_commands_print_and_draw(
    page: str, shell: Shell, clone: Path, data: Path
) -> None:
    assert data.is_dir()
    printed, transcript = "", ""
    for language, block in blocks(text(page)):
        if language == "sh":
            printed = shell(block)
            transcript += printed
        elif language == "text":
            missing = set(lines(block, True)) - set(lines(printed, True)) - {""}
            assert not missing, f"{page} shows what is not printed: {missing}\n{printed}"
    (figure,) = re.findall(r"!\[[^\]]{40,}\]\((\w+\.svg)\)", text(page))
    figure_path = clone / "out" / figure
    assert figure_path.read_text("utf-8") == (GALLERY / figure).read_text("utf-8"), (
        f"make {figure} again as the page says"
    )


CONSTANTS = {"1", "95", "100", "2,000"}
"""Names and conventions: metric and table numbers, the level of an interval, the size of the data
as the page has it in its text.
"""


@pytest.mark.parametrize("page", PAGES)
def test_every_number_of_the_paragraph_is_printed_on_the_page(page: str) -> None:
    """Printed with as many decimals or more; what is printed has been compared with the
    commands.
    """
    page_output = "\n".join(
        block for language, block in blocks(text(page)) if language == "text"
    ).replace("−", "-")
    numbers = {n.lstrip("-+") for n in re.findall(r"[-+]?\d*\.?\d+", page_output)}
    allowed_numbers = (
        numbers
        | {n.removeprefix("0") for n in numbers}
        | {n.removeprefix("0").rstrip("0") for n in numbers if "." in n}
    )
    paragraph = quoted(page).replace("arXiv 2406.17115", "").replace("−", "-")
    assert len(paragraph.split()) > 50
    # Table 1, F1, ICC(A,1) are names
    paragraph = re.sub(r"Table \d|F1|\(A,1\)", "", paragraph)
    used = {n.lstrip("-+") for n in re.findall(r"[-+]?(?:\d{1,3},\d{3}|\d*\.?\d+)", paragraph)}
    assert used
    assert not used - allowed_numbers - CONSTANTS, (
        f"{page}: {used - allowed_numbers - CONSTANTS} is nowhere printed"
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_was_not_shown_and_stands_in_the_index(page: str) -> None:
    section = text(page).partition("\n## What was not shown\n")[2]
    assert len(re.findall(r"^- ", section, re.MULTILINE)) >= 3, page
    assert "\n## For a paper\n" in text(page)
    assert f"]({page})" in (GALLERY / "index.md").read_text("utf-8")


@pytest.mark.parametrize("figure", sorted(path.name for path in GALLERY.glob("*.svg")))
def test_a_figure_is_small_and_speaks(figure: str) -> None:
    """Its title and description say in words what it shows, with the numbers; it loads nothing."""
    content = (GALLERY / figure).read_text("utf-8")
    assert len(content) < 12_000
    root = ET.fromstring(content)
    title, description = (
        root.find(f"{{http://www.w3.org/2000/svg}}{name}") for name in ("title", "desc")
    )
    assert title is not None
    assert title.text
    assert description is not None
    assert len(re.findall(r"\d\.\d", description.text or "")) >= 4
    assert "href" not in content
    assert f"{figure.removesuffix('.svg')}.md" in PAGES


def test_no_data_lies_in_the_gallery() -> None:
    """Pages, scripts, figures, and the one table that is copied from a paper."""
    kinds = {path.suffix for path in GALLERY.iterdir() if path.is_file()}
    assert kinds == {".md", ".py", ".svg", ".csv"}
    assert [path.name for path in GALLERY.glob("*.csv")] == ["hqm_table_2.csv"]
    assert sum(path.stat().st_size for path in GALLERY.iterdir() if path.is_file()) < 100_000


def test_hqms_table_is_that_of_the_theory_page() -> None:
    """The numbers of POPE stand on the page on validity too, copied from the paper at another
    time.
    """
    rows = [
        row.split(",")
        for row in (GALLERY / "hqm_table_2.csv").read_text("utf-8").splitlines()
        if "POPE" in row
    ]
    theory = (ROOT / "docs" / "theory" / "4_validity.md").read_text("utf-8")
    for column, name in (
        (3, "accuracy, negated = "),
        (4, "yes, yes_negated = "),
        (6, "accuracy, negated = "),
        (7, "yes, yes_negated = "),
    ):
        (intervals,) = re.findall(rf"{name}(\[.+\], \[.+\])", theory)
        assert [float(row[column]) for row in rows] in [
            [float(n) for n in half.split(", ")] for half in re.findall(r"\[(.+?)\]", intervals)
        ]
