"""Scores with each picture left out, kept in an audit so that `hqm compare` can test differences
without the answers.

A difference between two measures is tested for these respondents by leaving each picture out of
both. That needs every respondent's score without every picture. A respondent has few different ones
(one wrong answer of three moves the score alike in every picture), so they are kept as the
different values and, picture by picture, the place among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hqm.errors import DataError
from hqm.indicators import Case
from hqm.scoring.metrics import Array
from hqm.signature import digest
from hqm.types import finite


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutRecord:
    """One metric in the administrations of one family of estimates.

    Parameters
    ----------
    family, metric, cells
        Such as `parallel_forms`, the metric, and the administrations, the reference first.
    clusters
        The pictures (or what else items share), by name.
    sizes
        (clusters,): how many items each has.
    scores
        Respondent -> (administrations,): scores over the items that all administrations have,
        oriented like the first.
    without
        Respondent -> (administrations, clusters): the same without each cluster.
    """

    family: str
    metric: str
    cells: tuple[str, ...]
    clusters: tuple[str, ...]
    sizes: Array
    scores: Mapping[str, Array]
    without: Mapping[str, Array]


def left_out_record(case: Case) -> LeftOutRecord | None:
    """What a case says of scores without each picture; None where its administrations do not share
    their pictures.
    """
    clusters = _names(case)
    if case.whole is not None or case.without.shape[2] != len(clusters) or not clusters:
        return None
    rows = range(len(case.respondents))
    return LeftOutRecord(
        case.family,
        case.metric.name,
        tuple(str(matrix.cell) for matrix in case.matrices),
        clusters,
        np.bincount(case.clusters, minlength=len(clusters)).astype(np.float64),
        {case.respondents[i]: case.scores[:, i] for i in rows},
        {case.respondents[i]: case.without[:, i] for i in rows},
    )


def _names(case: Case) -> tuple[str, ...]:
    """The clusters' names in the order of their numbers."""
    first, metric = case.first, case.metric
    names = list(dict.fromkeys(item.cluster or item.id for item in first.items))
    inside = first.mask(metric)
    if metric.group:
        inside = inside & (first.groups[metric.group] >= 0)
    return tuple(names[number] for number in np.unique(first.clusters[inside]))


def written(records: Iterable[LeftOutRecord]) -> dict[str, Any]:
    """Records as `audit.json` has them: names of clusters once, and of every row its different
    values and their places.
    """
    clusters: dict[str, dict[str, list[Any]]] = {}
    rows = []
    for record in records:
        named: dict[str, list[Any]] = {
            "names": list(record.clusters),
            "sizes": record.sizes.astype(int).tolist(),
        }
        key = digest(named)
        clusters[key] = named
        respondents = {
            name: [
                _row(*each) for each in zip(record.scores[name], record.without[name], strict=True)
            ]
            for name in record.scores
        }
        rows.append(
            {
                "family": record.family,
                "metric": record.metric,
                "cells": list(record.cells),
                "clusters": key,
                "respondents": respondents,
            }
        )
    return {"clusters": clusters, "records": rows} if rows else {}


def _row(score: float, without: Array) -> dict[str, Any]:
    values, places = np.unique(without, return_inverse=True)
    known = [finite(float(value)) for value in values]
    return {
        "score": finite(float(score)),
        "values": known,
        "places": " ".join(map(str, places.tolist())),
    }


def read(data: Mapping[str, Any], metric: str) -> dict[str, LeftOutRecord]:
    """Family -> the record of a metric, from what `written` made.

    Raises
    ------
    DataError
        The rows do not fit to one another, as in a file that was edited.
    """
    records: dict[str, LeftOutRecord] = {}
    for row in data.get("records", ()):
        if row["metric"] != metric or row["family"] in records:
            continue
        try:
            records[row["family"]] = _record(row, data["clusters"])
        except (IndexError, KeyError, ValueError):
            raise DataError(
                f"the scores without each picture of {row['family']} ({metric}) do not fit"
                " together",
                remedy=(
                    "Make the audit again with `hqm audit NAME`; an audit is not meant to be"
                    " edited."
                ),
            ) from None
    return records


def _record(
    row: Mapping[str, Any], named: Mapping[str, Mapping[str, Sequence[Any]]]
) -> LeftOutRecord:
    clusters, cells = tuple(named[row["clusters"]]["names"]), tuple(row["cells"])
    sizes = np.array(named[row["clusters"]]["sizes"], dtype=np.float64)
    if sizes.shape != (len(clusters),):
        raise ValueError("sizes")
    scores, without = {}, {}
    for name, own in row["respondents"].items():
        scores[name] = np.array([_number(each["score"]) for each in own])
        without[name] = np.stack([_values(each) for each in own])
        if without[name].shape != (len(cells), len(clusters)):
            raise ValueError(name)
    return LeftOutRecord(row["family"], row["metric"], cells, clusters, sizes, scores, without)


def _values(row: Mapping[str, Any]) -> Array:
    values = np.array([_number(value) for value in row["values"]])
    return np.asarray(values[np.array(row["places"].split(), dtype=np.intp)])


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
