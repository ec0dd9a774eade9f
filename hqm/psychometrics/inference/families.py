"""Respondents as a sample: families among them, lower bounds of coefficients over another sample,
and the influence of single respondents on a coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtri, stdtr, stdtrit

from hqm.psychometrics.inference.resampling import jackknife_variance
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Indices,
    IntArray,
    Outcome,
    Status,
    effective_size,
    float_array,
    is_constant,
)


@dataclass(frozen=True, slots=True)
class FamilyDependence:
    """How alike relatives are, and how many independent respondents that leaves.

    Attributes
    ----------
    icc
        The correlation within families; raw when negative.
    n_eff
        The number of independent respondents. It uses `icc` cut to 0..1 and lies between the
        number of families and of respondents (it may go below the former where families differ
        in size). One family counts as 1, whatever its size.
    p
        The share of random exchanges of respondents between families that make relatives at
        least this alike; NaN without a generator.
    n, families
        How many respondents and families there are.
    """

    icc: Coefficient
    n_eff: float
    n: int
    families: int
    flags: tuple[str, ...] = ()
    p: float = math.nan


MIN_FAMILIES = 5
"""Where respondents are relatives, fewer families than this say too little of how alike relatives
are.
"""


def too_few_families(families: Sequence[str]) -> str:
    """Say why nothing can be inferred about other respondents where families are few.

    With fewer than five families, 95 % intervals contain the true value in at most 85 % of studies.

    Parameters
    ----------
    families : sequence of str
        A label for each respondent.

    Returns
    -------
    str
        The reason; empty where an interval can be given.

    Examples
    --------
    >>> too_few_families(["a", "a", "b", "c"]), too_few_families(["a", "b", "c"])
    ('4 respondents are of 3 families: an interval over other respondents needs 5', '')
    """
    n_respondents = len(families)
    n_families = len(set(families))
    if n_families == n_respondents or n_families >= MIN_FAMILIES:
        return ""
    if n_families == 1:
        return (
            f"all {n_respondents} respondents are of one family: nothing is known of other families"
        )
    return (
        f"{n_respondents} respondents are of {n_families} families: an interval over other"
        f" respondents needs {MIN_FAMILIES}"
    )


MIN_RESPONDENTS = 8
"""With fewer respondents no bound over other respondents is given."""


def too_few_respondents(count: int, families: Sequence[str] = ()) -> str:
    """Say why no reliability among other respondents can be inferred from so few.

    Parameters
    ----------
    count : int
        Number of respondents.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.

    Returns
    -------
    str
        The reason; empty where a bound can be given.

    Examples
    --------
    >>> too_few_respondents(7), too_few_respondents(8)
    ('7 respondents are too few to generalise to others: 8 are needed', '')
    """
    if families and (reason := too_few_families(families)):
        return reason
    if count >= MIN_RESPONDENTS:
        return ""
    return f"{count} respondents are too few to generalise to others: {MIN_RESPONDENTS} are needed"


def family_dependence(
    scores: ArrayLike,
    families: Sequence[str],
    rng: np.random.Generator | None = None,
    *,
    permutations: int = 1999,
    level: float = 0.95,
) -> FamilyDependence:
    """Compute the correlation within families, and Kish's effective number of respondents.

    Checkpoints of one family share data and design, so twenty of them are fewer than twenty
    independent models, and every interval over respondents that counts them singly is too narrow.

    Parameters
    ----------
    scores : array_like, shape (respondents,)
        Missing scores are left out with their labels.
    families : sequence of str, shape (respondents,)
        A label each.
    rng : numpy.random.Generator, optional
        Draws the permutations of the test [3]_; without it there is no test and no flag.
    permutations : int, default 1999
        Number of permutations of the test.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    FamilyDependence
        The status is `not_applicable` where all are of one family (n_eff is then 1) or every
        respondent is its own (n_eff is then M), `degenerate` for equal scores (n_eff is then F).
        Flag `FAMILY_DEPENDENCE` where p < .05. The interval is that of Searle for unequal families,
        with n0 for a common size.

    Raises
    ------
    ValueError
        Scores and labels do not fit.

    Notes
    -----
        ICC = (MSB - MSW) / (MSB + (n0 - 1) MSW),   n0 = (M - sum m_f^2 / M) / (F - 1)
        n_eff = M / (1 + (sum m_f^2 / M - 1) ICC)

    References
    ----------
    .. [1] Donner, A. (1986). International Statistical Review, 54, 67-82.
    .. [2] Kish, L. (1965). Survey Sampling. Wiley.
    .. [3] Fisher, R. A. (1935). The Design of Experiments.

    Examples
    --------
    >>> result = family_dependence([0.1, 0.12, 0.5, 0.52, 0.9, 0.88], list("aabbcc"))
    >>> round(result.icc.value, 3), round(result.n_eff, 2)
    (0.999, 3.0)
    """
    x = np.asarray(scores, dtype=np.float64)
    labels = np.asarray(families)
    if x.ndim != 1 or labels.shape != x.shape:
        raise ValueError(
            f"one family label a score is needed, got shapes {x.shape} and {labels.shape}"
        )
    finite = np.isfinite(x)
    x = x[finite]
    labels = labels[finite]
    names, member = np.unique(labels, return_inverse=True)
    m = len(x)
    f = len(names)

    def without_interval(status: Status, reason: str, n_eff: float) -> FamilyDependence:
        return FamilyDependence(Coefficient.absent(status, reason, m), n_eff, m, f)

    if m == f:
        return without_interval(
            "not_applicable", "every respondent is a family of its own", float(m)
        )
    if f == 1:
        return without_interval("not_applicable", f"all {m} respondents are of one family", 1.0)
    if is_constant(x):
        return without_interval("degenerate", "all respondents have the same score", float(f))
    size = np.bincount(member).astype(np.float64)
    # Searle (1971), one-way unbalanced design: n0 takes the place of a common family size
    mean_family_size = float((size**2).sum()) / m
    n0 = (m - mean_family_size) / (f - 1)
    ssb, ssw = (float(square[0]) for square in _sums_of_squares(x[None], member, size))
    # mean squares between (f - 1 df) and within families (m - f df)
    msb = ssb / (f - 1)
    msw = ssw / (m - f)
    value = (msb - msw) / (msb + (n0 - 1) * msw)
    low = high = 1.0
    # without variance within families the correlation is 1, and so are both ends
    if msw > 1e-14 * msb:
        tail = 0.5 + level / 2
        ends = (
            msb / msw / float(fdtri(f - 1, m - f, tail)),
            msb / msw * float(fdtri(m - f, f - 1, tail)),
        )
        # solved for the correlation: F = (1 + (n0 - 1) ICC) / (1 - ICC), exact for equal families
        low, high = (max(-1.0, (e - 1) / (e + n0 - 1)) for e in ends)
    # families of unequal size can take the formula below any correlation
    value = max(-1.0, value)
    # Kish (1965): the design effect 1 + (m' - 1) ICC; a negative correlation adds no respondents
    n_eff = m / (1 + (mean_family_size - 1) * min(1.0, max(0.0, value)))
    p = math.nan
    if rng is not None:
        # what lies between families rises exactly as F does, because the total stays
        permuted_ssb = _sums_of_squares(
            rng.permuted(np.tile(x, (permutations, 1)), axis=1), member, size
        )[0]
        # the observed order is one of the permutations, so p is never 0 (Phipson and Smyth 2010)
        p = (1 + int((permuted_ssb >= ssb * (1 - 1e-9)).sum())) / (permutations + 1)
    flags = ("FAMILY_DEPENDENCE",) if p < 0.05 else ()
    return FamilyDependence(
        Coefficient(value, low, high, m, level, "one-way F", flags=flags), n_eff, m, f, flags, p
    )


def _sums_of_squares(x: Array, member: Indices, size: Array) -> tuple[Array, Array]:
    """(sets,) sums of squares between and within families, of (sets, respondents) scores."""
    x = x - x.mean(axis=1, keepdims=True)
    # an indicator matrix (respondents, families) sums over all sets at once
    totals = x @ np.eye(len(size))[member]
    ssb = (totals**2 / size).sum(axis=1)
    return ssb, np.maximum((x**2).sum(axis=1) - ssb, 0.0)


MAX_JACKKNIFE_UNITS = 200
"""More respondents than this are left out in so many groups, which bounds the time."""


@dataclass(frozen=True, slots=True)
class Relatives:
    """The families of respondents, and their effective number.

    Attributes
    ----------
    families
        (respondents,): a label each; empty where nobody is a relative.
    n_effective
        Number of independent respondents, as `family_dependence` finds it.
    """

    families: tuple[str, ...] = ()
    n_effective: float | None = None

    def units(self, count: int) -> IntArray:
        """(respondents,): the index of each respondent's family.

        Without families it is its own index, or that of a group of equal size where respondents
        are very many.
        """
        if len(self.families) not in (0, count):
            raise ValueError(f"one family label a respondent is needed, got {len(self.families)}")
        if self.families:
            labels = np.asarray(self.families)
        else:
            # groups take every 200th respondent, so that the order of the list makes no group
            labels = np.arange(count) % MAX_JACKKNIFE_UNITS
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)

    @classmethod
    def from_pairs(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        families: Sequence[str],
        n_effective: float | None,
    ) -> Relatives:
        """Return the families of the respondents who have both scores."""
        complete = np.isfinite(np.asarray(x, dtype=np.float64)) & np.isfinite(
            np.asarray(y, dtype=np.float64)
        )
        return cls(tuple(families), n_effective).subset(complete)

    def subset(self, included: ArrayLike) -> Relatives:
        """Return the families of some of the respondents."""
        if not self.families:
            return self
        return replace(
            self, families=tuple(np.asarray(self.families)[np.asarray(included)].tolist())
        )

    def size(self, count: int) -> float:
        """Return the number of independent respondents among so many.

        Families count once each where it is not known.
        """
        if self.n_effective is None and self.families:
            return float(len(set(self.families)))
        return effective_size(count, self.n_effective)


def jackknife_replicates(
    statistic: Callable[[Indices], ArrayLike],
    count: int,
    relatives: Relatives | None = None,
    *,
    vectorized: bool = False,
) -> Array:
    """(units, ...): a statistic of all rows but those of each respondent, or of each family.

    A vectorized one takes (samples, rows) of samples of one size, and returns (samples,) or
    (..., samples).

    >>> jackknife_replicates(lambda rows: float(rows.sum()), 3)
    array([3., 2., 1.])
    >>> jackknife_replicates(lambda rows: rows.sum(axis=1), 3, vectorized=True)
    array([3., 2., 1.])
    """
    units = (relatives or Relatives()).units(count)
    # (units, respondents): who is in the sample that leaves a unit out
    included = units != np.arange(int(units.max()) + 1)[:, None]
    if not vectorized:
        return np.array([statistic(np.flatnonzero(row)) for row in included], dtype=np.float64)
    sizes = included.sum(axis=1)
    # families of unequal size leave samples of several sizes
    by_size = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    replicates = []
    for same_size in by_size:
        samples = np.nonzero(included[same_size])[1].reshape(len(same_size), -1)
        replicates.append(np.asarray(statistic(samples), dtype=np.float64).T)
    return np.concatenate(replicates)[np.argsort(np.concatenate(by_size))]


def membership(samples: Indices, count: int) -> Array:
    """(samples, respondents): 1 where a respondent is in a sample, of (samples, rows) indices.

    >>> membership(np.array([[0, 2]]), 3)
    array([[1., 0., 1.]])
    """
    table = np.zeros((len(samples), count))
    np.put_along_axis(table, samples, 1.0, axis=1)
    return table


def log_variance_error(scores: ArrayLike, n_effective: float | None = None) -> float:
    """The sampling variance of the logarithm of a variance, from the kurtosis of the scores.

        M / (M - 1.96) (kappa - (M - 3) / M) / (M - 1)

    The kurtosis kappa is taken about the mean trimmed by 1 / (2 sqrt(M - 4)) a side, which lets a
    skewed sample show its tail. Bonett, D. G. (2006). Computational Statistics and Data Analysis,
    50, 775-782.

    >>> round(log_variance_error(np.arange(20.0)), 4)
    0.0551
    """
    x = float_array(scores, "respondents")
    count = len(x)
    size = float(count) if n_effective is None else n_effective
    # Bonett (2006): the mean for the kurtosis is trimmed by 1 / (2 sqrt(M - 4)) a side
    n_trimmed = int(count / (2 * math.sqrt(count - 4)))
    centre = float(np.sort(x)[n_trimmed : count - n_trimmed].mean())
    square = float(((x - x.mean()) ** 2).sum())
    kurtosis = count * float(((x - centre) ** 4).sum()) / square**2
    # size / (size - z), z = 1.96: Bonett's correction for small samples
    return size / (size - 1.96) * (kurtosis - (size - 3) / size) / (size - 1)


# No two-sided interval over other respondents holds what it promises where abilities are skewed,
# heavy-tailed or in clusters (docs/psychometrics_coverage.md): the sample then seldom holds the
# few who make the spread. What is missed lies above the upper end, so only the lower one is given.
# In its formula J and J_s are the variances of y and of the logarithm of the variance between
# respondents by leaving out each of the U respondents, or families, and B is `log_variance_error`:
# few respondents hide the tail of their scores from the jackknife, and the kurtosis about a trimmed
# mean shows it.
def add_lower_bound(
    coefficient: Coefficient,
    statistic: Callable[[Indices], ArrayLike],
    scores: ArrayLike = (),
    relatives: Relatives | None = None,
    *,
    minimum: float = -1.0,
    vectorized: bool = False,
) -> Coefficient:
    """Give a coefficient its one-sided lower bound over another sample of respondents.

    Parameters
    ----------
    coefficient : Coefficient
        The coefficient, without a bound.
    statistic : callable
        Indices of respondents to the coefficient and the variance between them; of one that is no
        ratio of variances (ranks) to the coefficient alone, and SE^2 is J.
    scores : array_like, shape (respondents,), optional
        Scores of which that is the variance.
    relatives : Relatives, optional
        Which respondents are relatives; none unless given.
    minimum : float, default -1.0
        The least value that the coefficient can have, below which no bound is given.
    vectorized : bool, default False
        Whether `statistic` takes an array of indices, shape (samples, respondents), and returns a
        value, or a pair of them, for each sample.

    Returns
    -------
    Coefficient
        The coefficient with `low`; both ends NaN below 8 respondents or 5 families, or for a
        coefficient of 1.

    Notes
    -----
        L = 1 - exp(y + t(level; U - 1) SE),   y = log(1 - r),   SE^2 = max(J, J - J_s + B)
    """
    relatives = relatives or Relatives()
    if coefficient.status != "ok" or too_few_respondents(coefficient.n, relatives.families):
        return replace(coefficient, low=math.nan, high=math.nan)
    replicates = jackknife_replicates(statistic, coefficient.n, relatives, vectorized=vectorized)
    coefficients, variances = (
        (replicates, None) if replicates.ndim == 1 else (replicates[:, 0], replicates[:, 1])
    )
    return add_jackknife_bound(
        coefficient, coefficients, variances, scores, relatives, minimum=minimum
    )


def add_jackknife_bound(
    coefficient: Coefficient,
    replicates: Array,
    variances: Array | None,
    scores: ArrayLike,
    relatives: Relatives,
    *,
    minimum: float,
) -> Coefficient:
    """`add_lower_bound` from the (units,) leave-one-out coefficients and score variances."""
    # the bound stands with its upper end open: nothing is said about how much higher it may be
    unbounded = replace(coefficient, low=math.nan, high=math.nan)
    count = coefficient.n
    size = relatives.size(coefficient.n)
    if coefficient.status != "ok" or too_few_respondents(count, relatives.families) or size < 2:
        return unbounded
    if coefficient.value >= 1 or not (np.isfinite(replicates).all() and (replicates < 1).all()):
        return unbounded
    # on log(1 - r), where the error hardly depends on r
    squared_error = float(jackknife_variance(np.log1p(-replicates)))
    if not relatives.families and size < count:
        # relatives without their labels are left out one by one, and count as the fewer they are
        squared_error *= count / size
    if (
        variances is not None
        and bool((variances > 0).all())
        and size > 2
        and not is_constant(np.asarray(scores, dtype=np.float64))
    ):
        variance_error = float(jackknife_variance(np.log(variances)))
        # the score variance's part of the error is taken from the kurtosis where that is larger
        squared_error = max(
            squared_error, squared_error - variance_error + log_variance_error(scores, size)
        )
    # units that are left out, or as many as are independent
    df = (len(replicates) if relatives.families else min(size, len(replicates))) - 1
    log_half_width = float(stdtrit(df, coefficient.level)) * math.sqrt(squared_error)
    low = 1 - (1 - coefficient.value) * math.exp(min(log_half_width, 700.0))
    if relatives.families and len(replicates) < count:
        units = "families"
    else:
        units = "respondents"
    method = f"{units} left out, log(1 - r), one-sided"
    if size < count:
        method += f", n_eff {size:.4g}"
    # within the coefficient's own range, and never above the estimate
    low = min(max(low, minimum), coefficient.value)
    return cover_fixed_interval(replace(coefficient, low=low, high=math.inf, method=method))


def add_disattenuated_bound(coefficient: Coefficient, observed: Coefficient) -> Coefficient:
    """A correlation without attenuation, with the observed one's lower end for others moved by the
    same factor.

    >>> add_disattenuated_bound(Coefficient(0.9), Coefficient(0.6, 0.5, math.inf)).low
    0.75
    """
    if not (math.isfinite(observed.low) and observed.value > 0):
        return coefficient
    # attenuation is taken as known: both ends move by one factor
    low = min(observed.low * coefficient.value / observed.value, coefficient.value)
    method = f"{observed.method}, disattenuated"
    return cover_fixed_interval(
        replace(coefficient, low=max(low, -1.0), high=math.inf, method=method)
    )


def cover_fixed_interval(coefficient: Coefficient) -> Coefficient:
    """Lower the bound over other respondents to that of the interval for these respondents.

    Sampling respondents and items cannot be more precise than sampling items alone.

    Parameters
    ----------
    coefficient : Coefficient
        A coefficient with a lower bound and the interval `fixed`.

    Returns
    -------
    Coefficient
        The coefficient, its ends at least as wide as those of `fixed`.

    Examples
    --------
    >>> from hqm.psychometrics.result import ConfidenceInterval
    >>> fixed = ConfidenceInterval(0.4, 0.52, "jackknife")
    >>> narrow = Coefficient(0.5, 0.45, math.inf, 9, fixed=fixed)
    >>> cover_fixed_interval(narrow).low, cover_fixed_interval(narrow).high
    (0.4, inf)
    """
    fixed = coefficient.fixed
    if fixed is None or not (math.isfinite(coefficient.low) and math.isfinite(fixed.low)):
        return coefficient
    return replace(
        coefficient, low=min(coefficient.low, fixed.low), high=max(coefficient.high, fixed.high)
    )


MIN_RESPONDENTS_FOR_TWO = 8
"""Among fewer, one respondent is looked for that lies far from the others; else two."""
MAX_CHANGE = 0.1
"""A coefficient that changes by more without those that lie far off rests on them."""


@dataclass(frozen=True, slots=True)
class FarRespondents:
    """The one or two respondents that lie far from all others, the farthest first, and the p-value
    of the test that finds them.
    """

    respondents: tuple[int, ...] = ()
    p: float = math.nan


def far_respondents(scores: ArrayLike, *, false_alarm: float = 0.04) -> FarRespondents:
    """Find the one or two respondents whose scores lie far from all others'.

    Rosner's generalized extreme studentized deviate, which finds two that hide one another. Of
    normal samples of ten, .055 have any at the default.

    Parameters
    ----------
    scores : array_like, shape (respondents,)
        Scores; a missing one lies nowhere.
    false_alarm : float, default 0.04
        The chance to find any in a large normal sample.

    Returns
    -------
    FarRespondents
        Their indices and the p-value; none below 5 respondents.

    Notes
    -----
        R_i = max |x - mean| / s of what is left after i - 1 removals,   k = n - i + 1
        t_i = R_i sqrt(k (k - 2) / ((k - 1)^2 - k R_i^2)),   p_i = 2 k P(t(k - 2) > t_i)

    which is R_i against lambda_i, solved for the p-value. The far ones are the first j, j the
    largest i with p_i below `false_alarm`; p is the least of the p_i.

    References
    ----------
    .. [1] Rosner, B. (1983). Technometrics, 25, 165-172.

    Examples
    --------
    >>> far_respondents([0.70, 0.71, 0.72, 0.74, 0.75, 0.76, 0.2, 0.22]).respondents
    (6, 7)
    """
    x = float_array(scores, "respondents")
    remaining = np.flatnonzero(np.isfinite(x)).tolist()
    removed = list[int]()
    p_values = list[float]()
    for _ in range(2 if len(remaining) >= MIN_RESPONDENTS_FOR_TWO else 1):
        left = x[remaining]
        k = len(left)
        if k < 5 or is_constant(left):
            break
        deviations = np.abs(left - left.mean())
        farthest = int(np.argmax(deviations))
        ratio = float(deviations[farthest] / left.std(ddof=1))
        # Rosner (1983), eq. 2.5, solved for t: the denominator is 0 where all others are equal
        denominator = max((k - 1) ** 2 - k * ratio**2, 1e-12)
        t = ratio * math.sqrt(k * (k - 2) / denominator)
        # two-sided, and Bonferroni's k, as the farthest of k is tested
        p_values.append(min(1.0, 2 * k * float(stdtr(k - 2, -t))))
        removed.append(remaining.pop(farthest))
    # two that hide one another: the second may be significant where the first is not
    n_far = max((i for i, p in enumerate(p_values, 1) if p < false_alarm), default=0)
    return FarRespondents(tuple(removed[:n_far]), min(p_values, default=1.0))


@dataclass(frozen=True, slots=True)
class Influence(Outcome):
    """A statistic without each respondent in turn, and without those that lie far off.

    `leave_one_out[i]` lacks respondent i; `strongest` is the one whose absence changes the
    statistic most, by `change`. `far` are those that lie far from all others, by a test with
    p-value `far_p`, and `without_far` is the statistic without them.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    strongest: int = -1
    change: float = math.nan
    leave_one_out: tuple[float, ...] = ()
    flags: tuple[str, ...] = ()
    far: tuple[int, ...] = ()
    without_far: float = math.nan
    far_p: float = math.nan


def leave_one_out(
    statistic: Callable[[Indices], float], n: int, *, scores: ArrayLike = ()
) -> Influence:
    """Compute the range of a coefficient over leaving out one respondent each time.

    It also says whether the coefficient rests on one or two respondents that lie far off.

    One crippled model can make a correlation by itself, and two can hide one another. Flag
    `DOMINANT_MODEL`: one or two respondents lie far from all others (`far_respondents`), and
    without them the coefficient changes by more than .1, or is undefined. In normal samples of ten
    it is raised in at most .05 (docs/psychometrics_structure.md).

    Parameters
    ----------
    statistic : callable
        Indices of respondents -> coefficient, NaN where undefined.
    n : int
        How many respondents there are.
    scores : array_like, shape (respondents,) or (administrations, respondents), optional
        Scores in which respondents may lie far off, in any of the administrations; without them
        there is no flag.

    Returns
    -------
    Influence
        The status is `insufficient` below 4 respondents, `degenerate` when the statistic is
        undefined or so without any respondent.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> x, y = np.array([1.0, 2, 3, 4, 2, 30]), np.array([2.0, 1, 2, 1, 1, 30])
    >>> result = leave_one_out(lambda i: float(np.corrcoef(x[i], y[i])[0, 1]), 6, scores=x)
    >>> result.far, result.flags
    ((5,), ('DOMINANT_MODEL',))
    """
    if n < 4:
        return Influence(
            math.nan,
            status="insufficient",
            reason=f"leaving one out needs 4 respondents, there are {n}",
        )
    x = np.asarray(scores, dtype=np.float64)
    if x.size and x.shape[-1:] != (n,):
        raise ValueError(f"scores must have shape ({n},), got {x.shape}")
    respondents = np.arange(n)
    value = float(statistic(respondents))
    replicates = np.array([float(statistic(np.delete(respondents, i))) for i in range(n)])
    finite = np.isfinite(replicates)
    if not math.isfinite(value) or not finite.any():
        return Influence(
            math.nan, status="degenerate", reason="the statistic is undefined for these respondents"
        )
    # a coefficient that does not exist without a respondent is no change in number
    change = np.where(finite, np.abs(replicates - value), -1.0)
    strongest = int(np.argmax(change))
    if x.size:
        farthest = _farthest(np.atleast_2d(x))
    else:
        farthest = FarRespondents((), 1.0)
    outliers = farthest.respondents
    statistic_without = math.nan
    if outliers:
        statistic_without = float(statistic(np.delete(respondents, outliers)))
    # a comparison with NaN is false: a coefficient that is undefined without them rests on them
    rests_on_outliers = bool(outliers) and not abs(statistic_without - value) <= MAX_CHANGE
    return Influence(
        value,
        float(replicates[finite].min()),
        float(replicates[finite].max()),
        strongest,
        float(change[strongest]),
        tuple(replicates.tolist()),
        ("DOMINANT_MODEL",) if rests_on_outliers else (),
        outliers,
        statistic_without,
        farthest.p,
    )


def _farthest(scores: Array) -> FarRespondents:
    """The far respondents of the first administration that has any, with the p-value for all of
    the administrations.
    """
    # Bonferroni over administrations
    by_administration = [far_respondents(row, false_alarm=0.04 / len(scores)) for row in scores]
    p = min(1.0, len(scores) * min(outcome.p for outcome in by_administration))
    respondents = next(
        (outcome.respondents for outcome in by_administration if outcome.respondents), ()
    )
    return FarRespondents(respondents, p)


@dataclass(frozen=True, slots=True)
class RangeRestriction(Outcome):
    """The spread of all respondents and of the best ones.

    `u` is the ratio of the standard deviations, top to all.
    """

    sd: float
    sd_top: float
    u: float
    n: int
    n_top: int
    flags: tuple[str, ...] = ()


def range_restriction(scores: ArrayLike, *, higher_is_better: bool = True) -> RangeRestriction:
    """Compute how much of a coefficient comes from respondents that nobody confuses.

    A correlation grows with the spread of those it is computed on; a leaderboard is read at its
    top. Where the error stays the same, a reliability r among all is 1 - (1 - r) / u^2 there.

    Parameters
    ----------
    scores : array_like, shape (respondents,)
        Scores; NaN where there is none.
    higher_is_better : bool, default True
        Whether a higher score is better.

    Returns
    -------
    RangeRestriction
        The status is `insufficient` where the top half has fewer than 3 respondents, `degenerate`
        where all, or the top, have one score.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        u = s_top / s_all;   flag `RANGE_INFLATED` where s_all > 1.5 s_top

    References
    ----------
    .. [1] Lord, F. M. and Novick, M. R. (1968). Statistical Theories of Mental Test Scores,
       section 6.2 (constant error variance). Addison-Wesley.

    Examples
    --------
    >>> result = range_restriction([0.2, 0.4, 0.6, 0.70, 0.72, 0.74])
    >>> round(result.u, 3), result.flags
    (0.092, ('RANGE_INFLATED',))
    """
    x = float_array(scores, "respondents")
    # the top half by rank; of an odd number, the middle is in it
    x = np.sort(x[np.isfinite(x)])
    n_top = (len(x) + 1) // 2
    if n_top < 3:
        reason = f"the top half needs 3 respondents, it has {n_top}"
        return RangeRestriction(
            math.nan, math.nan, math.nan, len(x), n_top, status="insufficient", reason=reason
        )
    best = x[-n_top:] if higher_is_better else x[:n_top]
    sd = float(x.std(ddof=1))
    sd_top = float(best.std(ddof=1))
    if is_constant(best):
        reason = "the top has one score"
        return RangeRestriction(
            sd, sd_top, math.nan, len(x), n_top, status="degenerate", reason=reason
        )
    flags = ("RANGE_INFLATED",) if sd > 1.5 * sd_top else ()
    return RangeRestriction(sd, sd_top, sd_top / sd, len(x), n_top, flags)
