"""Where something is, in other languages than English: "unter dem Tisch" is not "auf dem Tisch"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import product, starmap
from types import MappingProxyType

from hqm.scoring.cue_search import is_subsequence
from hqm.scoring.polar_words import Language

_COMPATIBLE = frozenset(
    map(
        frozenset,
        (
            *(("on", "in"), ("on", "above"), ("above", "behind"), ("beside", "before")),
            *(("beside", "left"), ("beside", "right"), ("beside", "behind"), ("between", "beside")),
            *(("before", "left"), ("before", "right"), ("behind", "left"), ("behind", "right")),
        ),
    )
)


def are_compatible(relation: str, further: str) -> bool:
    """Whether two relations may be said of one thing at once.

    >>> are_compatible("on", "in"), are_compatible("on", "under")
    (True, False)
    """
    return relation == further or frozenset((relation, further)) in _COMPATIBLE


# language -> what names the picture itself, and the words for each relation to a thing
_PREPOSITIONS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "de": (
            r"\b(?:im|auf dem|in diesem|auf diesem) (?:bild|foto)\w*",
            {"on": "auf", "under": "unter|unterhalb", "above": "über|oberhalb",
             "in": "im|in|innerhalb", "behind": "hinter", "before": "vor", "beside": "neben",
             "between": "zwischen", "left": "links", "right": "rechts"},
        ),
        "es": (
            r"\ben (?:la|esta|una) (?:imagen|foto)\w*",
            {"on": "sobre|encima del?", "under": "debajo del?|bajo", "in": "en|dentro del?",
             "behind": "detrás del?", "before": "delante del?|frente al?",
             "beside": "al lado del?|junto al?", "between": "entre", "left": "a la izquierda",
             "right": "a la derecha"},
        ),
        "fr": (
            r"\b(?:sur|dans) (?:l['’]|la |cette |une )(?:image|photo)\w*",
            {"on": "sur", "under": "sous|en dessous de", "above": "au-dessus d[eu]",
             "in": "dans|à l['’]intérieur d[eu]", "behind": "derrière", "before": "devant",
             "beside": "à côté d[eu]", "between": "entre", "left": "à gauche", "right": "à droite"},
        ),
        "pt": (
            r"\b(?:na|nesta|em uma?) (?:imagem|foto)\w*",
            {"on": "em cima d[aeo]|sobre", "under": "embaixo d[aeo]|debaixo d[aeo]|sob",
             "in": "dentro d[aeo]", "behind": "atrás d[aeo]",
             "before": "(?:na|em) frente (?:d[aeo]|à|ao)|diante d[aeo]", "beside": "ao lado d[aeo]",
             "between": "entre", "left": "à esquerda", "right": "à direita"},
        ),
        "ru": (
            r"\bна (?:изображении|картинке|фото\w*|снимке)|\bв кадре",
            {"on": "на", "under": "под", "above": "над", "in": "в|внутри", "behind": "за|позади",
             "before": "перед", "beside": "рядом с", "between": "между", "left": "слева",
             "right": "справа"},
        ),
        "ar": (
            r"في (?:هذه )?(?:ال)?صورة",
            {"on": "على|فوق", "under": "تحت|أسفل", "in": "داخل", "behind": "خلف|وراء",
             "before": "أمام", "beside": "بجانب|بجوار", "between": "بين", "left": "(?:على )?يسار",
             "right": "(?:على )?يمين"},
        ),
        "hi": (
            "(?:चित्र|तस्वीर|छवि) में",
            {"on": "पर|के ऊपर", "under": "के नीचे", "in": "के अंदर|के भीतर", "behind": "के पीछे",
             "before": "के सामने|के आगे", "beside": "के बगल में", "between": "के बीच"},
        ),
        "zh": (
            "图(?:片|像|画)?[中里上]|照片[中里上]|画面[中里]",
            {"on": "(?<=在)(?P<n1>[^，。？上下里外旁]{1,6})上(?:面|边|方)?(?![衣学午])",
             "under": "(?<=在)(?P<n2>[^，。？上下里外旁]{1,6})下(?:面|边|方)?(?!午)",
             "in": "(?<=在)(?P<n3>[^，。？上下里外旁]{1,6})里(?:面|边)?",
             "behind": "(?<=在)(?P<n4>[^，。？上下里外旁]{1,6})后(?:面|边|方)?",
             "before": "(?<=在)(?P<n5>[^，。？上下里外旁]{1,6})前(?:面|边|方)?",
             "beside": "(?<=在)(?P<n6>[^，。？上下里外旁]{1,6})旁(?:边)?"},
        ),
        "ja": (
            "(?:画像|写真|絵)(?:の中|の上|内)?(?=に|で|は|の|から)",
            {"on": "の上(?=[にでのを])", "under": "の下(?=[にでのを])", "in": "の中(?=[にでのを])",
             "behind": "の(?:後ろ|うしろ|裏)(?=[にでのを])", "before": "の前(?=[にでのを])",
             "beside": "の(?:横|隣|そば)(?=[にでのを])"},
        ),
        "ko": (
            "(?:이미지|사진|그림)(?: ?속| ?안)?에(?:서|는)?",
            {"on": "위에(?:서|는)?", "under": "(?:아래|밑)에(?:서|는)?",
             "in": "(?:안|속)에(?:서|는)?", "behind": "뒤에(?:서|는)?", "before": "앞에(?:서|는)?",
             "beside": "옆에(?:서|는)?"},
        ),
    }
)  # fmt: skip
_SPACED = ("de", "es", "fr", "pt", "ru", "ar", "hi")
"""The languages that set spaces between words."""


@lru_cache(maxsize=16)
def _patterns(name: str) -> tuple[re.Pattern[str], Mapping[str, re.Pattern[str]]] | None:
    """What finds the picture itself in a language, and what finds each relation."""
    if name not in _PREPOSITIONS:
        return None
    picture, prepositions = _PREPOSITIONS[name]
    bounds = (r"(?<!\w)(?:", r")(?=[\s?؟]|$)") if name in _SPACED else ("(?:", ")")
    compiled = {
        relation: re.compile(words.join(bounds), re.IGNORECASE)
        for relation, words in prepositions.items()
    }
    return re.compile(picture, re.IGNORECASE), compiled


@lru_cache(maxsize=4096)
def _located(text: str, name: str) -> tuple[frozenset[str], str]:
    """The relations that a text names, and the text without their words."""
    patterns = _patterns(name)
    if patterns is None:
        return frozenset(), text
    picture, relation_patterns = patterns
    text = picture.sub(" ", text)
    relations = set[str]()
    for relation, pattern in relation_patterns.items():
        if pattern.search(text):
            relations.add(relation)
            text = pattern.sub(lambda match: f" {''.join(filter(None, match.groups()))} ", text)
    return frozenset(relations), text


def location_verdicts(clause: str, language: Language, question: str) -> set[bool] | None:
    """Whether a clause denies a question for a location, by the relations that both name.

    Parameters
    ----------
    clause
        A clause of an answer.
    language
        The language of both.
    question
        The question.

    Returns
    -------
    Empty where that is open; None where one of them names no relation, or the clause leaves out
    something of the question.

    Examples
    --------
    >>> from hqm.scoring.polar_words import language_of
    >>> location_verdicts("Кошка под столом", language_of("Кошка"), "Кошка на столе?")
    {True}
    """
    asked_relations, plain_question = _located(question, language.name)
    if not asked_relations:
        return None
    relations, plain_clause = _located(clause, language.name)
    asked_words, stated_words = map(language.content, (plain_question, plain_clause))
    if not (relations and asked_words) or not set(asked_words) <= set(stated_words):
        return None
    denies = language.denial.search(clause) is not None
    is_same = not asked_relations.isdisjoint(relations)
    # the verb of a question may stand before its subject
    is_verb_first = len(asked_words) > 2 and is_subsequence(asked_words[1:], stated_words)
    if not is_verb_first and not is_subsequence(asked_words, stated_words):
        return None if is_same else set()  # "The table is above the cat" has the two in turn
    if is_same:
        return {denies}
    is_open = denies or any(starmap(are_compatible, product(asked_relations, relations)))
    return set() if is_open else {True}
