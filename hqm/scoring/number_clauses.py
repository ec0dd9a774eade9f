"""The clause of a sentence that states its number, and the numbers that it does not deny."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from hqm.scoring.commitments import ParsedAnswer, is_denied, sentences, shared_words
from hqm.scoring.polar_words import stem
from hqm.scoring.written_numbers import Number, numbers_in, sole_number

# what follows explains the number, and has numbers of its own
SUBORDINATE = re.compile(
    r", from\b|,? (?:because|since|(?<!well )as(?! well)|with|where|given|considering|but|whereas"
    r"|while|although|assuming|if"
    r"|when|after|before|out of|compared|rather than|instead of|per|up from|down from"
    r"|arranged|consisting|split|divided|grouped|reaching|(?:up|down)(?: by)? [$€£]?[\d.,]+\s?%?"
    r"(?: percent)? (?:from|on)|versus|vs|leaving|including|(?:one|some|two|all) of which|of which"
    r"|plus another)\b|, (?:mais|pero|mas|aber|jedoch|но)\b"
    # "86,5 mm, 12 mm mehr als im Februar"
    r"|, (?:soit |на )?\d[\d.,]*\s?[^\W\d]{0,12} (?:(?:mehr|weniger|höher|niedriger) als"
    r"|(?:más|menos) que|de (?:plus|moins) qu|a (?:mais|menos) (?:que|do que)"
    r"|(?:больше|меньше|выше|ниже),? чем)|[,،] (?:أي )?(?:بزيادة|بانخفاض)|, जो .*(?:अधिक|कम)",
    re.IGNORECASE,
)
# the number behind these is what a part is taken of: "134 of the 150"
_REFERENCE_AMOUNT = re.compile(
    r"±\s*$|\b(?:below|above|under|over)(?: the)?\s*[$€£]?$|^\W*(?:out )?of (?:the|all|these)\s*$"
    r"|\d (?:out )?of (?:the|all|these)\s*$|\d out of\s*$"
    r"|^\W*(?:sur les|parmi les|d[ao]s|de l[ao]s|von den|von diesen|из)\s*$",
    re.IGNORECASE,
)
IN_PARENTHESES = re.compile(r"\([^()]*\)")
# the clause of a sum in other languages than English: "insgesamt also 7"
_FOREIGN_TOTAL = re.compile(
    r"\b(?:insgesamt|zusammen|en total|au total|en tout|in totale|n[ou]m? total|ao todo|всего|итого"
    r"|soit(?! \d[\d.,]*\s?\w* de (?:plus|moins))|macht|in summe|en conjunto|в сумме"
    r"|es decir|o sea|ou seja|то есть|значит|ergibt|lo que da|o que dá|ce qui fait"
    r"|получа\w+|totali[zs]ando?|somando|sumando|suman"
    r"|(?:o|el|le) (?:valor |custo |precio |coste? |importe |montant |prix )?total)\b"
    r"|一共|总共|共有|(?<=[,，])共(?=[\d一二两三四五六七八九十])|共计|合计|总计|合計|全部で|合わせ[てる]"
    r"|(?<![時統設会])計(?=\d)|합쳐|합하면|합계|총|모두|कुल|मिलाकर|المجموع|مجموع|إجمالي",
    re.IGNORECASE,
)
# a sentence with one of these states a result, whatever numbers lead to it
TOTAL = re.compile(
    r"\b(?:difference|average|mean|median|range|ratio|product|total|altogether|in all|sum|final"
    r"|result|remain\w*|left|overall)\b",
    re.IGNORECASE,
)


def _is_reference(text: str, number: Number) -> bool:
    """Whether a number of a text is what a part is taken of, or of things in relation: "the
    distance between two objects".
    """
    start = max(0, number.start - _MAX_REFERENCE_CHARS)
    before = text[start : number.start].rstrip().rstrip("$€£").rstrip().lower()
    if number.word and before.endswith("between"):
        return not text.startswith((" and", " to"), number.end)
    if not before.endswith(_REFERENCE_ENDINGS):
        return False
    return _REFERENCE_AMOUNT.search(text, start, number.start) is not None


_MAX_REFERENCE_CHARS = 40
_REFERENCE_ENDINGS = (
    *("±", "below", "above", "under", "over", "the", "all", "these", "of"),
    *("les", "das", "dos", "las", "los", "den", "diesen", "из"),
)


def undenied_numbers(text: str) -> list[Number]:
    """The numbers of a text that it does not deny; "134 of the 150" names the first only."""
    return list(_undenied_numbers(text))


@lru_cache(maxsize=1024)
def _undenied_numbers(text: str) -> tuple[Number, ...]:
    undenied = []
    for number in numbers_in(text):
        is_excluded = is_denied(text, number.start, number.end) or _is_reference(text, number)
        if not is_excluded:
            undenied.append(number)
    return tuple(undenied)


def without_parentheses(text: str) -> str:
    """A text without its parentheses, where numbers stand outside of them: "14 in total
    (9 here, 5 there)".
    """
    stripped = IN_PARENTHESES.sub("", text)
    return stripped if undenied_numbers(stripped) else text


_TIMES_QUESTION = re.compile(r"\bhow (?:many times|often)\b", re.IGNORECASE)
_TIMES = re.compile(
    r"\b(?<!at )(?:(once)|(twice)|thrice)\b(?! (?:again|more|upon|all|an?|the|i|you|he|she|it|we"
    r"|they|this|that)\b)",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def _asks_times(question: str) -> bool:
    return _TIMES_QUESTION.search(question) is not None


def with_counted_times(text: str, question: str) -> str:
    """A text in which the first "once" or "twice" is a number, where it is asked how many times.

    >>> with_counted_times("He comes twice.", "How many times does he come?")
    'He comes 2 times.'
    """
    if "scale" in question.lower():  # "On a scale of 1 to 10 it is a 4", "4/10"
        text = _RATING_SCALE.sub("", text)
    if not _asks_times(question):
        return text
    return _TIMES.sub(lambda m: "1 time" if m[1] else "2 times" if m[2] else "3 times", text, 1)


_RATING_SCALE = re.compile(
    r"\b(?:on|from) an? scale (?:of|from) \d+ ?(?:to|[-–]) ?\d+,?|(?<=\d)(?: ?/ ?| out of )\d+\b",
    re.IGNORECASE,
)


def with_plain_amounts(text: str, counts: bool) -> str:
    """A text in which halves of a unit are in digits, and, where things are counted, without days
    of the month.

    >>> with_plain_amounts("an hour and a half on 5 November", True)
    '1.5 hours on '
    """
    if counts:
        text = _DAY_OF_MONTH.sub("", text)
    if "half" in text:
        text = _HALF_UNIT.sub(lambda unit: f"1.5 {unit[1]}s" if unit[1] else f"0.5 {unit[2]}", text)
    return text


_HALF_UNIT = re.compile(
    r"\b(?:an?|one) (hour|minute|day|mile|meter|kilometer) and a half\b"
    r"|\bhalf an? (hour|minute|day|mile|meter|kilometer)\b",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DAY_OF_MONTH = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)\b"
    r"(?:,? \d{4}\b)?"
)


CALCULATION = re.compile(r"\d\s*[-+−–×*/÷·]\s*\d[^=]*=")
_INCREMENT = re.compile(r"\b(?:more|another|extra|additional|fewer|less|too many)\b", re.IGNORECASE)
# "12 were sold, leaving 6", where it is asked what is left
_REMAINDER_QUESTION = re.compile(r"\b(?:left|remain\w*|still)\b", re.IGNORECASE)
_REMAINDER_RESULT = re.compile(r"[,;:—–]\s*(?:leaving|which leaves|that leaves)\b", re.IGNORECASE)
_RESULT = re.compile(
    r"[,;:—–]\s*(?:so|making|which makes|that makes|which is|thus|therefore|hence|giving"
    r"|for a total of|in total)\b[\s,:]*",
    re.IGNORECASE,
)


# "The original price was €20, but it has been reduced to €15"
_FORMER_VALUE = re.compile(
    r"(?:\b(?:original(?:ly)?|previous(?:ly)?|former(?:ly)?|used to|regular|old)\b[^.;]*?[,;] "
    r"(?:but|and) [^.;]*?|\b(?:was|were|cost)\b[^.;]*?[,;] (?:but |and )?)"
    r"\b(?:now|currently|reduced|increased|lowered|raised|discounted)\b",
    re.IGNORECASE,
)


_SIMPLIFIED = re.compile(
    r"\b(?:which|that|this) (?:simplifies|reduces|converts|works out|comes out|amounts|adds up"
    r"|is equal"
    r"|is equivalent) to\b|\bin other words\b,?|\bi\.e\.,?|[,;] (?:sprich|d\. ?h\.|c'est-à-dire"
    r"|es decir|o sea|ou seja|т\. ?е\.|то есть)\b,?"
    r"|(?:なので|ので|ため)、|(?:이므로|므로),?\s|[가-힣]인 (?=\d)"
    r"|[,，、]\s?(?:즉|つまり|すなわち|即|也就是|यानी|أي )",
    re.IGNORECASE,
)
"""What says a number again in another form: "4 of 10, which simplifies to 2/5"."""


_SIMPLIFIED_PARTS = (
    *("simplifies", "reduces", "converts", "works out", "comes out", "amounts", "adds up"),
    *("is equal", "is equivalent", "other words", "i.e", "sprich", "d.h", "d. h", "c'est-"),
    *("es decir", "o sea", "ou seja"),
)
"""What a text in ASCII must have for the pattern above to find anything."""
_AS_PERCENT = re.compile(r"(?<=\d)\)?,? \(?or (?:about |approximately )?[\d.]+ ?%\)?")


def _without_percent(text: str) -> str:
    """A text that says a share once: "0.625" of "0.625, or 63%"."""
    second = _AS_PERCENT.search(text)
    if second is None:
        return text
    shares = numbers_in(second[0])
    ratios = [number for number in numbers_in(text[: second.start()]) if not number.percent]
    if ratios and shares and abs(ratios[-1].value * 100 - shares[0].value) <= 1:
        return text[: second.start()] + text[second.end() :]
    return text


def result_clause(text: str, question: str) -> str:
    """The clause with the result of a correction or a subtraction: "6" of "one more, so 6"; the
    text where there is none.
    """
    if "%" in text:
        text = _without_percent(text)
    result = _INCREMENT.search(text) and _RESULT.search(text)
    if _REMAINDER_QUESTION.search(question):
        result = _REMAINDER_RESULT.search(text) or result
    former = None
    lowered = text.lower()
    may_simplify = not text.isascii() or any(map(lowered.__contains__, _SIMPLIFIED_PARTS))
    simplified = list(_SIMPLIFIED.finditer(text)) if may_simplify else []
    if simplified and undenied_numbers(text[simplified[-1].end() :]):
        return text[simplified[-1].end() :]
    if "," in text or ";" in text:
        former = _FORMER_VALUE.search(text)
    if former and not re.search(r"\b(?:original|previous|former|regular|old)", question, re.I):
        result = former
    clause = text[result.end() :] if result else ""
    return clause if undenied_numbers(clause) else text


def number_behind_colon(text: str) -> Number | None:
    """The number that alone stands behind the last colon: "Eight minus three: 5 slices."."""
    return sole_number(text[text.rfind(": ") + 1 :]) if ": " in text else None


_ASKED_UNIT = re.compile(r"\bin ([a-z]+(?:/[a-z]+)?)\W*$", re.IGNORECASE)


def number_in_asked_unit(text: str, question: str) -> Number | None:
    """The number in the unit that a question asks for, where others have another: "31 mph (50
    km/h)".
    """
    unit = _ASKED_UNIT.search(question)
    numbers = undenied_numbers(text)
    if unit is None or len(numbers) < 2 or not all(number.unit for number in numbers):
        return None
    names = (unit[1].lower(), unit[1].lower().removesuffix("s"))
    fitting = [number for number in numbers if number.unit in names]
    return fitting[0] if len(fitting) == 1 else None


_OWNED = re.compile(
    r"(?:^|[,;] |\b(?i:and|but|while|whereas|has|have) )\W*([A-Z]\w+)(?:'s)? "
    r"(?:has|have|had|gets?|got"
    r"|owns?|ate|made|won|took|gave|read|ran|sold|bought|scored|is|was|weighs|\w+ed)\s+"
    r"(?:(?:about|only|just|exactly)\s+)?[$€£]?$"
)


def owned_numbers(text: str) -> list[tuple[str, Number]]:
    """The numbers of a sentence with whom each belongs to, where it says so of all of them: "Jam
    has 3 boxes and Meg has 4".
    """
    numbers = undenied_numbers(text)
    if len(numbers) < 2 or "=" in text:
        return []
    owners = [_OWNED.search(text[: number.start]) for number in numbers]
    names = [owner[1] for owner in owners if owner]
    if len(names) < len(numbers) or len(set(names)) < 2:
        return []
    return list(zip(names, numbers, strict=True))


def owned_by_asked(owned: Sequence[tuple[str, Number]], question: str) -> Number | None:
    """The number of the only owner whom the last sentence of a question names."""
    asked_words = re.findall(r"\w+", "".join(sentences(question)[-1:]))
    numbers = [number for owner, number in owned if owner in asked_words]
    return numbers[0] if len(numbers) == 1 else None


_FINAL_RESULT = re.compile(
    r"[=≈][^=≈,;a-zA-Z]*\d\s*[-+−–×*/÷·]\s*\d[^=≈,;a-zA-Z]*[=≈]([^=≈,;]{1,24})$"
)


def final_result(text: str) -> Number | None:
    """The number in which a text ends that is one calculation: "F = 6 * 2 / 4 = 3 kN"."""
    if text.count("=") < 2:
        return None
    result = _FINAL_RESULT.search(text.rstrip(" .)"))
    return sole_number(result[1]) if result else None


def foreign_total(text: str) -> Number | None:
    """The number of the clause that gives a sum in another language: "一共五个人"."""
    if _FOREIGN_TOTAL.search(text) is None:
        return None
    # "dez no total, cinco em cada andar" has its sum before the comma, "no total, dez" behind it
    for separator in (r"[,，](?!\d)", r"(?<!ou seja)(?<!total)(?<!decir)(?<!o sea)[,，](?!\d)"):
        for clause in re.split(rf"{separator}|[;；、،؛]", text):
            total = _FOREIGN_TOTAL.search(clause)
            numbers = undenied_numbers(clause) if total else []
            if len(numbers) > 1 and total:  # "두 개가 있으니 모두 다섯 개"
                numbers = [number for number in numbers if number.start >= total.end()]
            if len(numbers) == 1:
                return numbers[0]
    return None


def counted_abroad(text: str, question: str) -> Number | None:
    """The only number of what a question in another language counts, beside those of other things:
    "две чашки и один чайник".
    """
    count_question = _COUNTED_ABROAD.search(question)
    numbers = undenied_numbers(text) if count_question else []
    if count_question is None or len(numbers) < 2:
        return None
    nouns = [_COUNT_NOUN.match(text, number.start) for number in numbers]
    stems = [stem(noun[1].lower()) if noun else "" for noun in nouns]
    asked_stem = stem(count_question[1].lower())
    is_telling = all(stems) and stems.count(asked_stem) == 1
    return numbers[stems.index(asked_stem)] if is_telling else None


_COUNT_NOUN = re.compile(r"\S+\s+([^\W\d]+)")
_COUNTED_ABROAD = re.compile(
    r"\b(?:wie viele|cuánt[oa]s|combien d(?:e |['’])|quant[oa]s|сколько|कितन[ेी])\s*([^\W\d]{3,})",
    re.IGNORECASE,
)


_DASH = re.compile(r"\s[—–]\s")
_COLON_ADDENDS = re.compile(
    r"\b(?:and|y|e|et|und|и) (?:an?|une?|una|uma?|um|eine?|один|одна)\b", re.I
)


def without_addends(text: str) -> str:
    """A text without what is listed behind its only number: "8 in total: 4 small ones and 4 large
    ones".
    """
    head, _, tail = _DASH.sub(": ", text, count=1).partition(": ")
    totals = undenied_numbers(head)
    addends = undenied_numbers(tail)
    if len(totals) != 1 or not addends or "=" in text:
        return text
    # "six people: five rowers and a cox" leaves one of them to the article
    is_addend = sole_number(tail) is None and addends[0].value < totals[0].value
    if len(addends) > 1 or (is_addend and _COLON_ADDENDS.search(tail)):
        return head
    return text


def without_contrast(text: str) -> str:
    """A text from its result on, where that is contrasted: "It says 20, but the sum is 35"."""
    clause = SUBORDINATE.search(text)
    if clause is None or "out of" in clause[0]:
        return text
    is_own = clause[0].endswith("but") and _OWN_COUNT.match(text, clause.end())
    if not is_own and not TOTAL.search(text, clause.end()):
        return text
    remainder = text[clause.end() :]
    return remainder if undenied_numbers(remainder) else text


_OWN_COUNT = re.compile(
    r"\W*(?:i (?:can |could |only )*(?:see|count|find|get)|actually|in fact|in reality|really"
    r"|there (?:are|is) (?:actually|really|in fact))\b",
    re.IGNORECASE,
)
"""What a writer counts, behind what something says: "The caption says 5, but I see 6"."""


_ARABIC_COUNT = re.compile(r"كم (?:عدد )?(?:ال)?(\w{3,}?)(?:ًا|اً|ا|ة|ات)?(?!\w)")
"""What is counted in Arabic, without its ending."""


def with_counted_pairs(text: str, question: str) -> str:
    """A text in which the Arabic dual of what is counted has its number: "كتابان" is two books.

    >>> with_counted_pairs("هناك كتابان.", "كم كتابًا على الطاولة؟")
    'هناك 2 كتابان.'
    """
    counted = _ARABIC_COUNT.search(question)
    return re.sub(rf"(?<!\w){counted[1]}ت?[اي]ن(?!\w)", r"2 \g<0>", text) if counted else text


def enumerated_number(text: str) -> Number | None:
    """The last number of a text that counts one by one: "1, 2, 3, 4"."""
    numbers = numbers_in(text)
    values = [number.value for number in numbers]
    if len(values) > 2 and values == list(range(1, len(values) + 1)):
        return numbers[-1]
    return None


def total_beside_addends(text: str) -> Number | None:
    """The first or the last number of a sentence that is the sum of its others: "6 pens, 4 red and
    2 blue".
    """
    numbers = undenied_numbers(text)
    values = [number.value for number in numbers]
    if len(values) < _MIN_SUMMED or "=" in text:
        return None
    if values[0] == sum(values[1:]):
        return numbers[0]
    return numbers[-1] if values[-1] == sum(values[:-1]) else None


_MIN_SUMMED = 3
_EXCEPTION = re.compile(
    r"\ball (?:of )?(?:the )?(?P<all>[\w-]+)\b[^.;]*?"
    r"\b(?:except(?: for)?|apart from)(?: the)? (?P<few>[\w-]+)"
    r"|\ball (?:but|except) (?:for )?(?P<few_of>[\w-]+) of (?:the |these )?(?P<of_all>[\w-]+)",
    re.IGNORECASE,
)


def number_without_exceptions(text: str) -> Number | None:
    """How many are left of all: "all 5 wear hats except for 2".

    >>> str(number_without_exceptions("All five wear hats except for two.").value)
    '3'
    """
    match = _EXCEPTION.search(text)
    if match is None:
        return None
    total = sole_number(match["all"] or match["of_all"])
    excepted = sole_number(match["few"] or match["few_of"])
    if total is None or excepted is None or excepted.value > total.value:
        return None
    return numbers_in(str(total.value - excepted.value))[0]


def copular_number(text: str) -> Number | None:
    """The number of a Japanese, Korean or Russian predicate, which ends it: "3の2乗は9です"."""
    predicate = None if text.isascii() else _FINAL_COPULA.search(text)
    if predicate is None or is_denied(text, *predicate.span(predicate.lastindex or 0)):
        return None
    return sole_number(predicate[predicate.lastindex or 0])


def predicates_asked(last: str, answer: ParsedAnswer, question: str) -> bool:
    """Whether a last sentence ends in a number, and repeats as much of a question as the last
    conclusion does.
    """
    if copular_number(last) is None:
        return False
    n_concluded = max((shared_words(text, question) for text in answer.concluding[:1]), default=0)
    return shared_words(last, question) >= max(1, n_concluded)


_FINAL_COPULA = re.compile(
    r"(?:[はがも은이가도]|(?<!또)는|^)\s*(?:총|모두|약|全部で|合計で?|約)?\s*(\d[\d,]*(?:\.\d+)?\s*[^\W\d]{0,3}?)"
    r"(?:개|명|가지|마리|個|人|匹|枚|本|台|冊)?(?:입니다|이다|이에요|예요|이 됩니다|です|である"
    r"|だ|でした|[にと]なります)[。.!]*\s*$"
    r"|(?<!не )\b(?:равн[аоы]?|равняется|составля[ею]т|составит) (\d[\d ]*(?:[.,]\d+)?)[\s.!]*$"
)
