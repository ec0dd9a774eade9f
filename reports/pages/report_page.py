"""The report: one page that a reader looks at, and the evidence beside it.

Both are one file each, load nothing, and have the same bytes for the same audit.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import chain, count, repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from hqm.reports.figures.drawings import width_of
from hqm.reports.figures.report_figures import (
    board_figure,
    budget_figure,
    budget_strip,
    shared_axis,
)
from hqm.reports.pages import evidence_page
from hqm.reports.pages.benchmark_card import badge, bibtex
from hqm.reports.pages.error_picture import SOURCES, ErrorPicture, largest_row
from hqm.reports.pages.evidence_page import environment, script
from hqm.reports.pages.leaderboard_sentences import (
    board_title,
    contrasts_of,
    is_first_shown,
    lead,
    lead_in_words,
    lead_margin,
    type_limit,
)
from hqm.reports.pages.phrases import (
    Terms,
    capped_count,
    join_names,
    number_word,
    pluralise,
    verb_form,
)
from hqm.reports.pages.sentences import (
    STATUS_SYMBOLS,
    answer_questions,
    budget_notes,
    budget_rows,
    headline,
    how_to_measure,
    joint_sentence,
    reading_notes,
    remedy_lines,
    statement,
)
from hqm.reports.tables import table as tables
from hqm.reports.tables.item_tables import ItemToRead, reading_list
from hqm.reports.tables.score_tables import (
    count_separated_pairs,
    guessing_sentence,
    names_in_order,
    orders,
    respondents_in_order,
)
from hqm.reports.tables.side_tables import remarks, stop_note
from hqm.reports.tables.table import (
    Text,
    default_policy,
    drop_none,
    find_estimate,
    leading_metric,
    number,
    percent,
    short_name,
)
from hqm.reports.tables.type_tables import STANDING_LABELS, types_title

from hqm import Audit, BenchmarkAudit, ErrorBudget, Policy, Statement, __version__
from hqm.auditing.definitions import (
    guessing_level,
    leaks_shown,
    scored_answers,
    types_measured,
)
from hqm.auditing.score_points import Points, is_share
from hqm.auditing.seven_questions import find_remedies, seven_answers
from hqm.text import DASH

if TYPE_CHECKING:
    from hqm.auditing.definitions import TypeMeasured
    from hqm.auditing.opinion import SecondOpinion

SPOKEN_LABELS: Mapping[str, str] = {
    "fine": "fine",
    "look": "look at this",
    "wrong": "wrong",
    "not_shown": "not shown",
    "not_measured": "not measured",
}
"""What a mark is called for those who hear the page."""
_MAX_CARDS = 6
_MAX_LINES = 5
_MAX_TYPES = 14
"""Types, at most, that the grid shows."""
_MAX_ROWS = 30


@dataclass(frozen=True, slots=True)
class Rendered:
    """The two files of a report."""

    report: str
    evidence: str


def render(
    audit: Audit,
    policy: Policy | None = None,
    evidence: str = "evidence.html",
    opinions: Sequence[SecondOpinion] = (),
) -> Rendered:
    """The report and its evidence as text.

    Parameters
    ----------
    policy
        Sets the goals; the default one unless given.
    evidence
        The name under which the evidence lies beside the report.
    opinions
        What libraries compute again of each benchmark, for the evidence.
    """
    policy = policy or default_policy()
    # The evidence first, since the report links to its anchors.
    sections = evidence_page.sections_of(audit, policy, opinions)
    pages = []
    for benchmark, section in zip(audit.audits, sections, strict=True):
        pages.append(_page(audit, benchmark, section.anchor, section.anchors, policy))
    heads = list(map(itemgetter("head"), pages))
    severity_order: tuple[str, ...] = ("wrong", "look", "not_shown", "not_measured", "fine")
    code = script("report.js")
    template = environment("report.css").get_template("report.html")
    report = template.render(
        pages=pages,
        evidence=evidence,
        marks=STATUS_SYMBOLS,
        spoken=SPOKEN_LABELS,
        joint=joint_sentence(audit.audits),
        # The mark over several benchmarks is that of the worst.
        joint_code=min(map(attrgetter("code"), heads), key=severity_order.index),
        record=tables.record_table(audit),
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
    # `sandbox` without exceptions runs no script: a notebook may be opened by someone who trusts no
    # audit.
    return f'<iframe srcdoc="{page}" sandbox style="width:100%;height:800px;border:0"></iframe>'


def _page(
    parent: Audit,
    audit: BenchmarkAudit,
    anchor: str,
    anchors: Mapping[str, str],
    policy: Policy,
) -> dict[str, object]:
    """What the template shows of one benchmark, by name."""
    metric = leading_metric(audit)
    share = is_share(audit, metric)
    head = headline(audit, policy)
    budget = audit.budget.get(metric)
    remedies = remedy_lines(audit, find_remedies(audit))
    items_to_read = reading_list(audit)
    cards = []
    # Cards of suspicious items beside the verdict "no fault found" would contradict it.
    if head.code != "fine":
        for item in items_to_read[:_MAX_CARDS]:
            reason = _reason_to_read(audit, item)
            cards.append(replace(item, why=reason))
    n_separated, n_pairs = count_separated_pairs(audit)
    winner = DASH
    # A rerun of the same items says nothing of new ones: both stand on the page, apart.
    if same_winner := find_estimate(audit, "test_retest.same_winner", metric):
        winner = percent(same_winner.value)
    sizes = [pluralise(audit.items_used, "item")]
    if audit.images:
        sizes.append(pluralise(audit.images, "picture"))
    sizes += [pluralise(len(audit.respondents), "model"), metric]
    remedies_title = "What to correct"
    examined = ""
    # A heading that says "correct" over mere notes would send readers looking for faults.
    if "wrong" not in map(attrgetter("code"), remedies) and head.code != "look":
        remedies_title = "Nothing found to correct"
        is_tested = seven_answers(audit, policy).codes["faulty"] == "fine"
        examined = _examined(audit, len(remedies), is_tested=is_tested)
    return {
        "audit": audit,
        "anchor": anchor,
        "head": head,
        "size": " · ".join(sizes),
        "metric": metric,
        "percent": share,
        "anchors": anchors,  # title of a part of the evidence -> its anchor
        "remarks": (*remarks(audit), stop_note(audit)),
        "budget": None,
        "budget_title": "The error budget",
        "strip": "",
        **(_budget(parent, audit, budget) if budget else {}),
        "board": {
            "wide": board_figure(audit, policy),
            "narrow": board_figure(audit, policy, narrow=True),
        },
        "board_title": board_title(audit, policy),
        "guessing": guessing_sentence(audit),
        "margin": lead_margin(audit, policy),
        "slopes": len(orders(audit)) > 1,
        "remedies": remedies[:_MAX_LINES],
        "remedies_title": remedies_title,
        "examined": examined,
        "n_more_remedies": max(0, len(remedies) - _MAX_LINES),
        "cards": cards,
        "to_read": len(items_to_read),
        "reading_note": " ".join(reading_notes(audit)),
        "grid": _grid(audit, share, policy.coverage.error),
        "type_limit": type_limit(audit, policy),
        "types_title": types_title(audit, policy.coverage.error),
        "answers": answer_questions(audit, policy),
        "statement": str(statement(audit)),
        "bibtex": bibtex(audit, parent.hqm_version),
        "badge": badge(Audit((audit,)), policy),
        "n_separated": n_separated,
        "n_pairs": n_pairs,
        "winner": winner,
    }


def _budget(parent: Audit, audit: BenchmarkAudit, budget: ErrorBudget) -> dict[str, object]:
    """The error budget for a wide and a narrow page, and as a strip beside those of others."""
    missing = [
        f"{SOURCES[row.source][0].lower()} ({how_to_measure(audit, row.source)})"
        for row in budget.unmeasured
    ]
    strip = ""
    if len(parent.audits) > 1:
        strip = budget_strip(
            audit.title, budget, Points.for_metric(audit), shared_axis(parent.audits)
        )
    return {
        "budget": {
            "wide": budget_figure(audit, budget),
            "narrow": budget_figure(audit, budget, narrow=True),
        },
        "budget_title": ErrorPicture.of_audit(audit, budget).title,
        "strip": strip,
        "notes": list(budget_notes(audit, budget)),
        "unmeasured": join_names(missing),
    }


def _examined(audit: BenchmarkAudit, notes: int, *, is_tested: bool) -> str:
    """What was searched in an audit without faults; `is_tested` where a test of keys found none."""
    size = pluralise(audit.n_items, "item")
    if audit.images:
        size += f" about {pluralise(audit.images, 'picture')}"
    notes_clause = ""
    if notes:
        notes_clause = f" {pluralise(notes, 'note')} without effect on the scores:"
    key = "suspicious key, " if is_tested and audit.task != "caption" else ""
    return f"{size} examined: no {key}leaked answer or duplicate was found.{notes_clause}"


def _reason_to_read(audit: BenchmarkAudit, item: ItemToRead) -> str:
    """Why to read an item: what contradicts it, or how many fail it, the best among them."""
    if item.beside:
        return f"{item.why} (also {join_names(item.beside[:2])})"
    if not item.fails:
        return item.why
    ordered = names_in_order(audit, audit.reference)
    if len(item.fails) == len(ordered) and not item.reversed:
        return "No model gives the key" if item.key else "No model solves it"
    # Counted from the top of the leaderboard: that the best fail is the reason to suspect the key.
    best = 0
    while best < len(ordered) and ordered[best] in item.fails:
        best += 1
    among = {0: "", 1: ", the best one among them"}.get(best, f", the best {best} among them")
    if item.reversed:
        verb = verb_form(len(item.fails), "scores", "score")
        return f"{len(item.fails)} of {len(ordered)} models {verb} below its mean{among}"
    if item.key:
        verb = f"{verb_form(len(item.fails), 'disagrees', 'disagree')} with the key"
    else:
        verb = f"{verb_form(len(item.fails), 'fails', 'fail')} it"
    return f"{len(item.fails)} of {len(ordered)} models {verb}{among}"


def _cut_note(n_further_types: int, n_further_models: int) -> str:
    """What of the scores by type stands in the evidence alone."""
    notes = []
    if n_further_types > 0:
        notes.append(f"{n_further_types} further types")
    if n_further_models > 0:
        notes.append(f"{n_further_models} further models")
    if notes:
        return f"The evidence has {join_names(notes)}."
    return ""


def _guesses_by_type(audit: BenchmarkAudit) -> Mapping[str, float]:
    """What guessing reaches by type; empty where it was not measured."""
    guessing = guessing_level(audit)
    if guessing is not None:
        return guessing.by_type
    return {}


def _grid(audit: BenchmarkAudit, share: bool, limit: float) -> dict[str, object] | None:
    """The scores by type: a row a model, a column a type, with how dark each cell is."""
    measured = {row.type: row for row in types_measured(audit, limit)}
    names = [kind for kind, row in measured.items() if row.items]
    # Types that the card does not list come last: an audit may have been made with another card.
    for respondent in audit.respondents:
        names += [kind for kind in respondent.by_type if kind not in (*measured, *names)]
    if len(names) < 2:
        return None
    displayed = _fitting_types(names)
    respondents = respondents_in_order(audit)
    values = []
    for respondent in respondents:
        values += drop_none(respondent.by_type.values())
    low = min(values, default=0.0)
    high = max(values, default=1.0)
    guesses = _guesses_by_type(audit)
    # Guessing is a row of the grid, and so its colours are on the same scale.
    low = min((low, *guesses.values()))
    high = max((high, *guesses.values()))
    lines: dict[str, Mapping[str, float | None]] = {}
    for respondent in respondents[:_MAX_ROWS]:
        lines[respondent.name] = respondent.by_type
    if guesses and share:
        lines["Guessing"] = guesses
    rows = []
    for name, scores in lines.items():
        cells = [_cell(scores.get(kind), low, high, share) for kind in displayed]
        rows.append({"name": short_name(name), "cells": cells})
    text = _cut_note(len(names) - len(displayed), len(respondents) - _MAX_ROWS)
    kinds = list(map(_type_heading, displayed, map(measured.get, displayed)))
    return {"kinds": kinds, "rows": rows, "cut": text}


def _type_heading(name: str, row: TypeMeasured | None) -> dict[str, object]:
    """The heading of a type: its items, and whether it may be reported alone."""
    if row is None:
        return {"name": name, "count": 0, "code": "not_measured", "status": ""}
    status, code = STANDING_LABELS[row.standing]
    if row.missing and row.standing not in ("chance", "leaks"):
        # whatever it is worth, its score is not exact enough
        code = "look"
        if row.helped_by_items:
            status = f"+{capped_count(row.missing)}"
        else:
            status = "more items do not help"
    return {"name": name, "count": row.items, "code": code, "status": status}


def _fitting_types(names: Sequence[str]) -> list[str]:
    """The first types, as many as fit beside one another with their longest word unbroken."""
    # a heading breaks between words only; 940 pixels are the width of the grid without names
    words = " ".join(names).split() or [""]
    max_width = max(map(width_of, words, repeat(13)))
    return list(names[: min(_MAX_TYPES, max(2, int(940 / (max_width + 12))))])


def _cell(value: float | None, low: float, high: float, share: bool) -> Text:
    """A score with its step of colour from 0 (lowest) to 6 (highest)."""
    if value is None:
        return Text(DASH, heat=0)
    # Where all scores are equal, each has the middle colour: neither good nor bad.
    heat = round(6 * (value - low) / (high - low)) if high > low else 3
    return Text(number(100 * value, 0) if share else number(value, 2), heat=heat)


# --- the index: one site from many audits, a row a benchmark, a page behind each row ---


_NO_ANSWERS = "there are no scored answers"
_MEASURED_STATES = ("ok", "few")
"""The statuses of a source of error of which there are answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherAudit:
    """An audit of another layout, which an extension shows by the group `hqm.pages`.

    Parameters
    ----------
    title, size, verdict
        The words of its row.
    is_wrong
        Whether what it audits contradicts itself.
    unmeasured
        The sources of error that it does not measure, in words.
    reason
        Why it counts no leaks, no keys and no places, as a clause.
    command
        The command that made it.
    page, text
        Its report and its audit.json.
    """

    title: str
    size: tuple[str, ...]
    is_wrong: bool
    verdict: str
    unmeasured: str
    reason: str
    command: str
    page: str
    text: str


@dataclass(frozen=True, slots=True)
class Dated:
    """An audit, with the day on which its file was written, and the name of the file's folder."""

    audit: Audit | OtherAudit
    date: str
    name: str


def _count(number: int | None, subject: str) -> dict[str, object]:
    """A count of a row with what was counted; or no number, and why there is none."""
    return {"number": number, "about": subject}


def index_files(dated: Sequence[Dated], policy: Policy | None = None) -> dict[str, str]:
    """Return the files of the site by their names, with the audits and the rows as JSON."""
    files: dict[str, str] = {}
    rows: list[dict[str, object]] = []
    audits: list[BenchmarkAudit] = []
    for entry in dated:
        if isinstance(entry.audit, Audit):
            audits += entry.audit.audits
    titles = Counter(map(attrgetter("title"), audits))
    # One axis for all rows, so that bars of different benchmarks can be compared by eye.
    end = shared_axis([audit for audit in audits if Points.for_metric(audit).are_per_cents])
    for entry in dated:
        source = entry.audit
        if isinstance(source, OtherAudit):
            folder = _unused_folder(entry.name, rows)
            files |= {f"{folder}/report.html": source.page, f"{folder}/audit.json": source.text}
            rows.append(_other_row(source, folder, entry.date))
            continue
        for audit in source.audits:
            if titles[audit.title] > 1:
                # one benchmark with the answers of several papers: each is a row of its own
                audit = replace(audit, title=f"{audit.title}: {entry.name}")
            benchmark = Audit((audit,), source.command, source.record, source.hqm_version)
            name = entry.name if len(source.audits) == 1 else audit.benchmark
            folder = _unused_folder(name, rows)
            rendered = render(benchmark, policy)
            files |= {
                f"{folder}/report.html": rendered.report,
                f"{folder}/evidence.html": rendered.evidence,
                f"{folder}/audit.json": benchmark.to_json(),
            }
            rows.append(_row(audit, folder, entry.date, source.command, end, policy))
    first = "These audits have no answers."
    measured = ""
    if audits:
        # What most readers want of a leaderboard comes first: whether its first place is shown.
        first = _undecided_leaderboards(audits, policy) or joint_sentence(audits)
        measured = _seldom_measured(audits)
    code = script("index.js")
    files["index.html"] = (
        environment("report.css")
        .get_template("index.html")
        .render(
            rows=rows,
            joint=first,
            measured=measured,
            marks=STATUS_SYMBOLS,
            spoken=SPOKEN_LABELS,
            version=__version__,
            script=code.text,
            script_hash=code.hash,
        )
    )
    index = {"finding": first, "measured": measured, "rows": list(map(_as_json, rows))}
    files["index.json"] = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
    return files


def _unused_folder(name: str, rows: Sequence[Mapping[str, object]]) -> str:
    """A folder of this name, with a number where a row has it already."""
    used_names = set(map(itemgetter("folder"), rows))
    # The name is a folder on disk and a part of an address.
    plain = re.sub(r"[^\w-]+", "-", name).strip("-") or "benchmark"
    numbered = (f"{plain}-{number}" for number in count(2))
    return next(name for name in chain([plain], numbered) if name not in used_names)


def _row(
    audit: BenchmarkAudit,
    folder: str,
    date: str,
    command: str,
    end: float,
    policy: Policy | None,
) -> dict[str, object]:
    head = headline(audit, policy)
    points = Points.for_metric(audit)
    budget = audit.budget.get(leading_metric(audit))
    widest = largest_row(budget_rows(audit))
    size = [pluralise(audit.items_used, "item"), pluralise(len(audit.respondents), "model")]
    strip = ""
    error = None
    missing = []
    if budget is not None:
        if points.are_per_cents:
            strip = budget_strip(audit.title, budget, points, end)
        missing = [SOURCES[row.source][0].lower() for row in budget.unmeasured]
    if widest is not None and widest.half is not None:
        error = widest.half * points.factor
    return {
        "folder": folder,
        "title": audit.title,
        "size": " · ".join((*size, leading_metric(audit))),
        "code": head.code,
        "verdict": head.text,
        "statement": audit.statement,
        "strip": strip,
        # what one point is, where it is no per cent
        "unit": "" if points.are_per_cents else leading_metric(audit),
        "error": error,
        "unmeasured": join_names(missing),
        "leaks": _leaks(audit),
        "keys": _keys(audit),
        "lead": _lead(audit, policy),
        "pairs": dict(zip(("differ", "all"), count_separated_pairs(audit), strict=True)),
        "date": date,
        "command": command,
    }


def _other_row(other: OtherAudit, folder: str, date: str) -> dict[str, object]:
    """The row of an audit that an extension shows: its verdict, and nothing else."""
    no_count = _count(None, other.reason)
    return {
        "folder": folder,
        "title": other.title,
        "size": " · ".join(other.size),
        "code": "wrong" if other.is_wrong else "not_measured",
        "verdict": other.verdict,
        "statement": None,
        "strip": "",
        "unit": "",
        "error": None,
        "unmeasured": other.unmeasured,
        "leaks": no_count,
        "keys": no_count,
        "lead": no_count,
        "pairs": None,
        "date": date,
        "command": other.command,
    }


def _leaks(audit: BenchmarkAudit) -> dict[str, object]:
    searched = find_estimate(audit, "solvability.blind_accuracy", leading_metric(audit))
    if searched is None or searched.value is None:
        return _count(None, searched.reason if searched is not None else "nothing to predict")
    leaks = leaks_shown(audit)
    return _count(len(leaks), join_names(list(map(attrgetter("name"), leaks[:3]))))


def _keys(audit: BenchmarkAudit) -> dict[str, object]:
    searched = find_estimate(audit, "items.label_errors", leading_metric(audit))
    faults = [remedy for remedy in audit.mend if remedy.what in ("keys", "two_keys", "reversed")]
    if not faults and (searched is None or searched.value is None):
        return _count(None, searched.reason if searched is not None else "there are no keys")
    names: list[str] = []
    n_faults = 0
    for fault in faults:
        names += fault.names[:3]
        n_faults += fault.count
    return _count(n_faults, join_names(names))


def _lead(audit: BenchmarkAudit, policy: Policy | None) -> dict[str, object]:
    """By how much the first model leads the second, and whether that is shown."""
    if not scored_answers(audit):
        return _count(None, _NO_ANSWERS)
    contrasts = contrasts_of(audit, policy)
    if not contrasts:
        return _count(None, "one model" if len(audit.respondents) < 2 else "not tested")
    points = Points.for_metric(audit)
    # As printed, so that the index sorts by the number that it shows.
    size = float(points.format(abs(lead(audit, contrasts[0]))))
    return {"number": size, "about": lead_in_words(audit, policy)}


def _undecided_leaderboards(audits: Sequence[BenchmarkAudit], policy: Policy | None) -> str:
    """On how many leaderboards the first model is not shown to differ from the second; empty where
    each has a first.
    """
    boards = [audit for audit in audits if len(audit.respondents) > 1]
    n_open = sum(not is_first_shown(audit, policy) for audit in boards)
    if not n_open:
        return ""
    return (
        f"On {number_word(n_open)} of {number_word(len(boards))} leaderboards the first model is"
        " not shown to differ from the second on new items."
    )


def _seldom_measured(audits: Sequence[BenchmarkAudit]) -> str:
    """In how many audits another wording was asked and people judged, and what a wording moves at
    most.
    """
    shifts: list[tuple[float, str]] = []
    n_reworded = n_judged = 0
    for audit in audits:
        budget = audit.budget.get(leading_metric(audit))
        if budget is None:
            continue
        # what few models answered was asked too, as the rows of the index say
        n_judged += audit.scoring == "people" or budget.row("people").status in _MEASURED_STATES
        is_reworded = False
        points = Points.for_metric(audit)
        for source in ("wording", "negation"):
            row = budget.row(source)
            if row.status in _MEASURED_STATES:
                is_reworded = True
                shifts.append(((row.half or 0.0) * points.factor, audit.title))
        n_reworded += is_reworded
    judged = number_word(n_judged) if n_judged else "none"
    reworded = number_word(n_reworded) if n_reworded else "none"
    sentence = (
        f"Another wording was asked in {reworded} of {number_word(len(audits))}"
        f" audits, and people judged the answers of {judged}."
    )
    half, title = max(shifts, default=(0.0, ""))
    if half:
        sentence += f" A wording moves one model by up to {number(half, 1)} points ({title})."
    return sentence


def _as_json(row: Mapping[str, object]) -> dict[str, object]:
    """A row, its picture as SVG; the statement in parts and as a line."""
    cells = {**row, "line": "", "audit": f"{row['folder']}/audit.json"}
    statement = row["statement"]
    if isinstance(statement, Statement):  # of another audit, which holds no answers
        cells["line"] = str(statement)
        cells["statement"] = asdict(statement)
    return cells
