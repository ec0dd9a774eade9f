"""Pooling raters' labels into one label per answer, and checking which words they are about."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AskJudge, Stage
from hqm.errors import AnswerError, UsageError
from hqm.imports.human_labels import ADJUDICATION, HUMAN, RATER, LabelContext
from hqm.judges.file_judge import FILE_JUDGE_PREFIX, FileJudge, Judge
from hqm.judges.judge_models import Judging
from hqm.judges.procedure import NotAsked, Unit, decisions, verdicts
from hqm.psychometrics import Array, pooled_labels, rater_replicates, stream
from hqm.psychometrics.agreement.raters import Pool as Rule
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.scoring.metrics import Metric, mean_of
from hqm.scoring.score_cache import VerdictCache
from hqm.signature import digest, digest_file
from hqm.store.database import Store
from hqm.types import ORIGINAL, Cell, Form, Item, Judgement, Response, Verdict, finite

Pool = Literal["majority", "mean", "dawid-skene", "adjudicated"]
POOLS: tuple[Pool, ...] = get_args(Pool)
Stale = Literal["refuse", "keep"]
STALES: tuple[Stale, ...] = get_args(Stale)
STAGE = "stage"
LEVELS = ("model", "answer", "item", STAGE)
"""Over what agreement with people is looked at: respondents' scores, single answers, items' means,
or a judge's single decisions.
"""
_REPLICATES = 200


def answer_digest(response: Response) -> str:
    """Return the content hash of an answer, so that a label belongs to these words only.

    >>> answer_digest(Response("Yes.")) == answer_digest(Response("Yes!"))
    False
    """
    return digest(response.text)


@dataclass(frozen=True, kw_only=True)
class PooledLabels:
    """The pooled labels of one judge, with what their statistics need.

    Parameters
    ----------
    judgements
        One label an answer; None where the raters did not settle it.
    pool
        How several raters' labels became one; empty where every answer has the label of one
        nameless rater.
    raters
        Rater -> (respondent, item) -> label, as they were given.
    probabilities
        (respondent, item) -> with which probability the answer was chosen for labelling; empty
        where no label says so.
    replicates
        (replicates, answers): the labels as other raters might have left them, in the order of
        `judgements`; None with a single rater.
    unresolved
        Answers on which the raters did not agree and nobody decided.
    adjudicated
        Answers whose label is an adjudication.
    added
        Labels without a probability among labels that have one, such as gold items: they are left
        out of every estimate.
    stale
        Labels about other words than the stored answer's, which were kept all the same.
    schemas
        What the raters were asked.
    """

    judgements: tuple[Judgement, ...]
    pool: str = ""
    raters: Mapping[str, Mapping[tuple[str, str], float]] = field(default_factory=dict)
    probabilities: Mapping[tuple[str, str], float] = field(default_factory=dict)
    replicates: Array | None = None
    unresolved: int = 0
    adjudicated: int = 0
    added: int = 0
    stale: int = 0
    schemas: tuple[str, ...] = ()

    @property
    def by_one_rater(self) -> int:
        """The number of answers that a single rater labelled."""
        counts = Counter(chain.from_iterable(self.raters.values()))
        return list(counts.values()).count(1)


def check_digests(
    labels: Labels, digests: Mapping[tuple[str, str], str], stale: Stale = "refuse"
) -> int:
    """Count the labels of other answers than the stored ones, by the digest of the answer.

    `digests` is (respondent, item) -> digest of the stored answer. Labels that do not say which
    answer they are about are taken as they are.

    Raises
    ------
    AnswerError
        There is such a label, and `stale` does not keep it.
    """
    different = 0
    for judgement in labels.judgements:
        digest = LabelContext.from_judgement(judgement).answer_digest
        stored = digests.get((judgement.respondent, judgement.item))
        if digest and stored and digest != stored:
            # An answer that several raters labelled counts once, by their pooled label.
            different += RATER not in judgement.judge
            if stale == "refuse":
                raise AnswerError(
                    f"the label of item {judgement.item!r} by {judgement.respondent} is about"
                    f" another answer ({digest}) than the one that is stored ({stored})",
                    remedy=(
                        "Label the new answers, or keep such labels, flagged, with --set"
                        " stale=keep."
                    ),
                )
    return different


def pool_labels(
    labels: Labels, judge: str, pool: Pool | None = None, *, stale: int = 0
) -> PooledLabels:
    """Pool the labels of one judge into one label per answer.

    Without `pool`, labels of 0 and 1 are pooled by majority, others by their mean. An adjudicated
    answer has the label that was decided, however the others are pooled, unless `pool` is `mean`.
    With `adjudicated`, answers whose raters differ and which nobody adjudicated stay unresolved.

    Raises
    ------
    UsageError
        There is no such pooling, or it needs labels of 0 and 1 or an adjudication, and there are
        none.
    """
    if pool is not None and pool not in POOLS:
        raise UsageError(
            f"labels cannot be pooled by {pool!r}",
            remedy=f"There are {', '.join(POOLS)}.",
            name=pool,
            choices=POOLS,
        )
    # `human` and `human:anna` are labels of one judge: the first pooled, the second a rater's own.
    judge_labels = [j for j in labels.judgements if j.judge.partition(RATER)[0] == judge]
    answer_labels = [j for j in judge_labels if RATER not in j.judge]
    contexts = list(map(LabelContext.from_judgement, judge_labels))
    probabilities = _probabilities(judge_labels, contexts)
    n_added = 0
    if probabilities:
        n_added = sum(_answer_of(label) not in probabilities for label in answer_labels)
    unpooled = PooledLabels(
        judgements=tuple(answer_labels),
        probabilities=probabilities,
        added=n_added,
        stale=stale,
        schemas=tuple(sorted({context.schema for context in contexts} - {""})),
    )
    # A rater who decided nothing has no labels to pool.
    raters = {
        name: rater_labels
        for name, rater_labels in labels.by_rater.items()
        if rater_labels and name.partition(RATER)[0] == judge
    }
    if not raters:
        return unpooled
    adjudicator = f"{judge}{RATER}{ADJUDICATION}"
    adjudicated = {_answer_of(j): j.label for j in judge_labels if j.judge == adjudicator}
    return _pool_raters(unpooled, raters, adjudicated, pool)


def _pool_raters(
    unpooled: PooledLabels,
    raters: Mapping[str, Mapping[tuple[str, str], float]],
    adjudicated: Mapping[tuple[str, str], float | None],
    pool: Pool | None,
) -> PooledLabels:
    """Return the sample with the labels that its raters' labels pool to."""
    answers = list(map(_answer_of, unpooled.judgements))
    # (raters, answers): NaN where a rater did not label the answer
    table = np.full((len(raters), len(answers)), np.nan)
    for row, labels in enumerate(raters.values()):
        for column, answer in enumerate(answers):
            table[row, column] = labels.get(answer, np.nan)
    rule = _pooling_rule(table, pool, has_adjudications=bool(adjudicated))
    pooled = pooled_labels(table, rule)
    # Where all raters gave one label the mean is that label, of whatever scale.
    if pool == "adjudicated":
        pooled = np.where(_are_unanimous(table), pooled_labels(table, "mean"), np.nan)
    replicates = None
    # One rater might have been another, but one rater's labels do not say how another's differ.
    if len(raters) > 1:
        # A fixed seed: the pooled labels, and their replicates, belong to the labels and not to a
        # command.
        rng = stream(0, "raters")
        replicates = rater_replicates(table, rule, rng, replicates=_REPLICATES)
    if pool != "mean":
        _settle(pooled, replicates, answers, adjudicated)
    if replicates is not None:
        # An answer without a pooled label is missing from every replicate, so that all are over the
        # same answers.
        replicates = np.where(np.isfinite(pooled), replicates, np.nan)
    # An answer that no rater could decide is missing, and not unresolved.
    labelled = np.isfinite(table).any(axis=0)
    judgements = []
    for judgement, label in zip(unpooled.judgements, pooled.tolist(), strict=True):
        judgements.append(replace(judgement, label=finite(label)))
    return replace(
        unpooled,
        judgements=tuple(judgements),
        pool=pool or rule,
        raters=raters,
        replicates=replicates,
        unresolved=int((labelled & ~np.isfinite(pooled)).sum()),
        adjudicated=len(adjudicated),
    )


def _answer_of(judgement: Judgement) -> tuple[str, str]:
    """Return the respondent and the item of a label."""
    return judgement.respondent, judgement.item


def _pooling_rule(table: Array, pool: Pool | None, *, has_adjudications: bool) -> Rule:
    """Return the rule by which answers that nobody adjudicated are pooled.

    Raises
    ------
    UsageError
        The labels are not such as the pooling needs.
    """
    is_binary = bool(np.isin(table[np.isfinite(table)], (0, 1)).all())
    if pool == "dawid-skene" and not is_binary:
        raise UsageError(
            "Dawid and Skene's model needs labels of 0 and 1",
            remedy="Pool by --set pool=mean or majority.",
        )
    if pool == "adjudicated" and not has_adjudications and not _are_unanimous(table).all():
        raise UsageError(
            "nobody adjudicated the labels on which raters differ",
            remedy=(
                "Settle the disagreements on the page of the study's owner (`hqm label serve`), or"
                " pool by majority."
            ),
        )
    if pool is not None and pool != "adjudicated":
        return pool
    if is_binary:
        return "majority"
    return "mean"


def _settle(
    pooled: Array,
    replicates: Array | None,
    answers: Sequence[tuple[str, str]],
    adjudicated: Mapping[tuple[str, str], float | None],
) -> None:
    """Overwrite the pooled labels of adjudicated answers, and their replicates, in place."""
    for column, answer in enumerate(answers):
        if answer in adjudicated:
            label = adjudicated[answer]
            pooled[column] = np.nan if label is None else label
            # an adjudication does not depend on which raters labelled
            if replicates is not None:
                replicates[:, column] = pooled[column]


def _are_unanimous(table: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """(answers,): whether all raters of an answer gave one label."""
    rated = np.isfinite(table)
    # Where nobody labelled, inf is above -inf: such answers are no disagreement.
    low = np.where(rated, table, np.inf).min(axis=0)
    high = np.where(rated, table, -np.inf).max(axis=0)
    return np.asarray(low >= high)


def _probabilities(
    judgements: Sequence[Judgement], contexts: Sequence[LabelContext]
) -> dict[tuple[str, str], float]:
    """(respondent, item) -> the probability that its labels say.

    Raises
    ------
    AnswerError
        Two labels of one answer say different probabilities.
    """
    probabilities: dict[tuple[str, str], float] = {}
    for judgement, context in zip(judgements, contexts, strict=True):
        answer = (judgement.respondent, judgement.item)
        probability = context.probability
        if (
            probability is not None
            # Written as text and read again, one probability may differ in its last digits.
            and abs(probabilities.setdefault(answer, probability) - probability) > 1e-9
        ):
            raise AnswerError(
                (
                    f"the labels of item {judgement.item!r} by {judgement.respondent} have the"
                    f" probabilities {probabilities[answer]} and {probability}"
                ),
                remedy="Keep the one of the plan.",
            )
    return probabilities


# --- labels in files and in the store, and the score matrices that they make ---


FAITHFUL = Metric(
    "faithful",
    mean_of("faithful"),
    share=True,
    about="Share of answers that the judge found faithful.",
)
"""The metric of every judge that labels answers: 1 = faithful, 0 = hallucinated."""

_IMPORTED_JUDGE = re.compile(r"(?P<judge>.*)@(?P<file>b2:[0-9a-f]{24})", re.DOTALL)
"""A judge's name in the store: what the labels call it, and the hash of the file that they were
imported from.
"""


@dataclass(frozen=True, slots=True)
class Labels:
    """People's labels on the answers of one administration."""

    judgements: tuple[Judgement, ...] = ()
    files: tuple[str, ...] = ()
    """The hashes of the files that they come from; labels that older versions of HQM stored have
    none.
    """

    @property
    def by_judge(self) -> dict[str, list[Judgement]]:
        """Group labels by judge; several raters of an answer are one judge, with their mean."""
        by_judge: dict[str, list[Judgement]] = {}
        for judgement in self.judgements:
            if RATER not in judgement.judge:
                by_judge.setdefault(judgement.judge, []).append(judgement)
        return by_judge

    @property
    def by_rater(self) -> dict[str, Mapping[tuple[str, str], float]]:
        """Return rater -> (respondent, item) -> label, for raters with labels of their own."""
        by_rater: dict[str, dict[tuple[str, str], float]] = {}
        for judgement in self.judgements:
            if RATER in judgement.judge and not _is_adjudication(judgement):
                decided = by_rater.setdefault(judgement.judge, {})
                if judgement.label is not None:
                    decided[judgement.respondent, judgement.item] = judgement.label
        return dict(sorted(by_rater.items()))


def import_labels(
    store: Store,
    benchmark: Benchmark,
    form: Form,
    run: int,
    path: Path,
    respondents: Sequence[str],
    check: Callable[[Labels], object] = lambda labels: None,
) -> Labels:
    """Read people's labels from a file, and store them under the hash of that file.

    A corrected file has another hash, so that its labels stand beside the earlier ones and never
    mix with them. A store that is open for reading only stays as it is: the labels are then in the
    value returned, and nowhere else. What `check` raises is raised before anything is stored, so
    that labels that were refused do not come back from the store.

    Raises
    ------
    AnswerError
        The file does not fit the benchmark or these respondents.
    """
    judgements = []
    for judgement in benchmark.read_criterion(path, form, respondents):
        if judgement.label is not None:
            # Whole numbers as decimals, so that labels from the file and labels from the store have
            # one hash.
            judgement = replace(judgement, label=float(judgement.label))
        judgements.append(judgement)
    file = digest_file(path)
    labels = Labels(tuple(judgements), (file,))
    check(labels)
    if not store.readonly:
        stored = [replace(judgement, judge=f"{judgement.judge}@{file}") for judgement in judgements]
        store.judge(benchmark.name, form.name, run, stored)
    return labels


def stored_labels(store: Store, benchmark: Benchmark, form: Form, run: int) -> Labels:
    """Return the stored labels of one administration; of each judge, those of its latest file."""
    # Of two files of one judge, the one that the store lists last is the later.
    latest: dict[str, str] = {}
    names: dict[tuple[str, str], list[str]] = {}
    for store_name, form_name, stored_run in store.judged(benchmark.name):
        if (form_name, stored_run) == (form.name, run) and not store_name.startswith(
            FILE_JUDGE_PREFIX
        ):
            name = store_name
            file = ""
            if imported := _IMPORTED_JUDGE.fullmatch(store_name):
                name = imported["judge"]
                file = imported["file"]
            judge = name.partition(RATER)[0]
            latest[judge] = file
            names.setdefault((judge, file), []).append(name)
    judgements: list[Judgement] = []
    for judge, file in sorted(latest.items()):
        # Labels that older versions stored have no file in their judge's name.
        ending = f"@{file}" if file else ""
        for name in sorted(names[judge, file]):
            rows = store.judgements(benchmark.name, f"{name}{ending}", form.name, run)
            judgements += [replace(row, judge=name) for row in rows]
    return Labels(tuple(judgements), tuple(sorted(set(filter(None, latest.values())))))


def labels_matrix(
    cell: Cell,
    form: Form,
    respondents: Sequence[str],
    judgements: Sequence[Judgement],
    probabilities: Mapping[tuple[str, str], float] | None = None,
) -> ScoreMatrix:
    """The labels of one judge as a score matrix over the items that carry any label.

    With `probabilities`, (respondent, item) -> how likely that answer was to be labelled, every
    label counts 1 / probability in the tally, so that every mean is Hajek's; a label without a
    probability is left out.
    """
    if probabilities:
        judgements = [j for j in judgements if _answer_of(j) in probabilities]
    labels = {}
    labelled = set()
    # What the hash of the scores is made of: answer, label, and its probability where there is one.
    rows: list[list[str | float]] = []
    for judgement in judgements:
        answer = _answer_of(judgement)
        labels[answer] = judgement.label
        if judgement.label is not None:
            labelled.add(judgement.item)
            rows.append([*answer, judgement.label])
            if probabilities:
                rows[-1].append(probabilities[answer])
    sample = Form(form.name, tuple(item for item in form.items if item.id in labelled))
    # Labels bring their verdicts, so that no response is scored.
    builder = MatrixBuilder(cell, sample, _no_score, lambda _: ())
    for name in respondents:
        responses: list[Response | None] = []
        verdicts: list[Verdict] = []
        for item in sample.items:
            label = labels.get((name, item.id))
            weight = 1.0
            if probabilities:
                # Inverse probability weights in tally and count alike, so that a mean is Hajek's.
                weight = 1 / probabilities.get((name, item.id), 1.0)
            responses.append(None if label is None else Response(""))
            verdicts.append(_weighted_verdict(label or 0.0, weight))
        builder.add_verdicts(name, responses, verdicts)
    return builder.build(digest(sorted(rows)))


def _no_score(item: Item, response: Response) -> Verdict:
    return Verdict.unscored("missing", "the answer has no label")


def _weighted_verdict(label: float, weight: float) -> Verdict:
    """Return a label as a verdict whose tally counts `weight` times."""
    return Verdict(label, {"faithful": label * weight, "n": weight})


def oracle_matrix(
    benchmark: Benchmark,
    reference: ScoreMatrix,
    judge: str,
    texts: Callable[[str], Sequence[Response | None]],
    verdicts: VerdictCache | None = None,
) -> ScoreMatrix:
    """The verdicts of a benchmark's own judge on the answers of one administration.

    `texts` gives a respondent's responses in the order of the matrix's items, and `verdicts` has
    those that the judge gave before.
    """
    form = Form(reference.cell.form, reference.items)
    builder = MatrixBuilder(
        replace(reference.cell, judge=judge),
        form,
        benchmark.oracle(judge),
        benchmark.subsets,
        benchmark.groupings,
        verdicts=verdicts,
    )
    for name in reference.respondents:
        builder.add(name, texts(name))
    return builder.build(reference.answers)


# --- labels of single facts beside what a stage of the judge decides ---


Answers = Mapping[tuple[str, str], Response]
"""(respondent, item) -> the stored answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledUnit:
    """A sub-sentence or a fact of an answer, with its label by people."""

    role: str
    item: Item
    respondent: str
    text: str
    label: float
    """1 or 0; NaN where the raters' votes are tied."""

    @property
    def answer(self) -> tuple[str, str]:
        """The respondent and the item."""
        return (self.respondent, self.item.id)


@dataclass(frozen=True, kw_only=True, eq=False)
class StageEvidence:
    """One stage of one judge beside people, unit by unit.

    - `judge, human`: (units,): 1, 0, or NaN where there is no decision.
    - `clusters`: (units,): the picture of each unit's item. `weights`: (units,): 1 / probability of
      the answer's being labelled.
    - `not_asked`: units about which the judge holds no reply; `unread`: units whose reply says
      neither yes nor no, or failed; `unresolved`: units on which people do not agree; `unit, yes,
      no`: what is decided, in words.
    """

    role: str
    label: str
    """What cells call the judge."""
    unit: str
    yes: str
    no: str
    judge: Array
    human: Array
    clusters: Sequence[str]
    weights: Array
    not_asked: int
    unread: int
    unresolved: int


def labelled_units(benchmark: Benchmark, form: Form, labels: Labels) -> list[LabelledUnit]:
    """Return the units that people labelled, by stage; several raters' labels by majority.

    What was adjudicated takes the place of the raters' own. A unit that one rater alone wrote, as a
    fact that this rater added, has that rater's label.
    """
    by_answer: dict[tuple[str, str], list[Judgement]] = {}
    for judgement in labels.judgements:
        if judgement.judge.partition(RATER)[0] == HUMAN and benchmark.stages:
            by_answer.setdefault((judgement.respondent, judgement.item), []).append(judgement)
    units = []
    for (respondent, item), answer_judgements in by_answer.items():
        if item not in form.by_id:
            continue
        for role in benchmark.stages:
            votes: dict[str, list[list[float]]] = {}
            for stages in _stages_of(answer_judgements):
                for text, vote in stages.get(role, {}).items():
                    votes.setdefault(text, []).append([float(vote)])
            for text, text_votes in votes.items():
                (label,) = pooled_labels(text_votes)
                unit = LabelledUnit(
                    role=role,
                    item=form.by_id[item],
                    respondent=respondent,
                    text=text,
                    label=float(label),
                )
                units.append(unit)
    return units


def _stages_of(judgements: Sequence[Judgement]) -> list[Mapping[str, Mapping[str, int]]]:
    """Return what is said of the stages of one answer: what was adjudicated, or else what its
    raters said, or else its labels without a rater.
    """
    rated = [j for j in judgements if RATER in j.judge] or judgements
    adjudicated = list(filter(None, map(_stages, filter(_is_adjudication, rated))))
    return adjudicated or list(map(_stages, rated))


def _is_adjudication(judgement: Judgement) -> bool:
    return judgement.judge.endswith(f"{RATER}{ADJUDICATION}")


def _stages(judgement: Judgement) -> Mapping[str, Mapping[str, int]]:
    return LabelContext.from_judgement(judgement).stages


def stage_evidence(
    benchmark: Benchmark,
    judges: Sequence[Judge],
    cell: Cell,
    units: Sequence[LabelledUnit],
    answers: Answers,
    probabilities: Mapping[tuple[str, str], float],
) -> tuple[StageEvidence, ...]:
    """Compare each judge's stored decisions with people's labels, judge by judge and stage by
    stage.

    Units of answers that are not there are left out, and with probabilities those of answers that
    have none.
    """
    used = [
        u for u in units if u.answer in answers and (not probabilities or u.answer in probabilities)
    ]
    if not used:
        return ()
    questions = judge_units(used, answers)
    evidence = []
    for judge in judges:
        verdicts = decisions(
            benchmark, questions, _ask_about_units(benchmark, judge, cell, used, answers)
        )
        for role in benchmark.stages:
            decided = [pair for pair in zip(used, verdicts, strict=True) if pair[0].role == role]
            if decided:
                stage = benchmark.stages[role]
                evidence.append(_role_evidence(role, judge.label, stage, decided, probabilities))
    return tuple(evidence)


def _role_evidence(
    role: str,
    label: str,
    stage: Stage,
    decided: Sequence[tuple[LabelledUnit, Verdict]],
    probabilities: Mapping[tuple[str, str], float],
) -> StageEvidence:
    """Return what one judge decided in one role, unit by unit, beside people's labels."""
    human = []
    values = []
    clusters = []
    weights = []
    n_not_asked = 0
    n_unread = 0
    for unit, verdict in decided:
        human.append(unit.label)
        # Without a verdict NaN.
        values.append(math.nan if verdict.value is None else verdict.value)
        clusters.append(unit.item.cluster or unit.item.image or unit.item.id)
        weights.append(1 / probabilities.get(unit.answer, 1.0))
        if verdict.state == "missing":
            n_not_asked += 1
        elif not verdict.scored:
            n_unread += 1
    return StageEvidence(
        role=role,
        label=label,
        unit=stage.unit,
        yes=stage.yes,
        no=stage.no,
        judge=np.array(values),
        human=np.array(human),
        clusters=tuple(clusters),
        weights=np.array(weights),
        not_asked=n_not_asked,
        unread=n_unread,
        unresolved=int(np.isnan(human).sum()),
    )


def judge_units(units: Sequence[LabelledUnit], answers: Answers) -> list[Unit]:
    """Prepare the units as a judge is asked about them, leaving out those of missing answers."""
    return [Unit(u.role, u.item, answers[u.answer], u.text) for u in units if u.answer in answers]


def _ask_about_units(
    benchmark: Benchmark, judge: Judge, cell: Cell, units: Sequence[LabelledUnit], answers: Answers
) -> Callable[[int], AskJudge]:
    """Return an `ask` that replays stored replies and asks nobody."""
    if isinstance(judge, Judging):
        asking = judge.asking(0)
        return lambda _: asking
    asks = {u.answer: _replaying_ask(benchmark, judge, cell, u, answers[u.answer]) for u in units}
    return lambda i: asks[units[i].answer]


def _replaying_ask(
    benchmark: Benchmark, judge: FileJudge, cell: Cell, unit: LabelledUnit, answer: Response
) -> AskJudge:
    """What a file says that a judge replied about one answer, by what it was asked.

    The file has replies in their order: the judge procedure is run on them, and what it asks is
    noted beside each. A question is known by its words, so that a full stop more or less makes no
    other one of it.
    """
    source = judge.ask_about(unit.respondent, replace(cell, judge=judge.label))(unit.item)
    replies: dict[tuple[str, str], str] = {}

    async def record_reply(
        role: str,
        prompt: str,
        image: str | None = None,
        schema: Mapping[str, object] | None = None,
    ) -> str:
        reply = await source(role, prompt, image, schema)
        replies[role, _normalized(prompt)] = reply
        return reply

    async def ask(role: str, prompt: str, image: str | None = None, schema: object = None) -> str:
        if (role, _normalized(prompt)) not in replies:
            raise NotAsked("the files hold no reply about it", location=role)
        return replies[role, _normalized(prompt)]

    verdicts(
        benchmark, Form(ORIGINAL, (unit.item,)), {unit.respondent: [answer]}, lambda _: record_reply
    )
    return ask


def _normalized(prompt: str) -> str:
    return " ".join(re.findall(r"\w+", prompt.lower()))
