"""The verdict on every answer of an audit, in little room, and the comparison of two such records.

An audit of an earlier version is read as what it is: where its answers are scored again by another
version of a reader, its record says how many of them come out otherwise.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from hqm.auditing.audit import REMAKE_ADVICE, BenchmarkAudit
from hqm.auditing.audit_rows import VerdictRow
from hqm.errors import DataError
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import Item, cluster_of

MAX_VALUES = 255
"""Distinct values of single answers that a record holds; further ones are rounded to percent."""


def pack_verdicts(
    matrix: ScoreMatrix,
    respondents: Sequence[str],
    numbering: Numbering | None = None,
) -> VerdictRow:
    """Pack the verdicts of an administration, about a bit for each answer; rows are those of the
    respondents, also of one that took no part.

    With a numbering, which all administrations of an audit share, the record says which item,
    picture and type each answer is about.
    """
    values = np.full((len(respondents), len(matrix.items)), np.nan)
    for row, name in enumerate(respondents):
        if name in matrix.respondents:
            values[row] = matrix.values[matrix.respondents.index(name)]
    scored = np.isfinite(values)
    distinct = np.unique(values[scored])
    if len(distinct) > MAX_VALUES:
        values = np.round(values, 2)
        distinct = np.unique(values[scored])[:MAX_VALUES]
    # A byte each: the number behind the last value stands for an answer that was not scored.
    codes = np.full(values.shape, len(distinct), dtype=np.uint8)
    # A value beyond the last kept one falls on that number, and is read as not scored.
    codes[scored] = np.searchsorted(distinct, values[scored]).clip(0, len(distinct))
    packed = base64.b64encode(zlib.compress(codes.tobytes(), 9)).decode("ascii")
    record: VerdictRow = {"items": values.shape[1], "values": distinct.tolist(), "codes": packed}
    if numbering is not None:
        rows = np.array(list(map(numbering.of, matrix.items)), dtype=np.int64).reshape(-1, 3)
        record["numbers"], record["pictures"], record["types"] = map(_pack_numbers, rows.T)
    return record


@dataclass(frozen=True, slots=True)
class Numbering:
    """Numbers of the items, pictures (clusters) and types of all administrations of an audit."""

    items: Mapping[str, int]
    pictures: Mapping[str, int]
    types: Mapping[str, int]
    """No type is 0."""

    def of(self, item: Item) -> tuple[int, int, int]:
        """Return the numbers of an item, its picture and its type."""
        return self.items[item.id], self.pictures[cluster_of(item)], self.types[item.type or ""]


def number_items(matrices: Iterable[ScoreMatrix]) -> Numbering:
    """Number the items, pictures and types of several administrations, each from 0."""
    items: dict[str, int] = {}
    pictures: dict[str, int] = {}
    # No type is 0 also where every item has one, so that readers need not ask.
    types: dict[str, int] = {"": 0}
    for matrix in matrices:
        for item in matrix.items:
            items.setdefault(item.id, len(items))
            pictures.setdefault(cluster_of(item), len(pictures))
            types.setdefault(item.type or "", len(types))
    return Numbering(items, pictures, types)


def _pack_numbers(numbers: npt.NDArray[np.int64]) -> str:
    """Pack numbers as differences, which are small and alike."""
    # "<i4" is little-endian on every machine, so that a file is read where it was not written.
    differences = np.diff(numbers.astype("<i4"), prepend=np.int32(0))
    return base64.b64encode(zlib.compress(differences.astype("<i4").tobytes(), 9)).decode("ascii")


def unpack_columns(row: VerdictRow) -> npt.NDArray[np.int64] | None:
    """(3, items): the number of each answer's item, picture and type; None in an earlier record.

    Raises
    ------
    DataError
        The record is damaged.
    """
    if not row.keys() >= {"numbers", "pictures", "types"}:
        return None
    packed = (row["numbers"], row["pictures"], row["types"])
    return np.stack([_unpack_numbers(text, row["items"]) for text in packed])


def _unpack_numbers(text: str, n_items: int) -> npt.NDArray[np.int64]:
    try:
        differences = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i4")
    except (ValueError, zlib.error) as error:
        raise DataError(
            f"the record of the verdicts' items is damaged: {error}", remedy=REMAKE_ADVICE
        ) from None
    numbers = np.cumsum(differences, dtype=np.int64)
    if len(numbers) != n_items or (numbers < 0).any():
        raise DataError("the record of the verdicts' items is damaged", remedy=REMAKE_ADVICE)
    return numbers


def unpack_verdicts(row: VerdictRow) -> npt.NDArray[np.float64]:
    """(respondents, items): the verdicts of a record; NaN where an answer was not scored.

    Raises
    ------
    DataError
        The record is damaged.
    """
    values = np.array([*row["values"], np.nan])
    try:
        codes = np.frombuffer(zlib.decompress(base64.b64decode(row["codes"])), dtype=np.uint8)
        return values[codes.reshape(-1, row["items"])]
    except (ValueError, IndexError, zlib.error) as error:
        raise DataError(
            f"the record of the verdicts is damaged: {error}", remedy=REMAKE_ADVICE
        ) from None


@dataclass(frozen=True, slots=True)
class Rereading:
    """How the answers of an audit come out when they are scored again.

    Parameters
    ----------
    answers
        The answers that both have.
    n_changed
        How many of them have another verdict; where the audit has no record of its verdicts, at
        least so many, by the scores and states of each respondent in each administration.
    is_exact
        Whether the audit has the record.
    """

    answers: int
    n_changed: int
    is_exact: bool

    def __str__(self) -> str:
        if self.is_exact:
            return f"{self.n_changed:,} of {self.answers:,} answers are read differently"
        if not self.n_changed:
            return (
                f"the scores of {self.answers:,} answers are the same (the audit has no record of"
                " single verdicts)"
            )
        return (
            f"at least {self.n_changed:,} of {self.answers:,} answers are read differently (the"
            " audit has no record of single verdicts)"
        )


def compare_verdicts(before: BenchmarkAudit, rescored_audit: BenchmarkAudit) -> Rereading:
    """Count the answers of an audit whose verdict changes with another scoring."""
    cells = [cell for cell in before.cells if cell in rescored_audit.cells]
    if before.verdicts.keys() >= set(cells):
        return _compare_records(before, rescored_audit, cells)
    respondents = dict(zip(rescored_audit.names, rescored_audit.respondents, strict=True))
    answers = n_changed = 0
    for respondent in before.respondents:
        rescored = respondents.get(respondent.name)
        if rescored is None:
            continue
        for cell in cells:
            states = respondent.states.get(cell, {})
            answers += sum(states.values())
            n_changed += _least_changes(
                states,
                rescored.states.get(cell, {}),
                respondent.cells.get(cell, {}),
                rescored.cells.get(cell, {}),
            )
    return Rereading(answers, n_changed, is_exact=False)


def _compare_records(
    before: BenchmarkAudit, rescored_audit: BenchmarkAudit, cells: Sequence[str]
) -> Rereading:
    rescored_rows = dict(zip(rescored_audit.names, count()))
    answers = n_changed = 0
    for cell in cells:
        first = unpack_verdicts(before.verdicts[cell])
        second = unpack_verdicts(rescored_audit.verdicts[cell])
        # Other items were scored then: which answers are the same cannot be told.
        if first.shape[1] != second.shape[1]:
            continue
        for name, row in zip(before.names, first, strict=True):
            if name not in rescored_rows:
                continue
            other_row = second[rescored_rows[name]]
            # NaN equals nothing, itself included.
            is_same_verdict = (row == other_row) | (np.isnan(row) & np.isnan(other_row))
            answers += len(is_same_verdict)
            n_changed += int((~is_same_verdict).sum())
    return Rereading(answers, n_changed, is_exact=True)


def _least_changes(
    states: Mapping[str, int],
    states_now: Mapping[str, int],
    scores: Mapping[str, float | None],
    scores_now: Mapping[str, float | None],
) -> int:
    """The least number of answers that must have changed where counts and scores did."""
    # A difference of counters leaves out what became less.
    moved = (Counter(states_now) - Counter(states)).total()
    n_scored = states.get("ok", 0) + states.get("truncated", 0)
    # Answers that swap right for wrong move no count: the accuracy shows the least number of them.
    first = scores.get("accuracy")
    second = scores_now.get("accuracy")
    if first is None or second is None:
        return moved or int(dict(scores) != dict(scores_now))
    return moved or math.ceil(abs(second - first) * n_scored - 1e-6)
