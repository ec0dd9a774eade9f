"""What a benchmark's items cover."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
    found = []
    for kind in HALLUCINATION_TYPES:
        items = [item for item in form.items if item.type == kind]
        images = {item.image for item in items if item.image}
        wordings = {" ".join(item.prompt.lower().split()) for item in items}
        found.append(TypeCoverage(kind, kind in said, len(items), len(images), len(wordings), labelled))
    return tuple(found)
