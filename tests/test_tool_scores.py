"""The score that a tool recorded is one more scoring in `hqm compare`, and every answer that it
scores otherwise is listed.
"""

import csv
import io
import json
import re
import shutil
import statistics
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hqm.reports.tables.side_tables import harness_tables

import hqm
from hqm.auditing.score_differences import DifferenceRow, ToolRow
from hqm.commands.options import RunOptions
from hqm.commands.rescoring import audit_readings
from hqm.errors import DesignError
from tests.conftest import Run
from tests.messages import pattern_of, tells, text_of

PUNCTUATION = text_of("tool.punctuation")


@pytest.fixture(scope="module")
def logs(data: Path) -> Path:
    return data / "logs"


def auxmatch(logs: Path, folder: Path, wrong: set[int]) -> Path:
    """VLMEvalKit's predictions after its evaluation: with what it extracted and its score (columns
    of its source).
    """
    rows = json.loads((logs / "vlmevalkit" / "model_steady_POPE.json").read_text())
    for i, row in enumerate(rows):
        extracted = "Yes" if row["prediction"].strip().lower().startswith("yes") else "No"
        row["extracted"], row["score"] = (
            ("Unknown", False) if i in wrong else (extracted, extracted == row["answer"])
        )
    folder.mkdir()
    path = folder / "model_steady_POPE_auxmatch.json"
    path.write_text(json.dumps(rows))
    return path


def again(samples: Path, folder: Path, right: int) -> Path:
    """The same real log as if the tool had been run again, and had scored some answers as right
    that it scored as wrong.
    """
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    for row in rows[:right]:
        row["pope_accuracy"]["score"] = 1.0
    path = folder / f"again{right}_samples_pope_tiny.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.fixture
def store(logs: Path, tmp_path: Path, run: Run) -> Path:
    """Real logs of three tools in one store, each respondent in two runs."""
    path = tmp_path / "store.sqlite"
    plain, suffix = (
        next((logs / "lmms_eval" / name).rglob("*samples*.jsonl"))
        for name in ("writer_only", "real_run")
    )
    for respondent, files in (
        (
            "plain",
            (shutil.copy(plain, folder(tmp_path / "plain")), again(plain, tmp_path / "plain", 3)),
        ),
        (
            "suffix",
            (
                shutil.copy(suffix, folder(tmp_path / "suffix")),
                again(suffix, tmp_path / "suffix", 2),
            ),
        ),
        ("kit", (auxmatch(logs, tmp_path / "T1", {2, 3}), auxmatch(logs, tmp_path / "T2", {5}))),
    ):
        status, _, err = run(
            "import",
            *files,
            "--benchmark",
            "shapes_yesno",
            "--store",
            path,
            "--respondent",
            respondent,
        )
        assert status == 0, err
    return path


def test_the_tools_score_is_compared_like_a_scoring(
    store: Path, logs: Path, tmp_path: Path, run: Run
) -> None:
    command = (
        "compare",
        "shapes_yesno",
        "--store",
        store,
        "--scoring",
        "official",
        "--scoring",
        "recorded",
        "--parser",
        "strict",
        "--parser",
        "pope",
    )
    status, output, err = run(*command, "--to", tmp_path / "c.json")
    assert status == 0, err
    compared = json.loads((tmp_path / "c.json").read_text())
    labels = [measure["label"] for measure in compared["measures"]]
    assert labels == [
        "official scoring, parser strict",
        "official scoring, parser pope",
        "recorded scoring",
    ], "one reading of the tools"
    recorded = compared["measures"][-1]["scores"]
    rows = [
        json.loads(line)
        for line in (
            next((logs / "lmms_eval" / "writer_only").glob("*.jsonl")).read_text().splitlines()
        )
    ]
    assert (
        recorded["recorded/plain"] == sum(row["pope_accuracy"]["score"] for row in rows) / 24 == 0
    )
    kit = json.loads((tmp_path / "T1" / "model_steady_POPE_auxmatch.json").read_text())
    assert recorded["recorded/kit"] == pytest.approx(sum(row["score"] for row in kit) / 24)
    # everything that follows: reliability, agreement, leaderboards, who is told apart
    assert {"agreement", "leaderboards"} <= {
        t
        for t in ("agreement", "leaderboards")
        if compared[{"agreement": "agreements", "leaderboards": "ranks"}[t]]
    }
    assert compared["measures"][-1]["signatures"]
    assert all("recorded" in sign for sign in compared["measures"][-1]["signatures"].values())
    assert "recorded scoring" in output


def test_test_retest_of_the_tools_scores(store: Path) -> None:
    """Three respondents with two runs each: the reliability under the tool's scores is that of its
    own totals.
    """
    with hqm.Store(store, readonly=True) as opened:
        (audit,) = audit_readings(["shapes_yesno"], opened, RunOptions(), scorings=("recorded",))
    assert (audit.scoring, audit.parser) == ("recorded", "")
    assert audit.examples == ()
    retest = [e for e in audit.all_estimates if e.indicator.startswith("test_retest.")]
    assert retest
    assert all("scorer:recorded" in e.signature for e in retest)
    scores = {r.name: [cell["accuracy"] for cell in r.cells.values()] for r in audit.respondents}
    assert scores == {
        "recorded/plain": [0, 3 / 24],
        "recorded/suffix": [0, 2 / 24],
        "recorded/kit": [pytest.approx(21 / 24), pytest.approx(22 / 24)],
    }
    pearson = next(e for e in retest if e.indicator == "test_retest.pearson")
    assert pearson.value == pytest.approx(
        statistics.correlation(*zip(*scores.values(), strict=True))
    )
    suffix = next(r for r in audit.respondents if r.name == "recorded/suffix")
    assert suffix.states["form=original|run=0|judge=rule"]["ok"] == 24, (
        "the tool scores what HQM leaves out"
    )


class Folds(HTMLParser):
    """The rows of the tables behind a fold whose line speaks of tools."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = self.summary = False
        self.opened = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside, self.opened = (True, "") if tag == "details" else (self.inside, self.opened)
        self.summary = tag == "summary"
        if tag == "tr" and "a tool and HQM score differently" in self.opened:
            self.rows.append([])

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "details"
        self.opened = "" if tag == "details" else self.opened

    def handle_data(self, data: str) -> None:
        if self.summary:
            self.opened += data
            self.summary = False
        elif (
            self.inside
            and self.rows
            and data.strip()
            and "a tool and HQM score differently" in self.opened
        ):
            self.rows[-1].append(data.strip())


def listed(page: Path) -> list[list[str]]:
    reader = Folds()
    reader.feed(page.read_text())
    return [row for row in reader.rows if row and row[0].startswith("y")]


def test_a_page_lists_the_first_of_many_differences() -> None:
    row: DifferenceRow = {
        "item": "y1", "answer": "Yes.", "tool_score": 0.0, "tool_read": "Yes.", "hqm_score": 1.0,
        "hqm_read": "yes", "state": "scored", "reason": "punctuation",
    }  # fmt: skip
    tool: ToolRow = {
        "benchmark": "b", "respondent": "m", "form": "original", "run": 0, "scoring": "strict",
        "tool": "t", "compared": 1000, "tool_mean": 0.0, "hqm_mean": 1.0, "hqm_scored": 1000,
        "reasons": {"punctuation": 1000}, "differences": [row] * 1000,
    }  # fmt: skip
    few: ToolRow = {**tool, "differences": [row] * 20}
    _, table = harness_tables([tool, few])
    assert len(table.rows) == 250 + 20
    assert table.fold.endswith(": 1,020")
    assert "750 further ones" in table.notes[0]
    assert harness_tables([few])[1].notes == ()


def test_pages_list_every_answer_that_is_scored_otherwise(
    store: Path, tmp_path: Path, run: Run
) -> None:
    command = (
        "compare",
        "shapes_yesno",
        "--store",
        store,
        "--scoring",
        "official",
        "--scoring",
        "recorded",
    )
    for suffix in ("html", "csv", "tex"):
        status, _, err = run(*command, "--to", tmp_path / f"c.{suffix}")
        assert status == 0, err
    rows = list(csv.DictReader(io.StringIO((tmp_path / "c.csv").read_text())))
    totals = [
        (row["row"], int(row["shown"]))
        for row in rows
        if row["table"] == "harness" and row["column"] == "differ"
    ]
    reasons = {
        row["row"]: row["shown"]
        for row in rows
        if row["table"] == "harness" and row["column"] == "Why"
    }
    reason_rows = [row for row in rows if row["table"] == "harness_rows" and row["column"] == "Why"]
    assert [totals[i] for i in (0, 1, 2, 4, 5)] == [
        ("plain", 23),
        ("plain", 20),
        ("suffix", 22),
        ("kit", 2),
        ("kit", 1),
    ]
    assert f": {PUNCTUATION}" in reasons["plain"]
    assert tells(reasons["suffix"], "tool.left-out", state="unparsed")
    assert tells(reasons["kit"], "tool.other-words")
    assert "harness_rows" not in (tmp_path / "c.tex").read_text()
    page = listed(tmp_path / "c.html")
    assert len(page) == len(reason_rows) == sum(n for _, n in totals)
    status, _, err = run(
        "audit", "shapes_yesno", "--offline", "--store", store, "--out", tmp_path / "o", "-q"
    )
    assert status == 0, err
    assert len(listed(tmp_path / "o" / "evidence.html")) == len(page)
    tools = json.loads((tmp_path / "o" / "audit.json").read_text())["audits"][0]["tools"]
    assert [
        (t["respondent"].removeprefix("recorded/"), len(t["differences"])) for t in tools
    ] == totals
    # a comparison of the written audits has the table too
    status, _, err = run("report", tmp_path / "o" / "audit.json", "--to", tmp_path / "r.html")
    assert status == 0, err
    assert len(listed(tmp_path / "r-evidence.html")) == len(page)


def test_an_inspect_archive_agrees_in_every_epoch(logs: Path, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "s.sqlite"
    for name in ("one", "two", "three"):
        assert (
            run(
                "import",
                logs / "inspect" / "llava_6x2.eval",
                "--benchmark",
                "shapes_yesno",
                "--store",
                path,
                "--respondent",
                name,
            )[0]
            == 0
        )
    with hqm.Store(path, readonly=True) as opened:
        audits = audit_readings(
            ["shapes_yesno"], opened, RunOptions(), scorings=("official", "recorded")
        )
    ours, theirs = audits
    assert [list(r.cells.values()) for r in ours.respondents] == [
        list(r.cells.values()) for r in theirs.respondents
    ]
    assert [(t["run"], t["compared"], len(t["differences"])) for t in ours.tools] == [
        (0, 6, 0),
        (1, 6, 0),
    ] * 3
    assert re.fullmatch(r"inspect_ai [\d.]+", ours.tools[0]["tool"])


def test_without_a_tools_score_the_reading_is_refused(
    make_benchmark: Callable[..., Path], tmp_path: Path, run: Run
) -> None:
    items: list[dict[str, Any]] = [
        {"id": f"q{i}", "prompt": f"Is there a dog {i}?", "target": "yes", "image": f"{i}.png"}
        for i in range(4)
    ]
    folder = make_benchmark(items, types=["existence"])
    answers = tmp_path / "a.jsonl"
    answers.write_text("\n".join(json.dumps({"item": f"q{i}", "answer": "Yes"}) for i in range(4)))
    assert (
        run(
            "audit",
            folder,
            "--recorded",
            answers,
            "--out",
            tmp_path / "o",
            "--forms",
            "original",
            "-q",
        )[0]
        == 0
    )
    with (
        hqm.Store(tmp_path / "o" / "store.sqlite", readonly=True) as opened,
        pytest.raises(DesignError, match=pattern_of("tool.no-score", benchmark="mine")),
    ):
        audit_readings([str(folder)], opened, RunOptions(), scorings=("recorded",))
    assert json.loads((tmp_path / "o" / "audit.json").read_text())["audits"][0]["tools"] == []
    assert "answer by answer" not in (tmp_path / "o" / "evidence.html").read_text()
