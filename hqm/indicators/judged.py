"""Judges against themselves, against other judges, and against people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hqm.indicators.case import Case, number, unit_scores
from hqm.psychometrics import (
    Coefficient,
    criterion_validity,
    flip_rate,
    gwet_ac1,
    judge_errors,
    judge_share,
    krippendorff_alpha,
    labels_needed,
    ppi_scores,
    rogan_gladen_scores,
    stream,
)
from hqm.scoring.metrics import Array
from hqm.types import Estimate

_LABELLED = 0.9
"""The reliability of people's scores that `labels_needed` is about."""


def between_judgements(one: Case, runs: Case | None) -> Iterable[Estimate]:
    """Agreement of two judgements of the same answers, and the judge's share of the noise between runs."""
    n = len(one.respondents)
    scores = one.item_scores
    flat = scores.reshape(len(scores), -1)
    known = flat[np.isfinite(flat)]
    binary = bool(len(known)) and bool(np.isin(known, (0, 1)).all())
    yield one.estimate("krippendorff_alpha", krippendorff_alpha(flat, "nominal" if binary else "interval"))
    only = Coefficient.absent("not_applicable", "the verdicts are no yes or no", n)
    yield one.estimate("gwet_ac1", gwet_ac1(flat) if binary else only)
    yield one.estimate("flip_rate", flip_rate(flat, np.tile(one.clusters, n)) if binary else only)
    if one.family == "judge_consistency":
        yield _share(one, runs)


def _share(one: Case, runs: Case | None) -> Estimate:
    n = len(one.respondents)
    if runs is None:
        reason = "the answers were given once: without a second run the answers' own noise is not known"
        return one.estimate("judge_share", Coefficient.absent("not_applicable", reason, n))
    if not one.additive or runs.respondents != one.respondents or runs.n_items != one.n_items:
        reason = "the judged and the repeated administrations do not have the same respondents and items under a mean"
        return one.estimate("judge_share", Coefficient.absent("not_applicable", reason, n))
    found = judge_share(one.item_scores, runs.item_scores, one.clusters)
    by = {
        name: {"judge": number(float(j)), "answers": number(float(r)), "total": number(float(t))}
        for name, j, r, t in zip(one.respondents, found.judge, found.response, found.total, strict=True)
    }
    return one.estimate("judge_share", found.share, by_respondent=by)


def criterion(one: Case, families: Sequence[str], seed: int = 0) -> Iterable[Estimate]:
    """What people's labels say of the scores, beyond the raw correlation."""
    n = len(one.respondents)
    automatic, human = beside_people(one)
    names = (
        "disattenuated", "ceiling", "labels_needed", "sensitivity", "specificity", "kappa", "judge_functioning",
        "prediction_powered", "rogan_gladen",
    )  # fmt: skip
    if not one.additive or one.metric.group:
        reason = f"{one.metric.name} is no mean of item scores"
        yield from (one.estimate(name, Coefficient.absent("not_applicable", reason, n)) for name in names)
        return
    found = criterion_validity(
        automatic, human, stream(seed, "criterion"), families=list(families), n_eff=one.n_effective
    )
    flags = tuple(flag for flag in found.flags if flag in ("ATTENUATION", "DOMINANT_MODEL", "CAPPED"))
    reliabilities: dict[str, Any] = {
        "reliability": number(found.reliability_automatic),
        "reliability_of_people": number(found.reliability_human),
    }
    yield one.estimate(
        "disattenuated",
        found.disattenuated,
        flags=flags,
        raw_full=number(found.full.value),
        raw_same=number(found.same.value),
        **reliabilities,
    )
    known = found.disattenuated.status == "ok" or np.isfinite(found.ceiling)
    ceiling = (
        Coefficient(found.ceiling, n=n)
        if known and np.isfinite(found.ceiling)
        else Coefficient.absent(
            found.disattenuated.status if found.disattenuated.status != "ok" else "degenerate",
            found.disattenuated.reason or "undefined",
            n,
        )
    )
    yield one.estimate("ceiling", ceiling, **reliabilities)
    needed = labels_needed(_LABELLED, found.residual_human, found.true_human)
    yield one.estimate(
        "labels_needed",
        Coefficient(needed, n=n) if np.isfinite(needed) else Coefficient.absent("degenerate", "people's scores show no variance beyond sampling", n),
        target=_LABELLED, labels=found.n_labelled,
    )  # fmt: skip
    yield from _errors(one, automatic, human)


def people_agree(one: Case, raters: Mapping[str, Mapping[tuple[str, str], float]]) -> Estimate:
    """How far the people who labelled agree with each other: a bound on what any score can reach against them."""
    n = len(one.respondents)
    if len(raters) < 2:
        reason = "one person labelled each answer, or nobody says who did (a field 'rater'): agreement needs two"
        return one.estimate("human_agreement", Coefficient.absent("insufficient", reason, n))
    answers = sorted({key for labels in raters.values() for key in labels})
    table = np.array([[labels.get(key, np.nan) for key in answers] for labels in raters.values()])
    known = table[np.isfinite(table)]
    binary = bool(np.isin(known, (0, 1)).all())
    alpha = krippendorff_alpha(table, "nominal" if binary else "interval")
    ac1 = gwet_ac1(table) if binary else None
    bound = float(np.sqrt(alpha.value)) if alpha.status == "ok" and alpha.value > 0 else None
    return one.estimate(
        "human_agreement",
        alpha,
        raters=len(raters),
        answers=len(answers),
        gwet_ac1=number(ac1.value) if ac1 else None,
        bound=bound,
    )


def beside_people(one: Case) -> tuple[Array, Array]:
    """(respondents, items) twice: the benchmark's item scores on all items, and people's labels, NaN where there are none."""
    whole = one.whole if one.whole is not None else one.first
    mask = whole.mask(one.metric)
    automatic = unit_scores(whole.units(one.metric), one.metric)
    place = {item.id: i for i, item in enumerate(whole.items)}
    human = np.full(whole.values.shape, np.nan)
    labels = one.other.values
    columns = [place[item.id] for item in one.other.items]
    human[:, columns] = 1 - labels if one.turned else labels
    return automatic, human[:, mask]


def _errors(one: Case, automatic: Array, human: Array) -> Iterable[Estimate]:
    """Sensitivity, specificity, their homogeneity, and the scores that people's labels correct."""
    n = len(one.respondents)
    both = np.isfinite(automatic) & np.isfinite(human)
    binary = (
        bool(both.any()) and bool(np.isin(automatic[both], (0, 1)).all()) and bool(np.isin(human[both], (0, 1)).all())
    )
    if not binary:
        absent = Coefficient.absent("not_applicable", "scores or labels are not 0 or 1", n)
        for name in ("sensitivity", "specificity", "kappa", "judge_functioning", "rogan_gladen"):
            yield one.estimate(name, absent)
    else:
        errors = judge_errors(automatic, human)
        if errors.status != "ok":
            absent = Coefficient.absent(errors.status, errors.reason, n)
            for name in ("sensitivity", "specificity", "kappa", "judge_functioning", "rogan_gladen"):
                yield one.estimate(name, absent)
        else:
            yield one.estimate("sensitivity", errors.sensitivity, range=number(errors.range_sensitivity))
            yield one.estimate("specificity", errors.specificity, range=number(errors.range_specificity))
            pooled = errors.pooled
            yield one.estimate(
                "kappa", _known(pooled.kappa, n), agreement=number(pooled.agreement), ac1=number(pooled.ac1),
                positive=number(pooled.positive), negative=number(pooled.negative), answers=pooled.n,
            )  # fmt: skip
            tests = [p for p in (errors.p_sensitivity, errors.p_specificity) if np.isfinite(p)]
            yield one.estimate(
                "judge_functioning", _known(min(1.0, len(tests) * min(tests)) if tests else np.nan, n),
                p_sensitivity=number(errors.p_sensitivity), p_specificity=number(errors.p_specificity),
                homogeneous=errors.homogeneous,
            )  # fmt: skip
            yield _rogan_gladen(one, rogan_gladen_scores(automatic, human, errors))
    yield _prediction_powered(one, automatic, human)


def _known(value: float, n: int) -> Coefficient:
    return (
        Coefficient(value, n=n)
        if np.isfinite(value)
        else Coefficient.absent("degenerate", "one category stands alone", n)
    )


def _rogan_gladen(one: Case, scores: Sequence[Coefficient]) -> Estimate:
    n = len(one.respondents)
    known = [found.value for found in scores if found.status == "ok"]
    if not known:
        first = scores[0] if scores else Coefficient.absent("insufficient", "nobody was judged", n)
        return one.estimate("rogan_gladen", Coefficient.absent(first.status, first.reason, n))
    return one.estimate("rogan_gladen", Coefficient(float(np.mean(known)), n=n), by_respondent=_by(one, scores))


def _by(one: Case, scores: Sequence[Coefficient]) -> dict[str, dict[str, float | None]]:
    return {
        name: {"score": number(found.value), **_span(found)}
        for name, found in zip(one.respondents, scores, strict=True)
    }


def _span(found: Coefficient) -> dict[str, float | None]:
    # one respondent's interval is over items; `low` and `high` are only filled where a function has no other place
    low, high = (found.fixed.low, found.fixed.high) if found.fixed is not None else (found.low, found.high)
    return {"low": number(low), "high": number(high)}


def _prediction_powered(one: Case, automatic: Array, human: Array) -> Estimate:
    n = len(one.respondents)
    whole = one.whole if one.whole is not None else one.first
    found = ppi_scores(automatic, human, whole.units(one.metric).clusters)
    known = [score.value for score in found.scores if score.status == "ok"]
    if not known:
        first = found.scores[0] if found.scores else Coefficient.absent("insufficient", "nobody was judged", n)
        return one.estimate("prediction_powered", Coefficient.absent(first.status, first.reason, n))
    changes = [{"respondent": one.respondents[i], "before": a, "after": b} for i, a, b in found.rank_changes]
    return one.estimate(
        "prediction_powered", Coefficient(float(np.mean(known)), n=n), by_respondent=_by(one, found.scores),
        labels=list(found.labels), rank_changes=changes,
    )  # fmt: skip
