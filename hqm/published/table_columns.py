"""Recognise columns that are metrics of the same answers, such as precision and F1."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hqm.published.printed_table import SUMMARY, Column, Published

_METRICS = {
    "accuracy": r"acc(?:uracy|\.)?",
    "precision": r"prec(?:ision|\.)?|ppv|p\.?",
    "recall": r"rec(?:all|\.)?|sensitivity|tpr|r\.?",
    "f1": r"f[-_ ]?1(?:[-_ ]?score)?|f[-_ ]score|f[-_ ]?measure",
    "yes": r"yes(?:[-_ ]?(?:ratio|rate|share))?",
}


def metric_of(name: str) -> tuple[str, str]:
    """Return a column's metric of a confusion table and its group of questions; ("", "") for
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
    """Return group of questions -> metric -> column. Skip groups with two columns of one metric."""
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
    """Return group -> metric -> position of its column, for groups with two metrics or more."""
    return {group: places for group, places in groups_of(table.about).items() if len(places) > 1}


def is_summary(column: Column) -> bool:
    """Whether a column is called the mean or the sum of the others, of one metric or of all."""
    metric, group = metric_of(column.name)
    return bool(SUMMARY.match((group if metric else column.name).strip()))


# ----------------------------------------------------------------------
# Which columns of a published table are parts of one test, and a long table brought to one row
# for each respondent.
# ----------------------------------------------------------------------

Array = npt.NDArray[np.float64]
_LEADING = ("accuracy", "f1", "recall", "precision")


@dataclass(frozen=True)
class Subscales:
    """The columns that are parts of one test.

    Parameters
    ----------
    columns, about
        Their names, and what each is.
    scores
        (respondents, columns): higher is better, on one scale.
    rates
        (respondents, columns): the scores as shares between 0 and 1, as printed; None where they
        are none.
    notes
        What was left out or supposed.
    """

    columns: tuple[str, ...]
    about: tuple[Column, ...]
    scores: Array
    rates: Array | None
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> Array:
        """(respondents,): the mean over the columns; NaN for a respondent that lacks one."""
        return self.scores.mean(axis=1) if self.columns else np.full(len(self.scores), np.nan)


def pivoted(table: Published) -> Published:
    """Reshape a table with several rows for each respondent to one row for each."""
    repeated = table.repeated
    if repeated is None:
        return table
    names = list(dict.fromkeys(row[repeated] for row in table.labels))
    sets = list(dict.fromkeys((*row[:repeated], *row[repeated + 1 :]) for row in table.labels))
    width = len(table.about)
    values = np.full((len(names), len(sets) * width), np.nan)
    printed = [[""] * values.shape[1] for _ in names]
    for i, row in enumerate(table.labels):
        m, s = names.index(row[repeated]), sets.index((*row[:repeated], *row[repeated + 1 :]))
        values[m, s * width : (s + 1) * width] = table.values[i]
        printed[m][s * width : (s + 1) * width] = table.printed[i]
    about = [
        replace(column, name=f"{' / '.join(each)} {column.name}")
        for each in sets
        for column in table.about
    ]
    return replace(
        table,
        label_names=(table.label_names[repeated],),
        labels=tuple((name,) for name in names),
        respondents=tuple(names),
        about=tuple(about),
        values=values,
        printed=tuple(tuple(row) for row in printed),
        summaries=(),
    )


def subscales_of(table: Published) -> Subscales:
    """The columns that are parts of one test.

    Columns that are means of others are left out. Of several metrics of the same answers
    (precision, recall, F1) one is taken, of every group of questions: the others say the same
    answers again.
    """
    notes = []
    chosen = [j for j, column in enumerate(table.about) if not is_summary(column)]
    if confusion_groups(table):
        have = {metric_of(table.about[j].name)[0] for j in chosen}
        metric = next((name for name in _LEADING if name in have), "")
        chosen = [j for j in chosen if metric_of(table.about[j].name)[0] == metric]
        notes.append(
            f"of the metrics of the same answers, {metric or 'none'} is taken: the others are made"
            " from the same counts"
        )
    about = tuple(table.about[j] for j in chosen)
    columns = tuple(column.name for column in about)
    raw = table.values[:, chosen]
    scales = {column.scale for column in about}
    scores = np.stack([table.turned(name) for name in columns], axis=1) if columns else raw
    if len(scales) > 1 and None not in scales:
        scores = scores / np.array([column.scale for column in about])
        notes.append("columns in per cent are brought to shares of 1")
    elif len(scales) > 1:
        spread = np.nanstd(scores, axis=0, ddof=1)
        scores = (scores - np.nanmean(scores, axis=0)) / np.where(spread > 0, spread, 1.0)
        notes.append(
            "columns are on different scales, so each is standardised before they are added"
        )
    unknown = [
        column.name for column in about if not column.better and not metric_of(column.name)[0]
    ]
    if unknown and not table.binary:
        which = "all columns" if len(unknown) == len(about) else ", ".join(unknown[:10])
        notes.append(
            f"higher is taken as better in {which}: say so, or the contrary, with --direction"
        )
    rates = (
        raw / np.array([column.scale for column in about])
        if None not in scales and columns
        else None
    )
    if rates is not None and not ((rates >= 0) & (rates <= 1) | np.isnan(rates)).all():
        rates = None
    return Subscales(columns, about, scores, rates, tuple(notes))
