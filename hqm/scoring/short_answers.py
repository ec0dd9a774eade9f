"""The reader of short answers: a number, a list, a text, and whether it is the right one.

One idea for all tasks, with `hqm.scoring.polar_answers` and `hqm.scoring.choices`: an answer is
read where it commits itself last (`hqm.scoring.commitments`); what it denies there ("not B",
"rather than 7") does not count; and where it commits itself to nothing, or to several things, it is
unread.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hqm.scoring.commitments import (
    ParsedAnswer,
    answering_clause,
    is_denied,
    longest_spans,
    normalize,
    parse_answer,
    says_unable,
    sentences,
    shared_words,
)
from hqm.scoring.polar_answers import DOUBT, NEGATIVE, read_polar
from hqm.scoring.written_numbers import LATIN, SCALES, Number, numbers_in, sole_number
from hqm.types import Item

# --- a number ---

# the words that may stand between a verb and the number that it states
_FILLERS = (
    r"(?:(?:about|approximately|around|roughly|nearly|almost|exactly|only|just|a total of|total|is"
    r"|the number|number|are|at|therefore|thus|circa|ungefähr|etwa|environ|alrededor de|cerca de"
    r"|likely|probably|equal to|to|a|an|the|of|all|final|approx\.?|ca\.|value|answer|likely"
    r"|in total"
    r"|you should see|should be|it|it's|was|year|no|make|that|be|i see|i count|there are|there is"
    r"|≈|~|=|:|option)\s*)*"
)
# a verb or sign that states the number behind it
_COPULA = re.compile(
    r"(?:=|≈|\bfrom\s+\S+\s+to\s|\b(?:is worth|worth|(?:est|était) de|ist|war|lag bei|beträgt|es"
    r"|era|fue|is|are|was|were|be|equals?|equal to|gives?|get|gets|makes?|has|have|had"
    rf"|reach(?:es|ed)?|totals?|making|totall?ing|left with|of|see|count|shows?|reads?|indicates?"
    r"|points to|(?:stood|stands|stand) at|accounts? for|makes? up|costs?|(?:comes?|came|works?"
    r"|adds?"
    r"|amounts?|rose|fell|dropped|increased|decreased|grew|rounds?) (?:out |up |down )?(?:to|at"
    r"|by)"
    rf"|measures?|weighs?|represents?|represented|compris\w+|for)\b)\s*[:]?\s*"
    rf"{_FILLERS}[$€£¥({{\[\s]*$",
    re.IGNORECASE,
)
# a number that is left over: "7 remain"
_REMAINDER = re.compile(
    r"\s*(?:\w+\s+){0,2}(?:remain|are left|left\b|in total|altogether|in all\b)|\s*$", re.IGNORECASE
)
# a number that goes on in a sum or a list is not yet the answer
_CONTINUATION = re.compile(
    r"\s*(?:[+×*/=−-]|,|\band\b|\bplus\b|\bminus\b|\btimes\b)\s*[\d$]|\s*(?:plus|minus|times)\b"
    r"|\s*of\s+\d|[^.]*="
)
# what follows explains the number, and has numbers of its own
_SUBORDINATE = re.compile(
    r",? (?:because|since|(?<!well )as(?! well)|with|where|given|considering|but|whereas|while"
    r"|although|assuming|if"
    r"|when|after|before|out of|compared|rather than|instead of|per|up from|down from"
    r"|arranged|consisting|split|divided|grouped|reaching"
    r"|versus|vs|leaving|including|of which|plus another)\b",
    re.IGNORECASE,
)
# no things are counted: the answer is zero
_ZERO_COUNT = re.compile(
    r"^\W*(?:(?:there (?:is|are|were)|i (?:can )?see|the (?:image|picture) (?:shows|has|contains)"
    r"|(?:i (?:do not|don't|cannot|can't) (?:see|make out)|there (?:aren't"
    r"|are not))(?= any\b))\s+)?"
    r"(?:none\b|nobody\b|(?:no|not any|any)\s+(?!one\b|idea|way|answer|information|image|more"
    r"|less)\w)"
    r"|^[^.,;]*\b(?:has|have|shows?|contains?|includes?)\s+(?:no|not any|any)\s+(\w+)",
    re.IGNORECASE,
)
# a number of the question behind one of these says when or where, and not how many
_TIME_PREPOSITION = re.compile(
    r"\b(?:in|at|for|from|of|of the|on|by|since|after|before|within|en|im|until|between|than"
    r"|at least|at most|over|under|above|below"
    r"|year|step|when|if)\s*$",
    re.IGNORECASE,
)
_TIME_PHRASE = re.compile(r"\W*(?:in|for|at|during|en|im)\s+(\d+)\b", re.IGNORECASE)
_COUNT_QUESTION = re.compile(
    r"how many (\w+) (?:(?:are|is) (?:there|shown|visible|in|on)|(?:can|do) you (?:see|count))\b",
    re.IGNORECASE,
)
_YEAR_QUESTION = re.compile(r"\b(?:which|what) years?\b|^when\b", re.IGNORECASE)
# the number behind these is what a part is taken of: "134 of the 150"
_REFERENCE_AMOUNT = re.compile(
    r"±\s*$|\b(?:below|above|under|over)\s*[$€£]?$|^\W*(?:out )?of (?:the|all|these)\s*$"
    r"|\d (?:out )?of (?:the|all|these)\s*$|\d out of\s*$",
    re.IGNORECASE,
)
# the number of a step of the reasoning
_STEP = re.compile(r"^\W*(?:step|schritt|étape|paso)\s+\d+\b", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
# a sentence with one of these states a result, whatever numbers lead to it
_TOTAL = re.compile(
    r"\b(?:difference|average|mean|median|range|ratio|product|total|altogether|in all|sum|final"
    r"|result|remain\w*|left|overall)\b",
    re.IGNORECASE,
)


def read_number(text: str, counts: bool = False, question: str = "") -> Number | None:
    """The number that an answer commits itself to.

    Parameters
    ----------
    text
        The answer.
    counts
        Whether things are counted, so that "none" is 0.
    question
        The question: a number that it names is not the answer where it only says when or where, as
        in "In 2019 it was 14".

    >>> str(read_number("5 + 7 = 12, so there are **12** apples.")), read_number("not 7")
    ('12', None)
    """
    answer = parse_answer(text)
    if not answer.text:
        return None
    for passage in answer.explicit:
        number = _passage_number(passage.text, counts, question)
        if number is not None:
            return number
        if not passage.corrects and (says_unable(passage.text) or numbers_in(passage.text)):
            return None
    return None if answer.retraction_end >= 0 else _uncued_number(answer, counts, question)


def _uncued_number(answer: ParsedAnswer, counts: bool, question: str) -> Number | None:
    """The number of an answer that nowhere says that it answers."""
    last, first = answer.sentences[-1], answer.sentences[0]
    for text in answer.emphasised:
        number = _number_at_head(text)
        if number is not None:
            return number
    zero_count = _ZERO_COUNT.match(first)
    counts_asked_noun = zero_count and (zero_count[1] or "").lower() in question.lower()
    if counts and counts_asked_noun and not _new_numbers(answer.text, question):
        return numbers_in("0")[0]
    if says_unable(last) or (len(answer.sentences) <= 3 and says_unable(answer.text)):
        return None
    for text in (*answer.concluding, *_ordered_ends(answer, question)):
        number = None if says_unable(text) else _passage_number(text, counts, question)
        if number is not None:
            return number
        if text in answer.concluding and _is_hedged(text, numbers_in(text)):
            return None
    return None


def _ordered_ends(answer: ParsedAnswer, question: str) -> list[str]:
    """The first and the last sentence of an answer, the one that may state the number first."""
    last, first = answer.sentences[-1], answer.sentences[0]
    repeats = shared_words(last, question) - shared_words(first, question)
    is_sum = _TOTAL.search(last) or _STEP.match(last) or "=" in last or sole_number(last)
    ends = [first, last]
    if len(answer.sentences) > 3 or is_sum or repeats > 1:
        ends.reverse()
    return sorted(ends, key=lambda text: not _new_numbers(text, question))


def _number_at_head(text: str) -> Number | None:
    """The number that a text begins with."""
    numbers = _undenied_numbers(text)
    if not numbers or _is_hedged(text, numbers) or _CONTINUATION.match(text[numbers[0].end :]):
        return None
    head = text[: numbers[0].start]
    begins = re.fullmatch(rf"[^\w]*{_FILLERS}[^\w]*(?:[a-z]\s*=\s*)?", head, re.IGNORECASE)
    return numbers[0] if begins else None


def _is_pronoun(number: Number, text: str) -> bool:
    """Whether "one" counts nothing: "the larger one", "one of them"."""
    before, after = text[: number.start], text[number.end :]
    if not (number.word and number.value == 1):
        return False
    return bool(
        re.search(r"\b(?:the|this|that|which|each|every|no|any|an?|\w+er)\s+(?:\w+\s+)?$", before)
        or re.match(r"\s+(?:of|that|which|can|could|must|is)\b", after)
    )


def _is_hedged(text: str, numbers: Sequence[Number]) -> bool:
    """Whether a text leaves it open which number it is: "7 or 19", "between 7 and 19"."""
    if "=" in text and " or " not in text:
        return False  # a difference, not a range
    return any(_is_range(text, low, high) for low, high in pairwise(numbers))


def _is_range(text: str, low: Number, high: Number) -> bool:
    """Whether two numbers of a text are alternatives, or the ends of a range."""
    separator = text[low.end : high.start]
    if re.fullmatch(r"\s*(?:or(?:\s+\w\s*=)?|/|to|[-–])\s*", separator, re.IGNORECASE):
        return True
    is_introduced = re.search(r"\bbetween\s*$", text[: low.start], re.IGNORECASE)
    # "the difference between 7 and 19 is 12"
    is_operand = re.match(r"\s*(?:is|was|equals)\b", text[high.end :])
    return bool(is_introduced and separator.strip() == "and" and not is_operand)


def _undenied_numbers(text: str) -> list[Number]:
    """The numbers of a text that it does not deny; "134 of the 150" names the first only."""
    return [
        number
        for number in numbers_in(text)
        if not is_denied(text, number.start, number.end)
        and not _REFERENCE_AMOUNT.search(text[: number.start])
    ]


def _without_parentheses(text: str) -> str:
    """A text without its parentheses, where numbers stand outside of them: "14 in total
    (9 here, 5 there)".
    """
    stripped = _IN_PARENTHESES.sub("", text)
    return stripped if _undenied_numbers(stripped) else text


def _stated_numbers(text: str, question: str) -> list[Number]:
    """The numbers of a text that it does not deny, without those of the question that only say
    when or where; only years where a year is asked for.
    """
    numbers = _undenied_numbers(text)
    years = [number for number in numbers if 1000 <= number.value <= 2100 and not number.unit]
    if _YEAR_QUESTION.search(question):
        return years or [number for number in numbers if number.unit != "th"]
    return _new_numbers(text, question) or numbers


def _new_numbers(text: str, question: str) -> list[Number]:
    """The numbers of a text that do not repeat the question: "9 dots", or the year in "in 2019"."""
    in_question = {(number.value, number.unit) for number in numbers_in(question)}
    values = {value for value, _ in in_question}
    new_numbers = []
    for number in _undenied_numbers(text):
        is_repeated = bool(number.unit) and (number.value, number.unit) in in_question
        is_time = number.value in values and _TIME_PREPOSITION.search(text[: number.start])
        if not is_repeated and not is_time:
            new_numbers.append(number)
    return new_numbers


def _counted_number(text: str, question: str) -> Number | None:
    """The count of the things asked for, in a text that counts others as well: "3 cats and 4
    dogs".
    """
    count_question = _COUNT_QUESTION.match(question)
    if count_question is None or "=" in text:
        return None
    noun = count_question[1].lower().removesuffix("s")
    numbers = _undenied_numbers(text)
    if _is_hedged(text, numbers):
        return None
    counted = [number for number in numbers if number.unit == noun]
    if not counted and re.search(rf"\bno {noun}", text, re.IGNORECASE):
        return numbers_in("0")[0]
    return counted[0] if len(counted) == 1 < len(numbers) else None


def _passage_number(text: str, counts: bool, question: str = "") -> Number | None:
    """The number that a passage states: alone, behind "is" or "=", or at its beginning."""
    text = _STEP.sub("", (sentences(text) or [""])[0])
    number = _counted_number(text, question) if counts else None
    number = number or _labelled_number(text, question) or _number_behind_colon(text)
    if number is not None:
        return number
    text = _without_contrast(_without_parentheses(_without_addends(text)))
    for segment in _segments(text, question):
        numbers = _stated_numbers(segment, question)
        number = _number_at_asked_time(segment, numbers, question)
        if number is not None:
            return number
        if len(numbers) > 1 and _is_hedged(segment, numbers):
            continue
        if len({(number.value, number.percent) for number in numbers}) == 1:
            return None if _is_pronoun(numbers[-1], segment) else numbers[-1]
        number = _predicated_number(segment, numbers, question)
        if number is not None:
            return number
    if counts and _ZERO_COUNT.match(text):
        return numbers_in("0")[0]
    if counts and re.search(r"\ba single\b", text, re.IGNORECASE):
        return numbers_in("1")[0]
    return None


def _labelled_number(text: str, question: str) -> Number | None:
    """The number whose name the question has, where several are named: "AB = 45, BC = 60"."""
    labelled = []
    for number in numbers_in(text):
        label = re.search(r"\b([A-Za-z]\w*)\s*[:=]\s*$", text[: number.start])
        if label and re.search(rf"\b{label[1]}\b", question, re.IGNORECASE):
            labelled.append(number)
    names_several = re.search(r"[:=].*[,;].*[:=]", text)
    return labelled[0] if len(labelled) == 1 and names_several else None


def _number_behind_colon(text: str) -> Number | None:
    """The number that alone stands behind the last colon: "Eight minus three: 5 slices."."""
    return sole_number(text[text.rfind(": ") + 1 :]) if ": " in text else None


def _without_addends(text: str) -> str:
    """A text without what is listed behind its only number: "8 in total: 4 small ones and 4 large
    ones".
    """
    head, _, tail = text.partition(": ")
    is_sum = len(_undenied_numbers(tail)) > 1 and len(_undenied_numbers(head)) == 1
    return head if is_sum and "=" not in text else text


def _without_contrast(text: str) -> str:
    """A text from its result on, where that is contrasted: "It says 20, but the sum is 35"."""
    clause = _SUBORDINATE.search(text)
    if clause is None or "out of" in clause[0] or not _TOTAL.search(text, clause.end()):
        return text
    remainder = text[clause.end() :]
    return remainder if _undenied_numbers(remainder) else text


def _segments(text: str, question: str) -> list[str]:
    """The parts of a sentence that may state its number, those with a new number first."""
    clause = _SUBORDINATE.search(text)
    segments = [text[: clause.start()], text] if clause else [text]
    if _is_hedged(text, _undenied_numbers(text)):
        # "x = 3 or x = -2; lengths are positive, x = 3"
        segments += re.split(r"[;,] ", text)[:0:-1]
    return sorted(segments, key=lambda segment: not _new_numbers(segment, question))


def _number_at_asked_time(segment: str, numbers: Sequence[Number], question: str) -> Number | None:
    """The only number of the year or place that was asked for: "from 5 in 2008 to 9 in 2010"."""
    asked_values = {number.value for number in numbers_in(question)}
    placed = []
    for number in numbers:
        time = _TIME_PHRASE.match(segment[number.end :])
        if time and Fraction(time[1]) in asked_values:
            placed.append(number)
    return placed[0] if len(placed) == 1 else None


def _predicated_number(segment: str, numbers: Sequence[Number], question: str) -> Number | None:
    """The number behind "is" or "=", or before "remain"; of several the one in the clause that
    answers.
    """
    predicated = [
        number
        for number in numbers
        if _COPULA.search(segment[: number.start]) or _REMAINDER.match(segment[number.end :])
    ]
    is_total = _TOTAL.search(segment) and not _TOTAL.search(question)
    clause = "" if is_total else answering_clause(segment, question)
    answering = _stated_numbers(clause, question)
    has_several = len({number.value for number in predicated}) > 1
    if (has_several or _YEAR_QUESTION.search(question)) and len(answering) == 1:
        return answering[0]  # "Blue costs $25, and the red one costs $30"
    if not predicated:
        return None
    results = [number for number in predicated if re.search(r"[=≈]\s*$", segment[: number.start])]
    return results[-1] if len(results) == 1 and "+" in segment else predicated[-1]


# --- a list ---

# lists in brackets or braces, and tuples that are the whole text or of numbers
_BRACKETS = re.compile(
    r"[\[{]([^\[\]{}]*[,;][^\[\]{}]*)[\]}]|^\W*\(([^()]*[,;][^()]*)\)\W*$"
    r"|\((\s*-?[\d./]+(?:\s*[,;]\s*-?[\d./]+)+\s*)\)"
)
_BULLET = re.compile(r"^\s*(?:[-*•–▪]|\(?\d{1,2}[.)])\s+(?=\S)")
# what surrounds a member without being part of it: "x = 3", "the star", "respectively"
_MEMBER_AFFIXES = re.compile(
    r"^(?:an?|the|both|then|finally|lastly|also|followed by|one|some)\s+(?=\w{2}|an? )"
    r"|^[a-z]\s*[=:]\s*"
    r"|,?\s+(?:respectively|each|too|as well)$|\s+\([^()]*\)$",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"\s*(?:[,;、→>\n]|\b(?:and|und|et|y|e|plus|then|followed by|as well as|along with)\b|&)"
    r"\s*(?:(?:and|then|finally)\s+)?",
    re.IGNORECASE,
)
_LIST_INTRODUCTION = re.compile(
    r"^.*?(?:\b(?:are|is|were|was|includes?|see|shows?|contains?|have|has|spot|identify|lists?)\b"
    r"|:)\s*",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"\s+(?:are|is|share|can|could|appear|were|have|both)\b.*$|\s+(?:on|in|at) (?:the|this)\b.*$",
    re.IGNORECASE,
)
_ORDER_QUESTION = re.compile(r"\b(?:coordinates?|order|sort|rank|sequence)", re.IGNORECASE)
# an answer that the list has no members
_EMPTY_LIST = re.compile(
    r"\b(?:none|nothing|empty|nobody|no one)\b|(?:\bnot|n't) \w+ any\b|^\W*no \w+(?:\W*$|,| (?:has"
    r"|have|had|is|are|was|were)\b)|\b(?:is|are|has|have|had) no\b(?!\s+(?:way|info|image"
    r"|picture))",
    re.I,
)


def read_list(text: str) -> tuple[str, ...]:
    """The members of the list that an answer gives.

    >>> read_list("The final list is [2, 0, 1]."), read_list("star, circle and square")
    (('2', '0', '1'), ('star', 'circle', 'square'))
    """
    answer = parse_answer(text)
    for passage in answer.explicit:
        members = _split_members(passage.text)
        if _is_list(members):
            return members
    shapes = _BRACKETS.findall(answer.text)
    if sum(bool(pair) for _, _, pair in shapes) > 1:  # two points are no list
        return ()
    if shapes:
        # a long answer concludes at its end, and may have set out with the list
        brackets = shapes[0 if len(answer.sentences) > 3 else -1]
        return _split_members(f"[{next(filter(None, brackets))}]")
    ends = answer.sentences if len(answer.sentences) < 3 else answer.sentences[-1:]
    ends = tuple(sentence for sentence in ends if not NEGATIVE.search(sentence)) or ends
    readings = (
        *map(_split_members, answer.concluding[:1]),
        _line_members(answer, 0),
        *map(_split_members, reversed(ends)),
    )
    return next(filter(_is_list, readings), ())


def _line_members(answer: ParsedAnswer, column: int) -> tuple[str, ...]:
    """The members of a list with one on each line, numbered, or below a heading that ends in a
    colon; of "Top: black" the first column or the last.
    """
    lines = [line for line in answer.text.split("\n") if line.strip()]
    rows = [line.strip(" |").split("|") for line in lines if re.match(r"\s*\|(?!\s*:?--)", line)]
    bullets = [line for line in lines if _BULLET.match(line)]
    if len(lines) > 1 and lines[0].rstrip().endswith(":"):
        lines = lines[1:]
    if len(bullets) > 1:
        lines = [re.split(r"\s[–—-]\s|:\s", _BULLET.sub("", line))[column] for line in bullets]
    if len(rows) > 2:
        lines = [row[0] for row in rows[1:]]
    members = tuple(filter(None, map(_clean_member, lines)))
    return members if _is_list(members) and not says_unable(answer.text) else ()


def _clean_member(text: str) -> str:
    """A member without an article, a name before "=", and "respectively" behind it; nothing for
    what is not there ("no knife").
    """
    text = text.strip(" .'\"`")
    while (shorter := _MEMBER_AFFIXES.sub("", text).strip(" .'\"")) != text:
        text = shorter
    return "" if re.match(r"(?:no|not|but|without)\b", text, re.IGNORECASE) else text


def _is_list(members: Sequence[str]) -> bool:
    """Whether there are several members, each of a few words."""
    return len(members) > 1 and all(len(member.split()) < 5 for member in members)


def _split_members(text: str) -> tuple[str, ...]:
    """The members of a list in brackets, or in a sentence."""
    brackets = _BRACKETS.search(text)
    if brackets:
        text = brackets[1] or brackets[2] or brackets[3]
    elif says_unable(text):
        return ()
    if "=" in text:
        text = re.sub(r"\bor\b", ",", text)
    first, *clauses = text.split(";")
    if clauses and re.search(r",|\band\b", first):
        text = first  # "The star and the circle; the square is red"
    if not brackets:
        text = _SUBORDINATE.split(text, maxsplit=1)[0]
    text = re.sub(r"^(?:among|of)\b[^,:]*, ", "", text.strip(" ."), flags=re.IGNORECASE)
    listed = _LIST_INTRODUCTION.sub("", text) if not brackets else text
    is_introduced = listed != text and _SEPARATOR.search(listed)
    text = listed if is_introduced else _PREDICATE.sub("", text)
    text = re.sub(r"^[^:,;\n]{0,40}:\s*", "", text)
    text = re.sub(r",? respectively\b", "", _IN_PARENTHESES.sub("", text))
    if re.fullmatch(r"[^\W\d]+(?:\s*/\s*[^\W\d]+)+", text):
        return tuple(map(str.strip, text.split("/")))
    if re.search(r"\bor\b", text):
        return ()
    return tuple(filter(None, map(_clean_member, _SEPARATOR.split(text))))


# --- a text ---

_SIDE_REMARK = re.compile(
    r"(?:[,;]|\s[–—-])\s+(?:just |right |though |and )?(?:which(?! (?:makes?|means))|with|near"
    r"|next|close|under|over|above"
    r"|below|beside|behind|followed|compared|whereas|while|unlike|similar|mixed|along"
    r"|together|alongside)\b"
)
_ALTERNATIVE = re.compile(r"^\s*(?:,? ?\(?\bor\b|/)\s*\w", re.IGNORECASE)


def names_phrase(text: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """The phrases, of these, that an answer commits itself to, in the order in which it names them.

    A phrase counts as whole words, in the singular or plural, wherever the answer does not deny it;
    of one inside a longer one ("blue" in "dark blue") the longer counts.

    >>> names_phrase("It is not red, it is blue.", ("red", "blue"))
    ('blue',)
    """
    answer = parse_answer(text)
    if not answer.text or answer.retraction_end >= 0:
        return ()
    for passage in answer.explicit:
        names = _phrases_in(passage.text, phrases)
        if names or not passage.corrects or len(passage.text.split()) < 5:
            return names
    texts = [*answer.emphasised, *answer.concluding[:1]]
    if len(answer.sentences) > 1:
        texts += [answer.sentences[0], answer.sentences[-1]]
    if len(answer.sentences) <= 3:
        texts.append(answer.text)
    return next(filter(None, (_phrases_in(text, phrases) for text in texts)), ())


def _phrases_in(text: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """The phrases that a text names and does not deny, in its order."""
    text = normalize(text)
    remark = _SIDE_REMARK.search(text, 1)
    if remark and remark.start() < 60:
        text = text[: remark.start()]
    spans: list[tuple[int, int, str]] = []
    for phrase in phrases:
        matches = [match.span() for match in _phrase_pattern(phrase).finditer(text)]
        spans += [(low, high, phrase) for low, high in matches if not is_denied(text, low, high)]
    return tuple(dict.fromkeys(phrase for _, _, phrase in sorted(longest_spans(spans))))


@lru_cache(maxsize=4096)
def _phrase_pattern(phrase: str) -> re.Pattern[str]:
    single = re.sub(r"(?<=[a-z]{2}[^s])s$", "", normalize(phrase))
    words = re.escape(single).replace(r"\ ", r"[\s-]+").replace(r"\-", r"[\s-]?")
    plural = "(?:e?s)?" if re.search(r"[a-z]{2}$", normalize(phrase)) else ""
    return re.compile(rf"(?<![{LATIN}]){words}{plural}(?![{LATIN}])")


def hedges(text: str, phrase: str) -> bool:
    """Whether an answer names a phrase as one of several possibilities: "red or blue"."""
    text = normalize(parse_answer(text).text)
    joins_phrases = " and " in text and " and " not in phrase
    if joins_phrases and (len(text.split()) < 5 or re.search(r"\b(?:tied?|both)\b", text)):
        return True
    return any(
        _ALTERNATIVE.match(text[match.end() :])
        or re.search(r"\w\s*(?:,? ?\bor\b|/)\s*(?:an?\s)?(?:\w+\s)?$", text[: match.start()])
        for match in _phrase_pattern(phrase).finditer(text)
    )


# --- right or wrong ---


class ShortMatch(NamedTuple):
    """Whether a short answer is right, and what was read."""

    right: bool
    read: str


def target_texts(item: Item) -> list[str]:
    """The right answers of an item, as texts: "[2014, 2016]" is a list as well."""
    target = item.target
    if isinstance(target, str) and re.fullmatch(r"\s*\[.*\]\s*", target, re.DOTALL):
        try:
            target = ast.literal_eval(target)
        except (SyntaxError, ValueError):
            return [str(item.target)]
    return list(map(str, target)) if isinstance(target, (list, tuple)) else [str(target)]


def match_short(text: str, item: Item) -> ShortMatch | None:
    """The value that a short answer states and whether it is right; None where it is unread.

    >>> match_short("That makes 1,200 m.", Item("1", "How far?", "vqa", "1.2 km"))
    ShortMatch(right=True, read='1200 m')
    """
    targets = target_texts(item)
    rivals = [str(rival) for rival in item.meta.get("rivals", ())]
    numbers = [sole_number(target) for target in targets]
    if len(targets) > 1:
        return _match_list(text, targets, rivals, numbers, item)
    key = numbers[0]
    if key is not None:
        return _match_number(text, key, item, rivals)
    if rivals:
        return _match_rivals(text, targets[0], rivals)
    if normalize(targets[0]) in ("yes", "no", "true", "false"):
        polarity = read_polar(text, item.prompt)
        is_right = polarity == ("yes" if normalize(targets[0]) in ("yes", "true") else "no")
        return None if polarity is None else ShortMatch(is_right, polarity)
    return _match_text(text, targets[0], item.prompt)


def _match_rivals(text: str, target: str, rivals: Sequence[str]) -> ShortMatch | None:
    """The match of an answer to an item whose wrong answers are named as well."""
    if normalize(text) == normalize(target):
        return ShortMatch(True, target)
    names = names_phrase(text, [target, *rivals])
    # an answer names its answer first: "The star is larger than the circle."
    return ShortMatch(names[0] == target, ", ".join(names)) if names else None


def _match_number(text: str, key: Number, item: Item, rivals: Sequence[str]) -> ShortMatch | None:
    """The match of an answer to an item whose key is a number."""
    counts = bool(item.meta.get("none")) or (
        not rivals and item.prompt.lower().startswith("how many")
    )
    number = read_number(text, counts, item.prompt)
    if number is None:
        return None
    if rivals:
        expected = filter(None, map(sole_number, (*rivals, str(item.target))))
        if not any(map(number.matches, expected)):
            return None
    decimals = item.meta.get("precision")
    decimals = None if decimals is None else int(decimals)
    is_right = number.matches(key, decimals)
    scale = _ASKED_SCALE.search(item.prompt)
    if scale and not is_right:  # "in million dollars": 45 million are 45
        scaled = replace(number, value=number.value / SCALES[scale[1].lower()], unit="")
        is_right = scaled.matches(key, decimals)
    unit = re.search(r"\bin (\w+?)s?\b", item.prompt)
    if unit and not is_right:  # "in meters": 1.2 km are 1200
        is_right = number.matches(replace(key, unit=unit[1].lower()), decimals)
    tolerance = item.meta.get("tolerance")
    if tolerance is not None and not is_right:
        is_right = abs(number.value - key.value) <= Fraction(str(tolerance))
    return ShortMatch(is_right, str(number))


_ASKED_SCALE = re.compile(
    r"\bin (?:\w+ |[$€£¥] ?)?(thousand|million|billion|trillion)s?\b", re.IGNORECASE
)


def _match_list(
    text: str,
    targets: Sequence[str],
    rivals: Sequence[str],
    numbers: Sequence[Number | None],
    item: Item,
) -> ShortMatch | None:
    """A list must name all right answers and no other; numbers whose key is not in order must
    stand in its order.
    """
    keys = [number.value for number in numbers if number is not None]
    if len(keys) == len(targets):
        return _match_numbers(text, keys, item)
    if rivals:
        phrases = names_phrase(text, [*targets, *rivals])
        is_right = set(phrases) == set(targets)
        return ShortMatch(is_right, ", ".join(phrases)) if phrases else None
    answer = parse_answer(text)
    readings = _list_readings(text, answer, targets)
    for members in readings:
        names = _member_targets(members, targets)
        if set(names) == set(targets):
            in_order = _ORDER_QUESTION.search(item.prompt) is None or names == list(targets)
            return ShortMatch(in_order, ", ".join(members))
    if readings:
        return ShortMatch(False, ", ".join(readings[0]))
    is_empty = _EMPTY_LIST.search(answer.text) is not None
    if answer.sentences and says_unable(answer.sentences[-1]) and not is_empty:
        return None
    phrases = names_phrase(text, targets)
    if len(phrases) < len(targets):
        return ShortMatch(False, ", ".join(phrases)) if phrases or is_empty else None
    if any(hedges(text, target) for target in targets):
        return None
    return ShortMatch(True, ", ".join(phrases))


def _list_readings(
    text: str, answer: ParsedAnswer, targets: Sequence[str]
) -> list[tuple[str, ...]]:
    """The lists that an answer may give, the likeliest first; for letters the letters it names."""
    if all(re.fullmatch("[A-Z]", target) for target in targets):
        affirmed = re.sub(r"[^;.,]*\b(?:wrong|incorrect|not)\b[^;.,]*", "", answer.text)
        letters = re.findall(r"\b[A-Z]\b", affirmed) or re.sub(r"[^A-Z]", "", affirmed)
        return [tuple(letters)] if letters else []
    return list(filter(None, (read_list(text), _line_members(answer, -1))))


def _member_targets(members: Sequence[str], targets: Sequence[str]) -> list[str]:
    """The target that each member names; nothing where one names none or several."""
    names: list[str] = []
    for member in members:
        pieces: tuple[str, ...] = (member,)
        if len(_phrases_in(member, targets)) > 1:
            pieces = _split_members(member)
        for piece in pieces:
            targets_named = _phrases_in(piece, targets)
            if len(targets_named) != 1:
                return []
            names += targets_named
    return names


def _match_numbers(text: str, keys: list[Fraction], item: Item) -> ShortMatch | None:
    """The match of a list of numbers: its members, or all numbers of a sentence that has as
    many.
    """
    answer = parse_answer(text)
    numbers = list(map(sole_number, read_list(text)))
    if (not numbers or None in numbers) and answer.sentences and not says_unable(answer.text):
        last = _without_parentheses(answer.sentences[-1])
        stated = _stated_numbers(last, item.prompt)
        is_single = sole_number(last[last.rfind("=") + 1 :]) or re.search(
            r"\bonly\b", last, re.IGNORECASE
        )
        if len(stated) < len(keys) and is_single:
            return ShortMatch(False, ", ".join(map(str, stated)))
        predicate = re.sub(r"^.*\b(?:are|is)\b", "", last)
        readings = (stated, _undenied_numbers(predicate))
        numbers = next((list(read) for read in readings if len(read) == len(keys)), [])
    values = [number.value for number in numbers if number is not None]
    if not values and _EMPTY_LIST.search(answer.text):
        return ShortMatch(False, "none")
    if not values or len(values) < len(numbers):
        return None
    if keys == sorted(keys) and not _ORDER_QUESTION.search(item.prompt):
        values.sort()
    return ShortMatch(values == keys, ", ".join(map(str, numbers)))


_ABSENT_NOUN = re.compile(
    r"\bno (\w+)(?: (\w+))?(?=[.,;]|$| in (?:the|this)\b| (?:is|are|was|were|can be) (?:visible"
    r"|shown|given|present|seen"
    r"|legible|readable|listed|provided|mentioned|indicated))",
    re.IGNORECASE,
)


def _is_overridden(answer: ParsedAnswer, target: str, question: str) -> bool | None:
    """Whether the only sentence of an answer names the target in a clause before "but" or a
    semicolon, behind which something else is said; None where it says that it cannot answer.
    """
    if len(answer.sentences) != 1 or answer.explicit:
        return False
    clauses = re.split(r";|,? but\b", answer.text, maxsplit=1)
    is_contrast = len(clauses) > 1
    if not is_contrast:
        clauses = re.split(r",? (?:and|while|whereas)\b", answer.text, maxsplit=1)
    if len(clauses) < 2:
        return None if says_unable(answer.text) else False
    first_names, second_names = (_phrases_in(clause, (target,)) for clause in clauses)
    if first_names == second_names:
        return False
    contrast, naming = reversed(clauses) if first_names else clauses
    if says_unable(contrast):
        return None if first_names else False
    if not first_names and len(contrast.split()) < 4 and f"{contrast};" in answer.text:
        return True  # "A cane; the umbrella leans against the wall"
    if is_contrast and first_names and re.search(r"\b(?:looks?|seems?|appears?)\b", naming):
        return True
    relevance = _compare_relevance(contrast, naming, question)
    if relevance == 0 and is_contrast and first_names:
        return re.search(r"\b(?:is|are|was)\b", contrast) is not None
    return relevance > 0


def _compare_relevance(first: str, second: str, question: str) -> int:
    """How much more the first of two clauses repeats of a question than the second."""
    noun = _ASKED_NOUN.match(question)
    if noun and (noun[1] in first) != (noun[1] in second):
        return 1 if noun[1] in first else -1
    return shared_words(first, question) - shared_words(second, question)


_PERSON_QUESTION = re.compile(
    r"^who\b|\b(?:author|artist|painter|singer|actor|actress|player|scientist|composer|director)\b",
    re.IGNORECASE,
)
_ASKED_NOUN = re.compile(r"(?:what|which)(?: is| are| was)?(?: the)? (\w+)", re.IGNORECASE)


def _share_stem(word: str, key: str) -> bool:
    """Whether two different words share their stem: triangular, triangle."""
    if word == key or not (word + key).isalpha():
        return False
    short, extended = sorted((word, key), key=len)
    is_affixed = extended.startswith(short) or (
        extended.endswith(short) and len(extended) > len(short) + 2
    )
    if len(short) > 2 and short != extended.removesuffix("s") and is_affixed:
        return True
    stem_length = len(short) - 2
    return (
        stem_length > 4
        and word[:stem_length] == key[:stem_length]
        and word.removesuffix("s") != key
    )


def _match_text(text: str, target: str, question: str) -> ShortMatch | None:
    """The match of an answer to an item whose key is a text."""
    answer = parse_answer(text)
    if normalize(text) == normalize(target):
        return ShortMatch(True, target)
    if not names_phrase(text, (target,)):
        target = _without_question_words(target, question)
    statement = _statement_on_noun(answer, question)
    if statement:
        return _match_text(statement, target, "")
    if says_unable(target):
        is_right = says_unable(answer.text)
        read = target if is_right else answer.text[:80]
        return ShortMatch(is_right, read) if answer.text else None
    if names_phrase(text, [target]):
        is_overridden = _is_overridden(answer, target, question)
        if is_overridden is None or hedges(text, target):
            return None
        return ShortMatch(not is_overridden, answer.text[:80] if is_overridden else target)
    return _match_unnamed(answer, target, question)


def _without_question_words(target: str, question: str) -> str:
    """A target without the words of the question: "Atlantic", where an ocean is asked for."""
    asked_words = question.lower().split()
    words = [word for word in target.split() if word.lower() not in asked_words]
    return " ".join(words) or target


def _statement_on_noun(answer: ParsedAnswer, question: str) -> str:
    """The predicate of the noun that a question asks for ("which brand": "the brand is ...")."""
    noun = _ASKED_NOUN.match(question)
    if noun is None:
        return ""
    statement = re.search(
        rf"(?<!\bno )\b{noun[1]}\b(?: \w+){{0,4}} (?:is|was|says|reads) (.+)",
        answer.text,
        re.IGNORECASE,
    )
    if statement is None or is_denied(answer.text, *statement.span(1)):
        return ""
    return statement[1]


def _match_unnamed(answer: ParsedAnswer, target: str, question: str) -> ShortMatch | None:
    """The match of an answer that does not name the target: wrong, unless it is open what it
    says.
    """
    if not answer.text or answer.retraction_end >= 0:
        return None
    if len(answer.sentences) > 3 and not answer.explicit:
        return None
    commitment = answer.explicit[0].text if answer.explicit else answer.sentences[-1]
    absent = _ABSENT_NOUN.search(commitment)
    if absent and any(noun and noun.lower() in question.lower() for noun in absent.groups()):
        return None  # "No brand is visible"
    if says_unable(commitment) or (says_unable(answer.text) and DOUBT.search(commitment)):
        return None
    if _names_surname(answer, commitment, target, question):
        return ShortMatch(True, commitment[:80])
    words = re.findall(r"\w+", normalize(commitment))
    key_words = normalize(target).split()
    is_abbreviated = words == key_words[-len(words) :]  # "emissions" for CO2 emissions
    if is_abbreviated or any(_share_stem(word, key) for word in words for key in key_words):
        return None  # "triangular" for a triangle
    return ShortMatch(False, commitment[:80])


def _names_surname(answer: ParsedAnswer, commitment: str, target: str, question: str) -> bool:
    """Whether a person is named by the surname alone: "Austen", and not "Emily Austen", for Jane
    Austen.
    """
    surname = re.search(r"\s((?:[a-z]+ )*\w+)$", target)
    if surname is None or not _PERSON_QUESTION.search(question):
        return False
    name = re.search(
        rf"(?:^|[^\w\s]\s*|\b(?-i:[a-z])\w* )({surname[1]})\b", commitment, re.IGNORECASE
    )
    if name is None or is_denied(commitment, *name.span(1)):
        return False
    return not _is_overridden(answer, surname[1], question)
