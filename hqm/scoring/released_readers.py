"""How released scorers read choices and short answers, so that their tables can be made again.

Each reader is written from the rules of its release, and `tests/test_released_readers.py` holds it
to what the released code gave on the corpus. Where a release draws a random option for an answer
that it cannot read, the answer is unread here.

    name        choices                                               short answers
    mmmu        MMMU's eval_utils.py                                  its eval_open
    mmmu_pro    MMMU-Pro's evaluate.py: "Answer:" before all else     as mmmu
    lmms_eval   lmms-eval's shared parser of MMMU-like tasks          as mmmu
    mathvista   MathVista's calculate_score.py: the likeliest option  whole numbers, decimals, lists
    inspect     inspect's multiple_choice: "ANSWER: X"                match(), at the end
    vlmevalkit  VLMEvalKit's can_infer: one letter, else one option   equal whole texts
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from hqm.scoring.choices import read_choice
from hqm.scoring.list_matching import ShortMatch
from hqm.scoring.short_answers import match_short, target_texts
from hqm.types import LETTERS, Item

# --- MMMU and what came from it ---


def _last_letter(
    text: str, options: Sequence[str], patterns: Sequence[str], end_pattern: str
) -> str | None:
    """The letter that stands last, by the first of these patterns that finds any; else the option
    that is named last in a text of more than five words.
    """
    for mark in (",", ".", "!", "?", ";", ":", "'"):
        text = text.strip(mark)
    text = f" {text} "
    letters = LETTERS[: len(options)]
    for pattern in patterns:
        letters_found = [letter for letter in letters if pattern.format(letter) in text]
        if letters_found:
            last_pattern = pattern if pattern == "({})" else end_pattern
            return max(letters_found, key=lambda letter: text.rfind(last_pattern.format(letter)))
    if len(text.split()) <= 5:
        return None
    lowered = text.lower()
    ends = {
        letter: lowered.rfind(option.lower())
        for letter, option in zip(letters, options, strict=True)
        if option.lower() in lowered
    }
    return max(ends, key=ends.__getitem__, default=None)


def mmmu_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter that `parse_multi_choice_response` of MMMU reads."""
    return _last_letter(text, options, ("({})", " {} "), " {} ")


def lmms_eval_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter that `parse_mmmu_multi_choice_response` of lmms-eval reads.

    A letter at the end of a word counts, as in "DNA is": so does its release.
    """
    return _last_letter(text, options, ("({})", "{} ", "{}."), " {} ")


def mmmu_pro_choice(text: str, options: Sequence[str]) -> str | None:
    """The letter that `parse_multi_choice_response` of MMMU-Pro reads."""
    start = text.rfind("Answer:")
    if start >= 0:
        tail = text[start + len("Answer:") :].strip()
        letters_found = [letter for letter in LETTERS[: len(options)] if letter in tail]
        if len(letters_found) == 1:
            return letters_found[0]
    return lmms_eval_choice(text, options)


_CUES = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_NUMBERS = (
    r"-?\b\d{1,3}(?:,\d{3})+\b",
    r"-?\d+(?:\.\d+)?[eE][+-]?\d+",
    r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d+)(?![,\d])",
)


def mmmu_short(text: str, targets: Sequence[str]) -> bool:
    """Whether `parse_open_response` and `eval_open` of MMMU take an answer for right."""
    phrases = _mmmu_phrases(text)
    numbers: list[str] = []
    for phrase in phrases:
        for pattern in _NUMBERS:
            numbers += re.findall(pattern, phrase)
    values = chain.from_iterable(map(_mmmu_value, (*phrases, *numbers)))
    keys = list(chain.from_iterable(map(_mmmu_value, map(str, targets))))
    return any(_is_mmmu_match(value, keys) for value in values)


def _mmmu_phrases(text: str) -> list[str]:
    """The phrases in which MMMU's release looks for an answer, those behind a word that announces
    it.
    """
    sentences = re.split(r"\.\s(?=[A-Z])|\n", text.strip().strip(".").lower())
    phrases = []
    for index, sentence in enumerate(sentences):
        cues = (*_CUES, "=") if index == len(sentences) - 1 else _CUES
        # the release takes the shortest tail, and replaces one that is empty
        shortest = None
        for cue in cues:
            if cue in sentence:
                tail = sentence.split(cue)[-1].strip()
                if not shortest or len(tail) < len(shortest):
                    shortest = tail
        if shortest and shortest not in (":", ",", ".", "!", "?", ";", "'"):
            phrases.append(shortest)
    return phrases or [text.strip().strip(".").lower()]


def _is_mmmu_match(value: float | str, keys: Sequence[float | str]) -> bool:
    """Whether a number is among the keys, or a text contains one of them."""
    if not isinstance(value, str):
        return value in keys
    return any(isinstance(key, str) and key in value for key in keys)


def _mmmu_value(text: str) -> list[float | str]:
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
    letters_found = re.findall(r"\(([a-zA-Z])\)", text)
    if letters_found:
        text = letters_found[0].upper()
    letters = LETTERS[: len(options)]
    if text in tuple(letters):
        return text
    distances = [_distance(text, option) for option in options]
    return letters[distances.index(min(distances))]


def _distance(text: str, target: str) -> int:
    """Return Levenshtein's distance of two texts."""
    row = list(range(len(target) + 1))
    for i, text_letter in enumerate(text, 1):
        diagonal, row[0] = row[0], i
        for j, target_letter in enumerate(target, 1):
            replaced = diagonal + (text_letter != target_letter)
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, replaced)
    return row[-1]


def mathvista_short(text: str, kind: str, precision: float | None) -> str | None:
    """The value that `normalize_extracted_answer` of MathVista makes of an extraction that is a
    whole number (`integer`), a decimal (`float`) or a list; None for another text.
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
    letters = tuple(LETTERS[: len(options)])
    return tokens[0] if len(tokens) == 1 and tokens[0] in letters else None


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
        if any(phrase in text for phrase in _REJECTIONS):
            return None
        words = re.sub(r"[.()\[\],:;!*#{}]", " ", text).split()
        letters_found = [letter for letter in letters if letter in words]
        if len(letters_found) == 1 and words.index(letters_found[0]) > len(words) - 5:
            return letters_found[0]
        if not letters_found and "Z" in words:
            return None
        verbose = re.search(r"(?i)(?:correct\s+)?answer\s+is\s+\**([ABCD])\**", text)
        if verbose and verbose[1].upper() in letters:
            return verbose[1].upper()
    lowered = text.lower()
    if len(lowered) > 2 * sum(map(len, options)):
        return None
    letters_named = [
        letter for letter, option in zip(letters, options, strict=True) if option.lower() in lowered
    ]
    return letters_named[0] if len(letters_named) == 1 else None


# --- the readers by the name of their parser ---

ChoiceReader = Callable[[str, Sequence[str], str], str | None]
ShortReader = Callable[[str, Item], ShortMatch | None]


def _ignore_question(read: Callable[[str, Sequence[str]], str | None]) -> ChoiceReader:
    """Return a reader of choices that does not look at the question."""
    return lambda text, options, _: read(text, options)


def _match_targets(is_right: Callable[[str, Sequence[str]], bool]) -> ShortReader:
    """Return a reader that says whether an answer is right, and not what it read."""
    return lambda text, item: ShortMatch(is_right(text, target_texts(item)), text.strip())


def _equals_target(text: str, targets: Sequence[str]) -> bool:
    return text.strip() in targets


def _match_mathvista(text: str, item: Item) -> ShortMatch | None:
    kind = str(item.meta.get("answer_type") or "text")
    read = mathvista_short(text, kind, item.meta.get("precision"))
    return None if read is None else ShortMatch(read == str(item.target), read)


CHOICES: Mapping[str, ChoiceReader] = MappingProxyType(
    {
        "strict": read_choice,
        "mmmu": _ignore_question(mmmu_choice),
        "mmmu_pro": _ignore_question(mmmu_pro_choice),
        "lmms_eval": _ignore_question(lmms_eval_choice),
        "mathvista": _ignore_question(mathvista_choice),
        "inspect": _ignore_question(inspect_choice),
        "vlmevalkit": _ignore_question(vlmevalkit_choice),
    }
)
SHORT_ANSWERS: Mapping[str, ShortReader] = MappingProxyType(
    {
        "strict": match_short,
        "mmmu": _match_targets(mmmu_short),
        "mmmu_pro": _match_targets(mmmu_short),
        "lmms_eval": _match_targets(mmmu_short),
        "mathvista": _match_mathvista,
        "inspect": _match_targets(inspect_short),
        "vlmevalkit": _match_targets(_equals_target),
    }
)
