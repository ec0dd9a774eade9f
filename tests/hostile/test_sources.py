"""Sources of a new benchmark that are broken, or made to do harm: one sentence with file, row,
column and remedy, and no folder.
"""

import base64
import bz2
import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import hqm.files.records
from hqm.benchmark.new_items import read_questions
from hqm.benchmark.new_sources import GatheredPictures, open_source
from hqm.errors import HQMError
from hqm.files import parquet as parquet_files
from hqm.files.records import open_table
from hqm.imports.detect import read_logs
from tests.conftest import NIGHTLY, ROOT, SPEED, Run, claims
from tests.messages import tells, text_of
from tests.test_new import lmu, picture

SOURCES = ROOT / "tests" / "sources"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HQM_CACHE", str(tmp_path / "cache"))


def refused(run: Run, tmp_path: Path, source: Path | str, *options: object) -> str:
    """The one sentence of a refusal, which leaves nothing behind."""
    before = files_in(tmp_path)
    status, output, err = run("new", tmp_path / "new" / "made", "--from", source, *options)
    assert (status, output) == (1, ""), err
    assert err.startswith("hqm: ")
    assert err.count("\n") == 1, err
    assert len(err) < 1_500
    assert files_in(tmp_path) == before, "nothing is left behind"
    return err


def files_in(folder: Path) -> set[Path]:
    """All that lies there but the cache."""
    return {path for path in folder.rglob("*") if not path.is_relative_to(folder / "cache")}


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


GOOD = encoded(picture(1))
SOUND = {"index": "1", "image": GOOD, "question": "Is it red?", "answer": "Yes"}

# --- VLMEvalKit's TSV ---

ROWS: dict[str, tuple[dict[str, Any], str, str]] = {
    "base64 with a stroke too many": (
        {"image": GOOD[:-1] + "!" * 3},
        "column 'image'",
        "it is no base64",
    ),
    "base64 that breaks off": ({"image": GOOD[:-3]}, "column 'image'", "it is no base64"),
    "base64 in other letters": ({"image": "ж" * 200}, "column 'image'", "it is no base64"),
    "base64 of a text": (
        {"image": encoded(b"This is no picture. " * 9)},
        "column 'image'",
        "cannot be opened",
    ),
    "base64 of half a picture": (
        {"image": encoded(picture(1)[:70])},
        "column 'image'",
        "cannot be opened",
    ),
    "base64 of a page": ({"image": encoded(b"<html>" * 20)}, "column 'image'", "cannot be opened"),
    "a picture of 3,600 megapixels": (
        {"image": encoded(claims(60_000, 60_000))},
        "column 'image'",
        "too many pixels",
    ),
    "a data URL without base64": (
        {"image": "data:image/svg+xml,<svg/>"},
        "column 'image'",
        "holds no base64",
    ),
    "an index of no row": ({"image": "99"}, "column 'image'", "'99' is the index of no row"),
    "a name for a picture": (
        {"image": "dog.png"},
        "column 'image'",
        "'dog.png' is the index of no row",
    ),
    "its own index": ({"image": "2"}, "column 'image'", "goes in a circle"),
    "an index of a row without a picture": (
        {"image": "3"},
        "column 'image'",
        "the picture of row '3', which has none",
    ),
    "two pictures": (
        {"image": f"['{GOOD}', '{GOOD}']"},
        "column 'image'",
        "the cell has 2 pictures",
    ),
    "a list that is none": (
        {"image": f"['{GOOD}', ]]"},
        "column 'image'",
        "the list cannot be read",
    ),
    "a call in a list": (
        {"image": "[__import__('os').system('true')]"},
        "column 'image'",
        "the list cannot be read",
    ),
    "no question": ({"question": " "}, "column 'question'", "the question is empty"),
    "no answer": ({"answer": ""}, "column 'answer'", "there is no answer"),
    "an answer of neither kind": ({"answer": "maybe"}, "column 'answer'", "the answer is 'maybe'"),
    "an id twice": ({"index": "1"}, "column 'index'", "the id '1' stands twice; the first is in"),
    "NUL in a question": ({"question": "Is it \0?"}, "column 'question'", "the character NUL"),
    "half a character": (
        {"question": "Is it \udce9?"},
        "column 'question'",
        "the byte 0xe9, which is not UTF-8",
    ),
    "a question of two million characters": (
        {"question": "why " * 500_000},
        "column 'question'",
        "the cell has 1,999,999",
    ),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_wrong_row_of_a_tsv(run: Run, tmp_path: Path, case: str) -> None:
    changes, column, sentence = ROWS[case]
    rows = [
        SOUND,
        {**SOUND, "index": "2", **changes},
        {**SOUND, "index": "3", "image": "", "answer": "No"},
    ]
    path = tmp_path / "LMU.tsv"
    lines = ["\t".join(f'"{name}"' for name in SOUND)]
    lines += [
        "\t".join('"' + str(row[name]).replace('"', '""') + '"' for name in SOUND) for row in rows
    ]
    path.write_bytes("\n".join([*lines, ""]).encode("utf-8", "surrogateescape"))
    refusal = refused(run, tmp_path, path)
    assert "LMU.tsv: row 2 (line 3), " in refusal
    assert column in refusal
    assert sentence in refusal


def test_two_rows_that_show_each_others_picture(run: Run, tmp_path: Path) -> None:
    rows = [SOUND, {**SOUND, "index": 2, "image": "3"}, {**SOUND, "index": 3, "image": "2"}]
    assert tells(
        refused(run, tmp_path, lmu(tmp_path / "LMU.tsv", rows)),
        "picture.circle",
        rows="3 -> 2 -> 3",
    )


CHOICE = {
    "index": "1",
    "image": GOOD,
    "question": "Which?",
    "A": "red",
    "B": "blue",
    "C": "",
    "answer": "A",
}
CHOICES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a letter without a column": (
        {"answer": "D"},
        "column 'answer'",
        "the answer is 'D', and the options end with B",
    ),
    "a letter of an empty option": (
        {"answer": "C"},
        "column 'answer'",
        "the answer is 'C', and the options end with B",
    ),
    "an answer that is no option": ({"answer": "green"}, "column 'answer'", "'green' is no option"),
    "a gap": ({"B": "", "C": "blue"}, "column 'B'", "there is an option C, and no option B"),
    "one option": ({"B": ""}, "columns A, B, C", "there is one option, 'red'"),
    "no options": ({"A": "", "B": ""}, "columns A, B, C", "there are no options"),
    "an option that is a letter": (
        {"A": "B", "B": "A"},
        "column 'answer'",
        "the answer 'A' is the option B and the letter of 'B'",
    ),
}


@pytest.mark.parametrize("case", CHOICES)
def test_a_wrong_choice(run: Run, tmp_path: Path, case: str) -> None:
    changes, column, sentence = CHOICES[case]
    path = lmu(tmp_path / "LMU.tsv", [CHOICE, {**CHOICE, "index": "2", **changes}])
    refusal = refused(run, tmp_path, path)
    assert "LMU.tsv: row 2 (line 3), " in refusal
    assert column in refusal
    assert sentence in refusal


# --- whole files ---

LINE = json.dumps({"question": "Is it?", "answer": "yes"})
FILES: dict[str, tuple[str, bytes, str]] = {
    "empty": ("q.csv", b"", "no column has the questions (there are none)"),
    "a heading alone": ("q.csv", b"question,answer\n", "it has no questions"),
    "no questions": (
        "q.tsv",
        b"colour\tanswer\nred\tyes\n",
        "no column has the questions (there are 'colour', 'answer')",
    ),
    "a column twice": (
        "q.csv",
        b"question,answer,answer\na,yes,no\n",
        "heading: the column 'answer' stands twice",
    ),
    "a row too short": (
        "q.csv",
        b"question,answer\na,yes\nb\n",
        "row 2 (line 3): the row does not have 2 fields",
    ),
    "a row too long": (
        "q.tsv",
        b"question\tanswer\na\tyes\tno\n",
        "row 1 (line 2): the row does not have 2 fields",
    ),
    "a quote that is not closed": (
        "q.csv",
        b'question,answer\na,yes\n"b,no\nc,yes\n',
        "row 2 (line 3): it is no CSV",
    ),
    "text behind a quote": (
        "q.tsv",
        b'question\tanswer\n"a" he said\tyes\n',
        "row 1 (line 2): it is no CSV",
    ),
    "Latin-1": (
        "q.csv",
        "question,answer\ncafé?,yes\n".encode("latin-1"),
        "row 1 (line 2), column 'question': it has the byte 0xe9",
    ),
    "a heading in Latin-1": (
        "q.csv",
        "question,réponse\na,yes\n".encode("latin-1"),
        "heading (line 1): it has the byte 0xe9",
    ),
    "NUL": (
        "q.csv",
        b"question,answer\n\0\0,yes\n",
        "row 1 (line 2), column 'question': it has the character NUL",
    ),
    "lines in Latin-1": (
        "q.jsonl",
        LINE.encode() + b'\n{"question": "caf\xe9"}\n',
        "byte 57 (0xe9) is not utf-8",
    ),
    "a broken line": (
        "q.jsonl",
        LINE.encode() + b'\n{"question": \n',
        ":3: it is not JSON",
    ),
    "a list among lines": (
        "q.jsonl",
        LINE.encode() + b"\n[1]\n",
        ":2: a record must be a JSON object, not list",
    ),
    "a key twice": (
        "q.jsonl",
        b'{"question": "a", "question": "b"}\n',
        ":1: the key 'question' stands twice",
    ),
    "5,000 digits": (
        "q.jsonl",
        b'{"question": ' + b"9" * 5000 + b"}\n",
        ":1: it cannot be read",
    ),
    "nested deeply": (
        "q.jsonl",
        b'{"question": ' + b"[" * 100_000 + b"}\n",
        ":1: it is nested too deeply",
    ),
    "a broken array": ("q.json", b'[{"question": "a"}, ', "it is not JSON"),
    "an array of texts": ("q.json", b'["a", "b"]', "a record must be a JSON object, not str"),
    "a question that is an object": (
        "q.jsonl",
        b'{"question": {"en": "a"}, "answer": "yes"}\n',
        "row 1, column 'question': the cell is an object",
    ),
    "an answer that is an object": (
        "q.jsonl",
        b'{"question": "a", "answer": {"a": 1}}\n',
        "column 'answer': the cell is an object",
    ),
    "a surrogate in JSON": (
        "q.jsonl",
        b'{"question": "a \\ud800", "answer": "yes"}\n',
        "column 'question': it has half of a character",
    ),
    "NUL in JSON": (
        "q.jsonl",
        b'{"question": "a \\u0000", "answer": "yes"}\n',
        "column 'question': it has the character NUL",
    ),
    "options that are a number": (
        "q.jsonl",
        b'{"question": "a", "answer": "A", "options": 5}\n',
        "column 'options': the options are 5",
    ),
    "options with null": (
        "q.jsonl",
        b'{"question": "a", "answer": "A", "options": ["x", null]}\n',
        "column 'options': an option is None",
    ),
    "40 options": (
        "q.jsonl",
        json.dumps(
            {"question": "a", "answer": "A", "options": [str(i) for i in range(40)]}
        ).encode(),
        "there are 40 options",
    ),
    "a type among others": (
        "q.csv",
        b"question,answer,category\na,yes,Count\nb,no,moon\n",
        "row 2 (line 3), column 'category': 'moon' is no hallucination type",
    ),
    "a picture outside": (
        "q.csv",
        b"question,answer,image\na,yes,../../../etc/passwd\n",
        "column 'image': '../../../etc/passwd' cannot be used",
    ),
    "a picture by its whole path": (
        "q.csv",
        b"question,answer,image\na,yes,/etc/passwd\n",
        "column 'image': '/etc/passwd' cannot be used",
    ),
    "a picture that is not there": (
        "q.csv",
        b"question,answer,image\na,yes,dog.png\n",
        "column 'image': 'dog.png' cannot be used: there is no such picture",
    ),
    "a picture that is the table": (
        "q.csv",
        b"question,answer,image\na,yes,q.csv\n",
        "column 'image': the picture cannot be opened",
    ),
    "a pickle": (
        "q.pkl",
        b"\x80\x04.",
        "files of the kind '.pkl' are not read. A pickle can run code",
    ),
    "a sheet": ("q.xlsx", b"PK", "it is no Excel sheet"),
    "no Parquet": (
        "q.parquet",
        b"PAR1 nothing PAR1",
        "q.parquet: it is no parquet file, or damaged",
    ),
    "no Arrow": (
        "q.arrow",
        b"\xff\xff\xff\xff\x10\0\0\0nothing",
        "q.arrow: it is no arrow file, or damaged",
    ),
    "an Arrow file by name": (
        "q.arrow",
        b"ARROW1\0\0nothing",
        "q.arrow: it is no arrow file, or damaged",
    ),
    "an empty Arrow file": ("q.arrow", b"", "q.arrow: it is no arrow file, or damaged"),
    "an empty Parquet file": ("q.parquet", b"", "q.parquet: it is no parquet file, or damaged"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_wrong_file(run: Run, tmp_path: Path, case: str) -> None:
    name, content, sentence = FILES[case]
    (tmp_path / name).write_bytes(content)
    refusal = refused(run, tmp_path, tmp_path / name)
    assert sentence in refusal
    assert name in refusal


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("nowhere.csv", [], "there is no such file"),
        ("*.parquet", [], text_of("source.no-match")),
        ("empty", [], text_of("source.no-rows")),
        ("pictures", [], text_of("source.only-pictures")),
        (
            "q.csv",
            ["--columns", "question=Frage"],
            text_of("column.missing", column="Frage", field="prompt"),
        ),
        ("a\0b", [], "there is no such file"),
    ],
)
def test_what_is_no_source(
    run: Run, tmp_path: Path, source: str, options: list[str], sentence: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(picture(1))
    (tmp_path / "q.csv").write_text("question,answer\na,yes\n")
    assert sentence in refused(run, tmp_path, f"{tmp_path}/{source}", *options)


@pytest.mark.parametrize(
    "options",
    [
        ["--columns", "colour=a"],
        ["--columns", "question"],
        ["--columns", "id=a,id=b"],
        ["--images", "none"],
    ],
)
def test_options_that_mean_nothing(run: Run, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "q.csv").write_text("question,answer\na,yes\n")
    status, _, err = run("new", tmp_path / "new" / "made", "--from", tmp_path / "q.csv", *options)
    assert (status, err.count("\n"), (tmp_path / "new").exists()) == (2, 1, False), err


def test_a_benchmark_is_no_source_of_one(run: Run, tmp_path: Path) -> None:
    run("new", tmp_path / "first")
    before = sorted(tmp_path.rglob("*"))
    status, _, err = run("new", tmp_path / "second", "--from", tmp_path / "first")
    assert (status, tells(err, "source.is-benchmark")) == (1, True)
    assert sorted(tmp_path.rglob("*")) == before


# --- Parquet and Arrow ---


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
CELLS: dict[str, tuple[Any, str]] = {
    "text in place of a picture": (pa.array([picture(1), b"no picture"]), "cannot be opened"),
    "no bytes": (pa.array([picture(1), b""]), "the picture is empty (0 bytes)"),
    "a struct of a text": (
        pa.array([{"bytes": picture(1)}, {"bytes": b"<html>"}], STRUCT),
        "cannot be opened",
    ),
    "a path of another machine": (
        pa.array([{"bytes": picture(1)}, {"path": "/home/somebody/a.png"}], STRUCT),
        "only names '/home/somebody/a.png'",
    ),
    "a path outside": (
        pa.array([{"bytes": picture(1)}, {"path": "../../a.png"}], STRUCT),
        "'../../a.png' cannot be used",
    ),
    "two pictures": (pa.array([[picture(1)], [picture(1), picture(2)]]), "the cell has 2 pictures"),
    "a bomb": (pa.array([picture(1), claims(60_000, 60_000)]), "too many pixels"),
}


@pytest.mark.parametrize("case", CELLS)
def test_a_wrong_picture_in_a_parquet_file(run: Run, tmp_path: Path, case: str) -> None:
    images, sentence = CELLS[case]
    path = parquet(
        tmp_path / "q.parquet", question=["Is it?", "Is that?"], answer=["yes", "no"], image=images
    )
    refusal = refused(run, tmp_path, path)
    assert "q.parquet: row 2, column 'image'" in refusal
    assert sentence in refusal


def test_a_cell_that_unfolds_to_a_gigabyte(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of some kilobytes; nothing of it is unpacked. To write one takes seconds: but at night
    a megabyte stands for what is large.
    """
    assert parquet_files._MAX_UNFOLDED_BYTES < 1 << 30
    size = 1 << 27 if NIGHTLY else 1 << 18
    if not NIGHTLY:
        monkeypatch.setattr(parquet_files, "_MAX_UNFOLDED_BYTES", 1 << 20)
    table = pa.table(
        {"question": ["Is it?"] * 8, "answer": ["yes"] * 8, "image": pa.array([bytes(size)] * 8)}
    )
    pq.write_table(table, tmp_path / "q.parquet", compression="zstd", use_dictionary=False)
    assert (tmp_path / "q.parquet").stat().st_size < 1 << 20
    assert "column 'image': it unfolds from" in refused(run, tmp_path, tmp_path / "q.parquet")


def test_a_class_label_without_a_name(run: Run, tmp_path: Path) -> None:
    metadata = {"info": {"features": {"answer": {"names": ["no", "yes"], "_type": "ClassLabel"}}}}
    table = pa.table({"question": ["Is it?", "Is that?"], "answer": [1, 7]})
    table = table.replace_schema_metadata({"huggingface": json.dumps(metadata)})
    pq.write_table(table, tmp_path / "q.parquet")
    refusal = refused(run, tmp_path, tmp_path / "q.parquet")
    assert tells(refusal, "label.no-name", row=2, column="answer", label=7, names=2)


def test_files_of_one_set_with_other_columns(run: Run, tmp_path: Path) -> None:
    parquet(tmp_path / "a-00000-of-00002.parquet", question=["Is it?"], answer=["yes"])
    parquet(tmp_path / "a-00001-of-00002.parquet", query=["Is it?"], answer=["yes"])
    refusal = refused(run, tmp_path, tmp_path / "a-*.parquet")
    assert tells(
        refusal, "source.other-columns", file="a-00001-of-00002.parquet", column="question"
    )


def change_state(folder: Path) -> None:
    (folder / "state.json").write_text('{"_data_files": [{"filename": "../../etc/passwd"}]}')


def cut_off(folder: Path) -> None:
    path = folder / "data-00001-of-00002.arrow"
    path.write_bytes(path.read_bytes()[:-700])


FOLDERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a state that names another file": (
        change_state,
        "'../../etc/passwd', which state.json names, is not there",
    ),
    "a state that is no JSON": (lambda f: (f / "state.json").write_text("{"), "it is not JSON"),
    "a state that is a list": (
        lambda f: (f / "state.json").write_text("[]"),
        "state.json has no list '_data_files'",
    ),
    "a file that is gone": (
        lambda f: (f / "data-00001-of-00002.arrow").unlink(),
        "is not there. Copy the whole folder",
    ),
    "a file that breaks off": (
        cut_off,
        "data-00001-of-00002.arrow: it is no arrow file, or damaged",
    ),
    "a split that is gone": (
        lambda f: (f / "dataset_dict.json").write_text('{"splits": ["test"]}'),
        "the split 'test' has no state.json",
    ),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_a_broken_folder_of_datasets(run: Run, tmp_path: Path, case: str) -> None:
    change, sentence = FOLDERS[case]
    folder = tmp_path / "saved"
    folder.mkdir()
    for path in (SOURCES / "saved").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    change(folder)
    assert sentence in refused(run, tmp_path, folder)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, *SPEED])
@given(offset=st.integers(0, 1775), byte=st.integers(0, 255))
def test_a_stream_with_a_changed_byte_is_read_or_refused(
    tmp_path: Path, offset: int, byte: int
) -> None:
    """Offsets that point anywhere must not be followed: in a process of its own this would be its
    end.
    """
    content = bytearray((SOURCES / "saved" / "data-00001-of-00002.arrow").read_bytes())
    content[offset] = byte
    (tmp_path / "q.arrow").write_bytes(bytes(content))
    (tmp_path / "images").mkdir(exist_ok=True)
    sentence, rows = "", 0
    try:
        rows = len(
            read_questions(
                open_source(str(tmp_path / "q.arrow")), {}, GatheredPictures(tmp_path / "images")
            ).rows
        )
    except HQMError as error:
        sentence = str(error)
    assert 1 <= rows <= 3 or "q.arrow" in sentence


# --- large things, and what is left behind ---


def test_a_quote_that_swallows_the_rest_of_a_large_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hqm.files.records, "MAX_ROW_CHARS", 100_000)
    (tmp_path / "q.csv").write_text('question,answer\na,yes\n"b,no\n' + "c,yes\n" * 50_000)
    refusal = refused(run, tmp_path, tmp_path / "q.csv")
    assert tells(refusal, "table.long-row", line=3)


def test_a_zip_bomb_in_place_of_pictures(run: Run, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", bytes(65 << 20))
    (tmp_path / "q.csv").write_text("question,answer,image\na,yes,a.png\n")
    refusal = refused(run, tmp_path, tmp_path / "q.csv", "--images", tmp_path / "p.zip")
    assert tells(
        refusal, "picture.row-too-large", row=1, line=2, column="image", picture="a.png", limit=64
    )


@pytest.mark.parametrize("kind", ["TGA", "ICO"])
def test_a_picture_of_no_allowed_format(run: Run, tmp_path: Path, kind: str) -> None:
    Image.new("RGB", (32, 32)).save(tmp_path / "a.img", kind)
    (tmp_path / "q.csv").write_text("question,answer,image\na,yes,a.img\n")
    refusal = refused(run, tmp_path, tmp_path / "q.csv")
    assert tells(refusal, "picture.no-format", column="image")


@pytest.mark.parametrize("kind", ["PPM"])
def test_a_picture_that_few_can_open(run: Run, tmp_path: Path, kind: str) -> None:
    Image.new("RGB", (32, 32)).save(tmp_path / "a.img", kind)
    (tmp_path / "q.csv").write_text("question,answer,image\na,yes,a.img\n")
    refusal = refused(run, tmp_path, tmp_path / "q.csv")
    assert tells(refusal, "picture.rare-kind", column="image", kind=kind)


def test_a_link_out_of_the_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "a.png").write_bytes(picture(1))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.png").symlink_to(tmp_path / "away" / "a.png")
    (tmp_path / "here" / "q.csv").write_text("question,answer,image\na,yes,a.png\n")
    assert tells(refused(run, tmp_path, tmp_path / "here" / "q.csv"), "picture.link-outside")


def test_a_table_compressed_by_gzip_is_read_and_no_other(run: Run, tmp_path: Path) -> None:
    table = b"question,answer\nIs a cat here?,yes\nIs a dog here?,no\n"
    (tmp_path / "q.csv.gz").write_bytes(gzip.compress(table))
    (tmp_path / "q.csv.bz2").write_bytes(bz2.compress(table))
    status, _, err = run("new", tmp_path / "made", "--from", tmp_path / "q.csv.gz")
    assert status == 0, err
    made = hqm.load(tmp_path / "made").original.items
    assert [(item.prompt, item.target) for item in made] == [
        ("Is a cat here?", "yes"),
        ("Is a dog here?", "no"),
    ]
    assert tells(refused(run, tmp_path, tmp_path / "q.csv.bz2"), "table.unread-kind", kind=".bz2")


def test_a_sheet_whose_entities_unfold_without_end_is_refused(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book, path = openpyxl.Workbook(), tmp_path / "answers.xlsx"
    book.active.append(["index", "prediction"])
    book.active.append([1, "Yes"])
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    unfolding = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise("abcdefghij"))
    head = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">{unfolding}]>'
    sheet = "xl/worksheets/sheet1.xml"
    members[sheet] = head + members[sheet].rpartition("?>")[2].replace("Yes", "&j;")
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    with pytest.raises(hqm.DataError, match="no Excel sheet"):
        hqm.read_records(path)


def test_a_disk_that_fills_up_leaves_nothing(tmp_path: Path) -> None:
    """The limit of a file's size, set in a process of its own, ends the writing of the second
    picture.
    """
    buffer = io.BytesIO()
    Image.effect_noise((400, 400), 90).save(buffer, "PNG")
    rows = [
        {**SOUND, "image": encoded(content), "index": str(i)}
        for i, content in enumerate((picture(1), buffer.getvalue()))
    ]
    source = lmu(tmp_path / "LMU.tsv", rows)
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000));"
        f"sys.argv = ['hqm', 'new', {str(tmp_path / 'made')!r}, '--from', {str(source)!r}];"
        "from hqm.cli import main; main()"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    completed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert completed.returncode == 1, completed.stderr
    assert "Traceback" not in completed.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"LMU.tsv", "cache"}


# --- one strict reader ---

OPEN = '"red\nq3,blue\nq4,red\n'
QUOTED: dict[str, tuple[str, str]] = {
    "a CSV": ("m.csv", f"item,answer\nq1,red\nq2,{OPEN}"),
    "a TSV": ("m.tsv", f"index\tprediction\n1\tred\n2\t{OPEN}".replace(",", "\t")),
}


@pytest.mark.parametrize("case", QUOTED)
def test_a_quote_that_is_open_in_the_last_column_swallows_no_row(tmp_path: Path, case: str) -> None:
    name, text = QUOTED[case]
    path = tmp_path / name
    path.write_text(text)
    for read in (hqm.read_records, lambda path: read_logs([path])):
        with pytest.raises(hqm.DataError, match="unexpected end of data") as error:
            read(path)
        assert error.value.location.endswith(f"{name}:3")
    path.write_text(text.replace('"', ""))
    assert len(hqm.read_records(path)) == 4


def test_the_end_of_a_prediction_file_with_an_open_quote_is_refused(
    run: Run, tmp_path: Path, data: Path
) -> None:
    content = (data / "logs" / "vlmevalkit" / "model_steady_POPE.tsv").read_text()
    lines = content.splitlines()
    path = tmp_path / "model_steady_POPE.tsv"
    path.write_text("\n".join([*lines[:3], lines[3].rstrip('"'), *lines[4:]]))
    assert path.read_text() != content.rstrip("\n")
    status, _, err = run("score", "shapes_yesno", "--answers", path)
    assert status == 1
    assert "model_steady_POPE.tsv:4" in err


def test_bytes_in_a_parquet_file_are_the_text_that_they_say(tmp_path: Path) -> None:
    """Neither the number of the row nor a picture: a prompt as the library wrote it."""
    rows = [{"question": b"Is it?", "target": b"red"}, {"question": "Is it ä?".encode()}]
    path = tmp_path / "q.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    records = hqm.read_records(path)
    assert [record["question"] for record in records] == ["Is it?", "Is it ä?"]
    assert [record["target"] for record in records] == ["red", None]
    table = open_table(path)
    assert table.pictures == ()
    assert [cells for _, cells in table.rows(["target"])] == [{"target": "red"}, {"target": None}]


@pytest.mark.parametrize(
    ("values", "location"),
    [
        ([b"red", b"gr\xfcn"], "q.parquet: row 2, column 'target'"),
        ([b"gr\xfcn"], "q.parquet: row 1, column 'target'"),
    ],
)
def test_bytes_that_are_neither_text_nor_a_picture_are_refused(
    tmp_path: Path, values: list[bytes], location: str
) -> None:
    path = parquet(tmp_path / "q.parquet", target=values)
    for read in (hqm.read_records, lambda path: list(open_table(path).rows(["target"]))):
        with pytest.raises(hqm.DataError, match="UTF-8") as error:
            read(path)
        assert error.value.location.endswith(location)


def test_a_column_of_pictures_stays_one_where_no_struct_says_so(tmp_path: Path) -> None:
    path = parquet(tmp_path / "q.parquet", question=[b"Is it?"], image=[picture(1)])
    assert open_table(path).pictures == ("image",)
    (record,) = hqm.read_records(path)
    assert record == {"question": "Is it?", "image": "0", "row": "0"}


def test_a_column_that_stands_twice_in_a_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["x", "x"]), path)
    with pytest.raises(hqm.DataError, match="stands twice"):
        hqm.read_records(path)
