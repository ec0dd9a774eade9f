"""Statements in other languages than English that answer a yes/no question.

"Auf dem Bild ist kein Hund zu sehen" answers "Ist auf dem Bild ein Hund zu sehen?". A statement is
read where it has all content words of the question, and denies where it has a word of denial. Of an
answer in another language than the question, only the denial that something is there is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

# the vowel signs of Hindi are no word characters of `re`
_WORD = re.compile(r"[^\s.,;:!?¿¡।؟،'’\"()«»„“”–—-]+")
_CLAUSE_END = re.compile(
    r"[.!?;\n。！？；،؛।]+\s*|[,，、:：—–]\s*(?=(?:sondern|aber|pero|sino|mais|mas|ma|но|а)\b)"
    r"|[,，]\s*(?=但|而是|不过|しかし|하지만|لكن|بل|लेकिन)|[,，、]"
)


@dataclass(frozen=True, slots=True)
class Language:
    """What a language denies with, and the words that any question and statement of it has.

    Parameters
    ----------
    name
        Its ISO 639-1 code.
    script
        What a text has that can only be of this language, of those known here; empty for languages
        in Latin letters, which are told by their common words.
    denial
        The words that deny a statement.
    doubt
        The words of a statement that commits itself to nothing.
    common
        Words that decide nothing: articles, forms of be, "in the picture".
    unspaced
        Whether it sets no spaces between words, so that characters are compared.
    """

    name: str
    script: str
    denial: re.Pattern[str]
    doubt: re.Pattern[str]
    common: frozenset[str]
    unspaced: bool = False

    def content(self, text: str) -> list[str]:
        """Return the stems of the content words of a text, or its content characters."""
        text = self.denial.sub(" ", text.casefold())
        if self.unspaced:
            return [sign for sign in text if sign.isalnum() and sign not in self.common]
        return [_stem(word) for word in _WORD.findall(text) if word not in self.common]


def _stem(word: str) -> str:
    """The beginning of a word, for languages inflect at the end; Arabic sets an article before."""
    word = word.removeprefix("ال")
    if len(word) > 3:
        return word[: max(3, len(word) - 2)]
    return word


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


def _pattern(alternatives: str) -> re.Pattern[str]:
    return re.compile(alternatives, re.IGNORECASE)


_LANGUAGES = (
    Language(
        "ja", "[\u3041-\u3096\u30a1-\u30fa]",
        _pattern("ありません|いません|ません|ない|なし|いえません"),
        _pattern("かもしれ|分か|わか|できま|判断|おそらく|たぶん|かどうか"),
        frozenset("はがをにのでもとへかですますあるいりっれてしたこそ画像写真絵中見写映んこれそれ有存在当たつ"),
        unspaced=True,
    ),
    Language(
        "ko", "[\uac00-\ud7a3]",
        _pattern("없[가-힣]*|않[가-힣]*|아니[가-힣]*|아닙[가-힣]*"),
        _pattern("아마|모르|알 수|판단|것 같|수도 있"),
        frozenset("이가은는을를에의도있습니다까요어음중사진미지그림속안보입나요네죠"),
        unspaced=True,
    ),
    Language(
        "zh", "[\u4e00-\u9fff]",
        _pattern("没有|并没有|没|不是|不|无|未"),
        _pattern("可能|能|知道|确定|清楚|判断|也许|大概|或许|似乎|好像|是否"),
        frozenset("图片中里像照画面张幅这那有是的了着吗么在一只个条位名辆把可以看到见存显示出现些任何并任"),
        unspaced=True,
    ),
    Language(
        "ru", "[\u0400-\u04ff]",
        _pattern(r"\b(?:нет|не|ни|отсутству\w+)\b"),
        _pattern(r"\b(?:возможно|могу|знаю|видно ли|может быть|вероятно|похоже)\b"),
        _words("на в и а с есть ли это этом изображении картинке фото видно видна виден изображен",
               "изображена никакой никакого никакая одной одного здесь там был была"),
    ),
    Language(
        "ar", "[\u0600-\u06ff]",
        _pattern(r"(?:^|(?<=\s))(?:لا|ليس|ليست|لم|لن)(?=\s|$)"),
        _pattern("ربما|قد |أستطيع|يمكن|أعرف"),
        _words("هل يوجد توجد في الصورة هذه هناك على أي من هو هي الصوره"),
    ),
    Language(
        "hi", "[\u0900-\u097f]",
        _pattern("नहीं|न "),
        _pattern("शायद|सकता|पता|कह"),
        _words("क्या में है हैं एक कोई चित्र तस्वीर छवि इस यह वह की का के पर दिखाई दे रहा रही दिख"),
    ),
    Language(
        "de", "",
        _pattern(r"\b(?:nicht|kein\w*|niemand|nirgends|weder)\b"),
        _pattern(r"\b(?:vielleicht|möglicherweise|vermutlich|könnte|kann|kannst|weiß|erkennbar|erkennen|ob|oder|scheint)\b"),
        _words("der die das den dem des ein eine einen einem einer ist sind war es gibt auf im in zu",
               "irgendein irgendeine sehen bild foto sich befindet zeigt und hier da wird man kann abgebildet sichtbar dort"),
    ),
    Language(
        "es", "",
        _pattern(r"\b(?:no|ning[uú]n[oa]?|nunca|tampoco|ni)\b"),
        _pattern(r"\b(?:quizás?|tal vez|posiblemente|podría|parece|puedo|puede|sé|posible|si|o)\b"),
        _words("el la los las un una unos es son está están hay en se ve ven imagen foto que y con de",
               "del al esta este puede ver observa aprecia aparece algún alguna alguno visible"),
    ),
    Language(
        "fr", "",
        _pattern(r"\b(?:ne|n|pas|aucune?|jamais|ni)\b"),
        _pattern(r"\b(?:peut-être|probablement|pourrait|semble|peux|peut|sais|possible|si|ou)\b"),
        _words("le la les l un une des de d du est sont il elle y a dans sur cette cet ce image photo",
               "que qu et avec on voit peut voir t ils quelque visible bien"),
    ),
    Language(
        "pt", "",
        _pattern(r"\b(?:não|nenhuma?|nunca|nem)\b"),
        _pattern(r"\b(?:talvez|possivelmente|poderia|parece|posso|sei|possível|se|ou)\b"),
        _words("o a os as um uma é são está estão há em na no nas nos imagem foto que e com de do da",
               "esta este vê pode ver existe aparece algum alguma visível"),
    ),
    Language(
        "it", "",
        _pattern(r"\b(?:non|nessun[oa]?|mai|né)\b"),
        _pattern(r"\b(?:forse|probabilmente|potrebbe|sembra|posso|so|possibile|se|o)\b"),
        _words("il lo la i gli le l un una uno è sono c ci nella nell nel immagine foto che e con di",
               "del della si vede può vedere questa qualche alcun alcuna visibile"),
    ),
)  # fmt: skip
_ENGLISH = _words(
    "the a an is are was were there it this that in of on not no and with to image picture do does",
    "has have can see i you he she they any for at by be",
)
EXISTENCE_QUESTION = re.compile(
    r"\b(?:is|are) there\b|\b(?:can|do) you see\b|\bany\b|^(?:does|do)\b.*\b(?:contain|show"
    r"|depict|include)"
    r"|\b(?:visible|present)\b",
    re.IGNORECASE,
)
_MAX_COMPARED_SENTENCES = 3
_MAX_DENIAL_WORDS = 12


_ANY_SCRIPT = re.compile("|".join(filter(None, (row.script for row in _LANGUAGES))))
_SEPARATORS = str.maketrans(dict.fromkeys(".,;:!?'\"()-", " "))
"""The ASCII signs that are in no word."""


def _folded_words(text: str) -> list[str]:
    """The words of a text in lower case."""
    folded = text.casefold()
    if folded.isascii():
        return folded.translate(_SEPARATORS).split()
    return _WORD.findall(folded)


_TELLING_WORDS = _ENGLISH.union(
    *(language.common for language in _LANGUAGES if not language.script),
    _words(
        "nicht niemand nirgends weder no ningun ningún ninguno ningúno ninguna ningúna nunca tampoco",
        "ni ne n pas aucun aucune jamais não nenhum nenhuma nem non nessun nessuno nessuna mai né",
    ),
)
"""The words by which `language_of` tells languages, without those that begin with "kein"."""


@lru_cache(maxsize=1024)
def _languages_with(word: str) -> tuple[str, ...]:
    """The languages in Latin letters that have a word among those of any statement; "" for
    English.
    """
    names = [""] if word in _ENGLISH else []
    for language in _LANGUAGES:
        is_common = word in language.common or language.denial.fullmatch(word) is not None
        if is_common and not language.script:
            names.append(language.name)
    return tuple(names)


@lru_cache(maxsize=4096)
def language_of(text: str) -> Language | None:
    """Return the language of a text, of those known here; None for English and others."""
    if not text.isascii() and _ANY_SCRIPT.search(text):
        for language in _LANGUAGES:
            if language.script and re.search(language.script, text):
                return language
    words = _folded_words(text)
    telling = [word for word in words if word in _TELLING_WORDS or word[:4] == "kein"]
    counts = Counter(chain.from_iterable(map(_languages_with, telling)))
    best_count = max(1, counts.pop("", 0))
    best = None
    for language in _LANGUAGES if counts else ():
        if counts[language.name] > best_count:
            best, best_count = language, counts[language.name]
    return best


def statement_language(text: str, question: str) -> Language | None:
    """Return the language of a statement; that of its question where it is too short to tell."""
    language = language_of(text)
    if language is None and _ENGLISH.isdisjoint(_folded_words(text)):
        return language_of(question)
    return language


def denies_in_other_language(text: str, question: str) -> bool | None:
    """Whether a statement in another language than English denies what was asked.

    Parameters
    ----------
    text
        The answer.
    question
        The question, in whatever language.

    Returns
    -------
    True where it says the contrary, False where it says the same, None where it says neither.

    Examples
    --------
    >>> denies_in_other_language("Der Hund ist nicht braun.", "Ist der Hund braun?")
    True
    >>> denies_in_other_language("图中有一只狗。", "图片中有狗吗？")
    False
    """
    language = statement_language(text, question)
    if language is None:
        return None
    clauses = [clause for clause in _CLAUSE_END.split(text) if clause and clause.strip()]
    if not clauses or len(clauses) > 2 * _MAX_COMPARED_SENTENCES:
        return None
    if language_of(question) is language:
        return _restated_denial(clauses, language, question)
    first = clauses[0]
    n_words = len(first) // 2 if language.unspaced else len(first.split())
    is_denial = language.denial.search(first) and not language.doubt.search(first)
    if is_denial and n_words <= _MAX_DENIAL_WORDS and _asks_existence(question):
        return True
    return None


def _asks_existence(question: str) -> bool:
    return language_of(question) is None and EXISTENCE_QUESTION.search(question) is not None


def _restated_denial(clauses: Sequence[str], language: Language, question: str) -> bool | None:
    """Whether the clauses that have all content words of the question deny it; None where none
    has, or they disagree.
    """
    if language.unspaced and len(clauses) == 1 and clauses[0] in question:
        return False  # a verb of the question is a yes: "戴着。"
    asked = set(language.content(question))
    verdicts = set()
    for clause in clauses:
        content = set(language.content(clause))
        denies = language.denial.search(clause) is not None
        if not asked or not content or language.doubt.search(clause):
            continue
        if denies and content < asked and _denies_first_asked(clause, language, asked):
            verdicts.add(True)  # "No dog is visible", asked for a dog on the sofa
        if not asked <= content:
            continue
        if denies and content > asked and not _denies_first_asked(clause, language, asked):
            continue  # "The dog is not on the sofa" does not say that there is no dog
        verdicts.add(denies)
    if len(verdicts) == 1:
        return verdicts.pop()
    return None


def _denies_first_asked(clause: str, language: Language, asked: set[str]) -> bool:
    """Whether a word of denial stands right before a content word of the question."""
    for denial in language.denial.finditer(clause):
        content = language.content(clause[denial.end() :])
        if content and content[0] in asked:
            return True
    return False
