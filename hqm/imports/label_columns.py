"""The column of people's labels in a spreadsheet: which it is, and what its cells mean as labels
from 0 (hallucinated) to 1 (faithful).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain, compress, repeat

from hqm.errors import AnswerError
from hqm.files.dialect import unguarded
from hqm.files.records import name_fields
from hqm.imports.intake import Intake
from hqm.imports.layouts import (
    Record,
    cells_of,
    heading_words,
    rename_columns,
    with_column,
)
from hqm.imports.scales import check_scales, is_missing, plain_numbers, scale_ends
from hqm.imports.score_cells import number

LABEL = "label"
SCHEMA = "schema"
_OF_PEOPLE = (
    "human_label",
    "human_score",
    "human_rating",
    "human_judgement",
    "human_judgment",
    "human",
    "faithful",
    "is_faithful",
)
# Tools call their grades so too.
_RATING = "rating"
_INVERTED = (
    "hallucination",
    "hallucinated",
    "is_hallucination",
    "is_hallucinated",
    "has_hallucination",
)
_RATER_COLUMN = re.compile(r"(human|rater|annotator|label|rating|human_(label|score|rating))_?\d+")
LABEL_NAMES = frozenset((LABEL, *_OF_PEOPLE, _RATING, *_INVERTED))
"""The names of columns that may hold people's labels."""
_WORDS = {
    **dict.fromkeys(("faithful", "supported", "accurate"), 1.0),
    **dict.fromkeys(("hallucinated", "hallucination", "unfaithful"), 0.0),
    **dict.fromkeys(("unsupported", "not supported", "inaccurate"), 0.0),
}
# "Yes" may say that an answer is right or that it hallucinates, and letters may be answers.
_UNCLEAR_WORDS = frozenset(("yes", "no", "c", "i", "p", "n", "refusal"))
_MIN_LIKENESS = 0.8
"""Of two names, by which one may be the other misspelt (`difflib`'s ratio)."""
_MIN_SHARE = 0.05
"""A smaller share of labels above 1 is no scale beyond 1 but typing errors."""


def with_labels(intake: Intake) -> Intake:
    """Return the rows with a column `label` of numbers from 0 to 1, and a note of what the file has
    in their place.

    A cell that cannot be read stays as it is, for the reader of its row to refuse.

    Raises
    ------
    AnswerError
        No column holds labels, or several may; or 1 and 2 are the only ones.
    DataError
        Raters use different scales.
    """
    intake = _with_rows_of_raters(intake)
    column = _label_column(intake)
    cells = [unguarded(cell) for cell in cells_of(intake.records, column)]
    records = with_column(intake.records, column, cells)
    cells = plain_numbers(records, column, intake.path) or cells
    values = [_value(cell, column) for cell in cells]
    low, high = 0.0, 1.0
    if column in _INVERTED:
        intake = intake.with_note(f"labels are read from the column {column!r}: 1 is hallucinated")
        # counts or grades of hallucinations are left for the reader of the rows to refuse
        if set(values) <= {0.0, 1.0, None}:
            low, high = high, low
    else:
        low, high = _scale(values, intake, column)
        if column != LABEL:
            intake = intake.with_note(f"labels are read from the column {column!r}")
    if high > 1:
        intake = intake.with_note(
            f"labels from {low:g} to {high:g} are taken as 0 to 1, where 1 is best"
        )
    labels = list(cells)
    for index, value in enumerate(values):
        share = math.nan if value is None else (value - low) / (high - low)
        if 0 <= share <= 1:
            labels[index] = share
    records = with_column(rename_columns(records, {column: LABEL}), LABEL, labels)
    if high > 1 and SCHEMA not in records[0]:
        records = with_column(records, SCHEMA, repeat(f"{low:g} to {high:g}", len(records)))
    # A sheet of answers has rows that nobody labelled; where only labels are listed, an empty one
    # is a rater's who did not decide.
    lists_answers = bool({"answer", "rater"} & intake.plain_columns.keys())
    raters = intake.cells("rater", records)
    is_label = [
        bool(rater.strip()) or not (lists_answers and is_missing(label))
        for rater, label in zip(raters, labels, strict=True)
    ]
    return replace(
        intake,
        records=list(compress(records, is_label)),
        numbers=tuple(compress(intake.numbers, is_label)),
    )


def _with_rows_of_raters(intake: Intake) -> Intake:
    """Return the rows with one for each rater, where each has a column, such as `annotator_2`."""
    present = dict.fromkeys(chain.from_iterable(intake.records))
    raters = [name for name in present if _RATER_COLUMN.fullmatch(heading_words(name))]
    if len(raters) < 2 or LABEL in present or "rater" in present:
        return intake
    records: list[Record] = []
    numbers: list[int] = []
    for row_number, record in zip(intake.numbers, intake.records, strict=True):
        shared = {name: cell for name, cell in record.items() if name not in raters}
        # an empty cell is of an answer that this rater was not given
        labelling = [name for name in raters if not is_missing(record.get(name))]
        records += [{**shared, "rater": name, LABEL: record[name]} for name in labelling]
        numbers += [row_number] * len(labelling)
    columns = {**intake.plain_columns, "rater": "rater"}
    intake = intake.with_note(f"each rater has a column: {name_fields(raters)}")
    return replace(intake, records=records, numbers=tuple(numbers), plain_columns=columns)


def _label_column(intake: Intake) -> str:
    """The column of labels; refused where there is none, or several may be it."""
    present = dict.fromkeys(chain.from_iterable(intake.records))
    candidates = [name for name in (*_OF_PEOPLE, *_INVERTED) if name in present]
    # beside answers, a label may be the right one
    if LABEL in present and not (candidates and "answer" in intake.plain_columns):
        return LABEL
    if not candidates and _RATING in present and "judge" not in present:
        candidates = [_RATING]
    if len(candidates) == 1:
        return candidates[0]
    reason = f"no column holds labels (there are {name_fields(present)})"
    if candidates:
        reason = f"the columns {', '.join(map(repr, candidates))} may each hold the labels"
    raise AnswerError(
        reason, location=intake.path, remedy=f"Call the column of people's labels {LABEL!r}."
    )


def _value(cell: object, column: str) -> float | None:
    """The number in a cell; None where it is empty or no label."""
    if is_missing(cell):
        return None
    word = cell.strip().casefold() if isinstance(cell, str) else ""
    if word in _UNCLEAR_WORDS and column == LABEL:
        return None
    if column not in _INVERTED and word in _WORDS:
        return _WORDS[word]
    return number(cell)


def _scale(values: Sequence[float | None], intake: Intake, column: str) -> tuple[float, float]:
    """The ends of the scale of labels: 0 and 1, or those of a rating scale."""
    numbers = [value for value in values if value is not None]
    n_above = sum(value > 1 for value in numbers)
    is_rating = len(set(numbers)) > 1 and min(numbers) >= 0
    if not is_rating or n_above < max(1, _MIN_SHARE * len(numbers)):
        return 0.0, 1.0
    if set(numbers) == {1.0, 2.0}:
        raise AnswerError(
            f"the labels in the column {column!r} are 1 and 2, and which is faithful is not said",
            location=intake.path,
            remedy="Write 1 (faithful) and 0 (hallucinated).",
        )
    raters = intake.cells("rater", intake.records)
    scored = [
        (rater, value) for rater, value in zip(raters, values, strict=True) if value is not None
    ]
    check_scales(column, scored, intake.path)
    return scale_ends(numbers)


def check_columns(names: Iterable[str], known_names: Sequence[str], location: str) -> None:
    """Refuse a column that is written nearly as one that is read, or that seems to say how labels
    are weighted.
    """
    for name in names:
        plain_name = name.casefold()
        is_weight = plain_name.startswith("prob") or "weight" in plain_name
        if is_weight or get_close_matches(plain_name, known_names, n=1, cutoff=_MIN_LIKENESS):
            raise AnswerError(
                f"labels have no column {name!r}",
                location=location,
                remedy=f"Remove or rename it; there are {', '.join(known_names)}.",
                name=name,
                choices=known_names,
            )
