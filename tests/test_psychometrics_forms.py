"""Parallel-forms coefficients against published values, other libraries and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from hqm import psychometrics as psy

# arXiv 2406.17115, Table 2: accuracy and yes rate on POPE and on its parallel form (a third / two
# thirds true yes) of MiniGPT4-LLaMA-2, Otter, MiniGPT4-Vicuna-7B, Qwen-VL
POPE = {"accuracy": [0.461, 0.595, 0.622, 0.761], "yes": [0.783, 0.715, 0.251, 0.193]}
POPE_P = {"accuracy": [0.538, 0.438, 0.398, 0.440], "yes": [0.706, 0.756, 0.217, 0.220]}
# Table 3: CHAIR and OCH with the mean number of words, original and parallel form
CHAIR = [[0.151, 0.037], [0.085, 0.031], [0.109, 0.044], [0.102, 0.128]]
CHAIR_WORDS = [[104.66, 10.37], [80.53, 10.66], [56.44, 22.53], [47.15, 63.46]]
OCH = [[0.525, 0.261], [0.470, 0.265], [0.470, 0.433], [0.493, 0.506]]
OCH_WORDS = [[103.07, 10.29], [93.04, 10.85], [64.33, 25.91], [55.94, 63.69]]
Z = stats.norm.ppf(0.975)


def test_pope_and_its_parallel_form() -> None:
    lean = psy.acquiescence(POPE["yes"], POPE_P["yes"])
    assert [c.value for c in lean.respondents] == pytest.approx(
        [0.2445, 0.2355, -0.2660, -0.2935], abs=1e-12
    )
    balanced = psy.balanced_score(POPE["accuracy"], POPE_P["accuracy"])
    assert balanced.scores == pytest.approx([0.4995, 0.5165, 0.5100, 0.6005], abs=1e-12)
    # the models keep their rate of yes and ignore the negation: r of the yes rates .984, of the
    # accuracies -.686
    assert psy.pearson(POPE["yes"], POPE_P["yes"]).value == pytest.approx(0.984, abs=5e-4)
    assert psy.pearson(POPE["accuracy"], POPE_P["accuracy"]).value == pytest.approx(
        -0.686, abs=1e-3
    )


def test_signal_detection_of_pope() -> None:
    detection = psy.signal_detection_from_rates(0.461, 0.783, 0.333)
    assert (detection.hit_rate, detection.false_alarm_rate) == pytest.approx(
        (0.866, 0.741), abs=5e-4
    )
    assert (detection.d_prime.value, detection.criterion.value) == pytest.approx(
        (0.462, -0.878), abs=1e-3
    )
    otter = psy.signal_detection_from_rates(0.438, 0.756, 0.667)
    assert otter.balanced_accuracy.value == pytest.approx(0.334, abs=5e-4)


def test_rates_and_counts_agree() -> None:
    counts = psy.signal_detection(60, 20, 30, 90)
    rates = psy.signal_detection_from_rates(150 / 200, 90 / 200, 80 / 200, 200)
    assert rates.d_prime.value == pytest.approx(counts.d_prime.value, abs=1e-9)
    assert rates.criterion.fixed is not None
    assert psy.signal_detection_from_rates(150 / 200, 90 / 200, 0.4).d_prime.value == pytest.approx(
        stats.norm.ppf(0.75) - stats.norm.ppf(0.25)
    )
    assert psy.signal_detection_from_rates(1.0, 0.5, 0.5).status == "degenerate"
    assert psy.signal_detection_from_rates(1.0, 0.5, 0.5, 100).d_prime.value > 4
    assert psy.signal_detection_from_rates(0.9, 0.9, 0.1).status == "not_applicable"
    assert psy.signal_detection(5, 5, 0, 0).status == "insufficient"


def test_a_shift_of_the_criterion_leaves_the_sensitivity() -> None:
    """d' of 1 seen at three criteria, many items: the model's own invariance."""
    for c in (-0.7, 0.0, 0.9):
        h, f = stats.norm.sf(c - 0.5), stats.norm.sf(c + 0.5)
        detection = psy.signal_detection(h * 1e6, (1 - h) * 1e6, f * 1e6, (1 - f) * 1e6)
        assert (detection.d_prime.value, detection.criterion.value) == pytest.approx(
            (1, c), abs=1e-5
        )


def test_the_interval_of_the_sensitivity_covers() -> None:
    rng, hit = np.random.default_rng(0), 0
    h, f = stats.norm.cdf(0.8), stats.norm.cdf(-0.4)
    for _ in range(500):
        a, b = rng.binomial(120, h), rng.binomial(120, f)
        ends = psy.signal_detection(a, 120 - a, b, 120 - b).d_prime.fixed
        assert ends is not None
        hit += ends.low <= 1.2 <= ends.high
    assert 0.92 <= hit / 500 <= 0.98


def test_a_lean_in_answers_and_its_interval() -> None:
    rng = np.random.default_rng(1)
    yes = (rng.random((2, 3, 300)) < np.array([0.8, 0.5, 0.2])[:, None]).astype(float)
    lean = psy.acquiescence(yes[0], yes[1])
    by_rates = psy.acquiescence(yes[0].mean(axis=1), yes[1].mean(axis=1))
    assert [c.value for c in lean.respondents] == pytest.approx(
        [c.value for c in by_rates.respondents]
    )
    first = lean.respondents[0].fixed
    assert first is not None
    error = ((yes[0, 0] + yes[1, 0]) / 2).std(ddof=1) / math.sqrt(300)
    assert (first.low, first.high) == pytest.approx(
        (lean.respondents[0].value - Z * error, lean.respondents[0].value + Z * error)
    )
    assert first.low <= 0.3 <= first.high
    # two copies of every item in one cluster carry no more information
    twice = psy.acquiescence(
        np.repeat(yes[0], 2, axis=1), np.repeat(yes[1], 2, axis=1), np.repeat(np.arange(300), 2)
    )
    assert twice.respondents[0].se == pytest.approx(error)
    assert psy.acquiescence([1.2], [0.1]).mean.status == "not_applicable"


def test_coherence_of_opposite_questions() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 2000)
    sees, parrot, coin = (
        np.array([truth, 1 - truth]),
        np.ones((2, 2000)),
        rng.integers(0, 2, (2, 2000)),
    )
    coherence = psy.pair_coherence(
        np.stack([sees[0], parrot[0], coin[0]]), np.stack([sees[1], parrot[1], coin[1]])
    )
    assert coherence.coherent[0].value == 1.0
    assert coherence.coherent[1].value == 0.0
    assert coherence.coherent[2].value == pytest.approx(0.5, abs=0.04)
    assert coherence.chance[2] == pytest.approx(0.5, abs=0.01)
    assert coherence.corrected[0] == 1.0
    assert coherence.corrected[2] == pytest.approx(0.0, abs=0.08)
    # the chance of a respondent who says yes with rate y on both forms: 2 y (1 - y)
    y = np.array([[1.0] * 30 + [0.0] * 70])
    assert psy.pair_coherence(y, y).chance[0] == pytest.approx(2 * 0.3 * 0.7)


def test_the_balanced_score_is_an_icc_of_two() -> None:
    import pandas as pd
    import pingouin

    rng = np.random.default_rng(3)
    a = rng.normal(size=10)
    b = a + rng.normal(0.3, 0.5, 10)
    long_table = pd.DataFrame({"t": [*range(10)] * 2, "r": [0] * 10 + [1] * 10, "s": [*a, *b]})
    table = pingouin.intraclass_corr(long_table, targets="t", raters="r", ratings="s").set_index(
        "Type"
    )["ICC"]
    reliability = psy.balanced_score(a, b).reliability
    assert reliability.value == pytest.approx(float(table["ICC(A,k)"]), abs=1e-9)
    assert reliability.low < reliability.value < reliability.high


# -- heterogeneity of the shift


def test_cochrans_q_against_a_loop_and_statsmodels() -> None:
    from statsmodels.stats.meta_analysis import combine_effects

    rng = np.random.default_rng(4)
    effects, variances = rng.normal(size=9), rng.uniform(0.2, 2, 9)
    rival = combine_effects(effects, variances)
    heterogeneity = psy.shift_heterogeneity_of_scores(effects, variances)
    assert heterogeneity.test.statistic == pytest.approx(rival.q)
    assert heterogeneity.i2 == pytest.approx(max(0.0, rival.i2))
    assert heterogeneity.deviation**2 == pytest.approx(
        max(0.0, effects.var(ddof=1) - variances.mean()), abs=1e-12
    )


def test_the_size_and_power_of_the_heterogeneity_test() -> None:
    """A common shift is not called a difference; a form effect that differs by .03 is (catalogue:
    .034 and .99).
    """
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-(rng.normal(size=(20, 1)) + 1.4 * rng.normal(size=(20, 1000)))))
    size = power = 0
    for _ in range(120):
        common = np.clip(p - 0.05, 0, 1)
        different = np.clip(p + rng.normal(0, 0.03, (20, 1)), 0, 1)
        a, b, c = ((rng.random(p.shape) < q).astype(float) for q in (p, common, different))
        size += psy.shift_heterogeneity(a, b).test.p < 0.05
        power += psy.shift_heterogeneity(a, c).test.p < 0.05
    assert size / 120 <= 0.11
    assert power / 120 >= 0.9


def test_heterogeneity_with_clusters_and_gaps() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.integers(0, 2, (2, 4, 60)).astype(float)
    a[0, :7] = np.nan
    clusters = np.arange(60) // 4
    heterogeneity = psy.shift_heterogeneity(a, b, clusters)
    shifts, variances = [], []
    for m in range(4):
        d, labels = (a - b)[m], clusters
        keep = np.isfinite(d)
        d, labels = d[keep], labels[keep]
        used = sorted(set(labels.tolist()))
        residuals = [float((d[labels == c] - d.mean()).sum()) for c in used]
        shifts.append(d.mean())
        variances.append(len(used) / (len(used) - 1) * sum(r * r for r in residuals) / len(d) ** 2)
    weights = 1 / np.array(variances)
    centre = np.average(shifts, weights=weights)
    assert heterogeneity.shifts == pytest.approx(np.array(shifts))
    q = float((weights * (np.array(shifts) - centre) ** 2).sum())
    assert heterogeneity.test.statistic == pytest.approx(q)


def test_the_correlation_of_forms_without_the_seeds() -> None:
    """Known truth: forms correlate .9, seeds take a quarter of the variance of each."""
    rng = np.random.default_rng(7)
    true = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=4_000)
    a, b = (true + rng.normal(0, math.sqrt(1 / 3), true.shape)).T
    noise = np.full(4_000, 1 / 3)
    reliability = psy.form_reliability(a, b, noise, noise)
    assert reliability.true.value == pytest.approx(0.9, abs=0.02)
    assert reliability.attenuation == pytest.approx(0.75, abs=0.02)
    assert reliability.observed.value == pytest.approx(
        reliability.true.value * reliability.attenuation, abs=1e-12
    )
    overcorrected = psy.form_reliability([1, 2, 3, 4], [1, 2, 3, 4.1], [0.2] * 4, [0.2] * 4)
    assert overcorrected.true.value == 1.0
    assert overcorrected.true.raw > 1
    assert overcorrected.true.flags == ("ABOVE_ONE",)
    noisy = psy.form_reliability([1, 2, 3, 4], [1, 2, 4, 3], [9] * 4, [9] * 4)
    assert noisy.true.status == "degenerate"


# -- positions


def test_positions_against_scipy() -> None:
    counts = [30, 45, 61, 24]
    bias, rival = psy.position_bias(counts), stats.chisquare(counts)
    assert (bias.test.statistic, bias.test.p) == pytest.approx((rival.statistic, rival.pvalue))
    assert bias.cramer_v == pytest.approx(math.sqrt(rival.statistic / (160 * 3)))
    assert bias.shares == pytest.approx(np.array(counts) / 160)
    assert psy.position_bias([100, 0, 0, 0]).cramer_v == pytest.approx(1.0)
    uneven = psy.position_bias([70, 30], [0.7, 0.3])
    assert uneven.test.p == 1.0
    assert psy.position_bias([0, 100], [0.7, 0.3]).cramer_v == pytest.approx(1.0)
    assert psy.position_bias([3, 2, 1]).test.status == "insufficient"


# -- style and spread


def test_length_and_hallucinations_of_the_hqm_paper() -> None:
    chair, och = psy.length_elasticity(CHAIR, CHAIR_WORDS), psy.length_elasticity(OCH, OCH_WORDS)
    assert (chair.elasticity.value, chair.correlation.value) == pytest.approx(
        (0.558, 0.946), abs=5e-4
    )
    assert (och.elasticity.value, och.correlation.value) == pytest.approx((0.301, 0.943), abs=6e-4)
    # with two forms: the regression of log ratios on log ratios
    ratios = np.diff(np.log(CHAIR), axis=1).ravel(), np.diff(np.log(CHAIR_WORDS), axis=1).ravel()
    line = stats.linregress(ratios[1], ratios[0])
    assert (chair.elasticity.value, chair.elasticity.se) == pytest.approx((line.slope, line.stderr))


def test_the_elasticity_against_dummy_regression() -> None:
    import pandas as pd
    from statsmodels.formula.api import ols

    rng = np.random.default_rng(10)
    words = np.exp(rng.normal(4, 0.5, (6, 3)))
    scores = np.exp(rng.normal(size=(6, 1)) + 0.4 * np.log(words) + rng.normal(0, 0.1, (6, 3)))
    scores[2, 1] = np.nan
    table = pd.DataFrame(
        {
            "y": np.log(scores).ravel(),
            "x": np.log(words).ravel(),
            "m": np.repeat(range(6), 3),
            "f": [*range(3)] * 6,
        }
    ).dropna()
    elasticity = psy.length_elasticity(scores, words).elasticity
    fit = ols("y ~ x + C(m) + C(f)", table).fit()
    ends = fit.conf_int().loc["x"]
    assert (elasticity.value, elasticity.se) == pytest.approx((fit.params["x"], fit.bse["x"]))
    assert (elasticity.low, elasticity.high) == pytest.approx((ends[0], ends[1]))
    constant_lengths = psy.length_elasticity(scores, np.broadcast_to([[10.0, 20.0, 30.0]], (6, 3)))
    assert constant_lengths.elasticity.status == "degenerate"


# -- leans by hand


def test_a_lean_and_its_mean_by_hand() -> None:
    rates = psy.acquiescence([0.9, 0.4, math.nan, 0.7], [0.7, 0.2, 0.5, 0.6], level=0.9)
    values = np.array([0.3, -0.2, 0.15])
    half = stats.t.ppf(0.95, 2) * values.std(ddof=1) / math.sqrt(3)
    assert [rates.respondents[i].value for i in (0, 1, 3)] == pytest.approx(values)
    assert (rates.mean.value, rates.mean.low, rates.mean.high) == pytest.approx(
        (values.mean(), values.mean() - half, values.mean() + half)
    )
    assert (rates.mean.n, rates.mean.level, rates.mean.method) == (3, 0.9, "t")
    assert rates.deviation == pytest.approx(values.std(ddof=1))
    assert rates.respondents[2].status == "insufficient"
    assert rates.respondents[0].n == 1
    single = psy.acquiescence([0.0], [1.0], level=0.8)
    assert (single.mean.value, single.mean.n, single.mean.level) == (0, 1, 0.8)
    assert math.isnan(single.mean.low)
    assert math.isnan(single.deviation)
    unanswered = psy.acquiescence([math.nan], [0.5])
    assert (unanswered.mean.status, unanswered.mean.n) == ("insufficient", 0)
    for invalid_rates in (([-0.1], [0.1]), ([0.1], [1.1])):
        refused = psy.acquiescence(*invalid_rates)
        assert (refused.mean.status, refused.respondents) == ("not_applicable", ())
    for shapes in ((0.5, 0.5), ([0.5], [0.5, 0.5]), (np.ones((1, 1, 1)), np.ones((1, 1, 1)))):
        with pytest.raises(ValueError, match="needed"):
            psy.acquiescence(*shapes)


def cluster_error(values: np.ndarray, labels: np.ndarray) -> float:
    """The standard error of a mean over clusters, answers that are missing left out."""
    finite = np.isfinite(values)
    v, labels = values[finite], labels[finite]
    clusters = np.unique(labels)
    sums = [float((v[labels == c] - v.mean()).sum()) for c in clusters]
    return math.sqrt(len(clusters) / (len(clusters) - 1) * sum(s * s for s in sums)) / len(v)


def test_answers_of_two_opposite_forms_by_loops() -> None:
    rng = np.random.default_rng(41)
    first, second = (rng.random((2, 3, 40)) < np.array([0.8, 0.5, 0.3])[:, None]).astype(float)
    first[0, 3:8], second[1, 7], second[2] = np.nan, np.nan, np.nan
    labels = np.arange(40) // 4
    lean = psy.acquiescence(first, second, labels, level=0.9)
    pairs = psy.pair_coherence(first, second, labels, level=0.9)
    z, means, shares = stats.norm.ppf(0.95), [], []
    for m in (0, 1):
        a, b = first[m], second[m]
        scored = np.isfinite(a) & np.isfinite(b)
        parts = (a + b) / 2 - 0.5
        differing = np.where(scored, a != b, np.nan)
        for ours, values in ((lean.respondents[m], parts), (pairs.coherent[m], differing)):
            value, error = np.nanmean(values), cluster_error(values, labels)
            assert ours.fixed is not None
            assert (ours.value, ours.fixed.low, ours.fixed.high, ours.se) == pytest.approx(
                (value, value - z * error, value + z * error, error)
            )
            assert (ours.n, ours.level, ours.fixed.method) == (1, 0.9, "cluster normal")
        y, w = a[scored].mean(), b[scored].mean()
        chance = y * (1 - w) + (1 - y) * w
        assert pairs.chance[m] == pytest.approx(chance)
        share = differing[scored].mean()
        assert pairs.corrected[m] == pytest.approx((share - chance) / (1 - chance))
        means.append(np.nanmean(parts))
        shares.append(share)
    for ours, values in ((lean.mean, means), (pairs.mean, shares)):
        half = stats.t.ppf(0.95, 1) * np.std(values, ddof=1) / math.sqrt(2)
        assert (ours.value, ours.low, ours.n) == pytest.approx(
            (np.mean(values), np.mean(values) - half, 2)
        )
    for absent in (lean.respondents[2], pairs.coherent[2]):
        assert absent.status == "insufficient"
    assert math.isnan(pairs.chance[2])
    # who says yes to one form and no to the other whatever is asked cannot contradict itself
    always = psy.pair_coherence(np.ones((1, 5)), np.zeros((1, 5)))
    assert (always.coherent[0].value, always.chance[0]) == (1, 1)
    assert math.isnan(always.corrected[0])
    unanswered = psy.pair_coherence(np.full((2, 3), np.nan), np.ones((2, 3)))
    assert (unanswered.mean.status, unanswered.mean.n) == ("insufficient", 0)
    for answer in (0.5, 2.0, -1.0):
        refused = psy.pair_coherence([[answer, 1]], [[0, 1]])
        assert (refused.mean.status, refused.coherent, refused.chance) == ("not_applicable", (), ())
        assert psy.pair_coherence([[0, 1]], [[1, answer]]).mean.status == "not_applicable"


def test_a_balanced_score_of_respondents_who_lack_one() -> None:
    rng = np.random.default_rng(42)
    a = rng.normal(size=13)
    b = a + rng.normal(0.2, 0.4, 13)
    gap = a.copy()
    gap[[0, 5]] = np.nan
    families = [str(i // 2) for i in range(13)]
    retained = [i for i in range(13) if i not in (0, 5)]
    ours = psy.balanced_score(gap, b, families=families, level=0.9)
    rival = psy.icc(
        np.stack([a, b], axis=1)[retained], families=[families[i] for i in retained], level=0.9
    ).ak
    assert math.isnan(ours.scores[0])
    assert [ours.scores[i] for i in retained] == pytest.approx(((a + b) / 2)[retained])
    low = ours.reliability.value, ours.reliability.low, ours.reliability.n
    assert low == pytest.approx((rival.value, rival.low, 11))
    assert math.isfinite(rival.low)
    assert psy.balanced_score(gap, b, n_effective=6).reliability.low < rival.value


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ((0, 4, 0, 5), "ok"),
        ((0, 0, 2, 3), "insufficient"),
        ((1, 2, 0, 0), "insufficient"),
        ((-1, 4, 2, 3), "not_applicable"),
        ((1, 4, 2, math.nan), "not_applicable"),
        ((1, math.inf, 2, 2), "not_applicable"),
    ],
    ids=str,
)
def test_which_counts_have_a_sensitivity(counts: tuple[float, ...], status: str) -> None:
    result = psy.signal_detection(*counts)
    assert result.status == status
    assert bool(result.reason) == (status != "ok")
    for number in (result.d_prime, result.criterion, result.balanced_accuracy):
        assert number.status == status
        assert number.n == (9 if status == "ok" else 0)
    if status == "ok":
        assert (result.hit_rate, result.false_alarm_rate) == pytest.approx((0.1, 0.5 / 6))
        assert result.balanced_accuracy.value == 0.5
        sure = psy.signal_detection(4, 0, 0, 5).balanced_accuracy
        assert sure.fixed is not None
        assert (sure.value, sure.fixed.high) == (1, 1)
        assert sure.se == pytest.approx(math.sqrt(0.09 / 4 + 5.5 * 0.5 / 36 / 5) / 2)
        wrong = psy.signal_detection(0, 4, 5, 0).balanced_accuracy
        assert wrong.fixed is not None
        assert (wrong.value, wrong.fixed.low) == (0, 0)


@pytest.mark.parametrize(
    ("rates", "items", "status"),
    [
        ((0.8, 0.6, 0.5), None, "ok"),
        ((0.8, 0.6, 0.5), 40, "ok"),
        ((1.0, 0.4, 0.4), 40, "ok"),
        ((1.0, 0.4, 0.4), None, "degenerate"),
        ((0.4, 1.0, 0.4), None, "degenerate"),
        ((1.0, 0.401, 0.4), None, "degenerate"),
        ((0.999, 0.399, 0.4), None, "degenerate"),
        ((1.0, 0.399, 0.4), None, "degenerate"),
        ((0.0, 0.601, 0.4), None, "degenerate"),
        ((0.0, 0.599, 0.4), None, "degenerate"),
        ((1.0, 0.403, 0.4), None, "not_applicable"),
        ((1.0, 0.396, 0.4), None, "not_applicable"),
        ((0.0, 0.604, 0.4), None, "not_applicable"),
        ((0.0, 0.597, 0.4), None, "not_applicable"),
        ((1.1, 0.4, 0.4), None, "not_applicable"),
        ((0.4, -0.1, 0.4), None, "not_applicable"),
        ((0.4, math.nan, 0.4), None, "not_applicable"),
    ],
    ids=str,
)
def test_which_printed_rates_have_a_sensitivity(
    rates: tuple[float, float, float], items: float | None, status: str
) -> None:
    """Three rates of three digits may miss a cell of nothing by as much as rounding makes."""
    result = psy.signal_detection_from_rates(*rates, items, level=0.9)
    assert result.status == status
    assert bool(result.reason) == (status != "ok")
    accuracy, yes, base = rates
    if status == "degenerate":
        assert result.d_prime.status == result.criterion.status == status
        h, f = result.hit_rate, result.false_alarm_rate
        assert min(h, 1 - h, f, 1 - f) == pytest.approx(0, abs=1e-12)
        assert all(0 <= rate <= 1 for rate in (h, f))
        assert result.balanced_accuracy.value == (h + 1 - f) / 2
    if status == "ok":
        hits = (accuracy + yes - (1 - base)) / 2
        h, f = hits / base, (yes - hits) / (1 - base)
        if items is None:
            z = stats.norm.ppf([h, f])
            assert (result.hit_rate, result.false_alarm_rate) == pytest.approx((h, f))
            assert (result.d_prime.value, result.criterion.value) == pytest.approx(
                (z[0] - z[1], -z.mean())
            )
            assert result.balanced_accuracy.value == pytest.approx((h + 1 - f) / 2)
        else:
            yeses, noes = base * items, (1 - base) * items
            counted = psy.signal_detection(
                h * yeses, (1 - h) * yeses, f * noes, (1 - f) * noes, level=0.9
            )
            assert result.d_prime.value == pytest.approx(counted.d_prime.value)
            assert (result.d_prime.n, result.d_prime.level) == (40, 0.9)


@pytest.mark.parametrize(
    ("counts", "expected", "status", "n"),
    [
        ([10, 10], None, "ok", 20),
        ([15, 35], [1, 9], "ok", 50),
        ([15, 34], [1, 9], "insufficient", 49),
        ([0, 0], None, "insufficient", 0),
        ([50], None, "insufficient", 0),
        ([-1, 50], None, "not_applicable", 0),
        ([math.nan, 50], None, "not_applicable", 0),
        ([50, 50], [-0.5, 1.5], "not_applicable", 0),
        ([50, 50], [math.nan, 1.0], "not_applicable", 0),
    ],
    ids=str,
)
def test_which_choices_have_a_preference(
    counts: list[float], expected: list[float] | None, status: str, n: int
) -> None:
    """Expected shares of 1 and 9 are a tenth and nine tenths."""
    result = psy.position_bias(counts, expected)
    assert (result.test.status, result.test.n) == (status, n)
    assert math.isfinite(result.cramer_v) == (status == "ok")
    assert len(result.shares) == (2 if n else 0)
    if counts == [15, 35]:
        rival = stats.chisquare([15, 35], [5, 45])
        assert (result.test.statistic, result.test.p, result.test.df) == pytest.approx(
            (rival.statistic, rival.pvalue, 1)
        )
        assert result.cramer_v == pytest.approx(math.sqrt(rival.statistic / (50 * 9)))
        assert result.shares == (0.3, 0.7)
    with pytest.raises(ValueError, match="expected"):
        psy.position_bias([*counts, 3], [0.5] * len(counts))


def test_the_elasticity_of_some_answers() -> None:
    rng = np.random.default_rng(43)
    words = np.exp(rng.normal(4, 0.5, (7, 3)))
    scores = np.exp(0.4 * np.log(words) + rng.normal(0, 0.2, (7, 3)))
    gap, lengths = scores.copy(), words.copy()
    gap[0, 1:], gap[1, 0], lengths[2, 2] = 0.0, -1.0, np.nan  # the first has one form
    lengths[3] = 0.0
    retained_scores = scores[[1, 2, 4, 5, 6]].copy()
    retained_scores[0, 0], retained_scores[1, 2] = np.nan, np.nan
    ours = psy.length_elasticity(gap, lengths, level=0.9)
    refitted = psy.length_elasticity(retained_scores, words[[1, 2, 4, 5, 6]], level=0.9)
    for estimate, refitted_estimate in (
        (ours.elasticity, refitted.elasticity),
        (ours.correlation, refitted.correlation),
    ):
        assert (estimate.value, estimate.low, estimate.high, estimate.se) == pytest.approx(
            (
                refitted_estimate.value,
                refitted_estimate.low,
                refitted_estimate.high,
                refitted_estimate.se,
            ),
            nan_ok=True,
        )
    assert (ours.elasticity.n, ours.elasticity.level, ours.elasticity.method) == (5, 0.9, "t")
    scored = np.isfinite(retained_scores)
    r = np.corrcoef(np.log(retained_scores[scored]), np.log(words[[1, 2, 4, 5, 6]][scored]))[0, 1]
    assert (ours.correlation.value, ours.correlation.n) == (pytest.approx(r), 13)
    nine = psy.length_elasticity(scores[[0, 1, 2] * 3], words[[0, 1, 2] * 3], level=0.9)
    counted = psy.pearson(
        np.log(words[[0, 1, 2] * 3]).ravel(), np.log(scores[[0, 1, 2] * 3]).ravel(),
        n_effective=9, level=0.9,
    )  # fmt: skip
    assert math.isfinite(counted.low)
    assert nine.correlation.low == pytest.approx(counted.low)
    small_study = psy.length_elasticity(scores[:2], words[:2])
    for absent in (small_study.elasticity, small_study.correlation):
        assert (absent.status, absent.n) == ("insufficient", 2)
    exact = psy.length_elasticity(words**0.3, words).elasticity
    assert (exact.value, exact.n) == (pytest.approx(0.3), 7)
    assert math.isnan(exact.low)
    level = psy.length_elasticity(scores, np.outer(np.arange(1.0, 8), [1.0, 2.0, 5.0])).elasticity
    assert (level.status, level.n) == ("degenerate", 7)
    # two respondents share two forms, and the third has others: the line takes what is left
    disjoint_scores = np.full((3, 4), np.nan)
    disjoint_scores[:2, :2], disjoint_scores[2, 2:] = scores[:2, :2], scores[2, :2]
    without_common = psy.length_elasticity(disjoint_scores, rng.uniform(5, 50, (3, 4))).elasticity
    assert (without_common.status, without_common.n) == ("ok", 3)
    assert math.isnan(without_common.low)


answers = arrays(float, (2, 5, 12), elements=st.integers(0, 1))


@given(answers, st.permutations(range(12)), st.permutations(range(5)))
@settings(max_examples=40, deadline=None)
def test_order_and_direction_do_not_matter(
    x: np.ndarray, items: list[int], respondents: list[int]
) -> None:
    y = x[:, respondents][:, :, items]
    original, transformed = psy.shift_heterogeneity(*x), psy.shift_heterogeneity(*y)
    swapped = psy.shift_heterogeneity(x[1], x[0])
    assert original.test.status == transformed.test.status == swapped.test.status
    if original.test.status == "ok":
        assert transformed.test.statistic == pytest.approx(original.test.statistic)
        assert swapped.test.statistic == pytest.approx(original.test.statistic)
    assert psy.acquiescence(*y).mean.value == pytest.approx(
        psy.acquiescence(*x).mean.value, abs=1e-12
    )
    assert psy.acquiescence(x[1], x[0]).mean.value == pytest.approx(
        psy.acquiescence(*x).mean.value, abs=1e-12
    )
    assert psy.pair_coherence(*y).mean.value == pytest.approx(
        psy.pair_coherence(*x).mean.value, abs=1e-12
    )
