"""Every coefficient on every kind of data that defeats it: a status and a reason, no warning, no
exception.
"""

import dataclasses
import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hqm import psychometrics as psy
from tests.conftest import NIGHTLY

RNG = np.random.default_rng(5)
FULL = (RNG.random((2, 8, 12)) < np.linspace(0.2, 0.8, 8)[:, None]).astype(float)
CASES = {
    "empty": FULL[:, :0],
    "no items": FULL[:, :, :0],
    "one respondent": FULL[:, :1],
    "two respondents": FULL[:, :2],
    "constant": np.ones_like(FULL),
    "constant zero": np.zeros_like(FULL),
    "all NaN": np.full_like(FULL, np.nan),
    "identical": np.stack([FULL[0], FULL[0]]),
    "opposite": np.stack([FULL[0], 1 - FULL[0]]),
    "one item": FULL[:, :, :1],
    "one run": FULL[:1],
    "one respondent NaN": np.where(np.arange(8)[:, None] == 3, np.nan, FULL),
}


def means(x: np.ndarray) -> np.ndarray:
    """(runs, respondents) scores, NaN without items."""
    n = np.isfinite(x).sum(axis=2)
    return np.divide(np.nan_to_num(x).sum(axis=2), n, out=np.full(n.shape, np.nan), where=n > 0)


def pair(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = means(x)
    return s[0], s[-1]


def flat(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x[0].ravel(), x[-1].ravel()


def gen() -> np.random.Generator:
    return np.random.default_rng(0)


def counts(x: np.ndarray) -> np.ndarray:
    return np.array([np.nansum(x == 1), np.nansum(x == 0)], dtype=float)


def leave_one_out(x: np.ndarray) -> np.ndarray:
    n = x.shape[2]
    return (means(x)[:, :, None] * n - x) / (n - 1) if n > 1 else np.empty((*x.shape[:2], 0))


FUNCTIONS: dict[str, Callable[[np.ndarray], Any]] = {
    "acquiescence": lambda x: psy.acquiescence(x[0], x[-1]),
    "acquiescence of rates": lambda x: psy.acquiescence(*pair(x)),
    "balanced_score": lambda x: psy.balanced_score(*pair(x)),
    "bias_test": lambda x: psy.bias_test(means(x).T),
    "bland_altman": lambda x: psy.bland_altman(*pair(x)),
    "concordance": lambda x: psy.concordance(*pair(x)),
    "crossed_components": lambda x: psy.crossed_components(x, ["run", "respondent", "item"]),
    "drift_test": lambda x: psy.drift_test(np.nan_to_num(means(x)), np.nan_to_num(x) / 12),
    "equivalence": lambda x: psy.equivalence(*pair(x), 0.1),
    "equivalence_margin": lambda x: psy.equivalence_margin(mdc95=float(np.nansum(x))),
    "expected_retest": lambda x: psy.expected_retest(x.mean(axis=0)),
    "fleiss_kappa": lambda x: psy.fleiss_kappa(x.reshape(len(x), -1)),
    "flip_rate": lambda x: psy.flip_rate(x.reshape(len(x), -1)),
    "form_reliability": lambda x: psy.form_reliability(*pair(x), *np.full((2, x.shape[1]), 1e-3)),
    "g_and_phi": lambda x: [
        psy.g_and_phi(np.moveaxis(x, 0, 2), "run", labels, replicated=replicated)
        for labels in (None, np.arange(x.shape[2]) // 3)
        for replicated in (True, False)
    ],
    "gwet_ac1": lambda x: psy.gwet_ac1(x.reshape(len(x), -1)),
    "icc": lambda x: psy.icc(means(x).T),
    "icc of relatives": lambda x: psy.icc(means(x).T, n_effective=2.5),
    "item_agreement": lambda x: psy.item_agreement(x[0], x[-1]),
    "judge_share": lambda x: psy.judge_share(x, x),
    "kendall_tau_b": lambda x: psy.kendall_tau_b(*pair(x)),
    "krippendorff_alpha": lambda x: [
        psy.krippendorff_alpha(x.reshape(len(x), -1), scale)
        for scale in ("nominal", "ordinal", "interval", "ratio")
    ],
    "length_elasticity": lambda x: psy.length_elasticity(means(x).T, means(x).T * 100),
    "mean_shift": lambda x: psy.mean_shift(*pair(x)),
    "omega_of_types": lambda x: psy.omega_of_types(
        x[0], [str(i % 3) for i in range(x.shape[2])], np.arange(x.shape[2]) // 2
    ),
    "cronbach_alpha, pictures": lambda x: psy.cronbach_alpha(
        x[0], np.arange(x.shape[2]) // 2, drop="answers"
    ),
    "criterion_validity": lambda x: psy.criterion_validity(x[0], x[-1], np.arange(x.shape[2]) // 2),
    "mean_shift, items": lambda x: psy.mean_shift(
        *pair(x), replicates=(leave_one_out(x)[0], leave_one_out(x)[-1])
    ),
    "pair_coherence": lambda x: psy.pair_coherence(x[0], x[-1]),
    "pearson": lambda x: psy.pearson(*pair(x)),
    "position_bias": lambda x: psy.position_bias(counts(x)),
    "rank_stability": lambda x: psy.rank_stability(
        means(x)[0], np.full(x.shape[1], 1e-3), gen(), draws=50
    ),
    "rho_g": lambda x: psy.rho_g(x),
    "rho_g of all runs": lambda x: psy.rho_g(x).rho_average,
    "rho_g_of_scores": lambda x: psy.rho_g_of_scores(means(x), replicates=leave_one_out(x)),
    "shift_heterogeneity": lambda x: psy.shift_heterogeneity(x[0], x[-1]),
    "signal_detection": lambda x: psy.signal_detection(*counts(x[0]), *counts(x[-1])),
    "signal_detection_from_rates": lambda x: [
        psy.signal_detection_from_rates(a, y, 0.5) for a, y in zip(*pair(x), strict=True)
    ],
    "spearman": lambda x: psy.spearman(*pair(x)),
    "standardized_reliability": lambda x: psy.standardized_reliability(psy.rho_g(x).rho, 12),
    "top_k_overlap": lambda x: psy.top_k_overlap(*pair(x), 3),
}


def names(count: int) -> list[str]:
    return [f"n{i % 3}" for i in range(count)]


def types(x: np.ndarray) -> list[str]:
    return [f"t{i % 2}" for i in range(x.shape[2])]


def table(x: np.ndarray) -> np.ndarray:
    """(respondents, 4): quarters of the items as columns."""
    parts = np.array_split(x[0], 4, axis=1)
    return np.stack(
        [block.mean(axis=1) if block.shape[1] else np.full(len(block), np.nan) for block in parts],
        axis=1,
    )


def studied(x: np.ndarray) -> Any:
    return psy.g_study(x[0], ["respondent", "item"])


OTHER_STATISTICS: dict[str, Callable[[np.ndarray], Any]] = {
    "agreement_coefficients": lambda x: psy.agreement_coefficients(
        leave_one_out(x)[0], leave_one_out(x)[-1]
    ),
    "advantages": lambda x: psy.advantages(*pair(x), (leave_one_out(x)[0], leave_one_out(x)[-1])),
    "older_advantages": lambda x: psy.older_advantages(x[0], np.arange(x.shape[2]) % 2 == 0),
    "conditional_errors": lambda x: psy.conditional_errors(x[0], np.arange(x.shape[2]) // 2),
    "differential_functioning": lambda x: psy.differential_functioning(
        x[0], types(x), ["ab"[i % 2] for i in range(x.shape[1])]
    ),
    "dimensionality": lambda x: psy.dimensionality(x[0], types(x), rng=gen(), permutations=19),
    "benchmark_agreement": lambda x: psy.benchmark_agreement(*pair(x), gen(), halves=20),
    "answer_correlations": lambda x: psy.answer_correlations(
        *flat(x), np.tile(np.arange(x.shape[2]) // 2, x.shape[1])
    ),
    "chance_corrected": lambda x: psy.chance_corrected(means(x)[0], {"yes": 0.5}),
    "cheapest_designs": lambda x: psy.cheapest_designs(
        studied(x), {"item": [2, 20]}, lambda d: d["item"]
    ),
    "criterion_validity": lambda x: psy.criterion_validity(x[0], x[-1]),
    "contradicted_items": lambda x: psy.contradicted_items(x[0], x[-1]),
    "cronbach_alpha": lambda x: psy.cronbach_alpha(x[0]),
    "d_study": lambda x: psy.d_study(studied(x)),
    "dependability": lambda x: psy.dependability(table(x), gen()),
    "family_dependence": lambda x: psy.family_dependence(means(x)[0], names(x.shape[1])),
    "g_study": lambda x: [
        psy.g_study(np.moveaxis(x, 0, 2), ["respondent", "item", "run"]),
        studied(x),
    ],
    "g_study, nested": lambda x: psy.g_study(
        x[0],
        ["respondent", "item"],
        nested={
            "item": ("picture", np.arange(x.shape[2]) // 3),
            "respondent": ("family", np.arange(x.shape[1]) // 2),
        },
    ),
    "htmt": lambda x: psy.htmt(table(x), list("aabb"), "a", "b"),
    "independent_differences": lambda x: psy.independent_differences(
        means(x)[0], np.full(x.shape[1], 1e-9)
    ),
    "item_analysis": lambda x: psy.item_analysis(x[0]),
    "jackknife_interval": lambda x: [
        psy.jackknife_interval(
            {"s": row, "n": np.ones(len(row))}, np.arange(len(row)), lambda t: t["s"] / t["n"]
        )
        for row in np.nan_to_num(x[0])
        if len(row)
    ],
    "judge_errors": lambda x: psy.judge_errors(x[0], x[-1]),
    "label_error_candidates": lambda x: psy.label_error_candidates(
        x[0], rng=gen(), permutations=99
    ),
    "labels_at_random": lambda x: psy.labels_at_random(
        x[0], np.where(np.arange(x.shape[2]) % 2, x[-1], np.nan)
    ),
    "metrics_beside_people": lambda x: psy.metrics_beside_people(
        dict(zip("ab", flat(x), strict=True)),
        flat(x)[0] + flat(x)[1],
        np.tile(np.arange(x.shape[2]) // 2, x.shape[1]),
    ),
    "multitrait_multimethod": lambda x: psy.multitrait_multimethod(
        table(x), list("aabb"), list("cdcd")
    ),
    "noise_floor": lambda x: psy.noise_floor(means(x)[0], x.shape[2]),
    "omega_t": lambda x: psy.omega_t(table(x)),
    "pair_order": lambda x: psy.pair_order(means(x)[0], np.full(x.shape[1], 1e-12)),
    "reversed_items": lambda x: psy.reversed_items(x[0], rng=gen()),
    "paired_differences": lambda x: psy.paired_differences(x[0], np.arange(x.shape[2]) // 3),
    "partial_pearson": lambda x: psy.partial_pearson(*pair(x), np.arange(x.shape[1], dtype=float)),
    "ppi_scores": lambda x: psy.ppi_scores(
        x[0], np.where(np.arange(x.shape[2]) % 2, x[-1], np.nan), min_labels=2
    ),
    "range_restriction": lambda x: psy.range_restriction(means(x)[0]),
    "rasch": lambda x: psy.rasch(x[0]),
    "rater_share": lambda x: psy.rater_share(x.reshape(len(x), -1).T, gen()),
    "reliability_difference": lambda x: psy.reliability_difference(
        means(x).T, means(x).T[:, ::-1], gen()
    ),
    "reading_list": lambda x: psy.reading_list(x[0], rng=gen()),
    "repeated_measures": lambda x: psy.repeated_measures(x[0], x[-1]),
    "rogan_gladen_scores": lambda x: psy.rogan_gladen_scores(x[0], x[-1]),
    "saturation": lambda x: psy.saturation(x[0]),
    "shift_heterogeneity_of_scores": lambda x: psy.shift_heterogeneity_of_scores(
        means(x)[-1] - means(x)[0], np.full(x.shape[1], 1e-9)
    ),
    "split_half": lambda x: psy.split_half(x[0], gen(), draws=20),
    "stage_agreement": lambda x: psy.stage_agreement(
        x[0].ravel().round() % 2, x[-1].ravel().round() % 2
    ),
    "standardized_alpha": lambda x: psy.standardized_alpha(x[0]),
    "study_variance_components": lambda x: psy.study_variance_components(
        np.moveaxis(x, 0, 2)[:, :, None, :]
    ),
    "subscore_value": lambda x: psy.subscore_value(x[0], types(x)),
    "weighted_agreement": lambda x: psy.weighted_agreement(x[0], x[-1], np.arange(x.shape[2]) // 2),
    "wordings_needed": lambda x: psy.wordings_needed(table(x), 0.75, gen(), draws=200),
    "with_raters": lambda x: psy.with_raters(psy.pearson(*pair(x)), leave_one_out(x)[0].ravel()),
}
"""The other estimators that take answers; what is left takes single numbers or words
(`NO_ANSWERS`).
"""

NO_ANSWERS = frozenset(
    "aggregate agreement_interval benjamini_hochberg blind_solvability"
    " compare_studies dawid_skene difference_over_clusters duplicate_items error_factor"
    " forecast forecast_interval scaled_scores holm"
    " holm_in_order htmt_from_correlations icc_of_mean item_response cover_fixed_interval planted_faults shared_variance"
    " too_few_families too_few_respondents with_wrong_keys add_lower_bound holm_tests items_for_error"
    " labels_needed leakage_cues leave_one_out reliability_jackknife_interval length_cue"
    " minimum_detectable_difference minres_loadings respondent_shifts pooled_labels prmse rater_replicates"
    " rank_contrasts resample rogan_gladen spearman_brown stream"
    " table_agreement type_coverage weighted_reliability williams_test".split()
)


def nearly(respondents: int, kind: str, items: int = 24) -> np.ndarray:
    """(2, respondents, items) answers next to a case that defeats an estimator."""
    rng = np.random.default_rng(respondents)
    right = np.ones((2, respondents, items))
    if kind == "one respondent differs":
        right[:, 0] = rng.random((2, items)) < 0.5
    elif kind == "one answer differs":
        right[0, 0, 0] = 0
    elif kind == "all wrong":
        right[:] = 0
    elif kind.startswith("component"):
        size = math.sqrt(float(kind.removeprefix("component ")))
        right = (
            0.5
            + size * rng.normal(size=(respondents, 1))
            + rng.normal(size=(2, respondents, items)) * 0.1
        )
    elif kind.startswith("noise"):
        size = math.sqrt(float(kind.removeprefix("noise ")))
        right = np.linspace(0.2, 0.8, respondents)[:, None] + size * rng.normal(
            size=(2, respondents, items)
        )
    elif kind == "answers by lot":
        right = (rng.random(right.shape) < 0.5).astype(float)
    elif kind == "a third unscored":
        right = np.where(rng.random(right.shape) < 0.33, np.nan, rng.random(right.shape) < 0.7)
    return np.asarray(right, dtype=float)


KINDS = (
    "all right",
    "all wrong",
    "one respondent differs",
    "one answer differs",
    "answers by lot",
    "a third unscored",
    *(f"{kind} 1e-{digits}" for kind in ("component", "noise") for digits in (12, 8, 4, 0)),
)


SLOW = frozenset(
    "benchmark_agreement criterion_validity g_and_phi htmt independent_differences"
    " krippendorff_alpha omega_of_types label_error_candidates omega_t paired_differences partial_pearson rank_stability rasch"
    " rater_share reliability_difference repeated_measures".split()
)
"""What draws many random numbers or fits a model; it meets fewer sizes."""


@pytest.mark.parametrize("name", [*FUNCTIONS, *OTHER_STATISTICS])
def test_nearly_degenerate_answers_end_in_a_number_or_a_reason(name: str) -> None:
    """2 to 40 respondents, components from 1e-12 to 1, one item or 24; warnings are errors."""
    estimator = {**FUNCTIONS, **OTHER_STATISTICS}[name]
    sizes = (2, 5, 10, 40) if NIGHTLY else (5,) if name in SLOW else (2, 10, 40)
    allowed_kinds = {"all right", "one respondent differs", "component 1e-12", "noise 1e-12"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for respondents in sizes:
            for kind in KINDS:
                for items in (1, 24):
                    if items == 1 and kind not in allowed_kinds:
                        continue
                    try:
                        result = estimator(nearly(respondents, kind, items))
                    except Exception as error:
                        raise AssertionError(
                            f"{kind}, {respondents} respondents, {items} items: {error!r}"
                        ) from error
                    for component in parts(result):
                        if isinstance(component, psy.Coefficient) and component.status == "ok":
                            assert not math.isnan(component.value), (kind, respondents, items)


def parts(result: Any) -> Iterator[Any]:
    """Every frozen result inside a result."""
    if isinstance(result, (tuple, list)):
        for component in result:
            yield from parts(component)
    elif dataclasses.is_dataclass(result):
        yield result
        for field in dataclasses.fields(result):
            yield from parts(getattr(result, field.name))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_or_a_reason(name: str, case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = FUNCTIONS[name](CASES[case])
        # properties compute, too
        for component in parts(result):
            for key in dir(type(component)):
                if isinstance(getattr(type(component), key), property):
                    getattr(component, key)
    components = list(parts(result))
    assert components or case in ("empty",)
    for component in components:
        if not hasattr(component, "status"):
            continue
        assert (component.status == "ok") == (component.reason == ""), component
        if isinstance(component, psy.Coefficient):
            present = component.status in ("ok", "not_informative")
            if component.status == "ok":
                assert not math.isnan(component.value), component
            if not present:
                assert math.isnan(component.value), component
                assert math.isnan(component.low)
                assert component.fixed is None
            if math.isfinite(component.low):
                assert component.low - 1e-9 <= component.value <= component.high + 1e-9, component
            if component.fixed is not None:
                assert (
                    component.fixed.low - 1e-9 <= component.value <= component.fixed.high + 1e-9
                ), component
        if isinstance(component, psy.SignificanceTest):
            assert (component.status == "ok") == math.isfinite(component.p), component


def test_every_exported_function_is_in_the_battery_or_tested_elsewhere() -> None:
    battery = {name.partition(" ")[0].rstrip(",") for name in FUNCTIONS}
    exported = {name for name in psy.__all__ if inspect.isfunction(getattr(psy, name))}
    test_files = [
        p for p in Path(__file__).parent.glob("test_*.py") if p.name != Path(__file__).name
    ]
    called = set(re.findall(r"\b(\w+)\b\(", "".join(p.read_text("utf-8") for p in test_files)))
    covered_here = {"agreement_coefficients", "reliability_jackknife_interval", "spearman_brown"}
    assert len(battery) >= 30
    named_statistics = {name.partition(",")[0] for name in OTHER_STATISTICS}
    assert battery | named_statistics <= exported
    assert exported == battery | named_statistics | NO_ANSWERS
    assert exported - battery - covered_here <= called, (
        "neither in the battery nor called by another test"
    )


def test_what_the_status_is() -> None:
    """One line for each rule of the table of degenerate cases."""
    assert psy.rho_g(CASES["identical"]).rho.status == "not_informative"
    assert psy.rho_g(CASES["identical"]).rho.value == 1.0
    assert psy.rho_g(CASES["constant"]).rho.status == "degenerate"
    assert psy.rho_g(CASES["two respondents"]).rho.status == "insufficient"
    assert psy.rho_g(CASES["one run"]).rho.status == "insufficient"
    assert psy.rho_g(CASES["one respondent NaN"]).rho.n == 7
    assert psy.spearman(*pair(CASES["constant"])).status == "degenerate"
    assert psy.krippendorff_alpha(np.ones((2, 9))).reason.startswith("single_category")
    assert psy.gwet_ac1(np.ones((2, 9))).reason.startswith("single_category")
    assert psy.gwet_ac1(np.ones((2, 9)), categories=2).value == 1.0
    assert psy.expected_retest(FULL[0]).rho.status == "not_informative"
    assert psy.judge_share(CASES["identical"], CASES["identical"]).share.status == "not_informative"


def test_leaving_out_clusters_of_constant_or_missing_scores_gives_no_number() -> None:
    flat = psy.agreement_coefficients(np.ones((4, 12)), np.ones((4, 12)))
    assert np.isnan(flat["pearson"]).all()
    assert (flat["mean_shift"] == 0).all()
    assert psy.reliability_jackknife_interval(0.9, np.full(9, 0.9)) is None
    assert psy.reliability_jackknife_interval(1.0, np.ones(12)) is None
    assert psy.reliability_jackknife_interval(0.9, np.full(12, np.nan)) is None
    assert math.isnan(psy.spearman_brown(-0.9, 4))


def test_more_noise_than_spread_gives_zero_with_the_raw_value() -> None:
    rng = np.random.default_rng(3)
    negative = next(
        rho
        for rho in (psy.rho_g((rng.random((2, 5, 40)) < 0.5).astype(float)).rho for _ in range(50))
        if "NEGATIVE_COMPONENT" in rho.flags
    )
    assert negative.value == 0.0
    assert negative.raw < 0


def test_wrong_shapes_are_errors() -> None:
    for call in (
        lambda: psy.rho_g(np.ones((3, 4))),
        lambda: psy.rho_g(np.ones((2, 3, 4)), clusters=[1, 2]),
        lambda: psy.rho_g_of_scores(np.ones((2, 3)), replicates=np.ones((2, 3))),
        lambda: psy.spearman([1, 2], [1, 2, 3]),
        lambda: psy.krippendorff_alpha(np.ones((2, 3)), "cardinal"),  # type: ignore[arg-type]
        lambda: psy.gwet_ac1([1, 2]),
        lambda: psy.judge_share(np.ones((2, 3, 4)), np.ones((2, 3, 5))),
        lambda: psy.expected_retest([0.5]),
        lambda: psy.position_bias(np.ones((2, 2))),
    ):
        with pytest.raises(ValueError, match="needed|must|level"):
            call()
