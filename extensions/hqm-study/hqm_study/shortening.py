"""Which items are enough: short forms chosen on families that are left out, with what they lose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from hqm.errors import DesignError, UsageError
from hqm.psychometrics import Array, ArrayLike, IntArray, error_factor, scaled_scores, stream
from hqm.psychometrics.inference.distributions import kendall_tau
from hqm.psychometrics.reliability.short_forms import ScaledScores
from hqm.psychometrics.result import finite_mean
from hqm_study.item_choice import (
    METHODS,
    MIN_STRATUM_ITEMS,
    Bank,
    ShortForm,
    allocate_items,
    choose_forms,
)

N_OUTER_FOLDS, N_INNER_FOLDS = 10, 4
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

    def full_scores(self) -> Array:
        """(respondents,): the scores on all items."""
        return np.asarray(
            self.statistic({key: values.sum(axis=1) for key, values in self.tallies.items()})
        )

    def scale_scores(
        self,
        form: ShortForm,
        rows: Sequence[int] | None = None,
        factor: float = 1.0,
        df: float = math.inf,
    ) -> ScaledScores:
        """What the answers to a form say of the scores on all items."""
        selected = slice(None) if rows is None else np.asarray(rows, dtype=np.int64)
        tallies = {key: values[selected][:, form.items] for key, values in self.tallies.items()}
        return scaled_scores(
            tallies, self.statistic, form.weights, form.auxiliary, factor=factor, freedom=df
        )

    def scores(self, form: ShortForm, rows: Sequence[int]) -> Array:
        """The scores alone, as of `scaled`."""
        row_index = np.asarray(rows, dtype=np.int64)[:, None]
        return np.asarray(
            self.statistic(
                {
                    key: values[row_index, form.items] @ form.weights
                    for key, values in self.tallies.items()
                }
            )
        )

    def select(self, rows: Sequence[int]) -> Measure:
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
class HeldOutScores:
    """Every respondent's score as it comes from a form that was chosen without its family.

    - `full_scores`: Score -> (respondents,): on all items.
    - `scores`: Score -> (forms, respondents): from the short forms.
    - `loss`: Score -> form by form.
    - `parallel`: Score -> the agreement of the first two forms; empty for one form.
    - `methods`: Family -> the method that was chosen without it.
    - `forms`: Family -> the forms that were chosen without it.
    """

    full_scores: Mapping[str, Array]
    scores: Mapping[str, Array]
    loss: Mapping[str, tuple[Loss, ...]]
    parallel: Mapping[str, Parallel]
    methods: Mapping[str, str]
    forms: Mapping[str, tuple[ShortForm, ...]]


def divide_families(families: Sequence[str], max_folds: int) -> list[frozenset[str]]:
    """Families divided into parts of about as many respondents.

    >>> [sorted(part) for part in divide_families(["a", "a", "b", "c"], 2)]
    [['a'], ['b', 'c']]
    """
    sizes = {name: families.count(name) for name in dict.fromkeys(families)}
    folds: list[list[str]] = [[] for _ in range(min(max_folds, len(sizes)))]
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        min(folds, key=lambda fold: sum(sizes[member] for member in fold)).append(name)
    return [frozenset(fold) for fold in folds]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The errors of the methods on families that they did not see.

    - `errors`: Method -> root mean square error, each family counted once.
    - `best`: The first method whose mean square error is within one standard error of the least
      one.
    """

    errors: Mapping[str, float]
    best: str


def compare_methods(
    bank: Bank, measure: Measure, items: int, forms: int, methods: Sequence[str] = tuple(METHODS)
) -> Comparison:
    """Try the methods on families left out, and choose one: the simplest that is not clearly worse
    than the best.

    Methods stand in the order of their simplicity; the rule of one standard error is that of
    Breiman, L. et al. (1984), Classification and Regression Trees, section 3.4.3.
    """
    squared_errors: dict[str, list[float]] = {name: [] for name in methods}
    full_scores = measure.full_scores()
    for fold in divide_families(bank.families, N_INNER_FOLDS):
        forms_by_method = choose_forms(bank.exclude_families(fold), items, forms, methods)
        for family in sorted(fold):
            rows = [i for i, name in enumerate(bank.families) if name == family]
            for name in methods:
                errors = np.array(
                    [
                        measure.scores(form, rows) - full_scores[rows]
                        for form in forms_by_method[name]
                    ]
                )
                finite_errors = errors[np.isfinite(errors)]
                if finite_errors.size:
                    squared_errors[name].append(float((finite_errors**2).mean()))
    means = {
        name: sum(errors) / len(errors) if errors else math.inf
        for name, errors in squared_errors.items()
    }
    min_method = min(means, key=lambda name: means[name])
    n_families = len(squared_errors[min_method])
    standard_error = (
        float(np.std(squared_errors[min_method], ddof=1)) / math.sqrt(n_families)
        if n_families > 1
        else 0.0
    )
    best = next(
        (name for name in methods if means[name] <= means[min_method] + standard_error), min_method
    )
    return Comparison({name: math.sqrt(mean) for name, mean in means.items()}, best)


# A family is left out; a method is chosen by leaving out families of the others; with it the items
# are chosen from the others' answers; and the family's scores on these items are compared with its
# scores on all. So the error contains the choice of the method and of the items (nested
# cross-validation: Varma, S. and Simon, R. 2006, BMC Bioinformatics 7, 91).
def nested_cross_validation(
    bank: Bank,
    measures: Sequence[Measure],
    items: int,
    forms: int,
    methods: Sequence[str] = tuple(METHODS),
) -> HeldOutScores:
    """The scores of every respondent from forms chosen without its family, by a method chosen
    without it; the first score decides.
    """
    shape = (forms, len(bank.families))
    scores = {measure.name: np.full(shape, np.nan) for measure in measures}
    se = {measure.name: np.full(shape, np.nan) for measure in measures}
    method_by_family: dict[str, str] = {}
    forms_of: dict[str, tuple[ShortForm, ...]] = {}
    for fold in divide_families(bank.families, N_OUTER_FOLDS):
        rows = [i for i, name in enumerate(bank.families) if name in fold]
        training_rows = [i for i, name in enumerate(bank.families) if name not in fold]
        training_bank = bank.exclude_families(fold)
        best = compare_methods(
            training_bank, measures[0].select(training_rows), items, forms, methods
        ).best
        short_forms = choose_forms(training_bank, items, forms, [best])[best]
        method_by_family |= dict.fromkeys(fold, best)
        forms_of |= dict.fromkeys(fold, tuple(short_forms))
        for k, form in enumerate(short_forms):
            for measure in measures:
                scaled = measure.scale_scores(form, rows)
                scores[measure.name][k, rows], se[measure.name][k, rows] = scaled.scores, scaled.se
    full_scores = {measure.name: measure.full_scores() for measure in measures}
    loss = {}
    parallel = {}
    for name, form_scores in scores.items():
        loss[name] = tuple(
            _loss(form_scores[k], se[name][k], full_scores[name], bank.families)
            for k in range(forms)
        )
        if forms > 1:
            parallel[name] = _parallel_agreement(form_scores)
    return HeldOutScores(
        full_scores=full_scores,
        scores=scores,
        loss=loss,
        parallel=parallel,
        methods=method_by_family,
        forms=forms_of,
    )


def _loss(scores: Array, se: Array, full_scores: Array, families: Sequence[str]) -> Loss:
    errors = scores - full_scores
    finite = np.isfinite(errors) & np.isfinite(se) & (se > 0)
    is_covered = []
    names = np.asarray(families)
    for i in np.flatnonzero(finite):
        other_families = finite & (names != names[i])
        factor, df = error_factor(
            errors[other_families], se[other_families], names[other_families].tolist()
        )
        is_covered.append(abs(errors[i]) <= stdtrit(df, 0.975) * factor * se[i])
    factor, df = error_factor(errors[finite], se[finite], names[finite].tolist())
    finite_errors = errors[np.isfinite(errors)]
    tau = (
        kendall_tau(scores[np.isfinite(errors)], full_scores[np.isfinite(errors)])
        if finite_errors.size > 1
        else math.nan
    )
    return Loss(
        mean_error=finite_mean(np.abs(errors)),
        bias=finite_mean(errors),
        tau=float(tau),
        coverage=float(np.mean(is_covered)) if is_covered else math.nan,
        half_width=(
            float((stdtrit(df, 0.975) * factor * se[finite]).mean()) if is_covered else math.nan
        ),
        factor=factor,
        freedom=df,
        respondents=len(finite_errors),
    )


def _parallel_agreement(scores: Array) -> Parallel:
    finite = np.isfinite(scores[:2]).all(axis=0)
    first, second = scores[0][finite], scores[1][finite]
    varies = len(first) > 2 and float(np.ptp(first)) > 0 and float(np.ptp(second)) > 0
    return Parallel(
        reliability=float(np.corrcoef(first, second)[0, 1]) if varies else math.nan,
        mean_shift=float((second - first).mean()) if len(first) else math.nan,
        respondents=len(first),
    )


MIN_RESPONDENTS, MIN_FAMILIES = 10, 5
"""The fewest respondents, and families of them, that items are chosen from: a loss is measured on
families left out.
"""
MIN_TYPE_ITEMS, MIN_ITEMS = 5, 20
"""The fewest items of a type, and in all, that a form may have."""
MAX_UNSCORED_SHARE = 0.5
"""A respondent with a larger share of unscored answers is left out."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shortening:
    """Short forms of a set of items, and what they lose.

    - `forms`: The items and weights of each form; the k-th items of two forms belong together.
    - `method`: The method that held-out families chose,
      a name of `hqm_study.item_choice.METHODS`.
    - `errors`: Method -> root mean square error on held-out families.
    - `held_out_scores`: The loss, score by score and form by form, and the agreement of two forms.
    - `full_items`: How many items there are in all.
    - `respondents, families`: Whose answers the items were chosen from.
    - `seed`: What the random numbers of the items begin from.
    """

    forms: tuple[ShortForm, ...]
    method: str
    errors: Mapping[str, float]
    held_out_scores: HeldOutScores
    full_items: int
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


def resolve_item_count(request: str | float, n_items: int) -> int:
    """How many items a share ("10%", 0.1) or a number ("500", 500) means.

    >>> resolve_item_count("10%", 14216), resolve_item_count(500, 14216)
    (1422, 500)

    Raises
    ------
    UsageError
        It is neither, or it leaves no item or all of them.
    """
    text = str(request).strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    share = math.nan
    if text.endswith("%"):
        share = value / 100
    elif 0 < value < 1:
        share = value
    if not math.isfinite(value) or (not math.isfinite(share) and value != int(value)):
        raise UsageError(
            f"{text!r:.60} is no share or number of items",
            remedy="Write --items 10% or --items 500.",
        )
    count = round(share * n_items) if math.isfinite(share) else int(value)
    if count < 1:
        raise UsageError(
            f"{text} of {n_items:,} items leaves no item",
            remedy=f"Ask for at least {MIN_ITEMS} items.",
        )
    if count >= n_items:
        raise UsageError(
            f"{count:,} of {n_items:,} items is no short form", remedy="Ask for fewer items."
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
    >>> (loss := short.held_out_scores.loss["mean"][0]).mean_error < 0.06, loss.tau > 0.7
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
    n_respondents, n_items = table.shape
    _check_length("families", families, n_respondents, table.shape)
    _check_length("respondents", names, n_respondents, table.shape)
    _check_length("types", types, n_items, table.shape)
    _check_length("pictures", pictures, n_items, table.shape)
    _check_length("strata", strata, n_items, table.shape)
    rows = [i for i, row in enumerate(table) if np.isfinite(row).mean() >= MAX_UNSCORED_SHARE]
    scored_table = table[rows]
    measures = [measure.select(rows) for measure in measures] or [mean_measure(scored_table)]
    kept_families = tuple(families[i] for i in rows)
    _check_respondents(kept_families, n_respondents - len(rows))
    count = resolve_item_count(items, n_items)
    unlabelled = [""] * n_items
    kinds = list(map(str, unlabelled if types is None else types))
    _check_types(scored_table, kinds, count, forms)
    item_strata = list(map(str, unlabelled if strata is None else strata))
    if len(set(zip(kinds, item_strata, strict=True))) * MIN_STRATUM_ITEMS > count:
        # more parts and right answers than such a form can keep the share of
        item_strata = unlabelled
    bank = Bank(
        scored_table,
        _codes(list(zip(kinds, item_strata, strict=True))),
        _codes(list(map(str, range(n_items) if pictures is None else pictures))),
        kept_families,
        stream(seed, "shorten").random((n_items,)),
    )
    _check_strata(bank, count, forms)
    if forms > 1:
        # forms drawn at random are not matched
        methods = [name for name in methods if name != "random"] or methods
    held_out_scores = nested_cross_validation(bank, measures, count, forms, methods)
    comparison = compare_methods(bank, measures[0], count, forms, methods)
    method = comparison.best
    return Shortening(
        forms=tuple(choose_forms(bank, count, forms, [method])[method]),
        method=method,
        errors=comparison.errors,
        held_out_scores=held_out_scores,
        full_items=n_items,
        respondents=tuple(names[i] for i in rows),
        families=kept_families,
        seed=seed,
    )


def mean_measure(values: Array, name: str = "mean") -> Measure:
    """The mean of item scores; answers that were not scored count neither as right nor as wrong."""
    scored = np.isfinite(values)
    return Measure(
        name,
        lambda sums: sums["score"] / sums["n"],
        {"score": np.where(scored, values, 0.0), "n": scored.astype(np.float64)},
    )


def _codes(names: Sequence[object]) -> IntArray:
    codes: dict[object, int] = {}
    return np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int64)


def _check_length(
    name: str, column: Sequence[str] | None, length: int, shape: tuple[int, ...]
) -> None:
    if column is not None and len(column) != length:
        raise UsageError(
            f"there are {len(column)} {name} for a table of shape {shape}",
            remedy=f"Give {length}.",
        )


def _check_strata(bank: Bank, count: int, forms: int) -> None:
    """Refuse a number of items that cannot be divided over the strata and the forms."""
    sizes = list(map(len, bank.members))
    if sum(allocate_items(sizes, count, [size // forms for size in sizes])) != count:
        raise DesignError(
            f"{count:,} items in {forms} forms do not fit the {len(sizes)} strata of types, parts"
            " and right answers",
            remedy="Ask for more items, or for one form.",
        )


def _check_respondents(families: Sequence[str], n_dropped: int) -> None:
    n_families, dropped_note = (
        len(set(families)),
        f" ({n_dropped} are left out because most of their answers are not scored)"
        if n_dropped
        else "",
    )
    if len(families) < MIN_RESPONDENTS:
        raise DesignError(
            f"items are chosen from {MIN_RESPONDENTS} respondents or more, and the audit has"
            f" {len(families)}{dropped_note}",
            remedy=f"Audit {MIN_RESPONDENTS - len(families)} more, of other families if you can.",
        )
    if n_families < MIN_FAMILIES:
        raise DesignError(
            f"what is lost is measured on families left out: {MIN_FAMILIES} are needed, and the"
            f" {len(families)} respondents belong to {n_families}{dropped_note}",
            remedy=(
                f"Audit {MIN_FAMILIES - n_families} more families, or name families with --family."
            ),
        )


def _check_types(values: Array, types: Sequence[str], items: int, forms: int) -> None:
    """Refuse a number of items that does not keep every type, and a type whose items say nothing of
    the respondents.
    """
    n_items, counts = values.shape[1], {kind: types.count(kind) for kind in dict.fromkeys(types)}
    if items * forms > n_items:
        raise DesignError(
            f"{forms} forms of {items:,} items without a common item need {items * forms:,} items,"
            f" and there are {n_items:,}",
            remedy=f"Ask for at most {n_items // forms:,} items.",
        )
    if items < MIN_ITEMS:
        raise DesignError(
            f"{items} items are too few for a score", remedy=f"Ask for at least {MIN_ITEMS}."
        )
    for kind, count in counts.items():
        type_name = f"the type {kind}" if kind else "the benchmark"
        if count * items / n_items < MIN_TYPE_ITEMS - 0.5 and kind:
            min_items = math.ceil(MIN_TYPE_ITEMS * n_items / count)
            raise DesignError(
                f"of the {count:,} items of {type_name}, {items:,} of {n_items:,} items keep"
                f" {count * items / n_items:.1f}, and {MIN_TYPE_ITEMS} are needed",
                remedy=(
                    f"Ask for at least {min_items:,} items"
                    f" ({math.ceil(1000 * min_items / n_items) / 10:g}%)."
                ),
            )
        type_scores = values[:, [i for i, item_type in enumerate(types) if item_type == kind]]
        with np.errstate(invalid="ignore"):
            means = (
                np.nanmean(type_scores, axis=1)
                if np.isfinite(type_scores).any(axis=1).all()
                else np.array([np.nan])
            )
        if not np.isfinite(means).all():
            raise DesignError(
                f"{type_name} has respondents without any scored answer",
                remedy="Audit it with answers to it.",
            )
        if float(np.ptp(means)) < 1e-12:
            raise DesignError(
                f"all {len(values)} respondents score {means[0]:.3f} in {type_name}: nothing shows"
                " which of its items stand for the others",
                remedy="Audit respondents that differ in it.",
            )
