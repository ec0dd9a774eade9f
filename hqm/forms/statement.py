"""Put a question into the order of a statement: the auxiliary moves behind its subject, do and did
merge into the verb.

    is the bowl with broccoli on top of the bowl   ->  the bowl with broccoli is on top of the bowl
    does the woman have on her wrist               ->  the woman has on her wrist

The end of the subject is found as for flipping (`hqm.forms.polar`), but more cautiously: where a
noun is followed by words that could be the predicate themselves ("the man holding a stick
successful in ..."), nothing is guessed.
"""

from __future__ import annotations

import re

from hqm.forms.grammar import (
    AUXILIARIES,
    BE,
    COLORS,
    DO,
    QUOTES,
    Token,
    inside_quotes,
    letters_of,
    subject_end,
    tag,
    verb_behind,
)

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


def as_statement(body: str, clause: list[Token], asks: str = "", whole: bool = False) -> str | None:
    """The clause in the order of a statement: the auxiliary behind its subject.

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
    >>> as_statement("Does the man have a hat", tag("Does the man have a hat"))
    'the man has a hat'
    >>> as_statement("is the design on the snowboard", tag("is the design on the snowboard"), "what", whole=True)
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
        or _is_sure(clause[min(end, len(clause) - 1)])
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


def _end_of_subject(clause: list[Token], asks: str, whole: bool) -> int | None:
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


def _end_by_word(clause: list[Token], known: str, asks: str) -> int | None:
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


def _fits(clause: list[Token], end: int) -> bool:
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


def _may_end_later(clause: list[Token], letters: str, end: int) -> bool:
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
    said = last.word in MATERIALS or (last.tag == "NN2" and clause[0].word in {"are", "were"})
    return letters[end] == "P" and letters.endswith("NN") and said


def _is_sure(token: Token) -> bool:
    return token.word in _SURE or token.text in QUOTES


def ends_in_a_verb(subject: list[Token]) -> bool:
    """Whether the last word may begin the predicate: "the woman surfing", where the tagger sees a
    compound.
    """
    from lemminflect import getAllLemmas

    last = subject[-1].word
    compound = len(subject) > 2 and subject[-2].tag.startswith(("NN", "UNC"))
    return compound and last.endswith("ing") and "VERB" in getAllLemmas(last)


def _hangs(clause: list[Token], i: int) -> bool:
    """Whether "like" has no object after it, as in "the weather like in the image"."""
    return (
        i + 1 == len(clause)
        or letters_of(clause)[i + 1] == "P"
        or clause[i + 1].word in _SUBORDINATE
    )


def _is_phrase(clause: list[Token], end: int) -> bool:
    """Whether the words from `end` on have no verb and do not end in a preposition."""
    letters = letters_of(clause)
    return not re.search(r"[VGXE]", letters[end:]) and letters[-1] != "P"


def _finite(clause: list[Token], end: int, body: str) -> str | None:
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


__all__ = ["MATERIALS", "PRONOUNS", "as_statement", "tag"]
