"""CHAIR: how many of the objects that a caption mentions are not in the picture."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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
    >>> verdict.tally["hallucinated"], verdict.tally["mentioned"], verdict.tally["covered"], verdict.read
    (1.0, 3.0, 1.0, 'cat')
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
