"""The audit: every comparison that the administrations in a store allow.

`audit()` holds no list of what to compare. It takes the reference administration (the original form, run 0, the rule)
and every other one in the store that differs from it in exactly one facet, and asks for each how well the scores agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.administration.administer import Desk, StoredRespondent
from hqm.administration.holdings import cells_in, forms_of
from hqm.auditing.examples import examples
from hqm.auditing.families import families_of
from hqm.auditing.value import BenchmarkAudit, RespondentScores
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.labels import RATER
from hqm.errors import DesignError
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
from hqm.judges.desk import JudgeDesk
from hqm.judges.labels import FAITHFUL, labels_matrix, oracle_matrix
from hqm.judges.panel import named, parse_judge
from hqm.lint import lint_form
from hqm.psychometrics import family_dependence, jackknife_interval
from hqm.scoring.matrix import ScoreMatrix, Sums
from hqm.scoring.metrics import Metric
from hqm.types import ORIGINAL, Cell, Estimate, Form, Response, finite


def audit(
    benchmark: Benchmark,
    desk: Desk,
    people: Sequence[StoredRespondent],
    *,
    reference: Cell | None = None,
    forms: Sequence[Form] = (),
    criterion: Path | None = None,
    metrics: Sequence[str] = (),
    judges: Sequence[JudgeDesk] = (),
    families: Mapping[str, str] | None = None,
) -> BenchmarkAudit:
    """Audit one benchmark from what the store holds.

    Parameters
    ----------
    benchmark, desk, people
        What was administered, the desk at its store, and the respondents to compare.
    reference
        The administration that the others are compared with; the original form, run 0, unless given.
    forms
        Forms a person brought, beside the original and the parallel one.
    criterion
        A file of people's labels on answers of the reference administration.
    metrics
        The metrics to audit; the card's unless given.
    judges
        The panels that judged, for a benchmark that a model judges; the first one's verdicts are the reference.
    families
        Respondent -> family; those not named are told from their names.

    Raises
    ------
    DesignError
        The store holds no answer of the reference administration by any of these respondents.
    """
    all_forms = {form.name: form for form in forms_of(benchmark, forms)}
    cells = cells_in(desk.store, desk, benchmark, list(all_forms.values()), people)
    cells = _judged_cells(cells, judges)
    reference = reference or Cell(
        judge=judges[0].panel.label if judges else "rule", sight="blind" if desk.blind else ""
    )
    if reference not in cells:
        there = "; ".join(map(str, cells)) or "none"
        raise DesignError(f"the store holds no answer to {benchmark.name} in {reference} (it has: {there})")
    audited = tuple(benchmark.metric(name) for name in metrics) or benchmark.audited
    matrices = {cell: _matrix(benchmark, desk, judges, cell, all_forms[cell.form], people) for cell in cells}
    first = matrices[reference]
    judged = _judged(benchmark, desk, first, all_forms[reference.form], people, criterion)
    kin = families_of(first.respondents, families)
    estimates, flags = _estimates(benchmark, all_forms, reference, matrices, judged, audited, people, kin, desk)
    found = _assemble(benchmark, all_forms, reference, matrices, judged, audited, people, estimates)
    shown = examples(benchmark, desk, judges, all_forms, people, reference, matrices, judged)
    return replace(
        found,
        flags=tuple(flags),
        families=dict(zip(first.respondents, kin, strict=True)),
        examples=tuple(example.to_dict() for example in shown),
    )


def _estimates(
    benchmark: Benchmark,
    forms: Mapping[str, Form],
    reference: Cell,
    matrices: Mapping[Cell, ScoreMatrix],
    judged: Sequence[ScoreMatrix],
    audited: Sequence[Metric],
    people: Sequence[StoredRespondent],
    kin: Sequence[str],
    desk: Desk,
) -> tuple[list[Estimate], list[Mapping[str, Any]]]:
    """Compare the reference with every administration that differs from it in one facet; what that warns of."""
    first = matrices[reference]
    others = {cell: reference.differing(cell) for cell in matrices}
    runs = [first, *(matrices[cell] for cell, facets in others.items() if facets == ("run",))]
    drawn = len(runs) > 1 and all(_without_chance(people, first, run) for run in runs[1:])
    estimates: list[Estimate] = []
    flags: list[Mapping[str, Any]] = []
    for metric in audited:
        protocol = _protocol(benchmark, forms, reference, reference)
        family = family_dependence(first.score(metric), kin)
        n_eff = family.n_eff if math.isfinite(family.n_eff) else None
        found = compare_runs(runs, metric, protocol, deterministic=drawn, n_effective=n_eff)
        claimed = benchmark.card.types
        leading = metric is audited[0]
        unseen = next((matrices[cell] for cell, facets in others.items() if facets == ("sight",)), None)
        found += describe(
            first,
            metric,
            protocol,
            forms[reference.form],
            claimed,
            leading=leading,
            n_effective=n_eff,
            families=kin,
            blind=unseen,
        )
        if (chances := _probabilities(benchmark, desk, forms[reference.form], reference.run, people)) is not None:
            drawn_at = {person.identity.get("temperature") for person in people}
            told = case("expected", "", (first,), metric, protocol, n_effective=n_eff)
            found += expected(told, chances, drawn_at.pop() if len(drawn_at) == 1 else None)
        for cell, facets in others.items():
            if len(facets) == 1:
                protocol = _protocol(benchmark, forms, reference, cell)
                same = facets[0] == "run" and _without_chance(people, first, matrices[cell])
                found += compare(
                    facets[0], first, matrices[cell], metric, protocol, runs=runs, deterministic=same, n_effective=n_eff
                )
        for other in judged:
            protocol = _protocol(benchmark, forms, reference, other.cell)
            found += compare(
                "judge", first, other, metric, protocol, other_metric=FAITHFUL, n_effective=n_eff, families=kin
            )
            if leading and other.cell.judge == "human":
                raters = _labels_by_rater(benchmark, desk, reference)
                found.append(people_agree(case("criterion", "judge", (first,), metric, protocol), raters))
        estimates += found
        alone = case("", "", (first,), metric, protocol)
        flags += [warned.to_dict() for warned in warn(alone, found, family)]
    return estimates, flags


def _labels_by_rater(
    benchmark: Benchmark, desk: Desk, reference: Cell
) -> Mapping[str, Mapping[tuple[str, str], float]]:
    """Person -> (respondent, item) -> label, of the people whose own labels the store has."""
    found = {}
    for judge, form, run in desk.store.judged(benchmark.name):
        if RATER in judge and (form, run) == (reference.form, reference.run):
            labels = desk.store.judgements(benchmark.name, judge, form, run)
            found[judge] = {(one.respondent, one.item): one.label for one in labels if one.label is not None}
    return found


def _probabilities(
    benchmark: Benchmark, desk: Desk, form: Form, run: int, people: Sequence[StoredRespondent]
) -> npt.NDArray[np.float64] | None:
    """(respondents, items): the probability of being right, where any was recorded."""
    if benchmark.card.task not in ("yes_no", "choice") or benchmark.roles:
        return None
    rows = [desk.chances(benchmark, form, person, run) for person in people]
    found = np.array([[np.nan if p is None else p for p in row] for row in rows], dtype=np.float64)
    return found if np.isfinite(found).any() else None


def _judged_cells(cells: Sequence[Cell], judges: Sequence[JudgeDesk]) -> list[Cell]:
    """The administrations as the judges see them: the leading one all of them, again and by others the reference."""
    if not judges:
        return list(cells)
    lead = judges[0]
    found = [replace(cell, judge=lead.panel.label) for cell in cells]
    for cell in cells:
        if cell.form == ORIGINAL and cell.run == 0:
            found += [replace(cell, judge=named(lead.panel.label, n)) for n in lead.askings() if n]
            found += [replace(cell, judge=other.panel.label) for other in judges[1:] if other.askings()]
    return found


def _matrix(
    benchmark: Benchmark,
    desk: Desk,
    judges: Sequence[JudgeDesk],
    cell: Cell,
    form: Form,
    people: Sequence[StoredRespondent],
) -> ScoreMatrix:
    label, asking = parse_judge(cell.judge)
    for judge in judges:
        if judge.panel.label == label:
            return judge.matrix(cell, form, desk.rows(benchmark, form, people, cell.run), asking)
    return desk.matrix(benchmark, cell, form, people)


def _protocol(benchmark: Benchmark, forms: Mapping[str, Form], first: Cell, other: Cell) -> Protocol:
    data = forms[first.form].digest
    if other.form != first.form:
        data = f"{data}~{forms[other.form].digest}"
    if benchmark.card.task != "yes_no" or benchmark.roles:
        return Protocol(benchmark.label, data, benchmark.scorer)
    readers = sorted({benchmark.reader(item).name for cell in (first, other) for item in forms[cell.form].items[:50]})
    return Protocol(benchmark.label, data, benchmark.scorer.replace(benchmark.parser.name, "+".join(readers)))


def _without_chance(people: Sequence[StoredRespondent], first: ScoreMatrix, other: ScoreMatrix) -> bool:
    """Whether every respondent was greedy, or gave the same answers throughout."""
    greedy = all(person.live and person.identity.get("temperature") == 0 for person in people)
    return greedy or first.answers == other.answers


def _judged(
    benchmark: Benchmark,
    desk: Desk,
    first: ScoreMatrix,
    form: Form,
    people: Sequence[StoredRespondent],
    criterion: Path | None,
) -> list[ScoreMatrix]:
    """The reference administration as every judge beside the rule sees it."""
    found = []
    if criterion is not None:
        judgements = benchmark.read_criterion(criterion, form, first.respondents)
        desk.store.judge(benchmark.name, form.name, first.cell.run, judgements)
    for judge, form_name, run in desk.store.judged(benchmark.name):
        if RATER not in judge and (form_name, run) == (first.cell.form, first.cell.run):
            judgements = desk.store.judgements(benchmark.name, judge, form_name, run)
            found.append(labels_matrix(replace(first.cell, judge=judge), form, first.respondents, judgements))
    by_name = {person.name: person for person in people}

    def texts(name: str) -> Sequence[Response | None]:
        return desk.responses(benchmark, form, by_name[name], first.cell.run)

    found += [oracle_matrix(benchmark, first, judge, texts) for judge in benchmark.judges()]
    return found


def _assemble(
    benchmark: Benchmark,
    forms: Mapping[str, Form],
    reference: Cell,
    matrices: Mapping[Cell, ScoreMatrix],
    judged: Sequence[ScoreMatrix],
    audited: Sequence[Metric],
    people: Sequence[StoredRespondent],
    estimates: Sequence[Estimate],
) -> BenchmarkAudit:
    form, card = forms[reference.form], benchmark.card
    used = {cell.form for cell in matrices}
    return BenchmarkAudit(
        benchmark=card.name,
        title=card.title,
        version=card.version,
        task=card.task,
        scoring=benchmark.scoring,
        parser=benchmark.parser.name if card.task == "yes_no" else "",
        summary=card.summary,
        reference=str(reference),
        items=len(form),
        images=len({item.image for item in form.items if item.image}),
        metrics={m.name: {"about": m.about, "better": m.better} for m in audited},
        forms={
            name: {"items": len(one), "left_out": len(one.left_out), "rules": count_rules(one), "digest": one.digest}
            for name, one in forms.items()
            if name in used
        },
        truth_yes={name: _truth_yes(one) for name, one in forms.items() if name in used and card.task == "yes_no"},
        cells=tuple(map(str, matrices)),
        respondents=tuple(
            _respondent(benchmark, person, row, reference, matrices, judged, audited)
            for row, person in enumerate(people)
        ),
        estimates=tuple(estimates),
        coverage={one.type: {**asdict(one), "state": one.state} for one in coverage(form, card.types, card.labelled)},
        findings=tuple(finding.to_dict() for finding in lint_form(benchmark, forms["original"])),
    )


def _truth_yes(form: Form) -> float | None:
    return sum(item.target == "yes" for item in form.items) / len(form.items) if form.items else None


def _respondent(
    benchmark: Benchmark,
    person: StoredRespondent,
    row: int,
    reference: Cell,
    matrices: Mapping[Cell, ScoreMatrix],
    judged: Sequence[ScoreMatrix],
    audited: Sequence[Metric],
) -> RespondentScores:
    first = matrices[reference]
    metrics = [m for m in benchmark.metrics if not m.subset or m.subset in first.subsets]
    own = {cell: _one_row(matrix, row) for cell, matrix in matrices.items()}
    intervals = {}
    for metric in audited:
        units = first.units(metric)
        tallies = {key: values[row] for key, values in units.tallies.items()}
        found = jackknife_interval(tallies, units.clusters, partial(_metric_of, metric), share=metric.share)
        intervals[metric.name] = [finite(found.low), finite(found.high)]
    types = sorted({item.type for item in first.items if item.type})
    return RespondentScores(
        name=person.name,
        scores={m.name: finite(float(own[reference].score(m)[0])) for m in metrics},
        intervals=intervals,
        by_type={kind: _type_score(own[reference], audited[0], kind) for kind in types},
        cells={str(c): {m.name: finite(float(matrix.score(m)[0])) for m in audited} for c, matrix in own.items()},
        states={str(c): dict(matrix.state_counts()[person.name]) for c, matrix in own.items()},
        yes_ratio={str(c): finite(float(yes_ratio(matrix)[0])) for c, matrix in own.items() if "tp" in matrix.tallies},
        words={str(c): _mean(matrix.words) for c, matrix in own.items()},
        judged={str(m.cell): finite(float(_one_row(m, row).score(FAITHFUL)[0])) for m in judged},
        identity=dict(person.identity),
    )


def _metric_of(metric: Metric, sums: Mapping[str, Any]) -> Any:
    """The metric of sums that may lack a name, as an answer file without any yes lacks its counts."""
    return metric(Sums(dict(sums), *np.shape(next(iter(sums.values()), 0.0))))


def _one_row(matrix: ScoreMatrix, row: int) -> ScoreMatrix:
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
