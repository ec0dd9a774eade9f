"""Variance components and decision studies against Brennan's tables, mixed models and planted
components.
"""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.variance.generalizability import (
    Component,
    DStudy,
    GStudy,
    difference_interval,
)
from tests.test_psychometrics_consistency import BRENNAN_1

# Brennan 2001, Generalizability Theory, Table 3.1 (synthetic data set 3): ten persons, two
# occasions of four items
BRENNAN_3 = np.array(
    [
        [
            [2, 4, 5, 5, 4, 4, 2, 3, 0, 6],
            [6, 5, 5, 9, 3, 4, 6, 4, 5, 8],
            [7, 6, 4, 8, 5, 4, 6, 4, 4, 7],
            [5, 7, 6, 6, 6, 7, 5, 5, 5, 6],
        ],
        [
            [2, 6, 5, 5, 4, 6, 2, 6, 5, 6],
            [5, 7, 4, 7, 5, 4, 7, 6, 5, 8],
            [5, 5, 5, 7, 6, 7, 7, 6, 5, 8],
            [5, 7, 5, 6, 4, 8, 5, 4, 3, 6],
        ],
    ],
    dtype=float,
).transpose(2, 1, 0)


def test_brennans_first_data_set() -> None:
    """Brennan 2001, chapter 2: p .0574, i .0754, pi .1269; E rho^2 and Phi for 5, 12 and 20
    items.
    """
    study = psy.g_study(BRENNAN_1, ["p", "i"])
    values = [study.component(*effect).value for effect in ("p", "i", "pi")]
    assert values == pytest.approx([0.0574, 0.0754, 0.1269], abs=5e-5)
    for n, g, phi in ((12, 0.844, 0.773), (5, 0.693, 0.586), (20, 0.901, 0.850)):
        decision = psy.d_study(study, {"i": n})
        assert (decision.g, decision.phi) == pytest.approx((g, phi), abs=7e-4)
    # E rho^2 over the items there are is Cronbach's alpha
    assert psy.d_study(study).g == pytest.approx(
        psy.cronbach_alpha(BRENNAN_1).coefficient.value, abs=1e-12
    )
    decision = psy.d_study(study)
    assert (decision.relative, decision.absolute) == pytest.approx(
        (0.12685 / 12, (0.12685 + 0.07542) / 12), abs=1e-5
    )


def test_brennans_third_data_set() -> None:
    """Brennan 2001, chapters 3 and 4: seven components; R's lme4 agrees to 1e-4."""
    study = psy.g_study(BRENNAN_3, ["p", "i", "o"])
    effects = ["p", "i", "o", "pi", "po", "io", "pio"]
    values = [study.component(*effect).value for effect in effects]
    assert values == pytest.approx(
        [0.5528, 0.4417, 0.0074, 0.5750, 0.1009, 0.1565, 0.9352], abs=5e-5
    )
    squares = [study.component(*effect).mean_square for effect in effects]
    assert squares == pytest.approx(
        [6.9111, 12.4833, 3.2000, 2.0852, 1.3389, 2.5000, 0.9352], abs=5e-5
    )
    decision = psy.d_study(study)
    assert (decision.g, decision.phi) == pytest.approx((0.639871, 0.554125), abs=5e-7)


def test_components_against_a_mixed_model() -> None:
    """Restricted likelihood gives the same estimates in a balanced design without negative
    components.
    """
    import pandas as pd
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 1)) + 0.8 * rng.normal(size=(1, 15)) + 0.6 * rng.normal(size=(12, 15))
    study = psy.g_study(x, ["p", "i"])
    long_table = pd.DataFrame(
        [(p, i, x[p, i], 1) for p, i in product(range(12), range(15))],
        columns=["p", "i", "y", "one"],
    )
    parts = {"p": "0 + C(p)", "i": "0 + C(i)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = smf.mixedlm("y ~ 1", long_table, groups="one", vc_formula=parts, re_formula="0").fit(
            reml=True
        )
    rival = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    assert study.component("p").value == pytest.approx(rival["p"], rel=2e-3)
    assert study.component("i").value == pytest.approx(rival["i"], rel=2e-3)
    assert study.component("p", "i").value == pytest.approx(fit.scale, rel=2e-3)


def test_three_facets_against_loops_over_effects() -> None:
    """Effects built cell by cell as signed sums of marginal means, squared and summed."""
    x = np.random.default_rng(1).normal(size=(4, 3, 5, 2))
    study = psy.g_study(x, list("abcd"))
    assert len(study.components) == 15
    for component in study.components:
        axes = ["abcd".index(f) for f in component.effect]
        effect = np.zeros(x.shape)
        for keep in product([0, 1], repeat=len(axes)):
            retained_axes = [a for a, k in zip(axes, keep, strict=True) if k]
            mean = x.mean(axis=tuple(a for a in range(4) if a not in retained_axes), keepdims=True)
            effect = effect + (-1) ** (len(axes) - len(retained_axes)) * mean
        df = math.prod(x.shape[a] - 1 for a in axes)
        assert component.mean_square == pytest.approx(float((effect**2).sum()) / df)
        assert component.df == df


def test_planted_components_are_recovered() -> None:
    rng = np.random.default_rng(2)
    truth = {"m": 0.3, "i": 0.5, "k": 0.1, "mi": 0.4, "mk": 0.05, "ik": 0.1, "mik": 1.0}
    sums = dict.fromkeys(truth, 0.0)
    covered = 0
    for _ in range(60):
        x = np.zeros((20, 40, 4))
        for effect, variance in truth.items():
            shape = [n if f in effect else 1 for f, n in zip("mik", x.shape, strict=True)]
            x = x + math.sqrt(variance) * rng.normal(size=shape)
        study = psy.g_study(x, list("mik"))
        for effect in truth:
            sums[effect] += study.component(*effect).raw / 60
        respondent_component = study.component("m")
        covered += respondent_component.low <= truth["m"] <= respondent_component.high
    for effect, variance in truth.items():
        assert sums[effect] == pytest.approx(variance, abs=0.05), effect
    assert covered / 60 >= 0.85


def test_negative_components_are_kept_raw_and_used_as_zero() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5, 400))
    x -= x.mean(axis=1, keepdims=True)  # no respondent differs: less than chance would give
    study = psy.g_study(x, ["m", "i"])
    respondent_component = study.component("m")
    assert (respondent_component.value, respondent_component.flags, study.flags) == (
        0.0,
        ("NEGATIVE_COMPONENT",),
        ("NEGATIVE_COMPONENT",),
    )
    assert respondent_component.raw < 0
    assert (respondent_component.low, respondent_component.high) == (0.0, 0.0)
    assert psy.d_study(study).g == 0.0


def test_more_of_a_facet_is_never_worse_and_infinitely_many_leave_the_universe() -> None:
    study = psy.g_study(BRENNAN_3, ["p", "i", "o"])
    previous = 0.0
    for n in (1, 2, 5, 20, 100):
        decision = psy.d_study(study, {"i": n, "o": n})
        assert previous < decision.phi <= decision.g
        previous = decision.phi
    assert psy.d_study(study, {"i": 10**9, "o": 10**9}).phi == pytest.approx(1)


def test_the_cheapest_design_against_a_search_by_hand() -> None:
    study = psy.g_study(BRENNAN_3, ["p", "i", "o"])
    grid = {"i": range(1, 40), "o": range(1, 12)}

    def cost(design: dict[str, int]) -> float:
        return design["i"] * design["o"] + 3.0 * design["o"]

    for plan in psy.cheapest_designs(study, grid, cost, targets=(0.7, 0.8, 0.9)):
        best = min(
            (
                cost({"i": i, "o": o})
                for i in grid["i"]
                for o in grid["o"]
                if psy.d_study(study, {"i": i, "o": o}).phi >= plan.target
            ),
            default=math.nan,
        )
        assert plan.cost == pytest.approx(best, nan_ok=True)
        if plan.design is not None:
            assert plan.design.phi >= plan.target
        else:
            assert plan.status == "insufficient"
            assert "best has" in plan.reason


@given(st.integers(0, 10_000), st.floats(0.2, 4), st.floats(-3, 3))
@settings(max_examples=30, deadline=None)
def test_order_shift_and_scale(seed: int, scale: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (5, 6, 3)).astype(float)
    original = psy.g_study(x, ["m", "i", "k"])
    assume(original.status == "ok")
    moved = scale * x[rng.permutation(5)][:, rng.permutation(6)][:, :, rng.permutation(3)] + shift
    transformed = psy.g_study(moved.transpose(1, 2, 0), ["i", "k", "m"])
    for component in original.components:
        assert transformed.component(*component.effect).raw == pytest.approx(
            scale**2 * component.raw, abs=1e-9
        )
    assert sum(c.share for c in original.components) == pytest.approx(1)


def test_missing_cells() -> None:
    x = BRENNAN_3.copy()
    x[0, 1, 0] = np.nan
    study, complete_study = (psy.g_study(y, ["p", "i", "o"]) for y in (x, BRENNAN_3))
    assert (study.status, study.sizes, study.observations) == ("ok", (10, 4, 2), 79)
    # one cell of 80 moves no component by more than a tenth of the largest one
    assert [c.raw for c in study.components] == pytest.approx(
        [c.raw for c in complete_study.components], abs=0.1
    )
    x[:, 2] = np.nan
    reduced_study = psy.g_study(np.delete(x, 2, axis=1), ["p", "i", "o"])
    assert psy.g_study(x, ["p", "i", "o"]) == reduced_study
    # every respondent answered items of its own: respondent, item and interaction are one
    disconnected = np.where(np.eye(6, dtype=bool), np.arange(6.0), np.nan)
    lost = psy.g_study(disconnected, ["m", "i"])
    assert (lost.status, "do not tell" in lost.reason) == ("not_applicable", True)


def test_degenerate_inputs_say_why_and_raise_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, status in (
            (np.empty((0, 3)), "insufficient"),
            (np.full((3, 3), np.nan), "insufficient"),
            (np.ones((1, 5)), "insufficient"),
            (np.ones((4, 1)), "not_applicable"),
            (np.ones((4, 5)), "degenerate"),
            (np.full((4, 5), 0.1), "degenerate"),
        ):
            study = psy.g_study(x, ["m", "i"])
            assert study.status == status
            assert study.reason
            assert study.components == ()
            decision = psy.d_study(study)
            assert (decision.status, decision.reason) == (status, study.reason)
            assert math.isnan(decision.g)
            plans = psy.cheapest_designs(study, {"i": [1, 2]}, lambda d: d["i"])
            assert {p.status for p in plans} == {status}
        items_only = psy.g_study(np.tile(np.arange(4.0), (5, 1)), ["m", "i"])
        assert psy.d_study(items_only).status == "degenerate"
        perfect = psy.g_study(np.tile(np.arange(5.0)[:, None], (1, 4)), ["m", "i"])
        assert (psy.d_study(perfect).g, psy.d_study(perfect).phi) == (1.0, 1.0)


def test_wrong_arguments_are_refused() -> None:
    study = psy.g_study(BRENNAN_1, ["p", "i"])
    with pytest.raises(ValueError, match="name each"):
        psy.g_study(BRENNAN_1, ["p"])
    with pytest.raises(ValueError, match="no effect"):
        psy.g_study(BRENNAN_1, ["p", "i"], effects=[["x"]])
    with pytest.raises(ValueError, match="one label"):
        psy.g_study(BRENNAN_1, ["p", "i"], nested={"i": ("h", [1, 2])})
    with pytest.raises(ValueError, match="no effect"):
        study.component("x")
    with pytest.raises(ValueError, match="no facet"):
        psy.d_study(study, {"p": 3})
    with pytest.raises(ValueError, match="1 level"):
        psy.d_study(study, {"i": 0})


def ends_of_ting(parts: list[float], df: list[int], level: float) -> tuple[float, float]:
    """Ting and others (1990), term by term: squares of single mean squares, and of each pair of one
    that is added and one that is subtracted.
    """
    tail = (1 - level) / 2

    def reach(sign: float, first: float, second: float) -> float:
        moving = [(abs(c), n) for c, n in zip(parts, df, strict=True) if sign * c > 0]
        holding = [(abs(c), n) for c, n in zip(parts, df, strict=True) if sign * c < 0]
        square = 0.0
        for c, n in moving:
            square += (1 - n / stats.chi2.ppf(first, n)) ** 2 * c**2
        for c, n in holding:
            square += (n / stats.chi2.ppf(second, n) - 1) ** 2 * c**2
        for c, n in moving:
            for d, k in holding:
                f = stats.f.ppf(first, n, k)
                g, h = 1 - n / stats.chi2.ppf(first, n), k / stats.chi2.ppf(second, k) - 1
                square += ((f - 1) ** 2 - (g * f) ** 2 - h**2) / f * c * d
        return math.sqrt(max(0.0, square))

    value = sum(parts)
    low, high = reach(1, 1 - tail, tail), reach(1, tail, 1 - tail)
    return max(0.0, value - low), max(0.0, value + high)


def test_a_difference_of_mean_squares_has_tings_ends() -> None:
    for level in [0.8, 0.95]:
        for parts, df in [
            ([0.6, -0.1], [9, 81]),
            ([0.6], [9]),
            ([0.6, 0.2, -0.1, -0.3], [9, 4, 81, 12]),
            ([0.1, -0.6], [9, 81]),
            ([0.6, 0.0, -0.1], [9, 1, 81]),
            ([2.0, -0.01], [2, 3]),
        ]:
            nonzero = [(c, n) for c, n in zip(parts, df, strict=True) if c]
            expected = ends_of_ting([c for c, _ in nonzero], [n for _, n in nonzero], level)
            assert difference_interval(parts, df, level) == pytest.approx(expected)
            # alone, the ends are those of the chi-square
            if len(parts) == 1:
                n, tail = df[0], (1 - level) / 2
                chi = parts[0] * n / stats.chi2.ppf([1 - tail, tail], n)
                assert difference_interval(parts, df, level) == pytest.approx(tuple(chi))
            if level == 0.95:
                assert difference_interval(parts, df) == pytest.approx(expected)
            assert difference_interval([0.0, 0.0], [3, 4], level) == (0, 0)
            assert difference_interval([-0.5], [3], level) == (0, 0)


def test_components_have_the_errors_and_ends_of_a_balanced_design() -> None:
    """Two items a picture, or unequally many with cells missing: the mean squares are those that
    the components would make, E MS_s = sum over t that contain s of (cells of t) sigma2_t.
    """
    for level in [0.8, 0.95]:
        for missing in [False, True]:
            rng = np.random.default_rng(6)
            pictures = np.array([0, 0, 0, 1, 2, 2, 2]) if missing else np.repeat([0, 1, 2], 2)
            x = (
                2 * rng.normal(size=(5, 1))
                + rng.normal(size=(5, len(pictures)))
                + rng.normal(size=3)[pictures]
            )
            if missing:
                x[1, 2] = x[3, 5] = np.nan
            study = psy.g_study(x, ["m", "i"], nested={"i": ("c", pictures)}, level=level)
            cells = int(np.isfinite(x).sum())
            items = len(pictures)
            # what an effect's levels are, and which effects it lies in: an item implies its picture
            facets_of = {"m": "m", "c": "c", "i": "ic", "mc": "mc", "mi": "mic"}
            levels = {"m": 5, "c": 3, "i": items, "mc": 15, "mi": cells}
            df = {"m": 4, "c": 2, "i": items - 3, "mc": 8}
            df["mi"] = cells - 1 - sum(df.values())
            raw = {name: study.component(*name).raw for name in facets_of}
            containing_effects = {
                s: [t for t in facets_of if set(facets_of[s]) <= set(facets_of[t])]
                for s in facets_of
            }
            squares = {
                s: max(0.0, sum(cells / levels[t] * raw[t] for t in containing_effects[s]))
                for s in facets_of
            }
            names = list(facets_of)
            matrix = np.array(
                [
                    [cells / levels[t] if t in containing_effects[s] else 0 for t in names]
                    for s in names
                ]
            )
            inverse = np.linalg.inv(matrix)
            total_variance = sum(max(0.0, value) for value in raw.values())
            for index, name in enumerate(names):
                component = study.component(*name)
                parts = [inverse[index, k] * squares[t] for k, t in enumerate(names)]
                free = [df[t] for t in names]
                assert (component.df, component.mean_square) == pytest.approx(
                    (df[name], squares[name])
                )
                variance = sum(
                    2 * coefficient**2 / (n + 2) for coefficient, n in zip(parts, free, strict=True)
                )
                assert component.se == pytest.approx(math.sqrt(variance))
                nonzero = [(c, n) for c, n in zip(parts, free, strict=True) if abs(c) > 1e-12]
                low, high = ends_of_ting([c for c, _ in nonzero], [n for _, n in nonzero], level)
                cut = max(0.0, component.raw)
                assert (component.low, component.high) == pytest.approx(
                    (min(low, cut), max(high, cut))
                )
                assert (component.value, component.share) == pytest.approx(
                    (cut, cut / total_variance)
                )
                assert component.flags == (("NEGATIVE_COMPONENT",) if component.raw < 0 else ())
            mean_cluster_size = sum(n**2 for n in np.bincount(pictures)) / items
            assert study.nested == (("i", "c", 3, pytest.approx(mean_cluster_size)),)
            assert (study.sizes, study.facets, study.level) == ((5, items), ("m", "i"), level)
            assert (study.observations, study.mean) == (cells, pytest.approx(np.nanmean(x)))


def a_study(**changes: object) -> GStudy:
    """Respondents in families, items in pictures, runs: components that are written down."""
    values = {
        ("f",): 0.5, ("m",): 1.5, ("c",): 0.4, ("i",): 0.3, ("k",): 0.2, ("m", "c"): 0.6,
        ("m", "i"): 0.9, ("f", "i"): 0.1, ("i", "k"): 0.7, ("m", "i", "k"): 1.1,
    }  # fmt: skip
    parts = tuple(Component(effect, value, value, 1, 1.0, 0.1) for effect, value in values.items())
    settings: dict = {
        "components": parts, "facets": ("m", "i", "k"), "sizes": (9, 12, 2), "mean": 0.5,
        "nested": (("m", "f", 3, 3.0), ("i", "c", 4, 3.0)),
    } | changes  # fmt: skip
    return GStudy(**settings)


def test_a_decision_study_divides_each_component_by_its_levels() -> None:
    for sizes, items, runs, pictures in [
        (None, 12, 2, 4),
        ({"i": 30}, 30, 2, 10),
        ({"i": 30, "c": 5}, 30, 2, 5),
        ({"c": 6, "k": 1}, 12, 1, 6),
        ({"k": 7.5}, 12, 7.5, 4),
    ]:
        design = psy.d_study(a_study(), sizes)
        relative = 0.6 / pictures + (0.9 + 0.1) / items + 1.1 / (items * runs)
        absolute = relative + 0.4 / pictures + 0.3 / items + 0.2 / runs + 0.7 / (items * runs)
        assert (design.universe, design.relative, design.absolute) == pytest.approx(
            (2.0, relative, absolute)
        )
        assert (design.g, design.phi) == pytest.approx((2 / (2 + relative), 2 / (2 + absolute)))
        assert design.sizes == (("i", items), ("k", runs))
        assert psy.d_study(a_study(), {"i": 1, "k": 1}).status == "ok"
        for wrong in ({"m": 3}, {"f": 3}, {"x": 3}, {"i": 0.9}, {"c": 0}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                psy.d_study(a_study(), wrong)


def test_a_decision_study_needs_something_that_varies() -> None:
    def with_values(**values: float) -> DStudy:
        parts = tuple(
            Component(tuple(name), value, value, 1, 1.0, 0.1) for name, value in values.items()
        )
        return psy.d_study(a_study(components=parts, nested=()))

    zero_study = with_values(m=0.0, i=0.0, mi=0.0)
    items_alone = with_values(m=0.0, i=1.2, mi=0.0)
    for design, absolute in ((zero_study, 0), (items_alone, 0.1)):
        assert (design.status, design.universe, design.relative) == ("degenerate", 0, 0)
        assert design.absolute == pytest.approx(absolute)
        assert np.isnan([design.g, design.phi]).all()
        assert design.sizes == (("i", 12), ("k", 2))
    certain = with_values(m=1.0, i=0.0, mi=0.0)
    noise = with_values(m=0.0, i=0.0, mi=1.2)
    assert (certain.g, certain.phi, noise.g, noise.phi) == (1, 1, 0, 0)
    lost = a_study(status="insufficient", reason="why", components=())
    assert psy.d_study(lost, {"i": 30}).sizes == (("i", 30), ("k", 2))


def test_of_designs_of_one_cost_the_more_reliable_is_taken() -> None:
    study = a_study()
    grid = {"k": [1, 2, 4], "i": [8, 4, 2]}
    phi = {(k, i): psy.d_study(study, {"k": k, "i": i}).phi for k in grid["k"] for i in grid["i"]}
    exact = phi[2, 4]
    reached, all_of_it, unreachable = psy.cheapest_designs(
        study, grid, lambda d: d["i"] * d["k"], targets=(0.1, exact, 0.99)
    )
    assert (reached.cost, reached.target, reached.status) == (2, 0.1, "ok")
    assert reached.design == psy.d_study(study, {"k": 1, "i": 2})
    among = [(k, i) for (k, i), value in phi.items() if value >= exact]
    min_cost = min(k * i for k, i in among)
    best = max(
        (pair for pair in among if pair[0] * pair[1] == min_cost), key=lambda pair: phi[pair]
    )
    assert (all_of_it.cost, all_of_it.status) == (min_cost, "ok")
    assert all_of_it.design == psy.d_study(study, dict(zip("ki", best, strict=True)))
    assert (unreachable.status, unreachable.design, unreachable.target) == (
        "insufficient",
        None,
        0.99,
    )
    assert math.isnan(unreachable.cost)
    assert f"{max(phi.values()):.4g}" in unreachable.reason
    flat = psy.cheapest_designs(study, grid, lambda d: 1.0, targets=(0.1,))[0]
    assert flat.design == psy.d_study(study, {"k": 4, "i": 8})
    assert [plan.target for plan in psy.cheapest_designs(study, grid, lambda d: 1.0)] == [
        0.8,
        0.9,
        0.95,
    ]


def test_a_study_says_which_facet_is_alone() -> None:
    x = np.random.default_rng(7).normal(size=(3, 4))
    for scores, status, words in (
        (x[:1], "insufficient", "1 m x 4 i"),
        (x[:, :1], "not_applicable", "3 m x 1 i"),
        (np.where(np.arange(4) == 2, x, np.nan), "not_applicable", "facet i has one level"),
        (np.full((3, 4), np.nan), "insufficient", "0 m x 0 i"),
        (1e6 + 1e-5 * x, "degenerate", "equal"),
    ):
        study = psy.g_study(scores, ["m", "i"], level=0.9)
        assert (study.status, study.components, study.level) == (status, (), 0.9)
        assert words in study.reason
    assert psy.g_study(1e6 + x, ["m", "i"]).status == "ok"
    assert psy.g_study(1e-8 * x, ["m", "i"]).status == "ok"
    single_cluster = psy.g_study(x, ["m", "i"], nested={"i": ("c", [5, 5, 5, 5])})
    assert (single_cluster.status, "lie in one c" in single_cluster.reason) == (
        "insufficient",
        True,
    )
    for wrong in (["m"], ["m", "m"], ["m", "i", "k"]):
        with pytest.raises(ValueError, match="name each"):
            psy.g_study(x, wrong)
    with pytest.raises(ValueError, match="name each"):
        psy.g_study(x[0], ["m"])
    # the labels of levels without a score go with them
    holes = np.column_stack([x[:, 0], np.full(3, np.nan), x[:, 1:]])
    nested_study = psy.g_study(x, ["m", "i"], nested={"i": ("c", list("aabb"))})
    assert psy.g_study(holes, ["m", "i"], nested={"i": ("c", list("azabb"))}) == nested_study
    assert nested_study.component("i", "m") is nested_study.component("m", "i")


def test_a_design_without_an_observation_to_spare_has_one_degree_of_freedom() -> None:
    x = [[1.0, 3, math.nan], [math.nan, 2, 7], [math.nan, math.nan, 4]]
    study = psy.g_study(x, ["m", "i"])
    assert (study.status, study.observations, study.mean) == ("ok", 5, pytest.approx(3.4))
    assert [component.df for component in study.components] == [2, 2, 1]
    assert study.nested == ()
