"""Agreement of administrations: item by item, intraclass correlations, concordance and limits of
agreement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import nctdtrit, stdtrit

from hqm.psychometrics.correlation import paired, refusal_of_pair
from hqm.psychometrics.distributions import average_ranks
from hqm.psychometrics.families import (
    Relatives,
    at_least,
    at_least_without,
    left_out,
    too_few_respondents,
)
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Outcome,
    Places,
    Status,
    is_constant,
    ratio,
    shaped,
    shaped_alike,
    size_of,
)


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
        return float(np.nanmean(self.agreement)) if self.status == "ok" else math.nan

    @property
    def worst(self) -> float:
        return float(np.nanmin(self.agreement)) if self.status == "ok" else math.nan

    @property
    def mean_kappa(self) -> float:
        known = [k for k in self.kappa if not math.isnan(k)]
        return float(np.mean(known)) if known else math.nan


def item_agreement(x: ArrayLike, y: ArrayLike) -> ItemAgreement:
    """The share of items that come out the same in two administrations, for each respondent.

    A score can repeat to three digits while every fifth answer changes. Cohen's kappa (1960) takes
    out the agreement that the two yes/no margins give by chance.

        agreement = mean(x == y)        kappa = (agreement - e) / (1 - e),
        e = px py + (1 - px)(1 - py)

    - `x, y`: (respondents, items): scores of 0 or 1; a pair with a missing score (NaN) is left out.

    The status is `insufficient` without a scored pair and `not_applicable` where a score is not 0
    or 1.

    >>> item_agreement([[1, 1, 0, 0, 1]], [[1, 0, 0, 0, 1]]).agreement
    (0.8,)
    """
    a, b = shaped_alike(x, y, "respondents, items")
    both = np.isfinite(a) & np.isfinite(b)
    if not both.any():
        return ItemAgreement(
            (), (), status="insufficient", reason="no item is scored in both administrations"
        )
    if not (np.isin(a[both], (0, 1)).all() and np.isin(b[both], (0, 1)).all()):
        return ItemAgreement(
            (), (), status="not_applicable", reason="the item scores are not 0 or 1"
        )
    cells = [
        (both & (a == first) & (b == second)).sum(axis=1)
        for first, second in ((1, 1), (1, 0), (0, 1), (0, 0))
    ]
    agreement, kappa = agreement_of_counts(*cells), kappa_of_counts(*cells)
    return ItemAgreement(tuple(agreement.tolist()), tuple(kappa.tolist()))


def agreement_of_counts(
    both: ArrayLike,
    first_only: ArrayLike,
    second_only: ArrayLike,
    neither: ArrayLike,
) -> Array:
    """The share of cases that two raters label alike, from how many they label yes; NaN of none."""
    same = np.add(both, neither)
    total = np.add(same, np.add(first_only, second_only))
    return ratio(same, total)


def kappa_of_counts(
    both: ArrayLike,
    first_only: ArrayLike,
    second_only: ArrayLike,
    neither: ArrayLike,
) -> Array:
    """Cohen's kappa from the same counts; NaN where both raters give one label throughout.

    >>> round(float(kappa_of_counts(90, 5, 5, 0)), 4)
    -0.0526
    """
    agreement = agreement_of_counts(both, first_only, second_only, neither)
    total = np.add(np.add(both, first_only), np.add(second_only, neither))
    p, q = (ratio(np.add(both, only), total) for only in (first_only, second_only))
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

    `ck` is Cronbach's alpha of the administrations. `sem_agreement` and `sem_consistency` are
    standard errors of measurement of one score, in score units; `mdc95` is the smallest difference
    between two administrations of one respondent that is not noise (agreement).
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
    """Intraclass correlations of the same respondents in k administrations (or by k raters).

    ICC(A,1) asks how far the *same number* comes back (absolute agreement): a shift of the mean
    between administrations lowers it. ICC(C,1) asks how far the *differences between respondents*
    come back (consistency). A gap between the two is a shift. With two administrations of equal
    variance ICC(C,1) equals Pearson's r. ICC(1,1) is invalid where the administrations' means
    differ. The k-forms are about the mean over all k administrations.

        ICC(A,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE) / n)
        ICC(A,k) = (MSR - MSE) / (MSR + (MSC - MSE) / n)
        ICC(C,1) = (MSR - MSE) / (MSR + (k-1) MSE)
        ICC(C,k) = (MSR - MSE) / MSR
        ICC(1,1) = (MSR - MSW) / (MSR + (k-1) MSW)
        ICC(1,k) = (MSR - MSW) / MSR

    McGraw, K. O. and Wong, S. P. (1996). Forming inferences about some intraclass correlation
    coefficients. Psychological Methods, 1, 30-46. `low` is the
    least for other respondents (`at_least`), the administrations being these.

    - `scores`: (respondents, administrations); respondents with a missing score are left out.
    - `families, n_effective`: (respondents,): labels of relatives, and how many independent
      respondents there are.

    The status is `insufficient` for fewer than 3 respondents or 2 administrations, `degenerate`
    when nothing varies between respondents. A negative value is kept as it is. ICC(A,1) may lie
    slightly above ICC(C,1) when MSC < MSE.

    Six targets, four judges (Shrout and Fleiss 1979, Psychological Bulletin 86, 420-428, Table 4):
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9],
    ...     [6, 2, 4, 7]]
    >>> forms = icc(ratings)
    >>> [round(form.value, 2) for form in (forms.one_way, forms.a1, forms.c1, forms.one_way_k,
    ...     forms.ak, forms.ck)]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    x = shaped(scores, "respondents, administrations")
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
        same = is_constant(x.ravel())
        reason = "all scores are the same" if same else "the respondents do not differ"
        return _absent("degenerate", reason, n, k)
    msr, msc, mse = mean_squares(x)
    relatives = Relatives(tuple(families), n_effective).of(complete)
    of_one = _of_one(msr, msc, mse, n, k)

    def statistic(rows: Places) -> tuple[float, ...]:
        squares = mean_squares(x[rows])
        return *_of_one(*squares, len(rows), k), squares[0]

    few = bool(too_few_respondents(n, relatives.families))
    left = np.full((1, 4), math.nan) if few else left_out(statistic, n, relatives)
    a1, c1, one_way = (
        at_least_without(
            Coefficient(value, n=n, level=level),
            left[:, which],
            left[:, -1],
            x.mean(axis=1),
            relatives,
            least=-1 / (k - 1),
        )
        for which, value in enumerate(of_one)
    )
    return ICC(
        a1,
        c1,
        icc_of_mean(a1, k),
        icc_of_mean(c1, k),
        one_way,
        icc_of_mean(one_way, k),
        n,
        k,
        msc,
        mse,
        math.sqrt(mse + max(0.0, (msc - mse) / n)),
        math.sqrt(mse),
    )


def mean_squares(x: Array) -> tuple[float, float, float]:
    """The mean squares of respondents, administrations and error of a complete two-way table.

    >>> mean_squares(np.array([[1.0, 2.0], [3.0, 5.0], [5.0, 8.0]]))
    (12.5, 6.0, 0.5)
    """
    n, k = x.shape
    grand = x.mean()
    rows, columns = x.mean(axis=1), x.mean(axis=0)
    msr = k * float(((rows - grand) ** 2).sum()) / (n - 1)
    msc = n * float(((columns - grand) ** 2).sum()) / (k - 1)
    mse = float(((x - rows[:, None] - columns + grand) ** 2).sum()) / ((n - 1) * (k - 1))
    # rounding leaves dust where the administrations are identical
    return msr, 0.0 if msc < 1e-14 * msr else msc, 0.0 if mse < 1e-14 * msr else mse


def _of_one(msr: float, msc: float, mse: float, n: int, k: int) -> tuple[float, float, float]:
    """ICC(A,1), ICC(C,1) and ICC(1,1); NaN where nothing varies."""
    if msr <= 0:
        return math.nan, math.nan, math.nan
    msw = ((k - 1) * msc + (n - 1) * (k - 1) * mse) / (n * (k - 1))
    agreement = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    consistency, one_way = ((msr - error) / (msr + (k - 1) * error) for error in (mse, msw))
    return agreement, consistency, one_way


def icc_of_mean(single: Coefficient, k: int) -> Coefficient:
    """The intraclass correlation of the mean of k scores from that of one score, with the ends of
    its intervals.

        k r / (1 + (k - 1) r)   (Spearman and Brown)

    It turns ICC(A,1) into ICC(A,k), ICC(C,1) into ICC(C,k) and ICC(1,1) into ICC(1,k). An interval
    that reaches down to -1 / (k - 1) or below has no lower end and is left out.

    The status is that of `single`, and `degenerate` where the means of the respondents do not
    differ.
    >>> round(icc_of_mean(Coefficient(0.5), 2).value, 4)
    0.6667
    """

    if single.status not in ("ok", "not_informative") or k == 1:
        return single
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
    return single.moved(lambda r: k * r / (1 + (k - 1) * r))


def _absent(status: Status, reason: str, n: int, k: int) -> ICC:
    none = Coefficient.absent(status, reason, n)
    return ICC(none, none, none, none, none, none, n, k)


@dataclass(frozen=True, slots=True)
class Concordance:
    """Lin's concordance correlation with one of its two factors.

    - `ccc`: The concordance correlation; its `status` speaks for the whole.
    - `bias_correction`: Accuracy C_b: how close the line through the points is to the identity;
      `ccc = pearson * bias_correction`.
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
    """Lin's concordance correlation coefficient of two administrations.

    It says how closely the *same number* comes back: how near the points lie to the line y = x. A
    shift of the mean or a change of the spread lowers it, which a correlation cannot see. It grows
    with the spread of the respondents.

        ccc = 2 s_xy / (s_x^2 + s_y^2 + (m_x - m_y)^2),   moments over n

    Lin, L. I. (1989). Biometrics, 45, 255-268, corrected in Biometrics (2000), 56, 324-325. McBride
    (2005) reads values below .90 as poor, from .95 as substantial and above .99 as almost perfect.

    - `x, y`: (respondents,): scores in both administrations; a pair with a missing score is left
      out.
    - `families, n_effective`: As in `icc`.

    The status is `insufficient` below 3 respondents and `degenerate` where an administration gives
    all respondents the same score.

    >>> result = concordance([1, 2, 3, 4], [1.5, 2, 3.5, 5])
    >>> round(result.ccc.value, 3), round(result.bias_correction, 3)
    (0.889, 0.907)
    """
    a, b = paired(x, y)
    refusal = refusal_of_pair(a, b)
    if refusal is not None:
        return Concordance(refusal)
    scale = float(b.std() / a.std())
    shift = float((b.mean() - a.mean()) / math.sqrt(a.std() * b.std()))
    bare = Coefficient(_concordance(np.stack([a, b])), n=len(a), level=level)

    def statistic(rows: Places) -> tuple[float, float]:
        pair = np.stack([a, b])[:, rows]
        return _concordance(pair), float(pair.mean(axis=0).var(ddof=1))

    relatives = Relatives.of_pairs(x, y, families, n_effective)
    ccc = at_least(bare, statistic, (a + b) / 2, relatives)
    return Concordance(ccc, 2 / (scale + 1 / scale + shift**2))


def _concordance(pair: Array) -> float:
    centred = pair - pair.mean(axis=1, keepdims=True)
    spread = float((centred**2).mean(axis=1).sum() + (pair[0].mean() - pair[1].mean()) ** 2)
    value = 2 * float((centred[0] * centred[1]).mean()) / spread if spread > 0 else math.nan
    return 1.0 if value >= 1 - 1e-15 else value


@dataclass(frozen=True, slots=True)
class KendallW:
    """Kendall's coefficient of concordance with the mean rank correlation it stands for.

    `w.status` speaks for the whole; `mean_spearman` is the mean of Spearman's correlation over all
    pairs of administrations (exactly so without ties).
    """

    w: Coefficient
    mean_spearman: float = math.nan


def kendall_w(scores: ArrayLike, *, families: Sequence[str] = (), level: float = 0.95) -> KendallW:
    """Kendall's W: how alike several administrations rank the respondents.

    1 means that all give the same order, 0 that the orders have nothing in common. With two use
    Spearman: they cannot disagree as a whole of three can.

        W = 12 S / (K^2 (M^3 - M) - K sum T),   S = sum_m (R_m - mean R)^2,
        T = sum over ties (t^3 - t);        mean Spearman = (K W - 1) / (K - 1)

    Kendall, M. G. (1948). Rank Correlation Methods. London: Griffin; ch. 6.

    - `scores`: (respondents, administrations); respondents with a missing score are left out.
    - `families`: (respondents,): relatives are left out together (`at_least`).

    The status is `insufficient` for fewer than 3 respondents or 2 administrations, `degenerate`
    when an administration ties all respondents. Kendall's own example with ties:

    >>> a = [1, 4.5, 2, 4.5, 3, 7.5, 6, 9, 7.5, 10]
    >>> b = [2.5, 1, 2.5, 4.5, 4.5, 8, 9, 6.5, 10, 6.5]
    >>> c = [2, 1, 4.5, 4.5, 4.5, 4.5, 8, 8, 8, 10]
    >>> round(kendall_w(np.transpose([a, b, c])).w.value, 6)
    0.827731
    """
    x = shaped(scores, "respondents, administrations")
    complete = np.isfinite(x).all(axis=1)
    relatives = Relatives(tuple(families)).of(complete)
    x = x[complete]
    m, k = x.shape
    if m < 3 or k < 2:
        reason = f"Kendall's W needs 3 respondents and 2 administrations, there are {m} and {k}"
        return KendallW(Coefficient.absent("insufficient", reason, m))
    if any(is_constant(column) for column in x.T):
        reason = "an administration gives all respondents the same score"
        return KendallW(Coefficient.absent("degenerate", reason, m))
    bare = Coefficient(float(_w(x[None])[0]), n=m, level=level)
    w = at_least(bare, lambda rows: float(_w(x[None, rows])[0]), (), relatives, least=0.0)
    return KendallW(w, (k * bare.value - 1) / (k - 1))


def _w(x: Array) -> Array:
    """W of every sample; x has shape (samples, respondents, administrations)."""
    _, m, k = x.shape
    ranks = average_ranks(x, axis=1)
    squares = ((ranks.sum(axis=2) - k * (m + 1) / 2) ** 2).sum(axis=1)
    # a column's sum of squared mid-ranks is (m^3 - m - T) / 12 + m (m + 1)^2 / 4
    untied = 12 * ((ranks - (m + 1) / 2) ** 2).sum(axis=(1, 2))
    return ratio(12 * squares, k * untied)


@dataclass(frozen=True, slots=True)
class BlandAltman(Outcome):
    """Bias, spread and limits of agreement of the differences (other - first).

    - `bias`: Mean difference with Student's interval.
    - `deviation`: Standard deviation of the differences.
    - `lower, upper`: The limits of agreement with their exact intervals.
    - `slope`: Slope of the differences on the means, with Student's interval: whether disagreement
      grows with the score.
    - `status, reason`: `ok`, or why there are no limits, in a sentence.
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
    """The range in which the difference between two administrations of one respondent lies.

    A correlation says whether scores move together; the limits of agreement say by how many points
    they differ. They are of use when laid beside the gaps between respondents: limits wider than
    the typical gap mean that a rerun can change the order.

        bias d = mean(y - x),  limits d -+ 1.96 s_d
        exact interval of a limit: d -+ s_d c / sqrt(n),
        c a quantile of the noncentral t(n - 1, 1.96 sqrt(n))

    Bland, J. M. and Altman, D. G. (1986). Statistical methods for assessing agreement between two
    methods of clinical measurement. Lancet, 327, 307-310. Carkeet, A. (2015). Exact parametric
    confidence intervals for Bland-Altman limits of agreement. Optometry and Vision Science, 92,
    e71-e80. Differences are taken to be normal.

    - `x, y`: (respondents,): scores in the first and the other administration; pairs with a missing
      score are left out.
    - `n_effective`: The number of independent respondents, where some are relatives.
    - `multiplier`: 1.96 for limits that hold 95 % of normal differences; 2 as in the paper of 1986.

    The status is `insufficient` for fewer than 5 respondents, `degenerate` when all differences are
    equal (limits would collapse on the bias, which is still given). The slope alone is `degenerate`
    when the means do not vary.

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
        none = Coefficient.absent("insufficient", reason, n)
        return BlandAltman(none, math.nan, none, none, none, status="insufficient", reason=reason)
    size = size_of(n, n_effective)
    difference, mean = b - a, (a + b) / 2
    slope = _slope(mean, difference, size, level)
    bias = float(difference.mean())
    # differences of scores carry the rounding of the scores
    if float(np.ptp(difference)) <= 1e-12 * max(1.0, float(np.abs(mean).max())):
        reason = "all respondents differ by the same amount, so the differences have no spread"
        none = Coefficient.absent("degenerate", reason, n)
        centre = Coefficient(bias, n=n, level=level)
        return BlandAltman(centre, 0.0, none, none, slope, status="degenerate", reason=reason)
    s = float(difference.std(ddof=1))
    low, high = bias - multiplier * s, bias + multiplier * s
    if size < 2:
        # of one family nothing is known of other families
        centre, lower, upper = (Coefficient(end, n=n, level=level) for end in (bias, low, high))
        return BlandAltman(centre, s, lower, upper, slope)
    half = float(stdtrit(size - 1, 0.5 + level / 2)) * s / math.sqrt(size)
    near, far = (
        float(c)
        for c in np.ravel(
            nctdtrit(size - 1, multiplier * math.sqrt(size), [0.5 - level / 2, 0.5 + level / 2])
        )
    )
    near, far = s * near / math.sqrt(size), s * far / math.sqrt(size)
    return BlandAltman(
        Coefficient(bias, bias - half, bias + half, n, level, "paired t"),
        s,
        Coefficient(low, bias - far, bias - near, n, level, "noncentral t"),
        Coefficient(high, bias + near, bias + far, n, level, "noncentral t"),
        slope,
    )


def _slope(mean: Array, difference: Array, size: float, level: float) -> Coefficient:
    n = len(mean)
    if is_constant(mean):
        return Coefficient.absent(
            "degenerate", "the mean scores of the respondents do not differ", n
        )
    u, v = mean - mean.mean(), difference - difference.mean()
    spread = float(np.dot(u, u))
    value = float(np.dot(u, v)) / spread
    if size <= 2:
        return Coefficient(value, n=n, level=level, method="t")
    residual = v - value * u
    error = math.sqrt(float(np.dot(residual, residual)) / (n - 2) / spread * n / size)
    half = float(stdtrit(size - 2, 0.5 + level / 2)) * error
    return Coefficient(value, value - half, value + half, n, level, "t", se=error)
