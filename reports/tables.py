"""What a report says, as tables of text: the only place where numbers are rounded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hqm.reports.names import COUNTS, FAMILIES, HEADLINES, TASKS, statistic_name

from hqm import FLAGS, STATES, Audit, BenchmarkAudit, Cell, Estimate, Interval, RespondentScores

DASH = "–"


@dataclass(frozen=True, slots=True)
class Text:
    """One cell: its text, and what lies behind it (a signature, a reason)."""

    text: str
    behind: str = ""
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text with a caption and notes."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    right: tuple[int, ...] = ()
    """The columns that hold numbers."""
    notes: tuple[str, ...] = ()


def number(value: float | None, digits: int = 3) -> str:
    """A number with fixed digits, a minus sign that is one, and a dash for what does not exist.

    >>> number(0.94328), number(-0.5, 1), number(None)
    ('0.943', '−0.5', '–')
    """
    if value is None or not math.isfinite(value):
        return DASH
    # four digits where three would say 1 of a number that is not
    if digits == 3 and 0.9995 <= abs(value) < 1:
        digits = 4 if abs(value) < 0.99995 else 6
    text = f"{value:.{digits}f}"
    zero = float(text) == 0
    return text.lstrip("-") if zero else text.replace("-", "−")


def interval(found: Interval | None, digits: int = 3) -> str:
    """An interval in brackets.

    >>> interval(Interval(0.9, 0.98, "model_population", "Fisher z"))
    '[0.900, 0.980]'
    """
    return "" if found is None else f"[{number(found.low, digits)}, {number(found.high, digits)}]"


def short(name: str) -> str:
    """A respondent's name without its kind and folder.

    >>> short("hf/shapes:steady"), short("hf/llava-hf/llava-1.5-7b-hf"), short("recorded/llava")
    ('steady', 'llava-1.5-7b-hf', 'llava')
    """
    return name.partition("?")[0].rpartition("/")[2].rpartition(":")[2] or name


def cell(text: str) -> str:
    """An administration in words, short.

    >>> cell("form=original|run=1|judge=rule"), cell("form=parallel|run=0|judge=rule")
    ('original, 2nd run', 'parallel')
    """
    found = Cell.parse(text)
    words = [found.form]
    if found.run:
        number = found.run + 1
        ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
        words.append(f"{number}{ending} run")
    if found.judge != "rule":
        words.append(f"judged by {found.judge}")
    if found.sight:
        words.append(found.sight)
    return ", ".join(words)


def _digits(found: Estimate) -> int:
    statistic = found.indicator.rpartition(".")[2]
    return 0 if statistic in COUNTS else 2 if statistic == "length_shift" else 3


def estimate(found: Estimate) -> Text:
    """An estimate's number with its signature behind; a dash with the reason where there is none."""
    behind = "\n".join(filter(None, (found.reason, found.signature)))
    return Text(number(found.value, _digits(found)), behind, found.status != "ok")


def summary(audit: Audit) -> Table:
    """The columns of the HQM paper's Table 1 and a few more, one row a benchmark and metric.

    The paper's column "Average" is left out: it averages coefficients of different error sources.
    """
    columns = (
        "Benchmark", "Task", "Items", "Respondents", "Metric", "Test-retest r", "noise floor r0", "ICC(A,1)",
        "Parallel-forms r", "ICC(A,1)", "mean shift", "Criterion r", "Types",
    )  # fmt: skip
    rows = []
    for one in audit.audits:
        covered = sum(kind["items"] > 0 for kind in one.coverage.values())
        claimed = sum(bool(kind["claimed"]) for kind in one.coverage.values())
        types = f"{covered} of 8" + (f" ({claimed} claimed)" if claimed > covered else "")
        for metric in one.metrics:
            wanted = ("test_retest.pearson", "test_retest.noise_floor", "test_retest.icc_a1", "parallel_forms.pearson",
                      "parallel_forms.icc_a1", "parallel_forms.mean_shift", "criterion.pearson")  # fmt: skip
            found = [_find(one, indicator, metric) for indicator in wanted]
            head = (one.title, TASKS[one.task], f"{one.items:,}", str(len(one.respondents)), metric)
            numbers = (estimate(f) if f else Text(DASH, "not measured", True) for f in found)
            rows.append((*map(Text, head), *numbers, Text(types)))
    notes = (
        "Coefficients of different error sources are never averaged. Hold the pointer over a number for its signature.",
        "r0: the correlation that independent coin flips at each respondent's own rate would reach with this many items.",
    )
    return Table("Quality of the benchmarks", columns, tuple(rows), (2, 3, *range(5, 12)), notes)


def _find(one: BenchmarkAudit, indicator: str, metric: str) -> Estimate | None:
    return next((e for e in one.estimates if (e.indicator, e.metric) == (indicator, metric)), None)


def indicators(one: BenchmarkAudit) -> Table:
    """Every estimate of a benchmark."""
    columns = (
        "Indicator",
        "Statistic",
        "Metric",
        "First",
        "Other",
        "Value",
        "95% interval",
        "n",
        "Items",
        "Unscored",
        "Notes",
    )
    rows: list[tuple[Text, ...]] = []
    used: set[str] = set()
    for found in one.estimates:
        family, _, statistic = found.indicator.partition(".")
        used.update(found.flags)
        notes = ", ".join([*found.flags, *([found.status.replace("_", " ")] if found.status != "ok" else [])])
        rows.append(
            (
                Text(FAMILIES.get(family, family)),
                Text(statistic_name(statistic)),
                Text(found.metric),
                Text(cell(found.first), found.first),
                Text(cell(found.other), found.other),
                estimate(found),
                Text(interval(found.interval("model_population"), _digits(found)), _methods(found)),
                Text(str(found.n_respondents)),
                Text(f"{found.n_items:,}"),
                Text(f"{found.unscored:,}"),
                Text(notes, found.reason),
            )
        )
    reasons = {f"{e.status.replace('_', ' ')}: {e.reason}." for e in one.estimates if e.reason}
    notes_below = [f"{flag}: {FLAGS[flag]}." for flag in sorted(used) if flag in FLAGS] + sorted(reasons)
    return Table("Indicators", columns, tuple(rows), (5, 6, 7, 8, 9), tuple(notes_below))


def indicators_brief(one: BenchmarkAudit) -> Table:
    """The chief estimates in the width of a terminal, with the intervals for these models and for others like them."""
    rows, reasons = [], []
    for found in one.estimates:
        family, _, statistic = found.indicator.partition(".")
        if statistic not in HEADLINES.get(family, (statistic,)) or found.status == "not_applicable":
            continue
        name = f"{FAMILIES.get(family, family)}, {statistic_name(statistic)}"
        if family == "criterion":
            name += f" ({Cell.parse(found.other).judge})"
        spans = [interval(found.interval(kind), _digits(found)) for kind in ("fixed_models", "model_population")]
        rows.append((Text(name, family), Text(found.metric), estimate(found), *map(Text, spans)))
        if found.reason:
            reasons.append(f"{found.indicator} ({found.metric}): {found.reason}")
    columns = ("indicator", "metric", "value", "these models", "other models")
    order = list(FAMILIES)
    rows.sort(key=lambda row: order.index(row[0].behind) if row[0].behind in order else len(order))
    return Table("Indicators", columns, tuple(rows), (2, 3, 4), tuple(reasons))


def _methods(found: Estimate) -> str:
    return "; ".join(f"{i.inference}: {i.method}, {i.level:.0%}" for i in found.intervals)


def leaderboard(one: BenchmarkAudit) -> Table:
    """Respondents by the first audited metric, best first, with intervals over pictures."""
    first = next(iter(one.metrics))
    lower = one.metrics[first]["better"] == "lower"

    def rank(row: RespondentScores) -> float:
        score = row.scores.get(first)
        return math.inf if score is None else score if lower else -score

    columns = ["Respondent"]
    for metric in one.metrics:
        columns += [metric, "95% interval"]
    others = (
        [name for name in one.respondents[0].scores if name not in one.metrics and "." not in name]
        if one.respondents
        else []
    )
    columns += others
    rows = []
    for row in sorted(one.respondents, key=rank):
        cells = [Text(short(row.name), row.name)]
        for metric in one.metrics:
            low, high = row.intervals[metric]
            shown = "" if low is None or high is None else f"[{number(low)}, {number(high)}]"
            cells += [Text(number(row.scores.get(metric))), Text(shown)]
        rows.append((*cells, *(Text(number(row.scores.get(name))) for name in others)))
    better = "lower" if lower else "higher"
    notes = (
        f"Sorted by {first} ({better} is better), {cell(one.reference)}. Intervals: each picture with its questions left out once.",
    )
    return Table("Respondents", tuple(columns), tuple(rows), tuple(range(1, len(columns))), notes)


def by_type(one: BenchmarkAudit) -> Table | None:
    """Respondents by hallucination type; None where nothing is labelled."""
    types = [kind for kind in one.coverage if any(kind in row.by_type for row in one.respondents)]
    if len(types) < 2:
        return None
    rows = tuple(
        (Text(short(r.name), r.name), *(Text(number(r.by_type.get(k))) for k in types)) for r in one.respondents
    )
    return Table(f"{next(iter(one.metrics))} by type", ("Respondent", *types), rows, tuple(range(1, len(types) + 1)))


def yes_ratios(one: BenchmarkAudit) -> Table | None:
    """The share of answers yes beside the share of questions whose right answer is yes, form by form."""
    if not one.truth_yes:
        return None
    cells = [name for name in one.cells if any(name in row.yes_ratio for row in one.respondents)]
    truth = (
        Text("the right answers", muted=True),
        *(Text(number(one.truth_yes.get(Cell.parse(c).form))) for c in cells),
    )
    rows = [truth]
    rows += [(Text(short(r.name), r.name), *(Text(number(r.yes_ratio.get(c))) for c in cells)) for r in one.respondents]
    notes = ("Far above the right answers: acquiescence, the habit of saying yes. Far below: the habit of saying no.",)
    return Table(
        "Share of answers yes", ("Respondent", *map(cell, cells)), tuple(rows), tuple(range(1, len(cells) + 1)), notes
    )


def lengths(one: BenchmarkAudit) -> Table:
    """The mean length of the answers in words, administration by administration."""
    rows = tuple(
        (Text(short(r.name), r.name), *(Text(number(r.words.get(c), 1)) for c in one.cells)) for r in one.respondents
    )
    columns = ("Respondent", *map(cell, one.cells))
    return Table("Mean length of an answer, words", columns, rows, tuple(range(1, len(columns))))


def coverage(one: BenchmarkAudit) -> Table:
    """The eight types with items, pictures and distinct wordings."""
    rows = [
        (
            Text(kind),
            Text(str(row["state"]), muted=not row["items"]),
            *(Text(f"{row[k]:,}") for k in ("items", "images", "wordings")),
        )
        for kind, row in one.coverage.items()
    ]
    notes = (
        "By design: the benchmark asks about nothing else, though its release carries no labels. Claimed: it says that it "
        "measures the type, but no item is known to, so the type cannot be scored.",
    )
    return Table(
        "Coverage of hallucination types",
        ("Type", "State", "Items", "Pictures", "Distinct wordings"),
        tuple(rows),
        (2, 3, 4),
        notes,
    )


def states(one: BenchmarkAudit) -> Table:
    """How the answers came out, counted apart."""
    seen = [state for state in STATES if any(row.states[c][state] for row in one.respondents for c in one.cells)]
    shown = [state for state in STATES if state in seen or state != "missing"]
    rows: list[tuple[Text, ...]] = []
    for row in one.respondents:
        for name in one.cells:
            counts = (Text(f"{row.states[name][state]:,}", muted=not row.states[name][state]) for state in shown)
            rows.append((Text(short(row.name), row.name), Text(cell(name), name), *counts))
    notes = (
        "ok: read and scored. unparsed: no answer could be read from it. refused: declined. truncated: cut at the limit of tokens, "
        "scored if it could be read. error: no answer came back; never scored.",
    )
    return Table(
        "How the answers came out",
        ("Respondent", "Administration", *shown),
        tuple(rows),
        tuple(range(2, len(shown) + 2)),
        notes,
    )


def forms(one: BenchmarkAudit) -> Table:
    """The forms, and the rules that made them."""
    rows = [
        (
            Text(name),
            Text(f"{row['items']:,}"),
            Text(f"{row['left_out']:,}"),
            Text(", ".join(f"{rule} {n:,}" for rule, n in row["rules"].items())),
            Text(row["digest"]),
        )
        for name, row in one.forms.items()
    ]
    return Table("Forms", ("Form", "Items", "Left out", "Made by", "Content hash"), tuple(rows), (1, 2))


def findings(one: BenchmarkAudit) -> Table | None:
    """What was found in the data."""
    rows = [(Text(f["name"]), Text(f["sentence"]), Text("\n".join(f["examples"]))) for f in one.findings]
    return Table("Found in the data", ("Finding", "What", "Examples"), tuple(rows)) if rows else None


def record(audit: Audit) -> Table:
    """How the audit was made."""
    rows = [("HQM", audit.hqm_version), ("command", audit.command)]
    rows += list(_flat("", audit.record))
    return Table("Run record", ("What", "Value"), tuple((Text(k), Text(str(v))) for k, v in rows))


def identities(audit: Audit) -> Table:
    """Every respondent as it was asked: weights, device, sampling, seed."""
    seen: dict[str, dict[str, object]] = {}
    for one in audit.audits:
        for row in one.respondents:
            identity = {
                k: v for k, v in row.identity.items() if k not in ("kind", "max_tokens", "model") and v is not None
            }
            seen.setdefault(row.name, identity)
    keys = list(dict.fromkeys(key for identity in seen.values() for key in identity))
    rows = tuple((Text(name), *(Text(str(identity.get(key, DASH))) for key in keys)) for name, identity in seen.items())
    return Table("Respondents as they were asked", ("Respondent", *(key.replace("_", " ") for key in keys)), rows)


def _flat(prefix: str, data: object) -> Iterable[tuple[str, str]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _flat(f"{prefix}.{key}" if prefix else str(key), value)
    elif isinstance(data, (list, tuple)):
        yield prefix, ", ".join(map(str, data))
    elif data is not None:
        yield prefix, str(data)


def signatures(audits: Sequence[BenchmarkAudit]) -> Table:
    """Every estimate's signature, as a note."""
    rows = [
        (Text(f"{one.benchmark} {e.indicator} {e.metric}"), Text(e.signature)) for one in audits for e in one.estimates
    ]
    return Table(
        "Signatures",
        ("Estimate", "Signature"),
        tuple(rows),
        notes=("Equal signatures mean equal numbers; the parts before `answers` are the protocol.",),
    )
