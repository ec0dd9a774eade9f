"""The decision study: how reliable a design would be, and the cheapest design that is reliable
enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from hqm.psychometrics.generalizability import GStudy
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class DStudy:
    """Reliability of the mean score over a design.

    `g` (E rho^2) is for comparing respondents with each other, `phi` for reading the score as such.
    `universe` is the variance of the respondents' universe scores, `relative` and `absolute` are
    the error variances; their roots are standard errors in score units.
    """

    g: float
    phi: float
    universe: float
    relative: float
    absolute: float
    sizes: tuple[tuple[str, float], ...]
    fixed: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str = ""


def d_study(
    study: GStudy, sizes: Mapping[str, float] | None = None, *, fixed: Sequence[str] = ()
) -> DStudy:
    """The generalizability and dependability of a mean over so many items, runs, forms or judges.

        universe U = sum of sigma2_s / n'_s over effects of the respondent whose other facets are all fixed
        relative error = the same over effects of the respondent with a random facet
        absolute error = relative error + effects without the respondent that have a random facet
        E rho^2 = U / (U + relative),   Phi = U / (U + absolute)

    Brennan, R. L. (2001). Generalizability Theory, chapters 4 and 5.

    - `study`: Components, the object of measurement being the first facet.
    - `sizes`: Facet -> number of levels in the design; a facet not named keeps the number it had.
      Where items lie in pictures, `item` counts all items; there are as many to a picture as before
      unless `picture` is named too.
    - `fixed`: Facets whose levels are the ones of interest (types, forms), not a sample of others;
      their size is kept.

    Raises
    ------
    ValueError
        A facet is unknown, is the object of measurement, is fixed at another size, or has a size
        below 1.

    The status is `not_applicable` or worse as the study was; `degenerate` where neither universe
    nor error varies.

    >>> from hqm.psychometrics.generalizability import g_study
    >>> study = g_study([[2, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]], ["respondent", "item"])
    >>> result = d_study(study, {"item": 10})
    >>> round(result.g, 4), round(result.phi, 4)
    (0.9763, 0.8963)
    """
    target, *others = study.facets
    groups = {group: (facet, per) for facet, group, _, per in study.nested if facet != target}
    for name, size in (sizes or {}).items():
        if name not in others and name not in groups:
            raise ValueError(f"no facet {name} to change among {others}")
        if size < 1:
            raise ValueError(f"facet {name} needs 1 level or more, got {size}")
    if unknown := set(fixed) - set(others):
        raise ValueError(f"no facet {', '.join(sorted(unknown))} to fix among {others}")
    had = dict(zip(study.facets, study.sizes, strict=True))
    if changed := [name for name in fixed if (sizes or {}).get(name, had[name]) != had[name]]:
        raise ValueError(f"facet {', '.join(changed)} is fixed and keeps its levels")
    n = {name: (sizes or {}).get(name, had[name]) for name in others}
    shape = tuple(n.items())
    if study.status != "ok":
        nan = math.nan
        return DStudy(
            nan, nan, nan, nan, nan, shape, tuple(fixed), status=study.status, reason=study.reason
        )
    counts: dict[str, float] = {name: float(size) for name, size in n.items()}
    counts |= {g: float((sizes or {}).get(g, n[facet] / per)) for g, (facet, per) in groups.items()}
    held = {*fixed, *(g for g, (facet, _) in groups.items() if facet in fixed)}
    objects = {target, *(group for facet, group, _, _ in study.nested if facet == target)}
    universe = relative = absolute = 0.0
    for component in study.components:
        rest = [f for f in component.effect if f not in objects]
        part = component.value / math.prod(counts[f] for f in rest)
        chance = any(f not in held for f in rest)
        if objects & set(component.effect):
            universe += 0.0 if chance else part
            relative += part if chance else 0.0
        absolute += part if chance else 0.0
    if universe + absolute <= 0 or universe + relative <= 0:
        reason = "neither the respondents nor the errors vary"
        nan = math.nan
        return DStudy(
            nan,
            nan,
            universe,
            relative,
            absolute,
            shape,
            tuple(fixed),
            status="degenerate",
            reason=reason,
        )
    return DStudy(
        universe / (universe + relative),
        universe / (universe + absolute),
        universe,
        relative,
        absolute,
        shape,
        tuple(fixed),
        study.flags,
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """The cheapest design of a grid that reaches a target; `design` is None where none does."""

    target: float
    coefficient: str
    design: DStudy | None
    cost: float
    status: Status = "ok"
    reason: str = ""


def cheapest_designs(
    study: GStudy,
    grid: Mapping[str, Sequence[int]],
    cost: Callable[[Mapping[str, float]], float],
    *,
    targets: Sequence[float] = (0.8, 0.9, 0.95),
    coefficient: str = "phi",
    fixed: Sequence[str] = (),
) -> tuple[Plan, ...]:
    """How many items, seeds, forms or judge runs a reliability costs at least.

    Every combination of the grid is tried. Of designs of equal cost the more reliable one is taken.

    - `study`: Components from a pilot.
    - `grid`: Facet -> numbers of levels to try.
    - `cost`: Design (facet -> number) -> cost, for example `lambda d: d["item"] * d["run"] *
      0.002`.
    - `targets`: Values of the coefficient to reach.
    - `coefficient`: `phi` or `g`.

    There is one plan for each target. It is `insufficient` where the grid does not reach it, with
    the best value that it holds.

    >>> from hqm.psychometrics.generalizability import g_study
    >>> study = g_study([[2, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]], ["respondent", "item"])
    >>> plans = cheapest_designs(study, {"item": range(1, 50)}, lambda d: d["item"], targets=(0.8, 0.99))
    >>> [(plan.cost, plan.status) for plan in plans]
    [(5, 'ok'), (nan, 'insufficient')]
    """
    if coefficient not in ("phi", "g"):
        raise ValueError(f"the coefficient is phi or g, got {coefficient}")
    if study.status != "ok":
        return tuple(
            Plan(t, coefficient, None, math.nan, study.status, study.reason) for t in targets
        )
    tried = []
    for levels in product(*grid.values()):
        sizes = dict(zip(grid, levels, strict=True))
        plan = d_study(study, sizes, fixed=fixed)
        if plan.status == "ok":
            tried.append(
                (cost(dict(plan.sizes)), -(plan.phi if coefficient == "phi" else plan.g), plan)
            )
    tried.sort(key=lambda row: row[:2])
    best = max((-row[1] for row in tried), default=math.nan)
    plans = []
    for target in targets:
        hit = next((row for row in tried if -row[1] >= target), None)
        if hit is None:
            reason = f"no design of the grid reaches {target:g}; the best has {best:.4g}"
            plans.append(Plan(target, coefficient, None, math.nan, "insufficient", reason))
        else:
            plans.append(Plan(target, coefficient, hit[2], hit[0]))
    return tuple(plans)


def items_for_reliability(
    study: GStudy, target: float, *, facet: str = "item", coefficient: str = "phi"
) -> float:
    """How many levels of a facet a respondent x item design needs for a reliability, not rounded
    (Brennan 2001).

        E rho^2: n = t / (1 - t) sigma2_mi / sigma2_m,   Phi: n = t / (1 - t) (sigma2_mi + sigma2_i) / sigma2_m

    It is infinite where the respondents do not differ and NaN where the study has no components. A
    study with other facets is a ValueError: use `cheapest_designs` for it.
    """
    if len(study.facets) != 2 or facet != study.facets[1]:
        raise ValueError(
            f"a study of two facets, the second {facet}, is needed, got {list(study.facets)}"
        )
    if study.status != "ok":
        return math.nan
    who = study.component(study.facets[0]).value
    error = study.component(*study.facets).value + (
        study.component(facet).value if coefficient == "phi" else 0.0
    )
    return target / (1 - target) * error / who if who > 0 else math.inf
