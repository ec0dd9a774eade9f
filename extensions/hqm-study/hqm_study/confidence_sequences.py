"""Wealth of bets against supposed means, from which intervals follow that hold at any time.

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
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from hqm.errors import DesignError
from hqm.psychometrics.result import Array, ArrayLike, BoolArray

_MAX_STAKE_SHARE = 0.75
"""The share of the wealth that one bet may lose."""
_FIRST_TARGET = 8
"""Pictures after which the quickest of the mixed strategies wants to have decided; each other takes
twice as many.
"""
_MAX_TARGET = 2**13


def _strategy_targets(population: float) -> Array:
    """The numbers of pictures at which the mixed strategies are best."""
    max_target = min(_MAX_TARGET, 0.9 * population)
    powers = range(max(1, math.ceil(math.log2(max(max_target, 1) / _FIRST_TARGET)) + 1))
    return np.minimum(_FIRST_TARGET * 2.0 ** np.array(powers), max(max_target, 1.0))


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

    After `draw`, `log_wealth_above` and `log_wealth_below` are log wealths of shape (..., means).
    """

    means: Array
    low: float = 0.0
    high: float = 1.0
    largest: float = 1.0
    population: float = math.inf
    alpha: float = 0.05
    n_drawn: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._targets = _strategy_targets(self.population)
        shape = (*self.means.shape, self._targets.size)
        self._log_wealth_above, self._log_wealth_below = np.zeros(shape), np.zeros(shape)
        batch = self.means.shape[:-1]
        self._total, self._items = np.zeros(batch), np.zeros(batch)
        self._squares = np.full(batch, ((self.high - self.low) * self.largest / 2) ** 2 / 2)

    def draw(self, totals: ArrayLike, items: ArrayLike) -> None:
        """Take in one more picture of every series: its summed scores, and how many of its items
        were scored.
        """
        total, size = np.asarray(totals, dtype=np.float64), np.asarray(items, dtype=np.float64)
        n_remaining = self.population - self.n_drawn
        expected = -(self._total[..., None] - self.means * self._items[..., None]) / n_remaining
        excess = total[..., None] - self.means * size[..., None] - expected
        # the room below and above what is expected, which no picture's value can leave
        room_below = (self.means - self.low) * self.largest + expected
        room_above = (self.high - self.means) * self.largest - expected
        deviation = np.sqrt(self._squares / (self.n_drawn + 0.5))
        target_widths = np.sqrt(
            2 * math.log(2 / self.alpha) * (1 / self._targets - 1 / self.population)
        )
        # without replacement the remaining pictures carry all that is not known yet
        if math.isinf(n_remaining):
            growth = 1.0
        else:
            growth = self.population / n_remaining
        optimal_bets = np.multiply.outer(growth / deviation, target_widths)[..., None, :]
        self._log_wealth_above += _log_gain(optimal_bets, excess, room_below)
        self._log_wealth_below += _log_gain(optimal_bets, -excess, room_above)
        midpoint = (self.low + self.high) / 2
        running_mean = (self._total + midpoint * self.largest) / (self._items + self.largest)
        self._squares = self._squares + (total - running_mean * size) ** 2
        self._total, self._items = self._total + total, self._items + size
        self.n_drawn += 1
        if self.n_drawn == self.population:
            # everything is known: only the true mean is left
            remainder = self._total[..., None] - self.means * self._items[..., None]
            tolerance = 1e-9 * np.maximum(self._items[..., None], 1)
            self._log_wealth_above = np.where(
                (remainder > tolerance)[..., None], np.inf, self._log_wealth_above
            )
            self._log_wealth_below = np.where(
                (remainder < -tolerance)[..., None], np.inf, self._log_wealth_below
            )

    @property
    def log_wealth_above(self) -> Array:
        """The log wealth of bets that the mean lies above each supposed one."""
        return np.asarray(_mixture_wealth(self._log_wealth_above))

    @property
    def log_wealth_below(self) -> Array:
        """The log wealth of bets that the mean lies below each supposed one."""
        return np.asarray(_mixture_wealth(self._log_wealth_below))

    @property
    def log_wealth_two_sided(self) -> Array:
        """The log wealth that is half in either."""
        return np.asarray(np.logaddexp(self.log_wealth_above, self.log_wealth_below) - math.log(2))

    def restrict_means(self, mask: BoolArray) -> None:
        """Keep the supposed means of a mask, (means,), only."""
        self.means = self.means[..., mask]
        self._log_wealth_above, self._log_wealth_below = (
            self._log_wealth_above[..., mask, :],
            self._log_wealth_below[..., mask, :],
        )


def _log_gain(bets: Array, excess: Array, room: Array) -> Array:
    """The gain of each strategy's bet, in log wealth; infinite where a supposed mean has become
    impossible.
    """
    stake = np.minimum(bets, _MAX_STAKE_SHARE / np.maximum(room, 1e-9)[..., None])
    log_gain = np.log1p(np.maximum(stake * excess[..., None], -1 + 1e-12))
    return np.asarray(np.where((room < -1e-9)[..., None], np.inf, log_gain))


def _mixture_wealth(wealth: Array) -> Array:
    """The log of the mean wealth over the strategies."""
    maximum = wealth.max(axis=-1, keepdims=True)
    finite = np.where(np.isfinite(maximum), maximum, 0.0)
    with np.errstate(divide="ignore"):
        mean = np.log(np.exp(wealth - finite).mean(axis=-1)) + finite[..., 0]
    return np.where(np.isposinf(maximum[..., 0]), np.inf, mean)


_GRID_SIZE = 2001
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

    def pictures_until(self, half_width: float) -> int | None:
        """The number of pictures after which half the interval was this short for the first time;
        None if it never was.
        """
        narrow = np.flatnonzero(self.half_width <= half_width)
        if narrow.size:
            return int(narrow[0]) + 1
        return None


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
        grid = np.linspace(0, 1, _GRID_SIZE)
        self._wealth = Wealth(grid, largest=largest, population=population, alpha=1 - level)
        self._limit = -math.log(1 - level)
        self._step = grid[1]
        self.low, self.high = 0.0, 1.0
        self._total = self._items = 0.0

    def draw(self, scores: ArrayLike) -> None:
        """Take in the scores of one more picture's items; NaN where an answer was not scored."""
        x = np.asarray(scores, dtype=np.float64)
        self._total += float(np.nansum(x))
        self._items += int(np.isfinite(x).sum())
        wealth = self._wealth
        wealth.draw(np.nansum(x), np.isfinite(x).sum())
        if wealth.n_drawn == wealth.population and self._items:
            self.low = self.high = self.estimate
            return
        plausible = wealth.log_wealth_two_sided < self._limit
        if not plausible.any():  # the grid is coarser than what is known
            return
        first, last = np.flatnonzero(plausible)[[0, -1]]
        self.low = max(self.low, wealth.means[first] - self._step)
        self.high = min(self.high, wealth.means[last] + self._step)
        if last + 1 - first < plausible.size:
            mask = np.zeros(plausible.size, dtype=bool)
            mask[first : last + 1] = True
            wealth.restrict_means(mask)

    @property
    def estimate(self) -> float:
        if self._items:
            return self._total / self._items
        return math.nan

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
        self.smallest = smallest
        self._alpha = 1 - level
        supposed_differences = np.tile([0.0, smallest, -smallest], (len(pairs), 1))
        self._wealth = Wealth(
            supposed_differences, -1.0, 1.0, largest, population, (1 - level) / max(1, len(pairs))
        )
        self._separation_wealth = np.zeros(len(pairs))
        self._equivalence_wealth = np.zeros((len(pairs), 2))
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
        totals = np.nansum(difference, axis=1)
        items = np.isfinite(difference).sum(axis=1)
        self._totals, self._items = self._totals + totals, self._items + items
        wealth = self._wealth
        wealth.draw(totals, items)
        log_above, log_below = wealth.log_wealth_above, wealth.log_wealth_below
        self._separation_wealth = np.maximum(
            self._separation_wealth, np.logaddexp(log_above[:, 0], log_below[:, 0]) - math.log(2)
        )
        if self.smallest:
            self._equivalence_wealth = np.maximum(
                self._equivalence_wealth, np.stack([log_below[:, 1], log_above[:, 2]], axis=1)
            )
        self._decide()

    def _decide(self) -> None:
        """Holm's steps: the smallest p-value is compared with alpha over all pairs, the next with
        alpha over the remaining ones.
        """
        equivalence = self._equivalence_wealth.min(axis=1)
        strength = np.maximum(self._separation_wealth, equivalence)
        is_exhausted = self._wealth.n_drawn == self._wealth.population
        order = np.argsort(-strength, kind="stable")
        for step, j in enumerate(order):
            if strength[j] < math.log((len(order) - step) / self._alpha) and not is_exhausted:
                break
            if self.decisions[j].state == "open" and self._items[j]:
                self.decisions[j] = self._pair_decision(
                    int(j), float(self._separation_wealth[j]), float(equivalence[j]), is_exhausted
                )

    def _pair_decision(
        self, j: int, separation: float, equivalence: float, is_exhausted: bool
    ) -> PairDecision:
        difference = float(self._totals[j] / self._items[j])
        state: PairState = "separated" if separation >= equivalence else "within"
        if is_exhausted and difference == 0:
            state = "equal"
        elif is_exhausted:
            state = "within" if abs(difference) < self.smallest else "separated"
        return PairDecision(
            first=int(self._first[j]),
            second=int(self._second[j]),
            state=state,
            difference=difference,
            pictures=self._wealth.n_drawn,
            p=min(1.0, math.exp(-max(separation, equivalence))),
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
        pairs = []
        for j, decision in enumerate(self.decisions):
            if decision.state == "open":
                difference = math.nan
                if self._items[j]:
                    difference = float(self._totals[j] / self._items[j])
                # the larger log wealth is the evidence; p = 1 / wealth (Ville's inequality)
                log_wealth = max(self._separation_wealth[j], self._equivalence_wealth[j].min())
                decision = replace(
                    decision,
                    difference=difference,
                    pictures=self._wealth.n_drawn,
                    p=min(1.0, math.exp(-log_wealth)),
                )
            pairs.append(decision)
        return tuple(pairs)


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
    >>> bool(sequence.lower[-1] <= answers.mean() <= sequence.upper[-1])
    True
    >>> sequence.pictures_until(0.1)
    38

    Source: Waudby-Smith and Ramdas 2024, JRSS B 86, 1-27 (bets); 2020, NeurIPS 33 (draws without
    replacement).
    """
    (x,), slices = _split_by_picture(
        np.atleast_2d(np.asarray(scores, dtype=np.float64)), pictures, population, largest
    )
    running = RunningInterval(
        population=population or math.inf,
        largest=largest or max(stop - start for start, stop in slices),
        level=level,
    )
    rows = []
    for start, stop in slices:
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
    """Which pairs of respondents are separated, picture by picture, with Holm's correction over
    the pairs.

    A pair is `separated` once the order of its scores is decided, and `within` once a difference
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
    x, slices = _split_by_picture(
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
        largest=largest or max(stop - start for start, stop in slices),
        level=level,
    )
    for start, stop in slices:
        running.draw(x[:, start:stop])
    return running.summary()


def _split_by_picture(
    scores: Array, pictures: Sequence[object] | None, population: int | None, largest: int | None
) -> tuple[Array, list[tuple[int, int]]]:
    """The scores, checked, and where each picture's items begin and end."""
    finite_scores = scores[np.isfinite(scores)]
    if finite_scores.size and (finite_scores.min() < 0 or finite_scores.max() > 1):
        raise DesignError(
            "a score lies outside 0 to 1",
            remedy="Divide by the greatest score that an item can have.",
        )
    count = scores.shape[-1]
    if pictures is None:
        names = list(range(count))
    else:
        names = list(np.asarray(pictures).tolist())
    if len(names) != count or not count:
        raise DesignError(
            f"there are {count} items and {len(names)} pictures",
            remedy="Name a picture for each item.",
        )
    slices = list(_runs(names))
    if len({names[start] for start, _ in slices}) < len(slices):
        raise DesignError(
            "the items of a picture do not stand together", remedy="Order the items by picture."
        )
    if population is not None and len(slices) > population:
        raise DesignError(
            f"{len(slices)} pictures were asked, of {population}",
            remedy="Give the number of pictures of the full benchmark.",
        )
    if largest is not None and max(stop - start for start, stop in slices) > largest:
        raise DesignError(
            f"a picture has more than {largest} items",
            remedy="Give the most items that a picture has.",
        )
    return scores, slices


def _runs(names: Sequence[object]) -> Iterator[tuple[int, int]]:
    start = 0
    for i in range(1, len(names) + 1):
        if i == len(names) or names[i] != names[start]:
            yield start, i
            start = i
