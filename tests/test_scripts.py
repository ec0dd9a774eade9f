"""Scripts that back a claim run: each of tests/perf is started in its smallest size, the cheap ones
in every run, and in every script each option and each imported name exists.
"""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser import CHROMIUM
from tests.conftest import ROOT, nightly

PERF = ROOT / "tests" / "perf"
SCRIPTS = sorted(path for path in PERF.glob("*.py") if "__main__" in path.read_text("utf-8"))
ALL_SCRIPTS = sorted(
    path
    for folder in ("tests/perf", "docs", "docs/make", "docs/audits", "docs/tutorial", "training")
    for path in (ROOT / folder).glob("*.py")
)

CHEAP = {
    "load_million": "--respondents 2 --items 50",
    "model_of_study": "--replicates 2",
    "planted_faults": "1 8 judges",
    "reading": "--words 1000",
    "recorded_audit": "--respondents 2 --items 60 --runs 1 --texts unique --before PYTHON",
    "retest_coverage": "--replicates 2",
    "servers": "--questions 40 --rounds 1 --in-flight 4 --kilobytes 1 --manners steady",
    "start": "--only help --rounds 1",
    "structure": "--replicates 1",
}
"""Script -> the arguments of its smallest size, for those that take seconds."""
DEAR = {
    "audit_statistics": "60 90",
    "bootstrap": "--respondents 3 --items 400 --replicates 2000",
    "compare_errors": "2 pairs",
    "components": "",
    "coverage_left_out": "2",
    "coverage_table": "--replicates 2 --jobs 1 --only normal --respondents 5",
    "decisions": "--quick",
    "decisions_design": "--quick --part refusals",
    "decisions_shorten": "1",
    "decisions_until": "--quick --pairs",
    "drawn": "1",
    "graded_items": "2 8",
    "kills": "--kills 1 --limit 20",
    "labels": "--seeds 1",
    "passes": "--images 2 --administrations 3 --memories 4",
    "planted_audits": "longest --replicates 1",
    "ray_overhead": "--rounds 1 --runs 1 --items 32",
    "respondents": (
        "--matrix --once --models llava --work yesno1 --tokens 10 --images 2 --batches 2"
    ),
    "sound_audits": "normal --replicates 1",
    "sound_benchmark": "--replicates 1",
    "whole_process": "--items 4 --batches 2 --rounds 1",
    "wordings": "--replicates 1",
}
"""The others that need nothing but HQM and its tests' libraries."""
ON_DATA = {
    "budgets": "",
    "builders": "DATA 20 pope",
    "negations_sample": "--ids",
    "other_benchmarks": "mm_vet",
    "rounding": "2",
    "score_amber_g": "--words 20",
}
"""Those that read released data."""
IN_BROWSER = {"axe_report": "PAGE", "label_page": "4"}
OPTIONAL = ("cosmic_ray", "coverage", "inspect_ai", "ray", "vllm")
ABSENT = {name for name in OPTIONAL if not find_spec(name)}
"""Libraries that some scripts need and that need not be there."""
NOT_STARTED = {
    "large_vllm": "it needs a GPU and vLLM",
    "mutants": "it needs cosmic-ray and mutates the product",
    "report": "it reads an earlier revision of the repository",
    "vllm_cpu": "it needs an environment with vLLM; tests/test_first_token.py reads its record",
}
"""Script -> why no test starts it; its options and names are checked as everybody's."""


def started(name: str, arguments: str) -> str:
    """What a script prints in its smallest size."""
    words = arguments.replace("PYTHON", sys.executable).split()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.run(
        [sys.executable, "-m", f"tests.perf.{name}", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, f"{name} {arguments}\n{process.stdout}\n{process.stderr}"
    return process.stdout


@pytest.mark.parametrize("name", [*CHEAP, *(pytest.param(name, marks=nightly) for name in DEAR)])
def test_a_script_runs_in_its_smallest_size(name: str) -> None:
    assert started(name, (CHEAP | DEAR)[name]).strip()


@nightly
@pytest.mark.data
@pytest.mark.parametrize("name", ON_DATA)
def test_a_script_on_released_data_runs_in_its_smallest_size(name: str, data: Path) -> None:
    assert started(name, ON_DATA[name].replace("DATA", str(data))).strip()


@nightly
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is on the path")
@pytest.mark.parametrize("name", IN_BROWSER)
def test_a_script_in_a_browser_runs_in_its_smallest_size(name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<!doctype html><html lang="en"><title>Page</title><main>Text</main></html>')
    assert started(name, IN_BROWSER[name].replace("PAGE", str(page))).strip()


@nightly
@pytest.mark.skipif(
    not os.environ.get("HQM_LMMS_EVAL"), reason="HQM_LMMS_EVAL names a Python with lmms-eval"
)
def test_the_rival_of_a_whole_process_runs_too() -> None:
    arguments = f"--environment {os.environ['HQM_LMMS_EVAL']} --items 4 --batches 1 --rounds 1"
    assert "| lmms-eval, batch 1 |" in started("whole_process", arguments)


def test_every_script_is_started_or_says_why_not() -> None:
    rows = [*CHEAP, *DEAR, *ON_DATA, *IN_BROWSER, *NOT_STARTED]
    assert sorted(rows) == [path.stem for path in SCRIPTS]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_command_that_a_script_names_finds_what_it_imports(path: Path) -> None:
    """`python tests/perf/NAME.py` looks beside the script, `python -m tests.perf.NAME` in the root."""
    text = path.read_text("utf-8")
    if "from tests" in text and "sys.path.insert" not in text:
        assert f"python tests/perf/{path.name}" not in text


def test_no_script_has_the_name_of_a_library() -> None:
    """Its folder comes first where a script looks for modules: it would be loaded in their place."""
    packages = {path.parent for path in ALL_SCRIPTS if path.stem == "__init__"}
    stems = {path.stem for path in ALL_SCRIPTS if path.parent not in packages}
    assert not stems & {*sys.stdlib_module_names, *OPTIONAL}
    # other tests may have loaded scripts: a library is looked for where libraries are installed
    folders = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    assert not [stem for stem in stems if PathFinder.find_spec(stem, folders)]


def options_defined(tree: ast.AST) -> Iterator[str]:
    """The options that a script defines, as attributes of what it parses."""
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr == "add_argument":
            names = [a.value for a in call.args if isinstance(a, ast.Constant)]
            yield max(names, key=len).lstrip("-").replace("-", "_")


def options_used(tree: ast.AST) -> Iterator[str]:
    """The attributes of what a script parses."""
    parsed = {
        ast.unparse(assignment.targets[0])
        for assignment in ast.walk(tree)
        if isinstance(assignment, ast.Assign)
        and ast.unparse(assignment.value).endswith(("parse_args()", "parse_args(arguments)"))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in parsed:
            yield node.attr


def names_of_modules(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(module, name) of what a script imports from a module or reads of an imported one."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {a.asname or a.name: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, a.name) for a in node.names)
    assigned = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assigned |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        module = ast.unparse(node.value)
        if module in modules and module not in assigned:
            yield modules[module], node.attr


def is_there(module: str, name: str) -> bool:
    """Whether a module has a name, or a module of that name below it."""
    try:
        imported = importlib.import_module(module)
    except KeyError:  # it reads HQM_DATA from the environment
        return True
    if hasattr(imported, name):
        return True
    try:
        return find_spec(f"{module}.{name}") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("path", ALL_SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_option_and_name_of_a_script_exists(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renamed option or function is found here even where a script's run is dear."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    monkeypatch.syspath_prepend(str(path.parent))
    tree = ast.parse(path.read_text("utf-8"))
    assert set(options_used(tree)) <= set(options_defined(tree))
    missing = [
        f"{module}.{name}"
        for module, name in sorted(set(names_of_modules(tree)))
        if module.partition(".")[0] not in ABSENT
        and not (module == "hqm_publish.inspect_extension" and "inspect_ai" in ABSENT)
        and not is_there(module, name)
    ]
    assert not missing
