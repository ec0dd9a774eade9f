"""The answer of `hqm design` in one sentence."""

from __future__ import annotations

from hqm.decisions.study_design import PlannedStudy, StudyDesign, amount

_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
_NOTABLE = 0.005


def sentence_of(made: StudyDesign) -> str:
    """What to change about the audited study, and what it saves against changing the number of
    pictures alone.
    """
    changes = _changes(made.now, made.cheapest)
    kept = _kept(made)
    what = _listed(changes) if changes else "Keep the study as it is"
    if changes and kept:
        what = f"{what}, not {kept}"
    what = what[:1].upper() + what[1:]
    targets = _listed(list(made.targets))
    reached = "It reaches" if not changes else "This reaches"
    cost = amount(made.cheapest.cost, made.unit)
    if made.same is None:
        return f"{what}. {reached} {targets} for {cost}; pictures alone never do."
    saving = made.saving or 0.0
    if saving < _NOTABLE:
        return f"{what}. {reached} {targets} for {cost}; no other mix is cheaper."
    alone = (
        "more pictures alone"
        if made.same.pictures >= made.now.pictures
        else "the same study with fewer pictures"
    )
    return (
        f"{what}: {saving:.0%} cheaper than {alone} ({cost} against"
        f" {amount(made.same.cost, made.unit)}), to reach {targets}."
    )


def _changes(now: PlannedStudy, best: PlannedStudy) -> list[str]:
    changes = []
    gap = best.pictures - now.pictures
    if gap:
        changes.append(f"{abs(gap):,} {'more' if gap > 0 else 'fewer'} pictures")
    changes += [f"{n:,} more pictures of {kind}" for kind, n in best.extra.items() if n]
    if best.items != now.items:
        changes.append(
            f"{best.items:g} {'item' if best.items == 1 else 'items'} a picture instead of"
            f" {now.items:g}"
        )
    if best.forms > now.forms:
        more = best.forms - now.forms
        changes.append(
            f"a {_ORDINALS.get(best.forms, 'further')} wording"
            if more == 1
            else f"{more} more wordings"
        )
    elif best.forms < now.forms:
        changes.append(f"{_count(best.forms, 'wording')} instead of {now.forms}")
    if best.runs != now.runs:
        changes.append(f"{_count(best.runs, 'run')} instead of {now.runs}")
    if best.askings != now.askings:
        changes.append(f"the judge asked {_times(best.askings)} instead of {_times(now.askings)}")
    if best.labels != now.labels:
        changes.append(f"{best.labels:,} labels a respondent")
    if best.respondents != now.respondents:
        gap = best.respondents - now.respondents
        changes.append(f"{abs(gap)} {'more' if gap > 0 else 'fewer'} respondents")
    return changes


def _kept(made: StudyDesign) -> str:
    """What more of would not pay, of what was free to vary."""
    kept = [
        word
        for name, axis, word in (("runs", "runs", "more runs"), ("forms", "forms", "more wordings"))
        if name in made.free and getattr(made.cheapest, axis) == getattr(made.now, axis)
    ]
    return " or ".join(kept)


def _count(n: int, word: str) -> str:
    return f"one {word}" if n == 1 else f"{n} {word}s"


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
