"""Tables that only some audits have: scores of other tools, smaller pictures, stopped asking, short
forms, and the costs of a study; and those of the error budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hqm.reports.latex.latex_tables import number_cell
from hqm.reports.pages.error_picture import IDENTICAL, ErrorPicture, short_source_names
from hqm.reports.pages.error_picture import SOURCES as SOURCE_NAMES
from hqm.reports.pages.leaderboard_sentences import OUTCOME_WORDS
from hqm.reports.pages.phrases import join_names
from hqm.reports.pages.sentences import how_to_measure
from hqm.reports.tables.score_tables import respondents_in_order
from hqm.reports.tables.table import (
    Column,
    Table,
    Text,
    anchor,
    bracket_text,
    default_policy,
    drop_none,
    estimate_text,
    find_estimate,
    finite_number,
    interval_text,
    number,
    p_value,
    percent,
    short_name,
)

from hqm import BenchmarkAudit, Cell, ErrorBudget, Estimate
from hqm.auditing.definitions import planned_contrasts
from hqm.auditing.score_points import Points
from hqm.text import DASH

if TYPE_CHECKING:
    # an audit's report needs nothing of comparisons, so that `hqm audit` does not load them
    from hqm.auditing.score_differences import ToolRow

TOOLS_TITLE = "HQM and the tools that recorded the answers"


def harness_tables(tools: Sequence[ToolRow]) -> tuple[Table, ...]:
    """The totals and every row, for a comparison; nothing where no answer carries a tool's
    score.
    """
    if not tools:
        return ()
    totals: list[tuple[Text, ...]] = []
    rows: list[tuple[Text, ...]] = []
    n_hidden = 0
    for tool in tools:
        respondent = Text(short_name(tool["respondent"]))
        administration = Text(_administration_text(tool))
        scoring = Text(tool["scoring"])
        totals.append(
            (
                respondent,
                administration,
                Text(tool["tool"]),
                scoring,
                number_cell(tool["compared"], digits=0),
                number_cell(tool["tool_mean"]),
                number_cell(tool["hqm_mean"]),
                number_cell(tool["hqm_scored"], digits=0),
                number_cell(len(tool["differences"]), digits=0),
                Text(_reasons(tool)),
            )
        )
        n_hidden += max(0, len(tool["differences"]) - _MAX_DIFFERENCES)
        for row in tool["differences"][:_MAX_DIFFERENCES]:
            difference = (
                Text(row["item"]),
                respondent,
                administration,
                scoring,
                Text(row["answer"] or "(empty)"),
                number_cell(row["tool_score"], digits=2),
                Text(row["tool_read"]),
                number_cell(row["hqm_score"], digits=2),
                Text(row["hqm_read"]),
                Text(row["state"]),
                Text(row["reason"]),
            )
            rows.append(difference)
    columns = (
        Column("Item", "text"),
        Column("Respondent", "text"),
        Column("Administration", "text"),
        Column("HQM's scoring", "text"),
        Column("Answer", "text"),
        Column("score", "number", "Tool"),
        Column("read", "text", "Tool"),
        Column("score", "number", "HQM"),
        Column("read", "text", "HQM"),
        Column("state", "text", "HQM"),
        Column("Why", "text"),
    )
    total = Table(
        "harness",
        f"{TOOLS_TITLE}: answers that both scored, and how many get different scores.",
        columns=(
            Column("Respondent", "text"),
            Column("Administration", "text"),
            Column("Tool", "text"),
            Column("HQM's scoring", "text"),
            Column("answers"),
            Column("tool", "number", "Mean score"),
            Column("HQM", "number", "Mean score"),
            Column("scored by HQM"),
            Column("differ"),
            Column("Why", "text"),
        ),
        rows=tuple(totals),
        notes=(
            "The tool's means are over the answers with a tool's score, HQM's over those of them"
            " that HQM scores.",
        ),
    )
    note = (
        f"The first {_MAX_DIFFERENCES} of each administration; {n_hidden:,} further ones are in"
        " audit.json, or in the comparison's numbers (`--to FILE.json`)."
    )
    fold = f"Every answer that a tool and HQM score differently: {len(rows) + n_hidden:,}"
    caption = f"{TOOLS_TITLE}, answer by answer."
    notes = (note,) if n_hidden else ()
    return total, Table("harness_rows", caption, columns, tuple(rows), notes, fold)


_MAX_DIFFERENCES = 250
"""Of one administration: a page of ten thousand rows takes a browser long to open."""


def _administration_text(tool: ToolRow) -> str:
    return f"form {tool['form']}, run {tool['run']}"


def _reasons(tool: ToolRow) -> str:
    """How many answers each reason explains, the most first."""
    counts = Counter(str(row["reason"]) for row in tool["differences"])
    return "; ".join(f"{n}: {reason}" for reason, n in counts.most_common())


# --- smaller pictures ---

RESOLUTION_TITLE = "Smaller pictures"


def resolution_tables(audit: BenchmarkAudit) -> list[Table]:
    """A table for each metric that was compared; none where pictures were shown in one resolution
    alone.
    """
    return drop_none(_resolution_table(audit, metric) for metric in audit.metrics)


def _resolution_table(audit: BenchmarkAudit, metric: str) -> Table | None:
    shifts = audit.select_estimates("resolution.mean_shift", metric)
    if not shifts:
        return None
    scales = [Cell.parse(shift.other).resolution for shift in shifts]
    rows = []
    for row in respondents_in_order(audit):
        changes = [_respondent_change(shift, row.name) for shift in shifts]
        # The score on whole pictures is the same in every comparison; the first one that has this
        # respondent is taken.
        full_score = next(
            (finite_number(change.get("whole")) for change in changes if change), None
        )
        rows.append(
            (
                Text(short_name(row.name), row.name),
                Text(number(full_score)),
                *map(_change_cell, changes),
            )
        )
    mean = [
        Text(number(shift.value), small=interval_text(shift.interval("model_population")))
        for shift in shifts
    ]
    rows.append((Text("Mean difference"), Text(DASH), *mean))
    columns = ("Respondent", "100%", *(f"{scale}%" for scale in scales))
    return Table.for_page(
        f"{metric} by resolution of the pictures",
        columns,
        tuple(rows),
        right=tuple(range(1, len(columns))),
        notes=(
            (
                "Below each score is its difference from whole pictures, with its 95% interval"
                " over other pictures. The questions are the same, so the difference is paired."
                " The interval of the mean difference is over other respondents like these."
            ),
            "100% is the picture as it is; 50% has half of its width and half of its height.",
        ),
        signature=shifts[0].signature,
    )


def _respondent_change(shift: Estimate, name: str) -> Mapping[str, object]:
    by_respondent = shift.detail.get("by_respondent")
    if isinstance(by_respondent, Mapping):
        change = by_respondent.get(name)
    else:
        change = None
    if isinstance(change, Mapping):
        return change
    return {}


def _change_cell(change: Mapping[str, object]) -> Text:
    score = finite_number(change.get("scaled"))
    difference = finite_number(change.get("difference"))
    if score is None or difference is None:
        return Text(DASH)
    ends = bracket_text(finite_number(change.get("low")), finite_number(change.get("high")))
    return Text(number(score), small=f"{number(difference)} {ends}".rstrip())


# --- where a rule stopped the asking ---

STOPS_TITLE = "Where asking was stopped"


def stop_note(audit: BenchmarkAudit) -> str:
    """That a rule stopped the asking, and which items all numbers are computed on; empty where all
    items were asked.
    """
    stop = audit.stopped
    if not stop:
        return ""
    return (
        f"Asking was stopped by the rule “{stop['rule']}”. All numbers are computed on the"
        f" {stop['items']:,} of {stop['of_items']:,} items ({stop['pictures']:,} of"
        f" {stop['of_pictures']:,} pictures, drawn at random) that every respondent was asked; what"
        f" each was asked is listed under {STOPS_TITLE}."
    )


def stops_table(audit: BenchmarkAudit) -> Table | None:
    """Each respondent's own score on all that it was asked, and why it was asked no more."""
    if not audit.stopped:
        return None
    n_items = audit.stopped["of_items"]
    return Table.for_page(
        STOPS_TITLE,
        columns=(
            "Respondent",
            "Items asked",
            "Probability that a picture is asked",
            "Score at any time",
            "Stopped",
        ),
        rows=tuple(
            (
                Text(short_name(row["respondent"]), row["respondent"]),
                Text(f"{row['items']:,} of {n_items:,}"),
                Text(percent(row["inclusion"])),
                Text(
                    _score_with_interval(row.get("score"), row.get("low"), row.get("high")),
                    small=str(row.get("metric", "")),
                ),
                Text(_stop_reason(row, n_items)),
            )
            for row in audit.stopped["respondents"]
        ),
        right=(1, 2, 3),
        notes=(
            (
                "The score is that on the full benchmark (these items), estimated from all items"
                " that the respondent was asked; the 95% interval holds whenever asking stopped."
                " Intervals elsewhere in this report are of a fixed size: they do not allow for the"
                " rule having looked at the answers."
            ),
            "To ask the rest, run the same command without --until.",
        ),
    )


def _score_with_interval(score: float | None, low: float | None, high: float | None) -> str:
    if score is None:
        return DASH
    return f"{number(score)} [{number(low)}, {number(high)}]"


def _stop_reason(row: Mapping[str, object], n_items: int) -> str:
    if "stopped_after" not in row:
        return str(row["why"])
    return f"stopped after {row['stopped_after']:,} of {n_items:,} items, when {row['why']}"


# --- short forms ---

SHORT_FORM_TITLE = "On the full benchmark's scale"


def full_scores(audit: BenchmarkAudit) -> Table | None:
    """Respondents with their scores on the full benchmark's scale, metric by metric; None of a
    benchmark that is no short form.
    """
    scaled = _scaled(audit)
    if not scaled:
        return None
    columns = ["Respondent"]
    for metric in scaled:
        columns += [f"{metric}, full scale", "95% interval", "short form alone"]
    rows = []
    for row in respondents_in_order(audit):
        cells = [Text(short_name(row.name), row.name)]
        for estimate in scaled.values():
            by_respondent = estimate.detail.get("by_respondent") or {}
            full, low, high, short_score = by_respondent.get(row.name) or [None] * 4
            cells += [
                Text(number(full), estimate.signature, link=anchor(estimate.signature)),
                Text(bracket_text(low, high)),
                Text(number(short_score), muted=True),
            ]
        rows.append(tuple(cells))
    return Table.for_page(
        "Scores on the full benchmark's scale",
        tuple(columns),
        tuple(rows),
        tuple(range(1, len(columns))),
        notes=(
            (
                "Full scale: what the full benchmark would show, from the weighted answers to the"
                " short form. The interval is about the choice of the items, in which it is widened"
                " by what families that did not choose them showed; it is not about other seeds or"
                " wordings."
            ),
        ),
    )


def losses(audit: BenchmarkAudit) -> Table | None:
    """What the short form loses, metric by metric, measured on families that did not choose its
    items.
    """
    rows = [
        (
            Text(metric),
            _linked(audit, "mean_error", metric),
            _linked(audit, "tau", metric),
            _linked(audit, "coverage", metric),
            Text(number(estimate.detail["held_out"]["half_width"])),
            _linked(audit, "parallel_reliability", metric),
        )
        for metric, estimate in _scaled(audit).items()
    ]
    if rows:
        return Table.for_page(
            "What the short form loses, on families that did not choose its items",
            columns=(
                "Metric",
                "Mean error",
                "Kendall's tau",
                "Intervals that contain the full score",
                "Half an interval",
                "Reliability of forms A and B",
            ),
            rows=tuple(rows),
            right=(1, 2, 3, 4, 5),
        )
    return None


def remarks(audit: BenchmarkAudit) -> list[str]:
    """Which benchmark an audit is a short form of, and what the short form loses, in sentences."""
    metric = next(iter(audit.metrics), "")
    estimate = find_estimate(audit, "short_form.full_scale", metric)
    if estimate is None:
        return []
    if estimate.value is None:
        return [
            "This is a short form, and its scores are not put on the full benchmark's scale:"
            f" {estimate.reason}."
        ]
    detail = estimate.detail
    validation = estimate.detail["held_out"]
    paired = find_estimate(audit, "short_form.parallel_reliability", metric)
    # Only a short form that was made as a pair has the reliability of its forms A and B.
    form = f", form {str(detail['short_form']).upper()}" if paired else ""
    tau = find_estimate(audit, "short_form.tau", metric)
    order = "the order of their scores was not determined"
    if tau is not None and tau.value is not None:
        order = f"their order agreed by a Kendall's tau of {number(tau.value)}"
    return [
        f"These are {audit.n_items:,} of the {int(detail['full_items']):,} items of"
        f" {detail['full_benchmark']}{form}: the mean {metric} on its scale is"
        f" {estimate_text(estimate).text}.",
        f"What was lost: {int(validation['respondents']):,} respondents of"
        f" {int(detail['chosen_by_families']):,} families, each scored by items chosen without its"
        f" family, were {number(validation['mean_error'])} off on average; {order}, and"
        f" {percent(validation['coverage'])} of the 95% intervals contained the score on all"
        " items.",
    ]


def _scaled(audit: BenchmarkAudit) -> dict[str, Estimate]:
    """The estimate on the full benchmark's scale of each metric that has one."""
    by_metric = {}
    for metric in audit.metrics:
        estimate = find_estimate(audit, "short_form.full_scale", metric)
        if estimate is not None and estimate.value is not None:
            by_metric[metric] = estimate
    return by_metric


def _linked(audit: BenchmarkAudit, statistic: str, metric: str) -> Text:
    estimate = find_estimate(audit, f"short_form.{statistic}", metric)
    if estimate is None or estimate.value is None:
        return Text("not measured")
    return estimate_text(estimate)


# --- the error budget ---


def budget_tables(audit: BenchmarkAudit) -> list[Table]:
    """The numbers of the report's error budget and of its gaps, for every audited metric."""
    tables = []
    for metric, budget in audit.budget.items():
        points = Points.for_metric(audit, metric)
        lines = []
        # A benchmark without pictures has no row of smaller pictures: what cannot apply is not
        # listed as missing.
        for row in (row for row in budget.rows if row.status != "not_applicable"):
            moves = [
                f"{short_name(name)} {points.format(move)}" for name, move in row.moves.items()
            ]
            note = row.reason or (
                f"not measured: {how_to_measure(audit, row.source)}" if not row.moves else ""
            )
            # Reruns that gave the same answers have no error to put an interval on; a row of zeros
            # would look like a measurement of high precision.
            if row.is_identical:
                row_cells = (SOURCE_NAMES[row.source][0], "", "", "", "", "", IDENTICAL)
            else:
                row_cells = (
                    SOURCE_NAMES[row.source][0],
                    points.format(row.half),
                    points.format(row.any_wording) if row.any_wording is not None else "",
                    points.format(row.shift, sign=True),
                    points.format_interval(row.low, row.high),
                    ", ".join(moves),
                    note,
                )
            lines.append(tuple(map(Text, row_cells)))
        tables.append(
            Table.for_page(
                f"Error budget of {metric}, in points",
                ("Only this changes", "95 % band", "Any wording", "Shift", "95 %", "Moves", "Note"),
                tuple(lines),
                (1, 2, 3, 4),
                (
                    "Moves: each model's score after the change minus before; of seeds and items,"
                    " each model's own band. Nothing is added up.",
                ),
            )
        )
        tables.append(_gap_table(audit, budget))
    return tables


def _gap_table(audit: BenchmarkAudit, budget: ErrorBudget) -> Table:
    """The gaps of the leaderboard, with the planned contrast of each."""
    metric = budget.metric
    picture = ErrorPicture.of_audit(audit, budget)
    contrasts = planned_contrasts(audit, default_policy().limits.equal_within, metric)
    by_pair = {(row.first, row.second): row for row in contrasts}
    rows = []
    for mark in picture.gaps:
        gap = mark.gap
        # Contrasts are planned of neighbours on the leaderboard, so that some gaps of a picture may
        # have none.
        contrast = by_pair.get((gap.first, gap.other))
        tested = ("", "", "")
        if contrast is not None:
            tested = (
                f"{contrast.items:,}",
                OUTCOME_WORDS[contrast.outcome],
                p_value(contrast.contrast.adjusted),
            )
        cells = (
            f"{short_name(gap.first)} – {short_name(gap.other)}",
            picture.points.format(gap.gap),
            picture.points.format_interval(gap.low, gap.high),
            *tested,
            join_names(short_source_names(mark.smaller_errors)),
            join_names(short_source_names(mark.larger_errors)),
        )
        rows.append(tuple(map(Text, cells)))
    notes = (
        "Interval: 95 %, these models on new items, from the items that both answered. Outcome:"
        " planned contrasts, of the first two by itself and of the others by the fallback"
        " procedure,"
        " so that models below change none above; p is the adjusted one of a difference. An error"
        " that is printed as 0 is in neither column.",
    )
    return Table.for_page(
        f"Gaps of the leaderboard by {metric}",
        (
            "Neighbours",
            "Gap",
            "95 %",
            "Items of both",
            "Outcome",
            "p",
            "Above the errors of",
            "Not above those of",
        ),
        rows,
        (1, 2, 3, 5),
        notes,
    )
