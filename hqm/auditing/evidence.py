"""What an audit looks at: one frozen value, gathered once from a benchmark, its store and its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hqm.administration.answers import Answers
from hqm.administration.asks import Asks
from hqm.administration.assignment import StoredRespondent
from hqm.administration.holdings import cells_in, forms_of, parallel_put, respondents_in
from hqm.auditing.disagreements import Example, examples
from hqm.auditing.families import families_of
from hqm.benchmark.findings import Finding
from hqm.benchmark.interface import Benchmark
from hqm.benchmark.labels import RATER, labelled_by
from hqm.errors import DesignError
from hqm.judges.judging import Judging
from hqm.judges.labels import Labels, import_labels, labels_matrix, oracle_matrix, stored_labels
from hqm.judges.panel import named, parse_judge
from hqm.lint import findings_of
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Metric
from hqm.store.database import Store
from hqm.types import ORIGINAL, Cell, Form, Response


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
        The reference administration as judges see it that come with the benchmark and need no model.
    families
        Every respondent's family.
    probabilities
        (respondents, items): the probability that an answer of the reference form is right; None where none was recorded.
    metrics
        The metrics to audit, the leading one first.
    findings
        All that `hqm check` finds: about card, items, labels and leaks, wordings, types, pictures.
    examples
        The items on which the reference and another administration disagree most, with what was said.
    """

    benchmark: Benchmark
    reference: Cell
    forms: Mapping[str, Form]
    respondents: tuple[StoredRespondent, ...]
    matrices: Mapping[Cell, ScoreMatrix]
    labels: Labels
    oracles: tuple[ScoreMatrix, ...]
    families: tuple[str, ...]
    probabilities: npt.NDArray[np.float64] | None
    metrics: tuple[Metric, ...]
    findings: tuple[Finding, ...]
    examples: tuple[Example, ...]

    @property
    def first(self) -> ScoreMatrix:
        """The scored answers of the reference administration."""
        return self.matrices[self.reference]

    @cached_property
    def labelled(self) -> tuple[ScoreMatrix, ...]:
        """The reference administration as people and oracles see it."""
        return (*label_matrices(self.labels, self.first, self.forms[self.reference.form]), *self.oracles)


def gather(
    benchmark: Benchmark,
    store: Store,
    respondents: Sequence[StoredRespondent] | None = None,
    *,
    asks: Asks | None = None,
    reference: Cell | None = None,
    forms: Sequence[Form] = (),
    criterion: Path | None = None,
    metrics: Sequence[str] = (),
    judges: Sequence[Judging] = (),
    families: Mapping[str, str] | None = None,
    pictures: bool = True,
) -> Evidence:
    """Gather what a store, and the files of a benchmark, say about it.

    Parameters
    ----------
    respondents
        The respondents to compare; all that the store has unless given.
    asks
        What was asked, where it is not what an ordinary administration asks (blind).
    reference
        The administration that the others are compared with; the original form, run 0, unless given.
    forms
        Further forms, beside those that the benchmark has.
    criterion
        A file of people's labels on answers of the reference administration. They are imported into the store under the
        hash of the file, unless it is open for reading only. Without a file, the labels imported last are used.
    metrics
        The metrics to audit; the card's unless given.
    judges
        The panels that judged, for a benchmark that a model judges; the first one's verdicts are the reference.
    families
        Respondent -> family; the family of others is inferred from their names.
    pictures
        Whether the picture files are opened to look for faults, as `hqm check` does.

    Raises
    ------
    DesignError
        The store holds no answer of the reference administration by any of these respondents.
    """
    asks = asks or Asks(store)
    answers = Answers(asks)
    respondents = tuple(respondents_in(asks, benchmark) if respondents is None else respondents)
    by_name = {form.name: form for form in forms_of(benchmark, forms, parallel=parallel_put(store, benchmark))}
    cells = _judged_cells(cells_in(asks, benchmark, list(by_name.values()), respondents), judges)
    lead = judges[0].panel.label if judges else "rule"
    reference = reference or Cell(judge=lead, sight="blind" if asks.blind else "")
    if reference not in cells:
        there = "; ".join(map(str, cells)) or "none"
        raise DesignError(f"the store holds no answer to {benchmark.name} in {reference} (it has: {there})")
    chosen = tuple(benchmark.metric(name) for name in metrics) or benchmark.audited
    matrices = {cell: _matrix(benchmark, answers, judges, cell, by_name[cell.form], respondents) for cell in cells}
    first, form = matrices[reference], by_name[reference.form]
    labels = _labels(store, benchmark, form, reference.run, criterion, first.respondents)
    oracles = _oracles(benchmark, answers, first, form, respondents)
    labelled = (*label_matrices(labels, first, form), *oracles)
    return Evidence(
        benchmark=benchmark,
        reference=reference,
        forms=by_name,
        respondents=respondents,
        matrices=matrices,
        labels=labels,
        oracles=oracles,
        families=tuple(families_of(first.respondents, families)),
        probabilities=_probabilities(benchmark, answers, form, reference.run, respondents),
        metrics=chosen,
        findings=tuple(findings_of(benchmark, by_name[ORIGINAL], pictures=pictures)),
        examples=tuple(examples(benchmark, answers, judges, by_name, respondents, reference, matrices, labelled)),
    )


def label_matrices(labels: Labels, first: ScoreMatrix, form: Form) -> list[ScoreMatrix]:
    """An administration as the people see it who labelled its answers, judge by judge."""
    return [
        labels_matrix(replace(first.cell, judge=judge), form, first.respondents, judgements)
        for judge, judgements in labels.by_judge.items()
    ]


def _labels(
    store: Store, benchmark: Benchmark, form: Form, run: int, criterion: Path | None, respondents: Sequence[str]
) -> Labels:
    """The labels of a file, with those in the store by judges that the file does not have; without a file, the store's."""
    if criterion is None:
        return stored_labels(store, benchmark, form, run)
    labels = import_labels(store, benchmark, form, run, criterion, respondents)
    stored = stored_labels(store, benchmark, form, run)
    given = labels.by_judge.keys()
    others = [j for j in stored.judgements if j.judge.partition(RATER)[0] not in given]
    return replace(labels, judgements=(*labels.judgements, *others))


def _judged_cells(cells: Sequence[Cell], judges: Sequence[Judging]) -> list[Cell]:
    """The administrations as the judges see them.

    The leading judge sees all of them. Its further askings, and the other judges, are about the reference only.
    """
    if not judges:
        return list(cells)
    lead = judges[0]
    judged = [replace(cell, judge=lead.panel.label) for cell in cells]
    for cell in cells:
        if cell.form == ORIGINAL and cell.run == 0:
            judged += [replace(cell, judge=named(lead.panel.label, n)) for n in lead.askings() if n]
            judged += [replace(cell, judge=other.panel.label) for other in judges[1:] if other.askings()]
    return judged


def _matrix(
    benchmark: Benchmark,
    answers: Answers,
    judges: Sequence[Judging],
    cell: Cell,
    form: Form,
    respondents: Sequence[StoredRespondent],
) -> ScoreMatrix:
    label, asking = parse_judge(cell.judge)
    for judging in judges:
        if judging.panel.label == label:
            return judging.matrix(cell, form, answers.by_respondent(benchmark, form, respondents, cell.run), asking)
    return answers.matrix(benchmark, cell, form, respondents)


def _oracles(
    benchmark: Benchmark, answers: Answers, first: ScoreMatrix, form: Form, respondents: Sequence[StoredRespondent]
) -> tuple[ScoreMatrix, ...]:
    by_name = {respondent.name: respondent for respondent in respondents}

    def responses(name: str) -> Sequence[Response | None]:
        return answers.responses(benchmark, form, by_name[name], first.cell.run)

    for judge in benchmark.judges():
        if labelled_by(judge) == "people":
            remedy = "Rename it in `judges()` of the adapter."
            raise DesignError(f"{benchmark.name} calls a rule {judge!r}, the name of people's labels", remedy=remedy)
    return tuple(oracle_matrix(benchmark, first, judge, responses) for judge in benchmark.judges())


def _probabilities(
    benchmark: Benchmark, answers: Answers, form: Form, run: int, respondents: Sequence[StoredRespondent]
) -> npt.NDArray[np.float64] | None:
    if benchmark.card.task not in ("yes_no", "choice") or benchmark.roles:
        return None
    rows = [answers.probabilities(benchmark, form, respondent, run) for respondent in respondents]
    probabilities = np.array([[np.nan if p is None else p for p in row] for row in rows], dtype=np.float64)
    return probabilities if np.isfinite(probabilities).any() else None
