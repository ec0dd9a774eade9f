"""Whether a type's own score says more about the type than the total does."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, normal_quantile
from hqm.psychometrics.result import Coefficient, Status


@dataclass(frozen=True, slots=True)
class Subscore:
    """One subscore against the total.

    - `by_subscore, by_total`: Share of the true subscore's variance that the observed subscore, or
      the observed total, explains (PRMSE).
    - `gain`: Their difference, with a jackknife interval over respondents.
    - `adds`: Whether the subscore is worth reporting: the gain is positive. `certain` when its
      whole interval is.
    """

    name: str
    items: int
    by_subscore: float
    by_total: float
    gain: Coefficient
    adds: bool
    certain: bool
    status: Status = "ok"
    reason: str = ""


def prmse(covariance: npt.ArrayLike, reliability: npt.ArrayLike) -> tuple[tuple[float, float], ...]:
    """Haberman's (2008) proportional reductions of mean squared error, as pairs (by subscore, by
    total).

        rel_j  and  cov(tau_j, x)^2 / (var tau_j var x),   cov(tau_j, x) = cov(s_j, x) - var s_j (1 - rel_j)

    The total of a test is more reliable than a subscore but measures other things too. Errors of
    different subscores are taken as uncorrelated. A pair is NaN where the true subscore has no
    variance.

    - `covariance`: (subscores, subscores): observed; the total is the sum of the subscores.
    - `reliability`: (subscores,): each subscore's reliability.
    >>> [tuple(round(v, 4) for v in pair) for pair in prmse([[4, 3], [3, 9]], [0.8, 0.9])]
    [(0.8, 0.6322), (0.9, 0.8006)]
    """
    c, rel = np.asarray(covariance, dtype=np.float64), np.asarray(reliability, dtype=np.float64)
    if c.ndim != 2 or c.shape[0] != c.shape[1] or rel.shape != (len(c),):
        raise ValueError(
            f"a square covariance and one reliability each are needed, got {c.shape}, {rel.shape}"
        )
    variance, total = np.diag(c), float(c.sum())
    true = variance * rel
    shared = c.sum(axis=1) - variance * (1 - rel)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_total = np.where((true > 0) & (total > 0), shared**2 / (true * total), np.nan)
    by_sub = np.where(true > 0, rel, np.nan)
    return tuple(
        (float(a), min(1.0, float(b)) if not math.isnan(b) else math.nan)
        for a, b in zip(by_sub, by_total, strict=True)
    )


def subscore_value(
    scores: npt.ArrayLike, labels: Sequence[Hashable], *, level: float = 0.95
) -> tuple[Subscore, ...]:
    """Whether each type's score adds to the total score.

    Types that rank the respondents as the total does are better estimated from the total: their own
    score is the total with more noise. Printing it as a profile of strengths invites reading noise.

    Reliability is Cronbach's alpha of the type's items (a lower bound: types of mixed content are
    judged strictly).

    - `scores`: (respondents, items); an item that a respondent lacks is left out for all.
    - `labels`: (items,): each item's type.
    - `level`: Confidence level of the gain.

    There is one entry for each type, in the order of first appearance. The status is `insufficient`
    for fewer than 4 respondents, fewer than 2 types or fewer than 2 items of the type; `degenerate`
    when a type's scores do not vary, or vary less than their noise.

    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=(200, 2))[:, [0] * 30 + [1] * 30]
    >>> result = subscore_value((rng.random((200, 60)) < 1 / (1 + np.exp(-ability))).astype(float), ["a"] * 30 + ["b"] * 30)
    >>> [(kind.name, kind.adds) for kind in result]
    [('a', True), ('b', True)]
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or len(labels) != x.shape[1]:
        raise ValueError(
            f"scores (respondents, items) and one label an item are needed, got {x.shape},"
            f" {len(labels)}"
        )
    names = list(dict.fromkeys(labels))
    usable = np.isfinite(x).all(axis=0) if len(x) else np.zeros(x.shape[1], dtype=bool)
    members = [
        np.flatnonzero(usable & np.array([label == name for label in labels], dtype=bool))
        for name in names
    ]
    n = len(x)

    def absent(i: int, status: Status, reason: str) -> Subscore:
        none = Coefficient.absent(status, reason, n)
        return Subscore(
            str(names[i]), len(members[i]), math.nan, math.nan, none, False, False, status, reason
        )

    if n < 4 or len(names) < 2:
        reason = (
            f"a subscore's value needs 4 respondents and 2 types, there are {n} and {len(names)}"
        )
        return tuple(absent(i, "insufficient", reason) for i in range(len(names)))
    sums = np.stack([x[:, m].sum(axis=1) for m in members], axis=1)
    squares = [(x[:, m].sum(axis=0), (x[:, m] ** 2).sum(axis=0)) for m in members]
    whole = _both(sums, np.array([_within(s, q, n) for s, q in squares]), members)
    left = np.full((n, len(names), 2), np.nan)
    for m in range(n):
        within = [
            _within(s - x[m, k], q - x[m, k] ** 2, n - 1)
            for (s, q), k in zip(squares, members, strict=True)
        ]
        left[m] = _both(np.delete(sums, m, axis=0), np.array(within), members)

    z = normal_quantile(level)
    subscores = []
    for i, name in enumerate(names):
        if len(members[i]) < 2:
            subscores.append(
                absent(
                    i,
                    "insufficient",
                    f"a subscore needs 2 items without a gap, there are {len(members[i])}",
                )
            )
            continue
        by_sub, by_total = (float(v) for v in whole[i])
        if math.isnan(by_sub) or math.isnan(by_total):
            reason = "the respondents' scores on this type vary no more than noise does"
            subscores.append(absent(i, "degenerate", reason))
            continue
        value = by_sub - by_total
        without = left[:, i, 0] - left[:, i, 1]
        low = high = math.nan
        if np.isfinite(without).all():
            half = z * math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
            low, high = value - half, value + half
        gain = Coefficient(value, low, high, n, level, "jackknife over respondents")
        subscores.append(
            Subscore(str(name), len(members[i]), by_sub, by_total, gain, value > 0, low > 0)
        )
    return tuple(subscores)


def _within(sums: Array, squares: Array, n: int) -> float:
    """Sum of the items' sample variances, from their sums."""
    return float(((squares - sums**2 / n) / (n - 1)).sum())


def _both(sums: Array, within: Array, members: Sequence[npt.NDArray[np.intp]]) -> Array:
    c = np.cov(sums, rowvar=False)
    size = np.array([len(m) for m in members], dtype=np.float64)
    variance = np.diag(c)
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha = np.where(
            (variance > 1e-12) & (size > 1),
            size / np.maximum(size - 1, 1) * (1 - within / variance),
            0.0,
        )
    return np.array(prmse(c, alpha))
