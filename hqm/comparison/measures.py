"""A measure: one benchmark under one metric, scoring and parser, as an audit of it has it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
        Measures with the same text here were scored from the same answers, so that they share their noise.
    scores
        In the reference administration.
    intervals
        Respondent -> its score's interval over pictures.
    pairs
        Family of estimates (`test_retest`, `criterion`, ...) -> respondent -> score in the other administration.
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


def measures_of(audits: Sequence[BenchmarkAudit], metrics: Iterable[str] = ()) -> tuple[Measure, ...]:
    """Every audited metric of every audit as a measure, with names that tell them apart.

    Parameters
    ----------
    metrics
        The metrics to take; all audited ones unless given.
    """
    wanted = set(metrics)
    found = [_measure(one, metric) for one in audits for metric in one.metrics if not wanted or metric in wanted]
    return _named(found)


def _measure(one: BenchmarkAudit, metric: str) -> Measure:
    estimates = tuple(e for e in one.estimates if e.metric == metric)
    pairs = {}
    for found in estimates:
        family, _, statistic = found.indicator.partition(".")
        if statistic == "pearson" and family not in pairs and " & " not in found.other:
            pairs[family] = _known((row.name, _other(row, found.other, metric)) for row in one.respondents)
    retest = next((e for e in estimates if e.indicator == "test_retest.rho_g"), None)
    errors = retest.detail.get("by_respondent", {}) if retest is not None else {}
    leading = metric == next(iter(one.metrics))
    types = list(dict.fromkeys(kind for row in one.respondents for kind in row.by_type)) if leading else []
    reference = Cell.parse(one.reference)
    return Measure(
        label=one.title,
        benchmark=one.benchmark,
        title=one.title,
        metric=metric,
        better=one.metrics[metric]["better"],
        items=next((e.n_items for e in estimates if e.n_items), one.items),
        answers=f"{one.benchmark} {one.version} {reference.form} {reference.run} {reference.sight}",
        scores=_known((row.name, row.scores.get(metric)) for row in one.respondents),
        intervals={row.name: ends for row in one.respondents if (ends := _ends(row, metric)) is not None},
        pairs=pairs,
        noise={name: error**2 for name, error in _known(errors.items()).items()},
        by_type={kind: _known((row.name, row.by_type.get(kind)) for row in one.respondents) for kind in types},
        estimates=estimates,
        words={
            "metric": metric,
            "scoring": f"{one.scoring} scoring",
            "parser": f"parser {one.parser}" if one.parser else "",
            "judge": reference.judge,
            "version": one.version,
        },
    )


def _other(row: RespondentScores, cell: str, metric: str) -> float | None:
    return row.judged[cell] if cell in row.judged else row.cells.get(cell, {}).get(metric)


def _known(pairs: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    return {name: float(value) for name, value in pairs if value is not None and math.isfinite(value)}


def _ends(row: RespondentScores, metric: str) -> tuple[float, float] | None:
    low, high = row.intervals.get(metric, (None, None))
    return None if low is None or high is None else (low, high)


def _named(found: Sequence[Measure]) -> tuple[Measure, ...]:
    """Labels of what tells the measures apart: title, metric, then scoring, parser, judge and version."""
    titles, metrics = {one.title for one in found}, {one.metric for one in found}
    named: list[Measure] = []
    for one in found:
        kin = [other for other in found if other.benchmark == one.benchmark]
        parts = [
            one.words[word]
            for word in ("scoring", "parser", "judge", "version")
            if one.words[word] and len({other.words[word] for other in kin}) > 1
        ]
        head = [*([one.title] if len(titles) > 1 else []), *([one.metric] if len(metrics) > 1 else [])]
        label = " ".join(head)
        if parts:
            label = f"{label} ({', '.join(parts)})" if head else ", ".join(parts)
        label = label or f"{one.title} {one.metric}"
        same = sum(other.label.rpartition(" #")[0] == label or other.label == label for other in named)
        named.append(replace(one, label=f"{label} #{same + 1}" if same else label))
    return tuple(named)
