"""A lean towards a place in a list of options."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import shaped
from hqm.psychometrics.significance import SignificanceTest, chi_square_test

NAME = "uniform choice of position"


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How unevenly one respondent chooses among positions.

    - `shares`: Share of choices that fell on each position.
    - `test`: Chi-square of equal shares (or of the expected ones); its `status` speaks for the
      whole.
    - `cramer_v`: Effect size: 0 for equal shares, 1 when one position takes all.
    """

    shares: tuple[float, ...]
    test: SignificanceTest
    cramer_v: float


def position_bias(counts: npt.ArrayLike, expected: npt.ArrayLike | None = None) -> PositionBias:
    """Whether a respondent prefers a position among the options of multiple-choice items.

    When right options are spread evenly over the positions, choices should be too. A preference
    shows as accuracy that depends on where the right option stands; shuffling the options is the
    parallel form that cancels it.

        chi2 = sum (n_p - e_p)^2 / e_p,  df P - 1,   V = sqrt(chi2 / (n (1 / min share - 1)))

    Pearson, K. (1900). Philosophical Magazine, 50, 157-175. Items must be independent. With equal
    shares V is the usual sqrt(chi2 / (n (P - 1))).

    - `counts`: (positions,): how often each position was chosen.
    - `expected`: (positions,): shares expected without a preference (the shares of right options);
      equal by default.

    The status is `insufficient` for fewer than 2 positions or fewer than 5 expected choices on one
    of them, `not_applicable` for negative counts or shares that are not positive.

    >>> result = position_bias([40, 20, 20, 20])
    >>> result.test.statistic, result.test.df, round(result.cramer_v, 4)
    (12.0, 3, 0.2)
    """
    n = shaped(counts, "positions", "counts")
    p = (
        np.full(len(n), 1 / max(1, len(n)))
        if expected is None
        else np.asarray(expected, dtype=np.float64)
    )
    if p.shape != n.shape:
        raise ValueError(f"expected must have shape {n.shape}, got {p.shape}")
    if len(n) < 2:
        reason = f"a preference needs 2 positions, there are {len(n)}"
        return PositionBias(
            (), SignificanceTest.absent("insufficient", reason, name=NAME), math.nan
        )
    if not (np.isfinite(n).all() and (n >= 0).all() and np.isfinite(p).all() and (p > 0).all()):
        reason = "counts must be 0 or more and expected shares above 0"
        return PositionBias(
            (), SignificanceTest.absent("not_applicable", reason, name=NAME), math.nan
        )
    p, total = p / p.sum(), float(n.sum())
    shares = tuple((n / total).tolist()) if total else ()
    if total * float(p.min()) < 5:
        reason = (
            f"chi-square needs 5 expected choices of every position, {total:g} choices give"
            f" {total * p.min():.3g}"
        )
        return PositionBias(
            shares, SignificanceTest.absent("insufficient", reason, int(total), NAME), math.nan
        )
    chi2 = float(((n - total * p) ** 2 / (total * p)).sum())
    return PositionBias(
        shares,
        chi_square_test(chi2, len(n) - 1, NAME, int(total)),
        math.sqrt(chi2 / (total * (1 / float(p.min()) - 1))),
    )
