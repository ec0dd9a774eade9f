"""The numbers that are written in the code behind estimates and audits, and the tables of words
and the patterns behind readers and forms.

    python -m tests.procedure_constants     # writes tests/corpora/constants.jsonl; then `raise`

A case is a module, and its outcome the numbers in each of its functions and tables, or the content
hash of each table of words, and of the patterns in each function. A study seldom reaches the last rules of an estimate: where a limit or
a pattern is another one, this corpus says so all the same, and what is computed by it gets another
version.
"""

from __future__ import annotations

import ast
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from hqm.forms.make_forms import REWRITERS
from hqm.indicators import all_indicators
from hqm.scoring.parsers import PARSERS, STRICT
from hqm.signature import digest_all

ROOT = Path(__file__).parent.parent
FILE = Path(__file__).parent / "corpora" / "constants.jsonl"
NUMBERS = "constants.numbers"
WORDS = "constants.words"
PATTERNS = "constants.inline_patterns"
_ESTIMATING = ("hqm.indicators", "hqm.psychometrics")
_WITH_NUMBERS = (*_ESTIMATING, "hqm.auditing")
_WITH_WORDS = ("hqm.scoring", "hqm.forms")
_COMMON = frozenset({0, 1})
"""Steps and positions, which come and go with every line of code."""
Numbers = Mapping[str, list[float]]
"""Function or table of a module -> the numbers in it, in order of size."""


def constants_of(path: str) -> dict[str, Mapping[str, Any]]:
    """The numbers of a module, or its tables of words and patterns; each kind has one version for
    all modules.
    """
    if not (ROOT / path).is_file():
        return {}
    if path.startswith(_paths(_WITH_WORDS)):
        kinds = {WORDS: _tables(path), PATTERNS: _inline_patterns(path)}
        return {kind: texts for kind, texts in kinds.items() if texts}
    return {NUMBERS: _numbers(path)}


def changed_readings(path: str) -> Iterator[str]:
    """The readers, or the rules of forms, whose tables are in a module."""
    if path.startswith(_paths(["hqm.forms"])):
        yield from (f"form.{task}" for task in REWRITERS)
    elif "released" in path:
        yield from (f"reader.{name}" for name in PARSERS if name != STRICT.name)
    else:
        yield f"reader.{STRICT.name}"


def changed_statistics(before: Mapping[str, Numbers]) -> Iterator[str]:
    """The procedures that are computed by other numbers than before; none where numbers only moved
    from one function to another, or with their function into another module or an extension.

    Parameters
    ----------
    before
        Path of a module -> its numbers as they were.
    """
    paths = (path for path in modules() if path.startswith(_paths(_WITH_NUMBERS)))
    now = {path: _numbers(path) for path in {**before, **dict.fromkeys(paths)}}
    if _counts(before.values()) == _counts(now.values()):
        return
    held = {(name, *values) for numbers in before.values() for name, values in numbers.items()}
    changed = [
        (path, name)
        for path, numbers in now.items()
        # of a module that moved out of the core nothing is computed here
        if (ROOT / path).is_file()
        for name in {**before.get(path, {}), **numbers}
        if before.get(path, {}).get(name) != numbers.get(name)
        # a function that came from another module, with its numbers
        and (name in before.get(path, {}) or (name, *numbers[name]) not in held)
    ]
    if any("auditing" in path for path, _ in changed):
        yield "audit.numbers"
    users = _users()
    keys = {_key(path, name): path for path, name in changed}
    # a table of indicators names all their functions, and each of these stands for itself
    tables = {path for key, path in keys.items() if key in users["Indicator"]}
    reached: set[str] = set()
    waiting = list(keys)
    while waiting:
        name = waiting.pop()
        if name not in reached and name not in users["Indicator"]:
            reached.add(name)
            waiting += users.get(name, ())
    for indicator in all_indicators():
        compute = indicator.compute
        function = compute.func if isinstance(compute, partial) else compute
        path = f"{function.__module__.replace('.', '/')}.py"
        if _key(path, function.__qualname__.partition(".")[0]) in reached or path in tables:
            for family in indicator.family_names:
                yield f"statistic.{family}.{indicator.name}"


def _counts(modules: Iterable[Numbers]) -> Counter[float]:
    counts: Counter[float] = Counter()
    for numbers in modules:
        counts.update(chain.from_iterable(numbers.values()))
    return counts


def _users() -> Mapping[str, set[str]]:
    """Function, class or constant -> those that name it, of the modules that estimate."""
    users: dict[str, set[str]] = defaultdict(set)
    for folder in _paths(_ESTIMATING):
        for file in (ROOT / folder).rglob("*.py"):
            path = file.relative_to(ROOT).as_posix()
            for statement in ast.parse(file.read_text(encoding="utf-8")).body:
                user = _key(path, _name_of(statement))
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                        users[_key(path, node.id)].add(user)
    return users


def _key(path: str, name: str) -> str:
    """A name of a module; the public ones are those of the modules that import them too."""
    return f"{path}:{name}" if name.startswith("_") else name


def _tables(path: str) -> dict[str, str]:
    """Constant of a module -> the content hash of the texts and numbers in it."""
    tables = {}
    for statement in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and value is not None:
            constants = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
            if constants:
                tables[_name_of(statement)] = digest_all(map(repr, constants))
    return tables


def _inline_patterns(path: str) -> dict[str, str]:
    """Function or class of a module -> the content hash of the patterns that it gives to `re`."""
    patterns = {}
    for statement in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            arguments = chain.from_iterable(
                node.args[:1]
                for node in ast.walk(statement)
                if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.")
            )
            nodes = chain.from_iterable(map(ast.walk, arguments))
            texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
            if texts:
                patterns[statement.name] = digest_all(map(repr, texts))
    return patterns


@cache
def _numbers(path: str) -> Numbers:
    numbers: dict[str, list[float]] = {}
    if not (ROOT / path).is_file():
        return numbers
    for statement in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Constant) or type(node.value) not in (int, float):
                continue
            if node.value not in _COMMON:
                numbers.setdefault(_name_of(statement), []).append(node.value)
    return {name: sorted(values) for name, values in numbers.items()}


def _name_of(statement: ast.stmt) -> str:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return statement.name
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    target = next(iter(targets), getattr(statement, "target", None))
    return target.id if isinstance(target, ast.Name) else "module"


def _paths(packages: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{package.replace('.', '/')}/" for package in packages)


def modules() -> Iterator[str]:
    """Every module that has a number, or a table of words, that is frozen."""
    for folder in _paths((*_WITH_NUMBERS, *_WITH_WORDS)):
        for file in sorted((ROOT / folder).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if any(constants_of(path).values()):
                yield path


if __name__ == "__main__":
    held = FILE.read_text(encoding="utf-8").splitlines() if FILE.is_file() else []
    lines = dict.fromkeys((*held, *map(json.dumps, modules())))
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
