"""The language of a question: the rules of forms are English, and leave all others alone."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from hqm.errors import NoRule
from hqm.forms.grammar import check_words_follow
from hqm.scoring.polar_words import language_of

_NAMES = {
    "ar": "Arabic",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "hi": "Hindi",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "pt": "Portuguese",
    "ru": "Russian",
    "zh": "Chinese",
}
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^”]*”|«[^»]*»|「[^」]*」|『[^』]*』|'[^'\s][^']*'(?!\w)|\$[^$]*\$"
)
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_WORDS = frozenset(
    "the an are there this that these those what which how who whose where when why does did do has"
    " have can could of with and or please it its you your they their picture according"
    " answer".split()
)
"""Words that are seldom words of another language in Latin letters."""
_CONTRACTION = re.compile(r"n['’]t\b", re.IGNORECASE)
_PERSIAN = re.compile("[پچژگکی]")
_MIN_WORDS = 3
_MIN_LEXICON_SHARE = 0.5
_MIN_LATIN_SHARE = 0.5


@lru_cache(maxsize=65536)
def foreign_language(question: str) -> str:
    """The language of a question that is not English, by its English name; empty for English.

    Words in quotation marks, which a picture may show in any language, do not count.

    Examples
    --------
    >>> foreign_language("Ist auf dem Bild ein Hund zu sehen?"), foreign_language("Is it a dog?")
    ('German', '')
    >>> foreign_language('Does the sign say "出口"?')
    ''
    >>> foreign_language("Bu resimde köpek var mı?")
    'another language'
    """
    # What is quoted may be in any language.
    text = _QUOTED.sub(" ", question)
    words = _WORD.findall(text)
    is_latin = _is_latin(text)
    has_english = not _ENGLISH_WORDS.isdisjoint(map(str.casefold, words))
    # Asked first: of a short question one English word says more than a guess of its language.
    if is_latin and (has_english or _CONTRACTION.search(text)):
        return ""
    language = language_of(text)
    # Persian and Urdu are written in Arabic letters, and in some of their own.
    if language is not None and not _PERSIAN.search(text):
        return _NAMES[language.name]
    if not is_latin or _is_unknown(words):
        return "another language"
    return ""


def check_english(question: str) -> None:
    """Check that the rules of forms may be tried on a question.

    Raises
    ------
    NoRule
        The question is in another language than English, or has a long stretch without a word.
    """
    check_words_follow(question)
    language = foreign_language(question)
    if language:
        raise NoRule(question, f"the rules of forms are made for English, and it is in {language}")


def _is_latin(text: str) -> bool:
    """Whether at least half of the letters are Latin."""
    letters = {sign: n for sign, n in Counter(text).items() if sign.isalpha()}
    n_latin = 0
    for sign, n in letters.items():
        if sign.isascii() or "LATIN" in unicodedata.name(sign, ""):
            n_latin += n
    return n_latin >= _MIN_LATIN_SHARE * sum(letters.values())


def _is_unknown(words: list[str]) -> bool:
    """Whether most words stand in no English lexicon; names in capitals are not asked about."""
    from lemminflect import getAllLemmas

    # the first word has a capital for its place; others have it as names
    common = [word.casefold() for word in words[:1]]
    common += [word for word in words[1:] if word.islower()]
    # of a few words a rare one would decide
    if len(words) < _MIN_WORDS:
        return False
    n_english = sum(len(word) == 1 or bool(getAllLemmas(word)) for word in common)
    return n_english < _MIN_LEXICON_SHARE * len(common)
