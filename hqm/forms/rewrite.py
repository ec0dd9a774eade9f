"""A rewritten question and the rule that made it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A question in its parallel wording, with the name of the rule that made it."""

    prompt: str
    rule: str
