"""Who answers which benchmark, and how: a respondent's assignment, and the respondent as the store
knows it afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hqm.benchmark.interface import Benchmark
from hqm.respondents.base import Respondent, RespondentName, Sampling
from hqm.types import Form


@dataclass(frozen=True)
class Administration:
    """One form, put to a respondent in one run."""

    form: Form
    run: int
    resolution: str = ""
    """The percentage of their width and height to which its pictures are scaled; empty where they
    are shown as they are.
    """


@dataclass(frozen=True)
class Assignment:
    """One respondent put before one benchmark, with the sampling that it answers with."""

    respondent: Respondent
    benchmark: Benchmark
    sampling: Sampling

    def identity(self) -> Mapping[str, Any]:
        """Who answers, as the store knows it: what the respondent says of itself, and the sampling
        of a live one.
        """
        drawn = asdict(self.sampling) if self.respondent.live else {}
        return {**self.respondent.identity(), **drawn}


def assign(
    respondent: Respondent, benchmark: Benchmark, overrides: Mapping[str, Any] | None = None
) -> Assignment:
    """Settle how a respondent is asked: its own name decides first, then `overrides`, then the
    benchmark's card.
    """
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    default = Sampling(**{**benchmark.card.generation.model_dump(), **given})
    sampling = (
        RespondentName.parse(respondent.name).sampling(default) if respondent.live else default
    )
    return Assignment(respondent, benchmark, sampling)


@dataclass(frozen=True, slots=True)
class StoredRespondent:
    """A respondent as the store knows it."""

    name: str
    number: int
    live: bool
    identity: Mapping[str, Any] = field(default_factory=dict, compare=False)
