"""The reader of lists: the members that an answer names in one list, in several that it sorts
("Inside: 2, 5; outside: 1, 3, 4"), or in its sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from hqm.scoring.commitments import (
    ParsedAnswer,
    is_denied,
    longest_spans,
    normalize,
    parse_answer,
    shared_stems,
    shared_words,
    without_side_remark,
)
from hqm.scoring.number_answers import stated_numbers
from hqm.scoring.number_clauses import IN_PARENTHESES, SUBORDINATE, without_parentheses
from hqm.scoring.plain_text import NEGATIVE, says_unable
from hqm.scoring.statements import asked_words, content_words, contraries_of
from hqm.scoring.written_numbers import LATIN, Number, numbers_in, sole_number

# lists in brackets or braces, and tuples that are the whole text or of numbers
_BRACKETS = re.compile(
    r"[\[{]([^\[\]{}]*[,;][^\[\]{}]*)[\]}]|^\W*\(([^()]*[,;][^()]*)\)\W*$"
    r"|\((\s*-?[\d./]+(?:\s*[,;]\s*-?[\d./]+)+\s*)\)"
)
_BULLET = re.compile(r"^\s*(?:[-*•–▪]|\(?\d{1,2}[.)])\s+(?=\S)")
# what surrounds a member without being part of it: "x = 3", "the star", "respectively"
_MEMBER_AFFIXES = re.compile(
    r"^(?:only|just)\s+|^(?:no\.|nr\.|n[°º]|#|№)\s*(?=\d)|^(?:an?|the|both|then|finally|lastly"
    r"|also|followed by|one|some)\s+(?=\w{2}|an? )"
    r"|^[a-z]\s*[=:]\s*"
    r"|,?\s+(?:respectively|each|too|as well)$|\s+\([^()]*\)$",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    r"\s*(?:(?<!\d),|,(?!\d{3}(?!\d))|[;、，→>\n]|\b(?:and|und|et|y|e|и|plus|then|followed by"
    r"|as well as|sowie|ainsi que|así como"
    r"|assim como|а также)\b|&|以及|[和及与](?=\S)|および|そして|그리고|및|와(?=\s)"
    r"|(?<=[\u30a1-\u30fc\u4e00-\u9fff])と(?=[\u30a1-\u30fc\u4e00-\u9fff])"
    # the Arabic conjunction is part of the word behind it, and that of Hindi a word
    r"|\s(?=و[^\W\d]{2})|(?<=\s)(?:और|तथा|एवं)(?=\s))"
    r"\s*(?:(?:and|then|finally)\s+)?",
    re.IGNORECASE,
)
_LIST_INTRODUCTION = re.compile(
    r"^.*?(?:\b(?:belong to|namely|are|is|were|was|includes?|see|shows?|contains?|have|has|spot"
    r"|identify|lists?)\b"
    r"|:(?!(?<=\d:)\d))\s*",  # not of 3:15
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"\s+(?:are|is|share|can|could|appear|were|have|both)\b.*$|\s+(?:on|in|at) (?:the|this)\b.*$",
    re.IGNORECASE,
)
ORDER_QUESTION = re.compile(
    r"\b(?:coordinates?|order|sort|rank|sequence|reverse|alphabetical|ascending|descending)",
    re.IGNORECASE,
)
# an answer that the list has no members
EMPTY_LIST = re.compile(
    r"\b(?:none|nothing|empty|nobody|no one)\b|(?:\bnot|n't) \w+ any\b(?! (?:\w+ )?(?:info|detail"
    r"|data|mention|evidence))|^\W*no (?!info|data|results?\b)\w+(?:\W*$|,| (?:has"
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
        brackets = shapes[0 if len(answer.statements) > 3 else -1]
        return split_members(f"[{next(filter(None, brackets))}]")
    if len(answer.statements) < 3:
        ends = answer.statements
    else:
        ends = answer.statements[-1:]
    ends = tuple(sentence for sentence in ends if not NEGATIVE.search(sentence)) or ends
    readings = (
        *map(split_members, answer.concluding[:1]),
        *member_columns(answer)[:1],
        *map(split_members, reversed(ends)),
    )
    return next(filter(is_list, readings), ())


def member_columns(answer: ParsedAnswer, max_words: int = 4) -> list[tuple[str, ...]]:
    """The columns of a list with a member on each line, numbered, or below a heading that ends in a
    colon, of which each cell is of a few words: of "Top: black" both.
    """
    columns = _columns(list_rows(answer.text))
    # a paragraph on a line of its own is no member
    texts = [line for line in chain(*columns) if "(" not in line]
    if says_unable(answer.text) or any(line.count(" ") > _MAX_MEMBER_SPACES for line in texts):
        return []  # prose
    members = (tuple(filter(None, map(clean_member, column))) for column in columns)
    return [column for column in members if is_list(column, max_words)]


_MAX_MEMBER_SPACES = 40


def list_rows(text: str) -> list[tuple[str, ...]]:
    """The rows of a list or table with a member on each line, without headings, and without what
    is indented below a member; each is split into columns at the signs that all have.

    >>> list_rows("Owners:\\n- Ann: 3 (kept)\\n- Bo: 4")
    [('Ann', '3 (kept)'), ('Bo', '4')]
    """
    table = _table_rows(text)
    if table:
        return table
    lines = list(filter(str.strip, text.split("\n")))
    members = [line for line in lines if not line.rstrip().endswith(":")]
    # a sole heading may be a bullet, above those of its members
    bullets = list(filter(_BULLET.match, members if len(members) > len(lines) - 2 else lines))
    if len(bullets) > 1:
        indent = min(len(line) - len(line.lstrip()) for line in bullets)
        lines = [line for line in bullets if not line[indent].isspace()]
    elif len(lines) > 1:
        lines = members
    lines = [_BULLET.sub("", line) for line in lines]
    shared = [sign for sign in _COLUMN_SIGNS if all(map(sign.search, lines))]
    if lines and shared:
        n_signs = min(len(shared[0].findall(line)) for line in lines)
        return [tuple(shared[0].split(line, maxsplit=n_signs)) for line in lines]
    # one line of several may have a sign within its member
    return [tuple(_COLUMN_SIGN.split(line) if len(bullets) > 1 else [line]) for line in lines]


def _columns(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The columns of the rows of a list: the first and last where some rows have more."""
    if len(set(map(len, rows))) == 1:
        return list(zip(*rows, strict=True))
    return [tuple(map(itemgetter(0), rows)), tuple(map(itemgetter(-1), rows))] if rows else []


_COLUMN_SIGNS = tuple(map(re.compile, (r"\s[–—-]\s", r":\s", r"\s(?=\()")))
_COLUMN_SIGN = re.compile(r"\s[–—-]\s|:\s")


def _table_rows(text: str) -> list[tuple[str, ...]]:
    """The rows of a table in Markdown, without its head."""
    lines = [line.strip().strip("|") for line in text.split("\n") if _TABLE_LINE.match(line)]
    rows = [tuple(map(str.strip, line.split("|"))) for line in lines if not _RULE.match(line)]
    return [] if len(rows) < 3 or len(set(map(len, rows))) > 1 else rows[1:]


_TABLE_LINE = re.compile(r"\s*\|.*\|\s*$")


def bullet_blocks(text: str) -> list[tuple[str, ...]]:
    """The columns of each block of bullets, without what is in parentheses; empty lines divide no
    block.

    >>> bullet_blocks("Signs:\\n- A\\n- B\\nWith a curve:\\n- B: 1 (at the top)\\n- C: 2")
    [('A', 'B'), ('B', 'C'), ('1 ', '2')]
    """
    blocks = list(zip(*_table_rows(text), strict=True))
    lines = filter(str.strip, IN_PARENTHESES.sub("", text).split("\n"))
    for is_bullet, block in groupby(lines, lambda line: _BULLET.match(line) is not None):
        if is_bullet:
            blocks += _columns(list_rows("\n".join(block)))
    return blocks


def clean_member(text: str) -> str:
    """A member without an article, a name before "=", and "respectively" behind it; nothing for
    what is not there ("no knife").
    """
    text = text.strip(" .'\"`")
    while (shorter := _MEMBER_AFFIXES.sub("", text).strip(" .'\"")) != text:
        text = shorter
    return "" if re.match(r"(?:no|not|but|without)\b", text, re.IGNORECASE) else text


def is_list(members: Sequence[str], max_words: int = 4) -> bool:
    """Whether there are several members, each of a few words."""
    return len(members) > 1 and all(len(member.split()) <= max_words for member in members)


_LEADING_REMARK = re.compile(
    r"^(?:among|of|according to|based on|judging by|según|de acuerdo con|laut|d'après|selon|segundo"
    r"|conforme|согласно)\b[^,:]*, ",
    re.IGNORECASE,
)
_CHINESE_INTRODUCTION = re.compile(
    r"^[^，,、]*?(?:的[^，,、]{0,6}是|包括|分别是|的?有|为)(?=\S+[、和及与])"
)
_CHINESE_CONTRAST = re.compile(r"[，,](?=[^，,、]*(?:只有|没有|不|则))[^。]*")
_DENIED_REMARK = re.compile(r"\s[-–—]\s*(?:no|not|but)\b.*", re.IGNORECASE)


def split_members(text: str) -> tuple[str, ...]:
    """The members of a list in brackets, or in a sentence."""
    if _PLAIN_LIST.fullmatch(text):
        return tuple(re.split(r"\s*[,×*·]\s*", text.rstrip(".")))
    brackets = _BRACKETS.search(text)
    if brackets:
        text = brackets[1] or brackets[2] or brackets[3]
    elif says_unable(text):
        return ()
    text = _space_commas(_WITH_MEMBER.sub(" and ", text))
    if "=" in text:
        text = re.sub(r"\bor\b", ",", text)
    first, *clauses = text.split(";")
    if clauses and _SEPARATOR.search(first):
        text = first  # "The star and the circle; the square is red"
    if not brackets:
        text = SUBORDINATE.split(text, maxsplit=1)[0]
    # "Ann (id: 7), Bo (id: 8)" has no introduction before its colon
    text = _LEADING_REMARK.sub("", IN_PARENTHESES.sub("", text.strip(" .")))
    listed = _LIST_INTRODUCTION.sub("", text) if not brackets else text
    is_introduced = listed != text and _SEPARATOR.search(listed)
    text = listed if is_introduced else _PREDICATE.sub("", text)
    text = re.sub(r"^[^:,;\n]{0,40}:(?!(?<=\d:)\d)\s*", "", text)  # not of 3:15
    text = _DENIED_REMARK.sub("", text)
    if not text.isascii():
        text = _CHINESE_INTRODUCTION.sub("", _CHINESE_CONTRAST.sub("", text))
    text = re.sub(r",? respectively\b", "", text)
    if re.fullmatch(r"[^\W\d]+(?:\s*/\s*[^\W\d]+)+", text):
        return tuple(map(str.strip, text.split("/")))
    # alternatives are no list: the answer leaves open which of them it means
    if re.search(r"\bor\b", text):
        return ()
    return tuple(filter(None, map(clean_member, _SEPARATOR.split(text))))


_WITH_MEMBER = re.compile(r",? (?:along|together) with ", re.IGNORECASE)


def _space_commas(text: str) -> str:
    """A text with a space behind each comma that divides two numbers, and is not within one.

    >>> _space_commas("5,12,150"), _space_commas("1,000 and 2,000")
    ('5, 12, 150', '1,000 and 2,000')
    """
    has_thousands = all(map(_THOUSANDS.fullmatch, _DIGIT_COMMAS.findall(text)))
    # only where other signs divide the members may commas be within them
    if has_thousands and _SEPARATOR.search(_THOUSANDS.sub("0", text)):
        return text
    return re.sub(r"(?<=\d),(?=\d)", ", ", text)


_DIGIT_COMMAS = re.compile(r"\d+(?:,\d+)+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_PLAIN_LIST = re.compile(
    r"(?:(?=.*[A-Za-z]{2})[\w'-]+(?:, ?[\w'-]+){2,}|\d+(?:\s*[×*·]\s*\d+)+)\.?", re.ASCII
)
"""Single words, of which any may be one that joins or subordinates elsewhere, or factors."""


# --- what an answer sorts out ---

_TICKS = "✅✔☑✓"
_CROSSES = "❌✗✘✖"
_RULE = re.compile(r"^[\s|:–—-]+$")
_BULLET_MARK = re.compile(r"^\s*(?:[-*•–▪]\s+)?")
_SENTENCE_END = re.compile(rf"(?<=[\w)][.!])\s+|;\s*|[。；]|(?<=[{_TICKS}{_CROSSES}])\s+")
_CLAUSE_END = re.compile(
    r",?\s+(?:while|whereas|but|and(?=\s+(?:the\s+)?[^\W\d]\w*\s+(?:\w+\s+)?(?:is|are|was"
    r"|were)\b))\s+"
    r"|[,，](?!\d)\s*(?:and\s+|but\s+|while\s+|whereas\s+)?"
)
_AFFIRMED = re.compile(
    rf"[{_TICKS}]|\b(?:true|correct|right|yes|holds|richtig|wahr|ja|correct[oae]s?|verdader[oa]s?"
    rf"|vraie?s?"
    r"|oui|sí|sim|да|верно)\b|正确|正しい|맞",
    re.IGNORECASE,
)
_DENIED = re.compile(
    rf"[{_CROSSES}]|\b(?:false|incorrect|wrong|nein|falsch|fals[oa]s?|faux|fausses?"
    rf"|incorrect[oa]s?|non|não"
    r"|нет|неверно)\b|错误|誤り|틀",
    re.IGNORECASE,
)
_COPULA = re.compile(
    r"\b(?:is|are|was|were|isn|aren|lies?|sits?|ist|sind|liegen|liegt|est|sont|es|son|está|están|é"
    r"|são)\b"
)


def sorted_out(text: str, question: str, names: Callable[[str], object]) -> list[str]:
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
    pieces = [piece for piece in all_pieces if names(piece)]
    if len(all_pieces) < 2 or not pieces:
        return []
    contraried = set()
    all_words = set(chain.from_iterable(map(content_words, all_pieces)))
    for word in asked_words(question):
        contraries = contraries_of(word)
        # "from top to bottom" asks for both
        if contraries.isdisjoint(asked_words(question)) and not contraries.isdisjoint(all_words):
            contraried.add(word)
    if contraried:
        return [
            piece
            for piece in pieces
            if contraried.intersection(content_words(piece)) and not NEGATIVE.search(piece)
        ]
    right_pieces = called_right(all_pieces)
    if right_pieces:
        return right_pieces if len(right_pieces) < len(all_pieces) else []
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


def _pieces(text: str, names: Callable[[str], object]) -> list[str]:
    """The rows, sentences and clauses of an answer."""
    pieces: list[str] = []
    lines = [line for line in text.split("\n") if not line.rstrip().endswith(":")]
    if any(map(_RULE.match, lines)):  # what stands above the rule is the head of a table
        lines = [
            line for line, next_line in pairwise([*lines, ""]) if not _RULE.match(next_line or "x")
        ]
    for line in lines:
        for sentence in filter(str.strip, _SENTENCE_END.split(_BULLET_MARK.sub("", line))):
            clauses = list(filter(None, map(str.strip, _CLAUSE_END.split(sentence))))
            is_split = len(clauses) > 1 and all(names(it) and _has_verdict(it) for it in clauses)
            pieces += clauses if is_split else [sentence]
    return pieces


def _has_verdict(clause: str) -> bool:
    return any(pattern.search(clause) for pattern in (_COPULA, _AFFIRMED, _DENIED, _POSITION))


_POSITION = re.compile(r"\b(?:in|out)(?:side)?\b\W*$")


_ROW = re.compile(r"^\s*(?:[-*•–▪]\s+)?([^:|]{1,40}?)\s*(?::|\s[–—-])\s+(\S.{0,60})$")
_TABLE_ROW = re.compile(r"^\s*\|([^|]+)\|([^|]+)\|\s*$")


_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|have|we|i|you|step|answer|question)\b", re.IGNORECASE
)
"""What makes the words before a colon a sentence, and no name of a row."""


_BRACKET_LINE = re.compile(r"[\s{}\[\],]*(?:```)?(?:json)?\s*")
"""A line of JSON that has no value."""


def asked_value(text: str, question: str) -> str:
    """The value in the only row of an answer whose name is that of the thing asked for; nothing
    where an answer has no such rows.

    >>> asked_value("Coat: red\\nUmbrella: yellow", "What color is the umbrella?")
    'yellow'
    """
    has_rows = "\n" in text and any(map(text.__contains__, (":", "|", " - ")))
    if not has_rows or "<answer>" in text or "\\boxed" in text:
        return ""
    lines = [line for line in text.split("\n") if not _BRACKET_LINE.fullmatch(line)]
    rows = [_TABLE_ROW.match(line) or _ROW.match(line) for line in lines]
    rows = [row for row in rows if row and not _RULE.match(row[0]) and not _CLAUSE.search(row[1])]
    n_prose = len(lines) - len(rows)
    if len(rows) < 2 or n_prose > 1:
        return ""
    values = {row[1]: row[2] for row in rows if row}
    name = _asked_name([row[1] for row in rows if row], question)
    return values.get(name, "").strip().removesuffix(",")


def _asked_name(names: Sequence[str], question: str) -> str:
    """The name of a row that has all words of a question that any of the names has, or nothing."""
    shared = [shared_stems(name, question) for name in names]
    asked_stems = max(shared, key=len)
    # "6 pots: 228, 2 dishes: 40", asked what both cost
    is_sole = shared.count(asked_stems) == 1 and all(stems <= asked_stems for stems in shared)
    return names[shared.index(asked_stems)] if asked_stems and is_sole else ""


# --- texts that an answer names ---

_ALTERNATIVE = re.compile(
    r"\s*(?:,? ?\(?\b(?:or|oder|ou|o|или|أو|या)\b|/|または|또는|或者?"
    r"|か(?=[\u30a1-\u30fc\u4e00-\u9fff]))"
    r"\s*\w",
    re.IGNORECASE,
)


_ALTERNATIVE_BEFORE = re.compile(
    r"\w\s*(?:,? ?\b(?:or|oder|ou|или|أو|या)\b|/|または|또는|或者?)\s*(?:an?\s)?(?:\w+\s)?$"
)
_ALTERNATIVE_PARTS = ("or", "/", "ode", "ou", " o ", "или", "أو", "या", "また", "또는", "或", "か")
"""What a text must have to name alternatives."""


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
        names = phrases_in(passage.text, phrases)
        # a correction may only explain; a short one that names nothing takes back what was said
        if names or not passage.corrects or len(passage.text.split()) < 5:
            return names
    # a bold label announces what stands behind it
    bold = [text for text in answer.emphasised if not text.endswith(":")]
    texts = [*bold, *answer.concluding[:1]]
    statements = answer.statements
    if answer.breaks_off:
        statements = statements[:-1] or statements
    if len(statements) > 1:
        first, last = statements[0], statements[-1]
        # "A is bigger than B", and a row for each of them below
        is_denied_above = _LABELLED_ROW.match(last) and any(
            normalize(phrase) in normalize(first) for phrase in phrases
        )
        texts += [first] if is_denied_above else [first, last]
    if len(statements) <= 3:
        texts.append(answer.text)
    return next(filter(None, (phrases_in(text, phrases) for text in texts)), ())


_LABELLED_ROW = re.compile(r"- [^:]{1,40}: ")


def phrases_in(text: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """The phrases that a text names and does not deny, in its order."""
    text = without_side_remark(normalize(text))
    subject = _SUBJECT_PLACE.match(text)
    if subject:
        text = f"{subject[1]} {text[subject.end() :]}"
    spans: list[tuple[int, int, str]] = []
    for phrase in phrases:
        for low, high in _phrase_spans(phrase, text):
            is_modified = _COMPOUND_DENIAL.match(text, high)
            if is_modified and text.startswith(text[low:high], is_modified.end()):
                continue  # "table tennis, not tennis"
            if low and text[low - 1] == "-" and _COMPASS.search(text, max(0, low - 6), low):
                continue  # "south-west" is not west
            if not is_denied(text, low, high):
                spans.append((low, high, phrase))
    return tuple(dict.fromkeys(phrase for _, _, phrase in sorted(longest_spans(spans))))


# where the subject is says nothing of what it does: "The arrow to the left of the door points up"
_SUBJECT_PLACE = re.compile(
    r"^((?:this |that )?\w+) (?:(?:to|on|at|in) (?:the )?(?:left|right|top|bottom|front|back|middle"
    r"|center|centre) of|near|behind|beside|above|below|under) (?:\w+ ){1,3}?"
    r"(?=(?:is|are|was|points?|shows?|says|reads|has)\b)"
)
_COMPASS = re.compile(r"\b(?:north|south|nord|sud|norte|sur|sul)-$")
_COMPOUND_DENIAL = re.compile(r",? (?:not|rather than|instead of) ")


class _Phrase(NamedTuple):
    """A phrase as it is looked for in a normalized text, in the singular or plural."""

    first: str
    others: tuple[tuple[str, str], ...]
    """The further words, each behind the space or hyphen before it."""
    inflects: bool


@lru_cache(maxsize=4096)
def _parse_phrase(phrase: str) -> _Phrase:
    normalized = normalize(phrase)
    single = re.sub(r"(?<=[a-z]{2}[^s])s$", "", normalized)
    first, *pieces = re.split("( and |[ -])", single)
    others = tuple(zip(pieces[::2], pieces[1::2], strict=True))
    return _Phrase(first, others, re.search(r"[a-z]{2}$", normalized) is not None)


_LATIN_SIGN = re.compile(f"[{LATIN}]")
_WORD_END = re.compile(f"(?![{LATIN}])")
_PLURAL_END = re.compile(f"(?:e?s)?(?![{LATIN}])")
_GAPS = {
    # "the camera is moving closer", for a camera moving closer
    " ": re.compile(r"[\"”]?[\s-]+[\"“]?(?:(?:is|are|was|were)\s+(?=\w+ing\b))?"),
    "-": re.compile(r"[\s-]?"),
    # "a mother and her daughter", "mother–daughter"
    " and ": re.compile(r"(?:\s+and\s+|\s*[&/–—-]\s*)(?:(?:her|his|its|their)\s+)?"),
}
"""What may stand in a text for the space or hyphen of a phrase."""


def _phrase_spans(phrase: str, text: str) -> list[tuple[int, int]]:
    """Where a normalized text has a phrase, found without a pattern of its own."""
    parsed = _parse_phrase(phrase)
    if not parsed.first or not all(word for _, word in parsed.others):
        return [match.span() for match in _phrase_pattern(phrase).finditer(text)]
    spans = []
    start = text.find(parsed.first)
    while start >= 0:
        end = _phrase_end(parsed, text, start)
        if end:
            spans.append((start, end))
        start = text.find(parsed.first, end or start + 1)
    return spans


def _phrase_end(phrase: _Phrase, text: str, start: int) -> int:
    """Where a phrase ends whose first word a text has at an offset; 0 where it is another."""
    if start and _LATIN_SIGN.match(text, start - 1):
        return 0
    end = start + len(phrase.first)
    for sign, word in phrase.others:
        gap = _GAPS[sign].match(text, end)
        if gap is None or not text.startswith(word, gap.end()):
            return 0
        end = gap.end() + len(word)
    ending = (_PLURAL_END if phrase.inflects else _WORD_END).match(text, end)
    return ending.end() if ending else 0


@lru_cache(maxsize=256)
def _phrase_pattern(phrase: str) -> re.Pattern[str]:
    """The pattern of a phrase in which signs stand beside each other, as in "5 - 3"."""
    single = re.sub(r"(?<=[a-z]{2}[^s])s$", "", normalize(phrase))
    words = re.escape(single).replace(r"\ ", r"[\s-]+").replace(r"\-", r"[\s-]?")
    plural = "(?:e?s)?" if re.search(r"[a-z]{2}$", normalize(phrase)) else ""
    return re.compile(rf"(?<![{LATIN}]){words}{plural}(?![{LATIN}])")


def hedges(text: str, phrase: str) -> bool:
    """Whether an answer names a phrase as one of several possibilities where it names it first, or
    last: "red or blue".
    """
    naming = [
        sentence
        for sentence in map(normalize, parse_answer(text).sentences)
        if _phrase_spans(phrase, sentence)
    ]
    if len(naming) < 2:
        return _hedges(normalize(parse_answer(text).text), phrase)
    return _hedges(naming[0], phrase) or _hedges(naming[-1], phrase)


def _hedges(text: str, phrase: str) -> bool:
    """Whether a normalized text names a phrase as one of several possibilities."""
    joins_phrases = " and " in text and " and " not in phrase
    # "red and blue" as a whole answer names two where one is right
    if joins_phrases and (
        len(text.split()) < 5
        or re.search(r"\btied?\b|(?<!than )\bboth\b", text)
        or _joins_contrary(text, phrase)
    ):
        return True
    if not any(part in text for part in _ALTERNATIVE_PARTS):
        return False
    for start, end in _phrase_spans(phrase, text):
        before = text[max(0, start - 80) : start]
        # the pattern looks back over the whole text, and is asked only where it can match
        may_follow = any(part in before for part in _ALTERNATIVE_PARTS)
        if may_follow and _ALTERNATIVE_BEFORE.search(before):
            return True
        if _ALTERNATIVE.match(text, end):
            return True
    return False


def _joins_contrary(text: str, phrase: str) -> bool:
    """Whether a normalized text names a phrase together with its contrary: "red and black"."""
    stems = content_words(phrase)
    contraries = contraries_of(stems[0]) if len(stems) == 1 else frozenset()
    for start, end in _phrase_spans(phrase, text) if contraries else ():
        joined = _JOINED_BEHIND.match(text, end) or _JOINED_BEFORE.search(text, 0, start)
        if joined and contraries.intersection(content_words(joined[1])):
            return True
    return False


_JOINED_BEHIND = re.compile(r"(?:, \w+)*,? and (\w+)\b(?! \w+ (?:is|are|was|were)\b)")
_JOINED_BEFORE = re.compile(r"\b(\w+)(?:, \w+)*,? and $")


def has_others(members: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether some members of a list name a target, and others none."""
    names = [bool(phrases_in(member, targets)) for member in members]
    return any(names) and not all(names)


def with_joined_members(text: str, targets: Sequence[str]) -> tuple[str, list[str]]:
    """A text and targets in which one that is a list itself, "berries and flowers", is one word,
    and in which small letters that are names are capitals.
    """
    if all(map(_SMALL_LETTER.fullmatch, targets)):
        text = _NAMING_LETTER.sub(lambda letter: letter[0].upper(), text)
        return text, list(map(str.upper, targets))
    joined_targets = []
    for target in targets:
        joined = target
        if " and " in target or " & " in target:
            joined = "_".join(target.split())
            text = re.sub(re.escape(target), joined, text, flags=re.IGNORECASE)
        joined_targets.append(joined)
    return text, joined_targets


_SMALL_LETTER = re.compile("[a-h]")
_NAMING_LETTER = re.compile(r"(?<![\w'])[a-h](?=\W*(?:$|[,:;)→>\n(-]|and [a-h]\b))")
"""A small letter that names something, and is no article."""


def with_rows(text: str) -> str:
    """A text in which the members of a list that is numbered in one line stand on lines of their
    own.

    >>> with_rows("1. Rome (1990) 2. Oslo (1999)")
    '1. Rome (1990)\\n2. Oslo (1999)'
    """
    rows = _INLINE_ROW.findall(text) if " 2. " in text else []
    if rows != [str(index) for index in range(2, len(rows) + 2)]:
        return text
    return _INLINE_ROW.sub(r"\n\1. ", text)


_INLINE_ROW = re.compile(r"(?<=[^\s=+*/]) +(\d{1,2})\. +(?=[^\W\d]|[\"'(*])")


def other_members(text: str, targets: Sequence[str], question: str) -> list[str]:
    """What a text lists beside three members or more: the toaster of "a lamp, a toaster, and"."""
    if len(targets) < 3:
        return []
    items = _LISTED_ITEM.findall(text)
    new_items = [item for item in items if not shared_words(item, question)]
    names_other = any(not phrases_in(item, targets) for item in new_items)
    return new_items if names_other else []


_LISTED_ITEM = re.compile(r"(?<=, )(?:and )?(?:an?|some) ([a-z]+)(?=,| and\b)")
"""A member of a list in a sentence, with its article and no more: "a toaster"."""


# a question for the winner, what only the loser does, and what is done to the loser; and the other
# way round
_OUTCOMES = (
    (
        re.compile(r"\b(?:w[io]ns?|winner|beat|defeated)\b", re.IGNORECASE),
        r"\s+(?:lost|loses|was (?:beaten|defeated))\b",
        r"\b(?:beats?|defeat(?:s|ed))\s+",
    ),
    (
        re.compile(r"\b(?:lose|lost|loses|loser)\b", re.IGNORECASE),
        r"\s+(?:won|wins|beat|beats|defeated)\b",
        r"\b(?:was (?:beaten|defeated) by|lost (?:to|against))\s+",
    ),
)


def is_contrary_outcome(text: str, target: str, question: str) -> bool:
    """Whether a text says of the target that it lost, where it is asked who won."""
    name = re.escape(normalize(target))
    return any(
        event.search(question) and re.search(rf"\b{name}{outcome}|{deed}{name}\b", normalize(text))
        for event, outcome, deed in _OUTCOMES
    )


# --- lists in scripts that set no spaces ---

_CONJUNCTION = "(?:と|、|・|や|和|与|及び|および|以及|そして|それに|[,，])"
_JOINT = re.compile(rf"[」』”\"）)]*\s*{_CONJUNCTION}\s*[「『“\"（(]*")
"""What stands between two members."""
_MEMBER_BEFORE = re.compile(rf"[^はがにではも]\s*{_CONJUNCTION}\s*[「『“\"]*$")
_MEMBER_BEHIND = re.compile(rf"[」』”\"]*\s*(?:{_CONJUNCTION}(?=[^。\s])|など|等)")


def names_joined(sentences: Sequence[str], targets: Sequence[str]) -> bool | None:
    """Whether a sentence joins exactly these members; False where all are named otherwise, which
    leaves it open what the list is, and None where one is not named at all.

    >>> names_joined(["風神と雷神が対比されています。"], ["雷神", "風神"])
    True
    >>> names_joined(["左が風神で、右が雷神です。"], ["風神", "雷神"]) is None
    False
    """
    names = list(map(normalize, targets))
    text = normalize(" ".join(sentences))
    if not all(name in text for name in names):
        return None
    return any(_joins(normalize(line), names) for line in sentences if not says_unable(line))


def _joins(sentence: str, names: Sequence[str]) -> bool:
    """Whether a sentence has all names beside each other, and no other member beside them."""
    starts = sorted((sentence.find(name), name) for name in names)
    if starts[0][0] < 0:
        return False
    end = starts[0][0]
    for index, (start, name) in enumerate(starts):
        if index and _JOINT.fullmatch(sentence, end, start) is None:
            return False
        end = start + len(name)
    has_more = _MEMBER_BEFORE.search(sentence[: starts[0][0]]) or _MEMBER_BEHIND.match(
        sentence, end
    )
    return not has_more


# --- lists of numbers ---

_COUNTER_STATEMENT = re.compile(
    r";(?=[^;]*\b(?:it|they|he|she)\b)|,? (?:whereas|while|but not|unlike|rather than)\b"
)
_SINGLE = re.compile(
    r"\b(?:only|nur|just|solo|sólo|seulement|apenas|somente|только)\b|只有", re.IGNORECASE
)


def concluding_numbers(
    answer: ParsedAnswer, n_keys: int, question: str
) -> tuple[str, list[Number]]:
    """The last sentence of an answer with its numbers; the conclusion where that has as many as the
    keys, and the last sentence has not: "Therefore, x can be -1 or -5. To verify: ...".
    """
    last = _COUNTER_STATEMENT.split(without_parentheses(answer.statements[-1]), maxsplit=1)[0]
    numbers = stated_numbers(last, question)
    concluded = stated_numbers(answer.concluding[0], question) if answer.concluding else []
    if len(concluded) == n_keys != len(numbers):
        return answer.concluding[0], concluded
    return last, numbers


def number_columns(text: str) -> list[list[Number]]:
    """The numbers of the columns that have one in each row of a list, or the only ones of its rows.

    >>> [list(map(str, column)) for column in number_columns("Ann (1994) - 7\\nBo (1995) - 8")]
    [['1994', '1995'], ['7', '8']]
    """
    rows = list_rows(text)
    columns = [*_columns(rows), tuple(map(" ".join, rows))]
    numbers = [tuple(map(numbers_in, column)) for column in columns if len(column) > 1]
    return [list(chain(*column)) for column in numbers if set(map(len, column)) == {1}]


def says_single(sentence: str, answer: ParsedAnswer) -> bool:
    """Whether a sentence says that there is a single number: the only bold one, or behind "="."""
    is_bold = len(answer.statements) == 1 and any(map(sole_number, answer.emphasised))
    result = sole_number(sentence[sentence.rfind("=") + 1 :])
    return is_bold or result is not None or _SINGLE.search(sentence) is not None
