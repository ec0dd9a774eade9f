"""Drawings that readers of a benchmark paper expect: the response map, agreement, types by
respondent, cost, one pair a type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from hqm.reports.drawings import (
    bland_altman,
    curves,
    ends_within,
    facet_pairs,
    named_rows,
    rank_flow,
    scatter,
    spans,
)
from hqm.reports.item_tables import FACETS
from hqm.reports.score_tables import in_order, made_of
from hqm.reports.svg import ACCENT, FAINT, INK, QUIET, Drawing, fitting, width_of, wrapped
from hqm.reports.tables import (
    FAMILIES,
    ORACLE_TITLE,
    by_oracle,
    cell,
    find,
    interval,
    known,
    number,
    rows,
    short,
    statistic_name,
)

from hqm import BenchmarkAudit, Cell, Estimate, labelled_by

_COLUMNS = 140
"""More items than this share columns of the response map."""
_SHADES = 6
_RADARS = 12
"""How many respondents have a radar of their own."""
_Z = 1.959963984540054


def response_map(audit: BenchmarkAudit, metric: str) -> str:
    """Who got which item right: respondents from the ablest down, items from the most
    discriminating to the right.

    Where there are more items than columns, neighbours share one, and its shade is their mean.
    """
    estimate = find(audit, "items.discrimination", metric)
    points = estimate.detail.get("map") if estimate is not None else None
    answers = points.get("responses") if isinstance(points, Mapping) else None
    if not isinstance(points, Mapping) or not isinstance(answers, Mapping) or not answers:
        return ""
    rest = [known(r) for r in points["item_rest"]]
    order = sorted(range(len(rest)), key=lambda i: (rest[i] is None, -(rest[i] or 0.0)))
    share = max(1, math.ceil(len(order) / _COLUMNS))
    groups = [order[k : k + share] for k in range(0, len(order), share)]
    able = sorted(answers, key=lambda who: -_right(answers[who], order))
    room = max(width_of(fitting(short(who)), 11) for who in able) + 12
    wide, high = min(12.0, 420 / len(groups)), 17.0
    sheet = Drawing(room + wide * len(groups) + 60, high * len(able) + 84)
    shades: dict[int, list[tuple[float, float, float, float]]] = {}
    unscored = []
    for row, who in enumerate(able):
        y = 16 + high * row
        sheet.text(room - 8, y + high / 2 - 0.5, fitting(short(who)), size=11, side="end")
        sheet.text(
            room + wide * len(groups) + 8,
            y + high / 2 - 0.5,
            number(_right(answers[who], order), 2),
            size=11,
        )
        for column, group in enumerate(groups):
            share_right = _right(answers[who], group)
            corner = (room + wide * column, y, wide + 0.1, high - 1.5)
            if math.isnan(share_right):
                unscored.append((corner[0], y + high / 2 - 1.5, wide, 1.5))
            else:
                shades.setdefault(round(share_right * _SHADES), []).append(corner)
    for shade, corners in sorted(shades.items()):
        sheet.boxes(corners, ACCENT, 0.07 + 0.93 * shade / _SHADES)
    sheet.boxes(unscored, QUIET)
    _legend(sheet, room, high * len(able) + 22, [rest[i] for i in order], wide * len(groups))
    sheet.text(room + wide * len(groups) + 8, 8, "right", size=10, colour=QUIET)
    said = "; ".join(f"{short(who)} {number(_right(answers[who], order), 2)}" for who in able)
    varying = sum(r is not None for r in rest)
    about = (
        f"{len(order):,} items, of which {varying:,} discriminate between respondents at all. Share"
        f" right: {said}."
    )
    return sheet.finish("Which respondent got which item right", about)


def _right(digits: str, places: Sequence[int]) -> float:
    scored = [int(digits[i]) for i in places if digits[i] != "."]
    return sum(scored) / (9 * len(scored)) if scored else math.nan


def _legend(
    sheet: Drawing, left: float, top: float, rest: Sequence[float | None], width: float
) -> None:
    """Under the map: the discrimination at some places, what the horizontal axis is, and what a
    shade means.
    """
    last = max((i for i, r in enumerate(rest) if r is not None), default=-1)
    for i in dict.fromkeys(round(last * k / 4) for k in range(5)) if last >= 0 else ():
        x = left + width * (i + 0.5) / len(rest)
        sheet.line([(x, top - 5), (x, top - 1)], INK)
        sheet.text(x, top + 7, number(rest[i], 2), size=10, side="middle")
    sheet.text(
        left, top + 24, "items by discrimination (correlation with the rest), best first", size=11
    )
    x = left
    for shade, words in ((0, "wrong"), (_SHADES // 2, "half"), (_SHADES, "right")):
        sheet.boxes([(x, top + 37, 12, 12)], ACCENT, 0.07 + 0.93 * shade / _SHADES)
        sheet.text(x + 16, top + 43, words, size=11)
        x += 26 + width_of(words, 11)
    sheet.boxes([(x, top + 42, 12, 1.5)], QUIET)
    sheet.text(x + 16, top + 43, "not scored", size=11)


_AGREEMENT = ("pearson", "icc_a1")


def agreement(audit: BenchmarkAudit, metric: str) -> str:
    """How well each other administration agrees with the first: r (the order) and ICC(A,1) (the
    scores themselves).

    The strong bar is the interval for these respondents, the thin line the one for others like
    them.
    """
    shown = [
        e
        for e in audit.estimates
        if e.metric == metric
        and e.value is not None
        and e.indicator.partition(".")[2] in _AGREEMENT
        and e.other
        and not by_oracle(e)
    ]
    if not shown:
        return ""
    kinds = {
        "fixed_models": [e.interval("fixed_models") for e in shown],
        "model_population": [e.interval("model_population") for e in shown],
    }
    values = [
        v
        for e in shown
        for v in (
            e.value or 0.0,
            *(
                x
                for i in e.intervals
                if i.inference in kinds
                for x in (i.low, i.high)
                if x < math.inf
            ),
        )
    ]
    drawn = named_rows([_named(e) for e in shown], ends_within([*values, 1.0], -0.25), width=520)
    sheet = drawn.drawing
    drawn.across(f"agreement of {metric} with the first administration", grid=True)
    said = []
    for i, e in enumerate(shown):
        words = f"{_named(e)}: {number(e.value)}"
        for kind, colour, width in (
            ("model_population", QUIET, 1.0),
            ("fixed_models", ACCENT, 3.0),
        ):
            span = e.interval(kind)
            if span is not None:
                end = (e.value or 0.0) if span.one_sided else span.high
                low, high = max(span.low, drawn.x.low), min(end, drawn.x.high)
                sheet.line([(drawn.x(low), drawn.y(i)), (drawn.x(high), drawn.y(i))], colour, width)
                who = "these respondents" if kind == "fixed_models" else "others"
                words += f" {interval(span)} for {who}"
        sheet.dot(drawn.x(max(e.value or 0.0, drawn.x.low)), drawn.y(i), ACCENT, 4, words)
        said.append(words)
    return sheet.finish(f"Agreement of the administrations in {metric}", f"{'; '.join(said)}.")


def _named(estimate: Estimate) -> str:
    family, _, statistic = estimate.indicator.partition(".")
    brief = {"pearson": "r", "icc_a1": "ICC(A,1)"}.get(statistic, statistic_name(statistic))
    return f"{FAMILIES.get(family, family)}, {brief}"


def type_reliability(audit: BenchmarkAudit, metric: str) -> str:
    """Cronbach's alpha of each type's items with its interval over respondents, the most reliable
    type on top.
    """
    alphas = [
        (str(row["type"]), alpha, known(row.get("alpha_low")), known(row.get("alpha_high")))
        for row in rows(find(audit, "types.index", metric), "types")
        if (alpha := known(row.get("alpha"))) is not None
    ]
    if len(alphas) < 2:
        return ""
    alphas.sort(key=lambda row: -row[1])
    unit = "Cronbach's alpha, 95% interval over respondents"
    return spans(
        alphas, unit, f"Reliability of {metric} by type", within=(1.0,), least=-0.25, mark=0.9
    )


def cost(estimate: Estimate | None) -> str:
    """What precision costs: the standard error of a respondent's score against the answers that it
    takes (D-study).
    """
    study = [row for row in rows(estimate, "curve") if known(row.get("error"))]
    if estimate is None or len(study) < 2:
        return ""
    varied = str(estimate.detail.get("varied", "run"))
    lines: dict[str, list[tuple[float, float]]] = {f"one {varied}": [], f"three {varied}s": []}
    for row in study:
        for (name, points), key, times in zip(
            lines.items(), ("error", "error_of_3"), (1, 3), strict=True
        ):
            error = known(row.get(key))
            if error is not None:
                points.append((times * float(row["items"]), error))
                lines[name] = points
    kept = {name: sorted(points) for name, points in lines.items() if len(points) > 1}
    unit = f"answers per respondent (items × {varied}s)"
    return curves(
        kept,
        unit,
        f"standard error of {estimate.metric}",
        top=None,
        marked=[
            (float(row["items"]), float(row["error"]), "this audit")
            for row in study
            if row["items"] == estimate.detail.get("items")
        ],
    )


def radars(audit: BenchmarkAudit, metric: str) -> str:
    """A radar of the types for each respondent, best first, over the median of all respondents.

    The bars along the spokes are 1.96 standard errors of the type's score to either side (root mean
    square over respondents). Empty for fewer than three types.
    """
    kinds = [
        kind
        for kind in audit.coverage
        if any(row.by_type.get(kind) is not None for row in audit.respondents)
    ]
    if len(kinds) < 3:
        return ""
    errors = {
        str(row["type"]): known(row.get("sem")) or 0.0
        for row in rows(find(audit, "types.index", metric), "types")
    }
    every = {
        kind: [v for row in audit.respondents if (v := row.by_type.get(kind)) is not None]
        for kind in kinds
    }
    middle = {kind: median(values) for kind, values in every.items()}
    most = max(
        1.0 if max(map(max, every.values())) <= 1 else 0.0,
        *(v for values in every.values() for v in values),
    )
    return "".join(
        _radar(
            short(row.name),
            {kind: row.by_type.get(kind) for kind in kinds},
            middle,
            errors,
            most,
            metric,
        )
        for row in in_order(audit)[:_RADARS]
    )


def _radar(
    who: str,
    scores: Mapping[str, float | None],
    middle: Mapping[str, float],
    errors: Mapping[str, float],
    most: float,
    metric: str,
) -> str:
    sheet, centre, radius = Drawing(270, 228), (135.0, 122.0), 66.0

    def place(i: int, value: float) -> tuple[float, float]:
        turn = 2 * math.pi * i / len(scores) - math.pi / 2
        reach = radius * max(0.0, min(value / most, 1.0))
        return centre[0] + reach * math.cos(turn), centre[1] + reach * math.sin(turn)

    sheet.text(135, 10, fitting(who, 30), side="middle", bold=True)
    for part in (0.5, 1.0):
        ring = [place(i, part * most) for i in range(len(scores))]
        sheet.line([*ring, ring[0]], FAINT, 0.6)
        sheet.text(
            centre[0] + 3,
            centre[1] - radius * part + 5,
            number(part * most, 1),
            size=9,
            colour=QUIET,
        )
    for i, kind in enumerate(scores):
        sheet.line([centre, place(i, most)], FAINT, 0.6)
        x, y = place(i, most)
        out = 11 / radius
        x, y = x + out * (x - centre[0]), y + out * (y - centre[1])
        side = "middle" if abs(x - centre[0]) < 8 else "start" if x > centre[0] else "end"
        sheet.text(
            x,
            y,
            kind,
            size=10,
            side="start" if side == "start" else "end" if side == "end" else "middle",
        )
    ring = [place(i, value) for i, value in enumerate(middle.values())]
    sheet.line([*ring, ring[0]], QUIET, 1.2, "4 3")
    own = [(i, kind, value) for i, (kind, value) in enumerate(scores.items()) if value is not None]
    sheet.area([place(i, value) for i, _, value in own], ACCENT, 0.16, edge=ACCENT)
    for i, kind, value in own:
        error = _Z * errors.get(kind, 0.0)
        sheet.line([place(i, value - error), place(i, value + error)], INK, 1.6)
        sheet.dot(*place(i, value), ACCENT, 2.6, f"{kind}: {number(value)}")
    said = ", ".join(
        f"{kind} {number(value)} (median {number(middle[kind])})" for _, kind, value in own
    )
    return sheet.finish(f"{who}: {metric} by type", f"{said}.")


def type_pairs(audit: BenchmarkAudit) -> str:
    """One picture with its question for each type that has items."""
    return "".join(_pair(row) for row in audit.pairs)


def _pair(row: Mapping[str, object]) -> str:
    width, top = 210.0, 22.0
    options = row.get("options")
    choices = (
        [f"{chr(65 + i)}. {option}" for i, option in enumerate(options)]
        if isinstance(options, (list, tuple))
        else []
    )
    asked = wrapped(str(row["prompt"]), width, 11.5, 5)
    answers = [line for choice in choices[:6] for line in wrapped(choice, width, 11, 1)]
    key = wrapped(f"Key: {row['target']}", width, 11.5, 2) if row["target"] else []
    pictured = 150.0 if row["thumbnail"] else 0.0
    sheet = Drawing(width, top + pictured + 15 * (len(asked) + len(answers) + len(key)) + 16)
    sheet.text(0, 8, str(row["type"]), bold=True)
    if row["thumbnail"]:
        sheet.picture(str(row["thumbnail"]), 0, top, width, pictured - 6)
    y = top + pictured + 8
    for lines, colour in ((asked, INK), (answers, QUIET), (key, ACCENT)):
        for line in lines:
            sheet.text(0, y, line, size=11.5, colour=colour)
            y += 15
    said = " ".join(
        filter(
            None,
            (
                str(row["prompt"]),
                "; ".join(choices),
                f"Key: {row['target']}." if row["target"] else "",
            ),
        )
    )
    return sheet.finish(f"{row['type']}: item {row['item']}", said)


# --- the first administration against the others ---

_DRAWN = 3
"""How many metrics are drawn; the tables have all of them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, which says its numbers to screen readers, with its caption."""

    svg: str
    caption: str
    signature: str = ""
    wide: bool = False


def drawn_if_any(svg: str, caption: str, signature: str, *, wide: bool = False) -> list[Figure]:
    """The drawing in a list; an empty list where there was nothing to draw."""
    return [Figure(svg, caption, signature, wide)] if svg else []


def administration_figures(audit: BenchmarkAudit) -> Iterable[Figure]:
    """The drawings that hold the first administration against every other one."""
    names = [short(row.name) for row in audit.respondents]
    pairs = facet_pairs(audit)
    shown = (
        "Agreement with the first administration: r compares the order, ICC(A,1) the scores"
        " themselves. Strong: the interval for these respondents; thin: for others like them."
    )
    yield from drawn_if_any(agreement(audit, next(iter(audit.metrics))), shown, made_of(audit))
    for metric in list(audit.metrics)[:_DRAWN]:
        for facet, other in pairs:
            judged = other in audit.respondents[0].judged
            measured = "share of faithful answers" if facet == "judge" else metric
            on_line = "" if judged else "; a point on the line has the same score in both"
            figures = drawn_if_any(
                scatter(
                    audit,
                    metric,
                    other,
                    f"{metric}, {cell(audit.reference)}",
                    f"{measured}, {cell(other)}",
                    names,
                ),
                f"{_varied(audit, facet, other)}: {metric}. Each point is a respondent{on_line}.",
                _signature(audit, metric, other),
            )
            yield from figures
            if judged or not figures:
                continue
            limits = next(
                (
                    e
                    for e in audit.estimates
                    if (e.metric, e.other) == (metric, other)
                    and e.indicator.endswith(".limits_of_agreement")
                ),
                None,
            )
            yield from drawn_if_any(
                bland_altman(audit, metric, other, limits),
                _limits_caption(FACETS[facet], metric, limits),
                _signature(audit, metric, other),
            )
        if pairs:
            yield from drawn_if_any(
                rank_flow(audit, metric, [other for _, other in pairs]),
                f"Rank flow of {metric}: each respondent's place in {cell(audit.reference)} and in"
                " the other administrations. Strong lines mark places that changed a lot.",
                made_of(audit, metric),
                wide=True,
            )


def _varied(audit: BenchmarkAudit, facet: str, other: str) -> str:
    if facet == "judge" and other in audit.respondents[0].judged:
        return FACETS["human"] if labelled_by(Cell.parse(other).judge) == "people" else ORACLE_TITLE
    return FACETS[facet]


def _limits_caption(facet: str, metric: str, limits: Any) -> str:
    caption = f"{facet}: differences in {metric} (Bland and Altman)."
    if limits is None or limits.value is None:
        reason = limits.reason if limits is not None else "no estimate"
        return f"{caption} Limits of agreement: not measured ({reason})."
    ends = [limits.detail.get(key) or [None] for key in ("lower", "upper")]
    shown = (
        f" Mean difference {number(limits.value)}, limits of agreement"
        f" {number(ends[0][0])} to {number(ends[1][0])}."
    )
    return caption + shown


def _signature(audit: BenchmarkAudit, metric: str, other: str) -> str:
    estimates = [e for e in audit.estimates if (e.metric, e.other) == (metric, other)]
    return next(
        (e.signature for e in estimates if e.indicator.endswith(".pearson")),
        estimates[0].signature if estimates else "",
    )
