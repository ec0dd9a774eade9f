"""The page on which people label: Starlette, templates with escaping on, and htmx from this folder;
nothing comes from elsewhere.

A rater's link has a token in its path and nothing else: no cookie, no name. What a reply holds is
made of `RaterPage` alone, which does not know who answered.
"""

from __future__ import annotations

import io
import json
import secrets
import signal
import socket
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import uvicorn
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hqm.errors import DataError, HQMError, ImageError, UsageError
from hqm.files.cache import replacing
from hqm.files.images import as_rgb, check_picture, oddities, open_picture
from hqm_label.label_schema import CANNOT_SAY, read_reply
from hqm_label.label_store import Label
from hqm_label.rater_view import RaterPage, visible
from hqm_label.study import Study, status_of
from hqm_label.study_plan import ADJUDICATION

# --- what every reply of the page carries, and which requests are refused ---
#
# Nothing is loaded from elsewhere, and nothing is sent from elsewhere.

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
HTMX_HEADER = "hx-request"
"""A header that a page of another origin cannot send without being asked first, and is never
allowed to.
"""
MAX_REQUEST_BYTES = 4_000_000
"""The most bytes of a request."""


class Guard:
    """Add security headers to every reply; refuse foreign hosts and requests that are too large."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # the page needs no outside resource, so that the policy can forbid all of them
        headers = Headers(scope=scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers_sent = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers_sent[name] = value
                if "cache-control" not in headers_sent:
                    headers_sent["cache-control"] = "no-store"
            await send(message)

        reply: ASGIApp = self.app
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        length = headers.get("content-length", "0")
        if self.hosts is not None and host not in self.hosts:
            # a name that somebody else's server has pointed at this machine
            reply = PlainTextResponse("This server does not go by that name.", 421)
        elif not length.isdecimal() or int(length) > MAX_REQUEST_BYTES:
            reply = PlainTextResponse("The request is too large.", 413)
        await reply(scope, receive, send_with_headers)


def is_from_this_site(request: Request) -> bool:
    """Whether a request that changes something was sent by a page of this server."""
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    is_same_origin = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    return (
        is_same_origin
        and site in ("same-origin", "none")
        and request.headers.get(HTMX_HEADER) == "true"
    )


async def fields_of(request: Request) -> dict[str, str]:
    """Parse the fields of a form; empty where the body is no form, or is too large."""
    from urllib.parse import parse_qsl

    # the length in the header may be wrong or missing: what arrives is counted
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_REQUEST_BYTES:
            return {}
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=50)
    except ValueError:  # which a text that is no UTF-8 is too
        return {}
    return dict(pairs)


# --- the links of a study ---
#
# A secret token for each rater and one for the owner, kept beside the plan for its owner alone.

_TOKEN_BYTES = 24


@dataclass(frozen=True)
class Links:
    """The tokens of one study."""

    owner: str
    raters: Mapping[str, str]
    """Rater -> token."""

    def rater_of(self, token: str) -> str | None:
        """Return the rater of a token; every token is compared in constant time."""
        match = None
        for rater, secret in self.raters.items():
            # no early exit: the time says nothing about how many tokens were compared
            if secrets.compare_digest(secret.encode(), token.encode("utf-8", "replace")):
                match = rater
        return match

    def is_owner(self, token: str) -> bool:
        return secrets.compare_digest(self.owner.encode(), token.encode("utf-8", "replace"))


def links_path(plan: Path) -> Path:
    """The file of tokens that belongs to a plan.

    >>> links_path(Path("study/plan.jsonl")).name
    'plan.links.json'
    """
    return plan.with_name(f"{plan.stem}.links.json")


def read_links(plan: Path, raters: Sequence[str], *, renew: bool = False) -> Links:
    """Read the tokens of a study, and make missing ones, so that links outlive the server.

    `renew` makes all of them new, and the old links stop working.

    Raises
    ------
    DataError
        The file cannot be read or written.
    """
    path = links_path(plan)
    data: dict[str, object] = {}
    try:
        if path.is_file() and not renew:
            data = json.loads(path.read_text(encoding="utf-8"))
        stored_tokens = data.get("raters", {}) if isinstance(data, dict) else {}
        if not isinstance(stored_tokens, dict):
            raise ValueError("it holds no links")
        tokens = {
            rater: str(stored_tokens.get(rater) or secrets.token_urlsafe(_TOKEN_BYTES))
            for rater in raters
        }
        owner = str(data.get("owner") or secrets.token_urlsafe(_TOKEN_BYTES))
        payload = {"owner": owner, "raters": {**stored_tokens, **tokens}}
        if payload != data:
            with replacing(path) as file:  # which nobody else may read
                file.write(json.dumps(payload, indent=1).encode())
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(
            f"the links of the study cannot be kept: {error}",
            location=str(path),
            remedy="Correct its permissions, or remove it: new links are made.",
        ) from None
    return Links(owner, tokens)


_FOLDER = Path(__file__).parent
STATIC: Mapping[str, str] = {
    "htmx.min.js": "text/javascript",
    "label.js": "text/javascript",
    "marking.js": "text/javascript",
    "label.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_BROWSER_TYPES = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "GIF": "image/gif",
    "WEBP": "image/webp",
    "BMP": "image/bmp",
}
_MAX_MILLISECONDS = 24 * 3600 * 1000
"""A label that took longer than a day was interrupted."""


def make_app(study: Study, links: Links, hosts: Collection[str] | None = None) -> Starlette:
    """The page of a study.

    Parameters
    ----------
    hosts
        The names by which this server may be called; any where None, as behind a server of one's
        own.
    """
    endpoints = Endpoints(study, links)
    return Starlette(
        routes=[
            Route("/r/{token}", endpoints.rater),
            Route("/r/{token}/begin", endpoints.begin),
            Route("/r/{token}/label", endpoints.label, methods=["POST"]),
            Route("/r/{token}/labels", endpoints.labels),
            Route("/r/{token}/undo", endpoints.undo, methods=["POST"]),
            Route("/r/{token}/picture/{uid}", endpoints.picture),
            Route("/owner/{token}", endpoints.owner),
            Route("/owner/{token}/decide", endpoints.decide),
            Route("/owner/{token}/label", endpoints.settle, methods=["POST"]),
            Route("/owner/{token}/undo", endpoints.unsettle, methods=["POST"]),
            Route("/owner/{token}/picture/{uid}", endpoints.picture),
            Route("/static/{name}", static),
            Route("/favicon.ico", _no_content),
        ],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={404: _not_found, 405: _not_found, HQMError: _unprocessable},
    )


class Endpoints:
    """The replies, over one study."""

    def __init__(self, study: Study, links: Links) -> None:
        self.study, self.links = study, links
        self.templates = Environment(
            loader=FileSystemLoader(_FOLDER / "templates"),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters["visible"] = visible

    # --- raters ---

    async def rater(self, request: Request) -> Response:
        """A rater's page: how to decide before the first label, then what comes next."""
        rater, base = self._rater(request)
        own_labels = self.study.labels_of(rater)
        if own_labels:
            context = self._next_context(rater, base, own_labels)
        else:
            context = self._introduction_context(rater, base)
        return self._full_page(context)

    async def begin(self, request: Request) -> Response:
        """The first answer."""
        rater, base = self._rater(request)
        context = self._next_context(rater, base, self.study.labels_of(rater))
        if request.headers.get("hx-request"):
            return self._fragment(context)
        return self._full_page(context)

    async def label(self, request: Request) -> Response:
        """Store a label, and show what comes next.

        Where another window of this rater labelled the answer meanwhile in another way, it is shown
        again with what was said there, and nothing is stored yet.
        """
        rater, base = self._rater(request)
        fields = await self._checked_fields(request)
        uid = fields.get("uid", "")
        # a rater may label the answers of the plan that are theirs, whatever the page sends
        if uid not in set(self.study.order(rater)):
            raise UsageError("this answer is not yours to label", remedy="Reload the page.")
        own_labels = self.study.labels_of(rater)
        current = own_labels.get(uid)
        if current is None or fields.get("before") == str(current.time):
            self._store(fields, rater)
        elif self._values(fields) != current.values:
            return self._fragment(self._next_context(rater, base, own_labels, first=uid))
        return self._fragment(self._next_context(rater, base, self.study.labels_of(rater)))

    async def labels(self, request: Request) -> Response:
        """A rater's own labels, each of which can be taken back."""
        rater, base = self._rater(request)
        own_labels = self.study.labels_of(rater)
        labelled_pages = [
            (self.study.pages[uid], self.study.schema.in_words(label.label))
            for uid, label in reversed(own_labels.items())
            if uid in self.study.pages
        ]
        context = {
            **self._frame_context(self.study.schema.title),
            "base": base,
            "view": "labels.html",
            "progress": self.study.progress(rater, own_labels),
            "labelled_pages": labelled_pages,
        }
        if request.headers.get("hx-request"):
            return self._fragment(context)
        return self._full_page(context)

    async def undo(self, request: Request) -> Response:
        """Take back the latest label, or that of the answer named, and show its answer again."""
        rater, base = self._rater(request)
        fields = await self._checked_fields(request)
        # the page shows the answer again, so that the label can be given anew
        uid = self.study.labels.undo(rater, uid=fields.get("taken"))
        return self._fragment(
            self._next_context(rater, base, self.study.labels_of(rater), first=uid)
        )

    async def picture(self, request: Request) -> Response:
        """The picture of an answer, by its uid, for those who may see the answer."""
        uid = request.path_params["uid"]
        if request.url.path.startswith("/owner/"):
            self._owner(request)
            may_see = uid in self.study.plan.by_uid
        else:
            may_see = uid in set(self.study.order(self._rater(request)[0]))
        path = self.study.picture(uid) if may_see else None
        if path is None:
            raise HTTPException(404)
        try:
            content, kind = await run_in_threadpool(picture_bytes, path)
        except ImageError:
            raise HTTPException(404) from None
        return Response(
            content, media_type=kind, headers={"cache-control": "private, max-age=3600"}
        )

    # --- the owner ---

    async def owner(self, request: Request) -> Response:
        """Progress, agreement, gold and the width reached."""
        base = self._owner(request)
        status = await run_in_threadpool(status_of, self.study)
        context = {
            "base": base,
            "view": "owner.html",
            "status": status,
            **self._frame_context("The study"),
        }
        if request.headers.get("hx-request"):
            return self._fragment(context)
        return self._full_page(context)

    async def decide(self, request: Request) -> Response:
        """A disagreement to settle."""
        return self._full_page(self._disagreement_context(self._owner(request)))

    async def settle(self, request: Request) -> Response:
        """Store an adjudicated label, and show the next disagreement."""
        base = self._owner(request)
        fields = await self._checked_fields(request)
        if fields.get("uid") not in self.study.disagreements():
            raise UsageError("the raters of this answer do not disagree", remedy="Reload the page.")
        self._store(fields, ADJUDICATION)
        return self._fragment(self._disagreement_context(base))

    async def unsettle(self, request: Request) -> Response:
        """Take back the latest adjudicated label."""
        base = self._owner(request)
        await self._checked_fields(request)
        uid = self.study.labels.undo(ADJUDICATION, by="adjudication")
        return self._fragment(self._disagreement_context(base, first=uid))

    # --- what they share ---

    def _rater(self, request: Request) -> tuple[str, str]:
        """Return the rater of a request's link, and the base of the rater's pages."""
        token = request.path_params["token"]
        rater = self.links.rater_of(token)
        if rater is None or rater not in self.study.plan.raters:
            raise HTTPException(404)
        return rater, f"/r/{token}"

    def _owner(self, request: Request) -> str:
        token = request.path_params["token"]
        if not self.links.is_owner(token):
            raise HTTPException(404)
        return f"/owner/{token}"

    async def _checked_fields(self, request: Request) -> dict[str, str]:
        """Return the fields of a request that changes something; refuse one from another site."""
        if not is_from_this_site(request):
            raise HTTPException(403)
        return await fields_of(request)

    def _values(self, fields: Mapping[str, str]) -> dict[str, Any]:
        return read_reply(
            self.study.schema,
            fields.get("choice", ""),
            fields.get("detail", ""),
            fields.get("text", ""),
            fields.get("note", ""),
            self.study.pages[fields["uid"]].answer,
        )

    def _store(self, fields: Mapping[str, str], rater: str) -> None:
        values = self._values(fields)
        milliseconds = _milliseconds(fields.get("milliseconds", ""))
        by: Literal["adjudication", "rater"] = "adjudication" if rater == ADJUDICATION else "rater"
        self.study.labels.add(fields["uid"], rater, values, milliseconds, by=by)

    def _next_context(
        self, rater: str, base: str, own_labels: Mapping[str, Label], first: str | None = None
    ) -> dict[str, Any]:
        waiting = [uid for uid in self.study.waiting(rater, own_labels) if uid != first]
        if first is not None:
            waiting.insert(0, first)
        progress = self.study.progress(rater, own_labels)
        context = {
            **self._frame_context(self.study.schema.title),
            "base": base,
            "progress": progress,
            "rater_labels": (),
        }
        if not waiting:
            return {**context, "view": "done.html"}
        return {
            **context,
            **self._item_context(
                self.study.pages[waiting[0]],
                waiting[1] if waiting[1:] else "",
                own_labels.get(waiting[0]),
            ),
        }

    def _disagreement_context(self, base: str, first: str | None = None) -> dict[str, Any]:
        settled, differing = self.study.adjudicated(), self.study.disagreements()
        waiting = [uid for uid in differing if uid not in settled]
        uid = first if first in waiting else next(iter(waiting), None)
        counts = {
            "labelled": len(differing) - len(waiting),
            "count": len(differing),
            "time_left": "",
        }
        context = {**self._frame_context("Disagreements"), "base": base, "progress": counts}
        if uid is None:
            return {**context, "view": "settled.html"}
        rater_labels = [
            (label.rater, self.study.schema.in_words(label.label), label)
            for label in self.study.labels_by_answer()[uid]
        ]
        return {
            **context,
            **self._item_context(self.study.pages[uid], waiting[1] if waiting[1:] else ""),
            "rater_labels": rater_labels,
        }

    def _item_context(
        self, page: RaterPage, next_uid: str, current: Label | None = None
    ) -> dict[str, Any]:
        picture = self.study.picture(page.uid) is not None
        if self.study.schema.kind == "facts":
            detail = [sentence.to_dict() for sentence in page.sentences]
        else:
            detail = []
        if next_uid and self.study.pages[next_uid].image:
            next_picture = next_uid
        else:
            next_picture = ""
        return {
            "view": "item.html",
            "page": page,
            "picture": picture,
            "detail": detail,
            "next_picture": next_picture,
            "current_time": current.time if current else "",
            "current_label": self.study.schema.in_words(current.label) if current else "",
        }

    def _introduction_context(self, rater: str, base: str) -> dict[str, Any]:
        count = len(self.study.order(rater))
        return {
            **self._frame_context(self.study.schema.title),
            "base": base,
            "view": "begin.html",
            "count": count,
        }

    def _frame_context(self, title: str) -> dict[str, Any]:
        return {"title": title, "schema": self.study.schema, "cannot_say": CANNOT_SAY}

    def _full_page(self, context: Mapping[str, Any]) -> Response:
        return HTMLResponse(self.templates.get_template("frame.html").render(context))

    def _fragment(self, context: Mapping[str, Any]) -> Response:
        return HTMLResponse(self.templates.get_template(context["view"]).render(context))


def _milliseconds(text: str) -> int | None:
    if text.isdecimal() and len(text) < 16:
        return min(int(text), _MAX_MILLISECONDS)
    return None


def picture_bytes(path: Path) -> tuple[bytes, str]:
    """Return a picture that every browser shows as a model sees it.

    Raises
    ------
    ImageError
        The file is no picture, such as an SVG, or breaks off.
    """
    # the browser must not show other pixels than the model saw: odd files are written anew as PNG
    check_picture(path)
    content = path.read_bytes()
    with open_picture(io.BytesIO(content)) as opened:
        kind = _BROWSER_TYPES.get(opened.format or "")
        if kind is not None and not oddities(opened):
            return content, kind
        png = io.BytesIO()
        as_rgb(opened).save(png, "PNG")
    return png.getvalue(), "image/png"


async def static(request: Request) -> Response:
    """One of the files that the page is made of."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    return Response(
        (_FOLDER / "static" / name).read_bytes(),
        media_type=STATIC[name],
        headers={"cache-control": "no-cache"},
    )


async def _no_content(request: Request) -> Response:
    return Response(status_code=204)


async def _not_found(request: Request, error: Exception) -> Response:
    return PlainTextResponse("There is nothing here. Ask for your link again.", 404)


async def _unprocessable(request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 422)


# --- the server of the page ---
#
# It listens on one socket until Ctrl-C or SIGTERM, and ends by itself.


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """As uvicorn's, but a signal that ended the server is not raised again: the command goes on
        to its last line.
        """
        previous_handlers = {
            number: signal.signal(number, self.handle_exit)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in previous_handlers.items():
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
