"""Tidy pandas frames of audits and of the answers behind them: one row a thing, one column a fact,
nothing rounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Literal

import numpy as np

from hqm.auditing.audit_rows import Ends, RespondentScores, respondent_values
from hqm.benchmark.adapter import Adapter, Benchmark
from hqm.benchmark.analyses import Analysis, ScoredAnswer
from hqm.indicators.separation import contrasts_in
from hqm.labels.people_labels import Labels
from hqm.psychometrics.items.item_statistics import item_rest
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import (
    STATES,
    Cell,
    Estimate,
    Form,
    Judgement,
    Number,
    Response,
    field_values,
    finite,
)

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance


Table = Literal[
    "estimates", "scores", "states", "items", "reliability", "wording", "pairs", "types"
]
Kind = Literal["text", "number", "count", "truth"]

_FACETS: Mapping[str, Kind] = {
    "form": "text",
    "run": "count",
    "judge": "text",
    "sight": "text",
    "until": "text",
    "resolution": "text",
}
# What a reader asks first stands first.
_ESTIMATES: Mapping[str, Kind] = {
    **dict.fromkeys(("indicator", "metric", "group"), "text"),
    **dict.fromkeys(("value", "low", "high"), "number"),
    **dict.fromkeys(("inference", "status", "reason", "flags"), "text"),
    **dict.fromkeys(("benchmark", "facet", "first", "other"), "text"),
    "level": "number",
    "method": "text",
    **dict.fromkeys(("n_items", "n_respondents", "unscored"), "count"),
    "signature": "text",
}
ESTIMATE_GROUPS: Mapping[str, tuple[str, ...]] = {
    "reliability": ("test_retest.", "consistency."),
    "wording": ("parallel_forms.",),
}
"""Table -> the families of its estimates."""
TABLES: Mapping[Table, Mapping[str, Kind]] = {
    "estimates": _ESTIMATES,
    "reliability": _ESTIMATES,
    "wording": _ESTIMATES,
    "pairs": {
        **dict.fromkeys(("first", "second"), "text"),
        **dict.fromkeys(("difference", "low", "high"), "number"),
        "outcome": "text",
        "n_items": "count",
        "benchmark": "text",
    },
    "types": {
        **dict.fromkeys(("respondent", "type"), "text"),
        "score": "number",
        "benchmark": "text",
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
    def to_frame(self, table: Table = "estimates") -> pd.DataFrame: ...

    @property
    def scores(self) -> pd.DataFrame:
        return self.to_frame("scores")

    @property
    def estimates(self) -> pd.DataFrame:
        return self.to_frame("estimates")

    @property
    def items(self) -> pd.DataFrame:
        return self.to_frame("items")

    @property
    def reliability(self) -> pd.DataFrame:
        return self.to_frame("reliability")

    @property
    def wording(self) -> pd.DataFrame:
        return self.to_frame("wording")

    @property
    def pairs(self) -> pd.DataFrame:
        return self.to_frame("pairs")

    @property
    def types(self) -> pd.DataFrame:
        return self.to_frame("types")


ASKED_NAMES = (
    *("verdict", "statement", "scores", "reliability", "wording", "pairs", "types", "mend"),
    *("items", "estimates", "estimate", "error_budget", "to_frame", "to_dict", "plot", "evidence"),
)
"""What a person asks of an audit: the names that `dir` and completion show."""


class AuditEvidence:
    """The fields of an audit, by name."""

    def __init__(self, audit: DataclassInstance) -> None:
        self._audit = audit

    def __dir__(self) -> Iterable[str]:
        return list(field_values(self._audit))

    def __getattr__(self, name: str) -> object:
        # Names with an underscore are asked for by `copy` and `pickle`, before there is an audit to
        # ask.
        if name.startswith("_") or name not in dir(self):
            raise AttributeError(f"an audit has no {name!r}: it has {', '.join(dir(self))}")
        return getattr(self._audit, name)


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


def frame(rows: Iterable[Mapping[str, object]], columns: Mapping[str, Kind]) -> pd.DataFrame:
    """Rows as a frame that has these columns whether or not there is any row."""
    import pandas as pd

    row_list = list(rows)
    series = {}
    for name, kind in columns.items():
        values = [np.nan if row[name] is None else row[name] for row in row_list]
        # Column by column, so that a frame without rows has the same types.
        series[name] = pd.Series(values, dtype=_DTYPES[kind])
    return pd.DataFrame(series)


def facets(cell: str) -> dict[str, object]:
    """The facets of an administration, each in its column.

    >>> facets("form=parallel|run=1|judge=rule")
    {'form': 'parallel', 'run': 1, 'judge': 'rule', 'sight': '', 'until': '', 'resolution': ''}
    """
    parsed = Cell.parse(cell)
    return {name: getattr(parsed, name) for name in _FACETS}


def estimate_rows(benchmark: str, estimate: Estimate) -> Iterator[dict[str, object]]:
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
    # A row has every column, also of an estimate that has a value and no interval.
    no_interval: dict[str, object] = {
        "inference": "",
        "low": None,
        "high": None,
        "level": None,
        "method": "",
    }
    # An open end is missing in a frame, as it is null in audit.json.
    interval_rows = [field_values(i) | {"high": finite(i.high)} for i in estimate.intervals]
    for interval_row in interval_rows or [no_interval]:
        yield {
            **common,
            "group": ALL,
            "value": estimate.value,
            "n_respondents": estimate.n_respondents,
            **interval_row,
        }
    for name, value in respondent_values(estimate).items():
        yield {**common, "group": name, "value": value, "n_respondents": 1, **no_interval}


def score_rows(
    benchmark: str,
    reference: str,
    families: Mapping[str, str],
    respondents: Iterable[RespondentScores],
) -> Iterator[dict[str, object]]:
    """The scores of each respondent in each administration; the reference one has intervals."""
    for respondent in respondents:
        for cell, scores in respondent.cells.items():
            intervals: Mapping[str, Sequence[Number]] = {}
            if cell == reference:
                scores = respondent.scores
                intervals = respondent.intervals
            for metric, score in scores.items():
                low, high = intervals.get(metric, (None, None))
                yield {
                    "benchmark": benchmark,
                    "respondent": respondent.name,
                    "family": families.get(respondent.name, ""),
                    **facets(cell),
                    "metric": metric,
                    "score": score,
                    "low": low,
                    "high": high,
                }


def state_rows(
    benchmark: str, respondents: Iterable[RespondentScores]
) -> Iterator[dict[str, object]]:
    """How many answers of each respondent ended in each state."""
    for respondent in respondents:
        for cell, states in respondent.states.items():
            for state, answers in states.items():
                row = {"benchmark": benchmark, "respondent": respondent.name, **facets(cell)}
                yield {**row, "state": state, "answers": answers}


def pair_rows(
    benchmark: str, metric: str, scale: Ends, estimates: Iterable[Estimate]
) -> Iterator[dict[str, object]]:
    """The neighbours of the leaderboard by one metric, with their difference on new items."""
    low, high = scale
    width = None if low is None or high is None else high - low
    metric_estimates = (e for e in estimates if e.metric == metric)
    for neighbours in contrasts_in(metric_estimates, width=width):
        contrast = neighbours.contrast
        yield {
            "first": neighbours.first,
            "second": neighbours.second,
            "difference": contrast.difference,
            "low": contrast.low,
            "high": contrast.high,
            "outcome": neighbours.outcome,
            "n_items": neighbours.items,
            "benchmark": benchmark,
        }


def type_rows(
    benchmark: str, respondents: Iterable[RespondentScores]
) -> Iterator[dict[str, object]]:
    """The score of each respondent on each type, by the leading metric."""
    for respondent in respondents:
        for kind, score in respondent.by_type.items():
            name = respondent.name
            yield {"respondent": name, "type": kind, "score": score, "benchmark": benchmark}


def item_map_rows(
    benchmark: str, estimates: Iterable[Estimate], reading_list: Iterable[Mapping[str, object]]
) -> Iterator[dict[str, object]]:
    """The items whose answers vary, as the map of items has them, and those to read."""
    coordinates: dict[str, tuple[Number, Number]] = {}
    for estimate in estimates:
        if estimate.indicator == "items.discrimination" and estimate.detail.get("map"):
            item_map = estimate.detail["map"]
            pairs = zip(item_map["difficulty"], item_map["item_rest"], strict=True)
            coordinates = dict(zip(map(str, item_map["ids"]), pairs, strict=True))
            break
    read = {str(row.get("item")): row for row in reading_list}
    for item in dict.fromkeys((*coordinates, *read)):
        mean, rest_correlation = coordinates.get(item, (None, None))
        row = read.get(item, {})
        yield {
            "benchmark": benchmark,
            "item": item,
            "mean_score": mean,
            "rest_correlation": rest_correlation,
            "question": str(row.get("question") or ""),
            "target": str(row.get("key") or ""),
            "why": str(row.get("why") or ""),
        }


def answer_rows(benchmark: str, matrices: Sequence[ScoreMatrix]) -> Iterator[dict[str, object]]:
    """Every answer of every administration: its score (NaN where it was not scored), its state and
    its length.
    """
    for matrix in matrices:
        facet_columns = facets(str(matrix.cell))
        scores = matrix.values
        for row, respondent in enumerate(matrix.respondents):
            for column, item in enumerate(matrix.items):
                yield {
                    "benchmark": benchmark,
                    "respondent": respondent,
                    **facet_columns,
                    "item": item.id,
                    "score": float(scores[row, column]),
                    "state": STATES[matrix.states[row, column]],
                    "words": float(matrix.words[row, column]),
                }


def item_rows(benchmark: str, matrix: ScoreMatrix) -> Iterator[dict[str, object]]:
    """Every item of one administration: what it asks, its mean score, and how it goes with the
    other items.
    """
    scores = matrix.values
    scored = matrix.scored
    if len(matrix.respondents) > 1:
        rest_correlations = item_rest(scores)
    else:
        rest_correlations = np.full(len(matrix.items), np.nan)
    for column, item in enumerate(matrix.items):
        item_scores = scores[scored[:, column], column]
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
            "mean_score": float(item_scores.mean()) if item_scores.size else None,
            "rest_correlation": float(rest_correlations[column]),
        }


# ----------------------------------------------------------------------
# The further tables of a benchmark, made of the reference administration.
# ----------------------------------------------------------------------

ReadResponses = Callable[[], Mapping[str, Sequence[Response | None]]]


def analyses_of(
    benchmark: Benchmark,
    form: Form,
    first: ScoreMatrix,
    read_responses: ReadResponses,
    labels: Labels,
) -> tuple[Analysis, ...]:
    """What the adapter makes of all answers that were given, each table once; nothing where it has
    no tables of its own.

    Parameters
    ----------
    form
        The form of the answers.
    first
        The scored answers.
    read_responses
        Reads respondent -> its responses, in the order of the form's items; called where the
        benchmark has tables.
    labels
        People's labels of the answers.
    """
    # An adapter without tables of its own needs no answer read for them.
    if type(benchmark).analyses is Adapter.analyses:
        return ()
    labelled: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in labels.judgements:
        labelled.setdefault((judgement.respondent, judgement.item), []).append(judgement)
    position = dict(zip(form.by_id, count()))
    responses = read_responses()
    answers = []
    for row, name in enumerate(first.respondents):
        for column, item in enumerate(first.items):
            response = responses[name][position[item.id]]
            if response is None or np.isnan(first.words[row, column]):
                continue
            value = None
            tally = {}
            if first.scored[row, column]:
                value = float(first.values[row, column])
                for key, counts in first.tallies.items():
                    tally[key] = float(counts[row, column])
            answers.append(
                ScoredAnswer(
                    respondent=name,
                    item=item,
                    text=response.text,
                    value=value,
                    tally=tally,
                    labels=tuple(labelled.get((name, item.id), ())),
                )
            )
    return tuple(analysis for analysis in benchmark.analyses(answers) if analysis.rows)
