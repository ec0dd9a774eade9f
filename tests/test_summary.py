"""The end of `hqm audit` in the terminal: how long it is, and that its commands run as printed."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import hqm
from hqm.commands import asking
from tests.conftest import Run


@pytest.fixture
def audited(dogs: Path, tmp_path: Path) -> hqm.BenchmarkAudit:
    items = hqm.load(str(dogs)).original.items
    rows = [
        f"{i.id},m{k},{'Yes' if n % (k + 2) else 'No'}"
        for k in range(4)
        for n, i in enumerate(items)
    ]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["item,respondent,answer", *rows]))
    return hqm.audit(dogs, path)


QUESTIONS = ("repeat", "wording", "people", "separate", "faulty", "more items", "quote")


@pytest.mark.parametrize("columns", ["80", "100", "200"])
@pytest.mark.parametrize(
    ("benchmarks", "max_lines"), [(1, 15), (2, 25), (4, 25), (5, 25), (20, 25), (30, 25)]
)
def test_it_fits_a_screen(
    audited: hqm.BenchmarkAudit,
    benchmarks: int,
    max_lines: int,
    columns: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    audits = [
        replace(audited, benchmark=f"b{i}", title=f"Benchmark {i}") for i in range(benchmarks)
    ]
    asking.print_summary(hqm.Audit(tuple(audits)), Path("out"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= max_lines
    assert max(map(len, lines)) <= max(int(columns), 120)
    assert all(sum(f" {name}" in line for line in lines) >= 1 for name in QUESTIONS)
    assert all(
        any(audit.title in line for line in lines) for audit in audits[: min(benchmarks, 19)]
    )
    if benchmarks == 1:
        answers = [line for line in lines if line[2:13].strip() in QUESTIONS]
        assert [line[2:13].strip() for line in answers] == list(QUESTIONS)
        assert all(line[0] in "✓◐✕○–" for line in answers)


def test_what_it_says_to_do_next_runs_as_printed(
    run: Run, dogs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    items = hqm.load(str(dogs)).original.items
    rows = [
        f"{i.id},m{k},{'Yes' if n % (k + 2) else 'No'}"
        for k in range(3)
        for n, i in enumerate(items)
    ]
    Path("answers.csv").write_text("\n".join(["item,respondent,answer", *rows]))
    status, printed, err = run("audit", dogs, "--recorded", "answers.csv", "--out", "my out", "-q")
    assert status == 0, err
    (wrote,) = [line for line in printed.splitlines() if line.startswith("wrote  ")]
    assert all(
        Path("my out", Path(name).name).is_file()
        for name in wrote[7:].replace("my out/", "").split()
    )
    (line,) = [line for line in printed.splitlines() if line.startswith("next:  hqm ")]
    status, printed, err = run(*shlex.split(line.removeprefix("next:  hqm ")))
    assert status == 0, err
    assert Path("table.tex").is_file()
