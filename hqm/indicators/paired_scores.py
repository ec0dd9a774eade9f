"""Two administrations that differ in one facet: how well the scores agree."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.indicators.cases import Case
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
    known,
    need,
    result,
    study_of,
)
from hqm.indicators.labelled import beside_people, drawn_labels, label_weights, sample_flags
from hqm.indicators.without_pictures import mean_words
from hqm.psychometrics import (
    ICC,
    BlandAltman,
    Coefficient,
    ItemAgreement,
    agreement_bounds,
    bias_test,
    bland_altman,
    concordance,
    icc,
    item_agreement,
    kendall_tau_b,
    leave_one_out,
    mean_shift,
    never_narrower,
    own_shifts,
    pearson,
    spearman,
    with_raters,
)
from hqm.scoring.metrics import ratio
from hqm.types import finite

_OF_RERUNS = "of two runs, the end of rho_G holds where that of Pearson's r does not in every world"


def _pearson(case: Case) -> Result:
    r = pearson(*case.scores, **case.related)
    flags, without = _without_each(case)
    if case.facet == "run":
        # of reruns all of 1 - r is noise, which rho_G finds nine times more sharply
        r = replace(r, low=math.nan, high=math.nan)
        without |= {"no_interval_for_others": _OF_RERUNS}
    else:
        r = _over_items(case, "pearson", r)
    if case.sample is None:
        return result(r, flags=flags, **without, **_unread_bounds(case))
    flags = (*flags, *case.once(sample_flags))
    return result(_with_raters(case, r), flags=flags, **without, **_unread_bounds(case))


def _with_raters(case: Case, r: Coefficient) -> Coefficient:
    """The correlation with people whose interval for these respondents also holds their raters'
    errors.
    """
    drawn = case.once(drawn_labels)
    if drawn is None or r.status != "ok":
        return r
    means = [drawn.of(row) for row in range(len(case.respondents))]
    labelled = [row for row, values in enumerate(means) if len(values)]
    replicates = np.stack([means[row] for row in labelled], axis=1)
    return with_raters(r, [pearson(case.scores[0][labelled], row).value for row in replicates])


def _same_items(case: Case) -> Coefficient:
    """The benchmark's scores on the labelled items alone, against the labels. It flatters: both
    sides share the luck of these items.
    """
    if case.sample is None or not case.additive or case.metric.group:
        return pearson(case.first.score(case.metric), case.scores[1], **case.related)
    automatic, human = case.once(beside_people)
    weights = case.once(label_weights)
    both = np.isfinite(automatic) & np.isfinite(human)
    w = np.where(both, 1.0 if weights is None else weights, 0.0)
    total = w.sum(axis=1)
    means = [ratio((w * np.where(both, x, 0.0)).sum(axis=1), total) for x in (automatic, human)]
    return pearson(*means, **case.related)


def _over_items(case: Case, statistic: str, value: Coefficient) -> Coefficient:
    """The coefficient with its interval for these respondents over other items."""
    left = case.agreement_without.get(statistic)
    if left is None or value.status != "ok":
        return value
    scaled = statistic == "pearson"
    bounds = agreement_bounds(value.value, left, *case.both_without, scaled=scaled)
    return never_narrower(replace(value, fixed=bounds))


def shift_of(case: Case) -> Coefficient:
    """The mean shift of the scores, with both intervals where the items are the same on both
    sides.
    """
    without = case.both_without if case.whole is None else None
    return mean_shift(*case.scores, without=without, n_effective=case.n_effective)


def _mean_shift(case: Case) -> Result:
    """The mean shift; of smaller pictures or none, each respondent's own scores and paired
    difference stand beside it.
    """
    shift = shift_of(case)
    if case.facet not in ("resolution", "sight"):
        return Result(shift)
    whole, scaled = case.scores
    own = own_shifts(whole, scaled, case.both_without)
    rows = zip(case.respondents, whole, scaled, own, strict=True)
    by = {
        name: {
            "whole": finite(first),
            "scaled": finite(other),
            "difference": finite(each.value),
            "low": finite(each.low),
            "high": finite(each.high),
        }
        for name, first, other, each in rows
    }
    return result(shift, by_respondent=by)


def _without_each(case: Case) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Whether one respondent makes the correlation, with the range of the correlation without
    each.
    """
    first = case.scores[0]

    def pearson_of(chosen: npt.NDArray[np.intp]) -> float:
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(np.asarray(np.corrcoef(case.scores[:, chosen]))[0, 1])

    influence = leave_one_out(pearson_of, len(first), scores=first)
    if influence.status != "ok":
        return (), {}
    detail: dict[str, Any] = {
        "without_low": finite(influence.low),
        "without_high": finite(influence.high),
        "strongest": case.respondents[influence.strongest],
        "without_strongest": finite(influence.without[influence.strongest]),
    }
    if influence.pair[0] >= 0:
        detail["strongest"] = " and ".join(case.respondents[i] for i in influence.pair)
        detail["without_strongest"] = finite(influence.without_pair)
    return influence.flags, detail


def _unread_bounds(case: Case) -> dict[str, Any]:
    """The mean score if every unscored answer were wrong, and if every one were right; of a mean of
    0/1 scores.
    """
    if not case.additive or case.metric.group:
        return {}
    values = case.first_scores
    unread = ~np.isfinite(values) | ~case.first.answered[:, case.mask]
    low = float(np.where(unread, 0.0, values).mean())
    return {"if_all_wrong": low, "if_all_right": low + float(unread.mean())}


def _icc(case: Case) -> ICC:
    return icc(np.stack(list(case.scores), axis=1), **case.related)


def _icc_a1(case: Case) -> Result:
    study, moved = case.once(_icc), bias_test(case.scores.T, n_effective=case.n_effective)
    flags = ("MEAN_SHIFT",) if moved.p < 0.05 else ()
    return result(
        _over_items(case, "icc_a1", study.a1),
        flags=flags,
        sem=finite(study.sem_agreement),
        mdc95=finite(study.mdc95),
        shift=finite(mean_shift(*case.scores).value),
    )


def _ccc(case: Case) -> Result:
    study = concordance(*case.scores, **case.related)
    return result(
        _over_items(case, "ccc", study.ccc), bias_correction=finite(study.bias_correction)
    )


def _limits(case: Case) -> Result:
    study = case.once(_bland_altman)
    ends = {name: getattr(study, name) for name in ("lower", "upper", "slope")}
    spans: dict[str, Any] = {
        name: [finite(v) for v in (end.value, end.low, end.high)] for name, end in ends.items()
    }
    return result(
        replace(shift_of(case), flags=study.bias.flags), deviation=finite(study.deviation), **spans
    )


def _bland_altman(case: Case) -> BlandAltman:
    return bland_altman(*case.scores, n_effective=case.n_effective)


def _item_agreement(case: Case) -> Result:
    study = item_agreement(*case.item_scores) if case.sample is None else _weighted_agreement(case)
    by = {
        name: {"agreement": finite(a), "kappa": finite(k)}
        for name, a, k in zip(case.respondents, study.agreement, study.kappa, strict=False)
    }
    return result(
        known(study.mean, study),
        worst=finite(study.worst),
        mean_kappa=finite(study.mean_kappa),
        by_respondent=by,
    )


def _weighted_agreement(case: Case) -> ItemAgreement:
    """How far the labelled answers of each respondent come out the same, weighted by how they were
    chosen.
    """
    plain, weights = item_agreement(*case.item_scores), case.once(label_weights)
    if weights is None or plain.status != "ok" or case.metric.group:
        return plain
    automatic, human = case.once(beside_people)
    w = np.where(np.isfinite(automatic) & np.isfinite(human), weights, 0.0)
    alike = np.array(
        [
            float((row * (a == h)).sum() / row.sum()) if row.any() else math.nan
            for row, a, h in zip(w, automatic, human, strict=True)
        ]
    )
    return replace(plain, agreement=tuple(alike.tolist()))


def _length_shift(case: Case) -> Result:
    """The mean shift of each respondent's mean number of words."""
    words = [mean_words(matrix) for matrix in case.matrices]
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
    meaning="ICC(A,1): how far the same score comes back; a shift of the mean lowers it.",
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
            need("judgements of a sample of the items", lambda case: case.whole is not None),
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
        compute=lambda case: spearman(*case.scores, **case.related),
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
        compute=lambda case: kendall_tau_b(*case.scores, **case.related),
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
        meaning="ICC(C,1): how far the differences between respondents come back.",
        compute=lambda case: result(
            _over_items(case, "icc_c1", case.once(_icc).c1),
            sem=finite(case.once(_icc).sem_consistency),
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
        needs=(PAIR, study_of("respondents for the limits of Bland and Altman", _bland_altman)),
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
        needs=(PAIR,),
        better="neither",
        meaning="Mean difference of the answers' length in words, other minus first.",
        digits=2,
        compute=_length_shift,
        explains=(mean_shift,),
        headline=(PARALLEL_FORMS,),
    ),
)
