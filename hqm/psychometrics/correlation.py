"""Correlation of two administrations over respondents: Pearson, Spearman, Kendall's tau-b."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, normal_quantile, shaped_alike
from hqm.psychometrics.distributions import average_ranks, kendall_tau
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
    """The number of independent respondents: `n`, or the effective number where some are
    relatives.
    """
    return float(n) if n_effective is None else min(float(n), float(n_effective))


def inverse_tanh_interval(value: float, error: float, level: float) -> tuple[float, float]:
    """tanh(atanh(value) -+ z error); both ends are the value itself at -1 and 1."""

    if abs(value) >= 1.0:
        return value, value
    centre, half = math.atanh(value), normal_quantile(level) * error
    return math.tanh(centre - half), math.tanh(centre + half)


def _without_number(a: Array, b: Array) -> Coefficient | None:
    if len(a) < 3:
        return Coefficient.absent(
            "insufficient", f"a correlation needs 3 respondents, there are {len(a)}", len(a)
        )
    if is_constant(a) or is_constant(b):
        which = (
            "both administrations" if is_constant(a) and is_constant(b) else "one administration"
        )
        return Coefficient.absent(
            "degenerate", f"all respondents have the same score in {which}", len(a)
        )
    return None


def _product_moment(a: Array, b: Array) -> float:
    a, b = a - a.mean(), b - b.mean()
    # scaled first, so that squares of very small scores do not vanish
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    return float(
        np.clip(np.dot(a, b) / math.sqrt(float(np.dot(a, a)) * float(np.dot(b, b))), -1.0, 1.0)
    )


def _with_interval(
    value: float,
    n: int,
    level: float,
    method: str,
    squared_error: float,
    lost: int,
    n_effective: float | None,
) -> Coefficient:
    size = size_of(n, n_effective)
    if size <= lost:
        return Coefficient(value, n=n, level=level)
    low, high = inverse_tanh_interval(value, math.sqrt(squared_error / (size - lost)), level)
    return Coefficient(
        value, low, high, n, level, method if n_effective is None else f"{method}, n_eff {size:.4g}"
    )


def pearson(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
) -> Coefficient:
    """Pearson's correlation of two administrations, with Fisher's interval tanh(atanh(r) +- z /
    sqrt(n - 3)).

    It says how well the order and the spacing of the respondents repeat. It is blind to a shift of
    the mean, it grows with the spread of the respondents, and with many items it nears 1 even for
    coin flips: read it beside `noise_floor` and `icc`. Fisher, R. A. (1921). Metron, 1, 3-32. The
    status is `insufficient` below 3 respondents and `degenerate` for scores without variance; there
    is no interval below 4.

    - `x, y`: (respondents,): scores; pairs with a missing score are left out. `n_effective`:
      independent respondents.

    >>> round(pearson([1, 2, 3, 4], [1, 3, 2, 4]).value, 4)
    0.8
    """
    a, b = paired(x, y)
    absent = _without_number(a, b)
    if absent is not None:
        return absent
    return _with_interval(_product_moment(a, b), len(a), level, "Fisher z", 1.0, 3, n_effective)


def spearman(
    x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95, n_effective: float | None = None
) -> Coefficient:
    """Spearman's rank correlation of two administrations, with the interval of Bonett and Wright
    (2000).

    It says how well the *order* of the respondents repeats: spacing does not count, so one
    respondent far from the others cannot carry it. Equal scores share their mean rank. As in
    `pearson`: `insufficient` below 3, no interval below 4.

        tanh(atanh(r_s) +- z sqrt((1 + r_s^2 / 2) / (n - 3))), which is rough when |r_s| > .95
    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 9]).value, 4)
    0.8
    """
    a, b = paired(x, y)
    absent = _without_number(a, b)
    if absent is not None:
        return absent
    value = _product_moment(average_ranks(a), average_ranks(b))
    return _with_interval(value, len(a), level, "Bonett-Wright", 1 + value**2 / 2, 3, n_effective)


def kendall_tau_b(
    x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95, n_effective: float | None = None
) -> Coefficient:
    """Kendall's tau-b of two administrations, with the interval of Fieller, Hartley and Pearson
    (1957).

    It says how much more often the two order a pair of respondents alike than the other way round;
    without ties, (tau + 1) / 2 is the share of pairs in one order. As in `pearson`: `insufficient`
    below 3; no interval below 5.

        (concordant - discordant) / sqrt((pairs - tied in x)(pairs - tied in y)), tanh(atanh(tau) +- z sqrt(.437 / (n - 4)))
    >>> round(kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]).value, 4)
    0.6667
    """
    a, b = paired(x, y)
    absent = _without_number(a, b)
    if absent is not None:
        return absent
    value = kendall_tau(a, b)
    return _with_interval(value, len(a), level, "Fieller", 0.437, 4, n_effective)
