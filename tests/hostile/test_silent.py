"""What once passed in silence, or ended in a traceback: evidence without any spread, tables on two
scales, names that look alike, stores that are none, keys in addresses, weights that are not whole.
"""

import json
import lzma
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hqm
from hqm.respondents.base import KEY, RespondentName
from hqm.store.sqlite import connect, writing
from tests.conftest import Run, needs_torch, write_benchmark
from tests.messages import pattern_of, tells

Row = dict[str, Any]
TURNED = {"yes": "no", "no": "yes"}
ALIKE: dict[str, Callable[[str, int, str], str | None]] = {
    "all say yes": lambda who, i, key: "yes",
    "all are right": lambda who, i, key: key,
    "all are wrong": lambda who, i, key: TURNED[key],
    "all are empty": lambda who, i, key: "",
    "none can be read": lambda who, i, key: "purple",
    "one item": lambda who, i, key: key if i == 0 else None,
    "one differs": lambda who, i, key: "yes" if who == "ma" else "no",
}


def benchmark(folder: Path) -> tuple[Path, list[Row]]:
    rows = [
        {"id": f"q{i}", "prompt": f"Is there a thing {i}?", "target": ("yes", "no")[i * 7 % 3 % 2]}
        for i in range(24)
    ]
    return write_benchmark(folder / "mine", rows), rows


def recorded(
    file: Path, rows: list[Row], say: Callable[[str, int, str], str | None], who: int
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
        for k in range(who)
        for form in ("original", "parallel")
        for run in (0, 1)
        for i, row in enumerate(rows)
    ]
    file.write_text(
        "".join(json.dumps(record) + "\n" for record in records if record["answer"] is not None)
    )
    return file


@pytest.mark.parametrize("who", [1, 3])
@pytest.mark.parametrize("name", ALIKE)
def test_evidence_without_spread_is_audited_and_every_command_reads_it(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, name: str, who: int
) -> None:
    monkeypatch.chdir(tmp_path)  # a page goes to the folder that the command runs in
    folder, rows = benchmark(tmp_path)
    answers = recorded(tmp_path / "answers.jsonl", rows, ALIKE[name], who)
    status, _, said = run("audit", folder, "--recorded", answers, "--out", tmp_path / "out")
    assert status == 0, said
    audit = tmp_path / "out" / "audit.json"
    assert (tmp_path / "out" / "report.html").exists()
    for command in (
        ["report", audit],
        ["report", audit, "--card"],
        ["gate", audit],
        ["compare", audit, audit],
        ["design", audit, "--target", "mdd<=.05"],
    ):
        status, out, said = run(*command)
        assert status in (0, 1, 2), (command, said)
        assert status == 0 or out or said


def test_an_audit_is_written_though_its_report_cannot_be_drawn(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hqm.reports import report_page

    def fails(audit: hqm.Audit, *_: object) -> str:
        raise ZeroDivisionError(str(audit.hqm_version))

    monkeypatch.setattr(report_page, "render", fails)
    folder, rows = benchmark(tmp_path)
    answers = recorded(tmp_path / "answers.jsonl", rows, ALIKE["one differs"], 3)
    status, _, said = run("audit", folder, "--recorded", answers, "--out", tmp_path / "out")
    assert status == 0
    assert tells(said, "silent.no-report", folder=tmp_path / "out")
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
    status, _, said = run("table", table(2))
    assert status == 1
    assert tells(said, "silent.two-scales", count=2, rows=8, names="m0, m1")


@pytest.mark.parametrize(
    "options", [["--columns", "a,a"], ["--direction", "a=lower", "--direction", "a=higher"]]
)
def test_an_option_that_says_two_things_is_refused(
    tmp_path: Path, run: Run, options: list[str]
) -> None:
    (tmp_path / "t.csv").write_text("model,a,b\nx,.1,.2\ny,.3,.4\nz,.5,.6\n")
    assert run("table", tmp_path / "t.csv", *options)[0] == 2


@pytest.mark.parametrize("other", ["caf\u00e9 ", unicodedata.normalize("NFD", "caf\u00e9")])
def test_respondents_whose_names_look_the_same_are_refused(
    tmp_path: Path, run: Run, other: str
) -> None:
    folder, rows = benchmark(tmp_path)
    records = [
        {"item": row["id"], "respondent": name, "answer": "yes"}
        for row in rows
        for name in ("caf\u00e9", other)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    status, _, said = run("audit", folder, "--recorded", tmp_path / "a.jsonl")
    assert status == 1
    assert tells(said, "silent.look-alike")


def test_what_is_no_store_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(hqm.StoreError, match=pattern_of("silent.folder")):
        connect(tmp_path)
    (tmp_path / "loop.sqlite").symlink_to(tmp_path / "loop.sqlite")
    with pytest.raises(hqm.StoreError, match=pattern_of("silent.loop")):
        connect(tmp_path / "loop.sqlite")


def test_no_key_stands_in_a_name_or_in_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-" + "a1" * 16
    with pytest.raises(hqm.UsageError) as refused:
        RespondentName.parse(f"openai/x@http://127.0.0.1:9/{key}/v1")
    assert key not in str(refused.value)
    assert KEY.sub("<key>", f"at {key}: no") == "at <key>: no"
    monkeypatch.setattr("sys.argv", ["hqm", "audit", f"openai/x@http://h/{key}"])
    with writing(tmp_path / "s.sqlite"):
        held = (tmp_path / "s.sqlite.lock").read_text()
    assert key not in held
    assert "hqm audit" in held


def test_a_picture_that_cannot_be_shown_is_missing_and_no_fault_of_the_server(
    tmp_path: Path,
) -> None:
    from hqm.labels.page import picture_bytes

    whole = tmp_path / "whole.png"
    Image.fromarray(np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) * 16).save(whole)
    assert picture_bytes(whole)[1] == "image/png"
    (tmp_path / "cut.png").write_bytes(whole.read_bytes()[:-40])
    (tmp_path / "drawn.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    for name in ("cut.png", "drawn.svg"):
        with pytest.raises(hqm.ImageError):
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
    whole = load(lzma.decompress((model / "model.safetensors.xz").read_bytes()))
    save_file(change(whole), tmp_path / "model.safetensors", metadata={"format": "pt"})
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

    respondent: Any = hqm.make_respondent("hf/shapes:half-trained")
    model = type(respondent._loaded.model)
    forward = model.forward

    def without_numbers(self: Any, *arguments: Any, **named: Any) -> Any:
        output = forward(self, *arguments, **named)
        output.logits[...] = torch.nan
        return output

    monkeypatch.setattr(model, "forward", without_numbers)
    asked = hqm.Request("Is it red?", None, hqm.Sampling(temperature=temperature), 0)
    with pytest.raises(hqm.RespondentError, match="NaN"):
        list(respondent.answer([asked]))
