"""Whether an answer gives the list that is the key, of texts or of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, pairwise
from typing import NamedTuple

from hqm.scoring.commitments import (
    EXCEPTION,
    TENTATIVE,
    ParsedAnswer,
    is_tentative,
    normalize,
    parse_answer,
    shared_words,
)
from hqm.scoring.list_answers import (
    EMPTY_LIST,
    ORDER_QUESTION,
    bullet_blocks,
    concluding_numbers,
    has_others,
    hedges,
    is_list,
    list_rows,
    member_columns,
    names_joined,
    names_phrase,
    number_columns,
    other_members,
    phrases_in,
    read_list,
    says_single,
    sorted_out,
    split_members,
    with_joined_members,
    with_rows,
)
from hqm.scoring.number_clauses import undenied_numbers
from hqm.scoring.plain_text import DOUBT, NEGATIVE, says_unable
from hqm.scoring.polar_words import has_other_script, is_english, language_of
from hqm.scoring.restatements import restating_sentences
from hqm.scoring.written_numbers import Number, numbers_in, sole_number
from hqm.types import Item


class ShortMatch(NamedTuple):
    """Whether a short answer is right, and what was read."""

    right: bool
    read: str


def match_list(
    text: str,
    targets: Sequence[str],
    rivals: Sequence[str],
    numbers: Sequence[Number | None],
    item: Item,
) -> ShortMatch | None:
    """A list must name all right answers and no other; numbers whose key is not in order must
    stand in its order.
    """
    answer = parse_answer(text)
    if _is_open_list(answer) or _gives_exceptions(answer) or _is_tentative_list(answer, targets):
        return None
    if all(normalize(target) in _TRUTHS for target in targets):
        return _match_truths(answer, targets)
    keys = [number.value for number in numbers if number is not None]
    if len(keys) == len(targets):
        return _match_numbers(text, keys, item)
    if rivals:
        phrases = names_phrase(text, [*targets, *rivals])
        is_right = set(phrases) == set(targets)
        return ShortMatch(is_right, ", ".join(phrases)) if phrases else None
    return _match_members(text, answer, targets, item)


_TRUTHS = ("yes", "no", "true", "false")
_TRUTH = re.compile(r"\b(?:yes|no|true|false)\b", re.IGNORECASE)
_TRUTH_LIST = re.compile(
    rf"{_TRUTH.pattern}(?:\s*(?:[,;/]|\band\b)[\s,]*(?:and )?{_TRUTH.pattern})+", re.IGNORECASE
)


def _match_truths(answer: ParsedAnswer, targets: Sequence[str]) -> ShortMatch | None:
    """The match of the last list in which an answer says of each of several things whether it
    holds: "no, yes, yes".
    """
    lists = [_TRUTH.findall(listing.lower()) for listing in _TRUTH_LIST.findall(answer.text)]
    truths = next((listing for listing in lists[::-1] if len(listing) == len(targets)), None)
    if truths is None:
        return None
    return ShortMatch(truths == list(map(normalize, targets)), ", ".join(truths))


def _match_members(
    text: str, answer: ParsedAnswer, targets: Sequence[str], item: Item
) -> ShortMatch | None:
    """The match of an answer to an item whose key is a list of texts."""
    is_unspaced = _UNSPACED_SCRIPT.search(text) is not None
    is_joined = names_joined(answer.statements, targets) if is_unspaced else None
    if is_joined:
        return ShortMatch(True, ", ".join(targets))
    text, targets = with_joined_members(with_rows(text), targets)
    answer = parse_answer(text)
    readings = _list_readings(text, answer, targets, item.prompt)
    is_ordered = ORDER_QUESTION.search(item.prompt) is not None
    verbatim = _verbatim_members(answer, readings, targets, is_ordered)
    if verbatim:
        return ShortMatch(True, ", ".join(verbatim))
    for members in [*readings, *_further_lists(answer, readings, targets)]:
        names = _member_targets(members, targets)
        # any reading that names exactly the key is right: wrong readings seldom hit it by chance
        n_different = len(set(targets))
        is_counted = n_different == len(targets) or sorted(names) == sorted(targets)
        if set(names) == set(targets) and is_counted:
            if any(map(_is_doubtful, members)):
                return None
            in_order = not is_ordered or names == list(targets)
            return ShortMatch(in_order, ", ".join(members))
    is_cut = answer.breaks_off and not answer.explicit
    # without spaces it is open where a member ends
    if (
        is_cut
        or is_joined is False
        or any(may_translate(answer.text, target) for target in targets)
    ):
        return None
    listing = _telling_list(readings, targets)
    if _may_be_other(listing, phrases_in(answer.text, targets), targets):
        if _concludes_other(answer, targets, item.prompt):
            return ShortMatch(False, answer.statements[-1][:80])
        return _match_named_list(text, answer, targets, item.prompt)
    # a second sentence may add members, so that the list is not yet all
    if listing and (not _ADDITION.search(answer.text) or has_others(listing, targets)):
        return ShortMatch(False, ", ".join(listing))
    return _match_named_list(text, answer, targets, item.prompt)


_COMMA = re.compile(r"[,;]\s+(?:and\s+)?|\n")


def _verbatim_members(
    answer: ParsedAnswer,
    readings: Sequence[tuple[str, ...]],
    targets: Sequence[str],
    is_ordered: bool,
) -> Sequence[str]:
    """The members of a reading that are the targets, word by word, and in their order where that
    counts.
    """
    # titles may begin as what surrounds a member: "Both Sides, The Stand"
    pieces = [_COMMA.split(passage.text) for passage in answer.explicit[:1]]
    keys = list(map(normalize, targets))
    for members in (*readings, *pieces):
        names = list(map(normalize, members))
        if names == keys or (not is_ordered and sorted(names) == sorted(keys)):
            return members
    return ()


def _is_doubtful(member: str) -> bool:
    """Whether a member begins with what makes it doubtful; "may" alone is a word of a list."""
    return " " in member and DOUBT.match(member) is not None


def _may_be_other(listing: Sequence[str], named: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether a reading need not be the list of an answer: it names no member of the key, or only
    some of those that the answer names.
    """
    if not any(phrases_in(member, targets) for member in listing):
        return bool(named)
    return len(named) == len(targets) and not has_others(listing, targets)


def _telling_list(readings: Sequence[tuple[str, ...]], targets: Sequence[str]) -> tuple[str, ...]:
    """The first reading that names a member of the key, else the first."""
    for members in readings:
        if any(phrases_in(member, targets) for member in members):
            return members
    return readings[0] if readings else ()


def _concludes_other(answer: ParsedAnswer, targets: Sequence[str], question: str) -> bool:
    """Whether the last sentence of an answer repeats the question and names no member of the
    key.
    """
    last = answer.statements[-1:]
    return bool(restating_sentences(last, question)) and not phrases_in(last[0], targets)


def _further_lists(
    answer: ParsedAnswer, readings: Sequence[tuple[str, ...]], targets: Sequence[str]
) -> list[tuple[str, ...]]:
    """The lists in the blocks of bullets and the sentences of an answer, which say that it is right
    where one is exactly the key; none where the likeliest reading names nothing but members.
    """
    likeliest = readings[0] if readings else ()
    # of "The order is:\\n1. ..." only the first row is called so
    called = " ".join(it.text for it in answer.explicit if not _FIRST_ROW.match(it.text))
    names_only = len(likeliest) > 1 and all(phrases_in(member, targets) for member in likeliest)
    if names_only or phrases_in(called, targets):
        return []
    lists = bullet_blocks(answer.text)
    if len(answer.statements) <= _MAX_LISTING_SENTENCES:
        affirmative = [line for line in answer.statements if not NEGATIVE.search(line)]
        lists += map(split_members, affirmative)
    lists.append(tuple(map(" ".join, list_rows(answer.text))))
    # the bullets below those that are headings
    lists.append(tuple(row for row in answer.text.split("\n") if not row.endswith(":")))
    return [members for members in lists if len(members) == len(targets)]


_FIRST_ROW = re.compile(r"(?:1[.)]|[-*•]) ")
_MAX_LISTING_SENTENCES = 12
_OPEN_LIST = re.compile(
    r"\b(?:etc|and (?:others|so on|more)|among others|amongst others|including but not|usw"
    r"|entre otr[oa]s|entre outr[oa]s|entre autres|и др|и т\.)\b|\bsuch as\b|等等?[。.]?$|など",
    re.IGNORECASE,
)
"""What leaves a list open: "apple, banana, etc."."""


def _is_open_list(answer: ParsedAnswer) -> bool:
    return len(answer.statements) < _MAX_OPEN_SENTENCES and bool(_OPEN_LIST.search(answer.text))


_MAX_OPEN_SENTENCES = 3
_UNSPACED_SCRIPT = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


def _gives_exceptions(answer: ParsedAnswer) -> bool:
    """Whether the sentence that may give the list says what is not in it: "all except 2015"."""
    called = [passage.text for passage in answer.explicit[:1]]
    return any(
        EXCEPTION.search(commitment.rpartition(": ")[2])
        for commitment in called or answer.statements[-1:]
    )


def _is_tentative_list(answer: ParsedAnswer, targets: Sequence[str]) -> bool:
    """Whether an answer is one sentence that names no member before it says that all are only
    possible: "some fruits, possibly a pear".
    """
    if not is_tentative_answer(answer):
        return False
    certain = TENTATIVE.split(answer.text, maxsplit=1)[0]
    return not phrases_in(certain, targets)


_REFUSAL = re.compile(r"\bsorry\b", re.IGNORECASE)
_ADDITION = re.compile(r"[.;] [^.;]*\b(?:also|as well|too|additionally|in addition)\b", re.I)


def _match_named_list(
    text: str, answer: ParsedAnswer, targets: Sequence[str], question: str
) -> ShortMatch | None:
    """The match of an answer that gives no list, but may name the members in its sentences."""
    is_empty = _is_empty_list(answer, targets)
    last = "".join(answer.statements[-1:])
    phrases = names_phrase(text, targets)
    if len(phrases) == len(targets) and ORDER_QUESTION.search(question):
        return _match_order(phrases, answer.text, targets, question)
    if says_unable(last) and not is_empty and len(phrases) < 2:
        return None
    if len(phrases) < len(targets) and not answer.explicit and not is_empty:
        phrases = phrases_in(answer.text, targets)
        names_more = not all(phrases_in(sentence, targets) for sentence in answer.statements)
        if len(phrases) == len(targets) and names_more:
            return None  # a sentence may name what is not in the list
    if len(phrases) < len(targets):
        return _match_some(phrases, is_empty, answer)
    if _leaves_member_open(text, answer, targets, question):
        return None
    further_items = other_members(answer.text, targets, question)
    if further_items:
        return ShortMatch(False, ", ".join((*phrases, *further_items)))
    first, _, second = answer.text.partition(";")
    if second and shared_words(first, question) > shared_words(second, question):
        phrases = phrases_in(first, targets)  # "on the desk; the lamp stands on the floor"
        if len(phrases) < len(targets):
            return ShortMatch(False, ", ".join(phrases))
    return ShortMatch(True, ", ".join(phrases))


def _leaves_member_open(
    text: str, answer: ParsedAnswer, targets: Sequence[str], question: str
) -> bool:
    """Whether an answer names a member as one of several possibilities, as what is only possible
    ("There might be a horse as well"), or only as the color of what is not asked about.
    """
    certain_text = " ".join(line for line in answer.statements if not TENTATIVE.search(line))
    if len(phrases_in(certain_text, targets)) < len(targets):
        return True
    return any(
        hedges(text, target) or _modifies_other(text, target, question) for target in targets
    )


def _match_order(
    phrases: tuple[str, ...], text: str, targets: Sequence[str], question: str
) -> ShortMatch | None:
    """The match of a text that names all members, which is not known to be wrong where another
    order only explains.
    """
    ends = _ORDER_ENDS.search(question)
    # "The horse is the largest, then the cat", asked to go from smallest to largest
    is_turned = ends and ends[2] in text and ends[1] not in text
    in_order = phrases[:: -1 if is_turned else 1] == tuple(targets)
    return ShortMatch(True, ", ".join(phrases)) if in_order else None


def _match_some(phrases: Sequence[str], is_empty: bool, answer: ParsedAnswer) -> ShortMatch | None:
    """The match of an answer that names some members, none, or calls a single thing its answer."""
    called = [passage.text for passage in answer.explicit if not passage.corrects]
    read = ", ".join(phrases) or next(filter(_SINGLE_MEMBER.fullmatch, called[:1]), "")
    return ShortMatch(False, read) if read or is_empty else None


def _is_empty_list(answer: ParsedAnswer, targets: Sequence[str]) -> bool:
    """Whether an answer says that there is nothing to list."""
    is_empty = EMPTY_LIST.search(answer.text) and not _REFUSAL.search(answer.text)
    return bool(is_empty) and not phrases_in(answer.text, targets)


_ASCENDING_QUESTION = re.compile(
    r"\b(?:ascending|increasing|rising)\b"
    r"|\bfrom (?:the )?(?:least|low|small|short|few|light|slow|cold|near|clos|young)",
    re.IGNORECASE,
)
_ORDER_ENDS = re.compile(r"\bfrom (?:the )?(\w+) to (?:the )?(\w+)", re.IGNORECASE)
_SINGLE_MEMBER = re.compile(
    r"(?!(?:an?|the|these|those|all|both|each|every|any|some|neither|none|same|not?|see"
    r"|unclear)\b)[a-z]{3,}(?: [a-z]{3,})?\W*",
    re.IGNORECASE,
)
_COLOR_QUESTION = re.compile(r"\bcolou?rs\b", re.IGNORECASE)


def _modifies_other(text: str, color: str, question: str) -> bool:
    """Whether colors are asked for and a text has one only of what is not asked about: "a white
    pillow".
    """
    if not _COLOR_QUESTION.search(question):
        return False
    nouns = re.findall(rf"\b{re.escape(color)} ([a-z]{{3,}})\b", text, re.IGNORECASE)
    is_unmodified = re.search(
        rf"\b{re.escape(color)}\b(?! (?!and\b|or\b|in\b)[a-z])", text, re.IGNORECASE
    )
    return (
        bool(nouns)
        and not is_unmodified
        and not any(shared_words(noun, question) for noun in nouns)
    )


def _list_readings(
    text: str, answer: ParsedAnswer, targets: Sequence[str], question: str
) -> list[tuple[str, ...]]:
    """The lists that an answer may give, the likeliest first, and those of its few sentences."""
    readings = _likely_lists(text, answer, targets, question)
    if not answer.explicit and len(answer.statements) in (2, 3):
        affirmative = [line for line in answer.statements if not NEGATIVE.search(line)]
        readings += filter(is_list, map(split_members, affirmative))
    return [_without_introduction(members, targets, question) for members in readings]


def _likely_lists(
    text: str, answer: ParsedAnswer, targets: Sequence[str], question: str
) -> list[tuple[str, ...]]:
    """The lists that an answer may give, the likeliest first; for letters the letters it names."""
    if all(re.fullmatch("[A-Z]", target) for target in targets):
        return _letter_readings(answer, question)
    affirmed = []
    if not answer.explicit and not answer.concluding:
        affirmed = sorted_out(answer.text, question, lambda text: phrases_in(text, targets))
    if affirmed:
        sorted_members = tuple(chain.from_iterable(map(_row_members, affirmed)))
        return list(filter(None, (sorted_members, read_list("; ".join(affirmed)))))
    bold = answer.emphasised[::-1]
    max_words = max(4, *(len(target.split()) for target in targets))
    columns = member_columns(answer, max_words)[::-1]
    return list(filter(None, (_spaced_members(answer, targets), read_list(text), *columns, bold)))


def _spaced_members(answer: ParsedAnswer, targets: Sequence[str]) -> tuple[str, ...]:
    """The words of what is called the answer, where that is a list with nothing but spaces."""
    words = (answer.explicit[0].text if answer.explicit else answer.text).rstrip(".").split()
    keys = set(map(normalize, targets))
    n_named = len(keys.intersection(map(normalize, words)))
    is_row = all(map(str.isalnum, words)) and not any(" " in key for key in keys)
    names_members = 2 * n_named > len(words) if answer.explicit else n_named == len(words)
    return tuple(words) if is_row and n_named > 1 and names_members else ()


def _letter_readings(answer: ParsedAnswer, question: str) -> list[tuple[str, ...]]:
    """The letters of what is called the answer, of the conclusion, or of what is sorted out."""
    conclusions = (*(passage.text for passage in answer.explicit[:1]), *answer.concluding[:1])
    texts = [text for text in conclusions if len(_LIST_LETTER.findall(text)) > 1]
    if not texts:
        texts = [answer.text]
    if texts == [answer.text] and not ORDER_QUESTION.search(question):
        texts.insert(0, "; ".join(sorted_out(answer.text, question, _LIST_LETTER.search)))
    for text in filter(None, texts):
        affirmed = re.sub(r"[^;.,]*(?:\b(?:wrong|incorrect|false|not)\b|n't\b)[^;.,]*", "", text)
        letters = _LIST_LETTER.findall(affirmed)
        if not letters and not _LOWER_LETTER.search(affirmed):
            letters = re.findall("[A-Z]", affirmed)  # "BD"
        if letters:
            is_turned = (
                "<" in affirmed and ">" not in affirmed and not _ASCENDING_QUESTION.search(question)
            )
            return [tuple(letters[::-1] if is_turned else letters)]
    return []


def _row_members(row: str) -> tuple[str, ...]:
    """The members in a row of an answer that sorts things out, before its verdict or behind it."""
    name, _, value = row.strip(" |").partition(":" if ":" in row else "|")
    value = value.strip()
    return split_members(value if split_members(value)[1:] else name)


# "I" before a verb is who answers: "I can't tell"
_LIST_LETTER = re.compile(r"\b(?!I(?:['’]|\s+(?!(?:and|or|is|are|has|have)\b)[a-z]))[A-Z]\b")
_LOWER_LETTER = re.compile("[a-z]")


def _without_introduction(
    members: tuple[str, ...], targets: Sequence[str], question: str
) -> tuple[str, ...]:
    """The members without a first one that repeats the question and is none: "On the carpet"."""
    if len(members) < 2 or phrases_in(members[0], targets):
        return members
    first = members[0]
    pairs = ("".join(pair) for pair in pairwise(first)) if not first.isascii() else ()
    is_repeated = any(_UNSPACED_PAIR.fullmatch(pair) and pair in question for pair in pairs)
    return members[1:] if is_repeated or shared_words(first, question) else members


_UNSPACED_PAIR = re.compile("[\u3400-\u9fff\u30a1-\u30fa\uac00-\ud7a3]{2}")


def _member_targets(members: Sequence[str], targets: Sequence[str]) -> list[str]:
    """The target that each member names; nothing where one names none or several."""
    names: list[str] = []
    for member in members:
        pieces: tuple[str, ...] = (member,)
        if len(phrases_in(member, targets)) > 1:
            pieces = split_members(member)
        for piece in pieces:
            targets_named = phrases_in(piece, targets)
            if len(targets_named) != 1:
                return []
            names += targets_named
    return names


def _match_numbers(text: str, keys: list[Fraction], item: Item) -> ShortMatch | None:
    """The match of a list of numbers: its members, or all numbers of a sentence that has as
    many.
    """
    text = _affirmed_numbers(text, item.prompt)
    answer = parse_answer(text)
    if _OPEN_MEMBER.search(answer.text) and not answer.explicit:
        return None
    is_sorted = keys == sorted(keys) and not ORDER_QUESTION.search(item.prompt)
    by_columns = _match_columns(number_columns(answer.text), keys, is_sorted)
    if by_columns and by_columns.right:
        return by_columns
    return _match_listed_numbers(text, answer, keys, item) or by_columns


def _match_listed_numbers(
    text: str, answer: ParsedAnswer, keys: list[Fraction], item: Item
) -> ShortMatch | None:
    """The match of the numbers in a list, or of the last sentence."""
    numbers = [
        sole_number(member) or _named_step(member, item.prompt) for member in read_list(text)
    ]
    if (not numbers or None in numbers) and answer.statements and not says_unable(answer.text):
        last, new_numbers = concluding_numbers(answer, len(keys), item.prompt)
        is_single = says_single(last, answer)
        if len(new_numbers) < len(keys) and is_single:
            is_common = {number.value for number in new_numbers} == set(keys)
            return ShortMatch(is_common, ", ".join(map(str, new_numbers)))
        numbers = _numbers_of_sentence(last, new_numbers, len(keys)) or _closing_numbers(answer)
    values = [number.value for number in numbers if number is not None]
    if not values and EMPTY_LIST.search(answer.text):
        return ShortMatch(False, "none")
    if not values or len(values) < len(numbers):
        return None
    if keys == sorted(keys) and not ORDER_QUESTION.search(item.prompt):
        values.sort()
    return ShortMatch(values == keys, ", ".join(map(str, numbers)))


def _match_columns(
    columns: Sequence[Sequence[Number]], keys: list[Fraction], is_sorted: bool
) -> ShortMatch | None:
    """The match of the column of numbers that is the key, or else of the first."""
    for column in columns:
        values = [number.value for number in column]
        if (sorted(values) if is_sorted else values) == keys:
            return ShortMatch(True, ", ".join(map(str, column)))
    return ShortMatch(False, ", ".join(map(str, columns[0]))) if columns else None


def _numbers_of_sentence(
    sentence: str, new_numbers: list[Number], n_keys: int
) -> list[Number | None]:
    """All numbers of a sentence, or of its predicate, where these are as many as the keys."""
    predicate = re.sub(r"^.*\b(?:are|is)\b", "", sentence)
    readings = (new_numbers, undenied_numbers(predicate))
    return next((list(numbers) for numbers in readings if len(numbers) == n_keys), [])


def _closing_numbers(answer: ParsedAnswer) -> list[Number | None]:
    """The numbers of a list of three or more in which an answer of one sentence ends."""
    listed = _CLOSING_NUMBERS.search(answer.text) if len(answer.statements) == 1 else None
    return list(numbers_in(listed[0])) if listed else []


_CLOSING_NUMBERS = re.compile(r"(?<![\d.,])\d[\d.]*(?:, \d[\d.]*)+,? and \d[\d.]*\W*$")


def _affirmed_numbers(text: str, question: str) -> str:
    """The numbers that an answer sorts out, as a list, or its clause that answers."""
    answer = parse_answer(text)
    if answer.explicit or answer.concluding or "[" in answer.text:
        return text
    affirmed = sorted_out(answer.text, question, numbers_in)
    if affirmed:
        return ", ".join(map(str, chain.from_iterable(map(_row_numbers, affirmed))))
    return _answering_half(text, answer, question)


def _answering_half(text: str, answer: ParsedAnswer, question: str) -> str:
    """The clause that answers where two have numbers: "2 and 5 meet the line; 1 and 3 do not";
    nothing where both may.
    """
    if len(answer.statements) != 1 or ";" not in answer.text:
        return text
    clauses = [clause for clause in answer.text.split(";") if numbers_in(clause)]
    if len(clauses) < 2 or "=" in text or all(map(sole_number, clauses)):
        return text
    overlaps = [shared_words(clause, question) for clause in clauses]
    if overlaps.count(max(overlaps)) > 1:
        return ""
    return clauses[overlaps.index(max(overlaps))]


def _row_numbers(row: str) -> list[Fraction]:
    """The numbers that a piece of an answer names, without those behind the name of a row."""
    name, colon, value = row.partition(":")
    is_named = bool(colon) and bool(numbers_in(name)) and not numbers_in(value)
    numbers = _TIGHT_COMMA.sub(", ", name if is_named else row)
    return [number.value for number in undenied_numbers(numbers)]


_TIGHT_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}(?!\d))")
"""A comma between the members of a list, and not before decimals: "1,3,4"."""


_OPEN_MEMBER = re.compile(r"\b(?:maybe|possibly|perhaps)\s+\d|^\W*\d+ or \d", re.IGNORECASE)
"""A member that an answer leaves open: "2 and maybe 5"."""


def _named_step(member: str, question: str) -> Number | None:
    """The number of a member such as "Step 2", where the question asks for steps."""
    name, _, digits = member.rpartition(" ")
    return sole_number(digits) if name and name.lower() in question.lower() else None


def is_tentative_answer(answer: ParsedAnswer) -> bool:
    """Whether an answer is one tentative sentence, and nothing is called the answer."""
    return len(answer.statements) == 1 and not answer.explicit and is_tentative(answer.text)


def may_translate(text: str, target: str, question: str = "") -> bool:
    """Whether a text is in another script or language than the target, and may name it: "金曜日"
    for Friday, "Tokyo" for 東京, "the cat" where a question in French has "chat" for its answer.
    """
    if not target.isascii() and _LATIN_LETTER_OR_DIGIT.search(target) is None:
        # names are transliterated, and other words translated
        return has_other_script(target) and _LATIN_WORD.search(text) is not None
    if text.isascii() and _LATIN_WORD.search(target):
        return language_of(question) is not None and is_english(text)
    if text.isascii() or not target.isascii():
        return False
    language = language_of(text)
    return language is not None and bool(language.script)


_LATIN_LETTER_OR_DIGIT = re.compile("[A-Za-z0-9]")
_LATIN_WORD = re.compile("[A-Za-z]{3}")
