"""What can be known without the picture: blind solvability and cues that give the label away."""

from __future__ import annotations

import numpy as np

from hqm.indicators.cases import Case, number
from hqm.indicators.families import SOLVABILITY
from hqm.indicators.value import Indicator, Result, need, result, study_of
from hqm.psychometrics import Leakage, Solvability, blind_solvability, leakage_cues
from hqm.psychometrics.weights import stream
from hqm.types import Item

_MOST = 12_000
"""Items that the blind guesser is trained on at most; a random sample beyond that, named in the detail."""


def _sample(case: Case) -> list[Item]:
    items = case.first.items
    if len(items) <= _MOST:
        return list(items)
    chosen = stream(case.seed, "solvability.sample").choice(len(items), _MOST, replace=False)
    return [items[i] for i in np.sort(chosen)]


def _guesser(case: Case) -> Solvability:
    sample = case.once(_sample)
    return blind_solvability(
        [item.prompt for item in sample], [str(item.target) for item in sample], rng=stream(case.seed, "solvability"),
        clusters=[item.cluster or item.id for item in sample], types=[item.type for item in sample], folds=5,
    )  # fmt: skip


def _blind_accuracy(case: Case) -> Result:
    study = case.once(_guesser)
    rows = [
        {"type": t.name, "items": t.items, "accuracy": number(t.accuracy.value), "baseline": number(t.baseline), "q": number(t.q)}
        for t in study.types
    ]  # fmt: skip
    return result(
        study.accuracy, over="items", baseline=number(study.baseline), gain=number(study.gain.value),
        gain_interval=[number(study.gain.low), number(study.gain.high)], p=number(study.p), by_type=rows,
        items=len(case.once(_sample)),
    )  # fmt: skip


def _cues(case: Case) -> Leakage:
    items = case.first.items
    return leakage_cues(
        [str(item.target) for item in items], rng=stream(case.seed, "leakage"), questions=[item.prompt for item in items],
        ids=[item.id for item in items], clusters=[item.cluster or item.id for item in items],
        types=[item.type for item in items], folds=5,
    )  # fmt: skip


def _leakage_cues(case: Case) -> Result:
    """The number of cues that leak."""
    study = case.once(_cues)
    cues = [
        {"cue": c.name, "accuracy": number(c.accuracy.value), "baseline": number(c.baseline), "gain": number(c.gain.value),
         "q": number(c.q), "leak": c.leak}
        for c in study.cues
    ]  # fmt: skip
    giveaways = [
        {"phrase": g.phrase, "label": g.label, "type": g.type, "items": g.items, "share": number(g.share)}
        for g in study.giveaways[:20]
    ]
    constant = [{"type": kind, "label": label} for kind, label in study.constant_types]
    return result(float(len(study.leaks)), cues=cues, giveaways=giveaways, constant_types=constant)


def _has_labels(case: Case) -> bool:
    return bool(case.first.items) and case.first.items[0].task in ("yes_no", "choice")


_FAMILY = (SOLVABILITY,)
_LABELS = need("labels to predict", _has_labels, "there is no label to predict: the answers are open")

indicators = (
    Indicator(
        name="blind_accuracy", family=_FAMILY, needs=(_LABELS, study_of("items to learn from", _guesser)), compute=_blind_accuracy,
        meaning="Share of labels that the question's words alone predict on items not seen.", explains=(blind_solvability,),
        better="lower", headline=_FAMILY,
    ),
    Indicator(
        name="leakage_cues", family=_FAMILY, needs=(_LABELS, study_of("items to learn from", _cues)), compute=_leakage_cues,
        meaning="Cues (position, id, length, article, punctuation, ...) that predict the label better than its majority.",
        explains=(leakage_cues,), better="lower", digits=0, headline=_FAMILY,
    ),
)  # fmt: skip
