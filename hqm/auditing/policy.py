"""A policy: what an audit must show before its benchmark's scores are published.

It is a TOML file. Two come with HQM, each with the reason for every threshold: `policy.toml` beside
this module is the default, `policy_release_small.toml` is for benchmarks of fewer than 1,000 items.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hqm.errors import CardError, DataError, meant
from hqm.files.records import fault_of, parse_toml, read_text
from hqm.indicators import INDICATOR_FAMILIES, indicator_named
from hqm.indicators.catalogue import indicators_of
from hqm.types import Task

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
    -within to within.
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

        >>> Policy.load().require[0].at_least, Policy.load("release-small").required.fewer_items_than
        (0.9, 1000)
        """
        own = "default" if path is None else ""
        if path is not None and str(path) in POLICIES and not Path(path).exists():
            own = str(path)
        place = f"the policy {own}" if own else str(path)
        try:
            text = default_text(own) if own or path is None else read_text(path)
        except DataError as error:
            raise CardError(
                f"it cannot be read: {error.what}", place=place, remedy="Correct the file."
            ) from None
        try:
            return cls.model_validate(parse_toml(text))
        except DataError as error:
            raise CardError(error.what, place=place, remedy=error.remedy) from None
        except ValidationError as error:
            raise CardError(
                fault_of(cls, error.errors()[0]), place=place, remedy="See docs/reference.md."
            ) from None


@functools.cache
def default_text(name: str = "default") -> str:
    """A policy that comes with HQM as a file, comments and sources included."""
    return resources.files("hqm.auditing").joinpath(POLICIES[name]).read_text("utf-8")
