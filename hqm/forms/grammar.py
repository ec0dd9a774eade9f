"""The grammar of a question: its words with their parts of speech, and where its subject ends.

The parts of speech come from the HanTa tagger (pure Python, with its English model inside the
package). Nothing here rewrites a question; `hqm.forms.negate` and `hqm.forms.rephrase` do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from hqm.errors import NoRule
from hqm.scoring.words.interfaces import english_tagger, shorten_word
from hqm.types import Item

BE = frozenset({"is", "are", "was", "were"})
DO = frozenset({"do", "does", "did"})
HAVE = frozenset({"has", "have", "had"})
MODAL = frozenset({"can", "could", "will", "would", "should", "may", "might", "must"})
AUXILIARIES = BE | DO | HAVE | MODAL

# "it's", "3.5%", "16:9" and "x/y" are one word each; any other sign is a word by itself.
_WORD = re.compile(r"[^\W_]+(?:[-'’.,/:][^\W_]+)*[%°]?|\S")
QUOTES = frozenset("\"“”'‘’`")
_NOUNS = frozenset(
    {"hydrant", "moped", "topping", "toppings", "uniform"}
)  # what the tagger takes for adjectives or verbs
_MEDIA = frozenset("image picture photo photograph figure scene video chart map table".split())
# colours, materials, shapes and sports that English dictionaries list as nouns only
_ATTRIBUTIVE_NOUNS = frozenset(
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
_QUANTIFIERS = frozenset({"most", "more", "fewer", "less"})
_UNKNOWN_WORD = -20.0
"""The log probability of a tag below which the tagger guessed."""
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
_NOUN_PHRASE = (
    r"(?:[DMS]*(?:R*[ACN]*S)*[DM]*(?:R*[AC](?:&A)?)*[GE]?N+C?|[DM]*T|[DM]*C|[DM]+[AG]|M|[DM](?=O))"
)
_SUBJECT = re.compile(rf"{_NOUN_PHRASE}(?:(?:[OP&]+|,&?){_NOUN_PHRASE})*")
PREPOSITIONAL_PHRASE = re.compile(rf"(?:[PO&]+{_NOUN_PHRASE})+R*")


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


MAX_TAGGED_CHARS = 2_000
"""Characters of a text that is tagged at most: no question that a rule knows is longer, and the
tagger's probabilities vanish behind some thousands of words."""


MAX_WORDLESS_CHARS = 200
_WORDLESS = re.compile(rf"\W{{{MAX_WORDLESS_CHARS}}}")


def check_words_follow(text: str) -> None:
    """Check that a text has no long stretch without a word, such as a drawing in characters: no
    rule knows one, and patterns that look for the end of a sentence take its square.

    Raises
    ------
    NoRule
        It has `MAX_WORDLESS_CHARS` characters without a letter or digit.
    """
    if _WORDLESS.search(text):
        raise NoRule(text, f"it has {MAX_WORDLESS_CHARS} characters without a word")


@lru_cache(maxsize=4096)
def tag(text: str) -> Clause:
    """Split a text into tagged words.

    Raises
    ------
    NoRule
        The text is longer than `MAX_TAGGED_CHARS`.

    >>> [(t.text, t.tag) for t in tag("Is the sky sunny?")]
    [('Is', 'VBZ'), ('the', 'AT0'), ('sky', 'NN1'), ('sunny', 'AJ0'), ('?', 'PUN')]
    """
    if len(text) > MAX_TAGGED_CHARS:
        raise NoRule(text, f"it is longer than {MAX_TAGGED_CHARS:,} characters")
    spans = [(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]
    if spans:
        # A sentence without spaces, as in Chinese, would be one word (`shorten_word`).
        labels = english_tagger().tag_sent([shorten_word(word) for word, _, _ in spans], taglevel=0)
    else:
        labels = []
    return tuple(
        Token(word, label, a, b) for (word, a, b), label in zip(spans, labels, strict=True)
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
    if token.tag.startswith("AV") and tag_score(token.text, "AV") < _UNKNOWN_WORD:
        return "N"  # the tagger guessed: an unknown word is a name more often than an adverb
    if (
        token.tag == "CJS"
        and token.word not in _CONJUNCTIONS
        and tag_score(token.text, "NN") > -math.inf
    ):
        return "N"  # "the red ball as big as": the tagger was led astray by what follows
    return next((letter for prefix, letter in _CLASSES if token.tag.startswith(prefix)), "?")


def words_of(clause: Iterable[Token]) -> list[str]:
    """The words of some tokens, in lower case."""
    return [token.word for token in clause]


@lru_cache(maxsize=4096)
def letters_of(clause: Clause) -> str:
    """The clause with one letter for each word; words in quotation marks or brackets count as
    names.
    """
    letters = []
    quoted = False
    for token in clause:
        if token.text in QUOTES or token.text == "()"[quoted]:
            quoted = not quoted
            letters.append("N")
        else:
            letters.append("N" if quoted else _letter(token))
    for i in range(1, len(clause)):
        letters[i] = _contextual_letter(clause, letters, i)
    return "".join(letters)


def _contextual_letter(clause: Clause, letters: list[str], i: int) -> str:
    """The letter of a word, corrected by its neighbours and by how it is written."""
    token = clause[i]
    previous_letter = letters[i - 1]
    next_letter = letters[i + 1] if i + 1 < len(letters) else ""
    if _is_name(clause, letters, i):
        return "N"
    if token.word in _SIDES and previous_letter in "PDMC":
        is_attribute = next_letter in ("N", "C") or (
            next_letter == "A" and not _compares(clause[i + 1])
        )
        if is_attribute:
            return "A"
        return "N"
    if token.word == "as" and letters[i] == "?" and next_letter in ("A", "R"):
        return "R"  # "as big as"
    if token.text in COLORS and letters[i] == "N" and previous_letter == "N":
        return "A"  # "the soup in the bowl green": said of the soup
    if token.word in _MEDIA and previous_letter == "M":
        return "N"  # "this figure"
    if token.word in _QUANTIFIERS and letters[i] == "R" and next_letter == "N":
        return "A"  # "the most filings"
    return letters[i]


def _is_name(clause: Clause, letters: list[str], i: int) -> bool:
    """Whether a word is a name, or belongs to one, by how it is written."""
    token = clause[i]
    if (
        token.text[0].isupper()
        and letters[i] in "AVRGED?"
        and token.tag not in {"XX0", "DPS"}
        and token.text != "The"
    ):
        return True  # a capital inside a question
    if token.text == "." and re.fullmatch(r"(?:[A-Z]\.)*[A-Z]", clause[i - 1].text):
        return True  # "U.S."
    is_number_of_name = letters[i] == "C" and letters[i - 1] == "N" and i > 2
    if not is_number_of_name or not clause[i - 1].text[0].isupper():
        return False
    # "Reply 1988"
    return "number" not in words_of(clause[:i])


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
    return find_subject_end(clause)[0]


@lru_cache(maxsize=4096)
def find_subject_end(clause: Clause) -> tuple[int | None, float]:
    """The end of the subject, and how well the words behind it can start a predicate (0 to 4; below
    .6 is a guess).

    Every prefix that can be a noun phrase is tried; the one whose remainder best starts a predicate
    wins, the shortest among equals.
    """
    letters = letters_of(clause)
    # A subject does not end inside a quotation.
    is_quoted = inside_quotes(clause)
    marked_end = _marked_subject_end(clause, letters, is_quoted)
    if marked_end is not None:
        # As sure as a verb or an adjective behind the subject.
        return marked_end, 3.0
    best_end = None
    best_score = 0.0
    for end in range(2, len(clause)):
        if is_quoted[end] or not _can_end_subject(clause, letters, end):
            continue
        # A demonstrative is rather the determiner of what follows: "this dog".
        score = _predicate_score(clause, letters, end) - 0.5 * (letters[1:end] == "M")
        if score > best_score:
            best_end = end
            best_score = score
    # "Does the dog sleep?": the tagger may take the verb for a noun.
    if best_end is None and clause[0].word in DO and not letters[1:-1].strip("DMACNS"):
        # A word that is no verb at all is none that the tagger mistook.
        is_verb = tag_score(clause[-1].text, "VV") > -math.inf
        if is_verb:
            return (len(clause) - 1, 1.0)
        return (None, 0.0)
    return best_end, best_score


def _marked_subject_end(clause: Clause, letters: str, is_quoted: list[bool]) -> int | None:
    """The end of a subject that a pronoun, a comma, the picture or a quotation marks."""
    has_name = any(token.text in QUOTES or token.text[0].isupper() for token in clause[2:3])
    if letters[1:3] == "MD" or (letters[1:2] == "M" and has_name):
        return 2  # "Is that a group of ducks swimming?", "Is this Beijing Roast Duck?"
    # "Is Switzerland, the leading country?": a comma too many
    apposition = re.match(r"VD?N+(?:,N+)*,(?=D)", letters)
    if apposition and clause[0].word in BE:
        return apposition.end()
    words = words_of(clause)
    if words[1:3] == ["the", "formula"] and "representative" in words:
        return words.index("representative")
    picture_end = _end_at_picture(clause, letters)
    if picture_end is not None:
        return picture_end
    return _end_at_quotation(clause, letters, is_quoted)


def _can_end_subject(clause: Clause, letters: str, end: int) -> bool:
    """Whether the words before `end` can be a noun phrase that nothing behind it belongs to."""
    if not _SUBJECT.fullmatch(letters, 1, end):
        return False
    last = clause[end - 1]
    if last.word in _ANGLES and clause[end].word in {"to", "with"}:
        return False  # "AB parallel to CD": said of the subject, no part of it
    if last.text in _CURRENCIES or last.word in _DEGREES:
        return False
    return not _is_numbered(clause, letters, end)


def _is_numbered(clause: Clause, letters: str, end: int) -> bool:
    """Whether a number at `end` names the noun before it: "the runner in lane four winning", "angle
    1 equal to".
    """
    if letters[end - 1 : end + 1] != "NC" or end + 1 >= len(clause):
        return False
    return letters[end + 1] in "AEGVR" and clause[end + 1].word not in {"degrees", "percent"}


def _end_at_picture(clause: Clause, letters: str) -> int | None:
    """The end of a subject such as "all the animals in this figure" or "the characters here", with
    words behind it.
    """
    for i in range(2, len(clause) - 1):
        if clause[i].word == "here":
            end = i + 1
        elif names_picture(clause[i : i + 3]):
            end = i + 3
        else:
            continue
        if end >= len(clause):
            continue
        goes_on = letters[end] in "&O,T" or clause[end].word in {"that", "which", "who"}
        if goes_on or re.search("[VGEPR,]", letters[1:i]):
            return None
        if _SUBJECT.fullmatch(letters, 1, i):
            return end
        return None
    return None


def _end_at_quotation(clause: Clause, letters: str, is_quoted: list[bool]) -> int | None:
    """The end of the subject in "Is the word on the sign 'STOP'?", where a quotation is all that is
    said of it.
    """
    if clause[0].word not in BE or clause[-1].text not in QUOTES or not is_quoted[-1]:
        return None
    start = max(i for i in range(len(clause)) if not is_quoted[i] and clause[i].text in QUOTES)
    if start < 2 or not _SUBJECT.fullmatch(letters, 1, start):
        return None
    if clause[start - 1].word not in _ENTITLED:
        return start
    return None


def inside_quotes(clause: Clause) -> list[bool]:
    """Whether a quotation is open before each word."""
    is_quoted = []
    is_open = False
    for token in clause:
        # the mark that opens a quotation stands outside of it, the one that closes it inside
        is_quoted.append(is_open)
        is_open ^= token.text in QUOTES
    return is_quoted


def unquoted(clause: Clause) -> list[Token]:
    """The words outside quotation marks."""
    words = zip(clause, inside_quotes(clause), strict=True)
    return [token for token, is_quoted in words if not is_quoted]


def _predicate_score(clause: Clause, letters: str, end: int) -> float:
    """How well the words from `end` on can start the predicate; 0 when they cannot."""
    first = letters[end]
    if first == "X":
        return 4
    if clause[0].word not in BE:
        return _verb_score(clause, letters, end)
    if first == "=":
        return 3.5
    if clause[end].word == "worldwide":
        return 0.5
    if first == "A" and re.match("A+N", letters[end:]) and not _compares(clause[end]):
        return 0.75  # more often before its noun: "the two | red lines parallel"
    if first in "AEGDMRCT":
        return 3
    if first == "P":
        return _preposition_score(clause, letters, end)
    if first == "N":
        if can_be_predicate(clause[end].text):
            return 1
        return 0.6
    if first == "V":
        return 0.7
    return 0


def _preposition_score(clause: Clause, letters: str, end: int) -> float:
    """How well a preposition starts the predicate: what a thing has belongs to the thing, as in
    "the bowl with broccoli on top".
    """
    if clause[end].word == "among":
        return 3.2
    is_location = PREPOSITIONAL_PHRASE.fullmatch(letters, end)
    if not is_location or (letters.endswith("NN") and _compares(clause[-1])):
        return 0.5
    if words_of(clause[end:]) in (["in", "color"], ["in", "colour"]):
        return 0.55  # "green in color"
    if names_picture(clause[end:]):
        return 0.8
    if clause[end].word in {"with", "without"}:
        return 0.9
    return 2


def _verb_score(clause: Clause, letters: str, end: int) -> float:
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
        if noun and tag_score(clause[verb].text, "VV") > -math.inf:
            return 1
    if letters[end] == "G":
        return 0.2
    if letters[end] in "AREN":
        return 0.4
    return 0


def names_picture(words: Clause) -> bool:
    """Whether the words say no more than "in this image"."""
    if len(words) != 3 or words[2].word not in _MEDIA:
        return False
    return words[0].word == "in" or (words[0].word == "on" and words[2].word != "table")


def can_be_predicate(word: str) -> bool:
    """Whether a word tagged as a noun can be the predicate, as in "Is the sea calm?"."""
    word = word.lower()
    if word in _ATTRIBUTIVE_NOUNS:
        return True
    noun = tag_score(word, "NN")
    verb = max(tag_score(word, label) for label in ("VVI", "VVB", "VVG"))
    return word not in _COMPOUND_HEADS and (tag_score(word, "AJ") > noun - 2.5 or verb > noun - 0.9)


def tag_score(word: str, prefix: str) -> float:
    """The tagger's log probability of the word under the tags that start with `prefix`."""
    return max(
        (score for label, score in _tag_scores(word.lower()) if label.startswith(prefix)),
        default=-math.inf,
    )


@lru_cache(maxsize=8192)
def _tag_scores(word: str) -> tuple[tuple[str, float], ...]:
    return tuple((label, float(score)) for label, score in english_tagger().tag_word(word))


@lru_cache(maxsize=4096)
def is_base_verb(word: str) -> bool:
    """Whether a word is a verb as it stands behind "does": "sit", but not "sitting", "peaceful" or
    "white".

    >>> [word for word in ("sit", "run", "sitting", "peaceful", "white") if is_base_verb(word)]
    ['sit', 'run']
    """
    from lemminflect import getAllLemmas

    _, hyphen, last = word.rpartition("-")
    is_listed = word in getAllLemmas(last).get("VERB", ()) or bool(hyphen and is_base_verb(last))
    # "Does the snow white": an adjective that dictionaries know as a verb too
    return is_listed and tag_score(word, "AJ") <= max(tag_score(word, "VV"), _UNKNOWN_WORD) + 2.5


def verb_behind(clause: Clause, end: int) -> int | None:
    """The index of the verb that stands at `end`, perhaps behind adverbs; None if there is none in
    its base form.
    """
    verb = end
    while (
        verb < len(clause) - 1
        and clause[verb].tag.startswith("AV")
        and not is_base_verb(clause[verb].word)
    ):
        verb += 1
    if verb < len(clause) and is_base_verb(clause[verb].word):
        return verb
    return None


# --- rewritten questions ---


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A question in its parallel wording, with the name of the rule that made it."""

    prompt: str
    rule: str


AFFIRMATIONS = ("true", "say", "would", "statement", "agree", "claim", "seem", "confirm")
"""The ways to ask a yes/no question so that its right answer stays."""
_UNNEGATED_RULES = frozenset(
    f"polar.{prefix}{name}" for prefix in ("", "quoted_") for name in AFFIRMATIONS
)


def is_negated(item: Item) -> bool:
    """Whether the item's question was negated by a rule (or by a person, who writes
    `polar.person`).
    """
    return item.rule.startswith("polar.") and item.rule not in _UNNEGATED_RULES
