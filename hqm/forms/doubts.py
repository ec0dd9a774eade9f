"""Where the words behind a subject may belong to it after all, so that no statement is made of the
question.

    Is the giraffe eating leaves from the tree?    what the giraffe does, or what it is?
    Is the liquid in the glass water?              the predicate stands behind a place
    Is the lady behind the desk on the phone?      two places: one may belong to the lady

Each case was met in a question that a reader took otherwise than the rules did. A question in doubt
is quoted as a whole.
"""

from __future__ import annotations

import re

from hqm.forms.grammar import (
    BE,
    COLORS,
    PLACE,
    Token,
    describes,
    in_the_medium,
    is_base_verb,
    letters_of,
    reading,
    subject_end_with_worth,
)
from hqm.forms.statement import MATERIALS, PRONOUNS, ends_in_a_verb

_GUESSED = 0.5
"""At this worth or below it the end of a subject is no ground for a statement."""
_CERTAIN = 3.0
_RELATIVE = frozenset("where when why how which who whose that".split())
_SIDES = frozenset("left right top bottom center centre middle".split())
_OF_A_SIDE = frozenset("of side hand edge corner half part page and or".split())
_TITLES = frozenset(
    "the a an of series movie film show book novel song album game band team brand word letter".split()
)


def is_a_guess(clause: list[Token]) -> bool:
    """Whether words that look like a part of the subject may be the predicate, or the other way
    round.

    >>> from hqm.forms.grammar import tag
    >>> is_a_guess(tag("Is the liquid in the glass water")), is_a_guess(tag("Is the cat in the garden"))
    (True, False)
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


def _is_cut(subject: str, rest: list[Token]) -> bool:
    """Whether the noun of "the last | letter of the word" was taken for the predicate."""
    noun = (
        rest[0].word not in COLORS and reading(rest[0].text, "NN") > reading(rest[0].text, "AJ") + 3
    )
    return subject == "DA" and noun and len(rest) > 1 and not in_the_medium(rest[1:])


def _is_a_deed(subject: list[Token], known: str, rest: list[Token]) -> bool:
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


def _comes_late(rest: list[Token], known: str, *, certain: bool) -> bool:
    """Whether the predicate comes only behind what seemed to be its beginning: "shown in the
    diagram | the heart".
    """
    words = [token.word for token in rest]
    if words[0] in _RELATIVE or (
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


def is_short(rest: list[Token]) -> bool:
    """Whether a "not" before these words denies all of them: one thing at most in what somebody
    does or where something is.

    "sitting at the table eating": whoever hears "not" here may think that they eat elsewhere.
    """
    known = letters_of([rest[0]._replace(text="is", tag="VB"), *rest])[1:]
    # a second -ing: "sitting at the table eating"
    if known[:1] == "G" and any(token.word.endswith("ing") for token in rest[2:]):
        return False
    if in_the_medium(rest[-3:]):
        known = known[:-3]
    things = len(re.findall("[NTC]+(?:O[DMS]*[ACR]*[NTC]+)*", known))
    return known[:1] not in ("G", "E", "P") or (
        things <= 1 and known.count("G") + known.count("E") <= 2
    )


def _begins_a_name(rest: list[Token], i: int) -> bool:
    return (
        rest[i].text[0].isupper() and rest[i - 1].text.islower() and rest[i - 1].word not in _TITLES
    )


def _is_no_place(rest: list[Token], known: str) -> bool:
    """Whether more is said than one place: "in the glass | water", "on the tray | round", "above
    the axis | everywhere".
    """
    if in_the_medium(rest[-3:]):
        rest, known = rest[:-3], known[:-3]
    if not rest:
        return False
    last = rest[-1]
    compound = known.endswith("NN") and last.text.islower()
    said = len(rest) > 2 and known[-2] in "NC" and describes(last.text) and last.text.islower()
    # "on the left | brown"
    beyond = any(
        rest[i].word in _SIDES and rest[i + 1].word not in _OF_A_SIDE for i in range(len(rest) - 1)
    )
    late = compound or said or beyond or last.word in MATERIALS or known[-1] == "R"
    return late or count_places(rest) > 1 or PLACE.fullmatch(known) is None


def count_places(words: list[Token]) -> int:
    """How many places follow each other; what a thing has ("with ...") is none."""
    known = letters_of([words[0]._replace(text="is", tag="VB"), *words])[1:]
    if not known.startswith("P"):
        return 0
    if in_the_medium(words[-3:]):
        known = known[:-3]
    further = (i for i in range(1, len(known)) if known[i] == "P" and known[i - 1] != "P")
    return 1 + sum(words[i].word not in {"with", "without"} for i in further)
