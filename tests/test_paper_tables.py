"""Tables and figures for papers: the audit's numbers, marks only where they are earned, LaTeX that
compiles.
"""

import csv
import io
import json
import math
import random
import re
import shutil
import string
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
from hqm.reports.latex import latex_tables
from hqm.reports.latex.latex_tables import (
    INTERVAL_SIZE,
    MAX_PAGE_LINES,
    MIN_COLUMN_WIDTH,
    MIN_PAGE_WIDTH,
    TABLE_SIZE,
    as_json,
    comma_separated,
    escape,
    fit_to_page,
    format_tables,
    latex,
    markdown,
    number_cell,
    pages,
    width_needed,
    width_of,
)
from hqm.reports.latex.paper import _by_type, paper_tables, ranks
from hqm.reports.tables.table import Column, Table, Text

import hqm
from hqm import Audit, BenchmarkAudit, Store
from tests.conftest import Run, administered, nightly, recorded, write_benchmark

HOSTILE = r"50%_of {a}\input{/etc/passwd} $x^2$ #1 & ~<b>[*]|`'\"--中é"
SETS = shutil.which("pdflatex") is not None
needs_pdflatex = pytest.mark.skipif(not SETS, reason="pdflatex is not installed")


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audit]:
    """Six respondents of graded ability with hostile names; two runs and the flipped form."""
    rng = random.Random(0)
    kinds = hqm.HALLUCINATION_TYPES
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a thing {i} in the image?",
            "target": "yes" if i % 2 else "no",
            "image": f"{i // 3}.png",
            "type": kinds[i % 8],
        }
        for i in range(160)
    ]
    home = tmp_path_factory.mktemp("papers") / "hostile"
    folder = write_benchmark(
        home, rows, title=f"Title {HOSTILE}", types=list(kinds), labelled=True, name="hostile"
    )
    benchmark = hqm.load(str(folder))
    forms = {"original": benchmark.original, "parallel": benchmark.parallel(benchmark.original)}
    respondents = []
    for k in range(6):
        cells = {}
        for form, run in (("original", 0), ("original", 1), ("parallel", 0)):
            right = (0.45 + 0.1 * k) if form == "original" else 0.4 + 0.05 * k
            cells[form, run] = {
                i.id: (
                    str(i.target) if rng.random() < right else {"yes": "no", "no": "yes"}[i.target]
                )
                for i in forms[form].items
            }
        respondents.append(recorded(f"model {k}{HOSTILE if k == 3 else ''}", cells))
    with Store(tmp_path_factory.mktemp("papers") / "store.sqlite") as store:
        stored = administered(store, benchmark, respondents)
        yield Audit((hqm.audit(hqm.gather(benchmark, store, stored)),), f"hqm audit {HOSTILE}", {})


def by_name(audits: list[Audit]) -> dict[str, Table]:
    return {table.name: table for table in paper_tables(audits, include_all=True)}


def column(table: Table, title: str, group: str = "") -> list[float | None]:
    index = [(c.title, c.group) for c in table.columns].index((title, group))
    return [row[index].value for row in table.rows]


def test_the_numbers_are_the_audits(audit: Audit) -> None:
    benchmark = audit.audits[0]
    tables = by_name([audit])
    assert list(tables) == [
        "table1",
        "table1-errors",
        "table2-hostile",
        "table4",
        "table5-hostile",
        "reliability",
    ]
    paper = tables["table1"]
    rho = benchmark.estimate("test_retest.rho_g")
    shift = benchmark.estimate("parallel_forms.mean_shift").value
    # the paper's columns first, then ours; no interval, so that a row is a line
    titles = [
        "test-retest",
        "parallel forms",
        "criterion",
        "Types",
        "rho_G",
        "ICC(A,1)",
        "shift, points",
    ]
    assert [c.title for c in paper.columns[1:]] == titles
    for title, name in (("test-retest", "test_retest"), ("parallel forms", "parallel_forms")):
        assert column(paper, title, "Pearson's r") == [benchmark.estimate(f"{name}.pearson").value]
    assert column(paper, "criterion", "Pearson's r") == [None], "nobody judged these answers"
    assert column(paper, "Types") == [len(benchmark.coverage)]
    assert column(paper, "rho_G", "This audit") == [rho.value]
    assert column(paper, "shift, points", "This audit") == pytest.approx([100 * shift])
    assert not any(cell.small for row in paper.rows for cell in row)
    first = tables["table1-errors"]
    assert column(first, "Test-retest rho_G", "Reliability") == [rho.value]
    assert column(first, "Shift, points", "Reliability") == pytest.approx([100 * shift])
    sem = benchmark.estimate("test_retest.sem").value
    assert column(first, "SE of a run, points", "Errors") == pytest.approx([100 * sem])
    assert column(first, "People r", "Validity") == [None], "nobody judged these answers"
    assert first.rows[0][-1].text == "0 of 8"
    assert paper_tables([audit]) == (paper, first), "these two unless all are asked for"
    assert not any("average" in c.title.lower() for c in first.columns)
    assert any("averages" in note for note in first.notes), "the table says why"
    second = tables["table2-hostile"]
    assert second.rows[0][0].text == "Ground truth"
    assert column(second, "yes", "Original form")[0] == 0.5
    best = max(benchmark.respondents, key=lambda r: r.scores["accuracy"] or 0)
    assert second.rows[1][1].value == best.scores["accuracy"]
    assert second.rows[1][2].value == best.yes_ratio[benchmark.reference]
    assert (second.rows[1][1].low, second.rows[1][1].high) == tuple(best.intervals["accuracy"])
    assert column(tables["table4"], "ocr") == [20]
    fifth = tables["table5-hostile"]
    assert column(fifth, "ocr", "accuracy ↑")[0] == best.by_type["ocr"]
    noisy = tables["reliability"]
    assert column(noisy, "rho_G", "Test-retest") == [rho.value]
    floor = benchmark.estimate("test_retest.noise_floor").value
    assert column(noisy, "noise floor", "Test-retest") == [floor]


# the pairs of so many benchmarks are compared, which takes long
@pytest.mark.parametrize("n_benchmarks", [1, 2, 4, 16, pytest.param(70, marks=nightly)])
def test_table_one_is_one_float_of_any_number_of_benchmarks(
    audit: Audit, n_benchmarks: int
) -> None:
    withheld = {"flag": "WITHHELD", "metric": "", "sentence": "x", "what_to_do": "y"}
    audits = []
    for i in range(n_benchmarks):
        states = {name: {"ok": 150, "refused": 10} for name in audit.audits[0].cells}
        respondents = tuple(replace(r, states=states) for r in audit.audits[0].respondents)
        named = replace(
            audit.audits[0],
            benchmark=f"b{i}",
            title=f"Benchmark {i}",
            respondents=respondents,
            flags=(withheld,),
        )
        audits.append(replace(audit, audits=(named,)))
    paper, errors = paper_tables(audits)
    text = latex([paper])
    assert text.count(r"\begin{table*}") + text.count(r"\begin{table}") == 1
    assert len(paper.rows) == n_benchmarks
    assert "WITHHELD" not in text
    cells = [cell for row in (*paper.rows, *errors.rows) for cell in row]
    assert not any("WITHHELD" in cell.text + cell.small for cell in cells)
    assert sum("60 refused or empty answers" in note for note in errors.notes) == n_benchmarks


@pytest.mark.parametrize(("words", "names"), [(0.0, []), (12.0, ["table3-pope"])])
def test_scores_without_captions_have_no_table_of_their_length(
    audit: Audit, words: float, names: list[str]
) -> None:
    (first,) = audit.audits
    counts = dict.fromkeys(first.cells, words)
    respondents = tuple(replace(r, words=counts) for r in first.respondents)
    captions = replace(first, benchmark="pope", task="caption", respondents=respondents)
    drawn = paper_tables([replace(audit, audits=(captions,))], include_all=True)
    assert [table.name for table in drawn if table.name.startswith("table3")] == names


def test_a_note_states_the_protocol_and_captions_are_short(audit: Audit) -> None:
    tables = by_name([audit])
    notes = " ".join(tables["table1-errors"].notes)
    for words in ("6 models", "160 items", "original", "parallel", "official scoring", "95%"):
        assert words in notes
    for table in tables.values():
        assert len(table.caption) <= 125, (
            "three lines of 9 pt letters in a column of 3.03 in, with the table's number"
        )


WIDE = Table(
    "wide",
    "A table of many numbers.",
    (
        Column("Benchmark", "text"),
        Column("Metric", "text"),
        *(Column(f"Coefficient {k}", "interval", f"Group {k // 2}") for k in range(6)),
    ),
    tuple(
        (
            Text(f"a-benchmark-{i}"),
            Text("accuracy"),
            *(number_cell(-0.9512 + k / 10, -0.991, 0.4) for k in range(6)),
        )
        for i in range(4)
    ),
    ("A note.",),
)


def test_a_table_wider_than_a_page_has_a_row_for_each_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fitted = fit_to_page(WIDE)
    assert width_needed(WIDE) > MIN_PAGE_WIDTH >= width_needed(fitted)
    assert [column.title for column in fitted.columns[:2]] == ["Benchmark", "Metric"]
    printed_values = {(row[0].text, row[2].text): row[3].value for row in fitted.rows}
    for row in WIDE.rows:
        for head, entry in zip(WIDE.columns[2:], row[2:], strict=True):
            assert printed_values[row[0].text, f"{head.group}: {head.title}"] == entry.value
    narrow = replace(WIDE, columns=WIDE.columns[:3], rows=tuple(row[:3] for row in WIDE.rows))
    assert fit_to_page(narrow) is narrow
    monkeypatch.setattr(latex_tables, "MIN_PAGE_WIDTH", width_needed(narrow))
    assert fit_to_page(narrow) is narrow, "it is as wide as the page"


def test_a_table_taller_than_a_page_becomes_several() -> None:
    """Every row once and in order; rows whose names wrap count as many lines; the notes stand
    once.
    """
    columns = (Column("Difference", "text"), Column("", "interval"))
    name = (
        "a very long name of a measure that needs several lines minus another name of the same"
        " length"
    )
    # a row takes two lines, because its interval stands beneath its number
    for text, min_rows in (("short", MAX_PAGE_LINES // 2), (name, MAX_PAGE_LINES // 6)):
        rows = tuple((Text(f"{text} {i}"), number_cell(0.5, 0.4, 0.6)) for i in range(100))
        page_tables = pages(Table("long", "All of them.", columns, rows, ("A note.",)))
        assert [row for page in page_tables for row in page.rows] == list(rows)
        assert all(min_rows - 1 <= len(page.rows) <= MAX_PAGE_LINES for page in page_tables[:-1])
        assert [page.notes for page in page_tables] == [
            ("A note.",),
            *[()] * (len(page_tables) - 1),
        ]
        assert len({page.name for page in page_tables}) == len(page_tables)
        assert page_tables[1].caption == f"All of them (2 of {len(page_tables)})."
    short = Table("s", "Few.", columns, rows[:3])
    assert pages(short) == (short,)


def test_every_table_stands_in_a_column_or_over_both(audit: Audit) -> None:
    tables = paper_tables([audit], include_all=True)
    assert all(width_needed(fit_to_page(table)) <= MIN_PAGE_WIDTH for table in (*tables, WIDE))
    text = latex(tables)
    for word in ("resizebox", "scalebox", "adjustbox", "\tiny"):
        assert word not in text
    assert (
        text.count(r"\begin{table")
        == text.count(r"\label{")
        == len(set(re.findall(r"\\label\{.*?\}", text)))
    )
    assert latex(paper_tables([audit])).count(r"\begin{table*}") == 1
    narrow = Table("n", "A few.", (Column("a", "text"),), ((Text("b"),),))
    assert width_needed(narrow) < MIN_COLUMN_WIDTH
    assert r"\begin{table}" in latex([narrow])


def test_the_widths_are_those_of_computer_modern() -> None:
    """The metrics of cmr10, as matplotlib has them, in thousandths: no letter is wider than the rule
    has it, and each width of the rule is that of a letter.
    """
    metrics = (Path(mpl.get_data_path()) / "fonts" / "afm" / "cmr10.afm").read_text("ascii")
    rows = re.findall(r"C (\d+) ; WX ([\d.]+) ;", metrics)
    # letters, digits and these marks have the codes of ASCII
    widths = {chr(int(code)): round(float(width)) for code, width in rows}
    letters = f"{string.ascii_letters}{string.digits},;.:!'[]()-+=%"
    scale = width_of("0") / widths["0"]
    by_rule = {letter: round(width_of(letter) / scale) for letter in letters}
    assert [letter for letter in letters if by_rule[letter] < widths[letter]] == []
    assert set(by_rule.values()) <= set(widths.values())


@needs_pdflatex
def test_no_letter_is_narrower_by_the_rule_than_in_print(tmp_path: Path) -> None:
    """The rule's widths against those of Computer Modern itself, letter by letter, at both
    sizes.
    """
    letters = [
        c
        for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:()[]-/+="
        if c not in "\\"
    ]
    lines = "".join(
        rf"\setbox0\hbox{{{size} {escape(c)}}}\typeout{{WIDTH \the\wd0}}"
        for size in (r"\footnotesize", r"\scriptsize")
        for c in letters
    )
    (tmp_path / "w.tex").write_text(
        rf"\documentclass{{article}}\begin{{document}}{lines}\end{{document}}", encoding="utf-8"
    )
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "w.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=300,
        check=False,
    )
    measured_widths = re.findall(
        r"WIDTH ([\d.]+)pt", (tmp_path / "w.log").read_text(errors="replace")
    )
    assert len(measured_widths) == 2 * len(letters)
    for k, width in enumerate(map(float, measured_widths)):
        size, letter = (TABLE_SIZE, INTERVAL_SIZE)[k // len(letters)], letters[k % len(letters)]
        assert width_of(letter, size) >= width - 0.35, (letter, size, width)
    words = "Test-retest reliability of the benchmarks"
    assert width_of(words) > 150


@needs_pdflatex
def test_tables_are_set_in_a_column_without_overflow(audit: Audit, tmp_path: Path) -> None:
    text_of_pages = compiled(
        latex((*paper_tables([audit], include_all=True), WIDE)), tmp_path, columns=3.03
    )
    log = (tmp_path / "paper.log").read_text(errors="replace")
    overfull_widths = [
        float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide", log)
    ]
    assert not overfull_widths, overfull_widths
    assert text_of_pages


def with_scores(audit: BenchmarkAudit, scores: dict[str, float], half: float) -> BenchmarkAudit:
    row = audit.respondents[0]
    respondents = tuple(
        replace(
            row,
            name=name,
            scores={"accuracy": s},
            intervals={"accuracy": [s - half, s + half]},
            by_type={},
        )
        for name, s in scores.items()
    )
    estimates = tuple(
        e for e in audit.all_estimates if e.indicator != "discriminability.separable_pairs"
    )
    return replace(audit, respondents=respondents, all_estimates=estimates)


def marks(audit: BenchmarkAudit) -> list[str]:
    table = by_name([Audit((audit,))])[f"table2-{audit.benchmark}"]
    return [row[1].mark for row in table.rows[1:]]


def test_only_separable_scores_are_marked(audit: Audit) -> None:
    benchmark = audit.audits[0]
    assert marks(with_scores(benchmark, {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.3}, 0.02)) == [
        "best",
        "second",
        "",
        "",
    ]
    assert marks(with_scores(benchmark, {"a": 0.9, "b": 0.7, "c": 0.69, "d": 0.3}, 0.02)) == [
        "best",
        "",
        "",
        "",
    ]
    assert marks(with_scores(benchmark, {"a": 0.9, "b": 0.89, "c": 0.5, "d": 0.3}, 0.02)) == [
        "",
        "",
        "",
        "",
    ]
    assert marks(with_scores(benchmark, {"a": 0.9, "b": 0.5}, 0.02)) == [
        "best",
        "",
    ], "the last of two is no second best"
    lower = replace(benchmark, metrics={"accuracy": {"about": "", "better": "lower"}})
    assert marks(with_scores(lower, {"a": 0.9, "b": 0.7, "c": 0.5}, 0.02)) == ["best", "second", ""]
    sorted_up = by_name([Audit((with_scores(lower, {"a": 0.9, "b": 0.7, "c": 0.5}, 0.02),))])[
        "table2-hostile"
    ]
    assert [row[0].text for row in sorted_up.rows[1:]] == ["c", "b", "a"]


def test_the_audits_own_tests_decide_where_it_has_them(audit: Audit) -> None:
    benchmark = with_scores(audit.audits[0], {"a": 0.9, "b": 0.7, "c": 0.5}, 0.02)
    tested = replace(
        benchmark.all_estimates[0],
        indicator="discriminability.separable_pairs",
        metric="accuracy",
        detail={"ranks": {"a": [1, 2], "b": [1, 2], "c": [3, 3]}},
    )
    benchmark = replace(benchmark, all_estimates=(*benchmark.all_estimates, tested))
    assert ranks(benchmark, "accuracy")["a"] == (1, 2)
    assert marks(benchmark) == ["", "", ""]


def test_the_same_audit_gives_the_same_bytes(audit: Audit, tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text(audit.to_json(), encoding="utf-8")
    reloaded = Audit.load(tmp_path / "audit.json")
    for suffix in (".tex", ".csv", ".md", ".json"):
        assert format_tables(paper_tables([audit]), suffix) == format_tables(
            paper_tables([reloaded]), suffix
        )


def test_csv_and_json_round_nothing(audit: Audit) -> None:
    tables = paper_tables([audit])
    rho = audit.audits[0].estimate("test_retest.rho_g")
    lines = list(csv.DictReader(io.StringIO(comma_separated(tables))))
    line = next(x for x in lines if x["column"] == "Test-retest rho_G")
    assert float(line["value"]) == rho.value
    assert line["signature"] == rho.signature
    assert HOSTILE in line["row"]
    data = json.loads(as_json(tables))
    column = [c["title"] for c in data["tables"][1]["columns"]].index("Test-retest rho_G")
    assert data["tables"][1]["rows"][0][column]["value"] == rho.value


def test_a_name_is_no_formula_in_a_spreadsheet() -> None:
    table = Table("t", "c", (Column("a", "text"),), ((Text('=HYPERLINK("x")'),),))
    assert "'=HYPERLINK" in comma_separated([table])


def test_markdown_keeps_its_columns_whatever_a_name_holds(audit: Audit) -> None:
    text = markdown(paper_tables([audit], include_all=True))
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert len(counts) <= 1, block
    assert "<b>" not in text.partition("Signatures:")[0], (
        "below, signatures stand in a block of code"
    )


def test_every_signature_stands_in_a_comment(audit: Audit) -> None:
    text = latex(paper_tables([audit], include_all=True))
    comments = [line for line in text.splitlines() if line.startswith("%")]
    for indicator in ("test_retest.pearson", "test_retest.rho_g", "parallel_forms.pearson"):
        assert any(audit.audits[0].estimate(indicator).signature in line for line in comments)


def compiled(text: str, folder: Path, *, columns: float = 0.0) -> str:
    """Set tables with pdflatex; the text of the PDF where pdftotext can read it, else of the
    log.
    """
    (folder / "tables.tex").write_text(text, encoding="utf-8")
    shape = (
        rf"\setlength{{\columnsep}}{{.3in}}\setlength{{\textwidth}}{{{2 * columns + 0.3}in}}"
        if columns
        else ""
    )
    (folder / "paper.tex").write_text(
        rf"\documentclass[{'twocolumn' if columns else ''}]{{article}}\usepackage[T1]{{fontenc}}{shape}"
        r"\usepackage{textcomp,amssymb,booktabs,tabularx,array}\begin{document}\input{tables.tex}\end{document}",
        encoding="utf-8",
    )
    process = subprocess.run(
        ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
    log = (folder / "paper.log").read_text(errors="replace")
    assert process.returncode == 0, log[-3000:]
    assert "Missing character" not in log
    if shutil.which("pdftotext") is None:
        return log
    return subprocess.run(
        ["pdftotext", "-layout", folder / "paper.pdf", "-"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@needs_pdflatex
def test_latex_compiles_and_shows_the_numbers(audit: Audit, tmp_path: Path) -> None:
    text_of_pages = compiled(latex(paper_tables([audit], include_all=True)), tmp_path)
    if shutil.which("pdftotext"):
        r = audit.audits[0].estimate("test_retest.pearson").value
        assert r is not None
        assert f"{r:.3f}" in text_of_pages
        assert r"\input{/etc/passwd}" in text_of_pages.replace(" ", ""), "shown, not run"
        assert "U+4E2D" in text_of_pages


@needs_pdflatex
def test_every_character_that_is_let_through_compiles(tmp_path: Path) -> None:
    from hqm.reports.latex import latex_tables as module

    letters = (
        [chr(c) for c in range(32, 0x180)]
        + list(module._LATEX_CHARACTERS)
        + list("中😀\u200b\u0301\n\t\x07")
    )
    rows = tuple(
        (Text(f"{letter}{letter} x"), number_cell(-0.5), Text(letter)) for letter in letters
    )
    tables = [
        Table(
            f"t{i}",
            "".join(letters[i : i + 30]),
            (Column("a", "text"), Column("*b"), Column("[c", "text")),
            rows[i : i + 30],
        )
        for i in range(0, len(rows), 30)
    ]
    compiled(latex(tables), tmp_path)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b", r"a\_b"),
        ("[x", "{[}x"),
        ("*", "{*}"),
        ("a--b", "a-{}-{}b"),
        ("a\nb", "a b"),
        ("\x00", ""),
        ("−1", "$-$1"),
        ("é", "é"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_the_command_decides_by_suffix(
    audit: Audit,
    tmp_path: Path,
    run: Run,
) -> None:
    first, second = tmp_path / "one.json", tmp_path / "other.json"
    first.write_text(audit.to_json(), encoding="utf-8")
    renamed = replace(audit.audits[0], benchmark="second", title="Second")
    second.write_text(Audit((renamed,)).to_json(), encoding="utf-8")
    for suffix in (".tex", ".csv", ".md", ".json", ".html"):
        target = tmp_path / f"tables{suffix}"
        assert run("report", first, second, "--to", target)[0] == 0
        assert "Second" in target.read_text(encoding="utf-8")
    figure = ("--figure", "leaderboard", "--to", tmp_path / "f.pdf")
    assert run("report", first, *figure)[0] == 0
    assert (tmp_path / "f.pdf").read_bytes().startswith(b"%PDF")
    status, _, err = run("report", first, "--to", tmp_path / "tables.docx")
    assert status == 2
    assert "cannot be written as '.docx'" in err


def test_a_number_that_does_not_exist_is_a_dash() -> None:
    entry = number_cell(math.nan, 0.1, 0.2)
    assert (entry.text, entry.value, entry.small) == ("–", None, "")
    assert number_cell(1 - 1e-16).text == "1.000"


def test_a_best_score_of_a_type_is_marked_by_the_error_of_its_few_items(audit: Audit) -> None:
    """The intervals of 160 items, .04 wide, tell .9 from .7; those of a type with 20 are 2.8 times
    as wide, and of one with 2 nine times.
    """
    base = audit.audits[0]
    (kind, other), names = list(base.coverage)[:2], base.respondents[:2]
    rows = tuple(
        replace(
            row,
            by_type={**row.by_type, kind: score, other: score},
            intervals={"accuracy": (score - 0.04, score + 0.04)},
        )
        for row, score in zip(names, (0.9, 0.7), strict=True)
    )
    coverage = {
        **base.coverage,
        kind: {**base.coverage[kind], "items": 20},
        other: {**base.coverage[other], "items": 2},
    }
    table = _by_type(replace(base, respondents=rows, coverage=coverage))
    assert table is not None
    titles = [column.title for column in table.columns]
    marks = [[row[titles.index(name)].mark for row in table.rows] for name in (kind, other)]
    assert sorted(marks[0]) == ["", "best"]
    assert marks[1] == ["", ""]
