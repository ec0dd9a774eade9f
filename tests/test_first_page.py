"""The first page says only what the data show: its marks against the intervals and limits, its
targets by name, and its order of the models whoever joins below.

The audits are of answers by a generator that no estimator assumes, through the door of a table of
scores.
"""

from __future__ import annotations

import csv
import html
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hqm.reports.latex.latex_tables import format_tables
from hqm.reports.latex.paper import paper_tables
from hqm.reports.pages.leaderboard_sentences import board_title, order_sentence, order_statement
from hqm.reports.pages.phrases import TERMS, Terms, plain_text
from hqm.reports.pages.report_page import render
from hqm.reports.pages.sentences import answer_questions, statement
from hqm.reports.tables.table import TARGETS
from scipy.special import expit

import hqm
from hqm import Audit, BenchmarkAudit, Policy
from hqm.auditing.definitions import planned_contrasts
from hqm.auditing.gate import check_against
from hqm.auditing.precision import total_precision
from hqm.auditing.seven_questions import seven_answers
from hqm.commands.show import coefficients
from tests.conftest import Run, counts
from tests.messages import tells

ABILITIES = (1.2, 0.85, 0.0, -0.2, -0.4)
POLICY = Policy.load()
WITHIN = POLICY.limits.equal_within
TARGET = re.compile("|".join(map(re.escape, TARGETS.values())))


def audit_answers(
    path: Path,
    abilities: Sequence[float],
    *,
    items: int = 200,
    runs: int = 1,
    wording: float | None = None,
    dropped: float = 0.0,
    seed: int = 0,
) -> BenchmarkAudit:
    """The audit of a table of scores; `wording` is how much easier another wording is, in logits.

    A model's answers are the same whoever else is asked.
    """
    rng = np.random.default_rng([seed, 7])
    difficulty = rng.normal(0, 1.2, items)
    rows = []
    for m, ability in enumerate(abilities):
        own = np.random.default_rng([seed, m])
        p = expit(ability - difficulty + 0.4 * own.normal(size=items))
        for form, ease in (("original", 0.0), ("parallel", wording)):
            if ease is None:
                continue
            moved = expit(np.log(p / (1 - p)) + ease + 0.2 * own.normal(size=items))
            for run in range(runs if form == "original" else 1):
                right = own.random(items) < moved
                kept = own.random(items) >= dropped
                rows += [
                    {"model": f"m{m:02d}", "item": f"q{i}", "form": form, "run": run, "score": s}
                    for i, s in enumerate(right.astype(int))
                    if kept[i]
                ]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    audit = hqm.audit(path)
    assert isinstance(audit, BenchmarkAudit)
    return audit


def test_hopeless_models_change_no_sentence_about_the_others(tmp_path: Path) -> None:
    """Five models alone, and beside one and fifteen at -3 logits."""
    alone = audit_answers(tmp_path / "alone.csv", ABILITIES, items=400)
    outcomes = [row.outcome for row in planned_contrasts(alone, WITHIN)]
    assert {"differ", "not_known"} == set(outcomes)
    for n in (1, 15):
        joined = audit_answers(tmp_path / f"{n}.csv", [*ABILITIES, *[-3.0] * n], items=400)
        contrasts = planned_contrasts(joined, WITHIN)
        assert [row.outcome for row in contrasts[:4]] == outcomes
        assert order_sentence(joined) == order_sentence(alone)
        assert board_title(joined) == board_title(alone)
        assert order_statement(joined).startswith(order_statement(alone))
        alone_gaps, joined_gaps = (
            {gap.first: (gap.gap, gap.low, gap.high) for gap in audit.budget["score"].gaps}
            for audit in (alone, joined)
        )
        for model in alone_gaps:
            assert joined_gaps[model] == pytest.approx(alone_gaps[model])


WORLDS: tuple[dict[str, Any], ...] = (
    {"abilities": ABILITIES, "items": 200, "runs": 2, "wording": 0.0},
    {"abilities": (0.5,) * 5, "items": 300, "runs": 2, "wording": -1.5},
    {"abilities": (0.5,) * 4, "items": 40, "wording": -0.4},
    {"abilities": (2.5, 1.0, -0.5, -2.0), "items": 400, "runs": 2, "wording": -0.1},
    {"abilities": (1.0, 0.9, 0.2), "items": 300, "runs": 2, "dropped": 0.2},
    {"abilities": (1.0, -1.0), "items": 300, "wording": 0.3},
)
"""Models that are far apart, alike and equal, of few and many items, reworded or not, with answers
missing.
"""


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> list[BenchmarkAudit]:
    folder = tmp_path_factory.mktemp("audits")
    n_seeds = counts(60) // len(WORLDS)
    return [
        audit_answers(folder / f"{number}-{seed}.csv", **world, seed=seed)
        for number, world in enumerate(WORLDS)
        for seed in range(max(1, n_seeds))
    ]


def test_a_tick_is_a_demonstration(audits: list[BenchmarkAudit]) -> None:
    """Each tick of the first page is held against the interval and the limit that it stands for."""
    reached = set()
    for audit in audits:
        codes = seven_answers(audit, POLICY).codes
        precision = total_precision(audit)
        contrasts = planned_contrasts(audit, WITHIN)
        assert precision.scale == 1
        budget = audit.budget["score"]
        wordings = [budget.row(source) for source in ("wording", "negation")]
        wordings = [row for row in wordings if row.low is not None and row.high is not None]
        checks = {
            "repeat": (precision.run_error_high or math.inf) <= POLICY.precision.error,
            "wording": bool(wordings)
            and all((row.low or 0) >= -0.1 and (row.high or 0) <= 0.1 for row in wordings),
            "separate": all(row.outcome != "not_known" for row in contrasts),
            "quote": check_against(Audit((audit,)), POLICY).passed,
        }
        for question, is_shown in checks.items():
            code = codes[question]  # type: ignore[index]
            reached.add((question, code))
            assert (code == "fine") <= is_shown, (question, code)
            if question != "quote":
                assert (code in ("not_shown", "not_measured", "look", "wrong")) or is_shown
        for row in wordings:
            assert row.inference == "fixed_models", "the target that the gate has"
            shift = audit.estimate("parallel_forms.mean_shift").interval("fixed_models")
            assert shift is not None
            assert (row.low, row.high) == (shift.low, shift.high)
    assert {code for question, code in reached if question == "separate"} >= {"look", "not_shown"}
    assert {code for question, code in reached if question == "wording"} >= {"fine", "not_shown"}


def test_every_interval_names_its_target(audits: list[BenchmarkAudit]) -> None:
    interval = re.compile(r"\[[−.\d]+, [−.\d]+\]|at least \.?\d[.\d]*")
    n_intervals = 0
    for audit in audits:
        texts = [str(statement(audit))]
        texts += [plain_text(answer.sentences) for answer in answer_questions(audit, POLICY)]
        for text in texts:
            for match in interval.finditer(text):
                n_intervals += 1
                assert TARGET.match(text[match.end() :].removeprefix(" (")), text
        for test in check_against(Audit((audit,)), POLICY).tests:
            for match in re.finditer(r"\[-?[\d.]+, -?[\d.]+\]|(lower|upper) end", test.sentence):
                rest = test.sentence[match.end() :]
                assert "respondents" in rest or "gain" in test.sentence, test.sentence
    page = html.unescape(render(Audit((audits[0],))).report)
    assert all(target in page for target in ("(these models, new items;", "°: other models"))
    assert n_intervals > len(audits)


def test_the_glossary_has_the_terms_of_the_page_and_no_other(audits: list[BenchmarkAudit]) -> None:
    explained = set()
    for audit in audits[:: max(1, len(audits) // len(WORLDS))]:
        page = render(Audit((audit,))).report
        page, _, entries = page.partition('<ul class="terms">')
        entries = entries.partition("</ul>")[0]
        page = re.sub(r"(?s)<(script|style|svg|pre)\b.*?</\1>", "", page)
        text = html.unescape(re.sub(r"<[^>]+>", " ", page))
        for term, (pattern, meaning) in TERMS.items():
            is_used = re.search(rf"(?<![\w,-])(?:{pattern})\w*(?!\w|-\w)", text) is not None
            assert is_used == (f"<li>{term}: " in html.unescape(entries)), term
            if is_used:
                explained.add(term)
                assert all(quoted in text for quoted in re.findall("“(.+?)”", meaning)), term
    assert {"95% interval", "equal within", "not known", "80% power", "Holm"} <= explained
    assert not Terms().explain("Without alpha-7b it is lower.").count("<dfn")
    assert Terms().explain("Kappa is .7.").count("<dfn") == 1


def test_missing_answers_are_counted_over_all_administrations(
    audits: list[BenchmarkAudit], capsys: pytest.CaptureFixture[str]
) -> None:
    audit = next(a for a in audits if a.state_counts[a.reference]["missing"])
    coefficients(Audit((audit,)))
    states = [s for row in audit.respondents for s in row.states.values()]
    missing = sum(state["missing"] for state in states)
    answers = sum(sum(state.values()) for state in states)
    assert tells(capsys.readouterr().out, "audit.missing", missing=missing, answers=answers)


def test_one_question_has_one_interval_everywhere(audits: list[BenchmarkAudit]) -> None:
    """Page, caption's line, LaTeX and gate have the same ends for reliability and wording."""
    n_compared = 0
    for audit in audits:
        table = paper_tables((Audit((audit,)),))[1]
        titles = [column.title for column in table.columns]
        row = table.rows[0]
        for title, indicator in (("Test-retest rho_G", "test_retest.rho_g"),):
            estimates = [e for e in audit.all_estimates if e.indicator == indicator]
            ends = estimates[0].interval("fixed_models") if estimates else None
            if ends is None:
                continue
            cell = row[titles.index(title)]
            assert (cell.low, cell.high) == (ends.low, ends.high)
            assert not cell.small.endswith("*")
            n_compared += 1
        assert "at least" not in format_tables((table,), ".tex").partition("Intervals")[0]
    assert n_compared


def outcomes_of(audit: BenchmarkAudit) -> list[str]:
    return [row.outcome for row in planned_contrasts(audit, WITHIN)]


def test_two_targets_are_named_and_do_not_contradict(audits: list[BenchmarkAudit]) -> None:
    for audit in audits[:: max(1, len(audits) // 4)]:
        rendered = render(Audit((audit,)))
        for page in (rendered.report, rendered.evidence):
            text = html.unescape(re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL))
            assert not re.search(r"\b(tied|tie|ties|clear of)\b", text, re.IGNORECASE)
        assert "apart" not in re.sub(r"points apart", "", html.unescape(rendered.report))
        title = board_title(audit)
        assert "on new items" in title
        (first, second) = sorted((row.scores["score"] for row in audit.respondents), reverse=True)[
            :2
        ]
        if (
            outcomes_of(audit)[0] == "differ"
            and planned_contrasts(audit, WITHIN)[0].items == audit.n_items
        ):
            assert f"by {100 * (first - second):.1f}".removesuffix(".0") in title
        has_winner = any(e.indicator == "test_retest.same_winner" for e in audit.all_estimates)
        assert ("reruns of the same items" in title) <= has_winner
        outcomes = outcomes_of(audit)
        if "differ" in outcomes:
            assert "No two models" not in rendered.report
        claims = {
            "differ": " leads ",
            "equal": " are equal within 1 point",
            "not_known": " is not known",
        }
        assert claims[outcomes[0]] in title


def test_pairs_use_what_both_answered(tmp_path: Path) -> None:
    """A quarter of the answers of each model is missing: every pair keeps its own items, and their
    number stands beside.
    """
    audit = audit_answers(tmp_path / "part.csv", ABILITIES, items=400, dropped=0.25)
    answers = {a.question: plain_text(a.sentences) for a in answer_questions(audit)}
    match = re.search(
        r"Each pair of models shares (\d+) to (\d+) of 399 items", answers["separate"]
    )
    assert match is not None
    low, high = map(int, match.groups())
    assert 190 < low < high < 260, "a quarter is missing of either, and not of all five"
    for row in planned_contrasts(audit, WITHIN):
        assert low <= row.items <= high
    written = tmp_path / "audit.json"
    written.write_text(Audit((audit,)).to_json())
    assert Audit.load(written).audits[0].budget == audit.budget, "its own reader takes it"


def test_a_table_without_keys_speaks_of_no_key(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(3)
    chances = rng.uniform(0.2, 0.9, (9, 60))
    rows = [
        {"model": f"m{k}", "item": f"q{i}", "run": r, "score": int(rng.random() < chances[k, i])}
        for k, i, r in np.ndindex(9, 60, 2)
    ]
    table = tmp_path / "scores.csv"
    pd.DataFrame(rows).to_csv(table, index=False)
    status, _, error = run("audit", str(table), "--out", str(tmp_path / "out"))
    assert status == 0, error
    page = (tmp_path / "out" / "report.html").read_text()
    cards = page[page.index("Read these items first") : page.index("to mark and export")]
    assert "fail it" in cards
    assert "key" not in cards.lower()
