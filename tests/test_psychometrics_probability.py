"""Closed forms against Monte Carlo reruns of the same probabilities."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import expit

from hqm import psychometrics as psy


def log_odds(n: int, sd: float, seed: int = 0, respondents: int = 20) -> np.ndarray:
    """Ability, easiness and interaction of a simulated benchmark, as log odds of a right answer."""
    rng = np.random.default_rng(seed)
    return (
        sd * rng.normal(size=(respondents, 1))
        + rng.normal(size=n)
        + rng.normal(size=(respondents, n))
    )


@dataclass(frozen=True)
class Reruns:
    r: np.ndarray
    flip: float
    tau: float
    kappa: float


def reruns(p: np.ndarray, times: int, rng: np.random.Generator) -> Reruns:
    """Pairs of runs drawn from the probabilities, compared as anyone would compare them."""
    m, n = p.shape
    upper = np.triu_indices(m, 1)
    r, flips, taus, kappas = [], [], [], []
    for _ in range(times):
        x = rng.random((2, m, n)) < p
        s = x.mean(axis=2)
        r.append(np.corrcoef(s)[0, 1])
        sign = np.sign(s[:, :, None] - s[:, None, :])
        product = (sign[0] * sign[1])[upper]
        flips.append((product < 0).mean())
        taus.append(product.mean())
        kappas.append(psy.item_agreement(x[0].astype(float), x[1].astype(float)).mean_kappa)
    return Reruns(np.array(r), float(np.mean(flips)), float(np.mean(taus)), float(np.mean(kappas)))


@pytest.mark.parametrize(
    ("n", "sd", "temperature", "slack"),
    [
        # the rows of the catalogue's table (PSYCHOMETRICS.md, section 5): (1) is within .0005 of
        # the mean r for rho > .98, within .005 elsewhere; their own draws of items are not on
        # record, so the same settings are drawn anew
        (96, 1.0, 1.0, 0.005),
        (1000, 1.0, 1.0, 0.0005),
        (1000, 0.15, 1.0, 0.02),
        (1000, 1.0, 0.3, 0.0005),
        (1000, 1.0, 2.0, 0.0012),
    ],
)
def test_the_monte_carlo_table(n: int, sd: float, temperature: float, slack: float) -> None:
    p = expit(log_odds(n, sd) / temperature)
    simulated, expected = reruns(p, 400, np.random.default_rng(1)), psy.expected_retest(p)
    error = 4 * simulated.r.std() / math.sqrt(400)
    assert expected.rho.value == pytest.approx(simulated.r.mean(), abs=slack + error)
    if expected.rho.value > 0.9:
        assert expected.r_mean == pytest.approx(simulated.r.mean(), abs=slack + error)
        assert expected.r_deviation == pytest.approx(simulated.r.std(ddof=1), rel=0.25)
    assert expected.pairs is not None
    assert expected.pairs.mean_flip == pytest.approx(simulated.flip, abs=0.006)
    assert expected.pairs.expected_tau == pytest.approx(simulated.tau, abs=0.02)
    assert np.nanmean(expected.kappa) == pytest.approx(simulated.kappa, abs=0.01)


def test_the_moments_are_exact() -> None:
    p = expit(log_odds(40, 0.8, respondents=5))
    rng = np.random.default_rng(2)
    runs = (rng.random((20_000, *p.shape)) < p).mean(axis=2)
    expected = psy.expected_retest(p)
    assert expected.scores == pytest.approx(runs.mean(axis=0), abs=0.002)
    assert expected.noise == pytest.approx(runs.var(axis=0), rel=0.05)
    # expected variance between respondents of a run: true + noise, exactly
    assert runs.var(axis=1, ddof=1).mean() == pytest.approx(
        expected.scores.var(ddof=1) + expected.noise.mean(), rel=0.02
    )
    pairs = runs.reshape(2, -1, 5)
    tau = psy.pair_order(expected.scores, expected.noise, n_items=40)
    upper = np.triu_indices(5, 1)
    sign = np.sign(np.round(pairs[:, :, :, None] - pairs[:, :, None, :], 9))
    truth = np.sign(expected.scores[:, None] - expected.scores)
    assert tau.tau_to_truth == pytest.approx(
        (sign * truth).mean(axis=(0, 1))[upper].mean(), abs=0.01
    )


def test_the_closed_form_is_what_reruns_estimate() -> None:
    """rho_G from two real runs of the probabilities meets rho from the probabilities, and so does
    every SEM.
    """
    p = expit(log_odds(2000, 0.6))
    rng = np.random.default_rng(3)
    observed, expected = (
        psy.rho_g((rng.random((2, *p.shape)) < p).astype(float)),
        psy.expected_retest(p),
    )
    assert observed.rho.fixed is not None
    assert observed.rho.fixed.low <= expected.rho.value <= observed.rho.fixed.high
    assert observed.sem_pooled == pytest.approx(math.sqrt(expected.noise.mean()), rel=0.05)
    single = expected.rho.value
    assert observed.rho_average.value == pytest.approx(2 * single / (1 + single), abs=0.002)


def test_the_temperature_curve_falls() -> None:
    """Catalogue: with a spread of .3 the reliability falls from .9997 to .87 between T = .01 and
    2.
    """
    odds = log_odds(1000, 0.3, seed=5)
    curve = [psy.expected_retest(expit(odds / t)) for t in (0.01, 0.2, 0.5, 0.7, 1, 1.5, 2)]
    values = [study.rho.value for study in curve]
    assert psy.expected_retest((odds > 0).astype(float)).rho.status == "not_informative"
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.999
    # another draw of 20 respondents than the catalogue's
    assert 0.75 < values[-1] < 0.93
    noise = [study.noise.mean() for study in curve]
    assert noise == sorted(noise)


@given(
    arrays(float, (4, 9), elements=st.floats(0, 1, width=16)),
    st.permutations(range(9)),
    st.permutations(range(4)),
)
@settings(max_examples=60, deadline=None)
def test_order_and_direction_do_not_matter(
    p: np.ndarray, items: list[int], respondents: list[int]
) -> None:
    expected = psy.expected_retest(p)
    assume(expected.rho.status == "ok" and expected.scores.std() >= 1e-4)
    for variant in (psy.expected_retest(p[respondents][:, items]), psy.expected_retest(1 - p)):
        assert variant.rho.value == pytest.approx(expected.rho.value, abs=1e-9)
        assert variant.pairs is not None
        assert expected.pairs is not None
        assert variant.pairs.expected_tau == pytest.approx(expected.pairs.expected_tau, abs=1e-9)
    assert 0 <= expected.rho.value <= 1


def test_gaps_are_left_out_respondent_by_respondent() -> None:
    p = np.array([[0.9, 0.8, np.nan], [0.5, np.nan, 0.1], [0.2, 0.3, 0.4], [np.nan] * 3])
    expected = psy.expected_retest(p)
    assert expected.scores[:3] == pytest.approx([0.85, 0.3, 0.3])
    assert expected.noise[0] == pytest.approx((0.09 + 0.16) / 4)
    assert np.isnan(expected.scores[3])
    assert expected.rho.n == 3
    assert psy.expected_retest(p + 1).rho.status == "not_applicable"


@pytest.mark.parametrize("gap", [False, True])
def test_every_closed_form_by_hand(gap: bool) -> None:
    p = np.array([[0.9, 0.8, 0.3, 1.0], [0.5, 0.6, 0.1, 0.2], [0.2, 0.3, 0.4, 0.0], [np.nan] * 4])
    if gap:
        p[0, 3] = np.nan
    expected = psy.expected_retest(p)
    answered_rows = [row[np.isfinite(row)] for row in p[:3]]
    mu = np.array([row.mean() for row in answered_rows])
    noise = np.array([(row * (1 - row)).sum() / len(row) ** 2 for row in answered_rows])
    assert expected.scores[:3] == pytest.approx(mu)
    assert expected.noise[:3] == pytest.approx(noise)
    assert expected.agreement[:3] == pytest.approx(
        [(row**2 + (1 - row) ** 2).mean() for row in answered_rows]
    )
    assert expected.kappa[:3] == pytest.approx(
        [row.var() / (row.mean() * (1 - row.mean())) for row in answered_rows]
    )
    for missing in (expected.scores, expected.noise, expected.agreement, expected.kappa):
        assert np.isnan(missing[3])
    spread = mu.var(ddof=1)
    assert expected.rho.value == pytest.approx(spread / (spread + noise.mean()))
    assert (expected.rho.n, expected.rho.method) == (3, "closed form")
    d = mu - mu.mean()
    a = d @ d
    project = np.eye(3) - np.full((3, 3), 1 / 3) - np.outer(d, d) / a
    projected = project @ np.diag(noise)
    assert expected.r_mean == pytest.approx(1 - np.trace(projected) / a)
    assert expected.r_deviation == pytest.approx(math.sqrt(2 * np.trace(projected @ projected)) / a)
    counted = psy.pair_order(expected.scores, expected.noise, n_items=None if gap else 4)
    assert expected.pairs is not None
    assert expected.pairs.mean_flip == counted.mean_flip
    assert expected.pairs.expected_tau == counted.expected_tau


def test_what_probabilities_cannot_tell_has_a_status() -> None:
    p = np.array([[0.9, 0.8], [0.5, 0.6], [0.2, 0.3]])
    for probabilities, status in (
        (p[:2], "insufficient"),
        (np.vstack([p[:2], [[np.nan] * 2]]), "insufficient"),
        (p - 0.21, "not_applicable"),
        (p + 0.11, "not_applicable"),
        (np.full((3, 2), 0.4), "degenerate"),
        (p[[0, 1, 1]][:, [0, 1]] * 0 + [[0.5, 0.5], [0.4, 0.6], [1.0, 0.0]], "degenerate"),
    ):
        expected = psy.expected_retest(probabilities)
        assert expected.rho.status == status
        assert np.isnan([expected.rho.value, expected.r_mean, expected.r_deviation]).all()
        assert (expected.pairs is None) == (status != "degenerate")
        assert expected.rho.n == (len(probabilities) if status != "degenerate" else 3)
        assert len(expected.scores) == len(probabilities)
        assert np.isnan(expected.scores).all() == (status != "degenerate")
    single = psy.expected_retest([[0.9, np.nan], [np.nan, 0.5], [0.2, np.nan]])
    assert (single.rho.status, single.rho.n) == ("ok", 3)
    assert single.pairs is not None
    assert "there are 2" in psy.expected_retest(p[:2]).rho.reason
    sure = psy.expected_retest([[1, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert (sure.rho.value, sure.rho.status, sure.rho.n) == (1.0, "not_informative", 3)
    assert (sure.r_mean, sure.r_deviation) == (1.0, 0.0)
    assert sure.agreement.tolist() == [1.0] * 3
    assert sure.kappa[:2] == pytest.approx([1.0, 1.0])
    assert np.isnan(sure.kappa[2]), "only one outcome can occur"
    assert psy.expected_retest([[1.0, 1.0], [0.5, 0.5], [0.0, 0.1]]).rho.status == "ok"


@pytest.mark.parametrize("values", [1, 2])
def test_the_error_of_a_short_form_is_that_of_a_calibrated_sample(values: int) -> None:
    """Weighted least squares of each item's share in a score that is no sum, by its derivatives."""
    rng = np.random.default_rng(4)
    right, wrong = rng.integers(0, 2, (3, 9)).astype(float), rng.random((3, 9))
    w = rng.uniform(0.5, 4, 9)
    auxiliary_values = np.stack([np.ones(9), rng.random(9)], axis=1)[:, :values]
    result = psy.scaled_scores(
        {"right": right, "wrong": wrong},
        lambda t: t["right"] ** 2 / (t["right"] + t["wrong"]),
        w,
        np.hstack([auxiliary_values, auxiliary_values[:, :1] * 2]),
        factor=1.5,
        freedom=12.0,
        level=0.9,
    )
    for m in range(3):
        a, b = right[m] @ w, wrong[m] @ w
        share = right[m] * (a**2 + 2 * a * b) / (a + b) ** 2 - wrong[m] * a**2 / (a + b) ** 2
        line = np.linalg.lstsq(
            np.sqrt(w)[:, None] * auxiliary_values, np.sqrt(w) * share, rcond=None
        )[0]
        residuals = share - auxiliary_values @ line
        variance = 9 / (9 - values) * (np.maximum(w * (w - 1), 0) * residuals**2).sum()
        assert result.scores[m] == pytest.approx(a**2 / (a + b))
        assert result.se[m] == pytest.approx(1.5 * math.sqrt(variance), rel=1e-5)
        half = stats.t.ppf(0.95, 12) * result.se[m]
        assert (result.low[m], result.high[m]) == pytest.approx(
            (result.scores[m] - half, result.scores[m] + half)
        )


def test_the_defaults_of_a_short_form_are_those_of_a_plain_sample() -> None:
    tallies = {"right": [[1.0, 0, 1, 1, 0]], "n": np.ones((1, 5))}

    def share(t):  # type: ignore[no-untyped-def]
        return t["right"] / t["n"]

    w, ones = [2.0, 3, 2, 4, 2], np.ones((5, 1))
    plain = psy.scaled_scores(tallies, share, w, ones)
    explicit = psy.scaled_scores(tallies, share, w, ones, factor=1.0, freedom=math.inf, level=0.95)
    assert (plain.low, plain.high) == (explicit.low, explicit.high)
    assert plain.high - plain.low == pytest.approx(2 * 1.959964 * plain.se, rel=1e-6)
    # with as many values as items nothing is left over, and nothing is divided by
    exact = psy.scaled_scores(tallies, share, w, np.eye(5))
    assert exact.se == pytest.approx([0.0], abs=1e-9)
    nobody = psy.scaled_scores(
        {"right": np.zeros((1, 5)), "n": np.zeros((1, 5))},
        lambda t: np.where(t["n"] > 0.5, 1.0, np.nan),
        w,
        ones,
    )
    assert np.isnan(nobody.scores).all()
    for weights, auxiliary in ((w, np.ones((4, 1))), ([*w[:4], 0.0], ones), ([-1.0] * 5, ones)):
        with pytest.raises(ValueError, match="5 items need positive weights"):
            psy.scaled_scores(tallies, share, weights, auxiliary)


def test_errors_of_held_out_families_are_averaged_within_and_over_families() -> None:
    errors, se = [0.02, -0.04, 0.03, np.nan, 0.01], [0.01, 0.02, 0.01, 0.01, np.nan]
    factor, freedom = psy.error_factor(errors, se, list("aabcb"))
    # a: 4 and 4; b: 9; c and the last of b are unknown
    assert (factor, freedom) == (pytest.approx(math.sqrt((4 + 9 + 8) / 10)), 10.0)
    assert psy.error_factor([], [], []) == (1.0, 8.0)
    halves = psy.error_factor([0.005, 0.0], [0.01, 0.01], ["a", "a"])
    assert halves == (pytest.approx(math.sqrt((0.125 + 8) / 9)), 9.0)
