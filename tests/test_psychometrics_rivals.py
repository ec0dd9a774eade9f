"""Coefficients beside other people's libraries on random data: generalizit, ppi-python, pingouin
and scipy.
"""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import hqm.psychometrics as psy
from hqm.psychometrics.inference.cross_validation import accuracy_gain
from hqm.psychometrics.reliability.compare_reliability import reliability_of_sets


def crossed(seed: int, runs: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = (
        rng.normal(0, 1.0, (9, 1, 1))
        + rng.normal(0, 0.7, (1, 7, 1))
        + rng.normal(0, 0.3, (1, 1, runs))
    )
    return parts + rng.normal(0, 0.5, (9, 7, 1)) + rng.normal(0, 0.8, (9, 7, runs))  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(3))
def test_components_are_those_of_generalizit(seed: int) -> None:
    from generalizit import GeneralizIT

    scores = crossed(seed, 3)
    index = np.indices(scores.shape).reshape(3, -1)
    table = pd.DataFrame(
        {"person": index[0], "item": index[1], "run": index[2], "score": scores.ravel()}
    )
    rival = GeneralizIT(table, "person x item x run", "score")
    rival.calculate_anova()
    theirs = rival.design.anova_table["Variance"].to_dict()
    ours = psy.g_study(scores, ("person", "item", "run"))
    for component in ours.components:
        match = next(
            v
            for k, v in theirs.items()
            if set(str(k).replace(" ", "").split("x")) == set(component.effect)
        )
        # it rounds to four digits, and takes a negative component as zero
        assert match in (
            pytest.approx(component.raw, abs=6e-5),
            pytest.approx(component.value, abs=6e-5),
        )


@pytest.mark.parametrize("seed", range(3))
def test_corrected_scores_are_those_of_ppi_python(seed: int) -> None:
    """At a fixed weight the point estimates are equal, and the intervals."""
    with warnings.catch_warnings():  # the package silences all warnings when it is imported
        warnings.simplefilter("ignore")
        from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
    rng = np.random.default_rng(seed)
    truth = (rng.random(2000) < 0.6).astype(float)
    judge = np.where(rng.random(2000) < 0.15, 1 - truth, truth)
    human = np.full(2000, np.nan)
    labelled = rng.choice(2000, 200, replace=False)
    human[labelled] = truth[labelled]
    unlabelled = np.setdiff1d(np.arange(2000), labelled)
    corrected = psy.ppi_scores(judge[None], human[None], weight=1.0)
    arguments = (truth[labelled], judge[labelled], judge[unlabelled])
    assert corrected.scores[0].value == pytest.approx(
        float(np.squeeze(ppi_mean_pointestimate(*arguments, lam=1.0))), abs=1e-9
    )
    low, high = (float(np.squeeze(end)) for end in ppi_mean_ci(*arguments, alpha=0.05, lam=1.0))
    ours = corrected.scores[0]
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-9)


def test_agreement_of_two_columns_is_pingouins() -> None:
    import pingouin

    rng = np.random.default_rng(5)
    first = rng.normal(size=9)
    second = 0.6 * first + rng.normal(0.3, 0.5, 9)
    table = pd.DataFrame(
        {
            "respondent": [*range(9)] * 2,
            "run": ["a"] * 9 + ["b"] * 9,
            "score": np.concatenate([first, second]),
        }
    )
    theirs = pingouin.intraclass_corr(table, "respondent", "run", "score").set_index("Type")["ICC"]
    ours = psy.agreement_coefficients(first[:, None], second[:, None])
    single = theirs.filter(regex=r"^ICC(?:2|3|\(A,1\)|\(C,1\))$").tolist()
    assert [float(ours[name][0]) for name in ("icc_a1", "icc_c1")] == pytest.approx(single)


def test_a_gain_of_single_items_is_students() -> None:
    rng = np.random.default_rng(6)
    hits, baseline = rng.random(40) < 0.8, rng.random(40) < 0.5
    gain, p = accuracy_gain(hits.astype(float), baseline.astype(float), np.arange(40), 0.95)
    test = stats.ttest_1samp(hits.astype(float) - baseline, 0)
    interval = test.confidence_interval(0.95)
    assert (gain.low, gain.high) == pytest.approx((interval.low, interval.high))
    assert p == pytest.approx(test.pvalue / 2)


def test_neighbours_are_tested_with_a_correction_for_all_pairs() -> None:
    """Twenty respondents, whose neighbours differ a little: corrected, fewer pairs do."""
    rng = np.random.default_rng(7)
    chance = np.linspace(0.3, 0.9, 20)[:, None]
    study = psy.paired_differences((rng.random((20, 400)) < chance).astype(float))
    order = study.order
    upper = np.triu_indices(20, 1)
    adjusted = np.full((20, 20), np.nan)
    adjusted[upper] = multipletests(np.array(study.p)[upper], method="holm")[1]
    adjusted.T[upper] = adjusted[upper]
    significant = [adjusted[pair] <= 0.05 for pair in itertools.pairwise(order)]
    distinct = study.distinct()
    assert [distinct[pair] for pair in itertools.pairwise(order)] == significant
    assert study.separable_pairs() == ((adjusted[upper] <= 0.05).sum(), 190)
    assert sum(study.p[a][b] <= 0.05 for a, b in itertools.pairwise(order)) > sum(significant)


def test_expected_retest_of_sets_is_the_variance_between_less_the_noise() -> None:
    """rho_G = (variance of scores - variance of a run) / variance of scores."""
    rng = np.random.default_rng(8)
    scores, noise = rng.normal(size=(1, 12, 3)), np.full((12, 3), 0.2)
    observed = scores[0].var(axis=0, ddof=1)
    expected = (observed - 0.2) / observed
    assert reliability_of_sets(scores, "rho_g", noise) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_overlap_of_the_best_against_all_tie_breaks(seed: int) -> None:
    k = seed % 3 + 1
    x, y = np.random.default_rng(seed).integers(0, 5, (2, 9)).astype(float)
    rng = np.random.default_rng(0)
    overlaps = []
    for _ in range(800):
        lists = [set(np.lexsort((rng.uniform(size=len(v)), -v))[:k].tolist()) for v in (x, y)]
        overlaps.append(len(lists[0] & lists[1]) / k)
    assert psy.top_k_overlap(x, y, k).value == pytest.approx(np.mean(overlaps), abs=0.05)
    turned = psy.top_k_overlap(-x, -y, k, higher_is_better=False)
    assert turned.value == pytest.approx(psy.top_k_overlap(x, y, k).value)


def test_williams_test_as_published() -> None:
    """R's psych::r.test(103, .4, .3, .1): t = .83, p < .41."""
    comparison = psy.williams_test(0.4, 0.3, 0.1, 103)
    assert (comparison.t, comparison.p) == pytest.approx((0.83, 0.41), abs=5e-3)
    assert comparison.df == 100
    turned = psy.williams_test(0.3, 0.4, 0.1, 103)
    assert (turned.t, turned.p) == pytest.approx((-comparison.t, comparison.p))


def test_williams_test_keeps_its_level() -> None:
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(500):
        common = rng.normal(size=25)
        x, y, z = (common + rng.normal(size=25) for _ in range(3))
        r = np.corrcoef([x, y, z])
        rejected += psy.williams_test(r[0, 1], r[0, 2], r[1, 2], 25).p < 0.05
    assert rejected / 500 == pytest.approx(0.05, abs=0.03)


def test_williams_test_says_why_there_is_none() -> None:
    for r, n, status in (
        ((0.4, 0.3, 0.1), 3, "insufficient"),
        ((math.nan, 0.3, 0.1), 30, "insufficient"),
        ((0.9, -0.9, 0.9), 30, "not_applicable"),
        ((0.5, 0.5, 1.0), 30, "degenerate"),
    ):
        test = psy.williams_test(*r, n)
        assert (test.status, bool(test.reason)) == (status, True)
        assert math.isnan(test.p)
