"""Check a table's precision, recall, F1, accuracy and yes ratio against each other, within
rounding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hqm_tables.printed_table import Column, Published, confusion_groups, is_summary, metric_of
from hqm_tables.table_integrity import (
    Kind,
    Span,
    Violation,
    accuracy_from,
    accuracy_from_yes,
    base_from_accuracy,
    check_table,
    common_base,
    f1_from,
    rounding_interval,
    yes_rate_from,
)

# ----------------------------------------------------------------------
# What of a published table cannot be true, and what it was checked for.
# ----------------------------------------------------------------------

KINDS: Mapping[str, str] = {
    "F1": "F1",
    "ACCURACY": "accuracy",
    "YES_RATIO": "the yes ratio",
    "ROW_MEAN": "a mean of parts",
    "COLUMN_MEAN": "a mean of a column",
    "GRIM": "a share of the items",
    "OUT_OF_BOUNDS": "a number outside its scale",
    "DUPLICATE_ROW": "equal rows",
    "DUPLICATE_COLUMN": "equal columns",
}
"""Every kind of contradiction, and what it is about."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A printed number that other numbers of the table contradict.

    Parameters
    ----------
    violation
        The number, where it stands, and what contradicts it.
    off
        By how much it is off, in its own units; NaN where that is no number.
    unless
        What would explain it, where an ordinary way of counting does; empty where nothing does.
    """

    violation: Violation
    deviation: float = math.nan
    unless: str = ""

    def to_dict(self) -> dict[str, str | float | None]:
        """As `--json` prints it."""
        v = self.violation
        return {
            "kind": v.kind,
            "row": v.row,
            "column": v.column,
            "printed": v.printed,
            "reason": v.reason,
            "off": self.deviation if math.isfinite(self.deviation) else None,
            "unless": self.unless,
        }


@dataclass
class Tally:
    """Counts how many numbers each check could have refuted, and keeps the assumptions."""

    checks: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, check: str, number: int) -> None:
        """Count numbers that a check could have refuted."""
        if number:
            self.checks[check] = self.checks.get(check, 0) + number


@dataclass(frozen=True, slots=True)
class Checked:
    """The checks of a table, and the contradictions.

    Parameters
    ----------
    contradictions
        In the order of the checks.
    checks
        What was compared with what, with the number of printed numbers that each check could have
        refuted.
    notes
        What was supposed on the way.
    """

    contradictions: tuple[Contradiction, ...]
    checks: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def refuted(self) -> tuple[Contradiction, ...]:
        """The contradictions that no common way of counting explains."""
        return tuple(
            contradiction for contradiction in self.contradictions if not contradiction.unless
        )

    def sentence(self) -> str:
        """What the checks come to, in words."""
        if not self.checks and not self.contradictions:
            return "Nothing in this table can be checked against anything else in it."
        checks_text = "; ".join(f"{name}: {count}" for name, count in self.checks.items())
        checked_note = f" Checked: {checks_text}." if checks_text else ""
        explained = [contradiction for contradiction in self.contradictions if contradiction.unless]
        if explained:
            condition_note = (
                f" Possible only under the condition named with each: {_count_by_kind(explained)}."
            )
        else:
            condition_note = ""
        if self.refuted:
            counts = _count_by_kind(self.refuted)
            return f"The table contradicts itself: {counts}.{condition_note}{checked_note}"
        if explained:
            return f"Nothing in this table is impossible.{condition_note}{checked_note}"
        return f"The table is consistent with itself, as far as it can be checked.{checked_note}"


def _count_by_kind(contradictions: Sequence[Contradiction]) -> str:
    phrases = []
    for kind, subject in KINDS.items():
        of_kind = [
            contradiction
            for contradiction in contradictions
            if contradiction.violation.kind == kind
        ]
        deviations = [
            abs(contradiction.deviation)
            for contradiction in of_kind
            if math.isfinite(contradiction.deviation)
        ]
        if of_kind:
            largest = f" (by up to {max(deviations):.3g})" if deviations else ""
            phrases.append(
                f"{subject} in {len(of_kind)} {'place' if len(of_kind) == 1 else 'places'}{largest}"
            )
    return ", ".join(phrases)


_KINDS: Mapping[str, Kind] = {"f1": "F1", "accuracy": "ACCURACY", "yes": "YES_RATIO"}
_NAMES = {"accuracy": "accuracy", "precision": "P", "recall": "R", "f1": "F1", "yes": "yes ratio"}


def identity_contradictions(
    table: Published, base_rate: float | None, tally: Tally
) -> Iterator[Contradiction]:
    """Find contradictions between the metrics of each group of questions.

    Parameters
    ----------
    base_rate
        The share of questions whose right answer is yes, where it is known; otherwise it is solved
        from the rows.
    """
    for group, indices in confusion_groups(table).items():
        yield from _identities(table, group, indices, base_rate, tally)


def _identities(
    table: Published, group: str, indices: Mapping[str, int], base_rate: float | None, tally: Tally
) -> list[Contradiction]:
    if not {"precision", "recall"} <= indices.keys():
        return []
    spans = [_rounding_spans(table, i, indices) for i in range(len(table.respondents))]
    contradictions: list[Contradiction] = []
    for i, row in enumerate(spans):
        if {"precision", "recall", "f1"} <= row.keys():
            expected = f1_from(row["precision"], row["recall"])
        else:
            expected = None
        if expected is not None:
            tally.add("F1 from P and R", 1)
            contradictions += _compare_metric(
                table, i, indices, "f1", row["f1"], expected, ("precision", "recall")
            )
    readings = ("yes", "no") if "yes" in indices else ("yes",)
    results = {
        reading: _check_base_rate(table, group, indices, spans, base_rate, reading)
        for reading in readings
    }
    # precision and recall may be about "no", as AMBER's are: the reading that contradicts the table
    # less is taken
    reading = min(readings, key=lambda name: (len(results[name][0]), name == "no"))
    base_contradictions, base_tally = results[reading]
    if reading == "no" and len(base_contradictions) < len(results["yes"][0]):
        group_note = f" of {group}" if group else ""
        tally.notes.append(
            f"precision and recall{group_note} are read as those of the answer no: they fit the yes"
            " ratio better so"
        )
    for check, number in base_tally.checks.items():
        tally.add(check, number)
    tally.notes += base_tally.notes
    return [*contradictions, *base_contradictions]


def _rounding_spans(table: Published, i: int, indices: Mapping[str, int]) -> dict[str, Span]:
    row = {}
    for metric, j in indices.items():
        column = table.column_specs[j]
        value = float(table.values[i, j])
        if math.isfinite(value) and column.scale and 0 <= value <= column.scale:
            row[metric] = rounding_interval(value, column.decimals, column.scale)
    return row


def _check_base_rate(
    table: Published,
    group: str,
    indices: Mapping[str, int],
    spans: Sequence[Mapping[str, Span]],
    base_rate: float | None,
    reading: str,
) -> tuple[list[Contradiction], Tally]:
    """Check accuracy and yes ratio against precision, recall and the base rate."""
    contradictions: list[Contradiction] = []
    tally = Tally()
    rows = [dict(row) for row in spans]
    if reading == "no":
        for row in rows:
            if "yes" in row:
                row["yes"] = Span(1 - row["yes"].high, 1 - row["yes"].low)
    for members in _same_question_rows(table):
        base = _declared_base_rate(base_rate, reading) or _solve_base_rate(
            members, rows, tally, _question_set(table, group, members[0]), reading
        )
        for i in members:
            row = rows[i]
            p, r = row.get("precision"), row.get("recall")
            if p is None or r is None or not (p.low > 0 and r.low > 0):
                continue
            if base is not None:
                sources = ("precision", "recall")
                for metric, expected in (
                    ("accuracy", accuracy_from(p, r, base)),
                    ("yes", yes_rate_from(p, r, base)),
                ):
                    if metric in row and expected is not None:
                        tally.add(f"{_NAMES[metric]} from P, R and the base rate", 1)
                        contradictions += _compare_metric(
                            table, i, indices, metric, row[metric], expected, sources, base, reading
                        )
            elif "accuracy" in row and "yes" in row:
                expected = accuracy_from_yes(p, r, row["yes"])
                if expected is not None:
                    tally.add("accuracy from P, R and the yes ratio", 1)
                    contradictions += _compare_metric(
                        table,
                        i,
                        indices,
                        "accuracy",
                        row["accuracy"],
                        expected,
                        ("precision", "recall", "yes"),
                    )
    return contradictions, tally


def _declared_base_rate(base_rate: float | None, reading: str) -> Span | None:
    if base_rate is None:
        return None
    share = base_rate if reading == "yes" else 1 - base_rate
    return Span(share, share)


def _same_question_rows(table: Published) -> list[list[int]]:
    """Group the rows that were asked the same questions: all, or those of one data set."""
    label = table.repeated_label
    sets: dict[tuple[str, ...], list[int]] = {}
    for i, labels in enumerate(table.labels):
        key = () if label is None else (*labels[:label], *labels[label + 1 :])
        sets.setdefault(key, []).append(i)
    return list(sets.values())


def _question_set(table: Published, group: str, i: int) -> str:
    """Name the questions that a row was asked."""
    label = table.repeated_label
    if label is None:
        labels = []
    else:
        labels = [text for j, text in enumerate(table.labels[i]) if j != label]
    return " / ".join([*labels, *([group] if group else [])])


def _solve_base_rate(
    members: Sequence[int],
    rows: Sequence[Mapping[str, Span]],
    tally: Tally,
    question_set: str,
    reading: str,
) -> Span | None:
    """Solve for the base rate that most rows share."""
    spans = []
    for i in members:
        row = rows[i]
        if {"accuracy", "precision", "recall"} <= row.keys() and row["precision"].low > 0:
            base = base_from_accuracy(row["accuracy"], row["precision"], row["recall"])
            if base is not None and base.high >= 0 and base.low <= 1:
                spans.append(Span(max(0.0, base.low), min(1.0, base.high)))
    common = common_base(spans)
    if common is None:
        return None
    span, agreeing = common
    # without the yes ratio nobody can tell which answer precision and recall are about
    if any("yes" in rows[i] for i in members):
        answer = reading
    else:
        answer = "the one that P and R are about"
    tally.notes.append(
        f"{question_set}{': ' if question_set else ''}the right answer is {answer} to"
        f" {_span_text(span)} of the"
        f" questions: so say accuracy, P and R of {len(agreeing)} of {len(spans)} rows"
    )
    return span


def _compare_metric(
    table: Published,
    i: int,
    indices: Mapping[str, int],
    metric: str,
    printed: Span,
    expected: Span,
    sources: Sequence[str],
    base: Span | None = None,
    reading: str = "yes",
) -> list[Contradiction]:
    if expected.holds(printed):
        return []
    j = indices[metric]
    column = table.column_specs[j]
    scale = column.scale or 1.0
    row: Mapping[str, Span] = (
        _rounding_spans(table, i, indices)
        if base is None and reading == "yes" and metric == "accuracy"
        else {}
    )
    if metric == "yes" and reading == "no":
        printed, expected = (Span(1 - s.high, 1 - s.low) for s in (printed, expected))
    value = float(table.values[i, j])
    limits = (expected.low * scale, expected.high * scale)
    middle = (limits[0] + limits[1]) / 2
    digits = column.decimals + 1
    deviation = value - middle
    given_text = ", ".join(f"{_NAMES[m]} {table.printed[i][indices[m]]}" for m in sources)
    given_text += f" and a base rate of {_span_text(base)}" if base is not None else ""
    side = "more" if deviation > 0 else "less"
    reason = (
        f"{given_text} give {middle:.{digits}f} ({limits[0]:.{digits}f} to {limits[1]:.{digits}f}"
        " within"
        f" rounding): the printed number is {abs(deviation):.{digits}f} {side}"
    )
    violation = Violation(
        _KINDS[metric], table.respondents[i], column.name, table.printed[i][j], reason
    )
    return [
        Contradiction(
            violation,
            deviation,
            _unread_condition(metric, printed, expected, row) if deviation < 0 else "",
        )
    ]


def _unread_condition(metric: str, printed: Span, expected: Span, row: Mapping[str, Span]) -> str:
    """Say how many answers that are neither yes nor no would explain a number that is too low.

    Where such answers count in the yes ratio alone, its share of the answers that count elsewhere
    is larger.
    """
    share = math.nan
    if metric == "yes" and expected.low > 0:
        share = 1 - printed.high / expected.low
    elif metric == "accuracy" and "yes" in row:
        p, r, y = ((row[name].low + row[name].high) / 2 for name in ("precision", "recall", "yes"))
        counted = (1 - printed.high) / (1 + p / r - 2 * p)
        share = 1 - y / counted if y < counted <= 1 else math.nan
    if not 0 < share < 1:
        return ""
    return (
        f"at least {share:.1%} of the answers were neither yes nor no, and count in the yes ratio"
        " alone"
    )


def _span_text(span: Span | None) -> str:
    if span is None:
        return "unknown"
    low, high = f"{span.low:.3f}", f"{span.high:.3f}"
    if low == high:
        return low
    return f"{low} to {high}"


# ----------------------------------------------------------------------
# Published numbers against what they are made of: shares of a number of items, means of parts,
# rows that stand twice.
# ----------------------------------------------------------------------

_MAX_COMPARED_ROWS = 400
"""Rows are compared with each other up to this number."""


def arithmetic_contradictions(table: Published, tally: Tally) -> Iterator[Contradiction]:
    """What single numbers, means and equal rows contradict."""
    yield from _check_rounding(table, tally)
    yield from _check_means(table, confusion_groups(table), tally)
    yield from _check_summary_rows(table, tally)
    yield from _check_duplicates(table, tally)


_COUNTS = re.compile(
    r"(?:^|[\s/:|._(#-])(?:tp|fp|tn|fn|n|counts?|questions|items)\)?$", re.IGNORECASE
)


def _check_rounding(table: Published, tally: Tally) -> Iterator[Contradiction]:
    """Check that every rate is on its scale and is a whole number of items (GRIM)."""
    if table.is_binary:
        return
    for j, column in enumerate(table.column_specs):
        rows = [i for i, row in enumerate(table.printed) if row[j]]
        if column.scale is None and _COUNTS.search(column.name):
            yield from (
                Contradiction(
                    Violation(
                        "OUT_OF_BOUNDS",
                        table.respondents[i],
                        column.name,
                        table.printed[i][j],
                        "a count below 0",
                    )
                )
                for i in rows
                if table.values[i, j] < 0
            )
        if column.scale is None or not rows:
            continue
        # a ratio such as F1 is no whole number of items
        if metric_of(column.name)[0] in ("", "accuracy", "yes"):
            items = column.items
        else:
            items = None
        checked = check_table(
            [table.respondents[i] for i in rows],
            [column.name],
            [[table.printed[i][j]] for i in rows],
            n=items,
            decimals=column.decimals,
            scale=int(column.scale),
        )
        tally.add("shares of a number of items", checked.grim_checked)
        yield from (
            Contradiction(v) for v in checked.violations if v.kind in ("GRIM", "OUT_OF_BOUNDS")
        )


def _check_duplicates(table: Published, tally: Tally) -> Iterator[Contradiction]:
    """Equal rows and equal columns."""
    rows = [i for i, row in enumerate(table.printed) if all(row)]
    if table.is_binary or len(rows) < 2 or len(rows) > _MAX_COMPARED_ROWS:
        return
    numbers = [table.printed[i] for i in rows]
    tally.add(
        "pairs of rows", len(rows) * (len(rows) - 1) // 2 if len(table.column_specs) > 2 else 0
    )
    bounds = (-1e12, 1e12)
    checked = check_table(
        [table.respondents[i] for i in rows], table.columns, numbers, bounds=bounds
    )
    unless = "they came out equal to the last printed digit by chance"
    kinds = ("DUPLICATE_ROW", "DUPLICATE_COLUMN")
    yield from (Contradiction(v, unless=unless) for v in checked.violations if v.kind in kinds)


def _check_means(
    table: Published, groups: Mapping[str, Mapping[str, int]], tally: Tally
) -> Iterator[Contradiction]:
    """Check columns that are named as means or totals against the columns beside them."""
    # the mean of precision, recall and their like is none
    mixes_metrics = any(len(indices) > 1 for indices in groups.values())
    for total, column in enumerate(table.column_specs):
        metric, _ = metric_of(column.name)
        if not is_summary(column) or (mixes_metrics and not metric):
            continue
        part_indices = [
            j
            for j, candidate in enumerate(table.column_specs)
            if metric_of(candidate.name)[0] == metric and not is_summary(candidate)
        ]
        parts = [table.column_specs[j] for j in part_indices]
        if not _can_be_summed(column, parts):
            continue
        for i, row in enumerate(table.printed):
            values = [float(row[j]) for j in part_indices if row[j]]
            if not row[total] or len(values) < len(parts):
                continue
            tally.add("means of parts", 1)
            reason = _reason_against_mean(float(row[total]), column, values, parts)
            if reason:
                respondent = table.respondents[i]
                yield Contradiction(
                    Violation("ROW_MEAN", respondent, column.name, row[total], reason)
                )


def _can_be_summed(column: Column, parts: Sequence[Column]) -> bool:
    """Whether a column can be the mean of others: two or more, on its scale, in one direction."""
    if len(parts) < 2 or parts[0].scale != column.scale:
        return False
    return len({(part.scale, part.lower_is_better) for part in parts}) == 1


def _reason_against_mean(
    printed: float, total_column: Column, values: Sequence[float], parts: Sequence[Column]
) -> str:
    """Say why a number is neither the mean of its parts nor their sum; empty if it is."""
    # a number printed with d decimals is known up to half a unit of the last one
    part_half_units = [0.5 * 10**-column.decimals for column in parts]
    total_half_unit = 0.5 * 10**-total_column.decimals
    formulas = {"the mean of the parts": [1 / len(values)] * len(values)}
    items = [column.items for column in parts]
    if all(items) and len(set(items)) > 1:
        total = sum(filter(None, items))
        formulas["their mean weighted by their items"] = [(n or 0) / total for n in items]
    if re.match(r"total|sum|all|overall", total_column.name.strip(), re.IGNORECASE):
        formulas["their sum"] = [1.0] * len(values)
    expected = {}
    for formula, weights in formulas.items():
        value = sum(w * v for w, v in zip(weights, values, strict=True))
        # the parts are rounded too, and so is the whole
        tolerance = total_half_unit + sum(
            w * h for w, h in zip(weights, part_half_units, strict=True)
        )
        if abs(value - printed) <= tolerance + 1e-9:
            return ""
        expected[formula] = value
    return ", ".join(f"{formula} is {value:.6g}" for formula, value in expected.items())


def _check_summary_rows(table: Published, tally: Tally) -> Iterator[Contradiction]:
    """Check rows that are named as means or totals against the rows above them."""
    for name, row in table.summaries:
        for j, column in enumerate(table.column_specs):
            values = [float(printed[j]) for printed in table.printed if printed[j]]
            if not row[j] or len(values) < 2 or len(values) < len(table.printed):
                continue
            digits = max(column.decimals, len(row[j].partition(".")[2]))
            reason = _reason_against_mean(
                float(row[j]),
                replace(column, name=name, decimals=digits),
                values,
                [replace(column, items=None)] * len(values),
            )
            tally.add("means of columns", 1)
            if reason:
                row_reason = reason.replace("the parts", "the rows")
                yield Contradiction(Violation("COLUMN_MEAN", name, column.name, row[j], row_reason))
