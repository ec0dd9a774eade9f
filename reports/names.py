"""What families and statistics are called in reports, and which of them a terminal shows."""

from __future__ import annotations

FAMILIES = {
    "test_retest": "Test-retest",
    "parallel_forms": "Parallel forms",
    "criterion": "Criterion",
    "judge_consistency": "Judge asked again",
    "judge_agreement": "Another judge",
    "blindness": "Without the picture",
    "consistency": "Internal consistency",
    "generalizability": "Generalizability",
    "discriminability": "Discriminability",
    "items": "Items",
    "solvability": "Without seeing",
    "types": "Types",
    "expected": "Expected from probabilities",
}
STATISTICS = {
    "pearson": "Pearson r",
    "pearson_same_items": "Pearson r, judged items alone",
    "spearman": "Spearman's rho",
    "tau_b": "Kendall's tau-b",
    "icc_a1": "ICC(A,1), agreement",
    "icc_c1": "ICC(C,1), consistency",
    "ccc": "Lin's concordance",
    "kendall_w": "Kendall's W",
    "noise_floor": "noise floor r0",
    "rho_g": "rho_G, one run",
    "rho_g_1000": "rho_G at 1,000 items",
    "gain": "gain over coin flips",
    "sem": "standard error of measurement",
    "mdc95": "smallest real difference",
    "alpha": "Cronbach's alpha",
    "alpha_types": "alpha over types",
    "kr21": "KR-21",
    "lambda2": "Guttman's lambda-2",
    "omega_types": "omega over types",
    "phi": "Phi, absolute",
    "g": "G, relative",
    "d_prime_shift": "d' shift",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
    "kappa": "Cohen's kappa",
    "labels_needed": "labels a respondent for .90",
    "rogan_gladen": "corrected for the scorer's errors",
    "prediction_powered": "corrected by people (prediction-powered)",
    "above_chance": "above blind answers",
    "yes_ratio_shift": "yes-ratio shift",
    "length_shift": "length shift (words)",
}
"""Names that are more than their words; the others are shown with spaces in place of underscores."""
HEADLINES = {
    "test_retest": ("rho_g", "rho_g_1000", "noise_floor", "icc_a1", "pearson", "item_agreement", "pair_flip"),
    "parallel_forms": (
        "icc_a1",
        "pearson",
        "mean_shift",
        "item_agreement",
        "length_shift",
        "yes_ratio_shift",
        "acquiescence",
    ),
    "blindness": ("icc_a1", "pearson", "mean_shift"),
    "criterion": ("pearson", "pearson_same_items", "disattenuated", "item_agreement", "kappa"),
    "judge_consistency": ("icc_a1", "mean_shift", "judge_share", "krippendorff_alpha"),
    "judge_agreement": ("icc_a1", "mean_shift", "krippendorff_alpha"),
    "consistency": ("alpha", "omega_types"),
    "generalizability": ("g", "phi"),
    "discriminability": ("separable_pairs", "minimum_difference", "above_chance"),
    "items": ("discrimination", "negative_items", "label_errors", "dead_items"),
    "solvability": ("blind_accuracy", "leakage_cues"),
    "types": ("index", "effective"),
    "expected": ("reliability",),
}
"""The statistics that a terminal shows, family by family; the report and the JSON have all."""
TASKS = {"yes_no": "yes/no", "choice": "multiple choice", "caption": "captioning", "vqa": "short answers"}
COUNTS = (
    "duplicate_items",
    "negative_items",
    "label_errors",
    "dead_items",
    "misfit_items",
    "leakage_cues",
    "added_value",
    "labels_needed",
)
"""Statistics that count something."""


def statistic_name(statistic: str) -> str:
    """A statistic in words.

    >>> statistic_name("icc_a1"), statistic_name("mean_shift")
    ('ICC(A,1), agreement', 'mean shift')
    """
    return STATISTICS.get(statistic, statistic.replace("_", " "))
