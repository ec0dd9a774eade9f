"""What an audit is: every estimate of a benchmark, as one value that reports are made from; to JSON
and back.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hqm.auditing.frames import TABLES, Table, estimate_rows, facets, frame
from hqm.auditing.schema import check_audit
from hqm.errors import DesignError, UsageError
from hqm.files.records import read_json, read_text
from hqm.indicators.flags import FLAGS
from hqm.types import Estimate
from hqm.version import __version__

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class RespondentScores:
    """One respondent in one benchmark: its scores, and how its answers came out."""

    name: str
    scores: Mapping[str, float | None]
    """Metric -> score in the reference administration."""
    intervals: Mapping[str, list[float | None]]
    """Metric -> [low, high] over pictures (cluster jackknife)."""
    by_type: Mapping[str, float | None]
    """Hallucination type -> score by the first audited metric."""
    cells: Mapping[str, Mapping[str, float | None]]
    """Administration -> metric -> score."""
    states: Mapping[str, Mapping[str, int]]
    """Administration -> state -> number of answers."""
    yes_ratio: Mapping[str, float | None]
    words: Mapping[str, float | None]
    judged: Mapping[str, float | None] = field(default_factory=dict)
    """Administration under another judge -> share of answers that the judge found faithful."""
    identity: Mapping[str, Any] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    """Metric -> the score in the reference administration as the release prints it, where the
    release rounds.
    """


@dataclass(frozen=True)
class BenchmarkAudit:
    """All that was estimated of one benchmark."""

    benchmark: str
    title: str
    version: str
    task: str
    scoring: str
    parser: str
    summary: str
    reference: str
    items: int
    images: int
    metrics: Mapping[str, Mapping[str, str]]
    """Audited metric -> what it is and which direction is better."""
    forms: Mapping[str, Mapping[str, Any]]
    truth_yes: Mapping[str, float | None]
    """Form -> the share of questions whose right answer is yes; empty for other tasks."""
    cells: tuple[str, ...]
    respondents: tuple[RespondentScores, ...]
    estimates: tuple[Estimate, ...]
    coverage: Mapping[str, Mapping[str, Any]]
    findings: tuple[Mapping[str, Any], ...]
    flags: tuple[Mapping[str, Any], ...] = ()
    """What the audit warns of by itself: flag, metric, what it concerns, a sentence, and what to
    do.
    """
    families: Mapping[str, str] = field(default_factory=dict)
    """Respondent -> family, where some are relatives."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """The items on which administrations, judges or labellers disagree most, with all that was
    said.
    """
    to_read: tuple[Mapping[str, Any], ...] = ()
    """The items that a person should read first, with picture, question, key, who fails them, and
    the chance of a fault.
    """
    pairs: tuple[Mapping[str, Any], ...] = ()
    """One item of each type as it is asked: picture, question, options and key."""
    release: Mapping[str, str] = field(default_factory=dict)
    """What the card says of the release: `citation`, `url`, `licence`."""
    left_out: Mapping[str, Any] = field(default_factory=dict)
    """The scores with each picture left out, for `hqm compare`; `left_out_scores.read` reads
    them.
    """

    components: Mapping[str, Any] = field(default_factory=dict)
    """Audited metric -> the variance components of all its administrations together, for `hqm
    design`; `whole_study.parts_in` reads them."""

    stopped: Mapping[str, Any] = field(default_factory=dict)
    """Where a rule stopped the asking (`hqm run --until`): rule, pictures and items used, and a row
    for each respondent.
    """
    tools: tuple[Mapping[str, Any], ...] = ()
    """Where the tools that recorded answers score them otherwise than HQM
    (`ScoreComparison.to_dict`).
    """

    analyses: tuple[Mapping[str, Any], ...] = ()
    """The benchmark's own further tables (`Analysis.to_dict`)."""

    @property
    def items_used(self) -> int:
        """The items that its numbers are computed on: all of them, unless a rule stopped the
        asking.
        """
        return int(self.stopped.get("items", self.items))

    @property
    def state_counts(self) -> dict[str, dict[str, int]]:
        """Administration -> state -> number of answers of all respondents."""
        counts: dict[str, Counter[str]] = {cell: Counter() for cell in self.cells}
        for respondent in self.respondents:
            for cell, states in respondent.states.items():
                counts.setdefault(cell, Counter()).update(states)
        return {cell: dict(states) for cell, states in counts.items()}

    def estimate(self, indicator: str, metric: str | None = None) -> Estimate:
        """The first estimate of this indicator (and metric).

        Raises
        ------
        DesignError
            There is no such estimate; or an average over error sources is asked for, which does not
            exist.
        """
        if indicator.rpartition(".")[2] in ("average", "reliability_average", "overall", "grade"):
            raise DesignError(
                f"{indicator!r} would average different things",
                remedy=f"AVERAGED_COEFFICIENTS: {FLAGS['AVERAGED_COEFFICIENTS']}.",
            )
        for estimate in self.estimates:
            if estimate.indicator == indicator and metric in (None, estimate.metric):
                return estimate
        raise DesignError(
            f"{self.benchmark} has no estimate {indicator!r}", remedy="See its `estimates`."
        )

    def to_frame(self, what: Table = "estimates") -> pd.DataFrame:
        """The audit as a tidy pandas frame.

        Parameters
        ----------
        what
            `estimates`: one row an estimate and kind of interval (`inference`); one that has no
            interval stands once, with an empty `inference`. `group` is `all`, or the respondent
            where the estimate has a value for each. `scores`: one row a respondent, administration
            and metric. `states`: one row a respondent, administration and state, with the number of
            answers.

        Numbers are as they were computed, never rounded; one that does not exist is NaN, and
        `status` and `reason` say why.
        """
        if what not in TABLES:
            raise UsageError(
                f"there is no table {what!r} of an audit", remedy=f"It has {', '.join(TABLES)}."
            )
        rows = {
            "estimates": self._estimate_rows,
            "scores": self._score_rows,
            "states": self._state_rows,
        }[what]()
        return frame(rows, TABLES[what])

    def _estimate_rows(self) -> Iterator[dict[str, Any]]:
        for estimate in self.estimates:
            yield from estimate_rows(self.benchmark, estimate)

    def _score_rows(self) -> Iterator[dict[str, Any]]:
        for who in self.respondents:
            for name, scores in who.cells.items():
                # the reference administration has every metric, the others the audited ones
                for metric, score in (who.scores if name == self.reference else scores).items():
                    low, high = (
                        who.intervals.get(metric, (None, None))
                        if name == self.reference
                        else (None, None)
                    )
                    yield {
                        "benchmark": self.benchmark,
                        "respondent": who.name,
                        "family": self.families.get(who.name, ""),
                        **facets(name),
                        "metric": metric,
                        "score": score,
                        "low": low,
                        "high": high,
                    }

    def _state_rows(self) -> Iterator[dict[str, Any]]:
        for who in self.respondents:
            for name, states in who.states.items():
                for state, answers in states.items():
                    row = {"benchmark": self.benchmark, "respondent": who.name, **facets(name)}
                    yield {**row, "state": state, "answers": answers}

    def to_dict(self) -> dict[str, Any]:
        """The audit as `audit.json` has it; what is within is shared, so nobody may change it."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data["respondents"] = [
            {f.name: getattr(who, f.name) for f in fields(who)} for who in self.respondents
        ]
        data["estimates"] = [estimate.to_dict() for estimate in self.estimates]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BenchmarkAudit:
        rest = dict(data)
        rest["respondents"] = tuple(RespondentScores(**row) for row in data["respondents"])
        rest["estimates"] = tuple(Estimate.from_dict(row) for row in data["estimates"])
        rest["cells"], rest["findings"] = tuple(data["cells"]), tuple(data["findings"])
        for name in ("flags", "examples", "to_read", "pairs", "tools", "analyses"):
            rest[name] = tuple(data.get(name, ()))
        return cls(**rest)


@dataclass(frozen=True)
class Audit:
    """The audits of one command, with the record of how they were made."""

    audits: tuple[BenchmarkAudit, ...]
    command: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    hqm_version: str = __version__

    def to_frame(self, what: Table = "estimates") -> pd.DataFrame:
        """All benchmarks of the audit as one tidy pandas frame; see `BenchmarkAudit.to_frame`."""
        import pandas as pd

        return pd.concat([audit.to_frame(what) for audit in self.audits], ignore_index=True)

    def to_json(self) -> str:
        """The text of `audit.json`."""
        data = {
            "hqm_version": self.hqm_version,
            "command": self.command,
            "record": dict(self.record),
            "audits": [audit.to_dict() for audit in self.audits],
        }
        return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Audit:
        audits = tuple(BenchmarkAudit.from_dict(audit) for audit in data["audits"])
        return cls(audits, data["command"], data["record"], data["hqm_version"])

    @classmethod
    def load(cls, path: Path | str) -> Audit:
        """Read an `audit.json`.

        Raises
        ------
        DataError
            The file is no audit, or a key is wrong; the sentence has its path.
        """
        path = Path(path)
        data, text = read_json(path), read_text(path)
        check_audit(data, text, str(path), (BenchmarkAudit, RespondentScores))
        return cls.from_dict(data)
