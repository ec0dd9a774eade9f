"""How often things are there, and how often together: over the pictures of a source."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hqm.psychometrics.arrays import Array

SKEWS = ("max", "mean", "max - mean", "mean - min", "max - min")


@dataclass(frozen=True)
class CoOccurrence:
    """Counts of pictures, of each feature and of each pair."""

    pictures: int
    single: Mapping[str, int]
    pairs: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, pictures: Iterable[Collection[str]]) -> CoOccurrence:
        """Count the features of every picture.

        >>> seen = CoOccurrence.of([{"cup", "table"}, {"cup"}, {"dog"}])
        >>> round(seen.frequency("cup"), 3), seen.given("table", "cup")
        (0.667, 0.5)
        """
        single: Counter[str] = Counter()
        pairs: dict[str, Counter[str]] = defaultdict(Counter)
        number = 0
        for features in pictures:
            number += 1
            single.update(sorted(features))
            for name in sorted(features):
                pairs[name].update(other for other in sorted(features) if other != name)
        return cls(number, single, pairs)

    def frequency(self, name: str) -> float:
        """The share of pictures that have it."""
        return self.single.get(name, 0) / self.pictures if self.pictures else 0.0

    def given(self, feature: str, name: str) -> float:
        """P(feature | object): the share of the object's pictures that have the feature."""
        there = self.single.get(name, 0)
        return self.pairs.get(name, {}).get(feature, 0) / there if there else 0.0

    def strongest(self, feature: str, present: Collection[str]) -> float:
        """How likely a feature is by that of the present things which makes it likeliest."""
        return max((self.given(feature, name) for name in present), default=0.0)


def skew(shares: Array) -> Mapping[str, float]:
    """The five statistics of how unevenly a feature goes with the objects, from P(feature | object)
    of each.

    >>> import numpy as np
    >>> skew(np.array([0.9, 0.1, 0.2]))["max - min"]
    0.8
    """
    top, middle, bottom = float(shares.max()), float(shares.mean()), float(shares.min())
    return dict(zip(SKEWS, (top, middle, top - middle, middle - bottom, top - bottom), strict=True))
