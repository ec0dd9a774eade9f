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
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hqm.scoring.commitments import (
    Answer,
    denied,
    normal,
    passages,
    sentences,
    unable,
)
from hqm.scoring.polar_answers import read_polar
from hqm.scoring.written_numbers import Number, number_of, numbers_in
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
    rf"|reach(?:es)?|totals?|making|totall?ing|left with|of|see|count|shows?|reads?|indicates?"
    rf"|points to)\b)\s*[:]?\s*"
    rf"{_ABOUT}[$€£¥({{\[\s]*$",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\s*(?:\w+\s+){0,2}(?:remain|are left|left\b|in total|altogether|in all\b)|\s*$", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"\s*(?:[+×*/=−-]|,|\band\b|\bplus\b|\bminus\b|\btimes\b)\s*[\d$]|\s*of\s+\d|[^.]*="
)
_BESIDE = re.compile(
    r",? (?:because|since|as|with|where|given|considering|but|whereas|while|although|assuming|if"
    r"|when|after|before|out of|compared|rather than|instead of|per)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"^\W*(?:(?:there (?:is|are|were)|i (?:can )?see|the (?:image|picture) (?:shows|has|contains))"
    r"\s+)?(?:none\b|(?:no|not any)\s+(?!one\b|idea|way|answer|information|image)\w)",
    re.IGNORECASE,
)
_STEP = re.compile(r"^\W*(?:step|schritt|étape|paso)\s+\d+\b", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_TOTAL = re.compile(
    r"\b(?:difference|average|mean|median|range|ratio|product|total|altogether|in all|sum|final"
    r"|result|remain\w*|left|overall)\b",
    re.IGNORECASE,
)


def read_number(text: str, counts: bool = False) -> Number | None:
    """The number that an answer commits itself to.

    Parameters
    ----------
    text
        The answer.
    counts
        Whether things are counted, so that "none" is 0.

    >>> str(read_number("5 + 7 = 12, so there are **12** apples.")), read_number("not 7")
    ('12', None)
    """
    answer = passages(text)
    if not answer.text:
        return None
    for passage in answer.explicit:
        if passage.start <= answer.retracted:
            break
        if passage.corrects:
            number = _number_at_head(passage.text)
        else:
            number = _number_of_passage(passage.text, counts)
        if number is not None:
            return number
        if not passage.corrects and unable(passage.text):
            return None
    return _number_without_cue(answer, counts)


def _number_without_cue(answer: Answer, counts: bool) -> Number | None:
    """The number of an answer that nowhere says that it answers."""
    if answer.retracted >= 0:
        return None
    last, first = answer.sentences[-1], answer.sentences[0]
    for text in answer.emphasised:
        number = number_of(text) or _number_at_head(text)
        if number is not None:
            return number
    if unable(last) or (len(answer.sentences) <= 3 and unable(answer.text)):
        return None
    for text in answer.concluding:
        number = _number_of_passage(text, counts)
        if number is not None:
            return number
    alone = number_of(last)
    if alone is not None:
        return alone
    whole = number_of(first) or (_number_at_head(first) if len(first) < 40 else None)
    if whole is not None and not (_TOTAL.search(last) and len(answer.sentences) > 1):
        return whole
    candidates = (
        [last, first]
        if len(answer.sentences) > 3 or _TOTAL.search(last) or _STEP.match(last)
        else [first, last]
    )
    for text in candidates:
        if unable(text):
            continue
        number = _number_of_passage(text, counts)
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
    return [n for n in numbers_in(text) if not denied(text, n.start, n.end)]


def _number_of_passage(text: str, counts: bool) -> Number | None:
    """The number that a passage states: alone, behind "is" or "=", or at its beginning."""
    whole = number_of(text)
    if whole is not None:
        return whole
    text = (sentences(text) or [""])[0]
    outside = _IN_PARENTHESES.sub("", text)
    if _undenied(outside):  # "14 in total (9 here, 5 there)"
        text = outside
    aside = _BESIDE.search(text)
    if aside and _TOTAL.search(text, aside.end()) and _undenied(text[aside.end() :]):
        text = text[aside.end() :]  # "It says 20, but the sum is 35"
        aside = _BESIDE.search(text)
    parts = [text[: aside.start()], text] if aside else [text]
    for part in parts:
        numbers = _undenied(part)
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
        if stated:
            return stated[-1]
        if (
            numbers
            and _number_at_head(part) is not None
            and not re.match(r"\s*(?:and|,)\s*\d", part[numbers[0].end :])
        ):
            return numbers[0]
    if counts and _NOTHING.match(text):
        return numbers_in("0")[0]
    return None


# --- a list ---

_BRACKETS = re.compile(r"[\[({]([^\[\](){}]*[,;][^\[\](){}]*)[\])}]")
_BULLET = re.compile(r"^\s*(?:[-*•–▪]|\(?\d{1,2}[.)])\s+")
_AROUND = re.compile(r"^(?:an?|the)\s+(?=\w{2})|^[a-z]\s*=\s*|,?\s+respectively$", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(?:[,;、→\n]|\band\b|\bund\b|\bet\b|\by\b|&)\s*(?:and\s+)?")


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
    brackets = re.findall(r"[\[{]([^\[\]{}]*[,;][^\[\]{}]*)[\]}]", answer.text)
    if brackets:
        return _members(brackets[0] if len(answer.sentences) > 3 else brackets[-1])
    texts = [answer.text] if len(answer.sentences) == 1 else [*answer.concluding[:1]]
    return next((m for each in texts if len(m := _members(each)) > 1), _lines(answer))


def _lines(answer: Answer) -> tuple[str, ...]:
    """The members of a list with one on each line, below a heading that ends in a colon."""
    lines = [line for line in answer.text.split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].rstrip().endswith(":"):
        lines = lines[1:]
    members = tuple(_member(_BULLET.sub("", line)) for line in lines)
    return members if len(members) > 1 and _is_short(members) and not unable(answer.text) else ()


def _member(text: str) -> str:
    """A member without an article, a name before "=", and "respectively" behind it."""
    return _AROUND.sub("", text.strip(" .'\"")).strip(" .'\"")


def _is_short(members: Sequence[str]) -> bool:
    return all(len(member.split()) < 5 for member in members)


def _members(text: str) -> tuple[str, ...]:
    brackets = _BRACKETS.search(text)
    if brackets:
        text = brackets[1]
    elif unable(text):
        return ()
    text = re.sub(r"^.*?(?:\b(?:are|is|include|see|shows?|contains?)\b|:)\s*", "", text.strip(" ."))
    text = re.sub(r"^[^:,;\n]{0,40}:\s*", "", text)
    if re.fullmatch(r"[-\d.\s]+", text):
        return tuple(text.split())
    if re.fullmatch(r"[^\W\d]+(?:/[^\W\d]+)+", text):
        return tuple(text.split("/"))
    parts = (_member(part) for part in _SEPARATOR.split(text))
    return tuple(part for part in parts if part)


# --- a text ---

_HEDGE = re.compile(r"^\s*(?:,? ?\bor\b|/)\s*\w", re.IGNORECASE)


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
    words = re.escape(normal(phrase)).replace(r"\ ", r"[\s-]+").replace(r"\-", r"[\s-]?")
    plural = "(?:e?s)?" if re.search(r"[a-z]{2}$", normal(phrase)) else ""
    return re.compile(rf"(?<!\w){words}{plural}(?!\w)")


def hedges(text: str, phrase: str) -> bool:
    """Whether an answer names a phrase as one of several possibilities: "red or blue"."""
    text = normal(passages(text).text)
    if " and " in text and " and " not in phrase and len(text.split()) < 5:
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
        return _match_list(text, targets, rivals, numbers)
    key = numbers[0]
    if key is not None:
        return _match_number(text, key, item, rivals)
    if not rivals and normal(targets[0]) in ("yes", "no", "true", "false"):
        polar = read_polar(text, item.prompt)
        right = polar == ("yes" if normal(targets[0]) in ("yes", "true") else "no")
        return None if polar is None else ShortMatch(right, polar)
    return _match_text(text, targets[0], rivals)


def _match_number(text: str, key: Number, item: Item, rivals: Sequence[str]) -> ShortMatch | None:
    none = item.meta.get("none")
    counts = bool(none) or (not rivals and item.prompt.lower().startswith("how many"))
    number = read_number(text, counts)
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
    text: str, targets: Sequence[str], rivals: Sequence[str], numbers: Sequence[Number | None]
) -> ShortMatch | None:
    """A list must name all right answers and no other; numbers whose key is not in order must
    stand in its order.
    """
    keys = [number for number in numbers if number is not None]
    if len(keys) == len(targets):
        read = [number_of(member) for member in read_list(text)]
        values = [each.value for each in read if each is not None]
        if not values or len(values) < len(read):
            return None
        wanted = [key.value for key in keys]
        if wanted == sorted(wanted):
            values, wanted = sorted(values), sorted(wanted)
        return ShortMatch(values == wanted, ", ".join(map(str, read)))
    named = names_phrase(text, [*targets, *rivals])
    if rivals:
        return ShortMatch(set(named) == set(targets), ", ".join(named)) if named else None
    members = read_list(text)
    if not named and (not members or unable(passages(text).text)):
        return None
    extra = len(members) > len(targets) and all(len(member.split()) < 4 for member in members)
    return ShortMatch(set(named) == set(targets) and not extra, ", ".join(members or named))


def _match_text(text: str, target: str, rivals: Sequence[str]) -> ShortMatch | None:
    answer = passages(text)
    if normal(text) == normal(target):
        return ShortMatch(True, target)
    if unable(target) and not rivals:
        right = unable(answer.text)
        return ShortMatch(right, target if right else answer.text[:80]) if answer.text else None
    named = names_phrase(text, [target, *rivals])
    if rivals:
        # an answer names its answer first: "The star is larger than the circle."
        return ShortMatch(named[0] == target, ", ".join(named)) if named else None
    if named:
        return None if hedges(text, target) else ShortMatch(True, target)
    if not answer.text or answer.retracted >= 0:
        return None
    said = answer.explicit[0].text if answer.explicit else answer.sentences[-1]
    if unable(said) or (len(answer.sentences) > 3 and not answer.explicit):
        return None
    return ShortMatch(False, said[:80])
