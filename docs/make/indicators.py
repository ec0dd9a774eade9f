"""One page a statistic, from the catalogue and the docstrings of the functions that compute it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from hqm import indicators, psychometrics
from hqm.indicators.catalogue import FAMILIES, INDICATORS
from make.text import described, prose, table

FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "pearson": ("pearson",),
    "pearson_same_items": ("pearson", "criterion_validity"),
    "spearman": ("spearman",),
    "tau_b": ("kendall_tau_b",),
    "icc_a1": ("icc",),
    "icc_c1": ("icc",),
    "ccc": ("concordance",),
    "kendall_w": ("kendall_w",),
    "noise_floor": ("noise_floor",),
    "rho_g": ("rho_g", "rho_g_of_scores"),
    "rho_g_1000": ("standardized_reliability", "spearman_brown", "items_needed"),
    "gain": ("noise_floor", "rho_g"),
    "drift": ("drift_test",),
    "sem": ("rho_g",),
    "mdc95": ("rho_g",),
    "limits_of_agreement": ("bland_altman",),
    "equivalence": ("equivalence", "equivalence_margin"),
    "item_agreement": ("item_agreement",),
    "mean_shift": ("mean_shift", "bias_test"),
    "yes_ratio_shift": ("mean_shift",),
    "length_shift": ("mean_shift",),
    "length_elasticity": ("length_elasticity",),
    "same_winner": ("rank_stability",),
    "top_k": ("rank_stability", "top_k_overlap"),
    "pair_flip": ("rank_stability", "pair_order"),
    "expected_tau": ("rank_stability",),
    "form_heterogeneity": ("shift_heterogeneity", "shift_heterogeneity_of_scores"),
    "form_correlation": ("form_reliability",),
    "acquiescence": ("acquiescence",),
    "balanced_score": ("balanced_score",),
    "coherence": ("pair_coherence",),
    "d_prime_shift": ("signal_detection", "signal_detection_from_rates"),
    "criterion_shift": ("signal_detection", "signal_detection_from_rates"),
    "position_bias": ("position_bias",),
    "judge_share": ("judge_share",),
    "krippendorff_alpha": ("krippendorff_alpha",),
    "human_agreement": ("krippendorff_alpha", "gwet_ac1"),
    "gwet_ac1": ("gwet_ac1",),
    "flip_rate": ("flip_rate",),
    "disattenuated": ("criterion_validity",),
    "ceiling": ("criterion_validity",),
    "judge_functioning": ("judge_errors",),
    "sensitivity": ("judge_errors",),
    "specificity": ("judge_errors",),
    "kappa": ("judge_errors", "table_agreement"),
    "prediction_powered": ("ppi_scores",),
    "rogan_gladen": ("rogan_gladen_scores", "rogan_gladen"),
    "labels_needed": ("labels_needed",),
    "alpha": ("cronbach_alpha",),
    "alpha_types": ("cronbach_alpha",),
    "kr21": ("kr21",),
    "lambda2": ("lambda2",),
    "omega_types": ("omega_t",),
    "split_half": ("split_half",),
    "stratified_alpha": ("stratified_alpha",),
    "phi": ("g_study", "d_study"),
    "g": ("g_study", "d_study"),
    "separable_pairs": ("paired_differences", "holm"),
    "separable_adjacent": ("paired_differences", "holm"),
    "minimum_difference": ("minimum_detectable_difference", "items_for_gap"),
    "levels": ("separation",),
    "lead": ("resample",),
    "headroom": ("saturation",),
    "solved_by_all": ("saturation",),
    "above_chance": ("chance_corrected",),
    "discrimination": ("item_analysis",),
    "negative_items": ("item_analysis", "benjamini_hochberg"),
    "label_errors": ("label_error_candidates",),
    "dead_items": ("item_analysis",),
    "duplicate_items": ("duplicate_items",),
    "misfit_items": ("rasch",),
    "blind_accuracy": ("blind_solvability",),
    "leakage_cues": ("leakage_cues",),
    "index": ("type_coverage",),
    "effective": ("type_coverage",),
    "added_value": ("subscore_value", "prmse"),
    "reliability": ("expected_retest",),
}
"""Statistic -> the functions of `hqm.psychometrics` that compute it, the leading one first."""

HOW: Mapping[str, str] = {
    "gain": "`(rho_G - r0) / (1 - r0)`: 0 where the answers repeat no better than coin flips at each respondent's own"
    " rate, 1 where they are identical. The flag `NOISE_FLOOR` stands at .5 and below.",
    "rho_g_1000": "`rho_g` brought to 1,000 items by the formula of Spearman and Brown.",
    "sem": "The square root of the mean noise variance that `rho_g` finds; one value a respondent in the detail.",
    "mdc95": "1.96 times the square root of 2 times `sem`.",
    "dead_items": "Items whose difficulty is exactly 0 or 1.",
    "yes_ratio_shift": "The mean shift of each respondent's share of answers yes.",
    "length_shift": "The mean shift of each respondent's mean number of words.",
    "d_prime_shift": "The mean shift of each respondent's d'.",
    "criterion_shift": "The mean shift of each respondent's c.",
    "pearson_same_items": "The benchmark's scores on the labelled items alone, against the labels. It flatters: both"
    " sides share the luck of these items.",
    "judge_functioning": "Of the two tests of `judge_errors`, whether the judge errs alike on every respondent's answers.",
}
"""What a statistic does beside calling its function."""


def path(name: str) -> str:
    """Where a statistic's page lies; the statistic `index` is not the folder's first page."""
    return f"indicators/{'types_index' if name == 'index' else name}.md"


def index() -> str:
    """The list of all statistics and families."""
    head = (
        "# Indicators\n\nThe name of an estimate is a family and a statistic: `test_retest.pearson` is Pearson's"
        " correlation of the scores of two runs, `parallel_forms.pearson` that of two wordings. The family says which"
        " administrations are looked at, the statistic how.\n"
    )
    families = table(("family", "what differs, or what is looked at"), ((f"`{k}`", v) for k, v in FAMILIES.items()))
    rows = ((f"[`{name}`]({Path(path(name)).name})", about) for name, about in INDICATORS.items())
    return "\n".join([head, "## Families\n", *families, "## Statistics\n", *table(("statistic", "what it is"), rows)])


@lru_cache(maxsize=1)
def audited() -> frozenset[str]:
    """The statistics that an audit estimates: the names that the modules of `hqm.indicators` give to estimates."""
    folder = Path(inspect.getfile(indicators)).parent
    found: set[str] = set()
    for path in folder.glob("*.py"):
        if path.stem not in ("catalogue", "flags"):
            found |= {name for node in ast.walk(ast.parse(path.read_text("utf-8"))) for name in _given(node)}
    return frozenset(found & set(INDICATORS))


def _given(node: ast.AST) -> Iterator[str]:
    """The texts that a call is given, or that a loop goes over; the keys of a detail are neither."""
    values: list[ast.expr | None] = []
    if isinstance(node, ast.Call):
        values += node.args
    if isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Tuple):
        for element in node.iter.elts:
            values += element.elts if isinstance(element, ast.Tuple) else [element]
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Attribute):
        over = node.iter.func.value
        values += over.keys if isinstance(over, ast.Dict) else []
    yield from (v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str))


def page(name: str) -> str:
    """The page of one statistic."""
    return "\n".join(_page(name)) + "\n"


def _page(name: str) -> Iterator[str]:
    yield f"# {name}\n\n{prose(INDICATORS[name])}\n"
    if name in HOW:
        yield f"{HOW[name]}\n"
    functions = FUNCTIONS.get(name, ())
    yield (
        f"Statistic `{name}` of the [indicators](index.md): an audit estimates it wherever it exists, and says why where"
        " it does not.\n"
        if name in audited()
        else f"Statistic `{name}` of the [indicators](index.md): for use from Python; an audit does not estimate it.\n"
    )
    for function in functions:
        made = getattr(psychometrics, function)
        signature = _signature(function, inspect.signature(made))
        yield f"## `hqm.psychometrics.{function}`\n\n```text\n{signature}\n```\n"
        yield from described(inspect.getdoc(made) or "")


def _signature(name: str, signature: inspect.Signature) -> str:
    arguments, named = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            named = True
            arguments.append("*")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        arguments.append(f"{parameter.name}: {parameter.annotation}{default}")
    lines = "".join(f"    {argument},\n" for argument in arguments)
    return f"{name}(\n{lines}) -> {signature.return_annotation}"
