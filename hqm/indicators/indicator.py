"""The families of indicators: which administrations are looked at, and so what the name of an
estimate begins with.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from hqm.indicators.cases import Case
from hqm.psychometrics import Coefficient
from hqm.psychometrics.result import Status
from hqm.scoring.metrics import Better


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
    "Same judge, second time",
    "the facet `judge` differs: the same judge, a second time, about the same answers",
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
SOLVABILITY = Family("solvability", "Without seeing", "what the questions alone give away")
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


@dataclass(frozen=True, slots=True)
class Unit:
    """What an indicator's value counts or measures, and the least and greatest value it can have.

    Reports write the text beside the number; reading an audit refuses a value outside the ends.
    """

    text: str
    minimum: float = -math.inf
    maximum: float = math.inf
    kind: Literal["", "score", "share"] = ""
    """Scores are shown in the metric's units, and shares in percent."""


SCORE = Unit("in the metric's units", kind="score")
SCORE_WIDTH = Unit("in the metric's units", 0, kind="score")
SHARE = Unit("share", 0, 1, kind="share")
SHARE_DIFFERENCE = Unit("share", -1, 1, kind="share")
SHARE_OF_REST = Unit("share", maximum=1, kind="share")
"""Below blind answers there is no end: all wrong where they are right nine times of ten is −9."""
CORRELATION = Unit("correlation, −1 to 1", -1, 1)
AGREEMENT = Unit("agreement, 1 is full", -1, 1)
RELIABILITY = Unit("reliability, 1 is full", -1, 1)
"""Below -1 both say no more than that the scores go against one another."""
ITEM_COUNT = Unit("items", 0)
ANSWER_COUNT = Unit("answers", 0)
CUES = Unit("cues", 0)
TYPE_COUNT = Unit("types", 0)
LABEL_COUNT = Unit("labels a respondent", 0)
WORDS = Unit("words")
P_VALUE = Unit("p-value", 0, 1)
DEVIATIONS = Unit("standard deviations")
LOGITS = Unit("logits", 0)
ELASTICITY = Unit("percent of score per percent of length")
LEANING = Unit("leaning, 0 is none")
CRAMER = Unit("Cramer's V, 0 is none", 0, 1)


class Study(Protocol):
    """A result of `hqm.psychometrics`, which says whether it exists and why not."""

    @property
    def status(self) -> Status: ...
    @property
    def reason(self) -> str: ...


class Absence(NamedTuple):
    """Why a case has no number.

    Without a reason, the audit does not list the indicator for this case.
    """

    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """What a case must have before an indicator is computed."""

    description: str
    """In words, for the indicator's page."""
    check: Callable[[Case], Absence | None]
    """Why the case does not have it; None where it does."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a computation gives: the coefficient, and what an estimate says beside it."""

    coefficient: Coefficient
    detail: Mapping[str, object] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    inference: str = "model_population"
    """What the coefficient's own interval generalises over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Indicator:
    """One statistic of the families that estimate it; an estimate is named `family.name`.

    Parameters
    ----------
    name, title
        As in `audit.json`, and as reports write it (the name with spaces unless given).
    unit
        What stands beside its number in reports, and the range of its values.
    meaning
        One sentence that says what the number is.
    family, headline
        The families that estimate it, and those of them for which a terminal shows it.
    compute
        The number of a case that has everything in `needs`. A docstring of the function is shown on
        the page.
    explains
        The functions of `hqm.psychometrics` that `compute` calls, the leading one first; the page
        shows them.
    needs
        What a case must have, in the order in which it is asked for.
    better, digits
        Which direction is good, and how many decimals reports show.
    one_sided
        Whether it compares variances or orders of respondents, so that of other respondents only a
        lower end is known (`psychometrics.add_lower_bound`).
    repeats
        Whether it is 1 by construction where answers are drawn without chance, so that it then says
        nothing.
    details
        What its details are called, with the range of each, where a name of the table in
        `hqm.auditing.audit_rows` means something else here.
    on_page
        Whether reports show it. One coefficient is there for each question; `audit.json` and
        Python have the others too.
    over_runs
        Whether it looks at the means of graded scores over all runs of the form, where there are
        several; its signature then names them.
    """

    name: str
    unit: Unit
    title: str = ""
    meaning: str
    family: tuple[Family, ...]
    compute: Callable[[Case], Result | Coefficient | float]
    explains: tuple[Callable[..., object], ...]
    needs: tuple[Need, ...] = ()
    better: Better = "higher"
    digits: int = 3
    headline: tuple[Family, ...] = ()
    repeats: bool = False
    one_sided: bool = False
    details: Mapping[str, Unit] = field(default_factory=dict)
    on_page: bool = True
    over_runs: bool = False

    def __post_init__(self) -> None:
        # The class is frozen, and a default that follows from the name can be set in no other way.
        object.__setattr__(self, "title", self.title or self.name.replace("_", " "))

    @property
    def facet(self) -> tuple[str, ...]:
        """The facets that differ where it is estimated."""
        # Each once, in the order of the families, which the pages keep.
        return tuple(dict.fromkeys(family.facet for family in self.family if family.facet))

    @property
    def family_names(self) -> tuple[str, ...]:
        """The names of the families that estimate it."""
        return tuple(family.name for family in self.family)


def result(
    value: Coefficient | float,
    /,
    *,
    flags: tuple[str, ...] = (),
    inference: str = "model_population",
    **detail: object,
) -> Result:
    """A number with what stands beside it."""
    return Result(
        value if isinstance(value, Coefficient) else Coefficient(value), detail, flags, inference
    )


def to_coefficient(value: float, study: Study | None = None, missing: str = "") -> Coefficient:
    """A number of a study, or the study's own reason where it has none.

    A value that is not finite is reported as degenerate where `missing` gives the reason for it.
    """
    if study is not None and study.status != "ok":
        # A study's own reason is nearer to the cause than that of the indicator which reads it.
        return Coefficient.absent(study.status, study.reason or missing)
    if missing and not math.isfinite(value):
        return Coefficient.absent(
            "degenerate", (study.reason if study is not None else "") or missing
        )
    return Coefficient(value)


def need(
    description: str,
    condition: Callable[[Case], bool],
    reason: str | Callable[[Case], str] = "",
    status: Status = "not_applicable",
) -> Need:
    """A need that a question about the case decides; `{metric}` and `{n}` (respondents) are filled
    into the reason.
    """

    def check(case: Case) -> Absence | None:
        if condition(case):
            return None
        if callable(reason):
            # Computed only where it is needed: a reason may count what a case lacks.
            return Absence(status, reason(case))
        return Absence(status, reason.format(metric=case.metric.name, n=len(case.respondents)))

    return Need(description, check)


def need_study(
    description: str,
    study: Callable[[Case], Study],
    missing: Callable[[Case], bool] | None = None,
    reason: str = "",
) -> Need:
    """The need that a study of the case came out; its own status and reason say why it did not.

    `missing` says that a study which came out has no number all the same, for this `reason`.
    """

    def check(case: Case) -> Absence | None:
        # Cached, since needs and computations of several indicators ask for the same study.
        outcome = case.cached(study)
        if outcome.status != "ok":
            return Absence(outcome.status, outcome.reason or reason)
        if missing is not None and missing(case):
            return Absence("degenerate", outcome.reason or reason)
        return None

    return Need(description, check)


def _reason_no_item_scores(case: Case) -> str:
    """Why single items have no score of their own whose mean is the score."""
    if case.metric.group:
        return (
            f"{case.metric.name} scores the items of each {case.metric.group} together, and single"
            " items have no score of their own in it"
        )
    return case.reason_no_mean


MEAN_OF_ITEMS = need(
    "a metric that is a mean of item scores, whatever their range",
    lambda case: case.additive and not case.metric.group,
    _reason_no_item_scores,
)
ADDITIVE = need(
    "a metric that is a mean of item scores, whatever their range",
    lambda case: case.additive,
    lambda case: case.reason_no_mean,
)
SHARE_OF_ITEMS = need(
    "a metric that is a share of right answers",
    lambda case: case.metric.share and case.additive and not case.metric.group,
    lambda case: (
        _reason_no_item_scores(case)
        or f"{case.metric.name} is no share of right answers, with which labels are compared"
    ),
)
PAIR = need("two administrations", lambda case: len(case.matrices) == 2 and not case.is_joint)
RUNS = need("two runs of the same form", lambda case: case.is_joint)


# --- all indicators ---

# Every indicator that the modules of this package list, by family and by name; nothing is written
# twice.


@lru_cache(maxsize=1)
def all_indicators() -> tuple[Indicator, ...]:
    """What the modules of `hqm.indicators` list under `indicators`, by the modules' names: in this
    order audits have them.
    """
    # The package's own `__init__` imports this module, so it cannot be imported by name at the top.
    package = sys.modules[__name__.rpartition(".")[0]]
    indicators: list[Indicator] = []
    # Sorted, since the order of a folder differs between file systems, and that of an audit must
    # not.
    for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
        module = importlib.import_module(f"{package.__name__}.{name}")
        indicators += getattr(module, "indicators", ())
    return tuple(indicators)


@lru_cache(maxsize=64)
def family_indicators(family: str) -> tuple[Indicator, ...]:
    """The indicators of one family, in the order of an audit."""
    return tuple(indicator for indicator in all_indicators() if family in indicator.family_names)


def indicator_named(name: str) -> Indicator | None:
    """Return the indicator of this name.

    Parameters
    ----------
    name
        With its family (`test_retest.pearson`) or without (`pearson`).

    Returns
    -------
    Indicator or None
        None where there is none of this name.
    """
    family, _, statistic = name.rpartition(".")
    listed = family_indicators(family) if family else all_indicators()
    return next((indicator for indicator in listed if indicator.name == statistic), None)


def is_on_page(estimate: str) -> bool:
    """Whether reports show an estimate of this name (`Indicator.on_page`)."""
    indicator = indicator_named(estimate)
    return indicator is None or indicator.on_page


def statistics() -> Mapping[str, Indicator]:
    """Name -> indicator, every name once, by families as reports show them."""
    family_order = {name: position for position, name in enumerate(INDICATOR_FAMILIES)}
    listed = sorted(
        all_indicators(),
        key=lambda indicator: family_order.get(indicator.family[0].name, len(family_order)),
    )
    names: dict[str, Indicator] = {}
    for indicator in listed:
        # Families share names, such as `icc_a1` of a pair and of three runs or more: the first
        # family in reports names it.
        names.setdefault(indicator.name, indicator)
    return names


# Last in the module, since the modules that list indicators import the names above. Of the package
# only `comparisons` is half imported then, which lists none.
INDICATORS: Mapping[str, str] = {
    name: indicator.meaning for name, indicator in statistics().items()
}
"""Name -> meaning."""
