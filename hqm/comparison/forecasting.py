"""Which of two measures to trust for whom, in studies of equal cost: `hqm compare --forecast`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from hqm.auditing.auditor import parts_in
from hqm.comparison.measure_tests import column
from hqm.comparison.measures import ForecastPair, Measure
from hqm.decisions.prices import ANSWERS, PriceList, UnitPrices, unit_prices
from hqm.psychometrics import (
    Bounds,
    Coefficient,
    Contest,
    StudyParts,
    StudySize,
    compare_studies,
    forecast,
    forecast_bounds,
    holm_in_order,
    pearson,
)


def forecasts(
    measures: Sequence[Measure],
    names: Sequence[str],
    n_effective: float | None,
    costs: Mapping[str, Any],
    prices: PriceList | None = None,
) -> tuple[ForecastPair, ...]:
    """Every pair of measures, each in as large a study as the cheaper of their audits costs in one
    run of one wording.

    Which of two to trust is tested over all pairs together, of these respondents and then of others
    (Holm): between equal measures, a difference beyond its standard error is found every third
    time.

    Parameters
    ----------
    names
        The respondents that the measures share.
    n_effective
        How many independent respondents these are; all where None.
    costs
        Benchmark -> what its answers took, from the record of its audit.
    """
    parts = {
        m.label: (
            parts_in(m.components)[0]
            if m.components
            else StudyParts(status="insufficient", reason=_OLD)
        )
        for m in measures
    }
    unit = {
        m.label: unit_prices(prices, costs.get(m.benchmark, {}), list(m.scores), judged=_judged(m))
        for m in measures
    }
    pairs = [
        _pair(
            a,
            b,
            (parts[a.label], parts[b.label]),
            (unit[a.label], unit[b.label]),
            names,
            n_effective,
        )
        for a, b in combinations(measures, 2)
    ]
    adjusted = holm_in_order([[pair.these.p, pair.others.p] for pair in pairs])
    return tuple(
        replace(
            pair,
            these=replace(pair.these, adjusted=these),
            others=replace(pair.others, adjusted=others),
        )
        for pair, (these, others) in zip(pairs, adjusted, strict=True)
    )


_OLD = "the audit holds no variance components: make it again, it was written by an earlier version"


def _judged(measure: Measure) -> bool:
    return measure.words.get("judge", "rule") not in ("rule", "human")


def _pair(
    first: Measure,
    second: Measure,
    parts: tuple[StudyParts, StudyParts],
    prices: tuple[UnitPrices, UnitPrices],
    names: Sequence[str],
    n_effective: float | None,
) -> ForecastPair:
    priced = prices[0].unit == prices[1].unit != ANSWERS
    # where one of them has no price, the answers of both are counted
    each = [(p.answer + p.verdict) if priced else 1.0 + (p.verdict > 0) for p in prices]
    bills = [
        cost * measure.items * len(names)
        for cost, measure in zip(each, (first, second), strict=True)
    ]
    cost = min(bills)
    sizes, items, pictures = [], [], []
    for own, price in zip(parts, each, strict=True):
        count = cost / (price * len(names)) if price > 0 else float(own.items)
        sizes.append(StudySize(pictures=count / own.per_picture, items=own.per_picture))
        items.append(round(count))
        pictures.append(round(count / own.per_picture))
    r = pearson(column(first, names), column(second, names)).value
    compared = compare_studies(
        parts[0],
        parts[1],
        (sizes[0], sizes[1]),
        r if math.isfinite(r) else 0.0,
        n_effective or float(len(names)),
    )
    figures = [
        [_figure(own, name, size) for own, size in zip(parts, sizes, strict=True)]
        for name in ("mdd",)
    ]
    g = [
        _reliability(own, size, value)
        for own, size, value in zip(parts, sizes, compared.g, strict=True)
    ]
    return ForecastPair(
        first.label,
        second.label,
        cost,
        prices[0].unit if priced else ANSWERS,
        (items[0], items[1]),
        (pictures[0], pictures[1]),
        (g[0], g[1]),
        (figures[0][0], figures[0][1]),
        _named(compared.these, parts, (first, second)),
        _named(compared.others, parts, (first, second)),
    )


def _figure(parts: StudyParts, name: str, size: StudySize) -> Coefficient:
    if parts.status != "ok":
        return Coefficient.absent(parts.status, parts.reason)
    low, high = forecast_bounds(parts, name, size)
    fixed = Bounds(low, high, "delta method") if math.isfinite(low) else None
    return Coefficient(float(forecast(parts, name, size)), n=parts.respondents, fixed=fixed)


def _reliability(parts: StudyParts, size: StudySize, value: float) -> Coefficient:
    """G over pictures and runs, the wording kept: as `g` of a study without the parts of
    wordings.
    """
    if parts.status != "ok" or not math.isfinite(value):
        return Coefficient.absent(
            "degenerate", parts.reason or "its respondents do not differ beyond chance"
        )
    kept = [i for i, e in enumerate(parts.effects) if "form" not in e or {"item", "picture"} & {*e}]
    table = np.asarray(parts.covariance, dtype=np.float64)
    own = StudyParts(
        effects=tuple(parts.effects[i] for i in kept),
        values=tuple(parts.values[i] for i in kept),
        covariance=tuple(map(tuple, table[np.ix_(kept, kept)].tolist())) if table.size else (),
        respondents=parts.respondents,
        families=parts.families,
        items=parts.items,
        pictures=parts.pictures,
        per_picture=parts.per_picture,
        crowd=parts.crowd,
        judge=parts.judge,
    )
    return _figure(own, "g", size)


def _named(
    contest: Contest, parts: tuple[StudyParts, StudyParts], measures: tuple[Measure, Measure]
) -> Contest:
    """A contest whose reason says which measure it is about."""
    for own, measure in zip(parts, measures, strict=True):
        if contest.reason and own.reason == contest.reason:
            return Contest(reason=f"{measure.label}: {contest.reason}")
    return contest
