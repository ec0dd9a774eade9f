"""How much of a benchmark can be answered without its pictures, from its words or from their
number?
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from hqm.psychometrics.cross_validation import (
    Labelled,
    Questions,
    accuracy,
    counted,
    deal,
    gain_over,
    majority,
    without_gaps,
)
from hqm.psychometrics.leaks import (
    ALPHA,
    Stratum,
    View,
    judge_strata,
    leaking,
    tests_in,
    too_few,
    untested,
    views,
)
from hqm.psychometrics.result import Array, Coefficient, Flags, Numbers, Outcome, Status
from hqm.psychometrics.significance import benjamini_hochberg


@dataclass(frozen=True, slots=True)
class BlindType:
    """One type answered blind: cross-validated accuracy from the text, and that of the type's
    commonest label.
    """

    name: str
    items: int
    labels: int
    accuracy: Coefficient
    baseline: float
    gain: Coefficient
    p: float
    q: float


@dataclass(frozen=True, slots=True)
class Solvability(Outcome):
    """What the texts of the questions alone can answer.

    - `accuracy, baseline`: Cross-validated accuracy from the texts; accuracy of the commonest label
      of each type.
    - `gain, p`: Their difference, and its one-sided p-value with clusters as units.
    - `types`: The same for every type, q by Benjamini and Hochberg.
    - `strata`: Types, parts and types of a part, each with ends of the gain that hold for all of
      them together.
    - `features`: Word and letter sequences the classifier saw.
    """

    accuracy: Coefficient
    baseline: float
    gain: Coefficient
    p: float
    types: tuple[BlindType, ...] = ()
    features: int = 0
    strata: tuple[Stratum, ...] = ()

    @property
    def leaks(self) -> tuple[Stratum, ...]:
        """Where the words give labels away, the largest gain first."""
        return leaking(self.strata)


def blind_solvability(
    questions: Sequence[str],
    labels: Sequence[str],
    *,
    rng: np.random.Generator,
    clusters: Sequence[Hashable] | None = None,
    types: Sequence[str | None] | None = None,
    parts: Sequence[str] | None = None,
    folds: int = 10,
    level: float = 0.95,
    alpha: float = ALPHA,
) -> Solvability:
    """Predict each label from the question's text and see how often that is right.

    A question that can be answered without its picture measures what a model believes about the
    world, not what it sees. The classifier is a plain one, so the accuracy is a floor: a language
    model will do better.

    Naive Bayes on which words, pairs of words and runs of 3 and 4 letters occur, one model a type:

        label = argmax_k log p_k + sum over f in text of log((n_fk + 1) / (sum_f n_fk + F))

    The baseline is not cross-validated (the better for it), so the gain is a little too small where
    labels are balanced.

    - `questions, labels`: (items,)
    - `rng`: Deals the clusters into folds.
    - `clusters`: (items,): pictures. Questions of one picture, or of one pair, stay in one fold,
      else a question's twin with the opposite label would be learnt. By default every item stands
      alone.
    - `types, parts`: (items,): the strata; a model is learnt for each type, and for each type of
      each part.
    - `folds, level`: Of the cross-validation and of the intervals.
    - `alpha`: The chance that any stratum is called solvable although none is.

    The status is `insufficient` for fewer than 20 items or 5 clusters; `degenerate` when all labels
    are the same; `not_informative` when every type has one label only: the baseline is then 1 and
    the text can add nothing.

    Questions about the sea are always "yes":

    >>> asked = [f"Is there a {thing} in picture {i}?" for i in range(60) for thing in ("boat",
    ...     "tram")]
    >>> rng = np.random.default_rng(0)
    >>> result = blind_solvability(asked, ["yes", "no"] * 60, clusters=[i // 2 for i in range(120)],
    ...     rng=rng)
    >>> result.accuracy.value, result.baseline
    (1.0, 0.5)
    """
    if len(questions) != len(labels):
        raise ValueError(f"{len(questions)} questions have {len(labels)} labels")
    items = deal(labels, clusters, types, rng, folds)
    groups = int(items.cluster.max(initial=-1)) + 1

    def absent(status: Status, reason: str, baseline: float = float("nan")) -> Solvability:
        none = Coefficient.absent(status, reason, groups)
        return Solvability(none, baseline, none, float("nan"), status=status, reason=reason)

    if reason := too_few(items):
        return absent("insufficient", reason)
    baseline = majority(items)
    if len(items.labels) < 2:
        return absent("degenerate", f"all labels are {items.labels[0]!r}", 1.0)
    if bool(baseline.all()):
        return absent(
            "not_informative", "every type has one label only: the type alone gives it", 1.0
        )
    item, feature, size = Questions.of(questions).features()
    hits = _by_words(items, item, feature, forward=False)(items.fold)
    rows = []
    for k, name in enumerate(items.kinds):
        inside = items.kind == k
        cluster = np.unique(items.cluster[inside], return_inverse=True)[1].astype(np.int64)
        gain, p = gain_over(hits[inside], baseline[inside], cluster, level)
        distinct = len(np.unique(items.label[inside]))
        share = accuracy(hits[inside], cluster, level)
        rows.append(
            (name, int(inside.sum()), distinct, share, float(baseline[inside].mean()), gain, p)
        )
    # a type with one label is answered by its name: nothing is tested
    q = benjamini_hochberg(
        [p if distinct > 1 else float("nan") for _, _, distinct, _, _, _, p in rows]
    )
    per_type = tuple(BlindType(*row, float(value)) for row, value in zip(rows, q, strict=True))
    gain, p = gain_over(hits, baseline, items.cluster, level)
    share = accuracy(hits, items.cluster, level)
    seen = views(items, parts)
    strata = tuple(
        stratum
        for view in seen
        for stratum in judge_strata(
            view,
            _by_words(view.items, item, feature, forward=True),
            rng,
            cue="words",
            tests=tests_in(seen),
            alpha=alpha,
        )
    )
    return Solvability(share, float(baseline.mean()), gain, p, per_type, size, strata)


def _by_words(
    items: Labelled, item: Numbers, feature: Numbers, *, forward: bool
) -> Callable[[Numbers], Array]:
    """Turns of the items -> which are predicted rightly, by the turns before their own (`forward`),
    or by all others.
    """
    kinds = []
    for kind in range(len(items.kinds)):
        members = np.flatnonzero(items.kind == kind)
        position = np.full(len(items.label), -1)
        position[members] = np.arange(len(members))
        at = position[item]
        chosen = at >= 0
        kinds.append((members, at[chosen], *without_gaps(feature[chosen])))

    def predict(turn: Numbers) -> Array:
        hits = np.zeros(len(items.label))
        for members, at, what, width in kinds:
            hits[members] = _of_one_type(
                items.label[members], at, what, width, turn[members], len(items.labels), forward
            )
        return hits

    return predict


def _of_one_type(
    label: Numbers, at: Numbers, what: Numbers, width: int, turn: Numbers, count: int, forward: bool
) -> Array:
    """Which items of one type are predicted rightly."""
    hits = np.zeros(len(label))
    blocks = int(turn.max()) + 1
    # a sort of small numbers takes time in proportion to them
    order = np.argsort(turn.astype(np.int16)[at], kind="stable")
    at, what = at[order], what[order]
    key = label[at] * width + what
    ends = np.searchsorted(turn[at], np.arange(blocks + 1))
    whole = np.bincount(key, minlength=count * width), np.bincount(label, minlength=count)
    before = np.zeros(count * width), np.zeros(count)
    for b in range(blocks):
        part, test = slice(ends[b], ends[b + 1]), turn == b
        own = (
            np.bincount(key[part], minlength=count * width),
            np.bincount(label[test], minlength=count),
        )
        seen, prior = before if forward else (whole[0] - own[0], whole[1] - own[1])
        if test.any() and (b or not forward):
            with np.errstate(divide="ignore"):
                # a label that was not seen is not predicted
                score = np.tile(np.log(prior), (len(label), 1))
            table = seen.reshape(count, width)
            weight = np.log((table + 1) / (table.sum(axis=1, keepdims=True) + width))
            for k in range(count):
                score[:, k] += np.bincount(
                    at[part], weights=weight[k][what[part]], minlength=len(label)
                )
            hits[test] = score[test].argmax(axis=1) == label[test]
        before = before[0] + own[0], before[1] + own[1]
    return hits


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthRule:
    """One threshold of the number of words, in one type and part.

    - `stratum`: The test, learnt forward: whether the rule beats the commonest label, with ends of
      the gain that hold for all rules together.
    - `accuracy`: Cross-validated share of labels that are right; its interval holds for all rules
      together.
    - `baseline`: Share of the commonest label.
    - `threshold, short, long`: Learnt from all items: the label of texts of at most so many words,
      and of longer ones.
    """

    stratum: Stratum
    accuracy: Coefficient
    baseline: float
    threshold: int
    short: str
    long: str

    @property
    def sentence(self) -> str:
        """The rule in words.

        >>> nothing = Stratum("action", "", "", 0, 0, *[float("nan")] * 6, False, 0.0)
        >>> rule = LengthRule(
        ...     stratum=nothing,
        ...     accuracy=Coefficient(0.9),
        ...     baseline=0.5,
        ...     threshold=14,
        ...     short="yes",
        ...     long="no",
        ... )
        >>> rule.sentence
        'yes for at most 14 words and no for more'
        """
        return f"{self.short} for at most {self.threshold} words and {self.long} for more"


@dataclass(frozen=True, slots=True)
class LengthCue(Outcome):
    """What the number of words gives away: one rule for every type, part, and type of a part."""

    rules: tuple[LengthRule, ...] = ()

    @property
    def strongest(self) -> LengthRule:
        """The rule whose gain over the commonest label is largest."""
        return max(self.rules, key=lambda rule: rule.accuracy.value - rule.baseline)


def length_cue(
    lengths: Sequence[int] | Numbers,
    labels: Sequence[str],
    *,
    rng: np.random.Generator,
    clusters: Sequence[Hashable] | None = None,
    types: Sequence[str | None] | None = None,
    parts: Sequence[str] | None = None,
    folds: int = 5,
    level: float = 0.95,
    alpha: float = ALPHA,
) -> LengthCue:
    """Predict each of two labels from the number of words alone, by one threshold, on items not
    learnt from.

    A made-up caption is often longer than a true one, and a right answer longer than a wrong one.
    Who counts words then needs no picture. A threshold is the weakest of such readers: it has two
    numbers to learn, and cannot learn by heart.

    - `lengths, labels`: (items,): words of each text, and its right answer.
    - `rng`: Deals the clusters into folds.
    - `clusters`: (items,): pictures; what belongs to one picture stays in one fold.
    - `types, parts`: (items,): a rule is learnt in each. Items without a type belong to every type
      that has one label only: Hal-Eval's true captions are compared with the false ones of each
      type.
    - `folds, level, alpha`: Of the cross-validation, of the intervals, and of the test of all rules
      together.

    The status is `not_applicable` for more than two labels, `not_informative` where no type has
    two, and `insufficient` where none has 20 items in 5 clusters.

    >>> lengths = [9, 21, 11, 19, 10, 24, 8, 22] * 20
    >>> study = length_cue(lengths, ["yes", "no"] * 80, rng=np.random.default_rng(0))
    >>> study.strongest.sentence, study.strongest.accuracy.value
    ('yes for at most 11 words and no for more', 1.0)
    """
    for what, column in (("lengths", lengths), ("types", types), ("parts", parts)):
        if column is not None and len(column) != len(labels):
            raise ValueError(f"{len(labels)} labels have {len(column)} {what}")
    words = np.asarray(lengths, dtype=np.int64)
    whole = deal(labels, clusters, None, rng, folds)
    if len(whole.labels) > 2:
        return LengthCue.absent(
            "not_applicable", f"a threshold divides two labels, there are {len(whole.labels)}"
        )
    asked = list(_comparisons(whole, types, parts))
    if not asked:
        return LengthCue.absent(
            "not_informative", "no type has two labels: the type alone gives the label"
        )
    chosen = [(kind, part, inside) for kind, part, inside in asked if not untested(whole, inside)]
    if not chosen:
        return LengthCue.absent("insufficient", untested(whole, asked[0][-1]))
    share = 1 - (1 - level) / len(chosen)
    rules = [
        _rule(kind, part, _within(whole, inside), words[inside], rng, len(chosen), share, alpha)
        for kind, part, inside in chosen
    ]
    return LengthCue(tuple(rules))


def _comparisons(
    items: Labelled, types: Sequence[str | None] | None, parts: Sequence[str] | None
) -> Iterator[tuple[str, str, Flags]]:
    """Each type in all parts and in each: its name, the part's, and which items; those with one
    label are left out.
    """
    kinds = np.array(["" if kind is None else kind for kind in types or [""] * len(items.label)])
    names = [str(name) for name in dict.fromkeys(kinds.tolist())]
    sections = np.array(list(parts or [""] * len(items.label)))
    every = [str(name) for name in dict.fromkeys(sections.tolist())]
    untyped = kinds == ""
    for part in ["", *every] if len(every) > 1 else [""]:
        of_part = (sections == part) if part else np.ones(len(kinds), dtype=bool)
        for name in names:
            inside = (kinds == name) & of_part
            if name and len(np.unique(items.label[inside])) < 2:
                inside |= untyped & of_part
            if len(np.unique(items.label[inside])) == 2:
                yield name if len(names) > 1 else "", part, inside


def _within(items: Labelled, inside: Flags) -> Labelled:
    """These items as one type, in the folds that they have."""
    cluster = np.unique(items.cluster[inside], return_inverse=True)[1].astype(np.int64)
    zero = np.zeros(int(inside.sum()), dtype=np.int64)
    return Labelled(
        items.label[inside], zero, cluster, items.fold[inside], items.labels, ("all",), items.folds
    )


def _rule(
    kind: str,
    part: str,
    items: Labelled,
    words: Numbers,
    rng: np.random.Generator,
    rules: int,
    level: float,
    alpha: float,
) -> LengthRule:
    hits = _by_length(items, words, items.fold, forward=False)
    view = View(items, ((kind, part, np.ones(len(words), dtype=bool)),))
    (stratum,) = judge_strata(
        view,
        lambda block: _by_length(items, words, block, forward=True),
        rng,
        cue="number of words",
        tests=rules,
        alpha=alpha,
    )
    threshold, short = _threshold(items.label, words)
    return LengthRule(
        stratum=stratum,
        accuracy=accuracy(hits, items.cluster, level),
        baseline=float(majority(items).mean()),
        threshold=threshold,
        short=items.labels[short],
        long=items.labels[1 - short],
    )


def _threshold(label: Numbers, words: Numbers) -> tuple[int, int]:
    """The threshold with the most right labels, the lowest of equals, and the label of the texts up
    to it.
    """
    width = int(words.max(initial=0)) + 1
    below = counted(label * width + words, 2, width).cumsum(axis=1)
    above = below[:, -1:] - below
    right = below + above[::-1]  # row k: label k up to the threshold, the other label beyond it
    short, position = divmod(int(right.argmax()), width)
    return position, short


def _by_length(items: Labelled, words: Numbers, turn: Numbers, *, forward: bool) -> Array:
    """Which items are right by the threshold of the turns before their own, or of all others."""
    hits = np.zeros(len(words))
    for b in range(int(forward), int(turn.max()) + 1):
        test = turn == b
        seen = turn < b if forward else ~test
        threshold, short = _threshold(items.label[seen], words[seen])
        hits[test] = np.where(words[test] <= threshold, short, 1 - short) == items.label[test]
    return hits


def own_words(texts: Sequence[str]) -> list[int]:
    """How many words each text has beside those with which all of them begin and end.

    A word is what stands between blanks and has a letter or digit.

    >>> own_words(["Is there a dog in it?", "Is there a big dog in it?", "Is there a cat in it?"])
    [1, 2, 1]
    """
    parts = [text.split() for text in texts]
    known = {word for word in set(chain.from_iterable(parts)) if any(map(str.isalnum, word))}
    split = [[word for word in words if word in known] for words in parts]
    shortest = min(map(len, split), default=0)
    begin = next((i for i in range(shortest) if len({words[i] for words in split}) > 1), shortest)
    left = shortest - begin
    end = next((i for i in range(left) if len({words[-1 - i] for words in split}) > 1), left)
    return [len(words) - begin - end for words in split]
