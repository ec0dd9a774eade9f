"""The reader of numbers: the one that an answer commits itself to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from hqm.scoring.commitments import (
    ParsedAnswer,
    first_sentence,
    parse_answer,
    question_stems,
    sentences,
    shared_stems,
    shared_words,
)
from hqm.scoring.cue_search import WordSearch
from hqm.scoring.number_clauses import (
    CALCULATION,
    IN_PARENTHESES,
    SUBORDINATE,
    TOTAL,
    copular_number,
    counted_abroad,
    enumerated_number,
    final_result,
    foreign_total,
    number_behind_colon,
    number_in_asked_unit,
    number_without_exceptions,
    owned_by_asked,
    owned_numbers,
    predicates_asked,
    result_clause,
    total_beside_addends,
    undenied_numbers,
    with_counted_pairs,
    with_counted_times,
    with_plain_amounts,
    without_addends,
    without_contrast,
    without_parentheses,
)
from hqm.scoring.number_words import SMALL_NUMBERS
from hqm.scoring.plain_text import NEGATIVE, says_unable
from hqm.scoring.restatements import answering_clause, restating_sentences
from hqm.scoring.statements import asked_words, content_words, denies_asked_noun
from hqm.scoring.written_numbers import (
    BOUND_QUESTION,
    Number,
    is_bound,
    is_unit,
    may_bound,
    names_number,
    numbers_in,
    sole_number,
    with_signs,
    without_ordinals,
    without_verification,
)

# the words that may stand between a verb and the number that it states
_FILLERS = (
    r"(?:(?:about|approximately|around|roughly|nearly|almost|exactly|only|just|a total of|total|is"
    r"|the number|number|are|at|therefore|thus|circa|ungefähr|etwa|environ|alrededor de|cerca de"
    r"|likely|probably|equal to|to|a|an|the|of|all|final|approx\.?|ca\.|value|answer|likely"
    r"|in total|you should see|should be|it|it's|was|year|no|make|that|be|i see|i count"
    r"|there (?:is|are|was|were)|≈|~|=|:|option)\s*)*"
)
_UP_TO_NUMBER = rf"\s*[:]?\s*{_FILLERS}[$€£¥({{\[\s]*(?:\b(?:R|US|A|C|HK|NZ|S))?$"
# a verb or sign that states the number behind it
_COPULA = WordSearch(
    re.compile(
        r"\b(?:(?:from|by)\s+\S+(?:\s\w+)?\s+to\s|(?:is worth|worth|(?:est|était|es|era|fue|é|foi)"
        r" de|ist|war|bei|beträgt|es|era|fue|is|are|was|were|be|equals?|equal to|gives?|get|gets"
        r"|makes?|has|have|had|reach(?:es|ed)?|totals?|making|totall?ing|left with|of|see|count"
        r"|shows?|reads?"
        r"|indicates?|points to|(?:stood|stands|stand) at|accounts? for|makes? up|costs?"
        r"|(?:comes?|came|works?|adds?|amounts?|rose|fell|dropped|increased|decreased|grew|rounds?)"
        r" (?:out |up |down )?(?:to|at|by)|(?:averages?|sums?) (?:out |up )?(?:to|at)"
        rf"|measures?|weighs?|represents?|represented|compris\w+|for)\b){_UP_TO_NUMBER}",
        re.IGNORECASE,
    ),
    first_words=frozenset(
        "from by is worth est ist war bei es era fue are was were be equal equals give gives get"
        " gets make makes has have had reach reaches reached total totals making totaling totalling"
        " left of see count show shows read reads indicate indicates points stood stands stand"
        " account accounts cost costs come comes came work works add adds amount amounts rose fell"
        " dropped increased decreased grew round rounds measure measures weigh weighs represent"
        " average averages sum sums represents represented comprise comprises comprised"
        " comprising for".split()
    ),
    foreign=(
        re.compile("[éäÉÄрРはがを是为은는है]"),
        re.compile(
            rf"(?:\b(?:était de|é de|beträgt|составля\w+|составил\w*|равн[аоы]?)\b"
            rf"|[はが是为은는]\s*[约約]?|है){_UP_TO_NUMBER}",
            re.IGNORECASE,
        ),
    ),
)
_EQUALS = re.compile(rf"[=≈]{_UP_TO_NUMBER}", re.IGNORECASE)
# a number that is left over: "7 remain"
_REMAINDER = re.compile(
    r"\s*(?:\w+\s+){0,2}(?:remain|are left|left\b|in total|altogether|in all\b)|\s*$", re.IGNORECASE
)
# a number that goes on in a sum or a list is not yet the answer
_CONTINUATION = re.compile(
    r"\s*(?:[+×*/=−-]|,|\band\b|\bplus\b|\bminus\b|\btimes\b)\s*[\d$]|\s*(?:plus|minus|times)\b"
    r"|\s*of\s+\d|[^.]*="
)
# no things are counted: the answer is zero
_ZERO_COUNT = re.compile(
    r"^\W*(?:(?:there (?:is|are|were)|i (?:can )?see|the (?:image|picture) (?:shows|has|contains)"
    r"|(?:i (?:do not|don't|cannot|can't) (?:see|make out)|there (?:aren't"
    r"|are not))(?= any\b))\s+)?"
    r"(?:none\b|nobody\b|no one\b|any(?:one|body)\b|(?:no|not any|any)\s+(?!one\b|idea|way|answer"
    r"|information|image|more|less|fewer|(?:son|es|hay|se|está|están|puedo|sé)\b)\w)"
    r"|^[^.,;]*\b(?:has|have|shows?|contains?|includes?)\s+(?:no|not any|any)\s+(\w+)",
    re.IGNORECASE,
)
# the same in other languages
_FOREIGN_ZERO = re.compile(
    r"\b(?:kein(?:e[nrms]?)?|niemand(?:en)?|ning[uú]n[oa]?s?|nadie|aucune?|personne(?=\W*$)"
    r"|nenhuma?"
    r"|ninguém|nessun[oa]?|никого|ни одно(?:го|й)|нету?(?=\W*$))\b|(?:いません|ありません|いない"
    r"|ない)。?$"
    r"|없(?:습니다|어요|다)|没有|^无|(?<!\w)لا (?:يوجد|توجد|أحد)|कोई नहीं|नहीं (?:है|हैं)",
    re.IGNORECASE,
)
_FOREIGN_ABSENT = re.compile(
    r"\b(?:keine?[mnrs]?|ning[uú]n[oa]?s?|aucune?|nenhuma?|nessun[oa]?) ([^\W\d]{4,})",
    re.IGNORECASE,
)
"""What a sentence says that there is none of: "Also hat David keine Brüder"."""
_MAX_ZERO_CHARS = 80
# a number of the question behind one of these says when or where, and not how many
_TIME_PREPOSITION = re.compile(
    r"\b(?:in|at|for|from|of|of the|on|by|since|after|before|within|en|im|until|between|than"
    r"|at least|at most|over|under|above|below|der|von(?: den)?|из|من"
    r"|year|step|when|if)\s*$",
    re.IGNORECASE,
)
_SUBSET_MARK = re.compile(r"[^\W\d]{0,3}(?:のうち|の中)|[^\W\d]{0,4}中|[^\W\d]?\s?중\b|\s?में से")
_TIME_PHRASE = re.compile(r"\W*(?:in|for|at|during|en|im)\s+(\d+)\b", re.IGNORECASE)
_COUNT_QUESTION = re.compile(
    r"how many (?:of the )?((?:[a-z]+ ){1,4}?)(?:are|is|was|were|do|does|did|can|could|has|have"
    r"|had|will)\b"
    r"(?: (?!there|visible|present|shown|left)(\w{4,}?(?:ing|ed|en)\b|\w{3,}(?=\W*$)))?",
    re.IGNORECASE,
)
_YEAR_QUESTION = re.compile(r"\b(?:which|what(?: is the)?) years?\b|^when\b", re.IGNORECASE)
# the number of a step of the reasoning
_STEP = re.compile(r"^\W*(?:step|schritt|étape|paso)\s+\d+\b", re.IGNORECASE)
_PART_SEPARATOR = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+(?:and|plus)\s+", re.IGNORECASE)


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
    text = without_ordinals(without_verification(text), question)
    text = with_counted_pairs(with_counted_times(with_signs(text), question), question)
    answer = parse_answer(with_plain_amounts(text, counts))
    if not answer.text:
        return None
    for passage in answer.explicit:
        text = _corrected_result(passage.text) if passage.corrects else passage.text
        number = _passage_number(text, counts, question)
        if number is not None:
            return _exact_number(number, text, question)
        # what is called the answer and gives no number is not made up for by an earlier one
        if passage.corrects:
            continue
        # a root such as 5√3/2 is an answer too
        is_root = "√" in passage.text and not names_number(answer.text[passage.start :])
        if is_root or says_unable(passage.text) or names_number(passage.text):
            return None
    if answer.retraction_end >= 0:
        return None
    option = _LABELLED_NUMBER.match(answer.text)
    # "(D) 0", and an explanation below
    return sole_number(option[1]) if option else _uncued_number(answer, counts, question)


_LABELLED_NUMBER = re.compile(r"\([A-H]\) ([^\s]{1,12})\s*(?:\n|$)")


def _corrected_result(text: str) -> str:
    """The last sentence of a correction where that sums up or calculates, else the correction."""
    last = sentences(text)[-1:]
    if last and (CALCULATION.search(last[0]) or _SUMMING.match(last[0])):
        return last[0]
    return text


def _uncued_number(answer: ParsedAnswer, counts: bool, question: str) -> Number | None:
    """The number of an answer that nowhere says that it answers."""
    last = answer.statements[-1]
    first = answer.statements[0]
    if _declines(answer):
        return None
    if answer.breaks_off:  # what it would have concluded is not known
        return _passage_number(first, counts, question) if counts and _opens(answer) else None
    for text in answer.emphasised:
        number = _number_at_head(text)
        if number is not None:
            return number
        if text in last and numbers_in(text):
            break  # the last sentence is bold, and says it otherwise
    if counts and _counts_nothing(answer, question):
        return numbers_in("0")[0]
    # a number beside "I cannot tell" is that of something else
    is_short = len(answer.statements) <= 3
    passage = " ".join(answer.statements) if is_short else last
    stated = IN_PARENTHESES.sub("", passage)  # "9.00 (no unit given)"
    if says_unable(stated) or _ends_unable(answer):
        return _restated_number(answer, question)
    return _ends_number(answer, counts, question)


def _ends_number(answer: ParsedAnswer, counts: bool, question: str) -> Number | None:
    """The number of the conclusions of an answer, of its last sentence or of its first."""
    last = answer.statements[-1]
    texts = [*answer.concluding, *_ordered_ends(answer, question)]
    restates = _repeats_result(last, answer, question) or predicates_asked(last, answer, question)
    if _states_total(last, answer) or restates:
        texts.insert(0, last)
    for text in texts:
        stated = _stating_part(text, answer)
        number = _passage_number(stated, counts, question) if stated else None
        if number is not None:
            return _exact_number(number, stated, question)
        is_conclusion = text in answer.concluding and re.search(r"\w", text)
        if is_conclusion and (not stated or _closes_open(text, last, question)):
            return None
    return _number_of_asked(last, question) if answer.statements[0] == last else None


def _closes_open(conclusion: str, last: str, question: str) -> bool:
    """Whether the conclusion at the end of an answer leaves its number open, or repeats the
    question and gives none: "so the gap between the two people is not known".
    """
    if conclusion not in last:
        return False
    if _new_numbers(conclusion, question):
        return _is_hedged(conclusion, numbers_in(conclusion))
    n_asked = len(question_stems(question))
    return n_asked > 1 and shared_words(conclusion, question) >= min(n_asked, _MAX_COMPARED_WORDS)


_MAX_COMPARED_WORDS = 3


def _ends_unable(answer: ParsedAnswer) -> bool:
    """Whether an answer says behind its last number that it cannot tell."""
    for statement in reversed(answer.statements[-_MAX_CLOSING_STATEMENTS:]):
        is_infinite = "nfin" in statement or "unendlich" in statement
        if is_infinite and _INFINITE.search(statement):
            return True
        if numbers_in(statement):
            return False
        if says_unable(statement):
            return True
    return False


# what says that there is no number: "There are infinitely many"
_INFINITE = re.compile(
    r"\b(?:(?:is|are|ist|sind|est|sont|es|son|é|são)(?: \w+)? (?:infinit\w*|unendlich|infinie?s?)"
    r"|infinitely many|unendlich viele)\b",
    re.IGNORECASE,
)


_MAX_CLOSING_STATEMENTS = 4


def _opens(answer: ParsedAnswer) -> bool:
    """Whether an answer that breaks off has begun by answering."""
    first = answer.statements[0]
    goes_on = len(answer.statements) == 1 and _GOES_ON.search(first) is not None
    return not (goes_on or _PLANS.match(first)) and len(answer.statements) <= _MAX_CUT_STATEMENTS


_PLANS = re.compile(
    r"\W*(?:let(?:'s| us| me)|to (?:answer|check|count|determine|find|solve)|we need to)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that says what is to be done, and answers nothing."""
# a longer answer that breaks off has not come to its result
_MAX_CUT_STATEMENTS = 6


def _declines(answer: ParsedAnswer) -> bool:
    """Whether an answer begins by saying that it is none, and concludes nothing."""
    first = answer.statements[0]
    return _DECLINES.match(first) is not None and says_unable(first) and not answer.concluding


def _stating_part(text: str, answer: ParsedAnswer) -> str:
    """A passage that may state a number, and of a conclusion what comes before a proviso: "It costs
    5. Tips are not included"; "" where it says that it cannot tell.
    """
    if not says_unable(IN_PARENTHESES.sub("", text)):
        return text
    first = first_sentence(text) if text in answer.concluding else ""
    return first if first and not says_unable(IN_PARENTHESES.sub("", first)) else ""


def _restated_number(answer: ParsedAnswer, question: str) -> Number | None:
    """The only number of a first sentence that repeats the question, where only a proviso says what
    is not known: "2008 has the highest rate. While no value is given, ...".
    """
    first = answer.statements[0]
    provisos = list(filter(says_unable, answer.statements[1:]))
    if not restating_sentences([first], question) or not all(map(_CONCESSION.match, provisos)):
        return None
    numbers = _new_numbers(first, question)
    return numbers[0] if len(_values(numbers)) == 1 else None


_CONCESSION = re.compile(r"\W*(?:while|although|though|even though)\b", re.IGNORECASE)


def _counts_nothing(answer: ParsedAnswer, question: str) -> bool:
    """Whether an answer says that there is nothing of what is counted."""
    first = answer.statements[0]
    zero_count = _ZERO_COUNT.match(first)
    if zero_count and (zero_count[1] or "").lower() in question.lower():
        is_recounted = any(
            _counts_otherwise(text, answer, question) for text in answer.concluding[:1]
        )
        return not (is_recounted or _new_numbers(_OPTION_NUMBER.sub("", answer.text), question))
    # "There are two pens. No pencil is to be seen", asked for pencils; "バスは1台もありません"
    if not answer.text.isascii() and (
        _NOT_ONE.search(first)
        or any(
            denies_asked_noun(re.split("[,，]", sentence, maxsplit=1)[0], question)
            for sentence in (*answer.concluding[:1], *answer.statements[:2])
        )
    ):
        return True
    is_brief = len(answer.text) < _MAX_ZERO_CHARS and not names_number(answer.text)
    return is_brief and _FOREIGN_ZERO.search(first) is not None and not says_unable(answer.text)


_NOT_ONE = re.compile(
    r"(?:[1一]|한 ?|하나)\S{0,2}[も도也都][^。.]{0,14}(?:な[いし]|ません|없|没|不)"
    r"|एक भी \S+(?: \S+)? नहीं"
)
"""What says that there is not a single one."""


def _counts_otherwise(conclusion: str, answer: ParsedAnswer, question: str) -> bool:
    """Whether a conclusion repeats the question and denies nothing: "so all objects are left"."""
    is_denial = NEGATIVE.search(conclusion)
    return not is_denial and _closes_open(conclusion, answer.statements[-1], question)


_DECLINES = re.compile(
    r"\W*(?:unfortunately,? |sorry,? |i apologi[sz]e,? (?:but )?)*(?:i|we) (?:(?:cannot|can't"
    r"|can not|could not|am (?:unable|not able) to|'m (?:unable|not able) to)"
    r" (?:\w+ly )?(?:answer|provide|determine|tell|give|help|assist|identify|calculate"
    r"|measure)|(?:do not|don't) have|would need)\b",
    re.IGNORECASE,
)
"""The beginning of an answer that gives none: "I cannot answer"."""
_OPTION_NUMBER = re.compile(r"\([A-H]\) \d+\b")
_GOES_ON = re.compile(r"(?:\b(?:and|plus|as well as|und|et|y|e|и)|[,+])$", re.IGNORECASE)


def _exact_number(number: Number, text: str, question: str) -> Number | None:
    """A number of a text; None where it is only named as a bound ("up to 5"), unless a bound is
    asked for.
    """
    if not may_bound(text):
        return number
    same_numbers = [candidate for candidate in numbers_in(text) if candidate.value == number.value]
    if _OPEN_BOUND.search(text):
        return None
    is_exact = any(not is_bound(text, candidate) for candidate in same_numbers) or not same_numbers
    return number if is_exact or BOUND_QUESTION.search(question) else None


_OPEN_BOUND = re.compile(
    r"\bat least \w+\b[^.;]*[,;(] ?(?:but|though|although"
    r"|and (?:possibly|perhaps|maybe|likely) more|possibly more|(?:the )?exact)\b",
    re.IGNORECASE,
)
"""A lower bound that is said to be one: "at least 8, though there may be more"."""


def _are_parts(text: str) -> bool:
    """Whether a text counts parts and leaves their sum to the reader: "3 seated, 2 standing"."""
    pieces = _PART_SEPARATOR.split(_ARTICLE.sub(r"\g<1>1 ", text))
    counted = list(map(undenied_numbers, pieces))
    is_single = any(len(numbers) != 1 for numbers in counted) or len(pieces) < 2
    if is_single or TOTAL.search(text):
        return False
    values = [numbers[0].value for numbers in counted]
    has_total = len(values) > 2 and values[0] == sum(values[1:])
    return not has_total and all(map(_PART.match, pieces))


_ARTICLE = re.compile(r"(\b(?:and|plus) )an? ", re.IGNORECASE)
_PART = re.compile(
    rf"\W*{_FILLERS}(?:\d+|{'|'.join(SMALL_NUMBERS)}) (?!of\b)(?!\w+ of\b)[^\W\d]", re.IGNORECASE
)


def _states_total(last: str, answer: ParsedAnswer) -> bool:
    """Whether a last sentence sums up what was concluded before: "so she spent $12. The total is
    32.".
    """
    is_conclusion = any(text in last for text in answer.concluding)
    values = _values(undenied_numbers(last))
    has_parts = len(answer.statements) > 2 or len(undenied_numbers(answer.statements[0])) > 1
    is_summing = has_parts and _SUMMING.match(last) is not None
    is_total = is_summing or TOTAL.search(last) is not None
    return is_total and not is_conclusion and len(values) == 1


def _repeats_result(last: str, answer: ParsedAnswer, question: str) -> bool:
    """Whether a last sentence says again what was calculated before it: "46 - 5 = 41. The frog
    jumped 41 cm farther.".
    """
    if "=" not in answer.text or "=" in last:
        return False
    values = _values(_new_numbers(last, question))
    if len(values) != 1:
        return False
    for statement in answer.statements[-_MAX_CLOSING_STATEMENTS:-1]:
        results = numbers_in(statement[statement.rfind("=") + 1 :]) if "=" in statement else []
        if results and results[0].value in values:
            return True
    return False


_SUMMING = re.compile(
    r"\W*(?:so\b|(?:that|this|which) (?:is|makes|gives|leaves|means)\b)", re.IGNORECASE
)
"""The beginning of a last sentence that sums up those before it: "That's 6."."""


def _ordered_ends(answer: ParsedAnswer, question: str) -> list[str]:
    """The first and the last sentence of an answer, the one that may state the number first."""
    last = answer.statements[-1]
    first = answer.statements[0]
    repeats = shared_words(last, question) - shared_words(first, question)
    is_sum = bool(TOTAL.search(last) or _STEP.match(last) or "=" in last or sole_number(last))
    if _SUBSET_PHRASE.match(last):  # "5 cups. Of these, 2 are blue", asked for the blue ones
        is_sum = not shared_stems(last, question) <= shared_stems(first, question)
    # short answers state and then explain; long ones reason and then state
    ends = [first, last]
    if len(answer.statements) > 3 or is_sum or repeats > 1 or _STEP.match(first):
        ends.reverse()
    return sorted(ends, key=lambda text: not _new_numbers(text, question))


_SUBSET_PHRASE = re.compile(r"\W*(?:out )?of (?:these|those|them)\b", re.IGNORECASE)
_HEAD = re.compile(rf"[^\w]*{_FILLERS}[^\w]*(?:[a-z]\s*=\s*)?", re.IGNORECASE)


def _number_at_head(text: str) -> Number | None:
    """The number that a text begins with."""
    numbers = undenied_numbers(text)
    if not numbers or _is_hedged(text, numbers) or _CONTINUATION.match(text[numbers[0].end :]):
        return None
    head = text[: numbers[0].start]
    return numbers[0] if _HEAD.fullmatch(head) else None


# around "one" that counts nothing: "the larger one", "one of them", "one can see"
_DETERMINER = re.compile(
    r"\b(?:the|this|that|which|each|every|no|any|an?|another|\w+er)\s+(?:\w+\s+)?$"
)
_RELATIVE = re.compile(r"\s+(?:of|that|which)\b")
# what makes a noun behind "one" a count: "one slice of pizza"
_PARTITIVE = re.compile(r"\s+of (?!the\b|them\b|these\b|those\b|its?\b|my\b|our\b|which\b)")
_PREDICATE = re.compile(r"\s+(?:can|could|must|is)\b")


def _is_pronoun(number: Number, text: str) -> bool:
    """Whether "one" counts nothing: "the larger one", "one of them"."""
    before = _before(text, number)
    after = text[number.end :]
    if not (number.word and number.value == 1):
        return False
    return bool(
        _DETERMINER.search(before)
        or (_RELATIVE.match(after) and not (number.unit and _PARTITIVE.match(after)))
        or (not number.unit and _PREDICATE.match(after))
        or number.unit in ("can", "could", "must", "thing")
    )


def _is_hedged(text: str, numbers: Sequence[Number]) -> bool:
    """Whether a text leaves it open which number it is: "7 or 19", "between 7 and 19"."""
    if _NUMBER_PAIR.fullmatch(text) and len(_values(numbers)) > 1:
        return True
    # 7 - 19 before an equals sign is a difference
    if "=" in text and " or " not in text and not _TWO_SOLUTIONS.search(text):
        return False  # a difference, not a range
    return any(_is_range(text, low, high) for low, high in pairwise(numbers))


_NUMBER_PAIR = re.compile(r"\W*\d[\d.]*(?:, \d[\d.]*)*,? and \d[\d.]*\W*")
# "x = 3 and x = -3"
_TWO_SOLUTIONS = re.compile(r"\b([a-z])\s*=\s*[^\s,]+\s*(?:,|and|or|,\s*and)\s*\1\s*=[^=]*$", re.I)
# a change has two ends, of which the second holds: "rose by 99 million to 1,750 million"
_CHANGE = re.compile(
    r"\b(?:by|(?:r[io]se|fell|falls?|grew|grows?|went|goes|drop\w*|increas\w*|decreas\w*|chang\w*)"
    r"(?: \w+)? from)\s+[$€£]?$",
    re.IGNORECASE,
)


_BETWEEN = re.compile(r"\bbetween\s*$", re.IGNORECASE)


def _is_range(text: str, low: Number, high: Number) -> bool:
    """Whether two numbers of a text are alternatives, or the ends of a range."""
    separator = text[low.end : high.start]
    if (low.value, low.unit, low.percent) == (high.value, high.unit, high.percent):
        return False  # "3/4 or 0.75"
    if re.fullmatch(r"\s*(?:(?:or|and|,)(?:\s+\w\s*=)|or|/|to|[-–])\s*", separator, re.IGNORECASE):
        return not (separator.strip() == "to" and _CHANGE.search(_before(text, low)))
    is_introduced = _BETWEEN.search(_before(text, low))
    # "the difference between 7 and 19 is 12"
    is_operand = re.match(r"\s*(?:is|was|equals)\b", text[high.end :])
    return bool(is_introduced and separator.strip() == "and" and not is_operand)


_MAX_LOOKBACK = 240


def _before(text: str, number: Number) -> str:
    """What stands before a number, from a word on that is near enough to say what the number is."""
    start = max(0, number.start - _MAX_LOOKBACK)
    if start:
        start = max(start, text.find(" ", start, number.start))
    return text[start : number.start]


def stated_numbers(text: str, question: str) -> list[Number]:
    """The numbers of a text that it does not deny, without those of the question that only say
    when or where; only years where a year is asked for.
    """
    numbers = undenied_numbers(text)
    if _YEAR_QUESTION.search(question):
        return _years(numbers) or [number for number in numbers if number.unit != "th"]
    compared = _question_numbers(question)[1]
    stated = [
        number
        for number in numbers
        if not (number.value in compared and _COMPARISON.search(_before(text, number)))
    ]
    return _new_numbers(text, question) or stated


# a number of the question behind one of these is what is compared with: "racks with at least 3"
_COMPARISON = re.compile(
    r"\b(?:at (?:least|most)|(?:more|less|fewer|greater|higher|lower|larger|smaller) than|over"
    r"|under|above|below)\s*$",
    re.IGNORECASE,
)


def _values(numbers: Sequence[Number]) -> set[Fraction]:
    """The different values of numbers, whatever their units."""
    return {number.value for number in numbers}


def _years(numbers: Sequence[Number]) -> list[Number]:
    """The numbers that may be years."""
    return [number for number in numbers if 1000 <= number.value <= 2100 and not number.unit]


def _may_be_year(value: Fraction) -> bool:
    # `in range` compares a fraction with every year
    return value.denominator == 1 and 1000 <= value.numerator <= 2100


@lru_cache(maxsize=1024)
def _question_numbers(
    question: str,
) -> tuple[frozenset[tuple[Fraction, str]], frozenset[Fraction]]:
    """The numbers of a question with their units, and without."""
    numbers = numbers_in(question)
    values = frozenset(_values(numbers))
    return frozenset((number.value, number.unit) for number in numbers), values


@lru_cache(maxsize=1024)
def _question_counters(question: str) -> frozenset[str]:
    """The numbers of a question with the sign behind them, in scripts that set no spaces."""
    return frozenset() if question.isascii() else frozenset(_COUNTED.findall(question))


_FLOORS = ("층", "階", "层", "楼", "호", "号", "番")
"""What stands behind a number that counts nothing."""
_COUNTED = re.compile("\\d+[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _new_numbers(text: str, question: str) -> list[Number]:
    """The numbers of a text that do not repeat the question: "9 dots", or the year in "in 2019"."""
    in_question, values = _question_numbers(question)
    counters = _question_counters(question)
    new_numbers = []
    numbers = undenied_numbers(text)
    if not values and not (counters or any(map(text.__contains__, _FLOORS))):
        return numbers
    years = _years(numbers)
    for number in numbers:
        is_repeated = bool(number.unit) and (number.value, number.unit) in in_question
        # "2층" of the question is the same floor, and of other questions no count
        is_repeated = is_repeated or text[number.start : number.end + 1] in counters
        is_repeated = is_repeated or (
            len(numbers) > 1 and text[number.end : number.end + 1] in _FLOORS
        )
        is_time = number.value in values and (
            number in years
            # the unit of "2010 betrug" is a verb
            or (_may_be_year(number.value) and not is_unit(number.unit))
            or _TIME_PREPOSITION.search(_before(text, number))
            or _SUBSET_MARK.match(text, number.end)
        )
        if not is_repeated and not is_time:
            new_numbers.append(number)
    return new_numbers


def _counted_number(text: str, question: str) -> Number | None:
    """The count of the things asked for, in a text that counts others as well: "3 cats and 4
    dogs".
    """
    count_question = _COUNT_QUESTION.match(question)
    numbers = undenied_numbers(text)
    # the noun of a sum is that of its result
    if count_question is None or "=" in text or _is_hedged(text, numbers):
        return None
    if count_question[2]:  # "Two people are standing, three are sitting"
        clauses = re.split(r"[,;]| and | but | while ", text)
        clauses = [clause for clause in clauses if shared_words(clause, count_question[2])]
        stated = undenied_numbers(clauses[0]) if len(clauses) == 1 else []
        if len(stated) == 1 < len(numbers):
            return stated[0]
    if TOTAL.search(text):
        return None
    nouns = [word.removesuffix("s") for word in count_question[1].lower().split()]
    counted = [number for number in numbers if number.unit.removesuffix("s") in nouns]
    noun = nouns[-1]
    # a pattern is made only where it may match: each costs as much as a short answer
    has_noun = not counted and noun in text.lower()
    if has_noun and re.search(rf"(?:\bno|\bnot any|n't any) {noun}", text, re.IGNORECASE):
        return numbers_in("0")[0]
    return counted[0] if len(counted) == 1 else None


def _passage_number(text: str, counts: bool, question: str = "") -> Number | None:
    """The number that a passage states: alone, behind "is" or "=", or at its beginning."""
    text = _STEP.sub("", first_sentence(text))
    text = result_clause(text, question)
    owned = owned_numbers(text)
    if len(owned) > 1:
        return owned_by_asked(owned, question)
    if counts:
        from hqm.scoring.counted_kinds import number_of_kinds  # few runs count anything

        number = (
            number_without_exceptions(text)
            or enumerated_number(text)
            or total_beside_addends(text)
            or number_of_kinds(text, question)
            or _counted_number(text, question)
        )
    else:
        number = number_in_asked_unit(text, question)
    number = number or copular_number(text) or _named_number(text, question)
    if number is not None:
        return number
    text = without_contrast(without_parentheses(without_addends(text)))
    if counts and _are_parts(text):
        return None
    for segment in _segments(text, question):
        numbers = stated_numbers(segment, question)
        number = _number_at_asked_time(segment, numbers, question)
        if number is not None:
            return number
        if len(numbers) > 1 and _is_hedged(segment, numbers):
            continue
        if len(_values(numbers)) == 1:  # "20, representing 20%"
            return None if _is_pronoun(numbers[-1], segment) else numbers[-1]
        number = _predicated_number(segment, numbers, question)
        if number is not None:
            return number
    return _spelled_count(text, question) if counts else None


def _spelled_count(text: str, question: str) -> Number | None:
    """The count of a text that says that there is none or a single one."""
    absent = _FOREIGN_ABSENT.search(text)
    if _ZERO_COUNT.match(text) or (absent and absent[1][:4].lower() in question.lower()):
        return numbers_in("0")[0]
    return numbers_in("1")[0] if _SINGLE.search(text) else None


_SINGLE = re.compile(
    r"\b(?:a single|une? seule?|una? sol[oa]|una? únic[oa]|uma? únic[oa]|uma? só"
    r"|eine?[nmrs]? einzige\w?|одн\w+ единственн\w+)\b",
    re.IGNORECASE,
)


_PARALLEL = re.compile(r"[,;]\s+(?:and |but |while |whereas )?| (?:and|but|while|whereas) ")


_SPOKEN_WORD = re.compile(r"[^\W\d_]{3}")


def _number_of_asked(text: str, question: str) -> Number | None:
    """The number of the only part of a sentence that speaks of what is asked, where each part has
    one: "35% chose tea, 65% coffee".
    """
    if "=" in text or _is_hedged(text, undenied_numbers(text)) or len(owned_numbers(text)) > 1:
        return None
    pieces = _PARALLEL.split(text)
    numbers = [_new_numbers(piece, question) for piece in pieces]
    is_list = not all(map(_SPOKEN_WORD.search, pieces))  # "The data: 3, 5, 7"
    if len(pieces) < 2 or is_list or any(len(of_piece) != 1 for of_piece in numbers):
        return None
    words = set(asked_words(question))
    overlaps = [len(words.intersection(content_words(piece))) for piece in pieces]
    if overlaps.count(0) < len(pieces) - 1 or not max(overlaps):
        return None
    return numbers[overlaps.index(max(overlaps))][0]


def _named_number(text: str, question: str) -> Number | None:
    """The number that its name, a colon or the word for a sum sets apart from others."""
    named = _labelled_number(text, question) or number_behind_colon(text) or foreign_total(text)
    return named or final_result(text) or counted_abroad(text, question)


_LABEL = re.compile(r"\b([A-Za-z]\w*|[12]\d{3})\s*[:=]\s*$")


def _labelled_number(text: str, question: str) -> Number | None:
    """The number whose name the question has, where several are named: "AB = 45, BC = 60"."""
    labelled: list[Number] = []
    if ":" not in text and "=" not in text:
        return None
    for number in numbers_in(text):
        label = _LABEL.search(_before(text, number))
        if label and re.search(rf"\b{label[1]}\b", question, re.IGNORECASE):
            labelled.append(number)
    names_several = re.search(r"[:=].*[,;].*[:=]", text)
    return labelled[0] if len(labelled) == 1 and names_several else None


def _segments(text: str, question: str) -> list[str]:
    """The parts of a sentence that may state its number, those with a new number first."""
    clause = SUBORDINATE.search(text)
    if clause and clause[0].strip() == "per" and "=" in text[clause.end() :]:
        clause = None  # "15 tickets / 3 tickets per candy = 5 candies"
    segments = [text[: clause.start()], text] if clause else [text]
    if _is_hedged(text, undenied_numbers(text)):
        # "x = 3 or x = -2; lengths are positive, x = 3"
        segments += re.split(r"[;,] ", text)[:0:-1]
    return sorted(segments, key=lambda segment: not _new_numbers(segment, question))


def _number_at_asked_time(segment: str, numbers: Sequence[Number], question: str) -> Number | None:
    """The only number of the year or place that was asked for: "from 5 in 2008 to 9 in 2010"."""
    asked_values = _values(numbers_in(question))
    placed = []
    for number in numbers:
        time = _TIME_PHRASE.match(segment[number.end :])
        if time and Fraction(time[1]) in asked_values:
            placed.append(number)
    return placed[0] if len(placed) == 1 else None


def _is_stated(text: str, number: Number) -> bool:
    """Whether a verb or sign states a number of a text."""
    before = _before(text, number)
    if "compris" in before.lower():  # of its forms there are too many to list
        return _COPULA.pattern.search(before) is not None
    return _EQUALS.search(before) is not None or _COPULA.is_in(before)


def _predicated_number(segment: str, numbers: Sequence[Number], question: str) -> Number | None:
    """The number behind "is" or "=", or before "remain"; of several the one in the clause that
    answers.
    """
    predicated = []
    results = []
    for number in numbers:
        if _is_stated(segment, number) or _REMAINDER.match(segment[number.end :]):
            predicated.append(number)
            if _before(segment, number).rstrip().endswith(("=", "≈")):
                results.append(number)
    if len(results) == 1 and CALCULATION.search(segment):
        return results[0]
    # a question for a sum has the word for it in every clause
    is_total = TOTAL.search(segment) and not TOTAL.search(question)
    clause = "" if is_total else answering_clause(segment, question)
    answering = stated_numbers(clause, question)
    has_several = len(_values(predicated)) > 1
    if (has_several or _YEAR_QUESTION.search(question)) and len(answering) == 1:
        return answering[0]  # "Blue costs $25, and the red one costs $30"
    return None if not predicated else predicated[-1]
