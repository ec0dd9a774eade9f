"""What a report says, as tables of text: the only place where numbers are rounded."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hqm.reports.names import FAMILIES, TASKS, digits_of, is_headline, statistic_name

from hqm import FLAGS, Audit, BenchmarkAudit, Cell, Estimate, Interval

DASH = "–"


@dataclass(frozen=True, slots=True)
class Text:
    """One cell, or one part of a sentence: its text, and what lies behind it."""

    text: str
    behind: str = ""
    """A signature, a reason, a full name: shown beside the text on demand."""
    muted: bool = False
    link: str = ""
    """The place on the page that it points to: an estimate's signature."""
    small: str = ""
    """A second line: the statistic's name, an interval."""
    heat: int | None = None
    """A step from 0 (worst) to 6 (best) that colours the cell."""
    bar: str = ""
    """The length of a bar behind the text, in percent."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text with a caption and notes."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    right: tuple[int, ...] = ()
    """The columns that hold numbers."""
    notes: tuple[str, ...] = ()
    signature: str = ""
    """What the numbers were made of, where they are no estimates with signatures of their own."""

    def texts(self) -> Iterable[str]:
        """All that a reader sees of it, in order."""
        yield from (self.caption, *self.columns)
        for row in self.rows:
            yield from (part for one in row for part in (one.text, one.small) if part)
        yield from self.notes


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


def digits(found: Estimate) -> int:
    """How many digits an estimate is shown with."""
    return digits_of(found.indicator.rpartition(".")[2])


def estimate(found: Estimate) -> Text:
    """An estimate's number with its signature behind; a dash with the reason where there is none."""
    behind = "\n".join(filter(None, (found.reason, found.signature)))
    return Text(number(found.value, digits(found)), behind, found.status != "ok", link=anchor(found.signature))


def anchor(signature: str) -> str:
    """The name of the place on the page where a signature stands.

    >>> anchor("benchmark:pope@1|answers:0")
    's-fb3dee0312'
    """
    return f"s-{hashlib.sha256(signature.encode()).hexdigest()[:10]}"


def percent(share: float | None, digits: int = 0) -> str:
    """A share in percent; never 0% of something and never 100% of less than all.

    >>> percent(0.256), percent(0.0004), percent(0.9999), percent(None)
    ('26%', 'under 1%', 'over 99%', '–')
    """
    if share is None or not math.isfinite(share):
        return DASH
    text = f"{100 * share:.{digits}f}"
    if float(text) == 0 and share > 0:
        return "under 1%"
    if float(text) == 100 and share < 1:
        return "over 99%"
    return f"{text.replace('-', '−')}%"


def p_value(value: float | None) -> str:
    """A probability of the null hypothesis.

    >>> p_value(0.0213), p_value(0.00001), p_value(None)
    ('0.021', 'below 0.001', '–')
    """
    if value is not None and 0 <= value < 0.001:
        return "below 0.001"
    return "above 0.999" if value is not None and value > 0.999 else number(value)


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
            found = [find(one, indicator, metric) for indicator in wanted]
            head = (one.title, TASKS[one.task], f"{one.items:,}", str(len(one.respondents)), metric)
            numbers = (estimate(f) if f else Text(DASH, "not measured", True) for f in found)
            rows.append((*map(Text, head), *numbers, Text(types)))
    notes = (
        "Coefficients of different error sources are never averaged. Every number leads to its signature.",
        "r0: the correlation that independent coin flips at each respondent's own rate would reach with this many items.",
    )
    return Table("Quality of the benchmarks", columns, tuple(rows), (2, 3, *range(5, 12)), notes)


def find(one: BenchmarkAudit, indicator: str, metric: str) -> Estimate | None:
    """The first estimate of this indicator and metric, if there is one."""
    return next((e for e in one.estimates if (e.indicator, e.metric) == (indicator, metric)), None)


def indicators(one: BenchmarkAudit) -> Table:
    """Every estimate of a benchmark."""
    columns = (
        "Indicator",
        "Statistic",
        "Metric",
        "Against",
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
                Text(
                    " and ".join(cell(name) for name in found.other.split(" & ")) if found.other else "by itself",
                    found.other,
                ),
                estimate(found),
                Text(interval(found.interval("model_population"), digits(found)), _methods(found)),
                Text(str(found.n_respondents)),
                Text(f"{found.n_items:,}"),
                Text(f"{found.unscored:,}"),
                Text(notes, found.reason),
            )
        )
    reasons = {f"{e.status.replace('_', ' ')}: {e.reason}." for e in one.estimates if e.reason}
    notes_below = [f"{flag}: {FLAGS[flag]}." for flag in sorted(used) if flag in FLAGS] + sorted(reasons)
    first = f"All of {cell(one.reference)}, by itself or against another administration."
    return Table("Indicators", columns, tuple(rows), (4, 6, 7, 8), (first, *notes_below))


def indicators_brief(one: BenchmarkAudit) -> Table:
    """The chief estimates in the width of a terminal, with the intervals for these models and for others like them."""
    rows, reasons = [], []
    for found in one.estimates:
        family, _, statistic = found.indicator.partition(".")
        if not is_headline(family, statistic) or found.status == "not_applicable":
            continue
        name = f"{FAMILIES.get(family, family)}, {statistic_name(statistic)}"
        if family == "generalizability" and found.detail.get("varied"):
            name += f", over {found.detail['varied']}s"
        if family == "criterion":
            name += f" ({Cell.parse(found.other).judge})"
        spans = [interval(found.interval(kind), digits(found)) for kind in ("fixed_models", "model_population")]
        rows.append((Text(name, family), Text(found.metric), estimate(found), *map(Text, spans)))
        if found.reason:
            reasons.append(f"{found.indicator} ({found.metric}): {found.reason}")
    columns = ("indicator", "metric", "value", "these models", "other models")
    order = list(FAMILIES)
    rows.sort(key=lambda row: order.index(row[0].behind) if row[0].behind in order else len(order))
    return Table("Indicators", columns, tuple(rows), (2, 3, 4), tuple(reasons))


def _methods(found: Estimate) -> str:
    return "; ".join(f"{i.inference}: {i.method}, {i.level:.0%}" for i in found.intervals)


def record(audit: Audit) -> Table:
    """How the audit was made."""
    rows = [("HQM", audit.hqm_version), ("command", audit.command)]
    rows += list(_flat("", audit.record))
    return Table("How the audit was made", ("What", "Value"), tuple((Text(k), Text(str(v))) for k, v in rows))


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
