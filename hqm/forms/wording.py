"""A bank of equivalent instructions and question templates.

The bank holds classes of instructions that ask for the same thing; the parallel of an instruction
is the next one of its class. Templates rewrite a question by its opening ("What color is X?"
becomes "Which color does X have?") and leave X as it stands, so that a presupposition, a coordinate
or a name survives. A prompt that fits neither raises `NoRule`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import replace

from hqm.errors import DataError, NoRule
from hqm.forms.grammar import Rewrite
from hqm.forms.option_references import (
    OptionReference,
    find_references,
    movable_slots,
    reorder_options,
)
from hqm.types import LETTERS, Item

# Each row is one meaning; every sentence of a row may stand for every other.
INSTRUCTIONS: tuple[tuple[str, ...], ...] = (
    (
        "Describe the image.",
        "Provide a description of the image.",
        "Give a description of the image.",
        "Write a description of the image.",
    ),
    (
        "Describe this image.",
        "Provide a description of this image.",
        "Give a description of this image.",
        "Write a description of this image.",
    ),
    (
        "What is in the image?",
        "What does the image contain?",
        "What does the image show?",
        "What can be seen in the image?",
    ),
    (
        "Write a caption for the image.",
        "Compose a caption for the image.",
        "Give the image a caption.",
        "Provide a caption for the image.",
    ),
    (
        "Tell me what you see in the image.",
        "Say what you can see in the image.",
        "Say what the image shows you.",
        "Name what you see in the image.",
    ),
    (
        "Describe the image in detail.",
        "Provide a detailed description of the image.",
        "Give a detailed description of the image.",
        "Write a detailed description of the image.",
    ),
    (
        "Describe this image in detail.",
        "Provide a detailed description of this image.",
        "Give a detailed description of this image.",
        "Write a detailed description of this image.",
    ),
    (
        "Please describe this image in detail.",
        "Please provide a detailed description of this image.",
        "Please give a detailed description of this image.",
        "Please write a detailed description of this image.",
    ),
    (
        "Generate a short caption of the image.",
        "Write a short caption for the image.",
        "Give the image a short caption.",
        "Provide a short caption for the image.",
    ),
    (
        "Provide a brief description of the given image.",
        "Describe the given image briefly.",
        "Give a brief description of the given image.",
        "Write a brief description of the given image.",
    ),
)

INSTRUCTION_PAIRS: tuple[tuple[str, str], ...] = (
    ("List the main instances in the image.", "Name the main instances in the picture."),
    ("Describe the following image.", "Provide a description of the following picture."),
    (
        "Can you elaborate on the elements of the picture provided?",
        "Could you describe the elements of the given picture more fully?",
    ),
    ("What do you see happening in this image?", "What can you see going on in this picture?"),
    (
        "What do you think is going on in this snapshot?",
        "What, in your opinion, is happening in this snapshot?",
    ),
    ("Write a detailed description of the given image.", "Describe the given picture in detail."),
    ("What is this photo about'?", "What does this photo show?"),
    (
        "Can you describe the main features of this image for me?",
        "Could you tell me the main features of this picture?",
    ),
    (
        "Analyze the image in a comprehensive and detailed manner.",
        "Give a comprehensive and detailed analysis of the picture.",
    ),
    (
        "Explain the visual content of the image in great detail.",
        "Give a very detailed explanation of what the picture shows.",
    ),
    (
        "What are the key elements in this picture?",
        "Which elements of this picture are the key ones?",
    ),
)
"""Instructions of open benchmarks (HQH, FaithScore), each with the one that stands for it."""

# (name, pattern, replacement); the first that matches the whole question is used.
_TEMPLATES: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE), replacement)
    for name, pattern, replacement in (
        ("color", r"What (colou?r) (?:is|are) (?P<x>.+)\?", r"Which \1 {does} \g<x> have?"),
        (
            "how-many-there",
            r"How many (?P<x>.+?) are (?:there )?in (?P<y>.+)\?",
            r"What is the number of \g<x> in \g<y>?",
        ),
        ("doing", r"What (?:is|are) (?P<x>.+) doing\?", r"Which action {is} \g<x> performing?"),
        ("say", r"What (?:does|do) (?P<x>.+) say\?", r"What is written on \g<x>?"),
        ("covers", r"What covers (?P<x>.+)\?", r"What is \g<x> covered with?"),
        (
            "where-relative",
            r"Where (?:is|are) (?P<x>.+) relative to (?P<y>.+)\?",
            r"What is the position of \g<x> relative to \g<y>?",
        ),
        (
            "which-in",
            r"Which (?P<x>\w+) are in (?P<y>the (?:image|picture|photo|scene))\?",
            r"What \g<x> does \g<y> show?",
        ),
        (
            "which-of-two",
            r"Which is (?P<c>\w+), (?P<x>.+) or (?P<y>.+)\?",
            r"Between \g<x> and \g<y>, which is \g<c>?",
        ),
    )
)


def rephrase(prompt: str, draw: int = 1) -> Rewrite:
    """Say a prompt in other words that ask for the same thing; `draw` counts the other instructions
    of its class.

    Raises
    ------
    NoRule
        Neither the bank nor a template knows the prompt.

    Examples
    --------
    >>> rephrase("Describe the image.")
    Rewrite(prompt='Provide a description of the image.', rule='wording.bank')
    >>> rephrase("What color are the dog's eyes?")
    Rewrite(prompt="Which color do the dog's eyes have?", rule='wording.color')
    """
    stripped = prompt.strip()
    # a row is a class: each of its instructions stands for any other
    for row in INSTRUCTIONS:
        if stripped in row:
            return Rewrite(row[(row.index(stripped) + draw) % len(row)], "wording.bank")
    for name, pattern, replacement in _TEMPLATES:
        match = pattern.fullmatch(stripped)
        if match:
            is_plural = re.match(r"\w+ (?:colou?r )?are\b", stripped, re.IGNORECASE) is not None
            does, be = ("do", "are") if is_plural else ("does", "is")
            text = replacement.replace("{does}", does).replace("{is}", be)
            return Rewrite(match.expand(text), f"wording.{name}")
    raise NoRule(prompt, "neither the bank of instructions nor a template knows its wording")


LEADS = (
    "Look at the picture. ",
    "About the picture: ",
    "This is about the picture. ",
    "With the picture in view: ",
)
"""What may stand before any question or instruction."""


def add_lead(prompt: str, draw: int = 0) -> Rewrite:
    """The same words behind a lead, which fits where no grammar is known.

    >>> add_lead("Which one is it?").prompt
    'Look at the picture. Which one is it?'
    """
    text = prompt.strip()
    lead = LEADS[draw % len(LEADS)]
    return Rewrite(
        f"{lead}{text if lead.endswith('. ') else text[:1].lower() + text[1:]}", "open.lead"
    )


# --- the options of a multiple choice ---


def render_options(question: str, options: Sequence[str]) -> str:
    r"""Write a question with its options and the request for a letter.

    >>> render_options("What color is it?", ["red", "blue"])
    'What color is it?\nA. red\nB. blue\nAnswer with the letter of the right option.'
    """
    listed = "\n".join(
        # There are more letters than options.
        f"{letter}. {option}"
        for letter, option in zip(LETTERS, options, strict=False)
    )
    return f"{question}\n{listed}\nAnswer with the letter of the right option."


def count_orders(item: Item) -> int:
    """How many orders the options of an item have in which those that refer to others still do, the
    original one among them.

    >>> count_orders(Item("1", "?", "choice", "A", options=("red", "blue", "Both A and B")))
    2
    """
    groups = movable_slots(find_references(item.prompt, item.options), len(item.options))
    return math.prod(map(math.factorial, map(len, groups)))


def shuffle_item(item: Item, draw: int = 1) -> Item:
    """Shuffle an item's options, and change the letter of the right one accordingly.

    The order depends only on the item and on `draw`, so that a form is the same whenever it is
    built. No order is the original one or an earlier one. In the first drawn order the right option
    moves, unless it refers to others: "None of the above" keeps its place, and the letters in "Both
    A and B" follow the options that they name.

    Raises
    ------
    NoRule
        There are fewer than two options, no further orders, or an option refers to others so that
        no other order keeps its meaning.

    Examples
    --------
    >>> item = Item("1", "What color is it?", "choice", "A", options=("red", "blue", "green"))
    >>> shuffled = shuffle_item(item)
    >>> sorted(shuffled.options), shuffled.options[LETTERS.index(shuffled.target)]
    (['blue', 'green', 'red'], 'red')
    >>> shuffled.target != "A"
    True
    >>> shuffle_item(replace(item, options=("red", "blue", "Both A and B"))).options
    ('blue', 'red', 'Both B and A')
    """
    letters = LETTERS[: len(item.options)]
    if len(item.options) < 2:
        raise NoRule(item.prompt, "it has fewer than two options to shuffle")
    # a target may be written as a small letter
    key = str(item.target).strip().upper()
    if key not in letters:
        raise DataError(
            f"the target of {item.id!r} is {item.target!r}",
            remedy=f"Write one of the letters {letters}.",
        )
    right = letters.index(key)
    references = find_references(item.prompt, item.options)
    groups = movable_slots(references, len(letters))
    n_orders = math.prod(map(math.factorial, map(len, groups)))
    if n_orders <= draw:
        raise NoRule(item.prompt, _reason_no_order(item, references, n_orders, draw))
    # All orders up to this one, so that no later form has an earlier one's.
    order = _orders(item.id, len(letters), groups, right, draw)[-1]
    return replace(
        item,
        options=reorder_options(item.options, order, references),
        target=letters[order.index(right)],
        rule="options.shuffled",
    )


def _reason_no_order(
    item: Item, references: Sequence[OptionReference], n_orders: int, draw: int
) -> str:
    """Why the options of an item have no further order."""
    faults = [reference.fault for reference in references if reference.fault]
    if faults:
        return faults[0]
    if references and n_orders == 1:
        names = " and ".join(repr(item.options[reference.index]) for reference in references[:2])
        verb = "refers" if len(references) == 1 else "refer"
        return f"{names} {verb} to other options, so that no other order keeps the meaning"
    return f"{len(item.options)} options have no {draw + 1} orders"


def _orders(
    key: str, count: int, groups: Sequence[Sequence[int]], right: int, draws: int
) -> list[list[int]]:
    """The first orders drawn for an item, none of them twice; options change places within their
    group alone.
    """
    orders: list[list[int]] = []
    seed = 0
    while len(orders) < draws:
        seed += 1
        salt = "" if seed == 1 else f"|{seed}"
        # ranks of hashes, and no random numbers: an item's order depends on nothing but its id
        digests = [hashlib.blake2b(f"{key}|{i}{salt}".encode()).digest() for i in range(count)]
        order = list(range(count))
        for group in groups:
            ranked = sorted(group, key=digests.__getitem__)
            # in the first order the right option moves, so that a habit of one letter does not pass
            while not orders and right in group and ranked[group.index(right)] == right:
                ranked = ranked[1:] + ranked[:1]
            for slot, option in zip(group, ranked, strict=True):
                order[slot] = option
        if order != list(range(count)) and order not in orders:
            orders.append(order)
    return orders
