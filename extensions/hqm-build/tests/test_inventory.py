"""The adapter of captions that are compared with an inventory: its tables, and who brings it."""

import math

import pytest
from hqm_build import inventory

from hqm import Item, ScoredAnswer
from hqm.benchmark import registry
from hqm.benchmark.card import Card
from hqm.errors import UsageError
from tests.messages import tells


def judged(item: Item, text: str, value: float, **tally: float) -> ScoredAnswer:
    return ScoredAnswer(respondent="m", item=item, text=text, value=value, tally=tally)


def test_valor_selected_and_control() -> None:
    def caption(part: str, number: int, wrong: float, n_mentioned: float) -> ScoredAnswer:
        item = Item(f"{part}{number}", "?", "caption", part=part)
        return judged(
            item, "", 0.0, mentioned=n_mentioned, hallucinated=wrong, covered=1, present=4
        )

    selected = [(1, 2), (0, 2), (2, 4)]
    control = [(0, 2), (1, 4), (0, 4)]
    answers = [caption("selected", i, *pair) for i, pair in enumerate(selected)]
    answers += [caption("control", i, *pair) for i, pair in enumerate(control)]
    (row,) = inventory.arms(answers).rows
    assert row[:4] == ("m", 5 / 8, 9 / 10, pytest.approx(5 / 8 - 9 / 10))
    # the jackknife by hand: selected 4/6, 3/6, 3/4 ... without each picture in turn
    spread = 0.0
    for values in ((4 / 6, 3 / 6, 3 / 4), (7 / 8, 6 / 6, 5 / 6)):
        spread += 2 / 3 * sum((v - sum(values) / 3) ** 2 for v in values)
    assert row[4:6] == (
        pytest.approx(row[3] - 1.959964 * math.sqrt(spread), abs=1e-6),
        pytest.approx(row[3] + 1.959964 * math.sqrt(spread), abs=1e-6),
    )  # type: ignore[operator]
    assert row[6:] == (0.25, 0.25)
    assert (
        inventory.arms([answer for answer in answers if answer.item.part == "control"]).rows == ()
    )


def test_a_card_that_names_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card(name="mine", title="Mine", version="1", task="caption", adapter="inventory")
    assert registry.adapter_of(card) is inventory.Inventory
    monkeypatch.setattr(registry, "names_in", lambda group: ())
    with pytest.raises(UsageError) as caught:
        registry.adapter_of(card)
    assert tells(str(caught.value), "extension.missing", feature="inventory", package="hqm-build")
