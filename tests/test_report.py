"""The report: self-contained, the same bytes for the same audit, hostile text escaped, every number signed."""

import html.parser
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hqm.reports import tables
from hqm.reports.figures import scatter
from hqm.reports.html import render

import hqm
from hqm import Audit, Store
from tests.conftest import administered, recorded

HOSTILE = '<script>alert("x")</script>" onmouseover="y" \' {{ 7*7 }} &amp; </table>'


@pytest.fixture
def audit(make_benchmark: Callable[..., Path], store: Store) -> Audit:
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
    folder = make_benchmark(
        rows,
        title=f"Title {HOSTILE}",
        summary=HOSTILE,
        types=list(hqm.HALLUCINATION_TYPES),
        labelled=True,
        name="hostile",
    )
    benchmark = hqm.load(str(folder))
    forms = {"original": benchmark.original, "parallel": benchmark.parallel(benchmark.original)}
    people = []
    for k in range(6):
        cells = {}
        for form, run in (("original", 0), ("original", 1), ("parallel", 0)):
            right = (0.5 + 0.09 * k) if form == "original" else 0.45 + 0.05 * k
            cells[form, run] = {
                i.id: HOSTILE
                if rng.random() < 0.03
                else (str(i.target) if rng.random() < right else {"yes": "no", "no": "yes"}[i.target])
                for i in forms[form].items
            }
        people.append(recorded(f"model-{k}{'<b>' if k == 3 else ''}", cells))
    desk, stored = administered(store, benchmark, people)
    return Audit((hqm.audit(benchmark, desk, stored),), f"hqm audit {HOSTILE}", {"packages": {"numpy": "2"}})


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


def test_hostile_text_is_escaped(audit: Audit) -> None:
    page = render(audit)
    parsed = Page(page)
    assert not [tag for tag, _ in parsed.tags if tag == "script"]
    assert not [name for _, attributes in parsed.tags for name in attributes if name.startswith("on")]
    assert "<b>" not in page
    assert "7*7" in page, "the template engine does not run what data say"
    assert any('<script>alert("x")</script>' in text for text in parsed.text), "but the text is shown"


def test_nothing_is_fetched(audit: Audit) -> None:
    parsed = Page(render(audit))
    for tag, attributes in parsed.tags:
        assert tag not in ("script", "link", "iframe", "object", "embed", "img"), tag
        for name in ("src", "href", "xlink:href", "data"):
            target = attributes.get(name) or "#"
            assert target.startswith("#"), f"{tag} {name}={target}"
    assert "@import" not in render(audit)
    assert "url(" not in re.sub(r"url\(#\w+\)", "", render(audit)), (
        "clip paths inside the drawings are all that is referred to"
    )


def test_everything_is_there(audit: Audit) -> None:
    page = " ".join(Page(render(audit)).text)
    for caption in ("Quality of the benchmarks", "Respondents", "Indicators", "First against other administration", "by type", "Share of answers yes",
                    "Mean length of an answer", "Coverage of hallucination types", "How the answers came out", "Forms", "Run record", "Signatures"):  # fmt: skip
        assert caption in page, caption
    for word in ("model-0", "Test-retest", "Parallel forms", "noise floor", "unparsed", "acquiescence"):
        assert word in page, word


def test_every_estimate_carries_its_signature(audit: Audit) -> None:
    parsed = Page(render(audit))
    titles = [attributes.get("title") or "" for _, attributes in parsed.tags]
    for estimate in audit.audits[0].estimates:
        assert any(estimate.signature in title for title in titles), estimate.indicator
    text = " ".join(parsed.text)
    assert all(estimate.signature in text for estimate in audit.audits[0].estimates), "and again as notes"


def test_tables_are_tables_for_those_who_hear_them(audit: Audit) -> None:
    parsed = Page(render(audit))
    heads = [attributes for tag, attributes in parsed.tags if tag == "th"]
    assert heads
    assert all(attributes.get("scope") in ("col", "row") for attributes in heads)
    assert sum(tag == "caption" for tag, _ in parsed.tags) == sum(tag == "table" for tag, _ in parsed.tags)
    assert all(
        attributes.get("aria-label") for tag, attributes in parsed.tags if attributes.get("role") in ("img", "region")
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
    one = audit.audits[0]
    missing = [e for e in one.estimates if e.value is None]
    for estimate in missing:
        shown = tables.estimate(estimate)
        assert shown.text == "–"
        assert estimate.reason in shown.behind


def test_the_summary_does_not_average(audit: Audit) -> None:
    assert not [c for c in tables.summary(audit).columns if "verage" in c]
    assert "never averaged" in tables.summary(audit).notes[0]


def test_the_leaderboard_is_sorted_by_the_metrics_direction(audit: Audit) -> None:
    scores = [row[1].text for row in tables.leaderboard(audit.audits[0]).rows]
    assert scores == sorted(scores, reverse=True)


def test_a_drawing_takes_the_pages_colours(audit: Audit) -> None:
    one = audit.audits[0]
    svg = scatter(one, "accuracy", one.cells[1], "x", "y", [r.name for r in one.respondents])
    assert "currentColor" in svg
    assert "var(--accent)" in svg
    assert not re.search(r"#0[0-9a-f]{5}", svg.replace("#000000", "")), "no drawing ink is left"
    assert "<b>" not in svg
    assert "model-5" in svg
    assert scatter(one, "accuracy", one.cells[1], "x", "y", [r.name for r in one.respondents]) == svg


def test_the_report_is_small(audit: Audit) -> None:
    assert len(render(audit)) < 500_000
