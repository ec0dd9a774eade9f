import pytest

from hqm import DataError, Item, Response, Verdict
from hqm.scoring.choices import read_choice
from hqm.scoring.foreign_denials import verdict_in_other_language
from hqm.scoring.parsers import parser
from hqm.scoring.rules import score_choice, score_short, score_yes_no, settle

COLORS = ("red", "blue", "dark blue", "green")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("b.", "B"),
        ("(C) dark blue", "C"),
        ("The answer is D.", "D"),
        ("Answer: A", "A"),
        ("blue", "B"),
        ("It is green.", "D"),
        ("dark blue", "C"),
        ("red or green", None),
        ("E", None),
        ("", None),
        ("A red one", "A"),
        ("I think it is blue", "B"),
    ],
)
def test_a_choice_is_read_by_letter_or_by_name(text: str, letter: str | None) -> None:
    assert read_choice(text, COLORS) == letter


def test_who_denies_one_of_two_options_has_chosen_none() -> None:
    assert read_choice("It is not A.", ("red", "blue")) is None


def test_a_clause_about_a_statement_that_says_neither_has_no_verdict() -> None:
    assert verdict_in_other_language("Die Aussage ist lang.") is None
    assert verdict_in_other_language("Die Aussage ist lang. Die Aussage ist nicht wahr.") is False
    assert verdict_in_other_language("Die Aussage ist vielleicht wahr.") is None


def test_a_choice_tallies_the_slot() -> None:
    item = Item("1", "What color?", "choice", "B", options=COLORS)
    verdict = score_choice(item, Response("B. blue"))
    assert (verdict.value, verdict.tally) == (1.0, {"right": 1.0, "n": 1.0, "slot_B": 1.0})
    assert score_choice(item, Response("none of them")).state == "unparsed"


def test_a_short_answer_names_its_target_first() -> None:
    item = Item("1", "Which is larger?", "vqa", "star", meta={"rivals": ["circle"]})
    assert score_short(item, Response("The star is larger than the circle.")).value == 1
    assert score_short(item, Response("The circle is larger than the star.")).value == 0
    assert score_short(item, Response("hm")).state == "unparsed"


def test_numbers_may_be_written_in_digits() -> None:
    item = Item("1", "How many?", "vqa", "two", meta={"rivals": ["one", "three"]})
    assert [
        score_short(item, Response(text)).value for text in ("2", "two.", "There are 3.", "2 or 3")
    ] == [1, 1, 0, None]


def test_no_such_thing_is_a_number_where_the_item_says_so() -> None:
    item = Item("1", "How many?", "vqa", "zero", meta={"rivals": ["zero", "one"], "none": "zero"})
    replies = [
        "There are no dogs.",
        "None.",
        "no dogs",
        "I see none.",
        "There are no dogs but one cat.",
        "0",
    ]
    assert [score_short(item, Response(text)).value for text in replies] == [1, 1, 1, 1, 0, 1]
    assert [score_short(item, Response(text)).state for text in ("No.", "Not sure.")] == [
        "unparsed"
    ] * 2
    second_item = Item("2", "How many?", "vqa", "one", meta={"rivals": ["zero"], "none": "zero"})
    assert score_short(second_item, Response("There are no dogs.")).value == 0
    plain = Item("3", "How many?", "vqa", "zero", meta={"rivals": ["one"]})
    assert score_short(plain, Response("There are no dogs.")).state == "unparsed"


def test_a_list_of_targets_must_be_named_whole() -> None:
    item = Item("1", "Which shapes?", "vqa", ["star", "circle"], meta={"rivals": ["square"]})
    answers = ["circle and star", "star", "star, circle, square"]
    assert [score_short(item, Response(text)).value for text in answers] == [1, 0, 0]


def test_a_target_that_is_neither_yes_nor_no_is_an_error() -> None:
    with pytest.raises(DataError, match="maybe"):
        score_yes_no(Item("1", "Is it?", "yes_no", "maybe"), Response("yes"), parser("strict"))


def test_states_are_settled() -> None:
    scored, unread = Verdict(1.0, {"n": 1.0}), Verdict.unscored("unparsed", "cannot be read")
    assert settle(scored, Response("Yes")).state == "ok"
    assert settle(scored, Response("Yes, and the", "truncated")).state == "truncated"
    assert settle(scored, Response("Yes, and the", "truncated")).value == 1.0
    assert settle(unread, Response("I'm sorry, I cannot say.")).state == "refused"
    # truncated is the state of an answer that could be read, so that unscored answers are counted
    # by their states
    assert settle(unread, Response("The", "truncated")).state == "unparsed"
    assert settle(unread, Response("blue")) == unread
