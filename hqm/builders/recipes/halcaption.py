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

from hqm.builders.balance import balanced, shares, with_matches
from hqm.builders.caption_writers import (
    KINDS,
    WORDS,
    Caption,
    Captions,
    Change,
    captions_of,
    changes_of,
    changes_passed,
    changes_written,
)
from hqm.builders.graph import Chosen, Draft, Promise, Question
from hqm.builders.measuring import Measured, lengths, words_alone
from hqm.builders.source import Order, Recipe
from hqm.errors import DataError

LIMIT = 0.55
ASKED_AN_ITEM = 4
"""Models are asked about so many captions for each item that is wanted, at most."""
TYPES = {"object": "existence", "attribute": "attribute", "relation": "relation", "event": "action"}
WORDINGS = (
    "Is this caption true of the image? {text}",
    "Is this true of the image? {text}",
    "Is this a true caption? {text}",
    "Is this caption right? {text}",
)


def _question(caption: Caption, change: Change, text: str, answer: str) -> Question:
    slot, value = change.slot, change.slot.text
    rule, start = "a true caption of the picture", slot.start
    if answer == "no":
        rule = f"{value!r} became {change.after!r}, which the picture does not have ({slot.why})"
        value, start = change.after, change.start
    return Question(
        image=caption.image,
        file=caption.file,
        part=slot.kind,
        type=TYPES[slot.kind],
        prompts=tuple(wording.format(text=text) for wording in WORDINGS),
        target=answer,
        key=f"{slot.kind}: {slot.about} {value.lower()}",
        rule=rule,
        objects=slot.objects,
        competing=slot.others,
        frequency=1.0,
        extra={"span": [start, start + len(value)]},
    )


def _candidates(captions: Captions, part: str) -> Iterator[Question]:
    for caption, changes in captions:
        of_kind = [change for change in changes if change.slot.kind == part]
        for span in {change.slot: change for change in of_kind}.values():
            yield _question(caption, span, caption.text, "yes")
        for change in of_kind:
            yield _question(caption, change, change.text, "no")


def _captions(order: Order) -> tuple[Captions, tuple[str, ...]]:
    """Return captions with their changes, by rules or models, and notes on what was left out."""
    captions: Captions = [
        (caption, changes_of(caption)) for caption in captions_of(order.source.graphs)
    ]
    if order.roles is None:
        return captions, ()
    most = order.items * ASKED_AN_ITEM
    if len(captions) > most:
        drawn = sorted(order.rng.choice(len(captions), most, replace=False))
        captions = [captions[int(i)] for i in drawn]
    written, left_out = changes_written(captions, order.roles)
    passed, dropped = changes_passed(written, order.roles)
    return passed, (*left_out, *dropped)


def draft(order: Order) -> Draft:
    """Four parts, one for each kind of change, each with as many true captions as wrong ones."""
    captions, remarks = _captions(order)
    there = [
        kind
        for kind in KINDS
        if any(change.slot.kind == kind for _, changes in captions for change in changes)
    ]
    if not there:
        raise DataError(
            "no caption has a span that can be exchanged",
            location=order.source.name,
            remedy="Take annotations with captions, or with attributes and relations.",
        )
    notes = (
        *remarks,
        *(
            f"{kind}: no item, no caption has one to exchange"
            for kind in KINDS
            if kind not in there
        ),
    )
    chosen: list[Chosen] = []
    taken: set[tuple[str, str]] = set()
    wanted = shares(order.items, there)
    for part, number in wanted.items():
        pool = list(_candidates(captions, part))
        made = balanced(
            pool,
            number,
            order.rng,
            taken=taken,
            length=lambda question: len(question.prompts[0].split()),
        )
        chosen += with_matches(made, pool, taken)
    lines = [
        json.dumps(_record(caption, changes), ensure_ascii=False)
        for caption, changes in captions
        if changes
    ]
    apart = max(
        (
            abs(len(c.text.split()) - len(q.text.split()))
            for q, changes in captions
            for c in changes
        ),
        default=0,
    )
    return Draft(
        chosen=tuple(chosen),
        wanted=wanted,
        notes=notes,
        files={"captions.jsonl": "\n".join(lines) + "\n"},
        measures={"words apart": float(apart)},
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
            "why": change.slot.why,
        }
        for kind, change in sorted(first.items())
    ]
    return {"image": caption.file, "caption": caption.text, "wrong": wrong}


def promises(measured: Measured) -> tuple[Promise, ...]:
    """No length threshold over .55 in any kind, and no wrong caption more than two words longer or
    shorter.
    """
    apart = measured.draft.measures["words apart"]
    words = Promise(
        name="words apart",
        sentence=(
            f"a wrong caption is at most {apart:.0f} words longer or shorter than the true one"
        ),
        value=apart,
        limit=WORDS,
        kept=apart <= WORDS,
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
        f"words-alone accuracy or a length threshold over {LIMIT} for any kind; a precision of the"
        " filter without an"
        " interval from reviewed items"
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
