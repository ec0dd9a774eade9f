"""Sentences of the first screen: a reader who has only the numbers agrees with each of them.

Tables of estimates and the sentences that they lead to, with those that must not appear; and random
audits, in which every claim is held against the interval ends by conditions that are written here
once more.
"""

import ast
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hqm.reports import evidence_tables, item_tables, score_tables, tables, type_tables
from hqm.reports.evidence_tables import estimates_by_family
from hqm.reports.first_screen import in_short
from hqm.reports.phrases import in_words
from hqm.reports.screen_sentences import repeatable
from hqm.reports.verdicts import to_fix

import hqm
from hqm import FLAGS, BenchmarkAudit, Estimate, Interval, Policy, RespondentScores
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
    indicator: str, value: float | None, these: Ends = None, others: Ends = None, **fields: Any
) -> Estimate:
    """An estimate with the intervals that sentences look at."""
    spans = {"fixed_models": these, "model_population": others}
    intervals = tuple(
        Interval(*ends, kind, "made") for kind, ends in spans.items() if ends is not None
    )
    other = fields.pop("other", OF_FAMILY.get(indicator.partition(".")[0], ""))
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
        other,
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
            {c: {"accuracy": 0.5} for c in cells},
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
    given: dict[str, Any] = {
        "benchmark": "made",
        "title": "Made",
        "version": "1",
        "task": "yes_no",
        "scoring": "official",
        "parser": "strict",
        "summary": "",
        "reference": REFERENCE,
        "items": 1000,
        "images": 100,
        "metrics": {"accuracy": {"about": "", "better": "higher"}},
        "forms": {},
        "truth_yes": {},
        "cells": cells,
        "respondents": rows,
        "estimates": estimates,
        "coverage": covered,
        "findings": (),
    }
    return BenchmarkAudit(**{**given, **fields})


def first_screen(audit: BenchmarkAudit) -> dict[str, str]:
    """Question -> answer; of the advice all of it, of which a report shows the first three
    sentences.
    """
    answers = {point.question: in_words(point.sentences) for point in in_short(audit)}
    return {**answers, FIX: in_words(to_fix(audit, most=99))}


REPEAT, WORDING, AGREE, TYPES, APART, FAULTY, FIX = (
    "Do the scores repeat?",
    "Does the wording change them?",
    "Do they agree with people?",
    "Which types are covered?",
    "Which respondents did it separate?",
    "Are items faulty?",
    "What to fix first",
)

RHO = est("test_retest.rho_g", 0.997, (0.9961, 0.9979), (0.99, 0.9991))
FLOOR = est("test_retest.noise_floor", 0.996)
OWN = {"a": 0.0006, "b": 0.0143, "c": 0.004}
SEM = est("test_retest.sem", 0.006, detail={"by_respondent": OWN})
MDC = est("test_retest.mdc95", 0.0166)
SHIFT = est("parallel_forms.mean_shift", -0.093, (-0.116, -0.071), (-0.18, -0.007))
PAIRS = est(
    "discriminability.separable_pairs",
    39 / 45,
    detail={
        "apart": 39,
        "pairs": 45,
        "tied_sets": [["recorded/a-model", "recorded/b-model"], ["recorded/c-model"]],
    },
)
TESTED = est("items.label_errors", 0.0, detail={"candidates": []})
RANKED = [
    {"rank": 2, "item": "q8", "item_rest": -0.3, "fails": ["recorded/a-model"], "expected": 0.5},
    {"rank": 1, "item": "q5", "item_rest": -0.6, "fails": ["recorded/b-model"], "expected": 0.9},
]


def typed(*errors: float | None, **row: Any) -> Estimate:
    rows = [
        {"type": f"type{i}", "items": 100, "sem": e, "missing_items": 178, **row}
        for i, e in enumerate(errors)
    ]
    return est("types.index", 0.1, detail={"types": rows})


def worth(*rows: tuple[bool, bool]) -> Estimate:
    """Of each type: whether its own score adds to the total, and whether the interval supports
    that.
    """
    listed = [
        {"type": f"type{i}", "items": 9, "status": "ok", "adds": a, "certain": c}
        for i, (a, c) in enumerate(rows)
    ]
    return est("types.added_value", float(sum(a for a, _ in rows)), detail={"types": listed})


CASES: Mapping[str, tuple[BenchmarkAudit, str, tuple[str, ...], tuple[str, ...]]] = {
    # --- does it repeat? ---
    "both intervals above the goal": (
        audit_of(RHO),
        REPEAT,
        (
            (
                "0.9970 (95% interval [0.9961, 0.9979] for these respondents, [0.9900, 0.9991] for"
                " others like them; 10 respondents, 1,000 items)"
            ),
            "The goal of 0.90 is reached, for these respondents and for others like them.",
        ),
        ("not shown", "missed", r"\[0\.997, 0\.997\]"),
    ),
    "only these above the goal": (
        audit_of(est("test_retest.rho_g", 0.95, (0.93, 0.96), (0.80, 0.98))),
        REPEAT,
        ("The goal of 0.90 is reached for these respondents; for others it is not shown.",),
        ("and for others like them",),
    ),
    "the number above the goal, its interval not": (
        audit_of(est("test_retest.rho_g", 0.93, (0.88, 0.96), (0.7, 0.98))),
        REPEAT,
        ("Whether the goal of 0.90 is reached is not shown: the interval contains it.",),
        (r"(?<!Whether t)he goal of 0\.90 is reached",),
    ),
    "below the goal": (
        audit_of(est("test_retest.rho_g", 0.7, (0.6, 0.78), (0.4, 0.88))),
        REPEAT,
        ("The goal of 0.90 is missed.",),
        ("is reached",),
    ),
    "relatives alone: nothing on others": (
        audit_of(
            est(
                "test_retest.rho_g",
                0.95,
                (0.93, 0.97),
                detail={
                    "n_effective": 1.0,
                    "no_interval_for_others": (
                        "all 10 respondents are of one family (told from their names)"
                    ),
                },
            )
        ),
        REPEAT,
        (
            "none for others: all 10 respondents are of one family (told from their names)",
            "for others it is not shown",
            "count as 1.0 independent ones",
        ),
        ("for others like them",),
    ),
    "no interval at all": (
        audit_of(est("test_retest.rho_g", 0.99)),
        REPEAT,
        ("no interval", "nothing is shown about the goal"),
        ("is reached", "missed"),
    ),
    "a gain over coin flips describes answers": (
        audit_of(RHO, FLOOR, est("test_retest.gain", 0.25, flags=("NOISE_FLOOR",))),
        REPEAT,
        (
            "coin flips at each respondent's own rate would reach 0.996",
            "25% of the way",
            "(2% to 48% over its interval for these respondents)",
            "describes single answers",
        ),
        ("little more than coin flips", "Average"),
    ),
    "below the coin flips": (
        audit_of(
            est("test_retest.rho_g", 0.95, (0.93, 0.96)), FLOOR, est("test_retest.gain", -11.5)
        ),
        REPEAT,
        ("does not lie above it",),
        ("-1150", "−1150", "of the way"),
    ),
    "each respondent's own error, as a range": (
        audit_of(RHO, SEM, MDC),
        REPEAT,
        (
            (
                "a respondent's score varies from run to run by a standard error between 0.00060"
                " and 0.014, depending on the respondent"
            ),
            "(exceeded by chance in 5 of 100 pairs of runs) is between 0.0017 and 0.040",
        ),
        ("0.006[^0]", "0.017[^0-9]", "may differ by chance"),
    ),
    "the ranges that the audit states": (
        audit_of(
            RHO,
            est("test_retest.sem", 0.006, detail={"range": [0.001, 0.012]}),
            est("test_retest.mdc95", 0.0166, detail={"range": [0.003, 0.034]}),
        ),
        REPEAT,
        ("between 0.0010 and 0.012", "between 0.0030 and 0.034"),
        ("0.006[^0]",),
    ),
    "a pooled error is nobody's": (
        audit_of(RHO, est("test_retest.sem", 0.006), MDC),
        REPEAT,
        ("pooled over respondents, is 0.0060", "single respondents have smaller and larger ones"),
        ("a respondent", r"0\.017"),
    ),
    "scores that moved between the runs": (
        audit_of(
            est("test_retest.rho_g", 0.99, (0.98, 0.995), flags=("DRIFT",)),
            est("test_retest.drift", 0.003),
            est("test_retest.icc_a1", 0.9, (0.8, 0.95)),
        ),
        REPEAT,
        ("(p 0.003)", "which rho_G leaves out", "ICC(A,1), is 0.900"),
        (),
    ),
    "drawn without chance": (
        audit_of(
            est(
                "test_retest.rho_g",
                1.0,
                status="not_informative",
                reason="the answers repeat by construction",
            )
        ),
        REPEAT,
        ("This audit does not say: the answers repeat by construction.",),
        ("goal", r"1\.000"),
    ),
    "asked once": (
        audit_of(),
        REPEAT,
        ("Not measured: the original form was asked once",),
        ("goal",),
    ),
    # --- wording ---
    "a shift for these and for others": (
        audit_of(SHIFT),
        WORDING,
        (
            (
                "differs by −0.093 (−9.3 percentage points) (95% interval [−0.116, −0.071] for"
                " these respondents, [−0.180, −0.007] for others like them"
            ),
            "It is lower there, for these respondents and for others like them.",
        ),
        ("not shown",),
    ),
    "a shift for these alone": (
        audit_of(est("parallel_forms.mean_shift", 0.05, (0.02, 0.08), (-0.02, 0.12))),
        WORDING,
        ("It is higher there for these respondents; for others the direction is not shown.",),
        ("and for others",),
    ),
    "no shift shown": (
        audit_of(est("parallel_forms.mean_shift", 0.003, (-0.01, 0.016), (-0.02, 0.03))),
        WORDING,
        ("That it differs is not shown: the interval contains 0.",),
        ("higher", "no change", "the same mean"),
    ),
    "an interval over others that is too narrow claims nothing": (
        audit_of(est("parallel_forms.mean_shift", 0.024, (-0.003, 0.051), (0.012, 0.036))),
        WORDING,
        ("is not shown",),
        ("higher there",),
    ),
    "verdicts beside what the seed alone changes": (
        audit_of(
            SHIFT,
            est("parallel_forms.item_agreement", 0.61),
            est("test_retest.item_agreement", 0.75),
        ),
        WORDING,
        (
            "61% of the items get the same verdict in both forms (75% when only the seed changes)",
            "mean over these respondents",
        ),
        (),
    ),
    "one form": (audit_of(), WORDING, ("Not measured: no other wording was asked",), ("differs",)),
    # --- people and oracles ---
    "people": (
        audit_of(est("criterion.pearson", 0.82, (0.7, 0.9), (0.4, 0.95), n_items=300)),
        AGREE,
        (
            (
                "correlate 0.820 with people's labels (95% interval [0.700, 0.900] for these"
                " respondents, [0.400, 0.950] for others like them; 10 respondents, 300 items)"
            ),
        ),
        ("oracle", "Not measured"),
    ),
    "an oracle in an older audit": (
        audit_of(est("criterion.pearson", 0.98, (0.97, 0.99), (0.9, 0.995), other=ORACLE)),
        AGREE,
        (
            "Not measured: no people labelled answers.",
            "the benchmark's oracle (a rule that knows the right answers)",
            "is no agreement with people",
        ),
        ("people's labels \\(", "agree with the scores"),
    ),
    "an oracle by its own name": (
        audit_of(
            est("oracle.pearson", 0.98, (0.97, 0.99), status="not_informative", reason="no people")
        ),
        AGREE,
        ("Not measured: no people labelled answers.", "is no agreement with people"),
        ("people's labels \\(",),
    ),
    "a correlation that was cut": (
        audit_of(
            est("criterion.pearson", 0.9, None, (0.6, 0.98)),
            est("criterion.disattenuated", 1.0, flags=("CAPPED",)),
        ),
        AGREE,
        ("0.900",),
        ("disattenuated", r"1\.000"),
    ),
    # --- types ---
    "types by their error in this audit": (
        audit_of(typed(0.018, 0.0302, 0.045, 0.023)),
        TYPES,
        (
            "2 of them are measurable in this audit",
            (
                "at most .03 for a respondent's score on the type: type0 and type3; for the 2"
                " others it is 0.0302 to 0.0450."
            ),
        ),
        ("0 of them", "enough items"),
    ),
    "types that the audit itself judged": (
        audit_of(typed(0.02, 0.02, state="measurable", measured=True)),
        TYPES,
        ("2 of them are measurable in this audit",),
        (),
    ),
    "types that the audit itself did not measure": (
        audit_of(typed(0.02, state="labelled, not measurable", measured=False)),
        TYPES,
        ("0 of them are measurable by their number of items",),
        ("in this audit",),
    ),
    "types without answers: by their items": (
        audit_of(typed(None, None, missing_items=0)),
        TYPES,
        ("2 of them are measurable by their number of items",),
        ("in this audit",),
    ),
    "a type's own score, shown for one": (
        audit_of(typed(0.02, 0.02), worth((True, True), (True, False), (False, False))),
        TYPES,
        (
            (
                "is shown for 1 (type0) of 3 types (95% interval over respondents); the estimates"
                " favour it for 2."
            ),
        ),
        (),
    ),
    "a type's own score, shown for none": (
        audit_of(typed(0.02), worth((True, False), (True, False))),
        TYPES,
        ("is shown for none of 2 types",),
        ("shown for 2",),
    ),
    # --- separation ---
    "pairs that were tested": (
        audit_of(PAIRS),
        APART,
        (
            (
                "39 of the 45 pairs of these respondents differ in accuracy by more than the choice"
                " of items explains (paired tests, 5% after Holm; 10 respondents, 1,000 items)."
            ),
            "Sets that these data did not separate: a-model and b-model.",
        ),
        ("87%", "apart", "equal"),
    ),
    "the smallest difference, both ways": (
        audit_of(
            PAIRS,
            est("discriminability.minimum_difference", 0.041),
            est("discriminability.minimum_difference_holm", 0.057),
        ),
        APART,
        (
            (
                "a difference of 0.041 (4.1 percentage points) is found with 80% power by one"
                " planned comparison, and one of 0.057 (5.7 percentage points) among all pairs"
                " after Holm."
            ),
        ),
        ("does not state",),
    ),
    "the smallest difference of any pair in a detail": (
        audit_of(
            PAIRS, est("discriminability.minimum_difference", 0.041, detail={"any_pair": 0.057})
        ),
        APART,
        ("0.057 (5.7 percentage points) among all pairs",),
        (),
    ),
    "the smallest difference without the other": (
        audit_of(PAIRS, est("discriminability.minimum_difference", 0.041)),
        APART,
        ("by one planned comparison; among all pairs, after Holm, it has to be larger",),
        ("that it detects",),
    ),
    "pairs that were not tested": (
        audit_of(
            est(
                "discriminability.separable_pairs",
                None,
                status="insufficient",
                reason="one respondent has no pairs",
            ),
            est("test_retest.pair_flip", 0.08),
        ),
        APART,
        ("Not measured: one respondent has no pairs.", "expected to put 8% of the pairs"),
        ("of the 45", "did not separate"),
    ),
    # --- faulty items ---
    "no fault named, and no power": (
        audit_of(TESTED),
        FAULTY,
        (
            (
                "names no items that able respondents fail and weak ones pass (10 respondents, 1,000"
                " items)"
            ),
            "the count does not say how many there are",
        ),
        ("There are no", "0 label errors"),
    ),
    "no fault named, and hardly any power": (
        audit_of(
            est(
                "items.label_errors",
                0.0,
                status="not_informative",
                reason="few respondents",
                detail={"power": 0.02},
            )
        ),
        FAULTY,
        (
            "names no items",
            "Of wrong labels, these respondents would show only 2%, so the count says nothing",
        ),
        ("There are no",),
    ),
    "faults named, with power": (
        audit_of(
            est("items.label_errors", 3.0, detail={"power": 0.61, "candidates": [{"item": "q1"}]})
        ),
        FAULTY,
        ("names 3 items that able", "Of wrong labels, these respondents would show 61%."),
        ("only", "says nothing"),
    ),
    "what was planted, where the audit says it": (
        audit_of(
            est(
                "items.label_errors",
                0.0,
                detail={"power": {"found": 0.4, "error": 0.03, "share_planted": 0.02}},
            )
        ),
        FAULTY,
        ("Of wrong labels planted in 2% of the items, these respondents would show 40%.",),
        ("nothing",),
    ),
    "a list that says little": (
        audit_of(
            TESTED,
            est(
                "items.reading_list",
                2.0,
                status="not_informative",
                reason="few respondents",
                detail={"reading_list": RANKED},
            ),
        ),
        FAULTY,
        ("A list of items to read says little: few respondents.",),
        ("Read these items first",),
    ),
    "items to read, in their order": (
        audit_of(TESTED, est("items.reading_list", 2.0, detail={"reading_list": RANKED})),
        FAULTY,
        (
            (
                "Read these items first: q5 and q8 (about 70% of such items have a wrong key or"
                " mislead strong models)."
            ),
        ),
        ("q8 and q5",),
    ),
    # --- advice ---
    "no item is advised for a type at chance": (
        audit_of(
            typed(0.05, 0.04, measured=True, state="labelled, not measurable", at_chance=True)
        ),
        FIX,
        ("In type0 and type1, none of these respondents is above chance: more items would show",),
        ("more items needed", "a standard error above"),
    ),
    "nothing is advised on seeds where the goal is reached": (
        audit_of(RHO, FLOOR, est("test_retest.gain", 0.23, flags=("NOISE_FLOOR",))),
        FIX,
        (),
        ("seed", "coin", "more items", "runs? reach"),
    ),
    "how many items or runs reach the goal": (
        audit_of(
            est("test_retest.rho_g", 0.85, (0.8, 0.88)),
            est(
                "generalizability.phi",
                0.8,
                other=RERUN,
                detail={
                    "varied": "run",
                    "d_study": [
                        {"target": 0.8, "items": 5, "runs": 1},
                        {"target": 0.9, "items": 2400, "runs": 2},
                    ],
                },
            ),
        ),
        FIX,
        (
            "misses the goal of 0.90",
            "2,250 such items or the mean of 3 runs reach it",
            "the D study asks for 2,400 items in 2 runs (Phi)",
        ),
        (),
    ),
    "a goal that is not shown to be reached": (
        audit_of(est("test_retest.rho_g", 0.93, (0.88, 0.96))),
        FIX,
        ("is not shown to reach the goal of 0.90", "1,228 such items or the mean of 2 runs"),
        ("misses",),
    ),
    "scores without differences that repeat": (
        audit_of(est("test_retest.rho_g", -0.1, (-0.4, 0.3))),
        FIX,
        ("Longer tests will not help",),
        ("such items or",),
    ),
    "an oracle calls for no repair of the scorer": (
        audit_of(est("criterion.pearson", 0.2, (0.1, 0.3), (0.0, 0.4), other=ORACLE)),
        FIX,
        ("Whether the scores agree with people was not measured.",),
        ("correct the scorer",),
    ),
    "people disagree": (
        audit_of(est("criterion.pearson", 0.5, (0.4, 0.6), (0.2, 0.65))),
        FIX,
        ("agree too little with people's labels", "0.70"),
        ("was not measured. Have people",),
    ),
    "agreement that the interval leaves open": (
        audit_of(est("criterion.pearson", 0.8, (0.7, 0.9), (0.5, 0.9))),
        FIX,
        ("is not shown", "reaches below the 0.70"),
        ("correct the scorer",),
    ),
    "agreement that is shown": (
        audit_of(est("criterion.pearson", 0.95, (0.9, 0.97), (0.8, 0.98))),
        FIX,
        (),
        ("people",),
    ),
    "a wording that changes the scores": (
        audit_of(
            est(
                "parallel_forms.icc_a1",
                0.511,
                (0.448, 0.566),
                (-0.056, 0.845),
                detail={"shift": -0.093},
            )
        ),
        FIX,
        (
            "gives these respondents other scores",
            "0.511",
            "the policy “default” asks for 0.75; the mean differs by −9.3 percentage points",
        ),
        (),
    ),
    "a wording whose effect is open": (
        audit_of(est("parallel_forms.icc_a1", 0.6, (0.3, 0.8), (-0.056, 0.845))),
        FIX,
        (),
        ("gives these respondents other scores",),
    ),
    "words that give answers away in one type": (
        audit_of(
            est(
                "solvability.blind_accuracy",
                0.5,
                detail={
                    "gain": 0.0,
                    "p": 0.6,
                    "baseline": 0.5,
                    "by_type": [
                        {
                            "type": "action",
                            "items": 100,
                            "accuracy": 1.0,
                            "baseline": 0.5,
                            "q": 0.001,
                        },
                        {"type": "ocr", "items": 100, "accuracy": 0.6, "baseline": 0.5, "q": 0.3},
                    ],
                },
            )
        ),
        FIX,
        ("of some types: action (100%, 50% by its most frequent answer)",),
        ("ocr",),
    ),
    "words that give answers away, by type and part together": (
        audit_of(
            est(
                "solvability.blind_accuracy",
                0.6,
                detail={
                    "gain": 0.1,
                    "p": 0.001,
                    "baseline": 0.5,
                    "strata": [
                        {
                            "name": "action",
                            "accuracy": 1.0,
                            "baseline": 0.5,
                            "low": 0.31,
                            "leak": True,
                        },
                        {
                            "name": "ocr",
                            "accuracy": 0.9,
                            "baseline": 0.5,
                            "low": -0.1,
                            "leak": False,
                        },
                    ],
                },
            )
        ),
        FIX,
        ("in action (100%, 50% by its most frequent answer; at least 31% more)",),
        ("ocr", "classifier"),
    ),
    "words that give nothing away, by type and part together": (
        audit_of(
            est(
                "solvability.blind_accuracy",
                0.6,
                detail={
                    "gain": 0.1,
                    "p": 0.001,
                    "baseline": 0.5,
                    "strata": [{"name": "ocr", "leak": False}],
                },
            )
        ),
        FIX,
        (),
        ("words",),
    ),
    "types with too large an error": (
        audit_of(typed(0.06, 0.02)),
        FIX,
        ("1 type has a standard error above .03, most of all type0 (about 300 more items needed)",),
        ("type1",),
    ),
    "few respondents, some of them relatives": (
        audit_of(
            flags=(
                {
                    "flag": "FEW_MODELS",
                    "metric": "accuracy",
                    "sentence": "x",
                    "what_to_do": "x",
                    "numbers": {"n": 10, "n_effective": 4.2},
                },
            )
        ),
        FIX,
        (
            (
                "Only 10 respondents answered, and they count as 4.2 independent ones (families"
                " told from their names)"
            ),
        ),
        ("10.0",),
    ),
    "what was lost stands beside the number": (
        audit_of(
            est(
                "test_retest.rho_g",
                0.95,
                (0.93, 0.96),
                n_items=823,
                detail={"items_left_out": 0.177},
            )
        ),
        REPEAT,
        ("10 respondents, 823 of 1,000 items (17.7% left out)",),
        ("10 respondents, 1,000 items",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_estimates_lead_to_the_sentence_that_their_reader_expects(case: str) -> None:
    audit, question, says, never = CASES[case]
    said = first_screen(audit)[question]
    for words in says:
        assert words in said, said
    for words in never:
        assert not re.search(words, said), said


@pytest.mark.parametrize("case", CASES)
def test_no_sentence_says_more_than_numbers_do(case: str) -> None:
    said = " ".join(first_screen(CASES[case][0]).values())
    assert not FORBIDDEN.search(said), said
    assert "{" not in said, "every name in braces was filled"
    assert "  " not in said
    assert "None" not in said


def test_a_policy_sets_the_goals() -> None:
    strict = Policy.model_validate(
        {
            "name": "strict",
            "require": [
                {
                    "indicator": "test_retest.rho_g",
                    "interval": "model_population",
                    "at_least": 0.95,
                },
                {
                    "indicator": "parallel_forms.icc_a1",
                    "interval": "model_population",
                    "at_least": 0.9,
                },
            ],
        }
    )
    audit = audit_of(
        est("test_retest.rho_g", 0.93, (0.92, 0.94), (0.91, 0.945)),
        est("parallel_forms.icc_a1", 0.8, (0.78, 0.85), (0.6, 0.9)),
    )
    assert tells(in_words(repeatable(audit)), "goal.reached", aim="0.90")
    assert "The goal of 0.95 is missed." in in_words(repeatable(audit, strict))
    advised = in_words(to_fix(audit, strict))
    assert "misses the goal of 0.95" in advised
    assert "the policy “strict” asks for 0.90" in advised
    assert "asks for" not in in_words(to_fix(audit))


# --- random audits, read by somebody who has the numbers alone ---


def drawn(rng: np.random.Generator) -> tuple[BenchmarkAudit, dict[str, Any]]:
    """An audit with random estimates, and its numbers."""

    def ends(value: float, width: float) -> tuple[float, float]:
        return value - width * rng.uniform(0.2, 1), min(1.0, value + width * rng.uniform(0.2, 1))

    rho, shift, r, icc = (
        rng.uniform(0.75, 0.999),
        rng.uniform(-0.1, 0.1),
        rng.uniform(0.4, 0.98),
        rng.uniform(0.3, 0.99),
    )
    spans = {
        "rho": (
            ends(rho, rng.choice([0.002, 0.05, 0.3])),
            ends(rho, 0.2) if rng.random() < 0.8 else None,
        ),
        "shift": (
            ends(shift, rng.choice([0.01, 0.08])),
            ends(shift, 0.15) if rng.random() < 0.8 else None,
        ),
        "r": (ends(r, 0.1), ends(r, 0.3)),
        "icc": (ends(icc, 0.2), ends(icc, 0.4)),
    }
    errors = [float(e) for e in rng.uniform(0.01, 0.06, 5)]
    power = float(rng.uniform(0, 1))
    weak = power < 0.2
    audit = audit_of(
        est("test_retest.rho_g", rho, *spans["rho"]),
        est("parallel_forms.mean_shift", shift, *spans["shift"]),
        est("parallel_forms.icc_a1", icc, *spans["icc"]),
        est("criterion.pearson", r, *spans["r"]),
        typed(*errors),
        est(
            "items.label_errors",
            0.0,
            status="not_informative" if weak else "ok",
            reason="x" if weak else "",
            detail={"power": power},
        ),
    )
    return audit, {**spans, "errors": errors, "power": power, "value": rho}


def low(span: Ends) -> float:
    return -1.0 if span is None else span[0]


CLAIMS: Mapping[str, Callable[[dict[str, Any]], bool]] = {
    "The goal of 0.90 is reached, for these respondents and for others": lambda n: (
        min(low(n["rho"][0]), low(n["rho"][1])) >= 0.9
    ),
    "The goal of 0.90 is reached for these respondents; for others it is not shown": lambda n: (
        low(n["rho"][0]) >= 0.9 > low(n["rho"][1])
    ),
    "The goal of 0.90 is missed": lambda n: n["rho"][0][1] < 0.9,
    "Whether the goal of 0.90 is reached is not shown": lambda n: (
        n["rho"][0][0] < 0.9 <= n["rho"][0][1]
    ),
    "That it differs is not shown": lambda n: n["shift"][0][0] <= 0 <= n["shift"][0][1],
    "It is lower there": lambda n: n["shift"][0][1] < 0,
    "It is higher there": lambda n: n["shift"][0][0] > 0,
    "there, for these respondents and for others like them": lambda n: (
        (n["shift"][1] is not None and all(end < 0 for pair in n["shift"] for end in pair))
        or (n["shift"][1] is not None and all(end > 0 for pair in n["shift"] for end in pair))
    ),
    "for others the direction is not shown": lambda n: (
        not n["shift"][0][0] <= 0 <= n["shift"][0][1]
        and (n["shift"][1] is None or n["shift"][1][0] <= 0 <= n["shift"][1][1])
    ),
    "misses the goal of 0.90": lambda n: n["rho"][0][1] < 0.9,
    "is not shown to reach the goal of 0.90": lambda n: n["rho"][0][0] < 0.9 <= n["rho"][0][1],
    "agree too little with people's labels": lambda n: n["r"][1][1] < 0.7,
    "That the scores agree with people's labels is not shown": lambda n: (
        n["r"][1][0] < 0.7 <= n["r"][1][1]
    ),
    "gives these respondents other scores": lambda n: n["icc"][0][1] < 0.75,
    "the count says nothing": lambda n: n["power"] < 0.2,
}
"""What a sentence claims, and when the numbers support it."""


def test_random_audits_are_said_as_their_numbers_are() -> None:
    rng = np.random.default_rng(12)
    made: dict[str, int] = dict.fromkeys(CLAIMS, 0)
    for _ in range(400):
        audit, numbers = drawn(rng)
        said = " ".join(first_screen(audit).values())
        assert not FORBIDDEN.search(said), said
        for claim, supported in CLAIMS.items():
            assert (claim in said) == supported(numbers), (claim, numbers, said)
            made[claim] += claim in said
        fit = sum(error <= 0.03 for error in numbers["errors"])
        verb = "is" if fit == 1 else "are"
        assert tells(said, "report.measurable", types=fit, verb=verb)
    assert min(made.values()) > 5, f"every claim is made in some audit and not in others: {made}"
    assert max(made.values()) < 395


def test_the_ends_that_are_shown_are_apart() -> None:
    """No interval is printed with two equal ends, and no number below 1 as 1."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        width = 10.0 ** rng.uniform(-5, -1)
        value = float(rng.uniform(0.85, 1 - 1.1 * width))
        said = first_screen(
            audit_of(est("test_retest.rho_g", value, (value - width, value + width)))
        )[REPEAT]
        shown = re.search(r"\[([\d.]+), ([\d.]+)\] for these", said)
        assert shown is not None
        assert float(shown[1]) < float(shown[2]) < 1, said


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
    for audit, shown in ((oracle, tables.DASH), (labelled, "0.910")):
        table = tables.summary(hqm.Audit((audit,)))
        assert table.rows[0][table.columns.index("Criterion r")].text == shown
    sources = {row[0].text: row for row in evidence_tables.reliability(oracle).rows}
    assert "not measured" in sources[text_of("report.people")][0].small
    assert any("no people" in name for name in sources)
    assert evidence_tables.oracle(oracle) is not None
    assert evidence_tables.oracle(labelled) is None
    assert not evidence_tables.family_table(oracle, ["criterion"], "").rows


def test_the_items_to_read_stand_in_a_table() -> None:
    table = item_tables.reading_table(
        audit_of(est("items.reading_list", 2.0, detail={"reading_list": RANKED}))
    )
    assert table is not None
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["1", "q5", "−0.60", "b-model", "90%"],
        ["2", "q8", "−0.30", "a-model", "50%"],
    ]
    assert item_tables.reading_table(audit_of(TESTED)) is None


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
    assert "0 of them are measurable" in first_screen(audit)[TYPES]


def test_a_flag_stands_once_with_its_list() -> None:
    def flag(name: str, about: str, note: bool) -> dict[str, Any]:
        return {
            "flag": name,
            "metric": "accuracy",
            "about": about,
            "sentence": f"in {about}",
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
    assert [(row[0].text, row[0].behind, row[0].small) for row in table.rows] == [
        ("The mean moved", "MEAN_SHIFT", "warning"),
        ("One score was turned round", "REVERSED", "note"),
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
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said
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
    (tmp_path / "policy.toml").write_text(
        'name = "own"\n[[require]]\nindicator = "test_retest.rho_g"\ninterval ='
        ' "fixed_models"\nat_least = 0.995\n'
    )
    (tmp_path / "audit.json").write_text(hqm.Audit((audit_of(RHO),)).to_json())
    report = ["report", str(tmp_path / "audit.json"), "--to", str(tmp_path / "report.html")]
    status, _, error = run(*report)
    assert status == 0, error
    assert "The goal of 0.90 is reached" in (tmp_path / "report.html").read_text()
    assert run(*report, "--policy", str(tmp_path / "policy.toml"))[0] == 0
    assert tells((tmp_path / "report.html").read_text(), "goal.not-for-others", aim="0.995")
