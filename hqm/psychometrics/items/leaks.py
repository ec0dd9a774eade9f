"""Surface features of a benchmark that give its labels away: predictions made without the pictures
that beat the commonest label.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from hqm.psychometrics.inference.cross_validation import (
    LabelledItems,
    Questions,
    clustered_gain,
    count_table,
    forward_predictor,
    gather_rows,
    majority_hits,
    naive_bayes_predictor,
    split_folds,
    unique_codes,
)
from hqm.psychometrics.inference.distributions import binomial_above
from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.psychometrics.items.cues import (
    ANSWER_CUES,
    OPTION_CUES,
    Levels,
    position_levels,
    surface_levels,
)
from hqm.psychometrics.items.guessing import Candidates, Mode, level_predictor
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
    reference: Array | None = None,
    margin: Array | None = None,
    orders: int = ORDERS,
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
    - `reference`: What each item is worth without the prediction, by default a hit of the commonest
      label of its type; elsewhere its chance.
    - `margin`: By how much a prediction may exceed it before that is shown to be a leak.
    """
    # Bonferroni over strata and cues, and over the two searches
    tests *= SEARCHES
    base = majority_hits(view.items) if reference is None else reference
    granted = np.zeros(len(base)) if margin is None else margin
    count = int(view.items.cluster.max()) + 1
    blocks = [rng.permutation(np.arange(count) % BLOCKS)[view.items.cluster] for _ in range(orders)]
    hits = [predict(block) for block in blocks]
    predicted = [block > 0 for block in blocks]
    strata = [
        _evaluate_stratum(
            (kind, part_name, cue), member, view.items, base, granted, hits, predicted, tests, alpha
        )
        for kind, part_name, member in view.strata
    ]
    return tuple(strata)


def _evaluate_stratum(
    names: tuple[str, str, str],
    member: BoolArray,
    items: LabelledItems,
    base: Array,
    granted: Array,
    hits: list[Array],
    predicted: list[BoolArray],
    tests: int,
    alpha: float,
) -> Stratum:
    n = int(member.sum())
    clusters = int(np.count_nonzero(np.bincount(items.cluster[member])))
    if reason := untestable_reason(items, member, base):
        status: Status = "not_informative" if "one label" in reason else "insufficient"
        nan = math.nan
        unknown = nan, nan, nan, nan, nan, nan
        return Stratum(*names, n, clusters, *unknown, False, nan, status, reason)
    rows = [
        _gain(member & was_predicted, items.cluster, item_hits, base, granted)
        for item_hits, was_predicted in zip(hits, predicted, strict=True)
    ]
    accuracy, baseline, gain, standard_error, t, mean_square, grant = np.mean(rows, axis=0)
    # 2^-C is what a sign test of C clusters would give at best
    p = min(1.0, tests * max(float(stdtr(clusters - 1, -t)), 2.0**-clusters))
    critical_value = -float(stdtrit(clusters - 1, alpha / tests))
    # the error that belongs to the mean t, so that the ends and p agree
    excess = gain - grant
    standard_error = excess / t if excess * t > 0 else standard_error
    significant = p < alpha
    low = gain - critical_value * standard_error
    high = gain + critical_value * standard_error
    low = low if significant else min(low, grant)
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
        + baseline_advantage
        + grant,
    )
    return Stratum(
        *names,
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


def _gain(
    selected: BoolArray, cluster: IntArray, hits: Array, base: Array, granted: Array
) -> tuple[float, ...]:
    """Accuracy, baseline, gain, its standard error, t of what it exceeds the margin by, the mean
    squared gain of an item, and the mean margin.
    """
    difference = hits[selected] - base[selected]
    value, standard_error = clustered_gain(difference - granted[selected], cluster[selected])
    if standard_error > 0:
        t = value / standard_error
    elif value:
        t = math.copysign(1e6, value)
    else:
        t = 0.0
    return (
        float(hits[selected].mean()),
        float(base[selected].mean()),
        float(difference.mean()),
        standard_error,
        t,
        float((difference**2).mean()),
        float(granted[selected].mean()),
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


def untestable_reason(
    items: LabelledItems, members: BoolArray, reference: Array | None = None
) -> str:
    """Return why a leak cannot be tested among these items; empty where it can."""
    if reason := sample_size_problem(items, members):
        return reason
    if reference is not None and float(reference[members].min()) < 1:
        return ""
    pairs = items.table(members) > 0
    if pairs.sum() == pairs.any(axis=1).sum():
        return "every type in it has one label only: there is nothing left to give away"
    return ""


def count_tests(all_views: Sequence[View], reference: Array | None = None) -> int:
    """Return the number of strata that can be tested."""
    return sum(
        not untestable_reason(view.items, member, reference)
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
    candidates: Candidates | None = None,
    in_file_order: bool = True,
) -> Leakage:
    """Test whether position, numbering, the surface of a question or its options predict its label.

    What a respondent sees of an item (its wording, its options) lets a score say nothing about
    pictures. It does not see places and numbers (`HIDDEN_CUES`): these matter where a sample is
    taken from the beginning of the file, and to a model that was trained on it. Each cue
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
    candidates : Candidates, optional
        The answers of each item (`find_candidates`), whose texts are then cues too: they are
        compared with chance. Open answers are predicted among them.
    in_file_order : bool, default True
        Whether the order of the items is that of the file, and places are cues.

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
    number words, negation, capital letter, spare spaces. Options: text, length, number of words,
    place, words shared with the question or the other options, size as a number, punctuation and
    capitals. Open answers: the most frequent one, and one that the question names.

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
    if candidates is not None and not candidates.is_shared:
        chance = candidates.chance.min()
    else:
        chance = 1.0
    if len(constant) == len(items.kinds) and chance == 1:
        return empty_leakage(
            "not_informative", "every type has one label only: the type alone gives it"
        )
    if questions is not None:
        question_texts = Questions.parse(questions)
    else:
        question_texts = None
    surface = surface_levels(question_texts, ids)
    trials: list[Trial] = []
    for number, view in enumerate(views(items, parts)):
        levels = dict(surface)
        if in_file_order:
            levels |= position_levels(labels, view.items, parts if number else None)
        trials += _trials(view, levels, candidates)
    strata = _evaluate_trials(trials, rng, alpha)
    levels_by_cue = {trial.cue: trial.levels for trial in trials}
    clearest = _clearest(strata)
    cues = [Cue(name, stratum, levels_by_cue[name]) for name, stratum in clearest.items()]
    cues.sort(key=lambda cue: _clearness(cue.strongest))
    if question_texts is not None:
        phrases = _giveaways(question_texts, items, table)
    else:
        phrases = ()
    return Leakage(tuple(cues), phrases, constant, strata)


def _clearest(strata: Iterable[Stratum]) -> dict[str, Stratum]:
    """Cue -> the stratum in which it is clearest."""
    # Strata that could not be tested have no p, and an order with nan among its keys is chance: it
    # differed between versions of Python.
    tested = [stratum for stratum in strata if stratum.status == "ok"]
    return {s.cue: s for s in sorted(tested, key=_clearness, reverse=True)}


def _clearness(stratum: Stratum) -> tuple[bool, float, float]:
    return not stratum.shown, stratum.p, -stratum.gain


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A prediction by one cue, and what it is compared with in some strata."""

    view: View
    predict: Predict
    cue: str
    levels: int
    reference: Array | None = None
    margin: Array | None = None


def _trials(view: View, levels: Levels, candidates: Candidates | None) -> list[Trial]:
    """The predictions of labels, and of answers where there are any to choose from."""
    trials = list(_label_trials(view, levels, candidates))
    if candidates is not None:
        trials += _answer_trials(view, levels, candidates)
    return trials


def _evaluate_trials(
    trials: Sequence[Trial], rng: np.random.Generator, alpha: float
) -> tuple[Stratum, ...]:
    """Evaluate every cue in every stratum."""
    tests = sum(count_tests([trial.view], trial.reference) for trial in trials)
    return tuple(
        stratum
        for trial in trials
        for stratum in evaluate_strata(
            trial.view,
            trial.predict,
            rng,
            cue=trial.cue,
            tests=tests,
            alpha=alpha,
            reference=trial.reference,
            margin=trial.margin,
        )
    )


def _restrict(view: View, mask: BoolArray) -> View:
    """Return the view of some items only; strata that have none of them are left out."""
    if mask.all():
        return view
    strata = [(kind, stratum_name, member & mask) for kind, stratum_name, member in view.strata]
    return View(view.items, tuple(stratum for stratum in strata if stratum[-1].any()))


def _label_trials(view: View, levels: Levels, candidates: Candidates | None) -> Iterator[Trial]:
    """Yield predictions of a label by single cues of the question or the file.

    The letter of a right option has nothing to do with the question; where it does, all words
    together show it.
    """
    if candidates is not None:
        view = _restrict(view, candidates.has_mode("label"))
    if not view.strata:
        return
    for name, (level, distinct) in levels.items():
        if distinct > 1:
            for stratum_view, predict in _predictors(view, level):
                yield Trial(stratum_view, predict, name, distinct)


def _answer_trials(view: View, levels: Levels, candidates: Candidates) -> Iterator[Trial]:
    """Yield predictions among each item's own answers, by cues of the answers, and of open answers
    by cues of the question too.
    """
    commonest = np.maximum(candidates.chance, majority_hits(view.items))
    groups: list[tuple[Mode, Levels, Array]] = [
        ("choice", {name: candidates.levels[name] for name in OPTION_CUES}, candidates.chance),
        ("open", {name: candidates.levels[name] for name in ANSWER_CUES}, candidates.chance),
        # a word of an open question must tell more than which answer is the most frequent
        ("open", _cross_with_answers(levels, candidates), commonest),
    ]
    for mode, row_levels, reference in groups:
        restricted = _restrict(view, candidates.has_mode(mode))
        all_items, single_types = _split_view(restricted)
        for name, (level, distinct) in row_levels.items():
            for subview, kind in ((all_items, None), (single_types, view.items.kind)):
                if distinct and subview.strata:
                    predict = level_predictor(candidates, level, kind)
                    yield Trial(subview, predict, name, distinct, reference, candidates.margin)


def _cross_with_answers(levels: Levels, candidates: Candidates) -> Levels:
    """Return levels of questions, each with each answer."""
    if not candidates.has_mode("open").any():
        return {}
    n_roles = int(candidates.role.max(initial=0)) + 1
    crossed: Levels = {}
    for name, (level, distinct) in levels.items():
        if distinct > 1:
            crossed[name] = level[candidates.item] * n_roles + candidates.role, distinct
    return crossed


def _split_view(view: View) -> tuple[View, View]:
    """Return the view of all types together, and that of each type alone."""
    if len(view.items.kinds) > 1:
        joint = [s for s in view.strata if not s[0] and not s[1]]
    else:
        joint = []
    return View(view.items, tuple(joint)), View(view.items, view.strata[len(joint) :])


def _predictors(view: View, level: IntArray) -> Iterator[tuple[View, Predict]]:
    """Yield the views of a prediction: all types together by naive Bayes, then each type alone."""
    all_items, single_types = _split_view(view)
    if all_items.strata:
        yield all_items, naive_bayes_predictor(view.items, level)
    if single_types.strata:
        yield single_types, forward_predictor(view.items, level)


PURITY = 0.95
"""The share of one label from which on a phrase gives it away."""


def _giveaways(
    question_texts: Questions, items: LabelledItems, table: IntArray
) -> tuple[Giveaway, ...]:
    phrase, starts, names = _phrases(question_texts)
    varying = np.flatnonzero((table.max(axis=1) < table.sum(axis=1))[items.kind])
    entry, item_index = gather_rows(starts, question_texts.text[varying])
    # a phrase of few items cannot reach the purity beyond chance
    n_items = np.bincount(phrase[entry], minlength=len(names))
    is_frequent = n_items[phrase[entry]] >= MIN_ITEMS
    entry = entry[is_frequent]
    item_index = item_index[is_frequent]
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
