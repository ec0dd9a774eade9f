"""Options that refer to other options: shuffles keep what they mean, and the linter finds them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hqm.errors import NoRule
from hqm.forms.make_forms import build_parallel, build_rewording
from hqm.forms.option_references import find_references, referents
from hqm.forms.wording import count_orders, shuffle_item
from hqm.lint.question_checks import check_wordings, check_words
from hqm.types import LETTERS, Form, Item
from tests.messages import pattern_of

QUESTION = "What color is the car?"


def choice(*options: str, key: str = "A", question: str = QUESTION, name: str = "1") -> Item:
    return Item(name, question, "choice", key, options=options)


@pytest.mark.parametrize(
    ("options", "letters"),
    [
        (("red", "blue", "Both A and B", "None of the above"), {2: "AB", 3: ""}),
        (("red", "blue", "green", "(A) and (C)", "all of these"), {3: "AC", 4: ""}),
        (("red", "blue", "green", "Both (a) and (c) are correct"), {3: "AC"}),
        (("red", "blue", "green", "A, B, and C", "None of these."), {3: "ABC", 4: ""}),
        (("red", "blue", "Neither A nor B", "Either A or B"), {2: "AB", 3: "AB"}),
        (("red", "blue", "Only B", "Options A & B"), {2: "B", 3: "AB"}),
        (("red", "blue", "A & B", "B & C", "None of the above"), {2: "AB", 3: "BC", 4: ""}),
        (("red", "blue", "All except A"), {2: "A"}),
        (("left", "right", "both", "neither"), {2: "", 3: ""}),
        (("red", "blue", "All of the other options"), {2: ""}),
        (("red", "blue", "None of the options listed above is correct"), {2: ""}),
        (("rot", "blau", "A und B", "Keine der genannten"), {2: "AB", 3: ""}),
        (("红", "蓝", "A和B都对", "以上都不是"), {2: "AB", 3: ""}),
        (("rojo", "azul", "Ninguna de las anteriores"), {2: ""}),
        (("rouge", "bleu", "Toutes les réponses ci-dessus"), {2: ""}),
        # things of the picture, values and words are no references
        (("A", "B", "C"), {}),
        (("B and E", "A and B", "C and D", "A and E", "C and E"), {}),
        (("A and B", "C and D", "C and E", "A and E"), {}),
        (("(a)", "(b)", "(a) and (b)"), {}),
        (("a dog", "a cat", "A dog and a cat"), {}),
        (("None", "One", "Two"), {}),
        (("I and II", "I only", "II only", "III only"), {}),
        (("C < A < B", "B < C < A", "A < B < C"), {}),
        (("all buildings should be sustainable", "none of the hosts", "red"), {}),
        (("Above the line", "Below the line"), {}),
    ],
)
def test_an_option_that_refers_to_others_is_found(
    options: tuple[str, ...], letters: dict[int, str]
) -> None:
    references = find_references(QUESTION, options)
    assert {
        reference.index: "".join(LETTERS[slot] for slot in reference.letters)
        for reference in references
    } == letters


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Which of stocks A and B rose?", ("low", "high", "other")),
        # an option, and not the question, names something by a letter
        (QUESTION, ("that of van A", "blue", "grey")),
    ],
)
def test_letters_that_may_be_labels_keep_their_text_and_their_options(
    question: str, texts: tuple[str, ...]
) -> None:
    item = choice(*texts, "Both A and B", question=question)
    for draw in range(1, count_orders(item)):
        options = shuffle_item(item, draw).options
        assert set(options[:2]) == set(texts[:2])
        assert options[2:] == (texts[2], "Both A and B")


WORDS = ("red", "blue", "green", "grey", "pink", "black")
TEMPLATES = (
    "Both {0} and {1}", "({0}) and ({1})", "{0} or {1}", "Neither {0} nor {1}",
    "Options {0}, {1} and {2}", "Only {0}", "All except {2}", "{0} but not {1}",
    "None of the above", "All of the above.", "none of these", "Both of the above",
)  # fmt: skip


@st.composite
def items(draw: st.DrawFn) -> Item:
    words = draw(st.permutations(WORDS))[: draw(st.integers(3, 6))]
    templates = draw(st.lists(st.sampled_from(TEMPLATES), min_size=1, max_size=3, unique=True))
    options = list(words)
    for template in templates:
        letters = draw(st.permutations(LETTERS[: len(words)]))
        options.append(template.format(*letters))
    key = draw(st.sampled_from(LETTERS[: len(options)]))
    return choice(*options, key=key, name=draw(st.text("abc123", min_size=1, max_size=6)))


@settings(max_examples=150, deadline=None)
@given(items(), st.integers(1, 5))
def test_a_shuffle_keeps_the_meaning_of_every_option(item: Item, draw: int) -> None:
    n_referring = len(find_references(item.prompt, item.options))
    n_words = len(set(item.options) & set(WORDS))
    assert n_referring == len(item.options) - n_words
    draw = min(draw, count_orders(item) - 1)
    shuffled = shuffle_item(item, draw)
    right = LETTERS.index(str(item.target)), LETTERS.index(str(shuffled.target))
    assert sorted(shuffled.options[:n_words]) == sorted(item.options[:n_words])
    assert shuffled.options != item.options
    assert referents(item.prompt, shuffled.options) == referents(item.prompt, item.options)
    if right[0] < n_words:
        assert item.options[right[0]] == shuffled.options[right[1]]
    else:
        assert right[0] == right[1], "an option that refers to others keeps its place"
    # the letters are read back without the code that wrote them
    for before, after in zip(item.options[n_words:], shuffled.options[n_words:], strict=True):
        named = [
            [options[LETTERS.index(letter)] for letter in re.findall(r"\b[A-F]\b", text)]
            for options, text in ((item.options, before), (shuffled.options, after))
        ]
        if len(named[0]) != 1 or "xcept" in before or "nly" in before:
            assert named[0] == named[1]
        assert re.sub(r"\b[A-F]\b", "", before) == re.sub(r"\b[A-F]\b", "", after)


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        (("Both A and B", "red", "blue", "green"), pattern_of("form.names-itself")),
        (("red", "None of the above", "blue"), pattern_of("form.no-order")),
        (("red", "blue", "Both the first and the second option"), pattern_of("form.no-order")),
        (("red", "both", "neither"), pattern_of("form.no-order")),
    ],
)
def test_an_item_without_another_order_is_left_out_with_its_reason(
    options: tuple[str, ...], pattern: str
) -> None:
    form = build_parallel(Form("original", (choice(*options),)))
    assert not form.items
    assert re.search(pattern, form.left_out[0].reason)
    with pytest.raises(NoRule):
        shuffle_item(choice(*options))


def test_further_forms_keep_references_too() -> None:
    original = Form("original", (choice("red", "blue", "green", "Both A and B", key="D"),))
    forms = [build_parallel(original)]
    for draw in range(2, 5):
        forms.append(build_rewording(original, draw, forms))
    for form in forms:
        for item in form.items:
            assert item.target == "D"
            assert referents(QUESTION, item.options) == [{"red", "blue"}]


def test_the_linter_finds_options_that_refer_and_those_that_were_shuffled() -> None:
    form = Form(
        "original",
        (
            choice("red", "blue", "Both A and B", "None of the above", name="1"),
            choice("red", "None of the above", "blue", name="2"),
            choice("Both A and B", "red", "blue", name="3"),
            choice("red", "blue", "pink", name="4"),
        ),
    )
    counts = {finding.name: finding.count for finding in check_words(form)}
    assert counts["options-refer"] == 3
    assert counts["options-misplaced"] == 2
    plain = Form("original", (choice("red", "blue", "pink"),))
    assert not {"options-refer", "options-misplaced"} & {f.name for f in check_words(plain)}


def test_the_linter_finds_a_form_whose_letters_stayed() -> None:
    original = Form("original", (choice("red", "blue", "green", "Both A and B"),))
    wrong = Form("mine", (choice("green", "blue", "red", "Both A and B", key="C"),))
    names = {finding.name for finding in check_wordings(original, wrong)}
    assert "form-option-reference" in names
    right = build_parallel(original)
    assert "form-option-reference" not in {f.name for f in check_wordings(original, right)}
