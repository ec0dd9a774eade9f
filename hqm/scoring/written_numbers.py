"""Numbers as people and models write them: signs, thousands, decimals, fractions, powers of ten,
percentages, units and words.

>>> [str(number) for number in numbers_in("minus seven, 1,396 miles and 3/4")]
['-7', '1396 mile', '3/4']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

from hqm.scoring.cue_search import words_pattern
from hqm.scoring.number_words import (
    KOREAN_COUNTERS,
    NUMBER_WORDS,
    OTHER_LANGUAGES,
    OTHER_TENS,
    SMALL_NUMBERS,
    TENS,
)
from hqm.scoring.plain_text import with_plain_digits
from hqm.scoring.polar_words import is_english, language_of

SCALES: Mapping[str, int] = MappingProxyType(
    {
        "hundred": 100,
        "thousand": 10**3,
        "k": 10**3,
        "million": 10**6,
        "m": 10**6,
        "mn": 10**6,
        "billion": 10**9,
        "bn": 10**9,
        "b": 10**9,
        "trillion": 10**12,
    }
    | {
        word: factor
        for factor, words in {
            100: "百 सौ",
            10**3: "tausend mil mille тысяча тысячи тысяч тыс ألف آلاف हज़ार हजार 千 천",
            10**4: "万 萬 만",
            10**5: "लाख 십만",
            10**6: "百万 백만 millionen mio million millions millón millones milhão milhões milione"
            " milioni"
            " миллион миллиона миллионов млн مليون ملايين मिलियन",
            10**7: "करोड़ 千万 천만",
            10**8: "亿 億 억",
            10**9: "milliarde milliarden mrd milliard milliards bilhão bilhões miliardo miliardi"
            " миллиард миллиарда миллиардов млрд مليار مليارات अरब बिलियन",
        }.items()
        for word in words.split()
    }
)
_SCALE = words_pattern(word for word in SCALES if len(word) > 1 or not word.isascii())
# unit -> what it measures, and how many of the first unit of its kind it is
_UNITS: Mapping[str, tuple[str, Fraction]] = MappingProxyType(
    {
        name: (kind, Fraction(factor))
        for kind, units in {
            "length": "m:1 meter:1 metre:1 mm:1/1000 millimeter:1/1000 cm:1/100 centimeter:1/100"
            " centimetre:1/100 km:1000 kilometer:1000 kilometre:1000 ft:0.3048 foot:0.3048"
            " feet:0.3048 inch:0.0254 inche:0.0254 yard:0.9144 mile:1609.344",
            "money": "dollar:1 euro:1 cent:1/100",
            "mass": "g:1 gram:1 mg:1/1000 kg:1000 kilogram:1000 lb:453.59237 ounce:28.349523125"
            " oz:28.349523125",
            "volume": "l:1 liter:1 litre:1 ml:1/1000 milliliter:1/1000",
            "time": "s:1 sec:1 second:1 ms:1/1000 min:60 minute:60 h:3600 hr:3600 hour:3600"
            " day:86400",
        }.items()
        for name, factor in re.findall(r"(\w+):(\S+)", units)
    }
)
_KOREAN_ORDINAL = re.compile(r"(?:첫|두|세|네|다섯|여섯|일곱|여덟|아홉|열)\s?번째")


def without_ordinals(text: str, question: str) -> str:
    """A text without Korean ordinals, which are no numbers but of a question for one.

    >>> without_ordinals("두 번째 해에 40달러", "얼마인가요?")
    ' 해에 40달러'
    """
    return text if "번째" not in text or "번째" in question else _KOREAN_ORDINAL.sub("", text)


_FACTORS = ("π", "pi")
"""Units that are factors: 9π is not 9."""
_FRACTION_WORDS = MappingProxyType(
    {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fifth": 5, "eighth": 8, "tenth": 10}
)
_WORD = words_pattern(NUMBER_WORDS.keys() - {"cent", "six cent", "百", "백", "千"})
_DIGITS = (
    r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}(?!\d)"  # 1.396,5 and 1.396.500
    r"|\d{1,3}(?:[,'’\u00a0\u202f]\d{3})+(?:\.\d+)?(?![\d,]*\d)"  # 1,396.5
    # ₹12,34,567, and not the list 12,34,567
    r"|(?:(?<=₹)|(?<=[₹\u0900-\u0963] )|(?<=Rs ))\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?"
    r"(?![\d,]*\d)"
    r"|\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)"  # 1 396,5
    r"|\d+(?:[.,]\d+)?|\.\d+"
)
_NO_UNIT = (
    "or|and|is|are|was|were|to|of|in|on|at|for|with|as|but|not|from|that|which|remain|remains|left"
    "|de|di|e|because|since|so|if|than|minus|plus|times|by|x|who|have|has|had|more|fewer|less"
)
LATIN = "A-Za-z0-9_À-ɏЀ-ӿ"  # Chinese and Japanese write numbers without a space before them
_SPACED = (
    "\u0900-\u0963\u0966-\u097f\u0620-\u065f\u066e-\u06d3"  # letters of Hindi, Arabic and Persian
)
# German writes a number as one word
_JOINED = "(?<=hundert|tausend)(?!tausend)"
_JOINS = (
    rf"{_JOINED}(?=\w*(?:[zß]ig|zehn|eins?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|elf|zwölf"
    r"|hundert)(?!\w))"
)
_FRENCH_WORDS = words_pattern(
    word
    for row in (OTHER_LANGUAGES[1], OTHER_TENS[0][0], "six quatre-vingt mille")
    for word in row.split()
)
_NUMBER = re.compile(
    rf"(?:(?<![{LATIN}.^√])|{_JOINED})"
    r"(?P<sign>(?:minus|negative|минус|영하|마이너스)\s+|(?:零下|负|氷点下|マイナス)(?=\D)"
    r"|(?:(?<![\d)\]])|(?<=[\d)\]] ))[-−–](?=[\d.$€£¥])(?![-−–]))?"
    r"(?P<currency>[$€£¥₹]\s*(?P<late>[-−])?)?"
    rf"(?:(?P<digits>{_DIGITS})(?!\d*√)"
    r"(?:\s*(?:[x×*·]|\\times)\s*10\s*\^?\s*(?P<power>\(?[-−]?\d+\)?)|[eE](?P<exponent>[+-]?\d+)"
    r"|\s?\^\s?(?P<raised>\(?[-−]?\d+\)?))?"
    r"(?P<over>\s*/\s*(?P<under>\d+(?:\.\d+)?)(?![/\d]))?"
    rf"|(?P<word>(?:(?<![{_SPACED}])|(?<=\sو))"
    # "한 점" is one thing, and "유사한 점" a similar one
    r"(?!(?<=[가-힣])(?<!(?<![가-힣])[이삼사오육칠팔구]백)(?<!(?<![가-힣])백)[가-힣])"
    rf"(?:(?:{'|'.join(TENS)})\s(?:{'|'.join(SMALL_NUMBERS[1:10])})"
    rf"|(?:six )?cent(?=\s{_FRENCH_WORDS})"
    rf"|(?:{_WORD})(?!共|般|定|起|样|(?<=열)(?!입|{'|'.join(KOREAN_COUNTERS)})[가-힣])"
    r"|백(?=[이삼사오육칠팔구]십|십[일이삼사오육칠팔구])|(?<![数何几上成幾])[百千](?=[一二两三四五六七八九十百人円匹枚本個台]))(?:[-\s]dozen)?)"
    rf"(?:(?![{LATIN}{_SPACED}])|{_JOINS}))"
    r"(?P<percent>\s*(?:%|percent\b|per cent\b|percentage points?\b))?"
    r"(?P<scale>[\s-]*(?:hundred(?:[\s-]+(?:thousand|million|billion))?|mil (?:millones|milhões)"
    rf"|{_SCALE})(?![{LATIN}{_SPACED}])|[万萬만億亿억千천](?=\d)"
    rf"|(?-i:[kKMB])(?![{LATIN}/]))?"
    rf"(?:(?:\s+|(?<!hundert|tausend))(?P<unit>°\s?[CFK]?|π(?:\^\d)?|(?!(?:{_NO_UNIT}"
    rf"|{_WORD})\b)[a-zA-Zµ]+(?![{LATIN}])(?:\s?/\s?[a-zA-Z]+)?(?:\^[23])?))?",
    re.IGNORECASE,
)
# where a number can begin: at a sign or digit, or at a word
_FOREIGN_LETTERS = "".join(word[0] for word in NUMBER_WORDS if not word[0].isascii())
_FIRST_WORDS = frozenset(
    ("minus", "negative", *TENS, *(re.split(r"[\s-]", word)[0] for word in NUMBER_WORDS))
)
_LATIN_WORDS = sorted(word for word in _FIRST_WORDS if word[0].isascii())
# where a number may begin in a text in lower case
_NUMBER_START = re.compile(
    rf"[-$.\d]+|(?:(?<![a-z0-9_])|{_JOINED}){words_pattern(filter(str.isascii, _LATIN_WORDS))}"
    rf"(?:(?![a-z0-9_])|{_JOINS})"
)
_FOREIGN_NUMBER_START = re.compile(
    rf"[-−–$€£¥₹.\d]+|(?:(?<![{LATIN}])|{_JOINED}){words_pattern(_LATIN_WORDS)}"
    rf"(?:(?![{LATIN}])|{_JOINS})|[{_FOREIGN_LETTERS}负氷マ영м]"
)
_MAX_DIGITS = 60
_PARTICIPLE = re.compile(r"\s+\w+(?:ed|en)\b")
"""What makes "half" an adverb: "another one half hidden"."""
_DATE = re.compile(r"\d+/\d+/\d+|(?<!\d)\d{1,3}\s?:\s?\d+\b")


@dataclass(frozen=True, slots=True)
class Number:
    """A number that a text names, with what its digits and the words behind them say."""

    value: Fraction
    decimals: int
    """The decimal places that it was written with."""
    percent: bool
    unit: str
    start: int
    end: int
    word: bool = False
    """Whether it was written as a word, which may be a pronoun ("this one")."""

    def __str__(self) -> str:
        value = f"{self.value}"
        if self.decimals and self.value.denominator != 1:
            value = f"{float(self.value):.{self.decimals}f}"
        if self.percent:
            value += "%"
        return f"{value} {self.unit}" if self.unit else value

    def matches(self, key: Number, decimals: int | None = None) -> bool:
        """Whether it says what the key says.

        More decimal places than the key's are rounded, never to a whole number. A percentage equals
        its share; without a sign it is compared as it stands. Units of one kind are converted.

        Parameters
        ----------
        key
            The right answer.
        decimals
            The decimal places in which both are compared, where the item says so.
        """
        if (self.unit in _FACTORS) != (key.unit in _FACTORS):
            return False
        ours = self.value
        theirs = key.value
        if self.unit and key.unit and self.unit != key.unit:
            our_unit = _UNITS.get(self.unit)
            their_unit = _UNITS.get(key.unit)
            # units that are unknown here are names of things ("5 apples"), and compared by the
            # value alone
            if our_unit and their_unit:
                if our_unit[0] != their_unit[0]:
                    return False
                ours = ours * our_unit[1] / their_unit[1]
        # a key of .25 and an answer of 25 % are the same; without the sign 25 is another number
        candidates = [ours]
        if self.percent != key.percent:
            candidates.append(ours / 100 if self.percent else ours * 100)
        if decimals is not None:
            return any(round(value, decimals) == round(theirs, decimals) for value in candidates)
        if theirs in candidates:
            return True
        # 2.346 for 2.35, but never 2 for 2.35: who rounds to a whole number says another thing
        if key.decimals:
            return any(round(value, key.decimals) == theirs for value in candidates)
        # .67 for 2/3
        return self.decimals >= 2 and round(theirs, self.decimals) == ours


def _integer(text: str | None) -> int:
    return int((text or "0").strip("()").replace("−", "-"))


def _decimal(digits: str) -> tuple[Fraction, int]:
    """The value of digits, and their decimal places: a comma before three digits is for
    thousands.
    """
    # most numbers are short and whole; patterns for separators would cost ten times as much
    if digits.isdecimal():
        return Fraction(int(digits)), 0
    digits = re.sub(r"['’\s\u00a0\u202f]", "", digits)
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}", digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"(?!0,\d+$)\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?", digits):  # 0,375 is 0.375
        digits = digits.replace(",", "")
    else:
        digits = digits.replace(",", ".")
    whole, _, decimals = digits.partition(".")
    return Fraction(int(whole + decimals), 10 ** len(decimals)), len(decimals)


_POINTED_THOUSANDS = re.compile(
    r"(?<![\d.,])([1-9]\d{0,2})\.(\d{3})(?![\d.,]*\d|e\d|\s?[×x*])"
    r"(?=(\s?(?:(?:Millionen|Mio\.?|Milliarden|Mrd\.?|milioni|millones de|milhões de|millones"
    r"|milhões)\s?)?(?:€|EUR\b|euros?\b)|\s?(?:Millionen|Mio|Milliarden|Mrd|milioni|milhões)\b)?)",
    re.IGNORECASE,
)
_POINT = re.compile(r"\.\d{3}(?!\d)")
_POINTED_LANGUAGES = ("de", "it", "pt")
_COUNTED_NOUN = re.compile(
    r" (?:de )?(?!met|mèt|kil|gram|litr|grad|degr|segund|second|hor|heur|minut|porc|pour"
    r"|veces)[^\W\d]{4}",
    re.IGNORECASE,
)


def without_pointed_thousands(text: str) -> str:
    """A text whose thousands are not set off by a point, where its language or currency says so.

    >>> without_pointed_thousands("1.750 €"), without_pointed_thousands("1.750 m")
    ('1750 €', '1.750 m')
    """
    if _POINT.search(text) is None or _POINTED_THOUSANDS.search(text) is None:
        return text
    language = language_of(text)
    name = "" if language is None else language.name

    def without_point(match: re.Match[str]) -> str:
        # in Spanish it is a decimal point in America, which no count of people has
        counts = name in ("es", "fr") and _COUNTED_NOUN.match(text, match.end())
        if name in _POINTED_LANGUAGES or match[3] or counts:
            return match[1] + match[2]
        return match[0]

    return _POINTED_THOUSANDS.sub(without_point, text)


@lru_cache(maxsize=4096)
def numbers_in(text: str) -> tuple[Number, ...]:
    """The numbers that a text names, in order; dates and times of day are none."""
    text = with_plain_digits(text)
    return tuple(_merge_numbers(list(map(_parse_number, _plain_matches(text))), text))


def names_number(text: str) -> bool:
    """Whether a text names a number."""
    return next(_plain_matches(with_plain_digits(text)), None) is not None


def _plain_matches(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of numbers that are no dates, times of day or endless digits."""
    # the parts of 3/4/2021 and 3:15 would each look like a number
    has_dates = "/" in text or ":" in text
    dates = [match.span() for match in _DATE.finditer(text)] if has_dates else []
    if "√" in text:  # the 4 of 8√5 - 4 is no result
        dates += [match.span() for match in _ROOT_SUM.finditer(text)]
    for match in _number_matches(text):
        is_in_date = any(low <= match.start("digits") < high for low, high in dates)
        is_word = match["word"] and match["word"].lower() in _ENGLISH_WORDS and is_english(text)
        is_dimension = match["unit"] == "D" and text[match.end() - 2].isdigit()
        if not (is_in_date or is_word or is_dimension or _is_huge(match)):
            yield match


_ROOT_SUM = re.compile(
    r"(?:[\d.]+\s*[-+−±]\s*)?\d*\s?√[({]?[\d.]+[)}]?(?:\s*[-+−±/]\s*[\d.]+(?!\s*[√=]))?"
)
"""A sum or quotient with a root."""
_ENGLISH_WORDS = frozenset({"once", "due", "elf", "mil"})
"""Number words of Spanish, Italian and German that are other words in English: "once again"."""


def _number_matches(text: str) -> Iterator[re.Match[str]]:
    """Yield what `_NUMBER.finditer` finds; it is tried only where a number can begin."""
    end = 0
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter such as İ is two in lower case
        lowered = "".join(letter.lower()[0] for letter in text)
    pattern = _NUMBER_START if text.isascii() else _FOREIGN_NUMBER_START
    for token in pattern.finditer(lowered):
        start, token_end = token.span()
        if token[0].isalpha():  # only the first letter of a word can begin a number
            token_end = start + 1
        for offset in range(start, token_end):
            match = _NUMBER.match(text, offset) if offset >= end else None
            if match is not None:
                yield match
                end = match.end()


def _is_huge(match: re.Match[str]) -> bool:
    """Whether a number has more digits than any answer needs, as a model that repeats itself
    writes.
    """
    # Fraction would compute a power of ten with thousands of digits exactly, and for minutes
    if len(match["digits"] or "") + len(match["under"] or "") > _MAX_DIGITS:
        return True
    powers = filter(None, (match["power"], match["exponent"], match["raised"]))
    return any(len(power.strip("()-−+")) > 2 for power in powers)


def _parse_number(match: re.Match[str]) -> Number:
    """The number that `_NUMBER` matched, with its sign, scale and unit."""
    value, decimals = _value(match)
    # the vowel signs of Hindi are no word characters of `re`
    scales = re.findall(r"[^\s-]+", (match["scale"] or "").lower())
    for scale in scales:
        value *= SCALES[scale]
    if scales and value.denominator == 1:
        decimals = 0
    if match["sign"] or match["late"]:
        value = -value
    unit = (match["unit"] or "").lower().replace(" ", "")
    is_fraction = match["word"] and unit.removesuffix("s") in _FRACTION_WORDS
    if is_fraction and not _PARTICIPLE.match(match.string, match.end()):
        value /= _FRACTION_WORDS[unit.removesuffix("s")]
        unit = ""
    # "apples" and "apple" are one unit; "ms" and "m/s" end in an s of their own
    if unit not in _UNITS and len(unit) > 2 and not unit.endswith("/s"):
        unit = unit.removesuffix("s")
    return Number(
        value,
        decimals,
        bool(match["percent"]),
        unit,
        match.start(),
        match.end("unit") if match["unit"] else match.end(),
        bool(match["word"]),
    )


def _value(match: re.Match[str]) -> tuple[Fraction, int]:
    """The value of a number without its sign and scale, and its decimal places."""
    if match["word"]:
        value = _word_value(match["word"])
        decimals = 0
    else:
        value, decimals = _decimal(match["digits"])
    power = match["power"] or match["exponent"]
    if power:
        value *= Fraction(10) ** _integer(power)
        decimals = 0
    if match["raised"] and value:
        value **= _integer(match["raised"])
        decimals = 0
    if match["over"] and Fraction(match["under"]):
        value /= Fraction(match["under"])
        decimals = 0
    return value, decimals


def _word_value(text: str) -> Fraction:
    """The value of a number that is written in words, perhaps in dozens."""
    word = re.sub(r"\s+", " ", text.lower())
    if word in NUMBER_WORDS:
        dozens = None
    else:
        dozens = re.fullmatch(r"(.+)[- ]dozen", word)
    word = dozens[1] if dozens else word
    value = NUMBER_WORDS[word if word in NUMBER_WORDS else word.replace(" ", "-")]
    return Fraction(value * NUMBER_WORDS["dozen"] if dozens else value)


def _merge_numbers(numbers: Sequence[Number], text: str) -> list[Number]:
    """The numbers, with those that belong together as one: 1 1/2, 2 hours and 30 minutes."""
    merged: list[Number] = []
    for number in (_with_fraction(number, text) for number in numbers):
        total = _merge(merged[-1], number, text) if merged else None
        if total is None:
            merged.append(number)
        else:
            merged[-1] = total
    return merged


_FRACTION_BEHIND = re.compile(
    r"\s+(?:and\s+)?(?:a|one)\s+(half|quarter|third)\b(?!\s+of\b)(?:\s+([a-zA-Z]+))?"
    r"|\s+and\s+three\s+(quarters)\b"
    r"|\s+(?:[^\W\d]+\s+)?([ye]\s+(?:medi|mei)[oa]|et\s+demie?|с\s+половиной)\b",
    re.IGNORECASE,
)


def _with_fraction(number: Number, text: str) -> Number:
    """A whole number with the fraction behind it: "three and a half metres"."""
    fraction = _FRACTION_BEHIND.match(text, number.end)
    if (
        fraction is None
        or number.value.denominator != 1
        or number.percent
        or (number.unit and not fraction[4])  # "tres kilómetros y medio"
    ):
        return number
    if fraction[1] or fraction[4]:
        added = Fraction(1, _FRACTION_WORDS[(fraction[1] or "half").lower()])
    else:
        added = Fraction(3, 4)
    unit = (fraction[2] or number.unit).lower().removesuffix("s")
    # what follows a fraction is its unit only where it is one
    unit = unit if unit in _UNITS else ""  # "an hour and a half long"
    return replace(number, value=number.value + added, decimals=2, unit=unit, end=fraction.end())


def _merge(first: Number, second: Number, text: str) -> Number | None:
    """Two numbers of a text that follow each other as one; None where they are two."""
    separator = text[first.end : second.start]
    is_scaled = separator in ("", " ") and _SCALE_END.search(text, first.start, first.end)
    if is_scaled and 0 < second.value < _lowest_place(first.value):  # "3만 5,400원"
        total = first.value + second.value
        return Number(total, 0, second.percent, second.unit, first.start, second.end)
    if first.word and second.word and not first.unit and _NUMBER_JOINT.fullmatch(separator):
        return _joined_words(first, second, 10**3 if " " in separator else 10**4)
    ratio = _unit_ratio(first, second)
    if ratio and re.fullmatch(r"\s*(?:,|and\b)?\s*", separator):
        total = first.value + second.value * ratio  # 2 hours and 30 minutes
        return Number(total, 0, False, first.unit, first.start, second.end)
    if (
        0 < second.value < 1
        and not second.decimals
        and re.fullmatch(r"[-$€£]*\d+(?:\s+(?:and\s+)?|\s*\+\s*)", text[first.start : second.start])
    ):
        total = first.value + (second.value if first.value >= 0 else -second.value)
        return Number(total, 0, second.percent, second.unit, first.start, second.end)
    return None


_SCALE_END = re.compile("(?:[万萬만億亿억천]|लाख|करोड़|हज़ार|हजार)$")
_NUMBER_JOINT = re.compile(r"零?|\s+(?:(?:and|e)\s+|و ?)?", re.IGNORECASE)
"""What stands between two words of one number."""


def _lowest_place(value: Fraction) -> int:
    """The value of the lowest place of a whole number that is not zero: 100 of 1,200."""
    digits = str(abs(value))
    return 10 ** (len(digits) - len(digits.rstrip("0"))) if digits.isdecimal() else 1


def _joined_words(first: Number, second: Number, scale: int) -> Number | None:
    """Two number words as one: 350 of 三百五十, 1,200,000 of 一百二十万."""
    is_scaled = second.value % scale == 0 < second.value and abs(first.value) < scale
    factor = scale if is_scaled else 1
    if not first.value or first.value % 100:
        return None
    if not 0 < second.value < _lowest_place(first.value) * factor:
        return None
    # "minus two hundred and five": the sign before the first word holds for the second
    added = second.value if first.value > 0 else -second.value
    total = first.value * factor + added
    return Number(total, 0, False, second.unit, first.start, second.end, True)


def _unit_ratio(first: Number, second: Number) -> Fraction | None:
    """How much of the first number's unit the smaller unit of the second is; None for others."""
    larger = _UNITS.get(first.unit)
    smaller = _UNITS.get(second.unit)
    if not larger or not smaller or larger[0] != smaller[0] or larger[1] <= smaller[1]:
        return None
    return smaller[1] / larger[1]


def is_unit(name: str) -> bool:
    """Whether this is a unit that can be converted: "km", "minute"."""
    return name in _UNITS


@lru_cache(maxsize=4096)
def sole_number(text: str) -> Number | None:
    """The number that a text is, with nothing beside it but its unit; None for another text.

    >>> str(sole_number("$1,000")), sole_number("7 of them"), sole_number("version 7")
    ('1000', None, None)
    """
    text = with_plain_digits(text).strip().rstrip(".")
    numbers = numbers_in(text)
    if not numbers:
        return None
    remainder = text[: numbers[0].start] + text[numbers[0].end :]
    return None if re.search(r"\w", remainder) else numbers[0]


# --- ranges ---

RANGE = re.compile(
    r"(?<![\w.])(?:between )?[$€£]?(\d+(?:[.,]\d+)*)\s?(?:[a-z%°]{1,12}\s)?\s?"
    r"(?:[-–—~〜至到]|to|bis|until|до|(?<!\d)and)\s?[$€£]?(\d+(?:[.,]\d+)*)"
    r"|(?<![\w.])between [$€£]?(\d+(?:[.,]\d+)*) and [$€£]?(\d+(?:[.,]\d+)*)"
)


def range_ends(match: re.Match[str]) -> tuple[str, ...]:
    """The two ends of a range."""
    return tuple(end for end in match.groups() if end)


# --- what an answer writes beside its number ---

# what follows verifies the answer
_VERIFICATION = re.compile(
    r"(?<=\S)[\s(]+(?:to )?(?:check|verif\w+|proof|probe|kontrolle|comprobación|vérification"
    r"|проверка)\b:.*",
    re.IGNORECASE | re.DOTALL,
)
_VERIFICATION_WORDS = (
    *("check:", "verif", "vérif", "proof:", "probe:", "kontrolle:", "comprobación:", "проверка:"),
)
_CALLED_ANSWER = re.compile(
    r"(?:<answer>|\\boxed|\banswer\b[^.\n]{0,30}(?:\bis\b|:)).*", re.I | re.S
)
_ZERO_WORDS = ("zero", "freezing", "null", "Null", "cero", "zéro", "нуля")
_BELOW_ZERO = re.compile(
    r"(?<![-\d.,])(\d+(?:[.,]\d+)?)(\s?°?\s?(?:[CF]\b|degrees?|Grad|grados|degrés|graus|градус\w*)?"
    r"(?: Celsius| Fahrenheit)?) (?:below (?:zero|freezing)|unter (?:null|dem gefrierpunkt)"
    r"|bajo cero"
    r"|(?:en|au)[- ]dessous de zéro|abaixo de zero|ниже нуля)\b",
    re.IGNORECASE,
)


def without_verification(text: str) -> str:
    """A text up to where it verifies its number: "x = 3. Check: 2 * 3 = 6"."""
    if ":" in text and any(map(text.lower().__contains__, _VERIFICATION_WORDS)):
        verification = _VERIFICATION.search(text)
        if verification:
            # what is called the answer behind it is the answer
            called = _CALLED_ANSWER.search(verification[0])
            return text[: verification.start()] + (f"\n{called[0]}" if called else "")
    return text


def with_signs(text: str) -> str:
    """A text in which temperatures below zero have a sign: "4 °C below zero" is -4 °C."""
    if any(map(text.__contains__, _ZERO_WORDS)):
        return _BELOW_ZERO.sub(r"-\1\2", text)
    return text


# --- numbers that are named only as bounds: "up to 5" ---

# a number with one of these before or behind it is one that is not reached, or a maximum; "at least
# 7" is what was counted
_BOUND_BEFORE = re.compile(
    r"\b(?:at most|(?:more|fewer|less) than|upwards of|a maximum of|(?:mehr|weniger) als|höchstens"
    r"|(?:^|(?:is|are|was|were|be|have|has|see|count|of|for)\s+)up to|(?:más|menos) de|au plus"
    r"|como máximo|(?:plus|moins) de|(?:più|meno) di|mais de|no máximo|более|больше|меньше)\s*$"
    r"|(?:至多|最多|超过|多于|少于|최대)[^\W\d]?\s*$",
    re.IGNORECASE,
)
_BOUND_BEHIND = re.compile(r"\s+or (?:fewer|less)\b|\s*\w?\s*(?:以下|以内|이하)", re.IGNORECASE)
_BOUND_PARTS = (
    *" than,most,at least,upwards,maximum,als,höchstens,up to,de,au plus".split(","),
    *("máximo", "di", "более", "больше", "меньше", "多", "过", "少", "최대", "or ", "以", "이하"),
)
_MAX_BOUND_CHARS = 24
BOUND_QUESTION = re.compile(
    r"\b(?:at (?:least|most)|minimum|maximum|least|most|fewest|limit|capacity)\b|最|至少",
    re.IGNORECASE,
)


def may_bound(text: str) -> bool:
    """Whether a text has what every bound has; the numbers of a long one are not looked at else."""
    lowered = text.lower()
    return any(part in lowered for part in _BOUND_PARTS)


def is_bound(text: str, number: Number) -> bool:
    """Whether a number of a text is a bound: "up to 5", "5 or fewer"."""
    start = max(0, number.start - _MAX_BOUND_CHARS)
    return bool(
        _BOUND_BEFORE.search(text[start : number.start]) or _BOUND_BEHIND.match(text, number.end)
    )
