"""Files of releases, as several adapters read them: answers by id, prompts in a release's code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hqm.errors import AnswerError, DataError
from hqm.files.records import read_records, read_text, take
from hqm.imports.match import check_questions
from hqm.imports.row import answer_text
from hqm.types import Form, Item, Response


def placed_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read records, each with its place for messages: `answers.json: record 3`."""
    for i, record in enumerate(read_records(path), 1):
        yield f"{path}: record {i}", record


def answers_by_id(
    path: Path, form: Form, release: str, in_release: Callable[[str], bool]
) -> dict[str, Response]:
    """Read records of `id` and `response`, with the question as `query` where they repeat it.

    Parameters
    ----------
    release
        The release's name, for messages.
    in_release
        Whether an id that the form does not have belongs to the release; its answer is left out.

    Raises
    ------
    AnswerError
        An id is unknown or answered twice, or a question is another than the item's.
    """
    given: dict[str, Response] = {}
    asked: list[tuple[str, str, Item]] = []
    for place, record in placed_records(path):
        key = str(take(record, "id", place))
        if key in given:
            raise AnswerError(
                f"the id {key} is answered twice",
                place=place,
                remedy="Keep one answer for each id.",
            )
        if key in form.by_id:
            given[key] = Response(answer_text(take(record, "response", place), place))
            asked.append((place, str(record.get("query") or ""), form.by_id[key]))
        elif not in_release(key):
            remedy = f"Check that the file belongs to {release}."
            raise AnswerError(f"{release} has no id {key!r}", place=place, remedy=remedy)
    check_questions(asked, path)
    return given


def released_file(path: Path, benchmark: str, missing: str) -> Path:
    """Return the path of a file with the release's prompt.

    Raises
    ------
    DataError
        It is not there; `missing` is the sentence.
    """
    if not path.is_file():
        remedy = f"Fetch it (`hqm fetch {benchmark}`), or use --set prompts=hqm."
        raise DataError(missing, place=str(path), remedy=remedy)
    return path


def texts_in(path: Path) -> list[str]:
    """Return the texts in a Python file, which is not run; none if it cannot be parsed."""
    try:
        nodes = list(ast.walk(ast.parse(read_text(path))))
    except SyntaxError:
        return []
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def name_places(template: str, places: Sequence[str], place: Path, prompt: str) -> str:
    """Give the places `{}` of a template their names, in order.

    >>> name_places("Q: {} A: {}", ["question", "answer"], Path("x"), "the prompt")
    'Q: {question} A: {answer}'

    Raises
    ------
    DataError
        There are more or fewer of them.
    """
    first, *others = template.split("{}")
    if len(others) != len(places):
        what = f"{prompt} has {len(others)} places {{}}, not {len(places)}"
        raise DataError(what, place=str(place))
    return first + "".join(f"{{{name}}}{text}" for name, text in zip(places, others, strict=True))
