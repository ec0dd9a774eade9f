"""GAVIE on its real evaluation set: golden records, replies in the release's format, one answer or
several in a call.
"""

import asyncio
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm import AnswerError, Benchmark, Cell, DataError, Response
from hqm.benchmark.judge_api import replay
from hqm.scoring.matrix import MatrixBuilder
from tests.messages import text_of

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def benchmark(data: Path) -> Benchmark:
    return hqm.load("gavie", data=data)


def release(relevancy: list[Any], accuracy: list[Any], style: int = 0) -> str:
    """A reply in the format of the release's script (0) or of its example prompt (1)."""
    names = (("Relevancy", "Accuracy"), ("relevancy", "accuracy"))[style]
    label = ("score of the answer", "score of answer")[style]
    blocks = []
    for name, scores in zip(names, (relevancy, accuracy), strict=True):
        lines = [
            f"{label}{i}: {score}\nreason: The {i + 3} cats; accuracy matters."
            for i, score in enumerate(scores, 1)
        ]
        blocks.append(f"{name}:\n" + "\n".join(lines))
    return "\n\n".join(blocks)


def marks(benchmark: Benchmark, reply: str, item: int = 0) -> tuple[float | None, float | None]:
    verdict = asyncio.run(
        benchmark.judge(benchmark.original.items[item], Response("A"), replay({"judge": [reply]}))
    )
    return verdict.value, verdict.tally.get("relevancy")


def test_count_first_tenth_last(benchmark: Benchmark) -> None:
    items = benchmark.original.items
    assert len(items) == 1000
    assert [(i.id, i.prompt, i.image) for i in (items[0], items[9], items[-1])] == [
        ("1", "Which objects are on the wooden table?", "2356371.jpg"),
        ("10", "Is there a blue laptop on the couch?", "2325748.jpg"),
        ("1000", "Looking at the image, determine if the oven is clean or dirty.", "2323234.jpg"),
    ]
    assert len({i.cluster for i in items}) == 120
    assert {i.type for i in items} == {None}


def test_oddities(benchmark: Benchmark) -> None:
    by_name = {f.name: f for f in benchmark.check(benchmark.original)}
    assert (
        by_name["wordings"].count,
        by_name["coordinates"].count,
        by_name["full-width"].count,
    ) == (993, 25, 1)
    assert "2 to 18 each" in by_name["shared-pictures"].sentence
    assert "no-regions" in by_name


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        (release([8], [6]), (6, 8)),
        (release([8], [6], style=1), (6, 8)),
        (release(["9/10"], ["7.5"]), (7.5, 9)),
        ("**Relevancy:** 8\nIt follows.\n\n**Accuracy:** 3/10\nNo cat.", (3, 8)),
        (
            (
                "Relevance:\nScore of Answer 1: 10\nreason: x\n\nAccuracy:\nScore of Answer 1:"
                " 0\nreason: y"
            ),
            (0, 10),
        ),
        (release([8], [11]), (None, None)),
        (release([8], ["-1"]), (None, None)),
        (release([8], [""]), (None, None)),
        (release([""], [4]), (4, None)),
        ("I cannot score this.", (None, None)),
        ("", (None, None)),
        (release([8], [6]) + "\nscore of the answer1: 7", (None, None)),
    ],
)
def test_a_reply_is_read(benchmark: Benchmark, reply: str, read: tuple[Any, Any]) -> None:
    assert marks(benchmark, reply) == read


def test_what_cannot_be_read_is_unscored_with_its_reason(benchmark: Benchmark) -> None:
    item = benchmark.original.items[0]
    verdict = asyncio.run(
        benchmark.judge(item, Response("A"), replay({"judge": [release([8], [11])]}))
    )
    assert (verdict.value, verdict.state) == (None, "unparsed")
    assert verdict.reason == text_of("gavie.out-of-range", heading="accuracy", answer=1, score=11)
    with pytest.raises(hqm.NoReply):
        asyncio.run(benchmark.judge(item, Response("A"), replay({})))


@pytest.mark.parametrize("seed", range(4))
def test_means_against_plain_counting(data: Path, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    benchmark = hqm.load("gavie", data=data)
    rows = json.loads((data / "gavie" / "evaluation_set.json").read_text())
    scores = [(rng.choice([*range(11), ""]), rng.choice([*range(11), "", 12])) for _ in rows]
    answers = [
        {
            "image_id": r["image_id"],
            ("instruction" if seed % 2 else "question"): r["question"],
            "answer": str(i),
        }
        for i, r in enumerate(rows)
    ]
    (tmp_path / "answers.json").write_text(json.dumps(rng.sample(answers, 1000)))
    (tmp_path / "replies.json").write_text(
        json.dumps([release([a], [b], rng.randint(0, 1)) for a, b in scores])
    )
    form, responses = benchmark.read_answers(tmp_path / "answers.json", benchmark.original)
    assert responses["5"].text == "4"
    replies = benchmark.read_replies(tmp_path / "replies.json", form)

    def verdict(item: hqm.Item, response: Response) -> hqm.Verdict:
        return asyncio.run(benchmark.judge(item, response, replay(replies[item.id])))

    builder = MatrixBuilder(
        Cell(), form, verdict, benchmark.subsets, benchmark.groupings, benchmark.relate
    )
    builder.add("a", [responses[item.id] for item in form.items])
    matrix = builder.build()
    accurate = [b for _, b in scores if b != "" and b <= 10]
    relevant = [a for a, b in scores if a != "" and b != "" and b <= 10]
    assert float(matrix.score(benchmark.metric("accuracy"))[0]) == sum(accurate) / len(accurate)
    assert float(matrix.score(benchmark.metric("relevancy"))[0]) == sum(relevant) / len(relevant)
    assert matrix.unscored() == 1000 - len(accurate)


def test_several_answers_in_one_call(data: Path) -> None:
    benchmark = hqm.load("gavie", data=data, mode="joint")
    assert benchmark.jointly
    prompts: list[str] = []

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        prompts.append(prompt)
        assert image == "2356371.jpg", "without the regions the judge sees the picture"
        return release([9, 8, 1], [7, "?", 0])

    answers = {
        "a": Response("A cup."),
        "b": Response("A cat."),
        "broken": Response("", "error", "500"),
        "c": Response("No."),
    }
    verdicts = asyncio.run(benchmark.judge_together(benchmark.original.items[0], answers, ask))
    assert list(verdicts) == ["a", "b", "broken", "c"]
    assert [v.value for v in verdicts.values()] == [7, None, None, 0]
    assert [v.state for v in verdicts.values()] == ["ok", "unparsed", "error", "ok"]
    assert len(prompts) == 1
    assert "Answer1: A cup.\nAnswer2: A cat.\nAnswer3: No." in prompts[0]
    assert prompts[0].count("score of the answer3:") == 2
    single = hqm.load("gavie", data=data)

    async def ask_single(
        role: str, prompt: str, image: str | None = None, schema: Any = None
    ) -> str:
        return release([5], [len(re.findall(r"Answer\d+: ", prompt))])

    separate_verdicts = asyncio.run(
        single.judge_together(
            single.original.items[0], {"a": Response("A"), "b": Response("B")}, ask_single
        )
    )
    assert [v.value for v in separate_verdicts.values()] == [1, 1]


def test_the_regions_and_the_releases_prompt(data: Path, tmp_path: Path) -> None:
    """The release writes the width for the height; its prompt is its own example with the
    particulars taken out.
    """
    folder = tmp_path / "gavie"
    folder.mkdir()
    (folder / "evaluation_set.json").symlink_to(data / "gavie" / "evaluation_set.json")
    regions = {"2356371": [{"caption": "a cup", "bbox": [1, 2, 30, 40]}]}
    with pytest.raises(DataError, match=r"GAVIE\.txt"):
        hqm.load("gavie", data=tmp_path, prompts="official").prompt("rating")
    (folder / "vg_annotation.json").write_text(json.dumps(regions))
    (folder / "GAVIE.txt").write_text(
        "Given this, mind the boxes.\n\na fork X:1 Y:2 Width:3 Height:3\n\nHere is the instruction"
        " for the image:\nFind it.\n\n\nAnswer1: there\nAnswer2: here\n\n\nSuppose you mark"
        " them:\n1: this\n2: that\n\n\nOutput format:\n\nrelevancy: \nscore of answer1: \n"
    )
    for scoring, height in (("official", 30), ("paper", 40)):
        for prompts in ("hqm", "official"):
            benchmark = hqm.load("gavie", data=tmp_path, scoring=scoring, prompts=prompts)  # type: ignore[arg-type]
            calls: list[tuple[str, Any]] = []

            async def ask(
                r: str, prompt: str, image: Any = None, schema: Any = None, calls: list[Any] = calls
            ) -> str:
                calls.append((prompt, image))
                return release([1], [2])

            asyncio.run(benchmark.judge(benchmark.original.items[0], Response("A cup."), ask))
            prompt, image = calls[0]
            assert image is None
            assert f"a cup X:1 Y:2 Width:30 Height:{height}" in prompt
            for phrase in (
                "Which objects are on the wooden table?",
                "Answer1: A cup.",
                "Relevancy:\nscore of the answer1:",
            ):
                assert phrase in prompt
            assert ("Suppose you mark them" in prompt) == (prompts == "official")
            assert "a fork" not in prompt
            assert "Find it." not in prompt


def test_files_that_do_not_fit_are_refused(tmp_path: Path, benchmark: Benchmark) -> None:
    path = tmp_path / "answers.json"
    row = {
        "image_id": "2356371",
        "question": "Which objects are on the wooden table?",
        "answer": "A cup.",
    }
    for rows in ([row, row], [{**row, "image_id": "1"}], [{**row, "question": "Why?"}]):
        path.write_text(json.dumps(rows))
        with pytest.raises(AnswerError, match="no further question"):
            benchmark.read_answers(path, benchmark.original)
    path.write_text(json.dumps([{"item": "1", "answer": "A cup."}]))
    form, answers = benchmark.read_answers(path, benchmark.original)
    assert (form.name, {key: answer.text for key, answer in answers.items()}) == (
        "original",
        {"1": "A cup."},
    )
    path.write_text(json.dumps(["one", "two"]))
    with pytest.raises(AnswerError, match="2 replies for 1000"):
        benchmark.read_replies(path, benchmark.original)


def test_nine_of_ten_questions_have_a_parallel_with_their_coordinates(benchmark: Benchmark) -> None:
    parallel = benchmark.parallel_form
    assert len(parallel) >= 900
    number = re.compile(r"\d+")
    for item in parallel.items:
        before = benchmark.original.by_id[item.id].prompt
        assert number.findall(item.prompt) == number.findall(before)
        assert re.findall(r'"[^"]+"', item.prompt) == re.findall(r'"[^"]+"', before)
    for item in random.Random(11).sample(parallel.items, 20):
        print(
            f"\n{item.id} [{item.rule}]\n  {benchmark.original.by_id[item.id].prompt}\n "
            f" {item.prompt}"
        )
