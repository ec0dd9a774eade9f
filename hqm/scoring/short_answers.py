"""Short answers: a number, a list or a text, and whether it is the right one.

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
from itertools import chain, pairwise
from typing import NamedTuple

from hqm.scoring.clock_times import ClockTime, sole_time, times_in
from hqm.scoring.commitments import (
    EXCEPTION,
    TENTATIVE,
    ParsedAnswer,
    answering_clause,
    is_denied,
    is_tentative,
    normalize,
    parse_answer,
    shared_words,
)
from hqm.scoring.list_answers import (
    EMPTY_LIST,
    ORDER_QUESTION,
    asked_value,
    concluding_numbers,
    has_others,
    hedges,
    is_contrary_outcome,
    is_list,
    line_members,
    names_joined,
    names_phrase,
    other_members,
    phrases_in,
    read_list,
    says_single,
    sorted_out,
    split_members,
    with_joined_members,
)
from hqm.scoring.number_answers import (
    read_number,
    undenied_numbers,
)
from hqm.scoring.plain_text import APOLOGY, says_unable
from hqm.scoring.polar_answers import DOUBT, NEGATIVE, read_polar
from hqm.scoring.statements import denies_asked_noun, language_of
from hqm.scoring.written_numbers import (
    SCALES,
    Number,
    is_unit,
    numbers_in,
    sole_number,
    without_pointed_thousands,
)
from hqm.types import Item

# --- right or wrong ---


class ShortMatch(NamedTuple):
    """Whether a short answer is right, and what was read."""

    right: bool
    read: str


_LIST_LITERAL = re.compile(r"\s*\[.*\]\s*", re.DOTALL)


def target_texts(item: Item) -> list[str]:
    """The right answers of an item, as texts: "[2014, 2016]" is a list as well."""
    target = item.target
    # benchmarks in spreadsheets have their lists as text
    if isinstance(target, str) and "[" in target and _LIST_LITERAL.fullmatch(target):
        try:
            target = ast.literal_eval(target)
        except (SyntaxError, ValueError):
            return [str(item.target)]
    if isinstance(target, (list, tuple)):
        return list(map(str, target))
    return [str(target)]


def match_short(text: str, item: Item) -> ShortMatch | None:
    """The value that a short answer states and whether it is right; None where it is unread.

    >>> match_short("That makes 1,200 m.", Item("1", "How far?", "vqa", "1.2 km"))
    ShortMatch(right=True, read='1200 m')
    """
    targets = target_texts(item)
    rivals = list(map(str, item.meta.get("rivals", ())))
    numbers = list(map(sole_number, targets))
    if len(targets) > 1:
        return _match_list(text, targets, rivals, numbers, item)
    key = numbers[0]
    if key is not None:
        return _match_number(text, key, item, rivals)
    if rivals:
        return _match_rivals(text, targets[0], rivals)
    asked_time = sole_time(targets[0])
    if asked_time is not None and _TIME_QUESTION.search(item.prompt):
        return _match_time(text, asked_time, item.prompt)
    if normalize(targets[0]) in ("yes", "no", "true", "false"):
        polarity = read_polar(text, item.prompt)
        is_right = polarity == ("yes" if normalize(targets[0]) in ("yes", "true") else "no")
        if polarity is None:
            return None
        return ShortMatch(is_right, polarity)
    return _match_text(text, targets[0], item.prompt)


_TIME_QUESTION = re.compile(r"\b(?:time|clock|watch|when|hours?)\b", re.IGNORECASE)


def _match_time(text: str, key: ClockTime, question: str) -> ShortMatch | None:
    """The match of an answer to an item whose key is a time of day."""
    answer = parse_answer(text)
    passages = [passage.text for passage in answer.explicit]
    for passage in (*passages, *answer.emphasised, *answer.concluding, *answer.sentences[::-1]):
        clause = answering_clause(re.sub(r" and (?=[a-z]+s\b)", "; ", passage), question)
        if times_in(clause) or numbers_in(clause):
            passage = clause  # "It opens at 9:30 and closes at 18:00"
        times = []
        for time, start, end in times_in(passage):
            if not is_denied(passage, start, end):
                times.append(time)
        if len(set(times)) == 1:
            return ShortMatch(times[0].matches(key), str(times[0]))
        if times:
            return None
    return None


def _match_rivals(text: str, target: str, rivals: Sequence[str]) -> ShortMatch | None:
    """The match of an answer to an item whose wrong answers are named as well."""
    if normalize(text) == normalize(target):
        return ShortMatch(True, target)
    names = names_phrase(text, [target, *rivals])
    # an answer names its answer first: "The star is larger than the circle."
    if names:
        return ShortMatch(names[0] == target, ", ".join(names))
    return None


def _match_number(text: str, key: Number, item: Item, rivals: Sequence[str]) -> ShortMatch | None:
    """The match of an answer to an item whose key is a number."""
    counts = bool(item.meta.get("none")) or (
        not rivals and _COUNT_QUESTION.match(item.prompt) is not None
    )
    # 1.750 is 1750 to a German and 1.75 to others: a key with three decimals leaves it open
    if key.decimals != 3:  # the key may have a point before three digits as well
        text = without_pointed_thousands(text)
    number = read_number(asked_value(text, item.prompt) or text, counts, item.prompt)
    if number is None:
        return None
    if rivals:
        # a number that nobody expects was more likely misread than meant
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
    unit = _asked_unit(item.prompt)
    if unit and not key.unit and number.unit:  # "in meters": 1.2 km are 1200, and not 1.2
        is_right = number.matches(replace(key, unit=unit), decimals)
    # a tolerance widens what is right, and never makes a right answer wrong
    tolerance = item.meta.get("tolerance")
    if tolerance is not None and not is_right:
        is_right = abs(number.value - key.value) <= Fraction(str(tolerance))
    return ShortMatch(is_right, str(number))


_COUNT_QUESTION = re.compile(
    r"\W*(?:how many|wie viele|cuánt[oa]s|combien de|quant[oa]s|quant[ie]\b|сколько)\b|[^?？]*"
    r"(?:多少[个只名人条张辆本]|几[个只名人条张辆本]|いくつ|何[人個本匹枚台冊頭羽]|몇)|\W*كم "
    r"|[^?]*(?:कितने|कितनी)\s",
    re.IGNORECASE,
)
_UNIT_QUESTION = re.compile(r"\b(?:in|how many) ([a-z]+?)s?\b", re.IGNORECASE)


@lru_cache(maxsize=1024)
def _asked_unit(question: str) -> str:
    """The unit in which a question asks for a length, mass, volume or time; "" where in none."""
    for match in _UNIT_QUESTION.finditer(question):
        if is_unit(match[1].lower()):
            return match[1].lower()
    return ""


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
    answer = parse_answer(text)
    if _is_open_list(answer) or _gives_exceptions(answer) or _is_tentative_list(answer, targets):
        return None
    keys = [number.value for number in numbers if number is not None]
    if len(keys) == len(targets):
        return _match_numbers(text, keys, item)
    if rivals:
        phrases = names_phrase(text, [*targets, *rivals])
        is_right = set(phrases) == set(targets)
        if phrases:
            return ShortMatch(is_right, ", ".join(phrases))
        return None
    return _match_members(text, answer, targets, item)


def _match_members(
    text: str, answer: ParsedAnswer, targets: Sequence[str], item: Item
) -> ShortMatch | None:
    """The match of an answer to an item whose key is a list of texts."""
    is_joined = None
    if not text.isascii() and _UNSPACED_SCRIPT.search(text):
        is_joined = names_joined(answer.sentences, targets)
    if is_joined:
        return ShortMatch(True, ", ".join(targets))
    text, targets = with_joined_members(text, targets)
    answer = parse_answer(text)
    readings = _list_readings(text, answer, targets, item.prompt)
    for members in readings:
        names = _member_targets(members, targets)
        # any reading that names exactly the key is right: wrong readings seldom hit it by chance
        if set(names) == set(targets):
            if any(map(DOUBT.match, members)):
                return None
            in_order = ORDER_QUESTION.search(item.prompt) is None or names == list(targets)
            return ShortMatch(in_order, ", ".join(members))
    is_cut = answer.breaks_off and not answer.explicit
    # without spaces it is open where a member ends
    if (
        is_cut
        or is_joined is False
        or any(_may_translate(answer.text, target) for target in targets)
    ):
        return None
    # a second sentence may add members, so that the list is not yet all
    if readings and (not _ADDITION.search(answer.text) or has_others(readings[0], targets)):
        return ShortMatch(False, ", ".join(readings[0]))
    return _match_named_list(text, answer, targets, item.prompt)


_OPEN_LIST = re.compile(
    r"\b(?:etc|and (?:others|so on|more)|among others|amongst others|including but not|usw"
    r"|entre otr[oa]s|entre outr[oa]s|entre autres|и др|и т\.)\b|\bsuch as\b|等等?[。.]?$|など",
    re.IGNORECASE,
)
"""What leaves a list open: "apple, banana, etc."."""


def _is_open_list(answer: ParsedAnswer) -> bool:
    return len(answer.sentences) < _MAX_OPEN_SENTENCES and bool(_OPEN_LIST.search(answer.text))


_MAX_OPEN_SENTENCES = 3
_UNSPACED_SCRIPT = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


def _gives_exceptions(answer: ParsedAnswer) -> bool:
    """Whether the sentence that may give the list says what is not in it: "all except 2015"."""
    called = [passage.text for passage in answer.explicit[:1]]
    return any(
        EXCEPTION.search(commitment.rpartition(": ")[2])
        for commitment in called or answer.sentences[-1:]
    )


def _is_tentative_list(answer: ParsedAnswer, targets: Sequence[str]) -> bool:
    """Whether an answer is one sentence that names no member before it says that all are only
    possible: "some fruits, possibly a pear".
    """
    if not _is_tentative(answer):
        return False
    certain = TENTATIVE.split(answer.text, maxsplit=1)[0]
    return not phrases_in(certain, targets)


_REFUSAL = re.compile(r"\bsorry\b", re.IGNORECASE)
_ADDITION = re.compile(r"[.;] [^.;]*\b(?:also|as well|too|additionally|in addition)\b", re.I)


def _match_named_list(
    text: str, answer: ParsedAnswer, targets: Sequence[str], question: str
) -> ShortMatch | None:
    """The match of an answer that gives no list, but may name the members in its sentences."""
    is_empty = EMPTY_LIST.search(answer.text) and not _REFUSAL.search(answer.text)
    last = "".join(answer.sentences[-1:])
    phrases = names_phrase(text, targets)
    if says_unable(last) and not is_empty and len(phrases) < 2:
        return None
    if len(phrases) < len(targets) and not answer.explicit and not is_empty:
        phrases = phrases_in(answer.text, targets)
        names_more = not all(phrases_in(sentence, targets) for sentence in answer.sentences)
        if len(phrases) == len(targets) and names_more:
            return None  # a sentence may name what is not in the list
    if len(phrases) < len(targets):
        if phrases or is_empty:
            return ShortMatch(False, ", ".join(phrases))
        return None
    if any(hedges(text, target) for target in targets):
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


def _list_readings(
    text: str, answer: ParsedAnswer, targets: Sequence[str], question: str
) -> list[tuple[str, ...]]:
    """The lists that an answer may give, the likeliest first, and those of its few sentences."""
    readings = _likely_lists(text, answer, targets, question)
    if not answer.explicit and len(answer.sentences) in (2, 3):
        affirmative = [line for line in answer.sentences if not NEGATIVE.search(line)]
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
    columns = (line_members(answer, column, max_words) for column in (-1, 0))
    return list(filter(None, (read_list(text), *columns, bold)))


def _letter_readings(answer: ParsedAnswer, question: str) -> list[tuple[str, ...]]:
    """The letters of what is called the answer, of the conclusion, or of what is sorted out."""
    conclusions = (*(passage.text for passage in answer.explicit[:1]), *answer.concluding[:1])
    texts = [text for text in conclusions if len(_LIST_LETTER.findall(text)) > 1]
    if not texts:
        texts = ["; ".join(sorted_out(answer.text, question, _LIST_LETTER.search)), answer.text]
    for text in filter(None, texts):
        affirmed = re.sub(r"[^;.,]*(?:\b(?:wrong|incorrect|false|not)\b|n't\b)[^;.,]*", "", text)
        letters = _LIST_LETTER.findall(affirmed)
        if not letters and not _LOWER_LETTER.search(affirmed):
            letters = re.findall("[A-Z]", affirmed)  # "BD"
        if letters:
            is_rising = "<" in affirmed and ">" not in affirmed
            return [tuple(letters[::-1] if is_rising else letters)]
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
    numbers = [
        sole_number(member) or _named_step(member, item.prompt) for member in read_list(text)
    ]
    if (not numbers or None in numbers) and answer.sentences and not says_unable(answer.text):
        last, new_numbers = concluding_numbers(answer, len(keys), item.prompt)
        is_single = says_single(last, answer)
        if len(new_numbers) < len(keys) and is_single:
            return ShortMatch(False, ", ".join(map(str, new_numbers)))
        numbers = _numbers_of_sentence(last, new_numbers, len(keys))
    values = [number.value for number in numbers if number is not None]
    if not values and EMPTY_LIST.search(answer.text):
        return ShortMatch(False, "none")
    if not values or len(values) < len(numbers):
        return None
    if keys == sorted(keys) and not ORDER_QUESTION.search(item.prompt):
        values.sort()
    return ShortMatch(values == keys, ", ".join(map(str, numbers)))


def _numbers_of_sentence(
    sentence: str, new_numbers: list[Number], n_keys: int
) -> list[Number | None]:
    """All numbers of a sentence, or of its predicate, where these are as many as the keys."""
    predicate = re.sub(r"^.*\b(?:are|is)\b", "", sentence)
    readings = (new_numbers, undenied_numbers(predicate))
    return next((list(numbers) for numbers in readings if len(numbers) == n_keys), [])


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
    if len(answer.sentences) != 1 or ";" not in answer.text:
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
    if name and name.lower() in question.lower():
        return sole_number(digits)
    return None


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
        clauses = re.split(
            r",? (?:and|while|whereas)\b|, (?=the \w+ (?:is|are|was|were)\b)",
            answer.text,
            maxsplit=1,
        )
    if len(clauses) < 2:
        if says_unable(answer.text):
            return None
        return False
    first_names, second_names = (phrases_in(clause, (target,)) for clause in clauses)
    if first_names == second_names:
        return False
    contrast, naming = reversed(clauses) if first_names else clauses
    if says_unable(contrast):
        if first_names:
            return None
        return False
    if not first_names and len(contrast.split()) < 4 and f"{contrast};" in answer.text:
        return True  # "A cane; the umbrella leans against the wall"
    if is_contrast and first_names and re.search(r"\b(?:looks?|seems?|appears?)\b", naming):
        return True
    relevance = _compare_relevance(contrast, naming, question)
    if relevance == 0 and is_contrast and first_names:
        return (
            re.match(
                r"\W*(?:(?:now|actually|in fact) )?(?:it|they|he|she|this|that|the \w+)\b.*\b(?:is"
                r"|are|was)\b",
                contrast,
            )
            is not None
        )
    return relevance > 0


def _compare_relevance(first: str, second: str, question: str) -> int:
    """How much more the first of two clauses repeats of a question than the second."""
    noun = _ASKED_NOUN.match(question)
    if noun and (noun[1] in first) != (noun[1] in second):
        if noun[1] in first:
            return 1
        return -1
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
    # "advertising" for "advertisement": long words with one stem are not told apart here
    stem_length = len(short) - 2
    return (
        stem_length > 4
        and word[:stem_length] == key[:stem_length]
        and word.removesuffix("s") != key
    )


_MAX_MARKUP_CHARS = 40


def _match_text(text: str, target: str, question: str) -> ShortMatch | None:
    """The match of an answer to an item whose key is a text."""
    text = asked_value(text, question) or text
    answer = parse_answer(text)
    # normalising a chain of thought costs more than reading it, and it is never the key
    is_brief = len(text) <= 2 * len(target) + _MAX_MARKUP_CHARS
    if is_brief and normalize(text) == normalize(target):
        return ShortMatch(True, target)
    if not names_phrase(text, (target,)):
        target = _without_question_words(target, question)
    # where the question offers the target, what else is said of the noun is no answer
    is_offered = normalize(target) in question.lower()
    statement = "" if is_offered else _statement_on_noun(answer, question)
    if statement:
        return _match_text(statement, target, "")
    if says_unable(target):
        is_right = says_unable(answer.text)
        read = target if is_right else answer.text[:80]
        if answer.text:
            return ShortMatch(is_right, read)
        return None
    if _apologizes(answer):
        return None  # "Sorry, I cannot tell the name of the girl in this scene of ..."
    if names_phrase(text, [target]):
        is_overridden = _is_overridden(answer, target, question)
        if is_contrary_outcome(answer.text, target, question):
            return ShortMatch(False, answer.text[:80])
        if _concludes_otherwise(answer, target, question):
            return None
        if is_overridden is None or hedges(text, target) or _is_tentative(answer):
            return None
        return ShortMatch(not is_overridden, answer.text[:80] if is_overridden else target)
    return _match_unnamed(answer, target, question)


def _apologizes(answer: ParsedAnswer) -> bool:
    """Whether an answer begins by saying that it is none, and calls nothing the answer."""
    is_called = any(not passage.corrects for passage in answer.explicit)
    is_apology = APOLOGY.match(answer.text) is not None and not is_called
    return is_apology and says_unable(answer.sentences[0])


def _concludes_otherwise(answer: ParsedAnswer, target: str, question: str) -> bool:
    """Whether a conclusion repeats the question and does not name the target: "..., so Feyenoord
    won".
    """
    if not answer.concluding or answer.explicit or answer.emphasised:
        return False
    conclusion = answer.concluding[0]
    is_pronoun = re.match(r"\W*(?:it|they|he|she|this|that|these|there|we|i)\b", conclusion, re.I)
    return bool(
        not is_pronoun
        and shared_words(conclusion, question)
        and not phrases_in(conclusion, (target,))
    )


def _is_tentative(answer: ParsedAnswer) -> bool:
    """Whether an answer is one tentative sentence, and nothing is called the answer."""
    return len(answer.sentences) == 1 and not answer.explicit and is_tentative(answer.text)


def _without_question_words(target: str, question: str) -> str:
    """A target without the words of the question: "Atlantic", where an ocean is asked for."""
    asked_words = question.lower().split()
    words = [word for word in target.split() if word.lower() not in asked_words]
    if set(target.lower().split()) <= set(re.findall(r"\w+", question.lower())):
        return target  # one of two that the question names
    return " ".join(words) or target


def _statement_on_noun(answer: ParsedAnswer, question: str) -> str:
    """The predicate of the noun that a question asks for ("which brand": "the brand is ...")."""
    noun = _ASKED_NOUN.match(question)
    if noun is None or (noun[1].isascii() and noun[1].lower() not in answer.text.lower()):
        return ""
    statement = re.search(
        rf"(?<!\bno )\b{noun[1]}\b(?: \w+){{0,4}} (?:is|was|says|reads) (.+)",
        answer.text,
        re.IGNORECASE,
    )
    if statement is None or is_denied(answer.text, *statement.span(1)):
        return ""
    predicate = re.search(r"\w+", normalize(statement[1]))
    if predicate is None or predicate[0] in normalize(question).split():
        return ""  # "Friday's bar is the shortest" names it before the verb
    return statement[1]


def _match_unnamed(answer: ParsedAnswer, target: str, question: str) -> ShortMatch | None:
    """The match of an answer that does not name the target: wrong, unless it is open what it
    says.
    """
    if not answer.text or answer.retraction_end >= 0:
        return None
    if answer.breaks_off and not answer.explicit:
        return None  # what follows may name it
    # the last sentence of a long answer need not be its answer
    if len(answer.sentences) > 3 and not answer.explicit:
        return None
    if answer.explicit:
        commitment = answer.explicit[0].text
    else:
        commitment = answer.sentences[-1]
    if _is_open(answer, commitment, target, question) or commitment.endswith(("?", "？")):
        return None
    if _names_inflected(commitment, target, question):
        return ShortMatch(True, commitment[:80])
    if _may_abbreviate(commitment, target):
        return None
    if _names_surname(answer, commitment, target, question):
        return ShortMatch(True, commitment[:80])
    words = re.findall(r"\w+", normalize(commitment))
    key_words = normalize(target).split()
    words = [word for word in words if not _denies_word(commitment, word)]
    # "emissions" for CO2 emissions
    is_abbreviated = bool(words) and words == key_words[-len(words) :]
    if is_abbreviated or any(_share_stem(word, key) for word in words for key in key_words):
        return None  # "triangular" for a triangle
    return ShortMatch(False, commitment[:80])


def _names_inflected(text: str, target: str, question: str) -> bool:
    """Whether a text in another language than English has another form of a target of one word:
    "angelt" for "angeln", "roja" for "rojo".
    """
    key = normalize(target)
    if len(key) < 4 or not key.isalpha() or language_of(question) is None:
        return False
    n_shared = len(key) - (2 if _CYRILLIC.match(key) else 1)
    if n_shared < 3 or (not key.isascii() and not _CYRILLIC.match(key)):
        return False
    for word in re.findall(r"\w+", normalize(text)):
        if word[:n_shared] == key[:n_shared] and abs(len(word) - len(key)) < 3:
            return not _denies_word(text, word)
    return False


_CYRILLIC = re.compile("[\u0400-\u04ff]")


def _denies_word(text: str, word: str) -> bool:
    """Whether a text has a word and denies it: "overcast, with no sun"."""
    text = normalize(text)
    start = text.find(word)
    return start >= 0 and is_denied(text, start, start + len(word))


def _is_open(answer: ParsedAnswer, commitment: str, target: str, question: str) -> bool:
    """Whether a commitment without the target does not say what is asked."""
    absent = _ABSENT_NOUN.search(commitment)
    nouns = filter(None, absent.groups()) if absent else ()
    if any(len(noun) > 2 and noun[:6].lower() in question.lower() for noun in nouns):
        return True  # "No brand is visible"
    if denies_asked_noun(commitment, question) and not phrases_in(commitment, (target,)):
        return True
    if _may_translate(commitment, target) or _UNSEEN_ABROAD.search(commitment):
        return True
    return says_unable(commitment) or bool(says_unable(answer.text) and DOUBT.search(commitment))


_UNSEEN_ABROAD = re.compile(
    r"\bnicht (?:lesbar|erkennbar|sichtbar|zu (?:sehen|erkennen|lesen|entziffern))|\bunleserlich"
    r"|\bno (?:es|está|se) (?:visible|legible|ve|lee|distingue|aprecia)\b|\bilegible\b"
    r"|\b(?:n'est|ne sont) pas (?:visible|lisible)|\billisible|\bne se (?:voit|lit) pas"
    r"|\bnão (?:é|está|se|dá) (?:visível|legível|vê|lê|para)|\bilegível"
    r"|\bне (?:вид\w+|чита\w+|разобрать|различ\w+)|неразборчив|(?:見え|読め|読み取れ"
    r"|判読でき)(?:ません|ない)"
    r"|(?:보이|읽히)지 않|읽을 수 없|看不[见到]|不可见|读不出|认不出|无法辨认|被遮"
    r"|غير (?:مرئي|مقروء|واضح)|لا (?:يظهر|تظهر)|(?:दिखाई|पढ़ा|दिख|नज़र)[^।]{0,10}नहीं|अस्पष्ट",
    re.IGNORECASE,
)


def _may_translate(text: str, target: str) -> bool:
    """Whether a text is in another script than the target, and may name it: "金曜日" for Friday."""
    if text.isascii() or not target.isascii():
        return False
    language = language_of(text)
    return language is not None and bool(language.script)


def _may_abbreviate(text: str, target: str) -> bool:
    """Whether a text has the initials of the target and nothing else: "UK", "O" for oxygen."""
    letters = text.strip(" .").replace(".", "")
    initials = "".join(word[0] for word in normalize(target).split())
    return letters.isupper() and letters.lower() == initials


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
