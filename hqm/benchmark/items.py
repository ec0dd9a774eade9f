"""Read a benchmark's items as its card describes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from hqm.benchmark.card import Card, FieldsSection
from hqm.errors import DataError, FieldError, UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.records import placed_records, take
from hqm.text import plain_name
from hqm.types import HALLUCINATION_TYPES, LETTERS, ORIGINAL, Form, Item

_SYNONYMS = {"count": "counting", "number": "counting", "state": "attribute", "text": "ocr"}


def read_items(card: Card, data: Path) -> Form:
    """The original form from the items file that the card names.

    Raises
    ------
    DataError
        The file is missing or broken, an id is used twice, a field is missing, or a target does not
        fit the task.
    """
    if not card.data.items:
        raise DataError(
            "its card names no items file",
            location=card.name,
            remedy='Set items = "..." under [data].',
        )
    path = data / card.data.items
    items: list[Item] = []
    seen: dict[str, str] = {}
    for place, record in placed_records(path, card.data.encoding):
        item = item_of(record, card, place)
        look = plain_name(item.id)
        if look in seen:
            raise DataError(
                id_twice(seen[look], item.id), location=place, remedy="Give every item its own id."
            )
        seen[look] = item.id
        items.append(item)
    return Form(ORIGINAL, tuple(items))


def id_twice(first: str, item: str) -> str:
    """The sentence about two items whose ids are one, or look the same."""
    return (
        f"the id {item!r} stands twice"
        if first == item
        else f"the ids {first!r} and {item!r} look the same"
    )


def item_of(record: Mapping[str, Any], card: Card, place: str) -> Item:
    """The item of a record whose fields have the names that the card gives; other fields become its
    `meta`.

    Raises
    ------
    DataError
        A field is missing, is misspelt, or holds what no text can be made of; the type is unknown,
        or the target does not fit the task.
    ImageError
        The picture lies outside the image folder.
    """
    names, record = card.fields, dict(record)
    known = _known(names)
    _check_names(record, known, place)
    image = _text(record.get(names.image), names.image, place) or None
    if image is not None and not is_url(image):
        image = safe_name(image, place)
    options = _options(record.get(names.options), names.options, place)
    meta = {key: value for key, value in record.items() if key not in known}
    _check_storable([meta, record.get(names.target)], place)
    return Item(
        id=_text(take(record, names.id, place), names.id, place, required=True),
        prompt=_text(take(record, names.prompt, place), names.prompt, place, required=True),
        task=card.task,
        target=_target(record.get(names.target), card, options, place),
        image=image,
        type=item_type(_text(record.get(names.type), names.type, place), place, card.types),
        part=_text(record.get(names.part), names.part, place),
        cluster=_text(record.get(names.cluster), names.cluster, place) or image or "",
        options=options,
        meta=meta,
    )


@lru_cache(maxsize=16)
def _known(names: FieldsSection) -> frozenset[str]:
    """The names that a file's fields may have."""
    return frozenset(getattr(names, field) for field in FieldsSection.model_fields)


def _check_names(record: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    """Refuse a field that looks like a misspelling of one that the record does not have."""
    others = [name for name in record if name not in known]
    absent = tuple(sorted(known - record.keys())) if others else ()
    for name in others:
        meant = _near(str(name), absent)
        if meant:
            raise FieldError(
                f"the field {name!r} looks like a misspelt {meant[0]!r}",
                location=place,
                remedy=(
                    f"Rename it to {meant[0]!r}; or rename the field, or map it in the card's"
                    f" [fields],"
                    " if it is another."
                ),
            )


@lru_cache(maxsize=1024)
def _near(name: str, absent: tuple[str, ...]) -> list[str]:
    """The field that a record does not have and that a name is close to; asked again for every
    record of a file.
    """
    return get_close_matches(name, absent, cutoff=0.75)


def _text(value: Any, name: str, place: str, *, required: bool = False) -> str:
    """A field's text: a text or a number is taken, null only for a field that may be empty."""
    if isinstance(value, bool) or not (value is None or isinstance(value, (str, int, float))):
        kind = {bool: "true or false", dict: "an object", list: "a list"}.get(
            type(value), type(value).__name__
        )
        raise FieldError(
            f"the field {name!r} is {kind}: {value!r:.60}", location=place, remedy="Write a text."
        )
    if required and (value is None or not str(value).strip()):
        raise FieldError(
            f"the field {name!r} is {'null' if value is None else 'empty'}",
            location=place,
            remedy="Fill it.",
        )
    text = "" if value is None else str(value)
    _check_storable(value, place, name)
    return text


def _options(value: Any, name: str, place: str) -> tuple[str, ...]:
    """The options of a multiple choice: a list of texts, or one text with | between the options."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = value.split("|")
    if not isinstance(value, (list, tuple)):
        raise FieldError(
            f"the options are {value!r:.60}, which is no list",
            location=place,
            remedy='Write a list, ["red", "blue"], or one text, "red|blue".',
        )
    options = tuple(_text(option, name, place, required=True).strip() for option in value)
    if len(options) > len(LETTERS):
        raise FieldError(
            f"it has {len(options)} options, and there are {len(LETTERS)} letters to name them",
            location=place,
            remedy=f"Keep at most {len(LETTERS)} options.",
        )
    return options


def _check_storable(value: Any, place: str, name: str = "") -> None:
    """Refuse what neither a hash nor a store can hold: a number that is none, half of a
    character.
    """
    if isinstance(value, str) and value.isascii() and "\0" not in value:
        return
    what = f"the field {name!r} has" if name else "it has"
    if isinstance(value, float) and not math.isfinite(value):
        raise FieldError(
            f"{what} the number {value!r}", location=place, remedy="Write null, or leave it out."
        )
    if isinstance(value, str) and (
        "\0" in value or any("\ud800" <= character <= "\udfff" for character in value)
    ):
        raise FieldError(
            f"{what} a character that cannot be stored: {value!r:.60}",
            location=place,
            remedy="Save the file as UTF-8 again.",
        )
    if isinstance(value, dict):
        for key, inside in value.items():
            _check_storable(key, place, name)
            _check_storable(inside, place, name or str(key))
    elif isinstance(value, (list, tuple)):
        for inside in value:
            _check_storable(inside, place, name)


def _target(target: Any, card: Card, options: tuple[str, ...], place: str) -> Any:
    if card.task == "yes_no":
        word = str(target).strip().lower()
        if word not in ("yes", "no"):
            raise DataError(
                f"the target is {target!r}",
                location=place,
                remedy='A yes/no target is "yes" or "no".',
            )
        return word
    if card.task == "choice":
        letters = tuple(LETTERS[: len(options)])
        text = str(target).strip()
        if text in options:
            return option_letter(text, options, place)
        if len(options) < 2 or text.upper() not in letters:
            raise DataError(
                f"the target is {target!r} and the options are {list(options)}",
                location=place,
                remedy=(
                    "A choice needs two options or more, and a target that is an option or its"
                    " letter."
                ),
            )
        return text.upper()
    if card.task == "vqa":
        _check_short(target, place)
    return target


def option_letter(text: str, options: Sequence[str], place: str) -> str:
    """The letter of the option with this text.

    Raises
    ------
    DataError
        The text is also the letter of another option.
    """
    letters = tuple(LETTERS[: len(options)])
    letter = letters[options.index(text)]
    if text in letters and text != letter:
        other = options[letters.index(text)]
        raise DataError(
            f"the answer {text!r} is the option {letter} and the letter of {other!r}",
            location=place,
            remedy="Order or write the options so that both mean the same.",
        )
    return letter


def _check_short(target: Any, place: str) -> None:
    """Refuse a right answer that no short answer can name."""
    targets = target if isinstance(target, list) else [target]
    if not targets or not all(_is_short(each) for each in targets):
        what = "it has no target" if target in (None, "", []) else f"the target is {target!r:.60}"
        raise DataError(
            what,
            location=place,
            remedy=(
                "A short-answer item needs the right answer: a text, a number, or a list of them."
            ),
        )


def _is_short(target: Any) -> bool:
    return (
        isinstance(target, (str, int, float))
        and not isinstance(target, bool)
        and bool(str(target).strip())
    )


def item_type(label: Any, place: str = "", own: Sequence[str] = ()) -> str | None:
    """The type that a label names, one of hallucination or of the card's own; None without a label.

    >>> item_type("OCR"), item_type("Count"), item_type(None), item_type("Algebra", own=["Algebra"])
    ('ocr', 'counting', None, 'Algebra')
    """
    if label in (None, ""):
        return None
    if str(label).strip() in own:
        return str(label).strip()
    name = str(label).strip().lower()
    name = _SYNONYMS.get(name, name)
    if name not in HALLUCINATION_TYPES:
        raise DataError(
            f"{label!r} is no hallucination type",
            location=place,
            remedy=(
                f"The types are {', '.join(HALLUCINATION_TYPES)}; types of its own stand in the"
                " card: types = [...]."
            ),
            name=name,
            choices=HALLUCINATION_TYPES,
        )
    return name


def one_part(form: Form, part: str, benchmark: str) -> Form:
    """The items of one part of a benchmark.

    Raises
    ------
    UsageError
        It has no such part; the sentence names the nearest one, and all.
    """
    within = form.only(part)
    if not within.items:
        parts = list(dict.fromkeys(item.part for item in form.items if item.part))
        known = (
            f"Its parts are {', '.join(parts)}." if parts else "It has no parts: leave --part out."
        )
        raise UsageError(
            f"{benchmark} has no part {part!r}", remedy=known, name=part, choices=parts
        )
    return within


# --- a part of a form, or its first items, as `--part` and `--limit` ask for ---


def cut(form: Form, benchmark: str, part: str | None, limit: int | None) -> Form:
    """The items of one part, at most so many.

    Raises
    ------
    UsageError
        The benchmark has no such part.
    """
    if part:
        form = one_part(form, part, benchmark)
    return replace(form, items=form.items[:limit])
