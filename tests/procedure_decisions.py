"""What an audit of hand-made numbers decides: the seven questions, the gate, what is to be mended,
and which flags are warnings. Each limit has a case on both of its sides.

    python -m tests.procedure_decisions     # writes tests/corpora/decisions.jsonl; then `raise`

A case is what differs from an audit of twelve models in which nothing is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from hqm.auditing import definitions, precision
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.audit_rows import RespondentScores
from hqm.auditing.budget import BudgetRow, ErrorBudget, Gap
from hqm.auditing.gate import check_against
from hqm.auditing.policy import POLICIES, Policy
from hqm.auditing.seven_questions import seven_answers
from hqm.benchmark.findings import Finding
from hqm.indicators import INDICATOR_FAMILIES
from hqm.indicators.cases import Case
from hqm.indicators.flags import adjust_warnings, length_confound, refused_parameters, warn
from hqm.indicators.indicator import family_indicators
from hqm.psychometrics.inference.families import FamilyDependence
from hqm.psychometrics.result import Coefficient
from hqm.types import Cell, Estimate, Form, Interval, Item

FILE = Path(__file__).parent / "corpora" / "decisions.jsonl"
FIRST = str(Cell())
METRIC = "accuracy"
Row = dict[str, Any]


def decide(case: Mapping[str, Any]) -> dict[str, Any]:
    """`audit.decisions` -> in what an audit differs from the sound one, which is the first case;
    `audit.flags` -> its warnings and notes.
    """
    if case["about"] == "flags":
        return {"audit.flags": _flags(**case["flags"])}
    if case["about"] == "rules":
        return {"audit.rules": _RULES[case["of"]](*case["names"])}
    decisions = _decisions(case["audit"], case.get("policy", {}))
    if case["audit"] or "policy" in case:
        decisions = _changed(decisions, _sound_decisions())
    return {"audit.decisions": decisions}


@cache
def _sound_decisions() -> dict[str, Any]:
    return _decisions({}, {})


def _changed(now: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """What is otherwise; of a list the rows that are new, and the names of those that are gone."""
    changed: dict[str, Any] = {}
    for key, value in now.items():
        sound = before.get(key)
        if isinstance(value, dict) and isinstance(sound, dict):
            if differences := _changed(value, sound):
                changed[key] = differences
        elif isinstance(value, list) and isinstance(sound, list):
            new = [row for row in value if row not in sound]
            names = [row[0] for row in value]
            gone = [row[0] for row in sound if row[0] not in names]
            if new or gone:
                changed[key] = [new, gone]
        elif value != sound:
            changed[key] = value
    return changed


def _decisions(fields: Mapping[str, Any], rules: Mapping[str, Any]) -> dict[str, Any]:
    """All that is decided about an audit."""
    audit = _audit(**fields)
    policy = Policy.model_validate({**_POLICY, **rules})
    answers = seven_answers(audit, policy)
    more, passing = precision.more_items(audit, policy), precision.passing(audit, 0.6)
    level = definitions.guessing_level(audit)
    outcome = {
        "answers": answers.codes,
        "state": answers.state,
        "mend": [[row.what, row.severity, row.count, row.cost] for row in answers.mend],
        "gate": [
            [test.what, test.outcome, test.end, test.needed, test.required]
            for test in check_against(Audit((audit,)), policy).tests
        ],
        "precision": asdict(precision.total_precision(audit)),
        "more": [[need.purpose, need.size, need.items] for need in more.needs],
        "more_runs": more.runs,
        "more_of_types": dict(more.types),
        "unhelped": [[name] for name in more.unhelped],
        "passing": [[passing.n_passed, passing.n_respondents, passing.consistency, passing.low]],
        "types": [
            [row.type, row.standing, row.missing, row.helped_by_items, row.error, row.error_high]
            for row in definitions.types_measured(audit, policy.coverage.error)
        ],
        "leaks": [list(asdict(leak).values()) for leak in definitions.leaks_shown(audit)],
        "keys": asdict(definitions.wrong_keys(audit)),
        "in_part": definitions.answered_in_part(audit),
        "guessing": asdict(level) if level else None,
        "labellers": asdict(definitions.who_labelled(audit)),
    }
    decided: dict[str, Any] = json.loads(json.dumps(outcome), parse_float=_rounded)
    return decided


def _rounded(text: str) -> float:
    return float(f"{float(text):.8g}")


_POLICY: Row = {
    "name": "borders",
    "required": {"facets": ["run"], "respondents": 10},
    "limits": {"unscored": 0.05, "leak": 0.02, "leak_found": 0.25},
    "coverage": {"claimed": True, "error": 0.03},
    "precision": {"error": 0.03, "difference": 0.12},
    "passing": {"score": 0.6},
}
_SCORES = [0.9, 0.87, 0.83, 0.8, 0.76, 0.71, 0.69, 0.64, 0.6, 0.55, 0.52, 0.45]


def _audit(
    *,
    scores: Sequence[float] = _SCORES,
    states: Sequence[Mapping[str, int]] = (),
    estimates: Sequence[Row] = (),
    without: Sequence[str] = (),
    coverage: Mapping[str, Sequence[int]] | None = None,
    half: float | None = 0.05,
    gaps: Sequence[Sequence[float | None]] = ((0.03, 0.01, 0.05), (0.04, 0.01, 0.07)),
    wordings: Sequence[Row] = (),
    findings: Sequence[Row] = (),
    scale: Sequence[float | None] = (0, 1),
    better: str = "higher",
    n_items: int = 400,
    images: int = 200,
    task: str = "yes_no",
    labelled_by: str = "",
) -> BenchmarkAudit:
    """An audit in which nothing is wrong but what is given."""
    counts = states or [{"ok": n_items} for _ in scores]
    judged = {str(Cell(judge=labelled_by)): 0.9} if labelled_by else {}
    respondents = [
        RespondentScores(
            f"m{k}", {METRIC: score}, {}, {}, {FIRST: {METRIC: score}}, {FIRST: row}, {}, {}, judged
        )
        for k, (score, row) in enumerate(zip(scores, counts, strict=True))
    ]
    given = {row["indicator"] for row in estimates}
    rows = [row for row in _SOUND if row["indicator"] not in {*given, *without}]
    sources: list[Row] = [{"source": "items", "status": "ok", "half": half, "factor": 2.0}]
    budget = ErrorBudget(
        metric=METRIC,
        rows=tuple(BudgetRow(**row) for row in [*sources, *wordings]),
        gaps=tuple(
            Gap(
                first=f"m{k}",
                other=f"m{k + 1}",
                gap=gap,
                low=low,
                high=high,
                clear=(),
                not_clear=("items",),
            )
            for k, (gap, low, high) in enumerate(cast("Sequence[Sequence[Any]]", gaps))
        ),
    )
    types = {"existence": (1, 250), "counting": (1, 150)} if coverage is None else coverage
    return BenchmarkAudit(
        benchmark="mine",
        title="Mine",
        version="1",
        task=cast("Any", task),
        scoring="official",
        parser="strict",
        summary="",
        reference=FIRST,
        n_items=n_items,
        images=images,
        metrics={METRIC: {"about": "", "better": better, "scale": tuple(scale)}},
        forms={},
        truth_yes={},
        cells=(FIRST,),
        respondents=tuple(respondents),
        all_estimates=tuple(_estimate(**row) for row in [*rows, *estimates]),
        findings=cast("Any", tuple(findings)),
        coverage={
            kind: {"type": kind, "claimed": bool(claimed), "items": items, "images": items}
            for kind, (claimed, items) in types.items()
        },
        budget={METRIC: budget},
    )


def _estimate(
    indicator: str,
    value: float | None = None,
    ends: Sequence[float] = (),
    inference: str = "fixed_models",
    facet: str = "",
    other: str = "",
    **settings: Any,
) -> Estimate:
    """An estimate with one interval, where ends are given."""
    intervals = (Interval(*ends, cast("Any", inference), "m"),) if ends else ()
    settings = {"n_respondents": 12, "n_items": 400, **settings}
    return Estimate(indicator, METRIC, facet, FIRST, other, value, intervals=intervals, **settings)


def _contrast(difference: float, error: float, p: float) -> Row:
    return {
        "first": "m0",
        "second": "m1",
        "difference": difference,
        "error": error,
        "p": p,
        "items": 400,
        "clusters": 200,
        "rivals": 1,
    }


def _type(name: str, error: float | None, **settings: Any) -> Row:
    row = {"type": name, "items": 200, "sem": error, "sem_high": error, "measured": True}
    return {
        **row,
        "alpha": 0.8,
        "gain_low": 0.01,
        "gain_high": 0.05,
        "missing_items": 0,
        **settings,
    }


def _stratum(name: str = "", cue: str = "words", **settings: Any) -> Row:
    row = {"type": name, "part": "", "name": name or "all items", "cue": cue, "items": 400}
    row |= {"images": 200, "accuracy": 0.5, "baseline": 0.5, "low": -0.1, "high": 0.1}
    return {**row, "leak": False, "detectable": 0.15, "status": "ok", "reason": "", **settings}


def _leak(gain: float, low: float, name: str = "counting", **settings: Any) -> Row:
    return _stratum(name, accuracy=0.5 + gain, low=low, leak=True, **settings)


_SOUND: tuple[Row, ...] = (
    {"indicator": "test_retest.sem", "value": 0.01, "facet": "run", "other": str(Cell(run=1))},
    {"indicator": "test_retest.rho_g", "value": 0.95, "facet": "run", "other": str(Cell(run=1))},
    {"indicator": "discriminability.minimum_difference", "value": 0.05},
    {
        "indicator": "discriminability.separable_pairs",
        "value": 0.6,
        "detail": {"apart": 40, "pairs": 66},
    },
    {
        "indicator": "discriminability.separable_adjacent",
        "value": 0.5,
        "detail": {"contrasts": [_contrast(0.03, 0.005, 0.001), _contrast(0.04, 0.03, 0.4)]},
    },
    {"indicator": "items.label_errors", "value": 0.0, "detail": {"candidates": []}},
    {"indicator": "items.reading_list", "value": 0.1, "detail": {"faults": 1.0}},
    {
        "indicator": "solvability.blind_accuracy",
        "value": 0.5,
        "ends": (0.45, 0.55),
        "inference": "items",
        "detail": {"strata": [_stratum(), _stratum("counting")], "guess": 0.5},
    },
    {
        "indicator": "types.index",
        "detail": {"types": [_type("existence", 0.02), _type("counting", 0.025)]},
    },
)


# --- flags ---


def _flags(
    *,
    n: int = 25,
    n_eff: float | None = None,
    is_dependent: bool = False,
    scores: Sequence[float] = (),
    better: str = "higher",
    scale: Sequence[float] = (0.0, 1.0),
    estimates: Sequence[Row] = (),
    items: Mapping[str, int] | None = None,
    refused: Mapping[str, Sequence[str]] | None = None,
) -> list[Any]:
    """The flags of one metric, of benchmarks of different length and of servers: name, whether it
    is a note, and its numbers.
    """
    names = tuple(f"m{k}" for k in range(len(scores) or n))
    row = list(scores or [0.5] * n)
    case = cast(
        "Case",
        SimpleNamespace(
            respondents=names,
            scores=[row],
            metric=SimpleNamespace(name=METRIC, better=better),
            scale=tuple(scale),
        ),
    )
    family = None
    if n_eff is not None:
        flags = ("FAMILY_DEPENDENCE",) if is_dependent else ()
        family = FamilyDependence(Coefficient(0.4, n=n), n_eff, n, 5, flags, 0.01)
    made = [_estimate(**estimate) for estimate in estimates]
    warnings = [*adjust_warnings(list(warn(case, made, family)), made)]
    warnings += length_confound(items or {}).values()
    warnings += refused_parameters(refused or {})
    return [
        [warning.flag, warning.about, warning.note, *warning.numbers.values()]
        for warning in warnings
    ]


# --- rules that stand in no audit ---

_VALUES = (-1, -0.1, -0.001, 0, 0.001, 0.4, 0.45, 0.499, 0.5, 0.9, 0.95, 0.999, 1, 1.05, 1.1, 2)


def _accepted(section: str) -> dict[str, Any]:
    """Key of a section of a policy -> its default, and which numbers may stand there."""
    sound = getattr(Policy(name="borders"), section)
    keys = {}
    for key, default in sound.model_dump().items():
        if not isinstance(default, str | tuple):
            marks = ("01"[_is_policy({section: {key: value}})] for value in _VALUES)
            keys[key] = [default, "".join(marks)]
    return keys


def _requirements(*keys: str) -> dict[str, bool]:
    """Keys of a threshold -> whether a policy may have them together."""
    values = {"interval": "fixed_models", "detail": "errors", "exact": True, "end": "lower"}
    row = {key: values.get(key, 0.5) for key in keys}
    is_accepted = _is_policy({"require": [{"indicator": "test_retest.rho_g", **row}]})
    return {" ".join(keys): is_accepted}


def _is_policy(rules: Row) -> bool:
    try:
        Policy.model_validate({"name": "borders", **rules})
    except ValueError:
        return False
    return True


def _preset(name: str) -> dict[str, Any]:
    """The numbers of a policy that comes with HQM."""
    rules = Policy.load(name).model_dump(mode="json", exclude_none=True)
    for row in rules["require"]:
        del row["reason"]
    return rules


def _digits(family: str) -> dict[str, int]:
    """Indicator of a family -> digits after the point where it is printed."""
    return {indicator.name: indicator.digits for indicator in family_indicators(family)}


def _shown(kind: str, count: int, position: int) -> dict[str, Any]:
    """Which items are shown of so many: the first of a type whose picture can be, and those to read
    of contradictory keys.
    """
    items = tuple(
        Item(f"q{k}", "Is it red?", "yes_no", "yes", f"{k}.png", "attribute") for k in range(count)
    )
    form = Form("original", items)

    def thumbnail(*pictures: Any) -> str:
        return "shown" if str(pictures[0]).endswith(f"{position}.png") else ""

    if kind == "type":
        rows = definitions.pair_of_each_type(form, thumbnail)
        return {row["item"]: bool(row["thumbnail"]) for row in rows}
    groups = tuple({"items": [f"q{k}", f"q{k + 1}"]} for k in range(0, count - 1, 2))
    findings = [Finding("contradictory-label", "Keys contradict one another.", rows=groups)]
    read = definitions.items_to_read(form, (), findings, METRIC, thumbnail)
    return {"read": [row["item"] for row in read][-2:]}


_RULES: Mapping[str, Callable[..., dict[str, Any]]] = {
    "accepted": _accepted,
    "requirements": _requirements,
    "preset": _preset,
    "digits": _digits,
    "shown": _shown,
}


def _rules() -> Iterator[Row]:
    for section in ("required", "limits", "coverage", "precision", "passing"):
        yield {"of": "accepted", "names": [section]}
    for name in POLICIES:
        yield {"of": "preset", "names": [name]}
    for rules in (
        [],
        ["at_least"],
        ["at_most"],
        ["within"],
        ["at_least", "at_most"],
        ["at_least", "within"],
    ):
        for ends in (
            [],
            ["interval"],
            ["detail"],
            ["exact"],
            ["interval", "exact"],
            ["detail", "interval"],
            ["interval", "end"],
        ):
            yield {"of": "requirements", "names": [*rules, *ends]}
    for family in INDICATOR_FAMILIES:
        yield {"of": "digits", "names": [family]}
    for position in (18, 19, 20, 21):
        yield {"of": "shown", "names": ["type", 30, position]}
    for count in (48, 50, 52, 60):
        yield {"of": "shown", "names": ["read", count, 0]}


def _few_labels() -> Iterator[Row]:
    """Correlations with people that labels of few answers lower, beside scores at their ends."""
    human = str(Cell(judge="human"))
    estimate = {"indicator": "criterion.pearson", "other": human}
    for scores in (
        _SCORES,
        _SCORES[:2],
        _SCORES[:3],
        [1.0, *_SCORES[1:]],
        [1.05, *_SCORES[1:]],
        [*_SCORES[:-1], 0.0],
        [*_SCORES[:-1], -0.05],
        [0.5] * 12,
    ):
        for value, labels in ((0.75, 200), (1.0, 200), (0.999, 200), (0.75, 0), (0.75, 1)):
            truth = {"indicator": "criterion.disattenuated", "value": 0.9, "other": human}
            yield {
                "scores": scores,
                "estimates": [
                    {**estimate, "value": value, "ends": (0.5, 0.9)},
                    {**truth, "detail": {"paired": labels}},
                ],
                "policy": {
                    "require": [
                        {
                            "indicator": "criterion.pearson",
                            "interval": "fixed_models",
                            "at_least": 0.7,
                        }
                    ]
                },
            }
    for end in (-0.1, 0.0, 0.05, 0.95, 1.0):
        for bound in (-0.1, 0.0, 0.05, 0.95, 1.0):
            rule = {"indicator": "test_retest.rho_g", "interval": "fixed_models", "at_least": bound}
            rho = {"indicator": "test_retest.rho_g", "value": 0.97, "ends": (end, 1.0)}
            yield {"estimates": [rho], "policy": {"require": [rule]}}
    # more than a hundred times as many items help nobody: of 400, 40,000
    for size in (1.098, 1.1005, 1.1035, 1.107):
        yield {"estimates": [{"indicator": "discriminability.minimum_difference", "value": size}]}


def _later() -> Iterator[Row]:
    """Cases that were added to the groups above."""
    named = {"indicator": "items.label_errors", "value": 1.0}
    for q in (0.04, 0.005):
        tested = {**named, "detail": {"candidates": [{"item": "q0", "q": q}]}}
        for faults in (0.4, 0.9, 1.6, 1.9, 2.6):
            for stands_out in (False, True):
                listed = {"indicator": "items.reading_list", "value": 0.1}
                detail = {"faults": faults, "stands_out": stands_out}
                yield {"estimates": [tested, {**listed, "detail": detail}]}
    for size in (16.2, 16.9, 17.8, 18.6):
        yield {"estimates": [{"indicator": "discriminability.minimum_difference", "value": size}]}
    for scale in ((None, None), (0, 4)):
        for items in (277, 278, 400):
            coverage = {"counting": (1, items)}
            yield {"without": ["types.index"], "coverage": coverage, "scale": scale}


# --- the cases ---


def cases() -> Iterator[Row]:
    """Every case; no number is drawn."""
    for group in (_sizes, _items_wrong, _leaking, _precise, _types, _asked, _states):
        for fields in group():
            policy = fields.pop("policy", None)
            case: Row = {"about": group.__name__.strip("_"), "audit": fields}
            yield {**case, "policy": policy} if policy else case
    for flags in _flagged():
        yield {"about": "flags", "flags": flags}
    for rule in _rules():
        yield {"about": "rules", **rule}
    for group in (_later, _few_labels):
        for fields in group():
            policy = fields.pop("policy", None)
            case = {"about": group.__name__.strip("_"), "audit": fields}
            yield {**case, "policy": policy} if policy else case


def _sizes() -> Iterator[Row]:
    yield {}
    for n in (1, 2, 3, 4, 5, 9, 10):
        yield {"scores": _SCORES[:n]}
    for images in (0, 2, 3, 50, 500):
        yield {"images": images}
    for share in (96, 97, 98, 99):
        rows = [{"ok": 100}] * 11 + [{"ok": share, "missing": 100 - share}]
        yield {"states": rows}
    # of all answers 1 %, 1.1 % and .9 % are not scored, of one administration 5 %, 4 % and 6 %
    for unscored in (1080, 1195, 1205, 1320, 5900, 6000, 6100):
        yield {"states": [{"ok": 10_000}] * 11 + [{"ok": 10_000 - unscored, "unparsed": unscored}]}
    yield {"states": [{"unparsed": 400}] * 12}
    yield {"states": [{}] * 12}
    yield {"scale": (None, None)}
    yield {"scale": (0, 100), "scores": [100 * score for score in _SCORES]}
    yield {"better": "lower"}
    yield {"task": "caption"}
    for respondents in (9, 10, 11):
        yield {"policy": {"required": {"respondents": respondents, "fewer_items_than": 400}}}
    yield {"policy": {"required": {"fewer_items_than": 401}}}


def _items_wrong() -> Iterator[Row]:
    def tested(*rows: Row, value: float | None = None, **settings: Any) -> Row:
        count = len(rows) if value is None else value
        detail = {"candidates": [{"item": f"q{k}", **row} for k, row in enumerate(rows)]}
        return {"indicator": "items.label_errors", "value": count, "detail": detail, **settings}

    def listed(faults: float | None, **detail: Any) -> Row:
        detail = {"faults": faults, **detail}
        return {"indicator": "items.reading_list", "value": 0.1, "detail": detail}

    for faults in (0.9, 1.0, 1.1, 4.4, 4.6, 4.9, 5.0, 5.4, 5.6):
        yield {"estimates": [listed(faults)]}
        yield {"estimates": [listed(faults), tested({"q": 0.04})]}
    yield {"estimates": [listed(None, stands_out=True)]}
    yield {"estimates": [listed(None)]}
    for q in (0.0, 0.0095, 0.01, 0.0105, 0.05):
        yield {"estimates": [tested({"q": q})]}
    for chance in (0.9, 0.99, 0.995, 0.999, 1.0):
        for n_items in (99, 100, 101):
            yield {"estimates": [tested({"expected": chance})], "n_items": n_items}
    yield {"estimates": [tested({"q": 0.02}, status="not_informative", reason="power .1")]}
    yield {"estimates": [tested(value=None, status="insufficient", reason="few")]}
    contradicted = {"indicator": "criterion.contradicted_items", "other": str(Cell(judge="human"))}
    yield {"estimates": [{**contradicted, "value": 2, "detail": {"items": ["q1", "q2"]}}]}
    groups = [["q1", "q2"], ["q3", "q4", "q5"]]
    for contradictory in ([], [["q1", "q2"]]):
        detail = {"groups": groups, "contradictory": contradictory}
        yield {"estimates": [{"indicator": "items.duplicate_items", "value": 3, "detail": detail}]}
    for severity in ("note", "warning", "error"):
        for name in ("image-missing", "contradictory-label", "odd-question", "unbalanced-labels"):
            rows = [{"items": ["q1", "q2"], "images": ["1.png"], "keys": ["yes", "no"]}]
            finding = {"code": "D1", "name": name, "severity": severity, "sentence": "It is odd."}
            yield {"findings": [{**finding, "count": 1, "rows": rows}]}


def _leaking() -> Iterator[Row]:
    def searched(*rows: Row) -> Row:
        detail = {"strata": [*rows], "guess": 0.5}
        return {"indicator": "solvability.blind_accuracy", "value": 0.5, "detail": detail}

    for gain in (0.044, 0.046, 0.054, 0.056, 0.3):
        yield {"estimates": [searched(_leak(gain, 0.03))]}
    for low in (0.017, 0.019, 0.021, 0.023):
        yield {"estimates": [searched(_leak(0.2, low))]}
    # the cue of fewest words is named where it gets nearly as much right as all words
    for accuracy in (0.746, 0.754, 0.756, 0.744, 0.7):
        cue = _stratum("counting", "question length", accuracy=accuracy, low=0.1)
        yield {"estimates": [searched(_leak(0.3, 0.2), {**cue, "leak": True})]}
    for detectable in (0.22, 0.24, 0.26, 0.28):
        yield {"estimates": [searched(_stratum(detectable=detectable), _stratum("counting"))]}
        yield {"estimates": [searched(_stratum(), _stratum("counting", detectable=detectable))]}
    small = {"detectable": None, "status": "insufficient", "reason": "8 items", "low": None}
    yield {"estimates": [searched(_stratum(), _stratum("counting", **small))]}
    yield {"estimates": [searched(_leak(0.2, 0.1), _leak(0.2, 0.15, ""), _leak(0.3, 0.2, "ocr"))]}
    both = _leak(0.2, 0.1, part="val")
    yield {"estimates": [searched(both)]}
    yield {"estimates": [searched(both, _leak(0.2, 0.15))]}
    yield {"without": ["solvability.blind_accuracy"]}
    for share in (0.45, 0.5, 0.55):
        detail = {"guess": share, "by_type": [{"type": "ocr", "guess": 0.4}], "strata": []}
        estimate = {"indicator": "solvability.blind_accuracy", "value": 0.5, "detail": detail}
        yield {"estimates": [{**estimate, "ends": (0.4, 0.6), "inference": "items"}]}


def _precise() -> Iterator[Row]:
    # a half-width of 2 sqrt(2) errors; its upper end over 200 pictures is 1.0898 times as much
    for error in (0.02, 0.0246, 0.0274, 0.0276, 0.0303, 0.05):
        yield {"half": round(error * 2 * 2**0.5, 6)}
    yield {"half": None}
    for size in (0.09, 0.1, 0.109, 0.111, 0.12, 0.122, 0.2, 0.9, 1.15, 1.3):
        yield {"estimates": [{"indicator": "discriminability.minimum_difference", "value": size}]}
    yield {"without": ["discriminability.minimum_difference"]}
    for error in (0.02, 0.0274, 0.0276, 0.0301, 0.05):
        yield {"estimates": [{**_SOUND[0], "value": error}]}
    yield {"without": ["test_retest.sem"]}
    yield {"estimates": [{**_SOUND[1], "status": "not_informative", "reason": "temperature 0"}]}
    for gaps in (
        [(0.03, -0.01, 0.07)],
        [(0.03, 0.01, 0.05), (0.0, -0.02, 0.02)],
        [(0.03, None, None)],
        [(0.002, -0.01, 0.014), (0.05, 0.04, 0.06), (0.01, -0.01, 0.03)],
        [(0.0099, -0.05, 0.07)],
        [(0.0086, -0.051, 0.069)],
        [],
    ):
        yield {"gaps": gaps}
    for limit in (0.9, 1.0):
        yield {"policy": {"precision": {"error": limit, "difference": limit}}}
    for score in (0.5, 0.69, 0.7, 0.95):
        yield {"policy": {"passing": {"score": score}}, "scale": (0, 1)}
    for consistency in (0.76, 0.8, 0.84, 0.88, 0.92):
        yield {"policy": {"passing": {"score": 0.6, "consistency": consistency}}}


def _types() -> Iterator[Row]:
    def index(*rows: Row) -> Row:
        return {"indicator": "types.index", "detail": {"types": [*rows]}}

    for error in (0.026, 0.0271, 0.029, 0.03, 0.031, 0.0329, 0.034):
        yield {"estimates": [index(_type("existence", error), _type("counting", 0.02))]}
    # a reliability of .3 is helped by more items
    for alpha in (0.26, 0.28, 0.31, 0.34, None):
        yield {"estimates": [index(_type("counting", 0.05, alpha=alpha))]}
    for low, high in ((-0.01, 0.05), (0.0, 0.05), (-0.05, -0.01), (-0.05, 0.0), (None, None)):
        yield {"estimates": [index(_type("counting", 0.02, gain_low=low, gain_high=high))]}
    yield {"estimates": [index(_type("counting", 0.05, at_chance=True))]}
    yield {"estimates": [index(_type("counting", None, missing_items=30))]}
    yield {"estimates": [index(_type("counting", 0.05, measured=False))]}
    # without a measurement the error is forecast, .5 / sqrt(n): 278 items reach .03
    for items in (0, 1, 225, 277, 278, 310):
        yield {"without": ["types.index"], "coverage": {"counting": (1, items)}}
        yield {
            "without": ["types.index"],
            "coverage": {"counting": (1, items), "ocr": (0, 12)},
            "policy": {"coverage": {"claimed": True, "error": 0.03, "by_type": False}},
        }
    for items in (4, 5, 6):
        yield {
            "coverage": {"counting": (1, items)},
            "policy": {"coverage": {"claimed": True, "items_a_type": 5}},
        }
    yield {"coverage": {"counting": (0, 400)}}


def _asked() -> Iterator[Row]:
    """Thresholds of a policy, and the remedies where they are missed."""

    def asked(indicator: str, value: float, ends: Sequence[float], **rule: Any) -> Row:
        inference = rule.setdefault("interval", "fixed_models")
        extra = rule.pop("estimate", {})
        estimate = {"indicator": indicator, "value": value, "ends": ends, "inference": inference}
        return {
            "estimates": [{**estimate, **extra}],
            "policy": {"require": [{"indicator": indicator, **rule}]},
        }

    for low in (0.7, 0.85, 0.89, 0.9, 0.91):
        yield asked("test_retest.rho_g", 0.95, (low, 0.99), at_least=0.9)
    for bound in (0.3, 0.5, 0.56, 0.62, 0.7, 0.74, 0.76, 0.8):
        population: Row = {"interval": "model_population", "at_least": bound}
        yield asked("parallel_forms.pearson", 0.8, (0.5, 0.92), **population)
        yield asked("criterion.pearson", 0.8, (0.5, 0.92), **population)
        dominant = {"flags": ["DOMINANT_MODEL"], "detail": {"strongest": "m0"}}
        yield asked("criterion.spearman", 0.8, (0.5, 0.92), estimate=dominant, **population)
    for ends in ((-0.004, 0.012), (-0.004, 0.021), (-0.03, -0.005), (0.4, 0.5)):
        value = sum(ends) / 2
        yield asked("parallel_forms.mean_shift", value, ends, within=0.02)
        yield asked("resolution.mean_shift", value, ends, at_most=0.02)
    for n in (9, 10, 11):
        few = {"n_respondents": n}
        yield asked(
            "criterion.pearson", 0.8, (), interval="model_population", at_least=0.7, estimate=few
        )
    # labels of people on so few answers that their own noise lowers the correlation
    for labels, value, low in (
        (60, 0.75, 0.5),
        (200, 0.75, 0.5),
        (900, 0.75, 0.6),
        (60, 0.99, 0.9),
    ):
        for disattenuated in (0.65, 0.8, 0.95, 1.05):
            human = str(Cell(judge="human"))
            row = asked(
                "criterion.pearson",
                value,
                (low, 0.9),
                at_least=0.7,
                estimate={"other": human, "detail": {"labelled_by": "people"}},
            )
            row["estimates"].append(
                {
                    "indicator": "criterion.disattenuated",
                    "value": disattenuated,
                    "other": human,
                    "detail": {"paired": labels},
                }
            )
            yield {**row, "labelled_by": "human"}
            if labels == 200:
                yield {**row, "scores": _SCORES[:2]}
                yield {**row, "scores": _SCORES[:3]}
                yield {**row, "scores": [1.2, *_SCORES[1:]], "labelled_by": "human"}
    for forms, value in ((2, 0.8), (3, 0.8), (3, 0.6), (6, 0.8)):
        for goal in (0.7, 0.75, 0.8):
            detail = {"forms": forms, "decides": forms > 5, "goal": goal, "wordings_needed": 7}
            for respondents in (7, 12):
                yield asked(
                    "parallel_forms.phi_of_forms",
                    value,
                    (0.6, 1.0),
                    interval="model_population",
                    at_least=0.75,
                    estimate={"detail": detail, "n_respondents": respondents},
                )


def _states() -> Iterator[Row]:
    """What decides the answers about wordings, people and neighbours."""
    for low, high, half in (
        (-0.04, 0.06, 0.1),
        (-0.04, 0.06, 0.115),
        (-0.04, 0.06, 0.125),
        (-0.04, 0.095, 0.1),
        (-0.04, 0.105, 0.1),
        (-0.105, 0.04, 0.1),
        (-0.095, 0.04, 0.1),
        (0.095, 0.2, 0.1),
        (0.105, 0.2, 0.1),
        (-0.2, -0.105, 0.1),
        (-0.2, -0.095, 0.1),
        (-0.04, 0.06, None),
    ):
        row = {"source": "wording", "status": "ok", "half": half, "shift": 0.01}
        yield {"wordings": [{**row, "low": low, "high": high}]}
    still = {"source": "wording", "status": "ok", "half": 0.05, "shift": 0.0}
    for low in (0.7, 0.76, 0.9):
        phi = {"indicator": "parallel_forms.phi_of_forms", "value": 0.95, "ends": (low, 0.99)}
        detail = {"forms": 6, "decides": True, "goal": 0.75}
        yield {
            "wordings": [{**still, "low": -0.01, "high": 0.01}],
            "estimates": [{**phi, "inference": "model_population", "detail": detail}],
        }
    human = {"other": str(Cell(judge="human")), "detail": {"labelled_by": "people"}}
    for low, high in ((0.65, 0.9), (0.69, 0.9), (0.71, 0.9), (0.3, 0.69), (0.3, 0.71)):
        pearson = {"indicator": "criterion.pearson", "value": 0.7, "ends": (low, high)}
        yield {
            "estimates": [{**pearson, "inference": "model_population", **human}],
            "labelled_by": "human",
        }
    differs, equal, unknown = (
        _contrast(0.03, 0.005, 0.001),
        _contrast(0.001, 0.002, 0.6),
        _contrast(0.03, 0.03, 0.3),
    )
    for contrasts in ([differs], [equal], [unknown], [differs, unknown], [equal, unknown], []):
        adjacent = {"indicator": "discriminability.separable_adjacent", "value": 0.5}
        for apart in (0, 40):
            pairs = {"indicator": "discriminability.separable_pairs", "value": apart / 66}
            yield {
                "estimates": [
                    {**adjacent, "detail": {"contrasts": contrasts}},
                    {**pairs, "detail": {"apart": apart, "pairs": 66}},
                ]
            }
    # equal within a hundredth of the scale: 1.96 errors beside the difference
    for difference, error in ((0.001, 0.0044), (0.001, 0.0046), (0.001, 0.005), (0.002, 0.0042)):
        contrast = _contrast(difference, error, 0.6)
        yield {
            "estimates": [
                {
                    "indicator": "discriminability.separable_adjacent",
                    "value": 0.5,
                    "detail": {"contrasts": [contrast]},
                }
            ]
        }
    yield {"without": ["items.label_errors", "items.reading_list"]}
    yield {"without": ["discriminability.separable_pairs"]}


def _flagged() -> Iterator[Row]:
    for n in (1, 2, 18, 19, 20, 21):
        yield {"n": n}
    for n_eff in (8.9, 9.5, 9.9, 10.1, 10.9, 24.94, 24.96, 24.9):
        yield {"n_eff": n_eff, "is_dependent": n_eff < 10}
    for n_eff in (14.94, 14.951, 14.957, 15.0):
        yield {"n": 15, "n_eff": n_eff}
    # the best three of six spread .5345 times as far as all: 1 - .9 becomes 1 - .65
    inflated = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    for rho in (0.8, 0.85, 0.895, 0.9, 0.95, 0.958, 0.967, 0.973, 0.98, 0.995):
        estimate = {"indicator": "test_retest.rho_g", "value": rho}
        yield {"scores": inflated, "estimates": [estimate]}
    yield {"scores": inflated, "better": "lower", "estimates": [estimate]}
    yield {"scores": inflated[1:], "estimates": [estimate]}
    for end in (0.86, 0.875, 0.885, 0.895, 0.95, 0.105, 0.115, 0.125, 0.14):
        for flag in ("CEILING", "FLOOR"):
            row = {"indicator": "discriminability.measures_up_to", "value": end, "flags": [flag]}
            yield {"estimates": [{**row, "detail": {"bottom": end}}]}
    row = {"indicator": "discriminability.measures_up_to", "value": 4.4, "flags": ["CEILING"]}
    yield {"estimates": [row], "scale": (1.0, 4.0)}
    for low in (0.66, 0.69, 0.74, 0.75, 0.76, 0.81, 0.84):
        shift: Row = {"indicator": "parallel_forms.icc_a1", "value": 0.9, "ends": (low, 0.95)}
        for p in (0.001, None):
            yield {"estimates": [{**shift, "flags": ["MEAN_SHIFT"], "detail": {"shift_p": p}}]}
    for p in (0.04, 0.0475, 0.05, 0.0525, 0.06):
        drift = {"indicator": "test_retest.drift", "value": p, "flags": ["DRIFT"]}
        yield {"estimates": [drift]}
        rest = {"indicator": "criterion.labels_at_random", "value": 0.5}
        yield {"estimates": [{**drift, "value": p / 2}, rest]}
    far = {"indicator": "test_retest.pearson", "value": 0.9, "flags": ["DOMINANT_MODEL"]}
    other = {"indicator": "test_retest.rho_g", "value": 0.9, "detail": {"far_p": 0.03}}
    for far_p in (0.02, 0.2):
        yield {"estimates": [{**far, "detail": {"far_p": far_p}}, other]}
    for most in (10, 13, 14, 15, 16, 17):
        yield {"items": {"a": 10, "b": most}}
    yield {"items": {"a": 0, "b": 1}}
    yield {"items": {"a": 0, "b": 2}}
    yield {"items": {"a": 10}}
    yield {"refused": {"m1": ["seed"], "m2": ["seed", "top_p"]}}


if __name__ == "__main__":
    lines = map(partial(json.dumps, ensure_ascii=False), cases())
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
