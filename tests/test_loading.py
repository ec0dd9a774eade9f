"""A benchmark is found by its name, folder, file or package, and says what follows from its card."""

import importlib
import importlib.metadata
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hqm.adapters
import numpy as np
import pyarrow.parquet
import pytest

from hqm import Benchmark, load, names
from hqm.benchmark.adapter import read_calibration
from hqm.benchmark.card import Card
from hqm.benchmark.registry import (
    card,
    cards,
    check_origin,
    groups,
    is_log,
    load_all,
    make,
    shipped,
    unknown_benchmark,
)
from hqm.errors import AnswerError, CardError, DataError, UsageError
from hqm.files.records import write_records
from hqm.scoring.metrics import Metric, mean_of
from hqm.signature import scoring_label
from hqm.types import Form, Item, Response, Verdict
from tests.conftest import write_benchmark

ROWS = [
    {"id": f"q{k}", "prompt": f"Is it {k}?", "target": "yes", "part": "ab"[k % 2]} for k in range(4)
]
OFFICIAL = scoring_label("official", "mine")
PAPER = scoring_label("paper", "mine")
BENCHMARK_CODE = """
from hqm import Benchmark, Form, Item

CARD = {"name": "own", "title": "Own", "version": "1", "task": "vqa"}


class Own(Benchmark):
    def read(self):
        return Form("original", (Item("1", "Say hello.", "vqa", "hello"),))
"""


def benchmark_in(folder: Path, rows: list[dict[str, Any]] = ROWS, **card_fields: Any) -> Benchmark:
    return load(write_benchmark(folder, rows, **card_fields))


# --- one copy of HQM ---


def test_parts_of_hqm_come_from_one_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Path(hqm.__file__).resolve().parent
    spec = hqm.adapters.__spec__
    assert spec is not None
    before = list(spec.submodule_search_locations or ())
    try:
        for search_folders, says in (
            ([str(home.parent / "adapters")], ""),
            ([str(home / "adapters")], ""),
            ([str(tmp_path / "adapters")], "two copies"),
            ([str(home.parent / "reports")], "two copies"),
            ([], "not installed"),
        ):
            monkeypatch.setattr(spec, "submodule_search_locations", search_folders)
            check_origin.cache_clear()
            if says:
                with pytest.raises(UsageError, match=says):
                    check_origin()
            else:
                check_origin()
        monkeypatch.setitem(sys.modules, "hqm.adapters", None)
        check_origin.cache_clear()
        with pytest.raises(UsageError, match="not installed"):
            check_origin()
    finally:
        monkeypatch.undo()
        check_origin.cache_clear()
    assert list(spec.submodule_search_locations or ()) == before
    check_origin()
    monkeypatch.setitem(sys.modules, "hqm.benchmarks", None)
    with pytest.raises(DataError, match="not installed"):
        shipped()


# --- names ---


def test_cards_are_chosen_by_name_group_folder_or_all(tmp_path: Path) -> None:
    write_benchmark(tmp_path / "mine", ROWS)
    assert [c.name for c in cards(["pope", "shapes", "shapes_vqa", "pope"])] == [
        "pope",
        *groups()["shapes"],
    ]
    assert list(groups()) == sorted(groups())
    for members in groups().values():
        assert len(members) > 1
    folder = str(tmp_path / "mine")
    assert [c.name for c in cards([folder, f"{folder}/card.toml"])] == ["mine"]
    assert [c.name for c in cards(["pope", "all"])] == list(names())
    assert card("pope").name == "pope"
    assert card(folder).title == "Mine"
    with pytest.raises(UsageError):
        card("poppe")


def test_a_group_is_loaded_member_by_member(tmp_path: Path) -> None:
    assert [type(b).__name__ for b in load_all("shapes_vqa")] == ["Shapes"]
    with pytest.raises(UsageError, match="stands for several"):
        load("shapes")
    with pytest.raises(UsageError, match="no mode"):
        load_all("shapes_vqa", mode="strict")
    assert {b.mode for b in load_all("shapes", mode="strict")} == {""}
    with pytest.raises(UsageError, match="no mode"):
        load("shapes_vqa", mode="strict")
    assert load("shapes_vqa", mode="strict", words="open", fitting=True).mode == ""


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("a.csv", True),
        ("a.tsv", True),
        ("a.py", False),
        ("none.csv", False),
        ("mine", False),
        ("mine/card.toml", False),
        ("logs", True),
        ("empty", False),
        ("several", False),
    ],
)
def test_a_file_that_is_no_benchmark_is_a_log(name: str, log: bool, tmp_path: Path) -> None:
    for path in ("a.csv", "a.tsv", "a.py", "logs/a.csv", "several/x.csv"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("question_id,answer,model\n1,yes,m\n")
    (tmp_path / "empty").mkdir()
    for folder in ("mine", "several/mine"):
        write_benchmark(tmp_path / folder, ROWS)
    assert is_log(str(tmp_path / name)) == log


def test_a_folder_called_like_a_benchmark_is_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("pope", "shapes", "popes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text("question_id,answer,model\n1,yes,m\n")
    assert [is_log(name) for name in ("pope", "shapes", "popes")] == [False, False, True]


def test_what_is_no_benchmark_is_told_with_what_is_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for k in range(7):
        write_benchmark(tmp_path / "many" / f"signs{k}", ROWS)
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.txt").write_text("x")
    assert (
        unknown_benchmark("many").remedy
        == f"Name {' or '.join(f'many/signs{k}' for k in range(5))}."
    )
    assert "hqm new empty" in unknown_benchmark("empty").remedy
    assert "hqm new" not in unknown_benchmark("full").remedy
    message = unknown_benchmark("many/sings1")
    assert message.message.endswith("file or folder")
    assert "Did you mean 'many/signs1'?" in message.remedy
    assert "Did you mean" not in unknown_benchmark("many/zebra").remedy
    assert "Did you mean" not in unknown_benchmark("nowhere/signs1").remedy
    assert "Did you mean 'pope'?" in unknown_benchmark("popee").remedy
    assert "Known are " in unknown_benchmark("zebra").remedy
    write_benchmark(tmp_path / "zebras", ROWS)
    assert "Did you mean 'zebras'?" in unknown_benchmark("zebra").remedy


# --- files ---


def test_a_file_is_loaded_with_its_class_and_data(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(BENCHMARK_CODE)
    benchmark = load(tmp_path / "own.py")
    assert (type(benchmark).__name__, benchmark.data, benchmark.name) == ("Own", tmp_path, "own")
    assert load(tmp_path / "own.py", data=tmp_path / "there").data == tmp_path / "there"
    (tmp_path / "two.py").write_text(BENCHMARK_CODE + "\n\nclass Other(Benchmark):\n    pass\n")
    with pytest.raises(CardError, match="it defines 2 benchmarks"):
        load(tmp_path / "two.py")
    (tmp_path / "none.py").write_text(BENCHMARK_CODE.partition("class")[0])
    assert type(load(tmp_path / "none.py")) is Benchmark
    with pytest.raises(UsageError, match=r"no such file.*Did you mean '.*own\.py'"):
        load(tmp_path / "owm.py")
    (tmp_path / "list.py").write_text("CARD = []")
    with pytest.raises(CardError, match="no CARD"):
        load(tmp_path / "list.py")


def test_the_adapter_beside_a_card_or_the_named_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_benchmark(tmp_path / "mine", ROWS)
    assert type(load(folder)) is Benchmark
    (folder / "adapter.py").write_text(BENCHMARK_CODE)
    benchmark = load(folder / "card.toml")
    assert (type(benchmark).__name__, benchmark.name, len(benchmark.original)) == ("Own", "mine", 1)
    write_benchmark(folder, ROWS, adapter="pope")
    with pytest.raises(CardError, match="adapter 'pope'"):
        load(folder)
    (folder / "adapter.py").unlink()
    assert type(load(folder)).__name__ == "Pope"
    (tmp_path / "bare_adapter.py").write_text("x = 1")
    monkeypatch.setattr(hqm.adapters, "__path__", [*hqm.adapters.__path__, str(tmp_path)])
    for adapter, says in (("nobody", "no adapter"), ("bare_adapter", "defines no benchmark")):
        with pytest.raises(CardError, match=says):
            load(write_benchmark(folder, ROWS, adapter=adapter))
    sys.modules.pop("hqm.adapters.bare_adapter")


def distribution(folder: Path, name: str, points: str) -> None:
    meta = folder / f"{name}-1.dist-info"
    meta.mkdir(parents=True)
    (meta / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (meta / "entry_points.txt").write_text(f"[hqm.benchmarks]\n{points}\n")


def test_packages_bring_benchmarks_by_module_or_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_file.py").write_text(BENCHMARK_CODE)
    write_benchmark(tmp_path / "their_folder", ROWS, name="foldered")
    (tmp_path / "their_folder" / "__init__.py").write_text("")
    points = (
        "own = their_file\nclassed = their_file:Own\nfoldered = their_folder\nboth = their_file"
    )
    distribution(tmp_path, "theirs", points)
    distribution(tmp_path, "others", "both = their_file")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    try:
        assert {"own", "classed", "foldered", "both"} <= set(names())
        assert [type(load(name)).__name__ for name in ("own", "classed")] == ["Own", "Own"]
        foldered = load("foldered")
        assert (foldered.name, len(foldered.original)) == ("foldered", 4)
        assert card("own").title == "Own"
        with pytest.raises(CardError, match="2 packages"):
            load("both")
    finally:
        for name in ("their_file", "their_folder"):
            sys.modules.pop(name, None)


def test_where_the_data_of_a_benchmark_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HQM_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    home = write_benchmark(tmp_path / "mine", ROWS)
    assert load(home).data == home
    assert load(home, data=tmp_path / "x").data == tmp_path / "x"
    benchmark_folder = write_benchmark(
        tmp_path / "far", ROWS, data={"folder": "deep", "items": "items.jsonl"}
    )
    (tmp_path / "deep").mkdir()
    with pytest.raises(DataError, match="do not come with HQM") as refused:
        load(benchmark_folder)
    assert "hqm fetch" not in refused.value.remedy
    assert load(benchmark_folder, data=tmp_path).data == tmp_path / "deep"
    assert load(benchmark_folder, data=tmp_path / "deep").data == tmp_path / "deep"
    assert load(benchmark_folder, data=str(home)).data == home, "it is itself the folder"
    with pytest.raises(DataError, match="looked for"):
        load(benchmark_folder, data=tmp_path / "none")
    monkeypatch.setenv("HQM_DATA", str(tmp_path))
    assert load(benchmark_folder).data == tmp_path / "deep"
    assert load(benchmark_folder, data=home).data == home
    monkeypatch.setenv("HQM_DATA", str(tmp_path / "none"))
    with pytest.raises(DataError, match="looked for"):
        load(benchmark_folder)
    with pytest.raises(DataError, match="hqm fetch pope"):
        load("pope")
    read = Card.load(home / "card.toml")
    benchmark = make(read, home, parser="pope", scoring="paper")
    assert (benchmark.data, benchmark.parser.label, benchmark.scoring) == (
        home,
        load(home, parser="pope").parser.label,
        "paper",
    )
    assert make(read, home, data=tmp_path).data == tmp_path


def test_one_part_of_a_benchmark_is_loaded(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "mine", ROWS)
    popular = load(folder, part="b")
    assert ([item.id for item in popular.original.items], popular.part) == (["q1", "q3"], "b")
    assert load(folder).part is None
    with pytest.raises(UsageError, match="no part 'c'"):
        load(folder, part="c")


# --- what follows from a card ---


class PopeBenchmark(Benchmark):
    paper_parser = "pope"

    def read_answers(self, path: Path, form: Form) -> Any:
        return form, {}


def test_a_benchmark_says_how_it_scores(tmp_path: Path) -> None:
    plain = benchmark_in(tmp_path / "mine")
    assert (plain.name, plain.label, plain.reads) == ("mine", "mine@1", True)
    assert plain.scorer == f"{OFFICIAL}({plain.parser.label})"
    assert load(tmp_path / "mine", scoring="paper").scorer == f"{PAPER}({plain.parser.label})"
    withheld = load(tmp_path / "mine", withheld="official")
    assert withheld.scorer == f"{OFFICIAL}({plain.parser.label},withheld=official)"
    with pytest.raises(UsageError, match="withheld"):
        load(tmp_path / "mine", withheld="official", scoring="paper")
    with pytest.raises(UsageError, match="withheld"):
        load(tmp_path / "mine", withheld="never")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="It has only one"):
        load(tmp_path / "mine", mode="strict")
    caption = benchmark_in(tmp_path / "c", [{"id": "1", "prompt": "Describe."}], task="caption")
    assert (caption.reads, caption.scorer) == (False, OFFICIAL)
    assert not plain.has_own_answer_files
    assert PopeBenchmark(plain.card, plain.data).has_own_answer_files
    assert PopeBenchmark(plain.card, plain.data, scoring="paper").parser.name == "pope"
    assert PopeBenchmark(plain.card, plain.data).parser.label == plain.parser.label != "pope"
    assert (
        PopeBenchmark(plain.card, plain.data, scoring="paper", reader="strict").parser
        == plain.parser
    )
    assert type(PopeBenchmark(plain.card, plain.data).words).__name__ == "Words"
    assert [metric.name for metric in plain.audited] == [plain.metrics[0].name]
    two = benchmark_in(tmp_path / "two", scoring={"audited": ["f1", "accuracy"]})
    assert [metric.name for metric in two.audited] == ["f1", "accuracy"]
    assert plain.metric("f1") is next(m for m in plain.metrics if m.name == "f1")
    with pytest.raises(UsageError, match="no metric 'f2'"):
        plain.metric("f2")


def test_prompts_pictures_and_checksums_lie_where_the_card_says(tmp_path: Path) -> None:
    benchmark = benchmark_in(
        tmp_path / "mine",
        prompt={"prefix": "Look. ", "suffix": " Answer."},
        data={"items": "items.jsonl", "images": "images", "checksums": "sums.txt"},
    )
    (tmp_path / "mine" / "prompts").mkdir()
    for name in ("b", "a"):
        (tmp_path / "mine" / "prompts" / f"{name}.txt").write_text(f"{name} prompt")
    assert benchmark.prompt_names == ("a", "b")
    assert benchmark.prompt("b") == "b prompt"
    assert load(tmp_path / "mine", data=tmp_path).prompt("a") == "a prompt"
    assert load(tmp_path / "mine", data=tmp_path).prompt_names == ("a", "b")
    with pytest.raises(DataError, match="no prompt 'b'"):
        load(tmp_path / "mine", prompts="official").prompt("b")
    assert benchmark.question_text(Item("1", "Is it?", "yes_no")) == "Look. Is it? Answer."
    prompt = benchmark.question_text(Item("1", "Which?", "choice", "A", options=("red", "blue")))
    assert prompt.startswith("Look. Which?")
    assert prompt.index("red") < prompt.index("blue")
    assert prompt.endswith("Answer.")
    assert benchmark.images == tmp_path / "mine" / "images"
    assert load(tmp_path / "mine", images=tmp_path / "x").images == tmp_path / "x"
    for folder in (benchmark.images, tmp_path / "x"):
        folder.mkdir()
        (folder / "a.png").write_bytes(folder.name.encode())
    assert Path(benchmark.pictures.path("a.png")).read_bytes() == b"images"
    overridden = load(tmp_path / "mine", images=tmp_path / "x")
    assert Path(overridden.pictures.path("a.png")).read_bytes() == b"x"
    web = load(tmp_path / "mine", images="http://127.0.0.1/here")
    assert type(web.pictures) is not type(benchmark.pictures)
    of_card = benchmark_in(
        tmp_path / "web", data={"items": "items.jsonl", "images": "http://127.0.0.1/there"}
    )
    assert type(of_card.pictures) is type(web.pictures)
    assert type(load(tmp_path / "web", images=tmp_path / "x").pictures) is type(benchmark.pictures)
    rows = [{"image": {"bytes": b"x", "path": "a.png"}}]
    for images, is_packed_reader in (("", False), ("images", True)):
        data = {"items": "items.parquet", "images": images}
        packed = benchmark_in(tmp_path / f"packed{images}", data=data)
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), packed.data / "items.parquet")
        (packed.data / "images").mkdir()
        assert (type(packed.pictures) is type(benchmark.pictures)) == is_packed_reader
        with_folder = load(packed.data, images=tmp_path / "x")
        assert type(with_folder.pictures) is type(benchmark.pictures)
    (tmp_path / "mine" / "sums.txt").write_text(f"{'0' * 64}  a.png\n")
    assert benchmark.checksums.expected["a.png"].sha256 == "0" * 64
    assert not of_card.checksums.expected
    assert not benchmark.makes_pictures
    assert load("shapes_vqa").makes_pictures


class Wordy(Benchmark):
    """Counts how often its forms are made."""

    made: list[str]

    def read(self) -> Form:
        return Form("original", (Item("1", "Is it?", "yes_no", "yes"),))

    def parallel(self, form: Form) -> Form:
        self.made.append("parallel")
        return Form("parallel", form.items)

    def rewording(self, form: Form, draw: int, earlier: Any) -> Form:
        self.made.append(f"{draw} after {[form.name for form in earlier]}")
        return Form(f"parallel{draw}", form.items)

    def more_forms(self, form: Form) -> tuple[Form, ...]:
        self.made.append("more")
        return (Form("again", form.items),)


def test_forms_are_made_once_and_anew_for_another_original(tmp_path: Path) -> None:
    plain = benchmark_in(tmp_path / "mine")
    wordy = Wordy(plain.card, tmp_path)
    wordy.made = []
    assert wordy.parallel_form.name == "parallel"
    assert wordy.reworded(3).name == "parallel3"
    assert wordy.reworded(2).name == "parallel2"
    assert wordy.parallel_form is wordy.reworded(1)
    assert wordy.further_forms is wordy.further_forms
    assert wordy.made == [
        "parallel",
        "2 after ['parallel']",
        "3 after ['parallel', 'parallel2']",
        "more",
    ]
    wordy.original = Form("original", (Item("2", "Or not?", "yes_no", "no"),))
    assert [item.id for item in wordy.reworded(1).items] == ["2"]
    assert [item.id for item in wordy.further_forms[0].items] == ["2"]
    assert wordy.made[4:] == ["parallel", "more"]


# --- scoring ---


def scored(bench: Benchmark, text: str, item: int = 0, **response: Any) -> Verdict:
    return bench.verdict(bench.original.items[item], Response(text, **response))


def test_answers_are_scored_by_the_rule_of_their_task(tmp_path: Path) -> None:
    plain = benchmark_in(tmp_path / "mine")
    assert [scored(plain, text).value for text in ("Yes.", "No.")] == [1.0, 0.0]
    assert scored(plain, "", state="error").value is None
    choice = benchmark_in(
        tmp_path / "choice",
        [{"id": "1", "prompt": "Which?", "options": ["red", "blue"], "target": "B"}],
        task="choice",
    )
    assert [scored(choice, text).value for text in ("B", "A", "blue")] == [1.0, 0.0, 1.0]
    short = benchmark_in(
        tmp_path / "short", [{"id": "1", "prompt": "Which?", "target": "red"}], task="vqa"
    )
    assert [scored(short, text).value for text in ("Red.", "blue")] == [1.0, 0.0]
    assert [m.name for m in short.metrics] == ["accuracy"]
    assert "f1" in [m.name for m in plain.metrics]
    assert plain.decides(plain.original.items[0]) == "yes"
    assert short.decides(short.original.items[0]) is None
    assert plain.alike(plain.original.items[0]) is not None
    assert short.alike(short.original.items[0]) is None


class Strict(Benchmark):
    unread_is_wrong = True
    roles = ()

    def judges(self) -> dict[str, Any]:
        return {"short": lambda item, response: Verdict(float(len(response.text) < 4), {"n": 1.0})}


class Judged(Benchmark):
    roles = ("judge",)  # type: ignore[assignment]
    modes = ("joint", "alone")


class Ruled(Benchmark):
    def score(self, item: Item, response: Response) -> Verdict:
        return Verdict(0.5, {"n": 1.0})


def test_what_a_rule_cannot_read_is_wrong_only_officially(tmp_path: Path) -> None:
    rows = [{"id": "1", "prompt": "Which?", "options": ["red", "blue"], "target": "B"}]
    plain = benchmark_in(tmp_path / "choice", rows, task="choice")
    assert scored(plain, "neither nor").value is None
    for scoring, value in (("official", 0.0), ("paper", None)):
        strict = Strict(plain.card, plain.data, scoring=scoring)  # type: ignore[arg-type]
        assert scored(strict, "neither nor").value == value
        assert scored(strict, "B").value == 1.0
    judge = strict.oracle("short")
    item = plain.original.items[0]
    assert [judge(item, Response(text)).value for text in ("abc", "abcd")] == [1.0, 0.0]
    assert judge(item, Response("", "error")).value is None


def test_a_judged_benchmark_is_not_scored_by_rule(tmp_path: Path) -> None:
    plain = benchmark_in(tmp_path / "mine")
    judged = Judged(plain.card, plain.data)
    verdict = scored(judged, "yes")
    assert (verdict.value, verdict.state) == (None, "missing")
    assert (judged.mode, judged.jointly, judged.reads) == ("joint", True, False)
    assert judged.scorer == f"{OFFICIAL}(mode=joint,prompts=hqm)"
    separate_judging = Judged(plain.card, plain.data, mode="alone", prompts="official")
    assert (separate_judging.jointly, separate_judging.scorer) == (
        False,
        f"{OFFICIAL}(mode=alone,prompts=official)",
    )
    with pytest.raises(UsageError, match="joint and alone"):
        Judged(plain.card, plain.data, mode="strict")
    item = plain.original.items[0]
    assert judged.alike(item) is None
    assert judged.replies_saying("yes") == {"judge": ("yes",)}
    ruled = Ruled(plain.card, plain.data)
    assert (ruled.decides(item), ruled.alike(item)) == (None, None)
    assert scored(ruled, "yes").value == 0.5


class ContextBenchmark(Benchmark):
    def context_items(self, item: Item) -> tuple[str, ...]:
        return ("q1", "q2", "q9")


@pytest.mark.parametrize(
    ("answers", "texts"),
    [
        ({"q0": "a", "q1": "b", "q2": "c", "q3": "d"}, {"q1": "b", "q2": "c"}),
        ({"q2": "c"}, {"q2": "c"}),
        ({"q0": "a"}, None),
        ({"q1": "", "q2": "c"}, {"q2": "c"}),
        ({"q1": ""}, None),
        ({}, None),
    ],
)
def test_the_answers_that_a_judge_sees_beside_one(
    answers: dict[str, str], texts: dict[str, str] | None, tmp_path: Path
) -> None:
    plain = benchmark_in(tmp_path / "mine")
    item, response = plain.original.items[0], Response("a", detail={"seconds": 1.0})
    responses = {key: Response(text, "ok" if text else "error") for key, text in answers.items()}
    in_context = ContextBenchmark(plain.card, plain.data).with_context(item, response, responses)
    expected = {"seconds": 1.0} if texts is None else {"seconds": 1.0, "beside": texts}
    assert in_context.detail == expected
    assert in_context.text == "a"
    assert plain.with_context(item, response, responses) == response


def test_what_an_adapter_leaves_unsaid(tmp_path: Path) -> None:
    plain = benchmark_in(tmp_path / "mine")
    item = plain.original.items[0]
    assert list(plain.subsets(Item("1", "?", "vqa", part="p", type="ocr"))) == ["p", "ocr"]
    assert list(plain.subsets(Item("1", "?", "vqa", type="ocr"))) == ["ocr"]
    assert list(plain.subsets(Item("1", "?", "vqa"))) == []
    assert not plain.tool_scored
    assert not plain.jointly
    assert plain.verdict_of_scores({"a": 1.0}, "").state == "missing"
    assert plain.verdict_of_people(item, None) is None  # type: ignore[arg-type]
    verdicts = [Verdict(1.0), Verdict(0.0)]
    assert plain.relate(plain.original.items[:2], verdicts) == verdicts
    with pytest.raises(CardError, match="makes none"):
        plain.make_files({})
    with pytest.raises(AnswerError, match="each role"):
        plain.replies_saying("yes")


class Twice(Benchmark):
    metrics = (  # type: ignore[assignment]
        Metric("a", mean_of("right"), about="first"),
        Metric("b", mean_of("right")),
        Metric("a", mean_of("right"), about="second"),
    )


def test_of_two_metrics_of_one_name_the_first_is_meant(tmp_path: Path) -> None:
    plain = benchmark_in(tmp_path / "mine")
    assert Twice(plain.card, plain.data).metric("a").about == "first"


# --- the calibration of a short form ---

LOSS = {
    "mean_error": 0.1,
    "bias": 0.0,
    "tau": None,
    "coverage": 0.9,
    "half_width": 0.1,
    "factor": 1.1,
    "freedom": 3.0,
    "respondents": 4,
}
CALIBRATION: dict[str, Any] = {
    "of": "mine",
    "version": "1",
    "of_items": 9,
    "form": "a",
    "audit": "x",
    "answers": "y",
    "signature": "z",
    "method": "m",
    "words": "w",
    "errors": {"m": 0.1},
    "respondents": ["r", "s"],
    "families": ["f"],
    "seed": 3,
    "ids": ["q2", "q0"],
    "weights": [4.0, 5.0],
    "auxiliary": [[1.0], [2.0]],
    "loss": {"accuracy": LOSS},
    "parallel": {"accuracy": {"reliability": None}},
}
BROKEN: dict[str, Callable[[], dict[str, Any]]] = {
    "loss": lambda: {**CALIBRATION, "loss": {"accuracy": {**LOSS, "more": 1}}},
    "no loss": lambda: {key: value for key, value in CALIBRATION.items() if key != "loss"},
    "list": lambda: {**CALIBRATION, "loss": [1]},
    "text": lambda: {**CALIBRATION, "weights": ["a", "b"]},
    "more": lambda: {**CALIBRATION, "colour": 1},
    "weights": lambda: {**CALIBRATION, "weights": [1.0]},
    "flat": lambda: {**CALIBRATION, "auxiliary": [1.0, 2.0]},
    "rows": lambda: {**CALIBRATION, "auxiliary": [[1.0]]},
    "nothing": lambda: {**CALIBRATION, "ids": [], "weights": [], "auxiliary": [[]]},
    "infinite": lambda: {**CALIBRATION, "weights": [1.0, float("inf")]},
    "not a number": lambda: {**CALIBRATION, "auxiliary": [[1.0], [float("nan")]]},
}


def test_a_calibration_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_records(tmp_path / "c.json", [CALIBRATION])
    calibration = read_calibration(tmp_path / "c.json")
    assert calibration.to_dict() == {
        **CALIBRATION,
        **{key: tuple(CALIBRATION[key]) for key in ("ids", "respondents", "families")},
    }
    assert np.array_equal(calibration.weights, [4.0, 5.0])
    assert calibration.auxiliary.shape == (2, 1)
    assert calibration.positions_of(["q0", "q2"]) == [1, 0]
    for ids in (["q0"], ["q0", "q0"], ["q0", "q1"], ["q0", "q2", "q3"], ["q0", "q2", "q2"]):
        assert calibration.positions_of(ids) is None
    folder = write_benchmark(tmp_path / "mine", ROWS, shortened={"calibration": "../c.json"})
    short = load(folder)
    assert short.calibration is not None
    assert (short.calibration.seed, type(short).__name__) == (3, "ShortBenchmark")
    assert benchmark_in(tmp_path / "plain").calibration is None


@pytest.mark.parametrize("fault", BROKEN)
def test_a_calibration_that_does_not_fit_is_refused(fault: str, tmp_path: Path) -> None:
    write_records(tmp_path / "c.json", [BROKEN[fault]()])
    with pytest.raises(DataError) as refused:
        read_calibration(tmp_path / "c.json")
    assert "hqm shorten" in refused.value.remedy
