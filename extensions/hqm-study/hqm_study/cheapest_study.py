"""The cheapest study that reaches all targets, from the components that an audit holds, and its
answer in one sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.study_records import read_components
from hqm.comparison.prices import PriceList, UnitPrices, read_prices, unit_prices
from hqm.errors import DesignError, UsageError
from hqm.psychometrics.variance.study_forecast import (
    MIN_FORMS,
    StudySize,
    effective_respondents,
    forecast_interval,
)
from hqm.psychometrics.variance.study_variance import StudyComponents, study_variance_components
from hqm.types import Cell, finite
from hqm_study.design_space import (
    AXES,
    FREE,
    MIN_RESPONDENTS,
    CurvePoint,
    Forecast,
    PlannedStudy,
    Space,
    Studies,
    StudyDesign,
    Target,
    amount,
    parse_targets,
)

_MEASURE_COMMANDS = {
    "runs": (
        "no second run was asked, so that the noise of runs is not known: ask one with `hqm audit"
        " NAME --runs 2`"
    ),
    "forms": (
        "no second wording of the same questions was asked (a negation is none), so that the part"
        " of wordings is not known: ask one with `hqm audit NAME --forms original,parallel2`"
    ),
    "labels": (
        "nobody labelled answers, so that the part of labels is not known: plan them with `hqm"
        " label plan`"
    ),
    "judges": (
        "no judge was asked twice about the same answers: ask it again with `hqm audit NAME"
        " --set rejudge=2`"
    ),
}


def may_vary(
    components: StudyComponents, targets: Sequence[Target], prices: UnitPrices
) -> frozenset[str]:
    """What a design may vary: all that the audit has measured; labels and respondents where a
    target is about them.
    """
    needs: set[str] = set()
    for target in targets:
        needs.update(target.precision.needs)
    varied = {"pictures", "items"}
    if components.runs > 1:
        varied.add("runs")
    if components.forms > 1:
        varied.add("forms")
    if components.judge is not None:
        varied.add("judges")
    if "labels" in needs and prices.label is not None:
        varied.add("labels")
    if "others" in needs:
        varied.add("respondents")
    return frozenset(varied)


def check_measured(
    benchmark: str,
    components: StudyComponents,
    types: Mapping[str, StudyComponents],
    targets: Sequence[Target],
    prices: UnitPrices,
    free: Sequence[str],
) -> None:
    """Refuse targets and axes that the audit has not measured."""

    if unknown := [name for name in free if name not in FREE]:
        raise UsageError(
            f"--free does not know {unknown[0]!r}",
            remedy=f"It knows {', '.join(FREE)}.",
            name=unknown[0],
            choices=FREE,
        )
    if components.status != "ok":
        raise _no_design(
            benchmark, components.reason, "Audit more respondents or more pictures first."
        )
    _check_requirements(benchmark, components, targets, free)
    if "labels" in free and prices.label is None:
        raise UsageError(
            "labels may vary and have no price",
            remedy="Give minutes and hour under [labels] in prices.toml.",
        )
    _check_respondents(benchmark, components, targets)
    for target in targets:
        if target.kind:
            _check_type(benchmark, target, types)


def _no_design(benchmark: str, reason: str, remedy: str = "") -> DesignError:
    return DesignError(f"no design of {benchmark}: {reason}", remedy=remedy)


def _check_requirements(
    benchmark: str, components: StudyComponents, targets: Sequence[Target], free: Sequence[str]
) -> None:
    """Refuse targets, and things that may vary, of which the audit has measured no variance."""
    measured = {
        "runs": components.runs > 1,
        "forms": components.forms > 1,
        "judges": components.judge is not None,
        "labels": components.labels is not None,
    }
    requirements = [(str(t), need) for t in targets for need in t.precision.needs] + [
        (f"--free {n}", n) for n in free
    ]
    for requirement, need in requirements:
        if not measured.get(need, True):
            reason, _, remedy = _MEASURE_COMMANDS[need].partition(": ")
            raise _no_design(
                benchmark,
                f"{requirement} cannot be forecast, because {reason}",
                f"{remedy[:1].upper()}{remedy[1:]}.",
            )


def _check_respondents(
    benchmark: str, components: StudyComponents, targets: Sequence[Target]
) -> None:
    """Refuse targets about respondents where these are too few, related or alike."""
    if any("others" in t.precision.needs for t in targets):
        if 1 == components.families < components.respondents:
            reason = "all respondents are of one family, which says nothing of others"
            raise _no_design(benchmark, reason)
        n_effective = effective_respondents(components)
        if n_effective < MIN_RESPONDENTS:
            raise _no_design(
                benchmark,
                f"{n_effective:.1f} independent respondents say too little of others;"
                f" {MIN_RESPONDENTS} are needed",
            )
    respondent_figures = ("rho_g", "g", "phi", "forms", "rho_g_half_width")
    if components.respondent_variance <= 0 and (
        blocked_target := next((t for t in targets if t.figure in respondent_figures), None)
    ):
        raise _no_design(
            benchmark,
            f"{blocked_target} cannot be forecast, because the respondents do not differ beyond"
            " chance",
        )


def _check_type(benchmark: str, target: Target, types: Mapping[str, StudyComponents]) -> None:
    if target.kind not in types:
        type_names = ", ".join(types) or "none"
        raise UsageError(
            f"{benchmark} has no hallucination type {target.kind!r}",
            remedy=f"It has {type_names}.",
            name=target.kind,
            choices=tuple(types),
        )
    type_components = types[target.kind]
    if type_components.status != "ok":
        raise DesignError(
            f"no design of {benchmark}: of {target.kind}, {type_components.reason}",
            remedy="Leave this target out.",
        )


_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
_NOTABLE = 0.005


def advice_sentence(study_design: StudyDesign) -> str:
    """The advice: what to change about the audited study, and what that saves against changing the
    number of pictures alone.
    """
    changes = _design_changes(study_design.now, study_design.cheapest)
    unchanged = _unchanged_axes(study_design)
    advice = "Keep the study as it is"
    reached = "It reaches"
    if changes:
        advice = _join_words(changes)
        reached = "This reaches"
    if changes and unchanged:
        advice = f"{advice}, not {unchanged}"
    advice = advice[:1].upper() + advice[1:]
    targets = _join_words(list(study_design.targets))
    cost = amount(study_design.cheapest.cost, study_design.unit)
    if study_design.same is None:
        return f"{advice}. {reached} {targets} for {cost}; pictures alone never do."
    saving = study_design.saving or 0.0
    if saving < _NOTABLE:
        return f"{advice}. {reached} {targets} for {cost}; no other mix is cheaper."
    alternative = "the same study with fewer pictures"
    if study_design.same.pictures >= study_design.now.pictures:
        alternative = "more pictures alone"
    return (
        f"{advice}: {saving:.0%} cheaper than {alternative} ({cost} against"
        f" {amount(study_design.same.cost, study_design.unit)}), to reach {targets}."
    )


def _design_changes(audited: PlannedStudy, best: PlannedStudy) -> list[str]:
    changes = []
    if best.pictures != audited.pictures:
        n_added = best.pictures - audited.pictures
        changes.append(_added(n_added, "picture"))
    for kind, n in best.extra.items():
        if n:
            changes.append(f"{_added(n, 'picture')} of {kind}")
    if best.items != audited.items:
        changes.append(
            f"{_count_phrase(best.items, 'item')} a picture instead of {audited.items:g}"
        )
    if best.forms == audited.forms + 1:
        changes.append(f"a {_ORDINALS.get(best.forms, 'further')} wording")
    elif best.forms > audited.forms:
        changes.append(f"{best.forms - audited.forms} more wordings")
    elif best.forms < audited.forms:
        changes.append(f"{_count(best.forms, 'wording')} instead of {audited.forms}")
    if best.runs != audited.runs:
        changes.append(f"{_count(best.runs, 'run')} instead of {audited.runs}")
    if best.askings != audited.askings:
        changes.append(
            f"the judge asked {_times(best.askings)} instead of {_times(audited.askings)}"
        )
    if best.labels != audited.labels:
        changes.append(f"{best.labels:,} labels a respondent")
    if best.respondents != audited.respondents:
        n_added = best.respondents - audited.respondents
        changes.append(_added(n_added, "respondent"))
    return changes


def _added(n_added: int, noun: str) -> str:
    more_or_fewer = "more" if n_added > 0 else "fewer"
    plural = "" if abs(n_added) == 1 else "s"
    return f"{abs(n_added):,} {more_or_fewer} {noun}{plural}"


def _unchanged_axes(study_design: StudyDesign) -> str:
    """The axes that were free to vary and stay as audited, in words."""
    cheapest = study_design.cheapest
    audited = study_design.now
    phrases = []
    if "runs" in study_design.free and cheapest.runs == audited.runs:
        phrases.append("more runs")
    if "forms" in study_design.free and cheapest.forms == audited.forms:
        phrases.append("more wordings")
    return " or ".join(phrases)


def _count(n: int, word: str) -> str:
    return f"one {word}" if n == 1 else f"{n} {word}s"


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _join_words(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_CURVE_POINTS = 25
_CURVE_COST_FACTOR = 8
"""The curve reaches from an eighth of the answer's cost to eight times of it."""
_MAX_CANDIDATES = 30


def design(
    audit: Audit | BenchmarkAudit | Path | str,
    *,
    targets: Sequence[str | Target],
    prices: PriceList | Path | str | None = None,
    free: Sequence[str] = (),
    benchmark: str | None = None,
    metric: str | None = None,
) -> StudyDesign:
    """Find the cheapest study that reaches all targets, from what an audit measured.

    The audit's variance components say how precise a study of any other size would be (Brennan
    2001, Generalizability Theory, chapters 4 and 7); every size within reach is priced, and the
    cheapest that reaches all targets is taken.

    Parameters
    ----------
    audit
        An audit, or the path of an `audit.json`.
    targets
        Such as `"mdd<=.02"`, `"rho_g>=.95"`, `"sem[counting]<=.03"`; docs/design.md lists the
        figures.
    prices
        A `prices.toml`, or what `read_prices` made of it. What it does not say comes from the
        audit's record: tokens and seconds of the store, prices in respondents' names, seconds of
        labels. Without any price, answers are counted.
    free
        What may vary: `items` (in a picture), `pictures`, `runs`, `forms`, `judges`, `labels`,
        `respondents`; everything that was measured unless given.
    benchmark, metric
        Which of the audit's, where it has several; the first metric unless given.

    Returns
    -------
    StudyDesign
        The cheapest size of a study and what it reaches, with those beside it.

    Raises
    ------
    DesignError
        A target is out of reach (the component in the way and the best that can be reached are
        named), or the audit has not measured what it needs.
    UsageError
        A target, a name or `free` cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> right = rng.random((8, 240, 1, 2)) < np.linspace(0.4, 0.9, 8)[:, None, None, None]
    >>> answer = design_of_scores(right, targets=["mdd<=.08"], pictures=np.repeat(np.arange(60), 4))
    >>> answer.cheapest.runs, answer.cheapest.reaches_targets
    (1, True)
    """
    loaded = audit if isinstance(audit, (Audit, BenchmarkAudit)) else Audit.load(Path(audit))
    record: Mapping[str, Any] = loaded.record if isinstance(loaded, Audit) else {}
    benchmark_audit = _benchmark(
        loaded.audits if isinstance(loaded, Audit) else (loaded,), benchmark
    )
    name = _metric(benchmark_audit, metric)
    if name not in benchmark_audit.components:
        raise DesignError(
            f"the audit of {benchmark_audit.benchmark} holds no variance components",
            remedy=(
                f"Make it again with `hqm audit {benchmark_audit.benchmark}`: it was written by an"
                " earlier version."
            ),
        )
    components, types = read_components(benchmark_audit.components[name])
    judged = Cell.parse(benchmark_audit.reference).judge not in ("rule", "human")
    price_list = read_prices(prices) if isinstance(prices, (Path, str)) else prices
    costs = record.get("costs", {}).get(benchmark_audit.benchmark, {})
    unit = unit_prices(
        price_list, costs, [row.name for row in benchmark_audit.respondents], judged=judged
    )
    study_design = _find_cheapest(
        benchmark_audit.benchmark,
        name,
        components,
        types,
        parse_targets(targets),
        unit,
        tuple(free),
        judged,
    )
    wording_notes = [
        f"a mean that generalises to other wordings (Phi of at least {estimate.detail['goal']:g}, as"
        f" the gate asks) takes {estimate.detail['wordings_needed']} of them"
        for estimate in benchmark_audit.all_estimates
        if (estimate.indicator, estimate.metric) == ("parallel_forms.phi_of_forms", name)
        and estimate.detail.get("wordings_needed")
    ]
    return replace(study_design, notes=(*study_design.notes, *wording_notes))


def design_of_scores(
    scores: npt.ArrayLike,
    *,
    targets: Sequence[str | Target],
    pictures: npt.ArrayLike | None = None,
    families: npt.ArrayLike | None = None,
    types: npt.ArrayLike | None = None,
    prices: PriceList | Path | str | None = None,
    free: Sequence[str] = (),
) -> StudyDesign:
    """Find the cheapest study from a plain array of item scores, without an audit.

    Parameters
    ----------
    scores
        (respondents, items, forms, runs): NaN where there is none.
    pictures, types, families
        (items,), (items,), (respondents,): labels.
    targets, prices, free
        As in `design`.

    Returns
    -------
    StudyDesign
        As `design` gives it.
    """
    x = np.asarray(scores, dtype=np.float64)
    components = study_variance_components(x, pictures, families)
    picture_labels = np.arange(x.shape[1]) if pictures is None else np.asarray(pictures)
    kinds = np.asarray([]) if types is None else np.asarray(types)
    components_by_type = {
        str(k): study_variance_components(
            x[:, kinds == k], picture_labels[kinds == k], jackknife=False
        )
        for k in np.unique(kinds)
    }
    price_list = read_prices(prices) if isinstance(prices, (Path, str)) else prices
    unit = unit_prices(price_list, {}, [str(i) for i in range(len(x))], judged=False)
    return _find_cheapest(
        "scores",
        "score",
        components,
        components_by_type,
        parse_targets(targets),
        unit,
        tuple(free),
        judged=False,
    )


def _benchmark(audits: Sequence[BenchmarkAudit], name: str | None) -> BenchmarkAudit:
    names = [audit.benchmark for audit in audits]
    if name is None and len(audits) > 1:
        raise UsageError(
            "the audit has several benchmarks",
            remedy=f"Name one with --benchmark: {', '.join(names)}.",
        )
    if name is not None and name not in names:
        raise UsageError(
            f"the audit has no benchmark {name!r}",
            remedy=f"It has {', '.join(names)}.",
            name=name,
            choices=names,
        )
    return next(audit for audit in audits if name in (None, audit.benchmark))


def _metric(audit: BenchmarkAudit, name: str | None) -> str:
    metric_names = list(audit.metrics)
    if name is not None and name not in metric_names:
        raise UsageError(
            f"the audit of {audit.benchmark} has no metric {name!r}",
            remedy=f"It has {', '.join(metric_names)}.",
            name=name,
            choices=metric_names,
        )
    return name or metric_names[0]


def _find_cheapest(
    benchmark: str,
    metric: str,
    components: StudyComponents,
    types: Mapping[str, StudyComponents],
    targets: tuple[Target, ...],
    prices: UnitPrices,
    free: tuple[str, ...],
    judged: bool,
) -> StudyDesign:
    """The answer, or the reason why there is none."""
    check_measured(benchmark, components, types, targets, prices, free)
    varied = frozenset(free) if free else may_vary(components, targets, prices)
    space = Space(components, types, targets, prices, varied, judged)
    studies = space.grid()
    reaches_targets = space.reached(studies)
    if not reaches_targets.any():
        raise _out_of_reach(space, studies)
    best = _cheapest_studies(space, studies, reaches_targets)
    audited_space = replace(space, free=frozenset())
    # where a picture has one item, more pictures are more items
    picture_axes = {"pictures", "items"} if components.per_picture == 1 else {"pictures"}
    picture_space = replace(space, free=frozenset(picture_axes), adds_type_pictures=False)
    audited_study = _planned_study(
        audited_space,
        audited_space.price_studies({axis: np.array([v]) for axis, v in space.audited.items()}),
        0,
        "as audited",
    )
    cheapest = _planned_study(space, best, 0, "cheapest")
    picture_study = _picture_study(picture_space, audited_study)
    saving = None
    if picture_study is not None and picture_study.cost > 0:
        saving = 1 - cheapest.cost / picture_study.cost
    curve_of = next((t for t in targets if not t.kind), targets[0])
    study_design = StudyDesign(
        benchmark=benchmark,
        metric=metric,
        targets=tuple(map(str, targets)),
        free=tuple(name for name in FREE if name in varied),
        sentence="",
        unit=prices.unit,
        now=audited_study,
        cheapest=cheapest,
        same=picture_study,
        saving=saving,
        steps=_design_steps(space, audited_study, best),
        further=_marginal_studies(space, best),
        curve=_curve(
            replace(space, adds_type_pictures=False), picture_space, curve_of, cheapest.cost
        ),
        curve_of=curve_of.name,
        notes=_design_notes(components, targets, prices),
    )
    return replace(study_design, sentence=advice_sentence(study_design))


def _picture_study(picture_space: Space, audited: PlannedStudy) -> PlannedStudy | None:
    """The cheapest study that changes the number of pictures alone; None where none suffices."""
    studies = picture_space.grid()
    reached = picture_space.reached(studies)
    if not reached.any():
        return None
    best = _cheapest_studies(picture_space, studies, reached)
    study = _planned_study(picture_space, best, 0, "more pictures alone")
    if study.pictures < audited.pictures:
        study = replace(study, what="fewer pictures alone")
    return study


def _cheapest_studies(space: Space, studies: Studies, good: npt.NDArray[np.bool_]) -> Studies:
    """The cheapest study, its pictures counted exactly: of each mix that reaches the targets the
    smallest is sought.
    """
    sizes = {axis: np.asarray(getattr(studies.size, axis), dtype=np.float64) for axis in AXES}
    order = np.lexsort((studies.answers, studies.cost))
    order = order[good[order]]
    candidates: dict[tuple[float, ...], int] = {}
    for index in order.tolist():
        mix = tuple(float(sizes[axis][index]) for axis in AXES[1:])
        if mix not in candidates:
            candidates[mix] = index
        if len(candidates) == _MAX_CANDIDATES:
            break
    pictures = np.unique(sizes["pictures"])
    grids = []
    for mix, index in candidates.items():
        high = int(sizes["pictures"][index])
        smaller_sizes = pictures[pictures < high]
        low = int(smaller_sizes[-1]) if len(smaller_sizes) else high
        picture_counts = np.unique(np.linspace(low, high, min(high - low, 400) + 1).round())
        grid = np.empty((len(AXES), len(picture_counts)))
        grid[0] = picture_counts
        grid[1:] = np.array(mix)[:, None]
        grids.append(grid)
    exact = space.price_studies(dict(zip(AXES, np.hstack(grids), strict=True)))
    reaching = np.flatnonzero(space.reached(exact))
    cheapest = reaching[np.lexsort((exact.answers[reaching], exact.cost[reaching]))[0]]
    return _select_studies(exact, cheapest)


def _select_studies(studies: Studies, index: Any) -> Studies:
    rows = np.atleast_1d(index)
    size = StudySize(
        **{name: np.asarray(getattr(studies.size, name))[rows] for name in (*AXES, "labels")}
    )
    extra = {kind: values[rows] for kind, values in studies.extra.items()}
    return Studies(size, extra, studies.cost[rows], studies.answers[rows])


def _planned_study(space: Space, studies: Studies, index: int, label: str) -> PlannedStudy:
    """One of the studies, with its forecasts and their intervals."""
    study = _select_studies(studies, index)
    size = {name: float(np.asarray(getattr(study.size, name))[0]) for name in (*AXES, "labels")}
    forecasts = []
    for target in space.targets:
        value = float(space.values(target, study)[0])
        forecast = Forecast(target=str(target), value=value)
        if not target.kind:
            low, high = forecast_interval(space.components, target.figure, StudySize(**size))
            if math.isfinite(low):
                forecast = replace(forecast, low=low, high=high)
        forecasts.append(forecast)
    return PlannedStudy(
        what=label,
        pictures=round(size["pictures"]),
        items=size["items"],
        forms=round(size["forms"]),
        runs=round(size["runs"]),
        askings=round(size["askings"]),
        respondents=round(size["respondents"]),
        labels=round(size["labels"]) if math.isfinite(size["labels"]) else 0,
        extra={kind: round(float(values[0])) for kind, values in study.extra.items()},
        answers=round(float(study.answers[0])),
        cost=float(study.cost[0]),
        forecasts=tuple(forecasts),
    )


def _design_steps(space: Space, audited: PlannedStudy, best: Studies) -> tuple[PlannedStudy, ...]:
    """From the audited study to the cheapest, one change at a time: first what saves, last the
    pictures.
    """
    words = {
        "runs": "run",
        "askings": "asking",
        "items": "item a picture",
        "forms": "wording",
        "respondents": "respondent",
        "pictures": "picture",
    }
    sizes = dict(space.audited)
    end = {axis: float(np.asarray(getattr(best.size, axis))[0]) for axis in AXES}
    changed = [axis for axis in words if sizes[axis] != end[axis]]
    rows = []
    for axis in changed[:-1]:
        sizes[axis] = end[axis]
        step = replace(space, free=space.free - {"pictures", "labels"})
        studies = step.price_studies({name: np.array([value]) for name, value in sizes.items()})
        noun, _, unit = words[axis].partition(" ")
        label = f"then {_count_phrase(end[axis], noun)} {unit}".rstrip()
        rows.append(_planned_study(step, studies, 0, label))
    return (*rows, _planned_study(space, best, 0, "cheapest"))


def _marginal_studies(space: Space, best: Studies) -> tuple[PlannedStudy, ...]:
    """The cheapest study with one unit more of each axis that may vary."""
    end = {axis: float(np.asarray(getattr(best.size, axis))[0]) for axis in AXES}
    choices, rows = space.choices(), []
    fixed = replace(space, free=space.free - {"pictures", "labels"})
    for axis, word, increment in (
        ("pictures", "10 % more pictures", max(1.0, math.ceil(0.1 * end["pictures"]))),
        ("items", "one more item a picture", 1.0),
        ("forms", "one more wording", 1.0),
        ("runs", "one more run", 1.0),
        ("askings", "one more asking", 1.0),
        ("respondents", "one more respondent", 1.0),
    ):
        if len(choices[axis]) < 2:
            continue
        sizes = {
            name: np.array([value + increment * (name == axis)]) for name, value in end.items()
        }
        rows.append(_planned_study(fixed, fixed.price_studies(sizes, best.extra), 0, f"… {word}"))
    return tuple(rows)


def _curve(
    space: Space, picture_space: Space, target: Target, cost: float
) -> tuple[CurvePoint, ...]:
    """The best that each budget buys: among all studies, and among those with more pictures
    alone.
    """
    studies, picture_studies = space.grid(), picture_space.grid()
    sign = 1.0 if target.precision.higher else -1.0

    def best(best_space: Space, among: Studies, budget: float) -> float:
        affordable = among.cost <= budget * (1 + 1e-9)
        values = sign * best_space.values(target, among)[affordable]
        return sign * float(np.nanmax(values)) if values.size else math.nan

    costs = studies.cost[np.isfinite(studies.cost) & (studies.cost > 0)]
    if not costs.size or cost <= 0:
        return ()
    points = []
    ends = (
        max(float(costs.min()), cost / _CURVE_COST_FACTOR),
        min(float(costs.max()), cost * _CURVE_COST_FACTOR),
    )
    for budget in np.geomspace(*ends, _CURVE_POINTS).tolist():
        best_value = best(space, studies, budget)
        picture_value = best(picture_space, picture_studies, budget)
        if math.isfinite(best_value):
            points.append(CurvePoint(cost=budget, best=best_value, same=finite(picture_value)))
    return tuple(points)


def _design_notes(
    components: StudyComponents, targets: Sequence[Target], prices: UnitPrices
) -> tuple[str, ...]:
    notes = list(prices.sources)
    if components.forms == 1:
        notes.append(
            "one wording was asked (a negation is none): nothing is said of other wordings"
        )
    elif any(t.figure in ("g", "phi", "forms") for t in targets) and components.forms < MIN_FORMS:
        df = (components.forms - 1) * (components.respondents - 1)
        notes.append(
            f"what wordings do to single respondents is known from {components.forms} wordings"
            f" ({df} degrees of freedom)"
        )
    if components.runs == 1:
        notes.append(
            "one run was asked: its noise is counted among that of items, and runs cannot vary"
        )
    if all(t.figure in ("rho_g", "forms") for t in targets):
        notes.append(
            "these targets say nothing of other pictures: add mdd, sem or g where other pictures"
            " matter"
        )
    if components.per_picture == 1:
        notes.append(
            "each picture has one item, so that items a picture cannot vary; an item without a"
            " picture counts as a picture"
        )
    return tuple(notes)


def _out_of_reach(space: Space, studies: Studies) -> DesignError:
    """Which target no study reaches, what the best would be, and the component that is in the
    way.
    """
    for target in space.targets:
        values = space.values(target, studies)
        best = int(np.nanargmax(values if target.precision.higher else -values))
        if target.is_reached_by(float(values[best])):
            continue
        effect, share = space.largest_component(target, studies, best)
        row = _planned_study(space, studies, best, "")
        unchanged = [name for name in space.reducing_axes(effect) if name not in space.free]
        size = ", ".join(
            [
                f"{row.pictures:,} pictures of {_count_phrase(row.items, 'item')}",
                _count_phrase(row.forms, "wording"),
                _count_phrase(row.runs, "run"),
            ]
        )
        effect_name = " x ".join(effect)
        return DesignError(
            f"{target} is out of reach: the best is {values[best]:.4g}, with {size}; the main"
            f" cause is {effect_name} ({share:.0%} of the error)",
            remedy=(
                f"Let {' and '.join(unchanged)} vary (--free), or ask for less."
                if unchanged
                else "Ask for less, or allow more under [most] in prices.toml."
            ),
        )
    return DesignError(
        f"each of {', '.join(map(str, space.targets))} can be reached, but no study reaches them"
        " together",
        remedy="Ask for less of one of them, or allow more under [most] in prices.toml.",
    )


def _count_phrase(count: float, word: str) -> str:
    return f"{count:g} {word}" if count == 1 else f"{count:g} {word}s"
