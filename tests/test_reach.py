"""Every definition of `hqm.psychometrics` is reached by a command: the test walks from the
commands, over names.
"""

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "hqm.psychometrics"
ROOTS = (
    "hqm.cli",
    "hqm.commands.",
    "hqm.indicators.",
    "hqm.adapters.",
    "hqm.benchmarks.",
    "hqm.reports.",
    "hqm_",
)
"""Where the walk begins: the commands, and what they load by a name that stands in a text."""
HARMLESS = {
    "cache",
    "cached_property",
    "contextmanager",
    "dataclass",
    "lru_cache",
    "overload",
    "total_ordering",
}
"""Decorators that put a function into no table; a function under any other is reached with its
module.
"""

LIBRARY_ONLY: Mapping[str, str] = {
    "signal_detection_from_rates": (
        "docs/theory/4_validity.md takes a published table apart with it"
    ),
    "_MOVED_NAMES": "names of version 0.2.0, found until 0.4.0",
}
"""What no command reaches yet, and why it is kept: at most ten names."""


class Program:
    """Modules as trees, and what each of their names means.

    A definition (function, class, or assignment to a name) is reached when a reached definition
    names it. A method is reached when its class is, and when reached code uses an attribute of the
    method's name. The statements of a module that define nothing are reached with the module.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.trees = {module: ast.parse(text) for module, text in sources.items()}
        self.names = {module: dict(imports(tree, module)) for module, tree in self.trees.items()}
        self.definitions: dict[str, ast.stmt] = {}
        self._read: dict[int, tuple[set[str], set[str]]] = {}
        for module, tree in self.trees.items():
            for statement in tree.body:
                for name in defined(statement):
                    self.names[module].setdefault(name, f"{module}.{name}")
                    self.definitions[f"{module}.{name}"] = statement

    def origin(self, name: str) -> str:
        """Where a name is defined, through the modules that only pass it on."""
        passed_on = ""
        while name not in self.definitions and name != passed_on:
            passed_on = name
            module, _, member = name.rpartition(".")
            name = self.names.get(module, {}).get(member, name)
        return name

    def named(self, code: ast.AST, module: str) -> Iterator[str]:
        """What a piece of code names: modules and definitions."""
        name_origins = {**self.names[module], **dict(imports(code, module))}
        for local_name in local(code):
            name_origins.pop(local_name, None)
        for node in nodes_of(code):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from (self.origin(target) for _, target in imports(node, module))
            elif isinstance(node, ast.Name) and node.id in name_origins:
                yield self.origin(name_origins[node.id])
            elif isinstance(node, ast.Attribute):
                first, *tail = dotted(node)
                if first in name_origins:
                    yield self.origin(".".join([self.origin(name_origins[first]), *tail]))

    def read(self, code: ast.AST, module: str) -> tuple[set[str], set[str]]:
        """What a piece of code names, and the attributes that it uses: read once for every walk."""
        if id(code) not in self._read:
            attributes = {node.attr for node in nodes_of(code) if isinstance(node, ast.Attribute)}
            self._read[id(code)] = set(self.named(code, module)), attributes
        return self._read[id(code)]

    def reached(self, roots: Iterable[str]) -> set[str]:
        """All definitions that the roots reach; methods as `module.Class.method`."""
        return Walk(self).from_(roots)


class Walk:
    """One walk through a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.done: set[str] = set()
        self.attributes: set[str] = set()
        self.methods: dict[str, tuple[ast.stmt, str]] = {}
        self.todo: list[str] = []

    def from_(self, roots: Iterable[str]) -> set[str]:
        self.todo += roots
        while self.todo:
            while self.todo:
                self.enter(self.todo.pop())
            for name in [n for n in self.methods if n.rpartition(".")[2] in self.attributes]:
                self.done.add(name)
                self.read(*self.methods.pop(name))
        return self.done & {*self.program.definitions, *(n for n in self.done if n.count("."))}

    def enter(self, name: str) -> None:
        if name in self.done:
            return
        if name in self.program.trees:
            self.done.add(name)
            for statement in self.program.trees[name].body:
                if isinstance(statement, ast.Import | ast.ImportFrom):
                    # importing runs a module's statements, and reaches none of its definitions
                    self.todo += {target for _, target in imports(statement, name)} & set(
                        self.program.trees
                    )
                    self.todo += {
                        target.rpartition(".")[0] for _, target in imports(statement, name)
                    } & set(self.program.trees)
                elif not defined(statement):
                    self.read(statement, name)
                elif registers(statement) and not name.startswith(PACKAGE):
                    self.todo += [f"{name}.{defined_name}" for defined_name in defined(statement)]
        elif name in self.program.definitions:
            self.done.add(name)
            module = name.rpartition(".")[0]
            self.todo.append(module)
            statement = self.program.definitions[name]
            if not isinstance(statement, ast.ClassDef):
                self.read(statement, module)
                return
            for node in [
                *statement.bases,
                *statement.keywords,
                *statement.decorator_list,
                *statement.body,
            ]:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                    self.methods[f"{name}.{node.name}"] = (node, module)
                else:
                    self.read(node, module)

    def read(self, code: ast.AST, module: str) -> None:
        names, attributes = self.program.read(code, module)
        self.todo += names
        self.attributes |= attributes


@functools.lru_cache(maxsize=4)  # all looks at one piece follow each other
def nodes_of(code: ast.AST) -> tuple[ast.AST, ...]:
    """A piece of code and all that is in it: it is looked through for several things."""
    return tuple(ast.walk(code))


def imports(code: ast.AST, module: str) -> Iterator[tuple[str, str]]:
    """(name here, what it means) for every import in a piece of code."""
    for node in nodes_of(code):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    (alias.asname, alias.name)
                    if alias.asname
                    else (alias.name.partition(".")[0],) * 2
                )
        if isinstance(node, ast.ImportFrom):
            source = ".".join(filter(None, (module if node.level else "", node.module)))
            yield from (
                (alias.asname or alias.name, f"{source}.{alias.name}") for alias in node.names
            )


def defined(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [
            node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
        ]
    return []


def registers(statement: ast.stmt) -> bool:
    """Whether a decorator may put the function into a table."""
    decorators = getattr(statement, "decorator_list", [])
    heads = {dotted(d.func if isinstance(d, ast.Call) else d)[-1] for d in decorators}
    return bool(heads - HARMLESS)


def local(code: ast.AST) -> set[str]:
    """The names that a function defines itself: its parameters and what it assigns."""
    if not isinstance(code, ast.FunctionDef):
        return set()
    stored = {
        n.id for n in nodes_of(code) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return stored | {n.arg for n in nodes_of(code) if isinstance(n, ast.arg)}


def dotted(node: ast.expr) -> list[str]:
    """`a.b.c` as its three names; empty strings where something else stands."""
    if isinstance(node, ast.Attribute):
        return [*dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else [""]


def sources() -> dict[str, str]:
    """The text of every module of the product and its extensions; of `hqm` itself the stub, which
    says what it exports.
    """
    texts = {}
    for folder in ("hqm", "adapters", "benchmarks", "reports"):
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts if folder == "hqm" else ("hqm", *parts)).removesuffix(".__init__")
            texts[name] = path.read_text("utf-8")
    for path in ROOT.glob("extensions/*/hqm_*/**/*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts[2:]
        texts[".".join(parts).removesuffix(".__init__")] = path.read_text("utf-8")
    return {**texts, "hqm": (ROOT / "hqm" / "__init__.pyi").read_text("utf-8")}


def package_definitions(program: Program) -> set[str]:
    """All definitions of the package, methods and properties too."""
    names = {
        name
        for name in program.definitions
        if name.startswith(f"{PACKAGE}.") and not name.endswith("__")
    }
    methods = {
        f"{name}.{node.name}"
        for name in names
        if isinstance(tree := program.definitions[name], ast.ClassDef)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")
    }
    return names | methods


def test_a_command_reaches_every_definition_of_psychometrics() -> None:
    program = Program(sources())
    roots = [n for n in (*program.trees, *program.definitions) if f"{n}.".startswith(ROOTS)]
    reached = program.reached(roots)
    library_only = {program.origin(f"{PACKAGE}.{name}") for name in LIBRARY_ONLY}
    missing = sorted(package_definitions(program) - program.reached([*roots, *library_only]))
    assert not missing, "no command reaches, and the list does not keep:\n" + "\n".join(missing)
    assert not sorted(library_only & reached), "the list keeps what a command reaches by now"
    assert len(LIBRARY_ONLY) <= 10


def test_the_walk_finds_what_nothing_names() -> None:
    program = Program(
        {
            "hqm.cli": "from hqm.tables import TABLE\ndef main():\n    return TABLE['a']().shown",
            "hqm.tables": "from hqm.psychometrics import used, unused\nTABLE = {'a': used}",
            "hqm.psychometrics": "from hqm.psychometrics.a import used, unused",
            "hqm.psychometrics.a": (
                "class Result:\n    def shown(self): return _helper()\n    def hidden(self): return"
                " _other()\ndef _helper(): ...\ndef _other(): ...\ndef used(): return Result()\ndef"
                " unused(): return used()"
            ),
        }
    )
    missing = package_definitions(program) - program.reached(["hqm.cli.main"])
    assert {name.removeprefix("hqm.psychometrics.a.") for name in missing} == {
        "Result.hidden",
        "_other",
        "unused",
    }
