"""The rules of the house: who imports whom, how things are named, what is exported, how long a
module is.
"""

import ast
import functools
import graphlib
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import hqm
from hqm.respondents.kinds import LOCAL
from tests.asserted import built_alike, files_of_tests, own_texts, parsed, walked

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("hqm", "adapters", "reports", "benchmarks")
MODULES = sorted(p for folder in PRODUCT for p in (ROOT / folder).rglob("*.py"))

LAYERS = (
    "__init__",  # the public names: for users, never for a module of hqm
    "__main__",  # the program: Ctrl-C is heard before the command line is loaded
    "cli",
    "commands",
    "comparison",
    "decisions",
    "published",
    "auditing",
    "indicators",
    "builders",
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
    "errors",
    "version",
)
"""The packages and modules directly in hqm/, top to bottom: each imports only what stands below
it.
"""

NAMED = sorted(
    p for folder in (*PRODUCT, "training", "tests", "docs") for p in (ROOT / folder).rglob("*.py")
)
"""The files in which every name says what the thing is: the tests too."""

SHORT_DOCSTRINGS = frozenset({"hqm/psychometrics"})
"""The folders in which no public function has a docstring longer than its code."""
FEW_LINES = 8
"""A docstring may have so many lines however short the function is: a formula, what goes in, and an
example. Blank lines and the rules under headings are layout, and are not counted.
"""

INSIDE_INSPECT = "hqm.commands.inspect_extension"
"""The module that inspect imports, and nobody else: it begins with inspect's own names."""
NOT_A_NAME = frozenset("found one told people person kin mine Desk Sitting Wishes _Paper".split())
"""Words that do not say what a thing is."""


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
        for node in walked(text)
        for name in modules_named(node, package)
    ]


def arrows(root: Path) -> list[Arrow]:
    """Every import within hqm, once a line."""
    modules = modules_in(root)
    files = {name: str(path.relative_to(root)) for name, path in modules.items()}
    drawn = {}
    for source, path in modules.items():
        package = source if path.name == "__init__.py" else source.rpartition(".")[0]
        for line, name in imports_in(path.read_text(encoding="utf-8"), package):
            target = name if name in modules else name.rpartition(".")[0]
            if target in modules and target != source:
                drawn[Arrow(files[source], line, source, target, files[target])] = None
    return list(drawn)


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
    inside = {
        p.stem
        for p in (ROOT / "hqm").iterdir()
        if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert inside == set(LAYERS)
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
    (seen,) = upward_imports(tree)
    assert re.fullmatch(
        r"hqm/scoring/matrix\.py:\d+ imports hqm/auditing/gate\.py, but auditing .* scoring in"
        r" LAYERS",
        seen,
    )


@pytest.mark.parametrize(
    "statement", ["import hqm", "from hqm import Store", "from .. import Store"]
)
def test_a_module_that_imports_the_public_names_is_seen(tree: Path, statement: str) -> None:
    plant(tree, "hqm/scoring/matrix.py", statement)
    (seen,) = upward_imports(tree)
    assert "hqm/scoring/matrix.py:" in seen
    assert "imports hqm/__init__.py" in seen


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
    seen = circle_of_packages(tree).split(" -> ")
    assert {layer(down.source), layer(down.target)} <= set(seen)
    assert seen[0] == seen[-1]
    (sentence,) = upward_imports(tree)
    assert down.file in sentence
    assert down.target_file in sentence


def imported(path: Path) -> set[str]:
    """The names of modules and members that a file imports, as `module` or `module.member`."""
    names = set()
    for node in walked(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def ours(path: Path) -> set[str]:
    return {name for name in imported(path) if name == "hqm" or name.startswith("hqm.")}


def test_psychometrics_imports_nothing_of_ours() -> None:
    assert [a for a in arrows(ROOT) if layer(a.source) == "psychometrics" != layer(a.target)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "adapters").glob("*.py")), ids=lambda p: p.name)
def test_an_adapter_imports_exported_names_and_its_own_benchmark(path: Path) -> None:
    for name in ours(path):
        member = name.removeprefix("hqm.")
        assert member in hqm.EXPORTED or name.startswith(f"hqm.benchmarks.{path.stem}"), (
            f"{path.name} imports {name}"
        )
        assert not name.startswith("hqm.adapters")


@pytest.mark.parametrize("path", sorted((ROOT / "reports").glob("*.py")), ids=lambda p: p.name)
def test_reports_import_exported_names(path: Path) -> None:
    for name in ours(path):
        allowed = name.removeprefix("hqm.") in hqm.EXPORTED or name.startswith(
            ("hqm.reports", "hqm.psychometrics")
        )
        assert allowed, f"{path.name} imports {name}"


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


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Every name that a file gives or uses: variables, parameters, keywords, functions, classes,
    attributes, imports.
    """
    for node in walked(text):
        line = getattr(node, "lineno", 0)
        match node:
            case (
                ast.Name(id=name)
                | ast.arg(arg=name)
                | ast.Attribute(attr=name)
                | ast.keyword(arg=str(name))
            ):
                yield line, name
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield line, name
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield line, name
            case ast.alias(name=name, asname=other):
                yield from ((line, word) for word in {*name.split("."), other} if word)


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
    than a few.
    """
    seen = []
    for path in paths:
        for node in parsed(path.read_text(encoding="utf-8")).body:
            if (
                not isinstance(node, ast.FunctionDef)
                or node.name.startswith("_")
                or not ast.get_docstring(node)
            ):
                continue
            first = node.body[0]
            top = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            inside = (first.end_lineno or 0) - first.lineno + 1
            code = (node.end_lineno or 0) - top + 1 - inside
            text = (ast.get_docstring(node) or "").splitlines()
            lines = sum(bool(line.strip(" -")) for line in text)
            if lines > max(code, FEW_LINES):
                seen.append(
                    f"{path.relative_to(root)}:{node.lineno}: {node.name} has {lines} lines of"
                    f" docstring, {code} of code"
                )
    return seen


def test_the_folders_held_to_a_rule_exist() -> None:
    assert {folder_of(path) for path in MODULES} >= SHORT_DOCSTRINGS
    assert {path.relative_to(ROOT).parts[0] for path in NAMED} >= {*PRODUCT, "tests"}


def test_a_name_says_what_the_thing_is() -> None:
    assert unclear_names(NAMED, ROOT) == []


def test_no_module_is_named_like_its_function() -> None:
    assert modules_named_like_their_function(MODULES, ROOT) == []


def test_a_docstring_is_no_longer_than_its_function() -> None:
    held = [path for path in MODULES if folder_of(path) in SHORT_DOCSTRINGS]
    assert long_docstrings(held, ROOT) == []


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


def place_of(line: tuple[str, str]) -> tuple[str, int, str]:
    """By module; within it constants, classes, functions."""
    module, name = line
    return module, 0 if name.isupper() else 1 if name[0].isupper() else 2, name.lower()


def test_the_stub_of_the_public_names_is_sorted() -> None:
    lines = stub_lines()
    assert lines == sorted(lines, key=place_of)
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
    assert set(psychometrics.__all__) == public  # ruff keeps it sorted


def test_a_module_says_what_it_is_and_is_not_too_long() -> None:
    assert len(MODULES) > 200
    for path in MODULES:
        text = path.read_text()
        assert ast.get_docstring(parsed(text)), f"{path}: no docstring"
        lines = len(text.splitlines())
        assert lines <= 800, f"{path}: {lines} lines without a reason"


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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(after) == 4
    assert after[0] == "[]"
    assert not {"'torch'", "'transformers'"} & set(re.findall(r"'\w+'", "".join(after)))


@pytest.mark.parametrize(("command", "most"), [("score", 90), ("audit", 200)])
def test_a_command_executes_few_modules(command: str, most: int, tmp_path: Path) -> None:
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
    done = subprocess.run(
        [sys.executable, "-c", code, *words[command]],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 20 < int(done.stdout.splitlines()[-1]) <= most


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


def test_docstring_examples_run() -> None:
    import doctest

    tried = 0
    for path in MODULES:
        relative = path.relative_to(ROOT).with_suffix("")
        parts = relative.parts if relative.parts[0] == "hqm" else ("hqm", *relative.parts)
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
        for node in walked(text):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = list(ast.walk(node))
                asserts = any(isinstance(part, ast.Assert) for part in inner)
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
    for path in (ROOT / "tests").glob("*.py"):
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
    (place,) = own_texts({"test_x.py": text})
    assert "address of the public" in place[2]


def test_a_question_of_a_benchmark_is_no_sentence_of_hqm() -> None:
    text = "def test_a():\n    assert form.prompt == 'What is the number of chairs in the image?'\n"
    assert own_texts({"test_x.py": text}) == []


def test_no_helper_is_built_alike_in_two_files_of_tests() -> None:
    """What several files need stands once, in conftest.py or in a module of helpers."""
    files = files_of_tests()
    assert built_alike(files) == []
    twice = "def made(n):\n    a = n\n    b = a\n    return a + b\n"
    assert built_alike({"a.py": twice, "b.py": "# another\n" + twice}) == ["a.py:made, b.py:made"]
