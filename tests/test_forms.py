"""Parallel forms: flipped, shuffled, rephrased; counts over the real POPE and AMBER questions."""

import functools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hqm
from hqm import DataError, Form, Item, NoRule
from hqm.forms.build import build_parallel, count_rules, is_negated, read_form, write_form
from hqm.forms.options import render_options, shuffle_item
from hqm.forms.polar import flip
from hqm.forms.wording import INSTRUCTIONS, rephrase
from hqm.types import LETTERS

FLIPPED = {
    "Is there a dog in the image?": "Is there no dog in the image?",
    "Is there an umbrella in the image?": "Is there no umbrella in the image?",
    "Are there any potatoes in this figure?": "Are there no potatoes in this figure?",
    "Is there one toothbrush in this image?": "Is there not one toothbrush in this image?",
    "Are there two horses in this image?": "Are there not two horses in this image?",
    "Are there exactly two circles?": "Are there not exactly two circles?",
    "Is there direct contact between the cat and ground?": "Is there no direct contact between the cat and ground?",
    "Is the sky sunny in this image?": "Is the sky not sunny in this image?",
    "Is the sea calm in this image?": "Is the sea not calm in this image?",
    "Is the traffic light red in this image?": "Is the traffic light not red in this image?",
    "Is the traffic light in the image?": "Is the traffic light not in the image?",
    "Does the lion open your mouth in this image?": "Does the lion not open your mouth in this image?",
    "Does the person go fishing in this image?": "Does the person not go fishing in this image?",
    "Is the dog on the table?": "Is the dog not on the table?",
    "Is the man in the red shirt wearing a hat?": "Is the man in the red shirt not wearing a hat?",
    "Is this a dog?": "Is this not a dog?",
    "Is this image a painting?": "Is this image not a painting?",
    "Are these two dogs brown?": "Are these two dogs not brown?",
    "Is it night in the image?": "Is it not night in the image?",
    "Can you see a dog?": "Can you not see a dog?",
    "Has the man got a hat?": "Has the man not got a hat?",
    # an indefinite subject is denied before its quantifier: "Is a dog not asleep?" can be true beside "Is a dog asleep?"
    "Is a dog asleep?": "Is no dog asleep?",
    "Is anyone smiling in the image?": "Is no one smiling in the image?",
    "Are all the cats black?": "Are not all the cats black?",
    "Are any of the cats black?": "Are none of the cats black?",
    "Is one of the men sitting?": "Is not one of the men sitting?",
    # clauses before and instructions after keep their places
    "According to the map, is Montana larger than Texas?": "According to the map, is Montana not larger than Texas?",
    "Is the green line shorter than the red line? Yes or No": "Is the green line not shorter than the red line? Yes or No",
    "Does the cat sit here? Please answer yes or no.": "Does the cat not sit here? Please answer yes or no.",
    'Does the sign say "STOP"?': 'Does the sign not say "STOP"?',
    "Is the text made by John F. Kennedy?": "Is the text not made by John F. Kennedy?",
    # adjectives before their noun, places behind it, names, geometry
    "Is the right orange circle larger than the left orange circle?": "Is the right orange circle not larger than the left orange circle?",
    "Are the two red vertical lines parallel?": "Are the two red vertical lines not parallel?",
    "Is the bowl with fruit on the table?": "Is the bowl with fruit not on the table?",
    "Is the center area on the left larger than the one on the right?": "Is the center area on the left not larger than the one on the right?",
    "Is angle A larger than angle B?": "Is angle A not larger than angle B?",
    "Is angle 1 + angle 2 < 180 ?": "Is angle 1 + angle 2 not < 180 ?",
    "If AF, BE, CD, are the three midlines, is M the centroid?": "If AF, BE, CD, are the three midlines, is M not the centroid?",
    "Is the formula E=mc^2 representative of it?": "Is the formula E=mc^2 not representative of it?",
    "Is this poster for the TV series Reply 1988?": "Is this poster not for the TV series Reply 1988?",
    "Did Hispanic and Asian households earn the most?": "Did Hispanic and Asian households not earn the most?",
    "Did the year 2004 witness a higher toll than 2005?": "Did the year 2004 not witness a higher toll than 2005?",
    "Is the soup in the bowl green in color?": "Is the soup in the bowl not green in color?",
    "Were Asians the largest group?": "Were Asians not the largest group?",
    "Did China's exports experience a decrease?": "Did China's exports not experience a decrease?",
    # a question that is negated already loses its negation
    "Is the cat not asleep?": "Is the cat asleep?",
}


@pytest.mark.parametrize(("question", "flipped"), FLIPPED.items())
def test_a_question_flips(question: str, flipped: str) -> None:
    assert flip(question).prompt == flipped


@pytest.mark.parametrize(
    "question",
    ["Which country is larger?", "Whether lines are parallel?", "Describe the image.", "Is there no dog?", "Is", ""],
)
def test_a_question_without_a_rule_is_not_guessed(question: str) -> None:
    with pytest.raises(NoRule):
        flip(question)


@pytest.fixture(scope="module")
def flipped(data: Path) -> Callable[[str], tuple[Form, Form]]:
    """A benchmark's questions and their parallel form, built once: it takes seconds."""

    @functools.cache
    def forms(name: str) -> tuple[Form, Form]:
        benchmark = hqm.load(name, data=data)
        return benchmark.original, benchmark.parallel(benchmark.original)

    return forms


@pytest.mark.data
@pytest.mark.parametrize(("name", "count"), [("pope", 9000), ("amber_d", 14216)])
def test_every_question_of_pope_and_amber_flips(
    flipped: Callable[[str], tuple[Form, Form]], name: str, count: int
) -> None:
    original, parallel = flipped(name)
    assert len(parallel) == count
    assert parallel.left_out == ()
    for before, after in zip(original.items, parallel.items, strict=True):
        assert {before.target, after.target} == {"yes", "no"}
        assert before.prompt != after.prompt
        assert after.rule.startswith("polar.")


@pytest.mark.data
def test_amber_is_negated_where_its_own_pairs_differ(flipped: Callable[[str], tuple[Form, Form]]) -> None:
    """Attribute questions come in pairs that share everything up to the predicate: the negation belongs just there."""
    original, form = flipped("amber_d")
    parallel, wrong = form.by_id, Counter[str]()
    for item in original.items:
        if item.meta["kind"] in ("state", "action"):
            words = item.prompt.split()
            # every subject in AMBER is one word: "Is the sky", "Does the cat"
            if parallel[item.id].prompt.split() != [*words[:3], "not", *words[3:]]:
                wrong[item.prompt] += 1
    # two questions whose grammar is beyond repair
    assert set(wrong) <= {"Is the forest fruit trees withering in this image?", "Is the woman kick in this image?"}


@given(
    st.lists(st.text("abc", min_size=1, max_size=4), min_size=2, max_size=6, unique=True),
    st.integers(0, 5),
    st.text(min_size=1, max_size=5),
)
def test_shuffled_options_keep_their_key(options: list[str], right: int, key: str) -> None:
    right %= len(options)
    item = Item(key, "Which?", "choice", LETTERS[right], options=tuple(options))
    shuffled = shuffle_item(item)
    assert sorted(shuffled.options) == sorted(options)
    assert shuffled.options[LETTERS.index(shuffled.target)] == options[right]
    assert shuffled.target != item.target
    assert shuffled == shuffle_item(item)


def test_options_are_written_under_the_question() -> None:
    assert render_options("Q?", ["x", "y"]).splitlines() == [
        "Q?",
        "A. x",
        "B. y",
        "Answer with the letter of the right option.",
    ]


def test_one_option_cannot_be_shuffled() -> None:
    with pytest.raises(NoRule):
        shuffle_item(Item("1", "Q?", "choice", "A", options=("x",)))
    with pytest.raises(DataError, match="'E'"):
        shuffle_item(Item("1", "Q?", "choice", "E", options=("x", "y")))


def test_every_instruction_of_the_bank_has_another() -> None:
    for row in INSTRUCTIONS:
        for sentence in row:
            assert rephrase(sentence).prompt in row
            assert rephrase(sentence).prompt != sentence
    everything = [sentence for row in INSTRUCTIONS for sentence in row]
    assert len(everything) == len(set(everything))


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("What color is the dog at X:105 Y:350?", "Which color does the dog at X:105 Y:350 have?"),
        ("What colour are the two cars?", "Which colour do the two cars have?"),
        ("How many chairs are there in the image?", "What is the number of chairs in the image?"),
        ("What is the person doing?", "Which action is the person performing?"),
        ("What does the sign say?", "What is written on the sign?"),
    ],
)
def test_a_template_keeps_what_is_asked_about(question: str, other: str) -> None:
    assert rephrase(question).prompt == other


def test_a_form_lists_what_it_leaves_out() -> None:
    form = Form("original", (Item("1", "Is it red?", "yes_no", "yes"), Item("2", "Which one?", "yes_no", "no")))
    parallel = build_parallel(form)
    assert [item.id for item in parallel.items] == ["1"]
    assert parallel.items[0].target == "no"
    assert is_negated(parallel.items[0])
    assert [(out.id, out.prompt) for out in parallel.left_out] == [("2", "Which one?")]
    assert count_rules(parallel) == {"polar.not": 1}


def test_a_person_reviews_a_form_and_feeds_it_back(tmp_path: Path) -> None:
    form = Form("original", (Item("1", "Is it red?", "yes_no", "yes"), Item("2", "Which one?", "yes_no", "no")))
    path = tmp_path / "parallel.jsonl"
    write_form(build_parallel(form), path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[1]["left_out"]
    rows[1] = {"id": "2", "prompt": "Is it not the first one?", "target": "yes", "rule": "polar.person"}
    path.write_text("\n".join(map(json.dumps, rows)))
    read = read_form(path, form)
    assert [item.prompt for item in read.items] == ["Is it not red?", "Is it not the first one?"]
    assert is_negated(read.items[1])
    assert read.left_out == ()


def test_a_form_of_other_items_is_refused(tmp_path: Path) -> None:
    form = Form("original", (Item("1", "Is it red?", "yes_no", "yes"),))
    path = tmp_path / "parallel.jsonl"
    path.write_text('{"id": "9", "prompt": "Is it blue?"}\n')
    with pytest.raises(DataError, match="'9' is not in the original form"):
        read_form(path, form)
    path.write_text('{"id": "1", "prompt": "a"}\n{"id": "1", "prompt": "b"}\n')
    with pytest.raises(DataError, match="stands twice"):
        read_form(path, form)
