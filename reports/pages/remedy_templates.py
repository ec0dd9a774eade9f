"""What the report says of each thing to mend: its title, its sentence, the link and the remedy."""

from __future__ import annotations

from collections.abc import Mapping

# The fields in braces are made by `_remedy_line` in sentences.py, which gives every template all of
# them; none takes a name of an item or model as a template.
REMEDY_TEMPLATES: Mapping[str, tuple[str, str, str, str, str]] = {
    "keys": (
        "{keys} to check",
        "Strong models disagree with these keys{of_one_type}; the key or the models may be"
        " wrong.{cost}",
        "{to_read} to read",
        "read",
        "Read them, and correct only the keys that are wrong.",
    ),
    "reversed": (
        "{reversed_items} to check",
        "Models that score high on the other items score low on {all_named}{of_one_type}.",
        "{to_read} to read",
        "read",
        "Read how they are scored, and reverse the scale where it is wrong.",
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
        "Balance the right answers over wordings, texts, lengths and positions of options.",
    ),
    "pictures": (
        "{pictures} broken or missing",
        "{found} Nobody can answer what is asked about {named}.{cost}",
        "{counted_pictures}",
        "lists",
        "Restore the files, or remove their items.",
    ),
    "repeats": (
        "{duplicates}",
        "They count twice: {named}.",
        "{counted_items}",
        "lists",
        "Keep one of each.",
    ),
    "unscored": (
        "{share} of the answers unscored",
        "{answers} could not be read, or were not given.",
        "states",
        "states",
        "Read them; then extend the parser, or ask again.",
    ),
    "empty_types": (
        "No items of {named}",
        "The card names a type that no item has.",
        "types",
        "types",
        "Add items, or remove the claim.",
    ),
}
"""What is to be corrected -> title, sentence, link, the part of the evidence behind it, and
remedy.
"""
FINDING_TEMPLATE = ("{finding}", "{found}", "the check", "fix", "")
