"""One question, one number: a quantity that is printed in two places is equal in both.

Terminal, report, gate, quality card and tables for papers are made of one audit. Every number that
carries the signature of an estimate must be a rounding of what that estimate holds, wherever it
stands; what a gate asks for must be what the report says is missing.
"""

import html
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest
from hqm.reports.latex.paper import paper_tables
from hqm.reports.pages.benchmark_card import quality_card, quotes
from hqm.reports.pages.report_page import render
from hqm.reports.tables import table as tables

import hqm
from hqm import Audit, BenchmarkAudit, Estimate, Store
from hqm.auditing.gate import check_against
from tests.conftest import administered, recorded, write_benchmark

OBJECTS = "dog cat car bus hat cup tree bird lamp boat fork shoe".split()


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Twelve respondents, two runs, two wordings, two types, and labels of nobody."""
    folder, rng = tmp_path_factory.mktemp("one"), np.random.default_rng(5)
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {OBJECTS[i % 12]} in the image?",
            "target": ("yes", "no")[int(rng.integers(2))],
            "image": f"{i // 2}.png",
            "type": ("existence", "attribute")[i % 2],
        }
        for i in range(80)
    ]
    folder_of = write_benchmark(
        folder / "quiz", rows, name="quiz", types=["existence", "attribute"], labelled=True
    )
    quiz, store = hqm.load(str(folder_of)), Store(folder / "store.sqlite")
    forms = {"original": quiz.original, "parallel": quiz.parallel(quiz.original)}
    turned = {"yes": "no", "no": "yes"}
    hard = rng.normal(0, 1, 80)
    respondents = []
    for k in range(12):
        sheets = {}
        for form, run in (("original", 0), ("original", 1), ("parallel", 0)):
            chances = 1 / (1 + np.exp(hard - 0.3 * k))
            sheets[form, run] = {
                item.id: str(item.target) if rng.random() < chance else turned[str(item.target)]
                for item, chance in zip(forms[form].items, chances, strict=False)
            }
        respondents.append(recorded(f"{chr(97 + k)}-model", sheets))
    stored = administered(store, quiz, respondents)
    return Audit((hqm.audit(hqm.gather(quiz, store, stored)),), "hqm audit quiz")


class Printed(NamedTuple):
    """A text that a reader sees beside the signature of an estimate."""

    where: str
    anchor: str
    text: str


def printed(audit: Audit) -> Iterator[Printed]:
    pages = render(audit)
    signed = r'<a class="sig" href="#(s-\w+)" title="[^"]*">([^<]*)<'
    for anchor, text in re.findall(signed, pages.evidence):
        yield Printed("evidence", anchor, html.unescape(text))
    signed = r'<a class="number" href="evidence.html#(s-\w+)" title="[^"]*">([^<]*)<'
    for anchor, text in re.findall(signed, pages.report):
        # a coefficient stands before its interval, without the zero before its point
        first = html.unescape(text).split()[0]
        yield Printed("report", anchor, f"0{first}" if first.startswith(".") else first)
    for row in tables.indicators_brief(audit.audits[0]).rows:
        yield from (Printed("terminal", cell.link, cell.text) for cell in row if cell.link)
    for table in paper_tables((audit,), include_all=True):
        for entries in table.rows:
            for column, entry in zip(table.columns, entries, strict=True):
                if entry.tooltip:
                    text = entry.text + "%" * ("points" in column.title)
                    yield Printed("paper", tables.anchor(entry.tooltip), text)
    for quote in quotes(audit.audits[0], audit.hqm_version):
        number_pattern = r"(?:is|by|correlates) ([−\d.]+)( percentage points)?"
        for text, points in re.findall(number_pattern, quote.sentence):
            yield Printed("quote", tables.anchor(quote.signature), text + "%" * bool(points))


def numbers_in(value: Any) -> Iterator[float]:
    """Every number of nested data."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from numbers_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from numbers_in(inner)
    elif isinstance(value, (int, float)) and math.isfinite(value):
        yield float(value)


def is_rounding(text: str, values: list[float]) -> bool:
    """Whether a printed number is one of the values, rounded to the digits that are shown."""
    digits_text, percent = text.replace("−", "-").replace(",", ""), text.endswith("%")
    number = float(digits_text.rstrip("%"))
    digits = len(digits_text.rstrip("%").partition(".")[2])
    half = 0.5 * 10.0**-digits * (1 + 1e-9)
    return any(abs(v * (100 if percent else 1) - number) <= half for v in values)


PLAIN = re.compile(r"−?[\d,]+(\.\d+)?%?")


def test_every_number_with_a_signature_is_what_its_estimate_holds(audit: Audit) -> None:
    estimates = {tables.anchor(e.signature): e for e in audit.audits[0].all_estimates}
    checked: dict[str, set[str]] = {}
    for location in printed(audit):
        estimate = estimates[location.anchor]
        if PLAIN.fullmatch(location.text):
            values = [estimate.value] if estimate.value is not None else []
            assert is_rounding(location.text, [*values, *numbers_in(estimate.detail)]), (
                location,
                estimate.indicator,
                estimate.value,
            )
            checked.setdefault(estimate.indicator, set()).add(location.where)
    assert checked["test_retest.rho_g"] == {"report", "evidence", "terminal", "paper", "quote"}
    assert checked["test_retest.pearson"] >= {"evidence", "terminal", "paper"}
    assert sum(len(locations) > 1 for locations in checked.values()) > 15


def test_terminal_paper_and_quote_round_the_value_itself(audit: Audit) -> None:
    estimates = {tables.anchor(e.signature): e for e in audit.audits[0].all_estimates}
    for location in printed(audit):
        value = estimates[location.anchor].value
        if (
            location.where not in ("report", "evidence")
            and value is not None
            and PLAIN.fullmatch(location.text)
        ):
            assert is_rounding(location.text, [value]), location


def test_the_gate_holds_the_ends_that_the_report_shows(audit: Audit) -> None:
    benchmark = audit.audits[0]
    gate = check_against(audit, tables.default_policy())
    gate_tests = [
        test for test in gate.tests if test.end is not None and "." in test.what.split()[0]
    ]
    assert gate_tests
    for test in gate_tests:
        name, metric = re.fullmatch(r"([\w.]+) \((\w+)\)", test.what).groups()  # type: ignore[union-attr]
        ends = [
            end
            for e in benchmark.all_estimates
            if (e.indicator, e.metric) == (name, metric)
            for end in (*((i.low, i.high) for i in e.intervals), (e.value, e.value))
        ]
        assert any(test.end in pair for pair in ends), test
    card = quality_card(audit, tables.default_policy())
    page = html.unescape(re.sub(r"<[^>]+>", "", render(audit).evidence))
    for test in gate.tests:
        for number in re.findall(r"(?:lower|upper) end (−?-?\d\.\d+)", test.sentence):
            assert number in page, test.sentence
    passed = sum(test.outcome == "PASS" for test in gate.tests)
    assert f"{passed} of {len(gate.tests)}" in card


def needed_by_gate(benchmark: BenchmarkAudit, audit: Audit) -> dict[str, int]:
    """Type -> the items that the gate asks for."""
    tests = check_against(audit, tables.default_policy()).tests
    (coverage,) = [test for test in tests if test.what == "coverage"]
    counts = re.findall(r"(\w+) to ([\d,]+)", coverage.remedy)
    return {kind: int(count.replace(",", "")) for kind, count in counts}


def test_the_items_that_a_type_lacks_are_one_number(audit: Audit) -> None:
    """The gate says how many a type should have, the report how many more it needs."""
    benchmark = audit.audits[0]
    needed_items = needed_by_gate(benchmark, audit)
    assert set(needed_items) == {"existence", "attribute"}
    pages = render(audit)
    evidence, report = (
        " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
        for page in (pages.evidence, pages.report)
    )
    for kind, total in needed_items.items():
        n_items = benchmark.coverage[kind]["items"]
        policy = re.findall(rf"{kind}: {n_items} items, [^;]*?([\d,]+) more needed", evidence)
        grid = re.findall(rf"{kind} {n_items}(?: items)? ◐ \+([\d,]+)", report)
        assert policy, kind
        assert grid, kind
        assert {int(n.replace(",", "")) for n in [*policy, *grid]} == {total - n_items}


def test_a_report_of_the_file_is_the_report_of_the_audit(audit: Audit, tmp_path: Any) -> None:
    (tmp_path / "audit.json").write_text(audit.to_json(), encoding="utf-8")
    reloaded = Audit.load(tmp_path / "audit.json")
    assert render(reloaded) == render(audit)
    assert quality_card(reloaded, tables.default_policy()) == quality_card(
        audit, tables.default_policy()
    )


def test_a_second_number_for_one_estimate_is_seen() -> None:
    estimate = Estimate("a.b", "m", "", "", "", 0.8764, detail={"before": 0.5})
    values = [0.8764, *numbers_in(estimate.detail)]
    assert is_rounding("0.876", values)
    assert is_rounding("88%", values)
    assert not is_rounding("0.926", values)
    assert not is_rounding("0.877", values)
