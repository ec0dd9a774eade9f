"""Further drawings: differences, rank flow, intervals, types, the item map and decision curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hqm.reports.figures import ACCENT, FAINT, INK, QUIET, WARN, drawing, ends, label_points, other_score
from hqm.reports.score_tables import in_order
from hqm.reports.tables import cell, find, short

from hqm import BenchmarkAudit, Estimate


def bland_altman(audit: BenchmarkAudit, metric: str, other: str, limits: Estimate | None) -> str:
    """Differences between two administrations against their mean, with the mean difference and its limits of agreement."""
    points = []
    for row in audit.respondents:
        x, y = row.cells[audit.reference].get(metric), other_score(row, metric, other)
        if x is not None and y is not None:
            points.append(((x + y) / 2, y - x, short(row.name)))
    if len(points) < 2:
        return ""
    xs, ys, names = zip(*points, strict=True)
    lines = _limits(limits)
    with drawing(4.6, 3.4) as (axes, finish):
        ends_x, ends_y = ends(xs), ends([*ys, 0.0, *(value for value, _ in lines)])
        axes.axhline(0, color=FAINT, linewidth=1)
        for value, name in lines:
            axes.axhline(
                value, color=ACCENT if name == "mean" else QUIET, linewidth=1, linestyle="-" if name == "mean" else "--"
            )
            axes.annotate(
                name, (ends_x[1], value), xytext=(-2, 3), textcoords="offset points", fontsize=8, ha="right", color=INK
            )
        axes.scatter(xs, ys, s=24, color=ACCENT, zorder=2)
        label_points(axes, xs, ys, names, ends_x, ends_y)
        axes.set(xlim=ends_x, ylim=ends_y, xlabel=f"mean of both {metric}", ylabel="other − first")
        return finish()


def _limits(estimate: Estimate | None) -> list[tuple[float, str]]:
    if estimate is None or estimate.value is None:
        return []
    lines = [(estimate.value, "mean")]
    for key, name in (("lower", "lower limit"), ("upper", "upper limit")):
        bound = estimate.detail.get(key)
        if isinstance(bound, (list, tuple)) and bound and isinstance(bound[0], (int, float)):
            lines.append((float(bound[0]), name))
    return lines


def rank_flow(audit: BenchmarkAudit, metric: str, others: Sequence[str]) -> str:
    """The place of each respondent in every administration, joined by lines."""
    lower = audit.metrics[metric]["better"] == "lower"
    columns: list[dict[str, int]] = []
    names = [audit.reference, *others]
    for name in names:
        # a judge reports a share of faithful answers: higher is better, whatever the metric
        judged = bool(audit.respondents) and name in audit.respondents[0].judged
        scores = {row.name: other_score(row, metric, name) for row in audit.respondents}
        known = {who: score for who, score in scores.items() if score is not None}
        order = sorted(known, key=lambda who: known[who] if lower and not judged else -known[who])
        columns.append({who: place for place, who in enumerate(order, 1)})
    if len(names) < 2 or len(columns[0]) < 2:
        return ""
    count = len(columns[0])
    with drawing(2.4 + 1.5 * len(names), max(2.2, 0.9 + 0.19 * count)) as (axes, finish):
        for who in columns[0]:
            places = [column.get(who) for column in columns]
            known_places = [(i, place) for i, place in enumerate(places) if place is not None]
            moved = max(p for _, p in known_places) - min(p for _, p in known_places)
            far = moved >= max(2, round(count / 5))
            axes.plot(
                *zip(*known_places, strict=True),
                color=ACCENT if far else FAINT,
                linewidth=1.6 if far else 1.1,
                marker="o",
                markersize=3.5,
            )
            for i, side, shift in ((0, "right", -7), (len(names) - 1, "left", 7)):
                if places[i] is not None:
                    axes.annotate(
                        short(who),
                        (i, places[i]),
                        xytext=(shift, 0),
                        textcoords="offset points",
                        fontsize=8,
                        ha=side,
                        va="center",
                    )
        axes.set_xticks(range(len(names)), [_broken(cell(name)) for name in names])
        axes.set(ylim=(count + 0.7, 0.3), xlim=(-0.75, len(names) - 0.25))
        axes.set_yticks([])
        axes.xaxis.tick_top()
        axes.tick_params(axis="x", length=0, labelsize=8.5)
        axes.spines[["left", "bottom", "top"]].set_visible(False)
        return finish()


def _broken(text: str) -> str:
    return text.replace(", ", "\n")


def intervals(audit: BenchmarkAudit, metric: str) -> str:
    """The leaderboard as a drawing: every score with its interval."""
    rows = [(short(r.name), r.scores.get(metric), r.intervals.get(metric) or (None, None)) for r in in_order(audit)]
    known = [(name, score, span) for name, score, span in rows if score is not None]
    if not known:
        return ""
    with drawing(5.2, max(1.6, 0.7 + 0.21 * len(known))) as (axes, finish):
        for i, (_, score, (low, high)) in enumerate(known):
            if low is not None and high is not None:
                axes.plot([low, high], [i, i], color=ACCENT, linewidth=2, solid_capstyle="butt")
            axes.plot([score], [i], marker="o", markersize=5, color=ACCENT)
        axes.set_yticks(range(len(known)), [name for name, _, _ in known], fontsize=8.5)
        axes.set(ylim=(len(known) - 0.4, -0.6), xlabel=f"{metric}, 95% interval")
        axes.grid(axis="x", color=FAINT, linewidth=0.4)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        return finish()


def type_profile(audit: BenchmarkAudit, metric: str) -> str:
    """The respondents' scores on every type: how hard the type is, and how far it spreads the respondents."""
    kinds = [kind for kind in audit.coverage if any(row.by_type.get(kind) is not None for row in audit.respondents)]
    if len(kinds) < 2:
        return ""
    rows = [(kind, sorted(v for r in audit.respondents if (v := r.by_type.get(kind)) is not None)) for kind in kinds]
    rows.sort(key=lambda pair: -pair[1][len(pair[1]) // 2])
    with drawing(5.2, 0.8 + 0.3 * len(rows)) as (axes, finish):
        for i, (_, values) in enumerate(rows):
            axes.plot([values[0], values[-1]], [i, i], color=FAINT, linewidth=1)
            axes.plot(values, [i] * len(values), linestyle="", marker="o", markersize=4, color=QUIET)
            axes.plot([values[len(values) // 2]], [i], marker="|", markersize=15, markeredgewidth=2.5, color=ACCENT)
        axes.set_yticks(range(len(rows)), [kind for kind, _ in rows])
        axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=f"{metric} (points: respondents, bar: median)")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        return finish()


def item_map(audit: BenchmarkAudit, metric: str) -> tuple[str, int]:
    """Difficulty and discrimination of the items, and how many items are shown; several at one place make a larger point."""
    estimate = find(audit, "items.discrimination", metric)
    points = estimate.detail.get("map") if estimate is not None else None
    if not isinstance(points, Mapping):
        return "", 0
    known = [
        (str(name), float(p), float(r))
        for name, p, r in zip(points.get("ids", ()), points.get("difficulty", ()), points.get("item_rest", ()), strict=False)
        if isinstance(p, (int, float)) and isinstance(r, (int, float))
    ]  # fmt: skip
    if not known:
        return "", 0
    named = _flagged(audit, metric)
    # thousands of items share few places: rounding to a grid finer than the eye keeps the drawing small
    grid = Counter((int(p * 200), int(r * 100)) for name, p, r in known if name not in named)
    with drawing(5.6, 4.0) as (axes, finish):
        axes.axhline(0, color=FAINT, linewidth=1)
        if grid:
            xs, ys = zip(*((x / 200, y / 100) for x, y in grid), strict=True)
            sizes = [6 + 5 * count**0.5 for count in grid.values()]
            axes.scatter(xs, ys, s=sizes, color=QUIET, alpha=0.55, linewidths=0)
        marked = [(name, p, r) for name, p, r in known if name in named]
        if marked:
            names, xs, ys = zip(*marked, strict=True)
            axes.scatter(xs, ys, s=26, color=WARN, marker="D", zorder=3)
            label_points(axes, xs[:25], ys[:25], names[:25], (-0.03, 1.03), (-1.05, 1.05))
        low = min(-0.1, min(r for _, _, r in known) - 0.05)
        axes.set(xlim=(-0.03, 1.03), ylim=(low, 1.05), xlabel="share of respondents that get it right (high is easy)")
        axes.set_ylabel("correlation with the rest of the test")
        return finish(), len(known)


def _flagged(audit: BenchmarkAudit, metric: str) -> set[str]:
    names: set[str] = set()
    for statistic in ("label_errors", "negative_items", "misfit_items"):
        estimate = find(audit, f"items.{statistic}", metric)
        if estimate is not None and estimate.value:
            names |= {str(row.get("item")) for row in estimate.detail.get("candidates", ())}
            names |= {str(name) for name in estimate.detail.get("items", ())}
    return names


def decision_curve(estimate: Estimate | None) -> str:
    """Reliability against the number of items: what a longer or shorter test would reach."""
    rows = estimate.detail.get("curve") if estimate is not None else None
    if not isinstance(rows, (list, tuple)):
        return ""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        size = next((row[key] for key in ("items", "runs", "n") if isinstance(row.get(key), (int, float))), None)
        for key, value in row.items():
            if (
                size
                and key not in ("items", "runs", "n")
                and isinstance(value, (int, float))
                and not isinstance(value, bool)
            ):
                lines.setdefault(str(key), []).append((float(size), float(value)))
    lines = {name: sorted(points) for name, points in lines.items() if len(points) > 1}
    if not lines:
        return ""
    varied = str(estimate.detail.get("varied", "run")) if estimate is not None else "run"
    names = {"phi": f"Phi, one {varied}", "g": f"G, one {varied}", "phi_of_3": f"Phi, three {varied}s"}
    with drawing(5.2, 3.4) as (axes, finish):
        axes.axhline(0.9, color=FAINT, linewidth=1, linestyle="--")
        axes.annotate(
            ".90", (0, 0.9), xycoords=("axes fraction", "data"), xytext=(3, 3), textcoords="offset points", fontsize=8
        )
        for (name, points), style in zip(lines.items(), ("-", "--", ":", "-.", "-", "--"), strict=False):
            axes.plot(
                *zip(*points, strict=True), linestyle=style, color=ACCENT, linewidth=1.8, label=names.get(name, name)
            )
        axes.legend(frameon=False, fontsize=8.5, loc="lower right")
        axes.set(
            xscale="log",
            ylim=(min(0.0, *(v for p in lines.values() for _, v in p)), 1.03),
            xlabel="items",
            ylabel="reliability",
        )
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_minor_formatter(lambda *_: "")
        return finish()
