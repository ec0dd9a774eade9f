"""Two forms of the same items: how far scores survive another wording, and what the wording changes
beside them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np

from hqm.indicators.cases import Case
from hqm.indicators.indicator import (
    AGREEMENT,
    CORRELATION,
    CRAMER,
    DEVIATIONS,
    ELASTICITY,
    LEANING,
    P_VALUE,
    PAIR,
    PARALLEL_FORMS,
    RELIABILITY,
    SCORE,
    SHARE,
    SHARE_DIFFERENCE,
    Indicator,
    Result,
    Study,
    known,
    need,
    result,
    study_of,
)
from hqm.indicators.internal_consistency import icc_of
from hqm.indicators.reruns import retest_of
from hqm.indicators.without_pictures import mean_words, yes_ratio
from hqm.psychometrics import (
    Coefficient,
    ShiftHeterogeneity,
    SignalDetection,
    acquiescence,
    balanced_score,
    dependability,
    equivalence,
    equivalence_margin,
    form_reliability,
    icc,
    length_elasticity,
    mean_shift,
    pair_coherence,
    position_bias,
    shift_heterogeneity,
    shift_heterogeneity_of_scores,
    signal_detection,
    stream,
    wordings_needed,
)
from hqm.psychometrics.resampling import jackknife_variance
from hqm.psychometrics.score_dependability import FEWEST_TO_DECIDE
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array
from hqm.types import finite

_COUNTS = ("tp", "fn", "fp", "tn")


def _seed_noise(case: Case) -> tuple[Array | None, float]:
    """The noise that the seeds alone make in each respondent's score, and the difference that they
    explain.
    """
    runs = case.repeats
    study = runs.once_for_all(retest_of) if runs is not None else None
    if runs is None or study is None or study.rho.status not in ("ok", "not_informative"):
        return None, math.nan
    by = dict(zip(runs.respondents, study.noise, strict=True))
    return np.array([by.get(name, np.nan) for name in case.respondents]), study.mdc95_pooled


def _margin(case: Case) -> Coefficient:
    return equivalence_margin(case.protocol.margin, case.once(_seed_noise)[1])


def _equivalence(case: Case) -> Result:
    margin = case.once(_margin)
    first, other = case.scores
    study = equivalence(first, other, margin.value, n_effective=case.n_effective)
    p = replace(known(study.p, study), method=f"margin {margin.value:g} {margin.method}")
    return result(
        p, margin=finite(margin.value), margin_from=margin.method, shift=finite(study.shift.value)
    )


def _moves(case: Case) -> ShiftHeterogeneity:
    if case.additive:
        answers, again = case.item_scores
        return shift_heterogeneity(answers, again, case.clusters)
    without, without_other = case.both_without
    first, other = case.scores
    return shift_heterogeneity_of_scores(first - other, jackknife_variance(without - without_other))


def _test_of_moves(case: Case) -> Study:
    return case.once(_moves).test


def _heterogeneity(case: Case) -> Result:
    study = case.once(_moves)
    by = case.by_respondent(np.asarray(study.shifts))
    return result(study.deviation, p=finite(study.test.p), i2=finite(study.i2), by_respondent=by)


def _correlation(case: Case) -> Result:
    noise = cast("Array", case.once(_seed_noise)[0])  # one of its needs
    # the second form was usually put once; its noise is taken to be that of the first, and the
    # detail says so
    first, other = case.scores
    study = form_reliability(
        first,
        other,
        noise,
        noise,
        without=case.both_without,
        **case.related,
    )
    observed, attenuation = finite(study.observed.value), finite(study.attenuation)
    return result(study.true, observed=observed, attenuation=attenuation, noise_of="the first form")


def _elasticity(case: Case) -> Result:
    words = np.stack([mean_words(matrix) for matrix in case.matrices], axis=1)
    study = length_elasticity(case.scores.T, words)
    return result(study.elasticity, correlation=finite(study.correlation.value))


def _yes_ratio_shift(case: Case) -> Result:
    """The mean shift of each respondent's share of answers yes."""
    ratios = [yes_ratio(matrix) for matrix in case.matrices]
    return result(
        mean_shift(*ratios, n_effective=case.n_effective), by_respondent=case.by_respondent(*ratios)
    )


def _detections(case: Case) -> list[list[SignalDetection]]:
    return [_signals(matrix) for matrix in case.matrices]


def _signals(matrix: ScoreMatrix) -> list[SignalDetection]:
    """Signal detection of every respondent."""
    zero = np.zeros(len(matrix.respondents))
    counts = [matrix.tallies[key].sum(axis=1) if key in matrix.tallies else zero for key in _COUNTS]
    return [signal_detection(*map(float, row)) for row in zip(*counts, strict=True)]


def _d_prime_shift(case: Case) -> Result:
    """The mean shift of each respondent's d'."""
    return _shift_of(case, [[each.d_prime.value for each in row] for row in case.once(_detections)])


def _criterion_shift(case: Case) -> Result:
    """The mean shift of each respondent's c."""
    return _shift_of(
        case, [[each.criterion.value for each in row] for row in case.once(_detections)]
    )


def _shift_of(case: Case, values: list[list[float]]) -> Result:
    first, other = (np.array(row, dtype=np.float64) for row in values)
    return result(
        mean_shift(first, other, n_effective=case.n_effective),
        by_respondent=case.by_respondent(first, other),
    )


def _flipped(case: Case) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """(items,): the items whose truth the other form inverts."""
    pairs = zip(case.first.items, case.other.items, strict=True)
    return np.asarray(case.mask & np.array([a.target != b.target for a, b in pairs]))


def _said_yes(case: Case) -> tuple[Array, Array, Array]:
    """Of the items whose truth is inverted: 1 for yes, 0 for no, NaN for neither, in both forms;
    the items' clusters.
    """
    flipped = case.once(_flipped)
    rows = []
    for matrix in case.matrices:
        counts = {key: matrix.tallies.get(key, np.zeros(matrix.values.shape)) for key in _COUNTS}
        text = sum(counts.values())
        rows.append(np.where(text > 0, counts["tp"] + counts["fp"], np.nan)[:, flipped])
    return rows[0], rows[1], case.first.clusters[flipped]


def _acquiescence(case: Case) -> Result:
    study = acquiescence(*case.once(_said_yes))
    by = case.by_respondent([each.value for each in study.respondents])
    return result(study.mean, by_respondent=by, deviation=finite(study.deviation))


def _coherence(case: Case) -> Result:
    study = pair_coherence(*case.once(_said_yes))
    by = {
        name: {"coherent": finite(coherent.value), "chance": finite(chance)}
        for name, coherent, chance in zip(
            case.respondents, study.coherent, study.chance, strict=False
        )
    }
    return result(study.mean, by_respondent=by)


def _balanced_score(case: Case) -> Result:
    study = balanced_score(*case.scores, **case.related)
    from scipy.special import ndtri

    forms = [[each.balanced_accuracy for each in row] for row in case.once(_detections)]
    # on different sides of chance by more than noise, for as many tests as there are respondents
    # (Bonferroni): who is below it on both forms is weak, and the forms agree on that
    z = float(ndtri(1 - 0.05 / (2 * len(case.respondents))))
    below = [
        name
        for name, *pair in zip(case.respondents, *forms, strict=True)
        if min(v.value + z * v.se for v in pair) < 0.5 < max(v.value - z * v.se for v in pair)
    ]
    flags = ("NON_PARALLEL",) if below else ()
    return result(
        study.reliability,
        flags=flags,
        by_respondent=case.by_respondent(study.scores),
        below_chance=below,
    )


def _slots(case: Case) -> list[str]:
    return (
        []
        if "tp" in case.first.tallies
        else sorted(key for key in case.first.tallies if key.startswith("slot_"))
    )


def _position_bias(case: Case) -> Result:
    """The mean of the respondents' own values."""
    slots, tallies = _slots(case), case.first.tallies
    truth = np.array([f"slot_{item.target}" for item in case.first.items])
    expected = np.array([(truth == slot).mean() for slot in slots])
    if not expected.all():
        expected = np.full(len(slots), 1 / len(slots))
    chosen = (
        np.array([tallies[slot][m].sum() for slot in slots]) for m in range(len(case.respondents))
    )
    studies = [position_bias(counts, expected) for counts in chosen]
    values = [study.cramer_v for study in studies if np.isfinite(study.cramer_v)]
    by = {
        name: {
            "v": finite(study.cramer_v),
            "p": finite(study.test.p),
            "shares": dict(zip(slots, map(finite, study.shares), strict=False)),
        }
        for name, study in zip(case.respondents, studies, strict=True)
    }
    value = (
        Coefficient(float(np.mean(values)))
        if values
        else Coefficient.absent("insufficient", studies[0].test.reason)
    )
    return result(value, by_respondent=by)


def _over_forms(case: Case) -> Result:
    """ICC(A,1) over all forms: how far one wording's scores stand for those of others drawn like
    these.
    """
    study = case.once(icc_of)
    forms = [matrix.cell.form for matrix in case.matrices]
    means = dict(zip(forms, (finite(float(np.nanmean(row))) for row in case.scores), strict=True))
    return result(
        study.a1,
        forms=len(forms),
        means=means,
        sem=finite(study.sem_agreement),
        mean_of_all=finite(study.ak.value),
    )


def _phi_of_forms(case: Case) -> Result:
    """The lower end is about other respondents and other wordings. Beside it stands how many
    wordings a study should average to show .75, and from how many on it decides that. Two wordings
    leave one degree of freedom, and with it no number.
    """
    forms = len(case.matrices)
    counted: dict[str, Any] = {"forms": forms, "decides": forms >= FEWEST_TO_DECIDE, "goal": _GOAL}
    if forms < 3:
        return result(Coefficient.absent("insufficient", _TWO), **counted)
    rng = stream(case.seed, f"{case.family}.phi_of_forms")
    scores = case.scores.T
    phi = dependability(scores, rng, n_effective=case.n_effective)
    advice = wordings_needed(scores, _GOAL, rng, n_effective=case.n_effective)
    return result(
        phi,
        **counted,
        wordings_needed=advice.needed,
        why_none=advice.reason,
        wording_variance=finite(advice.variance),
        wording_variance_high=finite(advice.variance_high),
    )


_TWO = "what other wordings would give cannot be decided with two wordings"
_GOAL = 0.75
"""What the mean over wordings should show: good, by Koo and Li (2016)."""
_FAMILY = (PARALLEL_FORMS,)
_TOGETHER = need("two wordings of the same questions", lambda case: case.together)
_SEVERAL = need("three forms or more", lambda case: case.together and len(case.matrices) > 2)
_YES_NO = (
    PAIR,
    need("yes/no questions", lambda case: all("tp" in matrix.tallies for matrix in case.matrices)),
)
_INVERTED = (
    *_YES_NO,
    need(
        "questions whose truth the other form inverts", lambda case: bool(case.once(_flipped).any())
    ),
)
_NOISE_KNOWN = need(
    "two runs of the first form",
    lambda case: case.once(_seed_noise)[0] is not None,
    "the first form was put once: without a second run the seeds' noise is not known",
)

indicators = (
    Indicator(
        name="icc_a1_of_forms",
        unit=AGREEMENT,
        title="ICC(A,1) over all forms",
        one_sided=True,
        family=_FAMILY,
        needs=(_SEVERAL,),
        compute=_over_forms,
        explains=(icc,),
        meaning=(
            "ICC(A,1) over three forms or more: how far one wording's scores stand for another's,"
            " drawn like these."
        ),
    ),
    Indicator(
        name="phi_of_forms",
        unit=RELIABILITY,
        title="Phi of the mean of all forms",
        one_sided=True,
        family=_FAMILY,
        needs=(_TOGETHER,),
        explains=(dependability, wordings_needed),
        headline=_FAMILY,
        meaning=(
            "Phi over three forms or more: how far the mean over as many wordings, drawn like"
            " these,"
            " would come back."
        ),
        compute=_phi_of_forms,
    ),
    Indicator(
        name="equivalence",
        unit=P_VALUE,
        family=_FAMILY,
        compute=_equivalence,
        explains=(equivalence, equivalence_margin),
        better="lower",
        meaning=(
            "P-value of two one-sided tests that the means of the two forms differ by less than a"
            " margin that was declared (--set margin=...) or that the seeds set."
        ),
        needs=(PAIR, study_of("a margin for the difference", _margin)),
    ),
    Indicator(
        name="form_heterogeneity",
        unit=SCORE,
        family=_FAMILY,
        compute=_heterogeneity,
        better="lower",
        meaning=(
            "Standard deviation over respondents of the form's effect, beyond the items' noise."
        ),
        needs=(PAIR, study_of("respondents for a test of heterogeneity", _test_of_moves)),
        explains=(shift_heterogeneity, shift_heterogeneity_of_scores),
    ),
    Indicator(
        name="form_correlation",
        unit=CORRELATION,
        one_sided=True,
        family=_FAMILY,
        needs=(PAIR, _NOISE_KNOWN),
        compute=_correlation,
        explains=(form_reliability,),
        meaning="Correlation of the two forms' scores without the noise of the seeds.",
    ),
    Indicator(
        name="length_elasticity",
        unit=ELASTICITY,
        family=_FAMILY,
        needs=(PAIR,),
        compute=_elasticity,
        explains=(length_elasticity,),
        better="neither",
        meaning="Change of the score in percent per percent of length, within respondents.",
    ),
    Indicator(
        name="yes_ratio_shift",
        unit=SHARE_DIFFERENCE,
        title="yes-ratio shift",
        family=_FAMILY,
        needs=_YES_NO,
        compute=_yes_ratio_shift,
        better="neither",
        meaning="Mean difference of the share of answers yes, other minus first.",
        explains=(mean_shift,),
        headline=_FAMILY,
    ),
    Indicator(
        name="d_prime_shift",
        unit=DEVIATIONS,
        title="d' shift",
        family=_FAMILY,
        needs=_YES_NO,
        compute=_d_prime_shift,
        better="neither",
        meaning="Mean difference of sensitivity d', other minus first.",
        explains=(mean_shift, signal_detection),
    ),
    Indicator(
        name="criterion_shift",
        unit=DEVIATIONS,
        family=_FAMILY,
        needs=_YES_NO,
        compute=_criterion_shift,
        better="neither",
        meaning=(
            "Mean difference of the response criterion c (positive: tends to no), other minus"
            " first."
        ),
        explains=(mean_shift, signal_detection),
    ),
    Indicator(
        name="acquiescence",
        unit=LEANING,
        family=_FAMILY,
        needs=_INVERTED,
        compute=_acquiescence,
        explains=(acquiescence,),
        better="neither",
        meaning="Mean tendency to say yes, whatever is asked: the two forms' truths are opposite.",
        headline=_FAMILY,
    ),
    Indicator(
        name="coherence",
        unit=SHARE,
        family=_FAMILY,
        needs=_INVERTED,
        compute=_coherence,
        explains=(pair_coherence,),
        meaning=(
            "Share of item pairs answered coherently: yes to exactly one of a question and its"
            " negation."
        ),
    ),
    Indicator(
        name="balanced_score",
        unit=RELIABILITY,
        one_sided=True,
        family=_FAMILY,
        needs=_INVERTED,
        compute=_balanced_score,
        explains=(balanced_score,),
        meaning="Reliability of the mean of both forms, in which a tendency to say yes cancels.",
    ),
    Indicator(
        name="position_bias",
        unit=CRAMER,
        family=_FAMILY,
        compute=_position_bias,
        explains=(position_bias,),
        better="lower",
        meaning="Cramer's V of the slots chosen in multiple choice, mean over respondents.",
        needs=(PAIR, need("multiple-choice questions", lambda case: bool(_slots(case)))),
    ),
)
