"""Several raters of the same answers: their agreement, their share of the variance, and one label
made of theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from hqm.psychometrics.generalizability import g_study
from hqm.psychometrics.resampling import (
    cluster_sums,
    jackknife_error,
    labels_of,
    mean_with_error,
)
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Status,
    ratio,
    shaped,
)

MeasurementLevel = Literal["nominal", "ordinal", "interval", "ratio"]
ONE_CATEGORY = (
    "single_category: every rating is the same, so agreement beyond chance is not defined"
)


def krippendorff_alpha(
    ratings: ArrayLike, measurement: MeasurementLevel = "nominal", *, level: float = 0.95
) -> Coefficient:
    """Krippendorff's alpha: agreement of any number of raters, on any scale, with gaps.

    1 is perfect agreement, 0 what ratings dealt out at random would give, below 0 systematic
    disagreement. Disagreements count by their size on the scale. With very uneven categories alpha
    is low although nearly all ratings agree: print the observed agreement beside it, or AC1.

        alpha = 1 - D_o / D_e
        D_o = sum_u sum_ck r_uc r_uk d2(c, k) / (m_u - 1) / n,
        D_e = sum_ck n_c n_k d2(c, k) / (n (n - 1))
        d2: nominal c != k; ordinal (sum_{g=c..k} n_g - (n_c + n_k) / 2)^2; interval (c - k)^2;
            ratio ((c-k)/(c+k))^2

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
    return Coefficient.over_items(
        value, jackknife_error(alphas), level, "unit jackknife", n=n_units, least=-1.0, most=1.0
    )


def fleiss_kappa(ratings: ArrayLike, *, level: float = 0.95) -> Coefficient:
    """Fleiss' kappa: agreement of several raters on nominal categories, beyond what their pooled
    shares give by chance.

    Every unit has the same number of ratings, m; who gave them may change from unit to unit. With
    two raters it is Scott's pi, not Cohen's kappa. It falls to 0 where one category prevails
    although nearly all ratings agree.

        kappa = (P - Pe) / (1 - Pe),   P = mean over units of sum_j n_ij (n_ij - 1) / (m (m - 1)),
        Pe = sum_j p_j^2

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
    return Coefficient.over_items(
        value, jackknife_error(kappas), level, "unit jackknife", n=units, least=-1.0, most=1.0
    )


def gwet_ac1(
    ratings: ArrayLike, *, categories: int | None = None, level: float = 0.95
) -> Coefficient:
    """Gwet's AC1: agreement beyond chance that does not collapse when one category prevails.

    Kappa and alpha take the observed margins as chance; where 95 % of verdicts are "faithful",
    agreement on those counts almost nothing. AC1 supposes that only hard units are guessed.

        AC1 = (pa - pe) / (1 - pe),  pa = mean over units of agreeing pairs,
        pe = sum pi_k (1 - pi_k) / (q - 1)

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
    >>> raters = [[1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    ...     [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, nan],
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
    factor = float(stdtrit(units - 1, 0.5 + level / 2))
    return Coefficient.over_items(
        value, error, level, "Gwet", n=units, reach=factor, least=-1.0, most=1.0
    )


def flip_rate(
    verdicts: ArrayLike, clusters: ArrayLike | None = None, *, level: float = 0.95
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
    return Coefficient.over_items(
        float(mean[0]), float(error[0]), level, "cluster normal", n=n, least=0.0, most=1.0
    )


def _counts(ratings: ArrayLike) -> tuple[Array, Array]:
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


_MOST = 300
"""The labels that the likelihood is computed from: its time grows with their cube (a second for
these).
"""
_FEWEST = 10
_ZERO = 1e-6
"""A share below this is where the search for the largest likelihood stops on its way to 0."""
_MOST_RATIO = 1e5
"""The largest ratio of a variance to the residual's that is searched: beyond, there is no residual
to compare with.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterVariance:
    """The variance of single labels, and where it comes from.

    - `share`: The raters' part of the sum of the three. It has no interval: two or three raters
      support none.
    - `answers, raters, residual`: The three variances; what a rater makes of one answer alone is in
      the residual.
    - `n_raters, n_answers, n_labels`: What they were estimated from.
    - `method`: `mean squares` or `REML`.
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
    """The share of the variance of single labels that strict and lenient raters make, by restricted
    likelihood.

    A label is the sum of a mean, an answer's effect, a rater's effect and a residual. Where raters
    make much of the variance, it matters who labelled which answer, and more raters help more than
    more answers.

        share = s2_rater / (s2_answer + s2_rater + s2_residual)

    Where all raters labelled the same answers, the restricted likelihood (REML) is largest at the
    mean squares, those that would make a variance negative pooled with the residual's; this is
    exact for any number of labels. Otherwise the largest restricted likelihood is searched for; of
    more than 300 labels, it is that of answers drawn at random, 300 labels or fewer, since its time
    grows with the cube of their number.

    Searle, S. R., Casella, G. and McCulloch, C. E. (1992). Variance Components, chapter 4. Wiley.
    Labels of 0 and 1 are taken as numbers: the variances are those of the labels, not of logits.

    - `labels`: (raters, answers); NaN where a rater did not label. Answers with a single label are
      left out.
    - `rng`: Draws the answers where there are too many labels.

    Returns
    -------
    RaterVariance
        `insufficient` for fewer than 2 raters or 10 answers that two raters labelled, `degenerate`
        when all labels are equal or no residual is left, `not_informative` with 0 when the variance
        of the raters is 0.

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
    balanced = bool(np.isfinite(x[np.isfinite(x).any(axis=1)]).all())
    if not balanced:
        order = rng.permutation(x.shape[1])
        x = x[:, np.sort(order[np.isfinite(x[:, order]).sum(axis=0).cumsum() <= _MOST])]
    x = x[np.isfinite(x).any(axis=1)]
    study = RaterVariance(
        share=Coefficient(math.nan),
        n_raters=len(x),
        n_answers=x.shape[1],
        n_labels=int(np.isfinite(x).sum()),
        method="mean squares" if balanced else "REML",
    )

    def refused(status: Status, reason: str, value: float = math.nan) -> RaterVariance:
        return replace(study, share=Coefficient(value, status=status, reason=reason))

    if len(x) < 2 or x.shape[1] < _FEWEST:
        reason = f"the raters' share needs 2 raters and {_FEWEST} answers that two of them labelled"
        return refused("insufficient", f"{reason}, there are {len(x)} and {x.shape[1]}")
    if np.nanmax(x) == np.nanmin(x):
        return refused("degenerate", "all labels are equal")
    if (np.nanmax(x, axis=0) == np.nanmin(x, axis=0)).all():
        return refused("not_informative", "raters of the same answer never differ", 0.0)
    parts = _by_mean_squares(x) if balanced else _by_likelihood(x)
    if parts is None:
        return refused("degenerate", "an answer's and a rater's effect explain every label exactly")
    study = replace(study, answers=parts[0], raters=parts[1], residual=parts[2])
    value = parts[1] / sum(parts)
    if value < _ZERO:
        return refused(
            "not_informative",
            "the raters' means differ no more than the residual makes them: their variance is"
            " estimated as 0",
            0.0,
        )
    return replace(study, share=Coefficient(value))


def _by_mean_squares(x: Array) -> tuple[float, float, float]:
    """The variances of answers, raters and residual of a full table."""
    study = g_study(x, ["rater", "answer"])
    rater, answer, rest = (
        study.component(*effect) for effect in (["rater"], ["answer"], ["rater", "answer"])
    )
    residual, df = rest.mean_square, rest.df
    for part in sorted((rater, answer), key=lambda part: part.mean_square):
        if part.mean_square < residual:
            residual = (residual * df + part.mean_square * part.df) / (df + part.df)
            df += part.df
    of_answers, of_raters = (
        (part.mean_square - residual) / n for part, n in zip((answer, rater), x.shape, strict=True)
    )
    return max(0.0, of_answers), max(0.0, of_raters), residual


def _by_likelihood(x: Array) -> tuple[float, float, float] | None:
    """The same of a table with empty cells; None where nothing is left for the residual.

    What is sought are the ratios of the two variances to the residual's, as log(1 + ratio): exact
    at 0, and even where the residual is small. The labels' covariance has no eigenvalue below the
    residual's, so that it has an inverse at the bound, too.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    rater, answer = np.nonzero(np.isfinite(x))
    labels = x[rater, answer]
    same_answer, same_rater = (np.equal.outer(of, of).astype(float) for of in (answer, rater))

    def fitted(logs: Array) -> tuple[float, float]:
        """The best residual variance, and the deviance (twice the negative log-likelihood)."""
        ratios = np.expm1(logs)
        covariance = np.eye(len(labels)) + ratios[0] * same_answer + ratios[1] * same_rater
        root = np.linalg.cholesky(covariance)
        columns = np.column_stack([np.ones(len(labels)), labels])
        both: Array = solve_triangular(root, columns, lower=True)
        ones, whitened = both[:, 0], both[:, 1]
        left = whitened - ones * (ones @ whitened / (ones @ ones))
        dof = len(labels) - 1
        residual = float(left @ left / dof)
        deviance = 2 * np.log(np.diag(root)).sum() + np.log(ones @ ones) + dof * np.log(residual)
        return residual, float(deviance)

    def deviance(logs: Array) -> float:
        return fitted(logs)[1]

    most = math.log1p(_MOST_RATIO)
    start = np.ones(2)
    best = minimize(deviance, start, method="L-BFGS-B", bounds=[(0.0, most)] * 2, tol=1e-12)
    if best.x.max() == most:
        return None
    residual = fitted(best.x)[0]
    of_answers, of_raters = map(float, residual * np.expm1(best.x))
    return of_answers, of_raters, residual


Pool = Literal["majority", "mean", "dawid-skene"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterErrors:
    """Dawid and Skene's estimates: what is true, and how often each rater sees it.

    - `truth`: (answers,): the probability that the true label is 1; NaN without a label.
    - `sensitivity, specificity`: (raters,): the share of true 1 that each labels 1, and of true 0
      that each labels 0.
    - `prevalence`: The share of true 1.
    """

    truth: Array
    sensitivity: Array
    specificity: Array
    prevalence: float


def pooled_labels(labels: ArrayLike, pool: Pool = "majority") -> Array:
    """Pool the labels of each answer: by majority, mean, or Dawid and Skene's likelier truth.

    Without a majority (more than half of the raters) an answer stays unresolved (NaN).

    - `labels`: (raters, answers); NaN where a rater did not label. `ValueError` where `dawid-skene`
      gets others than 0 and 1.

    >>> pooled_labels([[1, 0, 1], [1, 1, 0], [0, np.nan, 0]]).tolist()
    [1.0, nan, 0.0]
    """
    x = shaped(labels, "raters, answers", "labels")
    if pool == "dawid-skene":
        truth = dawid_skene(x).truth
        return np.where(np.isnan(truth) | (truth == 0.5), np.nan, (truth > 0.5).astype(np.float64))
    counts = np.isfinite(x).sum(axis=0)
    if pool == "mean":
        return ratio(np.nansum(x, axis=0), counts)
    return _majority(x, np.ones(len(x)))


def _majority(x: Array, weights: Array) -> Array:
    """(answers,): what raters of more than half of the weight said."""
    there = np.isfinite(x)
    total = weights @ there
    result = np.full(x.shape[1], np.nan)
    for value in np.unique(x[there]):
        result[(weights @ (x == value) > total / 2) & (total > 0)] = value
    return result


def dawid_skene(labels: ArrayLike) -> RaterErrors:
    """How often each rater is right, and what is true, estimated together by maximum likelihood
    (EM).

    No answer's truth is known; raters who agree with the others are taken for good ones. It begins
    at the mean of the raters, so that raters who err less than half of the time come out so. To
    every rater's two shares one label is added that the rater would give 4 times of 5 rightly: few
    labels would otherwise make a rater infallible. Raters' errors must be independent given the
    truth: where they share one, nothing shows it.

    Dawid, A. P. and Skene, A. M. (1979). Applied Statistics, 28, 20-28.

    - `labels`: (raters, answers): 0 or 1, NaN where a rater did not label.

    >>> study = dawid_skene([[1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0]])
    >>> (study.truth > 0.5).tolist(), bool(study.sensitivity[0] > study.sensitivity[2])
    ([True, True, False, False, True, False], True)
    """
    x = shaped(labels, "raters, answers", "labels")
    there = np.isfinite(x)
    if not np.isin(x[there], (0, 1)).all():
        raise ValueError("the labels must be 0 or 1")
    ones, zeros = (x == 1).astype(np.float64), (x == 0).astype(np.float64)
    counts = there.sum(axis=0)
    seen = counts > 0
    truth = np.where(seen, ones.sum(axis=0) / np.maximum(counts, 1), 0.0)
    for _ in range(500):
        wrong = np.where(seen, 1 - truth, 0.0)
        sensitivity = (ones @ truth + 0.8) / ((ones + zeros) @ truth + 1)
        specificity = (zeros @ wrong + 0.8) / ((ones + zeros) @ wrong + 1)
        prevalence = float((truth.sum() + 0.5) / (seen.sum() + 1))
        evidence = np.log(prevalence / (1 - prevalence))
        evidence = (
            evidence
            + np.log(sensitivity / (1 - specificity)) @ ones
            + np.log((1 - sensitivity) / specificity) @ zeros
        )
        before, truth = truth, np.where(seen, 1 / (1 + np.exp(-np.clip(evidence, -700, 700))), 0.0)
        if np.abs(truth - before).max(initial=0.0) < 1e-9:
            break
    return RaterErrors(
        truth=np.where(seen, truth, np.nan),
        sensitivity=sensitivity,
        specificity=specificity,
        prevalence=prevalence,
    )


def rater_replicates(
    labels: ArrayLike, pool: Pool, rng: np.random.Generator, *, replicates: int = 200
) -> Array:
    """(replicates, answers): the pooled labels as other raters of the same kind might have left
    them.

    Raters are drawn with replacement, and each answer is pooled anew from those of its raters that
    were drawn; an answer of whose raters none is drawn, or which then has a tie, keeps its label.
    What one rater alone labelled, and everything where `pool` is Dawid and Skene's, is drawn from
    the posterior of that model, whose error rates come from the answers labelled twice. Without
    such answers, or with labels other than 0 and 1, a single rater's label is taken as it is, and
    nothing of that rater's error is seen.

    - `labels`: (raters, answers); NaN where a rater did not label.
    - `rng`: Draws raters, and truths.
    """
    x = shaped(labels, "raters, answers", "labels")
    there = np.isfinite(x)
    counts = there.sum(axis=0)
    centre = pooled_labels(x, pool)
    rows = np.tile(centre, (replicates, 1))
    repeated = counts >= 2
    if not repeated.any():
        return rows
    if bool(np.isin(x[there], (0, 1)).all()):
        truth = dawid_skene(x).truth
        drawn = np.isfinite(centre) if pool == "dawid-skene" else np.isfinite(centre) & ~repeated
        rows[:, drawn] = rng.random((replicates, int(drawn.sum()))) < truth[drawn]
    if pool != "dawid-skene":
        for row in rows:
            weights = np.bincount(rng.integers(0, len(x), len(x)), minlength=len(x)).astype(
                np.float64
            )
            if pool == "majority":
                again = _majority(x, weights)
            else:
                again = ratio(weights @ np.where(there, x, 0.0), weights @ there)
            changed = repeated & np.isfinite(again) & np.isfinite(centre)
            row[changed] = again[changed]
    return rows
