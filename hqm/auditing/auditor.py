"""Make an audit: every comparison that the administrations of the evidence allow.

`audit()` runs the `ANALYSES`, metric by metric. They take the reference administration (the
original form, run 0, the rule) and every other one that differs from it in exactly one facet, and
ask for each how well the scores agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypedDict, TypeVar, cast

import numpy as np

from hqm.administration.asks import StoredRespondent
from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.audit_rows import FindingRow, FormRow, RespondentScores
from hqm.auditing.budget import error_budgets
from hqm.auditing.definitions import items_to_read, pair_of_each_type
from hqm.auditing.disagreements import Example
from hqm.auditing.evidence import Evidence
from hqm.auditing.score_differences import ScoreComparison
from hqm.auditing.seven_questions import add_answers
from hqm.auditing.study_records import (
    JackknifeRecord,
    jackknife_record,
    jackknife_rows,
    study_components,
)
from hqm.auditing.verdict_records import number_items, pack_verdicts
from hqm.benchmark.analyses import Analysis
from hqm.benchmark.card import Card
from hqm.benchmark.findings import Finding
from hqm.benchmark.judge_api import parse_judge
from hqm.forms.make_forms import count_modes, count_reasons, count_rules, rule_labels
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
from hqm.indicators.flags import Warned, adjust_warnings, refused_parameters
from hqm.indicators.item_coverage import CoverageRow
from hqm.labels.people_labels import FAITHFUL
from hqm.lint.answer_leaks import TYPE_NOT_MEASURABLE, UnmeasurableType, unmeasurable_types
from hqm.lint.question_checks import with_favoured_keys
from hqm.psychometrics import family_dependence, jackknife_interval, stream
from hqm.psychometrics.inference.families import FamilyDependence
from hqm.scoring.matrix import ScoreMatrix, Units, metric_of
from hqm.scoring.metrics import Array, Metric
from hqm.signature import labelled
from hqm.types import Cell, Estimate, Form, finite

_Value = TypeVar("_Value")


def _by_metric(metrics: Iterable[Metric], compute: Callable[[Metric], _Value]) -> dict[str, _Value]:
    """Return metric -> what is computed of it."""
    return {metric.name: compute(metric) for metric in metrics}


class Relatives(TypedDict):
    """The settings of a case that say how many respondents are independent."""

    n_effective: float | None
    families: tuple[str, ...]
    families_from_names: bool


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
        """The facets in which each administration differs from the reference administration."""
        return {cell: self.evidence.reference.differing(cell) for cell in self.evidence.matrices}

    def differing_in(self, facet: str) -> list[ScoreMatrix]:
        """Return the administrations that differ from the reference in this facet alone."""
        return list(self.evidence.differing_in(facet).values())

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
                # The name of the metric seeds its draws: a further metric changes no number of this
                # one.
                stream(0, f"families.{metric.name}"),
            )
            for metric in self.evidence.metrics
        }

    def relatives(self, metric: Metric) -> Relatives:
        """Return the settings of a case that say how many respondents are independent."""
        n_eff = self.dependence[metric.name].n_eff
        return Relatives(
            n_effective=finite(n_eff),
            families=self.evidence.families,
            families_from_names=self.evidence.families_from_names,
        )

    def is_leading(self, metric: Metric) -> bool:
        """Return whether it is the first metric, which has what does not depend on the metric."""
        return metric is self.evidence.metrics[0]

    def repeats(self, second: ScoreMatrix) -> bool:
        """Return whether every respondent was greedy, or gave the same answers again."""
        greedy = all(
            respondent.live and respondent.identity.get("temperature") == 0
            for respondent in self.evidence.respondents
        )
        return greedy or self.first.answers == second.answers

    def baseline_of(self, cell: Cell) -> ScoreMatrix:
        """Return what to compare an administration with: the reference, or for a repeated
        judgement the judge's first one.
        """
        label, asking = parse_judge(cell.judge)
        if not asking:
            return self.first
        return self.evidence.matrices.get(replace(cell, judge=label), self.first)

    def protocol(self, *cells: Cell) -> Protocol:
        """Return what stands in the signature of a comparison of the reference with others."""
        evidence = self.evidence
        benchmark = evidence.benchmark
        forms = evidence.forms
        # Several cells may ask one form; the signature names its data once.
        names = dict.fromkeys(cell.form for cell in (evidence.reference, *cells))
        compared = [forms[name] for name in names]
        data = "~".join(form.digest for form in compared)
        rules = "+".join(sorted(set().union(*map(rule_labels, compared))))
        protocol = Protocol(benchmark.label, data, benchmark.scorer, evidence.margin, rules)
        # A tool or people scored the answers, so the benchmark's own scorer has no place in the
        # signature.
        if evidence.scored_by:
            return replace(protocol, scorer=evidence.scored_by)
        if not benchmark.reads:
            return protocol
        # A benchmark of several tasks reads each with a reader of its own; the first items of a
        # form show its tasks.
        readers: set[str] = set()
        for form in compared:
            readers.update(benchmark.reader(item).label for item in form.items[:50])
        scorer = benchmark.scorer.replace(benchmark.parser.label, "+".join(sorted(readers)))
        return replace(protocol, scorer=scorer)


def retest(study: Study, metric: Metric) -> list[Estimate]:
    """Compare all runs of the reference form."""
    reruns = study.runs[1:]
    return compare_runs(
        study.runs,
        metric,
        study.protocol(),
        # Without reruns `all` would be true, and nothing was shown to repeat.
        deterministic=bool(reruns) and all(map(study.repeats, reruns)),
        **study.relatives(metric),
    )


def wordings(study: Study, metric: Metric) -> list[Estimate]:
    """Compare all wordings of the same questions together; a negation is no such wording."""
    first = study.first
    rewordings = [matrix for matrix in study.differing_in("form") if not is_negating(matrix, first)]
    protocol = study.protocol(*(matrix.cell for matrix in rewordings))
    return compare_forms([first, *rewordings], metric, protocol, **study.relatives(metric))


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
        runs=study.runs,
        copies=evidence.copies,
        calibration=evidence.benchmark.calibration,
    )


def expected_reliability(study: Study, metric: Metric) -> Iterable[Estimate]:
    """Compute from the probabilities of answers what reruns would show."""
    if study.evidence.probabilities is None:
        return ()
    temperatures = [
        respondent.identity.get("temperature") for respondent in study.evidence.respondents
    ]
    chances = study.evidence.probabilities
    shared_temperature, *other_temperatures = set(temperatures)
    if other_temperatures:
        # Greedy decoding repeats itself, so its probabilities say nothing about reruns.
        greedy = np.array(temperatures, dtype=object) == 0
        chances = np.where(greedy[:, None], np.nan, chances)
        shared_temperature = None
    reference_case = case(
        "expected", "", (study.first,), metric, study.protocol(), **study.relatives(metric)
    )
    return expected(reference_case, chances, shared_temperature)


def other_facets(study: Study, metric: Metric) -> Iterator[Estimate]:
    """Compare the reference with every administration that differs from it in one facet."""
    for cell, facets in study.facets.items():
        # The reference differs in no facet; where two differ at once, a difference of scores cannot
        # be put down to either.
        if len(facets) != 1:
            continue
        matrix = study.evidence.matrices[cell]
        baseline = study.baseline_of(cell)
        yield from compare(
            facets[0],
            baseline,
            matrix,
            metric,
            study.protocol(cell),
            # Runs are of the reference's judge: beside another judge's verdicts they would be of
            # other scores.
            runs=study.runs if baseline is study.first else (),
            deterministic=facets == ("run",) and study.repeats(matrix),
            **study.relatives(metric),
        )


def human_agreement(study: Study, metric: Metric) -> Iterator[Estimate]:
    """Compare the scores with every set of labels, and the people who labelled with one another."""
    evidence = study.evidence
    for label_matrix in evidence.labelled:
        protocol = study.protocol(label_matrix.cell)
        sample = evidence.samples.get(label_matrix.cell.judge)
        yield from compare(
            "judge",
            study.first,
            label_matrix,
            metric,
            protocol,
            second_metric=FAITHFUL,
            sample=sample,
            levels=evidence.levels,
            **study.relatives(metric),
        )
        # People agree or not whatever the metric is: once for all metrics.
        if study.is_leading(metric) and labelled_by(label_matrix.cell.judge) == "people":
            labels_case = case(
                "criterion", "judge", (study.first,), metric, protocol, sample=sample
            )
            yield from people_agree(labels_case, evidence.labels.by_rater)


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

    # the estimates of every metric, and what they warn of
    estimates: list[Estimate] = []
    warnings: list[Warned] = []
    for metric in evidence.metrics:
        metric_estimates: list[Estimate] = []
        for analysis in ANALYSES:
            metric_estimates += analysis(study, metric)
        reference_case = case("", "", (study.first,), metric, study.protocol())
        warnings += warn(reference_case, metric_estimates, study.dependence[metric.name])
        estimates += metric_estimates
    flags = [*adjust_warnings(warnings, estimates)]
    flags += refused_parameters(evidence.refused_parameters)
    if evidence.reading:
        flags.append(Warned("READ_WITH", "", evidence.reading, note=True))
    # After the flags: what a single role of a judge decides warns of nothing.
    estimates += stages(study)

    # what other commands calculate with, and the answers to the seven questions
    # `hqm compare` and `hqm design` read audit.json alone, so it carries what they calculate with.
    records: list[JackknifeRecord] = []
    components = {}
    for metric in evidence.metrics:
        records += _leave_one_out_records(study, metric)
        components[metric.name] = study_components(evidence, metric)
    benchmark_audit = replace(
        _assemble(evidence, estimates, flags),
        left_out=jackknife_rows(records),
        components=components,
        budget=error_budgets(evidence, estimates, study.protocol(), study.dependence),
        procedure=labelled("audit", "numbers"),
    )
    # From the audit and not from the evidence, so that an audit read from a file answers alike.
    return add_answers(benchmark_audit)


def _leave_one_out_records(study: Study, metric: Metric) -> list[JackknifeRecord]:
    """Return the scores without each picture of all runs, and of the first pair in every other
    family that is compared.
    """
    protocol = study.protocol()
    first = study.first
    pairs: list[Case] = []
    if len(study.runs) > 1:
        pairs.append(case("test_retest", "run", study.runs, metric, protocol, is_joint=True))
    for cell, matrix in study.evidence.matrices.items():
        facets = study.facets[cell]
        # Runs have one record, made of all of them together.
        if facets in (("form",), ("judge",)):
            baseline = study.baseline_of(cell)
            family = family_of(facets[0], baseline, matrix)
            pairs.append(case(family, facets[0], (baseline, matrix), metric, protocol))
    for matrix in study.evidence.labelled:
        family = family_of("judge", first, matrix)
        labels = case(family, "judge", (first, matrix), metric, protocol, second_metric=FAITHFUL)
        pairs.append(labels)
    # Of several pairs of a family the first stays, as it is put in last.
    first_by_family = {pair.family: pair for pair in reversed(pairs)}
    return list(filter(None, map(jackknife_record, first_by_family.values())))


def _assemble(
    evidence: Evidence, estimates: Sequence[Estimate], flags: Sequence[Warned]
) -> BenchmarkAudit:
    """Return the audit without what other commands calculate with."""
    benchmark = evidence.benchmark
    card = benchmark.card
    form = evidence.forms[evidence.reference.form]
    administered = {cell.form for cell in evidence.matrices}
    forms = {name: evidence.forms[name] for name in evidence.forms if name in administered}
    findings = tuple(_findings(evidence, estimates))
    # Labels too: a second opinion computes the agreement with people from them.
    matrices = (*evidence.matrices.values(), *evidence.labelled)
    numbering = number_items(matrices)
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
        # Pictures, and not the items that show them: sampling errors are over pictures.
        images=len({item.image for item in form.items if item.image}),
        metrics=_by_metric(evidence.metrics, _metric_row),
        forms={name: _form_row(forms[name], form) for name in forms},
        truth_yes=_truths(forms) if card.task == "yes_no" else {},
        cells=tuple(map(str, evidence.matrices)),
        respondents=_respondents(evidence),
        all_estimates=tuple(estimates),
        coverage=_coverage_rows(form, card),
        findings=cast("tuple[FindingRow, ...]", tuple(map(Finding.to_dict, findings))),
        flags=tuple(map(Warned.to_dict, flags)),
        families=dict(zip(evidence.first.respondents, evidence.families, strict=True)),
        examples=tuple(map(Example.to_dict, evidence.examples)),
        tools=tuple(map(ScoreComparison.to_dict, evidence.tools)),
        to_read=tuple(
            items_to_read(form, estimates, findings, evidence.metrics[0].name, evidence.thumbnail)
        ),
        shown_items=tuple(pair_of_each_type(form, evidence.thumbnail)),
        stopped=dict(evidence.stopped),
        verdicts={
            str(matrix.cell): pack_verdicts(matrix, evidence.first.respondents, numbering)
            for matrix in matrices
        },
        analyses=tuple(map(Analysis.to_dict, evidence.analyses)),
        release={"citation": card.citation, "url": card.url, "licence": card.licence},
        # Of metrics that were not audited too: each respondent's scores are kept by all of them.
        scales={metric.name: metric.ends for metric in benchmark.metrics},
    )


def _metric_row(metric: Metric) -> dict[str, object]:
    return {"about": metric.about, "better": metric.better, "scale": list(metric.ends)}


def _coverage_rows(form: Form, card: Card) -> dict[str, CoverageRow]:
    """Return type -> what the form has of it."""
    rows: dict[str, CoverageRow] = {}
    for row in coverage(form, card.types, card.labelled):
        rows[row.type] = {
            "type": row.type,
            "claimed": row.claimed,
            "items": row.items,
            "images": row.images,
            "wordings": row.wordings,
            "labelled": row.labelled,
            "state": row.state,
        }
    return rows


def _respondents(evidence: Evidence) -> tuple[RespondentScores, ...]:
    """Return what the audit says of each respondent, in the order of the matrices' rows."""
    # The units of a metric are the same for all respondents: they are made once.
    units = _by_metric(evidence.metrics, evidence.first.units)
    respondents = enumerate(evidence.respondents)
    return tuple(_respondent(evidence, units, row, respondent) for row, respondent in respondents)


def _findings(evidence: Evidence, estimates: Sequence[Estimate]) -> Iterator[Finding]:
    """Yield the findings; a type with too few items is found by its answers."""
    index = next((estimate for estimate in estimates if estimate.indicator == "types.index"), None)
    rows = () if index is None else index.detail.get("types", ())
    small_types = {}
    for row in rows:
        if row["items"] and row["state"] != "measurable" and not row["at_chance"]:
            small_types[row["type"]] = UnmeasurableType(
                row["items"], row["sem_high"], row["missing_items"], row["measured"]
            )
    # `hqm check` forecasts from the number of items which types can be measured; answers show it.
    for finding in evidence.findings:
        if not rows or finding.name != TYPE_NOT_MEASURABLE:
            yield with_favoured_keys(finding, evidence.first)
    if index is not None:
        yield from unmeasurable_types(small_types, index.detail["largest_error"])


def _form_row(form: Form, reference: Form) -> FormRow:
    return {
        "items": len(form),
        "left_out": len(form.left_out),
        "rules": count_rules(form),
        "modes": count_modes(reference, form),
        "reasons": count_reasons(form),
        "digest": form.digest,
    }


def _truths(forms: Mapping[str, Form]) -> dict[str, float | None]:
    """Return form -> the share of questions whose right answer is yes."""
    shares: dict[str, float | None] = {}
    for name, form in forms.items():
        yes = sum(item.target == "yes" for item in form.items)
        shares[name] = yes / len(form.items) if form.items else None
    return shares


def _respondent(
    evidence: Evidence, units: Mapping[str, Units], row: int, respondent: StoredRespondent
) -> RespondentScores:
    """Return what an audit says of one respondent, who stands in this row of every matrix."""
    first = evidence.first
    metrics = first.applicable(evidence.benchmark.metrics)
    types = sorted({item.type for item in first.items if item.type})
    reference = _row_of(first, row)
    cells = {}
    states = {}
    yes_ratios = {}
    words = {}
    for matrix in evidence.matrices.values():
        cell = str(matrix.cell)
        own_matrix = _row_of(matrix, row)
        cells[cell] = _scores(own_matrix, metrics)
        states[cell] = own_matrix.state_counts()[respondent.name]
        words[cell] = _mean_words(own_matrix)
        # Only scorers of yes/no answers count true and false positives.
        if "tp" in own_matrix.tallies:
            yes_ratios[cell] = _single(yes_ratio(own_matrix))
    return RespondentScores(
        name=respondent.name,
        scores=_scores(reference, metrics),
        intervals={m.name: _interval(units[m.name], row, m) for m in evidence.metrics},
        by_type={kind: _type_score(reference, evidence.metrics[0], kind) for kind in types},
        cells=cells,
        states=states,
        yes_ratio=yes_ratios,
        words=words,
        judged={
            str(matrix.cell): _score(_row_of(matrix, row), FAITHFUL) for matrix in evidence.labelled
        },
        identity=dict(respondent.identity),
        printed=_printed(reference, metrics),
    )


def _single(values: Array) -> float | None:
    """Return the number of the only respondent; None where it does not exist."""
    return finite(float(values[0]))


def _score(matrix: ScoreMatrix, metric: Metric) -> float | None:
    return _single(matrix.score(metric))


def _scores(matrix: ScoreMatrix, metrics: Sequence[Metric]) -> dict[str, float | None]:
    return {metric.name: _score(matrix, metric) for metric in metrics}


def _interval(units: Units, row: int, metric: Metric) -> list[float | None]:
    tallies = {key: values[row] for key, values in units.tallies.items()}
    # Pictures are left out and not items: answers about one picture depend on one another.
    bounds = jackknife_interval(
        tallies, units.clusters, partial(metric_of, metric), is_proportion=metric.share
    )
    return [finite(bounds.low), finite(bounds.high)]


def _printed(matrix: ScoreMatrix, metrics: Sequence[Metric]) -> dict[str, str]:
    """Return the scores as the release prints them, for metrics that it rounds."""
    printed = {}
    for metric in metrics:
        if metric.digits is not None and (score := _single(matrix.printed(metric))) is not None:
            printed[metric.name] = f"{score:.{metric.digits}f}"
    return printed


def _row_of(matrix: ScoreMatrix, row: int) -> ScoreMatrix:
    return replace(
        matrix,
        # Slices and not indices, so that the axis of respondents stays.
        respondents=(matrix.respondents[row],),
        values=matrix.values[row : row + 1],
        tallies={key: values[row : row + 1] for key, values in matrix.tallies.items()},
        states=matrix.states[row : row + 1],
        words=matrix.words[row : row + 1],
    )


def _type_score(matrix: ScoreMatrix, metric: Metric, kind: str) -> float | None:
    mask = np.array([item.type == kind for item in matrix.items])
    return _single(metric(matrix.units(metric, mask).sums))


def _mean_words(matrix: ScoreMatrix) -> float | None:
    finite_values = matrix.words[np.isfinite(matrix.words)]
    if finite_values.size:
        return float(finite_values.mean())
    return None
