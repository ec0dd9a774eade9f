"""What a short form says on the full benchmark's scale, and what it loses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import cast

import numpy as np

from hqm.benchmark.adapter import Calibration, FormLoss
from hqm.indicators.cases import Case
from hqm.indicators.indicator import (
    CORRELATION,
    SCORE,
    SCORE_WIDTH,
    SHARE,
    SHORT_FORM,
    Absence,
    Indicator,
    Need,
    Result,
    result,
    to_coefficient,
)
from hqm.psychometrics import error_factor, scaled_scores
from hqm.psychometrics.reliability.short_forms import ScaledScores
from hqm.scoring.matrix import Sums
from hqm.scoring.metrics import Array
from hqm.types import field_values, finite


def _calibration(case: Case) -> Calibration:
    return cast("Calibration", case.calibration)  # one of its needs


def _loss(case: Case) -> FormLoss:
    return _calibration(case).loss[case.metric.name]


def _lacking(case: Case) -> Absence | None:
    calibration = case.calibration
    if calibration is None:
        return Absence("not_applicable")
    if case.metric.name not in calibration.loss:
        metric_names = ", ".join(calibration.loss)
        return Absence(
            "not_applicable",
            f"the short form was not calibrated for {case.metric.name}, but for {metric_names}",
        )
    # A weight stands for the items that were left out: without one of them the sum means nothing.
    if calibration.positions_of(case.first.ids) is None:
        reason = (
            f"the weights are those of all {len(calibration.ids)} items of the short form, and"
            f" {len(case.first.items)} were asked"
        )
        return Absence("insufficient", reason)
    return None


def _scaled(case: Case) -> ScaledScores:
    calibration = _calibration(case)
    loss = _loss(case)
    # The metric may look at some of the items; weights and auxiliary scores are cut alike.
    scored = case.mask
    positions = np.array(calibration.positions_of(case.first.ids))[scored]
    tallies = {key: values[:, scored] for key, values in case.first.tallies.items()}

    def statistic(sums: Mapping[str, Array]) -> Array:
        return case.metric(Sums(sums, *np.shape(next(iter(sums.values()), 0.0))))

    return scaled_scores(
        tallies,
        statistic,
        calibration.weights[positions],
        calibration.auxiliary[positions],
        factor=loss.factor,
        freedom=loss.freedom,
    )


def _full_scale(case: Case) -> Result:
    """The mean over respondents; each respondent's own score and 95% interval stand in the detail.

    The interval contains the choice of the items: its factor comes from families for which the
    choice was made again.
    """
    study = case.cached(_scaled)
    calibration = _calibration(case)
    loss = _loss(case)
    # NaN where the metric is not defined on a respondent's weighted sums.
    scores = study.scores[np.isfinite(study.scores)]
    short = case.scores[0]
    return result(
        to_coefficient(
            float(scores.mean()) if scores.size else np.nan, missing="no respondent has a score"
        ),
        by_respondent=case.by_respondent(study.scores, study.low, study.high, short),
        full_benchmark=f"{calibration.of}@{calibration.version}",
        full_items=calibration.of_items,
        short_form=calibration.form,
        chosen_by_audit=calibration.audit,
        chosen_by_families=len(set(calibration.families)),
        chosen_how=calibration.method,
        held_out=field_values(loss),
    )


def _loss_result(name: str, case: Case) -> Result:
    # From families that the items were not chosen by: by those they were, a loss looks too small.
    value = getattr(_loss(case), name)
    missing = "the held-out families do not differ"
    return result(
        to_coefficient(np.nan if value is None else value, missing=missing),
        respondents=_loss(case).respondents,
    )


def _parallel(case: Case) -> Result:
    agreement = _calibration(case).parallel[case.metric.name]
    # Computed where the forms were made; an audit of one form has no answers to the other.
    value = agreement["reliability"]
    missing = "the held-out families do not differ"
    shift = finite(agreement["mean_shift"])
    return result(
        to_coefficient(np.nan if value is None else value, missing=missing),
        mean_shift=shift,
        respondents=agreement["respondents"],
    )


_FAMILY = (SHORT_FORM,)
_NEEDS = (
    Need(
        "a short form that `hqm shorten NAME AUDIT --out FOLDER` made, and answers to all of its"
        " items",
        _lacking,
    ),
)
_TWO = (
    *_NEEDS,
    Need(
        "two parallel short forms",
        lambda case: (
            None if case.metric.name in _calibration(case).parallel else Absence("not_applicable")
        ),
    ),
)

indicators = (
    Indicator(
        name="full_scale",
        unit=SCORE,
        title="mean score on the full benchmark's scale",
        family=_FAMILY,
        needs=_NEEDS,
        compute=_full_scale,
        meaning=(
            "What the full benchmark would show: the weighted scores of the short form, and their"
            " mean over respondents."
        ),
        explains=(scaled_scores, error_factor),
        headline=_FAMILY,
    ),
    Indicator(
        name="mean_error",
        unit=SCORE_WIDTH,
        title="mean error of the short form",
        family=_FAMILY,
        needs=_NEEDS,
        compute=partial(_loss_result, "mean_error"),
        meaning=(
            "The mean distance between the short form's and the full benchmark's score, for"
            " families that the items were not chosen by."
        ),
        explains=(scaled_scores,),
        better="lower",
        headline=_FAMILY,
    ),
    Indicator(
        name="tau",
        unit=CORRELATION,
        title="Kendall's tau with the full benchmark",
        family=_FAMILY,
        needs=_NEEDS,
        compute=partial(_loss_result, "tau"),
        meaning=(
            "Kendall's tau-b between the orders on the short form and on the full benchmark, for"
            " families that the items were not chosen by."
        ),
        explains=(scaled_scores,),
        headline=_FAMILY,
    ),
    Indicator(
        name="coverage",
        unit=SHARE,
        title="coverage of the intervals",
        family=_FAMILY,
        needs=_NEEDS,
        compute=partial(_loss_result, "coverage"),
        meaning=(
            "The share of 95% intervals that contain the full benchmark's score, for families that"
            " the items were not chosen by."
        ),
        explains=(scaled_scores, error_factor),
    ),
    Indicator(
        name="parallel_reliability",
        unit=CORRELATION,
        title="reliability of the two short forms",
        family=_FAMILY,
        needs=_TWO,
        compute=_parallel,
        meaning=(
            "Pearson's correlation between two parallel short forms, for families that their items"
            " were not chosen by."
        ),
        explains=(scaled_scores,),
    ),
)
