import json
from pathlib import Path

import pytest

from hqm import DataError, read_records
from hqm.files.records import read_json


@pytest.fixture
def rows() -> list[dict[str, object]]:
    return [{"id": 1, "text": "a\nb"}, {"id": 2, "text": "é"}, {"id": 3, "text": ""}]


def test_every_shape_gives_the_same_records(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    shapes = {
        "lines.json": "\n".join(json.dumps(row) for row in rows),
        "array.json": json.dumps(rows, indent=2),
        "pretty.json": "\n".join(json.dumps(row, indent=4, ensure_ascii=False) for row in rows),
        "glued.json": "".join(json.dumps(row) for row in rows),
        "bom.jsonl": "\ufeff" + "\n\n".join(json.dumps(row) for row in rows) + "\n",
    }
    for name, text in shapes.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read_records(tmp_path / name) == rows, name


def test_csv_is_read_by_its_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('item,label\n"q,1",1\nq2,\n', encoding="utf-8")
    assert read_records(tmp_path / "a.csv") == [
        {"item": "q,1", "label": "1"},
        {"item": "q2", "label": ""},
    ]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'{"id": 1}\n{"id": 2', "a.json:2"),
        (b'{"id": 1}\n["no object"]', "a.json:2"),
        (b'[{"id": 1}, 7]', "record 2"),
        (b'[{"id": 1}', "a.json:1"),
        (b'{"id": "caf\xe9"}', "0xe9"),
    ],
)
def test_a_broken_file_is_reported_with_its_place(
    tmp_path: Path, content: bytes, place: str
) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DataError, match=place):
        read_records(tmp_path / "a.json")


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        read_records(tmp_path / "nowhere.json")
    with pytest.raises(DataError, match="it is a folder"):
        read_json(tmp_path)


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    assert read_records(tmp_path / "empty.jsonl") == []


@pytest.mark.parametrize(
    ("content", "refused"),
    [
        ('{"id": 1, "text": "a: b"}\n{"id": 2, "text": "{}"}', ""),
        ('{"id": 1}\r\n{"id": 2}\r\n', ""),
        ('{"id": 1} {"id": 2}\n{"id": 3}', ""),
        ('{"id": {"part": 1}}\n{"id": 2}', ""),
        ('{"id": 1},\n{"id": 2}', "a.jsonl:1"),
        ('{"id": 1}\n{"id": 2, "id": 3}', "'id' stands twice"),
        ('{"id": 1, "id": 2, "text": "x"}\n{"a\\u003a": "b"}', "'id' stands twice"),
        ('{"id": [{"a": 1}\n{"b": 2}]}', "a.jsonl:2"),
        ('{"id": 1}\n7\n{"id": 2}', "a.jsonl:2"),
    ],
)
def test_lines_decoded_in_one_call_are_what_they_are_one_by_one(
    tmp_path: Path, content: str, refused: str
) -> None:
    """The fast way counts colons to be sure of each object; what it cannot be sure of is read
    record by record.
    """
    path = tmp_path / "a.jsonl"
    path.write_bytes(content.encode())
    if refused:
        with pytest.raises(DataError, match=refused):
            read_records(path)
        return
    decoder, text, expected = json.JSONDecoder(), content.strip(), []
    while text:
        record, end = decoder.raw_decode(text)
        expected.append(record)
        text = text[end:].strip()
    assert read_records(path) == expected
