"""The same form in several runs: how far the scores repeat with other seeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hqm.indicators.case import Case, informative, number, numbers
from hqm.psychometrics import (
    Coefficient,
    GeneralizedRetest,
    bias_test,
    icc,
    kendall_w,
    noise_floor,
    rank_stability,
    rho_g,
    rho_g_of_scores,
    standardized_reliability,
)
from hqm.psychometrics.weights import stream
from hqm.types import Estimate

LENGTH = 1000
"""The common length that reliabilities are brought to, in items."""


def retest_of(one: Case) -> GeneralizedRetest:
    """Reliability from the items' noise: of a mean from its items, of a ratio from its scores without each cluster."""
    if one.additive:
        return rho_g(one.item_scores, one.clusters, n_effective=one.n_effective)
    return rho_g_of_scores(one.scores, without=one.without, n_effective=one.n_effective)


def retest(one: Case, seed: int = 0) -> Iterable[Estimate]:
    """What all runs together say of test-retest reliability."""
    found = retest_of(one)
    drift = found.drift
    flags = ("DRIFT",) if drift.status == "ok" and drift.p < 0.05 else ()
    by = dict(zip(one.respondents, numbers(found.sem), strict=True))
    yield one.estimate(
        "rho_g", informative(one, found.rho), flags=flags, sem=number(found.sem_run), by_respondent=by,
        average_of_runs=number(found.rho_average.value), runs=found.runs,
    )  # fmt: skip
    floor = _floor(one)
    yield one.estimate("noise_floor", floor)
    yield one.estimate("gain", _gain(one, found.rho, floor))
    length = standardized_reliability(found.rho, max(len(one.clusters), 1), LENGTH)
    yield one.estimate("rho_g_1000", informative(one, length), length=LENGTH)
    yield one.estimate(
        "drift", _p_value(drift.p, drift.status, drift.reason, drift.n), statistic=number(drift.statistic)
    )
    n = len(one.respondents)
    ok = found.rho.status == "ok"
    yield one.estimate("sem", _derived(found.sem_run, found.rho, n), by_respondent=by)
    yield one.estimate("mdc95", _derived(found.mdc95, found.rho, n))
    yield from _ranks(one, found, ok, seed)
    if len(one.matrices) > 2:
        w = kendall_w(one.scores.T, stream(seed, f"{one.family}.kendall_w"))
        yield one.estimate("kendall_w", informative(one, w.w), mean_spearman=number(w.mean_spearman))
        every = icc(one.scores.T)
        yield one.estimate("icc_a1", informative(one, every.a1), runs=len(one.matrices))


def _derived(value: float, source: Coefficient, n: int) -> Coefficient:
    if source.status not in ("ok", "not_informative") or not np.isfinite(value):
        return Coefficient.absent(
            source.status if source.status != "ok" else "degenerate", source.reason or "no noise", n
        )
    return Coefficient(value, n=n, status=source.status, reason=source.reason)


def _p_value(p: float, status: str, reason: str, n: int) -> Coefficient:
    return Coefficient(p, n=n) if status == "ok" else Coefficient.absent(status, reason, n)  # type: ignore[arg-type]


def _floor(one: Case) -> Coefficient:
    if not one.metric.share:
        reason = f"{one.metric.name} is no share of items, so coin flips have no variance to compare with"
        return Coefficient.absent("not_applicable", reason, len(one.respondents))
    return noise_floor(one.scores[0], len(one.clusters))


def _gain(one: Case, rho: Coefficient, floor: Coefficient) -> Coefficient:
    n = len(one.respondents)
    for source in (floor, rho):
        if source.status not in ("ok", "not_informative"):
            return Coefficient.absent(source.status, source.reason, n)
    if floor.value >= 1:
        return Coefficient.absent("degenerate", "the noise floor is 1", n)
    value = (rho.value - floor.value) / (1 - floor.value)
    return informative(one, Coefficient(value, n=n, flags=("NOISE_FLOOR",) if value <= 0.5 else ()))


def _ranks(one: Case, found: GeneralizedRetest, ok: bool, seed: int) -> Iterable[Estimate]:
    n = len(one.respondents)
    if not ok:
        for name in ("same_winner", "top_k", "pair_flip", "expected_tau"):
            yield one.estimate(name, Coefficient.absent(found.rho.status, found.rho.reason, n))
        return
    ranks = rank_stability(
        found.scores.mean(axis=0), found.noise, stream(seed, f"{one.family}.ranks"), k=(1, 3, 5, 10),
        higher_is_better=one.metric.better != "lower",
    )  # fmt: skip

    def told(value: float, **detail: Any) -> tuple[Coefficient, dict[str, Any]]:
        if ranks.status != "ok" or not np.isfinite(value):
            return Coefficient.absent(
                ranks.status if ranks.status != "ok" else "degenerate", ranks.reason or "undefined", n
            ), {}
        return Coefficient(value, n=n), detail

    top = {one_k.k: one_k for one_k in ranks.top}
    three = top.get(3)
    rows = [
        {"k": t.k, "overlap": number(t.overlap), "same_set": number(t.same_set), "chance": number(t.chance)}
        for t in ranks.top
    ]
    for name, (value, detail) in {
        "same_winner": told(ranks.same_winner),
        "top_k": told(
            three.overlap if three else float("nan"), k=3, chance=number(three.chance) if three else None, rows=rows
        ),
        "pair_flip": told(ranks.mean_flip, adjacent=number(ranks.adjacent_flip), top5=number(ranks.top5_flip)),
        "expected_tau": told(ranks.expected_tau, to_truth=number(ranks.tau_to_truth)),
    }.items():
        yield one.estimate(name, value, **detail)


def shift_is_significant(one: Case) -> bool:
    """Whether the mean moved between the administrations by more than chance (F of the columns)."""
    found = bias_test(one.scores.T)
    return found.status == "ok" and found.p < 0.05
