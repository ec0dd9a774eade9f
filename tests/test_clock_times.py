"""Times of day as people write them."""

from __future__ import annotations

import pytest

from hqm import Item, Response
from hqm.scoring.clock_times import sole_time, times_in
from hqm.scoring.rules import score_short

QUARTERS = {0: ("{h} o'clock", "{h}:00"), 15: ("a quarter past {h}", "{h}:15", "{h} fifteen"),
            30: ("half past {h}", "{h} thirty", "{h}.30 pm"), 45: ("a quarter to {n}", "{h} forty-five", "15 minutes to {n}")}  # fmt: skip
HOURS = "one two three four five six seven eight nine ten eleven twelve".split()


@pytest.mark.parametrize("minute", QUARTERS)
@pytest.mark.parametrize("hour", range(1, 13))
def test_every_quarter_of_the_day_is_read_in_words_and_digits(hour: int, minute: int) -> None:
    key = sole_time(f"{hour}:{minute:02}")
    assert key is not None
    for template in QUARTERS[minute]:
        is_digital = ":" in template or "." in template
        text = template.format(h=hour if is_digital else HOURS[hour - 1], n=HOURS[hour % 12])
        ((time, start, end),) = times_in(f"The clock shows {text}.")
        assert time.matches(key), text
        assert end - start >= len(text) - 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("It is ten to four.", 1.0),
        ("3:50", 1.0),
        ("15:50", 1.0),
        ("It shows 3:50 am.", 1.0),
        ("Not 3:50 but 4:50.", 0.0),
        ("ten past four", 0.0),
        ("3:50 or 4:50", None),
        ("I cannot read the clock.", None),
    ],
)
def test_an_answer_is_compared_with_the_time_asked_for(answer: str, says: float | None) -> None:
    item = Item("1", "What time does the clock show?", "vqa", "3:50")
    assert score_short(item, Response(answer)).value == says


def test_a_ratio_is_no_time() -> None:
    item = Item("1", "What is the ratio of red to blue?", "vqa", "3:10")
    assert score_short(item, Response("3:10")).value == 1.0
    assert score_short(item, Response("It is 9:57.")).value != 1.0, "three to ten, as a time"
