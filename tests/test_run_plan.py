"""What `--dry-run` plans of judges, cards and memory, before anybody is asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from hqm.administration.costs import Bound
from hqm.commands.run_plan import MEASURED_RATES
from hqm.commands.show_plan import _bound
from tests.conftest import ROOT, Run
from tests.messages import tells, text_of


def planned(run: Run, *words: object) -> Any:
    status, output, _ = run("audit", *words, "--dry-run", "--json")
    assert status == 0
    return json.loads(output)


def test_minutes_follow_from_the_measured_rates(run: Run) -> None:
    """1,008 questions by a 7B model, by hand: 1,008 / 370 to 1,008 / 31 seconds on an H100."""
    words = ("shapes_yesno", "-r", "hf/llava-hf/llava-1.5-7b-hf", "--forms", "original")
    data = planned(run, *words)
    minutes = {row["card"]: (row["least"], row["most"]) for row in data["gpu_minutes"]}
    asked = data["total"]["requests"]
    assert minutes["H100"] == pytest.approx((asked / 370 / 60, asked / 31 / 60))
    assert minutes.keys() == {"H100", "H200"}
    output = run("audit", *words, "--dry-run")[1]
    assert tells(output, "plan.night", card="H200")
    assert tells(output, "plan.memory", model="hf/llava-hf/llava-1.5-7b-hf", weights="13.0")


@pytest.mark.parametrize(
    ("least", "needed", "outcome", "amount"),
    [
        (50, 72, "would not be reached", "50 to 72"),
        (50, 2000, "could end the command", "50 to 2,000"),
        (200, 200, "would end the command", "200"),
    ],
)
def test_a_bound_says_what_is_planned(
    least: float, needed: float, outcome: str, amount: str
) -> None:
    assert _bound(Bound("--max-requests", 100, least, needed)) == text_of(
        "plan.bound", option="--max-requests", limit=100, outcome=outcome, amount=amount
    )


MIXED = """
'''Choices and open questions, as MathVista has them.'''
from hqm import Benchmark, Form, Item

CARD = {
    "name": "mixed", "title": "Mixed", "version": "1", "task": "vqa", "types": ["existence"],
    "data": {"items": "items.jsonl"},
}

class Mixed(Benchmark):
    '''Thirty choices and ten open questions.'''

    def read(self):
        choices = [Item(f"c{i}", f"Is it {i}?", "choice", "A", options=("a", "b")) for i in range(30)]
        return Form("original", (*choices, *(Item(f"o{i}", f"{i}?", "vqa", "1") for i in range(10))))
"""


def test_letters_and_sentences_of_one_benchmark_are_planned_apart(run: Run, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").touch()
    path = tmp_path / "mixed.py"
    path.write_text(MIXED)
    name = "hf/llava-hf/llava-1.5-7b-hf?max_tokens=64"
    data = planned(run, path, "-r", name, "--forms", "original")
    runs = data["total"]["requests"] / 40
    (row,) = data["gpu_minutes"]  # captions were measured on one card
    per_run = 30 / 370 + 10 * 64 / 128 / 19.1
    assert (row["card"], row["least"]) == ("H100", pytest.approx(runs * per_run / 60))
    (forecast,) = data["plan"]
    assert forecast["tokens_out_least"] == runs * (30 + 10 * 16)


SEEING = """
'''A judge that looks at the picture.'''
from hqm import Benchmark, Form, Item, Verdict

CARD = {
    "name": "seeing", "title": "Seeing", "version": "1", "task": "vqa", "types": ["existence"],
    "data": {"items": "items.jsonl", "images": "images"},
}

class Seeing(Benchmark):
    '''Ten open questions about ten pictures.'''

    roles = ("judge",)

    def read(self):
        return Form("original", tuple(Item(f"o{i}", f"{i}?", "vqa", "1", f"{i}.png") for i in range(10)))

    async def judge(self, item, response, ask):
        return Verdict(float(await ask("judge", f"{item.prompt} {response.text}", item.image)))
"""


def test_a_judge_is_planned_though_its_pictures_are_not_there_yet(run: Run, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").touch()
    path = tmp_path / "seeing.py"
    path.write_text(SEEING)
    names = ("-r", "hf/shapes:steady", "--judge", "openai/judge@http://127.0.0.1:9/v1")
    data = planned(run, path, *names, "--forms", "original", "--runs", 1)
    (judge,) = data["judges"]
    assert judge["askings"] == 10
    assert judge["tokens_in"] >= 10 * 576, "with the picture"


def test_captions_leave_out_a_card_on_which_none_were_measured(run: Run) -> None:
    data = planned(run, "shapes_caption", "-r", "hf/llava-hf/llava-1.5-13b-hf")
    (row,) = data["gpu_minutes"]
    assert row["card"] == "H100"


def test_a_server_needs_no_card_here(run: Run) -> None:
    data = planned(run, "shapes_yesno", "-r", "openai/x@http://127.0.0.1:9/v1")
    assert data["gpu_minutes"] == []


def test_the_rates_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "performance.md").read_text("utf-8").partition("## On a GPU")[2]
    for rate in MEASURED_RATES:
        assert f"{rate.single:g}" in page
        assert any(f"{value:g}" in page for value in (rate.shared, round(rate.shared)))


@pytest.mark.data
def test_a_judge_is_planned_before_there_are_answers(run: Run, data: Path) -> None:
    """Each answer of two runs and the parallel form has one first question; the price is that of
    the judge's name.
    """
    judge = "openai/judge@http://127.0.0.1:9/v1?price_in=1&price_out=2"
    words = ("mmhal", "--data", data, "-r", "openai/x@http://127.0.0.1:9/v1", "--judge", judge)
    (plan,) = planned(run, *words)["judges"]
    assert plan["askings"] == 96 + 96 + 94
    assert plan["stages"] == ["judge"]
    expected = (plan["tokens_in"] + 2 * plan["tokens_out"]) / 1e6
    assert plan["cost"] == pytest.approx(expected, rel=1e-3)


def test_a_model_that_reads_is_planned_as_if_it_read_every_answer(run: Run) -> None:
    reader = "openai/reader@http://127.0.0.1:9/v1?price_in=1&price_out=2"
    words = (
        "shapes_choice",
        "-r",
        "openai/x@http://127.0.0.1:9/v1",
        "--set",
        f"read_with={reader}",
    )
    (plan,) = planned(run, *words)["judges"]
    assert plan["judge"].startswith("openai/reader")
    assert plan["askings"] > 500  # the distinct questions of 1,008 items
    expected = (plan["tokens_in"] + 2 * plan["tokens_out"]) / 1e6
    assert plan["cost"] == pytest.approx(expected, rel=1e-3)
