"""Pictures on the web, fetched once into the cache and checked again whenever they are used.

A benchmark's items say which addresses are fetched, and they may come from anybody. So only
addresses of the public internet are connected to, unless the user allows others: the check is made
on what the name resolves to, for each connection, a redirection's too, and the connection goes to
the very address that was checked.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import json
import socket
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from http.client import HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, Any
from urllib.request import Request

from hqm.errors import ImageError
from hqm.files.cache import MAX_BYTES, cache_folder, cache_picture, is_url, replacing
from hqm.signature import digest_file
from hqm.version import __version__

_MAX_ATTEMPTS = 4
_TIMEOUT = 30.0
_MAX_SECONDS = 300.0
"""Seconds that a picture may take from its first byte to its last."""
_N_THREADS = 8
_RUN_AGAIN = "Run the same command again."


class NotPublic(OSError):  # noqa: N818 (it says what is wrong)
    """An address that pictures are not fetched from, unless the user allows it."""


def check_public(address: str) -> None:
    """Check that a numeric address belongs to the public internet, in whatever way it is written.

    >>> check_public("93.184.216.34")
    >>> check_public("::ffff:127.0.0.1")
    Traceback (most recent call last):
    hqm.files.web_images.NotPublic: ::ffff:127.0.0.1 is no address of the public internet

    Raises
    ------
    NotPublic
        It is one of this machine, of a private network, or reserved; or it carries such a one
        inside.
    """
    # Behind a percent sign stands the network interface of a link-local address.
    outer = ipaddress.ip_address(address.partition("%")[0])
    inner: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = [outer]
    if isinstance(outer, ipaddress.IPv6Address):
        # Both carry an IPv4 address in their last 32 bits (RFC 6052, RFC 4291).
        if outer in _NAT64 or outer in _COMPATIBLE:
            inner = [outer] if outer.is_loopback or outer.is_unspecified else []
            inner.append(ipaddress.IPv4Address(int(outer) & 0xFFFFFFFF))
        elif outer.ipv4_mapped:
            inner = [outer.ipv4_mapped]
        elif outer.sixtofour:
            # the block as a whole is global to some versions of Python only
            inner = [outer.sixtofour]
        elif outer.teredo:
            # A Teredo address holds those of its server and its client (RFC 4380).
            inner += outer.teredo
    if not all(
        ip.is_global and not ip.is_multicast and (ip.version == 4 or ip in _UNICAST) for ip in inner
    ):
        raise NotPublic(f"{address} is no address of the public internet")


# The part of IPv6 that is assigned for global unicast (RFC 4291).
_UNICAST = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")


_SocketAddress = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


def _resolve(
    host: str, port: int
) -> Sequence[tuple[socket.AddressFamily, socket.SocketKind, int, str, _SocketAddress]]:
    """The public addresses of a host; an error where any of its addresses is not one."""
    socket_addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, socket_address in socket_addresses:
        check_public(str(socket_address[0]))
    return socket_addresses


def _connect(
    address: tuple[str, int], timeout: float = _TIMEOUT, source: tuple[str, int] | None = None
) -> socket.socket:
    """A connection to an address that was checked; a name is not looked up a second time."""
    failure: OSError = OSError("the name has no address")
    for family, kind, protocol, _, socket_address in _resolve(*address):
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            if source:
                connection.bind(source)
            connection.connect(socket_address)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure


class _HTTPConnection(http.client.HTTPConnection):
    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        # http.client opens its socket by this attribute: the name is not looked up again.
        self._create_connection = _connect


class _HTTPSConnection(http.client.HTTPSConnection):
    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._create_connection = _connect


def _through_a_proxy(request: Request) -> bool:
    """Whether a request goes to a proxy, which connects in our place: then the target is checked
    before it is named.
    """
    target = urllib.parse.urlsplit(request.full_url)
    # urllib puts the proxy in place of the host
    if request.host == target.netloc:
        return False
    _resolve(target.hostname or "", target.port or (443 if target.scheme == "https" else 80))
    return True


class _PublicHTTP(urllib.request.HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        if _through_a_proxy(req):
            return super().http_open(req)
        return self.do_open(_HTTPConnection, req)


class _PublicHTTPS(urllib.request.HTTPSHandler):
    def https_open(self, req: Request) -> HTTPResponse:
        if _through_a_proxy(req):
            return super().https_open(req)
        return self.do_open(_HTTPSConnection, req)


@dataclass(frozen=True)
class _TimedReply:
    """A reply that is read piece by piece until its time is over."""

    reply: HTTPResponse
    end: float

    def read(self, size: int) -> bytes:
        if time.monotonic() > self.end:
            raise TimeoutError(f"it was not whole after {_MAX_SECONDS:g} s")
        return self.reply.read1(size)  # what has come, and not so much as was asked for


class SameScheme(urllib.request.HTTPRedirectHandler):
    """Follow a redirection only to another web address, never to a file and never from https to
    http.
    """

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not is_url(newurl) or (
            req.full_url.startswith("https:") and not newurl.startswith("https:")
        ):
            raise urllib.error.HTTPError(
                req.full_url, code, f"it redirects to {newurl}", headers, fp
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass(frozen=True)
class WebImages:
    """Pictures at web addresses: a name is appended to the base, unless it is an address itself.

    The cache remembers the hash and size of the picture that each address gave; a cached file that
    no longer has them counts as not fetched.
    """

    base: str

    @cached_property
    def _failed(self) -> dict[str, tuple[str, str]]:
        """Address -> why it could not be fetched, and what to do about it."""
        return {}

    def address(self, name: str) -> str:
        """The whole address of a picture."""
        if is_url(name):
            return name
        return f"{self.base.rstrip('/')}/{urllib.parse.quote(name)}"

    def _record(self, address: str) -> Path:
        key = hashlib.blake2b(address.encode(), digest_size=16).hexdigest()
        return cache_folder() / "web" / key[:2] / f"{key}.json"

    def _cached(self, address: str) -> Path | None:
        try:
            record = json.loads(self._record(address).read_text("utf-8"))
            path = cache_folder() / "images" / record["file"]
            if record["address"] == address and path.stat().st_size == record["size"]:
                return path if digest_file(path) == record["digest"] else None
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def path(self, name: str) -> Path:
        address = self.address(name)
        if address in self._failed:
            reason, remedy = self._failed[address]
            raise ImageError(reason, location=address, remedy=remedy)
        path = self._cached(address)
        if path is None:
            raise ImageError(
                "the picture is not fetched yet",
                location=address,
                remedy="`hqm audit NAME` fetches it.",
            )
        return path

    def has(self, name: str) -> bool:
        return self._record(self.address(name)).exists()

    def fetch(self, names: Iterable[str], *, private: bool = False) -> None:
        """Fetch the pictures that are not in the cache, several at a time, with a few attempts for
        each.

        With `private`, addresses of this machine and of private networks are connected to as well.
        """
        missing = [a for a in dict.fromkeys(map(self.address, names)) if self._cached(a) is None]
        if not missing:
            return
        print(
            f"hqm: fetching {len(missing)} pictures into {cache_folder() / 'images'}",
            file=sys.stderr,
            flush=True,
        )
        with ThreadPoolExecutor(_N_THREADS) as pool:
            try:
                list(pool.map(partial(self._fetch, private=private), missing))
            except BaseException:
                # Ctrl-C waits for no download that has not begun.
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _fetch(self, address: str, private: bool) -> None:
        self._failed.pop(address, None)
        handlers = () if private else (_PublicHTTP, _PublicHTTPS)
        opener = urllib.request.build_opener(SameScheme, *handlers)
        request = Request(
            address, headers={"User-Agent": f"hqm/{__version__}", "Accept": "image/*"}
        )
        for attempt in range(_MAX_ATTEMPTS):
            try:
                with opener.open(request, timeout=_TIMEOUT) as reply:
                    self._keep(address, reply)
                return
            except ImageError as error:
                self._failed[address] = (error.message, _RUN_AGAIN)
                return
            except urllib.error.HTTPError as error:
                self._failed[address] = (
                    f"the server answered {error.code} ({error.reason})",
                    _RUN_AGAIN,
                )
                # 429 asks to come later; other codes below 500 will not change
                if error.code < 500 and error.code != 429:
                    break
            except (OSError, http.client.HTTPException, ValueError) as error:
                refused = next(
                    (
                        e
                        for e in (error, getattr(error, "reason", None))
                        if isinstance(e, NotPublic)
                    ),
                    None,
                )
                if refused is not None:
                    self._failed[address] = (
                        str(refused),
                        "Add --set allow_private_images=true if it is yours.",
                    )
                    return
                self._failed[address] = (
                    f"it cannot be fetched: {error or type(error).__name__}",
                    _RUN_AGAIN,
                )
            if attempt + 1 < _MAX_ATTEMPTS:
                # 0.2, 0.8 and 3.2 seconds
                time.sleep(0.2 * 4**attempt)

    def _keep(self, address: str, reply: HTTPResponse) -> None:
        length = reply.headers.get("Content-Length")
        if length and length.isdigit() and int(length) > MAX_BYTES:
            raise ImageError(f"the picture is larger than {MAX_BYTES >> 20} MiB", location=address)
        timed_reply = _TimedReply(reply, time.monotonic() + _MAX_SECONDS)
        path = cache_picture(timed_reply, address)
        size = path.stat().st_size
        if length and length.isdigit() and size != int(length):
            # read1 gives nothing where a connection ends early, and raises no error.
            raise http.client.IncompleteRead(b"", int(length) - size)
        record = {
            "address": address,
            "file": path.relative_to(cache_folder() / "images").as_posix(),
            "size": size,
            "digest": digest_file(path),
        }
        with replacing(self._record(address)) as file:
            file.write(json.dumps(record).encode())
        self._failed.pop(address, None)
