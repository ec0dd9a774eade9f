"""The questions that the indicators answer: the menu's groups, and the decision that each group
serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hqm.indicators import statistics


@dataclass(frozen=True, slots=True)
class Question:
    """A group of indicators: the question, the decision that waits for the answer, and the
    names.
    """

    title: str
    decision: str
    names: tuple[str, ...]


QUESTIONS = (
    Question(
        "Do scores repeat?",
        "whether one run is enough, or runs or items must be added before two models are compared",
        tuple(
            "rho_g rho_g_1000 noise_floor gain sem mdc95 drift same_winner top_k pair_flip"
            " expected_tau reliability".split()
        ),
    ),
    Question(
        "Do two administrations agree?",
        "whether scores from another run, wording or judge may stand in one table with these",
        tuple(
            "icc_a1 icc_c1 pearson spearman tau_b mean_shift limits_of_agreement item_agreement ccc"
            " icc_11 icc_1k icc_ak icc_ck".split()
        ),
    ),
    Question(
        "Does the wording move them?",
        "whether a leaderboard must fix the wording, or average over several",
        tuple(
            "form_correlation icc_a1_of_forms phi_of_forms form_heterogeneity equivalence"
            " acquiescence coherence balanced_score yes_ratio_shift d_prime_shift criterion_shift"
            " length_shift length_elasticity position_bias released_advantage".split()
        ),
    ),
    Question(
        "Do they follow people?",
        "whether the scores may be cited as hallucination in people's sense, and how many labels"
        " that takes",
        tuple(
            "disattenuated ceiling pearson_same_items sensitivity specificity kappa"
            " judge_functioning prediction_powered rogan_gladen labels_needed contradicted_items"
            " pearson_given_length within_respondents labelled_answers labels_at_random accuracy"
            " answers_pearson answers_spearman answers_tau_b items_pearson items_spearman"
            " items_tau_b decided_alike precision recall f1".split()
        ),
    ),
    Question(
        "Do raters and judges agree?",
        "whether one judge or rater is enough, and whose labels to trust",
        tuple(
            "human_agreement fleiss_kappa rater_share krippendorff_alpha gwet_ac1 flip_rate"
            " judge_share".split()
        ),
    ),
    Question(
        "Do the items hang together?",
        "whether one total is a fair summary, and how many items it needs",
        tuple(
            "alpha omega_types alpha_types split_half alpha_standardized g phi own_strengths".split()
        ),
    ),
    Question(
        "Which models are separated?",
        "which differences on the leaderboard may be claimed",
        tuple(
            "separable_pairs separable_adjacent minimum_difference minimum_difference_holm lead"
            " above_chance headroom solved_by_all measures_up_to".split()
        ),
    ),
    Question(
        "Which items are bad?",
        "which items to read, mend or leave out before a release",
        tuple(
            "reading_list label_errors negative_items discrimination dead_items misfit_items"
            " duplicate_items older_advantage".split()
        ),
    ),
    Question(
        "Is the picture needed?",
        "whether a high score shows sight, or knowledge of how the questions were made",
        tuple("blind_accuracy length_accuracy leakage_cues".split()),
    ),
    Question(
        "Which types are covered?",
        "whether scores by hallucination type may be reported beside the total",
        tuple("index effective added_value family_types family_keys".split()),
    ),
    Question(
        "Would fewer items do?",
        "whether a short form may stand for the full benchmark, and with what loss",
        tuple("full_scale mean_error tau coverage parallel_reliability".split()),
    ),
)


def grouped() -> Mapping[str, Sequence[str]]:
    """Question -> its statistics; those that no question names stand under Others."""
    asked = {question.title: list(question.names) for question in QUESTIONS}
    named = {name for names in asked.values() for name in names}
    others = [name for name in statistics() if name not in named]
    return asked | ({"Others": others} if others else {})


def question_of(name: str) -> Question | None:
    """The question that a statistic answers."""
    return next((question for question in QUESTIONS if name in question.names), None)
