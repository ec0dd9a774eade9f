"""Cross-validation that keeps clusters together, and the gain of a prediction over the majority."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.arrays import Array, Flags, Numbers
from hqm.psychometrics.distributions import student_above, student_quantile
from hqm.psychometrics.jackknife import jackknife_interval
from hqm.psychometrics.questions import numbers
from hqm.psychometrics.result import Coefficient


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Items with their labels, types and clusters as numbers, dealt into folds.

    - `label, kind, cluster, fold`: (items,)
    - `labels, kinds`: What the numbers stand for.
    - `folds`: Each cluster lies in one fold.
    """

    label: Numbers
    kind: Numbers
    cluster: Numbers
    fold: Numbers
    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    folds: int

    def table(self, among: Flags | slice = slice(None)) -> Numbers:
        """(kinds, labels): how many items."""
        shape = len(self.kinds), len(self.labels)
        return counted(self.kind[among] * shape[1] + self.label[among], *shape)


def counted(codes: Numbers, *shape: int) -> Numbers:
    """How often each place of a table stands in a list of places."""
    return np.bincount(codes, minlength=math.prod(shape)).reshape(shape)


def deal(
    labels: Sequence[str],
    clusters: Sequence[Hashable] | None,
    types: Sequence[str | None] | None,
    rng: np.random.Generator,
    folds: int,
) -> Labelled:
    """Deal whole clusters into folds at random.

    Raises
    ------
    ValueError
        Unequal lengths, or fewer than 2 folds.
    """
    for what, given in (("clusters", clusters), ("types", types)):
        if given is not None and len(given) != len(labels):
            raise ValueError(f"{len(labels)} labels have {len(given)} {what}")
    if folds < 2:
        raise ValueError(f"a cross-validation needs 2 folds, got {folds}")
    label, names = numbers(labels)
    cluster, groups = numbers(clusters if clusters is not None else list(range(len(labels))))
    kind, kinds = numbers(types if types is not None else ["all"] * len(labels))
    folds = min(folds, max(1, len(groups)))
    fold = rng.permutation(np.arange(len(groups)) % folds)[cluster] if len(groups) else cluster
    return Labelled(
        label,
        kind,
        cluster,
        fold,
        tuple(str(n) for n in names),
        tuple("untyped" if k is None else str(k) for k in kinds),
        folds,
    )


def majority(items: Labelled) -> Array:
    """Which items the commonest label of their type gets right: the blind baseline, in its favour
    not cross-validated.
    """
    return np.asarray(items.table().argmax(axis=1)[items.kind] == items.label, dtype=np.float64)


def by_level(items: Labelled, level: Numbers) -> Array:
    """Which items the commonest label of their level gets right, learnt from the other folds.

    A level that the other folds lack, or in which labels tie, falls back on the commonest label of
    the type there.
    """
    if len(level) == 0:
        return np.zeros(0)
    crossed = np.unique(items.kind * (int(level.max()) + 1) + level, return_inverse=True)[1]
    shape = int(crossed.max()) + 1, len(items.labels)
    code = crossed * shape[1] + items.label
    whole, kinds = counted(code, *shape), items.table()
    hits = np.zeros(len(level))
    for fold in range(items.folds):
        test = items.fold == fold
        seen, seen_kinds = whole - counted(code[test], *shape), kinds - items.table(test)
        # the share of the type decides between equal counts
        score = seen[crossed[test]] + 1e-6 * seen_kinds[items.kind[test]] / max(
            1.0, float(seen_kinds.max())
        )
        hits[test] = score.argmax(axis=1) == items.label[test]
    return hits


def learnt_forward(items: Labelled, level: Numbers) -> Callable[[Numbers], Array]:
    """Blocks -> which items the commonest label of their level in earlier blocks gets right.

    A level that the earlier blocks lack, or in which labels tie, falls back on the commonest label
    of its kind.
    """
    if len(level) == 0:
        return lambda _: np.zeros(0)
    crossed = np.unique(items.kind * (int(level.max()) + 1) + level, return_inverse=True)[1]
    levels, count, kinds = int(crossed.max()) + 1, len(items.labels), items.table()
    kind_of = np.zeros(levels, dtype=np.int64)
    kind_of[crossed] = items.kind
    fallback = 1e-6 * kinds[kind_of] / max(1.0, float(kinds.max()))

    def predict(block: Numbers) -> Array:
        blocks = int(block.max()) + 1
        table = counted((block * levels + crossed) * count + items.label, blocks, levels, count)
        best = (np.cumsum(table, axis=0) - table + fallback).argmax(axis=2)
        return np.asarray(best[block, crossed] == items.label, dtype=np.float64)

    return predict


def accuracy(hits: Array, cluster: Numbers, level: float) -> Coefficient:
    """A share of hits with Wilson's interval for clustered items."""
    return jackknife_interval(
        {"k": hits, "n": np.ones(len(hits))},
        cluster,
        lambda t: t["k"] / t["n"],
        share=True,
        level=level,
    )


def gain_over(
    hits: Array, baseline: Array, cluster: Numbers, level: float
) -> tuple[Coefficient, float]:
    """How much more accurate one prediction is than another, with its one-sided p-value; clusters
    are the units.

    Student's test on the clusters' sums of differences. With C clusters p is not taken below 2^-C,
    which a sign test would give.
    """
    clusters = int(cluster.max(initial=-1)) + 1
    if clusters < 2:
        none = Coefficient.absent(
            "insufficient", f"a test needs 2 clusters, there are {clusters}", clusters
        )
        return none, math.nan
    n = len(hits)
    difference = np.bincount(cluster, weights=hits - baseline, minlength=clusters)
    size = np.bincount(cluster, minlength=clusters)
    value = float(difference.sum()) / n
    residual = difference - value * size
    error = math.sqrt(clusters / (clusters - 1) * float((residual**2).sum())) / n
    least = 2.0 ** -min(clusters, 1000)
    if error == 0:
        return Coefficient(value, value, value, clusters, level, "clustered t"), (
            least if value > 0 else 1.0
        )
    half = float(student_quantile(0.5 + level / 2, clusters - 1)) * error
    p = float(student_above(value / error, clusters - 1))
    return Coefficient(
        value, value - half, value + half, clusters, level, "clustered t", se=error
    ), max(p, least)
