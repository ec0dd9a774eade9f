"""Make an audit: every comparison that the administrations of the evidence allow.

`audit()` runs the `ANALYSES`, metric by metric. They take the reference administration (the
original form, run 0, the rule) and every other one that differs from it in exactly one facet, and
ask for each how well the scores agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.administration.asks import StoredRespondent
from hqm.auditing.audit import AGAIN, BenchmarkAudit, RespondentScores
from hqm.auditing.budget import error_budgets
from hqm.auditing.definitions import items_to_read, pair_of_each_type
from hqm.auditing.evaluation_records import metric_of
from hqm.auditing.evidence import Evidence
from hqm.auditing.seven_questions import with_answers
from hqm.benchmark.findings import Finding
from hqm.benchmark.judge_api import parse_judge
from hqm.errors import DataError
from hqm.forms.make_forms import count_modes, count_reasons, count_rules
from hqm.imports.human_labels import HUMAN, labelled_by
from hqm.indicators import (
    Case,
    Protocol,
    case,
    compare,
    compare_forms,
    compare_runs,
    compare_stage,
    coverage,
    describe,
    expected,
    family_of,
    is_negating,
    people_agree,
    warn,
    yes_ratio,
)
from hqm.indicators.cases import left_out, unit_scores
from hqm.labels.people_labels import FAITHFUL
from hqm.lint.answer_leaks import TYPE_NOT_MEASURABLE, TooFew, too_few
from hqm.lint.question_checks import with_favoured_keys
from hqm.psychometrics import (
    FamilyDependence,
    StudyParts,
    family_dependence,
    jackknife_interval,
    stream,
    study_parts,
)
from hqm.psychometrics.variance_components import FEWEST_CLUSTERS
from hqm.scoring.matrix import ScoreMatrix, Units
from hqm.scoring.metrics import Array, Metric
from hqm.signature import digest
from hqm.types import Cell, Estimate, Form, finite

# --- Scores with each picture left out, for `hqm compare` ---
#
# A difference between two measures is tested for these respondents by leaving each picture out of
# both, which needs every respondent's score without every picture. A respondent has few different
# ones (one wrong answer of three moves the score alike in every picture), so an audit keeps the
# different values and, picture by picture, the place among them.


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
    """Return the names of the clusters in the order of their numbers."""
    first, metric = case.first, case.metric
    names = list(dict.fromkeys(item.cluster or item.id for item in first.items))
    inside = first.mask(metric)
    if metric.group:
        inside = inside & (first.groups[metric.group] >= 0)
    return tuple(names[number] for number in np.unique(first.clusters[inside]))


def written(records: Iterable[LeftOutRecord]) -> dict[str, Any]:
    """Return records as `audit.json` holds them: rows as distinct values and places."""
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
    """Read the records of a metric that `written` made, by family.

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


# --- The variance components of all administrations together, for `hqm design` ---


def study_components(evidence: Evidence, metric: Metric) -> dict[str, Any]:
    """Estimate the variance components of one metric, in the whole study and in each type.

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
    kinds = np.array([types.get(key, "") for key in number])
    of_type = {
        kind: study_parts(x[:, kinds == kind], pictures[kinds == kind], jackknife=False)
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
    """Read the variance components of a study and of its types from an audit's data.

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
        raise DataError("the components of the audit do not fit together", remedy=AGAIN)
    return parts


def _administrations(evidence: Evidence) -> list[Cell]:
    """Return the reference and what differs from it in wording (a negation is none) and run."""
    every, differing = evidence.matrices.items(), evidence.reference.differing
    near = [(cell, matrix) for cell, matrix in every if set(differing(cell)) <= {"form", "run"}]
    # who leans to yes gains by a negation what it loses without: no additive component says that
    return [cell for cell, matrix in near if not is_negating(matrix, evidence.first)]


def _on_common_items(matrices: Sequence[ScoreMatrix]) -> list[ScoreMatrix]:
    shared = set.intersection(*({item.id for item in matrix.items} for matrix in matrices))
    items = [item.id for item in matrices[0].items if item.id in shared]
    return [matrix.take(matrix.respondents, items) for matrix in matrices]


def _columns(matrices: Sequence[ScoreMatrix], metric: Metric) -> list[list[str]]:
    """Return the names of each administration's units: item ids, or the numbers of groups."""
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
    """Add the variance of score minus label to the components, if people labelled answers."""
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


# --- The audit: every comparison that the administrations of the evidence allow ---


@dataclass(frozen=True)
class Study:
    """The evidence on one benchmark, with what several analyses ask of it."""

    evidence: Evidence

    @property
    def first(self) -> ScoreMatrix:
        """The reference administration: the original form, run 0, the rule."""
        return self.evidence.first

    @cached_property
    def facets(self) -> dict[Cell, tuple[str, ...]]:
        """The facets in which each administration differs from the reference."""
        return {cell: self.evidence.reference.differing(cell) for cell in self.evidence.matrices}

    def differing_in(self, facet: str) -> list[ScoreMatrix]:
        """Return the administrations that differ from the reference in this facet alone."""
        return [self.evidence.matrices[c] for c, own in self.facets.items() if own == (facet,)]

    @cached_property
    def runs(self) -> list[ScoreMatrix]:
        """All runs of the reference form, the reference first."""
        return [self.first, *self.differing_in("run")]

    @cached_property
    def dependence(self) -> dict[str, FamilyDependence]:
        """How far relatives among the respondents score alike, metric by metric."""
        return {
            metric.name: family_dependence(
                self.first.score(metric),
                self.evidence.families,
                stream(0, f"families.{metric.name}"),
            )
            for metric in self.evidence.metrics
        }

    def relatives(self, metric: Metric) -> dict[str, Any]:
        """Return the settings of a case that say how many respondents are independent."""
        n_eff = self.dependence[metric.name].n_eff
        return {
            "n_effective": n_eff if math.isfinite(n_eff) else None,
            "families": self.evidence.families,
            "families_told": self.evidence.families_told,
        }

    def is_leading(self, metric: Metric) -> bool:
        """Return whether it is the first metric, which has what does not depend on the metric."""
        return metric is self.evidence.metrics[0]

    def repeats(self, other: ScoreMatrix) -> bool:
        """Return whether every respondent was greedy, or gave the same answers again."""
        greedy = all(
            respondent.live and respondent.identity.get("temperature") == 0
            for respondent in self.evidence.respondents
        )
        return greedy or self.first.answers == other.answers

    def compared_with(self, cell: Cell) -> ScoreMatrix:
        """Return what to compare an administration with: the reference, or for a repeated
        judgement the judge's first one.
        """
        label, asking = parse_judge(cell.judge)
        own = replace(cell, judge=label)
        return self.evidence.matrices.get(own, self.first) if asking else self.first

    def protocol(self, *others: Cell) -> Protocol:
        """Return what stands in the signature of a comparison of the reference with others."""
        evidence = self.evidence
        benchmark, forms = evidence.benchmark, evidence.forms
        names = dict.fromkeys([evidence.reference.form, *(other.form for other in others)])
        data = "~".join(forms[name].digest for name in names)
        if evidence.scored_by:
            return Protocol(benchmark.label, data, evidence.scored_by, evidence.margin)
        if not benchmark.reads:
            return Protocol(benchmark.label, data, benchmark.scorer, evidence.margin)
        readers = sorted(
            {benchmark.reader(item).label for name in names for item in forms[name].items[:50]}
        )
        scorer = benchmark.scorer.replace(benchmark.parser.label, "+".join(readers))
        return Protocol(benchmark.label, data, scorer, evidence.margin)


def retest(study: Study, metric: Metric) -> list[Estimate]:
    """Compare all runs of the reference form."""
    again = study.runs[1:]
    return compare_runs(
        study.runs,
        metric,
        study.protocol(),
        deterministic=bool(again) and all(study.repeats(run) for run in again),
        **study.relatives(metric),
    )


def wordings(study: Study, metric: Metric) -> list[Estimate]:
    """Compare all wordings of the same questions together; a negation is no such wording."""
    first = study.first
    others = [m for m in study.differing_in("form") if not is_negating(m, first)]
    protocol = study.protocol(*(other.cell for other in others))
    return compare_forms([first, *others], metric, protocol, **study.relatives(metric))


def reference_alone(study: Study, metric: Metric) -> Iterable[Estimate]:
    """Describe the reference administration: its consistency, items, types and short form."""
    evidence = study.evidence
    return describe(
        study.first,
        metric,
        study.protocol(),
        evidence.forms[evidence.reference.form],
        evidence.benchmark.card.types,
        leading=study.is_leading(metric),
        **study.relatives(metric),
        blind=next(iter(study.differing_in("sight")), None),
        copies=evidence.copies,
        calibration=evidence.benchmark.calibration,
    )


def expected_reliability(study: Study, metric: Metric) -> Iterable[Estimate]:
    """Compute from the probabilities of answers what reruns would show."""
    if study.evidence.probabilities is None:
        return ()
    temperatures = [who.identity.get("temperature") for who in study.evidence.respondents]
    different = set(temperatures)
    # greedy decoding repeats itself, so its probabilities say nothing about reruns
    greedy = np.array([temperature == 0 and len(different) > 1 for temperature in temperatures])
    chances = np.where(greedy[:, None], np.nan, study.evidence.probabilities)
    alone = case(
        "expected", "", (study.first,), metric, study.protocol(), **study.relatives(metric)
    )
    return expected(alone, chances, different.pop() if len(different) == 1 else None)


def other_facets(study: Study, metric: Metric) -> Iterator[Estimate]:
    """Compare the reference with every administration that differs from it in one facet."""
    for cell, facets in study.facets.items():
        if len(facets) != 1:
            continue
        other, beside = study.evidence.matrices[cell], study.compared_with(cell)
        yield from compare(
            facets[0],
            beside,
            other,
            metric,
            study.protocol(cell),
            runs=study.runs if beside is study.first else (),
            deterministic=facets == ("run",) and study.repeats(other),
            **study.relatives(metric),
        )


def human_agreement(study: Study, metric: Metric) -> Iterator[Estimate]:
    """Compare the scores with every set of labels, and the people who labelled with one another."""
    evidence = study.evidence
    for other in evidence.labelled:
        protocol = study.protocol(other.cell)
        sample = evidence.samples.get(other.cell.judge)
        yield from compare(
            "judge",
            study.first,
            other,
            metric,
            protocol,
            other_metric=FAITHFUL,
            sample=sample,
            levels=evidence.levels,
            **study.relatives(metric),
        )
        if study.is_leading(metric) and labelled_by(other.cell.judge) == "people":
            alone = case("criterion", "judge", (study.first,), metric, protocol, sample=sample)
            yield from people_agree(alone, evidence.labels.by_rater)


def stages(study: Study) -> Iterator[Estimate]:
    """Compare single stages of the judges with the units that people labelled."""
    evidence = study.evidence
    labels = next((matrix for matrix in evidence.labelled if matrix.cell.judge == HUMAN), None)
    for stage in evidence.stages:
        first = evidence.matrices.get(replace(evidence.reference, judge=stage.label))
        if first is not None and labels is not None:
            sample = evidence.samples.get(HUMAN)
            protocol = study.protocol(first.cell)
            yield from compare_stage(stage, first, labels, protocol, sample=sample)


ANALYSES: tuple[Callable[[Study, Metric], Iterable[Estimate]], ...] = (
    retest,
    wordings,
    reference_alone,
    expected_reliability,
    other_facets,
    human_agreement,
)
"""In the order of an audit. To add one, write a function `(Study, Metric) -> estimates` and name
it here.
"""


def audit(evidence: Evidence) -> BenchmarkAudit:
    """Estimate everything that the evidence on one benchmark allows (`hqm.gather` makes it).

    Each analysis looks at the evidence alone and returns its estimates; what it cannot estimate, it
    returns with a reason. No store is read and nothing is written. Of files, only the pictures of
    the items to read are opened.
    """
    study = Study(evidence)
    estimates: list[Estimate] = []
    flags: list[Mapping[str, Any]] = []
    for metric in evidence.metrics:
        of_metric = [each for analysis in ANALYSES for each in analysis(study, metric)]
        alone = case("", "", (study.first,), metric, study.protocol())
        warned = warn(alone, of_metric, study.dependence[metric.name])
        estimates += of_metric
        flags += [each.to_dict() for each in warned]
    estimates += stages(study)
    left_out = (record for metric in evidence.metrics for record in _left_out(study, metric))
    whole = replace(
        _assemble(evidence, estimates, flags),
        left_out=written(record for record in left_out if record),
        components={metric.name: study_components(evidence, metric) for metric in evidence.metrics},
        budget=error_budgets(evidence, estimates, study.protocol(), study.dependence),
    )
    return with_answers(whole)


def _left_out(study: Study, metric: Metric) -> list[LeftOutRecord | None]:
    """Return the scores without each picture of all runs, and of the first pair in every other
    family that is compared.
    """
    protocol, first = study.protocol(), study.first
    pairs: list[Case] = []
    if len(study.runs) > 1:
        pairs.append(case("test_retest", "run", study.runs, metric, protocol, together=True))
    for cell, other in study.evidence.matrices.items():
        facets = study.facets[cell]
        if facets in (("form",), ("judge",)):
            beside = study.compared_with(cell)
            family = family_of(facets[0], beside, other)
            pairs.append(case(family, facets[0], (beside, other), metric, protocol))
    for other in study.evidence.labelled:
        family = family_of("judge", first, other)
        labels = case(family, "judge", (first, other), metric, protocol, other_metric=FAITHFUL)
        pairs.append(labels)
    first_of_family = {pair.family: pair for pair in reversed(pairs)}
    return [left_out_record(pair) for pair in first_of_family.values()]


def _assemble(
    evidence: Evidence, estimates: Sequence[Estimate], flags: Sequence[Mapping[str, Any]]
) -> BenchmarkAudit:
    benchmark, matrices, forms = evidence.benchmark, evidence.matrices, evidence.forms
    form, card = forms[evidence.reference.form], benchmark.card
    used = {name: forms[name] for name in forms if any(cell.form == name for cell in matrices)}
    covered = coverage(form, card.types, card.labelled)
    findings = [finding.to_dict() for finding in _findings(evidence, estimates)]
    units = {metric.name: evidence.first.units(metric) for metric in evidence.metrics}
    return BenchmarkAudit(
        benchmark=card.name,
        title=card.title,
        version=card.version,
        task=card.task,
        scoring=evidence.scored_by or benchmark.scoring,
        parser=benchmark.parser.name if benchmark.reads and not evidence.scored_by else "",
        summary=card.summary,
        reference=str(evidence.reference),
        n_items=len(form),
        images=len({item.image for item in form.items if item.image}),
        metrics={
            metric.name: {
                "about": metric.about,
                "better": metric.better,
                "scale": list(metric.ends),
            }
            for metric in evidence.metrics
        },
        forms={
            name: {
                "items": len(of_name),
                "left_out": len(of_name.left_out),
                "rules": count_rules(of_name),
                "modes": count_modes(evidence.forms[evidence.reference.form], of_name),
                "reasons": count_reasons(of_name),
                "digest": of_name.digest,
            }
            for name, of_name in used.items()
        },
        truth_yes={n: _truth_yes(f) for n, f in used.items() if card.task == "yes_no"},
        cells=tuple(map(str, matrices)),
        respondents=tuple(
            _respondent(evidence, units, row, who) for row, who in enumerate(evidence.respondents)
        ),
        all_estimates=tuple(estimates),
        coverage={of_type.type: {**asdict(of_type), "state": of_type.state} for of_type in covered},
        findings=tuple(findings),
        flags=tuple(flags),
        families=dict(zip(evidence.first.respondents, evidence.families, strict=True)),
        examples=tuple(example.to_dict() for example in evidence.examples),
        tools=tuple(tool.to_dict() for tool in evidence.tools),
        to_read=tuple(
            items_to_read(form, estimates, findings, evidence.metrics[0].name, evidence.thumbnail)
        ),
        pairs=tuple(pair_of_each_type(form, evidence.thumbnail)),
        stopped=dict(evidence.stopped),
        analyses=tuple(analysis.to_dict() for analysis in evidence.analyses),
        release={"citation": card.citation, "url": card.url, "licence": card.licence},
        scales={metric.name: metric.ends for metric in benchmark.metrics},
    )


def _findings(evidence: Evidence, estimates: Sequence[Estimate]) -> Iterator[Finding]:
    """Yield the findings; a type with too few items is found by its answers."""
    rows = next((e.detail.get("types", ()) for e in estimates if e.indicator == "types.index"), ())
    few = {
        row["type"]: TooFew(row["items"], row["sem_high"], row["missing_items"], row["measured"])
        for row in rows
        if row["items"] and row["state"] != "measurable" and not row["at_chance"]
    }
    for finding in evidence.findings:
        if not rows or finding.name != TYPE_NOT_MEASURABLE:
            yield with_favoured_keys(finding, evidence.first)
    yield from too_few(few)


def _truth_yes(form: Form) -> float | None:
    yes = sum(item.target == "yes" for item in form.items)
    return yes / len(form.items) if form.items else None


def _respondent(
    evidence: Evidence, units: Mapping[str, Units], row: int, respondent: StoredRespondent
) -> RespondentScores:
    first, audited = evidence.first, evidence.metrics
    metrics = [
        metric
        for metric in evidence.benchmark.metrics
        if not metric.subset or metric.subset in first.subsets
    ]
    own = {cell: _row_of(matrix, row) for cell, matrix in evidence.matrices.items()}
    alone = own[evidence.reference]
    intervals = {}
    for metric in audited:
        of_metric = units[metric.name]
        tallies = {key: values[row] for key, values in of_metric.tallies.items()}
        bounds = jackknife_interval(
            tallies, of_metric.clusters, partial(metric_of, metric), share=metric.share
        )
        intervals[metric.name] = [finite(bounds.low), finite(bounds.high)]
    types = sorted({item.type for item in first.items if item.type})
    return RespondentScores(
        name=respondent.name,
        scores={metric.name: finite(float(alone.score(metric)[0])) for metric in metrics},
        intervals=intervals,
        by_type={kind: _type_score(alone, audited[0], kind) for kind in types},
        cells={
            str(c): {m.name: finite(float(matrix.score(m)[0])) for m in metrics}
            for c, matrix in own.items()
        },
        states={str(c): dict(matrix.state_counts()[respondent.name]) for c, matrix in own.items()},
        yes_ratio={
            str(c): finite(float(yes_ratio(matrix)[0]))
            for c, matrix in own.items()
            if "tp" in matrix.tallies
        },
        words={str(c): _mean(matrix.words) for c, matrix in own.items()},
        judged={
            str(m.cell): finite(float(_row_of(m, row).score(FAITHFUL)[0]))
            for m in evidence.labelled
        },
        identity=dict(respondent.identity),
        printed=_printed(alone, metrics),
    )


def _printed(alone: ScoreMatrix, metrics: Sequence[Metric]) -> dict[str, str]:
    """Return the scores as the release prints them, for metrics that it rounds."""
    known = {m: float(alone.printed(m)[0]) for m in metrics if m.digits is not None}
    return {m.name: f"{value:.{m.digits}f}" for m, value in known.items() if math.isfinite(value)}


def _row_of(matrix: ScoreMatrix, row: int) -> ScoreMatrix:
    return replace(
        matrix,
        respondents=(matrix.respondents[row],),
        values=matrix.values[row : row + 1],
        tallies={key: values[row : row + 1] for key, values in matrix.tallies.items()},
        states=matrix.states[row : row + 1],
        words=matrix.words[row : row + 1],
    )


def _type_score(matrix: ScoreMatrix, metric: Metric, kind: str) -> float | None:
    mask = np.array([item.type == kind for item in matrix.items])
    return finite(float(metric(matrix.units(metric, mask).sums)[0]))


def _mean(values: npt.NDArray[np.float64]) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None
