"""Results of MME's evaluation tool: a folder for a model, and in it `<task>.txt`, a line a
question: picture, question, right answer and the model's answer, with tabs between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from hqm.errors import AnswerError
from hqm.files.records import file_stem, read_text
from hqm.imports.log_file import LogFile, is_mme_result
from hqm.imports.row import Log, Row
from hqm.types import Response

SOURCE = "mme"
_N_CELLS = 4


def is_log(file: LogFile) -> bool:
    """Whether a file has such lines."""
    return is_mme_result(file.path)


def read_log(file: LogFile) -> Log:
    """The rows of one task's file; the folder names the model."""
    path = file.path
    return Log(path=str(path), tool="MME's evaluation tool", rows=tuple(_rows(path)))


def _rows(path: Path) -> Iterator[Row]:
    task = file_stem(path)
    for number, line in enumerate(read_text(path).splitlines(), 1):
        location = f"{path}:{number}"
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != _N_CELLS:
            raise AnswerError(
                f"the line has {len(cells)} cells, and not {_N_CELLS}",
                location=location,
                remedy="Write picture, question, right answer and answer, with tabs between them.",
            )
        picture, question, key, answer = map(str.strip, cells)
        # converters of other tools write the name of the question's file for that of the picture
        picture = f"{task}/{PurePosixPath(picture).stem}"
        yield Row(
            place=location,
            respondent=path.parent.name,
            answer=Response(answer) if answer else Response("", "error", "no answer is recorded"),
            image=picture,
            question=question,
            key=key,
            parts=(task,),
            task="mme",
        )
