"""Which items are enough: short forms chosen on families that are left out, with what they lose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.decisions.choosing import LEAST_OF_STRATUM, METHODS, Array, Bank, Picked, pick, shares
from hqm.decisions.held_out import HeldOut, Measure, compared, loss_held_out
from hqm.errors import DesignError, UsageError
from hqm.psychometrics.weights import stream

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
    - `method`: The method that held-out families chose, a name of `hqm.decisions.choosing.METHODS`.
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
    values: npt.ArrayLike,
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
    >>> short = shorten_answers(right, "20%", families=[f"family {i // 2}" for i in range(12)], forms=2)
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
    kept = table[rows]
    measures = [measure.of(rows) for measure in measures] or [mean_measure(kept)]
    known = tuple(families[i] for i in rows)
    _enough_respondents(known, len(table) - len(rows))
    count = number_of_items(items, table.shape[1])
    kinds = list(map(str, types)) if types is not None else [""] * table.shape[1]
    _types_kept(kept, kinds, count, forms)
    within = list(map(str, strata)) if strata is not None else [""] * table.shape[1]
    if len(set(zip(kinds, within, strict=True))) * LEAST_OF_STRATUM > count:
        within = [""] * table.shape[
            1
        ]  # more parts and right answers than such a form can keep the share of
    bank = Bank(
        kept,
        _codes(list(zip(kinds, within, strict=True))),
        _codes(list(map(str, pictures)) if pictures is not None else list(range(table.shape[1]))),
        known,
        stream(seed, "shorten").random((table.shape[1],)),
    )
    sizes = [len(inside) for inside in bank.members]
    if sum(shares(sizes, count, [size // forms for size in sizes])) != count:
        what = (
            f"{count:,} items in {forms} forms do not fit the {len(sizes)} strata of types, parts"
            " and right answers"
        )
        raise DesignError(what, remedy="Ask for more items, or for one form.")
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


def _codes(names: Sequence[object]) -> npt.NDArray[np.int64]:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _enough_respondents(families: Sequence[str], lost: int) -> None:
    several, without = (
        len(set(families)),
        f" ({lost} are left out because most of their answers are not scored)" if lost else "",
    )
    if len(families) < LEAST_RESPONDENTS:
        what = (
            f"items are chosen from {LEAST_RESPONDENTS} respondents or more, and the audit has"
            f" {len(families)}{without}"
        )
        raise DesignError(
            what,
            remedy=f"Audit {LEAST_RESPONDENTS - len(families)} more, of other families if you can.",
        )
    if several < LEAST_FAMILIES:
        what = (
            f"what is lost is measured on families left out: {LEAST_FAMILIES} are needed, and the"
            f" {len(families)} respondents belong to {several}{without}"
        )
        raise DesignError(
            what,
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
        what = (
            f"{forms} forms of {items:,} items without a common item need {items * forms:,} items,"
            f" and there are {there:,}"
        )
        raise DesignError(what, remedy=f"Ask for at most {there // forms:,} items.")
    if items < LEAST_ITEMS:
        raise DesignError(
            f"{items} items are too few for a score", remedy=f"Ask for at least {LEAST_ITEMS}."
        )
    for kind, count in counts.items():
        named = f"the type {kind}" if kind else "the benchmark"
        if count * items / there < LEAST_OF_TYPE - 0.5 and kind:
            least = math.ceil(LEAST_OF_TYPE * there / count)
            what = (
                f"of the {count:,} items of {named}, {items:,} of {there:,} items keep"
                f" {count * items / there:.1f}, and {LEAST_OF_TYPE} are needed"
            )
            raise DesignError(
                what,
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
            what = (
                f"all {len(values)} respondents score {means[0]:.3f} in {named}: nothing shows"
                " which of its items stand for the others"
            )
            raise DesignError(what, remedy="Audit respondents that differ in it.")
