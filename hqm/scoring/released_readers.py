"""How released scorers read choices and short answers, so that their tables can be made again.

Each reader is written from the rules of its release, and `tests/test_released_readers.py` holds it
to what the released code gave on the corpus. Where a release draws a random option for an answer
that it cannot read, the answer is unread here.

    name        choices                                                  short answers
    mmmu        MMMU's eval_utils.py                                     its eval_open
    mmmu_pro    MMMU-Pro's evaluate.py: "Answer:" before all else        as mmmu
    lmms_eval   lmms-eval's shared parser of MMMU-like tasks             as mmmu
    mathvista   MathVista's calculate_score.py: the likeliest option     whole numbers, decimals, lists
    inspect     inspect's multiple_choice: "ANSWER: X"                   match(), at the end
    vlmevalkit  VLMEvalKit's can_infer: one letter, else one option      equal whole texts
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hqm.scoring.choices import read_choice
from hqm.scoring.short_answers import ShortMatch, match_short, texts_of
from hqm.types import LETTERS, Item

# --- MMMU and what came from it ---


def _last_named(
    text: str, options: Sequence[str], patterns: Sequence[str], at_end: str
) -> str | None:
    """The letter that stands last, by the first of these patterns that finds any; else the option
    that is named last in a text of more than five words.
    """
    for mark in (",", ".", "!", "?", ";", ":", "'"):
        text = text.strip(mark)
    text = f" {text} "
    letters = LETTERS[: len(options)]
    for pattern in patterns:
        written = [letter for letter in letters if pattern.format(letter) in text]
        if written:
            place = pattern if pattern == "({})" else at_end
            return max(written, key=lambda letter: text.rfind(place.format(letter)))
    if len(text.split()) <= 5:
        return None
    lower = text.lower()
    named = [
        letter for letter, option in zip(letters, options, strict=True) if option.lower() in lower
    ]
    return max(named, key=lambda a: lower.rfind(options[letters.index(a)].lower()), default=None)


def mmmu_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter that `parse_multi_choice_response` of MMMU reads."""
    return _last_named(text, options, ("({})", " {} "), " {} ")


def lmms_eval_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter that `parse_mmmu_multi_choice_response` of lmms-eval reads.

    A letter at the end of a word counts, as in "DNA is": so does its release.
    """
    return _last_named(text, options, ("({})", "{} ", "{}."), " {} ")


def mmmu_pro_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter that `parse_multi_choice_response` of MMMU-Pro reads."""
    place = text.rfind("Answer:")
    if place >= 0:
        behind = text[place + len("Answer:") :].strip()
        written = [letter for letter in LETTERS[: len(options)] if letter in behind]
        if len(written) == 1:
            return written[0]
    return lmms_eval_choice(text, options)


_KEYS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_NUMBERS = (
    r"-?\b\d{1,3}(?:,\d{3})+\b",
    r"-?\d+(?:\.\d+)?[eE][+-]?\d+",
    r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])",
)


def mmmu_short(text: str, targets: Sequence[str]) -> bool:
    """Whether `parse_open_response` and `eval_open` of MMMU take an answer for right."""
    parts = re.split(r"\.\s(?=[A-Z])|\n", text.strip().strip(".").lower())
    keys = []
    for i, part in enumerate(parts):
        marks = (*_KEYS, "=") if i == len(parts) - 1 else _KEYS
        tails = [part.split(mark)[-1].strip() for mark in marks if mark in part]
        # the release takes the shortest tail, and replaces one that is empty
        shortest = None
        for tail in tails:
            if not shortest or len(tail) < len(shortest):
                shortest = tail
        if shortest and shortest not in (":", ",", ".", "!", "?", ";", "'"):
            keys.append(shortest)
    keys = keys or [text.strip().strip(".").lower()]
    numbers = [
        number for key in keys for pattern in _NUMBERS for number in re.findall(pattern, key)
    ]
    read = [value for each in (*keys, *numbers) for value in _mmmu_value(each)]
    right = [value for target in targets for value in _mmmu_value(str(target))]
    return any(
        any(isinstance(each, str) and each in value for each in right)
        if isinstance(value, str)
        else value in right
        for value in read
    )


def _mmmu_value(text: str) -> list[Any]:
    """A number to two decimal places, else the lower-case text; one letter with a space beside
    it.
    """
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        text = text.lower()
        return [f" {text}", f"{text} "] if len(text) == 1 else [text]


# --- MathVista ---


def mathvista_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter of the option that `normalize_extracted_answer` of MathVista reads out of an
    extraction; it always reads one.
    """
    text = text.strip()
    written = re.findall(r"\(([a-zA-Z])\)", text)
    if written:
        text = written[0].upper()
    letters = LETTERS[: len(options)]
    if text in tuple(letters):
        return text
    distances = [_distance(text, option) for option in options]
    return letters[distances.index(min(distances))]


def _distance(text: str, other: str) -> int:
    """Levenshtein's distance."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(text, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def mathvista_short(text: str, kind: str, precision: float | None) -> str | None:
    """What `normalize_extracted_answer` makes of an extraction that is a whole number (`integer`),
    a decimal (`float`) or a list; None where it is no such thing.
    """
    try:
        if kind == "integer":
            return str(int(float(text)))
        if kind == "float":
            return str(round(float(text), int(precision or 0)))
    except (OverflowError, ValueError):
        return None
    return str(text)


# --- inspect ---


def inspect_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter that `parse_answers` of inspect reads behind the last "ANSWER:"."""
    matches = re.findall(
        r"(?i)^ANSWER\s*:\s*([A-Za-z\d ,]+)\s*(?:$|\n|\.)", text, flags=re.MULTILINE
    ) or re.findall(r"(?i)ANSWER\s*:\s*([A-Za-z\d ,]+)(?:[^\w]|\n|$|\.)", text)
    if not matches:
        return None
    tokens = [token for token in matches[-1].strip().rstrip(".").upper().split(",") if token]
    known = tuple(LETTERS[: len(options)])
    return tokens[0] if len(tokens) == 1 and tokens[0] in known else None


def inspect_short(text: str, targets: Sequence[str]) -> bool:
    """Whether `match()` of inspect takes an answer for right: it ends with a target, whatever its
    punctuation and case.
    """
    marks = string.whitespace + string.punctuation
    answer = text.strip().casefold().strip(marks)
    return any(answer.endswith(str(t).strip().casefold().strip(marks)) for t in targets)


# --- VLMEvalKit ---

_REJECTIONS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)


def vlmevalkit_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter that `can_infer` of VLMEvalKit reads; its Z, for a rejection, is unread."""
    letters = LETTERS[: len(options)]
    if "Failed to obtain answer via API" not in text:
        if any(each in text for each in _REJECTIONS):
            return None
        words = text
        for mark in ".()[],:;!*#{}":
            words = words.replace(mark, " ")
        split = words.split()
        written = [letter for letter in letters if letter in split]
        if len(written) == 1 and split.index(written[0]) > len(split) - 5:
            return written[0]
        if not written and "Z" in split:
            return None
        verbose = re.search(r"(?i)(?:correct\s+)?answer\s+is\s+\**([ABCD])\**", text)
        if verbose and verbose[1].upper() in letters:
            return verbose[1].upper()
    lower = text.lower()
    if len(lower) > 2 * sum(map(len, options)):
        return None
    named = [a for a, option in zip(letters, options, strict=True) if option.lower() in lower]
    return named[0] if len(named) == 1 else None


# --- the readers by the name of their parser ---

ChoiceReader = Callable[[str, Sequence[str], str], str | None]
ShortReader = Callable[[str, Item], ShortMatch | None]


def _of_text(read: Callable[[str, Sequence[str]], str | None]) -> ChoiceReader:
    """A reader of choices that does not look at the question."""
    return lambda text, options, _: read(text, options)


def _of_verdict(right: Callable[[str, Sequence[str]], bool]) -> ShortReader:
    """A reader that says whether an answer is right, and not what it read."""
    return lambda text, item: ShortMatch(right(text, texts_of(item)), text.strip())


def _equal(text: str, targets: Sequence[str]) -> bool:
    return text.strip() in targets


def _mathvista(text: str, item: Item) -> ShortMatch | None:
    kind = str(item.meta.get("answer_type") or "text")
    read = mathvista_short(text, kind, item.meta.get("precision"))
    return None if read is None else ShortMatch(read == str(item.target), read)


CHOICES: Mapping[str, ChoiceReader] = MappingProxyType(
    {
        "strict": read_choice,
        "mmmu": _of_text(mmmu_choice),
        "mmmu_pro": _of_text(mmmu_pro_choice),
        "lmms_eval": _of_text(lmms_eval_choice),
        "mathvista": _of_text(mathvista_choice),
        "inspect": _of_text(inspect_choice),
        "vlmevalkit": _of_text(vlmevalkit_choice),
    }
)
SHORT_ANSWERS: Mapping[str, ShortReader] = MappingProxyType(
    {
        "strict": match_short,
        "mmmu": _of_verdict(mmmu_short),
        "mmmu_pro": _of_verdict(mmmu_short),
        "lmms_eval": _of_verdict(mmmu_short),
        "mathvista": _mathvista,
        "inspect": _of_verdict(inspect_short),
        "vlmevalkit": _of_verdict(_equal),
    }
)
