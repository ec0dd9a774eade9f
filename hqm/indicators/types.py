"""What a benchmark's items cover."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hqm.indicators.cases import Case, number
from hqm.indicators.families import TYPES
from hqm.indicators.value import MEAN_OF_ITEMS, Indicator, Result, need, result
from hqm.psychometrics import Coefficient, Coverage, subscore_value, type_coverage
from hqm.types import HALLUCINATION_TYPES, Form


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
    rows = []
    for kind in HALLUCINATION_TYPES:
        items = [item for item in form.items if item.type == kind]
        images = {item.image for item in items if item.image}
        wordings = {" ".join(item.prompt.lower().split()) for item in items}
        rows.append(TypeCoverage(kind, kind in said, len(items), len(images), len(wordings), labelled))
    return tuple(rows)


def _coverage(case: Case) -> Coverage:
    items = case.items
    return type_coverage(
        [item.type for item in items], HALLUCINATION_TYPES, images=[item.image or item.id for item in items],
        questions=[item.prompt for item in items], claimed=set(case.claimed),
        scores=case.item_scores[0] if case.additive and not case.metric.group else None,
    )  # fmt: skip


def _index(case: Case) -> Result:
    study = case.once(_coverage)
    rows = [
        {"type": t.name, "items": t.items, "images": t.images, "wordings": t.wordings, "share": number(t.share),
         "sem": number(t.sem), "missing_items": t.missing_items, "state": t.state}
        for t in study.types
    ]  # fmt: skip
    return result(study.index, types=rows, n_min=study.n_min, unlabelled=study.unlabelled)


def _effective(case: Case) -> Result:
    study = case.once(_coverage)
    return result(study.effective, evenness=number(study.evenness.value))


def _labels(case: Case) -> list[str]:
    return [item.type or "" for item in case.items]


def _added_value(case: Case) -> Result:
    """The number of types of which `adds` is true."""
    labels = case.once(_labels)
    typed = np.array([bool(label) for label in labels])
    scores = subscore_value(case.item_scores[0][:, typed], [label for label in labels if label])
    known = [score for score in scores if score.status == "ok"]
    rows = [
        {"type": s.name, "items": s.items, "by_subscore": number(s.by_subscore), "by_total": number(s.by_total),
         "adds": s.adds, "certain": s.certain, "status": s.status, "reason": s.reason}
        for s in scores
    ]  # fmt: skip
    absent = Coefficient.absent(scores[0].status, scores[0].reason) if scores else Coefficient.absent("insufficient", "no type")  # fmt: skip
    return result(float(sum(score.adds for score in known)) if known else absent, types=rows)


_FAMILY = (TYPES,)
_TWO_TYPES = need("two types", lambda case: len(set(case.once(_labels)) - {""}) >= 2, "there are fewer than two types")

indicators = (
    Indicator(
        name="index", family=_FAMILY, compute=_index, explains=(type_coverage,), headline=_FAMILY,
        meaning="Share of the eight types with enough items for a standard error of .03.",
    ),
    Indicator(
        name="effective", family=_FAMILY, compute=_effective, explains=(type_coverage,), headline=_FAMILY,
        meaning="Effective number of types (exponential of the entropy).",
    ),
    Indicator(
        name="added_value", family=_FAMILY, needs=(MEAN_OF_ITEMS, _TWO_TYPES), compute=_added_value, digits=0,
        meaning="Types whose own score says more of them than the total does (Haberman).", explains=(subscore_value,),
    ),
)  # fmt: skip
