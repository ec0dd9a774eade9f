"""The files beside the code: dependencies and their reasons, make's targets, versions, workflows,
forms, the citation.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import hqm
from hqm.version import REPOSITORY, __version__
from tests.conftest import ROOT
from tests.messages import tells

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
YAML = [
    path
    for pattern in (".github/**/*.yml", ".pre-commit-config.yaml", "CITATION.cff")
    for path in sorted(ROOT.glob(pattern))
]


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement)[0]


# --- dependencies ---


def test_every_dependency_is_explained() -> None:
    section = (
        (ROOT / "ARCHITECTURE.md")
        .read_text()
        .partition("\n## Dependencies\n")[2]
        .partition("\n## ")[0]
    )
    rows = dict(re.findall(r"^\| `([\w-]+)`[^|]*(\|.+\|.+\|)$", section, re.MULTILINE))
    extras = PROJECT["project"]["optional-dependencies"]
    installed = {
        name_of(r)
        for group in (
            PROJECT["project"]["dependencies"],
            *(
                extras[e]
                for e in (
                    "figures",
                    "hub",
                    "local",
                    "logs",
                    "parquet",
                    "ray",
                    "stats",
                    "vision",
                )
            ),
        )
        for r in group
    }
    assert installed == set(rows)
    for name, (_, purpose, cost, _) in ((name, row.split("|")) for name, row in rows.items()):
        assert len(purpose.strip()) > 10, name
        assert len(cost.strip()) > 5, name
    helpers = {name_of(r) for extra in ("docs", "test") for r in extras[extra]} - {"hqm-audit"}
    assert not {name for name in helpers if f"`{name}`" not in section}


def test_every_module_that_a_page_names_exists() -> None:
    modules = [
        path.relative_to(ROOT).as_posix()
        for folder in ("hqm", "adapters", "benchmarks", "reports", "extensions", "tests", "docs")
        for path in (ROOT / folder).rglob("*.py")
    ]
    pages = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")]
    mentioned_files = [
        (page.relative_to(ROOT).as_posix(), name)
        for page in [*pages, *(ROOT / "docs").rglob("*.md")]
        for name in re.findall(r"`((?:[a-z_]\w*/)+\w+\.py)`", page.read_text("utf-8"))
    ]
    assert len(mentioned_files) > 40
    assert [
        mention
        for mention in mentioned_files
        if not any(f"/{module}".endswith(f"/{mention[1]}") for module in modules)
    ] == []


def test_the_readme_says_what_gpl_means() -> None:
    section = (ROOT / "README.md").read_text().partition("## Dependencies and licences")[2]
    assert all(word in section for word in ("pingouin", "GPL-3", "Apache-2.0"))


def test_every_dependency_is_pinned_for_the_tests() -> None:
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and line[0] != "#"
    ]
    pinned = {re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines}
    extras = PROJECT["project"]["optional-dependencies"]
    required = {
        name_of(r)
        for group in (PROJECT["project"]["dependencies"], *extras.values())
        for r in group
    }
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in required - {"hqm-audit"}} <= pinned


def test_every_package_is_in_the_wheel() -> None:
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "hqm").rglob("__init__.py")
    }
    for folder in ("adapters", "benchmarks", "reports"):
        paths = (path for path in (ROOT / folder).rglob("*.py"))
        packages |= {".".join(("hqm", *path.parent.relative_to(ROOT).parts)) for path in paths}
    assert packages == listed
    mounted = ("hqm.adapters", "hqm.benchmarks", "hqm.reports")
    folders = [
        name.removeprefix("hqm.") if name.startswith(mounted) else name for name in sorted(listed)
    ]
    assert [name for name in folders if not (ROOT / name.replace(".", "/")).is_dir()] == []


# --- two checkouts ---


@pytest.fixture
def second_checkout(tmp_path: Path) -> Path:
    """A copy of the package and of the tests' own files, as a second checkout has them."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "hqm", tmp_path / "hqm", ignore=ignored)
    (tmp_path / "tests").mkdir()
    for name in ("__init__.py", "conftest.py", "forked_program.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    (tmp_path / "tests" / "test_any.py").write_text("def test_any() -> None:\n    pass\n")
    return tmp_path


def run_module(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )


@pytest.mark.parametrize(
    "command", [("hqm.cli", "list"), ("pytest", "-q", "-p", "no:cacheprovider", "tests")]
)
def test_packages_of_two_checkouts_are_not_mixed(
    second_checkout: Path, command: tuple[str, ...]
) -> None:
    """A checkout without the folders beside `hqm` would take those of the first."""
    process = run_module(second_checkout, *command)
    assert process.returncode != 0
    text = process.stdout + process.stderr
    assert tells(text, "origin.mixed")
    assert str(second_checkout) in text
    assert str(ROOT) in text


def test_a_second_checkout_works_with_the_environment_of_the_first(second_checkout: Path) -> None:
    for folder in ("adapters", "benchmarks", "reports"):
        shutil.copytree(
            ROOT / folder, second_checkout / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    process = run_module(second_checkout, "hqm.cli", "list")
    assert process.returncode == 0, process.stdout + process.stderr
    code = "import hqm.adapters; print(*hqm.adapters.__path__)"
    origin = subprocess.run(
        [sys.executable, "-c", code],
        cwd=second_checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    assert origin.stdout.split() == [str(second_checkout / "adapters")]


# --- make ---


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    phony = set(re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split())  # type: ignore[index]
    assert targets == phony
    process = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {
        line.split()[1]: line.split(maxsplit=2)[2]
        for line in process.stdout.splitlines()
        if line.startswith("make ")
    }
    assert set(listed) == targets
    assert all(len(line) <= 100 for line in process.stdout.splitlines())


def test_ci_runs_in_a_folder_of_the_name_that_git_clone_gives(tmp_path: Path) -> None:
    """With a Makefile whose tests print where they are, and fail."""
    clone = tmp_path / "submission"
    (clone / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", clone / ".ci" / "run")
    (clone / "Makefile").write_text("test:\n\t@pwd && exit 1\n")
    (tmp_path / "shared" / "data").mkdir(parents=True)
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "all")):
        identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
        subprocess.run(["git", *identity, *words], cwd=clone, check=True)
    (clone / "Makefile").write_text("")
    # a make within `make unit` would name its folders
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    process = subprocess.run(
        [".ci/run"], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 2, "the status of make"
    folder = Path(process.stdout.splitlines()[0])
    assert folder.name == "hqm"
    assert not folder.exists(), "it is taken away"
    (clone / ".venv").mkdir()
    (clone / "Makefile").write_text("test:\n\t@echo $$HQM_DATA in `pwd`\n")
    command = ["env", "--unset=HQM_DATA", ".ci/run"]
    process = subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True, check=True
    )
    assert process.stdout == f"{clone}/../shared/data in {clone}\n", "with a .venv, where it is"


def test_the_order_and_the_examples_are_the_same_but_at_night() -> None:
    """In a process of its own, with CI set, where Hypothesis has other defaults."""
    code = (
        "import tests.conftest as shared; from hypothesis import settings;"
        "print(settings.default.derandomize, settings.default.print_blob,"
        " settings.default.database is not None, settings.default.deadline)"
    )
    expected = {"0": "True True False None", "1": "False True True None"}
    for nightly, says in expected.items():
        process = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "CI": "true", "HQM_NIGHTLY": nightly},
            capture_output=True,
            text=True,
            check=True,
        )
        assert process.stdout.strip() == says, nightly
    planned = subprocess.run(
        ["make", "--dry-run", "--old-file=.venv/.tests", "unit", "nightly"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    runs = [line for line in planned if "-m pytest" in line]
    assert [("HQM_NIGHTLY=1" in line, "-p no:randomly" in line) for line in runs] == [
        (False, True),
        (True, False),
    ]


def test_what_is_skipped_without_released_data_is_counted_with_the_command_that_gets_it() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "pope"]
    process = subprocess.run(
        [*command, "tests/test_contract.py"],
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if key != "HQM_DATA"},
        capture_output=True,
        text=True,
        check=True,
    )
    count = int(re.search(r"^(\d+) skipped", process.stdout, re.MULTILINE)[1])  # type: ignore[index]
    assert count > 1
    assert f"\n{count} tests read released data and were skipped" in process.stdout
    assert "`hqm fetch all --data data`" in process.stdout


def test_ci_runs_the_command_of_the_readme() -> None:
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == "exec make test"
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


# --- versions, citation, workflows ---


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (
        PROJECT["project"]["version"] == str(citation["version"]) == __version__ == hqm.__version__
    )
    heads = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert __version__ in heads
    assert heads[0] in ("Unreleased", __version__)
    assert PROJECT["project"]["urls"]["Repository"] == REPOSITORY
    page = (ROOT / "docs" / "workflows.md").read_text()
    owner = REPOSITORY.removeprefix("https://github.com/")
    assert f"uses: {owner}@v{__version__}" in page
    assert re.search(rf"repo: {REPOSITORY}\n +rev: v{__version__}\n", page)


def test_a_plain_installation_has_no_licence_that_binds_who_uses_it() -> None:
    program = [sys.executable, ROOT / ".ci" / "licences.py"]
    plain, stats = (
        subprocess.run([*program, *extras], capture_output=True, text=True, check=False)
        for extras in ([], ["stats"])
    )
    assert plain.returncode == 0, plain.stdout
    listed = {line.split()[0] for line in plain.stdout.splitlines()[:-1]}
    required = {
        re.split(r"[\[>=<]", name)[0].lower().replace("_", "-")
        for name in PROJECT["project"]["dependencies"]
    }
    assert listed >= {*required, "hqm-audit"}
    assert (stats.returncode, "GPL or AGPL: pingouin" in stats.stdout) == (1, True)


def test_a_release_is_signed_and_says_what_is_in_it() -> None:
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    used = {
        name: {step.get("uses", "").partition("@")[0] for step in job["steps"]}
        for name, job in flow["jobs"].items()
    }
    assert used["sign"] >= {"actions/attest-build-provenance", "actions/attest-sbom"}
    assert "actions/attest-build-provenance" in used["image"]
    runs = " ".join(step.get("run", "") for job in flow["jobs"].values() for step in job["steps"])
    words = ("cyclonedx-py", ".ci/licences.py", "gh release upload", "extensions/hqm-*")
    assert all(word in runs for word in words)
    assert all(flow["jobs"][name]["needs"] == "build" for name in ("sign", "image", "publish"))


def test_the_citation_is_complete() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    paper = citation["preferred-citation"]
    assert {"type", "title", "authors", "year", "url"} <= set(paper)
    assert "2406.17115" in paper["url"]
    assert paper["title"] in re.sub(r"\s+", " ", (ROOT / "README.md").read_text())
    assert all({"family-names", "given-names"} <= set(author) for author in paper["authors"])


@pytest.mark.parametrize("path", YAML, ids=lambda path: str(path.relative_to(ROOT)))
def test_yaml_reads(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_workflows_test_every_python_and_publish_without_a_password() -> None:
    flows = {
        p.stem: yaml.safe_load(p.read_text())
        for p in (ROOT / ".github" / "workflows").glob("*.yml")
    }
    assert set(flows) == {"tests", "docs", "release", "nightly"}
    for name, flow in flows.items():
        assert flow[True], name  # YAML 1.1 reads the key `on` as true
        assert all("runs-on" in job for job in flow["jobs"].values()), name
    for name in ("tests", "nightly"):
        pythons = flows[name]["jobs"]["test"]["strategy"]["matrix"]["python"]
        assert pythons == ["3.11", "3.12", "3.13"], name
    assert PROJECT["project"]["requires-python"] == ">=3.11,<3.14"
    publish = flows["release"]["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert any(
        step.get("uses", "").startswith("pypa/gh-action-pypi-publish") for step in publish["steps"]
    )
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert "secrets." not in text
    of_the_run = text.replace("no password", "").replace("password: ${{ github.token }}", "")
    assert "password" not in of_the_run, "what signs in is the token of the run"


@pytest.mark.parametrize("name", ["benchmark", "wrong_number"])
def test_an_issue_form_asks_what_is_needed(name: str) -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert {"name", "description", "body"} <= set(form)
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_container_copies_what_the_wheel_is_made_of() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = {word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]}
    assert all((ROOT / name).exists() for name in copied)
    assert {
        "hqm",
        "adapters",
        "benchmarks",
        "reports",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    } <= copied
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert copied == allowed
    assert {
        "ARG BASE=python:3.12-slim",
        "ARG TORCH_INDEX=",
        "FROM ${BASE}",
        'ENTRYPOINT ["hqm"]',
    } <= set(lines)


def test_the_hooks_are_those_of_make() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert {hook["id"] for hook in hooks} == {"ruff", "ruff-format", "mypy"}
    assert next(hook for hook in hooks if hook["id"] == "mypy")["entry"] == "make types"
