"""Documentation under test: the reference is made from the code, and what the README shows is what
comes out.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from typer.main import get_command

import hqm
from hqm.benchmark.registry import example_folder
from hqm.cli import program
from hqm.commands.help import every_command
from hqm.scoring.parsers import PARSERS
from hqm.types import STATES
from tests.conftest import ROOT, Run

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "ARCHITECTURE.md"]
}
PAGES_OF_DOCS = {path.name for path in (ROOT / "docs").glob("*.md")}
ALL_TEXT = "\n".join(PAGES.values())


def test_the_reference_is_up_to_date() -> None:
    process = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr


def test_every_command_and_option_is_documented() -> None:
    for name, command in every_command(get_command(program())).items():
        assert f"hqm {name}" in ALL_TEXT
        for parameter in command.params:
            for option in parameter.opts:
                assert f"`{option}`" in PAGES["reference.md"], f"{name} {option}"


def test_every_parser_state_and_key_is_documented() -> None:
    from hqm.benchmark.card import Card

    for word in (
        *PARSERS,
        *STATES,
        *hqm.HALLUCINATION_TYPES,
        *Card.model_fields,
    ):
        assert f"`{word}`" in PAGES["reference.md"] or f"`[{word}]`" in PAGES["reference.md"], word
    rows = [
        line.split("|") for line in PAGES["reference.md"].splitlines() if line.startswith("| `")
    ]
    assert rows
    assert all(row[2].strip() for row in rows), "every row has its meaning"
    entries = re.findall(r"^- `[^:]+`:(.*)$", PAGES["reference.md"], re.MULTILINE)
    assert len(entries) > 200
    assert all(entry.strip() for entry in entries), "every option and key has its meaning"


def test_every_benchmark_is_in_the_readme() -> None:
    for name in hqm.names():
        assert f"`{name}`" in README or name.startswith("shapes_"), name


def test_links_lead_somewhere() -> None:
    for name, text in PAGES.items():
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
            # pages that are made while the site is built: building it strictly (test_site) checks
            # links to them
            if target in ("flags.md", "glossary.md") or (
                target.startswith(("benchmarks/", "indicators/")) and name in PAGES_OF_DOCS
            ):
                continue
            folder = ROOT / "docs" if (ROOT / "docs" / name).exists() else ROOT
            assert (folder / target).exists(), f"{name}: {target}"


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 900


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_every_command_in_the_readme_exists() -> None:
    commands = every_command(get_command(program()))
    commands_shown = [
        line
        for block in blocks(README, "sh")
        for line in block.splitlines()
        if line.startswith("hqm ")
    ]
    assert commands_shown
    for line in commands_shown:
        words = line.split()
        assert words[1] in commands, line
        options = {option for parameter in commands[words[1]].params for option in parameter.opts}
        for word in words[2:]:
            if word.startswith("-") and not re.fullmatch(r"-\d+", word):
                assert word.partition("=")[0] in options, f"{line}: {word}"


def test_the_readme_shows_the_verdict_of_the_real_captions() -> None:
    """That of the index, whose row is made again where the data are (test_index)."""
    verdict_block = README.partition("--out out/captions\n```\n\n```text\n")[2].partition("```")[0]
    index = json.loads((ROOT / "docs" / "make" / "index.json").read_text("utf-8"))
    command = "hqm audit coco_chair --recorded $HQM_DATA/pope/captions"
    (row,) = [row for row in index["rows"] if row["command"] == command]
    assert verdict_block.split()[1:] == row["verdict"].split()


def test_the_readme_shows_the_log_that_ships(run: Run, tmp_path: Path) -> None:
    status, printed, _ = run("audit", "example", "--out", str(tmp_path / "out"))
    assert status == 0
    shown = README.partition("$ hqm audit example")[2].partition("\n")[2].partition("$ ")[0]
    assert " ".join(shown.split()) in " ".join(printed.split())
    files = [path for path in example_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 300_000
    assert "log/**/*" in (ROOT / "pyproject.toml").read_text("utf-8"), "it is in the wheel"


def test_the_documentation_is_short() -> None:
    """The lines of tables are no words."""
    words = {
        path: sum(word.strip("|-") != "" for word in path.read_text("utf-8").split())
        for path in (ROOT / "docs").rglob("*.md")
        if path.parent.name != "decisions"  # a record for maintainers
    }
    assert sum(words.values()) <= 40_000, "merge or cut pages before you write another one"


def test_a_script_that_a_page_names_finds_what_it_imports() -> None:
    """`python FOLDER/SCRIPT.py` has no `tests` beside it unless the script puts it there."""
    scripts = set(re.findall(r"python (tests/perf/\w+\.py)", ALL_TEXT))
    assert scripts
    for script in scripts:
        text = (ROOT / script).read_text(encoding="utf-8")
        lonely = re.search(r"^from tests\b", text, re.MULTILINE) and "sys.path.insert" not in text
        assert not lonely, f"{script}: name it as `python -m {script[:-3].replace('/', '.')}`"
