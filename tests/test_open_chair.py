"""OpenCHAIR: the release's example captions, the shapes the dataset circulates in, and its counts
by hand and by a rival.
"""

import asyncio
import csv
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import hqm
from hqm.benchmark.judge_api import replay
from hqm.scoring.matrix import Sums
from hqm.scoring.metrics import Metric
from hqm.types import Item, Response, Verdict


@pytest.fixture(scope="module")
def benchmark(data: Path) -> Any:
    return hqm.load("open_chair", data=data)


def dataset(folder: Path, rows: list[dict[str, Any]], shape: str) -> Path:
    """The benchmark's folder below a data root, with the dataset in one of the shapes that
    circulate.
    """
    home = folder / "open_chair"
    home.mkdir(parents=True)
    if shape == "csv":
        with (home / "openchair.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif shape == "jsonl":
        (home / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        (home / "data").mkdir()
        half = len(rows) // 2
        for i, shard in enumerate((rows[:half], rows[half:])):
            pq.write_table(
                pa.Table.from_pylist(shard), home / "data" / f"test-0000{i}-of-00002.parquet"
            )
    return folder


# --- the release's example ---


def test_count_first_tenth_last(benchmark: Any, data: Path) -> None:
    """Read off example_gen_file.csv, whose rows are the items while the dataset is not there."""
    form = benchmark.original
    assert len(form) == 2000
    assert {item.target for item in form.items} == {None}
    _, responses = benchmark.read_answers(data / "open_chair" / "example_gen_file.csv", form)
    assert [responses[key].text for key in ("1", "10", "2000")] == [
        "a wolf and a moose",
        "a skeleton holding a hour hour hour hour hour hour hour hour hour hour hour hour",
        "a stack of steel bars",
    ]
    words = [len(response.text.split()) for response in responses.values()]
    assert sum(words) / len(words) == pytest.approx(6.1, abs=0.05)


def test_oddities(benchmark: Any) -> None:
    by_name = {f.name: f for f in benchmark.check(benchmark.original)}
    assert {name: f.count for name, f in by_name.items()} == {
        "no-truth": 2000,
        "example-duplicates": 185,
        "example-degenerate": 83,
    }


def test_without_a_true_caption_nothing_is_judged(benchmark: Any) -> None:
    verdict = asyncio.run(
        benchmark.judge(benchmark.original.items[0], Response("a dog"), replay({}))
    )
    assert (verdict.state, verdict.scored) == ("missing", False)
    assert "true caption" in verdict.reason


# --- the dataset ---

ROWS = [
    {"image": {"bytes": b"first", "path": None}, "text": "A dog sleeps on a sofa."},
    {"image": {"bytes": b"second", "path": None}, "text": "A red boat on a lake, with mountains."},
    {"image": {"bytes": b"third", "path": None}, "text": "Two chefs cook soup."},
]


@pytest.mark.parametrize("shape", ["csv", "jsonl", "parquet"])
def test_the_dataset_is_read_in_every_shape(tmp_path: Path, shape: str) -> None:
    rows = (
        ROWS
        if shape == "parquet"
        else [{"image": f"{i}.jpg", "text": r["text"]} for i, r in enumerate(ROWS)]
    )
    items = hqm.load("open_chair", data=dataset(tmp_path, rows, shape)).original.items
    assert [(i.id, i.target) for i in items] == [(str(n), r["text"]) for n, r in enumerate(ROWS, 1)]
    names = (
        [f"0000{n}.png" for n in (1, 2, 3)] if shape == "parquet" else ["0.jpg", "1.jpg", "2.jpg"]
    )
    assert [i.image for i in items] == names


def test_pictures_come_out_of_the_parquet_files(tmp_path: Path) -> None:
    benchmark = hqm.load("open_chair", data=dataset(tmp_path, ROWS, "parquet"))
    benchmark.prepare_images(benchmark.original)
    assert [(benchmark.images / str(i.image)).read_bytes() for i in benchmark.original.items] == [
        b"first",
        b"second",
        b"third",
    ]


def test_a_dataset_without_pictures_makes_no_folder_for_them(tmp_path: Path) -> None:
    rows = [{"image": f"{i}.jpg", "text": row["text"]} for i, row in enumerate(ROWS)]
    benchmark = hqm.load("open_chair", data=dataset(tmp_path, rows, "csv"), images=tmp_path / "no")
    benchmark.prepare_images(benchmark.original)
    assert not (tmp_path / "no").exists()


def test_one_file_with_pictures_true_and_generated_captions(tmp_path: Path) -> None:
    rows = [
        {"image": "a.jpg", "caption": "A dog.", "generated": "a cat"},
        {"image": "b.jpg", "caption": "A bus.", "generated": ""},
    ]
    benchmark = hqm.load("open_chair", data=dataset(tmp_path, rows, "csv"))
    assert [(i.image, i.target) for i in benchmark.original.items] == [
        ("a.jpg", "A dog."),
        ("b.jpg", "A bus."),
    ]
    _, responses = benchmark.read_answers(
        tmp_path / "open_chair" / "openchair.csv", benchmark.original
    )
    assert [responses[key].text for key in ("1", "2")] == ["a cat", ""]


def test_answers_follow_the_rows(tmp_path: Path) -> None:
    benchmark = hqm.load("open_chair", data=dataset(tmp_path, ROWS, "parquet"))
    path = tmp_path / "out.csv"
    # as generate_captions.py writes it: with the index of a pandas frame in front
    path.write_text(',generated_caption\n0,"a dog, a cat"\n1,a boat\n2,soup\n')
    _, responses = benchmark.read_answers(path, benchmark.original)
    assert responses["1"].text == "a dog, a cat"
    path.write_text("generated_caption\na dog\n")
    with pytest.raises(hqm.AnswerError, match="1 captions for 3 pictures"):
        benchmark.read_answers(path, benchmark.original)


# --- the judge ---


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("yes", "yes"),
        ("Yes, it does.", "yes"),
        ("no", "no"),
        ("It does not\ncontain it", "no"),
        ("unsure;", "unsure"),
        ("yes or no", "yes"),
        ("Nope", "error"),
        ("", "error"),
        ("no!", "error"),
        ("I am unsure", "unsure"),
    ],
)
def test_a_reply_is_read_as_the_release_reads_it(reply: str, read: str) -> None:
    from hqm.adapters.open_chair import read_reply  # type: ignore[import-not-found,unused-ignore]

    assert read_reply(reply) == read


def judged(benchmark: Any, caption: str, replies: dict[str, str]) -> tuple[Verdict, list[str]]:
    """The verdict on one caption when the judge replies so of each object, and what it was
    asked.
    """
    requests = []

    async def ask(role: str, prompt: str, image: str | None = None, schema: Any = None) -> str:
        assert (role, image) == ("judge", None)
        requests.append(prompt)
        return next(reply for name, reply in replies.items() if f"The thing: {name}\n" in prompt)

    item = Item("1", "Describe the image.", "caption", "A dog sleeps on a sofa.")
    return asyncio.run(benchmark.judge(item, Response(caption), ask)), requests


def value(benchmark: Any, name: str, *verdicts: Verdict) -> float | None:
    metric: Metric = benchmark.metric(name)
    keys = {key for verdict in verdicts for key in verdict.tally}
    number = float(
        metric(Sums({key: sum(v.tally.get(key, 0.0) for v in verdicts) for key in keys}))
    )  # type: ignore[misc]
    return None if number != number else number


CAPTION = "A photo of a dog and two cats; the dogs lie on a couch near a lamp and a vase."
REPLIES = {"dog": "yes", "cat": "No.", "couch": "yes", "lamp": "unsure", "vase": "hmm"}


def test_each_object_is_asked_once_and_repeats_count(data: Path) -> None:
    for scoring, yes in (("official", 3), ("paper", 2)):
        benchmark = hqm.load("open_chair", data=data, scoring=scoring)  # type: ignore[arg-type]
        verdict, requests = judged(benchmark, CAPTION, REPLIES)
        assert len(requests) == 5, "the photo itself is passed over"
        counts = {key: verdict.tally[key] for key in ("yes", "no", "unsure", "error", "ignored")}
        assert counts == {"yes": yes, "no": 1, "unsure": 1, "error": 1, "ignored": 1}
        assert value(benchmark, "och", verdict) == 1 / (yes + 1)
        assert (verdict.value, verdict.read) == (1 - 1 / (yes + 1), "cat")
        assert all("A dog sleeps on a sofa." in prompt for prompt in requests)


def test_without_any_yes_the_release_stops(data: Path) -> None:
    official, paper = (hqm.load("open_chair", data=data, scoring=s) for s in ("official", "paper"))  # type: ignore[arg-type]
    replies_no = {"cat": "no", "dog": "no"}
    for caption, replies, share in (
        ("a cat", replies_no, 1.0),
        ("a dog", {"dog": "yes"}, 0.0),
        ("it is sunny", {}, None),
    ):
        assert value(official, "och", judged(official, caption, replies)[0]) is None
        assert value(paper, "och", judged(paper, caption, replies)[0]) == share


def test_a_caption_of_which_nothing_can_be_read_is_unscored(benchmark: Any) -> None:
    verdict, _ = judged(benchmark, "a dog", {"dog": "certainly"})
    assert (verdict.value, verdict.state) == (None, "unparsed")
    assert value(benchmark, "errors", verdict) == 1


def test_counts_against_a_rival(benchmark: Any) -> None:
    """The release's sum over all objects, written anew over random captions and replies."""
    rng = random.Random(4)
    names = "dog cat bus tree chair lamp boat horse photo portrait".split()
    answers: list[str] = []
    by_caption, verdicts = [], []
    for _ in range(60):
        replies = {name: rng.choice(["yes", "no", "no", "unsure", "what?"]) for name in names}
        mentioned = [rng.choice(names) for _ in range(rng.randint(0, 6))]
        verdicts.append(
            judged(
                benchmark, "This is " + ", ".join(f"a {name}" for name in mentioned) + ".", replies
            )[0]
        )
        decided = [replies[name] for name in mentioned if name not in ("photo", "portrait")]
        answers += decided
        if decided.count("yes") + decided.count("no"):
            by_caption.append(decided.count("no") / (decided.count("yes") + decided.count("no")))
    counts = Counter(answers)
    assert value(benchmark, "och", *verdicts) == counts["no"] / (counts["yes"] + counts["no"])
    assert value(benchmark, "och_caption", *verdicts) == pytest.approx(
        sum(by_caption) / len(by_caption)
    )
    assert value(benchmark, "unsure", *verdicts) == counts["unsure"]
    assert value(benchmark, "errors", *verdicts) == counts["what?"]


def test_recorded_replies_are_played_back(tmp_path: Path) -> None:
    benchmark = hqm.load("open_chair", data=dataset(tmp_path, ROWS, "parquet"))
    path = tmp_path / "replies.jsonl"
    path.write_text(
        "".join(json.dumps({"item": "1", "reply": reply}) + "\n" for reply in ("yes", "no"))
    )
    replies = benchmark.read_replies(path, benchmark.original)
    item = benchmark.original.items[0]
    verdict = asyncio.run(benchmark.judge(item, Response("a dog and a cat"), replay(replies["1"])))
    assert verdict.read == "cat"


def test_the_releases_own_question_is_read_from_its_script(tmp_path: Path) -> None:
    root = dataset(tmp_path, ROWS, "parquet")
    benchmark = hqm.load("open_chair", data=root, prompts="official")
    with pytest.raises(hqm.DataError, match=r"utils\.py"):
        benchmark.prompt("object")
    script = (
        "def make_prompt(cap, obj, tokenizer):\n    _prompt = f'''Shown: {cap}.\\nIs there:"
        " {obj}?'''\n"
    )
    (root / "open_chair" / "utils.py").write_text(script)
    assert benchmark.prompt("object") == "Shown: {caption}.\nIs there: {object}?"


def test_the_parallel_form_reads_as_english(benchmark: Any) -> None:
    assert {i.prompt for i in benchmark.original.items} == {"Describe the image."}
    assert {i.prompt for i in benchmark.parallel_form.items} == {
        "Provide a description of the image."
    }
