"""Which respondents one administration can tell apart, and what stands in its way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from hqm.indicators.case import Case, number
from hqm.psychometrics import (
    Bounds,
    Coefficient,
    Statistic,
    aggregate,
    chance_corrected,
    minimum_detectable_difference,
    paired_differences,
    resample,
    saturation,
    separation,
    stream,
)
from hqm.scoring.matrix import ScoreMatrix, Sums
from hqm.scoring.metrics import Array
from hqm.types import Estimate, Item


def discriminability(one: Case, blind: ScoreMatrix | None = None, seed: int = 0) -> Iterable[Estimate]:
    """Every estimate of what can be told apart; `blind` is the administration without pictures, where there is one."""
    n = len(one.respondents)
    higher = one.metric.better != "lower"
    values, clusters = (one.item_scores[0], one.clusters) if one.additive else (pseudo_values(one), None)
    found = paired_differences(values, clusters, higher_is_better=higher)
    if found.status != "ok":
        absent = Coefficient.absent(found.status, found.reason, n)
        for name in ("separable_pairs", "separable_adjacent", "minimum_difference", "levels"):
            yield one.estimate(name, absent)
    else:
        names = one.respondents
        apart, pairs = found.separable_pairs(adjust=True)
        near, neighbours = found.separable_neighbours(adjust=True)
        tied = [[names[i] for i in group] for group in found.tied_sets]
        ranks = {names[i]: list(span) for i, span in enumerate(found.rank_intervals)}
        order = [names[i] for i in found.order]
        yield one.estimate(
            "separable_pairs", Coefficient(apart / pairs if pairs else np.nan, n=n), tied_sets=tied, ranks=ranks, order=order,
            apart=apart, pairs=pairs,
        )  # fmt: skip
        share = Coefficient(near / neighbours if neighbours else np.nan, n=n)
        yield one.estimate("separable_adjacent", share, apart=near, pairs=neighbours)
        errors = np.asarray(found.se)[np.triu_indices(n, 1)]
        typical = float(np.median(errors)) if len(errors) else np.nan
        yield one.estimate(
            "minimum_difference", Coefficient(minimum_detectable_difference(typical), n=n), error=number(typical)
        )
        levels = separation(one.scores[0], _errors(values))
        value = (
            Coefficient(levels.strata, n=n)
            if levels.status == "ok"
            else Coefficient.absent(levels.status, levels.reason, n)
        )
        yield one.estimate("levels", value, ratio=number(levels.ratio))
    yield _lead(one, higher, seed)
    yield from _saturation(one, higher)
    yield _chance(one, blind, higher)


def pseudo_values(one: Case) -> Array:
    """(respondents, clusters): jackknife pseudo-values of the reference's scores, whose mean is the score."""
    left = one.without[0]
    count = left.shape[1]
    found: Array = count * one.scores[0][:, None] - (count - 1) * left
    return found


def _errors(values: Array) -> Array:
    counts = np.isfinite(values).sum(axis=1)
    centred = np.where(np.isfinite(values), values, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(centred, axis=1) / counts
        spread = np.nansum((centred - mean[:, None]) ** 2, axis=1) / np.maximum(counts - 1, 1)
        found: Array = np.sqrt(spread / counts)
    return found


def _lead(one: Case, higher: bool, seed: int) -> Estimate:
    """How far the best is ahead of the second, with a bootstrap interval over pictures, whatever the metric is."""
    n = len(one.respondents)
    scores = one.scores[0]
    known = np.flatnonzero(np.isfinite(scores))
    if len(known) < 2:
        return one.estimate("lead", Coefficient.absent("insufficient", "there are fewer than two scores", n))
    best, second = (int(i) for i in known[np.argsort(-scores[known] if higher else scores[known], kind="stable")][:2])
    units, names = one.units[0], sorted(one.units[0].tallies)
    columns = [aggregate(units.tallies[key][[best, second]].T, units.clusters) for key in names]

    def gap(sums: Array) -> Array:
        by_name = {key: sums[:, 2 * i : 2 * i + 2] for i, key in enumerate(names)}
        value = one.metric(Sums(by_name, len(sums), 2))
        found: Array = (value[:, 0] - value[:, 1]) * (1 if higher else -1)
        return found

    drawn = resample(np.concatenate(columns, axis=1), {"lead": Statistic(gap, smooth=True)}, rng=stream(seed, "lead"))
    span = drawn.interval("lead")
    value = abs(float(scores[best] - scores[second]))
    if span.status != "ok":
        return one.estimate("lead", Coefficient(value, n=n), best=one.respondents[best], second=one.respondents[second])
    fixed = Bounds(span.low, span.high, f"{span.method} bootstrap of {span.clusters} clusters", span.level)
    return one.estimate(
        "lead", Coefficient(value, n=n, fixed=fixed), best=one.respondents[best], second=one.respondents[second]
    )


def _saturation(one: Case, higher: bool) -> Iterable[Estimate]:
    n = len(one.respondents)
    if not one.additive:
        absent = Coefficient.absent("not_applicable", f"{one.metric.name} is no share of items", n)
        yield from (one.estimate(name, absent) for name in ("headroom", "solved_by_all"))
        return
    found = saturation(one.item_scores[0], higher_is_better=higher)
    if found.status != "ok":
        absent = Coefficient.absent(found.status, found.reason, n)
        yield from (one.estimate(name, absent) for name in ("headroom", "solved_by_all"))
        return
    yield one.estimate(
        "headroom",
        Coefficient(found.headroom, n=n),
        at_ceiling=number(found.at_ceiling),
        at_floor=number(found.at_floor),
    )
    yield one.estimate(
        "solved_by_all", Coefficient(found.solved_by_all, n=n), solved_by_none=number(found.solved_by_none),
        easy=number(found.easy), hard=number(found.hard),
    )  # fmt: skip


def blind_strategies(items: Iterable[Item]) -> dict[str, float]:
    """What answers that look at nothing score: the commonest answer throughout, and the commonest of each type."""
    every = list(items)
    if not every or every[0].task not in ("yes_no", "choice"):
        return {}
    total = Counter(str(item.target) for item in every)
    by_type: dict[str, Counter[str]] = {}
    for item in every:
        by_type.setdefault(item.type or "", Counter())[str(item.target)] += 1
    return {
        "one answer": max(total.values()) / len(every),
        "each type's commonest answer": sum(max(counts.values()) for counts in by_type.values()) / len(every),
    }


def _chance(one: Case, blind: ScoreMatrix | None, higher: bool) -> Estimate:
    n = len(one.respondents)
    items = [item for item, inside in zip(one.first.items, one.mask, strict=True) if inside]
    strategies = blind_strategies(items) if one.additive and higher and not one.metric.group else {}
    if not strategies:
        reason = "there is no blind answer to compare with: the metric is no share of right labels"
        return one.estimate("above_chance", Coefficient.absent("not_applicable", reason, n))
    if blind is not None:
        without = blind.score(one.metric)
        if np.isfinite(without).any():
            strategies["the best respondent without pictures"] = float(np.nanmax(without))
    found = chance_corrected(one.scores[0], strategies)
    if found.status != "ok":
        return one.estimate("above_chance", Coefficient.absent(found.status, found.reason, n), strategies=strategies)
    values = np.array(found.values)
    known = values[np.isfinite(values)]
    below = [one.respondents[i] for i in found.not_above]
    by = {name: number(float(v)) for name, v in zip(one.respondents, values, strict=True)}
    return one.estimate(
        "above_chance", Coefficient(float(known.mean()) if len(known) else np.nan, n=n), flags=found.flags, blind=number(found.blind),
        strategy=found.strategy, strategies=strategies, not_above=below, by_respondent=by,
    )  # fmt: skip
