"""What reruns would show, from the probabilities of the first token, without asking again."""

from __future__ import annotations

from typing import Any

import numpy as np

from hqm.indicators.cases import Case, number
from hqm.indicators.families import EXPECTED
from hqm.indicators.value import Indicator, Result, need, result
from hqm.psychometrics import Coefficient, expected_retest, temperature_curve
from hqm.scoring.metrics import Array

TEMPERATURES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0)
"""Where the curve over temperature is drawn."""
_ENOUGH = 0.9
"""The share of items that need a probability before anything is estimated."""


def _inside(case: Case) -> Array:
    """(respondents, items): the probabilities of the items that the metric looks at."""
    given = case.probabilities
    return np.empty((0, case.n_items)) if given is None or not len(given) else given[:, case.mask]


def _longer(case: Case) -> Array:
    """(respondents,): the share of a respondent's answers that have more than one word."""
    words = case.first.words[:, case.mask]
    there = np.isfinite(words).sum(axis=1)
    return np.asarray((words > 1).sum(axis=1) / np.maximum(there, 1), dtype=np.float64)


def _known(case: Case) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """(respondents,): whether nearly all of a respondent's items have a probability, which nearly
    always tells the whole answer.
    """
    given = np.isfinite(case.once(_inside)).mean(axis=1) if len(case.once(_inside)) else np.zeros(0)
    return np.asarray((given >= _ENOUGH) & (case.once(_longer)[: len(given)] <= 1 - _ENOUGH))


def _why_unknown(case: Case) -> str:
    """Why fewer than three respondents have probabilities that tell their answers; nothing where
    there are none at all.
    """
    inside = case.once(_inside)
    if not np.isfinite(inside).any():
        return ""
    given = np.isfinite(inside).mean(axis=1) >= _ENOUGH
    longer = given & (case.once(_longer) > 1 - _ENOUGH)
    said = (
        f"{int(case.once(_known).sum())} of {len(given)} respondents have probabilities that tell"
        " their answers, and three are needed"
    )
    if longer.any():
        said += (
            f"; {int(longer.sum())} answer in more than one word, and the probability of the first"
            " word is not that of the answer: take the first token alone as the answer"
            " (--max-tokens 1), or ask again (--runs 2)"
        )
    return said


def _reliability(case: Case) -> Result:
    known = case.once(_known)
    chances = case.once(_inside)[known]
    study = expected_retest(chances)
    names = [name for name, has in zip(case.respondents, known, strict=True) if has]
    by = {
        name: {"kappa": number(float(k)), "agreement": number(float(a))}
        for name, k, a in zip(names, study.kappa, study.agreement, strict=True)
    }
    pairs, rho = study.pairs, study.rho
    if rho.status == "ok":
        rho = Coefficient(rho.value, rho.low, rho.high, int(known.sum()), rho.level, rho.method)
    return result(
        rho,
        flags=("EXPECTED",),
        r_mean=number(study.r_mean),
        r_deviation=number(study.r_deviation),
        pair_flip=number(pairs.mean_flip) if pairs else None,
        expected_tau=number(pairs.expected_tau) if pairs else None,
        by_respondent=by,
        curve=_curve(chances, case.temperature) if case.temperature else [],
    )


def _curve(chances: Array, temperature: float) -> list[dict[str, Any]]:
    """The reliability to expect at other temperatures than the one at which all respondents
    answered.
    """
    clipped = np.clip(chances, 1e-9, 1 - 1e-9)
    log_odds = temperature * (np.log(clipped) - np.log1p(-clipped))
    curve = temperature_curve(np.where(np.isfinite(chances), log_odds, np.nan), TEMPERATURES)
    points = zip(curve.temperature, curve.rho, strict=True)
    return [{"temperature": t, "reliability": number(rho.value)} for t, rho in points]


_FAMILY = (EXPECTED,)
indicators = (
    Indicator(
        name="reliability",
        family=_FAMILY,
        compute=_reliability,
        explains=(expected_retest,),
        headline=_FAMILY,
        meaning="Expected reliability of one run from the probabilities of the first token.",
        needs=(
            need(
                "a mean of item scores of which more is better",
                lambda case: (
                    case.additive and not case.metric.group and case.metric.better != "lower"
                ),
            ),
            need(
                "answers drawn at a temperature above 0",
                lambda case: case.temperature != 0 or not np.isfinite(case.once(_inside)).any(),
                "at temperature 0 a rerun repeats the answers, whatever their probabilities are",
            ),
            need(
                "probabilities of three respondents' answers, and answers that are their first word"
                " alone",
                lambda case: int(case.once(_known).sum()) >= 3,
                _why_unknown,
                "insufficient",
            ),
        ),
    ),
)
