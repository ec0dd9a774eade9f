"""Parallel forms: flipped, shuffled, rephrased; counts over the real POPE and AMBER questions."""

import functools
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hqm
from hqm import DataError, Form, Item
from hqm.errors import NoRule
from hqm.forms.find_question import question_of
from hqm.forms.grammar import find_subject_end, is_negated
from hqm.forms.languages import foreign_language
from hqm.forms.make_forms import (
    build_parallel,
    build_rewording,
    count_reasons,
    count_rules,
    read_form,
    write_form,
)
from hqm.forms.negate import flip
from hqm.forms.wording import INSTRUCTIONS, render_options, rephrase, shuffle_item
from hqm.lint.question_checks import (
    AFFIRMS,
    DOUBLED,
    SCOPE,
    SPLIT,
    check_wordings,
    faults_of_negation,
)
from hqm.types import LETTERS
from tests.conftest import Run
from tests.messages import pattern_of, tells

FLIPPED = {
    "Is there a dog in the image?": "Is there no dog in the image?",
    "Are there any potatoes in this figure?": "Are there no potatoes in this figure?",
    "Is there direct contact between the cat and ground?": (
        "Is there no direct contact between the cat and ground?"
    ),
    "Is there a dog and a cat in the image?": (
        "Is it false that there is a dog and a cat in the image?"
    ),
    "Is there a dog in every room?": "Is it false that there is a dog in every room?",
    "Are there a lot of people?": "Is it false that there are a lot of people?",
    "Is the lake calm in this image?": "Is the lake not calm in this image?",
    "Does the dog sleep?": "Does the dog not sleep?",
    "Does the woman smile?": "Does the woman not smile?",
    # numbers
    "Is there one toothbrush in this image?": (
        "Is the number of toothbrushes in this image other than one?"
    ),
    "Is there one person in the image?": "Is the number of people in the image other than one?",
    "Is there one cup of tea on the table?": (
        "Is the number of cups of tea on the table other than one?"
    ),
    "Are there two horses in this image?": "Is the number of horses in this image other than two?",
    "Are there exactly two circles?": "Is the number of circles other than two?",
    "Are there a total of four people? Please answer yes or no.": (
        "Is the number of people other than four? Please answer yes or no."
    ),
    "Are there at least three people?": "Is it false that there are at least three people?",
    "Are there more circles than squares?": "Is it false that there are more circles than squares?",
    # "not" behind a short subject with "the" only
    "Is the sky sunny in this image?": "Is the sky not sunny in this image?",
    "Is the traffic light red in this image?": "Is the traffic light not red in this image?",
    "Does the lion open your mouth in this image?": (
        "Does the lion not open your mouth in this image?"
    ),
    "Is the top line the same size as the bottom line?": (
        "Is the top line not the same size as the bottom line?"
    ),
    "Is the green line shorter than the red line? Yes or No": (
        "Is the green line not shorter than the red line? Yes or No"
    ),
    # everything that "isn't" could be heard in, and everything wider, is denied as a whole
    "Is this a dog?": "Is it false that this is a dog?",
    "Is it night in the image?": "Is it false that it is night in the image?",
    "Can I take the Blue Line?": "Is it false that I can take the Blue Line?",
    "Are all the cats black?": "Is it false that all the cats are black?",
    "Are both doors open?": "Is it false that both doors are open?",
    "Is one of the men sitting?": "Is it false that one of the men is sitting?",
    "Is a dog asleep?": "Is it false that a dog is asleep?",
    "Has the man got a hat?": "Is it false that the man has got a hat?",
    "Should the man wear a helmet?": "Is it false that the man should wear a helmet?",
    "Is he the only person in the room?": "Is it false that he is the only person in the room?",
    "Is the tallest building red?": "Is the tallest building not red?",
    "Does China have the largest population, followed by India?": (
        "Is it false that China has the largest population, followed by India?"
    ),
    "Does A flow north, while B flows south?": (
        "Is it false that A flows north, while B flows south?"
    ),
    "Does the value of the square root of 2 range from 1.40 to 1.41?": (
        "Is it false that the value of the square root of 2 ranges from 1.40 to 1.41?"
    ),
    "Are all the animals in this figure chickens?": (
        "Is it false that all the animals in this figure are chickens?"
    ),
    "Are all the characters here from a film?": (
        "Is it false that all the characters here are from a film?"
    ),
    'Is the word in the logo "angie\'s"?': 'Is it false that the word in the logo is "angie\'s"?',
    'Is the text on the sign "Is there a dog?"': (
        'Is it false that the text on the sign is "Is there a dog?"?'
    ),
    "Whether the red shape is a square? Yes or No": (
        "Is it false that the red shape is a square? Yes or No"
    ),
    # "any" in the subject
    "Is anyone smiling in the image?": "Is no one smiling in the image?",
    "Are any of the cats black?": "Are none of the cats black?",
    # what stands before and behind keeps its place
    "According to the map, is Montana larger than Texas?": (
        "According to the map, is it false that Montana is larger than Texas?"
    ),
    "If AF, BE, CD, are the three midlines, is M the centroid?": (
        "If AF, BE, CD, are the three midlines, is it false that M is the centroid?"
    ),
    "A man rides a horse. Is he old?": "A man rides a horse. Is it false that he is old?",
    "Question: Is the bus yellow? Answer:": "Question: Is the bus not yellow? Answer:",
    "Is the text made by John F. Kennedy?": "Is the text not made by John F. Kennedy?",
    "Is it made in the U.K.?": "Is it false that it is made in the U.K.?",
    "Is angle 1 + angle 2 < 180 ?": "Is it false that angle 1 + angle 2 < 180 ?",
    # where a reader took a turned question otherwise (docs/negations.md)
    "Is there one cat sleeping on the bed?": (
        "Is it false that there is one cat sleeping on the bed?"
    ),
    "Is the red ball as big as the blue ball?": "Is the red ball not as big as the blue ball?",
    "Is the glass almost empty?": "Is it false that the glass is almost empty?",
    "Is it true that the dog is asleep?": "Is it false that the dog is asleep?",
    "Is angle 1 equal to angle 2?": "Is it false that angle 1 is equal to angle 2?",
    "Is the price of the milk $3.50?": "Is it false that the price of the milk is $3.50?",
    "Are there 10 or more people?": "Is it false that there are 10 or more people?",
    "Are there dogs as well as cats?": "Is it false that there are dogs as well as cats?",
    "Were there three cups at first?": "Was the number of cups at first other than three?",
    "Please answer yes or no. Is there a cat?": "Please answer yes or no. Is there no cat?",
    "Is the woman kick in this image?": (
        'Is "no" the right answer to "Is the woman kick in this image?"'
    ),
    "Is the giraffe eating leaves from the tree?": (
        'Is "no" the right answer to "Is the giraffe eating leaves from the tree?"'
    ),
    "Is the liquid in the glass water?": (
        'Is "no" the right answer to "Is the liquid in the glass water?"'
    ),
    "Is the organ shown in the diagram the heart?": (
        'Is "no" the right answer to "Is the organ shown in the diagram the heart?"'
    ),
    "Is the actor in the center Brad Pitt?": (
        'Is "no" the right answer to "Is the actor in the center Brad Pitt?"'
    ),
    "Is the horse on the left brown?": (
        'Is "no" the right answer to "Is the horse on the left brown?"'
    ),
    "Is Anna, the girl on the left, smiling?": (
        'Is "no" the right answer to "Is Anna, the girl on the left, smiling?"'
    ),
    # where the order of a statement would be a guess, the question is quoted
    "Is the person swim in this image?": (
        'Is "no" the right answer to "Is the person swim in this image?"'
    ),
    "Does the snow white in this image?": (
        'Is "no" the right answer to "Does the snow white in this image?"'
    ),
    "Are the people that are walking wearing helmets?": (
        'Is "no" the right answer to "Are the people that are walking wearing helmets?"'
    ),
    "Is the cake on the plate chocolate? Answer yes or no.": (
        'Is "no" the right answer to "Is the cake on the plate chocolate?" Answer yes or no.'
    ),
}


@pytest.mark.parametrize(("question", "flipped"), FLIPPED.items())
def test_a_question_flips(question: str, flipped: str) -> None:
    assert flip(question).prompt == flipped
    assert faults_of_negation(flipped) == []


NO_OPPOSITE = {
    "Which country is larger?": "it asks with 'which'",
    "Describe the image.": "opens",
    "Is": "nothing follows",
    "": "asks nothing",
    "Is there no dog?": "negated already",
    "Isn't this a dog?": "negated already",
    "Is the cat not asleep?": "negated already",
    "The sky is blue, isn't it?": "by a tag",
    "Is the scene indoors or outdoors?": "to choose",
    "Is the car parked on the street? Where?": "more than one",
    "Is it red and is it large?": "more than one",
    "Is there a sign? If so, describe it.": "depends on the answer",
    "May I ask if this is a dog?": "request",
    "Can you describe the dog?": "request",
    "Are you able to describe the dog?": "request",
    "Is the cat black? If unsure, say no.": "says what yes means",
    "Answer yes if there is a dog and no otherwise. Is there a dog?": "says what yes means",
}


@pytest.mark.parametrize(("question", "reason"), NO_OPPOSITE.items())
def test_a_question_without_a_clear_opposite_is_left_out_with_its_reason(
    question: str, reason: str
) -> None:
    with pytest.raises(NoRule, match=reason):
        flip(question)


AFFIRMING = {
    "Are there not three men?": AFFIRMS,
    "Is there not one dog?": AFFIRMS,
    "Are not two circles red?": AFFIRMS,
    "According to the text, is this not a dog?": AFFIRMS,
    "According to the map, can I not take the Blue Line?": AFFIRMS,
    "Aren't there two dogs?": AFFIRMS,
    "Does the value of the square not root of 2 range from 1 to 2?": SPLIT,
    "Is the man not without no hat?": DOUBLED,
    "Is it false that the dog is not asleep?": DOUBLED,
    "Is the sign not only red?": SCOPE,
    "Does China not have the largest population, followed by India?": SCOPE,
    "Is there no dog and a cat in the image?": SCOPE,
}


@pytest.mark.parametrize(("question", "fault"), AFFIRMING.items())
def test_the_linter_names_what_does_not_invert(question: str, fault: str) -> None:
    assert fault in faults_of_negation(question)


def test_the_linter_checks_a_form_that_somebody_brings() -> None:
    prompts = ["Is the sky blue?", "Is the dog asleep?", "Is there a cat?", "Is it day?"]
    original = Form(
        "original", tuple(Item(str(i), text, "yes_no", "yes") for i, text in enumerate(prompts))
    )
    candidate_prompts = [
        "Isn't the sky blue?",
        "Is the dog not asleep?",
        "Is there a cat?",
        "Is it false that it is day?",
    ]
    targets = ["no", "yes", "no", "no"]
    form = Form(
        "mine",
        tuple(
            Item(str(i), p, "yes_no", t)
            for i, (p, t) in enumerate(zip(candidate_prompts, targets, strict=True))
        ),
    )
    findings = {finding.name: finding for finding in check_wordings(original, form)}
    assert {name: finding.count for name, finding in findings.items()} == {
        AFFIRMS: 1,
        "negation-same-answer": 1,
        "form-same-words": 1,
    }
    row = findings[AFFIRMS].to_dict()
    assert (row["code"], row["severity"]) == ("F101", "error")
    assert row["remedy"].startswith("Ask")
    assert row["examples"][-1] == "all of them: 0"


def test_further_wordings_differ_from_the_original_and_from_each_other() -> None:
    items = (
        Item("1", "Is there a dog?", "yes_no", "yes"),
        Item("2", "Are all the dogs black?", "yes_no", "no"),
        Item("3", "Does the dog walking?", "yes_no", "no"),
        Item("4", "Which?", "yes_no", "no"),
    )
    original = Form("original", items)
    first = build_parallel(original)
    second = build_rewording(original, 2, [first])
    third = build_rewording(original, 3, [first, second])
    assert [item.target for item in second.items] == [
        "yes",
        "no",
        "no",
    ], "the second keeps the right answers"
    assert (
        [item.target for item in third.items]
        == [item.target for item in first.items]
        == ["no", "yes", "yes"]
    )
    for key in "123":
        assert len({form.by_id[key].prompt for form in (original, first, second, third)}) == 4
    assert [is_negated(form.by_id["1"]) for form in (first, second, third)] == [True, False, True]
    assert [form.left_out[0].id for form in (first, second, third)] == ["4"] * 3
    assert build_rewording(original, 3, [first, second]) == third
    fourth = build_rewording(original, 4, [first, second, third])
    assert [item.target for item in fourth.items] == ["yes", "no", "no"], "as every later one does"
    assert not {item.prompt for item in fourth.items} & {item.prompt for item in second.items}
    assert [excluded.id for excluded in fourth.left_out] == ["4"]


IDS = st.text(
    st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")), min_size=1, max_size=5
)
"""Ids that an item may have: no character in them acts on the text around."""


@given(st.integers(2, 5), IDS)
def test_every_order_of_options_is_another_one(count: int, key: str) -> None:
    item = Item(key, "Which?", "choice", "A", options=tuple("vwxyz"[:count]))
    draws = min(math.factorial(count) - 1, 9)
    shuffled = [shuffle_item(item, draw) for draw in range(1, draws + 1)]
    assert len({variant.options for variant in [item, *shuffled]}) == draws + 1
    assert all(variant.options[LETTERS.index(str(variant.target))] == "v" for variant in shuffled)
    with pytest.raises(NoRule, match="orders"):
        shuffle_item(item, math.factorial(count))


def test_wordings_of_a_choice_vary_its_question_and_the_order_and_keep_the_right_option() -> None:
    options = ("on the left", "behind the tree", "in the boat", "on the right")
    items = (
        Item("1", "Where is the dog?", "choice", "B", "1.png", options=options),
        Item("2", "Where is the dog?", "choice", "B", options=options),
        Item("3", "The dog is ___", "choice", "B", options=options),
        Item("4", "The dog is ___", "choice", "B", "1.png", options=options),
        Item("5", "Is the dog inside?", "choice", "A", "1.png", options=("yes", "no")),
    )
    forms = [original := Form("original", items)]
    forms.append(build_parallel(original))
    for draw in range(2, 7):
        forms.append(build_rewording(original, draw, forms[1:]))
    assert forms[1].items == tuple(map(shuffle_item, items)), "the parallel form is as it was"
    for form in forms[2:]:
        assert {item.options[LETTERS.index(str(item.target))] for item in form.items} == {
            "behind the tree",
            "yes",
        }
        assert form.by_id["3"] == shuffle_item(items[2], int(form.name.removeprefix("parallel")))
    prompts = {key: [form.by_id[key].prompt for form in forms[2:]] for key in "1245"}
    for key, number in {"1": 6, "4": 4, "5": 6}.items():
        assert len({original.by_id[key].prompt, *prompts[key]}) == number
        assert len({form.by_id[key].options for form in forms[2:]}) == (2 if key == "5" else 5)
    assert not [text for text in prompts["2"] if "ook" in text or "picture" in text]
    assert prompts["1"][:2] == [
        "Could you tell me where the dog is?",
        "Look carefully: where is the dog?",
    ]
    assert prompts["2"][:2] == ["Could you tell me where the dog is?", "Tell me where the dog is."]


def test_the_command_says_of_how_many_questions_only_the_order_varies(
    make_benchmark: Callable[..., Path], run: Run
) -> None:
    options = ["red", "blue", "green", "black"]
    rows = [
        {"id": str(i), "prompt": text, "target": "A", "options": options}
        for i, text in enumerate(["What color is the dog?", "The dog is ___", "The cat is ___"])
    ]
    status, output, err = run("forms", make_benchmark(rows, task="choice"), "--number", 2)
    assert status == 0, err
    assert output.count("3 of 3 items") == 2
    assert tells(output, "form.order-only", n=2)


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
def test_amber_is_negated_where_its_own_pairs_differ(
    flipped: Callable[[str], tuple[Form, Form]],
) -> None:
    """Attribute questions come in pairs that share everything up to the predicate: the negation
    belongs just there.
    """
    original, form = flipped("amber_d")
    parallel, wrong = form.by_id, Counter[str]()
    for item in original.items:
        if item.meta["kind"] in ("state", "action"):
            words = item.prompt.split()
            # every subject in AMBER is one word: "Is the sky", "Does the cat"
            if parallel[item.id].prompt.split() != [*words[:3], "not", *words[3:]]:
                wrong[item.prompt] += 1
    # denied as a whole, or quoted because the release's grammar is broken ("Does the dog walking in
    # this image?")
    assert sum(wrong.values()) <= 100
    plain = [parallel[item.id] for item in original.items if item.prompt in wrong]
    # of these one has its "not" behind a verb where the release has no noun: "Is the woman kick in
    # this image?"
    assert Counter(item.rule for item in plain)["polar.not"] <= 1


@given(
    st.lists(st.text("abc", min_size=1, max_size=4), min_size=2, max_size=6, unique=True),
    st.integers(0, 5),
    IDS,
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
    sentences = [sentence for row in INSTRUCTIONS for sentence in row]
    assert len(sentences) == len(set(sentences))


@pytest.mark.parametrize(
    ("question", "reworded"),
    [
        ("What color is the dog at X:105 Y:350?", "Which color does the dog at X:105 Y:350 have?"),
        ("What colour are the two cars?", "Which colour do the two cars have?"),
        ("How many chairs are there in the image?", "What is the number of chairs in the image?"),
        ("What is the person doing?", "Which action is the person performing?"),
        ("What does the sign say?", "What is written on the sign?"),
    ],
)
def test_a_template_keeps_what_is_asked_about(question: str, reworded: str) -> None:
    assert rephrase(question).prompt == reworded


def test_a_form_lists_what_it_leaves_out() -> None:
    form = Form(
        "original",
        (Item("1", "Is it red?", "yes_no", "yes"), Item("2", "Which one?", "yes_no", "no")),
    )
    parallel = build_parallel(form)
    assert [item.id for item in parallel.items] == ["1"]
    assert parallel.items[0].target == "no"
    assert is_negated(parallel.items[0])
    assert [(excluded.id, excluded.prompt) for excluded in parallel.left_out] == [
        ("2", "Which one?")
    ]
    assert count_rules(parallel) == {"polar.false": 1}
    assert count_reasons(parallel) == {"it asks with 'which'": 1}


def test_a_person_reviews_a_form_and_feeds_it_back(tmp_path: Path) -> None:
    form = Form(
        "original",
        (Item("1", "Is it red?", "yes_no", "yes"), Item("2", "Which one?", "yes_no", "no")),
    )
    path = tmp_path / "parallel.jsonl"
    write_form(build_parallel(form), path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[1]["left_out"]
    rows[1] = {
        "id": "2",
        "prompt": "Is it not the first one?",
        "target": "yes",
        "rule": "polar.person",
    }
    path.write_text("\n".join(map(json.dumps, rows)))
    read = read_form(path, form)
    assert [item.prompt for item in read.items] == [
        "Is it false that it is red?",
        "Is it not the first one?",
    ]
    assert is_negated(read.items[1])
    assert read.left_out == ()


def test_a_form_of_other_items_is_refused(tmp_path: Path) -> None:
    form = Form("original", (Item("1", "Is it red?", "yes_no", "yes"),))
    path = tmp_path / "parallel.jsonl"
    path.write_text('{"id": "9", "prompt": "Is it blue?"}\n')
    with pytest.raises(DataError, match=pattern_of("form.item-unknown", item="9")):
        read_form(path, form)
    path.write_text('{"id": "1", "prompt": "a"}\n{"id": "1", "prompt": "b"}\n')
    with pytest.raises(DataError, match="stands twice"):
        read_form(path, form)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("¿Hay un perro en la imagen?", "Spanish"),
        ("Ist auf dem Bild ein Hund zu sehen?", "German"),
        ("Y a-t-il un chien dans l'image ?", "French"),
        ("图片中有狗吗？", "Chinese"),
        ("如图，在Rt△ABC中，∠ACB＝90°，则CD的长为（）", "Chinese"),
        ("Is er een hond in de afbeelding?", "another language"),
        ("Is there a dog?", ""),
        ('Does the sign say "出口"?', ""),
        ("Is Xi Jinping in Beijing?", ""),
        ("What is the SSIM of VGG16?", ""),
        ("Red or blue?", ""),
    ],
)
def test_rules_are_tried_on_english_alone_and_say_so(question: str, language: str) -> None:
    assert foreign_language(question) == language
    for task, target in (("yes_no", "yes"), ("vqa", "1"), ("caption", "")):
        original = Form("original", (Item("1", question, task, target),))
        first = build_parallel(original)
        forms = [first, build_rewording(original, 2, [first])]
        if language:
            for form in forms:
                assert tells(form.left_out[0].reason, "form.language", language=language)
    choice = Item("1", question, "choice", "A", options=("1", "2", "3"))
    assert shuffle_item(choice).prompt == question, "an order of options needs no language"
    rewording = build_rewording(Form("original", (choice,)), 2, [])
    assert not language or rewording.items[0].prompt == question


@pytest.mark.parametrize(
    "question",
    ["Does the dog sleep?", "Does the woman smile?", "Does this empty?", "Do these open?"],
)
def test_a_verb_that_may_be_a_noun_stands_behind_the_subject(question: str) -> None:
    clause = question_of(question).clause
    assert find_subject_end(clause) == (len(clause) - 1, 1.0)
