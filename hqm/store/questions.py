"""What is asked, addressed by its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hqm.signature import digest
from hqm.text import storable


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked: a text, and the picture it is asked about."""

    digest: str
    prompt: str
    image: str | None = None
    image_digest: str | None = None


def ask(
    prompt: str,
    image: str | None = None,
    image_digest: str | None = None,
    *,
    apart: Sequence[str] = (),
) -> Ask:
    """Address what is asked by its content: the text and the picture's bytes, whatever the
    picture's name.

    `apart` holds questions apart that would otherwise be one; recorded answers use it, since a file
    may hold different answers for rows that ask the same.

    >>> ask("Is it red?", "a.png", "b2:00").digest == ask("Is it red?", "b.png", "b2:00").digest
    True
    """
    prompt, image = storable(prompt), storable(image)
    return Ask(digest([prompt, image_digest or image, *apart]), prompt, image, image_digest)
