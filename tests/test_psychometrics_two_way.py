"""Intervals over respondents and items at once, pictures as clusters, and where an interval is
refused.
"""

import math

import numpy as np
import pytest

from hqm import psychometrics as psy
from hqm.psychometrics.consistency import relative_error
from hqm.psychometrics.variance_components import crowds_at_a_bound, linear_bounds, mean_variance
from tests.conftest import counts
from tests.messages import text_of
from tests.perf.coverage_worlds import World, draw_respondents, draw_study


def crossed(
    rng: np.random.Generator, m: int, n: int, item: float, residual: float = 0.3
) -> np.ndarray:
    """(respondents, items) differences of two forms: respondent, item and residual effects."""
    return (
        0.1 * rng.normal(size=(m, 1))
        + item * rng.normal(size=n)
        + residual * rng.normal(size=(m, n))
    )


def left_out(x: np.ndarray) -> np.ndarray:
    return (x.sum(axis=1, keepdims=True) - x) / (x.shape[1] - 1)


def test_the_variance_of_a_mean_is_that_of_many_studies() -> None:
    """Respondents and items drawn anew: .1^2/m + item^2/n + residual^2/(m n)."""
    rng = np.random.default_rng(0)
    m, n, item, residual = 12, 60, 0.5, 0.4
    both = [
        mean_variance(x.mean(axis=1), left_out(x))
        for x in (crossed(rng, m, n, item, residual) for _ in range(400))
    ]
    assert np.mean([v.both for v in both]) == pytest.approx(
        0.01 / m + item**2 / n + residual**2 / (m * n), rel=0.05
    )
    assert np.mean([v.items for v in both]) == pytest.approx(
        item**2 / n + residual**2 / (m * n), rel=0.05
    )
    assert all(v.both >= max(v.respondents, v.items) for v in both)
    related = mean_variance([0.1, 0.4, 0.2], n_effective=2)
    assert related.both == pytest.approx(np.var([0.1, 0.4, 0.2], ddof=1) / 2)


def test_the_shift_of_others_holds_the_shift_of_these() -> None:
    """Wording effects that differ by item: Student's interval over respondents alone was the
    narrower one.
    """
    rng = np.random.default_rng(1)
    first = rng.random((20, 100))
    second = first + crossed(rng, 20, 100, 0.5, 0.05)
    shift = psy.mean_shift(
        first.mean(axis=1), second.mean(axis=1), without=(left_out(first), left_out(second))
    )
    assert shift.low <= shift.fixed.low < shift.value < shift.fixed.high <= shift.high
    student = psy.mean_shift(first.mean(axis=1), second.mean(axis=1))
    assert student.low > shift.fixed.low, (
        "without the items the interval for others is narrower than that for these"
    )
    assert student.fixed is None


@pytest.mark.parametrize("m", [3, 8, 20])
def test_no_interval_for_others_is_narrower_than_that_for_these(m: int) -> None:
    for seed in range(counts(60)):
        rng = np.random.default_rng(seed)
        world = World(
            respondents=m, items=80, per_picture=4, picture=float(seed % 3) / 2, form_item=1.0
        )
        study = draw_study(world, draw_respondents(world, rng), rng)
        scores, without = study.scores("mean"), study.without("mean")
        noise = psy.rho_g(study.runs, study.pictures).noise
        for value in (
            psy.mean_shift(scores[0], scores[2], without=(without[0], without[2])),
            psy.form_reliability(
                scores[0], scores[2], noise, noise, without=(without[0], without[2])
            ).true,
            psy.cronbach_alpha(study.runs[0], study.pictures).coefficient,
            psy.omega_of_types(study.runs[0], [str(t) for t in study.types], study.pictures),
            psy.criterion_validity(study.automatic, study.labels, study.pictures).disattenuated,
        ):
            if value.fixed is not None and math.isfinite(value.low):
                assert value.low <= value.fixed.low
                assert value.high >= value.fixed.high


def test_the_error_of_an_agreement_that_is_all_noise() -> None:
    """Reruns of the same respondents: the plain jackknife promises an error that is far too
    large.
    """
    rng = np.random.default_rng(7)
    world = World(respondents=15, items=150)
    respondents = draw_respondents(world, rng)
    logs, errors, plain = [], [], []
    for _ in range(250):
        study = draw_study(world, respondents, rng)
        scores, without = study.scores("mean")[:2], study.without("mean")[:2]
        r = psy.pearson(*scores).value
        left = psy.agreement_left_out(*without)["pearson"]
        bounds = psy.agreement_bounds(r, left, *without, scaled=True)
        rough = psy.left_out_bounds(r, left)
        logs.append(np.log1p(-r))
        errors.append(np.log((1 - bounds.low) / (1 - bounds.high)) / 2 / 1.976)
        plain.append(np.log((1 - rough.low) / (1 - rough.high)) / 2 / 1.96)
    assert np.mean(errors) / np.std(logs) == pytest.approx(1, abs=0.15)
    assert np.mean(plain) / np.std(logs) > 1.2
    assert psy.agreement_bounds(1.0, np.ones(20), *without) is None


def test_alpha_over_pictures_is_alpha_of_their_sums() -> None:
    """Pictures of equal size are testlets: Cronbach's formula on their sums."""
    rng = np.random.default_rng(2)
    x = (rng.random((9, 48)) < 0.2 + 0.6 * rng.random((9, 1))).astype(float)
    pictures = np.repeat(np.arange(12), 4)
    sums = x.reshape(9, 12, 4).sum(axis=2)
    known = 12 / 11 * (1 - sums.var(axis=0, ddof=1).sum() / sums.sum(axis=1).var(ddof=1))
    alpha = psy.cronbach_alpha(x, pictures)
    assert alpha.coefficient.value == pytest.approx(known)
    assert alpha.of_items == pytest.approx(
        48 / 47 * (1 - x.var(axis=0, ddof=1).sum() / x.sum(axis=1).var(ddof=1))
    )
    assert alpha.parts == 12
    # a question asked four times of one picture is one question
    again = psy.cronbach_alpha(np.repeat(x, 4, axis=1), np.repeat(np.arange(48), 4)).coefficient
    alone = psy.cronbach_alpha(x).coefficient
    assert again.value == pytest.approx(alone.value)
    assert (again.low, again.fixed.low) == pytest.approx((alone.low, alone.fixed.low))


def test_answers_that_are_missing_leave_only_themselves_out() -> None:
    """200 of 4,000 answers are lost; listwise a seventh of the items would be left."""
    rng = np.random.default_rng(3)
    x = (rng.random((20, 200)) < np.linspace(0.3, 0.9, 20)[:, None]).astype(float)
    whole = psy.cronbach_alpha(x).coefficient
    lost = rng.random(x.shape) < 0.05
    holes = np.where(lost, np.nan, x)
    complete = int((~lost).all(axis=0).sum())
    alpha = psy.cronbach_alpha(holes, drop="answers")
    assert complete < 90
    assert (alpha.coefficient.n_items, alpha.n) == (200, 20)
    assert alpha.coefficient.value == pytest.approx(whole.value, abs=0.01)
    listwise = psy.cronbach_alpha(holes, drop="items")
    assert (listwise.coefficient.n_items, listwise.k) == (complete, complete)
    assert 1 - listwise.coefficient.value > 1.7 * (1 - whole.value), "fewer items are less reliable"


def test_relative_error_takes_respondents_and_items_out() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(6, 1)) + rng.normal(size=12)
    assert relative_error(x, np.arange(12)).value == pytest.approx(1)


def test_types_that_share_pictures_do_not_share_a_factor() -> None:
    """Nothing but the luck of pictures: the plain omega takes it for a common factor."""
    rng = np.random.default_rng(5)
    plain, corrected = [], []
    for _ in range(counts(80)):
        x = (
            np.repeat(rng.normal(size=(40, 30)), 4, axis=1)
            + rng.normal(size=(40, 120))
            + 0.15 * rng.normal(size=(40, 1))
        )
        types, pictures = np.tile(list("abcd"), 30), np.repeat(np.arange(30), 4)
        by_type = np.stack([x[:, types == t].mean(axis=1) for t in "abcd"], axis=1)
        plain.append(psy.omega_t(by_type).value)
        value = psy.omega_of_types(x, types.tolist(), pictures)
        corrected.append(value.value if value.status == "ok" else 0.0)
        alone = psy.omega_of_types(x, types.tolist())
        assert alone.value == pytest.approx(psy.omega_t(by_type).value, abs=0.2)
    known = 0.15**2 / (0.15**2 + 1 / 30 + 1 / 120)
    assert np.mean(plain) > known + 0.3
    assert np.mean(corrected) == pytest.approx(known, abs=0.12)


def test_relatives_of_few_families_carry_no_interval() -> None:
    assert psy.too_few_families(list("aabbcc")).endswith("needs 5")
    assert psy.too_few_families(["a"] * 7) == text_of("families.one-of", respondents=7)
    assert psy.too_few_families(list("aabbccddee")) == psy.too_few_families(list("abc")) == ""


@pytest.mark.parametrize(
    ("mean", "sd", "near"),
    [(0.98, 0.018, True), (0.02, 0.018, True), (0.85, 0.03, False), (0.6, 0.13, False)],
)
def test_scores_that_crowd_at_a_bound(mean: float, sd: float, near: bool) -> None:
    rng = np.random.default_rng(6)
    total = mean * (1 - mean) / sd**2 - 1
    drawn = [crowds_at_a_bound(rng.beta(mean * total, (1 - mean) * total, 20)) for _ in range(200)]
    assert np.mean(drawn) > 0.95 if near else np.mean(drawn) < 0.05
    assert not crowds_at_a_bound(100 * rng.random(20))
    assert not crowds_at_a_bound(np.full(5, 0.999))


def test_linear_bounds_are_cut_and_need_ten_clusters() -> None:
    left = np.full(20, 0.99) + 0.01 * (-1.0) ** np.arange(20)
    assert linear_bounds(0.99, left).high == 1.0
    assert linear_bounds(0.99, left[:9]) is None


def test_others_need_eight_respondents_and_five_families() -> None:
    assert psy.too_few_respondents(8) == psy.too_few_respondents(10, list("aabbccddee")) == ""
    assert psy.too_few_respondents(7)
    assert psy.too_few_respondents(9, list("aabbccddd"))
    scores = np.linspace(0.2, 0.9, 20) ** 2

    def least(families: list[str]) -> float:
        def reliability(rows: np.ndarray) -> tuple[float, float]:
            spread = float(scores[rows].var(ddof=1))
            return 1 - 0.001 / spread, spread

        value, _ = reliability(np.arange(20))
        bare = psy.Coefficient(value, n=20)
        return psy.at_least(bare, reliability, scores, psy.Relatives(tuple(families))).low

    # neighbours as relatives: fewer independent respondents say less of others
    assert least([f"f{i // 4}" for i in range(20)]) < least([])
    assert math.isnan(least([f"f{i // 5}" for i in range(20)]))


def test_never_narrower_keeps_what_has_no_second_interval() -> None:
    value = psy.Coefficient(0.5, 0.4, 0.6)
    assert psy.never_narrower(value) == value
