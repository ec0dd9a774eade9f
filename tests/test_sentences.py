"""Sentences of the report: a reader who has only the numbers agrees with each of them.

Estimates and what they lead to; and random audits, in which every code and claim is held against
the interval ends by conditions that are written here once more.
"""

import ast
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hqm.reports.latex.paper import paper_tables
from hqm.reports.pages.error_picture import SOURCE_SHORT_NAMES
from hqm.reports.pages.leaderboard_sentences import board_title, order_sentence
from hqm.reports.pages.phrases import FINDING_NAMES, plain_text
from hqm.reports.pages.report_page import _grid, render
from hqm.reports.pages.sentences import (
    MAX_VERDICT_WORDS,
    _scores_of_rerun,
    answer_questions,
    budget_notes,
    headline,
    joint_sentence,
    remedy_lines,
    statement,
)
from hqm.reports.tables import evidence_tables, item_tables, score_tables, type_tables
from hqm.reports.tables import table as tables
from hqm.reports.tables.evidence_tables import estimates_by_family
from hqm_publish.documentation import fill_checklist, responsible_texts
from scipy.stats import chi2

import hqm
from hqm import FLAGS, BenchmarkAudit, Estimate, Interval, Policy
from hqm.auditing.audit_rows import RespondentScores
from hqm.auditing.budget import (
    AnswerCode,
    BudgetRow,
    ErrorBudget,
    ErrorSource,
    Gap,
    Question,
)
from hqm.auditing.gate import check_against
from hqm.auditing.precision import more_items, total_precision
from hqm.auditing.score_points import Points
from hqm.auditing.seven_questions import find_remedies, seven_answers
from hqm.benchmark.findings import ADAPTER_CODE, CODES
from hqm.psychometrics.variance.error_budget import change_band
from hqm.signature import short_signature
from tests.conftest import ROOT, Run
from tests.messages import tells, text_of

Ends = tuple[float, float] | None
REFERENCE = "form=original|run=0|judge=rule"
RERUN, PARALLEL = "form=original|run=1|judge=rule", "form=parallel|run=0|judge=rule"
PEOPLE, ORACLE = "form=original|run=0|judge=human", "form=original|run=0|judge=oracle"
OF_FAMILY = {
    "test_retest": RERUN,
    "parallel_forms": PARALLEL,
    "criterion": PEOPLE,
    "oracle": ORACLE,
}

FORBIDDEN = re.compile(
    r"cannot"
    r" (?:tell|separate|distinguish)|\btells?\b[^.]{0,40}\bapart\b|significan|\bprov(?:e|es|en|ed)\b|\breliable\b"
    r"|\bguarante|\bclearly\b|\bobviously\b|\bcertainly\b|\bperfect|\bexcellent\b|\bvalid\b|\btrustworthy\b|\bflawless",
    re.IGNORECASE,
)
"""Words that say more than numbers do."""


def est(
    indicator: str, value: float | None, fixed: Ends = None, population: Ends = None, **fields: Any
) -> Estimate:
    """An estimate with the intervals that sentences look at."""
    spans = {"fixed_models": fixed, "model_population": population}
    intervals = tuple(
        Interval(*ends, kind, "made") for kind, ends in spans.items() if ends is not None
    )
    other_interval = fields.pop("other", OF_FAMILY.get(indicator.partition(".")[0], ""))
    filled = {
        "n_respondents": 10,
        "n_items": 1000,
        "signature": f"benchmark:made@1|answers:0|statistic:{indicator}",
    }
    return Estimate(
        indicator,
        "accuracy",
        "",
        REFERENCE,
        other_interval,
        value,
        intervals=intervals,
        **{**filled, **fields},
    )


def audit_of(*estimates: Estimate, **fields: Any) -> BenchmarkAudit:
    """An audit of ten respondents and 1,000 items that holds these estimates."""
    judged = {PEOPLE: 0.5} if any(e.other == PEOPLE for e in estimates) else {}
    judged |= {ORACLE: 0.5} if any(e.other == ORACLE for e in estimates) else {}
    cells = tuple(
        dict.fromkeys([REFERENCE, *(e.other for e in estimates if e.other in (RERUN, PARALLEL))])
    )
    names = [f"recorded/{chr(97 + k)}-model" for k in range(10)]
    rows = tuple(
        RespondentScores(
            name,
            {"accuracy": 0.5 + 0.03 * k},
            {"accuracy": [0.4, 0.9]},
            {"ocr": 0.5},
            {c: {"accuracy": 0.5 + 0.03 * k} for c in cells},
            {c: {"ok": 1000} for c in cells},
            {},
            dict.fromkeys(cells, 1.0),
            judged,
        )
        for k, name in enumerate(names)
    )
    covered = {
        "ocr": {
            "type": "ocr",
            "items": 1000,
            "claimed": True,
            "images": 100,
            "wordings": 50,
            "state": "labelled",
        }
    }
    defaults: dict[str, Any] = {
        "benchmark": "made",
        "title": "Made",
        "version": "1",
        "task": "yes_no",
        "scoring": "official",
        "parser": "strict",
        "summary": "",
        "reference": REFERENCE,
        "n_items": 1000,
        "images": 100,
        "metrics": {"accuracy": {"about": "", "better": "higher", "scale": [0, 1]}},
        "forms": {},
        "truth_yes": {},
        "cells": cells,
        "respondents": rows,
        "all_estimates": estimates,
        "coverage": covered,
        "findings": (),
    }
    return BenchmarkAudit(**{**defaults, **fields})


def answer_texts(audit: BenchmarkAudit, policy: Policy | None = None) -> dict[Question, str]:
    """Question -> the answer in words."""
    return {
        answer.question: plain_text(answer.sentences) for answer in answer_questions(audit, policy)
    }


def code_of(audit: BenchmarkAudit, question: Question, policy: Policy | None = None) -> AnswerCode:
    return seven_answers(audit, policy).codes[question]


RHO = est("test_retest.rho_g", 0.997, (0.9961, 0.9979), (0.99, 0.9991))
FLOOR = est("test_retest.noise_floor", 0.996)
SEM_BY_RESPONDENT = {"a": 0.0006, "b": 0.0143, "c": 0.004}
SEM = est("test_retest.sem", 0.006, detail={"by_respondent": SEM_BY_RESPONDENT})
MDC = est("test_retest.mdc95", 0.0166)
SHIFT = est("parallel_forms.mean_shift", -0.093, (-0.116, -0.071), (-0.18, -0.007))
NAMES = [f"recorded/{chr(97 + k)}-model" for k in range(10)]
RANKED = [
    {"rank": 2, "item": "q8", "item_rest": -0.3, "fails": ["recorded/a-model"], "expected": 0.5},
    {"rank": 1, "item": "q5", "item_rest": -0.6, "fails": ["recorded/b-model"], "expected": 0.9},
]
SEARCHED = est("items.label_errors", 0.0, detail={"candidates": []})
PAIRS = est(
    "discriminability.separable_pairs",
    44 / 45,
    detail={"apart": 44, "pairs": 45, "tied_sets": [[NAMES[9], NAMES[8]]]},
)


def items_missing(error: float) -> int:
    """How many items more than 100 bring an error to .03."""
    return max(0, math.ceil(100 * (error / 0.03) ** 2 - 1e-9) - 100)


def typed(*errors: float) -> Estimate:
    """The estimate that holds types with these standard errors."""
    rows = [
        {
            "type": f"type {i}",
            "items": 100,
            "sem": error,
            "missing_items": items_missing(error),
            "measured": True,
            "state": "measurable" if error <= 0.03 else "not measurable",
            "at_chance": False,
            "gain_low": 0.05,
            "gain_high": 0.2,
        }
        for i, error in enumerate(errors)
    ]
    return est("types.index", 0.1, detail={"types": rows})


def budgeted(audit: BenchmarkAudit, *rows: BudgetRow) -> BenchmarkAudit:
    gap = Gap(
        first=NAMES[9], other=NAMES[8], gap=0.03, low=-0.01, high=0.07, clear=(), not_clear=()
    )
    budget = ErrorBudget(metric="accuracy", rows=rows, gaps=(gap,))
    return replace(audit, budget={"accuracy": budget})


def test_a_sound_benchmark_has_nothing_to_mend() -> None:
    audit = audit_of(RHO, SEARCHED, PAIRS, typed(0.02, 0.01))
    head = headline(audit)
    assert (head.state, head.code) == (text_of("report.nothing"), "fine")
    assert "44 of 45 pairs of models differ" in head.text
    assert remedy_lines(audit, find_remedies(audit)) == []
    assert code_of(audit, "faulty") == "fine"


def test_no_key_is_called_sound_where_no_test_would_find_a_wrong_one() -> None:
    for search, is_tested in (((SEARCHED,), True), ((), False)):
        page = render(hqm.Audit((audit_of(RHO, PAIRS, *search),))).report
        assert " examined: no " in page
        assert ("suspicious key" in page) is is_tested


def test_too_little_is_said_where_no_search_was_possible() -> None:
    assert headline(audit_of(RHO, PAIRS)).state == "Too little measured"


def test_a_shown_fault_makes_it_not_ready_and_a_doubt_is_to_check() -> None:
    twins = {
        "code": "L101",
        "name": "contradictory-label",
        "severity": "error",
        "sentence": "two keys",
        "rows": [{"items": ["q1", "q2"], "keys": ["yes", "no"]}],
    }
    audit = audit_of(SEARCHED, PAIRS, findings=(twins,))
    assert headline(audit).text.startswith("Not ready: one question with two keys.")
    assert answer_texts(audit)["quote"].startswith(text_of("report.mend-first"))
    listed = est("items.reading_list", 22.4, detail={"reading_list": RANKED, "faults": 22.4})
    doubted = audit_of(SEARCHED, PAIRS, listed)
    assert headline(doubted).text.startswith("Check first: 22 keys to check.")
    (line,) = remedy_lines(doubted, find_remedies(doubted))
    assert (line.title, line.code) == ("About 22 keys to check", "look")
    assert "2.2 points" in line.sentence, "22 of 1,000 items"


def test_the_verdict_stays_short_whatever_is_wrong() -> None:
    finding = {"code": "I101", "name": "image-missing", "severity": "error", "sentence": "gone"}
    rows = [{"images": [f"{i}.png"], "items": [f"q{i}"]} for i in range(9)]
    twins = {"items": ["q1", "q2"], "keys": ["yes", "no"]}
    faults = (
        {**finding, "count": 9, "rows": rows},
        {**finding, "name": "contradictory-label", "rows": [twins] * 3},
        {**finding, "name": "record-broken"},
    )
    moved = BudgetRow(
        source="negation",
        status="ok",
        half=0.3,
        shift=-0.1,
        low=-0.2,
        high=-0.05,
        other=(PARALLEL,),
    )
    audit = budgeted(audit_of(PAIRS, SEARCHED, typed(0.02, 0.05), findings=faults), moved)
    text = headline(audit).text
    assert len(text.split()) <= MAX_VERDICT_WORDS
    assert text.startswith("Not ready:")


@pytest.mark.parametrize("source", ["negation", "judge", "people", "resolution"])
def test_what_shifts_the_scores_is_said_in_words_whatever_it_is(source: ErrorSource) -> None:
    wording = BudgetRow(
        source="wording", status="ok", other=(PARALLEL,), half=0.4, moves={NAMES[0]: 0.0}
    )
    other = (PARALLEL,) if source == "negation" else (PEOPLE,) if source == "people" else ("other",)
    row = BudgetRow(
        source=source, status="ok", other=other, shift=-0.096, low=-0.106, high=-0.086, half=0.05,
        moves={NAMES[0]: -0.1}, inference="fixed_models",
    )  # fmt: skip
    audit = budgeted(audit_of(SEARCHED, PAIRS), wording, row)
    assert "lowers scores by 9.6 points." in headline(audit).text
    shift = "−9.6 points [−10.6, −8.6] (these models, new items)"
    question: Question = {"negation": "wording", "people": "people"}.get(source, "repeat")  # type: ignore[assignment]
    assert f"changes the mean by {shift}." in answer_texts(audit)[question]
    line = statement(audit)
    assert f" {SOURCE_SHORT_NAMES[source]} {shift}, " in str(line)
    assert hqm.Statement.parse(line.latex) == hqm.Statement.parse(line.markdown) == line
    # what the policy calls equal is no shift to speak of, nor what may be none
    for low, high in ((-0.009, -0.001), (-0.2, 0.1)):
        small = replace(row, shift=(low + high) / 2, low=low, high=high)
        assert "lowers" not in headline(budgeted(audit_of(SEARCHED, PAIRS), wording, small)).text


def test_a_second_run_that_happens_to_be_lower_is_error_and_no_shift() -> None:
    row = BudgetRow(
        source="seed", status="ok", other=("other",), shift=-0.014, low=-0.016, high=-0.012,
        half=0.02, moves={NAMES[0]: -0.014}, inference="fixed_models",
    )  # fmt: skip
    audit = budgeted(audit_of(SEARCHED, PAIRS), row)
    assert "lowers" not in headline(audit).text
    assert "changes the mean" not in answer_texts(audit)["repeat"]
    assert "−1.4 points [" not in str(statement(audit))


def measured_to(error: float, difference: float, run_error: float = 0.01) -> BenchmarkAudit:
    """An audit of 1,000 items whose scores have this standard error, and show this difference."""
    row = BudgetRow(
        source="items",
        status="ok",
        half=error * 2**0.5 * 1.9623,
        factor=1.9623,
        moves=dict.fromkeys(NAMES, error),
    )
    estimates = (
        est("discriminability.minimum_difference", difference),
        est("test_retest.rho_g", 0.4, (0.1, 0.6)),
        est("test_retest.sem", run_error),
        SEARCHED,
        PAIRS,
    )
    return budgeted(audit_of(*estimates, images=0), row)


def test_a_policy_sets_the_limits() -> None:
    limits = {"error": 0.02, "difference": 0.05}
    strict = Policy.model_validate({"name": "strict", "precision": limits})
    audit = measured_to(0.025, 0.08, 0.025)
    assert headline(audit).code == "fine", "a reliability of .4 is no fault of the benchmark"
    assert code_of(audit, "repeat") == "fine"
    assert headline(audit, strict).text.startswith(
        text_of("report.imprecise", error="2.6", limit="2")
    )
    assert code_of(audit, "repeat", strict) == "look"
    assert text_of("report.runs-needed", runs="2") in answer_texts(audit, strict)["repeat"]
    # the estimate keeps the limit and its upper end does not: the mean of two runs is shown to
    near = measured_to(0.025, 0.08, 0.0199)
    assert code_of(near, "repeat", strict) == "not_shown"
    assert text_of("report.runs-needed", runs="2") in answer_texts(near, strict)["repeat"]
    assert "“strict”" in answer_texts(audit, strict)["quote"]
    assert code_of(audit, "more") == "fine"
    assert code_of(audit, "more", strict) == "look"
    need = text_of("report.need", size="5", items="1,760")
    assert need in answer_texts(audit, strict)["more"]
    # the number is that of the upper end, and the estimate stands in the evidence
    shown = text_of("report.shown-difference", shown="8.0", high="8.3")
    assert shown in answer_texts(audit, strict)["more"]
    assert not tells(answer_texts(audit)["more"], "report.shown-difference")
    coarse = measured_to(0.015, 0.08)
    assert text_of("report.missed", size="8.3", limit="5") in headline(coarse, strict).text


@pytest.mark.parametrize(
    ("is_measured", "status"), [(True, "more items do not help"), (False, "+259")]
)
def test_three_items_do_not_show_that_more_would_not_help(is_measured: bool, status: str) -> None:
    names = ("ocr", "count")
    rows = [
        {"type": name, "items": 3, "sem": 0.28, "missing_items": 275, "alpha": 0.1}
        | {"measured": is_measured, "at_chance": False, "state": "not measurable"}
        for name in names
    ]
    coverage = {name: audit_of().coverage["ocr"] | {"type": name, "items": 3} for name in names}
    audit = audit_of(est("types.index", 0.1, detail={"types": rows}), coverage=coverage)
    grid = _grid(audit, True, 0.03)
    assert grid is not None
    assert [kind["status"] for kind in grid["kinds"]] == [status] * 2  # type: ignore[attr-defined]


def test_imprecise_scores_have_passed_the_search_for_faults() -> None:
    missed = est("discriminability.minimum_difference", 0.2)
    faulty = [est("items.duplicate_items", 2.0, detail={"groups": [["q1", "q2"], ["q3", "q4"]]})]
    states = {
        "nothing": audit_of(SEARCHED, PAIRS),
        "imprecise": audit_of(SEARCHED, PAIRS, missed),
        "too_little": audit_of(PAIRS),
        "check": audit_of(SEARCHED, PAIRS, *faulty),
    }
    assert {seven_answers(audit).state: audit for audit in states.values()} == states
    sentence = text_of("report.searched", benchmarks="four", sound="two", silent="one")
    assert joint_sentence(list(states.values())) == sentence


@pytest.mark.parametrize(
    ("sources", "sentence"),
    [
        (("seed", "items"), text_of("report.largest-differs")),
        (("seed", "items", "items"), text_of("report.largest-often", n=2, benchmarks=3)),
    ],
)
def test_an_error_is_the_largest_most_often_where_no_other_is_as_often(
    sources: tuple[ErrorSource, ...], sentence: str
) -> None:
    audits = []
    for source in sources:
        moves = dict.fromkeys(NAMES, 0.01)
        row = BudgetRow(source=source, status="ok", half=0.05, shift=0.0, moves=moves, factor=2.0)
        audits.append(budgeted(audit_of(SEARCHED, PAIRS), row))
    assert sentence in joint_sentence(audits)


def test_a_number_above_its_limit_is_printed_above_it() -> None:
    text = headline(measured_to(0.02908, 0.08)).text
    assert tells(text, "report.imprecise", error="3.02", limit="3")
    points = Points(1.0, 2)
    assert points.format_beside(0.1204, 0.12) == "0.1204"
    assert points.format_beside(0.1196, 0.12) == "0.1196"
    assert points.format_beside(0.15, 0.12) == "0.15"
    assert points.format_beside(0.12, 0.12) == "0.12"


def test_undecided_tests_of_a_policy_are_counted() -> None:
    row = audit_of(PAIRS).coverage["ocr"] | {"items": 400}
    coverage = {"type 0": row, "type 1": row}
    audit = audit_of(SEARCHED, PAIRS, typed(0.02, 0.05), coverage=coverage)
    outcomes = [test.outcome for test in check_against(hqm.Audit((audit,)), Policy.load()).tests]
    assert outcomes.count("UNDECIDED") == 1
    assert "1 is undecided" in answer_texts(audit)["quote"]


def test_a_need_of_the_first_two_is_theirs() -> None:
    gaps = (
        # these two answered no question in common
        Gap(first="a", other="b", gap=0.03, low=None, high=None, clear=(), not_clear=("items",)),
        Gap(first="b", other="c", gap=0.01, low=-0.01, high=0.03, clear=(), not_clear=("items",)),
    )
    audit = audit_of(SEARCHED, PAIRS)
    budget = ErrorBudget(metric="accuracy", rows=(), gaps=gaps)
    forecast = more_items(replace(audit, budget={"accuracy": budget}), Policy.load())
    assert forecast.need("top") is None
    assert forecast.need("neighbours") is None, "what two of them need is not known"
    budget = replace(budget, gaps=gaps[1:])
    forecast = more_items(replace(audit, budget={"accuracy": budget}), Policy.load())
    need = forecast.need("top")
    assert need is not None
    assert need.size == 0.01


def test_the_order_is_that_of_every_wording() -> None:
    audit = audit_of(SEARCHED, PAIRS, SHIFT)
    second = PARALLEL.replace("parallel", "parallel2")
    rows = []
    for rank, row in enumerate(audit.respondents):
        # the first wording keeps the order, the second one exchanges the first two models
        score = {0: 0.53, 1: 0.5}.get(rank, 0.5 + 0.03 * rank)
        rows.append(replace(row, cells={**row.cells, second: {"accuracy": score}}))
    wording = BudgetRow(
        source="wording",
        status="ok",
        other=(PARALLEL, second),
        half=0.03,
        shift=0.0,
        moves={"a": 0},
    )
    audit = budgeted(replace(audit, respondents=tuple(rows)), wording)
    order = text_of("report.reordered", n="1", pairs="45", wordings="two")
    assert order in answer_texts(audit)["wording"]
    shifts = [
        est("parallel_forms.mean_shift", value, other=other)
        for value, other in ((-0.077, PARALLEL), (0.023, second))
    ]
    shifted = audit_of(SEARCHED, PAIRS, *shifts)
    opposite = budgeted(replace(shifted, respondents=tuple(rows)), wording)
    ends = {"low": "−7.7", "high": "+2.3"}
    assert tells(headline(opposite).text, "report.opposite", **ends)
    assert tells(answer_texts(opposite)["wording"], "report.opposite-mean", **ends)
    assert not tells(answer_texts(audit)["wording"], "report.opposite-mean")
    # a shift over several wordings is no estimate, and a shift over one links to its own
    single = budgeted(audit, replace(wording, other=(PARALLEL,)))
    for shown, n_links in ((audit, 0), (single, 1)):
        (answer,) = (a for a in answer_questions(shown) if a.question == "wording")
        assert sum(bool(text.link) for text in answer.sentences[0]) == n_links


def test_who_stays_while_all_others_move_changes_least() -> None:
    moves = dict.fromkeys(NAMES, -0.05) | {NAMES[0]: 0.004, NAMES[1]: -0.06}
    wording = BudgetRow(source="wording", status="ok", other=(PARALLEL,), shift=-0.046, moves=moves)
    text = answer_texts(budgeted(audit_of(SEARCHED, PAIRS, SHIFT), wording))["wording"]
    assert text_of("report.farthest", model="b-model", move="−6.0") in text


@pytest.mark.parametrize("stays", [0.0, 0.0001])
def test_a_model_that_does_not_move_is_far_from_those_that_do(stays: float) -> None:
    moves = {name: -0.05 + 0.0002 * k for k, name in enumerate([*NAMES, "l"])} | {"m": stays}
    half = change_band(list(moves.values())).half
    row = BudgetRow(
        source="wording", status="ok", half=half, shift=sum(moves.values()) / 12, moves=moves
    )
    (note,) = budget_notes(audit_of(PAIRS), ErrorBudget(metric="accuracy", rows=(row,)))
    assert note == text_of("report.without", model="m", bar="Another wording", end="0.2")


def test_the_model_that_alone_changes_is_named_and_not_the_mean() -> None:
    moves = dict.fromkeys(NAMES, 0.0) | {NAMES[0]: -0.29, NAMES[1]: 0.01, NAMES[2]: -0.01}
    band = change_band(list(moves.values())).half
    wording = BudgetRow(
        source="wording",
        status="ok",
        other=(PARALLEL,),
        shift=-0.029,
        low=-0.044,
        high=-0.014,
        half=band,
        moves=moves,
    )
    audit = budgeted(audit_of(SEARCHED, PAIRS, SHIFT, RHO), wording)
    assert text_of("report.one-moves", model="a-model", move="29.0") in headline(audit).text
    # where all move, and one of them farther, the mean is what there is to say
    shifted = {name: move - 0.09 for name, move in moves.items()}
    all_move = replace(wording, shift=-0.119, low=-0.134, high=-0.104, moves=shifted)
    text = headline(budgeted(audit_of(SEARCHED, PAIRS, SHIFT, RHO), all_move)).text
    assert "lowers scores by 11.9 points" in text
    # the mark says look, and the first sentence, which a terminal prints, says why
    assert code_of(audit, "wording") == "look"
    first = answer_texts(audit)["wording"].partition(". ")[0]
    size = Points.for_metric(audit).format_beside(band, 0.12)
    assert first == text_of("report.far", move=size, limit="12")


@pytest.mark.parametrize(
    ("shift", "code", "text"),
    [(0.14, "look", "+14.0 points"), (0.002, "not_shown", "+0.2 points")],
)
def test_another_judge_answers_whether_scores_repeat(
    shift: float, code: AnswerCode, text: str
) -> None:
    """Where nothing was asked again; an audit without either has nothing measured."""
    ends = {"low": shift - 0.01, "high": shift + 0.01}
    judge = BudgetRow(source="judge", status="ok", shift=shift, moves={NAMES[0]: shift}, **ends)
    audit = budgeted(audit_of(SEARCHED, PAIRS), judge)
    assert code_of(audit, "repeat") == code
    assert text in answer_texts(audit)["repeat"]
    assert code_of(budgeted(audit_of(SEARCHED, PAIRS)), "repeat") == "not_measured"


@pytest.mark.parametrize("guess", [0.3, 0.45, 0.95])
def test_models_that_only_guess_are_counted_and_named(guess: float) -> None:
    blind = est("solvability.blind_accuracy", guess, detail={"guess": guess})
    audit = audit_of(SEARCHED, PAIRS, blind)
    rows = [
        replace(
            row,
            intervals={"accuracy": [0.4 + 0.01 * k, 0.9]},
            yes_ratio={REFERENCE: 0.5 + (k == 3) / 2},
        )
        for k, row in enumerate(audit.respondents)
    ]
    audit = replace(audit, respondents=tuple(rows))
    n_below = sum(0.4 + 0.01 * k <= guess for k in range(10))
    note = score_tables.guessing_sentence(audit)
    assert (text_of("report.guessing-some", n=n_below, models=10) in note) == (0 < n_below < 10)
    assert (text_of("report.guessing-all") in note) == (n_below == 10)
    assert text_of("report.one-answer", model="d-model") in note
    assert (text_of("report.guessing-none") in headline(audit).text) == (n_below == 10)


def test_what_is_not_known_answers_no_point_of_a_checklist() -> None:
    rerun = est("test_retest.rho_g", None, status="insufficient", reason="one respondent")
    alone = replace(audit_of(rerun), respondents=audit_of(rerun).respondents[:1])
    assert answer_texts(alone)["repeat"].startswith("Not known")
    states = {point.id: point.state for point in fill_checklist(alone).points}
    assert states["Do11"] == "NOT MEASURED"
    assert "Not known" not in "".join(responsible_texts(alone).values())


def test_one_type_and_one_model_are_one() -> None:
    audit = audit_of(PAIRS)
    alone = replace(audit, respondents=audit.respondents[:1])
    answers = " ".join(point.answer for point in fill_checklist(alone).points)
    assert tells(answers, "report.one-type", items="1,000")
    assert tells(answers, "report.one-model", score="50.0")


@pytest.mark.parametrize(("items", "noisy"), [(200, 0.005), (200, 0.02), (500, 0.05)])
def test_the_upper_limit_of_a_run_holds_where_few_answers_change(items: int, noisy: float) -> None:
    # Four models of which few items are drawn by chance, asked twice: .50 to .86 of the limits
    # were above the true error when the number of items alone decided them.
    rng = np.random.default_rng(items)
    chances = np.where(rng.random((4, items)) < noisy, 0.5, 1.0)
    true_error = math.sqrt((chances * (1 - chances)).sum(axis=1).mean()) / items
    above = 0
    for _ in range(200):
        changed = (rng.random((2, 4, items)) < chances).var(axis=0, ddof=1)
        error = math.sqrt(changed.sum(axis=1).mean()) / items
        rerun = est("test_retest.sem", error, n_respondents=4, n_items=items)
        high = total_precision(audit_of(rerun, n_items=items, images=items)).run_error_high
        assert high is not None
        above += high >= true_error
    assert above >= 0.95 * 200


def test_items_for_the_first_two_come_from_their_standard_error() -> None:
    # eight pictures: the interval is t(7) = 2.36 standard errors wide to either side
    contrast = {"first": "a", "second": "b", "difference": 0.05, "error": 0.06, "p": 0.4}
    counts = {"items": 1000, "clusters": 8, "rivals": 1}
    contrasts = est(
        "discriminability.separable_adjacent", 0.0, detail={"contrasts": [contrast | counts]}
    )
    half = 2.3646 * 0.06
    gap = Gap(
        first="a",
        other="b",
        gap=0.05,
        low=0.05 - half,
        high=0.05 + half,
        clear=(),
        not_clear=("items",),
    )
    budget = ErrorBudget(metric="accuracy", rows=(), gaps=(gap,))
    audit = replace(audit_of(SEARCHED, PAIRS, contrasts), budget={"accuracy": budget})
    need = more_items(audit, Policy.load()).need("top")
    assert need is not None
    assert need.items == pytest.approx(1000 * (2.8016 * 0.06 / 0.05) ** 2 - 1000, rel=1e-3)


def test_a_range_at_the_top_is_in_the_points_of_the_leaderboard() -> None:
    """A sixth model of .980 was outside of a range that was printed to begin at 0.98."""
    saturated = est(
        "discriminability.measures_up_to",
        0.9806,
        flags=("CEILING",),
        detail={"in_top": NAMES[:5]},
    )
    texts = answer_texts(audit_of(SEARCHED, PAIRS, saturated))
    assert tells(texts["separate"], "report.near-full", count="5", score="98.1")


def test_an_agreement_is_of_the_answers_that_it_counts() -> None:
    accuracy = est("criterion.accuracy", 0.85, other=PEOPLE, detail={"answers": 271})
    correlation = est("criterion.pearson", 0.9, (0.8, 0.95), other=PEOPLE)
    text = answer_texts(audit_of(accuracy, correlation))["people"]
    assert tells(text, "report.labelled-alike", share="85%", n="271")


def test_models_that_are_alike_are_told_by_their_spread() -> None:
    pairs = replace(PAIRS, value=0.0, detail={"apart": 0, "pairs": 45, "tied_sets": [NAMES]})
    audit = measured_to(0.025, 0.08)
    estimates = tuple(pairs if e.indicator == PAIRS.indicator else e for e in audit.all_estimates)
    head = headline(replace(audit, all_estimates=estimates))
    assert (head.state, head.code) == (text_of("report.unseparated"), "look")
    assert text_of("report.alike", count="ten", spread="9.1", size="8.0") in head.text


def test_a_coefficient_that_rests_on_far_models_says_so() -> None:
    detail = {"strongest": f"{NAMES[0]} and {NAMES[1]}", "without_strongest": 0.481}
    rho = replace(RHO, flags=("DOMINANT_MODEL",), detail=detail)
    expected = text_of("report.rests-on", models="a-model and b-model", value=".481")
    assert expected in answer_texts(audit_of(rho, SEM))["repeat"]
    assert "Without" not in answer_texts(audit_of(RHO, SEM))["repeat"]


def test_green_is_earned() -> None:
    sound = (RHO, SEARCHED, PAIRS)
    assert "no person read them" in headline(audit_of(*sound)).text
    labelled = audit_of(*sound, est("criterion.pearson", 0.9))
    assert "people's labels" in headline(labelled).text
    captions = headline(audit_of(*sound, task="caption", all_estimates=(RHO, PAIRS)))
    assert captions.code == "not_measured"
    assert "There are no keys" in captions.text


def test_the_statement_names_what_was_not_measured() -> None:
    line = str(statement(audit_of(replace(RHO, signature=f"{RHO.signature}|hqm:9.9"), PAIRS)))
    assert line.startswith("rho_G .9970 [.9961, .9979] (these models, new items),")
    assert "wording not measured, people not measured" in line
    assert "44 of 45 pairs differ" in line
    signature = short_signature(f"{RHO.signature}|hqm:9.9")
    assert line.endswith(f"hqm:9.9 {signature}"), "the version that made the number"


WORDING = BudgetRow(
    source="wording", status="ok", half=0.05, shift=-0.0583, low=-0.07, high=-0.04,
    other=(PARALLEL,), moves=dict.fromkeys(NAMES, -0.0583),
)  # fmt: skip
LABELLED = BudgetRow(source="people", status="ok", half=0.02, shift=0.012, answers=400)
ONE_SIDED = est("test_retest.rho_g", 0.95, (0.93, float("inf")))


@pytest.mark.parametrize(
    "audit",
    [
        audit_of(PAIRS),
        audit_of(),
        audit_of(ONE_SIDED, PAIRS),
        budgeted(audit_of(RHO, PAIRS), WORDING, LABELLED),
        budgeted(audit_of(RHO), replace(WORDING, source="negation", shift=0.0583, high=None)),
    ],
)
def test_the_statement_is_read_back_as_it_was_printed(audit: BenchmarkAudit) -> None:
    statement = audit.statement
    line = str(statement)
    typed_by_hand = line.replace("−", "-").replace("–", "-")
    for text in (
        line,
        statement.latex,
        statement.markdown,
        typed_by_hand,
        f"Scores ({line}) of ten models.",
    ):
        assert hqm.Statement.parse(text) == statement
    assert statement.differences(statement) == ()
    assert "−" not in statement.latex, "pdflatex has no such sign"


def test_every_changed_digit_of_a_statement_is_refused() -> None:
    statement = budgeted(audit_of(RHO, PAIRS), WORDING, LABELLED).statement
    line = str(statement)
    digits = [index for index, character in enumerate(line) if character.isdigit()]
    assert len(digits) > 30
    for index in digits:
        forged = f"{line[:index]}{(int(line[index]) + 1) % 10}{line[index + 1 :]}"
        assert len(hqm.Statement.parse(forged).differences(statement)) == 1, forged


# --- random audits, read by somebody who has the numbers alone ---


def within(
    interval: tuple[float, float], limits: tuple[float, float], outside: AnswerCode
) -> AnswerCode:
    """Whether an interval lies within its limits, outside, or on a limit."""
    if limits[0] <= interval[0] and interval[1] <= limits[1]:
        return "fine"
    return outside if interval[0] > limits[1] or interval[1] < limits[0] else "not_shown"


def test_random_audits_are_answered_as_their_numbers_are() -> None:
    rng = np.random.default_rng(12)
    reached: set[tuple[str, AnswerCode]] = set()
    for _ in range(150):
        rho, r, icc = rng.uniform(0.75, 0.98), rng.uniform(0.4, 0.95), rng.uniform(0.4, 0.95)
        width = float(rng.choice([0.004, 0.05, 0.15]))
        rho_interval = (rho - width, min(rho + width, 0.9999))
        r_interval = (r - 0.1, min(r + 0.1, 0.99))
        alike = (icc - 0.1, min(icc + 0.1, 0.99))
        shift = float(rng.uniform(-0.2, 0.2)) * float(rng.choice([0.1, 1]))
        run_error = float(rng.uniform(0.01, 0.05))
        reach = float(rng.choice([0.01, 0.08]))
        row = BudgetRow(
            source="wording",
            status="ok",
            half=0.05,
            shift=shift,
            low=shift - reach,
            high=shift + reach,
            other=(PARALLEL,),
            moves=dict.fromkeys(NAMES, shift),
        )
        errors = [float(e) for e in rng.uniform(0.01, 0.06, 5)]
        audit = budgeted(
            audit_of(
                est("test_retest.rho_g", rho, rho_interval),
                est("test_retest.sem", run_error),
                est("criterion.pearson", r, None, r_interval),
                est("parallel_forms.icc_a1", icc, alike),
                est("parallel_forms.mean_shift", shift, (shift - reach, shift + reach)),
                typed(*errors),
                PAIRS,
            ),
            row,
        )
        codes, texts = seven_answers(audit).codes, answer_texts(audit)
        run_interval = (run_error, run_error * math.sqrt(99 / chi2.ppf(0.05, 99)))
        assert codes["repeat"] == within(run_interval, (0, 0.03), outside="look")
        assert codes["people"] == within(r_interval, (0.7, 1), outside="look")
        interval = (shift - reach, shift + reach)
        assert codes["wording"] == within(interval, (-0.1, 0.1), outside="wrong")
        side = {
            "fine": "within the limit of 10",
            "wrong": "beyond the limit of 10",
            "not_shown": "not shown to be",
        }
        assert side[codes["wording"]] in texts["wording"]
        lacking = sum(error > 0.03 for error in errors)
        n_missing = sum(map(items_missing, errors))
        need = text_of("report.type-needs", limit="3", items=f"{n_missing:,}")
        assert (need in texts["more"]) == bool(lacking)
        all_text = " ".join((*texts.values(), headline(audit).text))
        assert not FORBIDDEN.search(all_text), all_text
        assert "None." not in all_text
        assert "  " not in all_text
        reached |= {(question, code) for question, code in codes.items()}
    for question in ("repeat", "people", "wording"):
        codes_reached = {code for answered, code in reached if answered == question}
        outside = "wrong" if question == "wording" else "look"
        assert codes_reached == {"fine", "not_shown", outside}


def test_the_ends_that_are_shown_are_apart() -> None:
    """No interval is printed with two equal ends, and no number below 1 as 1."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        width = 10.0 ** rng.uniform(-5, -1)
        value = float(rng.uniform(0.85, 1 - 1.1 * width))
        audit = audit_of(est("test_retest.rho_g", value, (value - width, value + width)))
        interval = re.search(r"\[([\d.]+), ([\d.]+)\]", answer_texts(audit)["repeat"])
        assert interval is not None
        assert float(interval[1]) < float(interval[2]) < 1, interval


# --- tables and words ---


def test_the_reruns_correlation_has_no_interval_beside_rho_g() -> None:
    estimate = est("test_retest.pearson", 0.999, (0.81, 0.9999), (0.99, 0.9999))
    (row,) = tables.indicators_brief(audit_of(estimate)).rows
    assert [cell.text for cell in row[3:]] == ["", "[0.990, 0.9999]"]
    (row,) = tables.indicators_brief(audit_of(est("test_retest.rho_g", 0.95, (0.93, 0.96)))).rows
    assert row[3].text == "[0.930, 0.960]"


def test_an_oracle_fills_no_column_of_people() -> None:
    oracle = audit_of(est("criterion.pearson", 0.98, other=ORACLE))
    labelled = audit_of(est("criterion.pearson", 0.91))
    for audit, expected in ((oracle, tables.DASH), (labelled, "0.910")):
        table = paper_tables((hqm.Audit((audit,)),))[1]
        (column,) = [k for k, heading in enumerate(table.columns) if heading.title == "People r"]
        assert table.rows[0][column].text == expected
    sources = {row[0].text: row for row in evidence_tables.reliability(oracle).rows}
    assert "not measured" in sources[text_of("report.people")][0].small
    assert any("no people" in name for name in sources)
    assert evidence_tables.oracle_table(oracle) is not None
    assert evidence_tables.oracle_table(labelled) is None
    assert not evidence_tables.family_table(oracle, ["criterion"], "").rows


def test_a_count_of_faults_stands_beside_its_power() -> None:
    (row,) = [
        row
        for row in item_tables.flagged_items(
            audit_of(est("items.label_errors", 0.0, detail={"power": 0.02}))
        ).rows
        if row[0].text == "label errors"
    ]
    assert "would find 2% of such items" in row[2].text


def test_the_table_of_types_says_what_the_sentence_says() -> None:
    audit = audit_of(
        est(
            "types.index",
            0.1,
            detail={"types": [{"type": "ocr", "items": 1000, "sem": 0.0302, "missing_items": 0}]},
        )
    )
    (row,) = type_tables.coverage(audit).rows
    assert [cell.text for cell in row[1:]] == [
        "labelled, not measurable",
        "1,000",
        "100",
        "50",
        "0.0302",
        "14",
    ]


def test_a_flag_stands_once_with_its_list() -> None:
    def flag(name: str, description: str, note: bool) -> dict[str, Any]:
        return {
            "flag": name,
            "metric": "accuracy",
            "about": description,
            "sentence": f"in {description}",
            "what_to_do": FLAGS[name],
            "note": note,
        }

    flags = (
        flag("REVERSED", "criterion", True),
        flag("MEAN_SHIFT", "parallel_forms", False),
        flag("MEAN_SHIFT", "judge_agreement", False),
    )
    table = score_tables.warnings(audit_of(flags=flags))
    assert table is not None
    assert [(row[0].text, row[0].tooltip, row[0].small) for row in table.rows] == [
        ("The mean shifted", "MEAN_SHIFT", "warning"),
        (text_of("flags.reversed"), "REVERSED", "note"),
    ]
    assert table.rows[0][1].text.count("\n") == 1


def test_what_was_lost_stands_in_the_tables() -> None:
    estimate = est("consistency.alpha", 0.95, n_items=830, detail={"items_left_out": 0.17})
    audit = audit_of(estimate)
    assert any(
        "830 items used, 17.0% left out" in cell.small
        for table in estimates_by_family(audit)
        for row in table.rows
        for cell in row
    )
    assert "830 items used, 17.0% left out" in "".join(tables.indicators_brief(audit).notes)
    assert any(
        "left out" in row[4].small
        for row in evidence_tables.family_table(audit, ["consistency"], "").rows
    )


def texts_in(path: str) -> list[str]:
    """The strings that a module may print, docstrings apart."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings
    ]


OWN_WORDS = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "reports").glob("*.py")
    if path.name != "compare.py"
)


@pytest.mark.parametrize("path", [*OWN_WORDS, "hqm/indicators/flags.py"])
def test_reports_use_no_word_that_says_more_than_numbers_do(path: str) -> None:
    assert [text for text in texts_in(path) if FORBIDDEN.search(text)] == []


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/index.md",
        "docs/tutorial_report.md",
        "docs/tutorial_release.md",
        "docs/tutorial_compare.md",
    ],
)
def test_pages_use_no_word_that_says_more_than_numbers_do(page: str) -> None:
    """Prose may quote a verdict to refute it, so the page is held to the words that a report must
    not use of data.
    """
    words = re.compile(
        r"cannot tell|tells? [^.\n]{0,40}apart|significan|\bproves?\b|\breliable\b", re.IGNORECASE
    )
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if words.search(line)] == []


@pytest.mark.parametrize(
    ("missing", "names"),
    [
        ({}, ""),
        ({0: 10}, ""),
        ({0: 200}, "a-model (80%)"),
        ({0: 200, 9: 500}, "a-model (80%) and j-model (50%)"),
        (dict.fromkeys(range(10), 500), ""),
        (dict.fromkeys(range(5), 500), "5 models"),
    ],
)
def test_who_answered_a_part_only_is_named_where_models_are_separated(
    missing: dict[int, int], names: str
) -> None:
    pairs = est("discriminability.separable_pairs", 1.0, detail={"apart": 45, "pairs": 45})
    full_audit = audit_of(pairs)
    respondents = tuple(
        replace(respondent, states={REFERENCE: {"ok": 1000 - n_missing, "missing": n_missing}})
        for k, respondent in enumerate(full_audit.respondents)
        for n_missing in [missing.get(k, 0)]
    )
    before, after = (
        answer_texts(audit)["separate"]
        for audit in (full_audit, audit_of(pairs, respondents=respondents))
    )
    sentence = f" {text_of('separate.part', who=names)}" if names else ""
    assert after == before + sentence


def test_the_forbidden_words_are_seen() -> None:
    for words in (
        "It cannot tell these apart.",
        "a significant gain",
        "This proves it.",
        "a reliable score",
        "tells them apart",
    ):
        assert FORBIDDEN.search(words), words
    for words in ("did not separate", "the reliability of one run is 0.95", "unreliability"):
        assert not FORBIDDEN.search(words), words


def test_a_report_speaks_of_the_goals_of_a_policy(run: Run, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text('name = "own"\n[precision]\nerror = 0.02\n')
    (tmp_path / "audit.json").write_text(hqm.Audit((audit_of(RHO, SEM),)).to_json())
    report = ["report", str(tmp_path / "audit.json"), "--to", str(tmp_path / "report.html")]
    status, _, error = run(*report)
    assert status == 0, error
    page = (tmp_path / "report.html").read_text()
    assert "limit of 3." in page
    assert run(*report, "--policy", str(tmp_path / "policy.toml"))[0] == 0
    assert "limit of 2." in (tmp_path / "report.html").read_text()


def test_a_scale_without_two_ends_has_no_limit_for_types() -> None:
    no_ends = {"accuracy": {"about": "", "better": "higher", "scale": [None, None]}}
    audit = audit_of(SEARCHED, PAIRS, typed(0.02, 0.5), metrics=no_ends)
    assert not more_items(audit, Policy.load()).types
    (coverage,) = [
        test
        for test in check_against(hqm.Audit((audit,)), Policy.load()).tests
        if test.what == "coverage"
    ]
    assert coverage.outcome == "NOT MEASURED"


def test_the_lead_on_shared_items_is_that_of_the_shared_items() -> None:
    contrast = {"first": NAMES[9], "second": NAMES[8], "difference": 0.05, "error": 0.01, "p": 1e-6}
    for items, points in ((1000, "3"), (800, "5")):
        row = contrast | {"items": items, "clusters": 100, "rivals": 1}
        detail = {"contrasts": [row], "shared_items": [items, items]}
        audit = audit_of(
            SEARCHED, PAIRS, est("discriminability.separable_adjacent", 1.0, detail=detail)
        )
        assert f"by {points} points" in headline(audit).text
        assert ("both answered" in headline(audit).text) == (items < 1000)
        assert f"by {points} points" in board_title(audit)
        for n, subject in ((2, "The two models"), (3, "The top two models")):
            best = replace(audit, respondents=audit.respondents[-n:])
            assert order_sentence(best).startswith(f"{subject} differ")
        gaps = budgeted(audit, BudgetRow(source="items", status="ok", half=0.05))
        need = more_items(gaps, Policy.load()).need("top")
        assert need is not None
        assert need.size == pytest.approx(float(points) / 100)


@pytest.mark.parametrize("error", [0.0, 0.01])
def test_a_board_on_which_no_item_separates_models_says_so(error: float) -> None:
    """Where all is right or all wrong, nothing is left to be known."""
    contrast = {"first": NAMES[9], "second": NAMES[8], "difference": 0.0, "error": error, "p": 1.0}
    row = contrast | {"items": 1000, "clusters": 100, "rivals": 1}
    detail = {"contrasts": [row], "shared_items": [1000, 1000]}
    audit = audit_of(SEARCHED, PAIRS, est("discriminability.separable_adjacent", 0, detail=detail))
    assert (order_sentence(audit) == f"{board_title(audit)}.") == (error == 0)
    assert ("not known" in order_sentence(audit)) == (error > 0)


def test_types_without_items_answer_no_point_of_a_checklist() -> None:
    empty = audit_of(PAIRS).coverage["ocr"] | {"items": 0, "claimed": False}
    points = fill_checklist(replace(audit_of(PAIRS), coverage={"ocr": empty})).points
    assert {point.id: point.state for point in points}["Do5"] == "NOT MEASURED"


def test_scores_that_were_asked_again_are_of_the_models_that_have_an_error() -> None:
    audit = audit_of()
    first, second, *others = audit.scores_by_name("accuracy")
    errors = {first: 0.01, second: None}
    rho = est("test_retest.rho_g", 0.9, detail={"by_respondent": errors})
    assert _scores_of_rerun(audit, rho) == [audit.scores_by_name("accuracy")[first]]
    older = est("test_retest.rho_g", 0.9)
    assert len(_scores_of_rerun(audit, older)) == 2 + len(others)


def test_only_a_test_that_would_find_wrong_keys_shows_that_there_are_none() -> None:
    power = {"found": 0.11, "error": 0.01}
    weak = est("items.label_errors", 0.0, status="not_informative", detail={"power": power})
    listed = est("items.reading_list", 1.0)
    ranked = audit_of(weak, listed)
    assert seven_answers(ranked).codes["faulty"] == "not_shown"
    assert seven_answers(audit_of(SEARCHED, listed)).codes["faulty"] == "fine"
    assert seven_answers(audit_of(weak)).codes["faulty"] == "not_measured"
    assert "a test would find 11% of " in answer_texts(ranked)["faulty"]


def test_every_finding_is_named_by_a_noun() -> None:
    """ "Check first: image blank." named a fault by its code."""
    names = {code.name for code in CODES.values() if code.code != ADAPTER_CODE}
    assert FINDING_NAMES.keys() == names
    assert len(set(FINDING_NAMES.values())) == len(names)
    for words in FINDING_NAMES.values():
        assert re.fullmatch(r"[a-z][\w ',-]*", words)
        # more would take the verdict's words for the order of the models
        assert len(words.split()) <= 8


def test_reruns_that_gave_the_same_answers_ask_for_no_second_run(run: Run, tmp_path: Path) -> None:
    """The answer was that a second run was needed, and that it gave the same answers."""
    rng = np.random.default_rng(4)
    rows = ["item,question,target,model,run,answer"]
    for model, item in np.ndindex(6, 80):
        answer = "yes" if rng.random() < 0.5 + model / 12 else "no"
        rows += [f"{item},Is there a thing {item}?,yes,m{model},{n},{answer}" for n in range(2)]
    table = tmp_path / "answers.csv"
    table.write_text("\n".join(rows))
    code, output, err = run("audit", table, "--out", tmp_path / "out")
    assert code == 0, err
    assert tells(output, "repeat.alike")
    assert "second run" not in output
