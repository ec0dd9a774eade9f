"""What a short form loses, on families of respondents whose answers it was not chosen from.

A family is left out; a method is chosen by leaving out families of the rest; with it the items are
chosen from the rest; and the family's scores on these items are held against its scores on all. So
the error contains the choice of the method and of the items (nested cross-validation: Varma, S. and
Simon, R. 2006, BMC Bioinformatics 7, 91).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hqm.decisions.choosing import METHODS, Array, Bank, Picked, pick
from hqm.psychometrics.distributions import kendall_tau, student_quantile
from hqm.psychometrics.short_forms import ScaledScores, error_factor, scaled_scores

OUTER, INNER = 10, 4
"""The most parts that families are divided into to measure the loss, and to choose a method."""


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A score: a statistic of tallies that are summed over items.

    - `tallies`: Name -> (respondents, items), 0 where an answer was not scored or the score does
      not look at the item.
    """

    name: str
    statistic: Callable[[Mapping[str, Array]], Any]
    tallies: Mapping[str, Array]

    def whole(self) -> Array:
        """(respondents,): the scores on all items."""
        return np.asarray(
            self.statistic({key: values.sum(axis=1) for key, values in self.tallies.items()})
        )

    def scaled(
        self,
        form: Picked,
        rows: Sequence[int] | None = None,
        factor: float = 1.0,
        freedom: float = math.inf,
    ) -> ScaledScores:
        """What the answers to a form say of the scores on all items."""
        of = slice(None) if rows is None else np.asarray(rows, dtype=np.int64)
        tallies = {key: values[of][:, form.items] for key, values in self.tallies.items()}
        return scaled_scores(
            tallies, self.statistic, form.weights, form.auxiliary, factor=factor, freedom=freedom
        )

    def scores(self, form: Picked, rows: Sequence[int]) -> Array:
        """The scores alone, as of `scaled`."""
        of = np.asarray(rows, dtype=np.int64)[:, None]
        return np.asarray(
            self.statistic(
                {key: values[of, form.items] @ form.weights for key, values in self.tallies.items()}
            )
        )

    def of(self, rows: Sequence[int]) -> Measure:
        """The same score of some respondents."""
        return Measure(
            self.name,
            self.statistic,
            {key: values[np.asarray(rows)] for key, values in self.tallies.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What one form loses of one score, on held-out families.

    - `mean_error`: The mean distance from the score on all items.
    - `bias`: The mean difference, with its sign.
    - `tau`: Kendall's tau-b between the two orders of the respondents.
    - `coverage`: The share of intervals that contain the score on all items; each is made without
      the respondent's family.
    - `half_width`: Half the mean interval.
    - `factor, freedom`: See `hqm.psychometrics.error_factor`; what later intervals are made with.
    - `respondents`: How many had both scores.
    """

    mean_error: float
    bias: float
    tau: float
    coverage: float
    half_width: float
    factor: float
    freedom: float
    respondents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """How far two short forms agree on held-out families, on the full benchmark's scale.

    - `reliability`: Pearson's correlation over respondents, the parallel-forms reliability.
    - `mean_shift`: The mean of the second form's scores less the first's.
    """

    reliability: float
    mean_shift: float
    respondents: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """Every respondent's score as it comes from a form that was chosen without its family.

    - `whole`: Score -> (respondents,): on all items.
    - `scores`: Score -> (forms, respondents): from the short forms.
    - `loss`: Score -> form by form.
    - `parallel`: Score -> the agreement of the first two forms; empty for one form.
    - `methods`: Family -> the method that was chosen without it.
    - `forms`: Family -> the forms that were chosen without it.
    """

    whole: Mapping[str, Array]
    scores: Mapping[str, Array]
    loss: Mapping[str, tuple[Loss, ...]]
    parallel: Mapping[str, Parallel]
    methods: Mapping[str, str]
    forms: Mapping[str, tuple[Picked, ...]]


def parts(families: Sequence[str], most: int) -> list[frozenset[str]]:
    """Families divided into parts of about as many respondents.

    >>> [sorted(part) for part in parts(["a", "a", "b", "c"], 2)]
    [['a'], ['b', 'c']]
    """
    sizes = {name: families.count(name) for name in dict.fromkeys(families)}
    made: list[list[str]] = [[] for _ in range(min(most, len(sizes)))]
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        min(made, key=lambda part: sum(sizes[other] for other in part)).append(name)
    return [frozenset(part) for part in made]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The errors of the methods on families that they did not see.

    - `errors`: Method -> root mean square error, each family counted once.
    - `best`: The first method whose mean square error is within one standard error of the least
      one.
    """

    errors: Mapping[str, float]
    best: str


def compared(
    bank: Bank, measure: Measure, items: int, forms: int, methods: Sequence[str] = tuple(METHODS)
) -> Comparison:
    """Try the methods on families left out, and choose one: the simplest that is not clearly worse
    than the best.

    Methods stand in the order of their simplicity; the rule of one standard error is that of
    Breiman, L. et al. (1984), Classification and Regression Trees, section 3.4.3.
    """
    squares: dict[str, list[float]] = {name: [] for name in methods}
    whole = measure.whole()
    for part in parts(bank.families, INNER):
        picked = pick(bank.without(part), items, forms, methods)
        for family in sorted(part):
            rows = [i for i, name in enumerate(bank.families) if name == family]
            for name in methods:
                errors = np.array(
                    [measure.scores(form, rows) - whole[rows] for form in picked[name]]
                )
                known = errors[np.isfinite(errors)]
                if known.size:
                    squares[name].append(float((known**2).mean()))
    means = {name: sum(each) / len(each) if each else math.inf for name, each in squares.items()}
    least = min(means, key=lambda name: means[name])
    several = len(squares[least])
    error = float(np.std(squares[least], ddof=1)) / math.sqrt(several) if several > 1 else 0.0
    best = next((name for name in methods if means[name] <= means[least] + error), least)
    return Comparison({name: math.sqrt(mean) for name, mean in means.items()}, best)


def loss_held_out(
    bank: Bank,
    measures: Sequence[Measure],
    items: int,
    forms: int,
    methods: Sequence[str] = tuple(METHODS),
) -> HeldOut:
    """The scores of every respondent from forms chosen without its family, by a method chosen
    without it; the first score decides.
    """
    shape = (forms, len(bank.families))
    scores = {measure.name: np.full(shape, np.nan) for measure in measures}
    se = {measure.name: np.full(shape, np.nan) for measure in measures}
    chosen: dict[str, str] = {}
    forms_of: dict[str, tuple[Picked, ...]] = {}
    for part in parts(bank.families, OUTER):
        rows = [i for i, name in enumerate(bank.families) if name in part]
        others = [i for i, name in enumerate(bank.families) if name not in part]
        rest = bank.without(part)
        best = compared(rest, measures[0].of(others), items, forms, methods).best
        picked = pick(rest, items, forms, [best])[best]
        chosen |= dict.fromkeys(part, best)
        forms_of |= dict.fromkeys(part, tuple(picked))
        for k, form in enumerate(picked):
            for measure in measures:
                known = measure.scaled(form, rows)
                scores[measure.name][k, rows], se[measure.name][k, rows] = known.scores, known.se
    whole = {measure.name: measure.whole() for measure in measures}
    loss = {
        name: tuple(
            _loss(scores[name][k], se[name][k], whole[name], bank.families) for k in range(forms)
        )
        for name in scores
    }
    parallel = {name: _parallel(each) for name, each in scores.items()} if forms > 1 else {}
    return HeldOut(
        whole=whole, scores=scores, loss=loss, parallel=parallel, methods=chosen, forms=forms_of
    )


def _loss(scores: Array, se: Array, whole: Array, families: Sequence[str]) -> Loss:
    errors = scores - whole
    known = np.isfinite(errors) & np.isfinite(se) & (se > 0)
    inside = []
    names = np.asarray(families)
    for i in np.flatnonzero(known):
        others = known & (names != names[i])
        factor, freedom = error_factor(errors[others], se[others], names[others].tolist())
        inside.append(abs(errors[i]) <= student_quantile(0.975, freedom) * factor * se[i])
    factor, freedom = error_factor(errors[known], se[known], names[known].tolist())
    kept = errors[np.isfinite(errors)]
    tau = (
        kendall_tau(scores[np.isfinite(errors)], whole[np.isfinite(errors)])
        if kept.size > 1
        else math.nan
    )
    return Loss(
        mean_error=float(np.abs(kept).mean()) if kept.size else math.nan,
        bias=float(kept.mean()) if kept.size else math.nan,
        tau=float(tau),
        coverage=float(np.mean(inside)) if inside else math.nan,
        half_width=(
            float((student_quantile(0.975, freedom) * factor * se[known]).mean())
            if inside
            else math.nan
        ),
        factor=factor,
        freedom=freedom,
        respondents=len(kept),
    )


def _parallel(scores: Array) -> Parallel:
    both = np.isfinite(scores[:2]).all(axis=0)
    first, second = scores[0][both], scores[1][both]
    varied = len(first) > 2 and float(np.ptp(first)) > 0 and float(np.ptp(second)) > 0
    return Parallel(
        reliability=float(np.corrcoef(first, second)[0, 1]) if varied else math.nan,
        mean_shift=float((second - first).mean()) if len(first) else math.nan,
        respondents=len(first),
    )
