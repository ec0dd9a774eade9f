"""`hqm new --from`: every kind of source, in files that the libraries themselves wrote, gives one
and the same benchmark.
"""

import base64
import csv
import hashlib
import io
import json
import shutil
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import hqm
from hqm import DataError
from hqm.files.datasets import Tree, shards_of
from hqm.lint import code_of, findings_of, lint_benchmarks
from tests.conftest import ROOT, Run
from tests.hub_server import HubServer
from tests.messages import pattern_of, tells, text_of

SAVED_SOURCES = ROOT / "tests" / "sources"
"""Folders and files that `datasets` wrote; the README there says how."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))


def picture(k: int, kind: str = "PNG") -> bytes:
    image = Image.new("RGB", (24, 16), (40 * k % 256, 90, 200))
    image.paste((250, 250, 0), (k, k, k + 6, k + 6))
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def packed(k: int, kind: str = "PNG") -> str:
    return base64.b64encode(picture(k, kind)).decode()


def name_of(content: bytes, suffix: str = ".png") -> str:
    return hashlib.sha256(content).hexdigest()[:16] + suffix


ROWS = [
    {
        "question_id": str(i),
        "question": f"Is thing {i} there?",
        "answer": ("no", "yes")[i % 2],
        "category": "existence",
    }
    for i in range(6)
]
"""The questions of every source here; two are asked about each of three pictures."""
EXPECTED = [
    {
        "id": str(i),
        "prompt": f"Is thing {i} there?",
        "target": ("no", "yes")[i % 2],
        "image": name_of(picture(i // 2)),
        "type": "existence",
    }
    for i in range(6)
]


def items_of(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def codes_of(folder: Path) -> set[str]:
    (checked,) = lint_benchmarks(str(folder))
    assert checked.readable
    return {code_of(finding.name).code for finding in checked.findings}


# --- one benchmark, many sources ---


def as_csv(folder: Path) -> str:
    """Pictures as files beside a table."""
    for k in range(3):
        (folder / f"{k}.png").write_bytes(picture(k))
    pd.DataFrame([{**row, "image": f"{i // 2}.png"} for i, row in enumerate(ROWS)]).to_csv(
        folder / "q.csv", index=False
    )
    return str(folder / "q.csv")


def as_tsv(folder: Path) -> str:
    """VLMEvalKit's layout: every field quoted, base64, and the index of another row in place of a
    picture seen before.
    """
    rows = [
        {
            "index": row["question_id"],
            "image": packed(i // 2) if i % 2 == 0 else str(i - 1),
            "question": row["question"],
            "answer": row["answer"].title(),
            "category": "existence",
        }
        for i, row in enumerate(ROWS)
    ]
    pd.DataFrame(rows).to_csv(folder / "LMU.tsv", sep="\t", index=False, quoting=csv.QUOTE_ALL)
    return str(folder / "LMU.tsv")


def as_json_lines(folder: Path) -> str:
    rows = [
        {**row, "image": f"data:image/png;base64,{packed(i // 2)}"} for i, row in enumerate(ROWS)
    ]
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / "q.jsonl")


def as_json_array(folder: Path) -> str:
    (folder / "q.json").write_text(
        json.dumps([{**row, "image": packed(i // 2)} for i, row in enumerate(ROWS)], indent=1)
    )
    return str(folder / "q.json")


def table(struct: bool, rows: range) -> pa.Table:
    pictures = [
        {"bytes": picture(i // 2), "path": "image.png"} if struct else picture(i // 2) for i in rows
    ]
    kind = (
        pa.struct([("bytes", pa.binary()), ("path", pa.string())]) if struct else pa.large_binary()
    )
    return pa.Table.from_pylist([ROWS[i] for i in rows]).append_column(
        "image", pa.array(pictures, kind)
    )


def as_structs(folder: Path) -> str:
    pq.write_table(table(True, range(6)), folder / "q.parquet", row_group_size=4)
    return str(folder / "q.parquet")


def as_bytes(folder: Path) -> str:
    pq.write_table(table(False, range(6)), folder / "q.parquet")
    return str(folder / "q.parquet")


def as_pandas(folder: Path) -> str:
    """With the index that pandas writes as a column, and answers as a category."""
    frame = pd.DataFrame(
        [{**row, "image": picture(i // 2)} for i, row in enumerate(ROWS)], index=list("abcdef")
    )
    frame["answer"] = frame["answer"].astype("category")
    frame.to_parquet(folder / "q.parquet")
    return str(folder / "q.parquet")


def as_pattern(folder: Path) -> str:
    for k, rows in enumerate((range(3), range(3, 6))):
        pq.write_table(table(True, rows), folder / f"test-0000{k}-of-00002.parquet")
    return str(folder / "test-*.parquet")


def as_shards(folder: Path) -> str:
    (folder / "data").mkdir()
    as_pattern(folder / "data")
    return str(folder)


def as_arrow_file(folder: Path) -> str:
    """The Arrow file format, which other libraries than `datasets` write."""
    full_table = table(True, range(6))
    with (
        pa.OSFile(str(folder / "q.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, full_table.schema) as writer,
    ):
        writer.write_table(full_table)
    return str(folder / "q.arrow")


def as_arrow_stream(folder: Path) -> str:
    full_table = table(True, range(6))
    with (
        pa.OSFile(str(folder / "q.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, full_table.schema) as writer,
    ):
        writer.write_table(full_table, max_chunksize=4)
    return str(folder / "q.arrow")


def as_imagefolder(folder: Path, kind: str) -> str:
    """Pictures of `datasets`' own layout, in two forms of metadata."""
    (folder / "test").mkdir()
    for k in range(3):
        (folder / "test" / f"{k}.png").write_bytes(picture(k))
    rows = [{"file_name": f"{i // 2}.png", **row} for i, row in enumerate(ROWS)]
    if kind == "csv":
        pd.DataFrame(rows).to_csv(folder / "test" / "metadata.csv", index=False)
    else:
        (folder / "test" / "metadata.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
    return str(folder)


SOURCES: dict[str, tuple[Callable[[Path], str], bool]] = {
    "csv": (as_csv, False),
    "tsv": (as_tsv, True),
    "json lines": (as_json_lines, True),
    "json array": (as_json_array, True),
    "parquet of structs": (as_structs, True),
    "parquet of bytes": (as_bytes, True),
    "parquet by pandas": (as_pandas, True),
    "parquet in a pattern": (as_pattern, True),
    "parquet in a folder": (as_shards, True),
    "arrow file": (as_arrow_file, True),
    "arrow stream": (as_arrow_stream, True),
    "imagefolder csv": (lambda folder: as_imagefolder(folder, "csv"), False),
    "imagefolder jsonl": (lambda folder: as_imagefolder(folder, "jsonl"), False),
    "save_to_disk": (lambda _: str(SAVED_SOURCES / "saved"), True),
    "to_parquet": (lambda _: str(SAVED_SOURCES / "to_parquet.parquet"), True),
}
"""How each source is written, and whether its pictures have no name of their own."""


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_benchmark(run: Run, tmp_path: Path, kind: str) -> None:
    write, nameless = SOURCES[kind]
    (tmp_path / "source").mkdir()
    source = write(tmp_path / "source")
    card_options = ["--licence", "MIT", "--citation", "A 2026", "--summary", "Things."]
    status, output, err = run("new", tmp_path / "a" / "things", "--from", source, *card_options)
    assert (status, err) == (0, "")
    assert "6 yes_no items, 3 pictures" in output
    folder = tmp_path / "a" / "things"
    expected = (
        EXPECTED
        if nameless
        else [{**row, "image": f"{i // 2}.png"} for i, row in enumerate(EXPECTED)]
    )
    assert items_of(folder) == expected
    assert sorted(path.read_bytes() for path in (folder / "images").iterdir()) == sorted(
        map(picture, range(3))
    )
    assert codes_of(folder) <= {"T102", "C104"}, "a sound source passes the check"
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"things"}, (
        "nothing is left beside it"
    )
    assert oct(folder.stat().st_mode)[-3:] == oct((tmp_path / "a").stat().st_mode)[-3:]
    run("new", tmp_path / "b" / "things", "--from", source, *card_options)
    assert files_of(folder) == files_of(tmp_path / "b" / "things"), (
        "the same source gives the same bytes"
    )
    items = hqm.load(str(folder)).original.items
    assert [(item.target, item.type) for item in items] == [
        (row["answer"], "existence") for row in ROWS
    ]


def test_splits_become_parts(run: Run, tmp_path: Path) -> None:
    status, output, _ = run("new", tmp_path / "both", "--from", SAVED_SOURCES / "saved_dict")
    assert status == 0
    assert tells(output, "new.splits", splits="test, validation")
    parts = [row["part"] for row in items_of(tmp_path / "both")]
    assert parts == ["test"] * 6 + ["validation"] * 4
    assert (
        run(
            "new", tmp_path / "one", "--from", SAVED_SOURCES / "saved_dict", "--split", "validation"
        )[0]
        == 0
    )
    assert [row["id"] for row in items_of(tmp_path / "one")] == ["100", "101", "102", "103"]
    assert all("part" not in row for row in items_of(tmp_path / "one"))
    status, _, err = run(
        "new", tmp_path / "none", "--from", SAVED_SOURCES / "saved_dict", "--split", "train"
    )
    assert status == 2
    assert tells(err, "split.unknown", split="train", splits="test, validation")
    assert not (tmp_path / "none").exists()


def test_splits_that_share_ids_keep_them_apart(run: Run, tmp_path: Path) -> None:
    shutil.copytree(SAVED_SOURCES / "saved_dict", tmp_path / "source")
    shutil.rmtree(tmp_path / "source" / "validation")
    shutil.copytree(tmp_path / "source" / "test", tmp_path / "source" / "validation")
    assert run("new", tmp_path / "made", "--from", tmp_path / "source")[0] == 0
    assert [row["id"] for row in items_of(tmp_path / "made")][5:7] == ["test-5", "validation-0"]


@pytest.mark.parametrize(
    ("answers", "columns", "n_items"),
    [
        ("answer", [], 2),
        ("response", [], 2),
        ("model_output", [], 2),
        # who names a column has a table of questions, whatever else stands in it
        ("answer", ["--columns", "answer=target"], 6),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_question_that_several_models_answered_is_one_item(
    run: Run, tmp_path: Path, kind: str, answers: str, columns: list[str], n_items: int
) -> None:
    rows = [
        {"model": model, "question": f"Is there a {thing}?", answers: "There is.", "target": key}
        for thing, key in (("dog", "yes"), ("cow", "no"))
        for model in ("a", "b", "c")
    ]
    table, source = pd.DataFrame(rows), tmp_path / f"answers.{kind}"
    if kind == "csv":
        table.to_csv(source, index=False)
    else:
        table.to_json(source, orient="records", lines=True)
    assert run("new", tmp_path / "made", "--from", source, *columns)[::2] == (0, "")
    items = items_of(tmp_path / "made")
    assert len(items) == n_items
    assert {item["prompt"]: item["target"] for item in items} == {
        "Is there a dog?": "yes",
        "Is there a cow?": "no",
    }


def test_who_wrote_a_question_is_no_respondent(run: Run, tmp_path: Path) -> None:
    rows = "question,answer,model\nIs there a dog?,yes,a\nIs there a cow?,no,b\n"
    (tmp_path / "questions.csv").write_text(rows)
    assert run("new", tmp_path / "made", "--from", tmp_path / "questions.csv")[0] == 0
    assert [item["target"] for item in items_of(tmp_path / "made")] == ["yes", "no"]


@pytest.mark.data
def test_the_parquet_of_a_real_lmms_eval_run(run: Run, tmp_path: Path, data: Path) -> None:
    source = data / "logs" / "lmms_eval" / "pope_tiny.parquet"
    assert run("new", tmp_path / "tiny", "--from", source)[0] == 0
    rows, items = pq.read_table(source).to_pylist(), items_of(tmp_path / "tiny")
    assert [(i["id"], i["prompt"], i["target"], i["part"]) for i in items] == [
        (r["id"], r["question"], r["answer"].lower(), r["category"]) for r in rows
    ]
    for item, row in zip(items, rows, strict=True):
        assert (tmp_path / "tiny" / "images" / item["image"]).read_bytes() == row["image"]["bytes"]
    assert not codes_of(tmp_path / "tiny") & {"S107", "I101", "I102", "I103", "D101"}


@pytest.mark.data
def test_the_questions_of_a_real_release_without_their_pictures(
    run: Run, tmp_path: Path, data: Path
) -> None:
    source = data / "logs" / "llava" / "llava_pope_test.jsonl"
    status, _, err = run("new", tmp_path / "llava", "--from", source)
    assert status == 1
    assert tells(
        err,
        "picture.row-unusable",
        row=1,
        column="image",
        picture="COCO_val2014_000000310196.jpg",
    )
    # LLaVA's file has no answers, and numbers its questions from 1 in every part
    ids = ["--columns", "id=", "--columns", "image="]
    status, output, err = run("new", tmp_path / "llava", "--from", source, *ids)
    assert (status, err) == (0, "")
    assert "8910 caption items\n" in output, "no word of pictures where there are none"
    assert {row["part"] for row in items_of(tmp_path / "llava")} == {
        "adversarial",
        "popular",
        "random",
    }


# --- VLMEvalKit's layout ---


def lmu(path: Path, rows: list[dict[str, Any]]) -> Path:
    pd.DataFrame(rows).to_csv(path, sep="\t", index=False, quoting=csv.QUOTE_ALL)
    return path


def test_columns_of_options_and_references_through_rows(run: Run, tmp_path: Path) -> None:
    rows = [
        {
            "index": 10,
            "image": packed(0, "JPEG"),
            "question": "What is it?",
            "A": "a dog",
            "B": "a cat",
            "C": "",
            "D": "",
            "answer": "B",
            "category": "coarse",
            "l2-category": "x",
            "split": "dev",
            "hint": "",
        },
        {
            "index": 11,
            "image": "10",
            "question": "Which colour?",
            "A": "red",
            "B": "blue",
            "C": "green",
            "D": "",
            "answer": "C",
            "category": "fine",
            "l2-category": "x",
            "split": "dev",
            "hint": "",
        },
        {
            "index": 12,
            "image": "11",
            "question": "How many?",
            "A": 1.0,
            "B": 2,
            "C": 3,
            "D": 4,
            "answer": "a",
            "category": "fine",
            "l2-category": "x",
            "split": "dev",
            "hint": "",
        },
        {
            "index": 13,
            "image": f"['{packed(1)}']",
            "question": "And here?",
            "A": "x",
            "B": "y",
            "C": "",
            "D": "",
            "answer": "A",
            "category": "fine",
            "l2-category": "x",
            "split": "dev",
            "hint": "",
        },
    ]
    status, output, err = run(
        "new", tmp_path / "bench", "--from", lmu(tmp_path / "Bench.tsv", rows)
    )
    assert (status, err) == (0, "")
    assert tells(output, "new.options", columns="A, B, C, D")
    assert "not read: category, l2-category, hint" in output
    items = items_of(tmp_path / "bench")
    first = name_of(picture(0, "JPEG"), ".jpg")
    assert [row["image"] for row in items] == [first, first, first, name_of(picture(1))]
    assert [row["options"] for row in items[:3]] == [
        ["a dog", "a cat"],
        ["red", "blue", "green"],
        ["1.0", "2", "3", "4"],
    ]
    assert [item.target for item in hqm.load(str(tmp_path / "bench")).original.items] == [
        "B",
        "C",
        "A",
        "A",
    ]
    assert {row["part"] for row in items} == {"dev"}
    assert not codes_of(tmp_path / "bench") & {"S107", "I101", "I102", "I103"}


def test_a_picture_of_many_megabytes_in_a_cell(run: Run, tmp_path: Path) -> None:
    noise = io.BytesIO()
    Image.effect_noise((900, 900), 90).save(noise, "PNG")
    rows = [
        {
            "index": 1,
            "image": base64.b64encode(noise.getvalue()).decode(),
            "question": "Is it?",
            "answer": "Yes",
        }
    ]
    assert len(rows[0]["image"]) > 131_072, "more than Python's own limit of a field"
    assert run("new", tmp_path / "big", "--from", lmu(tmp_path / "big.tsv", rows))[0] == 0
    (image_path,) = (tmp_path / "big" / "images").iterdir()
    assert image_path.read_bytes() == noise.getvalue()


# --- answers, options, columns ---


def json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ANSWERS: dict[str, tuple[dict[str, Any], list[str], str, Any]] = {
    "true": ({"answer": True}, [], "yes_no", "yes"),
    "with a full stop": ({"answer": "No."}, [], "yes_no", "no"),
    "1 where it is said": ({"answer": "1"}, ["--task", "yes_no"], "yes_no", "yes"),
    "a word": ({"answer": "red"}, [], "vqa", "red"),
    "several words": ({"answer": ["red", "crimson"]}, [], "vqa", ["red", "crimson"]),
    "none": ({}, [], "caption", None),
    "a list of options": ({"answer": "blue", "options": ["red", "blue"]}, [], "choice", "B"),
    "options in a text": ({"answer": "blue", "options": "red | blue"}, [], "choice", "B"),
    "options as Python writes them": (
        {"answer": "B", "options": "['red', 'blue']"},
        [],
        "choice",
        "B",
    ),
    "options as MMMU has them": (
        {"answer": "B", "options": '["it\'s red", "blue"]'},
        [],
        "choice",
        "B",
    ),
    "a place counted from 0": ({"answer": 0, "choices": ["red", "blue"]}, [], "choice", "A"),
    "a number that is an option": ({"answer": 2, "choices": ["0", "1", "2"]}, [], "choice", "C"),
    "texts and labels": (
        {"answer": "2", "choices": {"text": ["red", "blue"], "label": ["1", "2"]}},
        [],
        "choice",
        "B",
    ),
    "a letter in brackets": ({"answer": "(b)", "options": ["red", "blue"]}, [], "choice", "B"),
    "other names": (
        {"gt": "no", "Frage, kurz": "Is it?"},
        ["--columns", "question=Frage, kurz,answer=gt"],
        "yes_no",
        "no",
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_in_the_ways_they_are_written(run: Run, tmp_path: Path, case: str) -> None:
    fields, options, task, target = ANSWERS[case]
    source = json_lines(tmp_path / "q.jsonl", [{"question": "Is it?", **fields}])
    status, _, err = run("new", tmp_path / "made", "--from", source, *options)
    assert (status, err) == (0, "")
    assert tomllib.loads((tmp_path / "made" / "card.toml").read_text())["task"] == task
    (item,) = hqm.load(str(tmp_path / "made")).original.items
    assert item.target == target
    assert item.id == "q0001"


def test_pictures_from_a_zip_and_from_addresses(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as archive:
        archive.writestr("val/a.png", picture(1))
        archive.writestr("val/copy.png", picture(1))
    web = "https://example.org/b.png"
    rows = [
        {"question": f"Is it {i}?", "answer": "yes", "image": name}
        for i, name in enumerate(("a.png", "copy.png", web, ""))
    ]
    source = json_lines(tmp_path / "q.jsonl", rows)
    status, output, err = run(
        "new", tmp_path / "made", "--from", source, "--images", tmp_path / "pictures.zip"
    )
    assert (status, err) == (0, "")
    assert [row.get("image") for row in items_of(tmp_path / "made")] == [
        "a.png",
        "a.png",
        web,
        None,
    ]
    assert [path.name for path in (tmp_path / "made" / "images").iterdir()] == ["a.png"], (
        "one picture is one file"
    )
    assert "1 items have no picture" in output
    assert "1 pictures are web addresses" in output
    (checked,) = lint_benchmarks(str(tmp_path / "made"))
    assert "image-missing" not in {finding.name for finding in checked.findings}
    assert tells(
        next(
            finding.sentence for finding in checked.findings if finding.name == "images-not-checked"
        ),
        "images.on-the-web",
        there=1,
        pictures=2,
    )


def test_a_path_and_a_picture_in_two_columns(run: Run, tmp_path: Path) -> None:
    """MathVista: `image` is a path in somebody's folder, `decoded_image` the picture."""
    full_table = pa.table(
        {
            "question": ["How many?"],
            "answer": ["3"],
            "image": ["images/1.jpg"],
            "decoded_image": pa.array(
                [{"bytes": picture(0), "path": None}],
                pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
            ),
        }
    )
    pq.write_table(full_table, tmp_path / "q.parquet")
    status, output, _ = run("new", tmp_path / "made", "--from", tmp_path / "q.parquet")
    assert status == 0
    assert "image from decoded_image" in output
    assert "not read: image" in output


def test_what_a_dataset_says_of_itself_comes_into_the_card(run: Run, tmp_path: Path) -> None:
    shutil.copytree(SAVED_SOURCES / "saved", tmp_path / "source")
    path = tmp_path / "source" / "dataset_info.json"
    path.write_text(
        json.dumps({**json.loads(path.read_text()), "license": "MIT", "citation": "B 2025"})
    )
    run("new", tmp_path / "made", "--from", tmp_path / "source", "--citation", "A 2026")
    card = tomllib.loads((tmp_path / "made" / "card.toml").read_text())
    assert (card["licence"], card["citation"]) == ("MIT", "A 2026")


def test_the_folder_that_one_stands_in(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert run("new", ".", "--from", SAVED_SOURCES / "saved")[0] == 0
    assert len(items_of(Path())) == 6
    assert Path.cwd().samefile(tmp_path / "here"), "the folder is the same one"


# --- the hub ---


README = """---
license: mit
configs:
- config_name: default
  data_files:
  - split: test
    path: data/test-*
- config_name: Full
  data_files:
  - split: random
    path: Full/random-*
  - split: popular
    path: Full/popular-*
---
# A data set
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A dataset as the hub lays it out, with files that nobody asked for."""
    import huggingface_hub.constants

    shards = []
    for rows in (range(3), range(3, 6)):
        buffer = io.BytesIO()
        pq.write_table(table(True, rows), buffer)
        shards.append(buffer.getvalue())
    files = {
        "README.md": README.encode(),
        "data/test-00000-of-00002.parquet": shards[0],
        "data/test-00001-of-00002.parquet": shards[1],
        "Full/random-00000-of-00001.parquet": shards[0],
        "Full/popular-00000-of-00001.parquet": shards[1],
        "weights.bin": b"x" * 1000,
    }
    server = HubServer(
        files, {"default/train/0000.parquet": (SAVED_SOURCES / "to_parquet.parquet").read_bytes()}
    )
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    # the library reads the variable when it is first imported
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", server.url)
    template = f"{server.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield server
    server.stop()


def test_a_dataset_of_the_hub(
    run: Run, tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    name = "hf://datasets/owner/name"
    assert run("new", tmp_path / "plain", "--from", name)[0] == 0
    assert items_of(tmp_path / "plain") == EXPECTED
    assert not any("weights" in path or "Full" in path for path in hub.asked), (
        "only what is read is fetched"
    )
    assert run("new", tmp_path / "full", "--from", f"{name}/Full@main")[0] == 0
    assert [row["part"] for row in items_of(tmp_path / "full")] == ["random"] * 3 + ["popular"] * 3
    assert run("new", tmp_path / "split", "--from", f"{name}/Full#popular")[0] == 0
    assert [row["id"] for row in items_of(tmp_path / "split")] == ["3", "4", "5"]
    assert (
        run("new", tmp_path / "file", "--from", f"{name}/Full/random-00000-of-00001.parquet")[0]
        == 0
    )
    assert [row["id"] for row in items_of(tmp_path / "file")] == ["0", "1", "2"]
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    hub.asked.clear()
    assert run("new", tmp_path / "offline", "--from", name)[0] == 0
    assert hub.asked == [], "what was fetched is used without a network"
    assert files_of(tmp_path / "offline" / "images") == files_of(tmp_path / "plain" / "images")


def test_the_hubs_own_parquet_where_a_dataset_has_no_rows(
    run: Run, tmp_path: Path, hub: HubServer
) -> None:
    hub.files["main"] = {"README.md": b"# A script\n", "name.py": b"raise SystemExit"}
    assert run("new", tmp_path / "made", "--from", "hf://datasets/owner/name")[0] == 0
    assert items_of(tmp_path / "made") == EXPECTED


@pytest.mark.parametrize(
    ("name", "status", "sentence"),
    [
        ("hf://datasets/owner/none", 1, text_of("hub.no-dataset")),
        ("hf://datasets/owner/name@v9", 1, text_of("hub.no-revision")),
        (
            "hf://datasets/owner/name#train",
            2,
            text_of("split.unknown", split="train", splits="test"),
        ),
        ("hf://datasets/owner/name/Half", 1, "it has no configuration 'Half'"),
        ("hf://datasets/owner", 2, text_of("hub.no-name")),
        ("hf://datasets/../..", 2, text_of("hub.no-name")),
        ("https://example.org/q.csv", 2, text_of("hub.only-datasets")),
    ],
)
def test_a_dataset_that_is_not_there(
    run: Run, tmp_path: Path, hub: HubServer, name: str, status: int, sentence: str
) -> None:
    got, _, err = run("new", tmp_path / "made", "--from", name)
    (message,) = [line for line in err.splitlines() if line.startswith("hqm: ")]
    assert (got, sentence in message) == (status, True), err
    assert not (tmp_path / "made").exists()


def test_a_hub_that_does_not_answer(run: Run, tmp_path: Path, hub: HubServer) -> None:
    hub.stop()
    status, _, err = run("new", tmp_path / "made", "--from", "hf://datasets/owner/name")
    assert (status, "the dataset cannot be fetched" in err, "Traceback" in err) == (
        1,
        True,
        False,
    ), err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "client", ["httpx", "httpx2", "httpcore", "requests", "urllib3", "aiohttp"]
)
def test_what_a_client_of_the_web_raises_is_a_sentence(
    run: Run, tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    import huggingface_hub

    cut = type("ProtocolError", (Exception,), {"__module__": f"{client}.exceptions"})

    def fail(*_: object, **__: object) -> None:
        raise cut("the line was cut")

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", fail)
    status, _, err = run("new", tmp_path / "made", "--from", "hf://datasets/owner/name")
    assert (status, "cannot be fetched: the line was cut" in err) == (1, True), err


# --- rows of which no item can be made ---


def faulty(path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(10)
    ]
    for i in (2, 5, 6, 8):
        rows[i]["answer"] = ""
    rows[3]["question"] = ""
    return json_lines(path, rows)


def test_all_faulty_rows_are_named_at_once_with_their_numbers(run: Run, tmp_path: Path) -> None:
    status, _, err = run("new", tmp_path / "b", "--from", faulty(tmp_path / "q.jsonl"))
    assert status == 1
    assert tells(err, "new.faults", faults=5, rows=10)
    assert all(f"row {i}" in err for i in (3, 4, 6, 7))
    assert "4: " in err
    assert "--keep-going" in err
    assert not (tmp_path / "b").exists()


def test_faulty_rows_are_left_out_and_listed(run: Run, tmp_path: Path) -> None:
    source = faulty(tmp_path / "q.jsonl")
    status, output, err = run("new", tmp_path / "b", "--from", source, "--keep-going")
    assert status == 0, err
    assert "left_out.csv" in output
    assert [item.prompt for item in hqm.load(tmp_path / "b").original.items] == [
        f"What is {i} + {i}?" for i in (0, 1, 4, 7, 9)
    ]
    assert len((tmp_path / "b" / "left_out.csv").read_text().splitlines()) == 6


def test_equal_questions_about_pictures_without_names_do_not_contradict(
    run: Run, tmp_path: Path
) -> None:
    rows = [{"question": "Is it in the image?", "answer": ("yes", "no")[i % 2]} for i in range(4)]
    rows += [{"question": "Is 2 even?", "answer": answer} for answer in ("yes", "no")]
    assert run("new", tmp_path / "b", "--from", json_lines(tmp_path / "q.jsonl", rows))[0] == 0
    benchmark = hqm.load(tmp_path / "b")
    listed = [
        f for f in findings_of(benchmark, benchmark.original) if f.name == "contradictory-label"
    ]
    assert [finding.count for finding in listed] == [1]


def test_equal_options_are_a_finding_and_no_refusal(run: Run, tmp_path: Path) -> None:
    rows = [
        {"question": "Which one?", "options": ["red", "red", "blue"], "answer": "C"},
        {"question": "Which other?", "options": ["red", "green"], "answer": "A"},
    ]
    assert run("new", tmp_path / "b", "--from", json_lines(tmp_path / "q.jsonl", rows))[0] == 0
    benchmark = hqm.load(tmp_path / "b")
    (listed,) = (f for f in findings_of(benchmark, benchmark.original) if f.name == "equal-options")
    assert listed.count == 1


@pytest.mark.parametrize(
    ("names", "splits"),
    [
        ("a.csv", [""]),
        ("a.jsonl b.jsonl", None),
        ("train.csv test.csv", ["test", "train"]),
        ("part-00000-of-00002.parquet part-00001-of-00002.parquet", ["", ""]),
    ],
)
def test_shards_are_one_table_and_files_without_a_split_may_be_several(
    names: str, splits: list[str] | None, tmp_path: Path
) -> None:
    tree = Tree("x", tuple(sorted(names.split())), lambda _: tmp_path)
    if splits is not None:
        assert [shard.split for shard in shards_of(tree)] == splits
        return
    with pytest.raises(DataError, match=pattern_of("new.several-files", n=2)):
        shards_of(tree)
