"""Words of a clause in the sense that its question gives them: a woman is a person, a rowboat is a
boat, "he" is whom it asks about, and what holds something is not empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from hqm.scoring.locations import with_asked_preposition
from hqm.scoring.plain_text import DOUBT, NEGATIVE
from hqm.scoring.statements import (
    EXISTENCE_QUESTION,
    asked_words,
    content_words,
    contraries_of,
    restates,
)

# --- one word for another ---


def with_telling_words(clause: str, question: str) -> tuple[str, str]:
    """A clause and a question that have one word where they mean one thing.

    Two words for what is neither are one, a kind of what is asked for has the question's word, and
    "on" is a word of its own where either says "off"; elsewhere it says little.

    >>> with_telling_words("There is a woman", "Is there a person?")
    ('There is a person', 'Is there a person?')
    """
    compound = _COMPOUND.search(clause)
    if compound and compound[0].lower().removesuffix("s") not in question.lower():
        clause = clause.replace(compound[0], re.sub(r"\W", "", compound[0]))
    clause = with_asked_preposition(clause, question)
    senses = _senses(question)
    if senses.is_count:
        clause = _ONE_ONLY.sub("single", clause)  # "one" says little elsewhere
    for kind, pattern in senses.kinds:
        clause = _with_kind(clause, kind, pattern)
    for compound_head, pattern in senses.compounds:
        clause = pattern.sub(compound_head, clause)
    if senses.ends_on or " off " in f"{clause} {question}":
        return _ON_WORD.sub("onto", clause), _ON_WORD.sub("onto", question)
    return clause, question


class _Senses(NamedTuple):
    """In what sense a question has its words."""

    is_count: bool
    """Whether it asks for a single one of something, or for several."""
    kinds: tuple[tuple[str, re.Pattern[str]], ...]
    """The words for many kinds that it has, each with what finds these."""
    compounds: tuple[tuple[str, re.Pattern[str]], ...]
    """The last parts of compounds that it has, each with what finds those."""
    ends_on: bool


@lru_cache(maxsize=1024)
def _senses(question: str) -> _Senses:
    words = asked_words(question)
    kinds = {kind: pattern for kind, pattern in _KINDS.items() if kind in words}
    heads = [head.lower() for head in _COMPOUND_HEAD.findall(question)]
    return _Senses(
        not _COUNTED.isdisjoint(words),
        tuple(item for item in kinds.items() if item[1].search(question) is None),
        tuple((head, _closed_compound(head)) for head in heads),
        _ENDS_ON.search(question) is not None,
    )


def _with_kind(clause: str, kind: str, pattern: re.Pattern[str]) -> str:
    """A clause that calls things by the word for all of their kind; a statue of a man is no person,
    and that there is no man does not say that there is no person.
    """
    if kind == "person":
        clause = _NOBODY.sub("no person", clause)
    if NEGATIVE.search(clause) or _LIKENESS.search(clause):
        return clause
    return pattern.sub(kind, clause)


_NOBODY = re.compile(r"\b(?:nobody|no one|no-one|not a soul)\b", re.IGNORECASE)
PERSON = re.compile(
    r"\b(?:m[ae]n|wom[ae]n|boys?|girls?|child(?:ren)?|kids?|lad(?:y|ies)|gentlem[ae]n|guys?|bab(?:y"
    r"|ies)|toddlers?|adults?|teenagers?|pedestrians?|individuals?|humans?|passers-by"
    r"|(?:police|fire|sales|business)(?:m[ae]n|wom[ae]n)|(?:surf|ski|skateboard|rid|play|work|danc"
    r"|sing|driv)ers?|cyclists?|skiers?|students?|soldiers?|officers?|tourists?|spectators?)\b",
    re.IGNORECASE,
)
"""Words for people; a question that has one asks for more than for a person."""
_KINDS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "person": PERSON,
        "vehicl": re.compile(
            r"\b(?:cars?|bus(?:es)?|trucks?|vans?|taxis?|motor(?:cycle|bike)s?|lorr(?:y|ies)|trams?"
            r"|ambulances?|jeeps?|suvs?|tractors?)\b",
            re.IGNORECASE,
        ),
        "animal": re.compile(
            r"\b(?:dogs?|cats?|horses?|cows?|sheep|goats?|pigs?|birds?|elephants?|zebras?|giraffes?"
            r"|bears?|lions?|tigers?|monkeys?|rabbits?|ducks?|chickens?|pupp(?:y|ies)|kittens?)\b",
            re.IGNORECASE,
        ),
        "furnitur": re.compile(
            r"\b(?:sofas?|couch(?:es)?|(?:arm)?chairs?|tables?|beds?|desks?|wardrobes?"
            r"|bookshel(?:f|ves)|cabinets?|dressers?)\b",
            re.IGNORECASE,
        ),
        "food": re.compile(
            r"\b(?:pizzas?|sandwich(?:es)?|cakes?|burgers?|salads?|bread|fruits?|vegetables?|pasta"
            r"|rice|soup|meat|fries|donuts?|hot ?dogs?)\b",
            re.IGNORECASE,
        ),
        "fruit": re.compile(
            r"\b(?:apples?|bananas?|oranges?|pears?|grapes?|strawberr(?:y|ies)|lemons?|mangoe?s?"
            r"|pineapples?|watermelons?)\b",
            re.IGNORECASE,
        ),
    }
)
"""The stem of a word for many kinds -> the words for these."""
_LIKENESS = re.compile(
    r"\b(?:statue|sculpture|painting|drawing|portrait|poster|picture|photo|doll|mannequin|figurine"
    r"|cartoon|silhouette|shadow|reflection|snowman)s?\b",
    re.IGNORECASE,
)


def names_another_kind(words: Sequence[str], question: str) -> bool:
    """Whether a clause with these content words says of what is asked about that it is another of
    its kind; that there is a dog says nothing of cats.

    >>> names_another_kind(["dog"], "Is this a cat?"), names_another_kind(["dog"], "Any cat?")
    (True, False)
    """
    kind = _exclusive_kind(question)
    question_words = asked_words(question)
    other_words = kind.intersection(words).difference(question_words)
    if len(other_words) != 1:
        return False
    renamed = [question_words[-1] if word in other_words else word for word in words]
    return set(renamed) <= set(question_words) and restates(renamed, question) is True


@lru_cache(maxsize=1024)
def _exclusive_kind(question: str) -> frozenset[str]:
    """The words for a kind of which a question asks for one thing at its end; empty for others."""
    is_open = " or " in question or NEGATIVE.search(question)
    if is_open or EXISTENCE_QUESTION.search(question):
        return frozenset()
    last_words = asked_words(question)[-1:]
    kinds = (kind for kind in _EXCLUSIVE_KINDS if not kind.isdisjoint(last_words))
    return next(kinds, frozenset())


_EXCLUSIVE_KINDS = tuple(
    frozenset(content_words(kinds))
    for kinds in (
        "dog cat horse cow sheep goat pig bird elephant zebra giraffe bear lion tiger monkey",
        "car bus truck motorcycle bicycle train airplane helicopter boat",
        "apple banana orange pear grape lemon strawberry pineapple watermelon",
        "kitchen bathroom bedroom garage office hallway classroom restaurant supermarket",
        "spring summer autumn winter",
        "circle square triangle rectangle pentagon hexagon",
    )
)
"""Words of which a thing is one alone, as it is asked about."""


@lru_cache(maxsize=16)
def _closed_compound(head: str) -> re.Pattern[str]:
    """What finds the words that are written together and name a kind of their last part."""
    return re.compile(rf"\b(?:{_COMPOUND_STARTS[head]}){head}(?=s?\b)", re.IGNORECASE)


_COMPOUND_STARTS: Mapping[str, str] = MappingProxyType(
    {
        "boat": "sail|row|motor|speed|life|tug|house|steam",
        "phone": "smart|cell|tele|pay",
        "chair": "arm|wheel|deck|high",
        "ball": "base|basket|foot|volley|soft",
        "plane": "air|aero|sea|war|bi",
        "coat": "rain|over|waist",
        "shirt": "sweat|under|night",
        "glasses": "sun|eye|spy",
        "truck": "fire|dump",
        "house": "farm|town|dog|bird|green|tree",
        "book": "note|text|cook|picture|guide",
        "light": "street|head|flash|traffic|spot",
        "bird": "sea|song|black|blue",
    }
)
"""The last part of words that are written together -> their first parts; a starfish is no fish."""
_COMPOUND_HEAD = re.compile(rf"\b({'|'.join(_COMPOUND_STARTS)})s?\b", re.IGNORECASE)
_COUNTED = contraries_of("singl")
_ONE_ONLY = re.compile(
    r"(?:(?<=\bonly )|(?<=\bjust )|(?<=\bexactly )|(?<=\bthere is ))one(?= [a-z])", re.IGNORECASE
)
_ON_WORD = re.compile(r"\bon\b", re.IGNORECASE)
_ENDS_ON = re.compile(r"\bon\W*$", re.IGNORECASE)
_COMPOUND = re.compile(
    r"\b(?:(?:hot|corn|prairie) dogs?|teddy bears?|(?:sea|rocking) horses?"
    r"|(?:dog|cat|bird|horse)(?: |-)(?:house|food|bowl|bed|toy|cage|collar|leash|park|sign)s?)\b",
    re.IGNORECASE,
)
"""Two words for what is neither: a hot dog is no dog, and a dog house has perhaps none."""


# --- whom a pronoun stands for ---


def with_asked_subject(clause: str, words: Sequence[str], question: str) -> Sequence[str]:
    """The content words of a clause, behind those of what its pronoun stands for in the question.

    >>> with_asked_subject("He is swimming in it", ["swim"], "Is the man swimming?")
    ['man', 'swim']
    """
    if not words or _PRONOUN_SUBJECT.match(clause) is None:
        return words
    question_words = asked_words(question)
    predicates = {words[0], *contraries_of(words[0])}
    for index, word in enumerate(question_words):
        if index and word in predicates:
            return [*question_words[:index], *words]
    return words


_PRONOUN_SUBJECT = re.compile(r"\W*(?:he|she|it|they)\b", re.IGNORECASE)


# --- properties that a clause shows and does not name ---

_ASKS_EMPTY = re.compile(
    r"^\W*(?:is|are|was|were) (?:the|this|that|these|those|his|her|their|both|all)\b"
    r" ([^,?]*?)(?:completely |entirely |currently )?empty\b",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"\bthere (?:is|are|was|were)\b(?P<what>.*?)\b(?:in|inside|(?P<on>on))\b(?P<location>.*)"
    r"|(?P<holder>.*)\b(?:contains?|holds?|(?:is|are) (?:filled|loaded|packed) with)\b.*",
    re.IGNORECASE,
)
_SURFACE = re.compile(
    r"\b(?:plate|table|desk|bench|chair|shel(?:f|ves)|tray|couch|sofa|seat|bed|stage|court|field"
    r"|street|road|platform|counter|beach)s?\b",
    re.IGNORECASE,
)
"""What is empty where nothing is on it; a bottle with a label on it may be empty."""
_PARTLY = re.compile(
    r"\b(?:half|partially|partly|nearly|almost|not (?:quite|completely|entirely|fully))[ -]"
    r"(full|empty|closed|shut|complete|finished)\b",
    re.IGNORECASE,
)
_ASKS_WHOLE = re.compile(r"\b(full|empty|closed|shut|complete|finished)\W*$", re.IGNORECASE)


_ASKS_WORN = re.compile(r"\b(?:wear|hold|carry)(?:ing)?\b", re.IGNORECASE)
_LACKING = re.compile(
    r"\W*(?:there (?:is|are)|i see) no ([\w ]+?)"
    r" (?:on|in|around) (?:his|her|their|its|the) \w+\W*$",
    re.IGNORECASE,
)


class _AskedProperty(NamedTuple):
    """What a question asks that a clause may show in other words."""

    degree: str
    """What a thing is wholly or in part: "full"; empty where that is not asked."""
    holder: str
    """What is asked to be empty."""
    garment: str
    """The stem of what somebody is asked to wear or to hold."""


@lru_cache(maxsize=1024)
def _asked_property(question: str) -> _AskedProperty:
    degree = _ASKS_WHOLE.search(question)
    holder = _ASKS_EMPTY.match(question) if degree else None
    garment = asked_words(question)[-1:] if _ASKS_WORN.search(question) else ()
    return _AskedProperty(
        degree[1].lower() if degree else "", holder[1] if holder else "", "".join(garment)
    )


def has_asked_property(clause: str, question: str) -> bool | None:
    """Whether a clause shows that something is empty, full or closed, or is worn or held, as its
    question asks; None where it does not say so.

    >>> has_asked_property("There is some pasta left on the plate", "Is the plate empty?")
    False
    >>> has_asked_property("There is no helmet on his head", "Does he wear a helmet?")
    False
    """
    degree, holder, garment = _asked_property(question)
    if garment:
        lacking = _LACKING.match(clause)
        return False if lacking and content_words(lacking[1])[-1:] == [garment] else None
    partly = _PARTLY.search(clause) if degree else None
    if partly and partly[1].lower() == degree:
        return False
    return _is_empty(clause, holder) if holder and not DOUBT.search(clause) else None


def _is_empty(clause: str, holder: str) -> bool | None:
    """Whether a clause says that nothing is in or on something; None where it does not say."""
    content = _CONTENT.search(clause)
    if content is None or (content["on"] and _SURFACE.search(holder) is None):
        return None
    stated_holder = content_words(content["location"] or content["holder"] or "")
    if set(content_words(holder)).isdisjoint(stated_holder):
        return None
    return NEGATIVE.search(clause) is not None


# --- words for one thing ---


def with_synonyms(phrase: str) -> tuple[str, ...]:
    """A phrase with each of the words for the first thing that has several.

    >>> with_synonyms("on the sofa")
    ('on the couch', 'on the settee')
    """
    # what costs less to see than the pattern, which most phrases do not have
    has_synonym = not _SYNONYM_STARTS.isdisjoint(phrase.lower().split())
    word = _SYNONYM.search(phrase) if has_synonym else None
    if word is None:
        return ()
    start, end = word.span()
    synonyms = [synonym for synonym in _SYNONYMS_OF[word[0].lower()] if synonym != word[0].lower()]
    return tuple(f"{phrase[:start]}{synonym}{phrase[end:]}" for synonym in synonyms)


_SYNONYMS = (
    ("sofa", "couch", "settee"),
    ("bike", "bicycle"),
    ("motorbike", "motorcycle"),
    ("television", "tv"),
    ("plane", "airplane", "aeroplane"),
    ("cell phone", "cellphone", "mobile phone", "smartphone"),
    ("fridge", "refrigerator"),
    ("grey", "gray"),
    ("donut", "doughnut"),
    ("racket", "racquet"),
    ("chef", "cook"),
    ("firefighter", "fireman"),
    ("police officer", "policeman"),
    ("autumn", "fall"),
    ("night", "nighttime", "night-time"),
    ("trash can", "garbage can", "rubbish bin", "trash bin"),
    ("rainy", "raining"),
    ("snowy", "snowing"),
    ("wood", "wooden"),
    ("usa", "united states", "united states of america", "u.s.", "us"),
    ("uk", "united kingdom", "u.k."),
)
"""Words for one thing, as people write keys and models answer."""


_SYNONYMS_OF = {word: synonyms for synonyms in _SYNONYMS for word in synonyms}
_SYNONYM_STARTS = frozenset(word.split()[0] for word in _SYNONYMS_OF)
_ANY_SYNONYM = "|".join(sorted(map(re.escape, _SYNONYMS_OF), key=len, reverse=True))
_SYNONYM = re.compile(rf"(?<![\w-])(?:{_ANY_SYNONYM})(?![\w-])", re.IGNORECASE)
