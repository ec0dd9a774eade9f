"""Which of two measures to trust for whom at equal cost, as a table and as sentences."""

from __future__ import annotations

import math

from hqm.reports.layout import Column, Entry, PaperTable, measured, plain
from hqm.reports.tables import number

from hqm import Comparison, ForecastPair
from hqm.psychometrics import Coefficient, Contest

_WHOM = {"these": "For these respondents over other pictures", "others": "For other respondents"}


def forecast_table(comparison: Comparison) -> PaperTable:
    """A row for each pair of measures: both studies at one cost, and whom to trust each for."""
    rows = []
    for pair in comparison.forecasts:
        for i, label in enumerate((pair.first, pair.second)):
            rows.append(
                (
                    plain(label),
                    plain(f"{pair.first}, {pair.second}"),
                    measured(pair.cost, digits=0 if pair.unit == "answers" else 2),
                    measured(pair.items[i], digits=0),
                    measured(pair.pictures[i], digits=0),
                    _figure(pair.g[i]),
                    _figure(pair.mdd[i]),
                    *(
                        plain(_verdict(pair, label, contest))
                        for contest in (pair.these, pair.others)
                    ),
                )
            )
    unit = comparison.forecasts[0].unit if comparison.forecasts else "answers"
    columns = (
        Column("Measure", "text"),
        Column("Pair", "text"),
        Column(f"cost ({unit})"),
        Column("items"),
        Column("pictures"),
        Column("G", "interval"),
        Column("smallest difference", "interval"),
        Column("these respondents", "text"),
        Column("other respondents", "text"),
    )
    notes = (
        (
            "Each measure in one run of one wording, with as many pictures as its share of one cost"
            " buys; new pictures are assumed to be like the audited ones. G: how far differences"
            " between these respondents come back on other pictures and runs. Intervals: 95%, over"
            " pictures. Trusted: the forecasts differ by more than their standard error; shown: by"
            " more than 1.96 of it."
        ),
    )
    return PaperTable(
        "forecast", "Which measure to trust for whom, at equal cost.", columns, tuple(rows), notes
    )


def _figure(figure: Coefficient) -> Entry:
    low, high = (figure.fixed.low, figure.fixed.high) if figure.fixed is not None else (None, None)
    return measured(figure.value, low, high) if math.isfinite(figure.value) else measured(None)


def _verdict(pair: ForecastPair, label: str, contest: Contest) -> str:
    if contest.reason:
        return "–"
    if pair.trusted(contest) == label:
        return "shown" if contest.beyond_chance else "trusted"
    return "" if pair.trusted(contest) else "too close"


def forecasts_said(comparison: Comparison) -> tuple[str, ...]:
    """A sentence for each pair and population: which measure to trust, or why neither."""
    sentences = []
    for pair in comparison.forecasts:
        cost = f"{number(pair.cost, 0 if pair.unit == 'answers' else 2)} {pair.unit}"
        for population, contest in (("these", pair.these), ("others", pair.others)):
            whom = _WHOM[population]
            if contest.reason:
                sentences.append(
                    f"{whom}, {pair.first} and {pair.second} cannot be forecast: {contest.reason}."
                )
                continue
            better = pair.trusted(contest)
            values = (
                f"forecast G {number(pair.g[0].value)} and {number(pair.g[1].value)} at {cost} each"
            )
            if not better:
                said = f"{pair.first} and {pair.second} are too close to choose between ({values})"
            else:
                other = pair.second if better == pair.first else pair.first
                sure = (
                    "; the difference is more than chance"
                    if contest.beyond_chance
                    else "; the difference may be chance"
                )
                said = f"trust {better} rather than {other} ({values}{sure})"
            sentences.append(f"{whom}, {said}.")
    return tuple(sentences)
