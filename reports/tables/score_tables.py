"""Tables of scores: the leaderboard, scores by type, form and length, and how many answers were
scored.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, starmap
from operator import attrgetter
from typing import Literal

from hqm.reports.pages.phrases import join_names, reason_withheld, verb_form
from hqm.reports.tables.table import (
    FAMILIES,
    Table,
    Text,
    administration_name,
    bracket_text,
    capital,
    clause,
    cluster_noun,
    detail_of,
    find_estimate,
    finite_number,
    flag_words,
    interval_in_words,
    leading_metric,
    name_cell,
    number,
    number_texts,
    official_score,
    percent,
    raised_flags,
    short_name,
    spelled_out,
)

from hqm import BenchmarkAudit, Cell, ErrorBudget, Estimate
from hqm.auditing.audit_rows import FormRow, RespondentScores
from hqm.auditing.budget import BudgetRow
from hqm.auditing.definitions import (
    answered_in_part,
    guessing_level,
    who_labelled,
)
from hqm.auditing.score_points import Points
from hqm.imports.human_labels import labelled_by
from hqm.scoring.rules import advice_on_cut
from hqm.text import DASH
from hqm.types import STATES


def score_signature(audit: BenchmarkAudit) -> str:
    """The signature fields that all estimates from the reference administration share: what its
    scores were computed from.
    """
    metric = leading_metric(audit)
    for estimate in audit.all_estimates:
        of_reference = estimate.first == audit.reference and not estimate.other
        if estimate.metric == metric and of_reference and estimate.signature:
            fields = estimate.signature.split("|")
            # Which statistic and which interval differ between estimates; all else is what the
            # scores depend on, and a table of scores is signed with that.
            own_prefixes = ("statistic:", "interval:")
            return "|".join(f for f in fields if not f.startswith(own_prefixes))
    return f"benchmark:{audit.benchmark}@{audit.version}|metric:{metric}|{audit.reference}"


def undistinguished_sets(audit: BenchmarkAudit) -> list[list[str]]:
    """Sets of respondents in which no pair is shown to differ (Holm over all pairs), best set
    first; empty where this was not estimated.
    """
    sets = detail_of(audit, "discriminability.separable_pairs", "tied_sets")
    if isinstance(sets, (list, tuple)):
        return [list(map(str, names)) for names in sets]
    return []


def ranks(audit: BenchmarkAudit) -> Mapping[str, object]:
    """Respondent -> the best and the worst place that the data allow."""
    positions = detail_of(audit, "discriminability.separable_pairs", "ranks")
    if isinstance(positions, Mapping):
        return positions
    return {}


def set_name(i: int) -> str:
    """The letter of the i-th set.

    >>> set_name(0), set_name(25), set_name(26)
    ('A', 'Z', 'A2')
    """
    letter = chr(ord("A") + i % 26)
    if i >= 26:
        return f"{letter}{i // 26 + 1}"
    return letter


def respondents_in_order(audit: BenchmarkAudit) -> list[RespondentScores]:
    """The respondents by the first audited metric, best first."""
    ordered = names_in_order(audit, audit.reference)
    return sorted(audit.respondents, key=lambda row: ordered.index(row.name))


def count_separated_pairs(audit: BenchmarkAudit) -> tuple[int, int]:
    """How many pairs of respondents were separated by tests, and how many pairs there are."""
    estimate = find_estimate(audit, "discriminability.separable_pairs")
    if estimate is None or estimate.value is None:
        return 0, 0
    return int(estimate.detail.get("apart") or 0), int(estimate.detail.get("pairs") or 0)


def better_sign(audit: BenchmarkAudit) -> int:
    """1 where a higher score of the leading metric is better, -1 where a lower one is."""
    if audit.metrics[leading_metric(audit)].get("better") == "lower":
        return -1
    return 1


def names_in_order(audit: BenchmarkAudit, cell: str) -> list[str]:
    """The models from the best to the worst in an administration, equals as in the reference."""
    metric = leading_metric(audit)
    sign = -better_sign(audit)

    def worth(score: float | None) -> float:
        # A respondent without a score stands last, whatever the direction of the metric.
        return math.inf if score is None else sign * score

    # sorting leaves equals as they stand, so that those of the second sort keep the first's order
    ordered = sorted(audit.respondents, key=lambda row: worth(row.scores.get(metric)))
    if cell != audit.reference:
        ordered.sort(key=lambda row: worth(row.cells.get(cell, {}).get(metric)))
    return list(map(attrgetter("name"), ordered))


def count_reordered_pairs(audit: BenchmarkAudit, cells: Iterable[str]) -> int:
    """How many pairs of models have the opposite order in any of these administrations."""
    metric = leading_metric(audit)
    reordered: set[tuple[str, str]] = set()
    for cell in cells:
        scores = []
        for respondent in audit.respondents:
            first = respondent.scores.get(metric)
            second = respondent.cells.get(cell, {}).get(metric)
            if first is not None and second is not None:
                scores.append((respondent.name, first, second))
        # Kendall's discordant pairs; ties in either order contribute 0 and count as no reordering.
        for a, b in combinations(scores, 2):
            if (a[1] - b[1]) * (a[2] - b[2]) < 0:
                reordered.add((a[0], b[0]))
    return len(reordered)


def budget_row(audit: BenchmarkAudit, source: str) -> BudgetRow:
    """The row of a source in the leading metric's error budget; one that says `not_measured` where
    there is none.
    """
    metric = leading_metric(audit)
    return audit.budget.get(metric, ErrorBudget(metric=metric, rows=())).row(source)


def shift_target(
    audit: BenchmarkAudit, row: BudgetRow
) -> Literal["", "fixed_models", "model_population"]:
    """What the interval of a row's shift generalises to; of an audit of version 0.2.0, which does
    not say so, by the estimate that has the shift.
    """
    if row.inference or row.low is None:
        return row.inference
    for estimate in audit.all_estimates:
        is_shift = estimate.indicator.endswith(".mean_shift") and estimate.other in row.other
        if is_shift and estimate.interval("model_population") is None:
            return "fixed_models"
    return "model_population"


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the models in one administration, or by people's labels."""

    title: str
    names: tuple[str, ...]


def orders(audit: BenchmarkAudit) -> tuple[Order, ...]:
    """The order when asked, asked again, in other words, by another judge and by people."""
    columns = [Order("asked", tuple(names_in_order(audit, audit.reference)))]
    titles: Mapping[str, str] = {
        "seed": "second run",
        "wording": "other wording",
        "negation": "negated",
        "judge": "other judge",
    }
    for source, title in titles.items():
        if administrations := budget_row(audit, source).other:
            columns.append(Order(title, tuple(names_in_order(audit, administrations[0]))))
    moves = budget_row(audit, "people").moves
    # People may have labelled answers of some respondents only, which gives no order of all.
    if len(moves) == len(audit.respondents):
        scores = {}
        for name, score in audit.scores_by_name(leading_metric(audit)).items():
            scores[name] = (score or 0.0) + (moves[name] or 0.0)
        ranked = sorted(columns[0].names, key=lambda name: -better_sign(audit) * scores[name])
        columns.append(Order("by people", tuple(ranked)))
    return tuple(columns)


_SETS = "Sets, all pairs"


def leaderboard(audit: BenchmarkAudit) -> Table:
    """Respondents by the first audited metric, best first, with intervals and the places that
    chance allows.
    """
    sets = undistinguished_sets(audit)
    positions = ranks(audit)
    set_names = _set_names(sets)
    unaudited: list[str] = []
    for respondent in audit.respondents[:1]:
        # metrics that are scored, but not audited; a dot stands in the names of parts of metrics
        unaudited += [m for m in respondent.scores if "." not in m and m not in audit.metrics]

    columns = ["Respondent"]
    for metric in audit.metrics:
        columns += [metric, "95% interval"]
    if positions:
        columns.append("Place")
    if sets:
        columns.append(_SETS)
    columns += unaudited

    rows = []
    for row in respondents_in_order(audit):
        cells = [name_cell(row)]
        for metric in audit.metrics:
            low, high = row.intervals.get(metric) or (None, None)
            cells += [Text(official_score(audit, row, metric)), Text(bracket_text(low, high))]
        if positions:
            cells.append(Text(position_text(positions.get(row.name))))
        if sets:
            cells.append(Text(", ".join(set_names.get(row.name, [])) or "differs from all"))
        cells += [Text(official_score(audit, row, metric)) for metric in unaudited]
        rows.append(tuple(cells))

    return Table.for_page(
        "Leaderboard",
        tuple(columns),
        tuple(rows),
        right=tuple(i for i, name in enumerate(columns) if i and name != _SETS),
        notes=tuple(_leaderboard_notes(audit, has_sets=bool(sets))),
        signature=score_signature(audit),
    )


def _set_names(sets: Sequence[Sequence[str]]) -> Mapping[str, list[str]]:
    """Respondent -> the letters of the sets of several respondents that it is in."""
    names: dict[str, list[str]] = {}
    n_sets = 0
    for group in sets:
        # A set of one is no statement about pairs: such a respondent differs from all.
        if len(group) > 1:
            for respondent in group:
                names.setdefault(respondent, []).append(set_name(n_sets))
            n_sets += 1
    return names


def _leaderboard_notes(audit: BenchmarkAudit, *, has_sets: bool) -> Iterator[str]:
    """How the leaderboard is read."""
    first = leading_metric(audit)
    direction = audit.metrics[first]["better"]
    yield (
        f"Sorted by {first} ({direction} is better), administration:"
        f" {administration_name(audit.reference)}. The intervals are for these models on new"
        f" items, from leaving out the {cluster_noun(audit)} one by one."
    )
    if has_sets:
        yield (
            "No pair of respondents that share a letter is shown to differ (Holm over all pairs,"
            " so that further respondents make the sets larger); this does not show that they are"
            " equal. Place: what the same tests leave."
        )
    else:
        yield (
            "Which respondents differ was not measured: this audit holds no comparison of pairs."
        )
    if sentence := guessing_sentence(audit):
        yield sentence
    if any(map(attrgetter("printed"), audit.respondents)):
        yield (
            "Scores are rounded as the release prints them; intervals and all statistics come from"
            " unrounded scores."
        )


def guessing_sentence(audit: BenchmarkAudit) -> str:
    """Where scores start from; empty where it was not measured."""
    guessing = guessing_level(audit)
    if guessing is None:
        return ""
    interval = ""
    if guessing.low is not None and guessing.high is not None:
        interval = f" [{percent(guessing.low)}, {percent(guessing.high)}]"
    without = clause(" without the picture", audit.images)
    return (
        f"Guessing{without} reaches {percent(guessing.share)}{interval}, from words,"
        " options and the frequencies of answers: scores start from there."
        f"{_notes_on_guessing(audit)}"
    )


def count_above_guessing(audit: BenchmarkAudit) -> int:
    """How many models are shown to score more than guessing, which must be known."""
    guessing = guessing_level(audit)
    lower_ends = [row.intervals.get("accuracy", [None])[0] for row in audit.respondents]
    return sum(
        end is not None and guessing is not None and end > guessing.share for end in lower_ends
    )


def _notes_on_guessing(audit: BenchmarkAudit) -> str:
    """Which models are not shown to do more than guess, and which answer without looking."""
    notes = ""
    n_models = len(audit.respondents)
    n_below = n_models - count_above_guessing(audit)
    if n_below == n_models:
        notes = " No model is shown to score more."
    elif n_below:
        verb = verb_form(n_below, "is", "are")
        notes = f" {n_below} of {n_models} models {verb} not shown to score more."
    names = [
        short_name(row.name)
        for row in audit.respondents
        if row.yes_ratio.get(audit.reference) in (0, 1)
    ]
    if names:
        verb = verb_form(len(names), "gives", "give")
        notes += f" {join_names(names)} {verb} one answer to all items."
    return notes


def position_text(position_range: object) -> str:
    """The places on a leaderboard that chance allows.

    >>> position_text([1, 3]), position_text([2, 2]), position_text(None)
    ('1 to 3', '2', '–')
    """
    if not isinstance(position_range, (list, tuple)) or len(position_range) != 2:
        return DASH
    low, high = position_range
    if low == high:
        return f"{low}"
    return f"{low} to {high}"


def yes_ratios(audit: BenchmarkAudit) -> Table | None:
    """The share of answers yes beside the share of questions whose right answer is yes, form by
    form.
    """
    # Only questions of yes and no have a share of yes to compare with.
    if not audit.truth_yes:
        return None
    cells_with_ratio = set().union(*map(attrgetter("yes_ratio"), audit.respondents))
    cells = [cell for cell in audit.cells if cell in cells_with_ratio]
    forms_of_cells = map(attrgetter("form"), map(Cell.parse, cells))
    truths = number_texts(map(audit.truth_yes.get, forms_of_cells))
    rows = [(Text("the right answers", muted=True), *truths)]
    for row in respondents_in_order(audit):
        shares = number_texts(map(row.yes_ratio.get, cells))
        rows.append((name_cell(row), *shares))
    return Table.for_page(
        "Share of yes answers",
        ("Respondent", *map(administration_name, cells)),
        tuple(rows),
        tuple(range(1, len(cells) + 1)),
        notes=(
            (
                "A share above that of the right answers is more yes than is right, as a habit of"
                " saying yes (acquiescence) gives; a share below it is more no than is right."
            ),
        ),
        signature=score_signature(audit),
    )


def response_bias(audit: BenchmarkAudit) -> Table | None:
    """Sensitivity d', response criterion c and acquiescence of every respondent, form by form."""
    statistics = {
        "parallel_forms.d_prime_shift": ("d′ in standard deviations", (0, 1)),
        "parallel_forms.criterion_shift": ("c in standard deviations", (0, 1)),
        "parallel_forms.acquiescence": ("acquiescence", ()),
        "parallel_forms.coherence": ("coherent pairs", ("coherent",)),
        "parallel_forms.position_bias": ("position bias V", ("v",)),
    }
    columns: list[str] = []
    respondents = respondents_in_order(audit)
    table = [[name_cell(respondent)] for respondent in respondents]
    for indicator, (name, keys) in statistics.items():
        rows = detail_of(audit, indicator, "by_respondent")
        if not rows:
            continue
        if len(keys) > 1:
            columns += (f"{name}, first", f"{name}, other")
        else:
            columns.append(name)
        for key in keys or (None,):
            for cells, respondent in zip(table, respondents, strict=True):
                value = rows.get(respondent.name)
                if key is not None and value is not None:
                    value = value[key]
                cells.append(Text(number(finite_number(value))))
    if not columns:
        return None
    notes = (
        (
            "First: the original wording. Other: the parallel wording, whose right answers are"
            " reversed. A pair of a question and its negation is coherent when the respondent says"
            " yes to exactly one of them."
        ),
    )
    if "acquiescence" not in columns:
        notes = ("First: the original wording. Other: the parallel wording.",)
    has_wordings = columns != ["position bias V"]
    return Table.for_page(
        "Response bias",
        ("Respondent", *columns),
        tuple(map(tuple, table)),
        tuple(range(1, len(columns) + 1)),
        notes if has_wordings else (),
        score_signature(audit),
    )


def lengths(audit: BenchmarkAudit) -> Table:
    """The mean length of the answers in words for each administration, with the elasticity of the
    score below.
    """
    columns = ("Respondent", *map(administration_name, audit.cells))
    rows = []
    for row in respondents_in_order(audit):
        words = number_texts(map(row.words.get, audit.cells), 1)
        rows.append((name_cell(row), *words))
    notes = []
    for estimate in audit.all_estimates:
        if estimate.indicator.endswith(".length_elasticity"):
            subject = f"{estimate.metric} ({administration_name(estimate.other)})"
            notes.append(f"Elasticity of {subject}: {_elasticity(estimate)}.")
    return Table.for_page(
        "Mean length of an answer in words",
        columns,
        rows=tuple(rows),
        right=tuple(range(1, len(columns))),
        notes=tuple(notes),
        signature=score_signature(audit),
    )


def _elasticity(estimate: Estimate) -> str:
    """How much longer answers score higher, in words, or why that is not printed."""
    if reason := reason_withheld(estimate):
        return f"withheld: {reason}"
    interval_note = ""
    if interval := estimate.interval("model_population"):
        interval_note = f" ({interval_in_words(interval)} for others like them)"
    if estimate.value is None:
        return f"not measured: {estimate.reason}{interval_note}"
    return f"{number(estimate.value)} percent of score per percent of length{interval_note}"


def states(audit: BenchmarkAudit) -> Table:
    """How many answers ended in each state."""
    occurring: Counter[str] = Counter()
    advices = []
    for name, counts in audit.state_counts.items():
        occurring.update(counts)
        if advice := advice_on_cut(counts):
            advices.append(f"{administration_name(name)}: {advice}.")
    # three rare states have a column only where they occur
    columns: list[str] = list(STATES)
    for state in ("missing", "cut", "empty"):
        if not occurring[state]:
            columns.remove(state)
    state_notes = []
    if occurring["cut"]:
        state_notes.append("cut: cut off at the token limit before any word.")
    if occurring["empty"]:
        state_notes.append("empty: the answer holds no word.")
    rows: list[tuple[Text, ...]] = []
    for row in respondents_in_order(audit):
        for name in audit.cells:
            cells = [name_cell(row), Text(administration_name(name), name)]
            for state in columns:
                count = row.states[name].get(state, 0)
                cells.append(Text(f"{count:,}", muted=not count))
            rows.append(tuple(cells))
    return Table.for_page(
        "How the answers came out",
        columns=("Respondent", "Administration", *columns),
        rows=tuple(rows),
        right=tuple(range(2, len(columns) + 2)),
        notes=(
            (
                "ok: read and scored. unparsed: no answer could be read from the text. refused: the"
                " respondent declined to answer. truncated: cut off at the token limit, and scored"
                " because it could be read. error: no answer was received. Only ok and truncated"
                " are scored."
            ),
            *state_notes,
            *advices,
        ),
        signature=score_signature(audit),
    )


def _form_row(name: str, row: FormRow) -> tuple[Text, ...]:
    reasons = "; ".join(f"{n:,}: {reason}" for reason, n in row.get("reasons", {}).items())
    rules = ", ".join(f"{rule} {n:,}" for rule, n in row["rules"].items())
    changes = "; ".join(f"{n:,} changed from {mode}" for mode, n in row.get("modes", {}).items())
    return (
        Text(name),
        Text(f"{row['items']:,}"),
        Text(f"{row['left_out']:,}", small=reasons),
        Text(rules, small=changes),
        Text(row["digest"]),
    )


def forms(audit: BenchmarkAudit) -> Table:
    """The forms, with the rules that made them."""
    return Table.for_page(
        "Forms",
        ("Form", "Items", "Left out", "Made by", "Content hash"),
        rows=tuple(starmap(_form_row, audit.forms.items())),
        right=(1, 2),
    )


def findings(audit: BenchmarkAudit) -> Table | None:
    """The linter's findings about the data."""
    if not audit.findings:
        return None
    rows = []
    for finding in audit.findings:
        kind = f"{finding['code']}, {finding['severity']}"
        sentence = Text(finding["sentence"], small=str(finding.get("remedy") or ""))
        examples = Text("\n".join(finding.get("examples", ())))
        rows.append((Text(finding["name"], small=kind), sentence, examples))
    return Table.for_page("Found in the data", ("Finding", "What", "Examples"), rows)


def judged_table(audit: BenchmarkAudit) -> Table | None:
    """Every respondent's score beside the share that each other judge called faithful, and the
    scores corrected with labels.
    """
    if not audit.respondents:
        return None
    cells = list(audit.respondents[0].judged)
    metric = leading_metric(audit)
    corrections = {}
    for statistic in ("prediction_powered", "rogan_gladen", "sensitivity", "specificity"):
        rows = detail_of(audit, f"criterion.{statistic}", "by_respondent")
        if isinstance(rows, Mapping) and rows:
            corrections[statistic] = rows
    if not cells and not corrections:
        return None
    titles = {
        "prediction_powered": "corrected with labels (prediction-powered)",
        "rogan_gladen": "corrected for the scorer's errors (Rogan and Gladen)",
    }
    table = []
    for row in respondents_in_order(audit):
        score = Text(official_score(audit, row, metric))
        shares = number_texts(map(row.judged.get, cells))
        corrected = [_corrected_score(rows.get(row.name)) for rows in corrections.values()]
        table.append((name_cell(row), score, *shares, *corrected))
    columns = ["Respondent", metric]
    for name in cells:
        judge = Cell.parse(name).judge
        if labelled_by(judge) == "people":
            columns.append("share faithful, by people")
        else:
            columns.append(f"share faithful, by the benchmark's {judge} (a rule, no people)")
    columns += map(titles.get, corrections, corrections)
    reading = "read a second time"
    if who_labelled(audit).by_people:
        reading = "scored and labelled"
    return Table.for_page(
        f"The same answers, {reading}",
        columns,
        tuple(table),
        tuple(range(1, len(columns))),
        (),
        score_signature(audit),
    )


def _corrected_score(value: object) -> Text:
    """A corrected score, with its interval where it has one."""
    if isinstance(value, Mapping):
        score = finite_number(value.get("score", value.get("value")))
        return Text(number(score), small=bracket_text(value.get("low"), value.get("high")))
    return Text(number(finite_number(value)))


def warnings(audit: BenchmarkAudit) -> Table | None:
    """The flags that the audit raised, each once with the list of what raised it; notes, which
    change no decision, last.
    """
    if not audit.flags:
        return None
    grouped: dict[tuple[bool, str], list[Mapping[str, object]]] = {}
    for flag in audit.flags:
        grouped.setdefault((bool(flag.get("note")), str(flag["flag"])), []).append(flag)
    lines = []
    # Sorting by False and True puts warnings before notes and keeps the order of the audit within
    # each.
    for (note, name), flags in sorted(grouped.items(), key=lambda pair: pair[0][0]):
        kind = "note" if note else "warning"
        sentences = Text("\n".join(map(_flag_sentence, flags)))
        remedy = Text(capital(str(flags[0]["what_to_do"])))
        lines.append((Text(capital(flag_words(name)), name, small=kind), sentences, remedy))
    note_below = (
        "A warning may change what the scores are used for; a note only says how a number was made."
    )
    return Table.for_page(
        "Warnings and notes",
        ("Warning", "What raised it", "What follows"),
        lines,
        notes=(note_below,),
    )


def _flag_sentence(flag: Mapping[str, object]) -> str:
    """A flag in words: metric, comparison and the numbers."""
    # A hyphen before a digit is a minus sign, unless a word or another hyphen stands before it, as
    # in GPT-4.
    sentence = re.sub(r"(?<![\w-])-(?=[\d.])", "−", spelled_out(str(flag["sentence"])))
    family = str(flag.get("about") or "")
    title = FAMILIES.get(family, family)
    subjects = [str(flag["metric"])]
    if not sentence.startswith(title):
        subjects.append(title)
    return f"{', '.join(filter(None, subjects)) or 'the benchmark'}: {sentence}."


def reason_against_total(audit: BenchmarkAudit) -> str:
    """Why the parts should not be summed up in one total; empty where no flag says so."""
    raised = raised_flags(audit)
    if "NOT_ONE_THING" in raised:
        return "The types do not make one score: report them separately."
    if "FAVOURS_FAMILY" in raised:
        return "A part favours one family: report the parts separately."
    return ""


def ceiling_note(audit: BenchmarkAudit) -> str:
    """How many models have a score that does not differ from a full one, where a flag says that
    they are too many.
    """
    top = find_estimate(audit, "discriminability.measures_up_to")
    if top is None or "CEILING" not in top.flags:
        return ""
    count = len(top.detail.get("in_top") or ())
    # In the points of the leaderboard: rounded otherwise, its range would take in a further model.
    score = Points.for_metric(audit, top.metric).format(top.value)
    return (
        f" {count} lie at {score} or better, too near a full score for the difference to be found"
        " (80% power)."
    )


def people_scores_note(audit: BenchmarkAudit) -> str:
    """The scores by people's labels, where people and no scorer scored the answers; else empty."""
    if audit.scoring != "people":
        return ""
    metric = next(iter(audit.metrics))
    count = sum(row.states.get(audit.reference, {}).get("ok", 0) for row in audit.respondents)
    format_points = Points.for_metric(audit).format
    model_scores = []
    for row in respondents_in_order(audit)[:6]:
        score = format_points(row.scores.get(metric))
        model_scores.append(f"{short_name(row.name)} {score}")
    return (
        f"By people: {', '.join(model_scores)} ({metric}, {count:,} answers). No scorer is compared"
        " with them: --judge NAME adds one."
    )


def partial_answers_note(audit: BenchmarkAudit) -> str:
    """Which respondents answered only a part of the questions, where others answered more."""
    partial = [
        f"{short_name(name)} ({percent(share)})" for name, share in answered_in_part(audit).items()
    ]
    if not partial:
        return ""
    if len(partial) <= 4:
        names = join_names(partial)
    else:
        names = f"{len(partial)} models"
    return f" Fewer questions were answered by {names} than by others."
