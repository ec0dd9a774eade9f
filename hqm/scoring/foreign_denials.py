"""Answers in another language than English: what they call true or false, what cannot be seen, and
the first sentence that repeats its question and denies it: "Die Frage enthält keine direkten
Hinweise, die den Ort bestimmen".

What an answer of many sentences says behind it gives reasons, and is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from hqm.scoring.statements import CLAUSE_END, FINAL_VERB_LANGUAGES, Language, language_of

_SENTENCE_END = re.compile(r"(?<=[.!。！।])\s*(?=\S)|(?<=[?？؟])\s*(?=\S)|\n+")
_JOINED_ALTERNATIVE = re.compile(r"\b(?:oder|ou|o|или)\b|또는|或", re.IGNORECASE)
"""What joins two things that are both denied: "no direct or specific hints"."""
_CONTRAST = re.compile(
    r"\b(?:sondern|aber|jedoch|sino|pero|mais|mas|ma|però|но|однако)\b|但|而是|しかし|ですが|지만"
    r"|لكن|بل|लेकिन|बल्कि",
    re.IGNORECASE,
)
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
    if language.name in FINAL_VERB_LANGUAGES:
        predicate = sentence[-_MAX_VERB_CHARS:]
    else:
        predicate = sentence
    plain_sentence = _JOINED_ALTERNATIVE.sub(" ", sentence)
    is_doubtful = language.doubt.search(plain_sentence) is not None
    return language.denial.search(predicate) is not None and not is_doubtful


def verdict_in_other_language(text: str) -> bool | None:
    """Whether a text in another language than English calls a statement true; None where it says
    neither.

    >>> verdict_in_other_language("Die Aussage ist falsch.")
    False
    """
    language = language_of(text)
    if language is None or language.name not in _VERDICT_WORDS:
        return None
    claim, true, false = _VERDICT_WORDS[language.name]
    for clause in CLAUSE_END.split(text):
        if not clause or not re.search(claim, clause, re.IGNORECASE):
            continue
        is_false = re.search(false, clause, re.IGNORECASE) is not None
        if (is_false or re.search(true, clause, re.IGNORECASE)) and not language.doubt.search(
            clause
        ):
            return is_false == (language.denial.search(clause) is not None)
    return None


# language -> what it calls a statement, true and false
_VERDICT_WORDS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "de": ("aussage|behauptung|beschreibung",
               r"\b(?:wahr|richtig|korrekt|stimmt|zutreffend)\b", "falsch|unwahr|inkorrekt"),
        "es": ("afirmación|declaración|enunciado",
               r"\b(?:verdader|correct|ciert)[oa]\b", r"\bfals[oa]|incorrect[oa]"),
        "fr": ("affirmation|énoncé|phrase",
               r"\b(?:vraie?|correcte?|exacte?)\b", r"\b(?:faux|fausse)\b|incorrecte?"),
        "pt": ("afirmação|declaração|frase",
               r"\b(?:verdadeir|corret)[oa]\b", r"\bfals[oa]|incorret[oa]"),
        "it": ("affermazione|frase", r"\b(?:ver|corrett|esatt)[oa]\b", r"\bfals[oa]|errat[oa]"),
        "ru": ("утверждение|высказывание",
               r"\b(?:верн|правильн|истинн)\w+", r"\b(?:неверн|неправильн|ложн)\w+"),
        "zh": ("说法|陈述|描述|命题|这句话", "正确|属实|准确", "错误|错的|有误"),
        "ja": ("記述|主張|説明|文", "正しい|正しく|事実", "誤り|間違|誤って"),
        "ko": ("진술|설명|문장|주장", "맞|옳|참|사실", "거짓|틀"),
        "ar": ("العبارة|الجملة|القول|الادعاء", "صحيح|صائب", "خاطئ|خطأ|غير صحيح"),
        "hi": ("कथन|वाक्य|दावा", "सही|सत्य|सच", "गलत|असत्य|ग़लत"),
    }
)  # fmt: skip


def with_plain_absence(text: str, question: str) -> str:
    """A text in which what cannot be seen or found is not there, where a question asks whether
    something is: "Ein Hund ist nicht zu erkennen".

    >>> with_plain_absence("犬は確認できません。", "犬はいますか？")
    '犬はいません。'
    """
    if text.isascii() and question.isascii() and not _UNSEEN_IN_ASCII.search(text):
        return text
    if _ASKS_PRESENCE.search(question) is None:
        return text
    for unseen, absent in _UNSEEN:
        text = unseen.sub(absent, text)
    return text


_ASKS_PRESENCE = re.compile(
    r"\b(?:hay|gibt|a-t-il|il y a|há|tem|есть|existen?|sehen|voit|ve|vê|видн\w+|aparecen?)\b"
    r"|\bist (?:ein|kein|auf|im|in)|(?<![てで])(?:います|いる|あり|ある)|写って|見え|映って"
    r"|(?:이|가|은|는) ?(?:있|보이)|有|(?:ي|ت)وجد|ترى|(?:में|पर) .*(?:है|हैं)\W*$",
    re.IGNORECASE,
)
"""What a question has that asks whether something is there."""
# what says that something cannot be seen or found, and how it says that it is not there
_UNSEEN = tuple(
    (re.compile(pattern, re.IGNORECASE), absent)
    for pattern, absent in (
        (r"(?:確認|発見|識別)(?:する)?(?:こと[はが])?でき(?:ません|ない)", "いません"),
        (r"見(?:つけ|る)?(?:ることは?|ことは?)?でき(?:ません|ない)", "いません"),
        (r"(?:확인|발견)?(?:할|찾을|볼) 수 없", "없"),
        (r"(?:无法|不能|没法)(?:看到|看见|找到|发现)", "没有"),
        (r"\bnicht (?:zu )?(?:erkennen|erkennbar|auszumachen)\b", "nicht"),
        (r"\bno (?:se )?(?:puedo|puede|logro|logra) (?:ver|distinguir|apreciar|observar)\b", "no"),
        (r"\bno (?:se )?disting(?:o|ue)\b", "no"),
        (r"\bne (?:peux|peut) pas (?:voir|distinguer|apercevoir)\b", "ne pas"),
        (r"\bne distingue(?: pas)?\b", "ne pas"),
        (r"\bnão (?:consigo|posso|se pode|é possível) (?:ver|identificar|observar)\b", "não"),
        (r"\bне (?:могу|удаётся|удается) (?:увидеть|найти|обнаружить|разглядеть)\b", "нет"),
        (r"لا (?:أستطيع|يمكن(?:ني)?) (?:أن أرى|رؤية)", "لا"),
        (r"नहीं देख (?:सकता|सकते|पा रहा)", "नहीं"),
    )
)
_UNSEEN_IN_ASCII = re.compile(r"\b(?:erkenn|no |ne )", re.IGNORECASE)
