"""Agreement of raters or of repeated verdicts: Krippendorff's alpha, Gwet's AC1, Cohen's kappa."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.result import Bounds, Coefficient

Array = npt.NDArray[np.float64]
MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]
ONE_CATEGORY = "single_category: every rating is the same, so agreement beyond chance is not defined"


def krippendorff_alpha(
    ratings: npt.ArrayLike, measurement: MeasurementLevel = "nominal", *, level: float = 0.95
) -> Coefficient:
    """Krippendorff's alpha: agreement of any number of raters, on any scale, with gaps.

    1 is perfect agreement, 0 what ratings dealt out at random would give, below 0 systematic disagreement. Disagreements
    count by their size on the scale. With very uneven categories alpha is low although nearly all ratings agree: print
    the observed agreement beside it, or AC1.

        alpha = 1 - D_o / D_e
        D_o = sum_u sum_ck r_uc r_uk d2(c, k) / (m_u - 1) / n,    D_e = sum_ck n_c n_k d2(c, k) / (n (n - 1))
        d2: nominal c != k; ordinal (sum_{g=c..k} n_g - (n_c + n_k) / 2)^2; interval (c - k)^2; ratio ((c-k)/(c+k))^2

    Parameters
    ----------
    ratings
        (raters, units): numbers (category codes for nominal); NaN where a rater did not rate. Units with one rating are
        left out.
    measurement
        The scale's level.
    level
        Confidence level of the interval over units (`fixed`): each unit left out once, normal, cut at 1.

    Returns
    -------
    Coefficient
        `n` counts units. `insufficient` without a unit rated twice, `degenerate` for a single category,
        `not_applicable` for a ratio scale with negative numbers.

    Raises
    ------
    ValueError
        `ratings` is not a matrix or the level has no such name.

    Notes
    -----
    Krippendorff, K. (2019). Content Analysis, 4th ed. Sage; ch. 12. His reading: .800 and above reliable, .667 to .800
    for tentative conclusions, below that discard.

    Examples
    --------
    Krippendorff's four observers and twelve units (Computing Krippendorff's alpha-reliability, 2011, section C):

    >>> nan = np.nan
    >>> observers = [[1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    ...              [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan]]
    >>> [round(krippendorff_alpha(observers, scale).value, 3) for scale in ("nominal", "ordinal", "interval", "ratio")]
    [0.743, 0.815, 0.849, 0.797]
    """
    if measurement not in ("nominal", "ordinal", "interval", "ratio"):
        raise ValueError(f"the level of measurement is nominal, ordinal, interval or ratio, got {measurement!r}")
    counts, values = _counts(ratings)
    counts = counts[counts.sum(axis=1) >= 2]
    n_units = len(counts)
    if n_units == 0:
        return Coefficient.absent("insufficient", "no unit has two ratings")
    used = counts.sum(axis=0) > 0
    counts, values = counts[:, used], values[used]
    if len(values) < 2:
        return Coefficient.absent("degenerate", ONE_CATEGORY, n_units)
    if measurement == "ratio" and values.min() < 0:
        return Coefficient.absent("not_applicable", "a ratio scale has no negative numbers", n_units)
    margins = counts.sum(axis=0)
    distance = _squared_distance(values, margins, measurement)
    rated = counts.sum(axis=1)
    observed = np.einsum("uc,uc->u", counts @ distance, counts) / (rated - 1)
    n = float(margins.sum())
    expected = float(margins @ distance @ margins)
    value = 1 - (n - 1) * float(observed.sum()) / expected
    if n_units < 3:
        return Coefficient(value, n=n_units, level=level)
    left = margins - counts
    without = np.einsum("uc,uc->u", left @ distance, left)
    size = n - rated
    if (without <= 0).any():
        return Coefficient(value, n=n_units, level=level)
    alphas = 1 - (size - 1) * (observed.sum() - observed) / without
    error = math.sqrt((n_units - 1) / n_units * float(((alphas - alphas.mean()) ** 2).sum()))
    return _over_items(value, error, n_units, level, "unit jackknife")


def gwet_ac1(ratings: npt.ArrayLike, *, categories: int | None = None, level: float = 0.95) -> Coefficient:
    """Gwet's AC1: agreement beyond chance that does not collapse when one category prevails.

    Kappa and alpha take the observed margins as chance; where 95 % of verdicts are "faithful", agreement on those counts
    almost nothing. AC1 supposes that only hard units are guessed.

        AC1 = (pa - pe) / (1 - pe),  pa = mean over units of agreeing pairs,  pe = sum pi_k (1 - pi_k) / (q - 1)

    Parameters
    ----------
    ratings
        (raters, units): category codes; NaN where a rater did not rate.
    categories
        How many categories there are to choose from, where some were never used.
    level
        Confidence level of the interval over units (`fixed`), Student's with Gwet's variance, cut at 1.

    Returns
    -------
    Coefficient
        `n` counts units. `insufficient` without a unit rated twice, `degenerate` for a single category (when no larger
        number of categories is given).

    Raises
    ------
    ValueError
        `ratings` is not a matrix.

    Notes
    -----
    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high agreement. British
    Journal of Mathematical and Statistical Psychology, 61, 29-48.

    Examples
    --------
    Gwet's example of four raters and twelve units (data cac.raw4raters of irrCAC):

    >>> nan = np.nan
    >>> raters = [[1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, nan],
    ...           [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan]]
    >>> found = gwet_ac1(raters)
    >>> round(found.value, 5), round(found.se, 5)
    (0.77544, 0.14295)
    """
    counts, values = _counts(ratings)
    counts = counts[counts.sum(axis=1) >= 1]
    rated = counts.sum(axis=1)
    twice = rated >= 2
    units = len(counts)
    if not twice.any():
        return Coefficient.absent("insufficient", "no unit has two ratings", units)
    q = max(len(values), categories or 0)
    if q < 2:
        return Coefficient.absent("degenerate", ONE_CATEGORY, units)
    shares = counts / rated[:, None]
    prevalence = shares.mean(axis=0)
    pairs = np.where(twice, (counts * (counts - 1)).sum(axis=1) / np.maximum(rated * (rated - 1), 1), 0.0)
    agreed, chance = float(pairs[twice].mean()), float((prevalence * (1 - prevalence)).sum()) / (q - 1)
    value = (agreed - chance) / (1 - chance)
    if units < 3:
        return Coefficient(value, n=units, level=level)
    own = np.where(twice, units / twice.sum() * (pairs - chance) / (1 - chance), 0.0)
    own_chance = (shares * (1 - prevalence)).sum(axis=1) / (q - 1)
    influence = own - 2 * (1 - value) * (own_chance - chance) / (1 - chance)
    error = math.sqrt(float(((influence - value) ** 2).sum()) / (units * (units - 1)))
    from scipy.special import stdtrit

    factor = float(stdtrit(units - 1, 0.5 + level / 2))
    return _over_items(value, error, units, level, "Gwet", factor)


def cohen_kappa(x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95) -> Coefficient:
    """Cohen's kappa of two raters: agreement beyond what their own margins would give.

    It is a property of the pair of margins as much as of the raters: with one prevailing category it can be near 0 or
    negative at 90 % agreement. Read it beside `specific_agreement`.

        kappa = (po - pe) / (1 - pe),   pe = sum_k p_k. p_.k

    Parameters
    ----------
    x, y
        (units,): category codes of both raters; pairs with a missing code are left out.
    level
        Confidence level of the interval over units (`fixed`), normal with the large-sample variance, cut at 1.

    Returns
    -------
    Coefficient
        `n` counts units. `insufficient` without a pair, `degenerate` when both raters use one and the same category.

    Raises
    ------
    ValueError
        The vectors differ in length.

    Notes
    -----
    Cohen, J. (1960). Educational and Psychological Measurement, 20, 37-46. Fleiss, J. L., Cohen, J. and Everitt, B. S.
    (1969). Psychological Bulletin, 72, 323-327 (variance).

    Examples
    --------
    The table 90/5/5/0 (Feinstein and Cicchetti 1990): agreement .90, kappa below 0.

    >>> first, second = [1] * 95 + [0] * 5, [1] * 90 + [0] * 5 + [1] * 5
    >>> round(cohen_kappa(first, second).value, 4)
    -0.0526
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two vectors of one length are needed, got shapes {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    n = int(both.sum())
    if n == 0:
        return Coefficient.absent("insufficient", "no unit is rated by both")
    values, codes = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    q = len(values)
    if q < 2:
        return Coefficient.absent("degenerate", ONE_CATEGORY, n)
    table = np.bincount(codes[:n] * q + codes[n:], minlength=q * q).reshape(q, q) / n
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    agreed, chance = float(np.trace(table)), float(rows @ columns)
    value = (agreed - chance) / (1 - chance)
    # the two margins of a cell enter as its column's row share and its row's column share
    crossed = columns[:, None] + rows
    diagonal = float((np.diag(table) * (1 - (rows + columns) * (1 - value)) ** 2).sum())
    off = table * crossed**2
    off_sum = (1 - value) ** 2 * float(off.sum() - np.trace(off))
    variance = (diagonal + off_sum - (value - chance * (1 - value)) ** 2) / (n * (1 - chance) ** 2)
    return _over_items(value, math.sqrt(max(0.0, variance)), n, level, "large sample")


def _over_items(value: float, error: float, n: int, level: float, method: str, factor: float = math.nan) -> Coefficient:
    from scipy.special import ndtri

    if not error > 0:
        return Coefficient(value, n=n, level=level)
    half = (float(ndtri(0.5 + level / 2)) if math.isnan(factor) else factor) * error
    ends = Bounds(max(-1.0, value - half), min(1.0, value + half), method, level)
    return Coefficient(value, n=n, level=level, fixed=ends, se=error)


def _counts(ratings: npt.ArrayLike) -> tuple[Array, Array]:
    """(units, categories) how often each unit got each value, and the values."""
    x = np.asarray(ratings, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"ratings must have shape (raters, units), got {x.shape}")
    there = np.isfinite(x)
    values, codes = np.unique(x[there], return_inverse=True)
    units = np.broadcast_to(np.arange(x.shape[1]), x.shape)[there]
    q = len(values)
    flat = np.bincount(units * q + codes, minlength=x.shape[1] * q) if q else np.zeros(0)
    return flat.reshape(x.shape[1], q).astype(np.float64), values


def _squared_distance(values: Array, margins: Array, measurement: MeasurementLevel) -> Array:
    if measurement == "nominal":
        return 1 - np.eye(len(values))
    if measurement == "ordinal":
        # ranks in the middle of each value's block
        middle = np.cumsum(margins) - margins / 2
        return np.asarray((middle[:, None] - middle) ** 2)
    gap = values[:, None] - values
    if measurement == "ratio":
        total = values[:, None] + values
        gap = np.divide(gap, total, out=np.zeros_like(gap), where=total != 0)
    return np.asarray(gap**2)
