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
from hqm.reports.pages.sentences import headline, remedy_lines
from hqm.reports.tables.table import percent
from typer.testing import CliRunner

import hqm
from hqm import BenchmarkAudit
from hqm.auditing.seven_questions import find_remedies
from hqm.benchmark.corrected_keys import read_key
from hqm.cli import program
from tests.browser import Browser
from tests.conftest import NIGHTLY, Run
from tests.drawn_benchmarks import PlantedBenchmark, bad, good
from tests.messages import pattern_of, text_of
from tests.test_sentences import audit_of, est

DRAWINGS: Mapping[str, tuple[Callable[..., PlantedBenchmark], int, str, int]] = {
    "bad yes/no, 12": (bad, 211, "yes_no", 12),
    "bad choice, 6": (bad, 212, "choice", 6),
    "good yes/no, 6": (good, 213, "yes_no", 6),
    "good choice, 12": (good, 214, "choice", 12),
}
if not NIGHTLY:  # one of each kind
    DRAWINGS = {name: DRAWINGS[name] for name in ("bad yes/no, 12", "good choice, 12")}
BAD = [name for name in DRAWINGS if name.startswith("bad")]


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[PlantedBenchmark, Path]]:
    """Every drawing with the folder of its audit, made by the command."""
    audit_folders = {}
    for name, (draw, seed, task, n) in DRAWINGS.items():
        home = tmp_path_factory.mktemp("drawn")
        drawing = draw(home / "benchmark", seed, task=task, respondents=n)
        command = ["audit", str(drawing.folder), "--recorded", str(drawing.answers)]
        result = CliRunner().invoke(program(), [*command, "--out", str(home / "out"), "--quiet"])
        assert result.exit_code == 0, result.output
        audit_folders[name] = (drawing, home / "out")
    return audit_folders


def audit_in(folder: Path) -> BenchmarkAudit:
    return hqm.Audit.load(folder / "audit.json").audits[0]


def remedy_text(audit: BenchmarkAudit, kind: str) -> str:
    """What is to be mended of a kind, as the report says it."""
    (remedy,) = [candidate for candidate in find_remedies(audit) if candidate.what == kind]
    (line,) = remedy_lines(audit, [remedy])
    return f"{line.title}. {line.sentence} {line.remedy}"


@pytest.mark.parametrize("name", BAD)
def test_the_first_five_name_what_was_planted(
    audits: dict[str, tuple[PlantedBenchmark, Path]], name: str
) -> None:
    drawing, folder = audits[name]
    audit = audit_in(folder)
    lines = remedy_lines(audit, find_remedies(audit))
    first = [f"{line.title}. {line.sentence}" for line in lines[:5]]
    assert any(
        twin in sentence and "different right answers" in sentence
        for _, twin in drawing.twins
        for sentence in first
    )
    for words in (
        ("keys", "to check"),
        ("leak", "existence"),
        (f"{len(drawing.missing)} missing", f"{len(drawing.broken)} broken"),
    ):
        assert any(all(word.lower() in sentence.lower() for word in words) for sentence in first), (
            first
        )
    assert "ocr" in remedy_text(audit, "empty_types")
    assert headline(audit).state == "Not ready"
    (page,) = folder.glob("report.html")
    assert all(line.title in page.read_text() for line in lines[:5])


@pytest.mark.parametrize("name", [name for name in DRAWINGS if name not in BAD])
def test_nothing_is_invented_about_a_good_benchmark(
    audits: dict[str, tuple[PlantedBenchmark, Path]], name: str
) -> None:
    audit = audit_in(audits[name][1])
    assert [remedy for remedy in find_remedies(audit) if remedy.severity != "note"] == []
    assert headline(audit).state in (text_of("report.nothing"), "Too little measured")


@pytest.mark.parametrize("name", DRAWINGS)
def test_faults_come_before_doubts_before_notes(
    audits: dict[str, tuple[PlantedBenchmark, Path]], name: str
) -> None:
    audit = audit_in(audits[name][1])
    grades = [remedy.severity for remedy in audit.mend]
    assert grades == sorted(grades, key=["fault", "doubt", "note"].index)
    assert audit.mend == find_remedies(audit)


@pytest.mark.parametrize("name", BAD)
def test_every_number_to_mend_is_that_of_its_estimate(
    audits: dict[str, tuple[PlantedBenchmark, Path]], name: str
) -> None:
    drawing, folder = audits[name]
    audit = audit_in(folder)
    by_name = {finding["name"]: finding for finding in audit.findings}
    listed = audit.estimate("items.reading_list")
    # all wrong keys are in one type, so that the number is gone when that is left out: not said
    assert listed.value is None
    assert remedy_text(audit, "keys").startswith("Keys to check.")
    measured = replace(listed, value=29.4, status="ok", reason="")
    measured = replace(measured, detail={**listed.detail, "faults": 29.4})
    estimates = tuple(measured if e is listed else e for e in audit.all_estimates)
    assert remedy_text(replace(audit, all_estimates=estimates), "keys").startswith(
        "About 29 keys to check."
    )
    (twins,) = [remedy for remedy in audit.mend if remedy.what == "two_keys"]
    assert twins.count == len(by_name["contradictory-label"]["rows"]) == len(drawing.twins)
    assert twins.cost == pytest.approx(len(drawing.twins) / audit.n_items)
    (leaks,) = [remedy for remedy in audit.mend if remedy.what == "leaks"]
    blind = audit.estimate("solvability.blind_accuracy")
    shares = {row["name"]: row["accuracy"] for row in blind.detail["strata"] if row["leak"]}
    cues = audit.estimate("solvability.leakage_cues")
    for row in cues.detail["strata"]:
        if row["leak"] and row["cue"] == leaks.by.partition(", ")[0]:
            shares[row["name"]] = row["accuracy"]
    assert leaks.accuracy == shares[leaks.names[0]], "the number of the cue that is named"
    assert percent(leaks.accuracy) in remedy_text(audit, "leaks")
    pictures = [{**f, "count": 99} if f["name"] == "image-broken" else f for f in audit.findings]
    assert "99 broken" in remedy_text(replace(audit, findings=tuple(pictures)), "pictures")


@pytest.mark.parametrize("name", BAD)
def test_the_lists_are_complete(
    audits: dict[str, tuple[PlantedBenchmark, Path]], name: str
) -> None:
    drawing, folder = audits[name]
    findings = {finding["name"]: finding for finding in audit_in(folder).findings}
    twins = {tuple(row["items"]) for row in findings["contradictory-label"]["rows"]}
    assert twins == set(drawing.twins)
    assert {row["images"][0] for row in findings["image-missing"]["rows"]} == set(drawing.missing)
    assert {row["images"][0] for row in findings["image-broken"]["rows"]} == set(drawing.broken)
    listed = [
        row["item"]
        for row in audit_in(folder).estimate("items.reading_list").detail["reading_list"]
    ]
    planted = {*drawing.wrong_keys, *(twin for _, twin in drawing.twins)}
    assert sum(item in planted for item in listed[:10]) >= 7, "seven of the first ten are faults"


def test_keys_that_are_wrong_beyond_doubt_are_named_however_few() -> None:
    sure = [{"item": "q1", "expected": 0.999}, {"item": "q2", "expected": 0.998}]
    probable = [{"item": "q1", "expected": 0.96}, {"item": "q2", "expected": 0.95}]
    ranked = est("items.reading_list", 2.1, detail={"reading_list": [], "faults": 2.1})
    for rows, kinds in ((sure, ["keys"]), (probable, [])):
        audit = audit_of(est("items.label_errors", 2.0, detail={"candidates": rows}), ranked)
        assert [remedy.what for remedy in find_remedies(audit)] == kinds
    few = audit_of(est("items.label_errors", 2.0, detail={"candidates": sure}), ranked, n_items=30)
    assert find_remedies(few) == (), "abilities from 30 items are noise"
    # an exact test names at 5 %, and is certain at 1 %
    for q, severity in ((0.004, "fault"), (0.04, "doubt")):
        tested = est("items.label_errors", 1.0, detail={"candidates": [{"item": "q1", "q": q}]})
        (remedy,) = find_remedies(audit_of(tested))
        assert remedy.severity == severity


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
    end = time.monotonic() + 120
    while not (folder / name).is_file() or not (folder / name).stat().st_size:
        assert time.monotonic() < end, list(folder.iterdir())
        time.sleep(0.05)
    return folder / name


@pytest.mark.parametrize("name", BAD)
def test_marks_leave_the_page_as_a_key(
    audits: dict[str, tuple[PlantedBenchmark, Path]], name: str, browser: Browser, tmp_path: Path
) -> None:
    drawing, folder = audits[name]
    benchmark = hqm.load(str(drawing.folder))
    audit = audit_in(folder)
    items = [row["item"] for row in audit.to_read]
    assert items[:2] in [list(pair) for pair in drawing.twins], "contradictory keys stand first"
    assert all(
        row["thumbnail"]
        for row in audit.to_read
        if row["image"] not in (*drawing.missing, *drawing.broken)
    )
    browser.open(folder / "evidence.html")
    kept_item, turned, unclear, unseen = items[:4]
    right = (
        ""
        if benchmark.card.task == "yes_no"
        else next(x for x in "ABCD" if x != benchmark.original.by_id[turned].target)
    )
    for item, mark in (
        (kept_item, "keep"),
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
    key = read_key(file, benchmark)
    was = {item: benchmark.original.by_id[item].target for item in items}
    assert key.targets == {
        kept_item: was[kept_item],
        turned: right or {"yes": "no", "no": "yes"}[was[turned]],
    }
    assert (key.changed, set(key.left_out)) == ((turned,), {unclear, unseen})
    # a mark is still there when the page is opened again
    browser.open(folder / "evidence.html")
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
    audits: dict[str, tuple[PlantedBenchmark, Path]], run: Run, tmp_path: Path
) -> None:
    """All planted keys marked as wrong: the audit by both keys says that the scores rise."""
    drawing, folder = audits["bad yes/no, 12"]
    wrong = [*drawing.wrong_keys, *(twin for _, twin in drawing.twins)]
    lines = ["item,target,mark", *(f"{item},,wrong key" for item in wrong)]
    (tmp_path / "reviewed.csv").write_text("\n".join(lines) + "\n")
    key = read_key(tmp_path / "reviewed.csv", hqm.load(str(drawing.folder)))
    assert key.targets == {item: drawing.truth[item] for item in wrong}
    before = max(row.scores["accuracy"] or 0 for row in audit_in(folder).respondents)
    answers = tmp_path / "strong.jsonl"
    best = max(
        audit_in(folder).respondents, key=lambda row: row.scores["accuracy"] or 0
    ).name.removeprefix("recorded/")
    rows = [
        line
        for line in drawing.answers.read_text().splitlines()
        if f'"{best}"' in line and '"run": 0' in line
    ]
    answers.write_text("\n".join(rows) + "\n")
    status, output, error = run(
        "score", drawing.folder, "--answers", answers, "--key", tmp_path / "reviewed.csv", "--json"
    )
    assert status == 0, error
    scored = json.dumps(json.loads(output))
    assert f"{before:.6f}"[:6] in scored, "the release's key stands beside"
    numbers = [float(x) for x in re.findall(r"0\.\d{4,}", scored)]
    assert max(numbers) > before + 0.03


def test_what_a_mark_lacks_is_said(
    audits: dict[str, tuple[PlantedBenchmark, Path]], tmp_path: Path
) -> None:
    benchmark = hqm.load(str(audits["good choice, 12"][0].folder))
    for line, says in (
        ("i0001,,wrong key", "no other one is given"),
        ("i0001,,perhaps", pattern_of("key.mark-unknown", item="i0001", mark="perhaps")),
    ):
        (tmp_path / "key.csv").write_text(f"item,target,mark\n{line}\n")
        with pytest.raises(hqm.DataError, match=says):
            read_key(tmp_path / "key.csv", benchmark)


def test_every_list_leaves_the_page_and_the_command_whole(
    audits: dict[str, tuple[PlantedBenchmark, Path]], browser: Browser, run: Run, tmp_path: Path
) -> None:
    drawing, folder = audits["bad yes/no, 12"]
    audit = audit_in(folder)
    browser.open(folder / "evidence.html")
    lists = browser.evaluate(
        "[...document.querySelectorAll('button[data-csv]')].map((b) => b.dataset.csv)"
    )
    titles = browser.evaluate(
        "[...document.querySelectorAll('.lists summary')].map((s) => s.textContent)"
    )
    (index,) = [i for i, title in enumerate(titles) if "D103" in title]
    file = downloaded(
        browser, f"button[data-csv='{lists[index]}']", tmp_path, f"{lists[index]}.csv"
    )
    text = file.read_text()
    assert all(f"{first}, {twin}" in text for first, twin in drawing.twins)
    listed = (folder / "findings.csv").read_text()
    for finding in audit.findings:
        assert listed.count(f",{finding['code']},{finding['name']},") >= max(
            1, len(finding["rows"])
        )
    for first, twin in drawing.twins:
        assert f"{first}|{twin},yes|no" in listed or f"{first}|{twin},no|yes" in listed
    status, _, error = run(
        "check", drawing.folder, "--select", "D,I", "--lists", tmp_path / "lists.csv"
    )
    assert status in (0, 1), error
    assert all(
        f"{first}|{twin}" in (tmp_path / "lists.csv").read_text() for first, twin in drawing.twins
    )


@pytest.mark.parametrize(("width", "dark"), [(400, False), (1280, True), (1600, False)])
def test_nothing_runs_off_the_page(
    audits: dict[str, tuple[PlantedBenchmark, Path]], browser: Browser, width: int, dark: bool
) -> None:
    for name in BAD:
        for page in ("report", "evidence"):
            browser.open(audits[name][1] / f"{page}.html", width, dark=dark)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.errors == []


# --- seven questions ---


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_answer_is_one_link_away_from_its_evidence(
    audits: dict[str, tuple[PlantedBenchmark, Path]], browser: Browser, name: str
) -> None:
    folder = audits[name][1]
    browser.open(folder / "report.html", 1280, 900)
    links = browser.evaluate(
        "[...document.querySelectorAll('a[href*=evidence]')].map((a) => a.hash)"
    )
    assert len(set(links)) > 8
    browser.open(folder / "evidence.html", 1280, 900)
    dead_links = browser.evaluate(
        f"{json.dumps(links)}.filter((hash) => hash && !document.getElementById(hash.slice(1)))"
    )
    assert dead_links == []
    browser.evaluate(f"location.hash = '{next(link for link in links if link)}'")
    browser.wait("document.querySelector(location.hash).open")
    assert browser.errors == []


def test_tables_are_cards_on_a_narrow_screen(
    audits: dict[str, tuple[PlantedBenchmark, Path]], browser: Browser
) -> None:
    """At 400 pixels no table scrolls sideways, and every cell says what its column is."""
    browser.open(audits[BAD[0]][1] / "evidence.html", 400, 900)
    wide = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth +"
        " 1).map((e) => e.ariaLabel)"
    )
    assert wide == []
    n_unlabelled = browser.evaluate(
        "[...document.querySelectorAll('figure.table td')].filter((e) => !e.dataset.label &&"
        " e.textContent.trim()).length"
    )
    assert n_unlabelled == 0
