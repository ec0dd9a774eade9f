"""Start and finish: the help, a list, the first answer, and an audit that has nothing to ask,
beside an earlier version.

    python tests/perf/start.py [--against REVISION] [--rounds 3] [--store FOLDER] [--benchmark shapes] [--only list second]

Each command is a process of its own, and the two versions take turns, so that other work on the
machine meets both alike. The named alternative is an earlier version, checked out into a folder of
its own for as long as this runs. Printed are the best of the rounds, seconds and processor seconds,
and how many times as long the earlier version took: 2.0 means that this version took half.

The first answer is that of `hqm audit` with an empty store: seconds from the start of the process
to the time that the store writes beside its first answer; no processor time is given, because most
of it is that of workers which go on. Then the process is asked to stop. `first-cold` has an empty
cache as well: pictures are drawn and weights unpacked. The second run is `hqm audit` over a full
store. `--store` names a folder in which `hqm audit` has left one (`store.sqlite`); without it, one
is made first, which takes minutes. The audits that the two versions write must be equal in
everything but the times, and numbers to 1e-10: the program ends with an error where they are not.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.perf.recorded_audit import TOLERANCE, difference

ROOT = Path(__file__).resolve().parents[2]
MOUNTED = ("adapters", "benchmarks", "reports")
PATIENCE = 300.0
"""Seconds after which a first answer is not waited for any longer."""


@dataclass(frozen=True)
class Timing:
    """What one command took."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Version:
    """A checkout, seen as one package through a folder of links."""

    name: str
    mount: Path

    @classmethod
    def link(cls, name: str, checkout: Path, mount: Path) -> Version:
        """Link the parts of a checkout together, as an installation does."""
        package = mount / "hqm"
        package.mkdir(parents=True)
        for entry in (
            *(p for p in (checkout / "hqm").iterdir() if p.name != "__pycache__"),
            *(checkout / m for m in MOUNTED),
        ):
            (package / entry.name).symlink_to(entry)
        return cls(name, mount)

    def start(
        self, arguments: Sequence[str], folder: Path, log: Path, cache: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Begin a command in a folder, with what it prints in a file."""
        environment = {**os.environ, "PYTHONPATH": str(self.mount)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed version is compiled once
        if cache is not None:
            environment["XDG_CACHE_HOME"] = str(cache)
        with log.open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "hqm", *arguments],
                cwd=folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def run(self, arguments: Sequence[str], folder: Path) -> Timing:
        """Run a command to its end, with a cache of its own: a version removes what another one's
        rules have left in it.
        """
        began, log = time.perf_counter(), folder / f"{self.name}.log"
        process = self.start(arguments, folder, log, folder / f"cache-{self.name}")
        processor = _ended(process)
        if process.returncode:
            sys.exit(
                f"{self.name}: hqm {' '.join(arguments)} ended with"
                f" {process.returncode}:\n{log.read_text()[-2000:]}"
            )
        return Timing(time.perf_counter() - began, processor)

    def first_answer(self, benchmark: str, *, cold: bool) -> Timing:
        """Audit with an empty store until the first answer is in it; workers that are still busy
        then are not counted.
        """
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            began = time.time()
            log = folder / "log"
            process = self.start(
                ["audit", benchmark, "--out", str(folder)],
                folder,
                log,
                folder / "cache" if cold else None,
            )
            try:
                first_time = None
                while (
                    first_time is None and process.poll() is None and time.time() < began + PATIENCE
                ):
                    time.sleep(0.1)
                    first_time = _first_time(folder / "store.sqlite")
            finally:
                process.send_signal(signal.SIGINT)
                _ended(process)
            if first_time is None:
                sys.exit(f"{self.name}: no answer of {benchmark} came:\n{log.read_text()[-2000:]}")
            return Timing(first_time - began, math.nan)


def _ended(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process; the processor seconds that it and its own children took."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def _first_time(store: Path) -> float | None:
    """When the first answer was stored; None where there is none yet."""
    if not store.is_file():
        return None
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as db,
    ):
        first = db.execute("SELECT MIN(time) FROM answers").fetchone()[0]
        return None if first is None else float(first)
    return None


@contextlib.contextmanager
def _checkout(revision: str, folder: Path) -> Iterator[Path]:
    """An earlier version in a folder of its own."""
    checkout = folder / "earlier"
    subprocess.run(
        ["git", "worktree", "add", "--quiet", "--detach", str(checkout), revision],
        cwd=ROOT,
        check=True,
    )
    try:
        yield checkout
    finally:
        subprocess.run(
            ["git", "worktree", "remove", "--force", str(checkout)], cwd=ROOT, check=True
        )


def without_times(audit: Path) -> str:
    """What an audit says, without when it was made, by which command, and how long things took."""
    text = re.sub(
        r'"(made|time|when|created|date|seconds|command)": ("[^"]*"|[0-9.e+-]+)',
        r'"\1": null',
        audit.read_text(),
    )
    return json.dumps(json.loads(text), sort_keys=True)


def main() -> None:
    """Print what each command took, and the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", metavar="REVISION", help="the version to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--store",
        type=Path,
        metavar="FOLDER",
        help="where a whole audit of the benchmark has left its store",
    )
    parser.add_argument("--benchmark", default="shapes")
    parser.add_argument(
        "--only", nargs="+", choices=("help", "list", "first", "first-cold", "second")
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        versions = [Version.link("this", ROOT, folder / "mount-this")]
        if options.against:
            earlier = stack.enter_context(_checkout(options.against, folder))
            versions.append(Version.link("earlier", earlier, folder / "mount-earlier"))
        for version in versions:
            version.run(["list"], folder)  # compiles what is not compiled yet
        full = folder / "full"
        full.mkdir()

        def second(version: Version) -> Timing:
            return version.run(
                [
                    "audit",
                    options.benchmark,
                    "--store",
                    str(full / "store.sqlite"),
                    "--out",
                    str(full / version.name),
                ],
                folder,
            )

        measures: dict[str, Callable[[Version], Timing]] = {
            "help": lambda version: version.run(["--help"], folder),
            "list": lambda version: version.run(["list"], folder),
            "first": lambda version: version.first_answer(options.benchmark, cold=False),
            "first-cold": lambda version: version.first_answer(options.benchmark, cold=True),
            "second": second,
        }
        selected = options.only or list(measures)
        if "second" in selected:
            if options.store:
                shutil.copyfile(options.store / "store.sqlite", full / "store.sqlite")
            else:
                print("making a full store", flush=True)
            for version in versions:  # asks what is missing, and compiles
                second(version)
        print(
            f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; best of"
            f" {options.rounds}"
        )
        print(
            f"{'':12}{'s':>9}{'processor s':>13}"
            + (f"{'ratio':>9}{'processor':>13}" if options.against else ""),
            flush=True,
        )
        for measure in selected:
            rounds = [
                [measures[measure](version) for version in versions] for _ in range(options.rounds)
            ]
            best = [
                Timing(min(r[i].wall for r in rounds), min(r[i].processor for r in rounds))
                for i in range(len(versions))
            ]
            line = f"{measure:12}{best[0].wall:9.2f}{best[0].processor:13.2f}"
            if options.against:
                line += f"{best[1].wall / best[0].wall:9.2f}{best[1].processor / best[0].processor:13.2f}"
            print(line, flush=True)
        print(f"load of the machine afterwards: {os.getloadavg()[0]:.1f}")
        if "second" in selected and options.against:
            audits = [
                json.loads(without_times(full / version.name / "audit.json"))
                for version in versions
            ]
            if (worst := difference(*audits)) > TOLERANCE:
                sys.exit("the two versions do not give the same audit")
            print(f"the two versions give the same audit: numbers differ by {worst:.0e} at most")


if __name__ == "__main__":
    main()
