"""A corrected key beside the release's: what it changes, what it leaves out, and what becomes of
scores and ranks.
"""

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from hqm.benchmark.corrected_keys import CorrectedKey, read_key
from hqm.benchmark.registry import load
from hqm.errors import DataError, UsageError
from hqm.types import Form, Item
from tests.conftest import Run
from tests.messages import pattern_of, tells


def test_repope_changes_as_many_labels_as_its_authors_count(data: Path) -> None:
    """Neuhaus and Hein 2025 (RePOPE): 9.3 % of the yes labels and 1.7 % of the no labels are
    wrong.
    """
    pope = load("pope")
    key = read_key(data / "pope" / "repope", pope)
    assert len(key.targets) == 8185  # lines of the three files
    assert len(key.left_out) == 9000 - 8185
    turns = Counter((pope.original.by_id[name].target, key.targets[name]) for name in key.changed)
    assert round(100 * turns["yes", "no"] / 4500, 1) == 9.3
    assert round(100 * turns["no", "yes"] / 4500, 1) == 1.7
    corrected = key.applied(pope.original)
    assert len(corrected) == 8185
    assert corrected.digest != pope.original.digest


def test_one_file_of_repope_corrects_one_part(data: Path) -> None:
    pope = load("pope")
    key = read_key(data / "pope" / "repope" / "coco_repope_popular.json", pope)
    assert {pope.original.by_id[name].part for name in (*key.targets, *key.left_out)} == {
        "coco_popular"
    }
    assert len(key.targets) == 2727


def test_the_parts_of_pope_by_both_keys_are_those_that_were_counted(
    data: Path, run: Run, tmp_path: Path
) -> None:
    """LLaVA-1.5-13B: random, popular and adversarial, as data/SOURCES.md has them."""
    shutil.copy(data / "pope_answers" / "llava-v1.5-13b.jsonl.gz", tmp_path)
    shutil.copy(data / "logs" / "llava" / "llava_pope_test.jsonl", tmp_path)
    answers = tmp_path / "llava-v1.5-13b.jsonl.gz"
    key = data / "pope" / "repope"
    status, output, _ = run("score", "pope", "--answers", answers, "--key", key, "--json")
    scored = json.loads(output)
    assert status == 0
    for by, printed in (
        (scored["by_part"], [0.8801, 0.8743, 0.8550]),
        (scored["by_key"]["by_part"], [0.9323, 0.9179, 0.9035]),
    ):
        assert [round(scores["accuracy"], 4) for scores in by.values()] == printed


def test_score_shows_both_keys_side_by_side(data: Path, run: Run) -> None:
    answers = data / "logs" / "llava" / "llava-v1.5-7b_pope.jsonl"
    command = (
        "score",
        "pope",
        "--answers",
        answers,
        "--part",
        "coco_adversarial",
        "--key",
        data / "pope" / "repope",
    )
    status, output, _ = run(*command, "--json")
    scored = json.loads(output)
    assert status == 0
    assert (scored["by_key"]["n"], scored["by_key"]["left_out"]) == (2684, 316)
    rows = {row["question_id"]: row for row in map(json.loads, answers.read_text().splitlines())}
    questions = map(
        json.loads, (data / "logs" / "llava" / "llava_pope_test.jsonl").read_text().splitlines()
    )
    answer_texts = {
        (row["image"], row["text"].split("\n")[0].replace("imange", "image")): rows[
            row["question_id"]
        ]["text"]
        for row in questions
        if row["question_id"] in rows and row["category"] == "adversarial"
    }
    key = map(
        json.loads,
        (data / "pope" / "repope" / "coco_repope_adversarial.json").read_text().splitlines(),
    )
    right = [
        answer_texts[row["image"], row["text"].replace("imange", "image")].strip(".").lower()
        == row["label"]
        for row in key
    ]
    assert scored["by_key"]["metrics"]["accuracy"] == pytest.approx(sum(right) / len(right))
    assert tells(run(*command)[1], "key.applied", left_out=316, left=2684)


def test_an_audit_stands_beside_the_same_audit_by_the_corrected_key(
    dogs: Path, tmp_path: Path, run: Run
) -> None:
    benchmark = load(str(dogs))
    targets = {item.id: item.target for item in benchmark.original.items}
    answers = tmp_path / "answers.csv"
    lines = [f"good,{k},{v}" for k, v in targets.items()] + [
        f"contrary,{k},{'no' if v == 'yes' else 'yes'}" for k, v in targets.items()
    ]
    answers.write_text("\n".join(["respondent,item,answer", *lines]))
    key = tmp_path / "key.csv"
    flipped = [f"{k},{'no' if v == 'yes' else 'yes'}" for k, v in targets.items()]
    key.write_text("\n".join(["item,target", *flipped[:-1], f"{list(targets)[-1]},ambiguous"]))
    command = (
        "audit",
        dogs,
        "--recorded",
        answers,
        "--forms",
        "original",
        "--key",
        key,
        "--out",
        tmp_path / "out",
        "-q",
    )
    status, output, err = run(*command)
    assert status == 0, err
    assert tells(
        " ".join(output.split()), "key.effect", changed=11, left_out=1, moved=2, respondents=2
    )
    audits = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"]
    assert [(audit["benchmark"], audit["items"]) for audit in audits] == [
        (benchmark.name, 12),
        (f"{benchmark.name} by key", 11),
    ]
    scores = {row["name"]: row["scores"]["accuracy"] for row in audits[1]["respondents"]}
    assert scores == {"recorded/good": 0.0, "recorded/contrary": 1.0}


def test_a_key_corrects_forms_that_are_read_from_files(
    dogs: Path, tmp_path: Path, run: Run
) -> None:
    opposite = {"yes": "no", "no": "yes"}
    targets = {item.id: str(item.target) for item in load(str(dogs)).original.items}
    key = tmp_path / "key.csv"
    rows = [f"{item},{opposite[target]}" for item, target in targets.items()]
    key.write_text("\n".join(["item,target", *rows]))
    shots, denied = tmp_path / "shots.jsonl", tmp_path / "denied.jsonl"
    asked = [{"id": item, "prompt": f"Say: {item}?", "target": targets[item]} for item in targets]
    shots.write_text("\n".join(map(json.dumps, asked)))
    asked = [{**row, "target": opposite[str(row["target"])]} for row in asked]
    denied.write_text("\n".join(map(json.dumps, asked)))
    answers = tmp_path / "answers.csv"
    rows = [
        f"{name},{form},{item},{opposite[target] if form == 'denied' else target}"
        for name in "ab"
        for form in ("original", "shots", "denied")
        for item, target in targets.items()
    ]
    answers.write_text("\n".join(["respondent,form,item,answer", *rows]))
    command = ["audit", dogs, "--recorded", answers, "--key", key, "--out", tmp_path / "out", "-q"]
    status, _, err = run(*command, "--form", f"shots={shots}", "--form", f"denied={denied}")
    assert status == 0, err
    audits = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"]
    by_key = [
        [cell["accuracy"] for cell in audit["respondents"][0]["cells"].values()] for audit in audits
    ]
    assert by_key == [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


def test_a_key_names_the_option_where_a_form_has_another_order() -> None:
    item = Item("1", "What is it?", "choice", "A", options=("cat", "dog"))
    original = Form("original", (item,))
    shuffled = Form("shuffled", (replace(item, target="B", options=("dog", "cat")),))
    key = CorrectedKey(path="", digest="", targets={"1": "B"}, changed=("1",), left_out=())
    assert key.applied(original).items[0].target == "B"
    assert key.applied(shuffled, original).items[0].target == "A"


def test_a_wording_that_lacks_the_corrected_option_loses_the_item() -> None:
    """MMMU-Pro asks with ten options and with four."""
    item = Item("1", "What is it?", "choice", "A", options=("cat", "dog", "cow"))
    original = Form("original", (item,))
    fewer = Form("four", (replace(item, target="B", options=("cow", "cat")),))
    for target, kept in (("B", []), ("C", ["A"])):
        key = CorrectedKey(path="", digest="", targets={"1": target}, changed=("1",), left_out=())
        assert [item.target for item in key.applied(fewer, original).items] == kept


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("item,target\nnobody,yes", "no item 'nobody'"),
        ("item,target\n,\nnobody,yes", "record 2: .*no item 'nobody'"),
        ("item,target\nq1,perhaps", pattern_of("key.yes-or-no")),
        ("item,target\nq1,yes\nq1,no", "stands twice"),
        ("item,other\nq1,yes", "none of the fields"),
        ("question_id,image,text,label\n9,a.png,Is it?,yes", "1 of 1 rows fit no item"),
    ],
)
def test_a_key_that_does_not_fit_is_refused_with_its_place(
    rows: str, says: str, dogs: Path, tmp_path: Path
) -> None:
    (tmp_path / "key.csv").write_text(rows)
    with pytest.raises(DataError, match=says) as error:
        read_key(tmp_path / "key.csv", load(str(dogs)))
    assert "record" in str(error.value)


def test_a_benchmark_that_a_model_judges_has_no_key(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not compared with a key"):
        read_key(tmp_path, load("mmhal"))


def test_the_check_of_pope_names_the_doubts_of_repope(data: Path, run: Run) -> None:
    _, output, _ = run("check", "pope")
    assert tells(output, "repope.others", changed=494, labels="8,185")
    assert tells(output, "repope.ambiguous", questions=815)


def test_what_a_reader_marks_becomes_a_key(dogs: Path, tmp_path: Path) -> None:
    benchmark = load(str(dogs))
    release = {item.id: item.target for item in benchmark.original.items}
    opposite = {"yes": "no", "no": "yes"}
    path = tmp_path / "key.csv"
    rows = ["q0,keep,", "q1,Wrong key,", "q2,wrong key,NO", "q3,ambiguous,yes", "q4,bad picture,"]
    assert release["q2"] == "no"
    path.write_text("\n".join(["item,mark,target", *rows, "q5,,yes"]))
    with pytest.raises(DataError, match="marked as wrong"):
        read_key(path, benchmark)
    rows[2] = "q2,wrong key,YES"
    path.write_text("\n".join(["item,mark,target", *rows, "q5,,yes", "q6,,"]))
    key = read_key(path, benchmark)
    assert key.targets == {
        "q0": release["q0"],
        "q1": opposite[release["q1"]],
        "q2": "yes",
        "q5": "yes",
    }
    assert key.left_out == ("q3", "q4", "q6")
    assert set(key.changed) == {
        name for name, target in key.targets.items() if target != release[name]
    }
    assert [item.id for item in key.applied(benchmark.original).items] == [
        name for name in release if name not in key.left_out
    ]
    path.write_text("item,mark,target\nq0,doubtful,yes")
    with pytest.raises(DataError, match="the mark of q0"):
        read_key(path, benchmark)
