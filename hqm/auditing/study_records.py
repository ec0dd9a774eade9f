"""What an audit keeps for other commands to calculate with.

- `hqm compare` tests a difference between two measures by leaving each picture out of both: it
  needs every respondent's score without every picture.
- `hqm design` forecasts other studies: it needs the variance components of this one.

Both are made from the evidence here, and read back from `audit.json` here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hqm.auditing.audit import AGAIN
from hqm.auditing.evidence import Evidence
from hqm.benchmark.judge_api import parse_judge
from hqm.errors import DataError
from hqm.imports.human_labels import labelled_by
from hqm.indicators import Case, Protocol, case, is_negating
from hqm.indicators.cases import left_out, unit_scores
from hqm.labels.people_labels import FAITHFUL
from hqm.psychometrics import StudyParts, study_parts
from hqm.psychometrics.variance_components import FEWEST_CLUSTERS
from hqm.scoring.matrix import ScoreMatrix, Units
from hqm.scoring.metrics import Array, Metric
from hqm.signature import digest
from hqm.types import Cell, Item, finite

# --- scores with each picture left out ---


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
    """Return the scores without each picture; None if the pictures differ."""
    clusters = _cluster_names(case)
    if case.whole is not None or case.without.shape[2] != len(clusters) or not clusters:
        return None
    sizes = np.bincount(case.clusters, minlength=len(clusters))
    return LeftOutRecord(
        family=case.family,
        metric=case.metric.name,
        cells=tuple(str(matrix.cell) for matrix in case.matrices),
        clusters=clusters,
        sizes=sizes.astype(np.float64),
        scores={name: case.scores[:, row] for row, name in enumerate(case.respondents)},
        without={name: case.without[:, row] for row, name in enumerate(case.respondents)},
    )


def _cluster_names(case: Case) -> tuple[str, ...]:
    """Return the names of the clusters in the order of their numbers."""
    first, metric = case.first, case.metric
    names = list(dict.fromkeys(item.cluster or item.id for item in first.items))
    inside = first.mask(metric)
    if metric.group:
        inside = inside & (first.groups[metric.group] >= 0)
    return tuple(names[number] for number in np.unique(first.clusters[inside]))


def left_out_rows(records: Iterable[LeftOutRecord]) -> dict[str, Any]:
    """Return records as `audit.json` holds them.

    A respondent has few different scores without a picture (one wrong answer of three moves the
    score alike in every picture), so a row has the different values and, picture by picture, the
    place among them. The pictures are written once for all records that share them.
    """
    clusters: dict[str, dict[str, list[Any]]] = {}
    rows = []
    for record in records:
        pictures: dict[str, list[Any]] = {
            "names": list(record.clusters),
            "sizes": record.sizes.astype(int).tolist(),
        }
        key = digest(pictures)
        clusters[key] = pictures
        respondents = {}
        for name, scores in record.scores.items():
            both = zip(scores, record.without[name], strict=True)
            respondents[name] = [_scores_row(score, without) for score, without in both]
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


def _scores_row(score: float, without: Array) -> dict[str, Any]:
    values, places = np.unique(without, return_inverse=True)
    return {
        "score": finite(float(score)),
        "values": [finite(float(value)) for value in values],
        "places": " ".join(map(str, places.tolist())),
    }


def read_left_out(data: Mapping[str, Any], metric: str) -> dict[str, LeftOutRecord]:
    """Read the records of a metric that `left_out_rows` made, by family.

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
                remedy=AGAIN,
            ) from None
    return records


def _record(
    row: Mapping[str, Any], pictures: Mapping[str, Mapping[str, Sequence[Any]]]
) -> LeftOutRecord:
    clusters = tuple(pictures[row["clusters"]]["names"])
    sizes = np.array(pictures[row["clusters"]]["sizes"], dtype=np.float64)
    cells = tuple(row["cells"])
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


# --- variance components of all administrations together ---


def study_components(evidence: Evidence, metric: Metric) -> dict[str, Any]:
    """Estimate the variance components of one metric, in the whole study and in each type.

    A metric that is no mean of item scores is taken apart by its jackknife pseudo-values, whose
    mean it nearly is.
    """
    cells = _administrations(evidence)
    matrices = [evidence.matrices[cell] for cell in cells]
    if metric.group:
        matrices = _on_common_items(matrices)
    columns = [_unit_names(matrix, metric) for matrix in matrices]
    names = list(dict.fromkeys(name for column in columns for name in column))

    # every unit's picture and type; groups of items have pictures, and no type
    pictures: dict[str, str] = {}
    types: dict[str, str] = {}
    for matrix, column in zip(matrices, columns, strict=True):
        if metric.group:
            pictures |= _pictures_of_groups(matrix, column, metric)
            continue
        for item in _items_inside(matrix, metric):
            pictures[item.id] = item.cluster or item.id
            if item.type:
                types[item.id] = item.type
    picture = np.array([pictures[name] for name in names])
    kind_of = np.array([types.get(name, "") for name in names])

    # the components of the whole study, with what judges and people add
    x = _score_array(evidence.first.respondents, names, cells, matrices, columns, metric)
    families = np.array(evidence.families) if evidence.families else None
    if x.size:
        whole = study_parts(x, picture, families)
    else:
        whole = StudyParts(status="insufficient", reason="nobody answered")
    whole = _with_judge(whole, evidence, metric)
    whole = _with_labels(whole, evidence, metric)

    # the components within each type
    by_type = {}
    for kind in dict.fromkeys(types.values()):
        inside = kind_of == kind
        by_type[kind] = _as_dict(study_parts(x[:, inside], picture[inside], jackknife=False))
    return {**_as_dict(whole), "types": by_type}


def _as_dict(parts: StudyParts) -> dict[str, Any]:
    """Return the components as JSON holds them, with lists in place of tuples."""
    return {
        **asdict(parts),
        "effects": [list(effect) for effect in parts.effects],
        "values": list(parts.values),
        "covariance": [list(row) for row in parts.covariance],
    }


def parts_in(data: Mapping[str, Any]) -> tuple[StudyParts, dict[str, StudyParts]]:
    """Read the variance components of a study and of its types from an audit's data.

    Raises
    ------
    DataError
        Effects, values and covariance do not fit to one another, as in a file that was edited.
    """
    whole = dict(data)
    types = whole.pop("types", {})
    return _parts_of(whole), {kind: _parts_of(row) for kind, row in types.items()}


def _parts_of(row: Mapping[str, Any]) -> StudyParts:
    parts = StudyParts(
        **{
            **row,
            "effects": tuple(tuple(effect) for effect in row["effects"]),
            "values": tuple(float(value) for value in row["values"]),
            "covariance": tuple(tuple(map(float, line)) for line in row["covariance"]),
        }
    )
    n = len(parts.values)
    lengths = [len(line) for line in parts.covariance]
    # the covariance is empty where it was not computed, as in types
    if len(parts.effects) != n or (lengths and lengths != [n] * n):
        raise DataError("the components of the audit do not fit together", remedy=AGAIN)
    return parts


def _administrations(evidence: Evidence) -> list[Cell]:
    """Return the cells whose scores differ by additive effects: the reference, and those that
    differ from it in wording or run.
    """
    cells = []
    for cell, matrix in evidence.matrices.items():
        near = set(evidence.reference.differing(cell)) <= {"form", "run"}
        # who leans to yes gains by a negation what it loses without: no additive component says
        # that
        if near and not is_negating(matrix, evidence.first):
            cells.append(cell)
    return cells


def _on_common_items(matrices: Sequence[ScoreMatrix]) -> list[ScoreMatrix]:
    shared = set.intersection(*({item.id for item in matrix.items} for matrix in matrices))
    items = [item.id for item in matrices[0].items if item.id in shared]
    return [matrix.take(matrix.respondents, items) for matrix in matrices]


def _items_inside(matrix: ScoreMatrix, metric: Metric) -> list[Item]:
    """Return the items that a metric is about."""
    inside = matrix.mask(metric)
    return [item for item, is_inside in zip(matrix.items, inside, strict=True) if is_inside]


def _unit_names(matrix: ScoreMatrix, metric: Metric) -> list[str]:
    """Return the names of an administration's units: item ids, or the numbers of groups."""
    if metric.group:
        return [str(number) for number in range(matrix.units(metric).scored.shape[1])]
    return [item.id for item in _items_inside(matrix, metric)]


def _pictures_of_groups(
    matrix: ScoreMatrix, column: Sequence[str], metric: Metric
) -> dict[str, str]:
    """Return the number of the picture of each group of items."""
    numbers = np.unique(matrix.clusters[matrix.mask(metric)])
    clusters = matrix.units(metric).clusters
    return {name: str(numbers[cluster]) for name, cluster in zip(column, clusters, strict=True)}


def _score_array(
    respondents: Sequence[str],
    names: Sequence[str],
    cells: Sequence[Cell],
    matrices: Sequence[ScoreMatrix],
    columns: Sequence[Sequence[str]],
    metric: Metric,
) -> Array:
    """Return (respondents, units, forms, runs): scores, NaN where nothing was asked or scored."""
    row = _numbers(respondents)
    place = _numbers(names)
    form = _numbers([cell.form for cell in cells])
    run = _numbers([cell.run for cell in cells])
    x = np.full((len(row), len(place), len(form), len(run)), np.nan)
    for cell, matrix, column in zip(cells, matrices, columns, strict=True):
        rows = [row[name] for name in matrix.respondents]
        places = [place[name] for name in column]
        scores = _scores_of_units(matrix.units(metric), metric)
        x[np.ix_(rows, places, [form[cell.form]], [run[cell.run]])] = scores[:, :, None, None]
    return x


def _numbers(names: Iterable[Any]) -> dict[Any, int]:
    """Number the different names in their order."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _scores_of_units(units: Units, metric: Metric) -> Array:
    """Return (respondents, units): numbers whose mean is the score, NaN for unscored answers."""
    if metric.share:
        return unit_scores(units, metric)
    count = units.scored.sum(axis=1, keepdims=True)
    alone = replace(units, clusters=np.arange(units.scored.shape[1]))
    score = metric(units.sums)[:, None]
    pseudo = count * score - (count - 1) * left_out(alone, metric)
    return np.where(units.scored & np.isfinite(pseudo), pseudo, np.nan)


def _with_judge(parts: StudyParts, evidence: Evidence, metric: Metric) -> StudyParts:
    """Add the judge's noise to the components, if the judge was asked twice."""
    label, _ = parse_judge(evidence.reference.judge)
    again = [
        matrix
        for cell, matrix in evidence.matrices.items()
        if evidence.reference.differing(cell) == ("judge",) and parse_judge(cell.judge)[0] == label
    ]
    if not again or not metric.share:
        return parts
    asked = case(
        "judge_consistency", "judge", (evidence.first, *again), metric, Protocol("", "", "")
    )
    with np.errstate(invalid="ignore"):
        noise = asked.item_scores.var(axis=0, ddof=1)
    known = noise[np.isfinite(noise)]
    if not known.size:
        return parts
    return replace(parts, judge=float(known.mean()), askings=len(asked.item_scores))


def _with_labels(parts: StudyParts, evidence: Evidence, metric: Metric) -> StudyParts:
    """Add the variance of score minus label to the components, if people labelled answers."""
    of_people = [
        matrix for matrix in evidence.labelled if labelled_by(matrix.cell.judge) == "people"
    ]
    if not of_people or not metric.share:
        return parts
    beside = case(
        "criterion",
        "judge",
        (evidence.first, of_people[0]),
        metric,
        Protocol("", "", ""),
        other_metric=FAITHFUL,
    )
    errors = beside.item_scores[0] - beside.item_scores[1]
    known = np.isfinite(errors)
    count = int(known.sum())
    # one label of a respondent has no variance
    several = errors[known.sum(axis=1) > 1]
    if not len(several) or count < FEWEST_CLUSTERS:
        return parts
    variance = np.nanvar(several, axis=1, ddof=1).mean()
    return replace(parts, labels=float(variance), labelled=count)
