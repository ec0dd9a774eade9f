"""Files of releases, as several adapters read them: answers by id, prompts in a release's code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import starmap
from pathlib import Path

from hqm.errors import AnswerError, DataError
from hqm.files.records import located_records, read_json, read_text, required_field
from hqm.imports.match import check_questions
from hqm.imports.recordings import ItemAnswers
from hqm.imports.row import released_answer
from hqm.types import ORIGINAL, Form, Item, Response, group_by


def released_form(path: Path, make_item: Callable[[str, dict[str, object]], Item]) -> Form:
    """Return the original form: of each record of a file, with its place, the item made of it."""
    return Form(ORIGINAL, tuple(starmap(make_item, located_records(path))))


def records_by(path: Path, name: str) -> dict[str, dict[str, object]]:
    """Return the records of a file, each under the text of one of its fields."""
    records = {}
    for location, record in located_records(path):
        records[str(required_field(record, name, location))] = record
    return records


def either_field(record: Mapping[str, object], name: str, second: str, location: str) -> object:
    """Return a field of a record or, where it has none of the name, the other one, which must be
    there.
    """
    if name in record:
        return record[name]
    return required_field(record, second, location)


def json_list(path: Path) -> list[object]:
    """Return the elements of a JSON file that holds a list; none of any other file."""
    if path.suffix != ".json":
        return []
    value = read_json(path)
    if isinstance(value, list):
        return value
    return []


def answers_by_id(path: Path, form: Form, in_release: Callable[[str], bool]) -> dict[str, Response]:
    """Read records of `id` and `response`, with the question as `query` where they repeat it.

    Parameters
    ----------
    in_release
        Whether an id that the form does not have belongs to the release; its answer is left out.

    Raises
    ------
    AnswerError
        An id is unknown or answered twice, or a question is another than the item's.
    """
    answers = ItemAnswers(form)
    questions: list[tuple[str, str, Item]] = []
    for location, record in located_records(path):
        key = str(required_field(record, "id", location))
        # an id of another part of the release is passed over; an unknown one is refused by `put`
        if key in form.by_id or not in_release(key):
            answers.put(key, released_answer(record, ("response",), location), location)
            questions.append((location, str(record.get("query") or ""), form.by_id[key]))
    check_questions(questions, path)
    return answers


def first_file(*paths: Path) -> Path | None:
    """Return the first of the places of a file where there is one; releases move their files."""
    return next(filter(Path.is_file, paths), None)


def files_in(path: Path, *suffixes: str) -> list[Path]:
    """Return the files of a folder in the order of their names, those with one of these endings
    where any are given; or the one file.
    """
    if not path.is_dir():
        return [path]
    # The order of `iterdir` is that of the file system, and differs between machines.
    return sorted(p for p in path.iterdir() if not suffixes or p.suffix in suffixes)


class ItemQueue:
    """Items that a file identifies by a value they share, such as a picture: each is taken once.

    Parameters
    ----------
    items
        In the order in which they are taken.
    shared
        Returns what an item is named by.
    """

    def __init__(self, items: Iterable[Item], shared: Callable[[Item], Hashable]) -> None:
        self._left = group_by(items, shared)

    def take(self, shared: Hashable, location: str) -> str:
        """Return the id of the next item that is named so.

        Raises
        ------
        AnswerError
            All of them are taken, or there is none.
        """
        if not self._left.get(shared):
            raise AnswerError(
                f"there is no further question about {shared!r:.100}",
                location=location,
                remedy="Keep one answer for each question of the release.",
            )
        return self._left[shared].pop(0).id


def released_file(path: Path, benchmark: str, missing: str) -> Path:
    """Return the path of a file with the release's prompt.

    Raises
    ------
    DataError
        It is not there; `missing` is the sentence.
    """
    if not path.is_file():
        raise DataError(
            missing,
            location=str(path),
            remedy=f"Fetch it (`hqm fetch {benchmark}`), or use --set prompts=hqm.",
        )
    return path


def texts_in(path: Path) -> list[str]:
    """Return the texts in a Python file, which is not run; none if it cannot be parsed."""
    try:
        # read as data: a release's script could do anything when it is run or imported
        nodes = list(ast.walk(ast.parse(read_text(path))))
    except SyntaxError:
        return []
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def name_placeholders(template: str, names: Sequence[str], path: Path, prompt: str) -> str:
    """Give the places `{}` of a template their names, in order.

    >>> name_placeholders("Q: {} A: {}", ["question", "answer"], Path("x"), "the prompt")
    'Q: {question} A: {answer}'

    Raises
    ------
    DataError
        There are more or fewer of them.
    """
    # the release fills its places in order; a change of their number is another prompt
    first, *segments = template.split("{}")
    if len(segments) != len(names):
        raise DataError(
            f"{prompt} has {len(segments)} places {{}}, not {len(names)}", location=str(path)
        )
    return first + "".join(f"{{{name}}}{text}" for name, text in zip(names, segments, strict=True))
