"""A value of every indicator from an audit of the embedded benchmark, for the indicators' pages.

python docs/make/values.py                    make the audit (COMMAND, some minutes) and write values.json beside this file
python docs/make/values.py AUDIT.json         take an audit that is there
python docs/make/values.py AUDIT.json --check say whether values.json is what that audit gives
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hqm.signature import short_signature

FILE = Path(__file__).with_name("values.json")
OUT = Path(__file__).resolve().parents[2] / "out" / "values"
COMMAND = "hqm audit shapes --limit 100"
_FIRST = ("shapes_yesno", "shapes_choice", "shapes_vqa", "shapes_caption")
"""The parts of the benchmark, in the order in which they are asked for a value."""
_AGREEMENT = frozenset(
    "pearson spearman tau_b icc_a1 icc_c1 icc_11 icc_1k icc_ak icc_ck ccc mean_shift"
    " limits_of_agreement form_correlation equivalence rho_g rho_g_1000 noise_floor gain drift"
    " same_winner top_k pair_flip expected_tau icc_a1_of_forms phi_of_forms".split()
)
"""Statistics whose picture is the scores of two administrations."""
_MOST = 12
"""How many rows a picture has."""


def values_of(audit: Any) -> dict[str, dict[str, Any]]:
    """Statistic -> the value that its page shows with what its picture is drawn from, or why there
    is none.
    """
    from hqm.indicators import statistics

    return {name: _entry(audit, indicator) for name, indicator in statistics().items()}


def _entry(audit: Any, indicator: Any) -> dict[str, Any]:
    from hqm.reports.pages.phrases import reason_withheld
    from hqm.reports.tables.table import FAMILIES

    every = [
        (part, e)
        for part in _parts(audit)
        for e in part.all_estimates
        if e.indicator.partition(".")[2] == indicator.name
    ]
    usable = [(part, e) for part, e in every if e.value is not None and not reason_withheld(e)]
    if not usable:
        given = next(
            (reason_withheld(e) or e.reason for _, e in every if reason_withheld(e) or e.reason), ""
        )
        needs = "; ".join(dict.fromkeys(need.description for need in indicator.needs))
        return {"reason": given or f"it needs {needs or 'what this audit does not have'}"}
    order = list(FAMILIES)
    if indicator.name in _AGREEMENT:
        order.insert(0, order.pop(order.index("parallel_forms")))
    # a part's leading metric comes first among its estimates, and `min` keeps the first of equals
    part, e = min(
        usable,
        key=lambda pair: (pair[1].status != "ok", order.index(pair[1].indicator.partition(".")[0])),
    )
    return _described(
        part, e, [pair for pair in usable if pair[1].metric == next(iter(pair[0].metrics))]
    )


def _parts(audit: Any) -> list[Any]:
    known = [part for part in audit.audits if part.benchmark in _FIRST]
    return sorted(known, key=lambda part: _FIRST.index(part.benchmark)) or list(audit.audits)


def _described(part: Any, e: Any, every: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    from hqm.reports.pages.phrases import unit_of
    from hqm.reports.tables.table import administration_name, decimals_of, family_title

    return {
        "estimate": e.indicator,
        "family": family_title(e),
        "benchmark": part.benchmark,
        "title": part.title,
        "metric": e.metric,
        "compared_with": " and ".join(map(administration_name, e.other.split(" & ")))
        if e.other
        else "",
        "value": e.value,
        "digits": decimals_of(e),
        "unit": unit_of(part, e),
        "intervals": {i.inference: [i.low, None if i.one_sided else i.high] for i in e.intervals},
        "respondents": e.n_respondents,
        "items": e.n_items,
        "status": e.status,
        "reason": e.reason,
        "signature": short_signature(e.signature),
        "picture": _picture(part, e, every),
    }


Line = tuple[str, float | None, float | None, list[list[Any]]]
"""A row of a picture: its name, the ends of a range, and marks (value, kind)."""


def _picture(part: Any, e: Any, every: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """What is drawn: points of two administrations or of items, or rows."""
    statistic = e.indicator.partition(".")[2]
    if statistic in _AGREEMENT and (points := _points(part, e)):
        from hqm.reports.tables.table import administration_name

        axis, up = (
            f"{e.metric}, {administration_name(name)}"
            for name in (part.reference, e.other.split(" & ")[0])
        )
        return {
            "kind": "points",
            "about": "Each point is a model; on the line its score is the same in both.",
            "axis": axis,
            "up": up,
            "line": True,
            "points": points,
        }
    if (
        e.indicator.startswith("items.")
        and statistic != "reading_list"
        and (points := _items(part))
    ):
        return {
            "kind": "points",
            "about": "Each point is an item; below 0 strong models do worse on it than weak ones.",
            "axis": "difficulty (share of models that are right)",
            "up": "discrimination",
            "line": False,
            "points": points,
        }
    for about, axis, at, lines in _rows(part, e):
        if lines:
            return {
                "kind": "rows",
                "about": about,
                "axis": axis,
                "at": at,
                "rows": [list(line) for line in lines[:_MOST]],
            }
    lines = [_line(other, estimate) for other, estimate in every][:_MOST]
    return {
        "kind": "rows",
        "about": "The embedded benchmark's parts; a bar is a 95% interval.",
        "axis": statistic.replace("_", " "),
        "at": None,
        "rows": lines,
    }


def _short(name: str) -> str:
    from hqm.reports.tables.table import short_name

    return short_name(name)


def _points(part: Any, e: Any) -> list[list[Any]]:
    other = e.other.split(" & ")[0]
    pairs = [
        (
            row.name,
            row.cells.get(part.reference, {}).get(e.metric),
            row.cells.get(other, {}).get(e.metric),
        )
        for row in part.respondents
    ]
    return [
        [_short(name), _rounded(x), _rounded(y)]
        for name, x, y in pairs
        if x is not None and y is not None
    ]


def _items(part: Any) -> list[list[Any]]:
    item_map = (
        next(
            (
                e.detail.get("map")
                for e in part.all_estimates
                if e.indicator == "items.discrimination"
            ),
            None,
        )
        or {}
    )
    pairs = zip(item_map.get("difficulty") or (), item_map.get("item_rest") or (), strict=False)
    kept = dict.fromkeys(
        (_rounded(x), _rounded(y)) for x, y in pairs if x is not None and y is not None
    )
    return [["", x, y] for x, y in kept]


def _line(part: Any, e: Any) -> list[Any]:
    span = e.interval("fixed_models") or e.interval("model_population") or e.interval("items")
    ends = [None, None] if span is None else [_rounded(span.low), _rounded(span.high)]
    from hqm.reports.tables.table import family_title

    return [
        f"{part.title.rpartition(': ')[2]}, {family_title(e).lower()}",
        *ends,
        [[_rounded(e.value), "dot"]],
    ]


def _rows(part: Any, e: Any) -> Iterator[tuple[str, str, float | None, list[Line]]]:
    """What a picture in rows can show, the most telling first: what it says, its axis, a line to
    compare with, its rows.
    """
    statistic, detail = e.indicator.partition(".")[2], e.detail
    by = detail.get("by_respondent")
    if isinstance(by, Mapping) and by:
        sample = next(iter(by.values()))
        key = "A row is a model"
        if isinstance(sample, Mapping):
            key += "".join(
                f"{mark} {name}" for mark, name in zip(("; ●", ", ○"), sample, strict=False)
            )
        elif isinstance(sample, (list, tuple)):
            key += "; ○ first, ● other administration"
        yield (
            f"{key}.",
            statistic.replace("_", " "),
            None,
            [(_short(n), None, None, _marks(v)) for n, v in by.items()],
        )
    if statistic == "index":
        yield (
            "A row is a type; left of the line a score on it is precise enough.",
            "standard error of a model's score on the type",
            0.03,
            _of(detail, "types", "type", ("sem",)),
        )
    if statistic == "added_value":
        yield (
            "A row is a type; ● its own items predict its true score, ○ the total does.",
            "share of the type's true variance",
            None,
            _of(detail, "types", "type", ("by_subscore", "by_total")),
        )
    if statistic == "effective":
        yield (
            "A row is a type.",
            "items",
            None,
            [
                (k, None, None, [[row["items"], "dot"]])
                for k, row in part.coverage.items()
                if row["items"]
            ],
        )
    if statistic == "blind_accuracy":
        yield (
            "A row is a type; ● words alone, ○ its commonest answer.",
            "share of right answers",
            None,
            _of(detail, "by_type", "type", ("accuracy", "baseline")),
        )
    if statistic == "leakage_cues":
        yield (
            "A row is a cue; ● what it predicts, ○ the commonest answer.",
            "share of right answers",
            None,
            _of(detail, "cues", "cue", ("accuracy", "baseline")),
        )
    if statistic == "reading_list":
        yield (
            "A row is an item.",
            "chance that its key is wrong or that it misleads strong models",
            None,
            _of(detail, "reading_list", "item", ("expected",)),
        )
    if detail.get("components"):
        yield (
            "A row is a source of variance.",
            "share of the variance",
            None,
            _of(detail, "components", "facet", ("share",)),
        )
    if e.indicator.startswith("discriminability."):
        order = sorted(part.respondents, key=lambda row: -(row.scores.get(e.metric) or 0))
        yield (
            "A row is a model; a bar is the 95% interval of its score over pictures.",
            e.metric,
            None,
            [_scored(row, e.metric) for row in order],
        )


def _of(detail: Mapping[str, Any], key: str, name: str, numbers: Sequence[str]) -> list[Line]:
    rows = []
    for row in detail.get(key) or ():
        marks = [
            [_rounded(row[n]), kind]
            for n, kind in zip(numbers, ("dot", "ring"), strict=False)
            if row.get(n) is not None
        ]
        rows.append((str(row.get(name) or "no type"), None, None, marks))
    return [row for row in rows if row[3]]


def _scored(row: Any, metric: str) -> Line:
    ends = row.intervals.get(metric) or (None, None)
    return (
        _short(row.name),
        _rounded(ends[0]),
        _rounded(ends[1]),
        [[_rounded(row.scores.get(metric)), "dot"]],
    )


def _marks(value: Any) -> list[list[Any]]:
    if isinstance(value, Mapping):
        numbers = [v for v in value.values() if isinstance(v, (int, float))][:2]
        return [[_rounded(v), kind] for v, kind in zip(numbers, ("dot", "ring"), strict=False)]
    if isinstance(value, (list, tuple)):
        return [
            [_rounded(v), kind]
            for v, kind in zip(value, ("ring", "dot"), strict=False)
            if v is not None
        ]
    return [] if value is None else [[_rounded(value), "dot"]]


def _rounded(value: float | None) -> float | None:
    """Four significant digits: what a picture can show."""
    return None if value is None or value == math.inf else float(f"{value:.4g}")


def written(audit: Any) -> str:
    """The file's text."""
    rows = values_of(audit)
    lines = ",\n".join(
        f" {json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"
        for name, entry in rows.items()
    )
    return f"{{\n{lines}\n}}\n"


def main(arguments: Sequence[str]) -> int:
    """Write the file, or say whether it is up to date."""
    import hqm

    named = [argument for argument in arguments if argument != "--check"]
    if not named:
        command = [sys.executable, "-m", "hqm.cli", *COMMAND.split()[1:], "--out", str(OUT)]
        subprocess.run(command, check=True)
    text = written(hqm.Audit.load(named[0] if named else OUT / "audit.json"))
    if "--check" in arguments:
        same = FILE.is_file() and FILE.read_text("utf-8") == text
        print(f"{FILE.name} is {'what' if same else 'not what'} this audit gives")
        return 0 if same else 1
    FILE.write_text(text, encoding="utf-8")
    print(
        f"{FILE}: {text.count(chr(34) + 'value' + chr(34))} values, {text.count(chr(10)) - 2}"
        " statistics"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
