"""Statistics against their formulas, written out for a few numbers."""

import math

import numpy as np
import pytest
from scipy import stats

import hqm.psychometrics as psy
from hqm.psychometrics.inference.cross_validation import accuracy_gain, split_folds
from hqm.psychometrics.inference.distributions import binomial_above
from hqm.psychometrics.items.leaks import evaluate_strata, views
from hqm.psychometrics.reliability.compare_reliability import LeaveOneOutScores
from hqm.psychometrics.variance.study_forecast import Contest, StudySize
from hqm.psychometrics.variance.study_variance import StudyComponents
from hqm.psychometrics.variance.variance_components import has_floor_or_ceiling_effect


def test_williams_test_by_hand() -> None:
    """r12 = .4, r13 = .3, r23 = .1: D = 1 - .16 - .09 - .01 + .024 = .764, mean = .35."""
    result = psy.williams_test(0.4, 0.3, 0.1, 103)
    t = 0.1 * math.sqrt(102 * 1.1 / (2 * 102 / 100 * 0.764 + 0.35**2 * 0.9**3))
    assert (result.difference, result.t, result.df) == pytest.approx((0.1, t, 100))
    assert result.p == pytest.approx(2 * stats.t.sf(t, 100))
    related = psy.williams_test(0.4, 0.3, 0.1, 103, n_effective=20)
    t = 0.1 * math.sqrt(19 * 1.1 / (2 * 19 / 17 * 0.764 + 0.35**2 * 0.9**3))
    assert (related.t, related.df) == pytest.approx((t, 17))


def test_the_heterogeneity_of_four_shifts_by_hand() -> None:
    """Weights 100, 50, 100, 25: the mean is (10 + 15 + 50 + 5) / 275."""
    shifts, variances = np.array([0.1, 0.3, 0.5, 0.2]), np.array([0.01, 0.02, 0.01, 0.04])
    result = psy.shift_heterogeneity_of_scores(shifts, variances)
    mean = 80 / 275
    q = 100 * (0.1 - mean) ** 2 + 50 * (0.3 - mean) ** 2
    q += 100 * (0.5 - mean) ** 2 + 25 * (0.2 - mean) ** 2
    assert result.test.statistic == pytest.approx(q)
    assert result.test.p == pytest.approx(stats.chi2.sf(q, 3))
    assert result.i2 == pytest.approx(1 - 3 / q)


def test_a_cue_is_judged_by_the_gains_of_clusters() -> None:
    """Accuracy, gain, its error and p for the four orders that the generator draws, by loops."""
    rng = np.random.default_rng(6)
    cluster = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    labels = rng.choice(["yes", "no"], len(cluster), p=[0.6, 0.4])
    items = split_folds(labels.tolist(), cluster.tolist(), None, rng, 5)
    right = (rng.random(len(cluster)) < 0.8).astype(float)
    (view,) = views(items, None)
    (result,) = evaluate_strata(
        view, lambda block: right, np.random.default_rng(7), cue="c", tests=3, alpha=0.05
    )
    base = (labels == "yes").astype(float)
    generator = np.random.default_rng(7)
    rows = []
    for _ in range(4):
        # the clusters are numbered in the order of their names
        block = generator.permutation(np.arange(30) % 10)[np.argsort(sorted(range(30), key=str))]
        block = block[cluster]
        tested = block > 0
        gains = (right - base)[tested]
        mean = gains.mean()
        clusters = sorted(set(cluster[tested]))
        squares = sum(float((gains[cluster[tested] == c] - mean).sum()) ** 2 for c in clusters)
        error = math.sqrt(len(clusters) / (len(clusters) - 1) * squares) / tested.sum()
        square = (gains**2).mean()
        rows.append([right[tested].mean(), base[tested].mean(), mean, error, mean / error, square])
    accuracy, floor, gain, error, ratio, square = np.mean(rows, axis=0)
    error = gain / ratio  # that belongs to the mean t, so that p and the ends agree
    # three tests of cues and as many of words
    reach = stats.t.ppf(1 - 0.05 / 6, 29)
    assert (result.items, result.clusters) == (len(cluster), 30)
    assert (result.accuracy, result.baseline, result.gain) == pytest.approx((accuracy, floor, gain))
    assert (result.low, result.high) == pytest.approx((gain - reach * error, gain + reach * error))
    assert result.p == pytest.approx(6 * max(stats.t.sf(ratio, 29), 2.0**-30))
    typical = math.sqrt(max(square, 1 - floor) / (len(cluster) * 0.9))
    min_gain = 1.05 * (reach + stats.norm.ppf(0.8)) * max(typical, error)
    min_gain += 0.8 * math.sqrt(floor * (1 - floor) / len(cluster))
    assert result.detectable == pytest.approx(min(1.0, min_gain))
    assert result.detectable < 1


def test_fleiss_kappa_has_the_jackknife_over_units() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 3, 12)
    ratings = np.where(rng.random((4, 12)) < 0.7, truth, rng.integers(0, 3, (4, 12)))
    result = psy.fleiss_kappa(ratings, level=0.9)
    left = np.array([psy.fleiss_kappa(np.delete(ratings, i, axis=1)).value for i in range(12)])
    error = math.sqrt(11 / 12 * float(((left - left.mean()) ** 2).sum()))
    half = stats.norm.ppf(0.95) * error
    assert result.fixed is not None
    assert (result.se, result.fixed.low, result.fixed.high) == pytest.approx(
        (error, result.value - half, result.value + half)
    )


def test_gwets_variance_by_loops() -> None:
    """Gwet (2008), three raters, three categories, one rating missing, one unit rated once."""
    ratings = np.array(
        [
            [0, 1, 2, 0, 0, 1, 2, 0, 1],
            [0, 1, 2, 0, 1, 1, 0, 0, np.nan],
            [0, 1, 1, 0, 0, np.nan, 2, 0, np.nan],
        ]
    )
    units = [column[np.isfinite(column)] for column in ratings.T]
    shares = np.array([[float((u == k).mean()) for k in range(3)] for u in units])
    common = shares.mean(axis=0)
    chance = float((common * (1 - common)).sum()) / 2
    agreed = [
        np.mean([a == b for i, a in enumerate(u) for j, b in enumerate(u) if i != j])
        if len(u) > 1
        else None
        for u in units
    ]
    agreed_shares = [share for share in agreed if share is not None]
    value = (np.mean(agreed_shares) - chance) / (1 - chance)
    influences = [
        (0 if share is None else 9 / len(agreed_shares) * (share - chance) / (1 - chance))
        - 2 * (1 - value) * (float((row * (1 - common)).sum()) / 2 - chance) / (1 - chance)
        for share, row in zip(agreed, shares, strict=True)
    ]
    error = math.sqrt(sum((influence - value) ** 2 for influence in influences) / 72)
    result = psy.gwet_ac1(ratings, level=0.8)
    half = stats.t.ppf(0.9, 8) * error
    assert result.fixed is not None
    assert (result.value, result.se) == pytest.approx((value, error))
    assert (result.fixed.low, result.fixed.high) == pytest.approx(
        (value - half, min(1.0, value + half))
    )


def test_the_elasticity_has_the_interval_of_a_regression() -> None:
    """It is the simple regression on what the means of respondents and of forms leave."""
    rng = np.random.default_rng(9)
    lengths = np.exp(rng.normal(4, 0.5, (4, 3)))
    scores = np.exp(0.5 * np.log(lengths) + rng.normal(0, 0.2, (4, 3)))
    result = psy.length_elasticity(scores, lengths, level=0.9).elasticity
    y, x = (
        v - v.mean(axis=1, keepdims=True) - v.mean(axis=0) + v.mean()
        for v in (np.log(scores), np.log(lengths))
    )
    slope = float((x * y).sum() / (x * x).sum())
    error = math.sqrt(float(((y - slope * x) ** 2).sum()) / 5 / float((x * x).sum()))
    half = stats.t.ppf(0.95, 5) * error
    assert (result.value, result.low, result.high) == pytest.approx(
        (slope, slope - half, slope + half)
    )


def test_the_gain_of_a_subscore_has_the_jackknife_over_respondents() -> None:
    rng = np.random.default_rng(10)
    ability = rng.normal(size=(15, 2))[:, [0] * 8 + [1] * 8]
    right = (rng.random((15, 16)) < 1 / (1 + np.exp(-2 * ability))).astype(float)
    right += rng.uniform(0, 0.2, right.shape)
    kinds = ["a"] * 8 + ["b"] * 8
    (result, _) = psy.subscore_value(right, kinds, level=0.9)
    left = np.array(
        [psy.subscore_value(np.delete(right, m, axis=0), kinds)[0].gain.value for m in range(15)]
    )
    half = stats.norm.ppf(0.95) * math.sqrt(14 / 15 * float(((left - left.mean()) ** 2).sum()))
    assert (result.gain.low, result.gain.high) == pytest.approx(
        (result.gain.value - half, result.gain.value + half)
    )


def test_equivalence_is_two_one_sided_t_tests() -> None:
    x, y = np.array([0.5, 0.6, 0.7, 0.65]), np.array([0.52, 0.61, 0.7, 0.69])
    result = psy.equivalence(x, y, 0.05, alpha=0.1)
    low = stats.ttest_1samp(y - x, -0.05, alternative="greater").pvalue
    high = stats.ttest_1samp(y - x, 0.05, alternative="less").pvalue
    assert result.p == pytest.approx(max(low, high))
    turned = psy.equivalence(y, x, 0.05, alpha=0.1)
    assert turned.p == pytest.approx(result.p)
    interval = stats.t.interval(0.8, 3, (y - x).mean(), stats.sem(y - x))
    assert (result.shift.low, result.shift.high) == pytest.approx(interval)
    assert psy.equivalence([0.5, 0.6, 0.7], [0.6, 0.7, 0.8], 0.2).status == "degenerate"


def test_a_share_of_units_has_students_interval_on_the_logit() -> None:
    """6 pictures: the jackknife's error over p (1 - p), with 5 degrees of freedom."""
    rng = np.random.default_rng(11)
    clusters = np.repeat(np.arange(6), [3, 5, 4, 6, 2, 5])
    human = (rng.random(25) < 0.6).astype(float)
    judge = np.where(rng.random(25) < 0.3, 1 - human, human)
    result = psy.stage_agreement(judge, human, clusters, level=0.9).agreement
    alike = (judge == human).astype(float)
    value = alike.mean()
    left = np.array([alike[clusters != c].mean() for c in range(6)])
    error = math.sqrt(5 / 6 * float(((left - left.mean()) ** 2).sum()))
    middle, half = math.log(value / (1 - value)), stats.t.ppf(0.95, 5) * error / value / (1 - value)
    ends = [1 / (1 + math.exp(-(middle + side * half))) for side in (-1, 1)]
    assert result.fixed is not None
    assert (result.value, result.se) == pytest.approx((value, error))
    assert (result.fixed.low, result.fixed.high) == pytest.approx(tuple(ends))


def test_labels_at_random_are_tested_with_students_t_over_pictures() -> None:
    rng = np.random.default_rng(12)
    clusters = np.repeat(np.arange(12), 2)
    scores = (rng.random((1, 24)) < 0.6).astype(float)
    labels = np.where(rng.random((1, 24)) < 0.5, scores, np.nan)
    result = psy.labels_at_random(scores, labels, clusters)
    marked = np.isfinite(labels[0])
    share = marked.mean()
    parts = (marked - share) * (scores[0] - scores[0].mean())
    sums = np.array([parts[clusters == c].sum() for c in range(12)])
    z = sums.sum() / math.sqrt(12 / 11 * float((sums**2).sum()))
    assert result.difference == pytest.approx(scores[0][marked].mean() - scores[0][~marked].mean())
    assert (result.z, result.p) == pytest.approx((z, 2 * stats.t.sf(abs(z), 11)))


def test_sensitivity_and_balanced_accuracy_by_hand() -> None:
    """20 hits of 25, 10 false alarms of 25, with half an answer more in each cell."""
    result = psy.signal_detection(20, 5, 10, 15, level=0.9)
    h, f = 20.5 / 26, 10.5 / 26
    variance = sum(p * (1 - p) / (26 * stats.norm.pdf(stats.norm.ppf(p)) ** 2) for p in (h, f))
    z = stats.norm.ppf(0.95)
    d, c = stats.norm.ppf(h) - stats.norm.ppf(f), -(stats.norm.ppf(h) + stats.norm.ppf(f)) / 2
    error = math.sqrt(h * (1 - h) / 25 + f * (1 - f) / 25) / 2
    for number, value, half in (
        (result.d_prime, d, z * math.sqrt(variance)),
        (result.criterion, c, z * math.sqrt(variance) / 2),
        (result.balanced_accuracy, 0.7, z * error),
    ):
        assert number.fixed is not None
        assert (number.value, number.fixed.low, number.fixed.high) == pytest.approx(
            (value, value - half, value + half)
        )
    rates = psy.signal_detection_from_rates(0.7, 0.6, 0.5)
    assert (rates.hit_rate, rates.false_alarm_rate) == pytest.approx((0.8, 0.4))
    assert rates.criterion.value == pytest.approx(-(stats.norm.ppf(0.8) + stats.norm.ppf(0.4)) / 2)
    for base in (0.0, 1.0, math.nan):
        assert psy.signal_detection_from_rates(0.7, 0.6, base).status == "not_applicable"


def test_the_interval_of_a_corrected_share_by_hand() -> None:
    """Lang and Reiczigel (2014) with unequal numbers of positives and negatives."""
    result = psy.rogan_gladen(0.4, 200, 0.9, 60, 0.8, 90, level=0.9)
    z = stats.norm.ppf(0.95)
    p = (200 * 0.4 + z**2 / 2) / (200 + z**2)
    q1, q0 = 55 / 62, 73 / 92
    theta = (p + q0 - 1) / (q1 + q0 - 1)
    first, negatives = q1 * (1 - q1) / 62, q0 * (1 - q0) / 92
    error = math.sqrt(
        p * (1 - p) / (200 + z**2) + (1 - theta) ** 2 * negatives + theta**2 * first
    ) / (q1 + q0 - 1)
    middle = theta + 2 * z**2 * (theta * first - (1 - theta) * negatives)
    assert result.value == pytest.approx((0.4 + 0.8 - 1) / 0.7)
    assert (result.se, result.low, result.high) == pytest.approx(
        (error, middle - z * error, middle + z * error)
    )


def test_saturation_counts_respondents_and_items_at_the_ends() -> None:
    """Respondents of 1, .5 and 0; items of 2/3, 2/3, 1/3, 1/3."""
    scores = np.array([[1.0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]])
    for table, higher in ((scores, True), (1 - scores, False)):
        result = psy.saturation(table, higher_is_better=higher)
        ends = result.at_ceiling, result.at_floor, result.solved_by_all, result.solved_by_none
        assert ends == pytest.approx((2 / 3, 2 / 3, 0, 0)), higher
        assert result.flags == ("CEILING", "FLOOR")
        assert result.headroom == 0
    # the middle one's mean of .5 has the standard error sqrt(1 / 3 / 4): two of them reach 1 and 0
    high_scores = psy.saturation(scores[:2, [0, 0, 1, 2, 3, 2, 3, 2]] * 0.5 + 0.25)
    assert high_scores.headroom == pytest.approx(0.25)
    assert (high_scores.at_ceiling, high_scores.at_floor, high_scores.flags) == (0, 0, ())


def test_scores_crowd_at_a_bound_where_the_beta_distribution_has_a_tail() -> None:
    """The kurtosis of scipy's beta with the scores' mean and the upper quartile of their
    variance.
    """
    rng = np.random.default_rng(14)
    answers = set()
    for _ in range(300):
        mean, size = rng.uniform(0.6, 0.98), int(rng.integers(4, 15))
        x = rng.beta(30 * mean, 30 * (1 - mean), size)
        variance = x.var(ddof=1) * (size - 1) / stats.chi2.ppf(0.25, size - 1)
        total = x.mean() * (1 - x.mean()) / variance - 1
        a, b = x.mean() * total, (1 - x.mean()) * total
        tailed = total > 0 and float(stats.beta.stats(a, b, moments="k")) > 1
        assert has_floor_or_ceiling_effect(x) == tailed
        answers.add(tailed)
    assert answers == {True, False}


def test_scaled_scores_have_students_interval() -> None:
    """One auxiliary value of 1: what remains is each item's part less the weighted mean."""
    right, w = np.array([[1.0, 0, 1, 1]]), np.array([3.0, 1, 4, 2])
    result = psy.scaled_scores(
        {"right": right, "n": np.ones((1, 4))},
        lambda sums: sums["right"] / sums["n"],
        w,
        np.ones((4, 1)),
        factor=2.0,
        freedom=3.0,
        level=0.9,
    )
    auxiliary = (right[0] - 0.9) / 10
    residual = auxiliary - float((w * auxiliary).sum() / w.sum())
    error = 2 * math.sqrt(4 / 3 * float((w * (w - 1) * residual**2).sum()))
    half = stats.t.ppf(0.95, 3) * error
    assert result.se[0] == pytest.approx(error, rel=1e-5)
    assert (result.low[0], result.high[0]) == pytest.approx((0.9 - half, 0.9 + half), rel=1e-5)


def test_a_share_of_permutations_counts_the_data_as_one_of_them() -> None:
    """(1 + as extreme ones) / (permutations + 1) is a whole number of parts."""
    rng = np.random.default_rng(16)
    families = psy.family_dependence(rng.random(12), list("aabbccddeeff"), rng=rng, permutations=98)
    assert families.p * 99 == pytest.approx(round(families.p * 99), abs=1e-9)
    assert 1 <= families.p * 99 <= 99


def test_items_that_nobody_or_everybody_solves_have_no_place_on_the_scale() -> None:
    rng = np.random.default_rng(18)
    ability = rng.normal(size=(40, 1))
    right = (rng.random((40, 6)) < 1 / (1 + np.exp(-ability))).astype(float)
    right[:, 1], right[:, 4] = 1, 0
    right[rng.random(right.shape) < 0.2] = np.nan
    model = psy.item_response(right)
    assert model.status == "ok"
    assert np.flatnonzero(np.isnan(model.intercept)).tolist() == [1, 4]


def test_an_expected_share_of_nothing_is_refused() -> None:
    assert psy.position_bias([5, 5], [0.5, 0.5]).test.status == "ok"
    assert psy.position_bias([5, 5], [1.0, 0.0]).test.status == "not_applicable"


def test_two_independent_respondents_are_enough_for_a_test_of_means() -> None:
    """F of two administrations is the square of the paired t; of relatives it counts as many as
    are independent.
    """
    x = np.array([[0.5, 0.6], [0.6, 0.9], [0.4, 0.5], [0.7, 0.75]])
    study = psy.bias_test(x)
    paired_test = stats.ttest_rel(x[:, 0], x[:, 1])
    assert (study.statistic, study.p) == pytest.approx(
        (paired_test.statistic**2, paired_test.pvalue)
    )
    two = psy.bias_test(x, n_effective=2)
    ratio = paired_test.statistic**2 / 2
    assert (two.statistic, two.p) == pytest.approx((ratio, stats.f.sf(ratio, 1, 1)))
    assert psy.bias_test(x, n_effective=1.9).status == "not_applicable"


def test_labels_drawn_with_probabilities_are_weighted_by_hand() -> None:
    """Hajek's means with weights 1 / p; lambda from the variance of the design, w^2 (1 - p)."""
    rng = np.random.default_rng(20)
    chance = rng.choice([0.2, 0.5, 0.9], 30)
    automatic = (rng.random(30) < 0.6).astype(float)
    human = np.where(rng.random(30) < 0.25, 1 - automatic, automatic)
    human[20:] = np.nan
    result = psy.ppi_scores(automatic[None], human[None], probabilities=chance[None], min_labels=5)
    a, h, p = automatic[:20], human[:20], chance[:20]
    w = 1 / p
    mean_h, mean_a = (w * h).sum() / w.sum(), (w * a).sum() / w.sum()
    counted = w**2 * (1 - p)
    slope = (counted * (h - mean_h) * (a - mean_a)).sum() / (counted * (a - mean_a) ** 2).sum()
    assert 0 < slope < 1
    left = h - slope * a
    parts = (1 - p) * (w * (left - (w * left).sum() / w.sum()) / w.sum()) ** 2
    spread = (w * (h - mean_h) ** 2).sum() / w.sum() * 20 / 19
    error = math.sqrt(20 / 19 * parts.sum() + spread / 30)
    score = result.scores[0]
    value = mean_h + slope * (automatic.mean() - mean_a)
    assert (score.value, score.se) == pytest.approx((value, error))
    assert result.lambdas[0] == pytest.approx(slope)


def test_two_studies_are_compared_by_hand() -> None:
    """log(U / Q), Q = E / pictures: its error is that of log U - log E."""
    first, second = (
        StudyComponents(
            effects=(("respondent",), ("respondent", "item")),
            values=values,
            covariance=covariance,
            respondents=20,
            families=20,
            items=pictures,
            pictures=pictures,
        )
        for values, covariance, pictures in (
            ((0.02, 0.2), ((4e-6, 1e-6), (1e-6, 9e-5)), 50),
            ((0.01, 0.1), ((1e-6, 2e-7), (2e-7, 4e-5)), 20),
        )
    )
    size = StudySize(pictures=100)
    result = psy.compare_studies(first, second, (size, StudySize(pictures=80)), 0.9, 15)
    difference = math.log(0.02 / 0.002) - math.log(0.01 / 0.00125)
    variance = 4e-6 / 0.02**2 + 9e-5 / 0.2**2 - 2 * 1e-6 / (0.02 * 0.2)
    variance += 1e-6 / 0.01**2 + 4e-5 / 0.1**2 - 2 * 2e-7 / (0.01 * 0.1)
    assert result.g == pytest.approx((0.02 / 0.022, 0.01 / 0.01125))
    assert result.fixed_respondents.difference == pytest.approx(difference)
    assert result.fixed_respondents.error == pytest.approx(math.sqrt(variance), rel=1e-4)
    steep, flat = 1 + 0.2 / 50 / 0.02, 1 + 0.1 / 20 / 0.01
    respondent_variance = 2 * (steep**2 + flat**2 - 2 * steep * flat * 0.9**2) / 14
    assert result.other_respondents.error == pytest.approx(
        math.sqrt(variance + respondent_variance), rel=1e-4
    )
    degenerate = StudyComponents(
        effects=first.effects, values=first.values, status="degenerate", reason="equal scores"
    )
    for pair in ((degenerate, second), (second, degenerate)):
        compared = psy.compare_studies(*pair, (size, size), 0.9, 15)
        assert (
            compared.fixed_respondents.reason == compared.other_respondents.reason == "equal scores"
        )
    # by the delta method on log(1 - G) = log Q - log(U + Q)
    low, high = psy.forecast_interval(first, "g", size, level=0.9)
    slopes = np.array([-1 / 0.022, 1 / 0.2 - 0.01 / 0.022])
    half = stats.norm.ppf(0.95) * math.sqrt(slopes @ np.array(first.covariance) @ slopes)
    ends = [1 - math.exp(math.log(0.002 / 0.022) + side * half) for side in (1, -1)]
    assert (low, high) == pytest.approx(tuple(ends), rel=1e-5)


def test_the_half_width_of_rho_g_for_other_respondents_by_hand() -> None:
    """The noise's share times half the range of a chi-square over its degrees of freedom."""
    parts = StudyComponents(
        effects=(("respondent",), ("respondent", "item"), ("respondent", "item", "run")),
        values=(0.02, 0.1, 0.3),
        respondents=12,
        families=12,
        runs=3,
    )
    sizes = StudySize(pictures=[50, 200], runs=2, respondents=[9, 30])
    widths = psy.forecast(parts, "rho_g_half_width", sizes)
    for width, pictures, free in zip(widths, (50, 200), (8, 29), strict=True):
        noise = 0.3 / (2 * pictures)
        span = (stats.chi2.ppf(0.975, free) - stats.chi2.ppf(0.025, free)) / free
        assert width == pytest.approx(noise / (0.02 + 0.1 / pictures + noise) * span / 2)


def test_p_is_never_below_that_of_a_sign_test() -> None:
    for clusters in (5, 9):
        number = np.arange(clusters)
        gain, p = accuracy_gain(np.ones(clusters), np.zeros(clusters), number, 0.95)
        assert (gain.value, p) == (1, 2.0**-clusters)
        nearly = np.ones(clusters)
        nearly[0] = 1 - 1e-9
        assert accuracy_gain(nearly, np.zeros(clusters), number, 0.95)[1] == 2.0**-clusters


def test_parts_and_types_are_judged_apart() -> None:
    """All items, each type, each part, and each type of a part that is neither of the two."""
    rng = np.random.default_rng(21)
    labels, types = ["yes", "no"] * 8, ["a"] * 8 + ["b"] * 8
    parts = ["p", "q"] * 4 + ["p"] * 8
    items = split_folds(labels, range(16), types, rng, 4)
    first, crossed = views(items, parts)
    assert [(name, part, int(mask.sum())) for name, part, mask in first.strata] == [
        ("", "", 16),
        ("a", "", 8),
        ("b", "", 8),
    ]
    assert [(name, part, int(mask.sum())) for name, part, mask in crossed.strata] == [
        ("", "p", 12),
        ("", "q", 4),
        ("a", "p", 4),
    ]
    single_clusters = split_folds(labels, range(16), None, rng, 4)
    assert [s[:2] for s in views(single_clusters, parts)[1].strata] == [("", "p"), ("", "q")]


def test_planted_faults_lie_in_different_items() -> None:
    """A search that sees every changed item finds all, and half of them names half."""
    right = np.ones((3, 20))
    for step, power in ((1, 1.0), (2, 0.5)):
        result = psy.planted_faults(
            right,
            lambda x, step=step: np.flatnonzero(x[0] == 0)[::step],
            rng=np.random.default_rng(22),
            share=0.9,
        )
        assert (result.planted, result.repeats, result.power) == (18, 12, power)
        assert result.error == pytest.approx(math.sqrt(power * (1 - power) / (18 * 12)))


def test_how_many_are_enough() -> None:
    """At the number that the documentation names there is a result, and below it there is none."""
    rng = np.random.default_rng(23)
    scores = rng.random((2, 5))
    assert psy.bland_altman(*scores).status == "ok"
    assert psy.bland_altman(*scores[:, :4]).status == "insufficient"
    differences = [psy.reliability_difference(*rng.random((2, 2, n)), rng) for n in (3, 2)]
    assert [math.isfinite(difference.difference) for difference in differences] == [True, False]
    labels = (rng.random((2, 10)) < 0.5).astype(float)
    labels[:, :2] = [[0, 1], [1, 1]]
    assert psy.rater_share(labels, rng).share.status != "insufficient"
    for fewer in (labels[:, :9], labels[:1]):
        assert psy.rater_share(fewer, rng).share.status == "insufficient"
    pair = psy.mean_shift([0.5, 0.6], [0.6, 0.8], level=0.9)
    half = stats.t.ppf(0.95, 1) * 0.05
    assert (pair.low, pair.high) == pytest.approx((0.15 - half, 0.15 + half))
    assert psy.pooled_labels([[1, 0], [np.nan, 1]], "mean").tolist() == [1, 0.5]
    assert psy.judge_errors(np.tile([1.0, 0], (2, 4)), np.tile([1.0, 0], (2, 4))).flags == ()


def test_the_noise_without_each_picture_by_loops() -> None:
    rng = np.random.default_rng(24)
    scores, replicates = rng.random((3, 4)), rng.random((3, 4, 5))
    sizes, noise = np.array([2.0, 1, 4, 2, 3]), rng.random(4)
    result = LeaveOneOutScores(scores, replicates, list("abcde"), noise, sizes).noise_replicates
    for m in range(4):
        picture_noise = [
            np.var(12 * scores[:, m] - (12 - sizes[c]) * replicates[:, m, c], ddof=1)
            for c in range(5)
        ]
        for c in range(5):
            expected = noise[m] * (1 - picture_noise[c] / sum(picture_noise)) * 12 / (12 - sizes[c])
            assert result[m, c] == pytest.approx(expected)


def test_ratios_of_nothing_have_no_value() -> None:
    assert Contest(1.0, 1.0).choice == 0
    assert Contest(1.9, 1.0).choice == 0
    assert (Contest(2.0, 1.0).choice, Contest(-2.0, 1.0).choice) == (1, 2)
    assert Contest(2.0, 1.0, adjusted=0.06).choice == 0, "what is shown is shown among all contests"


def test_a_leak_is_tested_as_often_as_there_are_cues_and_strata() -> None:
    """Bonferroni: the smallest p is 2^-clusters times the number of tests, of cues and of words."""
    labels, clusters = ["yes", "no"] * 60, np.repeat(np.arange(12), 10).tolist()
    result = psy.leakage_cues(labels, rng=np.random.default_rng(25), clusters=clusters)
    tests = len(result.strata)
    assert tests == len({stratum.cue for stratum in result.strata}) > 2
    assert min(stratum.p for stratum in result.strata) == pytest.approx(2 * tests * 2.0**-12)


def test_separation_is_what_errors_leave_of_the_variance_of_abilities() -> None:
    rng = np.random.default_rng(26)
    ability, hard = rng.normal(size=(60, 1)), np.linspace(-1.5, 1.5, 15)
    right = (rng.random((60, 15)) < 1 / (1 + np.exp(hard - ability))).astype(float)
    right[:, [2, 9]] = rng.random((60, 2)) < 0.5
    model = psy.rasch(right)
    # Wright and Masters (1982), chapter 5: variances of the mean squares, made normal by cube roots
    b = model.difficulty
    p = 1 / (1 + np.exp(b - np.array(model.ability)[:, None]))
    w = p * (1 - p)
    errors = np.mean(1 / w.sum(axis=1))
    assert model.separation == pytest.approx(1 - errors / np.var(model.ability, ddof=1))
    squares = (right - p) ** 2
    fourth = w * (p**3 + (1 - p) ** 3)
    plain, weighted = (squares / w).mean(axis=0), squares.sum(axis=0) / w.sum(axis=0)
    assert model.outfit == pytest.approx(plain.tolist())
    assert model.infit == pytest.approx(weighted.tolist())
    p_values = []
    for mean, variance in (
        (plain, (fourth / w**2).sum(axis=0) / 60**2 - 1 / 60),
        (weighted, (fourth - w**2).sum(axis=0) / w.sum(axis=0) ** 2),
    ):
        deviates = (np.cbrt(mean) - 1) * 3 / np.sqrt(variance) + np.sqrt(variance) / 3
        p_values.append(2 * stats.norm.sf(np.abs(deviates)))
    q = stats.false_discovery_control(np.minimum(1, 2 * np.min(p_values, axis=0)))
    misfits = np.flatnonzero((np.abs(plain - 1) > 0.3) | (np.abs(weighted - 1) > 0.3))
    doubted = misfits[q[misfits] < 0.999]  # no rate of false discoveries is above 1
    assert len(doubted) >= 2
    for item in doubted:
        for alpha in (q[item] * 0.9999, q[item] * 1.0001):
            expected = [int(k) for k in misfits if q[k] < alpha]
            assert psy.rasch(right, alpha=alpha).misfit == tuple(expected)


def test_contradictions_beyond_one_answer_in_five_count() -> None:
    scored = np.ones((8, 50))
    labels = scored.copy()
    labels[:, 7] = 0
    result = psy.contradicted_items(scored, labels)
    assert (result.usual, result.tested) == (pytest.approx(0.2), 50)
    assert result.min_labels == math.ceil(math.log(0.05 / 50) / math.log(0.2))
    (row,) = result.items
    assert row.p == pytest.approx(50 * 0.2**8)


def test_chances_and_scores_at_their_ends() -> None:
    """More than -1 successes are certain, more than all of them impossible."""
    k = np.arange(-2, 6)
    assert binomial_above(k, 4, 0.3) == pytest.approx(stats.binom.sf(k, 4, 0.3))
    assert psy.Coefficient.absent("insufficient", "why").n == 0
    agreed = psy.fleiss_kappa([[0, 1, 0, 1, 1, 0]] * 3)
    assert (agreed.value, agreed.fixed) == (1, None)
    assert math.isnan(agreed.se)
    scores = np.array([0.2, 0.4, 0.9, 0.7])
    certain = psy.reliability_difference(
        [scores, scores], [scores, [0.3, 0.2, 0.8, 0.9]], np.random.default_rng(27)
    )
    correlation = stats.pearsonr(scores, [0.3, 0.2, 0.8, 0.9]).statistic
    assert certain.status == "degenerate"
    assert certain.difference == pytest.approx(1 - correlation)


def test_fifty_labels_are_enough() -> None:
    rng = np.random.default_rng(28)
    scores = (rng.random((1, 80)) < 0.6).astype(float)
    for count in (49, 50):
        labels = np.where(np.arange(80) < count, scores, np.nan)
        flags = psy.ppi_scores(scores, labels).scores[0].flags
        assert flags == (("FEW_LABELS",) if count < 50 else ()), count


def test_two_clusters_give_no_interval_over_items() -> None:
    rng = np.random.default_rng(29)
    scores = rng.random((3, 6))
    for clusters in (2, 3):
        replicates = scores[:, :, None] + 0.01 * rng.normal(size=(3, 6, clusters))
        result = psy.rho_g_of_scores(scores, replicates=replicates).rho
        assert (result.fixed is None) == (clusters == 2)


def test_a_judge_without_errors_has_wilsons_ends() -> None:
    """z^2 / (n + z^2) for 30 positives and 20 negatives, all judged rightly, or all wrongly."""
    human = np.repeat([[1.0, 0]], [15, 10], axis=1).repeat(2, axis=0)
    square = stats.norm.ppf(0.95) ** 2
    right, wrong = (psy.judge_errors(judge, human, level=0.9) for judge in (human, 1 - human))
    for of_right, of_wrong, count in (
        (right.sensitivity, wrong.sensitivity, 30),
        (right.specificity, wrong.specificity, 20),
    ):
        edge = square / (count + square)
        assert (of_right.value, of_right.low, of_right.high) == pytest.approx((1, 1 - edge, 1))
        assert (of_wrong.value, of_wrong.low, of_wrong.high) == pytest.approx((0, 0, edge))


def test_means_of_administrations_closer_than_chance_add_no_error() -> None:
    """Rows of mean 0.5, 2.5 and 4.5 with equal columns: MSC = 0, MSE = .5 * 3 / 2."""
    result = psy.icc([[0.0, 1, 0.5], [3, 2, 2.5], [4.5, 4.5, 4.5]])
    columns = [7.5 / 3, 7.5 / 3, 7.5 / 3]
    assert len(set(columns)) == 1
    residual_squares = 0.5 + 0.5
    assert result.ms_error == pytest.approx(residual_squares / 4)
    assert (
        result.sem_agreement
        == result.sem_consistency
        == pytest.approx(math.sqrt(residual_squares / 4))
    )


def test_a_correction_says_why_there_is_none() -> None:
    human = np.tile([1.0, 0], (2, 50))
    flipped = human.copy()
    flipped[0, :60] = 1 - flipped[0, :60]
    lone = np.vstack([human[0], np.full(100, np.nan)])
    reasons = [
        psy.rogan_gladen_scores(*pair)[0].reason for pair in ((flipped, human), (human, lone))
    ]
    assert "differently" in reasons[0]
    assert "could not be compared" in reasons[1]


def test_graded_items_are_accused_by_the_share_of_permutations() -> None:
    """(1 + none) / (permutations + 1) is below alpha: 1 / 20 < .051."""
    steps = np.arange(30)[:, None] + np.arange(8) % 3
    graded = (steps > 14) * 0.5 + (steps > 9) * 0.4
    graded[:, 3] = 1 - graded[:, 3]
    result = psy.label_error_candidates(
        graded, rng=np.random.default_rng(31), permutations=19, alpha=0.051
    )
    assert [candidate.item for candidate in result.candidates] == [3]


def test_items_without_a_type_are_compared_with_types_of_one_label() -> None:
    """24 items of a with both labels, 30 of b that are all wrong, 26 without a type."""
    types = ["a"] * 24 + ["b"] * 30 + [None] * 26
    labels = ["yes", "no"] * 12 + ["no"] * 30 + ["yes"] * 26
    lengths = np.random.default_rng(32).integers(5, 20, 80)
    study = psy.length_cue(lengths, labels, rng=np.random.default_rng(33), types=types)
    assert [rule.stratum.items for rule in study.rules] == [24, 56]


@pytest.mark.parametrize("truth", [1.0, 0.0])
def test_a_pooled_rate_of_the_judge_is_clustered_by_respondent_and_item(truth: float) -> None:
    """Cameron, Gelbach and Miller 2011: both clusterings less the sum of squares, by loops."""
    rng = np.random.default_rng(31)
    human = rng.integers(0, 2, (5, 16)).astype(float)
    judge = np.where(rng.random((5, 16)) < 0.25, 1 - human, human)
    human[0, :3] = np.nan
    weights = rng.uniform(1, 3, (5, 16))
    errors = psy.judge_errors(judge, human, weights)
    rate = errors.sensitivity if truth else errors.specificity
    base = human == truth
    total = weights[base].sum()
    value = weights[base & (judge == truth)].sum() / total
    residual = np.where(base, weights * ((judge == truth) - value), 0.0)
    by_respondent = 5 / 4 * sum(row.sum() ** 2 for row in residual)
    by_item = 16 / 15 * sum(column.sum() ** 2 for column in residual.T)
    two_way = by_respondent + by_item - (residual**2).sum()
    variance = max(two_way, by_respondent, by_item) / total**2
    half = stats.norm.ppf(0.975) * math.sqrt(variance)
    assert (rate.value, rate.se) == pytest.approx((value, math.sqrt(variance)))
    assert (rate.low, rate.high) == pytest.approx((value - half, min(1.0, value + half)))
