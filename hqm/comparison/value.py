"""What a comparison found, as values that reports are made from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hqm.comparison.measures import Measure
from hqm.psychometrics import BenchmarkAgreement, Coefficient, DependentCorrelations, Multitrait, ReliabilityDifference
from hqm.version import __version__


@dataclass(frozen=True, slots=True)
class Difference:
    """One indicator of two measures, compared over the respondents they share.

    `length` is the number of items both were brought to (None: each at its own). `adjusted` is the p-value after Holm's
    correction over all pairs of measures under this indicator and length.
    """

    indicator: str
    first: str
    second: str
    length: int | None
    test: ReliabilityDifference
    adjusted: float = math.nan


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two measures order the respondents they share; scores turned so that higher is better.

    `corrected` is Pearson's r over the root of both reliabilities: what two measures without noise would correlate. It
    is absent where both were scored from the same answers, because then they share their noise.
    """

    first: str
    second: str
    pearson: Coefficient
    spearman: Coefficient
    tau: Coefficient
    subsets: BenchmarkAgreement
    corrected: float
    same_answers: bool
    n: int


@dataclass(frozen=True, slots=True)
class Closer:
    """Whether a measure (or a criterion) goes with one measure more than with another: Williams' test."""

    criterion: str
    first: str
    second: str
    test: DependentCorrelations


@dataclass(frozen=True, slots=True)
class Separation:
    """Which pairs of respondents two measures tell apart, from the scores' intervals, corrected by Holm.

    `opposed` names pairs that both tell apart, in opposite orders: (better by the first measure, better by the second).
    """

    first: str
    second: str
    pairs: int
    both: int
    opposed: tuple[tuple[str, str], ...]
    only_first: tuple[tuple[str, str], ...]
    only_second: tuple[tuple[str, str], ...]
    neither: int


@dataclass(frozen=True, slots=True)
class Growth:
    """What more items, or the mean of more seeds, would make of a measure's reliability.

    `items` holds (items, reliability), `seeds` (runs averaged, reliability); `needed` (target, items).
    """

    measure: str
    indicator: str
    now: Coefficient
    length: int
    items: tuple[tuple[int, Coefficient], ...]
    seeds: tuple[tuple[int, Coefficient], ...]
    needed: tuple[tuple[float, Coefficient], ...]


@dataclass(frozen=True)
class Comparison:
    """Measures over the same respondents, side by side.

    Parameters
    ----------
    respondents
        Those that every measure scored.
    length
        The common number of items of the tests at one length.
    """

    measures: tuple[Measure, ...]
    respondents: tuple[str, ...]
    families: Mapping[str, str]
    n_effective: float | None
    length: int
    indicators: Mapping[str, Mapping[str, Coefficient]]
    """Indicator -> measure -> its coefficient over the shared respondents."""
    differences: tuple[Difference, ...]
    agreements: tuple[Agreement, ...]
    closer: tuple[Closer, ...]
    types: Multitrait | None
    distinct: Mapping[str, Coefficient]
    """Two types -> their heterotrait-monotrait ratio."""
    separations: tuple[Separation, ...]
    growth: tuple[Growth, ...]
    command: str = ""
    protocol: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hqm_version: str = field(default=__version__)

    def to_json(self) -> str:
        """Everything as JSON; a number that does not exist is null."""
        data = asdict(self)
        for measure in data["measures"]:
            measure["signatures"] = {e["indicator"]: e["signature"] for e in measure.pop("estimates")}
        return json.dumps(_plain(data), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
