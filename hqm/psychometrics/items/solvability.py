"""How much of a benchmark can be answered without its pictures, from its words or from their
number?
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.inference.cross_validation import (
    LabelledItems,
    Questions,
    accuracy,
    accuracy_gain,
    count_table,
    factorize,
    majority_hits,
    split_folds,
)
from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.psychometrics.items.guessing import Candidates, Guesser, label_candidates, make_guesser
from hqm.psychometrics.items.leaks import (
    ALPHA,
    Predict,
    Stratum,
    View,
    count_tests,
    evaluate_strata,
    leaking_strata,
    sample_size_problem,
    untestable_reason,
    views,
)
from hqm.psychometrics.result import Array, BoolArray, Coefficient, IntArray, Outcome, Status

MAX_ORDERS = 2
MAX_ROWS = 20_000
"""Random orders in which the items are tried, and answers of all items together beyond which it is
one: a fit takes time, and the test holds in each order.
"""


@dataclass(frozen=True, slots=True)
class BlindType:
    """One type answered without pictures: cross-validated accuracy and its baseline."""

    name: str
    items: int
    labels: int
    accuracy: Coefficient
    baseline: float
    gain: Coefficient
    p: float
    q: float

    @property
    def guess(self) -> float:
        """What a guesser reaches that knows the commonest answer too: where scores start from."""
        return max(self.accuracy.value, self.baseline)


@dataclass(frozen=True, slots=True)
class Solvability(Outcome):
    """Accuracy that the texts of the questions alone reach.

    Attributes
    ----------
    accuracy, baseline
        Cross-validated accuracy from the texts; accuracy of the commonest label of each type.
    gain, p
        Their difference, and its one-sided p-value with clusters as units.
    types
        The same for every type, q by Benjamini and Hochberg.
    strata
        Types, parts and types of a part, each with ends of the gain that hold for all of them
        together.
    features
        Word and letter sequences the classifier saw.
    """

    accuracy: Coefficient
    baseline: float
    gain: Coefficient
    p: float
    types: tuple[BlindType, ...] = ()
    features: int = 0
    strata: tuple[Stratum, ...] = ()

    @property
    def guess(self) -> float:
        """What a guesser reaches that knows the commonest answer too: where scores start from."""
        return max(self.accuracy.value, self.baseline)

    @property
    def leaks(self) -> tuple[Stratum, ...]:
        """Where the words give labels away, the largest gain first."""
        return leaking_strata(self.strata)


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
    candidates: Candidates | None = None,
) -> Solvability:
    """Guess each answer from all that an item shows beside its picture, by cross-validation.

    A question that can be answered without its picture measures what a model believes about the
    world, not what it sees. The accuracy of guessing is the line that scores start from. The model
    is a plain one, so that it is a floor: a language model will do better.

    Parameters
    ----------
    questions, labels : sequence of str, shape (items,)
        Texts of the questions, and their labels.
    rng : numpy.random.Generator
        Deals the clusters into folds.
    clusters : sequence of Hashable, shape (items,), optional
        Pictures. Questions of one picture, or of one pair, stay in one fold, else a question's twin
        with the opposite label would be learnt. By default every item stands alone.
    types, parts : sequence of str, shape (items,), optional
        The strata. A model is learnt from the words and the type; where a part is judged by itself,
        also from the part, which is no cue for the whole, as no respondent sees it.
    folds : int, default 10
        Number of folds of the cross-validation.
    level : float, default 0.95
        Confidence level of the interval.
    alpha : float, default ALPHA
        The chance that any stratum is called solvable although none is.
    candidates : Candidates, optional
        The answers of each item (`find_candidates`); by default every label may be the answer to
        every item.

    Returns
    -------
    Solvability
        The accuracies, overall and by type, and the tests of all strata. The status is
        `insufficient` for fewer than 20 items or 5 clusters; `degenerate` when all labels are the
        same; `not_informative` when every type has one label only: the baseline is then 1 and the
        text can add nothing.

    Raises
    ------
    ValueError
        `questions` and `labels` differ in length.

    Notes
    -----
    A conditional logit over the answers of each item (McFadden 1974), with a normal prior of its
    weights:

        P(answer c of item i) = exp(x_ic' w) / sum over c' of exp(x_ic'' w)

    x: how often an answer, or its place, is right; words, pairs of words and surface of the
    question with each answer or place; text, rank of length, place, size as a number, punctuation
    and words shared with question and other options of each option. A feature stands once for all
    items, once for each type and, for the strata within parts, once for each part.

    The baseline of items with labels of their own (options, open answers) is chance. That of items
    which share their labels, as yes and no, is the commonest label of the type; it is not
    cross-validated (the better for it), so the gain is a little too small where labels are
    balanced.

    References
    ----------
    McFadden (1974), Conditional logit analysis of qualitative choice behavior. In Zarembka (ed.),
    Frontiers in Econometrics, 105-142.

    Examples
    --------
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
    items = split_folds(labels, clusters, types, rng, folds)
    groups = int(items.cluster.max(initial=-1)) + 1

    def absent(status: Status, reason: str, baseline: float = float("nan")) -> Solvability:
        undefined = Coefficient.absent(status, reason, groups)
        return Solvability(
            undefined, baseline, undefined, float("nan"), status=status, reason=reason
        )

    if reason := sample_size_problem(items):
        return absent("insufficient", reason)
    candidates = candidates or label_candidates(labels)
    baseline = _reference(items, candidates)
    if len(items.labels) < 2 and baseline.min() == 1:
        return absent("degenerate", f"all labels are {items.labels[0]!r}", 1.0)
    if baseline.min() == 1:
        return absent(
            "not_informative", "every type has one label only: the type alone gives it", 1.0
        )
    groupings = [items.kind] if len(items.kinds) > 1 else []
    texts = Questions.parse(questions)
    guesser = make_guesser(candidates, texts, groupings)
    hits = guesser.predict(items.fold, forward=False)
    rows = []
    for k, name in enumerate(items.kinds):
        is_type = items.kind == k
        # clusters numbered from 0 within the type, as tests over clusters need
        cluster = np.unique(items.cluster[is_type], return_inverse=True)[1].astype(np.int64)
        gain, p = accuracy_gain(hits[is_type], baseline[is_type], cluster, level)
        distinct = len(np.unique(items.label[is_type]))
        type_accuracy = accuracy(hits[is_type], cluster, level)
        rows.append(
            (
                name,
                int(is_type.sum()),
                distinct,
                type_accuracy,
                float(baseline[is_type].mean()),
                gain,
                p,
            )
        )
    # a type that always has the answer of its baseline leaves nothing to test
    q = benjamini_hochberg([p if floor < 1 else float("nan") for *_, floor, _, p in rows])
    per_type = tuple(BlindType(*row, float(value)) for row, value in zip(rows, q, strict=True))
    gain, p = accuracy_gain(hits, baseline, items.cluster, level)
    type_accuracy = accuracy(hits, items.cluster, level)
    # strata of the whole and of each part: the tests share one level
    all_views = views(items, parts)
    references = [_reference(view.items, candidates) for view in all_views]
    tests = 0
    for view, reference in zip(all_views, references, strict=True):
        tests += count_tests([view], reference)
    # one seed, drawn before the views, so that their number changes no order
    is_large = len(candidates.item) > MAX_ROWS
    seed = int(rng.integers(2**32))
    guessers = [guesser]
    if len(all_views) > 1 and parts is not None:
        # no model sees the part: it is learnt from only where parts are judged one by one
        guessers.append(make_guesser(candidates, texts, [*groupings, factorize(parts)[0]]))
    strata: list[Stratum] = []
    for view, reference, learner in zip(all_views, references, guessers, strict=True):
        strata += evaluate_strata(
            view,
            _remember_blocks(learner),
            # the same orders in each view: every one is learnt once
            np.random.default_rng(seed),
            cue="words",
            tests=tests,
            alpha=alpha,
            reference=reference,
            margin=candidates.margin,
            orders=1 if is_large else MAX_ORDERS,
        )
    return Solvability(
        type_accuracy,
        float(baseline.mean()),
        gain,
        p,
        per_type,
        guesser.n_features,
        tuple(strata),
    )


def _remember_blocks(guesser: Guesser) -> Predict:
    """Return a forward prediction of blocks in which every order of blocks is learnt once."""
    hits_of_order: dict[bytes, Array] = {}

    def predict(block: IntArray) -> Array:
        key = block.tobytes()
        if key not in hits_of_order:
            hits_of_order[key] = guesser.predict(block, forward=True)
        return hits_of_order[key]

    return predict


def _reference(items: LabelledItems, candidates: Candidates) -> Array:
    # labels that differ from item to item have no commonest one
    """(items,): what guessing is compared with: the commonest label of the type where labels are
    shared, and else chance.
    """
    return np.where(candidates.has_mode("label"), majority_hits(items), candidates.chance)


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthRule:
    """One threshold of the number of words, in one type and part.

    Attributes
    ----------
    stratum
        The test, learnt forward: whether the rule beats the commonest label, with ends of the gain
        that hold for all rules together.
    accuracy
        Cross-validated share of labels that are right; its interval holds for all rules together.
    baseline
        Share of the commonest label.
    threshold, short_label, long_label
        Learnt from all items: the label of texts of at most so many words, and of longer ones.
    """

    stratum: Stratum
    accuracy: Coefficient
    baseline: float
    threshold: int
    short_label: str
    long_label: str

    @property
    def sentence(self) -> str:
        """The rule in words.

        >>> nothing = Stratum("action", "", "", 0, 0, *[float("nan")] * 6, False, 0.0)
        >>> rule = LengthRule(
        ...     stratum=nothing,
        ...     accuracy=Coefficient(0.9),
        ...     baseline=0.5,
        ...     threshold=14,
        ...     short_label="yes",
        ...     long_label="no",
        ... )
        >>> rule.sentence
        'yes for at most 14 words and no for more'
        """
        return (
            f"{self.short_label} for at most {self.threshold} words and {self.long_label} for more"
        )


@dataclass(frozen=True, slots=True)
class LengthCue(Outcome):
    """Rules that predict the label from the number of words, by type, part and type of a part."""

    rules: tuple[LengthRule, ...] = ()

    @property
    def strongest(self) -> LengthRule:
        """The rule whose gain over the commonest label is largest."""
        return max(self.rules, key=lambda rule: rule.accuracy.value - rule.baseline)


def length_cue(
    lengths: Sequence[int] | IntArray,
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
    """Predict each of two labels from the number of words by one threshold, cross-validated.

    A made-up caption is often longer than a true one, and a right answer longer than a wrong one.
    Who counts words then needs no picture. A threshold is the weakest of such readers: it has two
    numbers to learn, and cannot learn by heart.

    Parameters
    ----------
    lengths : Sequence[int] | IntArray, shape (items,)
        Number of words of each text.
    labels : sequence of str, shape (items,)
        The right answer to each text.
    rng : numpy.random.Generator
        Deals the clusters into folds.
    clusters : sequence of Hashable, shape (items,), optional
        Pictures; what belongs to one picture stays in one fold.
    types, parts : sequence of str, shape (items,), optional
        a rule is learnt in each. Items without a type belong to every type that has one label only:
        Hal-Eval's true captions are compared with the false ones of each type.
    folds : int, default 5
        Number of folds of the cross-validation.
    level : float, default 0.95
        Confidence level of the interval.
    alpha : float, default ALPHA
        The chance that any rule is called a leak although none is.

    Returns
    -------
    LengthCue
        One rule for every type and part that can be tested. The status is `not_applicable` for more
        than two labels, `not_informative` where no type has two, and `insufficient` where none has
        20 items in 5 clusters.

    Raises
    ------
    ValueError
        A column has another length than `labels`.

    Examples
    --------
    >>> lengths = [9, 21, 11, 19, 10, 24, 8, 22] * 20
    >>> study = length_cue(lengths, ["yes", "no"] * 80, rng=np.random.default_rng(0))
    >>> study.strongest.sentence, study.strongest.accuracy.value
    ('yes for at most 11 words and no for more', 1.0)
    """
    for column_name, column in (("lengths", lengths), ("types", types), ("parts", parts)):
        if column is not None and len(column) != len(labels):
            raise ValueError(f"{len(labels)} labels have {len(column)} {column_name}")
    words = np.asarray(lengths, dtype=np.int64)
    labelled_items = split_folds(labels, clusters, None, rng, folds)
    if len(labelled_items.labels) > 2:
        return LengthCue.absent(
            "not_applicable",
            f"a threshold divides two labels, there are {len(labelled_items.labels)}",
        )
    comparisons = list(_comparisons(labelled_items, types, parts))
    if not comparisons:
        return LengthCue.absent(
            "not_informative", "no type has two labels: the type alone gives the label"
        )
    testable = [
        (kind, part_name, members)
        for kind, part_name, members in comparisons
        if not untestable_reason(labelled_items, members)
    ]
    if not testable:
        return LengthCue.absent(
            "insufficient", untestable_reason(labelled_items, comparisons[0][-1])
        )
    # Bonferroni over the rules
    adjusted_level = 1 - (1 - level) / len(testable)
    rules = [
        _rule(
            kind,
            part_name,
            _single_type(labelled_items, members),
            words[members],
            rng,
            len(testable),
            adjusted_level,
            alpha,
        )
        for kind, part_name, members in testable
    ]
    return LengthCue(tuple(rules))


def _comparisons(
    items: LabelledItems, types: Sequence[str | None] | None, parts: Sequence[str] | None
) -> Iterator[tuple[str, str, BoolArray]]:
    """Yield name of type, name of part, and items, where these have two labels."""
    kinds = np.array(["" if kind is None else kind for kind in types or [""] * len(items.label)])
    names = [str(name) for name in dict.fromkeys(kinds.tolist())]
    sections = np.array(list(parts or [""] * len(items.label)))
    part_names = [str(name) for name in dict.fromkeys(sections.tolist())]
    untyped = kinds == ""
    for part_name in ["", *part_names] if len(part_names) > 1 else [""]:
        if part_name:
            part_members = sections == part_name
        else:
            part_members = np.ones(len(kinds), dtype=bool)
        for name in names:
            members = (kinds == name) & part_members
            # items without a type complete a type that has one label only
            if name and len(np.unique(items.label[members])) < 2:
                members |= untyped & part_members
            if len(np.unique(items.label[members])) == 2:
                yield name if len(names) > 1 else "", part_name, members


def _single_type(items: LabelledItems, members: BoolArray) -> LabelledItems:
    """Return these items as one type, in their folds."""
    cluster = np.unique(items.cluster[members], return_inverse=True)[1].astype(np.int64)
    zero = np.zeros(int(members.sum()), dtype=np.int64)
    return LabelledItems(
        items.label[members],
        zero,
        cluster,
        items.fold[members],
        items.labels,
        ("all",),
        items.folds,
    )


def _rule(
    kind: str,
    part_name: str,
    items: LabelledItems,
    words: IntArray,
    rng: np.random.Generator,
    rules: int,
    level: float,
    alpha: float,
) -> LengthRule:
    hits = _by_length(items, words, items.fold, forward=False)
    view = View(items, ((kind, part_name, np.ones(len(words), dtype=bool)),))
    (stratum,) = evaluate_strata(
        view,
        lambda block: _by_length(items, words, block, forward=True),
        rng,
        cue="number of words",
        tests=rules,
        alpha=alpha,
    )
    # the printed rule is learnt from all items, its accuracy from held-out ones
    threshold, short = _threshold(items.label, words)
    return LengthRule(
        stratum=stratum,
        accuracy=accuracy(hits, items.cluster, level),
        baseline=float(majority_hits(items).mean()),
        threshold=threshold,
        short_label=items.labels[short],
        long_label=items.labels[1 - short],
    )


def _threshold(label: IntArray, words: IntArray) -> tuple[int, int]:
    """The threshold with the most right labels, the lowest of equals, and the label of the texts up
    to it.
    """
    width = int(words.max(initial=0)) + 1
    # counts of each label up to and including every threshold
    counts_below = count_table(label * width + words, 2, width).cumsum(axis=1)
    counts_above = counts_below[:, -1:] - counts_below
    right = (
        counts_below + counts_above[::-1]
    )  # row k: label k up to the threshold, the other label beyond it
    short, position = divmod(int(right.argmax()), width)
    return position, short


def _by_length(items: LabelledItems, words: IntArray, turn: IntArray, *, forward: bool) -> Array:
    """Return which items a threshold predicts rightly, learnt from earlier or all other turns."""
    hits = np.zeros(len(words))
    for b in range(int(forward), int(turn.max()) + 1):
        is_test = turn == b
        # earlier turns only, so that the test can be stopped at any of them
        is_training = turn < b if forward else ~is_test
        threshold, short = _threshold(items.label[is_training], words[is_training])
        hits[is_test] = (
            np.where(words[is_test] <= threshold, short, 1 - short) == items.label[is_test]
        )
    return hits


def unshared_word_counts(texts: Sequence[str]) -> list[int]:
    """Count the words of each text without those with which all of them begin and end.

    A word is what stands between blanks and has a letter or digit.

    Parameters
    ----------
    texts : sequence of str
        The texts.

    Returns
    -------
    list[int]
        The number of words of each text.

    Examples
    --------
    >>> unshared_word_counts(["Is there a dog in it?", "Is there a big dog in it?"])
    [0, 1]
    """
    # a text each, as the words of many long texts take gigabytes
    spellings: dict[str, str] = {}
    word_lists = []
    for text in texts:
        words = [spellings.setdefault(word, word) for word in text.split()]
        word_lists.append([word for word in words if any(map(str.isalnum, word))])
    shortest = min(map(len, word_lists), default=0)

    def differ_at(index: int) -> bool:
        return len({words[index] for words in word_lists}) > 1

    begin = next(filter(differ_at, range(shortest)), shortest)
    left = shortest - begin
    end = next((i for i in range(left) if differ_at(-1 - i)), left)
    return [len(words) - begin - end for words in word_lists]
