"""The functions of `hqm.psychometrics` on small arrays: those that no audit of a frozen study calls,
and other settings of those that it does.

    python -m tests.procedure_functions     # writes tests/corpora/functions.jsonl; then `raise`

A case is a function with its arguments. An array of right and wrong answers is a list of texts with
a character for each item: 1 right, 0 wrong, - not scored.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hqm_label import answer_sampling
from hqm_tables import table_integrity

import hqm.psychometrics as psychometrics
from hqm.psychometrics.inference.distributions import rank_sum_p
from hqm.psychometrics.reliability.compare_reliability import LeaveOneOutScores
from hqm.psychometrics.reliability.pass_decisions import decision_consistency
from hqm.psychometrics.result import Coefficient
from hqm.psychometrics.variance.error_budget import metric_band
from hqm.psychometrics.variance.study_forecast import PRECISIONS, StudySize
from hqm.psychometrics.variance.study_variance import StudyComponents
from tests import procedure_borders
from tests.procedure_studies import numbers_in, rounded_number, summary

FILE = Path(__file__).parent / "corpora" / "functions.jsonl"
SEED = 20261129
MAX_NUMBERS = 12
"""Results with more numbers are held by their count and sum."""
MAX_TEXTS = 8
Case = dict[str, Any]
FloatArray = npt.NDArray[np.float64]


def call_function(case: Mapping[str, Any]) -> dict[str, Any]:
    """`arithmetic.<module>` -> the numbers of one call's result."""
    name = case["function"]
    function = _COMPOSED.get(name) or getattr(psychometrics, name)
    arguments = {key: _argument(value) for key, value in case["arguments"].items()}
    if "rng" in inspect.signature(function).parameters:
        arguments["rng"] = np.random.default_rng(SEED)
    result = function(**arguments)
    source = _MODULES.get(name) or inspect.unwrap(function).__module__.rpartition(".")[2]
    return {f"arithmetic.{source}": _outcome(result)}


def _argument(value: Any) -> Any:
    """An argument as its function takes it."""
    rows = value if isinstance(value, list) else []
    if rows and all(isinstance(row, str) and re.fullmatch("[01-]{4,}", row) for row in rows):
        return np.array([[math.nan if m == "-" else float(m) for m in row] for row in rows])
    return value


def _outcome(result: Any) -> list[Any]:
    """The texts and numbers of a result."""
    value = _plain(result)
    numbers = list(numbers_in(value))
    texts = list(_texts_in(value))
    if len(numbers) > MAX_NUMBERS:
        return [*summary(value), *texts[:MAX_TEXTS]]
    return [*map(rounded_number, numbers), *texts[:MAX_TEXTS]]


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return value


def _texts_in(value: Any) -> Iterator[str]:
    """The short texts of a result, such as its status."""
    if isinstance(value, str):
        if value and len(value) < 30:
            yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts_in(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from _texts_in(member)


# --- several functions, one on the result of another ---


def _left_out(scores: FloatArray, per_cluster: int) -> LeaveOneOutScores:
    """A measure's scores without each cluster of so many items; two runs of even and odd rows."""
    runs = np.stack([scores[::2], scores[1::2]])
    sums = runs.reshape(*runs.shape[:2], -1, per_cluster).sum(axis=3)
    total = sums.sum(axis=2, keepdims=True)
    n_items = runs.shape[2]
    return LeaveOneOutScores(
        total[:, :, 0] / n_items,
        (total - sums) / (n_items - per_cluster),
        [f"p{k}" for k in range(sums.shape[2])],
        np.asarray((runs[0] - runs[1]).var(axis=1) / 2 / n_items),
    )


def _differences_over_clusters(
    scores: FloatArray, other_scores: FloatArray, statistic: Any, factors: Any, **settings: Any
) -> list[Any]:
    measures = [_left_out(scores, 2), _left_out(other_scores, 2)]
    rng = np.random.default_rng(SEED)
    measured = {"statistic": statistic, "factors": factors}
    return [
        psychometrics.shared_variance(*measures, **measured),
        psychometrics.difference_over_clusters(*measures, rng, **measured, **settings),
    ]


def _components(scores: list[list[list[list[str]]]], pictures: Any, families: Any) -> Any:
    table = np.array([[[list(row) for row in form] for form in run] for run in scores], float)
    # runs, forms, respondents, items -> respondents, items, forms, runs
    return psychometrics.study_variance_components(
        table.transpose(2, 3, 1, 0), pictures=pictures, families=families
    )


def _forecasts(
    scores: list[Any], pictures: Any, families: Any, judge: float | None, labels: float | None
) -> list[Any]:
    components: StudyComponents = _components(scores, pictures, families)
    with_judge = replace(
        components, judge=judge, askings=2, labels=labels, labelled=40 if labels else 0
    )
    size = StudySize(pictures=[40, 90], items=2, forms=2, runs=3, askings=3, labels=[0, 60])
    return [
        components,
        *(psychometrics.forecast(with_judge, name, size) for name in PRECISIONS),
        *(
            psychometrics.forecast_interval(components, name, StudySize(pictures=50, runs=2))
            for name in ("rho_g", "g", "phi")
        ),
    ]


def _two_studies(scores: list[Any], other_scores: list[Any], correlation: float) -> list[Any]:
    studies = [_components(table, None, None) for table in (scores, other_scores)]
    sizes = (StudySize(pictures=60), StudySize(pictures=80, runs=2))
    compared = psychometrics.compare_studies(*studies, sizes, correlation, 12.0)
    contests = (compared.fixed_respondents, compared.other_respondents)
    return [compared, *((contest.p, contest.choice) for contest in contests)]


def _with_raters(value: float, low: float, high: float, replicates: list[float]) -> Any:
    return psychometrics.with_raters(Coefficient(value, low=low, high=high), replicates)


def _rater_draws(labels: FloatArray, pool: Any) -> Any:
    rng = np.random.default_rng(SEED)
    return psychometrics.rater_replicates(labels, pool, rng)


def _columns_of_a_table(printed: list[list[float]], decimals: int, scale: float) -> list[Any]:
    """What the columns of a table imply about each other; a row has precision, recall, the share of
    positive truths, accuracy and the share of positive answers.
    """
    spans = [
        [table_integrity.rounding_interval(v, decimals, scale) for v in row] for row in printed
    ]
    bases = [table_integrity.base_from_accuracy(accuracy, p, r) for p, r, _, accuracy, _ in spans]
    rows = [
        [
            table_integrity.f1_from(p, r),
            table_integrity.yes_rate_from(p, r, base),
            table_integrity.accuracy_from(p, r, base),
            table_integrity.accuracy_from_yes(p, r, yes),
        ]
        for p, r, base, _, yes in spans
    ]
    return [bases, rows, table_integrity.common_base([base for base in bases if base is not None])]


_COMPOSED: Mapping[str, Callable[..., Any]] = {
    "decision_consistency": decision_consistency,
    "differences_over_clusters": _differences_over_clusters,
    "forecasts": _forecasts,
    "two_studies": _two_studies,
    "with_raters": _with_raters,
    "rater_draws": _rater_draws,
    "columns_of_a_table": _columns_of_a_table,
    "active_probabilities": answer_sampling.active_probabilities,
    "errors_from_disagreement": answer_sampling.errors_from_disagreement,
    "expected_width": answer_sampling.expected_width,
    "check_table": table_integrity.check_table,
    "grim": table_integrity.grim,
    "rank_sum_p": rank_sum_p,
    "metric_band": metric_band,
    **procedure_borders.COMPOSED,
}
_MODULES = {
    **procedure_borders.MODULES,
    "differences_over_clusters": "compare_reliability",
    "forecasts": "study_forecast",
    "two_studies": "study_forecast",
    "with_raters": "criterion",
    "rater_draws": "raters",
    "columns_of_a_table": "table_integrity",
    "active_probabilities": "label_sampling",
    "errors_from_disagreement": "label_sampling",
    "expected_width": "label_sampling",
}


# --- the cases ---


def cases() -> Iterator[Case]:
    """Every case, drawn by one seed, and those at the borders, which come last."""
    rng = np.random.default_rng(SEED)
    for part in (_agreement, _reliability, _validity, _items, _variance, _inference):
        for function, arguments in part(rng):
            yield {"function": function, "arguments": arguments}
    for function, arguments in procedure_borders.calls():
        yield {"function": function, "arguments": arguments}


Calls = Iterator[tuple[str, dict[str, Any]]]


def _answers(
    rng: np.random.Generator, respondents: int, items: int, *, missing: float = 0.0
) -> list[str]:
    """Right and wrong answers of respondents of different ability."""
    ability = np.linspace(-1.2, 1.2, respondents)[:, None]
    chance = 1 / (1 + np.exp(-1.5 * (ability - rng.normal(size=items))))
    marks = np.where(rng.random(chance.shape) < chance, "1", "0")
    marks[rng.random(chance.shape) < missing] = "-"
    return ["".join(row) for row in marks]


def _numbers(
    rng: np.random.Generator, *shape: int, scale: float = 1.0, trait: float = 0.0
) -> list[Any]:
    """Normal numbers of three digits; with a trait that the last axis shares."""
    values = rng.normal(size=shape) * scale
    if trait:
        values = values + trait * np.linspace(-1, 1, shape[-1])
    return [*np.round(values, 3).tolist()]


def _families(count: int, size: int) -> list[str]:
    return [f"f{k // size}" for k in range(count)]


def _agreement(rng: np.random.Generator) -> Calls:
    votes = rng.integers(0, 3, size=(14, 4)).astype(object)
    votes[3, 1] = votes[7, 2] = None
    for measurement in ("nominal", "ordinal", "interval", "ratio"):
        yield "krippendorff_alpha", {"ratings": votes.tolist(), "measurement": measurement}
    yield "krippendorff_alpha", {"ratings": votes.tolist(), "level": 0.8}
    labels = [[None if vote is None else min(vote, 1) for vote in row] for row in votes.tolist()]
    labels[2][0] = labels[9][3] = None
    labels = [*map(list, zip(*labels, strict=True))]
    yield "dawid_skene", {"labels": labels}
    for pool in ("majority", "mean", "dawid-skene"):
        yield "pooled_labels", {"labels": labels, "pool": pool}
        yield "rater_draws", {"labels": labels, "pool": pool}
    yield "rater_share", {"labels": labels}
    yield "gwet_ac1", {"ratings": votes.tolist(), "categories": 4, "level": 0.9}
    whole = rng.integers(0, 3, size=(12, 4)).tolist()
    yield "fleiss_kappa", {"ratings": whole, "level": 0.9}
    for k in (1, 3, 5):
        x, y = _numbers(rng, 2, 9, trait=1.5)
        yield "top_k_overlap", {"x": x, "y": y, "k": k}
    for respondents in (3, 6, 9, 14):
        first, second = _numbers(rng, 2, respondents, trait=2.0)
        yield "benchmark_agreement", {"first": first, "second": second}
    yield (
        "table_agreement",
        dict(
            zip(
                ("both_positive", "automatic_only", "human_only", "both_negative"),
                (31, 6, 4, 17),
                strict=True,
            )
        ),
    )
    for equal in (8, 30):
        same = [float(k % 2) for k in range(equal)]
        yield "stage_agreement", {"judge": same, "human": same}
    verdicts = ["01100100001100000010", "01010010001000000110"]
    clusters = {"clusters": [f"p{k // 2}" for k in range(20)]}
    yield "weighted_agreement", {"automatic": verdicts, "human": verdicts, **clusters}
    human = rng.integers(0, 2, size=(4, 90))
    judge = np.where(rng.random(human.shape) < 0.25, 1 - human, human)
    yield "judge_errors", {"automatic": judge.tolist(), "human": human.tolist()}
    scores = _numbers(rng, 5, 8, trait=2.0)
    yield "icc", {"scores": scores, "level": 0.9}
    noise = np.abs(np.round(rng.normal(size=9), 3)).tolist()
    yield "rank_stability", {"scores": _numbers(rng, 9, scale=2.0), "noise": noise, "draws": 500}


def _reliability(rng: np.random.Generator) -> Calls:
    for respondents, statistic, factors in (
        (12, "pearson", (1.0, 1.0)),
        (16, "icc_a1", (2.0, 0.5)),
        (14, "rho_g", (1.0, 3.0)),
    ):
        tables = [_answers(rng, 2 * respondents, 24) for _ in range(2)]
        arguments = {"scores": tables[0], "other_scores": tables[1], "factors": factors}
        if statistic == "icc_a1":
            arguments |= {"draws": 300, "level": 0.9}
        yield "differences_over_clusters", {**arguments, "statistic": statistic}
        measures = [_numbers(rng, 2, respondents, trait=t) for t in (3.0, 1.0)]
        arguments = {"measure": measures[0], "other_measure": measures[1], "factors": factors}
        arguments |= {"statistic": statistic, "shared": 0.01, "min_error": 0.05}
        if statistic == "rho_g":
            noise = np.round(rng.random((2, respondents)) * 0.3, 3).tolist()
            arguments |= {"noise": noise, "families": _families(respondents, 2), "n_effective": 11}
        yield "reliability_difference", arguments
    yield (
        "reliability_difference",
        {
            "measure": _numbers(rng, 2, 30, trait=2.0),
            "other_measure": _numbers(rng, 2, 30, trait=2.5),
            "families": _families(30, 2),
            "level": 0.8,
        },
    )
    yield (
        "reliability_difference",
        {
            "measure": _numbers(rng, 2, 3, trait=2.0),
            "other_measure": _numbers(rng, 2, 3, trait=2.5),
        },
    )
    yield "omega_t", {"scores": [[float(m) for m in row] for row in _answers(rng, 8, 3)]}
    yield "omega_t", {"scores": [[1, 2, 2, 3], [2, 2, 3, 3], [4, 3, 4, 5]]}
    for respondents, families in ((8, ()), (24, _families(24, 2))):
        scores = _answers(rng, respondents, 8)
        yield "omega_t", {"scores": scores, "families": families}
        yield "standardized_alpha", {"scores": scores}
        for drop in ("respondents", "items", "answers"):
            gaps = _answers(rng, respondents, 9, missing=0.04)
            yield "cronbach_alpha", {"scores": gaps, "drop": drop, "level": 0.9}
        yield "split_half", {"scores": scores, "draws": 200}
    for respondents, spread, reliability in ((8, 0.2, 0.8), (32, 0.15, 0.9), (40, 0.2, 0.6)):
        for cut in (0.5, 0.7):
            scores = np.round(np.clip(0.6 + spread * rng.normal(size=respondents), 0, 1), 3)
            arguments = {"scores": scores.tolist(), "reliability": reliability, "cut": cut}
            yield "decision_consistency", arguments
    # skewed distributions of four moments, flat and steep
    for power, reliability in ((0.25, 0.85), (0.5, 0.85), (0.5, 0.7), (0.8, 0.9), (1.3, 0.8)):
        scores = np.round(0.1 + 0.8 * rng.random(30) ** power, 3).tolist()
        yield "decision_consistency", {"scores": scores, "reliability": reliability, "cut": 0.6}
    for items, shape in ((12, (12, 3)), (20, (20, 9))):
        raw = rng.dirichlet((2.0, 1.0, 0.5), size=shape)
        yield "expected_retest", {"probabilities": np.round(raw[..., 0], 3).tolist()}
        yield "spearman_brown", {"reliability": 0.71, "factor": items / 8}
        yield "standardized_reliability", {"reliability": 0.71, "n_items": items}
    errors, se = np.round(np.abs(rng.normal(size=(2, 14))) + 0.05, 3).tolist()
    yield "error_factor", {"errors": errors, "se": se, "families": _families(14, 2)}
    x, y = _numbers(rng, 2, 12, trait=1.0)
    for margin in (0.1, 0.6, 1.5):
        yield "equivalence", {"x": x, "y": y, "margin": margin, "n_effective": 9}


def _validity(rng: np.random.Generator) -> Calls:
    for r12, r13, r23, n in ((0.5, 0.3, 0.4, 40), (-0.2, 0.6, 0.1, 12), (0.5, 0.5, 1.0, 9)):
        for n_effective in (None, 8.5):
            correlations = {"r12": r12, "r13": r13, "r23": r23}
            yield "williams_test", {**correlations, "n": n, "n_effective": n_effective}
    yield "williams_test", {"r12": 0.9, "r13": 0.2, "r23": 0.1, "n": 4}
    traits, methods = ["a", "a", "b", "b", "c", "c"], ["m", "n"] * 3
    measures = _numbers(rng, 6, 14, scale=0.5, trait=1.0)
    columns = np.array(measures).T.tolist()
    yield "multitrait_multimethod", {"scores": columns, "traits": traits, "methods": methods}
    yield "htmt", {"scores": columns, "groups": traits, "trait": "a", "other_trait": "b"}
    matrix = np.round(np.corrcoef(np.array(measures)), 3).tolist()
    groups = {"groups": traits, "trait": "b", "other_trait": "c"}
    yield "htmt_from_correlations", {"correlation": matrix, **groups}
    few = {"scores": np.array(measures).T[:3].tolist(), "traits": traits, "methods": methods}
    yield "multitrait_multimethod", few
    human = _numbers(rng, 24, trait=1.5)
    metrics = {name: _numbers(rng, 24, trait=t) for name, t in (("m", 2.0), ("n", 1.0), ("o", 0.2))}
    clusters = [f"p{k // 2}" for k in range(24)]
    yield "metrics_beside_people", {"metrics": metrics, "human": human, "clusters": clusters}
    yield "metrics_beside_people", {"metrics": metrics, "human": human}
    for value, n in ((0.6, 40), (-0.1, 20)):
        arguments = {"value": value, "low": value - 0.2, "high": value + 0.15}
        yield "with_raters", {**arguments, "replicates": _numbers(rng, n, scale=0.1)}
    yield "labels_needed", {"target": 0.02, "residual": 0.11, "true": 0.2}
    k, total = rng.integers(0, 3, size=20), rng.integers(2, 5, size=20)
    total[4] = 0
    counts = {"n_differing": np.minimum(k, total).tolist(), "n_others": total.tolist()}
    yield "errors_from_disagreement", counts
    yield "errors_from_disagreement", {"n_differing": [0] * 5, "n_others": [2] * 5}
    yield "errors_from_disagreement", {"n_differing": [2, 1, 2], "n_others": [2, 2, 2]}
    errors = np.round(0.05 + 0.4 * rng.random(30), 3)
    scores = rng.integers(0, 2, size=30).astype(float).tolist()
    for labels, tau in ((6.0, 0.8), (15.0, 0.3)):
        yield "active_probabilities", {"errors": errors.tolist(), "labels": labels, "tau": tau}
        chances = np.round(np.clip(errors * labels / 10, 0.05, 1), 3).tolist()
        arguments = {"scores": scores, "errors": errors.tolist(), "probabilities": chances}
        yield "expected_width", arguments
        effects = {"label_design_effect": 1.3, "answer_design_effect": 1.7, "level": 0.9}
        yield "expected_width", {**arguments, **effects}
    yield "active_probabilities", {"errors": errors.tolist(), "labels": 8.0}
    for accuracy, yes_rate, base in ((0.8, 0.55, 0.5), (0.7, 0.3, 0.4), (0.75, 0.75, 0.5)):
        rates = {"accuracy": accuracy, "yes_rate": yes_rate, "base_rate": base}
        for n_items in (None, 300):
            yield "signal_detection_from_rates", {**rates, "n_items": n_items}
    yield "signal_detection_from_rates", {"accuracy": 0.9, "yes_rate": 0.99, "base_rate": 0.5}
    for yes_rate in (0.6005, 0.6018, 0.6025, 0.4):
        rates = {"accuracy": 0.9, "yes_rate": yes_rate, "base_rate": 0.5}
        yield "signal_detection_from_rates", rates
    yield (
        "signal_detection",
        dict(
            zip(
                ("hits", "misses", "false_alarms", "correct_rejections"),
                (40, 9, 0, 31),
                strict=True,
            )
        ),
    )
    yield "position_bias", {"counts": [12, 7, 15, 6], "expected": [10, 10, 11, 9]}
    a, b = rng.integers(0, 2, size=(2, 4, 60)).astype(float)
    b[:, 30:] = np.nan
    labels = [[None if math.isnan(v) else v for v in row] for row in b.tolist()]
    for min_labels in (10, 50):
        arguments = {"automatic": a.tolist(), "human": labels, "min_labels": min_labels}
        yield "ppi_scores", {**arguments, "level": 0.9}


def _items(rng: np.random.Generator) -> Calls:
    scores = np.linspace(1, 5, 5)[:, None] + rng.normal(size=(5, 20))
    yield "reversed_items", {"scores": np.round(scores, 2).tolist()}
    for respondents, groups in ((8, None), (10, ["s", "t"])):
        ability = np.linspace(1, 5, respondents)[:, None]
        scores = np.clip(np.round(ability + rng.normal(size=(respondents, 120))), 1, 5)
        scores[:, [4, 30]] = 6 - scores[:, [4, 30]]
        if groups:
            # a type in which strong respondents are weak is a rest of its own
            scores[:, 60:] = 6 - scores[:, 60:]
        arguments: dict[str, Any] = {"scores": scores.astype(int).tolist()}
        if groups:
            arguments |= {"groups": [groups[k // 60] for k in range(120)], "n_eff": 7.5}
        yield "reversed_items", arguments
    scores = _answers(rng, 9, 30)
    yield "item_analysis", {"scores": scores, "alpha": 0.2}
    types = ["s", "t", "u"] * 10
    yield (
        "differential_functioning",
        {
            "scores": _answers(rng, 16, 30),
            "parts": types,
            "groups": ["a", "b"] * 8,
        },
    )
    yield "subscore_value", {"scores": _answers(rng, 24, 30), "labels": types, "level": 0.9}
    for sem in (0.02, 0.05):
        yield "items_for_error", {"sem": sem, "rate": 0.8}
    yield "label_error_candidates", {"scores": scores, "permutations": 200}
    yield (
        "contradicted_items",
        {
            "automatic": _answers(rng, 12, 10),
            "human": _answers(rng, 12, 10),
        },
    )


def _variance(rng: np.random.Generator) -> Calls:
    for respondents, forms, runs, judge, labels in ((6, 2, 2, 0.02, 0.1), (12, 5, 1, None, None)):
        scores = [[_answers(rng, respondents, 24) for _ in range(forms)] for _ in range(runs)]
        yield (
            "forecasts",
            {
                "scores": [[[*form] for form in run] for run in scores],
                "pictures": [f"p{k // 2}" for k in range(24)],
                "families": _families(respondents, 2),
                "judge": judge,
                "labels": labels,
            },
        )
    first, second = _numbers(rng, 2, 9, trait=1.0)
    yield "metric_band", {"scores": first, "second_scores": second}
    for correlation in (0.0, 0.3, 0.7, 0.9):
        first, second = ([[_answers(rng, 14, 30)]] for _ in range(2))
        arguments = {"scores": first, "other_scores": second, "correlation": correlation}
        yield "two_studies", arguments


def _inference(rng: np.random.Generator) -> Calls:
    for respondents, size in ((12, 2), (15, 3), (12, 1)):
        scores = np.array(_numbers(rng, respondents)) + np.repeat(
            _numbers(rng, respondents // size), size
        )
        arguments = {"scores": np.round(scores, 3).tolist()}
        yield "family_dependence", {**arguments, "families": _families(respondents, size)}
    related = np.repeat(np.linspace(0, 5, 6), 2) + 0.3 * rng.normal(size=12)
    arguments = {"scores": np.round(related, 3).tolist(), "families": _families(12, 2)}
    yield "family_dependence", arguments
    chosen = rng.random((70, 3)) < 0.4
    values = np.round(rng.normal(size=(70, 3)) - 0.4 * chosen, 3)
    yield "rank_sum_p", {"selected": chosen.tolist(), "values": values.tolist()}
    errors = np.round(0.3 + 0.2 * rng.random(6), 3).tolist()
    for level in (0.95, 0.8):
        scores = _numbers(rng, 6, scale=2.0)
        yield "independent_differences", {"scores": scores, "errors": errors, "level": level}
    for mean, n in (("0.47", 30), ("3.44", 18), ("61.3", 40), ("0.5", 7)):
        scale = 100 if float(mean) > 10 else 1
        yield "grim", {"mean": mean, "n": n, "scale": scale}
    for shift in (0.0, 0.2):
        precision, recall = np.round(0.5 + 0.4 * rng.random((2, 5)), 3)
        f1 = np.round(2 * precision * recall / (precision + recall) + shift, 3)
        yes = np.round(0.5 * recall / precision, 3)
        accuracy = np.round(0.5 * recall + 0.5 - (yes - 0.5 * recall), 3)
        columns = ["accuracy", "precision", "recall", "f1", "yes"]
        values = np.stack([accuracy, precision, recall, f1, yes], axis=1)
        arguments = {"rows": [f"m{k}" for k in range(5)], "columns": columns}
        texts = [[f"{value:.3f}" for value in row] for row in values]
        yield "check_table", {**arguments, "values": texts, "n": 500}
        texts[3] = texts[1]
        yield "check_table", {**arguments, "values": texts, "n": 60}
    for decimals, scale in ((1, 100.0), (3, 1.0)):
        base = 0.5 + 0.02 * np.array([0, 0, 0, 4, -5])
        precision, recall = 0.6 + 0.35 * rng.random((2, 5))
        yes = base * recall / precision
        accuracy = 1 - base * (1 + recall / precision - 2 * recall)
        printed = scale * np.stack([precision, recall, base, accuracy, yes], axis=1)
        arguments = {"printed": np.round(printed, decimals).tolist(), "decimals": decimals}
        yield "columns_of_a_table", {**arguments, "scale": scale}
    yield "minimum_detectable_difference", {"se": 0.02, "tests": 3.0, "clusters": 9}
    yield "conditional_errors", {"scores": _answers(rng, 8, 20)}
    yield "paired_differences", {"scores": _answers(rng, 6, 24), "level": 0.8}


if __name__ == "__main__":
    lines = map(partial(json.dumps, ensure_ascii=False), cases())
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
