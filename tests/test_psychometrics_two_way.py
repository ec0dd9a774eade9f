"""Intervals over respondents and items at once, pictures as clusters, and where an interval is
refused.
"""

import math
from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.reliability.consistency import relative_error
from hqm.psychometrics.variance.variance_components import (
    Design,
    agreement_interval,
    correlation_interval,
    crossed_components,
    has_floor_or_ceiling_effect,
    mean_variance,
    reliability_interval,
)
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


def leave_one_out_means(x: np.ndarray) -> np.ndarray:
    return (x.sum(axis=1, keepdims=True) - x) / (x.shape[1] - 1)


def test_the_variance_of_a_mean_is_that_of_many_studies() -> None:
    """Respondents and items drawn anew: .1^2/m + item^2/n + residual^2/(m n)."""
    rng = np.random.default_rng(0)
    m, n, item, residual = 12, 60, 0.5, 0.4
    variances = [
        mean_variance(x.mean(axis=1), leave_one_out_means(x))
        for x in (crossed(rng, m, n, item, residual) for _ in range(400))
    ]
    assert np.mean([v.total for v in variances]) == pytest.approx(
        0.01 / m + item**2 / n + residual**2 / (m * n), rel=0.05
    )
    assert np.mean([v.items for v in variances]) == pytest.approx(
        item**2 / n + residual**2 / (m * n), rel=0.05
    )
    assert all(v.total >= max(v.respondents, v.items) for v in variances)
    related = mean_variance([0.1, 0.4, 0.2], n_effective=2)
    assert related.total == pytest.approx(np.var([0.1, 0.4, 0.2], ddof=1) / 2)


def test_the_shift_of_others_holds_the_shift_of_these() -> None:
    """Wording effects that differ by item: Student's interval over respondents alone was the
    narrower one.
    """
    rng = np.random.default_rng(1)
    first = rng.random((20, 100))
    second = first + crossed(rng, 20, 100, 0.5, 0.05)
    shift = psy.mean_shift(
        first.mean(axis=1),
        second.mean(axis=1),
        replicates=(leave_one_out_means(first), leave_one_out_means(second)),
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
        scores, replicates = study.scores("mean"), study.leave_one_out("mean")
        noise = psy.rho_g(study.runs, study.pictures).noise
        for value in (
            psy.mean_shift(scores[0], scores[2], replicates=(replicates[0], replicates[2])),
            psy.form_reliability(
                scores[0], scores[2], noise, noise, replicates=(replicates[0], replicates[2])
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
        scores, replicates = study.scores("mean")[:2], study.leave_one_out("mean")[:2]
        r = psy.pearson(*scores).value
        left = psy.agreement_coefficients(*replicates)["pearson"]
        bounds = psy.agreement_interval(r, left, *replicates, scaled=True)
        rough = psy.reliability_jackknife_interval(r, left)
        logs.append(np.log1p(-r))
        errors.append(np.log((1 - bounds.low) / (1 - bounds.high)) / 2 / 1.976)
        plain.append(np.log((1 - rough.low) / (1 - rough.high)) / 2 / 1.96)
    assert np.mean(errors) / np.std(logs) == pytest.approx(1, abs=0.15)
    assert np.mean(plain) / np.std(logs) > 1.2
    assert psy.agreement_interval(1.0, np.ones(20), *replicates) is None


def test_alpha_over_pictures_is_alpha_of_their_sums() -> None:
    """Pictures of equal size are testlets: Cronbach's formula on their sums."""
    rng = np.random.default_rng(2)
    x = (rng.random((9, 48)) < 0.2 + 0.6 * rng.random((9, 1))).astype(float)
    pictures = np.repeat(np.arange(12), 4)
    sums = x.reshape(9, 12, 4).sum(axis=2)
    expected = 12 / 11 * (1 - sums.var(axis=0, ddof=1).sum() / sums.sum(axis=1).var(ddof=1))
    alpha = psy.cronbach_alpha(x, pictures)
    assert alpha.coefficient.value == pytest.approx(expected)
    assert alpha.item_alpha == pytest.approx(
        48 / 47 * (1 - x.var(axis=0, ddof=1).sum() / x.sum(axis=1).var(ddof=1))
    )
    assert alpha.n_clusters == 12
    # a question asked four times of one picture is one question
    repeated = psy.cronbach_alpha(np.repeat(x, 4, axis=1), np.repeat(np.arange(48), 4)).coefficient
    by_item = psy.cronbach_alpha(x).coefficient
    assert repeated.value == pytest.approx(by_item.value)
    assert (repeated.low, repeated.fixed.low) == pytest.approx((by_item.low, by_item.fixed.low))


def test_answers_that_are_missing_leave_only_themselves_out() -> None:
    """200 of 4,000 answers are lost; listwise a seventh of the items would be left."""
    rng = np.random.default_rng(3)
    x = (rng.random((20, 200)) < np.linspace(0.3, 0.9, 20)[:, None]).astype(float)
    complete_alpha = psy.cronbach_alpha(x).coefficient
    lost = rng.random(x.shape) < 0.05
    holes = np.where(lost, np.nan, x)
    complete = int((~lost).all(axis=0).sum())
    alpha = psy.cronbach_alpha(holes, drop="answers")
    assert complete < 90
    assert (alpha.coefficient.n_items, alpha.n) == (200, 20)
    assert alpha.coefficient.value == pytest.approx(complete_alpha.value, abs=0.01)
    listwise = psy.cronbach_alpha(holes, drop="items")
    assert (listwise.coefficient.n_items, listwise.k) == (complete, complete)
    assert 1 - listwise.coefficient.value > 1.7 * (1 - complete_alpha.value), (
        "fewer items are less reliable"
    )


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
        by_item = psy.omega_of_types(x, types.tolist())
        assert by_item.value == pytest.approx(psy.omega_t(by_type).value, abs=0.2)
    expected = 0.15**2 / (0.15**2 + 1 / 30 + 1 / 120)
    assert np.mean(plain) > expected + 0.3
    assert np.mean(corrected) == pytest.approx(expected, abs=0.12)


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
    flagged = [
        has_floor_or_ceiling_effect(rng.beta(mean * total, (1 - mean) * total, 20))
        for _ in range(200)
    ]
    assert np.mean(flagged) > 0.95 if near else np.mean(flagged) < 0.05
    assert not has_floor_or_ceiling_effect(100 * rng.random(20))
    assert not has_floor_or_ceiling_effect(np.full(5, 0.999))


def test_linear_bounds_are_cut_and_need_ten_clusters() -> None:
    left = np.full(20, 0.99) + 0.01 * (-1.0) ** np.arange(20)
    assert correlation_interval(0.99, left).high == 1.0
    assert correlation_interval(0.99, left[:9]) is None


def test_others_need_eight_respondents_and_five_families() -> None:
    assert psy.too_few_respondents(8) == psy.too_few_respondents(10, list("aabbccddee")) == ""
    assert psy.too_few_respondents(7)
    assert psy.too_few_respondents(9, list("aabbccddd"))
    scores = np.linspace(0.2, 0.9, 20) ** 2

    def lower_bound(families: list[str]) -> float:
        def reliability(rows: np.ndarray) -> tuple[float, float]:
            spread = float(scores[rows].var(ddof=1))
            return 1 - 0.001 / spread, spread

        value, _ = reliability(np.arange(20))
        coefficient = psy.Coefficient(value, n=20)
        return psy.add_lower_bound(
            coefficient, reliability, scores, psy.Relatives(tuple(families))
        ).low

    # neighbours as relatives: fewer independent respondents say less of others
    assert lower_bound([f"f{i // 4}" for i in range(20)]) < lower_bound([])
    assert math.isnan(lower_bound([f"f{i // 5}" for i in range(20)]))


def test_never_narrower_keeps_what_has_no_second_interval() -> None:
    value = psy.Coefficient(0.5, 0.4, 0.6)
    assert psy.cover_fixed_interval(value) == value


def test_the_variance_of_a_mean_by_loops() -> None:
    for counted in [None, 3.5, 1.0, 40.0]:
        rng = np.random.default_rng(8)
        x = rng.normal(0.5, 0.1, 5)
        left = x[:, None] + 0.01 * rng.normal(size=(5, 12)) + 0.05 * rng.normal(size=12)
        size = min(counted or 5, 5)
        sampling_variance = sum((v - x.mean()) ** 2 for v in x) / 4 / size
        moved = [[v - row.mean() for v in row] for row in left]
        common = [sum(moved[m][c] for m in range(5)) / 5 for c in range(12)]
        items = 11 / 12 * sum(v**2 for v in common)
        interaction = (
            11 / 12 * sum((moved[m][c] - common[c]) ** 2 for m in range(5) for c in range(12)) / 20
        )
        result = mean_variance(x, left, n_effective=counted)
        total = sampling_variance + items - interaction
        assert total > max(sampling_variance, items), "none of the three is cut"
        assert (result.respondents, result.items, result.total) == pytest.approx(
            (sampling_variance, items, total)
        )
        assert result.df_items == 11
        freedom = total**2 / (sampling_variance**2 / max(size - 1, 1e-9) + items**2 / 11)
        assert result.df_total == pytest.approx(freedom)
        for unusable in (None, left[:, :9], np.where(np.arange(12) == 3, np.nan, left)):
            single = mean_variance(x, unusable, n_effective=counted)
            assert (single.respondents, single.total) == pytest.approx(
                (sampling_variance, sampling_variance)
            )
            assert single.df_total == size - 1
            assert np.isnan([single.items, single.df_items]).all()


def test_a_mean_is_known_no_better_than_by_either_way_alone() -> None:
    rng = np.random.default_rng(9)
    deviations = rng.normal(size=(4, 12))
    noise = np.array([0.1, 0.1, 0.1, 0.1])[:, None] + deviations - deviations.mean(axis=0)
    for values, left in (([0.1] * 4, noise), ([0.1, 0.2, 0.3, 0.4], noise)):
        result = mean_variance(values, left)
        assert result.total == pytest.approx(max(result.respondents, result.items))
    constant = mean_variance([0.5] * 4, np.full((4, 12), 0.5))
    assert (constant.respondents, constant.items, constant.total) == (0, 0, 0)
    assert (constant.df_items, constant.df_total) == (11, 3)


def test_intervals_over_items_are_students_by_the_jackknife() -> None:
    for level in [0.8, 0.95]:
        left = np.log(0.2) + 0.05 * np.random.default_rng(10).normal(size=11)
        half = stats.t.ppf(0.5 + level / 2, 10) * math.sqrt(
            10 / 11 * ((left - left.mean()) ** 2).sum()
        )
        bounds = reliability_interval(0.2, left, level)
        assert bounds is not None
        assert (bounds.low, bounds.high) == pytest.approx(
            (1 - 0.2 * math.exp(half), 1 - 0.2 * math.exp(-half))
        )
        assert bounds.level == level
        for ratio, values in ((0.0, left), (math.nan, left), (0.2, left[:9])):
            assert reliability_interval(ratio, values, level) is None
        assert reliability_interval(0.2, np.append(left, -math.inf), level) is None
        assert reliability_interval(0.2, left[:10], level) is not None
        plain = correlation_interval(0.3, left, level)
        assert plain is not None
        assert (plain.low, plain.high, plain.level) == pytest.approx(
            (0.3 - half, 0.3 + half, level)
        )
        for value, low, high in ((0.95, 0.95 - half, 1.0), (-0.95, -1.0, -0.95 + half)):
            cut = correlation_interval(value, left, level)
            assert cut is not None
            assert (cut.low, cut.high) == pytest.approx((low, high))
        assert correlation_interval(0.3, left[:10]) is not None
        assert correlation_interval(0.3, np.append(left, np.nan)) is None
        if level == 0.95:
            assert correlation_interval(0.3, left) == plain


def test_an_agreement_that_is_undefined_somewhere_has_no_interval() -> None:
    rng = np.random.default_rng(11)
    left = 0.7 + 0.01 * rng.normal(size=12)
    x, y = rng.normal(0.5, 0.3, (2, 4, 1)) + 0.001 * rng.normal(size=(2, 4, 12))
    assert agreement_interval(0.7, left, x, y) is not None
    for value, values in (
        (1.0, left),
        (0.7, np.where(np.arange(12) == 3, 1.0, left)),
        (0.7, np.where(np.arange(12) == 3, np.nan, left)),
        (0.7, left[:9]),
    ):
        assert agreement_interval(value, values, x, y) is None
    still = np.full_like(x, 0.5)
    # in one unit the other administration still has a spread
    assert agreement_interval(0.7, left, x, still) is not None
    for first, second in ((x, still), (still, x), (still, still)):
        assert agreement_interval(0.7, left, first, second, scaled=True) is None
    assert agreement_interval(0.7, left, still, still) is None
    assert agreement_interval(0.7, -np.exp(9.0 * np.arange(12)), x, y) is None, "it reaches too far"


def test_more_of_the_jackknife_stays_where_scores_crowd_at_a_bound() -> None:
    """All the noise is found twice, so that the least that stays decides: half, or .8."""
    for level in [0.8, 0.95]:
        for tight_name in ["neither", "first", "other"]:
            rng = np.random.default_rng(12)
            calm, tight = np.array([0.4, 0.5, 0.6, 0.7]), np.array([0.99, 0.985, 0.97, 0.94])
            x, y = (
                (tight if tight_name == name else calm)[:, None] + 0.01 * rng.normal(size=(4, 12))
                for name in ("first", "other")
            )
            left = 0.7 + 0.001 * rng.normal(size=12)
            full_variance = 11 / 12 * ((np.log(1 - left) - np.log(1 - left).mean()) ** 2).sum()
            for scaled in (False, True):
                min_share = 0.5 if tight_name == "neither" or scaled else 0.8
                freedom = max(11 * min_share**2, 2)
                half = stats.t.ppf(0.5 + level / 2, freedom) * math.sqrt(full_variance * min_share)
                bounds = agreement_interval(0.7, left, x, y, scaled=scaled, level=level)
                assert bounds is not None
                assert (bounds.low, bounds.high) == pytest.approx(
                    (1 - 0.3 * math.exp(half), 1 - 0.3 * math.exp(-half))
                )
                assert bounds.level == level


def test_effects_stand_in_order_and_levels_are_those_that_were_seen() -> None:
    x = np.random.default_rng(13).normal(size=(3, 4, 2))
    x[0, 1] = np.nan
    x[2, 3, 1] = np.nan
    pictures = {"i": ("c", ["b", "a", "b", "a"])}
    moments = crossed_components(x, ["m", "i", "k"], nested=pictures)
    levels = dict(zip(moments.effects, moments.levels, strict=True))
    assert list(levels.items()) == [
        (("m",), 3), (("i",), 4), (("c",), 2), (("k",), 2),
        (("m", "i"), 11), (("m", "c"), 6), (("m", "k"), 6), (("i", "k"), 8), (("c", "k"), 4),
        (("m", "c", "k"), 12), (("m", "i", "k"), 21),
    ]  # fmt: skip
    assert (moments.observations, moments.singular) == (21, False)
    assert moments.mean == pytest.approx(np.nanmean(x))
    # every item in a picture of its own is no nesting, and the order of labels is none
    singletons = crossed_components(x, ["m", "i", "k"], nested={"i": ("c", list("dbac"))})
    plain = crossed_components(x, ["m", "i", "k"])
    assert singletons.effects == plain.effects
    assert singletons.values == pytest.approx(plain.values)
    order = [1, 3, 0, 2]
    turned = crossed_components(x[:, order], ["m", "i", "k"], nested={"i": ("c", list("aabb"))})
    assert turned.values == pytest.approx(moments.values)
    selected = crossed_components(x, ["m", "i", "k"], nested=pictures, effects=[["c"], ["k", "m"]])
    assert selected.effects == (("c",), ("m", "k"), ("m", "i", "k"))
    empty = crossed_components(np.full((2, 2), np.nan), ["m", "i"])
    assert (empty.observations, empty.singular) == (0, True)
    assert math.isnan(empty.mean)
    for wrong in (["m", "i"], ["m", "i", "m"]):
        with pytest.raises(ValueError, match="a name each"):
            crossed_components(x, wrong)
    with pytest.raises(ValueError, match="one label"):
        crossed_components(x, ["m", "i", "k"], nested={"i": ("c", list("ab"))})


@pytest.mark.parametrize("nested", [False, True])
def test_the_equations_of_moments_by_loops(nested: bool) -> None:
    """T_s and its coefficients summed cell by cell, with cells missing; respondents in families or
    items in pictures.
    """
    rng = np.random.default_rng(14)
    x = rng.normal(size=(5, 6))
    x[rng.random(x.shape) < 0.2] = np.nan
    groups = {"m": np.array([0, 0, 1, 1, 2]), "i": np.array([0, 1, 1, 2, 2, 2])}
    cells = [(m, i) for m, i in product(range(5), range(6)) if np.isfinite(x[m, i])]
    names = {"m": ("f", groups["m"]), "i": ("c", groups["i"])} if nested else {}
    moments = crossed_components(x, ["m", "i"], nested=names)

    def level(effect: tuple[str, ...], m: int, i: int) -> tuple[int, ...]:
        levels = {"m": m, "i": i, "f": groups["m"][m], "c": groups["i"][i]}
        return tuple(int(levels[name]) for name in effect)

    count, mean = len(cells), np.nanmean(x)

    def row(effect: tuple[str, ...]) -> list[float]:
        totals, sizes = defaultdict(float), Counter()
        for cell in cells:
            totals[level(effect, *cell)] += x[cell] - mean
            sizes[level(effect, *cell)] += 1
        equation = []
        for other_effect in moments.effects:
            joint = Counter((level(effect, *cell), level(other_effect, *cell)) for cell in cells)
            equation.append(sum(n**2 / sizes[s] for (s, _), n in joint.items()))
        return [*equation, sum(totals[s] ** 2 / sizes[s] for s in sizes)]

    grand = row(())
    equations = np.array([np.subtract(row(effect), grand) for effect in moments.effects])
    assert moments.values == pytest.approx(np.linalg.solve(equations[:, :-1], equations[:, -1]))
    assert (moments.observations, moments.mean) == (count, pytest.approx(mean))


def test_a_design_that_falls_apart_without_a_block_has_no_components_there() -> None:
    pair = np.array([[1.0, 2, 4], [2, 2, 3]])
    assert np.isnan(Design(pair, ["m", "i"], {}, None).jackknife_components("m")).all()
    assert np.isnan(Design(pair[:1], ["m", "i"], {}, None).jackknife_components("m")).all()
    diagonal = np.where(np.eye(4, dtype=bool), 1.0, np.nan)
    assert np.isnan(Design(diagonal, ["m", "i"], {}, None).jackknife_components("i")).all()
    three = np.array([[1.0, 2, 4], [2, 2, 3], [0, 5, 1]])
    replicates = Design(three, ["m", "i"], {}, None).jackknife_components("m")
    for index in range(3):
        refit = crossed_components(np.delete(three, index, axis=0), ["m", "i"])
        assert replicates[index] == pytest.approx(refit.values)


def test_each_block_of_each_facet_is_left_out_of_a_design_that_is_nested_twice() -> None:
    rng = np.random.default_rng(15)
    x = rng.normal(size=(6, 7, 2)) + rng.normal(size=(6, 1, 1))
    x[rng.random(x.shape) < 0.1] = np.nan
    labels = {
        "m": np.array(list("bbaacc")),
        "i": np.array([2, 0, 1, 0, 2, 1, 1]),
        "k": np.arange(2),
    }
    nested = {"m": ("f", labels["m"]), "i": ("c", labels["i"])}
    for effects in (None, [["f"], ["m"], ["c"], ["i"], ["m", "c"]]):
        for axis, facet in enumerate("mi"):
            left = Design(x, list("mik"), nested, effects).jackknife_components(facet)
            blocks = np.unique(labels[facet])
            assert len(left) == len(blocks)
            for block, values in zip(blocks, left, strict=True):
                retained = labels[facet] != block
                nested_levels = nested | {facet: (nested[facet][0], labels[facet][retained])}
                refit = crossed_components(
                    np.compress(retained, x, axis=axis),
                    list("mik"),
                    nested=nested_levels,
                    effects=effects,
                )
                assert values == pytest.approx(refit.values, abs=1e-9)
