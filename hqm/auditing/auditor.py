"""The audit: every comparison that the administrations of the evidence allow.

`audit()` holds no list of what to compare. It takes the reference administration (the original
form, run 0, the rule) and every other one that differs from it in exactly one facet, and asks for
each how well the scores agree.
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
from hqm.auditing.left_out_scores import LeftOutRecord, left_out_record, written
from hqm.auditing.to_read import items_to_read
from hqm.auditing.type_pairs import pair_of_each_type
from hqm.auditing.value import BenchmarkAudit, RespondentScores
from hqm.auditing.whole_study import study_components
from hqm.benchmark.findings import Finding
from hqm.benchmark.labels import HUMAN, labelled_by
from hqm.forms.build import count_modes, count_reasons, count_rules
from hqm.indicators import (
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
    people_agree,
    warn,
    yes_ratio,
)
from hqm.judges.labels import FAITHFUL
from hqm.judges.panel import parse_judge
from hqm.lint.labels import TYPE_NOT_MEASURABLE, TooFew, too_few
from hqm.psychometrics import family_dependence, jackknife_interval, stream
from hqm.scoring.matrix import ScoreMatrix, Sums, Units
from hqm.scoring.metrics import Metric
from hqm.types import Cell, Estimate, Form, finite


def audit(evidence: Evidence) -> BenchmarkAudit:
    """Estimate everything that the evidence on one benchmark allows (`hqm.gather` makes it).

    The reference administration is compared with every one that differs from it in one facet. The
    result depends on the evidence alone: no store is read and nothing is written. Of files, only
    the pictures of the items to read are opened.
    """
    benchmark, reference, matrices = evidence.benchmark, evidence.reference, evidence.matrices
    first, families = evidence.first, evidence.families
    form, respondents = evidence.forms[reference.form], evidence.respondents
    others = {cell: reference.differing(cell) for cell in matrices}
    runs = [first, *(matrices[cell] for cell, facets in others.items() if facets == ("run",))]
    worded = [first, *(matrices[cell] for cell, facets in others.items() if facets == ("form",))]
    drawn = len(runs) > 1 and all(_without_chance(respondents, first, run) for run in runs[1:])
    unseen = next((matrices[cell] for cell, facets in others.items() if facets == ("sight",)), None)
    estimates: list[Estimate] = []
    flags: list[Mapping[str, Any]] = []
    kept: list[LeftOutRecord | None] = []
    for metric in evidence.metrics:
        protocol = _protocol(evidence, reference)
        dependence = family_dependence(
            first.score(metric), families, stream(0, f"families.{metric.name}")
        )
        n_eff = dependence.n_eff if math.isfinite(dependence.n_eff) else None
        relatives: dict[str, Any] = {
            "n_effective": n_eff,
            "families": families,
            "families_told": evidence.families_told,
        }
        of_metric = compare_runs(runs, metric, protocol, deterministic=drawn, **relatives)
        of_metric += compare_forms(
            worded, metric, _protocol(evidence, *(m.cell for m in worded[1:])), **relatives
        )
        leading = metric is evidence.metrics[0]
        of_metric += describe(
            first,
            metric,
            protocol,
            form,
            benchmark.card.types,
            leading=leading,
            **relatives,
            blind=unseen,
            copies=evidence.copies,
            calibration=benchmark.calibration,
        )
        if evidence.probabilities is not None:
            temperatures = [respondent.identity.get("temperature") for respondent in respondents]
            drawn_at = set(temperatures)
            alone = case("expected", "", (first,), metric, protocol, **relatives)
            # a rerun of an answer that was drawn without chance repeats it: its probability says
            # nothing about reruns
            greedy = np.array(
                [temperature == 0 and len(drawn_at) > 1 for temperature in temperatures]
            )
            chances = np.where(greedy[:, None], np.nan, evidence.probabilities)
            of_metric += expected(alone, chances, drawn_at.pop() if len(drawn_at) == 1 else None)
        for cell, facets in others.items():
            if len(facets) == 1:
                protocol = _protocol(evidence, cell)
                same = facets[0] == "run" and _without_chance(respondents, first, matrices[cell])
                beside = _compared_with(evidence, cell)
                of_metric += compare(
                    facets[0],
                    beside,
                    matrices[cell],
                    metric,
                    protocol,
                    runs=runs if beside is first else (),
                    deterministic=same,
                    **relatives,
                )
        for other in evidence.labelled:
            protocol = _protocol(evidence, other.cell)
            sample = evidence.samples.get(other.cell.judge)
            of_metric += compare(
                "judge",
                first,
                other,
                metric,
                protocol,
                other_metric=FAITHFUL,
                sample=sample,
                levels=evidence.levels,
                **relatives,
            )
            if leading and labelled_by(other.cell.judge) == "people":
                alone = case("criterion", "judge", (first,), metric, protocol, sample=sample)
                of_metric += people_agree(alone, evidence.labels.by_rater)
        estimates += of_metric
        kept += _left_out(evidence, runs, metric, protocol)
        alone = case("", "", (first,), metric, protocol)
        flags += [warned.to_dict() for warned in warn(alone, of_metric, dependence)]
    estimates += _stages(evidence)
    components = {metric.name: study_components(evidence, metric) for metric in evidence.metrics}
    written_out = written(record for record in kept if record)
    return replace(
        _assemble(evidence, estimates, flags), left_out=written_out, components=components
    )


def _stages(evidence: Evidence) -> Iterator[Estimate]:
    """What single stages of the judges say of the units that people labelled."""
    labels = next((matrix for matrix in evidence.labelled if matrix.cell.judge == HUMAN), None)
    for stage in evidence.stages:
        first = evidence.matrices.get(replace(evidence.reference, judge=stage.label))
        if first is not None and labels is not None:
            sample = evidence.samples.get(HUMAN)
            yield from compare_stage(
                stage, first, labels, _protocol(evidence, first.cell), sample=sample
            )


def _compared_with(evidence: Evidence, cell: Cell) -> ScoreMatrix:
    """What an administration is compared with: the reference; a judge that was asked again, with
    its own first time.
    """
    label, asking = parse_judge(cell.judge)
    own = replace(cell, judge=label)
    return evidence.matrices.get(own, evidence.first) if asking else evidence.first


def _left_out(
    evidence: Evidence, runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol
) -> list[LeftOutRecord | None]:
    """The scores without each picture of all runs, and of the first pair in every other family that
    is compared.
    """
    first = evidence.first
    cases = (
        [case("test_retest", "run", runs, metric, protocol, together=True)] if len(runs) > 1 else []
    )
    for cell, other in evidence.matrices.items():
        facets = evidence.reference.differing(cell)
        if facets in (("form",), ("judge",)):
            beside = _compared_with(evidence, cell)
            cases.append(
                case(
                    family_of(facets[0], beside, other),
                    facets[0],
                    (beside, other),
                    metric,
                    protocol,
                )
            )
    for other in evidence.labelled:
        of_people = family_of("judge", first, other)
        cases.append(
            case(of_people, "judge", (first, other), metric, protocol, other_metric=FAITHFUL)
        )
    leading = {each.family: each for each in reversed(cases)}
    return [left_out_record(each) for each in leading.values()]


def _protocol(evidence: Evidence, *others: Cell) -> Protocol:
    """What stands in the signature of a comparison of the reference with other administrations."""
    benchmark, forms, first = evidence.benchmark, evidence.forms, evidence.reference
    names = dict.fromkeys([first.form, *(other.form for other in others)])
    data = "~".join(forms[name].digest for name in names)
    if evidence.scored_by:
        return Protocol(benchmark.label, data, evidence.scored_by, evidence.margin)
    if benchmark.card.task != "yes_no" or benchmark.roles:
        return Protocol(benchmark.label, data, benchmark.scorer, evidence.margin)
    readers = sorted(
        {benchmark.reader(item).name for name in names for item in forms[name].items[:50]}
    )
    scorer = benchmark.scorer.replace(benchmark.parser.name, "+".join(readers))
    return Protocol(benchmark.label, data, scorer, evidence.margin)


def _without_chance(
    respondents: Sequence[StoredRespondent], first: ScoreMatrix, other: ScoreMatrix
) -> bool:
    """Whether every respondent was greedy, or gave the same answers throughout."""
    greedy = all(
        respondent.live and respondent.identity.get("temperature") == 0
        for respondent in respondents
    )
    return greedy or first.answers == other.answers


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
        parser=benchmark.parser.name if card.task == "yes_no" and not evidence.scored_by else "",
        summary=card.summary,
        reference=str(evidence.reference),
        items=len(form),
        images=len({item.image for item in form.items if item.image}),
        metrics={
            metric.name: {"about": metric.about, "better": metric.better}
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
        truth_yes={
            name: _truth_yes(of_name) for name, of_name in used.items() if card.task == "yes_no"
        },
        cells=tuple(map(str, matrices)),
        respondents=tuple(
            _respondent(evidence, units, row, who) for row, who in enumerate(evidence.respondents)
        ),
        estimates=tuple(estimates),
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
    )


def _findings(evidence: Evidence, estimates: Sequence[Estimate]) -> Iterator[Finding]:
    """What was found, where types that have too few items are told by the answers and no longer by
    their number.
    """
    rows = next((e.detail.get("types", ()) for e in estimates if e.indicator == "types.index"), ())
    few = {
        row["type"]: TooFew(row["items"], row["sem"], row["missing_items"], row["measured"])
        for row in rows
        if row["items"] and row["state"] != "measurable" and not row["at_chance"]
    }
    yield from (
        finding for finding in evidence.findings if not rows or finding.name != TYPE_NOT_MEASURABLE
    )
    yield from too_few(few)


def _truth_yes(form: Form) -> float | None:
    return (
        sum(item.target == "yes" for item in form.items) / len(form.items) if form.items else None
    )


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
            tallies, of_metric.clusters, partial(_metric_of, metric), share=metric.share
        )
        intervals[metric.name] = [finite(bounds.low), finite(bounds.high)]
    types = sorted({item.type for item in first.items if item.type})
    return RespondentScores(
        name=respondent.name,
        scores={metric.name: finite(float(alone.score(metric)[0])) for metric in metrics},
        intervals=intervals,
        by_type={kind: _type_score(alone, audited[0], kind) for kind in types},
        cells={
            str(c): {m.name: finite(float(matrix.score(m)[0])) for m in audited}
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
    """What the release prints of one respondent, where it rounds."""
    known = {m: float(alone.printed(m)[0]) for m in metrics if m.digits is not None}
    return {m.name: f"{value:.{m.digits}f}" for m, value in known.items() if math.isfinite(value)}


def _metric_of(metric: Metric, sums: Mapping[str, Any]) -> Any:
    """The metric of sums that may lack a name, as an answer file without any yes lacks its
    counts.
    """
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
