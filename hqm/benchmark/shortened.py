"""What a short form says of the full benchmark: the calibration that `hqm shorten NAME AUDIT --out
FOLDER` writes beside its items.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.errors import DataError
from hqm.files.records import read_json

_AGAIN = (
    "Make the short form again with `hqm shorten NAME AUDIT --out FOLDER`; a calibration is not"
    " meant to be edited."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormLoss:
    """What a form loses of one metric, measured on families of respondents that it was not chosen
    from.

    Parameters
    ----------
    mean_error, bias
        The mean distance of the scores on the full scale from the scores on all items, and their
        mean difference.
    tau
        Kendall's tau-b between the two orders of the respondents; None where either has no spread.
    coverage, half_width
        The share of 95% intervals that contain the score on all items, and half their mean width.
    factor, freedom
        What standard errors are multiplied by, and the degrees of freedom of the intervals.
    respondents
        How many were held out.
    """

    mean_error: float
    bias: float
    tau: float | None
    coverage: float
    half_width: float
    factor: float
    freedom: float
    respondents: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """How answers to a short form become scores on the full benchmark's scale, and where that is
    known from.

    Parameters
    ----------
    of, version, of_items
        The full benchmark, its version, and how many items it has.
    form
        Which of the parallel short forms this is: `a` or `b`.
    audit, answers, signature
        The content hash of the audit, that of the answers that the items were chosen by, and the
        signature of an estimate of the audit that was made of them.
    method, words
        How the items were chosen and weighted, by name and in words.
    errors
        Method -> root mean square error on held-out families: why it was this method.
    respondents, families
        Whose answers the items were chosen by.
    seed
        Where the random numbers began.
    ids, weights, auxiliary
        The items, for how many items of the full benchmark each stands, and what the standard error
        takes as known of it.
    loss
        Metric -> what is lost.
    parallel
        Metric -> `reliability`, `mean_shift` and `respondents` of two forms on held-out families.
    """

    of: str
    version: str
    of_items: int
    form: str
    audit: str
    answers: str
    signature: str
    method: str
    words: str
    errors: Mapping[str, float]
    respondents: tuple[str, ...]
    families: tuple[str, ...]
    seed: int
    ids: tuple[str, ...]
    weights: npt.NDArray[np.float64]
    auxiliary: npt.NDArray[np.float64]
    loss: Mapping[str, FormLoss]
    parallel: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The calibration as JSON data."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        data |= {
            "weights": self.weights.tolist(),
            "auxiliary": self.auxiliary.tolist(),
            "errors": dict(self.errors),
        }
        data["loss"] = {name: asdict(loss) for name, loss in self.loss.items()}
        return data | {"parallel": {name: dict(each) for name, each in self.parallel.items()}}

    def places(self, ids: Sequence[str]) -> list[int] | None:
        """Where each of these items stands in the calibration; None where they are not its
        items.
        """
        numbers = {key: place for place, key in enumerate(self.ids)}
        return (
            [numbers[key] for key in ids]
            if len(ids) == len(numbers) and set(ids) == numbers.keys()
            else None
        )


def read_calibration(path: Path) -> Calibration:
    """Read a calibration file.

    Raises
    ------
    DataError
        The file is missing or is no calibration.
    """
    data = read_json(path)
    try:
        loss = {name: FormLoss(**each) for name, each in data["loss"].items()}
        arrays = {key: np.array(data[key], dtype=np.float64) for key in ("weights", "auxiliary")}
        tuples = {key: tuple(map(str, data[key])) for key in ("ids", "respondents", "families")}
        made = Calibration(**{**data, **arrays, **tuples, "loss": loss})
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DataError(
            "it is no calibration of a short form", place=str(path), remedy=_AGAIN
        ) from None
    items = len(made.ids)
    fits = (
        made.weights.shape == (items,)
        and made.auxiliary.ndim == 2
        and len(made.auxiliary) == items > 0
    )
    if not fits or not all(
        math.isfinite(value) for value in (*made.weights, *made.auxiliary.ravel())
    ):
        raise DataError(
            "its items, weights and auxiliary values do not fit together",
            place=str(path),
            remedy=_AGAIN,
        )
    return made
