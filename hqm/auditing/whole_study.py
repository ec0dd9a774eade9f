"""The variance components of all administrations together, metric by metric, kept in an audit for
`hqm design`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from hqm.auditing.evidence import Evidence
from hqm.benchmark.labels import labelled_by
from hqm.errors import DataError
from hqm.indicators import Protocol, case
from hqm.indicators.cases import left_out, unit_scores
from hqm.judges.labels import FAITHFUL
from hqm.judges.panel import parse_judge
from hqm.psychometrics import StudyParts, study_parts
from hqm.psychometrics.two_way import FEWEST_CLUSTERS
from hqm.scoring.matrix import ScoreMatrix, Units
from hqm.scoring.metrics import Array, Metric
from hqm.types import Cell


def study_components(evidence: Evidence, metric: Metric) -> dict[str, Any]:
    """What `hqm design` needs of one metric: the parts of the whole study, and of each
    hallucination type.

    A metric that is no mean of item scores is taken apart by its jackknife pseudo-values, whose
    mean it nearly is.
    """
    cells = _administrations(evidence)
    matrices = [evidence.matrices[cell] for cell in cells]
    if metric.group:
        matrices = _on_common_items(matrices)
    units = [matrix.units(metric) for matrix in matrices]
    columns = _columns(matrices, metric)
    forms, runs = _places([c.form for c in cells]), _places([c.run for c in cells])
    respondents = evidence.first.respondents
    row = {name: i for i, name in enumerate(respondents)}
    number = {
        key: i for i, key in enumerate(dict.fromkeys(key for keys in columns for key in keys))
    }
    x = np.full((len(row), len(number), len(set(forms)), len(set(runs))), np.nan)
    clusters: dict[str, str] = {}
    types: dict[str, str] = {}
    for matrix, own, keys, form, run in zip(matrices, units, columns, forms, runs, strict=True):
        rows = [row[name] for name in matrix.respondents]
        x[np.ix_(rows, [number[key] for key in keys], [form], [run])] = _single(own, metric)[
            :, :, None, None
        ]
        items = [
            item for item, inside in zip(matrix.items, matrix.mask(metric), strict=True) if inside
        ]
        if metric.group:
            names = np.unique(matrix.clusters[matrix.mask(metric)], return_inverse=True)[0]
            clusters |= {
                key: str(names[cluster]) for key, cluster in zip(keys, own.clusters, strict=True)
            }
        else:
            clusters |= {item.id: item.cluster or item.id for item in items}
            types |= {item.id: item.type for item in items if item.type}
    pictures = np.array([clusters[key] for key in number])
    families = np.array(evidence.families) if evidence.families else None
    whole = (
        study_parts(x, pictures, families)
        if x.size
        else StudyParts(status="insufficient", reason="nobody answered")
    )
    whole = _with_labels(_with_judge(whole, evidence, metric), evidence, metric)
    of_type = {
        kind: _of_type(x, pictures, np.array([types.get(key) == kind for key in number]))
        for kind in dict.fromkeys(types.values())
    }
    return {**_plain(whole), "types": {kind: _plain(parts) for kind, parts in of_type.items()}}


def _plain(parts: StudyParts) -> dict[str, Any]:
    data = asdict(parts)
    return {
        **data,
        "effects": [list(e) for e in parts.effects],
        "values": list(parts.values),
        "covariance": [list(row) for row in parts.covariance],
    }


def parts_in(data: Mapping[str, Any]) -> tuple[StudyParts, dict[str, StudyParts]]:
    """The parts of a study, and those of its types, from what an audit keeps of a metric.

    Raises
    ------
    DataError
        Effects, values and covariance do not fit to one another, as in a file that was edited.
    """
    own = dict(data)
    types = {kind: _read(part) for kind, part in own.pop("types", {}).items()}
    return _read(own), types


def _read(data: Mapping[str, Any]) -> StudyParts:
    row = dict(data)
    row["effects"] = tuple(tuple(effect) for effect in row["effects"])
    row["values"] = tuple(float(value) for value in row["values"])
    row["covariance"] = tuple(tuple(map(float, line)) for line in row["covariance"])
    parts = StudyParts(**row)
    square = [len(line) for line in parts.covariance]
    if len(parts.effects) != len(parts.values) or (
        square and square != [len(parts.values)] * len(parts.values)
    ):
        raise DataError(
            "the components of the audit do not fit together",
            remedy="Make it again with `hqm audit NAME`; an audit is not meant to be edited.",
        )
    return parts


def _administrations(evidence: Evidence) -> list[Cell]:
    """The reference, and what differs from it in wording or run, or in both."""
    reference = evidence.reference
    return [c for c in evidence.matrices if set(reference.differing(c)) <= {"form", "run"}]


def _on_common_items(matrices: Sequence[ScoreMatrix]) -> list[ScoreMatrix]:
    shared = set.intersection(*({item.id for item in matrix.items} for matrix in matrices))
    items = [item.id for item in matrices[0].items if item.id in shared]
    return [matrix.take(matrix.respondents, items) for matrix in matrices]


def _columns(matrices: Sequence[ScoreMatrix], metric: Metric) -> list[list[str]]:
    """What each administration's units are called: items by their names, groups by their
    numbers.
    """
    if not metric.group:
        return [
            [item.id for item, inside in zip(m.items, m.mask(metric), strict=True) if inside]
            for m in matrices
        ]
    return [[str(i) for i in range(m.units(metric).scored.shape[1])] for m in matrices]


def _places(names: Sequence[object]) -> list[int]:
    order = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return [order[name] for name in names]


def _single(units: Units, metric: Metric) -> Array:
    """(respondents, units): numbers whose mean is the score, NaN where an answer was not scored."""
    if metric.share:
        return unit_scores(units, metric)
    count = units.scored.sum(axis=1, keepdims=True)
    alone = replace(units, clusters=np.arange(units.scored.shape[1]))
    score = metric(units.sums)[:, None]
    pseudo = count * score - (count - 1) * left_out(alone, metric)
    return np.where(units.scored & np.isfinite(pseudo), pseudo, np.nan)


def _of_type(x: Array, pictures: Any, inside: Any) -> StudyParts:
    """One type's parts. Of each picture it has its own items alone."""
    return study_parts(x[:, inside], pictures[inside], jackknife=False)


def _with_judge(parts: StudyParts, evidence: Evidence, metric: Metric) -> StudyParts:
    """The parts with the noise of the judge, where it was asked about the same answers again."""
    label = parse_judge(evidence.reference.judge)[0]
    again = [
        m
        for c, m in evidence.matrices.items()
        if evidence.reference.differing(c) == ("judge",) and parse_judge(c.judge)[0] == label
    ]
    if not again or not metric.share:
        return parts
    asked = case(
        "judge_consistency", "judge", (evidence.first, *again), metric, Protocol("", "", "")
    ).item_scores
    with np.errstate(invalid="ignore"):
        noise = asked.var(axis=0, ddof=1)
    known = noise[np.isfinite(noise)]
    return replace(parts, judge=float(known.mean()), askings=len(asked)) if known.size else parts


def _with_labels(parts: StudyParts, evidence: Evidence, metric: Metric) -> StudyParts:
    """The parts with the variance of score minus label, where people labelled answers."""
    of_people = [m for m in evidence.labelled if labelled_by(m.cell.judge) == "people"]
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
    apart = beside.item_scores[0] - beside.item_scores[1]
    several = apart[np.isfinite(apart).sum(axis=1) > 1]
    count = int(np.isfinite(apart).sum())
    if not len(several) or count < FEWEST_CLUSTERS:
        return parts
    return replace(parts, labels=float(np.nanvar(several, axis=1, ddof=1).mean()), labelled=count)
