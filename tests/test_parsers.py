"""Each reader against the rule of the released scorer it is named after (BENCHMARKS of the field
disagree).
"""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqm import UsageError
from hqm.scoring.parsers import PARSERS, parser, refuses
from hqm.signature import labelled

ANSWERS = [
    "Yes",
    "No",
    "yes",
    "no",
    "YES",
    "Yes.",
    "No, there is not.",
    "There is no dog.",
    "I know it.",
    "",
    "matching",
    "Nope",
    "NO",
]
READ = {
    # Yes    No    yes    no    YES    Yes.   No,..  There.. know   ""     match  Nope   NO
    "pope": ["yes", "no", "yes", "no", "yes", "yes", "no", "no", "yes", "yes", "yes", "yes", "yes"],
    "amber": ["yes", "no", None, None, None, None, None, None, None, None, None, None, None],
    "hal_eval": ["yes", "no", "yes", "no", "yes", "yes", "no", "no", "no", None, "yes", "no", "no"],
    "vlmevalkit": [
        "yes",
        "no",
        "yes",
        "no",
        "yes",
        "yes",
        "no",
        "no",
        None,
        None,
        None,
        None,
        "no",
    ],
    "lmms_eval": ["yes", "no", "yes", "no", "yes", None, None, None, None, None, None, None, "no"],
    "lmms_eval_amber": [
        "yes",
        "no",
        "yes",
        "no",
        "yes",
        "yes",
        "no",
        "no",
        "no",
        None,
        None,
        "no",
        "no",
    ],
    "lmms_eval_hallusion": [
        "yes",
        "no",
        "yes",
        "no",
        "yes",
        "yes",
        "no",
        "no",
        "no",
        "no",
        "no",
        "no",
        "no",
    ],
    "faithscore": [
        "yes",
        "no",
        "yes",
        "no",
        "yes",
        "yes",
        "no",
        "no",
        "no",
        "no",
        "no",
        "no",
        "no",
    ],
}


@pytest.mark.parametrize(
    ("name", "answer", "read"),
    [(n, a, r) for n, row in READ.items() for a, r in zip(ANSWERS, row, strict=True)],
)
def test_released_rules(name: str, answer: str, read: str | None) -> None:
    assert parser(name)(answer) == read


def test_every_parser_of_the_field_is_there() -> None:
    excluded = {"mmmu", "mmmu_pro", "mathvista", "inspect"}
    assert {"strict", "last", *READ, *excluded} == set(PARSERS)


def test_the_last_word_counts_where_an_answer_reasons_first() -> None:
    parsed = [
        parser("last")(text) for text in ("No dog. A cat. So yes", "Yes, but no: NO", "another", "")
    ]
    assert parsed == ["yes", "no", None, None]


@given(st.text(st.sampled_from("YesnotNo ,.\n"), max_size=30))
def test_pope_against_the_release_line_by_line(text: str) -> None:
    first = text[: text.find(".")] if text.find(".") != -1 else text
    tokens = re.sub(",", "", first).split(" ")
    expected = "no" if any(token in tokens for token in ("No", "not", "no")) else "yes"
    assert parser("pope")(text) == expected


DOG, NO_DOG = "Is there a dog in the image?", "Is there no dog in the image?"
SUNNY, NOT_SUNNY = "Is the sky sunny in this image?", "Is the sky not sunny in this image?"


@pytest.mark.parametrize(
    ("text", "question", "negated", "read"),
    [
        ("Yes", DOG, False, "yes"),
        ("no.", DOG, False, "no"),
        ("**Yes**", DOG, False, "yes"),
        ("The answer is yes.", DOG, False, "yes"),
        ("There is no dog in the image.", DOG, False, "no"),
        ("There is a dog.", DOG, False, "yes"),
        ("No, the sky is cloudy.", SUNNY, False, "no"),
        ("Yes, there is no dog.", DOG, False, None),
        ("Yes and no", DOG, False, None),
        ("I cannot tell.", DOG, False, None),
        ("Not sure", DOG, False, None),
        ("", DOG, False, None),
        ("The sky is cloudy.", SUNNY, False, "no"),
        ("Yes, there is no dog.", NO_DOG, True, "yes"),
        ("No, there is a dog.", NO_DOG, True, "no"),
        ("There is no dog.", NO_DOG, True, "yes"),
        ("There isn't any dog.", NO_DOG, True, "yes"),
        ("No, there is no dog.", NO_DOG, True, "yes"),
        ("Yes, there is a dog.", NO_DOG, True, "no"),
        ("No", NO_DOG, True, "no"),
        ("No, the sky is cloudy.", NOT_SUNNY, True, "no"),
        ("The sky is not sunny.", NOT_SUNNY, True, "yes"),
        (
            "No, the star is larger than the circle.",
            "Is the circle larger than the star?",
            False,
            "no",
        ),
        (
            "Yes, the star is larger than the circle.",
            "Is the circle not larger than the star?",
            True,
            "yes",
        ),
        ("No, there is a dog.", DOG, False, "no"),
        ("Yes, the sky is sunny.", NOT_SUNNY, True, "no"),
    ],
)
def test_strict_reads_plain_and_negated_questions(
    text: str, question: str, negated: bool, read: str | None
) -> None:
    assert parser("strict")(text, question, negated) == read


def test_an_unknown_parser_is_refused() -> None:
    with pytest.raises(UsageError, match="strict"):
        parser("guess")


def test_refusals_are_told_from_nonsense() -> None:
    assert refuses("I'm sorry, but I can't assist with that.")
    assert refuses("I am unable to see the image.")
    assert not refuses("blue")


def test_vlmevalkit_reads_every_string_as_its_own_source_does() -> None:
    """Outcomes of `YOrN_Extraction` of open-compass/VLMEvalKit (vlmeval/dataset/utils/yorn.py), run
    over 4,008 strings.
    """
    lines = (
        (Path(__file__).parent / "tables" / "vlmevalkit_yes_no.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    corpus = [json.loads(line) for line in lines]
    assert len(corpus) == 4008
    assert [text for text, read in corpus if (parser("vlmevalkit")(text) or "") != read] == []
    outcomes = dict(corpus)
    assert outcomes["**No**"] == ""
    # a comma beside a space anywhere, or in a number, leaves all commas out
    assert parser("vlmevalkit")("It is so, I think,yes") is None
    assert parser("vlmevalkit")("1,000 dogs,yes") is None
    assert parser("vlmevalkit")("I think,yes") == "yes"
    assert outcomes["Yes, there is a sign saying 'No'"] == "yes"


def test_what_each_parser_reads() -> None:
    all_tasks, short = ("yes_no", "choice", "vqa"), ("choice", "vqa")
    reads = {
        name: all_tasks if name in ("strict", "vlmevalkit", "lmms_eval") else ("yes_no",)
        for name in PARSERS
    } | dict.fromkeys(("mmmu", "mmmu_pro", "mathvista", "inspect"), short)
    assert {name: reader.reads for name, reader in PARSERS.items()} == reads
    negations = {name for name, reader in PARSERS.items() if reader.reads_negation}
    assert negations == {"strict", "amber", "lmms_eval"}
    labels = {name: labelled("reader", name) for name in PARSERS}
    assert {name: reader.label for name, reader in PARSERS.items()} == labels
    for name, reader in PARSERS.items():
        for task in all_tasks:
            assert reader.for_task(task).name == (name if task in reads[name] else "strict")  # type: ignore[arg-type]
        assert reader.for_task("caption") is reader
        assert reader.source
    with pytest.raises(UsageError):
        PARSERS["mmmu"]("Yes")
    assert not PARSERS["pope"].needs_question("There is a dog.")
    assert PARSERS["strict"].needs_question("There is a dog.")
    assert PARSERS["strict"].needs_question("Yes, there is a dog.")
    assert not PARSERS["strict"].needs_question("Yes!")
    assert not PARSERS["strict"].needs_question("No, not at all.")
