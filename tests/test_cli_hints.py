"""Every command that a message of HQM names works as it is printed: the real parser reads it."""

import ast
import functools
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from hqm.cli import program
from tests.asserted import descendants
from tests.conftest import ROOT, Run
from tests.messages import text_of

COMMAND = re.compile(r"`(hqm\s[^`]+)`")
TEMPLATES = ("hqm/commands/templates/README.md", "action.yml")
HOLE = "HOLE"


@functools.cache
def texts(path: Path) -> list[tuple[int, str]]:
    """The texts of a module that may be printed, with `HOLE` for what is put in; docstrings and
    notes are none of them. None where no command can be named.
    """
    source = path.read_text("utf-8")
    if not re.search(r"\bhqm\s", source):
        return []
    nodes = descendants(ast.parse(source))
    spoken = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    literals = {
        id(child)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for child in descendants(node)[1:]
    }
    printed = []
    for node in nodes:
        if id(node) in spoken or (id(node) in literals and not isinstance(node, ast.JoinedStr)):
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [
                str(value.value) if isinstance(value, ast.Constant) else HOLE
                for value in node.values
            ]
            printed.append((node.lineno, "".join(parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            printed.append((node.lineno, node.value))
    return printed


def hints() -> list[tuple[str, str]]:
    """(place, command) for every command that a message names."""
    collected = []
    for folder in ("hqm", "adapters", "reports"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, text in texts(path):
                location = f"{path.relative_to(ROOT)}:{line}"
                collected += [
                    (location, " ".join(command.split())) for command in COMMAND.findall(text)
                ]
                lines = [line.strip() for line in text.splitlines()]
                collected += [
                    (location, line)
                    for line in lines
                    if re.match(r"(#\s*|next:\s+)?hqm [a-z]+ ", line)
                ]
    for name in TEMPLATES:
        for number, text in enumerate((ROOT / name).read_text("utf-8").splitlines(), 1):
            command = text.partition("#")[0].strip().removeprefix("- run: ").removeprefix("run: ")
            command = re.sub(r"\$\{\w+:\+(.*?)\}", r"\1", command)  # what a shell may leave out
            if command.startswith("hqm "):
                collected.append((f"{name}:{number}", command))
    return collected


@functools.cache
def commands() -> dict[str, Any]:
    return dict(get_command(program()).commands)  # type: ignore[attr-defined]


def fault_in(command: str) -> str:
    """What the command line has against a command; nothing where it would be run."""
    words = shlex.split(command.lstrip("# ").removeprefix("next:"))
    assert words[0] == "hqm"
    words = [word for word in words if word != "..."]
    if len(words) > 1 and (words[1] == HOLE or words[1].startswith("--")):  # any command
        return ""
    name, *arguments = words[1:]
    known_commands = commands()
    if name not in known_commands:
        return f"there is no command {name!r}"
    try:
        known_commands[name].make_context(name, [word.replace(HOLE, "1") for word in arguments])
    except Exception as error:  # click's own errors, whichever copy of click typer has
        return error.format_message() if hasattr(error, "format_message") else repr(error)
    return ""


def test_every_command_that_a_message_names_is_read_by_the_parser() -> None:
    collected = hints()
    assert len(collected) > 25, "the messages are read"
    wrong = [
        f"{location}: {command}: {fault}"
        for location, command in collected
        if (fault := fault_in(command))
    ]
    assert wrong == []


def test_no_message_names_a_command_without_marks() -> None:
    """So that the test above sees it: in the middle of a sentence, a command stands between
    backticks.
    """
    names = "|".join(commands())
    pattern = re.compile(rf"(?<![\w/.`-])hqm ({names})\b")
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {node.strip()}"
        for folder in ("hqm", "adapters", "reports")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in texts(path)
        for node in COMMAND.sub("", text).splitlines()
        if not re.match(r"\s*(#\s*|next:\s+)?hqm ", node) and pattern.search(node)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("hqm adit shapes", "no command 'adit'"),
        ("hqm audit shapes --ofline", text_of("usage.option", option="--ofline", near="--offline")),
        ("hqm gate", "Missing argument"),
        ("hqm audit", ""),
        ("hqm audit NAME --runs two", "Invalid value"),
        ("hqm audit NAME --out FOLDER", ""),
    ],
)
def test_what_the_parser_refuses_is_seen(command: str, fault: str) -> None:
    assert fault in fault_in(command)
    assert bool(fault) == bool(fault_in(command))


def test_the_next_commands_of_a_new_benchmark_work_as_printed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed, copied and run one after another."""
    monkeypatch.chdir(tmp_path)
    status, output, _ = run("new", "my cards")
    assert status == 0
    commands = [line.strip() for line in output.splitlines() if line.startswith("  hqm ")]
    assert [shlex.split(command)[1] for command in commands] == ["check", "audit", "gate"]
    check, _, gate = commands
    assert run(*shlex.split(check)[1:])[0] == 0
    # the audit itself asks ten models; what it needs is that the command is read, and that its
    # folder is the gate's
    assert fault_in(commands[1]) == ""
    status, _, err = run(*shlex.split(gate)[1:])
    assert status == 1
    assert "my_cards" in err or "my cards" in err
