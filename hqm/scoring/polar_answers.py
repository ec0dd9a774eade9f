"""The reader of answers to yes/no questions, in the languages in which they are asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from hqm.scoring.commitments import (
    Answer,
    passages,
    unable,
)

Polar = Literal["yes", "no"]


_YES = (
    "yes yeah yep yup yea aye ja jawohl oui sí si sim да так tak evet evet ναι igen kyllä ano có"
    " đúng ya نعم بله כן हाँ हां 是 是的 对 对的 有 はい 네 예 ใช่"
).split()
_NO = (
    "no nope nah nay nein non não nao nee nej нет ні nie hayır όχι nem ei ne không tidak bukan"
    " لا خیر نه לא नहीं 否 不 不是 没有 不对 いいえ 아니요 아니오 ไม่"
).split()
# they are polar only where they stand alone: "right" and "correct" are adjectives as well
_TRUE = "true correct right affirmative positive absolutely definitely certainly indeed".split()
_FALSE = "false incorrect wrong negative untrue".split()
POLARITY: Mapping[str, Polar] = MappingProxyType(
    dict.fromkeys((*_YES, *_TRUE), "yes") | dict.fromkeys((*_NO, *_FALSE), "no")  # type: ignore[arg-type]
)


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_LEAD = re.compile(
    rf"^[\W_]*(?:(?:{_any((*_YES, *_NO))})(?![\w'])|(?:{_any((*_TRUE, *_FALSE))})"
    r"(?=\s*(?:[.,;:!)\n—–]|$|answer\b|because\b|since\b|as\b))"
    r"|(?:absolutely|definitely|certainly|of course|probably|most likely|sure|likely)\s+not\b"
    r"|not (?:at all|really|exactly|quite|true|correct)\b|i (?:do not|don't|would not|wouldn't) (?:think|believe|say) so\b"
    r"|(?:i|i would|i'd) (?:think|believe|say|guess|suppose) (?:so|not)\b|of course\b|not so\b|very much so\b|(?:it (?:shows|is) )?(?:just |quite |exactly )?the opposite\b"
    r"|nothing of (?:that|the) (?:sort|kind)\b|not that i (?:can|could) (?:see|tell|find)\b"
    r"|not as far as\b)",
    re.IGNORECASE,
)
_CJK_LEAD = re.compile(r"^[\W_]*(不是|没有|不对|是的|对的|否|不|是|对|有|いいえ|はい)")
_NO_ANSWER = re.compile(
    r"^\W*no\s+(?:idea|way|clue|information|answer|image|picture|comment|opinion|data)\b"
    r"|^\W*(?:yes|no)\s*(?:and|or|/|&)\s*(?:yes|no)\b|^\W*(?:yes|no) one\b",
    re.IGNORECASE,
)
NEGATIVE = re.compile(
    r"\b(?:not|no|none|never|nobody|nothing|neither|cannot|without|lacks?|absent"
    r"|missing)\b|n't\b",
    re.IGNORECASE,
)
# a clause that says what is the case: a subject, then a form of be, do, have or can
_STATEMENT = re.compile(
    r"^(?:(?:there|it|they|he|she|this|that|these|those|the|an?|no|one|two|three|all|both|some"
    r"|none)\b[^.;!?]*?\b(?:is|are|was|were|does|do|did|has|have|had|can|cannot|will|appears?"
    r"|seems?|looks?|shows?|contains?)(?:n't)?(?:\b|$)"
    r"|i\s+(?:can\s+|do\s+not\s+|don't\s+|cannot\s+|can't\s+)?see\b)",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:see|is|are|was|were|does|do|did|has|have|had|can|will|appears?|seems?|looks?|shows?"
    r"|contains?)\b|n't\b",
    re.IGNORECASE,
)
_ADVERBIAL = re.compile(
    r"^(?:(?:based on|according to|in|from|as shown in|looking at|judging (?:by|from)"
    r"|since|because|as|given|while|although|though)\b"
    r"(?:[^,.]|\.(?=\d))*,\s*|i (?:think|believe|guess|assume)(?: that)?\s+(?!so\b|not\b)"
    r"|(?:definitely|certainly|absolutely|clearly|probably|most likely|likely|hmm|well|i think"
    r"|i believe)\b[\s,]*(?=yes|no\b))",
    re.IGNORECASE,
)
# what follows one of these no longer restates the question
_ASIDE = re.compile(
    r"\b(?:but|because|since|so|although|though|however|which|who|while|whereas|instead"
    r"|based on|according to|and\s+not)\b|[,;:—–]",
    re.IGNORECASE,
)
_PARENTHESES = re.compile(r"\s*\([^()]*\)")
_PLAIN_WORDS = frozenset(
    (
        "a an the there is are was were be does do did has have had can cannot will not no none any"
        " it they he she this that these those i see seen visible present shown appear appears seem look looks"
        " seems show shows contain contains image picture photo in of on one isn aren wasn weren"
        " doesn don didn hasn haven t s lack lacks absent missing should could would must wouldn couldn"
        " shouldn be you from given provided based according to than as at by here anywhere"
    ).split()
)
_ABOUT_ANOTHER = re.compile(
    r'\bit (?:true|false|wrong to say) that\b|\bthe number of .* other than\b|["“](?:yes|no)["”]'
    r" the (?:right|wrong) answer to\b",
    re.IGNORECASE,
)
"""Questions that turn another one round, or repeat it as a whole (`hqm.forms.negate`)."""
_VERDICT = re.compile(
    r"\b(?:statement|claim|assertion|sentence|description|caption|proposition|answer|it|that|this)"
    r"\s+(?:is|was|must be|would be|does|seems)?(?:n't\b)?(?:\s+(?:therefore|thus|indeed|clearly"
    r"|actually))?\s*(?:not\s+)?\b(true|correct|right|holds?(?:\s+true)?|false|incorrect|wrong|untrue)"
    r"(?=\s*(?:[.,;:!]|$|because\b|since\b|as\b|that\b))",
    re.IGNORECASE,
)
_AT_THE_END = re.compile(
    r"(?:[,:;→>—–]|\b(?:so|then|therefore|hence|thus|is|was|be|it|(?<!or )an?|again|definite|clear|as|say"
    r"|with))\s*[\"']?(yes|no)\b[\"']?[.!]?$|[,;] (?:but|so|and|then) (yes|no)\b(?=[,.;:!])",
    re.IGNORECASE,
)


_AROUND_QUESTION = re.compile(
    r"^.*[,.:]\s+(?=(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b)"
    r"|\s(?:between \d|according to|based on)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_PRONOUN = re.compile(
    r".*\b(?:is|are|was|were|do|does|did|has|have) (?:it|they|he|she|(?:this|that) an?)\b", re.I
)
_EACH = re.compile(
    r"\b(?:both|all|every|each|and|whole|entire|always|throughout|only)\b", re.IGNORECASE
)
_EXISTENCE = re.compile(
    r"\b(?:is|are) there\b|\b(?:can|do) you see\b|\bany\b|^(?:does|do)\b.*\b(?:contain|show|depict)"
    r"|\b(?:visible|present)\b",
    re.IGNORECASE,
)
_BLIND = re.compile(
    r"\b(?:not|n't) (?:conclusively|definitively|necessarily|clearly)\b"
    r"|\b(?:can't|cannot|can not|unable to|(?:im|not )possible to)\s+(?:\w+ly )?(?:see|tell|determine|view"
    r"|say|know|answer|identify|access|make out|judge|verify|confirm)",
    re.IGNORECASE,
)
_BUT = re.compile(r"[,;]? ?\b(?:but|however|yet)\b,?|;", re.IGNORECASE)
_BEHIND = re.compile(r"\s*(?:not\b|(?:is|are|was|were|does|do|did)(?: not|n't)?\b)", re.IGNORECASE)
"""What a sentence says behind a comma or "which" of what it speaks of."""
_SEEMS = re.compile(r"\b(?:seem|look|appear)s?\b", re.IGNORECASE)
_ABSENCE = re.compile(
    r"\W*(?:there (?:is|are|was|were) no|no|(?:\w+ )?\w+ (?:does|do|did)(?:n't| not) have)\b",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(
    r".*\b(?:it|they|he|she|this|that|these|those|i|there|both|all)\s(?:is|are|was|were|does|do|did"
    r"|has|have|had|can|cannot|will)(?:\snot|n't)?\W*$|\W*(?:there (?:is|are|was|were) )?none\b",
    re.IGNORECASE,
)
"""A sentence that leaves out what it is about: "It does not"."""
_THERE = re.compile(r"\W*there (?:is|are|was|were)\b", re.IGNORECASE)
_THAN = re.compile(r" than |[<>]")
_BUT_NOT = re.compile(r"\b(?:but|while|whereas)\b[^.]*(?:\bnot\b|n't\b)", re.IGNORECASE)
_NOT_EACH = re.compile(
    r"^\W*(?:(?:all|every\w*) (?:but|except)|most|only|just|neither|none|not (?:all|both|every)|one of (?:them|the)|some of)\b",
    re.IGNORECASE,
)
DOUBT = re.compile(
    r"\b(?:might|may|maybe|could|possibly|perhaps|or|unclear|unsure|whether|if)\b", re.IGNORECASE
)


def read_polar(text: str, question: str = "", negated: bool = False) -> Polar | None:
    """What an answer to a yes/no question says.

    >>> read_polar("Yes, I see it. Wait, no, that is a cat.")
    'no'
    >>> read_polar("There is no dog.", "Is there a dog?"), read_polar("No idea.")
    ('no', None)
    """
    simple = text.strip(" \n.!,*\"'").lower()
    if simple in ("yes", "no", "y", "n"):  # by far the commonest answers
        return "yes" if simple[0] == "y" else "no"
    answer = passages(text)
    committed = _committed_polar(answer, question, negated)
    if committed is not None or not answer.text:
        return committed
    return _restated(answer, question, negated)


def _committed_polar(answer: Answer, question: str, negated: bool) -> Polar | None:
    """What the last passage says that is called the answer, or the lead of the whole."""
    for passage in answer.explicit:
        polar = lead(passage.text)
        if polar is not None:
            return polar
        if not passage.corrects and unable(passage.text):
            return None
    if answer.retracted >= 0 or not answer.text:
        return None
    last = answer.sentences[-1]
    for text in (*answer.concluding, *([last] if last != answer.text else ())):
        polar = lead(_ADVERBIAL.sub("", text))
        if polar is not None:
            return polar
    ends = _AT_THE_END.search(last)
    if ends:
        return POLARITY[(ends[1] or ends[2]).lower()]
    if lead(answer.text) is None:
        verdict = _VERDICT.search(last)
        if verdict and not negated:
            denies = NEGATIVE.search(verdict[0]) is not None
            return "yes" if (verdict[1].lower() in _FALSE) == denies else "no"
    return _statement(answer, question, negated)


def _statement(answer: Answer, question: str, negated: bool) -> Polar | None:
    """The leading yes or no; where that is missing or ambiguous, a restatement of the question
    decides.
    """
    if _EACH.search(question) and (
        _NOT_EACH.match(answer.text)
        or (lead(answer.text) is None and _BUT_NOT.search(answer.sentences[-1]))
    ):
        return "yes" if negated else "no"
    begins, words, denies = _said(_ADVERBIAL.sub("", answer.text))
    if about_another(question) or (begins is None and question):
        return begins  # a restatement would have to be read against what is denied
    # a clause about something else ("No, the sky is cloudy") restates nothing
    same = _restates(words, question) if words is not None and question else words is not None
    if same is None or words is None or (not same and (denies or negated)):
        return begins  # "It is not to the right" leaves it open whether it is to the left
    meant: Polar = "yes" if same and denies == negated else "no"
    if begins is None or begins == meant or negated:
        # "No, there is no dog" to "Is there no dog?": the lead may agree with the negation; the
        # sentence says what is seen
        return meant
    # "No, the two cats are asleep": the lead stands. To a plain question "Yes, there is no dog"
    # says two things, and nothing can be read from it
    return "no" if begins == "no" else None


def _restated(answer: Answer, question: str, negated: bool) -> Polar | None:
    """What the answer's sentences say that restate the question: how things are before how they
    look, then what is concluded, what it begins with, and what comes last.
    """
    blind = _BLIND.search(answer.text)
    if blind and not (_EXISTENCE.search(question) and re.search(r"see|view|make", blind[0])):
        return None
    if not question or about_another(question):
        return None
    last = answer.sentences[-1]
    if unable(last) and not _stated(last, question, negated):
        return None
    few = answer.sentences if len(answer.sentences) < 5 else (last,)
    stated = [
        each
        for text in (*answer.concluding, answer.sentences[0], *reversed(few))
        for each in _stated(text, question, negated)
    ]
    return min(stated, key=lambda each: each[0])[1] if stated else None


def _stated(text: str, question: str, negated: bool) -> list[tuple[bool, Polar]]:
    """What the clauses of a sentence say that restate the question, the last first, and whether
    they only say how things look.
    """
    text = re.sub(r"\b(?:rather than|instead of)\b", ", not", _PARENTHESES.sub("", text))
    statements = []
    for part in _BUT.split(_ADVERBIAL.sub("", text))[::-1]:
        first, *others = _ASIDE.split(_ADVERBIAL.sub("", part.strip()))
        for clause in (first, *filter(_BEHIND.match, others)):
            polar = _clause(clause, question, negated)
            if polar:
                statements.append((_SEEMS.search(clause) is not None, polar))
    return statements


def _clause(clause: str, question: str, negated: bool) -> Polar | None:
    """What a clause says that restates the question; None for another clause."""
    words, denies = _words(clause), NEGATIVE.search(clause) is not None
    if DOUBT.search(clause) or not (words or _ELLIPSIS.match(clause)):
        return None
    if not (_VERB.search(clause) or denies or len(words) > max(1, len(_asked(question)) - 2)):
        return None
    asked = _asked(question)
    partly = set(words) < set(asked) and not denies and not _EXISTENCE.search(question)
    if partly and _THERE.match(clause):
        return None  # "There is a dog" does not say that the dog is black
    if words and _ABSENCE.match(clause) and set(words) <= set(asked) and not negated:
        return "no"
    before, _, behind = question.partition(" than ")
    there = set(words) & set(_words(behind)) - set(_words(before))
    if there and not _THAN.search(clause) and _COMPARED & set(words) & set(asked):
        return None if denies else "no"  # "It is higher in tank B", and not than there
    same = _restates(words, question)
    if same is None and _EXISTENCE.search(question) and _in_order(asked, words) and not denies:
        return "no" if negated else "yes"  # "A dog is lying in front of the door"
    if same is None or (not same and (denies or negated)):
        return None
    return "yes" if same and denies == negated else "no"


def lead(text: str) -> Polar | None:
    """The yes or no that a text begins with."""
    if _NO_ANSWER.search(text):
        return None
    match = _LEAD.match(text) or _CJK_LEAD.match(text)
    if match is None:
        return None
    word = re.sub(r"^[\W_]+", "", match[0]).lower()
    if word in POLARITY:
        return POLARITY[word]
    return "no" if re.search(r"\bnot\b|n't|opposite|nothing", word) else "yes"


def _words(text: str) -> list[str]:
    for sign, word in (("<", " less "), (">", " greater ")):
        text = text.replace(sign, word)
    text = re.sub(r"(?<=\w )A\b", "a_", text).replace("-", "")  # "Company A" is a name
    words = re.findall(r"[a-z0-9_]+", text.lower())
    return [_stem(word) for word in words if word not in _PLAIN_WORDS]


@lru_cache(maxsize=65536)
def about_another(question: str) -> bool:
    """Whether a question turns another one round; a restatement of it is not read."""
    return _ABOUT_ANOTHER.search(question) is not None


@lru_cache(maxsize=65536)
def _asked(question: str) -> tuple[str, ...]:
    """The content words of a question."""
    return tuple(_words(_AROUND_QUESTION.sub("", _ADVERBIAL.sub("", question))))


@lru_cache(maxsize=4096)
def _said(text: str) -> tuple[Polar | None, tuple[str, ...] | None, bool]:
    """What the text of an answer says, whatever was asked.

    The leading yes or no; the content words of the statement behind it, None where there is none;
    and whether that statement denies.
    """
    begin = _LEAD.match(text) or _CJK_LEAD.match(text)
    rest = text[begin.end() :].lstrip(" ,.:;!*—–-") if begin else text
    clause = re.split(r"[.!?\n]", _PARENTHESES.sub("", rest).lstrip(), maxsplit=1)[0]
    aside = _ASIDE.search(clause)
    clause = clause[: aside.start()] if aside else clause
    words = tuple(_words(clause)) if _STATEMENT.match(clause) else None
    return lead(text), words, NEGATIVE.search(clause) is not None


_NEUTRAL = re.compile(
    r".*ly|ones?|all|just|also|much|far|bit|dur|side|park|stand|sitt?|lie|locat|posit|posit?ion|plac|situat"
)
"""What a sentence may say beside the words of the question, as stems."""


@lru_cache(4096)
def _stem(word: str) -> str:
    """A word without its ending: rises, rising and rose are "ris"."""
    word = _IRREGULAR.get(word, word)
    word = re.sub(r"(?:ing|ed)$", "", word) if len(word) > 4 else word
    word = re.sub(r"(?<=[^s])s$", "", word) if len(word) > 3 else word
    return word.removesuffix("e") if len(word) > 3 else word


_IRREGULAR = MappingProxyType(
    dict(
        pair.split(":")
        for pair in (
            "rose:rise risen:rise fell:fall fallen:fall grew:grow won:win lost:lose wore:wear held:hold"
            " sat:sit stood:stand ran:run ate:eat went:go came:come took:take gave:give made:make"
            " broke:break drew:draw drove:drive flew:fly wrote:write began:begin kept:keep"
            " beside:near next:near close:near adjacent:near equal:same equally:same identical:same"
            " sitting:sit lying:lie running:run every:all each:all shot:shoot big:large bigger:larger"
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
"""What holds between two things holds the other way round with its opposite."""
_COMPARED = frozenset().union(*_RELATIONS)
_EQUAL = frozenset({_stem("same")})
_CONTRARIES = (
    *_RELATIONS,
    *_groups(
        "red blue green yellow black white orange purple pink brown gray grey beige",
        "stand sit lie kneel walk run", "large small tiny", "big small tiny", "tall short",
        "long short", "high low", "old young new", "open closed shut", "indoors outdoors",
        "indoor outdoor", "inside outdoors", "day daylight daytime night", "same different", "empty full",
        "rise fall", "increase decrease decline", "rise decrease decline drop",
        "increase fall drop", "grow shrink", "win lose", "up down", "male female", "odd even", "wet dry",
        "awake asleep", "toward away", "top bottom", "first last second third",
        "round square triangular rectangular", "wooden metal plastic glass", "parallel perpendicular",
        "one two three four five six seven eight nine ten",
    ),
)  # fmt: skip


def _by_word(groups: Sequence[frozenset[str]]) -> Mapping[str, tuple[frozenset[str], ...]]:
    """Word -> the groups that it is in, for each answer asks for few of them."""
    words = frozenset().union(*groups)
    return {word: tuple(group for group in groups if word in group) for word in words}


_RELATIONS_OF, _CONTRARIES_OF = _by_word(_RELATIONS), _by_word(_CONTRARIES)


def _restates(clause: Sequence[str], question: str) -> bool | None:
    """Whether a clause repeats the question, False where it says the contrary; None for a clause
    about something else.

    All its content words are in the question, in the same order: "The star is larger than the
    circle" says the contrary of "Is the circle larger than the star?".
    """
    asked = _asked(question)
    if not _COUNTS & set(asked):  # "There are two dogs" says that there is a dog
        clause = [word for word in clause if word not in _COUNTS]
    stated = [
        word
        for word in clause
        if word in asked or not _NEUTRAL.fullmatch(word) or _opposed(word, asked)
    ]
    if not stated:
        return True if clause in ([], ["one"]) else None  # "He has one"
    clause = stated
    if _EQUAL & set(asked) and _COMPARED & set(clause) - set(asked):
        return False
    if _COMPARED & set(asked) and not _COMPARED & set(clause):
        # "They are of the same size" says that none is larger; "x is 5" says nothing of it
        others = set(clause) - _EQUAL
        return False if others < set(clause) and (others & set(asked) or len(others) < 2) else None
    if len(asked) == 2 and {*clause[:2]} == {*asked}:
        return True  # "The function is even", of an even function
    about = clause[0] == asked[0] or _PRONOUN.match(question)
    if len(asked) > 1 and about and _in_order(asked, clause):
        return True  # "It has symmetry of order 4"
    if _in_order(clause, asked) or _in_order(_without_adjectives(clause, asked), asked):
        return True
    for place, word in enumerate(clause):
        positive = re.sub(r"^(?:un|in|im|ir|non|dis)", "", word)
        for group in (*_CONTRARIES_OF.get(word, ()), frozenset({word, positive})):
            opposed = group.intersection(asked) - {word}
            if opposed and any(
                _in_order(
                    [*clause[:place], other, *([] if other == asked[-1] else clause[place + 1 :])],
                    asked,
                )
                for other in opposed
            ):
                return False
    return _related(clause, asked)


def _opposed(word: str, asked: Sequence[str]) -> set[str]:
    """The words of a question that a word is a contrary of."""
    return set().union(*_CONTRARIES_OF.get(word, ())) & set(asked) - {word}


def _without_adjectives(clause: Sequence[str], asked: Sequence[str]) -> Sequence[str]:
    """A clause that says the last thing asked for, without one or two words right before words of
    the question: "They wear a white helmet".
    """
    added = [
        place
        for place, word in enumerate(clause[:-1])
        if word not in asked
        and word not in _COMPARED
        and clause[place + 1] in asked
        and not _opposed(word, asked)
    ]
    if not 0 < len(added) < 3 or clause[-1] != asked[-1] or len(clause) - len(added) < 2:
        return clause
    return [word for place, word in enumerate(clause) if place not in added]


def _related(clause: Sequence[str], asked: Sequence[str]) -> bool | None:
    """Whether a clause says of two things what was asked: "2016 is lower than 2015" says that 2015
    is higher.
    """
    for place, word in enumerate(asked):
        before, behind = set(asked[:place]), set(asked[place + 1 :])
        for group in _RELATIONS_OF.get(word, ()):
            for here, other in enumerate(clause):
                if other not in group:
                    continue
                first, second = set(clause[:here]), set(clause[here + 1 :])
                if not second or not first | second <= before | behind or not (first or not before):
                    continue
                here_turned, there_turned = first & behind - before, second & before - behind
                if bool(here_turned) != bool(there_turned):
                    continue
                said = [each for each in clause[here + 1 :] if each in behind - before]
                straight = _in_order(said, asked[place + 1 :])
                return (straight and not here_turned) == (word == other)
    return None


def _in_order(clause: Sequence[str], asked: Sequence[str]) -> bool:
    left = iter(asked)
    return all(word in left for word in clause)


def against_words(text: str) -> bool:
    """Whether `read_polar` reads a text against the question's words."""
    return text.strip(" \n.!,*\"'").lower() not in ("yes", "no") and (
        bool(_said(passages(text).text)[1]) or lead(text) is None
    )
