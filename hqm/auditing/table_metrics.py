"""Which columns of a published table are metrics of the same answers: precision, recall, F1,
accuracy, yes ratio.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hqm.auditing.printed import SUMMARY, Column, Published

_METRICS = {
    "accuracy": r"acc(?:uracy|\.)?",
    "precision": r"prec(?:ision|\.)?|ppv|p\.?",
    "recall": r"rec(?:all|\.)?|sensitivity|tpr|r\.?",
    "f1": r"f[-_ ]?1(?:[-_ ]?score)?|f[-_ ]score|f[-_ ]?measure",
    "yes": r"yes(?:[-_ ]?(?:ratio|rate|share))?",
}


def metric_of(name: str) -> tuple[str, str]:
    """Which metric of a confusion table a column is, and of which group of questions; ("", "") for
    others.

    >>> metric_of("Existence F1"), metric_of("Yes (%)"), metric_of("object/P"), metric_of("Recall@5")
    (('f1', 'existence'), ('yes', ''), ('precision', 'object'), ('', ''))
    """
    plain = re.sub(r"\(\s*%?\s*\)|%", "", name).strip().lower()
    for metric, words in _METRICS.items():
        tail = re.fullmatch(rf"(?:(.*?)[\s/:|._>-]+)?(?:{words})", plain)
        if tail:
            return metric, (tail[1] or "").strip(" ()")
        start = re.fullmatch(rf"(?:{words})[\s/:|_>-]+(.+)", plain)
        if start and len(plain.split()[0]) > 2:
            return metric, start[1].strip(" ()")
    return "", ""


def groups_of(columns: Iterable[Column]) -> dict[str, dict[str, int]]:
    """Group of questions -> metric -> its column; groups with two columns of one metric are left
    out.
    """
    groups: dict[str, dict[str, int]] = {}
    doubtful = set()
    for j, column in enumerate(columns):
        metric, group = metric_of(column.name)
        if metric and column.scale is not None:
            if metric in groups.setdefault(group, {}):
                doubtful.add(group)
            groups[group][metric] = j
    return {group: places for group, places in groups.items() if group not in doubtful}


def confusion_groups(table: Published) -> dict[str, dict[str, int]]:
    """Groups of columns that are metrics of the same answers, two at least: group -> metric ->
    place of its column.
    """
    return {group: places for group, places in groups_of(table.about).items() if len(places) > 1}


def is_summary(column: Column) -> bool:
    """Whether a column is called the mean or the sum of the others, of one metric or of all."""
    metric, group = metric_of(column.name)
    return bool(SUMMARY.match((group if metric else column.name).strip()))
