"""G and Phi where answers are missing or respondents related, the spread behind their intervals, and
how many wordings are enough: by formulas written out and by leaving out.
"""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from hqm import psychometrics as psy
from hqm.psychometrics.inference.families import Relatives, log_variance_error
from hqm.psychometrics.reliability.score_dependability import (
    QUANTILE_LEVELS,
    Dependability,
    WordingsNeeded,
    fixed_score_variances,
    scaled_normal_quantiles,
    scaled_t_quantiles,
)

nan = math.nan


def position(noncentrality: float, x: float, df: int) -> float:
    """Sankaran (1963), second approximation: noncentral chi-square as a normal variable."""
    n, b = df + noncentrality, df + 2 * noncentrality
    h = 1 - 2 * n * (df + 3 * noncentrality) / (3 * b**2)
    p, m = b / n**2, (h - 1) * (1 - 3 * h)
    mean = 1 + h * p * (h - 1 - 0.5 * (2 - h) * m * p)
    return float(((x / n) ** h - mean) / (h * math.sqrt(2 * p) * (1 + 0.5 * m * p)))


@pytest.mark.parametrize("directional_error", [None, 0.004])
@pytest.mark.parametrize(("variance", "respondents"), [(0.02, 9), (0.2, 30), (0.006, 5)])
def test_credible_spreads_are_noncentralities(
    variance: float, respondents: int, directional_error: float | None
) -> None:
    """Each has its place where the observed variance lies; none is below the error's own."""
    error, df = 0.005, respondents - 1
    spread = fixed_score_variances(
        variance, error, respondents, directional_error=directional_error
    )
    assert spread.shape == (199, 1)
    moving = directional_error or error
    x = df * (variance - error + moving) / moving
    for value, level in zip(spread[::9, 0], QUANTILE_LEVELS[::9], strict=True):
        z_score = -stats.norm.ppf(level)

        def gap(noncentrality: float, z_score: float = z_score) -> float:
            return position(noncentrality, x, df) - z_score

        root = optimize.brentq(gap, 0.0, 100 * x + 999) if gap(0.0) > 0 else 0.0
        assert value == pytest.approx(error + moving * root / df, rel=1e-6)
    assert (np.diff(spread[:, 0]) >= 0).all()
    larger = fixed_score_variances(
        7 * variance,
        7 * error,
        respondents,
        directional_error=directional_error and 7 * directional_error,
    )
    assert larger == pytest.approx(7 * spread)


def test_a_spread_below_its_error_or_without_one() -> None:
    low_variances = fixed_score_variances(0.001, 0.02, 8, directional_error=0.003)
    assert low_variances[0, 0] == 0.02
    reference_variances = fixed_score_variances(1e-9, 0.003, 8)
    assert low_variances - 0.02 == pytest.approx(reference_variances - 0.003, abs=1e-6)
    for error, directional_error in ((0.0, None), (1e-13, None), (0.1, 0.0), (0.0, 0.1)):
        certain = fixed_score_variances(0.3, error, 8, directional_error=directional_error)
        assert certain.shape == (199, 1)
        assert (certain == 0.3).all()
    assert np.ptp(fixed_score_variances(0.3, 1e-6, 8)) > 0


def test_places_have_the_variance_of_their_distribution() -> None:
    levels = (np.arange(1, 16) - 0.5) / 15
    quantiles = scaled_normal_quantiles(levels)
    assert quantiles.std() == pytest.approx(1)
    assert quantiles / quantiles[0] == pytest.approx(
        stats.norm.ppf(levels) / stats.norm.ppf(levels[0])
    )
    for df in (2.5, 7):
        student = scaled_t_quantiles(df)
        assert student.var() == pytest.approx(stats.t.var(df))
        assert student / student[0] == pytest.approx(
            stats.t.ppf(levels, df) / stats.t.ppf(levels[0], df)
        )
    for df in (1, 2):
        assert scaled_t_quantiles(df) == pytest.approx(stats.t.ppf(levels, df))
    assert list(QUANTILE_LEVELS) == pytest.approx((np.arange(199) + 0.5) / 199)


# -- G and Phi


def runs(respondents: int, items: int, seed: int = 0) -> np.ndarray:
    """(respondents, items, 2) scores with effects of all kinds."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(respondents, 1, 1)) + 0.6 * rng.normal(size=(1, items, 1))
    x = x + 0.5 * rng.normal(size=(respondents, items, 1)) + [0.0, 0.3]
    return np.asarray(x + 0.4 * rng.normal(size=(respondents, items, 2)))


def numbers(study: Dependability) -> list[float]:
    return [
        end
        for value in (study.g, study.phi)
        for end in (
            value.value,
            value.low,
            value.fixed.low if value.fixed else nan,
            value.fixed.high if value.fixed else nan,
        )
    ]


@pytest.mark.parametrize("replicated", [True, False])
def test_who_and_what_has_no_score_is_no_part(replicated: bool) -> None:
    x = runs(10, 18)
    pictures = np.arange(18) // 3
    options = {
        "replicated": replicated,
        "families": list("aabbccddee"),
        "n_effective": 6.0,
        "level": 0.9,
    }
    plain = psy.g_and_phi(x, "run", pictures, **options)  # type: ignore[arg-type]
    wider = np.full((11, 20, 2), nan)
    wider[np.ix_([0, 1, 2, 4, 5, 6, 7, 8, 9, 10], [0, *range(2, 19)])] = x
    families = [*"aabzbccddee"]
    families[3], families[4:] = "z", list("bccddee")
    options["families"] = families
    extended = psy.g_and_phi(wider, "run", [0, 9, *pictures[1:], 9], **options)  # type: ignore[arg-type]
    assert numbers(extended) == pytest.approx(numbers(plain), nan_ok=True)
    assert (extended.g.n, extended.g.level, extended.phi.level) == (10, 0.9, 0.9)
    assert extended.g.fixed is not None
    assert extended.g.fixed.level == 0.9


@pytest.mark.parametrize("per_picture", [1, 3])
def test_a_score_of_fewer_items_counts_those_that_it_has(per_picture: int) -> None:
    """The harmonic mean of items; pictures of unequal size count as so many equal ones."""
    rng = np.random.default_rng(1)
    x = runs(9, 24, 1)
    x[rng.random(x.shape) < 0.2] = nan
    x[3, :, 1] = nan
    pictures = np.arange(24) // per_picture
    study = psy.g_and_phi(x, "run", pictures)
    scored = np.isfinite(x)
    items = scored.sum(axis=1)
    has_items = items > 0
    sizes = {"item": 1 / np.mean(1 / items[has_items]), "run": 1.0}
    if per_picture > 1:
        squares = sum((scored[:, pictures == p].sum(axis=1) ** 2) for p in range(8))
        sizes["picture"] = 1 / np.mean(squares[has_items] / items[has_items] ** 2)
    assert dict(study.design.sizes) == {k: pytest.approx(sizes[k]) for k in ("item", "run")}
    forecast = psy.d_study(study.study, sizes)
    assert (study.g.value, study.phi.value) == pytest.approx((forecast.g, forecast.phi))
    assert study.g.fixed is not None


def test_five_pictures_carry_an_interval() -> None:
    for pictures, has_interval in ((4, False), (5, True)):
        x = runs(9, 20, 2)
        study = psy.g_and_phi(x, "run", np.arange(20) % pictures, replicated=True)
        assert study.g.value > 0
        assert (study.g.fixed is not None) == (study.phi.fixed is not None) == has_interval
        assert math.isfinite(study.g.low)
    for labels in ([0], np.zeros((20, 1))):
        with pytest.raises(ValueError, match="picture"):
            psy.g_and_phi(x, "run", labels)
    single_respondent = psy.g_and_phi(x[:1], "run")
    assert (single_respondent.g.status, single_respondent.g.n) == ("insufficient", 1)
    assert single_respondent.g.reason == single_respondent.design.reason


def test_scores_without_noise_are_certain() -> None:
    exact = np.tile(np.arange(9.0)[:, None, None], (1, 8, 2))
    for replicated in (True, False):
        study = psy.g_and_phi(exact, "run", replicated=replicated)
        assert (study.g.value, study.phi.value, study.g.fixed) == (1, 1, None)
        assert math.isnan(study.g.low)
    hardly = exact + 1e-9 * np.random.default_rng(3).normal(size=exact.shape)
    assert psy.g_and_phi(hardly, "run", replicated=True).phi.value == 1


def test_no_spread_between_respondents_is_no_dependability() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(9, 12, 2))
    x -= x.mean(axis=(1, 2), keepdims=True)
    study = psy.g_and_phi(x, "run", replicated=True)
    assert (study.g.value, study.phi.value) == (0, 0)
    assert study.g.low == study.phi.low == 0
    assert study.phi.fixed is not None
    assert study.phi.fixed.low == 0


def test_relatives_are_left_out_together() -> None:
    x = runs(12, 15, 5)
    unrelated = psy.g_and_phi(x, "run", replicated=True)
    names = [str(i // 2) for i in range(12)]
    family = psy.g_and_phi(x, "run", replicated=True, families=names)
    single = psy.g_and_phi(x, "run", replicated=True, families=[str(i) for i in range(12)])
    assert numbers(single)[1] == pytest.approx(numbers(unrelated)[1])
    assert family.g.value == unrelated.g.value
    assert family.g.fixed == unrelated.g.fixed
    effects = [["respondent"], ["item"], ["respondent", "item"]]

    def coefficient_without(rows: np.ndarray) -> tuple[float, float]:
        study = psy.g_study(x[rows], ["respondent", "item", "run"], effects=effects)
        parts = {tuple(component.effect): component.raw for component in study.components}
        true = parts.pop(("respondent",))
        relative_variance = sum(
            v for effect, v in parts.items() if "run" not in effect and len(effect) == 2
        )
        noise = next(v for effect, v in parts.items() if "run" in effect)
        relative = (relative_variance + noise) / 15
        return max(true, 0.0) / (max(true, 0.0) + relative), true + (
            relative_variance + noise / 2
        ) / 15

    plain = psy.Coefficient(family.g.value, n=12, fixed=family.g.fixed)
    lower_bound = psy.add_lower_bound(
        plain, coefficient_without, x.mean(axis=(1, 2)), Relatives(tuple(names)), minimum=0.0
    )
    assert family.g.low == pytest.approx(lower_bound.low)
    fewer = psy.g_and_phi(x, "run", replicated=True, n_effective=8.0)
    assert fewer.g.low < unrelated.g.low
    assert fewer.g.method.endswith("n_eff 8")


# -- the mean over wordings


def forms(respondents: int = 9, columns: int = 4, seed: int = 6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shift = 0.5 * rng.normal(size=columns)
    return np.asarray(
        rng.normal(size=(respondents, 1)) + shift + 0.3 * rng.normal(size=(respondents, columns))
    )


@pytest.mark.parametrize("size", [None, 5.0, 3.0, 2.9])
@pytest.mark.parametrize("columns", [None, 1, 7])
def test_phi_of_a_mean_over_other_wordings(size: float | None, columns: int | None) -> None:
    x = forms()
    wider = np.vstack([x, [0.1, nan, 0.2, 0.3]])  # who lacks a wording is left out
    rng = np.random.default_rng(7)
    result = psy.dependability(wider, rng, columns=columns, n_effective=size, level=0.9, draws=300)
    n, k, n_columns = 9, 4, columns or 4
    squares = psy.g_study(x, ["m", "f"])
    msr, msc, mse = (squares.component(*e).mean_square for e in (["m"], ["f"], ["m", "f"]))
    single = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    assert result.value == pytest.approx(n_columns * single / (1 + (n_columns - 1) * single))
    assert (result.n, result.level) == (9, 0.9)
    if size is not None and size < 3:
        assert math.isnan(result.low)
        return
    n_effective = 9.0 if size is None else size
    tail = min(n_effective - 1, 2 / log_variance_error(x.mean(axis=1), n_effective))
    draws = np.random.default_rng(7)
    df = (n_effective - 1) * (k - 1)
    error = mse * df / draws.chisquare(df, 300)
    rows = msr * tail / draws.chisquare(tail, 300)
    shifts = np.maximum(msc * (k - 1) / draws.chisquare(k - 1, 300), error)
    true_variance = np.maximum(rows - error, 0)
    coefficients = true_variance / (true_variance + k * (error + (shifts - error) / n) / n_columns)
    assert result.low == pytest.approx(min(result.value, np.quantile(coefficients, 0.1)))
    assert result.high == math.inf
    assert result.method == "generalized pivots, 300, one-sided"
    assert result.fixed is None


def test_where_phi_of_wordings_has_no_bound() -> None:
    rng = np.random.default_rng(8)
    assert math.isnan(psy.dependability(forms(7), rng, draws=50).low)
    assert math.isfinite(psy.dependability(forms(8), rng, draws=50).low)
    exact = np.arange(9.0)[:, None] + np.array([0.0, 1, 3])
    certain = psy.dependability(exact, rng, draws=50)
    assert (certain.status, math.isnan(certain.low)) == ("ok", True)
    level = psy.dependability(np.ones((9, 3)), rng, draws=50)
    assert math.isnan(level.low)
    assert level.status != "ok"


def quantiles_of(x: np.ndarray, counts: range, size: float, draws: int, seed: int) -> list[float]:
    """The 5 % quantile of Phi for each number of wordings, with the variance's upper end."""
    n, k = x.shape
    squares = psy.g_study(x, ["m", "f"])
    msr, msc, mse = (squares.component(*e).mean_square for e in (["m"], ["f"], ["m", "f"]))
    max_form_variance = max(0.0, (msc * (k - 1) / stats.chi2.ppf(0.2, k - 1) - mse) / n)
    true_variance, chances, quantiles = (msr - mse) / k, np.random.default_rng(seed), []
    tail = min(size - 1, 2 / log_variance_error(x.mean(axis=1), size))
    for count in counts:
        df = (size - 1) * (count - 1)
        error = mse * df / chances.chisquare(df, draws)
        rows = (count * true_variance + mse) * tail / chances.chisquare(tail, draws)
        shifts = (n * max_form_variance + mse) * (count - 1) / chances.chisquare(count - 1, draws)
        true_variances = np.maximum(rows - error, 0)
        phi = true_variances / (true_variances + error + np.maximum(shifts - error, 0) / n)
        quantiles.append(float(np.quantile(phi, 0.05)))
    return quantiles


@pytest.mark.parametrize("size", [None, 6.0])
def test_five_to_twenty_wordings_are_advised(size: float | None) -> None:
    x = forms(10, 3, 9)
    wider = np.vstack([x, [nan, 0.1, 0.2]])
    reached = quantiles_of(x, range(5, 22), size or 10.0, 200, 10)

    def needed_wordings(goal: float) -> WordingsNeeded:
        rng = np.random.default_rng(10)
        return psy.wordings_needed(wider, goal, rng, n_effective=size, draws=200)

    assert needed_wordings(reached[0] - 1e-9).n_wordings == 5
    assert needed_wordings(-1.0).n_wordings == 5
    best = max(reached[:16])
    assert needed_wordings(best - 1e-9).n_wordings == 5 + reached.index(best)
    beyond = needed_wordings(best + 1e-9)
    assert (beyond.n_wordings, beyond.status) == (None, "ok")
    assert "20" in beyond.reason
    assert needed_wordings(best - 1e-9).reason == ""
    assert needed_wordings(2.0).n_wordings is None


def test_a_twenty_first_wording_is_no_advice() -> None:
    """Seeds under which twenty-one reach what twenty do not."""
    x = forms(10, 3, 9)
    seed = next(
        s
        for s in range(99)
        if (reached := quantiles_of(x, range(5, 22), 10.0, 30, s))[16] > max(reached[:16])
    )
    goal = max(quantiles_of(x, range(5, 21), 10.0, 30, seed)) + 1e-9
    rng = np.random.default_rng(seed)
    assert psy.wordings_needed(x, goal, rng, draws=30).n_wordings is None


def test_the_variance_of_wordings_is_none_below_the_noise() -> None:
    """Rows of distinct means, columns alike: nothing of a wording shifts all respondents."""
    rng = np.random.default_rng(11)
    noise = rng.normal(size=(9, 3))
    noise -= noise.mean(axis=0)
    wordings = psy.wordings_needed(np.arange(9.0)[:, None] + noise, 0.5, rng, draws=50)
    assert (wordings.variance, wordings.variance_high, wordings.n_wordings) == (0, 0, 5)
    alike = psy.wordings_needed(noise - noise.mean(axis=1, keepdims=True), 0.5, rng, draws=50)
    assert (alike.status, alike.n_wordings) == ("degenerate", None)
    assert math.isnan(alike.variance)
    small_study = psy.wordings_needed(forms(9, 2), 0.5, rng)
    assert small_study.status == "insufficient"
    assert "2" in small_study.reason
    assert math.isnan(small_study.variance_high)
