"""Sentences to copy, `hqm report --verify`, the quality card and the badge; and the page that they stand on,
in a real browser.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hqm.reports.pages.benchmark_card import badge, bibtex, quality_card, quotes
from hqm.reports.pages.phrases import plain_text
from hqm.reports.pages.report_page import render
from hqm.reports.pages.sentences import QUESTIONS, STATUS_SYMBOLS, answer_questions
from hqm.reports.tables.table import (
    FLAG_WORDS,
    decimals_of,
    default_policy,
    interval_in_words,
    number,
)

from hqm import FLAGS, Audit, BenchmarkAudit
from hqm.auditing.gate import check_against
from hqm.auditing.policy import Required
from hqm.auditing.score_points import Points
from hqm.signature import short_signature
from tests.browser import Browser
from tests.conftest import Run
from tests.messages import tells, text_of
from tests.test_report import Page
from tests.test_sentences import FLOOR, MDC, PAIRS, RHO, SEARCHED, SEM, SHIFT, audit_of, est, typed

R = est("criterion.pearson", 0.93, (0.9, 0.96), (0.8, 0.98))
ICC = est("parallel_forms.icc_a1", 0.5, (0.4, 0.6), (0.2, 0.7))


def full_audit(**fields: object) -> BenchmarkAudit:
    flags = tuple(
        {
            "flag": flag,
            "metric": "accuracy",
            "about": "",
            "sentence": "something was seen",
            "what_to_do": FLAGS[flag],
            "numbers": {},
            "note": False,
        }
        for flag in FLAGS
    )
    return audit_of(
        RHO,
        FLOOR,
        SEM,
        MDC,
        SHIFT,
        ICC,
        R,
        PAIRS,
        SEARCHED,
        typed(0.06, 0.02),
        flags=flags,
        **fields,
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "audit.json"
    path.write_text(Audit((full_audit(),)).to_json())
    return path


def test_a_sentence_has_its_interval_what_it_generalises_over_and_its_signature() -> None:
    by_title = {quote.title: quote for quote in quotes(full_audit(), "0.1.0")}
    assert set(by_title) == {
        "Repeatability",
        "Another wording: parallel",
        "Shift by the wording: parallel",
        "Agreement with people",
        "Separation",
    }
    for title, estimate in (
        ("Repeatability", RHO),
        ("Agreement with people", R),
        ("Another wording: parallel", ICC),
    ):
        sentence = by_title[title].sentence
        for inference, scope_text in (
            ("fixed_models", text_of("quote.these-respondents")),
            ("model_population", "for other respondents like these"),
        ):
            span = estimate.interval(inference)
            assert span is not None
            assert f"{interval_in_words(span, decimals_of(estimate))} {scope_text}" in sentence
        assert f"signature {short_signature(estimate.signature)})." in sentence
    assert "44 of the 45 pairs" in by_title["Separation"].sentence
    assert tells(by_title["Separation"].sentence, "quote.no-interval")
    assert not any(
        quote.title == "The questions alone" for quote in quotes(full_audit(), "0.1.0")
    ), "what is not measured is not quoted"


def test_every_quoted_signature_is_resolved(written: Path, run: Run) -> None:
    for quote in quotes(full_audit(), "0.1.0"):
        assert re.fullmatch(r"[0-9a-f]{12}", quote.short)
        status, output, _ = run("report", written, "--verify", quote.short)
        assert status == 0
        assert quote.signature in output
        (estimate,) = json.loads(run("report", written, "--verify", quote.short, "--json")[1])[
            "estimates"
        ]
        assert estimate["signature"] == quote.signature
        assert run("report", written.parent, "--verify", quote.signature)[0] == 0
    status, output, _ = run("report", written, "--verify", short_signature(RHO.signature))
    assert f"test_retest.rho_g of accuracy is {number(RHO.value, 4)}" in output
    assert interval_in_words(RHO.interval("fixed_models"), 4) in output


def test_each_report_prints_json_where_that_is_asked(written: Path, run: Run) -> None:
    folder = written.parent
    page, table = folder / "p.html", folder / "t.tex"
    (quoted,) = json.loads(run("report", written, "--quote", "--json")[1])["audits"]
    assert quoted["statement"] == str(full_audit().statement)
    assert {quote["signature"] for quote in quoted["quotes"]} >= {RHO.signature}
    assert json.loads(run("report", written, "--card", "--json")[1])["card"].startswith("#")
    for options, paths in (
        (("--to", page), [page]),
        (("--to", table), [table]),
        (("--badge", "--to", folder / "b.svg"), [folder / "b.svg"]),
        (("--index", folder / "site"), [folder / "site/index.html", folder / "site/index.json"]),
        (("--check", "--to", table), [table]),
    ):
        printed = json.loads(run("report", written, *options, "--json")[1])
        assert set(map(str, paths)) <= set(printed["wrote"]), options


def test_another_audit_does_not_resolve_it(tmp_path: Path, written: Path, run: Run) -> None:
    second_audit = replace(
        full_audit(),
        all_estimates=tuple(
            replace(e, signature=e.signature.replace("@1", "@2"))
            for e in full_audit().all_estimates
        ),
    )
    (tmp_path / "other.json").write_text(Audit((second_audit,)).to_json())
    status, output, _ = run(
        "report", tmp_path / "other.json", "--verify", short_signature(RHO.signature)
    )
    assert (status, tells(output, "quote.unresolved")) == (1, True)
    status, _, error = run("report", written, "--verify", "not-a-signature")
    assert (status, "is no signature" in error) == (2, True)


def test_the_card_fits_a_screen_and_says_what_was_not_measured() -> None:
    audit = Audit((replace(full_audit(), all_estimates=(RHO, PAIRS)),))
    gate = check_against(audit, default_policy())
    text = quality_card(audit, default_policy())
    assert len(text.splitlines()) <= 40
    missing = [test.what for test in gate.tests if test.outcome == "NOT MEASURED"]
    assert missing
    (line,) = [line for line in text.splitlines() if line.startswith("Not measured: ")]
    assert all(topic in line for topic in missing)
    passed = sum(test.outcome == "PASS" for test in gate.tests)
    assert f"not passed ({passed} of {len(gate.tests)} tests passed" in text
    assert all(f"| {question} |" in text for question in QUESTIONS.values())
    header = text.splitlines().index("| Question | What this audit shows |")
    rule = text.splitlines()[header + 1]
    assert re.fullmatch(r"\|(-{3,}\|){2}", rule), "one column for each of the header's"
    assert short_signature(RHO.signature) in text


def test_the_badge_is_one_picture_that_says_what_was_not_measured(
    written: Path, tmp_path: Path, run: Run
) -> None:
    assert run("report", written, "--card", "--to", tmp_path / "card.md")[0] == 0
    assert run("report", written, "--badge", "--to", tmp_path / "badge.svg")[0] == 0
    text = (tmp_path / "badge.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    assert not re.search(r"href|url\(|<image|<script|https?://(?!www\.w3\.org)", text)
    gate = check_against(Audit.load(written), default_policy())
    failed, missing = (
        [t.what for t in gate.tests if t.outcome == outcome] for outcome in ("FAIL", "NOT MEASURED")
    )
    label = root.attrib["aria-label"]
    assert (f"{len(failed)} failed" if failed else "not passed") in label
    harsh = default_policy().model_copy(update={"required": Required(respondents=99)})
    assert f"{len(failed) + 1} failed" in badge(Audit.load(written), harsh)
    assert f"{len(missing)} not measured" in label
    title = next(child.text or "" for child in root if child.tag.endswith("title"))
    assert all(topic in title for topic in missing)
    assert (tmp_path / "card.md").read_text() == quality_card(Audit.load(written), default_policy())
    strict = '<script>"&'
    assert "<script>" not in badge(
        replace(Audit.load(written)), default_policy().model_copy(update={"name": strict})
    )


def test_a_card_is_held_against_the_policy_that_is_named(
    written: Path, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "own.toml").write_text('name = "own"\n[required]\nfacets = ["run"]\n')
    status, output, error = run("report", written, "--card", "--policy", tmp_path / "own.toml")
    assert status == 0, error
    assert "Policy “own”" in output


def test_bibtex_names_the_benchmark_as_its_card_cites_it() -> None:
    audit = replace(
        full_audit(),
        release={
            "citation": "A. Author (2021), Dogs & cats",
            "url": "https://example.org/x",
            "licence": "",
        },
    )
    text = bibtex(audit, "0.1.0")
    assert re.findall(r"^@(\w+)\{", text, re.MULTILINE) == ["misc", "article", "software"]
    assert "note = {A. Author (2021), Dogs \\& cats}" in text
    assert "year = {2021}" in text
    citation = "@inproceedings{dogs2021,\n  title = {Dogs},\n}"
    assert bibtex(replace(audit, release={"citation": citation}), "0.1.0").startswith(citation)
    assert text.count("{") == text.count("}")


# --- the page ---


def group() -> Audit:
    names = ("captions", "multiple choice", "short answers", "yes and no")
    return Audit(
        tuple(
            replace(full_audit(), benchmark=f"made_{i}", title=f"Made: {name}")
            for i, name in enumerate(names)
        )
    )


def test_the_seven_questions_have_their_answers(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(render(Audit((full_audit(),))).report)
    browser.open(tmp_path / "one.html", 1280, 900)
    rows = browser.evaluate(
        "[...document.querySelectorAll('.seven li')].map((li) => [li.children[0].textContent,"
        " li.children[1].textContent, li.children[2].textContent])"
    )
    shown_answers = {question: (mark, words) for question, mark, words in rows}
    expected = {
        answer.question_text: (STATUS_SYMBOLS[answer.code], plain_text(answer.sentences))
        for answer in answer_questions(full_audit())
    }
    assert shown_answers == expected
    assert len(shown_answers) == 7
    assert "Reliability .9970 [" in shown_answers["Do the scores repeat?"][1]
    assert "44 of 45 pairs of models differ" in shown_answers["Which models differ?"][1]
    bottom = "document.querySelector('.verdict').getBoundingClientRect().bottom"
    assert browser.evaluate(bottom) < 165, "the verdict stands on top, in three lines"
    assert browser.errors == []


def test_a_group_opens_with_a_row_for_each_benchmark(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "group.html").write_text(render(group()).report)
    browser.open(tmp_path / "group.html", 1280, 900)
    assert browser.evaluate("document.querySelectorAll('.overview .row').length") == 4
    assert (
        browser.evaluate("[...document.querySelectorAll('details.benchmark')].map((d) => d.open)")
        == [False] * 4
    )
    browser.evaluate("document.querySelectorAll('.overview h2 a')[2].click()")
    browser.wait("document.querySelectorAll('details.benchmark')[2].open")
    assert browser.errors == []


@pytest.mark.parametrize("dark", [False, True])
def test_tables_become_cards_on_a_narrow_screen(
    browser: Browser, tmp_path: Path, dark: bool
) -> None:
    for name, audit in (("one", Audit((full_audit(),))), ("group", group())):
        (tmp_path / f"{name}.html").write_text(render(audit).evidence)
        browser.open(tmp_path / f"{name}.html", 400, 900, dark=dark)
        browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 400
        wide = (
            "[...document.querySelectorAll('.scroll')].filter((s) => s.scrollWidth > s.clientWidth"
            " + 1).map((s) => s.getAttribute('aria-label'))"
        )
        assert browser.evaluate(wide) == []
        script = (
            "(() => { const td = document.querySelector('td[data-label]'); return"
            " getComputedStyle(td, '::before').content.includes(td.dataset.label); })()"
        )
        assert browser.evaluate(script)
    assert browser.errors == []


def test_flags_are_words_with_the_constant_behind() -> None:
    assert set(FLAG_WORDS) == set(FLAGS)
    parsed = Page(render(Audit((full_audit(),))).evidence)
    text = " ".join(parsed.text)
    visible_text = (
        text[: text.index("“use strict”")]
        if "“use strict”" in text
        else text.partition('"use strict"')[0]
    )
    assert not [
        flag
        for flag in FLAGS
        if re.search(rf"\b{flag}\b", visible_text.partition("@layer")[0]) and "_" in flag
    ]
    titles = {attributes.get("title") or "" for _, attributes in parsed.tags}
    assert all(any(flag in title for title in titles) for flag in FLAGS)
    assert all(words[:1].upper() + words[1:] in text for words in FLAG_WORDS.values())


def test_the_gate_stands_in_the_report(written: Path) -> None:
    text = " ".join(" ".join(Page(render(Audit.load(written)).evidence).text).split())
    gate = check_against(Audit.load(written), default_policy())
    for test in gate.tests:
        assert " ".join(test.sentence.split())[1:60] in text, test.sentence
    assert "Policy “default”: not passed" in text


def test_a_score_on_another_scale_is_in_its_own_points() -> None:
    rows = tuple(
        replace(row, scores={"accuracy": 2.5}, cells={c: {"accuracy": 2.5} for c in row.cells})
        for row in full_audit().respondents
    )
    on_ten = replace(full_audit(), respondents=rows, scales={"accuracy": (0.0, 10.0)})
    points = Points.for_metric(on_ten)
    assert (points.format(-0.093), Points.for_metric(full_audit()).format(-0.093)) == (
        "−0.09",
        "−9.3",
    )


def test_what_is_quoted_is_verified(written: Path, run: Run) -> None:
    """The statement for a caption and each sentence carry a signature that the audit resolves."""
    status, output, _ = run("report", written.parent, "--quote")
    assert status == 0
    statement, *sentences = output.splitlines()
    assert len(sentences) == len(quotes(full_audit(), "0.1.0"))
    signatures = [re.findall(r"\b[0-9a-f]{12}\b", line)[-1] for line in (statement, *sentences)]
    for signature in dict.fromkeys(signatures):
        assert run("report", written, "--verify", signature)[0] == 0


def test_a_statement_is_held_against_the_audit(written: Path, run: Run, tmp_path: Path) -> None:
    statement = full_audit().statement
    for name in ("line.tex", "line.md", "line.txt"):
        assert run("report", written, "--quote", "--to", tmp_path / name)[0] == 0
        status, output, _ = run("report", written, "--verify", (tmp_path / name).read_text())
        assert (status, tells(output, "quote.verified", benchmark=full_audit().title)) == (
            0,
            True,
        ), name
    forged = str(statement).replace(".9970", ".9980")
    status, output, _ = run("report", written, "--verify", forged)
    assert (status, tells(output, "quote.other-statement", benchmark=full_audit().title)) == (
        1,
        True,
    )
    assert tells(output, "quote.difference", ours=re.compile(".*9980.*"), theirs=statement.repeat)
    verification = json.loads(run("report", written, "--verify", forged, "--json")[1])
    assert [line.partition(":")[0] for line in verification["differences"]] == ["repeat"]
    status, _, err = run("report", written, "--verify", "as reliable as any")
    assert (status, tells(err, "quote.no-statement")) == (2, True)
    assert statement.markdown in quality_card(Audit((full_audit(),)), default_policy())


def test_one_thing_is_written_at_a_time(written: Path, run: Run, tmp_path: Path) -> None:
    status, _, err = run("report", written, "--card", "--badge")
    assert status == 2
    assert "--card" in err
    assert "--badge" in err
