"""Wealth of bets against supposed means, the ground of intervals that hold at any time.

Under the true mean nobody expects to gain by betting against it, so wealth 1 / alpha is reached
with chance alpha at most, at whatever time one looks (Ville). Waudby-Smith and Ramdas 2024, JRSS B
86, 1-27; for draws without replacement, Waudby-Smith and Ramdas 2020, NeurIPS 33. Here a draw is a
whole picture with its items, and what is bet on is y - m v: the picture's total less what the
supposed mean m makes of its v items. Over the whole benchmark these sum to 0 under the true mean
however unequal the pictures are, which makes a ratio of sums a mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hqm.errors import DesignError
from hqm.psychometrics.result import Array, ArrayLike, Flags

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

    def draw(self, totals: ArrayLike, items: ArrayLike) -> None:
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

    def keep(self, chosen: Flags) -> None:
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


_POINTS = 2001
"""Supposed means that an interval is made of; it reaches to the next one outside, so it is never
too narrow.
"""
PairState = Literal["separated", "within", "equal", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceSequence:
    """An interval after every picture; all of them together contain the score with the chance
    `level`.

    - `estimate, lower, upper`: (pictures,).
    - `population`: Pictures of the benchmark that the score is about; None for a score on items
      like these without end.
    """

    estimate: Array
    lower: Array
    upper: Array
    level: float
    population: int | None

    @property
    def half_width(self) -> Array:
        """(pictures,): half of each interval's length."""
        return (self.upper - self.lower) / 2

    def first(self, half_width: float) -> int | None:
        """The number of pictures after which half the interval was this short for the first time;
        None if it never was.
        """
        short = np.flatnonzero(self.half_width <= half_width)
        return int(short[0]) + 1 if short.size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairDecision:
    """What is known of two respondents.

    - `first, second`: Their rows.
    - `state`: `separated` (`difference` has the right sign), `within` (not separated by more than
      the smallest difference), `equal` (no difference on all items) or `open`.
    - `difference`: First less second, on the pictures seen until then.
    - `pictures`: How many were seen when it was decided, or in all.
    - `p`: The p-value that held at any time; Holm's limit decides.
    """

    first: int
    second: int
    state: PairState
    difference: float
    pictures: int
    p: float


class RunningInterval:
    """An interval for one respondent's score that is brought up to date picture by picture."""

    def __init__(
        self, *, population: float = math.inf, largest: int = 1, level: float = 0.95
    ) -> None:
        grid = np.linspace(0, 1, _POINTS)
        self._wealth = Wealth(grid, largest=largest, population=population, alpha=1 - level)
        self._limit, self._step = -math.log(1 - level), grid[1]
        self.low, self.high = 0.0, 1.0
        self._total = self._items = 0.0

    def draw(self, scores: ArrayLike) -> None:
        """Take in the scores of one more picture's items; NaN where an answer was not scored."""
        x = np.asarray(scores, dtype=np.float64)
        self._total += float(np.nansum(x))
        self._items += int(np.isfinite(x).sum())
        wealth = self._wealth
        wealth.draw(np.nansum(x), np.isfinite(x).sum())
        if wealth.drawn == wealth.population and self._items:
            self.low = self.high = self.estimate
            return
        alive = wealth.either < self._limit
        if not alive.any():  # the grid is coarser than what is known
            return
        first, last = np.flatnonzero(alive)[[0, -1]]
        self.low = max(self.low, wealth.means[first] - self._step)
        self.high = min(self.high, wealth.means[last] + self._step)
        if last + 1 - first < alive.size:
            inside = np.zeros(alive.size, dtype=bool)
            inside[first : last + 1] = True
            wealth.keep(inside)

    @property
    def estimate(self) -> float:
        return self._total / self._items if self._items else math.nan

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


class RunningPairs:
    """Which pairs of respondents are separated, brought up to date picture by picture."""

    def __init__(
        self,
        respondents: int,
        *,
        smallest: float = 0.0,
        population: float = math.inf,
        largest: int = 1,
        level: float = 0.95,
    ) -> None:
        pairs = np.array(list(itertools.combinations(range(respondents), 2)), dtype=np.int64)
        self._first, self._second = pairs[:, 0], pairs[:, 1]
        self.smallest, self._alpha = smallest, 1 - level
        supposed = np.tile([0.0, smallest, -smallest], (len(pairs), 1))
        self._wealth = Wealth(
            supposed, -1.0, 1.0, largest, population, (1 - level) / max(1, len(pairs))
        )
        self._apart, self._near = np.zeros(len(pairs)), np.zeros((len(pairs), 2))
        self._totals, self._items = np.zeros(len(pairs)), np.zeros(len(pairs))
        self.decisions = [
            PairDecision(
                first=int(a), second=int(b), state="open", difference=math.nan, pictures=0, p=1.0
            )
            for a, b in pairs
        ]

    def draw(self, scores: ArrayLike) -> None:
        """Take in the scores of one more picture, (respondents, items); NaN where one has no
        score.
        """
        x = np.asarray(scores, dtype=np.float64)
        difference = x[self._first] - x[self._second]
        totals, items = np.nansum(difference, axis=1), np.isfinite(difference).sum(axis=1)
        self._totals, self._items = self._totals + totals, self._items + items
        wealth = self._wealth
        wealth.draw(totals, items)
        above, below = wealth.above, wealth.below
        self._apart = np.maximum(self._apart, np.logaddexp(above[:, 0], below[:, 0]) - math.log(2))
        if self.smallest:
            self._near = np.maximum(self._near, np.stack([below[:, 1], above[:, 2]], axis=1))
        self._decide()

    def _decide(self) -> None:
        """Holm's steps: the smallest p-value is held against alpha over all pairs, the next against
        alpha over the rest.
        """
        near = self._near.min(axis=1)
        strength = np.maximum(self._apart, near)
        everything = self._wealth.drawn == self._wealth.population
        order = np.argsort(-strength, kind="stable")
        for step, j in enumerate(order):
            if strength[j] < math.log((len(order) - step) / self._alpha) and not everything:
                break
            if self.decisions[j].state == "open" and self._items[j]:
                self.decisions[j] = self._decided(
                    int(j), float(self._apart[j]), float(near[j]), everything
                )

    def _decided(self, j: int, apart: float, near: float, everything: bool) -> PairDecision:
        difference = float(self._totals[j] / self._items[j])
        state: PairState = "separated" if apart >= near else "within"
        if everything:
            state = (
                "equal"
                if difference == 0
                else "within"
                if abs(difference) < self.smallest
                else "separated"
            )
        return PairDecision(
            first=int(self._first[j]),
            second=int(self._second[j]),
            state=state,
            difference=difference,
            pictures=self._wealth.drawn,
            p=min(1.0, math.exp(-max(apart, near))),
        )

    def is_open(self, respondent: int, partners: Collection[int]) -> bool:
        """Whether a respondent is in a pair, with one of these partners, that is not decided."""
        return any(
            d.state == "open"
            and respondent in (d.first, d.second)
            and (d.first in partners and d.second in partners)
            for d in self.decisions
        )

    def summary(self) -> tuple[PairDecision, ...]:
        """Every pair as it stands."""
        return tuple(
            (
                PairDecision(
                    first=d.first,
                    second=d.second,
                    state="open",
                    difference=(
                        float(self._totals[j] / self._items[j]) if self._items[j] else math.nan
                    ),
                    pictures=self._wealth.drawn,
                    p=min(1.0, math.exp(-max(self._apart[j], self._near[j].min()))),
                )
                if d.state == "open"
                else d
            )
            for j, d in enumerate(self.decisions)
        )


def confidence_sequence(
    scores: ArrayLike,
    pictures: Sequence[object] | None = None,
    *,
    population: int | None = None,
    largest: int | None = None,
    level: float = 0.95,
) -> ConfidenceSequence:
    """An interval for a mean score after every picture, valid however long one looks and whenever
    one stops.

    Pictures must have been drawn at random, with the items of a picture asked together. Pictures
    may have different numbers of items: the score is the sum over all items divided by their
    number. Answers without a score are left out, as in the full score.

    Parameters
    ----------
    scores
        (items,): 0 to 1, in the order asked; NaN where an answer was not scored.
    pictures
        (items,): the picture of each item; every item its own unless given.
    population
        The pictures of the full benchmark, drawn without replacement: the interval is about the
        score that all of them would give, and shrinks to it. Without it, the interval is about
        items like these, drawn without end.
    largest
        The most items that any picture of the benchmark has; the most that is seen here unless
        given.
    level
        The chance that all the intervals contain the score.

    Raises
    ------
    DesignError
        A score lies outside 0 to 1, or the pictures do not stand together or are more than the
        population.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> answers = (rng.random(1000) < 0.8).astype(float)
    >>> sequence = confidence_sequence(answers[:500], np.arange(500) // 5, population=200)
    >>> bool(sequence.lower[-1] <= answers.mean() <= sequence.upper[-1]), sequence.first(0.1)
    (True, 38)

    Source: Waudby-Smith and Ramdas 2024, JRSS B 86, 1-27 (bets); 2020, NeurIPS 33 (draws without
    replacement).
    """
    (x,), parts = _by_picture(
        np.atleast_2d(np.asarray(scores, dtype=np.float64)), pictures, population, largest
    )
    running = RunningInterval(
        population=population or math.inf,
        largest=largest or max(stop - start for start, stop in parts),
        level=level,
    )
    rows = []
    for start, stop in parts:
        running.draw(x[start:stop])
        rows.append((running.estimate, running.low, running.high))
    estimate, lower, upper = np.array(rows).T
    return ConfidenceSequence(
        estimate=estimate, lower=lower, upper=upper, level=level, population=population
    )


def separated_pairs(
    scores: ArrayLike,
    pictures: Sequence[object] | None = None,
    *,
    smallest: float = 0.0,
    population: int | None = None,
    largest: int | None = None,
    level: float = 0.95,
) -> tuple[PairDecision, ...]:
    """Which pairs of respondents are told apart, picture by picture, with Holm's correction over
    the pairs.

    A pair is `separated` once the order of its two scores is told, and `within` once a difference
    of `smallest` or more is ruled out either way. With the chance `level` no pair is decided
    wrongly, at whatever time one stops. Differences are over the items on which both have a score;
    a pair that is decided stays so.

    Parameters
    ----------
    scores
        (respondents, items): 0 to 1, in the order asked; NaN where there is no score.
    pictures, population, largest, level
        As in `confidence_sequence`.
    smallest
        The smallest difference that matters; 0 for any, and then a pair of equals is asked
        everything.

    Raises
    ------
    DesignError
        There are fewer than two respondents, or what `confidence_sequence` raises.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> answers = (rng.random((2, 1000)) < [[0.9], [0.7]]).astype(float)
    >>> [(d.state, d.pictures) for d in separated_pairs(answers, np.arange(1000) // 5,
    ...     population=200)]
    [('separated', 38)]

    Source: as for `confidence_sequence`; Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
    """
    x, parts = _by_picture(
        np.atleast_2d(np.asarray(scores, dtype=np.float64)), pictures, population, largest
    )
    if len(x) < 2:
        raise DesignError(
            "fewer than two respondents cannot be separated",
            remedy="Give a row for each respondent.",
        )
    if not 0 <= smallest < 1:
        raise DesignError(
            f"the smallest difference {smallest:g} is none",
            remedy="Give a number from 0 up, below 1.",
        )
    running = RunningPairs(
        len(x),
        smallest=smallest,
        population=population or math.inf,
        largest=largest or max(stop - start for start, stop in parts),
        level=level,
    )
    for start, stop in parts:
        running.draw(x[:, start:stop])
    return running.summary()


def _by_picture(
    scores: Array, pictures: Sequence[object] | None, population: int | None, largest: int | None
) -> tuple[Array, list[tuple[int, int]]]:
    """The scores, checked, and where each picture's items begin and end."""
    known = scores[np.isfinite(scores)]
    if known.size and (known.min() < 0 or known.max() > 1):
        raise DesignError(
            "a score lies outside 0 to 1",
            remedy="Divide by the greatest score that an item can have.",
        )
    count = scores.shape[-1]
    names = list(range(count)) if pictures is None else list(np.asarray(pictures).tolist())
    if len(names) != count or not count:
        raise DesignError(
            f"there are {count} items and {len(names)} pictures",
            remedy="Name a picture for each item.",
        )
    parts = list(_runs(names))
    if len({names[start] for start, _ in parts}) < len(parts):
        raise DesignError(
            "the items of a picture do not stand together", remedy="Order the items by picture."
        )
    if population is not None and len(parts) > population:
        raise DesignError(
            f"{len(parts)} pictures were asked, of {population}",
            remedy="Give the number of pictures of the full benchmark.",
        )
    if largest is not None and max(stop - start for start, stop in parts) > largest:
        raise DesignError(
            f"a picture has more than {largest} items",
            remedy="Give the most items that a picture has.",
        )
    return scores, parts


def _runs(names: Sequence[object]) -> Iterator[tuple[int, int]]:
    start = 0
    for i in range(1, len(names) + 1):
        if i == len(names) or names[i] != names[start]:
            yield start, i
            start = i
