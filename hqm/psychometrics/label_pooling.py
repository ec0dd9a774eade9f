"""Several people's labels of one answer as one label, with what the raters' own errors do to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, shaped

Pool = Literal["majority", "mean", "dawid-skene"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterErrors:
    """Dawid and Skene's estimates: what is true, and how often each rater sees it.

    - `truth`: (answers,): the probability that the true label is 1; NaN without a label.
    - `sensitivity, specificity`: (raters,): the share of true 1 that each labels 1, and of true 0
      that each labels 0.
    - `prevalence`: The share of true 1. `rounds`: how many steps the search took.
    """

    truth: Array
    sensitivity: Array
    specificity: Array
    prevalence: float
    rounds: int


def pooled_labels(labels: npt.ArrayLike, pool: Pool = "majority") -> Array:
    """One label an answer: the majority of its raters, their mean, or the likelier truth by Dawid
    and Skene.

    A majority is what more than half of an answer's raters said; without one (a tie) the answer
    stays unresolved (NaN).

    - `labels`: (raters, answers); NaN where a rater did not label. `ValueError` where `dawid-skene`
      gets others than 0 and 1.

    >>> pooled_labels([[1, 0, 1], [1, 1, 0], [0, np.nan, 0]]).tolist()
    [1.0, nan, 0.0]
    """
    x = shaped(labels, "raters, answers", "labels")
    if pool == "dawid-skene":
        truth = dawid_skene(x).truth
        return np.where(np.isnan(truth) | (truth == 0.5), np.nan, (truth > 0.5).astype(np.float64))
    counts = np.isfinite(x).sum(axis=0)
    if pool == "mean":
        return np.where(counts > 0, np.nansum(x, axis=0) / np.maximum(counts, 1), np.nan)
    return _majority(x, np.ones(len(x)))


def _majority(x: Array, weights: Array) -> Array:
    """(answers,): what raters of more than half of the weight said."""
    there = np.isfinite(x)
    total = weights @ there
    result = np.full(x.shape[1], np.nan)
    for value in np.unique(x[there]):
        result[(weights @ (x == value) > total / 2) & (total > 0)] = value
    return result


def dawid_skene(labels: npt.ArrayLike, *, rounds: int = 500) -> RaterErrors:
    """How often each rater is right, and what is true, estimated together by maximum likelihood
    (EM).

    No answer's truth is known; raters who agree with the others are taken for good ones. It begins
    at the mean of the raters, so that raters who err less than half of the time come out so. To
    every rater's two shares one label is added that the rater would give 4 times of 5 rightly: few
    labels would otherwise make a rater infallible. Raters' errors must be independent given the
    truth: where they share one, nothing shows it.

    Dawid, A. P. and Skene, A. M. (1979). Applied Statistics, 28, 20-28.

    - `labels`: (raters, answers): 0 or 1, NaN where a rater did not label.

    >>> study = dawid_skene([[1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0]])
    >>> (study.truth > 0.5).tolist(), bool(study.sensitivity[0] > study.sensitivity[2])
    ([True, True, False, False, True, False], True)
    """
    x = shaped(labels, "raters, answers", "labels")
    there = np.isfinite(x)
    if not np.isin(x[there], (0, 1)).all():
        raise ValueError("the labels must be 0 or 1")
    ones, zeros = (x == 1).astype(np.float64), (x == 0).astype(np.float64)
    counts = there.sum(axis=0)
    seen = counts > 0
    truth = np.where(seen, ones.sum(axis=0) / np.maximum(counts, 1), 0.0)
    step = 0
    while step < rounds:
        step += 1
        wrong = np.where(seen, 1 - truth, 0.0)
        sensitivity = (ones @ truth + 0.8) / ((ones + zeros) @ truth + 1)
        specificity = (zeros @ wrong + 0.8) / ((ones + zeros) @ wrong + 1)
        prevalence = float((truth.sum() + 0.5) / (seen.sum() + 1))
        evidence = np.log(prevalence / (1 - prevalence))
        evidence = (
            evidence
            + np.log(sensitivity / (1 - specificity)) @ ones
            + np.log((1 - sensitivity) / specificity) @ zeros
        )
        before, truth = truth, np.where(seen, 1 / (1 + np.exp(-np.clip(evidence, -700, 700))), 0.0)
        if np.abs(truth - before).max(initial=0.0) < 1e-9:
            break
    return RaterErrors(
        truth=np.where(seen, truth, np.nan),
        sensitivity=sensitivity,
        specificity=specificity,
        prevalence=prevalence,
        rounds=step,
    )


def rater_replicates(
    labels: npt.ArrayLike, pool: Pool, rng: np.random.Generator, *, replicates: int = 200
) -> Array:
    """(replicates, answers): the pooled labels as other raters of the same kind might have left
    them.

    Raters are drawn with replacement, and each answer is pooled anew from those of its raters that
    were drawn; an answer of whose raters none is drawn, or which then has a tie, keeps its label.
    What one rater alone labelled, and everything where `pool` is Dawid and Skene's, is drawn from
    the posterior of that model, whose error rates come from the answers labelled twice. Without
    such answers, or with labels other than 0 and 1, a single rater's label is taken as it is, and
    nothing of that rater's error is seen.

    - `labels`: (raters, answers); NaN where a rater did not label.
    - `rng`: Draws raters, and truths.
    """
    x = shaped(labels, "raters, answers", "labels")
    there = np.isfinite(x)
    counts = there.sum(axis=0)
    centre = pooled_labels(x, pool)
    rows = np.tile(centre, (replicates, 1))
    repeated = counts >= 2
    if not repeated.any():
        return rows
    if bool(np.isin(x[there], (0, 1)).all()):
        truth = dawid_skene(x).truth
        drawn = np.isfinite(centre) if pool == "dawid-skene" else np.isfinite(centre) & ~repeated
        rows[:, drawn] = rng.random((replicates, int(drawn.sum()))) < truth[drawn]
    if pool != "dawid-skene":
        for row in rows:
            weights = np.bincount(rng.integers(0, len(x), len(x)), minlength=len(x)).astype(
                np.float64
            )
            if pool == "majority":
                again = _majority(x, weights)
            else:
                total = weights @ there
                again = np.where(
                    total > 0, weights @ np.where(there, x, 0.0) / np.maximum(total, 1), np.nan
                )
            changed = repeated & np.isfinite(again) & np.isfinite(centre)
            row[changed] = again[changed]
    return rows
