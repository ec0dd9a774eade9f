"""Texts that tests assert, and functions that several files of tests build alike.

A text is HQM's own wording where four of its words stand together in a text of the product. Texts
that come from outside are data and may stand in a test: questions, captions and prompts of
benchmarks, which are told by the modules that write such ones, and those of `QUOTED_QUESTIONS`.
"""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar, cast

from tests.conftest import ROOT

MIN_WORDS = 6
"""Words of a text that belongs into the catalogue."""

N_WORDS_IN_A_ROW = 4
"""Words in a row by which a text is known to be the product's."""

QUESTIONS = (
    "hqm/forms/rephrase.py",
    "hqm/forms/make_forms.py",
    "hqm/forms/negate.py",
    "hqm/forms/wording.py",
    "extensions/hqm-build/hqm_build/recipes/",
    "benchmarks/",
)
"""Where questions, captions and prompts are written: a text with their words is data."""

QUOTED_QUESTIONS = (
    "Is there a dog in the image?",  # a question as POPE asks it
    "There is no dog in the image.",  # an answer to be read
    "There is a dog and a cat",  # an answer to be read
    "It shows a dog and a cat.",  # an answer to be read
    "Failed to obtain answer via API",  # what VLMEvalKit writes in the place of an answer
    "complete -o default -F",  # a command of bash
    "Evaluating the Quality of Hallucination Benchmarks",  # the title of a paper
    '\n"""Answers are split into facts',  # the source of an adapter
    "the reliability of one run is 0.95",  # a sentence that the report must not forbid
)
"""The beginnings of further texts that are no wording of HQM."""

AssertedText = tuple[str, int, str]
NodeType = TypeVar("NodeType", bound=ast.AST)
SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop)


@functools.cache
def parsed(text: str) -> ast.Module:
    """The tree of a file, which several rules walk and none changes."""
    return ast.parse(text)


def descendants(root: ast.AST) -> list[ast.AST]:
    """A node and all below it, in the order of `ast.walk` and in a third of its time: without the
    signs of operators, and without those that say whether a name is read or bound.
    """
    nodes = [root]
    for node in nodes:
        for value in vars(node).values():
            if isinstance(value, list):
                nodes += [child for child in value if isinstance(child, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, SIGNS):
                nodes.append(value)
    return nodes


@functools.cache
def walked(text: str) -> list[ast.AST]:
    """Every node of the tree of a file: several rules ask for all of them."""
    return descendants(parsed(text))


@functools.cache
def walked_by_type(text: str) -> dict[type[ast.AST], list[ast.AST]]:
    """Every node of the tree of a file, by its type: many rules ask for a few types."""
    nodes: dict[type[ast.AST], list[ast.AST]] = defaultdict(list)
    for node in walked(text):
        nodes[type(node)].append(node)
    return nodes


def nodes_of(text: str, *types: type[NodeType]) -> Iterator[NodeType]:
    """The nodes of these types in the tree of a file, type by type."""
    nodes = walked_by_type(text)
    for node_type in types:
        yield from cast("list[NodeType]", nodes.get(node_type, []))


@functools.cache
def files_of_tests() -> dict[str, str]:
    """The text of every file of tests; what measures is none."""
    paths = sorted([*(ROOT / "tests").rglob("*.py"), *ROOT.glob("extensions/*/tests/*.py")])
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if not path.is_relative_to(ROOT / "tests" / "perf")
    }


def words(text: str) -> list[str]:
    """The words of a text, without what stands around them."""
    stripped = (token.strip(".,:;!?()[]{}<>\"'`*").lower() for token in text.split())
    return [word for word in stripped if any(letter.isalpha() for letter in word)]


def word_runs(text: str) -> set[tuple[str, ...]]:
    """The words of a text that stand in a row."""
    all_words = words(text)
    return {
        tuple(all_words[i : i + N_WORDS_IN_A_ROW])
        for i in range(len(all_words) - N_WORDS_IN_A_ROW + 1)
    }


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts in a piece of code, with a gap where a value is put in."""
    if isinstance(node, ast.JoinedStr):
        parts = (v.value if isinstance(v, ast.Constant) else " {} " for v in node.values)
        yield node.lineno, "".join(map(str, parts))
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    for inner in ast.iter_child_nodes(node):
        yield from texts(inner)


def spoken(text: str) -> Iterator[str]:
    """The texts in a file that are no docstrings, with a gap where a value is put in."""
    nodes, silent = walked(text), set()
    for node in nodes:
        documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            silent.add(node.body[0].value)  # type: ignore[attr-defined]
        elif isinstance(node, ast.JoinedStr):
            silent.update(descendants(node)[1:])
    for node in nodes:
        if isinstance(node, ast.JoinedStr | ast.Constant) and node not in silent:
            yield from (text for _, text in texts(node))


def asserted_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts that a file asserts: in an assertion or a `match`, or by a name that stands there
    and is given in the function, in its parameters or in the module.
    """
    module = dict(_assigned(tree.body))
    for function in tree.body:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes = descendants(function)
            expressions = [node.test for node in nodes if isinstance(node, ast.Assert)]
            expressions += [
                n.value for n in nodes if isinstance(n, ast.keyword) and n.arg == "match"
            ]
            names = {
                n.id for node in expressions for n in descendants(node) if isinstance(n, ast.Name)
            }
            assigned = [*_assigned(nodes), *_parameters(function, module)]
            local = {name for name, _ in assigned}
            expressions += [value for name, value in assigned if name in names]
            expressions += [value for name, value in module.items() if name in names - local]
            for node in expressions:
                yield from texts(node)


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    plain = (ast.Constant, ast.JoinedStr, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.BinOp)
    for node in nodes:
        if isinstance(node, ast.Assign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = node.value if isinstance(node, ast.Assign) else node.iter
            for name in (n for target in targets for n in descendants(target)):
                if isinstance(name, ast.Name) and isinstance(value, plain):
                    yield name.id, value


def _parameters(
    function: ast.FunctionDef | ast.AsyncFunctionDef, module: dict[str, ast.expr]
) -> Iterator[tuple[str, ast.expr]]:
    for mark in function.decorator_list:
        if not isinstance(mark, ast.Call) or not ast.unparse(mark.func).endswith("parametrize"):
            continue
        argnames, rows = mark.args[0], mark.args[1]
        names = [name.strip(", '\"()[]") for name in ast.unparse(argnames).split(",")]
        rows = module.get(rows.id, rows) if isinstance(rows, ast.Name) else rows
        for row in getattr(rows, "elts", []):
            cells = row.args if isinstance(row, ast.Call) else getattr(row, "elts", [row])
            yield from zip(names, cells if len(names) > 1 else [row], strict=False)


def own_texts(files: dict[str, str]) -> list[AssertedText]:
    """The asserted texts of six words or more that are HQM's own wording."""
    asserted = [
        (file, line, text)
        for file, source in files.items()
        for line, text in asserted_in(parsed(source))
        if len(words(text)) >= MIN_WORDS and not text.lstrip("'").startswith(QUOTED_QUESTIONS)
    ]
    ours, theirs = rows_of_the_product()
    return sorted(
        {
            asserted_text
            for asserted_text in asserted
            if word_runs(asserted_text[2]) & ours and not word_runs(asserted_text[2]) & theirs
        }
    )


@functools.cache
def rows_of_the_product() -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """The words that stand in a row in HQM's own texts, and in those where questions are written."""
    ours: set[tuple[str, ...]] = set()
    theirs: set[tuple[str, ...]] = set()
    for path in product_files():
        name = path.relative_to(ROOT).as_posix()
        spoken_texts = spoken(path.read_text(encoding="utf-8"))
        rows = {row for text in spoken_texts for row in word_runs(text)}
        (theirs if name.startswith(QUESTIONS) else ours).update(rows)
    return ours, theirs


def product_files() -> Iterator[Path]:
    for folder in ("hqm", "reports", "adapters", "benchmarks"):
        yield from sorted((ROOT / folder).rglob("*.py"))
    yield from sorted(ROOT.glob("extensions/*/hqm_*/**/*.py"))


def built_alike(files: dict[str, str]) -> list[str]:
    """Helpers and fixtures of three lines or more whose bodies are the same in several files."""
    functions_by_body = defaultdict(list)
    for file, source in files.items():
        for node in nodes_of(source, ast.FunctionDef):
            if not node.name.startswith("test_"):
                documented = ast.get_docstring(node, clean=False) is not None
                body = "\n".join(map(ast.unparse, node.body[documented:]))
                if body.count("\n") >= 2:
                    functions_by_body[body].append(f"{file}:{node.name}")
    return [", ".join(alike) for alike in functions_by_body.values() if len(alike) > 1]
