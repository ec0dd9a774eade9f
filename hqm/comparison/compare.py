"""Compare audits over the respondents they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, combinations, compress, repeat
from operator import attrgetter, itemgetter

import numpy as np

from hqm.auditing.audit import Audit, BenchmarkAudit, check_no_duplicates
from hqm.auditing.score_differences import ToolRow
from hqm.auditing.study_records import read_components
from hqm.benchmark.corrected_keys import CorrectedKey
from hqm.comparison.measure_tests import (
    agreements,
    by_types,
    column,
    respondent_tests,
    separations,
    side_by_side,
    tested_differences,
    williams_comparisons,
)
from hqm.comparison.measures import (
    Comparison,
    Difference,
    ForecastPair,
    Measure,
    WilliamsComparison,
    measures_of,
)
from hqm.comparison.prices import ANSWERS, Costs, PriceList, UnitPrices, unit_prices
from hqm.errors import DesignError
from hqm.psychometrics import (
    Coefficient,
    ConfidenceInterval,
    compare_studies,
    family_dependence,
    forecast,
    forecast_interval,
    holm_in_order,
    pearson,
)
from hqm.psychometrics.variance.study_forecast import Contest, StudySize
from hqm.psychometrics.variance.study_variance import StudyComponents
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
    benchmark_audits: list[BenchmarkAudit] = []
    costs: dict[str, Costs] = {}
    for audit in audits:
        if isinstance(audit, Audit):
            benchmark_audits += audit.audits
            costs |= _answer_costs(audit)
        else:
            # Without its Audit it has no record, so its answers have no price of their own.
            benchmark_audits.append(audit)
    check_no_duplicates(benchmark_audits)
    measures = measures_of(benchmark_audits, metrics)
    if len(measures) < 2:
        raise DesignError(
            "a comparison needs two measures, there is"
            f" {measures[0].label if measures else 'none'}",
            remedy="Name further audits, or repeat --metric, --scoring, --parser or --judge.",
        )
    shared = set(measures[0].scores).intersection(*map(attrgetter("scores"), measures))
    # In the order of the first measure: the order of a set would change the resampling.
    names = [name for name in measures[0].scores if name in shared]
    protocol = tuple(dict.fromkeys(map(_protocol, benchmark_audits)))
    # The shortest, so that no measure is extrapolated beyond the items that it has.
    common_length = length or min(map(attrgetter("items"), measures))
    # A correlation of two respondents is 1 or -1, whatever their scores.
    if len(names) < 3:
        return _untested_comparison(measures, len(names), common_length, protocol, command)
    check_families(families, names)
    named_families: dict[str, str] = {}
    for audited in benchmark_audits:
        named_families |= audited.families
    # What the caller says goes before what the audits recorded.
    family_names = families_of(names, named_families | dict(families or {}))
    effective = _effective(measures, names, family_names)
    table, ratios = by_types(measures, names)
    pairs = respondent_tests(measures, names)
    differences, williams_tests = adjust_differences(
        tested_differences(measures, names, family_names, effective, common_length, seed),
        williams_comparisons(measures, names, effective),
    )
    return Comparison(
        measures=measures,
        respondents=tuple(names),
        families=dict(zip(names, family_names, strict=True)),
        n_effective=effective,
        length=common_length,
        indicators=side_by_side(measures, names, family_names),
        differences=differences,
        agreements=tuple(agreements(measures, names, effective, seed)),
        closer=williams_tests,
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
        tools=_tools(benchmark_audits),
        forecasts=forecasts(measures, names, effective, costs, prices) if forecast else (),
    )


def _answer_costs(audit: Audit) -> dict[str, Costs]:
    """Return benchmark -> what its answers took, from the record of an audit."""
    costs = audit.record.get("costs", {})
    return {audited.benchmark: costs.get(audited.benchmark, {}) for audited in audit.audits}


def _untested_comparison(
    measures: tuple[Measure, ...],
    shared: int,
    length: int,
    protocol: tuple[str, ...],
    command: str,
) -> Comparison:
    """Return measures that stand side by side, because too few respondents have all of them."""
    counts = "; ".join(f"{m.label}: {len(m.scores)}" for m in measures)
    return Comparison(
        measures=measures,
        respondents=(),
        families={},
        n_effective=None,
        length=length,
        command=command,
        protocol=protocol,
        notes=(
            f"Nothing is tested: the measures share {shared} respondents ({counts}), and a test"
            " needs three or more under the same names.",
        ),
    )


def adjust_differences(
    differences: Sequence[Difference], williams_tests: Sequence[WilliamsComparison]
) -> tuple[tuple[Difference, ...], tuple[WilliamsComparison, ...]]:
    """Adjust all tests of measures together (Holm); a difference is tested for these respondents
    first, and for others if it holds for these.
    """
    p_values = list(map(attrgetter("p_values"), chain(differences, williams_tests)))
    # All tests that are printed together: corrected indicator by indicator, a comparison of several
    # would exceed its level.
    adjusted = iter(holm_in_order(p_values))
    adjusted_differences = []
    for difference in differences:
        p_fixed, p_random = next(adjusted)
        adjusted_differences.append(
            replace(difference, adjusted_these=p_fixed, adjusted_others=p_random)
        )
    adjusted_tests = tuple(replace(c, adjusted=next(adjusted)[0]) for c in williams_tests)
    return tuple(adjusted_differences), adjusted_tests


def _effective(
    measures: Sequence[Measure], names: Sequence[str], family_names: Sequence[str]
) -> float | None:
    """The smallest effective number of respondents over measures; None where every respondent is a
    family of its own.

    One family is one respondent. Where the scores do not say how alike relatives are, a family
    counts once.
    """
    n_families = len(set(family_names))
    if n_families == len(names):
        return None
    # Of one family nothing can be said of others, whatever its scores are.
    if n_families == 1:
        return 1.0
    effective = [family_dependence(column(m, names), family_names).n_eff for m in measures]
    return min(filter(math.isfinite, effective), default=float(n_families))


def _notes(measures: Sequence[Measure], names: Sequence[str], family_names: list[str]) -> list[str]:
    notes = []
    if len(set(family_names)) == 1:
        notes.append(
            f"All respondents are of one family ({family_names[0]}): there is no interval and no"
            " test for other respondents."
        )
    elif len(set(family_names)) < len(names) and family_names == list(map(infer_family, names)):
        notes.append(
            "Families are inferred from the respondents' names; `--family FILE` sets them."
        )
    absent = []
    unequal = []
    for m in measures:
        if n_absent := len(m.scores.keys() - names):
            absent.append(f"{m.label} {n_absent}")
        if m.unequal:
            unequal.append(f"{m.title}: {m.unequal}")
    if absent:
        notes.append(
            f"Respondents that not every measure scored are left out: {', '.join(absent)}."
        )
    # Several metrics of one audit say the same of it: each sentence once.
    notes += dict.fromkeys(unequal)
    lengths = list(map(attrgetter("items"), measures))
    if np.ptp(lengths) > 0.5 * min(lengths):
        notes.append(
            "LENGTH_CONFOUND: the measures differ in length by more than half; read the tests at a"
            " common length."
        )
    if len(set(map(attrgetter("answers"), measures))) < len(measures):
        notes.append(
            "Measures scored from the same answers share their errors, and agree more than measures"
            " that were asked separately."
        )
    return notes


def _tools(audits: Sequence[BenchmarkAudit]) -> tuple[ToolRow, ...]:
    """Return where tools score differently from HQM, each administration once for each scoring."""
    administration = itemgetter("respondent", "form", "run", "scoring")
    tools: dict[object, ToolRow] = {}
    for audit in audits:
        for tool in audit.tools:
            tools[audit.benchmark, administration(tool)] = tool
    return tuple(tools.values())


def _protocol(audit: BenchmarkAudit) -> str:
    """Return what was administered and how it was scored, in one sentence."""
    cells = list(map(Cell.parse, audit.cells))
    runs = len(set(map(attrgetter("run"), cells)))
    forms = ", ".join(dict.fromkeys(map(attrgetter("form"), cells)))
    sentence = (
        f"{audit.title} {audit.version}: {audit.n_items:,} items, {len(audit.respondents)}"
        f" respondents, runs {runs}, forms {forms}; {', '.join(audit.metrics)}; {audit.scoring}"
        " scoring"
    )
    if audit.parser:
        sentence += f", parser {audit.parser}"
    judge = Cell.parse(audit.reference).judge
    if judge != "rule":
        sentence += f", judged by {judge}"
    return sentence


# --- which of two measures to trust for whom, in studies of equal cost (--forecast) ---


def forecasts(
    measures: Sequence[Measure],
    names: Sequence[str],
    n_effective: float | None,
    costs: Mapping[str, Costs],
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
    studies = []
    for m in measures:
        # A reply of a judge costs; a rule's verdict does not, and people's labels have their price.
        judged = m.words.get("judge", "rule") not in ("rule", "human")
        price = unit_prices(prices, costs.get(m.benchmark, {}), list(m.scores), judged=judged)
        studies.append((m, _components_of(m), price))
    pairs = []
    for (a, study_a, price_a), (b, study_b, price_b) in combinations(studies, 2):
        pair = _pair(a, b, (study_a, study_b), (price_a, price_b), names, n_effective)
        pairs.append(pair)
    # Between equal benchmarks one of them was to be trusted in 26 to 44 % of the comparisons before
    # this was tested.
    adjusted = holm_in_order([[pair.these.p, pair.others.p] for pair in pairs])
    return tuple(map(_adjusted_pair, pairs, adjusted))


def _components_of(measure: Measure) -> StudyComponents:
    """Return the variance components of a measure, with the reason where its audit has none."""
    if measure.components:
        return read_components(measure.components)[0]
    reason = (
        "the audit has no variance components, because an earlier version wrote it: run `hqm"
        " audit` again"
    )
    return StudyComponents(status="insufficient", reason=reason)


def _adjusted_pair(pair: ForecastPair, p_values: Sequence[float]) -> ForecastPair:
    """Return a pair with the p-values of its contests adjusted."""
    p_fixed, p_random = p_values
    fixed_contest = replace(pair.these, adjusted=p_fixed)
    random_contest = replace(pair.others, adjusted=p_random)
    return replace(pair, these=fixed_contest, others=random_contest)


def _pair(
    first: Measure,
    second: Measure,
    components: tuple[StudyComponents, StudyComponents],
    prices: tuple[UnitPrices, UnitPrices],
    names: Sequence[str],
    n_effective: float | None,
) -> ForecastPair:
    priced = prices[0].unit == prices[1].unit != ANSWERS
    # Where one of them has no price, the answers of both are counted, and a verdict as one more.
    answer_prices = [(p.answer + p.verdict) if priced else 1.0 + (p.verdict > 0) for p in prices]
    costs = (p * m.items for p, m in zip(answer_prices, (first, second), strict=True) if p > 0)
    cost = len(names) * min(costs, default=0.0)
    sizes = []
    items = []
    pictures = []
    for study, price in zip(components, answer_prices, strict=True):
        # What costs nothing is not limited by the cost: its study stays as long as it is.
        count = cost / (price * len(names)) if price > 0 else float(study.items)
        sizes.append(StudySize(pictures=count / study.per_picture, items=study.per_picture))
        items.append(round(count))
        pictures.append(round(count / study.per_picture))
    r = pearson(column(first, names), column(second, names)).value
    compared = compare_studies(
        components[0],
        components[1],
        (sizes[0], sizes[1]),
        r if math.isfinite(r) else 0.0,
        n_effective or float(len(names)),
    )
    figures = tuple(map(_figure, components, repeat("mdd"), sizes))
    g = tuple(map(_reliability, components, sizes, compared.g))
    return ForecastPair(
        first.label,
        second.label,
        cost,
        prices[0].unit if priced else ANSWERS,
        (items[0], items[1]),
        (pictures[0], pictures[1]),
        (g[0], g[1]),
        (figures[0], figures[1]),
        _name_measure(compared.fixed_respondents, components, (first, second)),
        _name_measure(compared.other_respondents, components, (first, second)),
    )


def _figure(components: StudyComponents, name: str, size: StudySize) -> Coefficient:
    if components.status != "ok":
        return Coefficient.absent(components.status, components.reason)
    low, high = forecast_interval(components, name, size)
    if math.isfinite(low):
        fixed = ConfidenceInterval(low, high, "delta method")
    else:
        fixed = None
    return Coefficient(
        float(forecast(components, name, size)), n=components.respondents, fixed=fixed
    )


def _reliability(components: StudyComponents, size: StudySize, value: float) -> Coefficient:
    """Return G over pictures and runs with the wording kept, so without components of wordings."""
    if components.status != "ok" or not math.isfinite(value):
        return Coefficient.absent(
            "degenerate", components.reason or "its respondents do not differ beyond chance"
        )
    is_effect_kept = [
        # With the wording kept, what it does to all scores or to a respondent is no error; what it
        # does to items or pictures varies with these.
        "form" not in e or bool({"item", "picture"} & {*e})
        for e in components.effects
    ]
    covariance = components.covariance
    if covariance:
        table = np.asarray(covariance, dtype=np.float64)
        covariance = tuple(map(tuple, table[np.ix_(is_effect_kept, is_effect_kept)].tolist()))
    study_without_forms = StudyComponents(
        effects=tuple(compress(components.effects, is_effect_kept)),
        values=tuple(compress(components.values, is_effect_kept)),
        covariance=covariance,
        respondents=components.respondents,
        families=components.families,
        items=components.items,
        pictures=components.pictures,
        per_picture=components.per_picture,
        crowd=components.crowd,
        judge=components.judge,
    )
    return _figure(study_without_forms, "g", size)


def _name_measure(
    contest: Contest,
    components: tuple[StudyComponents, StudyComponents],
    measures: tuple[Measure, Measure],
) -> Contest:
    """Return a contest whose reason names the measure that it is about."""
    for study, measure in zip(components, measures, strict=True):
        if contest.reason and study.reason == contest.reason:
            return Contest(reason=f"{measure.label}: {contest.reason}")
    return contest


# --- what a corrected key does to scores, ranks and reliability ---


_RELIABILITY_INDICATORS = (
    "test_retest.rho_g",
    "consistency.alpha",
    "discriminability.separable_pairs",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedScore:
    """The score of one respondent by both keys; rank 1 is the best."""

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
    def n_changed_ranks(self) -> int:
        """Number of respondents whose rank changes by the corrected key."""
        return sum(row.rank != row.corrected_rank for row in self.scores)

    def to_dict(self) -> dict[str, object]:
        """Return the value as JSON prints it."""
        return {**asdict(self), "moved": self.n_changed_ranks}


def key_effect(before: BenchmarkAudit, after: BenchmarkAudit, key: CorrectedKey) -> KeyEffect:
    """Compare two audits of the same answers, the second by a corrected key, on the first audited
    metric.
    """
    metric = next(iter(before.metrics))
    higher = before.metrics[metric].get("better", "higher") != "lower"
    release_scores = before.scores_by_name(metric)
    corrected_scores = after.scores_by_name(metric)
    release_ranks = _ranks(release_scores, higher=higher)
    corrected_ranks = _ranks(corrected_scores, higher=higher)
    rows = []
    for name in sorted(release_scores, key=lambda name: release_ranks.get(name, math.inf)):
        score = KeyedScore(
            respondent=name,
            score=release_scores[name],
            corrected=corrected_scores.get(name),
            rank=release_ranks.get(name),
            corrected_rank=corrected_ranks.get(name),
        )
        rows.append(score)
    reliability = {}
    for name in _RELIABILITY_INDICATORS:
        values = (_value(before, name, metric), _value(after, name, metric))
        if values != (None, None):
            reliability[name] = values
    return KeyEffect(
        benchmark=before.benchmark,
        metric=metric,
        key=key.path,
        items=before.n_items,
        changed=len(key.changed),
        left_out=len(key.left_out),
        scores=tuple(rows),
        reliability=reliability,
    )


def _ranks(scores: Mapping[str, float | None], *, higher: bool) -> dict[str, int]:
    scored = {name: score for name, score in scores.items() if score is not None}
    ordered = sorted(scored.values(), reverse=higher)
    # Equal scores share the best of their ranks: `index` finds the first of them.
    return {name: 1 + ordered.index(score) for name, score in scored.items()}


def _value(audit: BenchmarkAudit, indicator: str, metric: str) -> float | None:
    for e in audit.all_estimates:
        if (e.indicator, e.metric, e.status) == (indicator, metric, "ok"):
            return e.value
    return None
