"""Pictures on the web, fetched once into the cache and checked again whenever they are used."""

from __future__ import annotations

import hashlib
import http.client
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hqm.errors import ImageError
from hqm.files.cache import MAX_BYTES, cache_folder, keep
from hqm.files.names import is_url
from hqm.signature import digest_file
from hqm.version import __version__

_TRIES = 4
_TIMEOUT = 30.0
_AT_A_TIME = 8


class _SameScheme(urllib.request.HTTPRedirectHandler):
    """Follow a redirection only to another web address, never to a file and never from https to http."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not is_url(newurl) or (req.full_url.startswith("https:") and not newurl.startswith("https:")):
            raise urllib.error.HTTPError(req.full_url, code, f"it redirects to {newurl}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@dataclass(frozen=True)
class WebImages:
    """Pictures at web addresses: a name is appended to the base, unless it is an address itself.

    The cache remembers the hash and size of the picture that each address gave; a cached file that no longer has them counts
    as not fetched.
    """

    base: str

    @cached_property
    def _failed(self) -> dict[str, str]:
        return {}

    def address(self, name: str) -> str:
        """The whole address of a picture."""
        return name if is_url(name) else f"{self.base.rstrip('/')}/{urllib.parse.quote(name)}"

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
            raise ImageError(self._failed[address], place=address, remedy="Run the same command again.")
        path = self._cached(address)
        if path is None:
            raise ImageError("the picture is not fetched yet", place=address, remedy="`hqm run` and `hqm audit` do it.")
        return path

    def has(self, name: str) -> bool:
        return self._record(self.address(name)).exists()

    def fetch(self, names: Iterable[str]) -> None:
        """Fetch the pictures that are not in the cache, several at a time, with a few attempts for each."""
        missing = [a for a in dict.fromkeys(map(self.address, names)) if self._cached(a) is None]
        if not missing:
            return
        print(f"hqm: fetching {len(missing)} pictures into {cache_folder() / 'images'}", file=sys.stderr, flush=True)
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            try:
                list(pool.map(self._fetch, missing))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _fetch(self, address: str) -> None:
        self._failed.pop(address, None)
        opener = urllib.request.build_opener(_SameScheme)
        request = urllib.request.Request(address, headers={"User-Agent": f"hqm/{__version__}", "Accept": "image/*"})
        for attempt in range(_TRIES):
            try:
                with opener.open(request, timeout=_TIMEOUT) as reply:
                    self._keep(address, reply)
                return
            except ImageError as error:
                self._failed[address] = error.what
                return
            except urllib.error.HTTPError as error:
                self._failed[address] = f"the server answered {error.code} ({error.reason})"
                if error.code < 500 and error.code != 429:
                    break
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._failed[address] = f"it cannot be fetched: {error or type(error).__name__}"
            if attempt + 1 < _TRIES:
                time.sleep(0.2 * 4**attempt)

    def _keep(self, address: str, reply: Any) -> None:
        said = reply.headers.get("Content-Length")
        if said and said.isdigit() and int(said) > MAX_BYTES:
            raise ImageError(f"the picture is larger than {MAX_BYTES >> 20} MiB", place=address)
        path = keep(reply, address)
        size = path.stat().st_size
        if said and said.isdigit() and size != int(said):
            raise http.client.IncompleteRead(b"", int(said) - size)
        record = {
            "address": address,
            "file": path.relative_to(cache_folder() / "images").as_posix(),
            "size": size,
            "digest": digest_file(path),
        }
        target = self._record(address)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(f".{hashlib.blake2b(address.encode(), digest_size=4).hexdigest()}.part")
        part.write_text(json.dumps(record), encoding="utf-8")
        part.replace(target)
        self._failed.pop(address, None)
