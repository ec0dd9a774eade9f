"""What an item shows beside its picture: levels of single cues, of the question's surface, of its
options, and of what no respondent sees, its place in the file and its number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np

from hqm.psychometrics.inference.cross_validation import LabelledItems, Questions, factorize, words
from hqm.psychometrics.result import IntArray

Levels = dict[str, tuple[IntArray, int]]
"""Cue -> each item's level as a number, and how many levels there are."""

NUMBER_WORDS = frozenset("one two three four five six seven eight nine ten several many".split())
NEGATION_WORDS = frozenset("no not never none without nobody nothing".split())

POSITION_CUES = (
    "odd or even place",
    "place within the cluster",
    "tenth of the file",
    "label before",
)
NUMBERING_CUES = (
    "letters of the id",
    "tenth of the number",
    "odd or even number",
    "last digit",
)
HIDDEN_CUES = frozenset((*POSITION_CUES, *NUMBERING_CUES))
"""Cues of the file, which a respondent that is asked item by item does not see."""


def _numbered(
    levels: Sequence[Hashable], text_index: IntArray | None = None
) -> tuple[IntArray, int]:
    number, distinct = factorize(levels)
    return number if text_index is None else number[text_index], len(distinct)


def position_levels(
    labels: Sequence[str], items: LabelledItems, parts: Sequence[str] | None = None
) -> Levels:
    """Return position cues: in the file, or with `parts` in the item's part, and in the cluster."""
    count = len(labels)
    part_names = list(parts) if parts is not None else [""] * count
    part_sizes = Counter(part_names)
    next_position = Counter[str]()
    previous_label = dict.fromkeys(part_names, "")
    position: list[int] = []
    previous: list[str] = []
    for part_name, label in zip(part_names, labels, strict=True):
        position.append(next_position[part_name])
        previous.append(previous_label[part_name])
        next_position[part_name] += 1
        previous_label[part_name] = label
    cluster_counts: Counter[int] = Counter()
    rank: list[int] = []
    for cluster in items.cluster.tolist():
        # beyond 30 an order within a cluster is no rule to learn
        rank.append(min(cluster_counts[cluster], 30))
        cluster_counts[cluster] += 1
    return {
        "odd or even place": _numbered([i % 2 for i in position]),
        "place within the cluster": _numbered(rank),
        "tenth of the file": _numbered(
            [
                i * 10 // part_sizes[part_name]
                for i, part_name in zip(position, part_names, strict=True)
            ]
        ),
        "label before": _numbered(previous),
    }


def surface_levels(question_texts: Questions | None, ids: Sequence[Hashable] | None) -> Levels:
    """Return cues of numbering and wording; each distinct text is analysed once."""
    cues: Levels = {}
    if ids is not None:
        digit_runs = [re.findall(r"\d+", str(name)) for name in ids]
        # 15 digits are what a double holds exactly
        number = np.array([int(d[-1][:15]) if d else -1 for d in digit_runs])
        if digit_runs:
            # deciles, so that each level has as many items
            tenths = np.unique(np.quantile(number, np.linspace(0.1, 0.9, 9)))
        else:
            tenths = number
        cues["letters of the id"] = _numbered([re.sub(r"\d+", "", str(name)) for name in ids])
        cues["tenth of the number"] = _numbered(np.searchsorted(tenths, number, "right").tolist())
        cues["odd or even number"] = _numbered([int(d[-1]) % 2 if d else None for d in digit_runs])
        cues["last digit"] = _numbered([int(d[-1]) % 10 if d else None for d in digit_runs])
    if question_texts is not None:
        texts = question_texts.distinct
        lengths = np.array([len(q) for q in texts], dtype=np.float64)
        cuts = np.unique(np.quantile(lengths[question_texts.text], np.linspace(0.1, 0.9, 9)))
        articles = np.stack(
            [
                question_texts.contains_any(question_texts.word_mask(article.__eq__))
                for article in ("a", "an", "the")
            ]
        )
        levels = {
            "first word": question_texts.word_at(0).tolist(),
            "first two words": question_texts.prefix_codes(2).tolist(),
            "first three words": question_texts.prefix_codes(3).tolist(),
            "last word": question_texts.word_at(-1).tolist(),
            # presence of each article as a bit
            "articles": (np.array([4, 2, 1]) @ articles).tolist(),
            "punctuation": [re.sub(r"[\w\s]+", "", q) for q in texts],
            "number of words": np.minimum(question_texts.lengths, 40).tolist(),
            "length": np.searchsorted(cuts, lengths).tolist(),
            "digits and number words": (
                question_texts.first_match(
                    question_texts.word_mask(lambda w: w in NUMBER_WORDS or w.isdigit())
                ).tolist()
            ),
            "negation": (
                question_texts.contains_any(
                    question_texts.word_mask(lambda w: w in NEGATION_WORDS or w.endswith("n't"))
                ).tolist()
            ),
            "capital letter": [q[:1].isupper() for q in texts],
            "spare spaces": [q != " ".join(q.split()) for q in texts],
        }
        cues |= {
            name: _numbered(text_levels, question_texts.text)
            for name, text_levels in levels.items()
        }
    return cues


# --- options ---

OPTION_TEXT = "option's text"
OPTION_CUES = (
    OPTION_TEXT,
    "option's length",
    "option's number of words",
    "option's place",
    "words shared with the question",
    "words shared with the other options",
    "option's size as a number",
    "option's punctuation and capitals",
    "option's text after such a question",
)
"""What can be seen of the options of a multiple choice."""
FREQUENT_ANSWER = "most frequent answer"
ANSWER_CUES = (
    FREQUENT_ANSWER,
    "answer named in the question",
)
"""What can be known of an open answer before the picture is seen."""
PLAIN_CUES = (FREQUENT_ANSWER, OPTION_TEXT, "option's place", "option's length")
"""Cues that are named before others that tell as much."""
CHANCE_CUES = frozenset((*OPTION_CUES, *ANSWER_CUES))
"""Cues that are compared with chance, not with the commonest label."""


def compares_with_chance(cue: str, task: str) -> bool:
    """Whether a prediction is compared with chance, or with the commonest label.

    >>> compares_with_chance("last word", "yes_no"), compares_with_chance("last word", "vqa")
    (False, True)
    """
    return cue in CHANCE_CUES or task == "vqa" or (cue == "words" and task == "choice")


_NUMBERS = {
    word: float(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?")


def number_in(text: str) -> float | None:
    """The number that a text is, in digits or as a word up to twelve.

    >>> number_in("1,200 m"), number_in("Two"), number_in("a dog")
    (1200.0, 2.0, None)
    """
    folded = text.strip().casefold()
    if folded in _NUMBERS:
        return _NUMBERS[folded]
    match = _NUMBER.match(folded.lstrip("$€£ "))
    if match:
        return float(match.group().replace(",", ""))
    return None


def ranks(values: Sequence[float]) -> list[tuple[int, int]]:
    """How many values are larger, and how many smaller, than each one.

    >>> ranks([3, 5, 5])
    [(2, 0), (0, 1), (0, 1)]
    """
    larger_and_smaller = []
    for value in values:
        larger = sum(rival > value for rival in values)
        smaller = sum(rival < value for rival in values)
        larger_and_smaller.append((larger, smaller))
    return larger_and_smaller


def option_levels(question: str, options: Sequence[str]) -> list[tuple[Hashable, ...]]:
    """Return the level of each cue of `OPTION_CUES`, an option a row.

    Only what is relative within an item is used of lengths and numbers, since the right option is
    chosen among those of its item.
    """
    question_words = words(question)
    question_set = set(question_words)
    option_words = [words(option) for option in options]
    numbers = [number_in(option) for option in options]
    shared = [len(question_set.intersection(option)) for option in option_words]
    common = _words_in_common(option_words)
    # sizes are compared only where every option is a number
    numeric = [number for number in numbers if number is not None]
    sizes: list[tuple[int, int]] = [(-1, -1)] * len(options)
    if len(numeric) == len(options):
        sizes = ranks(numeric)
    columns = (
        [option.strip().casefold() for option in options],
        ranks([len(option) for option in options]),
        ranks([len(option) for option in option_words]),
        range(len(options)),
        ranks(shared),
        ranks(common),
        sizes,
        [_form_of(option) for option in options],
    )
    beginning = tuple(question_words[:2])
    return [(*row, (beginning, row[0])) for row in zip(*columns, strict=True)]


def _words_in_common(option_words: Sequence[Sequence[str]]) -> list[int]:
    """How many words each option shares with the others, over all pairs."""
    # an option counts a word once
    counts = Counter(chain.from_iterable(map(set, option_words)))

    def n_shared(option: Sequence[str]) -> int:
        return sum(counts[word] - 1 for word in set(option))

    return list(map(n_shared, option_words))


def _form_of(text: str) -> tuple[bool, bool, str]:
    """Capital letter, blanks too many, and punctuation of a text."""
    marks = "".join(sorted(set(re.sub(r"[\w\s]+", "", text))))
    return text[:1].isupper(), text != " ".join(text.split()), marks
