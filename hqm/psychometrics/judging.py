"""Where an automatic judge and people disagree, item by item, and whether it errs alike for all
respondents.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, Flags, Numbers, normal_quantile, shaped_alike
from hqm.psychometrics.distributions import chi2_above
from hqm.psychometrics.multiple import benjamini_hochberg
from hqm.psychometrics.result import Bounds, Coefficient, Status


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """A two-by-two table of automatic against human labels, with every share a reader may ask for.

    `agreement` (Po) flatters where one label is rare; `kappa` then falls near 0 and `ac1` (Gwet)
    does not; `positive` and `negative` are the specific agreements on each label. A share whose
    divisor is 0 is NaN and named in `reason`.
    """

    both: float
    automatic_only: float
    human_only: float
    neither: float
    agreement: float = math.nan
    kappa: float = math.nan
    ac1: float = math.nan
    positive: float = math.nan
    negative: float = math.nan
    sensitivity: float = math.nan
    specificity: float = math.nan
    status: Status = "ok"
    reason: str = ""

    @property
    def n(self) -> float:
        return self.both + self.automatic_only + self.human_only + self.neither


def _ratio(top: float, bottom: float) -> float:
    return top / bottom if bottom > 0 else math.nan


def table_agreement(
    both: float, automatic_only: float, human_only: float, neither: float
) -> JudgeAgreement:
    """All shares of a two-by-two table of labels.

        Po = (a + d) / n,   kappa = (Po - Pe) / (1 - Pe),   AC1 = (Po - e) / (1 - e), e = 2 q (1 - q)
        positive = 2 a / (2 a + b + c),   negative = 2 d / (2 d + b + c)
        sensitivity = a / (a + c),   specificity = d / (b + d)

    Cicchetti, D. V. and Feinstein, A. R. (1990). Journal of Clinical Epidemiology, 43, 551-558;
    Gwet, K. L. (2008). British Journal of Mathematical and Statistical Psychology, 61, 29-48.

    - `both, automatic_only, human_only, neither`: Counts a, b, c, d of items labelled 1 by both, by
      the judge alone, by the person alone, by neither.

    The status is `insufficient` for an empty table, `degenerate` where both gave one and the same
    label throughout (kappa has no value; Po and the counts are still there).

    >>> result = table_agreement(90, 5, 5, 0)
    >>> result.agreement, round(result.kappa, 4), round(result.ac1, 4), round(result.positive, 3), result.negative
    (0.9, -0.0526, 0.8895, 0.947, 0.0)
    """
    a, b, c, d = both, automatic_only, human_only, neither
    n = a + b + c + d
    if n == 0:
        return JudgeAgreement(0, 0, 0, 0, status="insufficient", reason="no item has both labels")
    po = (a + d) / n
    p, q = (a + b) / n, (a + c) / n
    pe = p * q + (1 - p) * (1 - q)
    mean = (p + q) / 2
    e = 2 * mean * (1 - mean)
    shares = {
        "kappa": _ratio(po - pe, 1 - pe),
        "positive agreement": _ratio(2 * a, 2 * a + b + c),
        "negative agreement": _ratio(2 * d, 2 * d + b + c),
        "sensitivity": _ratio(a, a + c),
        "specificity": _ratio(d, b + d),
    }
    gone = [name for name, value in shares.items() if math.isnan(value)]
    kappa, positive, negative, sensitivity, specificity = shares.values()
    status: Status = "degenerate" if math.isnan(kappa) else "ok"
    reason = f"a single label leaves no {', no '.join(gone)}" if gone else ""
    ac1 = (po - e) / (1 - e)
    return JudgeAgreement(
        a, b, c, d, po, kappa, ac1, positive, negative, sensitivity, specificity, status, reason
    )


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """Agreement pooled and per respondent, and tests of equal sensitivity and specificity.

    `p_sensitivity` and `p_specificity` test that all respondents share one value, adjusted for
    being two tests (Benjamini and Hochberg). `range_sensitivity` is the largest minus the smallest.
    `homogeneous` is None where neither test could be done.
    """

    pooled: JudgeAgreement
    per_respondent: tuple[JudgeAgreement, ...]
    sensitivity: Coefficient
    specificity: Coefficient
    p_sensitivity: float = math.nan
    p_specificity: float = math.nan
    range_sensitivity: float = math.nan
    range_specificity: float = math.nan
    homogeneous: bool | None = None
    flags: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str = ""


def judge_errors(
    automatic: npt.ArrayLike,
    human: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> JudgeErrors:
    """Whether the judge errs alike for every respondent, as any pooled correction of its scores
    assumes.

    A judge that is lenient with one model's style shifts that model's rank. Sensitivity (of answers
    that people label 1, the share the judge labels 1) and specificity are compared over respondents
    with the likelihood ratio

        G = 2 sum observed log(observed / expected),   chi-square with (respondents with such items) - 1 df

    or, where a respondent expects under 5 errors or hits, with Pearson's X^2 = sum (observed -
    expected)^2 / expected, which keeps its level there (40 respondents, 30 labels each, no bias: G
    rejects in 11 of 100 studies).

    Items that all respondents share make the tests cautious. Two-way clustering: Cameron, A. C.,
    Gelbach, J. B. and Miller, D. L. (2011). Journal of Business and Economic Statistics, 29,
    238-249.

    - `automatic, human`: (respondents, items): binary labels; NaN where there is none (the pair is
      left out).
    - `weights`: (respondents, items): 1 / probability of being labelled; shares are weighted, and
      the counts that tests and tables show are those of as many equal weights as say the same
      (Kish).

    The status is `insufficient` without a pair, `not_applicable` when a label is not 0 or 1. Flags:
    `JUDGE_DIF` where a test rejects at 1 - level, `SPARSE` where a respondent expects under 5
    errors or hits. The pooled sensitivity and specificity carry an interval clustered by respondent
    and by item.

    >>> human = np.tile([1.0, 0.0], (2, 50))
    >>> judge = human.copy()
    >>> judge[0, :60] = 1 - judge[0, :60]
    >>> result = judge_errors(judge, human)
    >>> result.homogeneous, round(result.range_sensitivity, 2), result.flags
    (False, 0.6, ('JUDGE_DIF',))
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    both = np.isfinite(a) & np.isfinite(h)
    none = Coefficient.absent
    if not both.any():
        reason = "no item has both labels"
        empty = none("insufficient", reason)
        return JudgeErrors(
            table_agreement(0, 0, 0, 0), (), empty, empty, status="insufficient", reason=reason
        )
    if not (np.isin(a[both], (0, 1)).all() and np.isin(h[both], (0, 1)).all()):
        reason = "the labels are not 0 or 1"
        empty = none("not_applicable", reason)
        return JudgeErrors(
            table_agreement(0, 0, 0, 0), (), empty, empty, status="not_applicable", reason=reason
        )
    yes, true = both & (a == 1), both & (h == 1)
    each = np.stack([yes & true, yes & ~true, both & ~yes & true, both & ~yes & ~true])
    w = (
        both.astype(np.float64)
        if weights is None
        else np.where(both, shaped_alike(a, weights, "respondents, items")[1], 0.0)
    )
    if weights is None:
        cells = each.sum(axis=2)
        whole = cells.sum(axis=1)
    else:
        sums, squares = w.sum(axis=1), (w**2).sum(axis=1)
        raw = (each * w).sum(axis=2)
        cells = raw * np.divide(sums, squares, out=np.zeros_like(sums), where=squares > 0)
        whole = raw.sum(axis=1) * sums.sum() / squares.sum()
    per = tuple(table_agreement(*column.tolist()) for column in cells.T)
    tests = [_homogeneity(cells[0], cells[2]), _homogeneity(cells[3], cells[1])]
    p = benjamini_hochberg([t[0] for t in tests])
    known = np.isfinite(p)
    rejected = bool((p[known] <= 1 - level).any())
    flags = (("JUDGE_DIF",) if rejected else ()) + (("SPARSE",) if any(t[2] for t in tests) else ())
    return JudgeErrors(
        table_agreement(*whole.tolist()),
        per,
        _two_way(yes & true, true, w, level),
        _two_way(both & ~yes & ~true, both & ~true, w, level),
        float(p[0]),
        float(p[1]),
        tests[0][1],
        tests[1][1],
        not rejected if known.any() else None,
        flags,
    )


def _homogeneity(hits: Numbers | Array, misses: Numbers | Array) -> tuple[float, float, bool]:
    """P-value of equal shares, their range, and whether some expected count is small."""
    table = np.stack([hits, misses]).astype(np.float64)
    table = table[:, table.sum(axis=0) > 0]
    k = table.shape[1]
    if k < 2:
        return math.nan, math.nan, False
    shares = table[0] / table.sum(axis=0)
    spread = float(np.ptp(shares))
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    if (table.sum(axis=1) == 0).any():
        return 1.0, spread, False
    from scipy.special import xlogy

    sparse = bool(expected.min() < 5)
    if sparse:
        statistic = float(((table - expected) ** 2 / expected).sum())
    else:
        statistic = 2 * float((xlogy(table, table) - xlogy(table, expected)).sum())
    return float(chi2_above(max(0.0, statistic), k - 1)), spread, sparse


def _two_way(hit: Flags, base: Flags, weights: Array, level: float) -> Coefficient:
    """A pooled share with a standard error clustered by respondent and by item."""
    total = float(weights[base].sum())
    if not base.any():
        return Coefficient.absent("degenerate", "no item carries this human label", base.shape[0])
    value = 1.0 if (hit == base).all() else float(weights[hit].sum()) / total
    residual: Array = np.where(base, weights * (hit - value), 0.0)
    m, n = base.shape
    parts = [
        k / (k - 1) * float((residual.sum(axis=axis) ** 2).sum()) if k > 1 else 0.0
        for axis, k in ((1, m), (0, n))
    ]
    variance = max(parts[0] + parts[1] - float((residual**2).sum()), *parts) / total**2

    half = normal_quantile(level) * math.sqrt(variance)
    low, high = max(0.0, value - half), min(1.0, value + half)
    if variance == 0:
        # a share of 0 or 1: the error bar of a normal interval would be 0
        z2 = normal_quantile(level) ** 2
        edge = z2 / (total**2 / float((weights[base] ** 2).sum()) + z2)
        low, high = (
            (0.0, edge) if value == 0 else (1 - edge, 1.0) if value == 1 else (math.nan, math.nan)
        )
    return Coefficient(
        value, low, high, m, level, "clustered by respondent and item", se=math.sqrt(variance)
    )


@dataclass(frozen=True, slots=True)
class WeightedAgreement:
    """Agreement of automatic and human labels over answers: the share that are alike, and Cohen's
    kappa.
    """

    agreement: Coefficient
    kappa: Coefficient


def weighted_agreement(
    automatic: npt.ArrayLike,
    human: npt.ArrayLike,
    clusters: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> WeightedAgreement:
    """The share of answers with the same two labels, and kappa, with intervals for these
    respondents over pictures.

    Each picture is left out once, with all its answers (`fixed`, normal, cut at -1 and 1).

    - `automatic, human`: (respondents, items): binary labels; NaN where there is none.
    - `clusters`: (items,). `weights`: (respondents, items): 1 / probability of being labelled.

    Both are `insufficient` without a pair; kappa is `degenerate` where both sides gave one and the
    same label throughout.

    >>> study = weighted_agreement([[1, 1, 1, 0, 0, 0]], [[1, 1, 0, 0, 0, 1]], np.arange(6))
    >>> round(study.agreement.value, 3), round(study.kappa.value, 3)
    (0.667, 0.333)
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    both = np.isfinite(a) & np.isfinite(h)
    w = np.where(both, 1.0 if weights is None else np.asarray(weights, dtype=np.float64), 0.0)
    member = np.unique(np.asarray(clusters), return_inverse=True)[1]
    yes, true = a == 1, h == 1
    cells = np.stack(
        [w * (yes & true), w * (yes & ~true), w * (~yes & true), w * (~yes & ~true)]
    ).sum(axis=1)
    table = np.stack([np.bincount(member, weights=row) for row in cells])
    table = table[:, table.sum(axis=0) > 0]
    n = int(both.sum())
    if n == 0:
        none = Coefficient.absent("insufficient", "no item has both labels")
        return WeightedAgreement(none, none)
    whole, without = table.sum(axis=1), table.sum(axis=1, keepdims=True) - table
    return WeightedAgreement(
        *(
            _left_out(each(whole[:, None]), each(without), n, level)
            for each in (_agreement_of, _kappa_of)
        )
    )


def _agreement_of(table: Array) -> Array:
    return np.asarray((table[0] + table[3]) / np.maximum(table.sum(axis=0), 1e-300))


def _kappa_of(table: Array) -> Array:
    total = np.maximum(table.sum(axis=0), 1e-300)
    p, q = (table[0] + table[1]) / total, (table[0] + table[2]) / total
    chance = p * q + (1 - p) * (1 - q)
    return np.where(
        chance < 1 - 1e-12, (_agreement_of(table) - chance) / np.maximum(1 - chance, 1e-12), np.nan
    )


def _left_out(value: Array, without: Array, n: int, level: float) -> Coefficient:
    number, count = float(value[0]), len(without)
    if math.isnan(number):
        return Coefficient.absent("degenerate", "one category stands alone", n)
    if count < 3 or not np.isfinite(without).all():
        return Coefficient(number, n=0, level=level)
    error = math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))
    if not error > 0:
        return Coefficient(number, level=level)
    half = normal_quantile(level) * error
    ends = Bounds(max(-1.0, number - half), min(1.0, number + half), "pictures left out", level)
    return Coefficient(number, level=level, fixed=ends, se=error)
