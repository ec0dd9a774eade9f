"""The rules of the house: who imports whom, what is exported, how long a module is, what a change may not name."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hqm

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(p for folder in ("hqm", "adapters", "reports", "benchmarks") for p in (ROOT / folder).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The names of modules and members that a file imports, as `module` or `module.member`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def ours(path: Path) -> set[str]:
    return {name for name in imported(path) if name == "hqm" or name.startswith("hqm.")}


@pytest.mark.parametrize("path", sorted((ROOT / "hqm" / "psychometrics").glob("*.py")), ids=lambda p: p.name)
def test_psychometrics_imports_nothing_of_ours(path: Path) -> None:
    assert {name for name in ours(path) if not name.startswith("hqm.psychometrics")} == set()


@pytest.mark.parametrize(
    ("name", "below"), [("errors", set()), ("signature", {"errors"}), ("types", {"errors", "signature"})]
)
def test_the_foundations_import_nothing_above_them(name: str, below: set[str]) -> None:
    assert {found.split(".")[1] for found in ours(ROOT / "hqm" / f"{name}.py")} <= below


@pytest.mark.parametrize("path", sorted((ROOT / "adapters").glob("*.py")), ids=lambda p: p.name)
def test_an_adapter_imports_exported_names_and_its_own_benchmark(path: Path) -> None:
    for name in ours(path):
        member = name.removeprefix("hqm.")
        assert member in hqm.__all__ or name.startswith(f"hqm.benchmarks.{path.stem}"), f"{path.name} imports {name}"
        assert not name.startswith("hqm.adapters")


@pytest.mark.parametrize("path", sorted((ROOT / "reports").glob("*.py")), ids=lambda p: p.name)
def test_reports_import_exported_names(path: Path) -> None:
    for name in ours(path):
        allowed = name.removeprefix("hqm.") in hqm.__all__ or name.startswith(("hqm.reports", "hqm.psychometrics"))
        assert allowed, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", sorted((ROOT / "hqm").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_hqm_reaches_adapters_benchmarks_and_reports_by_name_only(path: Path) -> None:
    assert not {n for n in ours(path) if n.startswith(("hqm.adapters", "hqm.benchmarks", "hqm.reports"))}


def test_what_is_exported_is_sorted_complete_and_there() -> None:
    assert list(hqm.__all__) == sorted(hqm.__all__)
    for name in hqm.__all__:
        assert getattr(hqm, name).__doc__ or not callable(getattr(hqm, name)), f"{name} has no docstring"
    from hqm import errors, psychometrics

    tree = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.HQMError)
    }
    assert tree <= set(hqm.__all__)
    assert all(name in (errors.__doc__ or "") for name in tree), "the tree is drawn in the docstring"
    public = {
        n
        for n, v in vars(psychometrics).items()
        if not n.startswith("_") and getattr(v, "__module__", "").startswith("hqm.")
    }
    assert set(psychometrics.__all__) == public  # ruff keeps it sorted


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_says_what_it_is_and_is_not_too_long(path: Path) -> None:
    text = path.read_text()
    doc = ast.get_docstring(ast.parse(text))
    assert doc, "no docstring"
    assert len(text.splitlines()) <= 400 or "in one module because" in doc, (
        f"{len(text.splitlines())} lines without a reason"
    )


def test_asking_for_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from hqm.cli import app;"
        "result = CliRunner().invoke(app, ['--help']); assert result.exit_code == 0, result.output;"
        "print([m for m in ('torch', 'transformers', 'matplotlib', 'scipy', 'pandas', 'openai', 'statsmodels', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_listing_and_planning_load_no_model_library() -> None:
    for arguments in (["list"], ["list", "respondents"], ["forms", "shapes_yesno"]):
        code = f"import sys; sys.argv = ['hqm', *{arguments}]\nfrom hqm.cli import main\nmain_exit = None\ntry:\n    main()\nexcept SystemExit as e:\n    assert not e.code\nprint('torch' in sys.modules or 'transformers' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip().endswith("False"), arguments


def test_random_numbers_come_from_a_generator() -> None:
    """No function draws from a global stream."""
    for path in MODULES:
        text = path.read_text()
        assert not re.search(r"np\.random\.(?!default_rng|Generator|Philox|SeedSequence)\w+", text), path
        assert "import random" not in text, path


def test_no_module_is_called_utils() -> None:
    assert not [p for p in MODULES if p.stem in ("utils", "helpers", "common", "misc")]


def test_every_public_function_has_types_and_a_docstring() -> None:
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"
            if isinstance(node, ast.FunctionDef):
                assert node.returns is not None, f"{path.name}: {node.name}"


def test_docstring_examples_run() -> None:
    import doctest

    tried = 0
    for path in MODULES:
        relative = path.relative_to(ROOT).with_suffix("")
        parts = relative.parts if relative.parts[0] == "hqm" else ("hqm", *relative.parts)
        name = ".".join(parts).removesuffix(".__init__")
        module = importlib.import_module(name)
        result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, name
        tried += result.attempted
    assert tried > 50
