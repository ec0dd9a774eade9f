"""What families, statistics and tasks are called in reports; all but the tasks is read from the indicators themselves."""

from __future__ import annotations

import re

from hqm import INDICATOR_FAMILIES, indicator_named

FAMILIES = {name: family.title for name, family in INDICATOR_FAMILIES.items()}
"""Family -> what reports call it, in the order in which they show it."""
TASKS = {"yes_no": "yes/no", "choice": "multiple choice", "caption": "captioning", "vqa": "short answers"}


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
        return f"{FAMILIES[family]}, {statistic_name(statistic)}" if family in FAMILIES else match.group(0)

    return re.sub(r"\b([a-z_]+)\.([a-z_0-9]+)\b", words, sentence)
