"""On a deliberately bad benchmark and a good one, in new drawings: what to fix first, and the items
to read, in a real browser.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hqm.reports.phrases import in_words
from hqm.reports.tables import percent
from hqm.reports.verdicts import MOST, all_advice, to_fix
from typer.testing import CliRunner

import hqm
from hqm import BenchmarkAudit
from hqm.cli import program
from tests.browser import Browser
from tests.conftest import Run
from tests.drawn_benchmarks import Drawn, bad, good
from tests.messages import pattern_of
from tests.test_sentences import audit_of, est

DRAWINGS: Mapping[str, tuple[Callable[..., Drawn], int, str, int]] = {
    "bad yes/no, 12": (bad, 211, "yes_no", 12),
    "bad choice, 6": (bad, 212, "choice", 6),
    "good yes/no, 6": (good, 213, "yes_no", 6),
    "good choice, 12": (good, 214, "choice", 12),
}
BAD = [name for name in DRAWINGS if name.startswith("bad")]


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Drawn, Path]]:
    """Every drawing with the folder of its audit, made by the command."""
    made = {}
    for name, (draw, seed, task, n) in DRAWINGS.items():
        home = tmp_path_factory.mktemp("drawn")
        drawn = draw(home / "benchmark", seed, task=task, respondents=n)
        command = ["audit", str(drawn.folder), "--recorded", str(drawn.answers)]
        done = CliRunner().invoke(program(), [*command, "--out", str(home / "out"), "--quiet"])
        assert done.exit_code == 0, done.output
        made[name] = (drawn, home / "out")
    return made


def audit_in(folder: Path) -> BenchmarkAudit:
    return hqm.Audit.load(folder / "audit.json").audits[0]


def of_kind(audit: BenchmarkAudit, kind: str) -> str:
    (sentence,) = [in_words([each.sentence]) for each in all_advice(audit) if each.kind == kind]
    return sentence


@pytest.mark.parametrize("name", BAD)
def test_the_first_five_name_what_was_planted(
    audits: dict[str, tuple[Drawn, Path]], name: str
) -> None:
    drawn, folder = audits[name]
    audit = audit_in(folder)
    first = [in_words([sentence]) for sentence in to_fix(audit)]
    assert len(first) == MOST == 5
    solvable, position = "existence", "relation"
    assert any(
        twin in sentence and "different right answers" in sentence
        for _, twin in drawn.twins
        for sentence in first
    )
    for words in (
        ("keys", "wrong"),
        ("words alone", solvable),
        (position, "Shuffle"),
        (f"{len(drawn.missing)} pictures are missing", f"{len(drawn.broken)} pictures are broken"),
    ):
        assert any(all(word in sentence for word in words) for sentence in first), (words, first)
    assert "ocr" in of_kind(audit, "empty types")


@pytest.mark.parametrize("name", [name for name in DRAWINGS if name not in BAD])
def test_nothing_is_invented_about_a_good_benchmark(
    audits: dict[str, tuple[Drawn, Path]], name: str
) -> None:
    of_benchmark = [
        each for each in all_advice(audit_in(audits[name][1])) if each.grade == "benchmark"
    ]
    assert [in_words([each.sentence]) for each in of_benchmark] == []


@pytest.mark.parametrize("name", DRAWINGS)
def test_defects_come_before_limits_before_advice_on_models(
    audits: dict[str, tuple[Drawn, Path]], name: str
) -> None:
    grades = [each.grade for each in all_advice(audit_in(audits[name][1]))]
    assert grades == sorted(grades, key=["benchmark", "study", "models"].index)


@pytest.mark.parametrize("name", BAD)
def test_every_number_of_an_advice_is_that_of_its_estimate(
    audits: dict[str, tuple[Drawn, Path]], name: str
) -> None:
    drawn, folder = audits[name]
    audit = audit_in(folder)
    findings = {finding["name"]: finding for finding in audit.findings}
    tested, listed = audit.estimate("items.label_errors"), audit.estimate("items.reading_list")
    keys = of_kind(audit, "keys")
    # all wrong keys are in one type, so that the number is gone when that is left out: not said
    assert listed.value is None
    assert "rests on one type" in listed.reason
    assert f"how many is not said: {listed.reason}." in keys
    assert name != "bad yes/no, 12" or "are of the type attribute" in keys
    assert not tested.value
    said = replace(listed, value=29.4, status="ok", reason="")
    said = replace(said, detail={**listed.detail, "faults": 29.4})
    other = tuple(said if e is listed else e for e in audit.estimates)
    assert "about 29 " in of_kind(replace(audit, estimates=other), "keys")
    places = re.match(r"In (\d+) place", of_kind(audit, "contradictions"))
    assert places is not None
    assert int(places[1]) == len(findings["contradictory-label"]["rows"]) == len(drawn.twins)
    blind = audit.estimate("solvability.blind_accuracy")
    (row,) = [row for row in blind.detail["strata"] if row["leak"]]
    assert (
        f"{row['name']} ({percent(row['accuracy'])}, {percent(row['baseline'])} by its"
        in of_kind(audit, "words")
    )
    numbers = re.findall(r"(\d+) pictures are", of_kind(audit, "pictures"))
    assert list(map(int, numbers)) == [
        findings["image-missing"]["count"],
        findings["image-broken"]["count"],
    ]
    index = audit.estimate("types.index")
    for row in index.detail["types"]:
        said = re.search(rf"{row['type']} \(about ([\d,]+) more", of_kind(audit, "types"))
        assert said is None or int(said[1].replace(",", "")) == row["missing_items"]


@pytest.mark.parametrize("name", BAD)
def test_another_number_in_the_audit_is_another_number_in_the_advice(
    audits: dict[str, tuple[Drawn, Path]], name: str
) -> None:
    """The sentences read the estimates: they hold no number of their own."""
    audit = audit_in(audits[name][1])
    listed = audit.estimate("items.reading_list")
    other = replace(listed, value=321.0, status="ok", detail={**listed.detail, "faults": 321.0})
    changed = replace(audit, estimates=tuple(other if e is listed else e for e in audit.estimates))
    assert "321" in of_kind(changed, "keys")
    pictures = [{**f, "count": 99} if f["name"] == "image-broken" else f for f in audit.findings]
    assert "99 pictures are broken" in of_kind(replace(audit, findings=tuple(pictures)), "pictures")


@pytest.mark.parametrize("name", BAD)
def test_the_lists_are_complete(audits: dict[str, tuple[Drawn, Path]], name: str) -> None:
    drawn, folder = audits[name]
    findings = {finding["name"]: finding for finding in audit_in(folder).findings}
    twins = {tuple(row["items"]) for row in findings["contradictory-label"]["rows"]}
    assert twins == set(drawn.twins)
    assert {row["images"][0] for row in findings["image-missing"]["rows"]} == set(drawn.missing)
    assert {row["images"][0] for row in findings["image-broken"]["rows"]} == set(drawn.broken)
    listed = [
        row["item"]
        for row in audit_in(folder).estimate("items.reading_list").detail["reading_list"]
    ]
    planted = {*drawn.wrong_keys, *(twin for _, twin in drawn.twins)}
    assert sum(item in planted for item in listed[:10]) >= 7, "seven of the first ten are faults"


def test_keys_that_are_wrong_beyond_doubt_are_named_however_few() -> None:
    sure = [{"item": "q1", "expected": 0.999}, {"item": "q2", "expected": 0.998}]
    likely = [{"item": "q1", "expected": 0.96}, {"item": "q2", "expected": 0.95}]
    ranked = est("items.reading_list", 2.1, detail={"reading_list": [], "faults": 2.1})
    for rows, kinds in ((sure, ["keys"]), (likely, [])):
        audit = audit_of(est("items.label_errors", 2.0, detail={"candidates": rows}), ranked)
        assert [each.kind for each in all_advice(audit) if each.grade == "benchmark"] == kinds


# --- read these items ---


def choose(browser: Browser, item: str, field: str, value: str) -> None:
    """Choose in a list of an item, as a person does."""
    browser.evaluate(
        f"""(() => {{ const field = document.querySelector('li[data-item="{item}"] select[name="{field}"]');
        field.value = {value!r}; field.dispatchEvent(new Event("change", {{ bubbles: true }})); return field.value; }})()"""
    )


def downloaded(browser: Browser, button: str, folder: Path, name: str) -> Path:
    browser.downloads_to(folder)
    browser.evaluate(f"document.querySelector({button!r}).click()")
    end = time.monotonic() + 30
    while not (folder / name).is_file() or not (folder / name).stat().st_size:
        assert time.monotonic() < end, list(folder.iterdir())
        time.sleep(0.05)
    return folder / name


@pytest.mark.parametrize("name", BAD)
def test_marks_leave_the_page_as_a_key(
    audits: dict[str, tuple[Drawn, Path]], name: str, browser: Browser, tmp_path: Path
) -> None:
    drawn, folder = audits[name]
    benchmark = hqm.load(str(drawn.folder))
    audit = audit_in(folder)
    items = [row["item"] for row in audit.to_read]
    assert items[:2] in [list(pair) for pair in drawn.twins], "contradictory keys stand first"
    assert all(
        row["thumbnail"]
        for row in audit.to_read
        if row["image"] not in (*drawn.missing, *drawn.broken)
    )
    browser.open(folder / "report.html")
    kept, turned, unclear, unseen = items[:4]
    right = (
        ""
        if benchmark.card.task == "yes_no"
        else next(x for x in "ABCD" if x != benchmark.original.by_id[turned].target)
    )
    for item, mark in (
        (kept, "keep"),
        (turned, "wrong key"),
        (unclear, "ambiguous"),
        (unseen, "bad picture"),
    ):
        choose(browser, item, "mark", mark)
    if right:
        assert "choose the right answer" in browser.evaluate(
            "document.querySelector('.save output').value"
        )
        choose(browser, turned, "right", right)
    assert (
        browser.evaluate("document.querySelector('.save output').value")
        == f"4 of {len(items)} marked"
    )
    file = downloaded(browser, "button[data-review]", tmp_path, f"{benchmark.name}-reviewed.csv")
    key = hqm.read_key(file, benchmark)
    was = {item: benchmark.original.by_id[item].target for item in items}
    assert key.targets == {
        kept: was[kept],
        turned: right or {"yes": "no", "no": "yes"}[was[turned]],
    }
    assert (key.changed, set(key.left_out)) == ((turned,), {unclear, unseen})
    # a mark is still there when the page is opened again
    browser.open(folder / "report.html")
    assert (
        browser.evaluate(
            f"document.querySelector('li[data-item=\"{turned}\"] select[name=mark]').value"
        )
        == "wrong key"
    )
    browser.evaluate(
        "(() => { const f = document.querySelector('form[data-list$=review]');"
        " f.elements.marked.value = 'wrong-key'; f.dispatchEvent(new Event('input')); })()"
    )
    assert (
        browser.evaluate("document.querySelector('form[data-list$=review] output').value")
        == f"1 of {len(items)} shown"
    )
    assert browser.errors == []


def test_reviewed_keys_change_the_scores(
    audits: dict[str, tuple[Drawn, Path]], run: Run, tmp_path: Path
) -> None:
    """All planted keys marked as wrong: the audit by both keys says that the scores rise."""
    drawn, folder = audits["bad yes/no, 12"]
    wrong = [*drawn.wrong_keys, *(twin for _, twin in drawn.twins)]
    lines = ["item,target,mark", *(f"{item},,wrong key" for item in wrong)]
    (tmp_path / "reviewed.csv").write_text("\n".join(lines) + "\n")
    key = hqm.read_key(tmp_path / "reviewed.csv", hqm.load(str(drawn.folder)))
    assert key.targets == {item: drawn.truth[item] for item in wrong}
    before = max(row.scores["accuracy"] or 0 for row in audit_in(folder).respondents)
    answers = tmp_path / "strong.jsonl"
    best = max(
        audit_in(folder).respondents, key=lambda row: row.scores["accuracy"] or 0
    ).name.removeprefix("recorded/")
    rows = [
        line
        for line in drawn.answers.read_text().splitlines()
        if f'"{best}"' in line and '"run": 0' in line
    ]
    answers.write_text("\n".join(rows) + "\n")
    status, out, error = run(
        "score", drawn.folder, "--answers", answers, "--key", tmp_path / "reviewed.csv", "--json"
    )
    assert status == 0, error
    scored = json.dumps(json.loads(out))
    assert f"{before:.6f}"[:6] in scored, "the release's key stands beside"
    numbers = [float(x) for x in re.findall(r"0\.\d{4,}", scored)]
    assert max(numbers) > before + 0.03


def test_what_a_mark_lacks_is_said(audits: dict[str, tuple[Drawn, Path]], tmp_path: Path) -> None:
    benchmark = hqm.load(str(audits["bad choice, 6"][0].folder))
    for line, says in (
        ("i0001,,wrong key", "no other one is given"),
        ("i0001,,perhaps", pattern_of("key.mark-unknown", item="i0001", mark="perhaps")),
    ):
        (tmp_path / "key.csv").write_text(f"item,target,mark\n{line}\n")
        with pytest.raises(hqm.DataError, match=says):
            hqm.read_key(tmp_path / "key.csv", benchmark)


def test_every_list_leaves_the_page_and_the_command_whole(
    audits: dict[str, tuple[Drawn, Path]], browser: Browser, run: Run, tmp_path: Path
) -> None:
    drawn, folder = audits["bad yes/no, 12"]
    audit = audit_in(folder)
    browser.open(folder / "report.html")
    lists = browser.evaluate(
        "[...document.querySelectorAll('button[data-csv]')].map((b) => b.dataset.csv)"
    )
    titles = browser.evaluate(
        "[...document.querySelectorAll('.lists summary')].map((s) => s.textContent)"
    )
    (place,) = [i for i, title in enumerate(titles) if "D103" in title]
    file = downloaded(
        browser, f"button[data-csv='{lists[place]}']", tmp_path, f"{lists[place]}.csv"
    )
    text = file.read_text()
    assert all(f"{first}, {twin}" in text for first, twin in drawn.twins)
    listed = (folder / "findings.csv").read_text()
    for finding in audit.findings:
        assert listed.count(f",{finding['code']},{finding['name']},") >= max(
            1, len(finding["rows"])
        )
    for first, twin in drawn.twins:
        assert f"{first}|{twin},yes|no" in listed or f"{first}|{twin},no|yes" in listed
    status, _, error = run(
        "check", drawn.folder, "--select", "D,I", "--lists", tmp_path / "lists.csv"
    )
    assert status in (0, 1), error
    assert all(
        f"{first}|{twin}" in (tmp_path / "lists.csv").read_text() for first, twin in drawn.twins
    )


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1280, True), (1600, False)])
def test_nothing_runs_off_the_page(
    audits: dict[str, tuple[Drawn, Path]], browser: Browser, width: int, dark: bool
) -> None:
    for name in BAD:
        browser.open(audits[name][1] / "report.html", width, dark=dark)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.errors == []


# --- seven questions ---

QUESTIONS = {
    "Do the scores repeat?": "Another seed",
    "Does the wording change them?": "",
    "Do they agree with people?": "People",
    "Which respondents did it separate?": "tied sets",
    "Are items faulty?": "Read these items",
    "How many more items?": "D-study",
    "Can I quote it?": "Policy",
}
"""Question on the first screen -> words that stand where its evidence is; empty where this audit
has only a first screen for it.
"""
BOTTOM = "(e) => e.getBoundingClientRect().bottom + scrollY"


@pytest.mark.parametrize("name", DRAWINGS)
def test_seven_questions_are_answered_on_the_first_screen(
    audits: dict[str, tuple[Drawn, Path]], browser: Browser, name: str
) -> None:
    """Each has a verdict within 1280 x 900, with what to fix beside it, and its evidence is one
    link away.
    """
    browser.open(audits[name][1] / "report.html", 1280, 900)
    rows = browser.evaluate(
        f"""[...document.querySelectorAll("#summary dl.short dt")].map((dt) => {{ const dd = dt.nextElementSibling;
        return [dt.textContent, dd.querySelector(".verdict")?.textContent ?? "", ({BOTTOM})(dd), dd.querySelector("a.evidence")?.hash ?? ""]; }})"""
    )
    answered = {question: (verdict, bottom, link) for question, verdict, bottom, link in rows}
    for question, words in QUESTIONS.items():
        verdict, bottom, link = answered[question]
        assert verdict, question
        assert bottom <= 900, f"{question} ends at {bottom} pixels"
        if not words:
            continue
        assert link, question
        browser.evaluate(f"document.querySelector('a.evidence[href=\"{link}\"]').click()")
        seen = browser.evaluate(
            f"""(() => {{ let e = document.querySelector("{link}"), text = e.textContent; const top = e.getBoundingClientRect().top;
            while ((e = e.nextElementSibling) && e.tagName !== "H3") text += " " + e.textContent; return [top, text]; }})()"""
        )
        assert -5 <= seen[0] <= 900, f"{question}: the link shows its evidence"
        assert words in seen[1], question
    assert browser.evaluate(f"({BOTTOM})(document.querySelector('#summary .fix'))") <= 900
    assert browser.errors == []


def test_a_group_opens_with_one_paragraph_and_one_table_in_the_first_screen(
    audits: dict[str, tuple[Drawn, Path]], browser: Browser, tmp_path: Path
) -> None:
    """Four benchmarks: every answer is in the table, and leads to its evidence inside a fold that
    opens.
    """
    from hqm.reports.report_page import render

    parts = [
        replace(audit_in(audits[name][1]), title=f"Drawn {i}", examples=(), to_read=())
        for i, name in enumerate(DRAWINGS)
    ]
    (tmp_path / "group.html").write_text(render(hqm.Audit(tuple(parts))))
    browser.open(tmp_path / "group.html", 1280, 900)
    heads = browser.evaluate(
        "[...document.querySelectorAll('#summary th[scope=col]')].map((e) => e.textContent)"
    )
    assert heads == ["Benchmark", *QUESTIONS]
    assert browser.evaluate(f"({BOTTOM})(document.querySelector('#summary table'))") <= 900
    assert browser.evaluate("document.querySelectorAll('#summary > p').length") == 1
    links = browser.evaluate(
        "[...document.querySelectorAll('#summary tbody a')].map((a) => a.hash)"
    )
    assert len(links) == len(parts) * len(heads)
    for link in (links[1], links[-1]):
        browser.evaluate(f"location.hash = '{link}'")
        browser.wait(f"document.querySelector('{link}').getBoundingClientRect().height > 0", 5)
    for width in (400, 1600):
        browser.open(tmp_path / "group.html", width, 900)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.errors == []


def test_tables_are_cards_on_a_narrow_screen(
    audits: dict[str, tuple[Drawn, Path]], browser: Browser
) -> None:
    """At 400 pixels no table scrolls sideways, and every cell says what its column is."""
    browser.open(audits[BAD[0]][1] / "report.html", 400, 900)
    wide = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth +"
        " 1).map((e) => e.ariaLabel)"
    )
    assert wide == []
    bare = browser.evaluate(
        "[...document.querySelectorAll('figure.table td')].filter((e) => !e.dataset.label &&"
        " e.textContent.trim()).length"
    )
    assert bare == 0
