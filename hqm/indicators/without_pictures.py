"""What can be known without the picture: blind solvability and cues that give the label away."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hqm.indicators.cases import Case, values_and_ends
from hqm.indicators.indicator import (
    CUES,
    ITEMS,
    MEAN_OF_ITEMS,
    PARALLEL_FORMS,
    SCORE,
    SHARE,
    SOLVABILITY,
    Indicator,
    Result,
    need,
    need_study,
    result,
)
from hqm.lint.answer_leaks import LEAK_ALPHA, Leaks, can_leak, leaks_in
from hqm.psychometrics import (
    advantages,
    blind_solvability,
    leakage_cues,
    length_cue,
    older_advantages,
)
from hqm.psychometrics.items.leaks import ALPHA, Leakage, Stratum
from hqm.psychometrics.items.solvability import LengthCue, Solvability
from hqm.psychometrics.reliability.form_effect import Advantages
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array, ratio
from hqm.types import ORIGINAL, Form, finite

_MAX_ROWS = 40
"""Rows of types and parts that a detail holds at most, beyond those that leak."""


def _leaks(case: Case) -> Leaks:
    return leaks_in(Form(ORIGINAL, tuple(case.first.items)), case.seed)


def _guesser(case: Case) -> Solvability:
    return case.cached(_leaks).words


def _cues(case: Case) -> Leakage:
    return case.cached(_leaks).cues


def _lengths(case: Case) -> LengthCue:
    return case.cached(_leaks).lengths


def _rows(strata: Sequence[Stratum]) -> list[dict[str, object]]:
    """The strata for a detail: of every type and part the strongest row, and every row that
    leaks.
    """
    strongest: dict[tuple[str, str], Stratum] = {}
    for stratum in strata:
        key = stratum.type, stratum.part
        # By the lower end of the gain: a large gain in five items is chance.
        if key not in strongest or stratum.low > strongest[key].low:
            strongest[key] = stratum
    included = list(strongest.values())
    # marginal strata first: a type of a part is only listed where there is room
    included = sorted(included, key=lambda s: bool(s.type and s.part))[:_MAX_ROWS]
    # A leak is listed whatever the limit of rows is.
    included += [stratum for stratum in strata if stratum.shown and stratum not in included]
    return [
        {
            "type": s.type,
            "part": s.part,
            "name": s.name,
            "cue": s.cue,
            "items": s.items,
            "images": s.clusters,
            "accuracy": finite(s.accuracy),
            "baseline": finite(s.baseline),
            "gain": finite(s.gain),
            "low": finite(s.low),
            "high": finite(s.high),
            "p": finite(s.p),
            "leak": s.shown,
            "detectable": finite(s.detectable),
            "status": s.status,
            "reason": s.reason,
        }
        for s in included
    ]


def _blind_accuracy(case: Case) -> Result:
    study = case.cached(_guesser)
    rows = [
        {
            "type": t.name,
            "items": t.items,
            "accuracy": finite(t.accuracy.value),
            "baseline": finite(t.baseline),
            "guess": finite(t.guess),
            "low": finite(t.accuracy.low),
            "high": finite(t.accuracy.high),
            "q": finite(t.q),
        }
        for t in study.types
    ]
    return result(
        study.accuracy,
        inference="items",
        baseline=finite(study.baseline),
        guess=finite(study.guess),
        gain=finite(study.gain.value),
        gain_interval=[finite(study.gain.low), finite(study.gain.high)],
        p=finite(study.p),
        by_type=rows,
        items=case.cached(_leaks).sampled,
        strata=_rows(study.strata),
        alpha=LEAK_ALPHA,
        leaks=[leak.name for leak in study.leaks],
    )


def _leakage_cues(case: Case) -> Result:
    """The number of cues that leak in some type or part, by ends of their gain that hold for all of
    them together.
    """
    study = case.cached(_cues)
    cues = [
        {
            "cue": c.name,
            "where": c.strongest.name,
            "accuracy": finite(c.strongest.accuracy),
            "baseline": finite(c.strongest.baseline),
            "gain": finite(c.strongest.gain),
            "p": finite(c.strongest.p),
            "leak": c.leak,
        }
        for c in study.cues
    ]
    giveaways = [
        {
            "phrase": g.phrase,
            "label": g.label,
            "type": g.type,
            "items": g.items,
            "share": finite(g.share),
        }
        for g in study.giveaways[:20]
    ]
    constant = [{"type": kind, "label": label} for kind, label in study.constant_types]
    return result(
        float(len(study.leaks)),
        cues=cues,
        giveaways=giveaways,
        constant_types=constant,
        strata=_rows(study.strata),
        order=_rows([stratum for stratum in case.cached(_leaks).order.strata if stratum.shown]),
        alpha=LEAK_ALPHA,
    )


def _length_accuracy(case: Case) -> Result:
    """Words that all questions begin and end with are not counted.

    The value is that of the type and part where counting gains most; its interval holds for all of
    them together.
    """
    # The type and part is chosen by its gain, so that the interval allows for all of them.
    study = case.cached(_lengths)
    best = study.strongest
    rows = []
    for rule in study.rules:
        (row,) = _rows([rule.stratum])
        row["rule"] = rule.sentence
        row["threshold"] = rule.threshold
        row["cross_validated"] = finite(rule.accuracy.value)
        rows.append(row)
    return result(
        best.accuracy,
        inference="items",
        where=best.stratum.name,
        rule=best.sentence,
        threshold=best.threshold,
        baseline=finite(best.baseline),
        gain=finite(best.accuracy.value - best.baseline),
        leak=best.stratum.shown,
        strata=rows,
        alpha=ALPHA,
    )


_FAMILY = (SOLVABILITY,)
_LABELS = need(
    "labels to predict",
    lambda case: can_leak(case.first.items),
    "there is no right answer to predict",
)
_CLOSED = need(
    "labels to predict",
    lambda case: can_leak(case.first.items) and case.first.items[0].task != "vqa",
    "there is no label to predict: the answers are open",
)

ADDED = "added"
"""The field of an item that says when it was added: a year, or a date that begins with it."""


def _wording_advantage(case: Case) -> Result:
    # The released wording against the mean of all others: one rewording may be easier by itself.
    first, *rewordings = case.scores
    first_replicates, *rewording_replicates = case.jackknife_scores
    study = advantages(
        first,
        np.mean(rewordings, axis=0),
        (first_replicates, np.mean(rewording_replicates, axis=0)),
        n_effective=case.n_effective,
    )
    return _advantage_result(case, study, rewordings=len(rewordings))


def _added(case: Case) -> list[str]:
    """When each item was added; empty where its record does not say."""
    return [str(item.meta.get(ADDED) or "") for item in case.items]


def _older(case: Case) -> npt.NDArray[np.bool_]:
    """(items,): those of the earlier dates, up to half of the items or the first date."""
    added = np.array(case.cached(_added))
    # A year, and a date that begins with one, are in the order of time as texts.
    dates = np.sort(added)
    middle = dates[len(dates) // 2]
    return np.asarray(added < middle if (added < middle).any() else added <= middle)


def _age_advantage(case: Case) -> Result:
    # Who met a benchmark in training met its older items first.
    older = case.cached(_older)
    study = older_advantages(case.first_scores, older, case.clusters, n_effective=case.n_effective)
    return _advantage_result(case, study, older=int(older.sum()), newer=int((~older).sum()))


def _advantage_result(case: Case, study: Advantages, **counted: object) -> Result:
    """The mean over respondents, with each respondent's own beside it."""
    remembered = case.names(study.remembered)
    # Without a test nobody has an excess, and the columns of a table are equally long.
    absent = [math.nan] * len(case.respondents)
    own, lows, highs = values_and_ends(study.by_respondent)
    by = case.table(
        own=own,
        low=lows,
        high=highs,
        beyond_others=study.excess or absent,
        p=study.p or absent,
    )
    detail = {"remembered": remembered, "by_respondent": by, **counted}
    return Result(study.mean, detail, ("REMEMBERED",) if remembered else ())


_HIGHER = need("a metric of which more is better", lambda case: case.metric.better != "lower")


indicators = (
    Indicator(
        name="blind_accuracy",
        unit=SHARE,
        family=_FAMILY,
        needs=(_LABELS, need_study("items to learn from", _guesser)),
        compute=_blind_accuracy,
        meaning=(
            "Share of right answers that are guessed from nothing but words, options and the"
            " frequencies of answers, on items not seen."
        ),
        explains=(blind_solvability,),
        better="lower",
        headline=_FAMILY,
    ),
    Indicator(
        name="leakage_cues",
        unit=CUES,
        family=_FAMILY,
        needs=(_LABELS, need_study("items to learn from", _cues)),
        compute=_leakage_cues,
        meaning=(
            "Cues that a respondent sees (an option's length or text, an article, punctuation, ...)"
            " and that predict the right answer beyond chance in a type or part."
        ),
        explains=(leakage_cues,),
        better="lower",
        digits=0,
        headline=_FAMILY,
    ),
    Indicator(
        name="length_accuracy",
        unit=SHARE,
        family=_FAMILY,
        needs=(_CLOSED, need_study("texts of two labels", _lengths)),
        compute=_length_accuracy,
        meaning=(
            "Share of labels that a threshold of the number of words predicts on items not seen, in"
            " the type and part where it gains most."
        ),
        explains=(length_cue,),
        better="lower",
        headline=_FAMILY,
    ),
    Indicator(
        name="released_advantage",
        unit=SCORE,
        title="released wording less its rewordings",
        family=(PARALLEL_FORMS,),
        needs=(
            need("two wordings of the same questions", lambda case: case.is_joint),
            _HIGHER,
        ),
        compute=_wording_advantage,
        explains=(advantages,),
        better="neither",
        meaning=(
            "How much higher the released wording scores than the mean of its rewordings; who gains"
            " more than the others may have met it before."
        ),
    ),
    Indicator(
        name="older_advantage",
        unit=SCORE,
        title="older items less newer ones",
        family=(ITEMS,),
        needs=(
            need("items with two dates", lambda case: len(set(case.cached(_added)) - {""}) > 1),
            need("a date for every item", lambda case: all(case.cached(_added))),
            MEAN_OF_ITEMS,
            _HIGHER,
        ),
        compute=_age_advantage,
        explains=(older_advantages,),
        better="neither",
        meaning=(
            "How much higher the items that were added earlier score than later ones; who gains"
            " more than the others may have met them before."
        ),
    ),
)


def yes_ratio(matrix: ScoreMatrix) -> Array:
    """(respondents,): the share of answers yes among those that say yes or no."""
    # Answers that say neither are in none of the four, and are left out of the share.
    answers = sum(matrix.tallies[key].sum(axis=1) for key in ("tp", "fp", "tn", "fn"))
    yes = matrix.tallies["tp"].sum(axis=1) + matrix.tallies["fp"].sum(axis=1)
    return ratio(yes, answers)


def mean_words(matrix: ScoreMatrix) -> Array:
    """(respondents,): mean length of the answers, in words."""
    counts = np.isfinite(matrix.words).sum(axis=1)
    return ratio(np.nansum(matrix.words, axis=1), counts)
