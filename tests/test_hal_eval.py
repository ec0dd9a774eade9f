"""Hal-Eval on the real files: golden records, the released answer lists, metrics by a rival, the
evaluator's protocol.
"""

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hqm.adapters.hal_eval import TRUE, UNSHOWN

import hqm
from hqm.administration.stored_answers import forms_of
from hqm.auditing.one_file import score_file
from hqm.benchmark.judge_api import replay
from hqm.types import Response

ORDER = ("truth", "relation", "object", "attribute", "event")


@pytest.fixture(scope="module")
def questions(data: Path) -> Any:
    return hqm.load("hal_eval_d", data=data)


@pytest.fixture(scope="module")
def descriptions(data: Path) -> Any:
    return hqm.load("hal_eval_g", data=data)


# --- the data ---


def test_count_first_tenth_last(questions: Any) -> None:
    """Read off the two evaluation files."""
    items = questions.original.items
    assert len(items) == 50000
    assert Counter((i.part, i.meta["kind"], i.type, i.target) for i in items) == {
        (part, kind, kind_of, "yes" if kind == "truth" else "no"): 5000
        for part in ("in_domain", "out_of_domain")
        for kind, kind_of in zip(
            ORDER, (None, "relation", "existence", "attribute", "action"), strict=True
        )
    }
    golden = [
        (
            0,
            "in_domain/1/truth",
            "val2014/COCO_val2014_000000462565.jpg",
            "people on bicycles ride down a busy street ",
        ),
        (
            9,
            "in_domain/2/event",
            "val2014/COCO_val2014_000000394240.jpg",
            (
                "A number of motorbikes parked on an alley, ready to take part in the upcoming"
                " street race."
            ),
        ),
        (45, "in_domain/10/truth", None, "The view of runway from behind the windows of airport."),
        (
            25000,
            "out_of_domain/1/truth",
            "out_of_domain/007675839.jpg",
            "chickens and eggs in an enclosed cage on a farm stock images",
        ),
        (
            49995,
            "out_of_domain/5000/truth",
            None,
            "an elaborate costume that looks like an image, but has to be more elaborate",
        ),
    ]
    for index, key, image, caption in golden:
        item = items[index]
        assert (item.id, item.meta["caption"]) == (key, caption)
        assert image is None or item.image == image
        assert f"```{caption}```" in item.prompt


def test_oddities(questions: Any, descriptions: Any) -> None:
    counts = {f.name: f.count for f in questions.check(questions.original)}
    assert counts["out_of_domain-empty"] == 2
    assert counts["in_domain-whitespace"] == 705
    assert (counts["in_domain-event-length"], counts["out_of_domain-event-length"]) == (4993, 4995)
    assert counts["out_of_domain-full-stop"] == 0
    assert counts["out_of_domain-repeated"] == 5  # 4,995 distinct pictures
    assert {f.name for f in descriptions.check(descriptions.original)} == {
        "out_of_domain-repeated",
        "pictures-not-distributed",
    }


def test_descriptions_short_and_long(descriptions: Any) -> None:
    form, parallel = descriptions.original, descriptions.parallel_form
    assert len(form) == len(parallel) == 20000
    pairs = {(a.prompt, b.prompt) for a, b in zip(form.items, parallel.items, strict=True)}
    assert pairs == {
        (
            "Describe this image in one short sentence.",
            "Give a one-sentence description of this image.",
        ),
        ("Describe this image in detail.", "Provide a detailed description of this image."),
    }
    assert set(descriptions.subsets(form.items[1])) == {"in_domain", "long", "in_domain.long"}


def test_fifty_thousand_questions_load(data: Path) -> None:
    assert len(hqm.load("hal_eval_d", data=data).original) == 50000


# --- forms ---


def test_four_forms_of_one_question(questions: Any) -> None:
    forms = {form.name: form for form in forms_of(questions)}
    assert list(forms) == ["original", "parallel", "flipped", "cot"]
    assert {len(form) for form in forms.values()} == {50000}
    first = {name: form.items[0] for name, form in forms.items()}
    assert {name: item.target for name, item in first.items()} == {
        "original": "yes",
        "parallel": "yes",
        "flipped": "no",
        "cot": "yes",
    }
    assert first["cot"].prompt.startswith(first["parallel"].prompt + "\n")
    assert "does not match the image?" in first["flipped"].prompt
    assert all(
        a.target != b.target
        for a, b in zip(forms["original"].items, forms["flipped"].items, strict=True)
    )


def test_further_wordings_ask_whether_all_or_anything_is_untrue(questions: Any) -> None:
    few = replace(questions.original, items=questions.original.items[:5])
    for draw, template, are_turned in ((2, TRUE, False), (3, UNSHOWN, True)):
        reworded = questions.rewording(few, draw, ())
        assert reworded.name == f"parallel{draw}"
        for item, asked in zip(few.items, reworded.items, strict=True):
            assert asked.prompt == template.format(caption=item.meta["caption"].strip())
            assert (asked.target != item.target) == are_turned


def test_further_forms_are_made_once_and_can_be_named(data: Path, tmp_path: Path) -> None:
    from hqm.commands.options import MaterialOptions, RunOptions
    from hqm.commands.session import Session

    with hqm.Store(tmp_path / "store.sqlite") as store:
        session = Session(
            ["hal_eval_d"],
            store,
            RunOptions(material=MaterialOptions(forms=("original", "cot"), limit=10, data=data)),
        )
        benchmark = session.benchmarks[0]
        assert [form.name for form in session.forms.named(benchmark)] == ["original", "cot"]
        assert benchmark.further_forms is benchmark.further_forms
        assert {len(form) for form in session.forms.named(benchmark)} == {10}


@pytest.mark.parametrize(
    ("form", "text", "answer"),
    [
        ("original", "Yes", "yes"),
        ("original", "I know it does", "no"),
        ("original", "it matches, no doubt", "yes"),
        ("parallel", "The caption is accurate", None),
        ("flipped", "Yes, it does.", "yes"),
        ("flipped", "No, they match.", "no"),
        ("cot", "The caption has no dog. There is one, so the answer is: Yes.", "yes"),
        ("cot", "Yes, there is a dog, but not two. So no", "no"),
        ("cot", "step by step", None),
    ],
)
def test_each_form_has_its_reader(questions: Any, form: str, text: str, answer: str | None) -> None:
    item = next(f for f in forms_of(questions) if f.name == form).items[0]
    verdict = questions.verdict(item, Response(text))
    assert verdict.read == (answer or "")
    assert verdict.state == ("ok" if answer else "unparsed")
    assert verdict.value == float(answer == item.target), "what cannot be read is wrong"


# --- recorded answers ---


def rival(rows: list[list[int]], kind: str, include_unread: bool) -> dict[str, float | None]:
    """The paper's five numbers over the true captions and one type's, from the released lists of 0,
    1 and 2.
    """
    column = ORDER.index(kind)
    pairs = [(row[0], 1) for row in rows] + [(row[column], 0) for row in rows]
    if not include_unread:
        pairs = [(verdict, truth) for verdict, truth in pairs if verdict != 2]
    tp = sum(verdict == truth == 1 for verdict, truth in pairs)
    yes = sum(verdict == 1 for verdict, _ in pairs)
    true = sum(truth for _, truth in pairs)
    precision, recall = (tp / yes if yes else None), tp / true
    f1 = (
        None
        if precision is None or not precision + recall
        else 2 * precision * recall / (precision + recall)
    )
    right = sum(verdict == truth for verdict, truth in pairs) / len(pairs)
    return {
        "accuracy": right,
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "yes_ratio": yes / len(pairs),
    }


TEXTS = {
    0: ["no", "No", "It does not match", "I know"],
    1: ["yes", "Yes", "they match"],
    2: ["maybe", "unclear", "a dog"],
}


@pytest.mark.parametrize("shape", ["dictionaries", "lists"])
@pytest.mark.parametrize("part", ["in_domain", "out_of_domain"])
def test_the_released_lists_against_a_rival(
    data: Path, questions: Any, tmp_path: Path, part: str, shape: str
) -> None:
    rng = random.Random(part)
    rows = [rng.choices([0, 1, 2], weights=[5, 4, 1], k=5) for _ in range(5000)]
    records: list[Any] = rows
    if shape == "dictionaries":
        records = [
            {"predict": [rng.choice(TEXTS[code]) for code in row], "result": row} for row in rows
        ]
    (tmp_path / "code2.json").write_text(json.dumps(records))
    scored = score_file(questions, tmp_path / "code2.json", part)
    for kind in ORDER[1:]:
        expected = rival(rows, kind, include_unread=True)
        assert {
            name: scored.metrics[f"{part}.{kind}.{name}"] for name in expected
        } == pytest.approx(expected)
        assert scored.metrics[f"{kind}.f1"] == scored.metrics[f"{part}.{kind}.f1"]
    assert len({scored.metrics[f"{kind}.recall"] for kind in ORDER[1:]}) == 1, (
        "all types share the true captions"
    )
    assert scored.unscored == sum(code == 2 for row in rows for code in row)
    assert "in_domain.f1" not in scored.metrics or part == "in_domain"


def test_texts_and_lists_score_the_same(data: Path, questions: Any, tmp_path: Path) -> None:
    """The official reader reads the texts as the release's own code did when it wrote the lists."""
    rng = random.Random(0)
    rows = [rng.choices([0, 1, 2], k=5) for _ in range(5000)]
    texts = [{"predict": [rng.choice(TEXTS[code]) for code in row]} for row in rows]
    (tmp_path / "lists.json").write_text(json.dumps(rows))
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    from_lists, from_texts = (
        score_file(questions, tmp_path / f"{name}.json", "in_domain") for name in ("lists", "texts")
    )
    assert from_lists.metrics == from_texts.metrics


def test_paper_scoring_leaves_out_what_it_cannot_read(data: Path, tmp_path: Path) -> None:
    paper = hqm.load("hal_eval_d", data=data, scoring="paper")
    rng = random.Random(1)
    rows = [rng.choices([0, 1, 2], k=5) for _ in range(5000)]
    (tmp_path / "lists.json").write_text(json.dumps(rows))
    scored = score_file(paper, tmp_path / "lists.json", "in_domain")
    for kind in ORDER[1:]:
        expected = rival(rows, kind, include_unread=False)
        assert {
            name: scored.metrics[f"in_domain.{kind}.{name}"] for name in expected
        } == pytest.approx(expected)


def test_wrong_lists_are_refused(questions: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for rows, sentence in (
        ([[0, 1, 1, 0, 2]] * 5000, "say --part"),
        ([[0, 1, 1, 0]] + [[0] * 5] * 9999, "no row of five answers"),
        ([[0, 1, 1, 0, 7]] + [[0] * 5] * 9999, "no row of five answers"),
        ([[0] * 5] * 10001, "10001 rows for 10000 pictures"),
    ):
        path.write_text(json.dumps(rows))
        with pytest.raises(hqm.AnswerError, match=sentence):
            score_file(questions, path)


def test_answers_in_our_own_format(questions: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"item": "in_domain/1/truth", "answer": "Yes"}\n')
    scored = score_file(questions, tmp_path / "a.jsonl")
    assert scored.metrics["in_domain.object.recall"] == 1.0
    assert scored.unscored == 49999


# --- the evaluator ---


def judged(benchmark: Any, *replies: str, text: str = "A dog on a sofa.") -> Any:
    item = benchmark.original.items[0]
    calls = []
    play = replay({"judge": replies})

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        calls.append((role, prompt, image))
        return await play(role, prompt)

    verdict = asyncio.run(benchmark.judge(item, Response(text), ask))
    assert all((role, image) == ("judge", item.image) for role, _, image in calls), (
        "the evaluator sees the picture"
    )
    assert all(text in prompt for _, prompt, _ in calls)
    assert len(calls) == len(replies)
    return verdict


@pytest.mark.parametrize(
    ("replies", "official", "paper"),
    [
        (("No",), [], []),
        (
            ("Yes, there is.", "Object and attribute"),
            ["object", "attribute"],
            ["object", "attribute"],
        ),
        (("Yes", "Event"), ["event"], ["event"]),
        (("Yes", "additional information"), ["event"], ["event"]),
        (("Yes", "aditional"), ["event", "other"], ["event"]),
        (("Yes", "Multitype"), ["multitype", "other"], ["multitype"]),
        (("Yes", "RELATION"), ["other"], ["relation"]),
        (("Yes", "none I can name"), ["other"], ["other"]),
    ],
)
def test_types_as_the_evaluator_names_them(
    data: Path, replies: tuple[str, ...], official: list[str], paper: list[str]
) -> None:
    for scoring, kinds in (("official", official), ("paper", paper)):
        benchmark = hqm.load("hal_eval_g", data=data, scoring=scoring)  # type: ignore[arg-type]
        benchmark.original = hqm.Form(
            "original",
            (
                hqm.Item(
                    "in_domain/1/long",
                    "Describe this image in detail.",
                    "caption",
                    image="a.jpg",
                    part="in_domain",
                    meta={"kind": "long"},
                ),
            ),
        )
        verdict = judged(benchmark, *replies)
        assert verdict.read.split(", ") == (kinds or [""])
        assert verdict.value == float(not kinds)


def test_what_the_evaluator_does_not_say(data: Path, descriptions: Any) -> None:
    paper = hqm.load("hal_eval_g", data=data, scoring="paper")
    # neither word: a No by the release; "Not" begins with No; small letters are not seen
    assert judged(descriptions, "Maybe.").value == 1
    assert judged(descriptions, "Not sure. Yes").value == 1
    assert judged(descriptions, "yes").value == 1
    assert judged(paper, "Maybe.").state == "unparsed"
    assert judged(paper, "Not sure. yes", "object").value == 0


def test_shares_of_the_hallucinated_descriptions(descriptions: Any) -> None:
    from hqm.scoring.matrix import Sums

    verdicts = [judged(descriptions, "No")] * 5 + [
        judged(descriptions, "Yes", kinds) for kinds in ("object", "Object, event", "?")
    ]
    keys = {key for v in verdicts for key in v.tally}
    sums: Any = Sums({key: sum(v.tally.get(key, 0.0) for v in verdicts) for key in keys})  # type: ignore[misc]
    metrics = {
        name: float(descriptions.metric(name)(sums))
        for name in ("accuracy", "object_ratio", "event_ratio", "other_ratio", "length")
    }
    assert metrics == {
        "accuracy": 5 / 8,
        "object_ratio": 2 / 3,
        "event_ratio": 1 / 3,
        "other_ratio": 1 / 3,
        "length": 5,
    }
    clean: Any = Sums(dict(judged(descriptions, "No").tally))  # type: ignore[arg-type]
    assert str(float(descriptions.metric("object_ratio")(clean))) == "nan"


def test_released_descriptions_and_replies_are_read(descriptions: Any, tmp_path: Path) -> None:
    images = ["/data/coco/val2014/COCO_val2014_000000462565.jpg", "/x/007675839.jpg"]
    rows = [
        {
            "image": images[0],
            "predict": "A street.",
            "first_answer": "Yes",
            "second_answer": "object",
        },
        {"image": images[1], "predict": "Chickens.", "first_answer": "No"},
    ]
    path = tmp_path / "result1_llava15_select_short.json"
    path.write_text(json.dumps(rows))
    form, answers = descriptions.read_answers(path, descriptions.original)
    assert {key: r.text for key, r in answers.items()} == {
        "in_domain/1/short": "A street.",
        "out_of_domain/1/short": "Chickens.",
    }
    replies = descriptions.read_replies(path, form)
    assert replies == {
        "in_domain/1/short": {"judge": ["Yes", "object"]},
        "out_of_domain/1/short": {"judge": ["No"]},
    }
    path.rename(tmp_path / "result.json")
    with pytest.raises(hqm.AnswerError, match="neither 'short' nor 'long'"):
        descriptions.read_answers(tmp_path / "result.json", descriptions.original)


def test_the_releases_own_words_are_read_from_its_script(data: Path, tmp_path: Path) -> None:
    home = tmp_path / "hal_eval"
    home.mkdir()
    benchmark = hqm.load("hal_eval_g", data=tmp_path, prompts="official")
    with pytest.raises(hqm.DataError, match="eval_our_model_llava15"):
        benchmark.prompt("exists")
    script = (
        'text = "Caption: {}\\nIs it true?".format(c)\nadd = p + first + "USER: What types?" + s +'
        ' "ASSISTANT: The types: "\n'
    )
    (home / "eval_our_model_llava15.py").write_text(script)
    assert benchmark.prompt("exists") == "Caption: {caption}\nIs it true?"
    assert (
        benchmark.prompt("types")
        == "Caption: {caption}\nIs it true?\nASSISTANT: {reply}\nUSER: What types?\nASSISTANT: The"
        " types: "
    )
