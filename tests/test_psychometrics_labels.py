"""Statistics of people's labels against scipy and statsmodels, and against sums by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa

import hqm.psychometrics as psy


def test_correlations_over_answers_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, 400).astype(float)
    automatic = np.round(human + rng.normal(0, 1.5, 400))
    study = psy.answer_correlations(automatic, human)
    assert study.pearson.value == pytest.approx(stats.pearsonr(automatic, human).statistic)
    assert study.spearman.value == pytest.approx(stats.spearmanr(automatic, human).statistic)
    assert study.tau_b.value == pytest.approx(stats.kendalltau(automatic, human).statistic)
    theirs = stats.pearsonr(automatic, human).confidence_interval()
    assert study.pearson.fixed is not None
    assert study.pearson.fixed.low == pytest.approx(theirs.low, abs=0.02)
    assert study.pearson.fixed.high == pytest.approx(theirs.high, abs=0.02)


def test_an_answer_of_weight_three_counts_as_three_answers() -> None:
    rng = np.random.default_rng(1)
    human = rng.integers(1, 6, 120).astype(float)
    automatic = np.round(human + rng.normal(0, 1.5, 120))
    weights = rng.integers(1, 4, 120)
    weighted = psy.answer_correlations(automatic, human, weights=weights)
    alike = psy.answer_correlations(np.repeat(automatic, weights), np.repeat(human, weights))
    for statistic in ("pearson", "spearman", "tau_b"):
        assert getattr(weighted, statistic).value == pytest.approx(
            getattr(alike, statistic).value
        ), statistic


def test_correlations_of_one_picture_have_no_interval() -> None:
    study = psy.answer_correlations([1, 2, 3, 4, 5], [1, 3, 2, 4, 5], clusters=[0, 0, 0, 0, 0])
    assert study.spearman.value == pytest.approx(0.9)
    assert study.spearman.fixed is None
    hardly = psy.answer_correlations([0, 0, 1e-11], [0, 1e-11, 0])
    assert hardly.pearson.status == "degenerate", "no correlation is known where the squares vanish"


def test_weighted_agreement_has_the_kappa_of_statsmodels() -> None:
    rng = np.random.default_rng(2)
    human = (rng.random((5, 200)) < 0.6).astype(float)
    automatic = np.where(rng.random(human.shape) < 0.15, 1 - human, human)
    human[:, 150:] = np.nan
    weights = rng.integers(1, 5, human.shape).astype(float)
    study = psy.weighted_agreement(automatic, human, np.arange(200), weights)
    table = np.array(
        [[(weights * ((automatic == a) & (human == h))).sum() for h in (0, 1)] for a in (0, 1)]
    )
    assert study.agreement.value == pytest.approx(np.trace(table) / table.sum())
    assert study.kappa.value == pytest.approx(cohens_kappa(table).kappa)
    alone = psy.weighted_agreement(automatic, human, np.arange(200))
    plain = np.array([[((automatic == a) & (human == h)).sum() for h in (0, 1)] for a in (0, 1)])
    theirs = cohens_kappa(plain)
    assert alone.kappa.fixed is not None
    assert alone.kappa.fixed.high - alone.kappa.fixed.low == pytest.approx(
        theirs.kappa_upp - theirs.kappa_low, rel=0.2
    )


def test_raters_widen_an_interval_by_their_own_variance() -> None:
    narrow = psy.Coefficient(0.5, low=0.4, high=0.7, fixed=psy.Bounds(0.47, 0.53, "pictures", 0.95))
    replicates = np.r_[np.tile([0.48, 0.52], 50), np.nan]
    wide = psy.with_raters(narrow, replicates)
    half = 1.959964 * np.std(replicates[:-1], ddof=1)
    assert wide.value == 0.5
    assert (wide.low, wide.high) == pytest.approx(
        (0.5 - math.hypot(0.1, half), 0.5 + math.hypot(0.2, half))
    )
    assert wide.fixed is not None
    assert wide.fixed.high == pytest.approx(0.5 + math.hypot(0.03, half))
    assert psy.with_raters(narrow, np.full(50, 0.5)) == narrow, (
        "raters who never differ add nothing"
    )


def test_replicates_change_an_answer_as_often_as_a_draw_of_three_raters_does() -> None:
    """One of three raters differs: among three drawn, that one has the majority with chance
    P(Bin(3, 1/3) >= 2) = 7/27.
    """
    labels = np.array([[1, 1, 1], [1, 1, 1], [1, 0, 1.0]])
    rows = psy.rater_replicates(labels, "majority", np.random.default_rng(3), replicates=4000)
    assert rows.shape == (4000, 3)
    assert (rows[:, [0, 2]] == 1).all()
    assert (rows[:, 1] == 0).mean() == pytest.approx(7 / 27, abs=0.03)
    single = psy.rater_replicates([[1, 0, 1]], "majority", np.random.default_rng(3), replicates=5)
    assert (single == [1, 0, 1]).all(), "nothing is known of the error of a single rater"


def test_the_expected_width_is_that_of_a_proportion_where_scores_say_nothing() -> None:
    """All scores are 1, so they correct nothing: N p labels give the width of a proportion; all
    labels that of N.
    """
    for p, labels in ((0.2, 400), (1.0, 2000)):
        width = psy.expected_width(np.ones(2000), np.full(2000, 0.3), np.full(2000, p))
        assert width == pytest.approx(2 * 1.959964 * math.sqrt(0.3 * 0.7 / labels), rel=1e-6)
    scores = np.tile([1.0, 0.0], 1000)
    right = psy.expected_width(scores, np.zeros(2000), np.full(2000, 0.1))
    assert right == pytest.approx(2 * 1.959964 * math.sqrt(0.25 / 2000), rel=1e-6), (
        "scores that never err need no labels"
    )
    assert math.isnan(psy.expected_width([1.0], [0.1], [0.5]))
