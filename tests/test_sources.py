"""Cells of a source become pictures and items: what each kind of cell gives, and what is refused."""

import base64
import gzip
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet
import pytest
from PIL import Image

from hqm.benchmark.new_columns import parse_columns
from hqm.benchmark.new_items import Questions, read_questions
from hqm.benchmark.new_sources import (
    MAX_INDEX_CHARS,
    GatheredPictures,
    Name,
    RowFaults,
    SourceRow,
    is_packed,
    open_source,
)
from hqm.errors import DataError, UsageError
from hqm.files.images import open_images
from tests.conftest import Run
from tests.messages import pattern_of


def picture(shade: int = 0, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (3, 2), (shade, 0, 0)).save(buffer, kind)
    return buffer.getvalue()


PNG = picture()
PACKED = base64.b64encode(PNG).decode()


def named_by_content(content: bytes, suffix: str = ".png") -> str:
    return hashlib.sha256(content).hexdigest()[:16] + suffix


@pytest.fixture
def gathered(tmp_path: Path) -> GatheredPictures:
    return GatheredPictures(tmp_path / "out")


def row_in(folder: Path, location: str = "t.csv: row 1") -> SourceRow:
    return SourceRow(location, {}, "", folder)


# --- pictures ---


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ("data:image/png;base64,x", True),
        ("A" * MAX_INDEX_CHARS, False),
        ("A" * (MAX_INDEX_CHARS + 1), True),
        ("A" * 70 + ".png", False),
        ("/9j/" + "A" * 70 + ".x", True),
        ("a" * 70 + ".x", False),
        ("http://x.org/" + "A" * 70, False),
        ("A" * 70 + ".TIFF", False),
    ],
)
def test_a_long_text_without_a_suffix_is_a_picture(text: str, packed: bool) -> None:
    assert is_packed(text) == packed


@pytest.mark.parametrize(
    "value",
    [
        PNG,
        bytearray(PNG),
        PACKED,
        f" {PACKED[:40]}\n{PACKED[40:]} ",
        f"data:image/png;base64,{PACKED}",
        [PNG],
        (PACKED,),
        json.dumps([PACKED]),
        {"bytes": PNG, "path": None},
        {"bytes": PNG, "path": "/nowhere/a.png"},
        {"bytes": PACKED},
    ],
)
def test_a_cell_that_holds_a_picture(value: Any, gathered: GatheredPictures) -> None:
    row = row_in(gathered.folder)
    name = named_by_content(PNG)
    assert gathered.take(value, row, "image") == name
    assert gathered.take(value, row, "image") == name
    assert (gathered.folder / name).read_bytes() == PNG
    assert len(gathered) == 1
    text = value[0] if isinstance(value, (list, tuple)) else value
    text = text["bytes"] if isinstance(text, dict) else text
    assert gathered.packed == isinstance(text, str)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a.png", "a.png"),
        (" 17 ", "17"),
        (17, "17"),
        (["a.png"], "a.png"),
        ('["a.png"]', "a.png"),
        ({"bytes": None, "path": "a.png"}, "a.png"),
        ({"path": "a.png"}, "a.png"),
        ("[1", "[1"),
        (None, None),
        ("", None),
        ("  ", None),
        (float("nan"), None),
        ([], None),
        ("[]", None),
        ({"bytes": None, "path": None}, None),
    ],
)
def test_a_cell_that_names_a_picture(
    value: Any, text: str | None, gathered: GatheredPictures
) -> None:
    picture_name = gathered.take(value, row_in(gathered.folder), "image")
    assert picture_name == (None if text is None else Name(text))
    assert (len(gathered), gathered.packed) == (0, False)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([PNG, PNG], "2 pictures"),
        ('["a.png", "b.png"]', "2 pictures"),
        ("[a.png, b]", "the list cannot be read"),
        (True, "bool"),
        (1.5, "float"),
        ({"url": "x", "size": 1}, "an object with 'url', 'size'"),
        ({}, "an object with nothing"),
        ({"bytes": None, "path": "/tmp/a.png"}, "only names '/tmp/a.png'"),
        ({"bytes": 3}, "no bytes"),
        (b"", "0 bytes"),
        (b"no picture", "cannot be opened"),
        ("data:image/png;hex,00", "no base64"),
        ("data:image/png;base64", "no base64"),
        ("data:image/png;base64,ä", "beyond ASCII"),
        ("A" * 71 + "=", "cannot be opened"),
        ("A" * 73, "it is no base64"),
        (f"{PACKED[:40]}!{PACKED[40:]}", "it is no base64"),
        (picture(kind="PPM"), "the picture is PPM"),
    ],
)
def test_a_cell_that_holds_no_picture_is_refused(
    value: Any, says: str, gathered: GatheredPictures
) -> None:
    with pytest.raises(DataError, match=says) as refused:
        gathered.take(value, row_in(gathered.folder), "image")
    assert refused.value.location == "t.csv: row 1, column 'image'"
    assert len(gathered) == 0


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("JPEG", ".jpg"), ("WEBP", ".webp"), ("GIF", ".gif"), ("BMP", ".bmp"), ("TIFF", ".tif")],
)
def test_a_picture_has_the_suffix_of_its_kind(
    kind: str, suffix: str, gathered: GatheredPictures
) -> None:
    content = picture(kind=kind)
    name = gathered.take(content, row_in(gathered.folder), "image")
    assert name == named_by_content(content, suffix)


def test_pictures_are_looked_up_beside_their_row_or_in_one_place(tmp_path: Path) -> None:
    for folder, shade in (("a", 1), ("b", 2), ("c", 3)):
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "deep" / "x.png").write_bytes(picture(shade))
    gathered = GatheredPictures(tmp_path / "out")
    names = [gathered.resolve_name("deep/x.png", row_in(tmp_path / f), "image") for f in "aba"]
    assert names == ["deep/x.png", named_by_content(picture(2)), "deep/x.png"]
    assert len(gathered) == 2
    gathered = GatheredPictures(tmp_path / "out2", open_images(tmp_path / "c"))
    names = [gathered.resolve_name("deep/x.png", row_in(tmp_path / f), "image") for f in "ab"]
    assert names == ["deep/x.png"] * 2
    assert (tmp_path / "out2" / "deep" / "x.png").read_bytes() == picture(3)
    # the same picture under another name is not written again
    (tmp_path / "c" / "y.png").write_bytes(picture(3))
    assert gathered.resolve_name("y.png", row_in(tmp_path), "image") == "deep/x.png"
    assert gathered.resolve_name("http://x.org/a", row_in(tmp_path), "image") == "http://x.org/a"
    assert gathered.web == {"http://x.org/a"}
    with (tmp_path / "c" / "large.png").open("wb") as large:
        large.truncate(64 * 1024 * 1024 + 1)
    for name, says in (
        ("large.png", "more than 64"),
        ("../a/deep/x.png", "outside"),
        ("none.png", "no such picture"),
        ("deep", "no such picture"),
    ):
        with pytest.raises(DataError, match=says) as refused:
            gathered.resolve_name(name, row_in(tmp_path), "image")
        assert refused.value.location.endswith("column 'image'")


# --- sources ---


def test_a_source_is_its_files_row_by_row(tmp_path: Path) -> None:
    for name, text in (
        ("test-1.csv", "question,answer\na,yes\n"),
        ("train-1.csv", "question,answer,more\nb,no,1\n"),
        ("train-2.csv", "answer,question\nyes,c\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "folder-1.csv").mkdir()
    source = open_source(str(tmp_path / "*-?.csv"))
    assert source.columns == ("question", "answer")
    assert source.pictures == ()
    assert source.splits == ("test", "train")
    rows = list(source.rows(["question", "answer"]))
    assert [row.cells["question"] for row in rows] == ["a", "b", "c"]
    assert [row.split for row in rows] == ["test", "train", "train"]
    assert {row.folder for row in rows} == {tmp_path}
    assert rows[0].cell_location("answer") == f"{rows[0].location}, column 'answer'"
    train_split = source.select_splits(["train"])
    assert [row.cells["question"] for row in train_split.rows(["question"])] == ["b", "c"]
    assert (train_split.name, train_split.splits) == (source.name, ("train",))
    with pytest.raises(UsageError, match=r"no split 'val'.*test, train"):
        source.select_splits(["test", "val"])
    with pytest.raises(UsageError, match="leave --split out"):
        open_source(str(tmp_path / "test-1.csv")).select_splits(["test"])
    with pytest.raises(DataError, match="no column 'more'") as refused:
        list(train_split.rows(["question", "more"]))
    assert refused.value.location.endswith("train-2.csv")
    with pytest.raises(DataError, match="no file"):
        open_source(str(tmp_path / "x*.csv"))
    for text in ("https://x.org/a.csv", "s3://x/a"):
        with pytest.raises(UsageError, match="hub"):
            open_source(text)
    with pytest.raises(DataError, match="no such file"):
        open_source("a\0b")


def test_faults_are_noted_once_a_row_and_counted_by_kind() -> None:
    faults = RowFaults()
    rows = [row_in(Path(), f"t.csv: row {k}") for k in range(1, 9)]
    for row in rows[:6]:
        with faults.collect(row):
            raise DataError(
                f"it has {row.location[-1]} 'legs'", location=f"{row.location}, x", remedy="No."
            )
    for row in rows[5:7]:
        with faults.collect(row):
            raise UsageError("it is blue")
    with faults.collect(rows[7]):
        pass
    assert list(faults.first) == [row.location for row in rows[:7]]
    assert faults.first["t.csv: row 7"].location == "t.csv: row 7"
    error = faults.error(8)
    assert error.message.startswith("7 of 8 rows")
    assert error.message.endswith(
        " 6: t.csv: row 1, x: it has 1 'legs' (also row 2, x; row 3, x; ...)."
        " 1: t.csv: row 7: it is blue"
    )
    assert error.remedy.startswith("No. --keep-going")
    row_faults = RowFaults()
    for count, suffix in ((1, ""), (2, " (also row 2)"), (3, " (also row 2; row 3)")):
        with row_faults.collect(rows[count - 1]):
            raise DataError("it is blue", location=rows[count - 1].location)
        message = row_faults.error(9).message
        if count == 1:
            assert message == "it is blue"
        else:
            assert message.endswith(f"{count}: t.csv: row 1: it is blue{suffix}")
    mixed = RowFaults()
    for row, color in zip(rows, ["green", "blue", "blue"], strict=False):
        with mixed.collect(row):
            raise DataError(f"it is {color}", location=row.location)
    assert "items. 2: t.csv: row 2: it is blue (also row 3). 1: " in mixed.error(3).message


# --- items ---


def questions(folder: Path, text: str, columns: str = "", **settings: Any) -> Questions:
    """The items of a table, whose pictures are written into a folder beside it."""
    (folder / "t.csv").write_text(text)
    source = open_source(str(folder / "t.csv"))
    column_names = parse_columns([columns] if columns else [])
    return read_questions(source, column_names, GatheredPictures(folder / "out"), **settings)


def test_rows_become_items_in_the_order_of_their_fields(tmp_path: Path) -> None:
    questions_read = questions(
        tmp_path,
        "question,answer,type,split,group,n,id\n"
        " Is it? ,yes,ocr,dev,g1,1,a\n"
        ",,,,,,\n"
        "Or not?,no,,,,2,\n",
    )
    assert questions_read.task == "yes_no"
    assert [list(row.items()) for row in questions_read.rows] == [
        [
            ("id", "a"),
            ("prompt", "Is it?"),
            ("target", "yes"),
            ("type", "ocr"),
            ("part", "dev"),
            ("cluster", "g1"),
        ],
        [("id", "q0003"), ("prompt", "Or not?"), ("target", "no")],
    ]
    assert questions_read.columns == {
        "id": "id",
        "prompt": "question",
        "target": "answer",
        "type": "type",
        "part": "split",
        "cluster": "group",
    }
    assert (questions_read.unused, questions_read.parts, questions_read.faults) == (("n",), (), {})


CHOICES = [("red", "blue", "grey"), ("a cat", "a dog"), ("7", "8", "9")]
WAYS_TO_WRITE_OPTIONS: dict[str, Callable[[tuple[str, ...]], dict[str, object]]] = {
    "a list": lambda texts: {"options": list(texts)},
    "a text": lambda texts: {"options": "|".join(texts)},
    "by letter": lambda texts: {"options": dict(zip("ABCD", texts, strict=False))},
    "columns": lambda texts: dict(zip("ABC", [*texts, ""], strict=False)),
    "with letters": lambda texts: {
        "options": [f"{letter}. {text}" for letter, text in zip("ABCD", texts, strict=False)]
    },
}


def write_rows(path: Path, rows: list[dict[str, object]], layout: str) -> Path:
    """Write rows into a file that holds them in this way."""
    document: object = rows
    if layout == "below a key":
        document = {"version": "1", "questions": rows}
    elif layout == "by id":
        document = {
            str(row["id"]): {name: cell for name, cell in row.items() if name != "id"}
            for row in rows
        }
    elif layout == "by column":
        document = {name: [row[name] for row in rows] for name in rows[0]}
    text = json.dumps(document)
    if layout == "packed":
        path = path.with_suffix(".json.gz")
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


@pytest.mark.parametrize("layout", ["list", "below a key", "by id", "by column", "packed"])
@pytest.mark.parametrize("way", WAYS_TO_WRITE_OPTIONS)
@pytest.mark.parametrize("answered_by", ["letter", "text"])
def test_questions_are_read_alike_however_they_are_written(
    layout: str, way: str, answered_by: str, tmp_path: Path
) -> None:
    rows = []
    for number, texts in enumerate(CHOICES):
        written = WAYS_TO_WRITE_OPTIONS[way](texts)
        answer = "B" if answered_by == "letter" else texts[1]
        rows.append({"id": f"k{number}", "question": "Which?", "answer": answer, **written})
    path = write_rows(tmp_path / "q.json", rows, layout)
    read = read_questions(open_source(str(path)), {}, GatheredPictures(tmp_path / "out"))
    assert [(row["id"], row["target"], row["options"]) for row in read.rows] == [
        (f"k{number}", "B", list(texts)) for number, texts in enumerate(CHOICES)
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("question,answer\nIs it red?,1\nIs it blue?,0\n", "codes-alone"),
        ('question,answer\n"Which? A. red B. blue",1\n"Which? A. 1 B. 2",0\n', "codes-alone"),
        (
            'question,answer\n"Which? A. red B. blue",2\n"Which? A. x B. y",1\n"A. c B. d",Z\n',
            "numbers-of-options",
        ),
    ],
)
def test_codes_are_no_short_answers(text: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=pattern_of(f"odd.{code}")):
        questions(tmp_path, text)
    assert questions(tmp_path, text, task="vqa").task == "vqa"


def test_columns_of_letters_are_options(tmp_path: Path) -> None:
    questions_read = questions(tmp_path, "question,answer,A,B,C\nx?,B,1,2,\ny?,red,red,blue,grey\n")
    assert questions_read.task == "choice"
    assert [row["options"] for row in questions_read.rows] == [["1", "2"], ["red", "blue", "grey"]]
    assert [row["target"] for row in questions_read.rows] == ["B", "A"]
    assert questions_read.columns["options"] == "A, B, C"
    assert questions_read.unused == ()
    with pytest.raises(DataError, match="an option C, and no option B") as refused:
        questions(tmp_path, "question,answer,A,B,C\nx?,A,1,,3\n")
    assert refused.value.location.endswith("column 'B'")
    with pytest.raises(DataError, match="an option D, and no option C"):
        questions(tmp_path, "question,answer,A,B,C,D\nx?,A,1,2,,4\n")
    with pytest.raises(DataError, match="no options") as refused:
        questions(tmp_path, "question,answer,A,B\nx?,A,1,2\ny?,A,,\n")
    assert refused.value.location.endswith("columns A, B")


@pytest.mark.parametrize(
    ("kinds", "columns", "field"),
    [
        ("ocr,count", "", "type"),
        (",OCR", "", "type"),
        ("x,y", "", "part"),
        ("x,y", "part=n", ""),
        ("x,ocr", "", None),
        ("x,y", "type=category", None),
        ("ocr,ocr", "type=category", "type"),
    ],
)
def test_a_column_of_categories_has_types_or_parts(
    kinds: str, columns: str, field: str | None, tmp_path: Path
) -> None:
    first, second = kinds.split(",")
    text = f"question,answer,category,n\na?,yes,{first},1\nb?,no,{second},2\n"
    if field is None:
        with pytest.raises(DataError, match="no hallucination type"):
            questions(tmp_path, text, columns)
        return
    questions_read = questions(tmp_path, text, columns)
    values = [row.get(field, "") for row in questions_read.rows]
    assert values == ([first, second] if field else ["", ""])
    assert ("category" in questions_read.unused) == (not field)
    assert questions_read.columns.get(field or "part") == ("category" if field else "n")
    assert "" not in questions_read.columns


def test_splits_become_parts_and_share_no_ids(tmp_path: Path) -> None:
    for split, ids in (("test", "12"), ("train", "23")):
        lines = "".join(f"{k},what {split} {k}?,red\n" for k in ids)
        (tmp_path / f"{split}.csv").write_text(f"id,question,answer\n{lines}")

    def read_pattern(pattern: str) -> Questions:
        source = open_source(str(tmp_path / pattern))
        return read_questions(source, {}, GatheredPictures(tmp_path / "out"))

    questions_read = read_pattern("t*.csv")
    assert questions_read.parts == ("test", "train")
    assert [(row["id"], row["part"]) for row in questions_read.rows] == [
        ("test-1", "test"),
        ("test-2", "test"),
        ("train-2", "train"),
        ("train-3", "train"),
    ]
    assert read_pattern("te*.csv").parts == ()
    assert [row["id"] for row in read_pattern("te*.csv").rows] == ["1", "2"]
    (tmp_path / "train.csv").write_text("id,question,answer\n3,x?,red\n4,y?,red\n")
    assert [row["id"] for row in read_pattern("t*.csv").rows] == ["1", "2", "3", "4"]
    for split in ("test", "train"):
        (tmp_path / f"{split}.csv").write_text(
            f"id,question,answer,part\n{split},x?,red,p\nb{split},z?,x,\n"
        )
    questions_read = read_pattern("t*.csv")
    assert [row["part"] for row in questions_read.rows] == ["p", "test", "p", "train"]
    assert questions_read.parts == ()


def test_faulty_rows_end_the_reading_or_are_left_out(tmp_path: Path) -> None:
    text = "id,question,answer\na,Is it?,yes\nb,,yes\na ,Or not?,no\nd,Well?,maybe\n"
    with pytest.raises(DataError, match="3 of 4 rows"):
        questions(tmp_path, text)
    questions_read = questions(tmp_path, text, keep_going=True)
    assert [row["id"] for row in questions_read.rows] == ["a"]
    assert sorted(location.rpartition(": row ")[2][0] for location in questions_read.faults) == [
        "2",
        "3",
        "4",
    ]
    assert [fault.message.partition(" ")[0] for fault in questions_read.faults.values()] == [
        "the"
    ] * 3
    with pytest.raises(DataError, match="the question is empty"):
        questions(tmp_path, "question,answer,n\n,yes,1\n", keep_going=True)
    with pytest.raises(DataError, match="no questions"):
        questions(tmp_path, "question,answer\n,\n")
    with pytest.raises(DataError, match="no questions"):
        questions(tmp_path, "question,answer\n")


def test_a_text_of_a_million_characters_is_the_longest(tmp_path: Path) -> None:
    max_chars = 1_000_000
    questions_read = questions(tmp_path, f"question,answer\n{'x' * max_chars},red\n")
    assert len(questions_read.rows[0]["prompt"]) == max_chars
    with pytest.raises(DataError, match="1,000,001 characters"):
        questions(tmp_path, f"question,answer\n{'x' * (max_chars + 1)},red\n")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (2.0, "2"),
        (2.5, "2.5"),
        (7, "7"),
        (" a ", "a"),
        ("Größe \ud7ff\ue000", "Größe \ud7ff\ue000"),
    ],
)
def test_a_cell_is_a_text(cell: Any, text: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps([{"question": "?", "answer": "x", "id": cell}]))
    questions_read = read_questions(
        open_source(str(tmp_path / "t.json")), {}, GatheredPictures(tmp_path / "out")
    )
    assert [row["id"] for row in questions_read.rows] == [text]


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ({"a": 1}, "an object"),
        (["a"], "a list"),
        (True, "true or false"),
    ],
)
def test_a_cell_that_is_no_text_is_refused(cell: Any, says: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps([{"question": cell, "answer": "x"}]))
    source = open_source(str(tmp_path / "t.json"))
    with pytest.raises(DataError, match=says) as refused:
        read_questions(source, {}, GatheredPictures(tmp_path / "out"))
    assert refused.value.location.endswith("column 'question'")


@pytest.mark.parametrize("column", ["question", "answer", "id"])
def test_what_no_store_can_hold_is_refused_in_tables_of_arrow_too(
    column: str, tmp_path: Path
) -> None:
    cells = {"id": ["1"], "question": ["Is it?"], "answer": ["red"]}
    pyarrow.parquet.write_table(pyarrow.table({**cells, column: ["a\0b"]}), tmp_path / "t.parquet")
    source = open_source(str(tmp_path / "t.parquet"))
    with pytest.raises(DataError, match="has a character") as refused:
        read_questions(source, {}, GatheredPictures(tmp_path / "out"))
    assert "row 1" in refused.value.location


def test_answers_of_several_texts_stay_a_list(tmp_path: Path) -> None:
    rows = [
        {"question": "a?", "answer": ["red", 2.0]},
        {"question": "b?", "answer": ["blue"]},
        {"question": "c?", "answer": True},
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    questions_read = read_questions(
        open_source(str(tmp_path / "t.json")), {}, GatheredPictures(tmp_path / "out")
    )
    assert [row["target"] for row in questions_read.rows] == [["red", "2"], "blue", "yes"]
    (tmp_path / "t.json").write_text(json.dumps([{"question": "a?", "answer": ["x", None]}]))
    with pytest.raises(DataError, match="null"):
        read_questions(
            open_source(str(tmp_path / "t.json")), {}, GatheredPictures(tmp_path / "out")
        )


def test_a_short_text_beside_packed_pictures_is_the_row_that_has_one(tmp_path: Path) -> None:
    blue = base64.b64encode(picture(9)).decode()
    text = f"index,question,answer,image\n7,a?,x,{PACKED}\n8,b?,x,7\n9,c?,x,8\n10,d?,x,{blue}\n"
    text += "11,e?,x,http://x.org/a.png\n12,f?,x,\n"
    questions_read = questions(tmp_path, text)
    name = named_by_content(PNG)
    images = [row.get("image") for row in questions_read.rows]
    assert images == [name, name, name, named_by_content(picture(9)), "http://x.org/a.png", None]
    # without an index, the row's number is meant
    questions_read = questions(tmp_path, f"question,answer,image\na?,x,2\nb?,x,{PACKED}\n")
    assert [row["image"] for row in questions_read.rows] == [name, name]
    for row, says in (
        ("8,b?,x,9", "'9' is the index of"),
        ("8,b?,x,8", "8 -> 8, which goes in a"),
        ("8,b?,x,9\n9,c?,x,8", "9 -> 8 -> 9, which goes in a"),
        ("8,b?,x,9\n9,c?,x,", "picture of row '9'"),
    ):
        with pytest.raises(DataError, match=says):
            questions(tmp_path, f"index,question,answer,image\n7,a?,x,{PACKED}\n{row}\n")
    with pytest.raises(DataError, match="'3' is the number of"):
        questions(tmp_path, f"question,answer,image\na?,x,3\nb?,x,{PACKED}\n")


def test_a_text_in_the_column_of_pictures_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "7").write_bytes(PNG)
    (tmp_path / "b.png").write_bytes(picture(9))
    questions_read = questions(tmp_path, "index,question,answer,image\n7,a?,x,7\n8,b?,x,b.png\n")
    assert [row["image"] for row in questions_read.rows] == ["7", "b.png"]
    assert (tmp_path / "out" / "b.png").read_bytes() == picture(9)
    assert questions_read.unused == ()


def test_a_sheet_of_excel_is_a_source(run: Run, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["No.", "Question", "Option A", "Option B", "Correct answer"])
    book.active.append([1, "How many?", 2, 3, "B"])
    book.active.append([2, "Which?", "red", "blue", "A"])
    book.save(tmp_path / "quiz.xlsx")
    status, printed, error = run(
        "new", str(tmp_path / "quiz"), "--from", str(tmp_path / "quiz.xlsx")
    )
    assert status == 0, error
    assert "2 choice items" in printed
