"""Statements that answer a yes/no question: whether they repeat it, or say its contrary.

In English all content words of a statement are in the question, in its order: "The star is larger
than the circle" says the contrary of "Is the circle larger than the star?". In other languages a
statement is read where it has all content words of the question, and denies where it has a word of
denial: "Auf dem Bild ist kein Hund zu sehen". Of an answer in another language than the question,
only the denial that something is there is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations_with_replacement, pairwise, takewhile
from types import MappingProxyType

from hqm.scoring.cue_search import ascii_words, is_subsequence
from hqm.scoring.polar_words import (
    ASKS_PRESENCE,
    CLAUSE_END,
    FINAL_VERB_LANGUAGES,
    YES_ABROAD,
    Language,
    language_of,
    statement_language,
    stem,
)

EXISTENCE_QUESTION = re.compile(
    r"\b(?:is|are) there\b|\b(?:can|do) you see\b|\bany\b|^(?:does|do)\b.*\b(?:contain|show"
    r"|depict|include)"
    r"|\b(?:visible|present)\b",
    re.IGNORECASE,
)
_MAX_COMPARED_SENTENCES = 3
_MAX_DENIAL_WORDS = 12


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
    if not clauses or _CONDITION.match(clauses[0]):
        return None
    has_many_clauses = len(clauses) > 2 * _MAX_COMPARED_SENTENCES
    # words can be compared only within one language
    if (language_of(question) or statement_language(question, text)) is language:
        if len(clauses) == 1 and clauses[0] in question:
            if language.unspaced:
                return False  # a verb of the question is a yes: "戴着。"
            if _lacks_verb(clauses[0], question, language):
                return None
        if _denies_any(clauses, question):
            return True
        if has_many_clauses:
            clauses = _reasoned_clause(clauses[0], language, question)
        return _restated_denial(clauses, language, question)
    if has_many_clauses:
        return None
    first = clauses[0]
    n_words = len(first) // 2 if language.unspaced else len(first.split())
    is_denial = language.denial.search(first) and not language.doubt.search(first)
    # a denial beside other clauses may deny something else: "it is not red but blue"
    is_telling = _asks_existence(question) or len(clauses) == 1
    if is_denial and n_words <= _MAX_DENIAL_WORDS and is_telling:
        # "not closed" may say that it is open
        return True if not _has_contrary(language.content(first)) else None
    return None


def _denies_any(clauses: Sequence[str], question: str) -> bool:
    """Whether an answer says "nobody" to a question for anybody."""
    return _ASKS_ANY.search(question) is not None and any(map(_NOBODY.search, clauses))


def _lacks_verb(clause: str, question: str, language: Language) -> bool:
    """Whether a clause breaks off before the verb of a question in Hindi."""
    asked = _HINDI_QUESTION_SIGN.sub("", question)
    return language.name == "hi" and not asked.endswith(clause.rstrip())


_HINDI_QUESTION_SIGN = re.compile(r"\s*क्या|[?।\s]+$")
_ASKS_ANY = re.compile(
    r"\b(?:jemand(?:en)?|etwas|alguien|algo|quelqu['’]une?|quelque chose|alguém|кто-\w+|что-\w+)\b"
    r"|誰か|何か|누가|누군가|무언가|뭔가|أحد|شيء|(?:कोई|कुछ) है|有人",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"\b(?:niemand(?:en)?|nichts|nadie|nada|ninguém|никого|никто|ничего)\b"
    r"|\bn['’]y a (?:personne|rien)\b|\b(?:personne|rien) n[e'’]|誰も|何も|아무도|아무것도|لا أحد"
    r"|لا يوجد (?:أحد|شيء)|(?:कोई|कुछ)(?: भी)? नहीं|没有?人|空无",
    re.IGNORECASE,
)
"""What denies a question that has `_ASKS_ANY`."""


def _reasoned_clause(first: str, language: Language, question: str) -> list[str]:
    """The first clause of a long answer, which gives reasons for it, where that has all content
    signs of the question; words of other languages may be those of a digression.
    """
    repeats = set(language.content(question)) <= set(language.content(first))
    return [first] if language.unspaced and repeats else []


_CONDITION = re.compile(
    r"\W*(?:(?:wenn|falls|si|если|إذا|لو)\b|अगर|यदि|もし|如果|假如|若|만약)", re.IGNORECASE
)
"""How a sentence begins that says what holds only where something else does."""


def contradicts_yes(text: str, question: str) -> bool:
    """Whether an answer in another language than English says yes and then denies what is asked; a
    question that denies may be agreed with.

    >>> contradicts_yes("Sí, no hay perros.", "¿Hay perros?")
    True
    """
    assent = YES_ABROAD.match(text)
    language = language_of(question) if assent else None
    if assent is None or language is None or language.denial.search(question):
        return False
    remainder = text[assent.end() :]
    denies = language.denial.search(remainder) is not None
    return denies and denies_in_other_language(remainder, question) is True


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
    return any(len(it) == 2 and not it.isdisjoint(content) for it in _FOREIGN_CONTRARIES)


def _asks_existence(question: str) -> bool:
    return language_of(question) is None and EXISTENCE_QUESTION.search(question) is not None


def _restated_denial(clauses: Sequence[str], language: Language, question: str) -> bool | None:
    """Whether the clauses that have all content words of the question deny it; None where none
    has, or they disagree.
    """
    from hqm.scoring.foreign_locations import location_verdicts  # few answers are abroad

    asked_words = language.content(question)
    corrects = any(map(_CORRECTS.search, clauses))
    verdicts = set[bool]()
    for clause in clauses:
        content = set(language.content(clause))
        is_open = language.doubt.search(clause) or _CONDITION.match(clause)
        if not asked_words or not content or is_open:
            continue
        compared = location_verdicts(clause, language, question)
        if compared is None:
            compared = _comparison_verdicts(clause, language, question)
        if compared is None:
            compared = _clause_verdicts(clause, content, language, question, corrects=corrects)
        verdicts |= compared
    # two clauses that disagree say nothing
    return verdicts.pop() if len(verdicts) == 1 else None


def _clause_verdicts(
    clause: str, content: set[str], language: Language, question: str, *, corrects: bool
) -> set[bool]:
    """Whether a clause denies the question, by each way in which it may say so."""
    question_words = set(language.content(question))
    denies = language.denial.search(clause) is not None
    verdicts = set[bool]()
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
        is_restated = _leaves_out_subject(clause, content, question_words, language)
    elif denies:
        # "The dog is not on the sofa" does not say that there is no dog
        is_restated = content == question_words or _denies_first_asked(
            clause, language, question_words
        )
    else:
        is_restated = not _has_other_predicate(clause, language, question)
    if is_restated:
        verdicts.add(denies)
    return verdicts


def _comparison_verdicts(clause: str, language: Language, question: str) -> set[bool] | None:
    """Whether a clause denies what a question compares, by the contrary of its comparative or by
    naming the two things in turn: "So ist der linke niedriger"; None where it compares
    nothing, and empty where it begins with another thing than the question.
    """
    conclusion = _CONSEQUENCE.split(clause)[-1]
    asked_words, stated_words = (
        language.content(_STANDARD.sub(r"\2 \1", text)) for text in (question, conclusion)
    )
    relations = _shared_relations(asked_words, stated_words)
    reverses = sum(relation[0] != relation[1] for relation in relations) % 2 == 1
    comparatives = frozenset().union(*chain.from_iterable(relations))
    nouns = _without(comparatives, asked_words)
    subject = [word for word in _without(comparatives, stated_words) if word in nouns]
    # of characters one may be part of another word: "少年"
    is_plain = is_subsequence(subject, nouns) or not _STANDARD_SIGN.search(clause)
    if not relations or (language.unspaced and not reverses and is_plain):
        return None
    n_added = len(_without(comparatives, stated_words)) - len(subject)
    # beside a thing to compare with, a word that the question has not may be the subject
    max_added = 0 if _STANDARD.match(conclusion) else _MAX_ADDED_WORDS * (1 + language.unspaced)
    if n_added > max_added or not subject:
        return set()
    is_swapped = _change_places(nouns, subject) and (
        language.name in FINAL_VERB_LANGUAGES
        or _n_before(comparatives, asked_words, nouns)
        == _n_before(comparatives, stated_words, nouns)
    )
    denies = language.denial.search(clause) is not None
    # "B is not higher than A" leaves it open whether they are equal
    is_open = denies and not reverses if is_swapped else subject != nouns[: len(subject)]
    return set() if is_open else {(reverses != is_swapped) != denies}


def _shared_relations(
    asked_words: Sequence[str], stated_words: Sequence[str]
) -> set[tuple[frozenset[str], frozenset[str]]]:
    """The comparatives of two texts of which one is the other or its contrary."""
    return {
        (group.intersection(asked_words), group.intersection(stated_words))
        for group in _FOREIGN_COMPARATIVES
        if not (group.isdisjoint(asked_words) or group.isdisjoint(stated_words))
    }


def _without(excluded: frozenset[str], words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in excluded]


def _n_before(comparatives: frozenset[str], words: Sequence[str], nouns: Sequence[str]) -> int:
    """How many of the nouns stand before the first comparative."""
    before = takewhile(lambda word: word not in comparatives, words)
    return sum(word in nouns for word in before)


def _change_places(names: Sequence[str], words: Sequence[str]) -> bool:
    """Whether two things that a question names in as many words stand in each other's place."""
    n_words = len(names)
    if names == words or sorted(names) != sorted(words) or n_words > _MAX_COMPARED_WORDS:
        return False
    return any(
        [*names[:i], *names[k:m], *names[j:k], *names[i:j], *names[m:]] == words
        for i, j, k, m in combinations_with_replacement(range(n_words + 1), 4)
        if j - i == m - k
    )


_MAX_COMPARED_WORDS = 16
_STANDARD = re.compile(r"^(.*?)(?:より|보다|(?<=\s)से(?=\s))(.*)$", re.DOTALL)
"""What stands behind the thing that another one is compared with, where that comes first."""
_STANDARD_SIGN = re.compile("比|より|보다")
_CONSEQUENCE = re.compile(
    "므로|니까|때문에|ので|por lo que|así que|поэтому|因此|所以|إذن|لذا|इसलिए|अतः"
)
"""What stands before the clause that draws the conclusion."""
_APPEARS = re.compile(
    r"(?:よう(?:です|に見え|だ)|らしい|と(?:思わ|考え)|みたい|(?:것 같|듯|것으로 보)"
    r"|(?:लग|प्रतीत|दिख)\S* ).*"
)
"""What says at the end of a clause that something only appears so."""


def _has_other_predicate(clause: str, language: Language, question: str) -> bool:
    """Whether the verb at the end of a clause is not that of a question, which does not ask whether
    something is there: "ランプは消えています", asked "ランプはついていますか".
    """
    is_final = language.name in FINAL_VERB_LANGUAGES and not ASKS_PRESENCE.search(question)
    predicate = language.content(_APPEARS.sub("", clause))[-1:]
    return is_final and not set(predicate) <= set(language.content(question))


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
    # "he wears black glasses" is a yes, asked whether the man wears glasses
    max_added = _MAX_ADDED_WORDS if _SUBJECT_PRONOUN.search(clause) else 0
    if len(content - question_words) > max_added or _EXISTENTIAL.search(clause):
        return False
    if language.unspaced:
        return content <= question_words and len(clause) <= _MAX_VERB_CHARS
    return len(question_words - content) == 1 and len(question_words) > (1 if max_added else 2)


_MAX_VERB_CHARS = 14
_MAX_ADDED_WORDS = 2
_SUBJECT_PRONOUN = re.compile(
    r"\b(?:er|sie|ils?|elles?|él|ell[ao]s?|el[ea]s?|он[аои]?)\b"
    r"|(?:^|\s)(?:أنه|أنها|إنه|إنها|فهو|فهي|هو|هي|उसने|उन्होंने|वह|वे|उसके|उनके)(?=\s)",
    re.IGNORECASE,
)
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
    frozenset(map(stem, pair.split()))
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
        ",drinnen draußen,interior exterior,intérieur extérieur,помещении улице,внутри снаружи"
        ",الداخل الخارج,अंदर बाहर,内 外,rund eckig quadratisch,redonda cuadrada,redondo cuadrado"
        ",ronde carrée,rond carré,redonda quadrada,redondo quadrado,круглый квадратный"
        ",круглая квадратная,مستديرة مربعة,गोल चौकोर"
        # colours
        ",rot blau grün gelb schwarz schwarze weiß weiße braun grau lila rosa"
        ",rojo azul verde amarillo negro blanco marrón gris morado rosa"
        ",rouge bleu vert jaune noir blanc marron gris violet rose"
        ",vermelho azul verde amarelo preto branco marrom cinza roxo rosa"
        ",красный синий зелёный жёлтый чёрный белый коричневый серый"
        ",أحمر أزرق أخضر أصفر أسود أبيض بني رمادي,حمراء زرقاء خضراء صفراء سوداء بيضاء بنية"
        ",लाल नीला हरा पीला काला सफेद भूरा,लाल नीली हरी पीली काली सफ़ेद भूरी"
    ).split(",")
)


_FOREIGN_COMPARATIVES = tuple(
    frozenset(map(stem, group.split()))
    for group in (
        "höher niedriger tiefer,größer kleiner,länger kürzer,mehr weniger,älter jünger"
        ",schwerer leichter,breiter schmaler,heller dunkler,mayor menor,alta baja,alto bajo"
        ",larga corta,largo corto,más menos,plus moins,haute basse,haut bas,grand petit"
        ",grande petite,maior menor,alta baixa,alto baixo,longa curta,longo curto,mais menos"
        ",выше ниже,больше меньше,длиннее короче,старше младше моложе,тяжелее легче,ближе дальше"
        ",高 低 矮,多 少,长 短,長 短,重 轻,重 軽,快 慢,早 晚,远 近,遠 近,높 낮,많 적,크 작,길 짧"
        ",أطول أقصر,أكبر أصغر,أعلى أدنى أقل أخفض,أكثر أقل"
        ",ऊँचा छोटा नीचा,लंबा छोटा,बड़ा छोटा,अधिक कम"
        ",ज़्यादा कम"
    ).split(",")
)


def _denies_first_asked(clause: str, language: Language, question_words: set[str]) -> bool:
    """Whether a word of denial stands right beside a content word of the question: before it, or
    behind it where the verb comes last.
    """
    for denial in language.denial.finditer(clause):
        is_final = denial[0].casefold() == "нет" and not clause[denial.end() :].strip(" .")
        if is_final or language.name in FINAL_VERB_LANGUAGES:
            nearest = language.content(clause[: denial.start()])[-1:]
        else:
            nearest = language.content(clause[denial.end() :])[:1]
        if question_words.issuperset(nearest) and nearest:
            return True
    return False


# --- statements in English ---

_ADVERBIAL = re.compile(
    r"^(?:(?:the|a) (?:sign|label|notice|poster|caption) (?:says|states|indicates|shows) that\s+"
    # the evidence for a statement: "The ground is wet, which suggests that it rained"
    r"|(?:(?!\b(?:no[tr]?|nothing|never|if|when|doubts?|would|could|may|might)\b|n't\b)[^.;?])"
    r"{3,160}?\b(?:suggest|indicate|confirm|show|mean|make (?:it )?clear)s? that\s+"
    r"|it (?:looks like|(?:seems|appears)(?: that)?)\s+(?=(?:she|he|they|it|there)\b"
    r"|(?:the|this|these|both|all) [^.,;]*?\b(?:is|are|was|were)\b)|(?:based on"
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
        " scene photograph frame clip footage nobody sight showing currently now among them"
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
    return text[adverbial.end() :] if adverbial else text


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
    r".*ly|ones?|all|just|still|already|also|much|far|bit|dur|side?|park|stand|sitt?|lie|locat|posit"
    r"|wid|broad|mak"
    r"|posit?ion|plac|situat"
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
    return word.removesuffix("e") if len(word) > 3 else word


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
            " beneath:under underneath:under asleep:sleep ajar:open alike:same people:person"
            " someone:person somebody:person anyone:person anybody:person"
            " seated:sit cloud:cloudy clouds:cloudy clouded:cloudy overcast:cloudy grin:smile"
            " grins:smile grinning:smile smiles:smile stopped:stationary motionless:stationary"
            " moves:move wood:wooden skiing:ski sleeping:sleep swimming:swim"
            " lamp:light lamps:light"
        ).split()
    )
)
_COUNTS = frozenset(
    map(_base_form, "two three four five six seven eight nine ten several many some".split())
)


def _groups(*groups: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(_base_form, group.split())) for group in groups)


_DEGREES = _groups(
    "larger smaller", "bigger smaller", "greater smaller less", "taller shorter", "longer shorter",
    "higher lower", "more fewer less", "older younger newer", "heavier lighter", "faster slower",
    "closer farther further", "wider narrower", "thicker thinner", "brighter darker",
    "lighter darker", "warmer colder cooler", "hotter colder cooler", "better worse",
)  # fmt: skip
"""Opposite degrees: of two things, the one that is not smaller is larger."""
_COMPARED = frozenset().union(*_DEGREES)
_RELATIONS = (
    *_groups(
        "left right", "above below", "over under", "front behind", "inside outside", "before after"
    ),
    *_DEGREES,
)
"""Opposite relations: "A is left of B" says that B is right of A."""
_COMPARATIVES = frozenset().union(*_RELATIONS)
_MEASURES = frozenset(
    map(
        _base_form,
        "both two size height length weight width age tall long high big vehicle object thing"
        " animal person about".split(),
    )
)
"""What may be said beside "the same" of two things that a question compares."""
_EQUAL = frozenset({_base_form("same")})
_CONTRARIES = (
    *_RELATIONS,
    *_groups(
        "red blue green yellow black white orange purple pink brown gray grey beige amber violet "
        "turquoise",
        "stand sit lie kneel walk run", "large small tiny", "big small tiny", "tall short",
        "long short", "high low", "old young new", "open closed shut", "indoors outdoors",
        "indoor outdoor", "inside outdoors", "day daylight daytime night", "same different",
        "empty full", "occupied unoccupied vacant", "visible hidden", "clean dirty",
        "sunny overcast", "sunny rainy",
        "clear cloudy", "move stationary park", "smile frown cry sad", "calm rough choppy",
        "striped plain",
        "intact broken damaged", "swim surf ski snowboard skateboard row",
        "football basketball baseball tennis volleyball cricket hockey golf rugby badminton soccer",
        "guitar piano violin drum flute trumpet cello saxophone",
        "curved straight", "horizontal vertical diagonal",
        "allow prohibit", "rise fall", "increase decrease decline", "rise decrease decline drop",
        "increase fall drop", "grow shrink", "win lose", "up down", "onto off",
        "male female", "odd even",
        "wet dry",
        "awake asleep", "toward away", "top bottom", "first last second third",
        "round square triangular rectangular", "wooden metal plastic glass",
        "parallel perpendicular",
        "single two three four five six seven eight nine ten", "smooth rough textured bumpy",
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


def asks_for_degree(question: str) -> bool:
    """Whether a question compares things: "Which animal is larger?"."""
    return not _COMPARED.isdisjoint(asked_words(question))


def compares_contrarily(clause: str, question: str, option: str) -> bool:
    """Whether what a clause says of an option is the contrary of the degree that is asked for.

    >>> compares_contrarily("The cat is smaller", "Which animal is larger?", "the cat")
    True
    """
    degrees = _COMPARED.intersection(asked_words(question))
    words = set(content_words(clause)).difference(content_words(option))
    return not degrees & words and any(contraries_of(degree) & words for degree in degrees)


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
    compared_words = set(stated) - _EQUAL - _MEASURES
    names_compared = compared_words & set(question_words) or len(compared_words) < 2
    return False if _EQUAL & set(stated) and names_compared else None


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
                before = [
                    preceding
                    for preceding in stated[:index]
                    if not _is_side_property(preceding, question_words)
                ]
                if is_subsequence([*before, contrary, *remainder], question_words):
                    return True
                # "The tail is short", asked whether the cat has a long tail
                replaced = {*stated[:index], contrary, *stated[index + 1 :]}
                if word not in _RELATIONS_BY_WORD and replaced == set(question_words):
                    return True
    return False


def _is_side_property(word: str, question_words: Sequence[str]) -> bool:
    """Whether a word says a property that is not asked about: "green" of "green and unripe"."""
    is_property = word in _CONTRARIES_BY_WORD and word not in _RELATIONS_BY_WORD
    return (is_property or word == "and") and word not in question_words


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
