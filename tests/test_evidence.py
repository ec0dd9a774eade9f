"""What an audit looks at is one value: gathered from store and files once, audited without either;
labels by their file.
"""

import ctypes
import dataclasses
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import hqm
from hqm import Judgement, Store
from hqm.labels.people_labels import import_labels, stored_labels
from hqm.signature import digest_file
from tests.conftest import Run, administered, in_one_process, recorded, write_benchmark
from tests.messages import tells, text_of

NAMES = "abcdef"


@pytest.fixture
def quiz(tmp_path: Path) -> Path:
    """Sixty yes/no questions without pictures."""
    rows = [
        {"id": f"q{i}", "prompt": f"Is {i} there?", "target": "no" if i % 3 else "yes"}
        for i in range(60)
    ]
    return write_benchmark(tmp_path / "quiz", rows, name="quiz")


def sheets() -> dict[str, dict[tuple[str, int], dict[str, str]]]:
    """Six respondents of graded ability, two runs."""
    rng = random.Random(3)
    right = {f"q{i}": "no" if i % 3 else "yes" for i in range(60)}
    wrong = {"yes": "no", "no": "yes"}
    return {
        name: {
            ("original", run): {
                key: t if rng.random() < 0.95 - 0.08 * k else wrong[t] for key, t in right.items()
            }
            for run in (0, 1)
        }
        for k, name in enumerate(NAMES)
    }


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rows = [
        {"respondent": name, "form": form, "run": run, "item": item, "answer": text}
        for name, cells in sheets().items()
        for (form, run), texts in cells.items()
        for item, text in texts.items()
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def labels(tmp_path: Path) -> Callable[[int], Path]:
    """A file of labels on the first thirty items; another seed gives a corrected file of the same
    name.
    """

    def write(seed: int) -> Path:
        rng = random.Random(seed)
        rows = [
            f"q{i},{name},{int(rng.random() < 0.9 - 0.1 * k)}"
            for k, name in enumerate(NAMES)
            for i in range(30)
        ]
        path = tmp_path / "labels.csv"
        path.write_text("\n".join(["item,respondent,label", *rows]))
        return path

    return write


@pytest.fixture
def opened() -> Iterator[list[tuple[str, str]]]:
    """Every file and database that Python opens while the list is watched (it holds a first
    entry).
    """
    events: list[tuple[str, str]] = []
    watching = [False]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching[0] and event in (
            "open",
            "sqlite3.connect",
            "os.mkdir",
            "os.rename",
            "os.listdir",
            "os.scandir",
        ):
            events.append((event, str(arguments[0])))

    sys.addaudithook(watch)
    watching[0] = True
    yield events
    watching[0] = False


def test_an_audit_of_evidence_opens_nothing_and_needs_no_store(
    quiz: Path, tmp_path: Path, labels: Callable[[int], Path], opened: list[tuple[str, str]]
) -> None:
    benchmark = hqm.load(str(quiz))
    with Store(tmp_path / "store.sqlite") as store:
        respondents = administered(store, benchmark, [recorded(n, s) for n, s in sheets().items()])
        evidence = hqm.gather(benchmark, store, respondents, criterion=labels(1))
    assert ("sqlite3.connect", str(tmp_path / "store.sqlite")) in [
        (e, p.partition("?")[0].removeprefix("file://")) for e, p in opened
    ]
    for path in tmp_path.glob("store.sqlite*"):
        path.unlink()
    (tmp_path / "labels.csv").unlink()
    audited = hqm.audit(evidence)  # which imports what it needs
    opened.clear()
    assert hqm.audit(evidence) == audited
    assert opened == []
    assert audited.estimate("criterion.pearson").value is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        evidence.reference = hqm.Cell(run=1)  # type: ignore[misc]


def test_evidence_is_of_every_respondent_in_the_store_unless_some_are_named(
    quiz: Path, store: Store
) -> None:
    benchmark = hqm.load(str(quiz))
    respondents = administered(store, benchmark, [recorded(n, s) for n, s in sheets().items()])
    all_evidence, selected = (
        hqm.gather(benchmark, store),
        hqm.gather(benchmark, store, respondents[:3]),
    )
    assert (len(all_evidence.respondents), len(selected.respondents)) == (6, 3)
    assert all_evidence.first.respondents == tuple(f"recorded/{name}" for name in NAMES)
    assert hqm.audit(all_evidence) == hqm.audit(hqm.gather(benchmark, store, respondents))


def pearson_in(folder: Path) -> Any:
    (audit,) = json.loads((folder / "audit.json").read_text())["audits"]
    return next((e for e in audit["estimates"] if e["indicator"] == "criterion.pearson"), None)


def test_corrected_labels_give_the_corrected_numbers(
    run: Run, quiz: Path, answers: Path, labels: Callable[[int], Path], tmp_path: Path
) -> None:
    command = (
        "audit",
        quiz,
        "--recorded",
        answers,
        "--forms",
        "original",
        "-q",
        "--store",
        tmp_path / "one.sqlite",
    )
    assert run(*command, "--out", tmp_path / "first", "--criterion", labels(1))[0] == 0
    first = pearson_in(tmp_path / "first")
    offline = (*command, "--offline", "--out")
    status, _, err = run(*offline, tmp_path / "corrected", "--criterion", labels(2))
    assert (status, err) == (0, "")
    corrected = pearson_in(tmp_path / "corrected")
    assert corrected["value"] != first["value"]
    record = json.loads((tmp_path / "corrected" / "audit.json").read_text())["record"]
    assert record["benchmarks"]["quiz"]["labels"] == [digest_file(tmp_path / "labels.csv")]
    # as if there had never been another file
    fresh = (
        *command[:-1],
        tmp_path / "fresh.sqlite",
        "--out",
        tmp_path / "fresh",
        "--criterion",
        labels(2),
    )
    assert run(*fresh)[0] == 0
    assert pearson_in(tmp_path / "fresh") == corrected
    # both are in the store; without a file, the labels imported last are used
    with Store(tmp_path / "one.sqlite", readonly=True) as store:
        assert len(store.judged("quiz")) == 2
        assert sum(row["label"] is not None for row in store.rows("judgements")) == 2 * 180
    assert run(*offline, tmp_path / "again")[0] == 0
    assert pearson_in(tmp_path / "again") == corrected
    # the first file's labels are still there, and the same file is stored once
    assert run(*offline, tmp_path / "back", "--criterion", labels(1))[0] == 0
    assert pearson_in(tmp_path / "back") == first
    with Store(tmp_path / "one.sqlite", readonly=True) as store:
        assert sum(1 for _ in store.rows("judgements")) == 2 * 180


def test_readings_of_a_store_take_a_file_of_labels(
    run: Run, quiz: Path, answers: Path, labels: Callable[[int], Path], tmp_path: Path
) -> None:
    path = tmp_path / "one.sqlite"
    command = ("audit", quiz, "--recorded", answers, "--forms", "original", "-q", "--store", path)
    assert run(*command, "--out", tmp_path / "first", "--criterion", labels(1))[0] == 0
    status, output, err = run(
        "compare",
        quiz,
        "--store",
        path,
        "--metric",
        "accuracy",
        "--metric",
        "f1",
        "--criterion",
        labels(2),
        "--to",
        tmp_path / "compare.json",
    )
    assert status == 0, output + err
    compared = json.loads((tmp_path / "compare.json").read_text())
    assert run(*command, "--offline", "--out", tmp_path / "second")[0] == 0
    measured = compared["indicators"]["criterion.pearson"]["accuracy"]
    assert measured["value"] == pytest.approx(pearson_in(tmp_path / "second")["value"])


def test_labels_stored_by_earlier_versions_are_read(
    quiz: Path, store: Store, labels: Callable[[int], Path]
) -> None:
    benchmark = hqm.load(str(quiz))
    respondents = administered(store, benchmark, [recorded(n, s) for n, s in sheets().items()])
    names = [respondent.name for respondent in respondents]
    labelled = benchmark.read_criterion(labels(1), benchmark.original, names)
    store.judge("quiz", "original", 0, labelled)
    old = hqm.audit(hqm.gather(benchmark, store, respondents)).estimate("criterion.pearson")
    assert old.other.endswith("judge=human")
    assert (
        hqm.audit(hqm.gather(benchmark, store, respondents, criterion=labels(1))).estimate(
            "criterion.pearson"
        )
        == old
    )
    relabelled = hqm.audit(hqm.gather(benchmark, store, respondents, criterion=labels(2))).estimate(
        "criterion.pearson"
    )
    assert relabelled.value != old.value
    # a rater's name may have any sign in it
    store.judge("quiz", "original", 1, [Judgement("human:anna@b2:x", "q1", names[0], 1.0)])
    assert list(stored_labels(store, benchmark, benchmark.original, 1).by_rater) == [
        "human:anna@b2:x"
    ]


def test_raters_of_one_file_stay_apart_from_those_of_another(
    quiz: Path, store: Store, tmp_path: Path
) -> None:
    benchmark = hqm.load(str(quiz))
    for rows in ("q1,a,anna@x.org,1\nq1,a,ben,0", "q1,a,cleo,1"):
        (tmp_path / "labels.csv").write_text(f"item,respondent,rater,label\n{rows}\n")
        imported = import_labels(
            store, benchmark, benchmark.original, 0, tmp_path / "labels.csv", ["a"]
        )
        assert stored_labels(store, benchmark, benchmark.original, 0) == imported
    assert list(imported.by_rater) == ["human:cleo"]
    assert [label.label for label in imported.by_judge["human"]] == [1.0]


def without_write_permission() -> None:
    """In the child: take from root the right to write where the file's mode forbids it."""
    if os.geteuid() == 0:
        drop_from_bounding_set, override_permissions = 24, 1
        ctypes.CDLL(None).prctl(drop_from_bounding_set, override_permissions)


def test_a_store_that_cannot_be_written_takes_labels_in_memory(
    run: Run, quiz: Path, answers: Path, labels: Callable[[int], Path], tmp_path: Path
) -> None:
    """A store of mode 0444 in a folder of mode 0555, in a real process that has no right to write
    there.
    """
    folder = tmp_path / "locked"
    path = folder / "store.sqlite"
    command = ("audit", quiz, "--recorded", answers, "--forms", "original", "-q", "--store", path)
    assert run(*command, "--out", tmp_path / "first", "--criterion", labels(1))[0] == 0
    for file in folder.iterdir():
        if file != path:
            file.unlink()
    before = path.read_bytes()
    path.chmod(0o444)
    folder.chmod(0o555)

    try:
        touched = subprocess.run(
            ["touch", folder / "x"], check=False, preexec_fn=without_write_permission
        )
        if touched.returncode == 0:
            pytest.skip("this system lets the test write where the mode forbids it")
        file = labels(2)
        offline = (*command, "--offline", "--out")
        reading = ("compare", quiz, "--store", path, "--metric", "accuracy", "--metric", "f1")
        to = tmp_path / "compare.json"
        results = in_one_process(
            [
                (*offline, tmp_path / "second", "--criterion", file),
                (*offline, tmp_path / "third"),
                (*reading, "--criterion", file, "--to", to),
            ],
            preexec_fn=without_write_permission,
        )
        assert [status for status, _, _ in results] == [0, 0, 0], results
        with_labels, without_labels, compared = (err for _, _, err in results)
        assert with_labels == text_of("labels.in-memory", path=path, file=file)
        assert without_labels == ""
        assert tells(compared, "labels.in-memory")
    finally:
        folder.chmod(0o755)
    assert pearson_in(tmp_path / "second")["value"] != pearson_in(tmp_path / "first")["value"]
    assert pearson_in(tmp_path / "third") == pearson_in(tmp_path / "first"), (
        "the store has the first labels only"
    )
    assert [file.name for file in folder.iterdir()] == ["store.sqlite"]
    assert path.read_bytes() == before


def own_callers(
    run: Callable[[], object], name: str, file: str, caller: str = ""
) -> list[list[str]]:
    """The functions of this project on the stack, wherever a function is called (by a caller in a
    folder) while `run` runs.
    """
    root = str(Path(hqm.__file__).resolve().parent.parent)
    stacks: list[list[str]] = []

    def in_project(frame: FrameType) -> bool:
        code = frame.f_code
        # a comprehension is no call of ours, nor is what dataclasses write ("<string>"), nor the
        # command line library's own step from a command to its function, which
        # `GroupedCommand.invoke` stands in for
        return (
            code.co_filename.startswith(root)
            and "/tests/" not in code.co_filename
            and "/.venv/" not in code.co_filename
            and not code.co_name.startswith("<")
            and code.co_name != "invoke"
        )

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name == name and code.co_filename.endswith(file):
            calling_frame = frame.f_back
            stack: list[str] = []
            direct = calling_frame is not None and caller in calling_frame.f_code.co_filename
            while calling_frame is not None:
                stack += [calling_frame.f_code.co_name] if in_project(calling_frame) else []
                calling_frame = calling_frame.f_back
            if direct:
                stacks.append(stack[::-1])

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return stacks


def test_a_score_is_five_calls_from_the_command_line(run: Run, quiz: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(json.dumps({"item": f"q{i}", "answer": "no"}) for i in range(60)))
    stacks = own_callers(
        lambda: run("score", quiz, "--answers", path), "__call__", "scoring/metrics.py"
    )
    assert len(stacks) >= 6, "every metric of a yes/no benchmark"
    deepest = max(stacks, key=len)
    assert deepest[0] == "main"
    assert len(deepest) <= 5, " > ".join(deepest)


def test_an_audit_is_eight_calls_from_the_command_line_to_a_coefficient(
    run: Run, quiz: Path, answers: Path, tmp_path: Path
) -> None:
    command = (
        "audit",
        quiz,
        "--recorded",
        answers,
        "--forms",
        "original",
        "-q",
        "--out",
        tmp_path / "out",
    )
    stacks = own_callers(
        lambda: run(*command), "pearson", "psychometrics/validity/correlation.py", "/indicators/"
    )
    assert stacks
    deepest = max(stacks, key=len)
    assert deepest[0] == "main"
    assert len(deepest) <= 8, " > ".join(deepest)


def test_the_parallel_form_is_built_only_where_it_was_put(
    run: Run, quiz: Path, answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To make it takes minutes for a benchmark of many questions in a script that the taggers do
    not know.
    """
    built: list[str] = []
    build_parallel = hqm.build_parallel

    def noted(form: hqm.Form) -> hqm.Form:
        built.append(form.name)
        return build_parallel(form)

    monkeypatch.setattr("hqm.forms.make_forms.build_parallel", noted)
    command = ("audit", quiz, "--recorded", answers, "-q", "--out", tmp_path / "out")
    assert run(*command, "--forms", "original")[0] == 0
    assert built == []
    assert run(*command)[0] == 0
    assert built
