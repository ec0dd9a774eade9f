"""What the gate and every text mean by an answer that is scored, by people, by a type, by a leak and by a finding.

Each is one function of an audit. Whoever shows or judges an audit asks here and counts nothing by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hqm.auditing.value import BenchmarkAudit
from hqm.benchmark.codes import SEVERITIES, Severity
from hqm.benchmark.labels import labelled_by
from hqm.scoring.states import unscored
from hqm.types import Cell


@dataclass(frozen=True, slots=True)
class Scored:
    """How many answers of an audit are scored."""

    answers: int
    unscored: int
    by_administration: Mapping[str, tuple[int, int]]
    """Administration -> answers, and how many of them are not scored."""

    @property
    def share_unscored(self) -> float:
        """The share of all answers; 0 without any."""
        return self.unscored / self.answers if self.answers else 0.0

    @property
    def worst(self) -> tuple[str, float] | None:
        """The administration with the largest share of unscored answers, and that share; None without answers."""
        shares = {cell: lost / total for cell, (total, lost) in self.by_administration.items() if total}
        return max(shares.items(), key=lambda pair: pair[1]) if shares else None


def scored_answers(audit: BenchmarkAudit) -> Scored:
    """Answers and unscored answers of all respondents: unscored is every state but `ok` and `truncated`."""
    counts = {cell: (sum(states.values()), unscored(states)) for cell, states in audit.state_counts.items()}
    return Scored(sum(n for n, _ in counts.values()), sum(lost for _, lost in counts.values()), counts)


@dataclass(frozen=True, slots=True)
class Labellers:
    """Who labelled the answers: names of judges."""

    by_people: tuple[str, ...]
    by_oracles: tuple[str, ...]


def who_labelled(audit: BenchmarkAudit) -> Labellers:
    """The judges of labels that are people, and those that are not: an oracle, or another parser of the same key."""
    cells = dict.fromkeys(cell for row in audit.respondents for cell in row.judged)
    names = list(dict.fromkeys(Cell.parse(cell).judge for cell in cells))
    return Labellers(
        tuple(name for name in names if labelled_by(name) == "people"),
        tuple(name for name in names if labelled_by(name) == "oracle"),
    )


@dataclass(frozen=True, slots=True)
class TypeMeasured:
    """What an audit knows of one hallucination type.

    Parameters
    ----------
    type, claimed, items
        Its name, whether the card claims it, and how many items it has.
    error
        The standard error of its score; None without items.
    measured
        Whether the error is that of this audit's answers, and no forecast from the number of items.
    measurable
        Whether the error is at most .03.
    missing
        How many more items it needs for that.
    adds_value
        Whether its own score says more of it than the total does (Haberman); None where that could not be told.
    """

    type: str
    claimed: bool
    items: int
    error: float | None
    measured: bool
    measurable: bool
    missing: int
    adds_value: bool | None

    @property
    def worth_reporting(self) -> bool | None:
        """Whether to report a score of its own: measurable, and more than the total says; None where that is not known."""
        return self.adds_value if self.measurable else False


def types_measured(audit: BenchmarkAudit) -> tuple[TypeMeasured, ...]:
    """The types that have items or are claimed, in the order of the taxonomy, by the leading metric."""
    rows: dict[str, Mapping[str, Any]] = {}
    for estimate in audit.estimates:
        if estimate.indicator == "types.index":
            rows = {str(row["type"]): row for row in estimate.detail.get("types") or () if isinstance(row, Mapping)}
            break
    types = []
    for kind, covered in audit.coverage.items():
        row, items = rows.get(kind, {}), int(covered["items"])
        if not items and not covered["claimed"]:
            continue
        worth = row.get("adds_value")
        types.append(
            TypeMeasured(
                kind,
                bool(covered["claimed"]),
                items,
                row.get("sem") if row else (0.5 / items**0.5 if items else None),
                bool(row.get("measured")),
                row.get("state") == "measurable",
                int(row.get("missing_items") or 0),
                None if worth is None else bool(worth),
            )
        )
    return tuple(types)


@dataclass(frozen=True, slots=True)
class LeakShown:
    """A type, part, or type of a part whose right answers can be predicted without the pictures, beyond chance."""

    name: str
    type: str
    part: str
    by: tuple[str, ...]
    """`words`, or names of cues, the strongest first."""
    accuracy: float
    baseline: float
    low: float
    """Lower end of the strongest prediction's gain; the ends hold for all types, parts and cues together."""


def leaks_shown(audit: BenchmarkAudit) -> tuple[LeakShown, ...]:
    """The types and parts that leak, the largest first.

    A type of a part is named only where neither the type nor the part leaks by itself.
    """
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in leak_rows(audit):
        if row.get("leak") and row.get("low") is not None:
            by_name.setdefault(str(row["name"]), []).append(row)
    whole = {name for name, rows in by_name.items() if not (rows[0]["type"] and rows[0]["part"])}
    leaks = []
    for name, rows in by_name.items():
        rows.sort(key=lambda row: -float(row["low"]))
        first = rows[0]
        if first["type"] and first["part"] and whole & {first["type"], first["part"]}:
            continue
        leaks.append(
            LeakShown(
                name, str(first["type"]), str(first["part"]), tuple(dict.fromkeys(str(row["cue"]) for row in rows)),
                float(first["accuracy"]), float(first["baseline"]), float(first["low"]),
            )
        )  # fmt: skip
    return tuple(sorted(leaks, key=lambda leak: -leak.low))


def leak_rows(audit: BenchmarkAudit) -> tuple[Mapping[str, Any], ...]:
    """Every type and part in which a leak was looked for, by the words and by cues."""
    rows: list[Mapping[str, Any]] = []
    for estimate in audit.estimates:
        if estimate.indicator in ("solvability.blind_accuracy", "solvability.leakage_cues"):
            rows += [row for row in estimate.detail.get("strata") or () if isinstance(row, Mapping)]
    return tuple(rows)


def findings_in_order(audit: BenchmarkAudit) -> tuple[Mapping[str, Any], ...]:
    """All findings of `hqm check` that the audit holds, the gravest first."""
    return tuple(sorted(audit.findings, key=lambda finding: SEVERITIES.index(severity_of(finding))))


def findings_counted(audit: BenchmarkAudit) -> dict[Severity, int]:
    """Severity -> number of findings, the gravest first; severities without a finding count 0."""
    counts = Counter(map(severity_of, audit.findings))
    return {severity: counts[severity] for severity in SEVERITIES}


def severity_of(finding: Mapping[str, Any]) -> Severity:
    """How grave a finding is."""
    severity: Severity = finding.get("severity", "note")
    return severity
