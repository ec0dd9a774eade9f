"""Statistics against their formulas, written out for a few numbers."""

import math

import numpy as np
import pytest
from scipy import stats

import hqm.psychometrics as psy
from hqm.psychometrics.cross_validation import deal
from hqm.psychometrics.leaks import judge_strata, views


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
    result = psy.shift_heterogeneity_of_scores(shifts, variances, level=0.9)
    mean = 80 / 275
    q = 100 * (0.1 - mean) ** 2 + 50 * (0.3 - mean) ** 2
    q += 100 * (0.5 - mean) ** 2 + 25 * (0.2 - mean) ** 2
    half = stats.norm.ppf(0.95) / math.sqrt(275)
    assert result.test.statistic == pytest.approx(q)
    assert result.test.p == pytest.approx(stats.chi2.sf(q, 3))
    assert result.i2 == pytest.approx(1 - 3 / q)
    assert result.shift.value == pytest.approx(mean)
    assert result.shift.fixed is not None
    assert (result.shift.fixed.low, result.shift.fixed.high) == pytest.approx(
        (mean - half, mean + half)
    )
    assert result.deviation == pytest.approx(math.sqrt(np.var(shifts, ddof=1) - 0.02))


def test_a_cue_is_judged_by_the_gains_of_clusters() -> None:
    """Accuracy, gain, its error and p for the four orders that the generator draws, by loops."""
    rng = np.random.default_rng(6)
    cluster = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    labels = rng.choice(["yes", "no"], len(cluster), p=[0.6, 0.4])
    items = deal(labels.tolist(), cluster.tolist(), None, rng, 5)
    right = (rng.random(len(cluster)) < 0.8).astype(float)
    (view,) = views(items, None)
    (result,) = judge_strata(
        view, lambda block: right, np.random.default_rng(7), cue="c", tests=3, alpha=0.05
    )
    base = (labels == "yes").astype(float)
    same = np.random.default_rng(7)
    rows = []
    for _ in range(4):
        block = same.permutation(np.arange(30) % 10)[cluster]
        seen = block > 0
        gains = (right - base)[seen]
        mean = gains.mean()
        kept = sorted(set(cluster[seen]))
        squares = sum(float((gains[cluster[seen] == c] - mean).sum()) ** 2 for c in kept)
        error = math.sqrt(len(kept) / (len(kept) - 1) * squares) / seen.sum()
        square = (gains**2).mean()
        rows.append([right[seen].mean(), base[seen].mean(), mean, error, mean / error, square])
    accuracy, floor, gain, error, ratio, square = np.mean(rows, axis=0)
    reach = stats.t.ppf(1 - 0.05 / 3, 29)
    assert (result.items, result.clusters) == (len(cluster), 30)
    assert (result.accuracy, result.baseline, result.gain) == pytest.approx((accuracy, floor, gain))
    assert (result.low, result.high) == pytest.approx((gain - reach * error, gain + reach * error))
    assert result.p == pytest.approx(3 * max(stats.t.sf(ratio, 29), 2.0**-30))
    typical = math.sqrt(max(square, 1 - floor) / (len(cluster) * 0.9))
    least = 1.05 * (reach + stats.norm.ppf(0.8)) * max(typical, error)
    least += 0.8 * math.sqrt(floor * (1 - floor) / len(cluster))
    assert result.detectable == pytest.approx(min(1.0, least))
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
    known = [share for share in agreed if share is not None]
    value = (np.mean(known) - chance) / (1 - chance)
    influences = [
        (0 if share is None else 9 / len(known) * (share - chance) / (1 - chance))
        - 2 * (1 - value) * (float((row * (1 - common)).sum()) / 2 - chance) / (1 - chance)
        for share, row in zip(agreed, shares, strict=True)
    ]
    error = math.sqrt(sum((each - value) ** 2 for each in influences) / 72)
    result = psy.gwet_ac1(ratings, level=0.8)
    half = stats.t.ppf(0.9, 8) * error
    assert result.fixed is not None
    assert (result.value, result.se) == pytest.approx((value, error))
    assert (result.fixed.low, result.fixed.high) == pytest.approx(
        (value - half, min(1.0, value + half))
    )


def test_the_elasticity_has_the_interval_of_a_regression() -> None:
    """With one level a respondent it is the simple regression within two respondents' means."""
    rng = np.random.default_rng(9)
    lengths = np.exp(rng.normal(4, 0.5, (4, 3)))
    scores = np.exp(0.5 * np.log(lengths) + rng.normal(0, 0.2, (4, 3)))
    result = psy.length_elasticity(scores, lengths, level=0.9).within
    y, x = (np.log(v) - np.log(v).mean(axis=1, keepdims=True) for v in (scores, lengths))
    slope = float((x * y).sum() / (x * x).sum())
    error = math.sqrt(float(((y - slope * x) ** 2).sum()) / (12 - 4 - 1) / float((x * x).sum()))
    half = stats.t.ppf(0.95, 7) * error
    assert (result.value, result.low, result.high) == pytest.approx(
        (slope, slope - half, slope + half)
    )


def test_the_gain_of_a_subscore_has_the_jackknife_over_respondents() -> None:
    rng = np.random.default_rng(10)
    ability = rng.normal(size=(15, 2))[:, [0] * 8 + [1] * 8]
    right = (rng.random((15, 16)) < 1 / (1 + np.exp(-2 * ability))).astype(float)
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
    first, other = q1 * (1 - q1) / 62, q0 * (1 - q0) / 92
    error = math.sqrt(p * (1 - p) / (200 + z**2) + (1 - theta) ** 2 * other + theta**2 * first) / (
        q1 + q0 - 1
    )
    middle = theta + 2 * z**2 * (theta * first - (1 - theta) * other)
    assert result.value == pytest.approx((0.4 + 0.8 - 1) / 0.7)
    assert (result.se, result.low, result.high) == pytest.approx(
        (error, middle - z * error, middle + z * error)
    )


def test_saturation_counts_respondents_and_items_at_the_ends() -> None:
    """Respondents of 1, .5 and 0; items of 2/3, 2/3, 1/3, 1/3."""
    scores = np.array([[1.0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]])
    for given, higher, bounds in ((scores, True, (0, 1)), (5 - 4 * scores, False, (1, 5))):
        result = psy.saturation(given, bounds=bounds, higher_is_better=higher)
        ends = result.at_ceiling, result.at_floor, result.solved_by_all, result.solved_by_none
        assert ends == pytest.approx((2 / 3, 2 / 3, 0, 0)), higher
        assert result.flags == ("CEILING", "FLOOR")
        assert result.headroom == 0
    # the middle one's mean of .5 has the standard error sqrt(1 / 3 / 4): two of them reach 1 and 0
    better = psy.saturation(scores[:2, [0, 0, 1, 2, 3, 2, 3, 2]] * 0.5 + 0.25)
    assert better.headroom == pytest.approx(0.25)
    assert (better.at_ceiling, better.at_floor, better.flags) == (0, 0, ())


def test_separation_by_hand() -> None:
    """Variance of the scores .04 / 3, mean squared error (.01 + .0025) / 2."""
    result = psy.separation([0.4, 0.6, 0.6, 0.4], [0.1, 0.05, 0.05, 0.1])
    noise = (2 * 0.01 + 2 * 0.0025) / 4
    true = 4 * 0.01 / 3 - noise
    ratio = math.sqrt(true / noise)
    assert (result.ratio, result.strata) == pytest.approx((ratio, (4 * ratio + 1) / 3))
    assert psy.separation([0.4, 0.6, 0.5], [0.3, 0.3, 0.3]).ratio == 0


def test_lins_interval_by_hand() -> None:
    """Lin (1989), as corrected in 2000: on Fisher's scale, over n - 2."""
    rng = np.random.default_rng(13)
    x = rng.normal(size=9)
    y = 0.8 * x + 0.3 + 0.5 * rng.normal(size=9)
    result = psy.concordance(x, y, level=0.9).ccc
    r = stats.pearsonr(x, y).statistic
    value = 2 * r * x.std() * y.std() / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    u = (x.mean() - y.mean()) / math.sqrt(x.std() * y.std())
    variance = (
        (1 - r**2) * value**2 / ((1 - value**2) * r**2)
        + 2 * value**3 * (1 - value) * u**2 / (r * (1 - value**2) ** 2)
        - value**4 * u**4 / (2 * r**2 * (1 - value**2) ** 2)
    ) / 7
    half = stats.norm.ppf(0.95) * math.sqrt(variance)
    ends = np.tanh([math.atanh(value) - half, math.atanh(value) + half])
    assert (result.value, result.low, result.high) == pytest.approx((value, *ends))


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
        assert bool(psy.too_near_a_bound(x)) == tailed
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
    part = (right[0] - 0.9) / 10
    rest = part - float((w * part).sum() / w.sum())
    error = 2 * math.sqrt(4 / 3 * float((w * (w - 1) * rest**2).sum()))
    half = stats.t.ppf(0.95, 3) * error
    assert result.se[0] == pytest.approx(error, rel=1e-5)
    assert (result.low[0], result.high[0]) == pytest.approx((0.9 - half, 0.9 + half), rel=1e-5)


def test_a_bootstrap_says_what_it_drew() -> None:
    rate = psy.Statistic(lambda t: t[:, :2] / t[:, 2:])
    single = psy.resample(np.ones((1, 3)), {"r": rate}, rng=psy.stream(0, "r"), replicates=50)
    assert (single.replicates, single.values["r"].shape) == (0, (0, 2))
    equal = psy.resample(np.ones((30, 3)), {"r": rate}, rng=psy.stream(0, "r"), replicates=50)
    interval = equal.interval("r")
    assert (interval.status, interval.defined, interval.replicates) == ("not_informative", 1, 50)
    rng = np.random.default_rng(15)
    table = np.column_stack([rng.random((40, 2)), np.ones(40)])
    two = psy.resample(table, {"r": rate, "s": rate}, rng=psy.stream(0, "r"), replicates=200)
    mean = table.mean(axis=0)
    assert two.interval("r").value == pytest.approx(mean[0])
    assert two.difference("r", "s").value == 0
    half = psy.Statistic(lambda t: t[:, :2] / t[:, 2:] / 2)
    apart = psy.resample(table, {"r": rate, "h": half}, rng=psy.stream(0, "r"), replicates=200)
    assert apart.difference("r", "h").value == pytest.approx(mean[0] / 2)
    assert apart.difference("r", "h", 1).value == pytest.approx(mean[1] / 2)


def test_a_share_of_permutations_counts_the_data_as_one_of_them() -> None:
    """(1 + as extreme ones) / (permutations + 1) is a whole number of parts."""
    rng = np.random.default_rng(16)
    families = psy.family_dependence(rng.random(12), list("aabbccddeeff"), rng=rng, permutations=98)
    assert families.p * 99 == pytest.approx(round(families.p * 99), abs=1e-9)
    assert 1 <= families.p * 99 <= 99


def test_numbers_of_items_of_another_length_are_refused() -> None:
    for sizes in ([500], [500, 500, 500]):
        with pytest.raises(ValueError, match="2 columns have"):
            psy.check_table(["m"], ["a", "b"], [["0.748", "0.501"]], n=sizes)


def test_items_that_nobody_or_everybody_solves_have_no_place_on_the_scale() -> None:
    rng = np.random.default_rng(18)
    ability = rng.normal(size=(40, 1))
    right = (rng.random((40, 6)) < 1 / (1 + np.exp(-ability))).astype(float)
    right[:, 1], right[:, 4] = 1, 0
    right[rng.random(right.shape) < 0.2] = np.nan
    model = psy.item_response(right, model="rasch")
    assert model.status == "ok"
    assert model.left_out == (1, 4)


def test_an_expected_share_of_nothing_is_refused() -> None:
    assert psy.position_bias([5, 5], [0.5, 0.5]).test.status == "ok"
    assert psy.position_bias([5, 5], [1.0, 0.0]).test.status == "not_applicable"


def test_two_independent_respondents_are_enough_for_a_test_of_means() -> None:
    """F of two administrations is the square of the paired t; of relatives it counts as many as
    are independent.
    """
    x = np.array([[0.5, 0.6], [0.6, 0.9], [0.4, 0.5], [0.7, 0.75]])
    whole = psy.bias_test(x)
    theirs = stats.ttest_rel(x[:, 0], x[:, 1])
    assert (whole.statistic, whole.p) == pytest.approx((theirs.statistic**2, theirs.pvalue))
    two = psy.bias_test(x, n_effective=2)
    ratio = theirs.statistic**2 / 2
    assert (two.statistic, two.p) == pytest.approx((ratio, stats.f.sf(ratio, 1, 1)))
    assert psy.bias_test(x, n_effective=1.9).status == "not_applicable"
