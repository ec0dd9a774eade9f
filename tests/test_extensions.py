"""Extensions: what an installed one brings, what is said where it is missing, and the core alone."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from hqm.errors import CardError, UsageError
from hqm.extensions import _installed_points, load_extension, missing_extension, names_in
from hqm.version import __version__
from tests.conftest import COMMANDS_SCRIPT, ROOT
from tests.messages import pattern_of, tells

FOLDERS = sorted((ROOT / "extensions").glob("hqm-*"))
FEATURES: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "entry-points"
]["hqm.extensions"]
"""What extensions bring -> their packages."""

ALONE = """
import importlib.metadata, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in packages:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

packages, found = set(%r), importlib.metadata.entry_points()
remaining = importlib.metadata.EntryPoints(
    point for group in found.groups for point in found.select(group=group)
    if group == "hqm.extensions" or point.module.partition(".")[0] not in packages
)
importlib.metadata.entry_points = remaining.select
sys.meta_path.insert(0, Absent())
"""
"""Makes a process one in which no extension is installed."""


def run_alone(*commands: list[object]) -> list[tuple[int, str, str]]:
    """Run commands in a process without extensions: status, output and errors of each."""
    code = ALONE % [folder.name.replace("-", "_") for folder in FOLDERS] + COMMANDS_SCRIPT
    words = json.dumps([[*map(str, command)] for command in commands])
    process = subprocess.run(
        [sys.executable, "-P", "-c", code, words], check=True, capture_output=True, text=True
    )
    return [(status, output, err) for status, output, err in json.loads(process.stdout)]


def test_the_core_works_alone_and_says_what_brings_a_command(tmp_path: Path) -> None:
    rows = [f"y{n:04},a,{'Yes' if n % 3 else 'No'}" for n in range(0, 1008, 8)]
    answers = tmp_path / "answers.csv"
    answers.write_text("\n".join(["item,respondent,answer", *rows]))
    audit = ["audit", "shapes_yesno", "--recorded", answers, "--out", tmp_path / "out"]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("model_a,model_b,winner\nx,y,x\n")
    features = sorted(FEATURES)
    words = [[*audit, feature, "x"] if "--" in feature else [feature] for feature in features]
    words[features.index("preferences")] = ["audit", pairs]
    words[features.index("--read-with")] = ["check", "shapes_yesno", "--read-with", "x"]
    results = run_alone(["--help"], audit, ["report", tmp_path / "out"], *words)
    (_, text, _), *audited = results[:3]
    listed = {
        line.split()[0] for line in text.splitlines() if line.startswith("  ") and line.strip()
    }
    assert "audit" in listed
    assert not listed & set(features)
    assert [status for status, _, _ in audited] == [0, 0], audited
    for feature, (status, _, err) in zip(features, results[3:], strict=True):
        package = FEATURES[feature].replace("_", "-")
        assert status == 2
        assert tells(err, "extension.missing", feature=feature, package=package), err


def test_every_module_of_the_core_is_imported_without_extensions() -> None:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "hqm").rglob("*.py")
        if path.stem != "__main__"
    ]
    code = ALONE % [folder.name.replace("-", "_") for folder in FOLDERS]
    code += f"import importlib\nprint(len(list(map(importlib.import_module, {names}))))"
    process = subprocess.run(
        [sys.executable, "-P", "-c", code], check=False, capture_output=True, text=True
    )
    assert process.stdout == f"{len(names)}\n", process.stderr


def test_a_name_that_moved_into_an_extension_says_what_to_install() -> None:
    code = ALONE % ["hqm_study"] + "import hqm\nhqm.shorten"
    process = subprocess.run(
        [sys.executable, "-P", "-c", code], check=False, capture_output=True, text=True
    )
    assert tells(process.stderr, "extension.name", name="hqm.shorten", package="hqm-study")


def test_each_extension_brings_what_the_core_expects_of_it() -> None:
    brought = {}
    for folder in FOLDERS:
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        assert project["name"] == folder.name
        assert project["version"] == __version__
        assert (folder / "tests").is_dir()
        package = folder.name.replace("-", "_")
        points = project["entry-points"]
        brought |= dict.fromkeys((name for group in points.values() for name in group), package)
        assert all(name in names_in(group) for group, names in points.items() for name in names)
    assert FEATURES.items() <= brought.items()


def test_what_no_package_or_a_broken_one_brings_is_an_error() -> None:
    assert missing_extension("no-such-command") is None
    with pytest.raises(UsageError, match="no-such-command"):
        load_extension("hqm.commands", "no-such-command", "a command")
    error = missing_extension(min(FEATURES))
    assert error is not None
    assert tells(str(error), "extension.missing", feature=min(FEATURES))


def test_a_package_installed_while_the_program_runs_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The groups are read once, and again when a folder of packages changes."""
    monkeypatch.syspath_prepend(tmp_path)
    names_in("hqm.commands")
    hits = _installed_points.cache_info().hits
    before = names_in("hqm.commands")
    assert _installed_points.cache_info().hits == hits + 1
    metadata_dir = tmp_path / "later-1.0.dist-info"
    metadata_dir.mkdir()
    (metadata_dir / "METADATA").write_text("Metadata-Version: 2.1\nName: later\nVersion: 1.0\n")
    (metadata_dir / "entry_points.txt").write_text("[hqm.commands]\nlater = later:run\n")
    assert set(names_in("hqm.commands")) == {*before, "later"}


def test_a_name_that_two_packages_bring_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint, EntryPoints

    points = [EntryPoint("twice", "json:loads", "g"), EntryPoint("twice", "json:dumps", "g")]
    points.append(EntryPoint("broken", "no_such_module:function", "g"))
    monkeypatch.setattr("hqm.extensions.points_in", lambda group: EntryPoints(points))
    with pytest.raises(CardError, match=pattern_of("extension.twice", number=2)):
        load_extension("g", "twice", "a command")
    with pytest.raises(CardError, match="no_such_module"):
        load_extension("g", "broken", "a command")
