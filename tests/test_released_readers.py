"""How the released scorers read choices and short answers, by the rules of their code."""

import pytest

from hqm import Item, Response
from hqm.scoring.parsers import parser
from hqm.scoring.released_readers import (
    inspect_choice,
    inspect_short,
    lmms_eval_choice,
    mathvista_choice,
    mathvista_short,
    mmmu_choice,
    mmmu_pro_choice,
    mmmu_short,
    vlmevalkit_choice,
)
from hqm.scoring.rules import score_choice, score_short

CARS = ("red car", "blue car", "green car")


@pytest.mark.parametrize(
    ("text", "mmmu", "lmms_eval", "mmmu_pro"),
    [
        # an option by its text only in more than five words, and the last of several
        ("a b blue car c", None, None, None),
        ("It must be a blue car", "B", "B", "B"),
        ("It is a blue car, not a Red car", "A", "A", "A"),
        # brackets before all else, and the last of several
        ("(A) or (C)", "C", "C", "C"),
        ("(C) or (A)", "A", "A", "A"),
        ("A (B) C", "B", "B", "B"),
        ("A or B", "B", "B", "B"),
        ("B or A", "A", "A", "A"),
        ("'B'.", "B", "B", "B"),
        # a letter at the end of a word or before a full stop
        ("it shows DNA", None, "A", "A"),
        ("it is B. So there", None, "B", "B"),
        ("D", None, None, None),
        # "Answer:" before all else, where one letter stands behind it
        ("Answer: B, and not (A)", "A", "A", "A"),
        ("(A) I say. Answer: C", "A", "A", "C"),
        ("Answer: A Answer: B", "B", "B", "B"),
        ("Answer:B", None, "B", "B"),
        ("Answer: Cx", None, None, "C"),
        ("(C) it is. Answer: A or B", "C", "C", "C"),
        ("", None, None, None),
    ],
)
def test_mmmu_and_what_came_from_it(
    text: str, mmmu: str | None, lmms_eval: str | None, mmmu_pro: str | None
) -> None:
    readers = (mmmu_choice, lmms_eval_choice, mmmu_pro_choice)
    assert [read(text, CARS) for read in readers] == [mmmu, lmms_eval, mmmu_pro]


@pytest.mark.parametrize(
    ("text", "target", "right"),
    [
        # numbers to two decimal places
        ("The answer is 3.14159.", "3.14", True),
        ("3.144", "3.14", True),
        ("3.146", "3.14", False),
        ("It is 1,234", "1234", True),
        ("1e3", "1000", True),
        ("-.5", "-0.5", True),
        ("so 7", "8", False),
        # texts where the key stands in them, and not the other way round
        ("cats", "cat", True),
        ("cat", "cats", False),
        ("Cat", "CAT", True),
        # one letter needs a space beside it
        ("It is a", "a", True),
        ("bad", "a", False),
        # what stands behind the key words, of which "=" counts in the last sentence alone
        ("x = 5", "5", True),
        ("The result is no cat\nBut so be it", "cat", True),
        ("It is cat. The end", "cat", True),
        ("a=bird\nso dog", "dog", True),
        ("a=bird\nso dog", "bird", False),
        ("bird\nso a = dog", "a", False),
        ("", "5", False),
    ],
)
def test_a_short_answer_to_mmmu(text: str, target: str, right: bool) -> None:
    assert mmmu_short(text, [target]) is right
    assert mmmu_short(text, ["something else", target]) is right


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("(b)", "B"),
        ("(c) and (b)", "C"),
        ("C", "C"),
        ("blue", "B"),
        ("gren car", "C"),
        ("read car", "A"),
        # the first of those that are equally far
        ("x", "A"),
        (" (D) ", "A"),
    ],
)
def test_mathvista_takes_the_likeliest_option(text: str, letter: str) -> None:
    assert mathvista_choice(text, CARS) == letter


def test_mathvista_compares_by_edits() -> None:
    options = ("kitten", "saturday", "flaw")
    for text, letter in (("sitting", "A"), ("sunday", "B"), ("lawn", "C")):
        assert mathvista_choice(text, options) == letter
    assert mathvista_choice("ab", ("abc", "b", "xb")) == "A"
    assert mathvista_choice("ab", ("abcd", "b", "xb")) == "B"


@pytest.mark.parametrize(
    ("text", "kind", "precision", "read"),
    [
        ("7.9", "integer", None, "7"),
        ("-7.9", "integer", None, "-7"),
        ("seven", "integer", None, None),
        ("inf", "integer", None, None),
        ("3.14159", "float", 2, "3.14"),
        ("3.6", "float", None, "4.0"),
        ("3.6", "float", 0, "4.0"),
        ("pi", "float", 2, None),
        ("[1, 2]", "list", None, "[1, 2]"),
        ("a dog", "text", None, "a dog"),
    ],
)
def test_mathvista_normalises_by_the_kind_of_answer(
    text: str, kind: str, precision: float | None, read: str | None
) -> None:
    assert mathvista_short(text, kind, precision) == read
    meta = {"answer_type": kind, "precision": precision}
    item = Item("1", "What is it?", "vqa", read or "7", meta=meta)
    verdict = score_short(item, Response(text), parser("mathvista"))
    assert (verdict.value, verdict.read) == ((None, "") if read is None else (1.0, read))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("ANSWER: B", "B"),
        ("answer : c", "C"),
        ("**ANSWER: B**", "B"),
        ("I think.\nANSWER: A\nANSWER: B", "B"),
        ("ANSWER: B.", "B"),
        ("ANSWER: ,B", "B"),
        ("ANSWER: B, C", None),
        ("ANSWER: D", None),
        ("Answer B", None),
    ],
)
def test_inspect_reads_behind_answer(text: str, letter: str | None) -> None:
    assert inspect_choice(text, CARS) == letter


@pytest.mark.parametrize(
    ("text", "targets", "right"),
    [
        ("It is Paris.", ["paris"], True),
        ("(paris)", ["Rome", " PARIS! "], True),
        ("Paris it is", ["Paris"], False),
        ("17", ["7"], True),
    ],
)
def test_inspect_looks_at_the_end(text: str, targets: list[str], right: bool) -> None:
    assert inspect_short(text, targets) is right


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        # one letter among the last four words
        ("B one two three", "B"),
        ("B one two three four", None),
        ("the (B) one", "B"),
        ("B C", None),
        ("Z", None),
        ("A Z", "A"),
        ("The answer is B because it is so very clear", "B"),
        ("The answer is d, as anybody can see here", None),
        # one option by its text, in a text that is not too long
        ("blue car", "B"),
        ("a red car, a blue car", None),
        ("Blue car" + "x" * 40, "B"),
        ("Blue car" + "x" * 41, None),
        ("Cannot determine the answer: B", None),
        ("Failed to obtain answer via API: blue car", "B"),
        ("Failed to obtain answer via API: B", None),
    ],
)
def test_vlmevalkit_infers_an_option(text: str, letter: str | None) -> None:
    assert sum(map(len, CARS)) == 24
    assert vlmevalkit_choice(text, CARS) == letter
    item = Item("1", "Which is it?", "choice", "B", options=CARS)
    assert (score_choice(item, Response(text), parser("vlmevalkit")).read or None) == letter


@pytest.mark.parametrize(
    ("text", "read"),
    [
        # the first 32 full stops go, because a flag stands where a count does
        ("." * 31 + "no.", "no"),
        ("." * 32 + "no.", None),
        ("." * 33 + "no", None),
        # a mark goes where it stands beside a space or a number has a comma, else a space comes
        ("yes-no", None),
        ("yes- no", None),
        ("no-one", "no"),
        ("a no- one", "no"),
        ("a no-one - b", None),
        ("1,2 no-one", None),
        ("1, 2 no-one", "no"),
        ('"no', "no"),
        ("no:", None),
    ],
)
def test_vlmevalkit_takes_marks_away(text: str, read: str | None) -> None:
    assert parser("vlmevalkit")(text) == read


def test_short_answers_by_name() -> None:
    item = Item("1", "What is it?", "vqa", "dog")
    readings = {
        name: [
            score_short(item, Response(text), parser(name)).value
            for text in ("dog", "It is a dog.", "a dog, I think")
        ]
        for name in ("vlmevalkit", "inspect", "mmmu", "mmmu_pro", "lmms_eval", "strict")
    }
    assert readings == {
        "vlmevalkit": [1, 0, 0],
        "inspect": [1, 1, 0],
        "mmmu": [1, 1, 1],
        "mmmu_pro": [1, 1, 1],
        "lmms_eval": [1, 1, 1],
        "strict": [1, 1, 1],
    }
    verdict = score_short(item, Response(" cat "), parser("vlmevalkit"))
    assert (verdict.value, verdict.read) == (0.0, "cat")
