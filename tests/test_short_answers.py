"""The reader of short answers against 470 strings with keys set by hand, against 3,000 strings in
the styles of today's models, and the released readers against the released code.
"""

import collections
import functools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hqm import Item, Response
from hqm.scoring.choices import read_choice
from hqm.scoring.list_answers import read_list
from hqm.scoring.number_answers import read_number
from hqm.scoring.parsers import parser
from hqm.scoring.polar_answers import read_polar
from hqm.scoring.released_readers import (
    CHOICES,
    inspect_short,
    mathvista_short,
    mmmu_short,
)
from hqm.scoring.rules import score_choice, score_short
from hqm.signature import load_procedures
from tests.answer_corpus import Case, corpus

TABLES = Path(__file__).parent / "tables"
COLORED = ("a red ball", "a blue car", "a green house", "a yellow bird")
DOG = "Is there a dog in the image?"
TASKS = ("choice", "number", "yes_no", "text", "list")


def said(case: Case) -> object:
    """What the reader makes of a case, in the words of its key."""
    if case.task == "choice":
        return read_choice(case.text, case.options, case.question)
    if case.task == "yes_no":
        return read_polar(case.text, case.question)
    if case.task == "list":
        return read_list(case.text) or None
    if case.task == "text":
        item = Item("1", case.question, "vqa", case.options[0])
        value = score_short(item, Response(case.text)).value
        return {1.0: "right", 0.0: "wrong", None: None}[value]
    number = read_number(case.text)
    if number is None:
        return None
    values = [number.value, number.value / 100] if number.percent else [number.value]
    agrees = case.says is not None and Fraction(str(case.says)) in values
    return case.says if agrees else str(number)


def test_every_key_that_was_set_by_hand_is_met() -> None:
    lines = (TABLES / "short_answers.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [
        Case(
            row["task"],
            DOG if row["task"] == "yes_no" else "What is it?",
            COLORED if row["task"] == "choice" else (),
            row["text"],
            row["says"],
        )
        for row in map(json.loads, lines)
    ]
    assert len(cases) >= 400
    # what is missed: a guess beside an answer, a particle, and a statement in another language
    missed = [(case.text, case.says, said(case)) for case in cases if said(case) != case.says]
    assert missed == [
        ("I see 7, maybe 8.", None, "7"),
        ("Sure.", "yes", None),
        ("图片中有一只狗。", "yes", None),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Though A looks plausible, the size gives it away: B.", "B"),
        ("Eliminating A, C and D leaves B.", "B"),
        ("My first instinct was C, but the door means D is right.", "D"),
        ("A. a red ball ❌\nB. a blue car ✅\nC. a green house ❌", "B"),
        ("Is it A? No. Is it B? No. Is it C? Yes.", "C"),
        ("Initially I thought A. Now I'm changing my answer to C.", "C"),
    ],
)
def test_letters_that_are_reached_by_leaving_others_out(text: str, says: str) -> None:
    assert read_choice(text, COLORED) == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("I counted 14 in total (9 on the left, 5 on the right).", 14),
        ("Step 1: 15 × 4 = 60.\nStep 2: 60 − 12 = 48.", 48),
        ("It says 20 on the sign, but the sum of both is 35.", 35),
    ],
)
def test_numbers_on_the_way_are_not_the_answer(text: str, says: int) -> None:
    number = read_number(text)
    assert number is not None
    assert number.value == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("There is a sleepy dog.", "yes"),
        ("The image shows a street with cars, but no dogs.", "no"),
        ("Two dogs are parked next to the fence.", "yes"),
        ("A dog can be seen in the distance.", "yes"),
        ("The picture lacks a dog.", "no"),
        ("There might be a dog behind the car.", None),
        ("There is a hot-dog stand.", None),
    ],
)
def test_a_statement_says_what_is_there(text: str, says: str | None) -> None:
    assert read_polar(text, DOG) == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("The animals in the picture are:\n1. Cat\n2. Dog", ("Cat", "Dog")),
        ("There are two: a lamp and a chair.", ("lamp", "chair")),
        ("x = 2 and x = 5", ("2", "5")),
        ("The values are 3.2, 4.1, and 5.0 respectively.", ("3.2", "4.1", "5.0")),
        ("lamp\nchair\ntable", ("lamp", "chair", "table")),
    ],
)
def test_members_of_a_list_stand_without_what_is_around_them(
    text: str, says: tuple[str, ...]
) -> None:
    assert read_list(text) == says


def judged(row: dict[str, Any]) -> object:
    """What the reader makes of an answer to a question, in the words of its key: what it says of a
    choice, a number and yes or no; whether it is right of a text and a list.
    """
    if row["task"] == "choice":
        return read_choice(row["text"], row["options"], row["question"])
    if row["task"] == "yes_no":
        return read_polar(row["text"], row["question"])
    is_number = row["task"] == "number" and "target" not in row
    target = row["says"] or "987654" if is_number else row["target"]
    verdict = score_short(Item("1", row["question"], "vqa", target), Response(row["text"]))
    if not is_number:
        return verdict.value
    return row["says"] if verdict.value == 1 else None if verdict.value is None else verdict.read


@functools.cache
def asked_answers() -> dict[str, list[dict[str, Any]]]:
    """The answers to other questions, by task."""
    rows = collections.defaultdict(list)
    for line in (TABLES / "asked_answers.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rows[row["task"]].append(row)
    return rows


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("task", TASKS)
def test_answers_to_other_questions_are_read_as_a_person_read_them(task: str, half: int) -> None:
    """Strings with keys set by hand before the reader saw them, 150 at a time. At first try it
    agreed with .793, .793, .820, .860, .827, .907 and .853 of the first seven sets, which are harder
    than ordinary answers, and with .907, .860, .887, .933, .860, .927, .920, .913 and .933 of the
    nine after them, half of which are ordinary; with .777 of 148 that have forty answers known to be
    misread and ten languages, .919 of the 136 after them, .834 and .862 of 145 and 94 in the
    styles of logs, and .764 of 212 in twelve languages, a quarter of them known to be hard (of 65
    real answers drawn with them .985), then .805 of 149 and .960 of 50 real ones; with .880 of
    300 in the styles of fourteen public models (choices .883, lists .983, numbers .867, texts .850,
    yes/no .817; 4.0 % read as what they do not say), and .927 of the 150 after them (.967, .867,
    .867, 1.000, .933; .7 %), then .960 of 150, a third of them in ten languages (.933, .933, 1.000,
    .967, .967; 2.0 %, with right answers and refusals that were taken for wrong ones), and .924 of
    157, of which 50 are in ten languages (.848, .967, .938, .938, .933; 3.2 %), then .935 of 153
    like them (.903, .933, .968, .935, .933; 3.3 %), and .907, .914 and .964 of 161, 163 and 165, a
    third of them in ten languages (of the last 1.000, .909, .938, 1.000, .970; 1.8 %). Of real
    answers of public models to other benchmarks, which are not kept here, it read .889 of 350 of
    fifteen models (lists .605, numbers .939, choices 1.000, yes/no .884, texts .916; 5.7 %), .900
    of 180, a quarter of them invented (.838, .955, .914, .962, .842; 5.6 %), .903 of 207 (.872,
    .930, .976, .915, .806; 3.9 %) and .879 of 149 (.889, .872, .935, .906, .793; 5.4 %), all drawn
    at random, then .924 of 158, of which 60 are invented in ten languages (numbers .889, choices
    .971, yes/no .921, texts .920; 2.5 %). After each its rules were widened by kinds of answers. Those that it still misses
    are marked, and are mostly
    left unread.
    """
    rows = asked_answers()[task]
    assert len(rows) >= 210
    assert sum(row.get("missed", False) for row in rows) / len(rows) <= 0.05
    for row in rows[half::2]:
        assert (judged(row) != row["says"]) == row.get("missed", False), row


def test_few_answers_are_read_as_what_they_do_not_say() -> None:
    """A wrong answer taken for right, a right one taken for wrong, and one that a person would not
    decide taken for either.
    """
    rows = [row for of_task in asked_answers().values() for row in of_task]
    readings = [judged(row) for row in rows if row.get("missed")]
    n_misread = sum(reading is not None for reading in readings)
    assert n_misread / len(rows) < 0.01


def test_3000_answers_in_the_styles_of_models_are_read() -> None:
    n_asked: collections.Counter[str] = collections.Counter()
    missed: collections.Counter[str] = collections.Counter()
    for case in corpus(seed=3, count=3000):
        n_asked[case.task] += 1
        missed[case.task] += said(case) != case.says
    assert set(n_asked) == set(TASKS)
    assert {task: count / n_asked[task] for task, count in missed.items() if count} == {}


def test_released_readers_read_what_the_released_code_read() -> None:
    """Outcomes of MMMU bb0b95a, MathVista 53d5258, lmms-eval 75571cf, inspect_ai 499e615 and
    VLMEvalKit e8e78f0 on these strings; a random choice is none.
    """
    table = json.loads((TABLES / "released_readings.json").read_text(encoding="utf-8"))
    cases = [case for case in corpus(table["seed"], table["count"]) if case.task in table]
    read = []
    for case in cases:
        if case.task == "choice":
            row = [CHOICES[name](case.text, case.options, "") for name in table["choice"]]
        else:
            key = case.says if case.task == "number" else case.options[0]
            target = str(key or "7")
            judged = {
                "inspect": int(inspect_short(case.text, [target])),
                "mathvista": mathvista_short(case.text, "float", 2),
                "mmmu": int(mmmu_short(case.text, [target])),
            }
            row = [judged[name] for name in table[case.task]]
        read.append(row)
    assert len(read) > 2900
    assert read == table["read"]


@pytest.mark.parametrize(
    ("target", "text", "value", "meta"),
    [
        ("7", "-7", 0, {}),
        ("3.5", "3.50", 1, {}),
        ("3.14", "π is about 3.14159.", 1, {}),
        ("3", "3.4", 0, {}),
        ("1.2 km", "1200 m", 1, {}),
        ("5 cm", "5 m", 0, {}),
        ("0.45", "45%", 1, {}),
        ("45%", "45", 1, {}),
        ("2/3", "0.67", 1, {}),
        ("1.2", "1.16", 1, {"precision": 1}),
        ("100", "98", 1, {"tolerance": 5}),
        ("100", "94", 0, {"tolerance": 5}),
        ("no", "There is no sign.", None, {}),
        ("[2014, 2016]", "2016 and 2014", 1, {}),
        ("[2, 0, 1]", "[0, 1, 2]", 0, {}),
        ("cat", "cat or dog", None, {}),
        ("cat", "Two cats.", 1, {}),
        ("9π", "9", 0, {}),
    ],
)
def test_numbers_are_numbers_and_lists_are_lists(
    target: str, text: str, value: float | None, meta: dict[str, float]
) -> None:
    item = Item("1", "What is it?", "vqa", target, meta=meta)
    assert score_short(item, Response(text)).value == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("It has fur. So it is neither a cat nor a bird.", "C"),
        ("Therefore it is neither a cat nor a bird.\nThus a cat is what I see.", "A"),
        ("So it is neither a cat nor a bird.\nTherefore my answer is none.", None),
    ],
)
def test_the_last_conclusion_decides(text: str, says: str | None) -> None:
    assert read_choice(text, ("a cat", "a bird", "a dog"), "Which animal is it?") == says


def test_a_letter_with_the_text_of_another_option_is_unread() -> None:
    assert read_choice("B. a red ball", COLORED) is None
    assert read_choice("(F) a blue car", COLORED) == "B"


def test_a_parser_that_cannot_read_a_task_leaves_it_to_strict() -> None:
    item = Item("1", "What is it?", "choice", "B", options=COLORED)
    readings = {
        name: score_choice(item, Response("So it is B.\nANSWER: B"), parser(name)).read
        for name in ("pope", "mmmu", "inspect", "strict")
    }
    assert readings == {"pope": "B", "mmmu": "B", "inspect": "B", "strict": "B"}
    answer = Response("I would say: a blue car")
    assert score_choice(item, answer, parser("inspect")).state == "unparsed"
    version = load_procedures()["reader.strict"].version
    assert parser("strict").label == f"strict:{version}"
    assert version > 3


@pytest.mark.parametrize(
    ("text", "value"), [("There are 3.", 1.0), ("There are 4.", 0.0), ("There are 12.", None)]
)
def test_a_number_that_nobody_expects_is_unread(text: str, value: float | None) -> None:
    item = Item("1", "How many stars are there?", "vqa", "3", meta={"rivals": ("2", "4", "5")})
    assert score_short(item, Response(text)).value == value
