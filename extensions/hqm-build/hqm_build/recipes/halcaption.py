"""`halcaption`: does a caption fit the picture? Wrong captions differ from a true one in an object,
attribute, relation or event.

As the automatic annotation of Hal-Eval (Jiang et al. 2024, arXiv 2402.15721), whose wrong captions
can be told by their length: "yes if at most 14 words" gets .964 of its events right. Here a wrong
caption is a true one with one span exchanged, so that it has the same length within two words; a
wrong caption is asked beside a true one that is as long, and every value that is put in wrongly is
as often said truly of another picture. `captions.jsonl` has, for each picture, the true caption
with all its wrong ones and the place of each change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from hqm.errors import DataError
from hqm_build.balance import add_matches, balance_answers, split_items
from hqm_build.caption_writers import (
    KINDS,
    MAX_LENGTH_DIFFERENCE,
    Caption,
    Captions,
    Change,
    captions_of,
    changes_of,
    changes_passed,
    changes_written,
)
from hqm_build.graph import Draft, Promise, Question, SelectedQuestion
from hqm_build.measuring import Measured, lengths, words_alone
from hqm_build.source import Order, Recipe

LIMIT = 0.55
ASKED_AN_ITEM = 4
"""Captions for each requested item about which models are asked at most."""
TYPES = {"object": "existence", "attribute": "attribute", "relation": "relation", "event": "action"}
WORDINGS = (
    "Is this caption true of the image? {text}",
    "Is this true of the image? {text}",
    "Is this a true caption? {text}",
    "Is this caption right? {text}",
)


def _question(caption: Caption, change: Change, text: str, answer: str) -> Question:
    slot = change.slot
    value = slot.text
    start = slot.start
    rule = "a true caption of the picture"
    if answer == "no":
        rule = f"{value!r} became {change.after!r}, which the picture does not have ({slot.reason})"
        value = change.after
        start = change.start
    return Question(
        image=caption.image,
        file=caption.file,
        part=slot.kind,
        type=TYPES[slot.kind],
        prompts=tuple(wording.format(text=text) for wording in WORDINGS),
        target=answer,
        key=f"{slot.kind}: {slot.subject} {value.lower()}",
        rule=rule,
        objects=slot.objects,
        competing=slot.alternatives,
        frequency=1.0,
        extra={"span": [start, start + len(value)]},
    )


def _candidates(captions: Captions, part: str) -> Iterator[Question]:
    for caption, changes in captions:
        part_changes = [change for change in changes if change.slot.kind == part]
        for span in {change.slot: change for change in part_changes}.values():
            yield _question(caption, span, caption.text, "yes")
        for change in part_changes:
            yield _question(caption, change, change.text, "no")


def _captions(order: Order) -> tuple[Captions, tuple[str, ...]]:
    """Return captions with their changes, by rules or models, and notes on rejected changes."""
    captions: Captions = [
        (caption, changes_of(caption)) for caption in captions_of(order.source.graphs)
    ]
    if order.roles is None:
        return captions, ()
    max_captions = order.items * ASKED_AN_ITEM
    if len(captions) > max_captions:
        sample = sorted(order.rng.choice(len(captions), max_captions, replace=False))
        captions = [captions[int(i)] for i in sample]
    changed, writer_notes = changes_written(captions, order.roles)
    passed, filter_notes = changes_passed(changed, order.roles)
    return passed, (*writer_notes, *filter_notes)


def draft(order: Order) -> Draft:
    """Four parts, one for each kind of change, each with as many true captions as wrong ones."""
    captions, remarks = _captions(order)
    slot_kinds = {change.slot.kind for _, changes in captions for change in changes}
    present_kinds = [kind for kind in KINDS if kind in slot_kinds]
    if not present_kinds:
        raise DataError(
            "no caption has a span that can be exchanged",
            location=order.source.name,
            remedy="Take annotations with captions, or with attributes and relations.",
        )
    missing = [kind for kind in KINDS if kind not in slot_kinds]
    notes = [*remarks, *(f"{kind}: no item, no caption has one to exchange" for kind in missing)]
    selected: list[SelectedQuestion] = []
    used_questions: set[tuple[str, str]] = set()
    groups: dict[str, str] = {}
    requested = split_items(order.items, present_kinds)
    for part, number in requested.items():
        pool = list(_candidates(captions, part))
        pairs = balance_answers(
            pool,
            number,
            order.rng,
            used_questions=used_questions,
            groups=groups,
            length=lambda question: len(question.prompts[0].split()),
        )
        selected += add_matches(pairs, pool, used_questions)
    lines = [
        json.dumps(_record(caption, changes), ensure_ascii=False)
        for caption, changes in captions
        if changes
    ]
    differences = [
        abs(len(change.text.split()) - len(caption.text.split()))
        for caption, changes in captions
        for change in changes
    ]
    return Draft(
        selected=tuple(selected),
        requested=requested,
        notes=tuple(notes),
        groups=groups,
        files={"captions.jsonl": "\n".join(lines) + "\n"},
        measures={"words apart": float(max(differences, default=0))},
    )


def _record(caption: Caption, changes: tuple[Change, ...]) -> dict[str, object]:
    first = {change.slot.kind: change for change in reversed(changes)}
    wrong = [
        {
            "kind": kind,
            "caption": change.text,
            "span": [change.start, change.start + len(change.after)],
            "before": change.slot.text,
            "after": change.after,
            "why": change.slot.reason,
        }
        for kind, change in sorted(first.items())
    ]
    return {"image": caption.file, "caption": caption.text, "wrong": wrong}


def promises(measured: Measured) -> tuple[Promise, ...]:
    """No length threshold over .55 in any kind, and no wrong caption more than two words longer or
    shorter.
    """
    max_difference = measured.draft.measures["words apart"]
    words = Promise(
        name="words apart",
        sentence=(
            f"a wrong caption is at most {max_difference:.0f} words longer or shorter than the true"
            " one"
        ),
        value=max_difference,
        limit=MAX_LENGTH_DIFFERENCE,
    )
    return (*words_alone(measured, LIMIT), *lengths(measured, LIMIT), words)


RECIPE = Recipe(
    name="halcaption",
    title="Hal-Eval with captions of one length",
    summary=(
        "Does a caption fit the picture, or was an object, attribute, relation or event in it"
        " exchanged?"
    ),
    task="yes_no",
    must_not=(
        f"words-alone accuracy under {1 - LIMIT:.2f} or over {LIMIT}, or a length threshold over"
        f" {LIMIT}, for any kind; a precision of the filter without an interval from reviewed items"
    ),
    needs=(
        "captions, or attributes and relations (COCO's captions, Hal-Eval, GQA, Visual Genome,"
        " shapes)"
    ),
    lack="values that are both said and put in",
    draft=draft,
    promises=promises,
    unread=0.3,
    writes=True,
)
