"""A measure: one benchmark under one metric, scoring and parser, as an audit of it has it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hqm.auditing.left_out_scores import LeftOutRecord, read
from hqm.auditing.value import BenchmarkAudit, RespondentScores
from hqm.types import Cell, Estimate

Scores = Mapping[str, float]
"""Respondent -> score; who has none is not in it."""


@dataclass(frozen=True)
class Measure:
    """What is compared: one column of scores with what is known of its reliability and validity.

    Parameters
    ----------
    label
        Its name in the comparison, different for every measure.
    answers
        Measures with the same text here were scored from the same answers, so that they share their
        noise.
    scores
        In the reference administration.
    intervals
        Respondent -> its score's interval over pictures.
    pairs
        Family of estimates (`test_retest`, `criterion`, ...) -> respondent -> score in the other
        administration.
    noise
        Respondent -> variance of one run's score over seeds.
    by_type
        Hallucination type -> scores; empty where the audit has none of this metric.
    """

    label: str
    benchmark: str
    title: str
    metric: str
    better: str
    items: int
    answers: str
    scores: Scores
    intervals: Mapping[str, tuple[float, float]]
    pairs: Mapping[str, Scores]
    noise: Scores
    by_type: Mapping[str, Scores]
    estimates: tuple[Estimate, ...] = ()
    left_out: Mapping[str, LeftOutRecord] = field(default_factory=dict)
    """Family of estimates -> the scores of its administrations with each picture left out, where
    the audit has them.
    """
    components: Mapping[str, Any] = field(default_factory=dict)
    """The variance components of all its administrations, where the audit has them."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What tells it from other measures of its benchmark: scoring, parser, judge, ..."""

    @property
    def sign(self) -> int:
        """+1 where a higher score is better, -1 where a lower one is."""
        return -1 if self.better == "lower" else 1

    @property
    def key(self) -> str:
        """What it is, whatever it is compared with: the seed of its resampling is made of this."""
        return " ".join([self.benchmark, *self.words.values()])

    def estimate(self, indicator: str) -> Estimate | None:
        """The first estimate of this indicator, if there is one."""
        return next((e for e in self.estimates if e.indicator == indicator), None)


def measures_of(
    audits: Sequence[BenchmarkAudit], metrics: Iterable[str] = ()
) -> tuple[Measure, ...]:
    """Every audited metric of every audit as a measure, with names that tell them apart.

    Parameters
    ----------
    metrics
        The metrics to take; all audited ones unless given.
    """
    wanted = set(metrics)
    measures = [
        _measure(audit, metric)
        for audit in audits
        for metric in audit.metrics
        if not wanted or metric in wanted
    ]
    return _named(measures)


def _measure(audit: BenchmarkAudit, metric: str) -> Measure:
    estimates = tuple(e for e in audit.estimates if e.metric == metric)
    pairs = {}
    for estimate in estimates:
        family, _, statistic = estimate.indicator.partition(".")
        if statistic == "pearson" and family not in pairs and " & " not in estimate.other:
            pairs[family] = _known(
                (row.name, _other(row, estimate.other, metric)) for row in audit.respondents
            )
    retest = next((e for e in estimates if e.indicator == "test_retest.rho_g"), None)
    errors = retest.detail.get("by_respondent", {}) if retest is not None else {}
    leading = metric == next(iter(audit.metrics))
    types = (
        list(dict.fromkeys(kind for row in audit.respondents for kind in row.by_type))
        if leading
        else []
    )
    reference = Cell.parse(audit.reference)
    return Measure(
        label=audit.title,
        benchmark=audit.benchmark,
        title=audit.title,
        metric=metric,
        better=audit.metrics[metric]["better"],
        items=next((e.n_items for e in estimates if e.n_items), audit.items),
        answers=(
            f"{audit.benchmark} {audit.version} {reference.form} {reference.run}"
            f" {reference.sight}{reference.until}{reference.resolution}"
        ),
        scores=_known((row.name, row.scores.get(metric)) for row in audit.respondents),
        intervals={
            row.name: ends for row in audit.respondents if (ends := _ends(row, metric)) is not None
        },
        pairs=pairs,
        noise={name: error**2 for name, error in _known(errors.items()).items()},
        by_type={
            kind: _known((row.name, row.by_type.get(kind)) for row in audit.respondents)
            for kind in types
        },
        estimates=estimates,
        left_out=read(audit.left_out, metric),
        components=audit.components.get(metric, {}),
        words={
            "metric": metric,
            "scoring": f"{audit.scoring} scoring",
            "parser": f"parser {audit.parser}" if audit.parser else "",
            "judge": reference.judge,
            "version": audit.version,
        },
    )


def _other(row: RespondentScores, cell: str, metric: str) -> float | None:
    return row.judged[cell] if cell in row.judged else row.cells.get(cell, {}).get(metric)


def _known(pairs: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    return {
        name: float(value) for name, value in pairs if value is not None and math.isfinite(value)
    }


def _ends(row: RespondentScores, metric: str) -> tuple[float, float] | None:
    low, high = row.intervals.get(metric, (None, None))
    return None if low is None or high is None else (low, high)


def _named(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """Labels of what tells the measures apart: title, metric, then scoring, parser, judge and
    version.
    """
    titles, metrics = (
        {measure.title for measure in measures},
        {measure.metric for measure in measures},
    )
    named: list[Measure] = []
    for measure in measures:
        siblings = [other for other in measures if other.benchmark == measure.benchmark]
        parts = [
            measure.words[word]
            for word in ("scoring", "parser", "judge", "version")
            if measure.words[word] and len({other.words[word] for other in siblings}) > 1
        ]
        head = [
            *([measure.title] if len(titles) > 1 else []),
            *([measure.metric] if len(metrics) > 1 else []),
        ]
        label = " ".join(head)
        if parts:
            label = f"{label} ({', '.join(parts)})" if head else ", ".join(parts)
        label = label or f"{measure.title} {measure.metric}"
        same = sum(
            other.label.rpartition(" #")[0] == label or other.label == label for other in named
        )
        named.append(replace(measure, label=f"{label} #{same + 1}" if same else label))
    return tuple(named)
