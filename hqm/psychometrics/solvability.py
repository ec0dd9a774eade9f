"""How much of a benchmark can be answered without its pictures?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.arrays import Array, Numbers
from hqm.psychometrics.folds import Labelled, accuracy, deal, gain_over, majority
from hqm.psychometrics.leaks import ALPHA, Stratum, judge_strata, tests_in, views
from hqm.psychometrics.multiple import benjamini_hochberg
from hqm.psychometrics.questions import Questions, without_gaps
from hqm.psychometrics.result import Coefficient, Status


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
class Solvability:
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
    types: tuple[BlindType, ...]
    n_items: int
    n_clusters: int
    folds: int
    features: int
    strata: tuple[Stratum, ...] = ()
    status: Status = "ok"
    reason: str = ""

    @property
    def leaks(self) -> tuple[Stratum, ...]:
        """Where the words give labels away, the largest gain first."""
        return tuple(sorted((s for s in self.strata if s.shown), key=lambda s: -s.gain))


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

    >>> asked = [f"Is there a {thing} in picture {i}?" for i in range(60) for thing in ("boat", "tram")]
    >>> rng = np.random.default_rng(0)
    >>> result = blind_solvability(asked, ["yes", "no"] * 60, clusters=[i // 2 for i in range(120)], rng=rng)
    >>> result.accuracy.value, result.baseline
    (1.0, 0.5)
    """
    if len(questions) != len(labels):
        raise ValueError(f"{len(questions)} questions have {len(labels)} labels")
    items = deal(labels, clusters, types, rng, folds)
    count, groups = len(labels), int(items.cluster.max(initial=-1)) + 1

    def absent(status: Status, reason: str, baseline: float = float("nan")) -> Solvability:
        none = Coefficient.absent(status, reason, groups)
        return Solvability(
            none,
            baseline,
            none,
            float("nan"),
            (),
            count,
            groups,
            items.folds,
            0,
            (),
            status,
            reason,
        )

    if count < 20 or groups < 5:
        return absent(
            "insufficient", f"20 items in 5 clusters are needed, there are {count} in {groups}"
        )
    baseline = majority(items)
    if len(items.labels) < 2:
        return absent("degenerate", f"all labels are {items.labels[0]!r}", 1.0)
    if bool(baseline.all()):
        return absent(
            "not_informative", "every type has one label only: the type alone gives it", 1.0
        )
    item, feature, size = Questions.of(questions).features()
    hits = _predict(items, item, feature, size)
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
            _learnt_forward(view.items, item, feature),
            rng,
            cue="words",
            tests=tests_in(seen),
            alpha=alpha,
        )
    )
    return Solvability(
        share, float(baseline.mean()), gain, p, per_type, count, groups, items.folds, size, strata
    )


def _predict(items: Labelled, item: Numbers, feature: Numbers, size: int) -> Array:
    """Which items are predicted rightly from the other folds."""
    hits = np.zeros(len(items.label))
    count = len(items.labels)
    for kind in range(len(items.kinds)):
        member = items.kind == kind
        chosen = member[item]
        at = item[chosen]
        what, width = without_gaps(feature[chosen])
        key = items.label[at] * width + what
        whole = np.bincount(key, minlength=count * width)
        for fold in range(items.folds):
            test_item = member & (items.fold == fold)
            test = items.fold[at] == fold
            if not test_item.any():
                continue
            seen = (whole - np.bincount(key[test], minlength=count * width)).reshape(count, width)
            prior = np.bincount(items.label[member & ~test_item], minlength=count)
            with np.errstate(divide="ignore"):
                # a label that the type's other folds lack is not predicted
                score = np.tile(np.log(prior / max(1, prior.sum())), (len(member), 1))
            weight = np.log((seen + 1) / (seen.sum(axis=1, keepdims=True) + max(1, width)))
            for k in range(count):
                score[:, k] += np.bincount(
                    at[test], weights=weight[k][what[test]], minlength=len(member)
                )
            hits[test_item] = score[test_item].argmax(axis=1) == items.label[test_item]
    return hits


def _learnt_forward(items: Labelled, item: Numbers, feature: Numbers) -> Callable[[Numbers], Array]:
    """Blocks -> which items are predicted rightly from the blocks before their own."""
    kinds = []
    for kind in range(len(items.kinds)):
        members = np.flatnonzero(items.kind == kind)
        place = np.full(len(items.label), -1)
        place[members] = np.arange(len(members))
        at = place[item]
        chosen = at >= 0
        kinds.append((members, at[chosen], *without_gaps(feature[chosen])))

    def predict(block: Numbers) -> Array:
        hits = np.zeros(len(items.label))
        for members, at, what, width in kinds:
            right = _from_before(
                items.label[members], at, what, width, block[members], len(items.labels)
            )
            hits[members] = right
        return hits

    return predict


def _from_before(
    label: Numbers, at: Numbers, what: Numbers, width: int, turn: Numbers, count: int
) -> Array:
    """Which items of one type are predicted rightly from the turns before their own."""
    hits = np.zeros(len(label))
    blocks = int(turn.max(initial=-1)) + 1
    # a sort of small numbers takes time in proportion to them
    order = np.argsort(turn.astype(np.int16)[at], kind="stable")
    at, what = at[order], what[order]
    key = label[at] * width + what
    ends = np.searchsorted(turn[at], np.arange(blocks + 1))
    seen, prior = np.zeros(count * width), np.zeros(count)
    for b in range(blocks):
        part, test = slice(ends[b], ends[b + 1]), turn == b
        if b and test.any():
            with np.errstate(divide="ignore"):
                # a label that the blocks before lack is not predicted
                score = np.tile(np.log(prior / max(1.0, prior.sum())), (len(label), 1))
            table = seen.reshape(count, width)
            weight = np.log((table + 1) / (table.sum(axis=1, keepdims=True) + max(1, width)))
            for k in range(count):
                score[:, k] += np.bincount(
                    at[part], weights=weight[k][what[part]], minlength=len(label)
                )
            hits[test] = score[test].argmax(axis=1) == label[test]
        seen += np.bincount(key[part], minlength=count * width)
        prior += np.bincount(label[test], minlength=count)
    return hits
