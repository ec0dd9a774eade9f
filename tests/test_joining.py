"""Recorded answers joined to questions by what their rows say."""

from pathlib import Path

from hqm import Item
from hqm.imports.match import Row, join_by_picture


def test_a_row_is_joined_to_the_longest_question_that_it_holds() -> None:
    """One question is the beginning of another; the row asks the longer one."""
    short = Item("short", "Is there a dog", "yes_no", image="7.jpg")
    longer = Item("long", "Is there a dog on the sofa?", "yes_no", image="7.jpg")
    elsewhere = Item("other", "Is there a dog on the sofa?", "yes_no", image="8.jpg")
    rows = [Row(place="1", answer="yes", image="7", question=f"{longer.prompt} Yes or no.")]
    for items in ([short, longer, elsewhere], [longer, short, elsewhere]):
        assert join_by_picture(rows, items, Path("answers.jsonl")) == {"long": rows[0]}
