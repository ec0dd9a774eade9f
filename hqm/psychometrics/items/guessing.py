"""What a respondent reaches that sees everything of an item but its picture: the answers between
which it chooses, and a conditional logit that learns from the items of other pictures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from hqm.psychometrics.inference.cross_validation import (
    Questions,
    compact_codes,
    count_table,
    factorize,
    gather_rows,
    unique_codes,
    words,
)
from hqm.psychometrics.items.cues import (
    ANSWER_CUES,
    OPTION_CUES,
    Levels,
    option_levels,
    surface_levels,
)
from hqm.psychometrics.result import Array, BoolArray, IntArray

if TYPE_CHECKING:
    from scipy import sparse

Mode = Literal["label", "choice", "open"]
"""How an item is answered: by one of the labels that all items have (yes, no), by one of its
options, or freely.
"""
MAX_ANSWERS = 20
"""The most frequent answers of a type between which a guesser of open answers chooses."""
OPEN_MARGIN = 0.2
"""By how much guessing of open answers may exceed chance. The answers to open questions are seldom
equally frequent, and no builder can make them so."""
RIDGE = 1.0
"""Penalty of a squared weight: the prior of a weight is normal with variance 1."""
QUESTION_VALUE = 0.3
"""Value of a feature of the question with an answer, where those of an answer have 1: there are
many, and the prior of what each adds has a standard deviation of as much.
"""
MIN_FEATURE_ITEMS = 2
MIN_ANSWER_ITEMS = 5
"""Items in which a feature must occur: what one item has tells nothing of another. Where answers
differ from item to item there are many more features, and each is seldom the right one's."""
PRIOR_ITEMS = 2.0
"""Items of average answers that are added to those of a level, so that a level seen once does not
outweigh one that is right in 9 of 10."""
MAX_STEPS = 2
"""Newton steps of a fit, which starts from the weights of the fit before. Guesses change little
after them, and no test relies on an optimum: what is learnt from other items may be anything.
"""
_MIN_CELL = 20
_MAX_ANSWER_WORDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The answers between which a guesser chooses, a row each, those of one item together.

    Attributes
    ----------
    item, text, position, is_right
        (rows,): the item, the answer's text as a code, its position among the item's answers, and
        whether it is right.
    role
        (rows,): what a word of the question may speak for: a position among options, or an answer.
    mode
        (items,): how it is answered.
    chance
        (items,): what a guesser gets right who knows the possible answers and nothing else.
    margin
        (items,): by how much guessing may exceed chance before it is called a leak.
    levels
        Cue -> (rows,) levels of the answers; -1 where the cue says nothing of the item.
    """

    item: IntArray
    text: IntArray
    position: IntArray
    is_right: BoolArray
    role: IntArray
    mode: tuple[Mode, ...]
    chance: Array
    margin: Array
    levels: Levels

    @property
    def is_shared(self) -> bool:
        """Whether all items have the same labels, so that the commonest one is what a prediction
        has to beat.
        """
        return set(self.mode) <= {"label"}

    @property
    def starts(self) -> IntArray:
        """(items + 1,): where the rows of each item begin."""
        return np.searchsorted(self.item, np.arange(len(self.mode) + 1)).astype(np.int64)

    def has_mode(self, *modes: Mode) -> BoolArray:
        """(items,): whether an item is answered in one of these modes."""
        return np.array([mode in modes for mode in self.mode], dtype=bool)


def label_candidates(labels: Sequence[str]) -> Candidates:
    """Return candidates of items that share their labels: each may be the answer to each item."""
    names = sorted(set(labels))
    return find_candidates(labels, ["label"] * len(labels), [names] * len(labels))


def find_candidates(
    answers: Sequence[str],
    modes: Sequence[Mode],
    options: Sequence[Sequence[str]],
    questions: Sequence[str] | None = None,
    types: Sequence[Hashable] | None = None,
) -> Candidates:
    """Return the answers between which a guesser chooses.

    Parameters
    ----------
    answers : sequence of str, shape (items,)
        The text of the right answer.
    modes : sequence of {"label", "choice", "open"}, shape (items,)
        How each item is answered.
    options : sequence of sequence of str, shape (items,)
        The answers offered; of an open item the answers that are possible, or none: then the most
        frequent ones of its type are taken, and those that its question names.
    questions, types : sequence, shape (items,), optional
        Texts, and strata.

    Returns
    -------
    Candidates
        Chance is one in as many answers as an item offers; of an open item, one in as many
        alternatives as its question names, or else in as many as occur in answers to questions
        that begin so.
    """
    count = len(answers)
    texts = list(questions) if questions is not None else [""] * count
    kinds = list(types) if types is not None else [None] * count
    answer_lists = _open_answers(answers, modes, options, texts, kinds)
    mentions = [
        _mentioned_answers(text, _by_words(names))
        for text, names in zip(texts, answer_lists, strict=True)
    ]
    rows = [
        (index, position, option)
        for index, names in enumerate(answer_lists)
        for position, option in enumerate(names)
    ]
    item = np.array([index for index, _, _ in rows], dtype=np.int64)
    position = np.array([position for _, position, _ in rows], dtype=np.int64)
    text = factorize([option.strip().casefold() for _, _, option in rows])[0]
    right_position = [
        names.index(answer) if answer in names else -1
        for answer, names in zip(answers, answer_lists, strict=True)
    ]
    is_right = position == np.array(right_position, dtype=np.int64)[item]
    is_choice = np.array([mode == "choice" for mode in modes], dtype=bool)
    width = int(text.max(initial=-1)) + 1
    # options have positions; answers that the question's words may mean are the same everywhere
    role = np.where(is_choice[item], width + position, text)
    chance = np.array([1 / max(len(names), 1) for names in answer_lists])
    margin = np.zeros(count)
    is_open = np.array([mode == "open" for mode in modes], dtype=bool)
    margin[is_open] = OPEN_MARGIN
    for index, value in _open_chances(answers, modes, options, texts, kinds, mentions):
        chance[index] = value
    levels = _levels(modes, texts, answer_lists, mentions)
    return Candidates(item, text, position, is_right, role, tuple(modes), chance, margin, levels)


def _open_answers(
    answers: Sequence[str],
    modes: Sequence[Mode],
    options: Sequence[Sequence[str]],
    texts: Sequence[str],
    kinds: Sequence[Hashable],
) -> list[list[str]]:
    """Return the answers of every item; of open ones without options, the likely ones."""
    frequencies: dict[Hashable, Counter[str]] = defaultdict(Counter)
    for answer, mode, kind in zip(answers, modes, kinds, strict=True):
        if mode == "open":
            frequencies[kind][answer] += 1
    likely_answers: dict[Hashable, list[str]] = {}
    spoken: dict[Hashable, Mapping[str, str]] = {}
    for kind, counts in frequencies.items():
        # equally frequent answers in the order of their texts, so that the file's does not matter
        ordered = Counter({answer: counts[answer] for answer in sorted(counts)})
        likely_answers[kind] = [answer for answer, _ in ordered.most_common(MAX_ANSWERS)]
        spoken[kind] = _by_words(ordered)
    answer_lists = []
    for mode, offered, text, kind in zip(modes, options, texts, kinds, strict=True):
        names = list(offered)
        if mode == "open" and not names:
            mentions = sorted(_mentioned_answers(text, spoken[kind]))
            names = list(dict.fromkeys([*likely_answers[kind], *mentions]))
        # an item without any answer has one that is never right
        answer_lists.append(names or [""])
    return answer_lists


def _by_words(answers: Iterable[str]) -> Mapping[str, str]:
    """Return the answers by their words."""
    return {" ".join(words(answer)): answer for answer in answers}


def _mentioned_answers(text: str, answers: Mapping[str, str]) -> set[str]:
    """Return the answers that a question names, as "or" questions do."""
    question_words = words(text)
    count = len(question_words)
    lengths = {answer.count(" ") + 1 for answer in answers}
    mentions = set()
    for length in sorted(lengths):
        if length > _MAX_ANSWER_WORDS:
            break
        for start in range(count - length + 1):
            phrase = " ".join(question_words[start : start + length])
            if phrase in answers:
                mentions.add(answers[phrase])
    return mentions


def _open_chances(
    answers: Sequence[str],
    modes: Sequence[Mode],
    options: Sequence[Sequence[str]],
    texts: Sequence[str],
    kinds: Sequence[Hashable],
    mentions: Sequence[set[str]],
) -> Iterator[tuple[int, float]]:
    """Yield the index and the chance of every open item that lists no answers, or names some."""
    cells = [(kind, *words(text)[:2]) for kind, text in zip(kinds, texts, strict=True)]
    indices = [index for index, mode in enumerate(modes) if mode == "open"]
    sizes = Counter(cells[index] for index in indices)
    distinct: dict[Hashable, set[str]] = defaultdict(set)
    for index in indices:
        if sizes[cells[index]] < _MIN_CELL:
            cells[index] = (kinds[index],)
        distinct[cells[index]].add(answers[index])
    for index in indices:
        answer = answers[index]
        if answer in mentions[index] and len(mentions[index]) > 1:
            yield index, 1 / len(mentions[index])
        elif not options[index]:
            is_polar = answer.casefold() in ("yes", "no")
            yield index, 1 / (2 if is_polar else max(2, len(distinct[cells[index]])))


def _levels(
    modes: Sequence[Mode],
    texts: Sequence[str],
    answer_lists: Sequence[Sequence[str]],
    mentions: Sequence[set[str]],
) -> Levels:
    """Return each cue's level of every answer."""
    option_rows: list[tuple[Hashable, ...]] = []
    answer_rows: list[tuple[Hashable, ...]] = []
    no_option = (None,) * len(OPTION_CUES)
    no_answer = (None,) * len(ANSWER_CUES)
    for mode, text, names, in_question in zip(modes, texts, answer_lists, mentions, strict=True):
        option_rows += option_levels(text, names) if mode == "choice" else [no_option] * len(names)
        answer_rows += [
            (name, name in in_question) if mode == "open" else no_answer for name in names
        ]
    levels: Levels = {}
    for cue_names, rows in ((OPTION_CUES, option_rows), (ANSWER_CUES, answer_rows)):
        if rows:
            columns = list(zip(*rows, strict=True))
        else:
            columns = [()] * len(cue_names)
        for name, column in zip(cue_names, columns, strict=True):
            number, distinct = factorize(column)
            silent = np.array([level is None for level in column], dtype=bool)
            levels[name] = np.where(silent, -1, number), len(set(distinct) - {None})
    return levels


# --- single cues ---


def shared_hits(score: Array, candidates: Candidates) -> Array:
    """(items,): 1 where the highest score is that of the right answer, a share of it where several
    are equally high.
    """
    starts = candidates.starts[:-1]
    highest = np.maximum.reduceat(score, starts)[candidates.item]
    is_top = score >= highest - 1e-9
    n_top = np.add.reduceat(is_top.astype(np.float64), starts)
    n_right = np.add.reduceat((is_top & candidates.is_right).astype(np.float64), starts)
    return np.asarray(n_right / n_top)


def level_predictor(
    candidates: Candidates, level: IntArray, kind: IntArray | None = None
) -> Callable[[IntArray], Array]:
    """Blocks -> the share of each item's guess that is right, by how often answers of each level
    were right in earlier blocks, of its kind if kinds are given.

        score = (right + a / k) / (answers + a), a = `PRIOR_ITEMS` in k candidates
    """
    code = level + 1
    if kind is not None:
        code = compact_codes(code * (int(kind.max()) + 1) + kind[candidates.item])[0]
    size = int(code.max()) + 1
    mean = float(candidates.is_right.mean())
    prior = PRIOR_ITEMS * mean

    def predict(block: IntArray) -> Array:
        blocks = int(block.max()) + 1
        cell = block[candidates.item] * size + code
        total = count_table(cell, blocks, size)
        right = count_table(cell[candidates.is_right], blocks, size)
        n_earlier = np.cumsum(total, axis=0) - total
        n_right = np.cumsum(right, axis=0) - right
        rate = (n_right + prior) / (n_earlier + PRIOR_ITEMS)
        return shared_hits(rate[block[candidates.item], code], candidates)

    return predict


# --- all cues together ---


@dataclass(frozen=True, slots=True, eq=False)
class Guesser:
    """A conditional logit over the answers of each item.

        P(answer c of item i) = exp(x_ic' w) / sum over c' of exp(x_ic'' w),
        w = argmax sum_i log P(right answer of i) - RIDGE / 2 |w|^2

    (McFadden 1974.) A feature stands once for all items and once for each stratum, so that a type
    of few items borrows from the others.
    """

    design: sparse.csr_array
    candidates: Candidates

    @property
    def n_features(self) -> int:
        """How many features it sees."""
        return int(self.design.shape[1])

    def predict(self, turn: IntArray, *, forward: bool) -> Array:
        """(items,): the share of each guess that is right, learnt from the items of earlier turns
        (`forward`; the first is not predicted), or of all other turns.
        """
        candidates = self.candidates
        score = np.zeros(len(candidates.item))
        turn_of_row = turn[candidates.item]
        has_right_answer = np.zeros(len(candidates.mode), dtype=bool)
        has_right_answer[candidates.item[candidates.is_right]] = True
        weights = np.zeros(self.n_features)
        for index in range(int(forward), int(turn.max()) + 1):
            is_training = turn < index if forward else turn != index
            rows = (is_training & has_right_answer)[candidates.item]
            tested = turn_of_row == index
            if rows.any() and tested.any():
                # weights of another fold were learnt from the items of this one
                weights = self._fit(rows, weights if forward else np.zeros(self.n_features))
                score[tested] = self.design[tested] @ weights
        return shared_hits(score, candidates)

    def _fit(self, rows: BoolArray, start: Array) -> Array:
        """Return the weights that the items of these rows give."""
        design = self.design[rows]
        transposed = design.T.tocsr()
        is_right = self.candidates.is_right[rows].astype(np.float64)
        owner, _ = compact_codes(self.candidates.item[rows])
        starts = np.flatnonzero(np.diff(owner, prepend=-1))

        # the curvature is asked for in many directions at the weights of one step
        chances_by_weights: dict[bytes, tuple[Array, float]] = {}

        def chances(weights: Array) -> tuple[Array, float]:
            key = weights.tobytes()
            if key not in chances_by_weights:
                chances_by_weights.clear()
                logit = design @ weights
                highest = np.maximum.reduceat(logit, starts)
                odds = np.exp(logit - highest[owner])
                total = np.add.reduceat(odds, starts)
                log_total = np.log(total) + highest
                chances_by_weights[key] = (
                    odds / total[owner],
                    float(log_total.sum() - logit @ is_right),
                )
            return chances_by_weights[key]

        def loss(weights: Array) -> tuple[float, Array]:
            p, likelihood = chances(weights)
            gradient = transposed @ (p - is_right) + RIDGE * weights
            return likelihood + 0.5 * RIDGE * float(weights @ weights), gradient

        def curvature(weights: Array, direction: Array) -> Array:
            p, _ = chances(weights)
            slope = design @ direction
            mean = np.add.reduceat(p * slope, starts)
            bend: Array = transposed @ (p * (slope - mean[owner])) + RIDGE * direction
            return bend

        from scipy.optimize import minimize  # a quarter of the start of an audit that fits nothing

        fitted = minimize(
            loss,
            start,
            jac=True,
            hessp=curvature,
            method="Newton-CG",
            options={"maxiter": MAX_STEPS, "xtol": 1e-3},
        )
        return np.asarray(fitted.x, dtype=np.float64)


def make_guesser(
    candidates: Candidates, questions: Questions, strata: Sequence[IntArray] = ()
) -> Guesser:
    """Return a guesser that sees the words of questions and options and every visible cue.

    `strata` are codes of the items' types and parts.
    """
    from scipy import sparse

    rows: list[IntArray] = []
    codes: list[IntArray] = []
    values: list[Array] = []
    offset = 0
    min_items = MIN_FEATURE_ITEMS if candidates.is_shared else MIN_ANSWER_ITEMS
    groupings = [np.zeros(len(candidates.mode), dtype=np.int64), *strata]
    for row, code, value in _features(candidates, questions, min_items):
        for grouping in groupings:
            group = grouping[candidates.item[row]]
            number, size = compact_codes(code * (int(grouping.max(initial=0)) + 1) + group)
            items_by_feature = np.bincount(
                unique_codes(number * len(candidates.mode) + candidates.item[row])
                // max(len(candidates.mode), 1),
                minlength=size,
            )
            is_frequent = items_by_feature[number] >= min_items
            frequent_codes, n_frequent = compact_codes(number[is_frequent])
            rows.append(row[is_frequent])
            codes.append(frequent_codes + offset)
            values.append(np.broadcast_to(value, len(row))[is_frequent])
            offset += n_frequent
    entries = np.concatenate(rows), np.concatenate(codes)
    shape = len(candidates.item), max(offset, 1)
    design = sparse.csr_array((np.concatenate(values), entries), shape=shape)
    return Guesser(design, candidates)


def _features(
    candidates: Candidates, questions: Questions, min_items: int
) -> Iterator[tuple[IntArray, IntArray, float | Array]]:
    """Yield (entries,) rows and codes of each kind of feature, and its value where it is there;
    words that stand in fewer than `min_items` items are left out.
    """
    every_row = np.arange(len(candidates.item))
    n_roles = int(candidates.role.max(initial=0)) + 1
    # how often an answer, or a position, is right
    yield every_row, candidates.role, 1.0
    for level, _ in candidates.levels.values():
        spoken = np.flatnonzero(level >= 0)
        yield spoken, level[spoken], 1.0
    for level, distinct in surface_levels(questions, None).values():
        if distinct > 1:
            yield every_row, level[candidates.item] * n_roles + candidates.role, QUESTION_VALUE
    text_of_row = questions.text[candidates.item]
    for text, number, count in questions.word_features(min_items):
        starts = np.searchsorted(text, np.arange(len(questions.distinct) + 1))
        entry, row = gather_rows(starts, text_of_row)
        code = (number[entry] * n_roles + candidates.role[row]).astype(np.int64)
        yield row, code, QUESTION_VALUE * count[entry].astype(np.float64)
