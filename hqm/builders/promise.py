"""What the result of a recipe must not have, as it was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Something that the result of a recipe must not have, as it was measured."""

    name: str
    sentence: str
    """What was measured, in words."""
    value: float
    limit: float
    kept: bool

    @property
    def excess(self) -> float:
        """By how much it is broken; 0 where it is kept."""
        return 0.0 if self.kept else abs(self.value - self.limit)
