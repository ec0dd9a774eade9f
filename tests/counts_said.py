"""What a command says that it has done, as numbers."""

import re
from typing import NamedTuple


class RunCounts(NamedTuple):
    """Answers that were asked or read, those that were stored before, and those that are errors."""

    answers: int
    stored: int
    errors: int


_ANSWERS = re.compile(r"^(?:asked|read) (\d+), stored before (\d+), errors (\d+)$", re.MULTILINE)
_JUDGES = re.compile(r"^judges asked (\d+), errors (\d+)$", re.MULTILINE)


def run_counts(output: str) -> RunCounts:
    """What became of the answers of a run; its only such line."""
    (line,) = _ANSWERS.findall(output)
    return RunCounts(*map(int, line))


def judge_counts(output: str) -> tuple[int, int]:
    """The replies that judges were asked for, and those that are errors."""
    ((asked, errors),) = _JUDGES.findall(output)
    return int(asked), int(errors)
