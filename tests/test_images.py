"""Pictures from folders, zips, parquet rows and the web: found by name, checked, and refused with a
sentence.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import hqm
from hqm import Administration, Asks, CardError, DataError, Store
from hqm.commands.options import AnsweringOptions, MaterialOptions, RunOptions
from hqm.commands.session import Session
from hqm.errors import ImageError
from hqm.files.images import Checksums, check_picture, open_images
from hqm.files.parquet import ParquetImages
from hqm.files.records import read_records
from tests.conftest import claims, needs_torch
from tests.messages import pattern_of, tells
from tests.servers import PlannedServer
from tests.test_administer import Counting


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def picture(colour: int = 0, kind: str = "PNG", size: tuple[int, int] = (64, 48)) -> bytes:
    buffer = io.BytesIO()
    image = Image.effect_noise(size, 40).convert("RGB")
    image.paste((colour, 0, 0), (0, 0, 4, 4))
    image.save(buffer, kind)
    return buffer.getvalue()


# --- zip ---


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_a_zip_gives_pictures_by_whole_name_or_its_end(tmp_path: Path, cache: Path) -> None:
    a, b = picture(1, "JPEG"), picture(2)
    members = {"val/a.jpg": a, "val/b.png": b, "train/b.png": a, "val/copy.jpg": a}
    source = open_images(zipped(tmp_path / "p.zip", members))
    assert source.path("a.jpg").read_bytes() == source.path("val/a.jpg").read_bytes() == a
    assert source.path("val/b.png").read_bytes() == b
    assert source.path("a.jpg") == source.path("val/copy.jpg") == source.path("train/b.png"), (
        "equal pictures, one file"
    )
    assert source.path("a.jpg").suffix == ".jpg"
    assert source.path("a.jpg").is_relative_to(cache)
    assert (source.has("a.jpg"), source.has("b.png"), source.has("c.png")) == (True, False, False)
    with pytest.raises(ImageError, match=pattern_of("zip.ambiguous")):
        source.path("b.png")
    with pytest.raises(ImageError, match=pattern_of("zip.no-picture")):
        source.path("c.png")


def test_a_zip_that_climbs_bombs_or_breaks_is_refused(tmp_path: Path) -> None:
    huge = zipped(
        tmp_path / "huge.zip",
        {"../../evil.png": picture(), "big.png": b"\0" * (65 << 20), "none.png": b""},
    )
    source = open_images(huge)
    assert huge.stat().st_size < 1 << 20, "a bomb is small"
    for name, words in (
        ("../../evil.png", "outside the image folder"),
        ("big.png", "larger than 64 MiB"),
        ("none.png", "0 bytes"),
    ):
        with pytest.raises(ImageError, match=words):
            source.path(name)
    assert source.path("evil.png").parent.parent == tmp_path / "cache" / "images", (
        "by its end, into the cache"
    )
    assert not (tmp_path.parent / "evil.png").exists()
    content = bytearray(zipped(tmp_path / "bad.zip", {"a.png": picture()}).read_bytes())
    content[200:220] = b"x" * 20
    (tmp_path / "bad.zip").write_bytes(content)
    with pytest.raises(ImageError, match=pattern_of("zip.unreadable")):
        open_images(tmp_path / "bad.zip").path("a.png")
    (tmp_path / "no.zip").write_bytes(b"not a zip")
    with pytest.raises(ImageError, match="no zip, or damaged"):
        open_images(tmp_path / "no.zip").path("a.png")
    assert not list((tmp_path / "cache").rglob("*.part")), "nothing half is left"


# --- parquet ---


def dataset(
    path: Path, pictures: list[bytes | None], names: list[str | None], **columns: list[Any]
) -> Path:
    """As the `datasets` library writes it."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    values = [{"bytes": p, "path": n} for p, n in zip(pictures, names, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({**columns, "image": pa.array(values, kind)}), path, row_group_size=2)
    return path


def test_rows_that_show_one_picture_share_its_name(tmp_path: Path, cache: Path) -> None:
    a, b, c = picture(1), picture(2), picture(3, "JPEG")
    dataset(tmp_path / "test-0.parquet", [a, a, b], ["a.png", "a.png", "image.png"])
    dataset(
        tmp_path / "test-1.parquet",
        [c, b, None, b""],
        ["image.png", "/home/somebody/b.png", None, "e.png"],
    )
    source = ParquetImages(tmp_path / "test-*.parquet")
    assert source.names == ["a.png", "a.png", "2", "3", "2", None, "e.png"]
    assert [source.path(name).read_bytes() for name in ("a.png", "1", "2", "3")] == [a, a, b, c]
    for name, words in (("5", "no picture"), ("e.png", "0 bytes"), ("99", "no row has a picture")):
        with pytest.raises(ImageError, match=words):
            source.path(name)
    assert len(list((cache / "images").rglob("*.*g"))) == 3
    record = next((cache / "parquet").glob("*.json"))
    before = record.stat().st_mtime_ns
    assert ParquetImages(tmp_path / "test-*.parquet").names == source.names
    assert record.stat().st_mtime_ns == before, "the list is not made again"
    source.path("2").unlink()
    assert ParquetImages(tmp_path / "test-*.parquet").path("2").read_bytes() == b, (
        "a cache may be deleted"
    )


def test_a_pattern_whose_files_are_not_all_there_is_refused(tmp_path: Path, cache: Path) -> None:
    """Without the second file, half of the questions would be the benchmark."""
    first = dataset(tmp_path / "test-00000-of-00002.parquet", [picture(1)], ["a.png"])
    with pytest.raises(DataError, match=pattern_of("layout.shards", there=1, files=2)):
        read_records(tmp_path / "test-*.parquet")
    first.with_name("test-00001-of-00002.parquet").write_bytes(first.read_bytes())
    assert len(read_records(tmp_path / "test-*.parquet")) == 2


def test_a_parquet_file_is_a_whole_benchmark(
    tmp_path: Path, make_benchmark: Callable[..., Path], store: Store
) -> None:
    """Questions, answers and pictures in one file, as most benchmarks on the hub are."""
    section = {"items": "test.parquet"}
    folder = make_benchmark(
        [], data=section, fields={"id": "row", "prompt": "question", "target": "answer"}
    )
    pictures = [picture(1), picture(1), picture(2), picture(3)]
    pictures[1] = pictures[0]
    columns = {
        "question": ["Is it red?", "Is it blue?", "Is it red?", "Is it?"],
        "answer": ["yes", "no", "No", "Yes"],
    }
    dataset(folder / "test.parquet", [*pictures], [None] * 4, **columns)
    benchmark = hqm.load(str(folder))
    items = benchmark.original.items
    assert [(i.id, i.image, i.target) for i in items] == [
        ("0", "0", "yes"),
        ("1", "0", "no"),
        ("2", "2", "no"),
        ("3", "3", "yes"),
    ]
    assert [item.cluster for item in items] == [
        "0",
        "0",
        "2",
        "3",
    ], "intervals are over pictures, not rows"
    respondent = Counting()
    job = hqm.plan_job(
        Asks(store), hqm.assign(respondent, benchmark), Administration(benchmark.original, 0)
    )
    assert (len(job.todo), job.broken) == (4, {})
    hqm.administer(store, [job])
    assert sorted({r.image.read_bytes() for r in respondent.asked if r.image}) == sorted(
        {*pictures}
    )


def test_a_dataset_of_the_hub_is_found_in_its_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The layout of the hub's own cache, offline."""
    import huggingface_hub.constants

    sha = "a" * 40
    home = tmp_path / "hub" / "datasets--owner--name"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(sha)
    dataset(
        home / "snapshots" / sha / "data" / "test-0.parquet",
        [picture()],
        ["a.png"],
        question=["Is it?"],
        answer=["yes"],
    )
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    card = {"name": "mine", "title": "Mine", "version": "1", "task": "yes_no"}
    card["data"] = {"folder": "hf://datasets/owner/name", "items": "data/test-*.parquet"}  # type: ignore[assignment]
    card["fields"] = {"id": "row", "prompt": "question", "target": "answer"}  # type: ignore[assignment]
    (tmp_path / "mine.py").write_text(f"CARD = {card!r}\n")
    benchmark = hqm.load(str(tmp_path / "mine.py"))
    assert [item.image for item in benchmark.original.items] == ["a.png"]
    assert benchmark.pictures.has("a.png")
    card["data"]["folder"] = "hf://datasets/owner/nothing"  # type: ignore[index]
    (tmp_path / "none.py").write_text(f"CARD = {card!r}\n")
    with pytest.raises(
        DataError, match=pattern_of("hub.not-fetched", source="hf://datasets/owner/nothing")
    ):
        hqm.load(str(tmp_path / "none.py"))


def test_a_broken_parquet_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    pq.write_table(pa.table({"question": ["a"]}), tmp_path / "b.parquet")
    for name, words in (
        ("a", "no parquet file"),
        ("b", "no image column 'image'"),
        ("c", "no such file"),
    ):
        with pytest.raises(DataError, match=words):
            open_images(tmp_path / f"{name}.parquet").path("0")


# --- the web ---


class Site:
    """Pictures on a real server that has its moods."""

    def __init__(self) -> None:
        self.good = picture(9, "JPEG")
        self.tries: dict[str, int] = {}

    def __call__(self, _number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        path = body["get"]
        self.tries[path] = self.tries.get(path, 0) + 1
        if path == "/v1/moved.jpg":
            return 302, {"Location": "/v1/good.jpg"}, b""
        if path == "/v1/file.jpg":
            return 302, {"Location": "file:///etc/passwd"}, b""
        if path == "/v1/flaky.jpg" and self.tries[path] < 3:
            return None if self.tries[path] == 1 else (503, {}, b"")
        if path == "/v1/short.jpg" and self.tries[path] == 1:
            return 200, {"Content-Length": str(len(self.good))}, self.good[:50]
        if path == "/v1/huge.jpg":
            return 200, {"Content-Length": str(1 << 30)}, b"x"
        if path == "/v1/none.jpg":
            return 404, {}, b""
        if path == "/v1/page.jpg":
            return 200, {}, b"<html>please log in</html>"
        return 200, {}, self.good


def test_pictures_on_the_web_are_fetched_once_and_checked(
    tmp_path: Path, cache: Path, capsys: Any
) -> None:
    site = Site()
    with PlannedServer(site) as server:
        source = open_images(server.url)
        with pytest.raises(ImageError, match="not fetched yet"):
            source.path("good.jpg")
        names = [
            "good.jpg",
            "moved.jpg",
            "flaky.jpg",
            "short.jpg",
            "huge.jpg",
            "none.jpg",
            "file.jpg",
            "ä b.jpg",
        ]
        source.fetch(names, private=True)
        assert "fetching 8 pictures" in capsys.readouterr().err
        for name in ("good.jpg", "moved.jpg", "flaky.jpg", "short.jpg", "ä b.jpg"):
            assert source.path(name).read_bytes() == site.good, name
        assert "/v1/%C3%A4%20b.jpg" in site.tries
        for name, words in (
            ("huge.jpg", "larger than 64 MiB"),
            ("none.jpg", "answered 404"),
            ("file.jpg", "file:///etc/passwd.* not allowed"),
        ):
            with pytest.raises(ImageError, match=words):
                source.path(name)
        before = len(server.asked)
        reopened = open_images(server.url)
        reopened.fetch(names[:4], private=True)
        assert len(server.asked) == before, "what is in the cache is not asked for"
        reopened.path("good.jpg").write_bytes(b"x" * len(site.good))
        with pytest.raises(ImageError, match="not fetched yet"):
            reopened.path("good.jpg")
        reopened.fetch(["good.jpg"], private=True)
        assert reopened.path("good.jpg").read_bytes() == site.good, (
            "what is no more what came is fetched again"
        )


@needs_torch
def test_pictures_of_other_forms_are_fetched(
    make_benchmark: Callable[..., Path], store: Store, tmp_path: Path
) -> None:
    with PlannedServer(Site()) as server:
        rows = [{"id": "1", "prompt": "Is it red?", "target": "yes"}]
        shots = tmp_path / "shots.jsonl"
        picture = f"{server.url}/good.jpg"
        shots.write_text(json.dumps({"id": "1", "prompt": "Is it red?", "image": picture}))
        session = Session(
            [str(make_benchmark(rows))],
            store,
            RunOptions(
                material=MaterialOptions(
                    forms=("original",), form_files={"shots": shots}, allow_private_images=True
                ),
                answering=AnsweringOptions(respondents=("hf/shapes:steady",)),
            ),
        )
        assert session.missing_images() == {"mine": (1, 1)}
        session.fetch_images()
        assert session.missing_images() == {"mine": (0, 1)}
        assert [len(job.broken) for job in session.jobs()] == [0, 0, 0]


@needs_torch
def test_a_benchmark_with_addresses_is_planned_unfetched_and_run(
    make_benchmark: Callable[..., Path], store: Store
) -> None:
    site = Site()
    with PlannedServer(site) as server:
        rows = [
            {
                "id": name,
                "prompt": f"Is it {name}?",
                "target": "yes",
                "image": f"{server.url}/{name}.jpg",
            }
            for name in ("good", "none", "page")
        ]
        session = Session(
            [str(make_benchmark(rows))],
            store,
            RunOptions(
                material=MaterialOptions(forms=("original",), allow_private_images=True),
                answering=AnsweringOptions(respondents=("hf/shapes:steady",)),
            ),
        )
        assert session.missing_images() == {"mine": (3, 3)}
        assert server.asked == [], "a plan fetches nothing"
        session.fetch_images()
        assert session.missing_images() == {"mine": (1, 3)}
        job = session.jobs()[0]
    assert [request.item for _, request in job.todo.values()] == ["good"]
    reasons = sorted(job.reasons.values())
    assert "none.jpg: the server answered 404" in reasons[0]
    assert tells(reasons[1], "picture.no-image", picture="page.jpg")


# --- checking ---


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (claims(20_000, 10_000), "too many pixels|unfolds to 20000 x 10000"),
        (claims(60_000, 60_000), "too many pixels"),
        (picture(1, "JPEG", (400, 300))[:3000], "cannot be opened"),
        (picture(1, "PNG", (400, 300))[:-3000], "cannot be opened"),
        (picture(1, "WEBP")[:200], "cannot be opened"),
        (b"<html>", "cannot be opened"),
    ],
)
def test_a_huge_or_broken_picture_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(ImageError, match=words):
        check_picture(tmp_path / "a.bin")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_a_whole_picture_is_used(tmp_path: Path, kind: str) -> None:
    content = picture(1, kind)
    (tmp_path / "a.bin").write_bytes(content)
    check_picture(tmp_path / "a.bin")
    (tmp_path / "a.bin").write_bytes(content[: len(content) // 2])
    with pytest.raises(ImageError, match="cannot be opened"):
        check_picture(tmp_path / "a.bin")


def test_listed_sizes_and_hashes_are_compared(
    tmp_path: Path, make_benchmark: Callable[..., Path], store: Store
) -> None:
    rows = [
        {"id": str(i), "prompt": f"{i}?", "target": "yes", "image": f"{i}.png"} for i in range(4)
    ]
    folder = make_benchmark(rows, data={"items": "items.jsonl", "checksums": "images.sha256"})
    sums = []
    for i in range(4):
        content = picture(i)
        (folder / f"{i}.png").write_bytes(content)
        sums.append(f"{hashlib.sha256(content).hexdigest()}  {i}.png\n")
    (folder / "images.sha256").write_text("".join(sums[:3]))
    (folder / "2.png").write_bytes(picture(99))
    benchmark = hqm.load(str(folder))
    job = hqm.plan_job(
        Asks(store), hqm.assign(Counting(), benchmark), Administration(benchmark.original, 0)
    )
    assert sorted(request.item for _, request in job.todo.values()) == ["0", "1", "3"]
    assert "2.png: the picture's SHA-256 is" in next(iter(job.reasons.values()))
    listed = Checksums.load(_write_text(tmp_path / "c.csv", "image,size\n0.png,5\n"))
    with pytest.raises(ImageError, match="has .* bytes, and .* says 5"):
        listed.check("0.png", folder / "0.png")
    for name, text in (
        ("d.csv", "image,size\n0.png,many\n"),
        ("e.jsonl", json.dumps({"image": "a"})),
        ("f.txt", "abc a.png"),
    ):
        with pytest.raises(DataError, match="d.csv|e.jsonl|f.txt"):
            Checksums.load(_write_text(tmp_path / name, text))
    with pytest.raises(CardError, match="unknown key"):
        hqm.Card.parse(
            {"name": "a", "title": "a", "version": "1", "task": "vqa", "data": {"checksum": "x"}},
            "here",
        )


def _write_text(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
