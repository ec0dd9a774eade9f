"""Precision, recall, F1, accuracy and yes ratio of a published table against one another, within
their rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from hqm.auditing.contradictions import Contradiction, Tally
from hqm.auditing.printed import Published
from hqm.auditing.table_metrics import confusion_groups
from hqm.psychometrics import Violation
from hqm.psychometrics.identities import (
    Span,
    accuracy_from,
    accuracy_from_yes,
    base_from_accuracy,
    common_base,
    f1_from,
    rounded,
    yes_from,
)
from hqm.psychometrics.integrity import Kind

_KINDS: Mapping[str, Kind] = {"f1": "F1", "accuracy": "ACCURACY", "yes": "YES_RATIO"}
_NAMES = {"accuracy": "accuracy", "precision": "P", "recall": "R", "f1": "F1", "yes": "yes ratio"}


def identities_of(
    table: Published, base_rate: float | None, tally: Tally
) -> Iterator[Contradiction]:
    """What the metrics of each group of questions contradict.

    Parameters
    ----------
    base_rate
        The share of questions whose right answer is yes, where it is known; otherwise it is solved
        from the rows.
    """
    for group, places in confusion_groups(table).items():
        yield from _identities(table, group, places, base_rate, tally)


def _identities(
    table: Published, group: str, places: Mapping[str, int], base_rate: float | None, tally: Tally
) -> list[Contradiction]:
    if not {"precision", "recall"} <= places.keys():
        return []
    spans = [_spans(table, i, places) for i in range(len(table.respondents))]
    broken: list[Contradiction] = []
    for i, row in enumerate(spans):
        expected = (
            f1_from(row["precision"], row["recall"])
            if {"precision", "recall", "f1"} <= row.keys()
            else None
        )
        if expected is not None:
            tally.add("F1 from P and R", 1)
            broken += _compared(
                table, i, places, "f1", row["f1"], expected, ("precision", "recall")
            )
    readings = ("yes", "no") if "yes" in places else ("yes",)
    read = {
        reading: _with_base(table, group, places, spans, base_rate, reading) for reading in readings
    }
    # precision and recall may be about "no", as AMBER's are: the reading that contradicts the table
    # less is taken
    reading = min(readings, key=lambda name: (len(read[name][0]), name == "no"))
    more, made = read[reading]
    if reading == "no" and len(more) < len(read["yes"][0]):
        where = f" of {group}" if group else ""
        tally.notes.append(
            f"precision and recall{where} are read as those of the answer no: they fit the yes"
            " ratio better so"
        )
    for what, number in made.checks.items():
        tally.add(what, number)
    tally.notes += made.notes
    return [*broken, *more]


def _spans(table: Published, i: int, places: Mapping[str, int]) -> dict[str, Span]:
    row = {}
    for metric, j in places.items():
        column, value = table.about[j], float(table.values[i, j])
        if math.isfinite(value) and column.scale and 0 <= value <= column.scale:
            row[metric] = rounded(value, column.decimals, column.scale)
    return row


def _with_base(
    table: Published,
    group: str,
    places: Mapping[str, int],
    spans: Sequence[Mapping[str, Span]],
    base_rate: float | None,
    reading: str,
) -> tuple[list[Contradiction], Tally]:
    """Accuracy and yes ratio from precision, recall and the base rate, which is declared or solved
    from the rows.
    """
    broken: list[Contradiction] = []
    made = Tally()
    rows = [dict(row) for row in spans]
    if reading == "no":
        for row in rows:
            if "yes" in row:
                row["yes"] = Span(1 - row["yes"].high, 1 - row["yes"].low)
    for members in _asked_alike(table):
        base = _declared(base_rate, reading) or _solved(
            members, rows, made, _where(table, group, members[0]), reading
        )
        for i in members:
            row = rows[i]
            p, r = row.get("precision"), row.get("recall")
            if p is None or r is None or not (p.low > 0 and r.low > 0):
                continue
            if base is not None:
                known = ("precision", "recall")
                for metric, expected in (
                    ("accuracy", accuracy_from(p, r, base)),
                    ("yes", yes_from(p, r, base)),
                ):
                    if metric in row and expected is not None:
                        made.add(f"{_NAMES[metric]} from P, R and the base rate", 1)
                        broken += _compared(
                            table, i, places, metric, row[metric], expected, known, base, reading
                        )
            elif "accuracy" in row and "yes" in row:
                expected = accuracy_from_yes(p, r, row["yes"])
                if expected is not None:
                    made.add("accuracy from P, R and the yes ratio", 1)
                    broken += _compared(
                        table,
                        i,
                        places,
                        "accuracy",
                        row["accuracy"],
                        expected,
                        ("precision", "recall", "yes"),
                    )
    return broken, made


def _declared(base_rate: float | None, reading: str) -> Span | None:
    if base_rate is None:
        return None
    share = base_rate if reading == "yes" else 1 - base_rate
    return Span(share, share)


def _asked_alike(table: Published) -> list[list[int]]:
    """The rows that were asked the same questions: all of them, or those of one data set where rows
    name several.
    """
    place = table.repeated
    sets: dict[tuple[str, ...], list[int]] = {}
    for i, labels in enumerate(table.labels):
        key = () if place is None else (*labels[:place], *labels[place + 1 :])
        sets.setdefault(key, []).append(i)
    return list(sets.values())


def _where(table: Published, group: str, i: int) -> str:
    """The questions that a row was asked, in words."""
    place = table.repeated
    labels = [] if place is None else [text for j, text in enumerate(table.labels[i]) if j != place]
    return " / ".join([*labels, *([group] if group else [])])


def _solved(
    members: Sequence[int],
    rows: Sequence[Mapping[str, Span]],
    tally: Tally,
    where: str,
    reading: str,
) -> Span | None:
    """The base rate that accuracy, precision and recall of most rows have in common."""
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
    answer = reading if any("yes" in rows[i] for i in members) else "the one that P and R are about"
    tally.notes.append(
        f"{where}{': ' if where else ''}the right answer is {answer} to {_said(span)} of the"
        f" questions: so say accuracy, P and R of {len(agreeing)} of {len(spans)} rows"
    )
    return span


def _compared(
    table: Published,
    i: int,
    places: Mapping[str, int],
    metric: str,
    printed: Span,
    expected: Span,
    known: Sequence[str],
    base: Span | None = None,
    reading: str = "yes",
) -> list[Contradiction]:
    if expected.holds(printed):
        return []
    j = places[metric]
    column = table.about[j]
    scale = column.scale or 1.0
    row: Mapping[str, Span] = (
        _spans(table, i, places)
        if base is None and reading == "yes" and metric == "accuracy"
        else {}
    )
    if metric == "yes" and reading == "no":
        printed, expected = (Span(1 - s.high, 1 - s.low) for s in (printed, expected))
    value, ends = float(table.values[i, j]), (expected.low * scale, expected.high * scale)
    middle = (ends[0] + ends[1]) / 2
    digits = column.decimals + 1
    off = value - middle
    given = ", ".join(f"{_NAMES[m]} {table.printed[i][places[m]]}" for m in known)
    given += f" and a base rate of {_said(base)}" if base is not None else ""
    side = "more" if off > 0 else "less"
    reason = (
        f"{given} give {middle:.{digits}f} ({ends[0]:.{digits}f} to {ends[1]:.{digits}f} within"
        f" rounding): the printed number is {abs(off):.{digits}f} {side}"
    )
    violation = Violation(
        _KINDS[metric], table.respondents[i], column.name, table.printed[i][j], reason
    )
    return [
        Contradiction(violation, off, _unread(metric, printed, expected, row) if off < 0 else "")
    ]


def _unread(metric: str, printed: Span, expected: Span, row: Mapping[str, Span]) -> str:
    """How many answers that are neither yes nor no would explain a number that is too low.

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


def _said(span: Span | None) -> str:
    if span is None:
        return "unknown"
    low, high = f"{span.low:.3f}", f"{span.high:.3f}"
    return low if low == high else f"{low} to {high}"
