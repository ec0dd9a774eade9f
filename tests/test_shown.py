"""What the README, its picture and the index show of the embedded benchmark is what its command
gives today; docs/shown.py compares, and writes the line.
"""

from __future__ import annotations

import importlib.util
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import hqm
from tests.conftest import NO_TORCH, ROOT


@pytest.fixture(scope="module")
def shown() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shown", ROOT / "docs" / "shown.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def audit(shown: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> hqm.BenchmarkAudit:
    """That of the README's first command, with all models and items."""
    pytest.importorskip("torch", reason=NO_TORCH)
    if platform.machine() != "x86_64":
        pytest.skip("on another processor a model's answer drawn at temperature 1 may differ")
    folder = tmp_path_factory.mktemp("shown")
    words = [*shown.COMMAND.split()[1:], "--quiet", "--out", str(folder)]
    subprocess.run([sys.executable, "-m", "hqm", *words], check=True, cwd=folder)
    (benchmark_audit,) = hqm.Audit.load(folder / "audit.json").audits
    return benchmark_audit


def test_what_is_shown_of_the_embedded_benchmark_is_what_its_command_gives(
    shown: ModuleType, audit: hqm.BenchmarkAudit
) -> None:
    assert list(shown.differences(audit)) == [], "docs/shown.py says how each is made anew"


def test_a_digit_that_was_typed_is_found_and_written_again(
    shown: ModuleType,
    audit: hqm.BenchmarkAudit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = shown.README.read_text("utf-8")
    line = shown.terminal_line(audit)
    assert line in text
    readme = tmp_path / "README.md"
    readme.write_text(text.replace(line, f"{line[:-3]}7 {line[-3:]}"))
    monkeypatch.setattr(shown, "README", readme)
    assert [name for name, _, _ in shown.differences(audit)] == ["README.md"]
    shown.write(audit)
    assert readme.read_text("utf-8") == text


def test_the_readme_names_the_command_whose_line_it_shows(shown: ModuleType) -> None:
    assert shown.shown_line(shown.README.read_text("utf-8"))
