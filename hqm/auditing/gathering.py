"""The evidence of an audit, gathered from a benchmark, its store and files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hqm.administration.asks import Asks, StoredRespondent
from hqm.administration.stored_answers import Answers, cells_in, forms_held, respondents_in
from hqm.auditing.disagreements import Example, examples, thumbnail
from hqm.auditing.evidence import Evidence, label_matrices
from hqm.auditing.frames import analyses_of
from hqm.auditing.score_differences import (
    RECORDED,
    tool_comparisons,
    tool_matrices,
)
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.analyses import Analysis
from hqm.benchmark.judge_api import judge_name, parse_judge
from hqm.errors import DesignError
from hqm.extensions import ASKING, load_extension
from hqm.imports.human_labels import HUMAN, RATER, LabelContext, labelled_by
from hqm.judges.file_judge import FileJudge, Judge
from hqm.judges.reading_models import reading_sentence
from hqm.labels.people_labels import (
    Labels,
    Pool,
    PooledLabels,
    StageEvidence,
    Stale,
    answer_digest,
    check_digests,
    import_labels,
    labelled_units,
    oracle_matrix,
    pool_labels,
    stage_evidence,
    stored_labels,
)
from hqm.lint import findings_of, pictures_of
from hqm.respondents.kinds import are_inferred_from_names, check_families, families_of
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.scoring.metrics import Metric
from hqm.signature import digest
from hqm.store.database import Store
from hqm.types import CLOSED_TASKS, ORIGINAL, Cell, Form, Judgement, Response, Verdict, names_of

STOP = "stopped"
"""The key under which a store records that a rule stopped the asking of a respondent."""
ReadLabels = Callable[[Cell, Sequence[str]], tuple[Labels, dict[str, PooledLabels]]]
"""(reference administration, respondents) -> the labels, and those of every judge pooled."""


@dataclass(frozen=True, slots=True)
class _Study:
    """A benchmark with what its administrations are read from."""

    benchmark: Benchmark
    answers: Answers
    respondents: tuple[StoredRespondent, ...]
    forms: Mapping[str, Form]
    judges: Sequence[Judge]

    def form(self, cell: Cell) -> Form:
        """Return the form that was administered in a cell."""
        return self.forms[cell.form]

    def responses(self, cell: Cell) -> Mapping[str, Sequence[Response | None]]:
        """Return respondent -> its answers to all items of an administration."""
        return self.answers.by_respondent(
            self.benchmark, self.form(cell), self.respondents, cell.run
        )


class _Stopped(Protocol):
    """A stored administration that a rule ended before all items were asked."""

    def common_items(self, form: Form) -> npt.NDArray[np.bool_]:
        """(items,): whether an item of a form is about a picture that all were asked."""

    def on_common_items(self, matrix: ScoreMatrix) -> ScoreMatrix:
        """An administration cut to these items."""

    def cell(self, cell: Cell) -> Cell:
        """The cell of the stopped administration."""

    def rows(self, form: Form, respondents: Sequence[StoredRespondent]) -> Mapping[str, object]:
        """What `audit.json` says of it."""


@dataclass(frozen=True, slots=True)
class _Scores:
    """The scores of all administrations, and what belongs to those of the reference."""

    reference: Cell
    matrices: Mapping[Cell, ScoreMatrix]
    oracles: tuple[ScoreMatrix, ...]
    probabilities: npt.NDArray[np.float64] | None
    stopped: Mapping[str, object] = field(default_factory=dict)
    """Where a rule stopped the asking before all items; empty where none did."""

    @property
    def first(self) -> ScoreMatrix:
        """The scored answers of the reference administration."""
        return self.matrices[self.reference]

    def on_common_items(self, stopped: _Stopped, study: _Study) -> _Scores:
        """Return all scores cut alike to the pictures that every respondent was asked, so that
        respondents and administrations are compared over the same items.
        """
        form = study.form(self.reference)
        probabilities = self.probabilities
        if probabilities is not None:
            probabilities = probabilities[:, stopped.common_items(form)]
        return _Scores(
            reference=stopped.cell(self.reference),
            matrices={
                stopped.cell(cell): stopped.on_common_items(matrix)
                for cell, matrix in self.matrices.items()
            },
            oracles=tuple(map(stopped.on_common_items, self.oracles)),
            probabilities=probabilities,
            stopped=stopped.rows(form, study.respondents),
        )


def gather(
    benchmark: Benchmark,
    store: Store,
    respondents: Sequence[StoredRespondent] | None = None,
    *,
    asks: Asks | None = None,
    reference: Cell | None = None,
    forms: Sequence[Form] = (),
    criterion: Path | str | None = None,
    metrics: Sequence[str] = (),
    judges: Sequence[Judge] = (),
    families: Mapping[str, str] | None = None,
    margin: float | None = None,
    pictures: bool = True,
    recorded: bool = False,
    pool: Pool | None = None,
    stale: Stale = "refuse",
    levels: Sequence[str] = ("model",),
) -> Evidence:
    """Gather what a store, and the files of a benchmark, say about it.

    Parameters
    ----------
    respondents
        The respondents to compare; all that the store has unless given.
    asks
        What was asked, where it is not what an ordinary administration asks (blind).
    reference, forms
        What others are compared with (original, run 0, unless given), and further forms.
    criterion
        A file of people's labels on answers of the reference administration, imported into the
        store; without it, the labels imported last are used.
    metrics
        The metrics to audit; the card's unless given.
    judges
        Panels of models, and judges whose judgements came in files. Where a model judges the
        benchmark, the first one's verdicts are the reference.
    families
        Respondent -> family; the family of others is inferred from their names.
    margin
        The largest mean difference between forms that does not matter, in score units.
    pictures
        Whether picture files are searched for faults, as `hqm check` does.
    recorded
        Take the scores that other tools recorded with the answers, not the benchmark's.
    pool
        How several raters' labels become one; by majority of 0 or 1, else by their mean.
    stale
        What to do with labels of another answer than the stored one: `refuse` or `keep`.
    levels
        Over what agreement with people is correlated: `model`, `answer`, `item`.

    Returns
    -------
    Evidence
        The score matrices of all administrations, labels, and what belongs to them.

    Raises
    ------
    DesignError
        The store holds no answer of the reference administration by any of these respondents.
    """
    # A benchmark made from a log with scores has no rule of its own that could score.
    recorded = recorded or benchmark.tool_scored
    asks = asks or Asks(store)
    study = _Study(
        benchmark,
        Answers(asks),
        tuple(respondents_in(asks, benchmark) if respondents is None else respondents),
        forms_held(store, benchmark, forms),
        judges,
    )
    read_labels = partial(_read_labels, study, store, criterion, pool, stale)
    # A model should judge and none is named: people's labels are the only scores that there may be.
    if benchmark.roles and not judges and not recorded:
        evidence = _people_evidence(study, read_labels, metrics)
        check_families(families, evidence.first.respondents)
        return replace(
            evidence,
            families=tuple(families_of(evidence.first.respondents, families)),
            families_from_names=are_inferred_from_names(evidence.first.respondents, families),
            margin=margin,
            levels=tuple(levels),
        )
    cells, reference = _administrations(study, asks, reference)
    audited_metrics = _requested_metrics(benchmark, metrics)
    scores = _scores(study, asks, cells, reference, recorded=recorded)
    check_families(families, scores.first.respondents)
    labels, samples = read_labels(scores.reference, scores.first.respondents)
    picture_files = None
    # A benchmark made from logs of answers has no picture files that could be faulty.
    if pictures and not benchmark.included_recordings:
        picture_files = pictures_of(benchmark, study.forms[ORIGINAL])
    other_forms = {cell.form: study.form(cell) for cell in cells if cell.form != ORIGINAL}
    findings = findings_of(
        benchmark, study.forms[ORIGINAL], picture_files, forms=list(other_forms.values())
    )
    form = study.form(scores.reference)
    read_responses = partial(study.responses, scores.reference)
    disagreements: Sequence[Example] = ()
    analyses: tuple[Analysis, ...] = ()
    if not recorded:
        # An example shows how HQM read an answer, which the tool's score does not follow from.
        disagreements = _examples(study, scores, samples)
        analyses = analyses_of(benchmark, form, scores.first, read_responses, labels)
    evidence = Evidence(
        benchmark=benchmark,
        reference=scores.reference,
        forms=study.forms,
        respondents=study.respondents,
        matrices=scores.matrices,
        labels=labels,
        oracles=scores.oracles,
        families=tuple(families_of(scores.first.respondents, families)),
        families_from_names=are_inferred_from_names(scores.first.respondents, families),
        probabilities=scores.probabilities,
        metrics=audited_metrics,
        findings=tuple(findings),
        examples=tuple(disagreements),
        margin=margin,
        tools=tool_comparisons(benchmark, study.answers, cells, study.forms, study.respondents),
        scored_by=RECORDED if recorded else "",
        samples=samples,
        # Over models always: the gate asks for `criterion.pearson`, which is that correlation.
        levels=tuple(dict.fromkeys(("model", *levels))),
        stages=_stages(study, scores.reference, labels, samples),
        copies=picture_files.copies if picture_files is not None else {},
        refused_parameters=_refused_parameters(study, scores.reference),
        stopped=scores.stopped,
        reading=reading_sentence(judges, form, read_responses),
        analyses=analyses,
        thumbnail=partial(_thumbnail, asks, benchmark),
    )
    # At the end and in one transaction, so that a killed command loses nothing that it had stored.
    study.answers.keep_verdicts()
    return evidence


def _thumbnail(asks: Asks, benchmark: Benchmark, *names: str) -> str:
    return thumbnail(*(asks.file(benchmark, name)[0] for name in names))


# --- scores ---


def _administrations(study: _Study, asks: Asks, reference: Cell | None) -> tuple[list[Cell], Cell]:
    """The administrations that are stored, by the judges that the audit looks at, and the
    reference among them.

    Raises
    ------
    DesignError
        Nothing of the reference is stored.
    """
    benchmark = study.benchmark
    # A rule stays the reference where there is one; judges are then compared with it.
    lead_judge = study.judges[0].label if study.judges and benchmark.roles else "rule"
    stored = cells_in(asks, benchmark, list(study.forms.values()), study.respondents)
    cells = _judged_cells(stored, study.judges, lead_judge)
    reference = reference or Cell(judge=lead_judge, sight=asks.sight)
    if reference not in cells:
        available = "; ".join(map(str, cells)) or "none"
        raise DesignError(
            f"the store holds no answer to {benchmark.name} in {reference} (it has: {available})"
        )
    return cells, reference


def _scores(
    study: _Study, asks: Asks, cells: Sequence[Cell], reference: Cell, *, recorded: bool
) -> _Scores:
    """The scores of these administrations; with `recorded` those of the tools."""
    matrices = _matrices(study, cells, recorded=recorded)
    # Where no tool scored the reference, the first administration that one did stands for it.
    if reference not in matrices:
        reference = next(iter(matrices))
    scores = _Scores(
        reference,
        matrices,
        _oracles(study, matrices[reference]),
        None if recorded else _probabilities(study, reference),
    )
    # A rule stops the asking of the original form alone.
    stopped = None
    if reference.form == ORIGINAL:
        stopped = _stopped(study, asks)
    return scores if stopped is None else scores.on_common_items(stopped, study)


def _stopped(study: _Study, asks: Asks) -> _Stopped | None:
    """The stopped administration of the original form; None if no respondent stopped early."""
    stops = (record.get(STOP) for record in asks.store.records())
    name = study.benchmark.name
    if not any(isinstance(stop, Mapping) and stop["benchmark"] == name for stop in stops):
        return None
    extension = load_extension(ASKING, "--until", "an option")
    stopped: _Stopped | None = extension.stopped_in(asks, study.benchmark, study.respondents)
    return stopped


def _judged_cells(cells: Sequence[Cell], judges: Sequence[Judge], lead_judge: str) -> list[Cell]:
    """The cells of an audit: each administration by the leading judge or the rule, and the
    reference by repeated and by other judgements.

    Another judge is asked once; only one whose judgements came in files has further askings.
    """
    by_label = {judge.label: judge for judge in judges}
    judged = []
    for cell in cells:
        lead_cell = replace(cell, judge=lead_judge)
        # A rule is in no list of judges, and scores every administration.
        if lead_judge not in by_label or by_label[lead_judge].covers(lead_cell):
            judged.append(lead_cell)
    for cell in cells:
        # Judges are compared on the reference alone: another form would differ in two facets.
        if cell.form != ORIGINAL or cell.run or cell.resolution:
            continue
        for label, judge in by_label.items():
            askings = list(judge.askings())
            if label == lead_judge:
                askings = list(filter(None, askings))  # its first one is there already
            elif askings and not isinstance(judge, FileJudge):
                askings = [0]
            repeated = [replace(cell, judge=judge_name(label, number)) for number in askings]
            judged += filter(judge.covers, repeated)
    return judged


def _matrices(study: _Study, cells: Sequence[Cell], *, recorded: bool) -> dict[Cell, ScoreMatrix]:
    """Administration -> its scores; with `recorded` those of the tools in place of the rule's."""
    matrices: dict[Cell, ScoreMatrix] = {}
    if recorded:
        tool_cells = [cell for cell in cells if cell.judge == "rule"]
        matrices = tool_matrices(
            study.benchmark, study.answers, tool_cells, study.forms, study.respondents
        )
        cells = [cell for cell in cells if cell not in tool_cells]
    for cell in cells:
        matrices[cell] = _matrix(study, cell)
    return matrices


def _matrix(study: _Study, cell: Cell) -> ScoreMatrix:
    """The answers of one administration, scored by the judge of the cell, or by the rule."""
    form = study.form(cell)
    label, asking = parse_judge(cell.judge)
    for judge in study.judges:
        if judge.label == label:
            rows = study.answers.with_resolution(cell.resolution).by_respondent(
                study.benchmark, form, study.respondents, cell.run
            )
            return judge.matrix(cell, form, rows, asking)
    return study.answers.matrix(study.benchmark, cell, form, study.respondents)


def _oracles(study: _Study, first: ScoreMatrix) -> tuple[ScoreMatrix, ...]:
    """The reference scored anew by each rule of the adapter's `judges()`."""
    benchmark = study.benchmark
    form = study.form(first.cell)
    by_name = {respondent.name: respondent for respondent in study.respondents}

    def responses(name: str) -> Sequence[Response | None]:
        return study.answers.responses(benchmark, form, by_name[name], first.cell.run)

    for judge in benchmark.judges():
        # Who labelled is read from the judge's name alone: an oracle called `human` would count as
        # validity.
        if labelled_by(judge) == "people":
            raise DesignError(
                f"{benchmark.name} calls a rule {judge!r}, the name of people's labels",
                remedy="Rename it in `judges()` of the adapter.",
            )
    matrices = []
    for judge in benchmark.judges():
        verdicts = study.answers.verdicts(benchmark, form, judge)
        matrices.append(oracle_matrix(benchmark, first, judge, responses, verdicts))
    return tuple(matrices)


def _probabilities(study: _Study, reference: Cell) -> npt.NDArray[np.float64] | None:
    """(respondents, items): the probability of each right answer; None where none was recorded."""
    benchmark = study.benchmark
    # Only a closed question has a right answer of a few tokens, whose probability servers report.
    if benchmark.card.task not in CLOSED_TASKS or benchmark.roles:
        return None
    form = study.form(reference)
    rows = [
        study.answers.probabilities(benchmark, form, respondent, reference.run)
        for respondent in study.respondents
    ]
    probabilities = np.array(rows, dtype=np.float64)  # None becomes NaN
    if np.isfinite(probabilities).any():
        return probabilities
    return None


def _refused_parameters(study: _Study, reference: Cell) -> dict[str, Sequence[str]]:
    """The parameters that were left out of requests because servers refuse them, by respondent."""
    form = study.form(reference)
    refused: dict[str, Sequence[str]] = {}
    for respondent in study.respondents:
        # Only servers refuse parameters; reading the details of all answers takes long.
        if respondent.identity.get("kind") != "openai":
            continue
        names: set[str] = set()
        for detail in study.answers.details(study.benchmark, form, respondent, reference.run):
            names.update(map(str, detail.get("left_out", ())))
        if names:
            refused[respondent.name] = sorted(names)
    return refused


def _examples(
    study: _Study, scores: _Scores, samples: Mapping[str, PooledLabels]
) -> Sequence[Example]:
    """The items on which the reference and another administration or judge disagree most."""
    form = study.form(scores.reference)
    return examples(
        study.benchmark,
        study.answers,
        study.judges,
        study.forms,
        study.respondents,
        scores.reference,
        scores.matrices,
        (*label_matrices(samples, scores.first, form), *scores.oracles),
    )


def _requested_metrics(benchmark: Benchmark, names: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics to audit, the leading one first: those that are named, else the card's."""
    return tuple(map(benchmark.metric, names)) or benchmark.audited


# --- people ---


def _people_evidence(study: _Study, read_labels: ReadLabels, metrics: Sequence[str]) -> Evidence:
    """The evidence on a judged benchmark that no judge judged: people's labels are the scores.

    Raises
    ------
    DesignError
        People cannot replace the judge of this benchmark, or there are no labels.
    """
    benchmark = study.benchmark
    form = study.forms[ORIGINAL]
    labels, samples = read_labels(Cell(), names_of(study.respondents))
    judgements = {}
    if HUMAN in samples:
        judgements = {(label.respondent, label.item): label for label in samples[HUMAN].judgements}
    first = _people_matrix(study, form, judgements)
    countable = tuple(metric for metric in benchmark.metrics if _summed(metric, first))
    requested = (metric for metric in _requested_metrics(benchmark, metrics) if metric in countable)
    # A copy, since the session keeps the benchmark, with every metric, for its other audits.
    restricted = copy.copy(benchmark)
    vars(restricted)["metrics"] = countable
    return Evidence(
        benchmark=restricted,
        reference=first.cell,
        forms=study.forms,
        respondents=study.respondents,
        matrices={first.cell: first},
        # The labels are the scores here: as a criterion beside themselves they would agree in full.
        labels=Labels((), labels.files),
        oracles=(),
        families=(),
        families_from_names=False,
        probabilities=None,
        metrics=tuple(requested) or countable[:1],
        findings=tuple(findings_of(benchmark, form, None)),
        examples=(),
        scored_by="people",
        analyses=analyses_of(benchmark, form, first, partial(study.responses, first.cell), labels),
    )


def _people_matrix(
    study: _Study,
    form: Form,
    judgements: Mapping[tuple[str, str], Judgement],
) -> ScoreMatrix:
    """The scores that people's labels give; (respondent, item) -> label.

    Raises
    ------
    DesignError
        People cannot replace the judge of this benchmark, or there are no labels.
    """
    benchmark = study.benchmark
    builder = MatrixBuilder(
        Cell(judge=HUMAN), form, benchmark.verdict, benchmark.subsets, benchmark.groupings
    )
    unlabelled = Verdict.unscored("missing", "nobody labelled it")
    for respondent in study.respondents:
        # Labels take the place of a judge as a whole: a single answer that a label cannot score
        # refuses all.
        verdicts = []
        for item in form.items:
            judgement = judgements.get((respondent.name, item.id))
            verdict: Verdict | None = unlabelled
            if judgement is not None:
                verdict = benchmark.verdict_of_people(item, judgement)
            if verdict is not None:
                verdicts.append(verdict)
        if len(verdicts) < len(form.items) or not judgements:
            raise DesignError(
                (
                    f"the answers to {benchmark.name} are judged by a model, none is named, and no"
                    " label of people replaces it"
                ),
                remedy="Name one with --judge, or bring judgements with --judgements.",
            )
        row = study.answers.responses(benchmark, form, respondent, 0)
        builder.add_verdicts(respondent.name, row, verdicts)
    rows = [[j.respondent, j.item, j.label] for j in judgements.values() if j.label is not None]
    return builder.build(digest(sorted(rows)))


def _summed(metric: Metric, matrix: ScoreMatrix) -> bool:
    """Whether the tallies of a matrix have all that a metric sums, and any answer to sum it
    over.
    """
    try:
        # A trial on one answer: labels have fewer tallies than a judge, and a missing one is a
        # KeyError.
        metric.of(dict.fromkeys(matrix.tallies, np.ones(1)))
    except KeyError:
        return False
    return bool(np.isfinite(matrix.score(metric)).any())


def _stages(
    study: _Study, reference: Cell, labels: Labels, samples: Mapping[str, PooledLabels]
) -> tuple[StageEvidence, ...]:
    """The stages of the judges beside people's labels of single units, where there are any."""
    benchmark = study.benchmark
    if not study.judges or not benchmark.roles:
        return ()
    form = study.form(reference)
    units = labelled_units(benchmark, form, labels)
    if not units:
        return ()
    responses = study.answers.by_answer(benchmark, form, study.respondents, reference.run)
    probabilities = samples[HUMAN].probabilities if HUMAN in samples else {}
    return stage_evidence(benchmark, study.judges, reference, units, responses, probabilities)


def _read_labels(
    study: _Study,
    store: Store,
    criterion: Path | str | None,
    pool: Pool | None,
    stale: Stale,
    reference: Cell,
    respondents: Sequence[str],
) -> tuple[Labels, dict[str, PooledLabels]]:
    """The labels of the reference administration, and those of every judge pooled, one for each
    answer.
    """
    form = study.form(reference)
    count_stale = partial(_count_stale, study, reference, stale)
    path = Path(criterion) if criterion else None
    labels = _labels(store, study.benchmark, form, reference.run, path, respondents, count_stale)
    # Checked again: `_labels` checks a new file only, and stored labels may be about answers that
    # changed.
    n_stale = count_stale(labels)
    samples = {judge: pool_labels(labels, judge, pool, stale=n_stale) for judge in labels.by_judge}
    return labels, samples


def _count_stale(study: _Study, reference: Cell, stale: Stale, labels: Labels) -> int:
    """How many labels are about other words than the stored answers'; they are refused unless
    `stale` keeps them.
    """
    contexts = map(LabelContext.from_judgement, labels.judgements)
    # Labels that do not say of which words they are cannot be stale, and no answer need be read.
    if not any(context.answer_digest for context in contexts):
        return 0
    labelled = {judgement.respondent for judgement in labels.judgements}
    respondents = [r for r in study.respondents if r.name in labelled]
    form = study.form(reference)
    answers = study.answers.by_answer(study.benchmark, form, respondents, reference.run)
    digests = {key: answer_digest(response) for key, response in answers.items()}
    return check_digests(labels, digests, stale)


def _labels(
    store: Store,
    benchmark: Benchmark,
    form: Form,
    run: int,
    criterion: Path | None,
    respondents: Sequence[str],
    check: Callable[[Labels], object],
) -> Labels:
    """The labels of a file, with those in the store by judges that the file does not have; without
    a file, the store's.
    """
    if criterion is None:
        return stored_labels(store, benchmark, form, run)
    labels = import_labels(store, benchmark, form, run, criterion, respondents, check)
    stored = stored_labels(store, benchmark, form, run)
    judges = labels.by_judge.keys()
    other_judgements = [
        judgement
        for judgement in stored.judgements
        # A new file replaces the labels of its judges, `human` with all raters, and no others'.
        if judgement.judge.partition(RATER)[0] not in judges
    ]
    return replace(labels, judgements=(*labels.judgements, *other_judgements))
