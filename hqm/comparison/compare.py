"""Compare audits over the respondents they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from hqm.auditing.audit import Audit, BenchmarkAudit, check_each_once
from hqm.auditing.study_records import parts_in
from hqm.benchmark.corrected_keys import CorrectedKey
from hqm.comparison.measure_tests import (
    agreements,
    by_types,
    closer,
    column,
    respondent_tests,
    separations,
    side_by_side,
    tested,
)
from hqm.comparison.measures import (
    Closer,
    Comparison,
    Difference,
    ForecastPair,
    Measure,
    measures_of,
)
from hqm.decisions.prices import ANSWERS, PriceList, UnitPrices, unit_prices
from hqm.errors import DesignError
from hqm.psychometrics import (
    Bounds,
    Coefficient,
    Contest,
    StudyParts,
    StudySize,
    compare_studies,
    family_dependence,
    forecast,
    forecast_bounds,
    holm_in_order,
    pearson,
)
from hqm.respondents.kinds import check_families, families_of, infer_family
from hqm.types import Cell


def compare_audits(
    audits: Sequence[Audit | BenchmarkAudit],
    *,
    metrics: Sequence[str] = (),
    length: int | None = None,
    families: Mapping[str, str] | None = None,
    seed: int = 0,
    command: str = "",
    forecast: bool = False,
    prices: PriceList | None = None,
) -> Comparison:
    """Several audits (or several metrics, scorings, parsers of one benchmark) over the same
    respondents.

    Nobody is asked anything: every number is a function of what the audits hold. A difference is
    tested for these respondents, each picture left out of both measures, and for other respondents,
    the same ones drawn for both, relatives together. One adjustment (Holm) holds for all tests of
    measures; a test that could not be made has its reason.

    Parameters
    ----------
    audits
        What to compare; every audited metric is a measure.
    metrics
        The metrics to take; all audited ones unless given.
    length
        The number of items at which lengths are made equal; that of the shortest measure unless
        given.
    families
        Respondent -> family, beyond what the audits say.
    seed
        Of the resampling.
    command
        For the record.
    forecast
        Whether to forecast, for each pair of measures, which to trust for whom at equal cost.
    prices
        Of answers and verdicts, for the forecast; what it does not say comes from the audits'
        records.

    Returns
    -------
    Comparison
        All respondents that every measure scored go into its tests; with fewer than three of them
        nothing is tested, and the measures stand side by side.

    Raises
    ------
    DesignError
        There are fewer than two measures.
    """
    every = [
        audited
        for audit in audits
        for audited in (audit.audits if isinstance(audit, Audit) else (audit,))
    ]
    check_each_once(every)
    measures = measures_of(every, metrics)
    if len(measures) < 2:
        raise DesignError(
            "a comparison needs two measures, there is"
            f" {measures[0].label if measures else 'none'}",
            remedy="Name further audits, or repeat --metric, --scoring, --parser or --judge.",
        )
    names = [name for name in measures[0].scores if all(name in m.scores for m in measures)]
    protocol = tuple(dict.fromkeys(_protocol(audited) for audited in every))
    common = length or min(m.items for m in measures)
    if len(names) < 3:
        return _untested(measures, len(names), common, protocol, command)
    check_families(families, names)
    given = {name: family for audited in every for name, family in audited.families.items()} | dict(
        families or {}
    )
    family_names = families_of(names, given)
    costs = {
        b.benchmark: a.record.get("costs", {}).get(b.benchmark, {})
        for a in audits
        if isinstance(a, Audit)
        for b in a.audits
    }
    effective = _effective(measures, names, family_names)
    table, ratios = by_types(measures, names)
    pairs = respondent_tests(measures, names)
    differences, goes_with = adjusted_together(
        tested(measures, names, family_names, effective, common, seed),
        closer(measures, names, effective),
    )
    return Comparison(
        measures=measures,
        respondents=tuple(names),
        families=dict(zip(names, family_names, strict=True)),
        n_effective=effective,
        length=common,
        indicators=side_by_side(measures, names, family_names),
        differences=differences,
        agreements=tuple(agreements(measures, names, effective, seed)),
        closer=goes_with,
        types=table,
        distinct=ratios,
        separations=tuple(separations(measures, names, pairs)),
        ranks={
            label: dict(zip(names, tests.rank_intervals, strict=True))
            for label, tests in pairs.items()
        },
        command=command,
        protocol=protocol,
        notes=tuple(_notes(measures, names, family_names)),
        tools=_tools(every),
        forecasts=forecasts(measures, names, effective, costs, prices) if forecast else (),
    )


def _untested(
    measures: tuple[Measure, ...],
    shared: int,
    length: int,
    protocol: tuple[str, ...],
    command: str,
) -> Comparison:
    """Return measures that stand side by side, because too few respondents have all of them."""
    there = "; ".join(f"{m.label}: {len(m.scores)}" for m in measures)
    return Comparison(
        measures=measures,
        respondents=(),
        families={},
        n_effective=None,
        length=length,
        command=command,
        protocol=protocol,
        notes=(
            f"Nothing is tested: the measures share {shared} respondents ({there}), and a test"
            " needs three or more under the same names.",
        ),
    )


def adjusted_together(
    differences: Sequence[Difference], goes_with: Sequence[Closer]
) -> tuple[tuple[Difference, ...], tuple[Closer, ...]]:
    """One adjustment over all tests of measures; each difference is asked of these respondents
    first, of others if these differ.
    """
    adjusted = iter(
        holm_in_order(
            [*((d.these.p, d.others.p) for d in differences), *((c.test.p,) for c in goes_with)]
        )
    )
    kept = []
    for difference in differences:
        these, others = next(adjusted)
        kept.append(replace(difference, adjusted_these=these, adjusted_others=others))
    return tuple(kept), tuple(replace(c, adjusted=next(adjusted)[0]) for c in goes_with)


def _effective(
    measures: Sequence[Measure], names: Sequence[str], family_names: Sequence[str]
) -> float | None:
    """The smallest effective number of respondents over measures; None where every respondent is a
    family of its own.

    One family is one respondent. Where the scores do not say how alike relatives are, a family
    counts once.
    """
    related = len(set(family_names))
    if related == len(names):
        return None
    if related == 1:
        return 1.0
    effective = [family_dependence(column(m, names), family_names).n_eff for m in measures]
    known = [n for n in effective if math.isfinite(n)]
    return min(known) if known else float(related)


def _notes(measures: Sequence[Measure], names: Sequence[str], family_names: list[str]) -> list[str]:
    notes = []
    if len(set(family_names)) == 1:
        notes.append(
            f"All respondents are of one family ({family_names[0]}): there is no interval and no"
            " test for other respondents."
        )
    elif len(set(family_names)) < len(names) and family_names == [
        infer_family(name) for name in names
    ]:
        notes.append(
            "The families are told from the respondents' names; `--family FILE` says them."
        )
    absent = {m.label: len(set(m.scores) - set(names)) for m in measures}
    if any(absent.values()):
        counts = ", ".join(f"{label} {n}" for label, n in absent.items() if n)
        notes.append(f"Respondents that not every measure scored are left out: {counts}.")
    unequal = dict.fromkeys(f"{m.title}: {m.unequal}" for m in measures if m.unequal)
    notes.extend(unequal)
    if np.ptp([m.items for m in measures]) > 0.5 * min(m.items for m in measures):
        notes.append(
            "LENGTH_CONFOUND: the measures differ in length by more than half; read the tests at a"
            " common length."
        )
    if any(a.answers == b.answers for i, a in enumerate(measures) for b in measures[:i]):
        notes.append(
            "Measures scored from the same answers share their noise: they agree more than separate"
            " tests would."
        )
    return notes


def _tools(audits: Sequence[BenchmarkAudit]) -> tuple[Mapping[str, Any], ...]:
    """Where tools score otherwise than HQM, each administration once for each of HQM's scorings."""
    known = {
        (audit.benchmark, tool["respondent"], tool["form"], tool["run"], tool["scoring"]): tool
        for audit in audits
        for tool in audit.tools
    }
    return tuple(known.values())


def _protocol(audit: BenchmarkAudit) -> str:
    """What was administered and how it was scored, in one sentence."""
    cells = [Cell.parse(name) for name in audit.cells]
    runs = len({cell.run for cell in cells})
    forms = ", ".join(dict.fromkeys(cell.form for cell in cells))
    reader = f", parser {audit.parser}" if audit.parser else ""
    judge = Cell.parse(audit.reference).judge
    judged = "" if judge == "rule" else f", judged by {judge}"
    return (
        f"{audit.title} {audit.version}: {audit.n_items:,} items, {len(audit.respondents)}"
        f" respondents, runs {runs}, forms {forms}; {', '.join(audit.metrics)}; {audit.scoring}"
        f" scoring{reader}{judged}"
    )


# --- which of two measures to trust for whom, in studies of equal cost (--forecast) ---


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


# --- what a corrected key does to scores, ranks and reliability ---


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
        items=before.n_items,
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
        for e in audit.all_estimates
        if e.indicator == indicator and e.metric == metric and e.status == "ok"
    ]
    return matching[0].value if matching else None
