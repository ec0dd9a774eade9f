"""Whether two forms shift all respondents alike, and how well they agree apart from the seeds'
noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, normal_quantile, shaped_alike
from hqm.psychometrics.clusters import cluster_sums, labels_of, mean_with_error
from hqm.psychometrics.correlation import is_constant, pearson, size_of
from hqm.psychometrics.resampling import FEWEST
from hqm.psychometrics.result import Bounds, Coefficient, Status
from hqm.psychometrics.significance import SignificanceTest, chi_square_test
from hqm.psychometrics.two_way import linear_bounds, never_narrower, respondent_bounds

NAME = "equal form shift (Q)"


@dataclass(frozen=True, slots=True, eq=False)
class ShiftHeterogeneity:
    """How much the shift between two forms differs between respondents.

    - `test`: Cochran's Q of equal shifts; its `status` speaks for the whole.
    - `shift`: The mean shift (first - second), weighted by precision, with a normal interval over
      items (`fixed`).
    - `i2`: Share of the shifts' variance that is not sampling error, 0 to 1.
    - `deviation`: sd_form: standard deviation of the true shifts, in score units.
    - `shifts, errors`: (respondents,): each respondent's shift and its standard error.
    """

    test: SignificanceTest
    shift: Coefficient
    i2: float
    deviation: float
    shifts: Array
    errors: Array


def shift_heterogeneity(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> ShiftHeterogeneity:
    """Whether a change of form shifts all respondents alike: the form by respondent interaction
    (Cochran's Q).

        D_m = mean_i(x_A - x_B),  s2_m its cluster variance,  w = 1 / s2;  Q = sum w (D - D_w)^2 ~ chi2(M - 1)
        I2 = max(0, 1 - (M - 1) / Q),   sd_form = sqrt(max(0, var(D) - mean s2))

    A form that is harder for everybody is harmless; one that is harder for some and easier for
    others measures another thing. Higgins and Thompson (2002). Statistics in Medicine, 21,
    1539-1558.

    - `first, second, clusters`: (respondents, items) on both forms, and (items,) labels of what
      items share.
    The status is `insufficient` below 3 respondents with 2 clusters and `not_informative` for
    identical forms.
    """
    a, b = shaped_alike(first, second, "respondents, items")
    labels = labels_of(clusters, a.shape[1])
    scored = np.isfinite(a) & np.isfinite(b)
    if not scored.any():
        return _no_heterogeneity("insufficient", "no item is scored on both forms", len(a))
    sums, sizes = cluster_sums(np.where(scored, a - b, 0.0), scored, labels)
    mean, error = mean_with_error(sums, sizes)
    return shift_heterogeneity_of_scores(mean, error**2, level=level)


def shift_heterogeneity_of_scores(
    shifts: npt.ArrayLike, variances: npt.ArrayLike, *, level: float = 0.95
) -> ShiftHeterogeneity:
    """The same from each respondent's shift and its sampling variance, for metrics that are no
    means of items.

    - `shifts, variances`: (respondents,): score on the first form minus score on the second, and
      the variance of that difference.

    As `shift_heterogeneity`.

    >>> result = shift_heterogeneity_of_scores([0.1, 0.1, 0.4], [0.01, 0.01, 0.01])
    >>> round(result.test.statistic, 6), round(result.deviation, 6)
    (6.0, 0.141421)
    """
    d, s2 = shaped_alike(shifts, variances, "respondents")
    there = np.isfinite(d) & np.isfinite(s2)
    if there.sum() < 3:
        reason = (
            "heterogeneity needs 3 respondents with 2 clusters of items, there are"
            f" {int(there.sum())}"
        )
        return _no_heterogeneity("insufficient", reason, len(d), d, s2)
    if not s2[there].any() and is_constant(d[there]):
        reason = "the forms differ by the same amount on every item"
        return _no_heterogeneity("not_informative", reason, len(d), d, s2)
    used = there & (s2 > 0)
    m = int(used.sum())
    if m < 3:
        reason = (
            f"heterogeneity needs 3 respondents whose differences vary over items, there are {m}"
        )
        return _no_heterogeneity("insufficient", reason, len(d), d, s2)

    weight = 1 / s2[used]
    centre = float(np.dot(weight, d[used]) / weight.sum())
    q = float(np.dot(weight, (d[used] - centre) ** 2))
    se = math.sqrt(1 / float(weight.sum()))
    half = normal_quantile(level) * se
    spread = float(d[there].var(ddof=1)) - float(s2[there].mean())
    return ShiftHeterogeneity(
        chi_square_test(q, m - 1, NAME, m),
        Coefficient(
            centre,
            n=m,
            level=level,
            fixed=Bounds(centre - half, centre + half, "inverse variance", level),
            se=se,
        ),
        max(0.0, 1 - (m - 1) / q) if q > 0 else 0.0,
        math.sqrt(max(0.0, spread)),
        d,
        np.sqrt(np.where(s2 >= 0, s2, np.nan)),
    )


def _no_heterogeneity(
    status: Status, reason: str, n: int, shifts: Array | None = None, variances: Array | None = None
) -> ShiftHeterogeneity:
    none = np.full(n, np.nan)
    return ShiftHeterogeneity(
        SignificanceTest.absent(status, reason, n, NAME),
        Coefficient.absent(status, reason, n),
        math.nan,
        math.nan,
        none if shifts is None else shifts,
        none if variances is None else np.sqrt(np.where(variances >= 0, variances, np.nan)),
    )


@dataclass(frozen=True, slots=True)
class FormReliability:
    """The correlation of two forms, with and without the noise of the seeds.

    - `observed`: Pearson's r of the scores, with Fisher's interval.
    - `true`: The correlation of the forms' true scores; above 1 it is cut to 1, kept in `raw` and
      flagged `ABOVE_ONE`.
    - `attenuation`: The factor by which seed noise lowers the correlation, sqrt(reliability of A x
      reliability of B).
    """

    observed: Coefficient
    true: Coefficient
    attenuation: float = math.nan


def form_reliability(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    noise_first: npt.ArrayLike,
    noise_second: npt.ArrayLike,
    *,
    without: tuple[Array, Array] | None = None,
    n_effective: float | None = None,
    level: float = 0.95,
) -> FormReliability:
    """Split the correlation of two forms into the forms' own agreement and the seeds' noise.

    Parallel-forms reliability must not be blamed for test-retest noise: the second is cured by more
    items or runs, the first is not.

        r_true = cov(m_A, m_B) / sqrt((s2_A - v_A)(s2_B - v_B)),   observed = r_true x attenuation

    For these respondents r_true is computed with each cluster of items left out. For others the
    ends lie half-way between those of a jackknife over respondents, which holds the truth in 83 to
    92 %, and Fisher's divided by the attenuation, which does in 94 to 99 %: half-way holds it in 92
    to 96 % (docs/psychometrics_coverage.md). Spearman, C. (1904). The proof and measurement of
    association between two things. American Journal of Psychology, 15, 72-101; Tukey, J. W. (1958).
    Annals of Mathematical Statistics, 29, 614.

    - `first, second`: (respondents,): scores on each form; pairs with a missing number are left
      out.
    - `noise_first, noise_second`: (respondents,): variance of one run's score over seeds on each
      form (`rho_g(...).noise`).
    - `without`: (respondents, clusters) of each form: the scores with each cluster of items left
      out.
    - `n_effective`: The number of independent respondents, where some are relatives.

    The status is `insufficient` for fewer than 3 respondents, `degenerate` when scores do not vary
    or a form's variance is all noise. There is no interval below 10 independent respondents. Ends
    are cut at 1, as the value is.

    >>> a, b = [0.2, 0.4, 0.5, 0.8], [0.3, 0.3, 0.6, 0.8]
    >>> result = form_reliability(a, b, [0.002] * 4, [0.002] * 4)
    >>> round(result.observed.value, 4), round(result.true.value, 4), round(result.attenuation, 4)
    (0.9254, 0.9566, 0.9673)
    """
    columns = [np.asarray(v, dtype=np.float64) for v in (first, second, noise_first, noise_second)]
    if len({c.shape for c in columns}) != 1 or columns[0].ndim != 1:
        raise ValueError(f"four vectors of one length are needed, got {[c.shape for c in columns]}")
    data = np.stack(columns, axis=1)
    kept = np.isfinite(data).all(axis=1)
    data = data[kept]
    observed = pearson(data[:, 0], data[:, 1], level=level, n_effective=n_effective)
    n = len(data)
    if observed.status != "ok":
        return FormReliability(observed, observed)
    noise = data[:, 2].mean(), data[:, 3].mean()
    value, (rel_a, rel_b) = _disattenuated(data[:, :1], data[:, 1:2], *noise)
    if not np.isfinite(value[0]):
        reason = "the scores of a form vary by no more than the seeds' noise"
        none = Coefficient.absent("degenerate", reason, n)
        return FormReliability(observed, none)
    raw, attenuation = float(value[0]), math.sqrt(float(rel_a[0] * rel_b[0]))
    low, high, method, fixed = math.nan, math.nan, "", None
    if size_of(n, n_effective) >= FEWEST:
        rest = [np.delete(data, row, axis=0) for row in range(n)]
        fewer = [
            _disattenuated(part[:, :1], part[:, 1:2], part[:, 2].mean(), part[:, 3].mean())[0][0]
            for part in rest
        ]
        size = size_of(n, n_effective)
        low, high = respondent_bounds(raw, fewer, size, level)
        method = "respondent jackknife"
        if math.isfinite(low):
            # the first is too short and the second too long, at every size
            low = (low + float(np.clip(observed.low / attenuation, -1, 1))) / 2
            high = (high + float(np.clip(observed.high / attenuation, -1, 1))) / 2
            method = "half-way between respondent jackknife and Fisher z, disattenuated"
        if n_effective is not None and n_effective < n:
            method += f", n_eff {n_effective:.4g}"
    if without is not None and n >= FEWEST:
        left = _disattenuated(without[0][kept], without[1][kept], *noise)[0]
        fixed = linear_bounds(raw, left, level)
    flags = ("ABOVE_ONE",) if abs(raw) > 1 else ()
    true = Coefficient(
        math.copysign(1.0, raw) if flags else raw,
        low,
        high,
        n,
        level,
        method,
        fixed=fixed,
        raw=raw if flags else math.nan,
        flags=flags,
    )
    return FormReliability(observed, never_narrower(true), attenuation)


def _disattenuated(
    a: Array, b: Array, noise_a: float, noise_b: float
) -> tuple[Array, tuple[Array, Array]]:
    """Correlations without noise of (respondents, sets) scores, and the reliabilities of both
    forms.
    """
    covariance = ((a - a.mean(axis=0)) * (b - b.mean(axis=0))).sum(axis=0) / (len(a) - 1)
    spread = np.stack([a.var(axis=0, ddof=1), b.var(axis=0, ddof=1)])
    true = spread - np.array([[noise_a], [noise_b]])
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where((true > 0).all(axis=0), covariance / np.sqrt(true[0] * true[1]), np.nan)
        reliability = np.where(spread > 0, true / spread, np.nan)
    return value, (reliability[0], reliability[1])
