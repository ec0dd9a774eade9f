"""The server of the page: it listens on one socket until Ctrl-C or SIGTERM, and ends by itself."""

from __future__ import annotations

import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """As uvicorn's, but a signal that ended the server is not raised again: the command goes on
        to its last line.
        """
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve_until_stopped(app: ASGIApp, listener: socket.socket) -> None:
    """Serve an application on a socket that listens already."""
    # a log of requests would hold the raters' links
    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=5,
    )
    _Server(config).run(sockets=[listener])
