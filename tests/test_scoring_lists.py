"""Lists of right answers as texts."""

import pytest

from hqm.scoring.short_answers import target_texts
from hqm.types import Item


@pytest.mark.parametrize(
    ("target", "texts"),
    [
        ("[2014, 2016]", ["2014", "2016"]),
        ("['a', 'b']", ["a", "b"]),
        ("[1 2]", ["[1 2]"]),
        ("[dog]", ["[dog]"]),
        (" [3] ", ["3"]),
        ("3", ["3"]),
        (("x", "y"), ["x", "y"]),
    ],
)
def test_a_list_in_brackets_is_several_right_answers(target: str, texts: list[str]) -> None:
    assert target_texts(Item("1", "?", "vqa", target)) == texts
