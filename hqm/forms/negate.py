"""Negation of yes/no questions, and their order as statements.

In a statement the auxiliary moves behind its subject, and do and did merge into the verb:

    is the bowl with broccoli on top of the bowl   ->  the bowl with broccoli is on top of the bowl
    does the woman have on her wrist               ->  the woman has on her wrist

The end of the subject is found as for turning round, but more cautiously: where a
noun is followed by words that could be the predicate themselves ("the man holding a stick
successful in ..."), nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from hqm.errors import NoRule
from hqm.forms.find_question import Asked, question_of
from hqm.forms.grammar import (
    AUXILIARIES,
    BE,
    COLORS,
    DO,
    PLACE,
    QUOTES,
    Clause,
    Rewrite,
    Token,
    describes,
    in_the_medium,
    inside_quotes,
    is_base_verb,
    letters_of,
    reading,
    subject_end,
    subject_end_with_worth,
    verb_behind,
)
from hqm.forms.tag_cache import Readings

PRONOUNS = frozenset(
    "i you he she it we they there someone somebody anyone anybody everyone something".split()
)
_SUBORDINATE = frozenset("when while as if where because before after".split())
_RELATIVE = frozenset("that who which whose where what".split())
MATERIALS = frozenset(
    (
        "brick bronze ceramic chocolate concrete cotton denim fabric glass gold iron leather linen"
        " marble metal paper plastic rubber silk silver steel stone vanilla velvet wood wool"
    ).split()
)
_SURE = _SUBORDINATE | {"doing", "like"}


def as_statement(body: str, clause: Clause, asks: str = "", whole: bool = False) -> str | None:
    """Reorder a clause as a statement: the auxiliary behind its subject.

    Parameters
    ----------
    body, clause
        The text, and its tagged words from the auxiliary on.
    asks
        The question word before it ("who", "what"), if any.
    whole
        Whether the subject may reach to the end: "(What) is the design on the snowboard" has
        nothing behind it.

    Returns
    -------
    str or None
        None where the end of the subject would be a guess.

    Examples
    --------
    >>> from hqm.forms.grammar import tag
    >>> as_statement("Does the man have a hat", tag("Does the man have a hat"))
    'the man has a hat'
    >>> clause = "is the design on the snowboard"
    >>> as_statement(clause, tag(clause), "what", whole=True)
    'the design on the snowboard is'
    """
    if len(clause) < 2:
        return None
    tail = body[clause[-1].end :]
    end = _end_of_subject(clause, asks, whole)
    if end is None:
        return None
    if clause[1].word in _RELATIVE and clause[1].word != "that":
        return None  # "Is what he holds a phone?"
    sure = (
        (clause[0].word in DO and not _RELATIVE & {t.word for t in clause[1 : end + 1]})
        or clause[1].word in PRONOUNS
        or clause[min(end, len(clause) - 1)].word in _SURE
        or clause[min(end, len(clause) - 1)].text in QUOTES
    )
    if not sure and end < len(clause) and not _fits(clause, end):
        return None
    subject = body[clause[1].start : clause[end - 1].end].rstrip(" ,")
    rest = body[clause[end].start : clause[-1].end] if end < len(clause) else ""
    if rest[:1] in {"=", "<", ">", "≤", "≥", "≠"}:
        if re.search("[AEGV]", letters_of(clause)[end + 1 :]):
            return None  # "the function f(x) = x^2 increasing for x > 0"
        return f"{subject} {rest}{tail}"
    if clause[0].word not in DO:
        return f"{subject} {clause[0].word}{' ' if rest and rest[0] != ',' else ''}{rest}{tail}"
    made = _finite(clause, end, body)
    return None if made is None else f"{subject} {made}{tail}"


def _end_of_subject(clause: Clause, asks: str, whole: bool) -> int | None:
    """The index at which the subject ends; None if it could only be guessed."""
    known, n = letters_of(clause), len(clause)
    if clause[1].word in PRONOUNS:
        return None if clause[1].word.endswith(("one", "body")) and n > 2 and known[2] == "P" else 2
    if whole:
        fixed = _end_by_word(clause, known, asks)
        if fixed is not None:
            return fixed
    end = subject_end(clause)
    if clause[0].word in DO:
        return end if end is not None and known[end - 1] in "NTCMGE" else None
    if not whole:
        return end
    if end is None:
        return n if _is_phrase(clause, 2) else None
    if clause[end].word in {"that", "who", "which", "present"} or (
        asks == "who" and known[-1] != "P"
    ):
        return n
    if known[end] in "AN" and known[end - 1] == "C" and not re.search("[VGE]", known[end:]):
        return n  # "the two older kids"
    # "the design on the snowboard": a place behind the noun belongs to it
    if known[end] in "PNSD=":
        return n if _is_phrase(clause, end) else end
    return end


def _end_by_word(clause: Clause, known: str, asks: str) -> int | None:
    """The end of the subject where a word shows it: "doing", "like", a verb at the very end,
    "when".
    """
    for i in range(2, len(clause)):
        if clause[i].word == "doing" or (clause[i].word == "like" and _hangs(clause, i)):
            return i
    if asks != "who" and known[-1] == "G" and clause[-2].word not in AUXILIARIES:
        return len(clause) - 1
    limit = next((i for i in range(2, len(clause)) if clause[i].word in _SUBORDINATE), 0)
    return limit if limit and re.fullmatch(r"[ADMNCORSTP]+", known[1:limit]) else None


def _fits(clause: Clause, end: int) -> bool:
    """Whether what follows the subject can be one predicate, and the subject agrees with its
    auxiliary.

    "Is the man holding a stick successful?": a noun with a bare adjective or participle behind it
    shows that the predicate began elsewhere.
    """
    letters = letters_of(clause)
    rest, subject = letters[end:], letters[1:end]
    if ends_in_a_verb(clause[1:end]) or _may_end_later(clause, letters, end):
        return False
    if re.search(r"[NTVE]R*(?:G|[AED](?!N))", rest[1:]) or (
        re.match(r"GN(?!N*$|S)", rest) and clause[end + 1].tag == "NN1"
    ):
        return False
    if re.match("N[NAPR]", rest) and clause[end].word not in COLORS:
        return False
    if rest[0] == "P" and any(
        clause[i].word in COLORS and letters[i - 1] == "N" for i in range(end + 2, len(clause))
    ):
        return False  # "Is the sky above the market green?"
    if subject.endswith("NG") or clause[-1].word == "motion":
        return False
    head = re.match(r"[DMSARCE]*N+", subject)
    if head and clause[0].word in BE and "&" not in subject and "S" not in subject:
        noun = clause[head.end()]
        if noun.tag == "NN1" and clause[0].word in {"are", "were"} and not re.search("C", subject):
            return False
    return True


def _may_end_later(clause: Clause, letters: str, end: int) -> bool:
    """Whether a relative clause, or a noun that can be said of things, may belong elsewhere than it
    seems.

    "Is the bag that he holds red?", "Is the cake on the plate chocolate?", "Are the things on the
    table cups?"
    """
    quoted = inside_quotes(clause)
    words = [token for token, inside in zip(clause, quoted, strict=True) if not inside]
    relative = any(token.word in _RELATIVE and token.tag != "DT0" for token in words[1:])
    if relative and clause[end].word not in {"a", "an", "the"}:
        return True
    last = clause[-1]
    statement = last.word in MATERIALS or (last.tag == "NN2" and clause[0].word in {"are", "were"})
    return letters[end] == "P" and letters.endswith("NN") and statement


def ends_in_a_verb(subject: Clause) -> bool:
    """Whether the last word may begin the predicate: "the woman surfing", where the tagger sees a
    compound.
    """
    from lemminflect import getAllLemmas

    last = subject[-1].word
    compound = len(subject) > 2 and subject[-2].tag.startswith(("NN", "UNC"))
    return compound and last.endswith("ing") and "VERB" in getAllLemmas(last)


def _hangs(clause: Clause, i: int) -> bool:
    """Whether "like" has no object after it, as in "the weather like in the image"."""
    return (
        i + 1 == len(clause)
        or letters_of(clause)[i + 1] == "P"
        or clause[i + 1].word in _SUBORDINATE
    )


def _is_phrase(clause: Clause, end: int) -> bool:
    """Whether the words from `end` on have no verb and do not end in a preposition."""
    letters = letters_of(clause)
    return not re.search(r"[VGXE]", letters[end:]) and letters[-1] != "P"


def _finite(clause: Clause, end: int, body: str) -> str | None:
    """The words after the subject of do, does or did, with the verb in its finite form."""
    from lemminflect import getInflection

    verb = verb_behind(clause, end)
    if verb is None:
        return None
    word = clause[verb].word
    form = {"does": "VBZ", "did": "VBD", "do": "VBP"}[clause[0].word]
    finite = word if form == "VBP" else next(iter(getInflection(word, tag=form)), "")
    before = body[clause[end].start : clause[verb].start]
    return f"{before}{finite}{body[clause[verb].end : clause[-1].end]}" if finite else None


# --- questions whose subject is a guess ---

#     Is the giraffe eating leaves from the tree?    what the giraffe does, or what it is?
#     Is the liquid in the glass water?              the predicate stands behind a place
#     Is the lady behind the desk on the phone?      two places: one may belong to the lady
#
# Each case was met in a question that a reader took otherwise than the rules did. A question in
# doubt is quoted as a whole.

_GUESSED = 0.5
"""At this worth or below it the end of a subject is no ground for a statement."""
_CERTAIN = 3.0
_RELATIVE_WORDS = frozenset("where when why how which who whose that".split())
_SIDES = frozenset("left right top bottom center centre middle".split())
_OF_A_SIDE = frozenset("of side hand edge corner half part page and or".split())
_TITLES = frozenset(
    "the a an of series movie film show book novel song album game band team brand word"
    " letter".split()
)


def is_a_guess(clause: Clause) -> bool:
    """Whether words that look like a part of the subject may be the predicate, or the other way
    round.

    >>> from hqm.forms.grammar import tag
    >>> is_a_guess(tag("Is the liquid in the glass water"))
    True
    >>> is_a_guess(tag("Is the cat in the garden"))
    False
    """
    if clause[0].word not in BE or clause[1].word in PRONOUNS:
        return False
    end, worth = subject_end_with_worth(clause)
    if end is None:
        return False
    subject, known = clause[1:end], letters_of(clause)
    inside = known[end] == "P" and any(
        ends_in_a_verb(subject[: i + 1]) for i in range(2, len(subject))
    )
    rest = clause[end:]
    alone = known[end:] == "R" and "P" in known[1:end]  # "the curve above the axis | everywhere"
    appositive = known[end - 1] == "," and re.search(",[RGAEV][^,]*$", known) is not None
    if worth <= _GUESSED or inside or alone or appositive or _is_cut(known[1:end], rest):
        return True
    return _is_a_deed(subject, known, rest) or _comes_late(
        rest, known[end:], certain=worth >= _CERTAIN
    )


def _is_cut(subject: str, rest: Clause) -> bool:
    """Whether the noun of "the last | letter of the word" was taken for the predicate."""
    noun = (
        rest[0].word not in COLORS and reading(rest[0].text, "NN") > reading(rest[0].text, "AJ") + 3
    )
    return subject == "DA" and noun and len(rest) > 1 and not in_the_medium(rest[1:])


def _is_a_deed(subject: Clause, known: str, rest: Clause) -> bool:
    """Whether a noun that ends the subject is a verb: the released "Is the woman kick in this
    image?".
    """
    last = subject[-1]
    doing = is_base_verb(last.word) and reading(last.word, "VV") > reading(last.word, "NN") - 2
    return (
        known[1 : len(subject) + 1] == "DNN"
        and last.text.islower()
        and doing
        and in_the_medium(rest)
    )


def _comes_late(rest: Clause, known: str, *, certain: bool) -> bool:
    """Whether the predicate comes only behind what seemed to be its beginning: "shown in the
    diagram | the heart".
    """
    words = [token.word for token in rest]
    if words[0] in _RELATIVE_WORDS or (
        words[0] in {"a", "an"} and rest[min(1, len(rest) - 1)].tag == "AJC"
    ):
        return True
    if certain and known[0] not in "GEPAR":
        return False
    # two nouns side by side, the other with its article or a name of its own: "from the ceiling | a
    # fan"
    beside = any(
        known[i - 1] in "NAR" and (known[i] == "D" or (known[i] == "N" and _begins_a_name(rest, i)))
        for i in range(1, len(rest))
    )
    # "smaller than the other", "the same size as the door": what a comparison compares
    if beside and not {"than", "as"} & set(words):
        return True
    return not certain and known[0] == "P" and _is_no_place(rest, known)


def is_short(rest: Clause) -> bool:
    """Whether a "not" before these words denies all of them: one thing at most in what somebody
    does or where something is.

    "sitting at the table eating": whoever hears "not" here may think that they eat elsewhere.
    """
    known = letters_of((rest[0]._replace(text="is", tag="VB"), *rest))[1:]
    # a second -ing: "sitting at the table eating"
    if known[:1] == "G" and any(token.word.endswith("ing") for token in rest[2:]):
        return False
    if in_the_medium(rest[-3:]):
        known = known[:-3]
    things = len(re.findall("[NTC]+(?:O[DMS]*[ACR]*[NTC]+)*", known))
    return known[:1] not in ("G", "E", "P") or (
        things <= 1 and known.count("G") + known.count("E") <= 2
    )


def _begins_a_name(rest: Clause, i: int) -> bool:
    return (
        rest[i].text[0].isupper() and rest[i - 1].text.islower() and rest[i - 1].word not in _TITLES
    )


def _is_no_place(rest: Clause, known: str) -> bool:
    """Whether more is said than one place: "in the glass | water", "on the tray | round", "above
    the axis | everywhere".
    """
    if in_the_medium(rest[-3:]):
        rest, known = rest[:-3], known[:-3]
    if not rest:
        return False
    last = rest[-1]
    compound = known.endswith("NN") and last.text.islower()
    statement = len(rest) > 2 and known[-2] in "NC" and describes(last.text) and last.text.islower()
    # "on the left | brown"
    beyond = any(
        rest[i].word in _SIDES and rest[i + 1].word not in _OF_A_SIDE for i in range(len(rest) - 1)
    )
    late = compound or statement or beyond or last.word in MATERIALS or known[-1] == "R"
    return late or count_places(rest) > 1 or PLACE.fullmatch(known) is None


def count_places(words: Clause) -> int:
    """How many places follow each other; what a thing has ("with ...") is none."""
    known = letters_of((words[0]._replace(text="is", tag="VB"), *words))[1:]
    if not known.startswith("P"):
        return 0
    if in_the_medium(words[-3:]):
        known = known[:-3]
    further = (i for i in range(1, len(known)) if known[i] == "P" and known[i - 1] != "P")
    return 1 + sum(words[i].word not in {"with", "without"} for i in further)


# --- turning a question round ---

#     Is there a dog in the image?         ->  Is there no dog in the image?
#     Are there two dogs in this image?    ->  Is the number of dogs in this image other than two?
#     Is the sky sunny in this image?      ->  Is the sky not sunny in this image?
#     Is this the largest state?           ->  Is it false that this is the largest state?
#
# "Isn't this a dog?", "Is this not a dog?" and "Are there not two dogs?" ask for the same yes as
# the plain question, so "not" stands only behind a short subject with "the", before a short
# predicate. Everything else is denied as a whole: "Is it false that ...?". Where the order of a
# statement would be a guess, the question is quoted: 'Is "no" the right answer to "..."?'.

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
_LEAST_WORTH = 0.6
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
        It is no yes/no question, or its opposite is open (`hqm.forms.find_question`).

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
    """Return the plainest opposite with its rule, or raise the reason why there is none."""
    try:
        made = _opposite(question, 0)
    except NoRule as error:
        return "", "", error.reason
    return made.prompt, made.rule, ""


PLAINEST = Readings("opposites", _plainest)
"""Question -> its plainest opposite, kept from one command to the next."""


def statement_of(made: Asked) -> str | None:
    """Return the question as a statement, or None where that would be a guess."""
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
    statement = statement_of(made)
    if statement is not None:
        yield whole(made, "Is it false that {}", statement, "polar.false")
        yield whole(made, "Is it wrong to say that {}", statement, "polar.wrong")
    yield quoted(made, 'Is "no" the right answer to {}', "polar.quoted")
    yield quoted(made, 'Is "yes" the wrong answer to {}', "polar.quoted_yes")


def at_head(made: Asked) -> bool:
    """Whether the question begins its sentence, as it does not in "In 2020, did ...?"."""
    return not made.prompt[made.start : made.opens].strip()


def whole(made: Asked, template: str, statement: str, rule: str) -> Rewrite:
    """Ask about a statement, which stands for {} in the template."""
    text = template.format(statement)
    if at_head(made):
        text = text[0].upper() + text[1:]
    elif not template.startswith("{"):
        text = text[0].lower() + text[1:]
    before, after = made.prompt[: made.opens], made.prompt[made.end :]
    return Rewrite(f"{before}{text}{_with_mark(after)}", rule)


def quoted(made: Asked, template: str, rule: str) -> Rewrite:
    """Ask about an answer to the question as it is, which stands for {} in the template."""
    sentence, after = made.prompt[made.start : made.end], _with_mark(made.prompt[made.end :])
    left, right = ("“", "”") if '"' in sentence else ('"', '"')
    text = template.format(f"{left}{sentence}?{right}")
    rest = re.sub(r"^\W*?[?？]", "", after)
    return Rewrite(
        f"{made.prompt[: made.start]}{text}{'' if text.endswith(right) else '?'}{rest}", rule
    )


def _with_mark(after: str) -> str:
    """Return what follows the question, with exactly one question mark."""
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
    statement = {"true": "false", "false": "true"}[words[2]]
    return _replaced(
        made, made.clause[2], statement, f"polar.{'false' if statement == 'false' else 'not'}"
    )


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
    opening = opening.capitalize() if at_head(made) else opening
    before, after = made.prompt[: made.opens], made.prompt[made.end :]
    return Rewrite(
        f"{before}{opening} the number of {named} other than {number.text}{_with_mark(after)}",
        "polar.other",
    )


def _up_to_a_verb(counted: Clause) -> Clause:
    """The words that are counted, as far as the first form in -ing; with a word before them as for
    a subject.
    """
    last = next((i for i in range(1, len(counted)) if counted[i].word.endswith("ing")), 0)
    return (counted[0], *counted[: last + 1])


def _head(counted: Clause) -> Token:
    """The noun that is counted: the last word before a place or a clause, "cup" in "cup of tea on
    the table".
    """
    known = letters_of((counted[0]._replace(text="is", tag="VB"), *counted))[1:]
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
    if end is None or (worth < _LEAST_WORTH and clause[0].word not in DO) or not 3 <= end <= 5:
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


def _is_sound(clause: Clause) -> bool:
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
