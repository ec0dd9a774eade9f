"""Omega against the closed form of three loadings, its errors and gradients by loops."""

import math

import numpy as np
import pytest
from scipy import optimize

from hqm import psychometrics as psy
from hqm.psychometrics.inference.resampling import jackknife_variance
from hqm.psychometrics.variance.variance_components import corrected_half_width
from tests.fields import fields_of
from tests.test_psychometrics_consistency import with_covariance

KINDS = np.array(list("a" * 12 + "b" * 12 + "cc"))
PICTURES = np.array([*range(12), *range(12), 0, 5])
"""Two types about every picture, and one about two of them."""


def world(seed: int, noise: float, respondents: int = 9) -> np.ndarray:
    """(respondents, items) scores with an ability and with luck that the pictures share."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(-0.3, 0.3, respondents)[:, None]
    shared = 0.2 * noise * rng.normal(size=(respondents, 12))[:, PICTURES]
    item_noise = (
        np.where(KINDS == "c", 0.3, 1.0) * noise * rng.normal(size=(respondents, len(KINDS)))
    )
    return np.asarray(0.5 + ability + shared + item_noise)


def scaled_residuals(x: np.ndarray) -> np.ndarray:
    """(types, respondents, pictures): what is left of the scores without respondent and item, over
    the number of items.
    """
    residuals = np.zeros((3, len(x), 12))
    for index, kind in enumerate("abc"):
        columns = np.flatnonzero(kind == KINDS)
        type_scores = x[:, columns]
        left = (
            type_scores
            - type_scores.mean(axis=1, keepdims=True)
            - type_scores.mean(axis=0)
            + type_scores.mean()
        )
        count = len(columns)
        unbiased = math.sqrt(count / (count - 1) * len(x) / (len(x) - 1))
        for column, values in zip(columns, left.T, strict=True):
            residuals[index, :, PICTURES[column]] += values * unbiased / count
    return residuals


def errors_of(scaled: np.ndarray) -> np.ndarray:
    return np.array([[(s * t).sum() for t in scaled] for s in scaled]) / scaled.shape[1]


def closed_form(covariances: np.ndarray, errors: np.ndarray) -> float:
    """Three correlations are fitted exactly by three loadings: the first is sqrt(r12 r13 / r23)."""
    s = np.sqrt(np.diag(covariances))
    r = (covariances - errors) / np.outer(s, s)
    loadings = [
        math.sqrt(r[i, j] * r[i, k] / r[j, k]) for i, j, k in ((0, 1, 2), (1, 0, 2), (2, 0, 1))
    ]
    return float(sum(loadings) ** 2 / (covariances / np.outer(s, s)).sum())


@pytest.mark.parametrize(
    ("seed", "noise", "m", "level"),
    [(1, 0.2, 9, 0.95), (1, 0.2, 30, 0.8), (1, 1.0, 9, 0.8), (2, 1.2, 30, 0.95)],
)
def test_omega_of_three_types_by_hand(seed: int, noise: float, m: int, level: float) -> None:
    x = world(seed, noise, m)
    result = psy.omega_of_types(x, KINDS.tolist(), PICTURES, level=level)
    means = np.array([x[:, kind == KINDS].mean(axis=1) for kind in "abc"])
    scaled = scaled_residuals(x)
    covariances, errors = np.cov(means), errors_of(scaled)
    value = closed_form(covariances, errors)
    assert result.value == pytest.approx(value, rel=1e-6)
    assert (result.n, result.n_items, result.level, result.status) == (m, 26, level, "ok")

    left = np.zeros((3, m, 12))
    for type_index, kind in enumerate("abc"):
        for picture in range(12):
            retained = (kind == KINDS) & (picture != PICTURES)
            left[type_index, :, picture] = x[:, retained].mean(axis=1)
    left -= left.mean(axis=1, keepdims=True)
    pairs = [(t, u) for t in range(3) for u in range(t + 1)]
    logs, twice = np.zeros(12), 0.0
    step = 1e-4 * np.diag(covariances).mean()
    for t, u in pairs:
        nudge = np.zeros((3, 3))
        nudge[t, u] = nudge[u, t] = step
        of_scores, of_errors = (
            (math.log(1 - closed_form(*raised)) - math.log(1 - closed_form(*lowered))) / (2 * step)
            for raised, lowered in (
                ((covariances + nudge, errors), (covariances - nudge, errors)),
                ((covariances, errors + nudge), (covariances, errors - nudge)),
            )
        )
        for c in range(12):
            moved = (left[t, :, c] * left[u, :, c]).sum() / (m - 1) - covariances[t, u]
            lost = -(scaled[t, :, c] * scaled[u, :, c]).sum() / m
            logs[c] += moved * of_scores + lost * of_errors
        product = (
            sum((scaled[t, k] ** 2).sum() * (scaled[u, k] ** 2).sum() for k in range(m))
            / (m - 1) ** 2
        )
        twice += of_scores**2 * product * (2 if t == u else 1)
    full_variance = float(jackknife_variance(logs))
    half = corrected_half_width(full_variance, twice, 12, level)
    # half of the jackknife's variance stays where more would be noise
    assert (twice < full_variance / 2) == (noise < 1 and m == 30)
    assert result.fixed is not None
    expected = 1 - (1 - value) * math.exp(half), 1 - (1 - value) * math.exp(-half)
    assert (result.fixed.low, result.fixed.high) == pytest.approx(expected, rel=1e-4)
    assert result.fixed.level == level

    # among others: each respondent left out, with the errors of those who are left
    z = np.mean([mean / mean.std(ddof=1) for mean in means], axis=0)

    def statistic(rows: np.ndarray) -> tuple[float, float]:
        omega = closed_form(np.cov(means[:, rows]), errors_of(scaled_residuals(x[rows])))
        return omega, float(z[rows].var(ddof=1))

    coefficient = psy.Coefficient(value, n=m, level=level, fixed=result.fixed)
    bounded = psy.add_lower_bound(coefficient, statistic, z, minimum=0.0)
    assert (result.low, result.high) == pytest.approx((bounded.low, math.inf), rel=1e-5, abs=1e-6)


def test_an_omega_of_nearly_1_has_no_interval_over_items() -> None:
    """A covariance that is hardly larger would make it 1, so that no slope is known."""
    low_noise, lowest_noise = (
        psy.omega_of_types(world(1, noise), KINDS.tolist(), PICTURES) for noise in (0.02, 0.005)
    )
    assert low_noise.fixed is not None
    assert (lowest_noise.status, lowest_noise.fixed) == ("ok", None)
    assert low_noise.value < lowest_noise.value < 1


def test_types_and_respondents_that_cannot_be_used_are_left_out() -> None:
    x = world(1, 0.2)
    plain = psy.omega_of_types(x, KINDS.tolist(), PICTURES)
    # a respondent without an answer to one of the types, with the label of its family
    absent = np.insert(x, 4, np.where(KINDS == "b", np.nan, 0.5), axis=0)
    names = list("aabbccddee")
    with_missing = psy.omega_of_types(absent, KINDS.tolist(), PICTURES, families=names)
    complete = psy.omega_of_types(x, KINDS.tolist(), PICTURES, families=[*names[:4], *names[5:]])
    assert fields_of(with_missing) == fields_of(complete)
    assert complete.method.startswith("families")
    assert fields_of(psy.omega_of_types(absent, KINDS.tolist(), PICTURES)) == fields_of(plain)
    # a type in which nobody differs
    constant = np.column_stack([x, np.full((9, 3), 0.5)])
    types, pictures = [*KINDS.tolist(), *"ddd"], [*PICTURES.tolist(), 0, 1, 2]
    still = psy.omega_of_types(constant, types, pictures)
    assert (still.value, still.low, still.n_items) == (plain.value, plain.low, 29)
    for status, scores, kinds in (
        ("insufficient", x[:2], KINDS),
        ("insufficient", x[:, KINDS != "c"], KINDS[KINDS != "c"]),
        ("insufficient", np.where(KINDS == "c", 0.5, x), KINDS),
        ("not_applicable", x[:3], KINDS),
        ("insufficient", np.full_like(x, np.nan), KINDS),
    ):
        undefined = psy.omega_of_types(scores, kinds.tolist())
        assert undefined.status == status
    with pytest.raises(ValueError, match="one type an item"):
        psy.omega_of_types(x, list("abc"))
    assert psy.omega_of_types(x, KINDS.tolist(), np.arange(26) % 9).fixed is None
    counted = psy.omega_of_types(x, KINDS.tolist(), PICTURES, n_effective=8.5)
    assert (counted.value, "n_eff 8.5" in counted.method) == (plain.value, True)


def test_a_factor_that_does_not_hold_is_no_omega() -> None:
    # the loading of the first would be the root of .8 x .8 / .4
    x = with_covariance(np.array([[1, 0.8, 0.8], [0.8, 1, 0.4], [0.8, 0.4, 1]]), 7)
    total = psy.omega_t(x)
    assert (total.status, total.flags, total.n) == ("degenerate", ("HEYWOOD",), 7)
    # the same three as types of ten items each, whose errors hardly matter
    items = np.repeat(x, 10, axis=1) + 0.01 * np.random.default_rng(2).normal(size=(7, 30))
    types = psy.omega_of_types(items, np.repeat(list("abc"), 10).tolist())
    assert (types.status, types.flags, types.n) == ("degenerate", ("HEYWOOD",), 7)


def test_loadings_that_fit_exactly_are_found() -> None:
    for true in [(0.8, 0.7, 0.6), (0.9, 0.2, 0.5, 0.4), (0.5, -0.4, 0.6, 0.7)]:
        loadings = np.array(true)
        r = np.outer(loadings, loadings) + np.diag(1 - loadings**2)
        assert psy.minres_loadings(r) == pytest.approx(loadings, abs=1e-6)
        # the diagonal is not looked at, and the sign is that of the sum
        assert psy.minres_loadings(r - np.diag(np.diag(r))) == pytest.approx(loadings, abs=1e-6)
        turned = np.diag([1, *[-1] * (len(true) - 1)]) @ r @ np.diag([1, *[-1] * (len(true) - 1)])
        fitted = psy.minres_loadings(turned)
        assert fitted.sum() >= 0
        assert np.abs(fitted) == pytest.approx(np.abs(loadings), abs=1e-6)
        stacked = psy.minres_loadings(np.stack([r, turned, r]))
        assert stacked.shape == (3, len(true))
        assert stacked == pytest.approx(
            np.stack([psy.minres_loadings(r), fitted, psy.minres_loadings(r)])
        )


def test_loadings_leave_the_smallest_squares() -> None:
    rng = np.random.default_rng(3)
    for items in (3, 5):
        x = rng.normal(size=(30, 1)) * rng.uniform(0.3, 1, items) + rng.normal(size=(30, items))
        r = np.corrcoef(x.T)
        off_diagonal = ~np.eye(items, dtype=bool)

        def misfit(
            loadings: np.ndarray, r: np.ndarray = r, off_diagonal: np.ndarray = off_diagonal
        ) -> float:
            return float(((r - np.outer(loadings, loadings))[off_diagonal] ** 2).sum())

        fitted = psy.minres_loadings(r)
        best = min(
            optimize.minimize(misfit, start, tol=1e-12).fun
            for start in (np.full(items, 0.6), rng.uniform(-1, 1, items))
        )
        assert misfit(fitted) == pytest.approx(best, abs=1e-9)
    assert psy.minres_loadings(np.eye(3)) == pytest.approx(np.zeros(3), abs=1e-5)


def test_omega_total_leaves_out_what_does_not_vary() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(12, 1)) + 0.7 * rng.normal(size=(12, 4))
    plain = psy.omega_t(x)
    assert (plain.status, plain.n) == ("ok", 12)
    with_constant = np.column_stack([x[:, :2], np.ones(12), x[:, 2:]])
    assert fields_of(psy.omega_t(with_constant)) == fields_of(plain)
    holes = np.vstack([x, [np.nan, 1, 1, 1]])
    assert fields_of(psy.omega_t(holes)) == fields_of(plain)
    r = np.corrcoef(x.T)
    assert plain.value == pytest.approx(psy.minres_loadings(r).sum() ** 2 / r.sum())
    names = [f"f{m // 2}" for m in range(12)]
    related = psy.omega_t(x, families=names)
    assert (related.value, related.method.startswith("families")) == (plain.value, True)
    for respondents, items, status in (
        (4, 4, "not_applicable"),
        (5, 4, "ok"),
        (3, 3, "not_applicable"),
        (3, 4, "not_applicable"),
        (9, 2, "insufficient"),
        (2, 4, "insufficient"),
    ):
        small_table = psy.omega_t(x[:respondents, :items])
        assert small_table.status in (status, "degenerate" if status == "ok" else status)
        assert small_table.n == respondents
