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
    Answer,
    answering_clause,
    denied,
    normal,
    passages,
    sentences,
    shared_words,
    unable,
)
from hqm.scoring.polar_answers import DOUBT, NEGATIVE, read_polar
from hqm.scoring.written_numbers import LATIN, SCALES, Number, number_of, numbers_in
from hqm.types import Item

# --- a number ---

_ABOUT = (
    r"(?:(?:about|approximately|around|roughly|nearly|almost|exactly|only|just|a total of|total|is"
    r"|the number|number|are|at|therefore|thus|circa|ungefähr|etwa|environ|alrededor de|cerca de"
    r"|likely|probably|equal to|to|a|an|the|of|all|final|approx\.?|ca\.|value|answer|likely"
    r"|in total"
    r"|you should see|should be|it|it's|was|year|no|make|that|be|i see|i count|there are|there is"
    r"|≈|~|=|:|option)\s*)*"
)
_COPULA = re.compile(
    rf"(?:=|≈|\bfrom\s+\S+\s+to\s|\b(?:is worth|worth|(?:est|était) de|ist|war|lag bei|beträgt|es|era|fue|is|are|was|were|be|equals?|equal to|gives?|get|gets|makes?|has|have|had"
    rf"|reach(?:es|ed)?|totals?|making|totall?ing|left with|of|see|count|shows?|reads?|indicates?"
    rf"|points to|(?:stood|stands|stand) at|accounts? for|makes? up|costs?|(?:comes?|came|works?|adds?"
    rf"|amounts?|rose|fell|dropped|increased|decreased|grew|rounds?) (?:out |up |down )?(?:to|at|by)"
    rf"|measures?|weighs?|represents?|represented|compris\w+|for)\b)\s*[:]?\s*"
    rf"{_ABOUT}[$€£¥({{\[\s]*$",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\s*(?:\w+\s+){0,2}(?:remain|are left|left\b|in total|altogether|in all\b)|\s*$", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"\s*(?:[+×*/=−-]|,|\band\b|\bplus\b|\bminus\b|\btimes\b)\s*[\d$]|\s*(?:plus|minus|times)\b|\s*of\s+\d|[^.]*="
)
_BESIDE = re.compile(
    r",? (?:because|since|(?<!well )as(?! well)|with|where|given|considering|but|whereas|while"
    r"|although|assuming|if"
    r"|when|after|before|out of|compared|rather than|instead of|per|up from|down from"
    r"|arranged|consisting|split|divided|grouped|reaching"
    r"|versus|vs|leaving|including|of which|plus another)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"^\W*(?:(?:there (?:is|are|were)|i (?:can )?see|the (?:image|picture) (?:shows|has|contains)"
    r"|(?:i (?:do not|don't|cannot|can't) (?:see|make out)|there (?:aren't|are not))(?= any\b))\s+)?"
    r"(?:none\b|nobody\b|(?:no|not any|any)\s+(?!one\b|idea|way|answer|information|image|more|less)\w)"
    r"|^[^.,;]*\b(?:has|have|shows?|contains?|includes?)\s+(?:no|not any|any)\s+(\w+)",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:in|at|for|from|of|of the|on|by|since|after|before|within|en|im|until|between|than"
    r"|at least|at most|over|under|above|below"
    r"|year|step|when|if)\s*$",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\W*(?:in|for|at|during|en|im)\s+(\d+)\b", re.IGNORECASE)
_THINGS = re.compile(
    r"how many (\w+) (?:(?:are|is) (?:there|shown|visible|in|on)|(?:can|do) you (?:see|count))\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:which|what) years?\b|^when\b", re.IGNORECASE)
_OF_ALL = re.compile(
    r"±\s*$|\b(?:below|above|under|over)\s*[$€£]?$|^\W*(?:out )?of (?:the|all|these)\s*$|\d (?:out )?of (?:the|all|these)\s*$|\d out of\s*$",
    re.IGNORECASE,
)
_STEP = re.compile(r"^\W*(?:step|schritt|étape|paso)\s+\d+\b", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
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
        What was asked: a number that it names is not the answer where it only says when or where,
        as in "In 2019 it was 14".

    >>> str(read_number("5 + 7 = 12, so there are **12** apples.")), read_number("not 7")
    ('12', None)
    """
    answer = passages(text)
    if not answer.text:
        return None
    for passage in answer.explicit:
        number = _number_of_passage(passage.text, counts, question)
        if number is not None:
            return number
        if not passage.corrects and (unable(passage.text) or numbers_in(passage.text)):
            return None
    return None if answer.retracted >= 0 else _number_without_cue(answer, counts, question)


def _number_without_cue(answer: Answer, counts: bool, question: str) -> Number | None:
    """The number of an answer that nowhere says that it answers."""
    last, first = answer.sentences[-1], answer.sentences[0]
    for text in answer.emphasised:
        number = _number_at_head(text)
        if number is not None:
            return number
    none = _NOTHING.match(first)
    named = none and (none[1] or "").lower() in question.lower()
    if counts and named and not _new(answer.text, question):
        return numbers_in("0")[0]
    if unable(last) or (len(answer.sentences) <= 3 and unable(answer.text)):
        return None
    repeats = shared_words(last, question) - shared_words(first, question)
    is_sum = _TOTAL.search(last) or _STEP.match(last) or "=" in last or number_of(last)
    ends = [last, first] if len(answer.sentences) > 3 or is_sum or repeats > 1 else [first, last]
    for text in (*answer.concluding, *sorted(ends, key=lambda text: not _new(text, question))):
        number = None if unable(text) else _number_of_passage(text, counts, question)
        if number is not None:
            return number
        if text in answer.concluding and _hedged(text, numbers_in(text)):
            return None
    return None


def _number_at_head(text: str) -> Number | None:
    """The number that a text begins with."""
    numbers = _undenied(text)
    if not numbers or _hedged(text, numbers) or _GOES_ON.match(text[numbers[0].end :]):
        return None
    head = text[: numbers[0].start]
    begins = re.fullmatch(rf"[^\w]*{_ABOUT}[^\w]*(?:[a-z]\s*=\s*)?", head, re.IGNORECASE)
    return numbers[0] if begins else None


def _is_pronoun(number: Number, text: str) -> bool:
    """Whether "one" counts nothing: "the larger one", "one of them"."""
    before, behind = text[: number.start], text[number.end :]
    if not (number.word and number.value == 1):
        return False
    return bool(
        re.search(r"\b(?:the|this|that|which|each|every|no|any|an?|\w+er)\s+(?:\w+\s+)?$", before)
        or re.match(r"\s+(?:of|that|which|can|could|must|is)\b", behind)
    )


def _hedged(text: str, numbers: Sequence[Number]) -> bool:
    """Whether a text leaves it open which number it is: "7 or 19", "between 7 and 19"."""
    if "=" in text and " or " not in text:
        return False  # a difference, not a range
    return any(
        re.fullmatch(r"\s*(?:or(?:\s+\w\s*=)?|/|to|[-–])\s*", text[number.end : other.start], re.I)
        or (
            re.search(r"\bbetween\s*$", text[: number.start], re.IGNORECASE)
            and text[number.end : other.start].strip() == "and"
            and not re.match(r"\s*(?:is|was|equals)\b", text[other.end :])
        )
        for number, other in pairwise(numbers)
    )


def _undenied(text: str) -> list[Number]:
    """The numbers of a text that it does not deny; "134 of the 150" names the first only."""
    return [
        number
        for number in numbers_in(text)
        if not denied(text, number.start, number.end) and not _OF_ALL.search(text[: number.start])
    ]


def _without_asides(text: str) -> str:
    """A text without what stands in parentheses, where numbers stand outside of them: "14 in total
    (9 here, 5 there)".
    """
    outside = _IN_PARENTHESES.sub("", text)
    return outside if _undenied(outside) else text


def _stated(text: str, question: str) -> list[Number]:
    """The numbers of a text that it does not deny, without those of the question that only say
    when or where; only years where a year is asked for.
    """
    numbers = _undenied(text)
    years = [number for number in numbers if 1000 <= number.value <= 2100 and not number.unit]
    if _YEAR.search(question):
        return years or [number for number in numbers if number.unit != "th"]
    return _new(text, question) or numbers


def _new(text: str, question: str) -> list[Number]:
    """The numbers of a text that do not repeat the question: "9 dots", or the year in "in 2019"."""
    asked = {(number.value, number.unit) for number in numbers_in(question)}
    values = {value for value, _ in asked}
    return [
        number
        for number in _undenied(text)
        if not (number.unit and (number.value, number.unit) in asked)
        and not (number.value in values and _WHEN.search(text[: number.start]))
    ]


def _counted(text: str, question: str) -> Number | None:
    """How many of the things asked for a text counts beside others: "3 cats and 4 dogs"."""
    asked = _THINGS.match(question)
    if asked is None or "=" in text:
        return None
    things = asked[1].lower().removesuffix("s")
    numbers = _undenied(text)
    if _hedged(text, numbers):
        return None
    counted = [number for number in numbers if number.unit == things]
    if not counted and re.search(rf"\bno {things}", text, re.IGNORECASE):
        return numbers_in("0")[0]
    return counted[0] if len(counted) == 1 < len(numbers) else None


def _number_of_passage(text: str, counts: bool, question: str = "") -> Number | None:
    """The number that a passage states: alone, behind "is" or "=", or at its beginning."""
    text = _STEP.sub("", (sentences(text) or [""])[0])
    counted = _counted(text, question) if counts else None
    if counted is not None:
        return counted
    labelled = [
        number
        for number in numbers_in(text)
        if (label := re.search(r"\b([A-Za-z]\w*)\s*[:=]\s*$", text[: number.start]))
        and re.search(rf"\b{label[1]}\b", question, re.IGNORECASE)
    ]
    if len(labelled) == 1 and re.search(r"[:=].*[,;].*[:=]", text):
        return labelled[0]  # "AB = 45, BC = 60"
    tail = number_of(text[text.rfind(": ") + 1 :]) if ": " in text else None
    if tail is not None:
        return tail  # "Eight minus three: 5 slices."
    head, _, parts_behind = text.partition(": ")
    if len(_undenied(parts_behind)) > 1 and len(_undenied(head)) == 1 and "=" not in text:
        text = head  # "8 in total: 4 small ones, 3 medium ones and a large one"
    text = _without_asides(text)
    aside = _BESIDE.search(text)
    if (
        aside
        and "out of" not in aside[0]
        and _TOTAL.search(text, aside.end())
        and _undenied(text[aside.end() :])
    ):
        text = text[aside.end() :]  # "It says 20, but the sum is 35"
        aside = _BESIDE.search(text)
    parts = [text[: aside.start()], text] if aside else [text]
    if _hedged(text, _undenied(text)):
        parts += re.split(r"[;,] ", text)[:0:-1]  # "x = 3 or x = -2; lengths are positive, x = 3"
    for part in sorted(parts, key=lambda part: not _new(part, question)):
        numbers = _stated(part, question)
        asked = {number.value for number in numbers_in(question)}
        there = [
            number
            for number in numbers
            if (behind := _PLACE.match(part[number.end :])) and Fraction(behind[1]) in asked
        ]
        if len(there) == 1:
            return there[0]  # "from 5 in 2008 to 9 in 2010"
        if len(numbers) > 1 and _hedged(part, numbers):
            continue
        distinct = {(number.value, number.percent) for number in numbers}
        if len(distinct) == 1:
            return None if _is_pronoun(numbers[-1], part) else numbers[-1]
        stated = [
            number
            for number in numbers
            if _COPULA.search(part[: number.start]) or _LEFT.match(part[number.end :])
        ]
        sums = _TOTAL.search(part) and not _TOTAL.search(question)
        clause = "" if sums else answering_clause(part, question)
        several = len({each.value for each in stated}) > 1 or _YEAR.search(question)
        answering = _stated(clause, question)
        if several and len(answering) == 1:
            return answering[0]  # "Blue costs $25, and the red one costs $30"
        if stated:
            results = [number for number in stated if re.search(r"[=≈]\s*$", part[: number.start])]
            return results[-1] if len(results) == 1 and "+" in part else stated[-1]
    if counts and _NOTHING.match(text):
        return numbers_in("0")[0]
    if counts and re.search(r"\ba single\b", text, re.IGNORECASE):
        return numbers_in("1")[0]
    return None


# --- a list ---

_BRACKETS = re.compile(
    r"[\[{]([^\[\]{}]*[,;][^\[\]{}]*)[\]}]|^\W*\(([^()]*[,;][^()]*)\)\W*$"
    r"|\((\s*-?[\d./]+(?:\s*[,;]\s*-?[\d./]+)+\s*)\)"
)
_BULLET = re.compile(r"^\s*(?:[-*•–▪]|\(?\d{1,2}[.)])\s+(?=\S)")
_AROUND = re.compile(
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
_INTRODUCED = re.compile(
    r"^.*?(?:\b(?:are|is|were|was|includes?|see|shows?|contains?|have|has|spot|identify|lists?)\b|:)\s*",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"\s+(?:are|is|share|can|could|appear|were|have|both)\b.*$|\s+(?:on|in|at) (?:the|this)\b.*$",
    re.IGNORECASE,
)
_ORDERED = re.compile(r"\b(?:coordinates?|order|sort|rank|sequence)", re.IGNORECASE)
_EMPTY = re.compile(
    r"\b(?:none|nothing|empty|nobody|no one)\b|(?:\bnot|n't) \w+ any\b|^\W*no \w+(?:\W*$|,| (?:has|have|had|is|are|was|were)\b)|\b(?:is|are|has|have|had) no\b(?!\s+(?:way|info|image|picture))",
    re.I,
)


def read_list(text: str) -> tuple[str, ...]:
    """The members of the list that an answer gives.

    >>> read_list("The final list is [2, 0, 1]."), read_list("star, circle and square")
    (('2', '0', '1'), ('star', 'circle', 'square'))
    """
    answer = passages(text)
    for passage in answer.explicit:
        members = _members(passage.text)
        if len(members) > 1 and _is_short(members):
            return members
    shapes = _BRACKETS.findall(answer.text)
    brackets = [a or b or c for a, b, c in shapes]
    if sum(bool(pair) for _, _, pair in shapes) > 1:  # two points are no list
        return ()
    if brackets:
        return _members(f"[{brackets[0 if len(answer.sentences) > 3 else -1]}]")
    ends = answer.sentences if len(answer.sentences) < 3 else answer.sentences[-1:]
    ends = tuple(each for each in ends if not NEGATIVE.search(each)) or ends
    concluded = [_members(each) for each in answer.concluding[:1]]
    stated = [_members(each) for each in reversed(ends)]
    readings = (*concluded, _lines(answer, 0), *stated)
    return next((each for each in readings if len(each) > 1 and _is_short(each)), ())


def _lines(answer: Answer, part: int) -> tuple[str, ...]:
    """The members of a list with one on each line, numbered, or below a heading that ends in a
    colon; of "Top: black" the first part or the last.
    """
    lines = [line for line in answer.text.split("\n") if line.strip()]
    rows = [line.strip(" |").split("|") for line in lines if re.match(r"\s*\|(?!\s*:?--)", line)]
    marked = [line for line in lines if _BULLET.match(line)]
    if len(lines) > 1 and lines[0].rstrip().endswith(":"):
        lines = lines[1:]
    if len(marked) > 1:
        lines = [re.split(r"\s[–—-]\s|:\s", _BULLET.sub("", line))[part] for line in marked]
    if len(rows) > 2:
        lines = [row[0] for row in rows[1:]]
    members = tuple(filter(None, map(_member, lines)))
    return members if len(members) > 1 and _is_short(members) and not unable(answer.text) else ()


def _member(text: str) -> str:
    """A member without an article, a name before "=", and "respectively" behind it; nothing for
    what is not there ("no knife").
    """
    text = text.strip(" .'\"`")
    while (shorter := _AROUND.sub("", text).strip(" .'\"")) != text:
        text = shorter
    return "" if re.match(r"(?:no|not|but|without)\b", text, re.IGNORECASE) else text


def _is_short(members: Sequence[str]) -> bool:
    return all(len(member.split()) < 5 for member in members)


def _members(text: str) -> tuple[str, ...]:
    brackets = _BRACKETS.search(text)
    if brackets:
        text = brackets[1] or brackets[2] or brackets[3]
    elif unable(text):
        return ()
    if "=" in text:
        text = re.sub(r"\bor\b", ",", text)
    first, *others = text.split(";")
    if others and re.search(r",|\band\b", first):
        text = first  # "The star and the circle; the square is red"
    if not brackets:
        text = _BESIDE.split(text, maxsplit=1)[0]
    text = re.sub(r"^(?:among|of)\b[^,:]*, ", "", text.strip(" ."), flags=re.I)
    introduced = _INTRODUCED.sub("", text) if not brackets else text
    is_introduced = introduced != text and _SEPARATOR.search(introduced)
    text = introduced if is_introduced else _PREDICATE.sub("", text)
    text = re.sub(r"^[^:,;\n]{0,40}:\s*", "", text)
    text = re.sub(r",? respectively\b", "", _IN_PARENTHESES.sub("", text))
    if re.fullmatch(r"[^\W\d]+(?:\s*/\s*[^\W\d]+)+", text):
        return tuple(each.strip() for each in text.split("/"))
    if re.search(r"\bor\b", text):
        return ()
    parts = (_member(part) for part in _SEPARATOR.split(text))
    return tuple(part for part in parts if part)


# --- a text ---

_BY_THE_WAY = re.compile(
    r"(?:[,;]|\s[–—-])\s+(?:just |right |though |and )?(?:which(?! (?:makes?|means))|with|near|next|close|under|over|above"
    r"|below|beside|behind|followed|compared|whereas|while|unlike|similar|mixed|along"
    r"|together|alongside)\b"
)
_HEDGE = re.compile(r"^\s*(?:,? ?\(?\bor\b|/)\s*\w", re.IGNORECASE)


def names_phrase(text: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """Which of these phrases an answer commits itself to, in the order in which it names them.

    A phrase counts as whole words, in the singular or plural, wherever the answer does not deny it;
    of one inside a longer one ("blue" in "dark blue") the longer counts.

    >>> names_phrase("It is not red, it is blue.", ("red", "blue"))
    ('blue',)
    """
    answer = passages(text)
    if not answer.text or answer.retracted >= 0:
        return ()
    for passage in answer.explicit:
        named = _phrases_in(passage.text, phrases)
        if named or not passage.corrects or len(passage.text.split()) < 5:
            return named
    texts = [*answer.emphasised, *answer.concluding[:1]]
    if len(answer.sentences) > 1:
        texts += [answer.sentences[0], answer.sentences[-1]]
    if len(answer.sentences) <= 3:
        texts.append(answer.text)
    return next((named for each in texts if (named := _phrases_in(each, phrases))), ())


def _phrases_in(text: str, phrases: Sequence[str]) -> tuple[str, ...]:
    text = normal(text)
    aside = _BY_THE_WAY.search(text, 1)
    if aside and aside.start() < 60:
        text = text[: aside.start()]
    spans: list[tuple[int, int, str]] = []
    for phrase in phrases:
        places = [match.span() for match in _phrase(phrase).finditer(text)]
        spans += [(low, high, phrase) for low, high in places if not denied(text, low, high)]
    longest = [
        span
        for span in spans
        if not any(
            o[0] <= span[0] and span[1] <= o[1] and o[1] - o[0] > span[1] - span[0] for o in spans
        )
    ]
    return tuple(dict.fromkeys(phrase for _, _, phrase in sorted(longest)))


@lru_cache(maxsize=4096)
def _phrase(phrase: str) -> re.Pattern[str]:
    single = re.sub(r"(?<=[a-z]{2}[^s])s$", "", normal(phrase))
    words = re.escape(single).replace(r"\ ", r"[\s-]+").replace(r"\-", r"[\s-]?")
    plural = "(?:e?s)?" if re.search(r"[a-z]{2}$", normal(phrase)) else ""
    return re.compile(rf"(?<![{LATIN}]){words}{plural}(?![{LATIN}])")


def hedges(text: str, phrase: str) -> bool:
    """Whether an answer names a phrase as one of several possibilities: "red or blue"."""
    text = normal(passages(text).text)
    if (
        " and " in text
        and " and " not in phrase
        and (len(text.split()) < 5 or re.search(r"\b(?:tied?|both)\b", text))
    ):
        return True
    return any(
        _HEDGE.match(text[match.end() :]) is not None
        or re.search(r"\w\s*(?:,? ?\bor\b|/)\s*(?:an?\s)?(?:\w+\s)?$", text[: match.start()])
        is not None
        for match in _phrase(phrase).finditer(text)
    )


# --- right or wrong ---


class ShortMatch(NamedTuple):
    """Whether a short answer is right, and what was read."""

    right: bool
    read: str


def texts_of(item: Item) -> list[str]:
    """The right answers of an item, as texts: "[2014, 2016]" is a list as well."""
    target = item.target
    if isinstance(target, str) and re.fullmatch(r"\s*\[.*\]\s*", target, re.DOTALL):
        try:
            target = ast.literal_eval(target)
        except (SyntaxError, ValueError):
            return [str(item.target)]
    return [str(each) for each in target] if isinstance(target, (list, tuple)) else [str(target)]


def match_short(text: str, item: Item) -> ShortMatch | None:
    """What a short answer says and whether it is right; None where nothing can be read.

    >>> match_short("That makes 1,200 m.", Item("1", "How far?", "vqa", "1.2 km"))
    ShortMatch(right=True, read='1200 m')
    """
    targets = texts_of(item)
    rivals = [str(rival) for rival in item.meta.get("rivals", ())]
    numbers = [number_of(target) for target in targets]
    if len(targets) > 1:
        return _match_list(text, targets, rivals, numbers, item)
    key = numbers[0]
    if key is not None:
        return _match_number(text, key, item, rivals)
    if not rivals and normal(targets[0]) in ("yes", "no", "true", "false"):
        polar = read_polar(text, item.prompt)
        right = polar == ("yes" if normal(targets[0]) in ("yes", "true") else "no")
        return None if polar is None else ShortMatch(right, polar)
    return _match_text(text, targets[0], rivals, item.prompt)


def _match_number(text: str, key: Number, item: Item, rivals: Sequence[str]) -> ShortMatch | None:
    none = item.meta.get("none")
    counts = bool(none) or (not rivals and item.prompt.lower().startswith("how many"))
    number = read_number(text, counts, item.prompt)
    if number is None:
        return None
    if rivals:
        known = [number_of(each) for each in (*rivals, str(item.target))]
        if not any(each is not None and number.matches(each) for each in known):
            return None
    places, tolerance = item.meta.get("precision"), item.meta.get("tolerance")
    places = None if places is None else int(places)
    right = number.matches(key, places)
    scale = _ASKED_SCALE.search(item.prompt)
    if scale and not right:  # "in million dollars": 45 million are 45
        scaled = replace(number, value=number.value / SCALES[scale[1].lower()], unit="")
        right = scaled.matches(key, places)
    unit = re.search(r"\bin (\w+?)s?\b", item.prompt)
    if unit and not right:  # "in meters": 1.2 km are 1200
        right = number.matches(replace(key, unit=unit[1].lower()), places)
    if tolerance is not None:
        right = right or abs(number.value - key.value) <= Fraction(str(tolerance))
    return ShortMatch(right, str(number))


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
        named = names_phrase(text, [*targets, *rivals])
        return ShortMatch(set(named) == set(targets), ", ".join(named)) if named else None
    answer = passages(text)
    readings = [read_list(text), _lines(answer, -1)]
    if all(re.fullmatch("[A-Z]", target) for target in targets):
        plain = re.sub(r"[^;.,]*\b(?:wrong|incorrect|not)\b[^;.,]*", "", answer.text)
        readings = [tuple(re.findall(r"\b[A-Z]\b", plain)) or tuple(re.sub(r"[^A-Z]", "", plain))]
    for members in filter(None, readings):
        parts = [
            part
            for member in members
            for part in (_members(member) if len(_phrases_in(member, targets)) > 1 else (member,))
        ]
        meant = [_phrases_in(part, targets) for part in parts]
        if all(len(names) == 1 for names in meant) and {n for (n,) in meant} == set(targets):
            ordered = _ORDERED.search(item.prompt) is None or [n for (n,) in meant] == list(targets)
            return ShortMatch(ordered, ", ".join(members))
    if any(readings):
        return ShortMatch(False, ", ".join(readings[0] or readings[1]))
    if answer.sentences and unable(answer.sentences[-1]) and not _EMPTY.search(answer.text):
        return None
    named = names_phrase(text, targets)
    if len(named) < len(targets):
        nothing = _EMPTY.search(answer.text) is not None
        return ShortMatch(False, ", ".join(named)) if named or nothing else None
    if any(hedges(text, target) for target in targets):
        return None
    return ShortMatch(True, ", ".join(named))


def _match_numbers(text: str, keys: list[Fraction], item: Item) -> ShortMatch | None:
    """A list of numbers: members, or all numbers of a sentence that has as many."""
    answer = passages(text)
    numbers = [number_of(member) for member in read_list(text)]
    if (not numbers or None in numbers) and answer.sentences and not unable(answer.text):
        last = _without_asides(answer.sentences[-1])
        behind = re.sub(r"^.*\b(?:are|is)\b", "", last)
        readings = [_stated(last, item.prompt), _undenied(behind)]
        lone = number_of(last[last.rfind("=") + 1 :]) or re.search(r"\bonly\b", last, re.IGNORECASE)
        if len(readings[0]) < len(keys) and lone:
            return ShortMatch(False, ", ".join(map(str, readings[0])))
        numbers = next((list(each) for each in readings if len(each) == len(keys)), [])
    values = [number.value for number in numbers if number is not None]
    if not values and _EMPTY.search(answer.text):
        return ShortMatch(False, "none")
    if not values or len(values) < len(numbers):
        return None
    if keys == sorted(keys) and not _ORDERED.search(item.prompt):
        values, keys = sorted(values), sorted(keys)
    return ShortMatch(values == keys, ", ".join(map(str, numbers)))


_NOT_THERE = re.compile(
    r"\bno (\w+)(?: (\w+))?(?=[.,;]|$| in (?:the|this)\b| (?:is|are|was|were|can be) (?:visible|shown|given|present|seen"
    r"|legible|readable|listed|provided|mentioned|indicated))",
    re.IGNORECASE,
)


def _gives_way(answer: Answer, target: str, question: str) -> bool | None:
    """Whether the only sentence of an answer names the target in a clause before "but" or a
    semicolon, behind which something else is said; None where it says that it cannot answer.
    """
    if len(answer.sentences) != 1 or answer.explicit:
        return False
    parts = re.split(r";|,? but\b", answer.text, maxsplit=1)
    strong = len(parts) > 1
    parts = parts if strong else re.split(r",? (?:and|while|whereas)\b", answer.text, maxsplit=1)
    if len(parts) < 2:
        return None if unable(answer.text) else False
    in_first, *in_others = [_phrases_in(part, (target,)) for part in parts]
    if in_others == [in_first]:
        return False
    said, rest = parts[::-1] if in_first else parts
    if unable(said):
        return None if in_first else False
    if not in_first and len(said.split()) < 4 and f"{said};" in answer.text:
        return True  # "A cane; the umbrella leans against the wall"
    if strong and in_first and re.search(r"\b(?:looks?|seems?|appears?)\b", rest):
        return True
    noun = _NOUN_ASKED.match(question)
    more = shared_words(said, question) - shared_words(rest, question)
    if noun and (noun[1] in said) != (noun[1] in rest):
        more = 1 if noun[1] in said else -1
    even = strong and bool(in_first) and more == 0
    return more > 0 or (even and re.search(r"\b(?:is|are|was)\b", said) is not None)


_PERSON = re.compile(
    r"^who\b|\b(?:author|artist|painter|singer|actor|actress|player|scientist|composer|director)\b",
    re.IGNORECASE,
)
_NOUN_ASKED = re.compile(r"(?:what|which)(?: is| are| was)?(?: the)? (\w+)", re.IGNORECASE)


def _akin(word: str, key: str) -> bool:
    """Whether two words share their stem: triangular, triangle."""
    stem = min(len(word), len(key)) - 2
    if word == key or not (word + key).isalpha():
        return False
    short, long = sorted((word, key), key=len)
    inside = long.startswith(short) or (long.endswith(short) and len(long) > len(short) + 2)
    return (len(short) > 2 and short != long.removesuffix("s") and inside) or (
        stem > 4 and word[:stem] == key[:stem] and word.removesuffix("s") != key
    )


def _match_text(text: str, target: str, rivals: Sequence[str], question: str) -> ShortMatch | None:
    answer = passages(text)
    if normal(text) == normal(target):
        return ShortMatch(True, target)
    if not rivals and not names_phrase(text, (target,)):
        # "the Atlantic", where an ocean is asked for
        own = [word for word in target.split() if word.lower() not in question.lower().split()]
        target = " ".join(own) or target
    noun = _NOUN_ASKED.match(question)
    if noun and not rivals:
        stated = re.search(
            rf"(?<!\bno )\b{noun[1]}\b(?: \w+){{0,4}} (?:is|was|says|reads) (.+)", answer.text, re.I
        )
        if stated and not denied(answer.text, *stated.span(1)):
            return _match_text(stated[1], target, rivals, "")
    if unable(target) and not rivals:
        right = unable(answer.text)
        return ShortMatch(right, target if right else answer.text[:80]) if answer.text else None
    named = names_phrase(text, [target, *rivals])
    if rivals:
        # an answer names its answer first: "The star is larger than the circle."
        return ShortMatch(named[0] == target, ", ".join(named)) if named else None
    if named:
        gives_way = _gives_way(answer, target, question)
        match = ShortMatch(not gives_way, answer.text[:80] if gives_way else target)
        return None if hedges(text, target) or gives_way is None else match
    if not answer.text or answer.retracted >= 0:
        return None
    said = answer.explicit[0].text if answer.explicit else answer.sentences[-1]
    absent = _NOT_THERE.search(said)
    if absent and any(word and word.lower() in question.lower() for word in absent.groups()):
        return None  # "No brand is visible"
    if unable(said) or (unable(answer.text) and DOUBT.search(said)):
        return None
    if len(answer.sentences) > 3 and not answer.explicit:
        return None
    surname = re.search(r"\s((?:[a-z]+ )*\w+)$", target)
    if surname and _PERSON.search(question):
        alone = re.search(
            rf"(?:^|[^\w\s]\s*|\b(?-i:[a-z])\w* )({surname[1]})\b", said, re.IGNORECASE
        )
        given_up = _gives_way(answer, surname[1], question)
        if alone and not given_up and not denied(said, *alone.span(1)):
            return ShortMatch(True, said[:80])  # "Austen", and not "Emily Austen", for Jane Austen
    words, key = re.findall(r"\w+", normal(said)), normal(target).split()
    if words == key[-len(words) :] or any(_akin(a, b) for a in words for b in key):
        return None  # "emissions" for CO2 emissions, "triangular" for a triangle
    return ShortMatch(False, said[:80])
