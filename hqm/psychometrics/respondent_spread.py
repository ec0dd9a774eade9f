"""How far respondents spread: intervals of the variance between scores, for these respondents and
for others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.distributions import chi2_quantile
from hqm.psychometrics.result import Bounds

PLACES = (np.arange(1, 200) - 0.5) / 199
"""Where a distribution of the spread is cut into equally likely parts."""
FEW_PLACES = (np.arange(1, 16) - 0.5) / 15
"""The same for a second source of chance, which matters less."""


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Equally credible values of the variance between respondents' scores.

    - `values`: (draws, ways): the variance of a score between respondents, measurement error
      included.
    - `errors`: The same shape: how many times the error variance at hand goes with it. It is not 1
      for other respondents whose scores are shares: where they score higher, binomial errors are
      smaller.
    """

    values: Array
    errors: Array


def spread_of_these(
    variance: float, error: float, respondents: int, *, along: float | None = None
) -> Spread:
    """The variance that these respondents' scores are expected to have over other items and runs.

    Their universe scores are fixed numbers, so that (M - 1) s2 / error is noncentral chi-square;
    the values are those noncentralities that the observed variance leaves credible. (Its
    distribution as in Sankaran 1963, Biometrika, 50, 199-204. Steiger, J. H. (2004). Beyond the F
    test. Psychological Methods, 9, 164-182.)

    - `variance, error`: The observed variance between the scores, and the mean error variance of
      one of them.
    - `along`: The error variance along the direction in which the scores differ, where errors are
      unequal or go together: it is what moves the variance. The same as `error` unless given.

    >>> spread = spread_of_these(0.02, 0.001, 20)
    >>> [round(float(v), 4) for v in np.quantile(spread.values, [0.025, 0.975])]
    [0.0164, 0.0241]
    """
    from scipy.special import ndtri

    df = respondents - 1
    moving = error if along is None else along
    if min(error, moving) <= 1e-12 * variance:
        return Spread(np.full((len(PLACES), 1), variance), np.ones((1, 1)))
    x, z = df * max(0.0, variance - error + moving) / moving, -ndtri(PLACES)

    def place(noncentrality: Array) -> Array:
        size, double = df + noncentrality, df + 2 * noncentrality
        h = 1 - 2 * size * (df + 3 * noncentrality) / (3 * double**2)
        p = double / size**2
        m = (h - 1) * (1 - 3 * h)
        middle = 1 + h * p * (h - 1 - (2 - h) * m * p / 2)
        return np.asarray(((x / size) ** h - middle) / (h * np.sqrt(2 * p) * (1 + m * p / 2)))

    low, high = np.zeros(len(z)), np.full(len(z), 2 * x + 50 + 20 * x**0.5)
    for _ in range(60):
        middle = (low + high) / 2
        above = place(middle) > z
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    at = np.where(place(np.zeros(len(z))) <= z, 0.0, (low + high) / 2)
    return Spread((moving * at / df + error)[:, None], np.ones((1, 1)))


def spread_of_others(variance: float, scores: npt.ArrayLike, independent: float) -> Spread:
    """The variance that scores have in the population that these respondents, and their items, are
    a sample of.

    Scores between 0 and 1 are taken to be normal on the logit scale, other scores to be normal: the
    squared spread is chi-square there, and a share near a bound keeps its skewness. The variance of
    the shares follows from mean and spread on the logit scale (a generalised confidence interval:
    Weerahandi 1993, Journal of the American Statistical Association, 88, 899-905; Chiang 2001,
    Technometrics, 43, 356-367). Errors of measurement and of item sampling are in the scores, and
    so in the interval. Relatives make the variance of a sample too small, by what they share.

    - `variance`: The observed variance between the scores.
    - `scores`: (respondents,).
    - `independent`: How many independent respondents they count as; more than 1.

    >>> spread = spread_of_others(0.02, np.linspace(0.3, 0.75, 20), 20)
    >>> [round(float(v), 4) for v in np.quantile(spread.values, [0.025, 0.975])]
    [0.0114, 0.0343]
    """
    s = np.asarray(scores, dtype=np.float64)
    df = independent - 1
    inflation = (len(s) - 1) / (len(s) - len(s) / independent)
    ratio = df / chi2_quantile(1 - PLACES, df)[:, None]
    edge = np.concatenate([s, 1 - s])
    if (edge < 0).any() or not (edge > 0).any() or not s.var() > 0:
        return Spread(inflation * variance * ratio, np.ones_like(ratio))
    # a score of 0 or 1 stands half as far from the bound as the nearest other score
    nearest = float(edge[edge > 0].min()) / 2
    s = np.clip(s, nearest, 1 - nearest)
    logit = np.log(s / (1 - s))
    centre, width = float(logit.mean()), float(logit.std(ddof=1)) * inflation**0.5
    spread = width * np.sqrt(ratio)
    around = centre + spread * normal_places(FEW_PLACES) / independent**0.5
    between, within = _of_shares(around, np.broadcast_to(spread, around.shape))
    _, had = _of_shares(np.array(centre), np.array(width))
    return Spread(between, within / had)


def _of_shares(centre: Array, width: Array) -> tuple[Array, Array]:
    """The variance of shares that are normal on the logit scale, and the mean of their p (1 -
    p).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    p = 1 / (1 + np.exp(-np.clip(centre[..., None] + width[..., None] * nodes, -500, 500)))
    weights = weights / weights.sum()
    mean = p @ weights
    return ((p - mean[..., None]) ** 2) @ weights, (p * (1 - p)) @ weights


def normal_places(places: Array) -> Array:
    """The normal quantiles of these places, stretched to the variance 1 that so few points fall
    short of.
    """
    from scipy.special import ndtri

    at = np.asarray(ndtri(places))
    return np.asarray(at / at.std())


def student_places(df: float) -> Array:
    """Quantiles of Student's t at the few places, stretched to its variance; as the normal's below
    3 degrees of freedom.
    """
    from scipy.special import stdtrit

    at = np.asarray(stdtrit(df, FEW_PLACES))
    return np.asarray(at / at.std() * (df / (df - 2)) ** 0.5 if df > 2 else at)


def hull(bounds: Bounds, other: Bounds) -> tuple[float, float]:
    """The interval that holds both: other respondents come with other items, so theirs is never the
    narrower one.
    """
    return min(bounds.low, other.low), max(bounds.high, other.high)
