"""Where a prediction made without the pictures beats the commonest label: type by type and part by
part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.arrays import Array, Flags, Numbers, normal_quantile
from hqm.psychometrics.folds import Labelled, majority
from hqm.psychometrics.result import Status

ALPHA = 0.025
"""The chance of a false leak in a whole benchmark: this much by the words, and as much by all cues
together.
"""
ORDERS = 4
"""Random orders of the clusters whose results are averaged, so that the verdict hangs on none of
them.
"""
BLOCKS = 10
POWER = 0.8

Predict = Callable[[Numbers], Array]
"""(items,) blocks -> hits of a prediction that learns each block from the blocks before it; the
first block is not predicted.
"""


@dataclass(frozen=True, slots=True)
class Stratum:
    """One prediction in one type, part, or type of a part; an empty name stands for all of them.

    - `items, clusters`: How many, of which the prediction was tried on all but the first of ten
      blocks.
    - `accuracy, baseline, gain`: Share of right predictions where each block is learnt from the
      blocks before it, that of the commonest label on the same items, and their difference.
    - `low, high`: Ends of the gain that hold for all strata and cues together (1 - alpha, each end
      by itself).
    - `p`: One-sided, multiplied by the number of tests.
    - `shown`: `low` is above 0: more than chance explains.
    - `detectable`: The smallest gain that would be shown with 80% power.
    """

    type: str
    part: str
    cue: str
    items: int
    clusters: int
    accuracy: float
    baseline: float
    gain: float
    low: float
    high: float
    p: float
    shown: bool
    detectable: float
    status: Status = "ok"
    reason: str = ""

    @property
    def name(self) -> str:
        """The stratum in words.

        >>> Stratum("ocr", "val", "", 0, 0, *[float("nan")] * 6, False, 0.0).name
        'ocr in val'
        """
        return " in ".join(filter(None, (self.type, self.part))) or "all items"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Items grouped as a prediction learns them, and the strata that it is judged in: name of type
    and part, and which items.
    """

    items: Labelled
    strata: tuple[tuple[str, str, Flags], ...]


def views(items: Labelled, parts: Sequence[str] | None) -> tuple[View, ...]:
    """What is learnt and judged: each type; and where there are parts, each part and each type of a
    part.

    A leak of one part may point the other way in another part, so that the parts are learnt by
    themselves.
    """
    types = [(name, "", items.kind == k) for k, name in enumerate(items.kinds)]
    single = len(types) == 1
    first = View(
        items, tuple(("" if single else name, part, member) for name, part, member in types)
    )
    names = list(dict.fromkeys(parts or ()))
    if parts is None or len(names) < 2:
        return (first,)
    place = {name: i for i, name in enumerate(names)}
    part = np.array([place[name] for name in parts], dtype=np.int64)
    crossed, kind = np.unique(items.kind * len(names) + part, return_inverse=True)
    strata = [("", name or "no part", part == i) for i, name in enumerate(names)]
    if not single:
        for k, code in enumerate(crossed.tolist()):
            of_type, of_part = divmod(int(code), len(names))
            member = kind == k
            # a part of one type, or a type of one part, is that part or that type
            if member.sum() < min(int((items.kind == of_type).sum()), int((part == of_part).sum())):
                strata.append((items.kinds[of_type], names[of_part] or "no part", member))
    cells = Labelled(
        items.label,
        kind.astype(np.int64),
        items.cluster,
        items.fold,
        items.labels,
        tuple(str(code) for code in crossed),
        items.folds,
    )
    return first, View(cells, tuple(strata))


def judge_strata(
    view: View,
    predict: Predict,
    rng: np.random.Generator,
    *,
    cue: str,
    tests: int,
    alpha: float = ALPHA,
) -> tuple[Stratum, ...]:
    """Hold a prediction against the commonest label in every stratum of a view.

    The usual cross-validation learns from items that it also tests, so that its hits depend on each
    other and a t-test of them errs up to ten times too often. Here each block is learnt from
    earlier blocks alone: the gains of the blocks are then uncorrelated, and Student's test with
    clusters as units holds (Dawid 1984, JRSS A, 147, 278-292). The t of four random orders are
    averaged, which can only make their spread smaller.

        t = mean over orders of (sum of gains / sqrt(C / (C - 1) sum of squares about the mean)),  p = tests P(T > t)

    - `predict`: Hits of each item, learnt from the blocks before its own.
    - `tests`: How many strata and cues are looked at together (Bonferroni).
    """
    base = majority(view.items)
    count = int(view.items.cluster.max(initial=-1)) + 1
    blocks = [
        rng.permutation(np.arange(count) % BLOCKS)[view.items.cluster]
        for _ in range(ORDERS if count else 0)
    ]
    hits = [predict(block) for block in blocks]
    tried = [block > 0 for block in blocks]
    judged = [
        _judged(kind, part, cue, member, view.items, base, hits, tried, tests, alpha)
        for kind, part, member in view.strata
    ]
    return tuple(judged)


def _judged(
    kind: str,
    part: str,
    cue: str,
    member: Flags,
    items: Labelled,
    base: Array,
    hits: list[Array],
    tried: list[Flags],
    tests: int,
    alpha: float,
) -> Stratum:
    from scipy.special import stdtr, stdtrit

    n = int(member.sum())
    clusters = int(np.count_nonzero(np.bincount(items.cluster[member])))
    nan = math.nan
    if reason := untested(items, member):
        status: Status = "not_informative" if "one label" in reason else "insufficient"
        return Stratum(
            kind, part, cue, n, clusters, nan, nan, nan, nan, nan, nan, False, nan, status, reason
        )
    rows = [
        _gain(member & seen, items.cluster, hit, base)
        for hit, seen in zip(hits, tried, strict=True)
    ]
    accuracy, floor, gain, error, ratio, spread = np.mean(rows, axis=0)
    # 2^-C is what a sign test of C clusters would give at best
    p = min(1.0, tests * max(float(stdtr(clusters - 1, -ratio)), 2.0 ** -min(clusters, 1000)))
    reach = -float(stdtrit(clusters - 1, alpha / tests))
    low, high = gain - reach * error, gain + reach * error
    # a prediction that never leaves the commonest label has no spread of its own to judge by
    typical = math.sqrt(max(spread, 1 - floor) / (n * (1 - 1 / BLOCKS)))
    shown = low > 0 and p < alpha
    # the commonest label of these very items beats that of others by .8 standard errors where
    # labels are balanced
    lead = 0.8 * math.sqrt(floor * (1 - floor) / n)
    # while little is learnt yet, some of what a leak gives away is missed
    missed = 1 + 0.5 / BLOCKS
    detectable = min(
        1.0, missed * (reach + normal_quantile(2 * POWER - 1)) * max(typical, error) + lead
    )
    return Stratum(
        kind,
        part,
        cue,
        n,
        clusters,
        float(accuracy),
        float(floor),
        float(gain),
        float(low),
        float(high),
        p,
        bool(shown),
        float(detectable),
    )


def _gain(chosen: Flags, cluster: Numbers, hits: Array, base: Array) -> tuple[float, ...]:
    """Accuracy, baseline, gain, its standard error, t, and the mean squared gain of an item."""
    n = int(chosen.sum())
    difference = hits[chosen] - base[chosen]
    sums, size = np.bincount(cluster[chosen], weights=difference), np.bincount(cluster[chosen])
    sums, size = sums[size > 0], size[size > 0]
    value, clusters = float(difference.sum()) / n, len(size)
    residual = sums - value * size
    error = math.sqrt(clusters / max(clusters - 1, 1) * float((residual**2).sum())) / n
    ratio = value / error if error > 0 else math.copysign(1e6, value) if value else 0.0
    return (
        float(hits[chosen].mean()),
        float(base[chosen].mean()),
        value,
        error,
        ratio,
        float((difference**2).mean()),
    )


LEAST_ITEMS, LEAST_CLUSTERS = 20, 5


def untested(items: Labelled, inside: Flags) -> str:
    """Why a leak cannot be looked for among these items; empty where it can."""
    n, clusters = int(inside.sum()), int(np.count_nonzero(np.bincount(items.cluster[inside])))
    if n < LEAST_ITEMS or clusters < LEAST_CLUSTERS:
        return (
            f"{LEAST_ITEMS} items in {LEAST_CLUSTERS} clusters are needed, there are {n} in"
            f" {clusters}"
        )
    pairs = items.table(inside) > 0
    if pairs.sum() == pairs.any(axis=1).sum():
        return "every type in it has one label only: there is nothing left to give away"
    return ""


def tests_in(all_views: Sequence[View]) -> int:
    """How many strata can be tested."""
    return sum(
        not untested(view.items, member) for view in all_views for _, _, member in view.strata
    )
