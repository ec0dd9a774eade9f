"""Logs whose questions have several turns, several pictures or a video."""

import base64
import io
import json
from pathlib import Path

import pytest
from PIL import Image

import hqm
from hqm.auditing.disagreements import thumbnail
from hqm.benchmark.log_benchmark import LogBenchmark, benchmarks_of_logs
from hqm.errors import DataError
from hqm.imports.detect import read_logs
from tests.messages import pattern_of, tells


def benchmark_of_rows(rows: list[dict[str, object]], folder: Path) -> LogBenchmark:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    return benchmark


def rows_of(**material: object) -> list[dict[str, object]]:
    return [
        {"id": n, "model": model, "question": f"Is it {n}?", "answer": "yes", "target": "yes"}
        | material
        for n in range(3)
        for model in ("x", "y")
    ]


@pytest.mark.parametrize("has_question", [True, False])
def test_each_turn_is_an_item_of_its_dialogue(tmp_path: Path, has_question: bool) -> None:
    rows = []
    for turn in (1, 2):
        for row in rows_of(turn=turn):
            if has_question:
                row["question"] = f"{row['question']} Turn {turn}."
            else:
                del row["question"]
            rows.append(row)
    benchmark = benchmark_of_rows(rows, tmp_path)
    items = benchmark.original.items
    assert [item.id for item in items[:2]] == ["0/turn1", "1/turn1"]
    assert len(items) == 6
    assert {item.cluster for item in items} == {"0", "1", "2"}
    assert any(tells(note, "log.turns", column="turn") for note in benchmark.matched.notes)
    audit = hqm.audit(benchmark)
    assert "id-odd" not in [finding["name"] for finding in audit.findings]


def test_a_turn_beside_ids_that_stand_once_changes_nothing(tmp_path: Path) -> None:
    rows = [row | {"turn": row["id"]} for row in rows_of()]
    assert [i.id for i in benchmark_of_rows(rows, tmp_path).original.items] == ["0", "1", "2"]


SEVERAL = {
    "a list": {"images": ["a.png", "b.png"]},
    "a list as text": {"image": "['a.png', 'b.png']"},
    "numbered columns": {"image_1": "a.png", "image_2": "b.png", "image_3": None},
}


@pytest.mark.parametrize("kind", SEVERAL)
def test_several_pictures_are_read(kind: str, tmp_path: Path) -> None:
    benchmark = benchmark_of_rows(rows_of(**SEVERAL[kind]), tmp_path)
    assert all(item.pictures == ("a.png", "b.png") for item in benchmark.original.items)
    assert any(tells(n, "log.pictures", items=3, all=3) for n in benchmark.notes)
    with pytest.raises(DataError, match=pattern_of("log.one-picture", items=3, all=3)):
        benchmark.to_ask()


def test_items_that_share_a_picture_through_others_are_one_cluster(tmp_path: Path) -> None:
    pictures = [["a", "b"], ["b", "c"], ["d", "e"]]
    rows = [row | {"images": pictures[int(str(row["id"]))]} for row in rows_of()]
    clusters = [item.cluster for item in benchmark_of_rows(rows, tmp_path).original.items]
    assert clusters[0] == clusters[1] != clusters[2]


def test_a_video_is_no_picture(tmp_path: Path) -> None:
    benchmark = benchmark_of_rows(rows_of(video="v.mp4"), tmp_path)
    assert any(tells(note, "log.videos", items=3, all=3) for note in benchmark.notes)
    for item in benchmark.original.items:
        assert (item.image, item.material, item.cluster) == (None, "v.mp4", "v.mp4")


def test_pictures_are_shown_side_by_side(tmp_path: Path) -> None:
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (40, 30), colour).save(tmp_path / name)
    single, both = (
        thumbnail(*(tmp_path / name for name in names))
        for names in (["a.png"], ["a.png", "b.png", "absent.png"])
    )
    assert single.startswith("data:image/jpeg")
    with Image.open(io.BytesIO(base64.b64decode(both.partition(",")[2]))) as row:
        edges = [row.getpixel((x, row.height // 2)) for x in (0, row.width - 1)]
    is_red, is_blue = edges[0][0] > 200 > max(edges[0][1:]), edges[1][2] > 200 > max(edges[1][:2])
    assert (is_red, is_blue) == (True, True), edges
    assert thumbnail(tmp_path / "absent.png") == ""
