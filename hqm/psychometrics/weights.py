"""Random weights of a bootstrap and the sums they give, in chunks of constant memory."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, Numbers

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
