"""The names of the rules that turn a question round, for whoever reads the answers and builds no
form.
"""

from __future__ import annotations

from hqm.types import Item

STRAIGHT = frozenset({"polar.true", "polar.quoted_true"})
"""The rules of yes/no questions whose right answer stays."""


def is_negated(item: Item) -> bool:
    """Whether the item's question was turned round by a rule (or by a person, who writes
    `polar.person`).
    """
    return item.rule.startswith("polar.") and item.rule not in STRAIGHT
