import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hqm
from hqm import Benchmark, CardError, DataError, UsageError, load, load_all, names
from hqm.benchmark.registry import groups

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


def test_another_package_brings_a_benchmark_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no benchmark 'poppe'.*pope"):
        load("poppe")
    with pytest.raises(UsageError, match="no such file"):
        load("nowhere.py")


def test_data_that_do_not_come_with_hqm_are_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HQM_DATA", raising=False)
    with pytest.raises(DataError, match="HQM_DATA"):
        load("pope")
    with pytest.raises(DataError, match="looked for"):
        load("pope", data=tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('title = "x"', "the key 'name' is missing"),
        ('name = "x"\ntitle = "X"\nversion = "1"\ntask = "yes_no"\ncolour = 1', "unknown key 'colour'"),
        (
            'name = "x"\ntitle = "X"\nversion = "1"\ntask = "yes_no"\n[scoring]\nparsser = "pope"',
            "unknown key 'scoring.parsser'",
        ),
        ('name = "x"\ntitle = "X"\nversion = "1"\ntask = "essay"', "'task' is wrong"),
        ('name = "x"\ntitle = "X"\nversion = "1"\ntask = "vqa"\ntypes = ["smell"]', "unknown smell"),
        ("name = ", "no TOML"),
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
    ([{"id": "1", "prompt": "a", "target": "yes", "type": "smell"}], "'smell' is no hallucination type"),
    ([{"id": "1", "prompt": "a", "target": "yes", "image": "../../etc/passwd"}], "outside the image folder"),
    ([{"id": "1", "prompt": "a", "target": "yes", "image": "/etc/passwd"}], "outside the image folder"),
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
    assert benchmark.asked(item) == "Is it? Answer yes or no."
