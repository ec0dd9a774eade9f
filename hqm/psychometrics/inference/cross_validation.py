"""Questions as arrays of codes, cross-validation over whole clusters, and the gain of a prediction
over the majority.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import stdtr, stdtrit

from hqm.psychometrics.inference.resampling import cluster_sums, jackknife_interval, mean_with_error
from hqm.psychometrics.result import Array, BoolArray, Coefficient, IntArray

_WORD = re.compile(r"[\w']+")
_MAX_LOOKUP_SIZE = 1 << 24
_MAX_LOOKUP_SHARE = 8
"""The largest table of codes that is made, of all and of each code; beyond it they are sorted."""


def words(text: str) -> list[str]:
    """The words of a question, lower case.

    >>> words("Isn't there one dog?")
    ["isn't", 'there', 'one', 'dog']
    """
    return _WORD.findall(text.lower())


def factorize(
    values: Sequence[Hashable], *, ordered: bool = False
) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Values as numbers in the order of first appearance, or of their texts (`ordered`).

    >>> factorize(["b", "a", "b"])
    (array([0, 1, 0]), ('b', 'a'))
    >>> factorize(["b", "a", "b"], ordered=True)
    (array([1, 0, 1]), ('a', 'b'))
    """
    distinct = list(dict.fromkeys(values))
    if ordered:
        distinct.sort(key=str)
    position = {value: i for i, value in enumerate(distinct)}
    return np.array([position[value] for value in values], dtype=np.int64), tuple(position)


def compact_codes(codes: IntArray, n_codes: int | None = None) -> tuple[IntArray, int]:
    """Codes from 0 numbered in their order without gaps, and how many numbers there are.

    `n_codes` is more than any code.

    >>> compact_codes(np.array([7, 2, 7]))
    (array([1, 0, 1]), 2)
    """
    size = int(codes.max(initial=-1)) + 1 if n_codes is None else n_codes
    # a table of all codes is faster than sorting as long as it is not much larger than the data
    if size > min(_MAX_LOOKUP_SIZE, _MAX_LOOKUP_SHARE * len(codes) + 1000):
        distinct, number = np.unique(codes, return_inverse=True)
        return number.astype(np.int64), len(distinct)
    # a code's number is how many codes below it occur
    present = np.zeros(size, dtype=bool)
    present[codes] = True
    position = np.cumsum(present) - 1
    return position[codes], int(position[-1]) + 1 if size else 0


def unique_codes(codes: IntArray) -> IntArray:
    """The different codes in their order.

    >>> unique_codes(np.array([7, 2, 7]))
    array([2, 7])
    """
    # a plain sort takes a fifth of the time of `numpy.unique`, which hashes whole numbers
    ordered = np.sort(codes)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])


def gather_rows(starts: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """The positions of the entries of some rows in a list of all rows' entries, and the index in
    `rows` that each belongs to.

    >>> gather_rows(np.array([0, 2, 3]), np.array([1, 0]))
    (array([2, 0, 1]), array([0, 1, 1]))
    """
    lengths = np.diff(starts)[rows]
    owner = np.repeat(np.arange(len(rows)), lengths)
    # an entry's place is its rank among all entries gathered, shifted to where its own row starts
    return np.arange(len(owner)) + (starts[rows] - np.cumsum(lengths) + lengths)[owner], owner


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Questions, of which many may be worded alike.

    Attributes
    ----------
    text
        (items,): the number of each one's text.
    distinct
        The texts.
    word, owner
        The words of all texts, one after another: their numbers, and whose they are.
    starts
        (texts + 1,): where the words of each text begin.
    vocabulary
        What the numbers of words stand for.
    """

    text: IntArray
    distinct: tuple[str, ...]
    word: IntArray
    owner: IntArray
    starts: IntArray
    vocabulary: tuple[str, ...]

    @classmethod
    def parse(cls, questions: Sequence[str]) -> Questions:
        """Split each distinct question into words."""
        return _parse(tuple(questions))

    @property
    def lengths(self) -> IntArray:
        """(texts,): how many words."""
        return np.diff(self.starts)

    def word_at(self, position: int) -> IntArray:
        """(texts,): the word at a position, counted from 0, or from the end by negative ones; -1
        where there is none.
        """
        if position < 0:
            index = self.starts[1:] + position
            has_word = self.lengths >= -position
        else:
            index = self.starts[:-1] + position
            has_word = self.lengths > position
        number = np.full(len(self.distinct), -1, dtype=np.int64)
        number[has_word] = self.word[index[has_word]]
        return number

    def prefix_codes(self, count: int) -> IntArray:
        """(texts,): one code for each sequence of the first words, however few there are."""
        code = np.zeros(len(self.distinct), dtype=np.int64)
        for position in range(count):
            # the codes are compacted each time, so that they never overflow
            code = compact_codes(code * (len(self.vocabulary) + 1) + self.word_at(position) + 1)[0]
        return code

    def word_mask(self, predicate: Callable[[str], bool]) -> BoolArray:
        """(vocabulary,): which words satisfy the predicate."""
        return np.array([predicate(word) for word in self.vocabulary], dtype=bool)

    def contains_any(self, mask: BoolArray) -> BoolArray:
        """(texts,): whether any of these words stands in it."""
        has = np.zeros(len(self.distinct), dtype=bool)
        has[self.owner[mask[self.word]]] = True
        return has

    def first_match(self, mask: BoolArray) -> IntArray:
        """(texts,): the first of these words in it; -1 where there is none."""
        number = np.full(len(self.distinct), -1, dtype=np.int64)
        # assigned from the last to the first, so that the first remains
        matches = np.flatnonzero(mask[self.word])[::-1]
        number[self.owner[matches]] = self.word[matches]
        return number

    def word_features(self, min_items: int) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Yield the words, then the pairs of words beside each other, that stand in at least
        `min_items` items (or as often in fewer): (entries,) texts in their order, numbers, and how
        often a text has each. Of a single word, or pair, there is nothing to learn.
        """
        # neighbours of one text: a pair never spans two texts
        pair_starts = np.flatnonzero(self.owner[1:] == self.owner[:-1])
        # a pair of words as one number
        pairs = self.word[pair_starts] * len(self.vocabulary) + self.word[pair_starts + 1]
        n_items = np.bincount(self.text, minlength=len(self.distinct))
        for owner, code in ((self.owner, self.word), (self.owner[pair_starts], pairs)):
            number, size = compact_codes(code)
            is_frequent = (np.bincount(number, n_items[owner]) >= min_items)[number] & (size > 1)
            entry, count = np.unique(
                owner[is_frequent] * size + number[is_frequent], return_counts=True
            )
            text, number = np.divmod(entry, max(size, 1))
            yield text, number, count


@lru_cache(maxsize=1)
def _parse(questions: tuple[str, ...]) -> Questions:
    text, texts = factorize(questions)
    distinct = tuple(map(str, texts))
    numbers: dict[str, int] = {}
    words_by_text: list[IntArray] = []
    for question in distinct:
        # numbers at once: the words of long questions, held as texts, take gigabytes
        codes = [numbers.setdefault(word, len(numbers)) for word in words(question)]
        words_by_text.append(np.array(codes, dtype=np.int64))
    word = np.concatenate([np.zeros(0, dtype=np.int64), *words_by_text])
    lengths = np.array([len(text_words) for text_words in words_by_text], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    owner = np.repeat(np.arange(len(words_by_text)), lengths)
    return Questions(text, distinct, word, owner, starts, tuple(numbers))


@dataclass(frozen=True, slots=True, eq=False)
class LabelledItems:
    """Items with their labels, types and clusters as codes, divided into folds.

    Attributes
    ----------
    label, kind, cluster, fold
        (items,)
    labels, kinds
        What the numbers stand for.
    folds
        Each cluster lies in one fold.
    """

    label: IntArray
    kind: IntArray
    cluster: IntArray
    fold: IntArray
    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    folds: int

    def table(self, among: BoolArray | slice = slice(None)) -> IntArray:
        """(kinds, labels): how many items."""
        shape = len(self.kinds), len(self.labels)
        return count_table(self.kind[among] * shape[1] + self.label[among], *shape)


def count_table(codes: IntArray, *shape: int) -> IntArray:
    """The table of how often each code, a flat index of the table, occurs."""
    return np.bincount(codes, minlength=math.prod(shape)).reshape(shape)


def split_folds(
    labels: Sequence[str],
    clusters: Sequence[Hashable] | None,
    types: Sequence[str | None] | None,
    rng: np.random.Generator,
    folds: int = 10,
) -> LabelledItems:
    """Assign whole clusters to folds at random; where clusters are given, the order of the items
    changes nothing.

    Raises
    ------
    ValueError
        Unequal lengths, or fewer than 2 folds.
    """
    for column_name, column in (("clusters", clusters), ("types", types)):
        if column is not None and len(column) != len(labels):
            raise ValueError(f"{len(labels)} labels have {len(column)} {column_name}")
    if folds < 2:
        raise ValueError(f"a cross-validation needs 2 folds, got {folds}")
    label, names = factorize(labels)
    cluster, groups = factorize(
        clusters if clusters is not None else list(range(len(labels))), ordered=clusters is not None
    )
    kind, kinds = factorize(types if types is not None else ["all"] * len(labels))
    folds = min(folds, len(groups))
    # fold sizes differ by at most one cluster; which cluster is in which is random
    fold = rng.permutation(np.arange(len(groups)) % folds)[cluster]
    return LabelledItems(
        label,
        kind,
        cluster,
        fold,
        tuple(str(n) for n in names),
        tuple("untyped" if k is None else str(k) for k in kinds),
        folds,
    )


def majority_hits(items: LabelledItems) -> Array:
    """Which items the commonest label of their type gets right: the blind baseline, in its favour
    not cross-validated.
    """
    return np.asarray(items.table().argmax(axis=1)[items.kind] == items.label, dtype=np.float64)


def forward_predictor(items: LabelledItems, level: IntArray) -> Callable[[IntArray], Array]:
    """Blocks -> which items the commonest label of their level in earlier blocks gets right.

    A level that the earlier blocks lack, or in which labels tie, falls back on the commonest label
    of its kind.
    """
    kind_level = np.unique(items.kind * (int(level.max()) + 1) + level, return_inverse=True)[1]
    levels = int(kind_level.max()) + 1
    count = len(items.labels)
    kinds = items.table()
    kind_of = np.zeros(levels, dtype=np.int64)
    kind_of[kind_level] = items.kind
    # far below one item, so that it decides ties and levels without items only
    fallback = 1e-6 * kinds[kind_of] / kinds.max()

    def predict(block: IntArray) -> Array:
        blocks = int(block.max()) + 1
        table = count_table(
            (block * levels + kind_level) * count + items.label, blocks, levels, count
        )
        # exclusive cumulative sum: what the earlier blocks hold, without the block itself
        best = (np.cumsum(table, axis=0) - table + fallback).argmax(axis=2)
        return np.asarray(best[block, kind_level] == items.label, dtype=np.float64)

    return predict


def naive_bayes_predictor(items: LabelledItems, level: IntArray) -> Callable[[IntArray], Array]:
    """Blocks -> which items are right by what their kind and, in earlier blocks of all kinds, their
    level says.

    Naive Bayes: label = argmax_k log n(kind, k) + log p(level | k); a level that the earlier blocks
    lack says nothing.
    """
    levels = int(level.max()) + 1
    count = len(items.labels)
    # 0.5 for a label that a kind does not have, whose logarithm would be infinite
    prior = np.log(items.table() + 0.5)[items.kind]

    def predict(block: IntArray) -> Array:
        blocks = int(block.max()) + 1
        table = count_table((block * levels + level) * count + items.label, blocks, levels, count)
        earlier_counts = np.cumsum(table, axis=0) - table
        # additive smoothing, half an item for each level
        share = (earlier_counts + 0.5) / (earlier_counts.sum(axis=1, keepdims=True) + 0.5 * levels)
        # a level not seen before would be evidence against the commonest label: it is left out
        log_likelihood = np.where(earlier_counts.sum(axis=2, keepdims=True) > 0, np.log(share), 0.0)
        best = (log_likelihood[block, level] + prior).argmax(axis=1)
        return np.asarray(best == items.label, dtype=np.float64)

    return predict


def accuracy(hits: Array, cluster: IntArray, level: float) -> Coefficient:
    """A share of hits with Wilson's interval for clustered items."""
    return jackknife_interval(
        {"k": hits, "n": np.ones(len(hits))},
        cluster,
        lambda t: t["k"] / t["n"],
        is_proportion=True,
        level=level,
    )


def clustered_gain(difference: Array, cluster: IntArray) -> tuple[float, float]:
    """The mean of the items' differences and its standard error, clusters being the units."""
    values = difference[None]
    scored = np.ones_like(values, dtype=bool)
    mean, error = mean_with_error(*cluster_sums(values, scored, cluster))
    return float(mean[0]), float(error[0])


def accuracy_gain(
    hits: Array, baseline: Array, cluster: IntArray, level: float
) -> tuple[Coefficient, float]:
    """How much more accurate one prediction is than another, with its one-sided p-value; clusters
    are the units.

    Student's test on the clusters' sums of differences. With C clusters p is not taken below 2^-C,
    which a sign test would give.
    """
    # no cluster differs from another: Student's test has no error to divide by
    clusters = int(cluster.max(initial=-1)) + 1
    if clusters < 2:
        absent = Coefficient.absent(
            "insufficient", f"a test needs 2 clusters, there are {clusters}", clusters
        )
        return absent, math.nan
    value, error = clustered_gain(hits - baseline, cluster)
    min_p = 2.0**-clusters
    if error == 0:
        p = min_p if value > 0 else 1.0
        return Coefficient(value, value, value, clusters, level, "clustered t"), p
    half_width = float(stdtrit(clusters - 1, 0.5 + level / 2)) * error
    p = float(stdtr(clusters - 1, -value / error))
    return Coefficient(
        value, value - half_width, value + half_width, clusters, level, "clustered t", se=error
    ), max(p, min_p)
