"""Tidy pandas frames of audits and of the answers behind them: one row a thing, one column a fact,
nothing rounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hqm.benchmark.adapter import Adapter, Benchmark
from hqm.benchmark.analyses import Analysis, ScoredAnswer
from hqm.labels.people_labels import Labels
from hqm.psychometrics.item_statistics import item_rest
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import STATES, Cell, Estimate, Form, Judgement, Number, Response, finite

if TYPE_CHECKING:
    import pandas as pd


Table = Literal["estimates", "scores", "states", "items"]
Kind = Literal["text", "number", "count", "truth"]

_FACETS: Mapping[str, Kind] = {
    "form": "text",
    "run": "count",
    "judge": "text",
    "sight": "text",
    "until": "text",
    "resolution": "text",
}
TABLES: Mapping[Table, Mapping[str, Kind]] = {
    "estimates": {
        **dict.fromkeys(
            ("benchmark", "group", "indicator", "metric", "facet", "first", "other", "inference"),
            "text",
        ),
        **dict.fromkeys(("value", "low", "high", "level"), "number"),
        "method": "text",
        **dict.fromkeys(("n_items", "n_respondents", "unscored"), "count"),
        **dict.fromkeys(("status", "reason", "flags", "signature"), "text"),
    },
    "scores": {
        **dict.fromkeys(("benchmark", "respondent", "family"), "text"),
        **_FACETS,
        "metric": "text",
        **dict.fromkeys(("score", "low", "high"), "number"),
    },
    "states": {
        **dict.fromkeys(("benchmark", "respondent"), "text"),
        **_FACETS,
        "state": "text",
        "answers": "count",
    },
    "items": {
        **dict.fromkeys(("benchmark", "item"), "text"),
        **dict.fromkeys(("mean_score", "rest_correlation"), "number"),
        **dict.fromkeys(("question", "target", "why"), "text"),
    },
}
"""Table of an audit -> its columns, in order, with what stands in them."""


class AsFrames(ABC):
    """The frames of an audit; `to_frame` says what their rows are."""

    @abstractmethod
    def to_frame(self, what: Table = "estimates") -> pd.DataFrame: ...

    @property
    def scores(self) -> pd.DataFrame:
        return self.to_frame("scores")

    @property
    def estimates(self) -> pd.DataFrame:
        return self.to_frame("estimates")

    @property
    def items(self) -> pd.DataFrame:
        return self.to_frame("items")


ANSWERS: Mapping[str, Kind] = {
    "benchmark": "text",
    "respondent": "text",
    **_FACETS,
    "item": "text",
    "score": "number",
    "state": "text",
    "words": "number",
}
"""The columns of a frame of answers."""
ITEMS: Mapping[str, Kind] = {
    **dict.fromkeys(
        ("benchmark", "item", "part", "type", "cluster", "image", "prompt", "target"), "text"
    ),
    "n_respondents": "count",
    "n_scored": "count",
    "mean_score": "number",
    "rest_correlation": "number",
}
"""The columns of a frame of items."""

_DTYPES = {"text": "str", "number": "float64", "count": "int64", "truth": "bool"}
ALL = "all"
"""The group of an estimate that is about all respondents together."""


def frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Kind]) -> pd.DataFrame:
    """Rows as a frame that has these columns whether or not there is any row."""
    import pandas as pd

    listed = list(rows)
    return pd.DataFrame(
        {
            name: pd.Series(
                [np.nan if row[name] is None else row[name] for row in listed], dtype=_DTYPES[kind]
            )
            for name, kind in columns.items()
        }
    )


def facets(cell: str) -> dict[str, Any]:
    """The facets of an administration, each in its column.

    >>> facets("form=parallel|run=1|judge=rule")
    {'form': 'parallel', 'run': 1, 'judge': 'rule', 'sight': '', 'until': '', 'resolution': ''}
    """
    at = Cell.parse(cell)
    return {name: getattr(at, name) for name in _FACETS}


def estimate_rows(benchmark: str, estimate: Estimate) -> Iterator[dict[str, Any]]:
    """An estimate with each of its intervals, then its values for single respondents where it has
    them.
    """
    common = {
        "benchmark": benchmark,
        "indicator": estimate.indicator,
        "metric": estimate.metric,
        "facet": estimate.facet,
        "first": estimate.first,
        "other": estimate.other,
        "n_items": estimate.n_items,
        "unscored": estimate.unscored,
        "status": estimate.status,
        "reason": estimate.reason,
        "flags": " ".join(estimate.flags),
        "signature": estimate.signature,
    }
    none: dict[str, Any] = {"inference": "", "low": None, "high": None, "level": None, "method": ""}
    ends: list[dict[str, Any]] = [
        {
            "inference": i.inference,
            "low": i.low,
            "high": finite(i.high),
            "level": i.level,
            "method": i.method,
        }
        for i in estimate.intervals
    ]
    for end in ends or [none]:
        yield {
            **common,
            "group": ALL,
            "value": estimate.value,
            "n_respondents": estimate.n_respondents,
            **end,
        }
    for name, value in _of_each(estimate).items():
        yield {**common, "group": name, "value": value, "n_respondents": 1, **none}


_SAME = frozenset("sem mdc95 above_chance acquiescence balanced_score".split())
"""Indicators whose detail `by_respondent` has the same quantity for each respondent; elsewhere it
explains the estimate.
"""
_WITHIN = {"item_agreement": "agreement", "coherence": "coherent"}
"""Indicators whose detail has it under this name, beside other things."""


def _of_each(estimate: Estimate) -> dict[str, float | None]:
    """Respondent -> its own value of the estimate's quantity, where the estimate has one."""
    each, last = estimate.detail.get("by_respondent"), estimate.indicator.rpartition(".")[2]
    if not isinstance(each, Mapping):
        return {}
    if last in _SAME:
        return dict(each)
    if last in _WITHIN:
        return {name: value[_WITHIN[last]] for name, value in each.items()}
    if last == "mean_shift":  # of smaller pictures: the paired differences
        return {n: v.get("difference") for n, v in each.items() if isinstance(v, Mapping)}
    if last.endswith("_shift"):  # what was measured in the two administrations
        return {
            n: None if None in (v[0], v[1]) else v[1] - v[0]
            for n, v in each.items()
            if isinstance(v, (list, tuple))
        }
    return {}


def score_rows(
    benchmark: str,
    reference: str,
    families: Mapping[str, str],
    respondents: Iterable[Any],
) -> Iterator[dict[str, Any]]:
    """The scores of each respondent in each administration; the reference one has intervals."""
    for who in respondents:
        for cell, scores in who.cells.items():
            first = cell == reference
            for metric, score in (who.scores if first else scores).items():
                low, high = who.intervals.get(metric, (None, None)) if first else (None, None)
                yield {
                    "benchmark": benchmark,
                    "respondent": who.name,
                    "family": families.get(who.name, ""),
                    **facets(cell),
                    "metric": metric,
                    "score": score,
                    "low": low,
                    "high": high,
                }


def state_rows(benchmark: str, respondents: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """How many answers of each respondent ended in each state."""
    for who in respondents:
        for cell, states in who.states.items():
            for state, answers in states.items():
                row = {"benchmark": benchmark, "respondent": who.name, **facets(cell)}
                yield {**row, "state": state, "answers": answers}


def item_map_rows(
    benchmark: str, estimates: Iterable[Estimate], to_read: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """The items whose answers vary, as the map of items has them, and those to read."""
    known: dict[str, tuple[Number, Number]] = {}
    for estimate in estimates:
        if estimate.indicator == "items.discrimination" and estimate.detail.get("map"):
            shown = estimate.detail["map"]
            places = zip(shown["difficulty"], shown["item_rest"], strict=True)
            known = dict(zip(map(str, shown["ids"]), places, strict=True))
            break
    read = {str(row.get("item")): row for row in to_read}
    for item in dict.fromkeys((*known, *read)):
        mean, rest = known.get(item, (None, None))
        row = read.get(item, {})
        yield {
            "benchmark": benchmark,
            "item": item,
            "mean_score": mean,
            "rest_correlation": rest,
            "question": str(row.get("question") or ""),
            "target": str(row.get("key") or ""),
            "why": str(row.get("why") or ""),
        }


def answer_rows(benchmark: str, matrices: Sequence[ScoreMatrix]) -> Iterator[dict[str, Any]]:
    """Every answer of every administration: its score (NaN where it was not scored), its state and
    its length.
    """
    for matrix in matrices:
        at, scores = facets(str(matrix.cell)), matrix.values
        for row, respondent in enumerate(matrix.respondents):
            for column, item in enumerate(matrix.items):
                yield {
                    "benchmark": benchmark,
                    "respondent": respondent,
                    **at,
                    "item": item.id,
                    "score": float(scores[row, column]),
                    "state": STATES[matrix.states[row, column]],
                    "words": float(matrix.words[row, column]),
                }


def item_rows(benchmark: str, matrix: ScoreMatrix) -> Iterator[dict[str, Any]]:
    """Every item of one administration: what it asks, its mean score, and how it goes with the
    other items.
    """
    scores, scored = matrix.values, matrix.scored
    rest = item_rest(scores) if len(matrix.respondents) > 1 else np.full(len(matrix.items), np.nan)
    for column, item in enumerate(matrix.items):
        known = scores[scored[:, column], column]
        yield {
            "benchmark": benchmark,
            "item": item.id,
            "part": item.part,
            "type": item.type or "",
            "cluster": item.cluster or item.id,
            "image": item.image or "",
            "prompt": item.prompt,
            "target": item.target if isinstance(item.target, str) else "",
            "n_respondents": len(matrix.respondents),
            "n_scored": int(scored[:, column].sum()),
            "mean_score": float(known.mean()) if known.size else None,
            "rest_correlation": float(rest[column]),
        }


# ----------------------------------------------------------------------
# The further tables of a benchmark, made of the reference administration.
# ----------------------------------------------------------------------

Given = Callable[[], Mapping[str, Sequence[Response | None]]]


def analyses_of(
    benchmark: Benchmark, form: Form, first: ScoreMatrix, given: Given, labels: Labels
) -> tuple[Analysis, ...]:
    """What the adapter makes of all answers that were given, each table once; nothing where it has
    no tables of its own.

    Parameters
    ----------
    form
        The form of the answers.
    first
        The scored answers.
    given
        Reads respondent -> its responses, in the order of the form's items; called where the
        benchmark has tables.
    labels
        People's labels of the answers.
    """
    if type(benchmark).analyses is Adapter.analyses:
        return ()
    labelled: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in labels.judgements:
        labelled.setdefault((judgement.respondent, judgement.item), []).append(judgement)
    place, responses = {item.id: i for i, item in enumerate(form.items)}, given()
    answers = [
        ScoredAnswer(
            respondent=name,
            item=item,
            text=response.text,
            value=float(first.values[row, column]) if first.scored[row, column] else None,
            tally=(
                {key: float(values[row, column]) for key, values in first.tallies.items()}
                if first.scored[row, column]
                else {}
            ),
            labels=tuple(labelled.get((name, item.id), ())),
        )
        for row, name in enumerate(first.respondents)
        for column, item in enumerate(first.items)
        if (response := responses[name][place[item.id]]) is not None
        and not np.isnan(first.words[row, column])
    ]
    return tuple(analysis for analysis in benchmark.analyses(answers) if analysis.rows)
