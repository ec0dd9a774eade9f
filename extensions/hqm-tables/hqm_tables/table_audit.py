"""Audit a published table of scores when no answers are at hand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hqm.psychometrics import (
    Array,
    Coefficient,
    bland_altman,
    concordance,
    cronbach_alpha,
    dependability,
    equivalence,
    equivalence_margin,
    family_dependence,
    icc,
    independent_differences,
    item_analysis,
    kendall_tau_b,
    leave_one_out,
    mean_shift,
    noise_floor,
    omega_t,
    pearson,
    spearman,
    split_half,
    standardized_alpha,
    standardized_reliability,
    stream,
    top_k_overlap,
)
from hqm.psychometrics.inference.families import FamilyDependence
from hqm.respondents.kinds import check_families, families_of
from hqm.signature import sign
from hqm.types import Estimate, Interval, finite
from hqm.version import __version__
from hqm_tables.printed_table import (
    Column,
    Direction,
    Published,
    Subscales,
    is_summary,
    metric_of,
    pivot_respondents,
    read_table,
    subscales_of,
)
from hqm_tables.table_contradictions import (
    Checked,
    Contradiction,
    Tally,
    arithmetic_contradictions,
    identity_contradictions,
)

__all__ = ["Published", "TableAudit", "audit_table", "read_table"]


@dataclass(frozen=True)
class TableAudit:
    """All that a published table shows of itself."""

    table: str
    respondents: tuple[str, ...]
    columns: tuple[str, ...]
    column_specs: tuple[Column, ...]
    items: int | None
    estimates: tuple[Estimate, ...]
    checked: Checked
    flags: tuple[Mapping[str, Any], ...] = field(default=())
    notes: tuple[str, ...] = ()

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """What the table's numbers contradict in one another."""
        return self.checked.contradictions

    @property
    def violations(self) -> tuple[Mapping[str, Any], ...]:
        """The contradictions as rows: kind, row, column, printed, reason, off, unless."""
        return tuple(contradiction.to_dict() for contradiction in self.contradictions)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it, in the shape of `audit.json`."""
        return {
            "benchmark": self.table,
            "version": "",
            "items": self.items,
            "columns": list(self.columns),
            "read_as": [
                {
                    "column": c.name,
                    "scale": c.scale,
                    "better": c.better,
                    "decimals": c.decimals,
                    "items": c.items,
                }
                for c in self.column_specs
            ],
            "respondents": [{"name": name} for name in self.respondents],
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "consistency": self.checked.sentence(),
            "checks": dict(self.checked.checks),
            "violations": [dict(v) for v in self.violations],
            "flags": [dict(f) for f in self.flags],
            "notes": list(self.notes),
            "coverage": {},
        }


def audit_table(
    table: Published,
    *,
    columns: tuple[str, str] | None = None,
    items: int | Mapping[str, int] | None = None,
    direction: Direction | Mapping[str, Direction] | None = None,
    families: Mapping[str, str] | None = None,
    margin: float | None = None,
    base_rate: float | None = None,
    seed: int = 0,
) -> TableAudit:
    """Audit a published table.

    Parameters
    ----------
    columns
        Two columns that are two administrations of one benchmark; without them, the columns are
        subscales.
    items
        The number of items behind each score, where it is known: one number for all columns, or by
        column.
    direction
        Which way is good, of all columns or by column; the arrows of the headings unless given,
        else higher.
    families
        Respondent -> family; the family of others is inferred from their names.
    margin
        The largest mean difference of two columns that does not matter, in the table's units.
    base_rate
        The share of questions whose right answer is yes; solved from the rows unless given.

    Raises
    ------
    UsageError
        A column is named that the table does not have.
    """
    table = describe_columns(table, items, direction)
    tally = Tally()
    contradictions = (
        *arithmetic_contradictions(table, tally),
        *identity_contradictions(table, base_rate, tally),
    )
    checked = Checked(contradictions, tally.checks, tuple(dict.fromkeys(tally.notes)))
    notes = [*table.notes, *checked.notes]
    pivot = pivot_respondents(table)
    if pivot is not table:
        notes.append(
            "every respondent stands in several rows: coefficients are over"
            f" {len(pivot.respondents)} respondents, and each row's data set makes columns of"
            " its own"
        )
    check_families(families, pivot.respondents)
    if pivot.has_names:
        by_respondent = families_of(pivot.respondents, families)
    else:
        by_respondent = list(pivot.respondents)
    make = EstimateMaker(pivot)
    if columns is not None:
        column_names: tuple[str, ...] = columns
        indices = [pivot.index_of(name) for name in columns]
        estimates = tuple(two_column_estimates(make, pivot, indices, by_respondent, margin))
        x = np.mean(np.stack([pivot.oriented_scores(name) for name in columns]), axis=0)
    else:
        subscales = subscales_of(pivot)
        column_names = subscales.columns
        notes = [*notes, *subscales.notes]
        estimates = tuple(subscale_estimates(make, subscales, by_respondent, seed))
        x = subscales.total
    if not pivot.is_binary and not any(column.items for column in pivot.column_specs):
        notes.append(_NO_ITEMS)
    dependence = family_dependence(x, by_respondent, stream(seed, "families"))
    flags = _flags(len(pivot.respondents), dependence)
    return TableAudit(
        table.name,
        pivot.respondents,
        column_names,
        table.column_specs,
        _common_items(table.column_specs),
        estimates,
        checked,
        flags,
        tuple(dict.fromkeys(notes)),
    )


def describe_columns(
    table: Published,
    items: int | Mapping[str, int] | None,
    direction: Direction | Mapping[str, Direction] | None,
) -> Published:
    """Return the table with the number of items and the direction of each column filled in."""
    for by_column in (items, direction):
        if isinstance(by_column, Mapping):
            for name in by_column:
                table.index_of(name)
    column_specs = []
    for column in table.column_specs:
        if isinstance(items, Mapping):
            n_items = items.get(column.name)
        else:  # one number for all is that of the parts, not of their mean
            n_items = None if is_summary(column) else items
        if isinstance(direction, Mapping):
            better = direction.get(column.name, column.better)
        else:
            better = direction or column.better
        column_specs.append(replace(column, items=n_items, better=better))
    return replace(table, column_specs=tuple(column_specs))


def _common_items(column_specs: Sequence[Column]) -> int | None:
    """Return the number of items if it is the same for every column."""
    sizes = {column.items for column in column_specs if not is_summary(column)}
    if len(sizes) == 1:
        return sizes.pop()
    return None


def _flags(n: int, dependence: FamilyDependence) -> tuple[Mapping[str, Any], ...]:
    from hqm.indicators.flags import FLAGS

    flags = {"FEW_MODELS": f"{n} respondents"} if n < 20 else {}
    if "FAMILY_DEPENDENCE" in dependence.flags:
        flags["FAMILY_DEPENDENCE"] = (
            f"scores within a family correlate {dependence.icc.value:.2f}; {n} respondents count as"
            f" {dependence.n_eff:.1f}"
        )
    return tuple(
        {"flag": name, "sentence": sentence, "what_to_do": FLAGS[name]}
        for name, sentence in flags.items()
    )


# --- what the columns of a table estimate ---


# ----------------------------------------------------------------------
# Coefficients of a published table as signed estimates.
# ----------------------------------------------------------------------


@dataclass(frozen=True)
class EstimateMaker:
    """Turns coefficients into signed estimates about a table."""

    table: Published

    def __call__(
        self,
        indicator: str,
        metric: str,
        coefficient: Coefficient,
        first: str = "",
        second: str = "",
        flags: Sequence[str] = (),
        items: int | None = None,
        **detail: Any,
    ) -> Estimate:
        intervals: tuple[Interval, ...] = ()
        low, high, method = coefficient.low, coefficient.high, coefficient.method
        if math.isfinite(low):
            intervals = (Interval(low, high, "model_population", method, coefficient.level),)
        n = coefficient.n or len(self.table.respondents)
        small_sample = ("FEW_MODELS",) if intervals and n < 20 else ()
        signature = sign(
            {
                "table": self.table.name,
                "data": self.table.digest,
                "metric": metric,
                "first": first,
                "other": second,
                "respondents": n,
                "items": items or "unknown",
                "statistic": indicator,
                "interval": method.replace(" ", "_") or "none",
                "hqm": __version__,
            }
        )
        return Estimate(
            indicator,
            metric,
            "",
            first,
            second,
            coefficient.value if math.isfinite(coefficient.value) else None,
            coefficient.status,
            coefficient.reason,
            intervals,
            n,
            items or 0,
            0,
            (*flags, *small_sample),
            signature,
            detail,
        )


_STANDARD_LENGTH = 1000
_MAX_PAIRED = 200
"""Columns are correlated pairwise up to this number."""
_LIMITS = (
    "columns are taken as drawn from others like them, and count equally; with one score a cell,"
    " what a respondent does in a column beyond its own mean, and the luck of the column's items,"
    " are one error; the interval is over respondents, and supposes that this error is normal and"
    " equally large everywhere"
)


_NO_ITEMS = (
    "the noise floor and the pairs that differ need the number of items: give it with --items"
)
_ONE_FAMILY = (
    "all respondents are of one family, so that no interval over others can be had; name families"
    " with --family"
)


def _effective_size(dependence: FamilyDependence) -> tuple[float, str]:
    """Return how many respondents are independent, or why there is no interval."""
    if dependence.families == 1:
        return 1.0, _ONE_FAMILY
    if math.isfinite(dependence.n_eff):
        if dependence.n_eff < 3:
            reason = f"only {dependence.n_eff:.1f} of the respondents are independent"
        else:
            reason = ""
        return dependence.n_eff, reason
    return float(dependence.n), ""


def _widen_interval(value: Coefficient, n_eff: float) -> Coefficient:
    """Return Student's interval of a mean, for the number of independent respondents."""
    n = value.n
    if not math.isfinite(value.low) or n_eff >= n - 1e-9:
        return value
    if n_eff < 3:
        return replace(value, low=math.nan, high=math.nan)
    from scipy.special import stdtrit

    # the half-width grows with Student's quantile at fewer degrees of freedom, and with the root
    # of the ratio of respondents to independent ones
    tail = 0.5 + value.level / 2
    half = (
        (value.high - value.low)
        / 2
        * float(stdtrit(n_eff - 1, tail) / stdtrit(n - 1, tail))
        * math.sqrt(n / n_eff)
    )
    return replace(
        value,
        low=value.value - half,
        high=value.value + half,
        method=f"{value.method}, n_eff {n_eff:.4g}",
    )


def two_column_estimates(
    make: EstimateMaker,
    table: Published,
    indices: Sequence[int],
    families: Sequence[str],
    margin: float | None,
) -> Iterable[Estimate]:
    """Two columns as two administrations."""
    first, second = (table.column_specs[j] for j in indices)
    reversed_ = first.lower_is_better != second.lower_is_better
    oriented = [table.oriented_scores(table.columns[j]) for j in indices]
    scored = np.isfinite(oriented[0]) & np.isfinite(oriented[1])
    x, y = oriented[0][scored], oriented[1][scored]
    # differences are told as printed, unless one column must be reversed
    a, b = (
        (x, y)
        if reversed_
        else (table.values[scored, indices[0]], table.values[scored, indices[1]])
    )
    dependence = family_dependence(
        (x + y) / 2,
        [family for family, is_scored in zip(families, scored.tolist(), strict=True) if is_scored],
    )
    n_eff, no_interval_reason = _effective_size(dependence)
    metric = "score"
    names = (first.name, second.name)
    items = first.items if first.items == second.items else None
    flags = ("REVERSED",) if reversed_ else ()
    n_left_out = len(scored) - int(scored.sum())

    def signed(
        statistic: str, coefficient: Coefficient, *, extra_flags: Sequence[str] = (), **detail: Any
    ) -> Estimate:
        if n_left_out:
            detail["respondents_left_out"] = n_left_out
        if no_interval_reason and coefficient.status == "ok":
            detail["no_interval"] = no_interval_reason
        return make(
            f"agreement.{statistic}",
            metric,
            coefficient,
            *names,
            (*extra_flags, *flags),
            items,
            **detail,
        )

    related: dict[str, Any] = {
        "n_effective": n_eff,
        "families": [
            family for family, is_scored in zip(families, scored.tolist(), strict=True) if is_scored
        ],
    }
    r = pearson(x, y, **related)
    influence = _influence(x, y)
    yield signed(
        "pearson",
        r,
        extra_flags=influence.pop("flags", ()),
        n_effective=finite(dependence.n_eff),
        **influence,
    )
    yield signed("spearman", spearman(x, y, **related))
    yield signed("tau_b", kendall_tau_b(x, y, **related))
    iccs = icc(np.stack([x, y], axis=1), **related)
    if first.scale == second.scale:
        yield signed("icc_a1", iccs.a1, sem=finite(iccs.sem_agreement), mdc95=finite(iccs.mdc95))
        yield signed("icc_c1", iccs.c1, sem=finite(iccs.sem_consistency))
        yield signed("ccc", concordance(x, y, **related).ccc)
        yield signed("mean_shift", _widen_interval(mean_shift(a, b), n_eff))
        limits = bland_altman(a, b)
        yield signed(
            "limits_of_agreement",
            _widen_interval(limits.bias, n_eff),
            lower=finite(limits.lower.value),
            upper=finite(limits.upper.value),
        )
        p, details = _equivalence_test(a, b, margin, n_eff)
        yield signed("equivalence", p, **details)
    for k in (1, 3, 5):
        if k < len(x):
            yield signed(
                f"top_{k}",
                top_k_overlap(x, y, k),
                chance=k / len(x),
                direction=_direction_words((first, second)),
            )
    if items and first.scale and first.scale == second.scale:
        floor = noise_floor(table.values[scored, indices[0]] / first.scale, items)
        is_noise = (
            floor.status == "ok"
            and r.status == "ok"
            and r.value <= floor.value + 0.5 * (1 - floor.value)
        )
        yield signed("noise_floor", floor, extra_flags=("NOISE_FLOOR",) if is_noise else ())
        yield signed(
            f"icc_a1_{_STANDARD_LENGTH}",
            standardized_reliability(iccs.a1, items, _STANDARD_LENGTH),
            length=_STANDARD_LENGTH,
        )


def _equivalence_test(
    a: Array, b: Array, declared: float | None, n_eff: float
) -> tuple[Coefficient, dict[str, Any]]:
    """The P-value of an equivalence test, where a margin is declared: the table holds no seeds, and
    sets none itself.
    """
    margin = equivalence_margin(declared)
    if declared is None:
        reason = (
            "no margin is declared (--set margin=...), and a table without reruns shows no noise of"
            " seeds that could set one"
        )
        return Coefficient.absent("not_applicable", reason), {}
    if margin.status != "ok":
        return Coefficient.absent(margin.status, margin.reason), {}
    if n_eff < len(a) - 1e-9:
        reason = "some respondents are relatives, which the test takes for independent"
        return Coefficient.absent("not_applicable", reason), {"margin": margin.value}
    result = equivalence(a, b, margin.value)
    if result.status == "ok":
        p = Coefficient(result.p, n=len(a))
    else:
        p = Coefficient.absent(result.status, result.reason)
    return p, {
        "margin": margin.value,
        "margin_from": "declared",
        "shift": finite(result.shift.value),
    }


def _influence(x: Array, y: Array) -> dict[str, Any]:
    replicates = leave_one_out(
        lambda rows: pearson(x[rows], y[rows]).value, len(x), scores=np.stack([x, y])
    )
    if replicates.status != "ok":
        return {}
    return {
        "without_low": finite(replicates.low),
        "without_high": finite(replicates.high),
        "flags": tuple(f for f in replicates.flags if f == "DOMINANT_MODEL"),
    }


def _direction_words(column_specs: Sequence[Column]) -> str:
    """Say which direction is good, and which of it is an assumption."""
    directions = {column.better or "higher, supposed" for column in column_specs}
    if len(directions) == 1:
        return directions.pop()
    return "by column"


def subscale_estimates(
    make: EstimateMaker, subscales: Subscales, families: Sequence[str], seed: int
) -> Iterable[Estimate]:
    """Estimate what columns show as subscales, or as items, of one test."""
    table = make.table
    scores = subscales.scores
    complete = np.asarray(np.isfinite(scores).all(axis=1))
    label = subscales.label
    if len(subscales.columns) < 2:
        reason = "a test has two parts or more, and the table has " + (
            f"one: {subscales.columns[0]}" if subscales.columns else "none"
        )
        for name in ("consistency.alpha", "generalizability.g", "generalizability.phi"):
            yield make(name, label, Coefficient.absent("insufficient", reason))
    else:
        yield from _consistency_estimates(
            make,
            subscales,
            scores[complete],
            [f for f, c in zip(families, complete, strict=True) if c],
            seed,
        )
    dependence = family_dependence(subscales.total, families, stream(seed, "families"))
    yield make("families.icc", "mean", dependence.icc, n_effective=finite(dependence.n_eff))
    if not table.is_binary:
        yield from _item_count_estimates(make, subscales)
    if table.is_binary and len(subscales.columns) > 1:
        yield _discrimination(make, subscales, label)


def _consistency_estimates(
    make: EstimateMaker, subscales: Subscales, x: Array, families: Sequence[str], seed: int
) -> Iterable[Estimate]:
    label = subscales.label
    k = len(subscales.columns)
    total = x.mean(axis=1)
    n_left_out = len(subscales.scores) - len(x)
    dependence = family_dependence(total, families)
    n_eff, no_interval_reason = _effective_size(dependence)
    shared: dict[str, Any] = {"respondents_left_out": n_left_out} if n_left_out else {}
    if no_interval_reason:
        shared["no_interval"] = no_interval_reason
    related: dict[str, Any] = {"n_effective": n_eff, "families": families}
    alpha, forms = cronbach_alpha(x, **related), icc(x, **related)
    phi = dependability(x, stream(seed, "table.phi"), n_effective=n_eff)
    yield make(
        "consistency.alpha",
        label,
        replace(alpha.coefficient, fixed=None),
        flags=alpha.coefficient.flags,
        **shared,
    )
    yield make("consistency.alpha_standardized", label, standardized_alpha(x), **shared)
    for name, mean, single in (("g", forms.ck, forms.c1), ("phi", phi, forms.a1)):
        one_column = [finite(v) for v in (single.value, single.low, single.high)]
        yield make(
            f"generalizability.{name}",
            label,
            mean,
            columns=k,
            one_column=one_column,
            limits=_LIMITS,
            **shared,
            same_as="ICC(C,k)" if name == "g" else "ICC(A,k)",
        )
    yield make(
        "consistency.omega",
        label,
        omega_t(x, families=list(families)),
        **shared,
    )
    halves = split_half(x, stream(seed, "table.halves"))
    if halves.status == "ok":
        mean_of_halves = Coefficient(halves.mean, n=halves.n)
    else:
        mean_of_halves = Coefficient.absent(halves.status, halves.reason, halves.n)
    yield make(
        "consistency.split_half",
        label,
        mean_of_halves,
        minimum=finite(halves.minimum),
        maximum=finite(halves.maximum),
        splits=halves.splits,
        **shared,
    )
    pairs = [(i, j) for i in range(k) for j in range(i)]
    if k <= _MAX_PAIRED:
        values = [pearson(x[:, i], x[:, j]).value for i, j in pairs]
    else:
        values = []
    finite_values = [v for v in values if math.isfinite(v)]
    if finite_values:
        mean_r = Coefficient(float(np.mean(finite_values)), n=len(total))
    else:
        mean_r = Coefficient.absent("insufficient", "there are no two columns that vary")
    matrix = {
        f"{subscales.columns[i]} ~ {subscales.columns[j]}": finite(v)
        for (i, j), v in zip(pairs, values, strict=False)
    }
    yield make("consistency.mean_correlation", label, mean_r, correlations=matrix, **shared)


def _discrimination(make: EstimateMaker, subscales: Subscales, label: str) -> Estimate:
    """Estimate item statistics of a table whose columns are single items."""
    study = item_analysis(subscales.scores)
    item_rest = study.item_rest[np.isfinite(study.item_rest)]
    if item_rest.size:
        value = Coefficient(float(np.median(item_rest)), n=len(subscales.scores))
    else:
        value = Coefficient.absent("degenerate", "no item varies")
    item_map = {
        "ids": list(subscales.columns),
        "difficulty": [finite(value) for value in study.difficulty.tolist()],
        "item_rest": [finite(value) for value in study.item_rest.tolist()],
    }
    return make("items.discrimination", label, value, items=len(subscales.columns), map=item_map)


def _item_count_estimates(make: EstimateMaker, subscales: Subscales) -> Iterable[Estimate]:
    """Estimate the noise floor and the separable pairs from the number of items."""
    if subscales.rates is None:
        return
    specs = subscales.column_specs
    groups = [
        (column.name, [j])
        for j, column in enumerate(specs)
        if metric_of(column.name)[0] not in ("f1", "precision", "recall")
    ]
    if len(specs) > 1:
        groups.append(("mean", list(range(len(specs)))))
    for name, indices in groups:
        columns = [specs[j] for j in indices]
        sizes = [column.items or 0 for column in columns]
        if all(sizes):
            yield from _estimates_of_rates(make, name, columns, subscales.rates[:, indices])


def _estimates_of_rates(
    make: EstimateMaker, name: str, columns: Sequence[Column], rates: Array
) -> Iterable[Estimate]:
    """Estimate the noise floor and the separable pairs of the mean of some columns of rates."""
    n_items = np.array([column.items for column in columns], dtype=np.float64)
    items = int(n_items.sum())
    complete = np.isfinite(rates).all(axis=1)
    names = [make.table.respondents[m] for m in np.flatnonzero(complete).tolist()]
    rates = rates[complete]
    means = rates.mean(axis=1)
    yield make("test_retest.noise_floor", name, _floor(means, rates, n_items), items=items)
    directions = {column.lower_is_better for column in columns}
    if len(directions) > 1:  # lower is better in some columns only: their mean is no rate
        return
    # the variance of coin flips in the mean of the columns, each with its own number of items
    variances = (rates * (1 - rates) / n_items).sum(axis=1) / len(columns) ** 2
    differences = independent_differences(
        means, np.sqrt(variances), higher_is_better=not directions.pop()
    )
    if differences.status != "ok":
        absent = Coefficient.absent(differences.status, differences.reason)
        yield make("discriminability.separable_pairs", name, absent, items=items)
        return
    n_separated, n_pairs = differences.separable_pairs()
    share = n_separated / n_pairs if n_pairs else math.nan
    yield make(
        "discriminability.separable_pairs",
        name,
        Coefficient(share, n=len(means)),
        items=items,
        ranks={names[i]: list(span) for i, span in enumerate(differences.rank_intervals)},
        assumed="independent items: the least that the table supports",
        direction=_direction_words(columns),
    )


def _floor(means: Array, rates: Array, n_items: Array) -> Coefficient:
    """Estimate the noise floor of the mean of columns, weighted by their items."""
    total = int(n_items.sum())
    if len(set(n_items.tolist())) == 1:
        return noise_floor(means, total, strata=rates if rates.shape[1] > 1 else None)
    # n flips at these rates have the variance of the columns' own flips together
    variance = (rates * (1 - rates)).mean()
    mean_variance = (rates * (1 - rates) / n_items).sum(axis=1).mean() / rates.shape[1] ** 2
    if mean_variance > 0:
        total = max(2, round(float(variance / mean_variance)))
    return noise_floor(means, total, strata=rates)
