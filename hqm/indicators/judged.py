"""Judges against themselves, against other judges, and against people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import cast

import numpy as np

from hqm.imports.human_labels import labelled_by
from hqm.indicators.cases import Case
from hqm.indicators.indicator import (
    AGREEMENT,
    CORRELATION,
    CRITERION,
    ITEM_COUNT,
    JUDGE_AGREEMENT,
    JUDGE_CONSISTENCY,
    LABEL_COUNT,
    MEAN_OF_ITEMS,
    ORACLE,
    P_VALUE,
    PAIR,
    SCORE,
    SHARE,
    SHARE_OF_ITEMS,
    Indicator,
    Result,
    need,
    need_study,
    result,
    to_coefficient,
)
from hqm.indicators.labelled import (
    LABELS_ON_SCALE,
    RIGHT_OR_WRONG,
    agreement_with_people,
    beside_people,
    label_chances,
    label_clusters,
    label_replicates,
    label_weights,
    rater_table,
    rater_variance,
    sample_flags,
    withheld,
)
from hqm.indicators.single_items import list_to_read
from hqm.indicators.without_pictures import mean_words
from hqm.psychometrics import (
    Coefficient,
    ConfidenceInterval,
    contradicted_items,
    criterion_validity,
    flip_rate,
    gwet_ac1,
    judge_errors,
    judge_share,
    krippendorff_alpha,
    labels_needed,
    partial_pearson,
    pearson,
    ppi_scores,
    rater_share,
    repeated_measures,
    rogan_gladen_scores,
    stream,
    with_raters,
)
from hqm.psychometrics.agreement.judge_error import JudgeErrors
from hqm.psychometrics.items.wrong_keys import Contradictions
from hqm.psychometrics.validity.criterion import CriterionValidity
from hqm.scoring.metrics import Array, ratio
from hqm.types import Estimate, Item, finite

NO_PEOPLE = (
    "the labels come from {judge!r}, an oracle or rule that reads the same key as the scorer, and"
    " not from people: agreement with them says nothing about validity"
)

_LABELLED = 0.9
"""The reliability of people's scores that `labels_needed` is about."""


def say_who_labelled(estimates: Sequence[Estimate], judge: str) -> list[Estimate]:
    """Every estimate with `labelled_by` in its detail; without people its number stays and says
    nothing about validity.
    """
    # A second parser of the same key once passed a gate as people's labels: every estimate says
    # whose they are.
    labeller = labelled_by(judge)
    reason = NO_PEOPLE.format(judge=judge)
    labelled_estimates = []
    for estimate in estimates:
        detail = {**estimate.detail, "labelled_by": labeller, "labels_of": judge}
        estimate = replace(estimate, detail=detail)
        if labeller != "people" and estimate.status == "ok":
            estimate = replace(estimate, status="not_informative", reason=reason)
        labelled_estimates.append(estimate)
    return labelled_estimates


def _verdicts(case: Case) -> Array:
    """(judgements, respondents x items): the item scores of each judgement."""
    # each answer of each respondent is a unit, each judgement a rater
    return case.item_scores.reshape(len(case.item_scores), -1)


def binary(values: Array) -> bool:
    """Whether all that is known is 0 or 1."""
    return bool(np.isin(values[np.isfinite(values)], (0, 1)).all())


def _yes_or_no(case: Case) -> bool:
    verdicts = case.cached(_verdicts)
    return bool(np.isfinite(verdicts).any()) and binary(verdicts)


def _krippendorff_alpha(case: Case) -> Coefficient:
    # nominal distances treat all disagreements alike, interval ones by their size
    return krippendorff_alpha(case.cached(_verdicts), "nominal" if _yes_or_no(case) else "interval")


def _crossed(case: Case) -> bool:
    runs = case.repeats
    return (
        runs is not None
        and case.additive
        # noise of the judge and of the answers must be of the same items to be divided
        and (runs.respondents, runs.n_items) == (case.respondents, case.n_items)
    )


def _judge_share(case: Case) -> Result:
    repeats = cast("Case", case.repeats)  # one of its needs
    # Two variances of the same items: judgements of one answer, and answers of one judgement.
    study = judge_share(case.item_scores, repeats.item_scores, case.clusters)
    by = case.table(judge=study.judge, answers=study.response, total=study.total)
    return result(study.share, by_respondent=by)


def _validity(case: Case) -> CriterionValidity:
    clusters = case.cached(label_clusters)
    weights = case.cached(label_weights)
    return criterion_validity(
        *case.cached(beside_people),
        clusters,
        weights,
        n_eff=case.n_effective,
        families=case.families,
    )


def _disattenuated(case: Case) -> Result:
    study = case.cached(_validity)
    reported = ("ATTENUATION", "DOMINANT_MODEL", "CAPPED")
    flags = tuple(flag for flag in study.flags if flag in reported)
    return result(
        study.disattenuated,
        flags=(*flags, *case.cached(sample_flags)),
        raw_full=finite(study.full.value),
        raw_same=finite(study.labelled_only.value),
        paired=study.n_cells,
        reliability=finite(study.reliability_automatic),
        reliability_of_people=finite(study.reliability_human),
    )


def _ceiling(case: Case) -> Result:
    study = case.cached(_validity)
    # The ceiling may exist where the corrected correlation does not: the root of two reliabilities
    # needs no correlation.
    source = None if np.isfinite(study.ceiling) else study.disattenuated
    return result(
        to_coefficient(study.ceiling, source, "undefined"),
        reliability=finite(study.reliability_automatic),
        reliability_of_people=finite(study.reliability_human),
    )


def _labels_needed(case: Case) -> Result:
    study = case.cached(_validity)
    n_labels = labels_needed(_LABELLED, study.residual_human, study.true_human)
    value = to_coefficient(n_labels, missing="people's scores show no variance beyond sampling")
    return result(value, target=_LABELLED, labels=study.n_labelled)


def _is_share(case: Case) -> bool:
    return SHARE_OF_ITEMS.check(case) is None


def _errors(case: Case) -> JudgeErrors:
    """The judge's errors, with those of the raters in both intervals."""
    study = judge_errors(*case.cached(beside_people), case.cached(label_weights))
    replicates = case.cached(label_replicates)
    # One rater, or labels without names: nobody knows how other people would have labelled.
    if replicates is None or study.status != "ok":
        return study
    # the raters' errors as they would move the shares: tables of other labels
    replicated = replicates.agreements()
    return replace(
        study,
        sensitivity=with_raters(study.sensitivity, [table.sensitivity for table in replicated]),
        specificity=with_raters(study.specificity, [table.specificity for table in replicated]),
    )


def _contradictions(case: Case) -> Contradictions:
    """Labels and answers together, where the answers may speak of single keys."""
    automatic, labels = case.cached(beside_people)
    items = case_items(case)
    # labels say right or wrong; a rate of hallucinations is reversed to say the same
    oriented = 1 - automatic if case.metric.better == "lower" else automatic
    listed = list_to_read(case, oriented, items, len(items))
    chances = np.zeros(len(items))
    # a list that doubts its own cause names no item for people to contradict
    if listed.status == "ok" and not listed.doubt:
        chances[[row.item for row in listed.items]] = [row.expected for row in listed.items]
    return contradicted_items(automatic, labels, chances=chances)


def _contradicted(case: Case) -> Result:
    """The number of items that people contradict."""
    study = case.cached(_contradictions)
    items = case_items(case)
    rows = [
        {
            "item": items[c.item].id,
            "count": c.contradicted,
            "answers": c.answers,
            "p": finite(c.p),
        }
        for c in study.items
    ]
    return result(
        float(len(study.items)), candidates=rows, usual=finite(study.usual), tested=study.tested
    )


def case_items(case: Case) -> Sequence[Item]:
    """The items of `beside_people`."""
    matrix = case.full_matrix
    return list(compress(matrix.items, matrix.mask(case.metric)))


def _kappa(case: Case) -> Result:
    pooled = case.cached(_errors).pooled
    value = to_coefficient(pooled.kappa, missing=_ONE_CATEGORY)
    # where the answers were drawn with probabilities, kappa is that of all answers
    if case.sample is not None and value.status == "ok":
        value = case.cached(agreement_with_people).kappa
    return result(
        value,
        agreement=finite(pooled.agreement),
        ac1=finite(pooled.ac1),
        positive=finite(pooled.positive),
        negative=finite(pooled.negative),
        answers=pooled.n,
        flags=case.cached(sample_flags),
    )


def _judge_functioning(case: Case) -> Result:
    """Of the two tests of `judge_errors`, whether the judge errs alike on every respondent's
    answers.
    """
    errors = case.cached(_errors)
    tests = np.array([errors.p_sensitivity, errors.p_specificity])
    tests = tests[np.isfinite(tests)]
    # Bonferroni over the tests that there are
    p = min(1.0, len(tests) * min(tests)) if len(tests) else np.nan
    return result(
        to_coefficient(p, missing=_ONE_CATEGORY),
        p_sensitivity=finite(errors.p_sensitivity),
        p_specificity=finite(errors.p_specificity),
        homogeneous=errors.homogeneous,
    )


def _mean_of(scores: Sequence[Coefficient]) -> Coefficient:
    values = [score.value for score in scores if score.status == "ok"]
    if values:
        return Coefficient(float(np.mean(values)))
    # All respondents lack theirs for one reason, which is that of the first.
    return Coefficient.absent(scores[0].status, scores[0].reason)


def _respondent_rows(
    case: Case, scores: Sequence[Coefficient]
) -> dict[str, dict[str, float | None]]:
    """Respondent -> its score with its interval over items; with that over respondents where there
    is no other.
    """
    rows = {}
    for name, score in zip(case.respondents, scores, strict=True):
        low = score.low
        high = score.high
        # the interval over items, where there is one, is that of these respondents
        if score.fixed is not None:
            low = score.fixed.low
            high = score.fixed.high
        rows[name] = {"score": finite(score.value), "low": finite(low), "high": finite(high)}
    return rows


def _rogan_gladen(case: Case) -> Result:
    """The mean of the respondents' corrected scores."""
    if refused := withheld(case):
        return refused
    # Rogan and Gladen 1978: the prevalence behind a test of known sensitivity and specificity.
    scores = rogan_gladen_scores(*case.cached(beside_people), case.cached(_errors))
    mean = _mean_of(scores)
    if mean.status != "ok":
        return Result(mean)
    return result(mean, by_respondent=_respondent_rows(case, scores))


def _prediction_powered(case: Case) -> Result:
    """The mean of the respondents' corrected scores; of labels with probabilities, the corrected
    mean over all answers.
    """
    if refused := withheld(case):
        return refused
    automatic, human = case.cached(beside_people)
    clusters = case.cached(label_clusters)
    chances = case.cached(label_chances)
    # Angelopoulos, Duchi and Zrnic 2023 (PPI++): the labels correct the mean over all answers.
    study = ppi_scores(
        automatic,
        human,
        clusters,
        probabilities=chances,
        rater_variance=case.cached(rater_variance),
    )
    mean = _mean_of(study.scores) if chances is None else _overall_mean(case)
    if mean.status != "ok":
        return Result(mean)
    changes = [
        {"respondent": case.respondents[row], "before": before, "after": after}
        for row, before, after in study.rank_changes
    ]
    return result(
        mean,
        by_respondent=_respondent_rows(case, study.scores),
        labels=list(study.labels),
        rank_changes=changes,
        flags=case.cached(sample_flags),
    )


def _overall_mean(case: Case) -> Coefficient:
    """The corrected mean over all answers of all respondents, with its interval over pictures."""
    automatic, human = case.cached(beside_people)
    chances = case.cached(label_chances)
    replicates = case.cached(label_replicates)
    rater_variances = None
    # the raters' errors are shared by all respondents, so the mean's own variance is taken
    if replicates is not None:
        rater_variances = [float(replicates.mean_labels().var(ddof=1))]
    # all answers as those of one respondent
    (score,) = ppi_scores(
        # `reshape` puts one respondent behind another, so that the clusters repeat in the same
        # order.
        automatic.reshape(1, -1),
        human.reshape(1, -1),
        np.tile(case.cached(label_clusters), len(automatic)),
        probabilities=None if chances is None else chances.reshape(1, -1),
        rater_variance=rater_variances,
    ).scores
    if score.status != "ok":
        return score
    interval = None
    if np.isfinite(score.low):
        interval = ConfidenceInterval(score.low, score.high, score.method, score.level)
    return Coefficient(score.value, fixed=interval, se=score.se, flags=score.flags)


def labels_by_rater(case: Case) -> Array:
    """(raters, answers): the labels of every rater on all answers that any of them labelled; NaN
    where there is none.
    """
    return rater_table(case.raters or {})


def _human_agreement(case: Case) -> Result:
    table = labels_by_rater(case)
    categories = binary(table)
    alpha = krippendorff_alpha(table, "nominal" if categories else "interval")
    # the correlation with a perfect measure is bounded by the root of the reliability (Spearman
    # 1904)
    if alpha.status == "ok" and alpha.value > 0:
        bound = float(np.sqrt(alpha.value))
    else:
        bound = None
    ac1 = finite(gwet_ac1(table).value) if categories else None
    return result(alpha, raters=len(table), answers=table.shape[1], gwet_ac1=ac1, bound=bound)


_ONE_CATEGORY = "there is only one category"
_JUDGES = (JUDGE_CONSISTENCY, JUDGE_AGREEMENT)
_YES_OR_NO = (
    PAIR,
    need("verdicts that say yes or no", _yes_or_no, "the verdicts are no yes or no"),
)
_FAMILY = (CRITERION,)
_LABELLERS = (CRITERION, ORACLE)
_LABELS = (PAIR, SHARE_OF_ITEMS)
_ERRORS = (
    *_LABELS,
    RIGHT_OR_WRONG,
    need_study("labels of answers both right and wrong", _errors),
)
_REPEATS = need(
    "two runs of the answers",
    lambda case: case.repeats is not None,
    "the answers were given once: without a second run the error of the answers is not known",
)
_CROSSED = need(
    "the same respondents and items judged and repeated",
    _crossed,
    "the judged and the repeated administrations do not have the same respondents and items under a"
    " mean",
)
LABELS_OF_RATERS = need(
    "labels of which it is known who gave them", lambda case: case.raters is not None
)
TWO_RATERS = (
    LABELS_OF_RATERS,
    need(
        "two people who labelled",
        lambda case: len(case.raters or ()) >= 2,
        "one person labelled each answer, or nobody says who did (a field 'rater'): agreement"
        " needs two",
        "insufficient",
    ),
)

_PREDICTION_POWERED = Indicator(
    name="prediction_powered",
    unit=SCORE,
    title="corrected by people (prediction-powered)",
    family=_FAMILY,
    needs=_LABELS,
    meaning=(
        "Mean score corrected by people's labels (PPI++), respondent by respondent in the detail."
    ),
    compute=_prediction_powered,
    explains=(ppi_scores,),
)

_OF_JUDGES = (
    Indicator(
        name="krippendorff_alpha",
        unit=AGREEMENT,
        title="Krippendorff's alpha",
        family=_JUDGES,
        needs=(PAIR,),
        compute=_krippendorff_alpha,
        meaning="Krippendorff's alpha of the judgements of the same answers.",
        explains=(krippendorff_alpha,),
        headline=_JUDGES,
    ),
    Indicator(
        name="gwet_ac1",
        unit=AGREEMENT,
        title="Gwet's AC1",
        family=_JUDGES,
        needs=_YES_OR_NO,
        explains=(gwet_ac1,),
        meaning=(
            "Gwet's AC1: chance-corrected agreement that stays meaningful when one category is"
            " rare."
        ),
        compute=lambda case: gwet_ac1(case.cached(_verdicts)),
    ),
    Indicator(
        name="flip_rate",
        unit=SHARE,
        family=_JUDGES,
        needs=_YES_OR_NO,
        compute=lambda case: flip_rate(
            case.cached(_verdicts), np.tile(case.clusters, len(case.respondents))
        ),
        explains=(flip_rate,),
        better="lower",
        meaning="Share of answers whose verdict changes when the same judge judges a second time.",
    ),
    Indicator(
        name="judge_share",
        unit=SHARE,
        family=(JUDGE_CONSISTENCY,),
        needs=(PAIR, _REPEATS, _CROSSED),
        compute=_judge_share,
        better="lower",
        meaning="Share of the run-to-run variance that the judge makes, not the answers.",
        explains=(judge_share,),
        headline=(JUDGE_CONSISTENCY,),
    ),
    Indicator(
        name="disattenuated",
        unit=CORRELATION,
        one_sided=True,
        family=_FAMILY,
        needs=_LABELS,
        compute=_disattenuated,
        explains=(criterion_validity,),
        meaning="Correlation with people, corrected for the sampling error of both sides.",
        headline=_FAMILY,
    ),
    Indicator(
        name="ceiling",
        unit=CORRELATION,
        family=_FAMILY,
        needs=_LABELS,
        compute=_ceiling,
        explains=(criterion_validity,),
        meaning="Largest correlation with people that the measurement error of both allows.",
    ),
    Indicator(
        name="labels_needed",
        unit=LABEL_COUNT,
        title="labels a respondent for .90",
        family=_FAMILY,
        needs=_LABELS,
        compute=_labels_needed,
        meaning="Labels a respondent that people's scores need for a reliability of .90.",
        explains=(labels_needed,),
        better="lower",
        digits=0,
    ),
    Indicator(
        name="sensitivity",
        unit=SHARE,
        family=_LABELLERS,
        needs=_ERRORS,
        explains=(judge_errors,),
        meaning="Of the answers labelled faithful, the share that the benchmark scores as right.",
        compute=lambda case: result(
            case.cached(_errors).sensitivity, range=finite(case.cached(_errors).range_sensitivity)
        ),
    ),
    Indicator(
        name="specificity",
        unit=SHARE,
        family=_LABELLERS,
        needs=_ERRORS,
        explains=(judge_errors,),
        meaning=(
            "Of the answers labelled hallucinated, the share that the benchmark scores as wrong."
        ),
        compute=lambda case: result(
            case.cached(_errors).specificity, range=finite(case.cached(_errors).range_specificity)
        ),
    ),
    Indicator(
        name="kappa",
        unit=AGREEMENT,
        title="Cohen's kappa",
        family=_LABELLERS,
        needs=_ERRORS,
        compute=_kappa,
        explains=(judge_errors,),
        meaning="Cohen's kappa between the benchmark's verdicts and the labels.",
        headline=_FAMILY,
    ),
    Indicator(
        name="judge_functioning",
        unit=P_VALUE,
        family=_LABELLERS,
        needs=_ERRORS,
        compute=_judge_functioning,
        explains=(judge_errors,),
        meaning=(
            "P-value of the test that sensitivity and specificity are the same for all respondents."
        ),
        better="neither",
    ),
    Indicator(
        name="contradicted_items",
        unit=ITEM_COUNT,
        family=_FAMILY,
        compute=_contradicted,
        explains=(contradicted_items,),
        better="lower",
        needs=(
            *_LABELS,
            RIGHT_OR_WRONG,
            need_study("labels of several answers to one item", _contradictions),
        ),
        digits=0,
        meaning=(
            "Items on which people contradict the scorer whoever answered: read their right"
            " answers."
        ),
    ),
    # of a ratio, audits have this reason before the next one's
    replace(
        _PREDICTION_POWERED,
        needs=(need("another metric", lambda case: not _is_share(case)), *_LABELS),
    ),
    Indicator(
        name="rogan_gladen",
        unit=SCORE,
        title="corrected for the scorer's errors",
        family=_FAMILY,
        needs=_ERRORS,
        compute=_rogan_gladen,
        meaning=(
            "Mean score corrected by pooled sensitivity and specificity; only where these are alike"
            " for all respondents."
        ),
        explains=(rogan_gladen_scores,),
    ),
    replace(
        _PREDICTION_POWERED,
        needs=(PAIR, need("a metric that is a share of right answers", _is_share), LABELS_ON_SCALE),
    ),
    Indicator(
        name="human_agreement",
        unit=AGREEMENT,
        family=_FAMILY,
        needs=TWO_RATERS,
        compute=_human_agreement,
        explains=(krippendorff_alpha, gwet_ac1),
        meaning=(
            "Krippendorff's alpha of the people who labelled; its root bounds what any score can"
            " reach against them."
        ),
    ),
)


def _given_length(case: Case) -> Result:
    words = mean_words(case.full_matrix)
    score, labels = case.scores
    return result(
        partial_pearson(score, labels, words, **case.dependence),
        length_and_score=finite(pearson(words, score).value),
        length_and_labels=finite(pearson(words, labels).value),
    )


def _labelled_types(case: Case) -> dict[str, Array]:
    """Hallucination type -> (2, respondents): the benchmark's score of the type, and the mean of
    people's labels on it.
    """
    matrix = case.full_matrix
    types = np.array([item.type or "" for item in matrix.items])[matrix.mask(case.metric)]
    score_pair = np.stack(case.cached(beside_people))
    means = {}
    # By name, so that the columns do not depend on the order of the items.
    for name in sorted(set(types) - {""}):
        # (2, respondents, items): automatic scores and labels of one type
        scores = score_pair[:, :, types == name]
        counts = np.isfinite(scores).sum(axis=2)
        if counts[1].any():
            # A type without a label says nothing about people.
            means[name] = ratio(np.nansum(scores, axis=2), counts)
    return means


def _within_respondents(case: Case) -> Result:
    types = case.cached(_labelled_types)
    study = repeated_measures(*np.stack(list(types.values()), axis=2))
    return result(study.coefficient, dof=study.dof, p=finite(study.p), types=list(types))


def _rater_share(case: Case) -> Result:
    study = rater_share(labels_by_rater(case), stream(case.seed, "rater_share"))
    return result(
        study.share,
        answers=finite(study.answers),
        raters=finite(study.raters),
        residual=finite(study.residual),
        n_raters=study.n_raters,
        n_answers=study.n_answers,
        n_labels=study.n_labels,
        method=study.method,
    )


_PEOPLE = need("labels by people", lambda case: labelled_by(case.second.cell.judge) == "people")
_TWO_TYPES = need(
    "labels on two hallucination types",
    lambda case: len(case.cached(_labelled_types)) >= 2,
    "the labelled answers are of fewer than two hallucination types",
    "insufficient",
)

_OF_PEOPLE = (
    Indicator(
        name="pearson_given_length",
        unit=CORRELATION,
        title="Pearson r given length",
        family=_FAMILY,
        needs=(PAIR, _PEOPLE),
        compute=_given_length,
        meaning=(
            "Correlation with people among respondents whose answers are equally long: lower than"
            " `pearson` where both follow length."
        ),
        explains=(partial_pearson,),
    ),
    Indicator(
        name="within_respondents",
        unit=CORRELATION,
        title="r over types within respondents",
        family=_FAMILY,
        compute=_within_respondents,
        meaning=(
            "Whether the types at which a respondent is weak by the benchmark are those at which"
            " people find it weak."
        ),
        needs=(PAIR, _PEOPLE, MEAN_OF_ITEMS, _TWO_TYPES),
        explains=(repeated_measures,),
    ),
    Indicator(
        name="rater_share",
        unit=SHARE,
        title="raters' share of variance",
        family=_FAMILY,
        needs=(LABELS_OF_RATERS,),
        compute=_rater_share,
        meaning="Share of the variance of single labels that comes from strict and lenient raters.",
        better="lower",
        explains=(rater_share,),
    ),
)


indicators = (*_OF_JUDGES, *_OF_PEOPLE)
