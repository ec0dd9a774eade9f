"""The output in terminals of many kinds, in pipes and in files: real pseudo-terminals, a real
tmux.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hqm
from hqm.commands import terminal
from hqm.commands.interrupt import _remove_secrets
from tests.conftest import write_benchmark
from tests.terminals import HQM, environment, in_terminal

COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
ARGUMENTS = ("--runs", "2", "--all", "--out", "out")


@pytest.fixture
def audited(tmp_path: Path) -> list[str]:
    """The arguments of an audit of recorded answers, in a folder of its own."""
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {object_name} in the image?",
            "target": "yes" if i % 2 else "no",
            "image": f"{i // 2}.png",
            "type": "existence",
        }
        for i, object_name in enumerate(
            ["dog", "cat", "car", "bus", "hat", "cup", "tree", "boat"] * 3
        )
    ]
    folder = write_benchmark(
        tmp_path / "signs", rows, name="signs", types=["existence"], labelled=True
    )
    items = hqm.load(str(folder)).original.items
    answers = [
        {
            "respondent": f"a-respondent-with-a-long-name-{k}",
            "form": "original",
            "run": run,
            "item": item.id,
            "answer": "Yes" if (i * k + run) % 3 else "No",
        }
        for k in range(1, 5)
        for run in (0, 1)
        for i, item in enumerate(items)
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in answers))
    return ["audit", str(folder), "--recorded", str(path), *ARGUMENTS]


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("audit", "--help"), ("list",), ("list", "respondents"), ("list", "indicators")],
    ids=" ".join,
)
def test_nothing_is_wider_than_the_terminal(
    arguments: tuple[str, ...], columns: int, forked_program: Path
) -> None:
    terminal = in_terminal(*arguments, columns=columns, program=[forked_program])
    assert terminal.status == 0, terminal.raw
    assert len(terminal.lines) > 10
    wide = [line for line in terminal.lines if len(line) > columns]
    assert wide == []


def test_in_a_narrow_terminal_a_table_becomes_a_list_and_loses_no_word(
    forked_program: Path,
) -> None:
    """A table in which every second word is broken cannot be read."""
    wide, narrow = (
        " ".join(in_terminal("list", columns=columns, program=[forked_program]).lines)
        for columns in (200, 40)
    )
    assert "hallusion_bench" in narrow
    assert sorted(set(re.findall(r"\w{4,}", wide)) - set(re.findall(r"\w{4,}", narrow))) == []


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_an_audit_fits_a_narrow_terminal(
    audited: list[str], tmp_path: Path, columns: int, forked_program: Path
) -> None:
    # the widest as a user starts it
    program = HQM if columns == 80 else [forked_program]
    terminal = in_terminal(*audited, columns=columns, cwd=tmp_path, program=program)
    assert terminal.status == 0, terminal.raw
    table = [line for line in terminal.lines if re.search(r"Pearson r|ICC|Cronbach", line)]
    assert len(table) > 2
    assert max(map(len, table)) <= columns
    assert "a-respond" in terminal.raw, "a bar names its respondent, shortened where it must be"


def test_without_colour_there_is_none(
    audited: list[str], tmp_path: Path, forked_program: Path
) -> None:
    options: dict[str, Any] = {"cwd": tmp_path, "program": [forked_program]}
    assert COLOUR.search(in_terminal(*audited, **options).raw), "in colour unless told otherwise"
    second_store = str(tmp_path / "other.sqlite")
    plain = in_terminal(*audited, "--store", second_store, **options, NO_COLOR="1")
    assert plain.status == 0
    assert not COLOUR.search(plain.raw)


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_without_control_characters_gets_none(
    audited: list[str], tmp_path: Path, term: str, forked_program: Path
) -> None:
    terminal = in_terminal(*audited, term=term, cwd=tmp_path, program=[forked_program])
    assert terminal.status == 0, terminal.raw
    assert "\x1b" not in terminal.raw
    assert "read 192" in terminal.raw


@pytest.mark.parametrize("arguments", [("list",), ("--help",), ("AUDIT",)], ids=" ".join)
def test_a_pipe_gets_no_control_characters_and_no_bars(
    audited: list[str], tmp_path: Path, arguments: tuple[str, ...], forked_program: Path
) -> None:
    command = [str(forked_program), *(audited if arguments == ("AUDIT",) else arguments)]
    process = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(TERM="xterm"),
        capture_output=True,
        text=True,
        check=True,
    )
    for text in (process.stdout, process.stderr):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    assert "━" not in process.stderr
    assert "%" not in process.stderr


def test_a_reader_that_leaves_early_ends_the_program_without_a_traceback() -> None:
    process = subprocess.Popen(
        [*HQM, "list", "indicators"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.wait()
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")
@pytest.mark.parametrize("term", ["screen-256color", "tmux-256color"])
def test_tmux_shows_bars_and_table(
    audited: list[str], tmp_path: Path, term: str, forked_program: Path
) -> None:
    socket = ["tmux", "-L", f"hqm-test-{tmp_path.name}-{term}", "-f", "/dev/null"]
    # the program's own terminal is named by the option, as ~/.tmux.conf does it
    script = tmp_path / "go.sh"
    script.write_text(
        f"cd {shlex.quote(str(tmp_path))}\nexport TERM={term}\n"
        f"{shlex.join([str(forked_program), *audited])}\necho THE END $?\nsleep 60\n"
    )
    start = [
        *socket,
        "new-session",
        "-d",
        "-x",
        "70",
        "-y",
        "60",
        f"bash {shlex.quote(str(script))}",
    ]
    subprocess.run(start, env=environment(TERM="xterm"), check=True, capture_output=True)
    try:
        text, deadline = "", time.monotonic() + 300
        while "THE END" not in text:
            assert time.monotonic() < deadline, text
            time.sleep(0.5)
            text = subprocess.run(
                [*socket, "capture-pane", "-p", "-S", "-200"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
    finally:
        subprocess.run([*socket, "kill-server"], check=False, capture_output=True)
    assert "THE END 0" in text
    assert "192/192" in text
    assert "Test-retest" in text
    assert "─────" in text, "the table has its lines"
    assert "\x1b" not in text
    assert "[?25" not in text, "what tmux does not know would be shown as text"


class _Kernel:
    """The part of IPython that bars need: a shell with a kernel, and outputs that are updated."""

    kernel = True

    def __init__(self) -> None:
        self.states: list[str] = []

    def get_ipython(self) -> "_Kernel":
        return self

    def display(self, state: str, display_id: bool) -> "_Kernel":
        assert display_id
        return self

    def update(self, state: str) -> None:
        self.states.append(state)


def test_a_notebook_shows_bars_and_a_script_shows_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def run_once(store: str) -> None:
        respondent = "hf/shapes:dim"
        hqm.run("shapes_yesno", store=tmp_path / store, respondents=[respondent], limit=4)

    run_once("script.sqlite")
    assert "progress" not in capsys.readouterr().err
    kernel = _Kernel()
    kernel_display = SimpleNamespace(HTML=str, display=kernel.display)
    monkeypatch.setitem(sys.modules, "IPython", kernel)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", kernel_display)  # type: ignore[arg-type]
    run_once("notebook.sqlite")
    last = kernel.states[-1]
    assert re.search(r'^<progress value="(\d+)" max="\1"></progress> all: \1 of \1<br>', last)
    assert last.endswith("></progress> hf/shapes:dim · parallel: 4 of 4")


def test_a_log_has_lines_and_no_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[int, int]] = []
    shown = SimpleNamespace(reach=lambda n_done, total: lines.append((n_done, total)))
    monkeypatch.setattr(terminal, "is_notebook", lambda: False)
    monkeypatch.setattr(terminal, "can_redraw", lambda _: False)
    monkeypatch.setattr(terminal, "_ProgressLines", lambda _: shown)
    with terminal._counting("{}", "{}", "answers", quiet=False) as count:
        count("m", 3, 10)
        count("m", 12, 10)
        count("m", 12, 0)
    assert lines == [(3, 10), (12, 12), (12, 0)]


def test_a_report_of_a_failure_holds_no_secret_and_all_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = {"MY_API_KEY": "abcdefgh", "SHORT_TOKEN": "abcdefg", "MY_FOLDER": "somewhere/else"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    text = _remove_secrets("abcdefgh; abcdefg. somewhere/else")
    assert text == "<MY_API_KEY>; abcdefg. somewhere/else"
