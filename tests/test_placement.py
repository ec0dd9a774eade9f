"""What weights a model has, and what pictures cost by their vendors' rules."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hqm.administration.costs import picture_tokens
from hqm.respondents.hf_loading import weights_of


def test_weights_are_counted_in_the_index_before_the_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"torch_dtype": "float32"}))
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(b"0" * 400)
    assert weights_of(str(tmp_path), "hf/x-7b")[:2] == (100, 400)
    index = {"metadata": {"total_size": 1200}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert weights_of(str(tmp_path), "hf/x-7b") == (300, 1200, False)
    assert weights_of(str(tmp_path / "none"), "hf/x-2.5b").parameters == 2.5e9


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-4o-2024-11-20", (128, 64), 255),
        ("gpt-4.1-2025-04-14", (128, 64), 255),
        ("gpt-4o-mini", (128, 64), 8500),
        ("o3-2025-04-16", (128, 64), 225),
        ("gpt-4.1-mini", (1024, 1024), 1024 * 1.62),
        ("gpt-4.1-mini", (4000, 1474), 1536 * 1.62),
        ("nobody-knows", (1024, 1024), None),
    ],
)
def test_pictures_cost_what_their_vendor_says(
    model: str, size: tuple[int, int], tokens: float | None
) -> None:
    """OpenAI's page of images and vision: the two examples of GPT-4o and that of patches. The small
    picture and the one beyond the limit are what users were billed (their forum's topics 1262691
    and 1281361), less the tokens of the text.
    """
    assert picture_tokens(model, size) == tokens


def test_a_plan_of_a_yes_no_benchmark_is_useful(run: Callable[..., tuple[int, str, str]]) -> None:
    """The dearest end is at most four times the cheapest, though no picture is here."""
    name = "openai/gpt-4o?price_in=2.5&price_out=10"
    code, output, err = run("audit", "shapes_yesno", "-r", name, "--dry-run", "--json")
    assert code == 0, err
    total = json.loads(output)["total"]
    assert total["cost_least"] < total["cost"] < total["cost_most"] < 4 * total["cost_least"]
    assert total["seconds_least"] < total["seconds"] < total["seconds_most"]
