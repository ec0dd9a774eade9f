"""The Python way: an audit from a path in one call, the same numbers as the command's, and tidy
frames of them.
"""

import html
import inspect
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hqm
from hqm.benchmark.corrected_keys import read_key
from hqm.commands.python_api import NOT_ASKED
from hqm.files.records import read_json, read_text
from tests.conftest import ROOT, Run, needs_torch
from tests.messages import pattern_of


@pytest.fixture
def answers(dogs: Path, tmp_path: Path) -> Path:
    """Three respondents, the original form twice and the parallel form once, with one refusal."""
    targets = {item.id: str(item.target) for item in hqm.load(dogs).original.items}
    flip = {"yes": "No.", "no": "Yes."}
    rows: list[dict[str, Any]] = []
    for k, name in enumerate("abc"):
        for form, run_index in (("original", 0), ("original", 1), ("parallel", 0)):
            for i, (item, target) in enumerate(targets.items()):
                key = target if form == "original" else {"yes": "no", "no": "yes"}[target]
                answer = flip[key] if (i + run_index) % 5 < k else key
                row = {
                    "respondent": name,
                    "form": form,
                    "run": run_index,
                    "item": item,
                    "answer": answer,
                }
                rows.append(
                    {
                        **row,
                        "state": (
                            "refused"
                            if (name, form, run_index, i) == ("a", "original", 0, 3)
                            else "ok"
                        ),
                    }
                )
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def audit(dogs: Path, answers: Path) -> hqm.BenchmarkAudit:
    return hqm.audit(dogs, answers)


def test_the_estimates_are_those_of_the_command(
    audit: hqm.BenchmarkAudit, dogs: Path, answers: Path, tmp_path: Path, run: Run
) -> None:
    status, _, err = run("audit", dogs, "--recorded", answers, "--out", tmp_path / "out", "-q")
    assert status == 0, err
    (stored,) = hqm.Audit.load(str(tmp_path / "out" / "audit.json")).audits
    assert hqm.BenchmarkAudit.from_dict(json.loads(json.dumps(audit.to_dict()))) == stored
    # the store that the command wrote gives them again, and nothing is written to it
    store_bytes = (tmp_path / "out" / "store.sqlite").read_bytes()
    second_audit = hqm.audit(str(dogs), store=str(tmp_path / "out" / "store.sqlite"))
    assert second_audit.all_estimates == audit.all_estimates
    assert (tmp_path / "out" / "store.sqlite").read_bytes() == store_bytes
    # and evidence that was gathered by hand
    with hqm.Store(str(tmp_path / "out" / "store.sqlite"), readonly=True) as store:
        assert (
            hqm.audit(hqm.gather(hqm.load(str(dogs)), store)).all_estimates == audit.all_estimates
        )


def test_strings_paths_lists_and_loaded_benchmarks_are_the_same(
    dogs: Path, answers: Path, tmp_path: Path
) -> None:
    lines = answers.read_text().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_text("".join(lines[: len(lines) // 3]))
    (tmp_path / "bc.jsonl").write_text("".join(lines[len(lines) // 3 :]))
    whole_frame = hqm.audit(str(dogs), recorded=str(answers)).to_frame("scores")
    parts = [str(tmp_path / "a.jsonl"), tmp_path / "bc.jsonl"]
    assert hqm.audit(hqm.load(dogs), recorded=parts).to_frame("scores").equals(whole_frame)


def test_settings_reach_where_the_command_line_has_them(
    dogs: Path, answers: Path, tmp_path: Path
) -> None:
    one_metric = hqm.audit(dogs, answers, metrics="f1").to_frame()
    assert set(one_metric["metric"]) == {"f1"}
    key = tmp_path / "corrected.csv"
    key.write_text("item,target\nq0,no\n")
    right = (
        hqm.evidence_of(dogs, answers)
        .to_frame()
        .query("item == 'q0' and form == 'original' and run == 0")
    )
    corrected = hqm.evidence_of(dogs, answers, key=str(key)).to_frame()
    corrected = corrected.query("item == 'q0' and form == 'original' and run == 0")
    assert (right["score"].to_numpy() == 1 - corrected["score"].to_numpy()).all()
    store = tmp_path / "kept.sqlite"
    hqm.audit(dogs, answers, store=store)
    assert hqm.audit(dogs, store=store).all_estimates == hqm.audit(dogs, answers).all_estimates
    limited = hqm.audit(dogs, answers, limit=6)
    assert limited.n_items == 6


def test_what_makes_no_sense_ends_in_a_sentence(dogs: Path, answers: Path) -> None:
    with pytest.raises(hqm.UsageError, match=pattern_of("audit.no-answers")):
        hqm.audit(dogs)
    with pytest.raises(hqm.UsageError, match=pattern_of("python.loaded-already", option="parser")):
        hqm.audit(hqm.load(dogs), answers, parser="strict")
    with pytest.raises(hqm.UsageError, match="the evidence is gathered"):
        hqm.audit(hqm.evidence_of(dogs, answers), limit=3)
    with pytest.raises(hqm.UsageError, match="there is no table 'rows'"):
        hqm.audit(dogs, answers, limit=4).to_frame("rows")  # type: ignore[arg-type]
    with pytest.raises(hqm.UsageError, match="stands for several benchmarks"):
        hqm.audit("shapes", answers)
    with pytest.raises(hqm.HQMError, match="no such"):
        hqm.audit(dogs, "nowhere.jsonl")


@pytest.mark.parametrize(
    ("name", "command_name", "excluded"),
    [
        ("audit", "audit", set()),
        ("compare", "compare", set()),
        ("run", "audit", set(NOT_ASKED)),
        ("plan", "audit", {*NOT_ASKED, "until"}),
    ],
)
def test_python_takes_the_options_of_the_command_by_their_names(
    name: str, command_name: str, excluded: set[str]
) -> None:
    """Every option and setting of the command that says what is done is a keyword with the same
    default.
    """
    from hqm.cli import load_command
    from hqm.commands.options import OPTIONS, RunOptions

    function: Any = load_command(command_name)
    command = {*inspect.signature(function).parameters, *function.settings}
    python = inspect.signature(getattr(hqm, name)).parameters
    printing = {"store", "as_json", "quiet", "dry_run", "no_wait"}
    shared = {option for option in command if option in OPTIONS} - printing - excluded
    assert shared - {"judges"} <= set(python)
    assert set(python) & set(OPTIONS) - printing <= command
    assert "machine" in python
    for option in shared - {"workers", "judges"}:
        default = RunOptions.from_values({option: python[option].default})
        assert default == RunOptions(), option
        assert f"\n{option}\n" in (getattr(hqm, name).__doc__ or "")


@needs_torch
def test_plan_and_compare_give_what_the_commands_print(
    dogs: Path, answers: Path, tmp_path: Path, run: Run
) -> None:
    store_path = tmp_path / "kept.sqlite"
    hqm.run(dogs, recorded=answers, store=store_path)
    respondents = ["hf/shapes:steady", "hf/shapes:yes-sayer"]
    forecast_plan = hqm.plan(
        dogs, respondents, store=store_path, runs=3, forms="original", max_requests=10
    )
    words = ["--runs", "3", "--forms", "original", "--max-requests", "10", "--store", store_path]
    status, output, _ = run(
        "audit", "--dry-run", dogs, "-r", respondents[0], "-r", respondents[1], *words, "--json"
    )
    assert status == 0
    printed = json.loads(output)
    assert [row["requests"] for row in printed["plan"]] == [
        forecast.requests for forecast in forecast_plan.forecasts.values()
    ]
    assert printed["bounds"][0]["needed"] == forecast_plan.bounds[0].needed == 72
    hqm.audit(dogs, answers, store=store_path)
    args = ["--store", store_path, "--metric", "accuracy", "--metric", "f1"]
    status, _, err = run("compare", dogs, *args, "--to", tmp_path / "c.json")
    assert status == 0, err
    comparison = hqm.compare(dogs, store=store_path, metrics=["accuracy", "f1"])
    stored = json.loads((tmp_path / "c.json").read_text())
    ours = json.loads(comparison.to_json())
    assert ours | {"command": ""} == stored | {"command": ""}


def test_the_frame_of_estimates_has_a_row_for_every_interval(audit: hqm.BenchmarkAudit) -> None:
    frame = audit.to_frame()
    assert list(frame.columns) == [
        "indicator",
        "metric",
        "group",
        "value",
        "low",
        "high",
        "inference",
        "status",
        "reason",
        "flags",
        "benchmark",
        "facet",
        "first",
        "other",
        "level",
        "method",
        "n_items",
        "n_respondents",
        "unscored",
        "signature",
    ]
    pooled = frame[frame["group"] == "all"]
    assert len(pooled) == sum(max(1, len(estimate.intervals)) for estimate in audit.all_estimates)
    for estimate in audit.all_estimates:
        rows = pooled[pooled["signature"] == estimate.signature]
        rows = rows[(rows["indicator"] == estimate.indicator) & (rows["other"] == estimate.other)]
        assert set(rows["inference"]) == ({i.inference for i in estimate.intervals} or {""})
        for interval in estimate.intervals:
            row = rows[rows["inference"] == interval.inference].iloc[0]
            np.testing.assert_array_equal(
                [row["low"], row["high"], row["level"]],
                [interval.low, interval.high, interval.level],
            )
        np.testing.assert_array_equal(
            rows["value"], np.nan if estimate.value is None else estimate.value
        )
    absent = pooled[pooled["value"].isna()]
    assert (absent["status"] != "ok").all()
    assert (absent["reason"] != "").all()
    # respondents have rows of their own only where the number is theirs: the mean of their
    # agreements is the estimate
    agreement = frame[
        (frame["indicator"] == "test_retest.item_agreement") & (frame["metric"] == "accuracy")
    ]
    single = agreement[agreement["group"] != "all"]
    assert set(single["group"]) == {"recorded/a", "recorded/b", "recorded/c"}
    assert single["value"].mean() == pytest.approx(
        agreement[agreement["group"] == "all"]["value"].iloc[0]
    )
    assert set(frame[frame["indicator"] == "test_retest.rho_g"]["group"]) == {"all"}


def test_the_shifts_of_single_respondents_average_to_the_shift(audit: hqm.BenchmarkAudit) -> None:
    frame = audit.to_frame()
    checked = 0
    for name in ("yes_ratio_shift", "length_shift", "acquiescence"):
        rows = frame[frame["indicator"] == f"parallel_forms.{name}"]
        single, pooled = (
            rows[rows["group"] != "all"]["value"],
            rows[rows["group"] == "all"]["value"],
        )
        if len(single):
            assert single.mean() == pytest.approx(pooled.iloc[0])
            checked += 1
    assert checked >= 2


def test_the_frames_of_scores_and_states_have_every_administration(
    audit: hqm.BenchmarkAudit,
) -> None:
    scores = audit.to_frame("scores")
    assert not scores.duplicated(["respondent", "form", "run", "judge", "sight", "metric"]).any()
    assert set(zip(scores["form"], scores["run"], strict=True)) == {
        ("original", 0),
        ("original", 1),
        ("parallel", 0),
    }
    for respondent in audit.respondents:
        row = scores.query(
            "respondent == @respondent.name and form == 'original' and run == 0"
            " and metric == 'accuracy'"
        ).iloc[0]
        assert row["score"] == respondent.scores["accuracy"]
        np.testing.assert_array_equal([row["low"], row["high"]], respondent.intervals["accuracy"])
    states = audit.to_frame("states")
    assert states["answers"].dtype == np.int64
    refused = states.query("state == 'refused' and answers > 0")
    assert refused[["respondent", "form", "run", "answers"]].to_numpy().tolist() == [
        ["recorded/a", "original", 0, 1]
    ]


def test_the_frames_of_answers_and_items_are_what_was_scored(dogs: Path, answers: Path) -> None:
    evidence = hqm.evidence_of(dogs, answers)
    frame = evidence.to_frame()
    assert len(frame) == 3 * 3 * 12
    wide = frame.query("form == 'original' and run == 0").pivot_table(
        index="respondent", columns="item", values="score", dropna=False
    )
    matrix = evidence.first
    np.testing.assert_array_equal(
        wide.loc[list(matrix.respondents), [i.id for i in matrix.items]], matrix.values
    )
    assert frame[frame["state"] == "refused"]["score"].isna().all()
    items = evidence.to_frame("items").set_index("item")
    assert list(items.index) == [f"q{i}" for i in range(12)]
    assert items.loc["q3", "n_scored"] == 2
    assert items.loc["q0", "target"] == "yes"
    # pandas by itself gives the same, from the frame of answers
    means = frame.query("form == 'original' and run == 0").groupby("item")["score"].mean()
    np.testing.assert_allclose(items["mean_score"], means.loc[items.index])
    scores = wide.drop(columns="q3")
    rest_correlations = {
        item: scores[item].corr(scores.drop(columns=item).mean(axis=1))
        for item in scores
        if scores[item].std() > 0
    }
    defined = items["rest_correlation"].dropna()
    assert len(defined) > 3
    # q3 has a refused answer, so the pandas way leaves it out of the rest; the others differ by
    # that one item at most
    for item, value in rest_correlations.items():
        assert np.sign(defined[item]) == np.sign(value) or abs(value) < 0.1


def test_several_benchmarks_are_one_frame(audit: hqm.BenchmarkAudit) -> None:
    frame = hqm.Audit((audit, replace(audit, title="Another"))).to_frame("scores")
    assert len(frame) == 2 * len(audit.to_frame("scores"))


def test_an_audit_without_estimates_still_has_the_columns(audit: hqm.BenchmarkAudit) -> None:
    empty = replace(audit, all_estimates=()).to_frame()
    assert list(empty.columns) == list(audit.to_frame().columns)
    assert empty.dtypes.equals(audit.to_frame().dtypes)


def test_importing_hqm_loads_nothing_heavy() -> None:
    code = (
        "import sys, hqm; print([m for m in ('numpy', 'pandas', 'scipy', 'typer', 'torch') if m in"
        " sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"


def test_readers_take_strings(tmp_path: Path, dogs: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"item": "q0", "target": "no"}\n')
    path = str(tmp_path / "rows.jsonl")
    assert (
        hqm.read_records(path) == hqm.read_records(Path(path)) == [{"item": "q0", "target": "no"}]
    )
    assert read_json(path) == {"item": "q0", "target": "no"}
    assert read_text(path) == Path(path).read_text()
    assert hqm.Card.load(str(dogs / "card.toml")) == hqm.Card.load(dogs / "card.toml")
    assert tuple(read_key(path, hqm.load(str(dogs))).changed) == ("q0",)
    assert hqm.Policy.load("release-small") == hqm.Policy.load(Path("release-small"))


def test_a_part_is_loaded_by_its_name(make_benchmark: Any) -> None:
    rows = [
        {"id": str(i), "prompt": "Is it red?", "target": "yes", "part": "xy"[i % 2]}
        for i in range(6)
    ]
    folder = make_benchmark(rows)
    assert [item.id for item in hqm.load(folder, part="y").original.items] == ["1", "3", "5"]
    with pytest.raises(hqm.UsageError, match="has no part 'z'"):
        hqm.load(folder, part="z")


@pytest.mark.data
def test_one_part_of_pope_is_audited_where_the_corrected_key_lies_beside(
    data: Path, tmp_path: Path
) -> None:
    """RePOPE's files answer all parts; a log of all parts is cut to the one that is asked for."""
    for name in ("llava-v1.5-7b_pope.jsonl", "llava_pope_test.jsonl"):
        (tmp_path / name).write_bytes((data / "logs" / "llava" / name).read_bytes())
    log = tmp_path / "llava-v1.5-7b_pope.jsonl"
    evidence = hqm.evidence_of("pope", log, data=data, part="coco_adversarial", metrics="accuracy")
    frame = evidence.to_frame()
    assert len(frame) == 3000
    # 2,554 of the 3,000 answers are right, counted from the two files by their ids; the release
    # misspells image
    lines = (tmp_path / "llava_pope_test.jsonl").read_text().splitlines()
    questions = {row["question_id"]: row for row in map(json.loads, lines)}
    lines = (data / "pope" / "coco_pope_adversarial.json").read_text().splitlines()
    gold = {
        (r["image"], r["text"].replace("imange", "image")): r["label"]
        for r in map(json.loads, lines)
    }
    right = 0
    for record in map(json.loads, log.read_text().splitlines()):
        question = questions[record["question_id"]]
        if question["category"] == "adversarial":
            text = question["text"].split("\n")[0].replace("imange", "image")
            right += gold[question["image"], text] == record["text"].strip().lower()
    assert right == 2554
    assert frame["score"].sum() == right
    # a benchmark that was loaded with its part says the same
    loaded = hqm.load("pope", data=str(data), part="coco_adversarial")
    assert hqm.evidence_of(loaded, str(log), metrics="accuracy").to_frame().equals(frame)
    assert {finding.name for finding in evidence.findings} >= {"repope-label", "repope-ambiguous"}


def test_the_readmes_python_prints_what_it_shows() -> None:
    import doctest
    import re

    readme = (ROOT / "README.md").read_text("utf-8")
    code = "\n".join(
        block
        for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        if block.startswith(">>>")
    )
    example = doctest.DocTestParser().get_doctest(code, {}, "README.md", "README.md", 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(example, out=report.append)
    assert result.attempted == 3
    assert result.failed == 0, "".join(report)


def test_a_type_checker_sees_the_keywords() -> None:
    """The stub is that of the options; tests/typed, which `make types` reads, uses it."""
    from docs.generate import MADE

    stubs = [path for path in MADE if path.suffix == ".pyi"]
    assert stubs
    for path in stubs:
        assert path.read_text(encoding="utf-8") == MADE[path](), "python docs/generate.py"


# --- what an audit shows of itself ---


def frame_of_scores() -> Any:
    pandas = pytest.importorskip("pandas")
    rows = [
        (model, f"q{i}", float((i * 7 + j * 3) % 5 > 1 + j % 2))
        for j, model in enumerate("abcdef")
        for i in range(20)
    ]
    return pandas.DataFrame(rows, columns=["model", "item", "f1"])


def test_an_audit_of_a_frame_prints_itself_in_about_ten_lines() -> None:
    audit = hqm.audit(frame_of_scores())
    lines = repr(audit).splitlines()
    assert len(lines) <= 13
    assert max(map(len, lines)) <= 120
    assert audit.verdict.split()[0] in lines[1]
    assert " ".join(str(audit.statement).split()) in " ".join(repr(audit).split())
    second_version = replace(audit, version="2")
    assert repr(hqm.Audit((audit, second_version))).count(lines[0]) == 2
    assert not [mend for mend in audit.mend if mend.what == "repeats"], "no question is no twin"


def test_an_audit_has_frames_and_shows_itself_in_a_notebook() -> None:
    audit = hqm.audit(frame_of_scores())
    collection = hqm.Audit((audit,))
    assert audit.scores.equals(collection.scores)
    assert collection.estimates.equals(audit.to_frame())
    assert audit.estimates.equals(collection.estimates)
    assert audit.items.equals(collection.items)
    assert set(collection.items["item"]) == {f"q{i}" for i in range(20)}
    means = frame_of_scores().groupby("item")["f1"].mean()
    assert collection.items.set_index("item")["mean_score"].sort_index().tolist() == means.tolist()
    assert (collection.verdict, collection.statement) == (audit.verdict, str(audit.statement))
    page = audit._repr_html_()
    assert page.startswith("<iframe srcdoc=")
    assert html.escape(audit.statement.repeat) in html.unescape(page)
    assert page.count('"') == page.count('="') * 2, "nothing of the page ends the attribute"


def test_gate_and_report_do_what_the_commands_do(run: Run, tmp_path: Path) -> None:
    audit = hqm.audit(frame_of_scores())
    path = tmp_path / "audit.json"
    path.write_text(hqm.Audit((audit,)).to_json())
    printed = json.loads(run("gate", path, "--policy", "release-small", "--json")[1])
    for audited in (audit, hqm.Audit((audit,)), path, str(tmp_path)):
        assert hqm.gate(audited, "release-small").to_dict() == printed
    run("report", path, "--to", tmp_path / "printed.html")
    pages = hqm.report(path, tmp_path / "made.html")
    assert [page.name for page in pages] == ["made.html", "made-evidence.html"]
    text = (tmp_path / "printed.html").read_text().replace("printed-evidence", "made-evidence")
    assert pages[0].read_text() == text


def test_sixty_names_at_most_are_for_users() -> None:
    assert len(hqm.__all__) <= 60
    assert set(dir(hqm)) == set(hqm.__all__)
    groups = re.findall(r"^[A-Z][a-z]+ {2,}(\w.*)$", hqm.__doc__ or "", re.MULTILINE)
    listed = [name for line in groups for name in line.split(", ")]
    assert len(listed) > 15
    assert set(listed) <= set(hqm.__all__)


def test_a_frame_is_audited_by_the_columns_that_one_would_write() -> None:
    pandas = pytest.importorskip("pandas")
    plain = frame_of_scores().rename(columns={"f1": "score"})
    rerun = plain.assign(run=1, score=1 - plain["score"])
    reworded = plain.assign(form="reworded")
    combined = pandas.concat(
        [plain.assign(run=0, form="original"), rerun.assign(form="original"), reworded]
    )
    audit = hqm.audit(combined.fillna({"run": 0}))
    assert list(audit.scores["form"].unique()) == ["original", "reworded"]
    assert sorted(audit.scores["run"].unique()) == [0, 1]
    means = plain.groupby("model")["score"].mean()
    first = audit.scores.query("form == 'original' and run == 0").set_index("respondent")["score"]
    assert first.rename(lambda name: name.removeprefix("recorded/")).to_dict() == means.to_dict()
    # a row a model, or a row an item, with the names in the index as after a pivot
    for index, columns in (("model", "item"), ("item", "model")):
        wide = plain.pivot(index=index, columns=columns, values="score")
        assert hqm.audit(wide).scores["score"].tolist() == means.tolist()
    numbered = plain.assign(item=plain["item"].str.removeprefix("q").astype(int))
    wide = numbered.pivot(index="item", columns="model", values="score")
    assert hqm.audit(wide).n_items == 20


@pytest.mark.parametrize(
    ("renamed", "lacking"),
    [
        ({"model": "system"}, "model"),
        ({"item": "number"}, "item"),
        ({"f1": "note"}, "score"),
        ({"model": "who", "item": "what"}, "model, item"),
    ],
)
def test_a_frame_that_lacks_a_column_is_refused_with_what_it_takes(
    renamed: dict[str, str], lacking: str
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = frame_of_scores().rename(columns=renamed)
    if "note" in frame:
        frame["note"] = "good"
    with pytest.raises(hqm.AnswerError, match=pattern_of("frame.lacks", fields=lacking)):
        hqm.audit(frame)
    if lacking == "score":
        return
    columns = dict(zip(lacking.split(", "), renamed.values(), strict=True))
    assert hqm.audit(frame, columns=columns).scores["score"].notna().all()
    with pytest.raises(hqm.AnswerError, match=pattern_of("frame.empty")):
        hqm.audit(pandas.DataFrame())


def test_tables_of_other_libraries_and_rows_are_audited_as_frames_are() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    frame = frame_of_scores()
    means = hqm.audit(frame).scores["score"].tolist()
    tables = [pyarrow.Table.from_pandas(frame), frame.to_dict("records"), frame.to_dict("list")]
    for table in tables:
        assert hqm.audit(table).scores["score"].tolist() == means
    with pytest.raises(hqm.UsageError, match=pattern_of("frame.no-table", kind="ndarray")):
        hqm.audit(frame.to_numpy())
    wordy = frame.rename(columns={"f1": "score"}).astype({"score": object})
    wordy.loc[5, "score"] = "much"
    with pytest.raises(
        hqm.DataError, match=pattern_of("door.no-number", cell="much", column="score")
    ):
        hqm.audit(wordy)


def test_an_audit_offers_what_a_person_asks_and_keeps_the_rest_behind_evidence(
    audit: hqm.BenchmarkAudit,
) -> None:
    offered = dir(audit)
    assert len(offered) < 20
    asked = "verdict statement scores reliability wording pairs types mend items estimates estimate"
    assert {*asked.split(), *"error_budget to_frame to_dict plot evidence".split()} <= {*offered}
    for name in offered:
        assert getattr(audit, name) is not None
    assert audit.evidence.to_read == audit.to_read
    assert "left_out" in dir(audit.evidence)
    with pytest.raises(AttributeError, match="left_out"):
        _ = audit.evidence.to_frame
    columns = list(audit.estimates.columns)
    assert columns[:6] == ["indicator", "metric", "group", "value", "low", "high"]
    assert set(audit.reliability["indicator"].str.partition(".")[0]) == {
        "test_retest",
        "consistency",
    }
    assert set(audit.wording["indicator"].str.partition(".")[0]) == {"parallel_forms"}
    assert list(audit.pairs["first"])[1:] == list(audit.pairs["second"])[:-1], "a chain"
    assert set(audit.pairs["outcome"]) <= {"differ", "equal", "not_known"}
    lines = repr(audit).splitlines()
    assert max(map(len, lines)) <= 80
    assert "..." not in repr(audit)
