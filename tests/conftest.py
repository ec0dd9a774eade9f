"""What the tests share: the real data, a store, small benchmarks, recorded respondents."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

import hqm
from hqm import cli
from hqm.administration.asks import StoredRespondent
from hqm.benchmark.registry import check_origin
from hqm.cli import main
from hqm.extensions import names_in
from hqm.imports.recordings import Recording
from hqm.respondents.base import RecordedRespondent
from tests.forked_program import PID_FILE

if TYPE_CHECKING:
    from tests.browser import Browser

ROOT = Path(__file__).resolve().parent.parent

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# run in a second checkout, the tests would import parts of the installed one
check_origin()
assert Path(hqm.__file__).resolve().is_relative_to(ROOT), (
    f"hqm comes from {hqm.__file__}, and these tests from {ROOT}"
)

NIGHTLY = os.environ.get("HQM_NIGHTLY") == "1"
"""Whether what only repeats is repeated in full; the nightly workflow says so."""


nightly = pytest.mark.skipif(not NIGHTLY, reason="it only repeats: HQM_NIGHTLY=1 runs it")
"""Marks a test of which every other run has a smaller one."""


def counts(full: int) -> int:
    """Return how often to repeat: nightly all of it, in every other run a tenth."""
    return full if NIGHTLY else max(1, full // 10)


SLOWEST_FIRST = (
    "test_site.py",
    "test_shown.py",
    "test_wheel.py",
    "test_procedures.py",
    "test_tutorial_people.py",
    "test_families.py",
    "extensions/hqm-build/tests/test_build.py",
    "test_house.py",
    "hostile/test_servers.py",
    "test_respondents.py",
    "test_administer.py",
    "test_servers.py",
    "test_same_claims.py",
    "test_batch_api.py",
    "test_scripts.py",
    "test_audit_mutations.py",
    "test_interruptions.py",
    "test_interruptions_phases.py",
    "extensions/hqm-label/tests/test_label_page.py",
    "test_planted_faults.py",
    "test_device.py",
    "test_evidence.py",
    "test_audits.py",
    "test_hal_eval.py",
    "test_adapters.py",
    "test_judgements.py",
    "test_in_python.py",
    "test_captions_of_papers.py",
    "test_cli.py",
    "test_flags.py",
    "test_coverage_table.py",
    "test_coverage_worlds.py",
    "test_contract.py",
    "test_labels_audit.py",
    "test_advice.py",
    "test_gate_worlds.py",
    "test_judges.py",
    "test_psychometrics_degenerate.py",
    "test_shapes.py",
    "extensions/hqm-study/tests/test_design.py",
    "test_release.py",
    "test_terminal.py",
    "test_fetch.py",
    "test_fetch_releases.py",
    "test_lint.py",
    "test_compare.py",
    "test_limits_and_units.py",
    "test_indicators.py",
    "test_graded_items.py",
    "test_reach.py",
    "test_first_page.py",
)
"""The files that take longest: begun first, so that at the end no process waits for
another one's last file.
"""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folders = {True: ROOT, False: ROOT / "tests"}
    paths = (folders[name.startswith("extensions/")] / name for name in SLOWEST_FIRST)
    file_order = {path: index for index, path in enumerate(paths)}
    items.sort(key=lambda item: file_order.get(item.path, len(file_order)))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin to import at another file than the other processes do.

    The first import of a test rewrites its assertions and keeps the bytecode, so that each process
    does its part of that and reads the parts of the others.
    """
    gc.disable()  # until the tests begin: hardly anything that is imported or collected is garbage
    worker_input = getattr(session.config, "workerinput", None)
    if not all(Path(argument).is_dir() for argument in session.config.args):
        return
    if worker_input is None and not session.config.option.collectonly:
        start_forked_program(session.config)
    if worker_input is None or sys.dont_write_bytecode:
        return
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    ]
    first, step = int(worker_input["workerid"].removeprefix("gw")), worker_input["workercount"]
    for name in names[first::step]:
        # what cannot be imported is said where it is collected
        with contextlib.suppress(Exception):
            importlib.import_module(name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Look for garbage again, and never among what all tests share: a million objects take a third
    of a second each time. Tests that read released data make as many, and little of it is garbage.
    """
    gc.enable()
    gc.set_threshold(20_000, 20, 20)
    gc.freeze()


# the same examples every time: a submission fails for what it changed, not for what chance found
# how long drawing takes is the machine's
SPEED = (HealthCheck.too_slow,)
settings.register_profile(
    "hqm", derandomize=True, database=None, deadline=None, suppress_health_check=SPEED
)
# new ones every night; what fails is printed so that it can be kept as an @example. All is said
# here, since Hypothesis has other defaults where the variable CI is set
settings.register_profile(
    "nightly",
    derandomize=False,
    database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples"),
    deadline=None,
    suppress_health_check=SPEED,
    print_blob=True,
)
settings.load_profile("nightly" if NIGHTLY else "hqm")

NO_TORCH = "torch is not installed: pip install 'hqm-audit[local]'"
"""Why a test of models that run in this process is skipped."""
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason=NO_TORCH)

NO_DATA = "HQM_DATA is not set"
"""Why a test of released data is skipped."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Say last, below the reasons of all that was skipped, how the released data are had."""
    yield
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:  # a worker, which reports to the process that started it
        return
    skipped = [
        report for report in terminal.stats.get("skipped", []) if NO_DATA in str(report.longrepr)
    ]
    if skipped:
        terminal.write_line(
            f"{len(skipped)} tests read released data and were skipped: `hqm fetch all --data"
            " data` gets what may be fetched, then `HQM_DATA=data make test` runs them."
        )


@pytest.fixture(scope="session")
def data() -> Path:
    """The real benchmark files; the tests that need them are skipped without `HQM_DATA`."""
    folder = os.environ.get("HQM_DATA")
    if not folder:
        pytest.skip(NO_DATA)
    path = Path(folder)
    # a variable that points nowhere is a mistake, not a reason to skip
    assert path.is_dir(), f"HQM_DATA={folder} is no folder"
    return path.resolve()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[hqm.Store]:
    with hqm.Store(tmp_path / "store.sqlite") as opened:
        yield opened


Run = Callable[..., tuple[int, str, str]]

build_parser = cli._parser


@functools.cache
def kept_parser(word: str, _commands: tuple[str, ...]) -> Callable[..., object]:
    """The parser of a first word, kept as long as no command is added: to build it takes as long
    as many a command, and a process runs hundreds of them.
    """
    return build_parser(word)


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    """Run a command in this process: exit status, output, errors.

    From the root of the project it is run in a folder of its own: what a command writes below
    `out/` without being told where is no other test's.
    """

    def go(*arguments: object) -> tuple[int, str, str]:
        if Path.cwd() == ROOT:
            monkeypatch.chdir(tmp_path_factory.mktemp("run"))
        monkeypatch.setattr(sys, "argv", ["hqm", *map(str, arguments)])
        monkeypatch.setattr(cli, "_parser", lambda word: kept_parser(word, names_in(cli.GROUP)))
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        output, err = capsys.readouterr()
        return status, output, err

    return go


@contextlib.contextmanager
def forking(python: Path | str, folder: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """A program `hqm` of a Python whose processes need not import it; see tests/forked_program.py.

    Parameters
    ----------
    folder
        Where the program is put.
    """
    script = str(ROOT / "tests" / "forked_program.py")
    # a socket's address has room for about a hundred letters: pytest's folders may be longer
    with tempfile.TemporaryDirectory(prefix="hqm-") as short:
        address = f"{short}/socket"
        server = subprocess.Popen(
            [python, "-P", script, "serve", address],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        program = folder / "hqm"
        program.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}" call "{address}" "$@"\n'
        )
        program.chmod(0o755)
        yield program
        server.stdin.close()
        server.wait(60)


FORKED = "HQM_TESTS_FORKED"
"""The variable that names the program of `forked_program` to all processes of a run."""


def start_forked_program(config: pytest.Config) -> None:
    """Start what `forked_program` calls, for all processes of a run, until the run ends."""
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    running = contextlib.ExitStack()
    folder = running.enter_context(tempfile.TemporaryDirectory(prefix="hqm-"))
    environment = {**os.environ, "PYTHONPATH": path}
    program = running.enter_context(forking(sys.executable, Path(folder), environment))
    os.environ[FORKED] = str(program)
    config.add_cleanup(running.close)


@pytest.fixture(scope="session")
def forked_program(pytestconfig: pytest.Config) -> Path:
    """The program `hqm` of these tests, whose processes need not import it."""
    if FORKED not in os.environ:
        start_forked_program(pytestconfig)
    return Path(os.environ[FORKED])


class KillableCommand:
    """A command of a forked program that runs meanwhile, and that a test kills at a moment of its
    own; `process` is its caller, whose status is 70 then.
    """

    def __init__(self, forked: Path, arguments: Iterable[object], folder: Path) -> None:
        self._pid_file = folder / "pid"
        self._pid_file.unlink(missing_ok=True)
        environment = {**os.environ, PID_FILE: str(self._pid_file)}
        self.process = subprocess.Popen(
            [str(forked), *map(str, arguments)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill(self) -> None:
        """End the program's process, but not the caller, which ends by itself."""
        os.kill(int(self._pid_file.read_text()), signal.SIGKILL)


COMMANDS_SCRIPT = """
import json, os, sys, tempfile
from hqm.cli import main

done = []
for arguments in json.loads(sys.argv[1]):
    sys.argv, status = ["hqm", *arguments], 0
    before = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        sys.stdout.flush(), sys.stderr.flush()
        os.dup2(before[0], 1), os.dup2(before[1], 2)
        done.append([status, *(file.seek(0) or file.read() for file in (out, err))])
print(json.dumps(done))
"""


def in_one_process(
    commands: Iterable[Iterable[object]], **settings: Any
) -> list[tuple[int, str, str]]:
    """Run commands one after another in one new process: status, output and errors of each.

    Parameters
    ----------
    **settings
        Passed to `subprocess.run`.
    """
    words = json.dumps([[*map(str, command)] for command in commands])
    program = [sys.executable, "-P", "-c", COMMANDS_SCRIPT, words]
    completed = subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True, **settings)
    return [(status, output, err) for status, output, err in json.loads(completed.stdout)]


def write_command(folder: Path, forked: Path) -> Path:
    """Write the command `hqm`: its first call starts the program as a user does, later ones are
    forked.
    """
    folder.mkdir(exist_ok=True)
    started = folder / "started"
    command = folder / "hqm"
    command.write_text(
        f'#!/bin/sh\n[ -e "{started}" ] && exec "{forked}" "$@"\n: > "{started}"\n'
        f'exec "{sys.executable}" -P -m hqm "$@"\n'
    )
    command.chmod(0o755)
    return command


def write_benchmark(folder: Path, items: list[dict[str, Any]], **card: Any) -> Path:
    """A benchmark folder with no code: card.toml and items.jsonl."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"name": "mine", "title": "Mine", "version": "1", "task": "yes_no", **card}
    lines = [
        f"{key} = {json.dumps(value)}"
        for key, value in settings.items()
        if not isinstance(value, dict)
    ]
    for name, section in {
        "data": {"items": "items.jsonl"},
        **{k: v for k, v in settings.items() if isinstance(v, dict)},
    }.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in section.items())]
    (folder / "card.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "items.jsonl").write_text(
        "".join(json.dumps(item) + "\n" for item in items), encoding="utf-8"
    )
    return folder


@pytest.fixture
def make_benchmark(tmp_path: Path) -> Callable[..., Path]:
    def make(items: list[dict[str, Any]], **card: Any) -> Path:
        return write_benchmark(tmp_path / str(card.get("name", "mine")), items, **card)

    return make


@pytest.fixture
def dogs(make_benchmark: Callable[..., Path]) -> Path:
    """Twelve yes/no questions about six pictures that need not exist: recorded respondents do not
    look.
    """
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {subject} in the image?",
            "target": target,
            "image": f"{i // 2}.png",
            "type": "existence",
        }
        for i, (subject, target) in enumerate(
            zip(
                ["dog", "cat", "car", "bus", "hat", "cup"] * 2,
                ["yes", "no", "no", "yes", "yes", "no"] * 2,
                strict=True,
            )
        )
    ]
    return make_benchmark(rows, types=["existence"], labelled=True)


def recorded(name: str, answers: dict[tuple[str, int], dict[str, str]]) -> RecordedRespondent:
    """A recorded respondent from (form, run) -> item -> answer."""
    recordings = [
        Recording(name, form, run, {item: hqm.Response(text) for item, text in texts.items()})
        for (form, run), texts in answers.items()
    ]
    return RecordedRespondent(f"recorded/{name}", recordings)


def administered(
    store: hqm.Store, benchmark: hqm.Benchmark, respondents: list[RecordedRespondent]
) -> list[StoredRespondent]:
    """Put recorded respondents into a store; the respondents as the store knows them."""
    from hqm.administration.stored_answers import forms_of

    asks = hqm.Asks(store)
    forms = {form.name: form for form in forms_of(benchmark)}
    assignments = [hqm.assign(respondent, benchmark) for respondent in respondents]
    jobs = [
        hqm.plan_job(asks, assignment, hqm.Administration(forms[form], run, resolution))
        for assignment, respondent in zip(assignments, respondents, strict=True)
        for form, run, resolution in respondent.cells
    ]
    hqm.administer(store, jobs)
    return hqm.respondents_of(store, assignments)


@pytest.fixture(scope="session")
def one_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One Chromium for all tests of a process; they are skipped where there is none."""
    from tests.browser import CHROMIUM, chromium

    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    with chromium(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture
def browser(one_browser: Browser) -> Iterator[Browser]:
    """The browser, with an empty page and no errors."""
    one_browser.errors.clear()
    yield one_browser
    one_browser.open("about:blank")


@pytest.fixture
def threads() -> Iterator[None]:
    """The number of threads is the process's: it is given back."""
    import torch

    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def claims(width: int, height: int) -> bytes:
    """A PNG of a few bytes that says it is this large."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = b""
    for name, content in ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b"")):
        chunks += (
            struct.pack(">I", len(content))
            + name
            + content
            + struct.pack(">I", zlib.crc32(name + content))
        )
    return b"\x89PNG\r\n\x1a\n" + chunks
