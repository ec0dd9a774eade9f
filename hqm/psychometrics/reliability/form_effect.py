"""Whether two forms shift all respondents alike, and how well they agree without the seeds'
noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, stdtr, stdtrit

from hqm.psychometrics.agreement.intraclass import icc
from hqm.psychometrics.inference.families import Relatives, add_disattenuated_bound
from hqm.psychometrics.inference.resampling import (
    MIN_UNITS,
    cluster_labels,
    cluster_sums,
    jackknife_variance,
    mean_with_error,
)
from hqm.psychometrics.inference.significance import (
    SignificanceTest,
    chi_square_test,
    holm,
)
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    ConfidenceInterval,
    Outcome,
    Status,
    effective_size,
    equal_shape_arrays,
    float_array,
    is_constant,
)
from hqm.psychometrics.validity.correlation import paired, pearson
from hqm.psychometrics.variance.variance_components import (
    correlation_interval,
    mean_variance,
)


@dataclass(frozen=True, slots=True, eq=False)
class ShiftHeterogeneity:
    """How much the shift between two forms differs between respondents.

    Attributes
    ----------
    test
        Cochran's Q of equal shifts; its `status` speaks for the whole.
    i2
        Share of the shifts' variance that is not sampling error, 0 to 1.
    deviation
        sd_form: standard deviation of the true shifts, in score units.
    shifts
        (respondents,): each respondent's shift.
    """

    test: SignificanceTest
    shifts: Array
    i2: float = math.nan
    deviation: float = math.nan


def shift_heterogeneity(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
) -> ShiftHeterogeneity:
    """Test whether a change of form shifts all respondents alike (Cochran's Q).

    Parameters
    ----------
    first : array_like, shape (respondents, items)
        Item scores on the first form.
    second : array_like, shape (respondents, items)
        Item scores on the second form.
    clusters : array_like, shape (items,), optional
        Labels of what items share, such as the picture; every item its own unless given.

    Returns
    -------
    ShiftHeterogeneity
        The status is `insufficient` below 3 respondents with 2 clusters and `not_informative` for
        identical forms.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        D_m = mean_i(x_A - x_B),  s2_m its cluster variance,  w = 1 / s2;
        Q = sum w (D - D_w)^2 ~ chi2(M - 1)
        I2 = max(0, 1 - (M - 1) / Q),   sd_form = sqrt(max(0, var(D) - mean s2))

    A form that is harder for everybody is harmless; one that is harder for some and easier for
    others measures another thing.

    References
    ----------
    .. [1] Higgins and Thompson (2002). Statistics in Medicine, 21, 1539-1558.
    """
    a, b = equal_shape_arrays(first, second, "respondents, items")
    labels = cluster_labels(clusters, a.shape[1])
    scored = np.isfinite(a) & np.isfinite(b)
    if not scored.any():
        test = SignificanceTest.absent("insufficient", "no item is scored on both forms", n=len(a))
        return ShiftHeterogeneity(test, np.full(len(a), np.nan))
    # the same items on both sides: what makes an item hard cancels in a - b
    sums, sizes = cluster_sums(np.where(scored, a - b, 0.0), scored, labels)
    mean, error = mean_with_error(sums, sizes)
    return shift_heterogeneity_of_scores(mean, error**2)


def shift_heterogeneity_of_scores(shifts: ArrayLike, variances: ArrayLike) -> ShiftHeterogeneity:
    """Test equal shifts from each respondent's shift and its sampling variance.

    Parameters
    ----------
    shifts, variances : array_like, shape (respondents,)
        Score on the first form minus score on the second, and the variance of that difference.

    Returns
    -------
    ShiftHeterogeneity
        As of `shift_heterogeneity`.

    Raises
    ------
    ValueError
        An array has another shape.

    References
    ----------
    .. [1] Higgins and Thompson (2002). Statistics in Medicine, 21, 1539-1558.

    Examples
    --------
    >>> result = shift_heterogeneity_of_scores([0.1, 0.1, 0.4], [0.01, 0.01, 0.01])
    >>> round(result.test.statistic, 6), round(result.deviation, 6)
    (6.0, 0.141421)
    """
    d, s2 = equal_shape_arrays(shifts, variances, "respondents")
    finite = np.isfinite(d) & np.isfinite(s2)
    if finite.sum() < 3:
        reason = (
            "heterogeneity needs 3 respondents with 2 clusters of items, there are"
            f" {int(finite.sum())}"
        )
        return ShiftHeterogeneity(SignificanceTest.absent("insufficient", reason, n=len(d)), d)
    # without any error there is nothing to test against
    if not s2[finite].any() and is_constant(d[finite]):
        reason = "the forms differ by the same amount on every item"
        return ShiftHeterogeneity(SignificanceTest.absent("not_informative", reason, n=len(d)), d)
    weighted = finite & (s2 > 0)
    m = int(weighted.sum())
    if m < 3:
        reason = (
            f"heterogeneity needs 3 respondents whose differences vary over items, there are {m}"
        )
        return ShiftHeterogeneity(SignificanceTest.absent("insufficient", reason, n=len(d)), d)

    # Higgins and Thompson (2002): w, D_w and Q; I2 is the share of Q beyond its degrees of freedom
    weight = 1 / s2[weighted]
    centre = float(np.dot(weight, d[weighted]) / weight.sum())
    q = float(np.dot(weight, (d[weighted] - centre) ** 2))
    # Hedges and Olkin (1985), unweighted: observed variance less the mean sampling variance
    true_variance = float(d[finite].var(ddof=1)) - float(s2[finite].mean())
    return ShiftHeterogeneity(
        chi_square_test(q, m - 1, m),
        d,
        max(0.0, 1 - (m - 1) / q) if q > 0 else 0.0,
        math.sqrt(max(0.0, true_variance)),
    )


@dataclass(frozen=True, slots=True)
class FormReliability:
    """The correlation of two forms, with and without the noise of the seeds.

    Attributes
    ----------
    observed
        Pearson's r of the scores.
    true
        The correlation of the forms' true scores; above 1 it is cut to 1, kept in `raw` and
        flagged `ABOVE_ONE`.
    attenuation
        The factor by which seed noise lowers the correlation, sqrt(reliability of A x
        reliability of B).
    """

    observed: Coefficient
    true: Coefficient
    attenuation: float = math.nan


def form_reliability(
    first: ArrayLike,
    second: ArrayLike,
    noise_first: ArrayLike,
    noise_second: ArrayLike,
    *,
    replicates: tuple[Array, Array] | None = None,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> FormReliability:
    """Split the correlation of two forms into the forms' own agreement and the seeds' noise.

    Parallel-forms reliability must not be blamed for test-retest noise: the second is cured by more
    items or runs, the first is not.

    Parameters
    ----------
    first, second : array_like, shape (respondents,)
        Scores on each form; pairs with a missing number are left out.
    noise_first, noise_second : array_like, shape (respondents,)
        Variance of one run's score over seeds on each form (`rho_g(...).noise`).
    replicates : pair of ndarray, optional
        The (respondents, clusters) scores of each form with each cluster of items left out.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    FormReliability
        The status is `insufficient` for fewer than 3 respondents, `degenerate` when scores do not
        vary or a form's variance is all noise. Ends are cut at 1, as the value is.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        r_true = cov(m_A, m_B) / sqrt((s2_A - v_A)(s2_B - v_B)),   observed = r_true x attenuation

    For these respondents r_true is computed with each cluster of items left out; for others the
    observed correlation's lower end is multiplied by the same factor as the value.

    References
    ----------
    .. [1] Spearman, C. (1904). The proof and measurement of association between two things.
       American Journal of Psychology, 15, 72-101.
    .. [2] Tukey, J. W. (1958). Annals of Mathematical Statistics, 29, 614.

    Examples
    --------
    >>> a, b = [0.2, 0.4, 0.5, 0.8], [0.3, 0.3, 0.6, 0.8]
    >>> result = form_reliability(a, b, [0.002] * 4, [0.002] * 4)
    >>> round(result.observed.value, 4), round(result.true.value, 4), round(result.attenuation, 4)
    (0.9254, 0.9566, 0.9673)
    """
    vectors = [np.asarray(v, dtype=np.float64) for v in (first, second, noise_first, noise_second)]
    if len({c.shape for c in vectors}) != 1 or vectors[0].ndim != 1:
        raise ValueError(f"four vectors of one length are needed, got {[c.shape for c in vectors]}")
    scores_and_noise = np.stack(vectors, axis=1)
    complete = np.isfinite(scores_and_noise).all(axis=1)
    scores_and_noise = scores_and_noise[complete]
    relatives = Relatives(tuple(families), n_effective).subset(complete)
    observed = pearson(
        scores_and_noise[:, 0],
        scores_and_noise[:, 1],
        level=level,
        n_effective=n_effective,
        families=relatives.families,
    )
    n = len(scores_and_noise)
    if observed.status != "ok":
        return FormReliability(observed, observed)
    noise = scores_and_noise[:, 2].mean(), scores_and_noise[:, 3].mean()
    # Spearman (1904): r / sqrt(reliability_A reliability_B)
    value, (rel_a, rel_b) = _disattenuated(
        scores_and_noise[:, :1], scores_and_noise[:, 1:2], *noise
    )
    if not np.isfinite(value[0]):
        reason = "the scores of a form vary by no more than the seeds' noise"
        absent = Coefficient.absent("degenerate", reason, n)
        return FormReliability(observed, absent)
    raw = float(value[0])
    # noise weakens the observed correlation by this factor
    attenuation = math.sqrt(float(rel_a[0] * rel_b[0]))
    fixed = None
    if replicates is not None and n >= MIN_UNITS:
        correlation_replicates = _disattenuated(
            replicates[0][complete], replicates[1][complete], *noise
        )[0]
        fixed = correlation_interval(raw, correlation_replicates, level)
    # a correlation above 1 comes from a noise that was overestimated; `raw` keeps it
    flags = ("ABOVE_ONE",) if abs(raw) > 1 else ()
    true = Coefficient(
        math.copysign(1.0, raw) if flags else raw,
        n=n,
        level=level,
        fixed=fixed,
        raw=raw if flags else math.nan,
        flags=flags,
    )
    return FormReliability(observed, add_disattenuated_bound(true, observed), attenuation)


def _disattenuated(
    a: Array, b: Array, noise_a: float, noise_b: float
) -> tuple[Array, tuple[Array, Array]]:
    """Correlations without noise of (respondents, sets) scores, and the reliabilities of both
    forms.
    """
    # sets along axis 1: all scores, or the scores without each cluster
    covariance = ((a - a.mean(axis=0)) * (b - b.mean(axis=0))).sum(axis=0) / (len(a) - 1)
    variances = np.stack([a.var(axis=0, ddof=1), b.var(axis=0, ddof=1)])
    true_variances = variances - np.array([[noise_a], [noise_b]])
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(
            (true_variances > 0).all(axis=0),
            covariance / np.sqrt(true_variances[0] * true_variances[1]),
            np.nan,
        )
        reliability = np.where(variances > 0, true_variances / variances, np.nan)
    return value, (reliability[0], reliability[1])


def mean_shift(
    x: ArrayLike,
    y: ArrayLike,
    *,
    replicates: tuple[Array, Array] | None = None,
    n_effective: float | None = None,
    level: float = 0.95,
) -> Coefficient:
    """Compute how much higher the second administration is on average, with Student's interval.

    Parameters
    ----------
    x, y : array_like, shape (respondents,)
        Scores in both administrations; pairs with a missing score are left out.
    replicates : pair of ndarray, optional
        The (respondents, clusters) scores of each administration with each cluster of items left
        out.
    n_effective : float, optional
        The number of independent respondents, where some are relatives.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    Coefficient
        It is in score units. The status is `insufficient` without a pair; there is no interval
        below 2 pairs.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        d = mean(y - x),   interval d +- t(n - 1) s_d / sqrt(n)

    A correlation ignores it: scores can keep their order while all of them move. With `replicates`,
    other respondents answer other items: the variance is that of `mean_variance`, and `fixed` is
    the interval for these respondents on other items.

    Examples
    --------
    >>> round(mean_shift([0.50, 0.60, 0.70], [0.52, 0.61, 0.75]).value, 4)
    0.0267
    """
    a, b = paired(x, y)
    n = len(a)
    if n == 0:
        return Coefficient.absent(
            "insufficient", "no respondent has a score in both administrations"
        )
    difference = b - a
    value = float(difference.mean())
    if n < 2:
        return Coefficient(value, n=n)
    difference_replicates = None
    if replicates is not None:
        complete = np.isfinite(np.asarray(x, dtype=np.float64)) & np.isfinite(
            np.asarray(y, dtype=np.float64)
        )
        difference_replicates = replicates[1][complete] - replicates[0][complete]
    variance = mean_variance(difference, difference_replicates, n_effective=n_effective)

    def half_width_of(squared_error: float, df: float) -> float:
        if df > 0:
            return float(stdtrit(df, 0.5 + level / 2)) * math.sqrt(squared_error)
        return math.nan

    fixed = None
    method = "paired t"
    if math.isfinite(variance.items):
        half_width = half_width_of(variance.items, variance.df_items)
        method = "t, respondents and items"
        fixed = ConfidenceInterval(
            value - half_width, value + half_width, "cluster jackknife", level
        )
    if n_effective is not None and n_effective < n:
        method += f", n_eff {n_effective:.4g}"
    half_width = half_width_of(variance.total, variance.df_total)
    return Coefficient(value, value - half_width, value + half_width, n, level, method, fixed=fixed)


def respondent_shifts(
    x: ArrayLike, y: ArrayLike, replicates: tuple[Array, Array], *, level: float = 0.95
) -> tuple[Coefficient, ...]:
    """Compute how much higher each respondent scores in the second administration.

    Parameters
    ----------
    x : array_like, shape (respondents,)
        Scores in the first administration.
    y : array_like, shape (respondents,)
        Scores in the second administration.
    replicates : pair of ndarray
        The (respondents, clusters) scores of each administration with each cluster of items left
        out.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    tuple of Coefficient
        One coefficient a respondent, in units of the score. The status is `insufficient` without a
        score; there is no interval where no cluster moves the difference.

    Notes
    -----
        d = y - x,   SE^2 = (C - 1) / C  sum_c (d_(c) - mean(d_(.)))^2,   interval d +- t(C - 1) SE

    The items are the same on both sides, so that what makes an item hard cancels.

    Examples
    --------
    >>> right = np.array([[1.0, 1, 0, 1, 1, 0]]), np.array([[1.0, 0, 0, 1, 0, 0]])
    >>> without = tuple((each.sum(axis=1, keepdims=True) - each) / 5 for each in right)
    >>> shift = respondent_shifts(right[0].mean(axis=1), right[1].mean(axis=1), without)[0]
    >>> round(float(shift.low), 4), round(float(shift.high), 4)
    (-0.8753, 0.2086)
    """
    first, second = (np.asarray(scores, dtype=np.float64) for scores in (x, y))
    shift_replicates = replicates[1] - replicates[0]
    shifts = []
    for shift, replicates_of_shift in zip((second - first).tolist(), shift_replicates, strict=True):
        replicates_of_shift = replicates_of_shift[np.isfinite(replicates_of_shift)]
        n_clusters = len(replicates_of_shift)
        if not math.isfinite(shift):
            shifts.append(
                Coefficient.absent(
                    "insufficient", "it has no score in both administrations", n_clusters
                )
            )
            continue
        if n_clusters > 1:
            squared_error = float(jackknife_variance(replicates_of_shift))
        else:
            squared_error = 0.0
        half_width = math.nan
        # no error at all (one picture, or none differs) is no interval of width 0
        if squared_error > 0:
            t = float(stdtrit(n_clusters - 1, 0.5 + level / 2))
            half_width = t * math.sqrt(squared_error)
        shifts.append(
            Coefficient(
                shift,
                shift - half_width,
                shift + half_width,
                n_clusters,
                level,
                "t, pictures left out",
            )
        )
    return tuple(shifts)


def bias_test(scores: ArrayLike, *, n_effective: float | None = None) -> SignificanceTest:
    """Test whether the administrations differ in their mean.

    With two administrations it is the square of the paired t test. Where it is significant,
    ICC(A,1) must lead; to show that there is no difference needs the test of `equivalence`.

    Parameters
    ----------
    scores : array_like, shape (respondents, administrations)
        Respondents with a missing score are left out.
    n_effective : float, optional
        The number of independent respondents, where some are relatives.

    Returns
    -------
    SignificanceTest
        F = MSC / MSE with K - 1 and (M - 1)(K - 1) degrees of freedom. The status is that of `icc`,
        `not_applicable` below 2 independent respondents, and `not_informative` for identical
        administrations. The statistic is infinite when all respondents shift by exactly the same
        amount.

    Examples
    --------
    >>> round(bias_test([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9],
    ...     [6, 2, 4, 7]]).statistic, 3)
    31.866
    """
    study = icc(scores)
    if study.c1.status != "ok":
        return SignificanceTest.absent(study.c1.status, study.c1.reason, n=study.n)
    size = effective_size(study.n, n_effective)
    if size < 2:
        return SignificanceTest.absent(
            "not_applicable",
            "the respondents are of one family: nothing is known of other families",
            n=study.n,
        )
    df = study.k - 1
    df2 = (size - 1) * (study.k - 1)
    if study.ms_error == 0.0 and study.ms_columns == 0.0:
        return SignificanceTest.absent(
            "not_informative", "the administrations are identical", n=study.n
        )
    if study.ms_error == 0.0:
        return SignificanceTest(math.inf, df, 0.0, study.n)
    # MSC is n times a variance of means: with relatives it counts `size` respondents only
    ratio = study.ms_columns / study.ms_error * size / study.n
    return SignificanceTest(ratio, df, float(fdtrc(df, df2, ratio)), study.n)


@dataclass(frozen=True, slots=True)
class Equivalence(Outcome):
    """The two one-sided tests of a mean difference.

    Attributes
    ----------
    shift
        Mean difference (other - first) with the 1 - 2 alpha interval; the administrations are
        equivalent exactly when it lies inside -margin to +margin.
    margin, alpha
        What was declared before looking.
    p_lower, p_upper
        Probabilities for "not above -margin" and "not below +margin".
    status, reason
        `ok`, or why there is no test, in a sentence.
    """

    shift: Coefficient
    margin: float
    alpha: float
    p_lower: float = math.nan
    p_upper: float = math.nan

    @property
    def p(self) -> float:
        """The larger of the two probabilities; NaN without a test."""
        if self.status == "ok":
            return max(self.p_lower, self.p_upper)
        return math.nan


def equivalence(
    x: ArrayLike,
    y: ArrayLike,
    margin: float,
    *,
    alpha: float = 0.05,
    n_effective: float | None = None,
) -> Equivalence:
    """Test whether two administrations have the same mean up to a margin (two one-sided tests).

    A paired t test that is not significant shows only that too little is known; this test shows
    equality. The margin is declared before the scores are seen, or is the noise of the seeds
    (`equivalence_margin`).

    Parameters
    ----------
    x, y : array_like, shape (respondents,)
        Scores in both administrations; pairs with a missing score are left out.
    margin : float
        The largest mean difference that does not matter, in score units.
    alpha : float, default 0.05
        The level of each one-sided test.
    n_effective : float, optional
        The number of independent respondents, where some are relatives.

    Returns
    -------
    Equivalence
        The status is `insufficient` below 3 respondents or 2 independent ones, `degenerate` when
        all differences are equal, and `not_applicable` for a margin that is not positive.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        t_lower = (d + margin) / (s_d / sqrt(n)),  t_upper = (d - margin) / (s_d / sqrt(n)),
        p = max of both one-sided

    References
    ----------
    .. [1] Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the
       power approach for assessing the equivalence of average bioavailability. Journal of
       Pharmacokinetics and Biopharmaceutics, 15, 657-680.

    Examples
    --------
    >>> round(equivalence([0.50, 0.60, 0.70], [0.52, 0.61, 0.70], 0.05).p, 3)
    0.01
    """
    a, b = paired(x, y)
    n = len(a)
    # two one-sided tests at alpha are the interval at 1 - 2 alpha (Schuirmann 1987)
    shift = mean_shift(a, b, level=1 - 2 * alpha, n_effective=n_effective)
    size = effective_size(n, n_effective)
    status: Status = "ok"
    # the first condition that is not met says why there is no test
    reason = ""
    if not margin > 0 or not math.isfinite(margin):
        status = "not_applicable"
        reason = f"an equivalence margin must be a positive number, got {margin:.4g}"
    elif n < 3 or size < 2:
        count = f"{n}" if size == n else f"{n}, who count as {size:.1f}"
        status = "insufficient"
        reason = f"an equivalence test needs 3 respondents, there are {count}"
    elif float(np.ptp(b - a)) <= 1e-12 * max(1.0, float(np.abs(a).max())):
        status = "degenerate"
        reason = "all respondents differ by the same amount, so the difference has no error"
    if status != "ok":
        return Equivalence(shift, margin, alpha, status=status, reason=reason)
    # a lower and an upper test: the difference must lie above -margin and below +margin
    error = float((b - a).std(ddof=1)) / math.sqrt(size)
    lower = (shift.value + margin) / error
    upper = (shift.value - margin) / error
    return Equivalence(
        shift, margin, alpha, float(stdtr(size - 1, -lower)), float(stdtr(size - 1, upper))
    )


def equivalence_margin(declared: float | None = None, mdc95: float = math.nan) -> Coefficient:
    """Return the margin of an equivalence test: the declared one, else what the seeds can move.

    The two sets of scores that are compared never set it. A margin made from their own spread grows
    with the difference that it should judge, and calls any shift equivalent.

    Parameters
    ----------
    declared : float, optional
        The largest mean difference that does not matter, in score units, decided beforehand.
    mdc95 : float, default math.nan
        The smallest difference between two runs of one respondent that is not noise (`rho_g`); NaN
        where the questions were put once.

    Returns
    -------
    Coefficient
        The status is `not_applicable` where neither is known, and `degenerate` where the runs do
        not differ at all.

    Examples
    --------
    >>> equivalence_margin(0.02,
    ...     0.09).value, equivalence_margin(mdc95=0.09).value, equivalence_margin().status
    (0.02, 0.09, 'not_applicable')
    """
    if declared is not None:
        if declared > 0 and math.isfinite(declared):
            return Coefficient(float(declared), method="declared")
        return Coefficient.absent(
            "not_applicable", f"an equivalence margin must be a positive number, got {declared:.4g}"
        )
    if not math.isfinite(mdc95):
        return Coefficient.absent(
            "not_applicable",
            "no margin is declared (--set margin=...), and without a second run the noise of the"
            " seeds is not known",
        )
    if mdc95 <= 0:
        return Coefficient.absent(
            "degenerate",
            "the runs are identical, so that the seeds give no margin: declare one (--set"
            " margin=...)",
        )
    return Coefficient(float(mdc95), method="seeds")


# --- advantages on questions that a model may have been trained on ---

_MEMORY_ALPHA = 0.05
MIN_LINE_RESPONDENTS = 6
"""The fewest respondents that a regression line is fitted to."""


@dataclass(frozen=True, slots=True)
class Advantages(Outcome):
    """How much higher scores are on the first of two sets of answers.

    Attributes
    ----------
    mean
        The mean over respondents; a harder set causes it as well as memory does.
    by_respondent
        Each respondent's own, with its interval over pictures.
    excess
        How much its first score exceeds what its other one lets expect from the other
        respondents, so that a set that is harder for all, or for the ablest, is no advantage.
    p
        That of `excess`, adjusted over respondents (Holm). Both are empty below 6 respondents.
    """

    mean: Coefficient
    by_respondent: tuple[Coefficient, ...] = ()
    excess: tuple[float, ...] = ()
    p: tuple[float, ...] = ()

    @property
    def remembered(self) -> tuple[int, ...]:
        """The respondents who gain more than the others beyond chance."""
        rows = zip(self.excess, self.p, strict=True)
        return tuple(i for i, (row, p) in enumerate(rows) if p < _MEMORY_ALPHA and row > 0)


def advantages(
    first: ArrayLike,
    second: ArrayLike,
    replicates: tuple[Array, Array],
    *,
    n_effective: float | None = None,
) -> Advantages:
    """Compare two sets of answers, and test who lies off the other respondents' line.

    Parameters
    ----------
    first : array_like, shape (respondents,)
        Scores on the first set.
    second : array_like, shape (respondents,)
        Scores on the second set.
    replicates : pair of ndarray
        The (respondents, pictures) scores of each set with each picture left out.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.

    Returns
    -------
    Advantages
        The mean is `insufficient` as in `mean_shift`; below 6 respondents nobody is tested.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        first = a + b other + e,    beyond_m = first_m less the line of all others
        t_m = beyond_m over its standard error, M - 3 degrees of freedom

    Memory of released items shows as a difference that some respondents have and others do not;
    what all have may be difficulty. Neither says where a difference comes from. The test is
    that of an outlier of a regression line [1]_; compare [2]_.

    References
    ----------
    .. [1] Cook, R. D. and Weisberg, S. (1982). Residuals and Influence in Regression.
    .. [2] Dekoninck, J., Mueller, M. N. and Vechev, M. (2024). ConStat: performance-based
       contamination detection. NeurIPS.

    Examples
    --------
    >>> x = np.array([0.9, 0.61, 0.69, 0.82, 0.51, 0.73, 0.6])
    >>> y = np.array([0.5, 0.6, 0.7, 0.8, 0.5, 0.7, 0.6])
    >>> made = advantages(x, y, (x[:, None] + np.zeros(4), y[:, None] + np.zeros(4)))
    >>> round(made.mean.value, 3), made.remembered
    (0.066, (0,))
    """
    x, y = (float_array(values, "respondents") for values in (first, second))
    shifts = respondent_shifts(y, x, (replicates[1], replicates[0]))
    mean = mean_shift(y, x, replicates=(replicates[1], replicates[0]), n_effective=n_effective)
    finite = np.isfinite(x) & np.isfinite(y)
    if finite.sum() < MIN_LINE_RESPONDENTS or is_constant(y[finite]):
        return Advantages(mean, shifts)
    excess = np.full(len(x), np.nan)
    p = np.full(len(x), np.nan)
    excess[finite], p[finite] = _deleted_residuals(x[finite], y[finite])
    return Advantages(mean, shifts, tuple(excess.tolist()), tuple(holm(p).tolist()))


def _deleted_residuals(x: Array, y: Array) -> tuple[Array, Array]:
    """(respondents,): the residual of each from the regression line of the others, and p of its
    externally studentised residual.
    """
    m = len(x)
    deviations = y - y.mean()
    # Cook and Weisberg (1982): deleted residuals e / (1 - h), and their studentised form
    leverage = 1 / m + deviations**2 / (deviations @ deviations)
    residual = x - x.mean() - deviations * (deviations @ x) / (deviations @ deviations)
    # without a respondent of leverage 1 the others have no line
    residual_share = np.where(leverage < 1 - 1e-12, 1 - leverage, np.nan)
    deleted = residual / residual_share
    # the others' residual variance: (RSS - e^2 / (1 - h)) / (m - 1 - 2)
    deleted_variance = np.maximum(0.0, residual @ residual - residual * deleted) / (m - 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = residual / np.sqrt(deleted_variance * residual_share)
    return deleted, np.asarray(2 * stdtr(m - 3, -np.abs(t)))


def older_advantages(
    scores: ArrayLike,
    older: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    n_effective: float | None = None,
) -> Advantages:
    """Compute `advantages` of the older items over the newer ones, with pictures left out.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Item scores; NaN where an answer was not scored.
    older : array_like, shape (items,)
        Which items are the older ones.
    clusters : array_like, shape (items,), optional
        Labels of what items share, such as the picture; every item its own unless given.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.

    Returns
    -------
    Advantages
        The mean is `insufficient` as in `advantages`.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> made = older_advantages([[1, 1, 0, 0], [1, 0, 0, 1]], [True, True, False, False])
    >>> [each.value for each in made.by_respondent]
    [1.0, 0.0]
    """
    x = float_array(scores, "respondents, items")
    is_older = np.asarray(older, dtype=bool)
    labels = np.unique(cluster_labels(clusters, x.shape[1]), return_inverse=True)[1]
    set_scores = []
    set_replicates = []
    for selected in (is_older, ~is_older):
        scored = np.isfinite(x) & selected
        sums, sizes = cluster_sums(np.where(scored, x, 0.0)[None], scored, labels)
        total = sums[0].sum(axis=1, keepdims=True)
        count = sizes.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            set_scores.append((total / count)[:, 0])
            set_replicates.append((total - sums[0]) / (count - sizes))
    return advantages(
        set_scores[0],
        set_scores[1],
        (set_replicates[0], set_replicates[1]),
        n_effective=n_effective,
    )
