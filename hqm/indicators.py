"""Indicators: what is estimated when two administrations differ in one facet, and what the items cover.

    run differs      test_retest      how far the scores repeat with another seed
    form differs     parallel_forms   how far they survive another wording
    judge differs    criterion        how far they follow people (or the scene oracle)
    sight differs    blindness        how far they survive without the picture

Each function takes score matrices and gives estimates; the coefficients come from `hqm.psychometrics`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hqm.metrics import Array, Metric
from hqm.psychometrics import Coefficient, icc, item_agreement, mean_shift, noise_floor, pearson
from hqm.scores import ScoreMatrix, Sums, align
from hqm.signature import digest, sign
from hqm.types import HALLUCINATION_TYPES, Estimate, Form, Interval, Status
from hqm.version import __version__

FAMILIES = {"run": "test_retest", "form": "parallel_forms", "judge": "criterion", "sight": "blindness"}

INDICATORS: Mapping[str, str] = {
    "pearson": "Pearson's correlation of the respondents' scores, with Fisher's interval over respondents.",
    "pearson_same_items": "The same correlation, with the benchmark's scores on the judged items alone.",
    "icc_a1": "ICC(A,1): how far the same score comes back; a shift of the mean lowers it.",
    "icc_c1": "ICC(C,1): how far the differences between respondents come back.",
    "noise_floor": "The correlation that independent coin flips at each respondent's own rate would reach.",
    "item_agreement": "Share of items that come out the same, mean over respondents.",
    "mean_shift": "Mean difference of the scores, other minus first.",
    "yes_ratio_shift": "Mean difference of the share of answers yes, other minus first.",
    "length_shift": "Mean difference of the answers' length in words, other minus first.",
}
"""Every indicator's statistic with one sentence; its full name has the family in front (`test_retest.pearson`)."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What stands in a signature beside the administrations: benchmark, data and scorer."""

    benchmark: str
    data: str
    scorer: str


@dataclass(frozen=True)
class Comparison:
    """Two administrations that differ in one facet, cut to what they share, under one metric each."""

    facet: str
    first: ScoreMatrix
    other: ScoreMatrix
    metric: Metric
    other_metric: Metric
    protocol: Protocol
    deterministic: bool = False
    """Whether the answers were drawn without chance, so that a repetition repeats by construction."""
    sign: int = 1
    """-1 when the other administration's metric points the other way (a hallucination rate against a human's share of
    faithful answers); the other scores are then turned round, and the estimates carry the flag `REVERSED`."""
    extra_flags: tuple[str, ...] = field(default=())
    whole: ScoreMatrix | None = None
    """The first administration on all its items, where the other judged a sample of them."""

    @property
    def family(self) -> str:
        return FAMILIES[self.facet]

    def scores(self) -> tuple[Array, Array]:
        """(respondents,) twice: both administrations' scores, the other oriented like the first."""
        other = self.other.score(self.other_metric)
        return (self.whole or self.first).score(self.metric), 1 - other if self.sign < 0 else other

    def estimate(self, statistic: str, found: Coefficient, **detail: Any) -> Estimate:
        """Turn a coefficient into a signed estimate."""
        mask = self.first.mask(self.metric)
        intervals: tuple[Interval, ...] = ()
        if math.isfinite(found.low):
            intervals = (Interval(found.low, found.high, "model_population", found.method, found.level),)
        unscored = self.first.unscored(self.metric) + self.other.unscored(self.other_metric)
        flags = [*self.extra_flags]
        if self.sign < 0:
            flags.append("REVERSED")
        if (
            found.status == "ok"
            and found.n < 20
            and statistic not in ("item_agreement", "length_shift", "yes_ratio_shift")
        ):
            flags.append("FEW_MODELS")
        total = 2 * len(self.first.respondents) * int(mask.sum())
        if total and unscored / total > 0.01:
            flags.append("UNPARSED")
        present = math.isfinite(found.value)
        return Estimate(
            indicator=f"{self.family}.{statistic}",
            metric=self.metric.name,
            facet=self.facet,
            first=str(self.first.cell),
            other=str(self.other.cell),
            value=found.value if present else None,
            status=found.status,
            reason=found.reason,
            intervals=intervals,
            n_respondents=found.n,
            n_items=int(mask.sum()),
            unscored=unscored,
            flags=tuple(flags),
            signature=self._signature(statistic, found.method),
            detail=detail,
        )

    def _signature(self, statistic: str, method: str) -> str:
        a, b = self.first.cell, self.other.cell

        def both(name: str) -> str:
            one, two = getattr(a, name), getattr(b, name)
            return f"{one}" if one == two else f"{one}~{two}"

        metric = (
            self.metric.name
            if self.metric.name == self.other_metric.name
            else f"{self.metric.name}~{self.other_metric.name}"
        )
        return sign(
            {
                "benchmark": self.protocol.benchmark,
                "data": self.protocol.data,
                "scorer": self.protocol.scorer,
                "metric": metric,
                **{name: both(name) for name in ("form", "run", "judge", "sight")},
                "respondents": f"{len(self.first.respondents)}#{digest(list(self.first.respondents))}",
                "items": len(self.first.items),
                "answers": digest([self.first.answers, self.other.answers]),
                "statistic": f"{self.family}.{statistic}",
                "interval": method.replace(" ", "_") or "none",
                "hqm": __version__,
            }
        )


def compare(
    facet: str,
    first: ScoreMatrix,
    other: ScoreMatrix,
    metric: Metric,
    protocol: Protocol,
    *,
    other_metric: Metric | None = None,
    deterministic: bool = False,
    flags: tuple[str, ...] = (),
) -> list[Estimate]:
    """All estimates of one pair of administrations."""
    everything = first
    first, other = align(first, other)
    sampled = facet == "judge" and len(first.items) < len(everything.items)
    whole = everything.take(first.respondents, [item.id for item in everything.items]) if sampled else None
    other_metric = other_metric or metric
    turned = -1 if {metric.better, other_metric.better} == {"higher", "lower"} else 1
    case = Comparison(facet, first, other, metric, other_metric, protocol, deterministic, turned, flags, whole)
    return list(_estimates(case))


def _estimates(case: Comparison) -> Iterable[Estimate]:
    x, y = case.scores()
    found = icc(np.stack([x, y], axis=1))
    yield case.estimate("pearson", _informative(case, pearson(x, y)))
    if case.whole is not None:
        yield case.estimate("pearson_same_items", pearson(case.first.score(case.metric), y))
    if case.facet != "judge":  # a human's share and a metric need not have one scale
        yield case.estimate(
            "icc_a1", _informative(case, found.a1), sem=_number(found.sem_agreement), mdc95=_number(found.mdc95)
        )
        yield case.estimate("icc_c1", _informative(case, found.c1), sem=_number(found.sem_consistency))
        yield case.estimate("mean_shift", mean_shift(x, y))
    if case.facet == "run":
        yield case.estimate("noise_floor", _floor(case, x))
    if case.metric.share and case.other_metric.share:
        yield _item_agreement(case)
    if case.facet in ("form", "sight"):
        yield from _style_shifts(case)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _informative(case: Comparison, found: Coefficient) -> Coefficient:
    """A coefficient that is 1 by construction says nothing."""
    if case.facet == "run" and case.deterministic and math.isfinite(found.value):
        reason = (
            "the answers were drawn without chance (temperature 0 or identical answers): they repeat by construction"
        )
        return Coefficient(
            found.value, found.low, found.high, found.n, found.level, found.method, "not_informative", reason
        )
    return found


def _floor(case: Comparison, x: Array) -> Coefficient:
    if not case.metric.share:
        reason = f"{case.metric.name} is no share of items, so coin flips have no variance to compare with"
        return Coefficient.absent("not_applicable", reason, len(x))
    return noise_floor(x, case.first.units(case.metric).clusters.size)


def _item_agreement(case: Comparison) -> Estimate:
    # a person's labels know neither subsets nor groups: they are looked at as the metric looks at the first
    other = replace(case.other, subsets=case.first.subsets, groups=case.first.groups)
    one = _unit_scores(case.first, case.metric)
    two = _unit_scores(other, replace(case.other_metric, subset=case.metric.subset, group=case.metric.group))
    found = item_agreement(one, 1 - two if case.sign < 0 else two)
    n = len(case.first.respondents)
    value = Coefficient(found.mean, n=n) if found.status == "ok" else Coefficient.absent(found.status, found.reason, n)
    per = {
        name: {"agreement": _number(a), "kappa": _number(k)}
        for name, a, k in zip(case.first.respondents, found.agreement, found.kappa, strict=False)
    }
    detail = {"worst": _number(found.worst), "mean_kappa": _number(found.mean_kappa), "by_respondent": per}
    return case.estimate("item_agreement", _informative(case, value), **detail)


def _unit_scores(matrix: ScoreMatrix, metric: Metric) -> Array:
    """(respondents, units): the metric of every single answer, or group of answers; NaN where it was not scored."""
    units = matrix.units(metric)
    return np.where(units.scored, metric(Sums(units.tallies, *units.scored.shape)), np.nan)


def _style_shifts(case: Comparison) -> Iterable[Estimate]:
    """How the wording changes what is said beside the score: the share of yes, the length."""
    with np.errstate(invalid="ignore"):
        words = [_row_means(matrix.words) for matrix in (case.first, case.other)]
    by = dict(zip(case.first.respondents, [[_number(a), _number(b)] for a, b in zip(*words, strict=True)], strict=True))
    yield case.estimate("length_shift", mean_shift(*words), by_respondent=by)
    if "tp" in case.first.tallies:
        ratios = [yes_ratio(matrix) for matrix in (case.first, case.other)]
        by = dict(
            zip(case.first.respondents, [[_number(a), _number(b)] for a, b in zip(*ratios, strict=True)], strict=True)
        )
        yield case.estimate("yes_ratio_shift", mean_shift(*ratios), by_respondent=by)


def _row_means(values: Array) -> Array:
    counts = np.isfinite(values).sum(axis=1)
    sums = np.where(np.isfinite(values), values, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def yes_ratio(matrix: ScoreMatrix) -> Array:
    """(respondents,): the share of answers yes among those that say yes or no."""
    said = sum(matrix.tallies[key].sum(axis=1) for key in ("tp", "fp", "tn", "fn"))
    yes = matrix.tallies["tp"].sum(axis=1) + matrix.tallies["fp"].sum(axis=1)
    return np.where(said > 0, yes / np.maximum(said, 1), np.nan)


@dataclass(frozen=True, slots=True)
class TypeCoverage:
    """What a benchmark has of one hallucination type."""

    type: str
    claimed: bool
    items: int
    images: int
    wordings: int
    labelled: bool = True

    @property
    def state(self) -> str:
        """`labelled`, `by design` (no labels, but nothing else is asked), `claimed` (said, but no item), or `absent`."""
        if self.items:
            return "labelled" if self.labelled else "by design"
        return "claimed" if self.claimed else "absent"


def coverage(form: Form, claimed: Iterable[str], labelled: bool = True) -> tuple[TypeCoverage, ...]:
    """The eight hallucination types with their items, pictures and distinct wordings.

    A type that the card claims but no item has counts as claimed, never as covered. `labelled` says whether the release
    itself carries the labels.
    """
    said = set(claimed)
    found = []
    for kind in HALLUCINATION_TYPES:
        items = [item for item in form.items if item.type == kind]
        images = {item.image for item in items if item.image}
        wordings = {" ".join(item.prompt.lower().split()) for item in items}
        found.append(TypeCoverage(kind, kind in said, len(items), len(images), len(wordings), labelled))
    return tuple(found)


__all__ = [
    "FAMILIES",
    "INDICATORS",
    "Comparison",
    "Protocol",
    "Status",
    "TypeCoverage",
    "compare",
    "coverage",
    "yes_ratio",
]
