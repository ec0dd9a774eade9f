"""Mutate the product at random with cosmic-ray, and print the mutants that no test kills.

CONTRIBUTING.md has the commands. Each mutant runs the examples of its module and up to 40 tests of
its line in a child of this process; cosmic-ray draws no sample, and has one command for all.
"""

import ast
import doctest
import importlib.abc
import importlib.util
import os
import random
import sys
from collections import defaultdict
from pathlib import Path

import coverage
import pytest
import statsmodels.api  # noqa: F401  every child needs it, and it takes seconds
from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

PACKAGES = ("psychometrics", "indicators", "scoring", "benchmark")
SAME = ("_Eq_Is", "_NotEq_IsNot", "_Is_Eq", "_IsNot_NotEq")  # they change nothing here
PLAIN = ("-q", "-x", "-pno:randomly", "-pno:xdist", "-pno:cacheprovider")


def mutations(path: Path) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """(line, column) -> operators; none in annotations and in what is raised."""
    parts = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        parts += [getattr(node, "annotation", None), getattr(node, "returns", None)]
        parts += [node] if isinstance(node, ast.Raise) else []
    spans = [
        ((p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset)) for p in filter(None, parts)
    ]
    nodes, operators = list(ast_nodes(get_ast_from_path(path))), defaultdict(list)
    for name in operator_names():
        if name.endswith(SAME) or get_operator(name).arguments():
            continue
        positions = get_operator(name)().mutation_positions
        starts = [start for node in nodes for start, _ in positions(node)]
        for occurrence, start in enumerate(starts):
            if not any(first <= start < last for first, last in spans):
                operators[start].append((name, occurrence))
    return operators


class Mutant(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Loads one module from other text."""

    def __init__(self, path: Path, text: str):
        self.path, self.text = path, text
        self.name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, name, path, target=None):
        spec = importlib.util.spec_from_file_location(name, self.path.resolve(), loader=self)
        return spec if name == self.name else None

    def exec_module(self, module):
        exec(compile(self.text, module.__file__, "exec"), vars(module))

    def survives(self, tests: list[str]) -> bool:
        """Whether the module's examples and these tests pass, in a child."""
        if child := os.fork():
            return os.waitpid(child, 0)[1] == 0
        failed = True
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.meta_path.insert(0, self)
            module = importlib.import_module(self.name)
            failed = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed > 0
            failed = failed or bool(tests and pytest.main([*PLAIN, *tests]))
        finally:
            os._exit(failed)


def main(number: int, seed: int) -> None:
    chance, pick, survived = random.Random(seed), random.Random(seed), []
    data = coverage.CoverageData()
    data.read()
    packages = [sorted(Path("hqm", package).rglob("*.py")) for package in PACKAGES]
    drawn = [[(p, *at) for p in paths for at in sorted(mutations(p).items())] for paths in packages]
    for places in drawn:
        share = round(number * len(places) / sum(map(len, drawn)))
        for path, (line, _), operators in chance.sample(places, share):
            name, occurrence = chance.choice(operators)
            text = mutate_code(path.read_text("utf-8"), get_operator(name)(), occurrence)
            here = data.contexts_by_lineno(str(path.resolve())).get(line, [])
            tests = sorted({test.split("|")[0] for test in here} - {""})
            survived.append(Mutant(path, text).survives(pick.sample(tests, min(40, len(tests)))))
            if survived[-1]:
                print(f"{path}:{line} {name}", flush=True)
    print(f"{sum(survived)} of {len(survived)} mutants survive")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
