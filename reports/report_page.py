"""The report: one page that a reader looks at, and the evidence beside it.

Both are one file each, load nothing, and have the same bytes for the same audit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from hqm.reports import evidence_page, tables
from hqm.reports.benchmark_card import badge, bibtex
from hqm.reports.evidence_page import environment, script
from hqm.reports.item_tables import ToRead, to_read
from hqm.reports.phrases import Terms, counted, in_words, is_share, listed
from hqm.reports.report_figures import board_figure, budget_figure, budget_strip, shared_axis
from hqm.reports.score_tables import order_in, orders, pairs_apart
from hqm.reports.sentences import (
    MARKS,
    SOURCES,
    Answer,
    Headline,
    MendLine,
    Points,
    board_title,
    budget_notes,
    budget_title,
    headline,
    mend_lines,
    reading_note,
    seven,
    several_benchmarks,
    statement,
    types_title,
)
from hqm.reports.side_tables import remarks, stopped
from hqm.reports.tables import default_policy, find, leading, number, percent, short

from hqm import Audit, BenchmarkAudit, Policy, to_mend, types_measured

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
class Drawn:
    """A figure for a wide and for a narrow page."""

    wide: str
    narrow: str


@dataclass(frozen=True, slots=True)
class Card:
    """One item to read."""

    item: str
    place: int
    question: str
    key_words: str
    type: str
    thumbnail: str
    why: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A column of the grid: a type, its items, and whether it may be scored alone."""

    name: str
    items: int
    code: str
    status: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A score in the grid, and how dark it is drawn."""

    text: str
    heat: int


@dataclass(frozen=True, slots=True)
class GridRow:
    """A model in the grid."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Models by types."""

    kinds: tuple[Kind, ...]
    rows: tuple[GridRow, ...]
    cut: str
    """What is not shown, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The report of one benchmark."""

    audit: BenchmarkAudit
    anchor: str
    head: Headline
    size: str
    metric: str
    percent: bool
    unit: str
    places: Mapping[str, str]
    """Title of a part of the evidence -> its anchor."""
    budget: Drawn | None
    budget_title: str
    strip: str
    remarks: tuple[str, ...]
    """What holds for all numbers: of a short form, or where a rule stopped the asking."""
    notes: tuple[str, ...]
    unmeasured: str
    board: Drawn | None
    board_title: str
    slopes: bool
    mend: tuple[MendLine, ...]
    mend_title: str
    examined: str
    more_mend: int
    cards: tuple[Card, ...]
    to_read: int
    reading_note: str
    grid: Grid | None
    types_title: str
    answers: tuple[Answer, ...]
    statement: str
    bibtex: str
    badge: str
    apart: str
    pairs: str
    winner: str


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
        _page(audit, own, section.anchor, section.places, policy)
        for own, section in zip(audit.audits, sections, strict=True)
    ]
    heads = [page.head for page in pages]
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
) -> Page:
    metric, share = leading(audit), is_share(audit, leading(audit))
    head, budget = headline(audit, policy), audit.budget.get(leading(audit))
    mend, reading = mend_lines(audit, to_mend(audit)), to_read(audit)
    apart, pairs = pairs_apart(audit)
    again = find(audit, "test_retest.same_winner", metric)
    sizes = [counted(audit.items_used, "item")]
    sizes += [counted(audit.images, "picture")] if audit.images else []
    sizes += [counted(len(audit.respondents), "model"), metric]
    missing = [row for row in budget.rows if row.status == "not_measured"] if budget else []
    suspect = head.code != "fine"
    faulty = any(line.code == "wrong" for line in mend) or head.code == "look"
    return Page(
        audit=audit,
        anchor=anchor,
        head=head,
        size=" · ".join(sizes),
        metric=metric,
        percent=share,
        unit=Points.of(audit).unit,
        places=places,
        budget=(
            Drawn(budget_figure(audit, budget), budget_figure(audit, budget, narrow=True))
            if budget
            else None
        ),
        budget_title=budget_title(audit, budget) if budget else "The error budget",
        strip=(
            budget_strip(audit.title, budget, Points.of(audit), shared_axis(whole.audits))
            if budget and len(whole.audits) > 1
            else ""
        ),
        remarks=(*remarks(audit), in_words(stopped(audit))),
        notes=tuple(budget_notes(audit, budget)) if budget else (),
        unmeasured=listed([f"{SOURCES[row.source][0].lower()} ({row.option})" for row in missing]),
        board=(
            Drawn(board_figure(audit), board_figure(audit, narrow=True))
            if board_figure(audit)
            else None
        ),
        board_title=board_title(audit),
        slopes=len(orders(audit)) > 1,
        mend=tuple(mend[:_LINES]),
        mend_title="What to mend" if faulty else _nothing(head),
        examined="" if faulty else _examined(audit, len(mend)),
        more_mend=max(0, len(mend) - _LINES),
        cards=tuple(_card(audit, item) for item in reading[: _CARDS if suspect else 0]),
        to_read=len(reading),
        reading_note=reading_note(audit),
        grid=_grid(audit, share),
        types_title=types_title(audit),
        answers=seven(audit, policy),
        statement=str(statement(audit)),
        bibtex=bibtex(audit, whole.hqm_version),
        badge=badge(Audit((audit,)), policy),
        apart=str(apart),
        pairs=str(pairs),
        winner=percent(again.value) if again is not None else tables.DASH,
    )


def _nothing(head: Headline) -> str:
    return "Nothing to mend in the items" if head.code == "fine" else "Nothing found to mend"


def _examined(audit: BenchmarkAudit, notes: int) -> str:
    """What was looked at where nothing is faulty."""
    what = [f"{counted(audit.items, 'item')}"]
    what += [counted(audit.images, "picture")] if audit.images else []
    rest = f" {counted(notes, 'note')} that makes no score wrong:" if notes == 1 else ""
    rest = f" {notes} notes that make no score wrong:" if notes > 1 else rest
    return (
        f"{listed(what)} were examined: nothing that was looked for speaks against a key, gives an"
        f" answer away or stands there twice.{rest}"
    )


def _card(audit: BenchmarkAudit, item: ToRead) -> Card:
    """An item with who fails it: how many, and whether the best are among them."""
    why = item.why
    if item.beside:
        why += f" (also {listed(item.beside[:2])})"
    elif item.fails:
        best = 0
        for name in order_in(audit, audit.reference):
            if name not in item.fails:
                break
            best += 1
        who = f"{len(item.fails)} of {len(audit.respondents)} models say otherwise than the key"
        among = {0: "", 1: ", the best one among them"}.get(best, f", the best {best} among them")
        why = who + among
    return Card(
        item.item, item.place, item.question, item.key_words, item.type, item.thumbnail, why
    )


def _grid(audit: BenchmarkAudit, share: bool) -> Grid | None:
    """The scores by type, the types with the most models above chance as they stand in the card."""
    measured = {row.type: row for row in types_measured(audit)}
    names = [kind for kind, row in measured.items() if row.items]
    names += [k for who in audit.respondents for k in who.by_type if k not in measured]
    names = list(dict.fromkeys(names))
    if len(names) < 2:
        return None
    kinds = []
    for name in names[:_KINDS]:
        row = measured.get(name)
        code: str = "not_measured"
        status = ""
        if row is not None and row.at_chance:
            code, status = "wrong", "at chance"
        elif row is not None and row.measurable:
            code, status = "fine", "alone"
        elif row is not None and row.missing:
            code, status = "look", f"+{row.missing:,}"
        kinds.append(Kind(name, row.items if row is not None else 0, code, status))
    scores = {who.name: who.by_type for who in audit.respondents}
    values = [v for own in scores.values() for v in own.values() if v is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    ordered = order_in(audit, audit.reference)
    rows = [
        GridRow(
            short(name), tuple(_cell(scores[name].get(k.name), low, high, share) for k in kinds)
        )
        for name in ordered[:_ROWS]
    ]
    cut = []
    if len(names) > _KINDS:
        cut.append(f"{len(names) - _KINDS} further types")
    if len(ordered) > _ROWS:
        cut.append(f"{len(ordered) - _ROWS} further models")
    return Grid(tuple(kinds), tuple(rows), f"{listed(cut)} stand in the evidence." if cut else "")


def _cell(value: float | None, low: float, high: float, share: bool) -> Cell:
    if value is None:
        return Cell(tables.DASH, 0)
    heat = round(6 * (value - low) / (high - low)) if high > low else 3
    return Cell(number(100 * value, 0) if share else number(value, 2), heat)
