"""Tables of hallucination types: the scores by type, what each type has, whether its own score is
worth reporting, and what a total over them rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Literal

from hqm.reports.figures.drawings import DotRow, Figure, dots, error_curves, figure_list
from hqm.reports.pages.phrases import join_names, number_word, verb_form
from hqm.reports.tables import score_tables
from hqm.reports.tables.score_tables import respondents_in_order, score_signature
from hqm.reports.tables.table import (
    Table,
    Text,
    administration_name,
    bracket_text,
    capital,
    drop_none,
    find_estimate,
    finite_number,
    name_cell,
    number,
    short_name,
)

from hqm import BenchmarkAudit, Estimate
from hqm.auditing.definitions import MEASURABLE, TypeMeasured, scale_width, types_measured
from hqm.benchmark.analyses import AnalysisRow, Entry
from hqm.text import DASH

STEPS = 7
"""How many colours the heat map has."""


STANDING_LABELS: Mapping[str, tuple[str, str]] = {
    "alone": ("alone", "fine"),
    "imprecise": ("too imprecise", "look"),
    "as_total": ("adds nothing to the total", "not_measured"),
    "open": ("not shown", "not_measured"),
    "chance": ("at chance", "wrong"),
    "leaks": ("leaks", "wrong"),
    "unmeasured": ("not measured", "not_measured"),
}
"""What the own score of a type is worth -> its words, and their mark."""


def types_title(audit: BenchmarkAudit, limit: float = MEASURABLE) -> str:
    """Which types say more than the total, and which are at chance or leak."""
    measured = list(filter(attrgetter("items"), types_measured(audit, limit)))
    alone = list(map(attrgetter("type"), filter(attrgetter("stands_alone"), measured)))
    chance = [row.type for row in measured if row.standing == "chance"]
    leaking = list(map(attrgetter("type"), filter(attrgetter("leaks"), measured)))
    tail = ""
    if chance:
        tail += f"; {_type_names(chance)} {verb_form(len(chance), 'is', 'are')} at chance"
    if leaking:
        tail += f"; answers leak in {_type_names(leaking)}"
    if not alone:
        return f"{none_alone(measured)}{tail}"
    if len(alone) == len(measured):
        return "Every type adds information to the total score"
    if len(alone) <= 2:
        subject = join_names(alone)
    else:
        subject = f"{number_word(len(alone))} of {number_word(len(measured))} types"
    verb = verb_form(len(alone), "adds", "add")
    return f"{capital(subject)} {verb} information to the total score{tail}"


def none_alone(measured: Sequence[TypeMeasured]) -> str:
    """What is known of types of which none is shown to stand alone: that they add nothing, or that
    this was not shown, or not measured.
    """
    standings = {row.standing for row in measured} - {"chance", "leaks"}
    if standings == {"unmeasured"}:
        return "Whether types add information to the total score was not measured"
    if "imprecise" in standings:
        return "No type that adds information to the total score is precise enough"
    if standings & {"open", "unmeasured"}:
        return "No type is shown to add information to the total score"
    return "No type adds information to the total score"


def _type_names(types: Sequence[str]) -> str:
    """Types by name, or of many how many."""
    if len(types) <= 4:
        return join_names(types)
    return f"{len(types)} types"


def by_type(audit: BenchmarkAudit) -> Table | None:
    """Respondents by hallucination type, coloured from worst to best; None where no item has a
    type.
    """
    named_types = set().union(*map(attrgetter("by_type"), audit.respondents))
    types = [kind for kind in audit.coverage if kind in named_types]
    if not types:
        return None
    first = next(iter(audit.metrics))
    respondents = respondents_in_order(audit)
    scores = [list(map(row.by_type.get, types)) for row in respondents]
    values = drop_none(chain.from_iterable(scores))
    step = _heat(values, lower=audit.metrics[first]["better"] == "lower")
    rows = []
    for respondent, own_scores in zip(respondents, scores, strict=True):
        cells = [Text(number(score, 2), heat=step(score)) for score in own_scores]
        rows.append((name_cell(respondent), *cells))
    return Table.for_page(
        f"Respondents by type: {first}",
        ("Respondent", *types),
        tuple(rows),
        tuple(range(1, len(types) + 1)),
        notes=(
            (
                f"{first}, administration: {administration_name(audit.reference)}. The colours run"
                " from the worst"
                " cell (pale) to the best cell (strong)."
            ),
        ),
        signature=score_signature(audit),
    )


def _heat(values: Sequence[float], lower: bool) -> Callable[[float | None], int | None]:
    """Score -> its step from the worst score (0) to the best; None where all are equal."""
    low = min(values, default=0.0)
    high = max(values, default=0.0)

    def step(value: float | None) -> int | None:
        if value is None or high == low:
            return None
        share = (value - low) / (high - low)
        if lower:
            share = 1 - share
        # The best score itself would fall into an eighth step.
        return min(int(share * STEPS), STEPS - 1)

    return step


def coverage(audit: BenchmarkAudit) -> Table:
    """The eight types with their items, pictures and wordings, their standard error in this audit,
    and what is missing.
    """
    measured = {}
    if find_estimate(audit, "types.index") is not None:
        measured = {row.type: row for row in types_measured(audit) if row.items}
    counts: dict[Literal["items", "images", "wordings"], str] = {
        "items": "Items",
        "images": "Pictures",
        "wordings": "Distinct wordings",
    }
    if not audit.images:
        del counts["images"]
    has_limit = scale_width(audit) is not None
    lines = []
    for kind, row in audit.coverage.items():
        measurement = measured.get(kind)
        state = str(row["state"])
        lacking = DASH
        error = DASH
        if measurement is not None:
            if has_limit:
                state += ", measurable" if measurement.measurable else ", not measurable"
            if measurement.at_chance:
                state += ", at chance"
            elif has_limit:
                # At chance more items would not help: they would measure guessing more exactly.
                lacking = f"{measurement.missing:,}"
            if measurement.measured:
                error = number(measurement.error, 4)
        counted = (Text(f"{row[k]:,}") for k in counts)
        lines.append(
            (Text(kind), Text(state, muted=not row["items"]), *counted, Text(error), Text(lacking))
        )
    return Table.for_page(
        "Coverage of types",
        columns=(
            "Type",
            "State",
            *counts.values(),
            "Standard error",
            "Items missing",
        ),
        rows=tuple(lines),
        right=tuple(range(2, 4 + len(counts))),
        notes=(
            (
                "By design: the benchmark asks about nothing else, although its release has no type"
                " labels. Claimed: the benchmark says that it measures the type, but no item is"
                " known to do so, and the type cannot be scored. A type is measurable when the"
                " standard error of a respondent's score on it (root mean square over these"
                f" respondents, items of a cluster together) is {_limit(audit)} or less at its"
                " one-sided 95 %"
                " upper end in this audit; the last"
                " column says about how many more such items that takes."
            ),
        ),
        signature=score_signature(audit),
    )


def _limit(audit: BenchmarkAudit) -> str:
    """The error that the default policy allows, in the unit of the scores."""
    return f"{MEASURABLE * (scale_width(audit) or 1.0):g}"


def added_value(audit: BenchmarkAudit) -> Table | None:
    """Whether the score of a type says more about that type than the total score does."""
    estimate = find_estimate(audit, "types.added_value")
    if estimate is None or not estimate.detail.get("types"):
        return None
    measured = {row.type: row for row in types_measured(audit)}
    lines = []
    for row in estimate.detail["types"]:
        standing = "unmeasured"
        error = DASH
        if measurement := measured.get(str(row.get("type"))):
            standing = measurement.standing
            error = number(measurement.error_high)
        low = finite_number(row.get("gain_low"))
        high = finite_number(row.get("gain_high"))
        lines.append(
            (
                Text(str(row.get("type"))),
                Text(str(row.get("items"))),
                Text(number(finite_number(row.get("by_subscore")))),
                Text(number(finite_number(row.get("by_total")))),
                Text(bracket_text(low, high)),
                Text(error),
                Text(_worth(row, standing), muted=row.get("status") != "ok"),
            )
        )
    return Table.for_page(
        "Is a type's own score worth reporting?",
        columns=(
            "Type",
            "Items",
            "Predicted by its own score",
            "Predicted by the total",
            "Difference",
            "Error",
            "Own score",
        ),
        rows=tuple(lines),
        right=(1, 2, 3, 4, 5),
        notes=(
            (
                "How much of the type's true score its own items predict, and how much of it the"
                " total predicts (Haberman 2008). A type is worth its own score where the 95%"
                " interval of the difference over respondents lies above 0, and the upper limit of"
                f" the standard error of its score is at most {_limit(audit)}, which is the limit"
                " of the default policy."
            ),
        ),
        signature=estimate.signature,
    )


def _worth(row: Mapping[str, object], standing: str) -> str:
    """What a type's own score is worth, as far as its interval supports it."""
    if row.get("status") != "ok":
        return f"not measured: {row.get('reason', '')}"
    return STANDING_LABELS[standing][0]


# --- what a total rests on ---


@dataclass(frozen=True, slots=True)
class _DetailTable:
    """A table of the rows that an estimate's detail holds under `key`: its title, its headings with
    the keys of a row, its note, and its drawing.
    """

    indicator: str
    key: str
    title: str
    columns: Mapping[str, str]
    note: Callable[[Estimate], str]
    draw: Callable[[_DetailTable, BenchmarkAudit, Estimate], str]


def _unidimensionality_note(estimate: Estimate) -> str:
    visible = finite_number(estimate.detail.get("visible"))
    shared = finite_number(estimate.detail.get("shared"))
    power_note = "Strengths of 2 logits would have been missed."
    if visible is not None:
        power_note = (
            f"Nothing larger than a standard deviation of {number(visible, 1)} logits would have"
            " been missed (80% power)."
        )
    return (
        "What models have in a type beyond one ability, as a standard deviation in logits. All"
        f" types together: {number(estimate.value, 2)}, p ="
        f" {number(finite_number(estimate.detail.get('p')))}. True scores of two types correlate by"
        f" {number(shared, 2)}. {power_note}"
    )


def _family_note(estimate: Estimate) -> str:
    if estimate.detail.get("tested"):
        test_note = "p is adjusted over all rows (Holm)."
    else:
        test_note = (
            "With fewer than 10 models against 10 others this describes these models; it is no"
            " test."
        )
    return (
        "How much easier (or harder, below 0) a part is for a family than its answers to the other"
        f" parts predict, in logits, with a 95% interval over models. {test_note} From 0.64 on the"
        " Educational Testing Service calls a difference large."
    )


def _precision_note(estimate: Estimate) -> str:
    models = ", ".join(map(short_name, map(str, estimate.detail.get("in_top") or ())))
    models_note = f" There: {models}." if models else " No model has such a score."
    return (
        "The standard error of a score where the score is: over other items of the same kind"
        " (Lord), and over these items, as differences between models have it (Rasch). From"
        f" {number(estimate.value)} on (or better), the power to show that a model differs from a"
        f" full score is below 80%.{models_note}"
    )


def _exposure_note(claim: str) -> Callable[[Estimate], str]:
    def note(estimate: Estimate) -> str:
        return (
            f"{claim}: {number(estimate.value)} on average, which may be difficulty. What one model"
            " has beyond the others may be memory, or its own strength; p is adjusted over models"
            " (Holm)."
        )

    return note


def _draw_numbers(*lines: float) -> Callable[[_DetailTable, BenchmarkAudit, Estimate], str]:
    """Draw each row's number, with its interval where it has one, beside these lines."""

    def draw(spec: _DetailTable, _audit: BenchmarkAudit, estimate: Estimate) -> str:
        keys = set(spec.columns.values())
        # A table has one of the two; that it is exactly one is checked by the unpacking.
        (key,) = keys & {"own", "logits"}
        rows = []
        for row in _detail_rows(spec, estimate):
            value = finite_number(row.get(key))
            if value is not None:
                names = [row[key] for key in ("type", "part", "group", "name") if key in row]
                label = ", ".join(map(short_name, map(str, names)))
                low = finite_number(row.get("low"))
                high = finite_number(row.get("high"))
                rows.append(DotRow(label, (value,), low, high))
        detectable = finite_number(estimate.detail.get("visible"))
        reference_lines = drop_none((*lines, detectable))
        unit = "difference of scores" if "name" in keys else "logits"
        if rows:
            return dots(rows, unit, spec.title, reference_lines)
        return ""

    return draw


def _draw_error_curves(spec: _DetailTable, audit: BenchmarkAudit, estimate: Estimate) -> str:
    metric = estimate.metric
    rows = _detail_rows(spec, estimate)
    curves = {
        "other items": list(map(itemgetter("score", "other_items"), rows)),
        "these items": list(map(itemgetter("score", "these_items"), rows)),
    }
    scores = [row.cells.get(audit.reference, {}).get(metric) for row in audit.respondents]
    # Scores of rates of errors are best at 0; the shaded range ends at the best score that can be.
    end = 0.0 if audit.metrics[metric].get("better") == "lower" else 1.0
    tied_range = (finite_number(estimate.value) or end, end)
    return error_curves(curves, tied_range, drop_none(scores), spec.title)


_EXPOSURE_COLUMNS = {
    "Model": "name",
    "Difference": "own",
    "From": "low",
    "To": "high",
    "Beyond the others": "beyond_others",
    "p": "p",
}
_FAMILY_COLUMNS = {
    "Part": "part",
    "Family": "group",
    "Its models": "members",
    "Others": "others",
    "Logits": "logits",
    "From": "low",
    "To": "high",
    "p": "p",
}
_DETAIL_TABLES = (
    _DetailTable(
        "consistency.own_strengths",
        "types",
        "Is one score one thing?",
        {"Type": "type", "Items": "items", "Own strength (logits)": "own"},
        _unidimensionality_note,
        _draw_numbers(),
    ),
    _DetailTable(
        "types.family_types",
        "parts",
        "Types that favour a family",
        _FAMILY_COLUMNS,
        _family_note,
        # 0.64 logits are 1.5 on the delta scale of the Educational Testing Service (1.5 / 2.35),
        # whose class C starts there.
        _draw_numbers(-0.64, 0.64),
    ),
    _DetailTable(
        "types.family_keys",
        "parts",
        "Sides of the key that favour a family",
        _FAMILY_COLUMNS,
        _family_note,
        _draw_numbers(-0.64, 0.64),
    ),
    _DetailTable(
        "discriminability.measures_up_to",
        "errors",
        "Where does it measure?",
        {"Score": "score", "Error, other items": "other_items", "These items": "these_items"},
        _precision_note,
        _draw_error_curves,
    ),
    _DetailTable(
        "parallel_forms.released_advantage",
        "by_respondent",
        "The released wording beside its rewordings",
        _EXPOSURE_COLUMNS,
        _exposure_note(
            "How much higher the released wording scores than the mean of its rewordings"
        ),
        _draw_numbers(0.0),
    ),
    _DetailTable(
        "items.older_advantage",
        "by_respondent",
        "Older items beside newer ones",
        _EXPOSURE_COLUMNS,
        _exposure_note("How much higher the older half of the items scores than the newer one"),
        _draw_numbers(0.0),
    ),
)


def structure_tables(audit: BenchmarkAudit) -> tuple[list[Table], list[Figure]]:
    """Every table of `_DETAIL_TABLES` for which the leading metric has rows, and its drawing."""
    tables = []
    figures: list[Figure] = []
    for spec in _DETAIL_TABLES:
        estimate = find_estimate(audit, spec.indicator)
        if estimate is not None and _detail_rows(spec, estimate):
            tables.append(_detail_table(spec, estimate))
            svg = spec.draw(spec, audit, estimate)
            figures += figure_list(svg, _CAPTIONS[spec.key], estimate.signature)
    return tables, figures


_CAPTIONS = {
    "types": "Strength of models in a type beyond their overall ability; to the right of the broken"
    " line it would hardly have been missed.",
    "parts": "Beyond the broken lines a difference is called large.",
    "errors": "Models in the shaded range are not shown to differ from a full score; each stroke"
    " is a model.",
    "by_respondent": "Each model's difference with its 95% interval.",
}


def _detail_rows(spec: _DetailTable, estimate: Estimate) -> Sequence[Mapping[str, object]]:
    by_name = estimate.detail.get(spec.key)
    # The rows of respondents are a mapping by name, those of types and parts are a list.
    if isinstance(by_name, Mapping):
        return [{"name": name, **row} for name, row in by_name.items() if isinstance(row, Mapping)]
    return list(by_name or ())


def _detail_table(spec: _DetailTable, estimate: Estimate) -> Table:
    keys = spec.columns.values()
    texts = 0
    table: list[tuple[Text, ...]] = []
    for row in _detail_rows(spec, estimate):
        values = list(map(row.get, keys))
        if not table:
            # Names stand in the first columns of every such table, so that the number of texts in a
            # row says where the numbers start.
            texts = sum(isinstance(value, str) for value in values)
        table.append(tuple(map(_text, values)))
    return Table.for_page(
        spec.title,
        tuple(spec.columns),
        table,
        tuple(range(texts, len(spec.columns))),
        notes=(spec.note(estimate),),
        signature=estimate.signature,
    )


def _text(value: object, *, name: bool = True) -> Text:
    """A value of a row; a name stands without its kind."""
    if isinstance(value, str):
        if name:
            return Text(short_name(value), value)
        return Text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Text(f"{value:,}")
    return Text(number(finite_number(value)))


# --- further tables of a benchmark's own paper ---

TITLE = "Analyses of this benchmark"
_MAX_DRAWN_ROWS = 30
"""A drawing has at most so many rows; the table has all."""
Row = Sequence[Entry]


def analysis_tables(audit: BenchmarkAudit) -> list[Table | None]:
    """Every further table, as it stands in the audit."""
    return [_table(audit, analysis) for analysis in audit.analyses]


def analysis_figures(audit: BenchmarkAudit) -> list[Figure]:
    """The drawings of the further tables that ask for one and have two numbers or more."""
    signature = score_tables.score_signature(audit)
    figures: list[Figure] = []
    for analysis in audit.analyses:
        caption = f"{analysis['title']}: {analysis['drawn']}."
        figures += figure_list(_drawing(analysis), caption, signature)
    return figures


def _table(audit: BenchmarkAudit, analysis: AnalysisRow) -> Table:
    columns = tuple(analysis["columns"])
    rows = analysis["rows"]

    def cells(row: Row) -> tuple[Text, ...]:
        return tuple(_text(v, name=c == "Respondent") for c, v in zip(columns, row, strict=True))

    def is_numeric(index: int) -> bool:
        return any(isinstance(row[index], (int, float)) for row in rows)

    return Table.for_page(
        f"{analysis['title']}.",
        columns,
        rows=tuple(map(cells, rows)),
        right=tuple(filter(is_numeric, range(len(columns)))),
        notes=(analysis["about"],),
        signature=score_tables.score_signature(audit),
    )


def _drawing(analysis: AnalysisRow) -> str:
    if not analysis["drawn"]:
        return ""
    index = list(analysis["columns"]).index(analysis["drawn"])
    dot_rows = []
    for row in analysis["rows"]:
        value = finite_number(row[index])
        if value is not None:
            dot_rows.append(DotRow(_name(analysis["columns"], row), (value,)))
    # A single dot shows nothing beside the number in the table.
    if len(dot_rows) < 2:
        return ""
    return dots(dot_rows[:_MAX_DRAWN_ROWS], analysis["drawn"], analysis["title"])


def _name(columns: Sequence[str], row: Row) -> str:
    """The texts at the beginning of a row."""
    texts = []
    for title, value in zip(columns, row, strict=True):
        if isinstance(value, str):
            texts.append(_text(value, name=title == "Respondent").text)
    return ", ".join(texts)
