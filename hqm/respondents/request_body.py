"""The body of a request as aiohttp sends it.

It stands apart from `hqm.respondents.server_client`, which is imported before aiohttp is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import aiohttp
from aiohttp.abc import AbstractStreamWriter


class RequestBody(aiohttp.Payload):
    """A body in parts, written one after another: a picture in it is never copied to be sent."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        super().__init__(parts, content_type="application/json")
        self._size = sum(map(len, parts))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The body as a text."""
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write the parts to a connection."""
        for chunk in self._value:
            await writer.write(chunk)
