"""The index: one site from many audits, and the commands that its first rows show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from hqm.reports.pages.phrases import number_word

import hqm
from hqm import Audit, BenchmarkAudit
from tests.browser import Browser
from tests.conftest import ROOT, Run, nightly
from tests.messages import tells
from tests.printed import load_script
from tests.test_sentences import (
    LABELLED,
    PAIRS,
    RHO,
    SEARCHED,
    WORDING,
    audit_of,
    budgeted,
    est,
    typed,
)

POOR = est("items.label_errors", None, status="insufficient", reason="too few models")


def site_of(run: Run, home: Path) -> tuple[Path, list[BenchmarkAudit]]:
    """Three audits in folders of their own, two of them of one benchmark."""
    first = budgeted(audit_of(RHO, PAIRS, SEARCHED, typed(0.06, 0.02)), WORDING, LABELLED)
    poor = replace(audit_of(PAIRS, POOR), title="<b>Other</b> one")
    audits = {"first": first, "again": replace(first, mend=()), "other": poor}
    for name, audit in audits.items():
        (home / name).mkdir()
        (home / name / "audit.json").write_text(Audit((audit,), f"hqm audit {name}").to_json())
    status, output, err = run("report", *(home / name for name in audits), "--index", home / "site")
    assert (status, err) == (0, "")
    assert "index.html" in output
    return home / "site", list(audits.values())


def test_every_audit_has_a_row_a_page_and_its_json(run: Run, tmp_path: Path) -> None:
    site, audits = site_of(run, tmp_path)
    rows = json.loads((site / "index.json").read_text())["rows"]
    assert [row["folder"] for row in rows] == ["first", "again", "other"]
    assert [row["title"] for row in rows[:2]] == [
        f"{audits[0].title}: {n}" for n in ("first", "again")
    ]
    text = (site / "index.html").read_text()
    for row, audit in zip(rows, audits, strict=True):
        assert hqm.Statement.parse(row["line"]) == audit.statement
        (row_audit,) = Audit.load(site / row["audit"]).audits
        assert row_audit.statement == audit.statement
        assert (site / row["folder"] / "report.html").read_text().count("<h1") == 1
        assert (site / row["folder"] / "evidence.html").is_file()
        assert row["command"] in text
        assert str(audit.statement) in text
    assert not re.search(r"(?:href|src)=.(?:https?:)?//", text), "it loads nothing from elsewhere"
    assert "<b>Other</b>" not in text
    assert "overall grade" in text


def test_what_is_not_known_is_empty_and_says_why(run: Run, tmp_path: Path) -> None:
    site, _ = site_of(run, tmp_path)
    first, _, poor = json.loads((site / "index.json").read_text())["rows"]
    assert poor["keys"] == {"number": None, "about": "too few models"}
    assert poor["leaks"]["number"] is None
    assert poor["error"] is None
    assert first["error"] == pytest.approx(5.0), "the widest band, in points"
    assert first["lead"] == {"number": None, "about": "not tested"}, "an audit of 0.2.0"
    assert first["keys"]["number"] == 0
    assert "another judge" not in first["unmeasured"]


def test_rows_are_sorted_and_searched_in_the_page(
    browser: Browser, run: Run, tmp_path: Path
) -> None:
    site, _ = site_of(run, tmp_path)
    browser.open(site / "index.html", 1280, 900)
    names = "[...document.querySelectorAll('tbody')].map((row) => row.id)"
    browser.evaluate("document.querySelector('button[data-by=error]').click()")
    assert browser.evaluate(names) == ["first", "again", "other"], "what is not known stands last"
    browser.evaluate("document.querySelector('button[data-by=error]').click()")
    assert browser.evaluate(names)[-1] == "other"
    browser.evaluate(
        "(() => { const s = document.querySelector('input'); s.value = '<b>other';"
        " s.dispatchEvent(new Event('input')); })()"
    )
    hidden = "[...document.querySelectorAll('tbody')].map((row) => row.hidden)"
    assert sorted(browser.evaluate(hidden)) == [False, True, True]
    assert browser.evaluate("document.querySelector('output').textContent") == "1 of 3"
    browser.open(site / "index.html", 400, 900)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 400, "the table scrolls"
    assert browser.errors == []


def test_a_printed_table_has_a_row_that_says_what_it_contradicts(run: Run, tmp_path: Path) -> None:
    table = ROOT / "tests" / "tables" / "hal_eval_table1.csv"
    assert run("table", table, "--out", tmp_path / "printed")[0] == 0
    status, _, err = run("report", tmp_path / "printed", "--index", tmp_path / "site")
    assert (status, err) == (0, "")
    (row,) = json.loads((tmp_path / "site" / "index.json").read_text())["rows"]
    assert tells(row["verdict"], "index.contradicts", places=10)
    assert (row["code"], row["line"], row["error"], row["lead"]["number"]) == (
        "wrong",
        "",
        None,
        None,
    )
    text = (tmp_path / "site" / "index.html").read_text()
    assert "evidence.html" not in text, "a table has a report and no evidence"
    assert (tmp_path / "site" / row["folder"] / "report.html").is_file()


def test_the_index_is_one_report_of_several(run: Run, tmp_path: Path) -> None:
    status, _, err = run("report", tmp_path, "--index", tmp_path / "site", "--badge")
    assert status == 2
    assert tells(err, "usage.two-reports", first="--badge", second="--index")


# --- the first rows ---


@pytest.fixture(scope="module")
def first_rows() -> ModuleType:
    return load_script("index_rows.py")


ROWS = ("mm-vet", "hal-eval-table", "hqm-table")
"""Rows that are made in every run: another tool's log, printed tables."""
NIGHTLY_ROWS = (
    *("less-is-more", "halc", "marine", "two-instructions"),
    *("pope", "hallusion-bench", "faithscore", "mathvista", "mmmu-pro"),
)


def test_every_row_of_released_answers_is_tried(first_rows: ModuleType) -> None:
    tried = {*ROWS, *NIGHTLY_ROWS, "shapes"}
    assert set(first_rows.ROWS) == tried, "the embedded one is audited by `make audit`"


@pytest.mark.data
@pytest.mark.parametrize(
    "name", [*ROWS, *(pytest.param(name, marks=nightly) for name in NIGHTLY_ROWS)]
)
def test_the_command_of_a_row_makes_it(
    first_rows: ModuleType, name: str, data: Path, tmp_path: Path
) -> None:
    if not first_rows.audited(name, data, None, tmp_path / name):
        pytest.skip(f"the answers of {name} are not at hand")
    audit_json = json.loads((tmp_path / name / "audit.json").read_text("utf-8"))
    assert audit_json["command"] == first_rows.ROWS[name]
    assert str(data) not in audit_json["command"]
    index = json.loads((ROOT / "docs" / "make" / "index.json").read_text("utf-8"))
    command_rows = [row for row in index["rows"] if row["command"] == audit_json["command"]]
    if name.endswith("-table"):
        (row,) = command_rows
        assert row["verdict"] in audit_json["audits"][0]["consistency"]
        return
    audit = Audit.from_dict(audit_json)
    for benchmark_audit, row in zip(audit.audits, command_rows, strict=True):
        assert hqm.Statement.parse(str(benchmark_audit.statement)) == benchmark_audit.statement
        # the row on the first page of the documentation is that of its command
        assert row["line"].partition(" | ")[0] == str(benchmark_audit.statement).partition(" | ")[0]
        assert row["verdict"] == benchmark_audit.verdict


def test_the_first_page_has_every_row_and_what_leaderboards_do_not_say(
    first_rows: ModuleType,
) -> None:
    index = json.loads((ROOT / "docs" / "make" / "index.json").read_text("utf-8"))
    all_commands = first_rows.commands()
    shown_commands = [row["command"] for row in index["rows"]]
    assert set(shown_commands) <= set(all_commands.values())
    assert set(first_rows.ROWS.values()) <= set(shown_commands)
    assert shown_commands == sorted(shown_commands, key=list(all_commands.values()).index)
    titles = {row["title"].partition(":")[0] for row in index["rows"]}
    assert len(titles) >= 10, titles
    assert "<!-- the index -->" in (ROOT / "docs" / "index.md").read_text("utf-8")
    strips = [row["strip"] for row in index["rows"] if row["strip"]]
    axes = {tuple(re.findall(r'y="11\.2" [^>]*>([−\d]+)<', strip)) for strip in strips}
    assert len(axes) == 1, "one axis for all rows"
    assert min(axes), "its numbers are there"
    for strip in strips:
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', strip)[1])
        sizes = map(float, re.findall(r'font-size="([\d.]+)"', strip))
        assert min(sizes) >= 12, "in pixels, where the page shows the whole width"
        for style in ("docs/look/hqm.css", "reports/templates/index.html"):
            assert (
                f"svg {{ width: {width:g}px; min-width: {width:g}px" in (ROOT / style).read_text()
            )
    boards = [row["lead"]["about"] for row in index["rows"] if row["lead"]["number"] is not None]
    undecided = sum(about != "shown on new items" for about in boards)
    finding = index["finding"]
    words = {"undecided": number_word(undecided), "boards": number_word(len(boards))}
    assert tells(finding, "index.undecided", **words)


# --- rows of public repositories ---


def test_a_row_of_a_public_repository_names_its_commit_and_its_clone(
    first_rows: ModuleType,
) -> None:
    index = json.loads((ROOT / "docs" / "make" / "index.json").read_text("utf-8"))
    rows_by_command = {row["command"]: row for row in index["rows"]}
    n_rows = 0
    for name, source in first_rows.PUBLIC.items():
        clone = f"clones/{source.repository.partition('/')[2]}"
        assert re.fullmatch("[0-9a-f]{40}", source.commit), name
        assert source.command.startswith(f"hqm audit {clone}/"), name
        row = rows_by_command.get(source.command)
        if row is not None:
            n_rows += 1
            assert row["source"] == {"repository": source.repository, "commit": source.commit}
            assert 0 <= row["pairs"]["differ"] <= row["pairs"]["all"]
    assert n_rows >= 9


def test_rows_that_were_made_replace_those_of_the_same_command(first_rows: ModuleType) -> None:
    index = json.loads((ROOT / "docs" / "make" / "index.json").read_text("utf-8"))
    again = {**index["rows"][0], "verdict": "another one"}
    merged = first_rows.merge_rows(index, {"rows": [again], "measured": ""})
    assert merged["rows"][0]["verdict"] == "another one"
    assert merged["rows"][1:] == index["rows"][1:]
    assert merged["finding"] == index["finding"]
    assert merged["measured"] == index["measured"]


def test_a_clone_is_read_with_its_pattern_or_its_row_left_out(
    first_rows: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command as it is shown, on two files that lie as the repository has them."""
    source = first_rows.Source("owner/name", "0" * 40, "CLONE/answers/*.json --set title=Trial")
    monkeypatch.setitem(first_rows.PUBLIC, "trial", source)
    assert not first_rows.audited("trial", None, tmp_path / "clones", tmp_path / "out")
    folder = tmp_path / "clones" / "name" / "answers"
    folder.mkdir(parents=True)
    for model in ("m", "n"):
        rows = [
            {"model": model, "id": i, "response": "yes", "target": ("yes", "no")[i % 2]}
            for i in range(20)
        ]
        (folder / f"{model}.json").write_text(json.dumps(rows))
    assert first_rows.audited("trial", None, tmp_path / "clones", tmp_path / "out")
    audit_json = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert audit_json["command"] == "hqm audit clones/name/answers/*.json --set title=Trial"
    assert audit_json["audits"][0]["title"] == "Trial"


def test_the_ranking_has_a_line_for_each_audit_that_tests_pairs() -> None:
    index = json.loads((ROOT / "docs" / "make" / "index.json").read_text("utf-8"))
    index_table = load_script("make/index_table.py")
    tested = [row for row in index["rows"] if row.get("pairs") and row["pairs"]["all"]]
    lines = index_table.ranking().splitlines()[2:]
    assert len(lines) == len(tested)
    assert all(any(row["title"] in line for line in lines) for row in tested)
    shares = [float(re.findall(r"\((\d+)%\)", line)[0]) for line in lines]
    assert shares == sorted(shares, reverse=True)
    assert index_table.RANKING_MARKER in (ROOT / "docs" / "ranking.md").read_text("utf-8")
