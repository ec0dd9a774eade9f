"""Choose questions whose wording does not predict the answer: each key is answered yes as often
as no, in pictures that go together.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hqm.psychometrics.result import Array
from hqm_build.graph import Question, SelectedQuestion

N_LENGTH_CANDIDATES = 20
"""Questions of each answer that are tried where none of the other answer has the same length."""
MAX_CANDIDATES = 400
"""Candidates of a key and an answer that are considered, drawn at random where there are more."""


def balance_answers(
    candidates: Iterable[Question],
    items: int,
    rng: np.random.Generator,
    *,
    used_questions: set[tuple[str, str]] | None = None,
    groups: dict[str, str] | None = None,
    length: Callable[[Question], int] | None = None,
) -> list[SelectedQuestion]:
    """Pairs of questions with one key and one wording, one of them answered yes and one no.

    Both questions of a pair are about one picture, or two of one group: a couple, or more where
    couples have too few pairs. Whoever holds out whole groups learns as much yes as no of every
    word. With the two answers in different folds, the rest would predict the reverse of what is
    held out (Perlich and Swirszcz 2011, On cross-validation and stratification, SIGKDD
    Explorations 12).

    Keys share the pairs by the square root of how many they have, so that no frequent object fills
    the benchmark. Pictures with few questions, and with a surplus of the other answer, go first.

    - `items`: The number wanted; an odd one is rounded down. Fewer come where there are not enough
      pairs.
    - `length`: The number of words of a question, where both of a pair must have the same; pairs
      that differ come last, so that their differences cancel.
    - `used_questions`: The marks of the questions that are asked already, in this part or another;
      those of the selected questions are added.
    - `groups`: Picture -> the first one of its group; those of the pairs are added.
    """
    groups = {} if groups is None else groups
    used: set[tuple[str, str]] = set() if used_questions is None else used_questions
    pools = _answer_pools(candidates, rng)
    pending = list(enumerate(_draw_keys(pools, rng)))
    picture_counts: Counter[str] = Counter()
    # picture -> how many more of its questions are answered yes than no
    surplus: Counter[str] = Counter()
    selected: list[SelectedQuestion] = []
    length_difference = 0
    lengths = (False,) if length is None else (True, False)
    for in_groups, same_length in itertools.product((True, False), lengths):
        unpaired = []
        for wording, key in pending:
            if len(selected) + 2 > items:
                break
            sides = []
            for answer, sign in (("yes", 1), ("no", -1)):
                free = [question for question in pools[key][answer] if not used & question.marks]
                free.sort(key=lambda q: (sign * surplus[q.image], picture_counts[q.image]))
                sides.append(free)
            pair = _first_pair(
                _possible_pairs(sides[0], sides[1], groups, in_groups),
                length,
                same_length,
                length_difference,
            )
            if pair is None:
                unpaired.append((wording, key))
                continue
            _join(groups, pair[0].image, pair[1].image)
            if length is not None:
                length_difference += length(pair[0]) - length(pair[1])
            for question, sign in zip(pair, (1, -1), strict=True):
                used |= question.marks
                picture_counts[question.image] += 1
                surplus[question.image] += sign
                selected.append(SelectedQuestion(question=question, wording=wording))
        pending = unpaired
    return selected


def _answer_pools(
    candidates: Iterable[Question], rng: np.random.Generator
) -> dict[str, dict[str, list[Question]]]:
    """Key -> answer -> its questions in random order, for keys with both answers."""
    by_key: dict[str, dict[str, list[Question]]] = defaultdict(lambda: {"yes": [], "no": []})
    for question in candidates:
        by_key[question.key][question.target].append(question)
    pools = {}
    for key, sides in sorted(by_key.items()):
        if sides["yes"] and sides["no"]:
            pools[key] = {answer: _sample(side, rng) for answer, side in sides.items()}
    return pools


def _draw_keys(
    pools: Mapping[str, Mapping[str, list[Question]]], rng: np.random.Generator
) -> list[str]:
    """The keys in the order in which pairs are taken, each as often as it has pairs.

    The j-th pair of a key with n pairs comes at about j / sqrt(n): among the first pairs, a key has
    a share in proportion to the square root of n.
    """
    slots = []
    for key, sides in pools.items():
        n_pairs = min(map(len, sides.values()))
        slots += [((j + float(rng.random())) / math.sqrt(n_pairs), key) for j in range(n_pairs)]
    return [key for _, key in sorted(slots)]


def _first_pair(
    pairs: Iterator[tuple[Question, Question]],
    length: Callable[[Question], int] | None,
    same_length: bool,
    length_difference: int,
) -> tuple[Question, Question] | None:
    """The first pair, or that of the best length; `length_difference` is by how many words the
    pairs so far differ.
    """
    if length is None:
        return next(pairs, None)
    if same_length:
        return next(((yes, no) for yes, no in pairs if length(yes) == length(no)), None)
    return min(
        itertools.islice(pairs, N_LENGTH_CANDIDATES**2),
        key=lambda pair: abs(length_difference + length(pair[0]) - length(pair[1])),
        default=None,
    )


def _possible_pairs(
    yes: Sequence[Question], no: Sequence[Question], groups: Mapping[str, str], in_groups: bool
) -> Iterator[tuple[Question, Question]]:
    """Yield pairs of different questions, with `in_groups` only within a group, or of two pictures
    that have none.
    """
    by_group: dict[str, list[Question]] = defaultdict(list)
    single = []
    for question in no:
        by_group[groups.get(question.image, question.image)].append(question)
        if question.image not in groups:
            single.append(question)
    for first in yes:
        partners: Sequence[Question] = no
        if in_groups:
            partners = by_group[groups[first.image]] if first.image in groups else single
        for second in partners:
            if first.image != second.image or first.prompts != second.prompts:
                yield first, second


def _join(groups: dict[str, str], first: str, second: str) -> None:
    """Make one group of those of two pictures."""
    if first == second:
        return
    names = {groups.get(first, first), groups.get(second, second)}
    members = [image for image, name in groups.items() if name in names]
    groups |= dict.fromkeys([first, second, *members], min(names))


def _sample(questions: Sequence[Question], rng: np.random.Generator) -> list[Question]:
    order = rng.permutation(len(questions))[:MAX_CANDIDATES]
    return [questions[int(i)] for i in order]


def add_matches(
    selected: Sequence[SelectedQuestion],
    candidates: Iterable[Question],
    used_questions: set[tuple[str, str]],
) -> list[SelectedQuestion]:
    """The same pairs, each with a matched pair where there is one: another key about the same two
    pictures.

    The matched key is answered yes about the first picture and no about the second, as the pair's
    own is, so that the matched items are as balanced as the items. Of several the one nearest in
    frequency and size is taken.
    """
    by_picture: dict[tuple[str, str, str], dict[str, Question]] = defaultdict(dict)
    for question in candidates:
        same_picture = by_picture[question.image, question.part, str(question.target)]
        same_picture.setdefault(question.key, question)
    used = set(used_questions)
    matched = []
    for first, second in zip(selected[::2], selected[1::2], strict=True):
        a = first.question
        b = second.question
        first_partners = by_picture[a.image, a.part, str(a.target)]
        second_partners = by_picture[b.image, b.part, str(b.target)]
        keys = [
            key
            for key in first_partners.keys() & second_partners.keys()
            if key != a.key and not used & (first_partners[key].marks | second_partners[key].marks)
        ]
        if not keys:
            matched += [first, second]
            continue
        nearest = min(
            sorted(keys),
            key=lambda key: _distance(a, first_partners[key]) + _distance(b, second_partners[key]),
        )
        for choice, partner in (
            (first, first_partners[nearest]),
            (second, second_partners[nearest]),
        ):
            used |= partner.marks
            matched.append(replace(choice, matched=partner))
    return matched


def _distance(a: Question, b: Question) -> float:
    """The distance of two questions in log frequency and, where both are known, log size."""
    distance = abs(math.log(max(a.frequency, 1e-6)) - math.log(max(b.frequency, 1e-6)))
    if a.size and b.size:
        distance += abs(math.log(a.size) - math.log(b.size))
    return distance


def select_diverse(
    candidates: Iterable[Question], items: int, rng: np.random.Generator
) -> list[SelectedQuestion]:
    """Open questions of one part, spread over right answers, keys and pictures.

    Right answers take turns, so that none is the common one, and within each the keys, so that a
    name goes with several answers where the pictures allow it.
    """
    listed = list(candidates)
    questions = [listed[int(i)] for i in rng.permutation(len(listed))]
    turns: Counter[tuple[str, str]] = Counter()
    load: Counter[str] = Counter()
    ranked: list[tuple[int, int, int, Question]] = []
    for question in questions:
        answer = str(question.target)
        ranked.append((turns[question.key, answer], load[question.image], len(ranked), question))
        turns[question.key, answer] += 1
        load[question.image] += 1
    ranked.sort()
    answers: Counter[str] = Counter()
    in_turn: list[tuple[int, int, Question]] = []
    for *_, question in ranked:
        answer = str(question.target)
        in_turn.append((answers[answer], len(in_turn), question))
        answers[answer] += 1
    return [
        SelectedQuestion(question=question, wording=index)
        for index, (*_, question) in enumerate(sorted(in_turn)[:items])
    ]


def add_open_matches(
    selected: Sequence[SelectedQuestion], candidates: Iterable[Question]
) -> list[SelectedQuestion]:
    """Open questions, each with another one of its part about the same picture that has the same
    possible answers.
    """
    by_picture: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for question in candidates:
        by_picture[question.image, question.part].append(question)
    used = {choice.question.identity for choice in selected}
    matched = []
    for choice in selected:
        item = choice.question
        partners = [
            partner
            for partner in by_picture[item.image, item.part]
            if partner.identity not in used
            and set(partner.rivals) == set(item.rivals)
            and type(partner.target) is type(item.target)
        ]
        nearest = min(
            partners, key=lambda partner: (_distance(item, partner), partner.key), default=None
        )
        if nearest is not None:
            used.add(nearest.identity)
        matched.append(replace(choice, matched=nearest))
    return matched


def split_items(items: int, parts: Sequence[str]) -> Mapping[str, int]:
    """The number of items of each part: even, because half of them are answered yes, and together
    as many as can be.

    >>> dict(split_items(200, ["random", "popular", "adversarial"]))
    {'random': 68, 'popular': 66, 'adversarial': 66}
    """
    pairs = items // 2
    return {
        part: 2 * (pairs // len(parts) + (i < pairs % len(parts))) for i, part in enumerate(parts)
    }


# --- how often things occur, alone and together ---

SKEWS = ("max", "mean", "max - mean", "mean - min", "max - min")


@dataclass(frozen=True)
class CoOccurrence:
    """Counts of pictures, of each feature and of each pair."""

    pictures: int
    single: Mapping[str, int]
    pairs: Mapping[str, Mapping[str, int]]

    @classmethod
    def from_pictures(cls, pictures: Iterable[Collection[str]]) -> CoOccurrence:
        """Count the features of every picture.

        >>> seen = CoOccurrence.from_pictures([{"cup", "table"}, {"cup"}, {"dog"}])
        >>> round(seen.frequency("cup"), 3), seen.share_given("table", "cup")
        (0.667, 0.5)
        """
        single: Counter[str] = Counter()
        pairs: dict[str, Counter[str]] = defaultdict(Counter)
        number = 0
        for features in pictures:
            number += 1
            single.update(sorted(features))
            for name in sorted(features):
                pairs[name].update(companion for companion in sorted(features) if companion != name)
        return cls(number, single, pairs)

    def frequency(self, name: str) -> float:
        """The share of pictures that have it."""
        if self.pictures:
            return self.single.get(name, 0) / self.pictures
        return 0.0

    def share_given(self, feature: str, name: str) -> float:
        """P(feature | object): the share of the object's pictures that have the feature."""
        n_pictures = self.single.get(name, 0)
        if n_pictures:
            return self.pairs.get(name, {}).get(feature, 0) / n_pictures
        return 0.0

    def strongest(self, feature: str, present: Collection[str]) -> float:
        """The largest share of the feature among the pictures of one of the present objects."""
        return max((self.share_given(feature, name) for name in present), default=0.0)


def skew(shares: Array) -> Mapping[str, float]:
    """The five statistics of how unevenly a feature goes with the objects, from P(feature | object)
    of each.

    >>> import numpy as np
    >>> skew(np.array([0.9, 0.1, 0.2]))["max - min"]
    0.8
    """
    top, mean, bottom = map(float, (shares.max(), shares.mean(), shares.min()))
    return dict(zip(SKEWS, (top, mean, top - mean, mean - bottom, top - bottom), strict=True))
