"""Recorded answers of several benchmarks go to the benchmark that they answer."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import hqm
from hqm import AnswerError, Form, HQMError, Item, Response, UsageError
from hqm.auditing.one_file import score_file
from hqm.commands.session_respondents import Router
from hqm.imports.match import check_options
from hqm.types import LETTERS
from tests.conftest import Run

NAMES = ("shapes_yesno", "shapes_choice")


def write_keys(folder: Path, name: str, model: str, every: int = 1) -> Path:
    """A file of the right answers to every n-th question of a benchmark; the others are wrong."""
    rows = []
    for i, item in enumerate(hqm.load(name).original.items):
        wrong = {"yes": "no", "no": "yes"}.get(str(item.target), "A")
        rows.append({"item": item.id, "answer": item.target if i % every == 0 else wrong})
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{model}.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def audited(folder: Path) -> Mapping[str, list[str]]:
    """Benchmark -> the respondents of its audit."""
    audit = hqm.Audit.load(folder / "audit.json")
    return {
        a.benchmark: sorted(r.name.removeprefix("recorded/") for r in a.respondents)
        for a in audit.audits
    }


def test_files_and_folders_are_audited_with_the_benchmark_that_they_answer(
    tmp_path: Path, run: Run
) -> None:
    mixed = tmp_path / "answers"
    write_keys(mixed, "shapes_yesno", "anna", 3)
    write_keys(mixed / "deeper", "shapes_choice", "berta", 2)
    single = write_keys(tmp_path, "shapes_choice", "clara", 5)
    (mixed / "notes.json").write_text('[{"title": "no answers"}]', encoding="utf-8")
    arguments = ["audit", *NAMES, "-q", "--recorded", str(mixed), "--recorded", str(single)]
    status, _, errors = run(*arguments, "--out", tmp_path / "out")
    assert status == 0
    assert audited(tmp_path / "out") == {
        "shapes_yesno": ["anna"],
        "shapes_choice": ["berta", "clara"],
    }
    assert str(mixed / "notes.json") in errors
    assert f"shapes_yesno: {mixed / 'anna.jsonl'}." in errors


def test_each_file_is_read_once_for_all_benchmarks(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_keys(tmp_path / "answers", "shapes_yesno", "anna", 3)
    write_keys(tmp_path / "answers", "shapes_choice", "berta", 2)
    counts: Counter[str] = Counter()
    read_bytes = Path.read_bytes

    def count(path: Path) -> bytes:
        counts[path.name] += 1
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", count)
    arguments = ["audit", *NAMES, "-q", "--recorded", str(tmp_path / "answers")]
    assert run(*arguments, "--out", tmp_path / "out")[0] == 0
    assert [counts[name] for name in ("anna.jsonl", "berta.jsonl")] == [1, 1]
    assert len(audited(tmp_path / "out")) == 2


def test_a_benchmark_named_before_a_file_gets_it(tmp_path: Path, run: Run) -> None:
    yes = write_keys(tmp_path, "shapes_yesno", "anna", 3)
    choice = write_keys(tmp_path, "shapes_choice", "berta", 2)
    arguments = ["audit", *NAMES, "-q", "--recorded", f"shapes_yesno={yes}"]
    arguments += ["--recorded", f"shapes_choice={choice}", "--out", str(tmp_path / "out")]
    assert run(*arguments)[0] == 0
    assert audited(tmp_path / "out") == {"shapes_yesno": ["anna"], "shapes_choice": ["berta"]}
    of_python = hqm.audit("shapes_yesno", recorded={"shapes_yesno": yes})
    assert [r.name for r in of_python.respondents] == ["recorded/anna"]


def counting(counts: Mapping[tuple[str, str], tuple[int, int]]) -> object:
    def count(benchmark: str, path: Path) -> tuple[int, int]:
        if (benchmark, path.name) not in counts:
            raise AnswerError("it has other items")
        return counts[benchmark, path.name]

    return count


@pytest.mark.parametrize(
    ("name", "counts", "expected"),
    [
        ("a.csv", {"pope": (10, 10)}, ["pope"]),
        ("a.csv", {"amber_d": (10, 40), "amber_g": (20, 40)}, ["amber_d", "amber_g"]),
        ("llava_pope.csv", {"pope": (5, 10), "mmhal": (10, 10)}, ["pope"]),
        ("a.csv", {"pope": (5, 10), "mmhal": (5, 5)}, ["mmhal"]),
        ("a.csv", {"pope": (5, 10), "mmhal": (2, 9)}, ["pope"]),
        ("a.csv", {"pope": (5, 10), "mmhal": (5, 10)}, None),
        ("a.csv", {}, None),
        ("a.csv", {"pope": (0, 10)}, None),
    ],
)
def test_a_file_that_several_benchmarks_read_goes_to_one_or_is_refused(
    name: str, counts: Mapping[str, tuple[int, int]], expected: list[str] | None, tmp_path: Path
) -> None:
    units = {"pope": ["pope"], "amber": ["amber_d", "amber_g"], "mmhal": ["mmhal"]}
    (tmp_path / name).write_text("x")
    router = Router(units, counting({(b, name): n for b, n in counts.items()}))  # type: ignore[arg-type]
    if expected is None:
        with pytest.raises(AnswerError):
            router.route([tmp_path / name])
    else:
        assert sorted(router.route([tmp_path / name])) == expected


def test_a_folder_of_one_benchmark_stays_whole_and_an_unknown_name_is_refused(
    tmp_path: Path,
) -> None:
    units = {"pope": ["pope"], "mmhal": ["mmhal"]}
    for name in ("a.json", "b.json", "c.json"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text("[]")
    counts = {("pope", name): (3, 9) for name in ("a.json", "b.json", "c.json")}
    router = Router(units, counting(counts))  # type: ignore[arg-type]
    assert router.route([tmp_path / "in"]) == {"pope": [tmp_path / "in"]}
    del counts["pope", "b.json"]
    assert router.route([tmp_path / "in"]) == {
        "pope": [tmp_path / "in" / "a.json", tmp_path / "in" / "c.json"]
    }
    assert len(router.notes) == 1
    with pytest.raises(UsageError) as refused:
        router.route([Path("popo=x.json")])
    assert "pope" in str(refused.value)


# --- the study in hqm.toml ---


def test_audit_without_a_benchmark_runs_the_study_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    write_keys(tmp_path, "shapes_yesno", "anna", 3)
    choice = write_keys(tmp_path, "shapes_choice", "berta", 2)
    settings = tmp_path / "hqm.toml"
    settings.write_text(
        'device = "cpu"\n[study]\nbenchmarks = ["shapes_yesno", "shapes_choice"]\nout = "there"\n'
        'quiet = true\nlimit = 40\n[study.recorded]\nshapes_yesno = "anna.jsonl"\n'
        f"shapes_choice = [{str(choice)!r}]\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert run("audit")[0] == 0
    assert audited(tmp_path / "there") == {"shapes_yesno": ["anna"], "shapes_choice": ["berta"]}
    assert {a.n_items for a in hqm.Audit.load(tmp_path / "there" / "audit.json").audits} == {40}
    # the command line decides over the study, and a named benchmark leaves it out
    assert run("audit", "--limit", "60", "--out", "other")[0] == 0
    assert {a.n_items for a in hqm.Audit.load(tmp_path / "other" / "audit.json").audits} == {60}
    arguments = ["audit", "shapes_yesno", "-q", "--recorded", "anna.jsonl", "--out", "one"]
    assert run(*arguments)[0] == 0
    assert set(audited(tmp_path / "one")) == {"shapes_yesno"}
    for line, word in (
        ("limits = 3", "limit"),
        ('limit = "three"', "limit"),
        ('respondents = ["openai/x@http://127.0.0.1:1/v1"]', "--machine"),
        ("benchmarks = 3", "benchmarks"),
    ):
        settings.write_text(f"[study]\n{line}\n", encoding="utf-8")
        status, _, errors = run("audit")
        assert status != 0
        assert word in errors
    settings.unlink()
    status, _, errors = run("audit")
    assert status != 0
    assert "[study]" in errors


# --- the form that a file answers ---


class FewerOptions:
    """Questions with ten options, and with four in another form."""

    def __init__(self, n_items: int = 200) -> None:
        options = tuple(f"option {letter}" for letter in LETTERS[:10])
        items = [Item(str(i), f"Q{i}?", "choice", "A", options=options) for i in range(n_items)]
        self.original = Form("original", tuple(items))
        fewer = tuple(Item(i.id, i.prompt, "choice", "A", options=options[:4]) for i in items)
        self.further_forms = (Form("four", fewer),)

    def verdict(self, item: Item, response: Response) -> hqm.Verdict:
        return hqm.Verdict(0.0, {}, "ok", response.text)


@pytest.mark.parametrize("n_options", [4, 10])
@pytest.mark.parametrize("seed", range(20))
def test_letters_of_four_options_are_refused_and_those_of_ten_are_not(
    n_options: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    # letters that a model likes are answered more often, whatever is right
    shares = rng.dirichlet(np.full(n_options, 2.0))
    letters = rng.choice(list(LETTERS[:n_options]), 200, p=shares)
    answers = {str(i): Response(str(letter)) for i, letter in enumerate(letters)}
    benchmark = FewerOptions()
    if n_options == 10:
        check_options(benchmark, answers, benchmark.original, "x")
        return
    with pytest.raises(AnswerError) as refused:
        check_options(benchmark, answers, benchmark.original, "x.json")
    assert "'four'" in str(refused.value)
    assert "--form four" in str(refused.value)


def test_a_renamed_file_of_four_options_is_not_scored_by_the_key_of_ten(
    data: Path, tmp_path: Path
) -> None:
    benchmark = hqm.load("mmmu_pro", data=data)
    answers = data / "mmmu_pro" / "answers"
    released = answers / "gpt-4o-2024-08-06_direct_standard4.jsonl.gz"
    renamed = tmp_path / "gpt.jsonl.gz"
    shutil.copy(released, renamed)
    for path, form in ((released, None), (released, "four"), (renamed, "four")):
        scored = score_file(benchmark, path, form=form)
        assert scored.form == "four"
        # 902 of 1,730, as the release's own reader counts
        assert scored.metrics["accuracy"] == pytest.approx(902 / 1730)
    with pytest.raises(AnswerError):
        score_file(benchmark, renamed)
    with pytest.raises(AnswerError):
        score_file(benchmark, released, form="original")
    (four,) = benchmark.recordings(released) or ()
    own_format = tmp_path / "answers.jsonl"
    rows = [{"item": key, "answer": answer.text} for key, answer in four.answers.items()]
    own_format.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(AnswerError):
        score_file(benchmark, own_format)
    assert score_file(benchmark, own_format, form="original").form == "original", "as it is named"
    n_refused = 0
    for path in sorted(answers.iterdir()):
        (recording,) = benchmark.recordings(path) or ()
        try:
            check_options(benchmark, recording.answers, benchmark.original, str(path))
        except HQMError:
            n_refused += 1
            assert recording.form.startswith("four"), path.name
    assert n_refused == 10


# --- rows that hold an error ---


@pytest.mark.parametrize(
    "error",
    [
        {"error": "timed out"},
        {"answer": None, "error": {"message": "timed out"}},
        {"answer": "", "error": "timed out"},
        {"answer": "", "state": "error", "reason": "timed out"},
        {"answer": "", "finish_reason": "error"},
    ],
)
def test_rows_that_hold_an_error_are_errors_to_score_and_to_audit(
    error: Mapping[str, object], tmp_path: Path, run: Run
) -> None:
    rows = [
        json.loads(line)
        for line in write_keys(tmp_path, "shapes_yesno", "x").read_text().splitlines()
    ]
    rows[7] = {"item": rows[7]["item"], **error}
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    scored = score_file(hqm.load("shapes_yesno"), path)
    assert scored.states == {"ok": len(rows) - 1, "error": 1}
    arguments = ["audit", "shapes_yesno", "-q", "--recorded", path, "--out", tmp_path / "out"]
    assert run(*arguments)[0] == 1  # not every question has an answer
    (respondent,) = hqm.Audit.load(tmp_path / "out" / "audit.json").audits[0].respondents
    (states,) = respondent.states.values()
    assert +Counter(states) == {"ok": len(rows) - 1, "error": 1}


def test_answers_in_llavas_numbering_need_no_part(data: Path) -> None:
    path = data / "pope_answers" / "llava-v1.5-13b.jsonl.gz"
    benchmark = hqm.load("pope", data=data)
    scored = score_file(benchmark, path)
    # .8801, .8743 and .8550, as the release's evaluation counts them
    shares = {part: round(m["accuracy"] or 0, 4) for part, m in scored.by_part.items()}
    assert shares == {"coco_random": 0.8801, "coco_popular": 0.8743, "coco_adversarial": 0.855}
    (recording,) = benchmark.recordings(path) or ()
    assert (recording.respondent, len(recording.answers)) == ("llava-v1.5-13b", 8910)
    questions = data / "logs" / "llava" / "llava_pope_test.jsonl"
    pictures = {}
    for line in questions.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        split, number = row["category"], row["question_id"]
        pictures[number] = (split, row["image"])
    from hqm.adapters import pope

    rows = benchmark._read_rows(path, benchmark.original)  # type: ignore[attr-defined]
    joined = pope._llava_numbered(rows, benchmark.original)
    for key, row in joined.items():
        item = benchmark.original.by_id[key]
        assert (item.part.removeprefix("coco_"), item.image) == pictures[int(row.id)]


def test_answers_in_llavas_numbering_may_end_early(data: Path, tmp_path: Path) -> None:
    path = data / "logs" / "llava" / "llava-v1.5-7b_pope.jsonl"
    benchmark = hqm.load("pope", data=data)
    beside_questions = score_file(benchmark, path).by_part
    alone = tmp_path / "answers.jsonl"
    shutil.copy(path, alone)
    parts = score_file(benchmark, alone).by_part
    assert parts == {part: beside_questions[part] for part in ("coco_random", "coco_adversarial")}
    (recording,) = benchmark.recordings(alone) or ()
    assert len(recording.answers) == 5712
    lines = alone.read_text(encoding="utf-8").splitlines()
    # a row that is missing inside a picture, or one too many, leaves no way to divide the rows
    for changed in ([*lines[:3000], *lines[3001:]], [*lines[:3000], lines[3000], *lines[3000:]]):
        alone.write_text("\n".join(changed), encoding="utf-8")
        assert benchmark.recordings(alone) is None


# --- judged benchmarks among several ---


def test_of_several_benchmarks_one_without_a_judge_is_scored_by_its_rule(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("HQM_DATA", str(data))
    yes = write_keys(tmp_path, "shapes_yesno", "anna", 3)
    questions = json.loads((data / "hallusion_bench" / "HallusionBench.json").read_text())
    answered = tmp_path / "berta.json"
    answered.write_text(json.dumps([row | {"model_prediction": "Yes."} for row in questions]))
    files = ["--recorded", yes, "--recorded", answered, "--limit", 40]
    out = tmp_path / "out"
    status, _, errors = run("audit", "shapes_yesno", "hallusion_bench", "-q", *files, "--out", out)
    assert status == 0
    assert "hallusion_bench: scored by rule" in errors
    assert audited(out) == {"shapes_yesno": ["anna"], "hallusion_bench": ["berta"]}
    # what has no rule is refused before any file is read
    answered.unlink()
    status, _, errors = run("audit", "shapes_yesno", "mmhal", "-q", *files, "--out", out)
    assert status != 0
    assert "mmhal" in errors
    assert "--judge" in errors
