"""What a benchmark's items cover."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hqm.indicators.case import Case, number
from hqm.psychometrics import Coefficient, subscore_value, type_coverage
from hqm.types import HALLUCINATION_TYPES, Estimate, Form


@dataclass(frozen=True, slots=True)
class TypeCoverage:
    """What a benchmark has of one hallucination type."""

    type: str
    claimed: bool
    items: int
    images: int
    wordings: int
    labelled: bool = True

    @property
    def state(self) -> str:
        """`labelled`, `by design` (no labels, but nothing else is asked), `claimed` (said, but no item), or `absent`."""
        if self.items:
            return "labelled" if self.labelled else "by design"
        return "claimed" if self.claimed else "absent"


def coverage(form: Form, claimed: Iterable[str], labelled: bool = True) -> tuple[TypeCoverage, ...]:
    """The eight hallucination types with their items, pictures and distinct wordings.

    A type that the card claims but no item has counts as claimed, never as covered. `labelled` says whether the release
    itself carries the labels.
    """
    said = set(claimed)
    found = []
    for kind in HALLUCINATION_TYPES:
        items = [item for item in form.items if item.type == kind]
        images = {item.image for item in items if item.image}
        wordings = {" ".join(item.prompt.lower().split()) for item in items}
        found.append(TypeCoverage(kind, kind in said, len(items), len(images), len(wordings), labelled))
    return tuple(found)


def type_estimates(one: Case, form: Form, claimed: Iterable[str]) -> Iterable[Estimate]:
    """How many types are measurable, how even they are, and whether a type's own score is worth reporting."""
    items = [item for item, inside in zip(one.first.items, one.mask, strict=True) if inside]
    found = type_coverage(
        [item.type for item in items], HALLUCINATION_TYPES, images=[item.image or item.id for item in items],
        questions=[item.prompt for item in items], claimed=set(claimed),
        scores=one.item_scores[0] if one.additive and not one.metric.group else None,
    )  # fmt: skip
    rows = [
        {"type": t.name, "items": t.items, "images": t.images, "wordings": t.wordings, "share": number(t.share),
         "sem": number(t.sem), "missing_items": t.missing_items, "state": t.state}
        for t in found.types
    ]  # fmt: skip
    yield one.estimate("index", found.index, types=rows, n_min=found.n_min, unlabelled=found.unlabelled)
    yield one.estimate("effective", found.effective, evenness=number(found.evenness.value))
    yield _added_value(one, [item.type or "" for item in items])


def _added_value(one: Case, labels: list[str]) -> Estimate:
    n = len(one.respondents)
    if not one.additive or one.metric.group:
        return one.estimate(
            "added_value", Coefficient.absent("not_applicable", f"{one.metric.name} is no mean of item scores", n)
        )
    if len(set(labels) - {""}) < 2:
        return one.estimate("added_value", Coefficient.absent("not_applicable", "there are fewer than two types", n))
    typed = np.array([bool(label) for label in labels])
    found = subscore_value(one.item_scores[0][:, typed], [label for label in labels if label])
    known = [sub for sub in found if sub.status == "ok"]
    rows = [
        {"type": s.name, "items": s.items, "by_subscore": number(s.by_subscore), "by_total": number(s.by_total),
         "adds": s.adds, "certain": s.certain, "status": s.status, "reason": s.reason}
        for s in found
    ]  # fmt: skip
    if not known:
        reason = found[0].reason if found else "no type"
        return one.estimate(
            "added_value", Coefficient.absent(found[0].status if found else "insufficient", reason, n), types=rows
        )
    return one.estimate("added_value", Coefficient(float(sum(s.adds for s in known)), n=n), types=rows)
