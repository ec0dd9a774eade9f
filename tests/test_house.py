"""The rules of the house: who imports whom, how things are named, what is exported, how long a
module is.
"""

import ast
import functools
import graphlib
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import hqm
from hqm.respondents.kinds import LOCAL
from tests.asserted import (
    built_alike,
    descendants,
    files_of_tests,
    nodes_of,
    own_texts,
    parsed,
    walked,
    walked_by_type,
)

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("hqm", "adapters", "reports", "benchmarks")
EXTENSIONS = sorted((ROOT / "extensions").glob("*/hqm_*"))
"""The packages of the extensions, each in a folder with its own pyproject and tests."""
MODULES = sorted(
    p for folder in (*(ROOT / name for name in PRODUCT), *EXTENSIONS) for p in folder.rglob("*.py")
)

LAYERS = (
    "__init__",  # the public names: for users, never for a module of hqm
    "__main__",  # the program: Ctrl-C is heard before the command line is loaded
    "cli",
    "commands",
    "comparison",
    "auditing",
    "indicators",
    "labels",
    "judges",
    "administration",
    "lint",
    "respondents",
    "benchmark",
    "forms",
    "store",
    "scoring",
    "imports",
    "files",
    "psychometrics",
    "types",
    "text",
    "signature",
    "moved_names",
    "extensions",
    "errors",
    "version",
)
"""The packages and modules directly in hqm/, top to bottom: each imports only what stands below
it.
"""

NAME_CHECKED_FILES = sorted(
    p
    for folder in (*PRODUCT, "extensions", "training", "tests", "docs")
    for p in (ROOT / folder).rglob("*.py")
)
"""The files in which every name says what the thing is: the tests too."""

EXTENSION_MODULES = (
    "hqm.benchmark.",
    "hqm.files.",
    "hqm.forms.",
    "hqm.imports.",
    "hqm.judges.procedure.",
    "hqm.scoring.",
    "hqm.signature.",
    "hqm.types.",
)
"""The modules whose public names an adapter may import beside what `hqm` exports."""
MAX_EXPORTED = {"hqm": 80, "hqm.psychometrics": 150}

SHORT_DOCSTRINGS = frozenset({"hqm/psychometrics"})
"""The folders in which no public function has a docstring longer than its code."""
MAX_MODULE_LINES = 800
"""Comment lines are not counted."""
LONG_MODULES = {
    "adapters/faithscore.py": 840,  # an adapter is one file: three procedures and four analyses
    "hqm/forms/negate.py": 880,
    "hqm/forms/rephrase.py": 870,
    "hqm/psychometrics/validity/correlation.py": 830,  # numpydoc of what is exported
    "hqm/psychometrics/reliability/form_effect.py": 860,
    "reports/pages/sentences.py": 880,
}
"""Modules that grew when their functions were split; no other may be longer than the limit."""
FEW_LINES = 8
"""A docstring may have so many lines however short the function is: a formula, what goes in, and an
example. Blank lines and the rules under headings are layout, and are not counted.
"""

INSIDE_INSPECT = "hqm_publish.inspect_extension"
"""The module that inspect imports, and nobody else: it begins with inspect's own names."""
NOT_A_NAME = frozenset("found one told people person kin mine Desk Sitting Wishes _Paper".split())
"""Words that do not say what a thing is."""


@pytest.fixture(scope="module", autouse=True)
def trees() -> Iterator[None]:
    """The trees of all files go with the last rule: they are a million objects, among which every
    later search for garbage in this process would look.
    """
    yield
    for cached in (parsed, walked, walked_by_type, imports_in):
        cached.cache_clear()


# --- who imports whom ---


class Arrow(NamedTuple):
    """An import of one module of hqm by another."""

    file: str
    line: int
    source: str
    target: str
    target_file: str


def modules_in(root: Path) -> dict[str, Path]:
    """The modules of the package hqm in the folder `root`, by their full names."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((root / "hqm").rglob("*.py"))
    }


def modules_named(node: ast.AST, package: str) -> Iterator[str]:
    """What an import statement, or `import_module` with a literal, names, in full; in `from m
    import n` also `m.n`.
    """
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        yield from (f"{module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and (
        getattr(node.func, "attr", "") or getattr(node.func, "id", "")
    ) in ("import_module", "__import__"):
        yield from (
            a.value
            for a in node.args[:1]
            if isinstance(a, ast.Constant) and isinstance(a.value, str)
        )


@functools.cache
def imports_in(text: str, package: str) -> list[tuple[int, str]]:
    """Line and name of every import in a module: at its top, inside a function, under
    TYPE_CHECKING.
    """
    return [
        (getattr(node, "lineno", 0), name)
        for node in nodes_of(text, ast.Import, ast.ImportFrom, ast.Call)
        for name in modules_named(node, package)
    ]


def arrows(root: Path) -> list[Arrow]:
    """Every import within hqm, once a line."""
    modules = modules_in(root)
    files = {name: str(path.relative_to(root)) for name, path in modules.items()}
    found_arrows = {}
    for source, path in modules.items():
        package = source if path.name == "__init__.py" else source.rpartition(".")[0]
        for line, name in imports_in(path.read_text(encoding="utf-8"), package):
            target = name if name in modules else name.rpartition(".")[0]
            if target in modules and target != source:
                found_arrows[Arrow(files[source], line, source, target, files[target])] = None
    return list(found_arrows)


def layer(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def upward_imports(root: Path) -> list[str]:
    """A sentence for every import of something that does not stand below in LAYERS."""
    return [
        f"{a.file}:{a.line} imports {a.target_file}, but {layer(a.target)} does not stand below"
        f" {layer(a.source)} in LAYERS"
        for a in arrows(root)
        if layer(a.source) != layer(a.target)
        and LAYERS.index(layer(a.target)) < LAYERS.index(layer(a.source))
    ]


def circle(edges: list[tuple[str, str]]) -> str:
    """A circle among these edges, as `a -> b -> a`, or an empty string."""
    graph: dict[str, set[str]] = {}
    for source, target in edges:
        graph.setdefault(source, set()).add(target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return " -> ".join(reversed(error.args[1]))  # graphlib walks against the imports
    return ""


def circle_of_modules(root: Path) -> str:
    return circle([(a.file, a.target_file) for a in arrows(root)])


def circle_of_packages(root: Path) -> str:
    return circle(
        [(x, y) for a in arrows(root) if (x := layer(a.source)) != (y := layer(a.target))]
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of hqm/, of links, to plant imports in."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "hqm", tmp_path / "hqm", ignore=ignored, copy_function=os.symlink)
    return tmp_path


def plant(tree: Path, file: str, statement: str) -> None:
    path = tree / file
    text = path.read_text(encoding="utf-8")
    path.unlink()
    path.write_text(f"{text}\n\n{statement}\n", encoding="utf-8")


def test_every_package_has_its_layer() -> None:
    packages = {
        p.stem
        for p in (ROOT / "hqm").iterdir()
        if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert packages == set(LAYERS)
    assert len(LAYERS) == len(set(LAYERS))


def test_at_most_twelve_modules_lie_directly_in_hqm() -> None:
    assert len(list((ROOT / "hqm").glob("*.py"))) <= 12


def test_no_import_runs_upwards() -> None:
    assert len(arrows(ROOT)) > 300, "the imports are read"
    assert upward_imports(ROOT) == []


def test_no_imports_form_a_circle() -> None:
    assert circle_of_modules(ROOT) == ""
    assert circle_of_packages(ROOT) == ""


@pytest.mark.parametrize(
    "statement",
    [
        "from hqm.auditing.gate import Gate",
        "import hqm.auditing.gate",
        "from hqm.auditing import gate",
        "from ..auditing.gate import Gate",
        "from ..auditing import gate",
        "def late() -> None:\n    from hqm.auditing.gate import Gate",
        "if TYPE_CHECKING:\n    from hqm.auditing.gate import Gate",
        "gate = importlib.import_module('hqm.auditing.gate')",
    ],
)
def test_an_import_planted_upwards_is_seen(tree: Path, statement: str) -> None:
    plant(tree, "hqm/scoring/matrix.py", statement)
    (finding,) = upward_imports(tree)
    assert re.fullmatch(
        r"hqm/scoring/matrix\.py:\d+ imports hqm/auditing/gate\.py, but auditing .* scoring in"
        r" LAYERS",
        finding,
    )


@pytest.mark.parametrize(
    "statement", ["import hqm", "from hqm import Store", "from .. import Store"]
)
def test_a_module_that_imports_the_public_names_is_seen(tree: Path, statement: str) -> None:
    plant(tree, "hqm/scoring/matrix.py", statement)
    (finding,) = upward_imports(tree)
    assert "hqm/scoring/matrix.py:" in finding
    assert "imports hqm/__init__.py" in finding


def test_a_planted_circle_of_modules_is_seen(tree: Path) -> None:
    """Within a package no layer forbids it."""
    down = next(
        a
        for a in arrows(tree)
        if layer(a.source) == layer(a.target) and not a.file.endswith("__init__.py")
    )
    plant(tree, down.target_file, f"def late() -> None:\n    import {down.source}")
    assert circle_of_modules(tree) in (
        f"{down.file} -> {down.target_file} -> {down.file}",
        f"{down.target_file} -> {down.file} -> {down.target_file}",
    )
    assert upward_imports(tree) == []


def test_a_planted_circle_of_packages_is_seen(tree: Path) -> None:
    down = next(a for a in arrows(tree) if layer(a.source) != layer(a.target))
    plant(tree, down.target_file, f"import {down.source}")
    steps = circle_of_packages(tree).split(" -> ")
    assert {layer(down.source), layer(down.target)} <= set(steps)
    assert steps[0] == steps[-1]
    (sentence,) = upward_imports(tree)
    assert down.file in sentence
    assert down.target_file in sentence


def imported(path: Path) -> set[str]:
    """The names of modules and members that a file imports, as `module` or `module.member`."""
    names = set()
    for node in nodes_of(path.read_text(encoding="utf-8"), ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def ours(path: Path) -> set[str]:
    return {name for name in imported(path) if name == "hqm" or name.startswith("hqm.")}


def test_psychometrics_imports_nothing_of_ours() -> None:
    assert [a for a in arrows(ROOT) if layer(a.source) == "psychometrics" != layer(a.target)] == []


def is_public(name: str) -> bool:
    return all(not part.startswith("_") or part.endswith("__") for part in name.split("."))


@pytest.mark.parametrize("path", sorted((ROOT / "adapters").glob("*.py")), ids=lambda p: p.name)
def test_an_adapter_imports_what_extensions_may_and_its_own_benchmark(path: Path) -> None:
    for name in ours(path):
        allowed = (
            name.removeprefix("hqm.") in hqm.EXPORTED
            or (name.startswith(EXTENSION_MODULES) and is_public(name))
            or name.startswith(f"hqm.benchmarks.{path.stem}")
        )
        assert allowed, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", sorted((ROOT / "reports").rglob("*.py")), ids=lambda p: p.name)
def test_reports_import_public_names_of_what_stands_below(path: Path) -> None:
    for name in ours(path):
        allowed = is_public(name) and not name.startswith(
            ("hqm.adapters", "hqm.benchmarks", "hqm.commands", "hqm.respondents")
        )
        assert allowed, f"{path.name} imports {name}"


def test_the_core_neither_imports_nor_names_an_extension() -> None:
    """Names of earlier versions that moved into one are the exception, until they go."""
    names = {path.name for path in EXTENSIONS}
    assert names
    words = re.compile("|".join([*names, *(name.replace("_", "-") for name in names)]))
    core = [path for path in MODULES if not path.is_relative_to(ROOT / "extensions")]
    assert {
        path.relative_to(ROOT).as_posix() for path in core if words.search(path.read_text("utf-8"))
    } <= {"hqm/moved_names.py", "hqm/psychometrics/__init__.py"}


def test_an_extension_imports_itself_and_the_core() -> None:
    for folder in EXTENSIONS:
        others = {path.name for path in EXTENSIONS} - {folder.name}
        for path in folder.rglob("*.py"):
            packages = {name.partition(".")[0] for name in imported(path)}
            assert not packages & {"tests", *others}, path
            assert all(map(is_public, ours(path))), path


def test_hqm_reaches_adapters_benchmarks_and_reports_by_name_only() -> None:
    assert not {
        (path, name)
        for path in (ROOT / "hqm").rglob("*.py")
        for name in ours(path)
        if name.startswith(("hqm.adapters", "hqm.benchmarks", "hqm.reports"))
    }


# --- how things are named ---


def folder_of(path: Path, root: Path = ROOT) -> str:
    return str(path.relative_to(root).parent)


NAME_FIELDS: dict[type[ast.AST], str] = {
    ast.Name: "id",
    ast.arg: "arg",
    ast.Attribute: "attr",
    ast.keyword: "arg",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
}
"""Where a node of a tree has a name."""


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Every name that a file gives or uses: variables, parameters, keywords, functions, classes,
    attributes, imports.
    """
    nodes = walked_by_type(text)
    for node_type, field in NAME_FIELDS.items():
        for node in nodes.get(node_type, ()):
            if name := getattr(node, field):
                yield node.lineno, name  # type: ignore[attr-defined]
    for alias in nodes_of(text, ast.alias):
        names = {*alias.name.split("."), alias.asname}
        yield from ((alias.lineno, word) for word in names if word)


def unclear_names(paths: list[Path], root: Path) -> list[str]:
    """`file:line: name` for every name that does not say what the thing is."""
    return [
        f"{path.relative_to(root)}:{line}: {name}"
        for path in paths
        for line, name in sorted(
            {
                (line, name)
                for line, name in names_in(path.read_text(encoding="utf-8"))
                if name in NOT_A_NAME
            }
        )
    ]


def modules_named_like_their_function(paths: list[Path], root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}:{node.lineno}: def {node.name}"
        for path in paths
        for node in parsed(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == path.stem
    ]


def long_docstrings(paths: list[Path], root: Path) -> list[str]:
    """The public functions whose docstring has more lines than the rest of the function, and more
    than a few. Numpydoc, which exported functions have, may be longer.
    """
    findings = []
    for path in paths:
        for node in parsed(path.read_text(encoding="utf-8")).body:
            if (
                not isinstance(node, ast.FunctionDef)
                or node.name.startswith("_")
                or not ast.get_docstring(node)
                or "\n----" in (ast.get_docstring(node) or "")
            ):
                continue
            first = node.body[0]
            top = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            docstring_lines = (first.end_lineno or 0) - first.lineno + 1
            code = (node.end_lineno or 0) - top + 1 - docstring_lines
            text = (ast.get_docstring(node) or "").splitlines()
            lines = sum(bool(line.strip(" -")) for line in text)
            if lines > max(code, FEW_LINES):
                findings.append(
                    f"{path.relative_to(root)}:{node.lineno}: {node.name} has {lines} lines of"
                    f" docstring, {code} of code"
                )
    return findings


def test_the_folders_held_to_a_rule_exist() -> None:
    assert {folder_of(path) for path in MODULES} >= SHORT_DOCSTRINGS
    assert {path.relative_to(ROOT).parts[0] for path in NAME_CHECKED_FILES} >= {*PRODUCT, "tests"}


def test_a_name_says_what_the_thing_is() -> None:
    assert unclear_names(NAME_CHECKED_FILES, ROOT) == []


def test_no_module_is_named_like_its_function() -> None:
    assert modules_named_like_their_function(MODULES, ROOT) == []


def test_a_docstring_is_no_longer_than_its_function() -> None:
    checked = [path for path in MODULES if folder_of(path) in SHORT_DOCSTRINGS]
    assert long_docstrings(checked, ROOT) == []


def test_a_bad_name_and_a_long_docstring_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "found_first.py"
    path.write_text(
        "import a.told\n"
        "def found_first(one, *, kin=0):\n"
        '    """One.\n\n    Two.\n    Three.\n\n    1.\n    2.\n    3.\n    4.\n    5.\n    6.\n    """\n'
        "    found = one.people\n"
        "    return [mine for mine in found]\n"
        "class Desk:\n"
        "    person: int\n"
        "call(kin=1)\n"
        "def found(): return 0\n"
    )
    assert unclear_names([path], tmp_path) == [
        f"found_first.py:{line}: {name}"
        for line, name in [
            (1, "told"),
            (2, "kin"),
            (2, "one"),
            (15, "found"),
            (15, "one"),
            (15, "people"),
            (16, "found"),
            (16, "mine"),
            (17, "Desk"),
            (18, "person"),
            (19, "kin"),
            (20, "found"),
        ]
    ]
    assert modules_named_like_their_function([path], tmp_path) == [
        "found_first.py:2: def found_first"
    ]
    assert long_docstrings([path], tmp_path) == [
        "found_first.py:2: found_first has 9 lines of docstring, 3 of code"
    ]


# --- what is exported, what a module is ---


def stub_lines() -> list[tuple[str, str]]:
    """What hqm exports: (module, name), in the order of hqm/__init__.pyi."""
    statements = parsed((ROOT / "hqm" / "__init__.pyi").read_text(encoding="utf-8")).body
    assert all(
        isinstance(node, ast.ImportFrom) and node.level == 1 and len(node.names) == 1
        for node in statements
    )
    return [
        (str(node.module), node.names[0].name)
        for node in statements
        if isinstance(node, ast.ImportFrom)
    ]


def stub_order(line: tuple[str, str]) -> tuple[str, int, str]:
    """By module; within it constants, classes, functions."""
    module, name = line
    return module, 0 if name.isupper() else 1 if name[0].isupper() else 2, name.lower()


def test_the_stub_of_the_public_names_is_sorted() -> None:
    lines = stub_lines()
    assert lines == sorted(lines, key=stub_order)
    assert sorted(name for _, name in lines) == sorted(hqm.EXPORTED), "each name once"
    text = (ROOT / "hqm" / "__init__.pyi").read_text(encoding="utf-8")
    assert [line.rpartition(" import ")[2] for line in text.splitlines()] == [
        f"{name} as {name}" for _, name in lines
    ]


def test_what_is_exported_is_sorted_complete_and_there() -> None:
    assert set(hqm.__all__) <= set(hqm.EXPORTED)
    for name in hqm.EXPORTED:
        assert getattr(hqm, name).__doc__ or not callable(getattr(hqm, name)), (
            f"{name} has no docstring"
        )
    from hqm import errors, psychometrics

    tree = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.HQMError)
    }
    assert tree <= set(hqm.EXPORTED)
    assert all(name in (errors.__doc__ or "") for name in tree), (
        "the tree is drawn in the docstring"
    )
    public = {
        n
        for n, v in vars(psychometrics).items()
        if not n.startswith("_") and n != "annotations" and not isinstance(v, ModuleType)
    }
    packages = {"agreement", "inference", "items", "reliability", "validity", "variance"}
    assert set(psychometrics.__all__) == public  # ruff keeps it sorted
    assert len(hqm.EXPORTED) <= MAX_EXPORTED["hqm"]
    assert len(psychometrics.__all__) <= MAX_EXPORTED["hqm.psychometrics"]
    assert packages == {
        path.parent.name for path in (ROOT / "hqm" / "psychometrics").rglob("*/__init__.py")
    }


def test_names_of_the_version_before_are_found_and_warn() -> None:
    from hqm import moved_names, psychometrics

    for old, current in moved_names.MOVED_NAMES.items():
        module, _, name = current.partition(":")
        with pytest.warns(DeprecationWarning, match=name):
            assert getattr(hqm, old) is getattr(importlib.import_module(module), name)
    for old, current in psychometrics._MOVED_NAMES.items():
        module, _, name = current.partition(":")
        with pytest.warns(DeprecationWarning, match=name):
            assert getattr(psychometrics, old) is getattr(importlib.import_module(module), name)
    for package in (hqm, psychometrics):
        with pytest.raises(AttributeError, match="no_such_name"):
            package.no_such_name  # noqa: B018


def test_attributes_and_keywords_of_the_version_before_are_found_and_warn(tmp_path: Path) -> None:
    from hqm.auditing.budget import Statement
    from hqm.benchmark.adapter import Adapter
    from hqm.moved_names import RENAMED_ATTRIBUTES, RenamedAttributes
    from hqm.scoring.matrix import ScoreMatrix

    classes = (Adapter, hqm.Form, ScoreMatrix, Statement, hqm.Store)
    assert {kind.__name__ for kind in classes} == RENAMED_ATTRIBUTES.keys()
    for kind in classes:
        assert issubclass(kind, RenamedAttributes)
        names = {*dir(hqm.Benchmark if kind is Adapter else kind), *inspect.get_annotations(kind)}
        for old, name in RENAMED_ATTRIBUTES[kind.__name__].items():
            assert old not in names
            assert name in names
            # a class of the same name, whose instances need no arguments
            instance = type(kind.__name__, (RenamedAttributes,), {name: name})()
            with pytest.warns(DeprecationWarning, match=name):
                assert getattr(instance, old) == name
            with pytest.raises(AttributeError, match="no_such_name"):
                _ = instance.no_such_name
    benchmark = hqm.load("shapes_yesno")
    with pytest.warns(DeprecationWarning, match=r"Form\.only is select_part") as warned:
        assert benchmark.original.only("") == benchmark.original
    assert {warning.filename for warning in warned} == {__file__}, "the caller is named"
    with pytest.warns(DeprecationWarning, match="context_items"):
        older = type("Older", (hqm.Benchmark,), {"beside": lambda _, item: (item.id,)})
    assert older.context_items is older.beside, "what a subclass defines is not passed over"
    audit = hqm.Audit.load(Path(__file__).with_name("audit_0_2_0.json")).audits[0]
    with pytest.warns(DeprecationWarning, match="table"):
        assert audit.to_frame(what="scores").equals(audit.scores)
    with pytest.warns(DeprecationWarning, match="retry_errors"), pytest.raises(hqm.HQMError):
        hqm.audit(str(tmp_path / "none"), retry_refused=True)


def test_errors_take_the_keywords_of_the_version_before_and_warn() -> None:
    with pytest.warns(DeprecationWarning, match="HQM.s errors") as warned:
        error = hqm.DataError("it is blue", place="a.csv", given="bleu", known=("blue",))
    assert {warning.filename for warning in warned} == {__file__}, "the caller is named"
    assert (error.location, "blue" in error.remedy) == ("a.csv", True)
    with pytest.warns(DeprecationWarning, match="HQM.s errors") as warned:
        assert (error.what, error.place) == ("it is blue", "a.csv")
    assert {warning.filename for warning in warned} == {__file__}
    with pytest.raises(TypeError, match="colour"):
        hqm.DataError("it is blue", colour="blue")


def test_a_module_says_what_it_is_and_is_not_too_long() -> None:
    assert len(MODULES) > 200
    for path in MODULES:
        text = path.read_text()
        assert ast.get_docstring(parsed(text)), f"{path}: no docstring"
        # a line that says why is no reason to divide a module
        lines = sum(not line.lstrip().startswith("#") for line in text.splitlines())
        limit = LONG_MODULES.get(str(path.relative_to(ROOT)), MAX_MODULE_LINES)
        assert lines <= limit, f"{path}: {lines} lines without a reason"


def test_asking_for_help_and_listing_load_nothing_heavy() -> None:
    """In one process: help first, which needs less than what comes after it."""
    code = (
        "import sys\n"
        "from hqm.cli import main\n"
        "def loaded(*arguments):\n"
        "    sys.argv = ['hqm', *arguments]\n"
        "    try: main()\n"
        "    except SystemExit as end: assert not end.code\n"
        "    heavy = 'torch transformers matplotlib scipy pandas openai statsmodels numpy'.split()\n"
        "    print([name for name in heavy if name in sys.modules])\n"
        "loaded('--help')\n"
        "for words in ('list', 'list respondents', 'forms shapes_yesno'): loaded(*words.split())\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    after = [line for line in process.stdout.splitlines() if line.startswith("[")]
    assert len(after) == 4
    assert after[0] == "[]"
    assert not {"'torch'", "'transformers'"} & set(re.findall(r"'\w+'", "".join(after)))


@pytest.mark.parametrize(("command", "max_modules"), [("score", 105), ("audit", 241)])
def test_a_command_executes_few_modules(command: str, max_modules: int, tmp_path: Path) -> None:
    """`hqm score` and `hqm audit` of recorded answers, from a new process to its end."""
    rows = [f"y{n:04},a,{'Yes' if n % 2 else 'No'}" for n in range(0, 1008, 8)]
    answers = tmp_path / "answers.csv"
    answers.write_text("\n".join(["item,respondent,answer", *rows]))
    words = {
        "score": ["score", "shapes_yesno", "--answers", str(answers)],
        "audit": ["audit", "shapes_yesno", "--recorded", str(answers), "--out", str(tmp_path)],
    }
    code = (
        "import atexit, sys; from hqm.cli import main\n"
        "count = lambda: sum(name.partition('.')[0] == 'hqm' for name in sys.modules)\n"
        "atexit.register(lambda: print(count())); main()"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, *words[command]],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 20 < int(process.stdout.splitlines()[-1]) <= max_modules


def test_no_query_numbers_what_is_given_in_order() -> None:
    """SQLite of Python 3.14 refuses `?1` with values in a row, and 3.12 warns."""
    for path in MODULES:
        assert not re.search(r"(=|SELECT|OR|,|\() *\?\d", path.read_text("utf-8")), path


def test_random_numbers_come_from_a_generator() -> None:
    """No function draws from a global stream."""
    for path in MODULES:
        text = path.read_text()
        assert not re.search(
            r"np\.random\.(?!default_rng|Generator|Philox|SeedSequence)\w+", text
        ), path
        assert "import random" not in text, path


def test_no_module_is_called_utils() -> None:
    assert not [p for p in MODULES if p.stem in ("utils", "helpers", "common", "misc")]


def test_every_public_function_has_types_and_a_docstring() -> None:
    for path in MODULES:
        for node in parsed(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"
            if isinstance(node, ast.FunctionDef):
                assert node.returns is not None, f"{path.name}: {node.name}"


def test_a_module_imports_at_its_top() -> None:
    """A module that was made of two has no second list of imports in its middle."""
    for path in MODULES:
        is_code = False
        for node in parsed(path.read_text("utf-8")).body:
            is_import = isinstance(node, ast.Import | ast.ImportFrom)
            assert not (is_code and is_import), f"{path}:{node.lineno}"
            is_code |= not is_import and not isinstance(node, ast.Expr)


def test_docstring_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    import doctest

    # the debugger that doctest sets up looks at every file again before each example
    monkeypatch.setattr("linecache.checkcache", lambda filename=None: None)
    tried = 0
    for path in MODULES:
        relative = path.relative_to(ROOT).with_suffix("")
        parts = relative.parts if relative.parts[0] == "hqm" else ("hqm", *relative.parts)
        if relative.parts[0] == "extensions":
            parts = relative.parts[2:]
        name = ".".join(parts).removesuffix(".__init__")
        if name == INSIDE_INSPECT and importlib.util.find_spec("inspect_ai") is None:
            continue
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:  # models that run in this process
            if error.name not in LOCAL or importlib.util.find_spec(error.name) is not None:
                raise
            continue
        if ">>> " not in path.read_text("utf-8"):
            continue
        result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, name
        tried += result.attempted
    assert tried > 50


# --- tests ---


class CheckedFunction(NamedTuple):
    """A function of the tests: whether it asserts, and what it calls."""

    file: str
    line: int
    name: str
    asserts: bool
    calls: frozenset[str]


def checked_functions(files: dict[str, str]) -> Iterator[CheckedFunction]:
    for file, text in files.items():
        for node in functions_in(text):
            inner = descendants(node)
            asserts = any(isinstance(child, ast.Assert) for child in inner)
            called = [n.func for n in inner if isinstance(n, ast.Call)]
            names = {n.attr for n in called if isinstance(n, ast.Attribute)}
            names |= {n.id for n in called if isinstance(n, ast.Name)}
            yield CheckedFunction(file, node.lineno, node.name, asserts, frozenset(names))


def toothless_tests(files: dict[str, str]) -> list[str]:
    """Tests with no assertion, no expected error or warning, and no call of a helper that has
    one.
    """
    functions = list(checked_functions(files))
    checks, before = {"raises", "warns", "fail", "assert_allclose", "assert_array_equal"}, 0
    while len(checks) > before:
        before = len(checks)
        checks |= {
            function.name
            for function in functions
            if not function.name.startswith("test_")
            and (function.asserts or function.calls & checks)
        }
    return [
        f"{function.file}:{function.line}: {function.name}"
        for function in functions
        if function.name.startswith("test_")
        and not function.asserts
        and not function.calls & checks
    ]


def test_every_test_can_fail() -> None:
    assert toothless_tests(files_of_tests()) == []
    text = (
        "def same(a): assert a\ndef test_a(): same(1)\ndef test_b(): print(1)\ndef test_c():\n   "
        " with raises(E): f()\n"
    )
    assert toothless_tests({"test_x.py": text}) == ["test_x.py:3: test_b"]


def test_no_test_has_a_budget_of_time() -> None:
    """How long something takes is measured in tests/perf; a test waits for what must happen, with a
    generous limit.
    """
    for path in (*(ROOT / "tests").glob("*.py"), *ROOT.glob("extensions/*/tests/*.py")):
        text = path.read_text()
        assert not re.search(
            r"process_time\(\)|perf_counter\(\)|monotonic\(\) - \w+ <", text
        ) or path == Path(__file__), path.name


def test_what_hqm_says_is_asked_for_by_its_code() -> None:
    """A sentence of HQM stands in tests/messages.toml, and nowhere else in the tests."""
    assert own_texts(files_of_tests()) == [], "write it into tests/messages.toml, ask for its code"


@pytest.mark.parametrize(
    "text",
    [
        "def test_a():\n    assert 'is no address of the public internet' in err\n",
        "def test_a():\n    with raises(E, match='no address of the public internet'): f()\n",
        "def test_a():\n    words = 'no address of the public internet'\n    assert words in err\n",
        "WORDS = 'no address of the public internet'\ndef test_a():\n    assert WORDS in err\n",
        "@pytest.mark.parametrize('words', ['no address of the public internet'])\n"
        "def test_a(words):\n    assert words in err\n",
        "@pytest.mark.parametrize(('a', 'b'), [(1, 'no address of the public internet')])\n"
        "def test_a(a, b):\n    with raises(E, match=b): f(a)\n",
    ],
)
def test_a_planted_sentence_is_seen(text: str) -> None:
    (finding,) = own_texts({"test_x.py": text})
    assert "address of the public" in finding[2]


def test_a_question_of_a_benchmark_is_no_sentence_of_hqm() -> None:
    text = "def test_a():\n    assert form.prompt == 'What is the number of chairs in the image?'\n"
    assert own_texts({"test_x.py": text}) == []


def test_no_helper_is_built_alike_in_two_files_of_tests() -> None:
    """What several files need stands once, in conftest.py or in a module of helpers."""
    files = files_of_tests()
    assert built_alike(files) == []
    twice = "def made(n):\n    a = n\n    b = a\n    return a + b\n"
    assert built_alike({"a.py": twice, "b.py": "# another\n" + twice}) == ["a.py:made, b.py:made"]


# --- names that say what they hold, and sentences that are read once ---


EMPTY_WORDS = frozenset(
    # pronouns and determiners
    "all any both each either every few it many more most much neither none other others own same"
    " several some such that these they this those what whatever which who whole whom whose"
    # adverbs, prepositions and conjunctions
    " about above across after again alone along already also apart around aside at away back before"
    " behind below beside besides between bare else enough ever far here how inside instead just"
    " least less like long longest now of off often once only otherwise out outside over quite"
    " rather since so than then there through thus together too under until up upon very well when"
    " where whether while why with within without yet"
    # participles, and verbs in the past
    " asked brought chosen come done drawn found given gone heard held kept known later left let"
    " likely made meant met named near needed put read said seen shown taken told used wanted"
    " written"
    # nouns that stand for any other
    " crowd everything nothing one part place places rest something thing things way ways"
    " better fewest first last made never next true latest".split()
)
"""Words that, alone, do not say what a value is."""
IDIOMS = frozenset("all any after before first last left next once read right true used".split())
"""Those that are idiom in Python or in statistics when they stand alone."""
PREPOSITIONS = frozenset("as at by for from how in of on the to which who with without".split())
MAX_EMPTY_OF_PRODUCT = 6
MAX_EMPTY_OF_PACKAGE = 10
MAX_EMPTY_OF_TESTS = 15


def is_empty_name(name: str) -> bool:
    """Return whether a name has no noun: `own`, `of_all`, `what_is_left`."""
    words = [word for word in name.strip("_").lower().split("_") if word]
    if len(words) == 1:
        return words[0] in EMPTY_WORDS - IDIOMS
    return bool(words) and all(
        word in EMPTY_WORDS | PREPOSITIONS or word in ("a", "is") for word in words
    )


def bound_names(text: str) -> Iterator[str]:
    """Every name that a file binds: variables, parameters, functions, classes."""
    for variable in nodes_of(text, ast.Name):
        if isinstance(variable.ctx, ast.Store):
            yield variable.id
    for parameter in nodes_of(text, ast.arg):
        yield parameter.arg
    for function in functions_in(text):
        yield function.name
    for node in nodes_of(text, ast.ClassDef):
        yield node.name


def empty_names_per_thousand(paths: Iterable[Path]) -> float:
    names = [name for path in paths for name in bound_names(path.read_text(encoding="utf-8"))]
    return 1000 * sum(map(is_empty_name, names)) / max(len(names), 1)


def package_of(path: Path) -> str:
    folders = path.relative_to(ROOT).parts[:-1]
    return "/".join(folders[:2] if folders[0] in ("hqm", "extensions") else folders[:1])


def test_names_have_a_noun() -> None:
    packages: dict[str, list[Path]] = {}
    for path in MODULES:
        packages.setdefault(package_of(path), []).append(path)
    assert empty_names_per_thousand(MODULES) < MAX_EMPTY_OF_PRODUCT
    for package, paths in packages.items():
        # the modules directly in hqm are few, and most of their names are fields of public types
        if package != "hqm":
            assert empty_names_per_thousand(paths) <= MAX_EMPTY_OF_PACKAGE, package
    tests = sorted([*(ROOT / "tests").rglob("*.py"), *ROOT.glob("extensions/*/tests/*.py")])
    assert empty_names_per_thousand(tests) < MAX_EMPTY_OF_TESTS


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("place", True),
        ("_OF_ALL", True),
        ("what_is_left", True),
        ("known", True),
        ("first", False),
        ("known_names", False),
        ("n_items", False),
        ("STATE_LABELS", False),
    ],
)
def test_an_empty_name_is_told_from_a_noun(name: str, empty: bool) -> None:
    assert is_empty_name(name) is empty


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert)
MAX_COMPLEXITY = 20
COMPLEX_FUNCTIONS = {
    "gather": 28,
    "labels_advice": 21,
    "omega_of_types": 21,
    "two_column_estimates": 22,
}
"""Those still above it; no other may join them."""
MAX_CONDITIONALS = 3.0
"""Inline conditionals in a hundred statements, as scikit-learn and statsmodels have at most."""
MAX_NESTED_COMPREHENSIONS = 0
"""How many comprehensions contain another one."""


def complexity(function: ast.AST) -> int:
    """McCabe's cyclomatic complexity; operands of `and` and `or`, loops and conditions of
    comprehensions, and cases count as branches.
    """
    branches = 1
    for node in descendants(function):
        if isinstance(node, BRANCHES):
            branches += 1
        elif isinstance(node, ast.BoolOp):
            branches += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            branches += 1 + len(node.ifs)
        elif isinstance(node, ast.Match):
            branches += len(node.cases)
    return branches


def functions_in(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from nodes_of(text, ast.FunctionDef, ast.AsyncFunctionDef)


def nested_comprehensions(text: str) -> list[int]:
    """The lines of comprehensions that contain another one."""
    return [
        node.lineno
        for node in nodes_of(text, *COMPREHENSIONS)
        if any(isinstance(inner, COMPREHENSIONS) for inner in descendants(node)[1:])
    ]


def test_no_function_has_too_many_branches() -> None:
    for path in MODULES:
        for function in functions_in(path.read_text(encoding="utf-8")):
            limit = COMPLEX_FUNCTIONS.get(function.name, MAX_COMPLEXITY)
            assert complexity(function) <= limit, (
                f"{path.relative_to(ROOT)}:{function.lineno}: {function.name}"
            )


def conditionals_per_hundred(texts: Iterable[str]) -> float:
    """Inline conditionals in a hundred statements."""
    n_statements = n_conditionals = 0
    for text in texts:
        for node_type, nodes in walked_by_type(text).items():
            n_statements += len(nodes) * issubclass(node_type, ast.stmt)
            n_conditionals += len(nodes) * issubclass(node_type, ast.IfExp)
    return 100 * n_conditionals / n_statements


def test_conditions_are_statements() -> None:
    texts = [path.read_text(encoding="utf-8") for path in MODULES]
    assert conditionals_per_hundred(texts) <= MAX_CONDITIONALS
    assert conditionals_per_hundred(["x = 1 if a else 2\n", "y = 2\n"]) == 50


def test_nested_comprehensions_do_not_become_more() -> None:
    nested = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in MODULES
        for line in nested_comprehensions(path.read_text(encoding="utf-8"))
    ]
    assert len(nested) <= MAX_NESTED_COMPREHENSIONS, nested


def test_a_planted_nest_and_its_branches_are_counted() -> None:
    text = (
        "def rows(tables):\n"
        "    if tables and tables[0]:\n"
        "        return [[cell for cell in row if cell] for row in tables]\n"
        "    return []\n"
    )
    assert nested_comprehensions(text) == [3]
    (function,) = functions_in(text)
    assert complexity(function) == 6
