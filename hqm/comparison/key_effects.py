"""What a corrected key does to a benchmark: to scores, to ranks, and to reliability."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hqm.auditing.audit import BenchmarkAudit
from hqm.benchmark.corrected_keys import CorrectedKey

_SHOWN = ("test_retest.rho_g", "consistency.alpha", "discriminability.separable_pairs")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedScore:
    """One respondent by both keys; rank 1 is the best."""

    respondent: str
    score: float | None
    corrected: float | None
    rank: int | None
    corrected_rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEffect:
    """An audit by the release's key beside the same audit by a corrected key."""

    benchmark: str
    metric: str
    key: str
    items: int
    changed: int
    left_out: int
    scores: tuple[KeyedScore, ...]
    reliability: Mapping[str, tuple[float | None, float | None]]
    """Indicator -> its value by the release's key and by the corrected one."""

    @property
    def moved(self) -> int:
        """Respondents whose rank is another one by the corrected key."""
        return sum(row.rank != row.corrected_rank for row in self.scores)

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON prints it."""
        return {**asdict(self), "moved": self.moved}


def key_effect(before: BenchmarkAudit, after: BenchmarkAudit, key: CorrectedKey) -> KeyEffect:
    """Compare two audits of the same answers, the second by a corrected key, on the first audited
    metric.
    """
    metric = next(iter(before.metrics))
    higher = before.metrics[metric].get("better", "higher") != "lower"
    old = {row.name: row.scores.get(metric) for row in before.respondents}
    new = {row.name: row.scores.get(metric) for row in after.respondents}
    ranks, new_ranks = _ranks(old, higher=higher), _ranks(new, higher=higher)
    rows = (
        KeyedScore(
            respondent=name,
            score=old[name],
            corrected=new.get(name),
            rank=ranks.get(name),
            corrected_rank=new_ranks.get(name),
        )
        for name in sorted(old, key=lambda name: ranks.get(name, math.inf))
    )
    pairs = {name: (_value(before, name, metric), _value(after, name, metric)) for name in _SHOWN}
    return KeyEffect(
        benchmark=before.benchmark,
        metric=metric,
        key=key.path,
        items=before.items,
        changed=len(key.changed),
        left_out=len(key.left_out),
        scores=tuple(rows),
        reliability={name: pair for name, pair in pairs.items() if pair != (None, None)},
    )


def _ranks(scores: Mapping[str, float | None], *, higher: bool) -> dict[str, int]:
    known = {name: score for name, score in scores.items() if score is not None}
    return {
        name: 1 + sum(other > score if higher else other < score for other in known.values())
        for name, score in known.items()
    }


def _value(audit: BenchmarkAudit, indicator: str, metric: str) -> float | None:
    matching = [
        e
        for e in audit.estimates
        if e.indicator == indicator and e.metric == metric and e.status == "ok"
    ]
    return matching[0].value if matching else None
