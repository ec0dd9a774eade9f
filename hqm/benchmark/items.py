"""Read a benchmark's items as its card describes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hqm.benchmark.card import Card
from hqm.errors import DataError
from hqm.files.names import is_url, safe_name
from hqm.files.records import read_records, take
from hqm.types import HALLUCINATION_TYPES, LETTERS, ORIGINAL, Form, Item

_SYNONYMS = {"count": "counting", "number": "counting", "state": "attribute", "text": "ocr"}


def read_items(card: Card, data: Path) -> Form:
    """The original form from the items file that the card names.

    Raises
    ------
    DataError
        The file is missing or broken, an id is used twice, a field is missing, or a target does not fit the task.
    """
    if not card.data.items:
        raise DataError("its card names no items file", place=card.name, remedy='Set items = "..." under [data].')
    path = data / card.data.items
    items, seen = [], set()
    for i, record in enumerate(read_records(path, card.data.encoding), 1):
        place = f"{path}: record {i}"
        item = item_of(record, card, place)
        if item.id in seen:
            raise DataError(f"the id {item.id!r} stands twice", place=place, remedy="Give every item its own id.")
        seen.add(item.id)
        items.append(item)
    return Form(ORIGINAL, tuple(items))


def item_of(record: Mapping[str, Any], card: Card, place: str) -> Item:
    """The item of a record whose fields have the names that the card gives.

    Raises
    ------
    DataError
        A field is missing, the type is unknown, or the target does not fit the task.
    ImageError
        The picture lies outside the image folder.
    """
    names, record = card.fields, dict(record)
    options = record.get(names.options) or ()
    if isinstance(options, str):
        options = tuple(part.strip() for part in options.split("|"))
    image = record.get(names.image) or None
    if image is not None and not is_url(str(image)):
        image = safe_name(str(image), place)
    known = {getattr(names, field) for field in type(names).model_fields}
    return Item(
        id=str(take(record, names.id, place)),
        prompt=str(take(record, names.prompt, place)),
        task=card.task,
        target=_target(record.get(names.target), card, tuple(options), place),
        image=image,
        type=hallucination_type(record.get(names.type), place),
        part=str(record.get(names.part) or ""),
        cluster=str(record.get(names.cluster) or image or ""),
        options=tuple(str(option) for option in options),
        meta={key: value for key, value in record.items() if key not in known},
    )


def _target(target: Any, card: Card, options: tuple[str, ...], place: str) -> Any:
    if card.task == "yes_no":
        said = str(target).strip().lower()
        if said not in ("yes", "no"):
            raise DataError(f"the target is {target!r}", place=place, remedy='A yes/no target is "yes" or "no".')
        return said
    if card.task == "choice":
        letters = LETTERS[: len(options)]
        text = str(target).strip()
        if text in options:
            return letters[options.index(text)]
        if len(options) < 2 or text.upper() not in letters or not text:
            remedy = "A choice needs two options or more, and a target that is an option or its letter."
            raise DataError(f"the target is {target!r} and the options are {list(options)}", place=place, remedy=remedy)
        return text.upper()
    if target is None and card.task == "vqa":
        raise DataError("it has no target", place=place, remedy="A short-answer item needs the right answer.")
    return target


def hallucination_type(label: Any, place: str = "") -> str | None:
    """The hallucination type that a label names; None without a label.

    >>> hallucination_type("OCR"), hallucination_type("Count"), hallucination_type(None)
    ('ocr', 'counting', None)
    """
    if label is None or label == "":
        return None
    name = str(label).strip().lower()
    name = _SYNONYMS.get(name, name)
    if name not in HALLUCINATION_TYPES:
        raise DataError(
            f"{label!r} is no hallucination type",
            place=place,
            remedy=f"The types are {', '.join(HALLUCINATION_TYPES)}.",
        )
    return name
