"""Agreement of administrations: item by item, intraclass correlations, concordance and limits of
agreement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import nctdtrit, stdtrit

from hqm.psychometrics.inference.families import (
    Relatives,
    add_jackknife_bound,
    add_lower_bound,
    jackknife_replicates,
    too_few_respondents,
)
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Indices,
    Outcome,
    Status,
    effective_size,
    equal_shape_arrays,
    float_array,
    is_constant,
    ratio,
)
from hqm.psychometrics.validity.correlation import correlation_refusal, paired


@dataclass(frozen=True, slots=True)
class ItemAgreement(Outcome):
    """Item agreement of every respondent, with the mean and the worst.

    `agreement` and `kappa` have one entry a respondent; a kappa is NaN where one category was never
    left.
    """

    agreement: tuple[float, ...]
    kappa: tuple[float, ...]

    @property
    def mean(self) -> float:
        if self.status == "ok":
            return float(np.nanmean(self.agreement))
        return math.nan

    @property
    def worst(self) -> float:
        if self.status == "ok":
            return float(np.nanmin(self.agreement))
        return math.nan

    @property
    def mean_kappa(self) -> float:
        finite_kappas = [k for k in self.kappa if not math.isnan(k)]
        if finite_kappas:
            return float(np.mean(finite_kappas))
        return math.nan


def item_agreement(x: ArrayLike, y: ArrayLike) -> ItemAgreement:
    """Compute the share of items with the same score in two administrations, by respondent.

    A score can repeat to three digits while every fifth answer changes. Cohen's kappa [1]_ takes
    out the agreement that the two yes/no margins give by chance.

    Parameters
    ----------
    x, y : array_like, shape (respondents, items)
        Scores of 0 or 1; a pair with a missing score (NaN) is left out.

    Returns
    -------
    ItemAgreement
        The status is `insufficient` without a scored pair and `not_applicable` where a score is not
        0 or 1.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        agreement = mean(x == y)        kappa = (agreement - e) / (1 - e),
        e = px py + (1 - px)(1 - py)

    References
    ----------
    .. [1] Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and
       Psychological Measurement, 20, 37-46.

    Examples
    --------
    >>> item_agreement([[1, 1, 0, 0, 1]], [[1, 0, 0, 0, 1]]).agreement
    (0.8,)
    """
    a, b = equal_shape_arrays(x, y, "respondents, items")
    scored = np.isfinite(a) & np.isfinite(b)
    if not scored.any():
        return ItemAgreement(
            (), (), status="insufficient", reason="no item is scored in both administrations"
        )
    if not (np.isin(a[scored], (0, 1)).all() and np.isin(b[scored], (0, 1)).all()):
        return ItemAgreement(
            (), (), status="not_applicable", reason="the item scores are not 0 or 1"
        )
    # (respondents,) counts of the fourfold table, in the order that `kappa_of_counts` takes them
    cells = [
        (scored & (a == first) & (b == second)).sum(axis=1)
        for first, second in ((1, 1), (1, 0), (0, 1), (0, 0))
    ]
    agreement = agreement_of_counts(*cells)
    kappa = kappa_of_counts(*cells)
    return ItemAgreement(tuple(agreement.tolist()), tuple(kappa.tolist()))


def agreement_of_counts(
    n_both: ArrayLike,
    n_first_only: ArrayLike,
    n_second_only: ArrayLike,
    n_neither: ArrayLike,
) -> Array:
    """The share of cases that two raters label alike, from the four counts; NaN of no case."""
    n_agreeing = np.add(n_both, n_neither)
    total = np.add(n_agreeing, np.add(n_first_only, n_second_only))
    return ratio(n_agreeing, total)


def kappa_of_counts(
    n_both: ArrayLike,
    n_first_only: ArrayLike,
    n_second_only: ArrayLike,
    n_neither: ArrayLike,
) -> Array:
    """Cohen's kappa from the same counts; NaN where both raters give one label throughout.

    >>> round(float(kappa_of_counts(90, 5, 5, 0)), 4)
    -0.0526
    """
    agreement = agreement_of_counts(n_both, n_first_only, n_second_only, n_neither)
    total = np.add(np.add(n_both, n_first_only), np.add(n_second_only, n_neither))
    # the shares of positive labels of either rater
    p, q = (ratio(np.add(n_both, n_single), total) for n_single in (n_first_only, n_second_only))
    # Cohen (1960): both label 1, or both 0, independently
    chance = p * q + (1 - p) * (1 - q)
    return ratio(agreement - chance, 1 - chance)


@dataclass(frozen=True, slots=True)
class ICC:
    """The six intraclass correlations of McGraw and Wong, with the mean squares they come from.

    | name here | McGraw and Wong | Shrout and Fleiss | administrations |
    |---|---|---|---|
    | `one_way`, `one_way_k` | ICC(1), ICC(k) | ICC(1,1), ICC(1,k) | others each time |
    | `a1`, `ak` | ICC(A,1), ICC(A,k) | ICC(2,1), ICC(2,k) | a random facet, in the error |
    | `c1`, `ck` | ICC(C,1), ICC(C,k) | ICC(3,1), ICC(3,k) | a fixed facet, left out |

    `ck` is Cronbach's alpha of the administrations.

    Parameters
    ----------
    a1, ak, c1, ck, one_way, one_way_k
        As in the table.
    n, k
        Numbers of respondents and administrations.
    ms_columns, ms_error
        Mean squares of administrations and of error.
    sem_agreement, sem_consistency
        Standard errors of measurement of one score, in score units.

    Notes
    -----
    `mdc95` is the smallest difference between two administrations of one respondent that is not
    noise (agreement).
    """

    a1: Coefficient
    c1: Coefficient
    ak: Coefficient
    ck: Coefficient
    one_way: Coefficient
    one_way_k: Coefficient
    n: int
    k: int
    ms_columns: float = math.nan
    ms_error: float = math.nan
    sem_agreement: float = math.nan
    sem_consistency: float = math.nan

    @property
    def mdc95(self) -> float:
        return 1.96 * math.sqrt(2) * self.sem_agreement


def icc(
    scores: ArrayLike,
    *,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> ICC:
    """Compute intraclass correlations of the same respondents in k administrations.

    ICC(A,1) measures how closely the *same number* is repeated (absolute agreement): a shift of the
    mean between administrations lowers it. ICC(C,1) measures how well the *differences between
    respondents* repeat (consistency). A gap between the two is a shift. With two administrations of
    equal variance ICC(C,1) equals Pearson's r. ICC(1,1) is invalid where the administrations' means
    differ. The k-forms are about the mean over all k administrations.

    Parameters
    ----------
    scores : array_like, shape (respondents, administrations)
        Scores; respondents with a missing score are left out.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    ICC
        The status is `insufficient` for fewer than 3 respondents or 2 administrations, `degenerate`
        when nothing varies between respondents. A negative value is kept as it is. ICC(A,1) may lie
        slightly above ICC(C,1) when MSC < MSE.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        ICC(A,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE) / n)
        ICC(A,k) = (MSR - MSE) / (MSR + (MSC - MSE) / n)
        ICC(C,1) = (MSR - MSE) / (MSR + (k-1) MSE)
        ICC(C,k) = (MSR - MSE) / MSR
        ICC(1,1) = (MSR - MSW) / (MSR + (k-1) MSW)
        ICC(1,k) = (MSR - MSW) / MSR

    `low` is the least for other respondents (`add_lower_bound`), the administrations being these.

    References
    ----------
    .. [1] McGraw, K. O. and Wong, S. P. (1996). Forming inferences about some intraclass
       correlation coefficients. Psychological Methods, 1, 30-46.

    Examples
    --------
    Six targets, four judges (Shrout and Fleiss 1979, Psychological Bulletin 86, 420-428, Table 4):

    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9],
    ...     [6, 2, 4, 7]]
    >>> forms = icc(ratings)
    >>> [round(form.value, 2) for form in (forms.one_way, forms.a1, forms.c1, forms.one_way_k,
    ...     forms.ak, forms.ck)]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    x = float_array(scores, "respondents, administrations")
    # mean squares need the full table: a respondent with a gap is left out
    complete = np.isfinite(x).all(axis=1)
    x = x[complete]
    n, k = x.shape
    if n < 3 or k < 2:
        return _absent(
            "insufficient",
            f"an ICC needs 3 respondents and 2 administrations, there are {n} and {k}",
            n,
            k,
        )
    if is_constant(x.mean(axis=1)):
        is_single_score = is_constant(x.ravel())
        if is_single_score:
            reason = "all scores are the same"
        else:
            reason = "the respondents do not differ"
        return _absent("degenerate", reason, n, k)
    squares = mean_squares(x)
    _, msc, mse = squares.tolist()
    relatives = Relatives(tuple(families), n_effective).subset(complete)
    single_iccs = _single_score_iccs(squares, n, k)

    def statistic(rows: Indices) -> tuple[Array, ...]:
        sample_squares = mean_squares(x[rows])
        # the last column, MSR, is the variance between respondents that the bound needs
        return *_single_score_iccs(sample_squares, rows.shape[-1], k), sample_squares[0]

    is_too_small = bool(too_few_respondents(n, relatives.families))
    replicates = np.full((1, 4), math.nan)
    if not is_too_small:
        replicates = jackknife_replicates(statistic, n, relatives, vectorized=True)
    a1, c1, one_way_icc = (
        add_jackknife_bound(
            Coefficient(float(value), n=n, level=level),
            replicates[:, index],
            replicates[:, -1],
            x.mean(axis=1),
            relatives,
            minimum=-1 / (k - 1),
        )
        for index, value in enumerate(single_iccs)
    )
    return ICC(
        a1,
        c1,
        icc_of_mean(a1, k),
        icc_of_mean(c1, k),
        one_way_icc,
        icc_of_mean(one_way_icc, k),
        n,
        k,
        msc,
        mse,
        # McGraw and Wong (1996): agreement counts the administrations' variance as error
        math.sqrt(mse + max(0.0, (msc - mse) / n)),
        math.sqrt(mse),
    )


def mean_squares(x: Array) -> Array:
    """(3, ...): the mean squares of respondents, administrations and error of complete two-way
    tables, shape (..., respondents, administrations).

    >>> mean_squares(np.array([[1.0, 2.0], [3.0, 5.0], [5.0, 8.0]])).tolist()
    [12.5, 6.0, 0.5]
    """
    n, k = x.shape[-2:]
    grand = x.mean(axis=(-2, -1), keepdims=True)
    rows = x.mean(axis=-1, keepdims=True)
    columns = x.mean(axis=-2, keepdims=True)
    # McGraw and Wong (1996): mean squares of rows, of columns and of error
    msr = k * ((rows - grand) ** 2).sum(axis=(-2, -1)) / (n - 1)
    msc = n * ((columns - grand) ** 2).sum(axis=(-2, -1)) / (k - 1)
    mse = ((x - rows - columns + grand) ** 2).sum(axis=(-2, -1)) / ((n - 1) * (k - 1))
    squares = np.stack([msr, msc, mse])
    # rounding leaves dust where the administrations are identical
    return np.where(squares < 1e-14 * msr, 0.0, squares)


def _single_score_iccs(squares: Array, n: int, k: int) -> tuple[Array, Array, Array]:
    """(...,): ICC(A,1), ICC(C,1) and ICC(1,1) from the mean squares of tables of n respondents and
    k administrations; NaN where nothing varies.
    """
    msr, msc, mse = squares
    msr = np.where(msr > 0, msr, np.nan)
    # the mean square within respondents pools those of administrations and of error
    # C_b = 2 / (v + 1 / v + u^2), the factor by which r falls short of the 45 degree line
    msw = ((k - 1) * msc + (n - 1) * (k - 1) * mse) / (n * (k - 1))
    agreement = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    consistency, one_way_icc = ((msr - error) / (msr + (k - 1) * error) for error in (mse, msw))
    return agreement, consistency, one_way_icc


def icc_of_mean(single: Coefficient, k: int) -> Coefficient:
    """Compute the intraclass correlation of the mean of k scores from that of one score.

    Parameters
    ----------
    single : Coefficient
        The intraclass correlation of one score, with its intervals.
    k : int
        Number of scores that the mean is taken of.

    Returns
    -------
    Coefficient
        The status is that of `single`, and `degenerate` where the means of the respondents do not
        differ.

    Notes
    -----
        k r / (1 + (k - 1) r)   (Spearman and Brown)

    It turns ICC(A,1) into ICC(A,k), ICC(C,1) into ICC(C,k) and ICC(1,1) into ICC(1,k). An interval
    that reaches down to -1 / (k - 1) or below has no lower end and is left out.

    Examples
    --------
    >>> round(icc_of_mean(Coefficient(0.5), 2).value, 4)
    0.6667
    """
    if single.status not in ("ok", "not_informative") or k == 1:
        return single
    # at -1 / (k - 1) the denominator of Spearman and Brown's formula is 0
    lowest = -1 / (k - 1)
    if single.value <= lowest + 1e-12:
        return Coefficient.absent(
            "degenerate", "the means of the respondents do not differ", single.n
        )
    # an end at the lowest value has no counterpart
    low, fixed = (end is not None and end.low > lowest + 1e-12 for end in (single, single.fixed))
    single = replace(
        single,
        low=single.low if low else math.nan,
        high=single.high if low else math.nan,
        fixed=single.fixed if fixed else None,
        se=math.nan,
        raw=math.nan,
    )
    return single.transformed(lambda r: k * r / (1 + (k - 1) * r))


def _absent(status: Status, reason: str, n: int, k: int) -> ICC:
    absent = Coefficient.absent(status, reason, n)
    return ICC(absent, absent, absent, absent, absent, absent, n, k)


@dataclass(frozen=True, slots=True)
class Concordance:
    """Lin's concordance correlation with one of its two factors.

    Attributes
    ----------
    ccc
        The concordance correlation; its `status` speaks for the whole.
    bias_correction
        Accuracy C_b: how close the line through the points is to the identity; `ccc = pearson *
        bias_correction`.
    """

    ccc: Coefficient
    bias_correction: float = math.nan


def concordance(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
    families: Sequence[str] = (),
) -> Concordance:
    """Compute Lin's concordance correlation coefficient of two administrations.

    It measures how closely the *same number* is repeated: how near the points lie to y = x. A shift
    of the mean or a change of the variance lowers it, which a correlation cannot see. It grows with
    the variance of the respondents.

    Parameters
    ----------
    x, y : array_like, shape (respondents,)
        Scores in both administrations; a pair with a missing score is left out.
    level : float, default 0.95
        Confidence level of the intervals.
    n_effective : float, optional
        As in `icc`.
    families : sequence of str, optional
        As in `icc`.

    Returns
    -------
    Concordance
        The status is `insufficient` below 3 respondents and `degenerate` where an administration
        gives all respondents the same score.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        ccc = 2 s_xy / (s_x^2 + s_y^2 + (m_x - m_y)^2),   moments over n

    McBride (2005) reads values below .90 as poor, from .95 as substantial and above .99 as almost
    perfect.

    References
    ----------
    .. [1] Lin, L. I. (1989). Biometrics, 45, 255-268, corrected in Biometrics (2000), 56,
       324-325.

    Examples
    --------
    >>> result = concordance([1, 2, 3, 4], [1.5, 2, 3.5, 5])
    >>> round(result.ccc.value, 3), round(result.bias_correction, 3)
    (0.889, 0.907)
    """
    a, b = paired(x, y)
    refusal = correlation_refusal(a, b)
    if refusal is not None:
        return Concordance(refusal)
    # Lin (1989): v, the ratio of the standard deviations, and u, the shift of location
    # v: how much the spreads differ, u: how far the means lie apart in units of the spread
    scale = float(b.std() / a.std())
    shift = float((b.mean() - a.mean()) / math.sqrt(a.std() * b.std()))
    coefficient = Coefficient(float(_concordance_value(a, b)), n=len(a), level=level)

    mean_scores = (a + b) / 2

    def statistic(rows: Indices) -> tuple[Array, Array]:
        return _concordance_value(a[rows], b[rows]), mean_scores[rows].var(axis=-1, ddof=1)

    relatives = Relatives.from_pairs(x, y, families, n_effective)
    ccc = add_lower_bound(coefficient, statistic, mean_scores, relatives, vectorized=True)
    return Concordance(ccc, 2 / (scale + 1 / scale + shift**2))


def _concordance_value(a: Array, b: Array) -> Array:
    """(...,): the concordance of vectors along the last axis; NaN where nothing varies."""
    mean_a = a.mean(axis=-1, keepdims=True)
    mean_b = b.mean(axis=-1, keepdims=True)
    # moments over n, as Lin (1989) has them; over n - 1 the shift would weigh less
    denominator = (a.var(axis=-1) + b.var(axis=-1)) + (mean_a - mean_b)[..., 0] ** 2
    value = ratio(2 * ((a - mean_a) * (b - mean_b)).mean(axis=-1), denominator)
    # rounding of a perfect agreement
    return np.where(value >= 1 - 1e-15, 1.0, value)


@dataclass(frozen=True, slots=True)
class BlandAltman(Outcome):
    """Bias, spread and limits of agreement of the differences (other - first).

    Attributes
    ----------
    bias
        Mean difference with Student's interval.
    deviation
        Standard deviation of the differences.
    lower, upper
        The limits of agreement with their exact intervals.
    slope
        Slope of the differences on the means, with Student's interval: whether disagreement
        grows with the score.
    status, reason
        `ok`, or why there are no limits, in a sentence.
    """

    bias: Coefficient
    deviation: float
    lower: Coefficient
    upper: Coefficient
    slope: Coefficient


def bland_altman(
    x: ArrayLike,
    y: ArrayLike,
    *,
    n_effective: float | None = None,
    level: float = 0.95,
    multiplier: float = 1.96,
) -> BlandAltman:
    """Compute the limits of agreement of two administrations.

    A correlation says whether scores move together; the limits of agreement say by how many points
    they differ. They are of use when laid beside the gaps between respondents: limits wider than
    the typical gap mean that a rerun can change the order.

    Parameters
    ----------
    x, y : array_like, shape (respondents,)
        Scores in the first and the other administration; pairs with a missing score are left out.
    n_effective : float, optional
        The number of independent respondents, where some are relatives.
    level : float, default 0.95
        Confidence level of the intervals.
    multiplier : float, default 1.96
        1.96 for limits that hold 95 % of normal differences; 2 as in the paper of 1986.

    Returns
    -------
    BlandAltman
        The status is `insufficient` for fewer than 5 respondents, `degenerate` when all differences
        are equal (limits would collapse on the bias, which is still given). The slope alone is
        `degenerate` when the means do not vary.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        bias d = mean(y - x),  limits d -+ 1.96 s_d
        exact interval of a limit: d -+ s_d c / sqrt(n),
        c a quantile of the noncentral t(n - 1, 1.96 sqrt(n))

    Differences are taken to be normal.

    References
    ----------
    .. [1] Bland, J. M. and Altman, D. G. (1986). Statistical methods for assessing agreement
       between two methods of clinical measurement. Lancet, 327, 307-310.
    .. [2] Carkeet, A. (2015). Exact parametric confidence intervals for Bland-Altman limits of
       agreement. Optometry and Vision Science, 92, e71-e80.

    Examples
    --------
    Peak flow of 17 people; Bland and Altman subtract the mini meter from the Wright meter and use 2
    deviations:

    >>> wright = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423,
    ...     427]
    >>> mini = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
    >>> result = bland_altman(mini, wright, multiplier=2)
    >>> round(result.bias.value, 4), round(result.deviation, 3), round(result.lower.value,
    ...     2), round(result.upper.value, 2)
    (-2.1176, 38.765, -79.65, 75.41)
    """
    a, b = paired(x, y)
    n = len(a)
    if n < 5:
        reason = f"limits of agreement need 5 respondents, there are {n}"
        absent = Coefficient.absent("insufficient", reason, n)
        return BlandAltman(
            absent, math.nan, absent, absent, absent, status="insufficient", reason=reason
        )
    size = effective_size(n, n_effective)
    difference = b - a
    mean = (a + b) / 2
    slope = _difference_slope(mean, difference, size, level)
    bias = float(difference.mean())
    # differences of scores carry the rounding of the scores
    if float(np.ptp(difference)) <= 1e-12 * max(1.0, float(np.abs(mean).max())):
        reason = "all respondents differ by the same amount, so the differences have no spread"
        absent = Coefficient.absent("degenerate", reason, n)
        centre = Coefficient(bias, n=n, level=level)
        return BlandAltman(centre, 0.0, absent, absent, slope, status="degenerate", reason=reason)
    # n - 1: the limits describe other differences, not those of the sample
    s = float(difference.std(ddof=1))
    low = bias - multiplier * s
    high = bias + multiplier * s
    if size < 2:
        # of one family nothing is known of other families
        centre, lower, upper = (Coefficient(end, n=n, level=level) for end in (bias, low, high))
        return BlandAltman(centre, s, lower, upper, slope)
    half_width = float(stdtrit(size - 1, 0.5 + level / 2)) * s / math.sqrt(size)
    # Carkeet (2015): c, the quantiles of the noncentral t
    # exact, since a limit is a mean plus a multiple of a standard deviation
    tails = [0.5 - level / 2, 0.5 + level / 2]
    c = nctdtrit(size - 1, multiplier * math.sqrt(size), tails)
    inner = s * float(c[0]) / math.sqrt(size)
    outer = s * float(c[1]) / math.sqrt(size)
    return BlandAltman(
        Coefficient(bias, bias - half_width, bias + half_width, n, level, "paired t"),
        s,
        Coefficient(low, bias - outer, bias - inner, n, level, "noncentral t"),
        Coefficient(high, bias + inner, bias + outer, n, level, "noncentral t"),
        slope,
    )


def _difference_slope(mean: Array, difference: Array, size: float, level: float) -> Coefficient:
    n = len(mean)
    if is_constant(mean):
        return Coefficient.absent(
            "degenerate", "the mean scores of the respondents do not differ", n
        )
    # least squares of the differences on the means; relatives count as the fewer they are
    u = mean - mean.mean()
    v = difference - difference.mean()
    sum_squares = float(np.dot(u, u))
    value = float(np.dot(u, v)) / sum_squares
    if size <= 2:
        return Coefficient(value, n=n, level=level, method="t")
    residual = v - value * u
    # residual df n - 2; n / size widens the error to that of `size` independent respondents
    standard_error = math.sqrt(float(np.dot(residual, residual)) / (n - 2) / sum_squares * n / size)
    half_width = float(stdtrit(size - 2, 0.5 + level / 2)) * standard_error
    return Coefficient(
        value, value - half_width, value + half_width, n, level, "t", se=standard_error
    )
