"""Read a prompt out of a release's own program, without running it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from hqm.errors import DataError
from hqm.files.records import read_text


def template_in(
    path: Path | str, variable: str, function: str = "", places: Mapping[str, str] = {}
) -> str:
    r"""The text that a program puts into a variable, piece by piece, as a template.

    Parameters
    ----------
    path
        A Python file of the release. It is parsed, never run.
    variable
        The variable that the text is assigned to, and that `+=` makes longer.
    function
        The function it stands in; empty for the top of the file.
    places
        What the program puts in between (as its source has it, `sample['question']`) -> the name of
        the place in the template (`question`).

    Raises
    ------
    DataError
        The file cannot be parsed, or has no such text, or puts something in between that `places`
        does not name.

    Examples
    --------
    >>> import tempfile
    >>> source = "def ask(s):\n    p = 'Q: '\n    p += s['q']\n    p += '\\nA:'\n"
    >>> with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
    ...     _ = file.write(source); file.flush()
    ...     template_in(Path(file.name), "p", "ask", {"s['q']": "question"})
    'Q: {question}\nA:'
    """
    path = Path(path)
    try:
        tree: ast.AST = ast.parse(read_text(path))
    except SyntaxError as error:
        raise DataError(f"it is no Python: {error.msg}", place=f"{path}:{error.lineno}") from None
    if function:
        named = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name == function
        ]
        if not named:
            raise DataError(
                f"it has no function {function!r}",
                place=str(path),
                remedy="Take the release's own file.",
            )
        tree = named[0]
    pieces: list[str] = []
    for node in _in_order(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and target.id == variable:
            pieces = [
                *([] if isinstance(node, ast.Assign) else pieces),
                _piece(node.value, places, path),
            ]
    if not pieces:
        raise DataError(
            f"it gives {variable!r} no text", place=str(path), remedy="Take the release's own file."
        )
    return "".join(pieces)


def _in_order(tree: ast.AST) -> list[ast.Assign | ast.AugAssign]:
    assignments = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AugAssign))]
    return sorted(assignments, key=lambda node: node.lineno)


def _piece(value: ast.expr, places: Mapping[str, str], path: Path) -> str:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    source = ast.unparse(value)
    if source not in places:
        raise DataError(
            f"the prompt takes in {source}, which is unknown", place=f"{path}:{value.lineno}"
        )
    return f"{{{places[source]}}}"
