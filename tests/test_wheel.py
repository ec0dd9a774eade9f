"""The wheel, installed where nothing else of ours is: it has everything, and runs from another
folder.

Two environments. The first borrows the libraries of this one, so that an embedded model answers.
The second is as `pip install hqm-audit` makes it, without extras: no torch, and audits all the same.
Nightly it is installed from the package index; in every other run it borrows from this one what the
wheel requires, and what that requires.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    PathDistribution,
    distribution,
    version,
)
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hqm.version import __version__
from tests.conftest import NIGHTLY, ROOT, counts, forking, needs_torch, write_benchmark
from tests.messages import tells, text_of
from tests.servers import PlannedServer, completion, question

TABLE5 = ROOT / "tests" / "tables" / "hqm_table5.csv"
LARGEST = 330
"""MiB that an installation without extras may take, compiled bytecode aside."""
MOST = 10_200_000
"""Bytes that the wheel, and the source archive, may take: 8.2 million of them are the ten embedded
models.
"""
Run = Callable[..., tuple[int, str]]
WORDS = ("dog", "cat", "car", "bus", "hat", "cup", "tree", "boat")


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables with which Python finds what builds; it is installed where it is not here."""
    requirement = Requirement("setuptools>=77")
    with contextlib.suppress(PackageNotFoundError):
        if version(requirement.name) in requirement.specifier:
            return dict(os.environ)
    folder = tmp_path_factory.mktemp("backend")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
    got = subprocess.run([*command, "setuptools>=77"], capture_output=True, text=True, check=False)
    if got.returncode and "connection broken by" in got.stdout + got.stderr:
        pytest.skip("the package index cannot be reached, so there is nothing to build with")
    assert got.returncode == 0, got.stderr
    return {**os.environ, "PYTHONPATH": str(folder)}


def built(kind: str, tree: Path, out_dir: Path, backend: dict[str, str]) -> Path:
    """Build a `wheel` or an `sdist` of a tree as a front end does: by the backend that its
    pyproject.toml names.
    """
    code = f"from setuptools.build_meta import build_{kind}; build_{kind}({str(out_dir)!r})"
    subprocess.run(
        [sys.executable, "-c", code], cwd=tree, env=backend, check=True, capture_output=True
    )
    return next(out_dir.glob("hqm_*"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree without what is made in it: an older build would get into the wheel."""
    copy = tmp_path_factory.mktemp("tree") / "hqm"
    ignored = ".git .venv shared mount out build dist *.egg-info __pycache__ .*_cache .hypothesis"
    return Path(shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*ignored.split())))


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory, backend: dict[str, str]) -> Path:
    return built("wheel", tree, tmp_path_factory.mktemp("wheel"), backend)


@pytest.fixture(scope="module")
def sdist(
    wheel: Path, tree: Path, tmp_path_factory: pytest.TempPathFactory, backend: dict[str, str]
) -> Path:
    """The source archive, made where the wheel was built."""
    return built("sdist", tree, tmp_path_factory.mktemp("sdist"), backend)


def environment() -> dict[str, str]:
    """Return what a new user has: bytecode is kept, and nothing says where data or code lie."""
    ours = ("PYTHONPATH", "HQM_DATA", "PYTHONDONTWRITEBYTECODE")
    return {key: value for key, value in os.environ.items() if key not in ours}


@pytest.mark.slow
def test_wheel_and_source_archive_are_small_and_hold_the_same(
    wheel: Path, sdist: Path, backend: dict[str, str], tmp_path: Path
) -> None:
    for path in (wheel, sdist):
        size = path.stat().st_size
        assert size < MOST, f"{path.name} takes {size:,} bytes"
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    (tmp_path / "out").mkdir()
    contents = [
        {
            entry.filename: entry.CRC
            for entry in zipfile.ZipFile(path).infolist()
            if ".dist-info/" not in entry.filename
        }
        for path in (wheel, built("wheel", unpacked, tmp_path / "out", backend))
    ]
    assert len(contents[0]) > 200
    assert contents[0] == contents[1], (
        "a wheel built from the source archive is the wheel built from the tree"
    )


@needs_torch
@pytest.mark.slow
def test_the_wheel_runs_by_itself(wheel: Path, tmp_path: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for path in (
        "hqm/py.typed",
        "hqm/__init__.pyi",
        "hqm/adapters/pope.py",
        "hqm/benchmarks/pope/card.toml",
        "hqm/benchmarks/shapes/scenes.jsonl",
        "hqm/benchmarks/shapes/respondents/steady/model.safetensors.xz",
        "hqm/reports/templates/report.html",
    ):
        assert path in names, path
    unwanted = ("tests", "docs", "training", "adapters", "reports")
    assert not [name for name in names if name.startswith(unwanted)]
    home = tmp_path / "empty"
    venv.create(home, with_pip=False)
    site = next((home / "lib").glob("python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    # the libraries it needs, but not the project: a path file adds a folder without that folder's
    # own path files
    (site / "libraries.pth").write_text(
        "\n".join(entry for entry in sys.path if entry.endswith("site-packages"))
    )
    code = "import hqm, hqm.adapters.pope; print(hqm.__file__); from hqm.cli import main; main()"
    (tmp_path / "elsewhere").mkdir()
    command = [
        str(home / "bin" / "python"),
        "-c",
        code,
        "audit",
        "shapes_yesno",
        "-r",
        "hf/shapes:steady",
        "--limit",
        "12",
        "--out",
        "out",
        "--quiet",
    ]
    process = subprocess.run(
        command,
        cwd=tmp_path / "elsewhere",
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert str(site) in process.stdout.splitlines()[0]
    assert "asked 36, stored before 0, errors 0" in process.stdout
    assert (tmp_path / "elsewhere" / "out" / "report.html").exists()


# --- as `pip install hqm-audit` makes it ---


def pip(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def required(
    root: Distribution, requirements: dict[str, Distribution], extras: Iterable[str] = ()
) -> None:
    """Find what a distribution requires here with these extras, and what that requires."""
    for line in root.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        is_required = marker is None or any(marker.evaluate({"extra": e}) for e in ("", *extras))
        if is_required and (requirement.name not in requirements or requirement.extras):
            requirements[requirement.name] = distribution(requirement.name)
            required(requirements[requirement.name], requirements, requirement.extras)


def borrow(site: Path, distributions: Iterable[Distribution]) -> None:
    """Link distributions of this environment into another one."""
    for package in distributions:
        for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(str(package.locate_file(name)))


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment with the wheel and what it requires, without extras."""
    home = tmp_path_factory.mktemp("plain") / "environment"
    venv.create(home, with_pip=False)
    # bytecode is left to the first import: compiling all of SciPy and pandas takes longer than the
    # tests below
    install = ["install", "--no-compile", "--retries", "2"]
    install += ["--constraint", str(ROOT / "constraints.txt")] if NIGHTLY else ["--no-deps"]
    process = pip(home, *install, str(wheel))
    if process.returncode and "connection broken by" in process.stdout + process.stderr:
        pytest.skip("the package index cannot be reached, so nothing was installed from it")
    assert process.returncode == 0, process.stderr
    if not NIGHTLY:
        site = next((home / "lib").glob("python*/site-packages"))
        requirements: dict[str, Distribution] = {}
        required(PathDistribution(next(site.glob("hqm_audit-*.dist-info"))), requirements)
        borrow(site, requirements.values())
    return home


@pytest.fixture(scope="module")
def forked_there(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The program of that environment, whose modules are all imported, without extras, once."""
    folder = tmp_path_factory.mktemp("forked")
    with forking(plain / "bin" / "python", folder, environment()) as program:
        yield program


def answer_of(program: Path, folder: Path, *arguments: object) -> tuple[int, str]:
    """Run a program in a folder: exit status and everything it printed."""
    process = subprocess.run(
        [program, *map(str, arguments)],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return process.returncode, process.stdout


@pytest.fixture
def hqm_there(forked_there: Path, tmp_path: Path) -> Run:
    """Run `hqm` of that environment in an empty folder."""
    return partial(answer_of, forked_there, tmp_path)


@pytest.fixture
def signs(tmp_path: Path) -> Path:
    """A benchmark of 16 questions with a picture for every two."""
    from PIL import Image

    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {WORDS[i // 2]} in the image?",
            "target": "yes" if i % 2 else "no",
            "image": f"{i // 2}.png",
            "type": "existence",
        }
        for i in range(16)
    ]
    folder = write_benchmark(
        tmp_path / "signs", rows, name="signs", types=["existence"], labelled=True
    )
    for i in range(8):
        Image.new("RGB", (16, 16), (i * 30, 90, 120)).save(folder / f"{i}.png")
    return folder


@pytest.mark.slow
def test_without_extras_it_is_small_and_sound(plain: Path) -> None:
    site = next((plain / "lib").glob("python*/site-packages"))
    names = {path.name.split("-")[0].lower() for path in site.glob("*.dist-info")}
    assert {"hqm_audit", "openai"} <= names
    assert not {
        n
        for n in names
        if n in ("torch", "transformers", "pyarrow", "ray", "matplotlib", "pingouin", "statsmodels")
        or n.startswith("nvidia")
    }
    files = [
        Path(folder) / name
        for folder, _, names in os.walk(site, followlinks=True)
        for name in names
        if not name.endswith(".pyc")
    ]
    megabytes = sum(path.stat().st_size for path in files) / 2**20
    assert megabytes < LARGEST, f"an installation without extras takes {megabytes:.0f} MiB"
    checked = pip(plain, "check")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.slow
def test_without_extras_it_helps_and_lists(hqm_there: Run, plain: Path, tmp_path: Path) -> None:
    status, text = hqm_there("--help")
    assert (status, "audit" in text) == (0, True)
    status, text = hqm_there("list")
    assert (status, "shapes_yesno" in text, "pope" in text) == (0, True, True)
    installed = plain / "bin" / "hqm"
    assert answer_of(installed, tmp_path, "--version") == (0, f"hqm {__version__}\n")
    assert hqm_there("--completion", "bash")[0] == 0


@pytest.mark.slow
def test_without_extras_the_module_is_the_program(plain: Path, tmp_path: Path) -> None:
    process = subprocess.run(
        [str(plain / "bin" / "python"), "-m", "hqm", "--version"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode, process.stdout) == (0, f"hqm {__version__}\n")


@pytest.mark.slow
def test_without_extras_the_doctor_says_which_there_are(hqm_there: Run) -> None:
    status, text = hqm_there("doctor", "--json")
    report = json.loads(text)
    assert (status, report["problems"]) == (0, [])
    assert report["torch"]["version"] is None
    assert [extra for extra, row in report["extras"].items() if row["installed"]] == []


@needs_torch
@pytest.mark.slow
def test_answers_of_another_machine_are_audited_without_torch(
    hqm_there: Run, forked_program: Path, tmp_path: Path
) -> None:
    """`hqm audit shapes` of 100 items, nightly, or 10 where the models can run; its answers,
    exported, audited where they cannot.
    """
    # two of the ten models, so that the test ends: the audit of all ten runs in the workflow
    # `package`
    models = ("-r", "hf/shapes:steady", "-r", "hf/shapes:half-trained")
    limit = ("--limit", counts(100))
    audit = ["audit", "shapes", *limit, *models, "--out", "there", "--quiet"]
    export = ["export", "there/store.sqlite", "--to", "answers.jsonl"]
    for command in (audit, export):
        status, text = answer_of(forked_program, tmp_path, *command)
        assert status == 0, text
    assert hqm_there("import", "answers.jsonl", "--store", "here.sqlite")[0] == 0
    status, text = hqm_there(
        "audit", "shapes", *limit, "--offline", "--store", "here.sqlite", "--out", "here"
    )
    assert status == 0, text
    first, second = (
        json.loads((tmp_path / name / "audit.json").read_text()) for name in ("there", "here")
    )
    assert first["hqm_version"] == second["hqm_version"] == __version__
    scores = [
        {
            (audit["benchmark"], row["name"]): row["scores"]
            for audit in saved_audit["audits"]
            for row in audit["respondents"]
        }
        for saved_audit in (first, second)
    ]
    assert len(scores[0]) == 8
    assert scores[0] == scores[1]


@pytest.mark.slow
def test_without_extras_it_audits_recorded_answers(
    hqm_there: Run, signs: Path, tmp_path: Path
) -> None:
    rows = [
        {
            "respondent": name,
            "form": "original",
            "run": run,
            "item": f"q{i}",
            "answer": "Yes." if (i * k + run) % 3 else "No.",
        }
        for k, name in enumerate(("a", "b", "c", "d"), 1)
        for run in (0, 1)
        for i in range(16)
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, text = hqm_there(
        "audit", signs, "--recorded", answers, "--out", "out", "--all", "--quiet"
    )
    assert status == 0, text
    assert "read 128, stored before 0, errors 0" in text
    assert "Test-retest, Pearson r" in text
    assert (tmp_path / "out" / "report.html").exists()
    record = json.loads((tmp_path / "out" / "audit.json").read_text())["record"]
    assert record["packages"]["numpy"]


@pytest.mark.slow
def test_without_extras_it_audits_a_server(hqm_there: Run, signs: Path, tmp_path: Path) -> None:
    with PlannedServer(
        lambda _, body, __: completion("Yes." if "dog" in question(body) else "No.")
    ) as server:
        name = f"openai/tiny@{server.url}"
        options = ("-r", name, "--runs", 1, "--set", "workers=2", "--out", "out", "--quiet")
        status, text = hqm_there("audit", signs, *options)
    assert status == 0, text
    assert "errors 0" in text
    assert server.answered >= 16
    assert json.loads((tmp_path / "out" / "audit.json").read_text())["audits"][0]["items"] == 16


@pytest.mark.slow
def test_without_an_extension_it_says_which_brings_a_command(hqm_there: Run) -> None:
    status, text = hqm_there("table", TABLE5, "--items", 500)
    assert status == 2
    assert tells(text, "extension.missing", feature="table", package="hqm-tables")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "extensions").glob("hqm-*")))
def test_the_wheel_of_an_extension_holds_its_files(
    tree: Path, name: str, tmp_path: Path, backend: dict[str, str]
) -> None:
    folder = tree / "extensions" / name
    path = built("wheel", folder, tmp_path, backend)
    held = {entry for entry in zipfile.ZipFile(path).namelist() if ".dist-info/" not in entry}
    package = folder / name.replace("-", "_")
    files = (
        file for file in package.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    )
    assert held == {file.relative_to(folder).as_posix() for file in files}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        pytest.param(
            ("audit", "shapes_yesno", "-r", "hf/shapes:steady", "--limit", 4),
            "local",
            id="a local model",
        ),
        pytest.param(
            ("audit", "--dry-run", "shapes_yesno", "-r", "hf/some/model"),
            "local",
            id="a local model that is planned",
        ),
        pytest.param(
            ("export", "STORE", "--to", "answers.parquet"), "parquet", id="a Parquet file"
        ),
        pytest.param(("check", "HUB"), "hub", id="a dataset of the hub"),
    ],
)
def test_what_needs_an_extra_says_which(
    hqm_there: Run, signs: Path, tmp_path: Path, arguments: tuple[object, ...], extra: str
) -> None:
    import hqm

    with hqm.Store(tmp_path / "store.sqlite"):
        pass
    hub = write_benchmark(
        tmp_path / "hub", [], name="hub", data={"items": "x.parquet", "folder": "hf://datasets/a/b"}
    )
    paths = {"STORE": tmp_path / "store.sqlite", "HUB": hub}
    status, text = hqm_there(*(paths.get(str(argument), argument) for argument in arguments))
    assert status == 1
    assert f"hqm-audit[{extra}]" in text
    assert extra != "local" or text_of("respondent.extra-missing") in text
    assert "Traceback" not in text
