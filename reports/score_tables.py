"""Tables of scores: who stands where, by type, by form, by length, and how the answers came out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hqm.reports.names import FAMILIES, statistic_name
from hqm.reports.tables import DASH, Table, Text, cell, estimate, find, interval, number, percent, short

from hqm import STATES, BenchmarkAudit, Cell, Interval, RespondentScores

STEPS = 7
"""Colours of a heat map."""


def made_of(one: BenchmarkAudit, metric: str = "") -> str:
    """What the scores of the reference administration were made of: the signature that its estimates share."""
    metric = metric or next(iter(one.metrics), "")
    for found in one.estimates:
        if found.metric == metric and found.first == one.reference and not found.other and found.signature:
            parts = [p for p in found.signature.split("|") if not p.startswith(("statistic:", "interval:"))]
            return "|".join(parts)
    return f"benchmark:{one.benchmark}@{one.version}|metric:{metric}|{one.reference}"


def tied_sets(one: BenchmarkAudit) -> list[list[str]]:
    """Sets of respondents that the benchmark cannot tell apart, the best first; empty where that was not estimated."""
    found = find(one, "discriminability.separable_pairs", next(iter(one.metrics), ""))
    sets = found.detail.get("tied_sets") if found is not None else None
    return [list(map(str, names)) for names in sets] if isinstance(sets, (list, tuple)) else []


def ranks(one: BenchmarkAudit) -> Mapping[str, Any]:
    """Respondent -> [best, worst] place that the data allow."""
    found = find(one, "discriminability.separable_pairs", next(iter(one.metrics), ""))
    places = found.detail.get("ranks") if found is not None else None
    return places if isinstance(places, Mapping) else {}


def set_name(i: int) -> str:
    """The name of the i-th tied set.

    >>> set_name(0), set_name(25), set_name(26)
    ('A', 'Z', 'A2')
    """
    return chr(ord("A") + i % 26) + (str(i // 26 + 1) if i >= 26 else "")


def in_order(one: BenchmarkAudit) -> list[RespondentScores]:
    """The respondents by the first audited metric, best first."""
    first = next(iter(one.metrics))
    lower = one.metrics[first]["better"] == "lower"

    def key(row: RespondentScores) -> float:
        score = row.scores.get(first)
        return math.inf if score is None else score if lower else -score

    return sorted(one.respondents, key=key)


def leaderboard(one: BenchmarkAudit) -> Table:
    """Respondents by the first audited metric, best first, with intervals over pictures and places that chance allows."""
    first = next(iter(one.metrics))
    columns = ["Respondent"]
    for metric in one.metrics:
        columns += [metric, "95% interval"]
    sets, places = tied_sets(one), ranks(one)
    tied: dict[str, list[str]] = {}
    for i, group in enumerate(group for group in sets if len(group) > 1):
        for name in group:
            tied.setdefault(name, []).append(set_name(i))
    if places:
        columns.append("Place")
    if sets:
        columns.append("Tied set")
    others = [
        name for name in (one.respondents[0].scores if one.respondents else ()) if name not in one.metrics and "." not in name
    ]  # fmt: skip
    columns += others
    rows = []
    for row in in_order(one):
        cells = [Text(short(row.name), row.name)]
        for metric in one.metrics:
            low, high = row.intervals.get(metric) or (None, None)
            shown = "" if low is None or high is None else f"[{number(low)}, {number(high)}]"
            cells += [Text(number(row.scores.get(metric))), Text(shown)]
        if places:
            cells.append(Text(place(places.get(row.name))))
        if sets:
            cells.append(Text(", ".join(tied.get(row.name, [])) or "alone"))
        rows.append((*cells, *(Text(number(row.scores.get(name))) for name in others)))
    better = one.metrics[first]["better"]
    notes = [
        f"Sorted by {first} ({better} is better), {cell(one.reference)}. Intervals: each picture with its questions left out once.",
    ]
    if sets:
        notes.append("Respondents that share a letter are a tied set: their difference is not more than chance.")
    else:
        notes.append("Which respondents are tied was not measured: this audit holds no comparison of pairs.")
    right = tuple(i for i, name in enumerate(columns) if i and name not in ("Tied set",))
    return Table("Leaderboard", tuple(columns), tuple(rows), right, tuple(notes), made_of(one))


def place(bounds: Any) -> str:
    """The places on a leaderboard that chance allows.

    >>> place([1, 3]), place([2, 2]), place(None)
    ('1 to 3', '2', '–')
    """
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        return DASH
    low, high = bounds
    return f"{low}" if low == high else f"{low} to {high}"


def by_type(one: BenchmarkAudit) -> Table | None:
    """Respondents by hallucination type, coloured from worst to best; None where nothing is labelled."""
    types = [kind for kind in one.coverage if any(kind in row.by_type for row in one.respondents)]
    if not types:
        return None
    values = [v for row in one.respondents for kind in types if (v := row.by_type.get(kind)) is not None]
    first = next(iter(one.metrics))
    step = _heat(values, one.metrics[first]["better"] == "lower")
    rows = []
    for row in in_order(one):
        cells = [Text(number(row.by_type.get(kind), 2), heat=step(row.by_type.get(kind))) for kind in types]
        rows.append((Text(short(row.name), row.name), *cells))
    notes = (f"{first} in {cell(one.reference)}. Darker is better; the colours run from the worst to the best cell.",)
    return Table(f"Respondents by type: {first}", ("Respondent", *types), tuple(rows), tuple(range(1, len(types) + 1)), notes, made_of(one))  # fmt: skip


def _heat(values: Sequence[float], lower: bool) -> Any:
    low, high = (min(values), max(values)) if values else (0.0, 0.0)

    def step(value: float | None) -> int | None:
        if value is None or high == low:
            return None
        share = (value - low) / (high - low)
        return min(int((1 - share if lower else share) * STEPS), STEPS - 1)

    return step


def yes_ratios(one: BenchmarkAudit) -> Table | None:
    """The share of answers yes beside the share of questions whose right answer is yes, form by form."""
    if not one.truth_yes:
        return None
    cells = [name for name in one.cells if any(name in row.yes_ratio for row in one.respondents)]
    truth = (
        Text("the right answers", muted=True),
        *(Text(number(one.truth_yes.get(Cell.parse(c).form))) for c in cells),
    )
    rows = [truth]
    rows += [(Text(short(r.name), r.name), *(Text(number(r.yes_ratio.get(c))) for c in cells)) for r in in_order(one)]
    notes = ("Far above the right answers: acquiescence, the habit of saying yes. Far below: the habit of saying no.",)
    return Table(
        "Share of answers yes", ("Respondent", *map(cell, cells)), tuple(rows), tuple(range(1, len(cells) + 1)), notes, made_of(one)
    )  # fmt: skip


def response_bias(one: BenchmarkAudit) -> Table | None:
    """Sensitivity d', response criterion c and acquiescence of every respondent, form by form."""
    metric = next(iter(one.metrics), "")
    wanted = {
        "parallel_forms.d_prime_shift": "d′",
        "parallel_forms.criterion_shift": "c",
        "parallel_forms.acquiescence": "acquiescence",
        "parallel_forms.coherence": "coherent pairs",
        "parallel_forms.position_bias": "position bias V",
    }
    columns: list[str] = []
    by: list[tuple[Mapping[str, Any], Any]] = []
    for indicator, name in wanted.items():
        found = find(one, indicator, metric)
        rows = found.detail.get("by_respondent") if found is not None else None
        if not isinstance(rows, Mapping) or not rows:
            continue
        sample = next(iter(rows.values()))
        if isinstance(sample, (list, tuple)):
            columns += [f"{name}, first", f"{name}, other"]
            by += [(rows, 0), (rows, 1)]
        elif isinstance(sample, Mapping):
            columns.append(name)
            by.append((rows, "coherent" if "coherent" in sample else "v"))
        else:
            columns.append(name)
            by.append((rows, None))
    if not columns:
        return None
    table = []
    for row in in_order(one):
        cells = [Text(number(_of(rows.get(row.name), key))) for rows, key in by]
        table.append((Text(short(row.name), row.name), *cells))
    notes = (
        "First: the original wording; other: the parallel one, whose right answers are turned round. A coherent pair says yes to "
        "exactly one of a question and its negation.",
    )
    if "acquiescence" not in columns:
        notes = ("First: the original wording; other: the parallel one.",)
    return Table("Response bias", ("Respondent", *columns), tuple(table), tuple(range(1, len(columns) + 1)), notes, made_of(one))  # fmt: skip


def _of(value: Any, key: Any) -> float | None:
    if key is None or value is None:
        return value if isinstance(value, (int, float)) else None
    try:
        found = value[key]
    except (KeyError, IndexError, TypeError):
        return None
    return found if isinstance(found, (int, float)) else None


def lengths(one: BenchmarkAudit) -> Table:
    """The mean length of the answers in words, administration by administration, with the score's elasticity below."""
    rows = tuple(
        (Text(short(r.name), r.name), *(Text(number(r.words.get(c), 1)) for c in one.cells)) for r in in_order(one)
    )
    columns = ("Respondent", *map(cell, one.cells))
    notes = []
    for found in one.estimates:
        if found.indicator.endswith(".length_elasticity"):
            spread = interval(found.interval("model_population"))
            said = number(found.value) if found.value is not None else f"not measured: {found.reason}"
            notes.append(f"Elasticity of {found.metric} ({cell(found.other)}): {said} {spread}".rstrip() + ".")
    return Table(
        "Mean length of an answer, words", columns, rows, tuple(range(1, len(columns))), tuple(notes), made_of(one)
    )


def coverage(one: BenchmarkAudit) -> Table:
    """The eight types with items, pictures, distinct wordings, and what is missing for a score of their own."""
    index = find(one, "types.index", next(iter(one.metrics), ""))
    known = {str(row.get("type")): row for row in (index.detail.get("types", ()) if index is not None else ())}
    rows = []
    for kind, row in one.coverage.items():
        more = known.get(kind, {})
        lacking = more.get("missing_items")
        rows.append(
            (
                Text(kind),
                Text(str(row["state"]), muted=not row["items"]),
                *(Text(f"{row[k]:,}") for k in ("items", "images", "wordings")),
                Text(number(more.get("sem"))),
                Text(f"{lacking:,}" if isinstance(lacking, int) else DASH),
            )
        )
    notes = (
        "By design: the benchmark asks about nothing else, though its release carries no labels. Claimed: it says that it "
        "measures the type, but no item is known to, so the type cannot be scored. A type is measurable when its standard error "
        "is .03 or less; the last column says how many items that would still take.",
    )
    columns = ("Type", "State", "Items", "Pictures", "Distinct wordings", "Standard error", "Items lacking")
    return Table("Coverage of hallucination types", columns, tuple(rows), (2, 3, 4, 5, 6), notes, made_of(one))


def added_value(one: BenchmarkAudit) -> Table | None:
    """Whether a type's own score says more of it than the total does."""
    found = find(one, "types.added_value", next(iter(one.metrics), ""))
    kinds = found.detail.get("types") if found is not None else None
    if found is None or not kinds:
        return None
    rows = []
    for row in kinds:
        known = row.get("status") == "ok"
        said = ("yes" if row.get("adds") else "no") if known else f"not measured: {row.get('reason', '')}"
        shown = [Text(number(row.get(key))) for key in ("by_subscore", "by_total")]
        rows.append((Text(str(row.get("type"))), Text(str(row.get("items"))), *shown, Text(said, muted=not known)))
    columns = ("Type", "Items", "Foretold by its own score", "Foretold by the total", "Own score worth reporting")
    notes = ("How much of the type's true score its own items foretell, and how much the total does (Haberman).",)
    return Table("Is a type's own score worth reporting?", columns, tuple(rows), (1, 2, 3), notes, found.signature)


def states(one: BenchmarkAudit) -> Table:
    """How the answers came out, counted apart."""
    seen = [state for state in STATES if any(row.states[c][state] for row in one.respondents for c in one.cells)]
    shown = [state for state in STATES if state in seen or state != "missing"]
    rows: list[tuple[Text, ...]] = []
    for row in in_order(one):
        for name in one.cells:
            counts = (Text(f"{row.states[name][state]:,}", muted=not row.states[name][state]) for state in shown)
            rows.append((Text(short(row.name), row.name), Text(cell(name), name), *counts))
    notes = (
        "ok: read and scored. unparsed: no answer could be read from it. refused: declined. truncated: cut at the limit of tokens, "
        "scored if it could be read. error: no answer came back; never scored.",
    )
    columns = ("Respondent", "Administration", *shown)
    return Table("How the answers came out", columns, tuple(rows), tuple(range(2, len(shown) + 2)), notes, made_of(one))


def forms(one: BenchmarkAudit) -> Table:
    """The forms, and the rules that made them."""
    rows = [
        (
            Text(name),
            Text(f"{row['items']:,}"),
            Text(f"{row['left_out']:,}"),
            Text(", ".join(f"{rule} {n:,}" for rule, n in row["rules"].items())),
            Text(row["digest"]),
        )
        for name, row in one.forms.items()
    ]
    return Table("Forms", ("Form", "Items", "Left out", "Made by", "Content hash"), tuple(rows), (1, 2))


def findings(one: BenchmarkAudit) -> Table | None:
    """What was found in the data."""
    rows = [(Text(f["name"]), Text(f["sentence"]), Text("\n".join(f["examples"]))) for f in one.findings]
    return Table("Found in the data", ("Finding", "What", "Examples"), tuple(rows)) if rows else None


def judged(one: BenchmarkAudit) -> Table | None:
    """Every respondent as each judge beside the rule saw it, with what the benchmark's verdicts get wrong of it."""
    if not one.respondents:
        return None
    cells = list(one.respondents[0].judged)
    metric = next(iter(one.metrics), "")
    extra = {}
    for statistic in ("prediction_powered", "rogan_gladen", "sensitivity", "specificity"):
        found = find(one, f"criterion.{statistic}", metric)
        rows = found.detail.get("by_respondent") if found is not None else None
        if isinstance(rows, Mapping) and rows:
            extra[statistic] = rows
    if not cells and not extra:
        return None
    titles = {
        "prediction_powered": "corrected by people (prediction-powered)",
        "rogan_gladen": "corrected for the scorer's errors (Rogan and Gladen)",
    }
    table = []
    for row in in_order(one):
        shares = [Text(number(row.judged.get(c))) for c in cells]
        more = [_scored(rows.get(row.name)) for rows in extra.values()]
        table.append((Text(short(row.name), row.name), Text(number(row.scores.get(metric))), *shares, *more))
    columns = ("Respondent", metric, *(f"faithful, {cell(c)}" for c in cells), *(titles.get(k, k) for k in extra))
    return Table("The same answers, judged", columns, tuple(table), tuple(range(1, len(columns))), (), made_of(one))


def _scored(value: Any) -> Text:
    if isinstance(value, Mapping):
        low, high = value.get("low"), value.get("high")
        shown = interval(Interval(low, high, "items", "")) if low is not None and high is not None else ""
        score = value.get("score", value.get("value"))
        return Text(number(score if isinstance(score, (int, float)) else None), small=shown)
    return Text(number(value if isinstance(value, (int, float)) else None))


def shares(one: BenchmarkAudit) -> tuple[int, int]:
    """How many answers the audit holds, and how many of them were not scored."""
    total = sum(n for row in one.respondents for counts in row.states.values() for n in counts.values())
    read = sum(
        counts[s] for row in one.respondents for counts in row.states.values() for s in ("ok", "truncated", "refused")
    )
    return total, total - read


def warnings(one: BenchmarkAudit) -> Table | None:
    """What the audit warns of by itself, with what to do."""
    rows = [
        (Text(str(f["flag"])), Text(str(f["metric"])), Text(str(f.get("about") or "the benchmark").replace("_", " ")),
         Text(plain(str(f["sentence"]))), Text(str(f["what_to_do"])))
        for f in one.flags
    ]  # fmt: skip
    return Table("Warnings", ("Flag", "Metric", "About", "What", "What to do"), tuple(rows)) if rows else None


def plain(sentence: str) -> str:
    """A flag's sentence with the indicators' names in words and respondents' names short.

    >>> plain("test_retest.gain is 0.272")
    'Test-retest, gain over coin flips is 0.272'
    """

    def words(found: re.Match[str]) -> str:
        family, statistic = found.group(1), found.group(2)
        return f"{FAMILIES[family]}, {statistic_name(statistic)}" if family in FAMILIES else found.group(0)

    return re.sub(r"\b([a-z_]+)\.([a-z_0-9]+)\b", words, sentence)


def pair_share(one: BenchmarkAudit) -> Text | None:
    """The share of pairs of respondents that can be told apart, in percent."""
    found = find(one, "discriminability.separable_pairs", next(iter(one.metrics), ""))
    if found is None or found.value is None:
        return None
    shown = estimate(found)
    return Text(percent(found.value), shown.behind, link=shown.link)
