"""Audit a published table of scores, when nothing behind the numbers is at hand: what can be known is, the rest says why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.auditing.cells import rows_of, score_of
from hqm.auditing.families import families_of
from hqm.errors import DataError, UsageError
from hqm.indicators.cases import number
from hqm.psychometrics import (
    Coefficient,
    bland_altman,
    check_table,
    concordance,
    cronbach_alpha,
    equivalence,
    equivalence_margin,
    family_dependence,
    icc,
    independent_differences,
    kendall_tau_b,
    leave_one_out,
    mean_shift,
    noise_floor,
    omega_t,
    pearson,
    range_restriction,
    spearman,
    split_half,
    standardized_reliability,
    stream,
    top_k_overlap,
)
from hqm.signature import digest_file, sign
from hqm.types import Estimate, Interval
from hqm.version import __version__

Array = npt.NDArray[np.float64]
_OVERALL = re.compile(r"^(overall|average|avg\.?|mean|total|all)$", re.IGNORECASE)
_LENGTH = 1000


@dataclass(frozen=True)
class Published:
    """A table of scores as it was printed.

    Parameters
    ----------
    name
        The file's name without its ending.
    respondents, columns
        The names of rows and columns.
    values
        (respondents, columns): the scores; NaN where nothing is printed.
    printed
        The same as text, trailing zeros kept: how many digits were printed matters to the consistency checks.
    scale
        What a perfect score is: 1, or 100 for per cent.
    digest
        Content hash of the file.
    """

    name: str
    respondents: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    printed: tuple[tuple[str, ...], ...]
    scale: float
    digest: str

    def column(self, name: str) -> Array:
        """One column's scores."""
        if name not in self.columns:
            raise UsageError(
                f"the table has no column {name!r}", place=self.name, remedy=f"It has {', '.join(self.columns)}."
            )
        scores: Array = self.values[:, self.columns.index(name)]
        return scores

    @property
    def overall(self) -> str | None:
        """The column that is the mean of the others, by its name."""
        return next((c for c in self.columns if _OVERALL.match(c.strip())), None)


@dataclass(frozen=True)
class TableAudit:
    """All that a published table shows of itself."""

    table: str
    respondents: tuple[str, ...]
    columns: tuple[str, ...]
    items: int | None
    estimates: tuple[Estimate, ...]
    violations: tuple[Mapping[str, str], ...]
    flags: tuple[Mapping[str, Any], ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it, in the shape of `audit.json`."""
        return {
            "benchmark": self.table, "version": "", "items": self.items, "columns": list(self.columns),
            "respondents": [{"name": name} for name in self.respondents],
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "violations": [dict(v) for v in self.violations], "flags": [dict(f) for f in self.flags], "coverage": {},
        }  # fmt: skip


def read_table(path: Path) -> Published:
    """Read a CSV: the first column names the respondent, the others are scores.

    Raises
    ------
    DataError
        The file has no scores, a cell is no number, or a respondent stands twice.
    """
    rows = [(line, row) for line, row in rows_of(path) if any(cell.strip() for cell in row)]
    if len(rows) < 2 or len(rows[0][1]) < 2:
        remedy = "Write a header, then a respondent and its scores a row."
        raise DataError("it is no table of scores", place=str(path), remedy=remedy)
    (line, head), body = rows[0], rows[1:]
    columns = tuple(cell.strip() for cell in head[1:])
    for column in columns:
        if not column or columns.count(column) > 1:
            what = f"the column {column!r} stands twice" if column else "a column has no name"
            raise DataError(what, place=f"{path}:{line}", remedy="Give every column a name of its own.")
    names = [row[0].strip() for _, row in body]
    for (line, _), name in zip(body, names, strict=True):
        if not name:
            raise DataError(
                "the respondent has no name", place=f"{path}:{line}", remedy="Write it in the first column."
            )
        if names.count(name) > 1:
            raise DataError(f"the respondent {name!r} stands twice", place=str(path), remedy="Keep one row each.")
    printed = []
    for line, row in body:
        if len(row) != len(head):
            raise DataError(f"the row has {len(row)} fields, the header {len(head)}", place=f"{path}:{line}")
        printed.append(tuple(cell.strip().rstrip("%").strip() for cell in row[1:]))
    values = np.array(
        [[score_of(cell, f"{path}:{line}") for cell in row] for (line, _), row in zip(body, printed, strict=True)]
    )
    if not np.isfinite(values).any():
        raise DataError("it has no score", place=str(path), remedy="Write the scores as numbers.")
    scale = 100.0 if np.nanmax(np.abs(values)) > 1.5 else 1.0
    return Published(path.stem, tuple(names), columns, values, tuple(printed), scale, digest_file(path))


def audit_table(
    table: Published,
    *,
    columns: tuple[str, str] | None = None,
    items: int | None = None,
    families: Mapping[str, str] | None = None,
    seed: int = 0,
) -> TableAudit:
    """Audit a published table.

    Parameters
    ----------
    columns
        Two columns that are two administrations of one benchmark; without them, the columns are subscales.
    items
        The number of items behind each score, where it is known.
    families
        Respondent -> family; the family of others is inferred from their names.
    """
    by_respondent = families_of(table.respondents, families)
    make = _Maker(table, items)
    if columns is not None:
        estimates = tuple(_two(make, table.column(columns[0]), table.column(columns[1]), columns, by_respondent))
        used: tuple[str, ...] = columns
    else:
        used = tuple(c for c in table.columns if c != table.overall)
        estimates = tuple(_subscales(make, used, by_respondent, seed))
    flags = [] if len(table.respondents) >= 20 else [_flag("FEW_MODELS", f"{len(table.respondents)} respondents")]
    dependence = family_dependence(np.nanmean(table.values, axis=1), by_respondent, stream(seed, "families"))
    if "FAMILY_DEPENDENCE" in dependence.flags:
        flags.append(
            _flag(
                "FAMILY_DEPENDENCE",
                f"scores within a family correlate {dependence.icc.value:.2f}; {len(by_respondent)} respondents count as {dependence.n_eff:.1f}",
            )
        )
    return TableAudit(table.name, table.respondents, used, items, estimates, _violations(table, items), tuple(flags))


def _flag(name: str, sentence: str) -> dict[str, str]:
    from hqm.indicators.flags import FLAGS

    return {"flag": name, "sentence": sentence, "what_to_do": FLAGS[name]}


def _violations(table: Published, items: int | None) -> tuple[Mapping[str, str], ...]:
    complete = np.flatnonzero(np.isfinite(table.values).all(axis=1)).tolist()
    checked = check_table(
        [table.respondents[i] for i in complete], table.columns, [table.printed[i] for i in complete],
        n=items, overall=table.overall, scale=int(table.scale),
    )  # fmt: skip
    return tuple(
        {"kind": v.kind, "row": v.row, "column": v.column, "printed": v.printed, "reason": v.reason}
        for v in checked.violations
    )


@dataclass(frozen=True)
class _Maker:
    """Turns coefficients into signed estimates about a table."""

    table: Published
    items: int | None

    def __call__(
        self,
        indicator: str,
        metric: str,
        coefficient: Coefficient,
        first: str = "",
        other: str = "",
        flags: Sequence[str] = (),
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
                "table": self.table.name, "data": self.table.digest, "metric": metric, "first": first, "other": other,
                "respondents": n, "items": self.items or "unknown", "statistic": indicator,
                "interval": method.replace(" ", "_") or "none", "hqm": __version__,
            }
        )  # fmt: skip
        return Estimate(
            indicator, metric, "", first, other, coefficient.value if math.isfinite(coefficient.value) else None, coefficient.status, coefficient.reason,
            spans, n, self.items or 0, 0, (*flags, *few), signature, detail,
        )  # fmt: skip


_NEEDS_ITEMS = "the answers to single items are not in the table"


def _two(make: _Maker, x: Array, y: Array, names: tuple[str, str], families: Sequence[str]) -> Iterable[Estimate]:
    """Two columns as two administrations."""
    dependence = family_dependence((x + y) / 2, families)
    n_eff = dependence.n_eff if math.isfinite(dependence.n_eff) else None
    metric, (first, other) = "score", names

    def signed(statistic: str, coefficient: Coefficient, **detail: Any) -> Estimate:
        return make(f"agreement.{statistic}", metric, coefficient, first, other, **detail)

    r = pearson(x, y, n_effective=n_eff)
    yield signed("pearson", r, n_effective=number(dependence.n_eff), **_influence(x, y))
    yield signed("spearman", spearman(x, y, n_effective=n_eff))
    yield signed("tau_b", kendall_tau_b(x, y, n_effective=n_eff))
    both = icc(np.stack([x, y], axis=1))
    yield signed("icc_a1", both.a1, sem=number(both.sem_agreement), mdc95=number(both.mdc95))
    yield signed("icc_c1", both.c1, sem=number(both.sem_consistency))
    yield signed("ccc", concordance(x, y, n_effective=n_eff).ccc)
    yield signed("mean_shift", mean_shift(x, y))
    limits = bland_altman(x, y)
    yield signed("limits_of_agreement", limits.bias, lower=number(limits.lower.value), upper=number(limits.upper.value))
    margin = equivalence_margin(x, both.mdc95)
    tested = equivalence(x, y, margin.value) if margin.status == "ok" else None
    none = Coefficient.absent(
        margin.status if tested is None else tested.status, margin.reason if tested is None else tested.reason
    )
    p = Coefficient(tested.p, n=len(x)) if tested is not None and tested.status == "ok" else none
    yield signed("equivalence", p, margin=number(margin.value))
    for k in (1, 3, 5):
        if k < len(x):
            yield signed(f"top_{k}", top_k_overlap(x, y, k), chance=k / len(x))
    restricted = range_restriction(x, lambda chosen: pearson(x[chosen], y[chosen]).value)
    yield signed(
        "pearson_top_half",
        Coefficient(restricted.observed, n=restricted.n_top)
        if restricted.status == "ok" and math.isfinite(restricted.observed)
        else Coefficient.absent("insufficient", restricted.reason or "too few respondents"),
        u=number(restricted.u),
    )
    if make.items:
        floor = noise_floor(x / make.table.scale, make.items)
        flags = (
            ("NOISE_FLOOR",)
            if floor.status == "ok" and r.status == "ok" and r.value <= floor.value + 0.5 * (1 - floor.value)
            else ()
        )
        yield signed("noise_floor", floor, flags=flags)
        yield signed(f"icc_a1_{_LENGTH}", standardized_reliability(both.a1, make.items, _LENGTH), length=_LENGTH)
    else:
        unknown = Coefficient.absent("not_applicable", "the number of items is not known: give it with --items")
        yield signed("noise_floor", unknown)
        yield signed(f"icc_a1_{_LENGTH}", unknown)
    for name in ("rho_g", "item_agreement"):
        yield signed(name, Coefficient.absent("not_applicable", _NEEDS_ITEMS))


def _influence(x: Array, y: Array) -> dict[str, Any]:
    left_out = leave_one_out(lambda chosen: pearson(x[chosen], y[chosen]).value, len(x), scores=x)
    if left_out.status != "ok":
        return {}
    return {
        "without_low": number(left_out.low),
        "without_high": number(left_out.high),
        "flags": tuple(f for f in left_out.flags if f == "DOMINANT_MODEL"),
    }


def _subscales(make: _Maker, columns: Sequence[str], families: Sequence[str], seed: int) -> Iterable[Estimate]:
    """Columns as subscales of one test."""
    table = make.table
    scores = np.stack([table.column(c) for c in columns], axis=1)
    total = scores.mean(axis=1)
    label = f"{len(columns)} columns"
    alpha = cronbach_alpha(scores)
    yield make("consistency.alpha", label, alpha.coefficient)
    yield make("consistency.omega", label, omega_t(scores, stream(seed, "table.omega"), families=list(families)))
    halves = split_half(scores, stream(seed, "table.halves"))
    yield make(
        "consistency.split_half", label,
        Coefficient(halves.mean, n=halves.n) if halves.status == "ok" else Coefficient.absent(halves.status, halves.reason, halves.n),
        minimum=number(halves.minimum), maximum=number(halves.maximum), splits=halves.splits,
    )  # fmt: skip
    restricted = range_restriction(total, lambda chosen: cronbach_alpha(scores[chosen]).coefficient.value)
    top = (
        Coefficient(restricted.observed, n=restricted.n_top)
        if restricted.status == "ok" and math.isfinite(restricted.observed)
        else Coefficient.absent("insufficient", restricted.reason or "too few respondents")
    )
    yield make("consistency.alpha_top_half", label, top, flags=restricted.flags, u=number(restricted.u))
    pairs = [(i, j) for i in range(len(columns)) for j in range(i)]
    values = [pearson(scores[:, i], scores[:, j]).value for i, j in pairs]
    known = [v for v in values if math.isfinite(v)]
    mean_r = (
        Coefficient(float(np.mean(known)), n=len(total))
        if known
        else Coefficient.absent("insufficient", "there are no two columns that vary")
    )
    matrix = {f"{columns[i]} ~ {columns[j]}": number(v) for (i, j), v in zip(pairs, values, strict=True)}
    yield make("consistency.mean_correlation", label, mean_r, correlations=matrix)
    dependence = family_dependence(total, families)
    yield make("families.icc", "mean", dependence.icc, n_effective=number(dependence.n_eff))
    if make.items:
        yield from _with_items(make, columns, scores)
    else:
        unknown = Coefficient.absent("not_applicable", "the number of items is not known: give it with --items")
        yield make("test_retest.noise_floor", label, unknown)
        yield make("discriminability.separable_pairs", label, unknown)
    for name, why in (
        ("test_retest.pearson", "the table shows one administration: name two with --columns first,other"),
        ("parallel_forms.icc_a1", "the table shows one form: name two columns with --columns first,other"),
        ("criterion.pearson", "there are no people's scores: name their column with --columns score,people"),
        ("items.discrimination", _NEEDS_ITEMS),
    ):
        yield make(name, label, Coefficient.absent("not_applicable", why))


def _with_items(make: _Maker, columns: Sequence[str], scores: Array) -> Iterable[Estimate]:
    """What the number of items behind each score adds: the floor of coin flips, and which respondents differ."""
    rates = scores / make.table.scale
    bounded = bool((rates >= 0).all() and (rates <= 1).all()) if np.isfinite(rates).all() else False
    for c, column in enumerate([*columns, "mean"]):
        x = rates.mean(axis=1) if column == "mean" else rates[:, c]
        n = (make.items or 0) * (len(columns) if column == "mean" else 1)
        if not bounded:
            yield make(
                "test_retest.noise_floor",
                column,
                Coefficient.absent("not_applicable", "the scores are no rates of right answers"),
            )
            continue
        yield make(
            "test_retest.noise_floor", column, noise_floor(x, n, strata=rates if column == "mean" else None), items=n
        )
        spread = (rates * (1 - rates)).mean(axis=1) if column == "mean" else x * (1 - x)
        errors = np.sqrt(spread / n)
        differences = independent_differences(x, errors)
        if differences.status != "ok":
            yield make(
                "discriminability.separable_pairs", column, Coefficient.absent(differences.status, differences.reason)
            )
            continue
        apart, pairs = differences.separable_pairs(adjust=True)
        ranks = {make.table.respondents[i]: list(span) for i, span in enumerate(differences.rank_intervals)}
        yield make(
            "discriminability.separable_pairs", column, Coefficient(apart / pairs if pairs else math.nan, n=len(x)),
            ranks=ranks, assumed="independent items: the least that the table supports", items=n,
        )  # fmt: skip
