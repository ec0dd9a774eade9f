"""Test-retest coefficients against published values, other libraries, hand-written loops and
simulation.
"""

import math
import random
from itertools import combinations

import numpy as np
import pingouin
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.reliability.consistency import lengthening
from hqm.psychometrics.reliability.retest import drift_test
from hqm.psychometrics.reliability.score_dependability import fixed_score_variances
from tests.conftest import NIGHTLY
from tests.perf.retest_coverage import INTERVALS, simulate

# Bland and Altman 1986, Lancet 327:307-310, Table 1: peak expiratory flow, first reading of each
# meter
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
# Shrout and Fleiss 1979, Psychological Bulletin 86:420-428, Table 2: six targets, four judges
RATINGS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]],
    dtype=float,
)
# Kendall 1948, Rank Correlation Methods, ch. 6: ten objects ranked by three judges, with ties
KENDALL = np.transpose(
    [
        [1, 4.5, 2, 4.5, 3, 7.5, 6, 9, 7.5, 10],
        [2.5, 1, 2.5, 4.5, 4.5, 8, 9, 6.5, 10, 6.5],
        [2, 1, 4.5, 4.5, 4.5, 4.5, 8, 8, 8, 10],
    ]
)
Z = stats.norm.ppf(0.975)


def answers(
    seed: int, runs: int = 2, respondents: int = 8, items: int = 60, spread: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Item scores of several runs, and the probabilities they were drawn with."""
    rng = np.random.default_rng(seed)
    p = 1 / (
        1
        + np.exp(
            -(spread * rng.normal(size=(respondents, 1)) + rng.normal(size=(respondents, items)))
        )
    )
    return (rng.random((runs, respondents, items)) < p).astype(float), p


# -- correlations


def test_rank_correlations_of_the_peak_flow_data() -> None:
    rho, tau = psy.spearman(WRIGHT, MINI), psy.kendall_tau_b(WRIGHT, MINI)
    assert rho.value == pytest.approx(stats.spearmanr(WRIGHT, MINI).statistic, abs=1e-12)
    # cor.test(method = "kendall") of R on the same columns gives .764706
    assert tau.value == pytest.approx(0.764706, abs=5e-7)


def test_tau_b_with_ties_against_a_count_of_pairs() -> None:
    x, y = [1, 2, 2, 3, 4, 4, 5], [1, 3, 2, 2, 5, 4, 4]
    signs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in combinations(range(7), 2)]
    balance = sum(a * b for a, b in signs)
    free = [sum(s[k] != 0 for s in signs) for k in (0, 1)]
    assert psy.kendall_tau_b(x, y).value == pytest.approx(
        balance / math.sqrt(free[0] * free[1]), abs=1e-12
    )


def test_the_effective_number_stands_in_for_the_number() -> None:
    """Twice the same respondents are not twice as many: with n_effective the interval is that of
    one copy.
    """
    for coefficient in (psy.pearson, psy.spearman, psy.kendall_tau_b):
        once = coefficient(WRIGHT, MINI)
        twice = coefficient(WRIGHT * 2, MINI * 2, n_effective=17)
        if coefficient is not psy.kendall_tau_b:  # copies are ties for tau-b
            assert twice.low == pytest.approx(once.low, abs=0.04)
        assert coefficient(WRIGHT, MINI, n_effective=10).low < once.low
        assert "n_eff 10" in coefficient(WRIGHT, MINI, n_effective=10).method
        assert math.isnan(coefficient(WRIGHT, MINI, n_effective=1.5).low)
    assert (
        psy.concordance(WRIGHT, MINI, n_effective=10).ccc.low
        < psy.concordance(WRIGHT, MINI).ccc.low
    )


def test_concordance_of_the_peak_flow_data() -> None:
    """epi.ccc of R's epiR on the same columns."""
    concordance = psy.concordance(WRIGHT, MINI)
    assert concordance.ccc.value == pytest.approx(0.9427424, abs=5e-8)
    assert concordance.bias_correction == pytest.approx(0.99943069, abs=5e-9)


def test_concordance_against_lins_formula_as_printed() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.normal(size=15)
        y = rng.uniform(0.5, 2) * x + rng.normal(0, 0.5, 15) + rng.normal()
        r = np.corrcoef(x, y)[0, 1]
        p = 2 * r * x.std() * y.std() / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
        assert psy.concordance(x, y).ccc.value == pytest.approx(p, abs=1e-9)


# -- errors, limits, shifts


def test_bland_and_altman_of_the_peak_flow_data() -> None:
    two = psy.bland_altman(MINI, WRIGHT, multiplier=2)
    # the paper prints -2.1, 38.8, -79.7 and 75.5 from rounded numbers
    assert (two.bias.value, two.deviation) == pytest.approx((-2.1176, 38.765), abs=5e-4)
    assert (two.lower.value, two.upper.value) == pytest.approx((-79.65, 75.41), abs=5e-3)
    limits = psy.bland_altman(MINI, WRIGHT)
    assert (limits.upper.low, limits.upper.high) == pytest.approx((48.86, 119.93), abs=5e-3)
    # mirrored: exchanging the meters exchanges the limits
    swapped = psy.bland_altman(WRIGHT, MINI)
    assert (swapped.lower.low, swapped.lower.high) == pytest.approx(
        (-limits.upper.high, -limits.upper.low)
    )
    line = stats.linregress((np.array(WRIGHT) + MINI) / 2, np.array(WRIGHT) - MINI)
    assert (limits.slope.value, limits.slope.se) == pytest.approx(
        (line.slope, line.stderr), rel=1e-9
    )


def test_the_exact_limit_covers_where_the_approximation_need_not() -> None:
    rng, hit = np.random.default_rng(4), 0
    for _ in range(400):
        upper = psy.bland_altman(np.zeros(8), rng.normal(size=8)).upper
        hit += upper.low <= 1.96 <= upper.high
    assert 0.92 <= hit / 400 <= 0.98


def test_the_bias_of_judges() -> None:
    bias = psy.bias_test(RATINGS)
    assert bias.statistic == pytest.approx(31.866, abs=5e-4)
    assert bias.p == pytest.approx(9.5e-7, abs=5e-8)
    two = psy.bias_test(np.transpose([WRIGHT, MINI]))
    rival = stats.ttest_rel(WRIGHT, MINI)
    assert (two.statistic, two.p) == pytest.approx((rival.statistic**2, rival.pvalue))
    assert psy.bias_test([[1, 2], [2, 3], [4, 5]]).p == 0.0


def test_equivalence_against_pingouin() -> None:
    equivalence = psy.equivalence(WRIGHT, MINI, 30)
    assert equivalence.p == pytest.approx(0.0045549, abs=5e-8)
    for margin in (5, 20, 30, 80):
        table = pingouin.tost(WRIGHT, MINI, bound=margin, paired=True)
        rival = float(table[next(c for c in table.columns if c in ("p_val", "pval"))].iloc[0])
        assert psy.equivalence(WRIGHT, MINI, margin).p == pytest.approx(rival, rel=1e-6)
    assert equivalence.p < equivalence.alpha
    # the 90 % interval lies inside the margin exactly then
    assert -30 < equivalence.shift.low < equivalence.shift.high < 30
    assert psy.equivalence(WRIGHT, MINI, 5).p >= 0.05
    assert psy.equivalence(WRIGHT, MINI, -1).status == "not_applicable"


# -- length


@pytest.mark.parametrize(
    ("r", "n", "to", "expected"),
    [
        # arXiv 2406.17115, Table 1: HQH .9962 with 4,000 items, MMHal .8784 with 96, OpenCHAIR
        # .9896 with 2,000
        (0.9962, 4000, 96, 0.863),
        (0.8784, 96, 4000, 0.9967),
        (0.9896, 2000, 96, 0.820),
        (0.8784, 96, 96, 0.8784),
    ],
)
def test_length_standardised_reliabilities_of_the_hqm_paper(
    r: float, n: int, to: int, expected: float
) -> None:
    assert psy.standardized_reliability(r, n, to).value == pytest.approx(
        expected, abs=5e-4 if expected < 0.99 else 5e-5
    )


def test_lengthening_is_the_inverse_of_the_standardised_length() -> None:
    coefficient = psy.Coefficient(0.8, 0.6, 0.9, 20, fixed=psy.ConfidenceInterval(0.7, 0.85, "x"))
    n_items = round(100 * lengthening(0.8, 0.95))
    assert psy.standardized_reliability(0.8, 100, n_items).value == pytest.approx(0.95, abs=1e-4)
    longer = psy.standardized_reliability(coefficient, 100, 400)
    assert longer.fixed is not None
    assert (longer.low, longer.fixed.high) == pytest.approx((6 / 7, 4 * 0.85 / (1 + 3 * 0.85)))
    assert lengthening(0.0, 0.9) == np.inf
    assert psy.standardized_reliability(1.5, 10).status == "not_applicable"


# -- rho_G


def by_hand(x: np.ndarray, clusters: np.ndarray) -> tuple[float, np.ndarray, float]:
    """rho_G with nothing but loops: rho, noise of each respondent (items scored in every run),
    variance of all scores.
    """
    runs, respondents, items = x.shape
    noise, scores = [], []
    for m in range(respondents):
        usable = [i for i in range(items) if all(x[k, m, i] == x[k, m, i] for k in range(runs))]
        total = 0.0
        for c in sorted(set(clusters[usable].tolist())):
            sums = [sum(x[k, m, i] for i in usable if clusters[i] == c) for k in range(runs)]
            mean = sum(sums) / runs
            total += sum((s - mean) ** 2 for s in sums) / (runs - 1)
        answers_by_run = [
            [x[k, m, i] for i in range(items) if x[k, m, i] == x[k, m, i]] for k in range(runs)
        ]
        noise.append(total / len(usable) * sum(1 / len(scored) for scored in answers_by_run) / runs)
        scores.append([sum(scored) / len(scored) for scored in answers_by_run])
    spread = float(np.mean([np.var([s[k] for s in scores], ddof=1) for k in range(runs)]))
    return 1 - float(np.mean(noise)) / spread, np.array(noise), spread


@pytest.mark.parametrize(("runs", "missing"), [(2, 0.0), (3, 0.1)])
def test_rho_g_against_loops(runs: int, missing: float) -> None:
    x, _ = answers(6, runs=runs)
    clusters = np.arange(60) // 3
    x[np.random.default_rng(0).random(x.shape) < missing] = np.nan
    reliability = psy.rho_g(x, clusters)
    rho, noise, spread = by_hand(x, clusters)
    assert reliability.rho.value == pytest.approx(rho, abs=1e-12)
    assert reliability.noise == pytest.approx(noise, abs=1e-15)
    assert reliability.score_variance == pytest.approx(spread, abs=1e-14)
    assert reliability.rho.fixed is not None
    assert (
        reliability.rho.low
        <= reliability.rho.fixed.low
        < rho
        < reliability.rho.fixed.high
        <= reliability.rho.high
    )
    assert ("MISSING" in reliability.rho.flags) == (missing > 0)
    assert reliability.sem_pooled == pytest.approx(math.sqrt(noise.mean()))
    assert reliability.mdc95_pooled == pytest.approx(1.96 * math.sqrt(2 * noise.mean()))


def test_the_least_reliability_of_others_by_hand() -> None:
    """Known noise: of log(1 - rho) only the variance of the scores is uncertain, whose error is the
    larger of the jackknife's and Bonett's.
    """
    scores = np.exp(np.linspace(0, 3, 20))

    def estimate(rows: np.ndarray) -> tuple[float, float]:
        spread = scores[rows].var(ddof=1)
        return 1 - 0.01 / spread, spread

    rho = psy.add_lower_bound(
        psy.Coefficient(1 - 0.01 / scores.var(ddof=1), n=20), estimate, scores
    )
    left_variances = np.array([np.delete(scores, i).var(ddof=1) for i in range(20)])
    jackknifed = 19 / 20 * ((np.log(left_variances) - np.log(left_variances).mean()) ** 2).sum()
    centre = stats.trim_mean(scores, 1 / (2 * math.sqrt(16)))
    square = ((scores - scores.mean()) ** 2).sum()
    kurtosis = 20 * ((scores - centre) ** 4).sum() / square**2
    bonett = 20 / (20 - 1.96) * (kurtosis - 17 / 20) / 19
    reach = stats.t.ppf(0.95, 19) * math.sqrt(max(jackknifed, bonett))
    low = 1 - (1 - rho.value) * math.exp(reach)
    assert (rho.low, rho.high) == (pytest.approx(low, abs=1e-12), math.inf)


def test_rho_g_is_far_steadier_than_pearson_and_right_on_average() -> None:
    _, p = answers(8, respondents=20, items=500)
    rng = np.random.default_rng(0)
    mu, noise = p.mean(axis=1), (p * (1 - p)).sum(axis=1) / 500**2
    truth = mu.var(ddof=1) / (mu.var(ddof=1) + noise.mean())
    general, product = [], []
    for _ in range(200):
        x = (rng.random((2, *p.shape)) < p).astype(float)
        general.append(psy.rho_g(x).rho.value)
        product.append(psy.pearson(*x.mean(axis=2)).value)
    error = [math.sqrt(np.mean((np.array(v) - truth) ** 2)) for v in (general, product)]
    assert np.mean(general) == pytest.approx(truth, abs=3 * np.std(general) / math.sqrt(200) + 2e-4)
    assert error[1] > 5 * error[0]


def test_the_mean_of_runs_is_more_reliable() -> None:
    x, _ = answers(9, runs=4, respondents=30, items=200, spread=0.3)
    reliability = psy.rho_g(x)
    true = reliability.score_variance - reliability.noise_mean
    assert reliability.rho_average.value == pytest.approx(
        true / (true + reliability.noise_mean / 4)
    )
    # the variance between respondents of the mean over runs is true + noise / 4
    assert x.mean(axis=(0, 2)).var(ddof=1) == pytest.approx(
        true + reliability.noise_mean / 4, rel=0.15
    )
    assert reliability.rho_average.fixed is not None
    assert (
        reliability.rho_average.fixed.low
        < reliability.rho_average.value
        < reliability.rho_average.fixed.high
    )


def test_coin_flips_reach_the_noise_floor() -> None:
    rng = np.random.default_rng(10)
    rates = np.linspace(0.2, 0.8, 20)[:, None]
    flips = psy.rho_g((rng.random((2, 20, 2000)) < rates).astype(float))
    floor = psy.noise_floor(flips.scores.mean(axis=0), 2000)
    assert floor.value == pytest.approx(flips.rho.value, abs=0.002)


def test_rho_g_of_scores_equals_rho_g_for_a_mean() -> None:
    x, _ = answers(11, respondents=10, items=300)
    scores = x.mean(axis=2)
    replicates = (x.sum(axis=2, keepdims=True) - x) / 299
    direct, general = psy.rho_g(x), psy.rho_g_of_scores(scores, replicates=replicates)
    assert general.rho.value == pytest.approx(direct.rho.value, abs=3e-4)
    assert direct.rho.fixed is not None
    assert general.rho.fixed is not None
    assert general.rho.fixed.low == pytest.approx(direct.rho.fixed.low, abs=2e-3)
    assert general.rho.fixed.high == pytest.approx(direct.rho.fixed.high, abs=2e-3)
    assert general.drift.statistic == pytest.approx(direct.drift.statistic, rel=1e-9)


def test_rho_g_of_scores_knows_the_noise_of_a_ratio() -> None:
    """CHAIR-like: wrong objects over objects named, both random; the estimated noise is the
    variance over real reruns.
    """
    rng = np.random.default_rng(12)
    wrong_rate = np.linspace(0.1, 0.4, 8)[:, None]

    def run() -> tuple[np.ndarray, np.ndarray]:
        objects = rng.poisson(5, size=(8, 150)) + 1.0
        return rng.binomial(objects.astype(int), wrong_rate).astype(float), objects

    real = np.var([(w.sum(1) / n.sum(1)) for w, n in (run() for _ in range(600))], axis=0, ddof=1)
    estimates = []
    for _ in range(40):
        w, n = (np.stack(v) for v in zip(run(), run(), strict=True))
        replicates = (w.sum(2, keepdims=True) - w) / (n.sum(2, keepdims=True) - n)
        estimates.append(psy.rho_g_of_scores(w.sum(2) / n.sum(2), replicates=replicates).noise)
    assert np.mean(estimates, axis=0).mean() == pytest.approx(real.mean(), rel=0.06)


@pytest.mark.parametrize("drift", [0.0, 0.3])
def test_the_flag_of_drift_is_that_of_its_test(drift: float) -> None:
    rng = np.random.default_rng(14)
    p = np.linspace(0.3, 0.6, 12)[:, None]
    shift = drift * np.array([0, 1])[:, None, None] * (np.arange(12) % 2)[:, None]
    study = psy.rho_g((rng.random((2, 12, 200)) < p + shift).astype(float))
    assert (study.drift.p < 0.05) == (drift > 0)
    assert ("DRIFT" in study.rho.flags) == (drift > 0)


def test_drift_is_found_where_there_is_some() -> None:
    """Catalogue: size about .05; a drift of .02 with 20 respondents and 1,000 items is found in
    about 80 of 100.
    """
    rng = np.random.default_rng(13)
    p = 1 / (1 + np.exp(-(rng.normal(size=(20, 1)) + 1.4 * rng.normal(size=(20, 1000)))))
    still, moved = 0, 0
    studies = 150 if NIGHTLY else 50
    for _ in range(studies):
        drift = rng.normal(0, 0.02 / math.sqrt(2), (2, 20, 1))
        still += psy.rho_g((rng.random((2, 20, 1000)) < p).astype(float)).drift.p < 0.05
        moved += (
            psy.rho_g((rng.random((2, 20, 1000)) < np.clip(p + drift, 0, 1)).astype(float)).drift.p
            < 0.05
        )
    # three and a half standard errors above .05, and five below .8
    assert still / studies <= 0.05 + 3.4 * math.sqrt(0.05 * 0.95 / studies)
    assert moved / studies >= 0.6
    three = psy.rho_g((rng.random((3, 20, 500)) < 0.5).astype(float)).drift
    assert three.df == 40
    assert psy.rho_g((rng.random((2, 20, 9)) < 0.5).astype(float)).drift.status == "insufficient"


def test_the_drift_statistic_of_two_runs_is_the_printed_one() -> None:
    x, _ = answers(14, items=80)
    d = x[0] - x[1]
    q = (d.mean(axis=1) ** 2 / (d.var(axis=1, ddof=1) / 80)).sum()
    assert psy.rho_g(x).drift.statistic == pytest.approx(q)


@pytest.mark.parametrize(("n", "sd"), [(100, 1.0), (1000, 0.25)])
def test_both_intervals_cover(n: int, sd: float) -> None:
    """A small copy of tests/perf/retest_coverage.py; three Monte Carlo standard errors around .95 (and
    conservatism above).
    """
    studies = 200 if NIGHTLY else 60
    coverages = simulate(n, sd, studies, np.random.default_rng(n), bootstrap=0)
    slack = 3 * math.sqrt(0.95 * 0.05 / studies)
    assert coverages[INTERVALS[1]].population >= 0.95 - slack
    assert coverages[INTERVALS[2]].population >= 0.95 - slack
    assert coverages[INTERVALS[3]].fixed_respondents >= 0.95 - slack
    # the point of having two: the narrow one does not speak about other respondents
    assert coverages[INTERVALS[3]].population < 0.8
    assert coverages[INTERVALS[3]].width < coverages[INTERVALS[2]].width


def ends(value: psy.Coefficient) -> tuple[float, ...]:
    fixed = value.fixed or psy.ConfidenceInterval(math.nan, math.nan, "")
    return value.value, value.low, value.high, value.n, value.level, fixed.low, fixed.high


@pytest.mark.parametrize("of_scores", [False, True], ids=["of items", "of scores"])
def test_who_lacks_answers_leaves_no_trace_in_rho_g(of_scores: bool) -> None:
    x, _ = answers(20, respondents=16, items=40)
    complete = [i for i in range(16) if i not in (3, 6)]
    families = [str(i // 2) for i in range(16)]
    complete_families = [families[i] for i in complete]
    gap = x.copy()
    gap[0, 3] = np.nan
    if of_scores:
        gap[1, 6] = np.nan
        replicates, left = ((v.sum(axis=2)[:, :, None] - v) / 39 for v in (gap, x[:, complete]))
        gaps, rests = gap.mean(axis=2), x[:, complete].mean(axis=2)
        ours = psy.rho_g_of_scores(gaps, replicates=replicates, families=families, level=0.9)
        reduced = psy.rho_g_of_scores(rests, replicates=left, families=complete_families, level=0.9)
        replicates[0, 7, 3] = np.nan
        missing_replicate = psy.rho_g_of_scores(gaps, replicates=replicates, families=families)
        assert missing_replicate.rho.n == 13
    else:
        gap[1, 6, 2:] = np.nan  # one picture is left
        labels = np.arange(40) // 2
        ours = psy.rho_g(gap, labels, families=families, level=0.9)
        reduced = psy.rho_g(x[:, complete], labels, families=complete_families, level=0.9)
    assert ends(ours.rho) == pytest.approx(ends(reduced.rho))
    assert (ours.rho.flags, ours.rho.method) == (reduced.rho.flags, reduced.rho.method)
    assert (ours.rho.n, ours.rho.level, math.isfinite(ours.rho.low)) == (14, 0.9, True)
    assert ours.noise[complete] == pytest.approx(reduced.noise)
    assert ours.scores[:, complete] == pytest.approx(reduced.scores)
    assert np.isnan([*ours.noise[[3, 6]], *ours.scores[:, [3, 6]].ravel()]).all()
    assert ours.score_variance == pytest.approx(reduced.score_variance)
    assert ours.noise_mean == pytest.approx(reduced.noise.mean())
    assert ours.mdc95[complete] == pytest.approx(1.96 * np.sqrt(2 * reduced.noise))
    drift = ours.drift.statistic, ours.drift.df, ours.drift.p, ours.drift.n
    assert drift == pytest.approx(
        (reduced.drift.statistic, reduced.drift.df, reduced.drift.p, 14), nan_ok=True
    )


def test_drift_is_that_of_the_items_which_every_run_scored() -> None:
    x, _ = answers(21, items=80)
    x[0, :, :5], x[1, 2, 40:45] = np.nan, np.nan
    statistic = 0.0
    for m in range(8):
        d = x[0, m] - x[1, m]
        d = d[np.isfinite(d)]
        variance = 80 / 79 * ((d - d.mean()) ** 2).sum() / len(d) ** 2
        statistic += d.mean() ** 2 / variance
    study = psy.rho_g(x)
    assert (study.drift.statistic, study.drift.df) == (pytest.approx(statistic), 8)
    assert study.rho.flags == ("MISSING",)
    x[1, 2, 40:45], x[0, :, :5] = 0.0, 1.0
    x[0, :4, 0] = np.nan
    assert psy.rho_g(x).rho.flags == (), "one answer in 160"


def test_runs_that_differ_in_one_direction_only_count_once_in_the_test_of_drift() -> None:
    """Two runs are alike for one respondent, all three for another."""
    rng = np.random.default_rng(22)
    scores = np.array([[0.5, 0.4, 0.3], [0.5, 0.4, 0.3], [0.6, 0.5, 0.3]])
    parts = 0.01 * rng.normal(size=(3, 3, 12))
    parts -= parts.mean(axis=2, keepdims=True)
    parts[1] = parts[0]
    parts[:, 2] = 0.0
    test = drift_test(scores, parts)
    statistic = 0.0
    for m in (0, 1):
        d = parts[2, m] - parts[0, m]
        statistic += 0.1**2 / (12 / 11 * float(d @ d))
    assert (test.statistic, test.df, test.n) == (pytest.approx(statistic), 2, 3)
    scores[2, 2] = 0.4
    certain = drift_test(scores, parts)
    assert (certain.statistic, certain.df, certain.p, certain.n) == (math.inf, 6, 0, 3)
    assert drift_test(scores[:1], parts[:1]).n == 3
    assert drift_test(0 * scores, 0 * parts).n == 3


@pytest.mark.parametrize("pictures", [2, 3])
def test_three_pictures_give_an_interval_for_these_respondents(pictures: int) -> None:
    x, _ = answers(23, items=60)
    assert (psy.rho_g(x, np.arange(60) % pictures).rho.fixed is not None) == (pictures > 2)


def test_noise_above_the_spread_is_reported_raw() -> None:
    x = (np.random.default_rng(1).random((2, 9, 30)) < 0.5).astype(float)
    rho, _, _ = by_hand(x, np.arange(30))
    assert rho < 0
    study = psy.rho_g(x).rho
    assert (study.value, study.raw) == (0, pytest.approx(rho))
    assert (study.n, study.status, study.flags[-1]) == (9, "ok", "NEGATIVE_COMPONENT")
    assert math.isnan(study.low)
    assert study.fixed is not None
    assert study.fixed.low == 0
    positive = psy.rho_g(answers(24)[0]).rho
    assert math.isnan(positive.raw)
    assert "NEGATIVE_COMPONENT" not in positive.flags


def test_runs_that_repeat_say_so_and_equal_scores_have_no_reliability() -> None:
    x, _ = answers(25, respondents=9)
    repeated = psy.rho_g(x[[0, 0, 0]], level=0.9)
    assert (repeated.rho.value, repeated.rho.status, repeated.rho.n) == (1, "not_informative", 9)
    assert (repeated.rho.level, repeated.runs, repeated.noise_mean) == (0.9, 3, 0)
    assert repeated.rho_average is repeated.rho
    equal = np.stack([np.eye(4, 12), np.eye(4, 12)[:, ::-1]])
    degenerate = psy.rho_g(equal)
    assert (degenerate.rho.status, degenerate.rho.n) == ("degenerate", 4)
    assert degenerate.noise == pytest.approx(np.full(4, 1 / 144))
    equal[1, 0] = 1.0
    assert psy.rho_g(equal).rho.status == "ok", "one run tells them apart"
    for subset, respondents in ((x[:1], 9), (x[:, :2], 2), (x[:, :, :1], 9), (x * np.nan, 9)):
        absent = psy.rho_g(subset)
        assert (absent.rho.status, absent.rho.n) == ("insufficient", respondents)
        assert (absent.drift.status, absent.drift.n) == ("insufficient", respondents)
        assert np.isnan(absent.noise).all()
        assert np.isnan(absent.scores).all()
        assert (absent.noise.shape, absent.scores.shape) == ((respondents,), subset.shape[:2])
        assert math.isnan(absent.score_variance)


def fixed_interval(
    scores: np.ndarray, left_means: np.ndarray, noise: float, level: float
) -> tuple[float, float]:
    """The interval of rho_g where the noise of two runs is known: that of the spread alone."""
    m, c = left_means.shape
    centred = left_means - left_means.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    error = (centred**2).sum() * (c - 1) / c / (m - 1)
    centred_scores = scores - scores.mean()
    length = float((centred_scores**2).sum())
    directional_error = (
        ((centred_scores @ centred) ** 2).sum() * (c - 1) / c / length if length > 0 else error
    )
    fixed_spread = fixed_score_variances(
        scores.var(ddof=1), error, m, directional_error=directional_error
    )
    rho = np.clip(1 - noise / (fixed_spread + noise / 2), 0, 1)
    low, high = np.quantile(np.repeat(rho, 15), [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def test_the_noise_of_a_single_item_has_no_error() -> None:
    """Without that item there is no noise at all, of which no logarithm can be had."""
    x, _ = answers(26, respondents=10, items=30)
    x[1] = x[0]
    x[1, 4, 7] = 1 - x[0, 4, 7]
    study = psy.rho_g(x, level=0.8)
    left_means = ((x.sum(axis=2)[:, :, None] - x) / 29).mean(axis=0)
    ours = study.rho.fixed
    assert ours is not None
    assert study.noise[4] == pytest.approx(0.5 / 30**2)
    low, high = fixed_interval(x.mean(axis=(0, 2)), left_means, study.noise.mean(), 0.8)
    value = study.rho.value
    assert (ours.low, ours.high) == pytest.approx((min(low, value), max(high, value)))


def test_mean_scores_that_are_all_alike_have_no_direction() -> None:
    """Two runs in opposite orders, by more than their items' noise explains."""
    rng = np.random.default_rng(27)
    scores = np.array([[0.2, 0.4, 0.6, 0.8], [0.8, 0.6, 0.4, 0.2]])
    replicates = scores[:, :, None] + 0.02 * rng.normal(size=(2, 4, 12))
    study = psy.rho_g_of_scores(scores, replicates=replicates)
    h = 11 / 12 * (scores[:, :, None] - replicates)
    changes = 12 / 11 * h.var(axis=0, ddof=1)
    assert study.noise == pytest.approx(changes.sum(axis=1))
    assert "DRIFT" in study.rho.flags
    left = np.log((12 / 11) ** 2 * (changes.sum(axis=1)[:, None] - changes).mean(axis=0))
    left_means = replicates.mean(axis=0)
    spread = np.log(left_means.var(axis=0, ddof=1))
    doubt = math.sqrt(11 / 12 * float(((left - left.mean()) ** 2).sum()))
    r = np.corrcoef(left, spread)[0, 1]
    centred = left_means - left_means.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    error = (centred**2).sum() * 11 / 12 / 3
    fixed_spread = fixed_score_variances(0.0, error, 4, directional_error=error)[:, 0]
    normal = stats.norm.ppf((np.arange(1, 200) - 0.5) / 199)
    student = stats.t.ppf((np.arange(1, 16) - 0.5) / 15, 11)
    normal, student = normal / normal.std(), student / student.std() * math.sqrt(11 / 9)
    coefficients = []
    for variance, z in zip(fixed_spread, normal, strict=True):
        for t in student:
            noise = study.noise.mean() * math.exp(doubt * (r * z + math.sqrt(1 - r * r) * t))
            coefficients.append(min(max(1 - noise / (variance + noise / 2), 0.0), 1.0))
    low, high = np.quantile(coefficients, [0.025, 0.975])
    assert study.rho.fixed is not None
    assert (study.rho.fixed.low, study.rho.fixed.high) == pytest.approx(
        (min(low, study.rho.value), max(high, study.rho.value))
    )
    for n_respondents, status in ((2, "insufficient"), (3, "ok")):
        assert (
            psy.rho_g_of_scores(
                scores[:, :n_respondents], replicates=replicates[:, :n_respondents]
            ).rho.status
            == status
        )
    for clusters, status in ((1, "insufficient"), (2, "ok")):
        rho = psy.rho_g_of_scores(scores, replicates=replicates[:, :, :clusters]).rho
        assert (rho.status, rho.n) == (status, 4)
    assert psy.rho_g_of_scores(scores[:1], replicates=replicates[:1]).rho.n == 4
    for shape in (replicates[0], replicates[:, :3], replicates[:1]):
        with pytest.raises(ValueError, match="shape"):
            psy.rho_g_of_scores(scores, replicates=shape)


def test_the_mean_of_three_runs_says_how_many() -> None:
    x, _ = answers(28, runs=3, respondents=10)
    study = psy.rho_g(x)
    average, single = study.rho_average, study.rho
    for single_value, stepped in ((single.value, average.value), (single.low, average.low)):
        assert stepped == pytest.approx(3 * single_value / (1 + 2 * single_value))
    assert (average.high, average.method) == (math.inf, f"{single.method}, mean of 3 runs")


def test_the_noise_floor_by_its_formula() -> None:
    rates = np.array([0.2, 0.5, math.nan, 0.6, 0.9])
    by = np.array([[0.1, 0.3], [0.4, 0.6], [0.5, 0.5], [0.2, 1.0], [0.8, 1.0]])
    finite = np.isfinite(rates)
    p, q = rates[finite], by[finite]
    plain, typed = psy.noise_floor(rates, 50), psy.noise_floor(rates, 50, strata=by)
    for floor, lottery in ((plain, (p * (1 - p)).mean()), (typed, (q * (1 - q)).mean())):
        spread = p.var(ddof=1)
        assert floor.value == pytest.approx(spread / (spread + lottery / 50))
        assert (floor.n, floor.method) == (4, "binomial")
    by[0, 1] = math.nan
    assert psy.noise_floor(rates, 50, strata=by).n == 3
    for absent in (psy.noise_floor(rates, 1), psy.noise_floor([0.4] * 4, 50)):
        assert (math.isnan(absent.value), absent.n) == (True, 4)
    assert psy.noise_floor([0.4] * 4, 50).status == "degenerate"
    for strata in (by[:4], rates):
        with pytest.raises(ValueError, match="strata"):
            psy.noise_floor(rates, 50, strata=strata)


# -- rank stability


def test_rank_stability_against_brute_force() -> None:
    rng = np.random.default_rng(15)
    scores, noise = rng.uniform(0.3, 0.7, 8), rng.uniform(1e-4, 4e-3, 8)
    stability = psy.rank_stability(
        scores, noise, np.random.default_rng(0), k=(1, 3, 8), draws=20_000
    )
    winner, same_tops, overlap, flips, taus = 0, 0, 0.0, np.zeros((8, 8)), []
    for _ in range(4000):
        a, b = scores + np.sqrt(noise) * rng.normal(size=(2, 8))
        winner += a.argmax() == b.argmax()
        top = set(np.argsort(-a)[:3]) & set(np.argsort(-b)[:3])
        same_tops += len(top) == 3
        overlap += len(top) / 3
        flips += np.sign(a[:, None] - a) * np.sign(b[:, None] - b) < 0
        taus.append(stats.kendalltau(a, b).statistic)
    assert stability.same_winner == pytest.approx(winner / 4000, abs=0.03)
    assert [t.k for t in stability.top] == [1, 3]
    assert stability.top[1].same_set == pytest.approx(same_tops / 4000, abs=0.03)
    assert stability.top[1].overlap == pytest.approx(overlap / 4000, abs=0.02)
    assert stability.top[1].chance == 3 / 8
    off_diagonal = ~np.eye(8, dtype=bool)
    assert stability.mean_flip == pytest.approx(flips[off_diagonal].mean() / 4000, abs=0.02)
    assert stability.expected_tau == pytest.approx(np.mean(taus), abs=0.02)
    assert stability.mean_flip == pytest.approx((1 - np.mean(taus)) / 2, abs=0.02)


def test_counts_need_the_continuity_correction() -> None:
    """96 items: ties take part of what the plain normal formula calls flips."""
    rng = np.random.default_rng(16)
    p = rng.uniform(0.4, 0.6, 10)
    runs = rng.binomial(96, p, size=(4000, 2, 10)) / 96
    sign = np.sign(runs[:, :, :, None] - runs[:, :, None, :])
    upper = np.triu_indices(10, 1)
    flipped = float((sign[:, 0] * sign[:, 1] < 0).mean(axis=0)[upper].mean())
    plain = psy.pair_order(p, p * (1 - p) / 96).mean_flip
    corrected = psy.pair_order(p, p * (1 - p) / 96, n_items=96).mean_flip
    assert corrected == pytest.approx(flipped, abs=0.01)
    assert abs(corrected - flipped) < abs(plain - flipped)


def test_the_winner_may_be_the_lowest_and_ties_are_shared() -> None:
    high = psy.rank_stability([0.9, 0.6, 0.5], [1e-6, 0.01, 0.01], np.random.default_rng(0))
    low = psy.rank_stability(
        [0.1, 0.4, 0.5], [1e-6, 0.01, 0.01], np.random.default_rng(0), higher_is_better=False
    )
    assert high.same_winner > 0.95
    assert low.same_winner > 0.95
    still = psy.rank_stability([0.5, 0.5, 0.1], [0, 0, 0], np.random.default_rng(0))
    assert still.status == "not_informative"
    assert still.same_winner == pytest.approx(0.5, abs=0.03)
    assert still.top[0].overlap == still.same_winner
    assert psy.top_k_overlap([1, 1, 1, 0], [1, 1, 1, 0], 1).value == pytest.approx(1 / 3)


# -- properties

columns = arrays(float, (7, 2), elements=st.floats(0, 1, width=16))


@given(columns, st.permutations(range(7)), st.floats(0.2, 4), st.floats(0.1, 2))
@settings(max_examples=60, deadline=None)
def test_properties_of_the_score_level(
    x: np.ndarray, order: list[int], scale: float, shift: float
) -> None:
    original = psy.concordance(*x.T)
    assume(original.ccc.status == "ok" and np.ptp(x, axis=0).min() >= 1e-2)
    for coefficient in (psy.spearman, psy.kendall_tau_b):
        estimate = coefficient(*x.T)
        assert coefficient(*x[order].T).value == pytest.approx(estimate.value, abs=1e-12)
        assert coefficient(x[:, 1], x[:, 0]).value == pytest.approx(estimate.value, abs=1e-12)
    assert psy.concordance(*x[order].T).ccc.value == pytest.approx(original.ccc.value, abs=1e-9)
    swapped = psy.concordance(x[:, 1], x[:, 0])
    assert swapped.ccc.value == pytest.approx(original.ccc.value, abs=1e-9)
    assert psy.concordance(*(scale * x + shift).T).ccc.value == pytest.approx(
        original.ccc.value, abs=1e-6
    )
    shifted = x + np.array([0.0, shift + 1.0])
    assert abs(psy.concordance(*shifted.T).ccc.value) <= abs(original.ccc.value) + 1e-12
    assert psy.pearson(*shifted.T).value == pytest.approx(psy.pearson(*x.T).value, abs=1e-7)
    assert math.isnan(original.ccc.low), "seven respondents are too few to generalise to others"


def changed(*positions: tuple[int, int]) -> np.ndarray:
    """Two runs of six respondents that are wrong everywhere but there in the second run."""
    x = np.zeros((2, 6, 15))
    for position in positions:
        x[1][position] = 1
    return x


@given(
    arrays(float, (2, 6, 15), elements=st.integers(0, 1)),
    st.randoms(use_true_random=False),
    st.floats(0.1, 9),
)
# noise and spread go exactly together over the items: the correlation is 1 up to its rounding
@example(changed((1, 4), (1, 5)), random.Random(0), 3.0)
@settings(max_examples=60, deadline=None)
def test_properties_of_rho_g(x: np.ndarray, order: random.Random, scale: float) -> None:
    """Sums in another order differ by roundings of 1e-16 of the scores, up to 0.1 * x + 1; of their
    differences (a 15th of 0.1 and more) that is 1e-14, of logarithms and places in a
    t-distribution that are made of these at most a thousand times as much.
    """
    rounding = 1e-11
    reliability = psy.rho_g(x)
    assume(reliability.rho.status == "ok")
    shuffle = list(range(15))
    order.shuffle(shuffle)
    respondents = list(range(6))
    order.shuffle(respondents)
    moved, swapped, scaled = (
        psy.rho_g(variant) for variant in (x[:, respondents][:, :, shuffle], x[::-1], scale * x + 1)
    )
    for variant in (moved, swapped, scaled):
        assert variant.rho.value == pytest.approx(reliability.rho.value, abs=rounding)
        assert (variant.rho.fixed is None) == (reliability.rho.fixed is None)
        if variant.rho.fixed is not None and reliability.rho.fixed is not None:
            assert variant.rho.fixed.low == pytest.approx(reliability.rho.fixed.low, abs=rounding)
    # a cluster per item is no cluster
    assert psy.rho_g(x, np.arange(15)[::-1]).rho.value == pytest.approx(
        reliability.rho.value, abs=1e-12
    )
