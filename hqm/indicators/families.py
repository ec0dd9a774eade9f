"""The families of indicators: which administrations are looked at, and so what the name of an
estimate begins with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """A group of indicators that look at the same administrations."""

    name: str
    title: str
    """What reports call it."""
    differs: str
    """Which administrations it looks at, and in what they differ."""
    facet: str = ""
    """The facet that differs; empty where one administration is looked at by itself."""


TEST_RETEST = Family("test_retest", "Test-retest", "the facet `run` differs", "run")
PARALLEL_FORMS = Family("parallel_forms", "Parallel forms", "the facet `form` differs", "form")
CRITERION = Family(
    "criterion", "Criterion", "the facet `judge` differs: people labelled the answers", "judge"
)
ORACLE = Family(
    "oracle",
    "Oracle (no people)",
    "the facet `judge` differs: an oracle or another rule labelled the answers from the same key,"
    " which says nothing about validity (`not_informative`)",
    "judge",
)
JUDGE_CONSISTENCY = Family(
    "judge_consistency",
    "Judge asked again",
    "the facet `judge` differs: the same judge asked again about the same answers",
    "judge",
)
JUDGE_AGREEMENT = Family(
    "judge_agreement",
    "Another judge",
    "the facet `judge` differs: another model judged the same answers",
    "judge",
)
STAGES = Family(
    "stages",
    "Stages of a judge",
    "the facet `judge` differs: people labelled the sub-sentences and facts that single roles of a"
    " judge decide",
    "judge",
)
BLINDNESS = Family("blindness", "Without the picture", "the facet `sight` differs", "sight")
RESOLUTION = Family(
    "resolution", "Smaller pictures", "the facet `resolution` differs", "resolution"
)
CONSISTENCY = Family(
    "consistency",
    "Internal consistency",
    "one administration: how far items, and types, measure the same thing",
)
GENERALIZABILITY = Family(
    "generalizability",
    "Generalizability",
    "all crossed administrations: how much of the variance each facet makes",
)
DISCRIMINABILITY = Family(
    "discriminability", "Discriminability", "one administration: which respondents it separates"
)
ITEMS = Family("items", "Items", "one administration: what single items contribute")
SOLVABILITY = Family(
    "solvability", "Without seeing", "the questions alone: what can be known without a picture"
)
TYPES = Family(
    "types", "Types", "the items alone: what is covered, and what each type's score is worth"
)
EXPECTED = Family(
    "expected",
    "Expected from probabilities",
    "one administration with probabilities: what reruns would show, without asking again",
)

SHORT_FORM = Family(
    "short_form",
    "Short form",
    "one administration of a short form: what it says on the full benchmark's scale, and what it"
    " loses",
)

INDICATOR_FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        TEST_RETEST,
        PARALLEL_FORMS,
        CRITERION,
        ORACLE,
        JUDGE_CONSISTENCY,
        JUDGE_AGREEMENT,
        STAGES,
        BLINDNESS,
        RESOLUTION,
        CONSISTENCY,
        GENERALIZABILITY,
        DISCRIMINABILITY,
        ITEMS,
        SOLVABILITY,
        TYPES,
        EXPECTED,
        SHORT_FORM,
    )
}
"""Every family by its name, in the order in which reports show them."""
JUDGES = (CRITERION, ORACLE, JUDGE_CONSISTENCY, JUDGE_AGREEMENT)
"""The families that compare two judgements of the same answers."""
ONE_SCALE = (TEST_RETEST, PARALLEL_FORMS, JUDGE_CONSISTENCY, JUDGE_AGREEMENT, BLINDNESS, RESOLUTION)
"""The families that compare two administrations on one scale; people's share of right answers may
have another.
"""
PAIRS = (*ONE_SCALE, CRITERION, ORACLE)
"""The families that compare two administrations."""
