"""A picture as a server wants it: a data URL that says what the bytes are."""

from __future__ import annotations

import base64
import mimetypes
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=64)
def picture_part(path: Path) -> bytes:
    """A picture as the part of a message, in JSON, written once per picture: its requests come one
    after another.
    """
    content = path.read_bytes()
    kind = _kind(content) or mimetypes.guess_type(path.name)[0] or "image/png"
    # nothing in a data URL wants escaping
    url = b"data:%b;base64,%b" % (kind.encode(), base64.b64encode(content))
    return b'{"type": "image_url", "image_url": {"url": "%b"}}' % url


def _kind(content: bytes) -> str:
    """What the bytes are, whatever the file is called; servers look at what they are told."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    kinds = {
        b"\x89PNG": "image/png",
        b"\xff\xd8\xff": "image/jpeg",
        b"GIF8": "image/gif",
        b"BM": "image/bmp",
    }
    return next((kind for mark, kind in kinds.items() if content.startswith(mark)), "")
