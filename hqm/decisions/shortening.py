"""Which items are enough: short forms chosen on families that are left out, with what they lose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from hqm.decisions.item_choice import LEAST_OF_STRATUM, METHODS, Bank, Picked, pick, shares
from hqm.errors import DesignError, UsageError
from hqm.psychometrics import (
    Array,
    ArrayLike,
    Numbers,
    ScaledScores,
    error_factor,
    scaled_scores,
    stream,
)
from hqm.psychometrics.distributions import kendall_tau

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


# A family is left out; a method is chosen by leaving out families of the rest; with it the items
# are chosen from the rest; and the family's scores on these items are held against its scores on
# all. So the error contains the choice of the method and of the items (nested cross-validation:
# Varma, S. and Simon, R. 2006, BMC Bioinformatics 7, 91).
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
        inside.append(abs(errors[i]) <= stdtrit(freedom, 0.975) * factor * se[i])
    factor, freedom = error_factor(errors[known], se[known], names[known].tolist())
    included = errors[np.isfinite(errors)]
    tau = (
        kendall_tau(scores[np.isfinite(errors)], whole[np.isfinite(errors)])
        if included.size > 1
        else math.nan
    )
    return Loss(
        mean_error=float(np.abs(included).mean()) if included.size else math.nan,
        bias=float(included.mean()) if included.size else math.nan,
        tau=float(tau),
        coverage=float(np.mean(inside)) if inside else math.nan,
        half_width=(
            float((stdtrit(freedom, 0.975) * factor * se[known]).mean()) if inside else math.nan
        ),
        factor=factor,
        freedom=freedom,
        respondents=len(included),
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


LEAST_RESPONDENTS, LEAST_FAMILIES = 10, 5
"""The fewest respondents, and families of them, that items are chosen from: a loss is measured on
families left out.
"""
LEAST_OF_TYPE, LEAST_ITEMS = 5, 20
"""The fewest items of a type, and in all, that a form may have."""
MOST_UNSCORED = 0.5
"""A respondent with a larger share of unscored answers is left out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shortening:
    """Short forms of a set of items, and what they lose.

    - `forms`: The items and weights of each form; the k-th items of two forms belong together.
    - `method`: The method that held-out families chose,
      a name of `hqm.decisions.item_choice.METHODS`.
    - `errors`: Method -> root mean square error on held-out families.
    - `held_out`: The loss, score by score and form by form, and the agreement of two forms.
    - `of_items`: How many items there are in all.
    - `respondents, families`: Whose answers the items were chosen from.
    - `seed`: What the random numbers of the items begin from.
    """

    forms: tuple[Picked, ...]
    method: str
    errors: Mapping[str, float]
    held_out: HeldOut
    of_items: int
    respondents: tuple[str, ...]
    families: tuple[str, ...]
    seed: int

    @property
    def items(self) -> int:
        """How many items each form has."""
        return len(self.forms[0].items)

    @property
    def gain_over_random(self) -> float:
        """How much smaller the error is than that of as many items drawn at random; NaN where these
        were not tried.
        """
        return self.errors.get("random", math.nan) - self.errors[self.method]


def number_of_items(wanted: str | float, there: int) -> int:
    """How many items a share ("10%", 0.1) or a number ("500", 500) means.

    >>> number_of_items("10%", 14216), number_of_items(500, 14216), number_of_items(0.1, 1008)
    (1422, 500, 101)

    Raises
    ------
    UsageError
        It is neither, or it leaves no item or all of them.
    """
    text = str(wanted).strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    share = value / 100 if text.endswith("%") else value if 0 < value < 1 else math.nan
    if not math.isfinite(value) or (not math.isfinite(share) and value != int(value)):
        raise UsageError(
            f"{text!r:.60} is no share or number of items",
            remedy="Write --items 10% or --items 500.",
        )
    count = round(share * there) if math.isfinite(share) else int(value)
    if count < 1:
        raise UsageError(
            f"{text} of {there:,} items leaves no item",
            remedy=f"Ask for at least {LEAST_ITEMS} items.",
        )
    if count >= there:
        raise UsageError(
            f"{count:,} of {there:,} items is no short form", remedy="Ask for fewer items."
        )
    return count


def shorten_answers(
    values: ArrayLike,
    items: str | float = "10%",
    *,
    families: Sequence[str],
    types: Sequence[str] | None = None,
    pictures: Sequence[str] | None = None,
    strata: Sequence[str] | None = None,
    respondents: Sequence[str] | None = None,
    measures: Sequence[Measure] = (),
    forms: int = 1,
    seed: int = 0,
    methods: Sequence[str] = tuple(METHODS),
) -> Shortening:
    """Choose the items of short forms from a table of answers, and measure on families left out
    what they lose.

    Items are drawn from strata (types, and within them `strata`), spread over difficulties and
    pictures, and weighted; which method does it is chosen by families left out, and so is measured
    what is lost: nested, so that the error contains both choices. A score on the full scale is the
    weighted mean of a form's item scores.

    Invalid where later respondents are unlike all families here, or where respondents share answers
    across families.

    Parameters
    ----------
    values
        (respondents, items): item scores from 0 to 1; NaN where an answer was not scored.
    items
        How many, as a share ("10%") or a number.
    families
        Every respondent's family, which is left out as a whole.
    types, pictures, strata
        (items,): each item's type, picture, and what else a form must keep the share of (part,
        right answer).
    respondents
        Their names.
    measures
        The scores that the loss is measured of, the first one decides; the mean of the item scores
        unless given.
    forms
        2 makes two forms without a common item, matched in type and difficulty (so that none is
        drawn at random).
    seed
        Where the items' random numbers begin.

    Raises
    ------
    DesignError
        There are too few respondents, families or items, a type is not kept or has no spread; the
        sentence has the number.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ability, difficulty = rng.normal(0, 1, (12, 1)), rng.normal(0, 1, 600)
    >>> right = (rng.random((12, 600)) < 1 / (1 + np.exp(difficulty - ability))).astype(float)
    >>> short = shorten_answers(right, "20%", families=[f"family {i // 2}" for i in range(12)],
    ...     forms=2)
    >>> short.items, len(set(short.forms[0].items) & set(short.forms[1].items))
    (120, 0)
    >>> (loss := short.held_out.loss["mean"][0]).mean_error < 0.06, loss.tau > 0.7
    (True, True)

    Sources: Polo et al. (2024), tinyBenchmarks; Kipnis et al. (2024), metabench; Deville and
    Sarndal (1992), JASA 87, 376-382.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise UsageError(
            f"the item scores have the shape {table.shape}", remedy="Give (respondents, items)."
        )
    names = (
        tuple(respondents)
        if respondents is not None
        else tuple(f"respondent {i + 1}" for i in range(len(table)))
    )
    lists = {"families": (families, len(table)), "respondents": (names, len(table))}
    lists |= {
        what: (each, table.shape[1])
        for what, each in (("types", types), ("pictures", pictures), ("strata", strata))
        if each is not None
    }
    for what, (each, length) in lists.items():
        if len(each) != length:
            raise UsageError(
                f"there are {len(each)} {what} for a table of shape {table.shape}",
                remedy=f"Give {length}.",
            )
    rows = [i for i, row in enumerate(table) if np.isfinite(row).mean() >= MOST_UNSCORED]
    included = table[rows]
    measures = [measure.of(rows) for measure in measures] or [mean_measure(included)]
    known = tuple(families[i] for i in rows)
    _enough_respondents(known, len(table) - len(rows))
    count = number_of_items(items, table.shape[1])
    kinds = list(map(str, types)) if types is not None else [""] * table.shape[1]
    _types_kept(included, kinds, count, forms)
    within = list(map(str, strata)) if strata is not None else [""] * table.shape[1]
    if len(set(zip(kinds, within, strict=True))) * LEAST_OF_STRATUM > count:
        within = [""] * table.shape[
            1
        ]  # more parts and right answers than such a form can keep the share of
    bank = Bank(
        included,
        _codes(list(zip(kinds, within, strict=True))),
        _codes(list(map(str, pictures)) if pictures is not None else list(range(table.shape[1]))),
        known,
        stream(seed, "shorten").random((table.shape[1],)),
    )
    sizes = [len(inside) for inside in bank.members]
    if sum(shares(sizes, count, [size // forms for size in sizes])) != count:
        raise DesignError(
            f"{count:,} items in {forms} forms do not fit the {len(sizes)} strata of types, parts"
            " and right answers",
            remedy="Ask for more items, or for one form.",
        )
    if forms > 1:
        methods = [
            name for name in methods if name != "random"
        ] or methods  # forms drawn at random are not matched
    outcome = loss_held_out(bank, measures, count, forms, methods)
    comparison = compared(bank, measures[0], count, forms, methods)
    method = comparison.best
    return Shortening(
        forms=tuple(pick(bank, count, forms, [method])[method]),
        method=method,
        errors=comparison.errors,
        held_out=outcome,
        of_items=table.shape[1],
        respondents=tuple(names[i] for i in rows),
        families=known,
        seed=seed,
    )


def mean_measure(values: Array, name: str = "mean") -> Measure:
    """The mean of item scores; answers that were not scored count neither as right nor as wrong."""
    seen = np.isfinite(values)
    return Measure(
        name,
        lambda sums: sums["score"] / sums["n"],
        {"score": np.where(seen, values, 0.0), "n": seen.astype(np.float64)},
    )


def _codes(names: Sequence[object]) -> Numbers:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _enough_respondents(families: Sequence[str], lost: int) -> None:
    several, without = (
        len(set(families)),
        f" ({lost} are left out because most of their answers are not scored)" if lost else "",
    )
    if len(families) < LEAST_RESPONDENTS:
        raise DesignError(
            f"items are chosen from {LEAST_RESPONDENTS} respondents or more, and the audit has"
            f" {len(families)}{without}",
            remedy=f"Audit {LEAST_RESPONDENTS - len(families)} more, of other families if you can.",
        )
    if several < LEAST_FAMILIES:
        raise DesignError(
            f"what is lost is measured on families left out: {LEAST_FAMILIES} are needed, and the"
            f" {len(families)} respondents belong to {several}{without}",
            remedy=(
                f"Audit {LEAST_FAMILIES - several} more families, or name families with --family."
            ),
        )


def _types_kept(values: Array, types: Sequence[str], items: int, forms: int) -> None:
    """Refuse a number of items that does not keep every type, and a type whose items say nothing of
    the respondents.
    """
    there, counts = values.shape[1], {kind: types.count(kind) for kind in dict.fromkeys(types)}
    if items * forms > there:
        raise DesignError(
            f"{forms} forms of {items:,} items without a common item need {items * forms:,} items,"
            f" and there are {there:,}",
            remedy=f"Ask for at most {there // forms:,} items.",
        )
    if items < LEAST_ITEMS:
        raise DesignError(
            f"{items} items are too few for a score", remedy=f"Ask for at least {LEAST_ITEMS}."
        )
    for kind, count in counts.items():
        named = f"the type {kind}" if kind else "the benchmark"
        if count * items / there < LEAST_OF_TYPE - 0.5 and kind:
            least = math.ceil(LEAST_OF_TYPE * there / count)
            raise DesignError(
                f"of the {count:,} items of {named}, {items:,} of {there:,} items keep"
                f" {count * items / there:.1f}, and {LEAST_OF_TYPE} are needed",
                remedy=(
                    f"Ask for at least {least:,} items ({math.ceil(1000 * least / there) / 10:g}%)."
                ),
            )
        own = values[:, [i for i, other in enumerate(types) if other == kind]]
        with np.errstate(invalid="ignore"):
            means = (
                np.nanmean(own, axis=1)
                if np.isfinite(own).any(axis=1).all()
                else np.array([np.nan])
            )
        if not np.isfinite(means).all():
            raise DesignError(
                f"{named} has respondents without any scored answer",
                remedy="Audit it with answers to it.",
            )
        if float(np.ptp(means)) < 1e-12:
            raise DesignError(
                f"all {len(values)} respondents score {means[0]:.3f} in {named}: nothing shows"
                " which of its items stand for the others",
                remedy="Audit respondents that differ in it.",
            )
