"""Bad input through the commands: one sentence, the place, the remedy; never a traceback, never a
silent wrong number.
"""

from __future__ import annotations

import copy
import errno
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.audit_rows import RespondentScores
from hqm.errors import ImageError
from hqm.files.cache import safe_name
from hqm.forms.make_forms import read_form
from hqm.types import Cell, Estimate, Form, Interval, Item
from tests.conftest import Run, needs_torch, write_benchmark
from tests.messages import tells

DELETED = "the key is taken out"
DEEP = "[" * 100_000
DIGITS = "9" * 5_000


def one_sentence(err: str) -> str:
    """The sentence of a command that ended; fails where there is a traceback, or nothing was
    said.
    """
    assert "Traceback" not in err, err
    lines = [line for line in err.splitlines() if line.startswith("hqm: ")]
    assert len(lines) == 1, err
    return lines[0]


# --- audit.json ---


def plain_audit() -> dict[str, Any]:
    """A small audit with one of everything that a report reads."""
    first, rerun = str(Cell()), str(Cell(run=1))
    respondents = tuple(
        RespondentScores(
            name,
            {"accuracy": score},
            {"accuracy": [score - 0.1, score + 0.1]},
            {"ocr": score},
            {first: {"accuracy": score}, rerun: {"accuracy": score}},
            {first: {"ok": 4}, rerun: {"ok": 4}},
            {first: 0.5},
            {first: 1.0},
            {},
            {"kind": "recorded"},
        )
        for name, score in (("recorded/a", 0.25), ("recorded/b", 0.5), ("recorded/c", 0.75))
    )
    interval = Interval(0.8, 1.0, "fixed_models", "jackknife")
    components = [
        {"facet": "item", "variance": 0.1, "raw": 0.1, "share": 0.5, "low": 0.0, "high": 0.2}
    ]
    estimates = (
        Estimate(
            "test_retest.pearson",
            "accuracy",
            "run",
            first,
            rerun,
            1.0,
            intervals=(interval,),
            n_respondents=3,
            n_items=4,
            flags=("FEW_MODELS",),
            signature="s:1",
            detail={"without_low": 0.9, "strongest": "recorded/a"},
        ),
        Estimate(
            "generalizability.g",
            "accuracy",
            "run",
            first,
            rerun,
            0.9,
            signature="s:2",
            detail={"varied": "run", "components": components, "d_study": [], "curve": []},
        ),
        Estimate(
            "items.dead_items",
            "accuracy",
            "",
            first,
            "",
            1.0,
            signature="s:3",
            detail={"items": ["q1"], "of": 4},
        ),
        Estimate(
            "consistency.alpha",
            "accuracy",
            "",
            first,
            "",
            None,
            "insufficient",
            "alpha needs more",
            signature="s:4",
        ),
        Estimate(
            "discriminability.separable_pairs",
            "accuracy",
            "",
            first,
            "",
            1.0,
            signature="s:5",
            detail={"ranks": {"recorded/a": [3, 3]}, "tied_sets": [["recorded/a"]]},
        ),
    )
    answer = {
        "respondent": "recorded/a",
        "cell": first,
        "text": "yes",
        "state": "ok",
        "read": "yes",
        "reason": "",
        "value": 1.0,
        "judge_words": [],
    }
    example = {
        "item": "q1",
        "type": "ocr",
        "image": "",
        "thumbnail": "",
        "facets": {"run": 0.5},
        "prompts": {"original": "?"},
        "targets": {"original": "yes"},
        "answers": [answer],
        "respondents": 3,
    }
    audit = BenchmarkAudit(
        benchmark="mine",
        title="Mine",
        version="1",
        task="yes_no",
        scoring="official",
        parser="strict",
        summary="",
        reference=first,
        n_items=4,
        images=4,
        metrics={"accuracy": {"about": "", "better": "higher", "scale": [0.0, 1.0]}},
        forms={
            "original": {"items": 4, "left_out": 0, "rules": {"(as it was)": 4}, "digest": "b2:0"}
        },
        truth_yes={"original": 0.5},
        cells=(first, rerun),
        respondents=respondents,
        all_estimates=estimates,
        coverage={
            "ocr": {
                "type": "ocr",
                "claimed": True,
                "items": 4,
                "images": 4,
                "wordings": 4,
                "labelled": True,
                "state": "labelled",
            }
        },
        findings=(
            {
                "code": "L201",
                "name": "label-by-position",
                "severity": "warning",
                "sentence": "s",
                "count": 1,
                "examples": [],
                "place": "",
            },
        ),
        flags=(
            {
                "flag": "FEW_MODELS",
                "metric": "accuracy",
                "about": "",
                "sentence": "s",
                "what_to_do": "w",
                "numbers": {"n": 3},
            },
        ),
        families={"recorded/a": "a"},
        examples=(example,),
    )
    loaded: dict[str, Any] = json.loads(
        Audit((audit,), "hqm audit mine", {"packages": {"numpy": "2"}}).to_json()
    )
    return loaded


A = "audits.0"
R, E, X = f"{A}.respondents.0", f"{A}.estimates.0", f"{A}.examples.0"
CELL = "form=original|run=0|judge=rule"
EDITS: list[tuple[str, Any, str]] = [
    # what is changed, into what, and the path that the sentence must name ("" for the file as a
    # whole)
    *[
        (key, DELETED, key)
        for key in (
            "command",
            "record",
            "hqm_version",
            f"{A}.metrics",
            f"{A}.cells",
            f"{A}.task",
            f"{A}.items",
        )
    ],
    *[
        (key, DELETED, key)
        for key in (
            f"{A}.respondents",
            f"{A}.estimates",
            f"{A}.coverage",
            f"{A}.reference",
            f"{A}.findings",
        )
    ],
    *[
        (key, DELETED, key)
        for key in (
            f"{R}.name",
            f"{R}.scores",
            f"{R}.states",
            f"{E}.value",
            f"{E}.signature",
            f"{E}.methods",
        )
    ],
    *[
        (key, DELETED, key)
        for key in (
            f"{X}.answers",
            f"{X}.answers.0.text",
            f"{A}.metrics.accuracy.better",
            f"{A}.forms.original.digest",
        )
    ],
    *[
        (key, "many", key)
        for key in (
            f"{A}.items",
            f"{A}.images",
            f"{R}.scores.accuracy",
            f"{E}.value",
            f"{E}.n_respondents",
        )
    ],
    *[
        (key, "many", key)
        for key in (
            f"{A}.coverage.ocr.items",
            f"{A}.coverage.ocr.claimed",
            f"{X}.facets.run",
            f"{R}.by_type.ocr",
        )
    ],
    *[(key, True, key) for key in (f"{A}.items", f"{R}.scores.accuracy", f"{E}.value")],
    *[
        (key, 7, key)
        for key in (
            f"{A}.title",
            f"{R}.name",
            f"{E}.reason",
            f"{A}.flags.0.sentence",
            f"{X}.answers.0.text",
        )
    ],
    *[
        (key, None, key)
        for key in (
            f"{A}.title",
            f"{A}.cells",
            f"{A}.respondents",
            f"{R}.name",
            f"{E}.status",
            f"{E}.detail",
        )
    ],
    *[
        (key, [], key)
        for key in ("audits", f"{A}.cells", f"{R}.scores", f"{E}.detail", f"{A}.coverage", "record")
    ],
    *[
        (key, {}, key)
        for key in (
            f"{A}.metrics",
            f"{A}.respondents",
            f"{A}.estimates",
            f"{A}.findings",
            f"{A}.examples",
        )
    ],
    *[
        (key, -1, key)
        for key in (
            f"{A}.items",
            f"{A}.coverage.ocr.items",
            f"{R}.states.{CELL}.ok",
            f"{X}.respondents",
        )
    ],
    *[
        (key, float("nan"), key)
        for key in (
            f"{R}.scores.accuracy",
            f"{E}.value",
            f"{E}.detail.without_low",
            f"{A}.truth_yes.original",
        )
    ],
    *[
        (key, float("inf"), key)
        for key in (f"{R}.cells.{CELL}.accuracy", f"{E}.intervals.fixed_models.1", "record.x")
    ],
    (f"{A}.task", "riddle", f"{A}.task"),
    (f"{E}.status", "fine", f"{E}.status"),
    (f"{A}.reference", "form=original|run=9|judge=rule", f"{A}.reference"),
    (f"{A}.reference", "yesterday", f"{A}.reference"),
    (f"{A}.cells.1", "run=-1", f"{A}.cells.1"),
    (f"{E}.first", "form", f"{E}.first"),
    (f"{X}.answers.0.cell", "seat=4", f"{X}.answers.0.cell"),
    (f"{A}.metrics.accuracy.better", "more", f"{A}.metrics.accuracy.better"),
    (f"{A}.findings.0.severity", "fatal", f"{A}.findings.0.severity"),
    (f"{R}.states.{CELL}.asleep", 3, f"{R}.states.{CELL}.asleep"),
    (f"{A}.respondents.1.name", "recorded/a", f"{A}.respondents.1.name"),
    (f"{A}.grade", "A+", f"{A}.grade"),
    (f"{R}.grade", "A+", f"{R}.grade"),
    (f"{E}.grade", "A+", f"{E}.grade"),
    ("grade", "A+", "grade"),
    (f"{E}.intervals.fixed_models", [1.0, 0.8], f"{E}.intervals.fixed_models"),
    (f"{E}.intervals.fixed_models", [0.8], f"{E}.intervals.fixed_models"),
    (f"{E}.intervals.other", [0.8, 0.9], f"{E}.methods"),
    (f"{E}.methods.fixed_models", "jackknife", f"{E}.methods.fixed_models"),
    (f"{E}.methods.fixed_models", "jackknife, 95", f"{E}.methods.fixed_models"),
    (f"{E}.detail.strongest", 4, f"{E}.detail.strongest"),
    (f"{E}.detail.without_low", "low", f"{E}.detail.without_low"),
    (f"{A}.estimates.1.detail.components", 4, f"{A}.estimates.1.detail.components"),
    (f"{A}.estimates.1.detail.components.0", "x", f"{A}.estimates.1.detail.components.0"),
    (
        f"{A}.estimates.1.detail.components.0.share",
        "half",
        f"{A}.estimates.1.detail.components.0.share",
    ),
    (f"{A}.estimates.1.detail.varied", 2, f"{A}.estimates.1.detail.varied"),
    (f"{A}.estimates.2.detail.items", 4, f"{A}.estimates.2.detail.items"),
    (f"{A}.estimates.3.status", "ok", f"{A}.estimates.3.value"),
    (
        f"{A}.estimates.4.detail.ranks.recorded/a",
        "first",
        f"{A}.estimates.4.detail.ranks.recorded/a",
    ),
    (f"{A}.estimates.4.detail.tied_sets", [4], f"{A}.estimates.4.detail.tied_sets.0"),
    (f"{A}.title", "half \ud800", f"{A}.title"),
    ("record.deep", json.loads("[" * 60 + "]" * 60), "record.deep"),
    # values that are impossible: beside their scale, their interval, the items that there are
    (f"{R}.scores.accuracy", 55.0, f"{R}.scores.accuracy"),
    (f"{R}.cells.{CELL}.accuracy", -0.1, f"{R}.cells.{CELL}.accuracy"),
    (f"{R}.by_type.ocr", 55.0, f"{R}.by_type.ocr"),
    (f"{R}.yes_ratio.{CELL}", 3.0, f"{R}.yes_ratio.{CELL}"),
    (f"{R}.intervals.accuracy", [0.8, 0.9], f"{R}.intervals.accuracy"),
    (f"{R}.states.{CELL}.ok", 9_999, f"{R}.states.{CELL}"),
    (f"{E}.value", 3.0, f"{E}.value"),
    (f"{E}.intervals.fixed_models", [0.1, 0.2], f"{E}.intervals.fixed_models"),
    (f"{E}.n_items", -4, f"{E}.n_items"),
    ("hqm_version", "7.0.0", "hqm_version"),
]


def edited(path: str, value: Any) -> dict[str, Any]:
    audit = plain_audit()
    container: Any = audit
    *keys, last = path.split(".")
    for key in keys:
        container = container[int(key)] if isinstance(container, list) else container[key]
    if value is DELETED:
        del container[last]
    elif isinstance(container, list):
        container[int(last)] = value
    else:
        container[last] = copy.deepcopy(value)
    return audit


def test_the_plain_audit_is_read_by_every_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text(json.dumps(plain_audit()))
    assert run("gate", tmp_path / "audit.json")[0] == 1
    for name in ("r.html", "t.tex", "t.csv", "t.json"):
        assert run("report", tmp_path / "audit.json", "--to", tmp_path / name)[0] == 0


@pytest.mark.parametrize(("path", "value", "key_path"), EDITS, ids=lambda value: str(value)[:60])
def test_an_edited_audit_is_refused_by_the_path_of_its_key(
    run: Run, tmp_path: Path, path: str, value: Any, key_path: str
) -> None:
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(edited(path, value)))
    status, _, err = run("report", file, "--to", tmp_path / "r.html")
    assert status == 1, err
    sentence = one_sentence(err)
    key_path = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", key_path)
    assert sentence.startswith(f"hqm: {file}: the key {key_path!r}"[:-1]), sentence
    remedy = "hqm-audit" if value == "7.0.0" else "hqm audit"
    assert remedy in sentence, "the remedy"
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "no audit"),
        ("null", "no audit"),
        ("7", "no audit"),
        ('"audit"', "no audit"),
        ("{}", "no audit"),
        ('{"audits": 1}', "'hqm_version'"),
        ('{"hqm_version": "0.1.0", "command": "", "record": {}, "audits": 1}', "'audits'"),
        ('{"hqm_version": "0.1.0", "command": "", "record": {}, "audits": [1]}', "'audits[0]'"),
        ('{"hqm_version": "0.1.0", "command": "", "record": {}, "audits": {}}', "'audits'"),
    ],
)
@pytest.mark.parametrize("command", ["report", "gate", "compare"])
def test_a_file_that_is_no_audit(
    run: Run, tmp_path: Path, command: str, text: str, sentence: str
) -> None:
    file = tmp_path / "audit.json"
    file.write_text(text)
    to = [] if command == "gate" else ["--to", tmp_path / "r.html"]
    status, _, err = run(command, file, *to)
    assert (status, sentence in one_sentence(err)) == (1, True), err


# --- published tables ---


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        *[
            (f"model,a,b\nx,{cell},2\ny,2,3\nz,3,1\n", f"{cell[:20]}")
            for cell in (
                "inf",
                "-inf",
                "Infinity",
                "1E+999",
                "1e400",
                "1e99",
                "1e-300",
                "1_000",
                "0x10",
                "1,5e",
                "１",
                "٣",
                "1e",
                "1.2.3",
                "yes",
                "1 2",
                "½",
                "9" * 5_000,
                "1j",
                "=1+1",
                "True",
                "None",
            )
            if "," not in cell
        ],
        ("model,a,a\nx,1,2\ny,2,3\n", "stands twice"),
        ("model,a,\nx,1,2\ny,2,3\n", "no name"),
        ("model,a,b\n,1,2\ny,2,3\n", "no name"),
        ("model,a,b\nx,1,2\nx,2,3\n", "stands twice"),
        ("model,a,b\nx,,\ny,-,NA\n", "no score"),
        ("model,a,b\nx,1,2,3\n", "fields"),
        ("model\nx\n", "no table"),
        ("", "no table"),
        ("\n\n\n", "no table"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_table_with_a_cell_that_is_no_score(
    run: Run, tmp_path: Path, text: str, sentence: str
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text, encoding="utf-8")
    status, output, err = run("table", file)
    assert status == 1, output
    assert sentence[:20] in one_sentence(err).replace("'", "")
    assert str(file) in err


@pytest.mark.parametrize("dash", ["", "-", "–", "—", "--", "---", "n/a", "N/A", "NA"])
def test_a_table_with_an_empty_cell_is_audited(run: Run, tmp_path: Path, dash: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"model,a,b,mean\nx,1,2,1.5\ny,{dash},3,\nz,3,1,2\nv,4,2,3\n", encoding="utf-8")
    status, _, err = run("table", file, "--items", 10)
    assert (status, err) == (0, "")


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (n, options)
        for n in (1, 2, 3)
        for options in (
            [],
            ["--items", "100"],
            ["--columns", "a,b"],
            ["--columns", "a,b", "--items", "9"],
        )
    ],
)
def test_a_table_of_few_respondents_has_no_warning(
    run: Run, tmp_path: Path, rows: int, options: list[str]
) -> None:
    file = tmp_path / "t.csv"
    file.write_text(
        "model,a,b\n" + "".join(f"m{i},0.{i}5,0.{i + 2}5\n" for i in range(rows)), encoding="utf-8"
    )
    status, _, err = run("table", file, *options)
    assert (status, err) == (0, "")


# --- policies ---


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        *[
            (
                (
                    'name = "p"\n[[require]]\nindicator = "test_retest.rho_g"\nexact ='
                    f" true\nat_least = {end}\n"
                ),
                "finite",
            )
            for end in ("-inf", "inf", "nan", "1e999")
        ],
        ('name = "p"\n[limits]\nunscored = nan\n', "limits.unscored"),
        ('name = "p"\n[limits]\nunscored = 1.5\n', "limits.unscored"),
        ('name = "p"\n[limits]\nfindings = "fatal"\n', "limits.findings"),
        ('name = "p"\n[required]\nrespondents = -1\n', "required.respondents"),
        ('name = "p"\n[required]\nfacets = ["moon"]\n', "required.facets"),
        (f'name = "p"\n[required]\nrespondents = {DIGITS}\n', "cannot be read"),
        (f'name = "p"\nx = {"[" * 5_000}{"]" * 5_000}\n', "nested"),
        ('name = "p"\nname = "q"\n', "no TOML"),
        ("name = 2024-99-99\n", "no TOML"),
        ("name = 2023-02-30\n", "no TOML"),
        ("name = ", "no TOML"),
        ("", "name"),
        ('name = "p"\n[[require]]\nindicator = "x.y"\nexact = true\nat_least = 1\n', "x.y"),
        ('name = "p"\n[[require]]\nindicator = "test_retest.rho_g"\nat_least = 1\n', "interval"),
        ('name = "p"\nrequire = 4\n', "require"),
        ('name = "p"\n[limit]\nunscored = 1\n', "limit"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_policy_that_means_nothing(run: Run, tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "audit.json").write_text(json.dumps(plain_audit()))
    policy = tmp_path / "policy.toml"
    policy.write_text(text)
    status, _, err = run("gate", tmp_path / "audit.json", "--policy", policy)
    assert (status, sentence in one_sentence(err)) == (1, True), err
    assert str(policy) in err


def test_a_policy_with_a_byte_order_mark_is_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text(json.dumps(plain_audit()))
    (tmp_path / "policy.toml").write_text('\ufeffname = "p"\n', encoding="utf-8")
    assert run("gate", tmp_path / "audit.json", "--policy", tmp_path / "policy.toml")[0] == 0


@pytest.mark.parametrize("content", [b'name = "\xff"', b"\x00\x01", b"\xff\xfen\x00"])
def test_a_policy_in_no_encoding(run: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "audit.json").write_text(json.dumps(plain_audit()))
    (tmp_path / "policy.toml").write_bytes(content)
    status, _, err = run("gate", tmp_path / "audit.json", "--policy", tmp_path / "policy.toml")
    assert (status, "policy.toml" in one_sentence(err)) == (1, True)


# --- cards and items before anything is asked: hqm check ---

CARD = 'name = "b"\ntitle = "B"\nversion = "1"\ntask = "yes_no"\n[data]\nitems = "items.jsonl"\n'
ITEM = (
    '{"id": "1", "prompt": "Is it red?", "target": "yes"}\n{"id": "1b", "prompt": "Is it big?",'
    ' "target": "no"}\n'
)


@pytest.mark.parametrize(
    ("card", "items", "code"),
    [
        (f"x = {DIGITS}\n{CARD}", ITEM, "card-unreadable"),
        (f"x = {'[' * 5_000}{']' * 5_000}\n{CARD}", ITEM, "card-unreadable"),
        (f"x = 2023-02-30\n{CARD}", ITEM, "card-unreadable"),
        ("\x00", ITEM, "card-unreadable"),
        (CARD, ITEM + '{"id": ' + DIGITS + "}\n", "record-broken"),
        (CARD, ITEM + '{"id": ' + DEEP + "}\n", "record-broken"),
        (
            CARD,
            ITEM
            + '{"id": "2", "prompt": "Is it blue?", "target": "yes", "image": "'
            + "a" * 300
            + '.png"}\n',
            "image-outside",
        ),
        (
            CARD,
            ITEM
            + '{"id": "2", "prompt": "Is it blue?", "target": "yes", "image": "a\\u0000.png"}\n',
            "image-outside",
        ),
        (
            CARD,
            ITEM + '{"id": "2", "prompt": "Is it blue?", "target": "yes", "image":'
            ' "../../etc/passwd"}\n',
            "image-outside",
        ),
        (CARD, ITEM + "[1]\n", "record-broken"),
        (CARD, ITEM + "nonsense\n", "record-broken"),
        (CARD, "", "items-unreadable"),
        (CARD + "[fields]\nid = 4\n", ITEM, "card-key"),
        (CARD + "[generation]\ntemperature = -1\n", ITEM, "card-key"),
        (CARD.replace('"yes_no"', '"riddle"'), ITEM, "card-key"),
        (CARD.replace("items.jsonl", "items.csv"), None, "items-unreadable"),
    ],
    ids=lambda value: str(value)[-50:],
)
def test_a_faulty_benchmark_is_checked_to_its_end(
    run: Run, tmp_path: Path, card: str, items: str | None, code: str
) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "card.toml").write_text(card)
    if items is not None:
        (tmp_path / "b" / "items.jsonl").write_text(items)
    status, output, err = run("check", tmp_path / "b", "--json", "--strict")
    assert (status, err) == (1, ""), output
    assert code in {
        finding["name"] for checked in json.loads(output) for finding in checked["findings"]
    }


def test_a_card_with_a_byte_order_mark_is_checked(run: Run, tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "b", [json.loads(line) for line in ITEM.splitlines()])
    (folder / "card.toml").write_text(
        "\ufeff" + (folder / "card.toml").read_text(), encoding="utf-8"
    )
    status, output, _ = run("check", folder, "--json")
    assert (status, "card-unreadable" in output) == (0, False)


# --- names of files, benchmarks and pictures ---


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "x" * 300],
        ["audit", "--dry-run", "x" * 300],
        ["audit", "--no-report", "x" * 300],
        ["audit", "x" * 300],
        ["fetch", "x" * 300],
        ["forms", "x" * 300],
        ["score", "x" * 300, "--answers", "a.json"],
        ["report", "x" * 300],
        ["gate", "x" * 300],
        ["table", "x" * 300],
        ["export", "x" * 300, "--to", "a.jsonl"],
        ["import", "x" * 300, "--store", "s.sqlite"],
        ["new", "x" * 300],
        ["check", "a\0b"],
        ["compare", "pope", "--store", "x" * 300],
    ],
    ids=lambda value: " ".join(value)[:30],
)
def test_a_name_that_no_file_can_have(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run(*arguments)
    assert status in (1, 2), err
    assert len(one_sentence(err)) < 1_500


@pytest.mark.parametrize(
    "name",
    ["a" * 256 + ".png", "b/" + "a" * 300, "ü" * 128, "a\0.png", "/etc/passwd", "../a", "c:/x"],
)
def test_a_picture_that_no_folder_can_hold(name: str) -> None:
    with pytest.raises(ImageError):
        safe_name(name, "items.jsonl:1")


# --- forms that somebody edited ---

ORIGINAL = Form(
    "original",
    (
        Item("y", "Is it red?", "yes_no", "yes"),
        Item("c", "What colour?", "choice", "A", options=("red", "blue")),
        Item("v", "What is it?", "vqa", ["cat"]),
    ),
)


@pytest.mark.parametrize(
    "row",
    [
        {"id": "y", "prompt": None},
        {"id": "y", "prompt": ""},
        {"id": "y", "prompt": 5},
        {"id": "y", "prompt": ["x"]},
        {"id": "y"},
        {"id": "y", "prompt": "Is it?", "target": "maybe"},
        {"id": "y", "prompt": "Is it?", "target": None},
        {"id": "z", "prompt": "Is it?"},
        {"id": "c", "prompt": "Which?", "options": 5},
        {"id": "c", "prompt": "Which?", "options": "red|blue"},
        {"id": "c", "prompt": "Which?", "options": {"a": 1, "b": 2}},
        {"id": "c", "prompt": "Which?", "options": ["red"]},
        {"id": "c", "prompt": "Which?", "options": ["red", "red"]},
        {"id": "c", "prompt": "Which?", "options": ["red", None]},
        {"id": "c", "prompt": "Which?", "options": [f"o{i}" for i in range(40)]},
        {"id": "c", "prompt": "Which?", "target": "C"},
        {"id": "c", "prompt": "Which?", "target": ""},
        {"id": "c", "prompt": "Which?", "target": 0},
        {"id": "v", "prompt": "What?", "target": None},
        {"id": "v", "prompt": "What?", "target": {"a": 1}},
    ],
    ids=lambda row: json.dumps(row)[:60],
)
def test_an_edited_form_is_refused_with_the_record(tmp_path: Path, row: dict[str, Any]) -> None:
    file = tmp_path / "form.jsonl"
    file.write_text(json.dumps(row) + "\n")
    with pytest.raises(hqm.DataError, match=r"form\.jsonl: record 1"):
        read_form(file, ORIGINAL)


# --- a new benchmark from a CSV file ---


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "questions"),
        ("a,b\n1,2\n", "questions"),
        ("question\n", "no questions"),
        ("question,answer\nx\n", "fields"),
        ("question,question\na,b\n", "twice"),
        ("question,answer\nx,y,z\n", "fields"),
        ("question,Answer,answer\na,b,c\n", "one name"),
    ],
)
def test_questions_that_make_no_benchmark(
    run: Run, tmp_path: Path, text: str, sentence: str
) -> None:
    (tmp_path / "q.csv").write_text(text)
    status, _, err = run("new", tmp_path / "b", "--from", tmp_path / "q.csv")
    if sentence:
        assert (status, sentence in one_sentence(err)) == (1, True), err
    else:
        assert status == 0


def test_a_long_question_is_taken(run: Run, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,answer\n" + "x" * 200_000 + ",yes\n")
    assert run("new", tmp_path / "b", "--from", tmp_path / "q.csv")[0] == 0


# --- what escapes ---


@pytest.fixture
def failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Path]]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return lambda: sorted(tmp_path.glob("hqm-failure-*.txt"))


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a\nb"),
        KeyError("x"),
        RecursionError(),
        MemoryError(),
        ZeroDivisionError("/"),
        OSError("no name"),
        AssertionError(),
    ],
)
def test_a_fault_in_the_program_ends_as_one_sentence_with_a_file(
    run: Run, failures: Callable[[], list[Path]], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(kind: str) -> None:
        raise error

    monkeypatch.setattr("hqm.commands.data.list_kind", broken)
    monkeypatch.setenv("MY_API_KEY", "sk-a-long-secret")
    status, _, err = run("list", "sk-a-long-secret")
    assert status == 70
    sentence = one_sentence(err)
    (file,) = failures()
    assert str(file) in sentence
    assert type(error).__name__ in sentence
    text = file.read_text()
    assert "Traceback (most recent call last)" in text
    assert "command: hqm list <MY_API_KEY>" in text
    assert "sk-a-long-secret" not in text + err
    assert file.stat().st_mode & 0o077 == 0, "a traceback may quote what a file holds"


def test_a_fault_is_told_even_where_no_file_can_be_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hqm.commands.data.list_kind", lambda kind: 1 / 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    status, _, err = run("list")
    assert (status, tells(one_sentence(err), "output.traceback")) == (70, True)


@pytest.mark.parametrize("number", [1, 13, 21, 28, 30, 36])
def test_what_the_machine_refuses_is_no_fault_of_the_program(
    run: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refused(kind: str) -> None:
        raise OSError(number, os.strerror(number), "a/file")

    monkeypatch.setattr("hqm.commands.data.list_kind", refused)
    status, _, err = run("list")
    assert status == 1
    assert one_sentence(err).startswith(f"hqm: a/file: {os.strerror(number)}. ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        "list benchmarks",
        pytest.param("audit --dry-run {dogs} -r hf/shapes:steady", marks=needs_torch),
    ],
)
def test_output_that_nobody_takes_is_a_sentence_or_nothing(dogs: Path, words: str) -> None:
    hqm_, arguments = [sys.executable, "-m", "hqm"], words.format(dogs=dogs).split()
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run([*hqm_, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert tells(ended.stderr, "output.unwritable", error=os.strerror(errno.ENOSPC))
    closed = f"{shlex.join([*hqm_, *arguments])} >&-"
    ended = subprocess.run(["sh", "-c", closed], stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
