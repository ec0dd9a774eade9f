"""A server that writes whatever bytes it likes, at whatever speed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType

Talk = Callable[[asyncio.StreamWriter], Awaitable[None]]


class RawServer:
    """Reads each request to its end, then lets `talk` write; a connection is closed when `talk`
    returns.
    """

    def __init__(self, talk: Talk) -> None:
        self.talk, self.asked = talk, 0

    def __enter__(self) -> RawServer:
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._server = server
        self._started.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = next(
                (
                    int(x.split(":")[1])
                    for x in head.split("\r\n")
                    if x.startswith("content-length:")
                ),
                0,
            )
            await reader.readexactly(length)
            self.asked += 1
            await self.talk(writer)
        with contextlib.suppress(ConnectionError):
            writer.close()


def says(*pieces: bytes, pause: float = 0.0, forever: bool = False) -> Talk:
    """Write the pieces with pauses between them, the last one again and again where `forever`."""

    async def talk(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        while forever:
            writer.write(pieces[-1])
            await writer.drain()
            await asyncio.sleep(pause)

    return talk


def http(status: str, body: bytes = b"", *headers: str, length: bool = True) -> bytes:
    """A reply as bytes."""
    lines = [f"HTTP/1.1 {status}", *headers, *([f"Content-Length: {len(body)}"] if length else [])]
    return "\r\n".join([*lines, "", ""]).encode("utf-8") + body
