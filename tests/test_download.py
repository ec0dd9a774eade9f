"""Files of a release: from a server of any manners, from a copy, and made from one another."""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hqm.adapters
import pytest
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hqm.benchmark.card import Card
from hqm.benchmark.download import RECORD, Fetched, Origin, fetch, summary
from hqm.errors import CardError, DataError
from hqm.files.images import Checksums, ExpectedFile
from hqm.version import __version__
from tests.messages import text_of
from tests.servers import AppServer

BODY = b"0123456789" * 60_000
"""More than two of the chunks that are written one by one."""
SUM = hashlib.sha256(BODY).hexdigest()


class RangeServer(AppServer):
    """Serves the body in the way that the path names, and notes the range that was asked for."""

    def __init__(self) -> None:
        self.requested: list[tuple[str, str, str]] = []
        super().__init__([Route("/{way:path}", self.reply)])

    async def reply(self, request: Request) -> Response:
        behaviour, range_header = request.path_params["way"], request.headers.get("range", "")
        self.requested.append((behaviour, range_header, request.headers["user-agent"]))
        start = int(range_header.removeprefix("bytes=").rstrip("-")) if range_header else 0
        if behaviour == "whole":
            return Response(BODY)
        if behaviour == "never" or start >= len(BODY):
            return Response(status_code=416)
        if behaviour == "stream":
            return StreamingResponse(iter([BODY[start:]]), 206 if range_header else 200)
        if behaviour == "gone":
            return Response(status_code=404)
        return Response(BODY[start:], 206 if range_header else 200)


@pytest.fixture(scope="module")
def running() -> Iterator[RangeServer]:
    server = RangeServer()
    yield server
    server.stop()


@pytest.fixture
def server(running: RangeServer) -> RangeServer:
    running.requested.clear()
    return running


def card(*files: dict[str, Any], **fields: Any) -> Card:
    data = {"name": "far", "title": "Far", "version": "1", "task": "vqa", "data": {"folder": "far"}}
    return Card.parse({**data, **fields, "source": {"revision": "1", "files": list(files)}}, "test")


def fetched(card: Card, root: Path, **settings: Any) -> list[Fetched]:
    return list(fetch(card, root, **settings))


# --- from a server ---


@pytest.mark.parametrize("behaviour", ["ranges", "stream", "whole"])
@pytest.mark.parametrize("size", [0, len(BODY)])
def test_a_download_says_how_far_it_is(
    server: RangeServer, tmp_path: Path, behaviour: str, size: int
) -> None:
    events: list[tuple[str, int, int]] = []
    file = {"path": "a/b.bin", "url": f"{server.url}/{behaviour}", "size": size}
    (got,) = fetched(card(file), tmp_path, progress=lambda *args: events.append(args))
    path = tmp_path / "far" / "a" / "b.bin"
    assert got == Fetched(path, "downloaded", len(BODY), optional=False)
    assert path.read_bytes() == BODY
    total = 0 if behaviour == "stream" and not size else len(BODY)
    assert {name for name, *_ in events} == {"a/b.bin"}
    assert {reported_total for *_, reported_total in events} == {total}
    steps = [position for _, position, _ in events]
    assert steps == sorted(set(steps))
    assert (steps[-1], len(steps) > 2) == (len(BODY), True)
    assert server.requested == [(behaviour, "", f"hqm/{__version__}")]
    assert [p.name for p in path.parent.iterdir()] == ["b.bin"]


@pytest.mark.parametrize(
    ("n_received", "size", "starts"),
    [
        (1, 0, [1]),
        (1, len(BODY), [1]),
        (len(BODY) - 1, len(BODY), [len(BODY) - 1]),
        # a whole part is not asked for what lies behind its end
        (len(BODY), len(BODY), [0]),
        (len(BODY) + 5, len(BODY), [0]),
        # where nobody says how long it is, the server's refusal does
        (len(BODY), 0, [len(BODY), 0]),
        (len(BODY) + 5, 0, [len(BODY) + 5, 0]),
    ],
)
def test_a_part_is_gone_on_with(
    server: RangeServer, tmp_path: Path, n_received: int, size: int, starts: list[int]
) -> None:
    partial = tmp_path / "far" / "b.bin.part"
    partial.parent.mkdir()
    partial.write_bytes((BODY + BODY)[:n_received])
    positions: list[int] = []
    file = {"path": "b.bin", "url": f"{server.url}/ranges", "size": size, "sha256": SUM}
    (got,) = fetched(
        card(file), tmp_path, progress=lambda _, position, total: positions.append(position)
    )
    assert (got.state, got.path.read_bytes() == BODY) == ("downloaded", True)
    assert [range_header for _, range_header, _ in server.requested] == [
        f"bytes={start}-" if start else "" for start in starts
    ]
    assert positions[0] > starts[-1]
    assert positions[-1] == len(BODY)


def test_a_server_without_ranges_sends_the_whole_file_again(
    server: RangeServer, tmp_path: Path
) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "b.bin.part").write_bytes(b"x" * 9)
    file = {"path": "b.bin", "url": f"{server.url}/whole", "size": len(BODY)}
    (got,) = fetched(card(file), tmp_path)
    assert got.path.read_bytes() == BODY
    assert [range_header for _, range_header, _ in server.requested] == ["bytes=9-"]


@pytest.mark.parametrize(
    ("behaviour", "n_received", "size", "says"),
    [
        ("ranges", 0, len(BODY) - 1, f"it has {len(BODY):,} bytes, not {len(BODY) - 1:,}"),
        ("ranges", 7, len(BODY) - 1, f"it has {len(BODY):,} bytes, not {len(BODY) - 1:,}"),
        ("stream", 0, len(BODY) - 1, f"it has more than {len(BODY) - 1:,} bytes"),
        ("stream", 9, len(BODY) - 1, f"it has more than {len(BODY) - 1:,} bytes"),
        ("never", 8, len(BODY), f"it has 8 bytes, not {len(BODY):,}"),
    ],
)
def test_a_file_of_another_length_is_refused_and_removed(
    server: RangeServer, tmp_path: Path, behaviour: str, n_received: int, size: int, says: str
) -> None:
    partial = tmp_path / "far" / "b.bin.part"
    partial.parent.mkdir()
    if n_received:
        partial.write_bytes(BODY[:n_received])
    with pytest.raises(DataError, match=says) as refused:
        fetched(card({"path": "b.bin", "url": f"{server.url}/{behaviour}", "size": size}), tmp_path)
    assert refused.value.location == f"{server.url}/{behaviour}"
    assert not list(partial.parent.iterdir())


@pytest.mark.parametrize(
    ("url", "reason"), [("/gone", "(404)"), ("/never", "(416)"), ("nonsense", "unknown url type")]
)
@pytest.mark.parametrize("instructions", ["", "Sign the form."])
def test_what_cannot_be_had_says_why_and_where_it_belongs(
    server: RangeServer, tmp_path: Path, url: str, reason: str, instructions: str
) -> None:
    url = f"{server.url}{url}" if url[0] == "/" else url
    (got,) = fetched(
        card({"path": "b.bin", "url": url, "how": instructions, "optional": True}), tmp_path
    )
    target = tmp_path / "far" / "b.bin"
    assert (got.path, got.state, got.size, got.optional) == (target, "missing", 0, True)
    assert reason in got.how
    assert got.how.endswith(
        f"{instructions} {text_of('fetch.get-from', url=url, target=target)}".strip()
    )


def test_an_early_end_keeps_what_came(server: RangeServer, tmp_path: Path) -> None:
    file = {"path": "b.bin", "url": f"{server.url}/stream", "size": len(BODY) + 1}
    (got,) = fetched(card(file), tmp_path)
    assert (got.state, "ended early" in got.how) == ("missing", True)
    assert (tmp_path / "far" / "b.bin.part").read_bytes() == BODY


def test_a_place_that_cannot_be_written_is_named(server: RangeServer, tmp_path: Path) -> None:
    file = {"path": "a/b.bin", "url": f"{server.url}/whole"}
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_text("in the way")
    for origin in (Origin(), Origin(tmp_path / "copy")):
        (tmp_path / "copy" / "a").mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / "a" / "b.bin").write_bytes(BODY)
        with pytest.raises(DataError, match="cannot be made") as refused:
            fetched(card(file), tmp_path, origin=origin)
        assert refused.value.location == str(tmp_path / "far" / "a")
    (tmp_path / "far" / "a").unlink()
    (tmp_path / "far" / "a" / "b.bin.part").mkdir(parents=True)
    for origin in (Origin(), Origin(tmp_path / "copy")):
        with pytest.raises(DataError, match="cannot be written") as refused:
            fetched(card(file), tmp_path, origin=origin)
        assert "b.bin" in refused.value.location


# --- from a copy ---


@pytest.mark.parametrize("subfolder", ["far", "."])
@pytest.mark.parametrize("pinned", [True, False])
def test_a_copy_is_a_data_root_or_the_benchmarks_folder(
    tmp_path: Path, subfolder: str, pinned: bool
) -> None:
    copy = tmp_path / "copy" / subfolder / "b.bin"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(BODY)
    file = {"path": "b.bin", "optional": True, "sha256": SUM if pinned else ""}
    remote_card, origin = card(file), Origin(tmp_path / "copy")
    target = tmp_path / "root" / "far" / "b.bin"
    states = [fetched(remote_card, tmp_path / "root", origin=origin)[0] for _ in range(2)]
    assert states == [
        Fetched(target, "copied", len(BODY), optional=True),
        Fetched(target, "there", len(BODY), optional=True),
    ]
    assert target.read_bytes() == BODY
    # one that is there and is another is taken anew, where its checksum is known
    target.write_bytes(b"other")
    (refetched,) = fetched(remote_card, tmp_path / "root", origin=origin)
    assert refetched.state == ("copied" if pinned else "there")
    copy.write_bytes(b"another")
    target.unlink()
    if pinned:
        with pytest.raises(DataError, match="checksum") as refused:
            fetched(remote_card, tmp_path / "root", origin=origin)
        assert refused.value.location == str(copy)
        assert not list(target.parent.iterdir())


def test_the_folder_of_the_data_root_goes_before_the_copys_own(tmp_path: Path) -> None:
    (tmp_path / "copy" / "far").mkdir(parents=True)
    (tmp_path / "copy" / "far" / "b.bin").write_bytes(b"one")
    (tmp_path / "copy" / "b.bin").write_bytes(b"two")
    (got,) = fetched(card({"path": "b.bin"}), tmp_path, origin=Origin(tmp_path / "copy"))
    assert got.path.read_bytes() == b"one"


def test_what_a_copy_lacks_is_missing_with_its_way(tmp_path: Path) -> None:
    origin = Origin(tmp_path / "copy")
    target = tmp_path / "far" / "b.bin"
    (got,) = fetched(card({"path": "b.bin", "how": "Sign."}), tmp_path, origin=origin)
    assert got.how == text_of("fetch.not-in-copy", copy=origin.copy, how="Sign.", target=target)
    (got,) = fetched(card({"path": "b.bin", "url": "http://x.org/b"}), tmp_path, origin=origin)
    assert got.how.endswith(text_of("fetch.get-from", url="http://x.org/b", target=target))
    (got,) = fetched(card({"path": "b.bin"}), tmp_path)
    assert (got.state, got.how) == ("missing", text_of("fetch.by-hand"))


def test_another_layout_stands_in_for_a_file(tmp_path: Path) -> None:
    """A zip of the release, or the folder that it unfolds to."""
    remote_card = card({"path": "b.zip", "instead": "b", "optional": True})
    origin = Origin(tmp_path / "copy")
    (got,) = fetched(remote_card, tmp_path / "root", origin=origin)
    assert (got.state, got.path.name, got.optional) == ("missing", "b", True)
    folder = tmp_path / "copy" / "b"
    folder.mkdir(parents=True)
    (got,) = fetched(remote_card, tmp_path / "root", origin=origin)
    assert got == Fetched(folder, "there", 0, optional=True)
    assert not (tmp_path / "root" / "far" / "b").exists(), "it is read where it lies"
    folder.rmdir()
    folder.write_bytes(b"one file")
    (got,) = fetched(remote_card, tmp_path / "root", origin=origin)
    assert got == Fetched(tmp_path / "root" / "far" / "b", "copied", 8, optional=True)
    (got,) = fetched(remote_card, tmp_path / "root", origin=origin)
    assert (got.state, got.path.name, got.optional) == ("there", "b", True)
    (tmp_path / "root" / "far" / "b.zip").write_bytes(b"zip")
    (got,) = fetched(remote_card, tmp_path / "root")
    assert (got.state, got.path.name) == ("there", "b.zip")


@pytest.mark.parametrize("name", ["far/b.bin", "b.bin"])
def test_checksums_of_another_revision_replace_the_cards(tmp_path: Path, name: str) -> None:
    remote_card = card({"path": "b.bin", "sha256": "0" * 64, "size": 3})
    (file,) = remote_card.source.files
    listed = Origin(checksums=Checksums({name: ExpectedFile(len(BODY), SUM)})).pinned(
        remote_card, file
    )
    assert (listed.sha256, listed.size, listed.path) == (SUM, len(BODY), "b.bin")
    listed = Origin(checksums=Checksums({name: ExpectedFile()})).pinned(remote_card, file)
    assert (listed.sha256, listed.size) == ("", 0)
    assert Origin(checksums=Checksums({"c.bin": ExpectedFile(1)})).pinned(remote_card, file) == file


# --- made from others ---

MAKER = """
from hqm import Benchmark


class Maker(Benchmark):
    @classmethod
    def make_files(cls, inputs):
        made = {"sum.json": {name: path.name for name, path in sorted(inputs.items())}}
        if inputs.get("b") and inputs["b"].read_text() == "nan":
            made["sum.json"] = float("nan")
        return made if "b" not in inputs else {**made, "more.json": [1]}
"""


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "adapters").mkdir()
    (tmp_path / "adapters" / "maker.py").write_text(MAKER)
    path = [*hqm.adapters.__path__, str(tmp_path / "adapters")]
    monkeypatch.setattr(hqm.adapters, "__path__", path)
    yield
    sys.modules.pop("hqm.adapters.maker", None)


def sha(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


SUM_FILE = {"path": "sum.json", "made_from": ["a", "b"], "how": "Run it."}
MORE_FILE = {"path": "more.json", "made_from": ["b"], "optional": True}


def states(card: Card, root: Path, **settings: Any) -> dict[str, str]:
    return {file.path.name: file.state for file in fetched(card, root, **settings)}


@pytest.mark.usefixtures("maker")
def test_files_are_made_once_from_others_and_noted(tmp_path: Path) -> None:
    copy, root = tmp_path / "copy", tmp_path / "root"
    copy.mkdir()
    for name in "ab":
        (copy / name).write_text(name)
    pins = {name: sha(name.encode()) for name in "ab"}
    inputs = [{"path": name, "sha256": pins[name], "optional": name == "b"} for name in "ab"]
    remote_card = card(*inputs, SUM_FILE, MORE_FILE, adapter="maker")
    origin = Origin(copy)
    got = fetched(remote_card, root, origin=origin)
    assert [(file.path.name, file.state, file.optional) for file in got] == [
        ("a", "copied", False),
        ("b", "copied", True),
        ("sum.json", "made", False),
        ("more.json", "made", True),
    ]
    folder = root / "far"
    assert json.loads((folder / "sum.json").read_text()) == {"a": "a", "b": "b"}
    assert got[2].size == (folder / "sum.json").stat().st_size
    record = json.loads((folder / RECORD).read_text())
    assert record["sum.json"] == {
        "sha256": sha((folder / "sum.json").read_bytes()),
        "size": got[2].size,
        "made_from": pins,
        "by": f"hqm {__version__}",
    }
    # nothing is needed any more, although the others are gone
    for name in "ab":
        (folder / name).unlink()
    assert states(remote_card, root) == {"sum.json": "there", "more.json": "there"}
    # what was changed is made anew
    (folder / "more.json").write_text("[2]")
    assert states(remote_card, root, origin=origin) == {
        "b": "copied",
        "sum.json": "there",
        "more.json": "made",
    }
    # so is what was made from another revision
    newer = card(
        {**inputs[0], "sha256": sha(b"new")}, inputs[1], SUM_FILE, MORE_FILE, adapter="maker"
    )
    (copy / "a").write_text("new")
    assert states(newer, root, origin=origin) == {
        "a": "copied",
        "b": "there",
        "sum.json": "made",
        "more.json": "there",
    }
    # a record that cannot be read is none
    for text in ("{", "[]", '{"sum.json": 1, "more.json": {}}'):
        (folder / RECORD).write_text(text)
        assert states(newer, root)["sum.json"] == "made"


@pytest.mark.usefixtures("maker")
def test_what_lacks_an_input_is_missing_or_copied(tmp_path: Path) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    (root / "far").mkdir(parents=True)
    (root / "far" / "a").write_text("a")
    remote_card = card(
        {"path": "a"}, {"path": "b", "optional": True}, SUM_FILE, MORE_FILE, adapter="maker"
    )
    got = {file.path.name: file for file in fetched(remote_card, root)}
    assert {name: file.state for name, file in got.items()} == {
        "a": "there",
        "b": "missing",
        "sum.json": "missing",
        "more.json": "missing",
    }
    assert got["sum.json"].how == text_of("fetch.made-from", names="b", how="Run it.")
    assert got["more.json"].how == text_of("fetch.made-from", names="b", how="").strip()
    assert (got["sum.json"].optional, got["more.json"].optional) == (False, True)
    copy.mkdir()
    (copy / "sum.json").write_text("{}")
    got = {file.path.name: file for file in fetched(remote_card, root, origin=Origin(copy))}
    assert (got["sum.json"].state, got["more.json"].state) == ("copied", "missing")
    assert "a" not in got, "all that must be made from it is in the copy"
    assert got["sum.json"].how == text_of("fetch.made-from", names="a, b", how="Run it.")
    record = json.loads((root / "far" / RECORD).read_text())
    assert set(record) == {"sum.json"}
    assert record["sum.json"]["copied_from"] == str(copy)
    # `a` is not needed any more
    assert states(remote_card, root) == {
        "b": "missing",
        "sum.json": "there",
        "more.json": "missing",
    }
    # beside the inputs, what a copy has may be of another revision: all is made anew
    for name in "ab":
        (copy / name).write_text(name)
    (root / "far" / "sum.json").unlink()
    assert states(remote_card, root, origin=Origin(copy)) == {
        "a": "there",
        "b": "copied",
        "sum.json": "made",
        "more.json": "made",
    }


@pytest.mark.usefixtures("maker")
def test_a_folder_among_the_inputs_is_noted_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "far" / "a"
    (folder / "deeper").mkdir(parents=True)
    for name in ("2.txt", "1.txt"):
        (folder / name).write_text(name)
    remote_card = card(
        {"path": "a.zip", "instead": "a"}, {**SUM_FILE, "made_from": ["a.zip"]}, adapter="maker"
    )
    assert states(remote_card, tmp_path) == {"a": "there", "sum.json": "made"}
    record = json.loads((tmp_path / "far" / RECORD).read_text())
    sums = {name: sha(name.encode()) for name in ("1.txt", "2.txt")}
    assert record["sum.json"]["made_from"] == {"a.zip": sums}
    assert list(record["sum.json"]["made_from"]["a.zip"]) == ["1.txt", "2.txt"]
    assert states(remote_card, tmp_path) == {"sum.json": "there"}


@pytest.mark.usefixtures("maker")
def test_a_file_that_nothing_makes_is_an_error_of_the_card(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_text("a")
    more_file = {**MORE_FILE, "made_from": ["a"]}
    with pytest.raises(CardError, match=r"does not make more\.json"):
        fetched(card({"path": "a"}, more_file, adapter="maker"), tmp_path)
    (tmp_path / "far" / "b").write_text("nan")
    with pytest.raises(ValueError, match="JSON"):
        fetched(card({"path": "a"}, {"path": "b"}, SUM_FILE, adapter="maker"), tmp_path)
    with pytest.raises(CardError, match="no file 'b' is listed"):
        fetched(card({"path": "a"}, {**SUM_FILE, "made_from": ["c", "b", "a"]}), tmp_path)
    with pytest.raises(CardError, match="its adapter makes none"):
        fetched(card({"path": "a"}, more_file), tmp_path)


@pytest.mark.usefixtures("maker")
def test_a_made_file_may_lie_under_another_name(tmp_path: Path) -> None:
    folder = tmp_path / "far"
    folder.mkdir()
    (folder / "old.json").write_text("{}")
    sum_file = {"path": "sum.json", "made_from": ["a"], "instead": "old.json"}
    remote_card = card({"path": "a"}, sum_file, adapter="maker")
    # nobody noted what it was made from
    assert states(remote_card, tmp_path) == {"a": "missing", "old.json": "missing"}
    record = {"sha256": sha(b"{}"), "made_from": {"a": sha(b"a")}}
    (folder / RECORD).write_text(json.dumps({"old.json": record}))
    assert states(remote_card, tmp_path) == {"old.json": "there"}
    pinned = card({"path": "a", "sha256": sha(b"b")}, sum_file, adapter="maker")
    assert states(pinned, tmp_path) == {"a": "missing", "old.json": "missing"}


def test_the_facts_of_a_release_are_those_of_its_card() -> None:
    remote_card = card({"path": "a", "size": 3}, {"path": "b", "size": 4}, licence="MIT")
    assert summary(remote_card) == {
        "benchmark": "far",
        "revision": "1",
        "licence": "MIT",
        "files": 2,
        "bytes": 7,
        "images": "",
        "images_url": "",
        "images_licence": "",
    }
