"""The page on which people label: Starlette, templates with escaping on, and htmx from this folder;
nothing comes from elsewhere.

A rater's link has a token in its path and nothing else: no cookie, no name. What a reply holds is
made of `Shown` alone, which does not know who answered.
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
from hqm.files.images import as_rgb, check_picture, oddities
from hqm.labels.label_schema import CANNOT_SAY, read_reply
from hqm.labels.label_store import Label
from hqm.labels.rater_view import Shown, visible
from hqm.labels.study import Study, status_of
from hqm.labels.study_plan import ADJUDICATION

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
HEADER = "hx-request"
"""A header that a page of another origin cannot send without being asked first, and is never
allowed to.
"""
LARGEST = 4_000_000
"""The most bytes of a request."""


class Guard:
    """Add security headers to every reply; refuse foreign hosts and requests that are too large."""

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
    """Parse the fields of a form; empty where the body is no form, or is too large."""
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


# --- the links of a study ---
#
# A secret token for each rater and one for the owner, kept beside the plan for its owner alone.

_BYTES = 24


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
        known = data.get("raters", {}) if isinstance(data, dict) else {}
        if not isinstance(known, dict):
            raise ValueError("it holds no links")
        tokens = {rater: str(known.get(rater) or secrets.token_urlsafe(_BYTES)) for rater in raters}
        owner = str(data.get("owner") or secrets.token_urlsafe(_BYTES))
        made = {"owner": owner, "raters": {**known, **tokens}}
        if made != data:
            with replacing(path) as file:  # which nobody else may read
                file.write(json.dumps(made, indent=1).encode())
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(
            f"the links of the study cannot be kept: {error}",
            location=str(path),
            remedy="Correct its permissions, or remove it: new links are made.",
        ) from None
    return Links(owner, tokens)


_HERE = Path(__file__).parent
STATIC: Mapping[str, str] = {
    "htmx.min.js": "text/javascript",
    "label.js": "text/javascript",
    "marking.js": "text/javascript",
    "label.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_SHOWN_BY_BROWSERS = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "GIF": "image/gif",
    "WEBP": "image/webp",
    "BMP": "image/bmp",
}
_LONGEST_TIME = 24 * 3600 * 1000
"""A label that took longer than a day was interrupted."""


def make_app(study: Study, links: Links, hosts: Collection[str] | None = None) -> Starlette:
    """The page of a study.

    Parameters
    ----------
    hosts
        The names by which this server may be called; any where None, as behind a server of one's
        own.
    """
    pages = Pages(study, links)
    return Starlette(
        routes=[
            Route("/r/{token}", pages.rater),
            Route("/r/{token}/begin", pages.begin),
            Route("/r/{token}/label", pages.label, methods=["POST"]),
            Route("/r/{token}/labels", pages.labels),
            Route("/r/{token}/undo", pages.undo, methods=["POST"]),
            Route("/r/{token}/picture/{uid}", pages.picture),
            Route("/owner/{token}", pages.owner),
            Route("/owner/{token}/decide", pages.decide),
            Route("/owner/{token}/label", pages.settle, methods=["POST"]),
            Route("/owner/{token}/undo", pages.unsettle, methods=["POST"]),
            Route("/owner/{token}/picture/{uid}", pages.picture),
            Route("/static/{name}", static),
            Route("/favicon.ico", _nothing),
        ],
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={404: _not_there, 405: _not_there, HQMError: _refused},
    )


class Pages:
    """The replies, over one study."""

    def __init__(self, study: Study, links: Links) -> None:
        self.study, self.links = study, links
        self.templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
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
        done = self.study.labels_of(rater)
        context = self._next(rater, base, done) if done else self._introduction(rater, base)
        return self._whole(context)

    async def begin(self, request: Request) -> Response:
        """The first answer."""
        rater, base = self._rater(request)
        context = self._next(rater, base, self.study.labels_of(rater))
        return self._part(context) if request.headers.get("hx-request") else self._whole(context)

    async def label(self, request: Request) -> Response:
        """Store a label, and show what comes next.

        Where another window of this rater labelled the answer meanwhile in another way, it is shown
        again with what was said there, and nothing is stored yet.
        """
        rater, base = self._rater(request)
        fields = await self._sent(request)
        uid = fields.get("uid", "")
        if uid not in set(self.study.order(rater)):
            raise UsageError("this answer is not yours to label", remedy="Reload the page.")
        done = self.study.labels_of(rater)
        standing = done.get(uid)
        if standing is None or fields.get("before") == str(standing.time):
            self._store(fields, rater)
        elif self._values(fields) != standing.values:
            return self._part(self._next(rater, base, done, first=uid))
        return self._part(self._next(rater, base, self.study.labels_of(rater)))

    async def labels(self, request: Request) -> Response:
        """A rater's own labels, each of which can be taken back."""
        rater, base = self._rater(request)
        done = self.study.labels_of(rater)
        own = [
            (self.study.shown[uid], self.study.schema.in_words(label.label))
            for uid, label in reversed(done.items())
            if uid in self.study.shown
        ]
        context = {
            **self._frame(self.study.schema.title),
            "base": base,
            "view": "labels.html",
            "progress": self.study.progress(rater, done),
            "own": own,
        }
        return self._part(context) if request.headers.get("hx-request") else self._whole(context)

    async def undo(self, request: Request) -> Response:
        """Take back the latest label, or that of the answer named, and show its answer again."""
        rater, base = self._rater(request)
        fields = await self._sent(request)
        uid = self.study.labels.undo(rater, uid=fields.get("taken"))
        return self._part(self._next(rater, base, self.study.labels_of(rater), first=uid))

    async def picture(self, request: Request) -> Response:
        """The picture of an answer, by its uid, for those who may see the answer."""
        uid = request.path_params["uid"]
        if request.url.path.startswith("/owner/"):
            self._owner(request)
            known = uid in self.study.plan.by_uid
        else:
            known = uid in set(self.study.order(self._rater(request)[0]))
        path = self.study.picture(uid) if known else None
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
        context = {"base": base, "view": "owner.html", "status": status, **self._frame("The study")}
        return self._part(context) if request.headers.get("hx-request") else self._whole(context)

    async def decide(self, request: Request) -> Response:
        """A disagreement to settle."""
        return self._whole(self._disagreement(self._owner(request)))

    async def settle(self, request: Request) -> Response:
        """Store an adjudicated label, and show the next disagreement."""
        base = self._owner(request)
        fields = await self._sent(request)
        if fields.get("uid") not in self.study.disagreements():
            raise UsageError("the raters of this answer do not disagree", remedy="Reload the page.")
        self._store(fields, ADJUDICATION)
        return self._part(self._disagreement(base))

    async def unsettle(self, request: Request) -> Response:
        """Take back the latest adjudicated label."""
        base = self._owner(request)
        await self._sent(request)
        uid = self.study.labels.undo(ADJUDICATION, by="adjudication")
        return self._part(self._disagreement(base, first=uid))

    # --- what they share ---

    def _rater(self, request: Request) -> tuple[str, str]:
        """Whose link it is, and where its pages are."""
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

    async def _sent(self, request: Request) -> dict[str, str]:
        """Return the fields of a request that changes something; refuse one from another site."""
        if not from_this_page(request):
            raise HTTPException(403)
        return await fields_of(request)

    def _values(self, fields: Mapping[str, str]) -> dict[str, Any]:
        return read_reply(
            self.study.schema,
            fields.get("choice", ""),
            fields.get("detail", ""),
            fields.get("text", ""),
            fields.get("note", ""),
            self.study.shown[fields["uid"]].answer,
        )

    def _store(self, fields: Mapping[str, str], rater: str) -> None:
        values = self._values(fields)
        spent = _milliseconds(fields.get("milliseconds", ""))
        by: Literal["adjudication", "rater"] = "adjudication" if rater == ADJUDICATION else "rater"
        self.study.labels.add(fields["uid"], rater, values, spent, by=by)

    def _next(
        self, rater: str, base: str, done: Mapping[str, Label], first: str | None = None
    ) -> dict[str, Any]:
        waiting = [uid for uid in self.study.waiting(rater, done) if uid != first]
        if first is not None:
            waiting.insert(0, first)
        progress = self.study.progress(rater, done)
        context = {
            **self._frame(self.study.schema.title),
            "base": base,
            "progress": progress,
            "said": (),
        }
        if not waiting:
            return {**context, "view": "done.html"}
        return {
            **context,
            **self._item(
                self.study.shown[waiting[0]],
                waiting[1] if waiting[1:] else "",
                done.get(waiting[0]),
            ),
        }

    def _disagreement(self, base: str, first: str | None = None) -> dict[str, Any]:
        settled, differing = self.study.adjudicated(), self.study.disagreements()
        waiting = [uid for uid in differing if uid not in settled]
        uid = first if first in waiting else next(iter(waiting), None)
        counts = {"done": len(differing) - len(waiting), "count": len(differing), "time_left": ""}
        context = {**self._frame("Disagreements"), "base": base, "progress": counts}
        if uid is None:
            return {**context, "view": "settled.html"}
        said = [
            (each.rater, self.study.schema.in_words(each.label), each)
            for each in self.study.labels_by_answer()[uid]
        ]
        return {
            **context,
            **self._item(self.study.shown[uid], waiting[1] if waiting[1:] else ""),
            "said": said,
        }

    def _item(self, shown: Shown, following: str, standing: Label | None = None) -> dict[str, Any]:
        picture = self.study.picture(shown.uid) is not None
        detail = (
            [sentence.to_dict() for sentence in shown.sentences]
            if self.study.schema.kind == "facts"
            else []
        )
        ahead = following if following and self.study.shown[following].image else ""
        return {
            "view": "item.html",
            "shown": shown,
            "picture": picture,
            "detail": detail,
            "ahead": ahead,
            "before": standing.time if standing else "",
            "standing": self.study.schema.in_words(standing.label) if standing else "",
        }

    def _introduction(self, rater: str, base: str) -> dict[str, Any]:
        count = len(self.study.order(rater))
        return {
            **self._frame(self.study.schema.title),
            "base": base,
            "view": "begin.html",
            "count": count,
        }

    def _frame(self, title: str) -> dict[str, Any]:
        return {"title": title, "schema": self.study.schema, "cannot_say": CANNOT_SAY}

    def _whole(self, context: Mapping[str, Any]) -> Response:
        return HTMLResponse(self.templates.get_template("frame.html").render(context))

    def _part(self, context: Mapping[str, Any]) -> Response:
        return HTMLResponse(self.templates.get_template(context["view"]).render(context))


def _milliseconds(text: str) -> int | None:
    return min(int(text), _LONGEST_TIME) if text.isdecimal() and len(text) < 16 else None


def picture_bytes(path: Path) -> tuple[bytes, str]:
    """Return a picture that every browser shows as a model sees it.

    Raises
    ------
    ImageError
        The file is no picture, such as an SVG, or breaks off.
    """
    check_picture(path)
    from PIL import Image

    content = path.read_bytes()
    with Image.open(io.BytesIO(content)) as opened:
        kind = _SHOWN_BY_BROWSERS.get(opened.format or "")
        if kind is not None and not oddities(opened):
            return content, kind
        made = io.BytesIO()
        as_rgb(opened).save(made, "PNG")
    return made.getvalue(), "image/png"


async def static(request: Request) -> Response:
    """One of the files that the page is made of."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    return Response(
        (_HERE / "static" / name).read_bytes(),
        media_type=STATIC[name],
        headers={"cache-control": "no-cache"},
    )


async def _nothing(request: Request) -> Response:
    return Response(status_code=204)


async def _not_there(request: Request, error: Exception) -> Response:
    return PlainTextResponse("There is nothing here. Ask for your link again.", 404)


async def _refused(request: Request, error: Exception) -> Response:
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
