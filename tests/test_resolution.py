"""Smaller pictures as a facet: live respondents, servers and recorded answers; the store; paired
differences; hostile values.
"""

import base64
import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.stats import ttest_rel

import hqm
from hqm import Cell, Request, RespondentError, Response, Store
from hqm.administration.asks import Asks
from hqm.administration.stored_answers import cells_in, resolutions_in, respondents_of
from hqm.errors import ImageError
from hqm.files.images import scaled_picture
from hqm.psychometrics import respondent_shifts
from hqm.store.exchange import export_store, import_store
from tests.conftest import Run
from tests.messages import tells, text_of
from tests.servers import PlannedServer, completion

OBJECTS = ["dog", "cat", "car", "bus", "hat", "cup", "pen", "bag"]


@pytest.fixture
def pictures(
    make_benchmark: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Sixteen questions about eight pictures of 40, 48, ... 96 pixels' width, half of them about
    what is there.
    """
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))
    rows = []
    for i, object_name in enumerate(OBJECTS):
        for target, mentioned in (("yes", object_name), ("no", OBJECTS[i - 1])):
            question = f"Is there a {mentioned} in the image?"
            rows.append(
                {
                    "id": f"{object_name}-{target}",
                    "prompt": question,
                    "target": target,
                    "image": f"{i}.png",
                }
            )
    folder = make_benchmark(rows, data={"items": "items.jsonl", "images": "images"})
    (folder / "images").mkdir()
    for i in range(len(OBJECTS)):
        noise = np.random.default_rng(i).integers(0, 256, (30, 40 + 8 * i, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / "images" / f"{i}.png")
    return folder


class Looking:
    """A live respondent that sees what is on pictures of a certain width, and says no of all
    others.
    """

    live = True

    def __init__(self, name: str, width: int, give_up: int | None = None) -> None:
        self.name, self.width, self.give_up = name, width, give_up
        self.asked: list[Request] = []

    def identity(self) -> dict[str, Any]:
        return {"kind": "test", "width": self.width}

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        for request in requests:
            if self.give_up is not None and len(self.asked) >= self.give_up:
                raise RespondentError("it broke", location=self.name)
            self.asked.append(request)
            assert request.image is not None
            with Image.open(request.image) as picture:
                sees = picture.size[0] >= self.width
            yield [(request, Response("Yes." if sees and request.item.endswith("yes") else "No."))]

    def close(self) -> None:
        pass


def put(store: Store, folder: Path, respondents: Sequence[Looking], *scales: str) -> hqm.Benchmark:
    benchmark, asks = hqm.load(str(folder)), Asks(store)
    for respondent in respondents:
        assignment = hqm.assign(respondent, benchmark)
        jobs = [
            hqm.plan_job(asks, assignment, hqm.Administration(benchmark.original, 0, resolution))
            for resolution in scales
        ]
        hqm.administer(store, jobs)
    return benchmark


# --- the picture ---


def test_a_picture_is_scaled_once_and_is_the_same_everywhere(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = scaled_picture(pictures / "images" / "0.png", 50)
    with Image.open(first) as small:
        assert (small.size, small.format) == ((20, 15), "PNG")
    before = first.read_bytes(), first.stat().st_mtime_ns
    assert scaled_picture(pictures / "images" / "0.png", 50) == first
    assert first.stat().st_mtime_ns == before[1], "it was made once"
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "another"))
    second_picture = scaled_picture(pictures / "images" / "0.png", 50)
    assert second_picture.is_relative_to(tmp_path / "another")
    assert second_picture.read_bytes() == before[0]


def test_nothing_but_the_size_changes(pictures: Path, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 1), (200, 30, 90)).save(tmp_path / "turned.png", exif=exif)
    with Image.open(scaled_picture(tmp_path / "turned.png", 5)) as small:
        assert small.size == (1, 3), "upright, and a side has a pixel at least"
        assert small.getpixel((0, 0)) == (200, 30, 90)
        assert small.getexif().get(0x0112) is None
    # a checkerboard of single pixels is gray at half its size: the filter averages, it does not
    # pick
    board = (np.indices((40, 40)).sum(axis=0) % 2 * 255).astype(np.uint8)
    Image.fromarray(board).save(tmp_path / "board.png")
    with Image.open(scaled_picture(tmp_path / "board.png", 50)) as small:
        interior = np.asarray(small)[4:-4, 4:-4]
    assert np.abs(interior.astype(int) - 127.5).max() < 2


def test_a_broken_picture_is_one_sentence(pictures: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes((pictures / "images" / "0.png").read_bytes()[:200])
    with pytest.raises(ImageError, match="cannot be scaled"):
        scaled_picture(tmp_path / "broken.png", 50)
    assert not list((tmp_path / "cache").rglob("*.part"))


# --- asked, stored, audited ---


def test_smaller_pictures_are_compared_with_whole_ones_by_hand(
    pictures: Path, store: Store
) -> None:
    eyes = [Looking("hf/sharp", 20), Looking("hf/middle", 40), Looking("hf/weak", 80)]
    benchmark = put(store, pictures, eyes, "")
    plain_audit = hqm.audit(hqm.gather(benchmark, store))
    put(store, pictures, eyes, "50", "25")
    audit = hqm.audit(hqm.gather(hqm.load(str(pictures)), store))
    assert [Cell.parse(cell).resolution for cell in audit.cells] == ["", "50", "25"]
    # widths are 40 to 96: halved, those from 80 on are 40 wide and more (3 of 8); quartered, all
    # are below 25, from 80 on 20
    expected = {"50": [16, 11, 8], "25": [11, 8, 8]}
    for scale, right in expected.items():
        shift = next(
            e
            for e in audit.all_estimates
            if e.indicator == "resolution.mean_shift" and f"={scale}" in e.other
        )
        rows = [shift.detail["by_respondent"][eye.name] for eye in eyes]
        assert [row["whole"] * 16 for row in rows] == [16, 16, 11]
        assert [row["scaled"] * 16 for row in rows] == right
        assert [row["difference"] for row in rows] == pytest.approx(
            [b / 16 - a / 16 for a, b in zip([16, 16, 11], right, strict=True)]
        )
        assert "resolution:~" + scale in shift.signature
    # what was there before says the same, under the same signature
    value_by_signature = {e.signature: e.value for e in audit.all_estimates}
    assert plain_audit.all_estimates
    assert all(value_by_signature[e.signature] == e.value for e in plain_audit.all_estimates)
    assert not any("resolution" in e.signature for e in plain_audit.all_estimates)


def test_a_stopped_command_goes_on_where_it_stopped(pictures: Path, store: Store) -> None:
    put(store, pictures, [Looking("hf/eye", 20, give_up=5)], "50")
    resumed = Looking("hf/eye", 20)
    put(store, pictures, [resumed], "50")
    assert len(resumed.asked) == 11
    assert {request.resolution for request in resumed.asked} == {"50"}
    put(store, pictures, [last := Looking("hf/eye", 20)], "50")
    assert not last.asked


def test_answers_are_found_where_the_pictures_are_gone(
    pictures: Path, tmp_path: Path, store: Store
) -> None:
    benchmark = put(store, pictures, [Looking("hf/eye", 20)], "", "50")
    assert resolutions_in(store, benchmark.name) == ["50"]
    shutil.rmtree(pictures / "images")
    shutil.rmtree(tmp_path / "cache")
    (pictures / "images").mkdir()
    reloaded = hqm.load(str(pictures))
    respondents = respondents_of(store, [hqm.assign(Looking("hf/eye", 20), reloaded)])
    cells = cells_in(Asks(store), reloaded, [reloaded.original], respondents)
    assert cells == [Cell(), Cell(resolution="50")]


def test_an_export_keeps_them(pictures: Path, tmp_path: Path, store: Store) -> None:
    benchmark = put(store, pictures, [Looking("hf/eye", 20)], "", "50")
    export_store(store, tmp_path / "all.jsonl")
    with Store(tmp_path / "other.sqlite") as imported_store:
        import_store(tmp_path / "all.jsonl", imported_store)
        audits = [
            hqm.audit(hqm.gather(benchmark, opened_store))
            for opened_store in (store, imported_store)
        ]
    assert audits[0].cells == audits[1].cells
    assert [e.signature for e in audits[0].all_estimates] == [
        e.signature for e in audits[1].all_estimates
    ]


def test_a_server_is_sent_smaller_pictures(pictures: Path, tmp_path: Path, run: Run) -> None:
    sizes = []

    def reply(
        _: int, body: dict[str, Any], __: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        parts = body["messages"][-1]["content"]
        (address,) = [
            content["image_url"]["url"] for content in parts if content["type"] == "image_url"
        ]
        with Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) as picture:
            sizes.append(picture.size)
        return completion("Yes.")

    with PlannedServer(reply) as server:
        name = f"openai/tiny@{server.url}"
        arguments = [
            "audit",
            pictures,
            "-r",
            name,
            "--runs",
            1,
            "--forms",
            "original",
            "--resolution",
            "100,50%",
        ]
        status, output, err = run(*arguments, "--all", "--quiet", "--out", tmp_path / "out")
    assert status == 0, err
    assert sorted(sizes) == sorted(
        size for i in range(8) for size in [(40 + 8 * i, 30), (20 + 4 * i, 15)] * 2
    )
    assert tells(output, "report.by-resolution", metric="accuracy")
    page = (tmp_path / "out" / "evidence.html").read_text("utf-8")
    assert tells(page, "report.by-resolution", metric="accuracy")
    audit = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert audit["record"]["settings"]["resolutions"] == ["50"]


# --- recorded ---


def answers(path: Path, scales: Sequence[object], yes: Sequence[int]) -> Path:
    """Recorded answers to the sixteen questions, right up to the item numbered `yes` of each
    resolution.
    """
    rows = []
    for scale, count in zip(scales, yes, strict=True):
        for i, object_name in enumerate(OBJECTS):
            for target in ("yes", "no"):
                answer = target if i < count else "no"
                row = {"respondent": "eye", "item": f"{object_name}-{target}", "answer": answer}
                rows.append(row if scale is None else {**row, "resolution": scale})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_recorded_answers_say_their_resolution(pictures: Path, tmp_path: Path, run: Run) -> None:
    file = answers(tmp_path / "answers.jsonl", [None, 50, "25 %"], [8, 6, 4])
    status, output, err = run(
        "audit", pictures, "--recorded", file, "--out", tmp_path / "out", "--json", "--quiet"
    )
    assert status == 0, err
    (audit,) = json.loads(output)["audits"]
    shifts = [e for e in audit["estimates"] if e["indicator"] == "resolution.mean_shift"]
    rows = [next(iter(e["detail"]["by_respondent"].values())) for e in shifts]
    assert [(row["whole"], row["scaled"]) for row in rows] == [(1.0, 14 / 16), (1.0, 12 / 16)]


@pytest.mark.parametrize("scale", [0, -5, 101, "half", True, 50.5, [50]])
def test_a_resolution_that_is_none_is_one_sentence(
    pictures: Path, tmp_path: Path, run: Run, scale: object
) -> None:
    file = answers(tmp_path / "answers.jsonl", [scale], [8])
    status, _, err = run(
        "audit", pictures, "--recorded", file, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 1
    assert tells(err, "resolution.wrong")
    assert "record 1" in err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--resolution", "0"], "is no percentage"),
        (["--resolution", "50,huge"], "is no percentage"),
        (["--resolution", "50", "--blind"], "--blind shows no picture"),
        (["--resolution", "50", "--until", "separated"], text_of("until.original-only")),
    ],
)
def test_options_that_make_no_sense_are_one_sentence(
    pictures: Path, tmp_path: Path, run: Run, options: list[str], sentence: str
) -> None:
    status, _, err = run(
        "audit", pictures, "-r", "hf/shapes:steady", "--out", tmp_path / "out", *options
    )
    assert status != 0
    assert sentence in " ".join(err.split())


# --- paired differences ---


def test_own_shifts_are_the_paired_t_intervals_where_every_item_is_its_own_picture() -> None:
    """Against SciPy's `ttest_rel(...).confidence_interval`, which the jackknife of a mean
    equals.
    """
    rng = np.random.default_rng(3)
    first, second = rng.random((4, 30)).round(), rng.random((4, 30)).round()
    left_out_means = [
        (scores.sum(axis=1, keepdims=True) - scores) / 29 for scores in (first, second)
    ]
    shifts = respondent_shifts(
        first.mean(axis=1), second.mean(axis=1), (left_out_means[0], left_out_means[1])
    )
    for shift, a, b in zip(shifts, first, second, strict=True):
        interval = ttest_rel(b, a).confidence_interval(0.95)
        assert (shift.low, shift.high) == pytest.approx((interval.low, interval.high))
        assert shift.value == pytest.approx(b.mean() - a.mean())


def test_own_shifts_without_a_score_or_a_difference_have_no_interval() -> None:
    constant = np.full((2, 3), 0.5)
    lacking, equal = respondent_shifts([np.nan, 0.5], [0.5, 0.5], (constant, constant))
    assert (lacking.status, equal.status) == ("insufficient", "ok")
    assert equal.value == 0
    assert np.isnan(equal.low)


def test_cells_read_back_what_they_write() -> None:
    cell = Cell(resolution="50")
    assert str(cell) == "form=original|run=0|judge=rule|resolution=50"
    assert Cell.parse(str(cell)) == cell
    assert Cell().facet(cell) == "resolution"
    with pytest.raises(hqm.UsageError, match="no percentage"):
        Cell.parse("form=original|run=0|judge=rule|resolution=200")
