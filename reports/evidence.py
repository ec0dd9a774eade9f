"""Tables of evidence: reliability by error source, variance components, decision study, people and judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hqm.reports.names import FAMILIES, meaning_of, statistic_name
from hqm.reports.score_tables import set_name
from hqm.reports.tables import DASH, Table, Text, cell, estimate, find, interval, number, p_value, percent, short

from hqm import FLAGS, BenchmarkAudit, Cell, Estimate, Interval

SOURCES: Mapping[str, tuple[str, str, tuple[str, ...], str]] = {
    "test_retest": ("Another seed", "pearson", ("rho_g",), "put the original form a second time: --runs 2"),
    "parallel_forms": (
        "Another wording",
        "pearson",
        ("form_correlation", "icc_a1"),
        "put a parallel form: --forms original,parallel",
    ),
    "consistency": ("Other items (internal consistency)", "alpha", ("stratified_alpha", "omega_types"), "this audit holds no estimate of it"),
    "judge_consistency": ("The judge asked again", "pearson", ("icc_a1",), "a judge must be asked twice: --judge NAME --rejudge 2"),
    "judge_agreement": ("Another judge", "pearson", ("icc_a1",), "name a second judge: --judge A --judge B"),
    "criterion": ("People in place of the scorer", "pearson", ("disattenuated",), "give people's labels: --criterion FILE"),
    "blindness": ("Without the picture", "pearson", ("icc_a1",), "put the questions blind: --blind"),
    "generalizability": ("Items and this facet at once", "g", ("phi",), "this audit holds no crossed design of them"),
    "expected": ("Seeds, from the first token's probabilities", "", ("reliability",), "the answers carry no probabilities"),
}  # fmt: skip
"""Family -> what varies, the unadjusted statistic, the adjusted ones (the first that has a number), how to measure it."""


def reliability(one: BenchmarkAudit) -> Table:
    """Reliability by error source: a row a source, unadjusted beside adjusted, noise floor and common length."""
    rows: list[tuple[Text, ...]] = []
    absent: list[tuple[Text, ...]] = []
    for family, (name, plain, better, remedy) in SOURCES.items():
        found = False
        for metric in one.metrics:
            for other in _others(one, family, metric):
                row = _source(one, family, metric, other, plain, better)
                if row is not None:
                    rows.append((Text(name, small=_told(other, family)), Text(metric), *row))
                    found = True
        if not found:
            mine = (e.reason for e in one.estimates if e.indicator.startswith(f"{family}.") and e.reason)
            reason = next(mine, remedy)
            absent.append(
                (Text(name, small=f"not measured: {reason}"), *(Text(DASH, "not measured", True) for _ in range(7)))
            )
    columns = (
        "What varies",
        "Metric",
        "Unadjusted",
        "Adjusted",
        "95% interval",
        "Noise floor",
        "At 1,000 items",
        "ICC(A,1), same scores",
    )
    notes = (
        "Each row is another source of error: the rows answer different questions and are never averaged. Both intervals are "
        "given: for these respondents over other items, and for others like them.",
    )  # fmt: skip
    return Table("Reliability by source of error", columns, (*rows, *absent), (2, 3, 5, 6, 7), notes)


def _others(one: BenchmarkAudit, family: str, metric: str) -> list[str]:
    """The administrations that a family compares the reference with; the runs of one form come last, together."""
    seen = dict.fromkeys(e.other for e in one.estimates if e.indicator.startswith(f"{family}.") and e.metric == metric)
    if family == "test_retest":
        return [next(iter(seen))] if seen else []
    return list(seen)


def _told(other: str, family: str) -> str:
    if family == "generalizability" and other:
        return f"one run; crossed with {' & '.join(map(cell, other.split(' & ')))}"
    if not other or family in ("test_retest", "consistency"):
        return ""
    try:
        return cell(other)
    except ValueError:
        return ""


def _pick(one: BenchmarkAudit, family: str, statistic: str, metric: str, other: str) -> Estimate | None:
    name = f"{family}.{statistic}"
    mine = [e for e in one.estimates if (e.indicator, e.metric) == (name, metric)]
    return next((e for e in mine if e.other == other), mine[0] if mine and family == "test_retest" else None)


def _source(
    one: BenchmarkAudit, family: str, metric: str, other: str, plain: str, better: Sequence[str]
) -> tuple[Text, ...] | None:
    first = _pick(one, family, plain, metric, other)
    known = [e for name in better if (e := _pick(one, family, name, metric, other)) is not None]
    second = next((e for e in known if e.value is not None), known[0] if known else None)
    if (first is None or first.value is None) and (second is None or second.value is None):
        return None
    floor = _pick(one, family, "noise_floor", metric, other)
    length = _pick(one, family, "rho_g_1000", metric, other)
    agreed = _pick(one, family, "icc_a1", metric, other)
    spans = second if second is not None and second.value is not None else first
    return (
        named(first),
        named(second),
        Text(_spans(spans), small=" · ".join(x for x in [_status(first), _status(second)] if x)),
        *(named(found, plain=True) for found in (floor, length, agreed)),
    )


def named(found: Estimate | None, plain: bool = False) -> Text:
    """An estimate with its statistic's name below."""
    if found is None:
        return Text(DASH, "not measured", True)
    shown = estimate(found)
    if found.value is None:
        shown = replace(shown, text="no number", muted=True)
    return replace(shown, small="" if plain else statistic_name(found.indicator.partition(".")[2]))


def _status(found: Estimate | None) -> str:
    if found is None or found.status == "ok":
        return ""
    return f"{statistic_name(found.indicator.partition('.')[2])}: {found.reason}"


def _spans(found: Estimate | None) -> str:
    if found is None:
        return ""
    named_spans = (("these respondents", "fixed_models"), ("others like them", "model_population"), ("items", "items"))
    spans = [f"{interval(found.interval(kind))} {name}" for name, kind in named_spans if found.interval(kind)]
    return "\n".join(spans)


def components(found: Estimate) -> Table | None:
    """The G study of one crossed design: which facet makes how much of the variance."""
    rows = found.detail.get("components")
    if not rows:
        return None
    table = []
    for row in rows:
        share = _number(row.get("share"))
        low, high = _number(row.get("low")), _number(row.get("high"))
        shown = "" if low is None or high is None else interval(Interval(low, high, "items", ""), 5)
        bar = "" if share is None else number(100 * max(0.0, min(1.0, share)), 1)
        variance = number(_number(row.get("variance")), 5)
        table.append(
            (Text(_facet(str(row.get("facet", "")))), Text(percent(share, 1), bar=bar), Text(variance), Text(shown))
        )
    columns = ("Source", "Share of the variance", "Variance", "95% interval")
    notes = (
        "The respondents' share is what the benchmark is there to measure; the rest is error for one purpose or another.",
        f"{cell(found.first)} and {' & '.join(map(cell, found.other.split(' & ')))}." if found.other else "",
    )
    caption = f"G study: where the variance of {found.metric} comes from{_design(found)}"
    return Table(caption, columns, tuple(table), (1, 2, 3), tuple(filter(None, notes)), found.signature)


def _design(found: Estimate) -> str:
    return f" (respondents × items × {found.detail['varied']}s)" if found.detail.get("varied") else ""


def _facet(name: str) -> str:
    """A component in words.

    >>> _facet("respondent x item"), _facet("item")
    ('respondent × item', 'item')
    """
    return name.replace(" x ", " × ").replace(":", " × ")


def crossed(one: BenchmarkAudit) -> list[Estimate]:
    """The crossed designs of the leading metric, one for each facet that was varied."""
    metric = next(iter(one.metrics), "")
    found: dict[tuple[str, str], Estimate] = {}
    for e in one.estimates:
        if e.metric == metric and e.indicator in ("generalizability.g", "generalizability.phi") and e.value is not None:
            found.setdefault((e.first, e.other), e)
    return list(found.values())


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def decision(found: Estimate) -> Table | None:
    """The D-study: what it would take to be reliable enough."""
    rows = found.detail.get("d_study")
    if not rows:
        return None
    sizes = ("items", "runs", "forms", "judges", "answers", "cost")
    shown = [key for key in sizes if any(row.get(key) is not None for row in rows)]
    remarks = any(row.get("reason") for row in rows)
    table = []
    for row in rows:
        cells = [Text(_count(row.get(key))) for key in shown]
        table.append(
            (Text(number(_number(row.get("target")), 2)), *cells, *([Text(str(row.get("reason") or ""))] * remarks))
        )
    heads = {"runs": "seeds", "answers": "answers a respondent"}
    columns = ("Phi wanted", *(heads.get(key, key) for key in shown), *(["Remark"] * remarks))
    notes = ("The design with the fewest answers that reaches each Phi, by the shares of the G study.",)
    caption = f"D-study: what you would need for .90{_design(found)}"
    return Table(caption, columns, tuple(table), tuple(range(1, len(shown) + 1)), notes, found.signature)


def _count(value: object) -> str:
    found = _number(value)
    return number(found) if found is None or found != int(found) else f"{int(found):,}"


def family_table(one: BenchmarkAudit, families: Iterable[str], caption: str, note: str = "") -> Table:
    """The estimates of some families with their meaning in the name, both intervals, and the reason where there is none."""
    rows: list[tuple[Text, ...]] = []
    missing = []
    told: set[str] = set()
    for family in families:
        mine = [e for e in one.estimates if e.indicator.startswith(f"{family}.")]
        if not mine:
            missing.append(f"{FAMILIES.get(family, family)}: not measured; {SOURCES[family][3]}." if family in SOURCES else f"{FAMILIES.get(family, family)}: not measured in this audit.")  # fmt: skip
        for found in mine:
            if found.status == "not_applicable":
                continue
            statistic = found.indicator.partition(".")[2]
            judge = Cell.parse(found.other.partition(" & ")[0]).judge if found.other else ""
            name = statistic_name(statistic) + (f" ({judge})" if family == "criterion" else "")
            reason = "" if found.status == "ok" else found.reason
            flags = ", ".join(flag for flag in found.flags if flag in FLAGS)
            meaning = meaning_of(statistic) if statistic not in told else ""
            told.add(statistic)
            rows.append(
                (
                    Text(name, small=meaning),
                    Text(found.metric),
                    estimate(found),
                    Text(_spans(found)),
                    Text(flags, small=reason),
                )
            )
    notes = (note, *missing) if note else tuple(missing)
    return Table(caption, ("Statistic", "Metric", "Value", "95% interval", "Notes"), tuple(rows), (2,), notes)


def flagged_items(one: BenchmarkAudit) -> Table:
    """The items that something was found about, by name."""
    metric = next(iter(one.metrics), "")
    rows: list[tuple[Text, ...]] = []
    what = {
        "label_errors": "Strong respondents fail it and weak ones pass: read its label",
        "negative_items": "Works against the rest of the test",
        "misfit_items": "Does not fit the Rasch model",
        "dead_items": "Everybody right, or everybody wrong: tells nothing apart",
        "duplicate_items": "Stands there more than once",
    }
    for statistic, meaning in what.items():
        found = find(one, f"items.{statistic}", metric)
        if found is None:
            rows.append((Text(statistic_name(statistic), small=meaning), Text("not measured", muted=True), Text("")))
        elif found.value is None:
            rows.append(
                (
                    Text(statistic_name(statistic), small=meaning),
                    Text("not measured", found.reason, True),
                    Text(found.reason),
                )
            )
        else:
            rows.append(
                (
                    Text(statistic_name(statistic), small=meaning),
                    estimate(found),
                    Text(_names(found.detail, int(found.value))),
                )
            )
    return Table("Items to look at", ("Finding", "Items", "Which"), tuple(rows), (1,), (f"By {metric}.",))


def _names(detail: Mapping[str, Any], count: int, most: int = 12) -> str:
    names: list[str] = [str(row.get("item")) for row in detail.get("candidates", ())]
    names = names or [str(name) for name in detail.get("items", ())]
    names = names or [" = ".join(map(str, group)) for group in detail.get("groups", ())]
    more = count - min(len(names), most)
    return ", ".join(names[:most]) + (f", and {more:,} more" if names and more > 0 else "")


def blind(one: BenchmarkAudit) -> list[Table]:
    """Blind solvability type by type, and the cues that give the label away."""
    metric = next(iter(one.metrics), "")
    tables = []
    found = find(one, "solvability.blind_accuracy", metric)
    if found is not None and found.value is not None:
        head = (Text("all items"), Text(f"{found.detail.get('items', found.n_items):,}"), estimate(found),
                Text(number(_number(found.detail.get("baseline")))), Text(p_value(_number(found.detail.get("p")))))  # fmt: skip
        rows: list[tuple[Text, ...]] = [head]
        rows += [
            (Text(str(r.get("type") or "no type")), Text(_count(r.get("items"))), *(_figure(r, k) for k in ("accuracy", "baseline", "q")))
            for r in found.detail.get("by_type", ())
        ]  # fmt: skip
        notes = (
            "Baseline: always the most frequent label. The last column is the chance of such a gain if words told nothing.",
        )
        columns = ("Type", "Items", "Right by words alone", "Baseline", "p (all), q (types)")
        tables.append(Table("Blind solvability", columns, tuple(rows), (1, 2, 3, 4), notes, found.signature))
    cues = find(one, "solvability.leakage_cues", metric)
    if cues is not None and cues.value is not None:
        rows = [
            (Text(str(c.get("cue"))), *(_figure(c, k) for k in ("accuracy", "baseline", "gain", "q")), Text("leaks" if c.get("leak") else "no"))
            for c in cues.detail.get("cues", ())
        ]  # fmt: skip
        given = [f"“{g.get('phrase')}” ({g.get('label')}, {percent(_number(g.get('share')))} of {g.get('items')} items)" for g in cues.detail.get("giveaways", ())[:8]]  # fmt: skip
        constant = [f"{c.get('type')} is always {c.get('label')}" for c in cues.detail.get("constant_types", ())]
        remarks = tuple(
            filter(
                None,
                ["Phrases that go with one label: " + "; ".join(given) + "." if given else "", "; ".join(constant)],
            )
        )
        tables.append(Table("Leakage: cues that predict the label", ("Cue", "Accuracy", "Baseline", "Gain", "q", "Leak"), tuple(rows), (1, 2, 3, 4), remarks, cues.signature))  # fmt: skip
    return tables


def _figure(row: Mapping[str, Any], key: str) -> Text:
    shown = p_value if key in ("p", "q") else number
    return Text(shown(_number(row.get(key))))


def not_blind(one: BenchmarkAudit) -> str:
    """Why blind solvability has no table; empty where it has."""
    found = find(one, "solvability.blind_accuracy", next(iter(one.metrics), ""))
    if found is None:
        return "Blind solvability was not measured: this audit holds no estimate of it."
    return "" if found.value is not None else f"Blind solvability was not measured: {found.reason}."


def tied(one: BenchmarkAudit, sets: Sequence[Sequence[str]]) -> Table | None:
    """What this benchmark can and cannot separate."""
    if not sets:
        return None
    groups = [names for names in sets if len(names) > 1]
    rows = [
        (Text(set_name(i)), Text(", ".join(short(n) for n in names)), Text(str(len(names))))
        for i, names in enumerate(groups[:20])
    ]
    alone = [short(names[0]) for names in sets if len(names) == 1]
    notes = ["Within a set no difference is more than chance; a respondent may stand in several sets that overlap."]
    notes += [f"Apart from all others: {', '.join(alone)}."] if alone else []
    notes += [f"{len(groups) - 20} further sets are in the audit's JSON."] if len(groups) > 20 else []
    return Table("What this benchmark can and cannot separate: tied sets", ("Set", "Respondents, best first", "How many"), tuple(rows), (2,), tuple(notes))  # fmt: skip
