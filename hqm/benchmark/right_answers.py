"""The right answers and options of a new benchmark's questions, and the task that they speak of."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hqm.benchmark.columns import Chosen
from hqm.benchmark.sources import SourceRow
from hqm.errors import DataError
from hqm.types import LETTERS, Task

_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
"""What means yes and no where the task is said to be yes or no."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The right answer of one question, and its options."""

    target: Any
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """The right answers of all questions, and their task."""

    task: Task
    rows: tuple[Answered, ...]


Cells = tuple[SourceRow, Any, Any]
"""A row, its answer and its options as the cells have them."""


def answers_of(cells: Sequence[Cells], chosen: Chosen, task: Task | None) -> Answers:
    """The right answers of questions, checked; `task` is told from them unless given.

    Raises
    ------
    DataError
        An answer is missing, or has no place in the task or among the options; options are no list.
    """
    options = [_options(row, cell, chosen) for row, _, cell in cells]
    plain = [_plain(answer) for _, answer, _ in cells]
    chosen_task = task or task_of(
        [
            {
                key: value
                for key, value in (("target", target), ("options", listed))
                if value not in (None, ())
            }
            for target, (listed, _) in zip(plain, options, strict=True)
        ]
    )
    rows = []
    zero_based = chosen_task == "choice" and _counts_from_zero(
        plain, [listed for listed, _ in options]
    )
    for (row, _, _), target, (listed, names) in zip(cells, plain, options, strict=True):
        place = row.at(chosen.column("target"))
        if chosen_task == "yes_no":
            rows.append(Answered(_yes_or_no(target, place, said=task is not None)))
        elif chosen_task == "choice":
            letter = _letter(target, listed, names, zero_based, place, _options_place(row, chosen))
            rows.append(Answered(letter, listed))
        else:
            if target in (None, "", []) and chosen_task == "vqa":
                raise DataError(
                    "there is no answer",
                    place=place,
                    remedy="Write the right answer, or remove the row.",
                )
            rows.append(Answered(target))
    return Answers(chosen_task, tuple(rows))


def task_of(rows: Sequence[Mapping[str, Any]]) -> Task:
    """The task that answers and options speak of.

    >>> task_of([{"target": "Yes"}, {"target": "no"}]), task_of([{"target": "red"}]), task_of([{}])
    ('yes_no', 'vqa', 'caption')
    """
    if any("options" in row for row in rows):
        return "choice"
    targets = [str(row["target"]).lower().rstrip(".") for row in rows if "target" in row]
    if not targets:
        return "caption"
    # one slip of the pen must not make a yes/no benchmark one of short answers
    return (
        "yes_no"
        if sum(target in ("yes", "no") for target in targets) > 0.5 * len(targets)
        else "vqa"
    )


def _plain(answer: Any) -> Any:
    """An answer as items have it: true and false are yes and no, a list of one is what it holds."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, list):
        return answer[0] if len(answer) == 1 else list(answer) or None
    return answer


def _yes_or_no(target: Any, place: str, *, said: bool) -> str:
    if target in (None, ""):
        raise DataError(
            "there is no answer", place=place, remedy="Write yes or no, or remove the row."
        )
    text = str(target).strip().rstrip(".").lower()
    if text in (_YES if said else _YES[:1]):
        return "yes"
    if text in (_NO if said else _NO[:1]):
        return "no"
    remedy = "Write yes or no, or name another task with --task."
    raise DataError(
        f"the answer is {target!r:.80}, and the task is yes or no", place=place, remedy=remedy
    )


# --- options ---


def _options_place(row: SourceRow, chosen: Chosen) -> str:
    return (
        f"{row.place}, columns {', '.join(chosen.letters)}"
        if chosen.letters
        else row.at(chosen.column("options"))
    )


def _options(row: SourceRow, cell: Any, chosen: Chosen) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of a row in their order, and the names that the row gives them, where it has
    names of its own.
    """
    if chosen.letters and isinstance(cell, dict):
        return _of_letters(row, cell, chosen), ()
    if cell is None or cell in ("", [], {}) or (isinstance(cell, float) and cell != cell):
        return (), ()
    place = _options_place(row, chosen)
    names: tuple[str, ...] = ()
    if isinstance(cell, str):
        cell = _listed(cell.strip(), place)
    if isinstance(cell, dict):
        # ARC: the texts in one list, their letters or numbers in another
        texts, labels = cell.get("text"), cell.get("label")
        if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
            what = f"the options are an object with {', '.join(map(repr, cell))[:80]}"
            raise DataError(
                what,
                place=place,
                remedy="Write a list of options, or one text with | between them.",
            )
        cell, names = texts, tuple(str(label).strip() for label in labels)
    if not isinstance(cell, (list, tuple)):
        what = f"the options are {cell!r:.60}, which is no list"
        raise DataError(
            what, place=place, remedy="Write a list of options, or one text with | between them."
        )
    options = []
    for option in cell:
        if (
            isinstance(option, bool)
            or not isinstance(option, (str, int, float))
            or not str(option).strip()
        ):
            raise DataError(
                f"an option is {option!r:.60}", place=place, remedy="Write a text for every option."
            )
        options.append(str(option).strip())
    return _checked(tuple(options), place), names


def _of_letters(row: SourceRow, cell: Mapping[str, Any], chosen: Chosen) -> tuple[str, ...]:
    """The options in the columns A, B, C, ...; a row may have fewer than there are columns, but no
    gap.
    """
    filled = [letter for letter in chosen.letters if cell.get(letter) not in (None, "")]
    if not filled:
        return ()
    for letter in LETTERS[: LETTERS.index(filled[-1])]:
        if letter not in filled:
            what = f"there is an option {filled[-1]}, and no option {letter}"
            raise DataError(
                what,
                place=f"{row.place}, column {letter!r}",
                remedy="Fill it, or move the others up.",
            )
    return _checked(tuple(str(cell[letter]) for letter in filled), _options_place(row, chosen))


def _checked(options: tuple[str, ...], place: str) -> tuple[str, ...]:
    twice = next((option for option in options if options.count(option) > 1), None)
    if twice is not None:
        raise DataError(
            f"the option {twice!r:.80} stands twice", place=place, remedy="Keep one of the two."
        )
    if len(options) > len(LETTERS):
        what = f"there are {len(options)} options, and {len(LETTERS)} letters to name them"
        raise DataError(what, place=place, remedy=f"Keep at most {len(LETTERS)}.")
    return options


def _listed(text: str, place: str) -> Any:
    """The list that a text writes: as JSON or Python does, or with | between the options."""
    if not (text.startswith(("[", "{")) and text.endswith(("]", "}"))):
        return text.split("|")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text[:100_000])
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        remedy = "Write a list of options, or one text with | between them."
        raise DataError(
            f"the options {text[:60]!r} cannot be read", place=place, remedy=remedy
        ) from None


def _counts_from_zero(targets: Sequence[Any], options: Sequence[tuple[str, ...]]) -> bool:
    """Whether the answers are the places of options, counted from 0 as ScienceQA does; an option of
    such a name rules it out.
    """
    texts = [str(target).strip() for target in targets]
    return "0" in texts and all(
        text.isdecimal() and len(text) < 3 and int(text) < len(listed) and text not in listed
        for text, listed in zip(texts, options, strict=True)
    )


def _letter(
    target: Any,
    options: tuple[str, ...],
    names: Sequence[str],
    zero_based: bool,
    place: str,
    options_place: str,
) -> str:
    """The letter of the right option."""
    if len(options) < 2:
        what = "there are no options" if not options else f"there is one option, {options[0]!r:.80}"
        raise DataError(
            what,
            place=options_place,
            remedy="A choice needs two or more; or name another task with --task.",
        )
    if target in (None, ""):
        raise DataError(
            "there is no answer",
            place=place,
            remedy="Write an option or its letter, or remove the row.",
        )
    text, letters = str(target).strip(), LETTERS[: len(options)]
    if zero_based:
        return letters[int(text)]
    if text in names:
        return letters[names.index(text)]
    as_letter = text.strip("().").upper()
    if text in options:
        letter = letters[options.index(text)]
        if len(text) == 1 and text in letters and text != letter:
            what = (
                f"the answer {text!r} is the option {letter} and the letter of"
                f" {options[letters.index(text)]!r}"
            )
            raise DataError(
                what, place=place, remedy="Order or write the options so that both mean the same."
            )
        return letter
    if len(as_letter) == 1 and as_letter in letters:
        return as_letter
    if len(as_letter) == 1 and as_letter in LETTERS:
        what = f"the answer is {text!r}, and the options end with {letters[-1]}"
        raise DataError(
            what, place=place, remedy=f"Correct the answer, or add the option {as_letter}."
        )
    what = (
        f"the answer {text!r:.80} is no option and no letter of one ({' | '.join(options)[:120]})"
    )
    raise DataError(what, place=place, remedy="Write an option or its letter.")
