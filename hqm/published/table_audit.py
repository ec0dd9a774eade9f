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
    FamilyDependence,
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
from hqm.published.printed_table import (
    Column,
    Direction,
    Published,
    Subscales,
    is_summary,
    metric_of,
    pivoted,
    read_table,
    subscales_of,
)
from hqm.published.table_contradictions import (
    Checked,
    Contradiction,
    Tally,
    identities_of,
    parts_of,
)
from hqm.respondents.kinds import check_families, families_of
from hqm.signature import sign
from hqm.types import Estimate, Interval, finite
from hqm.version import __version__

__all__ = ["Published", "TableAudit", "audit_table", "read_table"]


@dataclass(frozen=True)
class TableAudit:
    """All that a published table shows of itself."""

    table: str
    respondents: tuple[str, ...]
    columns: tuple[str, ...]
    about: tuple[Column, ...]
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
        return tuple(each.to_dict() for each in self.contradictions)

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
                for c in self.about
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
    table = described(table, items, direction)
    tally = Tally()
    broken = (*parts_of(table, tally), *identities_of(table, base_rate, tally))
    checked = Checked(broken, tally.checks, tuple(dict.fromkeys(tally.notes)))
    notes = [*table.notes, *checked.notes]
    wide = pivoted(table)
    if wide is not table:
        notes.append(
            "every respondent stands in several rows: coefficients are over"
            f" {len(wide.respondents)} respondents, and each row's data set makes columns of"
            " its own"
        )
    check_families(families, wide.respondents)
    by_respondent = (
        families_of(wide.respondents, families) if wide.named else list(wide.respondents)
    )
    make = Maker(wide)
    if columns is not None:
        used: tuple[str, ...] = columns
        places = [wide.place(name) for name in columns]
        estimates = tuple(of_two(make, wide, places, by_respondent, margin))
        x = np.mean(np.stack([wide.turned(name) for name in columns]), axis=0)
    else:
        parts = subscales_of(wide)
        used, notes = parts.columns, [*notes, *parts.notes]
        estimates = tuple(of_subscales(make, parts, by_respondent, seed))
        x = parts.total
    if not wide.binary and not any(column.items for column in wide.about):
        notes.append(_NO_ITEMS)
    dependence = family_dependence(x, by_respondent, stream(seed, "families"))
    flags = _flags(len(wide.respondents), dependence)
    return TableAudit(
        table.name,
        wide.respondents,
        used,
        table.about,
        _common(table.about),
        estimates,
        checked,
        flags,
        tuple(dict.fromkeys(notes)),
    )


def described(
    table: Published,
    items: int | Mapping[str, int] | None,
    direction: Direction | Mapping[str, Direction] | None,
) -> Published:
    """Return the table with the number of items and the direction of each column filled in."""
    for by_column in (items, direction):
        if isinstance(by_column, Mapping):
            for name in by_column:
                table.place(name)
    about = []
    for column in table.about:
        if isinstance(items, Mapping):
            own = items.get(column.name)
        else:  # one number for all is that of the parts, not of their mean
            own = None if is_summary(column) else items
        better = (
            direction.get(column.name, column.better)
            if isinstance(direction, Mapping)
            else direction or column.better
        )
        about.append(replace(column, items=own, better=better))
    return replace(table, about=tuple(about))


def _common(about: Sequence[Column]) -> int | None:
    """Return the number of items if it is the same for every column."""
    sizes = {column.items for column in about if not is_summary(column)}
    return sizes.pop() if len(sizes) == 1 else None


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
class Maker:
    """Turns coefficients into signed estimates about a table."""

    table: Published

    def __call__(
        self,
        indicator: str,
        metric: str,
        coefficient: Coefficient,
        first: str = "",
        other: str = "",
        flags: Sequence[str] = (),
        items: int | None = None,
        **detail: Any,
    ) -> Estimate:
        spans: tuple[Interval, ...] = ()
        low, high, method = coefficient.low, coefficient.high, coefficient.method
        if math.isfinite(low):
            spans = (Interval(low, high, "model_population", method, coefficient.level),)
        n = coefficient.n or len(self.table.respondents)
        few = ("FEW_MODELS",) if spans and n < 20 else ()
        signature = sign(
            {
                "table": self.table.name,
                "data": self.table.digest,
                "metric": metric,
                "first": first,
                "other": other,
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
            other,
            coefficient.value if math.isfinite(coefficient.value) else None,
            coefficient.status,
            coefficient.reason,
            spans,
            n,
            items or 0,
            0,
            (*flags, *few),
            signature,
            detail,
        )


_LENGTH = 1000
_MOST_PAIRED = 200
"""Columns are correlated pairwise up to this number."""
_LIMITS = (
    "columns are taken as drawn from others like them, and count equally; with one score a cell,"
    " what a respondent does in a column beyond its own mean, and the luck of the column's items,"
    " are one error; the interval is over respondents, and supposes that this error is normal and"
    " equally large everywhere"
)


_NO_ITEMS = (
    "the noise floor and the pairs told apart need the number of items: give it with --items"
)
_ONE_FAMILY = (
    "all respondents are of one family, so that no interval over others can be had; name families"
    " with --family"
)


def _independent(dependence: FamilyDependence) -> tuple[float, str]:
    """Return how many respondents are independent, or why there is no interval."""
    if dependence.families == 1:
        return 1.0, _ONE_FAMILY
    if math.isfinite(dependence.n_eff):
        few = (
            f"only {dependence.n_eff:.1f} of the respondents are independent"
            if dependence.n_eff < 3
            else ""
        )
        return dependence.n_eff, few
    return float(dependence.n), ""


def _widened(value: Coefficient, n_eff: float) -> Coefficient:
    """Return Student's interval of a mean, for the number of independent respondents."""
    n = value.n
    if not math.isfinite(value.low) or n_eff >= n - 1e-9:
        return value
    if n_eff < 3:
        return replace(value, low=math.nan, high=math.nan)
    from scipy.special import stdtrit

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


def of_two(
    make: Maker,
    table: Published,
    places: Sequence[int],
    families: Sequence[str],
    margin: float | None,
) -> Iterable[Estimate]:
    """Two columns as two administrations."""
    first, other = (table.about[j] for j in places)
    reversed_ = first.lower_is_better != other.lower_is_better
    ranked = [table.turned(table.columns[j]) for j in places]
    known = np.isfinite(ranked[0]) & np.isfinite(ranked[1])
    x, y = ranked[0][known], ranked[1][known]
    # differences are told as printed, unless one column must be turned round
    a, b = (x, y) if reversed_ else (table.values[known, places[0]], table.values[known, places[1]])
    dependence = family_dependence(
        (x + y) / 2,
        [family for family, there in zip(families, known.tolist(), strict=True) if there],
    )
    n_eff, without = _independent(dependence)
    metric, names = "score", (first.name, other.name)
    items = first.items if first.items == other.items else None
    flags = ("REVERSED",) if reversed_ else ()
    lost = len(known) - int(known.sum())

    def signed(
        statistic: str, coefficient: Coefficient, *, more: Sequence[str] = (), **detail: Any
    ) -> Estimate:
        if lost:
            detail["respondents_left_out"] = lost
        if without and coefficient.status == "ok":
            detail["no_interval"] = without
        return make(
            f"agreement.{statistic}", metric, coefficient, *names, (*more, *flags), items, **detail
        )

    related: dict[str, Any] = {
        "n_effective": n_eff,
        "families": [
            family for family, there in zip(families, known.tolist(), strict=True) if there
        ],
    }
    r = pearson(x, y, **related)
    influence = _influence(x, y)
    yield signed(
        "pearson",
        r,
        more=influence.pop("flags", ()),
        n_effective=finite(dependence.n_eff),
        **influence,
    )
    yield signed("spearman", spearman(x, y, **related))
    yield signed("tau_b", kendall_tau_b(x, y, **related))
    both = icc(np.stack([x, y], axis=1), **related)
    if first.scale == other.scale:
        yield signed("icc_a1", both.a1, sem=finite(both.sem_agreement), mdc95=finite(both.mdc95))
        yield signed("icc_c1", both.c1, sem=finite(both.sem_consistency))
        yield signed("ccc", concordance(x, y, **related).ccc)
        yield signed("mean_shift", _widened(mean_shift(a, b), n_eff))
        limits = bland_altman(a, b)
        yield signed(
            "limits_of_agreement",
            _widened(limits.bias, n_eff),
            lower=finite(limits.lower.value),
            upper=finite(limits.upper.value),
        )
        p, about = _equivalent(a, b, margin, n_eff)
        yield signed("equivalence", p, **about)
    for k in (1, 3, 5):
        if k < len(x):
            yield signed(
                f"top_{k}",
                top_k_overlap(x, y, k),
                chance=k / len(x),
                direction=_directions((first, other)),
            )
    if items and first.scale and first.scale == other.scale:
        floor = noise_floor(table.values[known, places[0]] / first.scale, items)
        near = (
            floor.status == "ok"
            and r.status == "ok"
            and r.value <= floor.value + 0.5 * (1 - floor.value)
        )
        yield signed("noise_floor", floor, more=("NOISE_FLOOR",) if near else ())
        yield signed(
            f"icc_a1_{_LENGTH}", standardized_reliability(both.a1, items, _LENGTH), length=_LENGTH
        )


def _equivalent(
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
    tested = equivalence(a, b, margin.value)
    p = (
        Coefficient(tested.p, n=len(a))
        if tested.status == "ok"
        else Coefficient.absent(tested.status, tested.reason)
    )
    return p, {
        "margin": margin.value,
        "margin_from": "declared",
        "shift": finite(tested.shift.value),
    }


def _influence(x: Array, y: Array) -> dict[str, Any]:
    left_out = leave_one_out(lambda chosen: pearson(x[chosen], y[chosen]).value, len(x), scores=x)
    if left_out.status != "ok":
        return {}
    return {
        "without_low": finite(left_out.low),
        "without_high": finite(left_out.high),
        "flags": tuple(f for f in left_out.flags if f == "DOMINANT_MODEL"),
    }


def _directions(about: Sequence[Column]) -> str:
    """Say which direction is good, and which of it is an assumption."""
    ways = {column.better or "higher, supposed" for column in about}
    return ways.pop() if len(ways) == 1 else "by column"


def of_subscales(
    make: Maker, parts: Subscales, families: Sequence[str], seed: int
) -> Iterable[Estimate]:
    """Estimate what columns show as subscales, or as items, of one test."""
    table, scores = make.table, parts.scores
    complete = np.asarray(np.isfinite(scores).all(axis=1))
    label = f"{len(parts.columns)} columns"
    if len(parts.columns) < 2:
        reason = "a test has two parts or more, and the table has " + (
            f"one: {parts.columns[0]}" if parts.columns else "none"
        )
        for name in ("consistency.alpha", "generalizability.g", "generalizability.phi"):
            yield make(name, label, Coefficient.absent("insufficient", reason))
    else:
        yield from _of_parts(
            make,
            parts,
            scores[complete],
            [f for f, c in zip(families, complete, strict=True) if c],
            seed,
        )
    dependence = family_dependence(parts.total, families, stream(seed, "families"))
    yield make("families.icc", "mean", dependence.icc, n_effective=finite(dependence.n_eff))
    if not table.binary:
        yield from _with_items(make, parts)
    if table.binary and len(parts.columns) > 1:
        yield _discrimination(make, parts, label)


def _of_parts(
    make: Maker, parts: Subscales, x: Array, families: Sequence[str], seed: int
) -> Iterable[Estimate]:
    label, k = f"{len(parts.columns)} columns", len(parts.columns)
    total, lost = x.mean(axis=1), len(parts.scores) - len(x)
    dependence = family_dependence(total, families)
    n_eff, without = _independent(dependence)
    shared: dict[str, Any] = {"respondents_left_out": lost} if lost else {}
    if without:
        shared["no_interval"] = without
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
    mean_of_halves = (
        Coefficient(halves.mean, n=halves.n)
        if halves.status == "ok"
        else Coefficient.absent(halves.status, halves.reason, halves.n)
    )
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
    values = [pearson(x[:, i], x[:, j]).value for i, j in pairs] if k <= _MOST_PAIRED else []
    known = [v for v in values if math.isfinite(v)]
    mean_r = (
        Coefficient(float(np.mean(known)), n=len(total))
        if known
        else Coefficient.absent("insufficient", "there are no two columns that vary")
    )
    matrix = {
        f"{parts.columns[i]} ~ {parts.columns[j]}": finite(v)
        for (i, j), v in zip(pairs, values, strict=False)
    }
    yield make("consistency.mean_correlation", label, mean_r, correlations=matrix, **shared)


def _discrimination(make: Maker, parts: Subscales, label: str) -> Estimate:
    """Estimate item statistics of a table whose columns are single items."""
    study = item_analysis(parts.scores)
    rest = study.item_rest[np.isfinite(study.item_rest)]
    value = (
        Coefficient(float(np.median(rest)), n=len(parts.scores))
        if rest.size
        else Coefficient.absent("degenerate", "no item varies")
    )
    places = {
        "ids": list(parts.columns),
        "difficulty": [finite(value) for value in study.difficulty.tolist()],
        "item_rest": [finite(value) for value in study.item_rest.tolist()],
    }
    return make("items.discrimination", label, value, items=len(parts.columns), map=places)


def _with_items(make: Maker, parts: Subscales) -> Iterable[Estimate]:
    """Estimate the noise floor and the separable pairs from the number of items."""
    columns: list[tuple[str, Column | None, Array | None]] = [
        (column.name, column, None if parts.rates is None else parts.rates[:, j])
        for j, column in enumerate(parts.about)
    ]
    sizes = [column.items for column in parts.about]
    if len(parts.about) > 1:
        columns.append(("mean", None, parts.rates))
    for name, column, rates in columns:
        items = sum(filter(None, sizes)) if all(sizes) else None
        if column is not None:
            items = column.items
        ratio = column is not None and metric_of(column.name)[0] in ("f1", "precision", "recall")
        if rates is None or ratio or items is None:
            continue
        by = rates[:, None] if rates.ndim == 1 else rates
        own = np.array([items] if column is not None else [n or 0 for n in sizes], dtype=np.float64)
        there = np.isfinite(by).all(axis=1)
        names = [make.table.respondents[m] for m in np.flatnonzero(there).tolist()]
        by = by[there]
        x = by.mean(axis=1)
        # the variance of coin flips in the mean of the columns, each with its own number of items
        noise = (by * (1 - by) / own).sum(axis=1) / by.shape[1] ** 2
        yield make("test_retest.noise_floor", name, _floor(x, by, own), items=items)
        lower = (
            column.lower_is_better
            if column is not None
            else all(c.lower_is_better for c in parts.about)
        )
        scored = (
            x if column is not None or len({c.lower_is_better for c in parts.about}) == 1 else None
        )
        if scored is None:  # lower is better in some columns only: their mean is no rate
            continue
        differences = independent_differences(scored, np.sqrt(noise), higher_is_better=not lower)
        if differences.status != "ok":
            none = Coefficient.absent(differences.status, differences.reason)
            yield make("discriminability.separable_pairs", name, none, items=items)
            continue
        apart, pairs = differences.separable_pairs()
        ranks = {names[i]: list(span) for i, span in enumerate(differences.rank_intervals)}
        yield make(
            "discriminability.separable_pairs",
            name,
            Coefficient(apart / pairs if pairs else math.nan, n=len(x)),
            items=items,
            ranks=ranks,
            assumed="independent items: the least that the table supports",
            direction=_directions([column] if column is not None else parts.about),
        )


def _floor(x: Array, by: Array, items: Array) -> Coefficient:
    """Estimate the noise floor of the mean of columns, weighted by their items."""
    if len(set(items.tolist())) == 1:
        return noise_floor(x, int(items.sum()), strata=by if by.shape[1] > 1 else None)
    # n flips at these rates have the variance of the columns' own flips together
    flips = (by * (1 - by)).mean()
    own = (by * (1 - by) / items).sum(axis=1).mean() / by.shape[1] ** 2
    return noise_floor(
        x, max(2, round(float(flips / own))) if own > 0 else int(items.sum()), strata=by
    )
