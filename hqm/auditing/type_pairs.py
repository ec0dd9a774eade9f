"""One item of each hallucination type, as a reader of a paper wants to see what the type asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hqm.types import HALLUCINATION_TYPES, Form

_LOOKED_AT = 20
"""So many items of a type are looked at for a picture that can be shown and was not shown
before.
"""


def pair_of_each_type(form: Form, thumbnail: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """The first item of each type whose picture can be shown, one that no other type shows if there
    is one.

    Nothing is chosen by what respondents answered: the pair shows what is asked, not what is hard.
    """
    shown: set[str] = set()
    for kind in HALLUCINATION_TYPES:
        items = [item for item in form.items if item.type == kind][:_LOOKED_AT]
        items.sort(key=lambda item: not item.image or item.image in shown)
        pair = next(
            ((item, small) for item in items if item.image and (small := thumbnail(item.image))),
            None,
        )
        if not items:
            continue
        item, small = pair or (items[0], "")
        shown.add(item.image or "")
        yield {
            "type": kind,
            "item": item.id,
            "prompt": item.prompt,
            "options": list(item.options),
            "target": item.target if isinstance(item.target, str) else "",
            "image": item.image or "",
            "thumbnail": small,
        }
