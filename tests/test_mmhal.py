"""MMHal-Bench on its real template: golden records, the release's parse and its oddities, every
printed number.
"""

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm import AnswerError, Benchmark, Cell, DataError, Response, Verdict
from hqm.benchmark.judge_api import replay
from hqm.scoring.matrix import MatrixBuilder

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def benchmark(data: Path) -> Benchmark:
    return hqm.load("mmhal", data=data)


@pytest.fixture(scope="module")
def records(data: Path) -> list[dict[str, Any]]:
    return list(json.loads((data / "mmhal" / "response_template.json").read_text()))


def rate(benchmark: Benchmark, reply: str) -> Verdict:
    return asyncio.run(
        benchmark.judge(benchmark.original.items[0], Response("Red."), replay({"judge": [reply]}))
    )


def score(benchmark: Benchmark, answers: Path, replies: Path) -> dict[str, float]:
    form, answers_given = benchmark.read_answers(answers, benchmark.original)
    replies_read = benchmark.read_replies(replies, form)

    def verdict(item: hqm.Item, response: Response) -> Verdict:
        return asyncio.run(benchmark.judge(item, response, replay(replies_read[item.id])))

    builder = MatrixBuilder(
        Cell(), form, verdict, benchmark.subsets, benchmark.groupings, benchmark.relate
    )
    builder.add("a", [answers_given.get(item.id) for item in form.items])
    matrix = builder.build()
    return {m.name: float(matrix.printed(m)[0]) for m in benchmark.metrics} | {
        "unscored": matrix.unscored()
    }


def test_count_first_tenth_last_and_kinds(benchmark: Benchmark) -> None:
    items = benchmark.original.items
    assert len(items) == 96
    assert [(i.id, i.prompt, i.image) for i in (items[0], items[9], items[-1])] == [
        (
            "df62a56fdc1bb12b",
            "What color is the fire hydrant cap in the picture?",
            "7206072054_c53d53b97d_o.jpg",
        ),
        (
            "1cdd5f88863aec33",
            "What is the gender of the person riding the motorcycle in the image?",
            "3828840628_e625c9beb0_o.jpg",
        ),
        ("cabbf79c0a4e40e6", "What is shown in the mirror?", "5164137805_a2499e3ca9_o.jpg"),
    ]
    assert items[0].target == "The color of the fire hydrant cap in the image is yellow."
    kinds = "attribute adversarial comparison counting relation environment holistic other".split()
    assert Counter(i.meta["kind"] for i in items) == dict.fromkeys(kinds, 12)
    assert Counter(i.meta["topic"] for i in items) == dict.fromkeys(
        {i.meta["topic"] for i in items}, 8
    )
    assert Counter(i.type for i in items) == {
        "attribute": 12,
        "existence": 24,
        "comparison": 12,
        "counting": 12,
        "relation": 12,
        "environment": 12,
        None: 12,
    }


def test_oddities(benchmark: Benchmark) -> None:
    by_name = {f.name: f for f in benchmark.check(benchmark.original)}
    assert (
        by_name["one-wording"].count,
        by_name["links"].count,
        by_name["false-presupposition"].count,
    ) == (8, 16, 12)
    assert "kind-by-position" in by_name


def test_the_copy_with_other_names_is_read(records: Any, tmp_path: Path) -> None:
    """Volcano's copy calls the reference gold_answer."""
    (tmp_path / "mmhal").mkdir()
    renamed = [
        {**{k: v for k, v in r.items() if k != "gt_answer"}, "gold_answer": r["gt_answer"]}
        for r in records
    ]
    (tmp_path / "mmhal" / "MMHal-bench.json").write_text(json.dumps(renamed))
    form = hqm.load("mmhal", data=tmp_path).original
    assert form.items[1].target == "No one is sitting on the bench."
    (tmp_path / "mmhal" / "MMHal-bench.json").unlink()
    with pytest.raises(DataError, match="template is not there"):
        _ = hqm.load("mmhal", data=tmp_path).original


READ = {  # reply: (official, paper)
    "It is right.\nRating: 5": (5, 5),
    "rating: 0, not informative, with hallucination": (0, 0),
    "**Rating:** 4": (None, 4),
    "Rating - 3": (None, 3),
    "The rating is 6.": (None, 6),
    "Rating: 10": (1, None),
    "Rating: 3 or Rating: 4": (None, None),
    "Rating: 2\nRating: 2": (2, 2),
    "I would say three.": (None, None),
    "": (None, None),
    "RATING: 6": (6, 6),
    "Rating: 4.5": (4, None),
}


@pytest.mark.parametrize(("reply", "read"), READ.items())
def test_a_reply_is_read_as_the_release_and_as_the_paper_say(
    data: Path, reply: str, read: tuple[Any, Any]
) -> None:
    official, paper = (
        rate(hqm.load("mmhal", data=data, scoring=s), reply) for s in ("official", "paper")
    )  # type: ignore[arg-type]
    assert official.value == (read[0] or 0)
    assert official.tally["hallucinated"] == float((read[0] or 0) < 3)
    assert official.state == ("unparsed" if read[0] is None else "ok")
    assert paper.value == read[1]
    assert paper.scored or (paper.state == "unparsed" and paper.reason)


def printed(texts: list[str]) -> list[str]:
    """What the release's scorer prints of 96 replies, by its own description."""
    scores = []
    for text in texts:
        ratings = [n for n in range(7) if text.lower().count("rating: " + str(n))]
        scores.append(ratings.pop() if len(ratings) == 1 else 0)
    bad = [1 if n < 3 else 0 for n in scores]
    by_kind = [round(sum(scores[k::8]) / len(scores[k::8]), 2) for k in range(8)]
    return [f"{sum(scores) / 96:.2f}", f"{sum(bad) / 96:.2f}", ",".join(map(str, by_kind))]


@pytest.mark.parametrize("seed", range(5))
def test_every_number_is_the_releases_own(
    data: Path, tmp_path: Path, benchmark: Benchmark, records: Any, seed: int
) -> None:
    rng = random.Random(seed)
    rows = [{**record, "model_answer": f"answer {i}"} for i, record in enumerate(records)]
    if seed > 2:  # the release goes by the place in the file, whatever stands there
        rng.shuffle(rows)
    texts = [
        rng.choice([*READ, *(f"Fine. Rating: {n}, so it is." for n in range(7))]) for _ in rows
    ]
    responses = [
        {"choices": [{"message": {"role": "assistant", "content": text}}], "model": "gpt-4"}
        for text in texts
    ]
    (tmp_path / "answers.json").write_text(json.dumps(rows))
    (tmp_path / "review.json").write_text(json.dumps(responses if seed % 2 else texts))
    metrics = score(benchmark, tmp_path / "answers.json", tmp_path / "review.json")
    kinds = "attribute adversarial comparison counting relation environment holistic other".split()
    by_kind = ",".join(str(metrics[f"{kind}.score"]) for kind in kinds)
    assert [f"{metrics['score']:.2f}", f"{metrics['hallucination_rate']:.2f}", by_kind] == printed(
        texts
    )
    assert metrics["score"] == float(printed(texts)[0])
    assert metrics["unscored"] == sum(READ.get(text, (0, 0))[0] is None for text in texts)
    paper = hqm.load("mmhal", data=data, scoring="paper")
    read = [READ[t][1] if t in READ else float(t[14]) for t in texts]
    numbers = [n for n in read if n is not None]
    assert score(paper, tmp_path / "answers.json", tmp_path / "review.json")["score"] == sum(
        numbers
    ) / len(numbers)


def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, data: Path, benchmark: Benchmark, records: Any
) -> None:
    path = tmp_path / "answers.json"
    rows = [{**record, "model_answer": "x"} for record in records]
    for changed, sentence in (
        (rows[:95], "95 answers, not 96"),
        ([*rows[:95], rows[0]], "answered twice"),
        ([{**rows[0], "image_id": "none"}], "no item 'none'"),
    ):
        path.write_text(json.dumps(changed))
        with pytest.raises(AnswerError, match=sentence):
            benchmark.read_answers(path, benchmark.original)
    path.write_text(json.dumps(rows[:90]))
    paper = hqm.load("mmhal", data=data, scoring="paper")
    form, responses = paper.read_answers(path, paper.original)
    assert (len(form), len(responses)) == (96, 90)
    path.write_text(json.dumps([{"error": "quota"}]))
    with pytest.raises(AnswerError, match="no saved response"):
        benchmark.read_replies(path, benchmark.original)


def test_both_prompts_hold_everything(data: Path) -> None:
    for prompts in ("hqm", "official"):
        benchmark = hqm.load("mmhal", data=data, prompts=prompts)  # type: ignore[arg-type]
        judge_prompts: list[str] = []

        async def ask(
            role: str,
            prompt: str,
            image: Any = None,
            schema: Any = None,
            judge_prompts: list[str] = judge_prompts,
        ) -> str:
            judge_prompts.append(prompt)
            return "Rating: 3"

        item = benchmark.original.items[2]
        asyncio.run(benchmark.judge(item, Response("The {left} one."), ask))
        for text in (item.prompt, item.target, item.meta["contents"], "The {left} one."):
            assert text in judge_prompts[0]
        assert "Rating" in judge_prompts[0]


def test_94_questions_have_a_parallel_and_keep_what_they_presuppose(benchmark: Benchmark) -> None:
    parallel = benchmark.parallel_form
    assert len(parallel) == 94
    texts = {benchmark.original.by_id[i.id].prompt: i.prompt for i in parallel.items}
    assert texts["Who is sitting on the bench?"] == "Could you tell me who is sitting on the bench?"
    assert (
        texts["What is the color of the chair in the image?"]
        == "Could you tell me the color of the chair in the image?"
    )
    assert (
        texts["Describe the hands wearing the gloves."]
        == "Provide a description of the hands wearing the gloves."
    )
    for item in random.Random(5).sample(parallel.items, 20):
        print(
            f"\n{item.id} [{item.rule}]\n  {benchmark.original.by_id[item.id].prompt}\n "
            f" {item.prompt}"
        )
        assert item.target == benchmark.original.by_id[item.id].target
