"""Many tests at once: p-values that hold for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array


def benjamini_hochberg(p: npt.ArrayLike) -> Array:
    """P-values adjusted for the false discovery rate: the share of false alarms among what is called significant.

    Benjamini, Y. and Hochberg, Y. (1995). Journal of the Royal Statistical Society B, 57, 289-300.

    - `p`: Any shape, taken as one family of tests; NaN stays NaN and counts as no test.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.20]).round(4)
    array([0.04  , 0.0533, 0.0533, 0.2   ])
    """
    return _adjusted(p, "fdr_bh")


def holm(p: npt.ArrayLike) -> Array:
    """P-values adjusted so that the chance of any false alarm among all tests stays below the level.

    Holm, S. (1979). Scandinavian Journal of Statistics, 6, 65-70.

    - `p`: Any shape, taken as one family of tests; NaN stays NaN and counts as no test.

    >>> holm([0.01, 0.04, 0.03, 0.20]).round(4)
    array([0.04, 0.09, 0.09, 0.2 ])
    """
    return _adjusted(p, "holm")


def _adjusted(p: npt.ArrayLike, method: Literal["holm", "fdr_bh"]) -> Array:
    flat = np.asarray(p, dtype=np.float64)
    adjusted = np.full(flat.shape, np.nan)
    known = np.isfinite(flat)
    if known.any():
        from statsmodels.stats.multitest import fdrcorrection, multipletests

        values = flat[known]
        # multipletests ends with a collection of garbage, which takes longer than many small corrections
        adjusted[known] = fdrcorrection(values)[1] if method == "fdr_bh" else multipletests(values, method=method)[1]
    return adjusted


def holm_in_order(sequences: Sequence[Sequence[float]]) -> list[list[float]]:
    """Holm's adjustment where each question is asked in steps, and a later step only after the earlier one was answered.

    Whether two measures differ is asked first of these respondents, then of others. The level is shared by the
    questions that are not answered to their end; a question keeps its share from step to step. The chance of any false
    alarm in any step stays below the level. With one step for each question it is Holm's procedure.

    Bretz, F., Maurer, W., Brannath, W. and Posch, M. (2009). A graphical approach to sequentially rejective multiple
    test procedures. Statistics in Medicine, 28, 586-604.

    - `sequences`: The p-values of each question in their order; NaN is a test that was not made and is passed over.

    >>> holm_in_order([[0.01, 0.02], [0.04]])
    [[0.02, 0.04], [0.04]]
    """
    adjusted = [[math.nan] * len(steps) for steps in sequences]
    waiting = [[(p, i, k) for k, p in enumerate(steps) if math.isfinite(p)] for i, steps in enumerate(sequences)]
    waiting = [steps for steps in waiting if steps]
    reached = 0.0
    while waiting:
        steps = min(waiting, key=lambda steps: steps[0])
        p, i, k = steps[0]
        reached = max(reached, min(1.0, len(waiting) * p))
        adjusted[i][k] = reached
        del steps[0]
        waiting = [steps for steps in waiting if steps]
    return adjusted
