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

    - `elasticity`: Per cent by which the score changes with one per cent of length, respondents'
      and forms' levels taken out: do respondents whose answers grow more also change more? Its
      `status` speaks for the whole.
    - `within`: The same with respondents' levels alone taken out: what a change of form moves, by
      length or otherwise.
    - `correlation`: Correlation of log score and log length over all respondents and forms, nothing
      taken out; its interval counts respondents, not cells.
    """

    elasticity: Coefficient
    within: Coefficient
    correlation: Coefficient


def length_elasticity(
    scores: npt.ArrayLike, lengths: npt.ArrayLike, *, level: float = 0.95
) -> LengthElasticity:
    """How much of a score's change between forms goes with a change of length, within respondents.

    A rate of hallucinated objects rises with every sentence written, so a form that changes the
    length changes the score. Comparing each respondent with itself takes out that talkative models
    may also be worse ones.

        log score_mf = a_m + c_f + b log length_mf  (`within`: without c_f)
        b = sum u v / sum u^2 over what the levels leave of both;  interval b +- t(df) SE

    - `scores, lengths`: (respondents, forms): positive scores and mean lengths; other cells are
      left out.

    The status is `insufficient` below 3 respondents with 2 forms and `degenerate` when lengths do
    not vary beyond the levels. There is no interval when the fit is exact.
    >>> round(length_elasticity([[0.15, 0.04], [0.08, 0.03], [0.1, 0.13]], [[105, 10], [80, 11], [47, 63]]).within.value, 3)
    0.537
    """
    s, w = shaped_alike(scores, lengths, "respondents, forms")
    there = np.isfinite(s) & np.isfinite(w) & (s > 0) & (w > 0)
    there &= (there.sum(axis=1) >= 2)[:, None]
    m = int(there.any(axis=1).sum())
    if m < 3:
        none = Coefficient.absent(
            "insufficient", f"an elasticity needs 3 respondents with 2 forms, there are {m}", m
        )
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
        return Coefficient.absent(
            "degenerate", "lengths do not vary beyond respondents' and forms' levels", m
        )
    value = float(np.dot(u, v)) / spread
    df, residual = len(x) - int(rank) - 1, v - value * u
    squares = float(np.dot(residual, residual))
    if df < 1 or squares <= 1e-24 * len(x):
        return Coefficient(value, n=m, level=level)
    from scipy.special import stdtrit

    error = math.sqrt(squares / df / spread)
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    return Coefficient(value, value - half, value + half, m, level, "t", se=error)
