"""Agreement of two administrations item by item."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import shaped_alike
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class ItemAgreement:
    """Item agreement of every respondent, with the mean and the worst.

    `agreement` and `kappa` have one entry a respondent; a kappa is NaN where one category was never
    left.
    """

    agreement: tuple[float, ...]
    kappa: tuple[float, ...]
    n_items: tuple[int, ...]
    status: Status = "ok"
    reason: str = ""

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.agreement)) if self.status == "ok" else math.nan

    @property
    def worst(self) -> float:
        return float(np.nanmin(self.agreement)) if self.status == "ok" else math.nan

    @property
    def mean_kappa(self) -> float:
        known = [k for k in self.kappa if not math.isnan(k)]
        return float(np.mean(known)) if known else math.nan


def item_agreement(x: npt.ArrayLike, y: npt.ArrayLike) -> ItemAgreement:
    """The share of items that come out the same in two administrations, for each respondent.

    A score can repeat to three digits while every fifth answer changes. Cohen's kappa (1960) takes
    out the agreement that the two yes/no margins give by chance.

        agreement = mean(x == y)        kappa = (agreement - e) / (1 - e),   e = px py + (1 - px)(1 - py)

    - `x, y`: (respondents, items): scores of 0 or 1; a pair with a missing score (NaN) is left out.

    The status is `insufficient` without a scored pair and `not_applicable` where a score is not 0
    or 1.

    >>> item_agreement([[1, 1, 0, 0, 1]], [[1, 0, 0, 0, 1]]).agreement
    (0.8,)
    """
    a, b = shaped_alike(x, y, "respondents, items")
    both = np.isfinite(a) & np.isfinite(b)
    if not both.any():
        return ItemAgreement(
            (), (), (), "insufficient", "no item is scored in both administrations"
        )
    if not (np.isin(a[both], (0, 1)).all() and np.isin(b[both], (0, 1)).all()):
        return ItemAgreement((), (), (), "not_applicable", "the item scores are not 0 or 1")
    n = both.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = np.where(n > 0, ((a == b) & both).sum(axis=1) / n, np.nan)
        px, py = (np.where(both, v, 0).sum(axis=1) / n for v in (a, b))
        chance = px * py + (1 - px) * (1 - py)
        kappa = np.where(chance < 1, (agreement - chance) / (1 - chance), np.nan)
    return ItemAgreement(tuple(agreement.tolist()), tuple(kappa.tolist()), tuple(n.tolist()))
