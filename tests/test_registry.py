import importlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm import Benchmark, CardError, DataError, UsageError, load, names
from hqm.benchmark.adapter import Adapter
from hqm.benchmark.registry import groups, load_all
from tests.conftest import Run, write_benchmark
from tests.judge_server import JudgeServer
from tests.messages import pattern_of

ONE_FILE = '''
from hqm import Benchmark, Form, Item, Response, Verdict

CARD = {"name": "echo", "title": "Echo", "version": "1", "task": "vqa"}


class Echo(Benchmark):
    """Right when the answer repeats the question."""

    def read(self) -> Form:
        return Form("original", (Item("1", "Say hello.", "vqa", "hello"),))

    def score(self, item: Item, response: Response) -> Verdict:
        right = float(item.target in response.text.lower())
        return Verdict(right, {"right": right, "n": 1.0})
'''


def test_names_are_sorted_and_grouped() -> None:
    assert list(names()) == sorted(names())
    assert {"pope", "amber_d", "coco_chair", "shapes_yesno"} <= set(names())
    assert groups()["shapes"] == ("shapes_caption", "shapes_choice", "shapes_vqa", "shapes_yesno")
    assert [b.name for b in load_all("shapes")] == list(groups()["shapes"])


def test_a_folder_without_code_is_a_benchmark(dogs: Path) -> None:
    benchmark = load(str(dogs))
    assert type(benchmark) is Benchmark
    assert len(benchmark.original) == 12
    assert benchmark.original.items[0].cluster == "0.png"


def test_a_python_file_is_a_benchmark(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(ONE_FILE)
    benchmark = load(str(tmp_path / "echo.py"))
    verdict = benchmark.verdict(benchmark.original.items[0], hqm.Response("Hello!"))
    assert (benchmark.name, verdict.value) == ("echo", 1.0)


def test_another_package_brings_a_benchmark_by_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real installed distribution: a module, and metadata with an entry point."""
    (tmp_path / "their_echo.py").write_text(ONE_FILE)
    meta = tmp_path / "their_echo-1.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: their-echo\nVersion: 1\n")
    (meta / "entry_points.txt").write_text("[hqm.benchmarks]\necho = their_echo\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    try:
        assert "echo" in names()
        assert load("echo").card.title == "Echo"
    finally:
        sys.modules.pop("their_echo", None)


def test_a_package_that_cannot_be_loaded_concerns_its_own_benchmark_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    meta = tmp_path / "torn-1.dist-info"
    meta.mkdir()
    (tmp_path / "torn.py").write_text("import nothing_of_this_name\n")
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: torn\nVersion: 1\n")
    (meta / "entry_points.txt").write_text("[hqm.benchmarks]\ntorn = torn\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    assert groups()["shapes"]
    assert load("shapes_yesno").original.items
    sentence = pattern_of("extension.broken", name="torn")
    with pytest.raises(CardError, match=sentence):
        load("torn")
    for command in (("check", "shapes_yesno", "--exit-zero"), ("list", "benchmarks")):
        status, output, err = run(*command)
        assert (status, "shapes_yesno" in output) == (0, True), err
    assert re.search(sentence, err)


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no benchmark 'poppe'.*pope"):
        load("poppe")
    with pytest.raises(UsageError, match="no such file"):
        load("nowhere.py")


def test_data_that_do_not_come_with_hqm_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HQM_DATA", raising=False)
    with pytest.raises(DataError, match="HQM_DATA"):
        load("pope")
    with pytest.raises(DataError, match="looked for"):
        load("pope", data=tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('title = "x"', "the key 'name' is missing"),
        (
            'name = "x"\ntitle = "X"\nversion = "1"\ntask = "yes_no"\ncolour = 1',
            "unknown key 'colour'",
        ),
        (
            'name = "x"\ntitle = "X"\nversion = "1"\ntask = "yes_no"\n[scoring]\nparsser = "pope"',
            "unknown key 'scoring.parsser'",
        ),
        ('name = "x"\ntitle = "X"\nversion = "1"\ntask = "essay"', "'task' is wrong"),
        (
            'name = "x"\ntitle = "X"\nversion = "1"\ntask = "vqa"\ntypes = ["existense"]',
            "unknown existense",
        ),
        ("name = ", "no TOML"),
        *(
            (
                f'name = "x"\ntitle = "X"\nversion = "1"\ntask = "yes_no"\n[data]\nitems = "{place}"',
                "lies outside the benchmark's folder",
            )
            for place in ("../a.jsonl", "/a.jsonl", "a/../../b.jsonl")
        ),
    ],
)
def test_a_card_that_cannot_be_used_says_why(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "card.toml").write_text(text)
    with pytest.raises(CardError, match=sentence) as caught:
        load(str(tmp_path))
    assert "card.toml" in str(caught.value)


def test_a_file_that_breaks_or_lacks_its_card_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(CardError, match="ZeroDivisionError"):
        load(str(tmp_path / "broken.py"))
    (tmp_path / "bare.py").write_text("x = 1")
    with pytest.raises(CardError, match="it has no CARD"):
        load(str(tmp_path / "bare.py"))


def test_scoring_and_parser_are_checked(dogs: Path) -> None:
    with pytest.raises(UsageError, match="no scoring 'fast'"):
        load(str(dogs), scoring="fast")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no parser 'fast'"):
        load(str(dogs), parser="fast")


BAD_ITEMS = [
    ([{"id": "1", "text": "Is it?", "target": "yes"}], "the field 'prompt' is missing"),
    (
        [{"id": "1", "prompt": "a", "target": "yes"}, {"id": "1", "prompt": "b", "target": "no"}],
        "the id '1' stands twice",
    ),
    ([{"id": "1", "prompt": "a", "target": "maybe"}], "the target is 'maybe'"),
    (
        [{"id": "1", "prompt": "a", "target": "yes", "type": "smell"}],
        "'smell' is no hallucination type",
    ),
    (
        [{"id": "1", "prompt": "a", "target": "yes", "image": "../../etc/passwd"}],
        "outside the image folder",
    ),
    (
        [{"id": "1", "prompt": "a", "target": "yes", "image": "/etc/passwd"}],
        "outside the image folder",
    ),
    ([], "it has no items"),
]


@pytest.mark.parametrize(("rows", "sentence"), BAD_ITEMS)
def test_bad_items_are_one_sentence(
    make_benchmark: Callable[..., Path], rows: list[dict[str, str]], sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        _ = load(str(make_benchmark(rows))).original


def test_a_choice_takes_the_option_or_its_letter(make_benchmark: Callable[..., Path]) -> None:
    rows = [
        {"id": "1", "prompt": "Which?", "target": "blue", "options": ["red", "blue"]},
        {"id": "2", "prompt": "Which?", "target": "b", "options": "red | blue"},
    ]
    items = load(str(make_benchmark(rows, task="choice"))).original.items
    assert [item.target for item in items] == ["B", "B"]
    with pytest.raises(DataError, match="green"):
        _ = load(str(make_benchmark([{**rows[0], "target": "green"}], task="choice"))).original


def test_fields_are_mapped_by_the_card(make_benchmark: Callable[..., Path]) -> None:
    folder = make_benchmark(
        [{"qid": 7, "q": "Is it?", "label": "YES", "pic": "a.png", "extra": 1}],
        fields={"id": "qid", "prompt": "q", "target": "label", "image": "pic"},
        prompt={"suffix": " Answer yes or no."},
    )
    benchmark = load(str(folder))
    item = benchmark.original.items[0]
    assert (item.id, item.target, item.image, item.meta) == ("7", "yes", "a.png", {"extra": 1})
    assert benchmark.question_text(item) == "Is it? Answer yes or no."


# --- adding a benchmark or a judge touches no file of HQM ---

COLORS_FILE = """
from hqm import Benchmark, Form, Item, Metric, Response, Verdict, mean_of

CARD = {"name": "colors", "title": "Colors", "version": "1", "task": "vqa", "types": ["attribute"]}


class Colors(Benchmark):
    metrics = (Metric("named", mean_of("right"), share=True, about="Share of answers that name the colour."),)

    def read(self) -> Form:
        colors = ("red", "green", "blue", "white", "black", "pink")
        return Form("original", tuple(Item(f"q{i}", f"What color is thing {i}?", "vqa", c) for i, c in enumerate(colors)))

    def score(self, item: Item, response: Response) -> Verdict:
        right = float(item.target in response.text.lower())
        return Verdict(right, {"right": right, "n": 1.0})
"""
JUDGE = """
    roles = ("judge",)

    async def judge(self, item: Item, response: Response, ask) -> Verdict:
        reply = await ask("judge", f"Right: {item.target}. Answered: {response.text}. Is that the same?")
        if not reply.startswith(("yes", "no")):
            return Verdict.unscored("unparsed", "the judge says neither yes nor no")
        right = float(reply.startswith("yes"))
        return Verdict(right, {"right": right, "n": 1.0})
"""
ORACLE = """
    def judges(self):
        return {"letters": lambda item, response: Verdict(float(len(item.target) < 5), {"right": 1.0, "n": 1.0})}
"""


def answer_files(folder: Path, answers: Callable[[int, int], str], items: int) -> Path:
    """The recorded answers of four respondents in two runs, one of which is a little worse."""
    rows = [
        {
            "respondent": name,
            "form": "original",
            "run": run,
            "item": f"q{i}",
            "answer": answers(k + (run and i == k), i),
        }
        for k, name in enumerate("abcd")
        for run in (0, 1)
        for i in range(items)
    ]
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def audit_of(folder: Path) -> dict[str, Any]:
    (audit,) = json.loads((folder / "out" / "audit.json").read_text())["audits"]
    return audit  # type: ignore[no-any-return]


def estimate(audit: dict[str, Any], indicator: str) -> dict[str, Any]:
    return next(row for row in audit["estimates"] if row["indicator"] == indicator)  # type: ignore[no-any-return]


def test_a_folder_with_a_card_and_items_is_audited_without_any_code(
    run: Run, tmp_path: Path
) -> None:
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {noun} in the image?",
            "target": "no" if i % 2 else "yes",
            "image": f"{i}.png",
        }
        for i, noun in enumerate(("dog", "cat", "car", "bus", "hat", "cup", "key", "map"))
    ]
    write_benchmark(tmp_path / "things", rows, name="things", types=["existence"])
    assert {path.name for path in (tmp_path / "things").iterdir()} == {"card.toml", "items.jsonl"}
    answers = answer_files(
        tmp_path, lambda wrong, i: "yes" if (i % 2 == 0) == (i >= wrong) else "no", 8
    )
    status, _, err = run(
        "audit", tmp_path / "things", "--recorded", answers, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 0, err
    audit = audit_of(tmp_path)
    assert audit["benchmark"] == "things"
    assert [row["scores"]["accuracy"] for row in audit["respondents"]] == [1, 7 / 8, 6 / 8, 5 / 8]
    assert estimate(audit, "test_retest.pearson")["status"] == "ok"
    assert (tmp_path / "out" / "report.html").is_file()


def test_one_python_file_with_a_benchmark_is_audited(run: Run, tmp_path: Path) -> None:
    (tmp_path / "colors.py").write_text(COLORS_FILE)
    colors = ("red", "green", "blue", "white", "black", "pink")
    answers = answer_files(
        tmp_path, lambda wrong, i: f"It is {colors[i] if i >= wrong else 'grey'}.", 6
    )
    status, _, err = run(
        "audit", tmp_path / "colors.py", "--recorded", answers, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 0, err
    audit = audit_of(tmp_path)
    assert [row["scores"]["named"] for row in audit["respondents"]] == [1, 5 / 6, 4 / 6, 3 / 6]
    assert estimate(audit, "test_retest.pearson")["status"] == "ok"


def test_one_python_file_with_a_judge_procedure_is_audited(run: Run, tmp_path: Path) -> None:
    """The procedure is in the benchmark's file; the model that plays the judge is any
    respondent.
    """
    (tmp_path / "colors.py").write_text(COLORS_FILE + JUDGE)
    colors = ("red", "green", "blue", "white", "black", "pink")
    answers = answer_files(tmp_path, lambda wrong, i: colors[i] if i >= wrong else "grey", 6)
    server = JudgeServer(lambda prompt, _: "no" if "grey" in prompt else "yes, it is")
    try:
        command = (
            "audit",
            tmp_path / "colors.py",
            "--recorded",
            answers,
            "--out",
            tmp_path / "out",
            "--quiet",
        )
        status, _, err = run(*command, "--judge", server.name())
    finally:
        server.stop()
    assert status == 0, err
    audit = audit_of(tmp_path)
    assert [row["scores"]["named"] for row in audit["respondents"]] == [1, 5 / 6, 4 / 6, 3 / 6]
    assert f"judge={server.name()}" in estimate(audit, "test_retest.pearson")["first"]
    assert server.prompts, "the judge was asked"


def test_one_python_file_with_a_judge_that_is_a_function_is_audited(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "colors.py").write_text(COLORS_FILE + ORACLE)
    answers = answer_files(tmp_path, lambda wrong, i: "red" if i >= wrong else "blue", 6)
    status, _, err = run(
        "audit", tmp_path / "colors.py", "--recorded", answers, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 0, err
    assert any("judge=letters" in row["other"] for row in audit_of(tmp_path)["estimates"])


def test_adapters_override_nothing_but_what_is_listed() -> None:
    """`Adapter` and the table in its docstring have every member that an adapter of HQM
    overrides.
    """
    listed = {name for name in vars(Adapter) if not name.startswith("_")}
    table = {
        word.strip(",;")
        for line in (Adapter.__doc__ or "").splitlines()[2:]
        for word in line.split()
    }
    assert listed <= table
    for path in (Path(hqm.__file__).parents[1] / "adapters").glob("[!_]*.py"):
        module = importlib.import_module(f"hqm.adapters.{path.stem}")
        for member in vars(module).values():
            if (
                isinstance(member, type)
                and issubclass(member, Benchmark)
                and member.__module__ == module.__name__
            ):
                overridden = {
                    name
                    for name in vars(member)
                    if hasattr(Benchmark, name) and not name.startswith("__")
                }
                assert overridden <= listed, path.name
