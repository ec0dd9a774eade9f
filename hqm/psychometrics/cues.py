"""Surface features of a benchmark that give its labels away."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.arrays import Numbers
from hqm.psychometrics.distributions import binomial_above
from hqm.psychometrics.folds import Labelled, accuracy, by_level, deal, gain_over, learnt_forward, majority, numbers
from hqm.psychometrics.leaks import ALPHA, Stratum, View, judge_strata, tests_in, views
from hqm.psychometrics.multiple import benjamini_hochberg
from hqm.psychometrics.result import Coefficient, Status


@dataclass(frozen=True, slots=True)
class Cue:
    """One surface feature.

    - `accuracy, baseline`: Cross-validated accuracy of the commonest label at each level of the cue within each type,
      and accuracy of the type's commonest label alone.
    - `gain, p, q`: Their difference, its one-sided p-value, and that after Benjamini and Hochberg over the cues.
    - `levels`: How many values the cue takes.
    - `leak`: It is shown to beat the commonest label in some stratum (`Leakage.strata`).
    """

    name: str
    accuracy: Coefficient
    baseline: float
    gain: Coefficient
    p: float
    q: float
    levels: int
    leak: bool


@dataclass(frozen=True, slots=True)
class Giveaway:
    """A word or a beginning of questions that goes with one label.

    `share` of the `items` questions of the type with this `phrase` have the `label`; q after Benjamini and Hochberg over all
    phrases.
    """

    phrase: str
    label: str
    type: str
    items: int
    share: float
    q: float


@dataclass(frozen=True, slots=True)
class Leakage:
    """What gives the labels away.

    - `cues`: All that could be tried, the strongest gain first.
    - `giveaways`: Phrases with at least 20 items of which .95 have one label, where the type's labels do differ.
    - `constant_types`: Types whose items all have one label, with the label: (type, label).
    - `strata`: Each cue in each type, part and type of a part, with ends of the gain that hold for all of them together.
    """

    cues: tuple[Cue, ...]
    giveaways: tuple[Giveaway, ...]
    constant_types: tuple[tuple[str, str], ...]
    n_items: int
    n_clusters: int
    folds: int
    alpha: float
    strata: tuple[Stratum, ...] = ()
    status: Status = "ok"
    reason: str = ""

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
    folds: int = 10,
    alpha: float = ALPHA,
    level: float = 0.95,
) -> Leakage:
    """Whether position, numbering or the surface of a question tells its label.

    A respondent does not see a picture's number, but a model trained on the file, a shuffled copy or a shortcut in the
    wording can use it, and a score then says nothing about pictures. Each cue predicts the commonest label at its level
    within the type, learnt from other clusters; the baseline knows the type and the commonest label.

    Position: odd or even place, place within the cluster, tenth of the file, the label before. Numbering: odd or even
    number, last digit. Surface: first word, first two and three words, last word, articles, punctuation, number of
    words, length, digits and number words, negation, capital letter, spare spaces.

    - `labels`: (items,) in the order of the file.
    - `rng`: Deals the clusters into folds.
    - `questions, ids`: (items,): texts; numbers, or names with a number in them.
    - `clusters`: (items,): items of one picture stay in one fold; by default every item stands alone.
    - `types, parts`: (items,): the strata; places are counted in each part where there are several.
    - `alpha`: The chance that any cue is called a leak in any stratum although none is one.
    - `folds, level`: Of the cross-validation and of the intervals.

    The status is `insufficient` for fewer than 20 items or 5 clusters; `not_informative` when every type has one label
    only, so that nothing is left to leak (the types are named).

    Yes and no take turns:

    >>> turns = leakage_cues(["yes", "no"] * 60, rng=np.random.default_rng(0))
    >>> turns.leaks[:2], turns.cues[0].accuracy.value
    (('odd or even place', 'label before'), 1.0)
    >>> fair = np.random.default_rng(1).permutation(["yes", "no"] * 60).tolist()
    >>> leakage_cues(fair, rng=np.random.default_rng(0)).leaks
    ()
    """
    for what, given in (("questions", questions), ("ids", ids)):
        if given is not None and len(given) != len(labels):
            raise ValueError(f"{len(labels)} labels have {len(given)} {what}")
    items = deal(labels, clusters, types, rng, folds)
    count, groups = len(labels), int(items.cluster.max(initial=-1)) + 1
    table = np.zeros((len(items.kinds), len(items.labels)), dtype=np.int64)
    np.add.at(table, (items.kind, items.label), 1)
    constant = tuple(
        (items.kinds[k], items.labels[int(row.argmax())]) for k, row in enumerate(table) if row.max() == row.sum()
    )

    def without(status: Status, reason: str) -> Leakage:
        return Leakage((), (), constant, count, groups, items.folds, alpha, (), status, reason)

    if count < 20 or groups < 5:
        return without("insufficient", f"20 items in 5 clusters are needed, there are {count} in {groups}")
    if len(constant) == len(items.kinds):
        return without("not_informative", "every type has one label only: the type alone gives it")
    baseline = majority(items)
    tried = []
    for name, levels in _levels(labels, questions, ids, items).items():
        number, distinct = numbers(levels)
        if len(distinct) < 2:
            continue
        hits = by_level(items, number)
        gain, p = gain_over(hits, baseline, items.cluster, level)
        tried.append((name, accuracy(hits, items.cluster, level), gain, p, len(distinct)))
    q = benjamini_hochberg([p for *_, p, _ in tried])
    strata = _strata(labels, questions, ids, items, parts, rng, alpha)
    leaking = {stratum.cue for stratum in strata if stratum.shown}
    cues = [
        Cue(name, share, float(baseline.mean()), gain, p, float(adjusted), distinct, name in leaking)
        for (name, share, gain, p, distinct), adjusted in zip(tried, q, strict=True)
    ]
    cues.sort(key=lambda cue: (not cue.leak, -cue.gain.value))
    phrases = _giveaways(questions, items, table) if questions is not None else ()
    return Leakage(tuple(cues), phrases, constant, count, groups, items.folds, alpha, strata)


def _strata(
    labels: Sequence[str], questions: Sequence[str] | None, ids: Sequence[Hashable] | None, items: Labelled,
    parts: Sequence[str] | None, rng: np.random.Generator, alpha: float,
) -> tuple[Stratum, ...]:  # fmt: skip
    """Every cue in every stratum."""
    tries: list[tuple[View, str, Numbers]] = []
    for i, view in enumerate(views(items, parts)):
        levels = _levels(labels, questions, ids, view.items, parts if i else None)
        for name, values in levels.items():
            number, distinct = numbers(values)
            if len(distinct) > 1:
                tries.append((view, name, number))
    tests = max(1, sum(tests_in([view]) for view, _, _ in tries))

    def judged(view: View, name: str, level: Numbers) -> tuple[Stratum, ...]:
        return judge_strata(
            view, lambda of_view, block: learnt_forward(of_view, level, block), rng, cue=name, tests=tests, alpha=alpha
        )

    return tuple(stratum for view, name, level in tries for stratum in judged(view, name, level))


def words(text: str) -> list[str]:
    """The words of a question, lower case.

    >>> words("Isn't there one dog?")
    ["isn't", 'there', 'one', 'dog']
    """
    return re.findall(r"[\w']+", text.lower())


COUNTS = frozenset("one two three four five six seven eight nine ten several many".split())
DENIALS = frozenset("no not never none without nobody nothing".split())


def _levels(
    labels: Sequence[str],
    questions: Sequence[str] | None,
    ids: Sequence[Hashable] | None,
    items: Labelled,
    parts: Sequence[str] | None = None,
) -> dict[str, list[Hashable]]:
    """Cue -> each item's level; with `parts`, places are counted in the item's part."""
    count = len(labels)
    where = list(parts) if parts is not None else [""] * count
    size, at, before = Counter(where), Counter[str](), dict.fromkeys(where, "")
    place: list[int] = []
    previous: list[Hashable] = []
    for part, label in zip(where, labels, strict=True):
        place.append(at[part])
        previous.append(before[part])
        at[part] += 1
        before[part] = label
    within: Counter[int] = Counter()
    rank: list[Hashable] = []
    for cluster in items.cluster.tolist():
        rank.append(min(within[cluster], 30))
        within[cluster] += 1
    cues: dict[str, list[Hashable]] = {
        "odd or even place": [i % 2 for i in place],
        "place within the cluster": rank,
        "tenth of the file": [i * 10 // size[part] for i, part in zip(place, where, strict=True)],
        "label before": previous,
    }
    if ids is not None:
        last = [re.findall(r"\d+", str(name)) for name in ids]
        cues["odd or even number"] = [int(d[-1]) % 2 if d else -1 for d in last]
        cues["last digit"] = [int(d[-1]) % 10 if d else -1 for d in last]
    if questions is not None:
        split = [words(q) for q in questions]
        lengths = np.array([len(q) for q in questions], dtype=np.float64)
        cuts = np.unique(np.quantile(lengths, np.linspace(0.1, 0.9, 9)))
        cues |= {
            "first word": [w[0] if w else "" for w in split],
            "first two words": [tuple(w[:2]) for w in split],
            "first three words": [tuple(w[:3]) for w in split],
            "last word": [w[-1] if w else "" for w in split],
            "articles": [tuple(a in w for a in ("a", "an", "the")) for w in split],
            "punctuation": ["".join(re.findall(r"[^\w\s]", q)) for q in questions],
            "number of words": [min(len(w), 40) for w in split],
            "length": np.searchsorted(cuts, lengths).tolist(),
            "digits and number words": [next((x for x in w if x in COUNTS or x.isdigit()), "") for w in split],
            "negation": [any(x in DENIALS or x.endswith("n't") for x in w) for w in split],
            "capital letter": [q[:1].isupper() for q in questions],
            "spare spaces": [q != " ".join(q.split()) for q in questions],
        }
    return cues


def _giveaways(
    questions: Sequence[str],
    items: Labelled,
    table: Numbers,
    alpha: float = 0.05,
    least: int = 20,
    purity: float = 0.95,
) -> tuple[Giveaway, ...]:
    seen: dict[tuple[int, str], Counter[int]] = {}
    for text, kind, label in zip(questions, items.kind.tolist(), items.label.tolist(), strict=True):
        if table[kind].max() == table[kind].sum():
            continue
        split = words(text)
        starts = {" ".join(split[:k]) + " ..." for k in (2, 3) if len(split) > k}
        for phrase in set(split) | starts:
            seen.setdefault((kind, phrase), Counter())[label] += 1
    tried = [
        (kind, phrase, tally.most_common(1)[0], tally.total())
        for (kind, phrase), tally in seen.items()
        if tally.total() >= least
    ]
    # twice: which of the labels it would be was not said beforehand
    p = [
        min(1.0, 2 * float(binomial_above(k - 1, n, table[kind, label] / table[kind].sum())))
        for kind, _, (label, k), n in tried
    ]
    phrases = [
        Giveaway(phrase, items.labels[label], items.kinds[kind], n, k / n, float(q))
        for (kind, phrase, (label, k), n), q in zip(tried, benjamini_hochberg(p), strict=True)
        if q < alpha and k / n >= purity and not math.isnan(q)
    ]
    return tuple(sorted(phrases, key=lambda giveaway: (-giveaway.items, giveaway.phrase)))
