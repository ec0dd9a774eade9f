"""Answers that sort things into those that are asked for and others, or give each a value of its
own: "Inside: 2, 5; outside: 1, 3, 4", "A: true, B: false", "Coat: red, umbrella: yellow".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, pairwise

from hqm.scoring.commitments import shared_words
from hqm.scoring.polar_answers import NEGATIVE
from hqm.scoring.statements import asked_words, content_words, contraries_of

_TICKS = "✅✔☑✓"
_CROSSES = "❌✗✘✖"
_RULE = re.compile(r"^[\s|:–—-]+$")
_BULLET = re.compile(r"^\s*(?:[-*•–▪]\s+)?")
_SENTENCE_END = re.compile(rf"(?<=[\w)][.!])\s+|;\s*|[。；]|(?<=[{_TICKS}{_CROSSES}])\s+")
_CLAUSE_END = re.compile(
    r",?\s+(?:while|whereas|but|and(?=\s+(?:the\s+)?[^\W\d]\w*\s+(?:\w+\s+)?(?:is|are|was|were)\b))\s+"
    r"|[,，](?!\d)\s*(?:and\s+|but\s+|while\s+|whereas\s+)?"
)
_AFFIRMED = re.compile(
    rf"[{_TICKS}]|\b(?:true|correct|right|yes|holds|richtig|wahr|ja|correct[oae]s?|verdader[oa]s?|vraie?s?"
    r"|oui|sí|sim|да|верно)\b|正确|正しい|맞",
    re.IGNORECASE,
)
_DENIED = re.compile(
    rf"[{_CROSSES}]|\b(?:false|incorrect|wrong|nein|falsch|fals[oa]s?|faux|fausses?|incorrect[oa]s?|non|não"
    r"|нет|неверно)\b|错误|誤り|틀",
    re.IGNORECASE,
)
_COPULA = re.compile(
    r"\b(?:is|are|was|were|isn|aren|lies?|sits?|ist|sind|liegen|liegt|est|sont|es|son|está|están|é|são)\b"
)


def sorted_out(text: str, question: str, names: Callable[[str], bool]) -> list[str]:
    """The pieces of an answer that name what is asked for, where others name what is not; nothing
    for an answer that sorts nothing out.

    Parameters
    ----------
    text
        The answer as it would be read aloud.
    question
        The question, whose words a piece repeats, or says the contrary of.
    names
        Whether a piece names one of the things in question.

    Examples
    --------
    >>> sorted_out("1 and 3 outside; 2 inside", "Which are inside?", lambda piece: True)
    ['2 inside']
    """
    all_pieces = _pieces(text, names)
    pieces = list(filter(names, all_pieces))
    if len(all_pieces) < 2 or not pieces:
        return []
    contraried = set()
    said = set(chain.from_iterable(map(content_words, all_pieces)))
    for word in asked_words(question):
        contraries = contraries_of(word)
        # "from top to bottom" asks for both
        if contraries.isdisjoint(asked_words(question)) and not contraries.isdisjoint(said):
            contraried.add(word)
    if contraried:
        affirmed = []
        for piece in pieces:
            if contraried.intersection(content_words(piece)) and not NEGATIVE.search(piece):
                affirmed.append(piece)
        return affirmed
    affirmed = called_right(pieces) or _repeating(pieces, question)
    return affirmed if len(affirmed) < len(pieces) else []


def called_right(pieces: Sequence[str]) -> list[str]:
    """The pieces that call right what they name, where all others are called wrong."""
    right = []
    for piece in pieces:
        is_denied = _DENIED.search(piece) or NEGATIVE.search(piece)
        if _AFFIRMED.search(piece) and not is_denied:
            right.append(piece)
        elif not is_denied:
            return []
    return right


def _repeating(pieces: Sequence[str], question: str) -> list[str]:
    """The pieces that repeat the same words of a question, where each other one repeats none."""
    if not all(map(_COPULA.search, pieces)):
        return []
    repeating = []
    common = set(asked_words(question))
    for piece in pieces:
        if shared_words(piece, question) and not NEGATIVE.search(piece):
            repeating.append(piece)
            common.intersection_update(content_words(piece))
    return repeating if common else []


def _pieces(text: str, names: Callable[[str], bool]) -> list[str]:
    """The rows, sentences and clauses of an answer."""
    pieces: list[str] = []
    lines = text.split("\n")
    if any(map(_RULE.match, lines)):  # what stands above the rule is the head of a table
        lines = [line for line, below in pairwise([*lines, ""]) if not _RULE.match(below or "x")]
    for line in lines:
        for sentence in filter(str.strip, _SENTENCE_END.split(_BULLET.sub("", line))):
            clauses = list(filter(None, map(str.strip, _CLAUSE_END.split(sentence))))
            is_split = len(clauses) > 1 and all(names(it) and _has_verdict(it) for it in clauses)
            pieces += clauses if is_split else [sentence]
    return pieces


def _has_verdict(clause: str) -> bool:
    return any(pattern.search(clause) for pattern in (_COPULA, _AFFIRMED, _DENIED, _PLACE))


_PLACE = re.compile(r"\b(?:in|out)(?:side)?\b\W*$")


_ROW = re.compile(r"^\s*(?:[-*•–▪]\s+)?([^:|]{1,40}?)\s*(?::|\s[–—-])\s+(\S.{0,60})$")
_TABLE_ROW = re.compile(r"^\s*\|([^|]+)\|([^|]+)\|\s*$")


_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|have|we|i|you|step|answer|question)\b", re.IGNORECASE
)
"""What makes the words before a colon a sentence, and no name of a row."""


def asked_value(text: str, question: str) -> str:
    """The value in the only row of an answer whose name is that of the thing asked for; nothing
    where an answer has no such rows.

    >>> asked_value("Coat: red\\nUmbrella: yellow", "What color is the umbrella?")
    'yellow'
    """
    if "\n" not in text or (":" not in text and "|" not in text and " - " not in text):
        return ""
    lines = list(filter(str.strip, text.split("\n")))
    rows = [_TABLE_ROW.match(line) or _ROW.match(line) for line in lines]
    rows = [row for row in rows if row and not _RULE.match(row[0]) and not _CLAUSE.search(row[1])]
    n_other = len(lines) - len(rows)
    if len(rows) < 2 or n_other > 1:
        return ""
    overlaps = [shared_words(row[1], question) for row in rows if row]
    if not max(overlaps) or overlaps.count(max(overlaps)) > 1:
        return ""
    row = rows[overlaps.index(max(overlaps))]
    return row[2].strip() if row else ""
