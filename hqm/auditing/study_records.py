"""What an audit keeps for other commands to calculate with.

- `hqm compare` tests a difference between two measures by leaving each picture out of both: it
  needs every respondent's score without every picture.
- `hqm design` forecasts other studies: it needs the variance components of this one.

Both are made from the evidence here, and read back from `audit.json` here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, compress
from typing import Any, TypeVar

import numpy as np

from hqm.auditing.audit import REMAKE_ADVICE
from hqm.auditing.evidence import Evidence
from hqm.benchmark.judge_api import parse_judge
from hqm.errors import DataError
from hqm.imports.human_labels import labelled_by
from hqm.indicators import Case, Protocol, case, is_negating
from hqm.indicators.cases import leave_one_out_scores, numbers
from hqm.labels.people_labels import FAITHFUL
from hqm.psychometrics import study_variance_components
from hqm.psychometrics.variance.study_variance import StudyComponents
from hqm.psychometrics.variance.variance_components import MIN_CLUSTERS
from hqm.scoring.matrix import ScoreMatrix, Units, reason_no_mean, unit_scores
from hqm.scoring.metrics import Array, Metric
from hqm.signature import digest
from hqm.types import Cell, cluster_of, finite

_Name = TypeVar("_Name")

# --- scores with each picture left out ---


@dataclass(frozen=True, slots=True, eq=False)
class JackknifeRecord:
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
    replicates
        Respondent -> (administrations, clusters): the same without each cluster.
    """

    family: str
    metric: str
    cells: tuple[str, ...]
    clusters: tuple[str, ...]
    sizes: Array
    scores: Mapping[str, Array]
    replicates: Mapping[str, Array]


def jackknife_record(case: Case) -> JackknifeRecord | None:
    """Return the scores without each picture; None if the pictures differ."""
    clusters = _cluster_names(case)
    # pictures that are left out must be the same in every administration
    if (
        case.unsampled is not None
        or case.jackknife_scores.shape[2] != len(clusters)
        or not clusters
    ):
        return None
    sizes = np.bincount(case.clusters, minlength=len(clusters))
    return JackknifeRecord(
        family=case.family,
        metric=case.metric.name,
        cells=tuple(str(matrix.cell) for matrix in case.matrices),
        clusters=clusters,
        sizes=sizes.astype(np.float64),
        scores=dict(zip(case.respondents, case.scores.swapaxes(0, 1), strict=True)),
        replicates=dict(zip(case.respondents, case.jackknife_scores.swapaxes(0, 1), strict=True)),
    )


def _cluster_names(case: Case) -> tuple[str, ...]:
    """Return the names of the clusters in the order of their numbers."""
    first = case.first
    metric = case.metric
    names = list(dict.fromkeys(map(cluster_of, first.items)))
    scored = first.mask(metric)
    if metric.group:
        scored = scored & (first.groups[metric.group] >= 0)
    return tuple(names[cluster] for cluster in np.unique(first.clusters[scored]))


def jackknife_rows(records: Iterable[JackknifeRecord]) -> dict[str, object]:
    """Return records as `audit.json` holds them.

    A respondent has few different scores without a picture (one wrong answer of three moves the
    score alike in every picture), so a row has the different values and, picture by picture, the
    place among them. The pictures are written once for all records that share them.
    """
    clusters: dict[str, object] = {}
    rows = []
    for record in records:
        pictures: dict[str, object] = {
            "names": list(record.clusters),
            "sizes": record.sizes.astype(int).tolist(),
        }
        key = digest(pictures)
        clusters[key] = pictures
        respondents = {}
        for name, scores in record.scores.items():
            respondents[name] = list(map(_scores_row, scores, record.replicates[name]))
        rows.append(
            {
                "family": record.family,
                "metric": record.metric,
                "cells": list(record.cells),
                "clusters": key,
                "respondents": respondents,
            }
        )
    if rows:
        return {"clusters": clusters, "records": rows}
    return {}


def _scores_row(score: float, replicates: Array) -> dict[str, object]:
    # the different values once, and for each picture the index of its own
    values, positions = np.unique(replicates, return_inverse=True)
    return {
        "score": finite(float(score)),
        "values": numbers(values),
        "places": " ".join(map(str, positions.tolist())),
    }


def read_jackknife_records(data: Mapping[str, Any], metric: str) -> dict[str, JackknifeRecord]:
    """Read the records of a metric that `jackknife_rows` made, by family.

    Raises
    ------
    DataError
        The rows do not fit to one another, as in a file that was edited.
    """
    records: dict[str, JackknifeRecord] = {}
    for row in data.get("records", ()):
        if row["metric"] != metric or row["family"] in records:
            continue
        try:
            records[row["family"]] = _record(row, data["clusters"])
        except (IndexError, KeyError, ValueError):
            raise DataError(
                f"the scores without each picture of {row['family']} ({metric}) do not fit"
                " together",
                remedy=REMAKE_ADVICE,
            ) from None
    return records


def _record(
    row: Mapping[str, Any], pictures: Mapping[str, Mapping[str, Sequence[Any]]]
) -> JackknifeRecord:
    clusters = tuple(pictures[row["clusters"]]["names"])
    sizes = np.array(pictures[row["clusters"]]["sizes"], dtype=np.float64)
    cells = tuple(row["cells"])
    # numbers of one record come from two places of the file, which an edit may set apart
    if sizes.shape != (len(clusters),):
        raise ValueError("sizes")
    scores = {}
    replicates = {}
    for name, cell_rows in row["respondents"].items():
        # a score that does not exist is NaN
        scores[name] = np.array([cell_row["score"] for cell_row in cell_rows], dtype=np.float64)
        replicates[name] = np.stack([_replicates(c["values"], c["places"]) for c in cell_rows])
        if replicates[name].shape != (len(cells), len(clusters)):
            raise ValueError(name)
    return JackknifeRecord(row["family"], row["metric"], cells, clusters, sizes, scores, replicates)


def _replicates(scores: Sequence[float | None], positions: str) -> Array:
    values = np.array(scores, dtype=np.float64)
    return np.asarray(values[np.array(positions.split(), dtype=np.intp)])


# --- variance components of all administrations together ---


def study_components(evidence: Evidence, metric: Metric) -> dict[str, object]:
    """Estimate the variance components of one metric, in the whole study and in each type.

    A metric that is no mean of item scores is taken apart by its jackknife pseudo-values, whose
    mean it nearly is.
    """
    cells = _administrations(evidence)
    matrices = [evidence.matrices[cell] for cell in cells]
    if metric.group:
        matrices = _on_common_items(matrices)
    columns = [_unit_names(matrix, metric) for matrix in matrices]
    names = list(dict.fromkeys(chain.from_iterable(columns)))

    # every unit's picture and type; groups of items have pictures, and no type
    pictures: dict[str, str] = {}
    types: dict[str, str] = {}
    for matrix, column in zip(matrices, columns, strict=True):
        if metric.group:
            pictures |= _pictures_of_groups(matrix, column, metric)
            continue
        for item in compress(matrix.items, matrix.mask(metric)):
            pictures[item.id] = cluster_of(item)
            if item.type:
                types[item.id] = item.type
    picture = np.array([pictures[name] for name in names])
    unit_types = np.array([types.get(name, "") for name in names])

    # the components of the whole study, with what judges and people add
    x = _score_array(evidence.first.respondents, names, cells, matrices, columns, metric)
    families = np.array(evidence.families) if evidence.families else None
    # no unit was scored by anybody
    if x.size:
        components = study_variance_components(x, picture, families)
    else:
        components = StudyComponents(status="insufficient", reason="nobody answered")
    components = _with_judge(components, evidence, metric)
    components = _with_labels(components, evidence, metric)

    # the components within each type
    by_type = {}
    for kind in dict.fromkeys(types.values()):
        # types have components of their own, without a covariance, which would take as long again
        in_type = unit_types == kind
        by_type[kind] = _as_dict(
            study_variance_components(x[:, in_type], picture[in_type], jackknife=False)
        )
    return {**_as_dict(components), "types": by_type}


def _as_dict(components: StudyComponents) -> dict[str, object]:
    """Return the components as JSON holds them, with lists in place of tuples."""
    return {
        **asdict(components),
        "effects": list(map(list, components.effects)),
        "values": list(components.values),
        "covariance": list(map(list, components.covariance)),
    }


def read_components(data: Mapping[str, Any]) -> tuple[StudyComponents, dict[str, StudyComponents]]:
    """Read the variance components of a study and of its types from an audit's data.

    Raises
    ------
    DataError
        Effects, values and covariance do not fit to one another, as in a file that was edited.
    """
    study_row = dict(data)
    types = study_row.pop("types", {})
    return _read_row(study_row), {kind: _read_row(row) for kind, row in types.items()}


def _read_row(row: Mapping[str, Any]) -> StudyComponents:
    components = StudyComponents(
        **{
            **row,
            "effects": tuple(map(tuple, row["effects"])),
            "values": tuple(map(float, row["values"])),
            "covariance": tuple(tuple(map(float, line)) for line in row["covariance"]),
        }
    )
    n = len(components.values)
    lengths = list(map(len, components.covariance))
    # the covariance is empty where it was not computed, as in types
    if len(components.effects) != n or (lengths and lengths != [n] * n):
        raise DataError("the components of the audit do not fit together", remedy=REMAKE_ADVICE)
    return components


def _administrations(evidence: Evidence) -> list[Cell]:
    """Return the cells whose scores differ by additive effects: the reference, and those that
    differ from it in wording or run.
    """
    cells = []
    for cell, matrix in evidence.matrices.items():
        is_additive = set(evidence.reference.differing(cell)) <= {"form", "run"}
        # who leans to yes gains by a negation what it loses without: no additive component says
        # that
        if is_additive and not is_negating(matrix, evidence.first):
            cells.append(cell)
    return cells


def _on_common_items(matrices: Sequence[ScoreMatrix]) -> list[ScoreMatrix]:
    # groups are numbered over the items that there are: other items would give other groups
    shared = set(matrices[0].ids).intersection(*(matrix.ids for matrix in matrices))
    items = [name for name in matrices[0].ids if name in shared]
    return [matrix.take(matrix.respondents, items) for matrix in matrices]


def _unit_names(matrix: ScoreMatrix, metric: Metric) -> list[str]:
    """Return the names of an administration's units: item ids, or the numbers of groups."""
    if metric.group:
        return list(map(str, range(matrix.units(metric).scored.shape[1])))
    return list(compress(matrix.ids, matrix.mask(metric)))


def _pictures_of_groups(
    matrix: ScoreMatrix, column: Sequence[str], metric: Metric
) -> dict[str, str]:
    """Return the number of the picture of each group of items."""
    cluster_numbers = np.unique(matrix.clusters[matrix.mask(metric)])
    pictures = cluster_numbers[matrix.units(metric).clusters]
    return dict(zip(column, map(str, pictures.tolist()), strict=True))


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
    unit_number = _numbers(names)
    form = _numbers(cell.form for cell in cells)
    run = _numbers(cell.run for cell in cells)
    x = np.full((len(row), len(unit_number), len(form), len(run)), np.nan)
    for cell, matrix, column in zip(cells, matrices, columns, strict=True):
        rows = [row[respondent] for respondent in matrix.respondents]
        positions = [unit_number[name] for name in column]
        scores = _scores_of_units(matrix.units(metric), metric)
        x[np.ix_(rows, positions, [form[cell.form]], [run[cell.run]])] = scores[:, :, None, None]
    return x


def _numbers(names: Iterable[_Name]) -> dict[_Name, int]:
    """Number the different names in their order."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _scores_of_units(units: Units, metric: Metric) -> Array:
    """Return (respondents, units): numbers whose mean is the score, NaN for unscored answers."""
    if not reason_no_mean(units, metric):
        return unit_scores(units, metric)
    count = units.scored.sum(axis=1, keepdims=True)
    single_units = replace(units, clusters=np.arange(units.scored.shape[1]))
    score = metric(units.sums)[:, None]
    # Tukey's pseudo-values, each unit alone: their mean is nearly the score
    pseudo = count * score - (count - 1) * leave_one_out_scores(single_units, metric)
    return np.where(units.scored & np.isfinite(pseudo), pseudo, np.nan)


def _with_judge(components: StudyComponents, evidence: Evidence, metric: Metric) -> StudyComponents:
    """Add the judge's noise to the components, if the judge was asked twice."""
    label, _ = parse_judge(evidence.reference.judge)
    rejudged = [
        matrix
        for cell, matrix in evidence.differing_in("judge").items()
        if parse_judge(cell.judge)[0] == label
    ]
    # the variance over judgements is that of single answers: only of a mean is it the score's
    if not rejudged or reason_no_mean(evidence.first.units(metric), metric):
        return components
    judge_case = case(
        "judge_consistency", "judge", (evidence.first, *rejudged), metric, Protocol("", "", "")
    )
    with np.errstate(invalid="ignore"):
        # variance over judgements of the same answer, averaged over answers
        noise = judge_case.item_scores.var(axis=0, ddof=1)
    finite_noise = noise[np.isfinite(noise)]
    if not finite_noise.size:
        return components
    return replace(
        components, judge=float(finite_noise.mean()), askings=len(judge_case.item_scores)
    )


def _with_labels(
    components: StudyComponents, evidence: Evidence, metric: Metric
) -> StudyComponents:
    """Add the variance of score minus label to the components, if people labelled answers."""
    people_matrices = [
        matrix for matrix in evidence.labelled if labelled_by(matrix.cell.judge) == "people"
    ]
    if not people_matrices or not metric.share:
        return components
    labels_case = case(
        "criterion",
        "judge",
        (evidence.first, people_matrices[0]),
        metric,
        Protocol("", "", ""),
        second_metric=FAITHFUL,
    )
    errors = labels_case.item_scores[0] - labels_case.item_scores[1]
    is_finite = np.isfinite(errors)
    count = int(is_finite.sum())
    # one label of a respondent has no variance
    multiple = errors[is_finite.sum(axis=1) > 1]
    if not len(multiple) or count < MIN_CLUSTERS:
        return components
    # within respondents, so that their own differences to people are not in it
    variance = np.nanvar(multiple, axis=1, ddof=1).mean()
    return replace(components, labels=float(variance), labelled=count)
