"""The score of every answer of an audit, as arrays of respondents and items, from `audit.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.verdict_records import unpack_columns, unpack_verdicts

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

_MAX_ROUNDING = 1e-9


@dataclass(frozen=True)
class AnswerPair:
    """The answers of two administrations to the items that both have.

    Attributes
    ----------
    first, second : ndarray
        (respondents, items): NaN where an answer was not scored.
    pictures, types : ndarray
        (items,): the number of the picture of each item, and of its type; 0 is none.
    """

    first: Array
    second: Array
    pictures: Numbers
    types: Numbers

    @property
    def scores(self) -> Array:
        """(2, respondents): the mean of the scored answers of each; NaN where there is none."""
        return np.stack([_means(self.first), _means(self.second)])

    @property
    def is_complete(self) -> bool:
        """Whether every answer of both was scored."""
        return bool(np.isfinite(self.first).all() and np.isfinite(self.second).all())


@dataclass(frozen=True)
class AnswerScores:
    """The score of every answer in every administration of an audit.

    Attributes
    ----------
    respondents
        Names, in the order of the rows.
    cells
        Administration -> (respondents, items); the items are those of `columns`.
    columns
        Administration -> (items,): the number of each item, the same in all administrations.
    item_pictures, item_types : ndarray
        (items of all administrations,): the number of the picture of each item, and of its type.
    reference_cell
        The reference administration.
    """

    respondents: tuple[str, ...]
    cells: Mapping[str, Array]
    columns: Mapping[str, Numbers]
    item_pictures: Numbers
    item_types: Numbers
    reference_cell: str

    @property
    def reference(self) -> Array:
        """(respondents, items): the reference administration."""
        return self.cells[self.reference_cell]

    @property
    def pictures(self) -> Numbers:
        """(items,): the number of the picture of each item of the reference, without gaps."""
        numbers = self.item_pictures[self.columns[self.reference_cell]]
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)

    @property
    def n_pictures(self) -> int:
        """Number of pictures of the reference."""
        return int(self.pictures.max(initial=-1)) + 1

    @property
    def is_binary(self) -> bool:
        """Whether every answer is wrong or right."""
        return all(
            bool(np.isin(values[np.isfinite(values)], (0.0, 1.0)).all())
            for values in self.cells.values()
        )

    def by_picture(self, values: Array) -> Array:
        """(rows, items) -> (rows, pictures): sums over the reference's items of each picture."""
        sums = np.zeros((len(values), self.n_pictures))
        # Not `+=`, which adds once where several items share a picture.
        np.add.at(sums.T, self.pictures, values.T)
        return sums

    def pair(self, first: str, second: str) -> AnswerPair | None:
        """Return two administrations over the items that both have; None where one is missing."""
        if not {first, second} <= self.cells.keys():
            return None
        # It sorts what is shared, so that both administrations have their columns in one order.
        shared, left, right = np.intersect1d(
            self.columns[first], self.columns[second], return_indices=True
        )
        pictures = np.unique(self.item_pictures[shared], return_inverse=True)[1]
        return AnswerPair(
            self.cells[first][:, left],
            self.cells[second][:, right],
            pictures.astype(np.int64),
            self.item_types[shared],
        )


def read_answers(audit: BenchmarkAudit, metric: str) -> AnswerScores | None:
    """Read the scores of all answers, or None where the audit does not hold them.

    A verdict's value is the answer's score if, in every administration, its mean over the scored
    answers is the respondent's score; where a lower score is better, 1 minus the value may be.
    """
    cells: dict[str, Array] = {}
    records: dict[str, Numbers] = {}
    for cell, row in audit.verdicts.items():
        record = unpack_columns(row)
        if record is None:
            return None
        cells[cell] = unpack_verdicts(row)
        records[cell] = record
    if audit.reference not in cells:
        return None
    items, pictures, types = np.concatenate(list(records.values()), axis=1)
    # Numbers run over the items of all administrations: a form may lack some of another's.
    item_pictures = np.zeros(items.max(initial=-1) + 1, dtype=np.int64)
    item_types = np.zeros_like(item_pictures)
    item_pictures[items] = pictures
    item_types[items] = types
    columns = {cell: record[0] for cell, record in records.items()}
    names = audit.names
    # People and oracles call an answer faithful, whichever way the metric points.
    is_lower_better = audit.metrics[metric].get("better") == "lower"
    for is_reversed in (False, True):
        oriented = {}
        for cell, values in cells.items():
            turns = is_reversed if cell in audit.cells else is_lower_better
            oriented[cell] = 1 - values if turns else values
        scores = AnswerScores(names, oriented, columns, item_pictures, item_types, audit.reference)
        if _are_means(audit, metric, scores):
            return scores
    return None


def _are_means(audit: BenchmarkAudit, metric: str, scores: AnswerScores) -> bool:
    """Return whether the scores that the audit holds are the means of these answers."""
    for cell in audit.cells:
        if cell not in scores.cells:
            return False
        means = _means(scores.cells[cell])
        for respondent, mean in zip(audit.respondents, means, strict=True):
            score = respondent.cells.get(cell, {}).get(metric)
            if score is None and not np.isfinite(mean):
                continue
            # Negated, so that a mean that is NaN is no agreement.
            if score is None or not abs(score - mean) <= _MAX_ROUNDING:
                return False
    return True


def _means(values: Array) -> Array:
    scored = np.isfinite(values)
    counts = scored.sum(axis=1)
    sums = np.where(scored, values, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
