"""The report: one page that a reader looks at, and the evidence beside it.

Both are one file each, load nothing, and have the same bytes for the same audit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import chain, count, takewhile
from typing import Any

from hqm.reports import evidence_page, published_page, tables
from hqm.reports.benchmark_card import badge, bibtex
from hqm.reports.drawings import fitting, width_of
from hqm.reports.evidence_page import environment, script
from hqm.reports.item_tables import to_read
from hqm.reports.phrases import Points, Terms, counted, in_letters, is_share, listed, so_many
from hqm.reports.report_figures import (
    axis_end,
    board_figure,
    budget_figure,
    budget_strip,
    shared_axis,
)
from hqm.reports.score_tables import first_place, order_in, orders, pairs_apart
from hqm.reports.sentences import (
    MARKS,
    SOURCES,
    board_title,
    budget_notes,
    budget_title,
    headline,
    how_to_measure,
    largest,
    mend_lines,
    reading_note,
    rows_of,
    seven,
    several_benchmarks,
    statement,
)
from hqm.reports.side_tables import remarks, stopped
from hqm.reports.tables import Text, default_policy, find, leading, number, percent, short
from hqm.reports.type_tables import types_title

from hqm import (
    Audit,
    BenchmarkAudit,
    ErrorBudget,
    Policy,
    __version__,
    leaks_shown,
    scored_answers,
    to_mend,
    types_measured,
)

SPOKEN: Mapping[str, str] = {
    "fine": "fine",
    "look": "look at this",
    "wrong": "wrong",
    "not_measured": "not measured",
}
"""What a mark is called for those who hear the page."""
_CARDS = 6
_LINES = 5
_KINDS = 14
"""Types, at most, that the grid shows."""
_ROWS = 30


@dataclass(frozen=True, slots=True)
class Rendered:
    """The two files of a report."""

    report: str
    evidence: str


def render(audit: Audit, policy: Policy | None = None, evidence: str = "evidence.html") -> Rendered:
    """The report and its evidence as text.

    Parameters
    ----------
    policy
        Sets the goals; the default one unless given.
    evidence
        The name under which the evidence lies beside the report.
    """
    policy = policy or default_policy()
    sections = evidence_page.sections_of(audit, policy)
    pages = [
        _page(audit, own, section["anchor"], section["places"], policy)
        for own, section in zip(audit.audits, sections, strict=True)
    ]
    heads = [page["head"] for page in pages]
    worst: tuple[str, ...] = ("wrong", "look", "not_measured", "fine")
    code = script("report.js")
    made = environment("report.css").get_template("report.html")
    report = made.render(
        pages=pages,
        evidence=evidence,
        marks=MARKS,
        spoken=SPOKEN,
        joint=several_benchmarks(audit.audits, heads),
        joint_code=min((head.code for head in heads), key=worst.index),
        record=tables.record(audit),
        command=audit.command,
        version=audit.hqm_version,
        terms_met=Terms(),
        script=code.text,
        script_hash=code.hash,
    )
    return Rendered(report, evidence_page.render(audit, sections))


def in_a_notebook(audit: Audit) -> str:
    """The report in a frame of one screen, which shares no style with the notebook."""
    page = escape(render(audit).report, quote=True)
    return f'<iframe srcdoc="{page}" sandbox style="width:100%;height:800px;border:0"></iframe>'


def _page(
    whole: Audit,
    audit: BenchmarkAudit,
    anchor: str,
    places: Mapping[str, str],
    policy: Policy,
) -> dict[str, Any]:
    """What the template shows of one benchmark, by name."""
    metric, share = leading(audit), is_share(audit, leading(audit))
    head, budget = headline(audit, policy), audit.budget.get(metric)
    mend, reading = mend_lines(audit, to_mend(audit)), to_read(audit)
    apart, pairs = pairs_apart(audit)
    again = find(audit, "test_retest.same_winner", metric)
    sizes = [
        counted(audit.items_used, "item"),
        *([counted(audit.images, "picture")] if audit.images else []),
        counted(len(audit.respondents), "model"),
        metric,
    ]
    faulty = any(line.code == "wrong" for line in mend) or head.code == "look"
    nothing = "Nothing to mend in the items" if head.code == "fine" else "Nothing found to mend"
    return {
        "audit": audit,
        "anchor": anchor,
        "head": head,
        "size": " · ".join(sizes),
        "metric": metric,
        "percent": share,
        "places": places,  # title of a part of the evidence -> its anchor
        "remarks": (*remarks(audit), stopped(audit)),
        "budget": None,
        "budget_title": "The error budget",
        "strip": "",
        **(_budget(whole, audit, budget) if budget else {}),
        "board": {"wide": board_figure(audit), "narrow": board_figure(audit, narrow=True)},
        "board_title": board_title(audit),
        "slopes": len(orders(audit)) > 1,
        "mend": mend[:_LINES],
        "mend_title": "What to mend" if faulty else nothing,
        "examined": "" if faulty else _examined(audit, len(mend)),
        "more_mend": max(0, len(mend) - _LINES),
        "cards": [
            {**item, "why": _why(audit, item)}
            for item in reading[: _CARDS if head.code != "fine" else 0]
        ],
        "to_read": len(reading),
        "reading_note": reading_note(audit),
        "grid": _grid(audit, share),
        "types_title": types_title(audit),
        "answers": seven(audit, policy),
        "statement": str(statement(audit)),
        "bibtex": bibtex(audit, whole.hqm_version),
        "badge": badge(Audit((audit,)), policy),
        "apart": apart,
        "pairs": pairs,
        "winner": percent(again.value) if again is not None else tables.DASH,
    }


def _budget(whole: Audit, audit: BenchmarkAudit, budget: ErrorBudget) -> dict[str, Any]:
    """The error budget for a wide and a narrow page, and as a strip beside those of others."""
    missing = [row for row in budget.rows if row.status == "not_measured"]
    strip = ""
    if len(whole.audits) > 1:
        strip = budget_strip(audit.title, budget, Points.of(audit), shared_axis(whole.audits))
    return {
        "budget": {
            "wide": budget_figure(audit, budget),
            "narrow": budget_figure(audit, budget, narrow=True),
        },
        "budget_title": budget_title(audit, budget),
        "strip": strip,
        "notes": list(budget_notes(audit, budget)),
        "unmeasured": listed(
            [
                f"{SOURCES[row.source][0].lower()} ({how_to_measure(audit, row.source)})"
                for row in missing
            ]
        ),
    }


def _examined(audit: BenchmarkAudit, notes: int) -> str:
    """What was looked at where nothing is faulty."""
    pictures = [counted(audit.images, "picture")] if audit.images else []
    makes = "makes" if notes == 1 else "make"
    rest = f" {counted(notes, 'note')} that {makes} no score wrong:" if notes else ""
    what = " about ".join([counted(audit.n_items, "item"), *pictures])
    key = "" if audit.task == "caption" else "speaks against a key, "
    return (
        f"The data of {what} were examined: nothing that was looked for {key}gives an answer away"
        f" or stands there twice.{rest}"
    )


def _why(audit: BenchmarkAudit, item: Mapping[str, Any]) -> str:
    """Why to read an item: what contradicts it, or how many fail it, the best among them."""
    if item["beside"]:
        return f"{item['why']} (also {listed(item['beside'][:2])})"
    if not item["fails"]:
        return str(item["why"])
    ordered = order_in(audit, audit.reference)
    if len(item["fails"]) == len(ordered):
        return "No model gives the key"
    best = sum(1 for _ in takewhile(item["fails"].__contains__, ordered))
    among = {0: "", 1: ", the best one among them"}.get(best, f", the best {best} among them")
    verb = "says" if len(item["fails"]) == 1 else "say"
    return f"{len(item['fails'])} of {len(ordered)} models {verb} otherwise than the key{among}"


def _grid(audit: BenchmarkAudit, share: bool) -> dict[str, Any] | None:
    """The scores by type, the types with the most models above chance as they stand in the card."""
    measured = {row.type: row for row in types_measured(audit)}
    names = [kind for kind, row in measured.items() if row.items]
    names += [k for who in audit.respondents for k in who.by_type if k not in measured]
    names = list(dict.fromkeys(names))
    if len(names) < 2:
        return None
    shown, kinds = _that_fit(names), []
    for name in shown:
        row = measured.get(name)
        code, status = "not_measured", ""
        if row is not None and row.at_chance:
            code, status = "wrong", "at chance"
        elif row is not None and row.leaks:
            code, status = "wrong", "leaks"
        elif row is not None and row.measurable:
            code, status = "fine", "alone"
        elif row is not None and row.missing:
            code, status = "look", f"+{so_many(row.missing)}"
        count = row.items if row is not None else 0
        kinds.append({"name": name, "count": count, "code": code, "status": status})
    scores = {who.name: who.by_type for who in audit.respondents}
    values = [v for own in scores.values() for v in own.values() if v is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    ordered = order_in(audit, audit.reference)
    rows = [
        {
            "name": short(name),
            "cells": [_cell(scores[name].get(kind), low, high, share) for kind in shown],
        }
        for name in ordered[:_ROWS]
    ]
    more = len(names) - len(shown)
    cut = [f"{more} further types"] if more else []
    cut += [f"{len(ordered) - _ROWS} further models"] if len(ordered) > _ROWS else []
    text = f"{listed(cut)} stand in the evidence." if cut else ""
    return {"kinds": kinds, "rows": rows, "cut": text}


def _that_fit(names: Sequence[str]) -> list[str]:
    """As many types as have room for their longest word."""
    longest = max(width_of(word, 13) for name in names for word in name.split() or [""])
    return list(names[: min(_KINDS, max(2, int(940 / (longest + 12))))])


def _cell(value: float | None, low: float, high: float, share: bool) -> Text:
    """A score, and how dark it is drawn."""
    if value is None:
        return Text(tables.DASH, heat=0)
    heat = round(6 * (value - low) / (high - low)) if high > low else 3
    return Text(number(100 * value, 0) if share else number(value, 2), heat=heat)


# --- the index: one site from many audits, a row a benchmark, a page behind each row ---


_WITHOUT = "there are no scored answers"


@dataclass(frozen=True, slots=True)
class Dated:
    """An audit, or the data of a printed table's, with the day on which its file was written, and
    the name of the file's folder.
    """

    audit: Audit | Mapping[str, Any]
    date: str
    name: str


def _count(number: int | None, about: str) -> dict[str, Any]:
    """A count of a row with what was counted; or no number, and why there is none."""
    return {"number": number, "about": about}


def index_files(dated: Sequence[Dated], policy: Policy | None = None) -> dict[str, str]:
    """Return the files of the site by their names, with the audits and the rows as JSON."""
    files: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    audits = [own for each in dated if isinstance(each.audit, Audit) for own in each.audit.audits]
    titles = [audit.title for audit in audits]
    for each in dated:
        whole = each.audit
        if not isinstance(whole, Audit):
            folder = _folder(each.name, [row["folder"] for row in rows])
            page = published_page.render(whole["audits"][0], whole["command"])
            text = json.dumps(whole, indent=1, ensure_ascii=False)
            files |= {f"{folder}/report.html": page, f"{folder}/audit.json": text}
            rows.append(_printed_row(whole, folder, each.date))
            continue
        for audit in whole.audits:
            if titles.count(audit.title) > 1:
                # one benchmark with the answers of several papers: each is a row of its own
                audit = replace(audit, title=f"{audit.title}: {each.name}")
            own = Audit((audit,), whole.command, whole.record, whole.hqm_version)
            name = each.name if len(whole.audits) == 1 else audit.benchmark
            folder = _folder(name, [row["folder"] for row in rows])
            made = render(own, policy)
            files |= {
                f"{folder}/report.html": made.report,
                f"{folder}/evidence.html": made.evidence,
                f"{folder}/audit.json": own.to_json(),
            }
            rows.append(_row(audit, folder, each.date, whole.command, policy))
    heads = [headline(audit, policy) for audit in audits]
    first, measured = "These tables were printed without the answers behind them.", ""
    if audits:
        first = _undecided_leaderboards(audits) or several_benchmarks(audits, heads)
        measured = _seldom_measured(audits)
    code = script("index.js")
    files["index.html"] = (
        environment("report.css")
        .get_template("index.html")
        .render(
            rows=rows,
            joint=first,
            measured=measured,
            marks=MARKS,
            spoken=SPOKEN,
            version=__version__,
            script=code.text,
            script_hash=code.hash,
        )
    )
    written = [_as_json(row) for row in rows]
    whole_index = {"finding": first, "measured": measured, "rows": written}
    files["index.json"] = json.dumps(whole_index, indent=1, ensure_ascii=False) + "\n"
    return files


def _folder(name: str, taken: Sequence[str]) -> str:
    plain = re.sub(r"[^\w-]+", "-", name).strip("-") or "benchmark"
    numbered = (f"{plain}-{number}" for number in count(2))
    return next(each for each in chain([plain], numbered) if each not in taken)


def _row(
    audit: BenchmarkAudit, folder: str, date: str, command: str, policy: Policy | None
) -> dict[str, Any]:
    head, points = headline(audit, policy), Points.of(audit)
    budget = audit.budget.get(leading(audit))
    widest = largest(rows_of(audit))
    missing = [row for row in rows_of(audit) if row.status == "not_measured"]
    size = [counted(audit.items_used, "item"), counted(len(audit.respondents), "model")]
    strip, error = "", None
    if budget is not None:
        strip = budget_strip(audit.title, budget, points, axis_end(budget, points.factor))
    if widest is not None and widest.half is not None:
        error = widest.half * points.factor
    return {
        "folder": folder,
        "title": audit.title,
        "size": " · ".join((*size, leading(audit))),
        "code": head.code,
        "verdict": head.text,
        "statement": audit.statement,
        "strip": strip,
        "error": error,
        "unmeasured": listed([SOURCES[row.source][0].lower() for row in missing]),
        "leaks": _leaks(audit),
        "keys": _keys(audit),
        "tied": _tied(audit),
        "date": date,
        "command": command,
    }


def _printed_row(whole: Mapping[str, Any], folder: str, date: str) -> dict[str, Any]:
    """The row of a printed table: whether its numbers contradict each other, and nothing else."""
    (table,) = whole["audits"]
    said, _, _ = str(table["consistency"]).partition(" Checked: ")
    contradicted = any(not each["unless"] for each in table["violations"])
    size = [counted(len(table["respondents"]), "model"), counted(len(table["columns"]), "column")]
    nothing = _count(None, "the table prints no answers")
    return {
        "folder": folder,
        "title": f"{str(table['benchmark']).replace('_', ' ')}, as printed",
        "size": " · ".join(size),
        "code": "wrong" if contradicted else "not_measured",
        "verdict": said.partition(" Possible only ")[0],
        "statement": None,
        "strip": "",
        "error": None,
        "unmeasured": "every source of error, because a printed table holds no answers",
        "leaks": nothing,
        "keys": nothing,
        "tied": nothing,
        "date": date,
        "command": whole["command"],
    }


def _leaks(audit: BenchmarkAudit) -> dict[str, Any]:
    searched = find(audit, "solvability.blind_accuracy", leading(audit))
    if searched is None or searched.value is None:
        return _count(None, searched.reason if searched is not None else "nothing to predict")
    leaks = leaks_shown(audit)
    return _count(len(leaks), listed([leak.name for leak in leaks[:3]]))


def _keys(audit: BenchmarkAudit) -> dict[str, Any]:
    searched = find(audit, "items.label_errors", leading(audit))
    faults = [mend for mend in audit.mend if mend.what in ("keys", "two_keys")]
    if not faults and (searched is None or searched.value is None):
        return _count(None, searched.reason if searched is not None else "there are no keys")
    return _count(
        sum(mend.count for mend in faults), listed([n for m in faults for n in m.names[:3]])
    )


def _tied(audit: BenchmarkAudit) -> dict[str, Any]:
    if not scored_answers(audit):
        return _count(None, _WITHOUT)
    if len(audit.respondents) < 2:
        return _count(None, "one model")
    first = first_place(audit)
    return _count(len(first), listed([fitting(short(name)) for name in first[:4]]))


def _undecided_leaderboards(audits: Sequence[BenchmarkAudit]) -> str:
    """How many leaderboards nobody is shown to lead, with the one on which most models share the
    top; empty where each has a first.
    """
    boards = [
        (len(first_place(audit)), len(audit.respondents), audit.title)
        for audit in audits
        if len(audit.respondents) > 1
    ]
    shared = [board for board in boards if board[0] > 1]
    if not shared:
        return ""
    top, models, title = max(shared)
    return (
        f"On {in_letters(len(shared))} of {in_letters(len(boards))} leaderboards no model is shown"
        f" to be first. On {title}, {in_letters(top)} of {models} share the top."
    )


def _seldom_measured(audits: Sequence[BenchmarkAudit]) -> str:
    """In how many audits another wording was asked and people judged, and what a wording moves at
    most.
    """
    moved: list[tuple[float, str]] = []
    asked = judged = 0
    for audit in audits:
        budget = audit.budget.get(leading(audit))
        if budget is None:
            continue
        judged += audit.scoring == "people" or budget.row("people").status in ("ok", "few")
        wordings = [row for row in map(budget.row, ("wording", "negation")) if row.status == "ok"]
        asked += bool(wordings)
        points = Points.of(audit)
        moved += [(row.half * points.factor, audit.title) for row in wordings if row.half]
    sentence = (
        f"Another wording was asked in {in_letters(asked)} of {in_letters(len(audits))} audits, and"
        f" people judged the answers of {in_letters(judged) if judged else 'none'}."
    )
    if moved:
        half, title = max(moved)
        sentence += f" A wording moves one model by up to {number(half, 1)} points ({title})."
    return sentence


def _as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row, its picture as SVG; the statement in parts and as a line."""
    statement = row["statement"]  # None of a printed table, which holds no answers
    parts, line = (asdict(statement), str(statement)) if statement is not None else (None, "")
    return {**row, "statement": parts, "line": line, "audit": f"{row['folder']}/audit.json"}
