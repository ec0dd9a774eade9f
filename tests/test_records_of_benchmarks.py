"""Corrected keys, metadata, folders for other tools and replies of judges, on a few records."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hqm.adapters.hal_eval import _share_of
from hqm.adapters.pope import Pope
from hqm_publish.croissant import croissant_metadata, write_croissant
from hqm_publish.handoff import asked_row, hand_over, picture_path
from PIL import Image

import hqm
from hqm.benchmark.card import Card
from hqm.benchmark.corrected_keys import CorrectedKey, read_key
from hqm.benchmark.findings import Finding
from hqm.benchmark.judge_api import (
    fill,
    parse_judge,
    read_replies,
    reading,
    refuse_empty,
    replay,
)
from hqm.benchmark.registry import load
from hqm.benchmark.released_files import (
    ItemQueue,
    answers_by_id,
    name_placeholders,
    released_file,
    texts_in,
)
from hqm.errors import AnswerError, DataError, NoReply, UnreadableReply, UsageError
from hqm.imports.row import Row
from hqm.types import Form, Item, LeftOut
from hqm.version import __version__
from tests.conftest import write_benchmark
from tests.messages import text_of

PARTS = ("coco_random", "coco_popular", "gqa")


def rows_of_pope() -> list[dict[str, Any]]:
    """Two questions about each of two pictures, in three parts."""
    return [
        {
            "id": f"{part}-{picture}{object_name}",
            "prompt": f"Is there a {object_name}?",
            "target": "yes" if object_name == "dog" else "no",
            "image": f"{picture}.png",
            "part": part,
        }
        for part in PARTS
        for picture in "ab"
        for object_name in ("dog", "cat")
    ]


@pytest.fixture(scope="module")
def pope(tmp_path_factory: pytest.TempPathFactory) -> hqm.Benchmark:
    return load(write_benchmark(tmp_path_factory.mktemp("pope") / "pope", rows_of_pope()))


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> hqm.Benchmark:
    rows = [
        {"id": f"q{k}", "prompt": f"Which {k}?", "options": ["x", "y", "z"], "target": "A"}
        for k in range(3)
    ]
    folder = tmp_path_factory.mktemp("choice") / "choice"
    return load(write_benchmark(folder, rows, task="choice"))


# --- corrected keys ---


def key_of(folder: Path, bench: hqm.Benchmark, name: str, *rows: dict[str, Any]) -> CorrectedKey:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_key(folder / name, bench)


@pytest.mark.parametrize(
    ("value", "target"),
    [
        (" B ", "B"),
        ("c", "C"),
        ("D", ""),
        ("AB", ""),
        ("x", ""),
        ("", None),
        (None, None),
        ("Ambiguous", None),
        ("unclear", None),
        ("none", None),
    ],
)
def test_a_corrected_option_is_a_letter(
    value: Any, target: str | None, choice: hqm.Benchmark, tmp_path: Path
) -> None:
    row = {"item": "q1", "target": value}
    if target == "":
        with pytest.raises(DataError, match=r"the target of q1") as refused:
            key_of(tmp_path, choice, "key.jsonl", row)
        assert "from A to C" in refused.value.remedy
        return
    key = key_of(tmp_path, choice, "key.jsonl", row, {"item": "q2", "target": "A"})
    assert key.targets == ({"q2": "A"} if target is None else {"q1": target, "q2": "A"})
    assert key.left_out == (("q1",) if target is None else ())
    assert key.changed == (() if target is None else ("q1",))
    assert (key.path, len(key.digest) > 10) == (str(tmp_path / "key.jsonl"), True)
    form = key.applied(
        Form("x", choice.original.items, (LeftOut("q1", "", ""), LeftOut("q8", "", "")))
    )
    assert [(i.id, i.target) for i in form.items if i.id == "q1"] == (
        [] if target is None else [("q1", target)]
    )
    assert [left.id for left in form.left_out] == (["q8"] if target is None else ["q1", "q8"])


@pytest.mark.parametrize(
    ("row", "target"),
    [
        ({"mark": "wrong key", "target": "b"}, "B"),
        ({"mark": " Wrong Key ", "label": "C"}, "C"),
        ({"mark": "wrong key"}, ""),
        ({"mark": "wrong key", "target": "A"}, ""),
        ({"mark": "wrong key", "target": "D"}, ""),
        ({"mark": "keep", "target": "B"}, "A"),
        ({"mark": "bad picture", "target": "B"}, None),
        ({"mark": "", "target": "B"}, "B"),
        ({"mark": None, "target": "B"}, "B"),
        ({"label": None, "target": "B"}, "B"),
        ({"answer": "C", "key": "B"}, "C"),
    ],
)
def test_a_mark_goes_before_the_target(
    row: dict[str, Any], target: str | None, choice: hqm.Benchmark, tmp_path: Path
) -> None:
    if target == "":
        with pytest.raises(DataError, match=r"q0"):
            key_of(tmp_path, choice, "key.jsonl", {"item": "q0", **row})
        return
    key = key_of(tmp_path, choice, "key.jsonl", {"item": "q0", **row})
    assert (key.targets.get("q0"), bool(key.left_out)) == (target, target is None)


def released(picture: str, object_name: str, label: str | None) -> dict[str, Any]:
    return {"image": f"{picture}.png", "text": f"Is there a {object_name}?", "label": label}


def test_a_key_of_a_release_answers_the_parts_that_its_name_speaks_of(
    pope: hqm.Benchmark, tmp_path: Path
) -> None:
    rows = [released("a", "dog", "no"), released("b", "cat", "no"), released("b", "dog", "yes")]
    key = key_of(tmp_path, pope, "COCO-random_key.jsonl", *rows)
    assert key.targets == {
        "coco_random-adog": "no",
        "coco_random-bcat": "no",
        "coco_random-bdog": "yes",
    }
    assert (key.changed, key.left_out) == (("coco_random-adog",), ("coco_random-acat",))
    restricted = key.restricted_to(pope.original.select_part("coco_random"))
    assert restricted == key
    empty_key = key.restricted_to(pope.original.select_part("gqa"))
    assert (empty_key.targets, empty_key.changed, empty_key.left_out) == ({}, (), ())
    # a folder has a file for each part, and what is no file of records is not read
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "README.md").write_text("x")
    for name, object_name in (("random_coco", "dog"), ("coco_popular", "cat")):
        row = released("a", object_name, "yes")
        (tmp_path / "keys" / f"{name}.json").write_text(json.dumps([row]))
    folder_key = read_key(tmp_path / "keys", pope)
    assert folder_key.targets == {"coco_popular-acat": "yes", "coco_random-adog": "yes"}
    assert folder_key.changed == ("coco_popular-acat",)
    assert len(folder_key.left_out) == 6
    # an item without a right answer is left out, also where no other of its part is named
    key = key_of(tmp_path, pope, "gqa.jsonl", released("a", "dog", ""), released("b", "cat", "yes"))
    assert (key.targets, len(key.left_out)) == ({"gqa-bcat": "yes"}, 3)
    key = key_of(tmp_path, pope, "gqa.jsonl", released("a", "dog", None))
    assert (key.targets, len(key.left_out)) == ({}, 4)
    with pytest.raises(DataError, match="1 of 2 rows fit"):
        key_of(tmp_path, pope, "gqa.jsonl", rows[0], released("c", "dog", "no"))
    unmatched = [released(name, "dog", "no") for name in "cd"]
    with pytest.raises(DataError, match="2 of 3 rows fit") as refused:
        key_of(tmp_path, pope, "gqa.jsonl", rows[0], *unmatched)
    assert refused.value.location.endswith("record 2")
    with pytest.raises(DataError, match="no picture"):
        key_of(tmp_path, pope, "gqa.jsonl", {"text": "Is there a bus?", "label": "no"})


@pytest.mark.parametrize(
    ("task", "row"), [("vqa", {"target": "red"}), ("caption", {}), ("choice", None)]
)
def test_a_key_is_for_questions_that_a_rule_scores(
    task: str, row: dict[str, Any] | None, tmp_path: Path, choice: hqm.Benchmark
) -> None:
    if row is None:
        with pytest.raises(DataError, match="it corrects no item"):
            key_of(tmp_path, choice, "key.jsonl")
        return
    rows = [{"id": "q0", "prompt": "Which?", **row}]
    bench = load(write_benchmark(tmp_path / "own", rows, task=task))
    with pytest.raises(UsageError, match="not compared with a key"):
        key_of(tmp_path, bench, "key.jsonl", {"item": "q0", "target": "blue"})


def test_a_key_of_all_items_is_read_beside_one_part(tmp_path: Path) -> None:
    bench = load(write_benchmark(tmp_path / "own", rows_of_pope()), part="gqa")
    whole_form = load(tmp_path / "own").original
    row = {"item": "coco_random-adog", "target": "no"}
    with pytest.raises(DataError, match="no item"):
        key_of(tmp_path, bench, "key.jsonl", row)
    key = read_key(tmp_path / "key.jsonl", bench, whole_form)
    assert key.changed == ("coco_random-adog",)
    asks = {"item": "gqa-adog", "target": "no", "question": "Is there a bus?"}
    with pytest.raises(DataError, match="other questions"):
        key_of(tmp_path, bench, "key.jsonl", asks)


# --- metadata ---


def test_metadata_name_files_records_and_pictures(tmp_path: Path) -> None:
    rows = [
        {**row, "options": ["yes", "no"], "target": "A"}
        if k
        else {**row, "target": "A", "options": "yes|no"}
        for k, row in enumerate(rows_of_pope())
    ]
    rows[0]["image"] = "c.JPG"
    rows[1]["image"] = "d.tif"
    folder = write_benchmark(
        tmp_path / "own",
        rows,
        task="choice",
        licence="Apache-2.0",
        types=["ocr"],
        data={"items": "items.jsonl", "images": "images"},
    )
    (folder / "images").mkdir()
    metadata = croissant_metadata(load(folder), tmp_path)
    assert metadata["name"] == "mine"
    assert metadata["license"] == "https://spdx.org/licenses/Apache-2.0.html"
    assert (metadata["description"], metadata["alternateName"]) == ("Mine", "Mine")
    assert metadata["keywords"] == ["choice", "hallucination", "vision-language models", "ocr"]
    assert not {"url", "citeAs", "measurementTechnique", "rai:dataBiases"} & set(metadata)
    items, jpg, png, tif = metadata["distribution"]
    content = (folder / "items.jsonl").read_bytes()
    assert items == {
        "@type": "cr:FileObject",
        "@id": "items",
        "name": "items",
        "contentUrl": "own/items.jsonl",
        "encodingFormat": "application/jsonlines",
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    assert (jpg["encodingFormat"], jpg["includes"]) == ("image/jpeg", "own/images/**/*.JPG")
    assert (png["encodingFormat"], png["@id"]) == ("image/png", "pictures.png")
    assert tif["encodingFormat"] == "image/tiff"
    (records,) = metadata["recordSet"]
    assert records["key"] == {"@id": "records/id"}
    fields = {field["name"]: field for field in records["field"]}
    assert list(fields) == ["id", "prompt", "target", "image", "part", "options"]
    assert fields["options"]["repeated"] is True
    assert "repeated" not in fields["part"]
    assert fields["part"]["source"]["extract"] == {"column": "part"}
    # from elsewhere, nothing of the folder can be named
    detached = croissant_metadata(load(folder), tmp_path / "else")
    assert (detached["distribution"], detached["recordSet"]) == ([], [])
    (folder / "images").rmdir()
    assert len(croissant_metadata(load(folder), folder)["distribution"]) == 1
    assert (
        croissant_metadata(load(folder), folder)["distribution"][0]["contentUrl"] == "items.jsonl"
    )


@pytest.mark.parametrize(
    ("licence", "named"),
    [
        ("CC-BY-4.0", "https://spdx.org/licenses/CC-BY-4.0.html"),
        ("for research only", "for research only"),
        ("see http://x.org", "see http://x.org"),
        ("MIT!", "MIT!"),
        ("", None),
    ],
)
def test_a_licence_is_named_by_its_address(licence: str, named: str | None, tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "own", rows_of_pope(), licence=licence)
    assert croissant_metadata(load(folder), folder).get("license") == named


def test_metadata_say_what_makers_and_check_say_of_the_data(tmp_path: Path) -> None:
    folder = write_benchmark(
        tmp_path / "own",
        rows_of_pope(),
        rai={"data_biases": "Dogs.", "data_use_cases": ""},
        source={"images": "Drawn."},
    )
    findings = [
        Finding("few-wordings", "few words"),
        Finding("leakage-cue", "a leak"),
        Finding("image-unused", "a note"),
        Finding("no-licence", "no licence"),
        Finding("id-odd", "odd ids"),
    ]
    metadata = croissant_metadata(load(folder), folder, findings, "r = 0.9")
    assert metadata["measurementTechnique"] == "r = 0.9"
    assert metadata["rai:dataCollection"] == "Drawn."
    assert (
        metadata["rai:dataBiases"]
        == f"Dogs. {text_of('croissant.found', version=__version__, sentences='a leak.')}"
    )
    limits = metadata["rai:dataLimitations"]
    assert limits == text_of(
        "croissant.found", version=__version__, sentences="few words. odd ids."
    )
    assert "rai:dataUseCases" not in metadata
    responsible_ai = {"data_collection": "Photographed."}
    folder = write_benchmark(
        tmp_path / "own", rows_of_pope(), rai=responsible_ai, source={"images": "Drawn."}
    )
    metadata = croissant_metadata(load(folder), folder)
    assert metadata["rai:dataCollection"] == "Photographed."
    assert "rai:dataBiases" not in metadata


def test_pinned_files_of_a_release_are_described(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "own", rows_of_pope(), title="Größe")
    files = [
        {"path": "a.csv", "url": "http://x.org/a.csv", "sha256": "0" * 64},
        {"path": "b.bin", "url": "http://x.org/b.bin", "sha256": "1" * 64},
        {"path": "c.csv", "url": "http://x.org/c.csv"},
        {"path": "d.csv", "sha256": "2" * 64},
    ]
    text = (folder / "card.toml").read_text()
    for file in files:
        text += "[[source.files]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in file.items())
    (folder / "card.toml").write_text(text)
    metadata = croissant_metadata(load(folder), folder)
    assert [(f["@id"], f["encodingFormat"]) for f in metadata["distribution"]] == [
        ("a.csv", "text/csv"),
        ("b.bin", "application/octet-stream"),
    ]
    assert metadata["recordSet"] == []
    # the records are written beside the metadata, so that they can be loaded
    out_dir = tmp_path / "out"
    out_dir.mkdir()
    assert write_croissant(str(folder), out_dir / "meta.json") == 3
    text = (out_dir / "meta.json").read_text("utf-8")
    assert '"Größe"' in text
    document = json.loads(text)
    assert document["distribution"][2]["contentUrl"] == "meta-items.jsonl"
    lines = (out_dir / "meta-items.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == {
        "id": "coco_random-adog",
        "prompt": "Is there a dog?",
        "target": "yes",
        "image": "a.png",
        "part": "coco_random",
        "cluster": "a.png",
    }
    assert len(lines) == 12
    (folder / "items.jsonl").unlink()
    assert write_croissant(str(folder), out_dir / "other.json") == 2
    assert not (out_dir / "other-items.jsonl").exists()
    with pytest.raises(UsageError, match="stands for several"):
        write_croissant("shapes", out_dir / "x.json")


@pytest.mark.parametrize(("suffix", "described"), [("csv", True), ("json", False)])
def test_records_are_described_where_a_file_has_lines(
    suffix: str, described: bool, tmp_path: Path
) -> None:
    folder = write_benchmark(
        tmp_path / "own", [], data={"items": f"items.{suffix}"}, fields={"prompt": "question"}
    )
    text = "id,question,target\n1,Is it?,yes\n" if described else '[{"id": 1}]'
    (folder / f"items.{suffix}").write_text(text)
    metadata = croissant_metadata(load(folder), folder)
    assert len(metadata["distribution"]) == 1
    assert len(metadata["recordSet"]) == described
    if described:
        columns = [f["source"]["extract"]["column"] for f in metadata["recordSet"][0]["field"]]
        assert columns == ["id", "question", "target"]


# --- folders for other tools ---


def pictured(folder: Path, names: list[str], **card_fields: Any) -> hqm.Benchmark:
    """A benchmark of one question about each picture, and one without any."""
    rows = [
        {"id": f"q{k}", "prompt": f"Is it {k}?", "target": "yes", "image": name}
        for k, name in enumerate(names)
    ]
    rows.append({"id": "bare", "prompt": "Is it?", "target": "no", "type": "ocr", "part": "p"})
    folder = write_benchmark(
        folder, rows, data={"items": "items.jsonl", "images": "i"}, **card_fields
    )
    for k, name in enumerate(names):
        (folder / "i" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2), (k, 0, 0)).save(folder / "i" / name)
    return load(folder)


def test_inspect_gets_every_picture_under_a_plain_name(tmp_path: Path) -> None:
    names = ["a/x y.png", "a_x_y.png", "a x_y.png", ".hidden.png", "b.png", "b.png"]
    bench = pictured(tmp_path / "own", names, generation={"max_tokens": 7, "temperature": 0.5})
    reversed_form = Form("again", bench.original.items[::-1])
    hand_over(bench, "inspect", tmp_path / "out", [bench.original, reversed_form])
    rows = [json.loads(line) for line in (tmp_path / "out" / "original.jsonl").open()]
    plain = [row["image"] for row in rows]
    assert plain == [
        "a_x_y.png",
        "a_x_y_.png",
        "a_x_y__.png",
        "hidden.png",
        "b.png",
        "b.png",
        None,
    ]
    for row, name in zip(rows, names, strict=False):
        content = (tmp_path / "out" / "images" / row["image"]).read_bytes()
        assert content == (bench.images / name).read_bytes()
    assert len(list((tmp_path / "out" / "images").iterdir())) == 5
    turned = [json.loads(line) for line in (tmp_path / "out" / "again.jsonl").open()]
    assert [row["id"] for row in turned] == [row["id"] for row in rows[::-1]]
    assert {row["form"] for row in turned} == {"again"}
    program = (tmp_path / "out" / "mine.py").read_text()
    assert "max_tokens=7, temperature=0.5, top_p=1.0" in program
    with pytest.raises(DataError, match=r"'none\.png' is missing"):
        picture_path(bench, "none.png")


@pytest.mark.parametrize(
    ("version", "number", "temperature", "samples"),
    [("1.2.3", "1.2", 0.0, "false"), ("2b", "2", 0.1, "true"), ("x", "0", 1.0, "true")],
)
def test_lmms_eval_gets_rows_with_pictures_and_settings(
    version: str, number: str, temperature: float, samples: str, tmp_path: Path
) -> None:
    bench = pictured(
        tmp_path / "own", ["a/b.png"], version=version, generation={"temperature": temperature}
    )
    hand_over(bench, "lmms-eval", tmp_path / "out", [bench.original])
    settings = (tmp_path / "out" / "mine_original.yaml").read_text()
    assert f"version: {number}\n" in settings
    assert f"do_sample: {samples}\n" in settings
    assert "max_new_tokens: 64\n" in settings
    table = pyarrow.parquet.read_table(tmp_path / "out" / "original.parquet")
    first, second = table.to_pylist()
    assert first["image"]["path"] == "b.png"
    assert first["image"]["bytes"] == (bench.images / "a" / "b.png").read_bytes()
    assert second["image"] is None
    assert {key: second[key] for key in ("id", "type", "part", "cluster")} == {
        "id": "bare",
        "type": "ocr",
        "part": "p",
        "cluster": "bare",
    }
    assert (tmp_path / "out" / "utils.py").exists()


def test_a_table_of_many_rows_is_written_piece_by_piece(tmp_path: Path) -> None:
    rows = [{"id": f"q{k}", "prompt": f"Is it {k}?", "target": "yes"} for k in range(1003)]
    bench = load(write_benchmark(tmp_path / "own", rows))
    hand_over(bench, "lmms-eval", tmp_path / "out", [bench.original])
    read = pyarrow.parquet.ParquetFile(tmp_path / "out" / "original.parquet")
    assert [read.metadata.row_group(k).num_rows for k in range(read.num_row_groups)] == [
        500,
        500,
        3,
    ]
    assert read.read(["id"]).to_pydict()["id"] == [row["id"] for row in rows]


@pytest.mark.parametrize(
    ("target", "text"),
    [("red", "red"), (None, ""), (["rot", "größer"], '["rot", "größer"]'), (7, "7")],
)
def test_a_row_has_the_right_answer_as_a_text(target: Any, text: str, pope: hqm.Benchmark) -> None:
    item = Item("1", "Is it?", "vqa", target, image="a.png")
    row = asked_row(pope, item, Form("again", (item,)))
    assert row == {
        "id": "1",
        "form": "again",
        "prompt": "Is it?",
        "target": text,
        "type": "",
        "part": "",
        "cluster": "a.png",
    }


# --- replies of judges ---


def test_replies_are_read_by_item_and_role(pope: hqm.Benchmark, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"item": "gqa-adog", "reply": "yes"},
        {"id": "gqa-adog", "role": "judge", "reply": "no", "state": "truncated"},
        {"item": "gqa-adog", "role": "verifier", "reply": "x", "state": "error"},
        {"item": "gqa-bdog", "reply": 4},
    ]
    path = tmp_path / "replies.jsonl"

    def write(*rows: dict[str, Any]) -> Path:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    read = read_replies(write(*records), pope.original)
    assert set(read) == {"gqa-adog", "gqa-bdog"}
    assert read["gqa-adog"]["judge"][0] == "yes"
    assert len(read["gqa-adog"]["judge"]) == 2
    assert read["gqa-adog"]["verifier"] == [""], "an error is no reply"
    assert read["gqa-bdog"] == {"judge": ["4"]}
    for wrong in (
        {"item": "nobody", "reply": "yes"},
        {"item": "gqa-adog", "role": "king", "reply": "yes"},
        {"item": "gqa-adog"},
        {"reply": "yes"},
    ):
        with pytest.raises(DataError, match="record 1"):
            read_replies(write(wrong), pope.original)


def test_recorded_replies_are_played_back_until_they_end() -> None:
    ask = replay({"judge": ["a", " "], "verifier": ["b"]})

    def reply(role: str, prompt_function: Callable[..., Any] = ask) -> str:
        return str(asyncio.run(prompt_function(role, "?")))

    assert [reply("judge"), reply("verifier"), reply("judge")] == ["a", "b", " "]
    for role in ("judge", "verifier", "matcher"):
        with pytest.raises(NoReply, match=role):
            reply(role)
    checked = refuse_empty(replay({"judge": ["a", " "]}))
    assert reply("judge", checked) == "a"
    with pytest.raises(NoReply, match="empty"):
        reply("judge", checked)


@pytest.mark.parametrize("length", [3, 80, 81])
def test_a_reply_that_cannot_be_read_is_shown_shortened(length: int) -> None:
    reply = "x" * length
    with pytest.raises(UnreadableReply) as refused, reading(reply):
        int(reply)
    excerpt = reply if length <= 80 else f"{'x' * 80}..."
    assert f"the reply {excerpt!r} could" in str(refused.value)
    for error in (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError):
        with pytest.raises(UnreadableReply, match=error.__name__), reading("x"):
            raise error
    with pytest.raises(OSError, match="disk"), reading("x"):
        raise OSError("disk")


def test_templates_marks_and_places() -> None:
    assert fill("{a} {b} {c}", a=1, c="{a}") == "1 {b} {a}"
    assert fill("{} {a}") == "{} {a}"
    assert [parse_judge(name) for name in ("a#2", "a#b", "#1", "a#b#0", "a#")] == [
        ("a", 2),
        ("a#b", 0),
        ("#1", 0),
        ("a#b", 0),
        ("a#", 0),
    ]
    assert name_placeholders("no place", [], Path("x"), "it") == "no place"
    for template in ("{}", "{} {} {}"):
        with pytest.raises(DataError, match="not 2"):
            name_placeholders(template, ["a", "b"], Path("x"), "it")


# --- files of releases ---


def test_answers_of_a_release_are_read_by_id(pope: hqm.Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"

    def read(*rows: dict[str, Any]) -> dict[str, str]:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        answers = answers_by_id(path, pope.original, lambda key: key.startswith("coco"))
        return {key: answer.text for key, answer in answers.items()}

    first = {"id": "gqa-adog", "response": "yes", "query": "Is there a dog?"}
    assert read(first, {"id": "coco_left", "response": "no"}) == {"gqa-adog": "yes"}
    assert read({**first, "query": None}, {"id": "gqa-bdog", "response": None}) == {
        "gqa-adog": "yes",
        "gqa-bdog": "",
    }
    for rows in (
        [first, first],
        [{"id": "nobody", "response": "no"}],
        [{**first, "query": "Is there a bus?"}],
        [{"id": "gqa-adog"}],
        [{**first, "response": ["yes"]}],
    ):
        with pytest.raises(DataError):
            read(*rows)


def test_items_that_share_a_name_are_taken_in_turn(pope: hqm.Benchmark) -> None:
    turn = ItemQueue(pope.original.select_part("gqa").items, lambda item: item.image)
    assert [turn.take("a.png", "x") for _ in range(2)] == ["gqa-adog", "gqa-acat"]
    assert turn.take("b.png", "x") == "gqa-bdog"
    for name in ("a.png", "c.png"):
        with pytest.raises(AnswerError, match="no further question") as refused:
            turn.take(name, "here")
        assert refused.value.location == "here"


def test_texts_are_found_in_code_that_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "judge.py"
    path.write_text('1 / 0\nPROMPT = "Is it?" + f(3, None, b"x", k="deep")\n')
    assert sorted(texts_in(path)) == ["Is it?", "deep"]
    path.write_text("PROMPT = (")
    assert texts_in(path) == []
    assert released_file(path, "pope", "gone") == path
    with pytest.raises(DataError, match="gone") as refused:
        released_file(tmp_path, "pope", "gone")
    assert "hqm fetch pope" in refused.value.remedy
    assert Card(name="x", title="X", version="1", task="vqa").name == "x"


@pytest.mark.parametrize(("asked", "part"), [("dog cat", "a"), ("cat", "b"), ("dog", "a")])
def test_answers_without_ids_are_of_the_part_whose_questions_they_repeat(
    asked: str, part: str
) -> None:
    things = (("a", "dog"), ("a", "cat"), ("b", "cat"), ("b", "dog"))
    items = [
        Item(f"{name}/{thing}", f"Is there a {thing}?", "yes_no", "yes", part=name)
        for name, thing in things
    ]
    rows = [Row(place="", question=f"Is there a {thing}?") for thing in asked.split()]
    form = Pope._answered_part(rows, Form("original", tuple(items)), Path("answers.jsonl"))
    assert form.parts == (part,)
    with pytest.raises(AnswerError):
        Pope._answered_part(rows[:0], Form("original", tuple(items)), Path("answers.jsonl"))


def test_a_share_of_a_kind_is_of_all_wrong_descriptions() -> None:
    assert _share_of("object", [{"object": 2.0}, {"object": 1.0}, {}], 4.0) == 0.75
    assert _share_of("object", [], 0.0) is None
