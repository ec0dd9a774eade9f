"""Two administrations that differ in one facet: how well the scores agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hqm.indicators.case import Case, informative, number
from hqm.indicators.flags import dominant, shifted, unread_bounds
from hqm.indicators.style import mean_words
from hqm.psychometrics import (
    Coefficient,
    bland_altman,
    concordance,
    icc,
    item_agreement,
    kendall_tau_b,
    left_out_bounds,
    mean_shift,
    pearson,
    spearman,
)
from hqm.types import Estimate


def agreement(one: Case) -> Iterable[Estimate]:
    """Every coefficient of agreement between the two administrations' scores."""
    x, y = one.scores
    n = one.n_effective
    strong, without = dominant(one)
    r = _fixed(one, "pearson", informative(one, pearson(x, y, n_effective=n)))
    yield one.estimate("pearson", r, flags=strong, **without, **unread_bounds(one.first, one))
    if one.whole is not None:
        yield one.estimate("pearson_same_items", pearson(one.first.score(one.metric), y, n_effective=n))
    yield one.estimate("spearman", informative(one, spearman(x, y, n_effective=n)))
    yield one.estimate("tau_b", informative(one, kendall_tau_b(x, y, n_effective=n)))
    if one.family != "criterion":  # a human's share and a metric need not have one scale
        found = icc(np.stack([x, y], axis=1))
        moved = shifted(one)
        yield one.estimate(
            "icc_a1",
            _fixed(one, "icc_a1", informative(one, found.a1)),
            sem=number(found.sem_agreement),
            mdc95=number(found.mdc95),
            flags=moved,
            shift=number(mean_shift(x, y).value),
        )
        yield one.estimate(
            "icc_c1", _fixed(one, "icc_c1", informative(one, found.c1)), sem=number(found.sem_consistency)
        )
        lin = concordance(x, y, n_effective=n)
        yield one.estimate(
            "ccc", _fixed(one, "ccc", informative(one, lin.ccc)), bias_correction=number(lin.bias_correction)
        )
        yield one.estimate("mean_shift", _fixed(one, "mean_shift", mean_shift(x, y)))
        yield _limits(one)
    if one.metrics[0].share and one.metrics[-1].share:
        yield items_agree(one)


def _fixed(one: Case, statistic: str, found: Coefficient) -> Coefficient:
    """The coefficient with its interval for these respondents over other items."""
    left = one.agreement_without.get(statistic)
    if left is None or found.status != "ok":
        return found
    return replace(found, fixed=left_out_bounds(found.value, left, reliability=statistic != "mean_shift"))


def _limits(one: Case) -> Estimate:
    found = bland_altman(*one.scores)
    if found.status != "ok":
        return one.estimate("limits_of_agreement", Coefficient.absent(found.status, found.reason, len(one.respondents)))
    detail: dict[str, Any] = {
        "deviation": number(found.deviation),
        "lower": [number(v) for v in (found.lower.value, found.lower.low, found.lower.high)],
        "upper": [number(v) for v in (found.upper.value, found.upper.low, found.upper.high)],
        "slope": [number(v) for v in (found.slope.value, found.slope.low, found.slope.high)],
    }
    return one.estimate("limits_of_agreement", found.bias, **detail)


def items_agree(one: Case) -> Estimate:
    """How many items come out the same."""
    found = item_agreement(*one.item_scores)
    n = len(one.respondents)
    value = Coefficient(found.mean, n=n) if found.status == "ok" else Coefficient.absent(found.status, found.reason, n)
    by = {
        name: {"agreement": number(a), "kappa": number(k)}
        for name, a, k in zip(one.respondents, found.agreement, found.kappa, strict=False)
    }
    detail: dict[str, Any] = {"worst": number(found.worst), "mean_kappa": number(found.mean_kappa), "by_respondent": by}
    return one.estimate("item_agreement", informative(one, value), **detail)


def length_shift(one: Case) -> Estimate:
    """How the wording changes the answers' length."""
    words = [mean_words(matrix) for matrix in one.matrices]
    by = {name: [number(a), number(b)] for name, a, b in zip(one.respondents, *words, strict=True)}
    return one.estimate("length_shift", mean_shift(*words), by_respondent=by)
