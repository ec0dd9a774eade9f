"""The reader of lists: the members that an answer names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hqm.scoring.commitments import (
    ParsedAnswer,
    parse_answer,
    says_unable,
)
from hqm.scoring.number_answers import (
    IN_PARENTHESES,
    SUBORDINATE,
)
from hqm.scoring.polar_answers import NEGATIVE

# lists in brackets or braces, and tuples that are the whole text or of numbers
_BRACKETS = re.compile(
    r"[\[{]([^\[\]{}]*[,;][^\[\]{}]*)[\]}]|^\W*\(([^()]*[,;][^()]*)\)\W*$"
    r"|\((\s*-?[\d./]+(?:\s*[,;]\s*-?[\d./]+)+\s*)\)"
)
_BULLET = re.compile(r"^\s*(?:[-*•–▪]|\(?\d{1,2}[.)])\s+(?=\S)")
# what surrounds a member without being part of it: "x = 3", "the star", "respectively"
_MEMBER_AFFIXES = re.compile(
    r"^(?:only|just)\s+|^(?:no\.|nr\.|n[°º]|#|№)\s*(?=\d)|^(?:an?|the|both|then|finally|lastly|also|followed by|one|some)\s+(?=\w{2}|an? )"
    r"|^[a-z]\s*[=:]\s*"
    r"|,?\s+(?:respectively|each|too|as well)$|\s+\([^()]*\)$",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"\s*(?:[,;、，→>\n]|\b(?:and|und|et|y|e|и|plus|then|followed by|as well as|along with|sowie"
    r"|ainsi que|así como|assim como|а также)\b|&|以及|[和及与](?=\S)"
    r"|および|そして|그리고|및|와(?=\s)"
    r"|(?<=[\u30a1-\u30fc\u4e00-\u9fff])と(?=[\u30a1-\u30fc\u4e00-\u9fff])"
    # the Arabic conjunction is part of the word behind it, and that of Hindi a word
    r"|\s(?=و[^\W\d]{2})|(?<=\s)(?:और|तथा|एवं)(?=\s))"
    r"\s*(?:(?:and|then|finally)\s+)?",
    re.IGNORECASE,
)
_LIST_INTRODUCTION = re.compile(
    r"^.*?(?:\b(?:belong to|namely|are|is|were|was|includes?|see|shows?|contains?|have|has|spot|identify|lists?)\b"
    r"|:)\s*",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"\s+(?:are|is|share|can|could|appear|were|have|both)\b.*$|\s+(?:on|in|at) (?:the|this)\b.*$",
    re.IGNORECASE,
)
ORDER_QUESTION = re.compile(r"\b(?:coordinates?|order|sort|rank|sequence)", re.IGNORECASE)
# an answer that the list has no members
EMPTY_LIST = re.compile(
    r"\b(?:none|nothing|empty|nobody|no one)\b|(?:\bnot|n't) \w+ any\b|^\W*no \w+(?:\W*$|,| (?:has"
    r"|have|had|is|are|was|were|can be seen)\b)|\b(?:is|are|has|have|had) no\b(?!\s+(?:way|info"
    r"|image"
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
        members = split_members(passage.text)
        if is_list(members):
            return members
    has_brackets = any(bracket in answer.text for bracket in "[{(")
    shapes = _BRACKETS.findall(answer.text) if has_brackets else []
    # coordinates are written as lists are
    if sum(bool(pair) for _, _, pair in shapes) > 1:  # two points are no list
        return ()
    if shapes:
        # a long answer concludes at its end, and may have set out with the list
        brackets = shapes[0 if len(answer.sentences) > 3 else -1]
        return split_members(f"[{next(filter(None, brackets))}]")
    if len(answer.sentences) < 3:
        ends = answer.sentences
    else:
        ends = answer.sentences[-1:]
    ends = tuple(sentence for sentence in ends if not NEGATIVE.search(sentence)) or ends
    readings = (
        *map(split_members, answer.concluding[:1]),
        line_members(answer, 0),
        *map(split_members, reversed(ends)),
    )
    return next(filter(is_list, readings), ())


def line_members(answer: ParsedAnswer, column: int) -> tuple[str, ...]:
    """The members of a list with one on each line, numbered, or below a heading that ends in a
    colon; of "Top: black" the first column or the last.
    """
    lines = list(filter(str.strip, answer.text.split("\n")))
    rows = [line.strip(" |").split("|") for line in lines if re.match(r"\s*\|(?!\s*:?--)", line)]
    bullets = list(filter(_BULLET.match, lines))
    if len(lines) > 1 and lines[0].rstrip().endswith(":"):
        lines = lines[1:]
    if len(bullets) > 1:
        lines = []
        for line in bullets:
            columns = re.split(r"\s[–—-]\s|:\s", _BULLET.sub("", line))
            lines.append(columns[column])
    if len(rows) > 2:
        lines = [row[0] for row in rows[1:]]
    # a paragraph on a line of its own is no member
    if any(line.count(" ") > _MAX_MEMBER_SPACES and "(" not in line for line in lines):
        return ()  # prose
    members = tuple(filter(None, map(clean_member, lines)))
    if is_list(members) and not says_unable(answer.text):
        return members
    return ()


_MAX_MEMBER_SPACES = 40


def clean_member(text: str) -> str:
    """A member without an article, a name before "=", and "respectively" behind it; nothing for
    what is not there ("no knife").
    """
    text = text.strip(" .'\"`")
    while (shorter := _MEMBER_AFFIXES.sub("", text).strip(" .'\"")) != text:
        text = shorter
    if re.match(r"(?:no|not|but|without)\b", text, re.IGNORECASE):
        return ""
    return text


def is_list(members: Sequence[str]) -> bool:
    """Whether there are several members, each of a few words."""
    return len(members) > 1 and all(len(member.split()) < 5 for member in members)


_LEADING_REMARK = re.compile(
    r"^(?:among|of|according to|based on|judging by|según|de acuerdo con|laut|d'après|selon|segundo"
    r"|conforme|согласно)\b[^,:]*, ",
    re.IGNORECASE,
)
_CHINESE_INTRODUCTION = re.compile(r"^[^，,、]*?(?:的[^，,、]{0,6}是|包括|分别是|的?有|为)(?=\S+[、和及与])")
_CHINESE_CONTRAST = re.compile(r"[，,](?=[^，,、]*(?:只有|没有|不|则))[^。]*")
_DENIED_REMARK = re.compile(r"\s[-–—]\s*(?:no|not|but)\b.*", re.IGNORECASE)


def split_members(text: str) -> tuple[str, ...]:
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
        text = SUBORDINATE.split(text, maxsplit=1)[0]
    text = _LEADING_REMARK.sub("", text.strip(" ."))
    listed = _LIST_INTRODUCTION.sub("", text) if not brackets else text
    is_introduced = listed != text and _SEPARATOR.search(listed)
    text = listed if is_introduced else _PREDICATE.sub("", text)
    text = re.sub(r"^[^:,;\n]{0,40}:\s*", "", text)
    text = _DENIED_REMARK.sub("", text)
    if not text.isascii():
        text = _CHINESE_INTRODUCTION.sub("", _CHINESE_CONTRAST.sub("", text))
    text = re.sub(r",? respectively\b", "", IN_PARENTHESES.sub("", text))
    if re.fullmatch(r"[^\W\d]+(?:\s*/\s*[^\W\d]+)+", text):
        return tuple(map(str.strip, text.split("/")))
    # alternatives are no list: the answer leaves open which of them it means
    if re.search(r"\bor\b", text):
        return ()
    return tuple(filter(None, map(clean_member, _SEPARATOR.split(text))))
