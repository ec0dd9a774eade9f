"""At least how reliable scores are among other respondents: a lower end, and no upper one.

No two-sided interval over other respondents holds what it promises where abilities are skewed,
heavy-tailed or in clusters (docs/psychometrics_coverage.md): the sample then seldom holds the few
who make the spread. What is missed lies above the upper end, so only the lower one is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.distributions import student_quantile
from hqm.psychometrics.families import too_few_respondents
from hqm.psychometrics.result import Array, Coefficient, Numbers, shaped, size_of

Rows = npt.NDArray[np.intp]
MOST_UNITS = 200
"""More respondents than this are left out in so many groups, which takes the time of few."""


@dataclass(frozen=True, slots=True)
class Relatives:
    """Which respondents belong to one family, and how many independent ones they count as.

    - `families`: (respondents,): a label each; empty where nobody is a relative.
    - `independent`: As `family_dependence` finds it.
    """

    families: tuple[str, ...] = ()
    independent: float | None = None

    def units(self, count: int) -> Numbers:
        """(respondents,): the number of each one's family; its own where there are none, and that of
        a group of equal size where there are very many.
        """
        if len(self.families) not in (0, count):
            raise ValueError(f"one family label a respondent is needed, got {len(self.families)}")
        labels = np.asarray(self.families) if self.families else np.arange(count) % MOST_UNITS
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)

    @classmethod
    def of_pairs(
        cls,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        families: Sequence[str],
        independent: float | None,
    ) -> Relatives:
        """Those of the respondents who have both scores."""
        both = np.isfinite(np.asarray(x, dtype=np.float64)) & np.isfinite(
            np.asarray(y, dtype=np.float64)
        )
        return cls(tuple(families), independent).of(both)

    def of(self, kept: npt.ArrayLike) -> Relatives:
        """Those of some of the respondents."""
        if not self.families:
            return self
        return replace(self, families=tuple(np.asarray(self.families)[np.asarray(kept)].tolist()))

    def size(self, count: int) -> float:
        """The number of independent respondents among so many; families count once each where it
        is not known.
        """
        if self.independent is None and self.families:
            return float(len(set(self.families)))
        return size_of(count, self.independent)


ALONE = Relatives()


def left_out(
    statistic: Callable[[Rows], float | tuple[float, ...]], count: int, relatives: Relatives = ALONE
) -> Array:
    """(units, ...): a statistic of the rows that are left without each respondent, or each family.

    >>> left_out(lambda rows: float(rows.sum()), 3)
    array([3., 2., 1.])
    """
    units = relatives.units(count)
    return np.array(
        [statistic(np.flatnonzero(units != unit)) for unit in range(int(units.max()) + 1)],
        dtype=np.float64,
    )


def jackknife_variance(without: npt.ArrayLike) -> float:
    """The variance of a statistic from its values without each of the units that are drawn.

    >>> jackknife_variance([1.0, 2.0, 3.0])
    1.3333333333333333
    """
    values = np.asarray(without, dtype=np.float64)
    count = len(values)
    return (count - 1) / count * float(((values - values.mean()) ** 2).sum())


def log_variance_error(scores: npt.ArrayLike, independent: float | None = None) -> float:
    """The sampling variance of the logarithm of a variance, from the kurtosis of the scores.

        M / (M - 1.96) (kappa - (M - 3) / M) / (M - 1)

    The kurtosis kappa is taken about the mean trimmed by 1 / (2 sqrt(M - 4)) a side, which lets a
    skewed sample show its tail. Bonett, D. G. (2006). Computational Statistics and Data Analysis,
    50, 775-782.

    >>> round(log_variance_error(np.arange(20.0)), 4)
    0.0544
    """
    x = shaped(scores, "respondents")
    count = len(x)
    size = float(count) if independent is None else independent
    cut = int(count / (2 * math.sqrt(count - 4)))
    centre = float(np.sort(x)[cut : count - cut].mean())
    square = float(((x - x.mean()) ** 2).sum())
    kurtosis = count * float(((x - centre) ** 4).sum()) / square**2
    return size / (size - 1.96) * (kurtosis - (size - 3) / size) / (size - 1)


def at_least(
    coefficient: Coefficient,
    statistic: Callable[[Rows], float | tuple[float, float]],
    scores: npt.ArrayLike = (),
    relatives: Relatives = ALONE,
    *,
    least: float = -1.0,
) -> Coefficient:
    """A coefficient with the least value, one-sided, that it has among other respondents.

        L = 1 - exp(y + t(level; U - 1) SE),   y = log(1 - r)
        SE^2 = max(J, J - J_s + B)

    J and J_s are the variances of y and of the logarithm of the variance between respondents by
    leaving out each of the U respondents, or families; B is `log_variance_error`. Few respondents
    hide the tail of their scores from the jackknife, and the kurtosis about a trimmed mean shows
    it. The bound is never above the lower end for these respondents: who draws items and
    respondents anew cannot know more.

    - `statistic`: Rows of respondents -> the coefficient, and the variance between them; of one
      that is no ratio of variances (ranks) the coefficient alone, and SE^2 is J.
    - `scores`: (respondents,): those of which it is the variance.
    - `least`: The coefficient's own lower end, below which no bound is given.

    There is no bound below 8 respondents or 5 families, for a coefficient of 1, or where it does
    not exist without a unit.
    """
    if coefficient.status != "ok" or too_few_respondents(coefficient.n, relatives.families):
        return replace(coefficient, low=math.nan, high=math.nan)
    left = left_out(statistic, coefficient.n, relatives)
    without, spreads = (left, None) if left.ndim == 1 else (left[:, 0], left[:, 1])
    return at_least_without(coefficient, without, spreads, scores, relatives, least=least)


def at_least_without(
    coefficient: Coefficient,
    without: Array,
    spreads: Array | None,
    scores: npt.ArrayLike,
    relatives: Relatives,
    *,
    least: float = -1.0,
) -> Coefficient:
    """`at_least` from the (units,) coefficients, and variances between respondents, without each
    unit.
    """
    # the bound stands with its upper end open: nothing is said about how much higher it may be
    none = replace(coefficient, low=math.nan, high=math.nan)
    count, size = coefficient.n, relatives.size(coefficient.n)
    if coefficient.status != "ok" or too_few_respondents(count, relatives.families) or size < 2:
        return none
    if coefficient.value >= 1 or not (np.isfinite(without).all() and (without < 1).all()):
        return none
    square = jackknife_variance(np.log1p(-without))
    if not relatives.families and size < count:
        # relatives without their labels are left out one by one, and count as the fewer they are
        square *= count / size
    if spreads is not None and bool((spreads > 0).all()) and size > 2:
        own = jackknife_variance(np.log(spreads))
        square = max(square, square - own + log_variance_error(scores, size))
    df = (len(without) if relatives.families else min(size, len(without))) - 1
    reach = float(student_quantile(coefficient.level, df)) * math.sqrt(square)
    low = 1 - (1 - coefficient.value) * math.exp(min(reach, 700.0))
    units = "families" if len(without) < min(count, MOST_UNITS) else "respondents"
    method = f"{units} left out, log(1 - r), one-sided"
    if size < count:
        method += f", n_eff {size:.4g}"
    low = min(max(low, least), coefficient.value)
    return never_narrower(replace(coefficient, low=low, high=math.inf, method=method))


def stretched(coefficient: Coefficient, observed: Coefficient) -> Coefficient:
    """A correlation without attenuation, with the observed one's lower end for others moved by the
    same factor.

    >>> stretched(Coefficient(0.9), Coefficient(0.6, 0.5, math.inf)).low
    0.75
    """
    if not (math.isfinite(observed.low) and observed.value > 0):
        return coefficient
    low = min(observed.low * coefficient.value / observed.value, coefficient.value)
    method = f"{observed.method}, disattenuated"
    return never_narrower(replace(coefficient, low=max(low, -1.0), high=math.inf, method=method))


def never_narrower(value: Coefficient) -> Coefficient:
    """The coefficient with a bound over other respondents that lies no higher than the interval for
    these.

    Who draws respondents and items anew cannot know more than who draws items alone.

    >>> narrow = Coefficient(0.5, 0.45, math.inf, 9, fixed=Bounds(0.4, 0.52, "jackknife"))
    >>> never_narrower(narrow).low, never_narrower(narrow).high
    (0.4, inf)
    """
    fixed = value.fixed
    if fixed is None or not (math.isfinite(value.low) and math.isfinite(fixed.low)):
        return value
    return replace(value, low=min(value.low, fixed.low), high=max(value.high, fixed.high))
