"""The HTML report: one self-contained file that loads nothing and has the same bytes for the same audit."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hqm.reports import drawings, evidence, item_tables, score_tables, tables, type_tables
from hqm.reports.details import is_people
from hqm.reports.figures import facet_pairs, other_score, scatter
from hqm.reports.glossary import Reader
from hqm.reports.phrases import in_words
from hqm.reports.sentences import Point, in_short
from hqm.reports.tables import Table

from hqm import Audit, BenchmarkAudit, Cell, Policy

if TYPE_CHECKING:
    from markupsafe import Markup

FACETS = {
    "run": "Another seed",
    "form": "Another wording",
    "judge": "Another judge",
    "sight": "Without the picture",
    "human": "People",
}
"""What the report calls the facets."""
BRIEF = {
    "Reliability by source of error": "Reliability",
    "Leaderboard and tied sets": "Leaderboard",
    "Types of hallucination": "Types",
    "First and other administrations compared": "First and other",
    "Length of the answers": "Length",
    "Where the variance comes from, and what you would need": "What you would need",
    "What can be known without the picture": "Without the picture",
    "Unscored answers": "Unscored",
}
"""Shorter headings for the list of sections."""
_DRAWN = 3
"""How many metrics are drawn; the tables have all of them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its caption and an alternative text for screen readers."""

    svg: str
    caption: str
    alternative: str
    signature: str = ""
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A part of a benchmark's section: a heading, drawings, tables, and the terms that first appear in it."""

    title: str
    brief: str
    """The title in the list of sections."""
    anchor: str
    remarks: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's part of the report."""

    audit: BenchmarkAudit
    anchor: str
    points: tuple[Point, ...]
    terms: tuple[tuple[str, str], ...]
    metrics: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]
    examples: tuple[Mapping[str, Any], ...]
    facets: tuple[tuple[str, str], ...]
    types: tuple[str, ...]
    respondents: tuple[tuple[str, str], ...]


def render(audit: Audit, policy: Policy | None = None) -> str:
    """The report as text; its goals are those of the policy, of the default one unless given."""
    import jinja2
    from markupsafe import Markup

    folder = Path(__file__).parent / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["options"] = _unbroken
    script = (folder / "report.js").read_text(encoding="utf-8")
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    reader = Reader()
    summary = tables.summary(audit)
    points = [tuple(in_short(benchmark, policy)) for benchmark in audit.audits]
    first = [tuple(reader.meets(_words(benchmark_points))) for benchmark_points in points]
    summary_terms = reader.meets(summary.texts()) if len(audit.audits) > 1 else []
    sections = [
        _section(benchmark, i, benchmark_points, terms, reader)
        for i, (benchmark, benchmark_points, terms) in enumerate(zip(audit.audits, points, first, strict=True), 1)
    ]
    return environment.get_template("report.html").render(
        audit=audit,
        summary=summary,
        summary_terms=summary_terms,
        sections=sections,
        record=tables.record(audit),
        identities=tables.identities(audit),
        signatures=_signatures(audit.audits),
        style=Markup((folder / "report.css").read_text(encoding="utf-8")),  # our own file, no data in it
        script=Markup(script),  # our own file, no data in it
        script_hash=hashed,
    )


def _unbroken(text: str) -> Markup:
    """Text for the page whose options of the command line (`--criterion FILE`) stay on one line."""
    from markupsafe import Markup, escape

    option = r"(?<![\w-])--[a-z][a-z-]*(?: (?:[A-Z]+|[0-9]+)\b)?"
    return Markup(re.sub(option, r'<span class="option">\g<0></span>', str(escape(text))))  # escaped first


def _words(points: Iterable[Point]) -> Iterable[str]:
    for point in points:
        yield point.question
        yield in_words(point.sentences)


def _signatures(audits: Iterable[BenchmarkAudit]) -> list[tuple[str, str, str]]:
    """Every signature once: its anchor on the page, the estimate it signs, and the signature itself."""
    lines: dict[str, tuple[str, str, str]] = {}
    for audit in audits:
        for e in audit.estimates:
            what = f"{audit.benchmark} {e.indicator} {e.metric}"
            lines.setdefault(e.signature, (tables.anchor(e.signature), what, e.signature))
    return list(lines.values())


def _section(
    audit: BenchmarkAudit, i: int, points: tuple[Point, ...], first: tuple[tuple[str, str], ...], reader: Reader
) -> Section:
    groups = []
    for n, (title, remarks, figures, candidates) in enumerate(_groups(audit), 1):
        kept = tuple(table for table in candidates if table is not None)
        texts = [title, *remarks, *(f.caption for f in figures), *(text for table in kept for text in table.texts())]
        if kept or figures or remarks:
            brief, terms = BRIEF.get(title, title), tuple(reader.meets(texts))
            groups.append(Group(title, brief, f"b{i}-{n}", tuple(remarks), tuple(figures), kept, terms))
    facets = dict.fromkeys(facet for example in audit.examples for facet in example["facets"])
    kinds = dict.fromkeys(str(example["type"]) for example in audit.examples if example["type"])
    names = dict.fromkeys(str(said["respondent"]) for example in audit.examples for said in example["answers"])
    return Section(
        audit=audit,
        anchor=f"b{i}",
        points=points,
        terms=first,
        metrics=tuple((name, about["about"]) for name, about in audit.metrics.items() if about.get("about")),
        groups=tuple(groups),
        examples=tuple(_example(audit, example) for example in audit.examples),
        facets=tuple((facet, FACETS.get(facet, facet)) for facet in facets),
        types=tuple(kinds),
        respondents=tuple((name, tables.short(name)) for name in names),
    )


def _drawn(svg: str, caption: str, more: str, signature: str) -> list[Figure]:
    """The drawing in a list; an empty list where there was nothing to draw. `more` is read to those who cannot see it."""
    return [Figure(svg, caption, f"{caption} {more}", signature)] if svg else []


Parts = tuple[str, list[str], list[Figure], list[Table | None]]


def _groups(audit: BenchmarkAudit) -> Iterable[Parts]:
    metric = next(iter(audit.metrics))
    yield "Reliability by source of error", [], [], [evidence.reliability(audit), score_tables.warnings(audit)]
    board = drawings.intervals(audit, metric)
    shown = f"Leaderboard by {metric}. Bars are 95% intervals over pictures."
    drawn = _drawn(board, shown, "The table beside it has the numbers.", score_tables.made_of(audit))
    sets = score_tables.tied_sets(audit)
    tests = evidence.family_table(audit, ["discriminability"], "How well it separates respondents")
    yield "Leaderboard and tied sets", [], drawn, [score_tables.leaderboard(audit), evidence.tied(audit, sets), tests]
    profile = drawings.type_profile(audit, metric)
    shown = f"{metric} by type: each point is a respondent, and the type with the lowest median is at the bottom."
    drawn = _drawn(profile, shown, "The table of respondents by type has the numbers.", score_tables.made_of(audit))
    types = [type_tables.coverage(audit), type_tables.by_type(audit), type_tables.added_value(audit)]
    yield "Types of hallucination", [], drawn, types
    yield "First and other administrations compared", [], list(_figures(audit)), []
    bias = [score_tables.yes_ratios(audit), score_tables.response_bias(audit)]
    if audit.task in ("yes_no", "choice"):
        lacking = "d′, c and acquiescence were not measured: they need a form whose right answers are reversed."
        yield "Response bias", [] if bias[1] else [lacking], [], bias
    yield "Length of the answers", [], [], [score_tables.lengths(audit)]
    compared = evidence.criterion(audit)
    remark = f"No people labelled answers; to compare the scores with people, {evidence.SOURCES['criterion'][3]}."
    yield "People", [] if compared else [remark], [], [score_tables.judged(audit), compared, evidence.oracle(audit)]
    families = ["judge_consistency", "judge_agreement"]
    if any("judge=" in name and "judge=rule" not in name for name in audit.cells):
        yield "Judges", [], [], [evidence.family_table(audit, families, "The judge asked again, and another judge")]
    else:
        remark = "No model judges this benchmark. A rule scores it and gives the same verdict every time."
        yield "Judges", [remark], [], []
    yield from _variance(audit)
    drawing, count = drawings.item_map(audit, metric)
    caption = f"Item map: {count:,} items by difficulty and discrimination. A larger point stands for several items, a diamond for a flagged item."
    drawn = _drawn(drawing, caption, "The table below names the flagged items.", score_tables.made_of(audit))
    yield (
        "Items",
        [] if drawing else [_why_no_map(audit, metric)],
        drawn,
        [item_tables.to_read(audit), item_tables.flagged_items(audit)],
    )
    without = evidence.not_blind(audit)
    yield "What can be known without the picture", [without] if without else [], [], list(evidence.blind(audit))
    yield "Unscored answers", [], [], [score_tables.states(audit)]
    yield "Forms and data", [], [], [score_tables.forms(audit), score_tables.findings(audit)]
    yield "All estimates", [], [], [tables.indicators(audit)]


def _why_no_map(audit: BenchmarkAudit, metric: str) -> str:
    estimate = tables.find(audit, "items.discrimination", metric)
    reason = estimate.reason if estimate is not None and estimate.reason else "this audit holds no estimate of it"
    return f"Difficulty and discrimination were not measured: {reason}."


def _variance(audit: BenchmarkAudit) -> Iterable[Parts]:
    title = "Where the variance comes from, and what you would need"
    figures: list[Figure] = []
    studies: list[Table | None] = []
    for e in evidence.crossed(audit):
        studies += [evidence.components(e), evidence.decision(e)]
        caption = f"D-study: reliability of {e.metric} against the number of items ({e.detail.get('varied', 'run')}s varied); the dashed line is .90."
        more = "The table of the D-study has the numbers."
        figures += _drawn(drawings.decision_curve(e), caption, more, e.signature)
    expected = tables.find(audit, "expected.reliability", next(iter(audit.metrics)))
    curve = drawings.decision_curve(expected)
    if expected is not None and curve:
        caption = "Reliability expected from the first token's probabilities, against the number of items."
        figures.append(Figure(curve, caption, caption, expected.signature))
    inside = evidence.family_table(audit, ["consistency"], "Internal consistency")
    if not studies:
        reasons = (e.reason for e in audit.estimates if e.indicator.startswith("generalizability.") and e.reason)
        reason = next(reasons, "they need a second seed, form or judge")
        yield title, [f"The G study and the D-study were not measured: {reason}."], figures, [inside]
    else:
        yield title, [], figures, [*studies, inside]


def _figures(audit: BenchmarkAudit) -> Iterable[Figure]:
    names = [tables.short(row.name) for row in audit.respondents]
    pairs = facet_pairs(audit)
    for metric in list(audit.metrics)[:_DRAWN]:
        for facet, other in pairs:
            measured = "share of faithful answers" if facet == "judge" else metric
            x, y = f"{metric}, {tables.cell(audit.reference)}", f"{measured}, {tables.cell(other)}"
            svg = scatter(audit, metric, other, x, y, names)
            if not svg:
                continue
            scores_in_words = "; ".join(
                f"{name} {tables.number(row.cells[audit.reference].get(metric))} and {tables.number(other_score(row, metric, other))}"
                for name, row in zip(names, audit.respondents, strict=True)
            )
            signed = _signature(audit, metric, other)
            on_line = "" if other in audit.respondents[0].judged else "; a point on the line has the same score in both"
            caption = f"{_varied(audit, facet, other)}: {metric}. Each point is a respondent{on_line}."
            yield Figure(svg, caption, f"{x} and {y}: {scores_in_words}", signed)
            if other in audit.respondents[0].judged:
                continue
            compared = (e for e in audit.estimates if (e.metric, e.other) == (metric, other))
            limits = next((e for e in compared if e.indicator.endswith(".limits_of_agreement")), None)
            svg = drawings.bland_altman(audit, metric, other, limits)
            if svg:
                yield Figure(svg, *_limits_caption(FACETS[facet], metric, limits), signed)
        others = [other for _, other in pairs]
        svg = drawings.rank_flow(audit, metric, others) if others else ""
        if svg:
            caption = f"Rank flow of {metric}: each respondent's place in {tables.cell(audit.reference)} and in the other administrations. Strong lines mark places that changed a lot."
            alternative = f"{caption} The drawings before it show the scores."
            yield Figure(svg, caption, alternative, score_tables.made_of(audit, metric), wide=True)


def _varied(audit: BenchmarkAudit, facet: str, other: str) -> str:
    if facet == "judge" and other in audit.respondents[0].judged:
        return FACETS["human"] if is_people(Cell.parse(other).judge) else tables.ORACLE_TITLE
    return FACETS[facet]


def _limits_caption(facet: str, metric: str, limits: Any) -> tuple[str, str]:
    caption = f"{facet}: differences in {metric} (Bland and Altman)."
    if limits is None or limits.value is None:
        reason = limits.reason if limits is not None else "no estimate"
        return f"{caption} Limits of agreement: not measured ({reason}).", caption
    ends = [limits.detail.get(key) or [None] for key in ("lower", "upper")]
    shown = f" Mean difference {tables.number(limits.value)}, limits of agreement {tables.number(ends[0][0])} to {tables.number(ends[1][0])}."
    return caption + shown, caption + shown


def _signature(audit: BenchmarkAudit, metric: str, other: str) -> str:
    estimates = [e for e in audit.estimates if (e.metric, e.other) == (metric, other)]
    return next(
        (e.signature for e in estimates if e.indicator.endswith(".pearson")),
        estimates[0].signature if estimates else "",
    )


def _example(audit: BenchmarkAudit, example: Mapping[str, Any]) -> Mapping[str, Any]:
    """An example as the page shows it, with short names and numbers as text."""
    rows = []
    for said in example["answers"]:
        value = said["value"]
        rows.append(
            {
                **said,
                "who": tables.short(str(said["respondent"])),
                "where": tables.cell(str(said["cell"])),
                "verdict": _verdict(value, str(said["state"]), str(said["cell"]) not in audit.cells),
                "good": None if value is None else bool(value >= 0.5),
                "label": Cell.parse(str(said["cell"])).judge
                if not said["text"] and str(said["cell"]) not in audit.cells
                else "",
            }
        )
    facets = [(name, FACETS.get(name, name), tables.percent(gap)) for name, gap in example["facets"].items()]
    names = list(dict.fromkeys(str(said["respondent"]) for said in example["answers"]))
    return {**example, "answers": rows, "facets": facets, "shown": names, "cut": example["respondents"] - len(names)}


def _verdict(value: float | None, state: str, label: bool = False) -> str:
    """A verdict in words.

    >>> _verdict(1.0, "ok"), _verdict(0.0, "ok"), _verdict(None, "unparsed"), _verdict(0.5, "ok")
    ('right', 'wrong', 'not scored: unparsed', '0.50')
    """
    if value is None:
        return f"not scored: {state}"
    words = {1.0: "faithful", 0.0: "hallucinated"} if label else {1.0: "right", 0.0: "wrong"}
    return words.get(value) or tables.number(value, 2)
