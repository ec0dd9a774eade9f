"""The items that a person should read first: contradictory keys, then those whose answers speak
against their key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hqm.types import Estimate, Form, Item

_MOST = 50
"""How many items with contradictory keys are shown with their pictures; the list of the finding has
all.
"""


def items_to_read(
    form: Form,
    estimates: Iterable[Estimate],
    findings: Iterable[Mapping[str, Any]],
    metric: str,
    thumbnail: Callable[[str], str],
) -> list[dict[str, Any]]:
    """A row for each item to read, in the order of reading.

    Of items with contradictory keys, one key in each group is wrong: they stand first. The others
    are ranked by the chance that their key is wrong (`items.reading_list` of this metric).
    """
    rows = [
        {
            **_about(form.by_id[name], thumbnail),
            "why": "contradiction",
            "beside": [other for other in group if other != name],
        }
        for group in _contradictory(form, findings)
        for name in group
    ][:_MOST]
    there = {row["item"] for row in rows}
    for estimate in estimates:
        if estimate.indicator == "items.reading_list" and estimate.metric == metric:
            for row in estimate.detail.get("reading_list") or ():
                if row["item"] in form.by_id and row["item"] not in there:
                    about = _about(form.by_id[row["item"]], thumbnail)
                    rows.append(
                        {
                            **about,
                            "why": "answers",
                            "rank": row["rank"],
                            "fails": list(row["fails"]),
                            "expected": row["expected"],
                        }
                    )
    return rows


def _contradictory(form: Form, findings: Iterable[Mapping[str, Any]]) -> list[Sequence[str]]:
    groups: dict[tuple[str, ...], None] = {}
    for finding in findings:
        if finding["name"] in ("contradictory-label", "contradictory-twins"):
            groups.update({tuple(row["items"]): None for row in finding["rows"]})
    return [group for group in groups if all(name in form.by_id for name in group)]


def _about(item: Item, thumbnail: Callable[[str], str]) -> dict[str, Any]:
    return {
        "item": item.id,
        "type": item.type or "",
        "part": item.part,
        "question": item.prompt,
        "options": list(item.options),
        "key": item.target if isinstance(item.target, str) else "",
        "image": item.image or "",
        "thumbnail": thumbnail(item.image) if item.image else "",
    }
