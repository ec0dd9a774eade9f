"""Open questions and instructions in other words: every rule, what stays out, and what a rewrite
must keep.
"""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqm import Form, Item
from hqm.errors import NoRule
from hqm.forms.find_question import mode_of
from hqm.forms.make_forms import build_parallel, count_modes, flip_item, rephrase_item
from hqm.forms.rephrase import look_first, rephrase_open

REWORDINGS = {
    # (rule, question, other words)
    "Who is sitting on the bench?": ("open.wh", "Tell me who is sitting on the bench."),
    "What is playing on the monitor?": ("open.wh", "Tell me what is playing on the monitor."),
    "Which company owns the airplane displayed in the back of the image?": (
        "open.wh",
        "Tell me which company owns the airplane displayed in the back of the image.",
    ),
    "In the image, which truck (left or right) has its door open?": (
        "open.wh",
        "Tell me, in the image, which truck (left or right) has its door open.",
    ),
    "Where is the girl positioned among the three people?": (
        "open.wh",
        "Tell me where the girl is positioned among the three people.",
    ),
    "What is the age gap between these two people in image?": (
        "open.wh",
        "Tell me what the age gap between these two people in image is.",
    ),
    "What is the average annual wage in Slovak Republic in the year 2019?": (
        "open.wh",
        "Tell me what the average annual wage in Slovak Republic in the year 2019 is.",
    ),
    "What is the sheep doing in the image?": (
        "open.wh",
        "Tell me what the sheep is doing in the image.",
    ),
    "What is the weather like in the image?": (
        "open.wh",
        "Tell me what the weather is like in the image.",
    ),
    "How was the weather when this picture was captured?": (
        "open.wh",
        "Tell me how the weather was when this picture was captured.",
    ),
    "How many bracelets does the woman have on her wrist?": (
        "open.wh",
        "Tell me how many bracelets the woman has on her wrist.",
    ),
    "Out of the four animals, how many giraffes are there in the image?": (
        "open.wh",
        "Tell me, out of the four animals, how many giraffes there are in the image.",
    ),
    "At what time is this photo taken?": ("open.wh", "Tell me at what time this photo is taken."),
    "How much is it per hour to park?": ("open.wh", "Tell me how much it is per hour to park."),
    "What's behind the bus?": ("open.wh", "Tell me what is behind the bus."),
    "What is the dresser to the right of the stove made out of?": (
        "open.wh",
        "Tell me what the dresser to the right of the stove is made out of.",
    ),
    "Which of these objects can be found in the image? (A) A hoop, (B) A pole?": (
        "open.wh",
        "Tell me which of these objects can be found in the image: (A) A hoop, (B) A pole",
    ),
    "What is the color of the shirt the young man in the street is wearing?": (
        "open.attribute",
        "Tell me the color of the shirt the young man in the street is wearing.",
    ),
    "Is there a red sign at X:105 Y:350 Width:258 Height:258?": (
        "open.whether",
        "Tell me whether there is a red sign at X:105 Y:350 Width:258 Height:258.",
    ),
    "Is the scene indoors or outdoors?": (
        "open.whether",
        "Tell me whether the scene is indoors or outdoors.",
    ),
    "Does the horse carriage have six wheels?": (
        "open.whether",
        "Tell me whether the horse carriage has six wheels.",
    ),
    "Is there a television visible? Answer Yes or No.": (
        "open.whether",
        "Tell me whether there is a television visible. Answer Yes or No.",
    ),
    "A golden retriever is playing. Can you spot the dog?": (
        "open.whether",
        "A golden retriever is playing. Tell me whether you can spot the dog.",
    ),
    "Is the bowl with broccoli on top of the bowl with meatballs?": (
        "open.whether",
        "Tell me whether the bowl with broccoli is on top of the bowl with meatballs.",
    ),
    "Are there any mushrooms on the pizza?": (
        "open.whether",
        "Tell me whether there are any mushrooms on the pizza.",
    ),
    "How many chairs?": ("open.number", "What is the number of chairs?"),
    "How many people in picture?": ("open.number", "What is the number of people in picture?"),
    "Describe this photo in detail.": (
        "open.describe-detail",
        "Provide a detailed description of this photo.",
    ),
    "Describe the hands wearing the gloves.": (
        "open.describe",
        "Provide a description of the hands wearing the gloves.",
    ),
    "Describe how the two watches are placed.": (
        "open.describe-how",
        "Explain how the two watches are placed.",
    ),
    "Compare the tomatoes in the photo.": (
        "open.compare",
        "Make a comparison of the tomatoes in the photo.",
    ),
    "List the main instances in the image.": (
        "open.list",
        "Give a list of the main instances in the image.",
    ),
    "Create a haiku about the scene.": ("open.create", "Compose a haiku about the scene."),
    "Count the number of designs on the carpet.": (
        "open.request",
        "I would like you to count the number of designs on the carpet.",
    ),
    "Please locate the tall man. Describe his gesture.": (
        "open.request",
        "I would like you to locate the tall man. Describe his gesture.",
    ),
    "Can you please point out the purple bowl?": (
        "open.request",
        "I would like you to point out the purple bowl.",
    ),
    "Based on the image, compose a haiku.": (
        "open.request",
        "Based on the image, I would like you to compose a haiku.",
    ),
}


KEPT_QUESTIONS = {
    "Who is sitting on the bench?": ("open.wh", "Could you tell me who is sitting on the bench?"),
    "In the image, which truck (left or right) has its door open?": (
        "open.wh",
        "In the image, could you tell me which truck (left or right) has its door open?",
    ),
    "Which of these objects can be found in the image? (A) A hoop, (B) A pole?": (
        "open.wh",
        (
            "Could you tell me which of these objects can be found in the image? (A) A hoop, (B) A"
            " pole?"
        ),
    ),
    "What is the color of the shirt the young man is wearing?": (
        "open.attribute",
        "Could you tell me the color of the shirt the young man is wearing?",
    ),
    "Is the scene indoors or outdoors?": (
        "open.whether",
        "Would you say that the scene is indoors or outdoors?",
    ),
    "Is there a television visible? Answer Yes or No.": (
        "open.whether",
        "Would you say that there is a television visible? Answer Yes or No.",
    ),
    "Count the number of designs on the carpet.": (
        "open.please",
        "Please count the number of designs on the carpet.",
    ),
    "Please locate the tall man. Describe his gesture.": (
        "open.please",
        "Locate the tall man. Describe his gesture.",
    ),
    "Can you please point out the purple bowl?": (
        "open.could",
        "Could you please point out the purple bowl?",
    ),
    "Based on the image, compose a haiku.": (
        "open.please",
        "Based on the image, please compose a haiku.",
    ),
}


@pytest.mark.parametrize(("question", "expected_pair"), REWORDINGS.items())
def test_a_question_is_said_in_other_words_and_mode(
    question: str, expected_pair: tuple[str, str]
) -> None:
    rule, prompt = expected_pair
    changes = prompt.startswith("Tell me") or "Tell me" in prompt or "I would like" in prompt
    reworded = rephrase_open(question, keep_mode=not changes)
    expected = rule.replace("open.", "open.tell_") if "Tell me" in prompt else rule
    assert (reworded.rule, reworded.prompt) == (expected, prompt)


@pytest.mark.parametrize("question", REWORDINGS)
def test_every_rewording_keeps_the_mode_unless_told_otherwise(question: str) -> None:
    assert mode_of(rephrase_open(question).prompt) == mode_of(question)
    assert mode_of(look_first(question).prompt) == mode_of(question)


@pytest.mark.parametrize(("question", "expected_pair"), KEPT_QUESTIONS.items())
def test_a_question_stays_a_question_and_an_instruction_one(
    question: str, expected_pair: tuple[str, str]
) -> None:
    reworded = rephrase_open(question)
    assert (reworded.rule, reworded.prompt) == expected_pair


def test_changes_of_mode_are_counted() -> None:
    original = Form(
        "original", tuple(Item(str(i), text, "vqa", "x") for i, text in enumerate(REWORDINGS))
    )
    turned = tuple(
        replace(i, prompt=rephrase_open(i.prompt, keep_mode=False).prompt)
        for i in original.items
        if "Who is" in i.prompt
    )
    assert count_modes(original, Form("turned", turned)) == {"question to command": 1}
    assert count_modes(original, build_parallel(original)) == {}


@pytest.mark.parametrize(
    "question",
    [
        "The tall man wearing a green hat is applauding.",
        "There is a patterned plate holding the sandwich, isn't it?",
        "In the center of the image, you'll find a yellow umbrella, right?",
        "Is the man holding a stick successful in herding the lamb?",
        "Is the car parked on the side of the street? Where?",
        "What type of object is on the skateboard, and what color is it?",
        "Are they a seasonal variety or do they grow year-round?",
        "What a delightful sight, the dolphins jumping out of the lake!",
        "Notice the red bicycle leaning against the tree.",
        "Where this picture was taken?",
        "?",
        "",
    ],
)
def test_what_no_rule_fits_is_not_guessed(question: str) -> None:
    with pytest.raises(NoRule):
        rephrase_open(question)


def test_the_bank_and_the_templates_come_first_and_only_questions_are_opened() -> None:
    bank = rephrase_item(Item("1", "Describe the image in detail.", "vqa", "x"))
    assert bank.rule == "wording.bank"
    assert (
        rephrase_item(Item("1", "How many cats are in the image?", "vqa", "2")).rule
        == "wording.how-many-there"
    )
    assert rephrase_item(Item("1", "Who is sitting on the bench?", "vqa", "x")).rule == "open.wh"
    with pytest.raises(NoRule):
        rephrase_item(Item("1", "Who is sitting on the bench?", "caption"))


NOUNS = st.sampled_from(["dog", "red car", "old wooden bench", "man with a hat", "cup"])


@given(
    st.sampled_from(
        ["Is the {} on the table?", "Where is the {} located?", "Can you see the {} at X:1 Y:22?"]
    ),
    NOUNS,
)
def test_every_word_of_the_content_stays(frame: str, noun: str) -> None:
    question = frame.format(noun)
    reworded = rephrase_open(question).prompt
    assert noun in reworded
    assert re.findall(r"\d+", reworded) == re.findall(r"\d+", question)
    question_words = {word.lower() for word in re.findall(r"\w+", question)}
    assert question_words <= {word.lower() for word in re.findall(r"\w+", reworded)}


def test_a_compound_question_is_denied_as_a_whole() -> None:
    question = (
        "Does the Oyashio Current flow from the south, while the Kuroshio flows from the north?"
    )
    flipped = flip_item(Item("1", question, "yes_no", "yes"))
    assert flipped.prompt.startswith(
        "Is it false that the Oyashio Current flows from the south, while the Kuroshio flows"
    )
    assert (flipped.rule, flipped.target) == ("polar.false", "no")
