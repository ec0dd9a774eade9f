"""Mutate the product at random with cosmic-ray, and list the mutants that no test sees.

`record TESTS` notes which test runs which line and how long it takes, beside what is noted already;
`run NUMBER SEED` draws mutants and runs the tests of their lines, the quickest first, then the
others of their files (what a cache holds is noted for the first test alone, what a fixture of
several tests runs for all of its file), in children of one process that holds every library. A
tenth as many places are tried unchanged: a test that fails there says nothing. A mutant that never
ends is killed if its tests, run without the change, take less than a third of the time it had. Begun
again, it tries those that are not killed yet; `shares NUMBER SEED` prints, by package, how many
survived when they were tried first, and how many do now.

Tests that start processes do not see a mutant, which lives in the memory of a child.

Left out, as they are not what HQM does: annotations, decorators, `__repr__`, what is raised, texts
with values in them, imports for type checkers, how many random draws are made where nobody says,
whether `zip` would refuse what is never of unequal length, `is` for `==`, and whether a number
that equals a tolerance (1e-12) lies within it.
"""

import ast
import difflib
import functools
import gc
import importlib
import importlib.util
import itertools
import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FunctionType

import coverage
import pytest
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from scipy.stats import binomtest

PACKAGES = [Path("hqm", name) for name in ("psychometrics", "indicators", "scoring", "benchmark")]
NO_CHANGE = ("_Eq_Is", "_NotEq_IsNot", "_Is_Eq", "_IsNot_NotEq", "RemoveDecorator")
STRICTER = ("_Gt_GtE", "_GtE_Gt", "_Lt_LtE", "_LtE_Lt")
DRAWS = {"draws", "replicates", "permutations", "rounds", "iterations"}
PLUGINS = ("-pno:randomly", "-pno:xdist", "-pno:cacheprovider", "-pno:cov", "-pno:terminalreporter")
EXAMPLES = ("--doctest-modules", "-odoctest_optionflags=NORMALIZE_WHITESPACE")
RECORD, RESULTS = Path(".mutants.json"), Path(".mutants.jsonl")
LOOKS = "test_results_cannot_be_changed"  # at every module of a package, and runs no line of it
CACHE = type(functools.cache(len))
SECONDS = (
    3  # of tests, as they were timed, for one mutant; four times as many when it is tried again
)
PATIENCE = 7  # times those seconds of processor time: fixtures are not in them
OUT_OF_TIME, SLOW = (
    "time",
    "slow",
)  # in the place of a test that fails; its tests are slow unchanged
NOT_KILLED = ("", SLOW)
FILES = 6
UNCHANGED = "unchanged"  # in the place of an operator
IMPORT = ""  # in the place of a test: what runs before the first one


def inert_children(node: ast.AST) -> list:
    """The parts of a node that are no behaviour."""
    if isinstance(node, ast.FunctionDef) and node.name == "__repr__":
        return [node]
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return [node]
    parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    parts += getattr(node, "decorator_list", [])
    parts += [k.value for k in getattr(node, "keywords", []) if k.arg == "strict"]
    if isinstance(node, ast.arguments):
        arguments = [*node.args[len(node.args) - len(node.defaults) :], *node.kwonlyargs]
        defaults = zip(arguments, [*node.defaults, *node.kw_defaults], strict=True)
        parts += [default for argument, default in defaults if argument.arg in DRAWS]
    return [*parts, node] if isinstance(node, ast.Raise | ast.JoinedStr) else parts


def compares_with_dust(node: ast.AST) -> bool:
    """Whether something is compared with a number so small that only rounding comes near it."""
    numbers = (constant.value for constant in ast.walk(node) if isinstance(constant, ast.Constant))
    dust = any(isinstance(number, float) and 0 < number <= 1e-6 for number in numbers)
    return isinstance(node, ast.Compare) and dust


def spans_of(nodes: Iterable[ast.AST | None]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in nodes if n]


def mutation_sites(path: Path) -> list[tuple[str, int, list[tuple[str, int]]]]:
    """The lines of a module, with what can be changed at each place."""
    tree = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    spans = spans_of(child for node in tree for child in inert_children(node))
    tolerance_spans = [*spans, *spans_of(node for node in tree if compares_with_dust(node))]
    nodes, mutations = list(ast_nodes(get_ast_from_path(path))), defaultdict(list)
    for name in operator_names():
        operator = get_operator(name)
        if name.endswith(NO_CHANGE) or operator.arguments():
            continue
        starts = [start for node in nodes for start, _ in operator().mutation_positions(node)]
        excluded = tolerance_spans if name.endswith(STRICTER) else spans
        for occurrence, start in enumerate(starts):
            if not any(first <= start < last for first, last in excluded):
                mutations[start].append((name, occurrence))
    return [(str(path), start[0], mutations[start]) for start in sorted(mutations)]


def draw(number: int, seed: int) -> list[tuple[str, int, str, int]]:
    """Mutants at random, each package with as many as its share of the places, and some places
    without a change.
    """
    chance = random.Random(seed)
    package_sites = [
        [p for path in sorted(k.rglob("*.py")) for p in mutation_sites(path)] for k in PACKAGES
    ]
    sizes = [round(number * len(sites) / sum(map(len, package_sites))) for sites in package_sites]
    mutants = []
    for sites, size in zip(package_sites, sizes, strict=True):
        shuffled = chance.sample(sites, len(sites))
        candidates = ((path, line, *chance.choice(options)) for path, line, options in shuffled)
        mutants += itertools.islice(filter(compiles, candidates), size)
    unchanged = [(p, line, UNCHANGED, 0) for p, line, *_ in chance.sample(mutants, number // 10)]
    chance.shuffle(sample := [*mutants, *unchanged])  # those that are tried first are a sample, too
    return sample


def compiles(mutant: tuple[str, int, str, int]) -> bool:
    """Whether it is a program at all: a `*` between parameters is no product."""
    path, _, name, occurrence = mutant
    try:
        compile(
            mutate_code(Path(path).read_text("utf-8"), get_operator(name)(), occurrence),
            path,
            "exec",
        )
    except SyntaxError:
        return False
    return True


def import_all() -> None:
    """Import what is mutated: what runs then is no test's."""
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            importlib.import_module(module_of(path))


def file_of(test: str) -> str:
    return test.split("::")[0]


def module_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def read_record() -> dict:
    """What is noted, at the lines where the code stands today."""
    if not RECORD.exists():
        return {"seconds": {}, "ran": {}, "text": {}}
    record = json.loads(RECORD.read_text())
    for file, before in record["text"].items():
        current = Path(file).read_text("utf-8") if Path(file).exists() else ""
        if current == before:
            continue
        ran = defaultdict(set)
        matcher = difflib.SequenceMatcher(None, before.splitlines(), current.splitlines(), False)
        for tag, first, last, new_first, new_last in matcher.get_opcodes():
            old = [set(record["ran"][file].get(str(k + 1), ())) for k in range(first, last)]
            for k in range(new_first, new_last):
                ran[str(k + 1)] = old[k - new_first] if tag == "equal" else set().union(*old)
        record["ran"][file] = {line: sorted(tests) for line, tests in ran.items()}
        record["text"][file] = current
    return record


class Recorder:
    """Notes the lines and processor seconds of each test that passes."""

    def __init__(self) -> None:
        sources = [str(package.resolve()) for package in PACKAGES]
        self.lines = coverage.Coverage(data_file=None, config_file=False, source=sources)
        self.lines.start()
        self.record, self.failed = read_record(), set()
        for ran in self.record["ran"].values():  # what runs before the first test is noted anew
            ran.update({line: [test for test in tests if test] for line, tests in ran.items()})
        files = (path for package in PACKAGES for path in package.rglob("*.py"))
        self.text = {str(path): path.read_text("utf-8") for path in files}

    def pytest_collection_finish(self):
        import_all()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.lines.switch_context(item.nodeid)
        start = time.process_time()
        result = yield
        self.record["seconds"][item.nodeid] = time.process_time() - start
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope == "function":
            return (yield)
        test = os.environ["PYTEST_CURRENT_TEST"].rsplit(" (", 1)[0]
        self.lines.switch_context(file_of(test))  # every test of the file has it
        try:
            return (yield)
        finally:
            self.lines.switch_context(test)

    def pytest_runtest_logreport(self, report):
        if not report.passed:  # a skipped test runs no line, and would be timed as if it did
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self):
        self.lines.stop()
        data = self.lines.get_data()
        for test in self.failed:
            self.record["seconds"].pop(test, None)
        for file in map(os.path.relpath, data.measured_files()):
            ran = self.record["ran"].setdefault(file, {})
            self.record["text"][file] = self.text[file]
            for line, tests in data.contexts_by_lineno(str(Path(file).resolve())).items():
                ran[str(line)] = sorted({*ran.get(str(line), ()), *tests} - self.failed)
        RECORD.write_text(json.dumps(self.record))


def codes(code: CodeType) -> list[CodeType]:
    """The code of every function in it."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return [*inner, *(nested for const in inner for nested in codes(const))]


class Mutant:
    """One module with other text: its own loader."""

    def __init__(self, path: str, line: int, name: str, occurrence: int):
        self.path, self.line, self.file = Path(path), line, str(Path(path).resolve())
        self.original = self.path.read_text("utf-8")
        changed = name != UNCHANGED
        self.text = (
            mutate_code(self.original, get_operator(name)(), occurrence)
            if changed
            else self.original
        )
        self.module, self.killer = module_of(self.path), ""
        nodes = [node for node in ast.walk(ast.parse(self.original)) if isinstance(node, ast.stmt)]
        enclosing = [node for node in nodes if node.lineno <= line <= node.end_lineno]
        functions = [node for node in enclosing if isinstance(node, ast.FunctionDef)]
        self.inside = any(node.body[0].lineno <= line for node in functions)
        self.statement = min(enclosing, key=lambda node: node.end_lineno - node.lineno)
        self.uses = self.lines_of_use() if not self.inside else set()

    def lines_of_use(self) -> set[int]:
        """Of a default value the lines of its function, of a constant those that name it."""
        if isinstance(self.statement, ast.FunctionDef):
            first = self.statement.body[0].lineno
            return set(range(first, self.statement.end_lineno + 1))
        targets = getattr(self.statement, "targets", [getattr(self.statement, "target", None)])
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        nodes = list(ast.walk(ast.parse(self.original)))
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
        return {
            node.lineno
            for function in functions
            for statement in function.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and node.id in names
        }

    def tests(self, record: dict, max_seconds: float) -> list[str]:
        """Those of the line; outside a function, of the lines that use it, or of the whole module.
        The quickest case of every test, then the second, and so on; then the others of their files.
        """
        ran, seconds = record["ran"].get(str(self.path), {}), record["seconds"]
        lines = [str(k) for k in range(self.statement.lineno, self.statement.end_lineno + 1)]
        if self.inside and ran.get(str(self.line)):
            lines = [str(self.line)]
        if not self.inside:
            lines = [str(line) for line in self.uses if ran.get(str(line))] or list(ran)
        covering = {test for line in lines for test in ran.get(line, ())}
        self.inside = self.inside and IMPORT not in covering
        fixtures = {file for file in covering if "::" not in file}
        covering |= {test for test in seconds if file_of(test) in fixtures}
        covering &= seconds.keys()
        if not self.inside:  # everything is imported anew, so that few files are looked at
            nearest = Counter(file_of(test) for test in covering).most_common(FILES)
            covering = {test for test in covering if file_of(test) in dict(nearest)}
            covering |= {test for test in seconds if LOOKS in test}
        files = {file_of(test) for test in covering}
        same_file = {test for test in seconds if file_of(test) in files} - covering
        total, selected = 0.0, []
        owed = dict(record["fixtures"])  # until a test of the file is chosen
        for tests in (covering, same_file):
            cases, order = Counter(), []
            for test in sorted(tests, key=lambda test: seconds[test] + owed.get(file_of(test), 0)):
                cases[test.split("[")[0]] += 1
                order.append((cases[test.split("[")[0]], test))
            for _, test in sorted(order, key=lambda entry: entry[0]):
                cost = seconds[test] + owed.get(file_of(test), 0.0)
                if total + cost < max_seconds:
                    owed.pop(file_of(test), None)
                    total += cost
                    selected.append(test)
        return selected

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.killer = self.killer or report.nodeid

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
        original_codes, mutated_codes = (
            codes(compile(text, self.file, "exec")) for text in (self.original, self.text)
        )
        replaceable = [
            function for function in functions if function.__code__.co_filename == self.file
        ]
        if not self.inside or not replaceable or len(original_codes) != len(mutated_codes):
            ours = [
                name for name in sys.modules if name.split(".")[0] in ("hqm", "tests", "adapters")
            ]
            for name in ours:
                del sys.modules[name]
            arguments = [*PLUGINS, *EXAMPLES, "-x", *tests]
            if tests and pytest.main(arguments, plugins=[self]) and not self.killer:
                self.killer = "collection"
            return bool(self.killer)
        code = {
            (c.co_qualname, c.co_firstlineno): n
            for c, n in zip(original_codes, mutated_codes, strict=True)
        }
        for function in replaceable:
            function.__code__ = code[
                function.__code__.co_qualname, function.__code__.co_firstlineno
            ]
        items = [item for item in session.items if item.nodeid in tests]
        items.sort(key=lambda item: tests.index(item.nodeid))
        for item, following in zip(items, [*items[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                self.killer = item.nodeid
                return True
        return False

    def killed_by(
        self, session, functions: list[FunctionType], tests: list[str], limit: int
    ) -> str:
        """The first test that fails; that it never ends; nothing where every test passes."""
        ended, killer, _ = self.run(session, functions, tests, limit)
        if ended:
            return killer
        self.text = self.original
        ended, failed, seconds = self.run(session, functions, tests, limit)
        return OUT_OF_TIME if ended and not failed and 3 * seconds < limit else SLOW

    def run(self, session, functions, tests: list[str], limit: int) -> tuple[bool, str, float]:
        """Whether a child came to its end, the first test that failed, its processor seconds."""
        reads, writes = os.pipe()
        if child := os.fork():
            os.close(writes)
            _, status, used = os.wait4(child, 0)
            killer = os.read(reads, 9999).decode()
            os.close(reads)
            return status == 0, killer, used.ru_utime + used.ru_stime
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            signal.alarm(20 * limit)  # it may also wait for ever
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if self.fails(session, functions, tests):
                os.write(writes, self.killer.encode())
        except BaseException as error:
            traceback.print_exc()
            os.write(writes, repr(error).encode()[:999])
        finally:
            os._exit(0)


class Runner:
    """Runs the mutants where pytest would run the tests that it has collected."""

    def __init__(self, sample: list[tuple[str, int, str, int]], record: dict):
        self.sample, self.record = sample, record

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        before = results()
        killed = {
            mutation
            for mutation, killers in before.items()
            if killers[-1] not in NOT_KILLED or mutation[2] == UNCHANGED
        }
        collected = {item.nodeid for item in session.items}
        seconds = {t: duration for t, duration in self.record["seconds"].items() if t in collected}
        self.record["seconds"] = seconds
        ran = (tests for lines in self.record["ran"].values() for tests in lines.values())
        shared = {test for tests in ran for test in tests if test and "::" not in test}
        # a fixture of several tests was timed with the first of them, which took longest
        self.record["fixtures"] = {
            file: max((seconds[test] for test in seconds if file_of(test) == file), default=0.0)
            for file in shared
        }
        import_all()
        gc.unfreeze()  # the tests freeze what is there when they begin
        functions = [
            candidate for candidate in gc.get_objects() if isinstance(candidate, FunctionType)
        ]
        for candidate in gc.get_objects():
            if isinstance(candidate, CACHE) and candidate.__module__.startswith("hqm"):
                candidate.cache_clear()  # of what the unchanged product found
        gc.freeze()
        # new ones first
        for mutation in sorted(self.sample, key=lambda mutation: len(before[mutation])):
            if mutation in killed:
                continue
            mutant = Mutant(*mutation)
            seconds = SECONDS * 4 ** len(before[mutation])
            tests = mutant.tests(self.record, seconds)
            killer = mutant.killed_by(session, functions, tests, PATIENCE * seconds)
            with RESULTS.open("a") as file:
                print(json.dumps([*mutation, killer]), file=file)
            if (killer in NOT_KILLED) == (mutation[2] != UNCHANGED):
                print(*mutation, killer, file=sys.stderr)
        print_shares(self.sample)
        return True


def results() -> dict[tuple, list[str]]:
    """Each mutant that was tried, with what killed it, every time."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    killers = defaultdict(list)
    for *mutation, killer in map(json.loads, lines):
        killers[tuple(mutation)].append(killer)
    return killers


def print_shares(sample: list[tuple[str, int, str, int]]) -> None:
    """How many of those tried survive, with a 95 % interval by Wilson."""
    killers = results()
    tried = [mutation for mutation in sample if mutation in killers]
    package_mutations = {str(package): [] for package in PACKAGES}
    for mutation in tried:
        if mutation[2] != UNCHANGED:
            package_mutations[str(Path(*Path(mutation[0]).parts[:2]))].append(mutation)
    rows = {
        "all": [mutation for group in package_mutations.values() for mutation in group],
        **package_mutations,
    }
    for moment, index in (("when first tried", 0), ("now", -1)):
        for name, mutants in rows.items():
            left = sum(killers[mutation][index] in NOT_KILLED for mutation in mutants)
            if mutants:
                low, high = binomtest(left, len(mutants)).proportion_ci(method="wilson")
                share = f"{left / len(mutants):.1%} ({low:.1%} to {high:.1%})"
                print(f"{name}: {left} of {len(mutants)} survive {moment}, {share}")
    late = sum(killers[mutation][-1] == OUT_OF_TIME for mutation in rows["all"])
    slow = sum(killers[mutation][-1] == SLOW for mutation in tried)
    controls = [killers[mutation][-1] for mutation in tried if mutation[2] == UNCHANGED]
    print(f"{late} killed by the time, {slow} whose tests are slow unchanged")
    print(f"{sum(map(bool, controls))} of {len(controls)} unchanged places failed")


def main(command: str, *arguments: str) -> None:
    if command == "record":
        pytest.main([*PLUGINS, *EXAMPLES, *arguments], plugins=[Recorder()])
    elif command == "shares":
        print_shares(draw(*map(int, arguments)))
    else:
        record = read_record()
        noted = {file_of(test) for test in record["seconds"]}
        files = sorted(file for file in noted if Path(file).exists())
        sample = draw(*map(int, arguments))
        pytest.main([*PLUGINS, *EXAMPLES, *files], plugins=[Runner(sample, record)])


if __name__ == "__main__":
    main(*sys.argv[1:])
