"""Mutate the product at random with cosmic-ray, and list the mutants that no test sees.

`record TESTS` notes which test runs which line and how long it takes, beside what is noted already;
`run NUMBER SEED` draws mutants and runs the tests of their lines, the quickest first, in children
of one process that holds every library. Begun again, it tries those that are not killed yet.

Left out, as they are not what HQM does: annotations, decorators, what is raised, texts with values
in them, how many random draws are made where nobody says, whether `zip` would refuse what is never
of unequal length, and `is` for `==`.
"""

import ast
import gc
import importlib.util
import json
import math
import os
import random
import resource
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

PACKAGES = [Path("hqm", name) for name in ("psychometrics", "indicators", "scoring", "benchmark")]
NO_CHANGE = ("_Eq_Is", "_NotEq_IsNot", "_Is_Eq", "_IsNot_NotEq", "RemoveDecorator")
DRAWS = {"draws", "replicates", "permutations", "rounds", "iterations"}
PLUGINS = ("-pno:randomly", "-pno:xdist", "-pno:cacheprovider", "-pno:cov", "-pno:terminalreporter")
EXAMPLES = ("--doctest-modules", "-odoctest_optionflags=NORMALIZE_WHITESPACE")
RECORD, RESULTS = Path(".mutants.json"), Path(".mutants.jsonl")
LOOKS = "test_results_cannot_be_changed"  # at every module of a package, and runs no line of it
SECONDS = 2  # of tests, as they were timed, for one mutant


def left_out(node: ast.AST) -> list:
    """The parts of a node that are no behaviour."""
    parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    parts += getattr(node, "decorator_list", [])
    parts += [k.value for k in getattr(node, "keywords", []) if k.arg == "strict"]
    if isinstance(node, ast.arguments):
        named = [*node.args[len(node.args) - len(node.defaults) :], *node.kwonlyargs]
        defaults = zip(named, [*node.defaults, *node.kw_defaults], strict=True)
        parts += [default for argument, default in defaults if argument.arg in DRAWS]
    return [*parts, node] if isinstance(node, ast.Raise | ast.JoinedStr) else parts


def places(path: Path) -> list[tuple[str, int, list[tuple[str, int]]]]:
    """The lines of a module, with what can be changed at each place."""
    parts = [p for node in ast.walk(ast.parse(path.read_text("utf-8"))) for p in left_out(node)]
    spans = [((p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset)) for p in parts if p]
    nodes, there = list(ast_nodes(get_ast_from_path(path))), defaultdict(list)
    for name in operator_names():
        operator = get_operator(name)
        if name.endswith(NO_CHANGE) or operator.arguments():
            continue
        starts = [start for node in nodes for start, _ in operator().mutation_positions(node)]
        for occurrence, start in enumerate(starts):
            if not any(first <= start < last for first, last in spans):
                there[start].append((name, occurrence))
    return [(str(path), start[0], there[start]) for start in sorted(there)]


def draw(number: int, seed: int) -> list[tuple[str, int, str, int]]:
    """Mutants at random, each package with as many as its share of the places."""
    chance = random.Random(seed)
    every = [[p for path in sorted(k.rglob("*.py")) for p in places(path)] for k in PACKAGES]
    sizes = [round(number * len(each) / sum(map(len, every))) for each in every]
    samples = [chance.sample(each, size) for each, size in zip(every, sizes, strict=True)]
    return [(p, line, *chance.choice(ways)) for each in samples for p, line, ways in each]


class Recorder:
    """Notes each test's lines and processor seconds."""

    def __init__(self) -> None:
        sources = [str(package.resolve()) for package in PACKAGES]
        self.lines = coverage.Coverage(data_file=None, config_file=False, source=sources)
        self.lines.start()
        empty = {"seconds": {}, "ran": {}}
        self.record = json.loads(RECORD.read_text()) if RECORD.exists() else empty

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.lines.switch_context(item.nodeid)
        start = time.process_time()
        result = yield
        self.record["seconds"][item.nodeid] = time.process_time() - start
        return result

    def pytest_sessionfinish(self):
        self.lines.stop()
        data = self.lines.get_data()
        for file in data.measured_files():
            ran = self.record["ran"].setdefault(os.path.relpath(file), {})
            for line, tests in data.contexts_by_lineno(file).items():
                ran[str(line)] = sorted({*ran.get(str(line), ()), *tests} - {""})
        RECORD.write_text(json.dumps(self.record))


def codes(code: CodeType) -> list[CodeType]:
    """The code of every function in it."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return [*inner, *(each for const in inner for each in codes(const))]


class Mutant:
    """One module with other text: its own loader."""

    def __init__(self, path: str, line: int, name: str, occurrence: int):
        self.path, self.line, self.file = Path(path), line, str(Path(path).resolve())
        self.own = self.path.read_text("utf-8")
        self.text = mutate_code(self.own, get_operator(name)(), occurrence)
        self.module = ".".join(self.path.with_suffix("").parts).removesuffix(".__init__")
        nodes = [node for node in ast.walk(ast.parse(self.own)) if isinstance(node, ast.stmt)]
        around = [node for node in nodes if node.lineno <= line <= node.end_lineno]
        functions = [node for node in around if isinstance(node, ast.FunctionDef)]
        self.inside = any(node.body[0].lineno <= line for node in functions)
        self.statement = min(around, key=lambda node: node.end_lineno - node.lineno)

    def tests(self, record: dict) -> list[str]:
        """Those of the line, or of the whole module outside a function, the quickest first."""
        ran, seconds = record["ran"][str(self.path)], record["seconds"]
        lines = map(str, range(self.statement.lineno, self.statement.end_lineno + 1))
        there = {test for line in (lines if self.inside else ran) for test in ran.get(line, ())}
        if self.inside and str(self.line) in ran:
            there = set(ran[str(self.line)])
        if not self.inside:
            there |= {test for test in seconds if LOOKS in test}
        total, chosen = 0.0, []
        for test in sorted(there, key=lambda test: seconds.get(test, math.inf)):
            total += seconds.get(test, math.inf)
            if total < SECONDS:
                chosen.append(test)
        return chosen

    def find_spec(self, name, path, target=None):
        folder = [str(self.path.parent.resolve())] if self.path.stem == "__init__" else None
        spec = importlib.util.spec_from_file_location(
            name, self.file, loader=self, submodule_search_locations=folder
        )
        return spec if name == self.module else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self):
        # before the finder of pytest, which loads the modules whose examples are run
        sys.meta_path.insert(0, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.text, self.file, "exec"), vars(module))

    def fails(self, session, functions: list[FunctionType], tests: list[str]) -> bool:
        """Whether a test fails, with other code in the functions there are or imported anew."""
        own, new = (codes(compile(text, self.file, "exec")) for text in (self.own, self.text))
        there = [each for each in functions if each.__code__.co_filename == self.file]
        if not self.inside or not there or len(own) != len(new):
            ours = [
                name for name in sys.modules if name.split(".")[0] in ("hqm", "tests", "adapters")
            ]
            for name in ours:
                del sys.modules[name]
            arguments = [*PLUGINS, *EXAMPLES, "-x", *tests]
            return bool(tests) and pytest.main(arguments, plugins=[self]) != 0
        code = {(c.co_qualname, c.co_firstlineno): n for c, n in zip(own, new, strict=True)}
        for each in there:
            each.__code__ = code[each.__code__.co_qualname, each.__code__.co_firstlineno]
        items = [item for item in session.items if item.nodeid in tests]
        items.sort(key=lambda item: tests.index(item.nodeid))
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return True
        return False

    def survives(self, session, functions: list[FunctionType], tests: list[str]) -> bool:
        """Whether every test passes, in a child."""
        if child := os.fork():
            return os.waitpid(child, 0)[1] == 0
        failed = True
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (10 * SECONDS, 10 * SECONDS))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            failed = self.fails(session, functions, tests)
        finally:
            os._exit(failed)


class Runner:
    """Runs the mutants where pytest would run the tests that it has collected."""

    def __init__(self, drawn: list[tuple[str, int, str, int]], record: dict):
        self.drawn, self.record = drawn, record

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
        killed = {tuple(each) for *each, survived in map(json.loads, lines) if not survived}
        gc.unfreeze()  # the tests freeze what is there when they begin
        functions = [each for each in gc.get_objects() if isinstance(each, FunctionType)]
        gc.freeze()
        for each in self.drawn:
            if tuple(each) in killed:
                continue
            mutant = Mutant(*each)
            survived = mutant.survives(session, functions, mutant.tests(self.record))
            with RESULTS.open("a") as file:
                print(json.dumps([*each, survived]), file=file)
            if survived:
                print(*each, file=sys.stderr)
            else:
                killed.add(tuple(each))
        print(
            f"{len(self.drawn) - len(killed)} of {len(self.drawn)} mutants survive", file=sys.stderr
        )
        return True


def main(command: str, *arguments: str) -> None:
    if command == "record":
        pytest.main([*PLUGINS, *EXAMPLES, *arguments], plugins=[Recorder()])
    else:
        record = json.loads(RECORD.read_text())
        files = sorted({test.split("::")[0] for test in record["seconds"]})
        drawn = draw(*map(int, arguments))
        pytest.main([*PLUGINS, *EXAMPLES, *files], plugins=[Runner(drawn, record)])


if __name__ == "__main__":
    main(*sys.argv[1:])
