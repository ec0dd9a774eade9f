"""Checks for cues that give the right answers away, and for types that have too few items."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hqm.benchmark.findings import Finding, group_by_type
from hqm.types import HALLUCINATION_TYPES, Form

_MOST = 6_000
"""The most items that the words are tried on, drawn at random. Cues are tried on all items: they depend on the order."""
_GAIN = 0.05
"""A cue that gains less accuracy than this is not reported, however certain it is."""
_FOLDS = 5
_SHOWN = 5


def check_leaks(form: Form, seed: int = 0) -> Iterable[Finding]:
    """Cues, phrases and words that predict the right answers, each with the accuracy it gives.

    Only yes/no questions and multiple choice are checked, from 20 items on 5 pictures; fewer prove nothing.
    """
    from hqm.psychometrics import blind_solvability, leakage_cues
    from hqm.psychometrics.weights import stream

    items = form.items
    if items[0].task not in ("yes_no", "choice"):
        return
    labels = [str(item.target) for item in items]
    questions = [item.prompt for item in items]
    clusters_of = [item.cluster or item.id for item in items]
    types = [item.type for item in items]
    cues = leakage_cues(
        labels, rng=stream(seed, "lint.cues"), questions=questions, ids=[item.id for item in items],
        clusters=clusters_of, types=types, folds=_FOLDS,
    )  # fmt: skip
    leaks = [cue for cue in cues.cues if cue.leak and cue.gain.value >= _GAIN]
    if leaks:
        first = leaks[0]
        many = "one cue predicts" if len(leaks) == 1 else f"{len(leaks)} cues predict"
        sentence = (
            f"{many} the right answers of unseen items; the strongest, {first.name}, gets {first.accuracy.value:.3f} "
            f"right where the commonest answer of each type gets {first.baseline:.3f}"
        )
        shown = tuple(f"{cue.name}: {cue.accuracy.value:.3f} right, q = {cue.q:.2g}" for cue in leaks[:_SHOWN])
        yield Finding("leakage-cue", sentence, len(items), shown)
    if cues.giveaways:
        shown = tuple(
            f"{g.phrase!r}: {g.share:.0%} of {g.items} {g.type} items have the answer {g.label!r}"
            for g in cues.giveaways[:_SHOWN]
        )
        n = len(cues.giveaways)
        sentence = f"{n} {'phrase goes' if n == 1 else 'phrases go'} with one right answer nearly always"
        yield Finding("giveaway-phrase", sentence, cues.giveaways[0].items, shown)
    chosen = list(range(len(items)))
    if len(items) > _MOST:
        chosen = np.sort(stream(seed, "lint.sample").choice(len(items), _MOST, replace=False)).tolist()
    blind = blind_solvability(
        [questions[i] for i in chosen], [labels[i] for i in chosen], rng=stream(seed, "lint.blind"),
        clusters=[clusters_of[i] for i in chosen], types=[types[i] for i in chosen], folds=_FOLDS,
    )  # fmt: skip
    if blind.status == "ok" and blind.p < 0.05 and blind.gain.value >= _GAIN:
        sentence = (
            f"the questions' words alone get {blind.accuracy.value:.3f} of unseen items right, the commonest answer of "
            f"each type {blind.baseline:.3f}; a language model will do better"
        )
        shown = tuple(
            f"{t.name}: {t.accuracy.value:.3f} of {t.items} items, commonest answer {t.baseline:.3f}"
            for t in blind.types
            if t.q < 0.05
        )
        yield Finding("blind-solvable", sentence, len(items), shown)


def check_types(form: Form, claimed: Iterable[str], labelled: bool) -> Iterable[Finding]:
    """Types that are claimed but not there, there but not claimed, or that have too few items to be measured."""
    from hqm.psychometrics import items_for_error

    groups = group_by_type(form)
    claimed = tuple(claimed)
    empty = [kind for kind in claimed if kind not in groups]
    if empty:
        sentence = f"the card claims {', '.join(empty)}, and no item is labelled so"
        yield Finding("type-without-items", sentence, len(empty))
    least = items_for_error(0.03)
    few = {kind: len(groups[kind]) for kind in HALLUCINATION_TYPES if 0 < len(groups.get(kind, ())) < least}
    if few:
        shown = tuple(
            f"{kind}: {n} items, standard error {0.5 / n**0.5:.3f}, {least - n} more needed" for kind, n in few.items()
        )
        which = "1 type has" if len(few) == 1 else f"{len(few)} types have"
        sentence = f"{which} fewer than the {least} items that a standard error of .03 takes: no score of its own"
        yield Finding("type-not-measurable", sentence, sum(few.values()), shown)
    extra = [kind for kind in HALLUCINATION_TYPES if kind in groups and kind not in claimed]
    if extra:
        n = sum(len(groups[kind]) for kind in extra)
        sentence = f"{n} items are labelled {', '.join(extra)}, which the card does not claim"
        yield Finding("type-not-claimed", sentence, n)
    bare = groups.get("", [])
    if bare and (labelled or len(groups) > 1):
        shown = tuple(f"{item.id}: {item.prompt}" for item in bare[:3])
        yield Finding("items-unlabelled", f"{len(bare)} of {len(form)} items have no type", len(bare), shown)
