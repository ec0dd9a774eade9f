"""Correlation of two administrations over respondents."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.result import Coefficient


def paired(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Two vectors without the respondents that lack either score.

    Raises
    ------
    ValueError
        They differ in length.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two vectors of one length are needed, got shapes {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    return a[both], b[both]


def is_constant(x: npt.NDArray[np.float64]) -> bool:
    """Whether a vector does not vary beyond rounding."""
    return bool(np.ptp(x) <= 1e-12 * max(1.0, float(np.abs(x).max(initial=0.0))))


def pearson(x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95, n_eff: float | None = None) -> Coefficient:
    """Pearson's correlation of two administrations, with Fisher's interval.

    It estimates how well the ranking and spacing of the respondents repeat. It says nothing about a shift of the mean
    (both administrations may differ by any constant and factor), it grows with the spread of the respondents, and with
    many items it is close to 1 even when every answer is a coin flip: read it beside the noise floor and ICC(A,1).

        r = sum((x - mx)(y - my)) / sqrt(sum((x - mx)^2) sum((y - my)^2))
        interval: tanh(atanh(r) +- z / sqrt(n - 3))

    Parameters
    ----------
    x, y
        (respondents,): scores in the first and the other administration; pairs with a missing score are left out.
    level
        Confidence level.
    n_eff
        The number of independent respondents, where some are relatives; the interval uses it in place of n.

    Returns
    -------
    Coefficient
        `insufficient` for fewer than 3 respondents, `degenerate` for scores without variance; no interval below 4.

    Notes
    -----
    Fisher, R. A. (1921). On the "probable error" of a coefficient of correlation. Metron, 1, 3-32. The interval
    generalises over respondents (another sample of models), not over items.

    Examples
    --------
    Peak flow of 17 people, two readings with the Wright meter (Bland and Altman 1986, Lancet 327, 307-310):

    >>> first = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
    >>> mini = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
    >>> round(pearson(first, mini).value, 6)
    0.943279
    """
    a, b = paired(x, y)
    n = len(a)
    if n < 3:
        return Coefficient.absent("insufficient", f"a correlation needs 3 respondents, there are {n}", n)
    if is_constant(a) or is_constant(b):
        which = "both administrations" if is_constant(a) and is_constant(b) else "one administration"
        return Coefficient.absent("degenerate", f"all respondents have the same score in {which}", n)
    a, b = a - a.mean(), b - b.mean()
    r = float(np.clip(np.dot(a, b) / math.sqrt(float(np.dot(a, a)) * float(np.dot(b, b))), -1.0, 1.0))
    low = high = math.nan
    size = n if n_eff is None else min(float(n), n_eff)
    if size > 3:
        from scipy.special import ndtri

        with np.errstate(divide="ignore"):
            centre, half = np.arctanh(r), float(ndtri(0.5 + level / 2)) / math.sqrt(size - 3)
        low, high = float(np.tanh(centre - half)), float(np.tanh(centre + half))
    return Coefficient(r, low, high, n, level, "Fisher z" if n_eff is None else f"Fisher z, n_eff {size:.4g}")
