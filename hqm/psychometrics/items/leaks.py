"""Surface features of a benchmark that give its labels away: predictions made without the pictures
that beat the commonest label.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from hqm.psychometrics.inference.cross_validation import (
    LabelledItems,
    Questions,
    clustered_gain,
    count_table,
    factorize,
    forward_predictor,
    gather_rows,
    majority_hits,
    naive_bayes_predictor,
    split_folds,
    unique_codes,
)
from hqm.psychometrics.inference.distributions import binomial_above
from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.psychometrics.result import (
    Array,
    BoolArray,
    IntArray,
    Outcome,
    Status,
    normal_quantile,
)

ALPHA = 0.05
"""The chance of a false leak in a whole benchmark, by the words and by all cues together."""
SEARCHES = 2
"""The words, and the cues: each may use half of `ALPHA`."""
ORDERS = 4
"""Random orders of the clusters whose results are averaged, so that the verdict hangs on none of
them.
"""
BLOCKS = 10
POWER = 0.8

Predict = Callable[[IntArray], Array]
"""(items,) blocks -> hits of a prediction that learns each block from the blocks before it; the
first block is not predicted.
"""


@dataclass(frozen=True, slots=True)
class Stratum:
    """One prediction in one type, part, or type of a part; an empty name stands for all of them.

    Attributes
    ----------
    items, clusters
        How many, of which the prediction was tried on all but the first of ten blocks.
    accuracy, baseline, gain
        Share of right predictions where each block is learnt from the blocks before it, that of the
        commonest label on the same items, and their difference.
    low, high
        Ends of the gain that hold for all strata and cues together (1 - alpha, each end by itself).
    p
        One-sided, multiplied by the number of tests of words and cues together.
    shown
        p is below alpha, and then `low` is above 0: more than chance explains.
    detectable
        The smallest gain that would be shown with 80% power.
    """

    type: str
    part: str
    cue: str
    items: int
    clusters: int
    accuracy: float
    baseline: float
    gain: float
    low: float
    high: float
    p: float
    shown: bool
    detectable: float
    status: Status = "ok"
    reason: str = ""

    @property
    def name(self) -> str:
        """The stratum in words.

        >>> Stratum("ocr", "val", "", 0, 0, *[float("nan")] * 6, False, 0.0).name
        'ocr in val'
        """
        return " in ".join(filter(None, (self.type, self.part))) or "all items"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Items grouped as a prediction learns them, and the strata that it is judged in: name of type
    and part, and which items.
    """

    items: LabelledItems
    strata: tuple[tuple[str, str, BoolArray], ...]


def views(items: LabelledItems, parts: Sequence[str] | None) -> tuple[View, ...]:
    """Return the views whose strata are tested: by type, and by part where there are several.

    A leak of one part may point the other way in another part, so the parts are learnt separately.
    """
    types = [(name, "", items.kind == k) for k, name in enumerate(items.kinds)]
    single = len(types) == 1
    all_items = ("", "", np.ones(len(items.kind), dtype=bool))
    whole_view = View(items, (all_items,) if single else (all_items, *types))
    names = list(dict.fromkeys(parts or ()))
    if parts is None or len(names) < 2:
        return (whole_view,)
    part_numbers = {name: i for i, name in enumerate(names)}
    part_index = np.array([part_numbers[name] for name in parts], dtype=np.int64)
    crossed, kind = np.unique(items.kind * len(names) + part_index, return_inverse=True)
    strata = [("", name or "no part", part_index == i) for i, name in enumerate(names)]
    if not single:
        for k, code in enumerate(crossed.tolist()):
            type_number, part_number = divmod(int(code), len(names))
            member = kind == k
            # a part of one type, or a type of one part, is that part or that type
            if member.sum() < min(
                int((items.kind == type_number).sum()), int((part_index == part_number).sum())
            ):
                strata.append((items.kinds[type_number], names[part_number] or "no part", member))
    cells = LabelledItems(
        items.label,
        kind.astype(np.int64),
        items.cluster,
        items.fold,
        items.labels,
        tuple(str(code) for code in crossed),
        items.folds,
    )
    return whole_view, View(cells, tuple(strata))


def evaluate_strata(
    view: View,
    predict: Predict,
    rng: np.random.Generator,
    *,
    cue: str,
    tests: int,
    alpha: float = ALPHA,
) -> tuple[Stratum, ...]:
    """Hold a prediction against the commonest label in every stratum of a view.

    The usual cross-validation learns from items that it also tests, so that its hits depend on each
    other and a t-test of them errs up to ten times too often. Here each block is learnt from
    earlier blocks alone: the gains of the blocks are then uncorrelated, and Student's test with
    clusters as units holds (Dawid 1984, JRSS A, 147, 278-292). The t of four random orders are
    averaged, which can only make their spread smaller.

        t = mean over orders of (sum of gains / sqrt(C / (C - 1) sum of squares about the mean)),
        p = 2 tests P(T > t)

    - `predict`: Hits of each item, learnt from the blocks before its own.
    - `tests`: How many strata and cues are looked at together (Bonferroni), twice: as many chances
      of error are kept for the other search (`SEARCHES`).
    """
    # Bonferroni over strata and cues, and over the two searches
    tests *= SEARCHES
    base = majority_hits(view.items)
    count = int(view.items.cluster.max()) + 1
    blocks = [rng.permutation(np.arange(count) % BLOCKS)[view.items.cluster] for _ in range(ORDERS)]
    hits = [predict(block) for block in blocks]
    predicted = [block > 0 for block in blocks]
    strata = [
        _evaluate_stratum(
            kind, part_name, cue, member, view.items, base, hits, predicted, tests, alpha
        )
        for kind, part_name, member in view.strata
    ]
    return tuple(strata)


def _evaluate_stratum(
    kind: str,
    part_name: str,
    cue: str,
    member: BoolArray,
    items: LabelledItems,
    base: Array,
    hits: list[Array],
    predicted: list[BoolArray],
    tests: int,
    alpha: float,
) -> Stratum:
    n = int(member.sum())
    clusters = int(np.count_nonzero(np.bincount(items.cluster[member])))
    nan = math.nan
    if reason := untestable_reason(items, member):
        status: Status = "not_informative" if "one label" in reason else "insufficient"
        return Stratum(
            kind,
            part_name,
            cue,
            n,
            clusters,
            nan,
            nan,
            nan,
            nan,
            nan,
            nan,
            False,
            nan,
            status,
            reason,
        )
    rows = [
        _gain(member & was_predicted, items.cluster, item_hits, base)
        for item_hits, was_predicted in zip(hits, predicted, strict=True)
    ]
    accuracy, baseline, gain, standard_error, t, mean_square = np.mean(rows, axis=0)
    # 2^-C is what a sign test of C clusters would give at best
    p = min(1.0, tests * max(float(stdtr(clusters - 1, -t)), 2.0**-clusters))
    critical_value = -float(stdtrit(clusters - 1, alpha / tests))
    # the error that belongs to the mean t, so that the ends and p agree
    standard_error = gain / t if gain * t > 0 else standard_error
    significant = p < alpha
    low = gain - critical_value * standard_error
    high = gain + critical_value * standard_error
    low = low if significant else min(low, 0.0)
    # a prediction that never leaves the commonest label has no spread of its own to judge by
    typical_error = math.sqrt(max(mean_square, 1 - baseline) / (n * (1 - 1 / BLOCKS)))
    # the commonest label of these very items beats that of others by .8 standard errors where
    # labels are balanced
    baseline_advantage = 0.8 * math.sqrt(baseline * (1 - baseline) / n)
    # while little is learnt yet, some of what a leak gives away is missed
    learning_loss = 1 + 0.5 / BLOCKS
    detectable = min(
        1.0,
        learning_loss
        * (critical_value + normal_quantile(2 * POWER - 1))
        * max(typical_error, standard_error)
        + baseline_advantage,
    )
    return Stratum(
        kind,
        part_name,
        cue,
        n,
        clusters,
        float(accuracy),
        float(baseline),
        float(gain),
        float(low),
        float(high),
        p,
        bool(significant),
        float(detectable),
    )


def _gain(selected: BoolArray, cluster: IntArray, hits: Array, base: Array) -> tuple[float, ...]:
    """Accuracy, baseline, gain, its standard error, t, and the mean squared gain of an item."""
    difference = hits[selected] - base[selected]
    value, standard_error = clustered_gain(difference, cluster[selected])
    t = (
        value / standard_error
        if standard_error > 0
        else math.copysign(1e6, value)
        if value
        else 0.0
    )
    return (
        float(hits[selected].mean()),
        float(base[selected].mean()),
        value,
        standard_error,
        t,
        float((difference**2).mean()),
    )


def leaking_strata(strata: Iterable[Stratum]) -> tuple[Stratum, ...]:
    """Return the strata that leak, by falling gain; all items only where no single type leaks."""
    significant = [stratum for stratum in strata if stratum.shown]
    typed = any(stratum.type for stratum in significant)
    reported = (s for s in significant if s.type or s.part or not typed)
    return tuple(sorted(reported, key=lambda s: -s.gain))


MIN_ITEMS = 20
MIN_CLUSTERS = 5


def sample_size_problem(items: LabelledItems, members: BoolArray | slice = slice(None)) -> str:
    """Return why there are too few items for a test; empty where there are enough."""
    cluster = items.cluster[members]
    clusters = int(np.count_nonzero(np.bincount(cluster)))
    if len(cluster) >= MIN_ITEMS and clusters >= MIN_CLUSTERS:
        return ""
    return (
        f"{MIN_ITEMS} items in {MIN_CLUSTERS} clusters are needed, there are {len(cluster)} in"
        f" {clusters}"
    )


def untestable_reason(items: LabelledItems, members: BoolArray) -> str:
    """Return why a leak cannot be tested among these items; empty where it can."""
    if reason := sample_size_problem(items, members):
        return reason
    pairs = items.table(members) > 0
    if pairs.sum() == pairs.any(axis=1).sum():
        return "every type in it has one label only: there is nothing left to give away"
    return ""


def count_tests(all_views: Sequence[View]) -> int:
    """Return the number of strata that can be tested."""
    return sum(
        not untestable_reason(view.items, member)
        for view in all_views
        for _, _, member in view.strata
    )


@dataclass(frozen=True, slots=True)
class Cue:
    """One surface feature.

    Attributes
    ----------
    strongest
        The stratum in which it beats the commonest label most clearly (`Leakage.strata`).
    levels
        How many values the cue takes.
    """

    name: str
    strongest: Stratum
    levels: int

    @property
    def leak(self) -> bool:
        """Whether it is shown to beat the commonest label in some stratum."""
        return self.strongest.shown


@dataclass(frozen=True, slots=True)
class Giveaway:
    """A word or a beginning of questions that goes with one label.

    `share` of the `items` questions of the type with this `phrase` have the `label`; q after
    Benjamini and Hochberg over all phrases.
    """

    phrase: str
    label: str
    type: str
    items: int
    share: float
    q: float


@dataclass(frozen=True, slots=True)
class Leakage(Outcome):
    """Surface features that give the labels away.

    Attributes
    ----------
    cues
        All that could be tried, the clearest first.
    giveaways
        Phrases with at least 20 items of which .95 have one label, where the type's labels do
        differ.
    constant_types
        Types whose items all have one label, with the label: (type, label).
    strata
        Each cue in all items, each type, part and type of a part, with ends of the gain that hold
        for all of them together.
    """

    cues: tuple[Cue, ...]
    giveaways: tuple[Giveaway, ...]
    constant_types: tuple[tuple[str, str], ...]
    strata: tuple[Stratum, ...] = ()

    @property
    def leaks(self) -> tuple[str, ...]:
        """Names of the cues that leak."""
        return tuple(cue.name for cue in self.cues if cue.leak)


def leakage_cues(
    labels: Sequence[str],
    *,
    rng: np.random.Generator,
    questions: Sequence[str] | None = None,
    ids: Sequence[Hashable] | None = None,
    clusters: Sequence[Hashable] | None = None,
    types: Sequence[str | None] | None = None,
    parts: Sequence[str] | None = None,
    alpha: float = ALPHA,
) -> Leakage:
    """Test whether position, numbering or the surface of a question predicts its label.

    A respondent does not see a picture's number, but a model trained on the file, a shuffled copy
    or a shortcut in the wording can use it, and a score then says nothing about pictures. Each cue
    predicts the commonest label at its level within the type, learnt from other clusters; over all
    items, what the level says in any type is added to what the type says (naive Bayes), so that a
    file sorted by its labels is seen however many types it has. The baseline knows the type and the
    commonest label.

    Parameters
    ----------
    labels : sequence of str, shape (items,)
        In the order of the file.
    rng : numpy.random.Generator
        Deals the clusters into blocks.
    questions : sequence of str, shape (items,), optional
        Texts; numbers, or names with a number in them.
    ids : sequence of Hashable, shape (items,), optional
        Texts; numbers, or names with a number in them.
    clusters : sequence of Hashable, shape (items,), optional
        Items of one picture stay in one block; by default every item stands alone.
    types, parts : sequence of str, shape (items,), optional
        The strata; places are counted in each part where there are several.
    alpha : float, default ALPHA
        The chance that anything is called a leak although nothing is; the cues use half.

    Returns
    -------
    Leakage
        The cues and phrases that predict labels, with their tests. The status is `insufficient` for
        fewer than 20 items or 5 clusters; `not_informative` when every type has one label only, so
        that nothing is left to leak (the types are named).

    Raises
    ------
    ValueError
        A column has another length than `labels`.

    Notes
    -----
    Position: odd or even place, place within the cluster, tenth of the file, the label before.
    Numbering: odd or even number, last digit, letters and tenth of the number. Surface: first word,
    first two and three words, last word, articles, punctuation, number of words, length, digits and
    number words, negation, capital letter, spare spaces.

    Examples
    --------
    Yes and no take turns:

    >>> turns = leakage_cues(["yes", "no"] * 60, rng=np.random.default_rng(0))
    >>> turns.leaks, turns.cues[0].strongest.accuracy
    (('label before', 'odd or even place'), 1.0)
    >>> fair = np.random.default_rng(1).permutation(["yes", "no"] * 60).tolist()
    >>> leakage_cues(fair, rng=np.random.default_rng(0)).leaks
    ()
    """
    for column_name, column in (("questions", questions), ("ids", ids)):
        if column is not None and len(column) != len(labels):
            raise ValueError(f"{len(labels)} labels have {len(column)} {column_name}")
    items = split_folds(labels, clusters, types, rng)
    table = items.table()
    constant = tuple(
        (items.kinds[k], items.labels[int(row.argmax())])
        for k, row in enumerate(table)
        if row.max() == row.sum()
    )

    def empty_leakage(status: Status, reason: str) -> Leakage:
        return Leakage((), (), constant, status=status, reason=reason)

    if reason := sample_size_problem(items):
        return empty_leakage("insufficient", reason)
    if len(constant) == len(items.kinds):
        return empty_leakage(
            "not_informative", "every type has one label only: the type alone gives it"
        )
    question_texts = Questions.parse(questions) if questions is not None else None
    surface = _surface_levels(question_texts, ids)
    levels = _position_levels(labels, items) | surface
    all_views = views(items, parts)
    view_levels = (
        levels,
        *(_position_levels(labels, view.items, parts) | surface for view in all_views[1:]),
    )
    strata = _strata(list(zip(all_views, view_levels, strict=True)), rng, alpha)
    clearest = {s.cue: s for s in sorted(strata, key=_clearness, reverse=True) if s.status == "ok"}
    cues = [Cue(name, stratum, levels[name][1]) for name, stratum in clearest.items()]
    cues.sort(key=lambda cue: _clearness(cue.strongest))
    phrases = _giveaways(question_texts, items, table) if question_texts is not None else ()
    return Leakage(tuple(cues), phrases, constant, strata)


def _clearness(stratum: Stratum) -> tuple[bool, float, float]:
    return not stratum.shown, stratum.p, -stratum.gain


_Levels = dict[str, tuple[IntArray, int]]
"""Cue -> each item's level as a number, and how many levels there are."""


def _strata(
    views_with_levels: Sequence[tuple[View, _Levels]], rng: np.random.Generator, alpha: float
) -> tuple[Stratum, ...]:
    """Evaluate every cue in every stratum."""
    candidates = [
        (
            view,
            count_tests([view]),
            [(name, number) for name, (number, distinct) in levels.items() if distinct > 1],
        )
        for view, levels in views_with_levels
    ]
    tests = sum(tests * len(cues) for _, tests, cues in candidates)
    return tuple(
        stratum
        for view, _, cues in candidates
        for name, level in cues
        for stratum_view, predict in _predictors(view, level)
        for stratum in evaluate_strata(
            stratum_view, predict, rng, cue=name, tests=tests, alpha=alpha
        )
    )


def _predictors(view: View, level: IntArray) -> Iterator[tuple[View, Predict]]:
    """Yield the views of a prediction: all types together by naive Bayes, then each type alone."""
    all_items = (
        [s for s in view.strata if not s[0] and not s[1]] if len(view.items.kinds) > 1 else []
    )
    if all_items:
        yield View(view.items, tuple(all_items)), naive_bayes_predictor(view.items, level)
    single_types = View(view.items, view.strata[len(all_items) :])
    yield single_types, forward_predictor(view.items, level)


NUMBER_WORDS = frozenset("one two three four five six seven eight nine ten several many".split())
NEGATION_WORDS = frozenset("no not never none without nobody nothing".split())


def _numbered(
    levels: Sequence[Hashable], text_index: IntArray | None = None
) -> tuple[IntArray, int]:
    number, distinct = factorize(levels)
    return number if text_index is None else number[text_index], len(distinct)


def _position_levels(
    labels: Sequence[str], items: LabelledItems, parts: Sequence[str] | None = None
) -> _Levels:
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


def _surface_levels(question_texts: Questions | None, ids: Sequence[Hashable] | None) -> _Levels:
    """Return cues of numbering and wording; each distinct text is analysed once."""
    cues: _Levels = {}
    if ids is not None:
        digit_runs = [re.findall(r"\d+", str(name)) for name in ids]
        number = np.array([int(d[-1][:15]) if d else -1 for d in digit_runs])
        tenths = np.unique(np.quantile(number, np.linspace(0.1, 0.9, 9))) if digit_runs else number
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


PURITY = 0.95
"""The share of one label from which on a phrase gives it away."""


def _giveaways(
    question_texts: Questions, items: LabelledItems, table: IntArray
) -> tuple[Giveaway, ...]:
    phrase, starts, names = _phrases(question_texts)
    varying = np.flatnonzero((table.max(axis=1) < table.sum(axis=1))[items.kind])
    entry, item_index = gather_rows(starts, question_texts.text[varying])
    code = phrase[entry]
    kind = items.kind[varying][item_index]
    label = items.label[varying][item_index]
    group, first, group_index, n = np.unique(
        kind * len(names) + code, return_index=True, return_inverse=True, return_counts=True
    )
    shape = len(group), len(items.labels)
    tally = count_table(group_index * shape[1] + label, *shape)
    earliest = np.full(tally.size, len(code))
    earliest[(group_index * shape[1] + label)[::-1]] = np.arange(len(code))[::-1]
    # the label with the most items; of equals the one that comes first
    earliest = np.where(
        tally == tally.max(axis=1, keepdims=True), earliest.reshape(shape), len(code)
    )
    best = earliest.argmin(axis=1)
    # a phrase of few items cannot reach the purity beyond chance
    frequent = np.array(
        [g for g in np.argsort(first).tolist() if n[g] >= MIN_ITEMS], dtype=np.int64
    )
    kind_index, phrase_index = np.divmod(group[frequent], len(names))
    k = tally[frequent, best[frequent]]
    chance = table[kind_index, best[frequent]] / table.sum(axis=1)[kind_index]
    # twice: which of the labels it would be was not said beforehand
    p = 2 * binomial_above(k - 1, n[frequent], chance)
    phrases = [
        Giveaway(
            names[text],
            items.labels[label_index],
            items.kinds[type_index],
            n_items,
            n_right / n_items,
            float(q),
        )
        for type_index, text, label_index, n_right, n_items, q in zip(
            kind_index.tolist(),
            phrase_index.tolist(),
            best[frequent].tolist(),
            k.tolist(),
            n[frequent].tolist(),
            benjamini_hochberg(p),
            strict=True,
        )
        if q < ALPHA and n_right / n_items >= PURITY
    ]
    return tuple(sorted(phrases, key=lambda giveaway: (-giveaway.items, giveaway.phrase)))


def _phrases(question_texts: Questions) -> tuple[IntArray, IntArray, list[str]]:
    """Return phrase numbers (each once a text), their offsets by text, and phrases."""
    owner = [question_texts.owner]
    phrase = [question_texts.word]
    names = list(question_texts.vocabulary)
    for length in (2, 3):
        long_texts = np.flatnonzero(question_texts.lengths > length)
        _, first_index, phrase_number = np.unique(
            question_texts.prefix_codes(length)[long_texts], return_index=True, return_inverse=True
        )
        owner.append(long_texts)
        phrase.append(phrase_number + len(names))
        for text in long_texts[first_index].tolist():
            begin = question_texts.starts[text]
            names.append(
                " ".join(
                    question_texts.vocabulary[w]
                    for w in question_texts.word[begin : begin + length]
                )
                + " ..."
            )
    size = len(names)
    text_index, unique_phrases = np.divmod(
        unique_codes(np.concatenate(owner) * size + np.concatenate(phrase)), size
    )
    return (
        unique_phrases,
        np.searchsorted(text_index, np.arange(len(question_texts.distinct) + 1)),
        names,
    )
