"""Read a benchmark's items as its card describes them, and group those that ask the same."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from hqm.benchmark.card import Card, FieldsSection
from hqm.errors import DataError, FieldError, UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.records import read_records, required_field
from hqm.imports.intake import Intake, take_rows
from hqm.imports.layouts import ROW, Record
from hqm.text import check_address, check_length, look_of_id, plain_name
from hqm.types import HALLUCINATION_TYPES, LETTERS, ORIGINAL, Form, Item, group_by

_SYNONYMS = {"count": "counting", "number": "counting", "state": "attribute", "text": "ocr"}


def read_items(card: Card, data: Path) -> Form:
    """Read the original form from the items file that the card names.

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
    ids: dict[str, str] = {}
    for location, record in take_items(card, path).located():
        item = item_of(record, card, location)
        # Ids that only look the same (a Cyrillic letter, other case) would be two items of one name
        # in tables.
        plain_id = look_of_id(item.id)
        if plain_id in ids:
            raise DataError(
                id_twice(ids[plain_id], item.id),
                location=location,
                remedy="Give every item its own id.",
            )
        ids[plain_id] = item.id
        items.append(item)
    return Form(ORIGINAL, tuple(items))


def take_items(card: Card, path: Path, records: list[Record] | None = None) -> Intake:
    """The rows of the items file, their fields named as the card names them.

    Raises
    ------
    DataError
        As `take_rows` does.
    """
    headings = {*_mapped_names(card.fields), ROW}
    # the number of a row in a Parquet file is part of its item, and of the item's digest
    records = read_records(path, card.data.encoding) if records is None else records
    return take_rows(path, records, encoding=card.data.encoding, names=(), headings=headings)


def id_twice(first: str, item: str) -> str:
    """The sentence about two items whose ids are one, or look the same."""
    if first == item:
        return f"the id {item!r} stands twice"
    return f"the ids {first!r} and {item!r} look the same"


def item_of(record: Mapping[str, object], card: Card, location: str) -> Item:
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
    names = card.fields
    record = dict(record)
    mapped_names = _mapped_names(names)
    meta = {key: value for key, value in record.items() if key not in mapped_names}
    _check_names(record, meta, mapped_names, location)
    image = _text(record.get(names.image), names.image, location) or None
    if image is not None and not is_url(check_address(image, location)):
        # a name from a file never leaves the folder of pictures
        image = safe_name(image, location)
    options = _options(record.get(names.options), names.options, location)
    _check_storable([meta, record.get(names.target)], location)
    try:
        return Item(
            id=_text(required_field(record, names.id, location), names.id, location, required=True),
            prompt=_text(
                required_field(record, names.prompt, location),
                names.prompt,
                location,
                required=True,
            ),
            task=card.task,
            target=_target(record.get(names.target), card, options, location),
            image=image,
            type=item_type(
                _text(record.get(names.type), names.type, location), location, card.types
            ),
            part=_name(record.get(names.part), names.part, location),
            cluster=_name(record.get(names.cluster), names.cluster, location) or image or "",
            options=options,
            meta=meta,
        )
    except DataError as error:
        if error.location:
            raise
        raise DataError(error.message, location=location, remedy=error.remedy) from None


@lru_cache(maxsize=16)
def _mapped_names(names: FieldsSection) -> frozenset[str]:
    """The names that a file's fields may have."""
    return frozenset(getattr(names, field) for field in FieldsSection.model_fields)


def _check_names(
    record: Mapping[str, object],
    unmapped: Mapping[str, object],
    mapped_names: frozenset[str],
    location: str,
) -> None:
    """Refuse a field that looks like a misspelling of one that the record does not have."""
    # a field of another name is meta, unless a field is missing that it could be
    absent = tuple(sorted(mapped_names - record.keys())) if unmapped else ()
    for name in unmapped:
        close_fields = _close_fields(str(name), absent)
        if close_fields:
            raise FieldError(
                f"the field {name!r} looks like a misspelt {close_fields[0]!r}",
                location=location,
                remedy=(
                    f"Rename it to {close_fields[0]!r}; or rename the field, or map it in the"
                    " card's [fields], if it is another."
                ),
            )


@lru_cache(maxsize=1024)
def _close_fields(name: str, absent: tuple[str, ...]) -> list[str]:
    """The absent fields that a name is close to; cached, as every record of a file asks again."""
    return get_close_matches(name, absent, cutoff=0.75)


def _text(value: object, name: str, location: str, *, required: bool = False) -> str:
    """A field's text: a text or a number is taken, null only for a field that may be empty."""
    if isinstance(value, bool) or not (value is None or isinstance(value, (str, int, float))):
        # `bool` is asked first, since True is an int and would become the text "True".
        kind = {bool: "true or false", dict: "an object", list: "a list"}.get(
            type(value), type(value).__name__
        )
        raise FieldError(
            f"the field {name!r} is {kind}: {value!r:.60}",
            location=location,
            remedy="Write a text.",
        )
    if required and (value is None or not plain_name(str(value))):
        raise FieldError(
            f"the field {name!r} is {'null' if value is None else 'empty'}",
            location=location,
            remedy="Fill it.",
        )
    text = "" if value is None else str(value)
    _check_storable(value, location, name)
    return text


def _name(value: object, name: str, location: str) -> str:
    """A field's text without white space around it; empty where it shows nothing."""
    text = _text(value, name, location).strip()
    return text if plain_name(text) else ""


def _options(value: object, name: str, location: str) -> tuple[str, ...]:
    """The options of a multiple choice: a list of texts, or one text with | between the options."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        # A comma stands inside of many options.
        value = value.split("|")
    if not isinstance(value, (list, tuple)):
        raise FieldError(
            f"the options are {value!r:.60}, which is no list",
            location=location,
            remedy='Write a list, ["red", "blue"], or one text, "red|blue".',
        )
    options = tuple(_text(option, name, location, required=True).strip() for option in value)
    if len(options) > len(LETTERS):
        raise FieldError(
            f"it has {len(options)} options, and there are {len(LETTERS)} letters to name them",
            location=location,
            remedy=f"Keep at most {len(LETTERS)} options.",
        )
    # of few benchmarks the items have options
    from hqm.imports.option_checks import check_letters

    check_letters(options, location)
    return options


_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")
"""A null character, or half of a surrogate pair: UTF-8 has no bytes for the half."""


def _check_storable(value: object, location: str, name: str = "") -> None:
    """Refuse what neither a hash nor a store can hold: a number that is not finite, a lone
    surrogate.
    """
    # almost every value is plain ASCII: it needs no further look
    if isinstance(value, str) and value.isascii() and "\0" not in value:
        return
    subject = f"the field {name!r} has" if name else "it has"
    if isinstance(value, float) and not math.isfinite(value):
        raise FieldError(
            f"{subject} the number {value!r}",
            location=location,
            remedy="Write null, or leave it out.",
        )
    if isinstance(value, str) and _UNSTORABLE.search(value):
        raise FieldError(
            f"{subject} a character that cannot be stored: {value!r:.60}",
            location=location,
            remedy="Save the file as UTF-8 again.",
        )
    if isinstance(value, dict):
        for key, element in value.items():
            _check_storable(key, location, name)
            _check_storable(element, location, name or str(key))
    elif isinstance(value, (list, tuple)):
        for element in value:
            _check_storable(element, location, name)


def _target(target: object, card: Card, options: tuple[str, ...], location: str) -> object:
    if card.task == "yes_no":
        word = str(target).strip().lower()
        if word not in ("yes", "no"):
            raise DataError(
                f"the target is {target!r}",
                location=location,
                remedy='A yes/no target is "yes" or "no".',
            )
        return word
    if card.task == "choice":
        letters = tuple(LETTERS[: len(options)])
        text = str(target).strip()
        if text in options:
            # the text goes before the letter: an option may be called A
            return option_letter(text, options, location)
        if len(options) < 2 or text.upper() not in letters:
            raise DataError(
                f"the target is {target!r} and the options are {list(options)}",
                location=location,
                remedy=(
                    "A choice needs two options or more, and a target that is an option or its"
                    " letter."
                ),
            )
        return text.upper()
    if card.task == "vqa":
        _check_short(target, location)
    return target


def option_letter(text: str, options: Sequence[str], location: str) -> str:
    """The letter of the option with this text.

    Raises
    ------
    DataError
        The text is also the letter of another option.
    """
    letters = tuple(LETTERS[: len(options)])
    letter = letters[options.index(text)]
    if text in letters and text != letter:
        other_option = options[letters.index(text)]
        raise DataError(
            f"the answer {text!r} is the option {letter} and the letter of {other_option!r}",
            location=location,
            remedy="Order or write the options so that both mean the same.",
        )
    return letter


def letter_of(
    target: object,
    options: tuple[str, ...],
    names: Sequence[str],
    zero_based: bool,
    location: str,
    options_location: str,
) -> str:
    """The letter of the right option."""
    if len(options) < 2:
        if not options:
            fault = "there are no options"
        else:
            fault = f"there is one option, {options[0]!r:.80}"
        raise DataError(
            fault,
            location=options_location,
            remedy="A choice needs two or more; or name another task with --task.",
        )
    if target in (None, ""):
        raise DataError(
            "there is no answer",
            location=location,
            remedy="Write an option or its letter, or remove the row.",
        )
    text = str(target).strip()
    letters = tuple(LETTERS[: len(options)])
    # All answers of the column were seen to be positions before this is asked, see
    # `_counts_from_zero`.
    if zero_based:
        return letters[int(text)]
    if text in names:
        return letters[names.index(text)]
    # "(b)", "B." and "b" name one option.
    as_letter = text.strip("().").upper()
    if text in options:
        return option_letter(text, options, location)
    if as_letter in letters:
        return as_letter
    if as_letter in tuple(LETTERS):
        raise DataError(
            f"the answer is {text!r}, and the options end with {letters[-1]}",
            location=location,
            remedy=f"Correct the answer, or add the option {as_letter}.",
        )
    raise DataError(
        f"the answer {text!r:.80} is no option and no letter of one ({' | '.join(options)[:120]})",
        location=location,
        remedy="Write an option or its letter.",
    )


def _check_short(target: object, location: str) -> None:
    """Refuse a right answer that no short answer can name."""
    targets = target if isinstance(target, list) else [target]
    for answer in targets:
        check_length(str(answer), "right answer", location)
    if not targets or not all(map(_is_short, targets)):
        fault = f"the target is {target!r:.60}"
        if target in (None, "", []):
            fault = "it has no target"
        raise DataError(
            fault,
            location=location,
            remedy=(
                "A short-answer item needs the right answer: a text, a number, or a list of them."
            ),
        )


def _is_short(target: object) -> bool:
    return (
        isinstance(target, (str, int, float))
        and not isinstance(target, bool)
        and bool(str(target).strip())
    )


def item_type(label: object, location: str = "", own_types: Sequence[str] = ()) -> str | None:
    """The type that a label names, one of hallucination or of the card's own; None without a label.

    >>> item_type("OCR"), item_type("Count"), item_type("Algebra", own_types=["Algebra"])
    ('ocr', 'counting', 'Algebra')
    """
    if label in (None, ""):
        return None
    if str(label).strip() in own_types:
        return str(label).strip()
    name = str(label).strip().lower()
    name = _SYNONYMS.get(name, name)
    if name not in HALLUCINATION_TYPES:
        raise DataError(
            f"{label!r} is no hallucination type",
            location=location,
            remedy=(
                f"The types are {', '.join(HALLUCINATION_TYPES)}; types of its own stand in the"
                " card: types = [...]."
            ),
            name=name,
            choices=HALLUCINATION_TYPES,
        )
    return name


def select_part(form: Form, part: str, benchmark: str) -> Form:
    """The items of one part of a benchmark.

    Raises
    ------
    UsageError
        It has no such part; the sentence names the nearest one, and all.
    """
    part_form = form.select_part(part)
    if not part_form.items:
        remedy = "It has no parts: leave --part out."
        if form.parts:
            remedy = f"Its parts are {', '.join(form.parts)}."
        raise UsageError(
            f"{benchmark} has no part {part!r}", remedy=remedy, name=part, choices=form.parts
        )
    return part_form


# --- a part of a form, or its first items, as `--part` and `--limit` ask for ---


def restrict_form(form: Form, benchmark: str, part: str | None, limit: int | None) -> Form:
    """The items of one part, at most so many.

    Raises
    ------
    UsageError
        The benchmark has no such part.
    """
    if part:
        form = select_part(form, part, benchmark)
    return replace(form, items=form.items[:limit])


# --- items that ask the same question about the same picture ---

NO_COPIES: Mapping[str, str] = MappingProxyType({})
"""No picture stands under several names, as far as is known."""


def same_question(
    form: Form, copies: Mapping[str, str] = NO_COPIES
) -> dict[tuple[str, str], list[Item]]:
    """Items grouped by picture and question.

    Parameters
    ----------
    copies
        Picture -> the first name under which the same picture stands; `hqm.lint.picture_checks`
        reads the files.
    """
    picture_of = picture_key(form.items, copies)

    def question_of(item: Item) -> tuple[str, str]:
        # other line breaks and further spaces make no other question
        return picture_of(item), " ".join(item.prompt.split())

    return group_by(form.items, question_of)


def repeated_questions(form: Form, copies: Mapping[str, str] = NO_COPIES) -> list[list[Item]]:
    """The items of each question that is asked about one picture more than once."""
    return [group for group in same_question(form, copies).values() if len(group) > 1]


_ABOUT_A_PICTURE = re.compile(
    r"\b(?:image|picture|photo|figure|diagram|chart|graph|screenshot|scene|shown)s?\b",
    re.IGNORECASE,
)


def names_pictures(form: Form) -> bool:
    """Whether any item names a picture; where none does, questions may be about unknown ones."""
    return bool(form.images)


_MIN_CONTRADICTIONS = 5
_MIN_SHARE = 1 / 3
"""Questions with several right answers from which on, their share of all repeated questions, and
the share of items whose question is repeated, from which on they are about pictures that no item
names, and no wrong keys.
"""


def picture_key(
    items: Sequence[Item], copies: Mapping[str, str] = NO_COPIES
) -> Callable[[Item], str]:
    """Return what names the picture of an item where these items are compared."""
    has_pictures = any(item.image for item in items)

    def picture_of(item: Item) -> str:
        picture = shown_picture(item, has_pictures)
        return copies.get(picture, picture)

    if has_pictures:
        return picture_of
    groups = group_by(items, lambda item: (picture_of(item), " ".join(item.prompt.lower().split())))
    repeated = [group for group in groups.values() if len(group) > 1]
    min_contradictory = max(_MIN_CONTRADICTIONS, _MIN_SHARE * len(repeated))
    repeats_are_common = sum(map(len, repeated)) >= _MIN_SHARE * len(items)
    if repeats_are_common and sum(map(contradict, repeated)) >= min_contradictory:
        # "Is there a dog?" was asked about many pictures, and the file leaves them out
        return lambda item: f"item {item.id}"
    return picture_of


def shown_picture(item: Item, has_pictures: bool) -> str:
    """What stands for an item's picture where questions are compared: its name; in a form without
    names of pictures, the item itself where the question is about one or has no words.

    >>> shown_picture(Item("1", "Who is in the picture?", "vqa"), has_pictures=False)
    'item 1'
    >>> shown_picture(Item("1", "What is 7 + 2?", "vqa"), has_pictures=False)
    ''
    """
    if item.image or has_pictures:
        return item.image or ""
    # "Who is in the picture?" may be asked about many pictures: equal words are then no repeat
    unknown = not item.prompt.strip() or _ABOUT_A_PICTURE.search(item.prompt)
    if unknown:
        return f"item {item.id}"
    return ""


def contradict(group: Sequence[Item]) -> bool:
    """Whether two keys contradict each other; of a multiple choice only where the right option of
    one item is a wrong option of the other.
    """
    # "What is there?" may offer dog and cat, and then hat and bus: both keys can be right
    answers = [(right_answer(item), item.options) for item in group]
    # Ordered pairs: the right option of each is looked for among the options of the other.
    pairs = itertools.permutations(answers, 2)
    return any(
        first != second and (not options or first in options)
        for (first, _), (second, options) in pairs
    )


def right_answer(item: Item) -> str:
    """The right answer; of a multiple choice the option itself, as another item may have the
    options in another order.
    """
    letter = str(item.target)
    # LETTERS is longer than any list of options: the rest of it names none.
    return dict(zip(LETTERS, item.options, strict=False)).get(letter, letter)
