"""Two forms of the same items: how far scores survive another wording, and what the wording changes
beside them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from hqm.indicators.cases import Case, numbers
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
    need,
    need_study,
    result,
    to_coefficient,
)
from hqm.indicators.internal_consistency import icc_of
from hqm.indicators.paired_scores import far_influence
from hqm.indicators.reruns import item_targets, retest_of
from hqm.indicators.without_pictures import mean_words, yes_ratio
from hqm.psychometrics import (
    Coefficient,
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
from hqm.psychometrics.inference.resampling import jackknife_variance
from hqm.psychometrics.reliability.form_effect import ShiftHeterogeneity
from hqm.psychometrics.reliability.score_dependability import MIN_WORDINGS
from hqm.psychometrics.validity.response_bias import SignalDetection
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array
from hqm.types import finite

_COUNTS = ("tp", "fn", "fp", "tn")


def _seed_noise(case: Case) -> tuple[Array | None, float]:
    """The noise that the seeds alone make in each respondent's score, and the difference that they
    explain.
    """
    runs = case.repeats
    if runs is None:
        return None, math.nan
    study = runs.cached_across_cases(retest_of)
    # Of identical runs (not informative) the noise is known: it is 0.
    if study.rho.status not in ("ok", "not_informative"):
        return None, math.nan
    # the noise is taken from the runs of the reference form, by respondent
    by = dict(zip(runs.respondents, study.noise, strict=True))
    noise = np.array([by.get(name, math.nan) for name in case.respondents])
    return noise, study.mdc95_pooled


def _margin(case: Case) -> Coefficient:
    # Never from the two forms compared: by a margin of their own, forms 32 points apart were
    # equivalent.
    return equivalence_margin(case.protocol.margin, case.cached(_seed_noise)[1])


def _equivalence(case: Case) -> Result:
    margin = case.cached(_margin)
    first, second = case.scores
    study = equivalence(first, second, margin.value, n_effective=case.n_effective)
    p = replace(to_coefficient(study.p, study), method=f"margin {margin.value:g} {margin.method}")
    return result(
        p, margin=finite(margin.value), margin_from=margin.method, shift=finite(study.shift.value)
    )


def _shift_heterogeneity(case: Case) -> ShiftHeterogeneity:
    # of a mean the items' differences show the error; of another metric the scores without each
    # cluster
    if case.additive:
        original, reworded = case.item_scores
        return shift_heterogeneity(original, reworded, case.clusters)
    first_replicates, second_replicates = case.jackknife_pair
    first, second = case.scores
    return shift_heterogeneity_of_scores(
        first - second, jackknife_variance(first_replicates - second_replicates)
    )


def _test_of_moves(case: Case) -> Study:
    return case.cached(_shift_heterogeneity).test


def _heterogeneity(case: Case) -> Result:
    study = case.cached(_shift_heterogeneity)
    by = case.by_respondent(np.asarray(study.shifts))
    return result(study.deviation, p=finite(study.test.p), i2=finite(study.i2), by_respondent=by)


def _correlation(case: Case) -> Result:
    noise = cast("Array", case.cached(_seed_noise)[0])  # one of its needs
    # the second form was usually put once; its noise is taken to be that of the first, and the
    # detail says so
    first, second = case.scores
    study = form_reliability(
        first,
        second,
        noise,
        noise,
        replicates=case.jackknife_pair,
        **case.dependence,
    )
    observed = finite(study.observed.value)
    attenuation = finite(study.attenuation)
    return result(study.true, observed=observed, attenuation=attenuation, noise_of="the first form")


def _elasticity(case: Case) -> Result:
    words = np.stack(list(map(mean_words, case.matrices)), axis=1)
    study = length_elasticity(case.scores.T, words)
    return result(study.elasticity, correlation=finite(study.correlation.value))


def _yes_ratio_shift(case: Case) -> Result:
    """The mean shift of each respondent's share of answers yes."""
    ratios = list(map(yes_ratio, case.matrices))
    return result(
        mean_shift(*ratios, n_effective=case.n_effective), by_respondent=case.by_respondent(*ratios)
    )


def _detections(case: Case) -> tuple[list[SignalDetection], ...]:
    """Signal detection of every respondent, form by form."""
    return tuple(map(_signals, case.matrices))


def _signals(matrix: ScoreMatrix) -> list[SignalDetection]:
    """Signal detection of every respondent."""
    counts = np.zeros((len(matrix.respondents), len(_COUNTS)))
    for column, key in enumerate(_COUNTS):
        # the four counts of a form's answers, summed over items
        if key in matrix.tallies:
            counts[:, column] = matrix.tallies[key].sum(axis=1)
    return [signal_detection(*row) for row in counts.tolist()]


def _d_prime_shift(case: Case) -> Result:
    """The mean shift of each respondent's d'."""
    return _shift_of(case, lambda signals: signals.d_prime.value)


def _criterion_shift(case: Case) -> Result:
    """The mean shift of each respondent's c."""
    return _shift_of(case, lambda signals: signals.criterion.value)


def _shift_of(case: Case, value: Callable[[SignalDetection], float]) -> Result:
    """The mean shift of a value of signal detection from the first form to the second."""
    first, second = (np.array([*map(value, signals)]) for signals in case.cached(_detections))
    return result(
        mean_shift(first, second, n_effective=case.n_effective),
        by_respondent=case.by_respondent(first, second),
    )


def _flipped(case: Case) -> npt.NDArray[np.bool_]:
    """(items,): the items whose truth the other form inverts."""
    targets = zip(item_targets(case.first), item_targets(case.second), strict=True)
    return np.asarray(case.mask & np.array([first != second for first, second in targets]))


def _said_yes(case: Case) -> tuple[Array, Array, npt.NDArray[np.int64]]:
    """Of the items whose truth is inverted: 1 for yes, 0 for no, NaN for neither, in both forms;
    the items' clusters.
    """
    flipped = case.cached(_flipped)
    rows = []
    for matrix in case.matrices:
        counts = {key: matrix.tallies.get(key, np.zeros(matrix.values.shape)) for key in _COUNTS}
        # an answer that is neither yes nor no counts in no cell
        answered = sum(counts.values())
        rows.append(np.where(answered > 0, counts["tp"] + counts["fp"], np.nan)[:, flipped])
    return rows[0], rows[1], case.first.clusters[flipped]


def _acquiescence(case: Case) -> Result:
    study = acquiescence(*case.cached(_said_yes))
    by = case.by_respondent([leaning.value for leaning in study.respondents])
    return result(study.mean, by_respondent=by, deviation=finite(study.deviation))


def _coherence(case: Case) -> Result:
    study = pair_coherence(*case.cached(_said_yes))
    coherent = [share.value for share in study.coherent]
    by = case.table(coherent=coherent, chance=study.chance)
    return result(study.mean, by_respondent=by)


def _balanced_score(case: Case) -> Result:
    study = balanced_score(*case.scores, **case.dependence)
    from scipy.special import ndtri

    # On different sides of chance by more than noise, in two-sided tests of as many respondents as
    # there are (Bonferroni): who is below it on both forms is weak, and the forms agree on that.
    z = float(ndtri(1 - 0.05 / (2 * len(case.respondents))))
    below_chance = []
    for name, *detections in zip(case.respondents, *case.cached(_detections), strict=True):
        accuracies = np.array([detection.balanced_accuracy.value for detection in detections])
        margins = z * np.array([detection.balanced_accuracy.se for detection in detections])
        # below chance on one form and above on the other, beyond what the items explain
        if min(accuracies + margins) < 0.5 < max(accuracies - margins):
            below_chance.append(name)
    return result(
        study.reliability,
        flags=("NON_PARALLEL",) if below_chance else (),
        by_respondent=case.by_respondent(study.scores),
        below_chance=below_chance,
    )


def _slots(case: Case) -> list[str]:
    """The tallies that count the options chosen by their slot; none of yes/no questions."""
    if "tp" in case.first.tallies:
        return []
    return sorted(key for key in case.first.tallies if key.startswith("slot_"))


def _position_bias(case: Case) -> Result:
    """The mean of the respondents' own values."""
    slots = _slots(case)
    targets = Counter(map(str, item_targets(case.first)))
    right = np.array([targets[slot.removeprefix("slot_")] for slot in slots])
    expected = right / len(case.first.items)
    if not expected.all():
        # a slot that is never right cannot have an expected share of 0
        expected = np.full(len(slots), 1 / len(slots))
    # (slots, respondents)
    counts = np.array([case.first.tallies[slot].sum(axis=1) for slot in slots])
    studies = [position_bias(slot_counts, expected) for slot_counts in counts.T]
    values = np.array([study.cramer_v for study in studies])
    by = {}
    for name, study in zip(case.respondents, studies, strict=True):
        by[name] = {
            "v": finite(study.cramer_v),
            "p": finite(study.test.p),
            "shares": dict(zip(slots, map(finite, study.shares), strict=False)),
        }
    value = Coefficient.absent("insufficient", studies[0].test.reason)
    if np.isfinite(values).any():
        value = Coefficient(float(values[np.isfinite(values)].mean()))
    return result(value, by_respondent=by)


def _over_forms(case: Case) -> Result:
    """ICC(A,1) over all forms: how far one wording's scores stand for those of others drawn like
    these.
    """
    study = case.cached(icc_of)
    forms = [matrix.cell.form for matrix in case.matrices]
    means = dict(zip(forms, numbers(np.nanmean(case.scores, axis=1)), strict=True))
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
    counted: dict[str, object] = {"forms": forms, "decides": forms >= MIN_WORDINGS, "goal": _GOAL}
    # Two wordings leave their variance one degree of freedom: its upper end shows nothing.
    if forms < 3:
        return Result(Coefficient.absent("insufficient", _TWO), counted)
    rng = stream(case.seed, f"{case.family}.phi_of_forms")
    scores = case.scores.T
    phi = dependability(scores, rng, n_effective=case.n_effective)
    advice = wordings_needed(scores, _GOAL, rng, n_effective=case.n_effective)
    flags, influence_detail = far_influence(
        case,
        phi,
        scores.mean(axis=1),
        lambda other_rows: dependability(scores[other_rows], rng, draws=1).value,
    )
    detail = {
        **influence_detail,
        **counted,
        "wordings_needed": advice.n_wordings,
        "why_none": advice.reason,
        "wording_variance": finite(advice.variance),
        "wording_variance_high": finite(advice.variance_high),
    }
    return Result(phi, detail, flags)


_TWO = "what other wordings would give cannot be decided with two wordings"
_GOAL = 0.75
"""What the mean over wordings should show: good, by Koo and Li (2016)."""
_FAMILY = (PARALLEL_FORMS,)
_TWO_WORDINGS = need("two wordings of the same questions", lambda case: case.is_joint)
_THREE_FORMS = need("three forms or more", lambda case: case.is_joint and len(case.matrices) > 2)
_YES_NO = (
    PAIR,
    need("yes/no questions", lambda case: all("tp" in matrix.tallies for matrix in case.matrices)),
)
_INVERTED = (
    *_YES_NO,
    need(
        "questions whose truth the other form inverts",
        lambda case: bool(case.cached(_flipped).any()),
    ),
)
_NOISE_KNOWN = need(
    "two runs of the first form",
    lambda case: case.cached(_seed_noise)[0] is not None,
    "the first form was asked once: without a second run the error of the seeds is not known",
)

indicators = (
    Indicator(
        name="icc_a1_of_forms",
        unit=AGREEMENT,
        title="ICC(A,1) over all forms",
        one_sided=True,
        family=_FAMILY,
        needs=(_THREE_FORMS,),
        compute=_over_forms,
        explains=(icc,),
        meaning=(
            "ICC(A,1) over three forms or more: how far one wording's scores agree with another's,"
            " sampled like these."
        ),
    ),
    Indicator(
        name="phi_of_forms",
        unit=RELIABILITY,
        title="Phi of the mean of all forms",
        one_sided=True,
        family=_FAMILY,
        needs=(_TWO_WORDINGS,),
        explains=(dependability, wordings_needed),
        headline=_FAMILY,
        meaning=(
            "Phi over three forms or more: how well the mean over as many wordings, drawn like"
            " these, would repeat."
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
        needs=(PAIR, need_study("a margin for the difference", _margin)),
    ),
    Indicator(
        name="form_heterogeneity",
        unit=SCORE,
        family=_FAMILY,
        compute=_heterogeneity,
        better="lower",
        meaning=(
            "Standard deviation over respondents of the form's effect, beyond the standard error"
            " of the items."
        ),
        needs=(PAIR, need_study("respondents for a test of heterogeneity", _test_of_moves)),
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
        meaning="Correlation of the two forms' scores corrected for the error of the seeds.",
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
