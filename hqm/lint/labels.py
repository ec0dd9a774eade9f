"""Checks for cues that give the right answers away, and for types that have too few items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hqm.benchmark.findings import Finding, group_by_type
from hqm.lint.leaks import can_leak, leaks_in
from hqm.psychometrics import Stratum, items_for_error
from hqm.types import HALLUCINATION_TYPES, Form

LARGEST_ERROR = 0.03
"""The standard error up to which a type's score is worth reading by itself."""
TYPE_NOT_MEASURABLE = "type-not-measurable"
_SHOWN = 5


def check_leaks(form: Form) -> Iterable[Finding]:
    """Cues, phrases and words that predict the right answers, with the types and parts in which they do.

    Only yes/no questions and multiple choice are checked, from 20 items on 5 pictures; fewer prove nothing.
    """
    if not can_leak(form.items):
        return
    leaks = leaks_in(form)
    cues = sorted((stratum for stratum in leaks.cues.strata if stratum.shown), key=lambda stratum: -stratum.gain)
    if cues:
        first, names = cues[0], list(dict.fromkeys(stratum.cue for stratum in cues))
        many = "one cue predicts" if len(names) == 1 else f"{len(names)} cues predict"
        sentence = (
            f"{many} the right answers of unseen items in {_places(cues)}; the strongest, {first.cue} in {first.name}, gets "
            f"{first.accuracy:.3f} right where the commonest answer gets {first.baseline:.3f}"
        )
        shown = tuple(f"{s.cue} in {s.name}: {s.accuracy:.3f} right, gain at least {s.low:.3f}" for s in cues[:_SHOWN])
        yield Finding("leakage-cue", sentence, sum(s.items for s in _smallest(cues)), shown)
    giveaways = leaks.cues.giveaways
    if giveaways:
        shown = tuple(
            f"{g.phrase!r}: {g.share:.0%} of {g.items} {g.type} items have the answer {g.label!r}"
            for g in giveaways[:_SHOWN]
        )
        n = len(giveaways)
        sentence = f"{n} {'phrase goes' if n == 1 else 'phrases go'} with one right answer nearly always"
        yield Finding("giveaway-phrase", sentence, giveaways[0].items, shown)
    if leaks.words.leaks:
        first = leaks.words.leaks[0]
        sentence = (
            f"the questions' words alone predict the right answers of unseen items in {_places(leaks.words.leaks)}; in "
            f"{first.name} they get {first.accuracy:.3f} right where the commonest answer gets {first.baseline:.3f}, and a "
            "language model will do better"
        )
        shown = tuple(
            f"{s.name}: {s.accuracy:.3f} of {s.items} items, commonest answer {s.baseline:.3f}, gain at least {s.low:.3f}"
            for s in leaks.words.leaks[:_SHOWN]
        )
        yield Finding("blind-solvable", sentence, sum(s.items for s in _smallest(leaks.words.leaks)), shown)


def _places(strata: Iterable[Stratum]) -> str:
    names = list(dict.fromkeys(stratum.name for stratum in strata))
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _smallest(strata: Sequence[Stratum]) -> list[Stratum]:
    """Types, or where none leaks the parts, each once: how many items are concerned is not counted twice."""
    types = {s.type: s for s in strata if not s.part}
    return list(types.values()) or list({s.part: s for s in strata if not s.type}.values()) or list(strata[:1])


@dataclass(frozen=True, slots=True)
class TooFew:
    """A type whose score is not known well enough."""

    items: int
    error: float
    missing: int
    """How many more items it needs."""
    measured: bool = False
    """Whether the error is that of an audit's answers, and no forecast."""


def check_types(form: Form, claimed: Iterable[str], labelled: bool) -> Iterable[Finding]:
    """Types that are claimed but not there, there but not claimed, or that have too few items to be measured."""
    groups = group_by_type(form)
    claimed = tuple(claimed)
    empty = [kind for kind in claimed if kind not in groups]
    if empty:
        sentence = f"the card claims {', '.join(empty)}, and no item is labelled so"
        yield Finding("type-without-items", sentence, len(empty))
    least = items_for_error(LARGEST_ERROR)
    counts = {kind: len(groups.get(kind, ())) for kind in HALLUCINATION_TYPES}
    yield from too_few({kind: TooFew(n, 0.5 / n**0.5, least - n) for kind, n in counts.items() if 0 < n < least})
    extra = [kind for kind in HALLUCINATION_TYPES if kind in groups and kind not in claimed]
    if extra:
        n = sum(len(groups[kind]) for kind in extra)
        sentence = f"{n} items are labelled {', '.join(extra)}, which the card does not claim"
        yield Finding("type-not-claimed", sentence, n)
    bare = groups.get("", [])
    if bare and (labelled or len(groups) > 1):
        shown = tuple(f"{item.id}: {item.prompt}" for item in bare[:3])
        yield Finding("items-unlabelled", f"{len(bare)} of {len(form)} items have no type", len(bare), shown)


def too_few(few: Mapping[str, TooFew]) -> Iterable[Finding]:
    """The finding about types whose score is not known well enough."""
    if not few:
        return
    shown = tuple(
        f"{kind}: {row.items} items, standard error {row.error:.3f}{' in this audit' if row.measured else ''}, "
        f"{row.missing} more needed"
        for kind, row in few.items()
    )
    which = "1 type has" if len(few) == 1 else f"{len(few)} types have"
    measured = any(row.measured for row in few.values())
    how = "and the answers say so" if measured else "by the number of items, before anybody answered"
    sentence = f"{which} a standard error above {LARGEST_ERROR:g} ({how}): no score of its own"
    yield Finding(TYPE_NOT_MEASURABLE, sentence, sum(row.items for row in few.values()), shown)
