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
from hqm.auditing.study_records import parts_in
from hqm.decisions.design_space import (
    AXES,
    FEWEST_OTHERS,
    FREE,
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
from hqm.decisions.prices import PriceList, UnitPrices, read_prices, unit_prices
from hqm.errors import DesignError, UsageError
from hqm.psychometrics.study_forecast import FEWEST_FORMS, StudySize, forecast_bounds, independent
from hqm.psychometrics.study_variance import StudyParts, study_parts
from hqm.types import Cell

_MEASURED_WITH = {
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


def may_vary(parts: StudyParts, targets: Sequence[Target], prices: UnitPrices) -> frozenset[str]:
    """What a design may vary: all that the audit has measured; labels and respondents where a
    target is about them.
    """
    varied = {"pictures", "items"}
    varied |= {"runs"} if parts.runs > 1 else set()
    varied |= {"forms"} if parts.forms > 1 else set()
    varied |= {"judges"} if parts.judge is not None else set()
    needs = {need for target in targets for need in target.precision.needs}
    varied |= {"labels"} if "labels" in needs and prices.label is not None else set()
    return frozenset(varied | ({"respondents"} if "others" in needs else set()))


def check_measured(
    benchmark: str,
    parts: StudyParts,
    types: Mapping[str, StudyParts],
    targets: Sequence[Target],
    prices: UnitPrices,
    free: Sequence[str],
) -> None:
    """Refuse what the audit says nothing about."""

    def refuse(what: str, remedy: str = "") -> None:
        raise DesignError(f"no design of {benchmark}: {what}", remedy=remedy)

    if unknown := [name for name in free if name not in FREE]:
        raise UsageError(
            f"--free does not know {unknown[0]!r}",
            remedy=f"It knows {', '.join(FREE)}.",
            name=unknown[0],
            choices=FREE,
        )
    if parts.status != "ok":
        refuse(parts.reason, "Audit more respondents or more pictures first.")
    measured = {
        "runs": parts.runs > 1,
        "forms": parts.forms > 1,
        "judges": parts.judge is not None,
        "labels": parts.labels is not None,
    }
    needed = [(str(t), need) for t in targets for need in t.precision.needs] + [
        (f"--free {n}", n) for n in free
    ]
    for what, need in needed:
        if not measured.get(need, True):
            reason, _, remedy = _MEASURED_WITH[need].partition(": ")
            refuse(
                f"{what} cannot be forecast, because {reason}", f"{remedy[:1].upper()}{remedy[1:]}."
            )
    if "labels" in free and prices.label is None:
        raise UsageError(
            "labels may vary and have no price",
            remedy="Give minutes and hour under [labels] in prices.toml.",
        )
    if any("others" in t.precision.needs for t in targets):
        if 1 == parts.families < parts.respondents:
            refuse("all respondents are of one family, which says nothing of others")
        if independent(parts) < FEWEST_OTHERS:
            refuse(
                f"{independent(parts):.1f} independent respondents say too little of others;"
                f" {FEWEST_OTHERS} are needed"
            )
    between = ("rho_g", "g", "phi", "forms", "rho_g_half_width")
    if parts.between <= 0 and (about := next((t for t in targets if t.figure in between), None)):
        refuse(f"{about} cannot be forecast, because the respondents do not differ beyond chance")
    for target in targets:
        if target.kind:
            _check_type(benchmark, target, types)


def _check_type(benchmark: str, target: Target, types: Mapping[str, StudyParts]) -> None:
    if target.kind not in types:
        known = ", ".join(types) or "none"
        raise UsageError(
            f"{benchmark} has no hallucination type {target.kind!r}",
            remedy=f"It has {known}.",
            name=target.kind,
            choices=tuple(types),
        )
    own = types[target.kind]
    if own.status != "ok":
        raise DesignError(
            f"no design of {benchmark}: of {target.kind}, {own.reason}",
            remedy="Leave this target out.",
        )


_ORDINALS = {2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}
_NOTABLE = 0.005


def sentence_of(made: StudyDesign) -> str:
    """What to change about the audited study, and what it saves against changing the number of
    pictures alone.
    """
    changes = _changes(made.now, made.cheapest)
    unchanged = _kept(made)
    what = _listed(changes) if changes else "Keep the study as it is"
    if changes and unchanged:
        what = f"{what}, not {unchanged}"
    what = what[:1].upper() + what[1:]
    targets = _listed(list(made.targets))
    reached = "It reaches" if not changes else "This reaches"
    cost = amount(made.cheapest.cost, made.unit)
    if made.same is None:
        return f"{what}. {reached} {targets} for {cost}; pictures alone never do."
    saving = made.saving or 0.0
    if saving < _NOTABLE:
        return f"{what}. {reached} {targets} for {cost}; no other mix is cheaper."
    alone = (
        "more pictures alone"
        if made.same.pictures >= made.now.pictures
        else "the same study with fewer pictures"
    )
    return (
        f"{what}: {saving:.0%} cheaper than {alone} ({cost} against"
        f" {amount(made.same.cost, made.unit)}), to reach {targets}."
    )


def _changes(now: PlannedStudy, best: PlannedStudy) -> list[str]:
    changes = []
    gap = best.pictures - now.pictures
    if gap:
        changes.append(f"{abs(gap):,} {'more' if gap > 0 else 'fewer'} pictures")
    changes += [f"{n:,} more pictures of {kind}" for kind, n in best.extra.items() if n]
    if best.items != now.items:
        changes.append(
            f"{best.items:g} {'item' if best.items == 1 else 'items'} a picture instead of"
            f" {now.items:g}"
        )
    if best.forms > now.forms:
        more = best.forms - now.forms
        changes.append(
            f"a {_ORDINALS.get(best.forms, 'further')} wording"
            if more == 1
            else f"{more} more wordings"
        )
    elif best.forms < now.forms:
        changes.append(f"{_count(best.forms, 'wording')} instead of {now.forms}")
    if best.runs != now.runs:
        changes.append(f"{_count(best.runs, 'run')} instead of {now.runs}")
    if best.askings != now.askings:
        changes.append(f"the judge asked {_times(best.askings)} instead of {_times(now.askings)}")
    if best.labels != now.labels:
        changes.append(f"{best.labels:,} labels a respondent")
    if best.respondents != now.respondents:
        gap = best.respondents - now.respondents
        changes.append(f"{abs(gap)} {'more' if gap > 0 else 'fewer'} respondents")
    return changes


def _kept(made: StudyDesign) -> str:
    """What more of would not pay, of what was free to vary."""
    unchanged = [
        word
        for name, axis, word in (("runs", "runs", "more runs"), ("forms", "forms", "more wordings"))
        if name in made.free and getattr(made.cheapest, axis) == getattr(made.now, axis)
    ]
    return " or ".join(unchanged)


def _count(n: int, word: str) -> str:
    return f"one {word}" if n == 1 else f"{n} {word}s"


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


_POINTS = 25
_SPAN = 8
"""The curve reaches from an eighth of the answer's cost to eight times of it."""
_CANDIDATES = 30


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
    >>> answer.cheapest.runs, answer.cheapest.met
    (1, True)
    """
    whole = audit if isinstance(audit, (Audit, BenchmarkAudit)) else Audit.load(Path(audit))
    record: Mapping[str, Any] = whole.record if isinstance(whole, Audit) else {}
    chosen = _benchmark(whole.audits if isinstance(whole, Audit) else (whole,), benchmark)
    name = _metric(chosen, metric)
    if name not in chosen.components:
        raise DesignError(
            f"the audit of {chosen.benchmark} holds no variance components",
            remedy=(
                f"Make it again with `hqm audit {chosen.benchmark}`: it was written by an earlier"
                " version."
            ),
        )
    parts, types = parts_in(chosen.components[name])
    judged = Cell.parse(chosen.reference).judge not in ("rule", "human")
    listed = read_prices(prices) if isinstance(prices, (Path, str)) else prices
    costs = record.get("costs", {}).get(chosen.benchmark, {})
    each = unit_prices(listed, costs, [row.name for row in chosen.respondents], judged=judged)
    made = _designed(
        chosen.benchmark, name, parts, types, parse_targets(targets), each, tuple(free), judged
    )
    needed = [
        f"a mean that stands for other wordings (Phi of at least {each.detail['goal']:g}, as the"
        f" gate asks) takes {each.detail['wordings_needed']} of them"
        for each in chosen.all_estimates
        if (each.indicator, each.metric) == ("parallel_forms.phi_of_forms", name)
        and each.detail.get("wordings_needed")
    ]
    return replace(made, notes=(*made.notes, *needed))


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
    """`design` on a plain array of item scores, without an audit.

    Parameters
    ----------
    scores
        (respondents, items, forms, runs): NaN where there is none.
    pictures, types, families
        (items,), (items,), (respondents,): labels.
    targets, prices, free
        As in `design`.
    """
    x = np.asarray(scores, dtype=np.float64)
    parts = study_parts(x, pictures, families)
    where = np.arange(x.shape[1]) if pictures is None else np.asarray(pictures)
    kinds = np.asarray([]) if types is None else np.asarray(types)
    own = {
        str(k): study_parts(x[:, kinds == k], where[kinds == k], jackknife=False)
        for k in np.unique(kinds)
    }
    listed = read_prices(prices) if isinstance(prices, (Path, str)) else prices
    each = unit_prices(listed, {}, [str(i) for i in range(len(x))], judged=False)
    return _designed(
        "scores", "score", parts, own, parse_targets(targets), each, tuple(free), judged=False
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
    known = list(audit.metrics)
    if name is not None and name not in known:
        raise UsageError(
            f"the audit of {audit.benchmark} has no metric {name!r}",
            remedy=f"It has {', '.join(known)}.",
            name=name,
            choices=known,
        )
    return name or known[0]


def _designed(
    benchmark: str,
    metric: str,
    parts: StudyParts,
    types: Mapping[str, StudyParts],
    targets: tuple[Target, ...],
    prices: UnitPrices,
    free: tuple[str, ...],
    judged: bool,
) -> StudyDesign:
    """The answer, or the reason why there is none."""
    check_measured(benchmark, parts, types, targets, prices, free)
    varied = frozenset(free) if free else may_vary(parts, targets, prices)
    space = Space(parts, types, targets, prices, varied, judged)
    studies = space.grid()
    good = space.reached(studies)
    if not good.any():
        raise _out_of_reach(space, studies)
    best = _cheapest(space, studies, good)
    now_space, same_space = (
        replace(space, free=frozenset()),
        replace(
            space,
            free=frozenset(("pictures", "items") if parts.per_picture == 1 else ("pictures",)),
            apart=False,
        ),
    )
    now = _row(
        now_space,
        now_space.priced({axis: np.array([v]) for axis, v in space.now.items()}),
        0,
        "as audited",
    )
    cheapest = _row(space, best, 0, "cheapest")
    alone = same_space.grid()
    reached = same_space.reached(alone)
    same = (
        _row(same_space, _cheapest(same_space, alone, reached), 0, "more pictures alone")
        if reached.any()
        else None
    )
    if same is not None and same.pictures < now.pictures:
        same = replace(same, what="fewer pictures alone")
    saving = 1 - cheapest.cost / same.cost if same is not None and same.cost > 0 else None
    curve_of = next((t for t in targets if not t.kind), targets[0])
    made = StudyDesign(
        benchmark=benchmark,
        metric=metric,
        targets=tuple(map(str, targets)),
        free=tuple(name for name in FREE if name in varied),
        sentence="",
        unit=prices.unit,
        now=now,
        cheapest=cheapest,
        same=same,
        saving=saving,
        steps=_steps(space, now, best),
        further=_further(space, best),
        curve=_curve(replace(space, apart=False), same_space, curve_of, cheapest.cost),
        curve_of=curve_of.name,
        notes=_notes(parts, targets, prices),
    )
    return replace(made, sentence=sentence_of(made))


def _cheapest(space: Space, studies: Studies, good: npt.NDArray[np.bool_]) -> Studies:
    """The cheapest study, its pictures counted exactly: of each mix that reaches the targets the
    smallest is sought.
    """
    sizes = {axis: np.asarray(getattr(studies.size, axis), dtype=np.float64) for axis in AXES}
    order = np.lexsort((studies.answers, studies.cost))
    order = order[good[order]]
    tried: dict[tuple[float, ...], int] = {}
    for place in order.tolist():
        mix = tuple(float(sizes[axis][place]) for axis in AXES[1:])
        if mix not in tried:
            tried[mix] = place
        if len(tried) == _CANDIDATES:
            break
    pictures = np.unique(sizes["pictures"])
    counted = []
    for mix, place in tried.items():
        high = int(sizes["pictures"][place])
        below = pictures[pictures < high]
        low = int(below[-1]) if len(below) else high
        between = np.unique(np.linspace(low, high, min(high - low, 400) + 1).round())
        counted.append([between, *(np.full(len(between), value) for value in mix)])
    columns = [np.concatenate([rows[i] for rows in counted]) for i in range(len(AXES))]
    exact = space.priced(dict(zip(AXES, columns, strict=True)))
    places = np.flatnonzero(space.reached(exact))
    first = places[np.lexsort((exact.answers[places], exact.cost[places]))[0]]
    return _taken(exact, first)


def _taken(studies: Studies, place: Any) -> Studies:
    rows = np.atleast_1d(place)
    size = StudySize(
        **{name: np.asarray(getattr(studies.size, name))[rows] for name in (*AXES, "labels")}
    )
    extra = {kind: values[rows] for kind, values in studies.extra.items()}
    return Studies(size, extra, studies.cost[rows], studies.answers[rows])


def _row(space: Space, studies: Studies, place: int, what: str) -> PlannedStudy:
    """One of the studies, with its forecasts and their intervals."""
    alone = _taken(studies, place)
    size = {name: float(np.asarray(getattr(alone.size, name))[0]) for name in (*AXES, "labels")}
    forecasts = []
    for target in space.targets:
        value = float(space.values(target, alone)[0])
        low, high = (
            (math.nan, math.nan)
            if target.kind
            else forecast_bounds(space.parts, target.figure, StudySize(**size))
        )
        known = math.isfinite(low)
        forecasts.append(
            Forecast(
                target=str(target),
                value=value,
                low=low if known else None,
                high=high if known else None,
            )
        )
    return PlannedStudy(
        what=what,
        pictures=round(size["pictures"]),
        items=size["items"],
        forms=round(size["forms"]),
        runs=round(size["runs"]),
        askings=round(size["askings"]),
        respondents=round(size["respondents"]),
        labels=round(size["labels"]) if math.isfinite(size["labels"]) else 0,
        extra={kind: round(float(values[0])) for kind, values in alone.extra.items()},
        answers=round(float(alone.answers[0])),
        cost=float(alone.cost[0]),
        forecasts=tuple(forecasts),
    )


def _steps(space: Space, now: PlannedStudy, best: Studies) -> tuple[PlannedStudy, ...]:
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
    sizes = dict(space.now)
    end = {axis: float(np.asarray(getattr(best.size, axis))[0]) for axis in AXES}
    changed = [axis for axis in words if sizes[axis] != end[axis]]
    rows = []
    for axis in changed[:-1]:
        sizes[axis] = end[axis]
        step = replace(space, free=space.free - {"pictures", "labels"})
        studies = step.priced({name: np.array([value]) for name, value in sizes.items()})
        plural = words[axis].replace(" ", "s ", 1) if " " in words[axis] else f"{words[axis]}s"
        rows.append(
            _row(
                step, studies, 0, f"then {end[axis]:g} {words[axis] if end[axis] == 1 else plural}"
            )
        )
    return (*rows, _row(space, best, 0, "cheapest"))


def _further(space: Space, best: Studies) -> tuple[PlannedStudy, ...]:
    """What one unit more of each thing that may vary would buy."""
    end = {axis: float(np.asarray(getattr(best.size, axis))[0]) for axis in AXES}
    choices, rows = space.choices(), []
    fixed = replace(space, free=space.free - {"pictures", "labels"})
    for axis, word, more in (
        ("pictures", "10 % more pictures", max(1.0, math.ceil(0.1 * end["pictures"]))),
        ("items", "one more item a picture", 1.0),
        ("forms", "one more wording", 1.0),
        ("runs", "one more run", 1.0),
        ("askings", "one more asking", 1.0),
        ("respondents", "one more respondent", 1.0),
    ):
        if len(choices[axis]) < 2:
            continue
        sizes = {name: np.array([value + more * (name == axis)]) for name, value in end.items()}
        rows.append(_row(fixed, fixed.priced(sizes, best.extra), 0, f"… {word}"))
    return tuple(rows)


def _curve(space: Space, same: Space, target: Target, cost: float) -> tuple[CurvePoint, ...]:
    """The best that each budget buys: among all studies, and among those with more pictures
    alone.
    """
    studies, alone = space.grid(), same.grid()
    sign = 1.0 if target.precision.higher else -1.0

    def best(of: Space, among: Studies, budget: float) -> float:
        within = among.cost <= budget * (1 + 1e-9)
        values = sign * of.values(target, among)[within]
        return sign * float(np.nanmax(values)) if values.size else math.nan

    costs = studies.cost[np.isfinite(studies.cost) & (studies.cost > 0)]
    if not costs.size or cost <= 0:
        return ()
    points = []
    ends = max(float(costs.min()), cost / _SPAN), min(float(costs.max()), cost * _SPAN)
    for budget in np.geomspace(*ends, _POINTS).tolist():
        value, other = best(space, studies, budget), best(same, alone, budget)
        if math.isfinite(value):
            points.append(
                CurvePoint(cost=budget, best=value, same=other if math.isfinite(other) else None)
            )
    return tuple(points)


def _notes(parts: StudyParts, targets: Sequence[Target], prices: UnitPrices) -> tuple[str, ...]:
    notes = list(prices.sources)
    if parts.forms == 1:
        notes.append(
            "one wording was asked (a negation is none): nothing is said of other wordings"
        )
    elif any(t.figure in ("g", "phi", "forms") for t in targets) and parts.forms < FEWEST_FORMS:
        df = (parts.forms - 1) * (parts.respondents - 1)
        notes.append(
            f"what wordings do to single respondents is known from {parts.forms} wordings ({df}"
            " degrees of freedom)"
        )
    if parts.runs == 1:
        notes.append(
            "one run was asked: its noise is counted among that of items, and runs cannot vary"
        )
    if all(t.figure in ("rho_g", "forms") for t in targets):
        notes.append(
            "these targets say nothing of other pictures: add mdd, sem or g where other pictures"
            " matter"
        )
    if parts.per_picture == 1:
        notes.append("each picture has one item, so that items a picture cannot vary")
    return tuple(notes)


def _out_of_reach(space: Space, studies: Studies) -> DesignError:
    """Which target no study reaches, what the best would be, and the component that is in the
    way.
    """
    for target in space.targets:
        values = space.values(target, studies)
        best = int(np.nanargmax(values if target.precision.higher else -values))
        if target.met(float(values[best])):
            continue
        effect, share = space.largest_part(target, studies, best)
        row = _row(space, studies, best, "")
        unchanged = [name for name in space.shrinks(effect) if name not in space.free]
        size = ", ".join(
            [
                f"{row.pictures:,} pictures of {_counted(row.items, 'item')}",
                _counted(row.forms, "wording"),
                _counted(row.runs, "run"),
            ]
        )
        named = " x ".join(effect)
        return DesignError(
            f"{target} is out of reach: the best is {values[best]:.4g}, with {size}; in the way"
            f" stands {named} ({share:.0%} of the error)",
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


def _counted(count: float, word: str) -> str:
    return f"{count:g} {word}" if count == 1 else f"{count:g} {word}s"
