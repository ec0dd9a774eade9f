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

from hqm.scoring.clock_times import ClockTime, sole_time, times_in
from hqm.scoring.commitments import (
    ParsedAnswer,
    is_denied,
    normalize,
    parse_answer,
    shared_words,
)
from hqm.scoring.list_answers import (
    asked_value,
    hedges,
    is_contrary_outcome,
    names_phrase,
    phrases_in,
)
from hqm.scoring.list_matching import (
    ShortMatch,
    is_tentative_answer,
    match_list,
    may_translate,
)
from hqm.scoring.number_answers import read_number
from hqm.scoring.number_words import SMALL_NUMBERS
from hqm.scoring.plain_text import APOLOGY, DOUBT, NEGATIVE, plain, says_unable, without_marks
from hqm.scoring.polar_answers import read_polar
from hqm.scoring.polar_words import language_of
from hqm.scoring.restatements import (
    answering_clause,
    offered_alternatives,
    restating_sentences,
)
from hqm.scoring.statements import denies_asked_noun
from hqm.scoring.word_senses import with_synonyms
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


_NUMBER_LIST = re.compile(r"-?\d+(?:\.\d+)?(?:, -?\d+(?:\.\d+)?)+")
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
    if isinstance(target, str) and _NUMBER_LIST.fullmatch(target):
        return target.split(", ")
    return [str(target)]


def match_short(text: str, item: Item) -> ShortMatch | None:
    """The value that a short answer states and whether it is right; None where it is unread.

    >>> match_short("That makes 1,200 m.", Item("1", "How far?", "vqa", "1.2 km"))
    ShortMatch(right=True, read='1200 m')
    """
    text = _without_echo(text, item.prompt)
    targets = _without_qualifiers(list(map(_plain_key, target_texts(item))), text)
    rivals = list(map(str, item.meta.get("rivals", ())))
    numbers = list(map(sole_number, targets))
    if len(targets) > 1:
        return match_list(text, targets, rivals, numbers, item)
    point = _point(targets[0])
    if point:
        return _match_point(text, point)
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
        return None if polarity is None else ShortMatch(is_right, polarity)
    if text.strip() == str(item.target).strip():
        return ShortMatch(True, targets[0])
    if _HAS_NUMBER.search(targets[0]):  # "3 men and a dog" for three men and a dog
        text, targets[0] = map(_with_digits, (text, targets[0]))
    matches = [_match_text(text, key, item.prompt) for key in _alternative_keys(targets[0])]
    return next((match for match in matches if match and match.right), matches[0])


@lru_cache(maxsize=4096)
def _alternative_keys(target: str) -> tuple[str, ...]:
    """The answers of which a key allows any: "brown" and "black" of "Brown / Black", "white and
    red" of "red and white", "on the couch" of "on the sofa".
    """
    keys = target.split(" / ")
    if len(keys) > 1 and all(key.replace(" ", "").isalpha() for key in keys):
        return (target, *keys)
    turned = _TWO_WORDS.sub(r"\3\2\1", target)
    alternatives = [target] if turned == target else [target, turned]
    return (*alternatives, *with_synonyms(target))


_TWO_WORDS = re.compile(r"^([^\W\d]{3,})( and )([^\W\d]{3,})$")
_QUALIFIER = re.compile(r"(?<=\w)\s+\([^()]{2,}\)\s*$")


def _without_qualifiers(targets: list[str], text: str) -> list[str]:
    """Right answers without what only explains them, "Twilight (2008)", where the answer need not
    have it.
    """
    lowered = "" if len(targets) > 1 else text.lower()
    names = []
    for target in targets:
        is_complete = "(" not in target or (lowered and target.lower() in lowered)
        names.append(target if is_complete else _QUALIFIER.sub("", target))
    return names if len(set(names)) == len(set(targets)) else targets


_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_DIGITS_OF_WORDS = {word: str(value) for value, word in enumerate(SMALL_NUMBERS)} | {
    word: f"{value}{_ENDINGS.get(value, 'th')}" for value, word in enumerate(_ORDINALS, 1)
}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_DIGITS_OF_WORDS)})\b", re.IGNORECASE)
_HAS_NUMBER = re.compile(rf"\d|{_NUMBER_WORD.pattern}", re.IGNORECASE)


def _with_digits(text: str) -> str:
    """A text with its small numbers in digits: "the 2nd of 3" for "the second of three"."""
    return _NUMBER_WORD.sub(lambda match: _DIGITS_OF_WORDS[match[0].lower()], text)


@lru_cache(maxsize=4096)
def _plain_key(target: str) -> str:
    """A right answer, its markup read as an answer's is: "\\frac{1}{2}" is 1/2, "x = 5" is 5."""
    formula = _FORMULA.sub(r"\1", target)
    if "\\" in formula or formula != target:
        target = without_marks(plain(formula)) or target
    return _KEY_HEAD.sub("", target)


_FORMULA = re.compile(r"\s*\$([^$]+)\$\s*", re.DOTALL)
_KEY_HEAD = re.compile(
    r"^\s*(?:\$?[A-Za-z]\s*=\s*(?=[-+−]?[\d.][\d.,/]*\$?$)|(?:a total of|about|approximately)\s+"
    r"(?=[$€£]?\d))"
)


def _without_echo(text: str, question: str) -> str:
    """An answer without the question that it repeats first, and how it is to be answered."""
    start = text.lstrip()
    if not question or not start.startswith(question):
        return text
    return _INSTRUCTION.sub("", start[len(question) :])


_INSTRUCTION = re.compile(r"\W*(?:please )?answer (?:the|this) question\b[^\n]*", re.IGNORECASE)
_TIME_QUESTION = re.compile(r"\b(?:time|clock|watch|when|hours?)\b", re.IGNORECASE)


def _by_commitment(answer: ParsedAnswer) -> tuple[str, ...]:
    """The passages of an answer, those in which it commits itself most first."""
    explicit = [passage.text for passage in answer.explicit]
    return (*explicit, *answer.emphasised, *answer.concluding, *answer.statements[::-1])


def _match_time(text: str, key: ClockTime, question: str) -> ShortMatch | None:
    """The match of an answer to an item whose key is a time of day."""
    for passage in _by_commitment(parse_answer(text)):
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


_BRACKETS = re.compile(r"\(([^()]+[,;][^()]+)\)")


def _point(text: str) -> tuple[Fraction, ...]:
    """The coordinates of a point or the ends of an interval in brackets, "(2,3)"; () of others."""
    brackets = _BRACKETS.fullmatch(text.strip())
    if brackets is None:
        return ()
    separator = ";" if ";" in brackets[1] else ","  # (2,5; 3,5) has decimal commas
    numbers = list(map(sole_number, brackets[1].split(separator)))
    return tuple(number.value for number in numbers if number) if all(numbers) else ()


def _match_point(text: str, key: tuple[Fraction, ...]) -> ShortMatch | None:
    """The match of an answer to an item whose key is a point; its coordinates have an order."""
    for passage in _by_commitment(parse_answer(text)):
        stated = [
            brackets[0]
            for brackets in _BRACKETS.finditer(passage)
            if _point(brackets[0]) and not is_denied(passage, *brackets.span())
        ]
        points = set(map(_point, stated))
        if points:
            return ShortMatch(points == {key}, stated[0]) if len(points) == 1 else None
    return None


def _match_rivals(text: str, target: str, rivals: Sequence[str]) -> ShortMatch | None:
    """The match of an answer to an item whose wrong answers are named as well."""
    if normalize(text) == normalize(target):
        return ShortMatch(True, target)
    names = names_phrase(text, [target, *rivals])
    # an answer names its answer first: "The star is larger than the circle."
    return ShortMatch(names[0] == target, ", ".join(names)) if names else None


def _match_number(text: str, key: Number, item: Item, rivals: Sequence[str]) -> ShortMatch | None:
    """The match of an answer to an item whose key is a number."""
    counts = bool(item.meta.get("none")) or (not rivals and _asks_count(item.prompt))
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
    r"(?:^|[.!?:;,]\s)\W*(?:and |so |then )?(?:how many|wie viele|cuánt[oa]s|combien de|quant[oa]s"
    r"|quant[ie]\b|сколько)\b|^\W*كم "
    r"|多少[个只名人条张辆本把艘座棵朵件]|几[个只名人条张辆本把艘座棵朵件]|いくつ|何[人個本匹枚台冊頭羽脚輪杯足隻]|몇|(?:कितने|कितनी)\s",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def _asks_count(question: str) -> bool:
    return _COUNT_QUESTION.search(question) is not None


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
    if len(answer.statements) != 1 or answer.explicit:
        return False
    clauses, is_contrast = _split_contrast(answer.text)
    if len(clauses) < 2:
        return None if says_unable(answer.text) else False
    first_names, second_names = (phrases_in(clause, (target,)) for clause in clauses)
    if first_names == second_names:
        return False
    contrast, naming = reversed(clauses) if first_names else clauses
    if says_unable(contrast):
        return None if first_names else False
    if not first_names:
        if _corrects_denial(contrast, naming, question):
            return False
        if len(contrast.split()) < 4 and f"{contrast};" in answer.text:
            return True  # "A cane; the umbrella leans against the wall"
    opposes_name = is_contrast and bool(first_names)
    if opposes_name and re.search(r"\b(?:looks?|seems?|appears?)\b", naming):
        return True
    relevance = _compare_relevance(contrast, naming, question)
    if relevance == 0 and opposes_name:
        return (
            re.match(
                r"\W*(?:(?:now|actually|in fact) )?(?:it|they|he|she|this|that|the \w+)\b.*\b(?:is"
                r"|are|was)\b",
                contrast,
            )
            is not None
        )
    return relevance > 0


def _corrects_denial(first: str, second: str, question: str) -> bool:
    """Whether a clause denies and the next answers: "She isn't holding a kite; she holds a bag"."""
    is_denial = NEGATIVE.search(first) and not NEGATIVE.search(question)
    return bool(is_denial and shared_words(second, question))


def _split_contrast(text: str) -> tuple[list[str], bool]:
    """The two clauses of a sentence, and whether "but" or a semicolon divides them."""
    clauses = re.split(r";|,? but\b", text, maxsplit=1)
    if len(clauses) > 1:
        return clauses, True
    joints = r",? (?:and|while|whereas)\b|, (?=the \w+ (?:is|are|was|were)\b)"
    return re.split(joints, text, maxsplit=1), False


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
_ASKED_NOUN = re.compile(
    r"(?:what|which)(?: is| are| was)?(?: (?:the|this|that|these|those)\b)? (\w+)", re.IGNORECASE
)


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


_EMPTY = ("none", "nothing", "nobody", "no one", "zero")
_NOTHING = re.compile(
    r"\W*(?:there (?:is|are) )?(?:none|nothing|nobody|no one|zero|0|no \w+)\W*", re.IGNORECASE
)
_MAX_MARKUP_CHARS = 40


def _match_text(text: str, target: str, question: str) -> ShortMatch | None:
    """The match of an answer to an item whose key is a text."""
    text = asked_value(text, question) or text
    text = _with_preposition(text, target)
    answer = parse_answer(text)
    if _is_key(text, answer, target):
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
        return ShortMatch(is_right, read) if answer.text else None
    if _apologizes(answer) and not restating_sentences(answer.statements[1:], question):
        return None  # "Sorry, I cannot tell the name of the girl in this scene of ..."
    if names_phrase(text, [target]):
        is_overridden = _is_overridden(answer, target, question)
        if is_contrary_outcome(answer.text, target, question):
            return ShortMatch(False, answer.text[:80])
        if _concludes_otherwise(answer, target, question):
            return None
        if phrases_in(question, (target,)) and _states_other(answer, target, question):
            return ShortMatch(False, answer.text[:80])
        if is_overridden is None or _hedges_commitment(answer, text, target):
            return None
        return ShortMatch(not is_overridden, answer.text[:80] if is_overridden else target)
    return _match_unnamed(answer, target, question)


_PREPOSITIONS = {
    "on": re.compile(r"\b(?:on top of|atop|upon)\b", re.IGNORECASE),
    "in": re.compile(r"\b(?:inside(?: of)?|within)\b", re.IGNORECASE),
    "inside": re.compile(r"\b(?:inside of|in|within)\b", re.IGNORECASE),
    "next to": re.compile(r"\b(?:beside|adjacent to|alongside)\b", re.IGNORECASE),
    "beside": re.compile(r"\b(?:next to|adjacent to|alongside)\b", re.IGNORECASE),
    "under": re.compile(r"\b(?:underneath|beneath)\b", re.IGNORECASE),
}
"""Prepositions that a key begins with, and others for the same place."""


def _with_preposition(text: str, target: str) -> str:
    """A text in which a place is named with the preposition of the key."""
    for preposition, variants in _PREPOSITIONS.items():
        if target.lower().startswith(f"{preposition} "):
            text = variants.sub(preposition, text)
    return text


def _names_several(answer: ParsedAnswer) -> bool:
    """Whether an answer is a row of nouns: "A dog. A cat."; "A dog. A black dog." names one."""
    nouns = list(map(_BARE_NOUN.fullmatch, answer.statements[:3]))
    return all(nouns) and len({noun[1].lower() for noun in nouns if noun}) > 1


_BARE_NOUN = re.compile(r"an? (?:\w+ )?(\w+)\.?", re.IGNORECASE)


def _is_key(text: str, answer: ParsedAnswer, target: str) -> bool:
    """Whether an answer, or what it calls its answer, is the key and nothing else, however spaced;
    or says that there is nothing, where that is the key.
    """
    # normalising a chain of thought costs more than reading it, and it is never the key
    max_chars = 2 * len(target) + _MAX_MARKUP_CHARS
    called = [passage.text for passage in answer.explicit[:1] if not passage.corrects]
    brief = [phrase for phrase in (text, *called) if len(phrase) <= max_chars]
    if _without_spaces(target) in map(_without_spaces, brief):
        return True
    if " and " in target and any(_conjuncts(target) == _conjuncts(phrase) for phrase in brief):
        return True
    return normalize(target) in _EMPTY and any(map(_NOTHING.fullmatch, brief))


def _conjuncts(text: str) -> list[str]:
    """What a text joins by "and", in the order of the alphabet."""
    return sorted(re.split(r", and |, | and ", normalize(text)))


def _without_spaces(text: str) -> str:
    """A normalised text without its spaces, which stand anywhere in formulas and names."""
    return normalize(text).replace(" ", "")


def _apologizes(answer: ParsedAnswer) -> bool:
    """Whether an answer begins by saying that it is none, and calls nothing the answer."""
    is_called = any(not passage.corrects for passage in answer.explicit)
    is_apology = APOLOGY.match(answer.text) is not None and not is_called
    return is_apology and says_unable(answer.statements[0])


def _hedges_commitment(answer: ParsedAnswer, text: str, target: str) -> bool:
    """Whether what an answer calls its answer, or else the answer, names the target as one of
    several possibilities.
    """
    called = [passage.text for passage in answer.explicit[:1] if phrases_in(passage.text, [target])]
    is_hedged = hedges(called[0] if called else text, target) or is_tentative_answer(answer)
    return is_hedged or _names_several(answer)


def _states_other(answer: ParsedAnswer, target: str, question: str) -> bool:
    """Whether the sentence that repeats most of the question speaks of something else than the
    target, which another names: "The truck is heavier. The car is light.".
    """
    stated = [] if answer.explicit else restating_sentences(answer.statements, question)
    if not stated:
        return False
    asked_sentence = question.partition("?")[0]
    answering = max(stated, key=lambda sentence: shared_words(sentence, asked_sentence))
    return not (phrases_in(answering, (target,)) or shared_words(answering, target))


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


_MAX_PHRASE_SPACES = 6
_COLOR_QUESTION = re.compile(r"\bcolou?rs? of\b", re.IGNORECASE)


def _without_question_words(target: str, question: str) -> str:
    """A target without the words of the question: "Atlantic", where an ocean is asked for."""
    if target.count(" ") > _MAX_PHRASE_SPACES:
        return target  # what is left of a sentence may stand anywhere
    asked_words = question.lower().split()
    words = [word for word in target.split() if word.lower().rstrip(".,") not in asked_words]
    if _COLOR_QUESTION.search(question):  # "red" for a red couch, asked for the colors of couches
        words = [word for word in words if not shared_words(word, question)]
    if set(re.findall(r"\w+", target.lower())) <= set(re.findall(r"\w+", question.lower())):
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
    commitment = _commitment(answer, target, question)
    if not commitment:
        return None
    if phrases_in(commitment, (target,)):
        return ShortMatch(True, target)
    if _SAYS_NOTHING.fullmatch(commitment) or _is_open(answer, commitment, target, question):
        return None
    if _names_inflected(commitment, target, question):
        return ShortMatch(True, commitment[:80])
    if _may_abbreviate(commitment, target):
        return None
    if _names_surname(answer, commitment, target, question):
        return ShortMatch(True, commitment[:80])
    words = re.findall(r"\w+", normalize(commitment))
    key_words = normalize(target).split()
    # "a horse riding" for riding a horse
    is_turned = sorted(words) == sorted(key_words)
    words = [word for word in words if not _denies_word(commitment, word)]
    # "emissions" for CO2 emissions
    is_abbreviated = bool(words) and words == key_words[-len(words) :]
    if (
        is_turned
        or is_abbreviated
        or any(_share_stem(word, key) for word in words for key in key_words)
    ):
        return None  # "triangular" for a triangle
    return ShortMatch(False, commitment[:80])


_SAYS_NOTHING = re.compile(r".*[?？:]|.*://.*", re.DOTALL)
"""A question, a heading, or an address of the web."""


def _commitment(answer: ParsedAnswer, target: str, question: str) -> str:
    """What an answer that does not name the target commits itself to; "" where that is open."""
    if answer.explicit:
        return answer.explicit[0].text
    stated = restating_sentences(answer.statements, question)
    alternatives = offered_alternatives(question, target)
    names_target = {bool(phrases_in(sentence, (target,))) for sentence in stated}
    names_alternative = any(phrases_in(sentence, alternatives) for sentence in stated)
    # sentences that disagree leave it open, and so does one with both of what is offered
    is_open = len(names_target) > 1 or (names_target == {True} and names_alternative)
    is_offer_met = not alternatives or names_target == {True} or names_alternative
    if stated and not is_open and is_offer_met:
        return stated[-1]
    # the last sentence of a long answer need not be its answer
    if len(answer.statements) > _MAX_SHORT_SENTENCES or is_open:
        return ""
    return answer.statements[-1]


_MAX_SHORT_SENTENCES = 3


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
    if _GREETING.fullmatch(commitment) or _denies_noun(answer.statements[0], question):
        return True  # "This is not a meme", asked which one it is
    if _names_nobody(answer.text, target, question) or _names_several(answer):
        return True
    absent = _ABSENT_NOUN.search(commitment)
    nouns = filter(None, absent.groups()) if absent else ()
    if any(len(noun) > 2 and noun[:6].lower() in question.lower() for noun in nouns):
        return True  # "No brand is visible"
    if denies_asked_noun(commitment, question) and not phrases_in(commitment, (target,)):
        return True
    if may_translate(commitment, target, question) or _UNSEEN_ABROAD.search(commitment):
        return True
    return says_unable(commitment) or bool(says_unable(answer.text) and _doubts(commitment))


def _doubts(text: str) -> bool:
    """Whether a text only says what may be, in its language."""
    language = language_of(text)
    return (language.doubt if language else DOUBT).search(text) is not None


_GREETING = re.compile(
    r"\W*(?:hello|hi|hey|greetings|sure|certainly|of course|okay|ok|yes|thanks?(?: you)?)\b\W*",
    re.IGNORECASE,
)
_DENIED_NOUN = re.compile(
    r"\W*(?:there (?:is|are|was|were) no (?:\w+ )?([a-z]{3,})\b(?! but)"
    r"|(?:\w+ ){1,4}?(?:is|are|was|were|does|do|did|appears?|seems?)(?: not|n't)\b"
    r"(?: (?:appear|seem|look))?(?: to)?(?: (?:be|show|have|contain|depict|display|feature"
    r"|include))?"
    r" (?:an? |any )(?:\w+ )?([a-z]{3,})\b)",
    re.IGNORECASE,
)
"""A statement that there is nothing of a kind: "This does not appear to be a meme"."""


def _denies_noun(sentence: str, question: str) -> bool:
    """Whether a sentence says that what a question asks for is not there at all."""
    denied = _DENIED_NOUN.match(sentence)
    return denied is not None and shared_words(denied[1] or denied[2], question) > 0


def _names_nobody(text: str, target: str, question: str) -> bool:
    """Whether an answer describes a person whose name is asked for and names nobody."""
    if not _WHO_QUESTION.match(question) or not target.istitle() or " " not in text.strip():
        return False
    return re.search(r"(?<!^)(?<![.!?]\s)[A-Z]", text) is None


_WHO_QUESTION = re.compile(r"\W*who\b", re.IGNORECASE)
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


def _may_abbreviate(text: str, target: str) -> bool:
    """Whether a text is the end of a code, or the initials of the target: "UK", "O" for oxygen."""
    name = text.strip(" .")
    letters = name.replace(".", "")
    if target.endswith(name) and target.removesuffix(name)[-1:].islower() and not name.islower():
        return True  # "14" for chr14
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
