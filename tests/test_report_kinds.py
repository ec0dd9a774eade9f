"""The report of every kind of evidence is short: words, figures and screens are counted in a real
browser, and every number that stands in two places is one number.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hqm.reports.latex.latex_tables import format_tables
from hqm.reports.latex.paper import paper_tables
from hqm.reports.pages.benchmark_card import quality_card
from hqm.reports.pages.phrases import plain_text
from hqm.reports.pages.report_page import Rendered, render
from hqm.reports.pages.sentences import answer_questions, headline, statement
from hqm.reports.tables.table import anchor, default_policy, indicators_brief

import hqm
from hqm import Audit, BenchmarkAudit
from hqm.auditing.gate import check_against
from hqm.auditing.score_points import Points
from hqm.comparison.compare import compare_audits
from tests.browser import Browser
from tests.conftest import nightly, write_benchmark
from tests.perf import axe_report
from tests.test_judgements import MODULE, NAMES, marks, plain
from tests.test_one_number import PLAIN, is_rounding, numbers_in, printed

KINDS = ("yes/no", "log", "captions", "judged", "labelled")
WORDS, FIGURES, SCREEN, SCREENS = 1_500, 12, 800, 8
OBJECTS = "dog cat car bus hat cup tree bird lamp boat fork shoe".split()


def questions(folder: Path, task: str, items: int = 72) -> list[dict[str, object]]:
    """A benchmark of two types in a folder, and eight respondents' answers to it in two runs."""
    rng = np.random.default_rng(len(task))
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {OBJECTS[i % 12]}?" if task == "yes_no" else f"What is {i}?",
            "target": ("yes", "no")[i // 12 % 2] if task == "yes_no" else "ABCD"[i * 7 % 4],
            "image": f"{i // 2}.png",
            "type": ("existence", "attribute")[i % 2],
            **({"options": ["red", "blue", "green", "black"]} if task == "choice" else {}),
        }
        for i in range(items)
    ]
    write_benchmark(folder, rows, name=folder.name, task=task, types=["existence", "attribute"])
    opposite = {"yes": "no", "no": "yes", "A": "B", "B": "C", "C": "D", "D": "A"}
    hard = rng.normal(0, 1, items)
    return [
        {
            "respondent": f"model-{k}",
            "run": run,
            "item": row["id"],
            "answer": (
                row["target"]
                if rng.random() < 1 / (1 + np.exp(hard[i] - 0.4 * k))
                else opposite[str(row["target"])]
            ),
        }
        for k in range(8)
        for run in (0, 1)
        for i, row in enumerate(rows)
    ]


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def captions() -> list[dict[str, object]]:
    """Captions of drawn scenes that name some objects that are not there."""
    rng = np.random.default_rng(4)
    phrases = ["a red circle", "a blue square", "a green star", "a yellow triangle", "a sign"]
    return [
        {
            "respondent": f"model-{k}",
            "run": run,
            "item": f"d{i:04d}",
            "answer": f"There is {' and '.join(rng.choice(phrases, 1 + k % 3, replace=False))}.",
        }
        for k in range(6)
        for run in (0, 1)
        for i in range(0, 60)
    ]


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BenchmarkAudit]:
    """An audit of each kind."""
    home, audits = tmp_path_factory.mktemp("kinds"), {}
    for kind in ("yes/no", "labelled"):
        folder = home / kind.replace("/", "")
        rows = questions(folder, "yes_no")
        settings = {}
        if kind == "labelled":
            labels = [
                f"{row['item']},{row['respondent']},{int(len(str(row['answer'])) == 2)}"
                for row in rows
                if row["run"] == 0
            ]
            settings["criterion"] = folder / "labels.csv"
            (folder / "labels.csv").write_text("\n".join(["item,respondent,label", *labels]))
        answers = written(folder / "answers.jsonl", rows)
        audits[kind] = hqm.audit(str(folder), recorded=answers, forms="original", **settings)
    scores = [(k, i, run) for k in range(8) for i in range(60) for run in (0, 1)]
    table = [
        {"model": f"model-{k}", "item": f"q{i}", "run": run, "score": (3 * i + k + run) % 11 / 10}
        for k, i, run in scores
    ]
    (home / "scores.csv").write_text(
        "\n".join(["model,item,run,score", *(",".join(map(str, r.values())) for r in table)])
    )
    audits["log"] = hqm.audit(home / "scores.csv")
    audits["captions"] = hqm.audit(
        "shapes_caption",
        recorded=written(home / "captions.jsonl", captions()),
        forms="original",
        limit=60,
    )
    (home / "claims").mkdir()
    (home / "claims" / "claims.py").write_text(MODULE)
    recorded: list[dict[str, object]] = [
        {"respondent": name, "run": run, "item": f"q{i}", "answer": f"{name} says {i} in {run}"}
        for name in NAMES
        for run in (0, 1)
        for i in range(24)
    ]
    judged = plain(home / "judged.jsonl", marks(0))
    audits["judged"] = hqm.audit(
        str(home / "claims" / "claims.py"),
        recorded=written(home / "said.jsonl", recorded),
        forms="original",
        judgements=f"gpt={judged}",
    )
    return audits


@pytest.fixture(scope="module")
def pages(audits: dict[str, BenchmarkAudit]) -> dict[str, Rendered]:
    return {kind: render(Audit((audit,), "hqm audit it")) for kind, audit in audits.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_report_is_short(
    pages: dict[str, Rendered], browser: Browser, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "report.html").write_text(pages[kind].report, encoding="utf-8")
    browser.open(tmp_path / "report.html", 1280, SCREEN)
    words = browser.evaluate("document.body.innerText.split(/\\s+/).length")
    n_figures = browser.evaluate(
        "[...document.querySelectorAll('.drawn svg, table')].filter((e) =>"
        " e.getBoundingClientRect().height > 0).length"
    )
    tall = browser.evaluate("document.documentElement.scrollHeight")
    assert words <= WORDS
    assert 2 <= n_figures <= FIGURES
    assert tall <= SCREENS * SCREEN
    for width in (400, 1600):
        browser.open(tmp_path / "report.html", width, SCREEN, dark=width == 400)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.errors == []


def test_the_report_keeps_the_rules_of_accessibility_and_the_keyboard_reaches_all(
    pages: dict[str, Rendered], browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "report.html").write_text(pages["yes/no"].report, encoding="utf-8")
    browser.open(tmp_path / "report.html", 1280, SCREEN)
    axe_report.unfold(browser)
    assert axe_report.broken_rules(browser, axe_report.axe()) == []
    reached, wrong = axe_report.unreached(browser)
    assert reached > 10
    assert wrong == []


@nightly
@pytest.mark.parametrize("kind", KINDS)
def test_the_evidence_keeps_the_rules_of_accessibility(
    pages: dict[str, Rendered], browser: Browser, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "evidence.html").write_text(pages[kind].evidence, encoding="utf-8")
    browser.open(tmp_path / "evidence.html", 1280, SCREEN, dark=True)
    axe_report.unfold(browser)
    assert axe_report.broken_rules(browser, axe_report.axe()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_page_is_the_readers(pages: dict[str, Rendered], kind: str) -> None:
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", pages[kind].report)).split())
    parts = [
        r"Only this changes",
        r"Left: [\w ]+ with its 95% interval",
        r"What to correct|Nothing",
        r"Seven questions",
        r"Quote this",
        r"Run record and limits",
    ]
    starts = [
        match.start()
        for pattern in parts
        if (match := re.search(pattern, text[text.index("Evidence") :])) is not None
    ]
    assert len(starts) == len(parts)
    assert starts == sorted(starts)


def shown_in(text: str, value: float, points: Points) -> bool:
    """Whether a number stands in a text as points, as a coefficient or as a share."""
    forms = {points.format(value), points.format(value, sign=True), f"{value:.3f}"}
    return any(form.lstrip("0") in text for form in forms)


def numbers_of(audit: BenchmarkAudit) -> Iterator[tuple[str, float]]:
    """The numbers that several places show, by the name of what they are."""
    budget = audit.error_budget()
    for row in budget.rows:
        if row.half is not None:
            yield f"band {row.source}", row.half
        if row.shift is not None and row.source not in ("items", "seed"):
            yield f"shift {row.source}", row.shift


@pytest.mark.parametrize("kind", KINDS)
def test_report_and_evidence_hold_one_number(
    audits: dict[str, BenchmarkAudit], pages: dict[str, Rendered], kind: str
) -> None:
    audit, points = audits[kind], Points.for_metric(audits[kind])
    texts = {
        name: html.unescape(re.sub(r"<[^>]+>", " ", page))
        for name, page in (("report", pages[kind].report), ("evidence", pages[kind].evidence))
    }
    checked = 0
    for description, value in numbers_of(audit):
        for name, text in texts.items():
            assert shown_in(text, value, points), (description, name, value)
            checked += 1
    assert checked >= 4


@pytest.mark.parametrize("kind", KINDS)
def test_all_outputs_hold_one_reliability(audits: dict[str, BenchmarkAudit], kind: str) -> None:
    """Terminal, report, LaTeX, card, statement and gate, of the first coefficient of all."""
    audit = audits[kind]
    full_audit = Audit((audit,), "hqm audit it")
    rho = next(e for e in audit.all_estimates if e.indicator == "test_retest.rho_g")
    assert rho.value is not None
    decimals = re.search(r"\.\d+", f"{rho.value:.6f}")
    assert decimals is not None
    texts = {
        "report": plain_text(answer_questions(audit)[0].sentences),
        "card": quality_card(full_audit, default_policy()),
        "statement": str(statement(audit)),
        "paper": format_tables(paper_tables((full_audit,)), ".tex"),
        "terminal": " ".join(
            cell.text for row in indicators_brief(audit).rows for cell in row if cell.text
        ),
    }
    for name, text in texts.items():
        numbers = [float(number) for number in re.findall(r"(?<![\d])0?(\.\d+)", text)]
        assert any(abs(number - rho.value) <= 5.1e-4 for number in numbers), (name, rho.value)
    tests = [t for t in check_against(full_audit, default_policy()).tests if "rho_g" in t.what]
    estimates = [e for e in audit.all_estimates if e.indicator == "test_retest.rho_g"]
    ends = [end for e in estimates for span in e.intervals for end in (span.low, span.high)]
    assert all(t.end is None or t.end in ends for t in tests)
    assert len(headline(audit).text.split()) <= 35


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_with_a_signature_is_its_estimates(
    audits: dict[str, BenchmarkAudit], kind: str
) -> None:
    """Whatever terminal, report, evidence, tables for papers and quotes print of an estimate."""
    audit = audits[kind]
    estimates = {anchor(e.signature): e for e in audit.all_estimates}
    checked: dict[str, set[str]] = {}
    for printed_number in printed(Audit((audit,), "hqm audit it")):
        estimate = estimates[printed_number.anchor]
        if PLAIN.fullmatch(printed_number.text):
            values = [] if estimate.value is None else [estimate.value]
            candidates = [*values, *numbers_in(estimate.detail)]
            assert is_rounding(printed_number.text, candidates), (
                printed_number,
                estimate.indicator,
            )
            checked.setdefault(estimate.indicator, set()).add(printed_number.where)
    assert set().union(*checked.values()) >= {"report", "evidence", "terminal", "paper", "quote"}
    assert sum(len(sources) > 1 for sources in checked.values()) >= 5
    ends = {
        end
        for e in audit.all_estimates
        for end in (e.value, *(end for i in e.intervals for end in (i.low, i.high)))
    }
    for test in check_against(Audit((audit,)), default_policy()).tests:
        if test.end is not None and "." in test.what.split()[0]:
            assert test.end in ends, test.what


@pytest.mark.parametrize("kind", KINDS)
def test_the_comparison_holds_the_same_numbers(
    audits: dict[str, BenchmarkAudit], kind: str, tmp_path: Path
) -> None:
    """Each is compared with a benchmark of questions that its respondents answered too."""
    audit, folder = audits[kind], tmp_path / "partner"
    names = [row.name.removeprefix("recorded/") for row in audit.respondents]
    rows = [
        {**row, "respondent": names[int(str(row["respondent"]).removeprefix("model-"))]}
        for row in questions(folder, "yes_no")
        if int(str(row["respondent"]).removeprefix("model-")) < len(names)
    ]
    answers = written(folder / "answers.jsonl", rows)
    pair = (hqm.audit(str(folder), recorded=answers, forms="original"), audit)
    compared = compare_audits(list(pair))
    for audit in pair:
        leading = next(iter(audit.metrics))
        (measure,) = (
            m for m in compared.measures if (m.benchmark, m.metric) == (audit.benchmark, leading)
        )
        assert {row.name: row.scores[leading] for row in audit.respondents} == measure.scores
        shared = {}
        for indicator, by_label in compared.indicators.items():
            estimate = next((e for e in audit.all_estimates if e.indicator == indicator), None)
            if estimate is not None and measure.label in by_label:
                shared[indicator] = (estimate.value, by_label[measure.label].value)
        assert shared["test_retest.rho_g"][0] is not None
        assert [compared_value for _, compared_value in shared.values()] == pytest.approx(
            [value for value, _ in shared.values()]
        )
        assert len(shared) >= 3
