"""A policy: what an audit must show before its benchmark's scores are published, and what to do
about what it does not show.

It is a TOML file. Two come with HQM, each with the reason for every threshold: `policy.toml` beside
this module is the default, `policy_release_small.toml` is for benchmarks of fewer than 1,000 items.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from scipy.special import stdtrit

from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.definitions import LeakShown
from hqm.errors import CardError, DataError, meant
from hqm.files.records import parse_toml, read_text
from hqm.indicators import INDICATOR_FAMILIES, indicator_named
from hqm.indicators.indicator import family_indicators
from hqm.psychometrics.inference.families import too_few_respondents
from hqm.psychometrics.items.cues import CHANCE_CUES, FREQUENT_ANSWER, OPTION_CUES, OPTION_TEXT
from hqm.psychometrics.reliability.consistency import lengthening
from hqm.psychometrics.reliability.score_dependability import MIN_WORDINGS
from hqm.text import check_name
from hqm.types import Estimate, Task

POLICIES: Mapping[str, str] = {
    "default": "policy.toml",
    "release-small": "policy_release_small.toml",
}
"""The policies that come with HQM, by the name that `--policy` takes."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Required(_Section):
    """`[required]`: what must have been administered."""

    facets: tuple[Literal["run", "form", "judge", "sight", "resolution"], ...] = ()
    """The facets that must have been varied."""
    respondents: int = Field(default=0, ge=0)
    """The least number of respondents."""
    fewer_items_than: int = Field(default=0, ge=0)
    """The policy is for benchmarks of fewer items than this; for all if 0."""


class Limits(_Section):
    """`[limits]`: how much may be missing or odd."""

    unscored: float = Field(default=1.0, ge=0, le=1)
    """The largest share of unscored answers in any administration."""
    findings: Literal["none", "note", "warning", "error"] = "error"
    """The gravest finding of `hqm check` (card, items, labels, pictures) that is let through."""
    leak: float = Field(default=1.0, ge=0, le=1)
    """How far guessing without the picture may beat chance or the commonest answer in any type or
    part: the lower end of the gain.
    """
    equal_within: float = Field(default=0.01, gt=0, lt=1)
    """Scores this close are called equal; a share of the metric's scale."""
    leak_found: float = Field(default=1.0, gt=0, le=1)
    """The gain that the audit must have been able to show, with 80% power, in all items together
    and, where scores by type are published (`coverage.by_type`), in every type and part.
    """


class Coverage(_Section):
    """`[coverage]`: what stands behind a type."""

    claimed: bool = False
    """Whether every type that the card claims must be measurable."""
    error: float = Field(default=1.0, gt=0, le=1)
    """The largest standard error of a claimed type's score in the audit; without answers, by its
    number of items.
    """
    items_a_type: int = Field(default=1, ge=1)
    """How many items each must have, whatever its error."""
    by_type: bool = True
    """Whether scores by type are published, so that each must keep the limits; else a type that
    does not is named as one whose own score is not published.
    """


class Precision(_Section):
    """`[precision]`: how exact a total score must be, as shares of the metric's scale."""

    error: float = Field(default=1.0, gt=0, le=1)
    """The largest standard error of a respondent's score over other items of the same kind; no
    limit if 1.
    """
    difference: float = Field(default=1.0, gt=0, le=1)
    """The difference between two respondents that one planned comparison must find with 80 %
    power; none if 1.
    """


class Passing(_Section):
    """`[passing]`: the score that a benchmark says a model must reach."""

    score: float = Field(default=0.0, ge=0, lt=1)
    """The lowest score that passes, a share of the metric's scale from its worse end; no such claim
    if 0.
    """
    consistency: float = Field(default=0.9, ge=0.5, lt=1)
    """The share of models that other items of the same kind must decide alike."""


class Requirement(_Section):
    """`[[require]]`: one threshold on one indicator, for every estimate of it."""

    indicator: str
    """Family and statistic, `test_retest.rho_g`.

    `criterion.*` needs labels by people; `oracle.*` may be asked for by that name.
    """
    metric: str = ""
    """Only this metric; all audited ones unless given."""
    interval: Literal["", "fixed_models", "model_population"] = ""
    """The interval of which an end is compared with the threshold; without that interval an
    estimate is NOT MEASURED.
    """
    detail: str = ""
    """In place of an interval of the estimate: the name of a [low, high] pair in its detail."""
    end: Literal["", "lower", "upper"] = ""
    """Which end; the unfavourable one unless given."""
    exact: bool = False
    """The number is a count of the data and has no interval: it is compared with the threshold
    itself.
    """
    optional: bool = False
    """Where the audit cannot measure it, the gate says so and may pass all the same."""
    at_least: float | None = None
    """The lower end must not lie below it."""
    at_most: float | None = None
    """The upper end must not lie above it."""
    within: float | None = Field(default=None, gt=0)
    """A margin of equivalence, declared here and not taken from the data: both ends must lie from
    -within to within. Of a difference of scores it is a share of the metric's scale.
    """
    tasks: tuple[Task, ...] = ()
    """The tasks it is asked of; all unless given."""
    reason: str = ""
    """Why this threshold: its source, or the use of the scores."""

    @model_validator(mode="after")
    def _check_alternatives(self) -> Requirement:
        if sum(bound is not None for bound in (self.at_least, self.at_most, self.within)) != 1:
            raise ValueError("name one of at_least, at_most and within")
        if self.within is not None and (self.exact or self.end):
            raise ValueError(
                "within asks for both ends of an interval: leave out `exact` and `end`"
            )
        if bool(self.interval) + bool(self.detail) + self.exact != 1:
            raise ValueError(
                "name one of interval, detail and exact: a point estimate is no evidence"
            )
        if indicator_named(self.indicator) is None:
            names: list[str] = []
            for family in INDICATOR_FAMILIES:
                names += [f"{family}.{indicator.name}" for indicator in family_indicators(family)]
            suggestion = meant(self.indicator, names)
            raise ValueError(
                f"no audit estimates {self.indicator!r}."
                f" {suggestion or '`hqm list indicators` shows what there is.'}"
            )
        self._check_bound()
        return self

    def _check_bound(self) -> None:
        """Refuse a threshold that every number of the indicator meets, or none.

        The pairs that `detail` names have units of their own. Of scores, a margin is a share of the
        metric's scale.
        """
        indicator = indicator_named(self.indicator)
        if indicator is None or self.detail:
            return
        minimum, maximum = indicator.unit.minimum, indicator.unit.maximum
        if self.rule == "within":
            is_score = indicator.unit.kind == "score"
            minimum, maximum = 0.0, 1.0 if is_score else max(abs(minimum), abs(maximum))
        if not minimum <= self.bound <= maximum:
            ends = f"{minimum:g} or more"
            if math.isfinite(maximum):
                ends = f"from {minimum:g} to {maximum:g}"
            raise ValueError(
                f"{self.rule} = {self.bound:g} decides nothing: {self.indicator} is {ends}"
            )

    @property
    def rule(self) -> Literal["at_least", "at_most", "within"]:
        """Which of the three kinds of threshold it is."""
        if self.at_least is not None:
            return "at_least"
        if self.at_most is None:
            return "within"
        return "at_most"

    @property
    def bound(self) -> float:
        """The threshold, whichever way it points."""
        return float(getattr(self, self.rule))


class Policy(_Section):
    """What an audit must show.

    Raises
    ------
    CardError
        From `Policy.load`: the file is missing, no TOML, or has a key or value that means nothing.
    """

    name: str
    """What it is called in reports."""
    required: Required = Required()
    limits: Limits = Limits()
    coverage: Coverage = Coverage()
    precision: Precision = Precision()
    passing: Passing = Passing()
    require: tuple[Requirement, ...] = ()

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        try:
            return check_name(name, "name")
        except DataError as error:
            raise ValueError(error.message) from None

    @classmethod
    def load(cls, path: Path | str | None = None) -> Policy:
        """Read a policy from a file, or one that comes with HQM by its name.

        Without a path it is the default one.

        >>> Policy.load().precision.difference
        0.12
        >>> Policy.load("release-small").required.fewer_items_than
        1000
        """
        bundled_name = "default" if path is None else ""
        # A file called as a policy of HQM is what its owner means.
        if path is not None and str(path) in POLICIES and not Path(path).exists():
            bundled_name = str(path)
        location = f"the policy {bundled_name}" if bundled_name else str(path)
        try:
            if bundled_name or path is None:
                text = default_text(bundled_name)
            else:
                text = read_text(path)
        except DataError as error:
            raise CardError(
                f"it cannot be read: {error.message}",
                location=location,
                remedy="Correct the file.",
                name=str(path),
                choices=POLICIES,
            ) from None
        try:
            # As JSON: there a list may stand for a tuple, and still no text for a number.
            data = json.dumps(parse_toml(text), default=str)
            return cls.model_validate_json(data, strict=True)
        except DataError as error:
            raise CardError(error.message, location=location, remedy=error.remedy) from None
        except ValidationError as error:
            from hqm.files.toml_files import first_fault

            raise CardError(
                first_fault(cls, error.errors()), location=location, remedy="See docs/reference.md."
            ) from None


@functools.cache
def default_text(name: str = "default") -> str:
    """A policy that comes with HQM as a file, comments and sources included."""
    return resources.files("hqm.auditing").joinpath(POLICIES[name]).read_text("utf-8")


# ----------------------------------------------------------------------
# What to do about a test that did not pass, with the number that it takes where the audit tells it.
# ----------------------------------------------------------------------

_LENGTH_DEPENDENT = frozenset(
    ("rho_g", "pearson", "icc_a1", "icc_c1", "ccc", "alpha", "omega_total", "split_half")
)
"""Statistics of a score's reliability: they grow with its items as Spearman and Brown's formula
says.
"""
_FISHER = _LENGTH_DEPENDENT | {
    "spearman",
    "tau_b",
    "disattenuated",
    "pearson_same_items",
    "pearson_given_length",
    "kappa",
}
"""Statistics between -1 and 1 whose interval is judged on Fisher's scale."""
_MAX_ADVISED = 1e7
"""A number beyond this is no advice."""
MAX_ITEM_FACTOR = 100
"""Times as many items as there are: beyond it no number of items is advised."""
_MAX_FACTOR = 8
"""Times as many as there are: beyond it the limit lies so deep in the interval that chance alone
says how many it would take.
"""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, in a sentence, and the number of what must be raised."""

    text: str
    count: float | None = None
    """Items, respondents or answers that the policy takes in all."""


_WORDINGS_TEXT = (
    "More respondents do not reduce the effect of a wording: ask five wordings or more, publish"
    " their mean, and compare `parallel_forms.phi_of_forms` with the threshold"
)
_PHI_OF_FORMS = "parallel_forms.phi_of_forms"
_SAMPLED_UNITS = {"model_population": "respondents", "fixed_models": "items", "items": "items"}
_ALTERNATIVES = {
    "test_retest": "average several seeds, or do not claim that one run ranks the respondents",
    "parallel_forms": (
        "report each wording separately, and do not claim that a score holds for other wordings"
    ),
    "criterion": (
        "read the answers on which scorer and people disagree, correct the scorer, or do not claim"
        " that it agrees with people"
    ),
    "oracle": "read the answers on which scorer and oracle disagree, and correct one of them",
    "consistency": "report the types separately, or do not claim that one total represents them",
    "discriminability": "do not claim that respondents with such similar scores differ",
}
_FACET_STEPS = {
    "run": "Ask the original form again with another seed: --runs 2",
    "form": "Ask a parallel form too: --forms original,parallel",
    "judge": "Give labels by people (--criterion FILE), or let another model judge (--judge)",
    "sight": "Ask without the pictures too: `hqm audit --no-report NAME --blind`",
    "resolution": "Ask with smaller pictures too: --resolution 50",
}


def facet_advice(facet: str) -> Advice:
    """A facet was not varied."""
    return Advice(f"{_FACET_STEPS[facet]}; or remove it from the policy key `required.facets`")


def count_advice(n: int, minimum: int, units: str, key: str) -> Advice:
    """There are too few of something."""
    return Advice(
        f"Raise the number of {units} from {n:,} to {minimum:,}; or change the policy key `{key}`",
        float(minimum),
    )


def precision_advice(subject: str, value: float, limit: float, n_items: int, key: str) -> Advice:
    """A standard error or a smallest difference is too large: say how many items it takes.

    Both shrink with the root of the number of items.
    """
    count = _round_up(n_items * (value / limit) ** 2)
    if count is None or count > MAX_ITEM_FACTOR * n_items:
        step = f"No practical number of items reaches the limit of the {subject}"
    else:
        step = f"Raise the number of items from {n_items:,} to about {count:,}"
    return Advice(
        f"{step}; or publish scores for coarser comparisons and change the policy key `{key}`",
        None if count is None else float(count),
    )


def unscored_advice(total: int, n_unscored: int, max_share: float) -> Advice:
    """Say what to do about too many unscored answers."""
    # 1e-9: the product .29 * 100 is 28.999..., of which 29 are allowed.
    allowed = math.floor(max_share * total + 1e-9)
    text = (
        f"Read the unscored answers and get at least {n_unscored - allowed:,} of the {n_unscored:,}"
        " scored (a parser that accepts them, or asking again); or change the policy key"
        " `limits.unscored`"
    )
    return Advice(text, float(total - allowed))


def threshold_advice(
    estimate: Estimate, requirement: Requirement, value: float, end: float
) -> Advice:
    """Return the remedy where one end of an interval misses its threshold."""
    key = f"or change `{requirement.rule}` of `{requirement.indicator}` in the policy"
    if requirement.exact:
        return _items_advice(estimate, key)
    if estimate.indicator == _PHI_OF_FORMS:
        return wordings_advice(estimate, requirement)
    family, _, statistic = estimate.indicator.partition(".")
    alternative = f"{_ALTERNATIVES.get(family, 'drop the claim')}; {key}"
    units = _SAMPLED_UNITS.get(requirement.interval, "")
    n = estimate.n_respondents if units == "respondents" else estimate.n_items
    if requirement.rule == "within":
        # A margin has two sides, and only the distance from 0 matters.
        value = abs(value)
        end = abs(end)
    # More respondents never reach it: asked for 16 where there were 8, whoever followed was asked
    # for 20 at 10, 25 at 12, 56 at 24.
    if family == "parallel_forms" and units == "respondents":
        return Advice(f"{_WORDINGS_TEXT}; {alternative}")
    count = _required_count(statistic, family, units, n, value, end, requirement)
    grows = _grows_with_items(statistic, family, units, requirement)
    if count is not None and count > _MAX_FACTOR * n and not grows:
        return Advice(
            f"{value:.3f} is too close to {requirement.bound:g} to estimate from these {n:,} how"
            f" many {units} are needed; {alternative}"
        )
    # Respondents that join among the rest leave the coefficient resting on the one that is far off.
    if units == "respondents" and "DOMINANT_MODEL" in estimate.flags:
        return Advice(f"{_dominant_model_advice(estimate)}; {alternative}")
    if count is None:
        is_minimum = requirement.at_least is not None
        if is_minimum:
            misses = value < requirement.bound
        else:
            misses = value > requirement.bound
        if misses:
            step = f"More {units or 'data'} do not help: the estimate itself misses the threshold"
        else:
            step = f"Raise the number of {units or 'items'}"
        return Advice(f"{step}; {alternative}")
    seeds_note = ""
    if family == "test_retest" and units == "items":
        seeds_note = f" (or average {math.ceil(count / max(n, 1)):,} seeds)"
    return Advice(
        f"Raise the number of {units} from {n:,} to about {count:,}{seeds_note}; {alternative}",
        float(count),
    )


def _items_advice(estimate: Estimate, key: str) -> Advice:
    """Return which items to read, where a count of items misses its threshold."""
    candidates = estimate.detail.get("candidates") or ()
    names = [str(row["item"]) for row in candidates if "item" in row]
    if not names:
        names = list(map(str, _as_tuple(estimate.detail.get("items"))))
    names_text = ""
    if names:
        names_text = f" ({', '.join(names[:8])}{', ...' if len(names) > 8 else ''})"
    return Advice(f"Read the items{names_text}, correct their right answers or remove them; {key}")


def _dominant_model_advice(estimate: Estimate) -> str:
    """Say what helps where one or two respondents make a correlation by themselves."""
    correlation = estimate.detail.get("without_strongest")
    if correlation is None:
        correlation_text = "it is undefined"
    else:
        correlation_text = f"it is {float(correlation):.3f}"
    return (
        "Read the coefficient without"
        f" {estimate.detail.get('strongest') or 'the respondent that carries it'}, where"
        f" {correlation_text}; further respondents help only if their scores lie between that one"
        " and the rest"
    )


def wordings_advice(estimate: Estimate, requirement: Requirement) -> Advice:
    """Wordings are too few to decide, or their mean misses its threshold: say how many it takes."""
    detail = estimate.detail
    forms = int(estimate.detail["forms"])
    key = f"or remove `{requirement.indicator}` from the policy"
    goal = detail["goal"]
    if shortage := too_few_respondents(estimate.n_respondents):
        return Advice(
            f"Ask more respondents first: {shortage}; {_ALTERNATIVES['parallel_forms']}; {key}"
        )
    if (reason := detail.get("why_none")) and requirement.bound >= goal:
        return Advice(
            f"More wordings do not help ({reason}): {_ALTERNATIVES['parallel_forms']}; {key}"
        )
    # The number was computed for the audit's goal: a laxer threshold takes no more, and of a
    # stricter one it says nothing.
    if requirement.bound <= goal:
        advised = detail.get("wordings_needed")
    else:
        advised = None
    # From five wordings on the gate decides: fewer would be asked for again.
    n_wordings = max(int(advised or 0), MIN_WORDINGS, forms + 1)
    n_more = n_wordings - forms
    answers = n_more * estimate.n_respondents * estimate.n_items
    return Advice(
        f"Ask {n_more} more wordings of the same questions ({answers:,} answers of these"
        f" {estimate.n_respondents} respondents; --forms, or your own by --form NAME=FILE) and"
        f" publish the mean over all {n_wordings}; {_ALTERNATIVES['parallel_forms']}; {key}",
        float(n_wordings),
    )


def labels_advice(
    audit: BenchmarkAudit, estimate: Estimate, requirement: Requirement, value: float, end: float
) -> Advice | None:
    """Say how many labels it takes where their own sampling lowers a correlation with people.

    A mean over few labels is a noisy score, whatever the scorer does. Where it hides even what the
    correlation would be without that noise, labels are asked for as a scorer takes them that always
    agrees with people. None where the labels are not the cause.
    """
    metric = estimate.metric
    candidates = audit.select_estimates("criterion.disattenuated", administration=estimate.other)
    disattenuated = next(iter(candidates), None)
    scores = np.array(audit.present_scores(metric))
    if disattenuated is None or len(scores) < 3 or value >= 1:
        return None
    labels = int(disattenuated.detail.get("paired") or 0)
    if not labels or scores.min() < 0 or scores.max() > 1 or scores.std() == 0:
        return None
    # 1.28 is the .90 quantile of the normal distribution.
    # Labels move r alone; the width of log(1 - r) is that of the respondents, and another study's r
    # lies above what is expected less 1.28 standard errors nine times of ten.
    log_width = math.log((1 - end) / (1 - value)) * (1 + 1.28 / stdtrit(len(scores) - 1, 0.95))
    target = 1 - (1 - requirement.bound) * math.exp(-log_width)
    # A label is 0 or 1 with variance p (1 - p), and labels are shared among the respondents: noise
    # over the number of labels is their error variance over the variance of scores.
    noise = float((scores * (1 - scores)).mean()) * len(scores) / float(scores.var(ddof=1))

    def number(correlation: float) -> float:
        # Spearman's attenuation, target = r / sqrt(1 + noise / labels), solved for the labels.
        share = (target / correlation) ** 2
        if share < 1:
            return noise * share / (1 - share)
        return math.inf

    # Without labels' noise, as estimated; where that promises nothing, a scorer of people's mind.
    max_labels = len(scores) * audit.n_items
    true_correlation = min(1.0, float(disattenuated.value or 0.0))
    is_promising = (
        true_correlation > requirement.bound and labels < number(true_correlation) <= max_labels
    )
    n_labels = math.ceil(min(number(true_correlation if is_promising else 1.0), max_labels + 1.0))
    if not labels < n_labels <= max_labels:
        return None
    if is_promising:
        clause = f"and without that the correlation is {disattenuated.value:.3f}"
    else:
        clause = "so that a scorer that always agrees with people may miss this too"
    return Advice(
        f"Have people label about {n_labels:,} answers in all, not {labels:,}: a mean over so few"
        f" labels is itself uncertain, {clause}; or change `{requirement.rule}` of"
        f" `{requirement.indicator}` in the policy",
        float(n_labels),
    )


def _as_tuple(items: object) -> tuple[object, ...]:
    if isinstance(items, list | tuple):
        return tuple(items)
    return ()


def _grows_with_items(statistic: str, family: str, units: str, requirement: Requirement) -> bool:
    """Whether the coefficient itself grows with the number of items."""
    reliability = family in ("test_retest", "consistency") and statistic in _LENGTH_DEPENDENT
    return units == "items" and reliability and requirement.at_least is not None


def _required_count(
    statistic: str,
    family: str,
    units: str,
    n: int,
    value: float,
    end: float,
    requirement: Requirement,
) -> int | None:
    """Return how many items or respondents reach the threshold; None if no number does."""
    bound = requirement.bound
    if not units or n < 1:
        return None
    if _grows_with_items(statistic, family, units, requirement):
        # The end's own reliability, lengthened until it reaches the threshold.
        if not 0 < end < 1 or not 0 < bound < 1:
            return None
        return _round_up(n * lengthening(end, bound))
    # On Fisher's scale an interval of a correlation is about as wide wherever it lies.
    on_fisher_scale = statistic in _FISHER and all(-1 < x < 1 for x in (value, end, bound))
    v, e, b = (math.atanh(x) if on_fisher_scale else x for x in (value, end, bound))
    margin, half_width = (v - b, v - e) if requirement.at_least is not None else (b - v, e - v)
    # The half-width shrinks with the root of the number.
    if margin > 0:
        return _round_up(n * (half_width / margin) ** 2)
    return None


def _round_up(number: float) -> int | None:
    if number < _MAX_ADVISED:
        return math.ceil(number - 1e-9)
    return None


def missing_interval_advice(estimate: Estimate, interval: str) -> Advice:
    """Say what to do about an estimate without the interval that the policy names."""
    key = f"or ask for another interval of `{estimate.indicator}` in the policy"
    if interval == "model_population" and estimate.n_respondents < 10:
        text = (
            "An interval over other respondents needs about 10 of them, in several families: raise"
            f" the number from {estimate.n_respondents} to 10"
        )
        return Advice(f"{text}; {key}", 10.0)
    return Advice(
        f"Read in audit.json why the estimate has no interval, and record what is missing; {key}"
    )


def unmeasured_advice(family: str, indicator: str) -> Advice:
    """The audit has no such number."""
    facets = {
        "test_retest": "run",
        "parallel_forms": "form",
        "blindness": "sight",
        "resolution": "resolution",
    }
    if family == "criterion":
        text = "Have people label a few hundred answers: --criterion FILE"
    elif indicator == _PHI_OF_FORMS:
        text = (
            "Ask wordings with the same right answers too: --forms original,parallel2,parallel3"
            " (a negated form is another question)"
        )
    elif family in facets:
        text = _FACET_STEPS[facets[family]]
    else:
        text = "Record what is missing"
    return Advice(f"{text}; or remove `{indicator}` from the policy")


def leak_advice(leak: LeakShown) -> Advice:
    """Say what to do about a type or part that can be answered without its pictures."""
    # What the words give away, single features of the words give away too.
    cues = ["words"] if "words" in leak.by and leak.by[0] not in CHANCE_CUES else leak.by[:1]
    steps = dict.fromkeys(_cue_step(cue) for cue in cues)
    return Advice(
        f"{'; '.join(steps)}; or remove {leak.name}, or drop the claim on it; or change the"
        " policy key `limits.leak`"
    )


def _cue_step(cue: str) -> str:
    if cue == "words":
        return "Add questions in the same words with the other answer, until words predict nothing"
    if cue in (FREQUENT_ANSWER, OPTION_TEXT):
        return "Take items whose right answers are equally frequent"
    if cue in OPTION_CUES:
        feature = cue.removeprefix("option's ")
        return f"Write wrong options with the same {feature} as right ones"
    return f"Give questions of all answers the same {cue}"


def weak_search_advice(name: str, items: int, detectable: float, max_gain: float) -> Advice:
    """Say what to do if a type or part has too few items to show a leak."""
    # The gain that is found shrinks with the root of the number of items.
    n_items = math.ceil(items * (detectable / max_gain) ** 2)
    text = (
        f"Raise the number of items in {name} from {items:,} to about {n_items:,}; or change the"
        " policy key `limits.leak_found`"
    )
    return Advice(text, float(n_items))
