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
    again = psy.krippendorff_alpha(x[::-1][:, order], scale)
    assert again.value == pytest.approx(alpha.value, abs=1e-12)
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
        known = column[np.isfinite(column)]
        if len(known) > 1:
            per_item.append(np.mean([a != b for a, b in combinations(known, 2)]))
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
    many = np.stack([response() for _ in range(200)])
    judge = (many * (1 - many)).mean()
    return rejudged, rerun, float(judge / (judge + many.var(axis=0, ddof=1).mean()))


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
            whole = 0.0
            for m in range(6):
                usable = [i for i in np.flatnonzero(keep) if np.isfinite(rejudged[:, m, i]).all()]
                for c in {int(clusters[i]) for i in usable}:
                    sums = [sum(x[k, m, i] for i in usable if clusters[i] == c) for k in (0, 1)]
                    whole += (sums[0] - sums[1]) ** 2 / 2 / len(usable) ** 2
            total.append(whole)
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
