"""Percentile intervals from resampled respondents, relatives together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.result import Bounds

FEWEST = 10
"""Fewer independent units than this carry no bootstrap interval."""


def multiplicities(
    respondents: int,
    rng: np.random.Generator,
    replicates: int,
    families: Sequence[str] | None = None,
) -> Array:
    """How often each respondent is drawn in each replicate; a family comes as a whole.

    (replicates, respondents) array; without families its rows sum to the number of respondents.
    """
    _, member = np.unique(
        np.arange(respondents) if families is None else np.asarray(families), return_inverse=True
    )
    units = int(member.max()) + 1
    drawn = rng.integers(0, units, (replicates, units)) + np.arange(replicates)[:, None] * units
    counts = np.bincount(drawn.ravel(), minlength=replicates * units).reshape(replicates, units)
    return counts[:, member].astype(np.float64)


def respondent_bootstrap(
    statistic: Callable[[Array], Array],
    respondents: int,
    rng: np.random.Generator,
    *,
    families: Sequence[str] | None = None,
    replicates: int = 2000,
    level: float = 0.95,
) -> tuple[Bounds | None, float]:
    """The percentile interval of a statistic over another sample of respondents.

    Percentiles do not change under a monotone transformation: the interval of r is that of Fisher's
    z, brought back. Efron, B. (1979). Bootstrap methods. Annals of Statistics, 7, 1-26.

    - `statistic`: Multiplicities (replicates, respondents) -> (replicates,); NaN where a replicate
      has no value.
    - `respondents`: How many there are.
    - `families`: (respondents,): relatives are drawn together, so that the interval counts them
      once.

    The bounds (None below 10 units, or when under half of the replicates have a value) and the
    standard error.

    >>> x = np.arange(20.0)
    >>> bounds, se = respondent_bootstrap(lambda w: w @ x / w.sum(axis=1), 20, np.random.default_rng(0))
    >>> round(bounds.low, 1), round(bounds.high, 1)
    (6.9, 11.9)
    """
    units = respondents if families is None else len(set(families))
    if units < FEWEST:
        return None, math.nan
    values = np.asarray(
        statistic(multiplicities(respondents, rng, replicates, families)), dtype=np.float64
    )
    values = values[np.isfinite(values)]
    if len(values) < max(2, replicates // 2):
        return None, math.nan
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    what = "respondents" if families is None else "families"
    return Bounds(float(low), float(high), f"bootstrap over {what}, {replicates}", level), float(
        values.std(ddof=1)
    )


def one_by_one(
    statistic: Callable[[npt.NDArray[np.intp]], float],
) -> Callable[[Array], Array]:
    """A statistic of drawn indices, as one of multiplicities."""

    def over(weights: Array) -> Array:
        index = np.arange(weights.shape[1])
        return np.array([statistic(np.repeat(index, row.astype(np.intp))) for row in weights])

    return over
