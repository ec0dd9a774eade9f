"""What once passed in silence, or ended in a traceback: evidence without any spread, tables on two
scales, names that look alike, stores that are none, keys in addresses, weights that are not whole.
"""

import io
import json
import lzma
import os
import re
import sqlite3
import unicodedata
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hqm
from hqm.benchmark.card import Card
from hqm.errors import ImageError, StoreError
from hqm.respondents import make_respondent
from hqm.respondents.base import RespondentName
from hqm.store.sqlite import connect, writing
from hqm.text import KEY
from tests.conftest import Run, needs_torch, write_benchmark
from tests.messages import pattern_of, tells

Row = dict[str, Any]
TURNED = {"yes": "no", "no": "yes"}
ALIKE: dict[str, Callable[[str, int, str], str | None]] = {
    "all say yes": lambda respondent, i, key: "yes",
    "all are right": lambda respondent, i, key: key,
    "all are wrong": lambda respondent, i, key: TURNED[key],
    "all are empty": lambda respondent, i, key: "",
    "none can be read": lambda respondent, i, key: "purple",
    "one item": lambda respondent, i, key: key if i == 0 else None,
    "one differs": lambda respondent, i, key: "yes" if respondent == "ma" else "no",
}


def benchmark(folder: Path) -> tuple[Path, list[Row]]:
    rows = [
        {"id": f"q{i}", "prompt": f"Is there a thing {i}?", "target": ("yes", "no")[i * 7 % 3 % 2]}
        for i in range(24)
    ]
    return write_benchmark(folder / "mine", rows), rows


def recorded(
    file: Path, rows: list[Row], say: Callable[[str, int, str], str | None], n_respondents: int
) -> Path:
    """Two forms and two runs of every respondent."""
    records = [
        {
            "item": row["id"],
            "respondent": f"m{'abc'[k]}",
            "form": form,
            "run": run,
            "answer": say(f"m{'abc'[k]}", i, row["target"]),
        }
        for k in range(n_respondents)
        for form in ("original", "parallel")
        for run in (0, 1)
        for i, row in enumerate(rows)
    ]
    file.write_text(
        "".join(json.dumps(record) + "\n" for record in records if record["answer"] is not None)
    )
    return file


@pytest.mark.parametrize("n_respondents", [1, 3])
@pytest.mark.parametrize("name", ALIKE)
def test_evidence_without_spread_is_audited_and_every_command_reads_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, name: str, n_respondents: int
) -> None:
    monkeypatch.chdir(tmp_path)  # a page goes to the folder that the command runs in
    folder, rows = benchmark(tmp_path)
    answers = recorded(tmp_path / "answers.jsonl", rows, ALIKE[name], n_respondents)
    status, _, stderr = run("audit", folder, "--recorded", answers, "--out", tmp_path / "out")
    assert status == 0, stderr
    audit = tmp_path / "out" / "audit.json"
    assert (tmp_path / "out" / "report.html").exists()
    for command in (
        ["report", audit],
        ["report", audit, "--card"],
        ["gate", audit],
        ["compare", audit, audit],
        ["design", audit, "--target", "mdd<=.05"],
    ):
        status, output, stderr = run(*command)
        assert status in (0, 1, 2), (command, stderr)
        assert status == 0 or output or stderr


def test_an_audit_is_written_though_its_report_cannot_be_drawn(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hqm.reports.pages import report_page

    def fails(audit: hqm.Audit, *_: object) -> str:
        raise ZeroDivisionError(str(audit.hqm_version))

    monkeypatch.setattr(report_page, "render", fails)
    folder, rows = benchmark(tmp_path)
    answers = recorded(tmp_path / "answers.jsonl", rows, ALIKE["one differs"], 3)
    status, _, stderr = run("audit", folder, "--recorded", answers, "--out", tmp_path / "out")
    assert status == 0
    assert tells(stderr, "silent.no-report", folder=tmp_path / "out")
    assert hqm.Audit.load(tmp_path / "out" / "audit.json").audits
    assert not (tmp_path / "out" / "report.html").exists()


def test_rows_of_shares_among_rows_of_percents_are_named(tmp_path: Path, run: Run) -> None:
    def table(divided: int) -> Path:
        rows = [
            f"m{i}," + ",".join(str((score + k) / (100 if i < divided else 1)) for k in (0, 5, -7))
            for i, score in enumerate((40, 55, 61, 72, 80, 44, 58, 66))
        ]
        file = tmp_path / f"{divided}.csv"
        file.write_text("\n".join(["model,a,b,c", *rows]))
        return file

    assert run("table", table(0))[0] == run("table", table(8))[0] == 0
    status, _, stderr = run("table", table(2))
    assert status == 1
    assert tells(stderr, "silent.two-scales", count=2, rows=8, names="m0, m1")


@pytest.mark.parametrize(
    ("column", "refused"),
    [
        ("62.5 0.58 71.2 0.66", True),
        ("62 .58 71", True),
        ("62.51 0.58 0.71 66.12 71.20", True),
        ("62.5 0.5 71.2 80.1", False),  # half a percent, as a yes-sayer's specificity is
        ("0.625 0.58 0.712", False),
        ("3.2 0.85 4.1", False),
    ],
)
def test_a_share_among_the_percents_of_one_column_is_named(
    tmp_path: Path, run: Run, column: str, refused: bool
) -> None:
    rows = [f"m{i},{cell}" for i, cell in enumerate(column.split())]
    (tmp_path / "t.csv").write_text("\n".join(["model,a", *rows]))
    status, _, stderr = run("table", tmp_path / "t.csv")
    assert (status, tells(stderr, "silent.one-column", column="'a'")) == (int(refused), refused)


ONCE = [
    ["audit", "mine", "--out", "a", "--out", "b"],
    ["audit", "mine", "--runs", "1", "--runs", "2"],
    ["audit", "mine", "--store", "a", "--store", "a"],
    ["check", "mine", "--images", "a", "--images", "b"],
    ["import", "a.jsonl", "--benchmark", "mine", "--store", "a", "--store", "b"],
    ["report", "a", "--to", "a.tex", "--to", "b.tex"],
    ["compare", "a", "b", "--to", "a.tex", "--to", "b.tex"],
    ["label", "plan", "mine", "--out", "a", "--out", "b"],
    ["gate", "a", "--policy", "a", "--policy", "b"],
]


@pytest.mark.parametrize("words", ONCE, ids=lambda words: words[0])
def test_an_option_that_takes_one_value_is_given_once(run: Run, words: list[str]) -> None:
    status, _, stderr = run(*words)
    assert status == 2
    assert tells(stderr, "silent.given-twice", option=words[-2], times=2)


def test_no_option_is_taken_for_the_value_of_another(run: Run, tmp_path: Path) -> None:
    status, _, stderr = run("report", tmp_path, "--figure", "--to", tmp_path / "f.svg")
    assert status == 2
    assert tells(stderr, "silent.option-for-value", option="--figure", other="--to")
    status, _, stderr = run("audit", "shapes_yesno", "--metric", "--out", tmp_path)
    assert status == 2
    assert tells(stderr, "silent.option-for-value", option="--metric", other="--out")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("--set batch", ["--set", "batch=1", "--set", "batch=2"]),
        ("--form a", ["--form", "a=x.jsonl", "--form", "a=y.jsonl"]),
    ],
)
def test_a_name_that_is_given_two_values_is_refused(run: Run, name: str, words: list[str]) -> None:
    status, _, stderr = run("audit", "shapes_vqa", *words)
    assert status == 2
    assert tells(stderr, "silent.twice", option=name)


@pytest.mark.parametrize("lookalike_id", ["q0 ", " q0", "q\u200b0", "q0\u00a0"])
def test_items_whose_ids_look_the_same_are_refused(
    tmp_path: Path, run: Run, lookalike_id: str
) -> None:
    _, rows = benchmark(tmp_path)
    folder = write_benchmark(tmp_path / "twice", [*rows, {**rows[0], "id": lookalike_id}])
    with pytest.raises(hqm.DataError, match=pattern_of("silent.ids-alike")):
        hqm.load(str(folder)).original.items  # noqa: B018
    status, output, _ = run("check", folder)
    assert (status, tells(output, "silent.ids-alike")) == (1, True)
    table = "id,question,answer\n" + "".join(
        f"{row['id']},{row['prompt']},{row['target']}\n"
        for row in [*rows, {**rows[1], "id": lookalike_id}]
    )
    (tmp_path / "t.csv").write_text(table)
    status, _, stderr = run("new", tmp_path / "made", "--from", tmp_path / "t.csv")
    assert (status, "'q0'" in stderr) == (1, True)  # cells are read without the spaces around them


@pytest.mark.parametrize("row", [{"item": None}, {"item": ""}, {"respondent": None}])
def test_scores_of_nothing_and_of_nobody_are_refused(tmp_path: Path, row: Row) -> None:
    from hqm.comparison.beside_people import read_scores

    file = tmp_path / "scores.jsonl"
    file.write_text(json.dumps({"item": "q0", "respondent": "ma", "chair": 0.5, **row}))
    with pytest.raises(hqm.DataError, match=pattern_of("silent.nobody")):
        read_scores(file)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.eval", "a.xlsx", "a.parquet"])
@pytest.mark.parametrize("command", ["audit", "import", "new"])
def test_a_pipe_is_no_file(tmp_path: Path, run: Run, command: str, name: str) -> None:
    """Nothing is ever written into it: who opens it waits."""
    folder, _ = benchmark(tmp_path)
    os.mkfifo(pipe := tmp_path / name)
    words = {
        "audit": ["audit", folder, "--recorded", pipe, "--out", tmp_path / "o"],
        "import": ["import", pipe, "--benchmark", folder, "--store", tmp_path / "s.sqlite"],
        "new": ["new", tmp_path / "made", "--from", pipe],
    }[command]
    status, _, stderr = run(*words)
    assert (status, tells(stderr, "silent.pipe")) == (1, True)


def test_what_says_nothing_of_these_answers_is_refused(tmp_path: Path, run: Run) -> None:
    """A run that no store holds, and options of logs beside rows that name respondent and run."""
    folder, rows = benchmark(tmp_path)
    answers = recorded(tmp_path / "a.jsonl", rows, ALIKE["all say yes"], 1)
    into = ["--benchmark", folder, "--store", tmp_path / "s.sqlite"]
    for words in (["--run", 10**30], ["--run", 3], ["--respondent", "x"], ["--from", "zzz"]):
        assert run("import", answers, *into, *words)[0] == 2, words


@pytest.mark.parametrize("types", [["ocr", "ocr"], ["ocr", ""]])
def test_a_type_is_claimed_once_and_by_a_name(tmp_path: Path, run: Run, types: list[str]) -> None:
    folder = write_benchmark(tmp_path / "typed", benchmark(tmp_path)[1], types=types)
    status, output, _ = run("check", folder)
    assert (status, tells(output, "silent.types")) == (1, True)


def test_a_key_in_the_name_of_a_recorded_respondent_is_not_stored(tmp_path: Path, run: Run) -> None:
    folder, rows = benchmark(tmp_path)
    key = "sk-abc123def456ghi789"
    records = [
        {"item": row["id"], "respondent": f"openai/x@http://h/{key}/v1", "answer": "yes"}
        for row in rows
    ]
    answers = tmp_path / "a.jsonl"
    answers.write_text("".join(json.dumps(record) + "\n" for record in records))
    status, output, stderr = run("audit", folder, "--recorded", answers, "--out", tmp_path / "o")
    assert (status, tells(stderr, "names.key", subject="respondent's name")) == (1, True)
    contents = [path.read_bytes() for path in (tmp_path / "o").rglob("*") if path.is_file()]
    assert not any(
        key.encode() in content for content in [*contents, output.encode(), stderr.encode()]
    )


def test_check_fetches_pictures_of_a_private_network_where_it_may(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hqm.files.web_images import WebImages

    private_flags: list[bool] = []
    monkeypatch.setattr(
        WebImages, "fetch", lambda self, names, private=False: private_flags.append(private)
    )
    rows = [{"id": "q", "prompt": "Is it?", "target": "yes", "image": "a.png"}]
    folder = write_benchmark(tmp_path / "web", rows)
    image_options = ["--images", "http://127.0.0.1:9/pictures"]
    assert (
        run("check", folder, *image_options)[0]
        == run("check", folder, *image_options, *ALLOWED)[0]
        == 0
    )
    assert private_flags == [True]


ALLOWED = ["--set", "allow_private_images=true"]


@pytest.mark.parametrize(
    "options", [["--columns", "a,a"], ["--direction", "a=lower", "--direction", "a=higher"]]
)
def test_an_option_that_says_two_things_is_refused(
    tmp_path: Path, run: Run, options: list[str]
) -> None:
    (tmp_path / "t.csv").write_text("model,a,b\nx,.1,.2\ny,.3,.4\nz,.5,.6\n")
    assert run("table", tmp_path / "t.csv", *options)[0] == 2


@pytest.mark.parametrize(
    "lookalike_name", ["caf\u00e9 ", unicodedata.normalize("NFD", "caf\u00e9")]
)
def test_respondents_whose_names_look_the_same_are_refused(
    tmp_path: Path, run: Run, lookalike_name: str
) -> None:
    folder, rows = benchmark(tmp_path)
    records = [
        {"item": row["id"], "respondent": name, "answer": "yes"}
        for row in rows
        for name in ("caf\u00e9", lookalike_name)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    status, _, stderr = run("audit", folder, "--recorded", tmp_path / "a.jsonl")
    assert status == 1
    assert tells(stderr, "silent.look-alike")


def test_what_is_no_store_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=pattern_of("silent.folder")):
        connect(tmp_path)
    (tmp_path / "loop.sqlite").symlink_to(tmp_path / "loop.sqlite")
    with pytest.raises(StoreError, match=pattern_of("silent.loop")):
        connect(tmp_path / "loop.sqlite")
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(StoreError, match=pattern_of("silent.holds-nothing")):
        hqm.Store(tmp_path / "empty.sqlite", readonly=True)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as database:
        database.execute("CREATE TABLE things (id)")
    with pytest.raises(StoreError, match=pattern_of("silent.no-store")):
        hqm.Store(tmp_path / "other.sqlite")


@pytest.mark.parametrize("version", ["2", "1.5", "", "9" * 5000])
def test_a_store_of_a_later_hqm_is_told_by_its_version_and_left_as_it_is(
    tmp_path: Path, run: Run, version: str
) -> None:
    path = tmp_path / "s.sqlite"
    hqm.Store(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (version,))
        db.commit()
    before = path.read_bytes()
    for words in (
        ("audit", "shapes_yesno", "--offline", "--store", path, "-r", "hf/shapes:steady"),
        ("audit", "shapes_yesno", "--no-report", "--store", path, "-r", "hf/shapes:steady"),
        ("export", path, "--to", tmp_path / "x.jsonl"),
    ):
        status, _, err = run(*words)
        assert (status, tells(err, "silent.later-store")) == (1, True), err
    assert path.read_bytes() == before


def test_no_key_stands_in_a_name_or_in_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-" + "a1" * 16
    for secret in (
        key,
        "sk-abc123",
        "%73k-abc123",
        "Key=abc123",
        "a8f5f167f44f4964e6c998dee827110c",
    ):
        with pytest.raises(hqm.UsageError, match=pattern_of("silent.holds-key")) as refused:
            RespondentName.parse(f"openai/x@http://127.0.0.1:9/{secret}/v1")
        assert secret not in str(refused.value)
    for path in ("openai/deployments/gpt-4o-2024-08-06-preview", "keyboard", "tokens/v1"):
        assert str(RespondentName.parse(f"openai/x@http://h/{path}")).endswith(path)
    assert KEY.sub("<key>", f"at {key}: no") == "at <key>: no"
    monkeypatch.setattr("sys.argv", ["hqm", "audit", f"openai/x@http://h/{key}"])
    with writing(tmp_path / "s.sqlite"):
        lock_text = (tmp_path / "s.sqlite.lock").read_text()
    assert key not in lock_text
    assert "hqm audit" in lock_text


def test_a_picture_that_cannot_be_shown_is_missing_and_no_fault_of_the_server(
    tmp_path: Path,
) -> None:
    from hqm_label.page import picture_bytes

    image_path = tmp_path / "whole.png"
    Image.fromarray(np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) * 16).save(image_path)
    assert picture_bytes(image_path)[1] == "image/png"
    (tmp_path / "cut.png").write_bytes(image_path.read_bytes()[:-40])
    (tmp_path / "drawn.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    for name in ("cut.png", "drawn.svg"):
        with pytest.raises(ImageError):
            picture_bytes(tmp_path / name)


@needs_torch
@pytest.mark.parametrize(
    ("fault", "change"),
    [
        ("lacks", lambda weights: {k: v for n, (k, v) in enumerate(weights.items()) if n % 7}),
        (
            "has NaN or infinity in",
            lambda weights: {k: v * float("nan") for k, v in weights.items()},
        ),
    ],
)
def test_a_model_whose_weights_are_not_whole_is_refused(
    tmp_path: Path, fault: str, change: Callable[[Row], Row]
) -> None:
    """An embedded model, saved without every seventh tensor, or with NaN."""
    from safetensors.torch import load, save_file

    from hqm.respondents import hf_loading

    model = Path(hqm.__file__).parents[1] / "benchmarks" / "shapes" / "respondents" / "dim"
    for file in model.iterdir():
        if file.suffix != ".xz":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load(lzma.decompress((model / "model.safetensors.xz").read_bytes()))
    save_file(change(weights), tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(hqm.RespondentError, match=pattern_of("silent.weights", fault=fault)):
        hf_loading.load(
            str(tmp_path),
            revision="",
            device="cpu",
            dtype="float32",
            attention="eager",
            name="hf/dim",
        )


@needs_torch
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_of_nan_end_a_respondent(
    monkeypatch: pytest.MonkeyPatch, temperature: float
) -> None:
    """They are no token's: the first in the vocabulary was taken for the answer."""
    import torch

    respondent: Any = make_respondent("hf/shapes:half-trained")
    model = type(respondent._loaded.model)
    forward = model.forward

    def without_numbers(self: Any, *arguments: Any, **options: Any) -> Any:
        output = forward(self, *arguments, **options)
        output.logits[...] = torch.nan
        return output

    monkeypatch.setattr(model, "forward", without_numbers)
    request = hqm.Request("Is it red?", None, hqm.Sampling(temperature=temperature), 0)
    with pytest.raises(hqm.RespondentError, match="NaN"):
        list(respondent.answer([request]))


ROWS: dict[str, tuple[Row, str]] = {
    "a run that no count is": ({"run": 10**30}, pattern_of("silent.no-count")),
    "another form": (
        {"form": "parallel"},
        pattern_of(
            "silent.another-cell", n=2, cells=re.compile(".*, form parallel, .*: 1 answers")
        ),
    ),
    "a second run": (
        {"run": 1},
        pattern_of("silent.another-cell", n=2, cells=re.compile(".*, run 1: 1 answers")),
    ),
    "a second respondent": (
        {"respondent": "mb"},
        pattern_of("silent.another-cell", n=2, cells=re.compile(".*mb, form .*")),
    ),
    "no picture": ({"sight": "blind"}, pattern_of("silent.another-sight", sight="blind")),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_row_of_another_administration_is_not_scored_with_the_others(
    tmp_path: Path, run: Run, case: str
) -> None:
    changes, pattern = ROWS[case]
    folder, rows = benchmark(tmp_path)
    records = [{"item": row["id"], "answer": "yes"} for row in rows]
    records[5] |= changes
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    status, _, stderr = run("score", folder, "--answers", tmp_path / "a.jsonl")
    assert status == 1
    assert re.search(pattern, stderr)
    assert "record 6" in stderr or "administrations" in stderr


@pytest.mark.parametrize("command", ["score", "audit", "import"])
def test_answers_whose_keys_are_turned_round_are_refused(
    tmp_path: Path, run: Run, command: str
) -> None:
    folder, rows = benchmark(tmp_path)
    records = [
        {"item": row["id"], "answer": "yes", "target": TURNED[row["target"]]} for row in rows
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    store = tmp_path / "s.sqlite"
    words: list[object] = {
        "score": ["score", folder, "--answers", tmp_path / "a.jsonl"],
        "audit": ["audit", folder, "--recorded", tmp_path / "a.jsonl", "--out", tmp_path / "o"],
        "import": ["import", tmp_path / "a.jsonl", "--benchmark", folder, "--store", store],
    }[command]
    status, _, stderr = run(*words)
    assert status == 1
    assert tells(stderr, "silent.other-keys", count=24, rows=24)


def test_the_keys_of_a_log_that_differ_are_said_where_it_is_scored(
    tmp_path: Path, run: Run
) -> None:
    folder, rows = benchmark(tmp_path)
    records = [
        {"doc_id": i, "doc": {"question": row["prompt"]}, "resps": [["yes"]]}
        | {"target": TURNED[row["target"]] if i < 3 else row["target"], "filtered_resps": ["yes"]}
        for i, row in enumerate(rows)
    ]
    log = tmp_path / "samples_mine.jsonl"
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    for words in (["score", folder, "--answers"], ["audit", folder, "--no-report", "--recorded"]):
        store = ["--store", tmp_path / "s.sqlite"] if words[0] == "audit" else []
        status, _, stderr = run(*words, log, *store)
        assert status == 0, stderr
        assert tells(stderr, "silent.other-keys", count=3, rows=24)


def test_beside_what_a_model_wrote_the_answer_is_the_key(tmp_path: Path, run: Run) -> None:
    folder, rows = benchmark(tmp_path)
    records = [{"item": row["id"], "answer": row["target"], "response": "no"} for row in rows]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    status, output, _ = run("score", folder, "--answers", tmp_path / "a.jsonl", "--json")
    share = sum(row["target"] == "no" for row in rows) / len(rows)
    assert (status, json.loads(output)["metrics"]["accuracy"]) == (0, pytest.approx(share))


def test_a_corrected_key_of_other_questions_is_refused(tmp_path: Path, run: Run) -> None:
    folder, rows = benchmark(tmp_path)
    for name, asks in (("a.jsonl", str), ("k.jsonl", "Does sign {} say STOP?".format)):
        records = [
            {"item": row["id"], "answer": "yes", "target": row["target"]}
            | ({"question": asks(row["id"])} if name == "k.jsonl" else {})
            for row in rows
        ]
        (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    words = ["score", folder, "--answers", tmp_path / "a.jsonl", "--key", tmp_path / "k.jsonl"]
    status, _, stderr = run(*words)
    assert (status, "k.jsonl: 24 of 24 rows" in stderr) == (1, True)


@pytest.mark.parametrize(
    ("head", "row"),
    [("tp,fp,tn,fn", "-5,3,140,7"), ("Accuracy,F1", "-5,40"), ("Accuracy,F1", "120,40")],
)
def test_a_number_that_no_count_and_no_rate_is_contradicts_its_table(
    tmp_path: Path, head: str, row: str
) -> None:
    from hqm_tables.table_audit import audit_table, read_table

    other_rows = ["130,4,139,8", "135,2,141,3"] if "tp" in head else ["70,50", "75,55"]
    rows = [
        f"model,{head}",
        f"x,{row}",
        *(f"m{i},{other_row}" for i, other_row in enumerate(other_rows)),
    ]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    (contradiction,) = audit_table(read_table(tmp_path / "t.csv")).violations
    assert (contradiction["kind"], contradiction["row"]) == ("OUT_OF_BOUNDS", "x")
    assert contradiction["printed"] == row.partition(",")[0]


def test_an_archive_that_unfolds_like_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its members is within the limit."""
    from hqm.files import archives
    from hqm.imports.detect import read_logs

    head = json.dumps({"eval": {"model": "m", "task": "t"}, "status": "success"})
    with zipfile.ZipFile(tmp_path / "a.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", head)
        for i in range(4):
            archive.writestr(f"samples/{i}_epoch_1.json", json.dumps({"pad": " " * 400_000}))
    monkeypatch.setattr(archives, "_MAX_UNFOLDED_BYTES", 1 << 20)
    with pytest.raises(hqm.DataError, match=pattern_of("silent.unfolds", size=1)):
        read_logs([tmp_path / "a.eval"])


def test_a_worker_that_sends_nothing_is_told_of_until_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hqm.administration.engines import local
    from hqm.respondents.base import listening

    messages: list[tuple[str, bool]] = []
    worker = local._Worker(SimpleNamespace(pid=77), None, local._Shard(0, []))
    with listening(lambda message, begins: messages.append((message, begins))):
        worker.note_message()
        worker.report_silence()
        assert messages == []
        monkeypatch.setattr(local, "_MAX_SILENCE", 0.0)
        worker.report_silence()
        worker.report_silence()
        ((message, begins),) = messages
        assert (begins, tells(message, "silent.unheard", number=77, seconds=0)) == (True, True)
        worker.note_message()
        assert messages[1:] == [(message, False)]
        worker.shard = None  # it has nothing to do
        worker.report_silence()
        assert len(messages) == 2


def test_people_are_shown_what_a_model_sees(tmp_path: Path) -> None:
    """The first frame of a moving picture, and what is clear on white."""
    from hqm_label.page import picture_bytes

    frames = [Image.new("RGB", (40, 40), color) for color in ("red", "green")]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    Image.new("RGBA", (40, 40), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    for name, color in (("moving.gif", (255, 0, 0)), ("clear.png", (255, 255, 255))):
        content, kind = picture_bytes(tmp_path / name)
        picture = Image.open(io.BytesIO(content))
        assert (kind, getattr(picture, "n_frames", 1)) == ("image/png", 1)
        assert picture.convert("RGB").getpixel((5, 5)) == color


@pytest.mark.parametrize("pair", [[-1.2, True], ["-1.2", "False"]])
def test_a_likelihood_alone_is_no_answer(tmp_path: Path, pair: list[Any]) -> None:
    from hqm.imports.detect import read_logs

    record = {"doc_id": 0, "doc": {"question": "Is it?"}, "target": 0, "resps": [[pair]]}
    (tmp_path / "samples_x.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(hqm.AnswerError, match="likelihoods of one text"):
        read_logs([tmp_path / "samples_x.jsonl"])
    # of several options the likeliest was chosen
    record["resps"] = [[["-7", "False"]], [pair], [["-3", "False"]]]
    (tmp_path / "samples_x.jsonl").write_text(json.dumps(record) + "\n")
    (log,) = read_logs([tmp_path / "samples_x.jsonl"])
    (row,) = log.rows
    assert row.answer is not None
    assert row.answer.text == "1"


def sheet(path: Path, rows: str) -> Path:
    """A sheet of Excel whose rows are these, in XML."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(("item", "answer"))
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    page = "xl/worksheets/sheet1.xml"
    members[page] = members[page].replace(b"</sheetData>", rows.encode() + b"</sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


CELL = '<row r="{row}"><c r="{cell}" t="inlineStr"><is><t>{text}</t></is></c></row>'


def test_a_sheet_is_read_for_what_it_holds_and_refused_where_it_unfolds(tmp_path: Path) -> None:
    from hqm.files.records import read_records

    corner = CELL.format(row=1 << 20, cell=f"XFD{1 << 20}", text="x")
    with pytest.raises(hqm.DataError, match=pattern_of("odd.nameless")):
        read_records(sheet(tmp_path / "corner.xlsx", corner))
    far_cell = CELL.format(row=10**11, cell=f"A{10**11}", text="x")
    with pytest.raises(hqm.DataError, match=pattern_of("silent.sheet-rows")):
        read_records(sheet(tmp_path / "far.xlsx", far_cell))
    long_cell = CELL.format(row=2, cell="A2", text="a" * (80 << 20))
    with pytest.raises(hqm.DataError, match=pattern_of("silent.unfolds")):
        read_records(sheet(tmp_path / "long.xlsx", long_cell))


def test_an_archive_that_is_packed_in_an_unknown_way_is_no_archive(tmp_path: Path) -> None:
    from hqm.imports.detect import read_logs

    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}" * 100)
    content = path.read_bytes()
    # the method of compression, in the member's own head and in the directory
    path.write_bytes(content.replace(b"\x14\0\0\0\x08\0", b"\x14\0\0\0\x61\0"))
    with pytest.raises(hqm.DataError, match="compression"):
        read_logs([path])


CARD = {"name": "a", "title": "A", "version": "1", "task": "yes_no", "data": {"items": "a.jsonl"}}


SHORT, NUL, OUTSIDE_PATH = (
    pattern_of("card.short"),
    pattern_of("card.nul"),
    pattern_of("card.outside"),
)


@pytest.mark.parametrize(
    ("pattern", "section"),
    [
        (SHORT, {"version": ""}),
        (SHORT, {"title": ""}),
        (NUL, {"title": "a\0"}),
        (NUL, {"prompt": {"prefix": "\0"}}),
        (OUTSIDE_PATH, {"data": {"items": "../mine/items.jsonl"}}),
        (OUTSIDE_PATH, {"data": {"items": "/etc/passwd"}}),
        (OUTSIDE_PATH, {"data": {"items": "a.jsonl", "folder": "b\\..\\.."}}),
    ],
)
def test_a_card_names_what_lies_with_it_and_says_something(pattern: str, section: Row) -> None:
    assert Card.parse(CARD, "card.toml").version == "1"
    with pytest.raises(hqm.CardError, match=pattern):
        Card.parse({**CARD, **section}, "card.toml")


def test_one_audit_given_twice_is_refused(tmp_path: Path, run: Run) -> None:
    older = Path(__file__).parents[1] / "audit_0_1_0.json"
    copy = tmp_path / "copy.json"
    copy.write_bytes(older.read_bytes())
    twice = json.loads(older.read_text("utf-8"))
    twice["audits"] *= 2
    (tmp_path / "twice.json").write_text(json.dumps(twice), encoding="utf-8")
    for words in (
        ("compare", older, copy, "--to", tmp_path / "c.html"),
        ("report", older, copy, "--to", tmp_path / "t.tex"),
        ("report", tmp_path / "twice.json", "--to", tmp_path / "t.tex"),
    ):
        status, _, err = run(*words)
        assert (status, tells(err, "silent.one-audit-twice")) == (1, True), err
        assert not str(words[1]).endswith("twice.json") or "twice.json: " in err
    assert {path.name for path in tmp_path.iterdir()} == {"copy.json", "twice.json"}
