"""HQH on real data: golden records, oddities, parallel questions, and its three procedures against
rivals.
"""

import asyncio
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm import Item, Response, Verdict
from hqm.auditing.one_file import score_file
from hqm.benchmark.findings import check_form
from hqm.benchmark.judge_api import replay
from hqm.forms.rephrase import reword
from hqm.scoring.matrix import MatrixBuilder
from hqm.scoring.metrics import Metric
from tests.messages import tells

pytestmark = pytest.mark.data

REPLIES_2024 = [
    "With hallucination, the man is not there.",
    "Without hallucination, it fits.",
    "without hallucination",
    "I cannot tell.",
    "Evidence: a dog.\nWith hallucination.",
    "",
    "Without hallucination, though With hallucination was considered.",
]
REPLIES_2025 = [
    "Answer: Correct\nExtra Contradictory Claims: 0",
    "Answer: Incorrect\nExtra Contradictory Claims: 2，a hat, a dog",
    "Answer: Correct\nExtra Contradictory Claims:1, a hat",
    "###Answer: Incorrect.\nSome words.\nExtra Contradictory Claims: 0",
    "Answer: Correct\nAnswer: Incorrect\nExtra Contradictory Claims: 13",
    "Answer: Correct",
    "Extra Contradictory Claims: 3",
    "",
    "**Answer:** Correct\n**Extra Contradictory Claims:** 0",
    "Answer: it is Correct, not Incorrect\nExtra Contradictory Claims: 0",
]


def load(data: Path, **settings: Any) -> Any:
    return hqm.load("hqh", data=data, **settings)


def judged(benchmark: hqm.Benchmark, replies: dict[str, list[str]]) -> dict[str, float]:
    """Every metric of one respondent, from the recorded replies to each item."""
    verdicts: dict[str, Verdict] = {}
    for item in benchmark.original.items:
        if item.id in replies:
            ask = replay({"judge": replies[item.id]})
            verdicts[item.id] = asyncio.run(benchmark.judge(item, Response("an answer"), ask))
    return totals(benchmark, {"model": verdicts})["model"]


def totals(
    benchmark: hqm.Benchmark, verdicts: dict[str, dict[str, Verdict]]
) -> dict[str, dict[str, float]]:
    builder = MatrixBuilder(
        hqm.Cell(), benchmark.original, lambda item, r: verdicts[r.text][item.id], benchmark.subsets
    )
    for name, row in verdicts.items():
        builder.add(
            name,
            [Response(name, "refused") if i.id in row else None for i in benchmark.original.items],
        )
    matrix = builder.build()
    scores: dict[str, Metric] = {metric.name: metric for metric in benchmark.metrics}
    return {
        respondent: {name: float(matrix.score(metric)[n]) for name, metric in scores.items()}
        for n, respondent in enumerate(verdicts)
    }


# --- items ---


def test_hqh_count_first_tenth_last(data: Path) -> None:
    items = load(data).original.items
    assert len(items) == 4000
    assert [
        (i.id, i.prompt, i.target, i.image, i.type) for i in (items[0], items[9], items[-1])
    ] == [
        ("1", "What is written on the top street sign?", "E. Howe St.", "2358632.jpg", "ocr"),
        ("10", "What is written on the plane?", "Thomson.", "2360969.jpg", "ocr"),
        (
            "4000",
            "What is the area in front of the shrubs on the right?",
            "Grass.",
            "2368708.jpg",
            "relation",
        ),
    ]
    assert Counter(i.type for i in items) == dict.fromkeys(
        (
            "action",
            "attribute",
            "comparison",
            "counting",
            "environment",
            "existence",
            "ocr",
            "relation",
        ),
        500,
    )
    assert len({i.image for i in items}) == 3153


def test_hqh_oddities(data: Path) -> None:
    benchmark = load(data)
    by_name = {
        f.name: f for f in (*check_form(benchmark.original), *benchmark.check(benchmark.original))
    }
    # counted from the files by the authors of the facts this project is built on
    assert by_name["no-image-data"].count == 4000 - 1381
    assert "925 pictures" in by_name["no-image-data"].sentence
    assert by_name["one-instruction"].count == 500
    assert by_name["contradictory-label"].count == 17
    assert by_name["duplicate-across-types"].count == 12
    assert by_name["number-spelling"].sentence.endswith("'One.' 183 times, '1.' 55 times")
    assert by_name["common-answer"].count == 141
    assert any("WHat" in example for example in by_name["spelling"].examples)
    assert "type-by-position" in by_name


def test_hqh_reads_the_other_shapes(data: Path, tmp_path: Path) -> None:
    rows = json.loads((data / "hqh" / "HQH.json").read_text())[2480:2520:1]
    for row in rows:
        row["images"] = [row.pop("image")]
    for row in rows[:5]:
        del row["ground_truth"]
    folder = tmp_path / "hqh"
    folder.mkdir()
    (folder / "HQH.json").write_text(json.dumps(rows))
    benchmark = load(tmp_path)
    assert [i.image for i in benchmark.original.items] == [f"{row['image_id']}.jpg" for row in rows]
    by_name = {f.name: f for f in benchmark.check(benchmark.original)}
    assert by_name["no-ground-truth"].count == 5
    assert "nor is an older one" in by_name["no-image-data"].sentence
    # neither a right answer nor a description: there is nothing to judge by
    verdict = asyncio.run(benchmark.judge(benchmark.original.items[0], Response("x"), replay({})))
    assert (verdict.value, verdict.state) == (None, "missing")


def test_hqh_parallel_questions(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = load(data)
    form = benchmark.original
    parallel = benchmark.parallel(form)
    reworded = [i for i in parallel.items if i.rule != "questions.frame"]
    assert len(parallel) == 4000
    assert len(reworded) >= 0.98 * 4000
    for item in parallel.items:
        before = form.by_id[item.id].prompt
        assert item.prompt != before
        # what is asked about stays: nothing but the opening and names for the picture may go
        opening = {
            "what",
            "who",
            "where",
            "when",
            "why",
            "how",
            "which",
            "is",
            "are",
            "was",
            "were",
            "do",
            "does",
            "did",
            "many",
            "color",
            "colors",
            "colour",
            "list",
        }
        opening |= {
            "there",
            "say",
            "have",
            "wear",
            "taken",
            "written",
            "located",
            "positioned",
            "pictured",
            "image",
            "images",
            "photo",
            "photograph",
            "picture",
            "pic",
            "in",
            "of",
            "the",
            "like",
            "look",
            "looks",
            "it",
            "seen",
            "shown",
            "can",
            "be",
            "most",
            "any",
            "weather",
            "kind",
            "type",
            "appear",
            "number",
            "this",
            "they",
            "s",
            "on",
        }
        words = set(re.findall(r"[a-z]+", before.lower())) - opening
        assert words <= set(re.findall(r"[a-z]+", item.prompt.lower())), (before, item.prompt)
    pairs = random.Random(2024).sample(parallel.items, 20)
    with capsys.disabled():
        print()
        for item in pairs:
            print(f"  {form.by_id[item.id].prompt} -> {item.prompt}")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who is taller?", "Which one is taller?"),
        ("How many chairs?", "What is the number of chairs?"),
        ("What are the doing?", "Looking at the picture, what are the doing?"),
        ("Where was this photo taken?", "Where did the photographer take this picture?"),
        (
            "What is the smaller building made of?",
            "What is it that the smaller building is made of?",
        ),
        ("What color is the man wearing?", "Which color is the man wearing?"),
        (
            "What is the plane at X:105 Y:350 doing?",
            "What is it that the plane at X:105 Y:350 is doing?",
        ),
    ],
)
def test_reworded_questions_keep_what_they_ask_about(question: str, expected: str) -> None:
    assert reword(question).prompt == expected


# --- scoring ---


def rival_june(replies: dict[str, str], types: dict[str, str]) -> dict[str, float]:
    counts: dict[str, list[int]] = {}
    for key, text in replies.items():
        verdict = (
            1
            if text.find("With hallucination") >= 0
            else 0
            if text.find("Without hallucination") >= 0
            else None
        )
        for name in ("overall", types[key]):
            counts.setdefault(name, []).extend([] if verdict is None else [verdict])
    return {name: sum(values) / len(values) for name, values in counts.items() if values}


@pytest.mark.parametrize("seed", range(3))
def test_hqh_june_2024_prints_what_the_release_prints(data: Path, seed: int) -> None:
    benchmark = load(data, mode="june2024")
    rng = random.Random(seed)
    replies = {
        i.id: rng.choice(REPLIES_2024) for i in benchmark.original.items if rng.random() < 0.3
    }
    labels = {i.id: i.type for i in benchmark.original.items}
    metrics = judged(benchmark, {key: [text] for key, text in replies.items()})
    expected = rival_june(replies, labels)
    assert metrics["hallucination_rate"] == expected.pop("overall")
    assert {name: metrics[f"{name}.hallucination_rate"] for name in expected} == expected


def rival_february(replies: dict[str, list[str]], types: dict[str, str]) -> dict[str, float]:
    """The released loop: ask until both numbers were seen, whichever reply each is from."""
    mains: dict[str, list[int]] = {"": []}
    overall, extras = [], []
    for key, texts in replies.items():
        main, extra, queue = None, None, iter(texts)
        while main is None or extra is None:
            text = next(queue, None)
            if text is None:
                break
            for line in text.split("\n"):
                if re.search("Answer:", line):
                    main = 1 if "Incorrect" in line else 0 if "Correct" in line else main
                hit = re.search(r"Extra Contradictory Claims: ?(\d+)", line)
                extra = int(hit.group(1)) if hit else extra
        if main is None or extra is None:
            continue
        overall.append(int(main + extra > 0))
        extras.append(extra)
        mains[""].append(main)
        mains.setdefault(types[key], []).append(main)
    printed = {
        "hallucination_rate": sum(overall) / len(overall),
        "main_rate": sum(mains[""]) / len(mains[""]),
    }
    printed["extra_claims"] = sum(extras) / len(extras)
    return printed | {
        f"{name}.hallucination_rate": sum(v) / len(v) for name, v in mains.items() if name
    }


@pytest.mark.parametrize("seed", range(3))
def test_hqh_february_2025_prints_what_the_release_prints(data: Path, seed: int) -> None:
    benchmark = load(data)
    assert benchmark.mode == "february2025"
    rng = random.Random(seed)
    replies = {
        i.id: rng.choices(REPLIES_2025, k=rng.randint(1, 4))
        for i in benchmark.original.items
        if rng.random() < 0.3
    }
    expected = rival_february(replies, {i.id: i.type for i in benchmark.original.items})
    metrics = judged(benchmark, replies)
    assert {name: metrics[name] for name in expected} == expected


def rival_joint(
    replies: dict[str, str], types: dict[str, str], models: int
) -> list[dict[str, float]]:
    counts: list[dict[str, list[int]]] = [{} for _ in range(models)]
    for key, text in replies.items():
        for line in text.splitlines():
            number = re.search(r"Answer(\d+)", line)
            verdict = (
                1
                if "With hallucination" in line
                else 0
                if "Without hallucination" in line
                else None
            )
            if number and verdict is not None:
                for name in ("overall", types[key]):
                    counts[int(number.group(1)) - 1].setdefault(name, []).append(verdict)
    return [
        {name: sum(v) / len(v) for name, v in counts_by_type.items()} for counts_by_type in counts
    ]


def test_hqh_joint_prints_what_the_release_prints(data: Path) -> None:
    benchmark = load(data, mode="joint")
    assert benchmark.jointly
    rng = random.Random(5)
    names = ["a", "b", "c"]
    replies: dict[str, str] = {}
    verdicts: dict[str, dict[str, Verdict]] = {name: {} for name in names}
    for item in rng.sample(benchmark.original.items, 400):
        lines = [
            f"Answer{n}: {rng.choice(REPLIES_2024).splitlines()[-1:] or ['']}"
            for n in (1, 2, 3)
            if rng.random() < 0.9
        ]
        lines += (
            [f"Answer{rng.randint(1, 3)}: With hallucination again"] if rng.random() < 0.1 else []
        )
        replies[item.id] = "\n".join(["Here is what I think.", *lines])
        answers = {name: Response(f"{name} says") for name in names}
        joint_verdicts = asyncio.run(
            benchmark.judge_together(item, answers, replay({"judge": [replies[item.id]]}))
        )
        for name in names:
            verdicts[name][item.id] = joint_verdicts[name]
    expected = rival_joint(replies, {i.id: i.type for i in benchmark.original.items}, 3)
    metrics = totals(benchmark, verdicts)
    for name, rates in zip(names, expected, strict=True):
        overall = rates.pop("overall")
        assert metrics[name]["hallucination_rate"] == overall
        assert {kind: metrics[name][f"{kind}.hallucination_rate"] for kind in rates} == rates
    # the released code has one set of counters for all models, so that it prints their pool for
    # each
    lines = [
        line
        for text in replies.values()
        for line in text.splitlines()
        if re.search(r"Answer\d", line)
    ]
    bad, good = (
        sum(word in line for line in lines)
        for word in ("With hallucination", "Without hallucination")
    )
    contradictory = sum(
        "With hallucination" in line and "Without hallucination" in line for line in lines
    )
    assert {round(metrics[name]["pooled_rate"], 12) for name in names} == {
        round(bad / (bad + good - contradictory), 12)
    }


def test_hqh_joint_leaves_out_errors_and_numbers_the_rest(data: Path) -> None:
    benchmark = load(data, mode="joint")
    prompts: list[str] = []

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        prompts.append(prompt)
        return "Answer1: Without hallucination\nAnswer2: With hallucination"

    answers = {"x": Response("one"), "y": Response("", "error", "timeout"), "z": Response("two")}
    joint_verdicts = asyncio.run(
        benchmark.judge_together(benchmark.original.items[0], answers, ask)
    )
    assert [joint_verdicts[name].value for name in "xyz"] == [1.0, None, 0.0]
    assert joint_verdicts["y"].state == "error"
    assert "Answer1: one\nAnswer2: two\n" in prompts[0]


def test_hqh_unreadable_replies_are_unscored(data: Path) -> None:
    item = load(data).original.items[0]
    for mode, reply in (
        ("june2024", "Hm."),
        ("february2025", "Answer: Correct"),
        ("joint", "Answer7: With hallucination"),
    ):
        verdict = asyncio.run(
            load(data, mode=mode).judge(item, Response("x"), replay({"judge": [reply]}))
        )
        assert (verdict.value, verdict.state) == (None, "unparsed")
        assert verdict.reason
    with pytest.raises(hqm.NoReply):
        asyncio.run(load(data).judge(item, Response("x"), replay({})))


@pytest.mark.parametrize(
    ("mode", "reply", "official", "paper"),
    [
        ("june2024", "without hallucination", None, 1.0),
        ("june2024", "**Without** hallucination", None, 1.0),
        ("june2024", "Without hallucination. Or: With hallucination.", 0.0, None),
        ("february2025", "**Answer:** Correct\n**Extra Contradictory Claims:** [0]", None, 1.0),
        ("february2025", "answer: incorrect\nextra contradictory claims: None", None, 0.0),
        ("february2025", "Answer: Correct\nExtra Contradictory Claims: 1", 0.0, 0.0),
        (
            "february2025",
            "Answer: Correct\nAnswer: Incorrect\nExtra Contradictory Claims: 0",
            0.0,
            None,
        ),
    ],
)
def test_hqh_official_and_paper_differ_as_said(
    data: Path, mode: str, reply: str, official: float | None, paper: float | None
) -> None:
    for scoring, value in (("official", official), ("paper", paper)):
        benchmark = load(data, mode=mode, scoring=scoring)
        verdict = asyncio.run(
            benchmark.judge(benchmark.original.items[0], Response("x"), replay({"judge": [reply]}))
        )
        assert verdict.value == value, scoring


def test_hqh_rate_of_a_type_is_the_main_answer_only_officially(data: Path) -> None:
    replies = {
        "1": ["Answer: Correct\nExtra Contradictory Claims: 2"],
        "2": ["Answer: Correct\nExtra Contradictory Claims: 0"],
    }
    assert judged(load(data), replies)["ocr.hallucination_rate"] == 0.0
    paper = judged(load(data, scoring="paper"), replies)
    assert paper["ocr.hallucination_rate"] == paper["hallucination_rate"] == 0.5
    assert paper["extra_claims"] == 1.0


# --- prompts and files ---


def prompt_of(benchmark: hqm.Benchmark, item: Item) -> str:
    prompts: list[str] = []

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        prompts.append(prompt)
        return "Answer: Correct\nExtra Contradictory Claims: 0\nAnswer1: Without hallucination"

    asyncio.run(benchmark.judge(item, Response("It says {truth}."), ask))
    return prompts[0] if prompts else ""


def test_hqh_prompts_carry_question_truth_description_and_answer(data: Path) -> None:
    described = json.loads((data / "hqh" / "image_data_june2024.json").read_text())
    for mode in ("february2025", "june2024", "joint"):
        benchmark = load(data, mode=mode)
        item = next(i for i in benchmark.original.items if i.meta["image_id"] in described)
        text = prompt_of(benchmark, item)
        info = described[item.meta["image_id"]]
        for passage in (
            item.prompt,
            item.target,
            info["caption"],
            info["image_information"],
            "It says {truth}.",
        ):
            assert passage in text
        undescribed = next(
            i for i in benchmark.original.items if i.meta["image_id"] not in described
        )
        assert tells(prompt_of(benchmark, undescribed), "hqh.no-description")


def test_hqh_official_prompt_is_read_from_the_release(data: Path) -> None:
    described = json.loads((data / "hqh" / "image_data_june2024.json").read_text())
    benchmark = load(data, prompts="official")
    item = next(i for i in benchmark.original.items if i.meta["image_id"] in described)
    info = described[item.meta["image_id"]]
    template = (data / "hqh" / "judge_prompt.txt").read_text()
    values = (
        item.prompt,
        item.target,
        info["caption"],
        info["image_information"],
        "It says {truth}.",
    )
    assert prompt_of(benchmark, item) == template.format(*values)
    undescribed = next(i for i in benchmark.original.items if i.meta["image_id"] not in described)
    verdict = asyncio.run(
        benchmark.judge(undescribed, Response("x"), replay({"judge": ["Answer: Correct"]}))
    )
    assert (verdict.state, "image_data.json" in verdict.reason) == ("missing", True)
    with pytest.raises(hqm.DataError, match="june2024"):
        load(data, mode="june2024", prompts="official").prompt("june2024")


def test_hqh_reads_an_older_revisions_prompt(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "hqh"
    (folder / "joint").mkdir(parents=True)
    (folder / "joint" / "utils.py").write_text(
        "template = '''Q {} T {} C {} D {} A {} F {}'''\ntemplate4existence = 'Q {} C {} D {} A {}"
        " F {}'\n"
    )
    (folder / "HQH.json").write_bytes((data / "hqh" / "HQH.json").read_bytes())
    benchmark = load(tmp_path, mode="joint", prompts="official")
    assert (
        benchmark.prompt("joint")
        == "Q {instruction} T {truth} C {caption} D {details} A {answer} F {format}"
    )
    assert (
        benchmark.prompt("joint_existence")
        == "Q {instruction} C {caption} D {details} A {answer} F {format}"
    )


def test_hqh_reads_its_answer_files(data: Path, tmp_path: Path) -> None:
    benchmark = load(data)
    rows = json.loads((data / "hqh" / "HQH.json").read_text())[:30]
    path = tmp_path / "answers.json"
    path.write_text(json.dumps([{**row, "answer": f"a{row['id']}"} for row in rows]))
    assert benchmark.read_answers(path, benchmark.original)[1]["7"] == Response("a7")
    path.write_text(json.dumps([{**row, "answers": [f"a{row['id']}", "b"]} for row in rows]))
    with pytest.raises(hqm.AnswerError, match="2 models"):
        benchmark.read_answers(path, benchmark.original)
    recordings = benchmark.recordings(path)
    assert [(r.respondent, len(r.answers), r.answers["3"].text) for r in recordings] == [
        ("Model1", 30, "a3"),
        ("Model2", 30, "b"),
    ]
    for wrong, sentence in (
        ([{**rows[0], "instruction": "What is this?", "answer": "x"}], "asks something else"),
        ([{**rows[0], "id": 9999, "answer": "x"}], "no item '9999'"),
        ([{**rows[0], "answer": "x"}] * 2, "answered twice"),
    ):
        path.write_text(json.dumps(wrong))
        with pytest.raises(hqm.AnswerError, match=sentence):
            benchmark.read_answers(path, benchmark.original)


def test_hqh_scores_files_of_answers_and_replies(data: Path, tmp_path: Path) -> None:
    """`hqm score hqh --answers FILE --judgements FILE`, in each mode."""
    rows = json.loads((data / "hqh" / "HQH.json").read_text())[480:540]
    answers, replies = tmp_path / "answers.json", tmp_path / "replies.jsonl"
    rng = random.Random(11)
    for mode, choice in (("june2024", REPLIES_2024), ("february2025", REPLIES_2025)):
        reply_texts = {str(row["id"]): rng.choice(choice) for row in rows}
        answers.write_text(json.dumps([{**row, "answer": f"It is {row['id']}."} for row in rows]))
        replies.write_text(
            "\n".join(json.dumps({"item": key, "reply": text}) for key, text in reply_texts.items())
        )
        benchmark = load(data, mode=mode)
        scored = score_file(benchmark, answers, judgements=replies)
        types = {i.id: i.type for i in benchmark.original.items}
        if mode == "june2024":
            expected = rival_june(reply_texts, types)
            expected = {
                "hallucination_rate": expected["overall"],
                "ocr.hallucination_rate": expected["ocr"],
            }
        else:
            expected = rival_february({key: [text] for key, text in reply_texts.items()}, types)
        assert {name: scored.metrics[name] for name in expected} == expected
        assert scored.mode == mode
        counted = (
            sum(bool(re.search(r"With(out)? h", text)) for text in reply_texts.values())
            if mode == "june2024"
            else 0
        )
        assert mode != "june2024" or scored.unscored == 4000 - counted
    models = 3
    answers.write_text(json.dumps([{**row, "answers": ["a", "b", "c"]} for row in rows]))
    texts = {
        str(row["id"]): "\n".join(
            f"Answer{n}: {rng.choice(['With', 'Without', 'Perhaps with'])} hallucination"
            for n in range(1, models + 1)
        )
        for row in rows
    }
    replies.write_text(
        "\n".join(json.dumps({"item": key, "reply": text}) for key, text in texts.items())
    )
    scored = score_file(load(data, mode="joint"), answers, judgements=replies)
    bad, good = (
        sum(text.count(f": {word} ") for text in texts.values()) for word in ("With", "Without")
    )
    # what the released code prints for each of the three
    assert (
        scored.metrics["hallucination_rate"] == scored.metrics["pooled_rate"] == bad / (bad + good)
    )
