"""Two administrations that differ in one facet: how well the scores agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hqm.indicators.cases import Case, values_and_ends
from hqm.indicators.indicator import (
    AGREEMENT,
    BLINDNESS,
    CORRELATION,
    CRITERION,
    JUDGE_AGREEMENT,
    JUDGE_CONSISTENCY,
    JUDGES,
    ONE_SCALE,
    PAIR,
    PAIRS,
    PARALLEL_FORMS,
    RESOLUTION,
    SCORE,
    SHARE,
    TEST_RETEST,
    WORDS,
    Indicator,
    Result,
    need,
    need_study,
    result,
    to_coefficient,
)
from hqm.indicators.labelled import (
    answer_weights,
    beside_people,
    label_replicates,
    label_weights,
    sample_flags,
)
from hqm.indicators.without_pictures import mean_words
from hqm.psychometrics import (
    ICC,
    Coefficient,
    agreement_interval,
    bias_test,
    bland_altman,
    concordance,
    cover_fixed_interval,
    icc,
    item_agreement,
    kendall_tau_b,
    leave_one_out,
    mean_shift,
    pearson,
    respondent_shifts,
    spearman,
    with_raters,
)
from hqm.psychometrics.agreement.intraclass import BlandAltman, ItemAgreement
from hqm.psychometrics.inference.families import MAX_CHANGE, Influence, far_respondents
from hqm.scoring.metrics import Array, ratio
from hqm.types import finite

_NO_RERUN_INTERVAL = (
    "of two runs, the end of rho_G holds where that of Pearson's r does not in every world"
)


def _pearson(case: Case) -> Result:
    r = pearson(*case.scores, **case.dependence)
    flags, influence_detail = _influence(case)
    if case.facet == "run":
        # Of reruns all of 1 - r is noise, which rho_G finds from the items, nine times more sharply
        # than the scores show it.
        r = replace(r, low=math.nan, high=math.nan)
        influence_detail |= {"no_interval_for_others": _NO_RERUN_INTERVAL}
    else:
        r = _with_item_interval(case, "pearson", r)
    influence_detail |= _unread_bounds(case)
    if case.sample is None:
        return Result(r, influence_detail, flags)
    flags = (*flags, *case.cached(sample_flags))
    return Result(_with_raters(case, r), influence_detail, flags)


def _with_raters(case: Case, r: Coefficient) -> Coefficient:
    """The correlation with people whose interval for these respondents also holds their raters'
    errors.
    """
    replicates = case.cached(label_replicates)
    if replicates is None or r.status != "ok":
        return r
    # respondents without a label have no mean to correlate
    labelled = np.unique(replicates.rows)
    means = np.stack([replicates.mean_labels(row) for row in labelled], axis=1)
    scores = case.scores[0][labelled]
    return with_raters(r, [pearson(scores, labels).value for labels in means])


def _same_items(case: Case) -> Coefficient:
    """The benchmark's scores on the labelled items alone, against the labels. It flatters: both
    sides share the luck of these items.
    """
    # Weights belong to single answers: a ratio or a group of items has no sum to weigh.
    if case.sample is None or not case.additive or case.metric.group:
        return pearson(case.first.score(case.metric), case.scores[1], **case.dependence)
    automatic, human = case.cached(beside_people)
    weights = answer_weights(case)
    total = weights.sum(axis=1)
    automatic_means = ratio((weights * np.nan_to_num(automatic)).sum(axis=1), total)
    human_means = ratio((weights * np.nan_to_num(human)).sum(axis=1), total)
    return pearson(automatic_means, human_means, **case.dependence)


def _with_item_interval(case: Case, statistic: str, value: Coefficient) -> Coefficient:
    """The coefficient with its interval for these respondents over other items."""
    replicates = case.agreement_jackknife.get(statistic)
    if replicates is None or value.status != "ok":
        return value
    # Pearson's r scales each administration by its own deviation, coefficients of agreement both by
    # one.
    scaled = statistic == "pearson"
    bounds = agreement_interval(value.value, replicates, *case.jackknife_pair, scaled=scaled)
    return cover_fixed_interval(replace(value, fixed=bounds))


def shift_of(case: Case) -> Coefficient:
    """The mean shift of the scores, with both intervals where the items are the same on both
    sides.
    """
    # Labels are of some items: leaving out pictures would leave out others on each side.
    replicates = case.jackknife_pair if case.unsampled is None else None
    return mean_shift(*case.scores, replicates=replicates, n_effective=case.n_effective)


def _mean_shift(case: Case) -> Result:
    """The mean shift; of smaller pictures or none, each respondent's own scores and paired
    difference stand beside it.
    """
    shift = shift_of(case)
    if case.facet not in ("resolution", "sight"):
        return Result(shift)
    full_scores, changed_scores = case.scores
    # Paired by picture: both sides share the items, whose difficulty drops out of the difference.
    shifts = respondent_shifts(full_scores, changed_scores, case.jackknife_pair)
    differences, lows, highs = values_and_ends(shifts)
    by = case.table(
        whole=full_scores, scaled=changed_scores, difference=differences, low=lows, high=highs
    )
    return result(shift, by_respondent=by)


def _influence(case: Case) -> tuple[tuple[str, ...], dict[str, object]]:
    """Whether one respondent makes the correlation, with the range of the correlation without
    each.
    """

    def pearson_of(indices: npt.NDArray[np.intp]) -> float:
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.asarray(np.corrcoef(case.scores[:, indices]))[0, 1])

    influence = leave_one_out(pearson_of, len(case.respondents), scores=case.scores)
    return influence.flags, influence_detail(case, influence)


def influence_detail(case: Case, influence: Influence) -> dict[str, object]:
    """The range of a coefficient without each respondent, and its value without those that it rests
    on, or without the one that changes it most.
    """
    if influence.status != "ok":
        return {}
    detail: dict[str, object] = {
        "without_low": finite(influence.low),
        "without_high": finite(influence.high),
        "strongest": case.respondents[influence.strongest],
        "without_strongest": finite(influence.leave_one_out[influence.strongest]),
        "far_p": influence.far_p,
    }
    if influence.flags:
        # A flag is about those that lie far from all others, who need not be the one that changes
        # it most.
        detail["strongest"] = " and ".join(case.names(influence.far))
        detail["without_strongest"] = finite(influence.without_far)
    return detail


def far_influence(
    case: Case,
    coefficient: Coefficient,
    scores: Array,
    value_of: Callable[[npt.NDArray[np.intp]], float],
) -> tuple[tuple[str, ...], dict[str, object]]:
    """Whether a coefficient rests on one or two respondents whose scores lie far from all others',
    with its value among the others.
    """
    farthest = far_respondents(scores)
    far = farthest.respondents
    if coefficient.status != "ok":
        return (), {}
    if not far:
        return (), {"far_p": farthest.p}
    without_far = value_of(np.setdiff1d(np.arange(len(scores)), far))
    # a comparison with NaN is false: what is undefined without them rests on them
    if abs(without_far - coefficient.value) <= MAX_CHANGE:
        return (), {"far_p": farthest.p}
    names = " and ".join(case.names(far))
    without = {"strongest": names, "without_strongest": finite(without_far)}
    return ("DOMINANT_MODEL",), {**without, "far_p": farthest.p}


def _unread_bounds(case: Case) -> dict[str, object]:
    """The mean score if every unscored answer were wrong, and if every one were right; of a mean of
    0/1 scores.
    """
    if not case.metric.share or not case.additive or case.metric.group:
        return {}
    values = case.first_scores
    # An answer that could not be read counts as unread, also where the release scores it as wrong.
    unread = ~np.isfinite(values) | ~case.first.answered[:, case.mask]
    # Worst-case bounds (Manski 1990): the truth lies between them, whatever the unread answers say.
    low = float(np.where(unread, 0.0, values).mean())
    ends = [low, low + float(unread.mean())]
    if case.metric.better == "lower":  # a share of wrong answers
        ends.reverse()
    return dict(zip(("if_all_wrong", "if_all_right"), ends, strict=True))


def _icc(case: Case) -> ICC:
    return icc(np.stack(list(case.scores), axis=1), **case.dependence)


def _icc_a1(case: Case) -> Result:
    study = case.cached(_icc)
    # ICC(A,1) falls by a shift of the mean as by noise: the flag says which of both it is.
    shift_test = bias_test(case.scores.T, n_effective=case.n_effective)
    flags = ("MEAN_SHIFT",) if shift_test.p < 0.05 else ()
    return result(
        _with_item_interval(case, "icc_a1", study.a1),
        flags=flags,
        sem=finite(study.sem_agreement),
        mdc95=finite(study.mdc95),
        shift=finite(mean_shift(*case.scores).value),
        # Whether the flag stays a warning is decided by this p-value among all of the audit (Holm).
        shift_p=finite(shift_test.p),
    )


def _ccc(case: Case) -> Result:
    study = concordance(*case.scores, **case.dependence)
    return result(
        _with_item_interval(case, "ccc", study.ccc), bias_correction=finite(study.bias_correction)
    )


def _limits(case: Case) -> Result:
    study = case.cached(_bland_altman)
    # An audit has one number for the shift: that of `mean_shift`, with its intervals.
    shift = replace(shift_of(case), flags=study.bias.flags)
    return result(
        shift,
        deviation=finite(study.deviation),
        lower=_with_ends(study.lower),
        upper=_with_ends(study.upper),
        slope=_with_ends(study.slope),
    )


def _with_ends(coefficient: Coefficient) -> list[float | None]:
    """A value with the ends of its interval, for a detail."""
    return [finite(coefficient.value), finite(coefficient.low), finite(coefficient.high)]


def _bland_altman(case: Case) -> BlandAltman:
    return bland_altman(*case.scores, n_effective=case.n_effective)


def _item_agreement(case: Case) -> Result:
    if case.sample is None:
        study = item_agreement(*case.item_scores)
    else:
        study = _weighted_agreement(case)
    by = case.table(agreement=study.agreement, kappa=study.kappa)
    return result(
        to_coefficient(study.mean, study),
        worst=finite(study.worst),
        mean_kappa=finite(study.mean_kappa),
        by_respondent=by,
    )


def _weighted_agreement(case: Case) -> ItemAgreement:
    """How far the labelled answers of each respondent come out the same, weighted by how they were
    chosen.
    """
    plain = item_agreement(*case.item_scores)
    if case.cached(label_weights) is None or plain.status != "ok" or case.metric.group:
        return plain
    automatic, human = case.cached(beside_people)
    shares = []
    for weights, scores, labels in zip(answer_weights(case), automatic, human, strict=True):
        share = math.nan
        if weights.any():
            share = float((weights * (scores == labels)).sum() / weights.sum())
        shares.append(share)
    return replace(plain, agreement=tuple(shares))


_TEXTS = need(
    "the texts of the answers",
    lambda case: all(np.nansum(matrix.words) > 0 for matrix in case.matrices),
    "the texts of the answers are not known",
)


def _length_shift(case: Case) -> Result:
    """The mean shift of each respondent's mean number of words."""
    words = list(map(mean_words, case.matrices))
    return result(
        mean_shift(*words, n_effective=case.n_effective), by_respondent=case.by_respondent(*words)
    )


ICC_A1 = Indicator(
    name="icc_a1",
    unit=AGREEMENT,
    one_sided=True,
    title="ICC(A,1), agreement",
    family=ONE_SCALE,
    needs=(PAIR,),
    compute=_icc_a1,
    explains=(icc,),
    repeats=True,
    meaning="ICC(A,1): how closely the same score is repeated; a shift of the mean lowers it.",
    headline=(
        TEST_RETEST,
        PARALLEL_FORMS,
        BLINDNESS,
        RESOLUTION,
        JUDGE_CONSISTENCY,
        JUDGE_AGREEMENT,
    ),
)
indicators = (
    Indicator(
        name="pearson",
        unit=CORRELATION,
        one_sided=True,
        title="Pearson r",
        family=PAIRS,
        needs=(PAIR,),
        compute=_pearson,
        explains=(pearson,),
        repeats=True,
        meaning=("Pearson's correlation of the respondents' scores."),
        headline=(TEST_RETEST, PARALLEL_FORMS, BLINDNESS, RESOLUTION, CRITERION),
    ),
    Indicator(
        name="pearson_same_items",
        unit=CORRELATION,
        one_sided=True,
        title="Pearson r, judged items alone",
        family=JUDGES,
        headline=(CRITERION,),
        meaning="The same correlation, with the benchmark's scores on the judged items alone.",
        explains=(pearson,),
        needs=(
            PAIR,
            need("judgements of a sample of the items", lambda case: case.unsampled is not None),
        ),
        compute=_same_items,
    ),
    Indicator(
        name="spearman",
        unit=CORRELATION,
        one_sided=True,
        title="Spearman's rho",
        family=PAIRS,
        needs=(PAIR,),
        explains=(spearman,),
        repeats=True,
        meaning="Spearman's rank correlation of the respondents' scores.",
        compute=lambda case: spearman(*case.scores, **case.dependence),
    ),
    Indicator(
        name="tau_b",
        unit=CORRELATION,
        one_sided=True,
        title="Kendall's tau-b",
        family=PAIRS,
        needs=(PAIR,),
        explains=(kendall_tau_b,),
        repeats=True,
        meaning=("Kendall's tau-b: concordant less discordant pairs of respondents."),
        compute=lambda case: kendall_tau_b(*case.scores, **case.dependence),
    ),
    ICC_A1,
    Indicator(
        name="icc_c1",
        on_page=False,
        unit=AGREEMENT,
        one_sided=True,
        title="ICC(C,1), consistency",
        family=ONE_SCALE,
        needs=(PAIR,),
        explains=(icc,),
        repeats=True,
        meaning="ICC(C,1): how well the differences between respondents repeat.",
        compute=lambda case: result(
            _with_item_interval(case, "icc_c1", case.cached(_icc).c1),
            sem=finite(case.cached(_icc).sem_consistency),
        ),
    ),
    Indicator(
        name="ccc",
        on_page=False,
        unit=CORRELATION,
        one_sided=True,
        title="Lin's concordance",
        family=ONE_SCALE,
        needs=(PAIR,),
        compute=_ccc,
        explains=(concordance,),
        repeats=True,
        meaning=(
            "Lin's concordance correlation: how close the pairs of scores lie to the line of"
            " identity."
        ),
    ),
    Indicator(
        name="mean_shift",
        unit=SCORE,
        family=ONE_SCALE,
        needs=(PAIR,),
        better="neither",
        explains=(mean_shift,),
        meaning="Mean difference of the scores, other minus first.",
        compute=_mean_shift,
        headline=(PARALLEL_FORMS, BLINDNESS, RESOLUTION, JUDGE_CONSISTENCY, JUDGE_AGREEMENT),
    ),
    Indicator(
        name="limits_of_agreement",
        unit=SCORE,
        family=ONE_SCALE,
        better="neither",
        compute=_limits,
        explains=(bland_altman,),
        meaning=(
            "Bland and Altman: the mean difference, with the limits that hold 95% of the"
            " differences."
        ),
        needs=(PAIR, need_study("respondents for the limits of Bland and Altman", _bland_altman)),
    ),
    Indicator(
        name="item_agreement",
        unit=SHARE,
        family=PAIRS,
        compute=_item_agreement,
        explains=(item_agreement,),
        repeats=True,
        meaning="Share of items that come out the same, mean over respondents.",
        needs=(
            PAIR,
            need(
                "metrics that are shares of items",
                lambda case: case.metrics[0].share and case.metrics[-1].share,
            ),
        ),
        headline=(TEST_RETEST, PARALLEL_FORMS, CRITERION),
    ),
    Indicator(
        name="length_shift",
        unit=WORDS,
        title="length shift (words)",
        family=(PARALLEL_FORMS, BLINDNESS, RESOLUTION),
        needs=(PAIR, _TEXTS),
        better="neither",
        meaning="Mean difference of the answers' length in words, other minus first.",
        digits=2,
        compute=_length_shift,
        explains=(mean_shift,),
        headline=(PARALLEL_FORMS,),
    ),
)
