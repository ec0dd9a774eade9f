"""Statements that answer a yes/no question: whether they repeat it, or say its contrary.

In English all content words of a statement are in the question, in its order: "The star is larger
than the circle" says the contrary of "Is the circle larger than the star?". In other languages a
statement is read where it has all content words of the question, and denies where it has a word of
denial: "Auf dem Bild ist kein Hund zu sehen". Of an answer in another language than the question,
only the denial that something is there is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from types import MappingProxyType

from hqm.scoring.cue_search import ascii_words

# the vowel signs of Hindi are no word characters of `re`
_WORD = re.compile(r"[^\s.,;:!?¿¡।؟،'’\"()«»„“”–—-]+")
_VOWEL_MARKS = re.compile("[\u064b-\u0652]")
"""The short vowels of Arabic, which most texts leave out."""
CLAUSE_END = re.compile(
    r"[.!?;\n。！？；،؛।]+\s*|[,，、:：—–]\s*(?=(?:sondern|aber|pero|sino|mais|mas|ma|но|а)\b)"
    r"|[,，]\s*(?=但|而是|不过|しかし|하지만|لكن|بل|लेकिन)|[,，]|(?<!は)、"
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
        text = self.denial.sub(" ", _VOWEL_MARKS.sub("", text.casefold()))
        if self.unspaced:
            return [sign for sign in text if sign.isalnum() and sign not in self.common]
        return [_stem(word) for word in _WORD.findall(text) if word not in self.common]


def _stem(word: str) -> str:
    """The beginning of a word, for languages inflect at the end; Arabic sets an article before."""
    if _CYRILLIC.match(word):
        return _RUSSIAN_ENDING.sub("", word)
    word = word.removeprefix("ال")
    if len(word) > 4:
        word = word.removesuffix("s")
    # two letters are enough for most endings; a shorter beginning would join different words
    if len(word) > 3:
        return word[: max(3, len(word) - 2)]
    return word


_CYRILLIC = re.compile("[\u0400-\u04ff]")
# the endings of nouns and adjectives, which are none, one, two or three letters long
_RUSSIAN_ENDING = re.compile(
    r"(?<=\w{3})(?:[ая]ми|[ое]го|[ое]му|[ыи]ми|[ое]в|[аеиоуыюя]?[йьмх]|[аеёиоуыэюя]{1,2})$"
)


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


def _pattern(alternatives: str) -> re.Pattern[str]:
    return re.compile(alternatives, re.IGNORECASE)


_LANGUAGES = (
    Language(
        "ja", "[\u3041-\u3096\u30a1-\u30fa]",
        _pattern("ありません|いません|ません|(?<!だけ)(?:で|では|じゃ)なく|ない|なし|いえません"),
        _pattern("かもしれ|分か|わか|できま|判断|おそらく|たぶん|かどうか"),
        frozenset("はがをにのでもとへかょうですますあるいりっれてしたくこそ画像写真絵中見写映んこれそれ有存在当たつ姿"),
        unspaced=True,
    ),
    Language(
        "ko", "[\uac00-\ud7a3]",
        _pattern("없[가-힣]*|않[가-힣]*|아니[가-힣]*|아닙[가-힣]*"),
        _pattern("아마|모르|알 수|판단|것 같|수도 있|[는은]지"),
        frozenset("이가은는을를에의도있습니다까요어음중사진미지그림속안보입나요네죠인되하고서찾수"),
        unspaced=True,
    ),
    Language(
        "zh", "[\u4e00-\u9fff]",
        _pattern("没有|并没有|没|不是|不(?![仅止但错])|无|未"),
        _pattern("可能|能|知道|确定|清楚|判断|也许|大概|或许|似乎|好像|是否"),
        frozenset("图片中里像照画面张幅这那有是的了着吗么在一只个条位名辆把可以看到见存显示出现些任何并任他她它们您你我而"),
        unspaced=True,
    ),
    Language(
        "ru", "[\u0400-\u04ff]",
        _pattern(r"\b(?:нет|не|ни|ник(?:ак|т|ого)\w*|отсутству\w+)\b"),
        _pattern(r"\b(?:возможно|могу|знаю|ли|может быть|вероятно|похоже)\b"),
        _words("он она оно они на в и а с есть ли это этом изображении картинке фото видно видна "
               "виден изображен",
               "изображена является являются одной одного здесь там был была"),
    ),
    Language(
        "ar", "[\u0600-\u06ff]",
        _pattern(r"(?:^|(?<=\s))[وف]?(?:لا|ليس|ليست|لم|لن|غير)(?=\s|$)"),
        _pattern("ربما|قد |أستطيع|يمكن|أعرف|ما إذا"),
        _words("هل يوجد توجد في الصورة هذه هناك على أي من هو هي الصوره"),
    ),
    Language(
        "hi", "[\u0900-\u097f]",
        _pattern(r"नहीं|(?:^|(?<=\s))न(?=\s)"),
        _pattern("शायद|सकता|पता|कह|या नहीं"),
        _words("क्या में है हैं एक कोई चित्र तस्वीर छवि इस यह वह की का के पर दिखाई दे रहा रही दिख"),
    ),
    Language(
        "de", "",
        _pattern(r"\b(?:nicht(?! nur)|kein\w*|niemand|nirgends|weder)\b"),
        _pattern(r"\b(?:vielleicht|möglicherweise|vermutlich|könnte|kann|kannst|weiß|erkennbar"
                 r"|erkennen|ob|oder|scheint)\b"),
        _words("er sie diese dieser dieses der die das den dem des ein eine einen einem einer ist "
               "sind war es gibt auf im in zu",
               "irgendein irgendeine sehen bild foto sich befindet zeigt und hier da wird man "
               "kann abgebildet sichtbar dort"),
    ),
    Language(
        "es", "",
        _pattern(r"\b(?:no(?! (?:solo|sólo)\b)|ning[uú]n[oa]?|nunca|tampoco|ni)\b"),
        _pattern(r"\b(?:quizás?|tal vez|posiblemente|podría|parece|puedo|puede|logro|distingo|sé"
                 r"|posible|si|o)\b"),
        _words("él ella ellos ellas el la los las un una unos es son está están hay en se ve ven "
               "imagen foto que y con de",
               "del al esta este puede ver observa aprecia aparece algún alguna alguno visible"),
    ),
    Language(
        "fr", "",
        _pattern(r"\b(?:ne|n|pas|aucune?|jamais|ni)\b"),
        _pattern(r"\b(?:peut-être|probablement|pourrait|semble|peux|peut|arrive|parviens|distingue"
                 r"|sais|possible|si|ou)\b"),
        _words("le la les l un une des de d du est sont il elle ils elles y a dans sur cette cet "
               "ce image photo",
               "que qu et avec on voit peut voir t ils quelque visible bien"),
    ),
    Language(
        "pt", "",
        _pattern(r"\b(?:não(?! só\b)|nenhuma?|nunca|nem)\b"),
        _pattern(r"\b(?:talvez|possivelmente|poderia|parece|posso|consigo|consegue|sei|possível|se"
                 r"|ou)\b"),
        _words("ele ela eles elas o a os as um uma é são está estão há em na no nas nos imagem "
               "foto que e com de do da",
               "esta este vê pode ver existe aparece algum alguma visível"),
    ),
    Language(
        "it", "",
        _pattern(r"\b(?:non(?! solo\b)|nessun[oa]?|mai|né)\b"),
        _pattern(r"\b(?:forse|probabilmente|potrebbe|sembra|posso|riesco|so|possibile|se|o)\b"),
        _words("il lo la i gli le l un una uno è sono c ci nella nell nel immagine foto che e con "
               "di",
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
        "nicht niemand nirgends weder no ningun ningún ninguno ningúno ninguna ningúna nunca "
        "tampoco",
        "ni ne n pas aucun aucune jamais não nenhum nenhuma nem non nessun nessuno nessuna mai né",
    ),
)
"""The words by which `language_of` tells languages, without those that begin with "kein"."""


_SURE_WORDS = _words(
    "nicht niemand ningún ninguno ninguna aucun aucune nenhum nenhuma nessun nessuna"
)
"""Words that are of one language only, and each as good as two."""


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


def has_other_script(text: str) -> bool:
    """Whether a text has letters of a script other than Latin, of the languages known here."""
    return _ANY_SCRIPT.search(text) is not None


def is_english(text: str) -> bool:
    """Whether a text has words of English, and more of them than of each other language."""
    return language_of(text) is None and not _ENGLISH.isdisjoint(_folded_words(text))


@lru_cache(maxsize=4096)
def language_of(text: str) -> Language | None:
    """Return the language of a text, of those known here; None for English and others."""
    if not text.isascii() and _ANY_SCRIPT.search(text):
        for language in _LANGUAGES:
            if language.script and re.search(language.script, text):
                return language
    if "¿" in text:
        return next(language for language in _LANGUAGES if language.name == "es")
    words = _folded_words(text)
    telling = [word for word in words if word in _TELLING_WORDS or word[:4] == "kein"]
    telling += [word for word in telling if word in _SURE_WORDS or word[:4] == "kein"]
    counts = Counter(chain.from_iterable(map(_languages_with, telling)))
    best_count = max(1, counts.pop("", 0))
    best = None
    for language in _LANGUAGES if counts else ():
        if counts[language.name] > best_count:
            best = language
            best_count = counts[language.name]
    return best


def statement_language(text: str, question: str) -> Language | None:
    """Return the language of a statement; that of its question where it is too short to tell."""
    language = language_of(text)
    # "Nein, rot." is too short to tell its language, and follows that of the question
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
    clauses = list(filter(str.strip, filter(None, CLAUSE_END.split(text))))
    # a long answer weighs things, and its clauses would be compared one against another
    if not clauses or len(clauses) > 2 * _MAX_COMPARED_SENTENCES:
        return None
    # words can be compared only within one language
    if language_of(question) is language:
        return _restated_denial(clauses, language, question)
    first = clauses[0]
    n_words = len(first) // 2 if language.unspaced else len(first.split())
    is_denial = language.denial.search(first) and not language.doubt.search(first)
    # a denial beside other clauses may deny something else: "it is not red but blue"
    is_telling = _asks_existence(question) or len(clauses) == 1
    if is_denial and n_words <= _MAX_DENIAL_WORDS and is_telling:
        # "not closed" may say that it is open
        return True if not _has_contrary(language.content(first)) else None
    return None


def denies_asked_noun(text: str, question: str) -> bool:
    """Whether a statement in another language than English says that what a question speaks of is
    not there, and no more.

    >>> denies_asked_noun("No se ve ninguna puerta.", "¿De qué color es la puerta?")
    True
    """
    language = statement_language(text, question)
    if language is None or language.denial.search(text) is None:
        return False
    content = set(language.content(text))
    return bool(content) and content <= set(language.content(question))


def _has_contrary(content: Sequence[str]) -> bool:
    return any(not group.isdisjoint(content) for group in _FOREIGN_CONTRARIES)


def _asks_existence(question: str) -> bool:
    return language_of(question) is None and EXISTENCE_QUESTION.search(question) is not None


def _restated_denial(clauses: Sequence[str], language: Language, question: str) -> bool | None:
    """Whether the clauses that have all content words of the question deny it; None where none
    has, or they disagree.
    """
    if language.unspaced and len(clauses) == 1 and clauses[0] in question:
        return False  # a verb of the question is a yes: "戴着。"
    question_words = set(language.content(question))
    corrects = any(map(_CORRECTS.search, clauses))
    verdicts = set()
    for clause in clauses:
        content = set(language.content(clause))
        denies = language.denial.search(clause) is not None
        if not question_words or not content or language.doubt.search(clause):
            continue
        if (
            denies
            and (corrects or content < question_words)  # "Not a skirt but trousers"
            and _denies_first_asked(clause, language, question_words)
        ):
            verdicts.add(True)  # "No dog is visible", asked for a dog on the sofa
        if _is_contrary(question_words, content):
            verdicts.add(not denies)
        says_same = _says_same_predicate(question_words, content, language)
        if says_same is not None:
            verdicts.add(denies == says_same)
        if not question_words <= content:
            if _leaves_out_subject(clause, content, question_words, language):
                verdicts.add(denies)
            continue
        if (
            denies
            and content > question_words
            and not _denies_first_asked(clause, language, question_words)
        ):
            continue  # "The dog is not on the sofa" does not say that there is no dog
        verdicts.add(denies)
    # two clauses that disagree say nothing
    if len(verdicts) == 1:
        return verdicts.pop()
    return None


_CORRECTS = re.compile(
    r"(?:では|じゃ|で)なく|[이가] 아니라|而是|बल्कि|(?:^|\s)بل\s"
    r"|\b(?:sondern|sino|mais|mas sim|e sim|ma|а)\b",
    re.IGNORECASE,
)
"""What stands between what is denied and what holds instead."""


def _is_contrary(question_words: set[str], content: set[str]) -> bool:
    """Whether a clause has all content words of a question but one, and a contrary of that."""
    missing = question_words - content
    return len(missing) == 1 and any(
        missing & group and content & group - missing for group in _FOREIGN_CONTRARIES
    )


def _leaves_out_subject(
    clause: str, content: set[str], question_words: set[str], language: Language
) -> bool:
    """Whether a clause has all of a question but one word, its subject: "Lleva gafas"."""
    if content - question_words or _EXISTENTIAL.search(clause):
        return False
    if language.unspaced:
        return len(clause) <= _MAX_VERB_CHARS
    return len(question_words - content) == 1 and len(question_words) > 2


_MAX_VERB_CHARS = 14
_EXISTENTIAL = re.compile(
    r"\b(?:hay|gibt|il y a|há|есть|existe)\b|(?:いま|いる|あり|ある)|(?:이|가) 있|有|يوجد|توجد",
    re.IGNORECASE,
)
"""What says that something is there, of which another word may say where."""


def _says_same_predicate(
    question_words: set[str], content: set[str], language: Language
) -> bool | None:
    """Whether a clause without its subject has the predicate of a question, or a contrary of it:
    "Está cerrada"; None where it has neither.
    """
    for group in _FOREIGN_CONTRARIES:
        predicates = group & content
        other_words = content - group - question_words
        # of a verb in characters the ending is one of its own
        is_covered = len(other_words) < 2 if language.unspaced else not other_words
        if len(predicates) == 1 and group & question_words and is_covered:
            return predicates <= question_words
    return None


_FOREIGN_CONTRARIES = tuple(
    frozenset(map(_stem, pair.split()))
    for pair in (
        "offen geschlossen,links rechts,voll leer,groß klein,gestiegen gesunken,abierta cerrada"
        ",abierto cerrado,izquierda derecha,llena vacía,lleno vacío,grande pequeña,grande pequeño"
        ",ouverte fermée,ouvert fermé,gauche droite,pleine vide,plein vide,grande petite"
        ",aberta fechada,aberto fechado,esquerda direita,cheia vazia,cheio vazio,grande pequena"
        ",открыта закрыта,открыто закрыто,открыт закрыт,слева справа,полный пустой"
        ",большой маленький,开 关,左 右,大 小,開 閉,مفتوح مغلق,مفتوحة مغلقة,يسار يمين,खुला बंद,खुली बंद"
        ",열 닫,켜 꺼,男 女,亮 灭"
        ",allumé éteint,allumée éteinte,encendida apagada,encendido apagado,acesa apagada,aceso "
        "apagado,an aus,horizontal vertikal,horizontal vertical,horizontale verticale,nass trocken"
        ",seco mojado,बाएँ दाएँ,aperta chiusa,aperto chiuso,sinistra destra"
    ).split(",")
)


def _denies_first_asked(clause: str, language: Language, question_words: set[str]) -> bool:
    """Whether a word of denial stands right beside a content word of the question: before it, or
    behind it where the verb comes last.
    """
    for denial in language.denial.finditer(clause):
        if language.name in FINAL_VERB_LANGUAGES:
            nearest = language.content(clause[: denial.start()])[-1:]
        else:
            nearest = language.content(clause[denial.end() :])[:1]
        if question_words.issuperset(nearest) and nearest:
            return True
    return False


FINAL_VERB_LANGUAGES = ("ja", "ko", "hi")


# --- statements in English ---

_ADVERBIAL = re.compile(
    r"^(?:(?:the|a) (?:sign|label|notice|poster|caption) (?:says|states|indicates|shows) that\s+"
    r"|it (?:looks like|(?:seems|appears)(?: that)?)\s+(?=(?:she|he|they|it|there)\b)|(?:based on"
    r"|according to|in|from|as shown in|looking at|judging (?:by|from)"
    r"|since|because|as|given|while|although|though)\b"
    r"(?:[^,.]|\.(?=\d))*,\s*|also,\s*"
    r"|i (?:(?:would |can )?(?:think|believe|guess|assume|say|conclude)"
    r"|am (?:confident|sure))(?: that)?\s+(?!so\b|not\b)"
    r"|(?:definitely|certainly|absolutely|clearly|probably|most likely|likely|hmm|well|i think"
    r"|i believe)\b[\s,]*(?=yes|no\b))",
    re.IGNORECASE,
)
# words that any question and answer may have, so that they decide nothing
_PLAIN_WORDS = frozenset(
    (
        "a an the there is are was were be does do did has have had can cannot will not no none any"
        " it they he she this that these those i see seen visible present shown appear appears seem"
        " look looks"
        " seems show shows contain contains image picture photo in of on one isn aren wasn weren"
        " doesn don didn hasn haven t s lack lacks absent missing should could would must wouldn"
        " couldn indeed actually really include includes included listed mentioned"
        " shouldn be you from given provided based according to than as at by here anywhere"
        " scene photograph frame clip footage nobody sight showing currently now"
    ).split()
)
_AROUND_QUESTION = re.compile(
    r"^.*[,.:]\s+(?=(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b)"
    r"|\s(?:between \d|according to|based on)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_PRONOUN = re.compile(
    r".*\b(?:is|are|was|were|do|does|did|has|have) (?:it|they|he|she|(?:this|that) an?)\b", re.I
)
_COMPARISON = re.compile(r" than |[<>]")


def without_adverbial(text: str) -> str:
    """A text without an adverbial at its beginning: "In the picture, there is a dog"."""
    adverbial = _ADVERBIAL.match(text)
    if adverbial:
        return text[adverbial.end() :]
    return text


def is_unrelated(words: Sequence[str], question: str) -> bool:
    """Whether the content words of a clause have nothing to do with a question, so that it neither
    repeats nor denies it; most clauses of a chain of thought do not.
    """
    related = _related_words(question)
    # most clauses end here: the comparison below costs fifty times as much
    if not related or not related.isdisjoint(words) or not any(map(_is_telling, words)):
        return False
    return related.isdisjoint(map(_positive, words))


@lru_cache(maxsize=1024)
def _related_words(question: str) -> frozenset[str]:
    """The content words of a question, their opposites, and the comparisons that deny them."""
    words = set(asked_words(question))
    related = words.union(*(group for group in _CONTRARIES if words & group))
    if words & (_EQUAL | _COMPARATIVES):
        related |= _EQUAL | _COMPARATIVES
    return frozenset(related)


@lru_cache(maxsize=8192)
def _is_telling(word: str) -> bool:
    """Whether a content word cannot be added to a statement without changing what it says."""
    return word not in _COUNTS and _NEUTRAL.fullmatch(word) is None


@lru_cache(maxsize=8192)
def _positive(word: str) -> str:
    """A word without a prefix that denies it: "happy" of "unhappy"."""
    return _NEGATIVE_PREFIX.sub("", word)


_NEGATIVE_PREFIX = re.compile(r"^(?:un|in|im|ir|non|dis)")


def prefers_standard(clause: str, words: Sequence[str], question: str) -> bool:
    """Whether a clause gives more to what the question compares with: "It is higher in tank B",
    asked whether it is higher in tank A than in tank B.
    """
    before, _, after = question.partition(" than ")
    standard = set(content_words(after)) - set(content_words(before))
    comparatives = _COMPARATIVES & set(words) & set(asked_words(question))
    return bool(standard & set(words) and comparatives) and not _COMPARISON.search(clause)


def content_words(text: str) -> list[str]:
    """The stems of the words of a text, without those that any question and answer may have."""
    text = text.replace("<", " less ").replace(">", " greater ")
    # as an article it is left out, which would make "Company A" and "Company B" alike
    if " A" in text:
        text = _NAME_A.sub("a_", text)
    words = ascii_words(text.replace("-", ""))
    return [_base_form(word) for word in words if word not in _PLAIN_WORDS]


_NAME_A = re.compile(r"(?<=\w )A\b")
"""The letter of "Company A", which is no article."""


@lru_cache(maxsize=65536)
def asked_words(question: str) -> tuple[str, ...]:
    """The content words of a question."""
    return tuple(content_words(_AROUND_QUESTION.sub("", without_adverbial(question))))


_NEUTRAL = re.compile(
    r".*ly|ones?|all|just|also|much|far|bit|dur|side|park|stand|sitt?|lie|locat|posit|posit?ion"
    r"|plac|situat"
)
"""Stems of words that a sentence may add to those of the question."""


@lru_cache(maxsize=8192)
def _base_form(word: str) -> str:
    """A word without its ending: rises, rising and rose are "ris"."""
    word = _IRREGULAR.get(word, word)
    verb = re.sub(r"(?:ing|ed)$", "", word) if len(word) > 4 else word
    if verb != word:
        return verb  # the s of "increased" is no ending
    word = re.sub(r"(?<=[^s])s$", "", word) if len(word) > 3 else word
    if len(word) > 3:
        return word.removesuffix("e")
    return word


_IRREGULAR = MappingProxyType(
    dict(
        pair.split(":")
        for pair in (
            "rose:rise risen:rise fell:fall fallen:fall grew:grow won:win lost:lose wore:wear"
            " held:hold"
            " sat:sit stood:stand ran:run ate:eat went:go came:come took:take gave:give made:make"
            " broke:break drew:draw drove:drive flew:fly wrote:write began:begin kept:keep"
            " beside:near next:near close:near adjacent:near equal:same"
            " equals:same equally:same identical:same"
            " sitting:sit lying:lie running:run every:all each:all shot:shoot big:large"
            " bigger:larger"
            " permitted:allow permits:allow forbidden:prohibit banned:prohibit barred:prohibit"
            " beneath:under underneath:under alike:same people:person someone:person "
            "somebody:person anyone:person anybody:person"
        ).split()
    )
)
_COUNTS = frozenset(
    map(_base_form, "two three four five six seven eight nine ten several many some".split())
)


def _groups(*groups: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(_base_form, group.split())) for group in groups)


_RELATIONS = _groups(
    "left right", "above below", "over under", "front behind", "inside outside", "before after",
    "larger smaller", "bigger smaller", "greater smaller less", "taller shorter", "longer shorter",
    "higher lower", "more fewer less", "older younger newer", "heavier lighter", "faster slower",
    "closer farther further", "wider narrower", "thicker thinner", "brighter darker",
    "lighter darker", "warmer colder cooler", "hotter colder cooler", "better worse",
)  # fmt: skip
"""Opposite relations: "A is left of B" says that B is right of A."""
_COMPARATIVES = frozenset().union(*_RELATIONS)
_EQUAL = frozenset({_base_form("same")})
_CONTRARIES = (
    *_RELATIONS,
    *_groups(
        "red blue green yellow black white orange purple pink brown gray grey beige amber violet "
        "turquoise",
        "stand sit lie kneel walk run", "large small tiny", "big small tiny", "tall short",
        "long short", "high low", "old young new", "open closed shut", "indoors outdoors",
        "indoor outdoor", "inside outdoors", "day daylight daytime night", "same different",
        "empty full",
        "allow prohibit", "rise fall", "increase decrease decline", "rise decrease decline drop",
        "increase fall drop", "grow shrink", "win lose", "up down", "male female", "odd even",
        "wet dry",
        "awake asleep", "toward away", "top bottom", "first last second third",
        "round square triangular rectangular", "wooden metal plastic glass",
        "parallel perpendicular",
        "one two three four five six seven eight nine ten",
    ),
)  # fmt: skip


def _groups_by_word(groups: Sequence[frozenset[str]]) -> Mapping[str, tuple[frozenset[str], ...]]:
    """Word -> the groups that it is in, for each answer asks for few of them."""

    def groups_with(word: str) -> tuple[frozenset[str], ...]:
        return tuple(group for group in groups if word in group)

    return {word: groups_with(word) for word in frozenset().union(*groups)}


_RELATIONS_BY_WORD = _groups_by_word(_RELATIONS)
_CONTRARIES_BY_WORD = _groups_by_word(_CONTRARIES)


def contraries_of(word: str) -> frozenset[str]:
    """The stems that say the contrary of a stem: "above" of "below"."""
    return frozenset().union(*_CONTRARIES_BY_WORD.get(word, ())) - {word}


def restates(clause: Sequence[str], question: str) -> bool | None:
    """Whether a clause repeats the question, False where it says the contrary; None for a clause
    about something else.

    All its content words are in the question, in the same order: "The star is larger than the
    circle" says the contrary of "Is the circle larger than the star?".
    """
    question_words = asked_words(question)
    if not _COUNTS & set(question_words):  # "There are two dogs" says that there is a dog
        clause = [word for word in clause if word not in _COUNTS]
    stated = []
    for word in clause:
        is_neutral = word not in question_words and _NEUTRAL.fullmatch(word)
        if not is_neutral or _contraries_in(word, question_words):
            stated.append(word)
    if not stated:
        return True if clause in ([], ["one"]) else None  # "He has one"
    comparatives = _COMPARATIVES & set(stated)
    # "larger" denies that two things are the same, whatever else is said
    if _EQUAL & set(question_words) and comparatives - set(question_words):
        return False
    if _COMPARATIVES & set(question_words) and not comparatives:
        return _restates_as_equal(stated, question_words)
    if _repeats(stated, question_words, question):
        return True
    if _says_contrary(stated, question_words):
        return False
    return _relation_agrees(stated, question_words)


def _restates_as_equal(stated: Sequence[str], question_words: Sequence[str]) -> bool | None:
    """False where a clause calls equal what a question compares: "They are of the same size" says
    that none is larger, and "x is 5" says nothing of it.
    """
    compared_words = set(stated) - _EQUAL
    names_compared = compared_words & set(question_words) or len(compared_words) < 2
    if compared_words < set(stated) and names_compared:
        return False
    return None


def _repeats(stated: Sequence[str], question_words: Sequence[str], question: str) -> bool:
    """Whether the words of a clause say again what is asked."""
    if not question_words:
        return False  # "Is the above on the left?" asks about nothing that has a name
    # of two words the order says nothing: subject and property name themselves
    if len(question_words) == 2 and set(stated[:2]) == set(question_words):
        return True  # "The function is even", of an even function
    has_subject = stated[0] == question_words[0] or _PRONOUN.match(question)
    if len(question_words) > 1 and has_subject and is_subsequence(question_words, stated):
        return True  # "It has symmetry of order 4"
    return is_subsequence(stated, question_words) or is_subsequence(
        _without_adjectives(stated, question_words), question_words
    )


def _says_contrary(stated: Sequence[str], question_words: Sequence[str]) -> bool:
    """Whether a clause is the question with one word replaced by a contrary of it."""
    for index, word in enumerate(stated):
        for group in (*_CONTRARIES_BY_WORD.get(word, ()), frozenset({word, _positive(word)})):
            for contrary in group.intersection(question_words) - {word}:
                # what follows the last word of the question adds nothing to it
                remainder = [] if contrary == question_words[-1] else stated[index + 1 :]
                if is_subsequence([*stated[:index], contrary, *remainder], question_words):
                    return True
    return False


def _contraries_in(word: str, question_words: Sequence[str]) -> set[str]:
    """The words of a question of which a word is the opposite."""
    return set().union(*_CONTRARIES_BY_WORD.get(word, ())) & set(question_words) - {word}


def _without_adjectives(clause: Sequence[str], question_words: Sequence[str]) -> Sequence[str]:
    """A clause that says the last thing asked for, without one or two words right before words of
    the question: "They wear a white helmet".
    """
    adjective_indices = []
    for index, (word, follower) in enumerate(pairwise(clause)):
        is_new = word not in question_words and word not in _COMPARATIVES
        if is_new and follower in question_words and not _contraries_in(word, question_words):
            adjective_indices.append(index)
    if (
        not 0 < len(adjective_indices) < 3
        or clause[-1] != question_words[-1]
        or len(clause) - len(adjective_indices) < 2
    ):
        return clause
    return [word for index, word in enumerate(clause) if index not in adjective_indices]


def _relation_agrees(clause: Sequence[str], question_words: Sequence[str]) -> bool | None:
    """Whether a clause says of two things what was asked: "2016 is lower than 2015" says that 2015
    is higher.
    """
    for index, word in enumerate(question_words):
        before = set(question_words[:index])
        after = set(question_words[index + 1 :])
        for group in _RELATIONS_BY_WORD.get(word, ()):
            for position, relation in enumerate(clause):
                if relation not in group:
                    continue
                first = set(clause[:position])
                second = set(clause[position + 1 :])
                # a relation to a third thing says nothing about the two that were asked about
                is_covered = first | second <= before | after
                if not second or not is_covered or not (first or not before):
                    continue
                first_moved = first & after - before
                second_moved = second & before - after
                # one side alone changed places: another pair is compared
                if bool(first_moved) != bool(second_moved):
                    continue
                tail = [name for name in clause[position + 1 :] if name in after - before]
                in_order = is_subsequence(tail, question_words[index + 1 :])
                return (in_order and not first_moved) == (word == relation)
    return None


def is_subsequence(words: Sequence[str], sequence: Sequence[str]) -> bool:
    """Whether a sequence has all these words, in their order."""
    remaining = iter(sequence)
    return all(word in remaining for word in words)
