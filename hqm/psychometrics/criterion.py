"""Criterion validity: do the benchmark's scores agree with people's judgement of the same answers?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, shaped_alike
from hqm.psychometrics.correlation import is_constant, pearson
from hqm.psychometrics.families import Influence, leave_one_out
from hqm.psychometrics.resampling import respondent_bootstrap
from hqm.psychometrics.result import Coefficient


@dataclass(frozen=True, slots=True)
class CriterionValidity:
    """How the automatic scores of respondents agree with human ones.

    - `full`: Pearson's correlation of the automatic score over all items with the human score over the labelled items.
    - `same`: The same with both scores over the labelled items.
    - `disattenuated`: What `full` would be without the sampling error of the items, beside its `raw` value where it
      was cut at 1.
    - `ceiling`: The largest `full` that the two reliabilities allow: sqrt(rel_A rel_H).
    - `reliability_automatic, reliability_human`: Generalizability over items of both scores.
    - `influence`: `full` without each respondent in turn.
    - `residual_human, true_human`: Variance of a human item score within, and of human scores between respondents;
      `labels_needed` uses them.
    """

    full: Coefficient
    same: Coefficient
    disattenuated: Coefficient
    ceiling: float
    reliability_automatic: float
    reliability_human: float
    influence: Influence
    n: int
    n_items: int
    n_labelled: int
    residual_human: float = math.nan
    true_human: float = math.nan
    flags: tuple[str, ...] = ()


def criterion_validity(
    automatic: npt.ArrayLike,
    human: npt.ArrayLike,
    rng: np.random.Generator | None = None,
    *,
    families: Sequence[str] | None = None,
    n_eff: float | None = None,
    replicates: int = 2000,
    level: float = 0.95,
) -> CriterionValidity:
    """Agreement of automatic and human scores over respondents: raw, at its ceiling, and without attenuation.

    The correlation over the same labelled items is flattered by what the two scores share: the luck of those items and
    answers. The correlation with the full automatic score is weakened by the few labelled items. The third value takes
    the items' sampling error out of both and the shared error out of the covariance:

        (s_AH - c_AH / n) / sqrt((s2_A - v_A)(s2_H - v_H)),   v_A = MS_A / n,   v_H = MS_H / h

    with MS the residual mean square of respondent x item and c_AH the residual mean product on labelled items.

    Spearman, C. (1904). American Journal of Psychology, 15, 72-101; correlated errors: Zimmerman, D. W. and Williams,
    R. H. (1977). British Journal of Mathematical and Statistical Psychology, 30, 135-147. Always read beside the raw
    value (Standards for Educational and Psychological Testing 2014, standard 1.21).

    - `automatic`: (respondents, items): NaN items are left out for all.
    - `human`: The same shape: NaN where no person judged. Labelled items must be a random sample of the items; those
      labelled for every respondent are used.
    - `rng`: With a generator: the interval of the disattenuated value by resampling respondents, or families of them.
    - `n_eff`: The number of independent respondents, for the intervals of the raw correlations.

    A part is `insufficient` below 3 respondents, 2 items or 2 labelled items; `degenerate` where a score does
    not vary or its variance is all sampling error. Flags: `ATTENUATION` (the human score's reliability is below .95),
    `DOMINANT_MODEL`, `CAPPED` (the disattenuated value exceeded 1).

    >>> rng = np.random.default_rng(0)
    >>> human = (rng.uniform(size=(12, 400)) < np.linspace(0.2, 0.9, 12)[:, None]).astype(float)
    >>> judge = np.where(rng.uniform(size=human.shape) < 0.9, human, 1 - human)
    >>> human[:, 60:] = np.nan
    >>> result = criterion_validity(judge, human)
    >>> result.full.value < result.disattenuated.value, result.n_labelled
    (True, 60)
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    known = np.isfinite(a).all(axis=0)
    a, h = a[:, known], h[:, known]
    labelled = np.isfinite(h).all(axis=0)
    m, n, size = a.shape[0], a.shape[1], int(labelled.sum())
    if m < 3 or n < 2 or size < 2:
        reason = (
            "criterion validity needs 3 respondents and 2 items that are scored and labelled for all of them, "
            f"there are {m} respondents, {n} scored and {size} labelled items"
        )
        none = Coefficient.absent("insufficient", reason, m)
        nan = math.nan
        lone = Influence(nan, status="insufficient", reason=reason)
        return CriterionValidity(none, none, none, nan, nan, nan, lone, m, n, size)
    if families is not None and len(families) != m:
        raise ValueError(f"one family label a respondent is needed, got {len(families)} for {m}")
    part, judged = a[:, labelled], h[:, labelled]
    x, y = a.mean(axis=1), judged.mean(axis=1)
    full = pearson(x, y, level=level, n_effective=n_eff)
    influence = leave_one_out(lambda i: _plain(x[i], y[i]), m, scores=x)
    moments = _Moments(a, judged, part)
    every = np.ones((1, m))
    s_a, s_h, v_a, v_h = (float(v[0]) for v in moments.variances(every))
    rel_a, rel_h = (1 - v / s if s > 1e-15 else math.nan for s, v in ((s_a, v_a), (s_h, v_h)))
    corrected = _disattenuated(moments, full, m, rng, families, replicates, level)
    flags = tuple(influence.flags) + corrected.flags
    if math.isfinite(rel_h) and rel_h < 0.95:
        flags = ("ATTENUATION", *flags)
    ceiling = math.sqrt(max(0.0, rel_a) * max(0.0, rel_h)) if math.isfinite(rel_a + rel_h) else math.nan
    return CriterionValidity(
        full,
        pearson(part.mean(axis=1), y, level=level, n_effective=n_eff),
        corrected,
        ceiling,
        rel_a,
        rel_h,
        influence,
        m,
        n,
        size,
        v_h * size,
        s_h - v_h,
        flags,
    )


def _plain(x: Array, y: Array) -> float:
    return math.nan if is_constant(x) or is_constant(y) else float(np.corrcoef(x, y)[0, 1])


class _Moments:
    """Residual mean squares and products for any multiplicities of the respondents, without touching the items again.

    With item scores centred by respondent, the residual sum of squares of a two-way table is w'diag(K) - w'Kw / M,
    where K holds the inner products of the respondents.
    """

    def __init__(self, a: Array, judged: Array, part: Array) -> None:
        self.x, self.y = a.mean(axis=1), judged.mean(axis=1)
        self.n, self.size = a.shape[1], judged.shape[1]
        a, judged, part = (v - v.mean(axis=1, keepdims=True) for v in (a, judged, part))
        self.inner_a, self.inner_h, self.inner_ah = a @ a.T, judged @ judged.T, part @ judged.T

    def _residual(self, weights: Array, inner: Array, items: int) -> Array:
        total = weights.sum(axis=1)
        square = weights @ np.diag(inner) - np.einsum("bi,ij,bj->b", weights, inner, weights) / total
        return np.asarray(square / ((total - 1) * (items - 1)))

    def _covariance(self, weights: Array, x: Array, y: Array) -> Array:
        total = weights.sum(axis=1)
        return np.asarray((weights @ (x * y) - (weights @ x) * (weights @ y) / total) / (total - 1))

    def variances(self, weights: Array) -> tuple[Array, Array, Array, Array]:
        """Between respondents for the automatic and the human scores, then the error variance of each."""
        x, y = self.x - self.x.mean(), self.y - self.y.mean()
        return (
            self._covariance(weights, x, x),
            self._covariance(weights, y, y),
            self._residual(weights, self.inner_a, self.n) / self.n,
            self._residual(weights, self.inner_h, self.size) / self.size,
        )

    def disattenuated(self, weights: Array) -> Array:
        """The corrected correlation; NaN where a true variance is not positive."""
        s_a, s_h, v_a, v_h = self.variances(weights)
        x, y = self.x - self.x.mean(), self.y - self.y.mean()
        shared = self._residual(weights, self.inner_ah, self.size) / self.n
        product = np.where((s_a > v_a) & (s_h > v_h), (s_a - v_a) * (s_h - v_h), np.nan)
        return np.asarray((self._covariance(weights, x, y) - shared) / np.sqrt(product))


def _disattenuated(
    moments: _Moments,
    full: Coefficient,
    m: int,
    rng: np.random.Generator | None,
    families: Sequence[str] | None,
    replicates: int,
    level: float,
) -> Coefficient:
    if full.status != "ok":
        return full
    value = float(moments.disattenuated(np.ones((1, m)))[0])
    if not math.isfinite(value):
        reason = "a score varies no more between respondents than its items' sampling error: nothing true is left"
        return Coefficient.absent("degenerate", reason, m)
    bounds, se = None, math.nan
    if rng is not None:

        def capped(weights: Array) -> Array:
            return np.clip(moments.disattenuated(weights), -1.0, 1.0)

        with np.errstate(invalid="ignore", divide="ignore"):
            bounds, se = respondent_bootstrap(capped, m, rng, families=families, replicates=replicates, level=level)
    low, high = (bounds.low, bounds.high) if bounds else (math.nan, math.nan)
    over = abs(value) > 1
    return Coefficient(
        math.copysign(1.0, value) if over else value,
        low,
        high,
        m,
        level,
        bounds.method if bounds else "disattenuated",
        se=se,
        raw=value if over else math.nan,
        flags=("CAPPED",) if over else (),
    )


def labels_needed(target: float, residual: float, true: float) -> float:
    """How many labelled items give human scores a reliability of `target`: h = t / (1 - t) residual / true.

    - `residual, true`: Variance of a human item score within respondents, and of true human scores between them.

    The number is not rounded, and infinite where the respondents do not differ.
    >>> round(labels_needed(0.9, 0.2, 0.02))
    90
    """
    if not 0 < target < 1:
        raise ValueError(f"the target lies between 0 and 1, got {target}")
    return target / (1 - target) * residual / true if true > 0 else math.inf
