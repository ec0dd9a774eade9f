"""What can be known without the picture: blind solvability and cues that give the label away."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hqm.indicators.case import Case, number
from hqm.psychometrics import Coefficient, blind_solvability, leakage_cues
from hqm.psychometrics.weights import stream
from hqm.types import Estimate, Item

_MOST = 12_000
"""Items that the blind guesser is trained on at most; a random sample beyond that, named in the detail."""


def solvable_blind(one: Case, items: tuple[Item, ...], seed: int = 0) -> Iterable[Estimate]:
    """How far questions and their places alone give the labels; of yes/no and multiple-choice items."""
    labels = [label_of(item) for item in items]
    if not items or items[0].task not in ("yes_no", "choice"):
        reason = "there is no label to predict: the answers are open"
        yield one.estimate("blind_accuracy", Coefficient.absent("not_applicable", reason))
        yield one.estimate("leakage_cues", Coefficient.absent("not_applicable", reason))
        return
    chosen = np.arange(len(items))
    if len(items) > _MOST:
        chosen = np.sort(stream(seed, "solvability.sample").choice(len(items), _MOST, replace=False))
    sample = [items[i] for i in chosen]
    questions = [item.prompt for item in sample]
    clusters = [item.cluster or item.id for item in sample]
    types = [item.type for item in sample]
    found = blind_solvability(
        questions, [labels[i] for i in chosen], rng=stream(seed, "solvability"), clusters=clusters, types=types, folds=5
    )
    rows = [
        {
            "type": t.name,
            "items": t.items,
            "accuracy": number(t.accuracy.value),
            "baseline": number(t.baseline),
            "q": number(t.q),
        }
        for t in found.types
    ]
    if found.status == "ok":
        yield one.estimate(
            "blind_accuracy", found.accuracy, over="items", baseline=number(found.baseline), gain=number(found.gain.value),
            gain_interval=[number(found.gain.low), number(found.gain.high)], p=number(found.p), by_type=rows, items=len(sample),
        )  # fmt: skip
    else:
        yield one.estimate("blind_accuracy", Coefficient.absent(found.status, found.reason))
    yield _cues(one, items, labels, seed)


def label_of(item: Item) -> str:
    """What a blind guesser has to predict: yes or no, or the right option's letter."""
    return str(item.target)


def _cues(one: Case, items: tuple[Item, ...], labels: list[str], seed: int) -> Estimate:
    found = leakage_cues(
        labels, rng=stream(seed, "leakage"), questions=[item.prompt for item in items], ids=[item.id for item in items],
        clusters=[item.cluster or item.id for item in items], types=[item.type for item in items], folds=5,
    )  # fmt: skip
    if found.status != "ok":
        return one.estimate("leakage_cues", Coefficient.absent(found.status, found.reason))
    cues = [
        {"cue": c.name, "accuracy": number(c.accuracy.value), "baseline": number(c.baseline), "gain": number(c.gain.value),
         "q": number(c.q), "leak": c.leak}
        for c in found.cues
    ]  # fmt: skip
    giveaways = [
        {"phrase": g.phrase, "label": g.label, "type": g.type, "items": g.items, "share": number(g.share)}
        for g in found.giveaways[:20]
    ]
    constant = [{"type": kind, "label": label} for kind, label in found.constant_types]
    leaks = float(len(found.leaks))
    return one.estimate("leakage_cues", Coefficient(leaks), cues=cues, giveaways=giveaways, constant_types=constant)
