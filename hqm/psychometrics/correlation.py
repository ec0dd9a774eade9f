"""Correlation of two administrations over respondents: Pearson, Spearman, Kendall's tau-b."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, normal_quantile, shaped_alike
from hqm.psychometrics.result import Coefficient


def paired(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Array, Array]:
    """Two vectors without the respondents that lack either score."""
    a, b = shaped_alike(x, y, "respondents")
    both = np.isfinite(a) & np.isfinite(b)
    return a[both], b[both]


def is_constant(x: Array) -> bool:
    """Whether a vector does not vary beyond rounding."""
    return bool(np.ptp(x) <= 1e-12 * max(1.0, float(np.abs(x).max(initial=0.0))))


def size_of(n: int, n_effective: float | None) -> float:
    """The number of independent respondents: `n`, or the effective number where some are relatives."""
    return float(n) if n_effective is None else min(float(n), float(n_effective))


def inverse_tanh_interval(value: float, error: float, level: float) -> tuple[float, float]:
    """tanh(atanh(value) -+ z error); both ends are the value itself at -1 and 1."""

    if abs(value) >= 1.0:
        return value, value
    centre, half = math.atanh(value), normal_quantile(level) * error
    return math.tanh(centre - half), math.tanh(centre + half)


def _without_number(a: Array, b: Array) -> Coefficient | None:
    if len(a) < 3:
        return Coefficient.absent("insufficient", f"a correlation needs 3 respondents, there are {len(a)}", len(a))
    if is_constant(a) or is_constant(b):
        which = "both administrations" if is_constant(a) and is_constant(b) else "one administration"
        return Coefficient.absent("degenerate", f"all respondents have the same score in {which}", len(a))
    return None


def _product_moment(a: Array, b: Array) -> float:
    a, b = a - a.mean(), b - b.mean()
    # scaled first, so that squares of very small scores do not vanish
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    return float(np.clip(np.dot(a, b) / math.sqrt(float(np.dot(a, a)) * float(np.dot(b, b))), -1.0, 1.0))


def _with_interval(
    value: float, n: int, level: float, method: str, squared_error: float, lost: int, n_effective: float | None
) -> Coefficient:
    size = size_of(n, n_effective)
    if size <= lost:
        return Coefficient(value, n=n, level=level)
    low, high = inverse_tanh_interval(value, math.sqrt(squared_error / (size - lost)), level)
    return Coefficient(value, low, high, n, level, method if n_effective is None else f"{method}, n_eff {size:.4g}")


def pearson(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
) -> Coefficient:
    """Pearson's correlation of two administrations, with Fisher's interval.

    It estimates how well the ranking and spacing of the respondents repeat. It says nothing about a shift of the mean
    (both administrations may differ by any constant and factor), it grows with the spread of the respondents, and with
    many items it is close to 1 even when every answer is a coin flip: read it beside the noise floor and ICC(A,1).

        r = sum((x - mx)(y - my)) / sqrt(sum((x - mx)^2) sum((y - my)^2))
        interval: tanh(atanh(r) +- z / sqrt(n - 3))

    Fisher, R. A. (1921). On the "probable error" of a coefficient of correlation. Metron, 1, 3-32. The interval
    generalises over respondents (another sample of models), not over items.

    - `x, y`: (respondents,): scores in the first and the other administration; pairs with a missing score are left
      out.
    - `n_effective, n_eff`: The number of independent respondents, where some are relatives; the interval uses it in
      place of n. (Two names of one thing.)

    Returns
    -------
    Coefficient
        `insufficient` for fewer than 3 respondents, `degenerate` for scores without variance; no interval below 4.

    Examples
    --------
    Peak flow of 17 people, two readings with the Wright meter (Bland and Altman 1986, Lancet 327, 307-310):

    >>> first = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
    >>> mini = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
    >>> round(pearson(first, mini).value, 6)
    0.943279
    """
    a, b = paired(x, y)
    absent = _without_number(a, b)
    if absent is not None:
        return absent
    return _with_interval(_product_moment(a, b), len(a), level, "Fisher z", 1.0, 3, n_effective)


def spearman(
    x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95, n_effective: float | None = None
) -> Coefficient:
    """Spearman's rank correlation of two administrations, with the interval of Bonett and Wright.

    It estimates how well the *order* of the respondents repeats; spacing does not count, so one very good or very bad
    respondent cannot carry it. Equal scores share the mean of their ranks. It is blind to a shift, as every correlation.

        r_s = Pearson's r of the mid-ranks
        interval: tanh(atanh(r_s) +- z sqrt((1 + r_s^2 / 2) / (n - 3)))

    Bonett, D. G. and Wright, T. A. (2000). Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations. Psychometrika, 65, 23-28. The interval generalises over respondents; it is rough when |r_s| > .95.

    - `x, y`: (respondents,): scores in the first and the other administration; pairs with a missing score are left
      out.
    - `n_effective`: The number of independent respondents, where some are relatives; the interval uses it in place of
      n.

    Returns
    -------
    Coefficient
        `insufficient` for fewer than 3 respondents, `degenerate` for scores without variance; no interval below 4.

    Examples
    --------
    Peak flow of 17 people with two meters (Bland and Altman 1986):

    >>> wright = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
    >>> mini = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
    >>> round(spearman(wright, mini).value, 4)
    0.8995
    """
    from scipy.stats import rankdata

    a, b = paired(x, y)
    absent = _without_number(a, b)
    if absent is not None:
        return absent
    value = _product_moment(rankdata(a), rankdata(b))
    return _with_interval(value, len(a), level, "Bonett-Wright", 1 + value**2 / 2, 3, n_effective)


def kendall_tau_b(
    x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95, n_effective: float | None = None
) -> Coefficient:
    """Kendall's tau-b of two administrations, with Fieller's interval.

    It estimates, over pairs of respondents, how much more often the two administrations order a pair alike than the
    other way round. Without ties (tau + 1) / 2 is the share of pairs in the same order: the most tangible of the
    correlations for a leaderboard.

        tau_b = (concordant - discordant) / sqrt((pairs - tied in x)(pairs - tied in y))
        interval: tanh(atanh(tau) +- z sqrt(.437 / (n - 4)))

    Fieller, E. C., Hartley, H. O. and Pearson, E. S. (1957). Tests for rank correlation coefficients I. Biometrika, 44,
    470-481. The constant holds for |tau| < .8; closer to 1 the interval is rough.

    - `x, y`: (respondents,): scores in the first and the other administration; pairs with a missing score are left
      out.
    - `n_effective`: The number of independent respondents, where some are relatives; the interval uses it in place of
      n.

    Returns
    -------
    Coefficient
        `insufficient` for fewer than 3 respondents, `degenerate` for scores without variance; no interval below 5.

    Examples
    --------
    >>> wright = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
    >>> mini = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
    >>> round(kendall_tau_b(wright, mini).value, 6)
    0.764706
    """
    from scipy.stats import kendalltau

    a, b = paired(x, y)
    absent = _without_number(a, b)
    if absent is not None:
        return absent
    value = float(np.clip(kendalltau(a, b).statistic, -1.0, 1.0))
    return _with_interval(value, len(a), level, "Fieller", 0.437, 4, n_effective)
