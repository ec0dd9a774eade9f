"""What every statistic about people's labels needs: their weights, their raters' errors, and
whether they are a random sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress, count
from typing import cast

import numpy as np
import numpy.typing as npt

from hqm.imports.human_labels import BINARY, RATER
from hqm.indicators.cases import Case
from hqm.indicators.indicator import (
    ANSWER_COUNT,
    CORRELATION,
    CRITERION,
    MEAN_OF_ITEMS,
    P_VALUE,
    PAIR,
    SHARE,
    SHARE_OF_ITEMS,
    STAGES,
    Indicator,
    Result,
    need,
    need_study,
    result,
    to_coefficient,
)
from hqm.labels.people_labels import PooledLabels, StageEvidence
from hqm.psychometrics import (
    Coefficient,
    answer_correlations,
    labels_at_random,
    pooled_labels,
    stage_agreement,
    table_agreement,
    weighted_agreement,
    with_raters,
)
from hqm.psychometrics.agreement.judge_error import (
    JudgeAgreement,
    StageAgreement,
    WeightedAgreement,
)
from hqm.psychometrics.validity.criterion import AnswerCorrelations
from hqm.psychometrics.validity.label_sampling import LabelRandomness
from hqm.scoring.matrix import unit_scores
from hqm.scoring.metrics import Array
from hqm.types import finite

NOT_RANDOM = "LABELS_NOT_RANDOM"
STALE = "STALE_LABELS"
_ALPHA = 0.05


def beside_people(case: Case) -> tuple[Array, Array]:
    """(respondents, items) twice: the benchmark's item scores on all items, and people's labels,
    NaN where there are none.
    """
    matrix = case.full_matrix
    mask = matrix.mask(case.metric)
    automatic = unit_scores(matrix.units(case.metric), case.metric)
    # A label of 1 is a faithful answer; the metric may count hallucinations.
    labels = case.second.values
    # labels on all items, NaN where nobody labelled: the columns are then those of the scores
    return automatic, _in_all_columns(case, 1 - labels if case.is_reversed else labels)[:, mask]


def _in_all_columns(case: Case, values: Array) -> Array:
    """Values of the labelled items in the columns of all items; NaN elsewhere."""
    matrix = case.full_matrix
    table = np.full(matrix.values.shape, np.nan)
    table[:, [matrix.column_by_id[item_id] for item_id in case.second.ids]] = values
    return table


def label_clusters(case: Case) -> npt.NDArray[np.int64]:
    """(items,): the number of each item's picture, for the items of `beside_people`."""
    matrix = case.full_matrix
    return matrix.units(case.metric).clusters


def label_chances(case: Case) -> Array | None:
    """(respondents, items): with which probability each answer was labelled, NaN where none was;
    None where labels do not say.
    """
    if case.sample is None or not case.sample.probabilities:
        return None
    matrix = case.full_matrix
    row = dict(zip(matrix.respondents, count()))
    column = matrix.column_by_id
    chances = np.full(matrix.values.shape, np.nan)
    # probabilities of answers that this audit does not have are left out
    for (respondent, item), p in case.sample.probabilities.items():
        if respondent in row and item in column:
            chances[row[respondent], column[item]] = p
    return chances[:, matrix.mask(case.metric)]


def label_weights(case: Case) -> Array | None:
    """(respondents, items): 1 / probability of being labelled; None where labels have none."""
    chances = case.cached(label_chances)
    if chances is None:
        return None
    # inverse probability weights (Horvitz and Thompson 1952)
    return 1 / chances


@dataclass(frozen=True, eq=False)
class LabelReplicates:
    """Labelled answers as other raters might have labelled them: rows and columns of
    `beside_people`, labels, scores, weights.
    """

    rows: npt.NDArray[np.intp]
    labels: Array
    """(replicates, answers)"""
    scores: Array
    weights: Array

    def mean_labels(self, row: int | None = None) -> Array:
        """(replicates,): the weighted mean label of one respondent, or of all."""
        selected = np.ones(len(self.rows), dtype=bool)
        if row is not None:
            selected = self.rows == row
        if not selected.any():
            return np.zeros(0)
        weights = self.weights[selected]
        # the weighted mean of each replicate: (replicates, answers) @ (answers,)
        return np.asarray(self.labels[:, selected] @ weights / weights.sum())

    def agreements(self) -> list[JudgeAgreement]:
        """Return the statistics of agreement of every replicate."""
        return [table_agreement(*table) for table in self.tables().tolist()]

    def tables(self) -> Array:
        """(replicates, 4): the weighted numbers of both 1, scored 1, labelled 1, neither; of
        answers that are scored.
        """
        scored = np.isfinite(self.scores)
        # w: weights, a: automatic scores, h: human labels
        w = self.weights[scored]
        a = self.scores[scored]
        h = self.labels[:, scored]
        both_positive = h @ (w * a)
        # weighted cells of the fourfold table from three margins: the fourth is what is left
        labelled_positive = h @ w
        scored_positive = float((w * a).sum())
        neither = float(w.sum()) - scored_positive - labelled_positive + both_positive
        return np.stack(
            [
                both_positive,
                scored_positive - both_positive,
                labelled_positive - both_positive,
                neither,
            ],
            axis=1,
        )


def label_replicates(case: Case) -> LabelReplicates | None:
    """What the raters' own errors could have made of the labels; None where one rater, or a
    nameless one, labelled.
    """
    sample = case.sample
    if sample is None or sample.replicates is None:
        return None
    automatic, human = case.cached(beside_people)
    matrix = case.full_matrix
    column_by_id = dict(zip(compress(matrix.ids, matrix.mask(case.metric)), count()))
    row_by_name = dict(zip(matrix.respondents, count()))
    indices = []
    rows = []
    columns = []
    for index, judgement in enumerate(sample.judgements):
        row = row_by_name.get(judgement.respondent)
        column = column_by_id.get(judgement.item)
        # Labels of answers that are not in this audit, or undecided ones, have no score beside
        # them.
        if row is not None and column is not None and np.isfinite(human[row, column]):
            indices.append(index)
            rows.append(row)
            columns.append(column)
    if not indices:
        return None
    weights = case.cached(label_weights)
    labels = sample.replicates[:, indices]
    return LabelReplicates(
        np.array(rows),
        1 - labels if case.is_reversed else labels,
        automatic[rows, columns],
        np.ones(len(rows)) if weights is None else weights[rows, columns],
    )


def rater_variance(case: Case) -> Array | None:
    """(respondents,): what the raters' errors add to the variance of each respondent's human
    mean.
    """
    replicates = case.cached(label_replicates)
    if replicates is None:
        return None
    variances = np.zeros(len(case.respondents))
    for row in range(len(variances)):
        means = replicates.mean_labels(row)
        if len(means):
            # n - 1: the replicates are a sample of what other raters might have given
            variances[row] = means.var(ddof=1)
    return variances


def randomness(case: Case) -> LabelRandomness:
    """Whether labels that came without probabilities can be a random sample; not applicable to
    those that came with some.
    """
    # with known probabilities the weights correct whatever was chosen
    if case.sample is None or case.sample.probabilities:
        return LabelRandomness(
            status="not_applicable", reason="the labels say with which probability they were drawn"
        )
    return labels_at_random(*case.cached(beside_people), case.cached(label_clusters))


def sample_flags(case: Case) -> tuple[str, ...]:
    """What a reader must know about how the labels came about."""
    study = case.cached(randomness)
    # Below .05 the labels are taken as chosen, and what rests on a random sample is withheld.
    # Without a test p is NaN, which is below nothing.
    flags = (NOT_RANDOM,) if study.p < _ALPHA else ()
    if case.sample is not None and case.sample.stale:
        return (*flags, STALE)
    return flags


def withheld(case: Case) -> Result | None:
    """The refusal of a corrected score where the labels are no random sample; None where they may
    be one.
    """
    if NOT_RANDOM not in case.cached(sample_flags):
        return None
    study = case.cached(randomness)
    reason = (
        f"the labelled answers score {study.difference:+.3f} against those nobody labelled (p ="
        f" {study.p:.2g}): they are no random sample, and what is corrected by them would be wrong;"
        " label a sample that was drawn (`hqm label plan`), or give the probability of each label"
    )
    absent = Coefficient.absent("not_applicable", reason)
    return result(absent, flags=case.cached(sample_flags))


def _labels_at_random(case: Case) -> Result:
    """The test's p-value; below .05 the labels are taken for no random sample."""
    study = case.cached(randomness)
    return result(
        to_coefficient(study.p, study),
        difference=finite(study.difference),
        z=finite(study.z),
        labelled=study.labelled,
        unlabelled=study.unlabelled,
        flags=case.cached(sample_flags),
    )


def agreement_with_people(case: Case) -> WeightedAgreement:
    """Share of labelled answers scored as people do, and kappa, weighted, with the raters' errors
    in both intervals.
    """
    automatic, human = case.cached(beside_people)
    # Weighted by 1 / probability, so that drawn answers speak for those that were not drawn.
    study = weighted_agreement(
        automatic, human, case.cached(label_clusters), case.cached(label_weights)
    )
    replicates = case.cached(label_replicates)
    if replicates is None:
        return study
    replicated = replicates.agreements()
    return WeightedAgreement(
        with_raters(study.agreement, [table.agreement for table in replicated]),
        with_raters(study.kappa, [table.kappa for table in replicated]),
    )


def _accuracy(case: Case) -> Result:
    value = case.cached(agreement_with_people).agreement
    return result(value, flags=case.cached(sample_flags), answers=_paired(case))


def _paired(case: Case) -> int:
    automatic, human = case.cached(beside_people)
    return int((np.isfinite(automatic) & np.isfinite(human)).sum())


def _answer_correlations(case: Case) -> AnswerCorrelations:
    automatic, human = case.cached(beside_people)
    weights = case.cached(label_weights)
    clusters = np.tile(case.cached(label_clusters), len(automatic))
    # All respondents' answers about one picture are one cluster: they share its difficulty.
    return answer_correlations(
        automatic.ravel(), human.ravel(), clusters, None if weights is None else weights.ravel()
    )


def _item_correlations(case: Case) -> AnswerCorrelations:
    """Over items: the mean score and the mean label of those respondents whose answer is
    labelled.
    """
    automatic, human = case.cached(beside_people)
    weights = answer_weights(case)
    # items with several labelled answers weigh as their labels do
    total = weights.sum(axis=0)
    used = total > 0
    automatic_means, human_means = (
        # 0 in place of NaN, whose weight is 0
        (weights * np.nan_to_num(values)).sum(axis=0)[used] / total[used]
        for values in (automatic, human)
    )
    return answer_correlations(automatic_means, human_means, case.cached(label_clusters)[used])


def answer_weights(case: Case) -> Array:
    """(respondents, items): the weights of answers that are scored and labelled; 0 elsewhere."""
    automatic, human = case.cached(beside_people)
    weights = case.cached(label_weights)
    labelled = np.isfinite(automatic) & np.isfinite(human)
    # 0 weight, not NaN, so that sums over items are possible
    return np.where(labelled, 1.0 if weights is None else weights, 0.0)


def _level(name: str) -> tuple[Indicator, ...]:
    study, title = (
        (_answer_correlations, "answers") if name == "answer" else (_item_correlations, "items")
    )
    level_need = need(f"the level {name} (`--set levels={name}`)", lambda case: name in case.levels)
    if name == "answer":
        units = "single answers"
    else:
        units = "items' means over respondents"

    def make_indicator(statistic: str, title_start: str, meaning: str) -> Indicator:
        def compute(case: Case) -> Result:
            value: Coefficient = getattr(case.cached(study), statistic)
            return result(value, answers=_paired(case), flags=case.cached(sample_flags))

        return Indicator(
            name=f"{title}_{statistic}",
            unit=CORRELATION,
            title=f"{title_start} over {title}",
            family=(CRITERION,),
            needs=(PAIR, MEAN_OF_ITEMS, level_need),
            meaning=(
                f"{meaning} with people over {units}, with an interval over clusters; two"
                " respondents suffice."
            ),
            compute=compute,
            explains=(answer_correlations,),
            headline=(CRITERION,),
        )

    return (
        make_indicator("pearson", "Pearson r", "Pearson's correlation"),
        make_indicator("spearman", "Spearman's rho", "Spearman's rank correlation"),
        make_indicator("tau_b", "Kendall's tau-b", "Kendall's tau-b"),
    )


def _without_majority(sample: PooledLabels) -> int:
    """Answers whose raters gave no label more than half of the time, whichever rule then settled
    them.
    """
    if not sample.raters:
        return 0
    # a tie is no majority, whichever rule then settled it
    return int(np.isnan(pooled_labels(rater_table(sample.raters))).sum())


def rater_table(raters: Mapping[str, Mapping[tuple[str, str], float]]) -> Array:
    """(raters, answers): the labels of every rater on all answers that any of them labelled; NaN
    where there is none.
    """
    # in the order of the answers' names, so that the table does not depend on the raters
    answers = sorted(set().union(*raters.values()))
    table = np.full((len(raters), len(answers)), np.nan)
    for row, labels in enumerate(raters.values()):
        for column, answer in enumerate(answers):
            table[row, column] = labels.get(answer, np.nan)
    return table


def _labelled_answers(case: Case) -> Result:
    """How many answers carry a label, with who gave them and how they became one label each."""
    sample = cast("PooledLabels", case.sample)  # one of its needs
    human = case.cached(beside_people)[1]
    return result(
        float(np.isfinite(human).sum()),
        # A rater is filed as `human:anna`; readers know her by the name behind the colon.
        raters={name.partition(RATER)[2]: len(by) for name, by in sample.raters.items()},
        pool=sample.pool,
        without_majority=_without_majority(sample),
        unresolved=sample.unresolved,
        adjudicated=sample.adjudicated,
        added=sample.added,
        stale=sample.stale,
        by_one_rater=sample.by_one_rater,
        schemas=list(sample.schemas),
        drawn=bool(sample.probabilities),
        labelled_respondents=int(np.isfinite(human).any(axis=1).sum()),
        flags=case.cached(sample_flags),
    )


_MIN_GRADED = 0.05
"""Share of scores between 0 and 1 from which they are grades: a judge may be undecided at times."""


def is_graded(scores: Array) -> bool:
    """Return whether scores are grades between 0 and 1, and not right or wrong.

    >>> is_graded(np.array([0.0, 1.0, 0.25, 1.0])), is_graded(np.array([0.0, 1.0, np.nan]))
    (True, False)
    """
    scored = scores[np.isfinite(scores)]
    return bool(scored.size) and float(((scored > 0) & (scored < 1)).mean()) > _MIN_GRADED


def has_other_scale(case: Case) -> bool:
    """Return whether people graded answers that the scorer calls right or wrong: a middling grade
    of a right answer is no error of the scorer.
    """
    # shares without a schema are of people who called the answer right
    if case.sample is None or not set(case.sample.schemas) - {BINARY}:
        return False
    automatic, human = case.cached(beside_people)
    return is_graded(human) and not is_graded(automatic)


LABELS_ON_SCALE = need(
    "labels on the scale of the scores",
    lambda case: not has_other_scale(case),
    "people graded the answers, and the scores are right or wrong",
)


def _right_or_wrong(case: Case) -> bool:
    automatic, human = case.cached(beside_people)
    labelled = np.isfinite(automatic) & np.isfinite(human)
    return bool(labelled.any()) and bool(
        np.isin(automatic[labelled], (0, 1)).all() and np.isin(human[labelled], (0, 1)).all()
    )


RIGHT_OR_WRONG = need(
    "item scores and labels of 0 or 1", _right_or_wrong, "scores or labels are not 0 or 1"
)
_SAMPLED = need("labels by people", lambda case: case.sample is not None)

# --- single stages of a judge beside people ---


def _stage(case: Case) -> StageEvidence:
    return cast("StageEvidence", case.stage)  # one of its needs


def _study(case: Case) -> StageAgreement:
    stage = _stage(case)
    return stage_agreement(stage.judge, stage.human, stage.clusters, stage.weights)


def _decided(case: Case) -> bool:
    return case.cached(_study).n > 0


def _why_not(case: Case) -> str:
    stage = _stage(case)
    # No unit was asked about yet, which a command can change; where both decided none it cannot.
    if stage.not_asked == len(stage.human):
        return (
            f"the {stage.role} was asked about none of the {stage.not_asked:,} {stage.unit}s that"
            " people labelled; `--set levels=stage` asks it"
        )
    return f"the {stage.role} and people decided no {stage.unit} both"


def _stage_result(case: Case, value: Coefficient, **extra_detail: object) -> Result:
    stage = _stage(case)
    study = case.cached(_study)
    detail = {
        "stage": stage.role,
        "unit": stage.unit,
        "yes": stage.yes,
        "no": stage.no,
        "labelled": len(stage.human),
        "units": study.n,
        "not_asked": stage.not_asked,
        "unread": stage.unread,
        "unresolved": stage.unresolved,
    }
    return Result(value, {**detail, **extra_detail})


def _agreement(case: Case) -> Result:
    study = case.cached(_study)
    table = {
        "both_yes": finite(study.both_yes),
        "judge_only": finite(study.judge_only),
        "people_only": finite(study.people_only),
        "both_no": finite(study.both_no),
    }
    return _stage_result(case, study.agreement, table=table)


def _stage_share(name: str, title: str, meaning: str) -> Indicator:
    def compute(case: Case) -> Result:
        study = case.cached(_study)
        value: Coefficient = getattr(study, name)
        share_of_no: Coefficient = getattr(study, f"{name}_no")
        # Of "no" separately: where nearly all is "yes", a share of "yes" is high by itself.
        ends = share_of_no.fixed
        of_no = {
            "value": finite(share_of_no.value),
            "low": finite(ends.low) if ends else None,
            "high": finite(ends.high) if ends else None,
        }
        return _stage_result(case, value, of_no=of_no)

    return Indicator(
        name=name,
        unit=SHARE,
        title=title,
        family=(STAGES,),
        meaning=meaning,
        compute=compute,
        explains=(stage_agreement,),
        needs=_NEEDS,
        headline=(STAGES,) if name == "f1" else (),
    )


_NEEDS = (
    need("a stage that people labelled", lambda case: case.stage is not None),
    need("decisions of judge and people on the same units", _decided, _why_not, "insufficient"),
)


indicators = (
    Indicator(
        name="labelled_answers",
        unit=ANSWER_COUNT,
        family=(CRITERION,),
        compute=_labelled_answers,
        needs=(PAIR, _SAMPLED, MEAN_OF_ITEMS),
        digits=0,
        meaning=(
            "Answers with a label; in the detail who labelled, how several labels became one, and"
            " how the answers were chosen."
        ),
        explains=(pooled_labels,),
    ),
    Indicator(
        name="labels_at_random",
        unit=P_VALUE,
        title="are the labels a random sample (p)",
        family=(CRITERION,),
        compute=_labels_at_random,
        needs=(
            PAIR,
            _SAMPLED,
            SHARE_OF_ITEMS,
            need_study("labels without probabilities of some of the answers", randomness),
        ),
        meaning=(
            "P-value of Mantel and Haenszel's test that labelled and unlabelled answers of a"
            " respondent score alike."
        ),
        explains=(labels_at_random,),
        better="neither",
    ),
    Indicator(
        name="accuracy",
        unit=SHARE,
        title="share scored as people do",
        family=(CRITERION,),
        compute=_accuracy,
        explains=(weighted_agreement,),
        meaning=(
            "Share of the labelled answers that the benchmark scores as people do, weighted by how"
            " the answers were chosen."
        ),
        needs=(PAIR, _SAMPLED, MEAN_OF_ITEMS, RIGHT_OR_WRONG),
    ),
    *_level("answer"),
    *_level("item"),
    Indicator(
        name="decided_alike",
        unit=SHARE,
        title="share decided as people do",
        family=(STAGES,),
        compute=_agreement,
        explains=(stage_agreement,),
        meaning=(
            "Of the sub-sentences or facts that people labelled, the share that the stage decides"
            " as they do; papers call it accuracy."
        ),
        needs=_NEEDS,
        headline=(STAGES,),
    ),
    _stage_share(
        "precision",
        "precision",
        "Share of the stage's yes (descriptive, holds) to which people say yes; the detail has"
        " that of its no.",
    ),
    _stage_share(
        "recall",
        "recall",
        "Share of people's yes (descriptive, holds) to which the stage says yes; the detail has"
        " that of their no.",
    ),
    _stage_share(
        "f1",
        "F1",
        "Harmonic mean of the stage's precision and recall against people; of no in the detail.",
    ),
)
