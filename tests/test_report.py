"""The report: self-contained, the same bytes for the same audit, hostile text escaped, every number
signed.
"""

import base64
import hashlib
import html.parser
import itertools
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hqm.reports.figures.drawings import scatter
from hqm.reports.latex.paper import paper_tables
from hqm.reports.pages import evidence_page
from hqm.reports.pages.phrases import plain_text
from hqm.reports.pages.report_page import Rendered, render
from hqm.reports.pages.sentences import answer_questions, headline
from hqm.reports.tables import evidence_tables, score_tables
from hqm.reports.tables import table as tables

import hqm
from hqm import Audit, Store, load
from tests.conftest import Run, administered, recorded, write_benchmark
from tests.messages import tells, text_of

HOSTILE = '<script>alert("x")</script>" onmouseover="y" \' {{ 7*7 }} &amp; </table>'


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audit]:
    with Store(tmp_path_factory.mktemp("report") / "store.sqlite") as store:
        yield made(tmp_path_factory.mktemp("hostile"), store)


@pytest.fixture(scope="module")
def pages(audit: Audit) -> Rendered:
    return render(audit)


@pytest.fixture(scope="module")
def page(pages: Rendered) -> str:
    """The evidence."""
    return pages.evidence


@pytest.fixture(params=["report", "evidence"])
def either(request: pytest.FixtureRequest, pages: Rendered) -> str:
    """Both pages, one after the other."""
    return str(getattr(pages, request.param))


def made(home: Path, store: Store) -> Audit:
    rng = random.Random(0)
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a thing {i} in the image?",
            "target": "yes" if i % 2 else "no",
            "image": f"{i // 3}.png",
            "type": hqm.HALLUCINATION_TYPES[i % 8],
        }
        for i in range(120)
    ]
    folder = write_benchmark(
        home / "hostile",
        rows,
        title=f"Title {HOSTILE}",
        summary=HOSTILE,
        types=list(hqm.HALLUCINATION_TYPES),
        labelled=True,
        name="hostile",
    )
    benchmark = hqm.load(str(folder))
    forms = {"original": benchmark.original, "parallel": benchmark.parallel(benchmark.original)}
    respondents = []
    for k in range(6):
        cells = {}
        for form, run in (("original", 0), ("original", 1), ("parallel", 0)):
            right = (0.5 + 0.09 * k) if form == "original" else 0.45 + 0.05 * k
            cells[form, run] = {
                i.id: (
                    HOSTILE
                    if rng.random() < 0.03
                    else (
                        str(i.target)
                        if rng.random() < right
                        else {"yes": "no", "no": "yes"}[i.target]
                    )
                )
                for i in forms[form].items
            }
        respondents.append(recorded(f"model-{k}{'<b>' if k == 3 else ''}", cells))
    stored = administered(store, benchmark, respondents)
    return Audit(
        (hqm.audit(hqm.gather(benchmark, store, stored)),),
        f"hqm audit {HOSTILE}",
        {"packages": {"numpy": "2"}},
    )


class Page(html.parser.HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_same_audit_gives_the_same_bytes(audit: Audit, tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text(audit.to_json())
    first = render(audit)
    assert render(audit) == first
    assert render(Audit.load(tmp_path / "audit.json")) == first


def test_hostile_text_is_escaped(either: str) -> None:
    parsed = Page(either)
    assert sum(tag == "script" for tag, _ in parsed.tags) == 1, (
        "our own, and none that data brought"
    )
    assert not [
        name for _, attributes in parsed.tags for name in attributes if name.startswith("on")
    ]
    assert '<script>alert("x")' not in either
    assert "7*7" in either, "the template engine does not run what data say"
    assert any('<script>alert("x")</script>' in text for text in parsed.text), (
        "but the text is shown"
    )


def test_nothing_is_fetched(either: str) -> None:
    parsed = Page(either)
    for tag, attributes in parsed.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base"), tag
        for name in ("src", "href", "xlink:href", "data", "srcset", "action"):
            target = attributes.get(name) or "#"
            pictures = ("data:image/jpeg;base64,",) if tag in ("img", "image") else ()
            allowed = ("#", "evidence.html", *pictures)
            assert target.startswith(allowed), f"{tag} {name}={target}"
    assert "@import" not in either
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", either), (
        "clip paths inside the drawings are all that is referred to"
    )


def test_everything_is_there(audit: Audit, page: str) -> None:
    page = " ".join(Page(page).text)
    for caption in (
        "Error budget of accuracy, in points",
        "Gaps of the leaderboard",
        "Everything to correct",
        "Reliability by source of error",
        "Warnings",
        "Leaderboard",
        "Sets, all pairs",
        "First and other administrations compared",
        "by type",
        "Share of yes answers",
        "Response bias",
        "Mean length of an answer",
        "Coverage of types",
        "Item map",
        "Items to look at",
        "Blind solvability",
        "How the answers came out",
        "Forms",
        "G study",
        text_of("report.d-study"),
        "limits of agreement",
        "Examples",
        "Run record",
        "Signatures",
    ):
        assert caption in page, caption
    for word in (
        "model-0",
        "Test-retest",
        "Parallel forms",
        "noise floor",
        "unparsed",
        "acquiescence",
    ):
        assert word in page, word


def test_a_section_is_added_in_one_place(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    def added(benchmark: hqm.BenchmarkAudit) -> Iterator[evidence_page.Subsection]:
        rows = [(tables.Text(r.name), tables.Text("7")) for r in benchmark.respondents]
        table = tables.Table.for_page("Sevens of all", ("Respondent", "Seven"), rows, right=(1,))
        yield evidence_page.Subsection("My section", [table], anchor="sevens")

    monkeypatch.setattr(evidence_page, "_subsections", added)
    parsed = Page(render(audit).evidence)
    assert {"My section", "Sevens of all"} <= set(parsed.text)
    assert ("a", "#b1-sevens") in [(tag, a.get("href")) for tag, a in parsed.tags]


def test_every_estimate_carries_its_signature(audit: Audit, page: str) -> None:
    parsed = Page(page)
    titles = [attributes.get("title") or "" for _, attributes in parsed.tags]
    for estimate in audit.audits[0].all_estimates:
        indicator = hqm.indicator_named(estimate.indicator)
        assert indicator is not None
        on_page = any(estimate.signature in title for title in titles)
        # of several coefficients for one question the page shows one, and the data hold the rest
        assert on_page == indicator.on_page, estimate.indicator
    text = " ".join(parsed.text)
    assert all(estimate.signature in text for estimate in audit.audits[0].all_estimates), (
        "and again as notes"
    )


def test_tables_are_tables_for_those_who_hear_them(pages: Rendered) -> None:
    parsed = Page(pages.evidence)
    heads = [attributes for tag, attributes in parsed.tags if tag == "th"]
    assert heads
    assert all(attributes.get("scope") in ("col", "row") for attributes in heads)
    assert sum(tag == "caption" for tag, _ in parsed.tags) == sum(
        tag == "table" for tag, _ in parsed.tags
    )
    assert all(
        attributes.get("aria-label")
        for tag, attributes in parsed.tags
        if attributes.get("role") in ("img", "region")
    )
    assert [a for t, a in parsed.tags if t == "html"] == [{"lang": "en"}]


def test_a_number_is_rounded_in_one_place() -> None:
    assert tables.number(0.94328) == "0.943"
    assert tables.number(0.99968) == "0.9997", "never 1.000 for what is not 1"
    assert tables.number(1.0) == "1.000"
    assert tables.number(-0.0004) == "0.000", "no minus before zero"
    assert tables.number(-0.25, 1) == "−0.2"
    assert tables.number(None) == tables.number(float("nan")) == "–"


def test_a_dash_has_its_reason_behind(audit: Audit) -> None:
    benchmark = audit.audits[0]
    missing = [e for e in benchmark.all_estimates if e.value is None]
    for estimate in missing:
        cell = tables.estimate_text(estimate)
        assert cell.text == "–"
        assert estimate.reason in cell.tooltip


def test_the_summary_does_not_average(audit: Audit) -> None:
    table, errors = paper_tables([audit])
    for columns in (table.columns, errors.columns):
        assert not [column for column in columns if "verage" in column.title]
    assert tells(" ".join(errors.notes), "report.no-average")


def test_the_leaderboard_is_sorted_by_the_metrics_direction(audit: Audit) -> None:
    scores = [row[1].text for row in score_tables.leaderboard(audit.audits[0]).rows]
    assert scores == sorted(scores, reverse=True)


def test_a_drawing_takes_the_pages_colours(audit: Audit) -> None:
    benchmark = audit.audits[0]
    svg = scatter(
        benchmark, "accuracy", benchmark.cells[1], "x", "y", [r.name for r in benchmark.respondents]
    )
    assert "currentColor" in svg
    assert "var(--accent)" in svg
    assert not re.search(r"#0[0-9a-f]{5}", svg.replace("#000000", "")), "no drawing ink is left"
    assert "<b>" not in svg
    assert "model-5" in svg
    assert (
        scatter(
            benchmark,
            "accuracy",
            benchmark.cells[1],
            "x",
            "y",
            [r.name for r in benchmark.respondents],
        )
        == svg
    )


def test_the_report_is_small(pages: Rendered) -> None:
    assert len(pages.report) < 300_000
    assert len(pages.evidence) < 1_500_000


def said(audit: hqm.BenchmarkAudit) -> dict[str, str]:
    """Question -> answer."""
    return {
        answer.question_text: plain_text(answer.sentences) for answer in answer_questions(audit)
    }


def test_the_seven_answers_are_in_numbers(audit: Audit) -> None:
    benchmark = audit.audits[0]
    answers = said(benchmark)
    rho = tables.number(benchmark.estimate("test_retest.rho_g").value).removeprefix("0")
    assert rho in answers["Do the scores repeat?"]
    shift = benchmark.estimate("parallel_forms.mean_shift").value or 0.0
    assert (
        tables.number(100 * shift, 1).removeprefix("−") in answers["Does the wording change them?"]
    )
    assert answers["Do people agree?"].startswith("Not measured")
    n_separated = benchmark.estimate("discriminability.separable_pairs").detail["apart"]
    assert f"{n_separated} of 15 pairs of models differ" in answers["Which models differ?"]
    assert not re.search(r"\b(grade|overall|average)\b", " ".join(answers.values()), re.IGNORECASE)


def test_numbers_lead_to_their_signatures(pages: Rendered) -> None:
    parsed, report_page = Page(pages.evidence), Page(pages.report)
    anchors = {attributes.get("id") for _, attributes in parsed.tags}
    links = [a for tag, a in parsed.tags if tag == "a" and a.get("class") == "sig"]
    assert len(links) > 40
    assert all((link["href"] or "")[1:] in anchors for link in links)
    assert all("answers:" in (link["title"] or "") for link in links)
    evidence_links = [
        a for tag, a in report_page.tags if tag == "a" and "evidence.html#" in (a["href"] or "")
    ]
    assert len(evidence_links) > 10
    assert {(link["href"] or "").partition("#")[2] for link in evidence_links} <= anchors
    numbers = [a for a in evidence_links if a.get("class") == "number"]
    assert numbers
    assert all("answers:" in (link["title"] or "") for link in numbers)


def without(audit: hqm.BenchmarkAudit, *families: str) -> hqm.BenchmarkAudit:
    estimates = tuple(
        e for e in audit.all_estimates if e.indicator.partition(".")[0] not in families
    )
    return replace(audit, all_estimates=estimates, flags=())


ALL = (
    "test_retest",
    "parallel_forms",
    "criterion",
    "consistency",
    "generalizability",
    "discriminability",
    "items",
    "solvability",
    "types",
)


@pytest.mark.parametrize("unmeasured", [*((family,) for family in ALL), ALL])
def test_what_was_not_measured_is_named_and_never_stops_the_report(
    audit: Audit, unmeasured: tuple[str, ...]
) -> None:
    benchmark = without(audit.audits[0], *unmeasured)
    if {"test_retest", "parallel_forms"} & set(unmeasured):
        benchmark = replace(benchmark, budget={})
    page = render(replace(audit, audits=(benchmark,))).report
    answers = said(benchmark)
    for family, question in {
        "test_retest": "Do the scores repeat?",
        "parallel_forms": "Does the wording change them?",
        "discriminability": "Which models differ?",
    }.items():
        if family in unmeasured:
            assert answers[question].startswith("Not measured"), answers[question]
    assert "not measured" in page.lower()


def test_estimates_without_a_number_are_named_with_their_reason(audit: Audit) -> None:
    benchmark = audit.audits[0]
    insufficient = tuple(
        replace(
            e, value=None, status="insufficient", reason="too few of them", intervals=(), detail={}
        )
        for e in benchmark.all_estimates
    )
    bare_audit = replace(benchmark, all_estimates=insufficient, flags=())
    assert "too few of them" in said(bare_audit)["Do the scores repeat?"]
    assert "too few of them" in render(replace(audit, audits=(bare_audit,))).evidence


def test_error_sources_stand_in_rows_and_are_never_averaged(audit: Audit) -> None:
    benchmark = audit.audits[0]
    table = evidence_tables.reliability(benchmark)
    rows = {row[0].text: row for row in table.rows}
    assert [row[0].text for row in table.rows][:2] == ["Another seed", "Another wording"]
    assert rows["Another seed"][2].text == tables.number(
        benchmark.estimate("test_retest.pearson").value
    )
    assert rows["Another seed"][3].text == tables.number(
        benchmark.estimate("test_retest.rho_g").value
    )
    assert rows["Another seed"][5].text == tables.number(
        benchmark.estimate("test_retest.noise_floor").value
    )
    assert rows["Another seed"][6].text == tables.number(
        benchmark.estimate("test_retest.rho_g_1000").value
    )
    assert "these respondents" in rows["Another seed"][4].text
    # the six respondents are of one family by their names, which says nothing of others
    assert "others like them" not in rows["Another seed"][4].text
    assert "not measured" in rows[text_of("report.people")][0].small
    assert not [row for row in table.rows if "verage" in row[0].text]


def test_terms_are_explained_where_they_first_appear(either: str) -> None:
    marked = re.findall(r'<dfn tabindex="0" data-means="([^:]+): ([^"]+)">', either)
    assert len(marked) == len({term for term, _ in marked}) >= 2
    assert "reliability" in {term for term, _ in marked}
    assert all(len(means) > 20 for _, means in marked)


def test_the_verdict_opens_the_page(audit: Audit, pages: Rendered) -> None:
    head = headline(audit.audits[0])
    text = " ".join(" ".join(Page(pages.report).text).split())
    assert head.state in text
    assert text.index(head.state) < text.index("Another seed") < text.index("Seven questions")
    assert len(head.text.split()) <= 35


def test_examples_show_prompts_answers_and_verdicts_as_text(audit: Audit) -> None:
    benchmark = audit.audits[0]
    assert 0 < len(benchmark.examples) <= 60
    assert {facet for example in benchmark.examples for facet in example["facets"]} == {
        "run",
        "form",
    }
    example = benchmark.examples[0]
    assert set(example["prompts"]) == {"original", "parallel"}
    assert {answer["cell"] for answer in example["answers"]} == set(benchmark.cells)
    assert all(0 < gap <= 1 for gap in example["facets"].values())
    hostile = [
        answer
        for example in benchmark.examples
        for answer in example["answers"]
        if answer["text"] == HOSTILE
    ]
    assert hostile, "the planted answers are among them"
    assert hostile[0]["state"] == "unparsed"


def test_a_thumbnail_is_small_and_a_broken_picture_is_left_out(tmp_path: Path) -> None:
    from PIL import Image

    from hqm.auditing.disagreements import PIXELS, thumbnail

    Image.new("RGBA", (900, 300), "red").save(tmp_path / "wide.png")
    kind, _, data = thumbnail(tmp_path / "wide.png").partition(",")
    assert kind == "data:image/jpeg;base64"
    (tmp_path / "small.jpg").write_bytes(base64.b64decode(data))
    with Image.open(tmp_path / "small.jpg") as small:
        assert small.size == (PIXELS, PIXELS // 3)
    (tmp_path / "broken.png").write_bytes((tmp_path / "wide.png").read_bytes()[:60])
    (tmp_path / "text.png").write_text("no picture")
    assert (
        thumbnail(tmp_path / "broken.png")
        == thumbnail(tmp_path / "text.png")
        == thumbnail(tmp_path / "none.png")
        == ""
    )


def test_examples_can_be_filtered_by_what_they_are(audit: Audit, page: str) -> None:
    parsed = Page(page)
    rows = [a for t, a in parsed.tags if t == "li" and "data-facet" in a]
    assert len(rows) == len(audit.audits[0].examples)
    names = {a.get("name") for t, a in parsed.tags if t in ("select", "input")}
    assert names == {"facet", "type", "respondent", "search", "why", "fails", "marked", "mark"}


def test_only_our_own_script_may_run(either: str) -> None:
    page = either
    script = page[page.rindex("<script>") + len("<script>") : page.rindex("</script>")]
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert (
        f"script-src &#39;sha256-{hashed}&#39;" in page or f"script-src 'sha256-{hashed}'" in page
    )
    assert not re.search(r"fetch|XMLHttpRequest|innerHTML|eval|import\(|https?:", script)


def luminance(colour: str) -> float:
    """WCAG 2: relative luminance."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_reports_colours_stand_out_in_both_themes(pages: Rendered) -> None:
    style = pages.report.partition("<style>")[2].partition("</style>")[0]
    palettes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(palettes) == 3, "light, dark, print"
    for palette in palettes:
        for text in ("ink", "quiet", "link", "fine", "look", "wrong", "none"):
            for ground in ("paper", "band"):
                assert contrast(palette[text], palette[ground]) >= 4.5, (text, ground)


def test_text_stands_out_from_its_ground_in_both_themes(page: str) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    style = page.partition("<style>")[2].partition("</style>")[0]
    palettes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(palettes) == 3, "light, dark, print"
    for palette in palettes:
        grounds = ["paper", "band", *([] if "mark" not in palette else ["mark"])]
        pairs = [
            (text, ground)
            for text in ("ink", "quiet", "accent", "warn", "good")
            for ground in grounds
        ]
        pairs += [("ink", f"heat{i}") for i in range(7)]
        for text, ground in pairs:
            if (text, ground) in (("accent", "mark"), ("warn", "mark"), ("good", "mark")):
                continue  # never set on it
            assert contrast(palette[text], palette[ground]) >= 4.5, (text, ground)


def test_headings_go_down_step_by_step(either: str) -> None:
    parsed = Page(either)
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = [a["id"] for _, a in parsed.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert all(a.get("alt") for tag, a in parsed.tags if tag == "img")


def test_controls_have_labels(page: str) -> None:
    parsed = Page(page)
    controls = sum(tag in ("select", "input") for tag, _ in parsed.tags)
    assert len(re.findall(r"<label>[^<]+<(?:select|input)", page)) == controls > 0
    assert "summary" in {tag for tag, _ in parsed.tags}


@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no chromium here")
def test_a_real_browser_runs_it_without_an_error(audit: Audit, page: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page)
    common = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'home'}",
        "--enable-logging=stderr",
        "--v=0",
    ]
    process = subprocess.run(
        [*common, "--virtual-time-budget=4000", "--dump-dom", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    assert (
        f"{len(audit.audits[0].examples)} of {len(audit.audits[0].examples)} shown"
        in process.stdout
    ), "the script ran"
    assert "CONSOLE" not in process.stderr, [
        line for line in process.stderr.splitlines() if "CONSOLE" in line
    ]


@pytest.mark.parametrize(
    ("name", "words"), [("shapes_choice", "Position bias was"), ("shapes_yesno", "acquiescence")]
)
def test_what_a_bias_needs_is_said_of_the_task(
    run: Run, tmp_path: Path, name: str, words: str
) -> None:
    rows = [
        f"{respondent},{item.id},{item.target if number % k else 'B'}"
        for k, respondent in enumerate(("ada", "bea", "cora"), 2)
        for number, item in enumerate(load(name).original.items)
    ]
    answers = tmp_path / "answers.csv"
    answers.write_text("\n".join(["respondent,item,answer", *rows]))
    command = ["audit", name, "--recorded", answers, "--out", tmp_path, "-q"]
    status, _, errors = run(*command)
    assert status == 0, errors
    (audit,) = Audit.load(tmp_path / "audit.json").audits
    (subsection,) = evidence_page._bias(audit)
    assert [words in remark for remark in subsection.remarks] == [True]
