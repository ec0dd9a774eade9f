"""What a benchmark is made of that only logs know: rows in, questions, forms, runs and scores out."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hqm.benchmark.log_benchmark import LogBenchmark, benchmarks_of_logs, questions_of_logs
from hqm.errors import AnswerError, DataError, UsageError
from hqm.imports.answer_table import TABLE
from hqm.imports.detect import read_logs
from hqm.imports.intake import read_rows
from hqm.imports.layouts import ROW
from hqm.imports.log_answers import LogSettings
from hqm.imports.match import _option, match_rows
from hqm.imports.recordings import ItemAnswers, read_answers, read_recordings
from hqm.imports.row import Log, Row, stopped
from hqm.types import Form, Item, Response
from tests.messages import pattern_of, tells
from tests.test_any_log import lmms, sample


def answered(n: int, text: str = "a dog", **fields: Any) -> Row:
    """A row with an answer to question n."""
    defaults = {"ids": (f"q{n}",), "question": f"What is in picture {n}?", "respondent": "alpha"}
    answer = None if text == "" else Response(text)
    return Row(place=f"a: record {n}", **{**defaults, "answer": answer, **fields})


OPTIONS = ("dog", "cat")
DOG, NO_DOG = "Is there a dog in the image?", "Is there no dog in the image?"


def log(*rows: Row, path: str = "logs/a.json", tool: str = "mine", **fields: Any) -> Log:
    return Log(path=path, tool=tool, rows=rows, **fields)


def benchmark_of(*logs: Log, **settings: Any) -> LogBenchmark:
    (benchmark,) = benchmarks_of_logs(logs, LogSettings(**settings))
    return benchmark


def ids(benchmark: LogBenchmark) -> list[str]:
    return [item.id for item in benchmark.original.items]


def runs(benchmark: LogBenchmark) -> list[tuple[str, str, int, int]]:
    return [(r.respondent, r.form, r.run, len(r.answers)) for r in benchmark.included_recordings]


# --- names ---


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        (["MM-Vet (v2)"], ["mm_vet_v2"]),
        (["MME", "mme!", "mme"], ["mme", "mme_2"]),
        (["a b", "a-b", "a.b"], ["a_b", "a_b_2", "a_b_3"]),
        (["***"], ["log"]),
        (["x" * 120], ["x" * 90]),
        ([""], ["a"]),
        (["", ""], ["logs"]),
        (["", "docs"], ["b", "docs"]),
    ],
)
def test_a_task_gets_a_name_that_no_other_task_has(tasks: list[str], names: list[str]) -> None:
    paths = ["logs/a.json"] if len(tasks) == 1 else [f"logs/{k}.json" for k in "bcd"]
    logs = [
        log(
            *(
                answered(n, score=1.0, scores={"s": 1.0}, task=task, respondent=path)
                for n in (1, 2)
            ),
            path=path,
        )
        for task, path in zip(tasks, paths, strict=False)
    ]
    benchmarks = benchmarks_of_logs(logs)
    assert [benchmark.name for benchmark in benchmarks] == names
    assert {benchmark.card.version for benchmark in benchmarks} == {"log"}
    assert {benchmark.card.summary for benchmark in benchmarks} == {"From mine."}


def test_what_was_exported_form_by_form_is_one_benchmark() -> None:
    logs = [
        log(answered(1, key="yes", task="Pets of Mine", question=DOG), path="logs/a.json"),
        log(
            answered(1, key="no", task="pets_of_mine_parallel", form="parallel", question=NO_DOG),
            path="logs/b.json",
        ),
    ]
    benchmark = benchmark_of(*logs)
    assert benchmark.card.title == "Pets of Mine"
    assert [form.name for form in benchmark.forms] == ["original", "parallel"]
    assert benchmark.more_forms(benchmark.original) == benchmark.forms[1:]
    assert runs(benchmark) == [("alpha", "original", 0, 1), ("alpha", "parallel", 0, 1)]
    # nobody was asked a form that rules make
    assert len(benchmark.parallel(benchmark.original)) == 0
    benchmark.to_ask()
    assert not benchmark.included_recordings
    assert [item.target for item in benchmark.parallel(benchmark.original).items] == ["no"]


def test_tables_without_a_task_are_one_benchmark_whatever_lies_beside_them() -> None:
    tables = [
        log(answered(1, key="dog", respondent=name), path=f"tables/{name}.csv", tool=TABLE)
        for name in ("alpha", "beta", "gamma")
    ]
    logs_of_tool = [
        log(
            *(answered(n, key="cat", task=task, respondent=name) for task in ("Pets", "Cars")),
            path=f"tool/{n}.json",
        )
        for n, name in enumerate(("alpha", "beta"))
    ]

    def contents(*logs: Log) -> dict[str, list[tuple[str, str, int, int]]]:
        return {benchmark.name: runs(benchmark) for benchmark in benchmarks_of_logs(logs)}

    apart = contents(*tables) | contents(*logs_of_tool)
    assert list(apart) == ["tables", "pets", "cars"]
    assert len(apart["tables"]) == len(tables)
    assert contents(*tables, *logs_of_tool) == contents(*logs_of_tool, *tables) == apart
    # a single file is of the task that its name says
    single = log(answered(3, key="cat", respondent="beta"), path="tables/pets.csv", tool=TABLE)
    assert list(contents(*logs_of_tool, single)) == ["pets", "cars"]


PETS_ASKED = [(f"Is pet {n} a dog?", "yes" if n % 3 else "no") for n in range(12)]
CARS_ASKED = [(f"Is car {n} red?", "no" if n % 4 else "yes") for n in range(9)]
ASKED = {"pets": PETS_ASKED, "cars": CARS_ASKED}


def table(path: str, topic: str, fields: str = "question key", first: int = 1) -> Log:
    """A file of answers to all questions of a topic, whose ids count from `first`."""
    rows = []
    for n, (question, key) in enumerate(ASKED[topic], first):
        values = {"question": question if "question" in fields else "", "key": key}
        values["key"] = key if "key" in fields else ""
        row = Row(place=f"{path}: record {n}", ids=(str(n),), answer=Response("yes"), **values)
        rows.append(replace(row, respondent=Path(path).stem))
    return Log(path=path, tool=TABLE, rows=tuple(rows), names_respondents=False)


@pytest.mark.parametrize(
    ("files", "benchmarks"),
    [
        # folders of benchmarks, of models, of nothing; and a folder with both benchmarks
        ("pets/a=pets pets/b=pets cars/a=cars cars/b=cars", {"pets": 2, "cars": 2}),
        ("a/pets=pets b/pets=pets a/cars=cars b/cars=cars", {"pets": 2, "cars": 2}),
        ("u/a=pets v/b=pets", {"r": 2}),
        ("u/a=pets u/b=pets v/c=pets v/d=pets w/e=cars w/f=cars", {"r": 4, "w": 2}),
        ("u/a_pets=pets u/a_cars=cars u/b_cars=cars u/b_pets=pets", {"pets": 2, "cars": 2}),
        ("pets/out/a=pets pets/out/b=pets cars/out/a=cars", {"out": 2, "a": 1}),
        ("pets/out/a=pets pets/out/b=pets cars/out/a=cars cars/out/b=cars",
         {"pets_out": 2, "cars_out": 2}),
        ("u/pets=pets v/cars=cars", {"pets": 1, "cars": 1}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("fields", ["question key", "key", "question"])
@pytest.mark.parametrize("beside", [False, True])
def test_tables_are_of_one_benchmark_where_their_questions_are(
    files: str, benchmarks: dict[str, int], fields: str, beside: bool
) -> None:
    logs = []
    for file in files.split():
        path, _, topic = file.partition("=")
        logs.append(table(f"/r/{path}.csv", topic, fields))
    if fields == "question":
        logs = with_scores(logs)
    of_tool = log(answered(1, key="x", task="Birds"), path="/r/tool/1.json")
    n_recordings = {}
    for benchmark in benchmarks_of_logs([*logs, of_tool] if beside else logs[::-1]):
        n_recordings[benchmark.name] = len(benchmark.included_recordings)
    assert n_recordings == benchmarks | ({"birds": 1} if beside else {})


def with_scores(logs: list[Log]) -> list[Log]:
    """The logs with a score of each answer."""
    scored = []
    for before in logs:
        rows = [replace(row, scores={"s": float(n % 2)}) for n, row in enumerate(before.rows)]
        scored.append(replace(before, rows=tuple(rows)))
    return scored


def test_parts_of_one_table_in_a_folder_are_one_benchmark() -> None:
    parts = [table("r/part1.csv", "pets"), table("r/part2.csv", "cars", first=101)]
    named = []
    for part in parts:
        rows = [replace(row, respondent=name) for name in "ab" for row in part.rows]
        named.append(replace(part, rows=tuple(rows)))
    benchmark = benchmark_of(*named)
    assert len(benchmark.original) == len(PETS_ASKED) + len(CARS_ASKED)


def test_a_file_of_right_answers_is_of_the_answers_beside_it() -> None:
    logs = []
    for topic in ASKED:
        logs += [table(f"r/{topic}/{name}.csv", topic, "") for name in "ab"]
        asking = table(f"r/{topic}/key.csv", topic)
        rows = [replace(row, answer=None) for row in asking.rows]
        logs.append(replace(asking, rows=tuple(rows), asks=True))
    for benchmark in benchmarks_of_logs(logs):
        items = benchmark.original.items
        assert [(item.prompt, item.target) for item in items] == ASKED[benchmark.name]
    # one that lies beside no answers may be of any
    logs = [table(f"r/{name}.csv", "pets", "") for name in "ab"]
    rows = [replace(row, answer=None) for row in table("k/key.csv", "pets").rows]
    asking = Log(path="k/key.csv", tool=TABLE, rows=tuple(rows), asks=True)
    assert benchmark_of(*logs, asking).original.items[0].target == PETS_ASKED[0][1]


def test_logs_without_a_row_are_noted_and_alone_refused() -> None:
    empty = log(path="logs/b.json", notes=("it crashed",))
    benchmark = benchmark_of(log(answered(1, key="dog")), empty)
    assert benchmark.notes == ("logs/b.json: it crashed",)
    for logs in ([], [empty]):
        with pytest.raises(AnswerError, match="no row"):
            benchmarks_of_logs(logs)


def test_a_task_that_cannot_be_read_is_left_out_beside_another() -> None:
    bad = log(answered(1, task="bad"), path="logs/b.json")
    good = log(answered(1, key="dog", task="good"), path="logs/c.json")
    benchmark = benchmark_of(bad, good)
    assert benchmark.name == "good"
    assert benchmark.notes[0].startswith("left out: logs/b.json: ")
    assert tells(benchmark.notes[0], "log.neither")
    with pytest.raises(AnswerError, match=pattern_of("log.neither")):
        benchmarks_of_logs([bad, bad])


def test_the_card_is_that_of_the_original_form() -> None:
    first = answered(1, key="A", options=OPTIONS, parts=("x",))
    second = answered(2, key="B", options=OPTIONS, parts=("y",))
    second_form = [answered(n, form="again", parts=("z",)) for n in (1, 2)]
    for rows in ([first, second, *second_form], [*second_form, first, second]):
        benchmark = benchmark_of(log(*rows))
        assert (benchmark.card.task, benchmark.card.types) == ("choice", ("x", "y"))
        assert [form.name for form in benchmark.forms] == ["original", "again"]
    score_logs = [log(answered(n, scores={"s": n / 4}), tool="ab"[n], path="xy"[n]) for n in (0, 1)]
    assert "a scored" in benchmark_of(*score_logs).metrics[0].about
    key_logs = [
        log(answered(n, key="x"), path=path) for n, path in enumerate(("x/b.json", "x/c.json"))
    ]
    assert benchmark_of(*key_logs).name == "x"
    tools = [
        log(answered(1, key="x"), tool="a"),
        log(answered(2, key="x"), tool="b", path="logs/c"),
    ]
    assert benchmark_of(
        *tools, log(answered(3, key="x"), tool="a", path="logs/d")
    ).card.summary == ("From a, b.")


# --- which rows are about one question ---


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # the id of the row, as long as no administration has one twice
        ([answered(1), answered(2)], ["q1", "q2"]),
        ([answered(1), answered(2), answered(1, respondent="beta")], ["q1", "q2"]),
        ([answered(1), answered(1, run=1)], ["q1"]),
        ([answered(1), answered(1, form="b")], ["q1"]),
        # an id for each part
        (
            [answered(1, parts=("x", "y")), answered(1, parts=("z",))],
            ["q1/x,y", "q1/z"],
        ),
        # the row number in the data of the tool
        ([answered(1, position=7), answered(1, position=0)], ["7", "0"]),
        # the picture and the question
        (
            [
                answered(1, ids=(), image="val/0012.png", question="Is it?"),
                answered(1, ids=(), image="0013.png", question="Is  it?"),
                answered(1, ids=(), image="12.jpg", question="is it?", respondent="beta"),
            ],
            ["12_is_it?", "13_is_it?"],
        ),
        # the place in the file
        ([answered(1, question=""), answered(1, question="")], ["row0", "row1"]),
        ([answered(1, ids=(), question=""), answered(1)], ["row0", "row1"]),
    ],
)
def test_a_question_is_named_by_the_first_that_tells_rows_apart(
    rows: list[Row], expected: list[str]
) -> None:
    rows = [Row(**{**{f: getattr(r, f) for f in Row.__slots__}, "key": "dog"}) for r in rows]
    assert ids(benchmark_of(log(*rows))) == expected


def test_a_question_takes_what_further_rows_say_of_it() -> None:
    benchmark = benchmark_of(
        log(answered(1, question="", key="dog", image="a.png")),
        log(
            answered(1, respondent="beta", key="cat", cluster="zoo", parts=("wild",)),
            path="logs/b.json",
        ),
        log(answered(1, respondent="gamma", image="b.png", cluster="c"), path="logs/c.json"),
    )
    (item,) = benchmark.original.items
    assert (item.prompt, item.target, item.image) == ("What is in picture 1?", "dog", "a.png")
    assert (item.cluster, item.part, item.type) == ("zoo", "wild", None)
    (item,) = benchmark_of(log(answered(1, key="dog", image="a.png"))).original.items
    assert item.cluster == "a.png"
    (item,) = benchmark_of(log(answered(1, key="dog"))).original.items
    assert (item.image, item.cluster, item.part) == (None, "", "")


@pytest.mark.parametrize(
    ("types", "labelled"),
    [(1, False), (2, True), (50, True), (51, False)],
)
def test_a_few_parts_are_types(types: int, labelled: bool) -> None:
    names = [f"t{k}" for k in range(types)]
    rows = [answered(n, key="dog", parts=(names[n % types],)) for n in range(types)]
    benchmark = benchmark_of(log(*rows, answered(99, key="dog")))
    assert benchmark.card.labelled == labelled
    assert benchmark.card.types == (tuple(names) if labelled else ())
    expected = [(name, "") if labelled else (None, name) for name in names]
    assert [(item.type, item.part) for item in benchmark.original.items] == [*expected, (None, "")]
    assert list(benchmark.subsets(benchmark.original.items[0])) == [names[0]]


# --- task and right answer ---


@pytest.mark.parametrize(
    ("keys", "tasks", "targets", "of_card"),
    [
        ([("Yes.", ()), ("no", ())], ["yes_no"] * 2, ["yes", "no"], "yes_no"),
        ([("yes", ()), ("", ())], ["yes_no"] * 2, ["yes", None], "yes_no"),
        ([("yes", ()), ("red", ())], ["vqa"] * 2, ["yes", "red"], "vqa"),
        ([("red", ()), ("", ())], ["vqa"] * 2, ["red", None], "vqa"),
        ([("B", OPTIONS), ("dog", OPTIONS)], ["choice"] * 2, ["B", "A"], "choice"),
        (
            [("B", OPTIONS), ("red", ("x",)), ("", OPTIONS)],
            ["choice", "vqa", "caption"],
            ["B", "red", None],
            "choice",
        ),
        (
            [("bird", OPTIONS), ("B", OPTIONS), ("A", OPTIONS)],
            ["vqa", "choice", "choice"],
            ["bird", "B", "A"],
            "choice",
        ),
        ([("yes", ("x",)), ("no", ())], ["yes_no"] * 2, ["yes", "no"], "yes_no"),
        ([("yes", ()), ("A", OPTIONS)], ["vqa", "choice"], ["yes", "A"], "vqa"),
    ],
)
def test_the_task_of_a_log_is_told_from_its_keys(
    keys: list[tuple[str, tuple[str, ...]]],
    tasks: list[str],
    targets: list[str | None],
    of_card: str,
) -> None:
    rows = [answered(n, key=key, options=options) for n, (key, options) in enumerate(keys)]
    benchmark = benchmark_of(log(*rows))
    items = benchmark.original.items
    assert [item.task for item in items] == tasks
    assert [item.target for item in items] == targets
    assert benchmark.card.task == of_card
    assert [item.options for item in items] == [
        options if task == "choice" else () for task, (_, options) in zip(tasks, keys, strict=True)
    ]
    assert benchmark.reads == (of_card != "caption")
    unscored = [benchmark.score(item, Response("A")).state for item in items if item.target is None]
    assert set(unscored) <= {"unparsed"}
    assert benchmark.score(items[0], Response(str(items[0].target))).value == 1.0
    assert not benchmark.tool_scored
    assert [m.name for m in benchmark.audited] == ["accuracy"]


def test_without_key_and_score_a_log_needs_a_judge() -> None:
    with pytest.raises(AnswerError, match=pattern_of("log.neither")) as refused:
        benchmark_of(log(answered(1)), log(answered(1, respondent="b"), path="logs/b.json"))
    assert refused.value.location == "logs/a.json, logs/b.json"
    benchmark = benchmark_of(log(answered(1)), judged=True)
    assert benchmark.roles == ("judge",)
    (metric,) = benchmark.metrics
    assert benchmark.card.task == "caption"
    assert (metric.name, metric.subset, metric.better) == ("score", "", "higher")
    assert benchmark.audited == (metric,)
    assert benchmark_of(log(answered(1, key="x"))).roles == ()
    # a right answer in a further form is one, too
    two = log(answered(1), answered(1, key="x", form="again"))
    assert benchmark_of(two).roles == ()


# --- runs and judges ---


@pytest.mark.parametrize(
    ("stored", "expected"), [((0, 1), (0, 1)), ((1, 2), (0, 1)), ((3, 5), (0, 2)), ((0,), (0,))]
)
def test_runs_are_counted_from_0(stored: tuple[int, ...], expected: tuple[int, ...]) -> None:
    rows = [answered(1, f"text {run}", run=run, key="dog") for run in stored]
    assert [run for *_, run, _ in runs(benchmark_of(log(*rows)))] == list(expected)


def graded(run: int, text: str, score: float, **fields: Any) -> Row:
    return answered(1, text, **{"run": run, "scores": {"s": score}, "judge": "j", **fields})


@pytest.mark.parametrize(
    ("rows", "tool", "is_rejudged"),
    [
        ([graded(0, "x", 1.0), graded(1, "x", 0.5)], TABLE, True),
        ([graded(1, "x", 1.0), graded(2, "x", 0.5)], TABLE, True),
        ([graded(0, "x", 1.0), graded(1, "y", 0.5)], TABLE, False),
        ([graded(0, "x", 1.0), graded(1, "x", 0.5)], "other", False),
        ([graded(0, "x", 1.0, judge=""), graded(1, "x", 0.5, judge="")], TABLE, False),
        ([graded(0, "", 1.0), graded(1, "", 0.5)], TABLE, False),
    ],
)
def test_equal_graded_answers_of_a_table_are_one_run_judged_again(
    rows: list[Row], tool: str, is_rejudged: bool
) -> None:
    benchmark = benchmark_of(log(*rows, tool=tool))
    assert [run for *_, run, _ in runs(benchmark)] == ([0] if is_rejudged else [0, 1])
    if is_rejudged:
        (answer,) = benchmark.included_recordings[0].answers.values()
        assert answer.detail["scores"] == {"j": {"s": 1.0}, "j#1": {"s": 0.5}}
    assert benchmark.tool_scored


def test_a_table_that_says_which_time_the_judge_was_asked_keeps_its_runs() -> None:
    rows = [graded(run, "x", 0.5 * run, asking=run) for run in (0, 1)]
    benchmark = benchmark_of(log(*rows, tool=TABLE))
    assert [run for *_, run, _ in runs(benchmark)] == [0, 1]
    details = [
        answer.detail["scores"]
        for r in benchmark.included_recordings
        for answer in r.answers.values()
    ]
    assert details == [{"j": {"s": 0.0}}, {"j#1": {"s": 0.5}}]


def test_several_judges_of_one_answer_stand_beside_each_other() -> None:
    logs = [
        log(*(answered(n, scores={"s": s}, judge=judge) for n in (1, 2)), path=f"logs/{judge}.json")
        for judge, s in (("ann", 1.0), ("bob", 0.25))
    ]
    for ordered in (logs, logs[::-1]):
        benchmark = benchmark_of(*ordered)
        assert runs(benchmark) == [("alpha", "original", 0, 2)]
        for answer in benchmark.included_recordings[0].answers.values():
            assert answer.detail["scores"] == {"ann": {"s": 1.0}, "bob": {"s": 0.25}}
    # another answer, or rows without a judge, are another file's
    other_logs = [
        logs[0],
        log(answered(1, "a cat", scores={"s": 0.0}, judge="bob"), path="logs/b.json"),
    ]
    assert len(benchmark_of(*other_logs).included_recordings) == 2
    plain = [log(answered(1, scores={"s": 0.0}), path=f"logs/{k}.json") for k in "ab"]
    assert len(benchmark_of(*plain).included_recordings) == 2


def test_one_judge_that_stands_twice_beside_an_answer_is_two_rows() -> None:
    rows = [answered(1, scores={"s": s}, judge="ann") for s in (1.0, 0.0)]
    assert ids(benchmark_of(log(*rows))) == ["row0", "row1"]
    rows = [answered(1, judge="ann", scores={"s": 1.0}), answered(1, judge="bob")]
    (answer,) = benchmark_of(log(*rows)).included_recordings[0].answers.values()
    assert answer.detail["scores"] == {"ann": {"s": 1.0}}, "the other judge said no number"


def test_a_score_alone_is_an_answer_of_no_words() -> None:
    benchmark = benchmark_of(
        log(answered(1, "", scores={"s": 0.5}), answered(2, scores={"s": 1.0}))
    )
    first, second = benchmark.included_recordings[0].answers.values()
    assert (first.text, first.state, first.reason) == ("", "ok", "only its score is recorded")
    assert (second.text, second.state, second.reason) == ("a dog", "ok", "")


# --- metrics and verdicts ---


def test_scores_that_some_questions_lack_are_metrics_of_subsets() -> None:
    rows = [answered(n, scores={"every": n / 4, **({"some": 2.0} if n else {})}) for n in range(3)]
    benchmark = benchmark_of(log(*rows, lower=frozenset({"some"}), tool="tool"))
    first_metric, second_metric = benchmark.metrics
    assert (first_metric.name, first_metric.subset, first_metric.better, first_metric.share) == (
        "every",
        "",
        "higher",
        False,
    )
    assert (
        second_metric.name,
        second_metric.subset,
        second_metric.better,
        second_metric.share,
    ) == ("some", "some", "lower", False)
    assert (first_metric.scale, second_metric.scale) == ((0.0, 1.0), (None, None))
    assert benchmark.audited == (first_metric,)
    assert [list(benchmark.subsets(item)) for item in benchmark.original.items] == [
        [],
        ["some"],
        ["some"],
    ]
    verdict = benchmark.verdict_of_scores({"some": 2.0, "every": 0.25, "other": 1.0}, "read")
    assert (verdict.value, verdict.state, verdict.read) == (0.25, "ok", "read")
    assert verdict.tally == {
        "score": 0.25,
        "answers with score": 1.0,
        "every": 0.25,
        "answers with every": 1.0,
        "some": 2.0,
        "answers with some": 1.0,
    }
    assert float(second_metric(verdict.tally)) == 2.0
    empty_verdict = benchmark.verdict_of_scores({"other": 1.0}, "read")
    assert (empty_verdict.value, empty_verdict.state) == (None, "missing")


def test_scores_that_no_question_shares_are_pooled() -> None:
    rows = [answered(n, scores={"ab"[n % 2]: float(n == 3)}) for n in range(4)]
    benchmark = benchmark_of(log(*rows, lower=frozenset({"score"})))
    assert [(m.name, m.subset, m.better, m.share) for m in benchmark.metrics] == [
        ("score", "", "higher", True),
        ("a", "a", "higher", True),
        ("b", "b", "higher", True),
    ]
    assert [m.name for m in benchmark.audited] == ["score"]
    first = benchmark.verdict_of_scores({"b": 1.0}, "")
    assert first.tally["score"] == 1.0
    # what all rows have needs no pool, and an answer without any score is not counted
    benchmark = benchmark_of(log(*rows[::2], answered(1)))
    assert [(m.name, m.subset) for m in benchmark.metrics] == [("a", "")]


@pytest.mark.parametrize(
    ("values", "scale", "share"),
    [
        ([0.0, 1.0], (0.0, 1.0), True),
        ([0.0, 0.0], (0.0, 1.0), True),
        ([0.0, 0.5], (0.0, 1.0), False),
        ([0.0, 1.5], (None, None), False),
        ([-0.5, 1.0], (None, None), False),
    ],
)
def test_the_scale_of_a_tools_score(
    values: list[float], scale: tuple[float | None, float | None], share: bool
) -> None:
    rows = [answered(n, scores={"s": value}) for n, value in enumerate(values)]
    (metric,) = benchmark_of(log(*rows)).metrics
    assert (metric.scale, metric.share) == (scale, share)
    sums = {"s": sum(values), "answers with s": float(len(values))}
    assert float(metric(sums)) == pytest.approx(sum(values) / len(values))


def test_three_scores_at_most_are_audited() -> None:
    rows = [answered(n, scores={f"s{k}": (n * k % 7) / 7 for k in range(1, 6)}) for n in range(5)]
    benchmark = benchmark_of(log(*rows))
    assert [m.name for m in benchmark.audited] == ["s1", "s2", "s3"]
    assert len(benchmark.metrics) == 5


@pytest.mark.parametrize(
    ("total", "agrees"),
    [
        (0.5, True),
        (0.5004, True),
        (0.5006, False),
        (50.0, True),
        (50.04, True),
        (50.06, False),
        (0.4996, True),
        (49.94, False),
    ],
)
def test_a_total_is_held_against_the_mean_of_its_rows(total: float, agrees: bool) -> None:
    rows = [answered(n, scores={"s": float(n), "other": 0.0}) for n in (0, 1)]
    benchmark = benchmark_of(log(*rows, totals={"s": total, "nobody": 3.0}))
    notes = [note for note in benchmark.notes if "total" in note or "prints" in note]
    if agrees:
        assert any(tells(note, "log.totals", totals=1) for note in notes)
    else:
        assert len(notes) == 1
        assert notes[0].startswith(f"logs/a.json: the tool prints s {total:g}")
        assert notes[0].endswith("its 2 rows is 0.5")
    assert not [note for note in benchmark_of(log(*rows)).notes if "prints" in note]
    two = benchmark_of(log(*rows, totals={"s": 0.5, "other": 0.0}))
    assert [note for note in two.notes if tells(note, "log.totals", totals=2)]


# --- the questions alone ---


def test_questions_are_asked_again_where_the_log_has_them() -> None:
    benchmark = benchmark_of(log(answered(1, key="x"), answered(2, key="x", question="")))
    with pytest.raises(DataError, match="1 of 2 questions"):
        benchmark.to_ask()
    benchmark = benchmark_of(log(answered(1, key="x")))
    assert benchmark.to_ask() is benchmark
    assert not benchmark.included_recordings


def test_the_questions_of_a_folder_of_logs_are_a_source(tmp_path: Path) -> None:
    assert questions_of_logs(str(tmp_path / "none.json"), with_pictures=True) is None
    (tmp_path / "t.csv").write_text("question,answer\nIs it?,yes\n")
    assert questions_of_logs(str(tmp_path / "t.csv"), with_pictures=True) is None
    logs = tmp_path / "logs"
    path = lmms(logs, "alpha", "docs", [sample(n, "x", anls=0.5) for n in (3, 4)])
    for text in (logs, path):
        source = questions_of_logs(str(text), with_pictures=True)
        assert source is not None
        assert source.columns == ("id", "question", "answer")
        (first, second) = source.rows(source.columns)
        assert first.cells == {"id": "3", "question": "What is number 3?", "answer": "3"}
        assert second.location == f"{text}: 4"
        assert first.folder == (logs if text == logs else path.parent)
    lmms(logs, "alpha", "other", [sample(5, "x", anls=0.5)])
    with pytest.raises(UsageError, match="2 benchmarks"):
        questions_of_logs(str(logs), with_pictures=True)
    rows = [{**sample(n, "x", anls=0.5), "doc": {"image_path": "a.png"}} for n in (3, 4)]
    lmms(tmp_path / "seen", "alpha", "docs", rows)
    for with_pictures in (True, False):
        source = questions_of_logs(str(tmp_path / "seen"), with_pictures=with_pictures)
        assert source is not None
        assert ("image" in source.columns, "cluster" in source.columns) == (with_pictures, True)


def test_a_metric_of_the_judge_has_no_scale_that_it_cannot_know() -> None:
    benchmark = benchmark_of(log(answered(1)), judged=True)
    (metric,) = benchmark.metrics
    assert metric.share is True
    assert metric.scale == (0.0, 1.0)
    assert math.isnan(float(metric({"score": 0.0, "answers with score": 0.0})))
    assert Item("1", "?", "vqa").target is None
    with pytest.raises(UsageError):
        benchmark.metric("nobody")


def test_an_answer_keeps_what_its_log_says_of_it_and_why_it_ended() -> None:
    ended = stopped("Yes", "stop", {"tokens": 1})
    assert (ended.state, ended.reason, ended.detail) == ("ok", "", {"tokens": 1})
    assert (stopped("Ye", "length").reason, stopped("Ye", "length").detail) == ("length", {})


def test_the_numbers_that_a_reader_of_parquet_counted_are_no_column(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x", "y"]}), path)
    assert read_rows(path) == [{"a": "x"}, {"a": "y"}]
    # a column of the file's own stays, and so do the numbers of other files
    pq.write_table(pa.table({ROW: ["7", "1"], "a": ["x", "y"]}), path)
    assert read_rows(path) == [{ROW: "7", "a": "x"}, {ROW: "1", "a": "y"}]
    table = tmp_path / "a.csv"
    table.write_text(f"{ROW},a\n0,x\n1,y\n")
    assert read_rows(table) == [{ROW: "0", "a": "x"}, {ROW: "1", "a": "y"}]


def test_answers_under_item_and_id_are_those_of_the_item(tmp_path: Path) -> None:
    form = Form("original", tuple(Item(key, "Is it?", "yes_no", "yes") for key in "123"))
    path = tmp_path / "answers.jsonl"
    rows = [{"respondent": "m", "item": key, "id": "3", "answer": "yes"} for key in "12"]
    path.write_text("\n".join(map(json.dumps, rows)))
    (recording,) = read_recordings(path, {"original": form})
    assert list(recording.answers) == ["1", "2"]
    path.write_text(json.dumps({"item": "1", "answer": "yes"}))
    assert read_answers(path, form).other_keys == ItemAnswers(form).other_keys == 0


def test_the_row_number_decides_where_nothing_else_tells_items_apart() -> None:
    """Two questions in the same words with other answers; of the same answer any will do."""
    for targets, cue in ((("yes", "no"), "row number"), (("yes", "yes"), "picture and question")):
        items = tuple(Item(f"q{k}", DOG, "yes_no", targets[k], image="a.png") for k in range(2))
        rows = [Row(place="", image="a.png", question=DOG, position=k) for k in (1, 0)]
        matched = match_rows(rows, Form("original", items))
        assert set(matched.cue_counts) == {cue}
        assert matched.ambiguous == ()
        if cue == "row number":
            assert matched.items == {0: ("q1",), 1: ("q0",)}
    # ids that name no item say nothing beside a row number, and refuse a row without one
    form = Form("original", tuple(Item(f"q{k}", f"Is it {k}?", "yes_no", "yes") for k in range(2)))
    for position, matches in ((1, {0: ("q1",)}), (None, {})):
        row = Row(place="", ids=("7",), position=position)
        assert match_rows([row], form).items == matches


@pytest.mark.parametrize(
    ("key", "text"),
    [("B", "blue"), ("b", "blue"), ("red", "red"), ("B. blue", "blue"), ("c", ""), ("B. red", "")],
)
def test_a_key_is_an_option_by_letter_or_text(key: str, text: str) -> None:
    assert _option(key, ("red", "blue")) == text


@pytest.mark.parametrize(
    ("key", "is_answered"),
    [
        ({"label": "yes"}, True),
        ({"target": "a dog"}, True),
        ({"ground_truth": "B"}, True),
        ({"label": "animals"}, False),
        ({"topic": "animals"}, False),
    ],
)
def test_an_answer_beside_a_question_and_a_key_is_a_models(
    tmp_path: Path, key: dict[str, str], is_answered: bool
) -> None:
    """A folder is read as its files are when they are named: beside a question `answer` alone is
    the right one, and with a key beside it a model's.
    """
    for name, answer in (("a", "Yes, there is."), ("b", "No.")):
        rows = [{"id": n, "question": f"Is {n} red?", **key, "answer": answer} for n in range(4)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    if not is_answered:
        with pytest.raises(AnswerError, match="no file of answers"):
            read_logs([tmp_path])
        return
    logs = read_logs([tmp_path])
    assert [(row.answer.text, row.key) for log in logs for row in log.rows if row.answer] == [
        *[("Yes, there is.", *key.values())] * 4,
        *[("No.", *key.values())] * 4,
    ]
