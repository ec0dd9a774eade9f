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

from hqm import psychometrics as psy
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
    long = pd.DataFrame(
        [(p, i, x[p, i], 1) for p, i in product(range(12), range(15))],
        columns=["p", "i", "y", "one"],
    )
    parts = {"p": "0 + C(p)", "i": "0 + C(i)"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = smf.mixedlm("y ~ 1", long, groups="one", vc_formula=parts, re_formula="0").fit(
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
            kept = [a for a, k in zip(axes, keep, strict=True) if k]
            mean = x.mean(axis=tuple(a for a in range(4) if a not in kept), keepdims=True)
            effect = effect + (-1) ** (len(axes) - len(kept)) * mean
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
        who = study.component("m")
        covered += who.low <= truth["m"] <= who.high
    for effect, variance in truth.items():
        assert sums[effect] == pytest.approx(variance, abs=0.05), effect
    assert covered / 60 >= 0.85


def test_negative_components_are_kept_raw_and_used_as_zero() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5, 400))
    x -= x.mean(axis=1, keepdims=True)  # no respondent differs: less than chance would give
    study = psy.g_study(x, ["m", "i"])
    who = study.component("m")
    assert (who.value, who.flags, study.flags) == (
        0.0,
        ("NEGATIVE_COMPONENT",),
        ("NEGATIVE_COMPONENT",),
    )
    assert who.raw < 0
    assert (who.low, who.high) == (0.0, 0.0)
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
    other = psy.g_study(moved.transpose(1, 2, 0), ["i", "k", "m"])
    for component in original.components:
        assert other.component(*component.effect).raw == pytest.approx(
            scale**2 * component.raw, abs=1e-9
        )
    assert sum(c.share for c in original.components) == pytest.approx(1)


def test_missing_cells() -> None:
    x = BRENNAN_3.copy()
    x[0, 1, 0] = np.nan
    study, whole = (psy.g_study(y, ["p", "i", "o"]) for y in (x, BRENNAN_3))
    assert (study.status, study.sizes, study.observations) == ("ok", (10, 4, 2), 79)
    # one cell of 80 moves no component by more than a tenth of the largest one
    assert [c.raw for c in study.components] == pytest.approx(
        [c.raw for c in whole.components], abs=0.1
    )
    x[:, 2] = np.nan
    without = psy.g_study(np.delete(x, 2, axis=1), ["p", "i", "o"])
    assert psy.g_study(x, ["p", "i", "o"]) == without
    # every respondent answered items of its own: respondent, item and interaction are one
    apart = np.where(np.eye(6, dtype=bool), np.arange(6.0), np.nan)
    lost = psy.g_study(apart, ["m", "i"])
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
