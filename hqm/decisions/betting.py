"""Wealth of bets against supposed means, the ground of intervals that hold at any time.

Under the true mean nobody expects to gain by betting against it, so wealth 1 / alpha is reached
with chance alpha at most, at whatever time one looks (Ville). Waudby-Smith and Ramdas 2024, JRSS B
86, 1-27; for draws without replacement, Waudby-Smith and Ramdas 2020, NeurIPS 33. Here a draw is a
whole picture with its items, and what is bet on is y - m v: the picture's total less what the
supposed mean m makes of its v items. Over the whole benchmark these sum to 0 under the true mean
however unequal the pictures are, which makes a ratio of sums a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array

_CAUTION = 0.75
"""The share of the wealth that one bet may lose."""
_FIRST_TARGET = 8
"""Pictures after which the quickest of the mixed strategies wants to have decided; each other takes
twice as many.
"""
_SLOWEST = 2**13


def _targets(population: float) -> Array:
    """The numbers of pictures at which the mixed strategies are best."""
    most = min(_SLOWEST, 0.9 * population)
    powers = range(max(1, math.ceil(math.log2(max(most, 1) / _FIRST_TARGET)) + 1))
    return np.minimum(_FIRST_TARGET * 2.0 ** np.array(powers), max(most, 1.0))


@dataclass
class Wealth:
    """Wealth of bets that a mean lies above, and below, each of several supposed means; draw by
    draw.

    - `means`: (..., means), what is bet against; what stands before is a batch of independent
      series.
    - `low, high`: The least and the greatest score of one item.
    - `largest`: The most items of a picture.
    - `population`: Pictures in all, of which none is drawn twice; infinity for draws from a
      population without end.
    - `alpha`: The chance of error that the bets are best for; they are valid for any.

    After `draw`, `above` and `below` are log wealths of shape (..., means).
    """

    means: Array
    low: float = 0.0
    high: float = 1.0
    largest: float = 1.0
    population: float = math.inf
    alpha: float = 0.05
    drawn: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._targets = _targets(self.population)
        shape = (*self.means.shape, self._targets.size)
        self._up, self._down = np.zeros(shape), np.zeros(shape)
        batch = self.means.shape[:-1]
        self._total, self._items = np.zeros(batch), np.zeros(batch)
        self._squares = np.full(batch, ((self.high - self.low) * self.largest / 2) ** 2 / 2)

    def draw(self, totals: npt.ArrayLike, items: npt.ArrayLike) -> None:
        """Take in one more picture of every series: its summed scores, and how many of its items
        were scored.
        """
        total, size = np.asarray(totals, dtype=np.float64), np.asarray(items, dtype=np.float64)
        left = self.population - self.drawn
        expected = -(self._total[..., None] - self.means * self._items[..., None]) / left
        excess = total[..., None] - self.means * size[..., None] - expected
        # the room below and above what is expected, which no picture's value can leave
        below = (self.means - self.low) * self.largest + expected
        above = (self.high - self.means) * self.largest - expected
        deviation = np.sqrt(self._squares / (self.drawn + 0.5))
        gaps = np.sqrt(2 * math.log(2 / self.alpha) * (1 / self._targets - 1 / self.population))
        growth = 1.0 if math.isinf(left) else self.population / left
        wanted = np.multiply.outer(growth / deviation, gaps)[..., None, :]
        self._up += _gain(wanted, excess, below)
        self._down += _gain(wanted, -excess, above)
        middle = (self.low + self.high) / 2
        guess = (self._total + middle * self.largest) / (self._items + self.largest)
        self._squares = self._squares + (total - guess * size) ** 2
        self._total, self._items = self._total + total, self._items + size
        self.drawn += 1
        if self.drawn == self.population:
            # everything is known: only the true mean is left
            missed = self._total[..., None] - self.means * self._items[..., None]
            near = 1e-9 * np.maximum(self._items[..., None], 1)
            self._up = np.where((missed > near)[..., None], np.inf, self._up)
            self._down = np.where((missed < -near)[..., None], np.inf, self._down)

    @property
    def above(self) -> Array:
        """The log wealth of bets that the mean lies above each supposed one."""
        return np.asarray(_mixed(self._up))

    @property
    def below(self) -> Array:
        """The log wealth of bets that the mean lies below each supposed one."""
        return np.asarray(_mixed(self._down))

    @property
    def either(self) -> Array:
        """The log wealth that is half in either."""
        return np.asarray(np.logaddexp(self.above, self.below) - math.log(2))

    def keep(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Go on with some of the supposed means only: (means,)."""
        self.means = self.means[..., chosen]
        self._up, self._down = self._up[..., chosen, :], self._down[..., chosen, :]


def _gain(wanted: Array, excess: Array, room: Array) -> Array:
    """What each strategy's bet gains, in log wealth; without end where a supposed mean has become
    impossible.
    """
    stake = np.minimum(wanted, _CAUTION / np.maximum(room, 1e-9)[..., None])
    gained = np.log1p(np.maximum(stake * excess[..., None], -1 + 1e-12))
    return np.asarray(np.where((room < -1e-9)[..., None], np.inf, gained))


def _mixed(wealth: Array) -> Array:
    """The log of the mean wealth over the strategies."""
    most = wealth.max(axis=-1, keepdims=True)
    finite = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        mean = np.log(np.exp(wealth - finite).mean(axis=-1)) + finite[..., 0]
    return np.where(np.isposinf(most[..., 0]), np.inf, mean)
