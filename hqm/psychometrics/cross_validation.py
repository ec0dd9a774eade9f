"""Questions as numbers, cross-validation that keeps clusters together, and the gain of a prediction
over the majority.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
from scipy.special import stdtr, stdtrit

from hqm.psychometrics.resampling import cluster_sums, jackknife_interval, mean_with_error
from hqm.psychometrics.result import Array, Coefficient, Flags, Numbers

_WORD = re.compile(r"[\w']+")
_LOOKED_UP = 1 << 24
"""The largest table of codes that is made; beyond it they are sorted."""


def words(text: str) -> list[str]:
    """The words of a question, lower case.

    >>> words("Isn't there one dog?")
    ["isn't", 'there', 'one', 'dog']
    """
    return _WORD.findall(text.lower())


def numbers(values: Sequence[Hashable]) -> tuple[Numbers, tuple[Hashable, ...]]:
    """Values as numbers in the order of first appearance.

    >>> numbers(["b", "a", "b"])
    (array([0, 1, 0]), ('b', 'a'))
    """
    position = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return np.array([position[value] for value in values], dtype=np.int64), tuple(position)


def without_gaps(codes: Numbers, most: int | None = None) -> tuple[Numbers, int]:
    """Codes from 0 numbered in their order without gaps, and how many numbers there are; `most` is
    more than any code.

    >>> without_gaps(np.array([7, 2, 7]))
    (array([1, 0, 1]), 2)
    """
    size = int(codes.max(initial=-1)) + 1 if most is None else most
    if size > _LOOKED_UP:
        known, number = np.unique(codes, return_inverse=True)
        return number.astype(np.int64), len(known)
    seen = np.zeros(size, dtype=bool)
    seen[codes] = True
    position = np.cumsum(seen) - 1
    return position[codes], int(position[-1]) + 1 if size else 0


def once_each(codes: Numbers) -> Numbers:
    """The different codes in their order.

    >>> once_each(np.array([7, 2, 7]))
    array([2, 7])
    """
    # a plain sort takes a fifth of the time of `numpy.unique`, which hashes whole numbers
    ordered = np.sort(codes)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) != 0])


def rows_of(starts: Numbers, chosen: Numbers) -> tuple[Numbers, Numbers]:
    """Where the entries of the chosen rows stand in a list that has the rows one after another, and
    the place of each one's row in `chosen`.

    >>> rows_of(np.array([0, 2, 3]), np.array([1, 0]))
    (array([2, 0, 1]), array([0, 1, 1]))
    """
    lengths = np.diff(starts)[chosen]
    owner = np.repeat(np.arange(len(chosen)), lengths)
    return np.arange(len(owner)) + (starts[chosen] - np.cumsum(lengths) + lengths)[owner], owner


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Questions, of which many may be worded alike.

    - `text`: (items,): the number of each one's text.
    - `distinct`: The texts.
    - `word, owner`: The words of all texts, one after another: their numbers, and whose they are.
    - `starts`: (texts + 1,): where the words of each text begin.
    - `vocabulary`: What the numbers of words stand for.
    """

    text: Numbers
    distinct: tuple[str, ...]
    word: Numbers
    owner: Numbers
    starts: Numbers
    vocabulary: tuple[str, ...]

    @classmethod
    def of(cls, questions: Sequence[str]) -> Questions:
        """Look at each distinct text once."""
        text, known = numbers(questions)
        distinct = tuple(map(str, known))
        split = [words(question) for question in distinct]
        word, vocabulary = numbers(list(chain.from_iterable(split)))
        lengths = np.array([len(some) for some in split], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        owner = np.repeat(np.arange(len(split)), lengths)
        return cls(text, distinct, word, owner, starts, tuple(map(str, vocabulary)))

    @property
    def lengths(self) -> Numbers:
        """(texts,): how many words."""
        return np.diff(self.starts)

    def at(self, position: int) -> Numbers:
        """(texts,): the word at a place, counted from 0, or from the end by negative places; -1
        where there is none.
        """
        index = (self.starts[1:] if position < 0 else self.starts[:-1]) + position
        inside = (self.lengths >= -position) if position < 0 else (self.lengths > position)
        number = np.full(len(self.distinct), -1, dtype=np.int64)
        number[inside] = self.word[index[inside]]
        return number

    def beginning(self, count: int) -> Numbers:
        """(texts,): one code for each sequence of the first words, however few there are."""
        code = np.zeros(len(self.distinct), dtype=np.int64)
        for position in range(count):
            # numbered anew each time, so that no code grows beyond what a number can hold
            code = without_gaps(code * (len(self.vocabulary) + 1) + self.at(position) + 1)[0]
        return code

    def which(self, wanted: Callable[[str], bool]) -> Flags:
        """(vocabulary,): which words are wanted."""
        return np.array([wanted(word) for word in self.vocabulary], dtype=bool)

    def having(self, wanted: Flags) -> Flags:
        """(texts,): whether any of these words stands in it."""
        has = np.zeros(len(self.distinct), dtype=bool)
        has[self.owner[wanted[self.word]]] = True
        return has

    def first_of(self, wanted: Flags) -> Numbers:
        """(texts,): the first of these words in it; -1 where there is none."""
        number = np.full(len(self.distinct), -1, dtype=np.int64)
        inside = np.flatnonzero(wanted[self.word])[::-1]
        number[self.owner[inside]] = self.word[inside]
        return number

    def features(self) -> tuple[Numbers, Numbers, int]:
        """Pairs of item and feature number, each feature once an item, in the order of the
        features' texts; how many features there are.

        A feature is a word, two words beside each other, or a run of 3 or 4 letters and blanks.
        """
        texts = len(self.distinct)
        if not texts:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0
        kinds = (self._single(), self._pairs(), *self._runs())
        position = {
            name: i
            for i, name in enumerate(sorted({name for *_, names in kinds for name in names}))
        }
        codes = [
            owner * len(position)
            + np.array([position[name] for name in names], dtype=np.int64)[number]
            for owner, number, names in kinds
        ]
        # once each: a word may occur twice, and a run of letters may be written like a word
        owner, feature = np.divmod(once_each(np.concatenate(codes)), len(position))
        starts = np.searchsorted(owner, np.arange(texts + 1))
        entry, item = rows_of(starts, self.text)
        return item, feature[entry], len(position)

    def _single(self) -> tuple[Numbers, Numbers, list[str]]:
        return self.owner, self.word, [f"w {word}" for word in self.vocabulary]

    def _pairs(self) -> tuple[Numbers, Numbers, list[str]]:
        beside = np.flatnonzero(self.owner[1:] == self.owner[:-1])
        code, number = np.unique(
            self.word[beside] * len(self.vocabulary) + self.word[beside + 1], return_inverse=True
        )
        of = self.vocabulary
        names = [f"w {of[a]} {of[b]}" for a, b in (divmod(pair, len(of)) for pair in code.tolist())]
        return self.owner[beside], number, names

    def _runs(self) -> list[tuple[Numbers, Numbers, list[str]]]:
        """The runs of 3 letters and those of 4, in the words joined by single blanks."""
        bounds = self.starts.tolist()
        of = [self.vocabulary[number] for number in self.word.tolist()]
        padded = [f" {' '.join(of[begin:end])} " for begin, end in pairwise(bounds)]
        whole = "".join(padded)
        letters = np.frombuffer(whole.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(
            np.int64
        )
        owner = np.repeat(np.arange(len(padded)), [len(text) for text in padded])
        letter, count = without_gaps(letters)
        pair, pairs = without_gaps(letter[:-1] * count + letter[1:])
        runs = []
        for length, code, most in (
            (3, pair[:-1] * count + letter[2:], pairs * count),
            (4, pair[:-2] * pairs + pair[2:], pairs * pairs),
        ):
            begin = np.flatnonzero(owner[: len(code)] == owner[length - 1 :])
            number, size = without_gaps(code[begin], most)
            somewhere = np.empty(size, dtype=np.int64)
            somewhere[number] = begin
            runs.append(
                (owner[begin], number, [whole[at : at + length] for at in somewhere.tolist()])
            )
        return runs


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Items with their labels, types and clusters as numbers, dealt into folds.

    - `label, kind, cluster, fold`: (items,)
    - `labels, kinds`: What the numbers stand for.
    - `folds`: Each cluster lies in one fold.
    """

    label: Numbers
    kind: Numbers
    cluster: Numbers
    fold: Numbers
    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    folds: int

    def table(self, among: Flags | slice = slice(None)) -> Numbers:
        """(kinds, labels): how many items."""
        shape = len(self.kinds), len(self.labels)
        return counted(self.kind[among] * shape[1] + self.label[among], *shape)


def counted(codes: Numbers, *shape: int) -> Numbers:
    """How often each place of a table stands in a list of places."""
    return np.bincount(codes, minlength=math.prod(shape)).reshape(shape)


def deal(
    labels: Sequence[str],
    clusters: Sequence[Hashable] | None,
    types: Sequence[str | None] | None,
    rng: np.random.Generator,
    folds: int = 10,
) -> Labelled:
    """Deal whole clusters into folds at random.

    Raises
    ------
    ValueError
        Unequal lengths, or fewer than 2 folds.
    """
    for what, column in (("clusters", clusters), ("types", types)):
        if column is not None and len(column) != len(labels):
            raise ValueError(f"{len(labels)} labels have {len(column)} {what}")
    if folds < 2:
        raise ValueError(f"a cross-validation needs 2 folds, got {folds}")
    label, names = numbers(labels)
    cluster, groups = numbers(clusters if clusters is not None else list(range(len(labels))))
    kind, kinds = numbers(types if types is not None else ["all"] * len(labels))
    folds = min(folds, len(groups))
    fold = rng.permutation(np.arange(len(groups)) % folds)[cluster]
    return Labelled(
        label,
        kind,
        cluster,
        fold,
        tuple(str(n) for n in names),
        tuple("untyped" if k is None else str(k) for k in kinds),
        folds,
    )


def majority(items: Labelled) -> Array:
    """Which items the commonest label of their type gets right: the blind baseline, in its favour
    not cross-validated.
    """
    return np.asarray(items.table().argmax(axis=1)[items.kind] == items.label, dtype=np.float64)


def learnt_forward(items: Labelled, level: Numbers) -> Callable[[Numbers], Array]:
    """Blocks -> which items the commonest label of their level in earlier blocks gets right.

    A level that the earlier blocks lack, or in which labels tie, falls back on the commonest label
    of its kind.
    """
    crossed = np.unique(items.kind * (int(level.max()) + 1) + level, return_inverse=True)[1]
    levels, count, kinds = int(crossed.max()) + 1, len(items.labels), items.table()
    kind_of = np.zeros(levels, dtype=np.int64)
    kind_of[crossed] = items.kind
    fallback = 1e-6 * kinds[kind_of] / kinds.max()

    def predict(block: Numbers) -> Array:
        blocks = int(block.max()) + 1
        table = counted((block * levels + crossed) * count + items.label, blocks, levels, count)
        best = (np.cumsum(table, axis=0) - table + fallback).argmax(axis=2)
        return np.asarray(best[block, crossed] == items.label, dtype=np.float64)

    return predict


def learnt_over_kinds(items: Labelled, level: Numbers) -> Callable[[Numbers], Array]:
    """Blocks -> which items are right by what their kind and, in earlier blocks of all kinds, their
    level says.

    Naive Bayes: label = argmax_k log n(kind, k) + log p(level | k); a level that the earlier blocks
    lack says nothing.
    """
    levels, count = int(level.max()) + 1, len(items.labels)
    prior = np.log(items.table() + 0.5)[items.kind]

    def predict(block: Numbers) -> Array:
        blocks = int(block.max()) + 1
        table = counted((block * levels + level) * count + items.label, blocks, levels, count)
        before = np.cumsum(table, axis=0) - table
        share = (before + 0.5) / (before.sum(axis=1, keepdims=True) + 0.5 * levels)
        says = np.where(before.sum(axis=2, keepdims=True) > 0, np.log(share), 0.0)
        best = (says[block, level] + prior).argmax(axis=1)
        return np.asarray(best == items.label, dtype=np.float64)

    return predict


def accuracy(hits: Array, cluster: Numbers, level: float) -> Coefficient:
    """A share of hits with Wilson's interval for clustered items."""
    return jackknife_interval(
        {"k": hits, "n": np.ones(len(hits))},
        cluster,
        lambda t: t["k"] / t["n"],
        share=True,
        level=level,
    )


def clustered_gain(difference: Array, cluster: Numbers) -> tuple[float, float]:
    """The mean of the items' differences and its standard error, clusters being the units."""
    values = difference[None]
    scored = np.ones_like(values, dtype=bool)
    mean, error = mean_with_error(*cluster_sums(values, scored, cluster))
    return float(mean[0]), float(error[0])


def gain_over(
    hits: Array, baseline: Array, cluster: Numbers, level: float
) -> tuple[Coefficient, float]:
    """How much more accurate one prediction is than another, with its one-sided p-value; clusters
    are the units.

    Student's test on the clusters' sums of differences. With C clusters p is not taken below 2^-C,
    which a sign test would give.
    """
    clusters = int(cluster.max(initial=-1)) + 1
    if clusters < 2:
        none = Coefficient.absent(
            "insufficient", f"a test needs 2 clusters, there are {clusters}", clusters
        )
        return none, math.nan
    value, error = clustered_gain(hits - baseline, cluster)
    least = 2.0**-clusters
    if error == 0:
        return Coefficient(value, value, value, clusters, level, "clustered t"), (
            least if value > 0 else 1.0
        )
    half = float(stdtrit(clusters - 1, 0.5 + level / 2)) * error
    p = float(stdtr(clusters - 1, -value / error))
    return Coefficient(
        value, value - half, value + half, clusters, level, "clustered t", se=error
    ), max(p, least)
