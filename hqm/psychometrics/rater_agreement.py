"""Agreement of raters or of repeated verdicts: Krippendorff's alpha, Fleiss' kappa, Gwet's AC1."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, normal_quantile, shaped
from hqm.psychometrics.clusters import cluster_sums, labels_of, mean_with_error
from hqm.psychometrics.result import Bounds, Coefficient

MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]
ONE_CATEGORY = (
    "single_category: every rating is the same, so agreement beyond chance is not defined"
)


def krippendorff_alpha(
    ratings: npt.ArrayLike, measurement: MeasurementLevel = "nominal", *, level: float = 0.95
) -> Coefficient:
    """Krippendorff's alpha: agreement of any number of raters, on any scale, with gaps.

    1 is perfect agreement, 0 what ratings dealt out at random would give, below 0 systematic
    disagreement. Disagreements count by their size on the scale. With very uneven categories alpha
    is low although nearly all ratings agree: print the observed agreement beside it, or AC1.

        alpha = 1 - D_o / D_e
        D_o = sum_u sum_ck r_uc r_uk d2(c, k) / (m_u - 1) / n,    D_e = sum_ck n_c n_k d2(c, k) / (n (n - 1))
        d2: nominal c != k; ordinal (sum_{g=c..k} n_g - (n_c + n_k) / 2)^2; interval (c - k)^2; ratio ((c-k)/(c+k))^2

    Krippendorff, K. (2019). Content Analysis, 4th ed. Sage; ch. 12. His reading: .800 and above
    reliable, .667 to .800 for tentative conclusions, below that discard.

    - `ratings`: (raters, units): numbers (category codes for nominal); NaN where a rater did not
      rate. Units with one rating are left out.
    - `measurement`: The scale's level.
    - `level`: Confidence level of the interval over units (`fixed`): each unit left out once,
      normal, cut at 1.

    `n` counts units. The status is `insufficient` without a unit rated twice, `degenerate` for a
    single category, `not_applicable` for a ratio scale with negative numbers.

    Krippendorff's four observers and twelve units (Computing Krippendorff's alpha-reliability,
    2011, section C):

    >>> nan = np.nan
    >>> observers = [[1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    ...              [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan]]
    >>> [round(krippendorff_alpha(observers, scale).value, 3) for scale in ("nominal", "ordinal", "interval", "ratio")]
    [0.743, 0.815, 0.849, 0.797]
    """
    if measurement not in ("nominal", "ordinal", "interval", "ratio"):
        raise ValueError(
            f"the level of measurement is nominal, ordinal, interval or ratio, got {measurement!r}"
        )
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
        return Coefficient.absent(
            "not_applicable", "a ratio scale has no negative numbers", n_units
        )
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


def fleiss_kappa(ratings: npt.ArrayLike, *, level: float = 0.95) -> Coefficient:
    """Fleiss' kappa: agreement of several raters on nominal categories, beyond what their pooled
    shares give by chance.

    Every unit has the same number of ratings, m; who gave them may change from unit to unit. With
    two raters it is Scott's pi, not Cohen's kappa. It falls to 0 where one category prevails
    although nearly all ratings agree.

        kappa = (P - Pe) / (1 - Pe),   P = mean over units of sum_j n_ij (n_ij - 1) / (m (m - 1)),   Pe = sum_j p_j^2

    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological
    Bulletin, 76, 378-382.

    - `ratings`: (raters, units): category codes; NaN where a rater did not rate. Of units with
      unequal numbers of ratings, those with the commonest number (two at least) are used: gaps need
      Krippendorff's alpha.
    - `level`: Confidence level of the interval over units (`fixed`): each unit left out once,
      normal, cut at 1.

    `n` counts the units used. The status is `insufficient` without a unit rated twice, `degenerate`
    for one category.

    >>> round(fleiss_kappa([[1, 2, 1, 1], [1, 2, 1, 2], [1, 2, 2, 2]]).value, 4)
    0.3333
    """
    counts, _ = _counts(ratings)
    rated = counts.sum(axis=1).astype(np.int64)
    sizes = np.bincount(rated[rated >= 2]) if (rated >= 2).any() else np.zeros(0, dtype=np.int64)
    if not len(sizes):
        return Coefficient.absent("insufficient", "no unit has two ratings")
    # of numbers that are equally common, the larger one says more about a unit
    m = int(len(sizes) - 1 - np.argmax(sizes[::-1]))
    counts = counts[rated == m]
    units = len(counts)
    if int((counts.sum(axis=0) > 0).sum()) < 2:
        return Coefficient.absent("degenerate", ONE_CATEGORY, units)
    pairs = (counts * (counts - 1)).sum(axis=1) / (m * (m - 1))
    shares = counts.sum(axis=0)
    chance = float(((shares / shares.sum()) ** 2).sum())
    value = (float(pairs.mean()) - chance) / (1 - chance)
    if units < 3:
        return Coefficient(value, n=units, level=level)
    without = (((shares - counts) / (m * (units - 1))) ** 2).sum(axis=1)
    if (without >= 1 - 1e-12).any():
        return Coefficient(value, n=units, level=level)
    kappas = ((pairs.sum() - pairs) / (units - 1) - without) / (1 - without)
    error = math.sqrt((units - 1) / units * float(((kappas - kappas.mean()) ** 2).sum()))
    return _over_items(value, error, units, level, "unit jackknife")


def gwet_ac1(
    ratings: npt.ArrayLike, *, categories: int | None = None, level: float = 0.95
) -> Coefficient:
    """Gwet's AC1: agreement beyond chance that does not collapse when one category prevails.

    Kappa and alpha take the observed margins as chance; where 95 % of verdicts are "faithful",
    agreement on those counts almost nothing. AC1 supposes that only hard units are guessed.

        AC1 = (pa - pe) / (1 - pe),  pa = mean over units of agreeing pairs,  pe = sum pi_k (1 - pi_k) / (q - 1)

    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high
    agreement. British Journal of Mathematical and Statistical Psychology, 61, 29-48.

    - `ratings`: (raters, units): category codes; NaN where a rater did not rate.
    - `categories`: How many categories there are to choose from, where some were never used.
    - `level`: Confidence level of the interval over units (`fixed`), Student's with Gwet's
      variance, cut at 1.

    `n` counts units. The status is `insufficient` without a unit rated twice, `degenerate` for a
    single category (when no larger number of categories is given).

    Gwet's example of four raters and twelve units (data cac.raw4raters of irrCAC):

    >>> nan = np.nan
    >>> raters = [[1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, nan],
    ...           [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan]]
    >>> result = gwet_ac1(raters)
    >>> round(result.value, 5), round(result.se, 5)
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
    pairs = np.where(
        twice, (counts * (counts - 1)).sum(axis=1) / np.maximum(rated * (rated - 1), 1), 0.0
    )
    agreed, chance = (
        float(pairs[twice].mean()),
        float((prevalence * (1 - prevalence)).sum()) / (q - 1),
    )
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


def flip_rate(
    verdicts: npt.ArrayLike, clusters: npt.ArrayLike | None = None, *, level: float = 0.95
) -> Coefficient:
    """The probability that two verdicts on the same response differ.

        mean over items of the share of pairs of verdicts that differ

    - `verdicts`: (verdicts, items): category codes; NaN where a verdict is missing. Items with one
      verdict are left out.
    - `clusters`: (items,): labels of what items share.
    - `level`: Confidence level of the normal interval over items (`fixed`).

    `n` counts items. The status is `insufficient` without an item judged twice.

    >>> flip_rate([[1, 1, 0, 0], [1, 0, 0, 0]]).value
    0.25
    """
    x = shaped(verdicts, "verdicts, items", "verdicts")
    labels = labels_of(clusters, x.shape[1])
    there = np.isfinite(x)
    judged = there.sum(axis=0)
    used = judged >= 2
    n = int(used.sum())
    if n == 0:
        return Coefficient.absent("insufficient", "no item has two verdicts")
    alike = np.zeros(x.shape[1])
    for value in np.unique(x[there]):
        times = (x == value).sum(axis=0)
        alike += times * (times - 1)
    apart = np.where(used, 1 - alike / np.maximum(judged * (judged - 1), 1), 0.0)
    mean, error = mean_with_error(*cluster_sums(apart[None], used[None], labels))
    value, spread = float(mean[0]), float(error[0])
    if not spread > 0:
        return Coefficient(value, n=n, level=level)

    half = normal_quantile(level) * spread
    ends = Bounds(max(0.0, value - half), min(1.0, value + half), "cluster normal", level)
    return Coefficient(value, n=n, level=level, fixed=ends, se=spread)


def _over_items(
    value: float, error: float, n: int, level: float, method: str, factor: float = math.nan
) -> Coefficient:

    if not error > 0:
        return Coefficient(value, n=n, level=level)
    half = (normal_quantile(level) if math.isnan(factor) else factor) * error
    ends = Bounds(max(-1.0, value - half), min(1.0, value + half), method, level)
    return Coefficient(value, n=n, level=level, fixed=ends, se=error)


def _counts(ratings: npt.ArrayLike) -> tuple[Array, Array]:
    """(units, categories) how often each unit got each value, and the values."""
    x = shaped(ratings, "raters, units", "ratings")
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
