"""How much a score follows the length of the answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, shaped_alike
from hqm.psychometrics.correlation import pearson
from hqm.psychometrics.result import Coefficient


@dataclass(frozen=True, slots=True)
class LengthElasticity:
    """How a score moves with the length of the answers.

    - `elasticity`: Per cent by which the score changes with one per cent of length, respondents' and forms' levels
      taken out: do respondents whose answers grow more also change more? Its `status` speaks for the whole.
    - `within`: The same with respondents' levels alone taken out: what a change of form moves, by length or
      otherwise.
    - `correlation`: Correlation of log score and log length over all respondents and forms, nothing taken out; its
      interval counts respondents, not cells.
    """

    elasticity: Coefficient
    within: Coefficient
    correlation: Coefficient


def length_elasticity(scores: npt.ArrayLike, lengths: npt.ArrayLike, *, level: float = 0.95) -> LengthElasticity:
    """How much of a score's change between forms goes with a change of length, within respondents.

    A rate of hallucinated objects rises with every sentence written. When the wording of a form changes the length, the
    score changes with it, and the form effect is one of style. Comparing each respondent with itself takes out that
    talkative models may also be worse ones.

        log score_mf = a_m + c_f + b log length_mf  (`within`: without c_f)
        b = sum u v / sum u^2 over what the levels leave of both;  interval b +- t(df) SE

    With two forms b is the slope of the log ratios of scores on the log ratios of lengths.

    - `scores, lengths`: (respondents, forms): positive scores and mean lengths; cells with a missing or non-positive
      number are left out, then respondents with fewer than 2 cells.

    Returns
    -------
    LengthElasticity
        `insufficient` for fewer than 3 respondents with 2 forms, `degenerate` when lengths do not vary beyond the
        levels. No interval when the fit is exact.

    Examples
    --------
    CHAIR on AMBER-g and its parallel form (arXiv 2406.17115, Table 3):

    >>> chair = [[0.151, 0.037], [0.085, 0.031], [0.109, 0.044], [0.102, 0.128]]
    >>> words = [[104.66, 10.37], [80.53, 10.66], [56.44, 22.53], [47.15, 63.46]]
    >>> result = length_elasticity(chair, words)
    >>> round(result.elasticity.value, 3), round(result.correlation.value, 3)
    (0.558, 0.946)
    """
    s, w = shaped_alike(scores, lengths, "respondents, forms")
    there = np.isfinite(s) & np.isfinite(w) & (s > 0) & (w > 0)
    there &= (there.sum(axis=1) >= 2)[:, None]
    m = int(there.any(axis=1).sum())
    if m < 3:
        none = Coefficient.absent("insufficient", f"an elasticity needs 3 respondents with 2 forms, there are {m}", m)
        return LengthElasticity(none, none, none)
    respondent, form = np.nonzero(there)
    y, x = np.log(s[there]), np.log(w[there])
    rows = (respondent[:, None] == np.unique(respondent)).astype(np.float64)
    columns = (form[:, None] == np.unique(form)).astype(np.float64)
    return LengthElasticity(
        _slope(y, x, np.hstack([rows, columns[:, 1:]]), m, level),
        _slope(y, x, rows, m, level),
        pearson(x, y, level=level, n_effective=m),
    )


def _slope(y: Array, x: Array, levels: Array, m: int, level: float) -> Coefficient:
    fitted, _, rank, _ = np.linalg.lstsq(levels, np.stack([x, y], axis=1), rcond=None)
    u, v = (np.stack([x, y], axis=1) - levels @ fitted).T
    spread = float(np.dot(u, u))
    if spread <= 1e-20 * len(x):
        return Coefficient.absent("degenerate", "lengths do not vary beyond respondents' and forms' levels", m)
    value = float(np.dot(u, v)) / spread
    df, residual = len(x) - int(rank) - 1, v - value * u
    squares = float(np.dot(residual, residual))
    if df < 1 or squares <= 1e-24 * len(x):
        return Coefficient(value, n=m, level=level)
    from scipy.special import stdtrit

    error = math.sqrt(squares / df / spread)
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    return Coefficient(value, value - half, value + half, m, level, "t", se=error)
