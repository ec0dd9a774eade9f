"""The fast searches of the readers find what their patterns find at every character."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from hqm.scoring import (
    commitments,
    list_answers,
    number_answers,
    number_clauses,
    option_letters,
    plain_text,
    written_numbers,
    written_options,
)
from hqm.scoring.cue_search import CueIndex, CueSearch, WordSearch
from tests.answer_corpus import corpus

N_TEXTS = 1500
MARKS = (
    " ",
    " ",
    " ",
    " ",
    ", ",
    ". ",
    "; ",
    ": ",
    "\n",
    "? ",
    "! ",
    " - ",
    "… ",
    "... ",
    "(",
    ") ",
    "'",
    '" ',
)
FRAGMENTS = (
    *"the answer is option B A C correct best not but it's n't isn't no wait Hmm hmmm actually so".split(),
    *"therefore thus and in total conclusion if forced I i would say go with choose that this".split(),
    *"means wrong even though looks like really red blue 5 12 1,200 -3 $4.50 twenty two 3/4 % km".split(),
    *"leaves only 2.5e3 ten dozen minus seven respuesta Antwort lautet réponse => → 答案是 所以 不对".split(),
    *"rather initially at first my mistake let me rephrase hold on closer look matches with points to".split(),
    *"5-6 fünf zwölf três два 三 → × ½ in all to conclude as a result which means i mean might seem".split(),
)  # fmt: skip


def random_texts() -> list[str]:
    rng = random.Random(20261128)
    texts = []
    for _ in range(N_TEXTS):
        pieces = []
        for _ in range(rng.randint(2, 30)):
            pieces += [rng.choice(FRAGMENTS), rng.choice(MARKS)]
        texts.append("".join(pieces).strip())
    return texts


TEXTS = [*random_texts(), *(case.text for case in corpus(1, 2000))]
LINE_OR_MARK = r"(?:^|(?<=[.!?\n;,:\"”)])\s*)"
REFERENCES = {
    "conclusion": re.compile(
        LINE_OR_MARK + commitments._CONCLUSION.pattern.pattern, re.IGNORECASE | re.MULTILINE
    ),
}
"""What a search finds at its words, as one pattern, where its own leaves the beginning to code."""


@pytest.mark.parametrize("name", commitments._CUES.searches)
def test_a_search_at_words_finds_what_its_pattern_finds(name: str) -> None:
    search = commitments._CUES.searches[name]
    reference = REFERENCES.get(name, search.pattern)
    n_matches = 0
    for text in TEXTS:
        offsets = commitments._CUES.offsets(text)[name]
        ends = [match.end() for match in search.find(text, offsets)]
        expected = [match.end() for match in reference.finditer(text)]
        if search.unspaced:
            further = [m.end() for _, pattern in search.unspaced for m in pattern.finditer(text)]
            expected = sorted({*expected, *further})
            ends = sorted(set(ends))
        assert ends == expected, text
        n_matches += len(ends)
    assert n_matches > 10, "the texts have what is searched for"


def test_letters_called_correct_are_those_of_the_pattern() -> None:
    for text in TEXTS:
        expected = [match.span() for match in option_letters._CORRECT.finditer(text)]
        assert [match.span() for match in option_letters.called_correct(text)] == expected, text


def test_numbers_are_those_of_the_pattern() -> None:
    for text in TEXTS:
        expected = [match.span() for match in written_numbers._NUMBER.finditer(text)]
        spans = [match.span() for match in written_numbers._number_matches(text)]
        assert spans == expected, text


def test_a_text_without_the_matches() -> None:
    index = CueIndex(so=CueSearch(re.compile("so (?:far|long)"), frozenset({"so"})))
    text = "so far it is so, so long"
    assert index.searches["so"].remove(text, index.offsets(text)["so"]) == " it is so, "
    assert index.searches["so"].remove("none", []) == "none"


def test_the_rest_of_a_line_is_that_of_the_whole_remainder() -> None:
    rng = random.Random(2)
    signs = ("a", "b7", ":", "：", "\n", "\n\n", " ", ".", "_", "-", "\t")
    for _ in range(5000):
        text = "".join(rng.choice(signs) for _ in range(rng.randint(0, 14)))
        start = rng.randint(0, len(text))
        joined = commitments._COLON_LINE.sub(": ", text[start:])
        lines = filter(commitments._LETTER_OR_DIGIT.search, joined.split("\n"))
        expected = commitments._rest_of_line(next(lines, ""), 0)
        assert commitments._rest_of_line(text, start) == expected, (text, start)


@pytest.mark.parametrize("search", [plain_text._UNABLE, commitments._DENIAL])
def test_a_word_search_tells_whether_its_pattern_is_in_a_text(search: WordSearch) -> None:
    table = Path(__file__).parent / "tables" / "asked_answers.jsonl"
    answers = [json.loads(line)["text"] for line in table.read_text("utf-8").splitlines()]
    beginnings = [text[:end] for text in answers for end in range(0, len(text), 7)]
    texts = [*TEXTS, *answers, *beginnings]
    expected = [search.pattern.search(text) is not None for text in texts]
    assert [search.is_in(text) for text in texts] == expected
    assert sum(expected) > 200


WORDS = (
    "blue",
    "car",
    "dark-blue",
    "box",
    "boxes",
    "5",
    "-",
    "is",
    "_x",
    "é",
    "bus",
    "",
    "青",
    "ing",
)


def drawn_texts(rng: random.Random, n_texts: int, separators: tuple[str, ...]) -> list[str]:
    """Texts of a few words, which normalizing leaves as they are."""
    texts = []
    for _ in range(n_texts):
        pieces = [rng.choice(WORDS) + rng.choice(separators) for _ in range(rng.randint(1, 7))]
        texts.append(commitments.normalize("".join(pieces)))
    return texts


def test_a_phrase_is_found_where_its_pattern_finds_it() -> None:
    rng = random.Random(3)
    texts = drawn_texts(rng, 400, (" ", "", "-", "s ", "es "))
    phrases = ("blue car", "dark-blue", "box", "boxes", "5 - 5", "bus", "car is 5", "青", "x")
    n_found = 0
    for text in texts:
        for phrase in phrases:
            expected = [m.span() for m in list_answers._phrase_pattern(phrase).finditer(text)]
            assert list_answers._phrase_spans(phrase, text) == expected, (phrase, text)
            n_found += len(expected)
    assert n_found > 100


def test_an_option_is_found_where_a_pattern_of_its_text_finds_it() -> None:
    rng = random.Random(4)
    for text in drawn_texts(rng, 600, (" ", "", "_", "-")):
        for name in ("blue", "blue car", "car car", "bus", "青", "is blue"):
            start = "" if name == "青" else r"(?<![^\W青])"
            end = "" if name == "青" else r"(?![^\W青])"
            expected = [m.span() for m in re.finditer(f"{start}{re.escape(name)}{end}", text)]
            assert written_options.Option(name, "A").spans(text) == expected, (name, text)
            word = name.split()[0]
            inflected = (
                rf"{written_options._word_stem(word)}(?:e?s|e?d|ing|e)?" if len(word) > 3 else word
            )
            first = re.search(rf"(?<!\w){inflected}(?!\w)", text)
            assert written_options._word_span(text, word) == (first.span() if first else None)


def test_a_number_is_stated_by_what_stands_before_it() -> None:
    fragments = (
        *"the is = of all below ± $ about 5 7 reaches cost rose to at up left with beträgt".split(),
        *("from 3 to", "(", ": ", ".\n", "out of", "€", "over ", "\u00e9 is", "this is"),
    )
    rng = random.Random(6)
    copula = re.compile(
        rf"{number_answers._COPULA.pattern.pattern}|{number_answers._EQUALS.pattern}", re.IGNORECASE
    )
    for _ in range(10000):
        text = " ".join(rng.choice(fragments) for _ in range(rng.randint(1, 12)))
        for number in written_numbers.numbers_in(text):
            before = text[: number.start]
            is_stated = copula.search(before) is not None
            is_reference = number_clauses._REFERENCE_AMOUNT.search(before) is not None
            assert number_answers._is_stated(text, number) == is_stated, (text, number)
            assert number_clauses._is_reference(text, number) == is_reference, (text, number)
            if not written_numbers.may_bound(text):
                assert not written_numbers.is_bound(text, number), (text, number)
