"""The reader of answers to yes/no questions, in the languages in which they are asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from hqm.scoring.commitments import ParsedAnswer, normalize, parse_answer
from hqm.scoring.cue_search import is_subsequence
from hqm.scoring.locations import is_elsewhere
from hqm.scoring.plain_text import (
    DOUBT,
    NEGATIVE,
    UNABLE_ABROAD,
    denies_scene,
    is_open_verdict,
    says_unable,
    says_unable_abroad,
)
from hqm.scoring.polar_words import (
    AGREES_ABROAD,
    ASKS_ABSENCE,
    ASSURANCE,
    BOUND_CUE,
    CJK_LEAD,
    DENIES_ABROAD,
    FINAL_POLARITY,
    NO,
    NOT_ABSENT,
    YES,
    YES_AND_NO,
    in_hangul,
    statement_language,
    without_offer,
)
from hqm.scoring.statements import (
    EXISTENCE_QUESTION,
    asked_words,
    content_words,
    contradicts_yes,
    contraries_of,
    denies_in_other_language,
    is_unrelated,
    prefers_standard,
    restates,
    without_adverbial,
)
from hqm.scoring.word_senses import (
    has_asked_property,
    names_another_kind,
    with_asked_subject,
    with_telling_words,
)

Polar = Literal["yes", "no"]


# they are polar only where they stand alone: "right" and "correct" are adjectives as well
_TRUE = (
    *"true correct right affirmative positive absolutely definitely certainly indeed"
    " likely".split(),
    *AGREES_ABROAD,
)
_FALSE = (*"false incorrect wrong negative untrue unlikely".split(), *DENIES_ABROAD)
_CONTRARY: Mapping[Polar, Polar] = MappingProxyType({"yes": "no", "no": "yes"})
POLARITY: Mapping[str, Polar] = MappingProxyType(
    dict.fromkeys((*YES, *_TRUE), "yes")  # type: ignore[arg-type]
    | dict.fromkeys((*NO, *_FALSE), "no")
)


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


# a yes or no at the very beginning; longer phrases before shorter ones
_LEAD = re.compile(
    # a letter before it is that of an option: "(B) no"
    r"^[\W_]*(?:[A-H]\)[.:]?\s+(?=(?:yes|no|true|false)\b))?"
    rf"{ASSURANCE}(?P<word>(?:{_alternatives((*YES, *NO))})(?!\w|'(?!입니다|이에요|예요))"
    rf"|(?:{_alternatives((*_TRUE, *_FALSE))})"
    r"(?=\s*(?:[.,;:!)\n—–。，！।、،]|$|answer\b|because\b|since\b|as\b"
    r"|(?:it|they|he|she|there|this|that) (?:is|are|was|were|does|do|did|has|have)\W*$))"
    r"|(?:absolutely|definitely|certainly|of course|probably|most likely|sure|likely)\s+not\b"
    r"|not (?:at all|really|exactly|quite|true|correct|here)\b"
    r"|not (?:in|on) (?:this|the) (?:image|picture|photo|scene)\b|i (?:do not|don't|would not"
    r"|wouldn't) (?:think|believe|say) so\b"
    r"|(?:i|i would|i'd) (?:think|believe|say|guess|suppose) (?:so|not)\b|of course\b|not so\b"
    r"|very much so\b|(?:it (?:shows|is) )?(?:just |quite |exactly )?the opposite\b"
    r"|nothing of (?:that|the) (?:sort|kind)\b|not that i (?:can|could) (?:see|tell|find)\b"
    r"|not as far as\b)",
    re.IGNORECASE,
)
# "No idea" and "yes or no" begin like an answer
_NO_ANSWER = re.compile(
    r"^\W*no\s+(?:idea|way|clue|doubts?|information|answer|image|picture|comment|opinion|data)\b"
    r"|^\W*(?:yes|no)\s*(?:and|or|/|&)\s*(?:yes|no)\b|^\W*(?:yes|no) one\b"
    r"|^\W*no (?:hay|cabe) duda\b"
    # "No canto esquerdo há um cão": it is "in the" in Portuguese
    r"|^\W*no \w{3,} [^.;:!?]*?\b(?:há|não|vê-se|veem-se|uma?|são|é)\b"
    r"|^\W*no (?:hay|existe) (?:una |ninguna )?respuesta\b"
    r"|^\W*no,? (?:i (?:cannot|can't|can not|could not|am (?:unable|not able) to) (?:tell|say"
    r"|determine|know|confirm|verify)\b[^.]*?\b(?:from|whether|if|for (?:sure|certain)|based"
    r"|with certainty)\b|it(?:'s| is| was) (?:not |un)(?:clear|certain|known)\b)"
    rf"|^\W*(?:{'|'.join(UNABLE_ABROAD)})",
    re.IGNORECASE,
)
_DENIED_POLARITY = re.compile(r"\W*not (yes|no)\W*$", re.IGNORECASE)
_DENIES = re.compile(r"\bnot\b|n't|opposite|nothing")
# a clause that says what is the case: a subject, then a form of be, do, have or can
_STATEMENT = re.compile(
    r"^(?:(?:there|it|they|he|she|this|that|these|those|the|an?|no|one|two|three|all|both|some"
    r"|none)\b[^.;!?]*?\b(?:is|are|was|were|does|do|did|has|have|had|can|cannot|will|appears?"
    r"|seems?|looks?|shows?|contains?)(?:n't)?(?:\b|$)"
    r"|i\s+(?:can\s+|do\s+not\s+|don't\s+|cannot\s+|can't\s+)?see\b)",
    re.IGNORECASE,
)
# a clause without any of these is a fragment, which restates nothing
_VERB = re.compile(
    r"\b(?:see|is|are|was|were|does|do|did|has|have|had|can|will|appears?|seems?|looks?|shows?"
    r"|contains?)\b|n't\b",
    re.IGNORECASE,
)
# what follows one of these no longer restates the question
_SIDE_REMARK = re.compile(
    r"\b(?:but|because|since|so|although|though|however|which|who|while|whereas|instead"
    r"|based on|according to|and\s+not)\b|[,;:—–]|(?=\bwith no\b)",
    re.IGNORECASE,
)
_PARENTHESES = re.compile(r"\([^()]*\)")
_QUOTED_QUESTION = re.compile(
    r'\bit (?:true|false|wrong to say) that\b|\bthe number of .* other than\b|["“](?:yes|no)["”]'
    r" the (?:right|wrong) answer to\b",
    re.IGNORECASE,
)
"""Questions that deny another one, or quote it as a whole (`hqm.forms.negate`)."""
# an answer to a statement calls it true or false: "The claim is wrong"
_VERDICT = re.compile(
    r"\b(?:statement|claim|assertion|sentence|description|caption|proposition|answer|it|that|this)"
    r"\s+(?:is|was|must be|would be|does|seems)?(?:n't\b)?(?:\s+(?:therefore|thus|indeed|clearly"
    r"|actually))?\s*(?:not\s+)?\b(true|correct|right|holds?(?:\s+true)?|false|incorrect|wrong"
    r"|untrue)"
    r"(?=\s*(?:[.,;:!]|$|because\b|since\b|as\b|that\b))",
    re.IGNORECASE,
)
# questions about all or both: one exception denies them
_UNIVERSAL = re.compile(
    r"\b(?:both|all|every|each|and|whole|entire|always|throughout|only"
    r"|beide[nrs]?|alle[nrs]?|ambos|ambas|(?:l[oa]s|os|as|les) (?:dos|dois|duas|deux)"
    r"|tod[oa]s|tous|toutes|об[ае]|все)\b|都|どちらも|両方|[匹人台本枚つ]とも|すべて|全て"
    r"|모두|둘 다|كلا|كلتا|جميع|दोनों|सभी",
    re.IGNORECASE,
)
# an answer that sees nothing is unread, unless the question asks what can be seen
_UNSEEN = re.compile(
    r"\b(?:not|n't) (?:conclusively|definitively|necessarily|clearly)\b"
    r"|\b(?:can't|cannot|can not|unable to|(?:im|not )possible to)\s+(?:\w+ly )?(?:see|tell"
    r"|determine|view"
    r"|say|know|answer|identify|access|make out|judge|verify|confirm)",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"[,;]? ?\b(?:but|however|yet)\b,?|;", re.IGNORECASE)
_SECOND_PREDICATE = re.compile(
    r"\s*(?:not\b|with no\b|(?:is|are|was|were|does|do|did)(?: not|n't)?\b)", re.IGNORECASE
)
"""A further predicate of the same subject, behind a comma or "which"."""
_FURTHER_CLAUSE = re.compile(
    rf"{_SECOND_PREDICATE.pattern}|\s*there (?:is|are) no\b", re.IGNORECASE
)
_WITH_NO = re.compile(r"^\s*with no\b", re.IGNORECASE)
_APPEARANCE = re.compile(r"\b(?:seem|look|appear)s?\b", re.IGNORECASE)
_ABSENCE = re.compile(
    r"\W*(?:there (?:is|are|was|were) no|no|(?:\w+ )?\w+ (?:does|do|did)(?:n't| not) have)\b"
    r"|.*\b(?:is|are|was|were)(?:n't| not) (?:listed|included|shown|mentioned|present|visible)\b",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(
    r".*\b(?:it|they|he|she|this|that|these|those|i|there|both|all)\s(?:is|are|was|were|does|do|did"
    r"|has|have|had|can|cannot|will|would)(?:\snot|n't)?\W*$"
    r"|\W*(?:there (?:is|are|was|were) )?none\b|.*\b(?:there (?:is|are|was|were)(?:n't| not)?"
    r"|i (?:can )?see|i (?:don't|do not|can't|cannot) see"
    r"|there (?:does|do)(?:n't| not) (?:seem|appear) to be|it has|(?:has|contains|shows) )"
    r"\s?(?:one|some|several|none|any)\W*$",
    re.IGNORECASE,
)
"""A sentence that leaves out what it is about: "It does not"."""
_EXISTENTIAL_CLAUSE = re.compile(r"\W*there (?:is|are|was|were)\b", re.IGNORECASE)
# "The first is red, but the second is not" denies that both are
_NEGATIVE_CONTRAST = re.compile(r"\b(?:but|while|whereas)\b[^.]*(?:\bnot\b|n't\b)", re.IGNORECASE)
_NOT_UNIVERSAL = re.compile(
    r"^\W*(?:(?:all|every\w*)(?: of the)?(?: \w+)? (?:but|except|apart from)|most|only|just"
    r"|neither|none|not (?:all|both|every)|one of (?:them|the)|some of"
    r"|nur|lediglich|s[oó]lo|solamente|únicamente|seule?s?|uniquement|apenas|somente|só"
    r"|(?:\w+ )?только|лишь)\b|^\W*(?:只有|仅|केवल|सिर्फ|फ़क़त)"
    r"|^[^。.,،、]{1,24}(?:だけ[がは]|のみ[がは]|만 |فقط)",
    re.IGNORECASE,
)


# models that are shown "Q: ... A: ..." repeat the label; with "B:" behind it, it is a letter
_ANSWER_LABEL = re.compile(r"^\W*A:\s*(?!.*\bB:)", re.DOTALL)
_IS_QUESTION = re.compile(r"[?？]\s*$").search


def read_polar(text: str, question: str = "", negated: bool = False) -> Polar | None:
    """The answer to a yes/no question, "yes" or "no"; None where it cannot be read.

    >>> read_polar("Yes, I see it. Wait, no, that is a cat.")
    'no'
    >>> read_polar("There is no dog.", "Is there a dog?"), read_polar("No idea.")
    ('no', None)
    """
    if "A:" in text[:4]:
        text = _ANSWER_LABEL.sub("", text, count=1)
    simple = text.strip(" \n.!,*\"'").lower()
    if simple in ("yes", "no", "y", "n"):  # by far the commonest answers
        return "yes" if simple[0] == "y" else "no"
    if not (question.isascii() and text.isascii()):
        text = without_offer(in_hangul(text, question))
    if _asks_absence(text, question):
        text, negated = NOT_ABSENT.sub(r"\1 visible", text), True
    answer = parse_answer(text)
    if _says_both_or_asks(answer):
        return None
    called = [passage.text for passage in answer.explicit if not passage.corrects][:1]
    if any(map(is_open_verdict, called)) and leading_polarity(answer.statements[-1]) is None:
        return None
    counted = None if negated else _polarity_of_count(answer, text, question)
    if counted is not None:
        return counted
    committed = _committed_polar(answer, question, negated)
    if committed == "yes" and not negated and contradicts_yes(answer.text, question):
        return None
    if committed is not None or not answer.text:
        return committed
    if statement_language(answer.text, question) is None:
        return _restated_polarity(answer, question, negated)
    return _polarity_abroad(answer, question, negated)


def _asks_absence(text: str, question: str) -> bool:
    """Whether a question asks for what is not there, and an answer says so in words of its own:
    "Yes, it is" repeats the question's.
    """
    if not ASKS_ABSENCE.search(question) or not needs_question(text):
        return False
    return _ELLIPSIS.match(_SENTENCE_MARK.split(text.strip(), maxsplit=1)[0]) is None


def _polarity_of_count(answer: ParsedAnswer, text: str, question: str) -> Polar | None:
    """The polarity of a number that answers a question for one within bounds."""
    if not BOUND_CUE.search(question):
        return None
    from hqm.scoring.bounded_counts import bounded_polarity  # few questions ask so

    polarity = bounded_polarity(text, question)
    # a yes or no that says otherwise leaves it open
    leads = {polarity, None, *map(leading_polarity, answer.statements)}
    return polarity if len(leads) == 2 else None


def _says_both_or_asks(answer: ParsedAnswer) -> bool:
    """Whether an answer says yes and no and nothing else ("Yes.\\nNo."), or only asks."""
    says_both = {*map(_bare_polarity, answer.statements)} == {"yes", "no"}
    if (says_both and len(answer.statements) < 4) or YES_AND_NO.fullmatch(answer.text):
        return True
    return answer.text.count(" ") > 1 and all(map(_IS_QUESTION, answer.statements))


def _bare_polarity(statement: str) -> Polar | None:
    """The polarity of a statement that is a yes or no and nothing else."""
    return POLARITY.get(statement.strip(" .!,*\"'").lower())


def _polarity_abroad(answer: ParsedAnswer, question: str, negated: bool) -> Polar | None:
    """The polarity of an answer in another language than English that nowhere says yes or no."""
    # most runs have no answer in another language, and start sooner without this module
    from hqm.scoring.foreign_denials import (
        opening_denies,
        verdict_in_other_language,
        with_plain_presence,
        without_questions,
    )

    asserted = without_questions(answer.text)
    lead = leading_polarity(asserted) if asserted != answer.text else None
    if lead is not None:  # "Is there a dog? Yes."
        return lead
    # "This is not correct. That he won cannot be confirmed"
    verdict = verdict_in_other_language(answer.statements[0])
    stated = with_plain_presence(asserted, question)
    if verdict is None and says_unable(stated):
        return _restated_polarity(answer, question, negated)
    if verdict is None:
        verdict = verdict_in_other_language(answer.text)
    if verdict is not None:
        return _stated_polarity(True, not verdict, negated)
    denies = denies_in_other_language(stated, question)
    if denies is None and not opening_denies(answer.statements[0], question):
        return None
    return _stated_polarity(True, denies is not False, negated)


def _committed_polar(answer: ParsedAnswer, question: str, negated: bool) -> Polar | None:
    """The polarity of the last passage that is called the answer, or of its beginning."""
    for passage in answer.explicit:
        polarity = leading_polarity(passage.text)
        if polarity is not None:
            return polarity
        if not passage.corrects and says_unable(passage.text):
            return None
    if answer.retraction_end >= 0 or not answer.text:
        return None
    last = answer.statements[-1]
    for text in (*answer.concluding, *([last] if last != answer.text else ())):
        statement = without_adverbial(text)
        # "No dog is visible" denies what is there, and not the question
        denies_noun = negated and _DENIED_NOUN.match(statement)
        polarity = None if denies_noun else leading_polarity(statement)
        if polarity is not None:
            return polarity
    final = FINAL_POLARITY.search(last)
    if final:
        return POLARITY["".join(filter(None, final.groups())).lower()]
    if leading_polarity(answer.text) is None:
        is_unseen = not negated and any(map(denies_scene, (answer.statements[0], last)))
        commented = "no" if is_unseen else _commented_polarity(answer, question, negated)
        if commented is not None:
            return commented
    return _opening_polarity(answer, question, negated)


def _commented_polarity(answer: ParsedAnswer, question: str, negated: bool) -> Polar | None:
    """The polarity of a last sentence that speaks of the question itself: "That is not the case",
    "The statement is false"; or quotes what is written.
    """
    last = answer.statements[-1]
    statement = _STATEMENT_VERDICT.search(last)
    if question and statement:
        return _clause_polarity(_spell_verdict(statement), question, negated)
    possible = _POSSIBLE.search(last) or _POSSIBLE.search(answer.statements[0])
    if possible and not negated and _POSSIBLE_QUESTION.match(question) and not DOUBT.search(last):
        return "no" if possible[1] else "yes"
    case = _CASE.search(last)
    if case:
        is_denied = case[1] is not None or case[2] is not None or "n't" in case[0]
        return "no" if is_denied else "yes"
    if question:
        embedded = _DENIED_CLAUSE.search(last) and _restated_polarity(answer, question, negated)
        stated = embedded or _quoted_polarity(answer, question, negated)
        if stated:
            return stated
    verdict = _VERDICT.search(last)
    if verdict is None or negated:
        return None
    denies = NEGATIVE.search(verdict[0]) is not None
    return "yes" if (verdict[1].lower() in _FALSE) == denies else "no"


_POSSIBLE_QUESTION = re.compile(r"\W*(?:is|was|would|will) it (?:be )?possible\b", re.IGNORECASE)
_POSSIBLE = re.compile(
    r"\bit (?:is|was|would be|will be)(n't| not)? (?:still |also |indeed |currently )?possible to"
    r"(?! (?:determine|tell|say|know|answer|see))",
    re.IGNORECASE,
)
_QUOTE = r"[\"“”'«»]"
_ASKED_QUOTE = re.compile(
    rf"\b(?:say|read|spell|written|labell?ed|display|show|titled|called|named|caption)\w*\b"
    rf"[^\"“'«]*{_QUOTE}([^\"“”'«»]+){_QUOTE}",
    re.IGNORECASE,
)
_STATED_QUOTE = re.compile(rf"(?:(?<=\W)|^){_QUOTE}([^\"“”'«»]+){_QUOTE}(?=\W|$)")


def _quoted_polarity(answer: ParsedAnswer, question: str, negated: bool) -> Polar | None:
    """The polarity of an answer that quotes what is written, where the question asks whether other
    words are: 'It says "YIELD"'.
    """
    quoted_question = _ASKED_QUOTE.search(question)
    if quoted_question is None:
        return None
    quotes = set(map(normalize, _STATED_QUOTE.findall(answer.text)))
    if len(quotes) != 1 or DOUBT.search(answer.text):
        return None
    denies = NEGATIVE.search(_STATED_QUOTE.sub("", answer.text)) is not None
    stated = quotes.pop()
    is_same = stated == normalize(quoted_question[1])
    if not is_same and (denies or normalize(quoted_question[1]) in stated):
        return None
    return _stated_polarity(True, denies or not is_same, negated)


_DENIED_NOUN = re.compile(r"\W*no\s+[a-z]", re.IGNORECASE)
# "It is not true that there is no dog" denies a denial
_DENIED_CLAUSE = re.compile(
    r"\b(?:it|that) (?:is|was)(?: (not)|n't)? (?:(not) )?(?:really |actually )?"
    r"(?:(true|correct|right|the case)|(false|wrong|untrue|incorrect)) that\s+"
    r"|\b(?:it does(?: not|n't) (?:appear|seem|look)(?: likely)?|it is(?: not likely"
    r"| (?:\w+ly )?unlikely)"
    r"|there is no (?:\w+ )?(?:evidence|indication)) that\s+",
    re.IGNORECASE,
)
# "The statement that both are red does not hold"
_STATEMENT_VERDICT = re.compile(
    r"\b(?:statement|claim|assertion|idea) that ([^.;,]{3,80}?) (?:is|was|does)(?P<not> not|n't)?"
    r"(?P<false> (?:false|wrong|incorrect|untrue))?(?: (?:true|correct|right|hold))?\W*$",
    re.IGNORECASE,
)


def _spell_verdict(match: re.Match[str]) -> str:
    """A verdict on a quoted statement as `_DENIED_CLAUSE` has it."""
    is_denied = (match["not"] is None) != (match["false"] is None)
    return f"it is {'not ' if is_denied else ''}true that {match[1]}"


_CASE = re.compile(
    r"^\W*(?:no,? |but )?(?:that|this|it) (?:is|was)(?: (not)|n't)?"
    r" (?:indeed |really |actually )?the case\W*$"
    r"|\b(?:the )?(other way (?:a)?round|opposite is (?:true|the case)"
    r"|reverse is (?:true|the case)|contrary is (?:true|the case)|vice versa)\W*$",
    re.IGNORECASE,
)
"""A sentence that says no more than that something is the case, or its contrary."""


def _opening_polarity(answer: ParsedAnswer, question: str, negated: bool) -> Polar | None:
    """The leading yes or no; where that is missing or ambiguous, a restatement of the question
    decides.
    """
    if _UNIVERSAL.search(question) and _denies_universal(answer):
        return "yes" if negated else "no"
    leading, words, denies = _parse_lead(without_adverbial(answer.text))
    if words is None and _DENIED_NOUN.match(answer.text):  # "No slice is missing; it is whole"
        stated = _restated_polarity(answer, question, negated)
        return stated or (leading if _answers_by_denial(answer.statements[0], question) else None)
    if words is None or quotes_question(question) or (leading is None and question):
        return leading  # a restatement would have to be read against what is denied
    # a clause about something else ("No, the sky is cloudy") restates nothing
    agrees = restates(words, question) if question else True
    stated = _stated_polarity(agrees, denies, negated)
    if stated is None:
        return leading  # "It is not to the right" leaves it open whether it is to the left
    if leading is None or leading == stated or negated:
        # "No, there is no dog" to "Is there no dog?": the lead may agree with the negation; the
        # sentence says what is seen
        return stated
    # "No, the two cats are asleep": the lead stands. To a plain question "Yes, there is no dog"
    # says two things, as "No, there is" does, and nothing can be read from it
    return "no" if leading == "no" and words else None


def _answers_by_denial(sentence: str, question: str) -> bool:
    """Whether "No ..." denies what is asked: not "No cracks are visible", asked for the colour."""
    is_fragment = EXISTENCE_QUESTION.search(question) or not _VERB.search(sentence)
    return bool(is_fragment) or not is_unrelated(content_words(sentence), question)


def _denies_universal(answer: ParsedAnswer) -> bool:
    """Whether an answer denies that something holds for all or both: "Only one of them"."""
    if any(map(_NOT_UNIVERSAL.match, (answer.text, *answer.concluding[:1]))):
        return True
    contrast = _NEGATIVE_CONTRAST.search(answer.statements[-1])
    return leading_polarity(answer.text) is None and contrast is not None


def _stated_polarity(agrees: bool | None, denies: bool, negated: bool) -> Polar | None:
    """The polarity of a statement that repeats a question or says its contrary, denied or not; None
    where it does neither, or leaves it open.
    """
    if agrees is None or (not agrees and (denies or negated)):
        return None
    return "yes" if agrees and denies == negated else "no"


def _restated_polarity(answer: ParsedAnswer, question: str, negated: bool) -> Polar | None:
    """The polarity of the sentences that restate the question: how things are before how they
    look, then what is concluded, what it begins with, and what comes last.
    """
    unseen = _UNSEEN.search(answer.text) if _may_be_unseen(answer.text) else None
    if unseen and not (
        EXISTENCE_QUESTION.search(question) and re.search(r"see|view|make", unseen[0])
    ):
        return None
    if not question or quotes_question(question):
        return None
    last = answer.statements[-1]
    if says_unable(last) and not any(_clause_polarities(last, question, negated)):
        return None
    # of a long answer only the ends are read
    ends = answer.statements if len(answer.statements) < 5 else (last,)
    first_appearance: Polar | None = None
    called = (passage.text for passage in answer.explicit)
    for text in (*called, *answer.concluding, answer.statements[0], *reversed(ends)):
        for is_appearance, polarity in _clause_polarities(text, question, negated):
            if not is_appearance:
                return polarity
            first_appearance = first_appearance or polarity
    stated = first_appearance or _exclusive_polarity(answer, question, negated)
    return stated or _particle_polarity(last, question, negated)


def _may_be_unseen(text: str) -> bool:
    """Whether a text has what `_UNSEEN` asks for; most long ones do not."""
    lowered = text.lower()
    return any(map(lowered.__contains__, _UNSEEN_PARTS))


_UNSEEN_PARTS = (
    *("conclusively", "definitively", "necessarily", "clearly"),
    *("can't", "cannot", "can not", "unable to", "possible to"),
)


def _particle_polarity(sentence: str, question: str, negated: bool) -> Polar | None:
    """The polarity of a sentence that ends in the particle of a question, or in its contrary: "so
    it is on", asked whether the screen is turned on.
    """
    question_particle = _ASKED_PARTICLE.search(question)
    statement = _STATED_PARTICLE.search(sentence) if question_particle else None
    if question_particle is None or statement is None or DOUBT.search(sentence):
        return None
    subject = content_words(_CLAUSE_START.split(sentence[: statement.start()])[-1])
    if not set(subject) <= {"both", "all", *asked_words(question)}:
        return None  # "The radio is on", asked whether the lamp is
    particles = {statement[2].lower(), question_particle[1].lower()}
    agrees = len(particles) == 1
    if not agrees and particles not in _CONTRARY_PARTICLES:
        return None
    return _stated_polarity(agrees, statement[1] is not None, negated)


_CLAUSE_START = re.compile(
    r"[,;:]|\b(?:so|but|and|though|although|while|whereas|because|since)\b", re.IGNORECASE
)
_CONTRARY_PARTICLES = ({"on", "off"}, {"up", "down"}, {"in", "out"})
_ASKED_PARTICLE = re.compile(r"\b(?:turned |switched )?(on|off|up|down|in|out)\W*$", re.IGNORECASE)
_STATED_PARTICLE = re.compile(
    r"\b(?:is|are|was|were)( not|n't)? (?:currently |now |still |already )?(?:turned |switched )?"
    r"(on|off|up|down|in|out)\W*$",
    re.IGNORECASE,
)


def _exclusive_polarity(answer: ParsedAnswer, question: str, negated: bool) -> Polar | None:
    """No for a sentence that says what alone is there, or that nothing of a kind is: "Only a cat",
    "There are no animals", asked for a dog.
    """
    first = answer.statements[0]
    if negated or len(answer.statements) > 2 or DOUBT.search(first):
        return None
    if EXISTENCE_QUESTION.search(question) is None or _EXCLUSIVE.match(first) is None:
        return None
    question_words = asked_words(question)
    if question_words and question_words[0] not in content_words(first):
        return "yes" if question_words[0] == "anyth" and not _NO_WORD.search(first) else "no"
    return None


_NO_WORD = re.compile(r"\bno\b", re.IGNORECASE)


_EXCLUSIVE = re.compile(
    r"\W*(?:(?:there (?:is|are) |i (?:can )?see )?(?:just|only|nothing but) (?:an?|the|some|one"
    r"|two|three)\b"
    r"|the only \w+ (?:\w+ ){0,4}?(?:is|are) (?:an?|the|some)\b"
    r"|(?:there (?:is|are) |i see )?no (?:other )?(?:animals?|objects?|people|persons?|humans?"
    r"|vehicles?)\b)",
    re.IGNORECASE,
)


def _clause_polarities(text: str, question: str, negated: bool) -> Iterator[tuple[bool, Polar]]:
    """Yield the polarities of the clauses of a sentence that restate the question, the last first,
    each with whether it only says how things look.
    """
    text = _without_parentheses(text)
    if "no " in text:
        text = _NO_SIGN.sub("no ", text)
    if _DENIED_NOUN.match(text):
        text = _SPLICE.sub("; ", text)
    if "and no " in text:
        text = _AND_NO.sub("; there is no ", text)
    if " and " in text and ("not" in text or "n't" in text):
        text = _AND_PREDICATE.sub(", ", text)
    if _SUPPOSITION.search(question):
        text = _CONDITION.sub("", text, count=1)
    placed = _PLACE_FIRST.match(text) if "," in text else None
    if placed:
        text = f"{placed[2]} {placed[1]}"
    if "rather than" in text or "instead of" in text:
        text = _PREFERENCE.sub(", not", text)
    if ":" in text and not _VERB.search(text):
        text = _LABEL.sub(r"\1 is ", text)
    for statement in reversed(_CONTRAST.split(without_adverbial(text))):
        yield from _statement_polarities(statement.strip(), question, negated)


_CONDITION = re.compile(
    r"\b(?:if|assuming|supposing|given)\b[^,.;]{3,90}, "
    r"(?=(?:he|she|it|they|the|this|that|there)\b)",
    re.IGNORECASE,
)
"""The condition of a conditional statement, whose question has it as well."""
_NO_SIGN = re.compile(
    r"\bno (?:evidence|signs?|trace|hint|indication) of (?:any |an? )?", re.IGNORECASE
)
_SPLICE = re.compile(
    r", (?=(?:the|it|they|this|these)\b[^,;]*? (?:is|are|was|were)\b)", re.IGNORECASE
)
"""The comma before a clause of its own: "No crack is visible, the glass is intact"."""
_AND_NO = re.compile(r",? and no (?=[a-z])", re.IGNORECASE)
_AND_PREDICATE = re.compile(
    r" and (?=(?:is|are|was|were|does|do|did)(?: not|n't)\b)", re.IGNORECASE
)
_PLACE_FIRST = re.compile(
    r"^(?:(?:looking|peering|checking) )?((?:beneath|under|underneath|behind|next to|beside|near"
    r"|above"
    r"|below|between|inside|on) [^,.;]{3,40}), ((?:i (?:can )?see|there (?:is|are)) [^,.;]+)[.!]?$",
    re.IGNORECASE,
)
"""A sentence that says first where something is: "Beneath the table, there is a dog"."""
_PREFERENCE = re.compile(r"\b(?:rather than|instead of)\b")


@lru_cache(maxsize=1024)
def _statement_polarities(
    statement: str, question: str, negated: bool
) -> tuple[tuple[bool, Polar], ...]:
    """The polarities of the clauses of a statement, each with whether it only says how things look.

    The passages of an answer in one line end with the same statements.
    """
    first, *remarks = _SIDE_REMARK.split(without_adverbial(statement))
    polarities = []
    # "I can't open this file, there is no dog" is a refusal
    is_clause = _VERB.search(first) and not first.startswith("I ")
    further = _FURTHER_CLAUSE if is_clause else _SECOND_PREDICATE
    for clause in (first, *filter(further.match, remarks)):
        clause = _WITH_NO.sub("there is no", clause)
        polarity = _clause_polarity(clause, question, negated)
        if polarity:
            polarities.append((_APPEARANCE.search(clause) is not None, polarity))
    return tuple(polarities)


def _without_parentheses(text: str) -> str:
    """A text without its parentheses, and the spaces before them."""
    *pieces, last = _PARENTHESES.split(text)
    return "".join((*map(str.rstrip, pieces), last))


# "Left lung: not collapsed" says that it is not
_LABEL = re.compile(r"^(?!answer|question)([^:]{2,40}): (?=[a-z ]+\W*$)", re.IGNORECASE)


def _clause_polarity(clause: str, question: str, negated: bool) -> Polar | None:
    """The polarity of a clause that restates the question, or says that one is true or false; None
    for another clause.
    """
    embedding = _DENIED_CLAUSE.search(clause)
    if embedding is None:
        return _plain_clause_polarity(clause, question, negated)
    embedded = _plain_clause_polarity(clause[embedding.end() :], question, negated)
    return _CONTRARY.get(embedded) if embedded and _reverses(embedding) else embedded


def _plain_clause_polarity(clause: str, question: str, negated: bool) -> Polar | None:
    """The polarity of a clause that restates the question; None for another clause."""
    has_property = None if negated else has_asked_property(clause, question)
    if has_property is not None:
        return "yes" if has_property else "no"
    clause, question = with_telling_words(clause, question)
    words: Sequence[str] = content_words(clause)
    if EXISTENCE_QUESTION.search(question) is None:
        words = with_asked_subject(clause, words, question)
    if is_unrelated(words, question) and not names_another_kind(words, question):
        return None
    is_open = _is_doubtful(clause, question) or says_unable_abroad(clause)
    if is_open or not _is_statement(clause, words, asked_words(question)):
        return None
    return _words_polarity(clause, words, question, negated)


def _words_polarity(
    clause: str, words: Sequence[str], question: str, negated: bool
) -> Polar | None:
    """The polarity of a statement with these content words."""
    denies = _is_denial(clause)
    question_words = asked_words(question)
    if not denies and _names_part(clause, words, question):
        return None
    is_denial = denies and not negated and set() < set(words) <= set(question_words)
    if is_denial and _ABSENCE.match(clause):
        return "no"
    if prefers_standard(clause, words, question):
        return None if denies else "no"
    contradicts = is_elsewhere(clause, words, question) or names_another_kind(words, question)
    agrees = False if contradicts else restates(words, question)
    names_all = not denies and is_subsequence(question_words, words)
    if agrees is None and names_all and EXISTENCE_QUESTION.search(question):
        return "no" if negated else "yes"  # "A dog is lying in front of the door"
    return _stated_polarity(agrees, denies, negated)


_SUPPOSITION = re.compile(r"\b(?:if|assuming|suppos\w+|given that)\b", re.IGNORECASE)
"""What makes a question conditional, so that its answer may be."""


def _is_denial(clause: str) -> bool:
    """Whether a clause denies, or calls unlikely or impossible."""
    return NEGATIVE.search(clause) is not None or _UNLIKELY.search(clause) is not None


_UNLIKELY = re.compile(r"\b(?:unlikely|impossible|improbable)\b", re.IGNORECASE)


def _is_doubtful(clause: str, question: str) -> bool:
    """Whether a clause commits itself to nothing; "or" may repeat the question: "There are no nuts
    or seeds", asked whether there are nuts or seeds.
    """
    doubts = {match[0].lower() for match in DOUBT.finditer(clause)}
    if " or " in question and NEGATIVE.search(clause):
        doubts.discard("or")
    if _SUPPOSITION.search(question):
        doubts.discard("if")
    return bool(doubts)


def _names_part(clause: str, words: Sequence[str], question: str) -> bool:
    """Whether a clause says that something of the question is there, and not all that is asked:
    "There is a dog", asked for a black one; "There is a bicycle", asked for a person riding it.
    """
    if not set(words) < set(asked_words(question)) or not _EXISTENTIAL_CLAUSE.match(clause):
        return False
    if EXISTENCE_QUESTION.search(question) is None:
        return True
    head = _ASKED_HEAD.search(question)
    return head is not None and content_words(head[1])[:1] != list(words[:1])


_ASKED_HEAD = re.compile(
    r"\b(?:is|are) there (?:(?:any|an?|some|one) )?(\w+) (?=\w+ing\b|with\b|who\b|that\b)",
    re.IGNORECASE,
)
"""The noun whose activity a question asks about: "Is there a person riding a bicycle?"."""


def _reverses(embedding: re.Match[str]) -> bool:
    """Whether what `_DENIED_CLAUSE` matched says the contrary of the clause behind it."""
    if embedding[3] is None and embedding[4] is None:
        return True  # "it does not appear that"
    is_negative = "n't" in embedding[0] or any(embedding.group(1, 2))
    return is_negative != (embedding[4] is not None)


def _is_statement(clause: str, words: Sequence[str], question_words: Sequence[str]) -> bool:
    """Whether a clause has a predicate, or most of the question's words."""
    if not words and not _ELLIPSIS.match(clause):
        return False
    has_predicate = _VERB.search(clause) or NEGATIVE.search(clause)
    if len(words) == 1 and question_words and len(clause.split()) < 3:
        # "Green.", asked whether the light is red; a noun such as "A dog." is no statement
        contraries = contraries_of(words[0])
        is_property = bool(contraries) and question_words[-1] in (words[0], *contraries)
        return is_property or bool(has_predicate)
    return bool(has_predicate) or len(words) > max(1, len(question_words) - 2)


def leading_polarity(text: str) -> Polar | None:
    """The yes or no that a text begins with."""
    if _NO_ANSWER.match(text):
        return None
    denied = _DENIED_POLARITY.match(text)
    if denied:
        return _CONTRARY[POLARITY[denied[1].lower()]]
    match = _LEAD.match(text) or CJK_LEAD.match(text)
    if match is None:
        mark = None if text.isascii() else _LEADING_MARK.match(text)
        return _MARK_POLARITY[mark[1]] if mark else None
    word = match["word"].lower()
    if word in POLARITY:
        return POLARITY[word]
    return "no" if _DENIES.search(word) else "yes"


_MARK_POLARITY: Mapping[str, Polar] = MappingProxyType(
    dict.fromkeys("✅✔☑✓👍", "yes") | dict.fromkeys("❌✗✘✖👎", "no")  # type: ignore[arg-type]
)
_LEADING_MARK = re.compile(
    rf"[\s.*]*([{''.join(_MARK_POLARITY)}])\ufe0f?(?:[\s.*]*$| [^{''.join(_MARK_POLARITY)}]*$)"
)


@lru_cache(maxsize=65536)
def quotes_question(question: str) -> bool:
    """Whether a question denies or quotes another one, so that no restatement of it is read."""
    return _QUOTED_QUESTION.search(question) is not None


_SENTENCE_MARK = re.compile(r"[.!?\n]")


@lru_cache(maxsize=4096)
def _parse_lead(text: str) -> tuple[Polar | None, tuple[str, ...] | None, bool]:
    """Read the beginning of an answer, whatever was asked.

    Returns the leading yes or no; the content words of the statement behind it, None where there is
    none; and whether that statement denies.
    """
    match = _LEAD.match(text) or CJK_LEAD.match(text)
    remainder = text[match.end() :].lstrip(" ,.:;!*—–-") if match else text
    clause = _SENTENCE_MARK.split(_without_parentheses(remainder).lstrip(), maxsplit=1)[0]
    clause = _SIDE_REMARK.split(clause, maxsplit=1)[0]
    words = tuple(content_words(clause)) if _STATEMENT.match(clause) else None
    return leading_polarity(text), words, NEGATIVE.search(clause) is not None


def needs_question(text: str) -> bool:
    """Whether `read_polar` reads a text against the question's words."""
    if text.strip(" \n.!,*\"'").lower() in ("yes", "no"):
        return False
    _, words, _ = _parse_lead(parse_answer(text).text)
    return words is not None or leading_polarity(text) is None
