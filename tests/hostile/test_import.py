"""`hqm import` of files that are broken, edited or made up: one sentence with the place, and
nothing is stored.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hqm import Judgement, Response, Store
from hqm.signature import digest
from hqm.store.database import ask
from hqm.store.exchange import export_store, import_store
from tests.conftest import Run
from tests.messages import tells, text_of

Row = dict[str, Any]


def filled(path: Path | str) -> Store:
    store = Store(path)
    live_id = store.respondent("openai/a", {"kind": "openai", "temperature": 1.0})
    recorded_id = store.respondent("recorded/b", {"kind": "recorded", "answers": "b2:00"})
    red, blue = ask("Is it red?", "a.png", "b2:" + "0" * 24), ask("Is it “blue”?\nNow.")
    store.append(
        live_id,
        0,
        [(red, Response("Yes", "ok", "", {"seconds": 0.5})), (blue, Response("", "error", "500"))],
    )
    store.append(live_id, 0, [(blue, Response("No"))])
    store.append(
        recorded_id,
        1,
        [(ask("Is it red?", "a.png", salt=("mine", "original", "q1")), Response("No"))],
    )
    for number in (live_id, recorded_id):
        store.record_administration(number, "mine", form="original", digest="b2:" + "1" * 24, run=0)
    labels = [
        Judgement("human", "q1", "openai/a", 1.0, "ja", ""),
        Judgement("human", "q2", "openai/a", None),
    ]
    store.judge("mine", "original", 0, labels, 5.0)
    store.remember_images("mine", {"a.png": "b2:" + "0" * 24})
    store.record({"command": "hqm run"}, 6.0)
    return store


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path = tmp_path_factory.mktemp("export") / "export.jsonl"
    with filled(":memory:") as store:
        export_store(store, path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def unsigned(rows: list[Row]) -> list[Row]:
    """The rows as HQM 0.1.0 wrote them: no head, no hashes, no administrations."""
    unsigned_rows = [row for row in rows if row["kind"] not in ("export", "administration")]
    return [{key: value for key, value in row.items() if key != "digest"} for row in unsigned_rows]


def write(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


ANSWER, JUDGEMENT, IMAGE, RECORD, ADMINISTRATION = (
    "answer",
    "judgement",
    "image",
    "record",
    "administration",
)
NOT = object()
"""Take the field out of the row."""

CHANGES: list[tuple[str, str, str, Any, str]] = [
    ("null text", ANSWER, "text", None, "'text' is None: a text is needed"),
    ("number for a text", ANSWER, "text", 5, "'text' is 5: a text is needed"),
    ("list for a text", ANSWER, "text", ["Yes"], "a text is needed"),
    ("object for a text", ANSWER, "text", {"a": 1}, "a text is needed"),
    ("true for a text", ANSWER, "text", True, "a text is needed"),
    ("half a character", ANSWER, "text", "Yes \ud800", "a character that cannot be stored"),
    ("NUL in a text", ANSWER, "text", "Yes \0", "a character that cannot be stored"),
    ("no text", ANSWER, "text", NOT, "'text' is missing"),
    ("null state", ANSWER, "state", None, "a text is needed"),
    ("unknown state", ANSWER, "state", "fine", "a state is one of ok"),
    ("state missing", ANSWER, "state", "missing", "a state is one of ok"),
    ("state in capitals", ANSWER, "state", "OK", "a state is one of ok"),
    ("empty state", ANSWER, "state", "", "it is empty"),
    ("a list of states", ANSWER, "state", ["ok"], "a text is needed"),
    ("no state", ANSWER, "state", NOT, "'state' is missing"),
    ("negative run", ANSWER, "run", -1, "a count from 0 on"),
    ("half a run", ANSWER, "run", 0.5, "a count from 0 on"),
    ("whole number with a point", ANSWER, "run", 1.0, "a count from 0 on"),
    ("run as text", ANSWER, "run", "1", "a count from 0 on"),
    ("run in words", ANSWER, "run", "one", "a count from 0 on"),
    ("run true", ANSWER, "run", True, "a count from 0 on"),
    ("run null", ANSWER, "run", None, "a count from 0 on"),
    ("run beyond SQLite", ANSWER, "run", 2**63, "a count from 0 on"),
    ("run infinite", ANSWER, "run", float("inf"), "a count from 0 on"),
    ("run not a number", ANSWER, "run", float("nan"), "a count from 0 on"),
    ("no run", ANSWER, "run", NOT, "'run' is missing"),
    ("negative attempt", ANSWER, "attempt", -2, "a count from 0 on"),
    ("attempt as text", ANSWER, "attempt", "x", "a count from 0 on"),
    ("attempt as list", ANSWER, "attempt", [0], "a count from 0 on"),
    ("time not a number", ANSWER, "time", float("nan"), "a time in seconds"),
    ("time infinite", ANSWER, "time", float("-inf"), "a time in seconds"),
    ("time as text", ANSWER, "time", "yesterday", "a time in seconds"),
    ("time as a list", ANSWER, "time", [1], "a time in seconds"),
    ("time true", ANSWER, "time", True, "a time in seconds"),
    ("time of 400 digits", ANSWER, "time", 10**400, "a time in seconds"),
    ("no hash", ANSWER, "ask", "", "it is empty"),
    ("a hash of another kind", ANSWER, "ask", "sha256:00", "no content hash"),
    ("the hash of another question", ANSWER, "ask", "b2:" + "a" * 24, "not that of what is asked"),
    ("null hash", ANSWER, "ask", None, "a text is needed"),
    ("capitals in a hash", ANSWER, "ask", "b2:" + "A" * 24, "no content hash"),
    (
        "another prompt under the hash",
        ANSWER,
        "prompt",
        "Is it green?",
        "not that of what is asked",
    ),
    ("null prompt", ANSWER, "prompt", None, "a text is needed"),
    ("object for a prompt", ANSWER, "prompt", {"text": "Is it red?"}, "a text is needed"),
    (
        "another picture under the hash",
        ANSWER,
        "image_digest",
        "b2:" + "9" * 24,
        "not that of what is asked",
    ),
    ("number for a picture", ANSWER, "image", 7, "a text is needed"),
    ("null respondent", ANSWER, "respondent", None, "a text is needed"),
    ("empty respondent", ANSWER, "respondent", "", "it is empty"),
    ("respondent as number", ANSWER, "respondent", 3, "a text is needed"),
    ("no respondent", ANSWER, "respondent", NOT, "'respondent' is missing"),
    ("identity no JSON", ANSWER, "identity", "{", "not a JSON object"),
    ("identity a list", ANSWER, "identity", "[1]", "not a JSON object"),
    ("identity null", ANSWER, "identity", "null", "not a JSON object"),
    ("identity an object", ANSWER, "identity", {"kind": "openai"}, "a text is needed"),
    ("identity with NaN", ANSWER, "identity", '{"temperature": NaN}', "not a JSON object"),
    (
        "identity with half a character",
        ANSWER,
        "identity",
        '{"kind": "\\ud800"}',
        "not a JSON object",
    ),
    ("identity nested deeply", ANSWER, "identity", "[" * 100_000, "not a JSON object"),
    (
        "identity of 5,000 digits",
        ANSWER,
        "identity",
        '{"a": ' + "9" * 5000 + "}",
        "not a JSON object",
    ),
    ("detail no JSON", ANSWER, "detail", "seconds", "not a JSON object"),
    ("detail a number", ANSWER, "detail", "5", "not a JSON object"),
    ("detail with NaN", ANSWER, "detail", '{"seconds": NaN}', "not a JSON object"),
    ("detail an object", ANSWER, "detail", {"seconds": 1}, "a text is needed"),
    ("reason a number", ANSWER, "reason", 500, "a text is needed"),
    ("unknown field", ANSWER, "txet", "Yes", "no answer has such a field"),
    ("label on an answer", ANSWER, "label", 1.0, "no answer has such a field"),
    ("label above 1", JUDGEMENT, "label", 1.5, "a share from 0 to 1"),
    ("label below 0", JUDGEMENT, "label", -0.1, "a share from 0 to 1"),
    ("label not a number", JUDGEMENT, "label", float("nan"), "a share from 0 to 1"),
    ("label as text", JUDGEMENT, "label", "1", "a share from 0 to 1"),
    ("label true", JUDGEMENT, "label", True, "a share from 0 to 1"),
    ("judgement without judge", JUDGEMENT, "judge", NOT, "'judge' is missing"),
    ("judgement of nobody", JUDGEMENT, "judge", "", "it is empty"),
    ("judgement on no item", JUDGEMENT, "item", None, "a text is needed"),
    ("judgement in a negative run", JUDGEMENT, "run", -3, "a count from 0 on"),
    ("judgement at no time", JUDGEMENT, "time", None, "a time in seconds"),
    ("judgement without time", JUDGEMENT, "time", NOT, "'time' is missing"),
    ("judgement on no form", JUDGEMENT, "form", "", "it is empty"),
    ("judgement of a number", JUDGEMENT, "benchmark", 1, "a text is needed"),
    ("reply a list", JUDGEMENT, "reply", ["ja"], "a text is needed"),
    ("picture null", IMAGE, "image", None, "a text is needed"),
    ("picture without hash", IMAGE, "image_digest", NOT, "'image_digest' is missing"),
    ("picture of no benchmark", IMAGE, "benchmark", NOT, "'benchmark' is missing"),
    ("record no JSON", RECORD, "record", "hqm run", "not a JSON object"),
    ("record a list", RECORD, "record", "[]", "not a JSON object"),
    ("record an object", RECORD, "record", {"command": "hqm"}, "a text is needed"),
    ("record without time", RECORD, "time", NOT, "'time' is missing"),
    ("unknown kind", ANSWER, "kind", "reply", "the kind 'reply' is unknown"),
    ("kind null", ANSWER, "kind", None, "the kind None is unknown"),
    ("kind a list", ANSWER, "kind", ["answer"], "is unknown"),
    ("no kind", ANSWER, "kind", NOT, "'kind' is missing"),
]


def changed(rows: list[Row], kind: str, field: str, value: Any) -> tuple[list[Row], int]:
    """The rows with one field of the first row of a kind changed, and the number of that row."""
    index = next(i for i, row in enumerate(rows) if row["kind"] == kind)
    row = {key: old for key, old in rows[index].items() if key != field or value is not NOT}
    if value is not NOT:
        row[field] = value
    return [*rows[:index], row, *rows[index + 1 :]], index + 1


@pytest.mark.parametrize(
    ("kind", "field", "value", "sentence"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES]
)
def test_a_made_up_row_is_refused_with_its_place(
    tmp_path: Path, run: Run, exported: list[Row], kind: str, field: str, value: Any, sentence: str
) -> None:
    rows, number = changed(unsigned(exported), kind, field, value)
    path = write(tmp_path / "made_up.jsonl", rows)
    status, _, err = run("import", path, "--store", tmp_path / "new.sqlite")
    assert (status, err.count("\n")) == (1, 1)
    assert f"{path}: record {number}: " in err
    assert sentence in err
    with Store(tmp_path / "new.sqlite") as store:
        assert (store.count(), store.records(), store.judged("mine")) == (0, [], [])


EDITS = [
    (kind, field)
    for kind, fields in {
        ANSWER: (
            "text",
            "state",
            "run",
            "attempt",
            "prompt",
            "image",
            "ask",
            "respondent",
            "identity",
            "detail",
            "reason",
            "time",
        ),
        ADMINISTRATION: ("benchmark", "form", "form_digest", "run", "sight", "respondent"),
        JUDGEMENT: ("label", "reply", "judge", "item", "time"),
        IMAGE: ("image", "image_digest"),
        RECORD: ("record", "time"),
    }.items()
    for field in fields
]
VALUES: Row = {
    "run": 7,
    "attempt": 7,
    "time": 7.5,
    "label": 0.25,
    "state": "truncated",
    "identity": '{"kind": "openai"}',
    "detail": "{}",
    "record": "{}",
    "ask": "b2:" + "a" * 24,
    "image_digest": "b2:" + "b" * 24,
    "form_digest": "b2:" + "c" * 24,
}


@pytest.mark.parametrize(("kind", "field"), EDITS, ids=[f"{kind}.{field}" for kind, field in EDITS])
def test_an_edit_that_would_be_a_fine_row_is_noticed(
    tmp_path: Path, run: Run, exported: list[Row], kind: str, field: str
) -> None:
    rows, number = changed(exported, kind, field, VALUES.get(field, "another"))
    path = write(tmp_path / "edited.jsonl", rows)
    status, _, err = run("import", path, "--store", tmp_path / "new.sqlite")
    assert (status, err) == (
        1,
        text_of("import.row-changed", path=path, record=number),
    )


def resigned(row: Row) -> Row:
    row = {key: value for key, value in row.items() if key != "digest"}
    return {**row, "digest": digest(row)}


WHOLES: dict[str, tuple[Callable[[list[Row]], list[Row]], str]] = {
    "a row removed": (lambda rows: [*rows[:3], *rows[4:]], "rows were exported, and"),
    "the last row removed": (lambda rows: rows[:-1], "rows were exported, and"),
    "all rows removed": (lambda rows: rows[:1], "rows were exported, and 0 are there"),
    "the head removed": (lambda rows: rows[1:], "the first row of the export is missing"),
    "a row twice": (lambda rows: [*rows, rows[-1]], "more rows than were exported"),
    "a row twice inside": (
        lambda rows: [*rows[:2], rows[1], *rows[2:]],
        "the same answer stands at record 2",
    ),
    "two rows exchanged": (
        lambda rows: [rows[0], rows[2], rows[1], *rows[3:]],
        "exchanged or reordered",
    ),
    "a row signed anew": (
        lambda rows: [*rows[:1], resigned({**rows[1], "text": "another"}), *rows[2:]],
        "exchanged or reordered",
    ),
    "a row without its hash": (
        lambda rows: [*rows[:1], {k: v for k, v in rows[1].items() if k != "digest"}, *rows[2:]],
        "changed after",
    ),
    "a head without hash": (
        lambda rows: [{k: v for k, v in rows[0].items() if k != "digest"}, *rows[1:]],
        "exchanged or reordered",
    ),
    "a head that counts wrongly": (
        lambda rows: [{**rows[0], "rows": len(rows) - 2}, *rows[1:]],
        "exchanged or",
    ),
    "a head that counts too many": (
        lambda rows: [{**rows[0], "rows": 10**6}, *rows[1:]],
        "rows were exported, and",
    ),
    "a head that counts in words": (
        lambda rows: [{**rows[0], "rows": "nine"}, *rows[1:]],
        "a count from 0 on",
    ),
    "a head that claims more": (
        lambda rows: [{**rows[0], "whole": 0}, *rows[1:]],
        "exchanged or reordered",
    ),
    "a head inside": (lambda rows: [rows[0], rows[0], *rows[1:-1]], "changed after"),
    "no row at all": (lambda rows: [], "it holds no row"),
    "an answer twice": (
        lambda rows: [*unsigned(rows), unsigned(rows)[0]],
        "the same answer stands at record 1",
    ),
    "a judgement twice": (
        lambda rows: [*unsigned(rows), next(r for r in unsigned(rows) if r["kind"] == JUDGEMENT)],
        "the same judgement stands at",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), WHOLES.values(), ids=list(WHOLES))
def test_a_file_that_is_not_what_was_exported_is_refused(
    tmp_path: Path,
    run: Run,
    exported: list[Row],
    change: Callable[[list[Row]], list[Row]],
    sentence: str,
) -> None:
    path = write(tmp_path / "edited.jsonl", change(exported))
    status, _, err = run("import", path, "--store", tmp_path / "new.sqlite")
    assert (status, err.count("\n")) == (1, 1)
    assert sentence in err
    with Store(tmp_path / "new.sqlite") as store:
        assert store.count() == 0


FILES: dict[str, tuple[str, bytes | None, str]] = {
    "no file": ("a.jsonl", None, "there is no such file"),
    "no JSON": ("a.jsonl", b"answer,text\n", "it is not JSON"),
    "half a row": ("a.jsonl", b'{"kind": "answer", "text": "Y', "it is not JSON"),
    "a list of numbers": ("a.jsonl", b"[1, 2]", "a record must be a JSON object"),
    "not UTF-8": ("a.jsonl", b'{"kind": "\xff"}', "is not utf-8"),
    "nested deeply": ("a.jsonl", b'{"a": ' + b"[" * 200_000, "nested too deeply"),
    "5,000 digits": (
        "a.jsonl",
        b'{"kind": "answer", "run": ' + b"9" * 5000 + b"}",
        "it cannot be read",
    ),
    "a key twice": (
        "a.jsonl",
        b'{"kind": "answer", "kind": "image"}',
        "the key 'kind' stands twice",
    ),
    "empty": ("a.jsonl", b"", "it holds no row"),
    "no Parquet": ("a.parquet", b"PAR1 and no more", "it is no Parquet file"),
    "no Parquet file": ("a.parquet", None, "no such file"),
    "a database": ("a.sqlite", b"SQLite format 3\0\xff\xff", "is not utf-8"),
}


@pytest.mark.parametrize(("name", "content", "sentence"), FILES.values(), ids=list(FILES))
def test_a_file_that_is_no_export_is_refused(
    tmp_path: Path, run: Run, name: str, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    status, _, err = run("import", tmp_path / name, "--store", tmp_path / "new.sqlite")
    assert (status, err.count("\n")) == (1, 1)
    assert sentence in err


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_an_export_brings_back_everything(tmp_path: Path, suffix: str) -> None:
    with filled(":memory:") as first, Store(tmp_path / "b.sqlite") as second:
        rows = export_store(first, tmp_path / f"a{suffix}")
        notes: list[str] = []
        assert import_store(tmp_path / f"a{suffix}", second, notes.append) == 4
        assert import_store(tmp_path / f"a{suffix}", second, notes.append) == 0
        assert (notes, second.has_all_administrations) == ([], True)
        assert export_store(second, tmp_path / "b.jsonl") == rows
        export_store(first, tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_two_exports_one_after_another_are_one_file(tmp_path: Path) -> None:
    with filled(":memory:") as first, Store(":memory:") as second, Store(":memory:") as joined:
        respondent_id = second.respondent("openai/c", {"kind": "openai"})
        second.append(respondent_id, 0, [(ask("Is it red?"), Response("No"))])
        export_store(first, tmp_path / "a.jsonl")
        export_store(second, tmp_path / "b.jsonl")
        text = (tmp_path / "a.jsonl").read_text("utf-8") + (tmp_path / "b.jsonl").read_text("utf-8")
        (tmp_path / "both.jsonl").write_text(text, encoding="utf-8")
        assert import_store(tmp_path / "both.jsonl", joined) == 5


def test_an_old_export_is_taken_with_a_sentence(tmp_path: Path, exported: list[Row]) -> None:
    notes: list[str] = []
    with Store(":memory:") as store:
        assert (
            import_store(write(tmp_path / "old.jsonl", unsigned(exported)), store, notes.append)
            == 4
        )
        assert not store.has_all_administrations, "its answers came without their administrations"
    assert len(notes) == 1
    assert "no hashes" in notes[0]


def test_what_differs_from_the_store_is_said(tmp_path: Path, run: Run, exported: list[Row]) -> None:
    with filled(tmp_path / "s.sqlite"):
        pass
    rows, _ = changed(unsigned(exported), ANSWER, "text", "Perhaps")
    rows, _ = changed(rows, JUDGEMENT, "label", 0.0)
    status, output, err = run(
        "import", write(tmp_path / "other.jsonl", rows), "--store", tmp_path / "s.sqlite"
    )
    assert (status, output) == (0, f"0 new answers: {tmp_path / 's.sqlite'}\n")
    assert tells(err, "import.rows-differ", rows=2)
    assert "record 1" in err
