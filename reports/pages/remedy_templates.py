"""What the report says of each thing to mend: its title, its sentence, the link and the remedy."""

from __future__ import annotations

from collections.abc import Mapping

REMEDY_TEMPLATES: Mapping[str, tuple[str, str, str, str, str]] = {
    "keys": (
        "{keys} to check",
        "The answers speak against them{of_one_type}; a weakness that strong models share looks"
        " alike.{cost}",
        "{to_read} to read",
        "read",
        "Read them, and correct only the keys that you find wrong.",
    ),
    "reversed": (
        "{reversed_items} to check",
        "They run against the other items{of_one_type}: who scores high elsewhere scores low on"
        " {all_named}.",
        "{to_read} to read",
        "read",
        "Read how they are scored, and reverse the scale of those that run the wrong way.",
    ),
    "two_keys": (
        "{questions} with two keys",
        "One question has different right answers, as in {first_two}.{cost}",
        "{of_groups}",
        "lists",
        "Correct one of each.",
    ),
    "leaks": (
        "{leaks} in {named}",
        "{leak}",
        "all leaks",
        "blind",
        "Balance right answers over wordings, texts, lengths and places of options.",
    ),
    "pictures": (
        "{pictures} broken or missing",
        "{found}: nobody who looks can answer what is asked about {named}.{cost}",
        "{counted_pictures}",
        "lists",
        "Put the files back, or take their items out.",
    ),
    "repeats": (
        "{items} asked again",
        "Their questions weigh more than once: {named}.",
        "{counted_items}",
        "lists",
        "Keep one of each.",
    ),
    "unscored": (
        "{share} of the answers unscored",
        "{answers} could not be read, or were not given.",
        "states",
        "states",
        "Read them; then make the parser accept them, or ask again.",
    ),
    "empty_types": (
        "No items of {named}",
        "The card claims them.",
        "types",
        "types",
        "Add items, or take the claim back.",
    ),
}
"""What is to be mended -> title, sentence, link, the part of the evidence behind it, and remedy."""
FINDING_TEMPLATE = ("{finding}", "{found}", "the check", "fix", "")
