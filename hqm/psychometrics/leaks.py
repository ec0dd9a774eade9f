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

from hqm.psychometrics.cross_validation import (
    Labelled,
    Questions,
    clustered_gain,
    counted,
    deal,
    learnt_forward,
    learnt_over_kinds,
    majority,
    numbers,
    once_each,
    rows_of,
)
from hqm.psychometrics.distributions import binomial_above
from hqm.psychometrics.result import (
    Array,
    Flags,
    Numbers,
    Outcome,
    Status,
    normal_quantile,
)
from hqm.psychometrics.significance import benjamini_hochberg

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

Predict = Callable[[Numbers], Array]
"""(items,) blocks -> hits of a prediction that learns each block from the blocks before it; the
first block is not predicted.
"""


@dataclass(frozen=True, slots=True)
class Stratum:
    """One prediction in one type, part, or type of a part; an empty name stands for all of them.

    - `items, clusters`: How many, of which the prediction was tried on all but the first of ten
      blocks.
    - `accuracy, baseline, gain`: Share of right predictions where each block is learnt from the
      blocks before it, that of the commonest label on the same items, and their difference.
    - `low, high`: Ends of the gain that hold for all strata and cues together (1 - alpha, each end
      by itself).
    - `p`: One-sided, multiplied by the number of tests of words and cues together.
    - `shown`: p is below alpha, and then `low` is above 0: more than chance explains.
    - `detectable`: The smallest gain that would be shown with 80% power.
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

    items: Labelled
    strata: tuple[tuple[str, str, Flags], ...]


def views(items: Labelled, parts: Sequence[str] | None) -> tuple[View, ...]:
    """What is learnt and judged: each type, and all together; and where there are parts, each part
    and each type of a part.

    A leak of one part may point the other way in another part, so that the parts are learnt by
    themselves.
    """
    types = [(name, "", items.kind == k) for k, name in enumerate(items.kinds)]
    single = len(types) == 1
    whole = ("", "", np.ones(len(items.kind), dtype=bool))
    first = View(items, (whole,) if single else (whole, *types))
    names = list(dict.fromkeys(parts or ()))
    if parts is None or len(names) < 2:
        return (first,)
    position = {name: i for i, name in enumerate(names)}
    part = np.array([position[name] for name in parts], dtype=np.int64)
    crossed, kind = np.unique(items.kind * len(names) + part, return_inverse=True)
    strata = [("", name or "no part", part == i) for i, name in enumerate(names)]
    if not single:
        for k, code in enumerate(crossed.tolist()):
            of_type, of_part = divmod(int(code), len(names))
            member = kind == k
            # a part of one type, or a type of one part, is that part or that type
            if member.sum() < min(int((items.kind == of_type).sum()), int((part == of_part).sum())):
                strata.append((items.kinds[of_type], names[of_part] or "no part", member))
    cells = Labelled(
        items.label,
        kind.astype(np.int64),
        items.cluster,
        items.fold,
        items.labels,
        tuple(str(code) for code in crossed),
        items.folds,
    )
    return first, View(cells, tuple(strata))


def judge_strata(
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
    tests *= SEARCHES
    base = majority(view.items)
    count = int(view.items.cluster.max()) + 1
    blocks = [rng.permutation(np.arange(count) % BLOCKS)[view.items.cluster] for _ in range(ORDERS)]
    hits = [predict(block) for block in blocks]
    tried = [block > 0 for block in blocks]
    judged = [
        _judged(kind, part, cue, member, view.items, base, hits, tried, tests, alpha)
        for kind, part, member in view.strata
    ]
    return tuple(judged)


def _judged(
    kind: str,
    part: str,
    cue: str,
    member: Flags,
    items: Labelled,
    base: Array,
    hits: list[Array],
    tried: list[Flags],
    tests: int,
    alpha: float,
) -> Stratum:
    n = int(member.sum())
    clusters = int(np.count_nonzero(np.bincount(items.cluster[member])))
    nan = math.nan
    if reason := untested(items, member):
        status: Status = "not_informative" if "one label" in reason else "insufficient"
        return Stratum(
            kind, part, cue, n, clusters, nan, nan, nan, nan, nan, nan, False, nan, status, reason
        )
    rows = [
        _gain(member & seen, items.cluster, hit, base)
        for hit, seen in zip(hits, tried, strict=True)
    ]
    accuracy, floor, gain, error, ratio, spread = np.mean(rows, axis=0)
    # 2^-C is what a sign test of C clusters would give at best
    p = min(1.0, tests * max(float(stdtr(clusters - 1, -ratio)), 2.0**-clusters))
    reach = -float(stdtrit(clusters - 1, alpha / tests))
    # the error that belongs to the mean t, so that the ends and p agree
    error = gain / ratio if gain * ratio > 0 else error
    shown = p < alpha
    low, high = gain - reach * error, gain + reach * error
    low = low if shown else min(low, 0.0)
    # a prediction that never leaves the commonest label has no spread of its own to judge by
    typical = math.sqrt(max(spread, 1 - floor) / (n * (1 - 1 / BLOCKS)))
    # the commonest label of these very items beats that of others by .8 standard errors where
    # labels are balanced
    lead = 0.8 * math.sqrt(floor * (1 - floor) / n)
    # while little is learnt yet, some of what a leak gives away is missed
    missed = 1 + 0.5 / BLOCKS
    detectable = min(
        1.0, missed * (reach + normal_quantile(2 * POWER - 1)) * max(typical, error) + lead
    )
    return Stratum(
        kind,
        part,
        cue,
        n,
        clusters,
        float(accuracy),
        float(floor),
        float(gain),
        float(low),
        float(high),
        p,
        bool(shown),
        float(detectable),
    )


def _gain(chosen: Flags, cluster: Numbers, hits: Array, base: Array) -> tuple[float, ...]:
    """Accuracy, baseline, gain, its standard error, t, and the mean squared gain of an item."""
    difference = hits[chosen] - base[chosen]
    value, error = clustered_gain(difference, cluster[chosen])
    ratio = value / error if error > 0 else math.copysign(1e6, value) if value else 0.0
    return (
        float(hits[chosen].mean()),
        float(base[chosen].mean()),
        value,
        error,
        ratio,
        float((difference**2).mean()),
    )


def leaking(strata: Iterable[Stratum]) -> tuple[Stratum, ...]:
    """The strata that leak, the largest gain first; all items only where no type does by itself."""
    shown = [stratum for stratum in strata if stratum.shown]
    typed = any(stratum.type for stratum in shown)
    each = (s for s in shown if s.type or s.part or not typed)
    return tuple(sorted(each, key=lambda s: -s.gain))


LEAST_ITEMS = 20
LEAST_CLUSTERS = 5


def too_few(items: Labelled, inside: Flags | slice = slice(None)) -> str:
    """Why there are too few items for a test; empty where there are enough."""
    cluster = items.cluster[inside]
    clusters = int(np.count_nonzero(np.bincount(cluster)))
    if len(cluster) >= LEAST_ITEMS and clusters >= LEAST_CLUSTERS:
        return ""
    return (
        f"{LEAST_ITEMS} items in {LEAST_CLUSTERS} clusters are needed, there are {len(cluster)} in"
        f" {clusters}"
    )


def untested(items: Labelled, inside: Flags) -> str:
    """Why a leak cannot be looked for among these items; empty where it can."""
    if reason := too_few(items, inside):
        return reason
    pairs = items.table(inside) > 0
    if pairs.sum() == pairs.any(axis=1).sum():
        return "every type in it has one label only: there is nothing left to give away"
    return ""


def tests_in(all_views: Sequence[View]) -> int:
    """How many strata can be tested."""
    return sum(
        not untested(view.items, member) for view in all_views for _, _, member in view.strata
    )


@dataclass(frozen=True, slots=True)
class Cue:
    """One surface feature.

    - `strongest`: The stratum in which it beats the commonest label most clearly
      (`Leakage.strata`).
    - `levels`: How many values the cue takes.
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
    """What gives the labels away.

    - `cues`: All that could be tried, the clearest first.
    - `giveaways`: Phrases with at least 20 items of which .95 have one label, where the type's
      labels do differ.
    - `constant_types`: Types whose items all have one label, with the label: (type, label).
    - `strata`: Each cue in all items, each type, part and type of a part, with ends of the gain
      that hold for all of them together.
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
    """Whether position, numbering or the surface of a question tells its label.

    A respondent does not see a picture's number, but a model trained on the file, a shuffled copy
    or a shortcut in the wording can use it, and a score then says nothing about pictures. Each cue
    predicts the commonest label at its level within the type, learnt from other clusters; over all
    items, what the level says in any type is added to what the type says (naive Bayes), so that a
    file sorted by its labels is seen however many types it has. The baseline knows the type and the
    commonest label.

    Position: odd or even place, place within the cluster, tenth of the file, the label before.
    Numbering: odd or even number, last digit, letters and tenth of the number. Surface: first word,
    first two and three words, last word, articles, punctuation, number of words, length, digits and
    number words, negation, capital letter, spare spaces.

    - `labels`: (items,) in the order of the file.
    - `rng`: Deals the clusters into blocks.
    - `questions, ids`: (items,): texts; numbers, or names with a number in them.
    - `clusters`: (items,): items of one picture stay in one block; by default every item stands
      alone.
    - `types, parts`: (items,): the strata; places are counted in each part where there are several.
    - `alpha`: The chance that anything is called a leak although nothing is; the cues use half.

    The status is `insufficient` for fewer than 20 items or 5 clusters; `not_informative` when every
    type has one label only, so that nothing is left to leak (the types are named).

    Yes and no take turns:

    >>> turns = leakage_cues(["yes", "no"] * 60, rng=np.random.default_rng(0))
    >>> turns.leaks, turns.cues[0].strongest.accuracy
    (('label before', 'odd or even place'), 1.0)
    >>> fair = np.random.default_rng(1).permutation(["yes", "no"] * 60).tolist()
    >>> leakage_cues(fair, rng=np.random.default_rng(0)).leaks
    ()
    """
    for what, column in (("questions", questions), ("ids", ids)):
        if column is not None and len(column) != len(labels):
            raise ValueError(f"{len(labels)} labels have {len(column)} {what}")
    items = deal(labels, clusters, types, rng)
    table = items.table()
    constant = tuple(
        (items.kinds[k], items.labels[int(row.argmax())])
        for k, row in enumerate(table)
        if row.max() == row.sum()
    )

    def without(status: Status, reason: str) -> Leakage:
        return Leakage((), (), constant, status=status, reason=reason)

    if reason := too_few(items):
        return without("insufficient", reason)
    if len(constant) == len(items.kinds):
        return without("not_informative", "every type has one label only: the type alone gives it")
    asked = Questions.of(questions) if questions is not None else None
    surface = _surface(asked, ids)
    levels = _places(labels, items) | surface
    seen = views(items, parts)
    every = (levels, *(_places(labels, view.items, parts) | surface for view in seen[1:]))
    strata = _strata(list(zip(seen, every, strict=True)), rng, alpha)
    clearest = {s.cue: s for s in sorted(strata, key=_clearness, reverse=True) if s.status == "ok"}
    cues = [Cue(name, stratum, levels[name][1]) for name, stratum in clearest.items()]
    cues.sort(key=lambda cue: _clearness(cue.strongest))
    phrases = _giveaways(asked, items, table) if asked is not None else ()
    return Leakage(tuple(cues), phrases, constant, strata)


def _clearness(stratum: Stratum) -> tuple[bool, float, float]:
    return not stratum.shown, stratum.p, -stratum.gain


_Levels = dict[str, tuple[Numbers, int]]
"""Cue -> each item's level as a number, and how many levels there are."""


def _strata(
    seen: Sequence[tuple[View, _Levels]], rng: np.random.Generator, alpha: float
) -> tuple[Stratum, ...]:
    """Every cue in every stratum."""
    tries = [
        (
            view,
            tests_in([view]),
            [(name, number) for name, (number, distinct) in levels.items() if distinct > 1],
        )
        for view, levels in seen
    ]
    tests = sum(tests * len(cues) for _, tests, cues in tries)
    return tuple(
        stratum
        for view, _, cues in tries
        for name, level in cues
        for judged, predict in _ways(view, level)
        for stratum in judge_strata(judged, predict, rng, cue=name, tests=tests, alpha=alpha)
    )


def _ways(view: View, level: Numbers) -> Iterator[tuple[View, Predict]]:
    """How the strata of a view are predicted: all of several types by what any of them shows."""
    whole = [s for s in view.strata if not s[0] and not s[1]] if len(view.items.kinds) > 1 else []
    if whole:
        yield View(view.items, tuple(whole)), learnt_over_kinds(view.items, level)
    each = View(view.items, view.strata[len(whole) :])
    yield each, learnt_forward(view.items, level)


COUNTS = frozenset("one two three four five six seven eight nine ten several many".split())
DENIALS = frozenset("no not never none without nobody nothing".split())


def _numbered(levels: Sequence[Hashable], at: Numbers | None = None) -> tuple[Numbers, int]:
    number, distinct = numbers(levels)
    return number if at is None else number[at], len(distinct)


def _places(labels: Sequence[str], items: Labelled, parts: Sequence[str] | None = None) -> _Levels:
    """Where items stand: in the file, or with `parts` in the item's part, and in their cluster."""
    count = len(labels)
    where = list(parts) if parts is not None else [""] * count
    size, at, before = Counter(where), Counter[str](), dict.fromkeys(where, "")
    position: list[int] = []
    previous: list[str] = []
    for part, label in zip(where, labels, strict=True):
        position.append(at[part])
        previous.append(before[part])
        at[part] += 1
        before[part] = label
    within: Counter[int] = Counter()
    rank: list[int] = []
    for cluster in items.cluster.tolist():
        rank.append(min(within[cluster], 30))
        within[cluster] += 1
    return {
        "odd or even place": _numbered([i % 2 for i in position]),
        "place within the cluster": _numbered(rank),
        "tenth of the file": _numbered(
            [i * 10 // size[part] for i, part in zip(position, where, strict=True)]
        ),
        "label before": _numbered(previous),
    }


def _surface(asked: Questions | None, ids: Sequence[Hashable] | None) -> _Levels:
    """What numbering and wording show; each distinct text is looked at once."""
    cues: _Levels = {}
    if ids is not None:
        last = [re.findall(r"\d+", str(name)) for name in ids]
        number = np.array([int(d[-1][:15]) if d else -1 for d in last])
        tenths = np.unique(np.quantile(number, np.linspace(0.1, 0.9, 9))) if last else number
        cues["letters of the id"] = _numbered([re.sub(r"\d+", "", str(name)) for name in ids])
        cues["tenth of the number"] = _numbered(np.searchsorted(tenths, number, "right").tolist())
        cues["odd or even number"] = _numbered([int(d[-1]) % 2 if d else None for d in last])
        cues["last digit"] = _numbered([int(d[-1]) % 10 if d else None for d in last])
    if asked is not None:
        texts = asked.distinct
        lengths = np.array([len(q) for q in texts], dtype=np.float64)
        cuts = np.unique(np.quantile(lengths[asked.text], np.linspace(0.1, 0.9, 9)))
        articles = np.stack(
            [asked.having(asked.which(article.__eq__)) for article in ("a", "an", "the")]
        )
        levels = {
            "first word": asked.at(0).tolist(),
            "first two words": asked.beginning(2).tolist(),
            "first three words": asked.beginning(3).tolist(),
            "last word": asked.at(-1).tolist(),
            "articles": (np.array([4, 2, 1]) @ articles).tolist(),
            "punctuation": [re.sub(r"[\w\s]+", "", q) for q in texts],
            "number of words": np.minimum(asked.lengths, 40).tolist(),
            "length": np.searchsorted(cuts, lengths).tolist(),
            "digits and number words": (
                asked.first_of(asked.which(lambda w: w in COUNTS or w.isdigit())).tolist()
            ),
            "negation": (
                asked.having(asked.which(lambda w: w in DENIALS or w.endswith("n't"))).tolist()
            ),
            "capital letter": [q[:1].isupper() for q in texts],
            "spare spaces": [q != " ".join(q.split()) for q in texts],
        }
        cues |= {name: _numbered(of_texts, asked.text) for name, of_texts in levels.items()}
    return cues


PURITY = 0.95
"""The share of one label from which on a phrase gives it away."""


def _giveaways(asked: Questions, items: Labelled, table: Numbers) -> tuple[Giveaway, ...]:
    phrase, starts, names = _phrases(asked)
    varying = np.flatnonzero((table.max(axis=1) < table.sum(axis=1))[items.kind])
    entry, at = rows_of(starts, asked.text[varying])
    code, kind, label = phrase[entry], items.kind[varying][at], items.label[varying][at]
    group, first, of_entry, n = np.unique(
        kind * len(names) + code, return_index=True, return_inverse=True, return_counts=True
    )
    shape = len(group), len(items.labels)
    tally = counted(of_entry * shape[1] + label, *shape)
    earliest = np.full(tally.size, len(code))
    earliest[(of_entry * shape[1] + label)[::-1]] = np.arange(len(code))[::-1]
    # the label with the most items; of equals the one that comes first
    earliest = np.where(
        tally == tally.max(axis=1, keepdims=True), earliest.reshape(shape), len(code)
    )
    best = earliest.argmin(axis=1)
    tried = np.array([g for g in np.argsort(first).tolist() if n[g] >= LEAST_ITEMS], dtype=np.int64)
    of_kind, of_phrase = np.divmod(group[tried], len(names))
    k = tally[tried, best[tried]]
    chance = table[of_kind, best[tried]] / table.sum(axis=1)[of_kind]
    # twice: which of the labels it would be was not said beforehand
    p = 2 * binomial_above(k - 1, n[tried], chance)
    phrases = [
        Giveaway(
            names[text], items.labels[leading], items.kinds[of], count, right / count, float(q)
        )
        for of, text, leading, right, count, q in zip(
            of_kind.tolist(),
            of_phrase.tolist(),
            best[tried].tolist(),
            k.tolist(),
            n[tried].tolist(),
            benjamini_hochberg(p),
            strict=True,
        )
        if q < ALPHA and right / count >= PURITY
    ]
    return tuple(sorted(phrases, key=lambda giveaway: (-giveaway.items, giveaway.phrase)))


def _phrases(asked: Questions) -> tuple[Numbers, Numbers, list[str]]:
    """The words and beginnings of all texts, each once a text, where those of each text begin, and
    what they stand for.
    """
    owner, phrase, names = [asked.owner], [asked.word], list(asked.vocabulary)
    for length in (2, 3):
        longer = np.flatnonzero(asked.lengths > length)
        _, somewhere, number = np.unique(
            asked.beginning(length)[longer], return_index=True, return_inverse=True
        )
        owner.append(longer)
        phrase.append(number + len(names))
        for text in longer[somewhere].tolist():
            begin = asked.starts[text]
            names.append(
                " ".join(asked.vocabulary[w] for w in asked.word[begin : begin + length]) + " ..."
            )
    size = len(names)
    of, once = np.divmod(once_each(np.concatenate(owner) * size + np.concatenate(phrase)), size)
    return once, np.searchsorted(of, np.arange(len(asked.distinct) + 1)), names
