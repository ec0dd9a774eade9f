"""The grammar of a question: its words with their parts of speech, and where its subject ends.

The parts of speech come from the HanTa tagger (pure Python, with its English model inside the
package). Nothing here rewrites a question; `hqm.forms.negate` and `hqm.forms.rephrase` do.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from hqm.scoring.words.interfaces import capped
from hqm.types import Item

BE = frozenset({"is", "are", "was", "were"})
DO = frozenset({"do", "does", "did"})
HAVE = frozenset({"has", "have", "had"})
MODAL = frozenset({"can", "could", "will", "would", "should", "may", "might", "must"})
AUXILIARIES = BE | DO | HAVE | MODAL

_WORD = re.compile(r"[^\W_]+(?:[-'’.,/:][^\W_]+)*[%°]?|\S")
QUOTES = frozenset("\"“”'‘’`")
_NOUNS = frozenset(
    {"hydrant", "moped", "topping", "toppings", "uniform"}
)  # what the tagger takes for adjectives or verbs
_MEDIA = frozenset("image picture photo photograph figure scene video chart map table".split())
# colours, materials, shapes and sports that English dictionaries list as nouns only
_SAID_OF_THINGS = frozenset(
    "azure emerald teal indigo crimson linen denim marble semicircle surf".split()
)
COLORS = frozenset(
    "black blue brown gold gray green grey orange pink purple red silver tan white yellow".split()
)
# "in the movie 'Up'": the quotation is a name and belongs to the noun
_ENTITLED = frozenset(
    "movie film series show book novel song album game band team brand play painting poem formula"
    " number".split()
)
_DEGREES = frozenset("half almost nearly partly fully completely entirely".split())
_CURRENCIES = frozenset("$€£¥#")
_ANGLES = frozenset(
    "parallel perpendicular equal similar congruent tangent identical adjacent opposite".split()
)
_CONJUNCTIONS = frozenset(
    "after although as because before if once since so than that though till unless until when"
    " where while".split()
)
_SIDES = frozenset("left right top bottom center centre middle".split())
_UNKNOWN = -20.0
# heads of compounds ("traffic light") that are adjectives too
_COMPOUND_HEADS = frozenset({"light", "lights"})

# One letter a word, so that the grammar of a subject is a regular expression over letters.
_CLASSES = (
    ("XX", "X"),
    ("EX", "T"),
    ("PN", "T"),
    ("POS", "S"),
    ("AT", "D"),
    ("DPS", "D"),
    ("DT", "D"),
    ("CRD", "C"),
    ("ORD", "A"),
    ("AJ", "A"),
    ("NN", "N"),
    ("NP", "N"),
    ("ZZ", "N"),
    ("UNC", "N"),
    ("AV", "R"),
    ("PRF", "O"),
    ("PR", "P"),
    ("TO", "P"),
    ("CJC", "&"),
    ("VVG", "G"),
    ("VVN", "E"),
    ("VVD", "E"),
    ("V", "V"),
)
_LETTERS = {
    **dict.fromkeys(("this", "that", "these", "those"), "M"),
    **dict.fromkeys(("brand", "horseback", "latex"), "R"),  # "brand new": belongs to what follows
    **dict.fromkeys(_NOUNS, "N"),
    **dict.fromkeys("=<>≤≥≠", "="),
    **dict.fromkeys("+-−*", "&"),
    **dict.fromkeys(",，", ","),
    **dict.fromkeys("∠△", "D"),
    "worldwide": "C",  # stands behind its noun
    "aged": "O",  # "the population aged between 15 and 29"
}
"""Words and signs whose letter does not depend on the tagger."""
# M is a demonstrative: a determiner ("this dog") or the whole subject ("this")
_SIMPLE = (
    r"(?:[DMS]*(?:R*[ACN]*S)*[DM]*(?:R*[AC](?:&A)?)*[GE]?N+C?|[DM]*T|[DM]*C|[DM]+[AG]|M|[DM](?=O))"
)
_SUBJECT = re.compile(rf"{_SIMPLE}(?:(?:[OP&]+|,&?){_SIMPLE})*")
PLACE = re.compile(rf"(?:[PO&]+{_SIMPLE})+R*")


class Token(NamedTuple):
    """A word of a question, its part-of-speech tag (CLAWS C5), and where it stands."""

    text: str
    tag: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text.lower()


Clause = tuple[Token, ...]
"""Words of a question that stand side by side."""


@lru_cache(maxsize=1)
def _tagger() -> Any:
    from HanTa import HanoverTagger

    return HanoverTagger.HanoverTagger("morphmodel_en.pgz")


@lru_cache(maxsize=4096)
def tag(text: str) -> Clause:
    """Split a text into tagged words.

    >>> [(t.text, t.tag) for t in tag("Is the sky sunny?")]
    [('Is', 'VBZ'), ('the', 'AT0'), ('sky', 'NN1'), ('sunny', 'AJ0'), ('?', 'PUN')]
    """
    spans = [(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]
    tagged = _tagger().tag_sent([capped(word) for word, _, _ in spans]) if spans else ()
    return tuple(
        Token(word, label, a, b) for (word, a, b), (_, _, label) in zip(spans, tagged, strict=True)
    )


def _letter(token: Token) -> str:
    if token.word in {"'s", "’s"} or token.word.endswith(("'s", "’s", "s'", "s’")):
        return "S"
    fixed = _LETTERS.get(token.word)
    if fixed is not None:
        return fixed
    if token.text in {"BE", "AM", "DO"} or re.search("[a-z][A-Z]", token.text):
        return "N"  # a line of a figure, "angleA"
    if token.text[0].isdigit():
        return "C"
    if token.tag.startswith("AV") and reading(token.text, "AV") < _UNKNOWN:
        return "N"  # the tagger guessed: an unknown word is a name more often than an adverb
    if (
        token.tag == "CJS"
        and token.word not in _CONJUNCTIONS
        and reading(token.text, "NN") > -math.inf
    ):
        return "N"  # "the red ball as big as": the tagger was led astray by what follows
    return next((letter for prefix, letter in _CLASSES if token.tag.startswith(prefix)), "?")


@lru_cache(maxsize=4096)
def letters_of(clause: Clause) -> str:
    """The clause with one letter for each word; words in quotation marks or brackets count as
    names.
    """
    letters, quoted = [], False
    for token in clause:
        if token.text in QUOTES or token.text == "()"[quoted]:
            quoted = not quoted
            letters.append("N")
        else:
            letters.append("N" if quoted else _letter(token))
    for i in range(1, len(clause)):
        letters[i] = _in_context(clause, letters, i)
    return "".join(letters)


def _in_context(clause: Clause, letters: list[str], i: int) -> str:
    """The letter of a word, corrected by its neighbours and by how it is written."""
    token, before = clause[i], letters[i - 1]
    then = letters[i + 1] if i + 1 < len(letters) else ""
    if (
        token.text[0].isupper()
        and letters[i] in "AVRGED?"
        and token.tag not in {"XX0", "DPS"}
        and token.text != "The"
    ):
        return "N"  # a capital inside a question: a name
    if token.text == "." and re.fullmatch(r"(?:[A-Z]\.)*[A-Z]", clause[i - 1].text):
        return "N"  # "U.S."
    counted = any(word.word == "number" for word in clause[:i])
    if (
        letters[i] == "C"
        and before == "N"
        and clause[i - 1].text[0].isupper()
        and i > 2
        and not counted
    ):
        return "N"  # "Reply 1988"
    if token.word in _SIDES and before in "PDMC":
        return (
            "A"
            if then and then in "ANC" and not (then == "A" and _compares(clause[i + 1]))
            else "N"
        )
    if token.word == "as" and letters[i] == "?" and then and then in "AR":
        return "R"  # "as big as"
    if token.text in COLORS and letters[i] == "N" and before == "N":
        return "A"  # "the soup in the bowl green": said of the soup
    if token.word in _MEDIA and before == "M":
        return "N"  # "this figure"
    if token.word in {"most", "more", "fewer", "less"} and letters[i] == "R" and then == "N":
        return "A"  # "the most filings"
    return letters[i]


def _compares(token: Token) -> bool:
    return token.tag == "AJC" or token.word in {
        "different",
        "same",
        "equal",
        "identical",
        "parallel",
    }


def subject_end(clause: Clause) -> int | None:
    """The index of the first word after the subject of a clause that opens with its auxiliary, or
    None.
    """
    return subject_end_with_worth(clause)[0]


@lru_cache(maxsize=4096)
def subject_end_with_worth(clause: Clause) -> tuple[int | None, float]:
    """The end of the subject, and how well the words behind it can start a predicate (0 to 4; below
    .6 is a guess).

    Every prefix that can be a noun phrase is tried; the one whose remainder best starts a predicate
    wins, the shortest among equals.
    """
    letters = letters_of(clause)
    is_name = any(token.text in QUOTES or token.text[0].isupper() for token in clause[2:3])
    if letters[1:3] == "MD" or (letters[1:2] == "M" and is_name):
        return 2, 3.0  # "Is that a group of ducks swimming?", "Is this Beijing Roast Duck?"
    # "Is Switzerland, the leading country?": a comma too many
    named = re.match(r"VD?N+(?:,N+)*,(?=D)", letters)
    if named and clause[0].word in BE:
        return named.end(), 3.0
    words = [token.word for token in clause]
    if words[1:3] == ["the", "formula"] and "representative" in words:
        return words.index("representative"), 3.0
    placed = _end_behind_the_picture(clause, letters)
    if placed is not None:
        return placed, 3.0
    inside = inside_quotes(clause)
    quoted = _end_before_a_quotation(clause, letters, inside)
    if quoted is not None:
        return quoted, 3.0
    best, best_worth = None, 0.0
    for end in range(2, len(clause)):
        if inside[end] or not _SUBJECT.fullmatch(letters, 1, end):
            continue
        if clause[end - 1].word in _ANGLES and clause[end].word in {"to", "with"}:
            continue  # "AB parallel to CD": said of the subject, no part of it
        if (
            clause[end - 1].text in _CURRENCIES
            or clause[end - 1].word in _DEGREES
            or _is_numbered(clause, letters, end)
        ):
            continue
        worth = _predicate_worth(clause, letters, end) - (0.5 if letters[1:end] == "M" else 0)
        if worth > best_worth:
            best, best_worth = end, worth
    if best is None and clause[0].word in DO and not letters[1:-1].strip("DMACNS"):
        verb = reading(clause[-1].text, "VV") > -math.inf
        return (len(clause) - 1, 1.0) if verb else (None, 0.0)
    return best, best_worth


def _is_numbered(clause: Clause, letters: str, end: int) -> bool:
    """Whether a number at `end` names the noun before it: "the runner in lane four winning", "angle
    1 equal to".
    """
    if letters[end - 1 : end + 1] != "NC" or end + 1 >= len(clause):
        return False
    return letters[end + 1] in "AEGVR" and clause[end + 1].word not in {"degrees", "percent"}


def _end_behind_the_picture(clause: Clause, letters: str) -> int | None:
    """The end of a subject such as "all the animals in this figure" or "the characters here", with
    words behind it.
    """
    for i in range(2, len(clause) - 1):
        if clause[i].word == "here":
            end = i + 1
        elif in_the_medium(clause[i : i + 3]):
            end = i + 3
        else:
            continue
        if end >= len(clause):
            continue
        goes_on = letters[end] in "&O,T" or clause[end].word in {"that", "which", "who"}
        return (
            None
            if goes_on
            or re.search("[VGEPR,]", letters[1:i])
            or not _SUBJECT.fullmatch(letters, 1, i)
            else end
        )
    return None


def _end_before_a_quotation(clause: Clause, letters: str, inside: list[bool]) -> int | None:
    """The end of the subject in "Is the word on the sign 'STOP'?", where a quotation is all that is
    said of it.
    """
    if clause[0].word not in BE or clause[-1].text not in QUOTES or not inside[-1]:
        return None
    at = max(i for i in range(len(clause)) if not inside[i] and clause[i].text in QUOTES)
    whole = at > 1 and _SUBJECT.fullmatch(letters, 1, at) is not None
    return at if whole and clause[at - 1].word not in _ENTITLED else None


def inside_quotes(clause: Clause) -> list[bool]:
    """Whether a quotation is open before each word."""
    inside, open_ = [], False
    for token in clause:
        inside.append(open_)
        open_ ^= token.text in QUOTES
    return inside


def _predicate_worth(clause: Clause, letters: str, end: int) -> float:
    """How well the words from `end` on can start the predicate; 0 when they cannot."""
    first = letters[end]
    if first == "X":
        return 4
    if clause[0].word not in BE:
        return _verb_worth(clause, letters, end)
    if first == "=":
        return 3.5
    if clause[end].word == "worldwide":
        return 0.5
    if first == "A" and re.match("A+N", letters[end:]) and not _compares(clause[end]):
        return 0.75  # more often before its noun: "the two | red lines parallel"
    if first in "AEGDMRCT":
        return 3
    if first == "P":
        if clause[end].word == "among":
            return 3.2
        if not PLACE.fullmatch(letters, end) or (letters.endswith("NN") and _compares(clause[-1])):
            return 0.5
        # "the bowl with broccoli on top": what a thing has belongs to the thing
        if [t.word for t in clause[end:]] in (["in", "color"], ["in", "colour"]):
            return 0.55  # "green in color"
        if in_the_medium(clause[end:]):
            return 0.8
        return 0.9 if clause[end].word in {"with", "without"} else 2
    if first == "N":
        return 1 if describes(clause[end].text) else 0.6
    return 0.7 if first == "V" else 0


def _verb_worth(clause: Clause, letters: str, end: int) -> float:
    """How well a verb follows do, have or a modal, perhaps after an adverb; released questions
    sometimes lack it.
    """
    perfect = clause[0].word in HAVE
    for verb in (end, end + 1) if letters[end] == "R" and end + 1 < len(clause) else (end,):
        if letters[verb] == "V" or (perfect and letters[verb] == "E"):
            return 3
        noun = letters[verb] == "N" and clause[verb].word not in _NOUNS
        if noun and verb + 1 < len(clause) and clause[verb + 1].word == "of":
            continue  # "the square root of 2": a noun has an "of" behind it
        if noun and reading(clause[verb].text, "VV") > -math.inf:
            return 1
    if letters[end] == "G":
        return 0.2
    return 0.4 if letters[end] in "AREN" else 0


def in_the_medium(words: Clause) -> bool:
    """Whether the words say no more than "in this image"."""
    if len(words) != 3 or words[2].word not in _MEDIA:
        return False
    return words[0].word == "in" or (words[0].word == "on" and words[2].word != "table")


def describes(word: str) -> bool:
    """Whether a word tagged as a noun can be the predicate, as in "Is the sea calm?"."""
    word = word.lower()
    if word in _SAID_OF_THINGS:
        return True
    noun = reading(word, "NN")
    verb = max(reading(word, label) for label in ("VVI", "VVB", "VVG"))
    return word not in _COMPOUND_HEADS and (reading(word, "AJ") > noun - 2.5 or verb > noun - 0.9)


def reading(word: str, prefix: str) -> float:
    """The tagger's log probability of the word under the tags that start with `prefix`."""
    return max(
        (score for label, score in _readings(word.lower()) if label.startswith(prefix)),
        default=-math.inf,
    )


@lru_cache(maxsize=8192)
def _readings(word: str) -> tuple[tuple[str, float], ...]:
    return tuple((label, float(score)) for label, score in _tagger().tag_word(word))


@lru_cache(maxsize=4096)
def is_base_verb(word: str) -> bool:
    """Whether a word is a verb as it stands behind "does": "sit", but not "sitting", "peaceful" or
    "white".

    >>> [word for word in ("sit", "run", "sitting", "peaceful", "white") if is_base_verb(word)]
    ['sit', 'run']
    """
    from lemminflect import getAllLemmas

    known = word in getAllLemmas(word.rpartition("-")[2] if "-" in word else word).get("VERB", ())
    known = known or ("-" in word and is_base_verb(word.rpartition("-")[2]))
    # "Does the snow white": an adjective that dictionaries know as a verb too
    return known and reading(word, "AJ") <= max(reading(word, "VV"), _UNKNOWN) + 2.5


def verb_behind(clause: Clause, end: int) -> int | None:
    """The index of the verb that stands at `end`, perhaps behind adverbs; None if there is none in
    its base form.
    """
    at = end
    while (
        at < len(clause) - 1
        and clause[at].tag.startswith("AV")
        and not is_base_verb(clause[at].word)
    ):
        at += 1
    return at if at < len(clause) and is_base_verb(clause[at].word) else None


# --- rewritten questions ---


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A question in its parallel wording, with the name of the rule that made it."""

    prompt: str
    rule: str


STRAIGHT = frozenset({"polar.true", "polar.quoted_true"})
"""The rules of yes/no questions whose right answer stays."""


def is_negated(item: Item) -> bool:
    """Whether the item's question was turned round by a rule (or by a person, who writes
    `polar.person`).
    """
    return item.rule.startswith("polar.") and item.rule not in STRAIGHT
