"""Build the parallel form of a benchmark by its task, and write forms to files that a person can review."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hqm.errors import DataError, NoRule
from hqm.files.records import read_records, take
from hqm.forms.denial import deny, is_compound
from hqm.forms.open import rephrase_open
from hqm.forms.options import shuffle_item
from hqm.forms.polar import flip
from hqm.forms.questions import reword
from hqm.forms.wording import rephrase
from hqm.scoring.rules import yes_no_truth
from hqm.types import LETTERS, PARALLEL, Form, Item, LeftOut, Task


def flip_item(item: Item) -> Item:
    """A yes/no item with its question negated and its right answer inverted."""
    made = deny(item.prompt) if is_compound(item.prompt) else flip(item.prompt)
    return replace(item, prompt=made.prompt, rule=made.rule, target="no" if yes_no_truth(item) == "yes" else "yes")


def rephrase_item(item: Item) -> Item:
    """An item with its instruction or question in other words; the target stays the same."""
    try:
        made = rephrase(item.prompt)
    except NoRule:
        if item.task != "vqa":
            raise
        made = rephrase_open(item.prompt)
    return replace(item, prompt=made.prompt, rule=made.rule)


def reword_item(item: Item) -> Item:
    """An open question in other words, chosen by the way it opens (`hqm.forms.questions`); the target stays the same."""
    made = reword(item.prompt)
    return replace(item, prompt=made.prompt, rule=made.rule)


REWRITERS: dict[Task, Callable[[Item], Item]] = {
    "yes_no": flip_item,
    "choice": shuffle_item,
    "caption": rephrase_item,
    "vqa": rephrase_item,
}


def build_parallel(form: Form, rewrite: Callable[[Item], Item] | None = None, name: str = PARALLEL) -> Form:
    """The parallel form: every item rewritten by its task's rules; an item that no rule fits is left out and listed."""
    items, left_out = [], list(form.left_out)
    for item in form.items:
        try:
            items.append((rewrite or REWRITERS[item.task])(item))
        except NoRule as error:
            left_out.append(LeftOut(item.id, item.prompt, error.reason))
    return Form(name, tuple(items), tuple(left_out))


def is_negated(item: Item) -> bool:
    """Whether the item's question was negated by a rule (or by a person, who writes `polar.person`)."""
    return item.rule.startswith("polar.") and item.rule != "polar.unnot"


def count_rules(form: Form) -> dict[str, int]:
    """How many items each rule made, the commonest first."""
    return dict(Counter(item.rule or "(as it was)" for item in form.items).most_common())


def write_form(form: Form, path: Path) -> None:
    """Write a form as JSON lines: the items, then what was left out."""
    rows = [item.to_dict() for item in form.items]
    rows += [{"id": out.id, "prompt": out.prompt, "left_out": out.reason} for out in form.left_out]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    except OSError as error:
        raise DataError(f"it cannot be written: {error.strerror}", place=str(path)) from None


def read_form(path: Path, original: Form, name: str = PARALLEL) -> Form:
    """Read a form that a person may have corrected.

    Only `prompt`, `target`, `options` and `rule` are taken from the file; the rest is the original item's.

    Raises
    ------
    DataError
        A row names an item that the original form does not have, an item is named twice, or a prompt is missing.
    """
    items, left_out, seen = [], [], set()
    for i, row in enumerate(read_records(path), 1):
        place = f"{path}: record {i}"
        key = str(take(row, "id", place))
        if key not in original.by_id:
            what = f"the item {key!r} is not in the original form"
            raise DataError(what, place=place, remedy="Forms share item ids.")
        if key in seen:
            raise DataError(f"the item {key!r} stands twice", place=place, remedy="Keep one of the two.")
        seen.add(key)
        base = original.by_id[key]
        if row.get("left_out"):
            left_out.append(LeftOut(key, str(row.get("prompt") or base.prompt), str(row["left_out"])))
            continue
        prompt = take(row, "prompt", place)
        if not isinstance(prompt, str) or not prompt.strip():
            raise DataError(f"the prompt is {prompt!r:.60}", place=place, remedy="Write the question as a text.")
        options = _options(row.get("options"), base, place)
        target = _target(row["target"], base, options, place) if "target" in row else base.target
        rule = str(row.get("rule") or base.rule)
        items.append(replace(base, prompt=prompt, target=target, options=options, rule=rule))
    return Form(name, tuple(items), tuple(left_out))


def _options(value: Any, base: Item, place: str) -> tuple[str, ...]:
    """The options of an item in another form: as many as in the original, in any order or wording."""
    if value is None:
        return base.options
    texts = isinstance(value, list) and all(isinstance(option, str) and option.strip() for option in value)
    if not texts or len(set(value)) != len(value) or len(value) != len(base.options):
        remedy = f"Write a list of {len(base.options)} different texts, or leave the field out."
        raise DataError(f"the options are {value!r:.60}", place=place, remedy=remedy)
    return tuple(value)


def _target(value: Any, base: Item, options: tuple[str, ...], place: str) -> Any:
    """The right answer of an item in another form; it must be of the kind that the original has."""
    if base.task == "yes_no":
        fits, remedy = str(value).strip().lower() in ("yes", "no"), 'A yes/no target is "yes" or "no".'
        value = str(value).strip().lower() if fits else value
    elif base.task == "choice":
        letters = LETTERS[: len(options)]
        fits, remedy = (
            isinstance(value, str) and len(value) == 1 and value in letters,
            f"Write one letter of {letters}.",
        )
    else:
        fits, remedy = type(value) is type(base.target), "Write it as the original form does."
    if not fits:
        raise DataError(f"the target is {value!r:.60}", place=place, remedy=remedy)
    return value
