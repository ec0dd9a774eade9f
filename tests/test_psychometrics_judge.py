"""Judge noise and agreement of verdicts against published values, other libraries and loops."""

import math
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

from hqm import psychometrics as psy

nan = math.nan
# Krippendorff 2011, Computing Krippendorff's alpha-reliability, section C: four observers, twelve
# units
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
    [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
]
SCALES = ("nominal", "ordinal", "interval", "ratio")
Z = stats.norm.ppf(0.975)


def test_krippendorffs_example() -> None:
    assert psy.krippendorff_alpha(OBSERVERS).value == pytest.approx(904 / 1216, abs=1e-12)
    for scale, printed in zip(SCALES, (0.743, 0.815, 0.849, 0.797), strict=True):
        assert psy.krippendorff_alpha(OBSERVERS, scale).value == pytest.approx(printed, abs=5e-4)


@given(
    arrays(float, (3, 9), elements=st.integers(0, 4)), arrays(bool, (3, 9)), st.sampled_from(SCALES)
)
@settings(max_examples=80, deadline=None)
def test_alpha_against_the_krippendorff_package(
    x: np.ndarray, missing: np.ndarray, scale: str
) -> None:
    x = np.where(missing & (np.arange(9) % 3 == 0), nan, x)
    alpha = psy.krippendorff_alpha(x, scale)
    assume(alpha.status == "ok")
    assert alpha.value == pytest.approx(krippendorff.alpha(x, level_of_measurement=scale), abs=1e-9)
    order = np.random.default_rng(0).permutation(9)
    permuted = psy.krippendorff_alpha(x[::-1][:, order], scale)
    assert permuted.value == pytest.approx(alpha.value, abs=1e-12)
    if alpha.fixed is not None:
        assert alpha.fixed.low <= alpha.value <= alpha.fixed.high


def test_one_unit_has_an_alpha() -> None:
    for ratings in ([[1.0], [2.0]], [[1.0], [1.0], [2.0]]):
        alpha = psy.krippendorff_alpha(ratings)
        assert (alpha.value, alpha.n) == (pytest.approx(krippendorff.alpha(ratings)), 1)


def test_the_interval_of_alpha_is_a_jackknife_over_units() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 40)
    x = np.where(rng.random((3, 40)) < 0.7, truth, rng.integers(0, 3, (3, 40))).astype(float)
    alpha = psy.krippendorff_alpha(x)
    left = np.array([psy.krippendorff_alpha(np.delete(x, u, axis=1)).value for u in range(40)])
    assert alpha.se == pytest.approx(math.sqrt(39 / 40 * ((left - left.mean()) ** 2).sum()))


def test_gwets_example() -> None:
    """irrCAC: gwet.ac1.raw(cac.raw4raters) prints AC1 .77544, SE .14295, 95 % interval (.461,
    1).
    """
    ac1 = psy.gwet_ac1(OBSERVERS)
    assert (ac1.value, ac1.se) == pytest.approx((0.77544, 0.14295), abs=5e-6)
    assert ac1.fixed is not None
    assert (ac1.fixed.low, ac1.fixed.high) == pytest.approx((0.461, 1.0), abs=5e-4)


def test_the_table_of_the_prevalence_paradox() -> None:
    """90/5/5/0: agreement .90, kappa -.0526, AC1 .8895, positive agreement .947, negative 0."""
    first, second = [1] * 95 + [0] * 5, [1] * 90 + [0] * 5 + [1] * 5
    table = psy.table_agreement(90, 5, 5, 0)
    assert (table.agreement, table.negative) == (0.90, 0.0)
    assert table.positive == pytest.approx(0.947, abs=5e-4)
    assert table.kappa == pytest.approx(-0.0526, abs=5e-5)
    assert psy.gwet_ac1([first, second]).value == pytest.approx(0.8895, abs=5e-5)
    assert psy.flip_rate([first, second]).value == pytest.approx(0.10)


def test_kappa_against_statsmodels() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 2, (2, 1, 50)).astype(float)
    table = np.zeros((2, 2))
    np.add.at(table, (x[0].astype(int), y[0].astype(int)), 1)
    assert psy.item_agreement(x, y).kappa[0] == pytest.approx(cohens_kappa(table).kappa)


def test_the_flip_rate_against_pairs() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 3, (4, 30)).astype(float)
    x[0, :4] = nan
    x[1:, 5] = nan
    per_item = []
    for column in x.T:
        verdicts = column[np.isfinite(column)]
        if len(verdicts) > 1:
            per_item.append(np.mean([a != b for a, b in combinations(verdicts, 2)]))
    rate = psy.flip_rate(x)
    assert rate.value == pytest.approx(np.mean(per_item))
    assert rate.n == 29
    assert rate.se == pytest.approx(np.std(per_item, ddof=1) / math.sqrt(29))


# -- the judge's share


def noisy(
    rng: np.random.Generator, items: int, respondents: int = 6
) -> tuple[np.ndarray, np.ndarray, float]:
    """Rejudged and rerun verdicts with the true share of the judge's noise."""
    quality = rng.beta(2, 2, (respondents, items))

    def response() -> np.ndarray:
        # the pass probability of a sampled response scatters around the item's quality
        return np.clip(quality + rng.uniform(-0.25, 0.25, quality.shape), 0, 1)

    def judged(g: np.ndarray) -> np.ndarray:
        return (rng.random(g.shape) < g).astype(float)

    g = response()
    rejudged, rerun = (
        np.stack([judged(g), judged(g)]),
        np.stack([judged(response()), judged(response())]),
    )
    responses = np.stack([response() for _ in range(200)])
    judge = (responses * (1 - responses)).mean()
    return rejudged, rerun, float(judge / (judge + responses.var(axis=0, ddof=1).mean()))


def test_the_share_is_right_on_average_and_its_interval_covers() -> None:
    rng = np.random.default_rng(6)
    values, truths, hits = [], [], 0
    for _ in range(120):
        rejudged, rerun, truth = noisy(rng, 150)
        share = psy.judge_share(rejudged, rerun).share
        assert share.fixed is not None
        values.append(share.value)
        truths.append(truth)
        hits += share.fixed.low <= truth <= share.fixed.high
    assert np.mean(values) == pytest.approx(np.mean(truths), abs=0.03)
    assert hits / 120 >= 0.89


def test_the_jackknife_of_the_share_against_brute_force() -> None:
    rng = np.random.default_rng(7)
    rejudged, rerun, _ = noisy(rng, 60)
    rejudged[0, 1, :4] = nan
    clusters = np.arange(60) // 2
    noise = psy.judge_share(rejudged, rerun, clusters)

    def log_share(keep: np.ndarray) -> float:
        total = []
        for x in (rejudged, rerun):
            squares = 0.0
            for m in range(6):
                usable = [i for i in np.flatnonzero(keep) if np.isfinite(rejudged[:, m, i]).all()]
                for c in {int(clusters[i]) for i in usable}:
                    sums = [sum(x[k, m, i] for i in usable if clusters[i] == c) for k in (0, 1)]
                    squares += (sums[0] - sums[1]) ** 2 / 2 / len(usable) ** 2
            total.append(squares)
        return math.log(total[0] / total[1])

    assert math.log(noise.share.value) == pytest.approx(
        log_share(np.ones(60, dtype=bool)), abs=1e-10
    )
    left = np.array([log_share(clusters != c) for c in range(30)])
    half = Z * math.sqrt(29 / 30 * ((left - left.mean()) ** 2).sum())
    assert noise.share.fixed is not None
    assert math.log(noise.share.fixed.high / noise.share.value) == pytest.approx(half, rel=1e-9)
    assert noise.response == pytest.approx(noise.total - noise.judge)
    assert noise.n_items == (60, 56, 60, 60, 60, 60)


def test_more_judge_noise_than_noise_is_kept_and_flagged() -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(0, 2, (2, 3, 40)).astype(float)
    still = np.stack([x[0], x[0]])
    still[1, :, 0] = 1 - still[1, :, 0]
    noise = psy.judge_share(x, still)
    assert noise.share.value > 1
    assert noise.share.flags == ("NEGATIVE_COMPONENT",)
    assert (noise.response < 0).all()


# -- tables of labels, and whether the judge errs alike


@pytest.mark.parametrize(
    ("counts", "status", "gone"),
    [
        ((5, 0, 0, 0), "degenerate", ["kappa", "negative agreement", "specificity"]),
        ((0, 0, 0, 5), "degenerate", ["kappa", "positive agreement", "sensitivity"]),
        ((0, 5, 0, 5), "ok", ["sensitivity"]),
        ((5, 0, 5, 0), "ok", ["specificity"]),
        ((0, 3, 2, 0), "ok", []),
        ((30, 12, 5, 20), "ok", []),
    ],
)
def test_shares_of_a_table_by_hand(
    counts: tuple[int, int, int, int], status: str, gone: list[str]
) -> None:
    a, b, c, d = counts
    table = psy.table_agreement(*counts)
    assert (
        table.both_positive,
        table.automatic_only,
        table.human_only,
        table.both_negative,
    ) == counts
    assert (table.status, table.n) == (status, a + b + c + d)
    assert [name in table.reason for name in gone] == [True] * len(gone)
    assert table.reason.count("no ") == len(gone)

    def ratio(numerator: float, denominator: float) -> float:
        return numerator / denominator if denominator else nan

    observed, chance = (a + d) / table.n, 0.0
    for first, second in ((a + b, a + c), (c + d, b + d)):
        chance += first * second / table.n**2
    expected = {
        "agreement": observed,
        "kappa": ratio(observed - chance, 1 - chance),
        "ac1": psy.gwet_ac1(
            np.repeat([[1, 1, 0, 0], [1, 0, 1, 0]], counts, axis=1), categories=2
        ).value,
        "positive": ratio(2 * a, 2 * a + b + c),
        "negative": ratio(2 * d, 2 * d + b + c),
        "sensitivity": ratio(a, a + c),
        "specificity": ratio(d, b + d),
    }
    assert {name: getattr(table, name) for name in expected} == pytest.approx(expected, nan_ok=True)


def test_an_empty_table_has_no_share() -> None:
    empty = psy.judge_errors([[nan, 1.0]], [[1.0, nan]])
    graded = psy.judge_errors([[1.0, 0.5]], [[1.0, 1.0]])
    out_of_scale = psy.judge_errors([[1.0, 0.0]], [[1.0, 2.0]])
    for study, status in (
        (empty, "insufficient"),
        (graded, "not_applicable"),
        (out_of_scale, "not_applicable"),
    ):
        table = study.pooled
        assert (study.status, study.sensitivity.status, study.specificity.status) == (status,) * 3
        assert (table.status, table.n) == ("insufficient", 0)
        assert (
            table.both_positive,
            table.automatic_only,
            table.human_only,
            table.both_negative,
        ) == (0,) * 4
        assert math.isnan(table.agreement)
        assert study.reason == study.sensitivity.reason
        assert (study.homogeneous, study.flags) == (None, ())
        assert math.isnan(study.p_sensitivity)


def answers_of(
    hits: list[int], misses: list[int], rejections: list[int], alarms: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of judge and people with these counts for each respondent."""
    rows = [
        np.repeat([[1, 0, 0, 1], [1, 1, 0, 0]], counts, axis=1).astype(float)
        for counts in zip(hits, misses, rejections, alarms, strict=True)
    ]
    width = max(row.shape[1] for row in rows)
    padded = [np.pad(row, ((0, 0), (0, width - row.shape[1])), constant_values=nan) for row in rows]
    judge, human = np.stack(padded, axis=1)
    return judge, human


EVEN = ([30, 30], [10, 10])
RATES = {
    "many": ([40, 30, 45], [10, 20, 5], False),
    "an expected count of 5": ([16, 14], [4, 6], False),
    "an expected count below 5": ([17, 14], [3, 5], True),
    "few hits": ([3, 1, 2], [20, 30, 25], True),
    "one without such items": ([40, 0, 45], [10, 0, 5], False),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", RATES)
def test_equal_rates_are_tested_as_scipy_does(name: str, turned: bool) -> None:
    """The likelihood ratio, and Pearson's statistic where an expected count is below 5."""
    right, wrong, sparse = RATES[name]
    answered = [m for m in range(len(right)) if right[m] + wrong[m]]
    table = np.array([right, wrong])[:, answered]
    p = stats.chi2_contingency(
        table, correction=False, lambda_="pearson" if sparse else "log-likelihood"
    )[1]
    shares = table[0] / table.sum(axis=0)
    even = [30] * len(right), [10] * len(right)
    rates = (*even, right, wrong) if turned else (right, wrong, *even)
    study = psy.judge_errors(*answers_of(*rates))
    tested, equal_p = (study.p_sensitivity, study.p_specificity)[:: -1 if turned else 1]
    ranges = (study.range_sensitivity, study.range_specificity)[:: -1 if turned else 1]
    # two tests by Benjamini and Hochberg, of which the other's p is 1
    assert tested == pytest.approx(min(1.0, 2 * p))
    assert equal_p == 1
    assert ranges == (pytest.approx(np.ptp(shares)), 0)
    assert study.homogeneous is bool(2 * p > 0.05)
    dif = () if study.homogeneous else ("JUDGE_DIF",)
    assert study.flags == ((*dif, "SPARSE") if sparse else dif)


def test_a_difference_is_found_at_the_level_that_is_asked_for() -> None:
    judge, human = answers_of([40, 33], [10, 17], *EVEN)
    assert 0.1 < psy.judge_errors(judge, human).p_sensitivity < 0.3
    for level, homogeneous in ((0.9, True), (0.7, False)):
        study = psy.judge_errors(judge, human, level=level)
        assert study.homogeneous is homogeneous
        assert study.flags == (() if homogeneous else ("JUDGE_DIF",))
        assert study.sensitivity.level == level


def test_rates_that_are_all_one_do_not_differ() -> None:
    for right, wrong in (([30, 20], [0, 0]), ([0, 0], [30, 20])):
        study = psy.judge_errors(*answers_of(right, wrong, *EVEN))
        assert (study.p_sensitivity, study.range_sensitivity, study.flags) == (1, 0, ())
        assert study.homogeneous
    separate = psy.judge_errors(*answers_of([30, 0], [5, 0], [0, 20], [0, 2]))
    assert separate.homogeneous is None
    assert np.isnan(
        [separate.p_sensitivity, separate.p_specificity, separate.range_sensitivity]
    ).all()
    single = psy.judge_errors(*answers_of([30, 0], [5, 0], *EVEN))
    assert math.isnan(single.p_sensitivity)
    assert (single.p_specificity, single.homogeneous) == (1, True)


def test_weights_count_as_so_many_equal_ones() -> None:
    """Kish: the counts of a respondent sum to (sum w)^2 / sum w^2, those of all likewise."""
    rng = np.random.default_rng(9)
    human = (rng.random((3, 80)) < 0.6).astype(float)
    wrong = rng.random(human.shape) < np.array([[0.1], [0.3], [0.2]])
    judge = np.where(wrong, 1 - human, human)
    judge[0, :10] = nan
    weights = rng.uniform(1, 5, human.shape)
    study = psy.judge_errors(judge, human, weights)
    tables = []
    for m in range(3):
        w = np.where(np.isfinite(judge[m]), weights[m], 0.0)
        cells = [
            sum(w[(judge[m] == verdict) & (human[m] == true)])
            for verdict, true in ((1, 1), (1, 0), (0, 1), (0, 0))
        ]
        tables.append((np.array(cells), w.sum(), (w**2).sum()))
    counts = np.array([cells * total / squares for cells, total, squares in tables])
    p = [
        stats.chi2_contingency(counts[:, rows].T, correction=False, lambda_="log-likelihood")[1]
        for rows in ([0, 2], [3, 1])
    ]
    assert study.flags in ((), ("JUDGE_DIF",)), "no expected count is small"
    assert (study.p_sensitivity, study.p_specificity) == pytest.approx(
        stats.false_discovery_control(p)
    )
    totals, squares = (sum(table[k] for table in tables) for k in (1, 2))
    effective_counts = sum(table[0] for table in tables) * totals / squares
    pooled = study.pooled
    assert (
        pooled.both_positive,
        pooled.automatic_only,
        pooled.human_only,
        pooled.both_negative,
    ) == (pytest.approx(effective_counts))
    alike = psy.judge_errors(judge, human, np.full(human.shape, 7.0))
    plain = psy.judge_errors(judge, human)
    assert (alike.p_sensitivity, alike.pooled.both_positive) == pytest.approx(
        (plain.p_sensitivity, plain.pooled.both_positive)
    )
    unlabelled = np.where(np.arange(3)[:, None] == 1, nan, judge)
    reduced = psy.judge_errors(unlabelled, human, weights)
    assert reduced.range_sensitivity == pytest.approx(
        abs(np.subtract(*(counts[m, 0] / counts[m, [0, 2]].sum() for m in (0, 2))))
    )


@pytest.mark.parametrize("by_item", [True, False])
def test_the_rate_of_one_respondent_or_item_is_clustered_once(by_item: bool) -> None:
    """n / (n - 1) sum of squares / n^2 for one respondent, or for one item of all of them."""
    human = np.ones((1, 20))
    judge = (np.arange(20) < 15).astype(float)[None]
    pair = (judge, human) if by_item else (judge.T, human.T)
    rate = psy.judge_errors(*pair, level=0.9).sensitivity
    error = math.sqrt(20 / 19 * 0.75 * 0.25 / 20)
    half = stats.norm.ppf(0.95) * error
    assert (rate.value, rate.se, rate.low) == pytest.approx((0.75, error, 0.75 - half))
    assert (rate.high, rate.level, rate.n) == (pytest.approx(0.75 + half), 0.9, len(pair[0]))
    assert psy.judge_errors(*pair).specificity.n == len(pair[0])
    assert psy.judge_errors(*pair).specificity.status == "degenerate"
    weights = np.where(np.arange(20) < 15, 1.0, 3.0)[None]
    table = (np.zeros((1, 20)), human, weights) if by_item else (human.T * 0, human.T, weights.T)
    missed = psy.judge_errors(*table).sensitivity
    kish, z2 = 30**2 / (15 + 45), stats.norm.ppf(0.975) ** 2
    assert (missed.value, missed.low, missed.high) == pytest.approx((0, 0, z2 / (kish + z2)))


# -- agreement over answers


def test_agreement_and_kappa_are_left_out_by_picture() -> None:
    rng = np.random.default_rng(10)
    human = (rng.random((3, 24)) < 0.6).astype(float)
    judge = np.where(rng.random(human.shape) < 0.25, 1 - human, human)
    judge[0, :4] = nan
    weights = rng.uniform(1, 3, human.shape)
    pictures = np.arange(24) // 3
    study = psy.weighted_agreement(judge, human, pictures, weights, level=0.9)

    def agreement_and_kappa(used: np.ndarray) -> tuple[float, float]:
        compared = np.isfinite(judge) & used
        w, x, y = weights[compared], judge[compared], human[compared]
        w = w / w.sum()
        agreed = w[x == y].sum()
        chance = sum(w[x == k].sum() * w[y == k].sum() for k in (0, 1))
        return float(agreed), float((agreed - chance) / (1 - chance))

    left = np.array([agreement_and_kappa(pictures != p) for p in range(8)])
    values = agreement_and_kappa(pictures >= 0)
    for k, result in enumerate((study.agreement, study.kappa)):
        error = math.sqrt(7 / 8 * ((left[:, k] - left[:, k].mean()) ** 2).sum())
        half = stats.norm.ppf(0.95) * error
        assert result.fixed is not None
        assert (result.value, result.se) == pytest.approx((values[k], error))
        assert result.fixed.low == pytest.approx(max(-1.0, values[k] - half))
        assert result.fixed.high == pytest.approx(min(1.0, values[k] + half))
        assert (result.fixed.level, result.level) == (0.9, 0.9)


def test_agreement_over_few_pictures_has_no_interval() -> None:
    judge, human = [[1, 1, 0, 0, 1, 0]], [[1, 0, 0, 1, 1, 0]]
    for pictures, has_interval in (([0, 0, 0, 1, 1, 1], False), ([0, 0, 1, 1, 2, 2], True)):
        study = psy.weighted_agreement(judge, human, pictures)
        assert (study.agreement.fixed is not None) == has_interval
        assert (study.kappa.value, study.agreement.value) == pytest.approx((1 / 3, 2 / 3))
    # a picture without a pair is none
    lone = psy.weighted_agreement([[*judge[0], nan]], [[*human[0], 1]], [0, 0, 0, 1, 1, 1, 2])
    assert lone.agreement.fixed is None
    # four pictures on which all agree leave nearly everything possible
    rare = psy.weighted_agreement([[1, 1, 1, 0]], [[1, 1, 1, 0]], [0, 1, 2, 3]).kappa
    assert rare.value == 1
    assert rare.fixed is not None
    assert rare.fixed.low < 0
    single = psy.weighted_agreement(np.ones((2, 4)), np.ones((2, 4)), range(4))
    assert (single.kappa.status, single.kappa.n) == ("degenerate", 8)
    assert single.agreement.fixed is not None
    assert single.agreement.fixed.low == pytest.approx(0.025**0.25)
    nobody = psy.weighted_agreement([[nan, 1]], [[1, nan]], [0, 1])
    assert (nobody.agreement.status, nobody.kappa.status) == ("insufficient", "insufficient")


# -- the judge's share of the noise, in small cases


def test_the_share_of_a_judge_by_counting() -> None:
    """Eight items; a verdict or answer that changes adds 1/2 to the sum over items, over n^2."""
    rejudged = np.array([[[1, 1, 1, 1, 0, 0, 0, 0]], [[1, 1, 1, 0, 0, 0, 0, 0]]], dtype=float)
    new = np.array([[[1, 1, 1, 1, 0, 0, 0, 0]], [[0, 1, 1, 1, 1, 1, 0, 0]]], dtype=float)
    plain = psy.judge_share(rejudged, new)
    assert (plain.judge, plain.total, plain.response) == (0.5 / 64, 1.5 / 64, 1 / 64)
    assert (plain.share.value, plain.share.n, plain.n_items) == (pytest.approx(1 / 3), 1, (8,))
    assert plain.share.flags == ()
    # where both changes lie in one picture they cancel or add up
    pictures = [0, 1, 2, 3, 0, 4, 5, 6]
    assert psy.judge_share(rejudged, new, pictures).total == pytest.approx([0.5 / 64])
    # one who answered nothing twice is left out
    absent = np.full_like(rejudged, nan)
    two = psy.judge_share(np.hstack([rejudged, absent]), np.hstack([new, new]))
    assert (two.share.value, two.share.n, two.n_items) == (pytest.approx(1 / 3), 1, (8, 0))
    assert math.isnan(two.judge[1])
    assert two.share.fixed == plain.share.fixed
    still = psy.judge_share(np.stack([rejudged[0]] * 2), new)
    assert (still.share.value, still.share.fixed, still.share.status) == (0, None, "ok")
    full_share = psy.judge_share(new, new).share
    assert (full_share.value, full_share.flags) == (1, ())
    quiet = psy.judge_share(rejudged, np.stack([new[0]] * 2))
    assert (quiet.share.status, quiet.share.n) == ("not_informative", 1)
    assert quiet.judge == pytest.approx([0.5 / 64])
    assert (quiet.total, quiet.response, quiet.n_items) == (0, [-0.5 / 64], (8,))
    one_judgement = psy.judge_share(rejudged[:1], new)
    assert (one_judgement.share.status, one_judgement.share.n, one_judgement.n_items) == (
        "insufficient",
        1,
        (8,),
    )
    assert math.isnan(one_judgement.judge[0])
    for wrong in (rejudged[0], rejudged[:, :, :4]):
        with pytest.raises(ValueError, match="repetitions"):
            psy.judge_share(rejudged, wrong)
        with pytest.raises(ValueError, match="repetitions"):
            psy.judge_share(wrong, rejudged)


def test_a_share_without_an_interval() -> None:
    """Where a picture left out takes all changes, or all items of a respondent, with it."""
    x = np.zeros((2, 1, 6))
    x[0, 0, 0] = 1
    rerun = np.zeros((2, 1, 6))
    rerun[0, 0, [1, 2]] = 1
    assert psy.judge_share(x, rerun).share.fixed is None
    rejudged = x + np.roll(x, 3, axis=2)
    assert psy.judge_share(rejudged, rerun, level=0.9).share.fixed is not None
    assert psy.judge_share(rejudged, rerun, level=0.9).share.fixed.level == 0.9  # type: ignore[union-attr]
    assert psy.judge_share(rejudged, rerun, [0, 1, 1, 0, 0, 0]).share.fixed is None
    pair = np.hstack([rejudged, np.where(np.arange(6) < 2, rejudged, nan)])
    two_reruns = np.hstack([rerun, rerun])
    assert psy.judge_share(pair, two_reruns, [0, 0, 1, 2, 3, 4]).share.fixed is None
    assert psy.judge_share(pair, two_reruns).share.fixed is not None
    one_picture = psy.judge_share(rejudged, rerun, [0] * 6)
    assert (one_picture.share.status, one_picture.share.n, one_picture.n_items) == (
        "insufficient",
        1,
        (6,),
    )


# -- the stages of a judge


@pytest.mark.parametrize("weighted", [False, True])
def test_every_share_of_a_stage_is_left_out_by_picture(weighted: bool) -> None:
    rng = np.random.default_rng(13)
    human = (rng.random(40) < 0.55).astype(float)
    judge = np.where(rng.random(40) < 0.25, 1 - human, human)
    judge[:3], human[3:5] = nan, nan
    pictures = rng.permutation(np.arange(40) // 4)
    weights = rng.uniform(1, 3, 40) if weighted else np.ones(40)
    study = psy.stage_agreement(judge, human, pictures, weights if weighted else None, level=0.8)
    used = np.isfinite(judge) & np.isfinite(human)

    def shares(selected: np.ndarray) -> dict[str, float]:
        w = np.where(selected & used, weights, 0.0)
        a, b, c, d = (
            float(w[(judge == verdict) & (human == true)].sum())
            for verdict, true in ((1, 1), (1, 0), (0, 1), (0, 0))
        )
        return {
            "agreement": (a + d) / (a + b + c + d),
            "precision": a / (a + b),
            "recall": a / (a + c),
            "f1": 2 * a / (2 * a + b + c),
            "precision_no": d / (c + d),
            "recall_no": d / (b + d),
            "f1_no": 2 * d / (2 * d + b + c),
        }

    labelled_pictures = sorted(set(pictures[used].tolist()))
    left = [shares(pictures != p) for p in labelled_pictures]
    for name, value in shares(used).items():
        result = getattr(study, name)
        values = np.array([replicate[name] for replicate in left])
        count = len(values)
        error = math.sqrt((count - 1) / count * ((values - values.mean()) ** 2).sum())
        reach = stats.t.ppf(0.9, count - 1) * error / (value * (1 - value))
        middle = math.log(value / (1 - value))
        ends = [1 / (1 + math.exp(-(middle + side * reach))) for side in (-1, 1)]
        assert (result.value, result.se) == pytest.approx((value, error)), name
        assert (result.fixed.low, result.fixed.high) == pytest.approx(tuple(ends)), name
        assert (result.level, result.fixed.level) == (0.8, 0.8)
    assert study.n == 35
    for name, verdict, true in (
        ("both_yes", 1, 1),
        ("judge_only", 1, 0),
        ("people_only", 0, 1),
        ("both_no", 0, 0),
    ):
        assert getattr(study, name) == pytest.approx(
            weights[(judge == verdict) & (human == true)].sum()
        )


def test_a_stage_at_its_ends_has_wilsons_interval_over_pictures() -> None:
    """Ten units of five pictures, all alike: z^2 / (5 + z^2) from the end."""
    z2 = stats.norm.ppf(0.95) ** 2
    labels, pictures = [1, 1, 0, 0, 1, 1, 0, 0, 1, 0], np.repeat(range(5), 2)
    right = psy.stage_agreement(labels, labels, pictures, level=0.9)
    wrong = psy.stage_agreement(labels, 1 - np.array(labels), pictures, level=0.9)
    for result, value in ((right.agreement, 1), (right.f1, 1), (wrong.agreement, 0)):
        edge = z2 / (5 + z2)
        ends = (1 - edge, 1) if value else (0, edge)
        assert result.fixed is not None
        assert (result.value, result.se) == (value, 0)
        assert (result.fixed.low, result.fixed.high) == pytest.approx(ends, abs=1e-12)
        assert result.fixed.level == 0.9
    one_picture = psy.stage_agreement(labels, labels, [7] * 10, level=0.9).f1
    assert (one_picture.value, one_picture.fixed, one_picture.level) == (1, None, 0.9)
    no_positive = psy.stage_agreement([0, 0, 0], [0, 1, 0])
    assert (no_positive.precision.status, no_positive.precision.n) == ("degenerate", 3)
    assert (no_positive.recall.value, no_positive.f1.value) == (0, 0)
    for arguments in (([1, 0], [1]), ([[1]], [[1]])):
        with pytest.raises(ValueError, match="one shape"):
            psy.stage_agreement(*arguments)
    for options in ({"clusters": [1]}, {"weights": [1.0, 1, 1]}):
        with pytest.raises(ValueError, match="weights and clusters"):
            psy.stage_agreement([1, 0], [1, 0], **options)


@pytest.mark.parametrize(("pictures", "share"), [(20, 0.5), (50, 0.3), (200, 0.1)])
def test_full_agreement_has_the_least_that_so_many_pictures_leave_possible(
    pictures: int, share: float
) -> None:
    """The exact interval of scipy for no disagreement in all pictures; kappa follows from it."""
    labels = np.zeros((2, pictures))
    labels[:, : round(share * pictures)] = 1
    study = psy.weighted_agreement(labels, labels, range(pictures))
    exact = stats.binomtest(pictures, pictures).proportion_ci(method="exact")
    assert study.agreement.fixed is not None
    assert (study.agreement.fixed.low, study.agreement.fixed.high) == pytest.approx(exact)
    by_chance = share**2 + (1 - share) ** 2
    assert study.kappa.fixed is not None
    assert study.kappa.fixed.low == pytest.approx((exact.low - by_chance) / (1 - by_chance))
    assert (study.kappa.value, study.kappa.fixed.high) == (1.0, 1.0)
