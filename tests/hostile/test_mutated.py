"""Whole files of answers with one thing wrong that happens to files: what is read is refused, or it
gives exactly the score of the answers that are still there.

Each case has an answer book of its own: item -> answer, kept beside the file while the file is
changed. So a file that is accepted and gives another answer is seen, not only one that ends in a
traceback. Nightly there are ten times as many cases, with new seeds.
"""

from __future__ import annotations

import copy
import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hqm
from hqm.benchmark.log_benchmark import benchmarks_of_logs
from hqm.imports.detect import read_logs
from hqm.imports.recordings import read_recordings
from tests.conftest import NIGHTLY, counts, write_benchmark

OBJECTS = "dog cat bus hat cup key map tree boat lamp".split()
CASES = counts(900)
"""Each is a file of 40 answers."""
SEED = int(np.random.SeedSequence().generate_state(1)[0]) if NIGHTLY else 30
"""Nightly a new one, which is printed."""


@dataclass(frozen=True)
class Answers:
    """A file of answers, and what it says by item."""

    rows: list[dict[str, str]]
    text: str = ""
    encoding: str = "utf-8"

    @property
    def book(self) -> dict[str, str]:
        return {row["item"]: row["answer"] for row in self.rows}


Mutation = Callable[[Answers, np.random.Generator], Answers]


def as_csv(rows: list[dict[str, str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def changed_rows(change: Callable[[list[dict[str, str]], int], list[dict[str, str]]]) -> Mutation:
    """A change of the rows; their answers stay those of their items."""

    def mutate(answers: Answers, rng: np.random.Generator) -> Answers:
        return replace(answers, rows=change(answers.rows, int(rng.integers(1, 30))))

    return mutate


def misplaced(change: Callable[[list[dict[str, str]], int], list[dict[str, str]]]) -> Mutation:
    """A change of the rows that puts answers beside other items: only a refusal is right."""

    def mutate(answers: Answers, rng: np.random.Generator) -> Answers:
        rows = change(answers.rows, int(rng.integers(1, 30)))
        return replace(answers, rows=rows, encoding="refuse")

    return mutate


def changed_text(change: Callable[[str, int], str]) -> Mutation:
    def mutate(answers: Answers, rng: np.random.Generator) -> Answers:
        return replace(answers, text=change(answers.text, int(rng.integers(1, len(answers.text)))))

    return mutate


def shifted(rows: list[dict[str, str]], by: int) -> list[dict[str, str]]:
    ids = [row["item"] for row in rows]
    return [{**row, "item": ids[(i + by) % len(ids)]} for i, row in enumerate(rows)]


def swapped(rows: list[dict[str, str]], by: int) -> list[dict[str, str]]:
    return [{**row, "item": row["answer"], "answer": row["item"]} for row in rows]


def foreign(rows: list[dict[str, str]], by: int) -> list[dict[str, str]]:
    return [{**row, "item": f"other{by}-{i}"} for i, row in enumerate(rows)]


def contradicted(rows: list[dict[str, str]], by: int) -> list[dict[str, str]]:
    return [*rows, {**rows[by], "answer": {"yes": "no", "no": "yes"}[rows[by]["answer"]]}]


ROWS: dict[str, Mutation] = {
    "rows cut": changed_rows(lambda rows, by: rows[by:]),
    "rows in another order": changed_rows(lambda rows, by: rows[by:] + rows[:by]),
    "answers in capitals": changed_rows(
        lambda rows, by: [{**row, "answer": row["answer"].upper()} for row in rows]
    ),
    "a column more": changed_rows(lambda rows, by: [{**row, "note": "x, y\nz"} for row in rows]),
    "ids beside other questions": misplaced(shifted),
    "columns swapped": misplaced(swapped),
    "ids of another benchmark": misplaced(foreign),
    "an item answered twice": misplaced(contradicted),
}
TEXTS: dict[str, Mutation] = {
    "a quote opened": changed_text(lambda text, offset: text[:offset] + '"' + text[offset:]),
    "cut anywhere": changed_text(lambda text, offset: text[:offset]),
    "other line ends": changed_text(lambda text, offset: text.replace("\r\n", "\n")),
    "a byte order mark": changed_text(lambda text, offset: "\ufeff" + text),
    "a NUL": changed_text(lambda text, offset: text[:offset] + "\0" + text[offset:]),
    "a line twice": changed_text(lambda text, offset: text + text.splitlines(keepends=True)[-1]),
}
ENCODINGS = ("utf-8", "utf-16", "latin-1", "utf-32")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> hqm.Benchmark:
    rng = np.random.default_rng(3)
    targets = rng.permutation(["yes", "no"] * 20).tolist()
    items = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {OBJECTS[i % 10]} in the café number {i}?",
            "target": target,
        }
        for i, target in enumerate(targets)
    ]
    return hqm.load(str(write_benchmark(tmp_path_factory.mktemp("mutated") / "mine", items)))


def unchanged_answers(benchmark: hqm.Benchmark, rng: np.random.Generator) -> Answers:
    rows = [
        {
            "item": item.id,
            "question": item.prompt,
            "answer": str(item.target) if rng.random() < 0.7 else str(rng.choice(["yes", "no"])),
        }
        for item in benchmark.original.items
    ]
    return Answers(rows)


def outcome(benchmark: hqm.Benchmark, answers: Answers, file: Path) -> str:
    """Refused, right, or silently wrong; anything but an error of HQM's is raised."""
    try:
        file.write_bytes(
            answers.text.encode(answers.encoding.replace("refuse", "utf-8"), "replace")
        )
        recordings = read_recordings(file, {"original": benchmark.original})
    except hqm.HQMError:
        return "refused"
    book = {item: reply.lower() for item, reply in answers.book.items()}
    read = {
        item: reply.text for recording in recordings for item, reply in recording.answers.items()
    }
    if not read:
        return "refused"  # the command says that there are no answers
    if answers.encoding == "refuse":
        return "wrong"
    # a file that was cut may hold fewer answers and the beginning of the last, a cell may hold a
    # quote, and no item has the answer of another
    *earlier_items, last = read
    answers_agree = all(read[item].lower().replace('"', "") == book[item] for item in earlier_items)
    answers_agree &= book[last].startswith(read[last].lower().replace('"', ""))
    return "right" if answers_agree else "wrong"


def test_a_changed_file_is_refused_or_means_what_it_says(
    benchmark: hqm.Benchmark, tmp_path: Path
) -> None:
    """No case is silently wrong; the counts of all outcomes are printed."""
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    for case in range(CASES):
        rng = np.random.default_rng([SEED, case])
        answers = unchanged_answers(benchmark, rng)
        names = [str(rng.choice(list(ROWS)))] if rng.random() < 0.7 else []
        for name in names:
            answers = ROWS[name](answers, rng)
        lines = rng.random() < 0.5
        answers = replace(answers, text=as_lines(answers.rows) if lines else as_csv(answers.rows))
        if rng.random() < 0.5 or not names:
            names.append(str(rng.choice(list(TEXTS))))
            answers = TEXTS[names[-1]](answers, rng)
        if answers.encoding == "utf-8" and rng.random() < 0.2:
            names.append(str(rng.choice(ENCODINGS)))
            answers = replace(answers, encoding=names[-1])
        file = tmp_path / f"{case}.{'jsonl' if lines else 'csv'}"
        result = outcome(benchmark, answers, file)
        tally[result] += 1
        if result == "wrong":
            wrong.append(f"{case}: {file.suffix} with {', '.join(names)}")
    print(f"seed {SEED}: {dict(tally)}")
    assert wrong == []
    assert tally["right"] > CASES / 8
    assert tally["refused"] > CASES / 4


def inspect_log() -> dict[str, Any]:
    """A log as inspect writes it in JSON, with what HQM reads of it."""
    samples = [
        {
            "id": f"q{i}",
            "epoch": 1,
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": f"Is there a {subject}?"},
                        {"type": "image", "image": f"{i}.png"},
                    ],
                }
            ],
            "target": ["yes"],
            "choices": ["yes", "no"],
            "metadata": {"item": f"q{i}", "category": "existence"},
            "output": {
                "choices": [
                    {"message": {"role": "assistant", "content": "Yes"}, "stop_reason": "stop"}
                ],
                "completion": "Yes",
                "usage": {"input_tokens": 5, "output_tokens": 1},
            },
            "scores": {"match": {"value": "C", "answer": "Yes", "metadata": {"grader": "rule"}}},
            "attachments": {},
            "error": None,
        }
        for i, subject in enumerate(OBJECTS)
    ]
    return {
        "status": "success",
        "eval": {"task": "mine", "model": "mockllm/model", "task_args": {"form": "original"}},
        "plan": {"config": {"max_tokens": 8, "temperature": 0.0}},
        "results": {"scores": [{"name": "match", "metrics": {"accuracy": {"value": 1.0}}}]},
        "samples": samples,
    }


def predictions() -> list[dict[str, Any]]:
    """Predictions as VLMEvalKit writes them in JSON."""
    return [
        {
            "index": i,
            "question": f"Is there a {subject}?",
            "answer": "Yes",
            "category": "existence",
            "prediction": "Yes",
        }
        for i, subject in enumerate(OBJECTS)
    ]


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a document; of a list, its first two."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        children = enumerate(value[:2])
    for key, inner in children:
        yield from paths_in(inner, (*path, key))


WRONG: tuple[Any, ...] = (None, 5, -1, 1e300, "x", "", [], {}, True, [1], {"a": 1}, [None], [{}])
"""Values of another type than the tool writes at most of these places."""


@pytest.mark.parametrize("document", [inspect_log(), predictions()], ids=["inspect", "vlmevalkit"])
def test_a_log_with_a_value_of_another_type_is_read_or_refused(
    document: Any, tmp_path: Path
) -> None:
    """Whatever stands where something else is written, no answer of another row is changed."""
    cases = [(path, wrong) for path in paths_in(document) for wrong in WRONG]
    order = np.random.default_rng(SEED).permutation(len(cases))[: counts(2000)]
    tally: Counter[str] = Counter()
    file = tmp_path / "log.json"
    for path, wrong in (cases[i] for i in order):
        changed = copy.deepcopy(document)
        container = changed
        for key in path[:-1]:
            container = container[key]
        container[path[-1]] = wrong
        file.write_text(json.dumps(changed), encoding="utf-8")
        try:
            (log, *_) = read_logs([file])
            benchmarks_of_logs([log])
        except hqm.HQMError:
            tally["refused"] += 1
            continue
        tally["read"] += 1
        other_rows = [row for row in log.rows if "q0" not in row.ids and row.ids != ("0",)]
        answers = {row.answer.text for row in other_rows if row.answer is not None}
        assert answers <= {"Yes", ""} or path[-1] in ("prediction", "completion", "content"), path
    assert tally["read"] > tally["refused"] > 0
