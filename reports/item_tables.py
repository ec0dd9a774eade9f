"""Tables of items: those to read first, and those that a test names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hqm.reports.details import expected_power, known, reading_list
from hqm.reports.evidence import whole
from hqm.reports.names import statistic_name
from hqm.reports.tables import Table, Text, estimate_text, find, number, percent, short

from hqm import BenchmarkAudit


def flagged_items(audit: BenchmarkAudit) -> Table:
    """The flagged items by name, with the reason for each flag."""
    metric = next(iter(audit.metrics), "")
    rows: list[tuple[Text, ...]] = []
    what = {
        "label_errors": (
            "To read first: strong respondents fail it and weak ones pass, which a wrong key or a"
            " weakness in common explains"
        ),
        "negative_items": "Works against the rest of the test",
        "misfit_items": "Does not fit the Rasch model",
        "dead_items": "All respondents are right or all are wrong, so it separates nobody",
        "duplicate_items": "Occurs more than once",
    }
    for statistic, meaning in what.items():
        estimate = find(audit, f"items.{statistic}", metric)
        if estimate is None or estimate.value is None:
            reason = "" if estimate is None else estimate.reason
            shown, which = Text("not measured", reason, True), reason
        else:
            shown, which = estimate_text(estimate), _names(estimate.detail, int(estimate.value))
            power = expected_power(estimate)
            if power is not None:
                which = f"{which}\nThis design would find {percent(power.found_share)} of such items.".strip()
        rows.append((Text(statistic_name(statistic), small=meaning), shown, Text(which)))
    return Table(
        "Items to look at",
        ("Finding", "Items", "Which"),
        tuple(rows),
        (1,),
        (f"Computed from {metric}.",),
    )


def to_read(audit: BenchmarkAudit, most: int = 20) -> Table | None:
    """The items to read first, with how often the reading is expected to find a fault; None where
    nothing ranks them.
    """
    listed = reading_list(audit, next(iter(audit.metrics), ""))
    if listed is None:
        return None
    estimate, ranked = listed
    lines = []
    for row in ranked[:most]:
        fails = row.get("fails")
        who = (
            ", ".join(short(str(name)) for name in fails)
            if isinstance(fails, (list, tuple))
            else whole(fails)
        )
        rest, expected = known(row.get("item_rest")), known(row.get("expected"))
        lines.append(
            (
                Text(whole(row.get("rank"))),
                Text(str(row.get("item"))),
                Text(number(rest, 2)),
                Text(who),
                Text(percent(expected)),
            )
        )
    columns = (
        "Rank",
        "Item",
        "Correlation with the rest",
        "Who fails it",
        "Wrong key, or misleading",
    )
    notes = (
        (
            "Ranked by how far strong respondents fail an item that weak ones pass. The list is for"
            " reading; no test stands behind a single row."
        ),
        *(
            [f"How many keys are wrong is not said: {estimate.reason}."]
            if estimate.value is None
            else []
        ),
        *([f"{len(ranked) - most:,} more are in audit.json."] if len(ranked) > most else []),
    )
    return Table("Items to read first", columns, tuple(lines), (2, 4), notes, estimate.signature)


def _names(detail: Mapping[str, Any], count: int, most: int = 12) -> str:
    names: list[str] = [str(row.get("item")) for row in detail.get("candidates", ())]
    names = names or [str(name) for name in detail.get("items", ())]
    names = names or [" = ".join(map(str, group)) for group in detail.get("groups", ())]
    more = count - min(len(names), most)
    return ", ".join(names[:most]) + (f", and {more:,} more" if names and more > 0 else "")
