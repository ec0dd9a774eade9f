"""How far scores repeat with other seeds: in several runs, from probabilities, and as variance
components.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import compress

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from hqm.indicators.cases import Case, numbers
from hqm.indicators.indicator import (
    ADDITIVE,
    CORRELATION,
    EXPECTED,
    GENERALIZABILITY,
    P_VALUE,
    RELIABILITY,
    RUNS,
    SCORE_WIDTH,
    SHARE,
    SHARE_DIFFERENCE,
    TEST_RETEST,
    Absence,
    Indicator,
    Need,
    Result,
    need,
    need_study,
    result,
    to_coefficient,
)
from hqm.indicators.paired_scores import ICC_A1, far_influence
from hqm.psychometrics import (
    Coefficient,
    cheapest_designs,
    crossed_components,
    d_study,
    expected_retest,
    g_and_phi,
    g_study,
    icc,
    noise_floor,
    rank_stability,
    rho_g,
    rho_g_of_scores,
    standardized_reliability,
    stream,
)
from hqm.psychometrics.agreement.ranks import RankStability
from hqm.psychometrics.reliability.retest import GeneralizedRetest
from hqm.psychometrics.reliability.score_dependability import Dependability
from hqm.psychometrics.variance.generalizability import DStudy, GStudy
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array
from hqm.types import finite

LENGTH = 1000
"""The number of items to which reliabilities are converted, so that they can be compared."""


def retest_of(case: Case) -> GeneralizedRetest:
    """Reliability from the items' noise: of a mean from its items, of a ratio from its scores
    without each cluster.
    """
    # of a ratio such as F1 there is no item noise to add up
    if case.additive:
        return rho_g(case.item_scores, case.clusters, **case.dependence)
    return rho_g_of_scores(case.scores, replicates=case.jackknife_scores, **case.dependence)


def _rho(case: Case) -> Coefficient:
    return case.cached_across_cases(retest_of).rho


def _rho_g(case: Case) -> Result:
    study = case.cached_across_cases(retest_of)
    mean_scores = study.scores.mean(axis=0)
    flags, influence_detail = far_influence(
        case, study.rho, mean_scores, partial(_reliability_of, case)
    )
    detail = {
        **influence_detail,
        "sem": finite(study.sem_pooled),
        "by_respondent": _by_respondent(case, study.sem),
        "average_of_runs": finite(study.rho_average.value),
        "runs": study.runs,
    }
    return Result(study.rho, detail, flags)


def _reliability_of(case: Case, respondents: npt.NDArray[np.intp]) -> float:
    """The reliability among some of the respondents."""
    if case.additive:
        return rho_g(case.item_scores[:, respondents], case.clusters).rho.value
    replicates = np.asarray(case.jackknife_scores)[:, respondents]
    return rho_g_of_scores(np.asarray(case.scores)[:, respondents], replicates=replicates).rho.value


def _by_respondent(case: Case, values: Array) -> dict[str, float | None]:
    return dict(zip(case.respondents, numbers(values), strict=True))


def _floor(case: Case) -> Coefficient:
    # One coin an item, or group of items: `clusters` has an entry for each.
    return noise_floor(case.scores[0], len(case.clusters))


def _no_gain(case: Case) -> Absence | None:
    """Why there is no gain over coin flips; None where there is one."""
    floor = case.cached(_floor)
    for source in (floor, _rho(case)):
        if source.status not in ("ok", "not_informative"):
            return Absence(source.status, source.reason)
    if floor.value >= 1:
        return Absence("degenerate", "the noise floor is 1")
    return None


def _gain(case: Case) -> Coefficient:
    """`(rho_G - r0) / (1 - r0)`: 0 where the answers repeat no better than coin flips at each
    respondent's own rate, 1 where they are identical. The flag `NOISE_FLOOR` stands at .5 and
    below.
    """
    floor = case.cached(_floor).value
    # As kappa takes chance off an agreement: what is left of the way from chance to 1.
    value = (_rho(case).value - floor) / (1 - floor)
    return Coefficient(value, flags=("NOISE_FLOOR",) if value <= 0.5 else ())


def _at_common_length(case: Case) -> Result:
    """`rho_g` brought to 1,000 items by the formula of Spearman and Brown."""
    return result(
        standardized_reliability(_rho(case), max(len(case.clusters), 1), LENGTH), length=LENGTH
    )


def _drift(case: Case) -> Result:
    """The P-value of the test for drift that `rho_g` makes."""
    drift = case.cached_across_cases(retest_of).drift
    return result(
        replace(to_coefficient(drift.p, drift), n=drift.n), statistic=finite(drift.statistic)
    )


def _sem(case: Case) -> Result:
    """The square root of the mean noise variance that `rho_g` finds. It is pooled over the
    respondents: each one's own stands in the detail, from its own items, with the lowest and the
    highest.
    """
    study = case.cached_across_cases(retest_of)
    return Result(_noise_coefficient(case, study.sem_pooled), _pooled_detail(case, study.sem))


def _mdc95(case: Case) -> Result:
    """1.96 times the square root of 2 times `sem`: the repeatability coefficient of Bland and
    Altman, pooled over the respondents. Each one's own stands in the detail; 95 % of the
    differences between two runs of a respondent lie within that respondent's own.
    """
    # pooled: the root of the mean variance, so that respondents with a large error weigh more
    study = case.cached_across_cases(retest_of)
    return Result(_noise_coefficient(case, study.mdc95_pooled), _pooled_detail(case, study.mdc95))


def _pooled_detail(case: Case, values: Array) -> dict[str, object]:
    finite_values = values[np.isfinite(values)]
    ends: list[float | None] = [None, None]
    if len(finite_values):
        ends = [float(finite_values.min()), float(finite_values.max())]
    return {"by_respondent": _by_respondent(case, values), "range": ends, "pooled": True}


def _noise_coefficient(case: Case, value: float) -> Coefficient:
    # identical runs have no noise, which is why of the reliability and holds of the noise
    rho = _rho(case)
    if rho.status == "not_informative" and math.isfinite(value):
        return Coefficient(value, status=rho.status, reason=rho.reason)
    return to_coefficient(value, rho, "no noise")


def _ranks(case: Case) -> RankStability:
    study = case.cached_across_cases(retest_of)
    # From each respondent's own noise: near-ties of noisy models change places most.
    return rank_stability(
        study.scores.mean(axis=0),
        study.noise,
        stream(case.seed, f"{case.family}.ranks"),
        k=(1, 3, 5, 10),
        higher_is_better=case.metric.better != "lower",
    )


def _rank_result(value: float, **detail: object) -> Result:
    coefficient = to_coefficient(value, missing="undefined")
    if math.isfinite(value):
        return Result(coefficient, detail)
    return Result(coefficient)


def _top_k(case: Case) -> Result:
    top = case.cached(_ranks).top
    rows = [
        {
            "k": t.k,
            "overlap": finite(t.overlap),
            "same_set": finite(t.same_set),
            "chance": finite(t.chance),
        }
        for t in top
    ]
    for t in top:
        # Three of each benchmark, so that the number can be compared; the other sizes stand in the
        # detail.
        if t.k == 3:
            return _rank_result(t.overlap, k=3, chance=finite(t.chance), rows=rows)
    return _rank_result(math.nan)


def _pair_flip(case: Case) -> Result:
    ranks = case.cached(_ranks)
    return _rank_result(
        ranks.mean_flip, adjacent=finite(ranks.adjacent_flip), top5=finite(ranks.top5_flip)
    )


_SHARE = need(
    "a metric that is a share of items",
    lambda case: case.metric.share,
    "{metric} is no share of items, so coin flips have no variance to compare with",
)
_RANKS = (
    RUNS,
    need_study("a reliability of one run", _rho),
    need_study("an order of the respondents", _ranks, reason="undefined"),
)
_THREE = (RUNS, need("three runs", lambda case: len(case.matrices) > 2))
_RETEST_FAMILY = (TEST_RETEST,)

_OF_RUNS = (
    Indicator(
        name="rho_g",
        unit=RELIABILITY,
        one_sided=True,
        title="rho_G, one run",
        family=_RETEST_FAMILY,
        needs=(RUNS,),
        compute=_rho_g,
        explains=(rho_g, rho_g_of_scores),
        meaning=(
            "Reliability of one run from the items that changed between runs; an interval for these"
            " respondents (a fixed facet), a lower end for others (a random facet)."
        ),
        headline=_RETEST_FAMILY,
        repeats=True,
    ),
    Indicator(
        name="noise_floor",
        unit=CORRELATION,
        title="noise floor r0",
        family=_RETEST_FAMILY,
        needs=(RUNS, _SHARE),
        compute=lambda case: case.cached(_floor),
        meaning=(
            "The correlation that independent coin flips at each respondent's own rate would reach."
        ),
        explains=(noise_floor,),
        headline=_RETEST_FAMILY,
        better="neither",
    ),
    Indicator(
        name="gain",
        unit=SHARE_DIFFERENCE,
        title="gain over coin flips",
        family=_RETEST_FAMILY,
        explains=(noise_floor, rho_g),
        compute=_gain,
        repeats=True,
        meaning="How far the reliability lies from coin flips (0) towards identical answers (1).",
        needs=(RUNS, _SHARE, Need("a noise floor below 1 and a reliability", _no_gain)),
    ),
    Indicator(
        name="rho_g_1000",
        unit=RELIABILITY,
        one_sided=True,
        title="rho_G at 1,000 items",
        family=_RETEST_FAMILY,
        needs=(RUNS,),
        compute=_at_common_length,
        meaning=(
            "The same reliability at a common length of 1,000 items, so that benchmarks of"
            " different length compare."
        ),
        explains=(standardized_reliability,),
        headline=_RETEST_FAMILY,
        repeats=True,
    ),
    Indicator(
        name="drift",
        unit=P_VALUE,
        family=_RETEST_FAMILY,
        needs=(RUNS,),
        compute=_drift,
        explains=(rho_g,),
        better="neither",
        meaning=(
            "P-value of the test that scores differ between runs by no more than random changes of"
            " single answers explain."
        ),
    ),
    Indicator(
        name="sem",
        unit=SCORE_WIDTH,
        title="standard error of measurement, pooled",
        family=_RETEST_FAMILY,
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
        unit=SCORE_WIDTH,
        title="smallest real difference, pooled",
        family=_RETEST_FAMILY,
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
        unit=SHARE,
        family=_RETEST_FAMILY,
        needs=_RANKS,
        explains=(rank_stability,),
        meaning="Probability that two runs put the same respondent first.",
        compute=lambda case: _rank_result(case.cached(_ranks).same_winner),
    ),
    Indicator(
        name="top_k",
        unit=SHARE,
        family=_RETEST_FAMILY,
        needs=_RANKS,
        compute=_top_k,
        explains=(rank_stability,),
        meaning=(
            "Mean share of the best three that two runs share; the chance value is shown beside it."
        ),
    ),
    Indicator(
        name="pair_flip",
        unit=SHARE,
        family=_RETEST_FAMILY,
        needs=_RANKS,
        compute=_pair_flip,
        explains=(rank_stability,),
        headline=_RETEST_FAMILY,
        meaning=(
            "Probability that two runs order a pair of respondents differently, mean over pairs."
        ),
        better="lower",
    ),
    Indicator(
        name="expected_tau",
        unit=CORRELATION,
        family=_RETEST_FAMILY,
        needs=_RANKS,
        explains=(rank_stability,),
        meaning="Kendall's tau to expect between two runs.",
        compute=lambda case: _rank_result(
            case.cached(_ranks).expected_tau, to_truth=finite(case.cached(_ranks).tau_to_truth)
        ),
    ),
    replace(
        ICC_A1,
        family=_RETEST_FAMILY,
        needs=_THREE,
        compute=lambda case: result(
            icc(case.scores.T, **case.dependence).a1, runs=len(case.matrices)
        ),
    ),
)


TEMPERATURES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0)
"""Where the curve over temperature is drawn."""
_MIN_PROBABILITY_SHARE = 0.9
"""The share of items that need a probability before anything is estimated."""


def _metric_probabilities(case: Case) -> Array:
    """(respondents, items): the probabilities of the items that the metric looks at."""
    probabilities = case.probabilities
    # probabilities of single answers are those that the sampling used
    if probabilities is None or not len(probabilities):
        return np.empty((0, case.n_items))
    return probabilities[:, case.mask]


def _multiword_share(case: Case) -> Array:
    """(respondents,): the share of a respondent's answers that have more than one word."""
    words = case.first.words[:, case.mask]
    n_answers = np.isfinite(words).sum(axis=1)
    return np.asarray((words > 1).sum(axis=1) / np.maximum(n_answers, 1), dtype=np.float64)


def _has_probabilities(case: Case) -> npt.NDArray[np.bool_]:
    """(respondents,): whether nearly all of a respondent's items have a probability, which nearly
    always tells the whole answer.
    """
    probabilities = case.cached(_metric_probabilities)
    if not len(probabilities):
        return np.zeros(0, dtype=bool)
    # nearly all items: an average over some would be another benchmark
    has_probability = np.isfinite(probabilities).mean(axis=1) >= _MIN_PROBABILITY_SHARE
    # Up to a tenth of a respondent's answers may have more words: they change its mean little.
    multiword = case.cached(_multiword_share) > 1 - _MIN_PROBABILITY_SHARE
    return np.asarray(has_probability & ~multiword)


def _missing_probabilities(case: Case) -> str:
    """Why fewer than three respondents have probabilities that tell their answers; nothing where
    there are none at all.
    """
    probabilities = case.cached(_metric_probabilities)
    if not np.isfinite(probabilities).any():
        return ""
    # The probability of a first word is none of an answer of several words.
    answered = np.isfinite(probabilities).mean(axis=1) >= _MIN_PROBABILITY_SHARE
    n_multiword = int((answered & ~case.cached(_has_probabilities)).sum())
    reason = (
        f"{int(case.cached(_has_probabilities).sum())} of {len(answered)} respondents have"
        " probabilities that tell their answers, and three are needed"
    )
    if n_multiword:
        reason += (
            f"; {n_multiword} answer in more than one word, and the probability of the first word"
            " is not that of the answer: take the first token alone as the answer (--max-tokens"
            " 1), or ask again (--runs 2)"
        )
    return reason


def _reliability(case: Case) -> Result:
    has_probabilities = case.cached(_has_probabilities)
    chances = case.cached(_metric_probabilities)[has_probabilities]
    study = expected_retest(chances)
    # Respondents without probabilities are left out, and the detail names those that are in.
    names = compress(case.respondents, has_probabilities)
    by = {
        name: {"kappa": finite(kappa), "agreement": finite(agreement)}
        for name, kappa, agreement in zip(names, study.kappa, study.agreement, strict=True)
    }
    pairs = study.pairs
    rho = study.rho
    if rho.status == "ok":
        rho = Coefficient(
            rho.value, rho.low, rho.high, int(has_probabilities.sum()), rho.level, rho.method
        )
    return result(
        rho,
        flags=("EXPECTED",),
        r_mean=finite(study.r_mean),
        r_deviation=finite(study.r_deviation),
        pair_flip=finite(pairs.mean_flip) if pairs else None,
        expected_tau=finite(pairs.expected_tau) if pairs else None,
        by_respondent=by,
        curve=_temperature_rows(chances, case.temperature) if case.temperature else [],
    )


def _temperature_rows(chances: Array, temperature: float) -> list[dict[str, object]]:
    """The reliability to expect at other temperatures than the one at which all respondents
    answered.
    """
    # A probability of 0 or 1 has no log-odds.
    clipped = np.clip(chances, 1e-9, 1 - 1e-9)
    # temperature scaling: log-odds over t, times the temperature that they were drawn with
    log_odds = temperature * (np.log(clipped) - np.log1p(-clipped))
    return [
        {"temperature": t, "reliability": finite(expected_retest(expit(log_odds / t)).rho.value)}
        for t in TEMPERATURES
    ]


_EXPECTED_FAMILY = (EXPECTED,)
_FROM_PROBABILITIES = (
    Indicator(
        name="reliability",
        unit=RELIABILITY,
        family=_EXPECTED_FAMILY,
        compute=_reliability,
        explains=(expected_retest,),
        headline=_EXPECTED_FAMILY,
        meaning="Expected reliability of one run from the probabilities of the first token.",
        needs=(
            need(
                "a share of right answers",
                lambda case: (
                    case.metric.share and not case.metric.group and case.metric.better != "lower"
                ),
            ),
            need(
                "answers drawn at a temperature above 0",
                lambda case: (
                    case.temperature != 0
                    or not np.isfinite(case.cached(_metric_probabilities)).any()
                ),
                "at temperature 0 a rerun repeats the answers, whatever their probabilities are",
            ),
            need(
                "probabilities of three respondents' answers, and answers that are their first word"
                " alone",
                lambda case: int(case.cached(_has_probabilities).sum()) >= 3,
                _missing_probabilities,
                "insufficient",
            ),
        ),
    ),
)


TARGETS = (0.8, 0.9, 0.95)
"""The dependabilities that a design is sought for."""
_FACTORS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 12, 20)


def _study(case: Case) -> Dependability:
    """Of respondents crossed with items, which lie in pictures, and with what differs: runs, forms
    or judgements.
    """
    # The estimator takes (respondents, items, conditions).
    scores = np.moveaxis(case.item_scores, 0, 2)
    return g_and_phi(
        scores,
        case.facet,
        case.clusters,
        replicated=_replicated(case),
        **case.dependence,
    )


def _replicated(case: Case) -> bool:
    """Whether runs are independent repetitions: they are drawn with seeds of their own, and no
    drift was seen.
    """
    if case.facet != "run":
        # Forms and judges have effects of their own: another one would shift all scores.
        return False
    # A p below .05 means that runs drift and have effects of their own. Negated, so that NaN (no
    # test) is no drift.
    return not case.cached_across_cases(retest_of).drift.p < 0.05


def _d_study(case: Case) -> DStudy:
    """Of one run (or form, or judgement) of all items."""
    return case.cached(_study).design


def _items(study: GStudy) -> int:
    return dict(zip(study.facets, study.sizes, strict=True))["item"]


def _detail(case: Case) -> dict[str, object]:
    study = case.cached(_study).study
    facet = case.facet
    items = _items(study)
    pictures = {"images": study.nested[0][2]} if study.nested else {}
    return {
        "varied": facet,
        "items": items,
        **pictures,
        "components": _components(study, _max_variance(case)),
        "d_study": _designs(study, items, facet),
        "curve": _decision_rows(study, items, facet),
    }


def _max_variance(case: Case) -> float:
    """The largest variance of scores in this range: a quarter of its square."""
    # A variance within a range w is at most w^2 / 4 (Popoviciu 1935). The ends of a share belong to
    # the range, whichever scores occur.
    return float(np.ptp([0.0, 1.0, *case.item_scores[np.isfinite(case.item_scores)]])) ** 2 / 4


def _of_one_run(case: Case, coefficient: Coefficient) -> Result:
    return Result(coefficient, case.cached(_detail))


def _components(study: GStudy, max_variance: float) -> list[dict[str, object]]:
    """The components; what is more than scores of that range can vary is cut, and kept in `raw`."""
    rows: list[dict[str, object]] = []
    for component in study.components:
        effect = component.effect
        rows.append(
            {
                "facet": " x ".join(effect) if isinstance(effect, tuple) else str(effect),
                # a component above what the range allows is an estimate of noise, and is cut
                "variance": finite(min(component.value, max_variance)),
                "raw": finite(component.raw),
                "share": finite(component.share),
                "low": finite(min(component.low, max_variance)),
                "high": finite(min(component.high, max_variance)),
            }
        )
    return rows


def _grid(items: int) -> list[int]:
    # In ratios, since an error goes with the root of the number of items.
    return sorted({max(2, round(items * factor)) for factor in _FACTORS})


def _designs(study: GStudy, items: int, facet: str) -> list[dict[str, object]]:
    def cost(design: Mapping[str, float]) -> float:
        return float(design["item"] * design[facet])

    # Answers are what a study costs: items times runs, or forms, or judgements.
    plans = cheapest_designs(
        study, {"item": _grid(items), facet: (1, 2, 3, 4, 5)}, cost, targets=TARGETS
    )
    rows: list[dict[str, object]] = []
    for plan in plans:
        sizes = {} if plan.design is None else dict(plan.design.sizes)
        rows.append(
            {
                "target": plan.target,
                "items": sizes.get("item"),
                f"{facet}s": sizes.get(facet),
                "answers": finite(plan.cost),
                "reason": plan.reason,
            }
        )
    return rows


def _root(variance: float) -> float:
    """The standard error of a score; NaN for a variance that sampling made negative."""
    if variance >= 0:
        return math.sqrt(variance)
    return math.nan


def _decision_rows(study: GStudy, items: int, facet: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for count in _grid(items):
        single = d_study(study, {"item": count, facet: 1})
        triple = d_study(study, {"item": count, facet: 3})
        rows.append(
            {
                "items": count,
                "phi": finite(single.phi),
                "g": finite(single.g),
                "phi_of_3": finite(triple.phi),
                "error": finite(_root(single.absolute)),
                "error_of_3": finite(_root(triple.absolute)),
            }
        )
    return rows


_VARIANCE_FAMILY = (GENERALIZABILITY,)


def item_targets(matrix: ScoreMatrix) -> list[object]:
    """The keys of the items, in the order of the columns."""
    return [item.target for item in matrix.items]


_SAME_TRUTH = need(
    "forms with the same right answers",
    lambda case: (
        case.facet != "form"
        or all(item_targets(m) == item_targets(case.first) for m in case.matrices[1:])
    ),
    "a form inverts the right answers: who leans towards yes gains on one form what it loses on the"
    " other, which an additive study counts as error",
)
_NEEDS = (ADDITIVE, _SAME_TRUTH, need_study("respondents and items enough for a G study", _d_study))

_OF_VARIANCE = (
    Indicator(
        name="g",
        unit=RELIABILITY,
        one_sided=True,
        title="G, relative",
        family=_VARIANCE_FAMILY,
        needs=_NEEDS,
        headline=_VARIANCE_FAMILY,
        explains=(g_and_phi, d_study, g_study, crossed_components),
        meaning=(
            "Generalizability coefficient of one run: relative error over items in their clusters,"
            " seeds and forms."
        ),
        compute=lambda case: _of_one_run(case, case.cached(_study).g),
    ),
    Indicator(
        name="phi",
        unit=RELIABILITY,
        one_sided=True,
        title="Phi, absolute",
        family=_VARIANCE_FAMILY,
        needs=_NEEDS,
        headline=_VARIANCE_FAMILY,
        explains=(g_and_phi, d_study, g_study, crossed_components),
        meaning=(
            "Dependability Phi of one run: absolute error over items in their clusters, seeds and"
            " forms."
        ),
        compute=lambda case: _of_one_run(case, case.cached(_study).phi),
    ),
)


indicators = (*_OF_RUNS, *_FROM_PROBABILITIES, *_OF_VARIANCE)
