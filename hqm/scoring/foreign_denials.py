"""The first sentence of an answer in another language than English that repeats its question and
denies it: "Die Frage enthält keine direkten Hinweise, die den Ort bestimmen".

What an answer of many sentences says behind it gives reasons, and is not compared.
"""

from __future__ import annotations

import re

from hqm.scoring.statements import Language, language_of

_SENTENCE_END = re.compile(r"(?<=[.!。！।])\s*(?=\S)|(?<=[?？؟])\s*(?=\S)|\n+")
_JOINED_ALTERNATIVE = re.compile(r"\b(?:oder|ou|o|или)\b|또는|或", re.IGNORECASE)
"""What joins two things that are both denied: "no direct or specific hints"."""
_CONTRAST = re.compile(
    r"\b(?:sondern|aber|jedoch|sino|pero|mais|mas|ma|però|но|однако)\b|但|而是|しかし|ですが|지만"
    r"|لكن|بل|लेकिन|बल्कि",
    re.IGNORECASE,
)
_FINAL_VERB_LANGUAGES = ("ja", "ko", "hi")
_MAX_VERB_CHARS = 14
_MIN_SHARE = 0.6
_MIN_ASKED_WORDS = 4
_MIN_ASKED_SIGNS = 8


def opening_denies(sentence: str, question: str) -> bool:
    """Whether a sentence denies most of what the last sentence of a question asks.

    >>> opening_denies("Der Text nennt dort keine Farben.", "Nennt der Text dort schon Farben?")
    True
    """
    language = language_of(sentence)
    asked_sentence = next(filter(str.strip, _SENTENCE_END.split(question)[::-1]), "")
    if language is None or language_of(asked_sentence) is not language:
        return False
    asked_words = set(language.content(asked_sentence))
    min_asked = _MIN_ASKED_SIGNS if language.unspaced else _MIN_ASKED_WORDS
    if len(asked_words) < min_asked or not _is_denial(sentence, language):
        return False
    shared = asked_words.intersection(language.content(sentence))
    return len(shared) >= _MIN_SHARE * len(asked_words)


def _is_denial(sentence: str, language: Language) -> bool:
    """Whether a sentence denies without doubt or contrast, at its end in verb-final languages."""
    if _CONTRAST.search(sentence):
        return False
    if language.name in _FINAL_VERB_LANGUAGES:
        predicate = sentence[-_MAX_VERB_CHARS:]
    else:
        predicate = sentence
    plain_sentence = _JOINED_ALTERNATIVE.sub(" ", sentence)
    is_doubtful = language.doubt.search(plain_sentence) is not None
    return language.denial.search(predicate) is not None and not is_doubtful
