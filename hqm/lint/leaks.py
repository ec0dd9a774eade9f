"""What gives right answers away without the pictures: one study for `hqm check`, the indicators and
the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hqm.psychometrics import (
    Leakage,
    LengthCue,
    Solvability,
    Stratum,
    blind_solvability,
    leakage_cues,
    length_cue,
    own_words,
)
from hqm.psychometrics.weights import stream
from hqm.types import Form, Item

MOST = 12_000
"""The most items that the words are tried on, drawn at random.

Cues are tried on all items: they depend on the order.
"""
_FOLDS = 5
WORDS = "words"
"""The cue of a stratum that the words were tried on."""


@dataclass(frozen=True, slots=True)
class Leaks:
    """What the words and what position, numbering and surface give away, in every type and part."""

    words: Solvability
    cues: Leakage
    lengths: LengthCue
    """What counting words gives away; compared with items of no type where all others of a type
    have one label.
    """
    sampled: int
    """How many items the words were tried on."""

    @property
    def shown(self) -> tuple[Stratum, ...]:
        """Every type and part in which the words, or a cue, predict more than chance explains; the
        largest gain first.
        """
        return tuple(
            sorted(
                (s for s in (*self.words.strata, *self.cues.strata) if s.shown),
                key=lambda s: -s.gain,
            )
        )


def can_leak(items: Sequence[Item]) -> bool:
    """Whether there are labels to predict: questions of yes and no, and multiple choice."""
    return bool(items) and items[0].task in ("yes_no", "choice")


def leaks_in(form: Form, seed: int = 0) -> Leaks:
    """The study of a form's questions and right answers; asked twice about the same items, it is
    made once.
    """
    return _study(_Key(form, form.digest), seed)


class _Key:
    """A form that is looked up by its content."""

    def __init__(self, form: Form, digest: str) -> None:
        self.form, self.digest = form, digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.digest == self.digest


@lru_cache(maxsize=8)
def _study(key: _Key, seed: int) -> Leaks:
    items = key.form.items
    chosen: Sequence[Item] = items
    if len(items) > MOST:
        drawn = stream(seed, "solvability.sample").choice(len(items), MOST, replace=False)
        chosen = [items[i] for i in np.sort(drawn)]
    words = blind_solvability(
        [item.prompt for item in chosen],
        [str(item.target) for item in chosen],
        rng=stream(seed, "solvability"),
        clusters=clusters_of(chosen),
        types=[item.type for item in chosen],
        parts=[item.part for item in chosen],
        folds=_FOLDS,
    )
    cues = leakage_cues(
        [str(item.target) for item in items],
        rng=stream(seed, "leakage"),
        questions=[item.prompt for item in items],
        ids=[item.id for item in items],
        clusters=clusters_of(items),
        types=[item.type for item in items],
        parts=[item.part for item in items],
        folds=_FOLDS,
    )
    lengths = length_cue(
        own_words([item.prompt for item in items]),
        [str(item.target) for item in items],
        rng=stream(seed, "solvability.length"),
        clusters=clusters_of(items),
        types=[item.type for item in items],
        parts=[item.part for item in items],
        folds=_FOLDS,
    )
    return Leaks(words, cues, lengths, len(chosen))


def clusters_of(items: Sequence[Item]) -> list[str]:
    """What each item shares with others (its picture, unless the card says otherwise)."""
    return [item.cluster or item.id for item in items]
