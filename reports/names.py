"""What families, statistics, tasks and flags are called in reports; families and statistics are
read from the indicators.
"""

from __future__ import annotations

import re

from hqm import INDICATOR_FAMILIES, indicator_named

FAMILIES = {name: family.title for name, family in INDICATOR_FAMILIES.items()}
"""Family -> what reports call it, in the order in which they show it."""
TASKS = {
    "yes_no": "yes/no",
    "choice": "multiple choice",
    "caption": "captioning",
    "vqa": "short answers",
}


FLAG_WORDS = {
    "FEW_MODELS": "few respondents",
    "FAMILY_DEPENDENCE": "relatives score alike",
    "DOMINANT_MODEL": "one respondent decides this",
    "RANGE_INFLATED": "the best lie too close together for this reliability",
    "NOISE_FLOOR": "single answers repeat little better than coin flips",
    "MEAN_SHIFT": "the mean moved",
    "DRIFT": "scores moved between runs",
    "DETERMINISTIC": "answers were drawn without chance",
    "EXPECTED": "computed from probabilities, not observed",
    "NON_PARALLEL": "below chance on the other form",
    "CEILING": "scores crowd at the upper end",
    "FLOOR": "scores crowd at the lower end",
    "CHANCE": "no better than a blind answer",
    "ATTENUATION": "the judged sample is short",
    "LENGTH_CONFOUND": "benchmarks of different length",
    "AVERAGED_COEFFICIENTS": "coefficients that must not be averaged",
    "UNPARSED": "answers without a score",
    "WITHHELD": "refused or empty answers are scored",
    "REVERSED": "one score was turned round",
    "NEGATIVE_COMPONENT": "a variance below zero was taken as zero",
    "MISSING": "items without a score",
    "REDUNDANT": "more items than the order of these respondents needs",
    "CAPPED": "the correlation was cut at 1",
    "JUDGE_DIF": "errs differently for different respondents",
    "LABELS_NOT_RANDOM": "people labelled no random sample",
    "STALE_LABELS": "labels of answers that have changed since",
    "RANK_DEFICIENT": "more items than respondents",
    "ZERO_VARIANCE_ITEMS": "some items do not vary",
    "HEYWOOD": "one type carries the factor alone",
    "UNBOUNDED": "an end of the interval does not exist",
}
"""Flag -> what reports say in its place; the constant stands behind it, for who looks it up."""


def flag_words(flag: str) -> str:
    """A flag in words.

    >>> flag_words("DOMINANT_MODEL"), flag_words("NEW_FLAG")
    ('one respondent decides this', 'new flag')
    """
    return FLAG_WORDS.get(flag, flag.replace("_", " ").lower())


def statistic_name(statistic: str) -> str:
    """A statistic in words.

    >>> statistic_name("icc_a1"), statistic_name("mean_shift")
    ('ICC(A,1), agreement', 'mean shift')
    """
    indicator = indicator_named(statistic)
    return indicator.title if indicator is not None else statistic.replace("_", " ")


def meaning_of(statistic: str) -> str:
    """What a statistic is, in a sentence; nothing for one that is not listed."""
    indicator = indicator_named(statistic)
    return indicator.meaning if indicator is not None else ""


def digits_of(statistic: str) -> int:
    """How many decimals a statistic is shown with.

    >>> digits_of("dead_items"), digits_of("pearson")
    (0, 3)
    """
    indicator = indicator_named(statistic)
    return indicator.digits if indicator is not None else 3


def is_headline(family: str, statistic: str) -> bool:
    """Whether a terminal shows this statistic; of a family that nobody lists it shows everything.

    >>> is_headline("test_retest", "rho_g"), is_headline("test_retest", "drift"), is_headline("agreement", "pearson")
    (True, False, True)
    """
    if family not in INDICATOR_FAMILIES:
        return True
    indicator = indicator_named(f"{family}.{statistic}")
    return indicator is not None and family in (shown.name for shown in indicator.headline)


def spelled_out(sentence: str) -> str:
    """A flag's sentence with the names of the indicators in words.

    >>> spelled_out("test_retest.gain is 0.272")
    'Test-retest, gain over coin flips is 0.272'
    """

    def words(match: re.Match[str]) -> str:
        family, statistic = match.group(1), match.group(2)
        return (
            f"{FAMILIES[family]}, {statistic_name(statistic)}"
            if family in FAMILIES
            else match.group(0)
        )

    return re.sub(r"\b([a-z_]+)\.([a-z_0-9]+)\b", words, sentence)
