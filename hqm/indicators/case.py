"""A case: administrations cut to what they share, under one metric, from which signed estimates are made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from hqm.judges.panel import parse_judge
from hqm.psychometrics import Bounds, Coefficient, agreement_left_out
from hqm.scoring.matrix import ScoreMatrix, Sums, Units, align
from hqm.scoring.metrics import Array, Metric
from hqm.signature import digest, sign
from hqm.types import Estimate, Interval
from hqm.version import __version__

_BY_FACET = {"run": "test_retest", "form": "parallel_forms", "sight": "blindness"}
_MANY = 0.01
"""The share of unscored answers from which an estimate carries the flag UNPARSED."""
_FEW = 20


@dataclass(frozen=True, slots=True)
class Protocol:
    """What stands in a signature beside the administrations: benchmark, data and scorer."""

    benchmark: str
    data: str
    scorer: str


@dataclass(frozen=True)
class Case:
    """Administrations under one metric each.

    Parameters
    ----------
    family
        What the estimates' names begin with.
    facet
        The facet that differs; empty for one administration.
    matrices
        The administrations, the reference first, aligned to the same respondents and items.
    metrics
        The metric of each.
    protocol
        What stands in the signature beside them.
    deterministic
        Whether the answers were drawn without chance, so that a repetition repeats by construction.
    turned
        Whether the other administrations' metric points the other way (a hallucination rate against a human's share of
        faithful answers); their scores are then turned round, and the estimates carry the flag `REVERSED`.
    whole
        The reference on all its items, where the others judged a sample of them.
    n_effective
        The number of independent respondents, where some are relatives.
    """

    family: str
    facet: str
    matrices: tuple[ScoreMatrix, ...]
    metrics: tuple[Metric, ...]
    protocol: Protocol
    deterministic: bool = False
    turned: bool = False
    whole: ScoreMatrix | None = None
    n_effective: float | None = None
    flags: tuple[str, ...] = field(default=())

    @property
    def first(self) -> ScoreMatrix:
        return self.matrices[0]

    @property
    def other(self) -> ScoreMatrix:
        return self.matrices[-1]

    @property
    def metric(self) -> Metric:
        return self.metrics[0]

    @cached_property
    def mask(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(items,): the items that the metric looks at."""
        return self.first.mask(self.metric)

    @property
    def n_items(self) -> int:
        return int(self.mask.sum())

    @property
    def respondents(self) -> tuple[str, ...]:
        return self.first.respondents

    @cached_property
    def scores(self) -> Array:
        """(administrations, respondents): the scores, all oriented like the first."""
        rows = []
        for k, (matrix, metric) in enumerate(zip(self.matrices, self.metrics, strict=True)):
            row = (self.whole if self.whole is not None and k == 0 else matrix).score(metric)
            rows.append(1 - row if self.turned and k else row)
        return np.stack(rows)

    @cached_property
    def units(self) -> tuple[Units, ...]:
        """What the metrics sum, administration by administration: items, or groups of items."""
        # a person's labels know neither subsets nor groups: they are looked at as the metric looks at the first
        found = []
        for matrix, metric in zip(self.matrices, self.metrics, strict=True):
            seen = replace(matrix, subsets=self.first.subsets, groups=self.first.groups)
            found.append(seen.units(replace(metric, subset=self.metric.subset, group=self.metric.group)))
        return tuple(found)

    @property
    def clusters(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """(units,): the number of each unit's cluster, 0 to C - 1."""
        return self.units[0].clusters

    @cached_property
    def without(self) -> Array:
        """(administrations, respondents, clusters): the scores with each cluster of items left out."""
        found = []
        for k, (units, metric) in enumerate(zip(self.units, self.metrics, strict=True)):
            left = left_out(units, metric)
            found.append(1 - left if self.turned and k else left)
        return np.stack(found)

    @cached_property
    def agreement_without(self) -> Mapping[str, Array]:
        """Coefficient of agreement -> (clusters,): between the first and the last administration, each cluster left out."""
        if self.whole is not None:
            return {}
        return agreement_left_out(self.without[0], self.without[-1])

    @cached_property
    def item_scores(self) -> Array:
        """(administrations, respondents, units): the metric of every single answer; NaN where it was not scored."""
        found = []
        for k, (units, metric) in enumerate(zip(self.units, self.metrics, strict=True)):
            one = unit_scores(units, metric)
            found.append(1 - one if self.turned and k else one)
        return np.stack(found)

    @property
    def additive(self) -> bool:
        """Whether the metric is a mean of item scores (not a ratio such as F1)."""
        return self.metric.share

    def estimate(
        self,
        statistic: str,
        found: Coefficient,
        /,
        *,
        flags: Sequence[str] = (),
        over: str = "model_population",
        **detail: Any,
    ) -> Estimate:
        """A coefficient as a signed estimate; `over` is what its own interval generalises over."""
        intervals = []
        if found.fixed is not None and math.isfinite(found.fixed.low):
            intervals.append(_interval(found.fixed, "fixed_models"))
        if math.isfinite(found.low):
            intervals.append(Interval(found.low, found.high, over, found.method, found.level))
        unscored = sum(matrix.unscored(metric) for matrix, metric in zip(self.matrices, self.metrics, strict=True))
        carried = [*self.flags, *found.flags, *flags]
        if self.turned:
            carried.append("REVERSED")
        if found.status == "ok" and intervals and intervals[-1].inference == "model_population" and found.n < _FEW:
            carried.append("FEW_MODELS")
        total = len(self.matrices) * len(self.respondents) * self.n_items
        if total and unscored / total > _MANY:
            carried.append("UNPARSED")
        if math.isfinite(found.raw):
            detail["raw"] = found.raw
        if math.isfinite(found.se):
            detail["se"] = found.se
        cells = [str(matrix.cell) for matrix in self.matrices]
        return Estimate(
            indicator=f"{self.family}.{statistic}",
            metric=self.metric.name,
            facet=self.facet,
            first=cells[0],
            other=" & ".join(cells[1:]),
            value=found.value if math.isfinite(found.value) else None,
            status=found.status,
            reason=found.reason,
            intervals=tuple(intervals),
            n_respondents=found.n or len(self.respondents),
            n_items=self.n_items,
            unscored=unscored,
            flags=tuple(dict.fromkeys(carried)),
            signature=self._signature(statistic, found.method),
            detail=detail,
        )

    def _signature(self, statistic: str, method: str) -> str:
        def every(name: str) -> str:
            return "~".join(dict.fromkeys(str(getattr(matrix.cell, name)) for matrix in self.matrices))

        return sign(
            {
                "benchmark": self.protocol.benchmark,
                "data": self.protocol.data,
                "scorer": self.protocol.scorer,
                "metric": "~".join(dict.fromkeys(metric.name for metric in self.metrics)),
                **{name: every(name) for name in ("form", "run", "judge", "sight")},
                "respondents": f"{len(self.respondents)}#{digest(list(self.respondents))}",
                "items": len(self.first.items),
                "answers": digest([matrix.answers for matrix in self.matrices]),
                "statistic": f"{self.family}.{statistic}",
                "interval": method.replace(" ", "_") or "none",
                "hqm": __version__,
            }
        )


def _interval(bounds: Bounds, inference: str) -> Interval:
    return Interval(bounds.low, bounds.high, inference, bounds.method, bounds.level)


def case(
    family: str,
    facet: str,
    matrices: Sequence[ScoreMatrix],
    metric: Metric,
    protocol: Protocol,
    *,
    other_metric: Metric | None = None,
    **settings: Any,
) -> Case:
    """Cut administrations to the respondents and items they share, and put them under their metrics."""
    first, *others = matrices
    everything = first
    for other in others:
        first, _ = align(first, other)
    cut = [align(first, other)[1] for other in others]
    sampled = facet == "judge" and len(first.items) < len(everything.items)
    whole = everything.take(first.respondents, [item.id for item in everything.items]) if sampled else None
    other_metric = other_metric or metric
    turned = {metric.better, other_metric.better} == {"higher", "lower"}
    metrics = (metric, *(other_metric for _ in cut))
    return Case(family, facet, (first, *cut), metrics, protocol, turned=turned, whole=whole, **settings)


def family_of(facet: str, first: ScoreMatrix, other: ScoreMatrix) -> str:
    """What the comparison of two administrations is called."""
    if facet != "judge":
        return _BY_FACET[facet]
    if "faithful" in other.tallies:
        return "criterion"
    same = parse_judge(first.cell.judge)[0] == parse_judge(other.cell.judge)[0]
    return "judge_consistency" if same else "judge_agreement"


def unit_scores(units: Units, metric: Metric) -> Array:
    """(respondents, units): the metric of every single answer, or group of answers; NaN where it was not scored."""
    return np.where(units.scored, metric(Sums(units.tallies, *units.scored.shape)), np.nan)


def left_out(units: Units, metric: Metric) -> Array:
    """(respondents, clusters): the metric with each cluster of units left out."""
    clusters = units.clusters
    count = int(clusters.max()) + 1 if len(clusters) else 0
    order = np.argsort(clusters, kind="stable")
    starts = np.searchsorted(clusters[order], np.arange(count))
    sums = {}
    for key, values in units.tallies.items():
        by_cluster = np.add.reduceat(values[:, order], starts, axis=1) if count else values[:, :0]
        sums[key] = by_cluster.sum(axis=1, keepdims=True) - by_cluster
    return metric(Sums(sums, len(units.scored), count))


def number(value: float | None) -> float | None:
    """A number for a detail: None for what does not exist."""
    return None if value is None or not math.isfinite(value) else float(value)


def numbers(values: Array) -> list[float | None]:
    """Numbers for a detail."""
    return [number(float(value)) for value in values]


def informative(one: Case, found: Coefficient) -> Coefficient:
    """A coefficient that is 1 by construction says nothing."""
    if one.facet == "run" and one.deterministic and np.isfinite(found.value):
        reason = (
            "the answers were drawn without chance (temperature 0 or identical answers): they repeat by construction"
        )
        return Coefficient(
            found.value, found.low, found.high, found.n, found.level, found.method, "not_informative", reason,
            flags=("DETERMINISTIC",),
        )  # fmt: skip
    return found
