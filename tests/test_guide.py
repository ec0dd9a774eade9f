"""The documentation from its first line: the way in one click, an example on every page, terms, and
pages that begin in plain words.
"""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
from hqm.reports.pages.phrases import TERMS

from hqm.indicators import statistics
from hqm.indicators.indicator import INDICATORS
from tests.conftest import NO_TORCH, ROOT
from tests.test_audits import PAGES as AUDITS
from tests.test_site import DOCS, TRIED, WRITTEN, blocks, page_of

CODE = (
    f"import json, sys\nsys.path.insert(0, {str(DOCS)!r})\nfrom make import glossary, hook, pages,"
    " questions, reading\nmade = dict(pages.made())\nprint(json.dumps({'made': made, 'questions':"
    " dict(questions.grouped()), 'reading': dict(reading.READING),\n    'field':"
    " dict(glossary.FIELD), 'menu': hook.menu([*made, 'index.md', 'audits/index.md',"
    " 'audits/a.md'])}))\n"
)


@pytest.fixture(scope="module")
def guide() -> dict[str, dict[str, object]]:
    """What the generator of the site makes."""
    process = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    return dict(json.loads(process.stdout))


@pytest.fixture(scope="module")
def generated_pages(guide: dict[str, dict[str, object]]) -> dict[str, str]:
    return {page: str(text) for page, text in guide["made"].items()}


# --- the first page ---


def test_each_of_three_readers_finds_the_way_in_one_click() -> None:
    table = WRITTEN["index.md"].partition("## Who are you?")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| **")]
    for task, page in (
        ("write a benchmark", "tutorial_release.md"),
        ("run models", "tutorial_logs.md"),
        ("write a paper", "which_coefficient.md"),
    ):
        (row,) = [row for row in rows if task in row]
        assert f"]({page})" in row.split("|")[2], f"{task}: the first step is {page}"
    before = WRITTEN["index.md"].partition("## Who are you?")[0]
    assert len(before.splitlines()) <= 15, "who reads the first screen sees the table"
    for page in ("audits/index.md", "glossary.md", "indicators/index.md", "reference.md"):
        assert f"]({page})" in WRITTEN["index.md"]


def test_the_paper_is_cited_with_both_titles() -> None:
    for name in (
        "docs/index.md",
        "README.md",
        "CITATION.cff",
        "docs/theory/1_what_a_benchmark_measures.md",
    ):
        text = " ".join((ROOT / name).read_text("utf-8").split())
        for title_part in (
            "Measuring the Measurers: Quality Evaluation of Hallucination Benchmarks",
            "Evaluating the Quality of Hallucination Benchmarks",
            "version 3",
        ):
            assert title_part.casefold() in text.casefold(), f"{name}: {title_part}"


# --- an example that runs ---


def test_every_written_page_has_an_example_that_a_test_runs() -> None:
    """Python in the pages runs in test_site, the commands of these pages in test_site, test_audits,
    test_release, test_tutorial_people, test_design, test_shorten, test_any_log, test_index, test_ledger
    and below.
    """
    run = {
        *TRIED,
        *(f"audits/{name}" for name in AUDITS),
        "audits/index.md",
        "tutorial_release.md",
        "tutorial_people.md",
        "design.md",
        "shortening.md",
        "ranking.md",
        "ledger.md",
        "scale.md",
        "your_tool.md",
    }
    unillustrated = [
        page
        for page, text in WRITTEN.items()
        if ">>> " not in text and page not in run and not page.startswith("decisions/")
    ]
    assert not unillustrated


@pytest.mark.parametrize("page", ["audits/index.md", "scale.md"])
def test_the_commands_that_need_nothing_run(page: str, forked_program: Path) -> None:
    commands = [
        line
        for language, text in blocks(WRITTEN[page])
        if language == "sh"
        for line in text.splitlines()
        if re.match(
            r"hqm (check|audit) shapes_yesno( --dry-run -r hf/shapes:steady)?( --limit 100)?$", line
        )
    ]
    assert commands
    for line in commands:
        if "hf/" in line:
            pytest.importorskip("torch", reason=NO_TORCH)
        process = subprocess.run(
            [str(forked_program), *line.split()[1:]],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        assert process.returncode == 0, process.stderr
        assert "shapes_yesno" in process.stdout


def test_every_made_page_has_an_example_that_runs(generated_pages: dict[str, str]) -> None:
    """Examples of indicators come from docstrings and the page of worked examples, which run
    elsewhere.
    """
    for page, text in generated_pages.items():
        assert ">>> " in text, page
        if page.startswith("indicators/") and page != "indicators/index.md":
            continue
        code = "\n".join(block for language, block in blocks(text) if language == "python")
        example = doctest.DocTestParser().get_doctest(
            code, vars(types.ModuleType("page")), page, page, 0
        )
        report: list[str] = []
        result = doctest.DocTestRunner().run(example, out=report.append)
        assert result.attempted, page
        assert not result.failed, "".join(report)


# --- terms ---


def test_the_glossary_has_the_words_of_the_reports(
    generated_pages: dict[str, str], guide: dict[str, dict[str, str]]
) -> None:
    page = generated_pages["glossary.md"]
    for term, (_, sentence) in TERMS.items():
        assert f"**{term}**\n:   {sentence[0].upper()}{sentence[1:]}." in page, term
    assert not set(guide["field"]) & set(TERMS), "a term has one explanation"
    terms = re.findall(r"^\*\*(.+)\*\*$", page, re.MULTILINE)
    assert terms == sorted(terms, key=str.casefold)
    assert {"respondent", "administration", "facet", "item", "form", "criterion", "verdict"} <= set(
        terms
    )


# --- indicators ---


def test_every_indicator_answers_one_question(guide: dict[str, dict[str, list[str]]]) -> None:
    names = [name for names in guide["questions"].values() for name in names]
    assert sorted(names) == sorted(INDICATORS)
    assert all(title.endswith("?") for title in guide["questions"])


def test_the_menu_groups_the_indicators_by_question(guide: dict[str, dict[str, list[str]]]) -> None:
    entries = {title: pages for entry in guide["menu"] for title, pages in dict(entry).items()}  # type: ignore[call-overload]
    assert entries["Audits"] == ["audits/index.md", "audits/a.md"]
    first, *groups = entries["Indicators"]
    assert first == "indicators/index.md"
    assert {title: pages for group in groups for title, pages in group.items()} == {
        title: [page_of(name) for name in names] for title, names in guide["questions"].items()
    }


def test_a_page_opens_in_plain_words_and_ends_with_the_function(
    generated_pages: dict[str, str], guide: dict[str, dict[str, list[str]]]
) -> None:
    assert set(guide["reading"]) == set(INDICATORS)
    for name, indicator in statistics().items():
        page = generated_pages[page_of(name)]
        opening = page.split("\n\n")[1]
        assert opening.startswith(indicator.meaning)
        assert len(opening.split()) > 8, name
        assert ">>>" not in opening
        assert "(\n" not in opening
        order = [
            page.index(heading)
            for heading in (
                "**A value.**",
                "**For which decision.**",
                "**When it misleads.**",
                "**In a paper.**",
                "- Estimates:",
                "## `hqm.psychometrics.",
            )
        ]
        assert order == sorted(order), name
        assert ('<figure class="hqm-value">' in page) == ("None in an audit" not in page), (
            f"{name}: a value has its picture"
        )
        last = blocks(page)[-1]
        assert last[0] == "text", name
        assert re.match(r"\w+\(\n", last[1]), f"{name} ends with a signature"
        assert page.rstrip().endswith("```")
        misleads, paper = guide["reading"][name]
        assert "[" in paper or "k" in paper, f"{name}: a place for the number"
        assert paper.endswith(".")
        assert misleads.endswith(".")


# --- which coefficient ---


def test_the_decision_table_names_indicators_that_exist() -> None:
    text = WRITTEN["which_coefficient.md"]
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith('| "')]
    assert len(rows) >= 10
    for sentence, report, alternatives, remark in rows:
        names = re.findall(r"\[`(\w+)`\]\(indicators/(\w+)\.md\)", report + alternatives)
        assert names, sentence
        for name, page in names:
            assert page_of(name) == f"indicators/{page}.md"
            assert name in INDICATORS
        assert re.search(r"\[`", report), sentence
        assert remark.strip()
