"""What reruns would show, from the probabilities of the first token, without asking again."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hqm.indicators.case import Case, number
from hqm.psychometrics import Coefficient, expected_retest, temperature_curve
from hqm.scoring.metrics import Array
from hqm.types import Estimate

TEMPERATURES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0)
"""Where the curve over temperature is drawn."""
_ENOUGH = 0.9
"""The share of items that need a probability before anything is estimated."""


def expected(one: Case, probabilities: Array, temperature: float | None) -> Iterable[Estimate]:
    """The expected test-retest reliability of a share of right answers.

    Parameters
    ----------
    one
        The reference administration.
    probabilities
        (respondents, items): the probability that the answer is right, as it was drawn; NaN where it is not known.
    temperature
        The one temperature at which all respondents answered; None where they differ, and there is no curve.
    """
    if not one.additive or one.metric.group or one.metric.better == "lower" or not len(probabilities):
        return
    inside = probabilities[:, one.mask]
    known = np.isfinite(inside).mean(axis=1) >= _ENOUGH
    if known.sum() < 3:
        return
    found = expected_retest(inside[known])
    names = [name for name, has in zip(one.respondents, known, strict=True) if has]
    by = {
        name: {"kappa": number(float(k)), "agreement": number(float(a))}
        for name, k, a in zip(names, found.kappa, found.agreement, strict=True)
    }
    curve = []
    if temperature:
        clipped = np.clip(inside[known], 1e-9, 1 - 1e-9)
        log_odds = temperature * (np.log(clipped) - np.log1p(-clipped))
        drawn = temperature_curve(np.where(np.isfinite(inside[known]), log_odds, np.nan), TEMPERATURES)
        curve = [
            {"temperature": t, "reliability": number(r.value)}
            for t, r in zip(drawn.temperature, drawn.rho, strict=True)
        ]
    pairs = found.pairs
    rho = (
        found.rho
        if found.rho.status != "ok"
        else Coefficient(
            found.rho.value, found.rho.low, found.rho.high, int(known.sum()), found.rho.level, found.rho.method
        )
    )
    yield one.estimate(
        "reliability", rho, r_mean=number(found.r_mean), r_deviation=number(found.r_deviation),
        pair_flip=number(pairs.mean_flip) if pairs else None, expected_tau=number(pairs.expected_tau) if pairs else None,
        by_respondent=by, curve=curve,
    )  # fmt: skip
