"""The bootstrap: any function of summed tallies, resampled by whole clusters, all statistics on the
same draws.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from hqm.psychometrics.result import Array, Numbers, Status

Draw = Literal["poisson", "multinomial", "gaussian"]

# weights of one chunk: 8 MB of single precision, which stays in a processor's cache
CHUNK = 2_000_000


def stream(seed: int, name: str) -> np.random.Generator:
    """The random numbers of one indicator, from the audit's seed and a hash of the indicator's
    name.

    Adding an indicator, or computing them in another order or in several processes, changes no
    number of another.

    >>> bool(stream(7, "score").random() == stream(7, "rank").random())
    False
    """
    if seed < 0:
        raise ValueError(f"a seed is not negative, got {seed}")
    words = np.frombuffer(hashlib.blake2b(name.encode(), digest_size=16).digest(), dtype="<u4")
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=tuple(int(w) for w in words))
    )


@cache
def poisson_table() -> npt.NDArray[np.float32]:
    """A Poisson(1) variable for each of the 65,536 values of 16 random bits.

    Every value has the share of entries that comes nearest to its probability; the mean is 1 to
    five digits.

    >>> table = poisson_table()
    >>> len(table), round(float(table.mean()), 4), round(float(table.var()), 3), int(table.max())
    (65536, 1.0, 1.0, 8)
    """
    chances = np.exp(-1.0) / np.array([math.factorial(k) for k in range(12)], dtype=np.float64)
    ends = np.rint(np.cumsum(chances) * 65536).astype(np.int64)
    ends[-1] = 65536
    table = np.repeat(np.arange(12, dtype=np.float32), np.diff(ends, prepend=0))
    table.flags.writeable = False
    return table


def _weights(
    draw: Draw, rng: np.random.Generator, rows: int, count: int
) -> npt.NDArray[np.float32]:
    if draw == "poisson":
        # four draws from each 64 random bits, in the same order on every machine
        bits = rng.integers(0, 2**64, size=-(-rows * count // 4), dtype=np.uint64).astype(
            "<u8", copy=False
        )
        return np.take(poisson_table(), bits.view("<u2")[: rows * count]).reshape(rows, count)
    picked = rng.integers(0, count, size=(rows, count)) + np.arange(rows)[:, None] * count
    return (
        np.bincount(picked.ravel(), minlength=rows * count).reshape(rows, count).astype(np.float32)
    )


def _product(tallies: Array) -> Callable[[npt.NDArray[np.float32]], Array]:
    """Weights -> weighted sums and, last, the weights' own sum; in single precision where that
    loses nothing.

    Counts whose sums stay below 2^24 are exact in single precision. Other tallies are centred
    first, so that rounding is relative to the sampling noise and not to the total.
    """
    magnitude = float(np.abs(tallies).sum(axis=0).max(initial=0.0))
    counted = np.hstack([tallies, np.ones((len(tallies), 1))])
    if np.array_equal(tallies, np.rint(tallies)) and 8 * max(magnitude, len(tallies)) < 2**24:
        single = counted.astype(np.float32)
        return lambda w: (w @ single).astype(np.float64)
    if len(tallies) <= 512:
        return lambda w: w.astype(np.float64) @ counted
    mean = np.append(tallies.mean(axis=0), 0.0)
    centred = (counted - mean).astype(np.float32)

    def product(w: npt.NDArray[np.float32]) -> Array:
        sums = (w @ centred).astype(np.float64)
        return np.asarray(sums + sums[:, -1:] * mean, dtype=np.float64)

    return product


def _square_root(tallies: Array) -> Array:
    """A matrix whose square is the covariance of the sum of a resample."""
    count = len(tallies)
    if count < 2:
        return np.zeros((tallies.shape[1], tallies.shape[1]))
    centred = tallies - tallies.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred * (count / (count - 1)))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)


def resampled_sums(
    tallies: Array, strata: Numbers, rng: np.random.Generator, replicates: int, draw: Draw
) -> Iterator[Array]:
    """Totals of the tallies in each replicate, chunk by chunk.

    Poisson weights have a random total; each stratum's sums are scaled back to the stratum's number
    of clusters, so that totals are comparable between replicates. Each chunk has its own child
    stream, so a chunk repeats bit for bit whatever ran before it.

    - `tallies`: (clusters, columns).
    - `strata`: (clusters,): number of each cluster's stratum, 0 to S - 1; clusters are drawn within
      it.
    - `draw`: `poisson`, `multinomial` (exactly as many clusters as there are) or `gaussian` (the
      limit law of the totals).

    (replicates of the chunk, columns).

    >>> rng = stream(0, "example")
    >>> sums = next(resampled_sums(np.ones((50, 1)), np.zeros(50, dtype=int), rng, 3, "poisson"))
    >>> sums.ravel().tolist()
    [50.0, 50.0, 50.0]
    """
    parts = [tallies[strata == s] for s in range(int(strata.max(initial=0)) + 1)]
    rows = max(1, min(replicates, CHUNK // max(1, max(len(p) for p in parts))))
    starts = range(0, replicates, rows)
    if draw == "gaussian":
        roots = [(part.sum(axis=0), _square_root(part)) for part in parts]
    else:
        products = [(_product(part), len(part)) for part in parts]
    for start, child in zip(starts, rng.spawn(len(starts)), strict=True):
        size = min(rows, replicates - start)
        sums = np.zeros((size, tallies.shape[1]))
        if draw == "gaussian":
            for total, root in roots:
                sums += total + child.standard_normal((size, len(total))) @ root.T
        else:
            for product, count in products:
                weighted = product(_weights(draw, child, size, count))
                part_sums, drawn = weighted[:, :-1], weighted[:, -1:]
                if draw == "poisson":
                    part_sums *= count / np.where(drawn > 0, drawn, np.nan)
                sums += part_sums
        yield sums


def left_out_sums(tallies: Array, strata: Numbers) -> Array:
    """Totals with each cluster left out once, its stratum scaled back to its size.

    - `tallies`: (clusters, columns).
    - `strata`: (clusters,): number of each cluster's stratum.

    (clusters, columns); the total itself for a cluster that is alone in its stratum.

    >>> left_out_sums(np.array([[1.0], [2.0], [3.0]]), np.zeros(3, dtype=int)).ravel().tolist()
    [7.5, 6.0, 4.5]
    """
    sums = np.empty_like(tallies)
    total = tallies.sum(axis=0)
    for s in range(int(strata.max(initial=0)) + 1):
        inside = strata == s
        part = tallies[inside]
        count, own = len(part), part.sum(axis=0)
        scale = count / (count - 1) if count > 1 else 1.0
        sums[inside] = total - own + (scale * (own - part) if count > 1 else own)
    return sums


Unit = Literal["items", "respondents"]
Role = Literal["score", "reliability"]
REFUSAL = (
    "resampling items adds the answers' noise a second time to a reliability coefficient: 1 - r"
    " doubles, the percentile interval need not contain r, and its nominal 95% covered 53 to 70% in"
    " simulation; use the jackknife on log(1 - r) or resample respondents"
)


@dataclass(frozen=True, slots=True)
class Statistic:
    """A function of summed tallies, and what an interval for it may do.

    - `function`: (replicates, columns) -> (replicates,) or (replicates, values).
    - `smooth`: Whether it is differentiable at the data: means, ratios, differences, but no median,
      rank or maximum. A smooth statistic of many clusters is resampled by its limit law, a hundred
      times faster.
    - `role`: `reliability` for a correlation, ICC or alpha between administrations of the same
      items: its percentile interval over items is refused.
    """

    function: Callable[[Array], npt.ArrayLike]
    smooth: bool = False
    role: Role = "score"


@dataclass(frozen=True, slots=True)
class Interval:
    """A bootstrap interval of one number.

    - `value`: The statistic of the data; NaN where it does not exist or is refused, kept where only
      the interval is missing.
    - `low, high`: Ends of the interval; NaN where none exists.
    - `se, bias`: Standard deviation of the replicates, and their mean minus the value.
    - `error`: Monte Carlo standard error of the wider-varying end: how far an end would move with
      other random numbers.
    - `acceleration, correction`: BCa's a and z0; NaN for another method.
    - `defined`: The share of replicates in which the statistic exists.
    - `flags`: `BIASED` when the middle of the replicates lies more than a standard error from the
      value: the statistic rewards or punishes resampling itself, and a percentile interval is not
      to be trusted. `UNDEFINED` when some replicates have no value.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    level: float = 0.95
    method: str = ""
    unit: Unit = "items"
    clusters: int = 0
    replicates: int = 0
    se: float = math.nan
    bias: float = math.nan
    error: float = math.nan
    acceleration: float = math.nan
    correction: float = math.nan
    defined: float = math.nan
    status: Status = "ok"
    reason: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """What every statistic came out as in every replicate; one draw for all of them.

    - `estimates, values, left_out`: Name -> (values,), (replicates, values) and (clusters, values).
    - `roles`: Name -> what the statistic is.
    """

    estimates: Mapping[str, Array]
    values: Mapping[str, Array]
    left_out: Mapping[str, Array]
    roles: Mapping[str, Role]
    draws: Mapping[str, Draw]
    unit: Unit
    clusters: int
    replicates: int

    def interval(
        self,
        name: str,
        index: int = 0,
        *,
        level: float = 0.95,
        method: Literal["bca", "percentile"] = "bca",
    ) -> Interval:
        """The interval of value `index` of a statistic.

        BCa shifts the percentiles by the median bias z0 and the acceleration a (from the
        leave-one-out values):

            alpha_1 = Phi(z0 + (z0 + z) / (1 - a (z0 + z)))

        Efron, B. (1987). Better bootstrap confidence intervals. Journal of the American Statistical
        Association, 82, 171-185.

        - `method`: `bca` is second-order accurate; `percentile` is kept for comparison and for
          statistics without a leave-one-out value.

        Raises
        ------
        ValueError
            No statistic has this name, or the level is not between 0 and 1.
        """
        self._known(name)
        return _interval(
            float(self.estimates[name][index]),
            self.values[name][:, index],
            self.left_out[name][:, index],
            level,
            method,
            self.draws[name],
            self.unit,
            self.roles[name],
        )

    def intervals(
        self, name: str, *, level: float = 0.95, method: Literal["bca", "percentile"] = "bca"
    ) -> tuple[Interval, ...]:
        """The interval of every value of a statistic, in order."""
        self._known(name)
        count = len(self.estimates[name])
        return tuple(self.interval(name, i, level=level, method=method) for i in range(count))

    def _known(self, name: str) -> None:
        if name not in self.values:
            raise ValueError(f"no statistic {name!r}; there are {', '.join(self.values)}")

    def difference(
        self, first: str, second: str, index: int = 0, *, level: float = 0.95
    ) -> Interval:
        """The BCa interval of first minus second, paired: both were computed on the same draws.

        Refused (`not_applicable`) when either is a reliability and items were drawn, and when one
        was drawn by its limit law and the other was not.
        """
        self._known(first)
        self._known(second)
        if self.draws[first] != self.draws[second]:
            return Interval(
                math.nan,
                level=level,
                unit=self.unit,
                status="not_applicable",
                reason=f"{first} was drawn by {self.draws[first]}, {second} by"
                f" {self.draws[second]}: not"
                " the same draws",
            )
        roles: set[Role] = {self.roles[first], self.roles[second]}
        return _interval(
            float(self.estimates[first][index] - self.estimates[second][index]),
            self.values[first][:, index] - self.values[second][:, index],
            self.left_out[first][:, index] - self.left_out[second][:, index],
            level,
            "bca",
            self.draws[first],
            self.unit,
            "reliability" if "reliability" in roles else "score",
        )


def resample(
    tallies: npt.ArrayLike,
    statistics: Mapping[str, Statistic],
    *,
    rng: np.random.Generator,
    replicates: int = 10_000,
    unit: Unit = "items",
    strata: npt.ArrayLike | None = None,
    draw: Draw | None = None,
) -> Replicates:
    """Resample whole clusters and compute every statistic on every resample.

    A cluster is whatever was sampled as one: a picture with all its questions (`unit="items"`:
    would this number come out on other items of the same kind?), or a respondent or family of
    respondents (`unit="respondents"`: would it come out with other models?). Every statistic sees
    the same draws, so differences between statistics are paired. A metric that is a ratio of
    tallies (precision, F1, a rate) is the same function as for the score itself.

    Poisson weights: Hanley, J. A. and MacGibbon, B. (2006). Creating non-parametric bootstrap
    samples using Poisson frequencies. Computer Methods and Programs in Biomedicine, 83, 57-62.
    Never resample the columns independently: the respondents answered the same items.

    - `tallies`: (clusters, columns): sums over each cluster (`aggregate`). Columns of all
      respondents, runs and forms stand side by side, so that all are resampled jointly.
    - `statistics`: Name -> statistic.
    - `rng`: The indicator's `stream`; the result depends on nothing else.
    - `replicates`: 10,000 for the ends of a 95% interval, 2,000 for a standard error.
    - `unit`: What a cluster is.
    - `strata`: (clusters,): labels of fixed strata (types with a fixed number of pictures);
      clusters are drawn within them.
    - `draw`: By default `gaussian` for a smooth statistic of 200 clusters or more a stratum, else
      `poisson` for 50 or more, else `multinomial`. The limit law is not used for a column of rare
      events (a total within five standard errors of 0).

    An interval is `insufficient` below 2 clusters, or 10 respondents, `degenerate` where the
    statistic has no value, and `not_informative` where every resample gives the same value. The
    rate of 300 items and its interval over other items:

    >>> from hqm.psychometrics.bootstrap import stream
    >>> right = (np.arange(300) % 3 > 0).astype(float)
    >>> share = Statistic(lambda t: t[:, 0] / t[:, 1], smooth=True)
    >>> drawn = resample(np.stack([right, np.ones(300)], 1), {"rate": share}, rng=stream(1, "rate"))
    >>> result = drawn.interval("rate")
    >>> round(result.value, 3), round(result.low, 2), round(result.high, 2)
    (0.667, 0.61, 0.72)
    """
    table = np.asarray(tallies, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"tallies must have shape (clusters, columns), got {table.shape}")
    if not np.isfinite(table).all():
        raise ValueError(
            "a tally is not finite; count a missing score as 0 in its column and in the column of"
            " counts"
        )
    if replicates < 1:
        raise ValueError(f"there must be a replicate, got {replicates}")
    count = len(table)
    labels = np.zeros(count, dtype=np.int64)
    if strata is not None:
        if np.shape(strata) != (count,):
            raise ValueError(f"one stratum a cluster is needed, got {np.shape(strata)} for {count}")
        labels = np.unique(np.asarray(strata), return_inverse=True)[1].astype(np.int64)
    draws: dict[str, Draw] = {
        name: draw or _choice(table, labels, s.smooth) for name, s in statistics.items()
    }
    total, without = table.sum(axis=0, keepdims=True), left_out_sums(table, labels)
    estimates = {name: _apply(s, total)[0] for name, s in statistics.items()}
    left_out = {name: _apply(s, without) for name, s in statistics.items()}
    values: dict[str, Array] = {
        name: np.full((replicates, len(estimates[name])), np.nan)
        for name in statistics
        if count >= 2
    } or {name: np.empty((0, len(estimates[name]))) for name in statistics}
    kinds: list[Draw] = ["gaussian", "poisson", "multinomial"]
    # children are spawned for every kind in a fixed order: which statistics are asked for changes
    # no draw
    for kind, child in zip(kinds, rng.spawn(len(kinds)), strict=True):
        wanted = [name for name in statistics if draws[name] == kind]
        if not wanted or count < 2:
            continue
        start = 0
        for sums in resampled_sums(table, labels, child, replicates, kind):
            for name in wanted:
                values[name][start : start + len(sums)] = _apply(statistics[name], sums)
            start += len(sums)
    roles = {name: s.role for name, s in statistics.items()}
    return Replicates(
        estimates, values, left_out, roles, draws, unit, count, replicates if count >= 2 else 0
    )


def _choice(table: Array, strata: Numbers, smooth: bool) -> Draw:
    smallest = int(np.bincount(strata).min()) if len(strata) else 0
    if smallest < 50:
        return "multinomial"
    if not smooth or smallest < 200:
        return "poisson"
    counts = table[:, (table >= 0).all(axis=0)]
    error = np.sqrt(len(table) * counts.var(axis=0))
    return "gaussian" if bool((counts.sum(axis=0) >= 5 * error).all()) else "poisson"


def _apply(statistic: Statistic, sums: Array) -> Array:
    # large tables of leave-one-out sums go through in pieces, so that a statistic's own arrays stay
    # small
    pieces = []
    for start in range(0, max(1, len(sums)), 4096):
        rows = sums[start : start + 4096]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(statistic.function(rows), dtype=np.float64)
        if values.ndim not in (1, 2) or len(values) != len(rows):
            raise ValueError(
                f"a statistic of {rows.shape} sums must return ({len(rows)}, ...) values, got"
                f" {values.shape}"
            )
        pieces.append(values.reshape(len(rows), values.shape[1] if values.ndim == 2 else 1))
    return np.concatenate(pieces)


def _interval(
    value: float,
    values: Array,
    left_out: Array,
    level: float,
    method: Literal["bca", "percentile"],
    draw: Draw,
    unit: Unit,
    role: Role,
) -> Interval:
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, got {level}")
    clusters, total = len(left_out), len(values)

    def without(status: Status, reason: str, number: float = math.nan) -> Interval:
        return Interval(
            number,
            level=level,
            unit=unit,
            clusters=clusters,
            replicates=total,
            status=status,
            reason=reason,
        )

    if role == "reliability" and unit == "items":
        return without("not_applicable", REFUSAL)
    if clusters < 2:
        return without("insufficient", f"a bootstrap needs 2 clusters, there are {clusters}", value)
    if unit == "respondents" and clusters < 10:
        return without(
            "insufficient",
            f"an interval over respondents needs 10 independent ones, there are {clusters}",
            value,
        )
    if not math.isfinite(value):
        return without("degenerate", "the statistic divides by zero or has no value for these data")
    known = values[np.isfinite(values)]
    if len(known) < max(2, total / 2):
        return without(
            "degenerate", f"the statistic exists in {len(known)} of {total} resamples only"
        )
    flags = ("UNDEFINED",) if len(known) < total else ()
    if np.ptp(known) <= 1e-12 * max(1.0, abs(value)):
        return Interval(
            value,
            level=level,
            method=draw,
            unit=unit,
            clusters=clusters,
            replicates=total,
            se=0.0,
            bias=0.0,
            defined=len(known) / total,
            status="not_informative",
            reason=f"every resample of the {clusters} clusters gives the same value: there is no"
            " spread to"
            " resample",
            flags=flags,
        )
    se, bias = float(known.std(ddof=1)), float(known.mean()) - value
    if abs(float(np.median(known)) - value) > se:
        flags = (*flags, "BIASED")
    tails = np.array([0.5 - level / 2, 0.5 + level / 2])
    z0 = acceleration = math.nan
    if method == "bca":
        z0, acceleration = _correction(value, known, left_out)
        if math.isnan(z0):
            method = "percentile"
        else:
            moved = z0 + ndtri(tails)
            tails = ndtr(z0 + moved / (1 - acceleration * moved))
    low, high = np.quantile(known, tails)
    name = "BCa" if method == "bca" else "percentile"
    return Interval(
        value,
        float(low),
        float(high),
        level,
        f"{name}, {draw}",
        unit,
        clusters,
        total,
        se,
        bias,
        _monte_carlo(known, tails),
        acceleration,
        z0,
        len(known) / total,
        flags=flags,
    )


def _correction(value: float, known: Array, left_out: Array) -> tuple[float, float]:
    """BCa's z0 and a; NaN where the value lies outside all replicates or a leave-one-out value does
    not exist.
    """
    slack = 1e-12 * max(1.0, abs(value))
    below = float((known < value - slack).mean() + (np.abs(known - value) <= slack).mean() / 2)
    if not 0 < below < 1 or not np.isfinite(left_out).all():
        return math.nan, math.nan
    moved = left_out.mean() - left_out
    spread = float((moved**2).sum())
    return float(ndtri(below)), 0.0 if spread == 0 else float((moved**3).sum()) / (6 * spread**1.5)


def _monte_carlo(known: Array, tails: Array) -> float:
    """The larger standard error of the two quantiles: binomial error over the density near each."""
    error = np.sqrt(tails * (1 - tails) / len(known))
    ends = np.quantile(known, np.clip(np.concatenate([tails - error, tails + error]), 0, 1))
    return float(np.max(np.abs(ends[2:] - ends[:2])) / 2)
