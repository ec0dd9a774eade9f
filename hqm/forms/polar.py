"""Turn a yes/no question round, so that yes to the new question means no to the old one.

    Is there a dog in the image?         ->  Is there no dog in the image?
    Are there two dogs in this image?    ->  Is the number of dogs in this image other than two?
    Is the sky sunny in this image?      ->  Is the sky not sunny in this image?
    Is this the largest state?           ->  Is it false that this is the largest state?

"Isn't this a dog?", "Is this not a dog?" and "Are there not two dogs?" ask for the same yes as the
plain question, so "not" stands only behind a short subject with "the", before a short predicate.
Everything else is denied as a whole: "Is it false that ...?". Where the order of a statement would
be a guess, the question is quoted: 'Is "no" the right answer to "..."?'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from hqm.errors import NoRule
from hqm.forms.asked import Asked, question_of
from hqm.forms.doubts import is_a_guess, is_short
from hqm.forms.grammar import (
    BE,
    DO,
    Token,
    in_the_medium,
    is_base_verb,
    letters_of,
    reading,
    subject_end,
    subject_end_with_worth,
    verb_behind,
)
from hqm.forms.readings import Readings
from hqm.forms.rewrite import Rewrite
from hqm.forms.statement import PRONOUNS, as_statement, ends_in_a_verb

_SCOPE = frozenset(
    (
        "only all both every each everyone everybody everything always ever also too either most"
        " mostly mainly same another other because since if unless when while whereas although"
        " until before after than followed respectively without many much several few fewer less"
        " more enough exactly just even still already yet but once twice half instead well almost"
        " nearly hardly barely scarcely rarely seldom sometimes often usually very quite so rather"
        " somewhat about around or probably possibly apparently actually really presumably perhaps"
        " maybe definitely certainly clearly obviously"
    ).split()
)
"""Words that a "not" or "no" before them may or may not deny."""
_SAID_BY_NOT = frozenset({"than", "same", "more", "less", "fewer"})
"""Those that a comparison with "the" needs: "the circle is not larger than the square" denies the
comparison.
"""
_AMOUNTS = frozenset(
    "lot couple few bit little number variety total majority single handful lots plenty dozen pair"
    " multiple numerous various different certain specific range mix mixture combination".split()
)
_NO = {"a": "no", "an": "no", "any": "no", "some": "no"}
_NO_ONE = {"anyone": "no one", "anybody": "nobody", "anything": "nothing"}
_COUNTED = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " twenty".split()
)
_ALIKE = frozenset(
    "sheep deer fish antelope aircraft moose bison shrimp salmon series species".split()
)
"""Nouns whose plural is the same word."""
_LONGEST = 8
"""A predicate of more words is denied as a whole."""
_SURE = 0.6
"""The end of a subject is worth less where it is a guess."""


@lru_cache(maxsize=65536)
def flip(question: str, draw: int = 0) -> Rewrite:
    """Ask a yes/no question so that its right answer turns round.

    Parameters
    ----------
    question
        A prompt with one question. What stands before and behind the question keeps its place.
    draw
        Which of the constructions that fit, counted from 0; they are ordered by how plain they are.

    Returns
    -------
    Rewrite
        The question and its rule: `polar.no` ("a dog" becomes "no dog"), `polar.other` ("other than
        two"), `polar.not`, `polar.false` (denied as a whole), `polar.wrong` ("Is it wrong to say
        that ...?"), `polar.quoted` and `polar.quoted_yes` (the question in quotation marks).

    Raises
    ------
    NoRule
        It is no yes/no question, or its opposite is open (`hqm.forms.asked`).

    Examples
    --------
    >>> flip("Is there a dog in the image?")
    Rewrite(prompt='Is there no dog in the image?', rule='polar.no')
    >>> flip("Are there two cats? Please answer yes or no.").prompt
    'Is the number of cats other than two? Please answer yes or no.'
    >>> flip("According to the map, is this the largest state?").prompt
    'According to the map, is it false that this is the largest state?'
    """
    if draw == 0:
        prompt, rule, reason = PLAINEST(question)
        if reason:
            raise NoRule(question, reason)
        return Rewrite(prompt, rule)
    return _opposite(question, draw)


def _opposite(question: str, draw: int) -> Rewrite:
    for i, made in enumerate(_opposites(question_of(question))):
        if i == draw:
            return made
    raise NoRule(question, f"it has fewer than {draw + 1} opposites")


def _plainest(question: str) -> tuple[str, str, str]:
    """The plainest opposite with its rule; else the reason why there is none."""
    try:
        made = _opposite(question, 0)
    except NoRule as error:
        return "", "", error.reason
    return made.prompt, made.rule, ""


PLAINEST = Readings("opposites", _plainest)
"""Question -> its plainest opposite, kept from one command to the next."""


@lru_cache(maxsize=65536)
def affirm(question: str) -> Rewrite:
    """Ask a yes/no question in other words, so that its right answer stays.

    Raises
    ------
    NoRule
        As for `flip`: what has no clear opposite has no clear meaning of yes.

    Examples
    --------
    >>> affirm("Is there a dog in the image?")
    Rewrite(prompt='Is it true that there is a dog in the image?', rule='polar.true')
    """
    made = question_of(question)
    said = statement_of(made)
    if said is None:
        return _quoted(made, 'Is "yes" the right answer to', "polar.quoted_true")
    return _whole(made, "Is it true that", said, "polar.true")


def statement_of(made: Asked) -> str | None:
    """What the question asks, in the order of a statement; None where that would be a guess."""
    if made.whether:
        return made.prompt[made.clause[0].start : made.end]
    words = made.words
    if words[:2] == ["do", "you"] and words[2] in {
        "think",
        "believe",
        "know",
        "agree",
        "consider",
        "feel",
    }:
        return None
    if (
        not _is_sound(made.clause)
        or "either any" in " ".join(words)
        or _adds_a_verb(made)
        or is_a_guess(made.clause)
    ):
        return None
    return as_statement(made.prompt[: made.end], made.clause)


def _opposites(made: Asked) -> Iterator[Rewrite]:
    """The constructions that fit, the plainest first."""
    plain = None if made.whether else (_truth(made) or _there(made) or _any(made) or _not(made))
    if plain is not None:
        yield plain
    said = statement_of(made)
    if said is not None:
        yield _whole(made, "Is it false that", said, "polar.false")
        yield _whole(made, "Is it wrong to say that", said, "polar.wrong")
    yield _quoted(made, 'Is "no" the right answer to', "polar.quoted")
    yield _quoted(made, 'Is "yes" the wrong answer to', "polar.quoted_yes")


def _at_head(made: Asked) -> bool:
    return not made.prompt[made.start : made.opens].strip()


def _whole(made: Asked, opening: str, said: str, rule: str) -> Rewrite:
    opening = opening if _at_head(made) else opening[0].lower() + opening[1:]
    before, after = made.prompt[: made.opens], made.prompt[made.end :]
    return Rewrite(f"{before}{opening} {said}{_with_mark(after)}", rule)


def _quoted(made: Asked, opening: str, rule: str) -> Rewrite:
    sentence, after = made.prompt[made.start : made.end], _with_mark(made.prompt[made.end :])
    left, right = ("“", "”") if '"' in sentence else ('"', '"')
    rest = re.sub(r"^\W*?[?？]", "", after)
    return Rewrite(f"{made.prompt[: made.start]}{opening} {left}{sentence}?{right}{rest}", rule)


def _with_mark(after: str) -> str:
    """What follows the question, with its one question mark: released questions have two, or
    none.
    """
    after = re.sub(r"^([^\w?？]*[?？])(?:\s*[?？])+", r"\1", after)
    if re.match(r"\s*[?？]", after) or re.match(r"[^.?!\n]*[?？]", after):
        return after
    return "?" + after[1:] if after[:1] in {".", "!"} else "?" + after


def _replaced(made: Asked, token: Token, text: str, rule: str) -> Rewrite:
    return Rewrite(f"{made.prompt[: token.start]}{text}{made.prompt[token.end :]}", rule)


# --- the plain constructions ---


def _truth(made: Asked) -> Rewrite | None:
    """ "Is it true that ...?" becomes "Is it false that ...?", and the other way round."""
    words = [token.word for token in made.clause[:4]]
    if words[:2] != ["is", "it"] or words[3:] != ["that"] or words[2] not in {"true", "false"}:
        return None
    said = {"true": "false", "false": "true"}[words[2]]
    return _replaced(made, made.clause[2], said, f"polar.{'false' if said == 'false' else 'not'}")


def _there(made: Asked) -> Rewrite | None:
    clause = made.clause
    if clause[1].word != "there" or clause[0].word not in BE or _adds_a_verb(made):
        return None
    counted = _number(made)
    if counted is not None:
        return counted
    head, then = clause[2], clause[3] if len(clause) > 3 else clause[2]
    if _has_scope(made, 2) or then.word in _AMOUNTS | {"of"} or head.word in _AMOUNTS:
        return None
    if head.word in _NO:
        return _replaced(made, head, "no", "polar.no")
    if head.word in _NO_ONE:
        return _replaced(made, head, _NO_ONE[head.word], "polar.no")
    if (
        letters_of(clause)[2] in "ANGE"
        and head.word not in {"one", "such"}
        and not head.word[0].isdigit()
    ):
        return Rewrite(f"{made.prompt[: head.start]}no {made.prompt[head.start :]}", "polar.no")
    return None


def _adds_a_verb(made: Asked) -> bool:
    """Whether a second verb follows "there are", as in the released "Are there two people appear in
    the image?".
    """
    clause = made.clause
    if clause[1].word != "there" or {"that", "who", "which", "where", "when", "can", "to"} & set(
        made.words
    ):
        return False
    known = letters_of(clause)
    return any(
        known[i] == "V"
        and known[i - 1] == "N"
        and clause[i].tag.startswith("VV")
        and is_base_verb(clause[i].word)
        for i in range(4, len(clause))
    )


def _number(made: Asked) -> Rewrite | None:
    """ "Are there two dogs?": the number of dogs is other than two."""
    clause, i = made.clause, 2
    if clause[i].word in {"exactly", "only", "just"}:
        i += 1
    elif [token.word for token in clause[i : i + 3]] == ["a", "total", "of"]:
        i += 3
    if i + 1 >= len(clause) or (clause[i].word not in _COUNTED and not clause[i].text.isdigit()):
        return None
    number, counted = clause[i], clause[i + 1 :]
    if _has_scope(made, i + 1, allowed=frozenset({"same"})) or counted[0].word in {"of", "to"}:
        return None
    if counted[0].text in {"%", "-"}:
        return None
    named = made.prompt[counted[0].start : made.end]
    if number.word in {"one", "1"}:
        noun = _head(counted)
        many = _plural(noun.word)
        if many is None:
            return None
        if ends_in_a_verb(_up_to_a_verb(counted)):
            return None  # "one cat sleeping on the bed"
        at = counted[0].start
        named = f"{made.prompt[at : noun.start]}{many}{made.prompt[noun.end : made.end]}"
    opening = "was" if clause[0].word in {"was", "were"} else "is"
    opening = opening.capitalize() if _at_head(made) else opening
    before, after = made.prompt[: made.opens], made.prompt[made.end :]
    return Rewrite(
        f"{before}{opening} the number of {named} other than {number.text}{_with_mark(after)}",
        "polar.other",
    )


def _up_to_a_verb(counted: list[Token]) -> list[Token]:
    """The words that are counted, as far as the first form in -ing; with a word before them as for
    a subject.
    """
    last = next((i for i in range(1, len(counted)) if counted[i].word.endswith("ing")), 0)
    return [counted[0], *counted[: last + 1]]


def _head(counted: list[Token]) -> Token:
    """The noun that is counted: the last word before a place or a clause, "cup" in "cup of tea on
    the table".
    """
    known = letters_of([counted[0]._replace(text="is", tag="VB"), *counted])[1:]
    behind = (
        i
        for i in range(1, len(counted))
        if known[i] in "POTM" or (known[i] in "GEV" and known[i - 1] == "N")
    )
    return counted[next(behind, len(counted)) - 1]


def _plural(noun: str) -> str | None:
    from lemminflect import getInflection, getLemma

    if noun not in getLemma(noun, "NOUN"):
        return None
    many = {"person": "people"}.get(noun) or next(iter(getInflection(noun, tag="NNS")), None)
    return many if many != noun or noun in _ALIKE else None


def _any(made: Asked) -> Rewrite | None:
    """A subject with "any": "Are any of the cats black?" becomes "Are none of the cats black?"."""
    head, then = made.clause[1], made.clause[2]
    if _has_scope(made, 2):
        return None
    if head.word in _NO_ONE:
        return _replaced(made, head, _NO_ONE[head.word], "polar.no")
    if head.word == "any":
        return _replaced(made, head, "none" if then.word == "of" else "no", "polar.no")
    return None


def _not(made: Asked) -> Rewrite | None:
    """ "not" behind a short subject with "the" and before a short predicate, where nobody can take
    it for "isn't".
    """
    clause = made.clause
    if clause[0].word not in BE | DO or clause[1].word != "the" or not _is_sound(clause):
        return None
    end, worth = subject_end_with_worth(clause)
    if end is None or (worth < _SURE and clause[0].word not in DO) or not 3 <= end <= 5:
        return None
    if not re.fullmatch("D(?:A?N{1,2}|A)", letters_of(clause)[1:end]) or ends_in_a_verb(
        clause[1:end]
    ):
        return None
    if len(clause) - end > _LONGEST or _has_scope(made, end, allowed=_SAID_BY_NOT):
        return None
    if is_a_guess(clause) or (clause[0].word in BE and not is_short(clause[end:])):
        return None
    # "the lake calm in this image": one noun, one or two words, and the picture leave no doubt
    short = end == 3 and end < len(clause) - 3 <= end + 2 and in_the_medium(clause[-3:])
    if clause[0].word in BE and not short and as_statement(made.prompt[: made.end], clause) is None:
        return None
    at = clause[end - 1].end
    return Rewrite(f"{made.prompt[:at]} not{made.prompt[at:]}", "polar.not")


def _has_scope(made: Asked, start: int, allowed: frozenset[str] = frozenset()) -> bool:
    """Whether a word, a list or a superlative behind `start` leaves it open what a "not" or "no"
    denies.
    """
    clause = made.clause
    words = [token.word for token in clause]
    joined = {"between"} & set(words[start:])
    for i in range(start, len(clause)):
        word = words[i]
        if word in _SCOPE and word not in allowed:
            return True
        if word in {",", ";", ":"} or (word == "and" and not joined):
            return True
        if clause[i].tag == "AJS" or (word == "most" and i + 1 < len(clause)):
            return True
    return False


def _is_sound(clause: list[Token]) -> bool:
    """Whether the verb is in a form that its auxiliary can have; released questions have "Is the
    person swim?".
    """
    if clause[1].word in PRONOUNS or clause[1].word == "there":
        return True
    end = subject_end(clause)
    if end is None:
        return True
    if clause[0].word in DO:
        return verb_behind(clause, end) is not None
    if clause[0].word not in BE:
        return True
    word = clause[end].word
    if clause[1].text.isdigit() and end == 2 and letters_of(clause)[2] == "E":
        return False  # "Is 2010 exported the most bread?"
    from lemminflect import getInflection

    bare = is_base_verb(word) and reading(word, "VV") > max(
        reading(word, "NN"), reading(word, "AJ")
    )
    return not bare or (word in getInflection(word, tag="VBN") and word not in {"run", "come"})
