"""CHAIR: how many of the objects that a caption mentions are not in the picture."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from hqm.types import Verdict


def chair_tally(mentioned: Sequence[str], present: Collection[str], text: str) -> Verdict:
    """The verdict on one caption.

    Parameters
    ----------
    mentioned
        The objects it mentions, repeats kept.
    present
        The objects in the picture.
    text
        The caption; its words are counted.

    Examples
    --------
    >>> verdict = chair_tally(["dog", "dog", "cat"], {"dog", "person"}, "Two dogs and a cat.")
    >>> verdict.tally["hallucinated"], verdict.tally["mentioned"], verdict.read
    (1.0, 3.0, 'cat')
    """
    there = set(present)
    wrong = [name for name in mentioned if name not in there]
    tally = {
        "hallucinated": float(len(wrong)),
        "mentioned": float(len(mentioned)),
        "captions_hallucinated": float(bool(wrong)),
        "covered": float(len(there & set(mentioned))),
        "present": float(len(there)),
        "words": float(len(text.split())),
        "n": 1.0,
    }
    return Verdict(float(not wrong), tally, "ok", ", ".join(wrong))


# ----------------------------------------------------------------------
# Which names of a vocabulary a text mentions; a longer name goes before a shorter one inside it.
# ----------------------------------------------------------------------


def mentioned(text: str, vocabulary: Collection[str]) -> list[str]:
    """The names of a vocabulary that a text mentions, in its order; plurals too.

    >>> mentioned("Two hot dogs and a dog.", frozenset({"dog", "hot dog"}))
    ['hot dog', 'dog']
    """
    words = re.findall(r"[a-z0-9'-]+", text.lower())
    longest = max((len(name.split()) for name in vocabulary), default=0)
    named, place = [], 0
    while place < len(words):
        for width in range(min(longest, len(words) - place), 0, -1):
            run = words[place : place + width]
            name = next(
                (spelled for spelled in _spellings(tuple(run)) if spelled in vocabulary), None
            )
            if name is not None:
                named.append(name)
                place += width
                break
        else:
            place += 1
    return named


@lru_cache(maxsize=65536)
def _spellings(words: Sequence[str]) -> tuple[str, ...]:
    """A run of words as it stands, and with its last word in the singular."""
    from lemminflect import getLemma

    *before, last = words
    return tuple(
        dict.fromkeys(" ".join([*before, word]) for word in (last, *getLemma(last, "NOUN")))
    )
