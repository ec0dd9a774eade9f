"""Flip a yes/no question: negate its main auxiliary, so that the right answer turns round.

    Is there a dog in the image?        ->  Is there no dog in the image?
    Is the sky sunny in this image?     ->  Is the sky not sunny in this image?
    Are there two dogs in this image?   ->  Are there not two dogs in this image?

The negation stands after the subject and never in a contraction: "Isn't the sky sunny?" expects the same answer as
"Is the sky sunny?" and would flip nothing. The end of the subject is found from the parts of speech, which the HanTa
tagger gives (pure Python, with its English model inside the package). A question that fits no rule raises `NoRule`.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, NamedTuple

from hqm.errors import NoRule
from hqm.forms.rewrite import Rewrite
from hqm.scoring.words.base import capped

BE = frozenset({"is", "are", "was", "were"})
DO = frozenset({"do", "does", "did"})
HAVE = frozenset({"has", "have", "had"})
MODAL = frozenset({"can", "could", "will", "would", "should", "may", "might", "must"})
AUXILIARIES = BE | DO | HAVE | MODAL

_WORD = re.compile(r"[^\W_]+(?:[-'’.,/:][^\W_]+)*[%°]?|\S")
_QUOTES = frozenset("\"“”'‘’`")
_QUANTIFIERS = frozenset(
    (
        "exactly only just more fewer less many much some several at both all every each enough another most about"
    ).split()
)
_NEGATIVES = {
    "a": "no", "an": "no", "any": "no", "some": "no", "anyone": "no one", "anybody": "nobody", "someone": "no one",
    "somebody": "nobody", "anything": "nothing", "something": "nothing",
}  # fmt: skip
_LIKE_ADVERBS = frozenset({"brand", "horseback", "latex"})  # "brand new": the noun belongs to what follows
_NOUNS = frozenset(
    {"hydrant", "moped", "topping", "toppings", "uniform"}
)  # what the tagger takes for adjectives or verbs
_DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})
_MEDIA = frozenset("image picture photo photograph figure scene video chart map table".split())
# colours, materials, shapes and sports that English dictionaries list as nouns only
_SAID_OF_THINGS = frozenset("azure emerald teal indigo crimson linen denim marble semicircle surf".split())
COLORS = frozenset("black blue brown gold gray green grey orange pink purple red silver tan white yellow".split())
_SIDES = frozenset("left right top bottom center centre middle".split())
_UNKNOWN = -20.0
# heads of compounds ("traffic light") that are adjectives too
_COMPOUND_HEADS = frozenset({"light", "lights"})

# One letter a word, so that the grammar of a subject is a regular expression over letters.
_CLASSES = (
    ("XX", "X"), ("EX", "T"), ("PN", "T"), ("POS", "S"), ("AT", "D"), ("DPS", "D"), ("DT", "D"), ("CRD", "C"),
    ("ORD", "A"), ("AJ", "A"), ("NN", "N"), ("NP", "N"), ("ZZ", "N"), ("UNC", "N"), ("AV", "R"), ("PRF", "O"),
    ("PR", "P"), ("TO", "P"), ("CJC", "&"), ("VVG", "G"), ("VVN", "E"), ("VVD", "E"), ("V", "V"),
)  # fmt: skip
# M is a demonstrative: a determiner ("this dog") or the whole subject ("this")
_SIMPLE = r"(?:[DMS]*(?:R*[ACN]*S)*[DM]*(?:R*[AC](?:&A)?)*[GE]?N+C?|[DM]*T|[DM]*C|[DM]+[AG]|M|[DM](?=O))"
_SUBJECT = re.compile(rf"{_SIMPLE}(?:(?:[OP&]+|,&?){_SIMPLE})*")
_PLACE = re.compile(rf"(?:[PO&]+{_SIMPLE})+R*")


class Token(NamedTuple):
    """A word of a question, its part-of-speech tag (CLAWS C5), and where it stands."""

    text: str
    tag: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text.lower()


@lru_cache(maxsize=1)
def _tagger() -> Any:
    from HanTa import HanoverTagger

    return HanoverTagger.HanoverTagger("morphmodel_en.pgz")


def tag(text: str) -> list[Token]:
    """Split a text into tagged words.

    >>> [(t.text, t.tag) for t in tag("Is the sky sunny?")]
    [('Is', 'VBZ'), ('the', 'AT0'), ('sky', 'NN1'), ('sunny', 'AJ0'), ('?', 'PUN')]
    """
    spans = [(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]
    if not spans:
        return []
    tagged = _tagger().tag_sent([capped(word) for word, _, _ in spans])
    return [Token(word, label, a, b) for (word, a, b), (_, _, label) in zip(spans, tagged, strict=True)]


def flip(question: str) -> Rewrite:
    """Negate the main auxiliary of a yes/no question.

    Parameters
    ----------
    question
        One question. A clause before it ("According to the map, ...") and an instruction after it ("Please answer yes
        or no.") keep their places.

    Returns
    -------
    Rewrite
        The negated question and its rule: `polar.no` ("a dog" becomes "no dog"), `polar.not` ("not" after the
        subject), `polar.unnot` (the "not" of a negated question taken away).

    Raises
    ------
    NoRule
        The question has no auxiliary to negate, or the end of its subject cannot be found.

    Examples
    --------
    >>> flip("Is there a dog in the image?")
    Rewrite(prompt='Is there no dog in the image?', rule='polar.no')
    >>> flip("Does the cat sit in this image? Please answer yes or no.").prompt
    'Does the cat not sit in this image? Please answer yes or no.'
    >>> flip("Is the cat not asleep?")
    Rewrite(prompt='Is the cat asleep?', rule='polar.unnot')
    """
    clause = question_clause(question)
    if clause[1].word == "there":
        return _flip_there(question, clause)
    end = subject_end(clause)
    if end is None:
        raise NoRule(question, "the end of its subject cannot be found")
    if clause[end].word == "not":
        return Rewrite(question[: clause[end - 1].end] + question[clause[end].end :], "polar.unnot")
    return _flip_quantified(question, clause) or Rewrite(_insert(question, clause[end - 1].end, " not"), "polar.not")


def question_clause(question: str) -> list[Token]:
    """The words from the main auxiliary to the end of the question, without the question mark."""
    mark = max(question.rfind("?"), question.rfind("？"))
    words = tag(question if mark < 0 else question[:mark])
    stops = [i for i in range(len(words) - 1) if _ends_sentence(words, i)]
    sentence = words[stops[-1] + 1 :] if stops and mark >= 0 else words
    opens = [i for i, token in enumerate(sentence) if token.word in AUXILIARIES and _follows_comma(sentence, i)]
    if not opens:
        first = sentence[0].word if sentence else ""
        raise NoRule(question, f"no auxiliary opens the question or follows a comma (it opens with {first!r})")
    conditional = any(token.word == "if" for token in sentence[: opens[0]])
    clause = sentence[opens[-1 if conditional else 0] :]
    while clause and clause[-1].text in {".", "!", "?"}:
        clause = clause[:-1]
    if len(clause) < 3:
        raise NoRule(question, "nothing follows the auxiliary")
    return clause


def _follows_comma(sentence: list[Token], i: int) -> bool:
    return i == 0 or sentence[i - 1].word in {",", "，", ":", "then"}


def _ends_sentence(words: list[Token], i: int) -> bool:
    """Whether a sentence ends here; it does not inside a quotation or after an initial ("John F. Kennedy", "U.S.")."""
    quoted = sum(t.text in _QUOTES for t in words[:i]) % 2 == 1
    if quoted or words[i].text not in {".", "!", ";", "?", "？"}:
        return False
    initial = i > 0 and words[i].text == "." and re.fullmatch(r"(?:[^\W\d_]\.)*[A-Z]", words[i - 1].text)
    return not initial and words[i + 1].text[0].isupper()


def _insert(question: str, at: int, text: str) -> str:
    return question[:at] + text + question[at:]


def _replace(question: str, token: Token, text: str) -> str:
    return question[: token.start] + text + question[token.end :]


def _flip_there(question: str, clause: list[Token]) -> Rewrite:
    head = clause[2]
    if head.word in {"no", "not", "none", "nothing"}:
        raise NoRule(question, "it is negated already")
    if head.word in _NEGATIVES:
        return Rewrite(_replace(question, head, _NEGATIVES[head.word]), "polar.no")
    if _letter(head) in "ANGE" and head.word not in _QUANTIFIERS:
        return Rewrite(_insert(question, head.start, "no "), "polar.no")
    return Rewrite(_insert(question, head.start, "not "), "polar.not")


def _flip_quantified(question: str, clause: list[Token]) -> Rewrite | None:
    """Negate before the quantifier of an indefinite subject, because "not" behind it would leave the answer open.

    "Is a dog not asleep?" can be true beside "Is a dog asleep?"; "Is no dog asleep?" cannot.
    """
    head, then = clause[1], clause[2]
    if head.word in _NEGATIVES:
        none_of = then.word == "of" and head.word in {"any", "some"}
        return Rewrite(_replace(question, head, "none" if none_of else _NEGATIVES[head.word]), "polar.no")
    if head.word in _QUANTIFIERS or (head.tag == "CRD" and not head.text[0].isdigit()):
        return Rewrite(_insert(question, head.start, "not "), "polar.not")
    # "Asians" are a people, "China's" is whose
    name = head.text[0].isupper() or head.text.endswith(("'s", "’s"))
    if head.tag == "NN2" and not name and then.tag not in {"POS", "NP0"}:
        return Rewrite(_insert(question, head.start, "no "), "polar.no")
    return None


def _letter(token: Token) -> str:
    if token.word in {"'s", "’s"} or token.word.endswith(("'s", "’s", "s'", "s’")):
        return "S"
    if token.word in _DEMONSTRATIVES:
        return "M"
    if token.word in _LIKE_ADVERBS:
        return "R"
    if token.word in _NOUNS:
        return "N"
    if token.text in {"=", "<", ">", "≤", "≥", "≠"}:
        return "="
    if token.text in {"+", "-", "−", "*"}:
        return "&"
    if token.text in {",", "，"}:
        return ","
    if token.text in {"∠", "△"}:
        return "D"
    if token.word == "worldwide":
        return "C"  # stands behind its noun
    if token.word == "aged":
        return "O"  # "the population aged between 15 and 29"
    if token.text in {"BE", "AM", "DO"} or re.search("[a-z][A-Z]", token.text):
        return "N"  # a line of a figure, "angleA"
    if token.text[0].isdigit():
        return "C"
    if token.tag.startswith("AV") and _reading(token.text, "AV") < _UNKNOWN:
        return "N"  # the tagger guessed: an unknown word is a name more often than an adverb
    return next((letter for prefix, letter in _CLASSES if token.tag.startswith(prefix)), "?")


def letters_of(clause: list[Token]) -> str:
    """The clause with one letter for each word; words in quotation marks or brackets count as names."""
    letters, quoted = [], False
    for token in clause:
        if token.text in _QUOTES or token.text == "()"[quoted]:
            quoted = not quoted
            letters.append("N")
        else:
            letters.append("N" if quoted else _letter(token))
    for i in range(1, len(clause)):
        letters[i] = _in_context(clause, letters, i)
    return "".join(letters)


def _in_context(clause: list[Token], letters: list[str], i: int) -> str:
    """The letter of a word, corrected by its neighbours and by how it is written."""
    token, before = clause[i], letters[i - 1]
    then = letters[i + 1] if i + 1 < len(letters) else ""
    if token.text[0].isupper() and letters[i] in "AVRGED?" and token.tag not in {"XX0", "DPS"} and token.text != "The":
        return "N"  # a capital inside a question: a name
    if token.text == "." and re.fullmatch(r"(?:[A-Z]\.)*[A-Z]", clause[i - 1].text):
        return "N"  # "U.S."
    counted = any(word.word == "number" for word in clause[:i])
    if letters[i] == "C" and before == "N" and clause[i - 1].text[0].isupper() and i > 2 and not counted:
        return "N"  # "Reply 1988"
    if token.word in _SIDES and before in "PDMC":
        return "A" if then and then in "ANC" and not (then == "A" and _compares(clause[i + 1])) else "N"
    if token.text in COLORS and letters[i] == "N" and before == "N":
        return "A"  # "the soup in the bowl green": said of the soup
    if token.word in _MEDIA and before == "M":
        return "N"  # "this figure"
    if token.word in {"most", "more", "fewer", "less"} and letters[i] == "R" and then == "N":
        return "A"  # "the most filings"
    return letters[i]


def _compares(token: Token) -> bool:
    return token.tag == "AJC" or token.word in {"different", "same", "equal", "identical", "parallel"}


def subject_end(clause: list[Token]) -> int | None:
    """The index of the first word after the subject of a clause that opens with its auxiliary, or None.

    Every prefix that can be a noun phrase is tried; the one whose remainder best starts a predicate wins, the shortest
    among equals.
    """
    letters = letters_of(clause)
    if letters[1:3] == "MD":
        return 2  # "Is that a group of ducks swimming?"
    # "Is Switzerland, the leading country?": a comma too many
    named = re.match(r"VD?N+(?:,N+)*,(?=D)", letters)
    if named and clause[0].word in BE:
        return named.end()
    words = [token.word for token in clause]
    if words[1:3] == ["the", "formula"] and "representative" in words:
        return words.index("representative")
    inside = _inside_quotes(clause)
    best, best_worth = None, 0.0
    for end in range(2, len(clause)):
        if inside[end] or not _SUBJECT.fullmatch(letters, 1, end):
            continue
        worth = _predicate_worth(clause, letters, end) - (0.5 if letters[1:end] == "M" else 0)
        if worth > best_worth:
            best, best_worth = end, worth
    if best is None and clause[0].word in DO and not letters[1:-1].strip("DMACNS"):
        return len(clause) - 1 if _reading(clause[-1].text, "VV") > -math.inf else None
    return best


def _inside_quotes(clause: list[Token]) -> list[bool]:
    """Whether a quotation is open before each word."""
    inside, open_ = [], False
    for token in clause:
        inside.append(open_)
        open_ ^= token.text in _QUOTES
    return inside


def _predicate_worth(clause: list[Token], letters: str, end: int) -> float:
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
        if not _PLACE.fullmatch(letters, end) or (letters.endswith("NN") and _compares(clause[-1])):
            return 0.5
        # "the bowl with broccoli on top": what a thing has belongs to the thing
        if [t.word for t in clause[end:]] in (["in", "color"], ["in", "colour"]):
            return 0.55  # "green in color"
        return 0.8 if _in_the_medium(clause[end:]) else 0.9 if clause[end].word in {"with", "without"} else 2
    if first == "N":
        return 1 if _describes(clause[end].text) else 0.6
    return 0.7 if first == "V" else 0


def _verb_worth(clause: list[Token], letters: str, end: int) -> float:
    """How well a verb follows do, have or a modal, perhaps after an adverb; released questions sometimes lack it."""
    perfect = clause[0].word in HAVE
    for verb in (end, end + 1) if letters[end] == "R" and end + 1 < len(clause) else (end,):
        if letters[verb] == "V" or (perfect and letters[verb] == "E"):
            return 3
        noun = letters[verb] == "N" and clause[verb].word not in _NOUNS
        if noun and _reading(clause[verb].text, "VV") > -math.inf:
            return 1
    return 0.2 if letters[end] == "G" else 0.4 if letters[end] in "AREN" else 0


def _in_the_medium(words: list[Token]) -> bool:
    """Whether the words say no more than "in this image"."""
    if len(words) != 3 or words[2].word not in _MEDIA:
        return False
    return words[0].word == "in" or (words[0].word == "on" and words[2].word != "table")


def _describes(word: str) -> bool:
    """Whether a word tagged as a noun can be the predicate, as in "Is the sea calm?"."""
    word = word.lower()
    if word in _SAID_OF_THINGS:
        return True
    noun = _reading(word, "NN")
    verb = max(_reading(word, label) for label in ("VVI", "VVB", "VVG"))
    return word not in _COMPOUND_HEADS and (_reading(word, "AJ") > noun - 2.5 or verb > noun - 0.9)


def _reading(word: str, prefix: str) -> float:
    """The tagger's log probability of the word under the tags that start with `prefix`."""
    scores = [float(score) for label, score in _tagger().tag_word(word.lower()) if label.startswith(prefix)]
    return max(scores, default=-math.inf)
