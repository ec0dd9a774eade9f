"""The further tables of the benchmarks' papers: numbers worked out by hand or counted from the
released files in another way.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hqm.adapters import faithscore, hal_eval
from hqm.reports.pages.report_page import render
from hqm.reports.tables import type_tables

import hqm
from hqm import Item, Response, ScoredAnswer
from hqm.errors import DataError
from hqm.scoring.rules import rouge_l
from tests.messages import tells

pytestmark = pytest.mark.data


def table(analyses: Any, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table, of an audit's or an adapter's."""
    rows = [analysis if isinstance(analysis, dict) else analysis.to_dict() for analysis in analyses]
    return [tuple(row) for entry in rows if entry["name"] == name for row in entry["rows"]]


def answered(benchmark: Any, respondent: str, texts: Mapping[str, str]) -> list[ScoredAnswer]:
    """Answers as an audit hands them to the adapter, scored by its rule."""
    form, scored = benchmark.original, []
    for key, text in texts.items():
        verdict = benchmark.verdict(form.by_id[key], Response(text))
        scored.append(
            ScoredAnswer(
                respondent=respondent,
                item=form.by_id[key],
                text=text,
                value=verdict.value,
                tally=verdict.tally,
            )
        )
    return scored


def judged(item: Item, text: str, value: float, **tally: float) -> ScoredAnswer:
    return ScoredAnswer(respondent="m", item=item, text=text, value=value, tally=tally)


# --- ROUGE-L ---


def test_rouge_l_is_lins() -> None:
    """The examples of Lin (2004), section 3.1, where precision and recall are equal: S2 scores 3/4,
    S3 2/4, S4 2/4.
    """
    reference = "police killed the gunman"
    scores = [
        rouge_l(text, reference)
        for text in ("police kill the gunman", "the gunman kill police", "the gunman police killed")
    ]
    assert scores == [0.75, 0.5, 0.5]
    assert rouge_l("A dog, a cat.", "a DOG a cat") == 1.0
    # 2 of 3 and 2 of 4 words: harmonic mean of 2/3 and 2/4
    assert rouge_l("red dog runs", "a red dog sits") == pytest.approx(
        2 * (2 / 3) * 0.5 / (2 / 3 + 0.5)
    )


# --- FaithScore ---


@pytest.fixture(scope="module")
def faith(data: Path) -> hqm.Audit:
    path = data / "faithscore" / "annotation.jsonl"
    return hqm.Audit((hqm.audit(hqm.load("faithscore", data=data), recorded=path, criterion=path),))


def test_faithscore_descriptive_share_by_question(data: Path, faith: hqm.Audit) -> None:
    """Counted from the released annotation, whose rows are conversation, detail and reasoning in
    turn.
    """
    lines = (data / "faithscore" / "annotation.jsonl").read_text("utf-8").splitlines()
    counts: dict[tuple[str, str], list[int]] = {}
    for i, line in enumerate(lines):
        marks = list(json.loads(line)["stage 1"].values())
        key = ("LLaVA" if i < 90 else "InstructBLIP", ("conv", "detail", "complex")[i % 3])
        counts[key] = [*counts.get(key, []), *marks]
    rows = {
        (respondent.rpartition("/")[2], kind): values
        for respondent, kind, *values in table(faith.audits[0].analyses, "descriptive_share")
    }
    for key, marks in counts.items():
        assert rows[key] == [len(marks), sum(marks), sum(marks) / len(marks)]
    # both respondents together: 454 of 609 for detail, 129 of 672 for reasoning, as the paper's
    # Figure 12 says in words
    assert [
        sum(rows[model, "complex"][i] for model in ("LLaVA", "InstructBLIP")) for i in (0, 1)
    ] == [
        672,
        129,
    ]
    assert sum(rows[model, "all"][0] for model in ("LLaVA", "InstructBLIP")) == 1378


def test_faithscore_by_entities_as_people_labelled(data: Path, faith: hqm.Audit) -> None:
    """BENCHMARKS: 788 of the 1,380 labelled facts are about an entity."""
    rows = table(faith.audits[0].analyses, "labels_by_entities")
    lines = (data / "faithscore" / "annotation.jsonl").read_text("utf-8").splitlines()
    stages = [json.loads(line)["stage 2"] for line in lines]
    rich_answers = [
        facts for facts in stages[90:] if sum(fact[:6] == "There " for fact in facts) > 8
    ]
    assert sum(fact[:6] == "There " for facts in stages for fact in facts) == 788
    row = next(
        row for row in rows if row[0].endswith("InstructBLIP") and row[1] == "9 or more entities"
    )
    assert row[2:] == (
        len(rich_answers),
        pytest.approx(sum(sum(f.values()) / len(f) for f in rich_answers) / len(rich_answers)),
    )
    assert sum(row[2] for row in rows) == sum(bool(facts) for facts in stages)


def test_faithscore_by_entities_as_judged() -> None:
    scores = [("m", 0, 0.0), ("m", 1, 1.0), ("m", 2, 0.5), ("m", 12, 0.25)]
    analysis = faithscore._by_entities("score_by_entities", "t", "a", scores)
    assert analysis.rows == (
        ("m", "0 entities", 1, 0.0),
        ("m", "1 to 2 entities", 2, 0.75),
        ("m", "9 or more entities", 1, 0.25),
    )


def test_tables_are_in_the_file_and_the_report(faith: hqm.Audit, tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_text(faith.to_json(), encoding="utf-8")
    reloaded = hqm.Audit.load(path)
    assert reloaded.to_json() == faith.to_json()
    page = render(reloaded).evidence
    assert type_tables.TITLE in page
    assert tells(page, "faithscore.by-kind")
    assert "307</td>" in page.replace("\n", "").replace(
        " ", ""
    )  # the descriptive sub-sentences of LLaVA
    assert len(type_tables.analysis_figures(reloaded.audits[0])) == 2
    data = json.loads(faith.to_json())
    data["audits"][0]["analyses"][0]["rows"][0].append(1)
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(DataError, match=r"audits\[0\]\.analyses\[0\]\.rows"):
        hqm.Audit.load(path)


# --- objects made up ---


def test_coco_chair_which_objects_where(data: Path) -> None:
    """Four real pictures, whose objects are read from the file, and captions whose made-up objects
    are plain to see.
    """
    benchmark: Any = hqm.load("coco_chair", data=data)
    objects = json.loads((data / "coco" / "objects.json").read_text("utf-8"))
    object_names = {"dog", "person", "car", "banana"}
    free = [key for key, names in objects.items() if not object_names & set(names)]
    peopled = [
        key
        for key, names in objects.items()
        if "person" in names and not {"dog", "car", "banana"} & set(names)
    ]
    texts = {
        free[0]: "A dog and another dog.",  # two mentions, one caption, nobody there
        free[1]: (
            "A man eats a banana."
        ),  # the person is made up, so the picture counts as one with a person
        free[2]: "Nothing.",
        peopled[0]: "A car and a dog.",
    }
    tables = list(benchmark.analyses(answered(benchmark, "m", texts)))
    assert table(tables, "made_up_objects") == [
        ("m", "dog", "animal", 3, 0.5, 2, 4),
        ("m", "banana", "food", 1, 1 / 6, 1, 4),
        ("m", "car", "vehicle", 1, 1 / 6, 1, 4),
        ("m", "person", "person", 1, 1 / 6, 1, 4),
    ]
    assert table(tables, "made_up_categories")[0] == ("m", "animal", 3, 0.5)
    assert table(tables, "made_up_beside_person") == [
        ("m", "banana", 1, 2, 0.5, 0.0),
        ("m", "car", 1, 2, 0.5, 0.0),
        ("m", "dog", 1, 2, 0.5, 0.5),
    ]


def test_coco_categories_cover_the_list(data: Path) -> None:
    """COCO has 80 objects in 12 supercategories; the release's list has no other object."""
    from hqm.adapters.coco_chair import CATEGORY

    names = set(
        json.loads((data / "coco" / "synonyms.json").read_text("utf-8"))["inverse"].values()
    ) - {""}
    assert len(CATEGORY) == 80
    assert len(set(CATEGORY.values())) == 12
    assert names <= set(CATEGORY)


def test_amber_which_objects_where(data: Path) -> None:
    """Picture 10 has ball, man, hat, sky and tie; picture 1 has nobody in it."""
    benchmark: Any = hqm.load("amber_g", data=data)
    assert "man" in benchmark.annotations["10"]["truth"]
    nobody = next(
        i.id
        for i in benchmark.original.items
        if not {"man", "woman", "person", "child", "boy", "girl", "people", "zebra"}
        & set(benchmark.annotations[i.id]["truth"])
    )
    answers = answered(
        benchmark,
        "m",
        {"10": "There is a man. There is a zebra. There is a zebra.", nobody: "There is a zebra."},
    )
    tables = list(benchmark.analyses(answers))
    assert table(tables, "made_up_objects") == [("m", "zebra", "animals", 3, 1.0, 2, 2)]
    by_category = table(tables, "objects_by_category")
    assert len(by_category) == 14
    true = [set(benchmark.annotations[name]["truth"]) for name in ("10", nobody)]
    assert sum(row[2] for row in by_category) == sum(map(len, true))
    assert table(tables, "made_up_beside_person") == [("m", "zebra", 1, 1, 1.0, 1.0)]


# --- Hal-Eval ---


def test_hal_eval_types_by_length() -> None:
    item = Item("in_domain/1/short", "?", "caption", meta={"kind": "short"})
    answers = [
        judged(item, "", 1.0, n=1, hallucinated=0, words=10),
        judged(item, "", 0.0, n=1, hallucinated=1, words=11, object=1),
        judged(item, "", 0.0, n=1, hallucinated=1, words=20, object=1, event=1),
        judged(item, "", 0.0, n=1, hallucinated=1, words=200, event=1),
        ScoredAnswer(respondent="m", item=item, text="", value=None, tally={}),
    ]
    assert hal_eval._by_length(answers).rows == (
        ("m", "1 to 10 words", 1, 0, 0.0, None, None, None, None),
        ("m", "11 to 20 words", 2, 2, 1.0, 1.0, 0.0, 0.0, 0.5),
        ("m", "over 80 words", 1, 1, 1.0, 0.0, 0.0, 0.0, 1.0),
    )


def test_hal_eval_overlap_and_located_spans(data: Path) -> None:
    """The first picture of the release: “people on bicycles ride down a busy street” and its four
    hallucinated captions.
    """
    benchmark: Any = hqm.load("hal_eval_d", data=data, part="in_domain")
    texts = {
        "in_domain/1/relation": 'No, they do not ride "up" it.',
        "in_domain/1/object": "No: there are no 'unicycles ride' here.",
        "in_domain/1/attribute": "no",
        "in_domain/1/event": 'Yes, "with onlookers".',  # it does not reject the caption
        "in_domain/1/truth": 'No, it is "wrong".',
    }
    tables = list(benchmark.analyses(answered(benchmark, "m", texts)))
    # 8 words each, of which 7, 7 and 6 are common; the event's 15 words have all 8
    overlap = {row[1]: row[2:] for row in table(tables, "overlap_with_truth")}
    assert overlap == {
        "relation": (1, 8.0, 1.0, 14 / 16),
        "object": (1, 8.0, 1.0, 14 / 16),
        "attribute": (1, 8.0, 2.0, 12 / 16),
        "event": (1, 15.0, 7.0, 16 / 23),
    }
    assert table(tables, "located_spans") == [
        ("m", "relation", 1, 1, 1.0),
        ("m", "object", 1, 1, pytest.approx(2 / 3)),
    ]


# --- VALOR ---


def test_valor_judge_beside_chair(data: Path) -> None:
    """Captions of three real pictures; CHAIR's sums are counted by hand from their annotation."""
    benchmark: Any = hqm.load("valor", data=data)
    items = [item for item in benchmark.original.items if item.part == "object_existence"][:3]
    absent = next(
        word
        for word in ("giraffe", "zebra", "train")
        if any(word in i.target for i in benchmark.original.items if i.part == "object_existence")
        and not any(word in i.target for i in items)
    )
    texts = [
        f"There is a {items[0].target[0]} and a {absent}.",
        f"A {items[1].target[0]}.",
        f"A {absent}.",
    ]
    tallies = [(2, 2, 10, 1, 1.0), (1, 1, 10, 1, 1.0), (2, 1, 10, 1, 0.5)]
    answers = [
        judged(item, text, value, generated=g, faithful=f, truth=t, covered=c)
        for item, text, (g, f, t, c, value) in zip(items, texts, tallies, strict=True)
    ]
    (row,) = table(benchmark.analyses(answers), "judge_and_chair")
    annotated = sum(len({name.lower() for name in item.target}) for item in items)
    assert row[:8] == ("m", 3, 4 / 5, 2 / 4, 3 / 30, 2 / annotated, 5, 4)
    # faithfulness of the judge 1, 1, .5 and of CHAIR .5, 1, 0: r = .25 / sqrt(1/6 * 1/2) by hand
    assert row[8] == pytest.approx(0.25 / math.sqrt(1 / 6 * 1 / 2))


def test_a_benchmark_without_tables_has_no_section(dogs: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.jsonl"
    path.write_text(
        "".join(json.dumps({"id": f"q{i}", "answer": "yes"}) + "\n" for i in range(12)),
        encoding="utf-8",
    )
    audit = hqm.Audit((hqm.audit(str(dogs), recorded=path),))
    assert audit.audits[0].analyses == ()
    assert type_tables.TITLE not in render(audit).evidence
