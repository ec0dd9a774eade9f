"""Concordance: Lin's coefficient for two administrations, Kendall's W for several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, shaped
from hqm.psychometrics.correlation import (
    inverse_tanh_interval,
    is_constant,
    paired,
    pearson,
    size_of,
)
from hqm.psychometrics.distributions import average_ranks
from hqm.psychometrics.resampling import FEWEST, multiplicities
from hqm.psychometrics.result import Coefficient
from hqm.psychometrics.significance import SignificanceTest, chi_square_test


@dataclass(frozen=True, slots=True)
class Concordance:
    """Lin's concordance correlation with its two factors.

    - `ccc`: The concordance correlation; its `status` speaks for the whole.
    - `pearson`: Precision: how close the points lie to any line.
    - `bias_correction`: Accuracy C_b: how close that line is to the identity; `ccc = pearson *
      bias_correction`.
    - `scale_shift, location_shift`: Ratio of the standard deviations (other / first) and difference
      of the means (other - first) in units of their geometric mean.
    """

    ccc: Coefficient
    pearson: float = math.nan
    bias_correction: float = math.nan
    scale_shift: float = math.nan
    location_shift: float = math.nan


def concordance(
    x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95, n_effective: float | None = None
) -> Concordance:
    """Lin's concordance correlation coefficient of two administrations.

    It says how closely the *same number* comes back: how near the points lie to the line y = x. A
    shift of the mean or a change of the spread lowers it, which a correlation cannot see. It grows
    with the spread of the respondents.

        ccc = 2 s_xy / (s_x^2 + s_y^2 + (m_x - m_y)^2),   moments over n
        interval on z = atanh(ccc):  SE^2 = [C^2 (1 - r^2) / (1 - p^2) + 2 p^2 C (1 - p) u^2 / (1 - p^2)^2
                                             - p^2 C^2 u^4 / (2 (1 - p^2)^2)] / (n - 2)

    with p the coefficient, r Pearson's, C = p / r and u the shift of the mean in units of the
    spread.

    Lin, L. I. (1989). Biometrics, 45, 255-268, corrected in Biometrics (2000), 56, 324-325. McBride
    (2005) reads values below .90 as poor, from .95 as substantial and above .99 as almost perfect.

    - `x, y`: (respondents,): scores in both administrations; a pair with a missing score is left
      out.
    - `n_effective`: The number of independent respondents, where some belong to one family.

    The status is `insufficient` below 3 respondents and `degenerate` where an administration gives
    all respondents the same score. There is no interval below 4 respondents.

    >>> result = concordance([1, 2, 3, 4], [1.5, 2, 3.5, 5])
    >>> round(result.ccc.value, 3), round(result.bias_correction, 3)
    (0.889, 0.907)
    """
    a, b = paired(x, y)
    r = pearson(a, b)
    if r.status != "ok":
        return Concordance(r)
    n = len(a)
    scale = float(b.std() / a.std())
    shift = float((b.mean() - a.mean()) / math.sqrt(a.std() * b.std()))
    accuracy = 2 / (scale + 1 / scale + shift**2)
    value = r.value * accuracy
    method = "Lin z" if n_effective is None else f"Lin z, n_eff {size_of(n, n_effective):.4g}"
    if value >= 1.0 - 1e-15:
        ccc = (
            Coefficient(1.0, 1.0, 1.0, n, level, method)
            if n > 3
            else Coefficient(1.0, n=n, level=level)
        )
        return Concordance(ccc, r.value, accuracy, scale, shift)
    ccc = Coefficient(value, n=n, level=level)
    size = size_of(n, n_effective)
    if size > 3:
        p, u, left = value, shift, 1 - value**2
        variance = (
            accuracy**2 * (1 - r.value**2) / left
            + 2 * p**2 * accuracy * (1 - p) * u**2 / left**2
            - p**2 * accuracy**2 * u**4 / (2 * left**2)
        ) / (size - 2)
        low, high = inverse_tanh_interval(value, math.sqrt(max(0.0, variance)), level)
        ccc = Coefficient(value, low, high, n, level, method)
    return Concordance(ccc, r.value, accuracy, scale, shift)


@dataclass(frozen=True, slots=True)
class KendallW:
    """Kendall's coefficient of concordance with its test and the mean rank correlation it stands
    for.

    `w.status` speaks for the whole; `mean_spearman` is the mean of Spearman's correlation over all
    pairs of administrations (exactly so without ties).
    """

    w: Coefficient
    test: SignificanceTest
    mean_spearman: float = math.nan
    administrations: int = 0


def kendall_w(
    scores: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    families: Sequence[str] | None = None,
    level: float = 0.95,
    n_bootstrap: int = 2000,
) -> KendallW:
    """Kendall's W: how alike several administrations rank the respondents.

    1 means that every administration gives the same order, 0 that the orders have nothing in
    common. Two orders cannot disagree as a whole of three can, so W is meant for three
    administrations and more; with two use Spearman.

        W = 12 S / (K^2 (M^3 - M) - K sum T),   S = sum_m (R_m - mean R)^2,   T = sum over ties (t^3 - t)
        test: K (M - 1) W ~ chi2(M - 1);        mean Spearman = (K W - 1) / (K - 1)

    Kendall, M. G. (1948). Rank Correlation Methods. London: Griffin; ch. 6.

    - `scores`: (respondents, administrations); respondents with a missing score are left out.
    - `rng`: Draws the respondents of the bootstrap.
    - `n_bootstrap`: How often the respondents are drawn anew. The interval is the percentile one on
      atanh scale, moved so that its middle lies on the estimate; it generalises over respondents
      and needs 10 of them, or 10 families.
    - `families`: (respondents,): relatives are drawn together.

    The status is `insufficient` for fewer than 3 respondents or 2 administrations, `degenerate`
    when an administration ties all respondents.

    Kendall's own example with ties, ten objects ranked by three judges:

    >>> a = [1, 4.5, 2, 4.5, 3, 7.5, 6, 9, 7.5, 10]
    >>> b = [2.5, 1, 2.5, 4.5, 4.5, 8, 9, 6.5, 10, 6.5]
    >>> c = [2, 1, 4.5, 4.5, 4.5, 4.5, 8, 8, 8, 10]
    >>> result = kendall_w(np.transpose([a, b, c]), np.random.default_rng(0))
    >>> round(result.w.value, 6), round(result.test.statistic, 6)
    (0.827731, 22.348739)
    """
    x = shaped(scores, "respondents, administrations")
    kept = np.isfinite(x).all(axis=1)
    x, labels = x[kept], np.arange(len(x))[kept] if families is None else np.asarray(families)[kept]
    m, k = x.shape
    name = "Kendall's W"
    if m < 3 or k < 2:
        reason = f"Kendall's W needs 3 respondents and 2 administrations, there are {m} and {k}"
        return KendallW(
            Coefficient.absent("insufficient", reason, m),
            SignificanceTest.absent("insufficient", reason, m, name),
            math.nan,
            k,
        )
    if any(is_constant(column) for column in x.T):
        reason = "an administration gives all respondents the same score"
        return KendallW(
            Coefficient.absent("degenerate", reason, m),
            SignificanceTest.absent("degenerate", reason, m, name),
            math.nan,
            k,
        )
    value = float(_w(x[None])[0])
    low = high = math.nan
    units = len(np.unique(labels))
    if units >= FEWEST and value < 1.0 - 1e-12:
        drawn = _drawn(x, labels, rng, n_bootstrap)
        drawn = np.arctanh(np.clip(drawn[np.isfinite(drawn)], 0.0, 1 - 1e-9))
        tails = np.quantile(drawn, [0.5 - level / 2, 0.5, 0.5 + level / 2])
        centre = math.atanh(value)
        low, high = (
            float(np.tanh(max(0.0, centre + end - tails[1]))) for end in (tails[0], tails[2])
        )
    elif units >= FEWEST:
        low = high = 1.0
    method = "respondent bootstrap on atanh" if math.isfinite(low) else ""
    return KendallW(
        Coefficient(value, low, high, m, level, method),
        chi_square_test(k * (m - 1) * value, m - 1, name, m),
        (k * value - 1) / (k - 1),
        k,
    )


def _drawn(
    x: Array, labels: npt.NDArray[np.generic], rng: np.random.Generator, draws: int
) -> Array:
    """W of samples of respondents, or of families where some are relatives."""
    if len(np.unique(labels)) == len(x):
        return _w(x[rng.integers(0, len(x), size=(draws, len(x)))])
    counts = multiplicities(len(x), rng, draws, labels.tolist()).astype(np.int64)
    return np.concatenate([_w(np.repeat(x, count, axis=0)[None]) for count in counts])


def _w(x: Array) -> Array:
    """W of every sample; x has shape (samples, respondents, administrations)."""
    _, m, k = x.shape
    ranks = average_ranks(x, axis=1)
    squares = ((ranks.sum(axis=2) - k * (m + 1) / 2) ** 2).sum(axis=1)
    # a column's sum of squared mid-ranks is (m^3 - m - T) / 12 + m (m + 1)^2 / 4
    untied = 12 * ((ranks - (m + 1) / 2) ** 2).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(untied > 0, 12 * squares / (k * untied), np.nan))
