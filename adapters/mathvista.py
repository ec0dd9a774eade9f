"""MathVista (testmini): 1,000 questions on mathematics in pictures, 540 of them multiple choice.

Release: lupantech/MathVista. A model read the answer out of each response (`extraction`), and a
rule made a prediction of it (`--parser mathvista`). The release's files of results hold response,
extraction, prediction and verdict of each question.

Official and paper. With `official` the recorded prediction is the answer (an option by its letter),
and what has none is wrong (with `--set withheld=official`: else it is left out); other answers are
read by the release's rule. `paper` reads the responses themselves with `strict`; a program, which
was not run, is unread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any

from hqm import Benchmark, DataError, Form, Item, Recording, Response
from hqm.benchmark.released_files import files_in
from hqm.files.records import located_records, read_json, required_field
from hqm.types import LETTERS, Task

_FIELDS = frozenset(("pid", "prediction", "response"))
"""The fields of a result."""


class MathVista(Benchmark):
    """The questions of MathVista's testmini."""

    paper_parser = "strict"
    unread_is_wrong = True

    def read(self) -> Form:
        """The questions, of the release's `testmini.json` or of one record a line."""
        path = self.data / "testmini.json"
        if not path.is_file():
            path = self.data / self.card.data.items
        return Form("original", tuple(starmap(self._item, _records(path))))

    def _item(self, location: str, record: Any) -> Item:
        choices = tuple(map(str, record.get("choices") or ()))
        answer = str(required_field(record, "answer", location))
        # an option is named by its text here, and by its letter in an item
        if choices and answer not in choices:
            raise DataError(f"the answer {answer!r:.60} is no option", location=location)
        task: Task = "vqa"
        target = answer
        if choices:
            task = "choice"
            target = LETTERS[choices.index(answer)]
        image = str(required_field(record, "image", location))
        metadata = required_field(record, "metadata", location)
        return Item(
            str(required_field(record, "pid", location)),
            str(required_field(record, "question", location)),
            task,
            target,
            image,
            str(metadata["task"]),
            str(metadata["source"]),
            image,
            choices,
            meta={
                "answer": answer,
                "answer_type": record.get("answer_type"),
                "precision": record.get("precision"),
                "skills": metadata.get("skills"),
            },
        )

    def recordings(self, path: Path) -> Sequence[Recording] | None:
        """The release's files of results: one object of all questions, or one record a line."""
        recordings = []
        for file in files_in(path):
            answers = self._answers(file)
            if answers:
                # The release's files are called `output_<model>.json`.
                name = file.name.split(".")[0].removeprefix("output_")
                recordings.append(Recording(name, "original", 0, answers))
        return recordings or None

    def _answers(self, path: Path) -> dict[str, Response]:
        """Question -> response with its prediction; none where the file is no file of results."""
        # Files of scores lie beside those of answers, and hold totals only.
        if path.suffix not in (".json", ".jsonl", ".gz") or path.name.startswith("scores_"):
            return {}
        answers: dict[str, Response] = {}
        for _, record in _records(path):
            if not isinstance(record, dict) or not record.keys() >= _FIELDS:
                return {}
            item = self.original.by_id.get(str(record["pid"]))
            # The prediction is what the release scores; `paper` reads what the model wrote.
            text = record["prediction" if self.scoring == "official" else "response"]
            if item is None:
                # A file of another set of questions is no file of these.
                return {}
            # a prediction is an option's text, which may also be a letter of another one
            if self.scoring == "official" and text in item.options:
                text = f"({LETTERS[item.options.index(text)]})"
            answers[item.id] = Response(text if isinstance(text, str) else "")
        return answers


def _records(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    """The records of a file, each with its place: of one object of all questions, or of one record
    a line.
    """
    if path.suffix == ".json":
        questions = read_json(path)
        if isinstance(questions, dict):
            return [(f"{path}: {pid}", record) for pid, record in questions.items()]
    return located_records(path)
