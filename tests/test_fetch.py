"""Fetching a release: from a copy, from a server, resumed, and what is said when it cannot be
had.
"""

import hashlib
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import hqm
from hqm.benchmark.card import Card
from hqm.benchmark.download import Origin, data_root, fetch
from hqm.benchmark.registry import card, cards
from hqm.errors import ImageError
from tests.servers import AppServer

BODY = bytes(range(256)) * 4000


class FileServer(AppServer):
    """Serves one file with ranges; may cut the first connection in the middle."""

    def __init__(self) -> None:
        self.ranges: list[str] = []
        self.cut = False
        super().__init__(
            [Route("/file.bin", self.file), Route("/gone", lambda _: Response("", 404))]
        )

    async def file(self, request: Request) -> Response:
        range_header = request.headers.get("range", "")
        self.ranges.append(range_header)
        start = int(range_header.removeprefix("bytes=").rstrip("-")) if range_header else 0
        body = BODY[start : start + len(BODY) // 2] if self.cut else BODY[start:]
        self.cut = False
        return Response(body, 206 if range_header else 200)


@pytest.fixture
def server() -> Iterator[FileServer]:
    running = FileServer()
    yield running
    running.stop()


def card_of(url: str, **file: Any) -> Card:
    entry = {
        "path": "sub/file.bin",
        "url": url,
        "sha256": hashlib.sha256(BODY).hexdigest(),
        "size": len(BODY),
        **file,
    }
    data = {"name": "far", "title": "Far", "version": "1", "task": "vqa", "data": {"folder": "far"}}
    return Card.parse({**data, "source": {"revision": "1", "files": [entry]}}, "test")


def test_a_file_is_downloaded_checked_and_not_got_twice(server: FileServer, tmp_path: Path) -> None:
    events: list[tuple[str, int, int]] = []
    for state in ("downloaded", "there"):
        (got,) = fetch(
            card_of(f"{server.url}/file.bin"), tmp_path, progress=lambda *a: events.append(a)
        )
        assert got.state == state
        assert got.path.read_bytes() == BODY
    assert events[-1] == ("sub/file.bin", len(BODY), len(BODY))
    assert len(server.ranges) == 1


def test_an_interrupted_download_goes_on(server: FileServer, tmp_path: Path) -> None:
    server.cut = True
    (got,) = fetch(card_of(f"{server.url}/file.bin"), tmp_path)
    assert (got.state, "ended early" in got.how) == ("missing", True)
    (got,) = fetch(card_of(f"{server.url}/file.bin"), tmp_path)
    assert got.state == "downloaded"
    assert got.path.read_bytes() == BODY
    assert server.ranges == ["", f"bytes={len(BODY) // 2}-"]


def test_a_wrong_file_is_refused_and_removed(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(hqm.DataError, match="checksum"):
        list(fetch(card_of(f"{server.url}/file.bin", sha256="0" * 64), tmp_path))
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "sub").mkdir()
    (tmp_path / "copy" / "sub" / "file.bin").write_bytes(b"other")
    with pytest.raises(hqm.DataError, match="checksum"):
        list(fetch(card_of(""), tmp_path / "root", origin=Origin(tmp_path / "copy")))


def test_without_the_network_the_address_and_the_place_are_said(
    server: FileServer, tmp_path: Path
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/file.bin"
    for address in (url, f"{server.url}/gone"):
        (got,) = fetch(card_of(address), tmp_path)
        assert got.state == "missing"
        assert address in got.how
        assert str(tmp_path / "far" / "sub" / "file.bin") in got.how
    (got,) = fetch(card_of("", how="Sign the form."), tmp_path)
    assert (got.state, got.how) == ("missing", "Sign the form.")


def test_a_path_may_not_leave_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ImageError):
        list(fetch(card_of("", path="../out.bin"), tmp_path))


@pytest.mark.parametrize("name", [name for name in hqm.names() if card(name).data.folder])
def test_every_release_is_taken_from_a_copy_and_loads(
    name: str, data: Path, tmp_path: Path
) -> None:
    fetched = list(fetch(card(name), tmp_path, origin=Origin(data)))
    assert fetched, f"the card of {name} names no files"
    assert {got.state for got in fetched if not got.optional} <= {"copied"}
    refetched = list(fetch(card(name), tmp_path, origin=Origin(data)))
    assert {got.state for got in refetched} <= {"there", "missing"}
    copy = hqm.load(name, data=tmp_path).original
    assert len(copy) > 50
    # what may be left out changes no item; all else is known by its checksum
    assert (
        all(got.state == "copied" for got in fetched)
        or copy.digest == hqm.load(name, data=data).original.digest
    )
    source = card(name).source
    assert source.revision
    assert source.images
    for file in source.files:
        # what only prompts or descriptions of pictures need may be of several revisions, and is
        # then optional and the commit in an address fixes the file as a checksum does
        pinned = (file.sha256 and file.size) or re.search(r"/[0-9a-f]{40}/", file.url)
        assert file.optional or file.made_from or pinned, file.path
        assert file.url.startswith("https://") or file.how, file.path


def test_the_command_says_what_is_missing(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hqm.cli import main

    def run(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["hqm", *map(str, arguments)])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), capsys.readouterr().out
        return 0, capsys.readouterr().out

    status, output = run("fetch", "pope", "--data", tmp_path, "--from", data, "--json")
    assert status == 0
    (printed,) = json.loads(output)
    assert {file["state"] for file in printed["fetched"]} == {"copied"}
    status, output = run("fetch", "amber_d", "--data", tmp_path / "b", "--from", tmp_path)
    assert status == 1
    assert "missing" in output
    assert "https://github.com/junyangwang0410/AMBER" in output
    assert run("fetch", "shapes", "--data", tmp_path)[0] == 0


@pytest.mark.parametrize("query", ["", "?part=2&raw=1"])
def test_a_mirror_stands_before_host_path_and_query(query: str) -> None:
    card = card_of(f"https://far.org/a/file.bin{query}")
    (file,) = card.source.files
    for mirror in ("http://here", "http://here/"):
        root = Origin(mirror=mirror).pinned(card, file)
        assert root.url == f"http://here/far.org/a/file.bin{query}"
    assert Origin().pinned(card, file) == file
    with pytest.raises(hqm.UsageError):
        Origin(mirror="here")


def test_the_data_root_is_the_variable_or_a_folder_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HQM_DATA", raising=False)
    assert data_root(None) == Path("data")
    monkeypatch.setenv("HQM_DATA", str(tmp_path))
    assert data_root(None) == tmp_path
    assert data_root(tmp_path / "other") == tmp_path / "other"
    assert [card_found.name for card_found in cards(["all"])] == list(hqm.names())
