"""Texts that stores and files can hold, and whether a text holds words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hqm.errors import DataError

REPLACED = "what cannot be stored"
"""The note in the detail of a response in which something was replaced."""
SHORT = 200
"""Answers up to this many characters are kept and scored once, however often they are given."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_MAX_DEPTH = 50
_MAX_CHARS = 1000
_INVISIBLE = re.compile(
    r"[\s\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\ufffd\x00-\x1f\x7f-\x9f\xad]+"
)
MAX_NAME_CHARS = 200
"""Characters of a name at most: of a model, a judge, a rater, an item, a type, a benchmark."""
MAX_ADDRESSED_CHARS = 1_000
"""Characters at most of a model's name with its address and its settings."""
MAX_TEXT_CHARS = 1_000_000
"""Characters of a question or of an answer at most."""
KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|gsk)[-_][A-Za-z0-9_-]{0,40}?[A-Za-z0-9]{12,}"
    r"|(?:hf|xai|tok|token|key|pplx|nvapi|glpat|r8)[-_][A-Za-z0-9_-]{0,40}?[A-Za-z0-9]{16,}"
    r"|AIza[A-Za-z0-9_-]{16,}"
    r"|ya29\.[A-Za-z0-9_-]{16,}"
    r"|(?:gh[opsur]|github_pat)_[A-Za-z0-9_]{16,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r")[A-Za-z0-9._-]*"
)
"""Keys of servers and web tokens, by how they begin. Behind a beginning that words have too stands
a run of letters and digits that no name of a model has: `xai-org_grok-2-vision` is none."""
_ACTING_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that move a cursor, end a line or turn the direction of the text that follows, and
halves of surrogate pairs, which no file can hold.
"""
_CREDENTIALS = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,20}:/{2,3})[^\s/?#@]{0,400}@")
_TERMINAL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_THINKING = re.compile(r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def storable(value: object, depth: int = 0) -> Any:
    """A copy of the value that a store can hold; the value itself where nothing needs replacing.

    Half a surrogate pair and NUL become U+FFFD, a number that JSON does not have becomes None, and
    an object that is no JSON, or is nested too deeply, becomes its text.

    >>> storable({"token": "Yes \\ud800", "logprob": float("-inf")})
    {'token': 'Yes \ufffd', 'logprob': None}
    """
    # the most frequent types come first: the detail of every answer passes here
    if type(value) is float:
        if math.isfinite(value):
            return value
        return None
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        # `sub` returns the same object where nothing matches, which callers compare by identity
        return _UNSTORABLE.sub("\ufffd", value)
    if value is None or type(value) is bool:
        return value
    if isinstance(value, int):
        if value.bit_length() < 64:
            return value
        return None
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None
    # the comparison of the type spares dicts the slow check against an abstract class
    if depth < _MAX_DEPTH and (type(value) is dict or isinstance(value, Mapping)):
        return _storable_mapping(value, depth + 1)
    if depth < _MAX_DEPTH and isinstance(value, (list, tuple)):
        return _storable_sequence(value, depth + 1)
    try:
        return storable(str(value)[:_MAX_CHARS])
    except (RecursionError, ValueError):
        # nested too deeply even for its text, or a number with too many digits
        return type(value).__name__


def _storable_mapping(mapping: Mapping[Any, Any], depth: int) -> Mapping[str, Any]:
    """A storable copy of a mapping; the mapping itself where nothing needs replacing."""
    # almost no mapping needs a copy, so that one is made only after the first such member
    for key, member in mapping.items():
        if not isinstance(key, str) or storable(key) is not key:
            break
        # numbers, which are most members, are judged here: a call takes longer than the comparison
        is_finite = type(member) is float and math.isfinite(member)
        if not is_finite and storable(member, depth) is not member:
            break
    else:
        return mapping
    members = {}
    for key, member in mapping.items():
        members[storable(key if isinstance(key, str) else str(key), depth)] = storable(
            member, depth
        )
    return members


def _storable_sequence(sequence: Sequence[object], depth: int) -> Sequence[object]:
    """A storable list of a sequence; the sequence itself where nothing needs replacing."""
    members = [storable(member, depth) for member in sequence]
    pairs = zip(members, sequence, strict=True)
    if all(member is original for member, original in pairs):
        return sequence
    return members


@lru_cache(maxsize=4096)
def has_words(text: str) -> bool:
    """Whether a text holds more than white space, invisible characters and leading reasoning.

    >>> has_words("Yes"), has_words(" \\u200b\\n"), has_words("<think>Let me see")
    (True, False, False)
    >>> has_words("<think>Hm</think>No")
    True
    """
    # A pattern on every answer would cost more than the look at its beginning.
    if "<think" in text[:40].lower() and _THINKING.match(text):
        text = _THINKING.sub("", text, count=1)
    return _INVISIBLE.fullmatch(text) is None and text != ""


def visible_text(text: str) -> str:
    """A text without the characters that are not seen, such as a zero-width space."""
    if text.isascii():
        return text
    return "".join(letter for letter in text if unicodedata.category(letter) != "Cf")


def plain_name(name: str) -> str:
    """A name as it is displayed: composed characters, no invisible ones, single spaces.

    >>> plain_name("m\\u200ba "), plain_name("cafe\\u0301") == "caf\\u00e9"
    ('ma', True)
    """
    if not name.isascii():
        name = visible_text(unicodedata.normalize("NFC", name))
    return " ".join(name.split())


def check_name(name: str, subject: str, location: str = "") -> str:
    """The name itself, if files, pages and terminals can have it.

    >>> check_name("llava-1.5-7b", "respondent's name")
    'llava-1.5-7b'

    Raises
    ------
    DataError
        It is longer than `MAX_NAME_CHARS`, looks like a key or holds a password (which are not
        repeated), or holds a character that acts on the text around it.
    """
    if len(name) > MAX_NAME_CHARS:
        raise DataError(
            f"the {subject} {name[:40]!r}... has {len(name):,} characters, more than"
            f" {MAX_NAME_CHARS}",
            location=location,
            remedy="Shorten it.",
        )
    if KEY.search(name):
        raise DataError(
            f"the {subject} looks like a key",
            location=location,
            remedy="A name is stored and printed. Write another one in place of the key.",
        )
    if _CREDENTIALS.search(name):
        raise DataError(
            f"the {subject} holds an address with a user's name or password",
            location=location,
            remedy="A name is stored and printed. Leave them out of the address.",
        )
    if acting := _ACTING_CHARACTERS.search(name):
        raise DataError(
            f"the {subject} {name!r:.80} holds the control character U+{ord(acting[0]):04X}",
            location=location,
            remedy="Take it out of the name.",
        )
    return name


def check_address(address: str, location: str = "") -> str:
    """The web address of a picture itself, if it holds no user's name and no password.

    Raises
    ------
    DataError
        It holds one, which is not repeated.
    """
    if _CREDENTIALS.search(address):
        raise DataError(
            "the picture's address holds a user's name or password",
            location=location,
            remedy="An address is stored and printed. Fetch the pictures into a folder.",
        )
    return address


def without_credentials(text: str) -> str:
    """A text without the users' names and passwords of its web addresses.

    >>> without_credentials("see http://a:pw@host/x.png")
    'see http://host/x.png'
    """
    if "@" in text:
        return _CREDENTIALS.sub(r"\1", text)
    return text


def check_length(text: str, subject: str, location: str = "") -> str:
    """The text itself, if it has at most `MAX_TEXT_CHARS` characters.

    Raises
    ------
    DataError
        It is longer.
    """
    if len(text) > MAX_TEXT_CHARS:
        raise DataError(
            f"the {subject} has {len(text):,} characters, more than {MAX_TEXT_CHARS:,}",
            location=location,
            remedy="Shorten it; a picture belongs into a file of its own.",
        )
    return text


def visible(text: str) -> str:
    """Show the characters that would act on a terminal as escapes; lines and tabs stay.

    >>> visible("a\\x1b[2J") == "a\\\\x1b[2J", visible("two\\nlines") == "two\\nlines"
    (True, True)
    """
    if text.isascii() and text.isprintable():
        return text
    return _TERMINAL_CHARACTERS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_LOOK_ALIKES = str.maketrans(
    "АВЕКМНОРСТУХЅІЈавекмнорстухѕіјԁԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορικυχτ‐‑‒–—−’‘ʼ",
    "ABEKMHOPCTYXSIJabekmhopctyxsijdqwABEZHIKMNOPTYXavopikuxt------'''",
)
"""Letters of other scripts, dashes and apostrophes -> the Latin ones that they look like."""


def look_of(name: str) -> str:
    """A name as a reader takes it in: without differences of case, white space and invisible
    characters, and with the Latin letters that those of other scripts look like.

    >>> look_of("M0\\u00a0 "), look_of("\\u0430nna") == look_of("Anna"), look_of("GPT\\u20114o")
    ('m0', True, 'gpt-4o')
    """
    if not name.isascii():
        # NFKC, so that letters of full width and ligatures look like plain ones.
        name = visible_text(unicodedata.normalize("NFKC", name.translate(_LOOK_ALIKES)))
    return " ".join(name.casefold().split())


_WHOLE_NUMBER = re.compile(r"0*(\d+)(?:\.0+)?", re.ASCII)


def look_of_id(name: str) -> str:
    """An id as `look_of` takes it in; one that is a whole number is that number, however tools
    write it.

    >>> look_of_id("007"), look_of_id("7.0"), look_of_id("Q7")
    ('7', '7', 'q7')
    """
    look = look_of(name)
    number = _WHOLE_NUMBER.fullmatch(look)
    return look if number is None else number[1]


def unique_columns(names: Sequence[str], location: str) -> None:
    """Check that no two columns of a heading have one name.

    Raises
    ------
    DataError
        Two columns have one name.
    """
    for name in names:
        if names.count(name) > 1:
            message = f"the column {name!r} stands twice"
            remedy = "Rename or remove one of the two."
            raise DataError(message, location=location, remedy=remedy)


def annotation(level: str, title: str, text: str, file: str = "") -> str:
    """Return the GitHub workflow command that shows a note on a run's page, at a file if named.

    >>> annotation("warning", "mine: D101", "two, of 3%", "items.jsonl")
    '::warning file=items.jsonl,title=mine%3A D101::two, of 3%25'
    """
    properties = []
    for name, value in (("file", file), ("title", title)):
        if value:
            escaped = _escaped(value).replace(":", "%3A").replace(",", "%2C")
            properties.append(f"{name}={escaped}")
    return f"::{level} {','.join(properties)}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


_PLURAL = re.compile(
    r"^1 (?!of\b)((?:[\w-]+ )*?)([\w-]+?)s((?: of [\w ]+?)?)"
    r" (have|are|cannot|carry|ask|begin|contain|end|give|lack|list|look|occur|open|repeat|say"
    r"|share|show|speak|stand)\b(.*)$",
    re.DOTALL,
)
_IRREGULAR_VERBS = {"have": "has", "are": "is", "carry": "carries", "cannot": "cannot"}


DASH = "–"
"""What stands where there is no number."""


def decimal_text(value: float, digits: int) -> str:
    """A number with fixed digits and a typographic minus sign; a dash for one that is not finite.

    >>> decimal_text(-0.5, 1), decimal_text(-0.0004, 3), decimal_text(math.nan, 1)
    ('−0.5', '0.000', '–')
    """
    if not math.isfinite(value):
        return DASH
    text = f"{value:.{digits}f}"
    # A number that is rounded to zero has no sign: -0.0004 would read as -0.000.
    if float(text) == 0:
        return text.lstrip("-")
    # U+2212 is as wide as a digit, so that columns of numbers align, and no line is broken after
    # it.
    return text.replace("-", "−")


def agreeing(sentence: str) -> str:
    """Return a sentence in the singular where it counts one; any other as it is.

    >>> agreeing("1 questions contain their answer"), agreeing("2 ids have spaces")
    ('1 question contains its answer', '2 ids have spaces')
    """
    match = _PLURAL.match(sentence)
    if match is None:
        return sentence
    adjectives, noun, qualifier, verb, ending = match.groups()
    singular = _IRREGULAR_VERBS.get(verb, f"{verb}s")
    ending = re.sub(r"^ their\b", " its", ending)
    return f"1 {adjectives}{noun}{qualifier} {singular}{ending}"
