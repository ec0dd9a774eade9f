"""The audit: every comparison that the administrations of the evidence allow.

`audit()` holds no list of what to compare. It takes the reference administration (the original form, run 0, the rule)
and every other one that differs from it in exactly one facet, and asks for each how well the scores agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.administration.assignment import StoredRespondent
from hqm.auditing.evidence import Evidence
from hqm.auditing.value import BenchmarkAudit, RespondentScores
from hqm.benchmark.findings import Finding
from hqm.benchmark.labels import labelled_by
from hqm.forms.build import count_rules
from hqm.indicators import (
    Protocol,
    case,
    compare,
    compare_runs,
    coverage,
    describe,
    expected,
    people_agree,
    warn,
    yes_ratio,
)
from hqm.judges.labels import FAITHFUL
from hqm.lint.labels import TYPE_NOT_MEASURABLE, TooFew, too_few
from hqm.psychometrics import family_dependence, jackknife_interval
from hqm.scoring.matrix import ScoreMatrix, Sums
from hqm.scoring.metrics import Metric
from hqm.types import Cell, Estimate, Form, finite


def audit(evidence: Evidence) -> BenchmarkAudit:
    """Estimate everything that the evidence on one benchmark allows (`hqm.gather` makes it).

    The reference administration is compared with every one that differs from it in one facet. The result depends on the
    evidence alone: no store and no file is read, and nothing is written.
    """
    benchmark, reference, matrices = evidence.benchmark, evidence.reference, evidence.matrices
    first, families = evidence.first, evidence.families
    form, respondents = evidence.forms[reference.form], evidence.respondents
    others = {cell: reference.differing(cell) for cell in matrices}
    runs = [first, *(matrices[cell] for cell, facets in others.items() if facets == ("run",))]
    drawn = len(runs) > 1 and all(_without_chance(respondents, first, run) for run in runs[1:])
    unseen = next((matrices[cell] for cell, facets in others.items() if facets == ("sight",)), None)
    estimates: list[Estimate] = []
    flags: list[Mapping[str, Any]] = []
    for metric in evidence.metrics:
        protocol = _protocol(evidence, reference)
        dependence = family_dependence(first.score(metric), families)
        n_eff = dependence.n_eff if math.isfinite(dependence.n_eff) else None
        of_metric = compare_runs(runs, metric, protocol, deterministic=drawn, n_effective=n_eff)
        leading = metric is evidence.metrics[0]
        of_metric += describe(
            first,
            metric,
            protocol,
            form,
            benchmark.card.types,
            leading=leading,
            n_effective=n_eff,
            families=families,
            blind=unseen,
        )
        if evidence.probabilities is not None:
            drawn_at = {respondent.identity.get("temperature") for respondent in respondents}
            alone = case("expected", "", (first,), metric, protocol, n_effective=n_eff)
            of_metric += expected(alone, evidence.probabilities, drawn_at.pop() if len(drawn_at) == 1 else None)
        for cell, facets in others.items():
            if len(facets) == 1:
                protocol = _protocol(evidence, cell)
                same = facets[0] == "run" and _without_chance(respondents, first, matrices[cell])
                of_metric += compare(
                    facets[0], first, matrices[cell], metric, protocol, runs=runs, deterministic=same, n_effective=n_eff
                )
        for other in evidence.labelled:
            protocol = _protocol(evidence, other.cell)
            of_metric += compare(
                "judge", first, other, metric, protocol, other_metric=FAITHFUL, n_effective=n_eff, families=families
            )
            if leading and labelled_by(other.cell.judge) == "people":
                alone = case("criterion", "judge", (first,), metric, protocol)
                of_metric += people_agree(alone, evidence.labels.by_rater)
        estimates += of_metric
        alone = case("", "", (first,), metric, protocol)
        flags += [warned.to_dict() for warned in warn(alone, of_metric, dependence)]
    return _assemble(evidence, estimates, flags)


def _protocol(evidence: Evidence, other: Cell) -> Protocol:
    benchmark, forms, first = evidence.benchmark, evidence.forms, evidence.reference
    data = forms[first.form].digest
    if other.form != first.form:
        data = f"{data}~{forms[other.form].digest}"
    if benchmark.card.task != "yes_no" or benchmark.roles:
        return Protocol(benchmark.label, data, benchmark.scorer)
    readers = sorted({benchmark.reader(item).name for cell in (first, other) for item in forms[cell.form].items[:50]})
    return Protocol(benchmark.label, data, benchmark.scorer.replace(benchmark.parser.name, "+".join(readers)))


def _without_chance(respondents: Sequence[StoredRespondent], first: ScoreMatrix, other: ScoreMatrix) -> bool:
    """Whether every respondent was greedy, or gave the same answers throughout."""
    greedy = all(respondent.live and respondent.identity.get("temperature") == 0 for respondent in respondents)
    return greedy or first.answers == other.answers


def _assemble(evidence: Evidence, estimates: Sequence[Estimate], flags: Sequence[Mapping[str, Any]]) -> BenchmarkAudit:
    benchmark, matrices, forms = evidence.benchmark, evidence.matrices, evidence.forms
    form, card = forms[evidence.reference.form], benchmark.card
    used = {name: forms[name] for name in forms if any(cell.form == name for cell in matrices)}
    covered = coverage(form, card.types, card.labelled)
    return BenchmarkAudit(
        benchmark=card.name,
        title=card.title,
        version=card.version,
        task=card.task,
        scoring=benchmark.scoring,
        parser=benchmark.parser.name if card.task == "yes_no" else "",
        summary=card.summary,
        reference=str(evidence.reference),
        items=len(form),
        images=len({item.image for item in form.items if item.image}),
        metrics={metric.name: {"about": metric.about, "better": metric.better} for metric in evidence.metrics},
        forms={
            name: {
                "items": len(of_name),
                "left_out": len(of_name.left_out),
                "rules": count_rules(of_name),
                "digest": of_name.digest,
            }
            for name, of_name in used.items()
        },
        truth_yes={name: _truth_yes(of_name) for name, of_name in used.items() if card.task == "yes_no"},
        cells=tuple(map(str, matrices)),
        respondents=tuple(_respondent(evidence, row, who) for row, who in enumerate(evidence.respondents)),
        estimates=tuple(estimates),
        coverage={of_type.type: {**asdict(of_type), "state": of_type.state} for of_type in covered},
        findings=tuple(finding.to_dict() for finding in _findings(evidence, estimates)),
        flags=tuple(flags),
        families=dict(zip(evidence.first.respondents, evidence.families, strict=True)),
        examples=tuple(example.to_dict() for example in evidence.examples),
    )


def _findings(evidence: Evidence, estimates: Sequence[Estimate]) -> Iterator[Finding]:
    """What was found, where types that have too few items are told by the answers and no longer by their number."""
    rows = next((e.detail.get("types", ()) for e in estimates if e.indicator == "types.index"), ())
    few = {
        row["type"]: TooFew(row["items"], row["sem"], row["missing_items"], row["measured"])
        for row in rows
        if row["items"] and row["state"] != "measurable"
    }
    yield from (finding for finding in evidence.findings if not rows or finding.name != TYPE_NOT_MEASURABLE)
    yield from too_few(few)


def _truth_yes(form: Form) -> float | None:
    return sum(item.target == "yes" for item in form.items) / len(form.items) if form.items else None


def _respondent(evidence: Evidence, row: int, respondent: StoredRespondent) -> RespondentScores:
    first, audited = evidence.first, evidence.metrics
    metrics = [metric for metric in evidence.benchmark.metrics if not metric.subset or metric.subset in first.subsets]
    own = {cell: _row_of(matrix, row) for cell, matrix in evidence.matrices.items()}
    alone = own[evidence.reference]
    intervals = {}
    for metric in audited:
        units = first.units(metric)
        tallies = {key: values[row] for key, values in units.tallies.items()}
        bounds = jackknife_interval(tallies, units.clusters, partial(_metric_of, metric), share=metric.share)
        intervals[metric.name] = [finite(bounds.low), finite(bounds.high)]
    types = sorted({item.type for item in first.items if item.type})
    return RespondentScores(
        name=respondent.name,
        scores={metric.name: finite(float(alone.score(metric)[0])) for metric in metrics},
        intervals=intervals,
        by_type={kind: _type_score(alone, audited[0], kind) for kind in types},
        cells={str(c): {m.name: finite(float(matrix.score(m)[0])) for m in audited} for c, matrix in own.items()},
        states={str(c): dict(matrix.state_counts()[respondent.name]) for c, matrix in own.items()},
        yes_ratio={str(c): finite(float(yes_ratio(matrix)[0])) for c, matrix in own.items() if "tp" in matrix.tallies},
        words={str(c): _mean(matrix.words) for c, matrix in own.items()},
        judged={str(m.cell): finite(float(_row_of(m, row).score(FAITHFUL)[0])) for m in evidence.labelled},
        identity=dict(respondent.identity),
    )


def _metric_of(metric: Metric, sums: Mapping[str, Any]) -> Any:
    """The metric of sums that may lack a name, as an answer file without any yes lacks its counts."""
    return metric(Sums(dict(sums), *np.shape(next(iter(sums.values()), 0.0))))


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
