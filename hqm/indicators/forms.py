"""Two forms of the same items: how far scores survive another wording, and what the wording changes beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hqm.indicators.case import Case, number, numbers
from hqm.indicators.runs import retest_of
from hqm.indicators.style import mean_words, yes_ratio
from hqm.psychometrics import (
    Coefficient,
    SignalDetection,
    acquiescence,
    balanced_score,
    equivalence,
    equivalence_margin,
    form_reliability,
    length_elasticity,
    mean_shift,
    pair_coherence,
    position_bias,
    shift_heterogeneity,
    shift_heterogeneity_of_scores,
    signal_detection,
)
from hqm.psychometrics.weights import stream
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array
from hqm.types import Estimate

_COUNTS = ("tp", "fn", "fp", "tn")


def form_effect(one: Case, retests: Case | None, seed: int = 0) -> Iterable[Estimate]:
    """What differs between the two forms beside chance.

    `retests` are the runs of the first form, which show how much of a difference the seeds alone make.
    """
    n = len(one.respondents)
    noise, mdc = _seed_noise(one, retests)
    margin = equivalence_margin(one.scores[0], mdc)
    if margin.status == "ok":
        found = equivalence(one.scores[0], one.scores[1], margin.value)
        p = Coefficient(found.p, n=n) if found.status == "ok" else Coefficient.absent(found.status, found.reason, n)
        yield one.estimate("equivalence", p, margin=number(margin.value), shift=number(found.shift.value))
    else:
        yield one.estimate("equivalence", Coefficient.absent(margin.status, margin.reason, n))
    yield _heterogeneity(one)
    yield _correlation(one, noise, seed)
    yield _elasticity(one)
    yield from _answers_yes(one)
    if "tp" not in one.first.tallies:
        yield from _positions(one)


def _seed_noise(one: Case, retests: Case | None) -> tuple[Array | None, float]:
    if retests is None:
        return None, float("nan")
    found = retest_of(retests)
    if found.rho.status not in ("ok", "not_informative"):
        return None, float("nan")
    by = dict(zip(retests.respondents, found.noise, strict=True))
    return np.array([by.get(name, np.nan) for name in one.respondents]), found.mdc95


def _heterogeneity(one: Case) -> Estimate:
    n = len(one.respondents)
    if one.additive:
        found = shift_heterogeneity(one.item_scores[0], one.item_scores[1], one.clusters)
    else:
        count = one.without.shape[2]
        moved = one.without[0] - one.without[1]
        spread = (
            (count - 1) / count * ((moved - moved.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
            if count > 1
            else moved.sum(axis=1)
        )
        found = shift_heterogeneity_of_scores(one.scores[0] - one.scores[1], spread)
    if found.test.status != "ok":
        return one.estimate("form_heterogeneity", Coefficient.absent(found.test.status, found.test.reason, n))
    by = dict(zip(one.respondents, numbers(np.asarray(found.shifts)), strict=False))
    detail: dict[str, Any] = {"p": number(found.test.p), "i2": number(found.i2), "by_respondent": by}
    return one.estimate("form_heterogeneity", Coefficient(found.deviation, n=n), **detail)


def _correlation(one: Case, noise: Array | None, seed: int) -> Estimate:
    n = len(one.respondents)
    if noise is None:
        reason = "the first form was put once: without a second run the seeds' noise is not known"
        return one.estimate("form_correlation", Coefficient.absent("not_applicable", reason, n))
    # the second form was usually put once; its noise is taken to be that of the first, and the detail says so
    found = form_reliability(one.scores[0], one.scores[1], noise, noise, stream(seed, "form_correlation"))
    detail: dict[str, Any] = {
        "observed": number(found.observed.value),
        "attenuation": number(found.attenuation),
        "noise_of": "the first form",
    }
    return one.estimate("form_correlation", found.true, **detail)


def _elasticity(one: Case) -> Estimate:
    words = np.stack([mean_words(matrix) for matrix in one.matrices], axis=1)
    found = length_elasticity(one.scores.T, words)
    return one.estimate("length_elasticity", found.elasticity, correlation=number(found.correlation.value))


def said_yes(matrix: ScoreMatrix) -> Array:
    """(respondents, items): 1 for yes, 0 for no, NaN for neither."""
    counts = {key: matrix.tallies.get(key, np.zeros(matrix.values.shape)) for key in _COUNTS}
    said = sum(counts.values())
    return np.where(said > 0, counts["tp"] + counts["fp"], np.nan)


def _answers_yes(one: Case) -> Iterable[Estimate]:
    """Acquiescence, coherence and signal detection; for yes/no questions whose truth the other form inverts."""
    if not all("tp" in matrix.tallies for matrix in one.matrices):
        return
    ratios = [yes_ratio(matrix) for matrix in one.matrices]
    by = {name: [number(a), number(b)] for name, a, b in zip(one.respondents, *ratios, strict=True)}
    yield one.estimate("yes_ratio_shift", mean_shift(*ratios), by_respondent=by)
    detections = [signals(matrix) for matrix in one.matrices]
    yield _signal_shift(one, "d_prime_shift", [[s.d_prime.value for s in row] for row in detections])
    yield _signal_shift(one, "criterion_shift", [[s.criterion.value for s in row] for row in detections])
    flipped = one.mask & np.array([a.target != b.target for a, b in zip(one.first.items, one.other.items, strict=True)])
    if not flipped.any():
        return
    first, other = (said_yes(matrix)[:, flipped] for matrix in one.matrices)
    clusters = one.first.clusters[flipped]
    bias = acquiescence(first, other, clusters)
    tendencies = [one_by.value for one_by in bias.respondents]
    yield one.estimate("acquiescence", bias.mean, by_respondent=_by(one, tendencies), deviation=number(bias.deviation))
    pairs = pair_coherence(first, other, clusters)
    coherent = {
        name: {"coherent": number(c.value), "chance": number(chance)}
        for name, c, chance in zip(one.respondents, pairs.coherent, pairs.chance, strict=False)
    }
    yield one.estimate("coherence", pairs.mean, by_respondent=coherent)
    balanced = balanced_score(*one.scores)
    low = [s.balanced_accuracy.value for s in detections[1]]
    against = [name for name, value in zip(one.respondents, low, strict=True) if np.isfinite(value) and value < 0.5]
    flags = ("NON_PARALLEL",) if against else ()
    yield one.estimate(
        "balanced_score",
        balanced.reliability,
        flags=flags,
        by_respondent=_by(one, balanced.scores),
        below_chance=against,
    )


def _by(one: Case, values: Any) -> dict[str, float | None]:
    return dict(zip(one.respondents, [number(float(v)) for v in values], strict=False))


def signals(matrix: ScoreMatrix) -> list[SignalDetection]:
    """Signal detection of every respondent."""
    zero = np.zeros(len(matrix.respondents))
    counts = [matrix.tallies[key].sum(axis=1) if key in matrix.tallies else zero for key in _COUNTS]
    return [signal_detection(*map(float, row)) for row in zip(*counts, strict=True)]


def _signal_shift(one: Case, name: str, values: list[list[float]]) -> Estimate:
    a, b = (np.array(row, dtype=np.float64) for row in values)
    by = {who: [number(x), number(y)] for who, x, y in zip(one.respondents, a, b, strict=True)}
    return one.estimate(name, mean_shift(a, b), by_respondent=by)


def _positions(one: Case) -> Iterable[Estimate]:
    """Which slots were chosen, in multiple choice."""
    slots = sorted(key for key in one.first.tallies if key.startswith("slot_"))
    if not slots:
        return
    truth = np.array([f"slot_{item.target}" for item in one.first.items])
    expected = np.array([(truth == slot).mean() for slot in slots])
    if (expected <= 0).any():
        expected = np.full(len(slots), 1 / len(slots))
    found = [
        position_bias(np.array([one.first.tallies[slot][m].sum() for slot in slots]), expected)
        for m in range(len(one.respondents))
    ]
    values = [one_found.cramer_v for one_found in found]
    known = [v for v in values if np.isfinite(v)]
    reason = found[0].test.reason if found else "nobody answered"
    n = len(one.respondents)
    value = Coefficient(float(np.mean(known)), n=n) if known else Coefficient.absent("insufficient", reason, n)
    by = {
        name: {
            "v": number(f.cramer_v),
            "p": number(f.test.p),
            "shares": dict(zip(slots, map(number, f.shares), strict=False)),
        }
        for name, f in zip(one.respondents, found, strict=True)
    }
    yield one.estimate("position_bias", value, by_respondent=by)
