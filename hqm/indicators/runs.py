"""The same form in several runs: how far the scores repeat with other seeds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hqm.indicators.agreement import ICC_A1
from hqm.indicators.cases import Case, number, numbers
from hqm.indicators.families import TEST_RETEST
from hqm.indicators.value import RUNS, Indicator, Lack, Need, Result, known, need, result, study_of
from hqm.psychometrics import (
    Coefficient,
    GeneralizedRetest,
    RankStability,
    icc,
    kendall_w,
    noise_floor,
    rank_stability,
    rho_g,
    rho_g_of_scores,
    standardized_reliability,
)
from hqm.psychometrics.weights import stream
from hqm.scoring.metrics import Array

LENGTH = 1000
"""The common length that reliabilities are brought to, in items."""


def retest_of(case: Case) -> GeneralizedRetest:
    """Reliability from the items' noise: of a mean from its items, of a ratio from its scores
    without each cluster.
    """
    if case.additive:
        return rho_g(case.item_scores, case.clusters, n_effective=case.n_effective)
    return rho_g_of_scores(case.scores, without=case.without, n_effective=case.n_effective)


def _rho(case: Case) -> Coefficient:
    return case.once_for_all(retest_of).rho


def _rho_g(case: Case) -> Result:
    study = case.once_for_all(retest_of)
    return result(
        study.rho,
        flags=("DRIFT",) if study.drift.status == "ok" and study.drift.p < 0.05 else (),
        sem=number(study.sem_pooled),
        by_respondent=_of_each(case, study.sem),
        average_of_runs=number(study.rho_average.value),
        runs=study.runs,
    )


def _of_each(case: Case, values: Array) -> dict[str, float | None]:
    return dict(zip(case.respondents, numbers(values), strict=True))


def _floor(case: Case) -> Coefficient:
    return noise_floor(case.scores[0], len(case.clusters))


def _no_gain(case: Case) -> Lack | None:
    for source in (case.once(_floor), _rho(case)):
        if source.status not in ("ok", "not_informative"):
            return Lack(source.status, source.reason)
    return Lack("degenerate", "the noise floor is 1") if case.once(_floor).value >= 1 else None


def _gain(case: Case) -> Coefficient:
    """`(rho_G - r0) / (1 - r0)`: 0 where the answers repeat no better than coin flips at each
    respondent's own rate, 1 where they are identical. The flag `NOISE_FLOOR` stands at .5 and
    below.
    """
    floor = case.once(_floor).value
    value = (_rho(case).value - floor) / (1 - floor)
    return Coefficient(value, flags=("NOISE_FLOOR",) if value <= 0.5 else ())


def _at_common_length(case: Case) -> Result:
    """`rho_g` brought to 1,000 items by the formula of Spearman and Brown."""
    return result(
        standardized_reliability(_rho(case), max(len(case.clusters), 1), LENGTH), length=LENGTH
    )


def _drift(case: Case) -> Result:
    """The P-value of the test for drift that `rho_g` makes."""
    drift = case.once_for_all(retest_of).drift
    return result(replace(known(drift.p, drift), n=drift.n), statistic=number(drift.statistic))


def _sem(case: Case) -> Result:
    """The square root of the mean noise variance that `rho_g` finds. It is pooled over the
    respondents: each one's own stands in the detail, from its own items, with the lowest and the
    highest.
    """
    study = case.once_for_all(retest_of)
    return result(_of_noise(case, study.sem_pooled), **_own(case, study.sem))


def _mdc95(case: Case) -> Result:
    """1.96 times the square root of 2 times `sem`: the repeatability coefficient of Bland and
    Altman, pooled over the respondents. Each one's own stands in the detail; 95 % of the
    differences between two runs of a respondent lie within that respondent's own.
    """
    study = case.once_for_all(retest_of)
    return result(_of_noise(case, study.mdc95_pooled), **_own(case, study.mdc95))


def _own(case: Case, values: Array) -> dict[str, Any]:
    known_ones = values[np.isfinite(values)]
    ends = [float(known_ones.min()), float(known_ones.max())] if len(known_ones) else [None, None]
    return {"by_respondent": _of_each(case, values), "range": ends, "pooled": True}


def _of_noise(case: Case, value: float) -> Coefficient:
    # identical runs have no noise, which is said of the reliability and holds of the noise
    rho = _rho(case)
    if rho.status == "not_informative" and math.isfinite(value):
        return Coefficient(value, status=rho.status, reason=rho.reason)
    return known(value, rho, "no noise")


def _ranks(case: Case) -> RankStability:
    study = case.once_for_all(retest_of)
    return rank_stability(
        study.scores.mean(axis=0),
        study.noise,
        stream(case.seed, f"{case.family}.ranks"),
        k=(1, 3, 5, 10),
        higher_is_better=case.metric.better != "lower",
    )


def _of_ranks(value: float, **detail: Any) -> Result:
    return result(known(value, missing="undefined"), **(detail if math.isfinite(value) else {}))


def _top_k(case: Case) -> Result:
    top = case.once(_ranks).top
    rows = [
        {
            "k": t.k,
            "overlap": number(t.overlap),
            "same_set": number(t.same_set),
            "chance": number(t.chance),
        }
        for t in top
    ]
    three = next((t for t in top if t.k == 3), None)
    return (
        _of_ranks(three.overlap, k=3, chance=number(three.chance), rows=rows)
        if three
        else _of_ranks(math.nan)
    )


def _pair_flip(case: Case) -> Result:
    ranks = case.once(_ranks)
    return _of_ranks(
        ranks.mean_flip, adjacent=number(ranks.adjacent_flip), top5=number(ranks.top5_flip)
    )


def _kendall_w(case: Case) -> Result:
    study = kendall_w(
        case.scores.T, stream(case.seed, f"{case.family}.kendall_w"), families=case.families or None
    )
    return result(study.w, mean_spearman=number(study.mean_spearman))


_SHARE = need(
    "a metric that is a share of items",
    lambda case: case.metric.share,
    "{metric} is no share of items, so coin flips have no variance to compare with",
)
_RANKS = (
    RUNS,
    study_of("a reliability of one run", _rho),
    study_of("an order of the respondents", _ranks, reason="undefined"),
)
_THREE = (RUNS, need("three runs", lambda case: len(case.matrices) > 2))
_FAMILY = (TEST_RETEST,)

indicators = (
    Indicator(
        name="rho_g",
        compares_spread=True,
        title="rho_G, one run",
        family=_FAMILY,
        needs=(RUNS,),
        compute=_rho_g,
        explains=(rho_g, rho_g_of_scores),
        meaning=(
            "Reliability of one run from the items that changed between runs; an interval for these"
            " respondents (a fixed facet), one for others (a random facet)."
        ),
        headline=_FAMILY,
        repeats=True,
    ),
    Indicator(
        name="noise_floor",
        title="noise floor r0",
        family=_FAMILY,
        needs=(RUNS, _SHARE),
        compute=lambda case: case.once(_floor),
        meaning=(
            "The correlation that independent coin flips at each respondent's own rate would reach."
        ),
        explains=(noise_floor,),
        headline=_FAMILY,
        better="neither",
    ),
    Indicator(
        name="gain",
        title="gain over coin flips",
        family=_FAMILY,
        explains=(noise_floor, rho_g),
        compute=_gain,
        repeats=True,
        meaning="How far the reliability lies from coin flips (0) towards identical answers (1).",
        needs=(RUNS, _SHARE, Need("a noise floor below 1 and a reliability", _no_gain)),
    ),
    Indicator(
        name="rho_g_1000",
        compares_spread=True,
        title="rho_G at 1,000 items",
        family=_FAMILY,
        needs=(RUNS,),
        compute=_at_common_length,
        meaning=(
            "The same reliability at a common length of 1,000 items, so that benchmarks of"
            " different length compare."
        ),
        explains=(standardized_reliability,),
        headline=_FAMILY,
        repeats=True,
    ),
    Indicator(
        name="drift",
        family=_FAMILY,
        needs=(RUNS,),
        compute=_drift,
        explains=(rho_g,),
        better="neither",
        meaning=(
            "P-value of the test that scores differ between runs by no more than their items'"
            " noise."
        ),
    ),
    Indicator(
        name="sem",
        title="standard error of measurement, pooled",
        family=_FAMILY,
        needs=(RUNS,),
        compute=_sem,
        explains=(rho_g,),
        meaning=(
            "Standard error of measurement of one run, pooled over the respondents, in score units;"
            " each has its own."
        ),
        better="lower",
    ),
    Indicator(
        name="mdc95",
        title="smallest real difference, pooled",
        family=_FAMILY,
        needs=(RUNS,),
        compute=_mdc95,
        explains=(rho_g,),
        meaning=(
            "Repeatability coefficient, pooled over the respondents; each has its own smallest real"
            " difference between two runs."
        ),
        better="lower",
    ),
    Indicator(
        name="same_winner",
        family=_FAMILY,
        needs=_RANKS,
        explains=(rank_stability,),
        meaning="Probability that two runs put the same respondent first.",
        compute=lambda case: _of_ranks(case.once(_ranks).same_winner),
    ),
    Indicator(
        name="top_k",
        family=_FAMILY,
        needs=_RANKS,
        compute=_top_k,
        explains=(rank_stability,),
        meaning=(
            "Mean share of the best three that two runs share; the chance value stands beside it."
        ),
    ),
    Indicator(
        name="pair_flip",
        family=_FAMILY,
        needs=_RANKS,
        compute=_pair_flip,
        explains=(rank_stability,),
        headline=_FAMILY,
        meaning=(
            "Probability that two runs order a pair of respondents differently, mean over pairs."
        ),
        better="lower",
    ),
    Indicator(
        name="expected_tau",
        family=_FAMILY,
        needs=_RANKS,
        explains=(rank_stability,),
        meaning="Kendall's tau to expect between two runs.",
        compute=lambda case: _of_ranks(
            case.once(_ranks).expected_tau, to_truth=number(case.once(_ranks).tau_to_truth)
        ),
    ),
    Indicator(
        name="kendall_w",
        title="Kendall's W",
        family=_FAMILY,
        needs=_THREE,
        compute=_kendall_w,
        explains=(kendall_w,),
        repeats=True,
        meaning="Kendall's W: agreement of three or more rankings.",
    ),
    replace(
        ICC_A1,
        family=_FAMILY,
        needs=_THREE,
        compute=lambda case: result(
            icc(case.scores.T, n_effective=case.n_effective).a1, runs=len(case.matrices)
        ),
    ),
)
