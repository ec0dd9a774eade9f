"""Item response models against published fits and an independent likelihood; the gates; planted
misfit.
"""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from hqm import psychometrics as psy
from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.psychometrics.items import item_response_models
from tests.messages import text_of


def simulate(
    seed: int, respondents: int, items: int, spread: float = 0.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    theta, a, d = (
        rng.normal(size=(respondents, 1)),
        np.exp(spread * rng.normal(size=items)),
        rng.normal(size=items),
    )
    return (
        (rng.random((respondents, items)) < 1 / (1 + np.exp(-(theta * a + d)))).astype(float),
        a,
        d,
    )


def lsat(data: Path, number: int) -> np.ndarray:
    return np.loadtxt(data / "psychometrics" / f"lsat{number}.csv", delimiter=",", skiprows=1)


# Bock and Lieberman 1970, Psychometrika 35:179-197, sections 6 and 7 of the LSAT; fits as R's mirt
# prints them
PUBLISHED = [
    (6, 0.7552, [2.730, 0.999, 0.240, 1.306, 2.099], -2466.938),
    (7, 1.011, [1.868, 0.791, 1.461, 0.521, 1.993], -2664.901),
]


@pytest.mark.parametrize(("number", "slope", "intercept", "likelihood"), PUBLISHED)
def test_the_lsat(
    data: Path, number: int, slope: float, intercept: list[float], likelihood: float
) -> None:
    fitted = psy.item_response(lsat(data, number))
    assert fitted.status == "ok"
    assert fitted.flags == ()
    assert fitted.slope == pytest.approx(slope, abs=1e-3)
    assert fitted.intercept == pytest.approx(intercept, abs=1.5e-3)
    assert fitted.log_likelihood == pytest.approx(likelihood, abs=1e-3)


def likelihood(parameters: np.ndarray, x: np.ndarray) -> float:
    """Minus the marginal log likelihood of one slope and an intercept for each item, by a
    quadrature rule with 40 points.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    z = nodes[:, None] * parameters[0] + parameters[1:]
    log = x @ z.T - np.logaddexp(0, z).sum(1)
    return -float(np.log(np.exp(log) @ (weights / weights.sum())).sum())


def test_parameters_against_a_direct_maximisation() -> None:
    x, _, _ = simulate(3, 120, 6, 0.0)
    fitted = psy.item_response(x)
    start = np.round([fitted.slope, *fitted.intercept], 1)
    best = optimize.minimize(likelihood, start, args=(x,), method="BFGS")
    assert [fitted.slope, *fitted.intercept] == pytest.approx(best.x, abs=3e-3)


def test_many_items_are_fitted_where_the_likelihood_is_largest() -> None:
    """12 respondents and 170 items, against the likelihood at quadrature points of each
    respondent's own: no step of slope or intercepts betters it.
    """
    from hqm.psychometrics.items.item_response_models import fit

    x, _, _ = simulate(3, 12, 170)
    x = x[:, (x.sum(0) > 0) & (x.sum(0) < 12)]
    fitted = fit(x, np.ones(12))
    assert fitted.converged
    best = np.array([fitted.slope, *fitted.intercept])
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)

    def own_points(parameters: np.ndarray) -> float:
        a, d = parameters[0], parameters[1:]
        total = 0.0
        for row in x:
            theta = np.zeros(1)
            for _ in range(50):
                p = 1 / (1 + np.exp(-(a * theta[:, None] + d)))
                information = a * a * (p * (1 - p)).sum(1) + 1
                theta = theta + (a * (row - p).sum(1) - theta) / information
            ability_points = theta + nodes / np.sqrt(information)
            z = a * ability_points[:, None] + d
            log = (z @ row) - np.logaddexp(0, z).sum(1) - ability_points**2 / 2 + nodes**2 / 2
            likelihood = float((weights * np.exp(log - log.max())).sum())
            total += math.log(likelihood / math.sqrt(2 * math.pi * information[0])) + log.max()
        return total

    assert fitted.log_likelihood == pytest.approx(own_points(best), abs=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(5):
        step = 0.02 * rng.normal(size=len(best))
        assert own_points(best + step) < fitted.log_likelihood


def test_true_parameters_come_back() -> None:
    x, _, d = simulate(4, 2000, 30, 0.0)
    fitted = psy.item_response(x)
    assert fitted.slope == pytest.approx(1, abs=0.05)
    assert fitted.intercept == pytest.approx(d, abs=0.2)


def test_missing_answers_are_left_out(data: Path) -> None:
    x = lsat(data, 7)
    holes = x.copy()
    holes[np.random.default_rng(6).random(x.shape) < 0.2] = math.nan
    complete, with_gaps = psy.item_response(x), psy.item_response(holes)
    assert with_gaps.intercept == pytest.approx(complete.intercept, abs=0.25)


@given(st.permutations(range(8)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_items_does_not_matter(order: list[int]) -> None:
    x, _, _ = simulate(7, 250, 8)
    original, reordered = psy.item_response(x), psy.item_response(x[:, order])
    assert reordered.intercept == pytest.approx([original.intercept[i] for i in order], abs=1e-3)
    assert reordered.log_likelihood == pytest.approx(original.log_likelihood, abs=1e-4)


def test_the_gates() -> None:
    x, _, _ = simulate(10, 60, 6)
    refused = psy.item_response(x[:29])
    assert refused.status == "insufficient"
    assert refused.reason.startswith(text_of("irt.few", needed=30, there=29))
    assert "Linacre 1994" in refused.reason
    assert psy.item_response(x, n_eff=25).status == "insufficient"
    assert psy.item_response(x).flags == ()


def test_rasch_difficulties_of_the_lsat(data: Path) -> None:
    """LSAT 6: the common-slope intercepts of R's ltm (2.730, .999, .240, 1.306, 2.099), turned
    round and centred.
    """
    fitted = psy.rasch(lsat(data, 6))
    intercepts = np.array([2.730, 0.999, 0.240, 1.306, 2.099])
    assert fitted.difficulty == pytest.approx(intercepts.mean() - intercepts, abs=2e-3)


def test_warm_estimates_solve_their_equation() -> None:
    x, _, _ = simulate(12, 60, 15, 0.0)
    x[0], x[1] = 1, 0
    fitted = psy.rasch(x)
    b = np.array(fitted.difficulty)
    for m in (0, 1, 2, 30):
        p = 1 / (1 + np.exp(-(fitted.ability[m] - b)))
        w = p * (1 - p)
        assert x[m].sum() - p.sum() + (w * (1 - 2 * p)).sum() / (2 * w.sum()) == pytest.approx(
            0, abs=1e-6
        )
    assert 0 < fitted.separation < 1


def test_fit_statistics_against_a_loop() -> None:
    x, _, _ = simulate(13, 50, 10)
    x[3, 2] = math.nan
    fitted = psy.rasch(x)
    b, theta = fitted.difficulty, fitted.ability
    for i in range(10):
        z, w, r = [], [], []
        for m in range(50):
            if not math.isnan(x[m, i]):
                p = 1 / (1 + math.exp(-(theta[m] - b[i])))
                z.append((x[m, i] - p) ** 2 / (p * (1 - p)))
                w.append(p * (1 - p))
                r.append((x[m, i] - p) ** 2)
        assert fitted.outfit[i] == pytest.approx(sum(z) / len(z), rel=1e-9)
        assert fitted.infit[i] == pytest.approx(sum(r) / sum(w), rel=1e-9)


def test_misfit_is_found_and_not_invented() -> None:
    accused = 0
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        theta, b = rng.normal(size=(150, 1)), rng.normal(size=60)
        x = (rng.random((150, 60)) < 1 / (1 + np.exp(-(theta - b)))).astype(float)
        accused += len(psy.rasch(x).misfit)
    assert accused <= 3
    x[:, 9] = 1 - (rng.random(150) < stats.norm.cdf(2 * theta[:, 0]))
    fitted = psy.rasch(x)
    assert 9 in fitted.misfit
    assert fitted.outfit[9] > 1.3


def test_answers_without_noise_have_no_finite_slope() -> None:
    """A perfect Guttman scale: each item is a step."""
    x = (np.arange(250)[:, None] > np.linspace(0, 249, 8)[1:-1]).astype(float)
    fitted = psy.item_response(x)
    assert fitted.status == "ok"
    assert "UNBOUNDED" in fitted.flags
    assert list(fitted.intercept) == sorted(fitted.intercept, reverse=True)


@given(
    st.integers(0, 10**6),
    st.integers(30, 60),
    st.integers(3, 6),
    st.floats(0, 0.6),
    st.floats(0.02, 0.98),
)
@settings(max_examples=25, deadline=None)
def test_noise_is_fitted_without_a_warning(
    seed: int, n: int, items: int, holes: float, rate: float
) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.random((n, items)) < rate).astype(float)
    x[rng.random((n, items)) < holes] = math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = psy.item_response(x)
        assert fitted.reason if fitted.status != "ok" else math.isfinite(fitted.slope)
        psy.rasch(x)


def test_models_that_do_not_exist_say_why() -> None:
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert psy.item_response(np.zeros((0, 4))).status == "insufficient"
        assert psy.item_response(np.zeros((50, 0))).status == "insufficient"
        assert psy.item_response(np.ones((50, 4))).status == "degenerate"
        assert psy.item_response(np.full((50, 4), 0.5)).status == "not_applicable"
        assert psy.item_response(np.full((50, 4), math.nan)).status == "insufficient"
        assert psy.item_response(np.tile([1.0, 0, 1, 0], (50, 1))).status == "degenerate"
        equal_scores = psy.item_response(np.array([[1.0, 0, 0, 1], [0, 1, 1, 0]] * 30))
        assert equal_scores.reason == "the respondents do not differ"
        unrelated = psy.rasch((rng.random((60, 12)) < 0.5).astype(float))
        assert unrelated.status in ("ok", "degenerate")
        assert psy.rasch(np.ones((50, 4))).status == "degenerate"
        x, _, _ = simulate(1, 60, 8)
        x[:, 2] = 1
        fitted = psy.rasch(x)
        assert math.isnan(fitted.difficulty[2])
        x[0] = math.nan
        assert math.isnan(psy.rasch(x).ability[0])
        assert psy.item_response(x).status == "ok"
    with pytest.raises(ValueError, match="respondents, items"):
        psy.item_response([1, 0])


def a_scale(seed: int = 15, respondents: int = 90) -> np.ndarray:
    """Ten items of the model, one that is guessed, two that repeat each other, with holes; one that
    everybody passes, and a respondent who passes all.
    """
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=(respondents, 1)), np.linspace(-1.5, 1.5, 10)
    x = (rng.random((respondents, 10)) < 1 / (1 + np.exp(-2 * (theta - b)))).astype(float)
    guessed = (rng.random((respondents, 1)) < 0.5).astype(float)
    step = (theta > 0.2).astype(float)
    x = np.hstack([x, guessed, step, step, np.ones((respondents, 1))])
    x[rng.random(x.shape) < 0.05] = math.nan
    x[3] = 1
    x[5] = math.nan
    return np.asarray(x)


@pytest.mark.parametrize("alpha", [0.05, 0.999])
def test_a_rasch_scale_by_loops(alpha: float) -> None:
    """Wright and Masters (1982), chapter 5, with Wilson and Hilferty's deviates."""
    x = a_scale()
    fitted = psy.rasch(x, alpha=alpha)
    model = psy.item_response(x)
    assert (fitted.status, fitted.n, fitted.flags) == ("ok", 89, ())
    intercept = np.array(model.intercept)
    assert np.flatnonzero(np.isnan(intercept)).tolist() == [13]
    b = np.nanmean(intercept) - intercept
    assert fitted.difficulty == pytest.approx(b, nan_ok=True)
    assert np.nanmean(fitted.difficulty) == pytest.approx(0, abs=1e-12)
    theta = fitted.ability
    assert np.flatnonzero(np.isnan(theta)).tolist() == [5]
    deviates = []
    for i in range(13):
        p = [1 / (1 + math.exp(-(theta[m] - b[i]))) for m in range(90) if x[m, i] == x[m, i]]
        observed = [x[m, i] for m in range(90) if x[m, i] == x[m, i]]
        n = len(p)
        w = [q * (1 - q) for q in p]
        squares = [(v - q) ** 2 for v, q in zip(observed, p, strict=True)]
        outfit = sum(s / v for s, v in zip(squares, w, strict=True)) / n
        infit = sum(squares) / sum(w)
        assert (fitted.infit[i], fitted.outfit[i]) == pytest.approx((infit, outfit))
        # the fourth moment of a pass or a failure about its chance
        fourth = [q * (1 - q) ** 4 + (1 - q) * q**4 for q in p]
        of_outfit = sum(c / v**2 for c, v in zip(fourth, w, strict=True)) / n**2 - 1 / n
        of_infit = sum(c - v**2 for c, v in zip(fourth, w, strict=True)) / sum(w) ** 2
        deviates.append(
            max(
                abs((square ** (1 / 3) - 1) * 3 / math.sqrt(v) + math.sqrt(v) / 3)
                for square, v in ((infit, of_infit), (outfit, of_outfit))
            )
        )
    assert np.isnan([fitted.infit[13], fitted.outfit[13]]).all()
    q = benjamini_hochberg(np.array([min(1.0, 4 * stats.norm.sf(t)) for t in deviates]))
    is_misfit = [
        not (0.7 <= fitted.infit[i] <= 1.3 and 0.7 <= fitted.outfit[i] <= 1.3) for i in range(13)
    ]
    assert fitted.misfit == tuple(i for i in range(13) if is_misfit[i] and q[i] < alpha)
    assert 10 in fitted.misfit, "who guesses"
    if alpha > 0.9:
        assert {11, 12} < set(fitted.misfit), "who repeats another item"
    errors = []
    for m in range(90):
        p = np.array(
            [1 / (1 + math.exp(-(theta[m] - b[i]))) for i in range(13) if x[m, i] == x[m, i]]
        )
        passed = sum(x[m, i] for i in range(13) if x[m, i] == x[m, i])
        if len(p):
            w = p * (1 - p)
            warm = passed - p.sum() + (w * (1 - 2 * p)).sum() / (2 * w.sum())
            assert warm == pytest.approx(0, abs=1e-6)
            errors.append(1 / w.sum())
    finite_theta = np.array([t for t in theta if t == t])
    assert fitted.separation == pytest.approx(1 - np.mean(errors) / finite_theta.var(ddof=1))


def one_step(seed: int) -> np.ndarray:
    """(60, 13) scores whose last item the better half passes, and one of the weakest."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=(60, 1)), np.linspace(-2, 2, 12)
    x = (rng.random((60, 12)) < 1 / (1 + np.exp(-3 * (theta - b)))).astype(float)
    order = np.argsort(x.sum(axis=1), kind="stable")
    step = np.isin(np.arange(60), [*order[30:], order[1]])
    return np.column_stack([x, step])


def of_slopes(seed: int) -> np.ndarray:
    """(31, 10) scores whose items discriminate very unequally."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=(31, 1)), np.linspace(-1, 1, 10)
    slope = np.exp(1.2 * rng.normal(size=10))
    return (rng.random((31, 10)) < 1 / (1 + np.exp(-1.5 * slope * (theta - b)))).astype(float)


def test_misfit_is_named_beyond_each_of_the_four_bounds() -> None:
    """Items whose infit or outfit alone lies outside of .7 to 1.3, with all tests let through."""
    sides_seen = set()
    for x in (one_step(0), of_slopes(0), of_slopes(30), of_slopes(42)):
        fitted = psy.rasch(x, alpha=math.inf)
        for i, (infit, outfit) in enumerate(zip(fitted.infit, fitted.outfit, strict=True)):
            sides = (infit < 0.7, infit > 1.3, outfit < 0.7, outfit > 1.3)
            assert (i in fitted.misfit) == any(sides)
            if sum(sides) == 1:
                sides_seen.add(sides.index(True))
    assert sides_seen == {0, 1, 2, 3}


@pytest.mark.parametrize("respondents", [30, 90])
def test_a_fit_takes_few_steps(respondents: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scale is set anew after every step, without which hundreds would be needed."""
    x = a_scale(16, respondents + 1)
    unlimited = psy.item_response(x)
    assert unlimited.flags == ()
    monkeypatch.setattr(item_response_models, "MAX_ITERATIONS", 40)
    soon = psy.item_response(x)
    assert soon == unlimited or (soon.flags, soon.slope) == ((), unlimited.slope)
    monkeypatch.setattr(item_response_models, "MAX_ITERATIONS", 3)
    early = psy.item_response(x)
    assert (early.status, early.flags) == ("ok", ("NOT_CONVERGED",))
    assert psy.rasch(x).flags == ("NOT_CONVERGED",)


def test_a_model_is_refused_for_what_it_cannot_fit() -> None:
    x = a_scale(17, 40)
    fitted = psy.item_response(x)
    assert (fitted.status, fitted.n, len(fitted.intercept)) == ("ok", 39, 14)
    # respondents who are doubled weigh twice, in the likelihood too
    twice = psy.item_response(np.vstack([x, x]))
    assert twice.slope == pytest.approx(fitted.slope, rel=1e-3)
    assert twice.log_likelihood == pytest.approx(2 * fitted.log_likelihood, rel=1e-6)
    for size, status in ((30.0, "ok"), (29.9, "insufficient"), (99.0, "ok")):
        assert psy.item_response(x, n_eff=size).status == status
        assert psy.rasch(x, n_eff=size).status == status
    assert "25" in psy.rasch(x, n_eff=25).reason
    assert psy.item_response(x[:30]).n == 29
    assert psy.item_response(x[:31]).status == "ok"
    for value in (0.5, -1.0, 2.0):
        wrong = x.copy()
        wrong[0, 0] = value
        lost = psy.rasch(wrong)
        assert (lost.status, lost.n, lost.ability) == ("not_applicable", 39, ())
    two_varying = np.column_stack([x[:, :2], np.ones(40), np.zeros(40)])
    two = psy.item_response(two_varying)
    assert (two.status, two.reason[-1]) == ("degenerate", "2")
    # items of which no two go together have no common slope
    against = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]] * 6)
    assert psy.item_response(against).status == "degenerate"


def test_an_item_that_a_single_respondent_passes_or_fails_has_a_place() -> None:
    x = a_scale(18, 40)[:, :9]
    x[5] = 0
    edge = np.tile(np.arange(40) == 7, (4, 1)).T.astype(float)
    edge[:, 1] = 1 - edge[:, 1]
    edge[:, 2], edge[:, 3] = 0, 1
    fitted = psy.item_response(np.column_stack([x, edge]))
    assert np.isfinite(fitted.intercept).tolist() == [*[True] * 11, False, False]
    assert fitted.intercept[9] < min(fitted.intercept[:9])
    assert fitted.intercept[10] > max(fitted.intercept[:9])
    # nobody is asked the last item but those who pass it
    passers_only = np.where(np.arange(40) < 5, 1.0, math.nan)
    assert math.isnan(psy.item_response(np.column_stack([x, passers_only])).intercept[9])
