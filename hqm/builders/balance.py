"""Choose questions so that what is asked says nothing of the answer: each key is answered yes as
often as no.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.builders.graph import Chosen, Question
from hqm.psychometrics.result import Array

_NEAREST = 20
"""So many questions of each answer are tried where none of the other answer is as long."""
_CANDIDATES = 400
"""So many candidates of a key and an answer are looked at, drawn at random where there are more."""


def balanced(
    candidates: Iterable[Question],
    items: int,
    rng: np.random.Generator,
    *,
    taken: set[tuple[str, str]] | None = None,
    length: Callable[[Question], int] | None = None,
) -> list[Chosen]:
    """Pairs of questions with one key and one wording, one of them answered yes and one no.

    Keys share the pairs by the square root of how many they have, so that no frequent object fills
    the benchmark. Pictures with few questions, and with a surplus of the other answer, go first.

    - `items`: The number wanted; an odd one is rounded down. Fewer come where there are not enough
      pairs.
    - `length`: The words of a question, where both of a pair are to be as long; pairs that differ
      come last, and make up for each other.
    - `taken`: What is asked already, in this part or another, as (picture, key) and (picture,
      words); what is chosen is added.
    """
    by_key: dict[str, dict[str, list[Question]]] = defaultdict(lambda: {"yes": [], "no": []})
    for question in candidates:
        by_key[question.key][question.target].append(question)
    used: set[tuple[str, str]] = set() if taken is None else taken
    load: Counter[str] = Counter()
    lean: Counter[str] = Counter()
    chosen: list[Chosen] = []
    pools = {
        key: {answer: _drawn(some, rng) for answer, some in sides.items()}
        for key, sides in sorted(by_key.items())
        if sides["yes"] and sides["no"]
    }
    slots = [
        ((j + float(rng.random())) / math.sqrt(min(len(side) for side in sides.values())), key)
        for key, sides in pools.items()
        for j in range(min(len(side) for side in sides.values()))
    ]
    waiting, apart = list(enumerate(key for _, key in sorted(slots))), 0
    for alike in (False,) if length is None else (True, False):
        missed = []
        for place, key in waiting:
            if len(chosen) + 2 > items:
                break
            sides = []
            for answer, sign in (("yes", 1), ("no", -1)):
                free = [
                    q
                    for q in pools[key][answer]
                    if not used & {(q.image, q.key), (q.image, q.prompts[0])}
                ]
                sides.append(sorted(free, key=lambda q: (sign * lean[q.image], load[q.image])))
            pair = _pair(sides[0], sides[1], length, alike, apart)
            if pair is None:
                missed.append((place, key))
                continue
            apart += 0 if length is None else length(pair[0]) - length(pair[1])
            for question, sign in zip(pair, (1, -1), strict=True):
                used |= {(question.image, question.key), (question.image, question.prompts[0])}
                load[question.image] += 1
                lean[question.image] += sign
                chosen.append(Chosen(question=question, wording=place))
        waiting = missed
    return chosen


def _pair(
    yes: Sequence[Question],
    no: Sequence[Question],
    length: Callable[[Question], int] | None,
    alike: bool,
    apart: int,
) -> tuple[Question, Question] | None:
    """The first of both answers that may stand side by side; `apart` is how many words the pairs so
    far differ by.
    """
    pairs: Iterable[tuple[Question, Question]]
    if length is None:
        pairs = zip(yes[:1], no[:1], strict=False)
    elif alike:
        first = {length(question): question for question in reversed(no)}
        pairs = (
            (question, first[words]) for question in yes if (words := length(question)) in first
        )
    else:
        some = [(a, b) for a in yes[:_NEAREST] for b in no[:_NEAREST]]
        pairs = sorted(some, key=lambda pair: abs(apart + length(pair[0]) - length(pair[1])))
    return next(
        (
            pair
            for pair in pairs
            if pair[0].image != pair[1].image or pair[0].prompts != pair[1].prompts
        ),
        None,
    )


def _drawn(questions: Sequence[Question], rng: np.random.Generator) -> list[Question]:
    order = rng.permutation(len(questions))[:_CANDIDATES]
    return [questions[int(i)] for i in order]


def with_matches(
    chosen: Sequence[Chosen], candidates: Iterable[Question], taken: set[tuple[str, str]]
) -> list[Chosen]:
    """The same pairs, each with a matched pair where there is one: another key about the same two
    pictures.

    The matched key is answered yes about the first picture and no about the second, as the pair's
    own is, so that the matched items are as balanced as the items. Of several the one nearest in
    frequency and size is taken.
    """
    held: dict[tuple[str, str, str], dict[str, Question]] = defaultdict(dict)
    for question in candidates:
        held[question.image, question.part, str(question.target)].setdefault(question.key, question)
    used, matched = set(taken), []
    for first, second in zip(chosen[::2], chosen[1::2], strict=True):
        a, b = first.question, second.question
        of_first, of_second = (
            held[a.image, a.part, str(a.target)],
            held[b.image, b.part, str(b.target)],
        )
        keys = [
            key
            for key in of_first.keys() & of_second.keys()
            if key != a.key
            and not used & {(a.image, key), (b.image, key)}
            and not used & {(q.image, q.prompts[0]) for q in (of_first[key], of_second[key])}
        ]
        if not keys:
            matched += [first, second]
            continue
        best = min(
            sorted(keys), key=lambda key: _distance(a, of_first[key]) + _distance(b, of_second[key])
        )
        for one_of, other in ((first, of_first[best]), (second, of_second[best])):
            used |= {(other.image, best), (other.image, other.prompts[0])}
            matched.append(Chosen(question=one_of.question, wording=one_of.wording, matched=other))
    return matched


def _distance(a: Question, b: Question) -> float:
    """How far two questions lie apart in frequency and size, in powers of e."""
    apart = abs(math.log(max(a.frequency, 1e-6)) - math.log(max(b.frequency, 1e-6)))
    return apart + (abs(math.log(a.size) - math.log(b.size)) if a.size and b.size else 0.0)


def spread(candidates: Iterable[Question], items: int, rng: np.random.Generator) -> list[Chosen]:
    """Open questions of one part, spread over keys, right answers and pictures.

    The answers of one key take turns, so that a name goes with several answers where the pictures
    allow it.
    """
    listed = list(candidates)
    questions = [listed[int(i)] for i in rng.permutation(len(listed))]
    turns: Counter[tuple[str, str]] = Counter()
    answers: Counter[str] = Counter()
    load: Counter[str] = Counter()
    ranked: list[tuple[int, int, int, int, Question]] = []
    for question in questions:
        answer = str(question.target)
        ranked.append(
            (
                turns[question.key, answer],
                answers[answer],
                load[question.image],
                len(ranked),
                question,
            )
        )
        turns[question.key, answer] += 1
        answers[answer] += 1
        load[question.image] += 1
    return [
        Chosen(question=question, wording=place)
        for place, (*_, question) in enumerate(sorted(ranked)[:items])
    ]


def with_open_matches(chosen: Sequence[Chosen], candidates: Iterable[Question]) -> list[Chosen]:
    """Open questions, each with another one of its part about the same picture that has the same
    possible answers.
    """
    held: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for question in candidates:
        held[question.image, question.part].append(question)
    used = {each.question.place for each in chosen}
    matched = []
    for each in chosen:
        own = each.question
        others = [
            other
            for other in held[own.image, own.part]
            if other.place not in used
            and set(other.rivals) == set(own.rivals)
            and type(other.target) is type(own.target)
        ]
        best = min(others, key=lambda other: (_distance(own, other), other.key), default=None)
        if best is not None:
            used.add(best.place)
        matched.append(Chosen(question=own, wording=each.wording, matched=best))
    return matched


def shares(items: int, parts: Sequence[str]) -> Mapping[str, int]:
    """The number of items of each part: even, because half of them are answered yes, and together
    as many as can be.

    >>> dict(shares(200, ["random", "popular", "adversarial"]))
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
    def of(cls, pictures: Iterable[Collection[str]]) -> CoOccurrence:
        """Count the features of every picture.

        >>> seen = CoOccurrence.of([{"cup", "table"}, {"cup"}, {"dog"}])
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
                pairs[name].update(other for other in sorted(features) if other != name)
        return cls(number, single, pairs)

    def frequency(self, name: str) -> float:
        """The share of pictures that have it."""
        return self.single.get(name, 0) / self.pictures if self.pictures else 0.0

    def share_given(self, feature: str, name: str) -> float:
        """P(feature | object): the share of the object's pictures that have the feature."""
        there = self.single.get(name, 0)
        return self.pairs.get(name, {}).get(feature, 0) / there if there else 0.0

    def strongest(self, feature: str, present: Collection[str]) -> float:
        """How likely a feature is by that of the present things which makes it likeliest."""
        return max((self.share_given(feature, name) for name in present), default=0.0)


def skew(shares: Array) -> Mapping[str, float]:
    """The five statistics of how unevenly a feature goes with the objects, from P(feature | object)
    of each.

    >>> import numpy as np
    >>> skew(np.array([0.9, 0.1, 0.2]))["max - min"]
    0.8
    """
    top, middle, bottom = float(shares.max()), float(shares.mean()), float(shares.min())
    return dict(zip(SKEWS, (top, middle, top - middle, middle - bottom, top - bottom), strict=True))
