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
from hqm.scoring.polar_answers import read_polar
from hqm.scoring.written_numbers import LATIN, Number, number_of, numbers_in
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
    rf"(?:=|≈|\b(?:is|are|was|were|be|equals?|equal to|gives?|get|gets|makes?|has|have|had"
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
    r",? (?:because|since|as|with|where|given|considering|but|whereas|while|although|assuming|if"
    r"|when|after|before|out of|compared|rather than|instead of|per|up from|down from"
    r"|arranged|consisting|split|divided|grouped|reaching"
    r"|versus|vs|leaving|including|of which|plus another)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"^\W*(?:(?:there (?:is|are|were)|i (?:can )?see|the (?:image|picture) (?:shows|has|contains)"
    r"|i (?:do not|don't|cannot|can't) (?:see|make out)(?= any\b)|there (?:aren't|are not)(?= any\b))"
    r"\s+)?(?:none\b|(?:no|not any|any)\s+(?!one\b|idea|way|answer|information|image)\w)",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\b(?:in|at|for|from|of|of the|on|by|until|between|than|at least|at most|over|under|above|below"
    r"|year|step|when|if)\s*$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:which|what) year\b|^when\b", re.IGNORECASE)
_OF_ALL = re.compile(
    r"±\s*$|^\W*(?:out )?of (?:the|all|these)\s*$|\d (?:out )?of (?:the|all|these)\s*$|\d out of\s*$",
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
    if numbers_in(question) and len(answer.sentences) > 1:
        repeated = [each for each in answer.sentences if normal(each) in normal(question)]
        others = tuple(each for each in answer.sentences if each not in repeated)
        answer = replace(answer, sentences=others or answer.sentences)
    for passage in answer.explicit:
        if passage.start <= answer.retracted:
            break
        if passage.corrects:
            number = _number_at_head(passage.text)
        else:
            number = _number_of_passage(passage.text, counts, question)
        if number is not None:
            return number
        if not passage.corrects and (unable(passage.text) or numbers_in(passage.text)):
            return None
    return _number_without_cue(answer, counts, question)


def _number_without_cue(answer: Answer, counts: bool, question: str) -> Number | None:
    """The number of an answer that nowhere says that it answers."""
    if answer.retracted >= 0:
        return None
    last, first = answer.sentences[-1], answer.sentences[0]
    for text in answer.emphasised:
        number = number_of(text) or _number_at_head(text)
        if number is not None:
            return number
    if counts and _NOTHING.match(first) and not numbers_in(answer.text):
        return numbers_in("0")[0]
    if unable(last) or (len(answer.sentences) <= 3 and unable(answer.text)):
        return None
    for text in answer.concluding:
        number = _number_of_passage(text, counts, question)
        if number is not None:
            return number
        if _hedged(text, numbers_in(text)):
            return None
    ending = number_of(last) or (
        number_of(last[last.rfind("=") + 1 :])
        if "=" in last and ";" not in last and not _hedged(last, numbers_in(last))
        else None
    )
    asked = {each.value for each in numbers_in(question)}
    if ending is not None and not (ending.value in asked and len(answer.sentences) > 1):
        return ending
    alone = len({number.value for number in numbers_in(first)}) == 1 and len(first) < 40
    whole = number_of(first) or (_number_at_head(first) if alone else None)
    if whole is not None and not (_TOTAL.search(last) and len(answer.sentences) > 1):
        return whole
    repeats = shared_words(last, question) - shared_words(first, question)
    candidates = (
        [last, first]
        if len(answer.sentences) > 3 or _TOTAL.search(last) or _STEP.match(last) or repeats > 1
        else [first, last]
    )
    for text in candidates:
        if unable(text):
            continue
        number = _number_of_passage(text, counts, question)
        if number is not None:
            return number
    return None


def _number_at_head(text: str) -> Number | None:
    """The number that a text begins with."""
    numbers = _undenied(text)
    if not numbers or _hedged(text, numbers) or _GOES_ON.match(text[numbers[0].end :]):
        return None
    head = text[: numbers[0].start]
    if re.match(r"\W*(?:at|for|when|if|with)\s+\w+\s*=", head, re.IGNORECASE):
        return None
    return (
        numbers[0]
        if re.fullmatch(rf"[^\w]*{_ABOUT}[^\w]*(?:[a-z]\s*=\s*)?", head, re.IGNORECASE)
        else None
    )


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


def _stated(text: str, question: str) -> list[Number]:
    """The numbers of a text that it does not deny, without those of the question that only say
    when or where; only years where a year is asked for.
    """
    numbers = _undenied(text)
    years = [number for number in numbers if 1000 <= number.value <= 2100 and not number.unit]
    if years and _YEAR.search(question):
        return years
    asked = {number.value for number in numbers_in(question)}
    answering = [
        number
        for number in numbers
        if number.value not in asked or not _WHEN.search(text[: number.start])
    ]
    return answering or numbers


def _number_of_passage(text: str, counts: bool, question: str = "") -> Number | None:
    """The number that a passage states: alone, behind "is" or "=", or at its beginning."""
    whole = number_of(text)
    if whole is not None:
        return whole
    text = (sentences(text) or [""])[0]
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
    outside = _IN_PARENTHESES.sub("", text)
    if _undenied(outside):  # "14 in total (9 here, 5 there)"
        text = outside
    clause = answering_clause(text, question) if ";" in text else ""
    if len(_undenied(clause)) == 1:
        return _undenied(clause)[0]  # "Blue = 45; red = 60"
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
    for part in parts:
        numbers = _stated(part, question)
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
        if len({each.value for each in stated}) > 1 and len(_undenied(clause)) == 1:
            return _undenied(clause)[0]  # "The blue one costs $25, and the red one costs $30"
        if stated:
            results = [number for number in stated if re.search(r"[=≈]\s*$", part[: number.start])]
            return results[-1] if len(results) == 1 and "+" in part else stated[-1]
        if (
            numbers
            and _number_at_head(part) is not None
            and not re.match(r"\s*(?:and|,)\s*\d", part[numbers[0].end :])
        ):
            return numbers[0]
    if counts and _NOTHING.match(text):
        return numbers_in("0")[0]
    if counts and re.search(r"\ba single\b", text):
        return numbers_in("1")[0]
    return None


# --- a list ---

_BRACKETS = re.compile(
    r"[\[{]([^\[\]{}]*[,;][^\[\]{}]*)[\]}]|^\W*\(([^()]*[,;][^()]*)\)\W*$"
    r"|\((\s*-?[\d./]+(?:\s*[,;]\s*-?[\d./]+)+\s*)\)"
)
_BULLET = re.compile(r"^\s*(?:[-*•–▪]|\(?\d{1,2}[.)])\s+(?=\S)")
_AROUND = re.compile(
    r"^(?:an?|the|both|then|finally|lastly|also|followed by|one|some)\s+(?=\w{2})|^[a-z]\s*[=:]\s*"
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
    r"\s+(?:are|is|share|can be|appear|were|have|both)\b.*$|\s+(?:on|in|at) (?:the|this)\b.*$",
    re.IGNORECASE,
)
_ORDERED = re.compile(r"\b(?:coordinates?|order|sort|rank|sequence)", re.IGNORECASE)
_EMPTY = re.compile(
    r"\b(?:none|nothing|empty)\b|^\W*no \w+(?:\W*$| (?:has|have|had|is|are|was|were)\b)|\bthere (?:is|are) no\b(?!\s+(?:way|info|image|picture))",
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
        if len(members) > 1 and passage.start > answer.retracted and _is_short(members):
            return members
    shapes = _BRACKETS.findall(answer.text)
    brackets = [a or b or c for a, b, c in shapes]
    if brackets and sum(bool(pair) for _, _, pair in shapes) < 2:  # two points are no list
        return _members(f"[{brackets[0 if len(answer.sentences) > 3 else -1]}]")
    lines = _lines(answer, 0)
    if lines:
        return lines
    ends = answer.sentences if len(answer.sentences) < 3 else answer.sentences[-1:]
    for each in (*answer.concluding[:1], *reversed(ends)):
        members = _members(each)
        if len(members) > 1 and _is_short(members):
            return members
    return ()


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
    factors = re.search(r"(?:^|=)((?:\s*\d+\s*[×·*]){1,}\s*\d+)\W*$", text)
    if factors:
        return tuple(re.findall(r"\d+", factors[1]))
    if "=" in text:
        text = re.sub(r"\bor\b", ",", text)
    first, *others = text.split(";")
    if others and re.search(r",|\band\b", first):
        text = first  # "The star and the circle; the square is red"
    if not brackets:
        text = _BESIDE.split(text, maxsplit=1)[0]
    text = text.strip(" .")
    introduced = _INTRODUCED.sub("", text) if not brackets else text
    is_introduced = introduced != text and _SEPARATOR.search(introduced)
    text = introduced if is_introduced else _PREDICATE.sub("", text)
    text = re.sub(r"^[^:,;\n]{0,40}:\s*", "", text)
    text = _IN_PARENTHESES.sub("", text)
    if re.fullmatch(r"[-\d.\s]+", text):
        return tuple(text.split())
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
        or re.search(r"\w\s*(?:,? ?\bor\b|/)\s*(?:an?\s)?$", text[: match.start()]) is not None
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
    right = number.matches(key, None if places is None else int(places))
    if tolerance is not None:
        right = right or abs(number.value - key.value) <= Fraction(str(tolerance))
    return ShortMatch(right, str(number))


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
        meant = [_phrases_in(member, targets) for member in members]
        if all(len(names) == 1 for names in meant) and {n for (n,) in meant} == set(targets):
            ordered = _ORDERED.search(item.prompt) is None or [n for (n,) in meant] == list(targets)
            return ShortMatch(ordered, ", ".join(members))
    if any(readings) and any(re.search(r"\b(?:is|are)\b", each) for each in readings[0]):
        return None
    if any(readings):
        return ShortMatch(False, ", ".join(readings[0] or readings[1]))
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
        last = answer.sentences[-1]
        readings = [_undenied(last), _undenied(re.sub(r"^.*\b(?:are|is)\b", "", last))]
        lone = number_of(answer.text) or re.search(r"\bonly\b", last, re.IGNORECASE)
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


def _gives_way(answer: Answer, target: str) -> bool:
    """Whether the only sentence of an answer names the target where it says that it cannot answer,
    or in a clause before "but" or a semicolon, behind which something else is said.
    """
    if len(answer.sentences) != 1 or answer.explicit:
        return False
    if re.search(rf"[,;] [^,;]*\b{re.escape(target)}'s \w", answer.text, re.IGNORECASE):
        return True  # "the logo of Lexus, Toyota's luxury brand"
    first, *others = re.split(r";|,? but\b|,? and (?=(?:an?|the|there)\b)", answer.text)
    behind = " ".join(others)
    if others and _phrases_in(first, (target,)) == _phrases_in(behind, (target,)):
        return False
    said = behind if _phrases_in(first, (target,)) else first
    return unable(first) if not others else re.search(r"\b(?:is|are|was)\b", said) is not None


_NOUN_ASKED = re.compile(r"(?:what|which)(?: is| are| was)?(?: the)? (\w+)", re.IGNORECASE)
_HEAD_NOUN = re.compile(r"^((?:an?|the)?\s*[\w'-]+(?: [\w'-]+)?)\s*[;]\s*\w+", re.IGNORECASE)


def _akin(word: str, key: str) -> bool:
    """Whether two words share their stem: triangular, triangle."""
    stem = min(len(word), len(key)) - 2
    short, long = sorted((word, key), key=len)
    inside = long.startswith(short) or (long.endswith(short) and len(long) > len(short) + 2)
    return (len(short) > 2 and short != long.removesuffix("s") and inside) or (
        stem > 4 and word[:stem] == key[:stem] and word.removesuffix("s") != key
    )


def _match_text(text: str, target: str, rivals: Sequence[str], question: str) -> ShortMatch | None:
    answer = passages(text)
    if normal(text) == normal(target):
        return ShortMatch(True, target)
    noun = _NOUN_ASKED.match(question)
    if noun and not rivals and len(answer.sentences) == 1 and " but " in answer.text:
        stated = re.search(
            rf"\b{noun[1]}\b(?: \w+){{0,4}} (?:is|was|says|reads) (.+)", answer.text, re.I
        )
        if stated and not denied(answer.text, *stated.span(1)):
            return _match_text(stated[1], target, rivals, "")
    head = _HEAD_NOUN.match(answer.text)
    if head and answer.explicit == () and not rivals:
        return _match_text(head[1], target, rivals, question)
    if unable(target) and not rivals:
        right = unable(answer.text)
        return ShortMatch(right, target if right else answer.text[:80]) if answer.text else None
    named = names_phrase(text, [target, *rivals])
    if rivals:
        # an answer names its answer first: "The star is larger than the circle."
        return ShortMatch(named[0] == target, ", ".join(named)) if named else None
    if named:
        return (
            None if hedges(text, target) or _gives_way(answer, target) else ShortMatch(True, target)
        )
    if not answer.text or answer.retracted >= 0:
        return None
    said = answer.explicit[0].text if answer.explicit else answer.sentences[-1]
    absent = _NOT_THERE.search(said)
    if absent and any(word and word.lower() in question.lower() for word in absent.groups()):
        return None  # "No brand is visible"
    if unable(said) or (len(answer.sentences) > 3 and not answer.explicit):
        return None
    words, key = re.findall(r"\w+", normal(said)), normal(target).split()
    if words == key[-len(words) :] or any(_akin(a, b) for a in words for b in key):
        return None  # "Van Gogh" for Vincent van Gogh, "triangular" for a triangle
    return ShortMatch(False, said[:80])
