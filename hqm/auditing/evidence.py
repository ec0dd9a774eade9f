"""What an audit looks at: one frozen value, gathered once from a benchmark, its store and files.

Both ways to it, by a rule or a judge and by people alone, gather the same fields.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from hqm.administration.asks import Asks, StoredRespondent
from hqm.administration.stops import Stopped, cluster_of, stopped_in
from hqm.administration.stored_answers import Answers, cells_in, forms_held, respondents_in
from hqm.auditing.disagreements import Example, examples, thumbnail
from hqm.auditing.frames import ANSWERS, ITEMS, analyses_of, answer_rows, frame, item_rows
from hqm.auditing.score_differences import (
    RECORDED,
    ScoreComparison,
    tool_comparisons,
    tool_matrices,
)
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.analyses import Analysis
from hqm.benchmark.findings import Finding
from hqm.benchmark.judge_api import judge_name, parse_judge
from hqm.errors import DesignError, UsageError
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
    labels_matrix,
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
from hqm.types import ORIGINAL, Cell, Form, Judgement, Response, Verdict, names_of

if TYPE_CHECKING:
    import pandas as pd


# --- stopped administrations ---

# An audit looks at the pictures that all respondents were asked, a random sample on which nothing
# is missing because of the rule. A respondent that was asked more has a further score on all of
# them, with an interval that holds whenever asking stopped.


def common_items(stopped: Stopped, form: Form) -> npt.NDArray[np.bool_]:
    """(items,): whether an item of a form is about a picture that all respondents were asked.

    Raises
    ------
    DesignError
        There is none.
    """
    # The first pictures of the order, which is random and the same for all respondents
    # (`hqm.administration.stops`).
    asked_clusters = set(stopped.order.clusters[: stopped.pictures])
    common = np.array([cluster_of(item) in asked_clusters for item in form.items])
    if not common.any():
        raise DesignError(
            "the respondents stopped before they had a picture in common",
            location=stopped.order.benchmark,
            remedy="Ask them again, with the rule or without it.",
        )
    return common


def on_common_items(stopped: Stopped, matrix: ScoreMatrix) -> ScoreMatrix:
    """An administration cut to the pictures that all respondents were asked; its cell says so."""
    form = Form(matrix.cell.form, matrix.items)
    common = common_items(stopped, form)
    items = list(compress(matrix.ids, common))
    return replace(matrix.take(matrix.respondents, items), cell=stopped_cell(stopped, matrix.cell))


def stopped_cell(stopped: Stopped, cell: Cell) -> Cell:
    """The cell of the stopped administration."""
    return replace(cell, until=stopped.label)


def stopped_rows(
    stopped: Stopped, form: Form, respondents: Sequence[StoredRespondent]
) -> dict[str, object]:
    """What `audit.json` says of it: the rule, the order's seed, the pictures used, and a row for
    each respondent.

    `inclusion` is the probability that a picture was among those asked, the same for all pictures.
    """
    total = len(stopped.order.clusters)
    n_common = int(common_items(stopped, form).sum())
    rows: list[Mapping[str, object]] = []
    for respondent in respondents:
        stop = stopped.stops.get(respondent.number)
        n_answered = stopped.n_answered[respondent.number]
        row: dict[str, object] = {
            "respondent": respondent.name,
            "pictures": n_answered,
            "inclusion": n_answered / total,
        }
        row["items"] = len(stopped.order.items(form, 0, n_answered))
        if n_answered == total:
            row["why"] = "every item was asked"
        elif stop is None:
            row["why"] = "it was not asked further, and no rule had stopped it"
        else:
            row |= {"why": stop.why, "stopped_after": stop.items}
        if stop is not None:
            row |= {"rule": stop.rule, "metric": stop.metric, "level": stop.level}
            row |= {"score": stop.score, "low": stop.low, "high": stop.high}
        rows.append(row)
    return {
        "rule": stopped.rule,
        "seed": stopped.order.seed,
        "pictures": stopped.pictures,
        "of_pictures": total,
        "items": n_common,
        "of_items": len(form.items),
        "inclusion": stopped.pictures / total,
        "respondents": rows,
    }


def _no_picture(*names: str) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that an audit of one benchmark looks at; `hqm.audit` needs nothing else.

    Parameters
    ----------
    benchmark
        What was administered.
    reference
        The administration that the others are compared with.
    forms
        Form's name -> form.
    respondents
        Who answered, in the order of the matrices' rows.
    matrices
        Administration -> the scored answers, by the rule or by a judge.
    labels
        People's labels on answers of the reference administration.
    oracles
        The reference administration as judges see it that come with the benchmark and need no
        model.
    families
        Every respondent's family.
    families_from_names
        Whether respondents are taken for relatives because of their names, not because a file says
        so.
    probabilities
        (respondents, items): the probability that an answer of the reference form is right; None
        where none was recorded.
    metrics
        The metrics to audit, the leading one first.
    findings
        All that `hqm check` finds: about card, items, labels and leaks, wordings, types, pictures.
    examples
        The items on which the reference and another administration disagree most, with what was
        said.
    margin
        The largest mean difference between two forms that does not matter, in score units, where
        one was declared.
    copies
        Picture -> the first name under which the same picture stands, where it stands under
        several.
    thumbnail
        Picture -> the picture, small, as a data URL; empty where there is none to show. Its file is
        read when it is asked for.
    """

    benchmark: Benchmark
    reference: Cell
    forms: Mapping[str, Form]
    respondents: tuple[StoredRespondent, ...]
    matrices: Mapping[Cell, ScoreMatrix]
    labels: Labels
    oracles: tuple[ScoreMatrix, ...]
    families: tuple[str, ...]
    families_from_names: bool
    probabilities: npt.NDArray[np.float64] | None
    metrics: tuple[Metric, ...]
    findings: tuple[Finding, ...]
    examples: tuple[Example, ...]
    margin: float | None = None
    tools: tuple[ScoreComparison, ...] = ()
    """Where the tools that recorded answers score them differently from HQM."""
    scored_by: str = ""
    """`recorded` where the matrices hold the tools' own scores, `people` where people's labels are
    the scores; empty where they hold the benchmark's."""
    samples: Mapping[str, PooledLabels] = field(default_factory=dict)
    """Judge -> the labels of its raters, pooled, with how the answers were chosen."""
    levels: tuple[str, ...] = ("model",)
    """Over what agreement with people is correlated: `model`, `answer`, `item`."""
    stages: tuple[StageEvidence, ...] = ()
    """Where people labelled single sub-sentences or facts: what the roles of each judge say of
    them.
    """
    copies: Mapping[str, str] = field(default_factory=dict)
    refused_parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Respondent -> the parameters that its server refused, and that were left out."""
    stopped: Mapping[str, object] = field(default_factory=dict)
    """Where a rule stopped the asking before all items (`hqm audit --until`), if one did."""
    reading: str = ""
    """What a model read that the reader left unread; empty without one."""
    analyses: tuple[Analysis, ...] = ()
    """The benchmark's own further tables, of the reference administration."""
    thumbnail: Callable[..., str] = field(default=_no_picture, repr=False, compare=False)

    @property
    def first(self) -> ScoreMatrix:
        """The scored answers of the reference administration."""
        return self.matrices[self.reference]

    def differing_in(self, facet: str) -> dict[Cell, ScoreMatrix]:
        """Return the administrations that differ from the reference in this facet alone."""
        return {
            cell: matrix
            for cell, matrix in self.matrices.items()
            if self.reference.differing(cell) == (facet,)
        }

    def to_frame(self, table: Literal["answers", "items"] = "answers") -> pd.DataFrame:
        """Return the evidence as a tidy pandas frame.

        Parameters
        ----------
        table
            `answers`: one row a respondent, administration and item, with the score (NaN where the
            answer was not scored) and the state. `items`: one row an item of the reference
            administration, with its mean score over the respondents and its correlation with the
            mean of the other items.
        """
        if table not in ("answers", "items"):
            raise UsageError(
                f"there is no table {table!r} of the evidence", remedy="It has answers and items."
            )
        name = self.benchmark.name
        if table == "items":
            return frame(item_rows(name, self.first), ITEMS)
        return frame(answer_rows(name, list(self.matrices.values())), ANSWERS)

    @cached_property
    def labelled(self) -> tuple[ScoreMatrix, ...]:
        """The reference administration as people and oracles see it."""
        return (
            *label_matrices(self.samples, self.first, self.forms[self.reference.form]),
            *self.oracles,
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
    answers = Answers(asks)
    respondents = tuple(respondents_in(asks, benchmark) if respondents is None else respondents)
    forms_by_name = forms_held(store, benchmark, forms)
    # A model should judge and none is named: people's labels are the only scores that there may be.
    if benchmark.roles and not judges and not recorded:
        return _people_evidence(
            benchmark,
            store,
            answers,
            respondents,
            forms_by_name,
            criterion=criterion,
            metrics=metrics,
            families=families,
            margin=margin,
            pool=pool,
            stale=stale,
            levels=levels,
        )
    # A rule stays the reference where there is one; judges are then compared with it.
    lead_judge = judges[0].label if judges and benchmark.roles else "rule"
    cells = _judged_cells(
        cells_in(asks, benchmark, list(forms_by_name.values()), respondents), judges, lead_judge
    )
    reference = reference or Cell(judge=lead_judge, sight=asks.sight)
    if reference not in cells:
        available = "; ".join(map(str, cells)) or "none"
        raise DesignError(
            f"the store holds no answer to {benchmark.name} in {reference} (it has: {available})"
        )
    audited_metrics = _requested_metrics(benchmark, metrics)
    matrices = _matrices(
        benchmark, answers, judges, cells, forms_by_name, respondents, recorded=recorded
    )
    # Where no tool scored the reference, the first administration that one did stands for it.
    if reference not in matrices:
        reference = next(iter(matrices))
    form = forms_by_name[reference.form]
    oracles = _oracles(benchmark, answers, matrices[reference], form, respondents)
    probabilities = None
    if not recorded:
        probabilities = _probabilities(benchmark, answers, form, reference.run, respondents)
    # A sample of pictures cuts every matrix alike, so that respondents and administrations are
    # compared over the same items.
    # A rule stops the asking of the original form alone.
    stopped = stopped_in(asks, benchmark, respondents) if reference.form == ORIGINAL else None
    stopped_detail: Mapping[str, object] = {}
    if stopped is not None:
        matrices = {
            stopped_cell(stopped, cell): on_common_items(stopped, matrix)
            for cell, matrix in matrices.items()
        }
        oracles = tuple(on_common_items(stopped, oracle) for oracle in oracles)
        reference = stopped_cell(stopped, reference)
        stopped_detail = stopped_rows(stopped, form, respondents)
        if probabilities is not None:
            probabilities = probabilities[:, common_items(stopped, form)]
    first = matrices[reference]
    check_families(families, first.respondents)
    count_stale = partial(_count_stale, answers, benchmark, form, reference.run, respondents, stale)
    labels = _labels(
        store,
        benchmark,
        form,
        reference.run,
        Path(criterion) if criterion else None,
        first.respondents,
        count_stale,
    )
    # Checked again: `_labels` checks a new file only, and stored labels may be about answers that
    # changed.
    samples = _samples(labels, pool, count_stale(labels))
    picture_files = None
    # A benchmark made from logs of answers has no picture files that could be faulty.
    if pictures and not benchmark.included_recordings:
        picture_files = pictures_of(benchmark, forms_by_name[ORIGINAL])
    other_forms = {cell.form: forms_by_name[cell.form] for cell in cells if cell.form != ORIGINAL}
    findings = findings_of(
        benchmark, forms_by_name[ORIGINAL], picture_files, forms=list(other_forms.values())
    )
    disagreements: Sequence[Example] = ()
    analyses: tuple[Analysis, ...] = ()
    read_responses = partial(answers.by_respondent, benchmark, form, respondents, reference.run)
    if not recorded:
        # An example shows how HQM read an answer, which the tool's score does not follow from.
        labelled = (*label_matrices(samples, first, form), *oracles)
        disagreements = examples(
            benchmark, answers, judges, forms_by_name, respondents, reference, matrices, labelled
        )
        analyses = analyses_of(benchmark, form, first, read_responses, labels)
    stages = _stages(benchmark, answers, judges, reference, form, respondents, labels, samples)
    tools = tool_comparisons(benchmark, answers, cells, forms_by_name, respondents)
    # At the end and in one transaction, so that a killed command loses nothing that it had stored.
    answers.keep_verdicts()
    return Evidence(
        benchmark=benchmark,
        reference=reference,
        forms=forms_by_name,
        respondents=respondents,
        matrices=matrices,
        labels=labels,
        oracles=oracles,
        families=tuple(families_of(first.respondents, families)),
        families_from_names=are_inferred_from_names(first.respondents, families),
        probabilities=probabilities,
        metrics=audited_metrics,
        findings=tuple(findings),
        examples=tuple(disagreements),
        margin=margin,
        tools=tools,
        scored_by=RECORDED if recorded else "",
        samples=samples,
        # Over models always: the gate asks for `criterion.pearson`, which is that correlation.
        levels=tuple(dict.fromkeys(("model", *levels))),
        stages=stages,
        copies=picture_files.copies if picture_files is not None else {},
        refused_parameters=_refused_parameters(
            benchmark, answers, form, reference.run, respondents
        ),
        stopped=stopped_detail,
        reading=reading_sentence(judges, form, read_responses),
        analyses=analyses,
        thumbnail=partial(_thumbnail, asks, benchmark),
    )


def _thumbnail(asks: Asks, benchmark: Benchmark, *names: str) -> str:
    return thumbnail(*(asks.file(benchmark, name)[0] for name in names))


def _refused_parameters(
    benchmark: Benchmark,
    answers: Answers,
    form: Form,
    run: int,
    respondents: Sequence[StoredRespondent],
) -> dict[str, Sequence[str]]:
    """The parameters that were left out of requests because servers refuse them, by respondent."""
    refused: dict[str, Sequence[str]] = {}
    for respondent in respondents:
        # Only servers refuse parameters; reading the details of all answers takes long.
        if respondent.identity.get("kind") != "openai":
            continue
        names: set[str] = set()
        for detail in answers.details(benchmark, form, respondent, run):
            names.update(map(str, detail.get("left_out", ())))
        if names:
            refused[respondent.name] = sorted(names)
    return refused


def _requested_metrics(benchmark: Benchmark, names: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics to audit, the leading one first: those that are named, else the card's."""
    return tuple(map(benchmark.metric, names)) or benchmark.audited


def _matrices(
    benchmark: Benchmark,
    answers: Answers,
    judges: Sequence[Judge],
    cells: Sequence[Cell],
    forms: Mapping[str, Form],
    respondents: Sequence[StoredRespondent],
    *,
    recorded: bool,
) -> dict[Cell, ScoreMatrix]:
    """Administration -> its scores; with `recorded` those of the tools in place of the rule's."""
    matrices = {}
    if recorded:
        tool_cells = [cell for cell in cells if cell.judge == "rule"]
        matrices = tool_matrices(benchmark, answers, tool_cells, forms, respondents)
        cells = [cell for cell in cells if cell not in tool_cells]
    for cell in cells:
        form = forms[cell.form]
        matrices[cell] = _matrix(benchmark, answers, judges, cell, form, respondents)
    return matrices


def _people_evidence(
    benchmark: Benchmark,
    store: Store,
    answers: Answers,
    respondents: tuple[StoredRespondent, ...],
    forms: Mapping[str, Form],
    *,
    criterion: Path | str | None,
    metrics: Sequence[str],
    families: Mapping[str, str] | None,
    margin: float | None,
    pool: Pool | None,
    stale: Stale,
    levels: Sequence[str],
) -> Evidence:
    """The evidence on a judged benchmark that no judge judged: people's labels are the scores.

    Raises
    ------
    DesignError
        People cannot replace the judge of this benchmark, or there are no labels.
    """
    form = forms[ORIGINAL]
    names = names_of(respondents)
    count_stale = partial(_count_stale, answers, benchmark, form, 0, respondents, stale)
    labels = _labels(
        store, benchmark, form, 0, Path(criterion) if criterion else None, names, count_stale
    )
    sample = _samples(labels, pool, count_stale(labels)).get(HUMAN)
    judgements = {}
    if sample is not None:
        judgements = {(label.respondent, label.item): label for label in sample.judgements}
    first = _people_matrix(benchmark, answers, form, respondents, judgements)
    check_families(families, first.respondents)
    countable = tuple(metric for metric in benchmark.metrics if _summed(metric, first))
    requested = (metric for metric in _requested_metrics(benchmark, metrics) if metric in countable)
    # A copy, since the session keeps the benchmark, with every metric, for its other audits.
    restricted = copy.copy(benchmark)
    vars(restricted)["metrics"] = countable
    return Evidence(
        benchmark=restricted,
        reference=first.cell,
        forms=forms,
        respondents=respondents,
        matrices={first.cell: first},
        # The labels are the scores here: as a criterion beside themselves they would agree in full.
        labels=Labels((), labels.files),
        oracles=(),
        families=tuple(families_of(first.respondents, families)),
        families_from_names=are_inferred_from_names(first.respondents, families),
        probabilities=None,
        metrics=tuple(requested) or countable[:1],
        findings=tuple(findings_of(benchmark, form, None)),
        examples=(),
        margin=margin,
        scored_by="people",
        analyses=analyses_of(
            benchmark,
            form,
            first,
            partial(answers.by_respondent, benchmark, form, respondents, 0),
            labels,
        ),
        levels=tuple(levels),
    )


def _people_matrix(
    benchmark: Benchmark,
    answers: Answers,
    form: Form,
    respondents: Sequence[StoredRespondent],
    judgements: Mapping[tuple[str, str], Judgement],
) -> ScoreMatrix:
    """The scores that people's labels give; (respondent, item) -> label.

    Raises
    ------
    DesignError
        People cannot replace the judge of this benchmark, or there are no labels.
    """
    builder = MatrixBuilder(
        Cell(judge=HUMAN), form, benchmark.verdict, benchmark.subsets, benchmark.groupings
    )
    unlabelled = Verdict.unscored("missing", "nobody labelled it")
    for respondent in respondents:
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
        row = answers.responses(benchmark, form, respondent, 0)
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
    benchmark: Benchmark,
    answers: Answers,
    judges: Sequence[Judge],
    reference: Cell,
    form: Form,
    respondents: Sequence[StoredRespondent],
    labels: Labels,
    samples: Mapping[str, PooledLabels],
) -> tuple[StageEvidence, ...]:
    """The stages of the judges beside people's labels of single units, where there are any."""
    units = labelled_units(benchmark, form, labels) if judges and benchmark.roles else []
    if not units:
        return ()
    responses = answers.by_answer(benchmark, form, respondents, reference.run)
    probabilities = samples[HUMAN].probabilities if HUMAN in samples else {}
    return stage_evidence(benchmark, judges, reference, units, responses, probabilities)


def label_matrices(
    samples: Mapping[str, PooledLabels], first: ScoreMatrix, form: Form
) -> list[ScoreMatrix]:
    """The labels of one administration as score matrices: people's, and each other judge's."""
    return [
        labels_matrix(
            replace(first.cell, judge=judge),
            form,
            first.respondents,
            sample.judgements,
            sample.probabilities,
        )
        for judge, sample in samples.items()
    ]


def _count_stale(
    answers: Answers,
    benchmark: Benchmark,
    form: Form,
    run: int,
    respondents: Sequence[StoredRespondent],
    stale: Stale,
    labels: Labels,
) -> int:
    """How many labels are about other words than the stored answers'; they are refused unless
    `stale` keeps them.
    """
    contexts = map(LabelContext.from_judgement, labels.judgements)
    # Labels that do not say of which words they are cannot be stale, and no answer need be read.
    if not any(context.answer_digest for context in contexts):
        return 0
    labelled = {judgement.respondent for judgement in labels.judgements}
    digests = {}
    for respondent in respondents:
        if respondent.name not in labelled:
            continue
        row = answers.responses(benchmark, form, respondent, run)
        for item, response in zip(form.items, row, strict=True):
            if response is not None:
                digests[respondent.name, item.id] = answer_digest(response)
    return check_digests(labels, digests, stale)


def _samples(labels: Labels, pool: Pool | None, n_stale: int) -> dict[str, PooledLabels]:
    """The labels of every judge, one for each answer; `n_stale` of them are about other words
    than the stored answers'.
    """
    return {judge: pool_labels(labels, judge, pool, stale=n_stale) for judge in labels.by_judge}


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
    other_judgements = [
        judgement
        for judgement in stored.judgements
        # A new file replaces the labels of its judges, `human` with all raters, and no others'.
        if judgement.judge.partition(RATER)[0] not in labels.by_judge
    ]
    return replace(labels, judgements=(*labels.judgements, *other_judgements))


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


def _matrix(
    benchmark: Benchmark,
    answers: Answers,
    judges: Sequence[Judge],
    cell: Cell,
    form: Form,
    respondents: Sequence[StoredRespondent],
) -> ScoreMatrix:
    """The answers of one administration, scored by the judge of the cell, or by the rule."""
    label, asking = parse_judge(cell.judge)
    for judge in judges:
        if judge.label == label:
            rows = answers.with_resolution(cell.resolution).by_respondent(
                benchmark, form, respondents, cell.run
            )
            return judge.matrix(cell, form, rows, asking)
    return answers.matrix(benchmark, cell, form, respondents)


def _oracles(
    benchmark: Benchmark,
    answers: Answers,
    first: ScoreMatrix,
    form: Form,
    respondents: Sequence[StoredRespondent],
) -> tuple[ScoreMatrix, ...]:
    """The reference scored anew by each rule of the adapter's `judges()`."""
    by_name = {respondent.name: respondent for respondent in respondents}

    def responses(name: str) -> Sequence[Response | None]:
        return answers.responses(benchmark, form, by_name[name], first.cell.run)

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
        verdicts = answers.verdicts(benchmark, form, judge)
        matrices.append(oracle_matrix(benchmark, first, judge, responses, verdicts))
    return tuple(matrices)


def _probabilities(
    benchmark: Benchmark,
    answers: Answers,
    form: Form,
    run: int,
    respondents: Sequence[StoredRespondent],
) -> npt.NDArray[np.float64] | None:
    """(respondents, items): the probability of each right answer; None where none was recorded."""
    # Only a closed question has a right answer of a few tokens, whose probability servers report.
    if benchmark.card.task not in ("yes_no", "choice") or benchmark.roles:
        return None
    rows = [answers.probabilities(benchmark, form, respondent, run) for respondent in respondents]
    probabilities = np.array(rows, dtype=np.float64)  # None becomes NaN
    if np.isfinite(probabilities).any():
        return probabilities
    return None
