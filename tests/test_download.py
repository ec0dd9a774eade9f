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
from hqm.files.images import Checksums, Listed
from hqm.version import __version__
from tests.messages import text_of
from tests.servers import AppServer

BODY = b"0123456789" * 60_000
"""More than two of the chunks that are written one by one."""
SUM = hashlib.sha256(BODY).hexdigest()


class Manners(AppServer):
    """Serves the body in the way that the path names, and notes the range that was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        super().__init__([Route("/{way:path}", self.reply)])

    async def reply(self, request: Request) -> Response:
        way, wanted = request.path_params["way"], request.headers.get("range", "")
        self.asked.append((way, wanted, request.headers["user-agent"]))
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if way == "whole":
            return Response(BODY)
        if way == "never" or start >= len(BODY):
            return Response(status_code=416)
        if way == "stream":
            return StreamingResponse(iter([BODY[start:]]), 206 if wanted else 200)
        if way == "gone":
            return Response(status_code=404)
        return Response(BODY[start:], 206 if wanted else 200)


@pytest.fixture(scope="module")
def running() -> Iterator[Manners]:
    server = Manners()
    yield server
    server.stop()


@pytest.fixture
def server(running: Manners) -> Manners:
    running.asked.clear()
    return running


def card(*files: dict[str, Any], **about: Any) -> Card:
    data = {"name": "far", "title": "Far", "version": "1", "task": "vqa", "data": {"folder": "far"}}
    return Card.parse({**data, **about, "source": {"revision": "1", "files": list(files)}}, "test")


def fetched(card: Card, root: Path, **settings: Any) -> list[Fetched]:
    return list(fetch(card, root, **settings))


# --- from a server ---


@pytest.mark.parametrize("way", ["ranges", "stream", "whole"])
@pytest.mark.parametrize("size", [0, len(BODY)])
def test_a_download_says_how_far_it_is(
    server: Manners, tmp_path: Path, way: str, size: int
) -> None:
    seen: list[tuple[str, int, int]] = []
    file = {"path": "a/b.bin", "url": f"{server.url}/{way}", "size": size}
    (got,) = fetched(card(file), tmp_path, progress=lambda *far: seen.append(far))
    path = tmp_path / "far" / "a" / "b.bin"
    assert got == Fetched(path, "downloaded", len(BODY), optional=False)
    assert path.read_bytes() == BODY
    total = 0 if way == "stream" and not size else len(BODY)
    assert {name for name, *_ in seen} == {"a/b.bin"}
    assert {of for *_, of in seen} == {total}
    steps = [done for _, done, _ in seen]
    assert steps == sorted(set(steps))
    assert (steps[-1], len(steps) > 2) == (len(BODY), True)
    assert server.asked == [(way, "", f"hqm/{__version__}")]
    assert [p.name for p in path.parent.iterdir()] == ["b.bin"]


@pytest.mark.parametrize(
    ("there", "size", "asked"),
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
    server: Manners, tmp_path: Path, there: int, size: int, asked: list[int]
) -> None:
    part = tmp_path / "far" / "b.bin.part"
    part.parent.mkdir()
    part.write_bytes((BODY + BODY)[:there])
    seen: list[int] = []
    file = {"path": "b.bin", "url": f"{server.url}/ranges", "size": size, "sha256": SUM}
    (got,) = fetched(card(file), tmp_path, progress=lambda _, done, total: seen.append(done))
    assert (got.state, got.path.read_bytes() == BODY) == ("downloaded", True)
    assert [wanted for _, wanted, _ in server.asked] == [
        f"bytes={start}-" if start else "" for start in asked
    ]
    assert seen[0] > asked[-1]
    assert seen[-1] == len(BODY)


def test_a_server_without_ranges_sends_the_whole_file_again(
    server: Manners, tmp_path: Path
) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "b.bin.part").write_bytes(b"x" * 9)
    file = {"path": "b.bin", "url": f"{server.url}/whole", "size": len(BODY)}
    (got,) = fetched(card(file), tmp_path)
    assert got.path.read_bytes() == BODY
    assert [wanted for _, wanted, _ in server.asked] == ["bytes=9-"]


@pytest.mark.parametrize(
    ("way", "there", "size", "says"),
    [
        ("ranges", 0, len(BODY) - 1, f"it has {len(BODY):,} bytes, not {len(BODY) - 1:,}"),
        ("ranges", 7, len(BODY) - 1, f"it has {len(BODY):,} bytes, not {len(BODY) - 1:,}"),
        ("stream", 0, len(BODY) - 1, f"it has more than {len(BODY) - 1:,} bytes"),
        ("stream", 9, len(BODY) - 1, f"it has more than {len(BODY) - 1:,} bytes"),
        ("never", 8, len(BODY), f"it has 8 bytes, not {len(BODY):,}"),
    ],
)
def test_a_file_of_another_length_is_refused_and_removed(
    server: Manners, tmp_path: Path, way: str, there: int, size: int, says: str
) -> None:
    part = tmp_path / "far" / "b.bin.part"
    part.parent.mkdir()
    if there:
        part.write_bytes(BODY[:there])
    with pytest.raises(DataError, match=says) as refused:
        fetched(card({"path": "b.bin", "url": f"{server.url}/{way}", "size": size}), tmp_path)
    assert refused.value.location == f"{server.url}/{way}"
    assert not list(part.parent.iterdir())


@pytest.mark.parametrize(
    ("url", "reason"), [("/gone", "(404)"), ("/never", "(416)"), ("nonsense", "unknown url type")]
)
@pytest.mark.parametrize("how", ["", "Sign the form."])
def test_what_cannot_be_had_says_why_and_where_it_belongs(
    server: Manners, tmp_path: Path, url: str, reason: str, how: str
) -> None:
    url = f"{server.url}{url}" if url[0] == "/" else url
    (got,) = fetched(card({"path": "b.bin", "url": url, "how": how, "optional": True}), tmp_path)
    target = tmp_path / "far" / "b.bin"
    assert (got.path, got.state, got.size, got.optional) == (target, "missing", 0, True)
    assert reason in got.how
    assert got.how.endswith(f"{how} {text_of('fetch.get-from', url=url, target=target)}".strip())


def test_an_early_end_keeps_what_came(server: Manners, tmp_path: Path) -> None:
    file = {"path": "b.bin", "url": f"{server.url}/stream", "size": len(BODY) + 1}
    (got,) = fetched(card(file), tmp_path)
    assert (got.state, "ended early" in got.how) == ("missing", True)
    assert (tmp_path / "far" / "b.bin.part").read_bytes() == BODY


def test_a_place_that_cannot_be_written_is_named(server: Manners, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("below", ["far", "."])
@pytest.mark.parametrize("pinned", [True, False])
def test_a_copy_is_a_data_root_or_the_benchmarks_folder(
    tmp_path: Path, below: str, pinned: bool
) -> None:
    copy = tmp_path / "copy" / below / "b.bin"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(BODY)
    file = {"path": "b.bin", "optional": True, "sha256": SUM if pinned else ""}
    far, origin = card(file), Origin(tmp_path / "copy")
    target = tmp_path / "root" / "far" / "b.bin"
    states = [fetched(far, tmp_path / "root", origin=origin)[0] for _ in range(2)]
    assert states == [
        Fetched(target, "copied", len(BODY), optional=True),
        Fetched(target, "there", len(BODY), optional=True),
    ]
    assert target.read_bytes() == BODY
    # one that is there and is another is taken anew, where its checksum is known
    target.write_bytes(b"other")
    (again,) = fetched(far, tmp_path / "root", origin=origin)
    assert again.state == ("copied" if pinned else "there")
    copy.write_bytes(b"another")
    target.unlink()
    if pinned:
        with pytest.raises(DataError, match="checksum") as refused:
            fetched(far, tmp_path / "root", origin=origin)
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
    far = card({"path": "b.zip", "instead": "b", "optional": True})
    origin = Origin(tmp_path / "copy")
    (got,) = fetched(far, tmp_path / "root", origin=origin)
    assert (got.state, got.path.name, got.optional) == ("missing", "b", True)
    folder = tmp_path / "copy" / "b"
    folder.mkdir(parents=True)
    (got,) = fetched(far, tmp_path / "root", origin=origin)
    assert got == Fetched(folder, "there", 0, optional=True)
    assert not (tmp_path / "root" / "far" / "b").exists(), "it is read where it lies"
    folder.rmdir()
    folder.write_bytes(b"one file")
    (got,) = fetched(far, tmp_path / "root", origin=origin)
    assert got == Fetched(tmp_path / "root" / "far" / "b", "copied", 8, optional=True)
    (got,) = fetched(far, tmp_path / "root", origin=origin)
    assert (got.state, got.path.name, got.optional) == ("there", "b", True)
    (tmp_path / "root" / "far" / "b.zip").write_bytes(b"zip")
    (got,) = fetched(far, tmp_path / "root")
    assert (got.state, got.path.name) == ("there", "b.zip")


@pytest.mark.parametrize("name", ["far/b.bin", "b.bin"])
def test_checksums_of_another_revision_replace_the_cards(tmp_path: Path, name: str) -> None:
    far = card({"path": "b.bin", "sha256": "0" * 64, "size": 3})
    (file,) = far.source.files
    listed = Origin(checksums=Checksums({name: Listed(len(BODY), SUM)})).of(far, file)
    assert (listed.sha256, listed.size, listed.path) == (SUM, len(BODY), "b.bin")
    listed = Origin(checksums=Checksums({name: Listed()})).of(far, file)
    assert (listed.sha256, listed.size) == ("", 0)
    assert Origin(checksums=Checksums({"c.bin": Listed(1)})).of(far, file) == file


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


MADE = {"path": "sum.json", "made_from": ["a", "b"], "how": "Run it."}
MORE = {"path": "more.json", "made_from": ["b"], "optional": True}


def states(card: Card, root: Path, **settings: Any) -> dict[str, str]:
    return {each.path.name: each.state for each in fetched(card, root, **settings)}


@pytest.mark.usefixtures("maker")
def test_files_are_made_once_from_others_and_noted(tmp_path: Path) -> None:
    copy, root = tmp_path / "copy", tmp_path / "root"
    copy.mkdir()
    for name in "ab":
        (copy / name).write_text(name)
    pins = {name: sha(name.encode()) for name in "ab"}
    inputs = [{"path": name, "sha256": pins[name], "optional": name == "b"} for name in "ab"]
    far = card(*inputs, MADE, MORE, adapter="maker")
    origin = Origin(copy)
    got = fetched(far, root, origin=origin)
    assert [(each.path.name, each.state, each.optional) for each in got] == [
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
    assert states(far, root) == {"sum.json": "there", "more.json": "there"}
    # what was changed is made anew
    (folder / "more.json").write_text("[2]")
    assert states(far, root, origin=origin) == {
        "b": "copied",
        "sum.json": "there",
        "more.json": "made",
    }
    # so is what was made from another revision
    newer = card({**inputs[0], "sha256": sha(b"new")}, inputs[1], MADE, MORE, adapter="maker")
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
    far = card({"path": "a"}, {"path": "b", "optional": True}, MADE, MORE, adapter="maker")
    got = {each.path.name: each for each in fetched(far, root)}
    assert {name: each.state for name, each in got.items()} == {
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
    got = {each.path.name: each for each in fetched(far, root, origin=Origin(copy))}
    assert (got["sum.json"].state, got["more.json"].state) == ("copied", "missing")
    assert "a" not in got, "all that must be made from it is in the copy"
    assert got["sum.json"].how == text_of("fetch.made-from", names="a, b", how="Run it.")
    record = json.loads((root / "far" / RECORD).read_text())
    assert set(record) == {"sum.json"}
    assert record["sum.json"]["copied_from"] == str(copy)
    # `a` is not needed any more
    assert states(far, root) == {"b": "missing", "sum.json": "there", "more.json": "missing"}
    # beside the inputs, what a copy has may be of another revision: all is made anew
    for name in "ab":
        (copy / name).write_text(name)
    (root / "far" / "sum.json").unlink()
    assert states(far, root, origin=Origin(copy)) == {
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
    far = card({"path": "a.zip", "instead": "a"}, {**MADE, "made_from": ["a.zip"]}, adapter="maker")
    assert states(far, tmp_path) == {"a": "there", "sum.json": "made"}
    record = json.loads((tmp_path / "far" / RECORD).read_text())
    sums = {name: sha(name.encode()) for name in ("1.txt", "2.txt")}
    assert record["sum.json"]["made_from"] == {"a.zip": sums}
    assert list(record["sum.json"]["made_from"]["a.zip"]) == ["1.txt", "2.txt"]
    assert states(far, tmp_path) == {"sum.json": "there"}


@pytest.mark.usefixtures("maker")
def test_a_file_that_nothing_makes_is_an_error_of_the_card(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a").write_text("a")
    more = {**MORE, "made_from": ["a"]}
    with pytest.raises(CardError, match=r"does not make more\.json"):
        fetched(card({"path": "a"}, more, adapter="maker"), tmp_path)
    (tmp_path / "far" / "b").write_text("nan")
    with pytest.raises(ValueError, match="JSON"):
        fetched(card({"path": "a"}, {"path": "b"}, MADE, adapter="maker"), tmp_path)
    with pytest.raises(CardError, match="no file 'b' is listed"):
        fetched(card({"path": "a"}, {**MADE, "made_from": ["c", "b", "a"]}), tmp_path)
    with pytest.raises(CardError, match="its adapter makes none"):
        fetched(card({"path": "a"}, more), tmp_path)


@pytest.mark.usefixtures("maker")
def test_a_made_file_may_lie_under_another_name(tmp_path: Path) -> None:
    folder = tmp_path / "far"
    folder.mkdir()
    (folder / "old.json").write_text("{}")
    made = {"path": "sum.json", "made_from": ["a"], "instead": "old.json"}
    far = card({"path": "a"}, made, adapter="maker")
    # nobody noted what it was made from
    assert states(far, tmp_path) == {"a": "missing", "old.json": "missing"}
    about = {"sha256": sha(b"{}"), "made_from": {"a": sha(b"a")}}
    (folder / RECORD).write_text(json.dumps({"old.json": about}))
    assert states(far, tmp_path) == {"old.json": "there"}
    pinned = card({"path": "a", "sha256": sha(b"b")}, made, adapter="maker")
    assert states(pinned, tmp_path) == {"a": "missing", "old.json": "missing"}


def test_the_facts_of_a_release_are_those_of_its_card() -> None:
    far = card({"path": "a", "size": 3}, {"path": "b", "size": 4}, licence="MIT")
    assert summary(far) == {
        "benchmark": "far",
        "revision": "1",
        "licence": "MIT",
        "files": 2,
        "bytes": 7,
        "images": "",
        "images_url": "",
        "images_licence": "",
    }
