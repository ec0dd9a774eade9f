"""Pooling raters' labels into one label per answer, and checking which words they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from hqm.errors import AnswerError, UsageError
from hqm.imports.human_labels import ADJUDICATION, RATER, LabelContext
from hqm.labels.people_labels import Labels
from hqm.psychometrics import pooled_labels, rater_replicates, stream
from hqm.psychometrics.raters import Pool as Rule
from hqm.psychometrics.result import Array
from hqm.types import Judgement

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
        """How many answers a single rater labelled."""
        counts: dict[tuple[str, str], int] = {}
        for labels in self.raters.values():
            for answer in labels:
                counts[answer] = counts.get(answer, 0) + 1
        return sum(count == 1 for count in counts.values())


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
        digest = LabelContext.of(judgement).answer_digest
        stored = digests.get((judgement.respondent, judgement.item))
        if digest and stored and digest != stored:
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
            given=pool,
            known=POOLS,
        )
    own = [j for j in labels.judgements if j.judge.partition(RATER)[0] == judge]
    whole = [j for j in own if RATER not in j.judge]
    raters = {
        name: by for name, by in labels.by_rater.items() if name.partition(RATER)[0] == judge and by
    }
    decided = {
        (j.respondent, j.item): j.label for j in own if j.judge == f"{judge}{RATER}{ADJUDICATION}"
    }
    contexts = [LabelContext.of(j) for j in own]
    probabilities = _probabilities(own, contexts)
    added = sum((j.respondent, j.item) not in probabilities for j in whole) if probabilities else 0
    known: dict[str, Any] = {"probabilities": probabilities, "added": added, "stale": stale}
    schemas = tuple(sorted({context.schema for context in contexts} - {""}))
    if not raters:
        return PooledLabels(judgements=tuple(whole), schemas=schemas, **known)
    answers = [(j.respondent, j.item) for j in whole]
    table = np.array([[by.get(answer, np.nan) for answer in answers] for by in raters.values()])
    binary = bool(np.isin(table[np.isfinite(table)], (0, 1)).all())
    if pool == "dawid-skene" and not binary:
        raise UsageError(
            "Dawid and Skene's model needs labels of 0 and 1",
            remedy="Pool by --set pool=mean or majority.",
        )
    if pool == "adjudicated" and not decided and not _agreed(table).all():
        raise UsageError(
            "nobody adjudicated the labels on which raters differ",
            remedy=(
                "Settle the disagreements on the page of the study's owner (`hqm label serve`), or"
                " pool by majority."
            ),
        )
    rule: Rule = "majority" if binary else "mean"
    if pool in ("mean", "majority", "dawid-skene"):
        rule = pool
    pooled = pooled_labels(table, rule)
    if pool == "adjudicated":
        pooled = np.where(_agreed(table), pooled_labels(table, "mean"), np.nan)
    replicates = (
        rater_replicates(table, rule, stream(0, "raters"), replicates=_REPLICATES)
        if len(raters) > 1
        else None
    )
    for column, answer in enumerate(answers):
        if answer in decided and pool != "mean":
            label = decided[answer]
            pooled[column] = np.nan if label is None else label
            if replicates is not None:
                replicates[:, column] = pooled[column]
    if replicates is not None:
        replicates = np.where(np.isfinite(pooled), replicates, np.nan)
    labelled = np.isfinite(table).any(axis=0)
    return PooledLabels(
        judgements=tuple(
            replace(j, label=float(label) if np.isfinite(label) else None)
            for j, label in zip(whole, pooled, strict=True)
        ),
        pool=pool or rule,
        raters=raters,
        replicates=replicates,
        unresolved=int((labelled & ~np.isfinite(pooled)).sum()),
        adjudicated=len(decided),
        schemas=schemas,
        **known,
    )


def _agreed(table: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """(answers,): whether all raters of an answer gave one label."""
    there = np.isfinite(table)
    low, high = (
        np.where(there, table, np.inf).min(axis=0),
        np.where(there, table, -np.inf).max(axis=0),
    )
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
        answer, p = (judgement.respondent, judgement.item), context.probability
        if p is not None and abs(probabilities.setdefault(answer, p) - p) > 1e-9:
            raise AnswerError(
                (
                    f"the labels of item {judgement.item!r} by {judgement.respondent} have the"
                    f" probabilities {probabilities[answer]} and {p}"
                ),
                remedy="Keep the one of the plan.",
            )
    return probabilities
