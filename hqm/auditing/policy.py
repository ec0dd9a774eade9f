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
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from scipy.special import stdtrit

from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.definitions import LeakShown
from hqm.errors import CardError, DataError, meant
from hqm.files.records import fault_of, parse_toml, read_text
from hqm.indicators import INDICATOR_FAMILIES, indicator_named
from hqm.indicators.indicator import indicators_of
from hqm.psychometrics.consistency import lengthening
from hqm.psychometrics.families import too_few_respondents
from hqm.psychometrics.score_dependability import FEWEST_TO_DECIDE
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
    """How far words, position, numbering or surface may beat the commonest answer in any type or
    part: the lower end of the gain.
    """
    leak_found: float = Field(default=1.0, gt=0, le=1)
    """The gain that the audit must have been able to show, with 80% power, in every type and
    part.
    """


class Coverage(_Section):
    """`[coverage]`: what stands behind a type."""

    claimed: bool = False
    """Whether every type that the card claims must be measurable."""
    error: float = Field(default=1.0, gt=0)
    """The largest standard error of a claimed type's score in the audit; without answers, by its
    number of items.
    """
    items_a_type: int = Field(default=1, ge=1)
    """How many items each must have, whatever its error."""


class Requirement(_Section):
    """`[[require]]`: one threshold on one indicator, for every estimate of it."""

    indicator: str
    """Family and statistic, `test_retest.rho_g`.

    `criterion.*` needs labels by people; `oracle.*` may be asked for by that name.
    """
    metric: str = ""
    """Only this metric; all audited ones unless given."""
    interval: Literal["", "fixed_models", "model_population"] = ""
    """The interval of which an end is held against the threshold; without that interval an estimate
    is NOT MEASURED.
    """
    detail: str = ""
    """In place of an interval of the estimate: the name of a [low, high] pair in its detail."""
    end: Literal["", "lower", "upper"] = ""
    """Which end; the unfavourable one unless given."""
    exact: bool = False
    """The number is a count of the data and has no interval: it is held against the threshold
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
    def _one_of_each(self) -> Requirement:
        if sum(bound is not None for bound in (self.at_least, self.at_most, self.within)) != 1:
            raise ValueError("give one of at_least, at_most and within")
        if self.within is not None and (self.exact or self.end):
            raise ValueError(
                "within asks for both ends of an interval: leave out `exact` and `end`"
            )
        if bool(self.interval) + bool(self.detail) + self.exact != 1:
            raise ValueError(
                "give one of interval, detail and exact: a point estimate is no evidence"
            )
        if indicator_named(self.indicator) is None:
            known = [
                f"{family}.{each.name}"
                for family in INDICATOR_FAMILIES
                for each in indicators_of(family)
            ]
            near = meant(self.indicator, known)
            raise ValueError(
                f"no audit estimates {self.indicator!r};"
                f" {near or '`hqm list indicators` shows what there is'}"
            )
        return self

    @property
    def rule(self) -> Literal["at_least", "at_most", "within"]:
        """Which of the three kinds of threshold it is."""
        if self.at_least is not None:
            return "at_least"
        return "within" if self.at_most is None else "at_most"

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
    require: tuple[Requirement, ...] = ()

    @classmethod
    def load(cls, path: Path | str | None = None) -> Policy:
        """Read a policy: a file, or one that comes with HQM by its name; the default one without a
        path.

        >>> Policy.load().require[0].at_least
        0.9
        >>> Policy.load("release-small").required.fewer_items_than
        1000
        """
        own = "default" if path is None else ""
        if path is not None and str(path) in POLICIES and not Path(path).exists():
            own = str(path)
        place = f"the policy {own}" if own else str(path)
        try:
            text = default_text(own) if own or path is None else read_text(path)
        except DataError as error:
            raise CardError(
                f"it cannot be read: {error.message}",
                location=place,
                remedy="Correct the file.",
                name=str(path),
                choices=POLICIES,
            ) from None
        try:
            # as JSON: there a list may stand for a tuple, and still no text for a number
            data = json.dumps(parse_toml(text), default=str)
            return cls.model_validate_json(data, strict=True)
        except DataError as error:
            raise CardError(error.message, location=place, remedy=error.remedy) from None
        except ValidationError as error:
            raise CardError(
                fault_of(cls, error.errors()[0]), location=place, remedy="See docs/reference.md."
            ) from None


@functools.cache
def default_text(name: str = "default") -> str:
    """A policy that comes with HQM as a file, comments and sources included."""
    return resources.files("hqm.auditing").joinpath(POLICIES[name]).read_text("utf-8")


# ----------------------------------------------------------------------
# What to do about a test that did not pass, with the number that it takes where the audit tells it.
# ----------------------------------------------------------------------

_GROWS = frozenset(
    ("rho_g", "pearson", "icc_a1", "icc_c1", "ccc", "alpha", "omega_total", "split_half")
)
"""Statistics of a score's reliability: they grow with its items as Spearman and Brown's formula
says.
"""
_FISHER = _GROWS | {
    "spearman",
    "tau_b",
    "disattenuated",
    "pearson_same_items",
    "pearson_given_length",
    "kappa",
}
"""Statistics between -1 and 1 whose interval is judged on Fisher's scale."""
_LARGEST = 1e7
"""A number beyond this is no advice."""
_TOO_NEAR = 8
"""Times as many as there are: beyond it the limit lies so deep in the interval that chance alone
says how many it would take.
"""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, in a sentence, and the number of what must be raised."""

    text: str
    needed: float | None = None
    """Items, respondents or answers that the policy takes in all."""


_PLACES = frozenset(
    ("odd or even place", "place within the cluster", "tenth of the file", "label before")
)
_NUMBERS = frozenset(("odd or even number", "last digit"))
_WORDINGS = (
    "No number of respondents changes what a wording does: ask five wordings or more, publish their"
    " mean, and hold `parallel_forms.phi_of_forms` against the threshold"
)
_OF_WORDINGS = "parallel_forms.phi_of_forms"
_MORE = {"model_population": "respondents", "fixed_models": "items", "items": "items"}
_OTHERWISE = {
    "test_retest": "average several seeds, or drop the claim that one run ranks the respondents",
    "parallel_forms": (
        "report each wording by itself, and drop the claim that a score holds for other wordings"
    ),
    "criterion": (
        "read the answers on which scorer and people disagree, correct the scorer, or drop the"
        " claim that it follows people"
    ),
    "oracle": "read the answers on which scorer and oracle disagree, and correct one of them",
    "consistency": "report the types by themselves, or drop the claim of one total",
    "discriminability": "drop the claim that respondents this close are separated",
}
_FACETS = {
    "run": "Ask the original form again with another seed: --runs 2",
    "form": "Ask a parallel form too: --forms original,parallel",
    "judge": "Give labels by people (--criterion FILE), or let another model judge (--judge)",
    "sight": "Ask without the pictures too: `hqm audit --no-report NAME --blind`",
    "resolution": "Ask with smaller pictures too: --resolution 50",
}


def of_facet(facet: str) -> Remedy:
    """A facet was not varied."""
    return Remedy(f"{_FACETS[facet]}; or take it out of the policy key `required.facets`")


def of_count(n: int, least: int, what: str, key: str) -> Remedy:
    """There are too few of something."""
    return Remedy(
        f"Raise the number of {what} from {n:,} to {least:,}; or change the policy key `{key}`",
        float(least),
    )


def of_unscored(total: int, lost: int, most: float) -> Remedy:
    """Say what to do about too many unscored answers."""
    allowed = math.floor(most * total + 1e-9)
    text = (
        f"Read the unscored answers and get at least {lost - allowed:,} of the {lost:,}"
        " scored (a parser that accepts them, or asking again); or change the policy key"
        " `limits.unscored`"
    )
    return Remedy(text, float(total - allowed))


def of_threshold(estimate: Estimate, wanted: Requirement, value: float, end: float) -> Remedy:
    """The end of an interval misses its threshold."""
    key = f"or change `{wanted.rule}` of `{wanted.indicator}` in the policy"
    family, _, statistic = estimate.indicator.partition(".")
    if wanted.exact:
        named = [
            str(row["item"]) for row in estimate.detail.get("candidates") or () if "item" in row
        ]
        named = named or [str(item) for item in _listed(estimate.detail.get("items"))]
        such = f" ({', '.join(named[:8])}{', ...' if len(named) > 8 else ''})" if named else ""
        return Remedy(f"Read the items{such}, correct their right answers or take them out; {key}")
    what = _MORE.get(wanted.interval, "")
    n = estimate.n_respondents if what == "respondents" else estimate.n_items
    if wanted.rule == "within":
        value, end = abs(value), abs(end)
    if estimate.indicator == _OF_WORDINGS:
        return of_wordings(estimate, wanted)
    if family == "parallel_forms" and what == "respondents":
        return Remedy(f"{_WORDINGS}; {_OTHERWISE[family]}; {key}")
    needed = _needed(statistic, family, what, n, value, end, wanted)
    if (
        needed is not None
        and needed > _TOO_NEAR * n
        and not _grows(statistic, family, what, wanted)
    ):
        return Remedy(
            f"{value:.3f} lies too near to {wanted.bound:g} for any number of {what} to be named"
            f" from these {n:,}; {_OTHERWISE.get(family, 'drop the claim')}; {key}"
        )
    otherwise = _OTHERWISE.get(family, "drop the claim")
    if what == "respondents" and "DOMINANT_MODEL" in estimate.flags:
        return Remedy(f"{_of_one_model(estimate.detail)}; {otherwise}; {key}")
    if needed is None:
        missed = value < wanted.bound if wanted.at_least is not None else value > wanted.bound
        first = (
            f"More {what or 'data'} will not do, for the number itself misses it"
            if missed
            else f"Raise the number of {what or 'items'}"
        )
        return Remedy(f"{first}; {otherwise}; {key}")
    also = (
        f" (or average {math.ceil(needed / max(n, 1)):,} seeds)"
        if family == "test_retest" and what == "items"
        else ""
    )
    return Remedy(
        f"Raise the number of {what} from {n:,} to about {needed:,}{also}; {otherwise}; {key}",
        float(needed),
    )


def _of_one_model(detail: Mapping[str, Any]) -> str:
    """Say what helps where one or two respondents make a correlation by themselves."""
    without = detail.get("without_strongest")
    alone = "it is undefined" if without is None else f"it is {float(without):.3f}"
    return (
        f"Read it without {detail.get('strongest') or 'the respondent that carries it'}, where"
        f" {alone}; further respondents help only if their scores lie between that one and the"
        " rest"
    )


def of_wordings(estimate: Estimate, wanted: Requirement) -> Remedy:
    """Wordings are too few to decide, or their mean misses its threshold: say how many it takes."""
    detail, forms = estimate.detail, int(estimate.detail["forms"])
    key = f"or take `{wanted.indicator}` out of the policy"
    goal = detail["goal"]
    if few := too_few_respondents(estimate.n_respondents):
        return Remedy(f"Ask more respondents first: {few}; {_OTHERWISE['parallel_forms']}; {key}")
    if (reason := detail.get("why_none")) and wanted.bound >= goal:
        return Remedy(
            f"More wordings will not do ({reason}): {_OTHERWISE['parallel_forms']}; {key}"
        )
    advised = detail.get("wordings_needed") if wanted.bound <= goal else None
    needed = max(int(advised or 0), FEWEST_TO_DECIDE, forms + 1)
    more = needed - forms
    answers = more * estimate.n_respondents * estimate.n_items
    return Remedy(
        f"Ask {more} more wordings of the same questions ({answers:,} answers of these"
        f" {estimate.n_respondents} respondents; --forms, or your own by --form NAME=FILE) and"
        f" publish the mean over all {needed}; {_OTHERWISE['parallel_forms']}; {key}",
        float(needed),
    )


def of_labels(
    audit: BenchmarkAudit, estimate: Estimate, wanted: Requirement, value: float, end: float
) -> Remedy | None:
    """Say how many labels it takes where their own sampling lowers a correlation with people.

    A mean over few labels is a noisy score, whatever the scorer does. Where it hides even what the
    correlation would be without that noise, labels are asked for as a scorer takes them that always
    agrees with people. None where labels are not what is missing.
    """
    metric, others = estimate.metric, (e for e in audit.all_estimates if e.other == estimate.other)
    free = next((e for e in others if e.indicator == "criterion.disattenuated"), None)
    known = [s for who in audit.respondents if (s := who.scores.get(metric)) is not None]
    if free is None or len(known) < 3 or value >= 1:
        return None
    scores, labels = np.array(known), int(free.detail.get("paired") or 0)
    if not labels or scores.min() < 0 or scores.max() > 1 or scores.std() == 0:
        return None
    # labels move r alone; the width of log(1 - r) is that of the respondents, and another study's r
    # lies above what is expected less 1.28 standard errors nine times of ten
    reach = math.log((1 - end) / (1 - value)) * (1 + 1.28 / stdtrit(len(scores) - 1, 0.95))
    target = 1 - (1 - wanted.bound) * math.exp(-reach)
    noise = float((scores * (1 - scores)).mean()) * len(scores) / float(scores.var(ddof=1))

    def number(correlation: float) -> float:
        share = (target / correlation) ** 2
        return noise * share / (1 - share) if share < 1 else math.inf

    # without labels' noise, as estimated; where that promises nothing, a scorer of people's mind
    most, without = len(scores) * audit.n_items, min(1.0, float(free.value or 0.0))
    shown = without > wanted.bound and labels < number(without) <= most
    needed = math.ceil(min(number(without if shown else 1.0), most + 1.0))
    if not labels < needed <= most:
        return None
    why = (
        f"and without that the correlation is {free.value:.3f}"
        if shown
        else "so that a scorer that always agrees with people may miss this too"
    )
    return Remedy(
        f"Have people label about {needed:,} answers in all, not {labels:,}: a mean over so few"
        f" labels is itself uncertain, {why}; or change `{wanted.rule}` of `{wanted.indicator}` in"
        " the policy",
        float(needed),
    )


def _listed(items: object) -> tuple[object, ...]:
    return tuple(items) if isinstance(items, list | tuple) else ()


def _grows(statistic: str, family: str, what: str, wanted: Requirement) -> bool:
    """Whether the coefficient itself grows with the number of items."""
    reliability = family in ("test_retest", "consistency") and statistic in _GROWS
    return what == "items" and reliability and wanted.at_least is not None


def _needed(
    statistic: str, family: str, what: str, n: int, value: float, end: float, wanted: Requirement
) -> int | None:
    """Return how many items or respondents reach the threshold; None if no number does."""
    bound = wanted.bound
    if not what or n < 1:
        return None
    if _grows(statistic, family, what, wanted):
        # the end's own reliability, lengthened until it reaches the threshold
        if not 0 < end < 1 or not 0 < bound < 1:
            return None
        return _whole(n * lengthening(end, bound))
    inside = statistic in _FISHER and all(-1 < x < 1 for x in (value, end, bound))
    v, e, b = (math.atanh(x) if inside else x for x in (value, end, bound))
    room, reach = (v - b, v - e) if wanted.at_least is not None else (b - v, e - v)
    # the half-width shrinks with the root of the number
    return _whole(n * (reach / room) ** 2) if room > 0 else None


def _whole(number: float) -> int | None:
    return math.ceil(number - 1e-9) if number < _LARGEST else None


def of_missing_interval(estimate: Estimate, interval: str) -> Remedy:
    """Say what to do about an estimate without the interval that the policy names."""
    key = f"or ask for another interval of `{estimate.indicator}` in the policy"
    if interval == "model_population" and estimate.n_respondents < 10:
        text = (
            "An interval over other respondents needs about 10 of them, in several families: raise"
            f" the number from {estimate.n_respondents} to 10"
        )
        return Remedy(f"{text}; {key}", 10.0)
    return Remedy(
        "A point estimate is no evidence: see the estimate's reason and methods in audit.json;"
        f" {key}"
    )


def of_unmeasured(family: str, indicator: str) -> Remedy:
    """The audit has no such number."""
    facets = {
        "test_retest": "run",
        "parallel_forms": "form",
        "blindness": "sight",
        "resolution": "resolution",
    }
    if family == "criterion":
        text = "Have people label a few hundred answers: --criterion FILE"
    elif indicator == _OF_WORDINGS:
        text = (
            "Ask wordings with the same right answers too: --forms original,parallel2,parallel3"
            " (a negated form is another question)"
        )
    elif family in facets:
        text = _FACETS[facets[family]]
    else:
        text = "Read its reason in audit.json and give what it lacks"
    return Remedy(f"{text}; or take `{indicator}` out of the policy")


def of_leak(leak: LeakShown) -> Remedy:
    """Say what to do about a type or part that can be answered without its pictures."""
    # what the words give away, single features of the words give away too
    placed = [cue for cue in leak.by if cue in _PLACES or cue in _NUMBERS]
    ways = dict.fromkeys(
        _way(cue) for cue in (["words", *placed] if "words" in leak.by else leak.by[:4])
    )
    return Remedy(
        f"{'; '.join(ways)}; or take {leak.name} out, or drop the claim on it; or change the policy"
        " key `limits.leak`"
    )


def _way(cue: str) -> str:
    if cue == "words":
        return "Ask in the same words what has the other answer, until the words say nothing"
    if cue in _PLACES:
        return "Shuffle the items of the file with a seed that you publish"
    if cue in _NUMBERS:
        return "Number the items anew after shuffling them"
    return f"Give questions of all answers the same {cue}"


def of_weak_search(name: str, items: int, detectable: float, most: float) -> Remedy:
    """Say what to do if a type or part has too few items to show a leak."""
    needed = math.ceil(items * (detectable / most) ** 2)
    text = (
        f"Raise the number of items in {name} from {items:,} to about {needed:,}; or change the"
        " policy key `limits.leak_found`"
    )
    return Remedy(text, float(needed))
