"""Completion as shells do it: real bash, zsh and fish, each with the script that `hqm --completion`
prints.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Run, write_command
from tests.messages import tells

BASH = r"""
set -u
source "$SCRIPT"
complete -p hqm
COMP_LINE="$LINE"; COMP_POINT=${#LINE}
# bash itself splits at its marks, : and = among them
read -ra COMP_WORDS <<< "$(sed 's/\([:=]\)/ \1 /g' <<< "$LINE")"
[[ "$LINE" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_hqm_completion hqm
printf '%s\n' "${COMPREPLY[@]}"
"""
COMPLETIONS = [
    ("hqm che", {"check"}),
    ("hqm audit hallu", {"hallusion_bench"}),
    ("hqm audit shapes_yesno --set probab", {"probabilities="}),
    ("hqm audit shapes_yesno --scoring ", {"official", "paper"}),
    ("hqm audit shapes_yesno --offl", {"--offline"}),
    ("hqm list ", {"benchmarks", "respondents", "parsers", "indicators", "recipes", "settings"}),
    ("hqm gate --policy ", {"default", "release-small"}),
    ("hqm check pope --select L2", {"L201", "L202", "L203", "L204", "L205"}),
]
COLON = ("hqm audit shapes_yesno -r hf/shapes:st", "steady")
"""A name with a mark at which bash splits, and what is to be added behind the mark."""


@pytest.fixture
def bin_(tmp_path: Path, forked_program: Path) -> dict[str, str]:
    """An environment whose search path begins with `hqm`, as an installation has it."""
    write_command(tmp_path / "bin", forked_program)
    home = tmp_path / "home"
    home.mkdir()
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "TERM": "dumb",
    }


def script_of(shell: str, environment: dict[str, str], tmp_path: Path) -> Path:
    process = subprocess.run(
        ["hqm", "--completion", shell], env=environment, capture_output=True, text=True, check=True
    )
    path = tmp_path / f"script.{shell}"
    path.write_text(process.stdout)
    return path


def need(shell: str) -> str:
    executable = shutil.which(shell)
    if executable is None:
        pytest.skip(f"there is no {shell}")
    return executable


def test_bash(bin_: dict[str, str], tmp_path: Path) -> None:
    shell, script = need("bash"), script_of("bash", bin_, tmp_path)

    def offered(line: str) -> set[str]:
        environment = {**bin_, "SCRIPT": str(script), "LINE": line}
        process = subprocess.run(
            [shell, "--norc", "-c", BASH],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert process.stderr == ""
        registered, *words = process.stdout.splitlines()
        assert registered == "complete -o default -F _hqm_completion hqm"
        return set(words) - {""}

    for line, expected in COMPLETIONS:
        assert offered(line) == expected, line
    assert offered(COLON[0]) == {COLON[1]}
    assert offered("hqm audit zzz") == set(), "then bash completes files"
    assert offered("hqm audit 'hallu") == {"hallusion_bench"}


def test_bash_at_a_prompt(bin_: dict[str, str], tmp_path: Path) -> None:
    """Typed into an interactive bash, with the Tab key: readline completes the line, and the
    command runs.
    """
    import pty
    import select
    import time

    shell, script = need("bash"), script_of("bash", bin_, tmp_path)
    leader, follower = pty.openpty()
    environment = {**bin_, "PS1": "READY ", "INPUTRC": "/dev/null", "TERM": "dumb"}
    process = subprocess.Popen(
        [shell, "--norc", "--noprofile", "-i"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        start_new_session=True,
    )
    os.close(follower)

    def wait_for(text: str) -> str:
        received, deadline = "", time.monotonic() + 120
        while text not in received:
            assert time.monotonic() < deadline, received
            if select.select([leader], [], [], 1)[0]:
                received += os.read(leader, 4096).decode()
        return received

    try:
        wait_for("READY ")
        os.write(leader, f"source {script}\n".encode())
        wait_for("READY ")
        os.write(leader, b"echo hf/shapes:x hqm; hqm doct\t")
        wait_for("hqm doctor ")
        os.write(leader, b"\n")
        assert "writable" in wait_for("READY ")
    finally:
        process.kill()
        process.wait()
        os.close(leader)


def test_zsh(bin_: dict[str, str], tmp_path: Path) -> None:
    shell, script = need("zsh"), script_of("zsh", bin_, tmp_path)
    # zsh completes at a prompt only: the function is called with the words that a prompt would give
    # it
    code = (
        f"autoload -Uz compinit 2>/dev/null; compdef() {{ print registered $@ }}; source {script};"
        " functions _hqm_completion >/dev/null && print defined"
    )
    process = subprocess.run(
        [shell, "-f", "-c", code], env=bin_, capture_output=True, text=True, check=True
    )
    assert "registered _hqm_completion hqm" in process.stdout
    assert "defined" in process.stdout
    for line, expected in [
        *COMPLETIONS[:1],
        *COMPLETIONS[3:4],
        ("hqm audit shapes_yesno -r hf/shapes:st", {r"hf/shapes\\:steady"}),
    ]:
        code = (
            f"_arguments() {{ print -r -- $@ }}; compdef() {{ : }}; source {script};"
            " words=(${(z)LINE}); [[ $LINE == *' ' ]] && words+=(''); CURRENT=$#words;"
            " _hqm_completion"
        )
        process = subprocess.run(
            [shell, "-f", "-c", code],
            env={**bin_, "LINE": line},
            capture_output=True,
            text=True,
            check=True,
        )
        assert process.stderr == ""
        for word in expected:
            assert f'"{word}"' in process.stdout, line


def test_fish(bin_: dict[str, str], tmp_path: Path) -> None:
    shell, script = need("fish"), script_of("fish", bin_, tmp_path)
    for line, expected in [*COMPLETIONS[:4], (COLON[0], {"hf/shapes:steady"})]:
        code = f"source {script}; complete --do-complete '{line}'"
        process = subprocess.run(
            [shell, "--no-config", "-c", code], env=bin_, capture_output=True, text=True, check=True
        )
        offered = {text.split("\t")[0] for text in process.stdout.splitlines()}
        assert offered == expected, line


def test_a_shell_without_completion_is_refused(run: Run) -> None:
    assert run("--completion", "fish")[1].startswith("complete --command hqm")
    status, _, err = run("--completion", "tcsh")
    assert status == 2
    assert tells(err, "completion.no-shell", shell="tcsh")


def test_every_value_that_is_offered_belongs_to_an_argument_or_option(run: Run) -> None:
    """The table of values names nothing that is no longer there."""
    from typer.main import get_command

    from hqm.cli import program
    from hqm.commands.help import _VALUES, every_command

    known_keys: set[str] = set()
    for name, command in every_command(get_command(program())).items():
        for parameter in command.params:
            for key in (parameter.name, *parameter.opts):
                known_keys |= {key, f"{name} {key}"}
    assert set(_VALUES) <= known_keys
    assert all(list(values()) for values in _VALUES.values())


def test_completing_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys, os, atexit\natexit.register(lambda: print([m for m in ('torch', 'matplotlib',"
        " 'scipy', 'pandas', 'numpy', 'openai') if m in sys.modules], file=sys.stderr))\nfrom"
        " hqm.__main__ import main\nmain()"
    )
    environment = {**os.environ, "_HQM_COMPLETE": "complete_bash", "_HQM_LINE": "hqm aud"}
    process = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert process.stdout.split() == ["audit"]
    assert process.stderr.strip() == "[]"


@pytest.fixture(autouse=True)
def _no_question_is_left() -> Iterator[None]:
    yield
    assert "_HQM_COMPLETE" not in os.environ
