"""JSON lines are decoded in one call, unless a key stands twice: the same records either way."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hqm.errors import DataError
from hqm.files.records import _concatenated, _plain_lines, read_records

TEXTS = st.text(st.sampled_from('ab:"\\ {}\n,'), max_size=6)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), min_size=1, max_size=4))
@example([{"a": 'he said "yes": so'}, {"a": {"b": 1}}])
def test_one_call_gives_the_records_of_one_after_another(records: list[dict[str, Any]]) -> None:
    for separators in ((",", ":"), (", ", ": "), (", ", " : ")):
        text = "\n".join(json.dumps(record, separators=separators) for record in records)
        at_once = _plain_lines(text)
        assert at_once is None or at_once == records
        assert list(_concatenated(text, Path("x"))) == records


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": "1", "answer": "The answer is: B"}, {"id": "2", "answer": "A"}],
        [{"id": "1", "answer": 'It says "Stop": so yes'}, {"id": "2", "answer": "12:30"}],
        [{"id": "1", "answer": "A", "meta": {"seed": 1, "parts": [{"x": 1}]}}, {"id": "2"}],
    ],
)
def test_a_colon_or_an_object_inside_needs_no_closer_look(rows: list[dict[str, Any]]) -> None:
    assert _plain_lines("\n".join(map(json.dumps, rows))) == rows


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 1, "a": 2}',
        '{"a" : 1, "b": 2, "b": 3}',
        '{"a": {"b": 1, "b": 2}}',
        '{"a": "x:", "b": 1, "b": 2}',
        '{"a\\\\": 1, "b": 2, "b": 3}',
        '{"a": "\\u003a", "b": 2, "b": 3}',
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"c": 1}\n' + line + "\n")
    with pytest.raises(DataError):
        read_records(file)
