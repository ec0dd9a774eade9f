"""Answers in another language than English: what they call true or false, what cannot be seen, and
the first sentence that repeats its question and denies it: "Die Frage enthält keine direkten
Hinweise, die den Ort bestimmen".

What an answer of many sentences says behind it gives reasons, and is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from hqm.scoring.polar_words import (
    ASKS_PRESENCE,
    CLAUSE_END,
    FINAL_VERB_LANGUAGES,
    Language,
    language_of,
)

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


def without_questions(text: str) -> str:
    """A text without the questions that it asks, which assert nothing.

    >>> without_questions("هل هناك كلب؟ نعم")
    ' نعم'
    """
    return _QUESTION.sub("", text) if _QUESTION_MARK.search(text) else text


_QUESTION_MARK = re.compile("[?？؟]")
_QUESTION = re.compile(r"[^.!?;\n。！？؛।]*[?？؟]")


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
    # "B is not higher than A" has all words of a question for the contrary
    is_open = _COMPARISON.search(asked_sentence) or not _is_denial(sentence, language)
    if len(asked_words) < min_asked or is_open:
        return False
    shared = asked_words.intersection(language.content(sentence))
    return len(shared) >= _MIN_SHARE * len(asked_words)


_COMPARISON = re.compile(
    r"\w{2,}er als\b|\b(?:más|menos|plus|moins|mais) \w+ (?:do )?qu[e'’]"
    r"|е,? чем\b|\b(?:выше|ниже|больше|меньше|длиннее|короче)\b",
    re.IGNORECASE,
)


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


def with_plain_presence(text: str, question: str) -> str:
    """A text in which what can be seen or found is there, and what cannot is not, where a question
    asks whether something is: "Ein Hund ist nicht zu erkennen".

    >>> with_plain_presence("犬は確認できません。", "犬はいますか？")
    '犬はいません。'
    """
    if text.isascii() and question.isascii() and not _SIGHT_IN_ASCII.search(text):
        return text
    language = language_of(text)
    if language is None or ASKS_PRESENCE.search(question) is None:
        return text
    for sight, presence in _SIGHT.get(language.name, ()):
        text = re.sub(sight, presence, text, flags=re.IGNORECASE)
    return text


# language -> how it says that something can or cannot be seen or found, and that it is there or not
_SIGHT: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "ja": (
            (r"(?:確認|発見|検出|識別|観察)(?:する)?(?:こと[はが])?(?:でき|され)(?:ません|な[いか])"
             r"|見(?:つか|当た)(?:りません|らな[いか]|ら(?:ず|れません))|見(?:つけ|る)?(?:ること[はが]?|こと[はが]?)?でき(?:ません|ない)",
             "いません"),
            (r"(?:見|確認|確認する)(?:ること)?が?でき(?=ます|る)", "い"),
            (r"らしき(?:もの|物|姿)", ""),
        ),
        "ko": (
            (r"(?:확인|발견)?(?:할|찾을|(?:찾아)?볼) 수 없|(?:(?:발견|확인|감지|식별|관찰|포함"
             r"|표시)[되하]"
             r"|나타나|등장하|존재하|포함되어 있)지(?:는|도)? [않못]", "없"),
            (r"(?:확인할|찾을|볼) 수 있(?=습|어|다)", "있"),
        ),
        "zh": (
            (r"(?:无法|不能|没法|没能|没有|未能?|没|不)(?:看到|看见|见到|见|找到|发现|观察到|检测到)"
             r"|[看找见]不[到见]", "没有"),
            (r"(?<![不未没可])(?:可以|能够?|可)(?:[^，。]{1,3}地)?(?:看到|看见|观察到|发现"
             r"|找到)", "有"),
        ),
        "de": (
            (r"\b(?:konnte|wurde|wird|kann) ([^.;,]*?)\b(?=nicht (?:entdeck|gefund|seh|find"
             r"|erkenn|gesehen|festgestellt))", r"\1"),
            (r"\b(?:(?:kann|konnte) (?:ich|man) (?:hier |dort )?)?"
             r"(?:nicht|nirgends|nirgendwo) (?:zu )?(?:erkennen|erkennbar|auszumachen|finden"
             r"|entdecken|sehen|gefunden|entdeckt|gesehen|erkannt|festgestellt|feststellen"
             r"|enthalten|dargestellt|gezeigt)\b"
             r"(?: werden\b| worden\b)?", "nicht"),
            (r"\b(?:kann|konnte|ist|sind|wird|l(?:ä|a)ss(?:t|en) sich"
             r"|wurde) ([^.;,]*?\bkein\w* [^.;,]*?)\b(?:zu )?(?:erkennen"
             r"|entdecken|sehen|finden|ausmachen|gefunden|entdeckt|erkennbar)\b", r"\1"),
            (r"\b(?:kann man|man kann) ([^.;,]*?)\b(?:sehen|erkennen)\b", r"es gibt \1"),
        ),
        "es": (
            (r"\bno (?:se |me )?(?:ha |han |es |fue )?(?:(?:puedo|pueden?|logra|logro|pude|pudo"
             r"|posible|sido posible|consigo) )?(?:ver|distinguir|apreciar|observar|identificar"
             r"|encontrar|detectar|visualizar|localizar|aprecian?|observan?|detectan?|encuentran?"
             r"|identifican?|visualizan?|distin(?:go|guen?)|detectado|encontrado)\b", "no"),
            (r"\b(?:es posible|se pueden?|podemos) (?:ver|observar|apreciar|identificar"
             r"|distinguir)\b", "hay"),
        ),
        "fr": (
            (r"\bne? (?:peux|peut|parviens?) pas (?:à )?(?:voir|distinguer|apercevoir|trouver"
             r"|détecter|identifier)\b", "ne pas"),
            (r"\bn[e'’] ?(?:vois|voit|aper[cç]oi[st]|trouve|distingue|détecte|remarque"
             r"|observe)\b"
             r"(?: pas\b)?", "ne pas"),
            (r"\b(?:il est possible de|on peut|nous pouvons) (?:voir|apercevoir|distinguer"
             r"|observer)\b", "il y a"),
        ),
        "pt": (
            (r"\bnão (?:(?:se|foi|é|há|está|foram|consigo|posso|pode|pude|possível"
             r"|como) )*(?:ver"
             r"|identificar|observar|encontrar|detectar|localizar|visualizar|vejo"
             r"|(?:encontr|identific|detect|observ)ad[oa]s?)\b", "não"),
            (r"\b(?:é possível|pode-se|podemos) (?:ver|observar|identificar|notar)\b", "há"),
        ),
        "ru": (
            (r"\bне (?:(?:могу|уда[её]тся|удалось|был[аои]?) )?(?:увидеть|найти|обнаружить"
             r"|разглядеть"
             r"|заметить|обнаружен\w*|найден\w*|замечен\w*|видн\w+|видать|вижу|наблюда\w+"
             r"|изображ[её]н\w*|показан\w*|представлен\w*|присутству\w+|отобража\w+)\b", "нет"),
            (r"\b(?:увидеть|найти|обнаружить|разглядеть|заметить) не уда(?:лось"
             r"|[её]тся)\b", "нет"),
            (r"\bможно (?:увидеть|заметить|разглядеть|наблюдать)\b", "есть"),
        ),
        "ar": (
            (r"(?:لا|لم) (?:يتم|تتم|يجر) \w+(?=\s)", "لا"),
            (r"(?:لم|لن) (?:أعثر|نعثر|يعثر|يُعثر) على(?=\s)", "لا"),
            (r"(?:لا|لم|لن) (?:(?:يتم|أستطيع|يمكن|يمكنني|أتمكن من) )?(?:أن أرى|رؤية"
             r"|العثور على|أجد|أرى?"
             r"|[يت]ظهر)(?=\s)", "لا"),
            (r"(?:يمكن(?:ني|نا)?|أستطيع) (?:رؤية|أن أرى|ملاحظة)(?=\s)", "يوجد"),
        ),
        "hi": (
            (r"नहीं (?:देख (?:सकता|सकते|पा रहा)|देख[ाी] जा सक\w+|पा[यई]\w* ?(?:गया|गई|जाता)?"
             r"|मिल\w*)",
             "नहीं"),
            (r"देख[ाी] जा सक(?:ता|ती) है|देख सकते हैं", "है"),
        ),
    }
)  # fmt: skip
_SIGHT_IN_ASCII = re.compile(
    r"\b(?:(?:nicht|nirgends|kann|kein\w*|no|ne|n'|peut|podemos|pode-se|pueden?) |es posible"
    r"|est possible)",
    re.IGNORECASE,
)
