"""A full disk: the audit and its report stay the old pair or become the new one, whatever was
written when it filled up.
"""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm.files.whole import atomic_file, atomic_folder, write_text, write_together
from hqm.store import connection
from tests.conftest import Run, write_benchmark
from tests.messages import tells
from tests.servers import PlannedServer, completion

SIZES = [
    (10, 10),
    (10, 50_000),
    (50_000, 10),
    (50_000, 50_000),
    (0, 50_000),
    (30_000, 29_999),
    (29_999, 30_001),
]
LIMIT = 30_000


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """No file may become larger than so many bytes: a write beyond them fails as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.mark.parametrize("before", [True, False], ids=["old pair", "no pair"])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_pair_is_the_old_one_or_the_new_one(
    tmp_path: Path, sizes: tuple[int, int], before: bool
) -> None:
    audit, page = tmp_path / "audit.json", tmp_path / "report.html"
    if before:
        write_together({audit: "old audit", page: "old page"})
    new = {audit: "a" * sizes[0], page: "p" * sizes[1]}
    if max(sizes) <= LIMIT:
        with little_room(LIMIT):
            write_together(new)
        assert (audit.read_text(), page.read_text()) == tuple(new.values())
        return
    with little_room(LIMIT), pytest.raises(hqm.DataError, match="cannot be written") as caught:
        write_together(new)
    assert ("unchanged" in str(caught.value)) == before
    contents = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert contents == ({"audit.json": "old audit", "report.html": "old page"} if before else {})


class Full:
    """A disk that is full from the n-th of these calls on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, target: Any, name: str, n: int) -> None:
        self.left = n
        real = getattr(target, name)

        def call(*arguments: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments)

        monkeypatch.setattr(target, name, call)


@pytest.mark.parametrize("n", [0, 1])
def test_a_disk_that_fills_up_as_the_files_are_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    audit, page = tmp_path / "audit.json", tmp_path / "report.html"
    write_together({audit: "old audit", page: "old page"})
    Full(monkeypatch, os, "fsync", n)
    with pytest.raises(hqm.DataError, match="No space left on device"):
        write_together({audit: "new audit", page: "new page"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "audit.json": "old audit",
        "report.html": "old page",
    }


def test_a_place_that_cannot_be_written_leaves_the_other(tmp_path: Path) -> None:
    audit, page = tmp_path / "audit.json", tmp_path / "report.html"
    audit.write_text("old")
    page.mkdir()
    with pytest.raises(hqm.DataError, match="Is a directory"):
        write_together({audit: "new", page: "new"})
    assert audit.read_text() == "old"
    (tmp_path / "file").write_text("x")
    with pytest.raises(hqm.DataError):
        write_together({audit: "new", tmp_path / "file" / "report.html": "new"})
    assert audit.read_text() == "old"


@pytest.mark.parametrize("size", [0, 100, LIMIT + 1])
def test_a_single_file_is_the_old_one_or_the_new_one(tmp_path: Path, size: int) -> None:
    path = tmp_path / "tables.tex"
    path.write_text("old")
    with little_room(LIMIT):
        if size > LIMIT:
            with pytest.raises(hqm.DataError, match="cannot be written"):
                write_text(path, "x" * size)
            with pytest.raises(hqm.DataError, match="cannot be written"):
                write_together({path: b"x" * size})
            assert path.read_text() == "old"
        else:
            write_text(path, "x" * size)
            assert path.read_text() == "x" * size
    assert [file.name for file in tmp_path.iterdir()] == ["tables.tex"]


def test_a_folder_that_is_there_is_written_inside(tmp_path: Path) -> None:
    """It may be a mounted disk, or all that a user may write to."""
    with atomic_file(tmp_path / "x.jsonl") as partial_file:
        assert partial_file.parent.parent == tmp_path
        partial_file.write_text("x")
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


def test_half_a_character_is_written_as_its_escape(tmp_path: Path) -> None:
    write_text(tmp_path / "audit.json", '"file-\udcff"')
    assert (tmp_path / "audit.json").read_bytes() == b'"file-\\udcff"'


def audited(run: Run, dogs: Path, out_dir: Path) -> tuple[int, str]:
    answers = out_dir.parent / "answers.csv"
    if not answers.exists():
        rows = [
            f"{name},q{i},{'yes' if (i + k) % 3 else 'no'}"
            for k, name in enumerate("abc")
            for i in range(12)
        ]
        answers.write_text("\n".join(["respondent,item,answer", *rows]) + "\n")
    status, _, err = run(
        "audit",
        dogs,
        "--recorded",
        answers,
        "--forms",
        "original",
        "--out",
        out_dir,
        "--store",
        out_dir / "s.sqlite",
        "-q",
    )
    return status, err


def test_an_audit_on_a_full_disk_leaves_the_old_pair(
    run: Run, dogs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out_dir = tmp_path / "out"
    status, err = audited(run, dogs, out_dir)
    assert status == 0, err
    old = {name: (out_dir / name).read_bytes() for name in ("audit.json", "evidence.html")}
    # the audit fits, and the page, which is larger, does not
    assert len(old["audit.json"]) < len(old["evidence.html"])
    monkeypatch.setattr("hqm.version.__version__", "9")
    with little_room(len(old["evidence.html"]) - 1):
        status, err = audited(run, dogs, out_dir)
    assert (status, "cannot be written" in err, "Traceback" in err) == (1, True, False)
    assert {name: (out_dir / name).read_bytes() for name in old} == old
    assert not list(out_dir.glob("*.part"))


def test_a_process_of_its_own_survives_the_signal_of_a_full_disk(tmp_path: Path) -> None:
    """Beyond the limit the system sends SIGXFSZ, which must not end the process without a word."""
    code = (
        "import resource, sys; from pathlib import Path; from hqm.files.whole import"
        f" write_together\nresource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))\ntry:"
        " write_together({Path('a'): 'x', Path('b'): 'y' * 99999})\nexcept Exception as error:"
        " print(type(error).__name__)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (completed.stdout.strip(), completed.returncode) == ("DataError", 0), completed.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["inspect", "exported.jsonl", "exported.parquet", "eee"])
def test_an_export_on_a_full_disk_leaves_nothing_of_itself(
    run: Run,
    dogs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    to: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    store, sheet = tmp_path / "store.sqlite", tmp_path / "answers.jsonl"
    rows = [
        {"respondent": name, "item": f"q{i}", "answer": "Yes"} for name in "abc" for i in range(12)
    ]
    sheet.write_text("\n".join(map(json.dumps, rows)))
    assert run("audit", dogs, "--recorded", sheet, "--store", store, "--quiet")[0] == 0
    words = ["export", "shapes_choice" if to == "inspect" else store, "--to", to]
    words += ["--benchmark", dogs] if to == "eee" else []
    shapes = hqm.load("shapes_choice")
    shapes.prepare_images(shapes.original)
    with little_room(200):
        status, _, err = run(*words, *(["--out", "made"] if to in ("inspect", "eee") else []))
    assert (status, "cannot be written" in err) == (1, True)
    leftovers = [*tmp_path.glob("made"), *tmp_path.glob("exported*"), *tmp_path.glob(".hqm-*")]
    assert not [path for path in leftovers if path.is_file() or any(path.rglob("*.*"))]


@pytest.mark.parametrize("before", [True, False])
def test_a_form_that_finds_no_room_is_not_written(tmp_path: Path, run: Run, before: bool) -> None:
    form = tmp_path / "parallel.jsonl"
    if before:
        form.write_text("old")
    with little_room(1000):
        status, _, stderr = run("forms", "shapes_yesno", "--out", form)
    assert status == 1
    assert "cannot be written" in stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == (["old"] if before else [])


def test_a_served_run_on_a_full_disk_ends_at_once_and_goes_on_where_there_is_room(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own bound stands for the disk; what came while it filled up is not waited for."""
    real, pages = connection.connect, ["24"]

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened = real(*arguments, **options)
        opened.execute(f"PRAGMA max_page_count={pages[0]}")
        return opened

    monkeypatch.setattr(connection, "connect", connect)
    rows = [{"id": f"i{n}", "prompt": f"Is {n} even?", "target": "no"} for n in range(40)]
    benchmark, store = write_benchmark(tmp_path / "mine", rows), tmp_path / "store.sqlite"
    reply = completion("Yes. " + "It is there. " * 100)
    with PlannedServer(lambda *_: reply, delay=0.02) as server:
        name = f"openai/tiny@{server.url}?concurrency=4"
        words = ["audit", benchmark, "-r", name, "--no-report", "--forms", "original", "--runs", 1]
        words += ["--store", store]
        began = time.monotonic()
        status, _, err = run(*words)
        assert (status, tells(err, "store.full")) == (1, True)
        assert time.monotonic() - began < 60, "the patience with a server is 120 s"
        n_requests = len(server.asked)
        pages[0] = "1000"
        status, output, err = run(*words)
        assert (status, "errors 0" in output) == (0, True), err
    n_stored = int(re.findall(r"stored before (\d+)", output)[0])
    assert 0 < n_stored < 40
    assert n_requests - n_stored <= 4
    assert len(server.asked) - n_requests == 40 - n_stored


def test_a_folder_is_made_with_all_above_it_or_none(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    with pytest.raises(RuntimeError), atomic_folder(folder) as staging:
        (staging / "x").write_text("1")
        raise RuntimeError
    assert not (tmp_path / "a").exists()
    with atomic_folder(folder) as staging:
        (staging / "x").write_text("1")
    assert (folder / "x").read_text() == "1"


@pytest.mark.parametrize("folder", ["x" * 107, "none", ""])
def test_worker_processes_need_no_place_for_a_socket(tmp_path: Path, folder: str) -> None:
    """A temporary folder with a long path, as clusters have, and none that can be written."""
    path = tmp_path / folder
    if folder != "none":
        path.mkdir(exist_ok=True)
    code = (
        "import tempfile; tempfile._candidate_tempdir_list = lambda: [sys.argv[1]]\n"
        "from hqm.administration.engines import local\n"
        "context = local._context(); print(context.get_start_method())\n"
        "process = context.Process(target=print, args=('started',)); process.start()\n"
        "process.join(); print(process.exitcode)"
    )
    source = f"import sys\nif __name__ == '__main__':\n    exec({code!r})\n"
    script = tmp_path / "start.py"
    script.write_text(source)
    lines = subprocess.run(
        [sys.executable, str(script), str(path)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert sorted(lines) == sorted(["0", "started", "spawn" if folder else "forkserver"])
