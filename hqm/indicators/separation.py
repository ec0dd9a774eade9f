"""Which respondents one administration separates, and what stands in its way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from hqm.indicators.cases import Case, leave_one_out_scores
from hqm.indicators.indicator import (
    DISCRIMINABILITY,
    MEAN_OF_ITEMS,
    SCORE,
    SCORE_WIDTH,
    SHARE,
    SHARE_OF_REST,
    Indicator,
    Result,
    need,
    need_study,
    result,
    to_coefficient,
)
from hqm.psychometrics import (
    Coefficient,
    ConfidenceInterval,
    aggregate,
    chance_corrected,
    conditional_errors,
    holm_tests,
    minimum_detectable_difference,
    paired_differences,
    resample,
    saturation,
    stream,
)
from hqm.psychometrics.inference.discriminability import ConditionalErrors, Saturation
from hqm.psychometrics.inference.pairwise import (
    ContrastOutcome,
    NeighbourPair,
    PairwiseDifferences,
    RankContrast,
    adjust_by_rank,
    pairwise_tests,
    rank_contrasts,
)
from hqm.scoring.matrix import Sums, Units
from hqm.scoring.metrics import Array
from hqm.types import CLOSED_TASKS, Estimate, Item, finite


def _higher(case: Case) -> bool:
    return case.metric.better != "lower"


def _pseudo_values(case: Case) -> Array:
    """(respondents, clusters): jackknife pseudo-values of the reference's scores, whose mean is the
    score.
    """
    left = case.jackknife_scores[0]
    count = left.shape[1]
    # Tukey (1958): C theta - (C - 1) theta_(c); their mean is the jackknife estimate and their
    # spread its error
    return np.asarray(count * case.scores[0][:, None] - (count - 1) * left)


def _differences(case: Case) -> PairwiseDifferences:
    """Every pair of respondents over the items that both answered."""
    if case.additive:
        return paired_differences(case.first_scores, case.clusters, higher_is_better=_higher(case))
    # of complete answers, pairs are compared cluster by cluster through pseudo-values
    if case.units[0].scored.all():
        study = paired_differences(_pseudo_values(case), higher_is_better=_higher(case))
        # Pseudo-values are of clusters, and a pair says how many items it shares: of complete
        # answers all.
        m, n_items = case.units[0].scored.shape
        return replace(study, items=((n_items,) * m,) * m if study.items else ())
    return _shared_differences(case)


def _shared_differences(case: Case) -> PairwiseDifferences:
    """Every pair by a metric that is no mean of item scores, computed over what both answered."""
    units = case.units[0]
    m = len(units.scored)
    difference = np.zeros((m, m))
    se = np.zeros((m, m))
    items = np.zeros((m, m), dtype=np.int64)
    clusters = np.zeros((m, m), dtype=np.int64)
    for a, b in combinations(range(m), 2):
        # both scores must rest on the same items, else the difference has the items' own in it
        shared = units.scored[a] & units.scored[b]
        names, labels = np.unique(units.clusters[shared], return_inverse=True)
        items[a, b] = items[b, a] = shared.sum()
        clusters[a, b] = clusters[b, a] = len(names)
        # A single cluster has no error over clusters: the pair stays untested.
        if len(names) < 2:
            continue
        tallies = {key: values[[a, b]][:, shared] for key, values in units.tallies.items()}
        pair_units = Units(tallies, np.ones((2, int(shared.sum())), dtype=bool), labels)
        left = leave_one_out_scores(pair_units, case.metric)
        score = case.metric(pair_units.sums)[:, None]
        count = len(names)
        # the same as `_pseudo_values`, of two respondents over the items that they share
        pseudo_values = count * score - (count - 1) * left
        gap = pseudo_values[0] - pseudo_values[1]
        difference[a, b] = gap.mean()
        difference[b, a] = -gap.mean()
        se[a, b] = se[b, a] = gap.std(ddof=1) / np.sqrt(count)
    return pairwise_tests(
        case.scores[0],
        difference,
        se,
        items=items,
        clusters=clusters,
        higher_is_better=_higher(case),
    )


def _separable_pairs(case: Case) -> Result:
    """The number of pairs that stay separate after Holm's correction, divided by the number of
    pairs.
    """
    study = case.cached(_differences)
    n_separable, pairs = study.separable_pairs()
    return result(
        n_separable / pairs,
        tied_sets=list(map(case.names, study.tied_sets)),
        ranks=dict(zip(case.respondents, map(list, study.rank_intervals), strict=True)),
        order=case.names(study.order),
        apart=n_separable,
        pairs=pairs,
    )


def _separable_adjacent(case: Case) -> Result:
    """The number of neighbours that differ, adjusted by rank, divided by the number of
    neighbours.
    """
    study = case.cached(_differences)
    pairs = study.neighbour_pairs()
    # adjusted in order of rank: a pair below another cannot take level from it
    p_values = [pair.p for pair in pairs]
    n_different = int((adjust_by_rank(p_values) <= 1 - study.level).sum())
    # the upper triangle: every pair once, without the diagonal
    items = np.array(study.items)[np.triu_indices(len(study.scores), 1)]
    return result(
        n_different / len(pairs),
        apart=n_different,
        pairs=len(pairs),
        contrasts=[
            {
                "first": case.respondents[pair.first],
                "second": case.respondents[pair.second],
                "difference": finite(pair.difference),
                "error": finite(pair.se),
                "p": finite(pair.p),
                "items": pair.items,
                "clusters": pair.clusters,
                "rivals": pair.rivals,
            }
            for pair in pairs
        ],
        shared_items=[int(items.min()), int(items.max())],
    )


def _minimum_difference(case: Case) -> Result:
    """Of the pair whose standard error is the median of all pairs; Student's t over clusters of
    items.
    """
    study = case.cached(_differences)
    typical = _typical_error(study)
    return result(
        _detectable_difference(study, typical),
        error=finite(typical),
        any_pair=finite(_detectable_difference(study, typical, _tests(study))),
    )


def _minimum_difference_holm(case: Case) -> Result:
    """As `minimum_difference`, with the level divided as Holm's procedure divides it for the pairs
    still undecided.
    """
    study = case.cached(_differences)
    typical = _typical_error(study)
    # pairs that are decided already leave their level to those that are not
    n_separable, pairs = study.separable_pairs()
    return result(
        _detectable_difference(study, typical, _tests(study)),
        error=finite(typical),
        tests=_tests(study),
        apart=n_separable,
        pairs=pairs,
    )


def _typical_error(study: PairwiseDifferences) -> float:
    errors = np.asarray(study.se)[np.triu_indices(len(study.scores), 1)]
    # the median pair stands for the comparison that is planned
    return float(np.median(errors))


def _tests(study: PairwiseDifferences) -> float:
    n_separable, pairs = study.separable_pairs()
    return holm_tests(pairs, n_separable)


def _detectable_difference(study: PairwiseDifferences, error: float, tests: float = 1.0) -> float:
    return minimum_detectable_difference(
        error, level=study.level, tests=tests, clusters=study.n_clusters
    )


def _lead(case: Case) -> Result:
    """The interval is a bootstrap over pictures, whatever the metric is; the value is the
    difference of the two scores.
    """
    scores = case.scores[0]
    sign = 1 if _higher(case) else -1
    # respondents without a score have no place in the order
    ranked = np.flatnonzero(np.isfinite(scores))
    # Stable, so that of equal scores the first row leads on every machine.
    best, second = ranked[np.argsort(-sign * scores[ranked], kind="stable")][:2].tolist()
    units = case.units[0]
    names = sorted(case.units[0].tallies)
    columns = [aggregate(units.tallies[key][[best, second]].T, units.clusters) for key in names]

    # both respondents in every resample: what makes an item hard for both cancels
    def gap(sums: Array) -> Array:
        by_name = {key: sums[:, 2 * i : 2 * i + 2] for i, key in enumerate(names)}
        value = case.metric(Sums(by_name, len(sums), 2))
        return np.asarray((value[:, 0] - value[:, 1]) * sign)

    # columns of both respondents stand side by side, resampled together
    table = np.concatenate(columns, axis=1)
    span = resample(table, gap, rng=stream(case.seed, "lead"))
    fixed = ConfidenceInterval(
        span.low, span.high, f"{span.method} bootstrap of {span.clusters} clusters", span.level
    )
    value = Coefficient(
        abs(float(scores[best] - scores[second])), fixed=fixed if span.status == "ok" else None
    )
    return result(value, best=case.respondents[best], second=case.respondents[second])


def _saturation(case: Case) -> Saturation:
    return saturation(case.shares(case.first_scores), higher_is_better=_higher(case))


def _headroom(case: Case) -> Result:
    study = case.cached(_saturation)
    return result(
        study.headroom * case.scale[1],
        at_ceiling=finite(study.at_ceiling),
        at_floor=finite(study.at_floor),
    )


def _solved_by_all(case: Case) -> Result:
    study = case.cached(_saturation)
    return result(
        study.solved_by_all,
        solved_by_none=finite(study.solved_by_none),
        easy=finite(study.easy),
        hard=finite(study.hard),
    )


def _blind_answers(case: Case) -> dict[str, float]:
    """What answers that look at nothing score, of a share of right labels."""
    if not case.metric.share or not _higher(case) or case.metric.group:
        return {}
    return _commonest(case.items)


def _commonest(items: Iterable[Item]) -> dict[str, float]:
    """The share of right labels of the commonest answer throughout, and of the commonest of each
    type.
    """
    item_list = list(items)
    if not item_list or item_list[0].task not in CLOSED_TASKS:
        return {}
    by_type: dict[str, Counter[str]] = {}
    for item in item_list:
        by_type.setdefault(item.type or "", Counter())[str(item.target)] += 1
    total = sum(by_type.values(), Counter[str]())
    return {
        "one answer": max(total.values()) / len(item_list),
        # within each type the commonest answer, which a model that reads types would give
        "each type's commonest answer": (
            sum(max(counts.values()) for counts in by_type.values()) / len(item_list)
        ),
    }


def _above_chance(case: Case) -> Result:
    """The mean over respondents whose score is known."""
    strategies = dict(case.cached(_blind_answers))
    # what a model reaches without the pictures is a blind strategy as well
    if case.blind is not None:
        unseen = case.blind.score(case.metric)
        if np.isfinite(unseen).any():
            strategies["the best respondent without pictures"] = float(np.nanmax(unseen))
    study = chance_corrected(case.scores[0], strategies)
    if study.status != "ok":
        return result(to_coefficient(np.nan, study), strategies=strategies)
    values = np.array(study.values)
    scored = values[np.isfinite(values)]
    return result(
        float(scored.mean()) if len(scored) else np.nan,
        flags=study.flags,
        blind=finite(study.blind),
        strategy=study.strategy,
        strategies=strategies,
        not_above=case.names(study.not_above),
        by_respondent=case.by_respondent(values),
    )


_FAMILY = (DISCRIMINABILITY,)
_PAIRS = (need_study("respondents whose differences can be tested", _differences),)
_SATURATION = (
    need(
        "a metric that is a mean of item scores",
        lambda case: case.additive,
        lambda case: case.reason_no_mean,
    ),
    need_study("scores of the items", _saturation),
)
_TWO_SCORES = need(
    "two scores",
    lambda case: int(np.isfinite(case.scores[0]).sum()) >= 2,
    "there are fewer than two scores",
    "insufficient",
)
_LABELS = need(
    "a share of right labels",
    lambda case: bool(case.cached(_blind_answers)),
    "there is no blind answer to compare with: the metric is no share of right labels",
)

_MIN_SATURATED_SHARE = 0.15
"""The share of respondents in a range where nothing is separated that changes what a leaderboard
may be used for (Terwee and others 2007: 15 % at an end).
"""


def _errors_by_score(case: Case) -> ConditionalErrors:
    return conditional_errors(case.shares(case.oriented), case.clusters)


def _measures_up_to(case: Case) -> Result:
    """The lower end of the range, on the metric's own scale."""
    study = case.cached(_errors_by_score)
    # Of fewer than 14 respondents 15 % would be a single one, which says nothing of a range.
    min_saturated = max(2, _MIN_SATURATED_SHARE * len(case.respondents))
    flags = []
    for flag, respondents in (("CEILING", study.in_top), ("FLOOR", study.in_bottom)):
        if len(respondents) >= min_saturated:
            flags.append(flag)
    errors = []
    width = case.scale[1]
    for score, other_items, these_items in zip(
        study.score, study.other_items, study.these_items, strict=True
    ):
        errors.append(
            {
                "score": _on_scale(case, score),
                "other_items": other_items * width,
                "these_items": these_items * width,
            }
        )
    return result(
        float(_on_scale(case, study.top)),
        flags=tuple(flags),
        bottom=float(_on_scale(case, study.bottom)),
        in_top=case.names(study.in_top),
        in_bottom=case.names(study.in_bottom),
        errors=errors,
    )


def _on_scale(case: Case, score: float) -> float:
    """A share of the scale of which more is better, on the metric's own scale."""
    low, width = case.scale
    return low + width * (score if _higher(case) else 1 - score)


# --- the contrasts, read back from an estimate ---

_CONTRASTS = "discriminability.separable_adjacent"
"""The indicator whose detail has the contrasts."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two neighbours of the leaderboard, how many items both answered, and their contrast."""

    first: str
    second: str
    items: int
    contrast: RankContrast

    @property
    def outcome(self) -> ContrastOutcome:
        """Whether the two differ, are equal within the margin, or neither is known."""
        return self.contrast.outcome


def contrasts_in(
    estimates: Iterable[Estimate], equal_within: float = 0.01, width: float | None = 1.0
) -> tuple[Neighbours, ...]:
    """Return the planned contrasts that estimates of one metric hold.

    `equal_within` is a share of the scale, which is `width` wide; where the scale has no ends, it
    is a difference of scores.
    """
    rows = contrast_detail(estimates).get("contrasts") or ()
    margin = equal_within * (1.0 if width is None else width)
    pairs = [_read_pair(index, row) for index, row in enumerate(rows)]
    contrasts = rank_contrasts(pairs, margin=margin, width=width)
    return tuple(
        Neighbours(str(row["first"]), str(row["second"]), pair.items, contrast)
        for row, pair, contrast in zip(rows, pairs, contrasts, strict=True)
    )


def contrast_detail(estimates: Iterable[Estimate]) -> Mapping[str, Any]:
    """Return the detail that holds the contrasts; empty without one."""
    for estimate in estimates:
        if estimate.indicator == _CONTRASTS:
            return estimate.detail
    return {}


def _read_pair(index: int, row: Mapping[str, Any]) -> NeighbourPair:
    """Return the pair of a row: numbers that do not exist are NaN."""
    # Contrasts stand from the first rank on, so that a row's index is the rank of its better
    # respondent.
    return NeighbourPair(
        index,
        index + 1,
        _number(row["difference"]),
        _number(row["error"]),
        _number(row["p"]),
        int(row["items"]),
        int(row["clusters"]),
        int(row["rivals"]),
    )


def _number(value: float | None) -> float:
    if value is None:
        return math.nan
    return float(value)


indicators = (
    Indicator(
        name="separable_pairs",
        unit=SHARE,
        family=_FAMILY,
        needs=_PAIRS,
        compute=_separable_pairs,
        explains=(paired_differences,),
        meaning="Share of all pairs of respondents that are shown to differ (Holm over all pairs).",
        headline=_FAMILY,
    ),
    Indicator(
        name="separable_adjacent",
        unit=SHARE,
        family=_FAMILY,
        needs=_PAIRS,
        compute=_separable_adjacent,
        explains=(paired_differences, rank_contrasts),
        meaning=(
            "The share of neighbours on the leaderboard that are shown to differ, in tests planned"
            " from the first rank on (fallback procedure)."
        ),
    ),
    Indicator(
        name="minimum_difference",
        unit=SCORE_WIDTH,
        family=_FAMILY,
        needs=_PAIRS,
        compute=_minimum_difference,
        better="lower",
        headline=_FAMILY,
        meaning=(
            "The smallest difference between two respondents that one planned comparison finds with"
            " 80% power."
        ),
        explains=(minimum_detectable_difference, paired_differences),
    ),
    Indicator(
        name="minimum_difference_holm",
        unit=SCORE_WIDTH,
        title="minimum difference, any pair (Holm)",
        family=_FAMILY,
        needs=_PAIRS,
        compute=_minimum_difference_holm,
        better="lower",
        headline=_FAMILY,
        meaning=(
            "The smallest difference found with 80% power for any pair, when all pairs are compared"
            " (Holm)."
        ),
        explains=(minimum_detectable_difference, holm_tests, paired_differences),
    ),
    Indicator(
        name="lead",
        unit=SCORE,
        family=_FAMILY,
        needs=(_TWO_SCORES,),
        compute=_lead,
        explains=(resample,),
        meaning=(
            "How far the best respondent is ahead of the second, with a bootstrap interval over"
            " clusters of items."
        ),
    ),
    Indicator(
        name="headroom",
        unit=SCORE,
        family=_FAMILY,
        needs=_SATURATION,
        compute=_headroom,
        explains=(saturation,),
        meaning="What is left above the best score.",
    ),
    Indicator(
        name="solved_by_all",
        unit=SHARE,
        family=_FAMILY,
        needs=_SATURATION,
        compute=_solved_by_all,
        explains=(saturation,),
        better="lower",
        meaning="Share of items that every respondent gets right.",
    ),
    Indicator(
        name="above_chance",
        unit=SHARE_OF_REST,
        title="above blind answers",
        family=_FAMILY,
        needs=(_LABELS,),
        compute=_above_chance,
        meaning=(
            "Mean score beyond what blind guessing by the types' majority reaches, as a share of"
            " what is left."
        ),
        explains=(chance_corrected,),
        headline=_FAMILY,
    ),
    Indicator(
        name="measures_up_to",
        unit=SCORE,
        family=(DISCRIMINABILITY,),
        needs=(MEAN_OF_ITEMS, need_study("errors by score", _errors_by_score)),
        compute=_measures_up_to,
        explains=(conditional_errors,),
        headline=(DISCRIMINABILITY,),
        meaning=(
            "The score from which on a respondent is not shown to differ from a full score with"
            " 80% power; with it, the error of a score over the whole range."
        ),
    ),
)
