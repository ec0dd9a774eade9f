"""Every estimator refuses one respondent, item or cluster too few, and says why; with exactly enough
it estimates.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.reliability.compare_reliability import (
    LeaveOneOutScores,
    ReliabilityDifference,
)
from hqm.psychometrics.variance import error_budget as budget
from hqm.psychometrics.variance.variance_components import correlation_interval, mean_variance


def scores(respondents: int, columns: int, seed: int = 0) -> np.ndarray:
    """Scores of respondents who differ, with noise."""
    rng = np.random.default_rng(seed)
    return np.linspace(0.2, 0.9, respondents)[:, None] + 0.05 * rng.normal(
        size=(respondents, columns)
    )


def marks(respondents: int, items: int, seed: int = 0) -> np.ndarray:
    """Answers of 0 and 1 by respondents who differ."""
    rng = np.random.default_rng(seed)
    chance = np.linspace(0.25, 0.8, respondents)[:, None]
    return (rng.random((respondents, items)) < chance).astype(float)


def column(n: int) -> np.ndarray:
    return scores(n, 1, 5)[:, 0]


def pair(n: int) -> tuple[np.ndarray, np.ndarray]:
    return scores(n, 1, 1)[:, 0], scores(n, 1, 2)[:, 0]


def leave_one_out_scores(n: int, clusters: int, seed: int = 3) -> LeaveOneOutScores:
    rng = np.random.default_rng(seed)
    items = np.linspace(0, 1, n)[None, :, None] + rng.normal(size=(2, n, clusters))
    total = items.sum(axis=2, keepdims=True)
    replicates = (total - items) / max(clusters - 1, 1)
    names = [f"{seed}-{c}" for c in range(clusters)]
    return LeaveOneOutScores(total[:, :, 0] / clusters, replicates, names)


def gen() -> np.random.Generator:
    return np.random.default_rng(0)


def labels_of(n: int) -> list[str]:
    return gen().permutation(["yes", "no"] * n)[:n].tolist()


MIN_SIZES: dict[str, tuple[int, Callable[[int], Any]]] = {
    "icc, respondents": (3, lambda n: psy.icc(scores(n, 2)).a1),
    "icc, administrations": (2, lambda k: psy.icc(scores(4, k)).c1),
    "concordance": (3, lambda n: psy.concordance(*pair(n)).ccc),
    "bland_altman": (5, lambda n: psy.bland_altman(*pair(n))),
    "cronbach_alpha, respondents": (3, lambda n: psy.cronbach_alpha(scores(n, 4)).coefficient),
    "cronbach_alpha, items": (2, lambda k: psy.cronbach_alpha(scores(5, k)).coefficient),
    "cronbach_alpha, pictures": (
        2,
        lambda c: psy.cronbach_alpha(scores(5, 4), np.arange(4) % c).coefficient,
    ),
    "standardized_alpha, respondents": (3, lambda n: psy.standardized_alpha(scores(n, 3))),
    "standardized_alpha, items": (2, lambda k: psy.standardized_alpha(scores(6, k))),
    "omega_t": (3, lambda k: psy.omega_t(scores(9, k))),
    "omega_of_types, types": (
        3,
        lambda k: psy.omega_of_types(
            marks(14, 20 * k, 2), np.repeat(np.arange(k), 20).astype(str).tolist()
        ),
    ),
    "pearson": (3, lambda n: psy.pearson(*pair(n))),
    "spearman": (3, lambda n: psy.spearman(*pair(n))),
    "kendall_tau_b": (3, lambda n: psy.kendall_tau_b(*pair(n))),
    "partial_pearson": (5, lambda n: psy.partial_pearson(*pair(n), column(n))),
    "repeated_measures": (
        3,
        lambda n: psy.repeated_measures(scores(n, 3, 1), scores(n, 3, 2)).coefficient,
    ),
    "williams_test": (4, lambda n: psy.williams_test(0.5, 0.4, 0.3, n)),
    "resample": (
        2,
        lambda c: psy.resample(np.c_[np.arange(c) + 1.0, np.ones(c)], lambda t: t[:, 0], rng=gen()),
    ),
    "expected_retest": (3, lambda n: psy.expected_retest(np.clip(scores(n, 5), 0.05, 0.95)).rho),
    "rho_g, runs": (2, lambda k: psy.rho_g(np.stack([marks(5, 20, s) for s in range(k)])).rho),
    "rho_g, respondents": (3, lambda n: psy.rho_g(np.stack([marks(n, 20, s) for s in (0, 1)])).rho),
    "rho_g, pictures": (
        2,
        lambda c: psy.rho_g(np.stack([marks(5, 20, s) for s in (0, 1)]), np.arange(20) % c).rho,
    ),
    "rho_g_of_scores": (
        3,
        lambda n: (
            psy.rho_g_of_scores(
                scores(n, 2).T,
                replicates=scores(n, 2).T[:, :, None] + 0.001 * gen().normal(size=(2, n, 9)),
            ).rho
        ),
    ),
    "noise_floor, respondents": (3, lambda n: psy.noise_floor(column(n), 100)),
    "noise_floor, items": (2, lambda k: psy.noise_floor(column(5), k)),
    "shift_heterogeneity": (
        3,
        lambda n: psy.shift_heterogeneity(marks(n, 30, 1), marks(n, 30, 2)).test,
    ),
    "form_reliability": (
        3,
        lambda n: psy.form_reliability(*pair(n), np.full(n, 1e-6), np.full(n, 1e-6)).true,
    ),
    "mean_shift": (1, lambda n: psy.mean_shift(*pair(n))),
    "equivalence": (3, lambda n: psy.equivalence(*pair(n), 0.5)),
    "bias_test": (3, lambda n: psy.bias_test(scores(n, 3))),
    "study_variance_components, respondents": (
        3,
        lambda n: psy.study_variance_components(marks(n, 40)[:, :, None, None]),
    ),
    "study_variance_components, pictures": (
        10,
        lambda c: psy.study_variance_components(marks(6, 40)[:, :, None, None], np.arange(40) % c),
    ),
    "g_study": (2, lambda n: psy.g_study(scores(n, 4), ["m", "i"])),
    "wordings_needed, wordings": (3, lambda k: psy.wordings_needed(scores(9, k), 0.5, gen())),
    "wordings_needed, respondents": (8, lambda n: psy.wordings_needed(scores(n, 3), 0.5, gen())),
    "leave_one_out": (4, lambda n: psy.leave_one_out(lambda i: float(len(i)) / 9, n)),
    "range_restriction": (5, lambda n: psy.range_restriction(column(n))),
    "family_dependence": (
        3,
        lambda n: (
            psy.family_dependence(column(n), ["a", "a", "b", "c"][:n]).icc
            if n > 2
            else psy.Coefficient.absent("insufficient", f"of 2 families, there are {n}")
        ),
    ),
    "reliability_difference, values": (
        3,
        lambda n: (
            psy.reliability_difference(scores(n, 2, 1).T, scores(n, 2, 2).T, gen())
            if n < 3
            else psy.Coefficient(0.0)
        ),
    ),
    "reliability_difference, test": (
        10,
        lambda n: psy.reliability_difference(
            scores(n, 2, 1).T, scores(n, 2, 2).T, gen(), replicates=50
        ),
    ),
    "difference_over_clusters, respondents": (
        3,
        lambda n: psy.difference_over_clusters(
            leave_one_out_scores(n, 12), leave_one_out_scores(n, 12, 9), gen(), draws=50
        ),
    ),
    "difference_over_clusters, pictures": (
        10,
        lambda c: psy.difference_over_clusters(
            leave_one_out_scores(6, c), leave_one_out_scores(6, c, 9), gen(), draws=50
        ),
    ),
    "subscore_value, respondents": (
        4,
        lambda n: psy.subscore_value(marks(n, 12), list("ab") * 6)[0],
    ),
    "subscore_value, items": (
        2,
        lambda k: psy.subscore_value(scores(20, k + 4), ["a"] * k + ["b"] * 4)[0],
    ),
    "criterion_validity": (
        3,
        lambda n: psy.criterion_validity(marks(n, 30, 1), marks(n, 30, 1)).full,
    ),
    "answer_correlations": (3, lambda n: psy.answer_correlations(*pair(n)).pearson),
    "saturation, respondents": (2, lambda n: psy.saturation(marks(n, 9))),
    "saturation, items": (2, lambda k: psy.saturation(marks(4, k))),
    "conditional_errors, respondents": (3, lambda n: psy.conditional_errors(marks(n, 30))),
    "conditional_errors, items": (10, lambda k: psy.conditional_errors(marks(8, k))),
    "paired_differences, respondents": (2, lambda n: psy.paired_differences(marks(n, 20))),
    "paired_differences, pictures": (
        2,
        lambda c: psy.paired_differences(marks(4, 20), np.arange(20) % c),
    ),
    "independent_differences": (
        2,
        lambda n: psy.independent_differences(column(n), np.full(n, 0.01)),
    ),
    "item_response": (30, lambda n: psy.item_response(marks(n, 12))),
    "rasch, items that vary": (3, lambda k: psy.item_response(marks(60, k, 1))),
    "item_analysis, respondents": (3, lambda n: psy.item_analysis(marks(n, 9))),
    "item_analysis, items": (2, lambda k: psy.item_analysis(marks(6, k))),
    "label_error_candidates, respondents": (
        5,
        lambda n: psy.label_error_candidates(marks(n, 9), rng=gen()),
    ),
    "label_error_candidates, items": (
        3,
        lambda k: psy.label_error_candidates(marks(9, k), rng=gen()),
    ),
    "judge_share, verdicts": (
        2,
        lambda k: (
            psy.judge_share(
                np.stack([marks(4, 20, s) for s in range(k)]),
                np.stack([marks(4, 20, s) for s in (5, 6)]),
            ).share
        ),
    ),
    "judge_share, runs": (
        2,
        lambda k: (
            psy.judge_share(
                np.stack([marks(4, 20, s) for s in (5, 6)]),
                np.stack([marks(4, 20, s) for s in range(k)]),
            ).share
        ),
    ),
    "judge_share, pictures": (
        2,
        lambda c: (
            psy.judge_share(
                *(np.stack([marks(4, 20, s) for s in seeds]) for seeds in ((1, 2), (3, 4))),
                np.arange(20) % c,
            ).share
        ),
    ),
    "labels_at_random": (
        10,
        lambda c: psy.labels_at_random(
            marks(4, 40),
            np.where(np.arange(40) < 15, 1.0, np.nan) + np.zeros((4, 1)),
            np.arange(40) % c,
        ),
    ),
    "rank_stability": (3, lambda n: psy.rank_stability(column(n), np.full(n, 0.01), gen())),
    "length_elasticity": (
        3,
        lambda n: (
            psy.length_elasticity(
                np.abs(scores(n, 3, 1)) + 0.1, 10 + np.abs(scores(n, 3, 2))
            ).elasticity
        ),
    ),
    "position_bias, positions": (2, lambda k: psy.position_bias(np.full(k, 20)).test),
    "position_bias, expected choices": (5, lambda n: psy.position_bias([n, n]).test),
    "rater_share, raters": (2, lambda k: psy.rater_share(marks(k, 30), gen()).share),
    "rater_share, answers": (10, lambda n: psy.rater_share(marks(3, n), gen()).share),
    "leakage_cues, items": (
        20,
        lambda n: psy.leakage_cues(labels_of(n), rng=gen(), clusters=[i % 9 for i in range(n)]),
    ),
    "leakage_cues, clusters": (
        5,
        lambda c: psy.leakage_cues(labels_of(40), rng=gen(), clusters=[i % c for i in range(40)]),
    ),
    "blind_solvability, items": (
        20,
        lambda n: psy.blind_solvability(
            [f"Is {i} here?" for i in range(n)], labels_of(n), rng=gen()
        ),
    ),
    "blind_solvability, clusters": (
        5,
        lambda c: psy.blind_solvability(
            [f"Is {i} here?" for i in range(40)],
            labels_of(40),
            rng=gen(),
            clusters=[i % c for i in range(40)],
        ),
    ),
    "length_cue, items": (
        20,
        lambda n: psy.length_cue([i % 7 for i in range(n)], labels_of(n), rng=gen()),
    ),
    "length_cue, clusters": (
        5,
        lambda c: psy.length_cue(
            [i % 7 for i in range(40)],
            labels_of(40),
            rng=gen(),
            clusters=[i % c for i in range(40)],
        ),
    ),
    "dimensionality, respondents": (
        5,
        lambda n: psy.dimensionality(marks(n, 60), ["a", "b"] * 30, rng=gen(), permutations=20),
    ),
    "dimensionality, items of a type": (
        10,
        lambda k: psy.dimensionality(
            marks(8, 60), ["a"] * k + ["b"] * (60 - k), rng=gen(), permutations=20
        ),
    ),
    "differential_functioning, parts": (
        2,
        lambda k: psy.differential_functioning(
            marks(10, 60), [str(i % k) for i in range(60)], ["x", "y"] * 5
        ),
    ),
    "differential_functioning, members": (
        5,
        lambda n: psy.differential_functioning(
            marks(20, 60), ["a", "b"] * 30, ["x"] * n + ["y"] * (20 - n)
        ),
    ),
    "reading_list, respondents": (5, lambda n: psy.reading_list(marks(n, 40), rng=gen())),
    "reading_list, items": (20, lambda k: psy.reading_list(marks(9, k), rng=gen())),
    "item_band": (2, lambda c: budget.item_band(scores(4, c))),
    "change_band": (4, lambda n: budget.change_band(column(n))),
    "wording_band, respondents": (4, lambda n: budget.wording_band(scores(n, 3).T)),
    "metric_band": (4, lambda n: budget.metric_band(*pair(n))),
}


def status_and_reason(result: Any) -> tuple[str, str]:
    return result.status, result.reason


@pytest.mark.parametrize("case", MIN_SIZES)
def test_one_too_few_is_refused_and_enough_is_not(case: str) -> None:
    min_size, estimate = MIN_SIZES[case]
    status, reason = status_and_reason(estimate(min_size - 1))
    assert status in ("insufficient", "not_applicable", "degenerate")
    assert reason
    assert status_and_reason(estimate(min_size))[0] in ("ok", "not_informative"), status_and_reason(
        estimate(min_size)
    )


@pytest.mark.parametrize(
    ("clusters", "known"), [(9, False), (10, True)], ids=["nine clusters", "ten clusters"]
)
def test_ten_clusters_carry_an_interval_over_items(clusters: int, known: bool) -> None:
    """The intervals for these respondents need ten clusters (STUDY of coverage)."""
    rng = np.random.default_rng(1)
    answers = marks(12, 60, 3)
    labels = np.arange(60) % clusters
    left = rng.normal(0.8, 0.001, clusters)
    pair = scores(8, clusters, 4), scores(8, clusters, 5)
    assert (psy.cronbach_alpha(answers, labels).coefficient.fixed is not None) == known
    assert (psy.reliability_jackknife_interval(0.8, left) is not None) == known
    assert (correlation_interval(0.8, left) is not None) == known
    assert correlation_interval(0.8, np.append(left, math.nan)) is None
    assert (psy.agreement_interval(0.8, left, *pair) is not None) == known
    assert math.isfinite(mean_variance(column(8), pair[0]).items) == known
    types = ["abc"[i % 3] for i in range(60)]
    omega = psy.omega_of_types(answers, types, labels)
    if omega.status == "ok":
        assert (omega.fixed is not None) == known


def test_what_lies_outside_a_range_is_refused_on_both_sides() -> None:
    for items, status in ((0, "insufficient"), (1, "ok")):
        assert psy.standardized_reliability(0.8, items).status == status
        assert psy.standardized_reliability(0.8, 100, items).status == status
    for value, status in (
        (-1.01, "not_applicable"),
        (-0.9, "ok"),
        (1.0, "ok"),
        (1.01, "not_applicable"),
    ):
        assert psy.standardized_reliability(value, 100, 90).status == status
    for target in (0.0, 1.0, 1.2):
        with pytest.raises(ValueError, match="between 0 and 1"):
            psy.labels_needed(target, 0.2, 0.02)
    for error, rate in ((0.0, 0.5), (-1.0, 0.5), (0.03, -0.1), (0.03, 1.1)):
        with pytest.raises(ValueError, match="rate"):
            psy.items_for_error(error, rate)
    assert [psy.items_for_error(0.03, rate) for rate in (0.0, 0.2, 1.0)] == [0, 178, 0]
    for margin in (-0.1, 0.0, math.inf, math.nan):
        assert psy.equivalence(*pair(6), margin).status == "not_applicable"
        assert psy.equivalence_margin(margin).status == "not_applicable"
    assert psy.equivalence_margin(mdc95=0.0).status == "degenerate"
    for level in (0.0, 1.0):
        with pytest.raises(ValueError, match="level"):
            psy.resample(np.ones((3, 2)), lambda t: t[:, 0], rng=gen(), level=level)
    assert psy.rogan_gladen(0.5, 100, 0.6, 50, 0.6, 50).status == "not_applicable"
    assert psy.rogan_gladen(0.5, 100, 0.61, 50, 0.6, 50).status == "ok"
    for counts in ((0, 50, 50), (100, 0, 50), (100, 50, 0)):
        n, yes, no = counts
        assert psy.rogan_gladen(0.5, n, 0.9, yes, 0.9, no).status == "insufficient"
    assert psy.SignificanceTest.absent("insufficient", "why").n == 0


def test_a_shift_counts_where_its_variance_is_known() -> None:
    complete = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.4], [0.01, 0.02, 0.01])
    for lost in (math.nan, math.inf):
        shifts = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.4, lost], [0.01, 0.02, 0.01, 0.01])
        errors = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.4, 0.3], [0.01, 0.02, 0.01, lost])
        for study in (shifts, errors):
            assert study.test == complete.test
            assert (study.i2, study.deviation) == (complete.i2, complete.deviation)
    certain = psy.shift_heterogeneity_of_scores([0.1, 0.2, 0.4, 0.3], [0.01, 0.02, 0.01, 0.0])
    assert (certain.test, certain.i2) == (complete.test, complete.i2), "no weight without an error"
    spread = np.var([0.1, 0.2, 0.4, 0.3], ddof=1) - 0.01
    assert certain.deviation == pytest.approx(math.sqrt(spread))


def test_a_list_in_doubt_names_nothing_and_claims_no_power() -> None:
    rng = np.random.default_rng(0)
    sound = (rng.random((12, 60)) < np.linspace(0.4, 0.95, 12)[:, None]).astype(float)
    plain = psy.reading_list(sound, rng=gen())
    assert (plain.doubt, plain.named) == ("", ()) or plain.evidence < 5.41
    assert plain.power_named > 0.3
    small_list = psy.reading_list(sound[:8], rng=gen())
    assert small_list.doubt
    assert (small_list.power_named, small_list.named) == (0.0, ())
    assert math.isnan(small_list.faults)
    assert small_list.power > 0
    # three models fail what is easy for the others, and for a common reason: they share a weight
    weak = sound.copy()
    weak[9:, ::4] = 0.0
    common_faults = psy.reading_list(weak, rng=gen())
    assert common_faults.evidence < 5.41
    assert not common_faults.stands_out
    assert (common_faults.power_named, common_faults.named) == (0.0, ())


def test_two_measures_that_cannot_be_told_apart_say_why() -> None:
    a, b = scores(20, 2, 1).T, scores(20, 2, 2).T
    plain = psy.reliability_difference(a, b, gen())
    assert plain.status == "ok"
    for second, status in (
        (a, "degenerate"),
        (np.stack([b[0], b[0]]), "degenerate"),
        (np.stack([b[0], np.full(20, 0.5)]), "degenerate"),
        (np.where(np.arange(20) < 2, b, np.nan), "insufficient"),
    ):
        assert psy.reliability_difference(a, second, gen()).status == status
    related = psy.reliability_difference(a, b, gen(), families=["x"] * 20)
    assert (related.status, related.difference) == ("insufficient", plain.difference)
    # of 5 families respondents are drawn, and count as fewer: the error is wider by sqrt(20 / n)
    five = np.repeat(list("vwxyz"), 4).tolist()
    assert psy.reliability_difference(a, b, gen(), families=five).status == "insufficient"
    for independent, status in ((9.9, "insufficient"), (10.0, "ok"), (12.0, "ok"), (99.0, "ok")):
        study = psy.reliability_difference(a, b, gen(), families=five, n_effective=independent)
        assert study.status == status
        if status == "ok":
            assert study.error == pytest.approx(plain.error * math.sqrt(20 / min(20, independent)))
            p = 2 * stats.t.cdf(-abs(gap(study)) / study.error, min(20, independent) - 1)
            assert study.p == pytest.approx(p)
    ten = psy.reliability_difference(a, b, gen(), families=np.repeat(np.arange(10), 2).tolist())
    assert ten.p == pytest.approx(2 * stats.t.cdf(-abs(gap(ten)) / ten.error, 9))


def gap(difference: ReliabilityDifference) -> float:
    return math.atanh(difference.first) - math.atanh(difference.second)


def test_two_measures_over_pictures_that_cannot_be_told_apart_say_why() -> None:
    a, b = leave_one_out_scores(8, 12), leave_one_out_scores(8, 12, 4)
    assert psy.difference_over_clusters(a, b, gen(), draws=200).status == "ok"
    undefined = replace(b, replicates=np.where(np.arange(12) == 3, np.nan, b.replicates))
    alike = replace(b, scores=np.stack([b.scores[0], b.scores[0]]))
    constant = replace(b, scores=np.full((2, 8), 0.5))
    for second, status in (
        (undefined, "degenerate"),
        (alike, "degenerate"),
        (constant, "degenerate"),
        (a, "degenerate"),
        (leave_one_out_scores(8, 9), "insufficient"),
        (replace(b, scores=np.where(np.arange(8) < 2, b.scores, np.nan)), "insufficient"),
    ):
        assert psy.difference_over_clusters(a, second, gen(), draws=200).status == status
        assert psy.shared_variance(a, b) >= 0
    lost = replace(b, scores=np.where(np.arange(8) < 2, b.scores, np.nan))
    assert psy.shared_variance(a, lost) == psy.shared_variance(a, constant) == 0


def test_the_unit_of_scores_changes_no_comparison() -> None:
    """Points of a hundred, and shares: the reliabilities and their difference are the same."""
    a, b = leave_one_out_scores(8, 12), leave_one_out_scores(8, 12, 4)
    in_points = [
        replace(measure, scores=1000 * measure.scores, replicates=1000 * measure.replicates)
        for measure in (a, b)
    ]
    plain = psy.difference_over_clusters(a, b, gen(), draws=200)
    points = psy.difference_over_clusters(*in_points, gen(), draws=200)
    assert (points.difference, points.error) == pytest.approx((plain.difference, plain.error))
    small = [
        replace(measure, scores=measure.scores / 1e3, replicates=measure.replicates / 1e3)
        for measure in (a, b)
    ]
    tiny = psy.difference_over_clusters(*small, gen(), draws=200)
    assert (tiny.difference, tiny.error) == pytest.approx((plain.difference, plain.error))


NO_NUMBER: dict[str, tuple[str, Callable[[], Any]]] = {
    "answers without labels of both": (
        "insufficient",
        lambda: psy.weighted_agreement([[1, 0, 1]], [[math.nan] * 3], [0, 1, 2]).kappa,
    ),
    "a stage that nobody labelled": (
        "insufficient",
        lambda: psy.stage_agreement([1, 0, math.nan], [math.nan] * 3).f1,
    ),
    "negative noise": (
        "not_applicable",
        lambda: psy.rank_stability([0.1, 0.5, 0.9], [1, -1, 1], gen()),
    ),
    "negative counts": ("not_applicable", lambda: psy.signal_detection(-1, 5, 10, 15).d_prime),
    "endless counts": ("not_applicable", lambda: psy.signal_detection(1, 5, math.inf, 1).d_prime),
    "no variance of anybody": ("insufficient", lambda: budget.rerun_band([math.nan] * 4)),
    "no items": (
        "insufficient",
        lambda: psy.planted_faults(np.ones((3, 0)), lambda x: [], rng=gen()),
    ),
    "one truth": ("insufficient", lambda: psy.signal_detection(3, 5, 0, 0).d_prime),
    "the other truth": ("insufficient", lambda: psy.signal_detection(0, 0, 3, 5).d_prime),
    "labels that are all equal": (
        "degenerate",
        lambda: psy.rater_share(np.ones((2, 12)), gen()).share,
    ),
    "types of one item": (
        "insufficient",
        lambda: psy.omega_of_types(np.stack([*pair(9), column(9) ** 2], axis=1), list("abc")),
    ),
    "types of one picture": (
        "insufficient",
        lambda: psy.omega_of_types(scores(9, 6), list("aabbcc"), [0, 0, 0, 1, 1, 2]),
    ),
}


@pytest.mark.parametrize("name", NO_NUMBER)
def test_what_has_no_number_has_a_status(name: str) -> None:
    status, compute = NO_NUMBER[name]
    assert compute().status == status
