"""Tables of evidence: reliability by source of error, variance components, D-study, flagged items,
blind solvability.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from operator import attrgetter

from hqm.reports.pages.phrases import (
    is_unbounded_end,
    join_names,
    reason_withheld,
    text_with_unit,
)
from hqm.reports.tables.table import (
    FAMILIES,
    Table,
    Text,
    administration_name,
    capital,
    clause,
    decimals_of,
    drop_none,
    estimate_text,
    family_title,
    find_estimate,
    finite_number,
    flag_words,
    interval_text,
    is_by_oracle,
    leading_metric,
    lost_note,
    lower_end,
    meaning_of,
    number,
    p_value,
    percent,
    shown_interval,
    statistic_name,
)

from hqm import FLAGS, BenchmarkAudit, Estimate, Interval
from hqm.indicators.indicator import INDICATOR_FAMILIES
from hqm.text import DASH

SOURCES: Mapping[str, tuple[str, str, tuple[str, ...], str]] = {
    "test_retest": (
        "Another seed",
        "pearson",
        ("rho_g",),
        "ask the original form a second time: --runs 2",
    ),
    "parallel_forms": (
        "Another wording",
        "pearson",
        ("form_correlation", "icc_a1"),
        "ask a parallel form too: --forms original,parallel",
    ),
    "consistency": (
        "Other items (internal consistency)",
        "alpha",
        ("omega_types",),
        "this audit has no estimate of it",
    ),
    "judge_consistency": (
        "The same judge, second time",
        "pearson",
        ("icc_a1",),
        "ask the judge twice: --judge NAME --set rejudge=2",
    ),
    "judge_agreement": (
        "Another judge",
        "pearson",
        ("icc_a1",),
        "name a second judge: --judge A --judge B",
    ),
    "criterion": (
        "People's labels in place of the scorer",
        "pearson",
        ("disattenuated",),
        "give people's labels: --criterion FILE",
    ),
    "oracle": (
        "The benchmark's oracle (a rule, no people) in place of the scorer",
        "pearson",
        (),
        "",
    ),
    "blindness": (
        "Without the picture",
        "pearson",
        ("icc_a1",),
        "ask the questions without the pictures: --blind",
    ),
    "resolution": (
        "Smaller pictures",
        "pearson",
        ("icc_a1",),
        "ask with smaller pictures too: --resolution 50",
    ),
    "generalizability": (
        "Items and another facet together",
        "g",
        ("phi",),
        "this audit has no design in which they are crossed",
    ),
    "expected": (
        "Another seed, expected from the first token's probabilities",
        "",
        ("reliability",),
        "the answers carry no probabilities",
    ),
}
"""Family -> what varies, the unadjusted statistic, the adjusted ones (the first that has a number
is shown), how to measure it.
"""
_PICTURE_FAMILIES = ("blindness", "resolution")


def reliability(audit: BenchmarkAudit) -> Table:
    """Reliability with one row per source of error: unadjusted, adjusted, noise floor, and at a
    common length.
    """
    rows: list[tuple[Text, ...]] = []
    absent: list[tuple[Text, ...]] = []
    for family, (name, unadjusted, adjusted, remedy) in SOURCES.items():
        if family in _PICTURE_FAMILIES and not audit.images:
            continue
        n_measured = len(rows)
        for metric in audit.metrics:
            for pair in _compared_administrations(audit, family, metric):
                cells = _reliability_cells(audit, *pair, metric, unadjusted, adjusted)
                if cells is not None:
                    comparison = _comparison_text(pair[1], family)
                    rows.append((Text(name, small=comparison), Text(metric), *cells))
        # An oracle has no remedy: a benchmark either comes with one or does not, and a user can do
        # nothing about it.
        if len(rows) == n_measured and remedy:
            reason = first_reason(audit, family) or remedy
            source = Text(name, small=f"not measured: {reason}")
            absent.append((source, Text("not measured", muted=True), *repeat(Text(""), 6)))
    return Table.for_page(
        "Reliability by source of error",
        columns=(
            "What varies",
            "Metric",
            "Unadjusted",
            "Adjusted",
            "95% interval",
            "Noise floor",
            "At 1,000 items",
            "ICC(A,1), agreement",
        ),
        rows=(*rows, *absent),
        right=(2, 3, 5, 6, 7),
        notes=(
            (
                "Each row is a different source of error. The rows answer different questions, so"
                " they are never averaged. Two intervals are given: one for these respondents with"
                " other items, and one for other respondents like them."
            ),
        ),
    )


def _family_of(estimate: Estimate) -> str:
    """The family of an estimate; a criterion by an oracle, as older audits say, is the oracle's."""
    if is_by_oracle(estimate):
        return "oracle"
    return estimate.indicator.partition(".")[0]


def estimates_of_families(audit: BenchmarkAudit, families: Container[str]) -> list[Estimate]:
    """The estimates of some families, in the order of the audit."""
    return [e for e in audit.all_estimates if _family_of(e) in families]


def first_reason(audit: BenchmarkAudit, family: str) -> str:
    """Why an estimate of a family has no number, by the first that says so; else empty."""
    for estimate in estimates_of_families(audit, [family]):
        if estimate.reason:
            return estimate.reason
    return ""


def _compared_administrations(
    audit: BenchmarkAudit, family: str, metric: str
) -> list[tuple[str, str]]:
    """The administrations that a family compares with the reference, each with the family that its
    estimates name; test-retest has one row for all its runs."""
    # A dict is a set that keeps the order of the audit.
    pairs: dict[tuple[str, str], None] = {}
    for e in estimates_of_families(audit, [family]):
        if e.metric == metric:
            pairs[e.indicator.partition(".")[0], e.other] = None
    if family == "test_retest":
        return list(pairs)[:1]
    return list(pairs)


def _crossed_names(administrations: str) -> str:
    return " & ".join(map(administration_name, administrations.split(" & ")))


def _comparison_text(administration: str, family: str) -> str:
    if family == "generalizability" and administration:
        return f"one run; crossed with {_crossed_names(administration)}"
    if not administration or family in ("test_retest", "consistency"):
        return ""
    try:
        return administration_name(administration)
    except ValueError:
        return ""


def _pick_estimate(
    audit: BenchmarkAudit, family: str, administration: str, metric: str, statistic: str
) -> Estimate | None:
    name = f"{family}.{statistic}"
    candidates = audit.select_estimates(name, metric, administration)
    if family == "test_retest":
        # it has one row for all its runs, whichever of them an estimate names
        candidates += audit.select_estimates(name, metric)
    return next(iter(candidates), None)


def _reliability_cells(
    audit: BenchmarkAudit,
    family: str,
    administration: str,
    metric: str,
    unadjusted_name: str,
    adjusted_names: Sequence[str],
) -> tuple[Text, ...] | None:
    def pick(statistic: str) -> Estimate | None:
        return _pick_estimate(audit, family, administration, metric, statistic)

    unadjusted = pick(unadjusted_name)
    # the first that has a number, or else the first, which says why it has none
    adjusted = min(filter(None, map(pick, adjusted_names)), key=_has_no_value, default=None)
    if not _has_no_value(adjusted):
        bounded = adjusted
    elif not _has_no_value(unadjusted):
        bounded = unadjusted
    else:
        return None
    further_cells = map(_unnamed, map(pick, ("noise_floor", "rho_g_1000", "icc_a1")))
    states = " · ".join(filter(None, (_status(unadjusted), _status(adjusted))))
    interval = Text(_interval_lines(bounded), small=states)
    cells = (estimate_with_name(unadjusted), estimate_with_name(adjusted), interval)
    return (*cells, *further_cells)


def _has_no_value(estimate: Estimate | None) -> bool:
    return estimate is None or estimate.value is None


def _unnamed(estimate: Estimate | None) -> Text:
    """An estimate's cell where the column names its statistic."""
    return replace(estimate_with_name(estimate), small="")


def estimate_with_name(estimate: Estimate | None) -> Text:
    """An estimate's cell with the name of its statistic in small print."""
    if estimate is None:
        return Text(DASH, "not measured", True)
    cell = estimate_text(estimate)
    if estimate.value is None:
        cell = replace(cell, text="no number", muted=True)
    return replace(cell, small=statistic_name(estimate.indicator.partition(".")[2]))


def _status(estimate: Estimate | None) -> str:
    if estimate is None or estimate.status == "ok":
        return ""
    return f"{statistic_name(estimate.indicator.partition('.')[2])}: {estimate.reason}"


def _interval_lines(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    populations = (
        ("these respondents", "fixed_models"),
        ("others like them", "model_population"),
        ("items", "items"),
    )
    lines = []
    for name, kind in populations:
        if interval := shown_interval(estimate, kind):
            lines.append(f"{interval_text(interval, decimals_of(estimate))} {name}")
    return "\n".join(lines)


def components_table(estimate: Estimate) -> Table | None:
    """The G study of one crossed design: how much of the variance each facet contributes."""
    rows = estimate.detail.get("components")
    if not rows:
        return None
    table = []
    total = sum(max(0.0, finite_number(row.get("variance")) or 0.0) for row in rows)
    for row in rows:
        share = finite_number(row.get("share"))
        low = finite_number(row.get("low"))
        high = finite_number(row.get("high"))
        interval = ""
        if low is not None and high is not None:
            interval = interval_text(Interval(low, high, "items", ""), 5)
            if high > 100 * total:
                # with two levels of a facet, chi-square leaves its variance without an upper end
                # that means anything
                interval = f"from {number(low, 5)}, no upper end"
        bar = ""
        if share is not None:
            # a variance below zero has a share below zero, which has no bar
            bar = number(100 * max(0.0, min(1.0, share)), 1)
        facet = _facet(str(row.get("facet", "")))
        variance = number(finite_number(row.get("variance")), 5)
        table.append(
            (Text(facet), Text(percent(share, 1), bar=bar), Text(variance), Text(interval))
        )
    notes = [
        "The respondents' share is what the benchmark is meant to measure; the other shares are"
        " errors of some kind."
    ]
    if estimate.other:
        first = administration_name(estimate.first)
        notes.append(f"{first} and {_crossed_names(estimate.other)}.")
    return Table.for_page(
        caption=f"G study: where the variance of {estimate.metric} comes from{_design(estimate)}",
        columns=("Source", "Share of the variance", "Variance", "95% interval"),
        rows=tuple(table),
        right=(1, 2, 3),
        notes=tuple(notes),
        signature=estimate.signature,
    )


def _design(estimate: Estimate) -> str:
    if estimate.detail.get("varied"):
        return f" (respondents × items × {estimate.detail['varied']}s)"
    return ""


def _facet(name: str) -> str:
    """A component in words.

    >>> _facet("respondent x item"), _facet("item")
    ('respondent × item', 'item')
    """
    return name.replace(" x ", " × ").replace(":", " × ")


def crossed(audit: BenchmarkAudit) -> list[Estimate]:
    """The crossed designs of the first metric, one for each facet that was varied."""
    designs: dict[tuple[str, str], Estimate] = {}
    for e in audit.all_estimates:
        if (
            e.metric == leading_metric(audit)
            and e.indicator in ("generalizability.g", "generalizability.phi")
            and e.value is not None
        ):
            designs.setdefault((e.first, e.other), e)
    return list(designs.values())


def d_study_table(estimate: Estimate) -> Table | None:
    """The D-study: which design would be reliable enough."""
    rows = estimate.detail.get("d_study")
    if not rows:
        return None
    sizes = ("items", "runs", "forms", "judges", "answers", "cost")

    def has_size(key: str) -> bool:
        return bool(drop_none(row.get(key) for row in rows))

    sizes_given = list(filter(has_size, sizes))
    remarks = any(row.get("reason") for row in rows)
    table = []
    for row in rows:
        target = Text(number(finite_number(row.get("target")), 2))
        counts = [Text(count_text(row.get(size))) for size in sizes_given]
        table.append((target, *counts, *([Text(str(row.get("reason") or ""))] * remarks)))
    heads = {"runs": "seeds", "answers": "answers per respondent"}
    return Table.for_page(
        caption=f"D-study: what you would need for .90{_design(estimate)}",
        columns=(
            "Wanted Phi",
            *map(heads.get, sizes_given, sizes_given),
            *(["Remark"] * remarks),
        ),
        rows=table,
        right=tuple(range(1, len(sizes_given) + 1)),
        notes=(
            (
                "Each row is the design with the fewest answers that reaches this Phi, computed"
                " from the shares of the G study."
            ),
        ),
        signature=estimate.signature,
    )


def count_text(value: object) -> str:
    """A count, or a number with decimals where it is not whole."""
    count = finite_number(value)
    if count is None or count != int(count):
        return number(count)
    return f"{int(count):,}"


def family_table(
    audit: BenchmarkAudit, families: Sequence[str], caption: str, note: str = ""
) -> Table:
    """The estimates of some families, and how to measure those that the audit has not."""
    estimates = estimates_of_families(audit, families)
    measured_families = set(map(_family_of, estimates))
    missing = []
    for name in families:
        if name in measured_families:
            continue
        remedy = "this audit has none"
        if name in SOURCES:
            remedy = SOURCES[name][3]
        missing.append(f"{FAMILIES.get(name, name)}: not measured; {remedy}.")
    applicable = [e for e in estimates if e.status != "not_applicable"]
    return _estimates_table(audit, caption, applicable, (note, *missing))


def oracle_table(audit: BenchmarkAudit) -> Table | None:
    """The agreement of the scores with an oracle of the benchmark; None where it has no oracle.

    What older audits estimate from its labels as if they were people's (corrections, labels needed)
    is left out.
    """

    def is_about_reading(estimate: Estimate) -> bool:
        # What needs people's labels says so in its meaning.
        return "people" not in meaning_of(estimate.indicator.partition(".")[2])

    estimates = tuple(filter(is_about_reading, filter(is_by_oracle, audit.all_estimates)))
    if not estimates:
        return None
    return family_table(
        replace(audit, all_estimates=estimates),
        ["oracle"],
        "A second reading by the benchmark's oracle",
        note=(
            "An oracle is a rule of the benchmark that knows the right answers and reads the same"
            " answers a second time. It checks how answers are read. Nobody labelled anything for"
            " it, so it is no evidence of validity."
        ),
    )


def criterion_table(audit: BenchmarkAudit) -> Table | None:
    """How far the scores follow people's labels; None where nobody labelled answers."""
    if not estimates_of_families(audit, ["criterion"]):
        return None
    # The same labels are described by every metric; a set leaves one sentence of each.
    notes = set()
    for count in audit.select_estimates("criterion.labelled_answers"):
        if "pool" in count.detail:
            notes.add(_labelling_note(count))
    return family_table(
        audit,
        ["criterion"],
        "Scores compared with people's labels",
        note=" ".join(sorted(notes)),
    )


def _labelling_note(count: Estimate) -> str:
    """Who labelled how many answers, how differing labels were pooled, and how answers were
    sampled.
    """
    detail = count.detail
    raters = [f"{rater} ({labels:,})" for rater, labels in (detail.get("raters") or {}).items()]
    if raters:
        raters_note = f"Labels are by {join_names(raters)}. "
    else:
        raters_note = "Who labelled is not recorded. "
    if len(raters) > 1:
        pooling_note = (
            f"Several labels of an answer are pooled ({detail['pool']}): {detail['adjudicated']:,}"
            f" were adjudicated, {detail['unresolved']:,} are unresolved. "
        )
    else:
        pooling_note = ""
    if detail["drawn"]:
        sampling_note = "The answers were chosen with known probabilities."
    else:
        sampling_note = ""
    return f"{raters_note}{pooling_note}{sampling_note}".strip()


def stages_table(audit: BenchmarkAudit) -> Table | None:
    """How often single stages of the judges decide as people do; None where nobody labelled what
    they decide on.
    """
    if not estimates_of_families(audit, ["stages"]):
        return None
    counts = set()
    for e in estimates_of_families(audit, ["stages"]):
        if "labelled" in e.detail:
            counts.add(_stage_note(e))
    return family_table(
        audit,
        ["stages"],
        "Stages of the judge compared with people's labels",
        note=" ".join(sorted(counts)),
    )


def _stage_note(estimate: Estimate) -> str:
    """How many decisions of a stage people labelled, and what came of them."""
    detail = estimate.detail
    return (
        f"{estimate.metric}: people labelled {detail['labelled']:,} {detail['unit']}s; of"
        f" {detail['not_asked']:,} the judge was not asked, {detail['unread']:,} replies say"
        f" neither yes nor no, on {detail['unresolved']:,} people disagree. Yes is"
        f" “{detail['yes']}”, no “{detail['no']}”."
    )


def blind_tables(audit: BenchmarkAudit) -> list[Table]:
    """Blind solvability by type, and the cues that give the right answer away."""
    tables = []
    estimate = find_estimate(audit, "solvability.blind_accuracy")
    if estimate is not None and estimate.value is not None:
        rows: list[tuple[Text, ...]] = [
            (
                Text("all items"),
                Text(f"{estimate.detail.get('items', estimate.n_items):,}"),
                estimate_text(estimate),
                *_figures(estimate.detail, "baseline", "p"),
            )
        ]
        for row in estimate.detail.get("by_type", ()):
            kind = Text(str(row.get("type") or "no type"))
            figures = _figures(row, "accuracy", "baseline", "q")
            rows.append((kind, Text(count_text(row.get("items"))), *figures))
        tables.append(
            Table.for_page(
                "Blind solvability",
                columns=(
                    "Type",
                    "Items",
                    "Right from words alone",
                    "Baseline",
                    "p (all), q (types)",
                ),
                rows=tuple(rows),
                right=(1, 2, 3, 4),
                notes=(
                    (
                        "Right from words alone: the share that a classifier predicts on items that"
                        " it was not trained on. Baseline: always giving the most frequent label."
                        " The last column is the probability of such a gain if the words told"
                        " nothing."
                    ),
                ),
                signature=estimate.signature,
            )
        )
    cues = find_estimate(audit, "solvability.leakage_cues")
    if cues is not None and cues.value is not None:
        rows = list(map(_cue_row, cues.detail.get("cues", ())))
        giveaways = "; ".join(map(_giveaway, cues.detail.get("giveaways", ())[:8]))
        phrases = clause("Phrases that mostly occur with one label: {}.", giveaways)
        constant = [
            f"the label of type {c.get('type')} is always {c.get('label')}"
            for c in cues.detail.get("constant_types", ())
        ]
        tables.append(
            Table.for_page(
                "Leakage: cues that predict the label",
                ("Cue", "Clearest in", "Accuracy", "Baseline", "Gain", "p (all tests)", "Leak"),
                tuple(rows),
                (2, 3, 4, 5),
                notes=tuple(filter(None, (phrases, "; ".join(constant)))),
                signature=cues.signature,
            )
        )
    return tables


def _cue_row(cue: Mapping[str, object]) -> tuple[Text, ...]:
    leak = "no"
    if cue.get("leak"):
        leak = "leaks"
    location = Text(str(cue.get("where") or "all items"))
    figures = _figures(cue, "accuracy", "baseline", "gain", "p")
    return (Text(str(cue.get("cue"))), location, *figures, Text(leak))


def _giveaway(phrase: Mapping[str, object]) -> str:
    """A phrase that tells the label, with how often it does."""
    share = percent(finite_number(phrase.get("share")))
    return (
        f"“{phrase.get('phrase')}” ({phrase.get('label')}, {share} of {phrase.get('items')} items)"
    )


def _figures(row: Mapping[str, object], *keys: str) -> list[Text]:
    """The numbers that a row holds under some keys."""
    return list(map(_figure, repeat(row), keys))


def _figure(row: Mapping[str, object], key: str) -> Text:
    value = finite_number(row.get(key))
    if key in ("p", "q"):
        return Text(p_value(value))
    return Text(number(value))


def not_measured_remark(estimate: Estimate | None, subject: str) -> str:
    """Why an estimate has no table or drawing."""
    reason = "this audit has no estimate of it"
    if estimate is not None:
        reason = estimate.reason or reason
    return f"{subject} not measured: {reason}."


# --- all estimates, a table for each family ---

_INFERENCE_LABELS = (
    ("fixed_models", "these respondents"),
    ("model_population", "others like them"),
    ("items", "other items"),
)


def estimates_by_family(audit: BenchmarkAudit) -> list[Table]:
    """A table for each family of indicators; what its flags mean and why numbers are missing stands
    below it.
    """
    families: dict[str, list[Estimate]] = {}
    for estimate in audit.all_estimates:
        families.setdefault(family_title(estimate), []).append(estimate)
    return [_family_estimates(audit, title, estimates) for title, estimates in families.items()]


def _family_estimates(audit: BenchmarkAudit, title: str, estimates: Sequence[Estimate]) -> Table:
    reference = f"What is compared is the administration “{administration_name(audit.reference)}”."
    for family in INDICATOR_FAMILIES.values():
        if family.title == title and family.differs:
            note = f"{capital(family.differs)}. {reference}"
            return _estimates_table(audit, title, estimates, (note,))
    return _estimates_table(audit, title, estimates, ())


def _estimates_table(
    audit: BenchmarkAudit, caption: str, estimates: Sequence[Estimate], notes: tuple[str, ...]
) -> Table:
    """Estimates with what they mean, their intervals, and the reason where there is no number."""
    # stages are estimated under names of their own
    metrics = len({*audit.metrics, *map(attrgetter("metric"), estimates)}) > 1
    explained: set[str] = set()
    raised: set[str] = set()
    rows = []
    for e in estimates:
        statistic = e.indicator.partition(".")[2]
        meaning = ""
        # A meaning is said once a table, at the first estimate of a statistic.
        if statistic not in explained:
            meaning = meaning_of(statistic)
        explained.add(statistic)
        raised.update(e.flags)
        administration = "by itself"
        if e.other:
            administration = " and ".join(map(administration_name, e.other.split(" & ")))
        rows.append(
            (
                Text(f"{family_title(e)}, {statistic_name(statistic)}", e.indicator, small=meaning),
                *([Text(e.metric)] * metrics),
                Text(administration, e.other),
                text_with_unit(audit, e),
                _interval_cell(e),
                _sample_cell(e),
                _notes(e),
            )
        )
    known_flags = sorted(raised & FLAGS.keys())
    words = [f"{capital(flag_words(flag))}: {FLAGS[flag]}." for flag in known_flags]
    heads = ("Statistic", *(["Metric"] * metrics), "Compared with", "Value", "95% interval")
    return Table.for_page(
        caption,
        columns=(*heads, "Made from", "Notes"),
        rows=rows,
        right=(2 + metrics,),
        notes=tuple(filter(None, (*notes, *words))),
    )


def _interval_cell(estimate: Estimate) -> Text:
    if reason_withheld(estimate):
        return Text("")
    lines = []
    for kind, population in _INFERENCE_LABELS:
        if interval := shown_interval(estimate, kind):
            lines.append(f"{_interval_ends(estimate, interval)} {population}")
    methods = "; ".join(f"{i.inference}: {i.method}, {i.level:.0%}" for i in estimate.intervals)
    return Text("\n".join(lines), methods)


def _interval_ends(estimate: Estimate, interval: Interval) -> str:
    """An interval in brackets, or the end that it has where the other one is unbounded."""
    if interval.one_sided:
        return lower_end(interval.low, decimals_of(estimate))
    low, high = (
        None if is_unbounded_end(estimate, end) else number(end, decimals_of(estimate))
        for end in (interval.low, interval.high)
    )
    if low is None and high is None:
        return "no ends"
    # The comma belongs to the sentence in which the population follows.
    if high is None:
        return f"from {low}, no upper end,"
    if low is not None:
        return f"[{low}, {high}]"
    return f"up to {high}, no lower end,"


def _sample_cell(estimate: Estimate) -> Text:
    lost = clause(", {:,} unscored", estimate.unscored)
    return Text(
        f"{estimate.n_respondents:,} respondents, {estimate.n_items:,} items{lost}",
        small=lost_note(estimate),
    )


def _notes(estimate: Estimate) -> Text:
    """The flags in words, and beneath them why there is no number, or no interval."""
    words = list(map(flag_words, estimate.flags))
    if estimate.status != "ok":
        words.append(estimate.status.replace("_", " "))
    absent = estimate.detail.get("no_interval_for_others")
    reasons = (
        estimate.reason,
        reason_withheld(estimate),
        clause("no interval for others: {}", absent),
    )
    flags = ", ".join(estimate.flags)
    return Text("; ".join(words), flags, small="; ".join(filter(None, reasons)))
