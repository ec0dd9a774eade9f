"""What every reply of the page carries, and which requests are refused: nothing is loaded from
elsewhere, and nothing is sent from elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
    "x-robots-tag": "noindex, nofollow",
}
HEADER = "hx-request"
"""A header that a page of another origin cannot send without being asked first, and is never
allowed to.
"""
LARGEST = 4_000_000
"""The most bytes of a request."""


class Guard:
    """Puts the headers on every reply, refuses a host that is not this server's, and a request that
    is too large.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    sent[name] = value
                if "cache-control" not in sent:
                    sent["cache-control"] = "no-store"
            await send(message)

        reply: ASGIApp = self.app
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        length = headers.get("content-length", "0")
        if self.hosts is not None and host not in self.hosts:
            # a name that somebody else's server has pointed at this machine
            reply = PlainTextResponse("This server does not go by that name.", 421)
        elif not length.isdecimal() or int(length) > LARGEST:
            reply = PlainTextResponse("The request is too large.", 413)
        await reply(scope, receive, guarded)


def from_this_page(request: Request) -> bool:
    """Whether a request that changes something was sent by a page of this server."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    same = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    return same and site in ("same-origin", "none") and request.headers.get(HEADER) == "true"


async def fields_of(request: Request) -> dict[str, str]:
    """The fields of a form, as browsers send it; empty where the body is none, or is too large."""
    from urllib.parse import parse_qsl

    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            return {}
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=50)
    except ValueError:  # which a text that is no UTF-8 is too
        return {}
    return dict(pairs)
