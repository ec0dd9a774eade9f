"""Whether a clause repeats a question, or says its contrary, by the content words of both."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from hqm.scoring.cue_search import ascii_words

_ADVERBIAL = re.compile(
    r"^(?:(?:based on|according to|in|from|as shown in|looking at|judging (?:by|from)"
    r"|since|because|as|given|while|although|though)\b"
    r"(?:[^,.]|\.(?=\d))*,\s*|i (?:(?:would |can )?(?:think|believe|guess|assume|say|conclude)"
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
        " scene photograph frame"
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
    if not related.isdisjoint(words) or not any(map(_is_telling, words)):
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
    if " A" in text:
        text = _NAME_A.sub("a_", text)
    words = ascii_words(text.replace("-", ""))
    return [_stem(word) for word in words if word not in _PLAIN_WORDS]


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
def _stem(word: str) -> str:
    """A word without its ending: rises, rising and rose are "ris"."""
    word = _IRREGULAR.get(word, word)
    word = re.sub(r"(?:ing|ed)$", "", word) if len(word) > 4 else word
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
            " alike:same"
        ).split()
    )
)
_COUNTS = frozenset(
    map(_stem, "two three four five six seven eight nine ten several many some".split())
)


def _groups(*groups: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(_stem, group.split())) for group in groups)


_RELATIONS = _groups(
    "left right", "above below", "over under", "front behind", "inside outside", "before after",
    "larger smaller", "bigger smaller", "greater smaller less", "taller shorter", "longer shorter",
    "higher lower", "more fewer less", "older younger newer", "heavier lighter", "faster slower",
    "closer farther further", "wider narrower", "thicker thinner", "brighter darker",
    "lighter darker", "warmer colder cooler", "hotter colder cooler", "better worse",
)  # fmt: skip
"""Opposite relations: "A is left of B" says that B is right of A."""
_COMPARATIVES = frozenset().union(*_RELATIONS)
_EQUAL = frozenset({_stem("same")})
_CONTRARIES = (
    *_RELATIONS,
    *_groups(
        "red blue green yellow black white orange purple pink brown gray grey beige",
        "stand sit lie kneel walk run", "large small tiny", "big small tiny", "tall short",
        "long short", "high low", "old young new", "open closed shut", "indoors outdoors",
        "indoor outdoor", "inside outdoors", "day daylight daytime night", "same different",
        "empty full",
        "rise fall", "increase decrease decline", "rise decrease decline drop",
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


_RELATIONS_BY_WORD, _CONTRARIES_BY_WORD = _groups_by_word(_RELATIONS), _groups_by_word(_CONTRARIES)


def restates(clause: Sequence[str], question: str) -> bool | None:
    """Whether a clause repeats the question, False where it says the contrary; None for a clause
    about something else.

    All its content words are in the question, in the same order: "The star is larger than the
    circle" says the contrary of "Is the circle larger than the star?".
    """
    question_words = asked_words(question)
    if not _COUNTS & set(question_words):  # "There are two dogs" says that there is a dog
        clause = [word for word in clause if word not in _COUNTS]
    stated = [
        word
        for word in clause
        if word in question_words
        or not _NEUTRAL.fullmatch(word)
        or _contraries_in(word, question_words)
    ]
    if not stated:
        return True if clause in ([], ["one"]) else None  # "He has one"
    comparatives = _COMPARATIVES & set(stated)
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
    adjective_indices = [
        index
        for index, word in enumerate(clause[:-1])
        if word not in question_words
        and word not in _COMPARATIVES
        and clause[index + 1] in question_words
        and not _contraries_in(word, question_words)
    ]
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
                is_covered = first | second <= before | after
                if not second or not is_covered or not (first or not before):
                    continue
                first_moved = first & after - before
                second_moved = second & before - after
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
