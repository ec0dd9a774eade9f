"""Several raters of the same answers: their agreement, their share of the variance, and one label
made of theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from hqm.psychometrics.inference.resampling import (
    cluster_labels,
    cluster_sums,
    jackknife_standard_error,
    mean_with_error,
)
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Status,
    float_array,
    ratio,
)
from hqm.psychometrics.variance.generalizability import g_study

MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]
ONE_CATEGORY = (
    "single_category: every rating is the same, so agreement beyond chance is not defined"
)


def krippendorff_alpha(
    ratings: ArrayLike, measurement: MeasurementLevel = "nominal", *, level: float = 0.95
) -> Coefficient:
    """Compute Krippendorff's alpha: agreement of raters on any scale, with missing ratings.

    1 is perfect agreement, 0 what ratings dealt out at random would give, below 0 systematic
    disagreement. Disagreements count by their size on the scale. With very uneven categories alpha
    is low although nearly all ratings agree: print the observed agreement beside it, or AC1.

    Parameters
    ----------
    ratings : array_like, shape (raters, units)
        Numbers (category codes for nominal); NaN where a rater did not rate. Units with one rating
        are left out.
    measurement : MeasurementLevel, default 'nominal'
        The scale's level.
    level : float, default 0.95
        Confidence level of the interval over units (`fixed`): each unit left out once, normal, cut
        at 1.

    Returns
    -------
    Coefficient
        Alpha, with its interval in `fixed`. `n` counts units. The status is `insufficient` without
        a unit rated twice, `degenerate` for a single category, `not_applicable` for a ratio scale
        with negative numbers.

    Raises
    ------
    ValueError
        The level of measurement is unknown, or `ratings` has another shape.

    Notes
    -----
        alpha = 1 - D_o / D_e
        D_o = sum_u sum_ck r_uc r_uk d2(c, k) / (m_u - 1) / n,
        D_e = sum_ck n_c n_k d2(c, k) / (n (n - 1))
        d2: nominal c != k; ordinal (sum_{g=c..k} n_g - (n_c + n_k) / 2)^2; interval (c - k)^2;
            ratio ((c-k)/(c+k))^2

    His reading: .800 and above reliable, .667 to .800 for tentative conclusions, below that
    discard.

    References
    ----------
    .. [1] Krippendorff, K. (2019). Content Analysis, 4th ed. Sage; ch. 12.

    Examples
    --------
    Krippendorff's four observers and twelve units (Computing Krippendorff's alpha-reliability,
    2011, section C):

    >>> nan = np.nan
    >>> observers = [[1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    ...     [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    ...              [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1,
    ...                  nan]]
    >>> [round(krippendorff_alpha(observers, scale).value, 3) for scale in ("nominal", "ordinal",
    ...     "interval", "ratio")]
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
    counts = counts[:, used]
    values = values[used]
    if len(values) < 2:
        return Coefficient.absent("degenerate", ONE_CATEGORY, n_units)
    if measurement == "ratio" and values.min() < 0:
        return Coefficient.absent(
            "not_applicable", "a ratio scale has no negative numbers", n_units
        )
    margins = counts.sum(axis=0)
    distance = _squared_distance(values, margins, measurement)
    n_ratings = counts.sum(axis=1)
    # coincidences of a unit: pairs of different raters, each weighted 1 / (m_u - 1)
    observed = np.einsum("uc,uc->u", counts @ distance, counts) / (n_ratings - 1)
    n = float(margins.sum())
    expected = float(margins @ distance @ margins)
    # sums are n D_o and n (n - 1) D_e: n - 1 is left of the divisors
    value = 1 - (n - 1) * float(observed.sum()) / expected
    if n_units < 3:
        return Coefficient(value, n=n_units, level=level)
    remaining = margins - counts
    expected_replicates = np.einsum("uc,uc->u", remaining @ distance, remaining)
    # D_o and D_e without each unit, as in the formula above
    n_remaining = n - n_ratings
    if (expected_replicates <= 0).any():
        return Coefficient(value, n=n_units, level=level)
    alphas = 1 - (n_remaining - 1) * (observed.sum() - observed) / expected_replicates
    return Coefficient.over_items(
        value,
        jackknife_standard_error(alphas),
        level,
        "unit jackknife",
        n=n_units,
        minimum=-1.0,
        maximum=1.0,
    )


def fleiss_kappa(ratings: ArrayLike, *, level: float = 0.95) -> Coefficient:
    """Compute Fleiss' kappa: agreement of several raters on nominal categories.

    Every unit has the same number of ratings, m; who gave them may change from unit to unit. With
    two raters it is Scott's pi, not Cohen's kappa. It falls to 0 where one category prevails
    although nearly all ratings agree.

    Parameters
    ----------
    ratings : array_like, shape (raters, units)
        Category codes; NaN where a rater did not rate. Of units with unequal numbers of ratings,
        those with the commonest number (two at least) are used: gaps need Krippendorff's alpha.
    level : float, default 0.95
        Confidence level of the interval over units (`fixed`): each unit left out once, normal, cut
        at 1.

    Returns
    -------
    Coefficient
        Kappa, with its interval in `fixed`. `n` counts the units used. The status is `insufficient`
        without a unit rated twice, `degenerate` for one category.

    Notes
    -----
        kappa = (P - Pe) / (1 - Pe),   P = mean over units of sum_j n_ij (n_ij - 1) / (m (m - 1)),
        Pe = sum_j p_j^2

    References
    ----------
    .. [1] Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters.
       Psychological Bulletin, 76, 378-382.

    Examples
    --------
    >>> round(fleiss_kappa([[1, 2, 1, 1], [1, 2, 1, 2], [1, 2, 2, 2]]).value, 4)
    0.3333
    """
    counts, _ = _counts(ratings)
    n_ratings = counts.sum(axis=1).astype(np.int64)
    if (n_ratings >= 2).any():
        # the commonest number of ratings a unit; 0 and 1 give no pair
        sizes = np.bincount(n_ratings[n_ratings >= 2])
    else:
        sizes = np.zeros(0, dtype=np.int64)
    if not len(sizes):
        return Coefficient.absent("insufficient", "no unit has two ratings")
    # of numbers that are equally common, the larger one says more about a unit
    m = int(len(sizes) - 1 - np.argmax(sizes[::-1]))
    counts = counts[n_ratings == m]
    units = len(counts)
    if int((counts.sum(axis=0) > 0).sum()) < 2:
        return Coefficient.absent("degenerate", ONE_CATEGORY, units)
    # share of agreeing pairs among the pairs of one unit
    pairs = (counts * (counts - 1)).sum(axis=1) / (m * (m - 1))
    shares = counts.sum(axis=0)
    chance = float(((shares / shares.sum()) ** 2).sum())
    value = (float(pairs.mean()) - chance) / (1 - chance)
    if units < 3:
        return Coefficient(value, n=units, level=level)
    # (units,): Pe without the unit
    chance_replicates = (((shares - counts) / (m * (units - 1))) ** 2).sum(axis=1)
    if (chance_replicates >= 1 - 1e-12).any():
        return Coefficient(value, n=units, level=level)
    kappas = ((pairs.sum() - pairs) / (units - 1) - chance_replicates) / (1 - chance_replicates)
    return Coefficient.over_items(
        value,
        jackknife_standard_error(kappas),
        level,
        "unit jackknife",
        n=units,
        minimum=-1.0,
        maximum=1.0,
    )


def gwet_ac1(
    ratings: ArrayLike, *, categories: int | None = None, level: float = 0.95
) -> Coefficient:
    """Compute Gwet's AC1: agreement beyond chance where one category prevails.

    Kappa and alpha take the observed margins as chance; where 95 % of verdicts are "faithful",
    agreement on those counts almost nothing. AC1 supposes that only hard units are guessed.

    Parameters
    ----------
    ratings : array_like, shape (raters, units)
        Category codes; NaN where a rater did not rate.
    categories : int, optional
        How many categories there are to choose from, where some were never used.
    level : float, default 0.95
        Confidence level of the interval over units (`fixed`), Student's with Gwet's variance, cut
        at 1.

    Returns
    -------
    Coefficient
        AC1, with its interval in `fixed`. `n` counts units. The status is `insufficient` without a
        unit rated twice, `degenerate` for a single category (when no larger number of categories is
        given).

    Notes
    -----
        AC1 = (pa - pe) / (1 - pe),  pa = mean over units of agreeing pairs,
        pe = sum pi_k (1 - pi_k) / (q - 1)

    References
    ----------
    .. [1] Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the
       presence of high agreement. British Journal of Mathematical and Statistical Psychology, 61,
       29-48.

    Examples
    --------
    Gwet's example of four raters and twelve units (data cac.raw4raters of irrCAC):

    >>> nan = np.nan
    >>> raters = [[1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    ...     [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, nan],
    ...           [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan]]
    >>> result = gwet_ac1(raters)
    >>> round(result.value, 5), round(result.se, 5)
    (0.77544, 0.14295)
    """
    counts, values = _counts(ratings)
    counts = counts[counts.sum(axis=1) >= 1]
    n_ratings = counts.sum(axis=1)
    is_pairable = n_ratings >= 2
    units = len(counts)
    if not is_pairable.any():
        return Coefficient.absent("insufficient", "no unit has two ratings", units)
    q = max(len(values), categories or 0)
    if q < 2:
        return Coefficient.absent("degenerate", ONE_CATEGORY, units)
    # a unit with few ratings weighs as much as one with many
    shares = counts / n_ratings[:, None]
    prevalence = shares.mean(axis=0)
    pairs = np.where(
        is_pairable,
        (counts * (counts - 1)).sum(axis=1) / np.maximum(n_ratings * (n_ratings - 1), 1),
        0.0,
    )
    agreement = float(pairs[is_pairable].mean())
    # Gwet (2008): 1 - p instead of p: chance is largest where categories are equally common
    chance = float((prevalence * (1 - prevalence)).sum()) / (q - 1)
    value = (agreement - chance) / (1 - chance)
    if units < 3:
        return Coefficient(value, n=units, level=level)
    # units without a pair add to the prevalence only; the others stand for all
    unit_agreement = np.where(
        is_pairable, units / is_pairable.sum() * (pairs - chance) / (1 - chance), 0.0
    )
    unit_chance = (shares * (1 - prevalence)).sum(axis=1) / (q - 1)
    # Gwet (2008): linearisation of AC1 in each unit
    influence = unit_agreement - 2 * (1 - value) * (unit_chance - chance) / (1 - chance)
    standard_error = math.sqrt(float(((influence - value) ** 2).sum()) / (units * (units - 1)))
    t_quantile = float(stdtrit(units - 1, 0.5 + level / 2))
    return Coefficient.over_items(
        value,
        standard_error,
        level,
        "Gwet",
        n=units,
        multiplier=t_quantile,
        minimum=-1.0,
        maximum=1.0,
    )


def flip_rate(
    verdicts: ArrayLike, clusters: ArrayLike | None = None, *, level: float = 0.95
) -> Coefficient:
    """Estimate the probability that two verdicts on the same response differ.

    Parameters
    ----------
    verdicts : array_like, shape (verdicts, items)
        Category codes; NaN where a verdict is missing. Items with one verdict are left out.
    clusters : array_like, shape (items,), optional
        Labels of what items share.
    level : float, default 0.95
        Confidence level of the normal interval over items (`fixed`).

    Returns
    -------
    Coefficient
        The probability, with its interval in `fixed`. `n` counts items. The status is
        `insufficient` without an item judged twice.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        mean over items of the share of pairs of verdicts that differ

    Examples
    --------
    >>> flip_rate([[1, 1, 0, 0], [1, 0, 0, 0]]).value
    0.25
    """
    x = float_array(verdicts, "verdicts, items", "verdicts")
    labels = cluster_labels(clusters, x.shape[1])
    rated = np.isfinite(x)
    n_verdicts = rated.sum(axis=0)
    judged_twice = n_verdicts >= 2
    n = int(judged_twice.sum())
    if n == 0:
        return Coefficient.absent("insufficient", "no item has two verdicts")
    n_equal_pairs = np.zeros(x.shape[1])
    for value in np.unique(x[rated]):
        n_votes = (x == value).sum(axis=0)
        n_equal_pairs += n_votes * (n_votes - 1)
    disagreement = np.where(
        judged_twice, 1 - n_equal_pairs / np.maximum(n_verdicts * (n_verdicts - 1), 1), 0.0
    )
    mean, standard_error = mean_with_error(
        *cluster_sums(disagreement[None], judged_twice[None], labels)
    )
    return Coefficient.over_items(
        float(mean[0]),
        float(standard_error[0]),
        level,
        "cluster normal",
        n=n,
        minimum=0.0,
        maximum=1.0,
    )


def _counts(ratings: ArrayLike) -> tuple[Array, Array]:
    """(units, categories) how often each unit got each value, and the values."""
    x = float_array(ratings, "raters, units", "ratings")
    rated = np.isfinite(x)
    values, codes = np.unique(x[rated], return_inverse=True)
    units = np.broadcast_to(np.arange(x.shape[1]), x.shape)[rated]
    q = len(values)
    # a unit and a category are one number, so that a single bincount counts all
    flat = np.bincount(units * q + codes, minlength=x.shape[1] * q) if q else np.zeros(0)
    return flat.reshape(x.shape[1], q).astype(np.float64), values


def _squared_distance(values: Array, margins: Array, measurement: MeasurementLevel) -> Array:
    if measurement == "nominal":
        return 1 - np.eye(len(values))
    if measurement == "ordinal":
        # ranks in the middle of each value's block
        # sum_{g=c..k} n_g - (n_c + n_k) / 2 is the distance of these middles
        middle = np.cumsum(margins) - margins / 2
        return np.asarray((middle[:, None] - middle) ** 2)
    gap = values[:, None] - values
    if measurement == "ratio":
        # two zeros are equal on a ratio scale
        total = values[:, None] + values
        gap = np.divide(gap, total, out=np.zeros_like(gap), where=total != 0)
    return np.asarray(gap**2)


_MAX_LABELS = 300
"""The labels that the likelihood is computed from: its time grows with their cube (a second for
these).
"""
_MIN_ANSWERS = 10
_MIN_SHARE = 1e-6
"""A share below this is where the search for the largest likelihood stops on its way to 0."""
_MAX_VARIANCE_RATIO = 1e5
"""The largest ratio of a variance to the residual's that is searched: beyond, there is no residual
to compare with.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterVariance:
    """Variance components of single labels.

    Attributes
    ----------
    share
        The raters' part of the sum of the three. It has no interval: two or three raters support
        none.
    answers, raters, residual
        The three variances; what a rater makes of one answer alone is in the residual.
    n_raters, n_answers, n_labels
        What they were estimated from.
    method
        `mean squares` or `REML`.
    """

    share: Coefficient
    answers: float = math.nan
    raters: float = math.nan
    residual: float = math.nan
    n_raters: int = 0
    n_answers: int = 0
    n_labels: int = 0
    method: str = ""


def rater_share(labels: ArrayLike, rng: np.random.Generator) -> RaterVariance:
    """Estimate the raters' share of the variance of single labels.

    A label is the sum of a mean, an answer's effect, a rater's effect and a residual. Where raters
    make much of the variance, it matters who labelled which answer, and more raters help more than
    more answers.

    Parameters
    ----------
    labels : array_like, shape (raters, answers)
        NaN where a rater did not label. Answers with a single label are left out.
    rng : numpy.random.Generator
        Draws the answers where there are too many labels.

    Returns
    -------
    RaterVariance
        `insufficient` for fewer than 2 raters or 10 answers that two raters labelled, `degenerate`
        when all labels are equal or no residual is left, `not_informative` with 0 when the variance
        of the raters is 0.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        share = s2_rater / (s2_answer + s2_rater + s2_residual)

    Where all raters labelled the same answers, the restricted likelihood (REML) is largest at the
    mean squares, those that would make a variance negative pooled with the residual's; this is
    exact for any number of labels. Otherwise the largest restricted likelihood is searched for; of
    more than 300 labels, it is that of answers drawn at random, 300 labels or fewer, since its time
    grows with the cube of their number.

    Labels of 0 and 1 are taken as numbers: the variances are those of the labels, not of logits.

    References
    ----------
    .. [1] Searle, S. R., Casella, G. and McCulloch, C. E. (1992). Variance Components, chapter
       4. Wiley.

    Examples
    --------
    >>> anna = [1, 1, 0, 1, 0, 1, 1, 0, 1, 1]
    >>> ben = [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]
    >>> round(rater_share([anna, ben], np.random.default_rng(0)).share.value, 3)
    0.118
    """
    x = np.asarray(labels, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(f"an array of shape (raters, answers) is needed, got {x.shape}")
    x = x[:, np.isfinite(x).sum(axis=0) >= 2]
    # a rater who labelled none of the answers left does not unbalance the table
    balanced = bool(np.isfinite(x[np.isfinite(x).any(axis=1)]).all())
    if not balanced:
        order = rng.permutation(x.shape[1])
        # whole answers, until the labels are as many as the limit
        x = x[:, np.sort(order[np.isfinite(x[:, order]).sum(axis=0).cumsum() <= _MAX_LABELS])]
    x = x[np.isfinite(x).any(axis=1)]
    study = RaterVariance(
        share=Coefficient(math.nan),
        n_raters=len(x),
        n_answers=x.shape[1],
        n_labels=int(np.isfinite(x).sum()),
        method="mean squares" if balanced else "REML",
    )

    def without_share(status: Status, reason: str, value: float = math.nan) -> RaterVariance:
        return replace(study, share=Coefficient(value, status=status, reason=reason))

    if len(x) < 2 or x.shape[1] < _MIN_ANSWERS:
        reason = (
            f"the raters' share needs 2 raters and {_MIN_ANSWERS} answers that two of them labelled"
        )
        return without_share("insufficient", f"{reason}, there are {len(x)} and {x.shape[1]}")
    if np.nanmax(x) == np.nanmin(x):
        return without_share("degenerate", "all labels are equal")
    if (np.nanmax(x, axis=0) == np.nanmin(x, axis=0)).all():
        return without_share("not_informative", "raters of the same answer never differ", 0.0)
    components = _anova_components(x) if balanced else _reml_components(x)
    if components is None:
        return without_share(
            "degenerate", "an answer's and a rater's effect explain every label exactly"
        )
    study = replace(study, answers=components[0], raters=components[1], residual=components[2])
    # below this share the likelihood was still rising towards 0
    value = components[1] / sum(components)
    if value < _MIN_SHARE:
        return without_share(
            "not_informative",
            "the raters' means differ no more than the residual makes them: their variance is"
            " estimated as 0",
            0.0,
        )
    return replace(study, share=Coefficient(value))


def _anova_components(x: Array) -> tuple[float, float, float]:
    """Return the variances of answers, raters and residual of a full table."""
    study = g_study(x, ["rater", "answer"])
    rater, answer, residual_component = (
        study.component(*effect) for effect in (["rater"], ["answer"], ["rater", "answer"])
    )
    # pool mean squares that would give a negative variance, the smallest first
    # a mean square below the residual's estimates a variance below 0; REML has 0 there, and the
    # residual takes its degrees of freedom (Searle, Casella and McCulloch 1992, ch. 4)
    residual = residual_component.mean_square
    df = residual_component.df
    for component in sorted((rater, answer), key=lambda component: component.mean_square):
        if component.mean_square < residual:
            residual = (residual * df + component.mean_square * component.df) / (df + component.df)
            df += component.df
    answer_variance, rater_variance = (
        (component.mean_square - residual) / n
        for component, n in zip((answer, rater), x.shape, strict=True)
    )
    return max(0.0, answer_variance), max(0.0, rater_variance), residual


def _reml_components(x: Array) -> tuple[float, float, float] | None:
    """The same of a table with empty cells; None where nothing is left for the residual.

    What is sought are the ratios of the two variances to the residual's, as log(1 + ratio): exact
    at 0, and even where the residual is small. The labels' covariance has no eigenvalue below the
    residual's, so that it has an inverse at the bound, too.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    rater, answer = np.nonzero(np.isfinite(x))
    labels = x[rater, answer]
    # (labels, labels): covariances that an answer, and a rater, give their labels, up to the
    # variance
    same_answer, same_rater = (
        np.equal.outer(index, index).astype(float) for index in (answer, rater)
    )

    def restricted_fit(logs: Array) -> tuple[float, float]:
        """The best residual variance, and the deviance (twice the negative log-likelihood)."""
        # the search is over log(1 + ratio), which is exact at 0
        ratios = np.expm1(logs)
        covariance = np.eye(len(labels)) + ratios[0] * same_answer + ratios[1] * same_rater
        root = np.linalg.cholesky(covariance)
        columns = np.column_stack([np.ones(len(labels)), labels])
        # by L^-1 of the Cholesky factor the labels become uncorrelated: least squares is then
        # generalized
        whitened_columns: Array = solve_triangular(root, columns, lower=True)
        ones = whitened_columns[:, 0]
        whitened = whitened_columns[:, 1]
        residuals = whitened - ones * (ones @ whitened / (ones @ ones))
        dof = len(labels) - 1
        residual = float(residuals @ residuals / dof)
        # log |V| + log (1' V^-1 1) + (N - 1) log s2: the middle term makes the likelihood the
        # restricted one, which does not take the mean as known
        deviance = 2 * np.log(np.diag(root)).sum() + np.log(ones @ ones) + dof * np.log(residual)
        return residual, float(deviance)

    def deviance(logs: Array) -> float:
        return restricted_fit(logs)[1]

    max_log_ratio = math.log1p(_MAX_VARIANCE_RATIO)
    start = np.ones(2)
    optimum = minimize(
        deviance, start, method="L-BFGS-B", bounds=[(0.0, max_log_ratio)] * 2, tol=1e-12
    )
    # on the bound the residual would go to 0: nothing is left to compare with
    if optimum.x.max() == max_log_ratio:
        return None
    residual = restricted_fit(optimum.x)[0]
    answer_variance, rater_variance = map(float, residual * np.expm1(optimum.x))
    return answer_variance, rater_variance, residual


Pool = Literal["majority", "mean", "dawid-skene"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterErrors:
    """Dawid and Skene's estimates: true labels and the raters' error rates.

    Attributes
    ----------
    truth
        (answers,): the probability that the true label is 1; NaN without a label.
    sensitivity, specificity
        (raters,): the share of true 1 that each labels 1, and of true 0 that each labels 0.
    prevalence
        The share of true 1.
    """

    truth: Array
    sensitivity: Array
    specificity: Array
    prevalence: float


def pooled_labels(labels: ArrayLike, pool: Pool = "majority") -> Array:
    """Pool the labels of each answer by majority, mean, or Dawid and Skene's model.

    Parameters
    ----------
    labels : array_like, shape (raters, answers)
        NaN where a rater did not label.
    pool : Pool, default 'majority'
        How labels are pooled: `majority`, `mean` or `dawid-skene`.

    Returns
    -------
    Array
        (answers,): one label of each answer. Without a majority (more than half of the raters) an
        answer stays unresolved (NaN).

    Raises
    ------
    ValueError
        `dawid-skene` gets labels other than 0 and 1, or `labels` has another shape.

    Examples
    --------
    >>> pooled_labels([[1, 0, 1], [1, 1, 0], [0, np.nan, 0]]).tolist()
    [1.0, nan, 0.0]
    """
    x = float_array(labels, "raters, answers", "labels")
    if pool == "dawid-skene":
        truth = dawid_skene(x).truth
        # even odds are no label
        return np.where(np.isnan(truth) | (truth == 0.5), np.nan, (truth > 0.5).astype(np.float64))
    counts = np.isfinite(x).sum(axis=0)
    if pool == "mean":
        return ratio(np.nansum(x, axis=0), counts)
    return _majority(x, np.ones(len(x)))


def _majority(x: Array, weights: Array) -> Array:
    """(answers,): the value of more than half of the weight; NaN without one."""
    rated = np.isfinite(x)
    total = weights @ rated
    result = np.full(x.shape[1], np.nan)
    for value in np.unique(x[rated]):
        # values are distinct, so at most one has more than half
        result[(weights @ (x == value) > total / 2) & (total > 0)] = value
    return result


def dawid_skene(labels: ArrayLike) -> RaterErrors:
    """Estimate true labels and raters' error rates by maximum likelihood (EM).

    No answer's truth is known; raters who agree with the others are taken for good ones. It begins
    at the mean of the raters, so that raters who err less than half of the time come out so. To
    every rater's two shares one label is added that the rater would give 4 times of 5 rightly: few
    labels would otherwise make a rater infallible. Raters' errors must be independent given the
    truth: where they share one, nothing shows it.

    Parameters
    ----------
    labels : array_like, shape (raters, answers)
        0 or 1, NaN where a rater did not label.

    Returns
    -------
    RaterErrors
        The true labels' probabilities, and the raters' error rates.

    Raises
    ------
    ValueError
        A label is not 0 or 1, or `labels` has another shape.

    References
    ----------
    .. [1] Dawid, A. P. and Skene, A. M. (1979). Applied Statistics, 28, 20-28.

    Examples
    --------
    >>> study = dawid_skene([[1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0]])
    >>> (study.truth > 0.5).tolist(), bool(study.sensitivity[0] > study.sensitivity[2])
    ([True, True, False, False, True, False], True)
    """
    x = float_array(labels, "raters, answers", "labels")
    rated = np.isfinite(x)
    if not np.isin(x[rated], (0, 1)).all():
        raise ValueError("the labels must be 0 or 1")
    ones = (x == 1).astype(np.float64)
    zeros = (x == 0).astype(np.float64)
    counts = rated.sum(axis=0)
    labelled = counts > 0
    truth = np.where(labelled, ones.sum(axis=0) / np.maximum(counts, 1), 0.0)
    # EM: rates given the truth (M step), then the truth given the rates (E step)
    for _ in range(500):
        falsehood = np.where(labelled, 1 - truth, 0.0)
        # one label of prior weight, .8 of it right, keeps rates off 0 and 1
        sensitivity = (ones @ truth + 0.8) / ((ones + zeros) @ truth + 1)
        specificity = (zeros @ falsehood + 0.8) / ((ones + zeros) @ falsehood + 1)
        prevalence = float((truth.sum() + 0.5) / (labelled.sum() + 1))
        # log posterior odds of a true 1: prior odds times the likelihood ratio of each label
        evidence = np.log(prevalence / (1 - prevalence))
        evidence = (
            evidence
            + np.log(sensitivity / (1 - specificity)) @ ones
            + np.log((1 - sensitivity) / specificity) @ zeros
        )
        previous = truth
        # exp overflows beyond 709
        truth = np.where(labelled, 1 / (1 + np.exp(-np.clip(evidence, -700, 700))), 0.0)
        if np.abs(truth - previous).max(initial=0.0) < 1e-9:
            break
    return RaterErrors(
        truth=np.where(labelled, truth, np.nan),
        sensitivity=sensitivity,
        specificity=specificity,
        prevalence=prevalence,
    )


def rater_replicates(
    labels: ArrayLike, pool: Pool, rng: np.random.Generator, *, replicates: int = 200
) -> Array:
    """Draw pooled labels as other raters of the same kind might have given them.

    Raters are resampled with replacement, and each answer is pooled again from the resampled
    raters; an answer of whose raters none is drawn, or which then has a tie, keeps its label.
    What one rater alone labelled, and everything where `pool` is Dawid and Skene's, is drawn from
    the posterior of that model, whose error rates come from the answers labelled twice. Without
    such answers, or with labels other than 0 and 1, a single rater's label is taken as it is, and
    nothing of that rater's error is seen.

    Parameters
    ----------
    labels : array_like, shape (raters, answers)
        NaN where a rater did not label.
    pool : Pool
        How labels are pooled: `majority`, `mean` or `dawid-skene`.
    rng : numpy.random.Generator
        Draws raters, and truths.
    replicates : int, default 200
        Number of replicates.

    Returns
    -------
    Array
        (replicates, answers): the pooled labels of each replicate.

    Raises
    ------
    ValueError
        An array has another shape.
    """
    x = float_array(labels, "raters, answers", "labels")
    rated = np.isfinite(x)
    counts = rated.sum(axis=0)
    pooled = pooled_labels(x, pool)
    rows = np.tile(pooled, (replicates, 1))
    labelled_twice = counts >= 2
    if not labelled_twice.any():
        return rows
    if bool(np.isin(x[rated], (0, 1)).all()):
        truth = dawid_skene(x).truth
        if pool == "dawid-skene":
            from_posterior = np.isfinite(pooled)
        else:
            from_posterior = np.isfinite(pooled) & ~labelled_twice
        # labels that only one rater gave have no other rater to be drawn
        rows[:, from_posterior] = (
            rng.random((replicates, int(from_posterior.sum()))) < truth[from_posterior]
        )
    if pool != "dawid-skene":
        for row in rows:
            # a bootstrap over raters: how often each is drawn is that rater's weight
            weights = np.bincount(rng.integers(0, len(x), len(x)), minlength=len(x)).astype(
                np.float64
            )
            if pool == "majority":
                resampled = _majority(x, weights)
            else:
                resampled = ratio(weights @ np.where(rated, x, 0.0), weights @ rated)
            changed = labelled_twice & np.isfinite(resampled) & np.isfinite(pooled)
            row[changed] = resampled[changed]
    return rows
