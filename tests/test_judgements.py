"""Judgements that a user already has: files of judges' verdicts give what live judges give, and
nothing is guessed.
"""

import csv
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest

import hqm
from hqm.errors import AnswerError, HQMError, UsageError
from hqm.judges.file_judge import stored_judgements
from hqm.judges.judgements import JudgementSource, import_judgements, judged_rows
from tests.conftest import Run
from tests.judge_server import JudgeServer
from tests.messages import pattern_of, tells, text_of

NAMES = ("anna", "ben", "cleo", "dora")
MODULE = '''
"""A judge says whether an answer names what is there, from 0 to 2."""
import re
from hqm import Benchmark, Form, Item, Metric, Verdict, mean_of, reading

CARD = {"name": "claims", "title": "Claims", "version": "1", "task": "vqa", "types": ["existence"]}

class Claims(Benchmark):
    """Marks of a judge."""

    metrics = (Metric("faithful", mean_of("right"), about="Mean mark."),)
    roles = ("judge",)

    def read(self):
        return Form("original", tuple(Item(f"q{i}", f"What is on table {i}?", "vqa", "cup", f"{i // 2}.png", "existence") for i in range(24)))

    async def judge(self, item, response, ask):
        reply = await ask("judge", f"{item.id}: {response.text}")
        with reading(reply):
            mark = int(re.search(r"\\d", reply)[0])
        return Verdict(mark / 2, {"right": mark / 2, "n": 1.0}, read=str(mark))
'''


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "claims.py").write_text(MODULE)
    return folder / "claims.py"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Four respondents' answers in two runs; no two are alike."""
    folder = tmp_path / "answers"
    folder.mkdir()
    rows = [
        {
            "respondent": name,
            "form": "original",
            "run": run,
            "item": f"q{i}",
            "answer": f"{name} says {i} in {run}",
        }
        for name in NAMES
        for run in (0, 1)
        for i in range(24)
    ]
    path = folder / "all.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def mark(prompt: str, asking: int, strictness: int = 0) -> str:
    """A noisy judge: the mark depends on respondent, item and asking."""
    rng = random.Random(f"{prompt.replace(' ', '')} {asking}")
    k = next(i for i, name in enumerate(NAMES) if f": {name} " in prompt)
    return f"Mark: {min(2, max(0, round(rng.gauss(0.4 + 0.4 * k - strictness, 0.8))))}"


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    n_asked: dict[str, int] = {}

    def reply(prompt: str, body: dict[str, object]) -> str:
        n_asked[prompt] = n_asked.get(prompt, 0) + 1
        return mark(prompt, n_asked[prompt] - 1)

    running = JudgeServer(reply)
    yield running
    running.stop()


def plain(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    return path


def marks(
    asking: int, *, strictness: int = 0, runs: tuple[int, ...] = (0, 1), **fields: Any
) -> list[dict[str, Any]]:
    return [
        {
            "item": f"q{i}",
            "respondent": name,
            "reply": mark(f"q{i}: {name} says {i} in {run}", asking, strictness),
            "answer_run": run,
            **fields,
        }
        for name in NAMES
        for run in runs
        for i in range(24)
    ]


def audited(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "audit.json").read_text())["audits"][0]  # type: ignore[no-any-return]


def states(row: dict[str, Any], cell: str) -> dict[str, int]:
    return {state: n for state, n in row["states"][cell].items() if n}


def of_judges(audit: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (e["indicator"], e["metric"]): (e["value"], e["status"], e["intervals"], e["unscored"])
        for e in audit["estimates"]
        if e["indicator"].startswith(
            ("judge_consistency", "judge_agreement", "criterion", "test_retest")
        )
    }


# --- the same as live judges ---


def test_a_file_of_replies_gives_what_the_judge_gave_who_was_asked(
    run: Run, claims: Path, answers: Path, server: JudgeServer, tmp_path: Path
) -> None:
    labels = [
        {"item": f"q{i}", "respondent": name, "label": (i + k) % 3 > 0}
        for k, name in enumerate(NAMES)
        for i in range(24)
    ]
    criterion = plain(
        tmp_path / "labels.csv", [{**row, "label": int(row["label"])} for row in labels]
    )
    common = (
        "audit",
        claims,
        "--recorded",
        answers,
        "--forms",
        "original",
        "--criterion",
        criterion,
        "-q",
    )
    live = run(*common, "--judge", server.name(), "--set", "rejudge=2", "--out", tmp_path / "live")
    assert live[0] == 0, live[2]
    # a live judge is asked about both runs of the answers, and again about the first
    first, second = (
        plain(tmp_path / "first.jsonl", marks(0)),
        plain(tmp_path / "again.csv", marks(1, runs=(0,))),
    )
    status, _, err = run(
        *common,
        "--judgements",
        f"gpt={first}",
        "--judgements",
        f"gpt={second}",
        "--out",
        tmp_path / "brought",
    )
    assert status == 0, err
    assert err.count("judgements: ") == 12
    assert tells(err, "judgement.matched", n=24, rows=24, how="24 by id", items=24, of=24)
    live_audit, from_files = audited(tmp_path / "live"), audited(tmp_path / "brought")
    assert from_files["cells"] == [
        cell.replace(server.name(), "gpt") for cell in live_audit["cells"]
    ]
    assert len(of_judges(from_files)) > 40
    assert of_judges(from_files) == of_judges(live_audit), "indicator by indicator the same"
    alpha = next(
        e
        for e in from_files["estimates"]
        if e["indicator"] == "judge_consistency.krippendorff_alpha"
    )
    table = [
        [
            int(mark(f"q{i}: {name} says {i} in 0", asking)[-1]) / 2
            for name in NAMES
            for i in range(24)
        ]
        for asking in (0, 1)
    ]
    rival = krippendorff.alpha(np.array(table), level_of_measurement="interval")
    assert alpha["value"] == pytest.approx(rival, abs=1e-12)
    # the same from Python, where nothing is written to disk
    python_audit = hqm.audit(
        claims,
        recorded=answers,
        judgements=[f"gpt={first}", f"gpt={second}"],
        criterion=tmp_path / "labels.csv",
    )
    values = {(e.indicator, e.metric): e.value for e in python_audit.all_estimates}
    assert {key: values[key] for key in of_judges(from_files)} == {
        key: row[0] for key, row in of_judges(from_files).items()
    }
    # offline, without the files: the store repeats the audit
    first.unlink()
    second.unlink()
    store = tmp_path / "brought" / "store.sqlite"
    status, _, err = run(
        "audit",
        claims,
        "--offline",
        "--store",
        store,
        "--forms",
        "original",
        "-q",
        "--out",
        tmp_path / "later",
    )
    assert status == 0, err
    assert audited(tmp_path / "later") == from_files


def test_several_judges_agree_and_each_is_asked_again(
    run: Run, claims: Path, answers: Path, tmp_path: Path
) -> None:
    rows = [
        row
        for judge in (0, 1)
        for asking in (1, 2)
        for row in marks(
            10 * judge + asking, strictness=judge, runs=(0,), judge=f"judge{judge}", run=asking
        )
    ]
    path = plain(tmp_path / "verdicts.csv", rows)
    status, _, err = run(
        "audit",
        claims,
        "--recorded",
        answers,
        "--forms",
        "original",
        "-q",
        "--judgements",
        path,
        "--out",
        tmp_path,
    )
    assert status == 0, err
    audit = audited(tmp_path)
    cell_prefix = "form=original|run=0|judge="
    assert audit["cells"] == [
        f"{cell_prefix}judge0",
        f"{cell_prefix}judge0#1",
        f"{cell_prefix}judge1",
        f"{cell_prefix}judge1#1",
    ], "askings are counted from 0"
    pairs = {
        (e["first"], e["other"])
        for e in audit["estimates"]
        if e["indicator"] == "judge_consistency.krippendorff_alpha"
    }
    assert pairs == {
        (f"{cell_prefix}judge0", f"{cell_prefix}judge0#1"),
        (f"{cell_prefix}judge1", f"{cell_prefix}judge1#1"),
    }
    (agreement,) = [e for e in audit["estimates"] if e["indicator"] == "judge_agreement.mean_shift"]
    means = [
        np.mean(
            [int(r["reply"][-1]) / 2 for r in rows if (r["judge"], r["run"]) == (f"judge{j}", 1)]
        )
        for j in (0, 1)
    ]
    assert agreement["value"] == pytest.approx(means[1] - means[0])
    status, _, err = run(
        "compare",
        claims,
        "--store",
        tmp_path / "store.sqlite",
        "--judge",
        "judge0",
        "--judge",
        "judge1",
        "--to",
        tmp_path / "c.json",
    )
    assert status == 0, err
    compared = json.loads((tmp_path / "c.json").read_text())
    assert [m["label"] for m in compared["measures"]] == ["judge0", "judge1"]
    assert compared["measures"][1]["scores"]["recorded/dora"] == pytest.approx(
        np.mean(
            [
                int(r["reply"][-1]) / 2
                for r in rows
                if (r["judge"], r["run"], r["respondent"]) == ("judge1", 1, "dora")
            ]
        )
    )


def test_a_judge_stands_beside_the_rule(run: Run, dogs: Path, tmp_path: Path) -> None:
    items = hqm.load(str(dogs)).original.items
    rows, verdicts = [], []
    for k, name in enumerate(NAMES):
        for i, item in enumerate(items):
            right = (i + k) % 4 > 0
            rows.append(
                {
                    "respondent": name,
                    "item": item.id,
                    "answer": (
                        str(item.target) if right else {"yes": "no", "no": "yes"}[item.target]
                    ),
                }
            )
            verdicts += [
                {
                    "item": item.id,
                    "respondent": name,
                    "judge": "gpt",
                    "run": asking,
                    "verdict": ("correct", "incorrect")[right == ((i * k + asking) % 5 == 0)],
                }
                for asking in (0, 1)
            ]
    answers, judged = plain(tmp_path / "a.jsonl", rows), plain(tmp_path / "v.csv", verdicts)
    status, _, err = run(
        "audit",
        dogs,
        "--recorded",
        answers,
        "--forms",
        "original",
        "-q",
        "--judgements",
        judged,
        "--out",
        tmp_path / "o",
    )
    assert status == 0, err
    audit = audited(tmp_path / "o")
    assert audit["reference"] == "form=original|run=0|judge=rule"
    share = next(r for r in audit["respondents"] if r["name"] == "recorded/ben")["cells"][
        "form=original|run=0|judge=gpt"
    ]
    assert share["accuracy"] == pytest.approx(
        np.mean(
            [
                v["verdict"] == "correct"
                for v in verdicts
                if v["respondent"] == "ben" and v["run"] == 0
            ]
        )
    )
    assert {e["indicator"].partition(".")[0] for e in audit["estimates"]} >= {
        "judge_agreement",
        "judge_consistency",
    }


# --- what is not there is not guessed ---


def test_empty_and_unreadable_verdicts_are_unscored_with_a_reason(
    run: Run, claims: Path, answers: Path, tmp_path: Path
) -> None:
    values = {0: "2", 1: "", 2: "no idea", 3: "0"}
    rows = [
        {"item": f"q{i}", "respondent": name, "score": values[i % 4]}
        for name in NAMES
        for i in range(23)
    ]
    status, _, err = run(
        "audit",
        claims,
        "--recorded",
        answers,
        "--forms",
        "original",
        "-q",
        "--judgements",
        f"gpt={plain(tmp_path / 's.csv', rows)}",
        "--out",
        tmp_path,
    )
    assert status == 0, err
    row = audited(tmp_path)["respondents"][0]
    (cell,) = row["cells"]
    assert row["cells"][cell]["faithful"] == pytest.approx(6 / 11)
    assert states(row, cell) == {"ok": 11, "unparsed": 6, "missing": 7}
    example_answers = [s for e in audited(tmp_path)["examples"] for s in e["answers"]]
    assert all(s["value"] is None or s["state"] == "ok" for s in example_answers)


def test_rows_that_match_nothing_are_refused_unless_asked_for(
    run: Run, claims: Path, answers: Path, tmp_path: Path
) -> None:
    rows = [
        *marks(0, runs=(0,)),
        {"item": "q99", "respondent": "anna", "reply": "Mark: 1", "answer_run": 0},
    ]
    path = plain(tmp_path / "v.jsonl", rows)
    command = (
        "audit",
        claims,
        "--recorded",
        answers,
        "--forms",
        "original",
        "-q",
        "--judgements",
        f"gpt={path}",
        "--out",
        tmp_path / "o",
    )
    status, _, err = run(*command)
    assert status == 1
    assert tells(err, "import.rows", matched=24, rows=25, unmatched=1)
    assert tells(err, "log.no-match", record=97, item="q99")
    assert "--partial" in err
    assert not (tmp_path / "o" / "audit.json").exists()
    status, _, err = run(*command, "--partial")
    assert status == 0, err
    assert "1 unmatched" in err
    assert tells(err, "log.no-match", record=97, item="q99")
    nobody = plain(tmp_path / "n.jsonl", [{**row, "respondent": "zoe"} for row in rows[:24]])
    status, _, err = run(*command[:-3], f"gpt={nobody}", *command[-2:])
    assert (status, tells(err, "judgement.not-audited", respondent="zoe")) == (1, True)


def test_a_log_of_judgements_that_its_tool_did_not_write_so_is_refused(
    run: Run, claims: Path, answers: Path, tmp_path: Path
) -> None:
    path = tmp_path / "inspect.json"
    log = {"eval": {"task": "x"}, "plan": {}, "samples": [{"id": 1, "epoch": 1, "scores": 5}]}
    path.write_text(json.dumps(log))
    status, _, err = run(
        "audit", claims, "--recorded", answers, "-q", "--judgements", path, "--out", tmp_path / "o"
    )
    assert status == 1
    assert tells(err, "log.other-layout", tool="inspect")


def test_judgements_of_another_answer_are_refused(
    run: Run, claims: Path, answers: Path, tmp_path: Path
) -> None:
    rows = [
        {**row, "answer": f"{row['respondent']} says {row['item'][1:]} in 0"}
        for row in marks(0, runs=(0,))
    ]
    rows[3]["answer"] = "something else"
    path = plain(tmp_path / "v.jsonl", rows)
    status, _, err = run(
        "audit",
        claims,
        "--recorded",
        answers,
        "--forms",
        "original",
        "-q",
        "--judgements",
        f"gpt={path}",
        "--out",
        tmp_path / "o",
    )
    assert status == 1
    assert tells(err, "judgement.other-answer", record=4, item="q3")


def test_a_corrected_file_takes_the_place_of_the_earlier_one(
    run: Run, claims: Path, answers: Path, tmp_path: Path
) -> None:
    path = plain(tmp_path / "v.jsonl", marks(0, runs=(0,)))
    out_dir = tmp_path / "o"
    common = ("audit", claims, "--forms", "original", "-q", "--out", out_dir)
    assert run(*common, "--recorded", answers, "--judgements", f"gpt={path}")[0] == 0
    before = audited(out_dir)["respondents"][0]["scores"]["faithful"]
    plain(path, [{**row, "reply": "Mark: 2"} for row in marks(0, runs=(0,))])
    assert run(*common, "--offline", "--judgements", f"gpt={path}")[0] == 0
    assert audited(out_dir)["respondents"][0]["scores"]["faithful"] == 1 != before
    assert run(*common, "--offline")[0] == 0
    assert audited(out_dir)["respondents"][0]["scores"]["faithful"] == 1
    with hqm.Store(out_dir / "store.sqlite", readonly=True) as store:
        assert len(store.judged("claims")) == 2, "both are kept"
        assert {
            judged_set.judge for judged_set in stored_judgements(store, hqm.load(str(claims)))
        } == {"gpt"}
    # through an export, everything comes along
    assert run("export", out_dir / "store.sqlite", "--to", tmp_path / "all.jsonl")[0] == 0
    assert run("import", tmp_path / "all.jsonl", "--store", tmp_path / "copy.sqlite")[0] == 0
    assert (
        run(*common[:-1], tmp_path / "c", "--offline", "--store", tmp_path / "copy.sqlite")[0] == 0
    )
    assert audited(tmp_path / "c") == audited(out_dir)


# --- who judged whom ---


def take(
    benchmark: hqm.Benchmark,
    *sources: str,
    names: tuple[str, ...] = ("recorded/llava", "recorded/llava-13b"),
    partial: bool = False,
) -> Any:
    return import_judgements(
        benchmark,
        {"original": benchmark.original},
        [JudgementSource.parse(s) for s in sources],
        names,
        partial=partial,
    )


def test_names_come_from_options_columns_and_files(claims: Path, tmp_path: Path) -> None:
    benchmark = hqm.load(str(claims))
    rows = [{"item": f"q{i}", "score": i % 3} for i in range(24)]
    files = {
        name: plain(tmp_path / name, [{**row, "score": (row["score"] + k) % 3} for row in rows])
        for k, name in enumerate(
            (
                "gpt-4o_llava-13b_run1.csv",
                "llava-13b_gpt-4o_run0.csv",
                "llava.gpt-4o.csv",
                "gpt-4o_llava_llava-13b.csv",
                "x.csv",
            )
        )
    }
    judged = take(benchmark, *(str(files[n]) for n in list(files)[:3]))
    assert [(s.judge, s.asking, s.respondent) for s in judged.sets] == [
        ("gpt-4o", 1, "recorded/llava-13b"),
        ("gpt-4o", 0, "recorded/llava-13b"),
        ("gpt-4o", 0, "recorded/llava"),
    ]
    for name in ("gpt-4o_llava_llava-13b.csv", "x.csv"):
        with pytest.raises(AnswerError, match=pattern_of("judgement.of-whom")) as error:
            take(benchmark, str(files[name]))
        assert "--judgements ,RESPONDENT=" in str(error.value)
    (one_set,) = take(benchmark, f"claude#3,llava={files['x.csv']}").sets
    assert (one_set.judge, one_set.asking, one_set.respondent) == ("claude", 0, "recorded/llava")
    (single_set,) = take(benchmark, str(files["x.csv"]), names=("hf/org/m",)).sets
    assert (single_set.judge, single_set.respondent) == ("x", "hf/org/m")
    # several files of one judge about the same answers are askings in their order, and a copy is
    # none
    twin = tmp_path / "copy.csv"
    twin.write_bytes(files["x.csv"].read_bytes())
    judged = take(
        benchmark,
        f"j,llava={files['x.csv']}",
        f"j,llava={files['llava.gpt-4o.csv']}",
        f"j,llava={twin}",
    )
    assert [s.asking for s in judged.sets] == [0, 1]
    assert any(tells(note, "import.copy") for note in judged.notes)
    alike = take(benchmark, f"j#0,llava={files['x.csv']}", f"j#1,llava={twin}")
    assert [s.asking for s in alike.sets] == [0, 1]
    assert any(tells(note, "judgement.copies") for note in alike.notes)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"item": "q1", "respondent": "llava", "score": 1, "judge": "human"}],
            "cannot be called 'human'",
        ),
        ([{"item": "q1", "respondent": "llava", "label": 1}], "--criterion"),
        (
            [{"item": "q1", "respondent": "llava", "grade": 1}],
            text_of("judgement.no-column") + r" \(there are 'item', 'respondent', 'grade'\)",
        ),
        (
            [{"Question ID": "q1", "Model": "llava", "gpt_score": 1}],
            text_of("judgement.no-column"),
        ),
        (
            [
                {"item": "q1", "respondent": "llava", "score": 1},
                {"item": "q1", "respondent": "llava", "score": 2},
            ],
            "judges q1 twice",
        ),
        (
            [{"item": "q1", "respondent": "llava", "score": 1, "form": "parallel"}],
            "no form 'parallel'",
        ),
        ([{"item": "q1", "respondent": "llava", "score": {"a": 1}}], "no text or number"),
    ],
)
def test_files_that_cannot_be_meant_are_refused(
    claims: Path, tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(HQMError, match=message):
        take(hqm.load(str(claims)), str(plain(tmp_path / "f.jsonl", rows)))


def test_equal_names_of_asked_and_brought_judges_are_refused(
    run: Run, claims: Path, answers: Path, server: JudgeServer, tmp_path: Path
) -> None:
    path = plain(tmp_path / "v.jsonl", marks(0, runs=(0,)))
    audited_alone = run(
        "audit",
        claims,
        "--recorded",
        answers,
        "--forms",
        "original",
        "-q",
        "--judge",
        server.name(),
        "--judgements",
        f"gpt={path}",
        "--out",
        tmp_path / "o",
    )
    assert audited_alone[0] == 0, audited_alone[2]
    cells = audited(tmp_path / "o")["cells"]
    assert cells == [f"form=original|run={n}|judge={server.name()}" for n in (0, 1)] + [
        "form=original|run=0|judge=gpt"
    ]


# --- files of releases ---


def results(
    data: Path, folder: Path, count: int = 160
) -> tuple[list[dict[str, Any]], Callable[..., Path]]:
    questions = json.loads((data / "hallusion_bench" / "HallusionBench.json").read_text())
    sampled = [q for q in questions if q["category"] == "VD"][: count // 2] + [
        q for q in questions if q["category"] == "VS"
    ][: count // 2]

    def write(name: str, rows: list[dict[str, Any]]) -> Path:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(rows))
        return folder / name

    return sampled, write


@pytest.mark.data
def test_judged_results_of_hallusion_bench(data: Path, run: Run, tmp_path: Path) -> None:
    """The release's two halves of a result, as its evaluation.py saves them, for three respondents
    and two askings.
    """
    questions, write = results(data, tmp_path)
    rng = random.Random(2)
    command: list[object] = [
        "audit",
        "hallusion_bench",
        "--forms",
        "original",
        "-q",
        "--metric",
        "aacc",
        "--out",
        tmp_path / "o",
        "--data",
        data,
    ]
    codes: dict[tuple[str, int], list[str]] = {}
    for k, name in enumerate(("llava", "qwen", "fuyu")):
        rows = [{**q, "model_prediction": f"Yes, {name} {i}."} for i, q in enumerate(questions)]
        command += ["--recorded", write(f"{name}.json", rows)]
        for asking in (0, 1):
            codes[name, asking] = [rng.choices("012", (3, 3 + 2 * k, 1))[0] for _ in rows]
            judged = [
                {**row, "gpt4v_output_gpt_check": code, "same": "1"}
                for row, code in zip(rows, codes[name, asking], strict=True)
            ]
            for half in ("VD", "VS"):
                path = write(
                    f"run{asking}/{name}/hallusion_output_{half.lower()}_model.json",
                    [r for r in judged if r["category"] == half],
                )
                command += ["--judgements", f"gpt-4#{asking},{name}={path}"]
    status, _, err = run(*command)
    assert status == 0, err
    assert tells(err, "judgement.matched", n=80, rows=80, how="80 by id", items=80, of=1129)
    audit = audited(tmp_path / "o")
    first_cell = "form=original|run=0|judge=gpt-4"
    assert audit["cells"] == [first_cell, f"{first_cell}#1"]
    for row in audit["respondents"]:
        for cell, asking in ((first_cell, 0), (f"{first_cell}#1", 1)):
            reply_codes = codes[row["name"].removeprefix("recorded/"), asking]
            # the release: correct, or unclear where there is no figure to see
            right = [
                c == "1" or (c == "2" and q["category"] == "VS" and q["figure_id"] == "0")
                for c, q in zip(reply_codes, questions, strict=True)
            ]
            assert row["cells"][cell]["aacc"] == pytest.approx(100 * np.mean(right))
    assert any(
        e["indicator"] == "judge_consistency.krippendorff_alpha" and e["status"] == "ok"
        for e in audit["estimates"]
    )


@pytest.mark.data
def test_the_released_sample_is_joined_by_ids_that_the_questions_confirm(
    data: Path, tmp_path: Path
) -> None:
    """The same question is asked about several figures, so a wrong id is never mended by the
    question.
    """
    benchmark = hqm.load("hallusion_bench", data=data)
    sample = data / "hallusion_bench" / "HallusionBench_result_sample.json"
    rows = judged_rows(benchmark, sample, benchmark.original)
    assert len(rows) == 254
    assert {row.judgement.mark for row in rows if row.judgement} == {""}, "it was never judged"
    judged = take(benchmark, f"gpt-4={sample}", names=("recorded/m",))
    assert (len(judged.sets[0].outputs), judged.matchings[0].n_items) == (254, 1129)
    records = json.loads(sample.read_text())
    records[0]["question"], records[1]["figure_id"] = "Is the sky blue?", "99"
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(records))
    with pytest.raises(
        AnswerError,
        match="252 of 254 rows matched.*2 contradicting|252 of 254 rows matched.*1 contradicting, 1 unmatched",
    ):
        take(benchmark, f"gpt-4={changed}", names=("recorded/m",))
    assert (
        len(
            take(benchmark, f"gpt-4={changed}", names=("recorded/m",), partial=True).sets[0].outputs
        )
        == 252
    )


@pytest.mark.data
@pytest.mark.parametrize("scoring", ["official", "paper"])
def test_saved_reviews_of_mmhal(data: Path, run: Run, tmp_path: Path, scoring: str) -> None:
    """The judge's responses as eval_gpt_mmhal.py saves them: a list in the order of the template,
    without any id.
    """
    template = json.loads((data / "mmhal" / "response_template.json").read_text())
    command: list[object] = [
        "audit",
        "mmhal",
        "--forms",
        "original",
        "-q",
        "--metric",
        "score",
        "--out",
        tmp_path / "o",
        "--data",
        data,
        "--scoring",
        scoring,
    ]
    ratings_by_name: dict[str, list[int]] = {}
    for k, name in enumerate(("llava", "qwen", "fuyu")):
        (tmp_path / f"{name}.json").write_text(
            json.dumps([{**row, "model_answer": f"{name} {i}"} for i, row in enumerate(template)])
        )
        command += ["--recorded", tmp_path / f"{name}.json"]
        for asking in (0, 1):
            ratings = [
                random.Random(f"{name}{i}{asking}").choice(range(1 + k, 5 + k)) for i in range(96)
            ]
            ratings_by_name.setdefault(name, ratings)
            saved: list[Any] = [
                {
                    "model": "gpt-4-0314",
                    "choices": [{"message": {"content": f"Because.\nRating: {n}, somehow"}}],
                }
                for n in ratings
            ]
            saved[5] = None
            path = tmp_path / f"review-file-{name}-run{asking}.json"
            path.write_text(json.dumps(saved))
            command += ["--judgements", path]
    status, _, err = run(*command)
    assert status == 0, err
    assert tells(err, "judgement.matched", n=96, rows=96, how="96 by row number")
    audit = audited(tmp_path / "o")
    first_cell = "form=original|run=0|judge=gpt-4-0314"
    assert audit["cells"] == [first_cell, f"{first_cell}#1"]
    for row in audit["respondents"]:
        ratings = ratings_by_name[row["name"].removeprefix("recorded/")]
        assert row["scores"]["score"] == pytest.approx(
            np.mean([n for i, n in enumerate(ratings) if i != 5])
        ), "the reply that is not there is no 0"
        assert states(row, first_cell) == {"ok": 95, "missing": 1}


@pytest.mark.data
def test_verdicts_on_hqh_by_mode(data: Path, run: Run, tmp_path: Path) -> None:
    items = json.loads((data / "hqh" / "HQH.json").read_text())[:40]
    words = {
        "february2025": ("correct, 0 extra", "incorrect, 2 extra", "correct"),
        "june2024": ("without hallucination", "with hallucination", "maybe"),
    }
    for mode, verdict_words in words.items():
        command: list[object] = [
            "audit",
            "hqh",
            "--set",
            f"mode={mode}",
            "--forms",
            "original",
            "-q",
            "--metric",
            "hallucination_rate",
            "--out",
            tmp_path / mode,
            "--data",
            data,
            "--set",
            "prompts=hqm",
        ]
        verdicts = []
        for k, name in enumerate(("llava", "qwen", "fuyu")):
            (tmp_path / f"{name}.json").write_text(
                json.dumps([{**row, "answer": f"{name} {row['id']}"} for row in items])
            )
            command += ["--recorded", tmp_path / f"{name}.json"]
            verdicts += [
                {
                    "item": row["id"],
                    "respondent": name,
                    "judge": "gpt-4o",
                    "verdict": verdict_words[2]
                    if i == 7
                    else verdict_words[(i * (k + 1)) % 3 == 0],
                }
                for i, row in enumerate(items)
            ]
        status, _, err = run(*command, "--judgements", plain(tmp_path / f"{mode}.csv", verdicts))
        assert status == 0, err
        for row in audited(tmp_path / mode)["respondents"]:
            row_verdicts = [
                v["verdict"] for v in verdicts if row["name"] == f"recorded/{v['respondent']}"
            ]
            (cell,) = row["cells"]
            assert row["scores"]["hallucination_rate"] == pytest.approx(
                row_verdicts.count(verdict_words[1]) / 39
            ), "the eighth says too little: unscored"
            # the benchmark has 4,000 items, of which 40 were answered
            assert states(row, cell) == {"ok": 39, "unparsed": 1, "missing": 3960}


def test_score_takes_a_column_of_verdicts(claims: Path, run: Run, tmp_path: Path) -> None:
    answers = plain(
        tmp_path / "m.jsonl", [{"item": f"q{i}", "answer": f"a {i}"} for i in range(24)]
    )
    scores = ["", "?", *[str(i % 3) for i in range(2, 24)]]
    judged = plain(
        tmp_path / "v.csv", [{"item": f"q{i}", "score": score} for i, score in enumerate(scores)]
    )
    status, output, err = run(
        "score", claims, "--answers", answers, "--judgements", judged, "--json"
    )
    assert status == 0, err
    scored = json.loads(output)
    assert scored["metrics"]["faithful"] == pytest.approx(
        np.mean([i % 3 / 2 for i in range(2, 24)])
    )
    assert scored["states"] == {"ok": 22, "unparsed": 1, "missing": 1}
    plain(  # a decimal comma is a number, too
        judged,
        [{"item": f"q{i}", "score": f"{i % 3},5".replace("2,5", "2,0")} for i in range(24)],
    )
    status, output, err = run(
        "score", claims, "--answers", answers, "--judgements", judged, "--json"
    )
    assert status == 0, err
    assert json.loads(output)["states"] == {"ok": 24}


def test_sources_are_read_as_they_are_written(tmp_path: Path) -> None:
    assert JudgementSource.parse("a/b.json") == JudgementSource(Path("a/b.json"))
    assert JudgementSource.parse(",llava=b.json") == JudgementSource(
        Path("b.json"), None, None, "llava"
    )
    equals_path = tmp_path / "x=y.json"
    equals_path.touch()
    assert JudgementSource.parse(str(equals_path)) == JudgementSource(equals_path)
    with pytest.raises(AnswerError, match="no such file"):
        import_judgements(
            hqm.load("shapes_yesno"),
            {"original": hqm.load("shapes_yesno").original},
            [JudgementSource(Path("none.csv"))],
            ["a"],
        )


def test_a_benchmark_with_several_roles_needs_raw_replies(data: Path) -> None:
    with pytest.raises(HQMError, match=pattern_of("judgement.no-roles")):
        hqm.load("valor", data=data).replies_saying("1")


def test_the_command_names_what_is_missing(
    run: Run, claims: Path, answers: Path, tmp_path: Path
) -> None:
    status, _, err = run(
        "audit", claims, "--recorded", answers, "--forms", "original", "-q", "--out", tmp_path / "o"
    )
    assert status != 0
    assert "--judgements" in err
    assert issubclass(UsageError, HQMError)


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        (
            lambda m, i: i % 2 if m == 0 else 8 * i,
            pattern_of("door.binary-alone", name="m0", top="88", column="score"),
        ),
        (
            lambda m, i: 2 * (i % 2) - 1,
            pattern_of("door.below-zero", lowest="-1", column="score"),
        ),
        (
            lambda m, i: 100 * (i % 2) if m else i % 2,
            pattern_of("door.scales", small="1", large="100", column="score"),
        ),
    ],
)
def test_marks_of_two_scales_are_refused_as_scores_are(
    run: Run,
    dogs: Path,
    tmp_path: Path,
    score: Callable[[int, int], int],
    sentence: str,
) -> None:
    cells = [(m, i) for m in range(2) for i in range(12)]
    rows = [{"respondent": f"m{m}", "item": f"q{i}"} for m, i in cells]
    for name, field in (("a", "answer"), ("j", "score")):
        values = ["yes" if field == "answer" else score(m, i) for m, i in cells]
        lines = [{**row, field: value} for row, value in zip(rows, values, strict=True)]
        (tmp_path / name).with_suffix(".jsonl").write_text("\n".join(map(json.dumps, lines)))
    status, _, err = run(
        "audit", dogs, "--recorded", tmp_path / "a.jsonl", "--judgements", tmp_path / "j.jsonl"
    )
    assert status == 1
    assert re.search(sentence, err), err
